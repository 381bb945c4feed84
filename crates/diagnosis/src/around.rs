//! The fleet around an instance: what is true of all, and what is usual for others of its kind. Worked out once for a whole
//! fleet.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use dwell_fleet::{Fleet, Instance, Key, Presence, State, Timestamp, seconds_between, shift};

use crate::programs::Role;
use crate::signals::{ManagerSignals, Signals};

/// Rows killed within so many seconds of each other went together.
const TOGETHER_S: f64 = 65.0;

/// Lines within so many seconds tell how the instances' clocks stand to the manager's.
const DATED_WITHIN_S: f64 = 1_800.0;

/// Of each kind of card: a figure of each instance, lowest first.
type ByKind = HashMap<String, Vec<(f64, Key)>>;

/// What is known outside the instance.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Around {
    /// Now, on the manager's clock.
    pub now: Timestamp,
    /// The time of the manager's latest answer.
    pub as_of: Option<Timestamp>,
    /// Why the manager does not answer, where it does not.
    pub unreachable: Option<String>,
    /// Why its log could not be read, where it could not.
    pub manager_log_failure: Option<String>,
    /// The manager's clock minus the operator's, seconds.
    pub clock_skew_s: Option<f64>,
    /// What that was when Dwell first looked.
    pub skew_before_s: Option<f64>,
    /// By how many seconds the manager's clock is ahead of the instances', by the dates in their lines: the middle one of
    /// those that wrote within half an hour; `None` with fewer than two.
    pub manager_ahead_s: Option<f64>,
    /// Age of the manager's copy of vast.ai's list, seconds.
    pub vast_cache_age_s: Option<f64>,
    /// When the manager started, by its own log.
    pub manager_started_at: Option<Timestamp>,
    /// What the manager's log has said.
    pub manager: Arc<ManagerSignals>,
    /// Rows that were written off together with most of the fleet.
    pub killed_together: BTreeSet<Key>,
    /// Rows that share a rental with another live row.
    pub twins: BTreeSet<Key>,
    /// Readings of cards are told at all.
    pub telemetry_told: bool,
    /// Most rows show zeros.
    pub telemetry_zeros: bool,
    /// No reading of any row has changed for a quarter of an hour; `None` where that cannot be known yet.
    pub telemetry_frozen: Option<bool>,
    /// Rate that is usual over all, proofs per hour.
    pub usual_rate_of_all: Option<f64>,
    /// When the newest image that was seen on any machine was built, and on how many machines one was seen.
    pub newest_image: Option<(Timestamp, usize)>,
    /// What programs are for that were seen on some machine, by names that are known.
    pub roles_seen: BTreeSet<Role>,
    rates: ByKind,
    proofs: ByKind,
}

/// What of the surroundings is not the fleet's own.
#[derive(Debug, Clone, Default)]
pub struct Outside {
    /// Now, on the manager's clock.
    pub now: Timestamp,
    /// Why the manager does not answer.
    pub unreachable: Option<String>,
    /// Why its log could not be read.
    pub manager_log_failure: Option<String>,
    /// The manager's clock minus the operator's, seconds.
    pub clock_skew_s: Option<f64>,
    /// What that was when Dwell first looked.
    pub skew_before_s: Option<f64>,
    /// When most rows last showed zeros.
    pub telemetry_zeros_at: Option<Timestamp>,
    /// Since when no reading of any row has changed.
    pub telemetry_unchanged_since: Option<Timestamp>,
    /// When the newest image that was seen on any machine was built, and on how many machines one was seen.
    pub newest_image: Option<(Timestamp, usize)>,
    /// What programs are for that were seen on some machine.
    pub roles_seen: BTreeSet<Role>,
    /// What the manager's log has said.
    pub manager: Arc<ManagerSignals>,
}

/// The median of others.
fn median_of_others(values: Option<&Vec<(f64, Key)>>, own: Option<(f64, Key)>) -> Option<f64> {
    let values = values?;
    let mine = own.and_then(|own| values.binary_search_by(|(value, key)| value.total_cmp(&own.0).then(key.cmp(&own.1))).ok());
    // Without its own figure the ones after it move up by one.
    let others = values.len() - usize::from(mine.is_some());
    let middle = others / 2;
    let place = middle + usize::from(mine.is_some_and(|mine| mine <= middle));
    values.get(place).filter(|_| others > 0).map(|(value, _)| *value)
}

