//! One answer of the manager's dashboard, in the domain's terms. What a source did not give is `None`.

use crate::{HostId, InstanceUuid, MachineId, State, Timestamp, VastId, id::vast_id_of_label, shift};

/// One dashboard answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// When the request was sent, on the operator's clock.
    pub requested_at: Timestamp,
    /// When the answer was complete, on the operator's clock.
    pub received_at: Timestamp,
    /// `updated_at`: the manager's clock when it answered, whole seconds.
    pub manager_time: Option<Timestamp>,
    /// Age in seconds of the manager's copy of vast.ai's records. `None` before the first copy.
    pub vast_cache_age_s: Option<f64>,
    /// The instances.
    pub rows: Vec<Row>,
    /// Machines that the manager destroys instances on.
    pub bad_hosts: Vec<BadHost>,
    /// Rows that could not be read at all (not objects). Never silently dropped: the window says how many.
    pub rows_unreadable: usize,
}

impl Snapshot {
    /// The time this answer speaks of, on the manager's clock; the operator's clock where the manager gave none.
    pub fn as_of(&self) -> Timestamp {
        self.manager_time.unwrap_or(self.received_at)
    }

    /// The manager's clock minus the operator's, in seconds. `updated_at` is cut to whole seconds, so half of one is
    /// added; the answer is taken to have been made halfway between request and receipt.
    pub fn clock_skew_s(&self) -> Option<f64> {
        let manager_ms = self.manager_time?.as_millisecond() as f64 + 500.0;
        let middle_ms = (self.requested_at.as_millisecond() + self.received_at.as_millisecond()) as f64 / 2.0;
        Some((manager_ms - middle_ms) / 1000.0)
    }

    /// When vast.ai's record was read by the manager, on the manager's clock.
    pub fn vast_read_at(&self) -> Option<Timestamp> {
        self.vast_cache_age_s.map(|age_s| shift(self.as_of(), -age_s))
    }
}

/// One instance as one answer told it.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Absent on `loading` rows.
    pub uuid: Option<InstanceUuid>,
    /// Absent when no vast.ai record matches the row (any more).
    pub vast_id: Option<VastId>,
    /// vast.ai label; the manager matches by it.
    pub label: Option<String>,
    /// The manager's running number.
    pub runner_id: Option<u64>,
    /// What the instance last said.
    pub state: State,
    /// Proofs per hour below which the manager kills it after its benchmark.
    pub min_rate_proofs_per_h: Option<f64>,
    /// First registration.
    pub registered_at: Option<Timestamp>,
    /// Parameters reported fetched.
    pub param_done_at: Option<Timestamp>,
    /// Benchmark reported.
    pub bench_done_at: Option<Timestamp>,
    /// Killed, by the manager's word. Stays set when a killed row comes back.
    pub killed_at: Option<Timestamp>,
    /// Proofs per hour in the benchmark. A reported 0 is `Some(0.0)`.
    pub bench_rate_proofs_per_h: Option<f64>,
    /// The manager's reason for killing it.
    pub kill_reason: Option<String>,
    /// Lines now in the manager's log buffer for it. `None` for rows without uuid: there is no buffer.
    pub log_lines: Option<u64>,
    /// vast.ai's record as the manager last read it.
    pub vast: VastFacts,
}

impl Row {
    /// A row with a state and nothing else told.
    pub fn bare(state: State) -> Self {
        Self {
            uuid: None,
            vast_id: None,
            label: None,
            runner_id: None,
            state,
            min_rate_proofs_per_h: None,
            registered_at: None,
            param_done_at: None,
            bench_done_at: None,
            killed_at: None,
            bench_rate_proofs_per_h: None,
            kill_reason: None,
            log_lines: None,
            vast: VastFacts::default(),
        }
    }

    /// The vast.ai number: of its record, of the one that the manager kept, or inside a label `C.<vast_id>`.
    pub fn vast_id_told(&self) -> Option<VastId> {
        self.vast_id.or(self.vast.kept_id).or_else(|| self.label.as_deref().and_then(vast_id_of_label))
    }

