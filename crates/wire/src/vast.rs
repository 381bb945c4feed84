//! vast.ai's record of a rental and the prover's status, as JSON. What is missing, null or of another type is not told.

use std::collections::BTreeMap;

use dwell_fleet::look::{ProofInWork, ProverStatus, SshAddress, VastRecord, Worker};
use dwell_fleet::{Timestamp, WORDS_LETTERS_MAX, shown};
use serde_json::Value;

use crate::decode;
use crate::probe::UP_MAX_S;

/// Proofs in work that are read at most: failed ones stay in the prover's list for ever.
const PROOFS_MAX: usize = 64;
/// Parts of a proof, names of their states, and workers that are read at most.
const PARTS_MAX: usize = 256;
const STATES_MAX: usize = 8;
const WORKERS_MAX: usize = 64;

fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(|text| shown(text, WORDS_LETTERS_MAX))
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| number.is_finite())
}

fn time(value: &Value) -> Option<Timestamp> {
    crate::lenient::seconds(number(value)?)
}

/// An answer of vast.ai, which is written by Python: `NaN`, `Infinity`, numbers beyond any float, halves of surrogate pairs and bytes
/// that are no text stand in JSON that is right otherwise. Each costs no more than itself: it becomes null, or the mark of what could
/// not be read. `None` where it is no JSON all the same.
pub fn vast_json(body: &[u8]) -> Option<Value> {
    decode(body).ok()
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
        // Nobody is paid for renting: what is below 0 is no price, and lowers no sum.
        dollars_per_h: number(&record["dph_total"]).filter(|dollars| *dollars >= 0.0),
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
        up_s: number(&status["uptime_secs"]).filter(|up_s| (0.0..UP_MAX_S).contains(up_s)),
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_json_does_not_know_costs_no_more_than_itself() {
        let body =
            br#"{"a":NaN,"b":[-Infinity,Infinity,1e999,-1E999,1.5e3,-0.0],"NaN":"NaN, \"Infinity\" \\","c":true,"d":null}"#;
        let read = vast_json(body).unwrap();
        assert_eq!(
            read,
            json!({ "a": null, "b": [null, null, null, null, 1500.0, -0.0], "NaN": "NaN, \"Infinity\" \\", "c": true, "d": null })
        );
        // Half of a pair in each order, a whole one, and an escape that only looks like one.
        let body = br#"{"x":NaN,"a":"\ud83d","b":"\ude00 b","c":"\ud83d\ude00","d":"\\ud83d","e":"\ud83dx"}"#;
        let read = vast_json(body).unwrap();
        assert_eq!((read["a"].as_str(), read["b"].as_str()), (Some("\u{fffd}"), Some("\u{fffd} b")));
        assert_eq!(
            (read["c"].as_str(), read["d"].as_str(), read["e"].as_str()),
            (Some("😀"), Some("\\ud83d"), Some("\u{fffd}x"))
        );
        assert_eq!(vast_json(b"{\"a\":\"\xff\"}").unwrap()["a"], "\u{fffd}");
        for no_json in
            ["", "<html>", "{\"a\":nan}", "{\"a\":NaNNaN}", "{\"a\":\"", "{\"a\":undefined}", "\"\\", "\"\\u", "{\"a\":Infinity"]
        {
            assert_eq!(vast_json(no_json.as_bytes()), None, "{no_json}");
        }
    }

    #[test]
    fn a_price_below_nothing_is_none() {
        let price = |told: serde_json::Value| vast_record(&json!({ "dph_total": told })).dollars_per_h;
        assert_eq!(
            [price(json!(0.4)), price(json!(0)), price(json!(-4.5)), price(json!(null))],
            [Some(0.4), Some(0.0), None, None]
        );
    }

    proptest! {
        /// What is right is read as it stands, and nothing panics.
        #[test]
        fn what_is_right_stays_as_it_is(texts in prop::collection::vec(".*", 0..5), number in any::<f64>().prop_filter("finite", |it| it.is_finite())) {
            let right = json!({ "texts": texts, "number": number });
            let text = serde_json::to_string(&right).unwrap();
            prop_assert_eq!(crate::mended::as_strict(text.as_bytes()), text.clone());
            prop_assert_eq!(vast_json(text.as_bytes()), serde_json::from_str(&text).ok());
        }

        #[test]
        fn nothing_panics(text in "[\"\\\\uDd8NaNinfty0-9e+.{}:,\u{e9} ]{0,40}") {
            let _ = vast_json(text.as_bytes());
        }
    }
}
