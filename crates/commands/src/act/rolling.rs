//! What a deployment or a rolling replacement would do, before it is begun; and how those that were begun stand.

use std::collections::HashSet;
use std::sync::Arc;

use dwell_fleet::{Timestamp, seconds_between};
use dwell_history::RolloutRecord;

use super::rollout::{self, Item, MayAct, OldOne, Runner, Stand, Terms};
use super::{
    Acting, GONE, Journal, Leave, PLANS_MAX, Patience, Renter, Scope, TOKEN_S, changed, differences, goes_on, locked, others,
    subject, this_process, token,
};
use crate::ApiError;
use crate::dto::*;
use crate::keys;
use crate::offers::{DISK_GB, NO_PRICE};

/// Items of one rollout.
const ITEMS_MAX: usize = 200;
/// New ones on their way at a time.
const AT_ONCE_MAX: u32 = 50;
/// As long as the manager's timers let one live without running (15 minutes, 90 and 45), seconds.
const RUNNING_WITHIN_S: f64 = 9_000.0;
/// Hours that the credit has to last.
const CREDIT_LASTS_H: f64 = 6.0;
/// Offers that are shown beforehand.
const OFFERS_SHOWN: usize = 12;
/// Letters of a script that the container runs at its start (vast.ai takes 4,096 with its arguments).
const ONSTART_MAX: usize = 4_096;

/// A rollout that can be begun.
#[derive(Debug, Clone)]
pub(crate) struct Planned {
    pub(crate) view: RolloutPlan,
    terms: Terms,
    olds: Vec<Option<OldOne>>,
    /// The watch that it was made in.
    scope: Scope,
    fleet: String,
    simulated: Option<String>,
}

fn bad(message: impl Into<String>) -> ApiError {
    ApiError::new(ErrorCode::BadRequest, message)
}

impl Planned {
    /// Refused where what it replaces is not what was shown any more, by what is seen now: that has to be confirmed anew.
    fn still_holds(&self, seen: &FleetView) -> Result<(), ApiError> {
        let mut changes = Vec::new();
        for (step, old) in self.view.replaces.iter().zip(self.olds.iter().flatten()) {
            match subject(Some(seen), None, &old.id) {
                Ok(is) => changes.extend(differences((&old.target(&is.target.fleet), &step.is_now), (&is.target, &is.is_now))),
                Err(_) => changes.push(format!("{} is not seen any more", old.id)),
            }
        }
        if !self.view.replaces.is_empty() && seen.connection.state != "ok" {
            changes.push("the manager does not answer any more, so that how they are now is not known".to_owned());
        }
        if changes.is_empty() { Ok(()) } else { Err(changed(&changes)) }
    }
}

/// What was asked, checked.
fn terms(request: &RolloutRequest) -> Result<Terms, ApiError> {
    let positive = |what: &str, value: Option<f64>| match value {
        Some(value) if !(value.is_finite() && value > 0.0) => Err(bad(format!("{what} is a number above 0"))),
        _ => Ok(()),
    };
    positive("what new ones may cost", Some(request.extra_dollars_per_h))?;
    positive("a minimum rate", request.min_rate)?;
    positive("the price of a proof", request.dollars_per_proof_max)?;
    positive("the longest time until one runs", request.running_within_s)?;
    if request.credit_lasts_h.is_some_and(|hours| !(hours.is_finite() && hours >= 0.0)) {
        return Err(bad("how long the credit has to last is a number of hours from 0 up"));
    }
    let at_once = request.at_once.unwrap_or(1);
    if !(1..=AT_ONCE_MAX).contains(&at_once) {
        return Err(bad(format!("1 to {AT_ONCE_MAX} at a time")));
    }
    if request.min_rate.is_some() && request.dollars_per_proof_max.is_some() {
        return Err(bad("the minimum rate follows from the price of a proof: give one of them"));
    }
    let given = request.onstart.is_some() || !request.env.is_empty();
    if request.image.is_none() && given {
        return Err(bad("the manager deploys its own image with its own start and environment")
            .hint("name an image to rent straight from vast.ai"));
    }
    if let Some(name) = request.env.iter().find(|it| it.value.is_some() && keys::looks_secret(&it.name)).map(|it| &it.name) {
        return Err(ApiError::new(
            ErrorCode::SecretInClear,
            format!("{name} reads like a secret, and its value would be stored in the clear"),
        )
        .hint(format!("keep it in the keychain: dwellctl keys set-env {name}; then give its name alone: --env {name}")));
    }
    if request.onstart.as_ref().is_some_and(|script| script.len() > ONSTART_MAX) {
        return Err(bad(format!("what runs at the start has {ONSTART_MAX} letters at most")));
    }
    Ok(Terms {
        through_manager: request.image.is_none(),
        image: request.image.clone(),
        onstart: request.onstart.clone(),
        env: request.env.clone(),
        disk_gb: request.market.disk_gb.unwrap_or(DISK_GB),
        min_rate: request.min_rate,
        dollars_per_proof_max: request.dollars_per_proof_max,
        at_once: at_once as usize,
        extra_dollars_per_h: request.extra_dollars_per_h,
        running_within_s: request.running_within_s.unwrap_or(RUNNING_WITHIN_S),
        credit_lasts_h: request.credit_lasts_h.unwrap_or(CREDIT_LASTS_H),
        market: request.market.clone(),
        offer_ids: request.offer_ids.clone(),
        why: request.why.clone().unwrap_or_default(),
    })
}

