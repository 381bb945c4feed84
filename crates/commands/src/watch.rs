//! The watch loop as one step function over a closed set of events. Desktop, terminal and virtual time run the same one;
//! only who feeds events and performs effects differs. No I/O, no clock.

use std::collections::{BTreeMap, BTreeSet};

use dwell_clients::{Code, FetchError};
use dwell_diagnosis::Around;
use dwell_fleet::{
    Basis, FlagChange, Fleet, Implausible, Key, LogLine, ManagerRun, Observed, Presence, Rejected, Snapshot, State, Timestamp,
    seconds_between, shift,
};

use crate::casebook::{Casebook, Way};
use crate::conditions::ListLog;

/// The manager's buffer of one instance holds this many lines: asking for as many asks for all.
const WHOLE_BUFFER_LINES: usize = 10_000;
/// A reading shorter than this was never cut by a full buffer (it drops to nine tenths when full).
const NEVER_FULL_BELOW_LINES: usize = 9_000;
/// The manager's own log holds this many.
const MANAGER_LOG_LINES: usize = 5_000;
/// Lines asked for beyond those known to be new, to overlap what is known.
const OVERLAP_LINES: u64 = 20;
/// Between two dashboards at least, seconds.
const LEAST_BETWEEN_S: f64 = 0.1;
/// What an operator has to change (a login page) is asked for anew so often, seconds: nobody may sit before a watch in a terminal.
const LOGIN_AGAIN_S: f64 = 60.0;
/// Log readings asked for at most after one answer, and at most under way at once.
const LOG_READS_MAX: usize = 64;
const LOG_READS_AT_ONCE: usize = 8;

/// How often things are read, seconds of the fleet's time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Between two dashboards.
    pub dashboard_s: f64,
    /// Between two readings of the manager's own log.
    pub manager_log_s: f64,
    /// Longest wait after failures.
    pub back_off_most_s: f64,
}

impl Default for Pace {
    fn default() -> Self {
        Self { dashboard_s: 10.0, manager_log_s: 30.0, back_off_most_s: 20.0 }
    }
}

impl Pace {
    /// A pace for a fleet whose time runs at `speed` times real time: never more than two dashboards a real second.
    pub fn at_speed(speed: f64) -> Self {
        let ordinary = Self::default();
        Self {
            dashboard_s: ordinary.dashboard_s.max(speed * 0.5),
            manager_log_s: ordinary.manager_log_s.max(speed * 1.0),
            back_off_most_s: ordinary.back_off_most_s.max(speed * 2.0),
        }
    }

    /// A pace with so many seconds between two dashboards.
    pub fn every(seconds: f64) -> Self {
        let dashboard_s = seconds.max(LEAST_BETWEEN_S);
        Self { dashboard_s, manager_log_s: dashboard_s.max(Self::default().manager_log_s), back_off_most_s: dashboard_s * 2.0 }
    }

    /// Answers further apart than this leave a gap.
    pub fn gap_after_s(&self) -> f64 {
        self.dashboard_s * 3.0 + 15.0
    }
}

/// What can happen.
#[derive(Debug)]
pub enum Event {
    /// Time has passed.
    Tick,
    /// Read everything now, also after a refusal.
    Refresh,
    /// The operator looks at this instance: its log is read first.
    LookAt(Option<Key>),
    /// The dashboard answered, or not. The text is what a simulator says of itself.
    Dashboard(Result<(Snapshot, Option<String>), FetchError>),
    /// An instance's log answered, or not.
    InstanceLines {
        /// Whose.
        key: Key,
        /// Lines asked for.
        tail: usize,
        /// The answer.
        result: Result<Vec<LogLine>, FetchError>,
    },
    /// The manager's log answered, or not.
    ManagerLines(Result<Vec<LogLine>, FetchError>),
    /// A reading of a part of a log does not join what is kept: lines are missing in between.
    Unjoined {
        /// Whose; `None` is the manager's own.
        key: Option<Key>,
    },
    /// Lines have been joined to what is kept; these were new.
    LinesKept {
        /// Whose.
        key: Key,
        /// The new ones.
        lines: Vec<LogLine>,
    },
    /// What is kept of who was ended on purpose, and of what people have accounted for.
    Accounted {
        /// Orders to end somebody, by the manager's id or vast.ai's number, with the manager's time.
        commands: Vec<(String, Timestamp)>,
        /// Who was accounted for by a person, and when.
        acknowledged: Vec<(Key, Timestamp)>,
        /// Whose rental has ended by vast.ai's own word, and when that was heard.
        ended: Vec<(Key, Timestamp)>,
    },
}

