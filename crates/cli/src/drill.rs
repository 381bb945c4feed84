//! `dwellctl drill`: scenarios in virtual time, and what was said compared with the truth.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use dwell_commands::drill::{self, DrillInstance, DrillRun, DrillTotals};
use dwell_commands::scoring::{CauseScore, Found};
use dwell_commands::words::duration;
use dwell_commands::{FaultKind, Scenario, Value, fault_kinds, scenario_schema, shipped};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use crate::args::{Args, DrillCommand};
use crate::list::{Form, List};
use crate::print::{self, clean, out, remark};
use crate::run::scenario;

pub(crate) fn run(args: &Args, command: &DrillCommand) -> anyhow::Result<ExitCode> {
    match command {
        DrillCommand::Faults => faults(args)?,
        DrillCommand::Schema => out(scenario_schema().trim_end()),
        DrillCommand::Run { scenario: name, start } => {
            let scenario = scenario(name)?;
            let began = Instant::now();
            let run = drill::run(&scenario, start.seed.unwrap_or(scenario.seed));
            if args.json {
                print::json(&run, true)?;
            } else {
                tell_run(&scenario, &run);
            }
            tell_time(&run.totals, began.elapsed());
        }
        DrillCommand::Batch { scenarios, seeds, jobs, by_cause } => {
            let scenarios = gather(scenarios)?;
            let count = scenarios.len() as u64 * (seeds.end - seeds.start);
            // Hidden where standard error is no terminal.
            let bar = ProgressBar::new(count)
                .with_style(ProgressStyle::with_template("{bar:40} {pos}/{len} runs, {eta} to go").context("progress bar")?);
            let began = Instant::now();
            let batch = drill::batch(&scenarios, seeds.clone(), *jobs, || bar.inc(1)).context("cannot start threads")?;
            bar.finish_and_clear();
            if args.json {
                print::json(&batch, true)?;
            } else if *by_cause {
                tell_by_cause(&batch.totals);
            } else {
                for run in &batch.runs {
                    let totals = &run.totals;
                    out(&format!(
                        "{:<32} seed {:<5} noticed {}/{}  verdicts {}/{}  false alarms {}",
                        clean(&run.scenario),
                        run.seed,
                        totals.noticed,
                        totals.to_be_noticed,
                        totals.verdicts_right,
                        totals.verdicts_expected,
                        totals.false_alarms.values().sum::<usize>(),
                    ));
                }
                out("");
                tell_totals(&batch.totals);
            }
            tell_time(&batch.totals, began.elapsed());
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Scenarios by name, file or folder, in the order given; a folder's by name.
fn gather(names: &[String]) -> anyhow::Result<Vec<Scenario>> {
    if names.is_empty() {
        return Ok(shipped());
    }
    let mut scenarios = Vec::new();
    for name in names {
        let folder = Path::new(name);
        if !folder.is_dir() {
            scenarios.push(scenario(name)?);
            continue;
        }
        let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {name}"))?;
        let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
        files.sort();
        anyhow::ensure!(!files.is_empty(), "{name} holds no scenario files (*.toml)");
        for file in files {
            scenarios.push(Scenario::read(&file).map_err(dwell_commands::bad_scenario)?);
        }
    }
    Ok(scenarios)
}

fn usual(value: Value, unit: &str) -> String {
    match value {
        Value::Number(number) => format!("{number} {unit}"),
        Value::Flag(flag) => flag.to_string(),
        Value::Word(words) => words.join(" | "),
    }
}

fn faults(args: &Args) -> anyhow::Result<()> {
    if args.json {
        let one = |kind: &FaultKind| {
            let parameters: Vec<_> = kind
                .parameters
                .iter()
                .map(|parameter| {
                    let (usual, words) = match parameter.value {
                        Value::Number(number) => (json!(number), None),
                        Value::Flag(flag) => (json!(flag), None),
                        Value::Word(words) => (json!(words[0]), Some(words)),
                    };
                    json!({ "name": parameter.name, "unit": parameter.unit, "usual": usual, "words": words, "what": parameter.what })
                })
                .collect();
            json!({ "id": kind.id, "what": kind.what, "where": kind.place.as_str(), "parameters": parameters })
        };
        return print::json(&json!({ "faults": fault_kinds().map(one).collect::<Vec<_>>() }), true);
    }
    let mut table = print::table(&["Id", "What it does", "Where", "Parameters"]);
    for kind in fault_kinds() {
        let parameters: Vec<String> = kind
            .parameters
            .iter()
            .map(|parameter| {
                format!("{} = {} ({})", parameter.name, usual(parameter.value, parameter.unit).trim_end(), parameter.what)
            })
            .collect();
        table.add_row([kind.id, kind.what, kind.place.as_str(), &parameters.join("\n")]);
    }
    out(&table.to_string());
    Ok(())
}

fn tell_run(scenario: &Scenario, run: &DrillRun) {
    out(&format!("{} (seed {}), {} simulated", clean(&scenario.title), run.seed, duration(run.simulated_s)));
    let mut table = List::new(["Instance", "Truth", "Fault at", "Flagged at", "Said", "Expected", "Thought, after looking"]);
    let time = |seconds: Option<f64>| seconds.map_or_else(|| "\u{2013}".to_owned(), duration);
    for it in &run.instances {
        let id = it.id.clone().unwrap_or_else(|| format!("vast-{}", it.vast_id));
        let short = id.split('-').next().filter(|part| part.len() == 8).map_or(id.clone(), str::to_owned);
        let expected = it.expected.as_ref();
        table.add_row([
            clean(&short),
            if it.truth.is_empty() { "nothing".to_owned() } else { it.truth.join(", ") },
            time(it.fault_at_s),
            time(it.flagged_at_s),
            clean(&it.verdict),
            expected.map_or_else(|| "\u{2013}".to_owned(), |expected| expected.verdict.clone()),
            thought(it),
        ]);
    }
    table.show(Form::default());
    out("");
    tell_totals(&run.totals);
    for diagnosis in &scenario.diagnoses {
        let says: Vec<&str> = diagnosis.says.split_whitespace().collect();
        out(&format!("\nA perfect diagnosis: {}. {}", diagnosis.verdict(), says.join(" ")));
    }
}

/// What the latest investigation came to: the best cause, with those that nothing told apart from it.
fn thought(it: &DrillInstance) -> String {
    let Some(last) = it.investigations.last() else { return "\u{2013}".to_owned() };
    let first = last.causes.first().map_or_else(String::new, |cause| format!("{}: {}", cause.standing, cause.id));
    match last.group.len() {
        0 | 1 => first,
        more => format!("{first}, not told from {} more", more - 1),
    }
}

fn tell_totals(totals: &DrillTotals) {
    let delay = totals.median_delay_s.map_or_else(|| "\u{2013}".to_owned(), duration);
    out(&format!("noticed             {} of {} (median {delay} after the fault)", totals.noticed, totals.to_be_noticed));
    out(&format!("verdicts            {} of {} as expected", totals.verdicts_right, totals.verdicts_expected));
    let kinds: Vec<String> = totals.false_alarms.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    let rate = totals
        .false_alarms_per_1000_h
        .map_or_else(|| "no healthy hours".to_owned(), |rate| format!("{rate} in 1,000 healthy hours"));
    let kinds = if kinds.is_empty() { "none".to_owned() } else { kinds.join(", ") };
    out(&format!("false alarms        {kinds} ({rate})"));
    let it = &totals.diagnoses;
    if it.faulty + it.sound == 0 {
        return;
    }
    out(&format!(
        "causes              of {} investigations with a fault: {} first, {} in the first group, {} among three ({} in the first group before any look)",
        it.faulty, it.first, it.in_group, it.in_three, it.in_group_before
    ));
    out(&format!(
        "                    one cause told apart from all others in {}, right in {}; a tied group else, right in {}",
        it.told_apart,
        it.told_apart_right,
        it.in_group - it.told_apart_right
    ));
    out(&format!("                    of {} without one: {} not accused", it.sound, it.sound_right));
    out(&format!("confirmed           {}, of which {} wrong", it.confirmed, it.confirmed_wrong));
    let brier = it.brier.map_or_else(|| "\u{2013}".to_owned(), |brier| brier.to_string());
    let calibration: Vec<String> =
        it.calibration.iter().map(|(from, (said, right))| format!("{from} and up {right} of {said}")).collect();
    out(&format!("first cause right   by the probability given to it: {}", calibration.join(", ")));
    out(&format!("looks               {}; Brier score {brier} (0 is perfect, 2 the worst)", it.looks));
}

/// What the other channels add to the manager, cause by cause.
fn tell_by_cause(totals: &DrillTotals) {
    let scores = &totals.diagnoses.by_cause;
    let mut table = List::new([
        "True cause",
        "Looked into",
        "Manager alone: in the first group",
        "alone there",
        "causes left",
        "Every channel: in the first group",
        "alone there",
        "causes left",
    ]);
    let mut row = |name: &str, score: &CauseScore| {
        let left = |found: &Found| format!("{:.1}", found.candidates as f64 / score.count.max(1) as f64);
        table.add_row([
            name.to_owned(),
            score.count.to_string(),
            score.manager.in_group.to_string(),
            score.manager.alone.to_string(),
            left(&score.manager),
            score.all.in_group.to_string(),
            score.all.alone.to_string(),
            left(&score.all),
        ]);
    };
    let mut all = CauseScore::default();
    for (cause, score) in scores {
        row(cause, score);
        all.add(score);
    }
    row("all of them", &all);
    table.show(Form::default());
    out(
        "\"Causes left\" is the mean size of the first group: what nothing told apart. Fewer is better where the true one is in it.",
    );
}

/// Wall time goes to standard error: the output of a seed is the same to the byte.
fn tell_time(totals: &DrillTotals, passed: Duration) {
    let speed = totals.instance_h * 3600.0 / passed.as_secs_f64().max(1e-3);
    remark(&format!(
        "{:.2} s for {} runs, {:.0} instance-hours: {speed:.0} times real time",
        passed.as_secs_f64(),
        totals.runs,
        totals.instance_h
    ));
}
