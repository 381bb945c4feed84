//! What Dwell says of simulated fleets, in virtual time.

use std::collections::{BTreeMap, BTreeSet};

use dwell_commands::{Change, Pace, Scenario, VirtualFleet};

const FOUR: [&str; 4] = [
    "416e859e-9f67-4077-88cf-cdef07154096",
    "7bec818c-9e52-422b-bb31-52baefcaa6ef",
    "d3e996ae-f69b-4b16-9b60-0d38e068533a",
    "d977dead-b3a7-4a08-b6df-9e126679078f",
];

fn evening(seed: Option<u64>) -> VirtualFleet {
    VirtualFleet::new(Scenario::named("params-done-silence").unwrap(), seed, Pace::default())
}

#[test]
fn the_first_screen_is_the_articles() {
    let mut fleet = evening(None);
    fleet.run(0.0, |_| {});
    let view = fleet.view();
    assert_eq!(view.instances.len(), 32);
    let active: Vec<_> = view.instances.iter().filter(|row| row.state != "killed").collect();
    assert_eq!(active.len(), 5);
    let running: Vec<_> = active.iter().filter(|row| row.state == "running").collect();
    assert_eq!(running.len(), 1);
    assert_eq!((running[0].bench_rate_proofs_per_h, running[0].gpu_name.as_deref()), (Some(35.57), Some("RTX 3090")));
    assert_eq!(view.summary.benchmarked_proofs_per_h, Some(35.57));
    assert!((view.summary.waiting_dollars_per_h.unwrap() - 1.94).abs() < 1e-9);
    assert_eq!((view.summary.leaking_dollars_per_h, view.summary.stalled_dollars_per_h), (Some(0.0), Some(0.0)));
    let cards: BTreeSet<_> = active.iter().filter_map(|row| row.gpu_name.as_deref()).collect();
    assert_eq!(cards, BTreeSet::from(["RTX 3090", "RTX 4090", "RTX 5000Ada", "RTX 5090"]));
}

/// Whatever the seed: flagged `invisible` before 15 minutes in `params_done`, not `stalled`; `stalled` only beyond what its
/// kind has ever needed, and before the manager kills it; nobody else accused.
#[test]
fn the_four_are_flagged_invisible_within_fifteen_minutes_and_stalled_only_when_late() {
    for seed in [None, Some(1), Some(2), Some(3)] {
        let mut fleet = evening(seed);
        let mut entered = BTreeMap::new();
        let mut flagged: BTreeMap<String, Vec<(String, f64, String)>> = BTreeMap::new();
        fleet.run(3600.0, |change| match change {
            Change::State { id, state, at } if state == "params_done" => {
                entered.insert(id.clone(), *at);
            }
            Change::Flag { id, kind: Some(kind), reason, at } if entered.contains_key(id) => {
                let minutes = at.duration_since(entered[id]).as_secs_f64() / 60.0;
                flagged.entry(id.clone()).or_default().push((kind.clone(), minutes, reason.clone()));
            }
            _ => {}
        });
        assert_eq!(flagged.keys().map(String::as_str).collect::<Vec<_>>(), FOUR, "seed {seed:?}");
        for (id, flags) in &flagged {
            let kinds: Vec<&str> = flags.iter().map(|(kind, _, _)| kind.as_str()).collect();
            assert_eq!(kinds, ["invisible", "stalled"], "{id} with seed {seed:?}");
            assert!(flags[0].1 < 15.0, "{id}: {} min", flags[0].1);
            assert!((39.0..45.0).contains(&flags[1].1), "{id}: {} min", flags[1].1);
            assert!(flags[0].2.contains("nothing that could show progress is working: no log line was ever received from it"));
            assert!(flags[1].2.contains("longer than its kind has ever needed"), "{}", flags[1].2);
        }
    }
}

#[test]
fn what_is_said_of_a_silent_instance() {
    let mut fleet = evening(None);
    fleet.run(14.0 * 60.0, |_| {});
    let view = fleet.view();
    let row = view.instances.iter().find(|row| row.id.starts_with("d977dead")).unwrap();
    let flag = row.flag.as_ref().unwrap();
    let said = format!(
        "{}\nreason: {}\ncertainty: {}\nwould show: {}\nlog: {}\ncountdown: {}",
        flag.kind,
        flag.reason,
        flag.certainty,
        flag.would_show.join(" | "),
        row.log_health,
        row.countdown.as_ref().unwrap().what,
    );
    insta::assert_snapshot!(said);
}

/// 24 simulated hours, 200 instances, nothing wrong: nothing that progresses is ever called stalled.
#[test]
fn in_a_healthy_fleet_nothing_that_progresses_is_called_stalled() {
    let scenario = Scenario::named("healthy-fleet").unwrap();
    let pace = Pace { dashboard_s: 60.0, manager_log_s: 600.0, ..Pace::default() };
    let mut fleet = VirtualFleet::new(scenario, None, pace);
    let (mut stalled, mut kinds) = (Vec::new(), BTreeMap::<String, usize>::new());
    let mut ran = BTreeSet::new();
    fleet.run(24.0 * 3600.0, |change| match change {
        Change::Flag { id, kind: Some(kind), reason, .. } => {
            *kinds.entry(kind.clone()).or_default() += 1;
            if !matches!(kind.as_str(), "slow" | "invisible") {
                stalled.push(format!("{id} {kind}: {reason}"));
            }
        }
        Change::State { id, state, .. } if state == "running" => {
            ran.insert(id.clone());
        }
        _ => {}
    });
    let halted: Vec<_> = fleet.world().truth().into_iter().filter(|truth| !truth.progressing).collect();
    assert!(halted.is_empty(), "nothing is wrong in this world: {halted:#?}");
    assert_eq!(fleet.world().truth().len(), 200);
    assert_eq!(ran.len(), 200, "all of them got there");
    assert!(stalled.is_empty(), "{stalled:#?}");
    // The silent images are flagged invisible while they benchmark, and only those.
    assert!(kinds.get("invisible").is_some_and(|count| *count <= 60), "{kinds:?}");
}

#[test]
fn the_same_seed_gives_the_same_view() {
    let view = |seed| {
        let mut fleet = evening(seed);
        fleet.run(1200.0, |_| {});
        fleet.view()
    };
    assert_eq!(view(Some(5)), view(Some(5)));
    assert_ne!(view(Some(5)).instances, view(Some(6)).instances);
}
