//! What can be typed. Types only; doing is in `run`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Parser, Subcommand};
use dwell_commands::STATES;

use crate::list::Form;
use crate::{offers, print};

/// Watch a fleet of rented GPU instances: the state of each, for how long, and which of them need attention.
///
/// Exit codes: 0 success; 1 failure; 2 wrong usage; 3 the manager or vast.ai is unreachable, gave an invalid answer or an incomplete list;
/// 4 no instance matches that id, or several do; 5 sent, and not verified yet; 10 an instance is flagged (only with --fail-on-flag);
/// 11 unknown: the manager is blind, or wrote instances off (fleet, diagnose); 12 not everything that was seen is stored: history could
/// not be written (watch).
#[derive(Debug, Parser)]
#[command(name = "dwellctl", version, max_term_width = 100)]
pub(crate) struct Args {
    /// The manager: an address such as http://127.0.0.1:1235, or the name of a saved fleet. Default: the fleet watched last.
    #[arg(long, short, global = true, env = "DWELL_MANAGER", value_name = "URL")]
    pub(crate) manager: Option<String>,

    /// Reach the manager through an SSH tunnel: user@host, or a host of ~/.ssh/config; the manager's address is then as seen from there.
    /// Uses your own ssh: agent, jump hosts and known_hosts work as in your terminal. A saved fleet stores its own.
    #[arg(long, global = true, value_name = "TARGET")]
    pub(crate) ssh: Option<String>,

    /// Folder for history and settings.
    #[arg(long, global = true, env = "DWELL_DATA_DIR", value_name = "FOLDER")]
    pub(crate) data_dir: Option<PathBuf>,

    /// Manager request timeout, e.g. 5s.
    #[arg(long, global = true, value_name = "TIME", value_parser = span)]
    pub(crate) within: Option<Duration>,

