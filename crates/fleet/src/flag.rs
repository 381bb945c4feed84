//! Which instances deserve a look, of what kind, since when, and how sure that can be.

use crate::{
    Basis, ChannelHealth, Expectation, ExpectationBase, Instance, Presence, State, Timestamp, WhyBlind,
    progress::{progress_sources, silence_limit},
    rental::{LIST_FRESH_S, WrittenOff},
    seconds_between, shift,
    words::{duration, list},
};

const MINUTE: f64 = 60.0;

/// Dwell in `params_done` after which an instance that nothing could show progress of is flagged, seconds. Not a sign of
/// trouble by itself: a benchmark takes 26-39 min. It is time enough to see that the channels are blind.
const INVISIBLE_AFTER_PARAMS_DONE_S: f64 = 10.0 * MINUTE;

/// In other states the flag waits until the stay is late, and at least this long, seconds.
const INVISIBLE_LEAST_S: f64 = 5.0 * MINUTE;

/// A `running` instance whose GPU idles longer than this is not proving, seconds: proofs follow each other in minutes.
const RUNNING_IDLE_S: f64 = 30.0 * MINUTE;

/// What a flag says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FlagKind {
    /// The manager wrote it off together with others because its list of rentals came empty or short: it may still run and cost
    /// money.
    WrittenOff,
    /// Killed for the manager, still on vast.ai's list: it costs money.
    Leaking,
    /// No progress on a channel that would show it, or longer than its kind has ever needed.
    Stalled,
    /// What the manager says of it does not fit together.
    Contradicted,
    /// Not in the manager's answers any more, without having been killed.
    Gone,
    /// Nothing that could show progress is working.
    Invisible,
    /// Longer than usual, and progress is visible.
    Slow,
}

impl FlagKind {
    /// Every kind, most pressing first.
    pub const ALL: [FlagKind; 7] =
        [Self::WrittenOff, Self::Leaking, Self::Stalled, Self::Contradicted, Self::Gone, Self::Invisible, Self::Slow];

    /// The stable word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WrittenOff => "written-off",
            Self::Leaking => "leaking",
            Self::Stalled => "stalled",
            Self::Contradicted => "contradicted",
            Self::Gone => "gone",
            Self::Invisible => "invisible",
            Self::Slow => "slow",
        }
    }

    /// Reads [`FlagKind::as_str`] back.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    /// Asks for a person. `slow` is only worth knowing.
    pub fn needs_a_person(self) -> bool {
        self != Self::Slow
    }
}

/// Something seen, or known not to have been seeable.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// Where it was seen: `manager-dashboard`, `manager-instance-log`, `vast-record`.
    pub channel: &'static str,
    /// `working`, `quiet`, `blind`, `not-asked`, `unreachable`.
    pub health: &'static str,
    /// What was seen there, as a sentence part.
    pub text: String,
    /// When it was last true, on the manager's clock.
    pub at: Option<Timestamp>,
}

/// A reason to look at an instance.
#[derive(Debug, Clone, PartialEq)]
pub struct Flag {
    /// What it says.
    pub kind: FlagKind,
    /// Since when it is true, on the manager's clock: from the evidence, not from when Dwell looked.
    pub since: Timestamp,
    /// Why, in one sentence.
    pub reason: String,
    /// How sure this can be, and what it does not mean.
    pub certainty: String,
    /// What would show progress, most telling first.
    pub would_show: Vec<String>,
}

/// What is known of an instance now.
#[derive(Debug, Clone, PartialEq)]
pub struct Assessment {
    /// Dwell in the present state, seconds. `None` only when the clock makes no sense (negative).
    pub dwell_s: Option<f64>,
    /// How long it usually takes.
    pub expectation: Option<Expectation>,
    /// The flag, if it deserves one.
    pub flag: Option<Flag>,
    /// Health of the manager's log channel for it.
    pub log_health: ChannelHealth,
    /// What was looked at.
    pub evidence: Vec<Evidence>,
    /// One line for the table where there is no flag.
    pub note: String,
    /// What the manager will do to it by its timers.
    pub countdown: Option<Countdown>,
}

/// A timer of the manager.
#[derive(Debug, Clone, PartialEq)]
pub struct Countdown {
    /// When it runs out, on the manager's clock. The manager looks once a minute.
    pub at: Timestamp,
    /// What happens then.
    pub what: &'static str,
}

