//! Rules: what is done by itself when a verdict holds for so long with its cause confirmed. Off until they are switched on, dry until
//! that is switched off, and limited a day. What a rule does goes the way of every deed: plan, leave, journal, verification.

use std::sync::Arc;

use dwell_fleet::{FlagKind, Timestamp, seconds_between};
use dwell_history::ActEntry;
use tokio::sync::{mpsc, oneshot};

use super::rollout::MayAct;
use super::{Acting, Journal, Leave, LiveHands, Patience, locked, plan, this_process, token, who};
use crate::ApiError;
use crate::drive::Ask;
use crate::dto::*;
use crate::settings::{Folder, Settings};

/// Time between two looks at the rules, seconds.
const EVERY_S: f64 = 30.0;
const DAY_S: f64 = 86_400.0;
/// Entries of the journal that are looked at.
const ENTRIES_MAX: usize = 2_000;
/// A rule acts on nobody sooner than this, seconds: a verdict that has just come can go again.
const HOLDS_LEAST_S: f64 = 60.0;
/// What a rule can do.
const DEEDS: [&str; 4] = ["kill", "destroy", "reboot", "ban"];

/// Refuses a rule that makes no sense.
pub(crate) fn checked(rule: &Rule) -> Result<(), ApiError> {
    let bad = |message: &str, hint: String| Err(ApiError::new("bad-request", message).hint(hint));
    let named =
        !rule.name.trim().is_empty() && rule.name.len() <= 60 && !rule.name.chars().any(|it| it.is_control() || it == ':');
    if !named {
        return bad("a rule has a name of 1 to 60 letters, without a colon", String::new());
    }
    if FlagKind::parse(&rule.verdict).is_none() {
        return bad("no verdict is called so", "there are: stalled, invisible, contradicted, leaking, slow, gone".to_owned());
    }
    if dwell_diagnosis::cause_of(&rule.cause).is_none() {
        return bad("no cause is called so", "dwellctl explain lists them".to_owned());
    }
    if !DEEDS.contains(&rule.deed.as_str()) {
        return bad("a rule cannot do that", format!("it can: {}", DEEDS.join(", ")));
    }
    let limits = rule.for_s >= HOLDS_LEAST_S && rule.for_s.is_finite() && rule.per_day >= 1 && rule.dollars_per_h_a_day > 0.0;
    if !limits || !rule.dollars_per_h_a_day.is_finite() {
        return bad("a rule waits for a minute at least, and has a daily limit in number and in dollars an hour", String::new());
    }
    Ok(())
}

/// How what a rule does is found in the journal again.
fn mark(rule: &Rule) -> String {
    format!("rule {}: ", rule.name)
}

/// What a rule has begun: each target once.
fn begun<'a>(rule: &Rule, entries: &'a [ActEntry]) -> impl Iterator<Item = &'a ActEntry> {
    let mark = mark(rule);
    entries.iter().filter(move |it| it.why.starts_with(&mark) && matches!(it.phase.as_str(), "planned" | "dry-run"))
}

/// What a rule has begun within the last day: how many, and what those cost an hour, US dollars.
fn of_today(rule: &Rule, entries: &[ActEntry], now: Timestamp) -> (usize, f64) {
    let recent = begun(rule, entries).filter(|it| seconds_between(it.at, now) < DAY_S);
    recent.fold((0, 0.0), |(count, dollars), it| (count + 1, dollars + it.dollars_per_h.unwrap_or(0.0)))
}

/// Whether a rule holds for an instance: its verdict for long enough, and its cause confirmed, alone.
fn holds(rule: &Rule, verdict: &str, since: Timestamp, as_of: Timestamp, page: &DiagnosisPage) -> bool {
    let confirmed: Vec<&str> = page
        .groups
        .iter()
        .flat_map(|group| &group.causes)
        .filter(|cause| cause.standing == "confirmed")
        .map(|cause| cause.id.as_str())
        .collect();
    verdict == rule.verdict && seconds_between(since, as_of) >= rule.for_s && confirmed == [rule.cause.as_str()] && !page.closed
}

