//! `dwellctl bench`: a card measured, checked and predicted from.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};
use dwell_commands::benchmark::card;
use dwell_commands::benchmark::device::{Device, Real};
use dwell_commands::benchmark::predict::HostFigures;
use dwell_commands::benchmark::run::{self, Depth, Gravity, Progress, Record};
use dwell_commands::benchmark::simulated::{NAMES, Simulated};
use dwell_commands::this_host;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use crate::args::{Args, BenchCommand, BenchRun};
use crate::print::{self, clean, out, remark};

/// A record is smaller than this, bytes.
const RECORD_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Something is wrong with the card.
const BAD: u8 = 1;

pub(crate) fn run(args: &Args, wanted: &BenchRun, command: Option<&BenchCommand>) -> anyhow::Result<ExitCode> {
    match command {
        Some(BenchCommand::Cards) => cards(args),
        Some(BenchCommand::Compare { one, other }) => compare(args, one, other),
        Some(BenchCommand::Check) => check(args, wanted),
        None => benchmark(args, wanted),
    }
}

/// The card that is wanted, and the host that it is in as far as that is known.
fn device(wanted: &BenchRun) -> anyhow::Result<(Box<dyn Device>, HostFigures)> {
    let Some(name) = &wanted.simulate else {
        let real = Real::open(wanted.device).context("no card can be measured here (try --simulate rtx-4090)")?;
        return Ok((Box::new(real), this_host()));
    };
    let Some(simulated) = Simulated::named(name) else {
        let names: Vec<&str> = NAMES.iter().map(|(name, ..)| *name).collect();
        bail!("no simulated card is called {name:?}; there are: {}", names.join(", "));
    };
    // Its host is not simulated: the prediction says that it is left out.
    Ok((Box::new(simulated), HostFigures::default()))
}

fn cards(args: &Args) -> anyhow::Result<ExitCode> {
    let real = card::cards();
    if args.json {
        let simulated: Vec<Value> = NAMES.iter().map(|(name, model, ..)| json!({ "name": name, "model": model })).collect();
        let error = real.as_ref().err().map(ToString::to_string);
        print::json(&json!({ "real": real.ok(), "error": error, "simulated": simulated }), true)?;
        return Ok(ExitCode::SUCCESS);
    }
    match real {
        Ok(count) => out(&format!("cards in this machine: {count}")),
        Err(error) => out(&format!("no card can be measured here: {error}")),
    }
    out("simulated:");
    NAMES.iter().for_each(|(name, model, ..)| out(&format!("  {name:<14} {model}")));
    Ok(ExitCode::SUCCESS)
}

fn check(args: &Args, wanted: &BenchRun) -> anyhow::Result<ExitCode> {
    let (mut device, _) = device(wanted)?;
    let outcomes: Vec<(String, Option<String>)> =
        run::checks().into_iter().map(|test| (test.title(), device.check(test).err().map(|fault| fault.to_string()))).collect();
    let failed = outcomes.iter().filter(|(_, fault)| fault.is_some()).count();
    if args.json {
        let checks: Vec<Value> = outcomes.iter().map(|(title, fault)| json!({ "check": title, "fault": fault })).collect();
        print::json(&json!({ "card": device.identity(), "checks": checks }), true)?;
    } else {
        out(&clean(&device.identity().name));
        for (title, fault) in &outcomes {
            out(&format!(
                "{} {title}{}",
                if fault.is_some() { "LOOK" } else { "ok  " },
                fault.as_ref().map_or_else(String::new, |fault| format!(": {fault}"))
            ));
        }
    }
    Ok(ExitCode::from(if failed > 0 { BAD } else { 0 }))
}

fn benchmark(args: &Args, wanted: &BenchRun) -> anyhow::Result<ExitCode> {
    let (mut device, host) = device(wanted)?;
    let depth = match wanted.soak {
        Some(lasts) => Depth::Soak(lasts.as_secs_f64()),
        None if wanted.full => Depth::Full,
        None => Depth::Quick,
    };
    // Ctrl-C ends it at its next step, and what was measured until then is told; a second one ends the program.
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            told.store(true, Ordering::Relaxed);
        }
        if tokio::signal::ctrl_c().await.is_ok() {
            std::process::exit(130);
        }
    });
    // Hidden where standard error is no terminal.
    let style = ProgressStyle::with_template("{bar:30} {msg}").context("progress bar")?;
    let bar = ProgressBar::new(1).with_style(style);
    let mut tell_progress = |progress: &Progress| {
        bar.set_length(progress.of as u64);
        bar.set_position(progress.done as u64);
        bar.set_message(progress.what.clone());
        !stop.load(Ordering::Relaxed)
    };
    let record = tokio::task::block_in_place(|| run::run(device.as_mut(), depth, &host, &mut tell_progress));
    bar.finish_and_clear();
    if let Some(path) = &wanted.out {
        let text = serde_json::to_string_pretty(&record)?;
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
        remark(&format!("kept in {}", path.display()));
    }
    if args.json {
        print::json(&record, true)?;
    } else {
        tell(&record);
    }
    let is_bad = record.verdicts.iter().any(|verdict| verdict.gravity == Gravity::Bad);
    Ok(ExitCode::from(if is_bad { BAD } else { 0 }))
}