/// What is to be done about it.
#[derive(Debug)]
pub enum Effect {
    /// Ask for the dashboard.
    FetchDashboard,
    /// Ask for an instance's log.
    FetchInstanceLines {
        /// Whose.
        key: Key,
        /// The manager's id of it.
        uuid: String,
        /// Lines.
        tail: usize,
    },
    /// Ask for the manager's log.
    FetchManagerLines {
        /// Lines.
        tail: usize,
    },
    /// Keep what an answer brought.
    Record {
        /// What it brought.
        observed: Box<Observed>,
        /// Flags that changed.
        flags: Vec<FlagChange>,
    },
    /// Keep a log reading; `key` is `None` for the manager's own.
    KeepLines {
        /// Whose.
        key: Option<Key>,
        /// The reading.
        lines: Vec<LogLine>,
        /// It is all that the buffer holds.
        whole_buffer: bool,
        /// It is less than the manager would have given.
        part: bool,
    },
    /// What can be seen has changed.
    Publish,
}

/// The connection to the manager, as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Connection {
    /// Last good answer, on the operator's clock.
    pub last_ok_at: Option<Timestamp>,
    /// First failure since then.
    pub failing_since: Option<Timestamp>,
    /// Latest failure.
    pub failure: Option<FetchError>,
    /// Failures in a row.
    pub failures: u32,
    /// Next try; `None` while asking, or when only the operator can change something.
    pub next_try_at: Option<Timestamp>,
    /// The manager's clock minus the operator's, seconds.
    pub clock_skew_s: Option<f64>,
    /// Rows of the latest answer that could not be read, or named nobody.
    pub rows_unusable: usize,
    /// Answers, and failures to get one, since this watch began.
    pub answered: u64,
    /// The failures.
    pub failed: u64,
    /// Times of the latest answer that cannot be true.
    pub implausible: Vec<Implausible>,
    /// Latest answer set aside.
    pub rejected: Option<Rejected>,
    /// What a simulator says of itself.
    pub simulated: Option<String>,
}

/// The watch over one fleet.
#[derive(Debug)]
pub struct Watch {
    fleet: Fleet,
    pace: Pace,
    connection: Connection,
    asking: bool,
    manager_log_due_at: Option<Timestamp>,
    manager_log_asking: bool,
    manager_log_known: bool,
    manager_log_failure: Option<Code>,
    looked_at: Option<Key>,
    /// Lines in the buffer at the latest reading of each log.
    read_lines: BTreeMap<Key, u64>,
    reading: BTreeSet<Key>,
    queue: Vec<Key>,
    /// Lines have come since the last assessment.
    unassessed: bool,
    /// Only logs that a flag can depend on are read, and the one looked at.
    only_telling_logs: bool,
    bad_hosts: Vec<dwell_fleet::BadHost>,
    casebook: Casebook,
    list_log: ListLog,
    /// This machine's clock at the latest event.
    stepped_at: Option<Timestamp>,
}

impl Watch {
    /// A watch over a fleet that history may have filled already.
    pub fn new(fleet: Fleet, pace: Pace, now: Timestamp) -> Self {
        let read_lines =
            fleet.instances().filter_map(|instance| Some((instance.key, instance.log.read_lines?))).collect::<BTreeMap<_, _>>();
        Self {
            fleet,
            pace,
            connection: Connection { next_try_at: Some(now), ..Connection::default() },
            asking: false,
            manager_log_due_at: Some(now),
            manager_log_asking: false,
            manager_log_known: false,
            manager_log_failure: None,
            looked_at: None,
            read_lines,
            reading: BTreeSet::new(),
            queue: Vec::new(),
            unassessed: false,
            only_telling_logs: false,
            bad_hosts: Vec::new(),
            casebook: Casebook::default(),
            list_log: ListLog::default(),
            stepped_at: None,
        }
    }

    /// What the manager's own log says of its list of rentals.
    pub(crate) fn list_log(&self) -> &ListLog {
        &self.list_log
    }

    /// Goes on from the latest answer of an earlier process.
    pub(crate) fn resume(&mut self, answered_at: Timestamp, run: ManagerRun, vast_cache_age_s: Option<f64>) {
        self.fleet.resume(answered_at, run, vast_cache_age_s);
    }

    /// Takes in lines of the manager's own log that were kept by an earlier process.
    pub(crate) fn note_kept_manager_lines(&mut self, lines: &[LogLine], read_at: Timestamp) {
        self.casebook.note_manager_lines(lines, read_at);
        self.note_orders(lines);
    }

