//! Which times from outside can be true. A clock may be wrong; one time beyond all reason must not outlast the answer that brought it.

use std::fmt;

use crate::{Fleet, LogLine, Snapshot, Timestamp, seconds_between, shift};

/// 2020-01-01: no instance and no manager is older. What is dated before comes from a clock that was never set, seconds.
const EARLIEST_S: i64 = 1_577_836_800;
/// How much later than this machine's clock another one may be: all time zones span 26 h, and a clock that was set to local time in place
/// of UTC is the usual wrong one, seconds.
pub const CLOCK_WRONG_MAX_S: f64 = 26.0 * 3600.0;
/// How much later than the manager's clock one of its own times may be: it may have been set back since, seconds.
const OWN_CLOCK_MAX_S: f64 = 3600.0;
/// Times that are named at most.
const NAMED_MAX: usize = 3;

/// A time that cannot be true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Implausible {
    /// Whose, or of what.
    pub what: String,
    /// The time.
    pub at: Timestamp,
}

impl fmt::Display for Implausible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.at)
    }
}

fn is_set(at: Timestamp) -> bool {
    at.as_second() >= EARLIEST_S
}

/// The latest time that can be true where this machine's clock says `now`; `None` where that clock was never set.
pub fn latest_plausible(now: Timestamp) -> Option<Timestamp> {
    is_set(now).then(|| shift(now, CLOCK_WRONG_MAX_S))
}

/// Whether a time can be true where this machine's clock says `now`.
pub fn is_plausible(at: Timestamp, now: Timestamp) -> bool {
    is_set(at) && latest_plausible(now).is_none_or(|latest| at <= latest)
}

impl Fleet {
    /// Takes the times that cannot be true out of an answer: they are unknown. In place of the manager's own stands what its clock should
    /// say by its earlier answers. Gives what was taken out, the first few of many.
    pub fn bounded(&self, mut snapshot: Snapshot) -> (Snapshot, Vec<Implausible>) {
        let mut found = Vec::new();
        if let Some(at) = snapshot.manager_time.filter(|at| !self.is_managers_time(*at, snapshot.received_at)) {
            found.push(Implausible { what: "the manager's time".to_owned(), at });
            snapshot.manager_time = self.as_of().map(|_| self.manager_time_at(snapshot.received_at));
        }
        let as_of = snapshot.as_of();
        // Simulated worlds of tests begin at the epoch: then nothing is known of what can be.
        if !is_set(as_of) {
            return (snapshot, found);
        }
        let (own, others) = (shift(as_of, OWN_CLOCK_MAX_S), shift(as_of, CLOCK_WRONG_MAX_S));
        for row in &mut snapshot.rows {
            let id = row.uuid.as_ref().map_or_else(|| "a rental".to_owned(), |uuid| uuid.as_str().chars().take(8).collect());
            for (what, at, latest) in [
                ("registered", &mut row.registered_at, own),
                ("params_done", &mut row.param_done_at, own),
                ("bench_done", &mut row.bench_done_at, own),
                ("killed", &mut row.killed_at, own),
                ("start of rental", &mut row.vast.start_date, others),
            ] {
                if let Some(told) = at.take_if(|told| !is_set(*told) || *told > latest)
                    && found.len() < NAMED_MAX
                {
                    found.push(Implausible { what: format!("{id}, {what}"), at: told });
                }
            }
        }
        for host in &mut snapshot.bad_hosts {
            host.added_at = host.added_at.filter(|at| is_set(*at) && *at <= own);
        }
        (snapshot, found)
    }

    /// Near enough to this machine's clock, or going on from its own earlier answers: then it is this machine's clock that jumped.
    fn is_managers_time(&self, at: Timestamp, received_at: Timestamp) -> bool {
        let goes_on = self.as_of().is_some_and(|as_of| {
            let passed_s = seconds_between(as_of, self.manager_time_at(received_at)).max(0.0);
            seconds_between(as_of, at).abs() <= passed_s + OWN_CLOCK_MAX_S
        });
        goes_on || is_plausible(at, received_at) || !is_set(received_at)
    }

    /// Dates lines that cannot be of when they say like the line before them, else the one after, else 2020. `now` is this machine's clock.
    pub fn bounded_lines(&self, mut lines: Vec<LogLine>, now: Timestamp) -> Vec<LogLine> {
        let latest = match self.as_of() {
            Some(_) => shift(self.manager_time_at(now), OWN_CLOCK_MAX_S),
            None => match latest_plausible(now) {
                Some(latest) => latest,
                None => return lines,
            },
        };
        if !is_set(latest) || lines.iter().all(|line| is_set(line.at) && line.at <= latest) {
            return lines;
        }
        let can_be = |at: Timestamp| is_set(at) && at <= latest;
        // The same date in every reading, so that readings join.
        let never = Timestamp::from_second(EARLIEST_S).unwrap_or(now);
        let mut last = lines.iter().map(|line| line.at).find(|at| can_be(*at)).unwrap_or(never);
        for line in &mut lines {
            if can_be(line.at) {
                last = line.at;
            } else {
                line.at = last;
            }
        }
        lines
    }
}
