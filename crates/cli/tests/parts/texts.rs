//! What the real programs write, read from a terminal: a kill that vast.ai's client aborted, a kill out of a run, and a benchmark
//! that is well, line by line.

use std::time::Duration;

use dwell_fake_manager::{Behaviour, FakeManager, Options};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::{dwellctl, json, text};

const RENTAL: u64 = 31_000_010;

/// A manager's double whose clock began so many seconds ago.
struct Past {
    manager: FakeManager,
    left_s: u64,
    folder: tempfile::TempDir,
}

impl Past {
    #[expect(clippy::disallowed_methods, reason = "the double's past lies before the time of the program under test")]
    fn of(seconds: u64) -> Self {
        let start = Timestamp::now() - SignedDuration::from_secs(seconds as i64);
        let pause = Some(Duration::from_secs(60));
        let options =
            Options { start: Some(start), first_cycle: Some(Duration::from_secs(1)), cycle_pause: pause, ..Options::default() };
        let mut past = Self { manager: FakeManager::serve(options), left_s: seconds, folder: tempfile::tempdir().unwrap() };
        past.pass(30);
        past
    }

    /// Two that prove, without a label at vast.ai as the manager rents them: the uuid of the first. Its client asks before it
    /// destroys, finds nobody and ends with status 0.
    fn with_two_and_a_client_that_asks() -> (Self, String) {
        let mut past = Self::of(1_500);
        let uuid = past.manager.running(RENTAL);
        past.manager.running(RENTAL + 1);
        past.manager.account(|account| {
            account.destroy = Behaviour::Aborts;
            for row in &mut account.rows {
                row.insert("label".to_owned(), Value::Null);
            }
        });
        past.pass(570);
        (past, uuid)
    }

    /// Time passes, and the monitor has its cycle at least every minute.
    fn pass(&mut self, seconds: u64) {
        let mut left_s = seconds.min(self.left_s);
        self.left_s -= left_s;
        while left_s > 0 {
            let step_s = left_s.min(55);
            self.manager.advance(Duration::from_secs(step_s));
            self.manager.cycle();
            left_s -= step_s;
        }
    }

    fn post(&self, route: &str, body: &str) {
        let answer = self.manager.call("POST", route, body);
        assert_eq!(answer.status, 200, "{route}: {}", answer.text());
    }

    /// Until now.
    fn pass_the_rest(&mut self) {
        self.pass(self.left_s);
    }

    fn page(&self, id: &str) -> (Value, String) {
        let run = |more: &[&str]| {
            let url = self.manager.url();
            let mut arguments = vec!["--manager", &url, "diagnose", id];
            arguments.extend(more);
            let output = dwellctl(self.folder.path(), &arguments);
            assert!(output.status.success(), "{}", text(&output.stderr));
            output
        };
        (json(&run(&["--json"]))["diagnoses"][0].take(), text(&run(&[]).stdout))
    }
}

fn confirmed(page: &Value) -> Vec<String> {
    let groups = page["groups"].as_array().unwrap_or_else(|| panic!("{page}"));
    let causes = groups.iter().flat_map(|group| group["causes"].as_array().unwrap());
    causes.filter(|cause| cause["standing"] == "confirmed").map(|cause| cause["id"].as_str().unwrap().to_owned()).collect()
}