/// A rate with a prefix that keeps it readable.
fn rate(value: f64, unit: &str) -> String {
    let (factor, prefix) = match value {
        value if value >= 1e12 => (1e12, "T"),
        value if value >= 1e9 => (1e9, "G"),
        value if value >= 1e6 => (1e6, "M"),
        _ => (1e3, "k"),
    };
    // Operations are counted in thousands of millions a second: "G/s".
    match unit {
        "1/s" => format!("{:.1} {prefix}/s", value / factor),
        unit => format!("{:.1} {prefix}{unit}", value / factor)
            .replace("Gelements", "G elements")
            .replace("Melements", "M elements")
            .replace("Mpoints", "M points"),
    }
}

fn tell(record: &Record) {
    let card = &record.card;
    let driver = card.driver.as_deref().map_or_else(String::new, |driver| format!(", driver {}", clean(driver)));
    out(&format!("{}{}{driver}", if card.simulated { "SIMULATED: " } else { "" }, clean(&card.name)));
    match &record.prediction {
        Some(told) => out(&format!(
            "{:.0} proofs/h, from {:.0} to {:.0}; limited by {}",
            told.proofs_per_h,
            told.least,
            told.most,
            told.limit.as_str()
        )),
        None => out("no prediction: see below"),
    }
    for verdict in &record.verdicts {
        let mark = match verdict.gravity {
            Gravity::Bad => "BAD ",
            Gravity::Warning => "LOOK",
            Gravity::Note => "note",
        };
        out(&format!("{mark} {}", clean(&verdict.text)));
    }
    if record.verdicts.is_empty() {
        out("ok   every result was right, and nothing held it back");
    }
    let mut table = print::table(&["Test", "Median", "p10", "p90", "Runs", "Spread %", "Of the most %", "Clock MHz"]);
    for it in &record.measured {
        let number = |value: Option<f64>| value.map_or_else(|| "\u{2013}".to_owned(), |value| format!("{value:.0}"));
        table.add_row([
            it.title.clone(),
            rate(it.median, it.unit),
            rate(it.p10, it.unit),
            rate(it.p90, it.unit),
            it.runs.to_string(),
            format!("{:.2}", it.spread_percent),
            number(it.of_most.map(|share| share * 100.0)),
            number(it.clock_mhz),
        ]);
    }
    out(&format!("\n{table}"));
    if let Some(told) = &record.prediction {
        out("\nSeconds a proof, if it were alone in the way");
        told.parts.iter().for_each(|(limit, seconds)| out(&format!("  {seconds:>6.0} s  {}", limit.as_str())));
        if !told.left_out.is_empty() {
            out(&format!("Not told, and so not in it: {}.", told.left_out.join(", ")));
        }
    }
    if let (Some(first), Some(last)) = (record.soak.first(), record.soak.last()) {
        out(&format!("\nSoak: {:.0} s, the last window at {:.0} % of the first", last.0, last.1 / first.1 * 100.0));
    }
    if record.cancelled {
        remark("it was broken off: the figures are of what was measured until then");
    }
}

fn record(path: &Path) -> anyhow::Result<Value> {
    let size = std::fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?.len();
    anyhow::ensure!(size <= RECORD_BYTES_MAX, "{} is no record: it has {size} bytes", path.display());
    let value: Value =
        serde_json::from_str(&std::fs::read_to_string(path)?).with_context(|| format!("{} is no record", path.display()))?;
    anyhow::ensure!(value["version"].is_u64() && value["measured"].is_array(), "{} is no record", path.display());
    Ok(value)
}

fn compare(args: &Args, one: &Path, other: &Path) -> anyhow::Result<ExitCode> {
    let (one, other) = (record(one)?, record(other)?);
    for field in ["version", "kernels"] {
        anyhow::ensure!(
            one[field] == other[field],
            "the two were measured with different kernels ({} and {}): their figures are not comparable",
            one[field],
            other[field]
        );
    }
    let median = |of: &Value, title: &Value| -> Option<f64> {
        of["measured"].as_array()?.iter().find(|it| it["title"] == *title)?["median"].as_f64()
    };
    let mut rows = Vec::new();
    for it in one["measured"].as_array().into_iter().flatten() {
        let (Some(here), Some(there)) = (it["median"].as_f64(), median(&other, &it["title"])) else { continue };
        rows.push((it["title"].clone(), it["unit"].clone(), here, there));
    }
    if args.json {
        let rows: Vec<Value> = rows
            .iter()
            .map(|(title, unit, one, other)| json!({ "test": title, "unit": unit, "one": one, "other": other, "ratio": other / one }))
            .collect();
        print::json(&rows, true)?;
        return Ok(ExitCode::SUCCESS);
    }
    let name = |of: &Value| clean(of["card"]["name"].as_str().unwrap_or("a card"));
    let mut table = print::table(&["Test", &name(&one), &name(&other), "Ratio"]);
    for (title, unit, here, there) in &rows {
        let unit = unit.as_str().unwrap_or_default();
        table.add_row([
            clean(title.as_str().unwrap_or_default()),
            rate(*here, unit),
            rate(*there, unit),
            format!("{:.2}", there / here),
        ]);
    }
    out(&table.to_string());
    Ok(ExitCode::SUCCESS)
}
