//! A drill that a person plays: what was named and done and when, and at its end the truth beside it, with a score.
//!
//! A drill runs in this process, on a world of its own: nothing that is named or done in it can reach a manager or vast.ai.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use dwell_fleet::{Timestamp, seconds_between, shift};
use dwell_simulator::{Diagnosis as Expectation, Scenario, Served, Truth, World, fault_kind, fault_kinds, shipped};

use crate::ApiError;
use crate::drill::{expectations, needs_a_person};
use crate::dto::*;
use crate::settings::Folder;
use dwell_history::files;

/// Name under which a drill's simulator introduces itself: the scenario's own would give the truth away.
pub(crate) const DRILL: &str = "drill";
/// The answer that nothing is wrong.
pub(crate) const NOTHING_WRONG: &str = "nothing-wrong";

/// Drills that are kept; older ones are forgotten.
const PAST_MAX: usize = 1_000;
/// Bytes of the file of past drills that are read.
const PAST_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Answers, deeds and looks of one drill that are noted.
const NOTES_MAX: usize = 10_000;

/// Points for a cause that could not be told apart from the truth.
const CLOSE: f64 = 0.6;
/// Of the points for a right cause, this share is for promptness: all of it within [`PROMPT_S`], none at the end.
const PROMPT_SHARE: f64 = 0.25;
const PROMPT_S: f64 = 900.0;
/// Points lost for saying that something is wrong with an instance that nothing is wrong with, and for destroying it.
const ACCUSED: f64 = 10.0;
const DESTROYED: f64 = 25.0;

/// A drill under way, or just ended.
#[derive(Debug)]
pub(crate) struct Play {
    served: Arc<Served>,
    /// With its own name and all that it says.
    scenario: Scenario,
    seed: u64,
    began: Timestamp,
    earlier: Earlier,
    answers: Answers,
    deeds: Deeds,
    looks: Vec<DebriefEvent>,
    debrief: Option<Debrief>,
}

/// What was named, of which rental, and what that had cost by then, dollars.
type Answers = Vec<(DrillAnswer, u64, f64)>;
/// What was done, to which rental.
type Deeds = Vec<(DrillDeed, u64)>;

/// What was over when the drill began: it asks nothing of the player, and nothing is counted of it.
#[derive(Debug, Clone, Default)]
struct Earlier {
    /// Rentals that had ended.
    ended: BTreeSet<u64>,
    /// Rentals that worked although a fault had struck them, by the causes that they had outlived.
    recovered: BTreeMap<u64, Vec<String>>,
}

impl Earlier {
    /// What is over in a world at its first screen.
    fn of(scenario: &Scenario, world: &World) -> Self {
        let mut earlier = Self::default();
        let passed = |id: &String| {
            let mut faults = scenario.faults.iter().filter(|fault| fault.kind.get_ref() == id);
            faults.all(|fault| fault.lasts.is_some_and(|lasts| fault.at + lasts <= 0.0))
        };
        for truth in world.truth() {
            if truth.gone_at.is_some_and(|at| at <= world.origin()) {
                earlier.ended.insert(truth.vast_id);
            } else if !truth.causes.is_empty() && truth.progressing && truth.causes.iter().all(passed) {
                earlier.recovered.insert(truth.vast_id, truth.causes);
            }
        }
        earlier
    }
}

/// A scenario as it is played: under another name.
pub(crate) fn disguised(scenario: &Scenario) -> Scenario {
    Scenario { name: DRILL.to_owned(), ..scenario.clone() }
}

/// What happened to an instance's flags, by its id.
pub(crate) type Flags = BTreeMap<String, Vec<PastFlag>>;

impl Play {
    pub(crate) fn new(served: Arc<Served>, scenario: Scenario, seed: u64) -> Self {
        let (began, earlier) = served.with_world(|world| (world.origin(), Earlier::of(&scenario, world)));
        Self { served, scenario, seed, began, earlier, answers: Vec::new(), deeds: Vec::new(), looks: Vec::new(), debrief: None }
    }

    fn at_s(&self) -> f64 {
        seconds_between(self.began, self.served.now())
    }

    fn is_over(&self) -> bool {
        self.debrief.is_some()
    }

    fn truth_of(&self, row: &InstanceRow) -> Result<Truth, ApiError> {
        let found = self.served.with_world(|world| world.truth().into_iter().rev().find(|truth| is_of(truth, row)));
        found.ok_or_else(|| ApiError::new(ErrorCode::UnknownId, format!("the drill has no instance {}", row.id)))
    }