    /// Print JSON: one object, or one object per line where the output is a stream.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the instances, most urgent first.
    Fleet {
        /// Only this state: loading, registered, params_done, bench_done, running, killed, or another that the manager reports.
        #[arg(long)]
        state: Option<String>,
        /// Only flagged instances.
        #[arg(long)]
        flagged: bool,
        /// Include killed instances.
        #[arg(long, short)]
        all: bool,
        /// Exit with code 10 when a flagged instance needs a person.
        #[arg(long)]
        fail_on_flag: bool,
        /// Output format: table (what fits the terminal), wide (every column, nothing cut) or json.
        #[arg(long, short, value_enum, default_value_t, hide_possible_values = true, value_name = "FORM")]
        output: Form,
        /// Columns to show, comma-separated.
        #[arg(long, value_delimiter = ',', value_name = "LIST", value_parser = PossibleValuesParser::new(print::fleet_columns()))]
        columns: Vec<String>,
    },
    /// Show one instance: its timeline, the facts known about it, and the next check.
    Show {
        /// Instance: its id, a unique prefix of it, its vast.ai number or its label.
        id: String,
        /// Show the raw answers of vast.ai, the machine and the prover instead.
        #[arg(long)]
        answers: bool,
    },
    /// Probe a machine over SSH: one connection, a fixed list of read-only commands, nothing is changed.
    ///
    /// Rented machines are not yours: nothing is forwarded to them, and their host keys are stored apart from your known_hosts.
    Probe {
        /// Instance: its id, a unique prefix of it, its vast.ai number or its label.
        id: String,
        /// Print the commands, and run nothing.
        #[arg(long)]
        show: bool,
        /// Allow the probe for this call (permanently: dwellctl fleets allow-probe NAME).
        #[arg(long)]
        allow: bool,
        /// Print the machine's raw output.
        #[arg(long)]
        raw: bool,
        /// vast.ai base URL (for example a simulator).
        #[arg(long, env = "VAST_URL", value_name = "URL")]
        vast_url: Option<String>,
    },
    /// Show the live status of an instance's prover: proofs in progress, workers, memory. The manager asks it over SSH.
    ///
    /// A prover without a status page is not necessarily dead: the page is off by default. Exit code 1 when no status came back.
    Prover {
        /// Instance: its id, a unique prefix of it, its vast.ai number or its label.
        id: String,
        /// Keep asking, and print what changes.
        #[arg(long, short)]
        follow: bool,
        /// Interval between two requests.
        #[arg(long, default_value = "1.5s", value_name = "TIME", value_parser = span, requires = "follow")]
        every: Duration,
        /// Stop after this duration.
        #[arg(long = "for", value_name = "TIME", value_parser = span, requires = "follow")]
        lasts: Option<Duration>,
    },
    /// Connect to a fleet's manager and save it once it answers. With --ssh the connection goes through an SSH tunnel.
    Connect {
        /// The manager's address, or the name of a saved fleet; with --ssh the address as seen from that host.
        #[arg(default_value = "http://127.0.0.1:1235")]
        url: String,
        /// Name to save it under.
        #[arg(long)]
        name: Option<String>,
        /// Save it even if it does not answer.
        #[arg(long)]
        force: bool,
    },
    /// Diagnose what is stuck and why: all incidents, or the instances given.
    Diagnose {
        /// Instances: ids, unique prefixes, vast.ai numbers or labels. Default: every incident.
        ids: Vec<String>,
        /// Also run the proposed checks, as far as they can run from here: vast.ai (needs a key: dwellctl keys add, or VAST_API_KEY),
        /// the prover through the manager, the SSH probe (where allowed: dwellctl fleets allow-probe).
        #[arg(long = "check", alias = "look", requires = "ids")]
        look: bool,
        /// vast.ai base URL (for example a simulator).
        #[arg(long, env = "VAST_URL", value_name = "URL")]
        vast_url: Option<String>,
        /// Write a report to standard output instead.
        #[arg(long, value_name = "FORMAT", value_enum)]
        report: Option<ReportFormat>,
        /// Include addresses in the report.
        #[arg(long, requires = "report")]
        with_addresses: bool,
        /// List live instances created before this date, time or age instead: they keep the image they were created with.
        #[arg(long, value_name = "WHEN", value_parser = crate::diagnose::before, conflicts_with = "report")]
        rented_before: Option<jiff::Timestamp>,
    },
    /// Acknowledge instances that the manager wrote off together: their end was intended, or they have been taken care of.
    Acknowledge {
        /// Instances: ids, unique prefixes, vast.ai numbers or labels. Default: all that were written off.
        ids: Vec<String>,
        /// Reason, for the notes.
        #[arg(long, value_name = "TEXT", default_value = "")]
        why: String,
    },
    /// Explain a cause: its symptoms, what proves it, the fix. Without an id: list the catalogue.
    Explain {
        /// Id of the cause.
        cause: Option<String>,
    },
    /// Show an instance's log, including stored lines that the manager has dropped.
    Logs {
        /// Instance: its id, a unique prefix of it, its vast.ai number or its label.
        id: String,
        #[command(flatten)]
        lines: Lines,
    },
    /// Show the manager's own log.
    ManagerLogs {
        #[command(flatten)]
        lines: Lines,
    },
    /// Watch the fleet and print every change.
    Watch {
        /// Polling interval.
        #[arg(long, default_value = "10s", value_name = "TIME", value_parser = span)]
        every: Duration,
        /// Stop after this duration.
        #[arg(long = "for", value_name = "TIME", value_parser = span)]
        lasts: Option<Duration>,
        /// Stop when a flagged instance needs a person.
        #[arg(long)]
        until_flagged: bool,
        /// Serve Prometheus metrics at this address, e.g. 127.0.0.1:9464. No login, no encryption: keep it on this machine. Alert rules and a Grafana dashboard: monitoring/ beside the source of dwell-commands.
        #[arg(long, value_name = "ADDRESS")]
        metrics: Option<std::net::SocketAddr>,
    },
    /// Keys of vast.ai accounts: in the operating system's keychain, never in a file or an argument.
    Keys {
        #[command(subcommand)]
        command: KeysCommand,
    },
    /// Query vast.ai directly, without the manager. Read-only. Uses VAST_API_KEY for this call where it is set.
    Vast {
        /// Account. Default: the first one.
        #[arg(long, global = true)]
        account: Option<String>,
        /// vast.ai base URL (for example a simulator).
        #[arg(long, global = true, env = "VAST_URL", value_name = "URL")]
        vast_url: Option<String>,
        #[command(subcommand)]
        command: VastCommand,
    },
    /// Benchmark a GPU of this machine with the arithmetic of proving, check its results, and predict proofs per hour.
    ///
    /// Needs the NVIDIA driver (525 or newer) and nothing else. Without a GPU: --simulate NAME.
    Bench {
        #[command(flatten)]
        run: BenchRun,
        #[command(subcommand)]
        command: Option<BenchCommand>,
    },
    /// Predict a machine's proofs per hour before renting it, from GPU model, PCIe bandwidth and host.
    ///
    /// The range is wide and names the limiting resource. Many hosts limit more than their GPUs: 128 GiB of memory give about 22 proofs per
    /// hour with any GPU.
    Predict {
        /// GPU model, e.g. "RTX 4090".
        gpu: String,
        /// Number of GPUs.
        #[arg(long = "gpus", alias = "cards", default_value_t = 1, value_name = "N")]
        cards: u32,
        /// PCIe bandwidth from pinned memory to the GPU, GB/s; vast.ai's pcie_bw.
        #[arg(long, value_name = "GB/s", allow_negative_numbers = true, value_parser = above_zero)]
        pcie: f64,
        /// Host memory, GiB.
        #[arg(long, value_name = "GiB", allow_negative_numbers = true, value_parser = from_zero)]
        ram: Option<f64>,
        /// Physical cores of the host.
        #[arg(long, allow_negative_numbers = true, value_parser = above_zero)]
        cores: Option<f64>,
        /// Bandwidth of host memory, GB/s.
        #[arg(long, value_name = "GB/s", allow_negative_numbers = true, value_parser = above_zero)]
        ram_bandwidth: Option<f64>,
        /// Price, dollars per hour.
        #[arg(long, value_name = "DOLLARS", allow_negative_numbers = true, value_parser = above_zero)]
        price: Option<f64>,
    },
    /// Draw a chart from history, or list the charts.
    ///
    /// Without -o the numbers are printed. Times are by the manager's clock.
    Chart {
        #[command(flatten)]
        wanted: ChartArgs,
    },
    /// Query, search, export and import stored history: figures over time, every log line.
    History {
        #[command(subcommand)]
        command: HistoryCommand,
    },
    /// List offers to rent: predicted proofs per hour, cost per proof, and how the machine did before; cheapest proofs first. From vast.ai
    /// with a key, else from the manager.
    Offers {
        #[command(flatten)]
        market: MarketArgs,
        /// Include offers that cannot work, with the reason.
        #[arg(long)]
        all: bool,
        /// Output format: table (what fits the terminal), wide (every column, nothing cut) or json.
        #[arg(long, short, value_enum, default_value_t, hide_possible_values = true, value_name = "FORM")]
        output: Form,
        /// Columns to show, comma-separated.
        #[arg(long, value_delimiter = ',', value_name = "LIST", value_parser = PossibleValuesParser::new(offers::columns()))]
        columns: Vec<String>,
    },
    /// Rent new instances and follow each until it runs. Each order is sent once and found again by its label where the answer is lost. Stops
    /// when a whole wave fails the same way.
    Deploy {
        /// Number of instances.
        count: u32,
        #[command(flatten)]
        terms: TermsArgs,
        #[command(flatten)]
        market: MarketArgs,
    },
    /// Replace instances: rent a new one, wait until it runs, then retire the old one. Stops when a replacement gets stuck.
    Replace {
        /// Instances to replace: ids, unique prefixes, vast.ai numbers or labels.
        #[arg(required_unless_present = "rented_before")]
        ids: Vec<String>,
        /// Replace every instance created before then: a date, a time or an age such as 36h.
        #[arg(long, value_name = "WHEN", value_parser = crate::diagnose::before)]
        rented_before: Option<jiff::Timestamp>,
        #[command(flatten)]
        terms: TermsArgs,
        #[command(flatten)]
        market: MarketArgs,
    },
    /// List rollouts (deployments and replacements); pause, resume or cancel them.
    Rollouts {
        #[command(subcommand)]
        command: Option<RolloutsCommand>,
    },
    /// Rules: actions that run by themselves when a verdict holds with its cause confirmed. Off and dry run by default; the window runs them
    /// while it watches the fleet.
    Rules {
        #[command(subcommand)]
        command: Option<RulesCommand>,
    },
    /// Kill instances: the manager marks them killed and destroys their rentals. Verified afterwards by vast.ai lists that the manager has
    /// read since (it reads one a minute), by its log, and with a key by vast.ai itself.
    ///
    /// Exit codes: 0 verified; 1 refused, or still there (with what the manager's log says about it); 5 sent, and not verified yet: no list
    /// newer than the action could be read.
    Kill {
        #[command(flatten)]
        act: Act,
    },
    /// Destroy rentals at vast.ai, with their disks. Verified when two later complete lists of vast.ai do not have it and a query for its
    /// number finds nothing.
    ///
    /// Exit codes: 0 verified; 1 refused, or still there; 5 sent, and not verified yet: no complete list could be read.
    Destroy {
        #[command(flatten)]
        act: Act,
    },
    /// Stop containers. Their disks stay billed, and their GPUs can be rented to others.
    Stop {
        #[command(flatten)]
        act: Act,
    },
    /// Start stopped containers.
    Start {
        #[command(flatten)]
        act: Act,
    },
    /// Stop and start containers. The image is not pulled again.
    Reboot {
        #[command(flatten)]
        act: Act,
    },
    /// Label rentals at vast.ai.
    Label {
        /// The label.
        #[arg(long = "as", value_name = "LABEL")]
        label: String,
        #[command(flatten)]
        act: Act,
    },
    /// Put machines on the manager's list of bad hosts: every instance on them is destroyed within a minute.
    Ban {
        /// Reason, stored by the manager.
        #[arg(long)]
        reason: String,
        #[command(flatten)]
        act: Act,
    },
    /// List the manager's bad hosts: machines on which every instance is destroyed within a minute, with reason and date.
    BadHosts,
    /// Take machines off the manager's list of bad hosts.
    Unban {
        #[command(flatten)]
        act: Act,
    },
    /// Show the audit log: what was done, by whom, why, and the outcome.
    Journal {
        /// Number of entries, newest first.
        #[arg(short = 'n', long, default_value_t = 20, value_name = "N")]
        limit: usize,
    },
    /// Saved fleets.
    Fleets {
        #[command(subcommand)]
        command: Option<FleetsCommand>,
    },
    /// Simulated fleets: no account, no GPU, no network.
    Sim {
        #[command(subcommand)]
        command: SimCommand,
    },
    /// Drills: run scenarios in virtual time and compare the diagnosis with the truth.
    Drill {
        #[command(subcommand)]
        command: DrillCommand,
    },
    /// Check this machine for what Dwell needs.
    Doctor,
}

