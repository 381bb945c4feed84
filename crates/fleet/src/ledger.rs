//! An instance's life as dated entries, and the transitions between two answers.

use crate::{InstanceUuid, Key, LogLine, Row, State, Timestamp};

/// Where the time of entering a state comes from. Ordered from firmest to weakest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Basis {
    /// The manager's own timestamp.
    Manager,
    /// vast.ai's start of the rental: `loading` begins there.
    VastStart,
    /// Dwell saw the change between two answers; off by at most the time between them.
    Observed,
    /// `running` counted from the benchmark report: the manager keeps no time for `running`, and this is the earliest it can be.
    BenchDone,
    /// Already so when Dwell first looked: at least this long.
    FirstSight,
}

impl Basis {
    /// The stable word for it in JSON and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Manager => "manager",
            Self::VastStart => "vast_start",
            Self::Observed => "observed",
            Self::BenchDone => "bench_done",
            Self::FirstSight => "first_sight",
        }
    }

    /// Reads [`Basis::as_str`] back.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Manager, Self::VastStart, Self::Observed, Self::BenchDone, Self::FirstSight]
            .into_iter()
            .find(|basis| basis.as_str() == text)
    }

    /// Good enough to learn durations from.
    pub fn is_dated(self) -> bool {
        matches!(self, Self::Manager | Self::VastStart | Self::Observed)
    }
}

/// One state entered.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The state.
    pub state: State,
    /// When, on the manager's clock.
    pub at: Timestamp,
    /// Where that time comes from.
    pub basis: Basis,
    /// For [`Basis::Observed`]: by how many seconds at most the true time is earlier.
    pub earlier_by_s: f64,
}

impl Entry {
    /// Its time is known well enough to measure stays by. A change that was seen after a long pause lies somewhere in it.
    pub fn is_exact(&self) -> bool {
        self.basis.is_dated() && (self.basis != Basis::Observed || self.earlier_by_s <= EXACT_WITHIN_S)
    }
}

/// An observed time that is off by no more than this is as good as exact, seconds.
const EXACT_WITHIN_S: f64 = 60.0;

/// What kind of change a transition is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransitionKind {
    /// Told by the manager's timestamps when Dwell first saw the instance, or between two answers.
    Told,
    /// First answer that lists it.
    FirstSeen,
    /// One step on.
    Forward,
    /// States skipped that the manager has no timestamp of.
    Jumped,
    /// To an earlier state.
    Backward,
    /// To `killed`.
    Killed,
    /// Out of `killed`.
    CameBack,
    /// From or to a state this version does not know.
    Other,
    /// Not in the answers any more.
    Vanished,
    /// In the answers again.
    Returned,
}

impl TransitionKind {
    /// The stable word for it in JSON and in the database.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Told => "told",
            Self::FirstSeen => "first_seen",
            Self::Forward => "forward",
            Self::Jumped => "jumped",
            Self::Backward => "backward",
            Self::Killed => "killed",
            Self::CameBack => "came_back",
            Self::Other => "other",
            Self::Vanished => "vanished",
            Self::Returned => "returned",
        }
    }
}

/// A change of state, dated.
#[derive(Debug, Clone, PartialEq)]
pub struct Transition {
    /// Which instance.
    pub key: Key,
    /// The state before; `None` at the beginning of what is known.
    pub from: Option<State>,
    /// The state entered, with its time and where the time comes from.
    pub entry: Entry,
    /// What kind of change.
    pub kind: TransitionKind,
    /// The answer that showed it, on the manager's clock.
    pub seen_at: Timestamp,
}

/// An entry that turned out to be dated elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct Redated {
    /// Which instance.
    pub key: Key,
    /// The time it had.
    pub was: Timestamp,
    /// The entry as it is dated now.
    pub entry: Entry,
}

/// The dated entries of one instance, oldest first. Bounded: the oldest beyond [`Ledger::ENTRIES_MAX`] are forgotten here
/// (history keeps them).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ledger(Vec<Entry>);

impl Ledger {
    /// Entries kept in memory for one instance.
    pub const ENTRIES_MAX: usize = 64;

    /// Adds an entry in time order.
    pub fn push(&mut self, entry: Entry) {
        let place = self.0.partition_point(|known| known.at <= entry.at);
        self.0.insert(place, entry);
        if self.0.len() > Self::ENTRIES_MAX {
            self.0.remove(0);
        }
    }

    /// Adds an entry that is not known yet.
    pub(crate) fn add(&mut self, entry: Entry) {
        if !self.has(&entry.state, entry.at) {
            self.push(entry);
        }
    }

    /// Dates an entry anew.
    pub(crate) fn redate(&mut self, was: Timestamp, entry: Entry) {
        self.0.retain(|known| known.at != was || known.state != entry.state);
        self.add(entry);
    }

    /// The entries, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.0
    }

    /// Whether this state was entered at that time already.
    pub fn has(&self, state: &State, at: Timestamp) -> bool {
        self.0.iter().any(|entry| entry.at == at && entry.state == *state)
    }
}

/// Every state that a row's own timestamps date, oldest first, the current one excepted. Where the rental had a life before this
/// one, its start says nothing of this one's loading.
pub(crate) fn told_by_stamps(row: &Row, had_a_life: bool) -> Vec<Entry> {
    let mut told: Vec<Entry> = State::KNOWN
        .iter()
        .filter(|state| **state != row.state)
        .filter_map(|state| Some(Entry { state: state.clone(), at: row.stamp(state)?, basis: Basis::Manager, earlier_by_s: 0.0 }))
        .collect();
    // The rental starts before the registration; a container restarted later has a start that says nothing about loading.
    if let (Some(start), Some(registered)) = (row.vast.start_date, row.registered_at)
        && start <= registered
        && !had_a_life
    {
        told.push(Entry { state: State::Loading, at: start, basis: Basis::VastStart, earlier_by_s: 0.0 });
    }
    told.sort_by_key(|entry| entry.at);
    told
}

/// When the manager was told that an instance runs, and whose uuid its log names: `2026/12/01 02:41:35 [running] uuid=…`. Only the
/// manager's own words count, at the beginning of a line of its log.
pub(crate) fn told_running(line: &LogLine) -> Option<(InstanceUuid, Timestamp)> {
    let uuid = line.text.get(DATED_CHARACTERS..)?.strip_prefix("[running] uuid=")?;
    let is_one_word = !uuid.is_empty() && !uuid.contains(char::is_whitespace);
    InstanceUuid::new(uuid).filter(|_| is_one_word).map(|uuid| (uuid, line.at))
}

/// Characters of the date with which a line of the manager's log begins.
const DATED_CHARACTERS: usize = "2026/12/01 02:41:35 ".len();

/// Names the change from one state to another, given the timestamps on the row.
pub(crate) fn classify(from: &State, row: &Row) -> TransitionKind {
    match (from, &row.state) {
        (_, State::Killed) => TransitionKind::Killed,
        (State::Killed, _) => TransitionKind::CameBack,
        (from, to) => match (from.rank(), to.rank()) {
            (Some(before), Some(after)) if after < before => TransitionKind::Backward,
            (Some(before), Some(after)) => {
                let skipped_undated = State::KNOWN
                    .iter()
                    .filter(|state| state.rank().is_some_and(|rank| before < rank && rank < after))
                    .any(|state| row.stamp(state).is_none());
                if skipped_undated { TransitionKind::Jumped } else { TransitionKind::Forward }
            }
            _ => TransitionKind::Other,
        },
    }
}
