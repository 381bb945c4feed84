//! `dwellctl bench`: cards measured, checked and predicted from.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};
use dwell_commands::benchmark::batch::{Batch, batch};
use dwell_commands::benchmark::calibrate::{Estimate, of_cards};
use dwell_commands::benchmark::card;
use dwell_commands::benchmark::device::{Fault, Identity, Reading, Which};
use dwell_commands::benchmark::external::external;
use dwell_commands::benchmark::predict::Prediction;
use dwell_commands::benchmark::published;
use dwell_commands::benchmark::run::{self, Depth, Progress, Record};
use dwell_commands::benchmark::simulated::NAMES;
use dwell_commands::benchmark::verdicts::Gravity;
use dwell_commands::benchmark::work::rate;
use dwell_commands::{BenchForm, Theme, bench_file, now, this_host};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use crate::args::{Args, BenchCommand, BenchRun};
use crate::list::{Form, List};
use crate::print::{self, clean, out, remark};
use crate::vast::{rates, tell_fleet};

/// A record is smaller than this, bytes.
const RECORD_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Something is wrong with a card.
const BAD: u8 = 1;

pub(crate) async fn run(args: &Args, wanted: &BenchRun, command: Option<&BenchCommand>) -> anyhow::Result<ExitCode> {
    match command {
        Some(BenchCommand::Cards) => tokio::task::block_in_place(|| cards(args)),
        Some(BenchCommand::Compare { one, other }) => compare(args, one, other),
        Some(BenchCommand::Published) => tell_published(args),
        Some(BenchCommand::Check) => tokio::task::block_in_place(|| check(args, wanted)),
        None => benchmark(args, wanted).await,
    }
}

/// The cards that are wanted.
fn which(wanted: &BenchRun) -> anyhow::Result<Vec<Which>> {
    let without = "no card can be measured here (try --simulate rtx-4090)";
    Ok(if !wanted.simulate.is_empty() {
        wanted.simulate.iter().cloned().map(Which::Simulated).collect()
    } else if wanted.all {
        let count = card::cards().context(without)?;
        anyhow::ensure!(count > 0, without);
        (0..count).map(Which::Number).collect()
    } else {
        card::cards().context(without)?;
        wanted.device.iter().copied().map(Which::Number).collect()
    })
}

/// A card in a line: what it is, and how it does now.
fn in_words(card: &Identity, reading: &Reading) -> String {
    let mut parts = vec![clean(&card.name)];
    parts.extend(card.memory_bytes.map(|bytes| format!("{:.0} GiB", bytes as f64 / 2_f64.powi(30))));
    parts.extend(card.driver.as_deref().map(|driver| format!("driver {}", clean(driver))));
    parts.extend(reading.link_generation.zip(reading.link_width).map(|((generation, _), (lanes, most))| {
        // A link at rest tells a lower generation.
        format!("PCIe {generation} now, {lanes} of {most} lanes")
    }));
    parts.extend(reading.temperature_c.map(|degrees| format!("{degrees:.0} \u{b0}C")));
    parts.extend(reading.power_w.zip(reading.power_limit_w).map(|(now, most)| format!("{now:.0} of {most:.0} W")));
    parts.extend(reading.others.filter(|others| *others > 0).map(|others| format!("{others} other processes on it")));
    parts.extend(card.uuid.as_deref().map(clean));
    parts.join(", ")
}

fn cards(args: &Args) -> anyhow::Result<ExitCode> {
    let found = card::cards();
    let real: Vec<Result<(Identity, Value, String), String>> = (0..*found.as_ref().unwrap_or(&0))
        .map(|number| {
            let mut device = Which::Number(number).open().map_err(|error| error.to_string())?;
            let (card, reading) = (device.identity(), device.reading());
            let words = in_words(&card, &reading);
            let told = json!({ "card": card, "now": reading, "health": device.health() });
            Ok((card, told, words))
        })
        .collect();
    let error = found.as_ref().err().map(ToString::to_string);
    if args.json {
        let simulated: Vec<Value> = NAMES.iter().map(|(name, model, ..)| json!({ "name": name, "model": model })).collect();
        let cards: Vec<Value> =
            real.into_iter().map(|card| card.map_or_else(|error| json!({ "error": error }), |(_, told, _)| told)).collect();
        print::json(&json!({ "real": found.ok(), "cards": cards, "error": error, "simulated": simulated }), true)?;
        return Ok(ExitCode::SUCCESS);
    }
    match error {
        Some(error) => out(&format!("no card can be measured here: {error}")),
        None => out(&format!("cards in this machine: {}", real.len())),
    }
    for (number, card) in real.iter().enumerate() {
        match card {
            Ok((_, _, words)) => out(&format!("  {number}  {words}")),
            Err(error) => out(&format!("  {number}  {}", clean(error))),
        }
    }
    out("simulated:");
    NAMES.iter().for_each(|(name, model, ..)| out(&format!("  {name:<14} {model}")));
    Ok(ExitCode::SUCCESS)
}

