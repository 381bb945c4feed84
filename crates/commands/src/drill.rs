//! Drills without a person: scenarios in virtual time, watched as a real fleet is, and then compared with the truth.
//!
//! The watch sees the world through its channels only. Truth is read here, after the fact, for the comparison.

use std::collections::{BTreeMap, BTreeSet};

use dwell_diagnosis::{Check, Diagnosis, NOT_STUCK_YET, Standing, cause_of};
use dwell_fleet::{FlagKind, Key, State, Timestamp, seconds_between};
use dwell_simulator::{Diagnosis as Expectation, Scenario, Truth, World};
use rayon::prelude::*;
use serde::Serialize;

use crate::dto::InstanceRow;
use crate::scoring::{self, DiagnosisTotals, Investigation};
use crate::virtual_time::{Change, VirtualFleet};
use crate::watch::Pace;

/// Version of the output's form; a change that breaks readers raises it.
pub const OUTPUT_VERSION: u32 = 1;

/// One run of a scenario with one seed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DrillRun {
    /// Version of this form.
    pub version: u32,
    /// The scenario's name.
    pub scenario: String,
    /// The seed.
    pub seed: u64,
    /// Simulated time, seconds.
    pub simulated_s: f64,
    /// Time between two looks, seconds.
    pub look_every_s: f64,
    /// Every rental there was in that time, oldest first.
    pub instances: Vec<DrillInstance>,
    /// Sums.
    pub totals: DrillTotals,
}

/// A rental in a run: what was true of it, and what was said.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DrillInstance {
    /// Its id as the watch named it last; `null` where it never saw it.
    pub id: Option<String>,
    /// vast.ai's number.
    pub vast_id: u64,
    /// Ids of the faults that struck it.
    pub truth: Vec<String>,
    /// When the first of them did, seconds after the first screen (negative: before).
    pub fault_at_s: Option<f64>,
    /// First flag that asks for a person, seconds after the first screen.
    pub flagged_at_s: Option<f64>,
    /// What is said of it at the end: the kind of its flag, else `healthy`; `unseen` where it was never seen.
    pub verdict: String,
    /// What the scenario says that a perfect diagnosis would say while the fault can be seen.
    pub expected: Option<Expected>,
    /// Every verdict, in order.
    pub verdicts: Vec<Said>,
    /// Ranked causes of the latest investigation; empty where there was none.
    pub causes: Vec<RankedCause>,
    /// What would tell more, most telling first.
    pub next_checks: Vec<String>,
    /// Checks that were made.
    pub checks_asked: Vec<String>,
    /// What was thought of it when it was flagged, and at the end.
    pub investigations: Vec<Investigation>,
    /// Seconds for which it was rented within the run.
    pub rented_s: f64,
    /// What it cost within the run, dollars.
    pub dollars: f64,
}

/// What a perfect diagnosis would say.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Expected {
    /// The verdict.
    pub verdict: String,
    /// Causes that cannot be told apart from there.
    pub causes: Vec<String>,
}

/// A verdict at a time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Said {
    /// Seconds after the first screen.
    pub at_s: f64,
    /// The verdict.
    pub verdict: String,
    /// Why.
    pub reason: String,
}

/// A cause in the ranking.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RankedCause {
    /// Id in the catalogue.
    pub id: String,
    /// Posterior probability.
    pub probability: f64,
    /// `confirmed`, `likely`, `possible`, `unlikely` or `excluded`.
    pub standing: String,
}

/// Sums over a run or a batch.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct DrillTotals {
    /// Runs.
    pub runs: usize,
    /// Rentals.
    pub instances: usize,
    /// Of those: struck by a fault.
    pub struck: usize,
    /// Of the struck: those of which the scenario expects a verdict that asks for a person (stalled, invisible,
    /// contradicted, leaking). What is merely slow, or was killed and is gone, asks for none.
    pub to_be_noticed: usize,
    /// Of those: flagged after the fault.
    pub noticed: usize,
    /// Median time from fault to flag of those noticed, seconds.
    pub median_delay_s: Option<f64>,
    /// Rentals of which the expected verdict was said, of `verdicts_expected`: for `healthy`, that nothing else that asks
    /// for a person was said from the fault on; else that it was said at some time from the fault on.
    pub verdicts_right: usize,
    /// Rentals for which the scenario says what to expect.
    pub verdicts_expected: usize,
    /// Flags asking for a person on rentals that no fault ever struck and that the scenario does not expect, by kind.
    pub false_alarms: BTreeMap<String, usize>,
    /// Hours of rentals that no fault ever struck.
    pub healthy_instance_h: f64,
    /// False alarms in 1,000 of those hours.
    pub false_alarms_per_1000_h: Option<f64>,
    /// Simulated hours, all rentals together.
    pub instance_h: f64,
    /// How right the diagnoses were.
    pub diagnoses: DiagnosisTotals,
    #[serde(skip)]
    delays: Vec<f64>,
}