/// What is done to whom.
#[derive(Debug, clap::Args)]
pub(crate) struct Act {
    /// Instances: ids, unique prefixes, vast.ai numbers or labels; for unban, machine ids.
    #[arg(required = true)]
    pub(crate) ids: Vec<String>,
    /// Reason, for the audit log.
    #[arg(long, default_value = "")]
    pub(crate) why: String,
    /// Do not ask for confirmation.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Show the plan only.
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// vast.ai account to act in. Default: every saved account is asked which one has the rental.
    #[arg(long, value_name = "NAME")]
    pub(crate) account: Option<String>,
    /// vast.ai base URL (for example a simulator).
    #[arg(long, env = "VAST_URL", value_name = "URL")]
    pub(crate) vast_url: Option<String>,
    /// Interval between two readings that verify the outcome.
    #[arg(long, default_value = "15s", value_name = "TIME", value_parser = span)]
    pub(crate) every: Duration,
    /// Number of readings after which it stops waiting.
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u16).range(2..))]
    pub(crate) readings: u16,
}

/// What can be done with rules.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum RulesCommand {
    /// List the fleet's rules, with what each did today.
    List,
    /// Save a rule, replacing the one of the same name.
    Add {
        /// Name.
        name: String,
        /// Verdict that must hold: stalled, invisible, contradicted, leaking, slow or gone.
        #[arg(long)]
        verdict: String,
        /// Cause that must be confirmed (dwellctl explain lists causes).
        #[arg(long)]
        cause: String,
        /// How long the verdict must hold.
        #[arg(long = "for", default_value = "15m", value_name = "TIME", value_parser = span)]
        lasts: Duration,
        /// Action: kill, destroy, reboot or ban.
        #[arg(long = "do", value_name = "ACTION")]
        deed: String,
        /// Max actions per day.
        #[arg(long, default_value_t = 3, value_name = "N")]
        per_day: u32,
        /// Max sum of their prices per day, dollars per hour.
        #[arg(long, default_value_t = 2.0, value_name = "DOLLARS", allow_negative_numbers = true, value_parser = above_zero)]
        dollars_per_day: f64,
        /// Switch the rule on.
        #[arg(long)]
        on: bool,
        /// Execute; without this the rule is a dry run: the audit log says what it would do.
        #[arg(long)]
        really: bool,
    },
    /// Remove a rule.
    Remove {
        /// Name.
        name: String,
    },
}

