//! What may be among the crates: licences, sources, bans, known vulnerabilities (`deny.toml`).

use std::process::{Command, Stdio};

use crate::{done, root, say, setup};

/// The database of known vulnerabilities of crates.
const ADVISORIES: &str = "https://github.com/rustsec/advisory-db";

/// Checks all of it; vulnerabilities where their database can be had, and says so where it cannot.
pub(crate) fn check() -> anyhow::Result<()> {
    let program = setup::cargo_deny()?;
    let mut checks = vec!["check", "bans", "licenses", "sources"];
    let mut asks = Command::new("git");
    asks.args(["ls-remote", "--exit-code", ADVISORIES, "HEAD"]).stdout(Stdio::null()).stderr(Stdio::null());
    // No password prompt, and no waiting for a network that swallows everything.
    asks.env("GIT_TERMINAL_PROMPT", "0").env("GIT_HTTP_LOW_SPEED_LIMIT", "1").env("GIT_HTTP_LOW_SPEED_TIME", "20");
    match asks.status().is_ok_and(|status| status.success()) {
        true => checks.push("advisories"),
        false => say(&format!("Known vulnerabilities of crates are not checked: {ADVISORIES} cannot be reached.")),
    }
    done(Command::new(program).args(["--log-level", "warn", "--manifest-path"]).arg(root().join("Cargo.toml")).args(checks))
}
