//! The command table against everything that is made from it.

use std::path::PathBuf;

use dwell_commands::{COMMANDS, typescript};

fn repository(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// `cargo xtask bindings` sets DWELL_UPDATE_BINDINGS, which writes the file instead of comparing it.
#[test]
fn the_front_ends_client_is_fresh() {
    let path = repository("ui/src/api/generated.ts");
    let fresh = typescript();
    if std::env::var_os("DWELL_UPDATE_BINDINGS").is_some() {
        std::fs::write(&path, &fresh).unwrap();
    }
    assert!(std::fs::read_to_string(&path).unwrap_or_default() == fresh, "run `cargo xtask bindings` and commit the result");
}

/// The window may call exactly what the table lists.
#[test]
fn the_windows_capability_lists_every_command_and_nothing_else() {
    let text = std::fs::read_to_string(repository("src-tauri/capabilities/main.json")).unwrap();
    let capability: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut allowed: Vec<String> =
        capability["permissions"].as_array().unwrap().iter().map(|permission| permission.as_str().unwrap().to_owned()).collect();
    let mut expected: Vec<String> = COMMANDS.iter().map(|command| format!("allow-{}", command.name.replace('_', "-"))).collect();
    expected.push("allow-subscribe".into());
    allowed.sort();
    expected.sort();
    assert_eq!(allowed, expected);
}
