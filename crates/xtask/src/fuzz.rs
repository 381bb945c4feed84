//! Fuzzing with coverage guiding it (libFuzzer, by cargo-bolero).

use std::process::Command;

use anyhow::{Context, bail};

use crate::{done, root, say, setup};

/// Fuzzes each reader of `crates/fuzz` for its share of the minutes.
pub(crate) fn run(minutes: u32, reader: Option<&str>) -> anyhow::Result<()> {
    let program = setup::cargo_bolero()?;
    let source = std::fs::read_to_string(root().join("crates/fuzz/src/readers.rs")).context("the readers")?;
    let tests = source.split("#[test]\nfn ").skip(1).filter_map(|rest| rest.split_once('('));
    let readers: Vec<&str> = tests.map(|(name, _)| name).filter(|name| reader.is_none_or(|wanted| wanted == *name)).collect();
    if readers.is_empty() {
        bail!("no reader of crates/fuzz/src/readers.rs is called {}", reader.unwrap_or_default());
    }
    let seconds = (u64::from(minutes) * 60 / readers.len() as u64).max(1);
    for name in readers {
        say(&format!("{name}: {seconds} s"));
        // Without a sanitizer the stable compiler serves: coverage is a pass of LLVM's that it has, behind a switch.
        let arguments = ["test", "--package", "dwell-fuzz", "--sanitizer", "NONE", "--rustc-bootstrap"];
        let mut fuzz = Command::new(&program);
        fuzz.arg("bolero").args(arguments).arg(format!("readers::{name}")).args(["-T", &format!("{seconds}s")]);
        done(fuzz.current_dir(root()))?;
    }
    Ok(())
}
