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
    let listed = json(&run(sim, &["vast", "instances", "--json"]))["rentals"].take();
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
    let acts = json(&output)["actions"].take();
    assert_eq!((acts[0]["phase"].as_str(), acts[0]["done"].as_bool()), (Some("verified"), Some(true)), "{acts}");
    assert!(acts[0]["text"].as_str().unwrap().contains("not on vast.ai's in two readings"));
    assert_eq!((state_of(&sim, "d977").as_str(), rented(&sim).len()), ("killed", before - 1));
    let again = run(&sim, &["kill", "d977", "--yes", "--every", "300ms"]);
    assert!(!again.status.success() && text(&again.stdout).contains("it is killed already"), "{}", text(&again.stdout));

    let journal = json(&run(&sim, &["journal", "--json"]))["actions"].take();
    let mut phases: Vec<&str> =
        journal[0]["steps"].as_array().unwrap().iter().map(|step| step["phase"].as_str().unwrap()).collect();
    // Until the manager has read vast.ai's list anew, a step of its own says that it is not verified.
    phases.retain(|phase| *phase != "not-verified");
    assert_eq!(phases, ["planned", "sent", "answered", "verified"]);
    assert_eq!((journal[0]["who"].as_str(), journal[0]["why"].as_str()), (Some("tester"), Some("silent for an hour")));
    assert_eq!(journal[0]["simulated"], true);
    assert!(text(&run(&sim, &["journal"]).stdout).contains("SIMULATED"));
}

