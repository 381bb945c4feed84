//! A keychain that hangs: a bus that takes connections and never says a word.

use std::os::unix::net::UnixListener;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::text;

/// A program that runs so long hangs.
const HANGS_AFTER: Duration = Duration::from_secs(60);

struct DeadBus {
    folder: tempfile::TempDir,
    listener: UnixListener,
}

impl DeadBus {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("settings.toml"), "vast_accounts = [\"main\"]\n").unwrap();
        let listener = UnixListener::bind(folder.path().join("bus")).unwrap();
        listener.set_nonblocking(true).unwrap();
        Self { folder, listener }
    }

    /// Runs `dwellctl` to its end; a connection stays open until it has ended. Its output, and whether it asked the keychain.
    fn run(&self, arguments: &[&str]) -> (Output, bool) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_dwellctl"))
            .args(["--data-dir", self.folder.path().to_str().unwrap(), "--within", "1s"])
            .args(arguments)
            .env("DBUS_SESSION_BUS_ADDRESS", format!("unix:path={}", self.folder.path().join("bus").display()))
            .env_remove("VAST_API_KEY")
            .env_remove("DWELL_MANAGER")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"vk-5ec7e7-0123456789abcdef").unwrap();
        let (began, mut held) = (Instant::now(), Vec::new());
        while child.try_wait().unwrap().is_none() {
            held.extend(self.listener.accept());
            if began.elapsed() > HANGS_AFTER {
                child.kill().unwrap();
                panic!("{arguments:?} hangs: {:?}", child.wait_with_output());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        held.extend(self.listener.accept());
        (child.wait_with_output().unwrap(), !held.is_empty())
    }
}

#[test]
pub(crate) fn a_keychain_that_never_answers_ends_a_command_with_the_reason() {
    let bus = DeadBus::new();
    for arguments in
        [&["vast", "user"][..], &["keys", "set-env", "TOKEN"], &["keys", "add", "other"], &["keys", "list"], &["doctor"]]
    {
        let (output, asked) = bus.run(arguments);
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(asked, "{arguments:?} does not ask the keychain: {said}");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains("the keychain did not answer within 1 s"), "{arguments:?}: {said}");
        assert!(!said.contains("5ec7e7"), "{arguments:?}: {said}");
    }
}

#[test]
fn what_needs_no_key_does_not_ask_the_keychain() {
    let bus = DeadBus::new();
    for arguments in [
        &["fleets", "add", "here", "http://127.0.0.1:9", "--force"][..],
        &["fleets", "list"],
        &["fleets", "read-only", "here"],
        &["fleets", "remove", "here"],
        &["explain", "gpu-fell-off-bus"],
    ] {
        let (output, asked) = bus.run(arguments);
        assert!(output.status.success() && !asked, "{arguments:?} asked: {asked}, {}", text(&output.stderr));
    }
}
