//! The key of an account is looked for in everything that Dwell writes, says, sends to its window or starts.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use dwell_commands::dto::*;
use dwell_commands::{App, COMMANDS, Scenario, SecretString, VastClient, World, serve};

/// Unlike anything else: found wherever it stands.
const KEY: &str = "vk-5ec7e75ec7e75ec7e75ec7e7-canary";
const PART: &str = "5ec7e75ec7e7";

static LOGGED: AtomicUsize = AtomicUsize::new(0);
static LEAKED: AtomicBool = AtomicBool::new(false);

/// A log that keeps nothing and looks for the key in everything.
struct Searcher;

impl std::io::Write for Searcher {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        LOGGED.fetch_add(1, Ordering::Relaxed);
        if String::from_utf8_lossy(bytes).contains(PART) {
            LEAKED.store(true, Ordering::Relaxed);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(path) = folders.pop() {
        for entry in std::fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found
}

fn processes() -> String {
    let listed = std::process::Command::new("ps").args(["-eo", "args", "-ww"]).output().unwrap();
    String::from_utf8_lossy(&listed.stdout).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_key_is_in_nothing_that_is_written_said_sent_or_started() {
    // Everything that any library says, down to the bytes of the connections.
    tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(|| Searcher).try_init().unwrap();
    tracing::trace!("{KEY}");
    assert!(LEAKED.swap(false, Ordering::Relaxed), "a key that is logged is found");

    let scenario = Scenario::named("params-done-silence").unwrap();
    let served = serve(World::new(scenario, 1, dwell_commands::now()), 1.0, 0, 0).await.unwrap();
    served.open_ssh();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("settings.toml"), "allow_private_machines = true\n").unwrap();
    let app = App::new(Some(folder.path().to_owned())).unwrap();
    app.set_patience(Duration::from_secs(5));
    app.set_vast_address(served.vast_url());
    app.connect(ConnectRequest { address: served.url(), name: Some("mine".into()), ssh: None }).await.unwrap();
    app.add_key("mine", SecretString::from(KEY), true).await.unwrap();
    app.allow_probe(AllowProbe { name: "mine".into(), allow: true }).await.unwrap();
    let id = loop {
        let rows = app.fleet(Nothing {}).await.unwrap().instances;
        if let Some(row) = rows.iter().find(|row| row.state == "running") {
            break row.id.clone();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };

    // What the window is sent, command by command, the looks among them; and what runs meanwhile.
    let mut said = Vec::new();
    for check in ["ask-vast", "container-log", "prover-status", "ssh-probe"] {
        let request = serde_json::json!({ "id": id, "check": check });
        let (answer, listed) = tokio::join!(app.call("make_look", request), async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            tokio::task::spawn_blocking(processes).await.unwrap()
        });
        said.push(answer.unwrap().to_string());
        said.push(listed);
    }
    let leave = ["forget", "simulate", "start_drill", "watch_saved", "connect", "import_key", "remove_account", "start_bench"];
    for command in COMMANDS.iter().filter(|command| !leave.contains(&command.name)) {
        let request = serde_json::json!({
            "id": id, "check": "ask-vast", "text": "a note", "cause": "host-oom-cgroup", "ids": [id], "format": "markdown",
            "with_addresses": true, "name": "mine", "allow": true, "before": "2026-01-01T00:00:00Z", "speed": 1.0,
        });
        said.push(match app.call(command.name, request).await {
            Ok(answer) => answer.to_string(),
            Err(error) => format!("{error} {error:?}"),
        });
    }
    assert!(said.iter().any(|text| text.contains("\"state\":\"for this session only\"")), "the account was told of");
    // What is said where things fail: refused, unreachable, a wrong address.
    for address in [format!("{}/nowhere", served.url()), "http://127.0.0.1:1".to_owned(), "http://example.com".to_owned()] {
        match VastClient::new(&address, SecretString::from(KEY), Default::default()) {
            Ok(client) => {
                said.push(format!("{client:?} {:?} {:?}", client.user().await, client.look(1).await));
                // As a crash would print it.
                let crash = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| panic!("{client:?}"))).unwrap_err();
                said.push(crash.downcast_ref::<String>().unwrap().clone());
            }
            Err(error) => said.push(format!("{error} {error:?}")),
        }
    }
    said.push(format!("{app:?}"));
    for text in &said {
        assert!(!text.contains(PART), "{}", text.chars().take(2_000).collect::<String>());
    }

    // What lies on the disk: history with its journal, settings, host keys.
    let written = files(folder.path());
    assert!(written.iter().any(|path| path.ends_with("history.sqlite3")) && written.len() >= 3, "{written:?}");
    for path in written {
        let bytes = std::fs::read(&path).unwrap();
        assert!(!bytes.windows(PART.len()).any(|part| part == PART.as_bytes()), "the key is in {}", path.display());
    }
    assert!(LOGGED.load(Ordering::Relaxed) > 100, "the log was listened to");
    assert!(!LEAKED.load(Ordering::Relaxed), "the key was logged");
}