/// The manager's timer for a state: 90 min in `registered`, 45 min in `params_done`, 15 min from rental for labelled
/// instances that have not registered. It has none for `bench_done` and `running` (source: the manager's monitor loop).
pub fn countdown(instance: &Instance) -> Option<Countdown> {
    let row = &instance.row;
    let (from, minutes, what) = match instance.state {
        State::Registered => (row.registered_at?, 90.0, "the manager kills it: param fetch timeout (90 min)"),
        State::ParamsDone => (row.param_done_at?, 45.0, "the manager kills it: benchmark timeout (45 min)"),
        State::Loading if row.label.is_some() => {
            (row.vast.start_date?, 15.0, "the manager destroys it: not registered within 15 min of rental")
        }
        _ => return None,
    };
    Some(Countdown { at: shift(from, minutes * MINUTE), what })
}

/// Context of an assessment that is not the instance's own.
pub(crate) struct Surroundings<'a> {
    pub(crate) as_of: Timestamp,
    pub(crate) restarted_at: Option<Timestamp>,
    pub(crate) vast_cache_age_s: Option<f64>,
    /// The manager's list is fresh, and nothing says that it came short.
    pub(crate) list_can_tell: bool,
    /// With whom it was written off.
    pub(crate) written_off: Option<&'a WrittenOff>,
    /// (source, name) of another instance of the same image that delivered a progress source of this state.
    pub(crate) control: Option<(&'a str, &'a str)>,
    pub(crate) expectation: Option<Expectation>,
}

/// Assesses one instance.
pub(crate) fn assess(instance: &Instance, surroundings: Surroundings<'_>) -> Assessment {
    let as_of = surroundings.as_of;
    let dwell_s = seconds_between(instance.entered.at, as_of);
    let log_health =
        instance.log.health(&instance.state, instance.entered.at, as_of, surroundings.restarted_at, surroundings.control);
    let case = Case { instance, around: &surroundings, dwell_s: dwell_s.max(0.0), log: &log_health };
    let flag = case.flag();
    let note = case.note();
    let evidence = case.evidence();
    Assessment {
        dwell_s: (dwell_s > -1.0).then_some(dwell_s.max(0.0)),
        expectation: surroundings.expectation.clone(),
        flag,
        evidence,
        note,
        countdown: countdown(instance),
        log_health,
    }
}

struct Case<'a> {
    instance: &'a Instance,
    around: &'a Surroundings<'a>,
    dwell_s: f64,
    log: &'a ChannelHealth,
}

