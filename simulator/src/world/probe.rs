//! What a look at the machine itself would show: over SSH, and of the prover's status. Read-only; nothing in the world
//! changes by it.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::instance::Daemon;
use super::{Instance, Source, Stuck, Task, World};
use crate::conditions::{Card, Driver, Line};
use crate::dice::wobble;
use crate::manager::plus_ms;

/// Partitions of a proof.
const PARTITIONS: u64 = 10;

/// How far a connection by SSH gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SshReach {
    /// In.
    Connected,
    /// Nothing answers.
    TimedOut,
    /// Nothing listens there.
    Refused,
    /// The operator's key is not accepted.
    KeyRefused,
    /// There is nothing to connect to.
    NoAddress,
}

/// A process on the instance.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessView {
    /// Process id.
    pub pid: u32,
    /// Program.
    pub program: String,
    /// `R`, `S`, `D` or `Z`, as `ps` prints it.
    pub state: char,
    /// When it started.
    pub started_at: Timestamp,
    /// Resident memory, GiB.
    pub memory_gib: f64,
    /// Processor load, percent of one core.
    pub cpu_percent: f64,
}

/// A log file on the instance.
#[derive(Debug, Clone, PartialEq)]
pub struct FileView {
    /// Where.
    pub path: String,
    /// Bytes.
    pub bytes: u64,
    /// Last written.
    pub modified_at: Option<Timestamp>,
    /// Its newest lines, oldest first.
    pub tail: Vec<String>,
}

/// One card as `nvidia-smi` queries it.
#[derive(Debug, Clone, PartialEq)]
pub struct GpuView {
    /// Model.
    pub name: String,
    /// Load, percent.
    pub load_percent: f64,
    /// Temperature, C.
    pub temperature_c: f64,
    /// Memory used, MiB.
    pub memory_used_mib: f64,
    /// Memory, MiB.
    pub memory_mib: f64,
    /// Graphics clock as a share of its usual one.
    pub clock_share: f64,
    /// Why the clocks are low.
    pub throttle_reason: String,
    /// Bus link width now; 16 when nothing is wrong.
    pub bus_width: u32,
    /// Processes on the card.
    pub processes: Vec<u32>,
}

/// What `nvidia-smi` comes to.
#[derive(Debug, Clone, PartialEq)]
pub enum Smi {
    /// The cards.
    Cards(Vec<GpuView>),
    /// It ends with an error.
    Failed(String),
    /// It does not come back within ten seconds.
    TimedOut,
}

/// What the fixed list of read-only commands would print.
#[derive(Debug, Clone, PartialEq)]
pub struct HostView {
    /// How far the connection gets by the direct port.
    pub direct: SshReach,
    /// How far it gets through vast.ai's proxy.
    pub proxy: SshReach,
    /// Everything below is empty unless one of the two got in.
    pub clock: Option<Timestamp>,
    /// Start of the container.
    pub container_started_at: Option<Timestamp>,
    /// When the image was built, by its version file.
    pub image_built: Option<Timestamp>,
    /// Processes, by pid.
    pub processes: Vec<ProcessView>,
    /// Exit codes of what has ended, oldest first: program, code, time.
    pub exits: Vec<(String, i32, Timestamp)>,
    /// The cards.
    pub smi: Option<Smi>,
    /// Kernel log lines about cards and memory; `None` where it may not be read.
    pub kernel: Option<Vec<(Timestamp, String)>>,
    /// Memory that the container may use, GiB.
    pub memory_limit_gib: f64,
    /// Memory that it uses, GiB.
    pub memory_used_gib: f64,
    /// `oom_kill` in `memory.events`.
    pub oom_kills: u32,
    /// Periods in which a quota stopped it, `nr_throttled`.
    pub throttled_periods: u64,
    /// Memory that may be pinned is limited.
    pub locked_memory_limited: bool,
    /// Processor flags include ADX.
    pub has_adx: bool,
    /// Disk, GB.
    pub disk_gb: f64,
    /// Disk used, GB.
    pub disk_used_gb: f64,
    /// Bytes of parameters on disk.
    pub parameter_bytes: u64,
    /// Sequential read of the disk, MB/s.
    pub disk_mb_s: f64,
    /// Log files that exist.
    pub files: Vec<FileView>,
    /// Sockets that something listens on.
    pub listening: Vec<String>,
    /// A name can be resolved.
    pub resolves_names: bool,
    /// The manager's status route answers from there.
    pub reaches_manager: bool,
}

