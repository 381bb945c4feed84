//! What is kept of each instance for its diagnosis: what its log has said, and what was asked on purpose.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use dwell_diagnosis::{Around, Case, Diagnosis, ManagerSignals, Outside, Role, Signals, diagnose};
use dwell_fleet::look::{Asked, Looks};
use dwell_fleet::{Fleet, Instance, Key, LogLine, State, Timestamp, seconds_between};

use rayon::prelude::*;

use crate::ask::Answered;

/// Looks closer together than this are one, seconds: nothing moves in between.
const SAME_LOOK_S: f64 = 45.0;

/// A reading of a card: load, temperature, memory.
type Reading = (Option<u64>, Option<u64>);

/// What is kept.
#[derive(Debug, Default)]
pub(crate) struct Casebook {
    signals: HashMap<Key, Signals>,
    manager: Arc<ManagerSignals>,
    /// What programs are for that were seen on some machine, by names that are known.
    roles_seen: BTreeSet<Role>,
    looks: HashMap<Key, Looks>,
    readings: HashMap<Key, Reading>,
    readings_changed_at: Option<Timestamp>,
    zeros_at: Option<Timestamp>,
    skew_before_s: Option<f64>,
    images: HashMap<Key, Timestamp>,
    nothing: (Signals, Looks),
}

/// How the manager was reached.
#[derive(Debug, Clone, Default)]
pub(crate) struct Way {
    pub(crate) unreachable: Option<String>,
    pub(crate) manager_log_failure: Option<String>,
    pub(crate) clock_skew_s: Option<f64>,
}

impl Casebook {
    /// Goes on with what an earlier process found: the manager's clock minus the operator's when Dwell first looked, seconds.
    pub(crate) fn resume(&mut self, first_skew_s: Option<f64>) {
        self.skew_before_s = first_skew_s;
    }

    /// Takes in lines of an instance's log.
    pub(crate) fn note_lines(&mut self, key: Key, lines: &[LogLine]) {
        self.signals.entry(key).or_default().note(lines);
    }

    /// Takes in lines of the manager's log.
    pub(crate) fn note_manager_lines(&mut self, lines: &[LogLine], read_at: Timestamp) {
        Arc::make_mut(&mut self.manager).note(lines, read_at);
    }

    /// Takes note of the readings of an answer, and of the clocks.
    pub(crate) fn note_answer(&mut self, fleet: &Fleet, clock_skew_s: Option<f64>) {
        if self.skew_before_s.is_none() {
            self.skew_before_s = clock_skew_s;
        }
        let Some(as_of) = fleet.as_of() else { return };
        let (mut told, mut zeros) = (0_usize, 0_usize);
        for instance in fleet.instances().filter(|it| matches!(it.state, State::ParamsDone | State::Running)) {
            let vast = &instance.row.vast;
            told += usize::from(instance.row.vast_id.is_some());
            zeros += usize::from(instance.row.vast_id.is_some() && vast.gpu_util_percent.is_none() && vast.gpu_temp_c.is_none());
            let rounded = |value: Option<f64>| value.map(|value| (value.abs() * 10.0) as u64);
            let reading = (rounded(vast.gpu_util_percent), rounded(vast.gpu_temp_c));
            if self.readings.insert(instance.key, reading).is_some_and(|before| before != reading) {
                self.readings_changed_at = Some(as_of);
            }
        }
        self.readings_changed_at.get_or_insert(as_of);
        if told >= 2 && zeros * 3 > told * 2 {
            self.zeros_at = Some(as_of);
        }
    }

    /// What was kept of one is of the other.
    pub(crate) fn merge(&mut self, gone: Key, into: Key) {
        if let Some(signals) = self.signals.remove(&gone) {
            self.signals.entry(into).or_insert(signals);
        }
        if let Some(looks) = self.looks.remove(&gone) {
            self.looks.entry(into).or_insert(looks);
        }
    }

    /// Forgets whom the fleet has forgotten.
    pub(crate) fn keep_only(&mut self, fleet: &Fleet) {
        let known = |key: &Key| fleet.instance(*key).is_some();
        self.signals.retain(|key, _| known(key));
        self.looks.retain(|key, _| known(key));
        self.readings.retain(|key, _| known(key));
        self.images.retain(|key, _| known(key));
    }

    /// Takes in what a look brought.
    pub(crate) fn note_look(&mut self, key: Key, at: Timestamp, answered: Answered) {
        let looks = self.looks.entry(key).or_default();
        match answered {
            Answered::Vast(answer) => looks.vast = Some(Asked { at, answer }),
            Answered::Container(answer) => looks.container = Some(Asked { at, answer }),
            Answered::Host(answer) => {
                let built = answer.seen.as_ref().and_then(|seen| seen.image_built);
                if let Some(built) = built {
                    self.images.insert(key, built);
                }
                self.roles_seen.extend(answer.seen.iter().flat_map(|seen| Role::seen_on(seen)));
                push(&mut looks.host, &mut looks.host_before, Asked { at, answer });
            }
            Answered::Prover(answer) => push(&mut looks.prover, &mut looks.prover_before, Asked { at, answer }),
        }
    }

    /// What its log has said.
    pub(crate) fn signals(&self, key: Key) -> &Signals {
        self.signals.get(&key).unwrap_or(&self.nothing.0)
    }

    /// What was asked of an instance.
    pub(crate) fn looks(&self, key: Key) -> &Looks {
        self.looks.get(&key).unwrap_or(&self.nothing.1)
    }

    /// The fleet around its instances. `now` is on the manager's clock.
    pub(crate) fn around(&self, fleet: &Fleet, way: &Way, now: Timestamp) -> Around {
        let outside = Outside {
            now,
            unreachable: way.unreachable.clone(),
            manager_log_failure: way.manager_log_failure.clone(),
            clock_skew_s: way.clock_skew_s,
            skew_before_s: self.skew_before_s,
            telemetry_zeros_at: self.zeros_at,
            telemetry_unchanged_since: self.readings_changed_at,
            newest_image: self.images.values().max().map(|newest| (*newest, self.images.len())),
            roles_seen: self.roles_seen.clone(),
            manager: Arc::clone(&self.manager),
        };
        Around::of(fleet, outside, |key| self.signals.get(&key))
    }

    /// Diagnoses many, on all processors; in the order given.
    pub(crate) fn diagnose_all<'a>(&self, instances: Vec<&'a Instance>, around: &Around) -> Vec<(&'a Instance, Diagnosis)> {
        instances.into_par_iter().map(|instance| (instance, self.diagnose(instance, around))).collect()
    }

    /// Diagnoses an instance.
    pub(crate) fn diagnose(&self, instance: &Instance, around: &Around) -> Diagnosis {
        diagnose(Case { instance, signals: self.signals(instance.key), looks: self.looks(instance.key), around })
    }
}

fn push<T>(latest: &mut Option<Asked<T>>, before: &mut Option<Asked<T>>, new: Asked<T>) {
    if let Some(old) = latest.take()
        && seconds_between(old.at, new.at) >= SAME_LOOK_S
    {
        *before = Some(old);
    }
    *latest = Some(new);
}
