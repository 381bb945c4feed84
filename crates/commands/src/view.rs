//! From the domain to what is shown. Nothing is decided here; unknown stays unknown.

use std::collections::HashMap;

use dwell_clients::{Tunnel, TunnelState};
use dwell_fleet::{
    ChannelHealth, Expectation, ExpectationBase, Flag, FlagKind, Instance, LogLine, Presence, Rejected, State, Timestamp, money,
    seconds_between, state_counts, words,
};
use dwell_history::{HeldState, StoredLine, TransitionRecord};

use crate::ApiError;
use crate::conditions;
use crate::dto::*;
use crate::watch::Watch;

/// Longest line sent on, bytes.
const LINE_BYTES_SHOWN: usize = 16 * 1024;

/// What the view says besides the fleet itself.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    pub(crate) name: String,
    pub(crate) address: String,
    pub(crate) speed: f64,
    pub(crate) now: Timestamp,
    pub(crate) history_error: Option<String>,
    /// What waits to be written, and what was lost.
    pub(crate) held: HeldState,
    pub(crate) tunnel: Option<TunnelView>,
}

pub(crate) fn tunnel(tunnel: &Tunnel) -> TunnelView {
    let state = tunnel.state();
    let failure = match &state {
        TunnelState::Down(error) => Some(error.clone()),
        _ => None,
    };
    TunnelView {
        target: tunnel.target().as_str().to_owned(),
        state: match state {
            TunnelState::Opening => "opening",
            TunnelState::Up(_) => "up",
            TunnelState::Down(_) => "down",
        }
        .to_owned(),
        port: match state {
            TunnelState::Up(port) => Some(port),
            _ => None,
        },
        hint: failure.clone().and_then(|error| ApiError::from(error).hint),
        error: failure.map(ConnectionError::from),
    }
}

pub(crate) fn fleet_view(watch: &Watch, context: &Context) -> FleetView {
    let fleet = watch.fleet();
    let connection = watch.connection();
    let mut instances: Vec<&Instance> = fleet.instances().collect();
    instances.sort_by(|left, right| {
        let unusual = lateness(right).total_cmp(&lateness(left));
        urgency(left)
            .cmp(&urgency(right))
            .then(unusual)
            .then(right.entered.at.cmp(&left.entered.at))
            .then(left.key.cmp(&right.key))
    });
    FleetView {
        watching: Watching {
            name: context.name.clone(),
            address: context.address.clone(),
            mode: mode(connection.simulated.as_deref()).to_owned(),
            simulated: connection.simulated.clone(),
            speed: context.speed,
            now: context.now,
        },
        connection: connection_view(watch, context),
        as_of: fleet.as_of(),
        received_at: connection.last_ok_at,
        age_s: fleet.as_of().map(|as_of| seconds_between(as_of, fleet.manager_time_at(context.now)).max(0.0)),
        conditions: conditions::shown(fleet, conditions::of(watch, &context.held, context.now)),
        summary: summary(watch),
        manager_started_at: fleet.manager_run().started_at,
        instances: instances.into_iter().map(|instance| row(instance, fleet)).collect(),
    }
}

/// What kind of fleet this is, by what a simulator says of itself.
fn mode(simulated: Option<&str>) -> &'static str {
    match simulated {
        None => "live",
        Some(said) if said.split(' ').next() == Some(crate::play::DRILL) => "drill",
        Some(_) => "simulated",
    }
}

/// Dwell against the time from which it is late: the most unusual first. 0 where nothing is expected.
fn lateness(instance: &Instance) -> f64 {
    let Some(assessment) = &instance.assessment else { return 0.0 };
    match (&assessment.expectation, assessment.dwell_s) {
        (Some(expectation), Some(dwell_s)) if expectation.late_from_s > 0.0 => dwell_s / expectation.late_from_s,
        _ => 0.0,
    }
}

/// Flagged first by how pressing, then those on their way, then running, then ended.
fn urgency(instance: &Instance) -> (usize, u8) {
    let flag = instance
        .flag
        .as_ref()
        .map_or(FlagKind::ALL.len(), |flag| FlagKind::ALL.iter().position(|kind| *kind == flag.kind).unwrap_or(0));
    let state = match instance.state {
        State::Unknown(_) => 0,
        ref state if state.is_waiting() => 1,
        State::Running => 2,
        _ => 3,
    };
    (flag, state)
}

