//! The manager's dashboard row, with vast.ai's record as the manager last read it.

use dwell_fleet::{GPU_BUSY_PERCENT, State, Timestamp, VastFacts, seconds_between, shift};

use super::{FRESH_DASHBOARD_S, FRESH_VAST_S, FRESH_WORDS_S, Gather, MINUTE, cut, shown};
use crate::catalogue::Phase;
use crate::channel::{Channel, Health};
use crate::fact::{self, Fact};
use crate::signature::{Written, matches};

/// A rate that was taken for one an hour and is one a minute, with what a benchmark can be off by.
fn is_sixtieth(rate: f64, usual: f64) -> bool {
    usual > 0.0 && (1.0 / 150.0..1.0 / 25.0).contains(&(rate / usual))
}

impl Gather<'_> {
    pub(super) fn dashboard(&mut self) {
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
        if let (Some(ahead_s), Some(skew_s)) = (around.manager_ahead_s, around.clock_skew_s) {
            let text = format!("lines arrive {ahead_s:.0} s after the time that they carry");
            let off = ahead_s.abs() > 120.0 && skew_s.abs() > 120.0 && (ahead_s - skew_s).abs() < 120.0;
            self.note(fact::CLOCK_OFF_BY_LINES, off, Channel::InstanceLog, at, FRESH_DASHBOARD_S, text);
        }
        if let Some(age_s) = around.vast_cache_age_s {
            let text = format!("vast_cache_age_s: {age_s:.0}");
            self.note(fact::LIST_OLD, age_s > 180.0, channel, at, FRESH_DASHBOARD_S, text);
        }
        if let (Some(dwell_s), Some(expectation)) = (
            instance.assessment.as_ref().and_then(|it| it.dwell_s),
            instance.assessment.as_ref().and_then(|it| it.expectation.as_ref()),
        ) && instance.state.is_waiting()
        {
            let text = format!("dwell {dwell_s:.0} s, late from {:.0} s", expectation.late_from_s);
            self.note(fact::LATE, dwell_s > expectation.late_from_s, channel, at, FRESH_DASHBOARD_S, text);
        }
        self.note(
            fact::VANISHED,
            self.phase == Phase::Vanished,
            channel,
            at,
            FRESH_DASHBOARD_S,
            "whether its list has a row of it",
        );
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
            self.note(fact::FELL_BACK, fell, channel, at, FRESH_DASHBOARD_S, format!("state: {}", instance.state));
        }
        if self.phase == Phase::ParamsDone {
            let missing = row.param_done_at.is_none();
            self.note(
                fact::NO_PARAMETER_TIME,
                missing,
                channel,
                at,
                FRESH_DASHBOARD_S,
                format!("param_done_at: {}", shown(row.param_done_at)),
            );
        }
        if self.phase == Phase::Running {
            let none = row.bench_done_at.is_none() && row.bench_rate_proofs_per_h.is_none();
            self.note(
                fact::NO_BENCHMARK,
                none,
                channel,
                at,
                FRESH_DASHBOARD_S,
                format!("bench_done_at: {}", shown(row.bench_done_at)),
            );
        }
        if let Some(lines) = row.log_lines {
            self.note(fact::BUFFER_FULL, lines >= 9_000, channel, at, FRESH_DASHBOARD_S, format!("log_lines: {lines}"));
        }
        // Of what is alive: a row that was killed out of its run has that time as well, and does not report again.
        if self.ended_at.is_none() && matches!(self.phase, Phase::BenchDone | Phase::Running) {
            let back = row.killed_at.is_some();
            self.note(
                fact::KILLED_AND_BACK,
                back,
                channel,
                at,
                FRESH_DASHBOARD_S,
                format!("killed_at: {}", shown(row.killed_at)),
            );
        }
        self.rates(at);
        if let Some(ended) = self.ended_at {
            self.killed(ended, at);
        }
        self.told_by_row(at);
    }

    pub(super) fn rates(&mut self, at: Timestamp) {
        let (instance, around) = (self.case.instance, self.case.around);
        let row = &instance.row;
        let usual =
            instance.vast.gpu_kind().and_then(|kind| around.usual_rate(&kind, (row.bench_rate_proofs_per_h, instance.key)));
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

    pub(super) fn killed(&mut self, ended: Timestamp, at: Timestamp) {
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
            (fact::KILLED_BAD_HOST, reason.starts_with("bad host ")),
            (fact::KILLED_BY_HAND, reason.contains("manual")),
        ];
        for (fact, holds) in facts {
            self.note(fact, holds, channel, ended, f64::MAX, text());
        }
        if low
            && let Some((rate, usual)) = row.bench_rate_proofs_per_h.zip(
                instance
                    .vast
                    .gpu_kind()
                    .and_then(|kind| around.usual_rate(&kind, (row.bench_rate_proofs_per_h, instance.key)))
                    .or(around.usual_rate_of_all),
            )
        {
            let text = format!("bench_rate: {rate}; others {usual:.1} proofs/h");
            self.note(fact::KILLED_RATE_SIXTIETH, is_sixtieth(rate, usual), channel, ended, f64::MAX, text);
        }
        if low && let Some((rate, seconds)) = row.bench_rate_proofs_per_h.zip(self.case.signals.proof_s()) {
            let own = 3600.0 / seconds;
            let text = format!("bench_rate: {rate}; its proofs took {seconds:.1} s, {own:.1} in an hour");
            self.note(fact::KILLED_RATE_OF_OWN, is_sixtieth(rate, own), Channel::InstanceLog, ended, f64::MAX, text);
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
            // The clock jumped while Dwell watched: against Dwell's own, which may be the one that did. See `CLOCK_OFF_BY_LINES`.
            let seen_before =
                around.skew_before_s.is_some_and(|before| around.clock_skew_s.is_some_and(|now| (now - before).abs() > 120.0));
            let soon = passed + 1.0 < minutes || by_other_dates + 1.0 < minutes || seen_before;
            self.note(
                fact::KILLED_TOO_SOON,
                soon,
                channel,
                ended,
                f64::MAX,
                format!("{passed:.0} min of {minutes:.0} had passed"),
            );
        }
        let together = around.killed_together.contains(&instance.key);
        self.note(fact::KILLED_TOGETHER, together, channel, ended, f64::MAX, "killed_at of the other rows");
        // The manager reads the list every minute; two readings later a destroyed rental is gone from it.
        if around.vast_cache_age_s.is_some_and(|age_s| age_s < 180.0) && seconds_between(ended, at) > 180.0 {
            let there = row.vast_id.is_some() && row.vast.gpu_name.is_some();
            if there || !reason.contains("disappeared") {
                self.note(
                    fact::KILLED_STILL_LISTED,
                    there,
                    channel,
                    at,
                    FRESH_DASHBOARD_S,
                    format!("vast_id: {}", shown(row.vast_id)),
                );
            }
        }
    }

    /// What the manager's copy of vast.ai's record tells.
    pub(super) fn told_by_row(&mut self, at: Timestamp) {
        let (instance, around) = (self.case.instance, self.case.around);
        if self.ended_at.is_some() || instance.row.vast_id.is_none() {
            return;
        }
        let channel = Channel::ManagerDashboard;
        let vast: &VastFacts = &instance.row.vast;
        let read_at = around.vast_cache_age_s.map_or(at, |age_s| shift(at, -age_s));
        self.record_texts(vast.status_msg.as_deref(), channel, read_at);
        // Nobody knows of one reading alone that it is like the ones before.
        if self.phase == Phase::Loading
            && let Some(stands) = instance.status.stands(5.0 * MINUTE)
        {
            let text = format!("status_msg: {}", cut(vast.status_msg.as_deref().unwrap_or("null")));
            self.note(fact::STATUS_STANDS, stands, channel, read_at, FRESH_VAST_S, text);
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
            self.note(
                fact::TELEMETRY_ZEROS,
                around.telemetry_zeros,
                channel,
                read_at,
                FRESH_VAST_S,
                "gpu_util, gpu_temp of the fleet's rows",
            );
            if let Some(frozen) = around.telemetry_frozen {
                self.note(
                    fact::TELEMETRY_FROZEN,
                    frozen,
                    channel,
                    read_at,
                    FRESH_VAST_S,
                    "gpu_util, gpu_temp of the fleet's rows",
                );
            }
        }
        if self.works_on_card() && !around.telemetry_zeros {
            if let Some(idle) = instance.gpu.idle_since(at).filter(|idle| seconds_between(*idle, at) > 3.0 * MINUTE) {
                self.note(
                    fact::GPU_IDLE,
                    true,
                    channel,
                    read_at,
                    FRESH_VAST_S,
                    format!("gpu_util below {GPU_BUSY_PERCENT} % since {idle}"),
                );
            } else if let Some(busy) = instance.gpu.last_busy.filter(|busy| seconds_between(*busy, at) < 4.0 * MINUTE) {
                self.note(fact::GPU_IDLE, false, channel, busy, FRESH_VAST_S, "gpu_util");
            }
        }
    }

    pub(super) fn record_texts(&mut self, status: Option<&str>, channel: Channel, at: Timestamp) {
        let found = status.map(|text| matches(Written::InVastStatus, text)).unwrap_or_default();
        for (fact, signature) in Fact::of_signatures(Written::InVastStatus) {
            let holds = found.iter().any(|it| it.id == signature.id);
            // What a status does not say is evidence only where it says something.
            if holds || status.is_some_and(|text| !text.is_empty()) {
                let text = format!("status_msg: {}", cut(status.unwrap_or_default()));
                self.note(fact, holds, channel, at, FRESH_VAST_S, text);
            }
        }
    }

    pub(super) fn driver(&mut self, version: &str, channel: Channel, at: Timestamp) {
        // Driver branch that CUDA 12.4 needs on Linux: 550 (NVIDIA, CUDA 12.4 release notes, table 3).
        let Some(branch) = version.split('.').next().and_then(|branch| branch.parse::<u32>().ok()) else { return };
        self.note(fact::DRIVER_OLD, branch < 550, channel, at, FRESH_VAST_S, format!("driver_version: {}", cut(version)));
    }

    pub(super) fn memory(&mut self, limit_gb: f64, ram_mib: f64, channel: Channel, at: Timestamp) {
        let small = limit_gb < ram_mib / 1024.0 * 0.9;
        self.note(
            fact::SMALL_MEMORY,
            small,
            channel,
            at,
            FRESH_VAST_S,
            format!("mem_limit: {limit_gb} of {:.0} GiB", ram_mib / 1024.0),
        );
    }
}