    fn note_orders(&mut self, lines: &[LogLine]) {
        for (name, at) in self.list_log.note(lines) {
            self.fleet.note_command(&name, at);
        }
    }

    /// What is kept for diagnoses.
    pub(crate) fn casebook(&self) -> &Casebook {
        &self.casebook
    }

    /// What is kept for diagnoses, to add to.
    pub(crate) fn casebook_mut(&mut self) -> &mut Casebook {
        &mut self.casebook
    }

    /// How the manager is reached.
    pub(crate) fn way(&self) -> Way {
        Way {
            unreachable: self.connection.failure.as_ref().map(|failure| failure.message.clone()),
            manager_log_failure: self.manager_log_failure.map(|code| code.as_str().to_owned()),
            clock_skew_s: self.connection.clock_skew_s,
        }
    }

    /// The fleet around its instances, for diagnoses. `now` is the operator's clock.
    pub(crate) fn around(&self, now: Timestamp) -> Around {
        self.casebook.around(&self.fleet, &self.way(), self.fleet.manager_time_at(now))
    }

    /// Whether only the logs of instances on their way, of flagged ones and of the one looked at are read.
    pub fn read_only_telling_logs(&mut self, only: bool) {
        self.only_telling_logs = only;
    }

    /// The fleet.
    pub fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// The connection.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Machines on the manager's list of bad hosts, by the latest answer.
    pub fn bad_hosts(&self) -> &[dwell_fleet::BadHost] {
        &self.bad_hosts
    }

    /// Why the manager's own log could not be read, if it could not.
    pub fn manager_log_failure(&self) -> Option<Code> {
        self.manager_log_failure
    }

    /// Nothing is under way and nothing waits: one look is complete.
    pub fn is_settled(&self) -> bool {
        !self.asking && !self.manager_log_asking && self.reading.is_empty() && self.queue.is_empty()
    }

    /// Changes how often things are read, from now on.
    pub fn set_pace(&mut self, pace: Pace, now: Timestamp) {
        self.pace = pace;
        self.fleet.set_gap_after_s(pace.gap_after_s());
        let soonest = |due: Option<Timestamp>, wait_s: f64| due.map(|at| at.min(shift(now, wait_s)));
        self.connection.next_try_at = soonest(self.connection.next_try_at, pace.dashboard_s);
        self.manager_log_due_at = soonest(self.manager_log_due_at, pace.manager_log_s);
    }

    /// Takes in one event. `now` is the operator's clock.
    pub fn step(&mut self, event: Event, now: Timestamp) -> Vec<Effect> {
        self.note_own_clock(now);
        let mut effects = Vec::new();
        match event {
            Event::Tick => {}
            Event::Refresh => {
                self.connection.next_try_at.get_or_insert(now);
                self.connection.next_try_at = self.connection.next_try_at.map(|at| at.min(now));
                self.manager_log_due_at = Some(now);
            }
            Event::LookAt(key) => {
                self.looked_at = key;
                self.queue_logs();
            }
            Event::Dashboard(Ok((snapshot, simulated))) => self.answered(snapshot, simulated, now, &mut effects),
            Event::Dashboard(Err(error)) => self.failed(error, now, &mut effects),
            Event::InstanceLines { key, tail, result } => {
                self.reading.remove(&key);
                match result {
                    Ok(lines) => {
                        let lines = self.fleet.bounded_lines(lines, now);
                        let whole_buffer = lines.len() < tail && lines.len() < NEVER_FULL_BELOW_LINES;
                        let part = tail < WHOLE_BUFFER_LINES;
                        effects.push(Effect::KeepLines { key: Some(key), lines, whole_buffer, part });
                    }
                    // Read again when the next dashboard has it; the dashboard itself tells whether the manager is there.
                    Err(error) => {
                        self.read_lines.remove(&key);
                        tracing::debug!(code = error.code.as_str(), %error, "an instance's log was not read");
                    }
                }
            }
            Event::Unjoined { key: Some(key) } => {
                self.read_lines.remove(&key);
                self.queue_logs();
            }
            Event::Unjoined { key: None } => {
                self.manager_log_known = false;
                self.manager_log_due_at = Some(now);
            }
            Event::LinesKept { key, lines } => {
                let read_at = self.fleet.as_of();
                self.casebook.note_lines(key, &lines);
                self.fleet.note_log_lines(key, &lines, read_at);
                if let Some(lines) = self.read_lines.get(&key) {
                    self.fleet.note_log_read(key, *lines);
                }
                self.unassessed = true;
            }
            Event::ManagerLines(result) => self.manager_lines(result, now, &mut effects),
            Event::Accounted { commands, acknowledged, ended } => {
                let mut is_news = false;
                for (name, at) in commands {
                    is_news |= self.fleet.note_command(&name, at);
                }
                for (key, at) in acknowledged {
                    is_news |= self.fleet.acknowledge(key, at);
                }
                for (key, at) in ended {
                    is_news |= self.fleet.note_rental_ended(key, at);
                }
                self.unassessed |= is_news;
            }
        }
        self.ask(now, &mut effects);
        // Once for a whole round of readings, not once for each: an assessment looks at every instance.
        if self.unassessed && self.reading.is_empty() {
            self.reassess(&mut effects);
        }
        effects
    }