impl Case<'_> {
    fn flag(&self) -> Option<Flag> {
        let instance = self.instance;
        if let Presence::Missing { since, answers } = instance.presence {
            return (answers >= 2 && instance.state != State::Killed).then(|| self.gone(since));
        }
        match &instance.state {
            State::Killed => self.leaking().or_else(|| self.written_off()),
            State::BenchDone | State::Running if instance.row.killed_at.is_some() => self.came_back(),
            State::Loading => self.late_loading(),
            State::Registered | State::ParamsDone | State::BenchDone => self.on_its_way(),
            State::Running => self.running(),
            State::Unknown(_) => None,
        }
    }

    fn gone(&self, since: Timestamp) -> Flag {
        Flag {
            kind: FlagKind::Gone,
            since,
            reason: format!(
                "last seen {} ago as {}; the manager does not list it any more",
                self.ago(since),
                self.instance.state
            ),
            certainty: "Certain that the manager stopped listing it. Whether vast.ai still has it, and bills it, only vast.ai's \
                        own record tells."
                .into(),
            would_show: vec!["vast.ai's record of the instance".into(), "the manager's own log around that time".into()],
        }
    }

    fn leaking(&self) -> Option<Flag> {
        let instance = self.instance;
        let (killed_at, seen_at, since) = (instance.row.killed_at?, instance.leak_seen_at()?, instance.leaks_since()?);
        let price = self.price_words();
        let killed = match self.around.written_off {
            Some(group) => format!("written off {} ago with {} others by a bad list", self.ago(killed_at), group.count - 1),
            None => format!("killed {} ago by the manager", self.ago(killed_at)),
        };
        // A list that cannot be believed, or lacks it, says nothing newer.
        let is_now = self.around.list_can_tell && instance.row.vast_id.is_some();
        let reason = if is_now {
            format!("{killed}, and vast.ai still lists it {price}: it goes on costing money")
        } else {
            format!("{killed}, and vast.ai billed it {price} when its list last had it, {} ago", self.ago(seen_at))
        };
        let certainty = if is_now {
            "As certain as vast.ai's record is recent. A destroy that failed shows in the manager's log, one that was silently \
             aborted does not."
        } else {
            "Certain for then. The manager has no list since that could tell of now: it stays flagged until one does, or until \
             vast.ai is asked."
        };
        Some(Flag {
            kind: FlagKind::Leaking,
            since,
            reason,
            certainty: certainty.into(),
            would_show: vec!["vast.ai's own list of instances".into(), "the manager's log: failed to destroy".into()],
        })
    }

    fn written_off(&self) -> Option<Flag> {
        let group = self.around.written_off?;
        let killed_at = self.instance.row.killed_at?;
        let price = self.price_words();
        let others = group.count - 1;
        let together = if others == 1 { "another".to_owned() } else { format!("{others} others") };
        let (reason, certainty) = match self.instance.spoke_after_kill() {
            Some(spoke) => (
                format!(
                    "written off {} ago together with {together}, and its log went on until {} ago: it runs, and costs money {price}",
                    self.ago(killed_at),
                    self.ago(spoke)
                ),
                "Certain that it outlived its kill: nobody else writes its log. That it is billed follows.",
            ),
            None => (
                format!(
                    "written off {} ago together with {together}, because the manager's list of rentals lacked them: whether it is \
                     still billed {price} is unknown",
                    self.ago(killed_at)
                ),
                "Certain that the manager destroyed nothing: it believed a list. That so many rentals ended in the same seconds is \
                 unlikely unless somebody ended them.",
            ),
        };
        Some(Flag {
            kind: FlagKind::WrittenOff,
            since: killed_at,
            reason,
            certainty: certainty.into(),
            would_show: vec!["vast.ai's own list of instances".into(), "newer log lines of the instance".into()],
        })
    }

    fn price_words(&self) -> String {
        let price = self.instance.row.vast.dollars_per_h.or(self.instance.vast.dollars_per_h);
        price.map_or("at a price not told".to_owned(), |dollars| format!("at ${dollars:.2}/h"))
    }

    fn came_back(&self) -> Option<Flag> {
        let killed_at = self.instance.row.killed_at?;
        Some(Flag {
            kind: FlagKind::Contradicted,
            since: self.instance.entered.at.max(killed_at),
            reason: format!(
                "the manager killed it {} ago and now says {}: a killed instance that reports late comes back",
                self.ago(killed_at),
                self.instance.state
            ),
            certainty:
                "Certain: both times stand in the manager's own row. Which of the two is true, only vast.ai's record tells."
                    .into(),
            would_show: vec!["vast.ai's record of the instance".into(), "newer log lines of the instance".into()],
        })
    }

    fn late_loading(&self) -> Option<Flag> {
        let expectation = self.around.expectation.as_ref()?;
        if self.dwell_s <= expectation.late_from_s {
            return None;
        }
        let moved = self.instance.status.stands(5.0 * MINUTE) == Some(false);
        let beyond = self.dwell_s > expectation.limit_s;
        let status = match &self.instance.row.vast.status_msg {
            Some(text) => format!("vast.ai says \u{201c}{}\u{201d}", text.chars().take(80).collect::<String>()),
            None => "vast.ai told no status".to_owned(),
        };
        let (kind, since) = if beyond && !moved {
            (FlagKind::Stalled, self.entered_plus(expectation.limit_s))
        } else {
            (FlagKind::Slow, self.entered_plus(expectation.late_from_s))
        };
        Some(Flag {
            kind,
            since,
            reason: format!("loading for {} ({}); {status}", self.dwell_words(), against(expectation)),
            certainty:
                "Only the time is known: nothing of ours runs on it yet, so no log can exist. A slow image pull looks the same."
                    .into(),
            would_show: vec!["vast.ai's record: actual_status and status_msg".into(), "the container log at vast.ai".into()],
        })
    }

    fn on_its_way(&self) -> Option<Flag> {
        let expectation = self.around.expectation.as_ref()?;
        let state = &self.instance.state;
        let busy = self.instance.gpu.is_busy(self.around.as_of);
        let beyond = self.dwell_s > expectation.limit_s;
        match self.log {
            ChannelHealth::Working { source, newest } => (self.dwell_s > expectation.late_from_s).then(|| Flag {
                kind: FlagKind::Slow,
                since: self.entered_plus(expectation.late_from_s),
                reason: format!(
                    "in {state} for {} ({}), but progress is visible: newest {source} line {} ago",
                    self.dwell_words(),
                    against(expectation),
                    self.ago(*newest)
                ),
                certainty: "Not stuck by what is seen: it is writing. Late is certain, the cause is not known.".into(),
                would_show: vec![format!("the pace of its {source} lines")],
            }),
            ChannelHealth::Quiet { source, newest, control, repeats } => {
                let silent_from = newest.unwrap_or(self.instance.entered.at).max(self.instance.entered.at);
                let silent_s = seconds_between(silent_from, self.around.as_of);
                if silent_s <= silence_limit(state) {
                    return None;
                }
                if busy {
                    return beyond.then(|| self.late_but_busy(expectation));
                }
                let proof = match (newest, control) {
                    (Some(newest), _) if repeats.is_some() => {
                        format!("its {source} log has only repeated itself for {}", self.ago(*newest))
                    }
                    (Some(newest), _) => format!("its {source} lines came until {} ago", self.ago(*newest)),
                    (None, Some(name)) => format!("{name} runs the same image and does write {source}"),
                    (None, None) => format!("{source} is known to work"),
                };
                Some(Flag {
                    kind: FlagKind::Stalled,
                    since: shift(silent_from, silence_limit(state)),
                    reason: format!(
                        "in {state} for {} and no progress seen for {}: {proof}{}",
                        self.dwell_words(),
                        duration(silent_s),
                        self.and_gpu()
                    ),
                    certainty: if repeats.is_some() {
                        "Likely stuck: its log still arrives, and says the same again and again.".into()
                    } else {
                        "Likely stuck: the log channel was working for it and would show progress. A log shipper that died \
                                while the work goes on would look the same."
                            .into()
                    },
                    would_show: self.would_show(),
                })
            }
            ChannelHealth::Blind(_) | ChannelHealth::NotAsked if beyond && busy => Some(self.late_but_busy(expectation)),
            ChannelHealth::Blind(_) | ChannelHealth::NotAsked if beyond => Some(Flag {
                kind: FlagKind::Stalled,
                since: self.entered_plus(expectation.limit_s),
                reason: format!(
                    "in {state} for {}, longer than its kind has ever needed ({}); {}{}",
                    self.dwell_words(),
                    against(expectation),
                    self.blind_words(),
                    self.and_gpu()
                ),
                certainty:
                    "By time alone: nothing that could show progress is working, so slow and stuck cannot be told apart. The \
                            empty log is not evidence of failure."
                        .into(),
                would_show: self.would_show(),
            }),
            ChannelHealth::Blind(_) => {
                let after_s = match state {
                    State::ParamsDone => INVISIBLE_AFTER_PARAMS_DONE_S,
                    _ => expectation.late_from_s.max(INVISIBLE_LEAST_S),
                };
                (self.dwell_s >= after_s).then(|| Flag {
                    kind: FlagKind::Invisible,
                    since: self.entered_plus(after_s),
                    reason: format!(
                        "in {state} for {} and nothing that could show progress is working: {}{}",
                        self.dwell_words(),
                        self.blind_words(),
                        self.and_gpu()
                    ),
                    certainty: self.invisible_certainty(expectation),
                    would_show: self.would_show(),
                })
            }
            ChannelHealth::NotAsked => None,
        }
    }

    fn late_but_busy(&self, expectation: &Expectation) -> Flag {
        Flag {
            kind: FlagKind::Slow,
            since: self.entered_plus(expectation.limit_s),
            reason: format!(
                "in {} for {} ({}); {}",
                self.instance.state,
                self.dwell_words(),
                against(expectation),
                self.gpu_words()
            ),
            certainty: "Something computes on its GPU. Whether that is progress is not visible: a wedged kernel is busy too."
                .into(),
            would_show: self.would_show(),
        }
    }

    fn running(&self) -> Option<Flag> {
        let idle_by_its_word = self
            .instance
            .log
            .no_work_at
            .is_some_and(|at| seconds_between(at, self.around.as_of) <= silence_limit(&self.instance.state));
        if idle_by_its_word {
            return None;
        }
        if let ChannelHealth::Quiet { newest: Some(newest), repeats, .. } = self.log {
            return self.running_silent((*newest).max(self.instance.entered.at), repeats.is_some());
        }
        let idle_since = self.instance.gpu.idle_since(self.around.as_of)?;
        let idle_from = idle_since.max(self.instance.entered.at);
        if seconds_between(idle_from, self.around.as_of) <= RUNNING_IDLE_S {
            return None;
        }
        let (kind, certainty) = match self.log {
            ChannelHealth::Working { .. } => return None,
            ChannelHealth::Quiet { .. } => (
                FlagKind::Stalled,
                "Likely not proving: its log channel was working and its GPU load was told. No work to do would look the same.",
            ),
            ChannelHealth::Blind(_) | ChannelHealth::NotAsked => (
                FlagKind::Invisible,
                "Possibly not proving: the GPU was idle in each of vast.ai's samples, one a minute, and no log shows the prover.",
            ),
        };
        Some(Flag {
            kind,
            since: shift(idle_from, RUNNING_IDLE_S),
            reason: format!("says running, but {}; {}", self.gpu_words(), self.log_words()),
            certainty: certainty.into(),
            would_show: self.would_show(),
        })
    }

    /// Running, and its log showed proofs and shows none any more.
    fn running_silent(&self, silent_from: Timestamp, repeats: bool) -> Option<Flag> {
        let limit_s = silence_limit(&self.instance.state);
        if seconds_between(silent_from, self.around.as_of) <= limit_s {
            return None;
        }
        let busy = self.instance.gpu.is_busy(self.around.as_of);
        let (kind, certainty) = match (busy, repeats) {
            (true, _) => (
                FlagKind::Invisible,
                "Nothing shows proofs any more. Its GPU computes: that its log cannot reach the manager is as likely as trouble.",
            ),
            (false, true) => (FlagKind::Stalled, "Likely not proving: its log still arrives, and says the same again and again."),
            (false, false) => (
                FlagKind::Stalled,
                "Likely not proving: its log showed proofs and shows none. A log shipper that died would look the same.",
            ),
        };
        Some(Flag {
            kind,
            since: shift(silent_from, limit_s),
            reason: format!("says running, but {}; {}", self.log_words(), self.gpu_words()),
            certainty: certainty.into(),
            would_show: self.would_show(),
        })
    }

    fn invisible_certainty(&self, expectation: &Expectation) -> String {
        let time = if self.dwell_s <= expectation.late_from_s {
            format!("By time alone this is not late: late is from {}.", duration(expectation.late_from_s))
        } else {
            format!("It is late by time: late is from {}.", duration(expectation.late_from_s))
        };
        format!("{time} It may be working, slow or stuck; these cannot be told apart from here.")
    }

    fn would_show(&self) -> Vec<String> {
        let sources: Vec<String> = progress_sources(&self.instance.state).iter().map(|source| (*source).to_owned()).collect();
        let mut checks = vec!["an SSH look at its processes and GPU".to_owned(), "the container log at vast.ai".to_owned()];
        if !sources.is_empty() {
            checks.push(format!("{} lines, if its image ships them", list(&sources)));
        }
        checks
    }

    /// One line for the table when nothing is flagged.
    fn note(&self) -> String {
        let expectation = self.around.expectation.as_ref();
        match (&self.instance.state, self.log) {
            (State::Killed, _) => self.instance.row.kill_reason.clone().unwrap_or_else(|| "no reason given".to_owned()),
            (State::Unknown(text), _) => format!("state \u{201c}{text}\u{201d} is not known to this version"),
            (_, ChannelHealth::Working { source, newest }) => format!("working: {source} line {} ago", self.ago(*newest)),
            (State::Running, _) if self.instance.gpu.is_busy(self.around.as_of) => self.gpu_words(),
            (State::Loading, _) => self.instance.row.vast.status_msg.clone().unwrap_or_else(|| "status not told".to_owned()),
            _ => match expectation {
                Some(expectation) if self.dwell_s <= expectation.late_from_s => {
                    format!("within usual ({})", duration(expectation.usual_s))
                }
                _ => self.log_words(),
            },
        }
    }

    fn evidence(&self) -> Vec<Evidence> {
        let instance = self.instance;
        let mut evidence = vec![Evidence {
            channel: "manager-dashboard",
            health: if matches!(instance.presence, Presence::Listed) { "working" } else { "quiet" },
            text: match instance.entered.basis {
                Basis::Manager => format!("{} for {} by the manager's own time", instance.state, self.dwell_words()),
                Basis::VastStart => format!("{} for {}, since the rental began", instance.state, self.dwell_words()),
                Basis::Observed => format!("seen entering {} {} ago", instance.state, self.dwell_words()),
                Basis::BenchDone => {
                    format!("{}; counted from its benchmark report, for the manager keeps no time of it", instance.state)
                }
                Basis::FirstSight => {
                    format!("{} for at least {}: it was so when Dwell first looked", instance.state, self.dwell_words())
                }
            },
            at: Some(instance.last_listed_at),
        }];
        evidence.push(Evidence {
            channel: "manager-instance-log",
            health: match self.log {
                ChannelHealth::Working { .. } => "working",
                ChannelHealth::Quiet { .. } => "quiet",
                ChannelHealth::Blind(_) => "blind",
                ChannelHealth::NotAsked => "not-asked",
            },
            text: self.log_words(),
            at: instance.log.newest.values().max().copied().or(instance.log.read_at),
        });
        evidence.push(Evidence {
            channel: "vast-record",
            health: match (instance.gpu.last_told, self.around.vast_cache_age_s) {
                (_, None) => "unreachable",
                (_, Some(age_s)) if age_s > LIST_FRESH_S => "unreachable",
                (Some(told), _) if seconds_between(told, self.around.as_of) <= 10.0 * MINUTE => "working",
                _ => "blind",
            },
            text: self.gpu_words(),
            at: instance.gpu.last_told,
        });
        evidence
    }

    fn log_words(&self) -> String {
        match self.log {
            ChannelHealth::Working { source, newest } => format!("newest {source} line {} ago", self.ago(*newest)),
            ChannelHealth::Quiet { source, newest: Some(newest), repeats: Some(_), .. } => {
                format!("its {source} log has only repeated itself for {}", self.ago(*newest))
            }
            ChannelHealth::Quiet { source, newest: Some(newest), .. } => {
                format!("no {source} line for {}", self.ago(*newest))
            }
            ChannelHealth::Quiet { source, control, .. } => {
                format!("no {source} line, though {} writes them", control.as_deref().unwrap_or("another instance"))
            }
            ChannelHealth::Blind(_) => self.blind_words(),
            ChannelHealth::NotAsked => "log lines waiting at the manager, not read yet".to_owned(),
        }
    }

    fn blind_words(&self) -> String {
        match self.log {
            ChannelHealth::Blind(WhyBlind::NeverSpoke) => "no log line was ever received from it".to_owned(),
            ChannelHealth::Blind(WhyBlind::OtherSourcesOnly(sources)) => {
                let wanted: Vec<String> =
                    progress_sources(&self.instance.state).iter().map(|source| (*source).to_owned()).collect();
                format!("its log has only {} lines, never {}", list(sources), list(&wanted))
            }
            ChannelHealth::Blind(WhyBlind::OnlyAnnounces(source)) => {
                format!("its {source} log announces steps and has not shown the progress of this one")
            }
            ChannelHealth::Blind(WhyBlind::LostAtRestart(at)) => {
                format!("the manager restarted {} ago and lost its logs, nothing has come since", self.ago(*at))
            }
            ChannelHealth::Blind(WhyBlind::NoSource) => "no log exists in this state".to_owned(),
            _ => "its log was not read yet".to_owned(),
        }
    }

    /// What the GPU shows, where it should be at work: parameters are fetched without it.
    fn and_gpu(&self) -> String {
        match self.instance.state {
            State::ParamsDone | State::Running => format!("; {}", self.gpu_words()),
            _ => String::new(),
        }
    }

    fn gpu_words(&self) -> String {
        let gpu = &self.instance.gpu;
        match (gpu.last_told, gpu.idle_since(self.around.as_of)) {
            (None, _) => "GPU load not told".to_owned(),
            (Some(_), Some(since)) => format!("GPU idle for {}", self.ago(since)),
            (Some(told), None) if gpu.is_busy(self.around.as_of) => match self.instance.row.vast.gpu_util_percent {
                Some(load) => format!("GPU busy, {load:.0} % {} ago", self.ago(told)),
                None => format!("GPU busy {} ago", self.ago(told)),
            },
            (Some(told), None) => format!("GPU load last told {} ago", self.ago(told)),
        }
    }

    fn dwell_words(&self) -> String {
        duration(self.dwell_s)
    }

    fn ago(&self, at: Timestamp) -> String {
        duration(seconds_between(at, self.around.as_of).max(0.0))
    }

    fn entered_plus(&self, seconds: f64) -> Timestamp {
        shift(self.instance.entered.at, seconds)
    }
}

/// `usual 30 m, late from 39 m, by 12 stays of RTX 4090`.
fn against(expectation: &Expectation) -> String {
    let times = format!("usual {}, late from {}", duration(expectation.usual_s), duration(expectation.late_from_s));
    match &expectation.base {
        ExpectationBase::Group { name, advanced, .. } => format!("{times}, by {advanced} stays of {name}"),
        ExpectationBase::Prior { .. } => format!("{times}, no history: prior"),
    }
}
