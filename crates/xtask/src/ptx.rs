//! The kernels: compiled to PTX ahead of time, and assembled for every kind of card to see what each needs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};

use crate::{done, root, say, setup};

/// Kinds of card that the PTX must assemble for: Turing, Ampere (data centre, consumer), Ada, Hopper, Blackwell (both).
const ARCHITECTURES: [u32; 7] = [75, 80, 86, 89, 90, 100, 120];

/// Writes PTX and figures anew, or, to check, compares them with what is there.
pub(crate) fn make(check: bool) -> anyhow::Result<()> {
    let tools = setup::cuda_compilers()?;
    let kernels = root().join("kernels");
    let scratch = root().join("target/ptx");
    std::fs::create_dir_all(&scratch)?;
    let made = scratch.join("kernels.ptx");
    let mut compile = Command::new(tools.join("bin/python"));
    compile.arg(kernels.join("build_ptx.py")).arg(find(&tools, "libnvrtc.so.12")?).arg(kernels.join("cuda")).arg(&made);
    done(&mut compile)?;
    let figures = figures(&find(&tools, "ptxas")?, &made, &scratch)?;
    let there =
        [(kernels.join("ptx/kernels.ptx"), std::fs::read_to_string(&made)?), (kernels.join("ptx/registers.txt"), figures)];
    for (path, text) in there {
        if !check {
            std::fs::write(&path, text)?;
            continue;
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        ensure!(kept == text, "{} is not what its sources give; write it anew: cargo xtask ptx", path.display());
    }
    say(if check { "The kernels' PTX is what their sources give." } else { "Wrote kernels/ptx." });
    Ok(())
}

/// What each kernel takes on each kind of card: registers of a thread, bytes spilled to memory and read back.
fn figures(assembler: &Path, ptx: &Path, scratch: &Path) -> anyhow::Result<String> {
    let mut table: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut spilled = Vec::new();
    for architecture in ARCHITECTURES {
        let assembled = Command::new(assembler)
            .args(["-v", &format!("-arch=sm_{architecture}")])
            .arg(ptx)
            .arg("-o")
            .arg(scratch.join(format!("kernels.sm_{architecture}.cubin")))
            .output()
            .context("cannot run ptxas")?;
        let said = String::from_utf8_lossy(&assembled.stderr).into_owned();
        ensure!(assembled.status.success(), "the PTX does not assemble for sm_{architecture}: {said}");
        // A kernel's own line comes first, then what it and the functions that it calls need.
        let mut kernel = None;
        for line in said.lines() {
            if let Some(name) = line.split('\'').nth(1).filter(|_| line.contains("Compiling entry function")) {
                kernel = Some(name.to_owned());
            }
            let Some(name) = &kernel else { continue };
            if let Some(bytes) = line.split(',').find(|part| part.contains("bytes spill stores"))
                && !bytes.trim().starts_with("0 ")
            {
                spilled.push(format!("{name} on sm_{architecture}: {}", bytes.trim()));
            }
            if let Some(registers) = line.split("Used ").nth(1).and_then(|rest| rest.split(' ').next()) {
                table.entry(name.clone()).or_default().push(registers.to_owned());
            }
        }
    }
    let mut text =
        String::from("# Registers of a thread by kernel and kind of card (ptxas 12.9). Written by `cargo xtask ptx`.\n");
    let head: Vec<String> = ARCHITECTURES.iter().map(|it| format!("sm_{it}")).collect();
    writeln!(text, "{:<24}{}", "kernel", head.iter().map(|it| format!("{it:>8}")).collect::<String>())?;
    for (kernel, registers) in &table {
        ensure!(registers.len() == ARCHITECTURES.len(), "{kernel} was not told of on every kind of card");
        writeln!(text, "{kernel:<24}{}", registers.iter().map(|it| format!("{it:>8}")).collect::<String>())?;
    }
    let spills = if spilled.is_empty() { "none".to_owned() } else { spilled.join("; ") };
    writeln!(text, "spilled: {spills}")?;
    if !spilled.is_empty() {
        bail!("registers are spilled: {spills}");
    }
    Ok(text)
}

/// A file below a folder, by name.
fn find(folder: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let mut folders = vec![folder.to_owned()];
    while let Some(path) = folders.pop() {
        for entry in std::fs::read_dir(&path).with_context(|| format!("cannot read {}", path.display()))? {
            let path = entry?.path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else if path.file_name().is_some_and(|file| file == name) {
                return Ok(path);
            }
        }
    }
    bail!("{name} is not in {}", folder.display())
}