    /// Where this machine's clock was set back, what is due stays due as soon as before.
    fn note_own_clock(&mut self, now: Timestamp) {
        let back_s = self.stepped_at.replace(now).map_or(0.0, |before| seconds_between(now, before));
        if back_s > 0.0 {
            let connection = &mut self.connection;
            for at in [
                &mut connection.next_try_at,
                &mut connection.last_ok_at,
                &mut connection.failing_since,
                &mut self.manager_log_due_at,
            ] {
                *at = at.map(|at| shift(at, -back_s));
            }
        }
    }

    fn answered(&mut self, snapshot: Snapshot, simulated: Option<String>, now: Timestamp, effects: &mut Vec<Effect>) {
        self.asking = false;
        let clock_skew_s = snapshot.clock_skew_s();
        let (snapshot, implausible) = self.fleet.bounded(snapshot);
        let observed = self.fleet.observe(&snapshot);
        if self.connection.failure.is_some() || observed.gap.is_some() {
            // A buffer may have overflowed meanwhile: how many lines it holds then says nothing of how many are new.
            self.read_lines.clear();
        }
        self.connection = Connection {
            last_ok_at: Some(now),
            next_try_at: Some(shift(now, self.pace.dashboard_s)),
            clock_skew_s: clock_skew_s.filter(|_| snapshot.clock_skew_s() == clock_skew_s),
            implausible,
            rows_unusable: snapshot.rows_unreadable + observed.rows_unusable,
            rejected: observed.rejected,
            simulated,
            answered: self.connection.answered + 1,
            failed: self.connection.failed,
            ..Connection::default()
        };
        if observed.rejected.is_some() {
            effects.push(Effect::Publish);
            return;
        }
        self.bad_hosts = snapshot.bad_hosts;
        for (gone, into) in &observed.merged {
            self.read_lines.remove(gone);
            self.casebook.merge(*gone, *into);
        }
        self.casebook.note_answer(&self.fleet, self.connection.clock_skew_s);
        self.casebook.keep_only(&self.fleet);
        // When it began to run stands in the manager's log alone.
        if observed.transitions.iter().any(|it| it.entry.state == State::Running && it.entry.basis != Basis::Manager) {
            self.manager_log_due_at = Some(now);
        }
        if observed.buffers_emptied {
            // Whatever was read before is gone from the buffers; and the manager's log will say when.
            self.read_lines.clear();
            self.manager_log_due_at = Some(now);
        }
        self.unassessed = false;
        let flags = self.fleet.assess();
        effects.push(Effect::Record { observed: Box::new(observed), flags });
        effects.push(Effect::Publish);
        self.queue_logs();
    }

    fn failed(&mut self, error: FetchError, now: Timestamp, effects: &mut Vec<Effect>) {
        self.asking = false;
        let failures = self.connection.failures.saturating_add(1);
        let wait_s = (self.pace.dashboard_s * f64::from(1u32 << (failures - 1).min(6))).min(self.pace.back_off_most_s);
        // A wrong address does not get better by asking again; somebody can log in.
        let hopeless = matches!(error.code, Code::BadAddress | Code::NoCertificates);
        let wait_s = if error.code == Code::Unauthorised { wait_s.max(LOGIN_AGAIN_S) } else { wait_s };
        self.connection.failed += 1;
        self.connection.failures = failures;
        self.connection.failing_since.get_or_insert(now);
        self.connection.next_try_at = (!hopeless).then(|| shift(now, wait_s));
        self.connection.failure = Some(error);
        effects.push(Effect::Publish);
    }

