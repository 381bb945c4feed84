//! From the wire to the domain: where the manager writes 0 or "" for "not told", `None`.

use dwell_fleet::{BadHost, HostId, InstanceUuid, MachineId, Row, Snapshot, State, Timestamp, VastFacts, VastId};
use dwell_fleet::{NAME_LETTERS_MAX, WORDS_LETTERS_MAX, shown};

use crate::{Dashboard, Instance, LogLine, lenient};

/// The age that the manager gives before its first copy of vast.ai's records is centuries (a zero time); anything beyond
/// three years is taken for it. Seconds.
const CACHE_AGE_NEVER_S: f64 = 1.0e8;

/// A dashboard answer in the domain's terms. Both times are on the operator's clock.
pub fn snapshot(dashboard: Dashboard, requested_at: Timestamp, received_at: Timestamp) -> Snapshot {
    Snapshot {
        requested_at,
        received_at,
        manager_time: dashboard.updated_at,
        vast_cache_age_s: dashboard.vast_cache_age_s.filter(|age_s| (0.0..CACHE_AGE_NEVER_S).contains(age_s)),
        rows_unreadable: dashboard.instances_unreadable,
        bad_hosts: dashboard
            .bad_hosts
            .into_iter()
            .filter_map(|entry| {
                Some(BadHost { machine_id: told(entry.machine_id)?, reason: words(entry.reason), added_at: entry.added_at })
            })
            .collect(),
        rows: dashboard.instances.into_iter().map(row).collect(),
    }
}

fn row(wire: Instance) -> Row {
    // A killed row whose rental has left vast.ai's list shows the number, the card and the price that the manager kept of it, and
    // those alone (manager source, `handleDashboard`): its rental is not listed any more.
    let listed = wire.state.as_deref() != Some("killed") || is_in_list(&wire);
    let uuid = wire.uuid.and_then(InstanceUuid::new);
    let vast_id = above_zero_whole(wire.vast_id).map(VastId);
    Row {
        state: State::parse(&told(wire.state).unwrap_or_default()),
        label: told(wire.label),
        runner_id: above_zero_whole(wire.runner_id),
        min_rate_proofs_per_h: above_zero(wire.min_rate),
        registered_at: wire.registered_at,
        param_done_at: wire.param_done_at,
        bench_done_at: wire.bench_done_at,
        killed_at: wire.killed_at,
        // A benchmark that reported 0 is told; the field is absent before any report.
        bench_rate_proofs_per_h: wire.bench_rate,
        kill_reason: words(wire.kill_reason),
        log_lines: uuid.as_ref().and(wire.log_lines),
        vast: if vast_id.is_some() {
            VastFacts {
                gpu_name: told(wire.gpu_name),
                num_gpus: above_zero_whole(wire.num_gpus),
                dollars_per_h: above_zero(wire.dph_total),
                ssh_command: told(wire.ssh_cmd),
                host_id: above_zero_whole(wire.host_id).map(HostId),
                machine_id: above_zero_whole(wire.machine_id).map(MachineId),
                geolocation: told(wire.geolocation),
                cpu_ram_mib: above_zero(wire.cpu_ram_mb),
                // 0 is both "idle" and "not told"; a card that was read at all has a temperature.
                gpu_util_percent: wire.gpu_util.filter(|load| *load > 0.0 || above_zero(wire.gpu_temp).is_some()),
                gpu_temp_c: above_zero(wire.gpu_temp),
                gpu_ram_mib: above_zero(wire.gpu_ram_mb),
                cuda_version: above_zero(wire.cuda_version),
                inet_down_mbps: above_zero(wire.inet_down_mbps),
                inet_up_mbps: above_zero(wire.inet_up_mbps),
                cpu_util_percent: above_zero(wire.cpu_util),
                mem_usage_gb: above_zero(wire.mem_usage_gb),
                mem_limit_gb: above_zero(wire.mem_limit_gb),
                disk_space_gb: above_zero(wire.disk_space_gb),
                gpu_mem_bw_gb_s: above_zero(wire.gpu_mem_bw),
                driver_version: told(wire.driver_version),
                reliability: above_zero(wire.reliability),
                start_date: wire.start_date.and_then(lenient::seconds),
                gpu_frac: above_zero(wire.gpu_frac),
                status_msg: words(wire.status_msg),
                public_ip: told(wire.public_ip),
                kept_id: vast_id.filter(|_| !listed),
            }
        } else {
            VastFacts::default()
        },
        uuid,
        vast_id: vast_id.filter(|_| listed),
    }
}

/// A log line in the domain's terms; `None` for one without a readable time, which no real manager writes.
pub fn log_line(wire: LogLine) -> Option<dwell_fleet::LogLine> {
    let at = Timestamp::from_millisecond(i64::try_from(wire.ts?).ok()?).ok()?;
    Some(dwell_fleet::LogLine {
        source: shown(&wire.src.unwrap_or_default(), NAME_LETTERS_MAX),
        text: wire.text.unwrap_or_default(),
        at,
    })
}

/// Something is told that the manager does not keep: it has the rental in its copy of vast.ai's list.
fn is_in_list(wire: &Instance) -> bool {
    let numbers = [
        wire.start_date,
        wire.gpu_util,
        wire.gpu_temp,
        wire.cuda_version,
        wire.inet_down_mbps,
        wire.inet_up_mbps,
        wire.cpu_util,
        wire.mem_usage_gb,
        wire.mem_limit_gb,
        wire.disk_space_gb,
        wire.gpu_mem_bw,
        wire.reliability,
        wire.gpu_frac,
    ];
    let texts = [&wire.driver_version, &wire.status_msg];
    numbers.into_iter().any(|value| above_zero(value).is_some())
        || texts.into_iter().flatten().any(|text| !text.trim().is_empty())
}

/// A name, where one is told, as it may be shown.
fn told(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty()).map(|text| shown(&text, NAME_LETTERS_MAX))
}

/// A reason or a status, where one is told, as it may be shown.
fn words(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty()).map(|text| shown(&text, WORDS_LETTERS_MAX))
}

fn above_zero(value: Option<f64>) -> Option<f64> {
    value.filter(|value| *value > 0.0)
}

fn above_zero_whole(value: Option<u64>) -> Option<u64> {
    value.filter(|value| *value > 0)
}