#[test]
fn a_kill_that_a_killed_terminal_left_open_is_seen_to_its_end_by_the_next_one() {
    let sim = allowed("params-done-silence");
    // Its second reading is far off: it is killed before it knows what came of the deed.
    let mut terminal = Command::new(env!("CARGO_BIN_EXE_dwellctl"))
        .args(["kill", "d977", "--yes", "--every", "10m"])
        .env("DWELL_DATA_DIR", sim.folder.path())
        .env("VAST_URL", &sim.vast_url)
        .env("VAST_API_KEY", "any-key-will-do")
        .env_remove("DWELL_MANAGER")
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let acts = || json(&run(&sim, &["journal", "--json"]))["actions"].take();
    let has = |phase: &str| {
        let acts = acts();
        assert!(acts.as_array().unwrap().len() <= 1, "nothing is sent again: {acts}");
        acts[0]["steps"].as_array().is_some_and(|steps| steps.iter().any(|step| step["phase"] == phase))
    };
    let mut tries = (0..200).map(|_| std::thread::sleep(std::time::Duration::from_millis(100)));
    while !has("answered") {
        tries.next().expect("the kill is answered");
    }
    terminal.kill().unwrap();
    terminal.wait().unwrap();
    assert!(!has("verified"));
    let mut looks = (0..10).map(|_| run(&sim, &["fleet"]));
    while !has("verified") {
        assert!(looks.next().expect("it is verified").status.code().is_some());
    }
    assert!(!has("incident"), "{}", acts());
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
    let journal: Value = json(&run(&sim, &["journal", "--json"]))["actions"].take();
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

fn rollouts(sim: &Sim) -> Value {
    json(&run(sim, &["rollouts", "--json"]))["rollouts"].take()
}

#[test]
fn a_replacement_that_is_killed_again_and_again_deploys_nothing_twice() {
    let sim = allowed("stuck-wave-rollout");
    run(&sim, &["fleet"]);
    let fleet = json(&run(&sim, &["fleet", "--json"]));
    // The wave came first: the oldest three.
    let rows = fleet["instances"].as_array().unwrap();
    let mut by_age: Vec<(&str, &str)> =
        rows.iter().map(|row| (row["entered_at"].as_str().unwrap(), row["id"].as_str().unwrap())).collect();
    by_age.sort_unstable();
    let wave: Vec<&str> = by_age.iter().take(3).map(|(_, id)| *id).collect();
    let before = rented(&sim);
    assert_eq!(before.len(), 7);

    let mut arguments = vec!["replace"];
    arguments.extend(&wave);
    arguments.extend(["--gpu", "RTX 4090", "--budget", "2", "--at-once", "3", "--every", "200ms", "--why", "the fix"]);
    let unconfirmed = run(&sim, &arguments);
    assert!(text(&unconfirmed.stderr).contains("give --yes") && !unconfirmed.status.success());
    assert_eq!(rollouts(&sim).as_array().unwrap().len(), 0);
    arguments.push("--yes");
    let command = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dwellctl"));
        command
            .env("DWELL_DATA_DIR", sim.folder.path())
            .env("VAST_URL", &sim.vast_url)
            .env("VAST_API_KEY", "any-key-will-do")
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        command
    };
    let mut name: Option<String> = None;
    let mut deaths = 0;
    for life in 0..200u64 {
        let mut child = match &name {
            None => command().args(&arguments).spawn().unwrap(),
            Some(name) => command().args(["rollouts", "resume", name, "--every", "200ms"]).spawn().unwrap(),
        };
        // Dies at another moment each time; after that it may live long enough for an order.
        let lasts = std::time::Duration::from_millis(if life < 12 { 150 + life * 137 } else { 8_000 });
        let began = std::time::Instant::now();
        while began.elapsed() < lasts && child.try_wait().unwrap().is_none() {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        deaths += usize::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        let all = rollouts(&sim);
        assert!(all.as_array().unwrap().len() <= 1, "{all}");
        name = all[0]["name"].as_str().map(str::to_owned);
        if all[0]["state"] == "ended" {
            break;
        }
    }
    let ended = &rollouts(&sim)[0];
    assert_eq!((ended["state"].as_str(), ended["says"].as_str()), (Some("ended"), Some("3 of 3 done")), "{ended}");
    assert!(deaths >= 12, "{deaths}");
    let after = rented(&sim);
    let new: Vec<&u64> = after.iter().filter(|id| !before.contains(id)).collect();
    assert_eq!((after.len(), new.len()), (7, 3), "three went, three came, and no other: {after:?}");
    for id in wave {
        assert!(["killed", "gone"].contains(&state_of(&sim, id).as_str()));
    }
}

#[test]
fn offers_say_what_they_would_prove_and_what_cannot_work() {
    let sim = allowed("stuck-wave-rollout");
    run(&sim, &["fleet"]);
    run(&sim, &["ban", "140139", "--reason", "dies", "--yes", "--every", "200ms"]);
    let offers = json(&run(&sim, &["offers", "--json", "--all", "--limit", "100"]));
    let all = offers["offers"].as_array().unwrap();
    assert_eq!((offers["source"].as_str(), all.len() > 20), (Some("vast.ai"), true));
    let fits = |it: &&Value| it["why_not"].as_array().unwrap().is_empty();
    let price = |it: &Value| it["dollars_per_proof"].as_f64();
    let can: Vec<f64> = all.iter().filter(fits).filter_map(price).collect();
    assert!(can.len() > 5 && can.windows(2).all(|pair| pair[0] <= pair[1]), "{can:?}");
    let banned = all.iter().find(|it| it["machine_id"] == 140_139).unwrap();
    assert!(banned["why_not"][0].as_str().unwrap().contains("bad hosts: dies"), "{banned}");
    // The fleet's own benchmarks come before the model.
    assert!(all.iter().any(|it| it["gpu_name"] == "RTX 4090" && it["basis"] == "same-cards"));
    let narrow = json(&run(&sim, &["offers", "--json", "--filter", "gpu_name=RTX_4090 dph<=0.5"]));
    assert!(narrow["offers"].as_array().unwrap().iter().all(|it| it["gpu_name"] == "RTX 4090"));
    assert!(text(&run(&sim, &["offers", "--filter", "cheap"]).stderr).contains("\"cheap\" is no filter"));

    // A dry run tells all and does nothing; a budget that is too small is said before anything is done.
    let plan =
        json(&run(&sim, &["deploy", "2", "--budget", "1.5", "--per-proof", "0.02", "--gpu", "RTX 4090", "--dry-run", "--json"]));
    assert_eq!((plan["confirm_with"].as_str(), plan["offers"].as_array().unwrap().len()), (Some("deploy 2"), 2), "{plan}");
    assert!(plan["notes"].to_string().contains("kills what proves less than"), "{plan}");
    let poor = run(&sim, &["deploy", "2", "--budget", "0.05", "--yes"]);
    assert!(!poor.status.success() && text(&poor.stderr).contains("0.05 are allowed"), "{}", text(&poor.stderr));
    run(&sim, &["fleets", "read-only", "sim"]);
    let refused = run(&sim, &["deploy", "1", "--budget", "5", "--yes"]);
    assert!(!refused.status.success() && text(&refused.stderr).contains("read-only"), "{}", text(&refused.stderr));
    assert_eq!(rollouts(&sim).as_array().unwrap().len(), 0);
}

#[test]
fn rules_are_kept_checked_and_off_until_said_otherwise() {
    let sim = allowed("params-done-silence");
    assert!(text(&run(&sim, &["rules"]).stdout).contains("nothing is done by itself"));
    let add = ["rules", "add", "wedged", "--verdict", "invisible", "--cause", "pipeline-deadlock", "--do", "kill"];
    let kept = json(&run(&sim, &[&add[..], &["--json"]].concat()));
    let rule = &kept["rules"][0]["rule"];
    assert_eq!((rule["on"].as_bool(), rule["dry_run"].as_bool(), rule["per_day"].as_u64()), (Some(false), Some(true), Some(3)));
    assert_eq!((rule["fleet"].as_str(), kept["rules"][0]["today"].as_u64()), (Some("sim"), Some(0)));
    let wrong = run(&sim, &["rules", "add", "x", "--verdict", "invisible", "--cause", "gremlins", "--do", "kill"]);
    assert!(!wrong.status.success() && text(&wrong.stderr).contains("no cause is called so"), "{}", text(&wrong.stderr));
    run(&sim, &["fleets", "read-only", "sim"]);
    assert!(text(&run(&sim, &add).stderr).contains("read-only"));
    assert!(text(&run(&sim, &["rules", "remove", "wedged"]).stdout).contains("no rules"));
    assert!(!run(&sim, &["rules", "remove", "wedged"]).status.success());
}