/// What can be done to a rollout.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum RolloutsCommand {
    /// List all rollouts, newest first.
    List,
    /// Show one rollout, item by item.
    Show {
        /// Name.
        name: String,
    },
    /// Pause: no new step begins; steps that are running are followed to their end.
    Pause {
        /// Name.
        name: String,
    },
    /// Resume a rollout that was paused, or whose process was killed.
    Resume {
        /// Name.
        name: String,
        /// vast.ai account that rents; the one named when the rollout began.
        #[arg(long, value_name = "NAME")]
        account: Option<String>,
        /// vast.ai base URL (for example a simulator).
        #[arg(long, env = "VAST_URL", value_name = "URL")]
        vast_url: Option<String>,
        /// Interval between two readings.
        #[arg(long, default_value = "15s", value_name = "TIME", value_parser = span)]
        every: Duration,
    },
    /// Cancel the items that are pending.
    #[command(name = "cancel", alias = "take-back")]
    TakeBack {
        /// Name.
        name: String,
    },
}

/// How something is rented.
#[derive(Debug, clap::Args)]
pub(crate) struct TermsArgs {
    /// Max cost of new instances, dollars per hour: all of a deployment; of a replacement those whose old instance still exists.
    #[arg(long, value_name = "DOLLARS", allow_negative_numbers = true, value_parser = above_zero)]
    pub(crate) budget: f64,
    /// Max new instances in progress at a time.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) at_once: u32,
    /// Max dollars per proof: the manager kills an instance whose benchmark turns out dearer.
    #[arg(long, value_name = "DOLLARS", conflicts_with = "min_rate", allow_negative_numbers = true, value_parser = above_zero)]
    pub(crate) per_proof: Option<f64>,
    /// Min proofs per hour, below which the manager kills the instance.
    #[arg(long, value_name = "RATE", allow_negative_numbers = true, value_parser = above_zero)]
    pub(crate) min_rate: Option<f64>,
    /// Rent these offers only.
    #[arg(long, value_delimiter = ',', value_name = "IDS")]
    pub(crate) offers: Vec<u64>,
    /// Rent directly from vast.ai with this image. Default: through the manager, with its own image.
    #[arg(long)]
    pub(crate) image: Option<String>,
    /// Start script of the container (onstart).
    #[arg(long, requires = "image", value_name = "SCRIPT")]
    pub(crate) onstart: Option<String>,
    /// Environment variable, NAME=VALUE, stored in plain text; NAME alone takes the value from the keychain (dwellctl keys set-env), as every
    /// secret must.
    #[arg(long = "env", requires = "image", value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,
    /// Max time until a new instance runs.
    #[arg(long, default_value = "150m", value_name = "TIME", value_parser = span)]
    pub(crate) running_within: Duration,
    /// Min hours that the credit must last.
    #[arg(long, default_value_t = 6.0, value_name = "HOURS", allow_negative_numbers = true, value_parser = from_zero)]
    pub(crate) credit_lasts: f64,
    /// Reason, for the audit log.
    #[arg(long, default_value = "")]
    pub(crate) why: String,
    /// Do not ask for confirmation.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Show the plan only.
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Interval between two readings.
    #[arg(long, default_value = "15s", value_name = "TIME", value_parser = span)]
    pub(crate) every: Duration,
}

