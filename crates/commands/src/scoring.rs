//! Investigations within a drill: what was said before and after the proposed looks were made, and how right it was.
//!
//! The diagnosis sees channels only. Truth is read here, after the fact, for the comparison.

use std::collections::BTreeMap;

use dwell_diagnosis::{Check, Diagnosis, Effect, NOT_STUCK_YET, Standing, cause_of};
use serde::Serialize;

use crate::drill::RankedCause;

/// Causes that are written out.
const CAUSES_SHOWN: usize = 8;
/// Looks of one investigation at most.
pub(crate) const LOOKS_MAX: usize = 8;

/// What was thought of an instance at a time, before and after looking.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Investigation {
    /// Seconds after the first screen.
    pub at_s: f64,
    /// Why: the flag that was raised, or `end`.
    pub occasion: String,
    /// Faults that were there then; `not-stuck-yet` where none was.
    pub truth: Vec<String>,
    /// Best causes from what is watched anyway.
    pub before: Vec<RankedCause>,
    /// Looks that were made, in order: always the one proposed first.
    pub checks_asked: Vec<String>,
    /// Best causes after them.
    pub causes: Vec<RankedCause>,
    /// Of the first three causes and the true one: what each fact added, in nats.
    pub because: BTreeMap<String, Vec<String>>,
    /// Facts that were seen to hold.
    pub seen: Vec<String>,
    /// Causes that nothing told apart from the best one.
    pub group: Vec<String>,
    /// Two at once, where they explain much more.
    pub pair: Option<[String; 2]>,
    /// What would still be proposed.
    pub next_checks: Vec<String>,
    /// Place of the best true cause, from 1; `None` where it is not among those written out.
    pub place: Option<usize>,
    /// A true cause is in the first group.
    pub in_group: bool,
    /// A true cause was in the first group before looking.
    pub in_group_before: bool,
    /// Causes that nothing told apart from the best one before looking.
    pub group_before: usize,
    /// What was called confirmed, after the looks or before them.
    pub confirmed: Option<String>,
    /// Something confirmed was not true.
    pub confirmed_wrong: bool,
    /// Brier score over all causes: 0 is perfect, 2 the worst.
    pub brier: f64,
    /// Probability given to the first cause.
    pub said: f64,
}

/// Sums over investigations.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct DiagnosisTotals {
    /// Investigations of instances that something is wrong with.
    pub faulty: usize,
    /// Of those: a true cause is first.
    pub first: usize,
    /// Of those: what was looked at told one cause apart from all others.
    pub told_apart: usize,
    /// Of the told apart: it is a true one.
    pub told_apart_right: usize,
    /// Of those: a true cause is in the first group, which nothing asked could divide.
    pub in_group: usize,
    /// Of those: a true cause is among the first three.
    pub in_three: usize,
    /// Of those: a true cause was in the first group before any look.
    pub in_group_before: usize,
    /// Of those: the two causes named together are both true.
    pub pairs_right: usize,
    /// Investigations of instances that nothing is wrong with.
    pub sound: usize,
    /// Of those: "nothing is wrong" is in the first group.
    pub sound_right: usize,
    /// Causes called confirmed.
    pub confirmed: usize,
    /// Of those: not true.
    pub confirmed_wrong: usize,
    /// Looks made.
    pub looks: usize,
    /// Mean Brier score.
    pub brier: Option<f64>,
    /// By tenths of the probability given to the first cause: how often, and how often it was true.
    pub calibration: BTreeMap<String, (usize, usize)>,
    /// Wrong investigations by true cause.
    pub missed: BTreeMap<String, usize>,
    /// By true cause: with the manager alone, and with every channel.
    pub by_cause: BTreeMap<String, CauseScore>,
    #[serde(skip)]
    brier_sum: f64,
}

/// How often a true cause was found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CauseScore {
    /// Investigations.
    pub count: usize,
    /// By what the manager tells alone.
    pub manager: Found,
    /// With vast.ai, the machine and the prover asked as well, where that was proposed.
    pub all: Found,
}

