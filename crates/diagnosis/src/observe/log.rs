//! The instance's log at the manager: whether it goes on, what it says, at what pace.

use dwell_fleet::{ChannelHealth, GPU_BUSY_PERCENT, Instance, Timestamp, WhyBlind, seconds_between, shift, silence_limit};

use super::{FRESH_WORDS_S, Gather, MINUTE, SLOW_TIMES, SLOWING_TIMES, cut};
use crate::catalogue::Phase;
use crate::channel::{Channel, Health};
use crate::fact::{self, Fact};
use crate::signature::Written;

/// A report of a benchmark that the manager takes is taken within so long, seconds: the script tries for a minute or two.
pub(super) const REPORT_HEARD_WITHIN_S: f64 = 150.0;
/// The daemon starts for the warm-up, for the benchmark and for the run: once more within so long is out of order, seconds.
pub(super) const DAEMON_STARTS_WITHIN_S: f64 = 1_800.0;
/// So many starts are.
pub(super) const DAEMON_STARTS: usize = 4;

impl Gather<'_> {
    pub(super) fn instance_log(&mut self) {
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
        self.benchmark_end(at);
        self.pace(newest);
    }

    /// Whether its benchmark has ended by its own words, and the manager still calls it benchmarking. A report takes seconds.
    fn benchmark_end(&mut self, at: Timestamp) {
        let signals = self.case.signals;
        if self.phase == Phase::ParamsDone
            && let Some(said) = signals.said("summary").filter(|said| said.at >= self.since)
        {
            let reported = self.case.instance.row.bench_done_at.is_some_and(|reported| reported >= shift(said.at, -60.0));
            let waited_s = seconds_between(said.at, self.ended_at.unwrap_or(at));
            let text = format!("{}: {} {waited_s:.0} s before", said.source, said.line);
            let unheard = !reported && waited_s > REPORT_HEARD_WITHIN_S;
            self.note(fact::DONE_UNHEARD, unheard, Channel::InstanceLog, said.at, f64::MAX, cut(&text));
        }
        if self.works_on_card()
            && let Some(newest) = signals.daemon_started_at().filter(|newest| *newest >= self.since)
        {
            let count = signals.daemon_starts(DAEMON_STARTS_WITHIN_S);
            let text = format!("cuzk-daemon starting: {count} times within half an hour");
            self.note(fact::DAEMON_STARTS_AGAIN, count >= DAEMON_STARTS, Channel::InstanceLog, newest, f64::MAX, text);
        }
    }

    /// Of one that was ended: whether its log had fallen silent before.
    pub(super) fn silent_before_its_end(&mut self) {
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
    pub(super) fn words(&mut self, newest: Option<Timestamp>, at: Timestamp) {
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
        for (fact, signature) in Fact::of_signatures(Written::InInstanceLog) {
            match signals.said(signature.id).filter(|said| said.at >= shift(self.since, -2.0)) {
                // The last that it said, however long ago, or within the hour.
                Some(said) => {
                    let last = newest.is_some_and(|newest| seconds_between(said.at, newest) < 15.0 * MINUTE);
                    // A stay on the way is short: what was said in it is of it. A run can last for weeks.
                    let fresh_for_s = if last || self.phase != Phase::Running { f64::MAX } else { FRESH_WORDS_S };
                    self.note(fact, true, channel, said.at, fresh_for_s, format!("{}: {}", said.source, said.line));
                }
                None if able => {
                    self.note(fact, false, channel, newest.unwrap_or(at), FRESH_WORDS_S, "lines since it entered this state")
                }
                None => {}
            }
        }
    }

    pub(super) fn pace(&mut self, newest: Option<Timestamp>) {
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
            let text = pause.map_or_else(
                || "times of its benchmark's lines".to_owned(),
                |(end, s)| format!("no line for {s:.0} s until {end}"),
            );
            self.note(fact::PAUSED, pause.is_some(), channel, newest, FRESH_WORDS_S, text);
        }
        if self.phase == Phase::Registered {
            let drawn = signals.carriages.is_some();
            self.note(fact::RETURNED_CARRIAGES, drawn, channel, newest, FRESH_WORDS_S, "its longest line");
        }
        if let Some(seconds) = signals.proof_s()
            && let Some(usual) = instance.vast.gpu_kind().and_then(|kind| around.usual_proof_s(&kind, (seconds, instance.key)))
        {
            let text = format!("{seconds:.1} s a proof; others with this card {usual:.1} s");
            self.note(fact::PROOFS_SLOW, seconds > usual * SLOW_TIMES, channel, newest, FRESH_WORDS_S, text);
        }
        if let Some(times) = signals.slowing() {
            let text = format!("latest proofs take {times:.2} times as long as its first");
            self.note(fact::PROOFS_SLOWING, times > SLOWING_TIMES, channel, newest, FRESH_WORDS_S, text);
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
                WhyBlind::OtherSourcesOnly(sources) => {
                    format!("only {} lines came: they would not show this state's work", cut(&sources.join(", ")))
                }
                WhyBlind::OnlyAnnounces(source) => format!("{} only announces steps", cut(source)),
                WhyBlind::LostAtRestart(at) => format!("the manager restarted at {at} and lost its buffers"),
                WhyBlind::NoSource => "nothing of ours writes in this state".to_owned(),
            },
        ),
        None => (Health::NotAsked, "not read yet".to_owned()),
    }
}
