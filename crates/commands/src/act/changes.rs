//! Between a plan and its confirmation time passes: what has changed since is said, and nothing is done by the old confirmation. And a
//! rental that the manager lists in more rows than one is one machine, whichever row is meant.

use super::Plan;
use super::perform::{Deed, Target};
use crate::dto::{FleetView, InstanceRow};
use crate::{ApiError, ErrorCode};

impl Plan {
    /// What has changed since it was made, by the same plan made now, a sentence each: of whom it is, what they are, and what would be
    /// done to them.
    fn changes(&self, now: &Self) -> Vec<String> {
        let mut changes = Vec::new();
        for target in &self.targets {
            let id = &target.id;
            let step = |plan: &'_ Self| plan.view.steps.iter().find(|step| step.id == *id).cloned();
            let (Some(was), Some(is)) = (step(self), step(now)) else {
                changes.push(format!("{id} is not seen any more"));
                continue;
            };
            if let Some(why) = is.refused {
                changes.push(format!("{id}: {why}"));
                continue;
            }
            let Some(its) = now.targets.iter().find(|it| it.id == *id) else { continue };
            changes.extend(differences((target, &was.is_now), (its, &is.is_now)));
            if was.warning != is.warning {
                changes.push(is.warning.clone().unwrap_or_else(|| format!("{id}: nothing else is hit any more")));
            }
            // Of a machine it says who is on it.
            if was.is_now == is.is_now && matches!(self.deed, Deed::Ban(_)) && was.what != is.what {
                changes.push(format!("{id}: {}", is.what));
            }
        }
        if changes.is_empty() && self.view.confirm_with != now.view.confirm_with {
            changes.push("it has to be confirmed with other words".to_owned());
        }
        changes
    }

    /// Refused where the same plan made now is another one: what has changed is said, and has to be confirmed anew. Else it is the one to
    /// carry out, with the accounts that are known by now.
    pub(crate) fn still_holds(self, now: &Self) -> Result<Self, ApiError> {
        now.scope.admits(&self.scope)?;
        let mut changes = self.changes(now);
        if now.is_blind && !self.is_blind {
            changes.push("the manager does not answer any more, so that how it is now is not known".to_owned());
        }
        if changes.is_empty() {
            let account = |id: &str| now.targets.iter().find(|it| it.id == id).and_then(|it| it.account.clone());
            let named = |target: Target| Target { account: account(&target.id).or(target.account), ..target };
            return Ok(Self { targets: self.targets.into_iter().map(named).collect(), ..self });
        }
        Err(changed(&changes))
    }
}

/// How an instance and its rental differ from what they were, a sentence each.
pub(super) fn differences((was, was_now): (&Target, &str), (is, is_now): (&Target, &str)) -> Vec<String> {
    let id = &was.id;
    let mut changes = Vec::new();
    if was_now != is_now {
        changes.push(format!("{id} was {was_now}, and is {is_now} now"));
    }
    if was.uuid != is.uuid {
        changes.push(format!("{id} has another id at the manager"));
    }
    if was.vast_id != is.vast_id {
        let number = |id: Option<u64>| id.map_or_else(|| "unknown".to_owned(), |id| id.to_string());
        changes.push(format!("vast.ai's number of {id} was {}, and is {} now", number(was.vast_id), number(is.vast_id)));
    }
    // That an account is known by now, where none could be asked before, is no other rental.
    if let Some(account) = was.account.as_ref().filter(|account| is.account.as_ref() != Some(*account)) {
        let now =
            is.account.as_ref().map_or_else(|| "no account lists it now".to_owned(), |it| format!("{:?} lists it now", it.name));
        changes.push(format!("account {:?} listed the rental of {id}, and {now}", account.name));
    }
    if was.machine != is.machine {
        changes.push(format!("{id} is on another machine"));
    }
    let price = |dollars: Option<f64>| dollars.map_or_else(|| "unknown".to_owned(), |dollars| format!("${dollars:.2}/h"));
    if price(was.dollars_per_h) != price(is.dollars_per_h) {
        changes.push(format!("the price of {id} was {}, and is {} now", price(was.dollars_per_h), price(is.dollars_per_h)));
    }
    changes
}

/// The error of a plan that is not what was shown any more.
pub(super) fn changed(changes: &[String]) -> ApiError {
    ApiError::new(CHANGED, format!("this has changed since the plan was shown: {}. Nothing was done", changes.join("; ")))
        .hint("look at the plan again, and confirm it anew")
}