/// Which offers.
#[derive(Debug, clap::Args)]
pub(crate) struct MarketArgs {
    /// vast.ai search query, e.g. 'gpu_name=RTX_4090 dph<=0.5 geolocation in [NO,SE]'; replaces the filters that follow from the image's
    /// requirements.
    #[arg(long, value_name = "QUERY")]
    pub(crate) filter: Option<String>,
    /// GPU model, e.g. "RTX 4090".
    #[arg(long)]
    pub(crate) gpu: Option<String>,
    /// Number of GPUs, exactly.
    #[arg(long = "gpus", alias = "cards", value_name = "N")]
    pub(crate) cards: Option<u64>,
    /// Max price, dollars per hour.
    #[arg(long, value_name = "DOLLARS", allow_negative_numbers = true, value_parser = above_zero)]
    pub(crate) at_most: Option<f64>,
    /// Disk, GB; the price includes it.
    #[arg(long, default_value_t = 250.0, value_name = "GB", allow_negative_numbers = true, value_parser = from_zero)]
    pub(crate) disk: f64,
    /// Host memory that the prover needs, GB.
    #[arg(long, default_value_t = 240.0, value_name = "GB", allow_negative_numbers = true, value_parser = from_zero)]
    pub(crate) ram: f64,
    /// CUDA version that the image was built with.
    #[arg(long, default_value_t = 13.0, value_name = "VERSION", allow_negative_numbers = true, value_parser = from_zero)]
    pub(crate) cuda: f64,
    /// Oldest driver that works, e.g. 570.133.
    #[arg(long, value_name = "VERSION")]
    pub(crate) driver: Option<String>,
    /// Compute capabilities that the image has kernels for, e.g. 8.6,8.9,12.0. Default: all.
    #[arg(long, value_delimiter = ',', value_parser = compute_cap, value_name = "LIST")]
    pub(crate) compute_cap: Vec<u64>,
    /// Max number of offers.
    #[arg(long, default_value_t = 40, value_name = "N")]
    pub(crate) limit: u32,
    /// Account whose key is used.
    #[arg(long)]
    pub(crate) account: Option<String>,
    /// vast.ai base URL (for example a simulator).
    #[arg(long, env = "VAST_URL", value_name = "URL")]
    pub(crate) vast_url: Option<String>,
}

