//! `dwellctl` as a person or a script uses it: a real process against a served simulation.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// A real OpenSSH server, as the tests of the clients use it.
#[allow(dead_code, reason = "not all of it is used here")]
#[path = "../../clients/tests/it/sshd.rs"]
mod sshd;

#[cfg(target_os = "linux")]
#[path = "parts/driver.rs"]
mod driver;

#[cfg(target_os = "linux")]
#[path = "parts/metrics.rs"]
mod metrics;

#[path = "parts/acting.rs"]
mod acting;

#[path = "parts/again.rs"]
mod again;

#[cfg(target_os = "linux")]
#[path = "parts/blind.rs"]
mod blind;

#[cfg(target_os = "linux")]
#[path = "parts/full.rs"]
mod full;

#[path = "parts/hostile.rs"]
mod hostile;

#[path = "parts/kept.rs"]
mod kept;

#[cfg(target_os = "linux")]
#[path = "parts/keychain.rs"]
mod keychain;

#[path = "parts/money.rs"]
mod money;

#[path = "parts/pinned.rs"]
mod pinned;

#[path = "parts/real.rs"]
mod real;

#[path = "parts/secrets.rs"]
mod secrets;

#[cfg(target_os = "linux")]
#[path = "parts/torture.rs"]
mod torture;

#[path = "parts/texts.rs"]
mod texts;

#[path = "parts/watching.rs"]
mod watching;

#[path = "parts/verified.rs"]
mod verified;

fn dwellctl(folder: &std::path::Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dwellctl"))
        .args(arguments)
        .env("DWELL_DATA_DIR", folder)
        .env_remove("DWELL_MANAGER")
        .env("TZ", "UTC")
        .output()
        .unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stdout)))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A served simulation, ended with the test.
struct Sim {
    process: Child,
    url: String,
    vast_url: String,
    folder: tempfile::TempDir,
}

