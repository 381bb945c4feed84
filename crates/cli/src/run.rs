//! Does what was typed.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use dwell_commands::dto::*;
use dwell_commands::words::duration;
use dwell_commands::{
    ApiError, App, Change, Described, Look, Metrics, Pace, Scenario, VirtualFleet, World, serve as serve_world,
};
use dwell_web::serve_metrics;
use serde_json::json;

use crate::acting;
use crate::args::{Args, Command, FleetsCommand, Lines, SimCommand};
use crate::bench;
use crate::diagnose::{self, Wanted};
use crate::drill;
use crate::kept;
use crate::list::Form;
use crate::machine;
use crate::offers;
use crate::print::{self, clean, out, remark};
use crate::rollouts;
use crate::vast;

/// Something is flagged, and was asked about.
const FLAGGED: u8 = 10;
/// What was seen is not all stored.
const NOT_STORED: u8 = 12;
/// What was asked is not known: a condition of the fleet stands that hides it.
pub(crate) const UNKNOWN: u8 = 11;

pub(crate) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Fleet { state, flagged, all, fail_on_flag, output, columns } => {
            let as_json = args.json || *output == Form::Json;
            let mut look = look(args)?;
            let view = look.read(None).await?;
            if let Some(state) = state {
                let states = view.instances.iter().map(|row| row.state.as_str());
                known(ErrorCode::UnknownState, "state", state, dwell_commands::STATES.into_iter().chain(states))?;
            }
            let rows: Vec<&InstanceRow> = view
                .instances
                .iter()
                .filter(|row| state.as_ref().is_none_or(|state| row.state == *state))
                .filter(|row| !flagged || row.flag.is_some())
                .filter(|row| *all || state.is_some() || as_json || row.state != "killed" || row.flag.is_some())
                .collect();
            if as_json {
                let instances = rows.into_iter().cloned().collect();
                print::json(&FleetView { instances, ..view.clone() }, true)?;
            } else {
                print::fleet(&view, &rows, *output, columns);
            }
            look_after_left(args, look).await;
            let flagged = *fail_on_flag && view.instances.iter().any(needs_a_person);
            let hidden = view.conditions.iter().any(|it| it.is_unknown);
            Ok(ExitCode::from(if flagged { FLAGGED } else { u8::from(hidden) * UNKNOWN }))
        }
        Command::Show { id, answers: true } => {
            let mut look = look(args)?;
            // The machine may be gone and the manager down: what was answered is kept.
            if let Err(error) = look.read(None).await {
                remark(&format!("the manager does not answer ({}); this is what history has", clean(&error.message)));
            }
            machine::answers(args, &look.raw_answers(id)?)
        }
        Command::Probe { id, show, allow, raw, vast_url } => {
            machine::probe(args, look(args)?, machine::Wanted { id, show: *show, allow: *allow, raw: *raw }, vast_url.as_ref())
                .await
        }
        Command::Prover { id, follow: false, .. } => machine::ask_prover(args, look(args)?, id).await,
        Command::Prover { id, follow: true, every, lasts } => machine::follow_prover(args, look(args)?, id, *every, *lasts).await,
        Command::Connect { url, name, force } => machine::connect(args, url, args.ssh.clone(), name.clone(), *force).await,
        Command::Show { id, answers: false } => {
            let mut look = look(args)?;
            look.read(Some(id)).await?;
            let page = look.instance(id)?;
            if args.json {
                print::json(&page, true)?
            } else {
                print::page(&page)
            }
            Ok(ExitCode::SUCCESS)
        }
        Command::Diagnose { ids, look: asks, vast_url, report, with_addresses, rented_before } => {
            let mut look = look(args)?;
            if *asks {
                match vast::client_if_any(args, None, vast_url.as_ref()).await? {
                    Some(client) => look = look.with_vast(client),
                    None => remark("vast.ai is not asked: no key is known"),
                }
            }
            let wanted =
                Wanted { ids, asks: *asks, report: *report, with_addresses: *with_addresses, rented_before: *rented_before };
            diagnose::run(args, look, wanted).await
        }
        Command::Acknowledge { ids, why } => {
            let mut look = look(args)?;
            look.read(None).await?;
            let request = AcknowledgeRequest { ids: ids.clone(), text: why.clone() };
            let view = look.acknowledge(&request)?;
            if args.json {
                print::json(&view, true)?;
            } else {
                print::conditions(&view.conditions);
                out("accounted for: what was written off is no alarm any more, unless vast.ai lists it again");
            }
            Ok(ExitCode::SUCCESS)
        }
        Command::Explain { cause } => {
            diagnose::tell_cause(args, cause.as_deref())?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Logs { id, lines } => logs(args, Some(id), lines).await,
        Command::ManagerLogs { lines } => logs(args, None, lines).await,
        Command::Watch { every, lasts, until_flagged, metrics } => watch(args, *every, *lasts, *until_flagged, *metrics).await,
        Command::Keys { command } => vast::keys(args, command).await,
        Command::Vast { account, vast_url, command } => vast::vast(args, account.as_deref(), vast_url.as_ref(), command).await,
        Command::Bench { run, command } => bench::run(args, run, command.as_ref()).await,
        Command::Predict { gpu, cards, pcie, ram, cores, ram_bandwidth, price } => {
            let machine = Described {
                gpu: gpu.clone(),
                cards: *cards,
                pcie_gb_s: *pcie,
                memory_gib: *ram,
                cores: *cores,
                memory_gb_s: *ram_bandwidth,
            };
            vast::tell_prediction(args, &machine, *price).await
        }
        Command::Offers { market, all, output, columns } => offers::offers(args, market, *all, (*output, columns)).await,
        Command::Deploy { count, terms, market } => {
            rollouts::begin(args, rollouts::Whom { count: *count, ids: &[], rented_before: None }, terms, market).await
        }
        Command::Replace { ids, rented_before, terms, market } => {
            rollouts::begin(args, rollouts::Whom { count: 0, ids, rented_before: *rented_before }, terms, market).await
        }
        Command::Rules { command } => rollouts::rules(args, command.as_ref()),
        Command::Rollouts { command } => rollouts::run(args, command.as_ref()).await,
        Command::Kill { act } => acting::act(args, "kill", None, act).await,
        Command::Destroy { act } => acting::act(args, "destroy", None, act).await,
        Command::Stop { act } => acting::act(args, "stop", None, act).await,
        Command::Start { act } => acting::act(args, "start", None, act).await,
        Command::Reboot { act } => acting::act(args, "reboot", None, act).await,
        Command::Label { label, act } => acting::act(args, "label", Some(label), act).await,
        Command::Ban { reason, act } => acting::act(args, "ban", Some(reason), act).await,
        Command::Unban { act } => acting::act(args, "unban", None, act).await,
        Command::BadHosts => machine::bad_hosts(args, &look(args)?).await,
        Command::Journal { limit } => acting::journal(args, *limit),
        Command::Chart { wanted } => kept::chart(args, wanted),
        Command::History { command } => kept::history(args, command),
        Command::Fleets { command } => fleets(args, command.as_ref()).await,
        Command::Drill { command } => drill::run(args, command),
        Command::Sim { command } => simulate(args, command).await,
        Command::Doctor => {
            let app = App::new(args.data_dir.clone())?;
            if let Some(within) = args.within {
                app.set_patience(within);
            }
            let doctor = app.doctor(Nothing {}).await?;
            if args.json {
                print::json(&doctor, true)?;
            } else {
                for check in &doctor.checks {
                    out(&format!("{} {}: {}", if check.ok { "ok  " } else { "LOOK" }, check.name, clean(&check.detail)));
                }
            }
            Ok(ExitCode::from(u8::from(doctor.checks.iter().any(|check| !check.ok))))
        }
    }
}