impl Around {
    /// The surroundings of a fleet's instances.
    pub fn of<'a>(fleet: &Fleet, outside: Outside, signals: impl Fn(Key) -> Option<&'a Signals>) -> Self {
        let mut around = Self {
            now: outside.now,
            as_of: fleet.as_of(),
            unreachable: outside.unreachable,
            manager_log_failure: outside.manager_log_failure,
            clock_skew_s: outside.clock_skew_s,
            skew_before_s: outside.skew_before_s,
            vast_cache_age_s: fleet.vast_cache_age_s(),
            manager_started_at: fleet.manager_run().started_at.filter(|_| fleet.manager_run().from_its_log),
            manager: outside.manager,
            newest_image: outside.newest_image,
            roles_seen: outside.roles_seen,
            ..Self::default()
        };
        let mut killed: Vec<(Timestamp, Key)> = Vec::new();
        let mut rentals: BTreeMap<u64, Vec<&Instance>> = BTreeMap::new();
        let (mut told, mut all_rates) = (0_usize, Vec::new());
        let mut ahead: Vec<f64> = Vec::new();
        let lately = around.as_of.map(|at| shift(at, -DATED_WITHIN_S));
        for instance in fleet.instances().filter(|instance| instance.presence == Presence::Listed) {
            let row = &instance.row;
            ahead.extend(lately.and_then(|from| signals(instance.key)?.manager_ahead_s(from)));
            if let (Some(kind), Some(rate)) = (instance.vast.gpu_kind(), row.bench_rate_proofs_per_h.filter(|rate| *rate > 0.0)) {
                around.rates.entry(kind).or_default().push((rate, instance.key));
                all_rates.push(rate);
            }
            if let (Some(kind), Some(seconds)) = (instance.vast.gpu_kind(), signals(instance.key).and_then(Signals::proof_s)) {
                around.proofs.entry(kind).or_default().push((seconds, instance.key));
            }
            // A rental has one label, and a label one rental.
            if let Some(vast_id) = instance.row.vast_id_told().filter(|_| instance.uuid.is_some()) {
                rentals.entry(vast_id.0).or_default().push(instance);
            }
            if instance.state == State::Killed {
                if row.kill_reason.as_deref().is_some_and(|reason| reason.contains("disappeared"))
                    && let Some(at) = row.killed_at
                {
                    killed.push((at, instance.key));
                }
                continue;
            }
            if matches!(instance.state, State::ParamsDone | State::Running) && row.vast_id.is_some() {
                told += 1;
            }
        }
        around.telemetry_told = told >= 2;
        around.telemetry_zeros = outside.telemetry_zeros_at.is_some_and(|at| seconds_between(at, outside.now) < 600.0);
        around.telemetry_frozen = outside
            .telemetry_unchanged_since
            .filter(|_| told >= 2)
            .map(|since| seconds_between(since, outside.now) > 15.0 * 60.0);
        for values in around.rates.values_mut().chain(around.proofs.values_mut()) {
            values.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        }
        ahead.sort_by(f64::total_cmp);
        around.manager_ahead_s = ahead.get(ahead.len() / 2).copied().filter(|_| ahead.len() >= 2);
        all_rates.sort_by(f64::total_cmp);
        around.usual_rate_of_all = all_rates.get(all_rates.len() / 2).copied();
        around.twins = rentals.values().filter(|rows| rows.len() > 1).flatten().map(|instance| instance.key).collect();
        around.killed_together = together(killed, fleet);
        around
    }

    /// Rate that is usual for others with this card, proofs per hour. `own` is what is left out.
    pub fn usual_rate(&self, kind: &str, own: (Option<f64>, Key)) -> Option<f64> {
        median_of_others(self.rates.get(kind), own.0.map(|rate| (rate, own.1)))
    }

    /// Best rate of others with this card, proofs per hour.
    pub fn best_rate(&self, kind: &str, own: Key) -> Option<f64> {
        self.rates.get(kind)?.iter().rev().find(|(_, key)| *key != own).map(|(rate, _)| *rate)
    }

    /// Seconds of a proof that are usual for others with this card.
    pub fn usual_proof_s(&self, kind: &str, own: (f64, Key)) -> Option<f64> {
        median_of_others(self.proofs.get(kind), Some(own))
    }
}

/// Rows that were written off within a minute of each other, three or more and most of those that lived then.
fn together(mut killed: Vec<(Timestamp, Key)>, fleet: &Fleet) -> BTreeSet<Key> {
    killed.sort_unstable();
    let mut found = BTreeSet::new();
    let mut from = 0;
    for index in 0..killed.len() {
        let Some((at, _)) = killed.get(index).copied() else { continue };
        while killed.get(from).is_some_and(|(first, _)| seconds_between(*first, at) > TOGETHER_S) {
            from += 1;
        }
        let run = killed.get(from..=index).unwrap_or_default();
        if run.len() < 3 {
            continue;
        }
        let alive = fleet
            .instances()
            .filter(|instance| instance.first_seen_at < at && instance.state != State::Killed && instance.last_listed_at >= at)
            .count();
        if run.len() >= alive {
            found.extend(run.iter().map(|(_, key)| *key));
        }
    }
    found
}
