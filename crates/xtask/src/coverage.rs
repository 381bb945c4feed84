//! Which lines of the kernels run in their tests on the processor.
//!
//! The compiler that builds them for the processor counts (gcov); what only a card compiles is not among the lines.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::{cargo, done, root, say};

/// Runs the kernels' tests and tells, file by file, how many lines ran. A line that a card runs and no test did is an
/// error: arithmetic that nothing compares with another library's is not to be trusted on a card either.
pub(crate) fn report() -> anyhow::Result<()> {
    let target = root().join("target/coverage");
    // Counts add up over runs; those of an older build are about other lines.
    for stale in files(&target, "gcda")? {
        std::fs::remove_file(stale)?;
    }
    done(cargo(&["test", "--package", "dwell-kernels", "--target-dir"]).arg(&target).env("DWELL_KERNEL_COVERAGE", "1"))?;
    let counts = counts(&target)?;
    let mut table = String::from("Lines of the kernels that ran in their tests on the processor:\n");
    let mut never = Vec::new();
    let (mut ran_of_all, mut all) = (0, 0);
    for (file, lines) in &counts {
        let ran = lines.values().filter(|count| **count > 0).count();
        // What only this side calls (`processor.cpp`) is told, and no more.
        let on_a_card = file.ends_with(".h");
        never.extend(lines.iter().filter(|(_, count)| on_a_card && **count == 0).map(|(line, _)| format!("{file}:{line}")));
        writeln!(table, "  {file:<24}{ran:>6} of {:>5}  {}", lines.len(), share(ran, lines.len()))?;
        ran_of_all += ran;
        all += lines.len();
    }
    write!(table, "  {:<24}{ran_of_all:>6} of {all:>5}  {}", "all", share(ran_of_all, all))?;
    say(&table);
    ensure!(all > 0, "nothing was counted: is gcov of the compiler that built the kernels installed?");
    ensure!(never.is_empty(), "never ran: {}", never.join(", "));
    Ok(())
}

/// Per cent, to a tenth.
fn share(part: usize, whole: usize) -> String {
    let tenths = part * 1000 / whole.max(1);
    format!("{}.{} %", tenths / 10, tenths % 10)
}

/// How often each line of each source ran.
fn counts(target: &Path) -> anyhow::Result<BTreeMap<String, BTreeMap<u64, u64>>> {
    let sources = root().join("kernels/cuda");
    let mut counts: BTreeMap<String, BTreeMap<u64, u64>> = BTreeMap::new();
    for data in files(target, "gcda")? {
        let told = Command::new("gcov").args(["--json-format", "--stdout"]).arg(&data).output().context("cannot run gcov")?;
        ensure!(told.status.success(), "gcov: {}", String::from_utf8_lossy(&told.stderr));
        let report: serde_json::Value = serde_json::from_slice(&told.stdout).context("what gcov tells")?;
        for file in report["files"].as_array().into_iter().flatten() {
            let Some(name) = file["file"].as_str().map(Path::new).and_then(|path| path.strip_prefix(&sources).ok()) else {
                continue;
            };
            let lines = counts.entry(name.to_string_lossy().into_owned()).or_default();
            // A template has a line once for each of its instances: it ran where one of them did.
            for line in file["lines"].as_array().into_iter().flatten() {
                let (Some(number), Some(count)) = (line["line_number"].as_u64(), line["count"].as_u64()) else { continue };
                *lines.entry(number).or_default() += count;
            }
        }
    }
    Ok(counts)
}

/// The files with an extension, anywhere below a folder. None where the folder is not there yet.
fn files(folder: &Path, extension: &str) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(found) };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path, extension)?);
        } else if path.extension().is_some_and(|it| it == extension) {
            found.push(path);
        }
    }
    Ok(found)
}
