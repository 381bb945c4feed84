//! What is seen, as metrics in the OpenMetrics text format: a fleet larger than one workstation should watch is then watched by the
//! monitoring that its owners run already.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};

use prometheus_client::encoding::{EncodeLabelSet, text::encode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use crate::dto::FleetView;

/// Instances that have series of their own; the longest dwelling of more.
const INSTANCES_MOST: usize = 5_000;

type Number = Gauge<f64, AtomicU64>;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByState {
    state: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByFlag {
    flag: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByKind {
    kind: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByUse {
    r#use: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByHealth {
    health: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByResult {
    result: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByInstance {
    instance_id: String,
    state: String,
    gpu: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByInstanceFlag {
    instance_id: String,
    state: String,
    flag: String,
}

/// The metrics of one fleet.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    up: Gauge,
    last_answer: Number,
    vast_age: Number,
    instances: Family<ByState, Gauge>,
    flagged: Family<ByFlag, Gauge>,
    log_channel: Family<ByHealth, Gauge>,
    condition: Family<ByKind, Gauge>,
    history_writable: Gauge,
    history_held: Gauge,
    history_lost: Counter,
    money: Family<ByUse, Number>,
    proofs: Number,
    per_proof: Number,
    not_told: Number,
    dwell: Family<ByInstance, Number>,
    late_from: Family<ByInstance, Number>,
    instance_flagged: Family<ByInstanceFlag, Number>,
    reads: Family<ByResult, Counter>,
    entered: Family<ByState, Counter>,
    raised: Family<ByFlag, Counter>,
    /// Held while a view is taken in and while metrics are told: none is told half.
    before: Mutex<Before>,
}

/// What was seen last.
#[derive(Debug, Default)]
struct Before {
    /// State and flag of each instance.
    instances: HashMap<String, (String, Option<String>)>,
    /// Readings that succeeded and that failed.
    readings: (u64, u64),
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("dwell");
        let dollars = || Unit::Other("dollars".to_owned());
        macro_rules! metric {
            ($name:literal, $help:literal) => {{
                let metric = Default::default();
                registry.register($name, $help, Clone::clone(&metric));
                metric
            }};
            ($name:literal, $help:literal, $unit:expr) => {{
                let metric = Default::default();
                registry.register_with_unit($name, $help, $unit, Clone::clone(&metric));
                metric
            }};
        }
        let metrics = Self {
            up: metric!("manager_up", "Whether the last reading of the manager succeeded"),
            last_answer: metric!("last_answer_timestamp", "When the manager last answered, on its own clock", Unit::Seconds),
            vast_age: metric!(
                "vast_record_age",
                "Age of the copy of vast.ai's list that the manager answers from",
                Unit::Seconds
            ),
            instances: metric!("instances", "Listed instances by the state that the manager tells"),
            flagged: metric!("flagged", "Flagged instances by flag"),
            log_channel: metric!(
                "log_channel_instances",
                "Instances alive by what their log could have shown: working, quiet, blind, not-asked"
            ),
            condition: metric!(
                "condition",
                "Whether a condition of the whole fleet stands: fleet-written-off, manager-never-reached, manager-unreachable, vast-list-missing, vast-list-stale, history-not-written, rows-unreadable, times-implausible"
            ),
            history_writable: metric!("history_writable", "Whether what is seen can be stored"),
            history_held: metric!(
                "history_held_entries",
                "Answers and log lines that are held in memory until history can be written"
            ),
            history_lost: metric!("history_lost_entries", "Answers and log lines that found no room in memory and are lost"),
            money: metric!(
                "cost_per_hour",
                "US dollars an hour by what they buy: proving, waiting, stalled, leaking, unknown (billed or not); no series where it is not known",
                dollars()
            ),
            proofs: metric!("benchmarked_proofs_per_hour", "Proofs an hour of the running instances, by their own benchmarks"),
            per_proof: metric!("cost_per_proof", "All US dollars over all proofs; no value where nothing proves", dollars()),
            not_told: metric!(
                "figures_not_told",
                "Instances whose price or benchmark rate was not told: the sums are too low by these"
            ),
            dwell: metric!("instance_dwell", "How long an instance alive has been in its state", Unit::Seconds),
            late_from: metric!("instance_late_from", "From which dwell on 95 % of its kind have left the state", Unit::Seconds),
            instance_flagged: metric!("instance_flagged", "Since how long an instance is flagged", Unit::Seconds),
            reads: metric!("reads", "Readings of the manager by how they ended"),
            entered: metric!("entered", "States entered since this watch began"),
            raised: metric!("raised", "Flags raised since this watch began"),
            registry,
            before: Mutex::default(),
        };
        // What no reading has told yet is no zero.
        for figure in [&metrics.last_answer, &metrics.vast_age, &metrics.proofs, &metrics.per_proof, &metrics.not_told] {
            figure.set(f64::NAN);
        }
        metrics
    }
}

impl Metrics {
    /// Takes in what is seen. Where the latest reading failed, what was seen last stands.
    pub fn take(&self, view: &FleetView) {
        let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let readings = (view.connection.answered, view.connection.failed);
        for (result, now, known) in [("ok", readings.0, before.readings.0), ("failed", readings.1, before.readings.1)] {
            // A watch that began anew counts from nothing.
            let new = now.checked_sub(known).unwrap_or(now);
            if new > 0 {
                self.reads.get_or_create(&ByResult { result: result.to_owned() }).inc_by(new);
            }
        }
        before.readings = readings;
        let is_up = view.connection.state == "ok";
        self.up.set(i64::from(is_up));
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let not_stored = dwell_fleet::ConditionKind::NotStored.as_str();
        self.history_writable.set(i64::from(!view.conditions.iter().any(|it| it.kind == not_stored)));
        self.history_held.set(count(view.connection.history_held));
        let lost = view.connection.history_lost as u64;
        self.history_lost.inc_by(lost.checked_sub(self.history_lost.get()).unwrap_or(lost));
        self.condition.clear();
        for kind in dwell_fleet::ConditionKind::ALL.map(dwell_fleet::ConditionKind::as_str) {
            let stands = view.conditions.iter().any(|it| it.kind == kind);
            // While the manager does not answer, whether anything else is out of order is not known.
            if stands || is_up || kind == not_stored {
                self.condition.get_or_create(&ByKind { kind: kind.to_owned() }).set(i64::from(stands));
            }
        }
        if !is_up {
            return;
        }
        if let Some(as_of) = view.as_of {
            self.last_answer.set(as_of.as_millisecond() as f64 / 1000.0);
        }
        self.vast_age.set(view.connection.vast_cache_age_s.unwrap_or(f64::NAN));
        let summary = &view.summary;
        self.instances.clear();
        for it in &summary.states {
            self.instances.get_or_create(&ByState { state: it.state.clone() }).set(count(it.count));
        }
        self.flagged.clear();
        for it in &summary.flags {
            self.flagged.get_or_create(&ByFlag { flag: it.kind.clone() }).set(count(it.count));
        }
        self.money.clear();
        for (name, dollars) in [
            ("proving", summary.proving_dollars_per_h),
            ("waiting", summary.waiting_dollars_per_h),
            ("stalled", summary.stalled_dollars_per_h),
            ("leaking", summary.leaking_dollars_per_h),
            ("unknown", summary.unknown_dollars_per_h),
        ] {
            if let Some(dollars) = dollars {
                self.money.get_or_create(&ByUse { r#use: name.to_owned() }).set(dollars);
            }
        }
        self.proofs.set(summary.benchmarked_proofs_per_h.unwrap_or(f64::NAN));
        self.per_proof.set(summary.dollars_per_proof.unwrap_or(f64::NAN));
        self.not_told.set((summary.price_not_told + summary.rate_not_told) as f64);
        self.take_instances(view, &mut before.instances);
    }

    fn take_instances(&self, view: &FleetView, before: &mut HashMap<String, (String, Option<String>)>) {
        self.dwell.clear();
        self.late_from.clear();
        self.instance_flagged.clear();
        self.log_channel.clear();
        let is_first = before.is_empty();
        for row in &view.instances {
            let flag = row.flag.as_ref().map(|flag| flag.kind.clone());
            let last = before.insert(row.id.clone(), (row.state.clone(), flag.clone()));
            let (state_before, flag_before) = last.map_or((None, None), |(state, flag)| (Some(state), flag));
            // What was so when the watch began was entered before it.
            if !is_first && state_before.as_ref() != Some(&row.state) {
                self.entered.get_or_create(&ByState { state: row.state.clone() }).inc();
            }
            if let Some(flag) = flag.filter(|flag| flag_before.as_ref() != Some(flag)) {
                self.raised.get_or_create(&ByFlag { flag }).inc();
            }
        }
        let listed: HashSet<&str> = view.instances.iter().map(|row| row.id.as_str()).collect();
        before.retain(|id, _| listed.contains(id.as_str()));
        let mut alive: Vec<_> = view.instances.iter().filter(|row| row.listed && row.state != "killed").collect();
        for row in &alive {
            self.log_channel.get_or_create(&ByHealth { health: row.log_health.clone() }).inc();
        }
        alive.sort_by(|left, right| right.dwell_s.unwrap_or(0.0).total_cmp(&left.dwell_s.unwrap_or(0.0)));
        for row in alive.into_iter().take(INSTANCES_MOST) {
            let labels = ByInstance {
                instance_id: row.id.clone(),
                state: row.state.clone(),
                gpu: row.gpu_name.clone().unwrap_or_default(),
            };
            if let Some(dwell_s) = row.dwell_s {
                self.dwell.get_or_create(&labels).set(dwell_s);
            }
            if let Some(expected) = &row.expectation {
                self.late_from.get_or_create(&labels).set(expected.late_from_s);
            }
        }
        for row in view.instances.iter().filter(|row| row.flag.is_some()).take(INSTANCES_MOST) {
            let Some(flag) = &row.flag else { continue };
            let labels = ByInstanceFlag { instance_id: row.id.clone(), state: row.state.clone(), flag: flag.kind.clone() };
            let since_s = dwell_fleet::seconds_between(flag.since, row.observed_at).max(0.0);
            self.instance_flagged.get_or_create(&labels).set(since_s);
        }
    }

    /// The metrics as text.
    pub fn text(&self) -> String {
        let _whole = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
