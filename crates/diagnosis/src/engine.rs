//! The ranking: log-odds per observation, summed within each witness and capped there, on top of how common a cause is.
//!
//! Score of a cause = ln(weight in the prior) + sum over witnesses of clip(sum of ln(P(seen | cause) / usual)). Probabilities
//! follow by normalising, with a share kept for what is not in the catalogue. A fact that was not observed adds nothing: its
//! ratio is exactly 1.

use std::collections::HashMap;
use std::sync::OnceLock;

use dwell_fleet::Timestamp;

use crate::catalogue::{Act, Cause, Effect, NOT_IN_CATALOGUE, NOT_STUCK_YET, Phase, causes};
use crate::channel::Channel;
use crate::fact::{self, Fact, Witness};
use crate::observe::{Case, Observation, Seen, observe};

/// Share kept for what is not in the catalogue.
const RESERVE: f64 = 0.10;
/// While fewer than two independent channels have spoken.
const RESERVE_ALONE: f64 = 0.25;
/// No cause is given more than this while neither its log nor the machine itself has shown anything.
const CEILING_UNSEEN: f64 = 0.5;
/// Causes whose evidence differs by less than this, in nats, are not told apart.
const SAME_EVIDENCE: f64 = 1.0;
/// Weight of a cause that does not belong to the state.
const WRONG_STATE: f64 = 0.01;
/// Weight of what does no harm while nothing that it shows was seen: it may be so, and it explains nothing.
const UNSEEN_AND_HARMLESS: f64 = 0.03;
/// Weight of "nothing is wrong", before anything is seen.
const WEIGHT_OF_NOTHING: f64 = 4.0;
/// Weight of "not in the catalogue".
const WEIGHT_OF_UNKNOWN: f64 = 0.3;
/// How often an unknown cause shows any odd fact.
const ODD_BY_UNKNOWN: f64 = 0.05;
/// One witness speaks for it by no more than this, nats.
const CAP_OF_UNKNOWN: f64 = 1.6;
/// What only one cause explains is not capped: seen whole, it adds this much, nats.
const PROVED: f64 = 4.0;
/// A cause is possible from this probability on.
const POSSIBLE_FROM: f64 = 0.04;
/// Two causes at once are weighed as their product and this.
const WEIGHT_OF_TWO: f64 = 0.05;
/// Causes that are tried in pairs.
const PAIRED: usize = 14;
/// Two at once have to explain this much more, nats.
const TWO_GAIN: f64 = 3.0;

/// Cap of one witness, nats, for and against.
fn cap(witness: Witness) -> f64 {
    match witness {
        Witness::Words | Witness::Processes | Witness::Cards | Witness::Machine | Witness::Rows => 6.0,
        Witness::Manager | Witness::Record | Witness::Prover => 5.0,
        Witness::Way => 4.0,
        Witness::Pace => 3.0,
    }
}

/// The words that go with a probability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Something was seen that only it explains.
    Confirmed,
    /// More likely than all others together.
    Likely,
    /// It may be.
    Possible,
    /// It hardly is.
    Unlikely,
    /// Something was seen that speaks against it, and it has next to nothing left.
    Excluded,
}

impl Standing {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Likely => "likely",
            Self::Possible => "possible",
            Self::Unlikely => "unlikely",
            Self::Excluded => "excluded",
        }
    }
}

/// A cause with what is left of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Hypothesis {
    /// Id in the catalogue, or `not-in-the-catalogue`.
    pub id: &'static str,
    /// Posterior probability. Not calibrated outside drills.
    pub probability: f64,
    /// The word for it.
    pub standing: Standing,
    /// What the observations add to or take from it, nats.
    pub evidence: f64,
    /// Hypotheses of one number are not told apart by what was seen.
    pub group: usize,
}

/// What one observation adds to a cause.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contribution {
    /// Its place among the observations.
    pub observation: usize,
    /// ln(P(seen | cause) / usual), nats, before its witness's cap.
    pub log_odds: f64,
}

/// Two causes at once, where they explain much more than one.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// Their ids.
    pub causes: [&'static str; 2],
    /// What they explain beyond the best single cause, nats.
    pub gain: f64,
}

/// What is thought of an instance.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnosis {
    /// What was seen.
    pub seen: Seen,
    /// Every cause, most probable first; equals by id.
    pub hypotheses: Vec<Hypothesis>,
    /// Two at once.
    pub pair: Option<Pair>,
    /// Independent channels that have spoken.
    pub channels_heard: usize,
    /// No cause was given more than this.
    pub ceiling: f64,
    /// What was seen speaks for something that the catalogue does not have, beyond the share that is always kept for it.
    pub unknown_leads: bool,
    /// When.
    pub at: Timestamp,
}