/// `8.6`, `86` or `sm_86` as vast.ai writes it: 860.
fn compute_cap(text: &str) -> Result<u64, String> {
    let plain = text.trim().trim_start_matches("sm_");
    let cap = match plain.split_once('.') {
        Some((major, minor)) => {
            major.parse::<u64>().ok().zip(minor.parse::<u64>().ok().filter(|it| *it < 10)).map(|(a, b)| a * 100 + b * 10)
        }
        None => plain.parse::<u64>().ok().map(|cap| if cap < 200 { cap * 10 } else { cap }),
    };
    cap.filter(|cap| (300..3_000).contains(cap)).ok_or_else(|| format!("{text:?} is no compute capability such as 8.6"))
}

/// Which time.
#[derive(Debug, clap::Args)]
pub(crate) struct During {
    /// Start: a date, a time or an age such as 36h, 30d, 2w. Default: the beginning of history.
    #[arg(long, value_name = "WHEN", value_parser = crate::diagnose::before)]
    pub(crate) since: Option<jiff::Timestamp>,
    /// End. Default: now.
    #[arg(long, value_name = "WHEN", value_parser = crate::diagnose::before)]
    pub(crate) until: Option<jiff::Timestamp>,
}

/// A simulated fleet instead of one that was watched.
#[derive(Debug, clap::Args)]
pub(crate) struct SimulatedArchive {
    /// Use a simulated fleet, watched in virtual time: a scenario, or a scenario file.
    #[arg(long, value_name = "SCENARIO")]
    pub(crate) simulate: Option<String>,
    /// Simulated duration.
    #[arg(long = "for", value_name = "TIME", value_parser = span, default_value = "12h", requires = "simulate")]
    pub(crate) lasts: Duration,
    /// Random seed.
    #[arg(long, requires = "simulate")]
    pub(crate) seed: Option<u64>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ChartArgs {
    /// Chart: throughput, cost, cost-per-proof, states, dwell, dwell-boxes, dwell-histogram, until-running, spent-before,
    /// endings, bench-rates, instance.
    pub(crate) name: Option<String>,
    /// Output file: .svg, .png, .csv or .json.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) during: During,
    /// Group by: gpu, image, region or machine.
    #[arg(long)]
    pub(crate) by: Option<String>,
    /// State, for charts of time in a state.
    #[arg(long, default_value = "params_done", value_parser = PossibleValuesParser::new(STATES))]
    pub(crate) state: String,
    /// Instance, for its timeline.
    #[arg(long, value_name = "ID")]
    pub(crate) instance: Option<String>,
    /// Width, pixels; a PNG has twice as many.
    #[arg(long, default_value_t = 960, value_name = "N")]
    pub(crate) width: u32,
    /// Height, pixels.
    #[arg(long, default_value_t = 480, value_name = "N")]
    pub(crate) height: u32,
    /// Dark theme.
    #[arg(long)]
    pub(crate) dark: bool,
    #[command(flatten)]
    pub(crate) simulated: SimulatedArchive,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HistoryCommand {
    /// Figures of a period by group: proofs, dollars, time until running, kills.
    Query {
        #[command(flatten)]
        during: During,
        /// Group by: gpu, image, region or machine.
        #[arg(long, default_value = "gpu")]
        by: String,
        #[command(flatten)]
        simulated: SimulatedArchive,
    },
    /// Search all stored log lines, newest first.
    Search {
        /// Words that must all occur; word* matches a prefix of four letters or more; quotation marks match a phrase.
        #[arg(required = true)]
        words: Vec<String>,
        /// Only this instance's lines.
        #[arg(long, value_name = "ID")]
        instance: Option<String>,
        /// Only this source.
        #[arg(long, short)]
        source: Option<String>,
        #[command(flatten)]
        during: During,
        /// Max number of lines.
        #[arg(long, short = 'n', default_value_t = 50, value_name = "N")]
        limit: usize,
        #[command(flatten)]
        simulated: SimulatedArchive,
    },
    /// Export a part of history to a file: CSV, JSON lines or Parquet.
    Export {
        /// Table: instances, transitions, gauges, benchmarks, flags or logs.
        table: String,
        /// Output file: .csv, .jsonl or .parquet. An existing file is never overwritten.
        #[arg(long, short, value_name = "FILE")]
        out: PathBuf,
        #[command(flatten)]
        during: During,
        #[command(flatten)]
        simulated: SimulatedArchive,
    },
    /// Merge another workstation's history into this one: what both recorded counts once.
    Import {
        /// Its history.sqlite3.
        file: PathBuf,
    },
    /// List the fleets in history.
    Fleets,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BenchRun {
    /// GPUs, by their numbers in the driver's order, comma-separated.
    #[arg(long, default_value = "0", value_name = "N", value_delimiter = ',')]
    pub(crate) device: Vec<u32>,
    /// Every GPU of this machine.
    #[arg(long, conflicts_with_all = ["device", "simulate"])]
    pub(crate) all: bool,
    /// Run several GPUs at the same time, as in proving, instead of in turn.
    #[arg(long)]
    pub(crate) together: bool,
    /// Under a minute per GPU. The default.
    #[arg(long, conflicts_with_all = ["full", "soak"])]
    pub(crate) quick: bool,
    /// Under five minutes per GPU.
    #[arg(long)]
    pub(crate) full: bool,
    /// The full run, then the proving mix for this long: does it stay as fast?
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub(crate) soak: Option<Duration>,
    /// Simulated GPUs instead, comma-separated; `dwellctl bench gpus` lists them.
    #[arg(long, value_name = "NAME", global = true, value_delimiter = ',')]
    pub(crate) simulate: Vec<String>,
    /// Write the record to this file: .json, .md, .png or .svg. Repeatable.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Vec<PathBuf>,
    /// Also run the prover's own benchmark client and store the proofs per minute that it prints. The command follows `--`:
    /// `dwellctl bench --external -- cuzk-bench batch -t porep --c1 c1.json -c 12`.
    #[arg(long, requires = "command_of_client")]
    pub(crate) external: bool,
    /// Timeout of that client.
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "2h")]
    pub(crate) external_at_most: Duration,
    /// The command.
    #[arg(last = true, value_name = "COMMAND", requires = "external", id = "command_of_client")]
    pub(crate) client: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Only check the results of every kernel on the GPU.
    Check,
    /// List the GPUs of this machine, what the driver reports now, and the simulated ones.
    #[command(name = "gpus", alias = "cards")]
    Cards,
    /// Published figures of the same arithmetic, with their sources.
    Published,
    /// Compare two records.
    Compare {
        /// A record, as --out writes it.
        one: PathBuf,
        /// Another.
        other: PathBuf,
    },
}

/// Form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ReportFormat {
    /// Markdown.
    Markdown,
    /// One self-contained HTML file.
    Html,
}

