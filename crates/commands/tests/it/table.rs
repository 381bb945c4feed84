//! The command table against everything that is made from it.

use std::path::PathBuf;

use dwell_commands::dto::{AllowActing, CarryOut, InstanceRow, Nothing, PlanRequest, SimulateRequest};
use dwell_commands::{App, COMMANDS, CommandInfo, typescript};
use serde_json::json;

fn repository(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// `cargo xtask bindings` sets DWELL_UPDATE_BINDINGS, which writes the file instead of comparing it.
#[test]
fn the_front_ends_client_is_fresh() {
    let path = repository("ui/src/api/generated.ts");
    let fresh = typescript();
    if std::env::var_os("DWELL_UPDATE_BINDINGS").is_some() {
        std::fs::write(&path, &fresh).unwrap();
    }
    assert!(std::fs::read_to_string(&path).unwrap_or_default() == fresh, "run `cargo xtask bindings` and commit the result");
}

/// The window may call exactly what the table lists.
#[test]
fn the_windows_capability_lists_every_command_and_nothing_else() {
    let text = std::fs::read_to_string(repository("src-tauri/capabilities/main.json")).unwrap();
    let capability: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut allowed: Vec<String> =
        capability["permissions"].as_array().unwrap().iter().map(|permission| permission.as_str().unwrap().to_owned()).collect();
    let mut expected: Vec<String> = COMMANDS.iter().map(|command| format!("allow-{}", command.name.replace('_', "-"))).collect();
    expected.push("allow-subscribe".into());
    allowed.sort();
    expected.sort();
    assert_eq!(allowed, expected);
}

/// Read-only is asked before anything else: no command that acts gets past it, whatever it is given. The others do not act: the
/// simulated world goes on as if nobody had called.
#[tokio::test]
async fn nothing_acts_in_read_only_mode() {
    let folder = tempfile::tempdir().unwrap();
    let app = App::new(Some(folder.path().to_owned())).unwrap();
    let simulate = SimulateRequest { scenario: "params-done-silence".into(), seed: None, speed: Some(60.0) };
    app.simulate(simulate).await.unwrap();
    let fleet = loop {
        match app.fleet(Nothing {}).await.unwrap() {
            fleet if fleet.instances.is_empty() => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
            fleet => break fleet,
        }
    };
    let alive: Vec<&InstanceRow> = fleet.instances.iter().filter(|row| row.state != "killed").collect();
    let ids: Vec<String> = alive.iter().map(|row| row.id.clone()).collect();
    // A plan can be made, and has no token.
    let request = PlanRequest { deed: "kill".into(), ids: ids.clone(), text: None, why: None };
    let plan = app.plan(request.clone()).await.unwrap();
    assert!(plan.read_only && plan.token.is_none() && plan.confirm_with.as_deref() == Some(&format!("kill {}", ids.len())));

    let acting: Vec<&CommandInfo> = COMMANDS.iter().filter(|command| command.risk == "act").collect();
    assert!(!acting.is_empty());
    for command in acting {
        for given in [json!(null), json!({ "token": "" }), json!({ "token": "0", "confirmation": "kill" }), json!([1])] {
            assert_eq!(app.call(command.name, given).await.unwrap_err().code, "read-only", "{}", command.name);
        }
    }
    // Whatever else is called, with whatever it takes: it ends no instance.
    let leaves =
        ["simulate", "start_drill", "connect", "watch_saved", "forget", "start_bench", "allow_acting", "import_key", "set_speed"];
    for command in COMMANDS.iter().filter(|command| command.risk != "act" && !leaves.contains(&command.name)) {
        let _ = app
            .call(command.name, json!({ "id": ids[0], "ids": ids, "deed": "kill", "name": "cost", "text": "x", "words": "x" }))
            .await;
    }
    let after = app.fleet(Nothing {}).await.unwrap();
    let ended = after
        .instances
        .iter()
        .filter(|row| ids.contains(&row.id) && row.kill_reason.as_deref() == Some("manually killed via UI"));
    assert_eq!(ended.count(), 0);
    assert!(app.acts(Nothing {}).await.unwrap().acts.is_empty());

    // Once it is allowed, a plan is carried out once, and only where it is confirmed.
    app.allow_acting(AllowActing { allow: true, for_s: None, standing: false }).await.unwrap();
    let request = PlanRequest { ids: ids[..1].to_vec(), ..request };
    let token = app.plan(request.clone()).await.unwrap().token.unwrap();
    let unconfirmed = CarryOut { token: token.clone(), confirmation: Some("yes".into()), why: None };
    assert_eq!(app.carry_out(unconfirmed).await.unwrap_err().code, "not-confirmed");
    // A reason that is typed at the end goes into the journal; the plan is the one that was shown.
    let why = Some(" it hangs ".to_owned());
    let confirmed = CarryOut { token, confirmation: Some(ids[0].chars().take(8).collect()), why };
    let (first, second) = tokio::join!(app.carry_out(confirmed.clone()), app.carry_out(confirmed));
    assert_eq!([&first, &second].iter().filter(|it| it.is_ok()).count(), 1, "a double click acts once");
    assert!([first, second].into_iter().filter_map(Result::err).all(|error| error.code == "plan-gone"));
    // And not again while it is under way.
    let again = app.plan(request.clone()).await.unwrap();
    if let Some(token) = again.token {
        let confirmation = again.confirm_with;
        let refused = app.carry_out(CarryOut { token, confirmation, why: None }).await.unwrap_err();
        // Where the manager shows it killed by then, that is what has changed.
        assert!(["under-way", "plan-changed"].contains(&refused.code.as_str()), "{refused}");
    }
    let done = loop {
        let acts = app.acts(Nothing {}).await.unwrap().acts;
        if acts[0].done {
            break acts;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    };
    assert_eq!((done.len(), done[0].phase.as_str(), done[0].why.as_str()), (1, "verified", "it hangs"), "{done:?}");
    app.allow_acting(AllowActing { allow: false, for_s: None, standing: false }).await.unwrap();
    assert!(app.plan(request).await.unwrap().token.is_none());
}
