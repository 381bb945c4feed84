//! What history keeps of one instance, as far as charts ask: its dated entries, what it is, what it cost.

use crate::{Basis, Entry, MachineId, Outcome, State, Stay, Timestamp, TransitionKind, seconds_between, shift};

/// One instance's life.
#[derive(Debug, Clone, PartialEq)]
pub struct Life {
    /// The manager's id, else vast.ai's number, else the label, else empty.
    pub id: String,
    /// Card model with its count, e.g. `2x RTX 5090`.
    pub gpu: Option<String>,
    /// Image reference.
    pub image: Option<String>,
    /// Place as vast.ai tells it.
    pub region: Option<String>,
    /// Physical machine.
    pub machine: Option<MachineId>,
    /// Price, US dollars per hour, as last told.
    pub dollars_per_h: Option<f64>,
    /// Its own benchmark, proofs per hour.
    pub bench_rate_proofs_per_h: Option<f64>,
    /// Why the manager killed it, in the manager's words.
    pub kill_reason: Option<String>,
    /// When Dwell first saw it.
    pub first_seen_at: Timestamp,
    /// When it was last in an answer.
    pub last_listed_at: Timestamp,
    /// States entered, oldest first.
    pub entries: Vec<Entry>,
    /// Times in which it was not in the answers; the last one can be open.
    pub absences: Vec<(Timestamp, Option<Timestamp>)>,
    /// Times in which it was killed for the manager and billed on.
    pub leaks: Vec<(Timestamp, Option<Timestamp>)>,
    /// When it began anew, and how: [`TransitionKind::Backward`] or [`TransitionKind::CameBack`].
    pub anew: Vec<(Timestamp, TransitionKind)>,
}

/// A time spent in one state.
#[derive(Debug, Clone, PartialEq)]
pub struct Span<'a> {
    /// The state.
    pub state: &'a State,
    /// Entered.
    pub from: Timestamp,
    /// Left, or last seen in it.
    pub until: Timestamp,
}

impl Life {
    /// Its times in each state, oldest first. The last one ends where it was last listed.
    pub fn spans(&self) -> impl Iterator<Item = Span<'_>> {
        self.entries.iter().enumerate().filter_map(|(index, entry)| {
            let until = self.entries.get(index + 1).map_or(self.last_listed_at, |next| next.at);
            (until > entry.at).then_some(Span { state: &entry.state, from: entry.at, until })
        })
    }

    /// Its completed and running stays on the way to `running`, as far as their ends are dated.
    pub fn stays(&self) -> Vec<(State, Timestamp, Stay)> {
        stays_of(&self.entries, self.first_seen_at, self.last_listed_at)
    }

    /// From the beginning of the rental to `running`, as a stay: what it takes until an instance can prove anything.
    /// `None` where its beginning is not dated.
    pub fn until_running(&self) -> Option<(Timestamp, Stay)> {
        let begin = self.entries.first().filter(|entry| entry.is_exact() && entry.state.is_waiting())?;
        if is_made_up(begin, self.entries.get(1).map_or(self.last_listed_at, |next| next.at), self.first_seen_at) {
            return None;
        }
        let stop = self.entries.iter().find(|entry| matches!(entry.state, State::Running | State::Killed));
        let (until, outcome) = match stop {
            Some(entry) if entry.basis == Basis::FirstSight => return None,
            Some(entry) if entry.basis.is_dated() && !entry.is_exact() => (still_before(entry), Outcome::Censored),
            Some(entry) if entry.state == State::Running => (entry.at, Outcome::Advanced),
            Some(entry) => (entry.at, Outcome::Killed),
            None => (self.last_listed_at, Outcome::Censored),
        };
        let until_s = seconds_between(begin.at, until);
        let watched_from_s = seconds_between(begin.at, self.first_seen_at).clamp(0.0, until_s.max(0.0));
        // Who had registered before Dwell looked is listed however it ends; who was destroyed while loading is not.
        let from_the_start = self.entries.get(1).is_some_and(|next| next.at <= self.first_seen_at);
        Some((begin.at, Stay { watched_from_s: if from_the_start { 0.0 } else { watched_from_s }, until_s, outcome }))
    }

    /// Where it was at a time; `None` before and after it was listed.
    pub fn state_at(&self, at: Timestamp) -> Option<&State> {
        let away = self.absences.iter().any(|(from, until)| *from <= at && until.is_none_or(|until| at < until));
        if away || at > self.last_listed_at {
            return None;
        }
        let after = self.entries.partition_point(|entry| entry.at <= at);
        after.checked_sub(1).map(|index| &self.entries[index].state)
    }
}

/// The latest time at which a change that was seen later had not happened yet.
fn still_before(entry: &Entry) -> Timestamp {
    shift(entry.at, -entry.earlier_by_s)
}

/// Nobody saw it load for longer than the manager lets an instance load: vast.ai's start is that of an earlier life, or of one
/// under another manager.
fn is_made_up(entry: &Entry, until: Timestamp, first_seen_at: Timestamp) -> bool {
    entry.basis == Basis::VastStart && seconds_between(entry.at, until.min(first_seen_at)) > LOADING_UNSEEN_MAX_S
}

/// The manager destroys what has not registered 15 min after its rental; it looks once a minute at a list that is a minute old.
const LOADING_UNSEEN_MAX_S: f64 = 20.0 * 60.0;

/// The stays that dated entries tell of: state, when it was entered, and how long it lasted.
pub(crate) fn stays_of(entries: &[Entry], first_seen_at: Timestamp, last_listed_at: Timestamp) -> Vec<(State, Timestamp, Stay)> {
    let mut stays = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        if !entry.state.is_waiting() || !entry.is_exact() {
            continue;
        }
        let (until, outcome) = match entries.get(index + 1) {
            // Seen after a pause: all that is known is that it had not ended before.
            Some(next) if next.basis.is_dated() && !next.is_exact() => (still_before(next), Outcome::Censored),
            // `running` counted from the benchmark says nothing of how long it took until then.
            Some(next) if !next.basis.is_dated() => continue,
            Some(next) if next.state == State::Killed => (next.at, Outcome::Killed),
            Some(next) if next.state.rank() > entry.state.rank() => (next.at, Outcome::Advanced),
            Some(next) => (next.at, Outcome::Censored),
            None => (last_listed_at, Outcome::Censored),
        };
        let until_s = seconds_between(entry.at, until);
        if until_s < 0.0 || is_made_up(entry, until, first_seen_at) {
            continue;
        }
        // Rows that have registered are listed however they end. What is destroyed while `loading` leaves no row: such a
        // stay counts only from when it was seen.
        let seen_in_it = entry.state == State::Loading && first_seen_at < until;
        let watched_from_s = if seen_in_it { seconds_between(entry.at, first_seen_at).max(0.0) } else { 0.0 };
        stays.push((entry.state.clone(), entry.at, Stay { watched_from_s, until_s, outcome }));
    }
    stays
}
