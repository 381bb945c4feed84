//! vast.ai's own command line client against the served simulator: every command that an operator uses.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use dwell_simulator::{Scenario, Served, World, serve};
use serde_json::Value;

struct Client {
    url: String,
    program: PathBuf,
    home: tempfile::TempDir,
}

impl Client {
    fn run(&self, arguments: &[&str]) -> Output {
        let home = self.home.path();
        Command::new(&self.program)
            .args(arguments)
            .env("VAST_URL", &self.url)
            .env("VAST_API_KEY", "a-key-of-nobody")
            .env("VASTAI_NO_UPDATE_CHECK", "1")
            .env("HOME", home)
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("XDG_CACHE_HOME", home.join("cache"))
            .env("XDG_STATE_HOME", home.join("state"))
            .stdin(Stdio::null())
            .output()
            .unwrap_or_else(|error| panic!("{}: {error}; `cargo xtask test` installs it", self.program.display()))
    }

    /// What it prints, where it must succeed.
    fn says(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        // It clears its own prompts on the error output.
        let complains = ["rror", "Traceback", "ailed"].iter().any(|word| errors.contains(word));
        assert!(output.status.success() && !complains, "{arguments:?}: {said}{errors}");
        said.into_owned()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let said = self.says(arguments);
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {said}"))
    }
}

async fn served(name: &str, more: &str) -> (Served, Client) {
    let path = format!("{}/scenarios/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap() + more;
    let scenario = Scenario::parse(name, &text).unwrap();
    let (seed, start) = (scenario.seed, scenario.start);
    let served = serve(World::new(scenario, seed, start), 1.0, 0, 0).await.unwrap();
    let program = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../tools/vastai/bin/vastai"));
    let client = Client { url: served.vast_url(), program, home: tempfile::tempdir().unwrap() };
    (served, client)
}

/// Runs blocking work beside the server.
async fn beside(work: impl FnOnce() + Send + 'static) {
    tokio::task::spawn_blocking(work).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_sees_rents_and_changes_instances() {
    let (served, client) = served("params-done-silence", "").await;
    beside(move || {
        let listed = client.json(&["show", "instances", "--raw"]);
        let rows = listed.as_array().unwrap();
        assert_eq!(rows.len(), 5);
        assert!(client.says(&["show", "instances"]).contains("5 instances"));
        let id = rows[0]["id"].to_string();
        assert_eq!(client.json(&["show", "instance", &id, "--raw"])["machine_id"], rows[0]["machine_id"]);
        assert!(client.json(&["show", "user", "--raw"])["credit"].as_f64().is_some_and(|credit| credit > 0.0));

        let wanted = "num_gpus=1 dph<0.6 reliability>0.9 cuda_vers>=12.0 gpu_ram>=20";
        let offers = client.json(&["search", "offers", wanted, "--limit", "5", "-o", "dph", "--storage", "250", "--raw"]);
        let prices: Vec<f64> = offers.as_array().unwrap().iter().map(|offer| offer["dph_total"].as_f64().unwrap()).collect();
        assert!(!prices.is_empty() && prices.len() <= 5 && prices.is_sorted(), "{prices:?}");
        assert!(prices.iter().all(|price| *price < 0.6 + 0.06));

        let offer = offers[0]["id"].to_string();
        let create = [
            "create",
            "instance",
            &offer,
            "--image",
            "magik6k/curio-cuzk:latest",
            "--disk",
            "250",
            "--label",
            "job-1",
            "--env",
            "-e A=1 -p 8080:8080",
            "--ssh",
            "--direct",
            "--onstart-cmd",
            "/opt/entrypoint.sh",
            "--cancel-unavail",
            "--raw",
        ];
        let created = client.json(&create);
        let new = created["new_contract"].to_string();
        assert!(client.says(&["show", "instances"]).contains("6 instances"));
        let record = client.json(&["show", "instance", &new, "--raw"]);
        assert_eq!((&record["label"], &record["disk_space"]), (&Value::from("job-1"), &Value::from(250.0)));
        let gone = client.run(&create);
        let errors = String::from_utf8_lossy(&gone.stderr).into_owned();
        assert!(gone.status.success() && errors.contains("no_such_ask"), "an offer is good for one rental: {errors}");

        client.says(&["label", "instance", &id, "new label"]);
        assert_eq!(client.json(&["show", "instance", &id, "--raw"])["label"], "new label");
        client.says(&["stop", "instance", &id]);
        assert_eq!(client.json(&["show", "instance", &id, "--raw"])["actual_status"], "stopped");
        client.says(&["start", "instance", &id]);
        assert_eq!(client.json(&["show", "instance", &id, "--raw"])["actual_status"], "running");
        assert!(client.says(&["reboot", "instance", &id]).contains("Rebooting"));
        assert!(client.says(&["logs", &id]).contains("OpenSSH"));
        assert!(client.says(&["logs", &id, "--daemon-logs"]).contains("started container"));
        assert!(client.says(&["ssh-url", &id]).starts_with("ssh://root@"));

        // Its printing of a result crashes at this version; the failure is printed.
        let execute = client.run(&["execute", &id, "ls -l"]);
        assert!(!execute.status.success() && String::from_utf8_lossy(&execute.stderr).contains("AttributeError"));
        let refused = client.run(&["execute", &id, "cat /etc/passwd"]);
        assert!(String::from_utf8_lossy(&refused.stderr).contains("Only ls, rm and du"), "{refused:?}");

        // Without -y and without a terminal it destroys nothing, and ends with status 0.
        assert!(client.says(&["destroy", "instance", &id]).contains("Aborted."));
        assert_eq!(client.json(&["show", "instance", &id, "--raw"])["actual_status"], "running");
        assert!(client.says(&["destroy", "instance", &id, "-y"]).contains("destroying instance"));
    })
    .await;
    assert_eq!(served.with_world(|world| world.truth().iter().filter(|truth| truth.rented).count()), 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_pages_through_a_large_fleet() {
    let (_served, client) = served("vast-partial-list", "").await;
    beside(move || {
        let listed = client.json(&["show", "instances", "--raw"]);
        assert_eq!(listed.as_array().unwrap().len(), 34);
    })
    .await;
}

/// What the manager's client does when vast.ai refuses: status 0 and nothing on its output.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_ends_with_status_0() {
    let refusal = "\n[[fault]]\nkind = \"vast-http-error-exit0\"\nat = \"-1m\"\nwith = { answer = \"session\" }\n";
    let (_served, client) = served("params-done-silence", refusal).await;
    beside(move || {
        let output = client.run(&["show", "instances", "--raw"]);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
        assert!(errors.contains("Session expired"), "{errors}");
    })
    .await;
}