impl ReportFormat {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Html => "html",
        }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct Lines {
    /// Only this source: setup, benchdaemon, benchout, cuzk, curio.
    #[arg(long, short)]
    pub(crate) source: Option<String>,
    /// Number of lines, newest first.
    #[arg(long, short = 'n', default_value_t = 200, value_name = "N")]
    pub(crate) tail: usize,
    /// Only lines that contain this text, case-insensitive.
    #[arg(long, value_name = "TEXT")]
    pub(crate) contains: Option<String>,
    /// Follow new lines.
    #[arg(long, short)]
    pub(crate) follow: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Store the value of an environment variable for rentals in the keychain; prompted for, or read from standard input.
    SetEnv {
        /// Name of the variable.
        name: String,
    },
    /// List the accounts and where their keys are stored.
    List,
    /// Store a key in the keychain; prompted for, or read from standard input.
    Add {
        /// Name of the account.
        name: String,
    },
    /// Import the key of the vast.ai CLI into the keychain: from VAST_API_KEY, else from its file.
    Import {
        /// Name of the account.
        #[arg(default_value = "vast.ai")]
        name: String,
    },
    /// Remove a key from the keychain.
    Remove {
        /// Name of the account.
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum VastCommand {
    /// List the account's rentals.
    Instances {
        /// Also read the manager and show its rows beside the rentals: what is billed and unknown to it stands out.
        #[arg(long)]
        with_manager: bool,
    },
    /// Show the account and its credit.
    User,
    /// Show a container's output, as vast.ai uploads it.
    Logs {
        /// vast.ai's number of the rental.
        id: u64,
        /// Show the host daemon's log instead.
        #[arg(long)]
        daemon: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum FleetsCommand {
    /// List the saved fleets.
    List,
    /// Save a fleet whose manager answers, and make it the one that is watched.
    Add {
        /// Name to save it under.
        name: String,
        /// The manager's address.
        url: String,
        /// Save it even if it does not answer.
        #[arg(long)]
        force: bool,
    },
    /// Allow SSH probes of its machines (dwellctl probe ID --show prints the commands).
    AllowProbe {
        /// Name.
        name: String,
    },
    /// Forbid SSH probes of its machines.
    ForbidProbe {
        /// Name.
        name: String,
    },
    /// Give write access: kill, destroy, stop, ban. Until then the fleet is read-only.
    AllowActing {
        /// Name.
        name: String,
    },
    /// Make the fleet read-only.
    ReadOnly {
        /// Name.
        name: String,
    },
    /// Remove a saved fleet. Its history stays.
    Remove {
        /// Name.
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum SimCommand {
    /// List the scenarios.
    List,
    /// Serve a scenario as a manager and as vast.ai on this machine, until interrupted.
    Serve {
        /// Scenario: a name, or a scenario file.
        #[arg(default_value = "params-done-silence")]
        scenario: String,
        #[command(flatten)]
        start: SimStart,
        /// Simulated seconds per real second; 0: time stands still.
        #[arg(long, default_value_t = 1.0, allow_negative_numbers = true, value_parser = from_zero)]
        speed: f64,
        /// The manager's port on 127.0.0.1; 0 for any free one.
        #[arg(long, default_value_t = 0)]
        port: u16,
        /// vast.ai's port on 127.0.0.1; 0 for any free one.
        #[arg(long, default_value_t = 0)]
        vast_port: u16,
    },
    /// Run a scenario in virtual time, as fast as this machine can, and print what is flagged at the end.
    Run {
        /// Scenario: a name, or a scenario file.
        #[arg(default_value = "params-done-silence")]
        scenario: String,
        #[command(flatten)]
        start: SimStart,
        /// Simulated duration. Default: the scenario's own.
        #[arg(long = "for", value_name = "TIME", value_parser = span)]
        lasts: Option<Duration>,
        /// Stop when this many flagged instances need a person.
        #[arg(long, value_name = "N")]
        until_flagged: Option<usize>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum DrillCommand {
    /// List every kind of fault: what it does, where, and what can be set.
    Faults,
    /// Print the JSON Schema of scenario files, for editors.
    Schema,
    /// Run one scenario.
    Run {
        /// Scenario: a name, or a scenario file.
        scenario: String,
        #[command(flatten)]
        start: SimStart,
    },
    /// Run many scenarios with many seeds.
    Batch {
        /// Names, scenario files, or folders of scenario files. Default: every shipped scenario.
        scenarios: Vec<String>,
        /// Seeds from A up to but not including B.
        #[arg(long, value_name = "A..B", default_value = "0..1", value_parser = seeds)]
        seeds: std::ops::Range<u64>,
        /// Parallel runs; 0: one per CPU core.
        #[arg(long, default_value_t = 0, value_name = "N")]
        jobs: usize,
        /// Report per cause how often it was found: with the manager alone, and with every channel.
        #[arg(long)]
        by_cause: bool,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct SimStart {
    /// Random seed. Default: the scenario's own.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
}

/// `0..20`.
fn seeds(text: &str) -> Result<std::ops::Range<u64>, String> {
    /// More runs than anybody waits for.
    const MOST: u64 = 100_000;
    let range = text.split_once("..").and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    match range {
        Some(range) if range.start < range.end && range.end - range.start <= MOST => Ok(range),
        Some(_) => Err(format!("the first must be below the second, by {MOST} at most")),
        None => Err("write it like 0..20".to_owned()),
    }
}

/// `90s`, `5m`, `1h 30m`.
fn span(text: &str) -> Result<Duration, String> {
    let span: jiff::SignedDuration = text.parse().map_err(|error| format!("{error}; write it like 90s, 5m or 1h30m"))?;
    Duration::try_from(span).map_err(|_| "a time from 0 up".to_owned())
}

/// A number that is one: prices, rates, budgets. NaN, infinity and what is below 0 would pass for a limit and limit nothing.
fn finite(text: &str) -> Result<f64, String> {
    let number: f64 = text.trim().parse().map_err(|_| format!("{text:?} is no number; write it like 0.35"))?;
    if number.is_finite() { Ok(number) } else { Err("a number is needed, and neither infinity nor NaN".to_owned()) }
}

fn above_zero(text: &str) -> Result<f64, String> {
    finite(text).and_then(|number| if number > 0.0 { Ok(number) } else { Err("a number above 0 is needed".to_owned()) })
}

fn from_zero(text: &str) -> Result<f64, String> {
    finite(text).and_then(|number| if number >= 0.0 { Ok(number) } else { Err("a number from 0 up is needed".to_owned()) })
}
