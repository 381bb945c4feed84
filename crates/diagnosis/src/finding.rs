//! Contradictions: what channels say of an instance that cannot both be so, and what is about to be lost. Findings of their
//! own, whatever the cause.

use dwell_fleet::{State, Timestamp, countdown, seconds_between};

use crate::catalogue::Phase;
use crate::engine::Diagnosis;
use crate::fact::{self, Fact};
use crate::observe::Case;

/// A timer of the manager is told from so long before it runs out, seconds.
const TIMER_NEAR_S: f64 = 20.0 * 60.0;
/// Lines so long after a kill are not those that were under way, seconds.
const AFTER_KILL_S: f64 = 120.0;

/// Two lanes that are never mixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// It costs money or destroys evidence now.
    Stop,
    /// It is to be found out.
    FindOut,
}

impl Lane {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::FindOut => "find-out",
        }
    }
}

/// A contradiction.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Stable kebab-case id.
    pub id: &'static str,
    /// What does not fit together, in a sentence.
    pub text: String,
    /// The lane.
    pub lane: Lane,
    /// What it costs, US dollars per hour.
    pub dollars_per_h: Option<f64>,
    /// Since when, or when it will be.
    pub at: Option<Timestamp>,
    /// The field or line that shows it. Hostile text.
    pub reference: String,
}

/// The contradictions of an instance, most pressing first.
pub fn findings(case: Case<'_>, diagnosis: &Diagnosis) -> Vec<Finding> {
    let instance = case.instance;
    let row = &instance.row;
    let now = case.around.as_of.unwrap_or(case.around.now);
    let seen = |fact: Fact| diagnosis.seen.observations.iter().find(|it| it.fact == fact && it.holds);
    let dollars = row.vast.dollars_per_h.or(instance.vast.dollars_per_h);
    let mut found = Vec::new();
    let mut add =
        |id: &'static str, lane: Lane, dollars_per_h: Option<f64>, at: Option<Timestamp>, text: String, reference: &str| {
            found.push(Finding { id, text, lane, dollars_per_h, at, reference: reference.to_owned() });
        };
    let killed = instance.state == State::Killed;
    if let Some(it) = seen(fact::KILLED_STILL_LISTED).filter(|_| killed) {
        let price = dollars.map_or_else(|| "at a price not told".to_owned(), |dollars| format!("${dollars:.2} an hour"));
        let text = format!("Killed for the manager, and vast.ai still has it: {price} goes on being charged.");
        add("killed-but-billed", Lane::Stop, dollars, row.killed_at, text, &it.reference);
    }
    if let (true, Some(killed_at), Some((source, newest))) =
        (killed, row.killed_at, instance.log.newest.iter().max_by_key(|(_, at)| **at))
        && seconds_between(killed_at, *newest) > AFTER_KILL_S
    {
        let text = format!("Killed for the manager, and it still writes {source} lines: it runs.");
        add("killed-but-reporting", Lane::Stop, dollars, Some(*newest), text, &format!("{source} at {newest}"));
    }
    if let Some(timer) = countdown(instance) {
        let left_s = seconds_between(now, timer.at);
        if left_s < TIMER_NEAR_S {
            let when = if left_s > 60.0 { format!("in {:.0} min", left_s / 60.0) } else { "now".to_owned() };
            let text = format!("{} {when}, and what the machine knows goes with it. Look first.", capital(timer.what));
            add("timer-near", Lane::Stop, None, Some(timer.at), text, timer.what);
        }
    }
    if let Some(it) = seen(fact::KILLED_AND_BACK) {
        let text =
            format!("The manager killed it and calls it {} since: a killed instance that reports comes back.", instance.state);
        add("killed-and-back", Lane::FindOut, None, row.killed_at, text, &it.reference);
    }
    if let Some(it) = seen(fact::NO_BENCHMARK) {
        let text = "It runs and never reported a benchmark: its rate is not known.".to_owned();
        add("running-without-benchmark", Lane::FindOut, None, None, text, &it.reference);
    }
    if let Some(it) = seen(fact::RECORD_ABSENT).filter(|_| !killed) {
        let text = format!("The manager calls it {} and vast.ai has no such rental.", instance.state);
        add("missing-at-vast", Lane::FindOut, None, Some(it.at), text, &it.reference);
    }
    let stopped = [fact::STOPPED_AS_MEANT, fact::STOPPED_AGAINST_WILL, fact::OFFLINE].into_iter().find_map(seen);
    if let Some(it) = stopped.filter(|_| !killed && diagnosis.seen.phase != Some(Phase::Loading)) {
        let text = format!("The manager calls it {} and {}.", instance.state, it.fact.kind().holds);
        add("stopped-but-called-alive", Lane::FindOut, None, Some(it.at), text, &it.reference);
    }
    let matched_before = instance.vast_id.is_some() && row.vast_id.is_none() && !killed;
    if matched_before
        && case.around.vast_cache_age_s.is_some_and(|age_s| age_s < 180.0)
        && diagnosis.seen.phase != Some(Phase::Vanished)
    {
        let text = "Its row has lost its match in the manager's copy of vast.ai's list.".to_owned();
        add("lost-match", Lane::FindOut, None, instance.vast_told_at, text, "vast_id: 0");
    }
    if let Some(it) = seen(fact::DONE_UNHEARD).filter(|_| diagnosis.seen.phase == Some(Phase::ParamsDone)) {
        let text = "Its log has the benchmark's summary and the manager still waits for the report.".to_owned();
        add("done-but-unheard", Lane::FindOut, None, Some(it.at), text, &it.reference);
    }
    if let Some(it) = seen(fact::STARTED_OVER) {
        let text =
            format!("Its container started again after it had reached {}: it has the whole way before it.", instance.state);
        add("started-over", Lane::FindOut, None, Some(it.at), text, &it.reference);
    }
    if let Some(it) = seen(fact::REGISTERED_UNHEARD) {
        let text = "Its log says that it registered and the manager calls it loading.".to_owned();
        add("registered-unheard", Lane::FindOut, None, Some(it.at), text, &it.reference);
    }
    if let Some(it) = seen(fact::TWIN_ROW) {
        let text = "The manager has two rows for this one rental: a kill of one hits both.".to_owned();
        add("two-rows", Lane::FindOut, None, None, text, &it.reference);
    }
    let entries = instance.ledger.entries();
    // A state that the manager has dated was passed, whether it was seen or not.
    let dated = |rank: u8| match rank {
        1 => row.registered_at.is_some(),
        2 => row.param_done_at.is_some(),
        3 => row.bench_done_at.is_some(),
        _ => true,
    };
    let jumped = entries.windows(2).rev().find_map(|pair| {
        let [before, after] = pair else { return None };
        let (from, to) = (before.state.rank()?, after.state.rank()?);
        (from + 1..to).any(|skipped| !dated(skipped)).then_some((before, after))
    });
    if let Some((before, after)) = jumped.filter(|_| seen(fact::NO_BENCHMARK).is_none()) {
        let text = format!("It went from {} to {} and skipped what lies between.", before.state, after.state);
        add("states-jumped", Lane::FindOut, None, Some(after.at), text, &format!("{} at {}", after.state, after.at));
    }
    found.sort_by_key(|it| it.lane);
    found
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
