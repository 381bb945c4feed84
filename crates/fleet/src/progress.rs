//! What could show progress, and whether it is working: the log channel and the GPU's load.

use std::collections::BTreeMap;

use crate::{Row, Snapshot, State, Timestamp, seconds_between};

/// GPU load from which a card counts as busy, percent.
pub const GPU_BUSY_PERCENT: f64 = 10.0;

/// A GPU reading older than this says nothing about now, seconds.
const GPU_FRESH_S: f64 = 10.0 * 60.0;

/// The log sources in which an instance shows progress while in `state`. `loading` has none: nothing of ours runs yet.
pub fn progress_sources(state: &State) -> &'static [&'static str] {
    match state {
        State::Registered => &["setup"],
        // `setup` only announces the benchmark; what it does is in these two, shipped since the log-shipping change.
        State::ParamsDone => &["benchout", "benchdaemon"],
        State::BenchDone => &["setup", "cuzk", "curio"],
        State::Running => &["cuzk", "curio"],
        State::Loading | State::Killed | State::Unknown(_) => &[],
    }
}

/// Silence on a working log channel that is longer than any healthy pause in `state`, seconds. A proof takes 38-152 s by
/// RAM and a parameter preload 1-2 min, so ten minutes hold several of the longest pauses of a benchmark.
pub fn silence_limit(state: &State) -> f64 {
    match state {
        State::Registered => 15.0 * 60.0,
        State::Running => 30.0 * 60.0,
        _ => 10.0 * 60.0,
    }
}

/// Source that announces steps ("Registered with manager", "Starting benchmark"). It shows the progress of a step only
/// where it goes on speaking during it: some images print the parameter fetch there, others are silent until it is over.
const ANNOUNCER: &str = "setup";

/// Distinct arrivals within a state from which [`ANNOUNCER`] counts as showing progress.
pub const PACE_ARRIVALS: usize = 3;

/// Whether one line of this source, whenever it came, proves that the source would show progress.
pub(crate) fn one_line_is_proof(source: &str) -> bool {
    source != ANNOUNCER
}

/// What Dwell knows of one instance's log channel.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LogChannel {
    /// Newest line per source, by arrival at the manager.
    pub newest: BTreeMap<String, Timestamp>,
    /// The latest distinct arrivals per source, oldest first, [`PACE_ARRIVALS`] at most: whether it goes on speaking.
    pub arrivals: BTreeMap<String, Vec<Timestamp>>,
    /// Lines in the manager's buffer by the latest dashboard; `None` where it has no buffer for the row.
    pub buffered: Option<u64>,
    /// When the buffer was last read in full or known to be empty.
    pub read_at: Option<Timestamp>,
}

/// Why a channel that answers could not have shown anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhyBlind {
    /// Not one line was ever received from this instance.
    NeverSpoke,
    /// Lines came, but from none of the sources that would show progress in this state.
    OtherSourcesOnly(Vec<String>),
    /// It announces steps in this source, and has not gone on speaking during the present one.
    OnlyAnnounces(String),
    /// The manager restarted at this time and emptied its buffers; nothing has come since and nothing was kept from before.
    LostAtRestart(Timestamp),
    /// Nothing that Dwell reads shows progress in this state.
    NoSource,
}

/// Whether a channel could have spoken, and did.
#[derive(Debug, Clone, PartialEq)]
pub enum ChannelHealth {
    /// It delivered something that shows progress, recently.
    Working {
        /// Log source.
        source: String,
        /// Its newest line.
        newest: Timestamp,
    },
    /// It is silent, and something proves that it could have spoken.
    Quiet {
        /// Log source.
        source: String,
        /// The newest line of this instance; `None` when the proof is another instance.
        newest: Option<Timestamp>,
        /// Another instance of the same image whose lines are the proof.
        control: Option<String>,
    },
    /// It answers, and nothing could be there.
    Blind(WhyBlind),
    /// The manager holds lines that Dwell has not read yet.
    NotAsked,
}

impl LogChannel {
    /// Takes note of a line's arrival.
    pub fn note_line(&mut self, source: &str, at: Timestamp) {
        let newest = self.newest.entry(source.to_owned()).or_insert(at);
        *newest = (*newest).max(at);
        let arrivals = self.arrivals.entry(source.to_owned()).or_default();
        if let Err(place) = arrivals.binary_search(&at) {
            arrivals.insert(place, at);
            if arrivals.len() > PACE_ARRIVALS {
                arrivals.remove(0);
            }
        }
    }

