//! The structure that ARCHITECTURE.md promises, checked: dependency directions, who may import what, what must be written down.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use serde_json::Value;

use crate::{cargo, root};

/// For each member the members it may depend on (to build or to run, not for its tests).
const MAY_DEPEND_ON: [(&str, &[&str]); 19] = [
    ("dwell-fleet", &[]),
    ("dwell-diagnosis", &["dwell-fleet"]),
    ("dwell-wire", &["dwell-fleet"]),
    ("dwell-clients", &["dwell-fleet", "dwell-wire"]),
    ("dwell-kernels", &[]),
    ("dwell-bench", &["dwell-kernels"]),
    ("dwell-driver-double", &["dwell-kernels"]),
    ("dwell-charts", &[]),
    // Shares nothing with what it tests.
    ("dwell-fake-manager", &[]),
    ("dwell-real-texts", &[]),
    ("dwell-fuzz", &[]),
    ("dwell-history", &["dwell-fleet"]),
    ("dwell-simulator", &["dwell-wire"]),
    ("dwell-api", &["dwell-clients", "dwell-fleet", "dwell-history"]),
    (
        "dwell-commands",
        &[
            "dwell-api",
            "dwell-bench",
            "dwell-charts",
            "dwell-clients",
            "dwell-diagnosis",
            "dwell-fleet",
            "dwell-history",
            "dwell-simulator",
            "dwell-wire",
        ],
    ),
    ("dwell-cli", &["dwell-commands", "dwell-web"]),
    ("dwell-web", &["dwell-commands"]),
    ("dwell-desktop", &["dwell-commands"]),
    ("xtask", &[]),
];

/// Crates that only the named members may use: what opens sockets, knows SQL or a window.
const ONLY_IN: [(&str, &[&str]); 12] = [
    ("cudarc", &["dwell-bench"]),
    ("nvml-wrapper", &["dwell-bench"]),
    ("plotters", &["dwell-charts"]),
    ("reqwest", &["dwell-clients"]),
    ("rusqlite", &["dwell-history"]),
    ("tauri", &["dwell-desktop"]),
    ("keyring", &["dwell-commands"]),
    ("secrecy", &["dwell-clients", "dwell-commands"]),
    ("clap", &["dwell-cli", "dwell-web", "dwell-desktop", "xtask"]),
    ("anyhow", &["dwell-cli", "dwell-web", "dwell-desktop", "xtask"]),
    ("axum", &["dwell-fake-manager", "dwell-simulator", "dwell-web"]),
    (
        "serde",
        &[
            "dwell-wire",
            "dwell-clients",
            "dwell-bench",
            "dwell-fake-manager",
            "dwell-real-texts",
            "dwell-simulator",
            "dwell-api",
            "dwell-commands",
            "dwell-cli",
            "dwell-web",
            "dwell-desktop",
        ],
    ),
];

/// Runs every check.
pub(crate) fn check() -> anyhow::Result<()> {
    let mut faults = dependencies()?;
    faults.extend(tauri_imports(&root().join("ui/src"))?);
    faults.extend(documents()?);
    if faults.is_empty() {
        return Ok(());
    }
    bail!("not tidy:\n  {}", faults.join("\n  "))
}

fn dependencies() -> anyhow::Result<Vec<String>> {
    let output = cargo(&["metadata", "--format-version", "1", "--no-deps", "--offline"]).output()?;
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default().to_owned();
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let normal = dependencies.filter(|dependency| dependency["kind"].as_str() != Some("dev"));
        uses.insert(name, normal.filter_map(|dependency| dependency["name"].as_str().map(str::to_owned)).collect());
    }
    let mut faults = Vec::new();
    for (name, used) in &uses {
        let Some((_, allowed)) = MAY_DEPEND_ON.iter().find(|(member, _)| member == name) else {
            faults.push(format!("{name} is a new member: say in tidy.rs and ARCHITECTURE.md what it may depend on"));
            continue;
        };
        let members = used.iter().filter(|dependency| uses.contains_key(*dependency));
        faults.extend(
            members.filter(|used| !allowed.contains(&used.as_str())).map(|used| format!("{name} must not depend on {used}")),
        );
        for (library, owners) in ONLY_IN {
            if used.contains(library) && !owners.contains(&name.as_str()) {
                faults.push(format!("{name} must not use {library}: only {} may", owners.join(", ")));
            }
        }
    }
    Ok(faults)
}