    /// Notes that an instance was looked at; the first look of each kind counts.
    pub(crate) fn looked(&mut self, id: &str, what: &str) {
        let known = self.looks.iter().any(|look| look.id.as_deref() == Some(id) && look.text == what);
        if !known && !self.is_over() && self.looks.len() < NOTES_MAX {
            let (at_s, kind) = (self.at_s(), "look".to_owned());
            self.looks.push(DebriefEvent { at_s, kind, id: Some(id.to_owned()), text: what.to_owned() });
        }
    }

    /// Names a cause.
    pub(crate) fn answer(&mut self, row: &InstanceRow, cause: &str) -> Result<(), ApiError> {
        self.still_on(self.answers.len())?;
        if cause != NOTHING_WRONG && fault_kind(cause).is_none() {
            return Err(ApiError::new(ErrorCode::BadRequest, format!("no cause is called {cause:?}")));
        }
        let truth = self.truth_of(row)?;
        let answer = DrillAnswer { id: row.id.clone(), cause: cause.to_owned(), at_s: self.at_s() };
        self.answers.push((answer, truth.vast_id, truth.dollars));
        Ok(())
    }

    /// Does something to an instance of this world.
    pub(crate) fn act(&mut self, row: &InstanceRow, deed: &str) -> Result<(), ApiError> {
        self.still_on(self.deeds.len())?;
        let truth = self.truth_of(row)?;
        let uuid = truth.uuid.clone().unwrap_or_default();
        match deed {
            "destroy" => self.served.with_world(|world| world.kill(truth.vast_id, &uuid)),
            "reboot" => drop(self.served.with_world(|world| world.api_reboot(truth.vast_id, false))),
            _ => return Err(ApiError::new(ErrorCode::BadRequest, format!("{deed:?} is neither destroy nor reboot"))),
        }
        let done = DrillDeed { id: row.id.clone(), deed: deed.to_owned(), at_s: self.at_s() };
        self.deeds.push((done, truth.vast_id));
        Ok(())
    }

    /// Counts what the journal says was done to instances of this world: a kill and a destroyed rental are one to a score.
    pub(crate) fn acted(&mut self, acts: &[ActView]) {
        if self.is_over() {
            return;
        }
        let truths = self.served.with_world(|world| world.truth());
        for act in acts.iter().filter(|act| matches!(act.deed.as_str(), "kill" | "destroy" | "reboot") && act.phase != "refused")
        {
            let is_it = |truth: &&Truth| truth.uuid.as_ref() == Some(&act.target) || truth.vast_id.to_string() == act.target;
            let Some(truth) = truths.iter().rev().find(is_it) else { continue };
            let deed = if act.deed == "reboot" { "reboot" } else { "destroy" };
            if self.deeds.len() < NOTES_MAX {
                let at_s = seconds_between(self.began, act.planned_at);
                self.deeds.push((DrillDeed { id: act.target.clone(), deed: deed.to_owned(), at_s }, truth.vast_id));
            }
        }
    }

    fn still_on(&self, notes: usize) -> Result<(), ApiError> {
        match (self.is_over(), notes < NOTES_MAX) {
            (true, _) => Err(ApiError::new(ErrorCode::DrillOver, "the drill has ended").hint("begin another one")),
            (false, false) => Err(ApiError::new(ErrorCode::DrillOver, "more was noted in this drill than is kept")),
            (false, true) => Ok(()),
        }
    }

    /// What the player sees of the drill.
    pub(crate) fn view(&self) -> DrillView {
        let mut causes: Vec<DrillCause> = fault_kinds().map(|kind| cause(kind.id)).collect();
        causes.sort_by(|one, other| one.id.cmp(&other.id));
        DrillView {
            title: self.scenario.title.clone(),
            began_at: self.began,
            ends_at: shift(self.began, self.scenario.duration),
            causes,
            answers: self.answers.iter().map(|(answer, ..)| answer.clone()).collect(),
            deeds: self.deeds.iter().map(|(deed, _)| deed.clone()).collect(),
            debrief: self.debrief.clone(),
        }
    }

