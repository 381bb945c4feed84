//! A key that a hostile side repeats is looked for in everything that is written and printed.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::hostile::{answer_on, asked_for, request_on};
use crate::text;

/// A secret as it is written in many places.
fn forms(secret: &str) -> Vec<String> {
    let json = Value::from(secret).to_string();
    vec![
        secret.to_owned(),
        json[1..json.len() - 1].to_owned(),
        utf8_percent_encode(secret, NON_ALPHANUMERIC).to_string(),
        STANDARD.encode(secret).trim_end_matches('=').to_owned(),
        URL_SAFE_NO_PAD.encode(secret),
    ]
}

/// What only reads as the secret where JSON is read: each letter escaped.
fn escaped(secret: &str) -> String {
    secret.chars().map(|letter| format!("\\u{:04x}", u32::from(letter))).collect()
}

/// A manager and a vast.ai in one, in whose every text the secret stands.
fn parrot(secret: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let secret = secret.to_owned();
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let secret = secret.clone();
            std::thread::spawn(move || answer(socket, &secret));
        }
    });
    url
}

fn answer(mut socket: TcpStream, secret: &str) {
    let Some(request) = request_on(&mut socket) else { return };
    let (method, target) = asked_for(&request);
    let (status, body) = said(method, target, secret, &request);
    // The secret once more, in a form that only a reader of JSON sees.
    let body = body.replace("ESCAPED", &escaped(secret));
    answer_on(&mut socket, status, body.as_bytes());
}

fn said(method: &str, target: &str, secret: &str, request: &str) -> (u16, String) {
    let planted = format!("{} ESCAPED", forms(secret).join(" "));
    let row = |label: &str| {
        json!({ "uuid": UUID, "label": label, "runner_id": 1, "state": "running", "min_rate": 30, "gpu_name": format!("RTX {planted}"),
                "registered_at": "2026-12-01T01:41:48Z", "vast_id": 31_000_010, "dph_total": 0.3, "status_msg": planted,
                "geolocation": planted, "driver_version": planted, "kill_reason": planted, "log_lines": 2, "has_logs": true,
                "start_date": 1_796_089_292.0, "machine_id": 7_001 })
    };
    match (method, target) {
        (_, target) if target.contains("/dashboard") => {
            let body = json!({ "instances": [row(&planted)], "bad_hosts": [{ "machine_id": "7", "reason": planted, "added_at": "" }],
                               "summary": {}, "updated_at": "2026-12-01T02:41:48Z", "vast_cache_age_s": 3 });
            (200, body.to_string())
        }
        (_, target) if target.contains("-logs") => {
            let lines: Vec<Value> = (0..3)
                .map(|nth| json!({ "src": "setup", "text": format!("{nth} curl -H {planted}"), "ts": 1_796_089_300_000_u64 + nth }))
                .collect();
            (200, json!(lines).to_string())
        }
        ("POST", target) if target.contains("/bundles") => {
            let offer = json!({ "id": 7, "machine_id": 9, "dph_total": 0.3, "geolocation": planted, "gpu_name": planted, "disk_space": 900,
                                "driver_version": planted });
            (200, json!({ "offers": [offer] }).to_string())
        }
        ("GET", target) if target.contains("/instances/?") || target.ends_with("/instances/") => {
            let rental = json!({ "id": 31_000_010, "actual_status": "running", "label": planted, "status_msg": planted, "dph_total": 0.3,
                                 "gpu_name": planted, "image_uuid": planted });
            (200, json!({ "total_instances": 1, "instances_found": 1, "instances": [rental], "next_token": null }).to_string())
        }
        (_, target) if target.contains("/users/") => (200, json!({ "id": 1, "credit": 100.0, "fullname": planted }).to_string()),
        // The request with its header, as servers in trouble put it out.
        _ => (400, json!({ "success": false, "error": planted, "msg": format!("cannot {request} {planted}") }).to_string()),
    }
}

