//! The manager's bodies, field by field in the order in which it writes them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::lenient::{flag, real, text, time, whole, write_flag, write_real, write_text, write_time, write_whole};

/// Rows of a dashboard that are read. Fleets have hundreds.
pub const ROWS_MAX: usize = 20_000;

/// `GET /api/dashboard`.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Dashboard {
    /// One per row of the manager, and one per vast.ai instance that no row matches.
    pub instances: Vec<Instance>,
    /// Machines it destroys instances on.
    pub bad_hosts: Vec<BadHostEntry>,
    /// Its own counts, which mislead: see [`Summary`].
    pub summary: Summary,
    /// Its clock.
    #[serde(serialize_with = "write_time")]
    pub updated_at: Option<Timestamp>,
    /// Age in seconds of its copy of vast.ai's records; enormous before the first copy.
    #[serde(serialize_with = "write_real")]
    pub vast_cache_age_s: Option<f64>,
    /// Rows received that are no objects, and those beyond [`ROWS_MAX`].
    #[serde(skip)]
    pub instances_unreadable: usize,
}

impl<'de> Deserialize<'de> for Dashboard {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Rows are held raw first, so that one bad row costs itself and not the answer.
        #[derive(Deserialize)]
        struct Raw {
            #[serde(default)]
            instances: Option<Vec<Box<RawValue>>>,
            #[serde(default)]
            bad_hosts: Option<Vec<Box<RawValue>>>,
            #[serde(default)]
            summary: Option<Box<RawValue>>,
            #[serde(default, deserialize_with = "time")]
            updated_at: Option<Timestamp>,
            #[serde(default, deserialize_with = "real")]
            vast_cache_age_s: Option<f64>,
        }
        let raw = Raw::deserialize(deserializer)?;
        let Some(rows) = raw.instances else {
            return Err(serde::de::Error::custom("no list of instances in it"));
        };
        let received = rows.len();
        let instances: Vec<Instance> =
            rows.iter().take(ROWS_MAX).filter_map(|row| serde_json::from_str(row.get()).ok()).collect();
        Ok(Self {
            instances_unreadable: received - instances.len(),
            instances,
            bad_hosts: raw
                .bad_hosts
                .unwrap_or_default()
                .iter()
                .filter_map(|entry| serde_json::from_str(entry.get()).ok())
                .collect(),
            summary: raw.summary.and_then(|summary| serde_json::from_str(summary.get()).ok()).unwrap_or_default(),
            updated_at: raw.updated_at,
            vast_cache_age_s: raw.vast_cache_age_s,
        })
    }
}