/// Whom a request replaces.
fn olds(view: &FleetView, rented: &[RentedView], request: &RolloutRequest) -> Result<Vec<(OldOne, String)>, ApiError> {
    let mut ids: Vec<&str> = rented.iter().map(|it| it.id.as_str()).collect();
    ids.extend(request.ids.iter().map(String::as_str));
    let mut seen = HashSet::new();
    let mut olds = Vec::new();
    for id in ids {
        let subject = subject(Some(view), None, id)?;
        if subject.is_killed {
            return Err(ApiError::new(ErrorCode::BadRequest, format!("{id} is killed already: there is nothing to replace")));
        }
        let target = subject.target;
        // What is retired is the rental, whichever row is meant.
        if let [other, ..] = &others(&target, Some(view))[..] {
            let words = format!("{id} shares its rental with {} ({}): retiring the one ends the other", other.id, other.state);
            return Err(ApiError::new(ErrorCode::SharedRental, words)
                .hint("replace neither of them before the manager lists the rental once"));
        }
        if seen.insert(target.id.clone()) {
            let old = OldOne {
                id: target.id,
                uuid: target.uuid,
                vast_id: target.vast_id,
                machine: target.machine,
                account: target.account,
                dollars_per_h: target.dollars_per_h,
            };
            olds.push((old, subject.is_now));
        }
    }
    Ok(olds)
}