/// How far an investigation got.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Found {
    /// A true cause was in the first group.
    pub in_group: usize,
    /// It was alone there.
    pub alone: usize,
    /// Causes in the first group, summed: divided by the count, how many are left to choose from.
    pub candidates: usize,
}

impl CauseScore {
    /// Adds the sums of another.
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.manager.add(other.manager);
        self.all.add(other.all);
    }
}

impl Found {
    fn count(&mut self, in_group: bool, group: usize) {
        self.in_group += usize::from(in_group);
        self.alone += usize::from(in_group && group == 1);
        self.candidates += group;
    }

    fn add(&mut self, other: Self) {
        self.in_group += other.in_group;
        self.alone += other.alone;
        self.candidates += other.candidates;
    }
}

pub(crate) fn ranked(diagnosis: &Diagnosis) -> Vec<RankedCause> {
    diagnosis
        .hypotheses
        .iter()
        .take(CAUSES_SHOWN)
        .map(|it| RankedCause {
            id: it.id.to_owned(),
            probability: (it.probability * 1e4).round() / 1e4,
            standing: it.standing.as_str().to_owned(),
        })
        .collect()
}

fn names(group: &[&dwell_diagnosis::Hypothesis]) -> Vec<String> {
    group.iter().map(|it| it.id.to_owned()).collect()
}

fn because(after: &Diagnosis, truth: &[String]) -> BTreeMap<String, Vec<String>> {
    let first = after.hypotheses.iter().take(3).map(|it| it.id.to_owned());
    let told = |id: String| {
        let why = after.contributions(&id).into_iter().take(12).filter_map(|contribution| {
            let seen = after.observation(contribution.observation)?;
            let not = if seen.holds { "" } else { "not " };
            Some(format!("{not}{} {:+.2}", seen.fact.kind().id, contribution.log_odds))
        });
        (id.clone(), why.collect())
    };
    first.chain(truth.iter().cloned()).map(told).collect()
}

/// Compares what was thought with the truth.
pub(crate) fn investigation(
    at_s: f64,
    occasion: String,
    truth: Vec<String>,
    before: &Diagnosis,
    after: &Diagnosis,
    asked: &[Check],
) -> Investigation {
    // What does no harm and has shown nothing of its own by then is rightly told as nothing wrong.
    let holds = |fact| after.seen.observations.iter().any(|it| it.fact == fact && it.holds);
    let unseen = |id: &String| cause_of(id).is_some_and(|cause| cause.effect == Effect::Harmless && !cause.shows_itself(holds));
    let mut truth = truth;
    if truth.iter().all(unseen) && !truth.iter().any(|id| id == NOT_STUCK_YET) {
        truth.push(NOT_STUCK_YET.to_owned());
    }
    let is_true = |id: &str| truth.iter().any(|known| known == id);
    let place = after.hypotheses.iter().take(CAUSES_SHOWN).position(|it| is_true(it.id)).map(|place| place + 1);
    // What was called confirmed at first counts as much as what is after the looks.
    let said = after.hypotheses.iter().chain(&before.hypotheses);
    let confirmed: Vec<&str> = said.filter(|it| it.standing == Standing::Confirmed).map(|it| it.id).collect();
    // With several true causes, the most probable of them counts.
    let true_share: f64 = after.hypotheses.iter().filter(|it| is_true(it.id)).map(|it| it.probability).fold(0.0, f64::max);
    let others: f64 = after.hypotheses.iter().filter(|it| !is_true(it.id)).map(|it| it.probability * it.probability).sum();
    Investigation {
        at_s,
        occasion,
        before: ranked(before),
        checks_asked: asked.iter().map(|check| check.as_str().to_owned()).collect(),
        causes: ranked(after),
        because: because(after, &truth),
        seen: after.seen.observations.iter().filter(|it| it.holds).map(|it| it.fact.kind().id.to_owned()).collect(),
        group: names(&after.leading()),
        pair: after.pair.as_ref().map(|pair| pair.causes.map(str::to_owned)),
        next_checks: after.next_checks().iter().map(|proposal| proposal.check.as_str().to_owned()).collect(),
        place,
        in_group: after.leading().iter().any(|it| is_true(it.id)),
        in_group_before: before.leading().iter().any(|it| is_true(it.id)),
        group_before: before.leading().len(),
        confirmed: confirmed.first().map(|id| (*id).to_owned()),
        confirmed_wrong: confirmed.iter().any(|id| !is_true(id)),
        brier: ((1.0 - true_share).powi(2) + others).min(2.0),
        said: after.hypotheses.first().map_or(0.0, |it| it.probability),
        truth,
    }
}