impl Drop for Sim {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Sim {
    fn serve(scenario: &str, speed: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut process = Command::new(env!("CARGO_BIN_EXE_dwellctl"))
            .args(["sim", "serve", scenario, "--speed", speed, "--json"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let served: Value = serde_json::from_str(&line).unwrap();
        let url = served["url"].as_str().unwrap().to_owned();
        let vast_url = served["vast_url"].as_str().unwrap().to_owned();
        Self { process, url, vast_url, folder }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut all = vec!["--manager", &self.url];
        all.extend(arguments);
        dwellctl(self.folder.path(), &all)
    }
}

#[test]
fn the_fleet_as_json_has_what_it_promises() {
    let sim = Sim::serve("params-done-silence", "0");
    let output = sim.run(&["fleet", "--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let fleet = json(&output);
    let instances = fleet["instances"].as_array().unwrap();
    assert_eq!(instances.len(), 32);
    for instance in instances {
        for name in
            ["id", "uuid", "vast_id", "label", "state", "dwell_s", "dwell_basis", "flag", "gpu_name", "machine_id", "observed_at"]
        {
            assert!(instance.get(name).is_some(), "{name} is missing in {instance}");
        }
    }
    let killed = instances.iter().find(|instance| instance["state"] == "killed").unwrap();
    assert!(killed["gpu_name"].is_null() && killed["machine_id"].is_null(), "what was not told is null: {killed}");
    let running = instances.iter().find(|instance| instance["state"] == "running").unwrap();
    assert_eq!((&running["bench_rate_proofs_per_h"], &running["flag"]), (&Value::from(35.57), &Value::Null));
    assert_eq!(fleet["watching"]["mode"], "simulated");
}

#[test]
fn the_four_are_flagged_over_http_within_fifteen_simulated_minutes() {
    // 14 minutes after the last of them entered params_done, whatever the speed of this machine: then time stands still.
    let sim = Sim::serve("params-done-silence", "0");
    let clock = |body: &str| {
        let address = sim.url.trim_start_matches("http://").to_owned();
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        let request =
            format!("POST /sim/clock HTTP/1.1\r\nHost: sim\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
        let mut answer = String::new();
        std::io::Read::read_to_string(&mut stream, &mut answer).unwrap();
    };
    let dwells = || -> Vec<(f64, Option<String>)> {
        let fleet = json(&sim.run(&["fleet", "--json", "--state", "params_done"]));
        let rows = fleet["instances"].as_array().unwrap().clone();
        rows.iter().map(|row| (row["dwell_s"].as_f64().unwrap(), row["flag"]["kind"].as_str().map(str::to_owned))).collect()
    };
    let mut flagged_at = Vec::new();
    for _ in 0..400 {
        clock(r#"{"speed":120}"#);
        std::thread::sleep(std::time::Duration::from_millis(150));
        clock(r#"{"speed":0}"#);
        let now = dwells();
        if now.len() == 4 && now.iter().all(|(_, flag)| flag.is_some()) {
            flagged_at = now;
            break;
        }
        assert!(
            now.iter().all(|(dwell_s, flag)| *dwell_s < 900.0 || flag.is_some()),
            "a quarter of an hour and no flag: {now:?}"
        );
    }
    assert_eq!(flagged_at.len(), 4);
    assert!(flagged_at.iter().all(|(_, flag)| flag.as_deref() == Some("invisible")), "{flagged_at:?}");
    let page = sim.run(&["show", "d977"]);
    let shown = text(&page.stdout);
    assert!(shown.contains("INVISIBLE since") && shown.contains("cannot mean: that the work failed"), "{shown}");
    assert_eq!(sim.run(&["fleet", "--fail-on-flag"]).status.code(), Some(10));
}

#[test]
fn ids_by_unique_prefix_and_exit_codes() {
    let sim = Sim::serve("params-done-silence", "0");
    let one = json(&sim.run(&["show", "d977", "--json"]));
    assert_eq!(one["row"]["id"], "d977dead-b3a7-4a08-b6df-9e126679078f");
    let by_number = json(&sim.run(&["show", &one["row"]["vast_id"].to_string(), "--json"]));
    let by_label = json(&sim.run(&["show", one["row"]["label"].as_str().unwrap(), "--json"]));
    assert!(by_number["row"]["id"] == one["row"]["id"] && by_label["row"]["id"] == one["row"]["id"]);

    let ambiguous = sim.run(&["show", "d"]);
    assert_eq!(ambiguous.status.code(), Some(4));
    let said = text(&ambiguous.stderr);
    assert!(
        said.contains("d3e996ae-f69b-4b16-9b60-0d38e068533a") && said.contains("d977dead-b3a7-4a08-b6df-9e126679078f"),
        "{said}"
    );
    let unknown = sim.run(&["logs", "nobody", "--json"]);
    assert_eq!((unknown.status.code(), &json(&unknown)["error"]["code"]), (Some(4), &Value::from("unknown-id")));

    let folder = tempfile::tempdir().unwrap();
    assert_eq!(dwellctl(folder.path(), &["fleet"]).status.code(), Some(2), "no manager given nor saved");
    let unreachable = dwellctl(folder.path(), &["-m", "http://127.0.0.1:9", "fleet", "--json"]);
    assert_eq!((unreachable.status.code(), &json(&unreachable)["error"]["code"]), (Some(3), &Value::from("unreachable")));
    assert_eq!(dwellctl(folder.path(), &["nonsense"]).status.code(), Some(2));
}

#[test]
fn logs_of_a_manager_that_is_gone_are_still_shown() {
    let sim = Sim::serve("params-done-silence", "0");
    let first = sim.run(&["logs", "29d213df", "--source", "cuzk", "-n", "3"]);
    let lines = text(&first.stdout);
    assert_eq!(lines.lines().count(), 3, "{lines}");
    assert!(
        lines.contains("INFO cuzk_core::engine: Phase 7") && !lines.contains('\u{1b}'),
        "colour codes of the instance are gone: {lines:?}"
    );
    let url = sim.url.clone();
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(sim.folder.path().join("history.sqlite3"), folder.path().join("history.sqlite3")).unwrap();
    for suffix in ["-wal", "-shm"] {
        let name = format!("history.sqlite3{suffix}");
        let _ = std::fs::copy(sim.folder.path().join(&name), folder.path().join(&name));
    }
    drop(sim);
    let later = dwellctl(folder.path(), &["-m", &url, "logs", "29d213df", "--source", "cuzk", "-n", "3"]);
    assert_eq!(text(&later.stdout), lines, "{}", text(&later.stderr));
    assert!(text(&later.stderr).contains("this is what history has"));
}

#[test]
fn the_managers_own_log_and_silence() {
    let sim = Sim::serve("params-done-silence", "0");
    let log = json(&sim.run(&["manager-logs", "-n", "2", "--json"]));
    assert!(log["lines"][1]["text"].as_str().unwrap().contains("[monitor] cached 5 vast instances"));
    let silent = sim.run(&["logs", "d977"]);
    assert!(silent.status.success() && text(&silent.stderr).contains("no lines"));
    assert!(text(&silent.stdout).contains("its image ships no logs"));
}

#[test]
fn saved_fleets() {
    let sim = Sim::serve("healthy-fleet", "0");
    assert!(sim.run(&["fleets", "add", "oslo", &sim.url]).status.success());
    let saved = dwellctl(sim.folder.path(), &["fleets", "--json"]);
    assert_eq!(json(&saved)["saved"][0]["name"], "oslo");
    assert!(dwellctl(sim.folder.path(), &["fleet"]).status.success(), "the saved one is watched");
    assert!(dwellctl(sim.folder.path(), &["-m", "oslo", "fleet", "--state", "running"]).status.success());
    assert!(dwellctl(sim.folder.path(), &["fleets", "remove", "oslo"]).status.success());
    assert_eq!(dwellctl(sim.folder.path(), &["fleet"]).status.code(), Some(2));
    assert_eq!(dwellctl(sim.folder.path(), &["doctor"]).status.code(), Some(0));
}

#[test]
fn a_scenario_in_virtual_time_ends_with_the_flagged() {
    let folder = tempfile::tempdir().unwrap();
    let output = dwellctl(folder.path(), &["sim", "run", "params-done-silence", "--for", "30m", "--until-flagged", "4"]);
    let said = text(&output.stdout);
    let after = said.split("4 flagged after").nth(1).unwrap_or_else(|| panic!("{said}"));
    for id in ["416e859e", "7bec818c", "d3e996ae", "d977dead"] {
        assert!(after.contains(id), "{said}");
    }
    assert_eq!(after.matches("invisible: in params_done for").count(), 4);
    insta::assert_snapshot!(said);
}

#[test]
fn a_wrong_scenario_file_says_where() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, "name = \"mine\"\ntitle = 7\n").unwrap();
    let output = dwellctl(folder.path(), &["sim", "run", file.to_str().unwrap()]);
    assert!(!output.status.success());
    let said = text(&output.stderr);
    assert!(said.contains("mine.toml:2:9: ") && said.contains("expected a string"), "{said}");
}

#[test]
fn incidents_diagnoses_and_reports_in_a_terminal() {
    // At the first screen of this evening the four have been silent for a while.
    let sim = Sim::serve("evening-four-truths", "1");
    let incidents = json(&sim.run(&["diagnose", "--json"]));
    let silent = incidents["incidents"].as_array().unwrap().iter().find(|it| it["verdict"] == "invisible").unwrap().clone();
    assert!(silent["sentence"].as_str().unwrap().contains("Several causes are possible"), "{silent}");
    let id = silent["instances"][0]["id"].as_str().unwrap().to_owned();

    let page = text(&sim.run(&["diagnose", &id]).stdout);
    for wanted in ["What it may be", "Nothing is wrong (yet)", "manager-instance-log blind", "ssh-probe", "Next", "vastai"] {
        assert!(page.contains(wanted), "{wanted} is not in\n{page}");
    }
    assert!(!page.contains('%'), "no percentages that nothing has calibrated:\n{page}");
    let pages = json(&sim.run(&["diagnose", &id, "--json"]));
    assert_eq!(pages["diagnoses"][0]["channels"].as_array().unwrap().len(), 7);

    let report = text(&sim.run(&["diagnose", "--report", "markdown"]).stdout);
    assert!(report.starts_with("# Incident report") && report.contains(&id), "{report}");
    let html = text(&sim.run(&["diagnose", &id, "--report", "html"]).stdout);
    assert!(html.starts_with("<!doctype html>") && !html.contains("<script"), "{html}");
    let rented = json(&sim.run(&["diagnose", "--rented-before", "2h", "--json"]));
    assert_eq!((&rented["alive"], rented["instances"].as_array().unwrap().len()), (&5.into(), 1));
    assert_eq!(sim.run(&["diagnose", "ffff"]).status.code(), Some(4));
}

#[test]
fn a_cause_is_explained_and_a_misspelt_one_names_its_nearest() {
    let folder = tempfile::tempdir().unwrap();
    let output = dwellctl(folder.path(), &["explain", "gpu-fell-off-bus"]);
    insta::assert_snapshot!(text(&output.stdout));
    assert!(dwellctl(folder.path(), &["explain", "not-in-the-catalogue"]).status.success());
    let wrong = dwellctl(folder.path(), &["explain", "gpu-fel-off-bus"]);
    assert!(!wrong.status.success() && text(&wrong.stderr).contains("did you mean gpu-fell-off-bus"), "{}", text(&wrong.stderr));
    let list = json(&dwellctl(folder.path(), &["explain", "--json"]));
    assert!(list["causes"].as_array().unwrap().len() > 130);
}

/// With a real keyring on a bus of its own: in it goes and out it comes, and it is in nothing that Dwell writes or prints.
#[test]
fn a_key_goes_into_the_keychain_and_nowhere_else() {
    const KEY: &str = "vk-5ec7e7-0123456789abcdef0123456789abcdef";
    let folder = tempfile::tempdir().unwrap();
    let home = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_dwellctl");
    let script = format!(
        r#"set -e
printf testpw | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1
printf %s "$KEY" | {program} --data-dir "$DATA" keys add main
{program} --data-dir "$DATA" keys list --json
printf %s "$KEY" | {program} --data-dir "$DATA" keys add other
{program} --data-dir "$DATA" keys remove main
{program} --data-dir "$DATA" keys list
"#
    );
    let output = std::process::Command::new("dbus-run-session")
        .args(["--", "bash", "-c", &script])
        .env("XDG_DATA_HOME", home.path())
        .env("DATA", folder.path())
        .env("KEY", KEY)
        .env_remove("VAST_API_KEY")
        .output()
        .unwrap();
    let (told, remarks) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{told}\n{remarks}");
    assert!(told.contains("in the keychain") && told.contains("\"main\""), "{told}");
    assert!(told.trim_end().lines().last().unwrap().contains("other"), "{told}");
    assert!(!told.contains("5ec7e7") && !remarks.contains("5ec7e7"), "{told}\n{remarks}");
    let mut files = vec![folder.path().to_owned()];
    let mut read = 0;
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        read += 1;
        let bytes = std::fs::read(&path).unwrap();
        assert!(!bytes.windows(6).any(|part| part == b"5ec7e7"), "the key is in {}", path.display());
    }
    assert!(read > 0, "nothing was written at all");
}

#[test]
fn without_a_keychain_a_key_is_kept_nowhere_and_it_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_dwellctl"))
        .args(["--data-dir", folder.path().to_str().unwrap(), "keys", "add", "main"])
        .env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent/bus")
        .stdin(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"vk-5ec7e7-0123456789abcdef").unwrap();
    let output = child.wait_with_output().unwrap();
    let remarks = text(&output.stderr);
    assert!(!output.status.success() && remarks.contains("keychain") && remarks.contains("VAST_API_KEY"), "{remarks}");
    assert!(!remarks.contains("5ec7e7"), "{remarks}");
    assert!(!folder.path().join("settings.toml").exists());
}

#[test]
fn vast_itself_is_asked_past_the_manager() {
    let sim = Sim::serve("params-done-silence", "1");
    let ask = |arguments: &[&str]| {
        std::process::Command::new(env!("CARGO_BIN_EXE_dwellctl"))
            .args(["--data-dir", sim.folder.path().to_str().unwrap(), "vast", "--vast-url", &sim.vast_url])
            .args(arguments)
            .env("VAST_API_KEY", "any-key-will-do")
            .output()
            .unwrap()
    };
    let rentals = json(&ask(&["instances", "--json"]));
    assert_eq!(rentals["rentals"].as_array().unwrap().len(), 5);
    assert!(rentals["rentals"][0]["actual_status"] == "running" && rentals["rentals"][0]["label"].is_null(), "{rentals}");
    assert!(json(&ask(&["user", "--json"]))["credit_dollars"].as_f64().unwrap() > 0.0);
    let number = rentals["rentals"][0]["id"].to_string();
    assert!(text(&ask(&["logs", &number]).stdout).contains("sshd"));
    assert_eq!(ask(&["logs", "7"]).status.code(), Some(4));
}

/// With `curl`, a real `ssh` and a real `sshd`: what Dwell reads is what they read, and what is shown is what is run.
#[test]
fn a_fleet_behind_ssh_is_connected_and_its_machines_are_looked_at() {
    let sim = Sim::serve("params-done-silence", "1");
    let curl = Command::new("curl").args(["-sS", &format!("{}/api/dashboard", sim.url)]).output().unwrap();
    let rows = json(&curl)["instances"].as_array().unwrap().clone();

    let server = sshd::Sshd::start();
    let run = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_dwellctl"))
            .args(arguments)
            .env("DWELL_DATA_DIR", sim.folder.path())
            .env("DWELL_SSH_CONFIG", server.path("ssh_config"))
            .env("VAST_URL", &sim.vast_url)
            .env("VAST_API_KEY", "any-key-will-do")
            .env_remove("DWELL_MANAGER")
            .output()
            .unwrap()
    };
    let connected = run(&["connect", &sim.url, "--ssh", "controller", "--name", "behind", "--json"]);
    assert!(connected.status.success(), "{}", text(&connected.stderr));
    let view = json(&connected);
    assert_eq!(view["instances"].as_array().unwrap().len(), rows.len(), "as many as curl reads");
    assert_eq!(view["connection"]["tunnel"]["state"], "up");
    assert!(view["watching"]["address"].as_str().unwrap().ends_with("via controller"), "{}", view["watching"]);
    let id = rows.iter().find(|row| row["state"] == "running").unwrap()["uuid"].as_str().unwrap().to_owned();

    let refused = run(&["probe", &id]);
    assert!(!refused.status.success() && text(&refused.stderr).contains("not allowed"), "{}", text(&refused.stderr));
    let output = run(&["probe", &id, "--show"]);
    let shown = text(&output.stdout);
    assert!(shown.starts_with("ssh ") && shown.contains("nvidia-smi"), "{}{shown}", text(&output.stderr));
    assert!(run(&["fleets", "allow-probe", "behind"]).status.success());
    let inside = run(&["probe", &id]);
    let words = text(&inside.stderr);
    assert!(inside.status.code() == Some(3) && words.contains("allow_private_machines = true"), "{words}");
    let settings = sim.folder.path().join("settings.toml");
    let written = std::fs::read_to_string(&settings).unwrap();
    std::fs::write(&settings, format!("allow_private_machines = true\n{written}")).unwrap();
    let probed = run(&["probe", &id, "--json"]);
    assert!(probed.status.success(), "{}", text(&probed.stderr));
    let page = json(&probed);
    assert!(page["machine"]["processes"].as_array().unwrap().len() > 3, "{page}");
    assert!(page["prover"]["rows"].as_array().unwrap().len() > 3, "{page}");

    // By hand, in a shell, as it was shown: the same sections come.
    let known = sim.folder.path().join("known");
    let by_hand = shown.replacen(
        "ssh ",
        &format!("ssh -o StrictHostKeyChecking=no -o UserKnownHostsFile={} -o BatchMode=yes ", known.display()),
        1,
    );
    let by_hand = Command::new("sh").args(["-c", &by_hand]).output().unwrap();
    let words = text(&by_hand.stdout);
    assert!(words.contains("cuzk-daemon") && words.contains("memory.max"), "{words}\n{}", text(&by_hand.stderr));

    // What was answered is kept after the machine, the manager and the tunnel are gone.
    drop(server);
    let kept = run_alone(sim.folder.path(), &["--manager", "behind", "show", &id, "--answers"]);
    assert!(text(&kept.stdout).contains("memory.max"), "{}\n{}", text(&kept.stdout), text(&kept.stderr));

    let diagnosed = sim.run(&["diagnose", &id, "--look", "--vast-url", &sim.vast_url]);
    assert!(diagnosed.status.success(), "{}", text(&diagnosed.stderr));
}

fn run_alone(folder: &std::path::Path, arguments: &[&str]) -> Output {
    let arguments: Vec<&str> = ["--within", "2s"].iter().chain(arguments).copied().collect();
    dwellctl(folder, &arguments)
}

#[test]
fn a_simulated_card_is_benchmarked_compared_and_called_simulated() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| dwellctl(folder.path(), arguments);
    let (one, other) = (folder.path().join("one.json"), folder.path().join("other.json"));
    let told = run(&["bench", "--simulate", "rtx-4090", "--out", one.to_str().unwrap()]);
    assert!(told.status.success() && text(&told.stdout).starts_with("SIMULATED"), "{}", text(&told.stderr));
    let record = json(&run(&["bench", "--simulate", "rtx-3090", "--full", "--out", other.to_str().unwrap(), "--json"]));
    assert_eq!(record["card"]["simulated"], true);
    assert!(record["prediction"]["proofs_per_h"].as_f64().unwrap() > 30.0, "{record}");
    let rows = json(&run(&["bench", "compare", one.to_str().unwrap(), other.to_str().unwrap(), "--json"]));
    let wide = rows["tests"].as_array().unwrap().iter().find(|row| row["test"] == "Multiply-add, wide").unwrap();
    assert!(wide["ratio"].as_f64().unwrap() < 0.6, "{wide}");

    // Figures of other kernels are not set beside these.
    let changed = std::fs::read_to_string(&one).unwrap().replacen("\"kernels\": \"", "\"kernels\": \"0", 1);
    std::fs::write(&one, changed).unwrap();
    let refused = run(&["bench", "compare", one.to_str().unwrap(), other.to_str().unwrap()]);
    assert!(!refused.status.success() && text(&refused.stderr).contains("not comparable"), "{}", text(&refused.stderr));

    let wrong = run(&["bench", "--simulate", "wrong"]);
    assert_eq!(wrong.status.code(), Some(1), "a card that computes wrongly is no success");
    assert!(text(&wrong.stdout).contains("computes wrongly"));
    assert_eq!(run(&["bench", "check", "--simulate", "wrong"]).status.code(), Some(1));
    let unknown = run(&["bench", "--simulate", "gtx-1"]);
    assert!(text(&unknown.stderr).contains("rtx-3090"), "{}", text(&unknown.stderr));
    let predicted = json(&run(&["predict", "RTX 4090", "--pcie", "6", "--ram", "128", "--json"]));
    assert_eq!(predicted["prediction"]["limit"], "host-memory", "{predicted}");
}

/// Through a manager: the help's own example finds what it names, and what cannot be read is said before anything is asked.
#[test]
fn offers_are_found_by_the_query_language_of_vast_ais_client() {
    let sim = Sim::serve("healthy-fleet", "0");
    let offers = |arguments: &[&str]| sim.run(&[&["offers", "--json", "--limit", "400"], arguments].concat());
    let all = json(&offers(&["--filter", "dph>0"]))["offers"].as_array().unwrap().clone();
    let country = all[0]["geolocation"].as_str().unwrap().rsplit(' ').next().unwrap().to_owned();
    let there = json(&offers(&["--filter", &format!("geolocation in [{country},XX] driver_version>=535.86.05")]));
    let there = there["offers"].as_array().unwrap();
    assert!(!there.is_empty() && there.iter().all(|it| it["geolocation"].as_str().unwrap().ends_with(&country)), "{there:?}");
    let wrong = offers(&["--filter", "geolocation in[NO,SE]"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert_eq!(json(&wrong)["error"]["code"], "bad-filter");
    let unknown = json(&offers(&["--filter", "price<3"]));
    assert!(unknown["notes"].to_string().contains("price"), "{}", unknown["notes"]);
}

/// On a terminal of 80 columns, by `script`: a row is a line that fits; into a pipe rows are whole.
#[test]
fn on_a_terminal_a_row_is_a_line() {
    let sim = Sim::serve("evening-four-truths", "1");
    let on_terminal = |columns: u16, arguments: &str| {
        let program = env!("CARGO_BIN_EXE_dwellctl");
        let command = format!("stty cols {columns} rows 24; {program} --manager {} {arguments} 2>/dev/null", sim.url);
        let output = Command::new("script")
            .args(["-qec", &command, "/dev/null"])
            .env("DWELL_DATA_DIR", sim.folder.path())
            .env("TERM", "xterm")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        strip_ansi_escapes::strip_str(text(&output.stdout).replace('\r', ""))
    };
    let rows =
        |said: &str| said.lines().skip_while(|line| !line.contains("STATE")).skip(1).map(str::to_owned).collect::<Vec<_>>();
    let count = json(&sim.run(&["fleet", "--json"]))["instances"].as_array().unwrap().len();
    for columns in [80, 120] {
        let said = on_terminal(columns, "fleet --all");
        let rows = rows(&said);
        assert_eq!(rows.len(), count, "{said}");
        assert!(rows.iter().all(|row| row.chars().count() <= usize::from(columns)), "{said}");
        assert!(rows.iter().any(|row| row.ends_with('\u{2026}')), "{said}");
        assert!(said.contains("INSTANCE") && said.contains("params_done"), "{said}");
    }
    let wide = on_terminal(80, "fleet --all -o wide");
    assert!(rows(&wide).len() == count && wide.contains("MACHINE") && !wide.contains('\u{2026}'), "{wide}");
    let piped = text(&sim.run(&["fleet", "--all"]).stdout);
    assert!(rows(&piped).len() == count && !piped.contains('\u{2026}'), "{piped}");

    let two = text(&sim.run(&["fleet", "--columns", "id,state"]).stdout);
    assert!(two.lines().any(|line| line.split_whitespace().eq(["ID", "STATE"])), "{two}");
    let unknown = sim.run(&["fleet", "--columns", "id,colour"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text(&unknown.stderr).contains("colour") && text(&unknown.stderr).contains("instance"), "{}", text(&unknown.stderr));
    assert_eq!(json(&sim.run(&["fleet", "-o", "json"]))["instances"].as_array().unwrap().len(), count);
    assert_eq!(rows(&text(&sim.run(&["offers", "--columns", "offer,price"]).stdout)).len(), 0);
}

/// A scenario of its own: a wave of an image that ships no logs.
const SILENT_WAVE: &str = r#"
name = "silent-wave"
title = "A wave that says nothing"
summary = "Thirty instances of an image without a shipper."
seed = 5
start = "2026-03-13T17:00:00Z"
duration = "2h"
speed = 1.0

[[image]]
id = "old"
reference = "magik6k/curio-cuzk:latest"
ships = []
built = "2026-02-20T09:00:00Z"

[[wave]]
name = "silent"
at = "-38m"
every = "10s"
count = 30
image = "old"
gpu = "RTX 4090"
ram_gib = 256
down_mbps = 900
"#;

/// Of many that are stuck in one way a report is short, says what they share once, and speaks no Rust.
#[test]
fn a_report_of_many_is_read_by_a_person() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("silent-wave.toml");
    std::fs::write(&file, SILENT_WAVE).unwrap();
    let sim = Sim::serve(file.to_str().unwrap(), "1");
    let report = text(&sim.run(&["diagnose", "--report", "markdown"]).stdout);
    let fleet = json(&sim.run(&["fleet", "--json", "--flagged"]));
    let flagged: Vec<&str> = fleet["instances"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert!(flagged.len() >= 18, "{} flagged", flagged.len());
    assert!(flagged.iter().all(|id| report.contains(&format!("\n## {id}\n"))), "{report}");
    assert!(report.len() < 2_500 * flagged.len(), "{} bytes of {}:\n{report}", report.len(), flagged.len());
    for rust in ["Some(", "None", "Listed", "Ok(", "Err(", "{:?}"] {
        assert!(!report.contains(rust), "{rust} in\n{report}");
    }
    let lines: Vec<&str> = report.lines().filter(|line| line.starts_with("  - for ") || line.starts_with("  - remedy")).collect();
    assert!(lines.len() < 60, "causes that several have are written once:\n{report}");
}

/// Only what answered is saved; a word that is no fleet is no address; this machine is one fleet under all its names.
#[test]
fn a_fleet_is_saved_when_it_answers_and_a_word_is_no_address() {
    let sim = Sim::serve("healthy-fleet", "0");
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| dwellctl(folder.path(), &[&["--within", "2s"], arguments].concat());
    let saved = || json(&run(&["fleets", "--json"]));

    let nobody = "http://127.0.0.1:9";
    for arguments in [vec!["connect", nobody], vec!["fleets", "add", "gone", nobody]] {
        let failed = run(&arguments);
        assert_eq!(failed.status.code(), Some(3), "{}", text(&failed.stderr));
        assert!(text(&failed.stderr).contains("nothing was saved"), "{}", text(&failed.stderr));
    }
    assert!(saved()["saved"].as_array().unwrap().is_empty() && saved()["last"].is_null(), "{}", saved());
    assert!(run(&["fleets", "add", "oslo", &sim.url]).status.success());

    for arguments in [vec!["-m", "typo", "fleet"], vec!["connect", "typo"], vec!["-m", "typo", "history", "query"]] {
        let failed = run(&arguments);
        let said = text(&failed.stderr);
        assert_eq!(failed.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains("typo") && said.contains("saved: oslo"), "{arguments:?}: {said}");
    }
    assert_eq!(saved()["last"], "oslo");

    // Of what never answered nothing is kept.
    assert!(run(&["-m", nobody, "fleet"]).status.code() == Some(3) && run(&["-m", "oslo", "fleet"]).status.success());
    let port = sim.url.rsplit(':').next().unwrap();
    for name in [format!("localhost:{port}"), format!("HTTP://LocalHost:{port}/"), format!("127.0.0.1:{port}")] {
        assert!(run(&["-m", &name, "fleet"]).status.success(), "{name}");
        let found = run(&["-m", &name, "history", "search", "zzzz"]);
        assert!(found.status.success(), "{name}: {}", text(&found.stderr));
    }
    let kept = text(&run(&["history", "fleets"]).stdout);
    assert_eq!(kept.lines().count(), 1, "{kept}");

    assert!(run(&["connect", nobody, "--name", "later", "--force"]).status.code() == Some(3));
    assert_eq!(saved()["last"], "later", "it was meant");
    assert!(run(&["connect", "oslo"]).status.success());
    assert_eq!(saved()["last"], "oslo");
}

/// A word that names nothing is refused with those that there are, wherever one of a few is asked for.
#[test]
fn an_unknown_word_is_refused_with_the_known_ones() {
    let sim = Sim::serve("params-done-silence", "0");
    assert!(sim.run(&["logs", "29d213df", "-n", "1"]).status.success());
    for (arguments, wrong, known) in [
        (vec!["fleet", "--state", "foo"], "foo", "params_done"),
        (vec!["logs", "29d213df", "--source", "foo"], "foo", "benchout"),
        (vec!["history", "search", "proof", "--source", "foo"], "foo", "benchout"),
        (vec!["chart", "dwell", "--state", "foo"], "foo", "params_done"),
        (vec!["bench", "--simulate", "gtx-1"], "gtx-1", "rtx-3090"),
        (vec!["rules", "add", "x", "--verdict", "foo", "--cause", "dns-broken", "--do", "kill"], "", "stalled"),
        (vec!["history", "query", "--by", "foo"], "foo", "machine"),
    ] {
        let refused = sim.run(&arguments);
        let said = text(&refused.stderr);
        assert!(refused.status.code().is_some_and(|code| code == 1 || code == 2), "{arguments:?}: {said}");
        if arguments[0] != "rules" {
            assert!(said.contains(wrong) && said.contains(known), "{arguments:?}: {said}");
        }
    }
    assert_eq!(sim.run(&["fleet", "--state", "foo"]).status.code(), Some(2));
    assert!(sim.run(&["fleet", "--state", "registered"]).status.success(), "a known one that nobody is in is no error");
}

/// A key that is set and useless is not the same as none: nothing is asked in its place.
#[test]
fn a_malformed_key_stops_and_says_so() {
    use std::os::unix::ffi::OsStrExt;

    let sim = Sim::serve("params-done-silence", "1");
    let id = json(&sim.run(&["fleet", "--json"]))["instances"][0]["id"].as_str().unwrap().to_owned();
    for arguments in [
        vec!["offers"],
        vec!["vast", "user"],
        vec!["diagnose", &id, "--look"],
        vec!["kill", &id, "--dry-run"],
        vec!["deploy", "1", "--budget", "1", "--dry-run"],
    ] {
        for key in [&b"short"[..], b"two words in a key", b"\xff\xfe\xfd\xfc not text", b" "] {
            let output = Command::new(env!("CARGO_BIN_EXE_dwellctl"))
                .args(["--manager", &sim.url])
                .args(&arguments)
                .env("DWELL_DATA_DIR", sim.folder.path())
                .env("VAST_URL", &sim.vast_url)
                .env("VAST_API_KEY", std::ffi::OsStr::from_bytes(key))
                .output()
                .unwrap();
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{arguments:?} {key:?}: {said}");
            assert!(said.contains("VAST_API_KEY"), "{arguments:?}: {said}");
            assert!(!said.contains("two words in a key") && !said.contains("short\""), "{said}");
        }
    }
}

#[test]
fn a_model_of_gpu_is_written_either_way() {
    let sim = Sim::serve("healthy-fleet", "0");
    let offers = |name: &str| {
        let found = json(&sim.run(&["offers", "--all", "--json", "--limit", "400", "--gpu", name]));
        found["offers"].as_array().unwrap().iter().map(|it| it["id"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    let usual = offers("RTX 4090");
    assert!(!usual.is_empty());
    for name in ["RTX 4090", "rtx-4090", "RTX_4090"] {
        assert_eq!(offers(name), usual, "{name}");
        let record = json(&sim.run(&["bench", "--simulate", name, "--json"]));
        assert!(record["card"]["name"].as_str().unwrap().contains("RTX 4090"), "{name}: {record}");
        assert!(json(&sim.run(&["predict", name, "--pcie", "20", "--json"]))["prediction"]["least"].is_number());
    }
}

/// With --json one object is printed, whatever the command; where the output goes on, one object a line.
#[test]
fn every_json_output_is_one_object() {
    let sim = Sim::serve("evening-four-truths", "1");
    let id = json(&sim.run(&["fleet", "--json"]))["instances"][0]["id"].as_str().unwrap().to_owned();
    let record = sim.folder.path().join("record.json");
    let record = record.to_str().unwrap();
    assert!(sim.run(&["bench", "--simulate", "rtx-4090", "--out", record]).status.success());
    let run = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_dwellctl"))
            .args(["--manager", &sim.url, "--json"])
            .args(arguments)
            .env("DWELL_DATA_DIR", sim.folder.path())
            .env("VAST_URL", &sim.vast_url)
            .env("VAST_API_KEY", "any-key-will-do")
            .output()
            .unwrap()
    };
    for (arguments, name) in [
        (vec!["fleet"], "instances"),
        (vec!["show", &id], "row"),
        (vec!["diagnose"], "incidents"),
        (vec!["diagnose", &id], "diagnoses"),
        (vec!["rollouts"], "rollouts"),
        (vec!["rules"], "rules"),
        (vec!["journal"], "actions"),
        (vec!["vast", "instances"], "rentals"),
        (vec!["vast", "user"], "id"),
        (vec!["history", "fleets"], "fleets"),
        (vec!["drill", "faults"], "faults"),
        (vec!["bench", "check", "--simulate", "rtx-4090"], "cards"),
        (vec!["bench", "cards"], "simulated"),
        (vec!["bench", "published"], "figures"),
        (vec!["bench", "compare", record, record], "tests"),
        (vec!["offers"], "offers"),
        (vec!["fleets"], "saved"),
        (vec!["explain"], "causes"),
        (vec!["sim", "list"], "scenarios"),
        (vec!["logs", &id], "lines"),
        (vec!["manager-logs"], "lines"),
        (vec!["chart"], "charts"),
        (vec!["doctor"], "checks"),
        (vec!["kill", &id, "--dry-run"], "steps"),
    ] {
        let output = run(&arguments);
        let told: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}{}", text(&output.stdout), text(&output.stderr)));
        assert!(told.get(name).is_some(), "{arguments:?} has no {name}: {told}");
    }
}

/// What `watch` prints says what changed: of whom, from what, to what, when and why. Remarks carry a time.
#[test]
fn a_watch_says_what_changed_and_a_remark_when() {
    let sim = Sim::serve("params-done-silence", "120");
    let output = sim.run(&["watch", "--json", "--every", "1s", "--for", "12s"]);
    let events: Vec<Value> = text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |what: &str| events.iter().filter(|event| event["what"] == what).collect::<Vec<_>>();
    for event in &events {
        for name in ["what", "id", "from", "to", "at", "why", "instance"] {
            assert!(event.get(name).is_some(), "{name} is missing in {event}");
        }
    }
    let first = of("seen");
    assert!(first.iter().all(|event| event["from"].is_null() && event["to"] == event["instance"]["state"]), "{first:?}");
    let moved = of("state");
    assert!(moved.iter().any(|event| event["from"] == "registered" && event["to"] == "params_done"), "{events:?}");
    let flagged = of("flag");
    assert!(flagged.iter().any(|event| event["to"] == "invisible" && event["why"].as_str().unwrap().contains("params_done")));

    let remarks = text(&sim.run(&["fleet"]).stderr);
    assert!(!remarks.is_empty());
    for line in remarks.lines() {
        let (at, _) = line.split_once("  ").unwrap();
        assert!(at.ends_with("UTC") && at.len() == "2026-12-02 21:50:03 UTC".len(), "{line}");
    }
}

/// The manager's list of bad hosts is what curl reads, with why and since when.
#[test]
fn the_managers_bad_hosts_are_listed_with_reason_and_date() {
    let sim = Sim::serve("healthy-fleet", "0");
    assert!(text(&sim.run(&["bad-hosts"]).stdout).contains("empty"));
    let post = |machine: &str, reason: &str| {
        let body = format!(r#"{{"machine_id":"{machine}","reason":"{reason}"}}"#);
        let sent = Command::new("curl")
            .args([
                "-sS",
                "-f",
                "-X",
                "POST",
                "-H",
                "Content-Type: application/json",
                "-d",
                &body,
                &format!("{}/bad-host", sim.url),
            ])
            .output()
            .unwrap();
        assert!(sent.status.success(), "{}", text(&sent.stderr));
    };
    post("20043", "falls off the bus");
    post("20044", "\\u001b[31mred");
    let hosts = json(&sim.run(&["bad-hosts", "--json"]));
    let hosts = hosts["bad_hosts"].as_array().unwrap();
    assert_eq!(hosts.len(), 2, "{hosts:?}");
    assert!(hosts.iter().any(|it| it["machine_id"] == "20043" && it["reason"] == "falls off the bus"), "{hosts:?}");
    assert!(hosts.iter().all(|it| it["added_at"].is_string()), "{hosts:?}");
    let said = text(&sim.run(&["bad-hosts"]).stdout);
    assert!(said.contains("20043") && said.contains("falls off the bus") && said.contains("UTC"), "{said}");
    assert!(!said.contains('\u{1b}'), "what the manager keeps is no terminal's command: {said:?}");
    assert_eq!(run_alone(sim.folder.path(), &["-m", "http://127.0.0.1:9", "bad-hosts"]).status.code(), Some(3));
}