/// The catalogue as two tables of log-odds, cause by fact.
struct Model {
    ranked: Vec<&'static Cause>,
    facts: usize,
    witness: Vec<usize>,
    caps: Vec<f64>,
    /// P(fact | cause).
    often: Vec<f32>,
    if_true: Vec<f32>,
    if_false: Vec<f32>,
    unknown_if_true: Vec<f32>,
}

fn model() -> &'static Model {
    static MODEL: OnceLock<Model> = OnceLock::new();
    MODEL.get_or_init(|| {
        let ranked: Vec<&'static Cause> = causes().iter().filter(|cause| cause.ranked).collect();
        let kinds: Vec<_> = Fact::every().map(Fact::kind).collect();
        let facts = kinds.len();
        let mut often_shown: Vec<f32> = ranked.iter().flat_map(|_| kinds.iter().map(|kind| kind.usual)).collect();
        let mut if_true = vec![0.0; ranked.len() * facts];
        let mut if_false = vec![0.0; ranked.len() * facts];
        for (row, cause) in ranked.iter().enumerate() {
            for (fact, often) in cause.all_shown() {
                let usual = fact.kind().usual;
                let place = row * facts + fact.index();
                if let Some(shown) = often_shown.get_mut(place) {
                    *shown = often;
                }
                if let (Some(yes), Some(no)) = (if_true.get_mut(place), if_false.get_mut(place)) {
                    *yes = (often / usual).ln();
                    *no = ((1.0 - often) / (1.0 - usual)).ln();
                }
            }
        }
        Model {
            facts,
            witness: kinds.iter().map(|kind| kind.witness as usize).collect(),
            caps: Witness::ALL.into_iter().map(cap).collect(),
            unknown_if_true: kinds.iter().map(|kind| ((ODD_BY_UNKNOWN as f32) / kind.usual).ln().max(0.0)).collect(),
            ranked,
            often: often_shown,
            if_true,
            if_false,
        }
    })
}

fn clipped(sums: &[f64; Witness::ALL.len()], caps: &[f64]) -> f64 {
    sums.iter().zip(caps).map(|(sum, cap)| sum.clamp(-cap, *cap)).sum()
}

/// Independent channels that count: the manager's rows and its log are one voice.
pub(crate) fn channels_heard(seen: &Seen) -> usize {
    let counts = |channel: Channel| seen.channels.iter().any(|state| state.channel == channel && state.health.counts());
    let manager = counts(Channel::ManagerDashboard) || counts(Channel::ManagerLog);
    let others = [Channel::InstanceLog, Channel::VastRecord, Channel::ContainerLog, Channel::SshProbe, Channel::ProverStatus];
    usize::from(manager) + others.into_iter().filter(|channel| counts(*channel)).count()
}

/// The most that one cause can be given, by what has spoken.
pub(crate) fn ceiling(seen: &Seen) -> f64 {
    let counts = |channel: Channel| seen.channels.iter().any(|state| state.channel == channel && state.health.counts());
    let shown = [Channel::InstanceLog, Channel::VastRecord, Channel::SshProbe, Channel::ProverStatus].into_iter().any(counts);
    let reserve = if channels_heard(seen) < 2 { RESERVE_ALONE } else { RESERVE };
    if shown || seen.phase == Some(Phase::Killed) { 1.0 - reserve } else { (1.0 - reserve).min(CEILING_UNSEEN) }
}

/// Diagnoses an instance.
pub fn diagnose(case: Case<'_>) -> Diagnosis {
    let seen = observe(case);
    rank(seen, case.around.now)
}

