//! From what channels answered to observations: typed facts with their channel, their time and their reference.
//!
//! A fact is observed only where the channel could have shown it. What a blind, unreachable or unasked channel does not say
//! is no observation at all, and so moves nothing.

use std::borrow::Cow;

use dwell_fleet::{
    ChannelHealth, GPU_BUSY_PERCENT, Instance, Presence, State, Timestamp, VastFacts, WhyBlind, line_hash, seconds_between, shift,
    silence_limit,
};

use crate::around::Around;
use crate::catalogue::Phase;
use crate::channel::{Channel, Health};
use crate::fact::{self, Fact};
use dwell_fleet::look::{
    Asked, ContainerOutput, HostAnswer, HostSeen, Looks, ProverAnswer, ProverStatus, Reach, Smi, VastAnswer, VastRecord, VastShown,
};
use crate::signals::Signals;
use crate::signature::{SIGNATURES, Written, matches};

const MINUTE: f64 = 60.0;

/// A reading of the dashboard is evidence for so long, seconds.
const FRESH_DASHBOARD_S: f64 = 5.0 * MINUTE;
/// vast.ai's record.
const FRESH_VAST_S: f64 = 10.0 * MINUTE;
/// A look at the machine, and the prover's counters.
const FRESH_HOST_S: f64 = 15.0 * MINUTE;
/// Words in a log.
const FRESH_WORDS_S: f64 = 60.0 * MINUTE;

/// Proofs that take this many times as long as others' are slow.
const SLOW_TIMES: f64 = 1.3;
/// Proofs that take this many times as long as its own first ones: it slows down.
const SLOWING_TIMES: f64 = 1.12;

/// A typed fact, read on one channel at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// What.
    pub fact: Fact,
    /// Whether it holds.
    pub holds: bool,
    /// Where it was read.
    pub channel: Channel,
    /// What it speaks of: that time, on the manager's clock.
    pub at: Timestamp,
    /// It is evidence for so long after that, seconds.
    pub fresh_for_s: f64,
    /// The raw line or field, cut to 400 characters. Hostile text.
    pub reference: Cow<'static, str>,
}

/// Whether a channel could have spoken, and why that is said.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelState {
    /// Which.
    pub channel: Channel,
    /// Its health.
    pub health: Health,
    /// Why, as a sentence part.
    pub why: String,
    /// When it was last read.
    pub at: Option<Timestamp>,
}

/// An instance with all that was seen of it.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The instance, as the manager's answers tell it.
    pub instance: &'a Instance,
    /// What its log has said.
    pub signals: &'a Signals,
    /// What was asked on purpose.
    pub looks: &'a Looks,
    /// The fleet around it.
    pub around: &'a Around,
}

/// What was seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// The phase it is in; `None` for a state that the manager has made up since.
    pub phase: Option<Phase>,
    /// The phase that it was ended in, where it was.
    pub stay: Option<Phase>,
    /// Observations, one a fact, in the order of the table.
    pub observations: Vec<Observation>,
    /// The channels.
    pub channels: Vec<ChannelState>,
}

struct Gather<'a> {
    case: Case<'a>,
    /// The phase that what is seen speaks of: for one that was ended, the one that it was ended in.
    phase: Phase,
    now: Timestamp,
    /// When it was ended, where it was.
    ended_at: Option<Timestamp>,
    /// Since when what is seen belongs to the present state, or to the one that it was ended in.
    since: Timestamp,
    found: Vec<Option<Observation>>,
    channels: Vec<ChannelState>,
}

/// Everything that was seen of an instance.
pub fn observe(case: Case<'_>) -> Seen {
    let instance = case.instance;
    let listed = instance.presence == Presence::Listed;
    let Some(phase) = Phase::of(&instance.state, listed) else {
        return Seen { phase: None, stay: None, observations: Vec::new(), channels: Vec::new() };
    };
    let ended_at = (phase == Phase::Killed).then(|| instance.row.killed_at.unwrap_or(instance.entered.at));
    // The stay that it was ended in. A benchmark that is reported and fails ends the instance in the same second: then it was
    // ended in its benchmark.
    let before = instance.ledger.entries().iter().rev().filter(|entry| entry.state != State::Killed);
    let stay = ended_at.and_then(|ended| {
        let mut before = before.filter(|entry| entry.state != State::BenchDone || seconds_between(entry.at, ended) > MINUTE);
        before.next()
    });
    let since = match (ended_at, stay) {
        (Some(_), Some(entry)) => entry.at,
        (Some(_), None) => instance.first_seen_at,
        (None, _) => instance.entered.at,
    };
    let stay = stay.and_then(|entry| Phase::of(&entry.state, true)).unwrap_or(phase);
    let mut gather = Gather {
        case,
        phase: stay,
        now: case.around.now,
        ended_at,
        since,
        found: vec![None; Fact::every().count()],
        channels: Vec::new(),
    };
    gather.dashboard();
    gather.instance_log();
    gather.manager_log();
    gather.vast();
    gather.container();
    gather.host();
    gather.prover();
    Seen { phase: Some(phase), stay: ended_at.map(|_| stay), observations: gather.found.into_iter().flatten().collect(), channels: gather.channels }
}

fn cut(text: &str) -> String {
    text.chars().take(400).collect()
}