fn connection_view(watch: &Watch, context: &Context) -> ConnectionView {
    let connection = watch.connection();
    ConnectionView {
        state: match (&connection.failure, connection.last_ok_at) {
            (Some(_), _) => "failing",
            (None, Some(_)) => "ok",
            (None, None) => "connecting",
        }
        .to_owned(),
        error: connection
            .failure
            .as_ref()
            .map(|failure| ConnectionError { code: failure.code.into(), message: failure.message.clone() }),
        last_ok_at: connection.last_ok_at,
        failing_since: connection.failing_since,
        next_try_at: connection.next_try_at,
        answered: connection.answered,
        failed: connection.failed,
        clock_skew_s: connection.clock_skew_s,
        vast_cache_age_s: watch.fleet().vast_cache_age_s(),
        rows_unusable: connection.rows_unusable,
        set_aside: connection.rejected.map(|rejected| {
            match rejected {
                Rejected::OlderRequest => "older-request",
                Rejected::TimeWentBack => "time-went-back",
            }
            .to_owned()
        }),
        manager_log_error: watch.manager_log_failure().map(|code| code.as_str().to_owned()),
        history_error: context.history_error.clone(),
        history_held: context.held.entries(),
        history_lost: context.held.lost(),
        tunnel: context.tunnel.clone(),
    }
}

fn summary(watch: &Watch) -> Summary {
    let fleet = watch.fleet();
    // Before the first answer there is what history has: nobody knows what that costs now.
    let is_known = fleet.as_of().is_some();
    let money = money(fleet);
    let mut flags: HashMap<FlagKind, usize> = HashMap::new();
    for flag in fleet.instances().filter_map(|instance| instance.flag.as_ref()) {
        *flags.entry(flag.kind).or_default() += 1;
    }
    Summary {
        benchmarked_proofs_per_h: is_known.then_some(money.benchmarked_proofs_per_h),
        rate_not_told: money.rate_not_told,
        proving_dollars_per_h: money.proving.told().filter(|_| is_known),
        waiting_dollars_per_h: money.waiting_dollars_per_h().filter(|_| is_known),
        stalled_dollars_per_h: money.stalled.told().filter(|_| is_known),
        leaking_dollars_per_h: money.leaking_dollars_per_h().filter(|_| is_known),
        unknown_dollars_per_h: money.unknown.told().filter(|_| is_known && money.unknown.instances > 0),
        billing_unknown: money.unknown.instances,
        price_not_told: money.price_not_told(),
        dollars_per_proof: money.dollars_per_proof_all_in().filter(|_| is_known),
        states: state_counts(fleet.instances())
            .into_iter()
            // Only the list has rentals that have not registered.
            .filter(|(state, count)| is_known && (*count > 0 || *state != State::Loading || money.rentals_known))
            .map(|(state, count)| StateCount { state: state.to_string(), count })
            .collect(),
        flags: FlagKind::ALL
            .iter()
            .filter_map(|kind| Some(FlagCount { kind: kind.as_str().to_owned(), count: *flags.get(kind)? }))
            .collect(),
        bad_hosts: watch.bad_hosts().len(),
    }
}

pub(crate) fn row(instance: &Instance, fleet: &dwell_fleet::Fleet) -> InstanceRow {
    let assessment = instance.assessment.as_ref();
    let listed = matches!(instance.presence, Presence::Listed);
    let told = &instance.row.vast;
    let as_of = fleet.as_of().unwrap_or(instance.last_listed_at);
    InstanceRow {
        id: instance.id(),
        uuid: instance.uuid.as_ref().map(|uuid| uuid.to_string()),
        vast_id: instance.vast_id.map(|id| id.0),
        label: instance.row.label.clone(),
        state: instance.state.to_string(),
        entered_at: instance.entered.at,
        dwell_s: match assessment {
            Some(assessment) => assessment.dwell_s,
            None => Some(seconds_between(instance.entered.at, as_of)).filter(|dwell_s| *dwell_s >= 0.0),
        },
        dwell_basis: instance.entered.basis.as_str().to_owned(),
        dwell_earlier_by_s: instance.entered.earlier_by_s,
        expectation: assessment.and_then(|assessment| assessment.expectation.as_ref()).map(expectation),
        flag: instance.flag.as_ref().map(flag),
        note: assessment.map(|assessment| assessment.note.clone()).unwrap_or_default(),
        countdown: assessment
            .and_then(|assessment| assessment.countdown.as_ref())
            .map(|countdown| CountdownView { at: countdown.at, what: countdown.what.to_owned() }),
        listed,
        // Identity is kept from the last record that told it; readings are shown only while they are told.
        gpu_name: instance.vast.gpu_name.clone(),
        num_gpus: instance.vast.num_gpus,
        machine_id: instance.vast.machine_id.map(|id| id.0),
        geolocation: instance.vast.geolocation.clone(),
        image: instance.vast.image().map(str::to_owned),
        bench_rate_proofs_per_h: instance.row.bench_rate_proofs_per_h,
        dollars_per_h: told.dollars_per_h,
        dollars_per_proof: told
            .dollars_per_h
            .zip(instance.row.bench_rate_proofs_per_h)
            .filter(|(_, rate)| *rate > 0.0)
            .map(|(dollars, rate)| dollars / rate),
        gpu_util_percent: told.gpu_util_percent,
        gpu_temp_c: told.gpu_temp_c,
        gauges_at: told.gpu_util_percent.or(told.gpu_temp_c).and(instance.gpu.last_told),
        log_lines: instance.row.log_lines,
        log_newest_at: instance.log.newest.values().max().copied(),
        log_health: assessment.map_or("not-asked", |assessment| health(&assessment.log_health)).to_owned(),
        kill_reason: instance.row.kill_reason.clone(),
        observed_at: instance.last_listed_at,
    }
}