    /// It has gone on speaking in this source since `entered`.
    fn keeps_pace(&self, source: &str, entered: Timestamp) -> bool {
        self.arrivals.get(source).is_some_and(|arrivals| arrivals.len() == PACE_ARRIVALS && arrivals[0] >= entered)
    }

    /// The newest line among the sources that show progress in `state`, entered at `entered`.
    pub fn newest_progress(&self, state: &State, entered: Timestamp) -> Option<(&str, Timestamp)> {
        progress_sources(state)
            .iter()
            .filter(|source| one_line_is_proof(source) || self.keeps_pace(source, entered))
            .filter_map(|source| self.newest.get_key_value(*source))
            .map(|(source, at)| (source.as_str(), *at))
            .max_by_key(|(_, at)| *at)
    }

    /// The health of the channel for an instance in `state` since `entered`, at `as_of`. `control` names another instance
    /// of the same image that did deliver a progress source for this state.
    pub fn health(
        &self,
        state: &State,
        entered: Timestamp,
        as_of: Timestamp,
        restarted_at: Option<Timestamp>,
        control: Option<(&str, &str)>,
    ) -> ChannelHealth {
        if progress_sources(state).is_empty() {
            return ChannelHealth::Blind(WhyBlind::NoSource);
        }
        if let Some((source, newest)) = self.newest_progress(state, entered) {
            let recent = seconds_between(newest, as_of) <= silence_limit(state);
            return if recent {
                ChannelHealth::Working { source: source.to_owned(), newest }
            } else {
                ChannelHealth::Quiet { source: source.to_owned(), newest: Some(newest), control: None }
            };
        }
        if self.buffered.is_some_and(|lines| lines > 0) && self.read_at.is_none() {
            return ChannelHealth::NotAsked;
        }
        if let Some((source, name)) = control {
            return ChannelHealth::Quiet { source: source.to_owned(), newest: None, control: Some(name.to_owned()) };
        }
        if progress_sources(state).contains(&ANNOUNCER) && self.newest.contains_key(ANNOUNCER) {
            return ChannelHealth::Blind(WhyBlind::OnlyAnnounces(ANNOUNCER.to_owned()));
        }
        if !self.newest.is_empty() {
            return ChannelHealth::Blind(WhyBlind::OtherSourcesOnly(self.newest.keys().cloned().collect()));
        }
        match restarted_at {
            Some(restart) if restart > entered => ChannelHealth::Blind(WhyBlind::LostAtRestart(restart)),
            _ => ChannelHealth::Blind(WhyBlind::NeverSpoke),
        }
    }
}

/// What vast.ai's record told of the GPU's load. Load is activity, not progress: a wedged kernel is busy too.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GpuActivity {
    /// Last reading that showed load.
    pub last_busy: Option<Timestamp>,
    /// First idle reading since the last busy one.
    pub idle_since: Option<Timestamp>,
    /// Last reading of either kind.
    pub last_told: Option<Timestamp>,
}

impl GpuActivity {
    /// Takes note of a row's reading. One vast.ai record read many times is one reading.
    pub(crate) fn note(&mut self, row: &Row, snapshot: &Snapshot) {
        let (Some(load), Some(at)) = (row.vast.gpu_util_percent, snapshot.vast_read_at()) else { return };
        if self.last_told.is_some_and(|known| seconds_between(known, at) < 1.0) {
            return;
        }
        self.last_told = Some(at);
        if load >= GPU_BUSY_PERCENT {
            self.last_busy = Some(at);
            self.idle_since = None;
        } else if self.idle_since.is_none() {
            self.idle_since = Some(at);
        }
    }

    /// Load was seen within the last ten minutes.
    pub fn is_busy(&self, as_of: Timestamp) -> bool {
        self.last_busy.is_some_and(|at| seconds_between(at, as_of) <= GPU_FRESH_S)
    }

    /// Idle in every reading since this time, the newest of them fresh.
    pub fn idle_since(&self, as_of: Timestamp) -> Option<Timestamp> {
        let fresh = self.last_told.is_some_and(|at| seconds_between(at, as_of) <= GPU_FRESH_S);
        self.idle_since.filter(|_| fresh)
    }
}