fn look(args: &Args) -> Result<Look, ApiError> {
    Look::at(args.manager.as_deref(), args.ssh.as_deref(), args.data_dir.clone(), args.within)
}

/// Refuses a word that is none of the known ones, and lists those.
pub(crate) fn known<'a>(code: ErrorCode, what: &str, given: &str, words: impl Iterator<Item = &'a str>) -> Result<(), ApiError> {
    let mut words: Vec<&str> = words.collect();
    if words.contains(&given) {
        return Ok(());
    }
    let mut seen = std::collections::HashSet::new();
    words.retain(|word| seen.insert(*word));
    let message = format!("no {what} is called {given:?}");
    Err(ApiError::new(code, message).hint(format!("there are: {}", words.join(", "))))
}

fn needs_a_person(row: &InstanceRow) -> bool {
    row.flag.as_ref().is_some_and(|flag| flag.kind != "slow")
}

/// Lines that a followed log shows at once at most.
const FOLLOWED_MOST: usize = 10_000;
/// How often a manager is asked whose log is followed.
const FOLLOW_EVERY: Duration = Duration::from_secs(5);
/// So long a watch waits for everybody's log before it begins to tell.
const FIRST_WITHIN: Duration = Duration::from_secs(20);

async fn logs(args: &Args, id: Option<&String>, wanted: &Lines) -> anyhow::Result<ExitCode> {
    let mut look = look(args)?;
    let mut outage = Outage::default();
    // History can show what a manager that is gone once said; and one that is followed may come back.
    if let Err(error) = look.read(id.map(String::as_str)).await {
        if matches!(error.code, ErrorCode::UnknownId | ErrorCode::AmbiguousId)
            || (look.fleet().instances.is_empty() && !wanted.follow)
        {
            return Err(error.into());
        }
        let has = if look.fleet().instances.is_empty() { "it is asked until it does" } else { "this is what history has" };
        remark(&format!("the manager does not answer ({}); {has}", clean(&error.message)));
        outage.is_told = true;
    }
    let mut request = LogRequest {
        id: id.cloned(),
        source: wanted.source.clone(),
        after: None,
        before: None,
        contains: wanted.contains.clone(),
        limit: Some(wanted.tail),
    };
    if !(wanted.follow && outage.is_told) {
        let page = look.logs(&request)?;
        if let (true, Some(source)) = (page.lines.is_empty(), &wanted.source) {
            // An instance may call a source whatever it likes: what it has written is known as well.
            let all = look.logs(&LogRequest { source: None, contains: None, limit: Some(10_000), ..request.clone() })?;
            let written = all.lines.iter().map(|line| line.source.as_str());
            known(ErrorCode::UnknownSource, "source of a log", source, dwell_commands::LOG_SOURCES.into_iter().chain(written))?;
        }
    }
    if !wanted.follow {
        let page = look.logs(&request)?;
        if args.json {
            print::json(&page, true)?;
        } else {
            print::lines(&page, wanted.source.is_some());
            if page.lines.is_empty() {
                remark("no lines");
                page.silence.as_ref().into_iter().for_each(print::silence);
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut watched = look.watch(FOLLOW_EVERY)?;
    let mut is_first = true;
    loop {
        let (view, is_settled) = tokio::select! {
            _ = tokio::signal::ctrl_c() => return Ok(ExitCode::SUCCESS),
            seen = watched.next() => seen?,
        };
        let _ = outage.tell(&view);
        let page = match watched.logs(request.clone()).await {
            // Who is not known may be, once the manager answers.
            Err(error) if error.code == ErrorCode::UnknownId && view.connection.state != "ok" => continue,
            page => page?,
        };
        if args.json {
            page.lines.iter().try_for_each(|line| print::json(line, false))?;
        } else {
            print::lines(&page, wanted.source.is_some());
            if is_first && is_settled && view.connection.state == "ok" && page.lines.is_empty() {
                remark("no lines");
                page.silence.as_ref().into_iter().for_each(print::silence);
            }
        }
        is_first &= !is_settled;
        if let Some(last) = page.lines.last() {
            (request.after, request.limit) = (Some(last.id), Some(FOLLOWED_MOST));
        }
    }
}

/// Says once that the manager does not answer, and once that it answers again.
#[derive(Debug, Default)]
struct Outage {
    is_told: bool,
    since: Option<jiff::Timestamp>,
}

impl Outage {
    /// Gives it as an event as well, for who reads no remarks.
    fn tell(&mut self, view: &FleetView) -> Option<serde_json::Value> {
        let connection = &view.connection;
        let event = |from: Option<&str>, to: Option<&str>, at: jiff::Timestamp, why: &str| {
            Some(json!({ "what": "outage", "from": from, "to": to, "at": at, "why": why }))
        };
        match (&connection.error, connection.state.as_str()) {
            (Some(error), _) => {
                self.since = self.since.or(connection.failing_since);
                if !std::mem::replace(&mut self.is_told, true) {
                    let began_at = connection.failing_since.unwrap_or(view.watching.now);
                    let at = print::local(began_at);
                    let stands = match view.as_of {
                        Some(as_of) => format!("what was seen last, {}, stands", print::local(as_of)),
                        None => "nothing has been seen of it yet".to_owned(),
                    };
                    let message = clean(&error.message);
                    remark(&format!(
                        "{at}  the manager cannot be reached ({}: {message}); it is asked again; {stands}",
                        error.code
                    ));
                    return event(None, Some("outage"), began_at, &error.message);
                }
            }
            (None, "ok") if std::mem::take(&mut self.is_told) => {
                let at = connection.last_ok_at.unwrap_or(view.watching.now);
                let after = self
                    .since
                    .take()
                    .map_or_else(String::new, |since| format!(", after {}", duration(at.duration_since(since).as_secs_f64())));
                remark(&format!("{}  the manager answers again{after}", print::local(at)));
                return event(Some("outage"), None, at, &format!("the manager answers again{after}"));
            }
            _ => {}
        }
        None
    }
}

/// What another process left under way is told by the journal; that it cannot be looked after changes nothing of what was asked.
async fn look_after_left(args: &Args, mut look: Look) {
    let looked = async {
        if look.has_left()? {
            match vast::accounts_if_any(args, None, std::env::var("VAST_URL").ok().as_ref()).await {
                Ok(Some(accounts)) => look = look.with_accounts(accounts),
                Ok(None) => {}
                Err(error) => remark(&format!("vast.ai is not asked: {}", clean(&error.to_string()))),
            }
            look.look_after_left().await?;
        }
        Ok::<_, dwell_commands::ApiError>(())
    };
    if let Err(error) = looked.await {
        remark(&format!("what was left under way is not looked after: {}", clean(&error.message)));
    }
}

async fn watch(
    args: &Args,
    every: Duration,
    lasts: Option<Duration>,
    until_flagged: bool,
    metrics: Option<SocketAddr>,
) -> anyhow::Result<ExitCode> {
    let look = look(args)?;
    let metrics = match metrics {
        Some(address) => Some(serve(address).await?),
        None => None,
    };
    let began = Instant::now();
    let end = lasts.map(|lasts| tokio::time::Instant::now() + lasts);
    let mut watched = look.watch(every)?;
    let mut known: HashMap<String, InstanceRow> = HashMap::new();
    let mut outage = Outage::default();
    let mut conditions = Conditions::default();
    let mut storing = Storing::default();
    let (mut is_begun, mut has_head) = (false, false);
    loop {
        let (view, is_settled) = tokio::select! {
            _ = tokio::signal::ctrl_c() => return storing.end(&watched, 0).await,
            // What was to be looked at once is looked at once, however long that takes.
            () = tokio::time::sleep_until(end.unwrap_or_else(tokio::time::Instant::now)), if end.is_some() && is_begun => {
                return storing.end(&watched, 0).await;
            }
            seen = watched.next() => seen?,
        };
        metrics.iter().for_each(|metrics| metrics.take(&view));
        if let Some(event) = outage.tell(&view).filter(|_| args.json) {
            print::json(&event, false)?;
        }
        storing.tell(&view);
        // Before everything is read, what is missing may only be on its way.
        if is_settled {
            conditions.tell(args, &view)?;
        }
        let is_ok = view.connection.state == "ok";
        is_begun |= !is_ok && view.connection.failed > 0;
        if !is_ok || (!has_head && !is_settled && began.elapsed() < FIRST_WITHIN) {
            continue;
        }
        is_begun |= is_settled;
        if !std::mem::replace(&mut has_head, true) && !args.json {
            print::sums(&view);
        }
        for row in &view.instances {
            tell(args, known.get(&row.id), row)?;
        }
        for gone in known.values().filter(|before| !view.instances.iter().any(|row| row.id == before.id)) {
            tell_presence(args, gone, false)?;
        }
        known = view.instances.iter().map(|row| (row.id.clone(), row.clone())).collect();
        let is_loud = view.conditions.iter().any(|it| it.severity == "incident");
        if until_flagged && is_settled && (is_loud || view.instances.iter().any(needs_a_person)) {
            return storing.end(&watched, FLAGGED).await;
        }
    }
}

/// Says once that what is seen is not stored, and once that it is again.
#[derive(Debug, Default)]
struct Storing {
    is_told: bool,
    lost: usize,
}

impl Storing {
    fn tell(&mut self, view: &FleetView) {
        let connection = &view.connection;
        let stops = view.conditions.iter().find(|it| it.kind == "history-not-written");
        if let (Some(stops), false) = (stops, self.is_told) {
            remark(&clean(&stops.summary));
            for line in stops.evidence.iter().chain(&stops.next) {
                remark(&format!("  {}", clean(line)));
            }
        }
        if stops.is_none() && self.is_told {
            remark("history is written again: what was held is stored");
        }
        self.is_told = stops.is_some();
        if connection.history_lost > self.lost {
            self.lost = connection.history_lost;
            remark(&format!(
                "{} answers and log lines found no room in memory and are not stored; history has a gap there",
                self.lost
            ));
        }
    }

    /// The exit code: `code`, unless that is 0 and something that was seen is lost with this process.
    async fn end(&self, watched: &dwell_commands::Watched, code: u8) -> anyhow::Result<ExitCode> {
        let (held, lost) = watched.settle_up().await?;
        if held > 0 {
            remark(&format!("{held} answers and log lines are not stored and are lost now: history cannot be written"));
        }
        if lost > 0 {
            remark(&format!("{lost} answers and log lines found no room in memory and are not stored"));
        }
        Ok(ExitCode::from(if code == 0 && held + lost > 0 { NOT_STORED } else { code }))
    }
}

/// Says what is out of order with the fleet when that begins, and when it is over.
#[derive(Debug, Default)]
struct Conditions {
    /// What was told, by what and when it began.
    told: Vec<(String, Option<jiff::Timestamp>)>,
}

impl Conditions {
    fn tell(&mut self, args: &Args, view: &FleetView) -> anyhow::Result<()> {
        let at = view.as_of.unwrap_or(view.watching.now);
        // Of an answer that stands alone the time moves with every reading; what was written off when does not.
        let name = |it: &ConditionView| (it.kind.clone(), it.since.filter(|_| it.severity == "incident"));
        let now: Vec<_> = view.conditions.iter().map(name).collect();
        for it in view.conditions.iter().filter(|it| !self.told.contains(&name(it))) {
            if args.json {
                let event =
                    json!({ "what": "condition", "kind": it.kind, "from": null, "to": it.kind, "at": at, "condition": it });
                print::json(&event, false)?;
            } else {
                print::condition(it, &format!("{}  ", print::local(at)));
            }
        }
        for (kind, _) in self.told.iter().filter(|told| !now.contains(told)) {
            if args.json {
                print::json(&json!({ "what": "condition", "kind": kind, "from": kind, "to": null, "at": at }), false)?;
            } else {
                out(&format!("{}  {kind}: over", print::local(at)));
            }
        }
        self.told = now;
        Ok(())
    }
}

async fn serve(address: SocketAddr) -> anyhow::Result<Arc<Metrics>> {
    let metrics = Arc::new(Metrics::default());
    let (bound, serving) =
        serve_metrics(address, Arc::clone(&metrics)).await.with_context(|| format!("metrics cannot be served at {address}"))?;
    tokio::spawn(async move {
        if let Err(error) = serving.await {
            remark(&format!("metrics are not served any more: {error}"));
        }
    });
    remark(&format!("metrics at http://{bound}/metrics"));
    if !bound.ip().is_loopback() {
        remark("anybody who reaches this address can read them: ids, prices and states of your instances");
    }
    Ok(metrics)
}

/// What changed, as one object a line: what, of which instance, from what, to what, when it was seen, and why. `instance` is the
/// whole row as it is now.
fn event(what: &str, row: &InstanceRow, (from, to): (Option<&str>, Option<&str>), why: &str) -> anyhow::Result<()> {
    let event = json!({
        "what": what, "id": row.id, "from": from, "to": to, "at": row.observed_at, "why": why,
        "observed_at": row.observed_at, "instance": row,
    });
    print::json(&event, false)
}

fn tell(args: &Args, before: Option<&InstanceRow>, row: &InstanceRow) -> anyhow::Result<()> {
    let kind = |row: &InstanceRow| row.flag.as_ref().map(|flag| flag.kind.clone());
    let moved = before.is_some_and(|before| before.state != row.state);
    let flagged = before.map_or(row.flag.is_some(), |before| kind(before) != kind(row));
    if let Some(before) = before.filter(|before| before.listed != row.listed) {
        tell_presence(args, row, !before.listed)?;
    }
    if args.json {
        let why = row.flag.as_ref().map_or(&row.note, |flag| &flag.reason);
        if before.is_none() {
            event("seen", row, (None, Some(&row.state)), &row.note)?;
        }
        if moved {
            event("state", row, (before.map(|before| before.state.as_str()), Some(&row.state)), &row.note)?;
        }
        if flagged {
            let (from, to) = (before.and_then(kind), kind(row));
            event("flag", row, (from.as_deref(), to.as_deref()), why)?;
        }
        return Ok(());
    }
    let at = print::local(row.observed_at);
    if moved {
        let from = before.map_or("", |before| before.state.as_str());
        out(&format!("{at}  {}  {} \u{2192} {}", print::short_id(row), clean(from), clean(&row.state)));
    }
    if flagged {
        match &row.flag {
            Some(flag) => out(&format!("{at}  {}  \u{25b2} {}: {}", print::short_id(row), flag.kind, clean(&flag.reason))),
            None => out(&format!("{at}  {}  flag cleared: {}", print::short_id(row), clean(&row.note))),
        }
    }
    Ok(())
}

/// Says that an instance is on the manager's list no more, or is on it again.
fn tell_presence(args: &Args, row: &InstanceRow, is_listed: bool) -> anyhow::Result<()> {
    let (what, words) = match is_listed {
        true => ("returned", "is on the manager's list again"),
        false => ("left", "is on the manager's list no more"),
    };
    if args.json {
        let (from, to) = if is_listed { (None, Some(row.state.as_str())) } else { (Some(row.state.as_str()), None) };
        return event(what, row, (from, to), words);
    }
    out(&format!("{}  {}  {words} ({})", print::local(row.observed_at), print::short_id(row), clean(&row.state)));
    Ok(())
}

async fn fleets(args: &Args, command: Option<&FleetsCommand>) -> anyhow::Result<ExitCode> {
    let app = App::new(args.data_dir.clone())?;
    let fleets = match command {
        None | Some(FleetsCommand::List) => app.fleets(Nothing {}).await?,
        Some(FleetsCommand::Add { name, url, force }) => {
            machine::answers_first(args, url, args.ssh.as_deref(), *force).await?;
            app.save_fleet(ConnectRequest { address: url.clone(), name: Some(name.clone()), ssh: args.ssh.clone() }).await?
        }
        Some(FleetsCommand::AllowProbe { name }) => app.allow_probe(AllowProbe { name: name.clone(), allow: true }).await?,
        Some(FleetsCommand::ForbidProbe { name }) => app.allow_probe(AllowProbe { name: name.clone(), allow: false }).await?,
        Some(FleetsCommand::AllowActing { name }) => app.set_may_act(name, true).await?,
        Some(FleetsCommand::ReadOnly { name }) => app.set_may_act(name, false).await?,
        Some(FleetsCommand::Remove { name }) => app.forget(FleetName { name: name.clone() }).await?,
    };
    if args.json {
        print::json(&fleets, true)?;
    } else if fleets.saved.is_empty() {
        out("no fleet is saved; save one: dwellctl fleets add NAME URL");
    } else {
        for fleet in &fleets.saved {
            let ssh = fleet.ssh.as_ref().map_or_else(String::new, |target| format!(" via {}", clean(target)));
            let probe = if fleet.allow_probe { "  looks at its machines allowed" } else { "" };
            let acting = if fleet.may_act { "  acting allowed" } else { "  read-only" };
            let watched = if fleets.last.as_ref() == Some(&fleet.name) { "  looked at where none is named" } else { "" };
            out(&format!("{}  {}{ssh}{acting}{probe}{watched}", clean(&fleet.name), clean(&fleet.address)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn scenario(name_or_file: &str) -> anyhow::Result<Scenario> {
    if name_or_file.ends_with(".toml") {
        return Ok(Scenario::read(Path::new(name_or_file)).map_err(dwell_commands::bad_scenario)?);
    }
    Ok(Scenario::named(name_or_file).map_err(dwell_commands::bad_scenario)?)
}

async fn simulate(args: &Args, command: &SimCommand) -> anyhow::Result<ExitCode> {
    match command {
        SimCommand::List => {
            let scenarios = App::new(args.data_dir.clone())?.scenarios(Nothing {}).await?;
            if args.json {
                print::json(&scenarios, true)?;
            } else {
                // Those for newcomers with what they show; of the others the names, for their summaries tell the truth.
                let (featured, rest): (Vec<_>, Vec<_>) = scenarios.scenarios.into_iter().partition(|scenario| scenario.featured);
                for scenario in featured {
                    out(&format!("{}\n  {}\n  {}\n", scenario.name, scenario.title, scenario.summary));
                }
                for scenario in rest {
                    out(&format!("{:<32} {}", scenario.name, scenario.title));
                }
            }
        }
        SimCommand::Serve { scenario: name, start, speed, port, vast_port } => {
            let scenario = scenario(name)?;
            let seed = start.seed.unwrap_or(scenario.seed);
            let world = World::new(scenario, seed, dwell_commands::now());
            let served = serve_world(world, *speed, *port, *vast_port).await.map_err(dwell_commands::cannot_serve)?;
            served.open_ssh();
            if args.json {
                print::json(&json!({ "url": served.url(), "vast_url": served.vast_url(), "speed": speed, "seed": seed }), false)?;
            } else {
                out(&format!("SIMULATED manager at {} ({name}, seed {seed}, {speed} simulated seconds a second)", served.url()));
                out(&format!("SIMULATED vast.ai at {}", served.vast_url()));
                out(&format!("  look at it:  dwellctl --manager {} fleet", served.url()));
                out(&format!("  vast.ai's own client: VAST_URL={} VAST_API_KEY=any vastai show instances", served.vast_url()));
                out(&format!(
                    "  its machines answer SSH:  dwellctl --manager {} probe ID --allow --vast-url {}",
                    served.url(),
                    served.vast_url()
                ));
                out("  stop it:     Ctrl-C");
            }
            tokio::signal::ctrl_c().await?;
        }
        SimCommand::Run { scenario: name, start, lasts, until_flagged } => {
            let scenario = scenario(name)?;
            run_virtually(args, scenario, start.seed, *lasts, *until_flagged)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn run_virtually(
    args: &Args,
    scenario: Scenario,
    seed: Option<u64>,
    lasts: Option<Duration>,
    until_flagged: Option<usize>,
) -> anyhow::Result<()> {
    let total_s = lasts.map_or(scenario.duration, |lasts| lasts.as_secs_f64());
    let title = scenario.title.clone();
    let mut fleet = VirtualFleet::new(scenario, seed, Pace::default());
    let began = fleet.world().now();
    if !args.json {
        out(&format!("{title}: {} of it in virtual time.", duration(total_s)));
        fleet.run(0.0, |_| {});
        print::head(&fleet.view());
    }
    let step_s = Pace::default().dashboard_s;
    let mut failure = None;
    loop {
        fleet.run(step_s, |change| {
            if let Err(error) = tell_change(args, began, change) {
                failure = Some(error);
            }
        });
        if let Some(error) = failure {
            return Err(error);
        }
        let passed_s = fleet.world().now().duration_since(began).as_secs_f64();
        let flagged = fleet.view().instances.iter().filter(|row| needs_a_person(row)).count();
        if passed_s >= total_s || until_flagged.is_some_and(|wanted| flagged >= wanted) {
            break;
        }
    }
    let view = fleet.view();
    if args.json {
        return print::json(&view, true);
    }
    let flagged: Vec<&InstanceRow> = view.instances.iter().filter(|row| row.flag.is_some()).collect();
    out(&format!("\n{} flagged after {}:\n", flagged.len(), duration(fleet.world().now().duration_since(began).as_secs_f64())));
    for row in &flagged {
        let Some(flag) = &row.flag else { continue };
        out(&format!(
            "\u{25b2} {} {} {}",
            clean(&row.id),
            clean(row.gpu_name.as_deref().unwrap_or("\u{2013}")),
            clean(row.geolocation.as_deref().unwrap_or(""))
        ));
        out(&format!("  {}: {}", flag.kind, clean(&flag.reason)));
        out(&format!("  {}", clean(&flag.certainty)));
        out(&format!("  would show: {}", clean(&flag.would_show.join("; "))));
    }
    // One explanation for all that are silent in the same way.
    let mut explained: Vec<SilenceView> = Vec::new();
    for silence in flagged.iter().filter_map(|row| fleet.silence(&row.id)) {
        if !explained.contains(&silence) {
            print::silence(&silence);
            explained.push(silence);
        }
    }
    Ok(())
}

fn tell_change(args: &Args, began: jiff::Timestamp, change: &Change) -> anyhow::Result<()> {
    let (id, at, text, value) = match change {
        Change::State { id, state, at } => {
            (id, at, format!("\u{2192} {}", clean(state)), json!({ "id": id, "state": state, "at": at }))
        }
        Change::Flag { id, kind, reason, at } => {
            let text = match kind {
                Some(kind) => format!("\u{25b2} {kind}: {}", clean(reason)),
                None => format!("flag cleared: {}", clean(reason)),
            };
            (id, at, text, json!({ "id": id, "flag": kind, "reason": reason, "at": at }))
        }
    };
    // With --json the one object at the end holds it all; the changes go to standard error.
    if args.json {
        remark(&value.to_string());
    } else {
        let since = at.duration_since(began).as_secs_f64();
        out(&format!("+{:>7}  {}  {text}", duration(since), clean(id.split('-').next().unwrap_or(id))));
    }
    Ok(())
}