    /// Ends the drill: time stands still, the truth is told. `None` where it had ended before.
    pub(crate) fn end(&mut self, rows: &[InstanceRow], flags: &Flags, at: Timestamp) -> Option<PastDrill> {
        if self.is_over() {
            return None;
        }
        self.served.set_speed(0.0);
        let debrief = self.debrief(rows, flags);
        let past = PastDrill {
            scenario: self.scenario.name.clone(),
            title: self.scenario.title.clone(),
            seed: self.seed,
            at,
            score: debrief.score,
            right: debrief.right,
            to_name: debrief.to_name,
            delay_dollars: debrief.delay_dollars,
        };
        self.debrief = Some(debrief);
        Some(past)
    }

    fn debrief(&self, rows: &[InstanceRow], flags: &Flags) -> Debrief {
        let played_s = self.at_s();
        let (truths, expectations) = self.served.with_world(|world| {
            world.settle_now();
            let expectations = expectations(&self.scenario, world);
            (world.truth(), expectations)
        });
        let marking = Marking {
            duration_s: self.scenario.duration,
            began: self.began,
            earlier: &self.earlier,
            expectations: &expectations,
            answers: &self.answers,
            deeds: &self.deeds,
            rows,
            flags,
        };
        let mut points = Points::default();
        let mut timeline = self.looks.clone();
        let instances: Vec<DebriefInstance> =
            truths.iter().filter_map(|truth| marking.mark(truth, &mut points, &mut timeline)).collect();
        for fault in &self.scenario.faults {
            let what = fault_kind(fault.id()).map_or("", |kind| kind.what);
            timeline.push(DebriefEvent {
                at_s: fault.at,
                kind: "fault".to_owned(),
                id: None,
                text: format!("{}: {what}", fault.id()),
            });
        }
        timeline.extend(
            self.answers.iter().map(|(answer, ..)| event(answer.at_s, "answer", &answer.id, format!("named {}", answer.cause))),
        );
        timeline.extend(self.deeds.iter().map(|(deed, _)| event(deed.at_s, "deed", &deed.id, deed.deed.clone())));
        timeline.sort_by(|one, other| one.at_s.total_cmp(&other.at_s));
        let (score, score_parts) = points.score();
        Debrief {
            scenario: self.scenario.name.clone(),
            summary: one_line(&self.scenario.summary),
            seed: self.seed,
            played_s,
            score,
            score_parts,
            right: points.right,
            to_name: points.to_name,
            delay_dollars: instances.iter().map(|instance| instance.delay_dollars).sum(),
            instances,
            timeline,
            perfect: self
                .scenario
                .diagnoses
                .iter()
                .map(|diagnosis| format!("{}: {}", diagnosis.verdict(), one_line(&diagnosis.says)))
                .collect(),
        }
    }
}

/// What a drill is marked by.
struct Marking<'a> {
    duration_s: f64,
    began: Timestamp,
    earlier: &'a Earlier,
    expectations: &'a BTreeMap<u64, &'a Expectation>,
    answers: &'a Answers,
    deeds: &'a Deeds,
    rows: &'a [InstanceRow],
    flags: &'a Flags,
}

