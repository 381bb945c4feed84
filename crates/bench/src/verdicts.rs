//! What is thought of a card after a benchmark, in sentences.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::device::{Fault, Health, Reading, reasons};
use crate::run::Record;
use crate::work::Test;
use crate::xid;

/// What the soak's worst window may be of its best.
const STEADY: f64 = 0.97;
const UNSTEADY: f64 = 0.90;
/// Readings with software thermal slowdown that are still well, as a share.
const WARM_SHARE: f64 = 0.05;
/// A card that reaches less than this share of what its kind does at its clock is slower than its kind.
const SLOW: f64 = 0.75;
/// A power limit below this share of what the card was made for was lowered.
const LOWERED: f64 = 0.98;

/// How grave a verdict is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gravity {
    /// Good to know.
    Note,
    /// It costs speed.
    Warning,
    /// Do not prove with it.
    Bad,
}

/// What is thought of a card.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// A stable word.
    pub code: &'static str,
    /// How grave.
    pub gravity: Gravity,
    /// In a sentence.
    pub text: String,
}

/// What is thought of a card, gravest first.
pub(crate) fn of(record: &Record) -> Vec<Verdict> {
    let mut all = Vec::new();
    let mut say = |code, gravity, text: String| all.push(Verdict { code, gravity, text });
    for (test, fault) in &record.without {
        match fault {
            Fault::Wrong => say(
                "computes-wrongly",
                Gravity::Bad,
                format!(
                    "{}: a result was wrong. This card computes wrongly: its proofs would be refused, however fast they come.",
                    test.title()
                ),
            ),
            Fault::Lost(words) => {
                say("lost", Gravity::Bad, format!("{}: the card does not answer any more: {words}.", test.title()));
            }
            Fault::NoRoom => say("no-room", Gravity::Note, format!("{}: there was no room for it.", test.title())),
            Fault::Stopped => {}
        }
    }
    for number in record.xids.iter().collect::<BTreeSet<_>>() {
        let meaning = xid::meaning(*number);
        say(
            "xid",
            if meaning.is_some() { Gravity::Bad } else { Gravity::Warning },
            match meaning {
                Some(meaning) => format!("The driver reported Xid {number} meanwhile: {meaning}."),
                None => format!("The driver reported Xid {number} meanwhile: look it up in NVIDIA's catalogue of Xid errors."),
            },
        );
    }
    let (before, after) = record.health;
    let grown = |count: fn(Health) -> Option<u64>| Some(count(after)?.saturating_sub(count(before)?)).filter(|more| *more > 0);
    if let Some(count) = after.uncorrected.filter(|count| *count > 0) {
        let meanwhile = grown(|health| health.uncorrected).map_or_else(String::new, |more| format!(", {more} of them meanwhile"));
        say("memory-errors", Gravity::Bad, format!("Its memory had {count} errors that were not corrected{meanwhile}."));
    } else if let Some(more) = grown(|health| health.corrected) {
        say("memory-errors", Gravity::Warning, format!("{more} memory errors were corrected meanwhile: watch them."));
    }
    if after.pages_pending == Some(true) {
        say("pages-pending", Gravity::Bad, "Pages of its memory wait for a restart to be taken out of use.".to_owned());
    }
    if let Some(more) = grown(|health| health.link_replays.map(u64::from)) {
        say("link-replays", Gravity::Warning, format!("Its link sent {more} packets again: a bad riser, slot or cable."));
    }
    if after.sliced == Some(true) {
        say("sliced", Gravity::Warning, "It is cut into slices (MIG): these are the figures of one slice.".to_owned());
    }
    let told: Vec<&Reading> = record.readings.iter().filter(|reading| reading.reasons.is_some()).collect();
    let with = |bits: u64| told.iter().filter(|reading| reading.reasons.is_some_and(|has| has & bits != 0)).count();
    let share = |count: usize| count as f64 / told.len().max(1) as f64;
    if with(reasons::HARDWARE | reasons::HOT | reasons::BRAKE) > 1 {
        let count = with(reasons::HARDWARE | reasons::HOT | reasons::BRAKE);
        say(
            "hot",
            Gravity::Bad,
            format!("In {count} of {} looks the hardware held the clocks back: cooling or power supply.", told.len()),
        );
    } else if share(with(reasons::WARM)) > WARM_SHARE {
        say("warm", Gravity::Warning, format!("In {} of {} looks heat held the clocks back.", with(reasons::WARM), told.len()));
    }
    if with(reasons::POWER_CAP) > 0 {
        let limit_w = record.readings.iter().find_map(|reading| reading.power_limit_w);
        let at = limit_w.map_or_else(String::new, |watts| format!(" of {watts:.0} W"));
        say("power-limited", Gravity::Note, format!("It ran at its power limit{at}, as cards do under full load."));
    }
    let limit_w = record.readings.iter().find_map(|reading| reading.power_limit_w);
    if let (Some(limit), Some(usual)) = (limit_w, after.power_default_w)
        && limit < usual * LOWERED
    {
        say("lowered", Gravity::Note, format!("Its power limit was lowered to {limit:.0} W of {usual:.0} W."));
    }
    if let Some((now, most)) = record.readings.iter().filter_map(|reading| reading.link_width).max_by_key(|(now, _)| *now)
        && now < most
    {
        say(
            "narrow-link",
            Gravity::Warning,
            format!("Its link has {now} lanes of {most}: about six proofs an hour are lost for each GB/s."),
        );
    }
    if let Some(others) = record.readings.iter().filter_map(|reading| reading.others).max().filter(|others| *others > 0) {
        say(
            "shared",
            Gravity::Warning,
            format!("{others} other processes computed on it meanwhile: the figures are theirs as well."),
        );
    }
    let worst = record.soak.iter().map(|(_, rate)| *rate).fold(f64::INFINITY, f64::min);
    let best = record.soak.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    if record.soak.len() > 1 && worst / best < STEADY {
        let gravity = if worst / best < UNSTEADY { Gravity::Bad } else { Gravity::Warning };
        say("unsteady", gravity, format!("Its slowest ten seconds reached {:.0} % of its fastest.", worst / best * 100.0));
    }
    let chains = record.measured.iter().filter(|it| matches!(it.test, Test::ScalarProducts(_) | Test::BaseProducts(_)));
    if let Some(least) = chains.filter_map(|it| it.of_most).reduce(f64::min).filter(|least| *least < SLOW) {
        say(
            "slow",
            Gravity::Warning,
            format!("At its clock it reaches {:.0} % of what its kind can: less than usual.", least * 100.0),
        );
    }
    all.sort_by_key(|verdict| std::cmp::Reverse(verdict.gravity));
    all.dedup();
    all
}
