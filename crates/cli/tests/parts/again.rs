//! `dwellctl` again and again on one data folder: what it says of a fleet does not depend on how often it was started.

use std::time::Duration;

use dwell_fake_manager::{FakeManager, Options};
use serde_json::Value;

use crate::{dwellctl, json, text};

/// A manager whose time passes only when it is told to, and a data folder.
struct Place {
    manager: FakeManager,
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let options = Options { speed: 1e-6, ..Options::default() };
        Self { manager: FakeManager::serve(options), folder: tempfile::tempdir().unwrap() }
    }

    fn pass(&self, seconds: u64) {
        self.manager.advance(Duration::from_secs(seconds));
    }

    fn say(&self, path: &str, uuid: &str, more: &str) {
        let answer = self.manager.call("POST", path, &format!(r#"{{"uuid":"{uuid}"{more}}}"#)).value();
        assert_eq!(answer["ok"], true, "{path}: {answer}");
    }

    /// Its card shows no load.
    fn idle(&self, vast_id: u64) {
        self.manager.account(|account| {
            let row = account.row(vast_id).unwrap();
            row.insert("gpu_util".into(), 0.0.into());
        });
    }

    fn ask(&self, arguments: &[&str]) -> Value {
        let url = self.manager.url();
        let output = dwellctl(self.folder.path(), &[&["--manager", &url], arguments, &["--json"]].concat());
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        json(&output)
    }

    /// The rows of a new process's one look, with the manager's list of rentals as it is.
    fn fleet(&self) -> Value {
        self.manager.cycle();
        self.ask(&["fleet"])["instances"].clone()
    }
}

#[test]
fn a_log_that_repeats_itself_is_no_news_to_the_next_process() {
    let place = Place::new();
    let uuid = place.manager.registered(31_000_001);
    place.idle(31_000_001);
    place.say("/param-done", &uuid, "");
    for proof in 1..=9 {
        place.pass(60);
        place.manager.push(
            &uuid,
            "benchout",
            &format!("  [{proof}/12] COMPLETED — 10{proof}.2s (prove=99104 ms, queue=2101 ms)\n"),
        );
    }
    for _ in 0..23 {
        place.pass(60);
        place.manager.push(&uuid, "benchout", "waiting for the daemon at 127.0.0.1:9820\n");
    }
    let first = place.fleet();
    assert_eq!(first[0]["flag"]["kind"], "stalled", "{first}");
    assert!(first[0]["flag"]["reason"].as_str().unwrap().contains("has only repeated itself for 21 m"), "{first}");
    for again in 1..=3 {
        assert_eq!(place.fleet(), first, "look {again} after the first");
    }
    // And when it goes on like this.
    place.pass(60);
    place.manager.push(&uuid, "benchout", "waiting for the daemon at 127.0.0.1:9820\n");
    let later = place.fleet();
    assert!(later[0]["flag"]["reason"].as_str().unwrap().contains("has only repeated itself for 22 m"), "{later}");
}

#[test]
fn a_healthy_one_does_not_become_invisible() {
    let place = Place::new();
    let uuid = place.manager.registered(31_000_002);
    place.idle(31_000_002);
    for gib in 1..=84 {
        place.pass(60);
        place.manager.push(&uuid, "setup", &format!("fetched {gib} GiB of the parameters\n"));
    }
    let first = place.fleet();
    assert_eq!((&first[0]["state"], &first[0]["log_health"]), (&"registered".into(), &"working".into()), "{first}");
    assert_ne!(first[0]["flag"]["kind"], "invisible", "{first}");
    for again in 1..=3 {
        assert_eq!(place.fleet(), first, "look {again} after the first");
    }
}

/// What stands still takes two readings, and the ones before this process count.
#[test]
fn that_a_status_stands_still_is_said_of_what_was_read_twice() {
    let place = Place::new();
    let stands = |place: &Place| {
        place.manager.cycle();
        let told = place.ask(&["diagnose", "vast-31000003"]).to_string();
        (told.contains("status text stands still"), told.contains("status text moves"))
    };
    let start = place.manager.now().as_second() as f64;
    place.manager.account(|account| account.rent(31_000_003, start).len());
    let becomes = |text: &str| {
        place.manager.account(|account| account.row(31_000_003).unwrap().insert("status_msg".into(), text.into()));
    };
    for layer in 1..=5 {
        becomes(&format!("94e7aa00000{layer}: Pull complete"));
        place.fleet();
        place.pass(85);
    }
    assert!(!stands(&place).0, "it has changed with every look");
    place.pass(200);
    assert!(!stands(&place).0, "not for long enough");
    place.pass(200);
    assert_eq!(stands(&place), (true, false), "the same text in looks more than five minutes apart");
    // Somebody else's first look, at the same time.
    let other = Place { folder: tempfile::tempdir().unwrap(), ..place };
    assert_eq!(stands(&other), (false, false), "one reading tells neither");
}

/// Dwell was away while it ran through its benchmark: the manager's log says when it began to prove.
#[test]
fn when_it_began_to_run_is_read_in_the_managers_log() {
    let place = Place::new();
    let uuid = place.manager.registered(31_000_004);
    place.pass(1_500);
    place.say("/param-done", &uuid, "");
    place.fleet();
    place.pass(1_800);
    place.say("/bench-done", &uuid, r#","rate":41.5"#);
    place.pass(6);
    place.say("/running", &uuid, "");
    place.pass(840);
    let rows = place.fleet();
    assert_eq!((&rows[0]["state"], &rows[0]["dwell_basis"]), (&"running".into(), &"manager".into()), "{rows}");
    let dwell_s = rows[0]["dwell_s"].as_f64().unwrap();
    assert!((839.0..842.0).contains(&dwell_s), "{dwell_s}");
    let page = place.ask(&["show", &uuid]);
    let life = page["life"].as_array().unwrap();
    let benchmarked = life.iter().find(|entry| entry["state"] == "bench_done").unwrap();
    let stayed_s = benchmarked["stayed_s"].as_f64().unwrap();
    assert!((5.0..8.0).contains(&stayed_s), "{life:?}");
    assert_eq!(place.fleet(), rows, "and the next process knows it");
}

/// Nine rentals of yesterday registered with a manager that is new: nobody loads for seventeen hours.
#[test]
fn old_starts_of_rentals_are_no_norm_of_loading() {
    let place = Place::new();
    let now = place.manager.now().as_second() as f64;
    for vast_id in 31_000_010..31_000_019 {
        place.manager.account(|account| account.rent(vast_id, now - 63_660.0).len());
        place.manager.register(vast_id);
    }
    place.manager.account(|account| account.rent(31_000_020, now).len());
    for _ in 0..2 {
        let rows = place.fleet();
        let loading = rows.as_array().unwrap().iter().find(|row| row["state"] == "loading").unwrap();
        let usual_s = loading["expectation"]["usual_s"].as_f64().unwrap();
        assert!(usual_s < 1_200.0, "{loading}");
        place.pass(60);
    }
}