/// Why a rule does nothing more to this one, or today.
fn stopped(rule: &Rule, id: &str, dollars_per_h: Option<f64>, entries: &[ActEntry], now: Timestamp) -> Option<&'static str> {
    // What was done dry is done once the rule is switched on.
    let again = begun(rule, entries).any(|it| it.target == id && (rule.dry_run || it.phase == "planned"));
    if again {
        return Some("done already");
    }
    let (count, dollars) = of_today(rule, entries, now);
    if count >= rule.per_day as usize {
        return Some("the daily number is reached");
    }
    // A price that is not told counts for nothing that could be limited: nothing is done.
    match dollars_per_h {
        None => Some("its price is not known"),
        Some(price) if dollars + price > rule.dollars_per_h_a_day + 1e-9 => Some("the daily dollars are reached"),
        Some(_) => None,
    }
}

/// Rules of a fleet with what they did today.
pub(crate) fn told(rules: Vec<Rule>, journal: &Journal, now: Timestamp) -> Result<Rules, ApiError> {
    let entries = locked(journal).acts(ENTRIES_MAX)?;
    let view = |rule: Rule| {
        let (today, dollars_per_h_today) = of_today(&rule, &entries, now);
        RuleView { today, dollars_per_h_today, rule }
    };
    Ok(Rules { rules: rules.into_iter().map(view).collect() })
}

/// What is needed to follow the rules of a fleet.
pub(crate) struct Following {
    pub(crate) folder: Folder,
    /// The fleet's name.
    pub(crate) name: String,
    pub(crate) asks: mpsc::WeakSender<Ask>,
    pub(crate) hands: LiveHands,
    pub(crate) journal: Journal,
    pub(crate) acting: Arc<Acting>,
    pub(crate) may_act: MayAct,
}

impl Following {
    async fn ask<T>(&self, make: impl FnOnce(oneshot::Sender<T>) -> Ask) -> Option<T> {
        let asks = self.asks.upgrade()?;
        let (reply, answer) = oneshot::channel();
        asks.send(make(reply)).await.ok()?;
        drop(asks);
        answer.await.ok()
    }

    /// Looks at the rules again and again, as long as the fleet is watched.
    pub(crate) async fn run(self) {
        loop {
            super::perform::Hands::pause(&self.hands, EVERY_S).await;
            if self.asks.upgrade().is_none() {
                return;
            }
            let rules = Settings::load(&self.folder).map(|it| it.rules).unwrap_or_default();
            for rule in rules.iter().filter(|rule| rule.on && rule.fleet == self.name) {
                if let Err(error) = self.follow(rule).await {
                    tracing::warn!(%error, "rule {} could not be followed", rule.name);
                }
            }
        }
    }

    async fn follow(&self, rule: &Rule) -> Result<(), ApiError> {
        checked(rule)?;
        let Some(incidents) = self.ask(Ask::Incidents).await else { return Ok(()) };
        let Some(as_of) = incidents.as_of else { return Ok(()) };
        for incident in incidents.incidents.iter().filter(|it| it.verdict == rule.verdict) {
            for member in &incident.instances {
                let id = member.id.clone();
                let Some(Ok(page)) = self.ask(|reply| Ask::Diagnosis(id, reply)).await else { continue };
                if !holds(rule, &incident.verdict, member.since, as_of, &page) {
                    continue;
                }
                let entries = locked(&self.journal).acts(ENTRIES_MAX)?;
                if stopped(rule, &member.id, page.row.dollars_per_h, &entries, self.hands.clock.now()).is_none() {
                    self.act(rule, &page.row).await?;
                }
            }
        }
        Ok(())
    }