/// One row of the dashboard. `GET /status` answers the same up to `kill_reason`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[expect(missing_docs, reason = "the wire's own names; meanings and units stand on `dwell_fleet::Row` and `VastFacts`")]
#[serde(default)]
pub struct Instance {
    #[serde(deserialize_with = "text", serialize_with = "write_text")]
    pub uuid: Option<String>,
    #[serde(deserialize_with = "text", serialize_with = "write_text")]
    pub label: Option<String>,
    #[serde(deserialize_with = "whole", serialize_with = "write_whole")]
    pub runner_id: Option<u64>,
    #[serde(deserialize_with = "text", serialize_with = "write_text")]
    pub state: Option<String>,
    #[serde(deserialize_with = "real", serialize_with = "write_real")]
    pub min_rate: Option<f64>,
    #[serde(deserialize_with = "time", serialize_with = "write_time")]
    pub registered_at: Option<Timestamp>,
    #[serde(deserialize_with = "time", serialize_with = "write_time", skip_serializing_if = "Option::is_none")]
    pub param_done_at: Option<Timestamp>,
    #[serde(deserialize_with = "time", serialize_with = "write_time", skip_serializing_if = "Option::is_none")]
    pub bench_done_at: Option<Timestamp>,
    #[serde(deserialize_with = "real", serialize_with = "write_real", skip_serializing_if = "Option::is_none")]
    pub bench_rate: Option<f64>,
    #[serde(deserialize_with = "time", serialize_with = "write_time", skip_serializing_if = "Option::is_none")]
    pub killed_at: Option<Timestamp>,
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub kill_reason: Option<String>,
    #[serde(deserialize_with = "whole", serialize_with = "write_whole")]
    pub vast_id: Option<u64>,
    #[serde(deserialize_with = "text", serialize_with = "write_text")]
    pub gpu_name: Option<String>,
    #[serde(deserialize_with = "whole", serialize_with = "write_whole")]
    pub num_gpus: Option<u64>,
    #[serde(deserialize_with = "real", serialize_with = "write_real")]
    pub dph_total: Option<f64>,
    #[serde(deserialize_with = "real", serialize_with = "write_real")]
    pub price_per_proof: Option<f64>,
    #[serde(deserialize_with = "text", serialize_with = "write_text")]
    pub ssh_cmd: Option<String>,
    #[serde(deserialize_with = "whole", serialize_with = "write_whole")]
    pub host_id: Option<u64>,
    #[serde(deserialize_with = "whole", serialize_with = "write_whole")]
    pub machine_id: Option<u64>,
    #[serde(deserialize_with = "text", serialize_with = "write_text")]
    pub geolocation: Option<String>,
    #[serde(deserialize_with = "real", serialize_with = "write_real")]
    pub cpu_ram_mb: Option<f64>,
    #[serde(deserialize_with = "real", serialize_with = "write_real")]
    pub gpu_util: Option<f64>,
    #[serde(deserialize_with = "real", serialize_with = "write_real")]
    pub gpu_temp: Option<f64>,
    #[serde(deserialize_with = "real", serialize_with = "write_real")]
    pub gpu_ram_mb: Option<f64>,
    #[serde(deserialize_with = "real", serialize_with = "write_real")]
    pub cuda_version: Option<f64>,
    #[serde(deserialize_with = "real", serialize_with = "write_real")]
    pub inet_down_mbps: Option<f64>,
    #[serde(deserialize_with = "real", serialize_with = "write_real")]
    pub inet_up_mbps: Option<f64>,
    #[serde(deserialize_with = "real", serialize_with = "write_real")]
    pub cpu_util: Option<f64>,
    #[serde(deserialize_with = "real", serialize_with = "write_real")]
    pub mem_usage_gb: Option<f64>,
    #[serde(deserialize_with = "real", serialize_with = "write_real")]
    pub mem_limit_gb: Option<f64>,
    #[serde(deserialize_with = "real", serialize_with = "write_real")]
    pub disk_space_gb: Option<f64>,
    #[serde(deserialize_with = "real", serialize_with = "write_real")]
    pub gpu_mem_bw: Option<f64>,
    #[serde(deserialize_with = "text", serialize_with = "write_text")]
    pub driver_version: Option<String>,
    #[serde(deserialize_with = "real", serialize_with = "write_real")]
    pub reliability: Option<f64>,
    #[serde(deserialize_with = "real", serialize_with = "write_real")]
    pub start_date: Option<f64>,
    #[serde(deserialize_with = "real", serialize_with = "write_real")]
    pub gpu_frac: Option<f64>,
    #[serde(deserialize_with = "text", serialize_with = "write_text")]
    pub status_msg: Option<String>,
    #[serde(deserialize_with = "text", serialize_with = "write_text")]
    pub public_ip: Option<String>,
    #[serde(deserialize_with = "flag", serialize_with = "write_flag")]
    pub has_logs: Option<bool>,
    #[serde(deserialize_with = "whole", serialize_with = "write_whole")]
    pub log_lines: Option<u64>,
}

/// The manager's own counts. `benching` is `params_done` and `bench_done` together; the dollar and GPU sums are of
/// `running` instances alone, so money spent on stuck ones is not in them. Dwell computes its own.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[expect(missing_docs, reason = "the wire's own names, explained above")]
#[serde(default)]
pub struct Summary {
    #[serde(deserialize_with = "whole", serialize_with = "write_whole")]
    pub total: Option<u64>,
    #[serde(deserialize_with = "whole", serialize_with = "write_whole")]
    pub running: Option<u64>,
    #[serde(deserialize_with = "whole", serialize_with = "write_whole")]
    pub benching: Option<u64>,
    #[serde(deserialize_with = "whole", serialize_with = "write_whole")]
    pub fetching: Option<u64>,
    #[serde(deserialize_with = "whole", serialize_with = "write_whole")]
    pub loading: Option<u64>,
    #[serde(deserialize_with = "whole", serialize_with = "write_whole")]
    pub killed: Option<u64>,
    #[serde(deserialize_with = "real", serialize_with = "write_real")]
    pub total_dph: Option<f64>,
    #[serde(deserialize_with = "real", serialize_with = "write_real")]
    pub total_proofs_hour: Option<f64>,
    #[serde(deserialize_with = "real", serialize_with = "write_real")]
    pub avg_price_per_proof: Option<f64>,
    #[serde(deserialize_with = "whole", serialize_with = "write_whole")]
    pub total_gpus: Option<u64>,
}

/// An entry of `GET /bad-host`. The machine is text here and a number on instances.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[expect(missing_docs, reason = "the wire's own names")]
#[serde(default)]
pub struct BadHostEntry {
    #[serde(deserialize_with = "text", serialize_with = "write_text")]
    pub machine_id: Option<String>,
    #[serde(deserialize_with = "text", serialize_with = "write_text")]
    pub reason: Option<String>,
    #[serde(deserialize_with = "time", serialize_with = "write_time")]
    pub added_at: Option<Timestamp>,
}