fn check(args: &Args, wanted: &BenchRun) -> anyhow::Result<ExitCode> {
    let mut failed = 0;
    let mut told = Vec::new();
    for which in which(wanted)? {
        let mut device = which.open()?;
        let card = device.identity();
        if !args.json {
            out(&clean(&card.name));
        }
        let mut checks = Vec::new();
        for test in run::checks(&card) {
            let fault = device.check(test).err();
            let is_lost = matches!(fault, Some(Fault::Lost(_)));
            let fault = fault.map(|fault| fault.to_string());
            failed += usize::from(fault.is_some());
            if !args.json {
                let (mark, words) = match &fault {
                    Some(fault) => ("LOOK", format!(": {}", clean(fault))),
                    None => ("ok  ", String::new()),
                };
                out(&format!("{mark} {}{words}", test.title()));
            }
            checks.push(json!({ "check": test.title(), "fault": fault }));
            if is_lost {
                break;
            }
        }
        told.push(json!({ "card": card, "checks": checks, "xids": device.xids() }));
    }
    if args.json {
        print::json(&json!({ "cards": told }), true)?;
    }
    Ok(ExitCode::from(if failed > 0 { BAD } else { 0 }))
}

/// Breaks off what runs, at Ctrl-C; a second one ends the program.
fn stop_at_ctrl_c() -> Arc<AtomicBool> {
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
    stop
}

async fn benchmark(args: &Args, wanted: &BenchRun) -> anyhow::Result<ExitCode> {
    let cards = which(wanted)?;
    let depth = match wanted.soak {
        Some(lasts) => Depth::Soak(lasts.as_secs_f64()),
        None if wanted.full => Depth::Full,
        None => Depth::Quick,
    };
    let forms = wanted.out.iter().map(|path| Ok((path, form_of(path)?))).collect::<anyhow::Result<Vec<_>>>()?;
    let stop = stop_at_ctrl_c();
    // Hidden where standard error is no terminal.
    let style = ProgressStyle::with_template("{bar:30} {msg}").context("progress bar")?;
    let bar = ProgressBar::new(1).with_style(style);
    let tell_progress = |place: usize, progress: &Progress| {
        let which = if cards.len() > 1 { format!("card {} of {}: ", place + 1, cards.len()) } else { String::new() };
        let hot = progress.reading.and_then(|reading| reading.temperature_c);
        let degrees = hot.map_or_else(String::new, |degrees| format!(", {degrees:.0} \u{b0}C"));
        bar.set_length(progress.of as u64);
        bar.set_position(progress.done as u64);
        bar.set_message(format!("{which}{}{degrees}", progress.what));
        !stop.load(Ordering::Relaxed)
    };
    let mut batch = tokio::task::block_in_place(|| batch(&cards, wanted.together, depth, &this_host(), &tell_progress))?;
    if wanted.external && !stop.load(Ordering::Relaxed) {
        let mut goes_on = |line: Option<&str>| {
            if let Some(line) = line {
                bar.set_message(clean(line).chars().take(80).collect::<String>());
            }
            !stop.load(Ordering::Relaxed)
        };
        let told = tokio::task::block_in_place(|| external(&wanted.client, wanted.external_at_most, &mut goes_on));
        bar.finish_and_clear();
        // What was measured before it is told all the same.
        match told {
            Ok(told) => batch.records.iter_mut().for_each(|record| record.external = Some(told.clone())),
            Err(error) => remark(&format!("the prover's own client gave no figure: {}", clean(&error.to_string()))),
        }
    }
    bar.finish_and_clear();
    let observed = rates(args).await?;
    let fleet = |record: &Record| of_cards(&record.card.name, 1, &observed);
    for (path, form) in forms {
        for (place, record) in batch.records.iter().enumerate() {
            let path = if batch.records.len() > 1 { numbered(path, place) } else { path.clone() };
            let bytes = bench_file(record, fleet(record).as_ref(), now(), form, Theme::Light)?;
            dwell_commands::files::write_output(&path, &bytes).with_context(|| format!("cannot write {}", path.display()))?;
            remark(&format!("kept in {}", path.display()));
        }
    }
    match (args.json, batch.records.as_slice()) {
        (true, [record]) => print::json(record, true)?,
        (true, _) => print::json(&batch, true)?,
        (false, _) => tell_batch(&batch, &fleet),
    }
    let is_bad = batch.records.iter().flat_map(|record| &record.verdicts).any(|verdict| verdict.gravity == Gravity::Bad);
    Ok(ExitCode::from(if is_bad { BAD } else { 0 }))
}

/// The form that the end of a file's name asks for.
fn form_of(path: &Path) -> anyhow::Result<BenchForm> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match BenchForm::named(ending) {
        Some(form) => Ok(form),
        None => bail!("{} ends with none of .json, .md, .png and .svg", path.display()),
    }
}

