//! What the manager keeps: tables that outlive it, and buffers in memory that do not.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::go_json::Writer;
use crate::go_text::rfc3339;
use crate::vast::VastInstance;

/// A row of the table `instances`.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its name, made at registration.
    pub uuid: String,
    /// What it registered as; `C.<vast_id>` in ordinary life.
    pub label: String,
    /// Counts registrations, from 1.
    pub runner_id: i64,
    /// `registered`, `params_done`, `bench_done`, `running` or `killed`.
    pub state: &'static str,
    /// Proofs per hour that its benchmark must reach.
    pub min_rate: f64,
    /// To the second, like every time here.
    pub registered_at: Timestamp,
    /// When its parameters were there.
    pub param_done_at: Option<Timestamp>,
    /// When its benchmark ended.
    pub bench_done_at: Option<Timestamp>,
    /// What it measured, proofs per hour.
    pub bench_rate: Option<f64>,
    /// When it was killed last.
    pub killed_at: Option<Timestamp>,
    /// Why.
    pub kill_reason: Option<String>,
    /// What vast.ai's list said of it when it last had it.
    pub kept: Option<Kept>,
}

/// The columns that the monitor fills from vast.ai's list: they outlive the rental.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    pub(crate) vast_id: i64,
    pub(crate) host_id: i64,
    pub(crate) machine_id: i64,
    pub(crate) gpu_name: String,
    pub(crate) num_gpus: i64,
    pub(crate) dph_total: f64,
    pub(crate) geolocation: String,
    pub(crate) cpu_ram_mb: i64,
    pub(crate) gpu_ram_mb: i64,
    pub(crate) ssh_cmd: String,
    pub(crate) public_ip: String,
}

impl Kept {
    pub(crate) fn of(record: &VastInstance) -> Self {
        Self {
            vast_id: record.int("id"),
            host_id: record.int("host_id"),
            machine_id: record.int("machine_id"),
            gpu_name: record.string("gpu_name").to_owned(),
            num_gpus: record.int("num_gpus"),
            dph_total: record.float("dph_total"),
            geolocation: record.string("geolocation").to_owned(),
            cpu_ram_mb: record.int("cpu_ram"),
            gpu_ram_mb: record.int("gpu_totalram"),
            ssh_cmd: record.ssh_cmd(),
            public_ip: record.string("public_ipaddr").to_owned(),
        }
    }
}

impl Row {
    /// The fields that every answer about it has; what is NULL is left out.
    pub(crate) fn write(&self, to: &mut Writer) {
        to.string("uuid", &self.uuid);
        to.string("label", &self.label);
        to.int("runner_id", self.runner_id);
        to.string("state", self.state);
        to.float("min_rate", self.min_rate);
        to.string("registered_at", &rfc3339(self.registered_at));
        let mut time = |name: &str, at: Option<Timestamp>| at.into_iter().for_each(|at| to.string(name, &rfc3339(at)));
        time("param_done_at", self.param_done_at);
        time("bench_done_at", self.bench_done_at);
        self.bench_rate.into_iter().for_each(|rate| to.float("bench_rate", rate));
        self.killed_at.into_iter().for_each(|at| to.string("killed_at", &rfc3339(at)));
        self.kill_reason.iter().for_each(|reason| to.string("kill_reason", reason));
    }
}

/// The best benchmark of a machine with these cards.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HostPerf {
    pub(crate) machine_id: i64,
    pub(crate) gpu_name: String,
    pub(crate) num_gpus: i64,
    pub(crate) bench_rate: f64,
    pub(crate) cpu_ram_mb: i64,
    pub(crate) measured_at: Timestamp,
}

impl HostPerf {
    pub(crate) fn written(&self) -> Writer {
        Writer::object(|to| {
            to.int("machine_id", self.machine_id);
            to.string("gpu_name", &self.gpu_name);
            to.int("num_gpus", self.num_gpus);
            to.float("bench_rate", self.bench_rate);
            to.int("cpu_ram_mb", self.cpu_ram_mb);
            to.string("measured_at", &rfc3339(self.measured_at));
        })
    }
}