/// Many runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DrillBatch {
    /// Version of this form.
    pub version: u32,
    /// The runs, by scenario as given and then by seed.
    pub runs: Vec<DrillRun>,
    /// Sums over all.
    pub totals: DrillTotals,
}

pub(crate) fn needs_a_person(verdict: &str) -> bool {
    FlagKind::parse(verdict).is_some_and(FlagKind::needs_a_person)
}

fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// Time that passes between two rounds of looks, seconds: what is looked at twice is looked at so far apart.
const STRETCH_S: f64 = 60.0;

/// An investigation under way.
struct Open {
    vast_id: u64,
    key: Key,
    at: Timestamp,
    occasion: String,
    truth: Vec<String>,
    before: Box<Diagnosis>,
    asked: Vec<Check>,
}

/// Investigations of a run.
#[derive(Default)]
struct Cases {
    open: Vec<Open>,
    closed: BTreeMap<u64, Vec<Investigation>>,
    flagged: BTreeSet<(u64, String)>,
    ending: bool,
    /// A well machine was looked at, to compare with.
    control_made: bool,
}

/// Faults that were there at a time, of those that ever struck it. What has passed is not the cause of what is seen now.
fn truth_at(scenario: &Scenario, truth: &Truth, begin: Timestamp, now: Timestamp) -> Vec<String> {
    let at_s = seconds_between(begin, now);
    let there = |id: &&String| {
        scenario.faults.iter().any(|fault| {
            let ended = fault.lasts.is_some_and(|lasts| fault.at + lasts < at_s - 120.0);
            fault.kind.get_ref() == *id && fault.at <= at_s && !ended
        })
    };
    truth.causes.iter().filter(there).cloned().collect()
}

impl Cases {
    /// Whoever was flagged, in the way that the scenario expects or at all asking for a person, is investigated once a kind.
    fn open_flagged(&mut self, scenario: &Scenario, fleet: &VirtualFleet, raised: Vec<(String, String)>) {
        if raised.is_empty() || self.ending {
            return;
        }
        let expectations = expectations(scenario, fleet.world());
        for (id, kind) in raised {
            let Some(instance) = fleet.watch().fleet().instances().find(|instance| instance.id() == id) else { continue };
            let Some(vast_id) = instance.vast_id.map(|id| id.0) else { continue };
            let expected = expectations.get(&vast_id).is_some_and(|it| it.verdict() == kind);
            if (needs_a_person(&kind) || expected) && self.flagged.insert((vast_id, kind.clone())) {
                self.open_one(scenario, fleet, &expectations, vast_id, kind);
            }
        }
    }

    /// At the end whoever the scenario speaks of is investigated.
    fn open_at_end(&mut self, scenario: &Scenario, fleet: &VirtualFleet) {
        self.ending = true;
        let expectations = expectations(scenario, fleet.world());
        for (vast_id, expected) in &expectations {
            // Of a whole fleet the first few stand for all.
            if expected.target().is_none() && expectations.keys().position(|id| id == vast_id).is_some_and(|place| place >= 6) {
                continue;
            }
            self.open_one(scenario, fleet, &expectations, *vast_id, "end".to_owned());
        }
    }