/// What has changed between a plan and its confirmation: it has to be confirmed anew.
pub(crate) const CHANGED: ErrorCode = ErrorCode::PlanChanged;
/// A plan that is too old, or was carried out.
pub(crate) const GONE: ErrorCode = ErrorCode::PlanGone;

/// The manager's other rows of the same rental, killed ones apart: a machine that registered again, or one that took another's place.
pub(super) fn others<'a>(target: &Target, view: Option<&'a FleetView>) -> Vec<&'a InstanceRow> {
    let rows = view.map_or(&[][..], |view| &view.instances);
    let is_other =
        |row: &&InstanceRow| row.vast_id == target.vast_id && row.id != target.id && row.state != "killed" && row.listed;
    if target.vast_id.is_some() { rows.iter().filter(is_other).collect() } else { Vec::new() }
}

/// Whose id has to be typed for what hits this rental: the one that has come furthest, for that is what is lost.
pub(super) fn to_be_typed(target: &Target, view: Option<&FleetView>) -> String {
    let reached = |state: &str| crate::STATES.iter().position(|it| *it == state && state != "killed");
    let own = view.into_iter().flat_map(|view| &view.instances).find(|row| row.id == target.id);
    let mut furthest = (own.and_then(|row| reached(&row.state)), &target.id);
    for row in others(target, view) {
        if reached(&row.state) > furthest.0 {
            furthest = (reached(&row.state), &row.id);
        }
    }
    furthest.1.clone()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]
pub(super) mod tests {
    use std::sync::LazyLock;

    use dwell_simulator::Scenario;
    use proptest::prelude::*;

    use super::super::{Machines, Scope, plan};
    use super::*;
    use crate::dto::{PlanRequest, Rentals};
    use crate::rentals;
    use crate::virtual_time::VirtualFleet;
    use crate::watch::Pace;

    static FLEET: LazyLock<FleetView> = LazyLock::new(fleet);
    static RENTALS: LazyLock<Rentals> = LazyLock::new(|| {
        let fleet = simulated();
        let told = rentals::of_world(fleet.world());
        rentals::joined(vec![("main".to_owned(), told)], Some(&fleet.view()), fleet.world().now())
    });

    fn simulated() -> VirtualFleet {
        let mut fleet = VirtualFleet::new(Scenario::named("params-done-silence").unwrap(), None, Pace::default());
        fleet.run(30.0, |_| {});
        fleet
    }

    /// The four of the evening and the one that runs, alive and rented.
    pub(in crate::act) fn fleet() -> FleetView {
        let mut view = simulated().view();
        view.instances.retain(|row| row.state != "killed" && row.vast_id.is_some());
        view.instances.sort_by(|one, other| one.id.cmp(&other.id));
        view
    }

    fn planned(scope: &Scope, view: &FleetView, deed: &str, ids: &[&str]) -> Result<Plan, ApiError> {
        let ids = ids.iter().map(|id| (*id).to_owned()).collect();
        let request = PlanRequest { deed: deed.into(), ids, text: (deed == "ban").then(|| "slow".into()), why: None };
        plan(scope, Some(view), Some(&RENTALS), &Machines::default(), &request, false)
    }