/// The most ordinary path: killed by hand through the manager, whose client asks, finds nobody and ends with status 0.
#[test]
fn an_aborted_kill_is_no_kill_that_named_nobody() {
    let (mut past, uuid) = Past::with_two_and_a_client_that_asks();
    past.post("/api/kill", &format!(r#"{{"vast_id":{RENTAL},"uuid":"{uuid}"}}"#));
    past.pass_the_rest();
    assert!(past.manager.account(|account| account.is_rented(RENTAL)), "the client destroyed nothing");
    let log = past.manager.log().join("\n");
    assert!(log.contains(&format!("[kill] manually destroying vast instance {RENTAL}")), "{log}");
    assert!(log.contains(&format!("[monitor] destroyed vast instance {RENTAL}")), "{log}");

    let (page, shown) = past.page(&uuid);
    assert_eq!(confirmed(&page), Vec::<String>::new(), "{shown}");
    assert!(shown.contains("Destroyed by the manager's word only"), "{shown}");
    assert!(shown.contains("vast.ai still has it"), "{shown}");
    assert!(!shown.contains("reports again") && !shown.contains("a killed instance that reports"), "{shown}");
    assert!(page["groups"][0]["causes"].as_array().unwrap().iter().any(|it| it["id"] == "destroy-false-success"), "{shown}");
}

/// Nobody named the rental: the log has every line of that time and none of it.
#[test]
fn a_kill_that_named_nobody_is_told_by_the_log() {
    let (mut past, uuid) = Past::with_two_and_a_client_that_asks();
    past.post("/api/kill", &format!(r#"{{"uuid":"{uuid}"}}"#));
    past.pass_the_rest();
    let (page, shown) = past.page(&uuid);
    assert_eq!(confirmed(&page), ["kill-before-destroy-ordering"], "{shown}");
}

/// What is gone is gone: the number and the price that the manager keeps of it are no entry of vast.ai's list.
#[test]
fn a_kill_that_worked_leaks_nothing() {
    let (mut past, uuid) = Past::with_two_and_a_client_that_asks();
    past.post("/api/kill", &format!(r#"{{"vast_id":{RENTAL},"uuid":"{uuid}"}}"#));
    past.manager.account(|account| account.end(RENTAL));
    past.pass_the_rest();
    let (page, shown) = past.page(&uuid);
    assert_eq!(confirmed(&page), Vec::<String>::new(), "{shown}");
    assert!(!shown.contains("vast.ai still has it") && !shown.contains("leaking"), "{shown}");
    let fleet = json(&dwellctl(past.folder.path(), &["--manager", &past.manager.url(), "fleet", "--all", "--json"]));
    let row = fleet["instances"].as_array().unwrap().iter().find(|row| row["uuid"] == uuid.as_str()).unwrap();
    assert_eq!((row["state"].as_str(), row["flag"].is_null()), (Some("killed"), true), "{row}");
}

/// Source and text of the lines of a benchmark that is well, with the seconds before each.
fn benchmark() -> Vec<(u64, &'static str, String)> {
    let traced = |target: &str, message: &str| {
        format!(
            "\u{1b}[2m2026-03-13T17:00:01.123456Z\u{1b}[0m \u{1b}[32m INFO\u{1b}[0m \u{1b}[2m{target}\u{1b}[0m\u{1b}[2m:\u{1b}[0m {message}"
        )
    };
    let mut lines = vec![
        (5, "setup", "Starting benchmark".to_owned()),
        (2, "benchdaemon", traced("cuzk_daemon", "cuzk-daemon starting")),
        (1, "benchdaemon", traced("cuzk_daemon", "cuzk-daemon ready, serving on unix:///run/curio/cuzk.sock")),
    ];
    for partition in 0..10 {
        let words = format!("partition synthesis complete, pushing to GPU queue partition={partition} synth_ms=8400");
        lines.push((30, "benchdaemon", traced("cuzk_core::engine", &words)));
    }
    lines.extend([
        (5, "benchdaemon", traced("cuzk_daemon", "cuzk-daemon starting")),
        (2, "benchdaemon", traced("cuzk_core::srs_manager", "loading SRS from disk circuit_id=porep-32g file_size_gib=44")),
        (80, "benchdaemon", traced("cuzk_core::srs_manager", "SRS loaded successfully circuit_id=porep-32g elapsed_ms=80000")),
        (1, "benchout", "=== Batch Benchmark ===".to_owned()),
        (0, "benchout", "proof type:  porep".to_owned()),
        (0, "benchout", "count:       12".to_owned()),
        (0, "benchout", "concurrency: 1".to_owned()),
    ]);
    for proof in 1..=12 {
        lines.push((100, "benchdaemon", traced("cuzk_core::engine", "Phase 7: PoRep proof self-check PASSED")));
        lines.push((1, "benchout", format!("  [{proof}/12] COMPLETED \u{2014} 101.{proof}s (prove=98123 ms, queue=12 ms)")));
    }
    for summary in [
        "=== Batch Summary ===",
        "total time:    1214.4s",
        "completed:     12",
        "failed:        0",
        "wall time:     avg=101.2s min=99.0s max=104.0s",
        "prove time:    avg=98.1s min=96.0s max=100.4s",
        "throughput:    0.593 proofs/min (101.2s/proof)",
    ] {
        lines.push((0, "benchout", summary.to_owned()));
    }
    lines
}

#[test]
fn a_healthy_benchmark_is_quiet_from_its_first_line_to_its_run() {
    let lines = benchmark();
    let whole_s: u64 = lines.iter().map(|(seconds, ..)| seconds).sum();
    // In the middle of its proofs; with its summary just written; reported and at work.
    for (until, after_s) in [(24, 20), (lines.len(), 10), (lines.len(), 400)] {
        let heard = after_s > 300;
        let lines = &lines[..until];
        let length_s: u64 = lines.iter().map(|(seconds, ..)| seconds).sum();
        assert!(length_s <= whole_s);
        let mut past = Past::of(150 + length_s + after_s);
        let uuid = past.manager.registered(RENTAL);
        past.manager.push(&uuid, "setup", "Registered with manager\nParams: already present, skipping\n");
        past.pass(120);
        past.post("/param-done", &format!(r#"{{"uuid":"{uuid}"}}"#));
        for (seconds, source, line) in lines {
            past.pass(*seconds);
            past.manager.push(&uuid, source, &format!("{line}\n"));
        }
        if heard {
            past.post("/bench-done", &format!(r#"{{"uuid":"{uuid}","rate":35.57}}"#));
            past.post("/running", &format!(r#"{{"uuid":"{uuid}"}}"#));
            for proof in 0..3 {
                past.pass(100);
                past.manager.push(&uuid, "cuzk", &format!("Phase 7: PoRep proof self-check PASSED job_id={proof}\n"));
            }
        }
        past.pass_the_rest();
        let (page, shown) = past.page(&uuid);
        assert_eq!(confirmed(&page), Vec::<String>::new(), "{until} lines:\n{shown}");
        for word in ["per minute", "not heard", "is not heard", "still waits for the report", "reports again"] {
            assert!(!shown.contains(word), "{until} lines, {word:?}:\n{shown}");
        }
        // The manager's own timer is near at the end of every benchmark; nothing else is out of order.
        let findings = page["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
        assert!(findings.iter().all(|it| it["id"] == "timer-near"), "{shown}");
        let fleet = json(&dwellctl(past.folder.path(), &["--manager", &past.manager.url(), "fleet", "--all", "--json"]));
        assert!(fleet["instances"][0]["flag"].is_null(), "{}", fleet["instances"][0]);
    }
}
