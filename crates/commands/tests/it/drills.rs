//! Drills: the same output for the same seed, and nothing of them near a real fleet.

use dwell_commands::dto::*;
use dwell_commands::{App, Scenario, drill};

fn text(run: &impl serde::Serialize) -> String {
    serde_json::to_string(run).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_output_whatever_the_number_of_threads() {
    let scenarios =
        ["family-loading", "two-restart-and-stall", "destroy-false-success"].map(|name| Scenario::named(name).unwrap());
    let batch = |jobs| text(&drill::batch(&scenarios, 3..6, jobs, || ()).unwrap());
    let one = batch(1);
    assert_eq!(one, batch(4));
    assert_eq!(text(&drill::run(&scenarios[0], 3)), text(&drill::run(&scenarios[0], 3)));
    assert_ne!(text(&drill::run(&scenarios[0], 3)), text(&drill::run(&scenarios[0], 4)));
}

/// The fields that readers of `--json` rely on.
#[test]
fn a_run_tells_truth_and_what_was_said() {
    let scenario = Scenario::named("destroy-false-success").unwrap();
    let run = serde_json::to_value(drill::run(&scenario, scenario.seed)).unwrap();
    assert!(run["version"] == 1 && run["scenario"] == "destroy-false-success" && run["seed"] == scenario.seed);
    let struck = run["instances"].as_array().unwrap().iter().find(|it| it["expected"]["verdict"] == "leaking").unwrap();
    assert_eq!(struck["truth"], serde_json::json!(["destroy-false-success"]));
    assert!(struck["fault_at_s"].is_number() && struck["flagged_at_s"].is_number() && struck["verdict"] == "leaking", "{struck}");
    assert!(struck["causes"].is_array() && struck["next_checks"].is_array());
    assert_eq!((&run["totals"]["noticed"], &run["totals"]["to_be_noticed"]), (&2.into(), &2.into()));
}

/// What is named or done in a drill goes to the drill's own world, and there is none unless one is played.
#[tokio::test]
async fn a_drill_cannot_touch_another_fleet() {
    let folder = tempfile::tempdir().unwrap();
    let app = App::new(Some(folder.path().to_owned())).unwrap();
    let simulate = SimulateRequest { scenario: "params-done-silence".into(), seed: None, speed: Some(0.0) };
    app.simulate(simulate).await.unwrap();
    let id = "d977dead-b3a7-4a08-b6df-9e126679078f".to_owned();
    let looked = loop {
        if let Ok(page) = app.instance(InstanceRequest { id: id.clone() }).await {
            break page;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    };
    assert_eq!(looked.row.id, id);
    for refused in [
        app.do_in_drill(DoInDrill { id: id.clone(), deed: "destroy".into() }).await,
        app.answer_drill(AnswerDrill { id, cause: "params-slow".into() }).await,
        app.end_drill(Nothing {}).await,
        app.drill(Nothing {}).await,
    ] {
        assert_eq!(refused.unwrap_err().code, "no-drill");
    }
    assert_eq!(app.fleet(Nothing {}).await.unwrap().watching.mode, "simulated");
    assert!(app.drills(Nothing {}).await.unwrap().past.is_empty());
}