fn health(health: &ChannelHealth) -> &'static str {
    match health {
        ChannelHealth::Working { .. } => "working",
        ChannelHealth::Quiet { .. } => "quiet",
        ChannelHealth::Blind(_) => "blind",
        ChannelHealth::NotAsked => "not-asked",
    }
}

fn flag(flag: &Flag) -> FlagView {
    FlagView {
        kind: flag.kind.as_str().to_owned(),
        reason: flag.reason.clone(),
        since: flag.since,
        certainty: flag.certainty.clone(),
        would_show: flag.would_show.clone(),
    }
}

fn expectation(expectation: &Expectation) -> ExpectationView {
    let (basis, of, stays) = match &expectation.base {
        ExpectationBase::Group { name, advanced, .. } => ("history", name.clone(), *advanced),
        ExpectationBase::Prior { source } => ("prior", (*source).to_owned(), 0),
    };
    ExpectationView {
        usual_s: expectation.usual_s,
        late_from_s: expectation.late_from_s,
        limit_s: expectation.limit_s,
        basis: basis.to_owned(),
        of,
        stays,
    }
}

pub(crate) fn silence(instance: &Instance) -> Option<SilenceView> {
    let assessment = instance.assessment.as_ref()?;
    let silence = words::silence(&assessment.log_health, &instance.state)?;
    Some(SilenceView { seen: silence.seen, can_mean: silence.can_mean, cannot_mean: silence.cannot_mean })
}

/// Known words in an instance's newest lines and in vast.ai's present status of it.
pub(crate) fn said(instance: &Instance, lines: &[StoredLine]) -> Vec<SaidView> {
    let status: Vec<LogLine> = instance
        .row
        .vast
        .status_msg
        .iter()
        .map(|text| LogLine {
            source: String::new(),
            text: text.clone(),
            at: instance.vast_told_at.unwrap_or(instance.last_listed_at),
        })
        .collect();
    let of_status = dwell_diagnosis::said(dwell_diagnosis::Written::InVastStatus, &status);
    let of_log = dwell_diagnosis::said(dwell_diagnosis::Written::InInstanceLog, lines.iter().map(|stored| &stored.line));
    let of_status = of_status.into_iter().map(|said| said_view(said, "vast-record"));
    of_status.chain(of_log.into_iter().map(|said| said_view(said, "manager-instance-log"))).collect()
}

/// Known words in lines of the manager's own log.
pub(crate) fn said_by_manager(lines: &[StoredLine]) -> Vec<SaidView> {
    let said = dwell_diagnosis::said(dwell_diagnosis::Written::InManagerLog, lines.iter().map(|stored| &stored.line));
    said.into_iter().map(|said| said_view(said, "manager-log")).collect()
}

fn said_view(said: dwell_diagnosis::Said, channel: &str) -> SaidView {
    SaidView {
        id: said.signature.id.to_owned(),
        meaning: said.signature.meaning.to_owned(),
        causes: said.signature.causes.iter().map(|cause| (*cause).to_owned()).collect(),
        channel: channel.to_owned(),
        source: said.source,
        line: said.line,
        at: said.at,
        first_at: said.first_at,
        count: said.count,
    }
}

pub(crate) fn evidence(instance: &Instance) -> Vec<EvidenceView> {
    let Some(assessment) = &instance.assessment else { return Vec::new() };
    assessment
        .evidence
        .iter()
        .map(|evidence| EvidenceView {
            channel: evidence.channel.to_owned(),
            health: evidence.health.to_owned(),
            text: evidence.text.clone(),
            at: evidence.at,
        })
        .collect()
}

pub(crate) fn life(records: &[TransitionRecord]) -> Vec<LifeEntry> {
    records
        .iter()
        .enumerate()
        .map(|(index, record)| LifeEntry {
            state: record.entry.state.to_string(),
            from: record.from.as_ref().map(ToString::to_string),
            at: record.entry.at,
            basis: record.entry.basis.as_str().to_owned(),
            earlier_by_s: record.entry.earlier_by_s,
            kind: record.kind.clone(),
            stayed_s: records.get(index + 1).map(|next| seconds_between(record.entry.at, next.entry.at)),
        })
        .collect()
}