impl Gather<'_> {
    fn works_on_card(&self) -> bool {
        matches!(self.phase, Phase::ParamsDone | Phase::BenchDone | Phase::Running)
    }

    /// Age of something read at `at`, seconds. What was seen of the stay that it was ended in does not age: nothing has
    /// happened to it since.
    fn age_s(&self, at: Timestamp) -> f64 {
        match self.ended_at {
            Some(ended) if at <= ended && at >= self.since => 0.0,
            Some(ended) if at <= ended => seconds_between(at, ended),
            _ => seconds_between(at, self.now),
        }
    }

    /// A look that is too old to count, or of a machine that had been given back, is none. False then.
    fn counts(&mut self, channel: Channel, at: Timestamp, fresh_for_s: f64) -> bool {
        let age_s = self.age_s(at);
        if age_s > fresh_for_s {
            self.channel(channel, Health::NotAsked, format!("last asked {:.0} min ago: too long", age_s / MINUTE), Some(at));
            return false;
        }
        let given_back = self.ended_at.is_some_and(|ended| at > ended) && channel != Channel::VastRecord;
        if given_back {
            self.channel(channel, Health::Blind, "looked at after its end: it says nothing of what came before", Some(at));
        }
        !given_back
    }

    fn note(&mut self, fact: Fact, holds: bool, channel: Channel, at: Timestamp, fresh_for_s: f64, reference: impl Into<Cow<'static, str>>) {
        if self.age_s(at) > fresh_for_s {
            return;
        }
        let Some(place) = self.found.get_mut(fact.index()) else { return };
        // Words that were found anywhere are found; of anything else the newest reading counts.
        let words = fact.kind().id.starts_with("said:");
        let better = place.as_ref().is_none_or(|known| {
            if words && known.holds != holds {
                return holds;
            }
            known.at <= at
        });
        if better {
            *place = Some(Observation { fact, holds, channel, at, fresh_for_s, reference: reference.into() });
        }
    }

    fn channel(&mut self, channel: Channel, health: Health, why: impl Into<String>, at: Option<Timestamp>) {
        self.channels.push(ChannelState { channel, health, why: why.into(), at });
    }

    // The manager's dashboard.

    fn dashboard(&mut self) {
        let around = self.case.around;
        let instance = self.case.instance;
        let row = &instance.row;
        let (channel, at) = (Channel::ManagerDashboard, around.as_of.unwrap_or(instance.last_listed_at));
        match &around.unreachable {
            Some(why) => self.channel(channel, Health::Unreachable, why.clone(), around.as_of),
            None if self.phase == Phase::Vanished => {
                self.channel(channel, Health::Quiet, "the manager answers and does not list it any more", Some(at));
            }
            None => self.channel(channel, Health::Working, "the manager lists it", Some(at)),
        }
        if let Some(why) = &around.unreachable {
            self.note(fact::MANAGER_UNREACHABLE, true, channel, self.now, FRESH_DASHBOARD_S, why.clone());
        } else {
            self.note(fact::MANAGER_UNREACHABLE, false, channel, at, FRESH_DASHBOARD_S, "its latest answer");
        }
        if let Some(skew_s) = around.clock_skew_s {
            let text = format!("updated_at is {skew_s:.0} s ahead of this clock");
            self.note(fact::MANAGER_CLOCK_OFF, skew_s.abs() > 120.0, channel, at, FRESH_DASHBOARD_S, text);
        }
        if let Some(age_s) = around.vast_cache_age_s {
            let text = format!("vast_cache_age_s: {age_s:.0}");
            self.note(fact::LIST_OLD, age_s > 180.0, channel, at, FRESH_DASHBOARD_S, text);
        }
        if let (Some(dwell_s), Some(expectation)) =
            (instance.assessment.as_ref().and_then(|it| it.dwell_s), instance.assessment.as_ref().and_then(|it| it.expectation.as_ref()))
            && instance.state.is_waiting()
        {
            let text = format!("dwell {dwell_s:.0} s, late from {:.0} s", expectation.late_from_s);
            self.note(fact::LATE, dwell_s > expectation.late_from_s, channel, at, FRESH_DASHBOARD_S, text);
        }
        let text = |name: &str, value: &dyn std::fmt::Debug| format!("{name}: {value:?}");
        self.note(fact::VANISHED, self.phase == Phase::Vanished, channel, at, FRESH_DASHBOARD_S, text("presence", &instance.presence));
        if let Some(label) = row.label.as_deref().filter(|_| instance.uuid.is_some()) {
            let odd = row.vast_id_told().is_none() && !label.starts_with("C.");
            self.note(fact::LABEL_ODD, odd, channel, at, FRESH_DASHBOARD_S, format!("label: {}", cut(label)));
        }
        if instance.uuid.is_some() {
            let twin = around.twins.contains(&instance.key);
            self.note(fact::TWIN_ROW, twin, channel, at, FRESH_DASHBOARD_S, "rows of the same vast_id or label");
        }
        if self.phase == Phase::Loading {
            let fell = instance.uuid.is_some() || instance.ledger.entries().iter().any(|entry| entry.state != State::Loading);
            self.note(fact::FELL_BACK, fell, channel, at, FRESH_DASHBOARD_S, text("state", &instance.state));
        }
        if self.phase == Phase::ParamsDone {
            let missing = row.param_done_at.is_none();
            self.note(fact::NO_PARAMETER_TIME, missing, channel, at, FRESH_DASHBOARD_S, text("param_done_at", &row.param_done_at));
        }
        if self.phase == Phase::Running {
            let none = row.bench_done_at.is_none() && row.bench_rate_proofs_per_h.is_none();
            self.note(fact::NO_BENCHMARK, none, channel, at, FRESH_DASHBOARD_S, text("bench_done_at", &row.bench_done_at));
        }
        if let Some(lines) = row.log_lines {
            self.note(fact::BUFFER_FULL, lines >= 9_000, channel, at, FRESH_DASHBOARD_S, format!("log_lines: {lines}"));
        }
        if matches!(self.phase, Phase::BenchDone | Phase::Running) {
            let back = row.killed_at.is_some();
            self.note(fact::KILLED_AND_BACK, back, channel, at, FRESH_DASHBOARD_S, text("killed_at", &row.killed_at));
        }
        self.rates(at);
        if let Some(ended) = self.ended_at {
            self.killed(ended, at);
        }
        self.told_by_row(at);
    }

    fn rates(&mut self, at: Timestamp) {
        let (instance, around) = (self.case.instance, self.case.around);
        let row = &instance.row;
        let usual = instance.vast.gpu_kind().and_then(|kind| around.usual_rate(&kind, instance.key));
        let channel = Channel::ManagerDashboard;
        if let (Some(rate), Some(usual)) = (row.bench_rate_proofs_per_h, usual) {
            let text = format!("bench_rate: {rate}; others with this card {usual:.1} proofs/h");
            self.note(fact::RATE_IMPLAUSIBLE, rate > usual * 3.0, channel, at, FRESH_WORDS_S, text);
        }
        if let (Some(least), Some(best)) =
            (row.min_rate_proofs_per_h, instance.vast.gpu_kind().and_then(|kind| around.best_rate(&kind, instance.key)))
        {
            let text = format!("min_rate: {least}; best with this card {best:.1} proofs/h");
            self.note(fact::MIN_RATE_HIGH, least > best * 1.05, channel, at, FRESH_WORDS_S, text);
        }
        if matches!(self.phase, Phase::BenchDone | Phase::Running)
            && let Some(done) = row.bench_done_at
            && instance.log.newest.contains_key("benchout")
        {
            // A benchmark that its own log knows nothing of: no summary, though its lines do arrive.
            let seen = self.case.signals.said("summary").is_some();
            let text = format!("bench_done_at: {done}; its benchout lines hold {} summary", if seen { "a" } else { "no" });
            self.note(fact::BEATEN_TO_IT, !seen, Channel::InstanceLog, done, FRESH_WORDS_S * 6.0, text);
        }
    }

    fn killed(&mut self, ended: Timestamp, at: Timestamp) {
        let (instance, around) = (self.case.instance, self.case.around);
        let row = &instance.row;
        let channel = Channel::ManagerDashboard;
        let reason = row.kill_reason.as_deref().unwrap_or_default();
        let text = || format!("kill_reason: {}", cut(reason));
        let zero = reason.contains("bench_rate 0.0 below") || reason.contains("bench_rate 0 below");
        let low = !zero && reason.contains("below min_rate");
        let facts = [
            (fact::KILLED_DISAPPEARED, reason.contains("disappeared")),
            (fact::KILLED_RATE_ZERO, zero),
            (fact::KILLED_RATE_LOW, low),
            (fact::KILLED_BENCHMARK_TIMEOUT, reason.contains("benchmark timeout")),
            (fact::KILLED_PARAMS_TIMEOUT, reason.contains("param") && reason.contains("timeout")),
            (fact::KILLED_BY_HAND, reason.contains("manual")),
        ];
        for (fact, holds) in facts {
            self.note(fact, holds, channel, ended, f64::MAX, text());
        }
        if low
            && let Some((rate, usual)) = row
                .bench_rate_proofs_per_h
                .zip(instance.vast.gpu_kind().and_then(|kind| around.usual_rate(&kind, instance.key)).or(around.usual_rate_of_all))
        {
            let share = if usual > 0.0 { rate / usual } else { 1.0 };
            let text = format!("bench_rate: {rate}; others {usual:.1} proofs/h");
            self.note(fact::KILLED_RATE_SIXTIETH, (1.0 / 150.0..1.0 / 25.0).contains(&share), channel, ended, f64::MAX, text);
        }
        let limit = if reason.contains("benchmark timeout") {
            row.param_done_at.map(|from| (from, 45.0))
        } else if reason.contains("timeout") {
            row.registered_at.map(|from| (from, 90.0))
        } else {
            None
        };
        if let Some((from, minutes)) = limit {
            let passed = seconds_between(from, ended) / MINUTE;
            // A clock that jumped has stamped the kill with its new time: then the next answers are dated before it.
            let observed = instance.entered.at.min(ended);
            let by_other_dates = seconds_between(from, observed) / MINUTE;
            let seen_before = around.skew_before_s.is_some_and(|before| around.clock_skew_s.is_some_and(|now| (now - before).abs() > 120.0));
            let soon = passed + 1.0 < minutes || by_other_dates + 1.0 < minutes || seen_before;
            self.note(fact::KILLED_TOO_SOON, soon, channel, ended, f64::MAX, format!("{passed:.0} min of {minutes:.0} had passed"));
        }
        let together = around.killed_together.contains(&instance.key);
        self.note(fact::KILLED_TOGETHER, together, channel, ended, f64::MAX, "killed_at of the other rows");
        // The manager reads the list every minute; two readings later a destroyed rental is gone from it.
        if around.vast_cache_age_s.is_some_and(|age_s| age_s < 180.0) && seconds_between(ended, at) > 180.0 {
            let there = row.vast_id.is_some() && row.vast.gpu_name.is_some();
            if there || !reason.contains("disappeared") {
                self.note(fact::KILLED_STILL_LISTED, there, channel, at, FRESH_DASHBOARD_S, format!("vast_id: {:?}", row.vast_id));
            }
        }
    }

    /// What the manager's copy of vast.ai's record tells.
    fn told_by_row(&mut self, at: Timestamp) {
        let (instance, around) = (self.case.instance, self.case.around);
        if self.ended_at.is_some() || instance.row.vast_id.is_none() {
            return;
        }
        let channel = Channel::ManagerDashboard;
        let vast: &VastFacts = &instance.row.vast;
        let read_at = around.vast_cache_age_s.map_or(at, |age_s| shift(at, -age_s));
        self.record_texts(vast.status_msg.as_deref(), channel, read_at);
        if self.phase == Phase::Loading && seconds_between(instance.first_seen_at, at) > 5.0 * MINUTE {
            let moved = instance.status_changed_at.is_some_and(|changed| seconds_between(changed, at) < 5.0 * MINUTE);
            let text = format!("status_msg: {}", cut(vast.status_msg.as_deref().unwrap_or("null")));
            self.note(fact::STATUS_STANDS, !moved, channel, read_at, FRESH_VAST_S, text);
        }
        if let Some(version) = &vast.driver_version {
            self.driver(version, channel, read_at);
        }
        if let (Some(load), true) = (vast.cpu_util_percent, self.works_on_card()) {
            self.note(fact::CPU_FULL, load >= 90.0, channel, read_at, FRESH_VAST_S, format!("cpu_util: {load}"));
        }
        if let (Some(limit), Some(ram)) = (vast.mem_limit_gb, vast.cpu_ram_mib) {
            self.memory(limit, ram, channel, read_at);
        }
        if around.telemetry_told {
            self.note(fact::TELEMETRY_ZEROS, around.telemetry_zeros, channel, read_at, FRESH_VAST_S, "gpu_util, gpu_temp of the fleet's rows");
            if let Some(frozen) = around.telemetry_frozen {
                self.note(fact::TELEMETRY_FROZEN, frozen, channel, read_at, FRESH_VAST_S, "gpu_util, gpu_temp of the fleet's rows");
            }
        }
        if self.works_on_card() && !around.telemetry_zeros {
            if let Some(idle) = instance.gpu.idle_since(at).filter(|idle| seconds_between(*idle, at) > 3.0 * MINUTE) {
                self.note(fact::GPU_IDLE, true, channel, read_at, FRESH_VAST_S, format!("gpu_util below {GPU_BUSY_PERCENT} % since {idle}"));
            } else if let Some(busy) = instance.gpu.last_busy.filter(|busy| seconds_between(*busy, at) < 4.0 * MINUTE) {
                self.note(fact::GPU_IDLE, false, channel, busy, FRESH_VAST_S, "gpu_util");
            }
        }
    }

    fn record_texts(&mut self, status: Option<&str>, channel: Channel, at: Timestamp) {
        let found = status.map(|text| matches(Written::InVastStatus, text)).unwrap_or_default();
        for signature in SIGNATURES.iter().filter(|signature| signature.written == Written::InVastStatus) {
            let holds = found.iter().any(|it| it.id == signature.id);
            // What a status does not say is evidence only where it says something.
            if holds || status.is_some_and(|text| !text.is_empty()) {
                let text = format!("status_msg: {}", cut(status.unwrap_or_default()));
                self.note(Fact::said(signature.id), holds, channel, at, FRESH_VAST_S, text);
            }
        }
    }

    fn driver(&mut self, version: &str, channel: Channel, at: Timestamp) {
        // Driver branch that CUDA 12.4 needs on Linux: 550 (NVIDIA, CUDA 12.4 release notes, table 3).
        let Some(branch) = version.split('.').next().and_then(|branch| branch.parse::<u32>().ok()) else { return };
        self.note(fact::DRIVER_OLD, branch < 550, channel, at, FRESH_VAST_S, format!("driver_version: {}", cut(version)));
    }

    fn memory(&mut self, limit_gb: f64, ram_mib: f64, channel: Channel, at: Timestamp) {
        let small = limit_gb < ram_mib / 1024.0 * 0.9;
        self.note(fact::SMALL_MEMORY, small, channel, at, FRESH_VAST_S, format!("mem_limit: {limit_gb} of {:.0} GiB", ram_mib / 1024.0));
    }

    // The instance's log.

    fn instance_log(&mut self) {
        let (instance, around, signals) = (self.case.instance, self.case.around, self.case.signals);
        let channel = Channel::InstanceLog;
        let log = &instance.log;
        let newest = log.newest.values().max().copied();
        let health = instance.assessment.as_ref().map(|assessment| &assessment.log_health);
        let (state, why) = log_state(health, newest.is_some(), self.ended_at.is_some());
        self.channel(channel, state, why, newest.or(log.read_at));
        if around.unreachable.is_some() {
            return;
        }
        let at = around.as_of.unwrap_or(instance.last_listed_at);
        match health {
            Some(ChannelHealth::Working { source, newest }) => {
                self.note(fact::LOG_SILENT, false, channel, *newest, f64::MAX, format!("newest {source} line at {newest}"));
            }
            Some(ChannelHealth::Quiet { source, newest, repeats, .. }) => {
                let from = newest.unwrap_or(instance.entered.at).max(instance.entered.at);
                let silent_s = seconds_between(from, at);
                if silent_s > silence_limit(&instance.state) {
                    let words = if repeats.is_some() { "has only repeated itself" } else { "has said nothing" };
                    let text = format!("{source} {words} for {:.0} min", silent_s / MINUTE);
                    self.note(fact::LOG_SILENT, true, channel, at, FRESH_WORDS_S, text);
                }
            }
            _ => self.silent_before_its_end(),
        }
        if let Some(newest) = newest {
            self.note(fact::LOG_SPOKE, true, channel, newest, f64::MAX, format!("sources: {}", sources(instance)));
            if self.works_on_card() {
                let only_early = log.newest.keys().all(|source| source == "setup" || source == "cuzk" || source == "curio");
                let prover = log.newest.keys().any(|source| source == "cuzk" || source == "curio");
                let early = only_early && (self.phase != Phase::Running || !prover);
                self.note(fact::ONLY_EARLY_SOURCES, early, channel, newest, f64::MAX, format!("sources: {}", sources(instance)));
            }
            let unnamed = signals.unnamed.is_some();
            self.note(fact::UNNAMED_SOURCE, unnamed, channel, newest, f64::MAX, format!("sources: {}", sources(instance)));
        }
        self.words(newest, at);
        self.pace(newest);
    }

    /// Of one that was ended: whether its log had fallen silent before.
    fn silent_before_its_end(&mut self) {
        let Some(ended) = self.ended_at else { return };
        let instance = self.case.instance;
        let Some(state) = self.phase.state() else { return };
        let state = &state;
        let Some((source, newest)) = instance.log.newest_progress(state, self.since).filter(|(_, at)| *at >= self.since) else {
            return;
        };
        let silent_s = seconds_between(newest, ended);
        let text = format!("newest {source} line {:.0} min before its end", silent_s / MINUTE);
        self.note(fact::LOG_SILENT, silent_s > silence_limit(state), Channel::InstanceLog, newest.min(ended), f64::MAX, text);
        if let Some(idle) = instance.gpu.idle_since(ended).filter(|_| self.works_on_card()) {
            let idle_s = seconds_between(idle, ended);
            if idle_s > 5.0 * MINUTE {
                let text = format!("gpu_util below {GPU_BUSY_PERCENT} % for {:.0} min before its end", idle_s / MINUTE);
                self.note(fact::GPU_IDLE, true, Channel::ManagerDashboard, ended, f64::MAX, text);
            }
        } else if instance.gpu.is_busy(ended) && self.works_on_card() {
            self.note(fact::GPU_IDLE, false, Channel::ManagerDashboard, ended, f64::MAX, "gpu_util before its end");
        }
    }

    /// Which words were written since `since`, and which were not although they could have been.
    fn words(&mut self, newest: Option<Timestamp>, at: Timestamp) {
        let (instance, signals) = (self.case.instance, self.case.signals);
        let channel = Channel::InstanceLog;
        let able = newest.is_some_and(|newest| newest >= self.since)
            && match self.phase {
                Phase::Loading | Phase::Registered | Phase::Vanished => true,
                _ => instance.log.newest.iter().any(|(source, at)| source != "setup" && *at >= self.since),
            };
        // The last lines of one that was ended by its own report are lost with it: what they do not say is no evidence.
        let reason = instance.row.kill_reason.as_deref().unwrap_or_default();
        let able = able && !(self.ended_at.is_some() && reason.contains("bench_rate"));
        for signature in SIGNATURES.iter().filter(|signature| signature.written == Written::InInstanceLog) {
            let fact = Fact::said(signature.id);
            match signals.said(signature.id).filter(|said| said.at >= shift(self.since, -2.0)) {
                // The last that it said, however long ago, or within the hour.
                Some(said) => {
                    let last = newest.is_some_and(|newest| seconds_between(said.at, newest) < 15.0 * MINUTE);
                    // A stay on the way is short: what was said in it is of it. A run can last for weeks.
                    let fresh_for_s = if last || self.phase != Phase::Running { f64::MAX } else { FRESH_WORDS_S };
                    self.note(fact, true, channel, said.at, fresh_for_s, format!("{}: {}", said.source, said.line));
                }
                None if able => self.note(fact, false, channel, newest.unwrap_or(at), FRESH_WORDS_S, "lines since it entered this state"),
                None => {}
            }
        }
    }

    fn pace(&mut self, newest: Option<Timestamp>) {
        let (instance, around, signals) = (self.case.instance, self.case.around, self.case.signals);
        let channel = Channel::InstanceLog;
        let Some(newest) = newest else { return };
        match signals.burst {
            Some((at, lines, bytes)) => {
                let text = format!("{lines} lines, {bytes} bytes at {at}");
                self.note(fact::LINES_IN_A_BURST, true, channel, at, FRESH_WORDS_S * 2.0, text.clone());
                self.note(fact::PUSH_CUT, signals.push_cut().is_some(), channel, at, FRESH_WORDS_S * 2.0, text);
            }
            None => self.note(fact::LINES_IN_A_BURST, false, channel, newest, FRESH_WORDS_S, "times of its lines"),
        }
        if self.phase == Phase::ParamsDone && signals.benchmark_at.is_some_and(|at| at >= self.since) {
            // Between the lines of slow proofs there are long times as well.
            let slow_s = signals.proof_s().unwrap_or(0.0) * 2.5;
            let pause = signals.pause.filter(|(end, pause_s)| *end >= self.since && *pause_s > slow_s);
            let text = pause.map_or_else(|| "times of its benchmark's lines".to_owned(), |(end, s)| format!("no line for {s:.0} s until {end}"));
            self.note(fact::PAUSED, pause.is_some(), channel, newest, FRESH_WORDS_S, text);
        }
        if self.phase == Phase::Registered {
            let drawn = signals.carriages.is_some();
            self.note(fact::RETURNED_CARRIAGES, drawn, channel, newest, FRESH_WORDS_S, "its longest line");
        }
        if let Some(seconds) = signals.proof_s()
            && let Some(usual) = instance.vast.gpu_kind().and_then(|kind| around.usual_proof_s(&kind, instance.key))
        {
            let text = format!("{seconds:.1} s a proof; others with this card {usual:.1} s");
            self.note(fact::PROOFS_SLOW, seconds > usual * SLOW_TIMES, channel, newest, FRESH_WORDS_S, text);
        }
        if let Some(times) = signals.slowing() {
            let text = format!("latest proofs take {times:.2} times as long as its first");
            self.note(fact::PROOFS_SLOWING, times > SLOWING_TIMES, channel, newest, FRESH_WORDS_S, text);
        }
    }

    // The manager's log.

    fn manager_log(&mut self) {
        let (instance, around) = (self.case.instance, self.case.around);
        let manager = &around.manager;
        let channel = Channel::ManagerLog;
        let Some((oldest, newest)) = manager.oldest.zip(manager.newest) else {
            let (health, why) = match &around.manager_log_failure {
                Some(why) => (Health::Unreachable, why.clone()),
                None => (Health::NotAsked, "not read yet".to_owned()),
            };
            return self.channel(channel, health, why, None);
        };
        let at = around.as_of.unwrap_or(newest);
        let known = dwell_fleet::words::duration(seconds_between(oldest, at).max(0.0));
        self.channel(channel, Health::Working, format!("its lines of the last {known} are known"), Some(newest));
        for id in ["listing-failed", "listing-empty-output", "listing-odd"] {
            let said = manager.fleet(id);
            let recent = said.filter(|said| seconds_between(said.at, at) < 5.0 * MINUTE);
            match recent {
                Some(said) => self.note(Fact::said(id), true, channel, said.at, FRESH_WORDS_S, said.line.clone()),
                None => self.note(Fact::said(id), false, channel, newest, FRESH_WORDS_S, "its newest lines"),
            }
        }
        let read_at = manager.read_at.unwrap_or(newest);
        let silent_s = seconds_between(manager.listing_at.unwrap_or(oldest), read_at);
        self.note(fact::LISTING_SILENT, silent_s > 200.0, channel, read_at, FRESH_WORDS_S, format!("no line about it for {silent_s:.0} s"));
        let none = manager.listed_none_at.filter(|at| self.age_s(*at).abs() < FRESH_WORDS_S);
        self.note(fact::LISTED_NONE, none.is_some(), channel, none.unwrap_or(newest), FRESH_WORDS_S, "[monitor] cached 0 vast instances");
        if let Some((listed_at, count)) = manager.listed {
            self.note(fact::LISTED_ONE_PAGE, count == 25, channel, listed_at, FRESH_WORDS_S, format!("[monitor] cached {count} vast instances"));
        }
        let mut names: Vec<String> = instance.uuid.iter().map(ToString::to_string).collect();
        if let Some(vast_id) = instance.vast_id {
            names.extend([vast_id.to_string(), format!("C.{vast_id}")]);
        }
        let covers = oldest <= self.since;
        for id in ["bad-host", "unregistered", "destroy-failed", "no-timestamp", "re-registered"] {
            let fact = Fact::said(id);
            match manager.of(&names, id) {
                Some(said) => {
                    // A restart before this state was reached is of another stay.
                    if id == "re-registered" {
                        if said.at < self.since {
                            continue;
                        }
                        self.note(fact::STARTED_OVER, true, channel, said.at, f64::MAX, said.line.clone());
                    }
                    self.note(fact, true, channel, said.at, f64::MAX, said.line.clone());
                }
                None if covers => {
                    if id == "re-registered" {
                        self.note(fact::STARTED_OVER, false, channel, newest, FRESH_WORDS_S, "no re-register since it entered this state");
                    }
                    self.note(fact, false, channel, newest, f64::MAX, "no such line of it");
                }
                None => {}
            }
        }
        if let (Some(vast_id), Some(ended)) = (instance.vast_id, self.ended_at)
            && oldest <= ended
        {
            let holds = manager.destroyed(vast_id.0);
            self.note(fact::DESTROYED_BY_ITS_WORD, holds, channel, ended, f64::MAX, format!("[monitor] destroyed vast instance {vast_id}"));
        }
        if let Some(started) = around.manager_started_at {
            let lost = started > self.since && instance.row.log_lines.is_some();
            let text = format!("the manager started at {started}");
            self.note(fact::LOGS_LOST_AT_RESTART, lost, channel, newest, FRESH_WORDS_S, text);
        }
    }

    // vast.ai.

    fn vast(&mut self) {
        let channel = Channel::VastRecord;
        let Some(Asked { at, answer }) = self.case.looks.vast.clone() else {
            return self.channel(channel, Health::NotAsked, "nobody asked vast.ai", None);
        };
        if !self.counts(channel, at, FRESH_VAST_S) {
            return;
        }
        let refused = match answer.record {
            VastShown::NoAnswer => {
                return self.channel(channel, Health::Unreachable, "vast.ai does not answer", Some(at));
            }
            VastShown::Refused(status) => Some(status),
            _ => None,
        };
        let text = refused.map_or_else(|| "its answer".to_owned(), |status| format!("HTTP {status}"));
        self.note(fact::VAST_REFUSES, refused.is_some(), channel, at, FRESH_VAST_S, text.clone());
        self.note(fact::LISTING_RETIRED, answer.listing_retired, channel, at, FRESH_VAST_S, "the listing without a page token");
        if let Some(status) = refused {
            return self.channel(channel, Health::Unreachable, format!("vast.ai refuses: HTTP {status}"), Some(at));
        }
        self.account(&answer, at);
        match &answer.record {
            VastShown::Record(record) => {
                self.channel(channel, Health::Working, "vast.ai has the rental", Some(at));
                self.note(fact::RECORD_ABSENT, false, channel, at, FRESH_VAST_S, "the record");
                self.note(fact::RECORD_FLICKERS, false, channel, at, FRESH_VAST_S, "record and list");
                if self.ended_at.is_some_and(|ended| seconds_between(ended, at) > 180.0) {
                    self.note(fact::KILLED_STILL_LISTED, true, channel, at, FRESH_VAST_S, "the record");
                }
                self.record(record, at);
            }
            _ => {
                let listed = answer.listed == Some(true);
                let why = if listed { "vast.ai lists it and answers null" } else { "vast.ai has no such rental" };
                self.channel(channel, Health::Working, why, Some(at));
                self.note(fact::RECORD_FLICKERS, listed, channel, at, FRESH_VAST_S, "record and list");
                self.note(fact::RECORD_ABSENT, !listed, channel, at, FRESH_VAST_S, "record and list");
                if !listed && self.ended_at.is_some() {
                    self.note(fact::KILLED_STILL_LISTED, false, channel, at, FRESH_VAST_S, "record and list");
                }
            }
        }
    }

    fn account(&mut self, answer: &VastAnswer, at: Timestamp) {
        let channel = Channel::VastRecord;
        if let Some(credit) = answer.credit_dollars {
            self.note(fact::CREDIT_GONE, credit <= 0.0, channel, at, FRESH_VAST_S, format!("credit: ${credit:.2}"));
        }
        if let Some((all, stopped)) = answer.rentals.filter(|(all, _)| *all >= 2) {
            let text = format!("{stopped} of {all} rentals are stopped");
            self.note(fact::STOPPED_TOGETHER, stopped * 2 > all, channel, at, FRESH_VAST_S, text);
        }
    }

    fn record(&mut self, record: &VastRecord, at: Timestamp) {
        let channel = Channel::VastRecord;
        let actual = record.actual_status.as_deref();
        let running = actual == Some("running");
        let stopped = matches!(actual, Some("stopped" | "exited"));
        let meant_to_run = record.intended_status.as_deref() == Some("running");
        let status = format!(
            "actual_status: {}, intended_status: {}, cur_state: {}",
            actual.unwrap_or("null"),
            record.intended_status.as_deref().unwrap_or("null"),
            record.cur_state.as_deref().unwrap_or("null")
        );
        let ended = record.end_date.is_some_and(|end| end <= at);
        let facts = [
            (fact::NOT_RUNNING, !running),
            (fact::PULLING, actual == Some("loading")),
            (fact::CREATED_ONLY, actual == Some("created")),
            (fact::OFFLINE, matches!(actual, Some("offline" | "unknown"))),
            (fact::STOPPED_AS_MEANT, stopped && !meant_to_run),
            (fact::STOPPED_AGAINST_WILL, stopped && meant_to_run),
            (fact::WAITS_FOR_CARD, record.cur_state.as_deref() == Some("scheduling")),
        ];
        for (fact, holds) in facts {
            self.note(fact, holds, channel, at, FRESH_VAST_S, cut(&status));
        }
        if let Some(bid) = record.is_bid {
            self.note(fact::IS_BID, bid, channel, at, FRESH_VAST_S, format!("is_bid: {bid}"));
        }
        if let Some(end) = record.end_date {
            self.note(fact::END_PASSED, ended, channel, at, FRESH_VAST_S, format!("end_date: {end}"));
        }
        if let (Some(mapped), true) = (record.ssh_mapped, running) {
            self.note(fact::NO_PORTS, !mapped, channel, at, FRESH_VAST_S, format!("ports: 22/tcp {}", if mapped { "mapped" } else { "absent" }));
        }
        self.note(fact::LABELLED, record.label.is_some(), channel, at, FRESH_VAST_S, format!("label: {:?}", record.label.as_deref().map(cut)));
        self.note(fact::START_DATE_MISSING, record.start_date.is_none(), channel, at, FRESH_VAST_S, format!("start_date: {:?}", record.start_date));
        self.record_texts(record.status_msg.as_deref(), channel, at);
        if let Some(version) = &record.driver_version {
            self.driver(version, channel, at);
        }
        if let (Some(cores), Some(effective)) = (record.cpu_cores, record.cpu_cores_effective) {
            let text = format!("cpu_cores_effective: {effective} of {cores}");
            self.note(fact::FEW_CORES, effective < cores * 0.55, channel, at, FRESH_VAST_S, text);
        }
        let told = record.gpu_temp_c.is_some_and(|degrees| degrees > 0.0);
        if running && told && self.works_on_card() {
            if let Some(load) = record.cpu_util_percent {
                self.note(fact::CPU_FULL, load >= 90.0, channel, at, FRESH_VAST_S, format!("cpu_util: {load}"));
            }
            if let Some(load) = record.gpu_util_percent.filter(|load| *load >= GPU_BUSY_PERCENT) {
                self.note(fact::GPU_IDLE, false, channel, at, FRESH_VAST_S, format!("gpu_util: {load}"));
            }
        }
        if let (Some(limit), Some(ram)) = (record.mem_limit_gb, record.cpu_ram_mib) {
            self.memory(limit, ram, channel, at);
        }
        if let (Some(space), Some(used)) = (record.disk_space_gb, record.disk_usage_gb.filter(|used| *used >= 0.0)) {
            self.note(fact::DISK_FULL, used >= space * 0.98, channel, at, FRESH_VAST_S, format!("disk_usage: {used} of {space} GB"));
        }
    }

    // The container's output.

    fn container(&mut self) {
        let channel = Channel::ContainerLog;
        let Some(Asked { at, answer }) = self.case.looks.container.clone() else {
            return self.channel(channel, Health::NotAsked, "nobody asked vast.ai for it", None);
        };
        if !self.counts(channel, at, FRESH_HOST_S) {
            return;
        }
        let ContainerOutput { container, daemon, uploaded_after_s } = &answer;
        self.note(fact::LOG_UPLOAD_LATE, *uploaded_after_s > 20.0, channel, at, FRESH_WORDS_S, format!("uploaded after {uploaded_after_s:.0} s"));
        if container.is_empty() && daemon.is_empty() {
            return self.channel(channel, Health::Blind, "vast.ai uploaded nothing", Some(at));
        }
        self.channel(channel, Health::Working, "vast.ai uploaded it; the workload writes to files, not here", Some(at));
        let none = container.contains("No such container");
        self.note(fact::NO_CONTAINER, none, channel, at, FRESH_HOST_S, cut(container.lines().last().unwrap_or_default()));
        for signature in matches(Written::InVastStatus, daemon) {
            let line = daemon.lines().find(|line| matches(Written::InVastStatus, line).iter().any(|it| it.id == signature.id));
            self.note(Fact::said(signature.id), true, channel, at, FRESH_HOST_S, cut(line.unwrap_or_default()));
        }
    }

    // The machine.

    fn host(&mut self) {
        let channel = Channel::SshProbe;
        let Some(Asked { at, answer }) = self.case.looks.host.clone() else {
            return self.channel(channel, Health::NotAsked, "nobody looked", None);
        };
        if !self.counts(channel, at, FRESH_HOST_S) {
            return;
        }
        let HostAnswer { direct, proxy, seen } = &answer;
        let inside = seen.is_some();
        let way = format!("direct: {direct:?}, proxy: {proxy:?}");
        let facts = [
            (fact::SSH_TIMES_OUT, *direct == Reach::TimedOut && *proxy == Reach::TimedOut),
            (fact::SSH_REFUSED, *direct == Reach::Refused || (*proxy == Reach::Refused && *direct == Reach::NoAddress)),
            (fact::KEY_REFUSED, !inside && (*direct == Reach::KeyRefused || *proxy == Reach::KeyRefused)),
            (fact::NO_ADDRESS, *direct == Reach::NoAddress && *proxy == Reach::NoAddress),
            (fact::ONLY_BY_PROXY, inside && *direct != Reach::Connected),
        ];
        for (fact, holds) in facts {
            self.note(fact, holds, channel, at, FRESH_HOST_S, way.clone());
        }
        match seen {
            None => self.channel(channel, Health::Unreachable, format!("no way in: {way}"), Some(at)),
            Some(seen) => {
                let seen = &self.on_our_clock(seen);
                self.channel(channel, Health::Working, "the machine was looked at", Some(at));
                self.processes(seen, at);
                self.cards(seen, at);
                self.machine(seen, at);
                self.files(seen, at);
            }
        }
    }

    /// The machine's times on the manager's clock.
    fn on_our_clock(&self, seen: &HostSeen) -> HostSeen {
        let skew_s = self.case.around.clock_skew_s.unwrap_or(0.0);
        let by_s = skew_s - seen.clock_ahead_s.unwrap_or(0.0);
        let mut seen = seen.clone();
        if by_s.abs() < 5.0 {
            return seen;
        }
        let moved = |at: &mut Timestamp| *at = shift(*at, by_s);
        seen.container_started_at.iter_mut().for_each(moved);
        seen.processes.iter_mut().map(|it| &mut it.started_at).for_each(moved);
        seen.exits.iter_mut().map(|it| &mut it.at).for_each(moved);
        seen.kernel.iter_mut().flatten().map(|(at, _)| at).for_each(moved);
        seen.files.iter_mut().filter_map(|it| it.modified_at.as_mut()).for_each(moved);
        seen
    }

    fn processes(&mut self, seen: &HostSeen, at: Timestamp) {
        let channel = Channel::SshProbe;
        let listing: Vec<String> = seen.processes.iter().map(|it| format!("{} {} {}", it.pid, it.state, it.program)).collect();
        let listing = cut(&format!("ps: {}", listing.join(", ")));
        let find = |name: &str| seen.processes.iter().filter(|it| it.program.contains(name)).collect::<Vec<_>>();
        let exit = |name: &str| seen.exits.iter().rev().find(|exit| exit.program.contains(name));
        let fresh = FRESH_HOST_S;
        let scripted = !matches!(self.phase, Phase::Running);
        if scripted {
            self.note(fact::SCRIPT_GONE, find("entrypoint").is_empty(), channel, at, fresh, listing.clone());
        }
        let code = exit("entrypoint").map(|exit| exit.code);
        let text = exit("entrypoint").map_or_else(|| "no exit of the entrypoint".to_owned(), |exit| format!("entrypoint.sh: {} at {}", exit.code, exit.at));
        for (fact, holds) in [
            (fact::SCRIPT_ENDED_WELL, code == Some(0)),
            (fact::SCRIPT_FAILED, code.is_some_and(|code| code != 0)),
            (fact::SCRIPT_LACKED_TOOL, code == Some(127)),
            (fact::SCRIPT_TIMED_OUT, code == Some(28)),
        ] {
            self.note(fact, holds, channel, at, fresh, text.clone());
        }
        let started = seen.container_started_at;
        let old_enough = started.is_some_and(|started| seconds_between(started, at) > 60.0);
        if old_enough {
            self.note(fact::NO_ENTRYPOINT_LOG, seen.files.is_empty(), channel, at, fresh, "/var/log/entrypoint.log");
            self.note(fact::TUNNEL_GONE, find("tunnel").is_empty(), channel, at, fresh, listing.clone());
            self.note(fact::SHIPPER_GONE, find("logship").is_empty(), channel, at, fresh, listing.clone());
        }
        let fetch = find("fetch-params");
        if self.phase == Phase::Registered {
            self.note(fact::FETCH_GONE, fetch.is_empty(), channel, at, fresh, listing.clone());
            if let Some(fetch) = fetch.first() {
                self.note(fact::FETCH_SLEEPS, fetch.state == 'S', channel, at, fresh, listing.clone());
            }
        }
        if self.works_on_card() {
            self.note(fact::FETCH_STILL_RUNS, !fetch.is_empty(), channel, at, fresh, listing.clone());
            let daemons = find("cuzk-daemon");
            self.note(fact::DAEMON_GONE, daemons.is_empty(), channel, at, fresh, listing.clone());
            self.note(fact::TWO_DAEMONS, daemons.len() > 1, channel, at, fresh, listing.clone());
            if !daemons.is_empty() {
                self.note(fact::DAEMON_HANGS_IN_DRIVER, daemons.iter().any(|it| it.state == 'D'), channel, at, fresh, listing.clone());
            }
            let ended: Vec<_> = seen.exits.iter().filter(|exit| exit.program.contains("cuzk-daemon") && exit.at >= shift(self.since, -30.0)).collect();
            let text = ended.last().map_or_else(|| "no exit of the prover daemon".to_owned(), |exit| format!("cuzk-daemon: {} at {}", exit.code, exit.at));
            for (fact, code) in [
                (fact::DAEMON_ENDED_1, 1),
                (fact::DAEMON_ENDED_127, 127),
                (fact::DAEMON_ENDED_132, 132),
                (fact::DAEMON_ENDED_134, 134),
                (fact::DAEMON_ENDED_136, 136),
                (fact::DAEMON_ENDED_137, 137),
                (fact::DAEMON_ENDED_139, 139),
            ] {
                self.note(fact, ended.last().is_some_and(|exit| exit.code == code), channel, at, fresh, text.clone());
            }
            let again = ended.iter().filter(|exit| exit.code != 0).count() >= 3;
            self.note(fact::DAEMON_ENDS_AGAIN, again, channel, at, fresh, text);
        }
        if self.phase == Phase::ParamsDone {
            self.note(fact::BENCH_GONE, find("cuzk-bench").is_empty(), channel, at, fresh, listing.clone());
            self.note(fact::BENCH_WAITS, !find("bench.sh").is_empty(), channel, at, fresh, listing);
        }
        if let Some(started) = started {
            let over = seconds_between(self.since, started) > 60.0 && self.phase != Phase::Loading;
            self.note(fact::STARTED_OVER, over, channel, at, FRESH_WORDS_S, format!("the container started at {started}"));
        }
    }

    fn cards(&mut self, seen: &HostSeen, at: Timestamp) {
        let channel = Channel::SshProbe;
        let fresh = FRESH_HOST_S;
        if let Some(smi) = &seen.smi {
            let text = match smi {
                Smi::Failed(words) => cut(words),
                Smi::TimedOut => "nvidia-smi did not come back within ten seconds".to_owned(),
                Smi::Cards(cards) => format!("nvidia-smi: {} cards", cards.len()),
            };
            let failed = |needle: &str| matches!(smi, Smi::Failed(words) if words.contains(needle));
            for (fact, holds) in [
                (fact::CARD_LOST, failed("GPU is lost") || failed("device handle") || failed("fallen off")),
                (fact::SMI_TIMES_OUT, *smi == Smi::TimedOut),
                (fact::DRIVER_MISMATCH, failed("mismatch")),
                (fact::DEVICES_LOST, failed("Unknown Error") && !failed("device handle")),
            ] {
                self.note(fact, holds, channel, at, fresh, text.clone());
            }
            if let Smi::Cards(cards) = smi
                && self.works_on_card()
            {
                let busy = cards.iter().filter(|card| card.load_percent >= GPU_BUSY_PERCENT).count();
                let loads: Vec<String> = cards.iter().map(|card| format!("{:.0} %", card.load_percent)).collect();
                let text = cut(&format!("load {}", loads.join(", ")));
                if busy > 0 {
                    self.note(fact::GPU_IDLE, false, channel, at, fresh, text.clone());
                    self.note(fact::CARDS_IDLE, cards.len() > 1 && busy < cards.len(), channel, at, fresh, text);
                    let why = cards.iter().map(|card| card.throttle_reason.as_str()).find(|why| *why != "Not Active" && *why != "SW Power Cap");
                    self.note(fact::THROTTLED, why.is_some(), channel, at, fresh, cut(why.unwrap_or("Not Active")));
                }
                if let Some(width) = cards.iter().map(|card| card.bus_width).min() {
                    self.note(fact::BUS_NARROW, width < 8, channel, at, fresh, format!("bus_width: {width}"));
                }
                if let Some(card) = cards.iter().max_by(|one, other| one.memory_used_mib.total_cmp(&other.memory_used_mib)) {
                    // One proof takes 10.5 GiB of the card; a fifth more is somebody else's, or lost.
                    let text = format!("memory.used {:.0} of {:.0} MiB", card.memory_used_mib, card.memory_mib);
                    self.note(fact::CARD_MEMORY_TAKEN, card.memory_used_mib > 12_600.0, channel, at, fresh, text);
                }
            }
        }
        if let Some(kernel) = &seen.kernel {
            let lines: Vec<&(Timestamp, String)> = kernel.iter().filter(|(said, _)| *said >= shift(self.since, -30.0) || self.age_s(*said) < 6.0 * 3600.0).collect();
            let find = |needles: &[&str]| lines.iter().rev().find(|(_, line)| needles.iter().any(|needle| line.contains(needle)));
            let numbered = |number: &str| lines.iter().rev().find(|(_, line)| line.contains("Xid") && line.contains(&format!(": {number},")));
            let any_of = |numbers: &[&str]| numbers.iter().find_map(|number| numbered(number));
            let off = find(&["fallen off the bus", "GPU is lost"]);
            for (fact, found) in [
                (fact::XID_79, numbered("79")),
                (fact::OFF_BUS_UNNUMBERED, off.filter(|(_, line)| !line.contains("Xid")).filter(|_| numbered("79").is_none())),
                (fact::XID_GSP, any_of(&["119", "120"]).or_else(|| find(&["GSP"]))),
                (fact::XID_ECC, any_of(&["48", "63", "64", "94", "95", "140"])),
                (fact::XID_FAULT, any_of(&["31", "13", "32", "43", "69"])),
                (fact::OOM_GLOBAL, find(&["CONSTRAINT_NONE", "global_oom"])),
            ] {
                let text = found.map_or_else(|| "kernel log".to_owned(), |(_, line)| cut(line));
                self.note(fact, found.is_some(), channel, at, fresh, text);
            }
        }
    }

    fn machine(&mut self, seen: &HostSeen, at: Timestamp) {
        let channel = Channel::SshProbe;
        let fresh = FRESH_HOST_S;
        let rented_gb = self.case.instance.vast.disk_space_gb;
        let mut told = |fact: Fact, holds: Option<bool>, text: String| {
            if let Some(holds) = holds {
                self.note(fact, holds, channel, at, fresh, text);
            }
        };
        told(fact::OOM_KILLS, seen.oom_kills.map(|kills| kills > 0), format!("memory.events: oom_kill {:?}", seen.oom_kills));
        told(fact::QUOTA, seen.throttled_periods.map(|periods| periods > 100), format!("cpu.stat: nr_throttled {:?}", seen.throttled_periods));
        told(fact::PINNING_LIMITED, seen.locked_memory_limited, "ulimit -l".to_owned());
        told(fact::NO_ADX, seen.has_adx.map(|has| !has), "/proc/cpuinfo flags".to_owned());
        let disk = seen.disk_gb.zip(seen.disk_used_gb).filter(|(size, _)| *size > 0.0);
        told(fact::DISK_FULL, disk.map(|(size, used)| used >= size * 0.98), format!("df: {:?} of {:?} GB", seen.disk_used_gb, seen.disk_gb));
        told(fact::DISK_SMALLER, seen.disk_gb.zip(rented_gb).map(|(size, rented)| size < rented * 0.8), format!("df: {:?} of {rented_gb:?} GB rented", seen.disk_gb));
        told(fact::DISK_SLOW, seen.disk_mb_s.map(|speed| speed < 200.0), format!("read test: {:?} MB/s", seen.disk_mb_s));
        told(fact::CLOCK_OFF, seen.clock_ahead_s.map(|ahead| ahead.abs() > 3600.0), format!("date is {:?} s ahead", seen.clock_ahead_s));
        told(fact::NAMES_FAIL, seen.resolves_names.map(|can| !can), "getent hosts".to_owned());
        told(fact::MANAGER_OUT_OF_REACH, seen.reaches_manager.map(|can| !can), "the manager's status route, from there".to_owned());
        if self.phase == Phase::Registered {
            let old = seconds_between(self.since, at) > 10.0 * MINUTE;
            let tiny = seen.parameter_bytes.filter(|_| old).map(|bytes| bytes < 1_048_576);
            let text = format!("{:?} bytes of parameters", seen.parameter_bytes);
            if let Some(tiny) = tiny {
                self.note(fact::PARAMETERS_TINY, tiny, channel, at, fresh, text);
            }
        }
        if let (Some(built), Some((newest, machines))) = (seen.image_built, self.case.around.newest_image) {
            let text = format!("built {built}; newest that was seen on {machines} machines {newest}");
            let old = seconds_between(built, newest) > 3600.0;
            // That it is the newest of those seen does not say that it is new.
            if old {
                self.note(fact::IMAGE_OLD, true, channel, at, fresh, text);
            }
        }
    }

    fn files(&mut self, seen: &HostSeen, at: Timestamp) {
        let channel = Channel::SshProbe;
        let mut found: Vec<(&'static str, String)> = Vec::new();
        for file in &seen.files {
            for line in &file.tail {
                for signature in matches(Written::InInstanceLog, line) {
                    found.push((signature.id, cut(&format!("{}: {line}", file.path))));
                }
            }
        }
        for (id, text) in &found {
            self.note(Fact::said(id), true, channel, at, FRESH_HOST_S, text.clone());
        }
        if !seen.files.is_empty() && self.phase != Phase::Running {
            for signature in SIGNATURES.iter().filter(|signature| signature.written == Written::InInstanceLog) {
                if !found.iter().any(|(id, _)| *id == signature.id) {
                    self.note(Fact::said(signature.id), false, channel, at, FRESH_HOST_S, "the ends of its log files");
                }
            }
        }
        if self.phase == Phase::Loading {
            let line = seen.files.iter().flat_map(|file| &file.tail).find(|line| line.contains("Registered with manager"));
            self.note(fact::REGISTERED_UNHEARD, line.is_some(), channel, at, FRESH_HOST_S, cut(line.map_or("the end of its entrypoint's log", String::as_str)));
        }
        let newest = seen.files.iter().filter_map(|file| file.modified_at).max();
        if let Some(newest) = newest.filter(|_| self.phase != Phase::Loading) {
            let still_s = seconds_between(newest, at);
            // Between five and fifteen minutes it says neither.
            if !(300.0..=900.0).contains(&still_s) {
                self.note(fact::STANDS_LONG, still_s > 900.0, channel, at, FRESH_HOST_S, format!("newest line of all files {still_s:.0} s before"));
            }
        }
        self.work_by_files(seen, at);
    }

    /// Whether work goes on, by what is written on the machine itself and by bytes that arrive.
    fn work_by_files(&mut self, seen: &HostSeen, at: Timestamp) {
        let channel = Channel::SshProbe;
        if self.phase == Phase::Registered {
            let before = self.case.looks.host_before.as_ref().and_then(|look| Some((look.at, look.answer.seen.as_ref()?.parameter_bytes?)));
            if let (Some((then, old)), Some(new)) = (before, seen.parameter_bytes)
                && seconds_between(then, at) >= 45.0
            {
                let text = format!("{} bytes of parameters in {:.0} s", new.saturating_sub(old), seconds_between(then, at));
                self.note(fact::WORK_GOES_ON, new > old + 1_048_576, channel, at, FRESH_HOST_S, text);
            }
            return;
        }
        if !self.works_on_card() {
            return;
        }
        let sources: &[&str] = if self.phase == Phase::ParamsDone { &["benchout", "benchdaemon"] } else { &["cuzk"] };
        let newest = seen
            .files
            .iter()
            .filter(|file| sources.contains(&file.source.as_str()))
            .filter_map(|file| Some((file.modified_at?, file)))
            .max_by_key(|(modified, _)| *modified);
        let Some((modified, file)) = newest else { return };
        let still_s = seconds_between(modified, at);
        let repeats = file.tail.split_last().is_some_and(|(last, before)| {
            let last = line_hash(last);
            before.iter().any(|line| line_hash(line) == last)
        });
        let last = file.tail.last().cloned().unwrap_or_default();
        let text = cut(&format!("{} written {:.0} s before: {last}", file.path, still_s));
        if still_s < 240.0 && !repeats {
            self.note(fact::WORK_GOES_ON, true, channel, at, FRESH_HOST_S, text);
        } else if still_s > 600.0 || (repeats && still_s < 600.0) {
            // A disk that is full keeps the files as they are: then they say nothing of the work.
            let full = seen.disk_gb.zip(seen.disk_used_gb).is_some_and(|(size, used)| used >= size * 0.98);
            if !full {
                self.note(fact::WORK_GOES_ON, false, channel, at, FRESH_HOST_S, text);
            }
        }
    }

    // The prover.

    fn prover(&mut self) {
        let channel = Channel::ProverStatus;
        let Some(Asked { at, answer }) = self.case.looks.prover.clone() else {
            return self.channel(channel, Health::NotAsked, "nobody asked it", None);
        };
        if !self.counts(channel, at, FRESH_HOST_S) {
            return;
        }
        if !self.works_on_card() {
            return self.channel(channel, Health::Blind, "no prover runs in this state", Some(at));
        }
        let fresh = FRESH_HOST_S;
        match &answer {
            ProverAnswer::NoWay | ProverAnswer::Failed(_) => {
                return self.channel(channel, Health::Unreachable, "there is no way to the machine", Some(at));
            }
            ProverAnswer::Refused => {
                self.channel(channel, Health::Blind, "nothing serves it (it is off by default)", Some(at));
                self.note(fact::STATUS_REFUSED, true, channel, at, fresh, "curl: 7");
            }
            ProverAnswer::TimedOut => {
                self.channel(channel, Health::Quiet, "it is served and not answered in time", Some(at));
                self.note(fact::STATUS_REFUSED, false, channel, at, fresh, "curl: 28");
                self.note(fact::STATUS_HANGS, true, channel, at, fresh, "curl: 28");
            }
            ProverAnswer::Status(status) => {
                self.channel(channel, Health::Working, format!("{} proofs completed", status.completed), Some(at));
                self.note(fact::STATUS_REFUSED, false, channel, at, fresh, "its answer");
                self.note(fact::STATUS_HANGS, false, channel, at, fresh, "its answer");
                self.counters(status, at);
            }
        }
    }

    fn counters(&mut self, status: &ProverStatus, at: Timestamp) {
        let channel = Channel::ProverStatus;
        let fresh = FRESH_HOST_S;
        let text = format!(
            "completed {}, failed {}, in work {}, queue {}, busiest {:.0} s",
            status.completed,
            status.failed,
            status.proofs.len(),
            status.queue_depth,
            status.busiest_s
        );
        self.note(fact::PROOFS_FAIL, status.failed > 0, channel, at, fresh, text.clone());
        self.note(fact::MANY_COMPLETED, status.completed >= 20, channel, at, fresh, text.clone());
        let pending = status.proofs.iter().any(|(done, pending)| *pending && *done == 0);
        self.note(fact::PROOF_PENDING, pending, channel, at, fresh, text.clone());
        let idle = status.proofs.is_empty() && status.queue_depth == 0;
        self.note(fact::PROVER_IDLE, idle, channel, at, fresh, text.clone());
        self.note(fact::PROOF_STANDS, !status.proofs.is_empty() && status.busiest_s >= 600.0, channel, at, fresh, text.clone());
        let before = self.case.looks.prover_before.clone();
        if let Some(Asked { at: then, answer: ProverAnswer::Status(before) }) = before
            && seconds_between(then, at) >= 45.0
        {
            let passed_s = seconds_between(then, at);
            let moved = status.completed > before.completed || status.proofs != before.proofs;
            // An idle prover proves nothing either way.
            if moved || !idle {
                self.note(fact::WORK_GOES_ON, moved, channel, at, fresh, format!("{text}; {passed_s:.0} s before: completed {}", before.completed));
            }
        }
    }
}

