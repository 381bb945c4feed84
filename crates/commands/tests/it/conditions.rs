//! Conditions of whole simulated fleets, in virtual time: none where nothing is wrong, the right one where something is.

use std::collections::BTreeMap;

use dwell_commands::{Pace, Scenario, VirtualFleet};

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