pub(crate) fn line(stored: StoredLine, manager_started_at: Option<Timestamp>) -> LogLineView {
    let mut text = stored.line.text;
    let whole = text.len();
    if whole > LINE_BYTES_SHOWN {
        text.truncate(text.floor_char_boundary(LINE_BYTES_SHOWN));
    }
    LogLineView {
        id: stored.id,
        source: stored.line.source,
        at: stored.line.at,
        cut_bytes: whole - text.len(),
        text,
        kept_from_before: manager_started_at.is_some_and(|started| stored.line.at < started),
        after_gap: stored.after_gap,
    }
}

/// Every fact with the field that told it.
pub(crate) fn facts(instance: &Instance) -> Vec<Fact> {
    let row = &instance.row;
    let vast = &instance.vast;
    let number = |value: Option<f64>, unit: &str, decimals: usize| {
        value.map(|value| format!("{value:.decimals$} {unit}").trim_end().to_owned())
    };
    let time = |at: Option<Timestamp>| at.map(|at| at.to_string());
    let facts: Vec<(&str, Option<String>, &str)> = vec![
        ("Manager's id", row.uuid.as_ref().map(ToString::to_string), "uuid"),
        ("vast.ai number", instance.vast_id.map(|id| id.to_string()), "vast_id"),
        ("Label", row.label.clone(), "label"),
        ("Runner number", row.runner_id.map(|id| id.to_string()), "runner_id"),
        ("Registered", time(row.registered_at), "registered_at"),
        ("Parameters done", time(row.param_done_at), "param_done_at"),
        ("Benchmark done", time(row.bench_done_at), "bench_done_at"),
        ("Killed", time(row.killed_at), "killed_at"),
        ("Kill reason", row.kill_reason.clone(), "kill_reason"),
        ("Benchmark rate", number(row.bench_rate_proofs_per_h, "proofs/h", 2), "bench_rate"),
        ("Least rate", number(row.min_rate_proofs_per_h, "proofs/h", 0), "min_rate"),
        ("GPU", vast.gpu_kind(), "gpu_name, num_gpus"),
        ("GPU memory", number(vast.gpu_ram_mib, "MiB", 0), "gpu_ram_mb"),
        ("GPU load", number(vast.gpu_util_percent, "%", 0), "gpu_util"),
        ("GPU temperature", number(vast.gpu_temp_c, "\u{b0}C", 0), "gpu_temp"),
        ("GPU memory bandwidth", number(vast.gpu_mem_bw_gb_s, "GB/s", 0), "gpu_mem_bw"),
        ("CUDA", number(vast.cuda_version, "", 1), "cuda_version"),
        ("Driver", vast.driver_version.clone(), "driver_version"),
        ("Image", vast.image().map(str::to_owned), "status_msg"),
        ("Status", vast.status_msg.clone(), "status_msg"),
        ("Price", vast.dollars_per_h.map(|dollars| format!("${dollars:.3}/h")), "dph_total"),
        ("Rented", time(vast.start_date), "start_date"),
        ("Machine", vast.machine_id.map(|id| id.to_string()), "machine_id"),
        ("Host", vast.host_id.map(|id| id.to_string()), "host_id"),
        ("Place", vast.geolocation.clone(), "geolocation"),
        ("Address", vast.public_ip.clone(), "public_ip"),
        ("SSH", vast.ssh_command.clone(), "ssh_cmd"),
        ("Host memory", number(vast.cpu_ram_mib, "MiB", 0), "cpu_ram_mb"),
        ("Memory used", number(vast.mem_usage_gb, "GB", 1), "mem_usage_gb"),
        ("Memory limit", number(vast.mem_limit_gb, "GB", 1), "mem_limit_gb"),
        ("CPU load", number(vast.cpu_util_percent, "%", 0), "cpu_util"),
        ("Disk", number(vast.disk_space_gb, "GB", 0), "disk_space_gb"),
        ("Download", number(vast.inet_down_mbps, "Mbit/s", 0), "inet_down_mbps"),
        ("Upload", number(vast.inet_up_mbps, "Mbit/s", 0), "inet_up_mbps"),
        ("Reliability", vast.reliability.map(|share| format!("{:.2} %", share * 100.0)), "reliability"),
        ("Log lines at the manager", row.log_lines.map(|lines| lines.to_string()), "log_lines"),
    ];
    facts
        .into_iter()
        .map(|(name, value, source)| Fact { name: name.to_owned(), value, source: format!("dashboard: {source}") })
        .collect()
}