    async fn act(&self, rule: &Rule, row: &InstanceRow) -> Result<(), ApiError> {
        let Some(view) = self.ask(Ask::Fleet).await else { return Ok(()) };
        let why = format!(
            "{}{} for {} with {} confirmed",
            mark(rule),
            rule.verdict,
            dwell_fleet::words::duration(rule.for_s),
            rule.cause
        );
        let text = (rule.deed == "ban").then(|| why.clone());
        let request = PlanRequest { deed: rule.deed.clone(), ids: vec![row.id.clone()], text, why: Some(why.clone()) };
        let may_act = (self.may_act)().is_ok();
        let planned = plan(Some(&view), None, &request, !may_act)?;
        if rule.dry_run {
            let entry = ActEntry {
                id: 0,
                plan: token()?,
                at: self.hands.clock.now(),
                who: who(),
                process: this_process(),
                why,
                fleet: view.watching.address.clone(),
                simulated: view.watching.simulated.clone(),
                deed: rule.deed.clone(),
                deed_text: None,
                target: row.id.clone(),
                uuid: row.uuid.clone(),
                vast_id: row.vast_id,
                machine: row.machine_id,
                dollars_per_h: row.dollars_per_h,
                phase: "dry-run".to_owned(),
                text: format!("would be done: {}", planned.view.sentence),
            };
            locked(&self.journal).add_act(&entry)?;
            return Ok(());
        }
        if planned.targets.is_empty() || !may_act {
            return Ok(());
        }
        let leave = Leave::of(may_act)?;
        self.acting.begin(leave, planned, &self.hands, &self.journal, Patience::default())?.detach_all();
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]
mod tests {
    use super::*;

    fn rule() -> Rule {
        Rule {
            name: "silent".into(),
            fleet: "f".into(),
            verdict: "stalled".into(),
            cause: "pipeline-deadlock".into(),
            for_s: 900.0,
            deed: "kill".into(),
            on: true,
            dry_run: false,
            per_day: 2,
            dollars_per_h_a_day: 1.0,
        }
    }

    fn entry(target: &str, phase: &str, at_s: i64, dollars: f64) -> ActEntry {
        ActEntry {
            id: 0,
            plan: target.into(),
            at: Timestamp::from_second(at_s).unwrap(),
            who: "o".into(),
            process: "1 1".into(),
            why: "rule silent: stalled".into(),
            fleet: "f".into(),
            simulated: None,
            deed: "kill".into(),
            deed_text: None,
            target: target.into(),
            uuid: None,
            vast_id: None,
            machine: None,
            dollars_per_h: Some(dollars),
            phase: phase.into(),
            text: String::new(),
        }
    }

    #[test]
    fn a_rule_that_makes_no_sense_is_refused() {
        checked(&rule()).unwrap();
        for wrong in [
            Rule { name: " ".into(), ..rule() },
            Rule { name: "a: b".into(), ..rule() },
            Rule { verdict: "sad".into(), ..rule() },
            Rule { cause: "gremlins".into(), ..rule() },
            Rule { deed: "deploy".into(), ..rule() },
            Rule { for_s: 0.0, ..rule() },
            Rule { per_day: 0, ..rule() },
            Rule { dollars_per_h_a_day: f64::INFINITY, ..rule() },
        ] {
            assert!(checked(&wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn each_is_done_once_and_no_more_a_day_than_allowed() {
        let now = Timestamp::from_second(100_000).unwrap();
        let why = |id: &str, price: Option<f64>, entries: &[ActEntry], rule: &Rule| stopped(rule, id, price, entries, now);
        assert_eq!(why("a", Some(0.4), &[], &rule()), None);
        assert_eq!(why("a", None, &[], &rule()), Some("its price is not known"));
        let one = [entry("a", "planned", 99_000, 0.4), entry("a", "verified", 99_100, 0.4)];
        assert_eq!(why("a", Some(0.4), &one, &rule()), Some("done already"));
        assert_eq!(why("b", Some(0.4), &one, &rule()), None);
        assert_eq!(why("b", Some(0.7), &one, &rule()), Some("the daily dollars are reached"));
        let two = [entry("a", "planned", 99_000, 0.1), entry("b", "planned", 99_000, 0.1)];
        assert_eq!(why("c", Some(0.1), &two, &rule()), Some("the daily number is reached"));
        let yesterday = [entry("a", "planned", 1_000, 0.9), entry("b", "planned", 2_000, 0.9)];
        assert_eq!(why("c", Some(0.4), &yesterday, &rule()), None);
        // Dry ones are told once, and done when the rule is switched on.
        let dry = [entry("a", "dry-run", 99_000, 0.4)];
        assert_eq!(why("a", Some(0.4), &dry, &Rule { dry_run: true, ..rule() }), Some("done already"));
        assert_eq!(why("a", Some(0.4), &dry, &rule()), None);
        // Another rule's deeds are its own.
        assert_eq!(why("a", Some(0.4), &one, &Rule { name: "other".into(), ..rule() }), None);
    }
}