fn sources(instance: &Instance) -> String {
    let names: Vec<&str> = instance.log.newest.keys().map(String::as_str).collect();
    cut(&names.join(", "))
}

fn log_state(health: Option<&ChannelHealth>, spoke: bool, ended: bool) -> (Health, String) {
    match health {
        Some(ChannelHealth::Working { source, .. }) => (Health::Working, format!("{source} lines arrive")),
        Some(ChannelHealth::Quiet { source, repeats: Some(_), .. }) => (Health::Quiet, format!("{source} only repeats itself")),
        Some(ChannelHealth::Quiet { source, control: Some(name), .. }) => {
            (Health::Quiet, format!("{} runs the same image and writes {source}", cut(name)))
        }
        Some(ChannelHealth::Quiet { source, .. }) => (Health::Quiet, format!("{source} lines came before and have stopped")),
        Some(ChannelHealth::NotAsked) => (Health::NotAsked, "the manager has lines that were not read yet".to_owned()),
        Some(ChannelHealth::Blind(_)) if ended && spoke => (Health::Quiet, "what it wrote before is kept".to_owned()),
        Some(ChannelHealth::Blind(why)) => (
            Health::Blind,
            match why {
                WhyBlind::NeverSpoke => "it never wrote a line: it may not be able to".to_owned(),
                WhyBlind::OtherSourcesOnly(sources) => format!("only {} lines came: they would not show this state's work", cut(&sources.join(", "))),
                WhyBlind::OnlyAnnounces(source) => format!("{} only announces steps", cut(source)),
                WhyBlind::LostAtRestart(at) => format!("the manager restarted at {at} and lost its buffers"),
                WhyBlind::NoSource => "nothing of ours writes in this state".to_owned(),
            },
        ),
        None => (Health::NotAsked, "not read yet".to_owned()),
    }
}