/// Plans it. `rented` are those that were rented before the date that is asked for; `credit` is what the account has and spends an
/// hour.
pub(crate) fn plan(
    scope: &Scope,
    (view, rented): (&FleetView, &[RentedView]),
    market: &OffersView,
    credit: Option<(f64, f64)>,
    sees_vast: bool,
    request: &RolloutRequest,
    read_only: bool,
) -> Result<Planned, ApiError> {
    let terms = terms(request)?;
    let replaced = olds(view, rented, request)?;
    if (request.count > 0) != replaced.is_empty() {
        let none = replaced.is_empty() && request.rented_before.is_some();
        return Err(bad(if none { "nobody was rented before then" } else { "either so many new ones, or whom they replace" }));
    }
    let count = if replaced.is_empty() { request.count as usize } else { replaced.len() };
    if count > ITEMS_MAX {
        return Err(bad(format!("{ITEMS_MAX} at most; these are {count}")));
    }
    let taken: HashSet<u64> = replaced.iter().filter_map(|(old, _)| old.machine).collect();
    let mut machines: HashSet<u64> = HashSet::new();
    let can: Vec<&OfferView> = market
        .offers
        .iter()
        .filter(|offer| offer.why_not.is_empty() && offer.dollars_per_h.is_some_and(rollout::is_price))
        .filter(|offer| terms.offer_ids.is_empty() || terms.offer_ids.contains(&offer.id))
        .filter(|offer| terms.dollars_per_proof_max.is_none_or(|most| offer.dollars_per_proof.is_none_or(|it| it <= most)))
        .filter(|offer| offer.machine_id.is_none_or(|machine| !taken.contains(&machine) && machines.insert(machine)))
        .take(count)
        .collect();
    let prices: Vec<f64> = can.iter().filter_map(|offer| offer.dollars_per_h).collect();
    let all: f64 = prices.iter().sum();
    let cheapest = prices.iter().copied().reduce(f64::min);
    let mut notes = market.notes.clone();
    if can.len() < count {
        notes.push(format!("{} offers fit now, for {count}: the others wait until more are there", can.len()));
    }
    if replaced.is_empty() && all > terms.extra_dollars_per_h + 1e-9 {
        notes.push(format!(
            "they would cost {all:.2} $/h, and {:.2} are allowed: it pauses when that is reached",
            terms.extra_dollars_per_h
        ));
    }
    if terms.through_manager {
        notes.push("the manager rents with its own image: a fix has to be in that one to reach the new ones".to_owned());
        notes.push(format!(
            "the manager's offers are priced with 5 GB of disk: {:.0} GB are billed, about {:.2} $/h more at 0.15 $ a GB and month, which each host sets itself, and count as soon as that is known",
            terms.disk_gb,
            rollout::DISK_DOLLARS_PER_H * terms.disk_gb
        ));
        if !sees_vast {
            notes.push(
                "without a key of vast.ai the manager's copy of the list tells what was rented: as old as a minute".to_owned(),
            );
        }
    }
    let clear: Vec<&str> = terms.env.iter().filter(|it| it.value.is_some()).map(|it| it.name.as_str()).collect();
    if !clear.is_empty() {
        notes.push(format!("stored with the rollout as they are, for they are taken for no secrets: {}", clear.join(", ")));
    }
    if !terms.env.is_empty() {
        notes.push("whoever owns a machine can read the whole environment of what runs there".to_owned());
    }
    if let Some(rate) = can.first().and_then(|offer| terms.min_rate_of(offer.dollars_per_h?)) {
        notes.push(format!("the manager kills what proves less than {rate:.1} proofs/h in its benchmark (the first offer)"));
    }
    if terms.through_manager && terms.min_rate.is_none() && terms.dollars_per_proof_max.is_none() {
        notes.push(
            "no minimum rate is given: the manager is told 1 proof/h, so that it kills nobody by it (it takes 50 where it is told none)"
                .to_owned(),
        );
    }
    match credit {
        Some((credit, spends)) => {
            notes.push(match rollout::lasts_h(credit, spends + all.min(terms.extra_dollars_per_h)) {
                Some(lasts_h) => format!(
                    "the credit of {credit:.2} dollars lasts {:.0} h with them; it pauses below {:.0} h",
                    lasts_h.max(0.0),
                    terms.credit_lasts_h
                ),
                None => format!("the credit of the account is not known: it tells {credit} dollars and {spends} $/h"),
            });
        }
        None => notes.push("the credit of the account is not known".to_owned()),
    }
    let refused = if !terms.through_manager && !sees_vast {
        Some("no key of a vast.ai account is known: an image of one's own is rented straight from there".to_owned())
    } else if can.is_empty() {
        let no_price = || market.offers.iter().any(|it| !it.dollars_per_h.is_some_and(rollout::is_price)).then_some(NO_PRICE);
        let why = market.offers.iter().find_map(|offer| offer.why_not.first().map(String::as_str)).or_else(no_price);
        Some(match why {
            Some(why) => format!("none of {} offers fits; the first: {why}", market.offers.len()),
            None => "no offer fits".to_owned(),
        })
    } else if cheapest.is_some_and(|price| price > terms.extra_dollars_per_h + 1e-9) {
        Some(format!(
            "the cheapest costs {:.2} $/h, and {:.2} are allowed",
            cheapest.unwrap_or_default(),
            terms.extra_dollars_per_h
        ))
    } else {
        None
    };
    let (word, ones) =
        (if replaced.is_empty() { "deploy" } else { "replace" }, if count == 1 { "instance" } else { "instances" });
    let at_once = if terms.at_once == 1 { "one at a time".to_owned() } else { format!("{} at a time", terms.at_once) };
    let sentence = if replaced.is_empty() {
        format!("Deploy {count} {ones}, {at_once}; at most {:.2} dollars an hour.", terms.extra_dollars_per_h)
    } else {
        format!(
            "Replace {count} {ones}, {at_once}: a new one is rented, and the old one is retired only when it runs; at most {:.2} dollars an hour extra.",
            terms.extra_dollars_per_h
        )
    };
    let steps = replaced.iter().map(|(old, is_now)| PlanStep {
        id: old.id.clone(),
        is_now: is_now.clone(),
        what: "Retired when its replacement runs; stays as it is where that gets stuck.".to_owned(),
        lost: Some(super::LOST.to_owned()),
        warning: None,
        refused: None,
        dollars_per_h: old.dollars_per_h,
        account: None,
    });
    let view_of_plan = RolloutPlan {
        token: None,
        sentence,
        replaces: steps.collect(),
        offers: can.into_iter().take(OFFERS_SHOWN).cloned().collect(),
        dollars_per_h: (!prices.is_empty()).then_some(all),
        notes,
        refused,
        confirm_with: Some(format!("{word} {count}")),
        read_only,
    };
    let olds = match replaced.is_empty() {
        true => vec![None; count],
        false => replaced.into_iter().map(|(old, _)| Some(old)).collect(),
    };
    Ok(Planned {
        view: view_of_plan,
        terms,
        olds,
        scope: scope.clone(),
        fleet: view.watching.address.clone(),
        simulated: view.watching.simulated.clone(),
    })
}