impl Marking<'_> {
    /// Marks one rental. `None` where it asked nothing of the player: it was well and left alone, or had ended before.
    fn mark(&self, truth: &Truth, points: &mut Points, timeline: &mut Vec<DebriefEvent>) -> Option<DebriefInstance> {
        if self.earlier.ended.contains(&truth.vast_id) {
            return None;
        }
        let row = self.rows.iter().find(|row| is_of(truth, row));
        let id = row.map_or_else(|| format!("vast-{}", truth.vast_id), |row| row.id.clone());
        let expected = self.expectations.get(&truth.vast_id);
        let recovered = self.earlier.recovered.get(&truth.vast_id) == Some(&truth.causes);
        let healthy = truth.causes.is_empty() || recovered || expected.is_some_and(|expected| expected.verdict() == "healthy");
        let answer = self.answers.iter().rev().find(|(_, vast_id, _)| *vast_id == truth.vast_id);
        let destroyed = self.deeds.iter().any(|(deed, vast_id)| *vast_id == truth.vast_id && deed.deed == "destroy");
        if (truth.causes.is_empty() || recovered) && answer.is_none() && !destroyed {
            return None;
        }
        // What it had recovered from before the drill is not what is to be found.
        let outlived = self.earlier.recovered.get(&truth.vast_id);
        let mut strikes = truth.strikes.iter();
        let strike = strikes.find(|(cause, ..)| outlived.is_none_or(|causes| !causes.contains(cause)));
        let fault_at_s = strike.map(|(_, at, _)| seconds_between(self.began, *at));
        let flagged = self.flags.get(&id).into_iter().flatten().filter(|flag| needs_a_person(&flag.kind));
        let flagged_at_s = flagged.clone().map(|flag| seconds_between(self.began, flag.raised_at)).reduce(f64::min);
        for flag in flagged {
            let (at_s, text) = (seconds_between(self.began, flag.raised_at), format!("flagged {}: {}", flag.kind, flag.reason));
            timeline.push(event(at_s, "flag", &id, text));
        }
        let named = answer.map(|(answer, ..)| answer.cause.as_str());
        let causes = expected.map(|expected| expected.causes.clone()).unwrap_or_default();
        let outcome = outcome(truth, &causes, healthy, named);
        let dollars_then = answer.map_or(truth.dollars, |(.., dollars)| *dollars);
        let delay_dollars =
            if healthy { 0.0 } else { (dollars_then - strike.map_or(dollars_then, |(.., dollars)| *dollars)).max(0.0) };
        let answered_at_s = answer.map(|(answer, ..)| answer.at_s);
        points.count(outcome, answered_at_s, fault_at_s, self.duration_s, healthy && destroyed);
        Some(DebriefInstance {
            id,
            truth: truth.causes.iter().map(|id| cause(id)).collect(),
            expected_verdict: expected.map(|expected| expected.verdict().to_owned()),
            expected_causes: causes,
            answer: named.map(str::to_owned),
            outcome: outcome.to_owned(),
            fault_at_s,
            flagged_at_s,
            answered_at_s,
            delay_dollars,
            destroyed,
        })
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn event(at_s: f64, kind: &str, id: &str, text: String) -> DebriefEvent {
    DebriefEvent { at_s, kind: kind.to_owned(), id: Some(id.to_owned()), text }
}

fn is_of(truth: &Truth, row: &InstanceRow) -> bool {
    (row.uuid.is_some() && truth.uuid == row.uuid)
        || row.vast_id == Some(truth.vast_id)
        || row.id == format!("vast-{}", truth.vast_id)
}

fn cause(id: &str) -> DrillCause {
    let kind = fault_kind(id);
    DrillCause {
        id: id.to_owned(),
        place: kind.map_or("", |kind| kind.place.as_str()).to_owned(),
        what: kind.map_or("", |kind| kind.what).to_owned(),
    }
}

/// How an answer compares with the truth.
fn outcome(truth: &Truth, expected: &[String], healthy: bool, named: Option<&str>) -> &'static str {
    let is_true = |named: &str| truth.causes.iter().any(|cause| cause == named);
    match named {
        None if healthy => "nothing-to-name",
        None => "missed",
        Some(NOTHING_WRONG) => {
            if healthy {
                "right"
            } else {
                "wrong"
            }
        }
        Some(named) if is_true(named) => "right",
        Some(named) if expected.iter().any(|cause| cause == named) => "close",
        Some(_) => "wrong",
    }
}

/// The points of a drill.
#[derive(Debug, Default)]
struct Points {
    to_name: usize,
    right: usize,
    close: usize,
    earned: f64,
    accused: usize,
    destroyed: usize,
}

impl Points {
    fn count(
        &mut self,
        outcome: &str,
        answered_at_s: Option<f64>,
        fault_at_s: Option<f64>,
        duration_s: f64,
        destroyed_healthy: bool,
    ) {
        self.destroyed += usize::from(destroyed_healthy);
        let something_to_name = fault_at_s.is_some() && outcome != "nothing-to-name";
        if !something_to_name {
            self.accused += usize::from(outcome == "wrong");
            return;
        }
        self.to_name += 1;
        let worth = match outcome {
            "right" => 1.0,
            "close" => CLOSE,
            _ => return,
        };
        self.right += usize::from(outcome == "right");
        self.close += usize::from(outcome == "close");
        let delay_s = (answered_at_s.unwrap_or(duration_s) - fault_at_s.unwrap_or(0.0).max(0.0)).max(0.0);
        let late = ((delay_s - PROMPT_S) / (duration_s - PROMPT_S).max(1.0)).clamp(0.0, 1.0);
        self.earned += worth * (1.0 - PROMPT_SHARE * late);
    }

