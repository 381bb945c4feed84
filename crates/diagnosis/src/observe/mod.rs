//! From what channels answered to observations: typed facts with their channel, their time and their reference.
//!
//! A fact is observed only where the channel could have shown it. What a blind, unreachable or unasked channel does not say
//! is no observation at all, and so moves nothing.

mod dashboard;
mod host;
mod log;
mod manager;
mod prover;
mod vast;

use std::borrow::Cow;

use dwell_fleet::look::Looks;
use dwell_fleet::{Instance, Presence, State, Timestamp, seconds_between};

use crate::around::Around;
use crate::catalogue::Phase;
use crate::channel::{Channel, Health};
use crate::fact::Fact;
use crate::signals::Signals;

const MINUTE: f64 = 60.0;

/// A reading of the dashboard is evidence for so long, seconds.
const FRESH_DASHBOARD_S: f64 = 5.0 * MINUTE;
/// vast.ai's record.
const FRESH_VAST_S: f64 = 10.0 * MINUTE;
/// A look at the machine, and the prover's counters.
const FRESH_HOST_S: f64 = 15.0 * MINUTE;
/// Words in a log.
const FRESH_WORDS_S: f64 = 60.0 * MINUTE;

/// Proofs that take this many times as long as others' are slow.
const SLOW_TIMES: f64 = 1.3;
/// Proofs that take this many times as long as its own first ones: it slows down.
const SLOWING_TIMES: f64 = 1.12;

/// A typed fact, read on one channel at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// What.
    pub fact: Fact,
    /// Whether it holds.
    pub holds: bool,
    /// Where it was read.
    pub channel: Channel,
    /// What it speaks of: that time, on the manager's clock.
    pub at: Timestamp,
    /// It is evidence for so long after that, seconds.
    pub fresh_for_s: f64,
    /// The raw line or field, cut to 400 characters. Hostile text.
    pub reference: Cow<'static, str>,
}

/// Whether a channel could have spoken, and why that is said.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelState {
    /// Which.
    pub channel: Channel,
    /// Its health.
    pub health: Health,
    /// Why, as a sentence part.
    pub why: String,
    /// When it was last read.
    pub at: Option<Timestamp>,
}

/// An instance with all that was seen of it.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The instance, as the manager's answers tell it.
    pub instance: &'a Instance,
    /// What its log has said.
    pub signals: &'a Signals,
    /// What was asked on purpose.
    pub looks: &'a Looks,
    /// The fleet around it.
    pub around: &'a Around,
}

/// What was seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// The phase it is in; `None` for a state that the manager has made up since.
    pub phase: Option<Phase>,
    /// The phase that it was ended in, where it was.
    pub stay: Option<Phase>,
    /// Observations, one a fact, in the order of the table.
    pub observations: Vec<Observation>,
    /// The channels.
    pub channels: Vec<ChannelState>,
}

struct Gather<'a> {
    case: Case<'a>,
    /// The phase that what is seen speaks of: for one that was ended, the one that it was ended in.
    phase: Phase,
    now: Timestamp,
    /// When it was ended, where it was.
    ended_at: Option<Timestamp>,
    /// Since when what is seen belongs to the present state, or to the one that it was ended in.
    since: Timestamp,
    found: Vec<Option<Observation>>,
    channels: Vec<ChannelState>,
}

/// Everything that was seen of an instance.
pub fn observe(case: Case<'_>) -> Seen {
    let instance = case.instance;
    let listed = instance.presence == Presence::Listed;
    let Some(phase) = Phase::of(&instance.state, listed) else {
        return Seen { phase: None, stay: None, observations: Vec::new(), channels: Vec::new() };
    };
    let ended_at = (phase == Phase::Killed).then(|| instance.row.killed_at.unwrap_or(instance.entered.at));
    // The stay that it was ended in. A benchmark that is reported and fails ends the instance in the same second: then it was
    // ended in its benchmark.
    let before = instance.ledger.entries().iter().rev().filter(|entry| entry.state != State::Killed);
    let stay = ended_at.and_then(|ended| {
        let mut before = before.filter(|entry| entry.state != State::BenchDone || seconds_between(entry.at, ended) > MINUTE);
        before.next()
    });
    let since = match (ended_at, stay) {
        (Some(_), Some(entry)) => entry.at,
        (Some(_), None) => instance.first_seen_at,
        (None, _) => instance.entered.at,
    };
    let stay = stay.and_then(|entry| Phase::of(&entry.state, true)).unwrap_or(phase);
    let mut gather = Gather {
        case,
        phase: stay,
        now: case.around.now,
        ended_at,
        since,
        found: vec![None; Fact::every().count()],
        channels: Vec::new(),
    };
    gather.dashboard();
    gather.instance_log();
    gather.manager_log();
    gather.vast();
    gather.container();
    gather.host();
    gather.prover();
    Seen {
        phase: Some(phase),
        stay: ended_at.map(|_| stay),
        observations: gather.found.into_iter().flatten().collect(),
        channels: gather.channels,
    }
}

/// What a source said, in words that a person reads.
fn shown<T: std::fmt::Display>(value: Option<T>) -> String {
    value.map_or_else(|| "unknown".to_owned(), |value| value.to_string())
}

fn cut(text: &str) -> String {
    text.chars().take(400).collect()
}

impl Gather<'_> {
    pub(super) fn works_on_card(&self) -> bool {
        matches!(self.phase, Phase::ParamsDone | Phase::BenchDone | Phase::Running)
    }

    /// Age of something read at `at`, seconds. What was seen of the stay that it was ended in does not age: nothing has
    /// happened to it since.
    pub(super) fn age_s(&self, at: Timestamp) -> f64 {
        match self.ended_at {
            Some(ended) if at <= ended && at >= self.since => 0.0,
            Some(ended) if at <= ended => seconds_between(at, ended),
            _ => seconds_between(at, self.now),
        }
    }

    /// A look that is too old to count, or of a machine that had been given back, is none. False then.
    pub(super) fn counts(&mut self, channel: Channel, at: Timestamp, fresh_for_s: f64) -> bool {
        let age_s = self.age_s(at);
        if age_s > fresh_for_s {
            self.channel(channel, Health::NotAsked, format!("last asked {:.0} min ago: too long", age_s / MINUTE), Some(at));
            return false;
        }
        let given_back = self.ended_at.is_some_and(|ended| at > ended) && channel != Channel::VastRecord;
        if given_back {
            self.channel(channel, Health::Blind, "looked at after its end: it says nothing of what came before", Some(at));
        }
        !given_back
    }

    pub(super) fn note(
        &mut self,
        fact: Fact,
        holds: bool,
        channel: Channel,
        at: Timestamp,
        fresh_for_s: f64,
        reference: impl Into<Cow<'static, str>>,
    ) {
        if self.age_s(at) > fresh_for_s {
            return;
        }
        let Some(place) = self.found.get_mut(fact.index()) else { return };
        // Words that were found anywhere are found; of anything else the newest reading counts.
        let words = fact.kind().id.starts_with("said:");
        let better = place.as_ref().is_none_or(|known| {
            if words && known.holds != holds {
                return holds;
            }
            known.at <= at
        });
        if better {
            *place = Some(Observation { fact, holds, channel, at, fresh_for_s, reference: reference.into() });
        }
    }

    pub(super) fn channel(&mut self, channel: Channel, health: Health, why: impl Into<String>, at: Option<Timestamp>) {
        self.channels.push(ChannelState { channel, health, why: why.into(), at });
    }
}
