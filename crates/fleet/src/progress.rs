//! What could show progress, and whether it is working: the log channel and the GPU's load.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::{LogLine, Row, Snapshot, State, Timestamp, seconds_between};

/// GPU load from which a card counts as busy, percent.
pub const GPU_BUSY_PERCENT: f64 = 10.0;

/// A GPU reading older than this says nothing about now, seconds.
const GPU_FRESH_S: f64 = 10.0 * 60.0;

/// Readings of vast.ai's record closer than this are one, seconds: the manager reads it once a minute, and tells its age in whole
/// seconds.
pub const ONE_READING_S: f64 = 10.0;

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

/// A line that equals one of so many before it in its source says nothing new: a retry, a wait, a crash loop.
const REPEATS_WITHIN: usize = 16;

/// curio asked the service for work and got none: a running instance without work is idle and well. Source: curio,
/// `tasks/proofshare/task_request.go`.
fn tells_of_no_work(text: &str) -> bool {
    text.contains("polled work from service") && text.contains("\"requests\": 0,")
}

/// The benchmark's client has a proof: whatever stood before it, this is progress. Source: prover source, `cuzk-bench`, as
/// for the other words of it.
fn tells_of_a_proof(text: &str) -> bool {
    text.contains("] COMPLETED \u{2014} ")
}

/// Something failed: a line that shows that the program lives, and nothing of its work. Forms: an answer of the benchmark's
/// client, Rust's tracing and `anyhow`, Go's logger and command line, a panic, curl.
fn tells_of_failure(text: &str) -> bool {
    let head = text.get(..text.floor_char_boundary(200)).unwrap_or(text);
    let answered = ["] FAILED \u{2014} ", "] CANCELLED \u{2014} ", "] TIMEOUT \u{2014} ", "] UNKNOWN \u{2014} "];
    let begins = ["Error: ", "ERROR: ", "Caused by:", "curl: ("];
    // Levels stand alone: after the time, in colours or between tabs.
    let is_error = |word: &str| word.trim_start_matches("\u{1b}[31m").trim_end_matches("\u{1b}[0m") == "ERROR";
    answered.iter().any(|words| head.contains(words))
        || begins.iter().any(|words| head.starts_with(words))
        || head.contains(" panicked at ")
        || head.split_whitespace().take(3).any(is_error)
        || is_numbered_cause(head)
}

/// One of the causes below an `anyhow` error: `    0: transport error`.
fn is_numbered_cause(text: &str) -> bool {
    let Some((number, _)) = text.strip_prefix("    ").and_then(|rest| rest.split_once(": ")) else { return false };
    number.len() <= 2 && !number.is_empty() && number.bytes().all(|letter| letter.is_ascii_digit())
}

/// Whether one line of this source, whenever it came, proves that the source would show progress.
pub(crate) fn one_line_is_proof(source: &str) -> bool {
    source != ANNOUNCER
}

/// What Dwell knows of one instance's log channel.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LogChannel {
    /// Newest line per source, by arrival at the manager.
    pub newest: BTreeMap<String, Timestamp>,
    /// Newest line per source that said something new. Only such lines show progress.
    pub newest_new: BTreeMap<String, Timestamp>,
    /// What the latest distinct lines of each source were, as hashes, oldest first.
    pub recent: BTreeMap<String, VecDeque<u64>>,
    /// Newest line that told of an empty queue.
    pub no_work_at: Option<Timestamp>,
    /// The latest distinct arrivals per source, oldest first, [`PACE_ARRIVALS`] at most: whether it goes on speaking.
    pub arrivals: BTreeMap<String, Vec<Timestamp>>,
    /// Lines in the manager's buffer by the latest dashboard; `None` where it has no buffer for the row.
    pub buffered: Option<u64>,
    /// When the buffer was last read in full or known to be empty.
    pub read_at: Option<Timestamp>,
    /// Lines that it had then.
    pub read_lines: Option<u64>,
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
        /// It still writes, and only repeats itself: its newest line.
        repeats: Option<Timestamp>,
    },
    /// It answers, and nothing could be there.
    Blind(WhyBlind),
    /// The manager holds lines that Dwell has not read yet.
    NotAsked,
}

/// What a line says of progress, without its words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Heard {
    at: Timestamp,
    hash: u64,
    no_work: bool,
    failure: bool,
    proof: bool,
}

impl Heard {
    /// What a line that arrived at `at` says.
    pub fn of(text: &str, at: Timestamp) -> Self {
        Self {
            at,
            hash: line_hash(text),
            no_work: tells_of_no_work(text),
            failure: tells_of_failure(text),
            proof: tells_of_a_proof(text),
        }
    }

    /// When it arrived.
    pub fn at(&self) -> Timestamp {
        self.at
    }
}

impl LogChannel {
    /// Takes note of a line.
    pub fn note_line(&mut self, line: &LogLine) {
        self.note(&line.source, Heard::of(&line.text, line.at));
    }