/// What asking the prover for its status comes to, with curl's exit code.
#[derive(Debug, Clone, PartialEq)]
pub enum ProverStatus {
    /// Its status.
    Answer(Value),
    /// curl ended with this code: 7 refused, 28 timed out.
    Failed(i32),
    /// SSH did not get there: 255.
    NoSsh,
}

impl World {
    fn reach(&self, index: usize, direct: bool) -> SshReach {
        let instance = &self.instances[index];
        let conditions = &instance.conditions;
        if instance.container.is_none() || direct && !conditions.host.direct_ports || instance.contract.runtype == "args" {
            return SshReach::NoAddress;
        }
        if conditions.host.offline {
            return SshReach::TimedOut;
        }
        if conditions.software.tool_lacking == Some("ssh") {
            return SshReach::Refused;
        }
        if conditions.lines.key_accepted { SshReach::Connected } else { SshReach::KeyRefused }
    }

    /// How far a connection gets, by the direct port and through the proxy; `None` for a number that is nobody's.
    pub fn ssh_reach(&self, vast_id: u64) -> Option<(SshReach, SshReach)> {
        let index = self.find(vast_id)?;
        Some((self.reach(index, true), self.reach(index, false)))
    }

    /// What a look by SSH would show; `None` for a number that is nobody's.
    pub fn host_view(&self, vast_id: u64) -> Option<HostView> {
        let index = self.find(vast_id)?;
        let instance = &self.instances[index];
        let (direct, proxy) = (self.reach(index, true), self.reach(index, false));
        let conditions = &instance.conditions;
        let inside = instance.container.as_ref().filter(|_| direct == SshReach::Connected || proxy == SshReach::Connected);
        let mut view = HostView {
            direct,
            proxy,
            clock: None,
            container_started_at: None,
            image_built: None,
            processes: Vec::new(),
            exits: Vec::new(),
            smi: None,
            kernel: None,
            memory_limit_gib: self.memory_limit_gib(index),
            memory_used_gib: 0.0,
            oom_kills: 0,
            throttled_periods: 0,
            locked_memory_limited: false,
            has_adx: true,
            disk_gb: self.disk_gb(index),
            disk_used_gb: 0.0,
            parameter_bytes: 0,
            disk_mb_s: 0.0,
            files: Vec::new(),
            listening: Vec::new(),
            resolves_names: false,
            reaches_manager: false,
        };
        let Some(container) = inside else { return Some(view) };
        view.clock = Some(plus_ms(self.now, (conditions.host.clock_ahead_s * 1000.0) as i64));
        view.container_started_at = Some(container.started_at);
        view.image_built = self.scenario.images[instance.image].built;
        view.processes = self.processes(index);
        view.exits = container.exits.iter().map(|exit| (exit.program.to_owned(), exit.code, exit.at)).collect();
        view.smi = Some(self.smi(index));
        // Every third machine does not let a container read the kernel log.
        let readable = wobble(instance.vast_id, 31) >= 1.0 / 3.0;
        view.kernel = readable.then(|| instance.kernel.clone());
        view.memory_used_gib = self.reading(index).memory_gb;
        view.oom_kills = container.oom_kills;
        if conditions.host.cpu_quota {
            view.throttled_periods = (self.seconds_since(container.started_at) * 8.0) as u64;
        }
        view.locked_memory_limited = !conditions.host.pins_memory;
        view.has_adx = conditions.host.adx;
        view.disk_used_gb = self.disk_used_gb(index);
        let gateway_page = conditions.software.gateway == crate::conditions::Gateway::ErrorPage;
        view.parameter_bytes = if gateway_page { 322 } else { (instance.parameters_gib * 1_073_741_824.0) as u64 };
        view.disk_mb_s = (self.machines[instance.machine].disk_mb_s * conditions.host.disk_share).round();
        view.files = Source::ALL
            .into_iter()
            .filter(|source| instance.files[*source as usize].bytes > 0)
            .map(|source| {
                let file = &instance.files[source as usize];
                let tail = file.newest.iter().map(|line| line.to_string()).collect();
                FileView { path: source.path().to_owned(), bytes: file.bytes, modified_at: file.modified_at, tail }
            })
            .collect();
        view.listening = self.listening(index);
        view.resolves_names = conditions.lines.names;
        let line = if conditions.lines.tunnel { conditions.lines.manager } else { Line::Cut };
        view.reaches_manager = matches!(line, Line::Good | Line::Slow(_) | Line::DropsLarge) && self.manager.is_up();
        Some(view)
    }

