//! A rental with what runs in it.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::Timestamp;

use crate::conditions::Conditions;
use crate::dice::Dice;
use crate::gauges::Reading;
use crate::manager::Fixed;

/// Newest lines of each log file that are held for a look at them.
const FILE_LINES_MAX: usize = 60;

/// A log source: the name it is shipped under, and the file it is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    Setup,
    BenchDaemon,
    BenchOut,
    Cuzk,
    Curio,
}

impl Source {
    pub(crate) const ALL: [Self; 5] = [Self::Setup, Self::BenchDaemon, Self::BenchOut, Self::Cuzk, Self::Curio];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::BenchDaemon => "benchdaemon",
            Self::BenchOut => "benchout",
            Self::Cuzk => "cuzk",
            Self::Curio => "curio",
        }
    }

    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Setup => "/var/log/entrypoint.log",
            Self::BenchDaemon => "/var/log/cuzk-bench-daemon.log",
            Self::BenchOut => "/var/log/cuzk-bench.log",
            Self::Cuzk => "/var/log/cuzk.log",
            Self::Curio => "/var/log/curio.log",
        }
    }
}

/// A log file in the container.
#[derive(Debug, Clone, Default)]
pub(crate) struct LogFile {
    pub(crate) bytes: u64,
    pub(crate) modified_at: Option<Timestamp>,
    pub(crate) newest: VecDeque<Arc<str>>,
}

impl LogFile {
    pub(crate) fn append(&mut self, text: &Arc<str>, now: Timestamp) {
        self.bytes += text.len() as u64 + 1;
        self.modified_at = Some(now);
        if self.newest.len() >= FILE_LINES_MAX {
            self.newest.pop_front();
        }
        self.newest.push_back(Arc::clone(text));
    }
}

/// What the entrypoint's script is at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Task {
    /// Rented; the host has not picked it up.
    Waiting,
    Pulling,
    /// The host cannot pull or start it.
    Refused,
    Registering,
    Fetching,
    ReportingParameters,
    WarmingUp {
        beat: u32,
    },
    Preloading,
    /// Waits for the daemon's socket.
    Connecting,
    Benchmarking {
        proofs: u32,
        failed: u32,
    },
    ReportingBenchmark {
        rate: f64,
    },
    Starting,
    ReportingRunning,
    Proving,
    /// The script has ended, or was never started.
    Over,
    /// The container is stopped.
    Stopped,
}

/// Why the present task does not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stuck {
    /// A call to the card does not come back.
    Driver,
    /// A call to the daemon is not answered; the card spins or idles.
    Call { spinning: bool },
    /// The daemon waits for memory of its budget.
    Budget,
    /// Nothing arrives.
    Download,
    /// A report is not answered.
    Report,
    /// There is no daemon.
    NoDaemon,
    /// The daemon's worker is dead.
    NoWorker,
    /// A step fails and is tried again.
    Retrying,
}

/// The prover daemon's process.
#[derive(Debug, Clone)]
pub(crate) struct Daemon {
    pub(crate) pid: u32,
    pub(crate) started_at: Timestamp,
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    pub(crate) leaked_mib: f64,
    /// A proof was begun then.
    pub(crate) proof_began: Option<Timestamp>,
    pub(crate) wedged: bool,
}

/// A process that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Exit {
    pub(crate) at: Timestamp,
    pub(crate) program: &'static str,
    pub(crate) code: i32,
}

/// The container: what a restart ends and begins anew.
#[derive(Debug, Clone)]
pub(crate) struct Container {
    pub(crate) started_at: Timestamp,
    pub(crate) pids: u32,
    pub(crate) daemon: Option<Daemon>,
    /// An earlier daemon that still lives.
    pub(crate) leftover_pid: Option<u32>,
    pub(crate) script_exit: Option<i32>,
    pub(crate) bench_started_at: Option<Timestamp>,
    pub(crate) fetch_started_at: Option<Timestamp>,
    pub(crate) exits: Vec<Exit>,
    pub(crate) oom_kills: u32,
}

impl Container {
    pub(crate) fn started(now: Timestamp) -> Self {
        Self {
            started_at: now,
            pids: 40,
            daemon: None,
            leftover_pid: None,
            script_exit: None,
            bench_started_at: None,
            fetch_started_at: None,
            exits: Vec::new(),
            oom_kills: 0,
        }
    }

    pub(crate) fn pid(&mut self) -> u32 {
        self.pids += 7;
        self.pids
    }
}

/// What vast.ai knows of a rental.
#[derive(Debug, Clone)]
pub(crate) struct Contract {
    pub(crate) label: Option<Arc<str>>,
    pub(crate) wants_running: bool,
    pub(crate) actual: Option<&'static str>,
    pub(crate) cur_state: &'static str,
    pub(crate) status_msg: Option<Arc<str>>,
    pub(crate) started_at: Timestamp,
    pub(crate) ends_at: Timestamp,
    pub(crate) bid: Option<f64>,
    pub(crate) dollars_per_h: f64,
    /// Its end was asked for or has come; the record vanishes a little later.
    pub(crate) ending: bool,
    /// No longer listed.
    pub(crate) gone_at: Option<Timestamp>,
    /// Billed until here.
    pub(crate) settled_at: Timestamp,
    pub(crate) billed_card_s: f64,
    pub(crate) billed_dollars: f64,
    /// How its host started it: `ssh` unless told otherwise.
    pub(crate) runtype: String,
    pub(crate) onstart: Option<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) disk_gb: f64,
}

/// Where the bytes of an instance's log pushes went before they reached the manager.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ShippedBytes {
    /// Sent in pushes.
    pub pushed: u64,
    /// Of those: swallowed by the line.
    pub lost_on_the_line: u64,
    /// Never sent: dropped from a queue that was too long.
    pub dropped_from_queue: u64,
}

/// A rental.
#[derive(Debug, Clone)]
pub(crate) struct Instance {
    pub(crate) vast_id: u64,
    pub(crate) wave: Option<usize>,
    pub(crate) machine: usize,
    pub(crate) image: usize,
    pub(crate) min_rate: f64,
    pub(crate) exact_proof_s: Option<f64>,
    pub(crate) preset_uuid: Option<String>,
    pub(crate) contract: Contract,
    pub(crate) conditions: Conditions,
    /// Faults in force on it.
    pub(crate) faults: Vec<usize>,
    /// Every fault that ever struck it, when, and what it had cost by then, dollars.
    pub(crate) struck: Vec<(usize, Timestamp, f64)>,
    pub(crate) container: Option<Container>,
    pub(crate) pulled_gb: f64,
    pub(crate) parameters_gib: f64,
    pub(crate) fetch_share: f64,
    pub(crate) reported_early: bool,
    pub(crate) uuid: Option<String>,
    pub(crate) task: Task,
    pub(crate) task_since: Timestamp,
    pub(crate) stuck: Option<Stuck>,
    pub(crate) generation: u32,
    pub(crate) files: [LogFile; 5],
    pub(crate) unshipped: VecDeque<(Source, Arc<str>)>,
    pub(crate) shipping: bool,
    pub(crate) shipped: ShippedBytes,
    /// The reading that vast.ai goes on showing.
    pub(crate) frozen: Option<Reading>,
    pub(crate) kernel: Vec<(Timestamp, String)>,
    pub(crate) benchmark_report_lost: bool,
    pub(crate) proofs: u64,
    pub(crate) dice: Dice,
    pub(crate) fixed: Arc<Fixed>,
}