/// `record.json` of the second card: `record-1.json`.
fn numbered(path: &Path, place: usize) -> PathBuf {
    let part = |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!("{}-{place}.{}", part(path.file_stem()), part(path.extension())))
}

fn tell_batch(batch: &Batch, fleet: &dyn Fn(&Record) -> Option<Estimate>) {
    for (place, record) in batch.records.iter().enumerate() {
        if place > 0 {
            out("");
        }
        tell(record, fleet(record).as_ref());
    }
    if batch.records.len() > 1 {
        let how = if batch.together { "measured at the same time" } else { "measured in turn" };
        match &batch.prediction {
            Some(told) => out(&format!("\nTogether in one host, {how}: {}", in_figures(told))),
            None => out("\nTogether: no prediction, because one of them has none"),
        }
    }
}

fn in_figures(told: &Prediction) -> String {
    let (best, least, most) = (told.proofs_per_h, told.least, told.most);
    format!("{best:.0} proofs/h, from {least:.0} to {most:.0}; limited by {}", told.limit.as_str())
}

fn tell(record: &Record, fleet: Option<&Estimate>) {
    let card = &record.card;
    let driver = card.driver.as_deref().map_or_else(String::new, |driver| format!(", driver {}", clean(driver)));
    let uuid = card.uuid.as_deref().map_or_else(String::new, |uuid| format!(", {}", clean(uuid)));
    out(&format!("{}{}{driver}{uuid}", if card.simulated { "SIMULATED: " } else { "" }, clean(&card.name)));
    match &record.prediction {
        Some(told) => out(&in_figures(told)),
        None => out("no prediction: see below"),
    }
    if let Some(it) = &record.external {
        let failed = if it.failed > 0 { format!(", {} failed", it.failed) } else { String::new() };
        out(&format!(
            "the prover's own client: {:.1} proofs/h here, {:.1} s a proof ({} proofs{failed})",
            it.proofs_per_h, it.seconds_a_proof, it.completed
        ));
    }
    if let Some(fleet) = fleet {
        tell_fleet(fleet);
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
    let mut table = List::new(["Test", "Median", "p10", "p90", "Runs", "Spread %", "Of the most %", "Clock MHz", "Held back"]);
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
            format!("{} of {}", it.held_back, it.looks),
        ]);
    }
    out("");
    table.show(Form::default());
    if let Some(told) = &record.prediction {
        out("\nSeconds a proof, if it were alone in the way");
        told.parts.iter().for_each(|(limit, seconds)| out(&format!("  {seconds:>6.0} s  {}", limit.as_str())));
        if !told.left_out.is_empty() {
            out(&format!("Not told, and so not in it: {}.", told.left_out.join(", ")));
        }
    }
    for it in &record.published {
        out(&format!(
            "{}: {:.2} ms here, {:.2} ms published ({}; {})",
            it.title,
            it.seconds * 1000.0,
            it.published_s * 1000.0,
            it.by,
            it.source
        ));
    }
    if let (Some(first), Some(last)) = (record.soak.first(), record.soak.last()) {
        out(&format!("\nSoak: {:.0} s, the last window at {:.0} % of the first", last.0, last.1 / first.1 * 100.0));
    }
    if record.cancelled {
        remark("it was broken off: the figures are of what was measured until then");
    }
}

fn tell_published(args: &Args) -> anyhow::Result<ExitCode> {
    if args.json {
        print::json(&json!({ "figures": published::FIGURES, "proofs": published::PROOFS }), true)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut figures = print::table(&["Card", "Test", "Time", "By", "Source"]);
    for it in published::FIGURES {
        figures.add_row([it.card, &it.test.title(), &format!("{:.3} ms", it.seconds * 1000.0), it.by, it.source]);
    }
    let mut proofs = print::table(&["Machine", "Seconds a proof", "Proofs/h", "What was timed", "Source"]);
    for it in published::PROOFS {
        proofs.add_row([it.machine, &format!("{:.1}", it.seconds), &format!("{:.0}", 3600.0 / it.seconds), it.what, it.source]);
    }
    out(&format!("Parts of a proof\n{figures}\n\nWhole proofs of a 32 GiB sector\n{proofs}"));
    remark("no table of this prover on many cards is public: its figures are all of one workstation");
    Ok(ExitCode::SUCCESS)
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
        print::json(&json!({ "tests": rows }), true)?;
        return Ok(ExitCode::SUCCESS);
    }
    let name = |of: &Value| clean(of["card"]["name"].as_str().unwrap_or("a card"));
    let mut table = List::new(["Test".to_owned(), name(&one), name(&other), "Ratio".to_owned()]);
    for (title, unit, here, there) in &rows {
        let unit = unit.as_str().unwrap_or_default();
        table.add_row([
            clean(title.as_str().unwrap_or_default()),
            rate(*here, unit),
            rate(*there, unit),
            format!("{:.2}", there / here),
        ]);
    }
    table.show(Form::default());
    Ok(ExitCode::SUCCESS)
}