    fn processes(&self, index: usize) -> Vec<ProcessView> {
        let instance = &self.instances[index];
        let Some(container) = &instance.container else { return Vec::new() };
        let software = &instance.conditions.software;
        let reading = self.reading(index);
        let mut processes = Vec::new();
        let mut add = |pid: u32, program: &str, state: char, started_at: Timestamp, memory_gib: f64, cpu_percent: f64| {
            processes.push(ProcessView { pid, program: program.to_owned(), state, started_at, memory_gib, cpu_percent });
        };
        let start = container.started_at;
        add(1, "/.launch", 'S', start, 0.01, 0.0);
        if software.tool_lacking != Some("ssh") {
            add(21, "sshd", 'S', start, 0.01, 0.0);
        }
        let script = !matches!(instance.task, Task::Over) && container.script_exit.is_none();
        if script {
            add(31, "entrypoint.sh", 'S', start, 0.01, 0.0);
        }
        let booted = software.starts && software.entrypoint_death.is_none() && software.tool_lacking.is_none();
        if booted && instance.conditions.lines.tunnel {
            add(33, "portavail", 'S', start, 0.02, 0.1);
        }
        let image = &self.scenario.images[instance.image];
        if booted && software.shipper_runs && !software.ships_nothing && !image.ships.is_empty() {
            add(35, "logship.sh", 'S', start, 0.01, 0.1);
        }
        if instance.task == Task::Fetching {
            let state = if instance.stuck.is_some() { 'S' } else { 'R' };
            add(37, "curio fetch-params", state, container.fetch_started_at.unwrap_or(start), 0.4, 20.0);
        }
        if let Some(pid) = container.leftover_pid {
            add(pid, "cuzk-daemon", 'S', start, 84.0, 0.0);
        }
        if let Some(daemon) = &container.daemon {
            let state = match instance.stuck {
                Some(Stuck::Driver) => 'D',
                None if matches!(instance.task, Task::Benchmarking { .. } | Task::Proving | Task::WarmingUp { .. }) => 'R',
                _ => 'S',
            };
            add(daemon.pid, "cuzk-daemon", state, daemon.started_at, reading.memory_gb, reading.cpu_util * 10.0);
        }
        match instance.task {
            // The script is there all through the benchmark; its client only while it has a daemon to talk to.
            Task::WarmingUp { .. } | Task::Preloading | Task::Benchmarking { .. } | Task::Connecting => {
                add(container.pids + 2, "benchmark.sh", 'S', instance.task_since, 0.01, 0.0);
                let client = match instance.task {
                    Task::Benchmarking { .. } => container.bench_started_at,
                    Task::WarmingUp { .. } => container.daemon.as_ref().map(|daemon| daemon.started_at),
                    _ => None,
                };
                if let Some(since) = client {
                    add(container.pids + 3, "cuzk-bench", 'S', since, 0.2, 0.0);
                }
            }
            Task::Proving => add(container.pids + 5, "curio", 'S', instance.task_since, 1.1, 4.0),
            _ => {}
        }
        processes.sort_by_key(|process| process.pid);
        processes
    }

    fn smi(&self, index: usize) -> Smi {
        let instance = &self.instances[index];
        let (gpu, machine) = (&instance.conditions.gpu, &self.machines[instance.machine]);
        match gpu.card {
            Card::Lost => {
                return Smi::Failed("Unable to determine the device handle for GPU0000:01:00.0: GPU is lost. Reboot the system to recover this GPU".to_owned());
            }
            Card::FirmwareSilent | Card::DriverBusy => return Smi::TimedOut,
            Card::Works => {}
        }
        match gpu.driver {
            Driver::LibraryMismatch => {
                return Smi::Failed("Failed to initialize NVML: Driver/library version mismatch".to_owned());
            }
            Driver::DevicesLost => return Smi::Failed("Failed to initialize NVML: Unknown Error".to_owned()),
            _ => {}
        }
        let reading = self.reading(index);
        let daemon = instance.container.as_ref().and_then(|container| container.daemon.as_ref());
        let working = gpu.cards_working.unwrap_or(machine.cards);
        let busy = reading.gpu_util > 10.0;
        let card = |number: u64| GpuView {
            name: format!("NVIDIA GeForce {}", machine.card.name),
            load_percent: if number < working { reading.gpu_util } else { 0.0 },
            temperature_c: reading.gpu_temp,
            memory_used_mib: reading.card_memory_gb * 1000.0,
            memory_mib: machine.card.memory_mib as f64,
            clock_share: if busy { gpu.clock_share } else { 0.2 },
            throttle_reason: if busy { gpu.throttle_reason.to_owned() } else { "Not Active".to_owned() },
            bus_width: if gpu.bus_share < 0.6 && !gpu.bus_shared { 4 } else { 16 },
            processes: daemon.map(|daemon| daemon.pid).into_iter().collect(),
        };
        Smi::Cards((0..machine.cards).map(card).collect())
    }

