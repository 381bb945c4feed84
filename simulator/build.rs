//! Lists the scenario files, so that shipping one is adding a file.

#![allow(clippy::print_stdout, reason = "build scripts speak to cargo")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(&std::env::var("CARGO_MANIFEST_DIR")?).join("scenarios");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let mut text = format!("const SHIPPED: [(&str, &str); {}] = [\n", files.len());
    for file in &files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        writeln!(text, "    ({name:?}, include_str!({:?})),", file.display().to_string())?;
    }
    text.push_str("];\n");
    std::fs::write(Path::new(&std::env::var("OUT_DIR")?).join("shipped.rs"), text)?;
    Ok(())
}