/// Ranks causes by what was seen.
pub fn rank(seen: Seen, at: Timestamp) -> Diagnosis {
    let model = model();
    let heard = channels_heard(&seen);
    let ceiling = ceiling(&seen);
    let Some(phase) = seen.phase else {
        return Diagnosis { seen, hypotheses: Vec::new(), pair: None, channels_heard: heard, ceiling, unknown_leads: false, at };
    };
    let observed: Vec<(usize, bool)> = seen.observations.iter().map(|it| (it.fact.index(), it.holds)).collect();
    let mut holding = vec![false; model.facts];
    for (fact, _) in observed.iter().filter(|(_, holds)| *holds) {
        if let Some(place) = holding.get_mut(*fact) {
            *place = true;
        }
    }
    let holds = |fact: Fact| holding.get(fact.index()) == Some(&true);
    let mut scores: Vec<(f64, f64)> = Vec::with_capacity(model.ranked.len());
    for (row, cause) in model.ranked.iter().enumerate() {
        let (yes, no) = (row_of(&model.if_true, row, model.facts), row_of(&model.if_false, row, model.facts));
        let mut sums = [0.0; Witness::ALL.len()];
        for (fact, holds) in &observed {
            let table = if *holds { yes } else { no };
            let (Some(value), Some(witness)) = (table.get(*fact), model.witness.get(*fact)) else { continue };
            if let Some(sum) = sums.get_mut(*witness) {
                *sum += f64::from(*value);
            }
        }
        let fits = cause.fits(phase) || seen.stay.is_some_and(|stay| cause.fits(stay));
        let proved = fits && cause.confirmed_by.iter().any(|set| set.iter().all(|fact| holds(*fact)));
        let evidence = clipped(&sums, &model.caps) + if proved { PROVED } else { 0.0 };
        let unseen = cause.effect == Effect::Harmless && cause.id != NOT_STUCK_YET && !cause.shows_itself(holds);
        let weight = prior(cause, phase, seen.stay) * if unseen { UNSEEN_AND_HARMLESS } else { 1.0 };
        scores.push((evidence, weight.ln() + evidence));
    }
    let mut unknown = [0.0; Witness::ALL.len()];
    for (fact, _) in observed.iter().filter(|(_, holds)| *holds) {
        if let (Some(value), Some(sum)) =
            (model.unknown_if_true.get(*fact), model.witness.get(*fact).and_then(|witness| unknown.get_mut(*witness)))
        {
            *sum += f64::from(*value);
        }
    }
    let unknown: f64 = unknown.iter().map(|sum| sum.min(CAP_OF_UNKNOWN)).sum();
    let unknown_score = WEIGHT_OF_UNKNOWN.ln() + unknown;

    let top = scores.iter().map(|(_, score)| *score).fold(unknown_score, f64::max);
    let weight = |score: f64| (score - top).exp();
    let total: f64 = scores.iter().map(|(_, score)| weight(*score)).sum::<f64>() + weight(unknown_score);
    let reserve = if heard < 2 { RESERVE_ALONE } else { RESERVE };
    let unknown_share = (weight(unknown_score) / total).max(reserve);
    let known_total: f64 = scores.iter().map(|(_, score)| weight(*score)).sum();
    let scale = if known_total > 0.0 { (1.0 - unknown_share) / known_total } else { 0.0 };
    let unknown_leads = scores.iter().all(|(_, score)| *score < unknown_score);
    let mut left_over = 0.0;
    let mut hypotheses: Vec<Hypothesis> = model
        .ranked
        .iter()
        .zip(&scores)
        .map(|(cause, (evidence, score))| {
            let whole = weight(*score) * scale;
            let probability = whole.min(ceiling);
            left_over += whole - probability;
            Hypothesis { id: cause.id, probability, standing: Standing::Possible, evidence: *evidence, group: 0 }
        })
        .collect();
    hypotheses.push(Hypothesis {
        id: NOT_IN_CATALOGUE,
        probability: unknown_share + left_over,
        standing: Standing::Possible,
        evidence: unknown,
        group: 0,
    });
    // What is kept for the unknown whatever was seen does not lead: it comes after every cause that is possible.
    let place = |it: &Hypothesis| match it.id == NOT_IN_CATALOGUE && !unknown_leads {
        true => POSSIBLE_FROM.min(it.probability),
        false => it.probability,
    };
    hypotheses.sort_by(|one, other| place(other).total_cmp(&place(one)).then(one.id.cmp(other.id)));
    group(&mut hypotheses);
    let pair = pair(&seen, phase, &hypotheses, &holding);
    let mut diagnosis = Diagnosis { seen, hypotheses, pair, channels_heard: heard, ceiling, unknown_leads, at };
    diagnosis.stand(&holding);
    diagnosis
}

fn row_of(table: &[f32], row: usize, facts: usize) -> &[f32] {
    table.get(row * facts..(row + 1) * facts).unwrap_or_default()
}

fn prior(cause: &Cause, phase: Phase, stay: Option<Phase>) -> f64 {
    let weight = if cause.id == NOT_STUCK_YET { WEIGHT_OF_NOTHING } else { cause.common.weight() };
    // What held it before its end can have brought that about; what does no harm cannot.
    let held = cause.effect != Effect::Harmless && stay.is_some_and(|stay| cause.fits(stay));
    if cause.fits(phase) || held { weight } else { weight * WRONG_STATE }
}