    fn manager_lines(&mut self, result: Result<Vec<LogLine>, FetchError>, now: Timestamp, effects: &mut Vec<Effect>) {
        self.manager_log_asking = false;
        let part = self.manager_log_known;
        self.manager_log_due_at = Some(shift(now, self.pace.manager_log_s));
        match result {
            Ok(lines) => {
                let lines = self.fleet.bounded_lines(lines, now);
                self.manager_log_known = true;
                self.manager_log_failure = None;
                let started = lines.iter().rev().find(|line| is_start(&line.text)).map(|line| line.at);
                if let Some(at) = started
                    && self.fleet.note_manager_start(at)
                {
                    self.read_lines.clear();
                    self.queue_logs();
                }
                let observed = self.fleet.note_manager_lines(&lines);
                if observed != Observed::default() {
                    effects.push(Effect::Record { observed: Box::new(observed), flags: Vec::new() });
                }
                self.casebook.note_manager_lines(&lines, self.fleet.manager_time_at(now));
                self.note_orders(&lines);
                let whole_buffer = lines.len() < MANAGER_LOG_LINES / 10;
                effects.push(Effect::KeepLines { key: None, lines, whole_buffer, part });
                self.unassessed = true;
            }
            Err(error) => self.manager_log_failure = Some(error.code),
        }
    }

    fn reassess(&mut self, effects: &mut Vec<Effect>) {
        self.unassessed = false;
        let flags = self.fleet.assess();
        // Also without a flag: how far each log has been read is kept.
        effects.push(Effect::Record { observed: Box::default(), flags });
        effects.push(Effect::Publish);
    }

    /// Which logs have grown since they were last read: the one looked at first, then flagged, then waiting, then others;
    /// among equals the one that has waited longest, so that none is passed over for ever.
    fn queue_logs(&mut self) {
        let mut wanted: Vec<(u8, Option<Timestamp>, Key)> = self
            .fleet
            .instances()
            .filter(|instance| instance.presence == Presence::Listed && instance.uuid.is_some())
            .filter(|instance| {
                let lines = instance.log.buffered.unwrap_or(0);
                lines > 0 && self.read_lines.get(&instance.key) != Some(&lines) && !self.reading.contains(&instance.key)
            })
            .map(|instance| {
                let urgency = if self.looked_at == Some(instance.key) {
                    0
                } else if instance.flag.is_some() {
                    1
                } else if instance.state.is_waiting() {
                    2
                } else if instance.state == State::Killed {
                    4
                } else {
                    3
                };
                (urgency, instance.log.read_at, instance.key)
            })
            .filter(|(urgency, ..)| !self.only_telling_logs || *urgency < 3)
            .collect();
        wanted.sort_unstable();
        wanted.truncate(LOG_READS_MAX);
        self.queue = wanted.into_iter().rev().map(|(.., key)| key).collect();
    }

    fn ask(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        let due = |at: Option<Timestamp>| at.is_some_and(|at| seconds_between(at, now) >= 0.0);
        if !self.asking && due(self.connection.next_try_at) {
            self.asking = true;
            self.connection.next_try_at = None;
            effects.push(Effect::FetchDashboard);
        }
        // The manager's log is asked for only once the manager answers at all.
        let reachable = self.connection.last_ok_at.is_some() && self.connection.failure.is_none();
        if reachable && !self.manager_log_asking && due(self.manager_log_due_at) {
            self.manager_log_asking = true;
            let tail = if self.manager_log_known { MANAGER_LOG_LINES / 10 } else { MANAGER_LOG_LINES };
            effects.push(Effect::FetchManagerLines { tail });
        }
        while self.reading.len() < LOG_READS_AT_ONCE {
            let Some(key) = self.queue.pop() else { break };
            let Some(instance) = self.fleet.instance(key) else { continue };
            let (Some(uuid), Some(lines)) = (&instance.uuid, instance.log.buffered) else { continue };
            let known = self.read_lines.get(&key).copied();
            let tail = match known {
                Some(known) if lines > known => usize::try_from(lines - known + OVERLAP_LINES).unwrap_or(WHOLE_BUFFER_LINES),
                _ => WHOLE_BUFFER_LINES,
            };
            let (uuid, tail) = (uuid.to_string(), tail.min(WHOLE_BUFFER_LINES));
            self.read_lines.insert(key, lines);
            self.reading.insert(key);
            effects.push(Effect::FetchInstanceLines { key, uuid, tail });
        }
    }
}

/// The manager's own first words, behind its date: `2026/12/01 02:44:09 API server listening on 127.0.0.1:1235`.
fn is_start(text: &str) -> bool {
    text.get(20..).is_some_and(|words| words.starts_with("API server listening on"))
}