impl Acting {
    /// Keeps a plan until it is begun, and gives it with its token.
    pub(crate) fn keep_rollout(&self, planned: Planned, now: Timestamp) -> Result<RolloutPlan, ApiError> {
        if planned.view.read_only || planned.view.refused.is_some() {
            return Ok(planned.view);
        }
        let token = token()?;
        let mut waiting = locked(&self.rollouts);
        waiting.retain(|_, (at, _)| seconds_between(*at, now) < TOKEN_S);
        if waiting.len() >= PLANS_MAX {
            return Err(
                ApiError::new(ErrorCode::TooManyPlans, "too many plans wait to be carried out").hint("try again in two minutes")
            );
        }
        let view = RolloutPlan { token: Some(token.clone()), ..planned.view.clone() };
        waiting.insert(token, (now, planned));
        Ok(view)
    }

    /// Begins what was planned, by its token: once, and only while what it replaces is, in the fleet as it is `seen` now, what was shown.
    /// What was begun is on disk before anything is done. `now` is this machine's time, `at` the fleet's. Gives its name.
    pub(crate) fn begin_rollout(
        &self,
        _leave: Leave,
        scope: &Scope,
        request: &CarryOut,
        journal: &Journal,
        (now, at): (Timestamp, Timestamp),
        seen: &FleetView,
    ) -> Result<String, ApiError> {
        let mut waiting = locked(&self.rollouts);
        let gone = || {
            ApiError::new(
                GONE,
                "this plan was carried out already, is older than two minutes, or is of a fleet that was watched before",
            )
            .hint("make it again: the fleet may have changed")
        };
        let (planned_at, planned) = waiting.get(&request.token).ok_or_else(gone)?;
        if seconds_between(*planned_at, now) >= TOKEN_S {
            waiting.remove(&request.token);
            return Err(gone());
        }
        scope.admits(&planned.scope)?;
        let wanted = planned.view.confirm_with.clone().unwrap_or_default();
        if request.confirmation.as_deref().map(str::trim) != Some(wanted.as_str()) {
            return Err(ApiError::new(ErrorCode::NotConfirmed, format!("to confirm this, type {wanted:?}")));
        }
        let (_, mut planned) = waiting.remove(&request.token).ok_or_else(gone)?;
        drop(waiting);
        planned.still_holds(seen)?;
        if let Some(why) = request.why.as_deref().map(str::trim).filter(|why| !why.is_empty()) {
            why.clone_into(&mut planned.terms.why);
        }
        // Nobody is replaced twice at a time.
        let busy = under_way(journal, &planned.fleet)?;
        if let Some(id) = planned.olds.iter().flatten().map(|old| &old.id).find(|id| busy.contains(*id)) {
            return Err(ApiError::new(ErrorCode::UnderWay, format!("{id} is being replaced already"))
                .hint("dwellctl rollouts, or the window's rollouts, show how far that is"));
        }
        let name = token()?.chars().take(8).collect::<String>();
        let items = rollout::items(planned.olds, at);
        let record = rollout::record((name.clone(), planned.fleet, planned.simulated), &planned.terms, &items, at);
        locked(journal).add_rollout(&record)?;
        Ok(name)
    }

