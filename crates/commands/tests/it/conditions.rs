//! Conditions of whole simulated fleets, in virtual time: none where nothing is wrong, the right one where something is.

use std::collections::BTreeMap;

use dwell_commands::{Look, Pace, Scenario, VirtualFleet};
use dwell_fake_manager::{Behaviour, FakeManager, Options};
use dwell_history::{ActEntry, History};

/// Every condition that stood at any look, with how often.
fn seen(scenario: &str, hours: f64) -> BTreeMap<String, usize> {
    let pace = Pace { dashboard_s: 30.0, ..Pace::default() };
    let mut fleet = VirtualFleet::new(Scenario::named(scenario).unwrap(), None, pace);
    let mut seen = BTreeMap::new();
    for _ in 0..(hours * 120.0) as usize {
        fleet.run(30.0, |_| {});
        for it in fleet.view().conditions {
            *seen.entry(format!("{} {}", it.severity, it.kind)).or_default() += 1;
        }
    }
    seen
}

#[test]
fn a_fleet_in_order_and_a_fleet_with_single_troubles_have_no_condition() {
    for scenario in [
        "healthy-fleet",
        "params-done-silence",
        "evening-nothing-wrong",
        "evening-four-truths",
        "evening-half-open",
        "slow-and-healthy",
        "upstream-no-work",
        "stuck-wave-rollout",
        "destroyed-outside",
        "host-lost",
        "family-killed-by-rate",
        "destroy-false-success",
        "bad-host-reaped",
    ] {
        assert_eq!(seen(scenario, 1.5), BTreeMap::new(), "{scenario}");
    }
}

#[test]
fn a_list_that_fails_hangs_or_comes_short_is_a_condition() {
    for (scenario, expected) in [
        ("vast-cache-frozen-error", "blind vast-list-stale"),
        ("vast-cli-hang", "blind vast-list-stale"),
        ("vast-poison-row", "blind vast-list-stale"),
        ("vast-empty-list", "incident fleet-written-off"),
        ("vast-partial-list", "incident fleet-written-off"),
    ] {
        let seen = seen(scenario, 1.5);
        assert!(seen.contains_key(expected), "{scenario}: {seen:?}");
    }
}

#[test]
fn a_manager_that_starts_anew_is_not_called_blind() {
    let seen = seen("manager-restart", 1.5);
    assert!(seen.keys().all(|it| it == "passing vast-list-missing" || it == "blind manager-unreachable"), "{seen:?}");
}

/// Destroyed at vast.ai by Dwell, the manager finds rentals gone and writes their rows off: the journal says who ordered it.
#[tokio::test]
async fn what_dwells_own_journal_has_ordered_is_no_write_off() {
    let manager = FakeManager::serve(Options::default());
    let uuids: Vec<String> = (31_000_010..31_000_015).map(|number| manager.running(number)).collect();
    manager.cycle();
    let folder = tempfile::tempdir().unwrap();
    let read = async || {
        let mut look = Look::at(Some(&manager.url()), None, Some(folder.path().to_owned()), None).unwrap();
        look.read(None).await.unwrap()
    };
    assert_eq!(read().await.conditions, []);
    let before = dwell_commands::now();
    manager.account(|account| account.list = Behaviour::prints("[]"));
    manager.cycle();
    let kinds = |view: &dwell_commands::dto::FleetView| view.conditions.iter().map(|it| it.kind.clone()).collect::<Vec<_>>();
    assert_eq!(kinds(&read().await), ["fleet-written-off"]);
    let order = |uuid: &str, phase: &str| ActEntry {
        id: 0,
        plan: "plan".to_owned(),
        at: before,
        who: "operator".to_owned(),
        process: "1".to_owned(),
        why: "moved".to_owned(),
        rule: None,
        fleet: manager.url(),
        simulated: None,
        deed: "destroy".to_owned(),
        deed_text: None,
        target: uuid.to_owned(),
        uuid: Some(uuid.to_owned()),
        vast_id: None,
        machine: None,
        account: None,
        account_number: None,
        dollars_per_h: None,
        phase: phase.to_owned(),
        text: String::new(),
    };
    let history = History::open(&folder.path().join("history.sqlite3")).unwrap();
    uuids.iter().for_each(|uuid| history.add_act(&order(uuid, "planned")).unwrap());
    assert_eq!(kinds(&read().await), ["fleet-written-off"], "what was only planned was not done");
    uuids.iter().for_each(|uuid| history.add_act(&order(uuid, "sent")).unwrap());
    let view = read().await;
    assert_eq!(kinds(&view), [""; 0]);
    assert!(view.instances.iter().all(|row| row.flag.is_none()) && view.instances.len() == 5);
}