    fn open_one(
        &mut self,
        scenario: &Scenario,
        fleet: &VirtualFleet,
        expectations: &BTreeMap<u64, &Expectation>,
        vast_id: u64,
        occasion: String,
    ) {
        let world = fleet.world();
        let begin = world.origin();
        let Some(truth) = world.truth().into_iter().find(|truth| truth.vast_id == vast_id) else { return };
        let key = fleet.watch().fleet().instances().filter(|instance| instance.vast_id.is_some_and(|id| id.0 == vast_id));
        // The live row of a rental that has two; else the latest.
        let Some(key) = key.max_by_key(|instance| (instance.state != State::Killed, instance.key)).map(|instance| instance.key)
        else {
            return;
        };
        let mut there = truth_at(scenario, &truth, begin, world.now());
        let ended_before = truth.causes.len() > there.len();
        let expected = expectations.get(&vast_id);
        if there.is_empty() {
            // What a fault has left behind is neither there nor nothing.
            if ended_before {
                return;
            }
            // What the scenario expects of those it strikes is not the truth of one it did not strike.
            let is_fault = |id: &String| scenario.faults.iter().any(|fault| fault.kind.get_ref() == id);
            let mut of_scenario = expected.map(|expected| expected.causes.clone()).unwrap_or_default();
            of_scenario.retain(|id| !is_fault(id));
            there = if of_scenario.is_empty() { vec![NOT_STUCK_YET.to_owned()] } else { of_scenario };
        } else if expected.is_none() {
            // Struck by something that the scenario expects nothing of here: both are right.
            there.push(NOT_STUCK_YET.to_owned());
        }
        let around = fleet.around();
        let Some(before) = fleet.diagnose(key, &around) else { return };
        // What could hold it in a state that it has left is not the cause of what is seen now.
        let phases = [before.seen.phase, before.seen.stay];
        let fits = |id: &String| cause_of(id).is_none_or(|cause| phases.into_iter().flatten().any(|phase| cause.fits(phase)));
        there.retain(fits);
        if there.is_empty() {
            return;
        }
        if truth.silent_image && there.iter().any(|id| id == NOT_STUCK_YET) {
            there.push("image-lacks-feature".to_owned());
        }
        self.open.push(Open {
            vast_id,
            key,
            at: world.now(),
            occasion,
            truth: there,
            before: Box::new(before),
            asked: Vec::new(),
        });
    }

    /// Makes the looks that are proposed, best first, until none is or something is confirmed alone.
    fn go_on(&mut self, fleet: &mut VirtualFleet, begin: Timestamp, last: bool) {
        if !self.open.is_empty() && !self.control_made {
            self.control_made = fleet.look_at_a_well_one();
        }
        let mut around = None;
        for mut open in std::mem::take(&mut self.open) {
            let around = around.get_or_insert_with(|| fleet.around());
            let mut closed = last;
            while open.asked.len() < scoring::LOOKS_MAX {
                let Some(now) = fleet.diagnose(open.key, around) else { break };
                let settled =
                    now.hypotheses.first().is_some_and(|it| it.standing == Standing::Confirmed) && now.leading().len() == 1;
                let next = now.next_checks().into_iter().map(|proposal| proposal.check).find(|check| !open.asked.contains(check));
                let Some(check) = next.filter(|_| !settled) else {
                    closed = true;
                    break;
                };
                // What is to be looked at again is looked at in the next round.
                let again = matches!(check, Check::SshAgain | Check::ProverAgain);
                if again && seconds_between(open.at, fleet.world().now()) < 45.0 {
                    break;
                }
                open.asked.push(check);
                if !fleet.ask(open.key, check) && !matches!(check, Check::InstanceLog | Check::ManagerLog) {
                    continue;
                }
            }
            if !closed && open.asked.len() < scoring::LOOKS_MAX {
                self.open.push(open);
                continue;
            }
            let Some(after) = fleet.diagnose(open.key, around) else { continue };
            let at_s = rounded(seconds_between(begin, open.at));
            let investigation = scoring::investigation(at_s, open.occasion, open.truth, &open.before, &after, &open.asked);
            self.closed.entry(open.vast_id).or_default().push(investigation);
        }
    }
}

/// What was said of one id.
#[derive(Default)]
struct Record {
    said: Vec<Said>,
    flagged_at_s: Option<f64>,
}