    fn listening(&self, index: usize) -> Vec<String> {
        let instance = &self.instances[index];
        let Some(container) = &instance.container else { return Vec::new() };
        let mut listening = vec!["tcp 0.0.0.0:22 sshd".to_owned()];
        if let Some(daemon) = container.daemon.as_ref().filter(|_| self.is_up(instance)) {
            listening.push(format!("unix {} cuzk-daemon[{}]", super::words::SOCKET, daemon.pid));
            if instance.conditions.software.serves_status {
                listening.push(format!("tcp 127.0.0.1:9821 cuzk-daemon[{}]", daemon.pid));
            }
        }
        listening
    }

    /// The daemon has come so far that it serves.
    fn is_up(&self, instance: &Instance) -> bool {
        instance.task != Task::Preloading
    }

    /// What asking the prover for its status would come to; `None` for a number that is nobody's.
    pub fn prover_status(&self, vast_id: u64) -> Option<ProverStatus> {
        let index = self.find(vast_id)?;
        let instance = &self.instances[index];
        if self.reach(index, true) != SshReach::Connected && self.reach(index, false) != SshReach::Connected {
            return Some(ProverStatus::NoSsh);
        }
        let daemon = instance.container.as_ref().and_then(|container| container.daemon.as_ref());
        let Some(daemon) = daemon.filter(|_| instance.conditions.software.serves_status && self.is_up(instance)) else {
            return Some(ProverStatus::Failed(7));
        };
        if daemon.wedged {
            return Some(ProverStatus::Failed(28));
        }
        Some(ProverStatus::Answer(self.status_of(index, daemon)))
    }

    fn status_of(&self, index: usize, daemon: &Daemon) -> Value {
        let instance = &self.instances[index];
        let gib = 1_073_741_824.0;
        let (total, used) =
            (self.memory_wanted_gib(index).max(1.0), self.reading(index).memory_gb.min(self.memory_wanted_gib(index)));
        let working = matches!(instance.task, Task::Benchmarking { .. } | Task::Proving) && daemon.proof_began.is_some();
        let budget_wait = instance.stuck == Some(Stuck::Budget);
        let began = daemon.proof_began.filter(|_| working);
        let busy_s = began.map_or(0.0, |began| self.seconds_since(began));
        // Partitions are done one after the other; one that is stuck is not.
        let done = match (began, instance.stuck) {
            (Some(_), Some(_)) => 3,
            (Some(_), None) => ((busy_s / 12.0) as u64).min(PARTITIONS - 1),
            (None, _) => 0,
        };
        let partition = |state: &str| json!({ "index": done, "state": state, "synth_ms": 8_400, "gpu_ms": 9_700 });
        let pipelines = match (working, budget_wait) {
            (true, _) => json!([{ "job_id": format!("job-{}", daemon.completed + 1), "proof_kind": "porep-32g",
                "total_partitions": PARTITIONS, "partitions_done": done, "partitions": [partition("gpu")] }]),
            (false, true) => json!([{ "job_id": "job-1", "proof_kind": "porep-32g", "total_partitions": PARTITIONS,
                "partitions_done": 0, "partitions": [partition("pending")] }]),
            (false, false) => json!([]),
        };
        let has_work = instance.conditions.software.has_work;
        json!({
            "uptime_secs": self.seconds_since(daemon.started_at).floor(),
            "memory": { "total": (total * gib) as u64, "used": (used * gib) as u64, "available": ((total - used).max(0.0) * gib) as u64 },
            "synthesis": { "max_concurrent": 2, "active": u64::from(working && instance.stuck.is_none()) },
            "pipelines": pipelines,
            "gpu_workers": [{ "gpu_ordinal": 0, "state": if working { "proving" } else { "idle" }, "busy_secs": busy_s.floor() }],
            "allocations": { "srs": if instance.task == Task::Connecting || working { json!(["porep-32g"]) } else { json!([]) } },
            "counters": { "total_completed": daemon.completed, "total_failed": daemon.failed,
                "queue_depth": if working && has_work { 4 } else { 0 } },
            "buffers": {},
        })
    }
}
