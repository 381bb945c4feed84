//! `dwellctl probe`, and what the channels that are asked on purpose have answered.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use dwell_commands::dto::*;
use dwell_commands::words::duration;
use dwell_commands::{ApiError, App, Look, manager_answers};
use serde_json::json;

use crate::args::Args;
use crate::list::{Form, List};
use crate::print::{self, clean, local, out, remark};
use crate::vast;

/// A prover is asked no more often: each time the manager goes to its machine by SSH.
const FOLLOW_LEAST: Duration = Duration::from_secs(1);
/// Newest lines of a log file that are printed.
const TAIL_LINES: usize = 3;

pub(crate) struct Wanted<'a> {
    pub(crate) id: &'a str,
    pub(crate) show: bool,
    pub(crate) allow: bool,
    pub(crate) raw: bool,
}

pub(crate) async fn probe(
    args: &Args,
    mut look: Look,
    wanted: Wanted<'_>,
    vast_url: Option<&String>,
) -> anyhow::Result<ExitCode> {
    if wanted.show {
        // Who it is may be known from history alone.
        let read = look.read(None).await;
        let script = match look.probe_script(wanted.id) {
            Ok(script) => script,
            Err(error) => return Err(read.err().unwrap_or(error).into()),
        };
        if args.json {
            print::json(&script, true)?;
        } else {
            out(script.by_hand.as_ref().unwrap_or(&script.script));
            if script.by_hand.is_none() {
                let why = read.err().map_or_else(String::new, |error| format!(" ({})", error.message));
                remark(&format!("no address of it is known{}: this is the script alone", clean(&why)));
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    if wanted.allow {
        look = look.with_machines(App::new(args.data_dir.clone())?.folder());
    }
    // Without a key the address is the manager's.
    if let Some(client) = vast::client_if_any(args, None, vast_url).await? {
        look = look.with_vast(client);
    }
    look.read(Some(wanted.id)).await?;
    let page = look.probe(wanted.id).await?;
    if wanted.raw {
        let answers = look.raw_answers(wanted.id)?;
        let newest = answers.answers.into_iter().find(|answer| answer.channel == "ssh-probe");
        return self::answers(args, &RawAnswers { answers: newest.into_iter().collect() });
    }
    if args.json {
        print::json(&page, true)?;
    } else {
        for it in page.looks.iter().filter(|it| it.channel == "ssh-probe") {
            out(&clean(&it.summary));
        }
        page.machine.iter().for_each(machine);
        if let Some(it) = &page.prover {
            out("");
            prover(it);
        }
    }
    Ok(ExitCode::from(u8::from(page.machine.is_none())))
}

/// Answers as they came, each line made harmless.
pub(crate) fn answers(args: &Args, answers: &RawAnswers) -> anyhow::Result<ExitCode> {
    if args.json {
        print::json(answers, true)?;
    } else if answers.answers.is_empty() {
        remark("no check has been run on this instance yet: dwellctl diagnose ID --check, or dwellctl probe ID");
    }
    for answer in answers.answers.iter().filter(|_| !args.json) {
        out(&format!("== {} ({}), asked {}", clean(&answer.title), clean(&answer.channel), local(answer.at)));
        answer.text.lines().for_each(|line| out(&clean(line)));
        if answer.cut_bytes > 0 {
            out(&format!("== {} bytes more were cut off", answer.cut_bytes));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A number with its unit, or a dash.
fn told(value: Option<f64>, unit: &str) -> String {
    value.map_or_else(|| "\u{2013}".to_owned(), |value| format!("{value:.0}{unit}"))
}

fn machine(machine: &MachinePanel) {
    let mut facts = print::table(&["", "", "FROM"]);
    for fact in &machine.facts {
        facts.add_row(vec![fact.name.clone(), clean(fact.value.as_deref().unwrap_or("not told")), fact.source.clone()]);
    }
    out(&facts.to_string());
    out("\nCards");
    machine.smi.iter().for_each(|words| out(&format!("  {}", clean(words))));
    for card in &machine.cards {
        let throttled = card.throttled.as_deref().map_or_else(String::new, |why| format!(", clocks low: {}", clean(why)));
        out(&format!(
            "  {}: {}, {}, memory {} of {}, x{} lanes{throttled}",
            clean(&card.name),
            told(card.load_percent, " %"),
            told(card.temperature_c, " \u{b0}C"),
            told(card.memory_used_mib, ""),
            told(card.memory_mib, " MiB"),
            card.bus_width.map_or_else(|| "?".to_owned(), |width| width.to_string()),
        ));
    }
    out("\nProcesses");
    match &machine.processes {
        None => out("  not shown"),
        Some(processes) => {
            let mut table = print::table(&["PID", "PROGRAM", "STATE", "UP", "CPU", "MEMORY"]);
            for it in processes {
                let up_s = it.started_at.map(|started| machine.at.duration_since(started).as_secs_f64());
                table.add_row(vec![
                    it.pid.to_string(),
                    clean(&it.program),
                    clean(&it.state),
                    up_s.map_or_else(|| "\u{2013}".to_owned(), |up_s| duration(up_s.max(0.0))),
                    told(it.cpu_percent, " %"),
                    it.memory_gib.map_or_else(|| "\u{2013}".to_owned(), |gib| format!("{gib:.1} GiB")),
                ]);
            }
            out(&table.to_string());
        }
    }
    out("\nLog files");
    match &machine.files {
        None => out("  not shown"),
        Some(files) if files.is_empty() => out("  none of the known ones exist"),
        Some(files) => {
            for file in files {
                let age = file.modified_at.map_or_else(
                    || "age not told".to_owned(),
                    |at| format!("written {} ago", duration(machine.at.duration_since(at).as_secs_f64().max(0.0))),
                );
                let bytes = file.bytes.map_or_else(|| "size not told".to_owned(), |bytes| format!("{bytes} bytes"));
                out(&format!("  {} ({bytes}, {age})", clean(&file.path)));
                let skip = file.tail.len().saturating_sub(TAIL_LINES);
                file.tail.iter().skip(skip).for_each(|line| out(&format!("    {}", clean(line))));
            }
        }
    }
    if !machine.exits.is_empty() {
        out("\nEnded");
        machine.exits.iter().for_each(|line| out(&format!("  {}", clean(line))));
    }
    out("\nKernel log");
    match &machine.kernel {
        None => out("  may not be read: that is no sign of health"),
        Some(lines) if lines.is_empty() => out("  nothing about cards or memory"),
        Some(lines) => lines.iter().for_each(|line| out(&format!("  {}", clean(line)))),
    }
}

fn prover(prover: &ProverPanel) {
    out(&format!("Prover: {}", clean(&prover.answer)));
    for row in &prover.rows {
        out(&format!("  {:<24} {}", row.name, clean(row.value.as_deref().unwrap_or("not told"))));
        out(&format!("  {:<24}   {}", "", row.misleads));
    }
    for proof in &prover.proofs {
        let of = proof.of.map_or_else(|| "?".to_owned(), |of| of.to_string());
        out(&format!(
            "  proof {} {}: {} of {of} partitions done ({})",
            clean(&proof.job),
            clean(&proof.kind),
            proof.done,
            clean(&proof.states)
        ));
    }
    for worker in &prover.workers {
        let card = worker.card.map_or_else(|| "?".to_owned(), |card| card.to_string());
        out(&format!("  worker on card {card}: {}, {}", clean(&worker.state), told(worker.busy_s, " s at its partition")));
    }
}

/// `dwellctl prover ID`.
pub(crate) async fn ask_prover(args: &Args, mut look: Look, id: &str) -> anyhow::Result<ExitCode> {
    look.read(Some(id)).await?;
    let panel = look.prover(id).await?;
    if args.json {
        print::json(&panel, true)?;
    } else {
        prover(&panel);
    }
    Ok(ExitCode::from(u8::from(!panel.answered)))
}

/// `dwellctl prover ID --follow`: a line whenever something has changed, until it is ended. Who does not answer is asked on.
pub(crate) async fn follow_prover(
    args: &Args,
    mut look: Look,
    id: &str,
    every: Duration,
    lasts: Option<Duration>,
) -> anyhow::Result<ExitCode> {
    look.read(Some(id)).await?;
    let end = async {
        match lasts {
            Some(lasts) => tokio::time::sleep(lasts).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(end);
    let mut pace = tokio::time::interval(every.max(FOLLOW_LEAST));
    // A slow answer is waited for, and not made up for.
    pace.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let (mut told, mut failure, mut answered) = (None, None, false);
    loop {
        let panel = tokio::select! {
            _ = tokio::signal::ctrl_c() => break,
            () = &mut end => break,
            panel = async { pace.tick().await; look.prover(id).await } => panel,
        };
        match panel {
            Ok(panel) => {
                if failure.take().is_some() {
                    remark("the manager answers again");
                }
                answered |= panel.answered;
                if args.json {
                    print::json(&panel, false)?;
                } else {
                    let line = in_a_line(&panel);
                    if told.as_ref() != Some(&line) {
                        out(&format!("{}  {line}", local(panel.at)));
                        told = Some(line);
                    }
                }
            }
            Err(error) => {
                if failure.as_ref() != Some(&error.message) {
                    remark(&format!("{}; asking on", clean(&error.message)));
                    failure = Some(error.message);
                }
            }
        }
    }
    Ok(ExitCode::from(u8::from(!answered)))
}

/// What a prover does, in a line that changes when that does: without times that tick by themselves.
fn in_a_line(panel: &ProverPanel) -> String {
    if !panel.answered {
        return clean(&panel.answer);
    }
    let proofs = panel.proofs.iter().map(|proof| {
        let of = proof.of.map_or_else(|| "?".to_owned(), |of| of.to_string());
        let states = if proof.states.is_empty() { String::new() } else { format!(" ({})", clean(&proof.states)) };
        format!("proof {} {}: {}/{of} partitions{states}", clean(&proof.job), clean(&proof.kind), proof.done)
    });
    let workers = panel.workers.iter().map(|worker| {
        let card = worker.card.map_or_else(|| "?".to_owned(), |card| card.to_string());
        format!("card {card} {}", clean(&worker.state))
    });
    let counts = [("completed", panel.completed), ("failed", panel.failed), ("waiting", panel.waiting)];
    let counts =
        counts.into_iter().map(|(name, count)| format!("{name} {}", count.map_or_else(|| "?".to_owned(), |it| it.to_string())));
    let parts: Vec<String> = proofs.chain(workers).chain(counts).collect();
    parts.join(" · ")
}

/// `dwellctl bad-hosts`: the manager's own list, the newest first.
pub(crate) async fn bad_hosts(args: &Args, look: &Look) -> anyhow::Result<ExitCode> {
    let manager = look.manager().context("a fleet without a manager has no list of bad hosts")?;
    let mut hosts = manager.bad_hosts().await.map_err(ApiError::from)?;
    hosts.sort_by(|one, other| other.added_at.cmp(&one.added_at).then_with(|| one.machine_id.cmp(&other.machine_id)));
    if args.json {
        // The manager's own names: what it did not say is null.
        let told: Vec<_> = hosts
            .iter()
            .map(|host| json!({ "machine_id": host.machine_id, "reason": host.reason, "added_at": host.added_at }))
            .collect();
        print::json(&json!({ "bad_hosts": told }), true)?;
    } else if hosts.is_empty() {
        out("the manager's list of bad hosts is empty");
    } else {
        let mut list = List::new(["MACHINE", "SINCE", "REASON"]);
        for host in &hosts {
            list.add_row([
                clean(host.machine_id.as_deref().unwrap_or("unknown")),
                host.added_at.map_or_else(|| "unknown".to_owned(), local),
                clean(host.reason.as_deref().unwrap_or("unknown")),
            ]);
        }
        list.show(Form::default());
    }
    Ok(ExitCode::SUCCESS)
}

/// Nothing is saved of a manager that does not answer, unless that is meant.
pub(crate) async fn answers_first(args: &Args, url: &str, ssh: Option<&str>, force: bool) -> anyhow::Result<()> {
    match manager_answers(url.trim(), ssh, args.within).await {
        Ok(()) => Ok(()),
        Err(error) if force && error.code != ErrorCode::BadAddress => {
            remark(&format!("{}: {}; saved all the same", error.code, clean(&error.message)));
            Ok(())
        }
        Err(error) => {
            remark("nothing was saved: the manager did not answer (--force saves it all the same)");
            Err(error.into())
        }
    }
}

/// `dwellctl connect`: looked at, and saved where it answers. A saved fleet by its name becomes the one that is watched.
pub(crate) async fn connect(
    args: &Args,
    url: &str,
    ssh: Option<String>,
    name: Option<String>,
    force: bool,
) -> anyhow::Result<ExitCode> {
    let app = App::new(args.data_dir.clone())?;
    let saved = app.fleets(Nothing {}).await?.saved.into_iter().find(|fleet| fleet.name == url);
    let fleets = match saved {
        Some(saved) => {
            answers_first(args, &saved.address, ssh.as_deref().or(saved.ssh.as_deref()), force).await?;
            app.watch_saved(FleetName { name: saved.name }).await?
        }
        None => {
            // A word that is neither: what is saved is named.
            Look::meant(url, args.data_dir.clone())?;
            answers_first(args, url, ssh.as_deref(), force).await?;
            app.connect(ConnectRequest { address: url.to_owned(), name, ssh }).await?
        }
    };
    // The watch of the application is not needed: one look is made below.
    let name = fleets.watching.ok_or_else(|| ApiError::new(ErrorCode::Bug, "nothing is watched"))?;
    drop(app);
    let outcome = Look::at(Some(&name), None, args.data_dir.clone(), args.within)?.read(None).await;
    match outcome {
        Ok(view) if args.json => print::json(&view, true)?,
        Ok(view) => {
            let rows: Vec<&InstanceRow> =
                view.instances.iter().filter(|row| row.state != "killed" || row.flag.is_some()).collect();
            print::fleet(&view, &rows, Form::default(), &[]);
            remark(&format!("saved as {}; it is the one that is watched from now on", clean(&name)));
        }
        Err(error) => {
            remark(&format!("saved as {}, though it does not answer now", clean(&name)));
            return Err(error.into());
        }
    }
    Ok(ExitCode::SUCCESS)
}
