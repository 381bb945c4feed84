//! The mechanisms that a fault can change, each at its healthy value unless one does.
//!
//! A fault says what is different in the world ("the card is off the bus", "the shipper is not running"). What follows for
//! the channels is worked out by the processes that use the mechanism.

/// Everything around and inside one instance that can be out of order.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Conditions {
    pub(crate) host: Host,
    pub(crate) gpu: Gpu,
    pub(crate) lines: Lines,
    pub(crate) software: Software,
}

/// The rented machine.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Host {
    /// It has lost its connection to vast.ai and to everything else.
    pub(crate) offline: bool,
    /// What its container runtime answers when asked to start a container.
    pub(crate) start_refusal: Option<&'static str>,
    /// Newest CUDA version that its driver supports.
    pub(crate) cuda_max: f64,
    pub(crate) driver: &'static str,
    /// Share of its bandwidth that reaches the image registry.
    pub(crate) pull_share: f64,
    /// What the registry answers instead of the image.
    pub(crate) pull_refusal: Option<&'static str>,
    /// Another tenant got the card while this one was stopped.
    pub(crate) card_taken: bool,
    /// Ports are mapped to the outside.
    pub(crate) direct_ports: bool,
    /// Container's share of the host's memory.
    pub(crate) memory_share: f64,
    /// A neighbour uses up the memory of the whole host.
    pub(crate) memory_exhausted: bool,
    /// Share of its disk's speed that is left.
    pub(crate) disk_share: f64,
    /// Disk that the container got, GB, where it is not what was asked for.
    pub(crate) disk_gb: Option<f64>,
    /// Disk that fills by itself, GB per hour.
    pub(crate) disk_fill_gb_h: f64,
    /// Share of its cores that the container can use.
    pub(crate) cpu_share: f64,
    /// The cores are limited by a quota of the container rather than by their number.
    pub(crate) cpu_quota: bool,
    /// Its processors have the ADX instructions.
    pub(crate) adx: bool,
    /// Memory can be pinned.
    pub(crate) pins_memory: bool,
    /// Its clock is ahead by so many seconds.
    pub(crate) clock_ahead_s: f64,
}

impl Default for Host {
    fn default() -> Self {
        Self {
            offline: false,
            start_refusal: None,
            cuda_max: 13.0,
            driver: "580.95.05",
            pull_share: 1.0,
            pull_refusal: None,
            card_taken: false,
            direct_ports: true,
            memory_share: 1.0,
            memory_exhausted: false,
            disk_share: 1.0,
            disk_gb: None,
            disk_fill_gb_h: 0.0,
            cpu_share: 1.0,
            cpu_quota: false,
            adx: true,
            pins_memory: true,
            clock_ahead_s: 0.0,
        }
    }
}

/// What a card does when a process calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Card {
    #[default]
    Works,
    /// It has fallen off the bus: calls never come back.
    Lost,
    /// Its firmware does not answer: calls never come back, queries take most of a minute.
    FirmwareSilent,
    /// The driver holds calls back for now.
    DriverBusy,
}

/// What the driver says to a process that starts to use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Driver {
    #[default]
    Fits,
    TooOld,
    /// The host upgraded it: new processes do not fit what is loaded.
    LibraryMismatch,
    /// The container lost its right to the devices.
    DevicesLost,
    FabricNotReady,
    /// Another process holds the card.
    Held,
}

/// The cards.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Gpu {
    pub(crate) card: Card,
    pub(crate) driver: Driver,
    /// Share of its clocks that is left under load.
    pub(crate) clock_share: f64,
    /// Why the clocks are low, as the driver reports it.
    pub(crate) throttle_reason: &'static str,
    /// Share of its bus bandwidth that is left.
    pub(crate) bus_share: f64,
    /// The bus is shared with a neighbour rather than degraded.
    pub(crate) bus_shared: bool,
    /// Cards that work, where not all of them do.
    pub(crate) cards_working: Option<u64>,
    /// Card memory that somebody else holds, MiB.
    pub(crate) memory_taken_mib: f64,
    /// Every so manieth proof ends in an illegal access.
    pub(crate) faults_every: Option<u32>,
    /// Share of proofs that come out wrong.
    pub(crate) wrong_share: f64,
    /// The kernel log names it with an Xid.
    pub(crate) says_xid: bool,
}

impl Default for Gpu {
    fn default() -> Self {
        Self {
            card: Card::Works,
            driver: Driver::Fits,
            clock_share: 1.0,
            throttle_reason: "Not Active",
            bus_share: 1.0,
            bus_shared: false,
            cards_working: None,
            memory_taken_mib: 0.0,
            faults_every: None,
            wrong_share: 0.0,
            says_xid: true,
        }
    }
}