    /// The score, and how it comes about.
    fn score(&self) -> (f64, Vec<String>) {
        let base = if self.to_name == 0 { 100.0 } else { 100.0 * self.earned / self.to_name as f64 };
        let lost = ACCUSED * self.accused as f64 + DESTROYED * self.destroyed as f64;
        let mut parts = vec![match self.to_name {
            0 => "There was nothing to find: 100 to begin with.".to_owned(),
            all => format!(
                "{} of {all} causes named rightly, {} that cannot be told apart from the truth: {base:.0} of 100, a quarter of it for promptness.",
                self.right, self.close
            ),
        }];
        if self.accused > 0 {
            parts.push(format!("{} healthy called faulty: {:.0} points lost.", self.accused, ACCUSED * self.accused as f64));
        }
        if self.destroyed > 0 {
            parts.push(format!("{} healthy destroyed: {:.0} points lost.", self.destroyed, DESTROYED * self.destroyed as f64));
        }
        ((base - lost).clamp(0.0, 100.0).round(), parts)
    }
}

// The list and the past.

fn file(folder: &Folder) -> PathBuf {
    folder.path().join("drills.json")
}

/// The drills that were played, newest first.
pub(crate) fn past(folder: &Folder) -> Result<Vec<PastDrill>, ApiError> {
    let path = file(folder);
    let trouble = |what: String| ApiError::new(ErrorCode::DrillsUnreadable, format!("{}: {what}", path.display()));
    let read = files::private_file(&path).and_then(|_| files::read_regular(&path, PAST_BYTES_MAX));
    let Some(text) = read.map_err(|error| trouble(error.to_string()).hint("move the file away"))? else { return Ok(Vec::new()) };
    serde_json::from_slice(&text).map_err(|error| trouble(error.to_string()).hint("move the file away"))
}

/// Keeps a drill that was played.
pub(crate) fn keep(folder: &Folder, played: PastDrill) -> Result<(), ApiError> {
    let mut all = past(folder)?;
    all.insert(0, played);
    all.truncate(PAST_MAX);
    let path = file(folder);
    let trouble = |error: std::io::Error| ApiError::new(ErrorCode::DrillsUnwritable, format!("{}: {error}", path.display()));
    let text = serde_json::to_vec_pretty(&all).map_err(|error| ApiError::new(ErrorCode::Bug, error.to_string()))?;
    files::private_folder(folder.path()).and_then(|()| files::replace_private(&path, &text)).map_err(trouble)
}

/// What can be played, with what was played of it.
pub(crate) fn list(past: &[PastDrill]) -> Vec<DrillInfo> {
    let mut drills: Vec<DrillInfo> = shipped()
        .into_iter()
        .map(|scenario| {
            let played = || past.iter().filter(|past| past.scenario == scenario.name);
            DrillInfo {
                group: group(&scenario).to_owned(),
                duration_s: scenario.duration,
                plays: played().count(),
                best_score: played().map(|past| past.score).reduce(f64::max),
                title: scenario.title,
                name: scenario.name,
            }
        })
        .collect();
    drills.sort_by(|one, other| (&one.group, &one.title).cmp(&(&other.group, &other.title)));
    drills
}