    /// Takes the steps of a rollout in this process, from where it stands. `None` where it is done here already.
    pub(crate) fn run_rollout(
        &self,
        _leave: Leave,
        name: &str,
        renter: Renter,
        journal: &Journal,
        patience: Patience,
        may_act: MayAct,
    ) -> Result<Option<tokio::task::JoinHandle<()>>, ApiError> {
        let record = rollout::of_fleet(&locked(journal), name, renter.hands.scope().fleet())?;
        if record.state == "ended" {
            return Err(ApiError::new(ErrorCode::RolloutEnded, format!("{name} has ended: {}", record.says)));
        }
        let process = this_process();
        // Held until it is said that it goes on: whoever is about to end here looks once more before it does.
        let mut running = locked(&self.running);
        let here = running.contains(name);
        if !here && record.process != process && goes_on(&record.process) {
            return Err(ApiError::new(ErrorCode::UnderWay, format!("another process takes the steps of {name}"))
                .hint("pause it, wait until its steps are taken, or end that process"));
        }
        locked(journal).set_rollout(name, &["going", "paused"], "going", "", &process)?;
        if here {
            return Ok(None);
        }
        running.insert(name.to_owned());
        drop(running);
        let (journal, running, name) = (Arc::clone(journal), Arc::clone(&self.running), name.to_owned());
        let record = RolloutRecord { process, ..record };
        Ok(Some(tokio::spawn(async move {
            let mut kept = record;
            loop {
                let ran = match Runner::new(&renter, &journal, patience, &kept) {
                    Ok(runner) => runner.run(Arc::clone(&may_act)).await,
                    Err(error) => Err(error),
                };
                if let Err(error) = ran {
                    tracing::error!(%error, "the steps of {name} are not taken any more");
                    let _ = locked(&journal).set_rollout(&name, &["going"], "paused", &error.message, &kept.process);
                }
                // Somebody may have resumed it just before it ended here.
                let mut running = locked(&running);
                let now = locked(&journal).rollout(&name).ok().flatten();
                match now.filter(|now| now.state == "going" && now.process == kept.process) {
                    Some(now) => kept = now,
                    None => {
                        running.remove(&name);
                        return;
                    }
                }
            }
        })))
    }
}

/// Whom rollouts that have not ended replace.
fn under_way(journal: &Journal, fleet: &str) -> Result<HashSet<String>, ApiError> {
    let open = locked(journal).rollouts(fleet)?.into_iter().filter(|it| it.state != "ended");
    let items = open.flat_map(|it| it.items).filter_map(|it| Item::read(&it));
    let still = items.filter(|item| !matches!(item.stand, Stand::Done | Stand::Failed | Stand::Left));
    Ok(still.filter_map(|item| item.body.old.map(|old| old.id)).collect())
}

/// Tells whoever takes its steps to begin no new one.
pub(crate) fn pause(journal: &Journal, name: &str, fleet: &str) -> Result<(), ApiError> {
    let journal = locked(journal);
    let record = rollout::of_fleet(&journal, name, fleet)?;
    journal.set_rollout(name, &["going"], "paused", "paused by a person", &record.process)?;
    Ok(())
}

/// How the rollouts of a fleet stand.
pub(crate) fn told(journal: &Journal, fleet: &str) -> Result<Rollouts, ApiError> {
    let records = locked(journal).rollouts(fleet)?;
    Ok(Rollouts { rollouts: records.iter().filter_map(view).collect() })
}