/// A machine whose instances are destroyed.
#[derive(Debug, Clone, PartialEq)]
pub struct BadHost {
    /// Its number, as text.
    pub machine_id: String,
    /// Why.
    pub reason: String,
    /// Since when.
    pub added_at: Timestamp,
}

/// The tables: they outlive a restart.
#[derive(Debug, Clone, Default)]
pub struct Database {
    /// In the order of their registration.
    pub rows: Vec<Row>,
    /// In the order in which they were written.
    pub bad_hosts: Vec<BadHost>,
    pub(crate) host_perf: Vec<HostPerf>,
    pub(crate) runner_ids: i64,
    pub(crate) uuids: u64,
}

impl Database {
    pub(crate) fn by_uuid(&mut self, uuid: &str) -> Option<&mut Row> {
        self.rows.iter_mut().find(|row| row.uuid == uuid)
    }

    pub(crate) fn bad_host(&self, machine_id: &str) -> Option<&BadHost> {
        self.bad_hosts.iter().find(|host| host.machine_id == machine_id)
    }

    /// Newest first, as every list of them is ordered.
    pub(crate) fn newest_first(&self) -> impl Iterator<Item = &Row> {
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.runner_id));
        rows.into_iter()
    }

    pub(crate) fn best_by_machine(&self) -> BTreeMap<i64, &HostPerf> {
        self.host_perf.iter().map(|perf| (perf.machine_id, perf)).collect()
    }

    /// A random uuid in form, the same in every run.
    pub(crate) fn fresh_uuid(&mut self) -> String {
        self.uuids += 1;
        let word = |salt: u64| {
            // SplitMix64's mixing of a counter.
            let mut x = (self.uuids * 2 + salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            x ^ (x >> 31)
        };
        let (high, low) = (word(0), word(1));
        let version = (high & !0xf000) | 0x4000;
        let variant = (low & !(0b11 << 62)) | (0b10 << 62);
        format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            version >> 32,
            (version >> 16) & 0xffff,
            version & 0xffff,
            variant >> 48,
            variant & 0xffff_ffff_ffff
        )
    }
}

/// One line of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// Its source as the sender names it.
    pub source: Vec<u8>,
    /// Its text: any bytes.
    pub text: Vec<u8>,
    /// When it arrived, Unix milliseconds.
    pub ts: i64,
}

/// A log in memory.
#[derive(Debug, Clone)]
pub struct LogBuffer {
    lines: Vec<LogLine>,
    max: usize,
}

impl LogBuffer {
    pub(crate) fn new(max: usize) -> Self {
        Self { lines: Vec::new(), max }
    }

    /// Appends the lines of a text, none of the empty ones. Beyond the maximum the oldest tenth is dropped.
    pub(crate) fn append(&mut self, source: &[u8], text: &[u8], ts: i64) {
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            self.lines.push(LogLine { source: source.to_vec(), text: line.to_vec(), ts });
            if self.lines.len() > self.max {
                self.lines.drain(..(self.max / 10).max(1));
            }
        }
    }

    /// The newest `tail` lines of a source; of all with "" and with "all".
    pub(crate) fn written(&self, filter: &[u8], tail: usize) -> Writer {
        let wanted = |line: &&LogLine| filter.is_empty() || filter == b"all" || line.source == filter;
        let lines: Vec<&LogLine> = self.lines.iter().filter(wanted).collect();
        Writer::array(lines[lines.len().saturating_sub(tail)..].iter().map(|line| {
            Writer::object(|to| {
                to.bytes("src", &line.source);
                to.bytes("text", &line.text);
                to.int("ts", line.ts);
            })
        }))
    }

    /// Every line that is held, the oldest first.
    pub fn lines(&self) -> &[LogLine] {
        &self.lines
    }
}