/// A line between two places, in the five ways that it can fail.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) enum Line {
    #[default]
    Good,
    /// Only this share of the bandwidth is left.
    Slow(f64),
    /// Refused or unreachable: the sender knows at once.
    Cut,
    /// Cut one way: what is sent is swallowed, the sender waits.
    Swallows,
    /// What is sent arrives; the reply is lost.
    DropsReplies,
    /// Small requests pass, bodies larger than a packet do not.
    DropsLarge,
}

/// Lines of an instance.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Lines {
    /// To the manager, for reports and logs.
    pub(crate) manager: Line,
    /// The tunnel client runs.
    pub(crate) tunnel: bool,
    /// To the source of the parameters.
    pub(crate) parameters: Line,
    /// Names can be resolved.
    pub(crate) names: bool,
    /// The operator's key is accepted.
    pub(crate) key_accepted: bool,
}

impl Default for Lines {
    fn default() -> Self {
        Self { manager: Line::Good, tunnel: true, parameters: Line::Good, names: true, key_accepted: true }
    }
}

/// How the instance names itself to the manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Naming {
    #[default]
    ByNumber,
    /// The variable with its label is not set: it calls itself something else.
    Odd,
}

/// What the parameter source sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Gateway {
    #[default]
    Serves,
    /// An error page of 322 bytes, saved as the file.
    ErrorPage,
}

/// How the prover daemon wedges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wedge {
    /// After so many proofs of the benchmark.
    pub(crate) after_proofs: u32,
    /// With the card at full load rather than idle.
    pub(crate) spinning: bool,
    /// The client is what hangs; the daemon answers others.
    pub(crate) client_only: bool,
}

/// Why an entrypoint ends.
pub(crate) type Death = (&'static str, i32);

/// The software of the image and its configuration.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Software {
    /// The start command is run.
    pub(crate) starts: bool,
    /// The entrypoint ends before it registers, with this line and exit code.
    pub(crate) entrypoint_death: Option<Death>,
    pub(crate) naming: Naming,
    /// The container ends by itself so many seconds after its start, and is started again.
    pub(crate) exits_after_s: Option<f64>,
    /// Log sources that are not shipped although the image would.
    pub(crate) unshipped: &'static [&'static str],
    /// The image ships nothing at all.
    pub(crate) ships_nothing: bool,
    pub(crate) shipper_runs: bool,
    /// The shipper holds lines back.
    pub(crate) shipper_held: bool,
    /// The shipper goes on under an id from before.
    pub(crate) shipper_stale_id: bool,
    /// The shipper names no source.
    pub(crate) shipper_names_source: bool,
    /// Lines of debugging output with every proof.
    pub(crate) debug_lines: u32,
    /// The fetcher writes its progress with carriage returns.
    pub(crate) carriage_returns: bool,
    pub(crate) gateway: Gateway,
    /// "Parameters done" is reported before they are.
    pub(crate) reports_params_early: bool,
    /// The daemon looks for parameters elsewhere.
    pub(crate) params_elsewhere: bool,
    /// A library that the daemon needs and the image lacks.
    pub(crate) library_lacking: Option<&'static str>,
    /// A tool that the entrypoint needs and the image lacks.
    pub(crate) tool_lacking: Option<&'static str>,
    /// The daemon dies before its first line, with this exit code.
    pub(crate) dies_before_main: Option<i32>,
    pub(crate) config_valid: bool,
    /// Daemon and client mean the same address.
    pub(crate) addresses_agree: bool,
    /// An earlier daemon keeps the port.
    pub(crate) port_taken: bool,
    /// The daemon is started again whenever it ends.
    pub(crate) supervised: bool,
    /// The daemon serves its status.
    pub(crate) serves_status: bool,
    /// Extra time of the circuit's first extraction, seconds.
    pub(crate) extraction_s: f64,
    /// Kernels are translated at first launch; seconds.
    pub(crate) translation_s: f64,
    /// No kernel in it suits the card.
    pub(crate) kernels_missing: bool,
    /// Memory budget of the daemon, GiB, where it is set by hand.
    pub(crate) budget_gib: Option<f64>,
    /// Card memory lost with every proof, MiB.
    pub(crate) leak_mib: f64,
    /// Proofs become slower by this share every hour.
    pub(crate) aging_per_h: f64,
    pub(crate) wedge: Option<Wedge>,
    pub(crate) benchmark_starts: bool,
    pub(crate) benchmark_input: bool,
    /// One call fails after so many proofs.
    pub(crate) call_fails_after: Option<u32>,
    /// The result is not found in the output.
    pub(crate) result_unread: bool,
    /// The rate is reported per minute.
    pub(crate) rate_per_minute: bool,
    /// A report that is not heard is not repeated.
    pub(crate) gives_up_reports: bool,
    /// The next benchmark report is lost on the way.
    pub(crate) loses_benchmark_report: bool,
    /// "Running" is never reported.
    pub(crate) never_reports_running: bool,
    /// "Running" is reported without a benchmark.
    pub(crate) skips_benchmark: bool,
    /// A worker thread has died; the process goes on.
    pub(crate) worker_dead: bool,
    /// There is work to prove.
    pub(crate) has_work: bool,
    /// Finished proofs are accepted.
    pub(crate) proofs_accepted: bool,
    /// Seconds per proof are multiplied by this.
    pub(crate) proof_factor: f64,
    /// Minimum rate, proofs per hour, that it asks for when it registers.
    pub(crate) min_rate: Option<f64>,
}

