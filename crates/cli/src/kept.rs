//! What is kept: charts, figures, search, export, import.

use std::process::ExitCode;

use anyhow::Context;
use dwell_commands::dto::*;
use dwell_commands::words::duration;
use dwell_commands::{Archive, ChartForm, ExportTable, Folder, TableForm, files};
use serde_json::json;

use crate::args::{Args, ChartArgs, HistoryCommand, SimulatedArchive};
use crate::list::{Form, List};
use crate::print::{self, clean, local, out, remark};
use crate::run::{known, scenario};

/// Rows of a chart's numbers that are printed; more are joined, or read from a file.
const ROWS: usize = 40;

fn archive(args: &Args, simulated: &SimulatedArchive) -> anyhow::Result<Archive> {
    match &simulated.simulate {
        Some(name) => Ok(Archive::simulated(scenario(name)?, simulated.seed, simulated.lasts)?),
        None => Ok(Archive::open(&Folder::find(args.data_dir.clone())?, args.manager.as_deref())?),
    }
}

pub(crate) fn chart(args: &Args, wanted: &ChartArgs) -> anyhow::Result<ExitCode> {
    let archive = archive(args, &wanted.simulated)?;
    let Some(name) = &wanted.name else {
        let list = archive.charts()?;
        if args.json {
            print::json(&list, true)?;
            return Ok(ExitCode::SUCCESS);
        }
        for chart in &list.charts {
            let by = if chart.by.is_empty() { String::new() } else { format!("  --by {}", chart.by[1..].join("|")) };
            out(&format!("{:<17} {}{by}\n{:<17} {}", chart.name, chart.title, "", chart.about));
        }
        match list.begins {
            Some(begins) => out(&format!("\nHistory begins {} and takes {:.1} MB.", local(begins), list.history_bytes / 1e6)),
            None => out("\nNothing has been kept of this fleet yet."),
        }
        return Ok(ExitCode::SUCCESS);
    };
    let request = ChartRequest {
        name: name.clone(),
        last_s: None,
        since: wanted.during.since,
        until: wanted.during.until,
        by: wanted.by.clone(),
        state: Some(wanted.state.clone()),
        instance: wanted.instance.clone(),
        width: wanted.width,
        height: wanted.height,
        dark: wanted.dark,
    };
    if let Some(path) = &wanted.out {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let form = ChartForm::named(ending)
            .with_context(|| format!("{}: give it a name that ends in .svg, .png, .csv or .json", path.display()))?;
        let bytes = archive.chart_file(&request, form)?;
        files::write_output(path, &bytes).with_context(|| format!("cannot write {}", path.display()))?;
        if args.json {
            print::json(&json!({ "path": path, "bytes": bytes.len() }), true)?;
        } else {
            remark(&format!("wrote {}", path.display()));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let view = archive.chart(&request)?;
    if args.json {
        print::json(&view, true)?;
        return Ok(ExitCode::SUCCESS);
    }
    tell(&view);
    Ok(ExitCode::SUCCESS)
}

fn tell(view: &ChartView) {
    out(&format!("{}, {} to {}", clean(&view.title), local(view.since), local(view.until)));
    out(&clean(&view.sentence));
    if !view.readings.is_empty() {
        let head: Vec<String> = std::iter::once(String::new()).chain(view.columns.iter().map(|name| clean(name))).collect();
        let mut table = List::new(head);
        // Every so manieth: the shape is seen, and -o has them all.
        let step = view.readings.len().div_ceil(ROWS);
        for reading in view.readings.iter().step_by(step) {
            table.add_row(std::iter::once(&reading.label).chain(&reading.cells).map(|cell| clean(cell)));
        }
        out("");
        table.show(Form::default());
        if step > 1 {
            out(&format!("One of {step} steps is shown; all of them: -o numbers.csv"));
        }
    }
    out("");
    for note in &view.notes {
        out(&clean(note));
    }
}

pub(crate) fn history(args: &Args, command: &HistoryCommand) -> anyhow::Result<ExitCode> {
    match command {
        HistoryCommand::Query { during, by, simulated } => {
            let summary = archive(args, simulated)?.summary((during.since, during.until), by)?;
            if args.json {
                print::json(&summary, true)?;
            } else {
                figures(&summary);
            }
        }
        HistoryCommand::Search { words, instance, source, during, limit, simulated } => {
            // What the shell took for one word is meant as it is.
            let quoted =
                |word: &String| if word.contains(' ') { format!("\"{}\"", word.replace('"', " ")) } else { word.clone() };
            let request = SearchLogs {
                words: words.iter().map(quoted).collect::<Vec<_>>().join(" "),
                instance: instance.clone(),
                source: source.clone(),
                since: during.since,
                until: during.until,
                before: None,
                limit: Some(*limit),
            };
            let archive = archive(args, simulated)?;
            // An instance may call a source whatever it likes.
            if let Some(source) = source.as_ref().filter(|source| archive.has_source(source).is_ok_and(|has| !has)) {
                known(ErrorCode::UnknownSource, "source of a log", source, dwell_commands::LOG_SOURCES.into_iter())?;
            }
            found(args, &archive, request)?;
        }
        HistoryCommand::Export { table: name, out: path, during, simulated } => {
            let table = ExportTable::named(name).with_context(|| {
                let known: Vec<&str> = ExportTable::ALL.into_iter().map(ExportTable::as_str).collect();
                format!("history has no {name:?}; it has {}", known.join(", "))
            })?;
            let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
            let form = TableForm::named(ending)
                .with_context(|| format!("{}: give it a name that ends in .csv, .jsonl or .parquet", path.display()))?;
            let archive = archive(args, simulated)?;
            let file = files::create_new_output(path).with_context(|| format!("cannot write {}", path.display()))?;
            let rows = archive.export(table, (during.since, during.until), form, file)?;
            if args.json {
                print::json(&json!({ "path": path, "rows": rows }), true)?;
            } else {
                remark(&format!("wrote {rows} {} to {}", table.as_str(), path.display()));
            }
        }
        HistoryCommand::Import { file } => {
            let it = Archive::import(&Folder::find(args.data_dir.clone())?, file)?;
            if args.json {
                let told = json!({
                    "fleets": it.fleets, "instances": it.instances, "transitions": it.transitions, "gauges": it.gauges,
                    "flags": it.flags, "log_lines": it.lines, "notes": it.notes, "answers": it.answers,
                });
                print::json(&told, true)?;
            } else if it == dwell_commands::Imported::default() {
                out("Nothing new: all of it is here already.");
            } else {
                out(&format!(
                    "Joined: {} instances, {} changes of state, {} readings of gauges, {} flags, {} log lines, {} notes, {} answers.",
                    it.instances, it.transitions, it.gauges, it.flags, it.lines, it.notes, it.answers
                ));
            }
        }
        HistoryCommand::Fleets => {
            let fleets = Archive::fleets(&Folder::find(args.data_dir.clone())?)?;
            if args.json {
                let told: Vec<_> = fleets
                    .iter()
                    .map(|(address, simulated, last)| json!({ "address": address, "simulated": simulated, "last_watched_at": last }))
                    .collect();
                print::json(&json!({ "fleets": told }), true)?;
            } else if fleets.is_empty() {
                out("Nothing has been kept yet.");
            } else {
                for (address, simulated, last) in fleets {
                    let last = last.map_or_else(|| "never watched".to_owned(), |at| format!("last watched {}", local(at)));
                    out(&format!("{}  {last}{}", clean(&address), if simulated { "  SIMULATED" } else { "" }));
                }
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn figures(summary: &HistorySummary) {
    out(&format!("{} to {}, watched for {} of it.", local(summary.since), local(summary.until), duration(summary.watched_s)));
    if summary.groups.is_empty() {
        out("There was no instance in this time.");
        return;
    }
    let money =
        |value: Option<f64>, decimals: usize| value.map_or_else(|| "\u{2013}".to_owned(), |value| format!("{value:.decimals$}"));
    let mut table = List::new([
        summary.by.as_str(),
        "instances",
        "proofs/h",
        "$/h",
        "waiting $/h",
        "$/proof",
        "rented",
        "got running",
        "half within",
        "killed",
    ]);
    for row in &summary.groups {
        table.add_row([
            clean(&row.group),
            row.instances.to_string(),
            money(row.proofs_per_h, 1),
            money(row.dollars_per_h, 3),
            money(row.waiting_dollars_per_h, 3),
            money(row.dollars_per_proof, 4),
            row.rented.to_string(),
            row.got_running.to_string(),
            row.until_running_median_s.map_or_else(|| "\u{2013}".to_owned(), duration),
            row.killed.to_string(),
        ]);
    }
    table.show(Form::default());
    let not_told: usize = summary.groups.iter().map(|row| row.not_told).sum();
    if not_told > 0 {
        out(&format!("Price or benchmark rate of {not_told} was not told: the sums are too low by these."));
    }
    out("Means over what was watched. Proofs are by each instance's own benchmark, not counted.");
}

fn found(args: &Args, archive: &Archive, mut request: SearchLogs) -> anyhow::Result<()> {
    let wanted = request.limit.unwrap_or(0);
    let mut all: Vec<FoundLog> = Vec::new();
    // A search looks at so many lines at a time: it is told, and goes on.
    let looked_back_to = loop {
        let found = archive.search(&request)?;
        all.extend(found.lines);
        match found.go_on_before {
            Some(before) if all.len() < wanted => (request.before, request.limit) = (Some(before), Some(wanted - all.len())),
            more => break more,
        }
    };
    if args.json {
        return print::json(&FoundLogs { lines: all, go_on_before: looked_back_to }, true);
    }
    for line in &all {
        let whose = line.instance.as_deref().map_or("manager", |id| id.split('-').next().unwrap_or(id));
        out(&format!("{}  {}  {}  {}", local(line.at), clean(whose), clean(&line.source), clean(&line.text)));
    }
    match (all.is_empty(), looked_back_to) {
        (true, _) => remark("no line that is kept holds these words"),
        (false, Some(_)) => remark("there may be older ones: ask for more with -n"),
        (false, None) => {}
    }
    Ok(())
}
