//! Write access: given by a person for a time, to the fleet that is watched and to no other; what is saved opens no window.

use dwell_commands::dto::*;
use dwell_commands::{App, Look};

const NOBODY: &str = "http://127.0.0.1:9";

fn given(allow: bool, for_s: Option<f64>, standing: bool) -> AllowActing {
    AllowActing { allow, for_s, standing }
}

async fn connected(app: &App, name: &str) {
    app.connect(ConnectRequest { address: NOBODY.into(), name: Some(name.into()), ssh: None }).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn write_access_is_given_for_a_time_and_to_one_fleet() {
    let folder = tempfile::tempdir().unwrap();
    let app = App::new(Some(folder.path().to_owned())).unwrap();
    assert_eq!(app.allow_acting(given(true, None, false)).await.unwrap_err().code, "no-fleet");
    connected(&app, "one").await;
    let acts = app.acts(Nothing {}).await.unwrap();
    assert_eq!((acts.may_act, acts.write_access_left_s, acts.standing), (false, None, false));

    for wrong in [0.0, 59.0, 14_401.0, f64::INFINITY, f64::NAN] {
        assert_eq!(app.allow_acting(given(true, Some(wrong), false)).await.unwrap_err().code, "bad-request", "{wrong}");
    }
    assert!(!app.acts(Nothing {}).await.unwrap().may_act);
    let acts = app.allow_acting(given(true, None, false)).await.unwrap();
    assert!(acts.may_act && acts.write_access_left_s.is_some_and(|left| left > 0.0 && left <= 900.0), "{acts:?}");
    let acts = app.allow_acting(given(true, Some(3_600.0), false)).await.unwrap();
    assert!(acts.write_access_left_s.is_some_and(|left| left > 900.0 && left <= 3_600.0), "{acts:?}");
    let acts = app.allow_acting(given(false, None, false)).await.unwrap();
    assert_eq!((acts.may_act, acts.write_access_left_s), (false, None));

    // Another fleet, and the same one watched anew, begin read-only; nothing of it is in the settings.
    app.allow_acting(given(true, None, false)).await.unwrap();
    connected(&app, "two").await;
    assert!(!app.acts(Nothing {}).await.unwrap().may_act);
    app.watch_saved(FleetName { name: "one".into() }).await.unwrap();
    assert!(!app.acts(Nothing {}).await.unwrap().may_act);
    let fleets = app.fleets(Nothing {}).await.unwrap();
    assert!(fleets.saved.iter().all(|fleet| !fleet.may_act), "{fleets:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_saved_for_the_terminal_does_not_open_the_window() {
    let folder = tempfile::tempdir().unwrap();
    // As an earlier version wrote it.
    let settings = format!("watching = \"mine\"\n\n[[fleet]]\nname = \"mine\"\naddress = \"{NOBODY}\"\nmay_act = true\n");
    std::fs::write(folder.path().join("settings.toml"), settings).unwrap();
    let app = App::new(Some(folder.path().to_owned())).unwrap();
    app.start(dwell_commands::Start::WatchedLast).await.unwrap();
    let acts = app.acts(Nothing {}).await.unwrap();
    assert_eq!((acts.may_act, acts.standing, acts.rules_acting), (false, true, 0));
    let carried = app.carry_out(CarryOut { token: "0".into(), confirmation: None, why: None }).await.unwrap_err();
    assert_eq!(carried.code, "read-only");
    assert!(carried.hint.is_some_and(|hint| hint.contains("status line")));

    // What stands can be ended at any time, and begun during write access alone.
    let acts = app.allow_acting(given(false, None, true)).await.unwrap();
    assert!(!acts.standing);
    assert_eq!(app.allow_acting(given(true, None, true)).await.unwrap_err().code, "read-only");
    app.allow_acting(given(true, None, false)).await.unwrap();
    let acts = app.allow_acting(given(true, None, true)).await.unwrap();
    assert!(acts.standing && acts.may_act);
    let acts = app.allow_acting(given(false, None, false)).await.unwrap();
    assert!(acts.standing && !acts.may_act, "each is given back by itself");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_that_acts_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let app = App::new(Some(folder.path().to_owned())).unwrap();
    connected(&app, "one").await;
    app.allow_acting(given(true, None, false)).await.unwrap();
    let rule = Rule {
        name: "silent".into(),
        fleet: String::new(),
        verdict: "invisible".into(),
        cause: "host-oom-cgroup".into(),
        for_s: 600.0,
        deed: "kill".into(),
        on: true,
        dry_run: true,
        per_day: 1,
        dollars_per_h_a_day: 1.0,
    };
    app.save_rule(rule.clone()).await.unwrap();
    assert_eq!(app.acts(Nothing {}).await.unwrap().rules_acting, 0, "it is dry");
    app.save_rule(Rule { dry_run: false, ..rule }).await.unwrap();
    assert_eq!(app.acts(Nothing {}).await.unwrap().rules_acting, 1);
    assert_eq!(app.allow_acting(given(false, None, false)).await.unwrap().rules_acting, 0);
}

/// A terminal gives the name of the fleet in the window to another manager, which may be acted on: that is no leave for this one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_is_given_to_another_manager_takes_its_leave_along() {
    let folder = tempfile::tempdir().unwrap();
    let app = App::new(Some(folder.path().to_owned())).unwrap();
    connected(&app, "one").await;
    app.allow_acting(given(true, None, false)).await.unwrap();
    app.allow_acting(given(true, None, true)).await.unwrap();
    let rule = serde_json::json!({
        "name": "silent", "fleet": "", "verdict": "invisible", "cause": "host-oom-cgroup", "for_s": 600.0, "deed": "kill", "on": true,
        "dry_run": true, "per_day": 1, "dollars_per_h_a_day": 1.0,
    });
    app.save_rule(serde_json::from_value(rule).unwrap()).await.unwrap();

    let terminal = App::new(Some(folder.path().to_owned())).unwrap();
    let other = ConnectRequest { address: "http://127.0.0.1:8".into(), name: Some("one".into()), ssh: None };
    let saved = terminal.save_fleet(other).await.unwrap().saved;
    assert!(!saved[0].may_act, "{saved:?}");
    assert!(!app.rules(Nothing {}).await.unwrap().rules[0].rule.on, "it was not made for the other manager");
    terminal.set_may_act("one", true).await.unwrap();
    assert!(!app.acts(Nothing {}).await.unwrap().standing);
    assert_eq!(app.allow_acting(given(true, None, true)).await.unwrap_err().code, "other-fleet");
    assert_eq!(app.allow_acting(given(false, None, true)).await.unwrap_err().code, "other-fleet");
    assert!(terminal.fleets(Nothing {}).await.unwrap().saved[0].may_act, "nothing was set for the other one");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_of_a_simulation_is_not_carried_out_on_a_connected_fleet() {
    let folder = tempfile::tempdir().unwrap();
    let app = App::new(Some(folder.path().to_owned())).unwrap();
    let scenario = app.scenarios(Nothing {}).await.unwrap().scenarios[0].name.clone();
    app.simulate(SimulateRequest { scenario, seed: None, speed: None }).await.unwrap();
    app.allow_acting(given(true, None, false)).await.unwrap();
    let request = PlanRequest { deed: "ban".into(), ids: vec!["987654".into()], text: Some("slow".into()), why: None };
    let plan = app.plan(request).await.unwrap();
    let request = CarryOut { token: plan.token.unwrap(), confirmation: plan.confirm_with, why: None };
    connected(&app, "one").await;
    app.allow_acting(given(true, None, false)).await.unwrap();
    let carried = app.carry_out(request).await.unwrap_err();
    assert_eq!(carried.code, "plan-gone", "{carried}");
    assert!(app.acts(Nothing {}).await.unwrap().acts.is_empty());
}

/// What is allowed for a saved fleet is allowed for its manager by its own way, and not for whatever another machine has at its address.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn write_access_is_of_an_address_and_the_way_there() {
    let folder = tempfile::tempdir().unwrap();
    let app = App::new(Some(folder.path().to_owned())).unwrap();
    connected(&app, "one").await;
    app.set_may_act("one", true).await.unwrap();
    app.allow_probe(AllowProbe { name: "one".into(), allow: true }).await.unwrap();
    let look = |through: Option<&str>| Look::at(Some("one"), through, Some(folder.path().to_owned()), None).unwrap();
    let rule = Rule {
        name: "wedged".into(),
        fleet: String::new(),
        verdict: "invisible".into(),
        cause: "pipeline-deadlock".into(),
        for_s: 600.0,
        deed: "kill".into(),
        on: false,
        dry_run: true,
        per_day: 1,
        dollars_per_h_a_day: 1.0,
    };
    look(None).save_rule(rule.clone()).unwrap();
    let elsewhere = look(Some("nobody@127.0.0.1"));
    assert_eq!(elsewhere.save_rule(rule).unwrap_err().code, "read-only");
    assert!(elsewhere.rules().unwrap().rules.is_empty(), "rules of the saved fleet are not this one's");
}