impl Default for Software {
    fn default() -> Self {
        Self {
            starts: true,
            entrypoint_death: None,
            naming: Naming::ByNumber,
            exits_after_s: None,
            unshipped: &[],
            ships_nothing: false,
            shipper_runs: true,
            shipper_held: false,
            shipper_stale_id: false,
            shipper_names_source: true,
            debug_lines: 0,
            carriage_returns: false,
            gateway: Gateway::Serves,
            reports_params_early: false,
            params_elsewhere: false,
            library_lacking: None,
            tool_lacking: None,
            dies_before_main: None,
            config_valid: true,
            addresses_agree: true,
            port_taken: false,
            supervised: false,
            serves_status: true,
            extraction_s: 0.0,
            translation_s: 0.0,
            kernels_missing: false,
            budget_gib: None,
            leak_mib: 0.0,
            aging_per_h: 0.0,
            wedge: None,
            benchmark_starts: true,
            benchmark_input: true,
            call_fails_after: None,
            result_unread: false,
            rate_per_minute: false,
            gives_up_reports: false,
            loses_benchmark_report: false,
            never_reports_running: false,
            skips_benchmark: false,
            worker_dead: false,
            has_work: true,
            proofs_accepted: true,
            proof_factor: 1.0,
            min_rate: None,
        }
    }
}

/// What is wrong with the manager's process and with the command line client that it runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ManagerTrouble {
    /// The process is not running.
    pub(crate) down: bool,
    /// The operator's line to it: cut, or swallowing what is sent.
    pub(crate) operator_line: Line,
    /// The client ends with status 1.
    pub(crate) client_fails: bool,
    /// The client never ends.
    pub(crate) client_hangs: bool,
    /// The client's key belongs to an account without instances.
    pub(crate) client_other_account: bool,
    /// The client reads only the first page.
    pub(crate) client_first_page_only: bool,
    /// `destroy` asks for confirmation, finds no terminal, prints "Aborted." and ends with status 0.
    pub(crate) destroy_prompts: bool,
    /// `destroy` ends with status 1.
    pub(crate) destroy_fails: bool,
    /// Writes to the database find it locked.
    pub(crate) database_locked: bool,
    /// Look-ups at registration fail.
    pub(crate) lookup_fails: bool,
    /// One row in so many cannot be read for the dashboard.
    pub(crate) drops_every: Option<u64>,
    /// `param_done_at` is not written.
    pub(crate) param_time_lost: bool,
    /// Its clock is ahead by so many seconds.
    pub(crate) clock_ahead_s: f64,
}

/// What is wrong on vast.ai's side.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct VastTrouble {
    /// Every call is answered with this status and body.
    pub(crate) answers: Option<(u16, &'static str)>,
    /// `GET /api/v1/instances/` is refused like the retired one.
    pub(crate) listing_retired: bool,
    /// A record carries a list where a number is expected.
    pub(crate) odd_record: bool,
    /// Records of instances that are being provisioned have no `start_date`.
    pub(crate) start_date_null: bool,
    /// Telemetry: zeros in every other reading.
    pub(crate) telemetry_zeros: bool,
    /// Telemetry: as it was when this began.
    pub(crate) telemetry_frozen: bool,
    /// One look-up in so many by id answers null.
    pub(crate) null_every: Option<u64>,
    /// Logs need so many seconds to be uploaded.
    pub(crate) log_delay_s: f64,
    /// `destroy` answers `success: false`.
    pub(crate) destroy_refused: bool,
    /// `create` answers ok, without a contract.
    pub(crate) create_without_contract: bool,
    /// `create` answers ok, and the instance never appears.
    pub(crate) create_never_appears: bool,
    /// `create` leaves the instance stopped.
    pub(crate) create_stopped: bool,
}
