//! Rules: what is done by itself when a verdict holds for so long with its cause confirmed. Off until they are switched on, dry until
//! that is switched off, and limited a day. What a rule does goes the way of every deed: plan, leave, journal, verification.

use std::sync::Arc;

use dwell_fleet::{FlagKind, Timestamp, is_plain, seconds_between, shift};
use dwell_history::{ActEntry, History, RuleActs};
use tokio::sync::{mpsc, oneshot};

use super::rollout::MayAct;
use super::{Acting, Journal, Leave, LiveHands, Machines, Patience, Plan, locked, plan, this_process, token, who};
use crate::ApiError;
use crate::drive::Ask;
use crate::dto::*;
use crate::settings::{Folder, Settings};

/// Time between two looks at the rules, seconds.
const EVERY_S: f64 = 30.0;
const DAY_S: f64 = 86_400.0;
/// A rule acts on nobody sooner than this, seconds: a verdict that has just come can go again.
const HOLDS_LEAST_S: f64 = 60.0;
/// What a rule can do.
const DEEDS: [&str; 4] = ["kill", "destroy", "reboot", "ban"];

/// Refuses a rule that makes no sense.
pub(crate) fn checked(rule: &Rule) -> Result<(), ApiError> {
    let bad = |message: &str, hint: String| Err(ApiError::new(ErrorCode::BadRequest, message).hint(hint));
    let named = !rule.name.trim().is_empty() && rule.name.len() <= 60 && rule.name.chars().all(|it| is_plain(it) && it != ':');
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

/// What a rule has begun within the last day.
fn of_today(rule: &Rule, journal: &History, now: Timestamp) -> Result<RuleActs, ApiError> {
    Ok(journal.rule_acts(&rule.name, shift(now, -DAY_S))?)
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
fn stopped(
    rule: &Rule,
    id: &str,
    dollars_per_h: Option<f64>,
    journal: &History,
    now: Timestamp,
) -> Result<Option<&'static str>, ApiError> {
    // What was done dry is done once the rule is switched on.
    if journal.rule_has_begun(&rule.name, id, rule.dry_run)? {
        return Ok(Some("done already"));
    }
    let today = of_today(rule, journal, now)?;
    if today.count >= rule.per_day as usize {
        return Ok(Some("the daily number is reached"));
    }
    // A price that is not told counts for nothing that could be limited: nothing is done.
    Ok(match dollars_per_h {
        None => Some("its price is not known"),
        Some(price) if today.dollars_per_h + price > rule.dollars_per_h_a_day + 1e-9 => Some("the daily dollars are reached"),
        Some(_) => None,
    })
}

/// Rules of a fleet with what they did today.
pub(crate) fn told(rules: Vec<Rule>, journal: &Journal, now: Timestamp) -> Result<Rules, ApiError> {
    let journal = locked(journal);
    let view = |rule: Rule| {
        let today = of_today(&rule, &journal, now)?;
        Ok(RuleView { today: today.count, dollars_per_h_today: today.dollars_per_h, rule })
    };
    Ok(Rules { rules: rules.into_iter().map(view).collect::<Result<_, ApiError>>()? })
}

/// What is needed to follow the rules of a fleet.
pub(crate) struct Following {
    pub(crate) folder: Folder,
    /// The fleet's name.
    pub(crate) name: String,
    /// A connected fleet as it was saved then; another one can get its name.
    pub(crate) saved: Option<SavedFleet>,
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
            let settings = Settings::load(&self.folder).unwrap_or_default();
            let is_it = self.saved.as_ref().is_none_or(|saved| settings.still(saved).is_some());
            let rules = if is_it { settings.rules } else { Vec::new() };
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
                let now = self.hands.clock.now();
                let stopped = stopped(rule, &member.id, page.row.dollars_per_h, &locked(&self.journal), now)?;
                if stopped.is_none() {
                    self.act(rule, &page.row).await?;
                }
            }
        }
        Ok(())
    }

    async fn act(&self, rule: &Rule, row: &InstanceRow) -> Result<(), ApiError> {
        let Some(view) = self.ask(Ask::Fleet).await else { return Ok(()) };
        let why = format!(
            "rule {}: {} for {} with {} confirmed",
            rule.name,
            rule.verdict,
            dwell_fleet::words::duration(rule.for_s),
            rule.cause
        );
        let text = (rule.deed == "ban").then(|| why.clone());
        let request = PlanRequest { deed: rule.deed.clone(), ids: vec![row.id.clone()], text, why: Some(why.clone()) };
        let may_act = (self.may_act)().is_ok();
        let rentals = match rule.deed.as_str() {
            "ban" => None,
            _ => self.hands.listed(Some(&view)).await,
        };
        let planned = Plan {
            rule: Some(rule.name.clone()),
            ..plan(self.hands.scope(), Some(&view), rentals.as_ref(), &Machines::default(), &request, !may_act)?
        };
        if rule.dry_run {
            let entry = ActEntry {
                id: 0,
                plan: token()?,
                at: self.hands.clock.now(),
                who: who(),
                process: this_process(),
                why,
                rule: Some(rule.name.clone()),
                fleet: view.watching.address.clone(),
                simulated: view.watching.simulated.clone(),
                deed: rule.deed.clone(),
                deed_text: None,
                target: row.id.clone(),
                uuid: row.uuid.clone(),
                vast_id: row.vast_id,
                machine: row.machine_id,
                account: None,
                account_number: None,
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
        // What hits more than it is meant for is a person's to confirm.
        if let Some(warning) = planned.view.steps.iter().find_map(|step| step.warning.as_ref()) {
            tracing::warn!("rule {} leaves {} alone: {warning}", rule.name, row.id);
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
            rule: Some("silent".into()),
            fleet: "f".into(),
            simulated: None,
            deed: "kill".into(),
            deed_text: None,
            target: target.into(),
            uuid: None,
            vast_id: None,
            machine: None,
            account: None,
            account_number: None,
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
        let journal = |entries: &[ActEntry]| {
            let history = History::in_memory().unwrap();
            entries.iter().for_each(|entry| history.add_act(entry).unwrap());
            history
        };
        let why = |id: &str, price: Option<f64>, entries: &[ActEntry], rule: &Rule| {
            stopped(rule, id, price, &journal(entries), now).unwrap()
        };
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
        // A person's words are no rule's deed, whatever they begin with, and a rule's own need not begin with its name.
        let typed = [ActEntry { rule: None, ..entry("a", "planned", 99_000, 0.4) }];
        assert_eq!(why("a", Some(0.4), &typed, &rule()), None);
        let renamed = [ActEntry { why: "silent again".into(), ..entry("a", "planned", 99_000, 0.4) }];
        assert_eq!(why("a", Some(0.4), &renamed, &rule()), Some("done already"));
        // However much was done since.
        let mut long = two.to_vec();
        long.extend((0..2_100).map(|nth| ActEntry { rule: None, ..entry(&format!("p{nth}"), "verified", 99_500, 0.1) }));
        assert_eq!(why("c", Some(0.1), &long, &rule()), Some("the daily number is reached"));
        assert_eq!(why("a", Some(0.1), &long, &rule()), Some("done already"));
        // Another rule's deeds are its own.
        assert_eq!(why("a", Some(0.4), &one, &Rule { name: "other".into(), ..rule() }), None);
    }
}
