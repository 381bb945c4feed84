//! A history that cannot be written while it is watched: files that may not grow (`RLIMIT_FSIZE`), as on a full disk.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use dwell_fake_manager::{FakeManager, Options};
use dwell_history::{History, LogOwner, LogQuery};

use crate::watching::{Background, Said};

/// A watch whose files can be told not to grow any more.
pub(crate) struct Watch(Background);

impl Watch {
    pub(crate) fn begin(folder: &Path, url: &str, arguments: &[&str]) -> Self {
        // As where a file's size is limited: the write fails, and no signal ends the program.
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "trap '' XFSZ; exec \"$@\"",
            "sh",
            env!("CARGO_BIN_EXE_dwellctl"),
            "--manager",
            url,
            "watch",
            "--every",
            "200ms",
        ]);
        Self(Background::begin(command.args(arguments).env("DWELL_DATA_DIR", folder)))
    }

    /// No file of its may be longer than this, or any may.
    pub(crate) fn limit(&self, bytes: Option<u64>) {
        let soft = bytes.map_or_else(|| "unlimited".to_owned(), |bytes| bytes.to_string());
        let status = Command::new("prlimit")
            .args(["--pid", &self.0.id().to_string(), &format!("--fsize={soft}:unlimited")])
            .stderr(Stdio::inherit())
            .status()
            .unwrap();
        assert!(status.success());
    }

    pub(crate) fn out(&self) -> &Said {
        &self.0.out
    }

    pub(crate) fn err(&self) -> &Said {
        &self.0.err
    }

    /// Ctrl-C. The exit code.
    pub(crate) fn interrupt(mut self) -> Option<i32> {
        assert!(Command::new("kill").args(["-INT", &self.0.id().to_string()]).status().unwrap().success());
        self.0.wait()
    }
}

/// What is stored of the one instance: its states in order, and its log.
pub(crate) fn stored(folder: &Path, url: &str) -> (Vec<String>, Vec<String>) {
    let mut history = History::open(&folder.join("history.sqlite3")).unwrap();
    let id = history.fleet(url, None).unwrap();
    let instances = history.remembered(id, dwell_commands::now()).unwrap().instances;
    let [instance] = &instances[..] else { panic!("{instances:?}") };
    let states = instance.ledger.entries().iter().map(|entry| entry.state.to_string()).collect();
    let all = LogQuery { limit: 10_000, ..LogQuery::default() };
    let lines = history.lines(id, LogOwner::Instance(instance.key), &all).unwrap();
    (states, lines.into_iter().map(|it| it.line.text).collect())
}

/// The latest time that is stored of when anything was, or was watched.
pub(crate) fn latest(folder: &Path, url: &str) -> jiff::Timestamp {
    let mut history = History::open(&folder.join("history.sqlite3")).unwrap();
    let id = history.fleet(url, None).unwrap();
    let watched = history.watched(id).unwrap().into_iter().map(|(_, to)| to);
    let instances = history.remembered(id, dwell_commands::now()).unwrap().instances;
    let entered = instances.iter().flat_map(|it| it.ledger.entries().iter().map(|entry| entry.at).chain([it.last_listed_at]));
    watched.chain(entered).max().unwrap()
}

/// A manager with one instance that has just registered.
pub(crate) fn manager() -> (FakeManager, String) {
    let manager = FakeManager::serve(Options::default());
    manager.cycle();
    let uuid = manager.registered(31_000_001);
    manager.cycle();
    manager.push(&uuid, "setup", "one\n");
    (manager, uuid)
}

pub(crate) fn say(manager: &FakeManager, path: &str, uuid: &str, more: &str) {
    let answer = manager.call("POST", path, &format!(r#"{{"uuid":"{uuid}"{more}}}"#)).value();
    assert_eq!(answer["ok"], true, "{path}: {answer}");
}

#[test]
fn a_full_disk_is_said_and_what_it_refused_is_stored_when_there_is_room() {
    let (manager, uuid) = manager();
    let folder = tempfile::tempdir().unwrap();
    let url = manager.url();
    let watch = Watch::begin(folder.path(), &url, &["--metrics", "127.0.0.1:0"]);
    let said = watch.err().until("the address", |said| said.contains("metrics at "));
    let metrics = said.lines().find_map(|line| line.split_once("metrics at ").map(|(_, url)| url)).unwrap().to_owned();
    watch.out().until("the head", |said| said.contains("proofs/h"));
    crate::metrics::wait_for(&metrics, |text| text.contains("\ndwell_history_writable 1\n"));

    watch.limit(Some(1));
    say(&manager, "/param-done", &uuid, "");
    manager.push(&uuid, "setup", "two\n");
    watch.out().until("the change", |said| said.contains("registered \u{2192} params_done"));
    let said = watch.err().until("that it is not stored", |said| said.contains("history cannot be written"));
    assert!(said.contains("held in memory: ") && said.contains("make room on the disk"), "{said}");
    watch.out().until("the condition", |said| said.contains("history-not-written: history cannot be written"));
    say(&manager, "/bench-done", &uuid, r#","rate":41.5"#);
    manager.push(&uuid, "benchout", "three\n");
    say(&manager, "/running", &uuid, "");
    watch.out().until("a change meanwhile", |said| said.contains("\u{2192} running"));
    let text = crate::metrics::wait_for(&metrics, |text| text.contains("\ndwell_history_writable 0\n"));
    let held = text.lines().find_map(|line| line.strip_prefix("dwell_history_held_entries ")?.parse::<u64>().ok());
    assert!(held.is_some_and(|held| held > 0) && text.contains("dwell_condition{kind=\"history-not-written\"} 1"), "{text}");

    watch.limit(None);
    watch.err().until("that it is", |said| said.contains("history is written again: what was held is stored"));
    crate::metrics::wait_for(&metrics, |text| {
        text.contains("\ndwell_history_writable 1\n") && text.contains("\ndwell_history_held_entries 0\n")
    });
    assert_eq!(watch.interrupt(), Some(0), "nothing was lost");
    let (states, lines) = stored(folder.path(), &url);
    assert_eq!(states, ["loading", "registered", "params_done", "bench_done", "running"]);
    assert_eq!(lines, ["one", "two", "three"], "each once");
}

#[test]
fn a_watch_that_ends_on_a_full_disk_says_what_is_lost() {
    let (manager, uuid) = manager();
    let folder = tempfile::tempdir().unwrap();
    let watch = Watch::begin(folder.path(), &manager.url(), &[]);
    watch.out().until("the head", |said| said.contains("proofs/h"));
    watch.limit(Some(1));
    say(&manager, "/param-done", &uuid, "");
    watch.err().until("that it is not stored", |said| said.contains("history cannot be written"));
    let (began, err) = (Instant::now(), watch.err().clone());
    assert_eq!(watch.interrupt(), Some(12));
    err.until("what is lost", |said| said.contains("answers and log lines are not stored and are lost now"));
    assert!(began.elapsed() < Duration::from_secs(60), "it ends");
}