impl DiagnosisTotals {
    /// Counts one.
    pub(crate) fn count(&mut self, it: &Investigation) {
        self.looks += it.checks_asked.len();
        self.brier_sum += it.brier;
        self.confirmed += usize::from(it.confirmed.is_some());
        self.confirmed_wrong += usize::from(it.confirmed_wrong);
        let score = self.by_cause.entry(it.truth.join("+")).or_default();
        score.count += 1;
        score.manager.count(it.in_group_before, it.group_before);
        score.all.count(it.in_group, it.group.len());
        let tenth = format!("{:.1}", (it.said * 10.0).floor() / 10.0);
        let bin = self.calibration.entry(tenth).or_default();
        bin.0 += 1;
        bin.1 += usize::from(it.place == Some(1));
        if it.truth.iter().all(|id| id == NOT_STUCK_YET || id == "image-lacks-feature")
            && it.truth.iter().any(|id| id == NOT_STUCK_YET)
        {
            self.sound += 1;
            self.sound_right += usize::from(it.in_group);
        } else {
            self.faulty += 1;
            self.first += usize::from(it.place == Some(1));
            self.told_apart += usize::from(it.group.len() == 1);
            self.told_apart_right += usize::from(it.group.len() == 1 && it.in_group);
            self.in_group += usize::from(it.in_group);
            self.in_three += usize::from(it.place.is_some_and(|place| place <= 3));
            self.in_group_before += usize::from(it.in_group_before);
            let both = |pair: &[String; 2]| pair.iter().all(|id| it.truth.contains(id));
            self.pairs_right += usize::from(it.truth.len() > 1 && it.pair.as_ref().is_some_and(both));
        }
        if !it.in_group {
            *self.missed.entry(it.truth.join("+")).or_default() += 1;
        }
        self.finish();
    }

    /// Adds the sums of another run.
    pub(crate) fn add(&mut self, other: &Self) {
        self.faulty += other.faulty;
        self.first += other.first;
        self.told_apart += other.told_apart;
        self.told_apart_right += other.told_apart_right;
        self.in_group += other.in_group;
        self.in_three += other.in_three;
        self.in_group_before += other.in_group_before;
        self.pairs_right += other.pairs_right;
        self.sound += other.sound;
        self.sound_right += other.sound_right;
        self.confirmed += other.confirmed;
        self.confirmed_wrong += other.confirmed_wrong;
        self.looks += other.looks;
        self.brier_sum += other.brier_sum;
        for (tenth, (count, right)) in &other.calibration {
            let bin = self.calibration.entry(tenth.clone()).or_default();
            bin.0 += count;
            bin.1 += right;
        }
        for (cause, theirs) in &other.by_cause {
            self.by_cause.entry(cause.clone()).or_default().add(theirs);
        }
        for (cause, count) in &other.missed {
            *self.missed.entry(cause.clone()).or_default() += count;
        }
        self.finish();
    }

    fn finish(&mut self) {
        let count = self.faulty + self.sound;
        self.brier = (count > 0).then(|| (self.brier_sum / count as f64 * 1e4).round() / 1e4);
    }
}
