//! vast.ai's record of a rental and the prover's status, as JSON. What is missing, null or of another type is not told.

use dwell_fleet::Timestamp;
use dwell_fleet::look::{ProverStatus, VastRecord};
use serde_json::Value;

/// Proofs in work that are read at most: failed ones stay in the prover's list for ever.
const PROOFS_MAX: usize = 64;

fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| number.is_finite())
}

fn time(value: &Value) -> Option<Timestamp> {
    let ms = number(value)? * 1000.0;
    Timestamp::from_millisecond(ms as i64).ok().filter(|_| ms > 0.0)
}

/// A record of `GET /api/v0/instances/{id}/` or of the list.
pub fn vast_record(record: &Value) -> VastRecord {
    let mapped = match &record["ports"] {
        Value::Object(ports) => Some(ports.get("22/tcp").is_some_and(|to| to.as_array().is_some_and(|to| !to.is_empty()))),
        Value::Null => Some(false),
        _ => None,
    };
    VastRecord {
        actual_status: text(&record["actual_status"]),
        intended_status: text(&record["intended_status"]),
        cur_state: text(&record["cur_state"]),
        status_msg: text(&record["status_msg"]),
        label: text(&record["label"]),
        is_bid: record["is_bid"].as_bool(),
        start_date: time(&record["start_date"]),
        end_date: time(&record["end_date"]),
        ssh_mapped: mapped,
        driver_version: text(&record["driver_version"]),
        cpu_cores: number(&record["cpu_cores"]),
        cpu_cores_effective: number(&record["cpu_cores_effective"]),
        cpu_util_percent: number(&record["cpu_util"]),
        gpu_util_percent: number(&record["gpu_util"]),
        gpu_temp_c: number(&record["gpu_temp"]),
        cpu_ram_mib: number(&record["cpu_ram"]),
        mem_limit_gb: number(&record["mem_limit"]).filter(|limit| *limit > 0.0),
        disk_space_gb: number(&record["disk_space"]),
        disk_usage_gb: number(&record["disk_usage"]),
        dollars_per_h: number(&record["dph_total"]),
    }
}

/// The prover's `/status`.
pub fn prover_status(status: &Value) -> ProverStatus {
    let count = |value: &Value| value.as_u64().unwrap_or_default();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let proofs = list(&status["pipelines"])
        .iter()
        .take(PROOFS_MAX)
        .map(|pipeline| {
            let parts = list(&pipeline["partitions"]);
            let pending = !parts.is_empty() && parts.iter().all(|part| part["state"] == "pending");
            (count(&pipeline["partitions_done"]), pending)
        })
        .collect();
    ProverStatus {
        completed: count(&status["counters"]["total_completed"]),
        failed: count(&status["counters"]["total_failed"]),
        proofs,
        busiest_s: list(&status["gpu_workers"])
            .iter()
            .filter(|worker| worker["state"] == "proving")
            .filter_map(|worker| number(&worker["busy_secs"]))
            .fold(0.0, f64::max),
        queue_depth: count(&status["counters"]["queue_depth"]),
    }
}