fn view(record: &RolloutRecord) -> Option<RolloutView> {
    let terms: Terms = serde_json::from_str(&record.terms).ok()?;
    let items: Vec<Item> = record.items.iter().map(Item::read).collect::<Option<_>>()?;
    Some(RolloutView {
        name: record.name.clone(),
        kind: if items.iter().any(|item| item.body.old.is_some()) { "replace" } else { "deploy" }.to_owned(),
        state: record.state.clone(),
        alive: record.state != "ended" && goes_on(&record.process),
        says: record.says.clone(),
        at: record.at,
        why: terms.why.clone(),
        extra_dollars_per_h_max: terms.extra_dollars_per_h,
        extra_dollars_per_h: rollout::extra(&items),
        simulated: record.simulated.is_some(),
        items: items
            .into_iter()
            .map(|item| RolloutItemView {
                old: item.body.old.map(|old| old.id),
                state: item.stand.as_str().to_owned(),
                at: item.at,
                text: item.body.text,
                label: item.body.order.as_ref().map(|order| order.label.clone()),
                machine_id: item.body.order.as_ref().and_then(|order| order.machine),
                vast_id: item.body.vast_id,
                dollars_per_h: item.body.order.as_ref().and_then(|order| order.dollars_per_h),
                billed_dollars_per_h: item.body.order.as_ref().and_then(|order| order.billed),
            })
            .collect(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]
mod tests {
    use std::sync::Mutex;

    use dwell_fleet::shift;
    use dwell_history::History;

    use super::super::changes::tests::fleet;
    use super::super::{CHANGED, Leave};
    use super::*;

    fn request(ids: &[&str]) -> RolloutRequest {
        serde_json::from_value(serde_json::json!({
            "count": u32::from(ids.is_empty()), "ids": ids, "market": {}, "extra_dollars_per_h": 1.0
        }))
        .unwrap()
    }

    /// Planned in `shown`, without a market: what is compared is what it replaces.
    fn planned(scope: &Scope, shown: &FleetView, ids: &[&str]) -> Planned {
        let request = request(ids);
        let market = OffersView {
            source: "manager".into(),
            filter: String::new(),
            disk_gb: None,
            needs: serde_json::from_value(serde_json::json!({})).unwrap(),
            offers: Vec::new(),
            notes: Vec::new(),
            at: Timestamp::UNIX_EPOCH,
        };
        let mut planned = plan(scope, (shown, &[]), &market, None, true, &request, false).unwrap();
        // An offer that fits is not what this is about.
        planned.view.refused = None;
        planned
    }

    fn begun(acting: &Acting, scope: &Scope, planned: Planned, seen: &FleetView, after_s: f64) -> Result<String, ApiError> {
        let now = Timestamp::UNIX_EPOCH;
        let view = acting.keep_rollout(planned, now).unwrap();
        let journal: Journal = Arc::new(Mutex::new(History::in_memory().unwrap()));
        let request = CarryOut { token: view.token.unwrap(), confirmation: view.confirm_with, why: None };
        let at = shift(now, after_s);
        acting.begin_rollout(Leave::of(true).unwrap(), scope, &request, &journal, (at, at), seen)
    }

    #[test]
    fn a_rollout_begins_only_while_what_it_replaces_is_what_was_shown() {
        let (shown, scope, acting) = (fleet(), Scope::begin("http://a"), Acting::default());
        let stuck = shown.instances.iter().position(|row| row.state != "running").unwrap();
        let id = shown.instances[stuck].id.clone();
        let plan = || planned(&scope, &shown, &[&id]);
        begun(&acting, &scope, plan(), &shown, 60.0).unwrap();
        assert_eq!(begun(&acting, &scope, plan(), &shown, 121.0).unwrap_err().code, GONE);

        let after = |change: &dyn Fn(&mut FleetView)| {
            let mut seen = shown.clone();
            change(&mut seen);
            seen
        };
        let seen = after(&|seen| seen.instances[stuck].state = "running".into());
        let error = begun(&acting, &scope, plan(), &seen, 1.0).unwrap_err();
        assert!(error.code == CHANGED && error.message.contains("and is running"), "{error}");
        for seen in [
            after(&|seen| drop(seen.instances.remove(stuck))),
            after(&|seen| seen.instances[stuck].vast_id = Some(7)),
            after(&|seen| seen.connection.state = "failing".into()),
        ] {
            assert_eq!(begun(&acting, &scope, plan(), &seen, 1.0).unwrap_err().code, CHANGED);
        }
        // What happens to others, and what was not shown, is no change; a deployment replaces nothing.
        let seen = after(&|seen| {
            seen.instances[stuck].gpu_temp_c = Some(80.0);
            seen.instances.retain(|row| row.id == id);
        });
        begun(&acting, &scope, plan(), &seen, 1.0).unwrap();
        begun(&acting, &scope, planned(&scope, &shown, &[]), &seen, 1.0).unwrap();
    }

    #[test]
    fn a_row_that_shares_its_rental_is_not_replaced() {
        let mut shown = fleet();
        let twin = InstanceRow { id: "ffffffff-0000".into(), uuid: Some("ffffffff-0000".into()), ..shown.instances[0].clone() };
        let id = shown.instances[0].id.clone();
        shown.instances.push(twin);
        let error = olds(&shown, &[], &request(&[&id])).unwrap_err();
        assert!(error.code == ErrorCode::SharedRental && error.message.contains("ffffffff-0000"), "{error}");
    }
}