/// Gives the same number to what the observations do not tell apart: the most probable leads, and those whose evidence is as
/// strong follow it, as long as how common they are does not set them far apart.
fn group(hypotheses: &mut [Hypothesis]) {
    let mut next = 0;
    let mut taken = vec![false; hypotheses.len()];
    for leader in 0..hypotheses.len() {
        let Some((evidence, probability)) = hypotheses.get(leader).map(|it| (it.evidence, it.probability)) else { continue };
        if taken.get(leader) == Some(&true) {
            continue;
        }
        let alone = hypotheses.get(leader).is_some_and(|it| it.id == NOT_IN_CATALOGUE);
        for (place, hypothesis) in hypotheses.iter_mut().enumerate().skip(leader) {
            let same = (hypothesis.evidence - evidence).abs() < SAME_EVIDENCE
                && hypothesis.probability * 100.0 >= probability
                && !alone
                && hypothesis.id != NOT_IN_CATALOGUE;
            if let Some(taken) = taken.get_mut(place)
                && !*taken
                && (place == leader || same)
            {
                *taken = true;
                hypothesis.group = next;
            }
        }
        next += 1;
    }
}

impl Diagnosis {
    /// The words: confirmed only where something was seen that only this cause explains.
    fn stand(&mut self, holding: &[bool]) {
        let standings: Vec<Standing> = self
            .hypotheses
            .iter()
            .map(|hypothesis| {
                let cause = crate::catalogue::cause_of(hypothesis.id);
                let fits = cause
                    .is_some_and(|cause| [self.seen.phase, self.seen.stay].into_iter().flatten().any(|phase| cause.fits(phase)));
                let holds = |fact: Fact| holding.get(fact.index()) == Some(&true);
                let proved = cause.is_some_and(|cause| cause.confirmed_by.iter().any(|set| set.iter().all(|fact| holds(*fact))));
                let probability = hypothesis.probability;
                // By proof alone: what is not seen can never confirm, and so looking less never does.
                if proved && fits {
                    return Standing::Confirmed;
                }
                match probability {
                    p if p >= 0.5 && hypothesis.id != NOT_IN_CATALOGUE => Standing::Likely,
                    p if p >= POSSIBLE_FROM => Standing::Possible,
                    p if p < 0.004 && self.contradicted(hypothesis.id) => Standing::Excluded,
                    _ => Standing::Unlikely,
                }
            })
            .collect();
        for (hypothesis, standing) in self.hypotheses.iter_mut().zip(standings) {
            hypothesis.standing = standing;
        }
    }

    /// Something was seen that it never shows, or not seen that it always shows.
    fn contradicted(&self, id: &str) -> bool {
        let Some(often) = shown_by(id) else { return false };
        self.seen.observations.iter().any(|it| match often.get(it.fact.index()) {
            Some(often) if it.holds => *often < 0.006,
            Some(often) => *often > 0.94,
            None => false,
        })
    }

    /// The leading hypotheses that what was seen does not tell apart.
    pub fn leading(&self) -> Vec<&Hypothesis> {
        self.group_of(0)
    }

    /// The hypotheses of a group.
    pub fn group_of(&self, group: usize) -> Vec<&Hypothesis> {
        self.hypotheses.iter().filter(|it| it.group == group).collect()
    }

    /// What each observation adds to a cause, strongest first; zeros are left out.
    pub fn contributions(&self, id: &str) -> Vec<Contribution> {
        let model = model();
        let row = model.ranked.iter().position(|cause| cause.id == id);
        let mut found: Vec<Contribution> =
            self.seen
                .observations
                .iter()
                .enumerate()
                .filter_map(|(place, it)| {
                    let value = match row {
                        Some(row) => *row_of(if it.holds { &model.if_true } else { &model.if_false }, row, model.facts)
                            .get(it.fact.index())?,
                        None if it.holds => *model.unknown_if_true.get(it.fact.index())?,
                        None => 0.0,
                    };
                    (value.abs() > 0.005).then_some(Contribution { observation: place, log_odds: f64::from(value) })
                })
                .collect();
        found.sort_by(|one, other| {
            other.log_odds.abs().total_cmp(&one.log_odds.abs()).then(one.observation.cmp(&other.observation))
        });
        found
    }