/// Only `ui/src/host/tauri.ts` may import Tauri.
fn tauri_imports(folder: &Path) -> anyhow::Result<Vec<String>> {
    let mut faults = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            faults.extend(tauri_imports(&path)?);
        } else if !path.ends_with("host/tauri.ts") && std::fs::read_to_string(&path).unwrap_or_default().contains("@tauri-apps/")
        {
            faults.push(format!("{} imports @tauri-apps: only ui/src/host/tauri.ts may", path.display()));
        }
    }
    Ok(faults)
}

/// The map names every member, and what users notice is written down for the version in hand.
fn documents() -> anyhow::Result<Vec<String>> {
    let map = std::fs::read_to_string(root().join("ARCHITECTURE.md")).context("ARCHITECTURE.md")?;
    let mut faults: Vec<String> = MAY_DEPEND_ON
        .iter()
        .filter(|(member, _)| !map.contains(member))
        .map(|(member, _)| format!("ARCHITECTURE.md does not mention {member}"))
        .collect();
    let changes = std::fs::read_to_string(root().join("CHANGELOG.md")).context("CHANGELOG.md")?;
    if !changes.contains(env!("CARGO_PKG_VERSION")) && !changes.contains("Unreleased") {
        faults.push("CHANGELOG.md has neither this version nor a section Unreleased".to_owned());
    }
    faults.extend(tests_named(&std::fs::read_to_string(root().join("SECURITY.md")).context("SECURITY.md")?)?);
    // The two policies of content security are one: the window's and the bridge's.
    let directives = |text: &str| -> BTreeSet<String> {
        let kept = text.split(';').map(str::trim).filter(|part| !part.is_empty() && !part.starts_with("connect-src"));
        kept.map(|part| part.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    };
    let config: Value = serde_json::from_str(&std::fs::read_to_string(root().join("src-tauri/tauri.conf.json"))?)?;
    let window = directives(config["app"]["security"]["csp"].as_str().unwrap_or_default());
    let bridge = std::fs::read_to_string(root().join("crates/web/src/lib.rs"))?;
    let policy = bridge.split("const CSP: &str = \"").nth(1).and_then(|rest| rest.split("\";").next()).unwrap_or_default();
    if directives(&policy.replace("\\\n", " ")) != window {
        faults.push("the bridge's content security policy differs from the window's in more than connect-src".to_owned());
    }
    Ok(faults)
}

/// Tests that a document names as `module::test` and that are not there.
fn tests_named(document: &str) -> anyhow::Result<Vec<String>> {
    let sources = Command::new("git").args(["grep", "-hoE", r"fn [a-z0-9_]+\(", "--", "*.rs"]).current_dir(root()).output()?;
    let sources = String::from_utf8_lossy(&sources.stdout);
    let functions: BTreeSet<&str> = sources.lines().map(|line| line.trim_start_matches("fn ").trim_end_matches('(')).collect();
    let named = document.split('`').skip(1).step_by(2).filter(|word| !word.contains(' '));
    let tests = named.filter_map(|word| word.rsplit_once("::")).filter(|(path, _)| !path.starts_with("dwell_"));
    // `module::*` and `module::tests` stand for all of a module's.
    let missing = tests.filter(|(_, name)| !["*", "tests"].contains(name) && !functions.contains(name));
    Ok(missing.map(|(path, name)| format!("SECURITY.md names the test {path}::{name}, and there is none")).collect())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_repository_is_tidy() {
        super::check().unwrap();
    }
}