    /// Takes note of what a line says. True where that is something new.
    fn note(&mut self, source: &str, heard: Heard) -> bool {
        self.note_arrival(source, heard.at);
        if heard.no_work {
            self.no_work_at = self.no_work_at.max(Some(heard.at));
        }
        if heard.failure {
            return false;
        }
        let recent = self.recent.entry(source.to_owned()).or_default();
        if let Some(place) = recent.iter().position(|known| *known == heard.hash) {
            // Again: it stays among the latest, and shows nothing, unless it tells of one more proof.
            recent.remove(place);
            recent.push_back(heard.hash);
            if !heard.proof {
                return false;
            }
        } else {
            recent.push_back(heard.hash);
            if recent.len() > REPEATS_WITHIN {
                recent.pop_front();
            }
        }
        let newest = self.newest_new.entry(source.to_owned()).or_insert(heard.at);
        *newest = (*newest).max(heard.at);
        true
    }

    /// Takes up one source from its newest lines as they were kept, oldest first, in place of what was known of it; `whole` says
    /// that there are no older ones. True where the outcome is that of hearing every line ever written; else older ones are needed:
    /// whether a line is new depends on the distinct ones before it.
    pub fn take_up(&mut self, source: &str, newest: &[Heard], whole: bool) -> bool {
        let mut alone = Self::default();
        // From here on the latest distinct lines are all known.
        let mut known_from = whole.then_some(0);
        let mut last_new = None;
        for (index, heard) in newest.iter().enumerate() {
            if alone.note(source, *heard) {
                last_new = Some(index);
            }
            if known_from.is_none() && alone.recent.get(source).is_some_and(|recent| recent.len() == REPEATS_WITHIN) {
                known_from = Some(index + 1);
            }
        }
        let arrived = alone.arrivals.get(source).is_some_and(|arrivals| arrivals.len() == PACE_ARRIVALS);
        self.newest.extend(alone.newest);
        self.newest_new.extend(alone.newest_new);
        self.recent.extend(alone.recent);
        self.arrivals.extend(alone.arrivals);
        self.no_work_at = self.no_work_at.max(alone.no_work_at);
        whole || arrived && known_from.zip(last_new).is_some_and(|(from, last)| last >= from)
    }

    fn note_arrival(&mut self, source: &str, at: Timestamp) {
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
            .filter_map(|source| self.newest_new.get_key_value(*source))
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
            // Lines that wait to be read may be progress: silence reaches to the last reading only.
            let lines_wait = self.buffered.zip(self.read_lines).is_some_and(|(buffered, read)| buffered != read);
            let judged_at = self.read_at.filter(|_| lines_wait).unwrap_or(as_of);
            let recent = seconds_between(newest, judged_at) <= silence_limit(state);
            return if recent {
                ChannelHealth::Working { source: source.to_owned(), newest }
            } else {
                let spoken = self.newest.get(source).copied().filter(|at| seconds_between(*at, as_of) <= silence_limit(state));
                ChannelHealth::Quiet { source: source.to_owned(), newest: Some(newest), control: None, repeats: spoken }
            };
        }
        if self.buffered.is_some_and(|lines| lines > 0) && self.read_at.is_none() {
            return ChannelHealth::NotAsked;
        }
        // It can speak, and has told of failures alone: nothing has gone on in this state, or since lines were last lost.
        let failing = progress_sources(state).iter().filter(|source| one_line_is_proof(source));
        let failing = failing.filter_map(|source| self.newest.get_key_value(*source)).max_by_key(|(_, at)| **at);
        if let Some((source, spoken)) = failing {
            let lately = Some(*spoken).filter(|at| seconds_between(*at, as_of) <= silence_limit(state));
            let newest = Some(restarted_at.unwrap_or(entered).max(entered));
            return ChannelHealth::Quiet { source: source.clone(), newest, control: None, repeats: lately };
        }
        if let Some((source, name)) = control {
            let control = Some(name.to_owned());
            return ChannelHealth::Quiet { source: source.to_owned(), newest: None, control, repeats: None };
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

/// A line without what changes from one writing to the next although nothing happens: its time.
pub fn line_hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.split_whitespace().filter(|word| !is_time(word)).for_each(|word| word.hash(&mut hasher));
    hasher.finish()
}

/// A date or a time of day, in colours or brackets. An id in hexadecimal is none: the next one is another thing.
fn is_time(word: &str) -> bool {
    let mut bare = word.trim_matches(|letter: char| matches!(letter, '[' | ']' | '(' | ')' | ',' | ';'));
    while let Some((_, rest)) = bare.strip_prefix("\u{1b}[").and_then(|rest| rest.split_once('m')) {
        bare = rest;
    }
    let bare = bare.split('\u{1b}').next().unwrap_or(bare).rsplit('=').next().unwrap_or(bare);
    let of_a_time = |letter: u8| letter.is_ascii_digit() || b"-:./,+TZ".contains(&letter);
    bare.contains([':', '-']) && bare.bytes().all(of_a_time) && bare.bytes().filter(u8::is_ascii_digit).count() >= 6
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
    /// Takes note of a row's reading.
    pub(crate) fn note(&mut self, row: &Row, snapshot: &Snapshot) {
        if let (Some(load), Some(at)) = (row.vast.gpu_util_percent, snapshot.vast_read_at()) {
            self.note_reading(load, at);
        }
    }

    /// Takes note of a load in percent that vast.ai told at `at`. One record read many times is one reading.
    pub fn note_reading(&mut self, load: f64, at: Timestamp) {
        if self.last_told.is_some_and(|known| seconds_between(known, at) < ONE_READING_S) {
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