const UUID: &str = "aaaaaaaa-0000-4000-8000-000000000001";

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Plays it all with one secret, and looks for it.
fn is_nowhere(secret: &str) -> Result<(), TestCaseError> {
    let folder = tempfile::tempdir().unwrap();
    let url = parrot(secret);
    let run = |arguments: &[&str]| -> Output {
        Command::new(env!("CARGO_BIN_EXE_dwellctl"))
            .args(arguments)
            .env("DWELL_DATA_DIR", folder.path())
            .env("VAST_API_KEY", secret)
            .env("VAST_URL", &url)
            .env("DWELL_LOG", "trace")
            .env_remove("DWELL_MANAGER")
            .env("TZ", "UTC")
            .output()
            .unwrap()
    };
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (table, chart) = (file("lines.jsonl"), file("chart.svg"));
    let deploy = ["deploy", "1", "--budget", "9", "--image", "i", "--why", secret, "--yes", "--every", "100ms"];
    let url_of = format!("URL={secret}");
    let commands: Vec<Vec<&str>> = vec![
        vec!["fleets", "add", "f", &url],
        vec!["fleets", "allow-acting", "f"],
        vec!["fleet", "--output", "wide"],
        vec!["fleet", "--json"],
        vec!["show", UUID],
        vec!["show", UUID, "--json"],
        vec!["logs", UUID],
        vec!["logs", UUID, "--json"],
        vec!["manager-logs"],
        vec!["bad-hosts"],
        vec!["diagnose", "--report", "html"],
        vec!["diagnose", UUID, "--json"],
        vec!["vast", "user"],
        vec!["vast", "instances", "--json"],
        vec!["vast", "logs", "31000010"],
        vec!["offers", "--all"],
        vec!["label", UUID, secret, "--yes", "--why", secret, "--every", "100ms", "--readings", "1"],
        [&deploy[..], &["--env", &url_of]].concat(),
        vec!["rollouts", "--json"],
        vec!["journal", "--json"],
        vec!["history", "export", "logs", "-o", &table],
        vec!["chart", "states", "-o", &chart],
    ];
    let forms = forms(secret);
    for arguments in &commands {
        let output = run(arguments);
        for said in [&output.stdout, &output.stderr] {
            let said = text(said);
            for form in &forms {
                prop_assert!(!said.contains(form.as_str()), "{arguments:?} prints {form}: {}", said);
            }
        }
    }
    let written = files(folder.path());
    let holds = |name: &str| written.iter().any(|path| path.ends_with(name));
    prop_assert!(holds("history.sqlite3") && holds("settings.toml"), "{written:?}");
    let mut marks = 0;
    for path in written {
        let bytes = std::fs::read(&path).unwrap();
        let find = |wanted: &str| bytes.windows(wanted.len()).filter(|part| *part == wanted.as_bytes()).count();
        for form in &forms {
            prop_assert_eq!(find(form), 0, "{} has {}", path.display(), form);
        }
        marks += find("[a secret]");
    }
    // What was planted came, and is marked: the history has log lines, a label, deeds and a rollout.
    prop_assert!(marks > 10, "{marks}");
    Ok(())
}

/// Whatever a key looks like, and wherever the manager, instances and vast.ai repeat it: no file and no output has it, in any form.
#[test]
fn what_is_planted_in_answers_is_found_nowhere() {
    TestRunner::new(Config { cases: 2, failure_persistence: None, ..Config::default() })
        .run(&"[a-zA-Z0-9][!-~]{11,39}", |secret| is_nowhere(&secret))
        .unwrap();
}

/// A variable whose name says that it is a secret is not taken in the clear: the keychain keeps it, and the order has its name alone.
#[test]
fn a_secret_in_the_clear_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let url = parrot("none-is-known-here");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dwellctl"));
        command.args(arguments).env("DWELL_DATA_DIR", folder.path()).env("VAST_API_KEY", "any-key-will-do").env("VAST_URL", &url);
        command.env_remove("DWELL_MANAGER").output().unwrap()
    };
    assert!(run(&["fleets", "add", "f", &url]).status.success());
    let deploy = ["deploy", "1", "--budget", "9", "--image", "i", "--dry-run", "--env"];
    let refused = run(&[&deploy[..], &["HF_TOKEN=hf-5ec7e7-0123"]].concat());
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("HF_TOKEN reads like a secret") && said.contains("dwellctl keys set-env HF_TOKEN"), "{said}");
    assert!(!said.contains("hf-5ec7e7"), "{said}");
    let plain = run(&[&deploy[..], &["MIN_RATE=30"]].concat());
    let said = text(&plain.stdout);
    assert!(plain.status.success() && said.contains("taken for no secrets: MIN_RATE"), "{said} {}", text(&plain.stderr));
}

/// What is exported is for the operator alone, and goes into a file: through no link, and into no pipe that would be waited for.
#[cfg(unix)]
#[test]
fn what_is_exported_is_closed_to_others_and_goes_through_no_link() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let url = parrot("none-is-known-here");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dwellctl"));
        command.args(arguments).env("DWELL_DATA_DIR", folder.path()).env_remove("VAST_API_KEY").env_remove("DWELL_MANAGER");
        command.output().unwrap()
    };
    assert!(run(&["fleets", "add", "f", &url]).status.success());
    assert!(run(&["logs", UUID]).status.success());
    let elsewhere = tempfile::tempdir().unwrap();
    let path = |name: &str| elsewhere.path().join(name);
    let theirs = path("theirs");
    std::fs::write(&theirs, "theirs").unwrap();
    for ending in ["jsonl", "csv"] {
        let (new, link, pipe) =
            (path(&format!("new.{ending}")), path(&format!("link.{ending}")), path(&format!("pipe.{ending}")));
        symlink(&theirs, &link).unwrap();
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let to = |out: &Path| run(&["history", "export", "logs", "-o", out.to_str().unwrap()]);
        let written = to(&new);
        assert!(written.status.success(), "{}", text(&written.stderr));
        assert_eq!(std::fs::metadata(&new).unwrap().permissions().mode() & 0o777, 0o600, "{ending}");
        for refused in [&link, &pipe] {
            let output = to(refused);
            assert!(!output.status.success() && text(&output.stderr).contains("cannot write"), "{}", text(&output.stderr));
        }
    }
    assert_eq!(std::fs::read_to_string(&theirs).unwrap(), "theirs");
}
