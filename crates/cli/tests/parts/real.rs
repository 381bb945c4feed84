//! Against programs that no one here wrote, together: vast.ai's own client 1.9.1 behind the manager, OpenSSH between the
//! terminal and the manager, Prometheus reading what a watch serves. The manager is its strict double; vast.ai is the simulated one,
//! which the real client takes for vast.ai.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use dwell_fake_manager::{Client, FakeManager, Options};
use serde_json::Value;

use crate::{Sim, json, sshd, text};

/// vast.ai's own client, as `cargo xtask test` installs it.
fn vastai() -> PathBuf {
    let program = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/vastai/bin/vastai"));
    assert!(program.exists(), "{} is missing; `cargo xtask setup --tests` installs it", program.display());
    program
}

/// A manager whose `vastai` is the real one, and the account that it asks.
struct Place {
    vast: Sim,
    manager: FakeManager,
    environment: Vec<(String, String)>,
    data: tempfile::TempDir,
}

impl Place {
    fn with(scenario: &str) -> Self {
        let vast = Sim::serve(scenario, "1");
        let home = vast.folder.path();
        let variable = |name: &str, value: &Path| (name.to_owned(), value.display().to_string());
        let environment = vec![
            ("VAST_URL".to_owned(), vast.vast_url.clone()),
            ("VAST_API_KEY".to_owned(), "a-key-of-the-managers-own".to_owned()),
            ("VASTAI_NO_UPDATE_CHECK".to_owned(), "1".to_owned()),
            variable("HOME", home),
            variable("XDG_CONFIG_HOME", &home.join("config")),
            variable("XDG_CACHE_HOME", &home.join("cache")),
            variable("XDG_STATE_HOME", &home.join("state")),
        ];
        let options = Options {
            client: Client::Program(vastai(), environment.clone()),
            cycle_pause: Some(Duration::from_secs(3)),
            first_cycle: Some(Duration::from_secs(1)),
            ..Options::default()
        };
        Self { vast, manager: FakeManager::serve(options), environment, data: tempfile::tempdir().unwrap() }
    }

    /// What the real client prints.
    fn client(&self, arguments: &[&str]) -> Value {
        let command = Command::new(vastai()).args(arguments).envs(self.environment.clone()).stdin(Stdio::null()).output();
        let output = command.unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        json(&output)
    }

    fn rented(&self) -> Vec<u64> {
        let listed = self.client(&["show", "instances", "--raw"]);
        listed.as_array().unwrap().iter().map(|row| row["id"].as_u64().unwrap()).collect()
    }

    /// `dwellctl` on this manager, with a key of the account or without.
    fn run(&self, with_key: bool, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dwellctl"));
        command.args(arguments).env("DWELL_DATA_DIR", self.data.path()).env("TZ", "UTC").env("USER", "tester");
        command.env_remove("DWELL_MANAGER").env_remove("VAST_API_KEY").env("VAST_URL", &self.vast.vast_url);
        if with_key {
            command.env("VAST_API_KEY", "a-key-of-the-operators-own");
        }
        command.output().unwrap()
    }

    /// A saved fleet on which Dwell may act.
    fn allow_acting(&self) {
        for arguments in [&["fleets", "add", "real", &self.manager.url()][..], &["fleets", "allow-acting", "real"]] {
            let output = self.run(false, arguments);
            assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        }
    }