    /// The observation at a place.
    pub fn observation(&self, place: usize) -> Option<&Observation> {
        self.seen.observations.get(place)
    }

    /// Kind of remedy with the most probability behind it, and that probability.
    pub fn best_act(&self) -> Option<(Act, f64)> {
        let mut acts: Vec<(Act, f64)> = Vec::new();
        for hypothesis in &self.hypotheses {
            let Some(cause) = crate::catalogue::cause_of(hypothesis.id) else { continue };
            match acts.iter_mut().find(|(act, _)| *act == cause.act) {
                Some((_, sum)) => *sum += hypothesis.probability,
                None => acts.push((cause.act, hypothesis.probability)),
            }
        }
        acts.into_iter().max_by(|one, other| one.1.total_cmp(&other.1).then(other.0.cmp(&one.0)))
    }
}

/// Two causes at once: each shows what it shows; where one raises a fact that the other does not speak of, it is raised.
fn pair(seen: &Seen, phase: Phase, hypotheses: &[Hypothesis], holding: &[bool]) -> Option<Pair> {
    let holds = |fact: Fact| holding.get(fact.index()) == Some(&true);
    let abnormal = seen.observations.iter().filter(|it| it.holds && it.fact.kind().usual < 0.1).count();
    if abnormal < 2 {
        return None;
    }
    let model = model();
    let weight = |cause: &Cause| prior(cause, phase, seen.stay);
    let candidates: Vec<(usize, &'static Cause)> = hypotheses
        .iter()
        .filter(|it| it.id != NOT_STUCK_YET)
        .filter_map(|it| Some((row_number(it.id)?, crate::catalogue::cause_of(it.id)?)))
        .filter(|(_, cause)| cause.fits(phase) || seen.stay.is_some_and(|stay| cause.fits(stay)))
        .filter(|(_, cause)| {
            // It explains something odd that was seen.
            let odd = |fact: Fact, often: f32| often > 4.0 * fact.kind().usual && often >= 0.5 && fact.kind().usual < 0.1;
            cause.shows.iter().any(|(fact, often)| odd(*fact, *often) && holds(*fact))
        })
        .take(PAIRED)
        .collect();
    let score = |one: usize, other: usize| {
        let mut sums = [0.0; Witness::ALL.len()];
        for it in &seen.observations {
            let fact = it.fact.index();
            let often = |row: usize| model.often.get(row * model.facts + fact).copied().unwrap_or_default();
            let (more, less) = if often(one) >= often(other) { (one, other) } else { (other, one) };
            // Work stops when one of the two stops it; everything else shows when one of the two shows it.
            let raised = often(more) > it.fact.kind().usual && it.fact != fact::WORK_GOES_ON;
            let row = if raised { more } else { less };
            let table = if it.holds { &model.if_true } else { &model.if_false };
            if let (Some(value), Some(sum)) =
                (table.get(row * model.facts + fact), model.witness.get(fact).and_then(|witness| sums.get_mut(*witness)))
            {
                *sum += f64::from(*value);
            }
        }
        // Two causes may fill two caps in one witness; one alone is measured by the same, or the caps would make the pair.
        sums.iter().zip(&model.caps).map(|(sum, cap)| sum.clamp(-cap * 2.0, cap * 2.0)).sum::<f64>()
    };
    let single = candidates.iter().map(|(row, cause)| score(*row, *row) + weight(cause).ln()).fold(f64::MIN, f64::max);
    let mut best: Option<Pair> = None;
    for (place, (row, one)) in candidates.iter().enumerate() {
        for (other_row, other) in candidates.iter().skip(place + 1) {
            let both = score(*row, *other_row) + (weight(one) * weight(other) * WEIGHT_OF_TWO).ln();
            let gain = both - single;
            if gain > TWO_GAIN && best.as_ref().is_none_or(|known| gain > known.gain) {
                best = Some(Pair { causes: [one.id, other.id], gain });
            }
        }
    }
    best
}

/// The row of a ranked cause.
fn row_number(id: &str) -> Option<usize> {
    static ROWS: OnceLock<HashMap<&'static str, usize>> = OnceLock::new();
    let rows = ROWS.get_or_init(|| model().ranked.iter().enumerate().map(|(row, cause)| (cause.id, row)).collect());
    rows.get(id).copied()
}

/// How often a ranked cause shows each fact; `None` for what is not ranked.
pub(crate) fn shown_by(id: &str) -> Option<&'static [f32]> {
    let model = model();
    Some(row_of(&model.often, row_number(id)?, model.facts))
}
