//! What the channels that are asked on purpose answer: vast.ai's record, the container's output, the machine itself, the
//! prover's status. Typed, in the domain's terms; whoever asks (a client, a simulated world) makes these.
//!
//! Text in here comes from instances and hosts, and is hostile.

use crate::Timestamp;

/// An answer with its time, on the manager's clock.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked<T> {
    /// When it was asked.
    pub at: Timestamp,
    /// What came.
    pub answer: T,
}

/// The latest answers of the channels that are asked on purpose, and those before them where a change can tell.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Looks {
    /// vast.ai.
    pub vast: Option<Asked<VastAnswer>>,
    /// The container's output.
    pub container: Option<Asked<ContainerOutput>>,
    /// The machine itself.
    pub host: Option<Asked<HostAnswer>>,
    /// The look before that, at least a minute earlier.
    pub host_before: Option<Asked<HostAnswer>>,
    /// The prover.
    pub prover: Option<Asked<ProverAnswer>>,
    /// The look before that, at least a minute earlier.
    pub prover_before: Option<Asked<ProverAnswer>>,
}

/// What asking vast.ai came to.
#[derive(Debug, Clone, PartialEq)]
pub struct VastAnswer {
    /// The record, when it was asked for by number.
    pub record: VastShown,
    /// It is in the account's list; `None` where the list was not given.
    pub listed: Option<bool>,
    /// The older listing, which the manager's client may use, answers 410.
    pub listing_retired: bool,
    /// Credit of the account, US dollars.
    pub credit_dollars: Option<f64>,
    /// Rentals of the account, and how many of them are stopped.
    pub rentals: Option<(usize, usize)>,
}

/// A record, or why there is none.
#[derive(Debug, Clone, PartialEq)]
pub enum VastShown {
    /// The record.
    Record(Box<VastRecord>),
    /// No rental has this number.
    Absent,
    /// vast.ai refused, with this HTTP status.
    Refused(u16),
    /// vast.ai did not answer.
    NoAnswer,
}

/// vast.ai's record of a rental. `None`: not told.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VastRecord {
    /// `running`, `loading`, `created`, `exited`, `stopped`, `offline`.
    pub actual_status: Option<String>,
    /// `running` or `stopped`.
    pub intended_status: Option<String>,
    /// e.g. `scheduling`.
    pub cur_state: Option<String>,
    /// Hostile text.
    pub status_msg: Option<String>,
    /// Label.
    pub label: Option<String>,
    /// Rented by a bid.
    pub is_bid: Option<bool>,
    /// When it was rented.
    pub start_date: Option<Timestamp>,
    /// When the rental ends.
    pub end_date: Option<Timestamp>,
    /// Port 22 is mapped to the outside.
    pub ssh_mapped: Option<bool>,
    /// e.g. `580.95.05`.
    pub driver_version: Option<String>,
    /// Cores of the host.
    pub cpu_cores: Option<f64>,
    /// Cores that the container may use.
    pub cpu_cores_effective: Option<f64>,
    /// Percent.
    pub cpu_util_percent: Option<f64>,
    /// Percent.
    pub gpu_util_percent: Option<f64>,
    /// Degrees Celsius; 0 is a card that was not read.
    pub gpu_temp_c: Option<f64>,
    /// Host memory, MiB.
    pub cpu_ram_mib: Option<f64>,
    /// Memory limit of the container, GB as vast.ai writes it.
    pub mem_limit_gb: Option<f64>,
    /// Disk rented, GB.
    pub disk_space_gb: Option<f64>,
    /// Disk used, GB; negative where it was not measured.
    pub disk_usage_gb: Option<f64>,
    /// Price, US dollars per hour.
    pub dollars_per_h: Option<f64>,
}

/// The container's output and the host daemon's, as vast.ai uploads them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContainerOutput {
    /// Of the container.
    pub container: String,
    /// Of the host's daemon.
    pub daemon: String,
    /// Time until they could be fetched, seconds.
    pub uploaded_after_s: f64,
}

/// How far a connection by SSH gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
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