    /// Waits until the manager has listed a rental by its own client.
    fn listed(&self, vast_id: u64) -> Value {
        let began = Instant::now();
        loop {
            let dashboard = self.manager.call("GET", "/api/dashboard", "").value();
            let rows = dashboard["instances"].as_array().cloned().unwrap_or_default();
            if let Some(row) = rows.iter().find(|row| row["vast_id"].as_u64() == Some(vast_id) && !row["gpu_name"].is_null()) {
                return row.clone();
            }
            assert!(began.elapsed() < Duration::from_secs(60), "never listed: {dashboard}\n{:?}", self.manager.log());
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The client 1.9.1 asks before it destroys, and nobody answers the manager's: "Aborted.", exit status 0. The manager believes
/// that it is done. Dwell sees the rental.
#[test]
fn a_kill_that_the_real_client_aborts_is_not_called_done() {
    let place = Place::with("params-done-silence");
    let id = place.rented()[0];
    let uuid = place.manager.register(id);
    place.listed(id);
    place.allow_acting();
    let output = place.run(true, &["kill", &uuid, "--yes", "--why", "a try", "--every", "300ms", "--json"]);
    let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
    assert!(place.rented().contains(&id), "the client did destroy it, so this test tells nothing: {said}");
    assert!(!output.status.success(), "a rental that is billed on was called done: {said}");
    let act = json(&output)["actions"][0].take();
    assert_ne!(act["phase"], "verified", "{act}");
    let killed = place.manager.call("GET", "/api/dashboard", "").value();
    let row = killed["instances"].as_array().unwrap().iter().find(|row| row["uuid"] == uuid.as_str()).cloned().unwrap();
    assert_eq!(row["state"], "killed", "the manager took the kill: {row}");
}

/// Search and order through the manager, by its real client: what Dwell sends is taken, and what it rents exists.
#[test]
fn an_order_through_the_manager_is_carried_out_by_the_real_client() {
    let place = Place::with("stuck-wave-rollout");
    let before = place.rented();
    place.allow_acting();
    let offers = place.run(false, &["offers", "--json", "--all", "--filter", "gpu_name=RTX_4090"]);
    assert!(offers.status.success(), "{}", text(&offers.stderr));
    let offers = json(&offers);
    assert_eq!(offers["source"], "manager", "{offers}");
    assert!(!offers["offers"].as_array().unwrap().is_empty(), "{offers}");
    let mut order = Command::new(env!("CARGO_BIN_EXE_dwellctl"));
    order
        .args(["deploy", "1", "--budget", "5", "--gpu", "RTX 4090", "--yes", "--why", "a try", "--every", "500ms"])
        .env("DWELL_DATA_DIR", place.data.path())
        .env_remove("DWELL_MANAGER")
        .env_remove("VAST_API_KEY")
        .env("VAST_URL", &place.vast.vast_url)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut order = Running(order.spawn().unwrap());
    let began = Instant::now();
    let new = loop {
        let rented = place.rented();
        let new: Vec<u64> = rented.into_iter().filter(|id| !before.contains(id)).collect();
        if !new.is_empty() {
            break new;
        }
        let ended = order.0.try_wait().unwrap();
        assert!(ended.is_none(), "it ended without an order: {ended:?} {:?}", place.manager.log());
        assert!(began.elapsed() < Duration::from_secs(90), "nothing was rented: {:?}", place.manager.log());
        std::thread::sleep(Duration::from_millis(250));
    };
    assert_eq!(new.len(), 1, "one was ordered");
    let record = place.client(&["show", "instance", &new[0].to_string(), "--raw"]);
    assert_eq!(record["gpu_name"], "RTX 4090", "{record}");
    let orders: Vec<_> = place.manager.requests().into_iter().filter(|seen| seen.target == "/api/deploy").collect();
    assert_eq!(orders.iter().map(|seen| seen.status).collect::<Vec<_>>(), [200], "{orders:?}");
    // Its offer is taken now. The real client says so with exit status 0, the manager calls that ok: the refusal is in its words.
    let body: Value = serde_json::from_str(&orders[0].body).unwrap();
    let again =
        Command::new("curl").args(["-sS", "-d", &body.to_string(), &format!("{}/api/deploy", place.manager.url())]).output();
    let again = json(&again.unwrap());
    assert_eq!((again["ok"].as_bool(), again["instance_id"].as_u64()), (Some(true), Some(0)), "{again}");
    assert!(again["message"].as_str().unwrap().starts_with("Failed with error 4"), "as Dwell reads it: {again}");
    assert_eq!(place.rented().len(), before.len() + 1, "one was ordered, and one was rented");
    // An order that was sent is not sent again by the process that follows it up.
    drop(order);
    let rollouts = json(&place.run(false, &["rollouts", "--json"]));
    assert_eq!(rollouts["rollouts"].as_array().unwrap().len(), 1, "{rollouts}");
}

/// A watch through a real `ssh` and `sshd`: the tunnel is cut, and the watch goes on when it is back.
#[test]
fn a_watch_through_openssh_goes_on_after_the_tunnel_was_cut() {
    let place = Place::with("params-done-silence");
    let uuid = place.manager.register(place.rented()[0]);
    let mut server = sshd::Sshd::start();
    let folder = place.data.path();
    let mut watch = Command::new(env!("CARGO_BIN_EXE_dwellctl"));
    watch
        .args(["--manager", &place.manager.url(), "--ssh", "controller", "watch", "--every", "500ms", "--json"])
        .env("DWELL_DATA_DIR", folder)
        .env("DWELL_SSH_CONFIG", server.path("ssh_config"))
        .env_remove("DWELL_MANAGER")
        .stdout(std::fs::File::create(folder.join("out")).unwrap())
        .stderr(std::fs::File::create(folder.join("err")).unwrap());
    let _watch = Running(watch.spawn().unwrap());
    let said = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    let asked = || place.manager.requests().len();
    let until = |what: &str, good: &dyn Fn() -> bool| {
        let began = Instant::now();
        while !good() {
            assert!(began.elapsed() < Duration::from_secs(90), "never: {what}\n{}\n{}", said("out"), said("err"));
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    until("it lists the instance", &|| said("out").contains(&uuid[..8]));
    server.stop();
    until("it says that the way is cut", &|| !said("err").trim().is_empty());
    let before = asked();
    place.manager.call("POST", "/param-done", &format!(r#"{{"uuid":"{uuid}"}}"#));
    server.run();
    until("it asks again", &|| asked() > before + 2);
    until("it tells what changed meanwhile", &|| said("out").contains("params_done"));
}

/// A real Prometheus reads what a watch serves: the manager goes, and comes back.
#[cfg(target_os = "linux")]
#[test]
fn prometheus_sees_the_manager_go_and_come_back() {
    use std::io::{BufRead, BufReader};

    let place = Place::with("params-done-silence");
    place.manager.register(place.rented()[0]);
    let mut watch = Command::new(env!("CARGO_BIN_EXE_dwellctl"));
    watch
        .args(["--manager", &place.manager.url(), "watch", "--every", "500ms", "--metrics", "127.0.0.1:0"])
        .env("DWELL_DATA_DIR", place.data.path())
        .env_remove("DWELL_MANAGER")
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut watch = Running(watch.spawn().unwrap());
    let mut line = String::new();
    let mut errors = BufReader::new(watch.0.stderr.take().unwrap());
    errors.read_line(&mut line).unwrap();
    // Whatever it says later has somewhere to go.
    std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
    let url = line.trim().split_once("metrics at ").unwrap_or_else(|| panic!("{line}")).1.to_owned();
    let prometheus = crate::metrics::prometheus(place.data.path(), &url);
    let up = |value: u8| {
        let wanted = format!("\"{value}\"]");
        crate::metrics::wait_for(&prometheus.query("dwell_manager_up"), |answer| answer.contains(&wanted))
    };
    up(1);
    place.manager.stop();
    up(0);
    place.manager.start_again();
    up(1);
}
