//! A manager that is blind, or that wrote its fleet off, is never called calm: the real `dwellctl` against the manager's double.

use std::path::Path;
use std::process::Output;
use std::time::Duration;

use dwell_fake_manager::{Behaviour, FakeManager, Options};
use serde_json::Value;

use crate::watching::Background;
use crate::{json, text};

/// What was asked is not known.
const UNKNOWN: Option<i32> = Some(11);
const MINUTE: Duration = Duration::from_secs(60);

fn dwellctl(folder: &Path, manager: &FakeManager, arguments: &[&str]) -> Output {
    let mut all = vec!["--manager".to_owned(), manager.url()];
    all.extend(arguments.iter().map(|it| (*it).to_owned()));
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    crate::dwellctl(folder, &all)
}

/// Its output, where it ends as it should.
fn said(folder: &Path, manager: &FakeManager, arguments: &[&str], code: Option<i32>) -> String {
    let output = dwellctl(folder, manager, arguments);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), code, "{arguments:?}: {said}{}", text(&output.stderr));
    for calm in ["no instances to show", "Nothing is stuck", "nothing is stuck"] {
        assert!(code == Some(0) || !said.contains(calm), "{arguments:?}: {said}");
    }
    said
}

fn kinds(of: &Value) -> Vec<&str> {
    of["conditions"].as_array().unwrap().iter().map(|it| it["kind"].as_str().unwrap()).collect()
}

/// A manager that rents this many, all running and listed.
fn manager_with(count: u64) -> (FakeManager, Vec<String>) {
    let manager = FakeManager::serve(Options::default());
    let uuids = (0..count).map(|number| manager.running(31_000_010 + number)).collect();
    manager.cycle();
    (manager, uuids)
}

#[test]
fn a_manager_whose_client_fails_from_the_start_is_blind() {
    let folder = tempfile::tempdir().unwrap();
    let manager = FakeManager::serve(Options::default());
    manager.account(|account| account.list = Behaviour::fails("Failed with error 401: bad key\n"));
    manager.cycle();
    for arguments in [&["fleet"][..], &["diagnose"], &["fleet", "--fail-on-flag"]] {
        let said = said(folder.path(), &manager, arguments, UNKNOWN);
        assert!(
            said.starts_with("\u{25b2} vast-list-missing: the manager has not read vast.ai's list since it started"),
            "{said}"
        );
        assert!(said.contains("enumerate vast instances: vastai show instances: exit status 1"), "{said}");
        assert!(said.contains("next: run `vastai show instances --raw` where the manager runs"), "{said}");
        assert!(!said.contains("$0.00/h leaking") && !said.contains("loading 0"), "{said}");
    }
    let fleet = json(&dwellctl(folder.path(), &manager, &["fleet", "--json"]));
    assert_eq!((kinds(&fleet), &fleet["conditions"][0]["is_unknown"]), (vec!["vast-list-missing"], &Value::Bool(true)));
    assert!(fleet["summary"]["leaking_dollars_per_h"].is_null() && fleet["summary"]["waiting_dollars_per_h"].is_null());
    let diagnosis = dwellctl(folder.path(), &manager, &["diagnose", "--json"]);
    assert_eq!((diagnosis.status.code(), kinds(&json(&diagnosis))), (UNKNOWN, vec!["vast-list-missing"]));
    // Once it reads its list it is calm, and may say so.
    manager.account(|account| account.list = Behaviour::Works);
    manager.cycle();
    assert!(said(folder.path(), &manager, &["fleet"], Some(0)).contains("no instances to show"));
    assert!(said(folder.path(), &manager, &["diagnose"], Some(0)).contains("Nothing is stuck"));
}