/// A line of `GET /api/instance-logs/{uuid}` or `GET /api/manager-logs`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct LogLine {
    /// Source (`src` on the wire, not `source`).
    #[serde(deserialize_with = "text", serialize_with = "write_text")]
    pub src: Option<String>,
    /// The line.
    #[serde(deserialize_with = "text", serialize_with = "write_text")]
    pub text: Option<String>,
    /// Arrival at the manager, milliseconds since the epoch.
    #[serde(deserialize_with = "whole", serialize_with = "write_whole")]
    pub ts: Option<u64>,
}

/// `GET /api/offers`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Offers {
    /// The offers.
    pub offers: Vec<Offer>,
    /// Offers that vast.ai gave.
    #[serde(deserialize_with = "whole", serialize_with = "write_whole")]
    pub total: Option<u64>,
    /// Offers left after filtering.
    #[serde(deserialize_with = "whole", serialize_with = "write_whole")]
    pub filtered: Option<u64>,
}

/// An offer as vast.ai gives it, plus what the manager knows of the machine. Everything else that came is in `more`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[expect(missing_docs, reason = "the wire's own names")]
#[serde(default)]
pub struct Offer {
    #[serde(deserialize_with = "whole", serialize_with = "write_whole")]
    pub id: Option<u64>,
    #[serde(deserialize_with = "whole", serialize_with = "write_whole")]
    pub host_id: Option<u64>,
    #[serde(deserialize_with = "whole", serialize_with = "write_whole")]
    pub machine_id: Option<u64>,
    #[serde(deserialize_with = "text", serialize_with = "write_text")]
    pub gpu_name: Option<String>,
    #[serde(deserialize_with = "whole", serialize_with = "write_whole")]
    pub num_gpus: Option<u64>,
    #[serde(deserialize_with = "real", serialize_with = "write_real")]
    pub gpu_ram: Option<f64>,
    #[serde(deserialize_with = "real", serialize_with = "write_real")]
    pub dph_total: Option<f64>,
    #[serde(deserialize_with = "text", serialize_with = "write_text")]
    pub geolocation: Option<String>,
    #[serde(deserialize_with = "real", skip_serializing_if = "Option::is_none")]
    pub known_perf: Option<f64>,
    #[serde(deserialize_with = "flag", serialize_with = "write_flag")]
    pub is_bad_host: Option<bool>,
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub bad_reason: Option<String>,
    #[serde(flatten)]
    pub more: serde_json::Map<String, serde_json::Value>,
}

/// An entry of `GET /api/host-perf`: the best rate ever measured on a machine, not the latest.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[expect(missing_docs, reason = "the wire's own names; `bench_rate` in proofs per hour, `cpu_ram_mb` in MiB")]
#[serde(default)]
pub struct HostPerf {
    #[serde(deserialize_with = "whole", serialize_with = "write_whole")]
    pub machine_id: Option<u64>,
    #[serde(deserialize_with = "text", serialize_with = "write_text")]
    pub gpu_name: Option<String>,
    #[serde(deserialize_with = "whole", serialize_with = "write_whole")]
    pub num_gpus: Option<u64>,
    #[serde(deserialize_with = "real", serialize_with = "write_real")]
    pub bench_rate: Option<f64>,
    #[serde(deserialize_with = "real", serialize_with = "write_real")]
    pub cpu_ram_mb: Option<f64>,
    #[serde(deserialize_with = "time", serialize_with = "write_time")]
    pub measured_at: Option<Timestamp>,
}

/// Body of `POST /api/kill`.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(default)]
#[derive(Default)]
pub struct KillRequest {
    /// vast.ai's number; 0 marks the manager's row alone.
    pub vast_id: u64,
    /// The manager's id.
    pub uuid: String,
}

/// Body of `POST /api/deploy`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct DeployRequest {
    /// Offer to rent.
    pub offer_id: u64,
    /// Its machine; without it the manager does not check its list of bad hosts.
    pub machine_id: u64,
    /// Proofs per hour below which the manager kills it after its benchmark.
    pub min_rate: f64,
    /// Disk, GB: whole, for the manager's field is an integer and refuses `250.0`.
    pub disk: u64,
}

/// Answer of `POST /api/deploy`. `instance_id` can be 0 on success, when the CLI's text did not parse.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[expect(missing_docs, reason = "the wire's own names")]
#[serde(default)]
pub struct DeployAnswer {
    #[serde(deserialize_with = "flag", serialize_with = "write_flag")]
    pub ok: Option<bool>,
    #[serde(deserialize_with = "whole", serialize_with = "write_whole")]
    pub instance_id: Option<u64>,
    #[serde(deserialize_with = "text", serialize_with = "write_text")]
    pub message: Option<String>,
}

/// `{"error": "..."}`, with 400, 404, 409, 500 or 502.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct ErrorBody {
    /// The manager's words.
    #[serde(deserialize_with = "text", serialize_with = "write_text")]
    pub error: Option<String>,
}
