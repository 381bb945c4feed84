//! Acting from a terminal on a served simulation: nothing in read-only mode, once and verified otherwise, all of it in the journal.

use std::process::{Command, Output};

use serde_json::Value;

use crate::{Sim, json, text};

fn run(sim: &Sim, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dwellctl"))
        .args(arguments)
        .env("DWELL_DATA_DIR", sim.folder.path())
        .env("VAST_URL", &sim.vast_url)
        .env("VAST_API_KEY", "any-key-will-do")
        .env("USER", "tester")
        .env_remove("DWELL_MANAGER")
        .output()
        .unwrap()
}

/// A served simulation as a saved fleet that may be acted on.
fn allowed(scenario: &str) -> Sim {
    let sim = Sim::serve(scenario, "60");
    assert!(run(&sim, &["fleets", "add", "sim", &sim.url]).status.success());
    assert!(run(&sim, &["fleets", "allow-acting", "sim"]).status.success());
    sim
}

fn state_of(sim: &Sim, id: &str) -> String {
    let fleet = json(&run(sim, &["fleet", "--all", "--json"]));
    let rows = fleet["instances"].as_array().unwrap();
    rows.iter()
        .find(|row| row["id"].as_str().unwrap().starts_with(id))
        .map_or("gone".into(), |row| row["state"].as_str().unwrap().into())
}

fn rented(sim: &Sim) -> Vec<u64> {
    let listed = json(&run(sim, &["vast", "instances", "--json"]));
    let rentals = listed["rentals"].as_array().or(listed.as_array()).unwrap();
    rentals.iter().filter_map(|it| it["vast_id"].as_u64().or(it["id"].as_u64())).collect()
}

#[test]
fn a_fleet_is_read_only_until_it_is_said_otherwise() {
    let sim = Sim::serve("params-done-silence", "60");
    run(&sim, &["fleets", "add", "sim", &sim.url]);
    for deed in [
        &["kill", "d977", "--yes"][..],
        &["destroy", "d977", "--yes"],
        &["stop", "d977"],
        &["start", "d977"],
        &["reboot", "d977"],
        &["label", "d977", "--as", "x"],
        &["ban", "d977", "--reason", "slow", "--yes"],
        &["unban", "40100"],
    ] {
        let output = run(&sim, deed);
        assert!(!output.status.success(), "{deed:?}");
        assert!(
            text(&output.stderr).contains("read-only") && text(&output.stderr).contains("allow-acting"),
            "{}",
            text(&output.stderr)
        );
    }
    // By address as well: leave is given to a saved fleet.
    assert!(text(&run(&sim, &["--manager", &sim.url, "kill", "d977", "--yes"]).stderr).contains("read-only"));
    assert!(["registered", "params_done"].contains(&state_of(&sim, "d977").as_str()));
    assert!(text(&run(&sim, &["journal"]).stdout).contains("Nothing was done yet"));
    // What would be done can be asked all the same.
    let plan = json(&run(&sim, &["kill", "d977", "7bec", "--dry-run", "--json"]));
    assert_eq!(
        (plan["read_only"].as_bool(), plan["token"].is_null(), plan["steps"].as_array().unwrap().len()),
        (Some(true), true, 2)
    );
    assert!((plan["saves_dollars_per_h"].as_f64().unwrap() - 0.83).abs() < 1e-9, "{plan}");
    assert_eq!(plan["confirm_with"], "kill 2");
    run(&sim, &["fleets", "allow-acting", "sim"]);
    run(&sim, &["fleets", "read-only", "sim"]);
    assert!(text(&run(&sim, &["kill", "d977", "--yes"]).stderr).contains("read-only"));
}

#[test]
fn a_kill_is_done_once_seen_twice_and_written_down() {
    let sim = allowed("params-done-silence");
    let output = run(&sim, &["kill", "d977", "--every", "300ms"]);
    assert!(text(&output.stderr).contains("give --yes"), "not without being asked: {}", text(&output.stderr));
    let before = rented(&sim).len();
    let output = run(&sim, &["kill", "d977", "--yes", "--why", "silent for an hour", "--every", "300ms", "--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let acts = json(&output);
    assert_eq!((acts[0]["phase"].as_str(), acts[0]["done"].as_bool()), (Some("verified"), Some(true)), "{acts}");
    assert!(acts[0]["text"].as_str().unwrap().contains("not on vast.ai's in two readings"));
    assert_eq!((state_of(&sim, "d977").as_str(), rented(&sim).len()), ("killed", before - 1));
    let again = run(&sim, &["kill", "d977", "--yes", "--every", "300ms"]);
    assert!(!again.status.success() && text(&again.stdout).contains("it is killed already"), "{}", text(&again.stdout));

    let journal = json(&run(&sim, &["journal", "--json"]));
    let phases: Vec<&str> = journal[0]["steps"].as_array().unwrap().iter().map(|step| step["phase"].as_str().unwrap()).collect();
    assert_eq!(phases, ["planned", "sent", "answered", "verified"]);
    assert_eq!((journal[0]["who"].as_str(), journal[0]["why"].as_str()), (Some("tester"), Some("silent for an hour")));
    assert_eq!(journal[0]["simulated"], true);
    assert!(text(&run(&sim, &["journal"]).stdout).contains("SIMULATED"));
}

#[test]
fn rentals_are_stopped_started_labelled_and_destroyed_and_machines_banned() {
    let sim = allowed("params-done-silence");
    let verified = |arguments: &[&str]| {
        let mut all = arguments.to_vec();
        all.extend(["--every", "300ms", "--json"]);
        let output = run(&sim, &all);
        assert!(output.status.success(), "{arguments:?}: {}{}", text(&output.stdout), text(&output.stderr));
        json(&output)
    };
    verified(&["stop", "7bec"]);
    verified(&["start", "7bec"]);
    verified(&["reboot", "7bec"]);
    let number = json(&run(&sim, &["fleet", "--json"]))["instances"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["id"].as_str().unwrap().starts_with("7bec"))
        .map(|row| {
            (row["vast_id"].as_u64().unwrap(), row["machine_id"].as_u64().unwrap(), row["label"].as_str().unwrap().to_owned())
        })
        .unwrap();
    verified(&["label", "7bec", "--as", &number.2]);
    verified(&["destroy", &number.0.to_string(), "--yes"]);
    assert!(!rented(&sim).contains(&number.0));
    verified(&["ban", &number.1.to_string(), "--reason", "it hangs", "--yes"]);
    verified(&["unban", &number.1.to_string()]);
    let journal: Value = json(&run(&sim, &["journal", "--json"]));
    let deeds: Vec<&str> = journal.as_array().unwrap().iter().map(|act| act["deed"].as_str().unwrap()).collect();
    assert_eq!(deeds, ["unban", "ban", "destroy", "label", "reboot", "start", "stop"]);
    assert!(
        journal.as_array().unwrap().iter().all(|act| act["phase"] == if act["deed"] == "reboot" { "taken" } else { "verified" })
    );
    assert!(journal[0]["text"].as_str().unwrap().starts_with("not on the manager's list"), "{journal}");
    for wrong in
        [&["kill", "nobody", "--yes"][..], &["destroy", "99999999", "--yes"], &["ban", "nobody", "--reason", "x", "--yes"]]
    {
        let output = run(&sim, wrong);
        assert_eq!(output.status.code(), Some(4), "{wrong:?}: {}", text(&output.stderr));
    }
}