    /// The manager's own timestamp of entering `state`, where it keeps one.
    pub fn stamp(&self, state: &State) -> Option<Timestamp> {
        match state {
            State::Registered => self.registered_at,
            State::ParamsDone => self.param_done_at,
            State::BenchDone => self.bench_done_at,
            State::Killed => self.killed_at,
            State::Loading | State::Running | State::Unknown(_) => None,
        }
    }
}

/// vast.ai's record of an instance. Every field can be absent; the manager writes 0 or "" where vast.ai did not say.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VastFacts {
    /// e.g. `RTX 4090`.
    pub gpu_name: Option<String>,
    /// Cards rented.
    pub num_gpus: Option<u64>,
    /// Price, US dollars per hour.
    pub dollars_per_h: Option<f64>,
    /// Command line to reach it by SSH, as the manager wrote it. Hostile text: never run as it is.
    pub ssh_command: Option<String>,
    /// Account offering the machine.
    pub host_id: Option<HostId>,
    /// Physical machine.
    pub machine_id: Option<MachineId>,
    /// e.g. `Norway, NO`.
    pub geolocation: Option<String>,
    /// Host memory, MiB.
    pub cpu_ram_mib: Option<f64>,
    /// GPU load, percent. `Some(0.0)` only where the same record shows a temperature: a told idle.
    pub gpu_util_percent: Option<f64>,
    /// GPU temperature, degrees Celsius.
    pub gpu_temp_c: Option<f64>,
    /// GPU memory, MiB.
    pub gpu_ram_mib: Option<f64>,
    /// Highest CUDA version the driver supports.
    pub cuda_version: Option<f64>,
    /// Download bandwidth, Mbit/s.
    pub inet_down_mbps: Option<f64>,
    /// Upload bandwidth, Mbit/s.
    pub inet_up_mbps: Option<f64>,
    /// CPU load, percent.
    pub cpu_util_percent: Option<f64>,
    /// Memory used, GB.
    pub mem_usage_gb: Option<f64>,
    /// Memory limit, GB.
    pub mem_limit_gb: Option<f64>,
    /// Disk rented, GB.
    pub disk_space_gb: Option<f64>,
    /// GPU memory bandwidth, GB/s.
    pub gpu_mem_bw_gb_s: Option<f64>,
    /// NVIDIA driver.
    pub driver_version: Option<String>,
    /// vast.ai's reliability score, 0 to 1.
    pub reliability: Option<f64>,
    /// When the rental started, on vast.ai's clock.
    pub start_date: Option<Timestamp>,
    /// Share of the machine's cards.
    pub gpu_frac: Option<f64>,
    /// vast.ai's status message. Hostile text.
    pub status_msg: Option<String>,
    /// Address of the machine.
    pub public_ip: Option<String>,
    /// The number, where the manager's list has no record of it: these are a few fields of an earlier one, which it kept.
    pub kept_id: Option<VastId>,
}

impl VastFacts {
    /// The image named in a status message of the form `success, running IMAGE`.
    pub fn image(&self) -> Option<&str> {
        let (_, image) = self.status_msg.as_deref()?.split_once("running ")?;
        let image = image.split_whitespace().next()?;
        image.contains('/').then_some(image)
    }

    /// Card model with its count, e.g. `2x RTX 5090`: what dwell is compared by.
    pub fn gpu_kind(&self) -> Option<String> {
        let name = self.gpu_name.as_deref()?;
        Some(match self.num_gpus {
            Some(count) if count > 1 => format!("{count}x {name}"),
            _ => name.to_owned(),
        })
    }
}

/// A machine on the manager's list of bad hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadHost {
    /// The machine, as text: the manager writes it so.
    pub machine_id: String,
    /// Why.
    pub reason: Option<String>,
    /// Since when.
    pub added_at: Option<Timestamp>,
}
