//! vast.ai's record of a rental and the prover's status, as JSON. What is missing, null or of another type is not told.

use std::collections::BTreeMap;

use dwell_fleet::Timestamp;
use dwell_fleet::look::{ProofInWork, ProverStatus, SshAddress, VastRecord, Worker};
use serde_json::Value;

/// Proofs in work that are read at most: failed ones stay in the prover's list for ever.
const PROOFS_MAX: usize = 64;
/// Parts of a proof, names of their states, and workers that are read at most.
const PARTS_MAX: usize = 256;
const STATES_MAX: usize = 8;
const WORKERS_MAX: usize = 64;

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
    let whole = |value: &Value| value.as_u64().or_else(|| value.as_str()?.parse().ok());
    let address = |host: &Value, port: &Value| SshAddress::new(host.as_str()?.trim(), whole(port)?);
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
        ssh_direct: address(&record["public_ipaddr"], &record["ports"]["22/tcp"][0]["HostPort"]),
        ssh_proxy: address(&record["ssh_host"], &record["ssh_port"]),
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

/// Names of fields that hold secrets, or may: keys, tokens, logins, environments, start scripts.
const SECRET_NAMES: [&str; 9] = ["key", "token", "secret", "pass", "env", "onstart", "args", "login", "auth"];

/// An answer of vast.ai as it may be shown and kept: pretty-printed, without what can hold a secret.
pub fn vast_answer_shown(answer: &Value) -> String {
    fn without_secrets(value: &Value) -> Value {
        match value {
            Value::Object(fields) => Value::Object(
                fields
                    .iter()
                    .map(|(name, value)| {
                        let lower = name.to_ascii_lowercase();
                        let secret = SECRET_NAMES.iter().any(|part| lower.contains(part));
                        let shown = if secret && !value.is_null() { Value::from("(not shown)") } else { without_secrets(value) };
                        (name.clone(), shown)
                    })
                    .collect(),
            ),
            Value::Array(items) => Value::Array(items.iter().map(without_secrets).collect()),
            other => other.clone(),
        }
    }
    serde_json::to_string_pretty(&without_secrets(answer)).unwrap_or_default()
}

/// The prover's `/status`.
pub fn prover_status(status: &Value) -> ProverStatus {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let proof = |pipeline: &Value| {
        let mut states: BTreeMap<String, u64> = BTreeMap::new();
        for part in list(&pipeline["partitions"]).iter().take(PARTS_MAX) {
            *states.entry(text(&part["state"]).unwrap_or_else(|| "not told".to_owned())).or_default() += 1;
        }
        ProofInWork {
            job: text(&pipeline["job_id"]).unwrap_or_default(),
            kind: text(&pipeline["proof_kind"]).unwrap_or_default(),
            done: pipeline["partitions_done"].as_u64().unwrap_or_default(),
            of: pipeline["total_partitions"].as_u64(),
            states: states.into_iter().take(STATES_MAX).collect(),
        }
    };
    let worker = |worker: &Value| Worker {
        card: worker["gpu_ordinal"].as_u64(),
        state: text(&worker["state"]).unwrap_or_default(),
        busy_s: number(&worker["busy_secs"]),
    };
    let counters = &status["counters"];
    ProverStatus {
        up_s: number(&status["uptime_secs"]),
        memory_total: number(&status["memory"]["total"]),
        memory_used: number(&status["memory"]["used"]),
        synthesis: status["synthesis"]["active"].as_u64().map(|active| (active, status["synthesis"]["max_concurrent"].as_u64())),
        completed: counters["total_completed"].as_u64(),
        failed: counters["total_failed"].as_u64(),
        proofs: list(&status["pipelines"]).iter().take(PROOFS_MAX).map(proof).collect(),
        workers: list(&status["gpu_workers"]).iter().take(WORKERS_MAX).map(worker).collect(),
        parameters_loaded: status["allocations"]["srs"]
            .as_array()
            .map(|names| names.iter().take(WORKERS_MAX).filter_map(text).collect()),
        queue_depth: counters["queue_depth"].as_u64(),
    }
}