/// Runs a scenario with a seed to its end.
pub fn run(scenario: &Scenario, seed: u64) -> DrillRun {
    let look_every_s = scenario.look_every.unwrap_or(Pace::default().dashboard_s).max(1.0);
    let pace = Pace { dashboard_s: look_every_s, manager_log_s: (look_every_s * 3.0).max(30.0), ..Pace::default() };
    let mut fleet = VirtualFleet::new(scenario.clone(), Some(seed), pace);
    let begin = fleet.world().now();
    let dollars_before: BTreeMap<u64, f64> =
        fleet.world().truth().into_iter().map(|truth| (truth.vast_id, truth.dollars)).collect();
    let mut records: BTreeMap<String, Record> = BTreeMap::new();
    let mut cases = Cases::default();
    let stretch_s = look_every_s * (STRETCH_S / look_every_s).ceil().max(1.0);
    let mut left_s = scenario.duration;
    while left_s > 0.0 {
        let last = left_s <= stretch_s * 1.5;
        let passing_s = if last { left_s } else { stretch_s };
        left_s -= passing_s;
        let mut raised: Vec<(String, String)> = Vec::new();
        fleet.run(passing_s, |change| {
            let Change::Flag { id, kind, reason, at } = change else { return };
            let at_s = rounded(seconds_between(begin, *at));
            let record = records.entry(id.clone()).or_default();
            let verdict = kind.clone().unwrap_or_else(|| "healthy".to_owned());
            if needs_a_person(&verdict) {
                record.flagged_at_s.get_or_insert(at_s);
            }
            raised.extend(kind.clone().map(|kind| (id.clone(), kind)));
            record.said.push(Said { at_s, verdict, reason: reason.clone() });
        });
        if left_s <= stretch_s * 2.0 && !cases.ending {
            cases.open_at_end(scenario, &fleet);
        }
        cases.open_flagged(scenario, &fleet, raised);
        cases.go_on(&mut fleet, begin, last);
    }
    let end = fleet.world().now();
    let rows = fleet.view().instances;
    let expectations = expectations(scenario, fleet.world());
    let instances: Vec<DrillInstance> = fleet
        .world()
        .truth()
        .into_iter()
        .filter(|truth| truth.gone_at.is_none_or(|at| at > begin))
        .map(|truth| {
            let expected = expectations
                .get(&truth.vast_id)
                .map(|diagnosis| Expected { verdict: diagnosis.verdict().to_owned(), causes: diagnosis.causes.clone() });
            let before = dollars_before.get(&truth.vast_id).copied().unwrap_or(0.0);
            let investigations = cases.closed.remove(&truth.vast_id).unwrap_or_default();
            instance(truth, &rows, &records, expected, before, (begin, end), investigations)
        })
        .collect();
    let totals = sum(&instances);
    DrillRun {
        version: OUTPUT_VERSION,
        scenario: scenario.name.clone(),
        seed,
        simulated_s: rounded(scenario.duration),
        look_every_s,
        instances,
        totals,
    }
}

/// The scenario's diagnoses by vast.ai's number; where two fit, the later one counts.
pub(crate) fn expectations<'a>(scenario: &'a Scenario, world: &World) -> BTreeMap<u64, &'a Expectation> {
    let of = |diagnosis: &'a Expectation| world.selected(diagnosis.target()).into_iter().map(move |vast_id| (vast_id, diagnosis));
    scenario.diagnoses.iter().flat_map(of).collect()
}

fn instance(
    truth: Truth,
    rows: &[InstanceRow],
    records: &BTreeMap<String, Record>,
    expected: Option<Expected>,
    dollars_before: f64,
    (begin, end): (Timestamp, Timestamp),
    investigations: Vec<Investigation>,
) -> DrillInstance {
    // A rental has one id before it registers and another after; what was said under either is said of it.
    let by_uuid = |row: &&InstanceRow| truth.uuid.is_some() && row.uuid == truth.uuid;
    let row = rows.iter().find(by_uuid).or_else(|| rows.iter().find(|row| row.vast_id == Some(truth.vast_id)));
    let ids = [Some(format!("vast-{}", truth.vast_id)), truth.uuid.clone(), row.map(|row| row.id.clone())];
    let mut told: Vec<&Record> = Vec::new();
    let mut seen = Vec::new();
    for id in ids.into_iter().flatten() {
        if !seen.contains(&id) {
            told.extend(records.get(&id));
            seen.push(id);
        }
    }
    let mut verdicts: Vec<Said> = told.iter().flat_map(|record| record.said.iter().cloned()).collect();
    verdicts.sort_by(|one, other| one.at_s.total_cmp(&other.at_s));
    let flag = row.and_then(|row| row.flag.as_ref());
    let verdict = match (row, flag) {
        (None, _) => verdicts.last().map_or("unseen", |said| said.verdict.as_str()),
        (Some(_), Some(flag)) => flag.kind.as_str(),
        (Some(row), None) if row.state == "killed" => "gone",
        (Some(_), None) => "healthy",
    };
    let from = truth.rented_at.max(begin);
    let until = truth.gone_at.unwrap_or(end).min(end);
    DrillInstance {
        id: row.map(|row| row.id.clone()),
        vast_id: truth.vast_id,
        fault_at_s: truth.fault_at.map(|at| rounded(seconds_between(begin, at))),
        truth: truth.causes,
        flagged_at_s: told.iter().filter_map(|record| record.flagged_at_s).reduce(f64::min),
        verdict: verdict.to_owned(),
        expected,
        verdicts,
        causes: investigations.last().map(|it| it.causes.clone()).unwrap_or_default(),
        next_checks: investigations.last().map(|it| it.next_checks.clone()).unwrap_or_default(),
        checks_asked: investigations.last().map(|it| it.checks_asked.clone()).unwrap_or_default(),
        investigations,
        rented_s: rounded(seconds_between(from, until).max(0.0)),
        dollars: rounded(truth.dollars - dollars_before),
    }
}