#[test]
fn a_leak_stays_when_the_list_stops_and_ends_with_a_list_that_lacks_it() {
    let folder = tempfile::tempdir().unwrap();
    let (manager, uuids) = manager_with(2);
    manager.account(|account| account.destroy = Behaviour::Aborts);
    manager.call("POST", "/api/kill", &format!(r#"{{"vast_id":31000010,"uuid":"{}"}}"#, uuids[0]));
    manager.advance(6 * MINUTE);
    manager.cycle();
    let fleet = said(folder.path(), &manager, &["fleet"], Some(0));
    assert!(fleet.contains("leaking: killed 6 m ago by the manager, and vast.ai still lists it at $0.31/h"), "{fleet}");
    assert!(fleet.contains("$0.31/h leaking"), "{fleet}");

    manager.account(|account| account.list = Behaviour::fails("Connection refused\n"));
    manager.advance(14 * MINUTE);
    manager.cycle();
    // Another process as well, that never saw the list fresh.
    let other = tempfile::tempdir().unwrap();
    for folder in [folder.path(), other.path()] {
        let fleet = said(folder, &manager, &["fleet"], UNKNOWN);
        assert!(fleet.starts_with("\u{25b2} vast-list-stale: the manager last read vast.ai's list 14 m ago"), "{fleet}");
        assert!(
            fleet.contains(
                "leaking: killed 20 m ago by the manager, and vast.ai billed it at $0.31/h when its list last had it, 14 m ago"
            ),
            "{fleet}"
        );
        assert!(fleet.contains("$0.31/h leaking"), "{fleet}");
        let diagnosis = said(folder, &manager, &["diagnose"], UNKNOWN);
        assert!(diagnosis.contains("\u{25b2} vast-list-stale") && diagnosis.contains("1 instance in killed"), "{diagnosis}");
    }

    // A restart leaves the manager without any list.
    manager.start_again();
    manager.cycle();
    let fleet = said(folder.path(), &manager, &["fleet"], UNKNOWN);
    assert!(fleet.starts_with("\u{25b2} vast-list-missing: "), "{fleet}");
    assert!(
        fleet.contains("vast.ai billed it at $0.31/h when its list last had it, 1") && fleet.contains("$0.31/h leaking"),
        "{fleet}"
    );

    manager.account(|account| {
        account.end(31_000_010);
        account.list = Behaviour::Works;
    });
    manager.cycle();
    let fleet = json(&dwellctl(folder.path(), &manager, &["fleet", "--json"]));
    let killed = fleet["instances"].as_array().unwrap().iter().find(|row| row["state"] == "killed").unwrap();
    assert_eq!(
        (kinds(&fleet).len(), &killed["flag"], &fleet["summary"]["leaking_dollars_per_h"]),
        (0, &Value::Null, &Value::from(0.0))
    );
}

#[test]
fn a_fleet_that_an_empty_list_wrote_off_is_the_loudest_incident() {
    let folder = tempfile::tempdir().unwrap();
    let (manager, uuids) = manager_with(11);
    let fleet = said(folder.path(), &manager, &["fleet"], Some(0));
    assert!(fleet.contains("running 11") && !fleet.contains('\u{25b2}'), "{fleet}");

    manager.account(|account| account.list = Behaviour::prints("[]"));
    manager.cycle();
    // Who watched, and who comes now.
    let other = tempfile::tempdir().unwrap();
    for folder in [folder.path(), other.path()] {
        let fleet = said(folder, &manager, &["fleet"], UNKNOWN);
        let first = fleet.lines().next().unwrap();
        assert!(
            first.starts_with("\u{25b2}\u{25b2} fleet-written-off: the whole fleet (11 instances) was written off at once"),
            "{fleet}"
        );
        assert!(first.ends_with("whether they are billed is unknown; $3.41/h by their last prices"), "{fleet}");
        assert!(fleet.contains("the manager's log, ") && fleet.contains(": 0 rentals on its list"), "{fleet}");
        assert!(fleet.contains("$3.41/h billed or not: unknown (11)") && fleet.contains("$\u{2013}/h leaking"), "{fleet}");
        for uuid in &uuids {
            let short = uuid.split('-').next().unwrap();
            let row = fleet.lines().find(|line| line.contains(short)).unwrap_or_else(|| panic!("{short} is hidden: {fleet}"));
            assert!(row.contains("written-off: written off ") && row.contains("together with 10 others"), "{row}");
        }
        let diagnosis = said(folder, &manager, &["diagnose"], UNKNOWN);
        assert!(
            diagnosis.starts_with("\u{25b2}\u{25b2} fleet-written-off") && diagnosis.contains("11 instances in killed"),
            "{diagnosis}"
        );
        said(folder, &manager, &["fleet", "--fail-on-flag"], Some(10));
        let incidents = json(&dwellctl(folder, &manager, &["diagnose", "--json"]));
        assert_eq!(
            (kinds(&incidents), incidents["conditions"][0]["instances"].as_array().unwrap().len()),
            (vec!["fleet-written-off"], 11)
        );
        assert_eq!(incidents["incidents"][0]["verdict"], "written-off");
    }
    let watch = dwellctl(folder.path(), &manager, &["--json", "watch", "--until-flagged"]);
    let events: Vec<Value> = text(&watch.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (watch.status.code(), events[0]["what"].as_str(), events[0]["kind"].as_str()),
        (Some(10), Some("condition"), Some("fleet-written-off"))
    );

    // The list comes back, and has them all.
    manager.advance(MINUTE);
    manager.account(|account| account.list = Behaviour::Works);
    manager.cycle();
    let fleet = said(folder.path(), &manager, &["fleet"], UNKNOWN);
    assert!(fleet.lines().next().unwrap().contains("all of them are billed"), "{fleet}");
    assert!(fleet.contains("$3.41/h leaking") && fleet.matches("leaking: written off ").count() == 11, "{fleet}");
}

#[test]
fn what_was_meant_is_acknowledged_and_is_no_alarm_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let (manager, _) = manager_with(5);
    said(folder.path(), &manager, &["fleet"], Some(0));
    // Ended at vast.ai's website.
    manager.account(|account| account.rows.clear());
    manager.cycle();
    said(folder.path(), &manager, &["fleet"], UNKNOWN);
    let accounted = said(folder.path(), &manager, &["acknowledge", "--why", "moved to another account"], Some(0));
    assert!(accounted.contains("accounted for"), "{accounted}");
    // It stays accounted for in every later process.
    let fleet = said(folder.path(), &manager, &["fleet"], Some(0));
    assert!(!fleet.contains('\u{25b2}') && fleet.contains("no instances to show"), "{fleet}");
    assert!(said(folder.path(), &manager, &["diagnose"], Some(0)).contains("Nothing is stuck"));
    let again = dwellctl(folder.path(), &manager, &["acknowledge", "--json"]);
    assert_eq!(json(&again)["error"]["code"], "nothing-to-acknowledge");
}

#[test]
fn kills_that_were_ordered_raise_no_condition() {
    let folder = tempfile::tempdir().unwrap();
    let (manager, uuids) = manager_with(6);
    said(folder.path(), &manager, &["fleet"], Some(0));
    for (number, uuid) in uuids.iter().enumerate().take(5) {
        manager.call("POST", "/api/kill", &format!(r#"{{"vast_id":{},"uuid":"{uuid}"}}"#, 31_000_010 + number));
    }
    manager.cycle();
    let fleet = said(folder.path(), &manager, &["fleet", "--all"], Some(0));
    assert!(fleet.contains("killed 5") && !fleet.contains('\u{25b2}') && fleet.contains("$0.00/h leaking"), "{fleet}");
    // Ordered without its row: the manager writes it off, and its log says who ordered the end.
    let (manager, _) = manager_with(4);
    let folder = tempfile::tempdir().unwrap();
    said(folder.path(), &manager, &["fleet"], Some(0));
    for number in 31_000_010..31_000_013_u64 {
        manager.call("POST", "/api/kill", &format!(r#"{{"vast_id":{number},"uuid":""}}"#));
    }
    manager.cycle();
    let fleet = said(folder.path(), &manager, &["fleet", "--all"], Some(0));
    assert!(fleet.contains("instance disappeared from vast") && !fleet.contains('\u{25b2}'), "{fleet}");
}

#[test]
fn a_manager_that_was_never_reached_is_unknown_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}");
    for arguments in [["--manager", &url, "fleet"], ["--manager", &url, "diagnose"]] {
        let output = crate::dwellctl(folder.path(), &arguments);
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(3), ""), "{}", text(&output.stderr));
    }
    let arguments = ["--manager", &url, "--json", "watch", "--every", "500ms", "--metrics", "127.0.0.1:0"];
    let watch = Background::run(folder.path(), &arguments);
    let said = watch.out.until("the condition", |said| said.contains("\"condition\""));
    let events: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<_> = events.iter().map(|event| (event["what"].as_str().unwrap(), event["to"].as_str().unwrap())).collect();
    assert_eq!(told, [("outage", "outage"), ("condition", "manager-never-reached")]);
    let said = watch.err.until("the address", |said| said.contains("metrics at "));
    let address = said.lines().find_map(|line| line.split_once("metrics at ").map(|(_, url)| url)).unwrap().to_owned();
    let metrics =
        crate::metrics::wait_for(&address, |metrics| metrics.contains("dwell_condition{kind=\"manager-never-reached\"} 1\n"));
    for series in ["\ndwell_instances{", "\ndwell_cost_per_hour", "\ndwell_flagged{", " 0.0\n"] {
        assert!(!metrics.contains(series), "{series}: {metrics}");
    }
}