fn group(scenario: &Scenario) -> &'static str {
    match scenario.name.as_str() {
        name if name.starts_with("evening-") || name == "params-done-silence" => "evening",
        _ if scenario.faults.len() == 1 => "one",
        _ => "several",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truth(causes: &[&str]) -> Truth {
        Truth {
            silent_image: false,
            vast_id: 1,
            uuid: None,
            rented: true,
            progressing: false,
            causes: causes.iter().map(|cause| (*cause).to_owned()).collect(),
            fault_at: None,
            strikes: Vec::new(),
            rented_at: Timestamp::UNIX_EPOCH,
            gone_at: None,
            dollars: 0.0,
            dollars_per_h: 0.0,
        }
    }

    #[test]
    fn an_answer_is_right_close_wrong_or_missing() {
        let struck = truth(&["bench-client-hang"]);
        let family = ["bench-client-hang".to_owned(), "pipeline-deadlock".to_owned()];
        assert_eq!(outcome(&struck, &family, false, Some("bench-client-hang")), "right");
        assert_eq!(outcome(&struck, &family, false, Some("pipeline-deadlock")), "close");
        assert_eq!(outcome(&struck, &family, false, Some("params-slow")), "wrong");
        assert_eq!(outcome(&struck, &family, false, Some(NOTHING_WRONG)), "wrong");
        assert_eq!(outcome(&struck, &family, false, None), "missed");
        assert_eq!(outcome(&truth(&[]), &[], true, Some(NOTHING_WRONG)), "right");
        assert_eq!(outcome(&truth(&[]), &[], true, Some("params-slow")), "wrong");
        assert_eq!(outcome(&truth(&["upstream-no-work"]), &[], true, Some("upstream-no-work")), "right");
    }

    #[test]
    fn the_score_counts_causes_promptness_and_harm() {
        let hour = 3_600.0;
        let mut prompt = Points::default();
        prompt.count("right", Some(600.0), Some(0.0), hour, false);
        assert_eq!(prompt.score().0, 100.0);
        let mut late = Points::default();
        late.count("right", Some(hour), Some(0.0), hour, false);
        assert_eq!(late.score().0, 75.0);
        late.count("missed", None, Some(0.0), hour, false);
        assert_eq!(late.score().0, 38.0);
        let mut harm = Points::default();
        harm.count("right", Some(0.0), Some(0.0), hour, false);
        harm.count("wrong", Some(0.0), None, hour, false);
        harm.count("nothing-to-name", None, None, hour, true);
        assert_eq!(harm.score().0, 65.0);
        assert_eq!(Points::default().score().0, 100.0);
    }

    fn at_first_screen(scenario: &Scenario) -> World {
        let origin = scenario.start;
        World::new(scenario.clone(), scenario.seed, origin)
    }

    /// A player who names each cause as soon as it is true, and that nothing is wrong where nothing is, gets all points in every
    /// shipped drill.
    #[test]
    fn perfect_play_of_every_drill_gets_every_point() {
        let mut short = Vec::new();
        for scenario in shipped() {
            let mut world = at_first_screen(&scenario);
            let began = world.origin();
            let earlier = Earlier::of(&scenario, &world);
            let mut answers: Answers = Vec::new();
            let mut at_s = 0.0;
            while at_s < scenario.duration {
                at_s = (at_s + 60.0).min(scenario.duration);
                world.advance_to(shift(began, at_s));
                for truth in world.truth() {
                    let known = answers.iter().any(|(answer, vast_id, _)| {
                        *vast_id == truth.vast_id && (answer.cause != NOTHING_WRONG || truth.causes.is_empty())
                    });
                    if known || truth.gone_at.is_some_and(|at| at <= began) {
                        continue;
                    }
                    let recovered = earlier.recovered.get(&truth.vast_id) == Some(&truth.causes);
                    let cause = truth.causes.first().filter(|_| !recovered).map_or(NOTHING_WRONG, String::as_str).to_owned();
                    let id = format!("vast-{}", truth.vast_id);
                    answers.push((DrillAnswer { id, cause, at_s }, truth.vast_id, truth.dollars));
                }
            }
            let expectations = expectations(&scenario, &world);
            let marking = Marking {
                duration_s: scenario.duration,
                began,
                earlier: &earlier,
                expectations: &expectations,
                answers: &answers,
                deeds: &Vec::new(),
                rows: &[],
                flags: &Flags::new(),
            };
            let mut points = Points::default();
            let marked: Vec<DebriefInstance> =
                world.truth().iter().filter_map(|truth| marking.mark(truth, &mut points, &mut Vec::new())).collect();
            let (score, parts) = points.score();
            if score < 100.0 {
                let lost: Vec<_> =
                    marked.iter().filter(|it| it.outcome != "right").map(|it| (&it.id, &it.outcome, &it.answer)).collect();
                short.push(format!("{}: {score}, {parts:?} {lost:?}", scenario.name));
            }
        }
        assert!(short.is_empty(), "{}", short.join("\n"));
    }

    /// The drill that nothing is wrong in: four silent instances, and a week of others that had ended before it began.
    #[test]
    fn leaving_four_healthy_instances_alone_is_worth_all_points() {
        let scenario = Scenario::named("evening-nothing-wrong").unwrap();
        let mut world = at_first_screen(&scenario);
        let (began, earlier) = (world.origin(), Earlier::of(&scenario, &world));
        assert!(earlier.ended.len() >= 11, "{earlier:?}");
        world.advance_to(shift(began, scenario.duration));
        let expectations = expectations(&scenario, &world);
        let answers = Vec::new();
        let marking = Marking {
            duration_s: scenario.duration,
            began,
            earlier: &earlier,
            expectations: &expectations,
            answers: &answers,
            deeds: &Vec::new(),
            rows: &[],
            flags: &Flags::new(),
        };
        let mut points = Points::default();
        let marked = world.truth().iter().filter_map(|truth| marking.mark(truth, &mut points, &mut Vec::new())).count();
        assert_eq!((marked, points.to_name, points.score().0), (0, 0, 100.0));
    }
}