    /// What may happen to a row between a plan and its confirmation.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Event {
        Nothing,
        Warmer,
        Renamed,
        Runs,
        Killed,
        Leaves,
        OtherRental,
        OtherMachine,
        Dearer,
        PriceNotTold,
        /// Another row of its rental appears.
        Twice,
        /// The manager does not answer any more.
        Silence,
    }

    const EVENTS: [Event; 12] = [
        Event::Nothing,
        Event::Warmer,
        Event::Renamed,
        Event::Runs,
        Event::Killed,
        Event::Leaves,
        Event::OtherRental,
        Event::OtherMachine,
        Event::Dearer,
        Event::PriceNotTold,
        Event::Twice,
        Event::Silence,
    ];

    fn after(view: &FleetView, event: Event, nth: usize) -> FleetView {
        let mut view = view.clone();
        let row = &mut view.instances[nth];
        match event {
            Event::Nothing => {}
            Event::Warmer => row.gpu_temp_c = Some(80.0),
            Event::Renamed => row.note = "another word".into(),
            Event::Runs => row.state = if row.state == "running" { "bench_done".into() } else { "running".into() },
            Event::Killed => row.state = "killed".into(),
            Event::Leaves => drop(view.instances.remove(nth)),
            Event::OtherRental => row.vast_id = row.vast_id.map(|id| id + 1_000_000),
            Event::OtherMachine => row.machine_id = row.machine_id.map(|id| id + 1_000_000),
            Event::Dearer => row.dollars_per_h = row.dollars_per_h.map(|price| price * 3.0),
            Event::PriceNotTold => row.dollars_per_h = None,
            Event::Twice => {
                let twin = InstanceRow { id: "ffffffff-0000".into(), uuid: Some("ffffffff-0000".into()), ..row.clone() };
                view.instances.push(twin);
            }
            Event::Silence => view.connection.state = "failing".into(),
        }
        view
    }

    proptest! {
        /// Whatever happens to whomever between a plan and its confirmation: it holds where nothing of what was shown has changed, and
        /// else is refused with what has.
        #[test]
        fn a_plan_holds_while_what_it_shows_does(
            deed in prop::sample::select(vec!["kill", "destroy", "stop", "reboot", "ban"]),
            (event, target, hit) in (prop::sample::select(EVENTS.to_vec()), any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        ) {
            let view = &*FLEET;
            let scope = Scope::begin("http://a");
            let (target, hit) = (target.index(view.instances.len()), hit.index(view.instances.len()));
            let id = view.instances[target].id.clone();
            let shown = planned(&scope, view, deed, &[&id]).unwrap();
            let now = after(view, event, hit);
            let concerns = match event {
                Event::Nothing | Event::Warmer | Event::Renamed => false,
                Event::Silence => true,
                // A ban says who is on the machine: whoever is killed, leaves or moves may be one of them.
                _ if hit != target => deed == "ban" && view.instances[hit].machine_id == view.instances[target].machine_id && matches!(event, Event::Killed | Event::Leaves | Event::OtherMachine | Event::Twice),
                _ => true,
            };
            match planned(&scope, &now, deed, &[&id]) {
                // It cannot be planned any more: that is the error then.
                Err(error) => prop_assert!(concerns, "{}", error),
                Ok(fresh) => match shown.clone().still_holds(&fresh) {
                    Ok(_) => prop_assert!(!concerns, "{deed} {event:?} went unseen"),
                    Err(error) => {
                        prop_assert!(concerns, "{deed} {event:?}: {error}");
                        prop_assert_eq!(error.code, CHANGED);
                    }
                },
            }
            // A plan of another watch holds in none.
            prop_assert_eq!(shown.still_holds(&planned(&Scope::begin("http://a"), view, deed, &[&id]).unwrap()).unwrap_err().code, "other-fleet");
        }
    }

    #[test]
    fn a_rental_in_two_rows_is_confirmed_with_the_living_ones_id() {
        let view = fleet();
        let scope = Scope::begin("http://a");
        let stale = view.instances.iter().position(|row| row.state != "running").unwrap();
        let id = view.instances[stale].id.clone();
        assert_eq!(planned(&scope, &view, "kill", &[&id]).unwrap().view.confirm_with, Some(id[..8].to_owned()));

        let mut twice = after(&view, Event::Twice, stale);
        let twin = twice.instances.last_mut().unwrap();
        twin.state = "running".into();
        for deed in ["kill", "destroy"] {
            let plan = planned(&scope, &twice, deed, &[&id]).unwrap();
            assert_eq!(plan.view.confirm_with.as_deref(), Some("ffffffff"), "{deed}");
            let warning = plan.view.steps[0].warning.as_ref().unwrap();
            assert!(warning.contains("ffffffff-0000 (running)"), "{warning}");
            // The living one by its own id: it is said as well.
            let own = planned(&scope, &twice, deed, &["ffffffff"]).unwrap();
            assert_eq!((own.view.confirm_with.as_deref(), own.view.steps[0].warning.is_some()), (Some("ffffffff"), true));
            // Among several it is left out.
            let other = view.instances.iter().find(|row| row.id != id).unwrap().id.clone();
            let several = planned(&scope, &twice, deed, &[&id, &other]).unwrap();
            assert!(
                several.view.steps[0].refused.as_ref().is_some_and(|why| why.contains("ffffffff-0000")),
                "{:?}",
                several.view
            );
            assert_eq!((several.targets.len(), several.targets[0].id.as_str()), (1, other.as_str()));
        }
        // A killed row keeps its number: it is no living one.
        twice.instances.last_mut().unwrap().state = "killed".into();
        let plan = planned(&scope, &twice, "kill", &[&id]).unwrap();
        assert_eq!((plan.view.confirm_with, plan.view.steps[0].warning.clone()), (Some(id[..8].to_owned()), None));
        // A machine is not a rental: who is on it is said by the ban itself.
        assert_eq!(planned(&scope, &twice, "ban", &[&id]).unwrap().view.steps[0].warning, None);
    }
}