impl DrillInstance {
    fn said_right(&self, expected: &Expected) -> bool {
        let from = self.fault_at_s.unwrap_or(f64::MIN);
        let mut after = self.verdicts.iter().filter(|said| said.at_s >= from);
        if expected.verdict == "healthy" {
            return after.all(|said| !needs_a_person(&said.verdict));
        }
        after.any(|said| said.verdict == expected.verdict) || self.verdict == expected.verdict
    }
}

fn sum(instances: &[DrillInstance]) -> DrillTotals {
    let mut totals = DrillTotals { runs: 1, instances: instances.len(), ..DrillTotals::default() };
    for it in instances {
        it.investigations.iter().for_each(|investigation| totals.diagnoses.count(investigation));
        let hours = it.rented_s / 3600.0;
        totals.instance_h += hours;
        if let Some(expected) = &it.expected {
            totals.verdicts_expected += 1;
            totals.verdicts_right += usize::from(it.said_right(expected));
        }
        let Some(fault_at_s) = it.fault_at_s else {
            totals.healthy_instance_h += hours;
            // Where nothing can be seen, saying so is right, whatever is true.
            let wanted = it.expected.as_ref().map(|expected| expected.verdict.as_str());
            let alarms = it.verdicts.iter().filter(|said| needs_a_person(&said.verdict));
            for said in alarms.filter(|said| wanted != Some(said.verdict.as_str())) {
                *totals.false_alarms.entry(said.verdict.clone()).or_default() += 1;
            }
            continue;
        };
        totals.struck += 1;
        let asks = |expected: &Expected| needs_a_person(&expected.verdict) && expected.verdict != "gone";
        if it.expected.as_ref().is_some_and(asks) {
            totals.to_be_noticed += 1;
            // What was flagged before the fault is not noticed by it.
            let noticed = it.verdicts.iter().find(|said| needs_a_person(&said.verdict) && said.at_s >= fault_at_s);
            if let Some(said) = noticed {
                totals.noticed += 1;
                totals.delays.push(said.at_s - fault_at_s.max(0.0));
            }
        }
    }
    finish(totals)
}

/// Works out what follows from the sums.
fn finish(mut totals: DrillTotals) -> DrillTotals {
    totals.delays.sort_by(f64::total_cmp);
    totals.median_delay_s = totals.delays.get(totals.delays.len() / 2).copied().map(rounded);
    totals.instance_h = rounded(totals.instance_h);
    totals.healthy_instance_h = rounded(totals.healthy_instance_h);
    let alarms: usize = totals.false_alarms.values().sum();
    let hours = totals.healthy_instance_h;
    totals.false_alarms_per_1000_h = (hours > 0.0).then(|| rounded(alarms as f64 * 1000.0 / hours));
    totals
}

/// Runs every scenario with every seed on `jobs` threads (0: as many as there are processors). `tell` is called after each
/// run, from any thread. The result is the same whatever `jobs` is.
pub fn batch(
    scenarios: &[Scenario],
    seeds: std::ops::Range<u64>,
    jobs: usize,
    tell: impl Fn() + Sync,
) -> Result<DrillBatch, rayon::ThreadPoolBuildError> {
    let pairs: Vec<(&Scenario, u64)> =
        scenarios.iter().flat_map(|scenario| seeds.clone().map(move |seed| (scenario, seed))).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build()?;
    let runs: Vec<DrillRun> = pool.install(|| {
        pairs
            .into_par_iter()
            .map(|(scenario, seed)| {
                let run = run(scenario, seed);
                tell();
                run
            })
            .collect()
    });
    let mut totals = DrillTotals::default();
    for run in &runs {
        let one = &run.totals;
        totals.runs += one.runs;
        totals.instances += one.instances;
        totals.struck += one.struck;
        totals.to_be_noticed += one.to_be_noticed;
        totals.noticed += one.noticed;
        totals.verdicts_right += one.verdicts_right;
        totals.verdicts_expected += one.verdicts_expected;
        totals.healthy_instance_h += one.healthy_instance_h;
        totals.instance_h += one.instance_h;
        totals.delays.extend(&one.delays);
        totals.diagnoses.add(&one.diagnoses);
        for (kind, count) in &one.false_alarms {
            *totals.false_alarms.entry(kind.clone()).or_default() += count;
        }
    }
    Ok(DrillBatch { version: OUTPUT_VERSION, runs, totals: finish(totals) })
}