/// What a look at the machine came to.
#[derive(Debug, Clone, PartialEq)]
pub struct HostAnswer {
    /// By the direct port.
    pub direct: Reach,
    /// Through vast.ai's proxy.
    pub proxy: Reach,
    /// What the read-only commands showed, where one of the two got in.
    pub seen: Option<Box<HostSeen>>,
}

/// A process.
#[derive(Debug, Clone, PartialEq)]
pub struct Process {
    /// Id.
    pub pid: u32,
    /// Program.
    pub program: String,
    /// `R`, `S`, `D`, `Z`, as `ps` prints it.
    pub state: char,
    /// When it started.
    pub started_at: Timestamp,
}

/// A process that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Exit {
    /// Program.
    pub program: String,
    /// Exit code.
    pub code: i32,
    /// When.
    pub at: Timestamp,
}

/// What `nvidia-smi` came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Smi {
    /// The cards.
    Cards(Vec<Card>),
    /// It ended with this text.
    Failed(String),
    /// It did not come back in time.
    TimedOut,
}

/// A card as `nvidia-smi` queries it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Card {
    /// Percent.
    pub load_percent: f64,
    /// MiB.
    pub memory_used_mib: f64,
    /// MiB.
    pub memory_mib: f64,
    /// The reason that the driver gives for low clocks; `Not Active` where it gives none.
    pub throttle_reason: String,
    /// Lanes now.
    pub bus_width: u32,
}

/// A log file on the machine.
#[derive(Debug, Clone, PartialEq)]
pub struct LogFile {
    /// The source that the shipper would name.
    pub source: String,
    /// Path.
    pub path: String,
    /// Last written.
    pub modified_at: Option<Timestamp>,
    /// Its newest lines, oldest first.
    pub tail: Vec<String>,
}

/// What the read-only commands on the machine showed. `None`: not shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostSeen {
    /// Its clock minus the manager's, seconds.
    pub clock_ahead_s: Option<f64>,
    /// Start of the container.
    pub container_started_at: Option<Timestamp>,
    /// When the image was built, by its version file.
    pub image_built: Option<Timestamp>,
    /// Processes.
    pub processes: Vec<Process>,
    /// What has ended, oldest first.
    pub exits: Vec<Exit>,
    /// The cards.
    pub smi: Option<Smi>,
    /// Kernel log lines about cards and memory; `None` where it may not be read.
    pub kernel: Option<Vec<(Timestamp, String)>>,
    /// `oom_kill` of `memory.events`.
    pub oom_kills: Option<u32>,
    /// `nr_throttled` of `cpu.stat`.
    pub throttled_periods: Option<u64>,
    /// Memory limit, GiB.
    pub memory_limit_gib: Option<f64>,
    /// Memory that may be pinned is limited.
    pub locked_memory_limited: Option<bool>,
    /// Processor flags include ADX.
    pub has_adx: Option<bool>,
    /// Disk, GB.
    pub disk_gb: Option<f64>,
    /// Disk used, GB.
    pub disk_used_gb: Option<f64>,
    /// Sequential read, MB/s.
    pub disk_mb_s: Option<f64>,
    /// Bytes of parameters on disk.
    pub parameter_bytes: Option<u64>,
    /// Log files.
    pub files: Vec<LogFile>,
    /// A name can be resolved.
    pub resolves_names: Option<bool>,
    /// The manager answers from there.
    pub reaches_manager: Option<bool>,
}

/// What asking the prover for its status came to.
#[derive(Debug, Clone, PartialEq)]
pub enum ProverAnswer {
    /// Its status.
    Status(ProverStatus),
    /// curl 7: refused.
    Refused,
    /// curl 28: no answer in time.
    TimedOut,
    /// SSH did not get there.
    NoWay,
    /// Another failure, with curl's exit code.
    Failed(i32),
}

/// The prover's status, as far as it tells of work.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProverStatus {
    /// Proofs completed since its start.
    pub completed: u64,
    /// Proofs failed since its start (an under-count in some versions).
    pub failed: u64,
    /// Proofs in work: parts done, and whether all parts are pending.
    pub proofs: Vec<(u64, bool)>,
    /// Longest time that a worker has been at its part, seconds.
    pub busiest_s: f64,
    /// Requests that wait.
    pub queue_depth: u64,
}
