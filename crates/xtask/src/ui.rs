//! The front end: fetched with npm from its lock file, checked, built by Vite. Steps whose inputs have not changed are left out.

use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use crate::{done, root};

/// Builds `ui/dist`.
pub(crate) fn build() -> anyhow::Result<()> {
    fetch()?;
    let ui = root().join("ui");
    let built = modified(&ui.join("dist/index.html"));
    let newest =
        ["src", "index.html", "package-lock.json", "vite.config.ts"].iter().map(|path| newest(&ui.join(path))).max().flatten();
    if built.is_some() && newest < built {
        return Ok(());
    }
    done(npm().args(["run", "build"]))
}

/// Formatting, lints, types, accessibility hints and unit tests.
pub(crate) fn check() -> anyhow::Result<()> {
    fetch()?;
    done(npm().args(["run", "format:check"]))?;
    done(npm().args(["run", "lint"]))?;
    done(npm().args(["run", "check"]))?;
    done(npm().args(["run", "test"]))
}

fn fetch() -> anyhow::Result<()> {
    let ui = root().join("ui");
    let fetched = modified(&ui.join("node_modules/.package-lock.json"));
    if fetched.is_some() && modified(&ui.join("package-lock.json")) <= fetched {
        return Ok(());
    }
    done(npm().args(["ci", "--no-audit", "--no-fund"]))
}

fn npm() -> Command {
    let mut command = Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" });
    command.current_dir(root().join("ui"));
    command
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().ok()?.modified().ok()
}

fn newest(path: &Path) -> Option<SystemTime> {
    let below = std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| newest(&entry.path())).max().flatten();
    below.max(modified(path))
}
