//! What can be typed. Types only; doing is in `run`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Parser, Subcommand};
use dwell_commands::STATES;

use crate::list::Form;
use crate::{offers, print};

/// Watch a fleet of rented GPU instances: who is where, for how long, and who needs a look.
///
/// Exit codes: 0 done; 1 failed; 2 wrong usage; 3 the manager or vast.ai cannot be reached or understood, or its list is incomplete;
/// 4 no instance, or more than one, has that id; 5 sent, and not verified yet; 10 something is flagged (only with --fail-on-flag);
/// 11 what was asked is not known: the manager is blind, or wrote instances off (fleet, diagnose); 12 not all that was seen is stored:
/// history could not be written (watch).
#[derive(Debug, Parser)]
#[command(name = "dwellctl", version, max_term_width = 100)]
pub(crate) struct Args {
    /// The manager: an address such as http://127.0.0.1:1235, or the name of a saved fleet. The fleet watched last where
    /// not given.
    #[arg(long, short, global = true, env = "DWELL_MANAGER", value_name = "URL")]
    pub(crate) manager: Option<String>,

    /// Reach the manager through SSH: user@host, or an entry of ~/.ssh/config; its address is then as seen from there. Your own
    /// ssh does it: agent, jump hosts and known_hosts work as in your terminal. A saved fleet knows its own.
    #[arg(long, global = true, value_name = "TARGET")]
    pub(crate) ssh: Option<String>,

    /// Folder for history and settings.
    #[arg(long, global = true, env = "DWELL_DATA_DIR", value_name = "FOLDER")]
    pub(crate) data_dir: Option<PathBuf>,

    /// Longest wait for any one answer of the manager, e.g. 5s.
    #[arg(long, global = true, value_name = "TIME", value_parser = span)]
    pub(crate) within: Option<Duration>,

    /// Print JSON: one object, or one object a line where the output goes on.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the instances, most pressing first.
    Fleet {
        /// Only this state: loading, registered, params_done, bench_done, running, killed, or another that the manager tells.
        #[arg(long)]
        state: Option<String>,
        /// Only flagged ones.
        #[arg(long)]
        flagged: bool,
        /// Killed ones as well.
        #[arg(long, short)]
        all: bool,
        /// Exit with 10 when something is flagged that needs a person.
        #[arg(long)]
        fail_on_flag: bool,
        /// How it is shown: table (what fits the terminal), wide (every column, nothing cut) or json.
        #[arg(long, short, value_enum, default_value_t, hide_possible_values = true, value_name = "FORM")]
        output: Form,
        /// These columns, with commas between.
        #[arg(long, value_delimiter = ',', value_name = "LIST", value_parser = PossibleValuesParser::new(print::fleet_columns()))]
        columns: Vec<String>,
    },
    /// Show one instance: its life, what is known of it, what would tell more.
    Show {
        /// Its id, a unique prefix of it, its vast.ai number or its label.
        id: String,
        /// What vast.ai, the machine and the prover have answered, as it came, instead.
        #[arg(long)]
        answers: bool,
    },
    /// Look at a machine by SSH: one connection, a fixed list of read-only commands, nothing changed.
    ///
    /// Rented machines are not yours: nothing is forwarded to them, and their host keys are kept apart from your known_hosts.
    Probe {
        /// Its id, a unique prefix of it, its vast.ai number or its label.
        id: String,
        /// Print what would be run, and run nothing.
        #[arg(long)]
        show: bool,
        /// Allow it for this call (for good: dwellctl fleets allow-probe NAME).
        #[arg(long)]
        allow: bool,
        /// Print what the machine printed, as it came.
        #[arg(long)]
        raw: bool,
        /// Where vast.ai answers: a simulated one, for trying things.
        #[arg(long, env = "VAST_URL", value_name = "URL")]
        vast_url: Option<String>,
    },
    /// Ask an instance's prover what it does now: proofs in work, workers, memory. The manager asks it by SSH.
    ///
    /// A prover that serves no status is no sign that it is dead: the status is off by default. Exit code 1 where none came.
    Prover {
        /// Its id, a unique prefix of it, its vast.ai number or its label.
        id: String,
        /// Go on asking, and tell what changes.
        #[arg(long, short)]
        follow: bool,
        /// Time between two questions.
        #[arg(long, default_value = "1.5s", value_name = "TIME", value_parser = span, requires = "follow")]
        every: Duration,
        /// Stop after this time.
        #[arg(long = "for", value_name = "TIME", value_parser = span, requires = "follow")]
        lasts: Option<Duration>,
    },
    /// Set up a fleet and look at it once: the manager's address, and with --ssh whom SSH goes through. Saved once it answers.
    Connect {
        /// The manager's address, or the name of a saved fleet; with --ssh the address as it is seen from there.
        #[arg(default_value = "http://127.0.0.1:1235")]
        url: String,
        /// A name for it.
        #[arg(long)]
        name: Option<String>,
        /// Save it though it does not answer.
        #[arg(long)]
        force: bool,
    },
    /// Say what is stuck and why: incidents, or what is thought of single instances.
    Diagnose {
        /// Ids, unique prefixes of them, vast.ai numbers or labels; every incident where none is given.
        ids: Vec<String>,
        /// Make the looks that are proposed as well, as far as they can be made: vast.ai (needs a key: dwellctl keys add, or
        /// VAST_API_KEY), the prover through the manager, the machine by SSH (where that is allowed: dwellctl fleets
        /// allow-probe).
        #[arg(long, requires = "ids")]
        look: bool,
        /// Where vast.ai answers: a simulated one, for trying things.
        #[arg(long, env = "VAST_URL", value_name = "URL")]
        vast_url: Option<String>,
        /// Write a report of them instead, to standard output.
        #[arg(long, value_name = "FORMAT", value_enum)]
        report: Option<ReportFormat>,
        /// Leave addresses in the report.
        #[arg(long, requires = "report")]
        with_addresses: bool,
        /// List who is alive and was rented before this date, time or age instead: a new image has not reached them.
        #[arg(long, value_name = "WHEN", value_parser = crate::diagnose::before, conflicts_with = "report")]
        rented_before: Option<jiff::Timestamp>,
    },
    /// Say that instances which the manager wrote off together are accounted for: their end was meant, or they were seen to.
    Acknowledge {
        /// Ids, unique prefixes of them, vast.ai numbers or labels; all that were written off where none is given.
        ids: Vec<String>,
        /// Why, for the notes.
        #[arg(long, value_name = "TEXT", default_value = "")]
        why: String,
    },
    /// Explain a cause: what it shows, what proves it, what to do. Lists the catalogue where none is given.
    Explain {
        /// Its id.
        cause: Option<String>,
    },
    /// Show an instance's log, with what the manager has forgotten.
    Logs {
        /// Its id, a unique prefix of it, its vast.ai number or its label.
        id: String,
        #[command(flatten)]
        lines: Lines,
    },
    /// Show the manager's own log.
    ManagerLogs {
        #[command(flatten)]
        lines: Lines,
    },
    /// Watch, and tell every change as it is seen.
    Watch {
        /// Time between two looks.
        #[arg(long, default_value = "10s", value_name = "TIME", value_parser = span)]
        every: Duration,
        /// Stop after this time.
        #[arg(long = "for", value_name = "TIME", value_parser = span)]
        lasts: Option<Duration>,
        /// Stop when something is flagged that needs a person.
        #[arg(long)]
        until_flagged: bool,
        /// Serve what is seen as metrics for Prometheus at this address, e.g. 127.0.0.1:9464. Without login or encryption: keep it
        /// on this machine. Alert rules and a Grafana dashboard: monitoring/ beside the source of dwell-commands.
        #[arg(long, value_name = "ADDRESS")]
        metrics: Option<std::net::SocketAddr>,
    },
    /// Keys of vast.ai accounts: in the operating system's keychain, never in a file or an argument.
    Keys {
        #[command(subcommand)]
        command: KeysCommand,
    },
    /// Ask vast.ai itself, past the manager. Reads only. VAST_API_KEY is used for this call where it is set.
    Vast {
        /// The account; the first one where not given.
        #[arg(long, global = true)]
        account: Option<String>,
        /// Where vast.ai answers: a simulated one, for trying things.
        #[arg(long, global = true, env = "VAST_URL", value_name = "URL")]
        vast_url: Option<String>,
        #[command(subcommand)]
        command: VastCommand,
    },
    /// Measure a card of this machine with the arithmetic of proving, check that it computes rightly, and predict proofs per hour.
    ///
    /// Needs NVIDIA's driver (525 or newer) and nothing else. Without a card: --simulate NAME.
    Bench {
        #[command(flatten)]
        run: BenchRun,
        #[command(subcommand)]
        command: Option<BenchCommand>,
    },
    /// Predict what a machine would prove per hour, before it is rented: by its card's model, its link, its host.
    ///
    /// The range is wide, and says what limits. Many hosts limit more than their cards: 128 GiB of memory give about 22 proofs an
    /// hour with any card.
    Predict {
        /// Card model, e.g. "RTX 4090".
        gpu: String,
        /// Cards.
        #[arg(long, default_value_t = 1)]
        cards: u32,
        /// Copies to a card from pinned memory, GB/s; vast.ai's pcie_bw.
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
    /// Draw a chart of what is kept, or list the charts there are.
    ///
    /// Without -o its numbers are printed. Times are the manager's.
    Chart {
        #[command(flatten)]
        wanted: ChartArgs,
    },
    /// What is kept: figures over time, every log line, exports, another workstation's history.
    History {
        #[command(subcommand)]
        command: HistoryCommand,
    },
    /// Offers that could be rented: what each would prove and by what, what that costs, how its machine did before; cheapest
    /// proofs first. From vast.ai with a key, else from the manager.
    Offers {
        #[command(flatten)]
        market: MarketArgs,
        /// Those that cannot work as well, with why.
        #[arg(long)]
        all: bool,
        /// How it is shown: table (what fits the terminal), wide (every column, nothing cut) or json.
        #[arg(long, short, value_enum, default_value_t, hide_possible_values = true, value_name = "FORM")]
        output: Form,
        /// These columns, with commas between.
        #[arg(long, value_delimiter = ',', value_name = "LIST", value_parser = PossibleValuesParser::new(offers::columns()))]
        columns: Vec<String>,
    },
    /// Rent new instances, and follow each until it runs. Asked for once, found again by its label where an answer is lost; stops
    /// when a whole wave fails the same way.
    Deploy {
        /// So many.
        count: u32,
        #[command(flatten)]
        terms: TermsArgs,
        #[command(flatten)]
        market: MarketArgs,
    },
    /// Replace instances: rent a new one, wait until it runs, then retire the old one. Stops when a replacement gets stuck.
    Replace {
        /// Whom: ids, unique prefixes of them, vast.ai numbers or labels.
        #[arg(required_unless_present = "rented_before")]
        ids: Vec<String>,
        /// Everybody who was rented before then: a date, a time or an age such as 36h.
        #[arg(long, value_name = "WHEN", value_parser = crate::diagnose::before)]
        rented_before: Option<jiff::Timestamp>,
        #[command(flatten)]
        terms: TermsArgs,
        #[command(flatten)]
        market: MarketArgs,
    },
    /// Show deployments and replacements; pause, resume or take them back.
    Rollouts {
        #[command(subcommand)]
        command: Option<RolloutsCommand>,
    },
    /// Rules: what is done by itself when a verdict holds with its cause confirmed. Off and dry until said otherwise; followed by
    /// the window while it watches the fleet.
    Rules {
        #[command(subcommand)]
        command: Option<RulesCommand>,
    },
    /// Kill instances: the manager marks them killed and has their rentals destroyed. Verified afterwards, by lists of vast.ai's that
    /// the manager has read since (it reads one a minute), by its log, and with a key by vast.ai itself.
    ///
    /// Exit codes: 0 verified; 1 refused, or not seen to go (what the manager's log says of it is told); 5 sent, and not verified yet:
    /// no list that is newer than the deed could be read.
    Kill {
        #[command(flatten)]
        act: Act,
    },
    /// Destroy rentals at vast.ai, with their disks. Verified: not on two later lists of vast.ai's that are whole, and asked for by
    /// its number there is none.
    ///
    /// Exit codes: 0 verified; 1 refused, or not seen to go; 5 sent, and not verified yet: no whole list could be read.
    Destroy {
        #[command(flatten)]
        act: Act,
    },
    /// Stop containers. Their disks are billed on, and their cards can go to somebody else.
    Stop {
        #[command(flatten)]
        act: Act,
    },
    /// Start stopped containers.
    Start {
        #[command(flatten)]
        act: Act,
    },
    /// Stop and start containers. The image is not fetched anew.
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
        /// Why, as the manager keeps it.
        #[arg(long)]
        reason: String,
        #[command(flatten)]
        act: Act,
    },
    /// Show the manager's list of bad hosts: machines on which every instance is destroyed within a minute, why, and since when.
    BadHosts,
    /// Take machines off the manager's list of bad hosts.
    Unban {
        #[command(flatten)]
        act: Act,
    },
    /// Show what was done, by whom, why, and what came of it.
    Journal {
        /// The newest so many.
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
    /// Drills: scenarios run to their end in virtual time, and what was said compared with the truth.
    Drill {
        #[command(subcommand)]
        command: DrillCommand,
    },
    /// Check what Dwell needs of this machine.
    Doctor,
}

/// What is done to whom.
#[derive(Debug, clap::Args)]
pub(crate) struct Act {
    /// Ids, unique prefixes of them, vast.ai numbers or labels; of unban machines.
    #[arg(required = true)]
    pub(crate) ids: Vec<String>,
    /// Why, for the journal.
    #[arg(long, default_value = "")]
    pub(crate) why: String,
    /// Do not ask: it is meant so.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Only say what would be done.
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// The account of vast.ai's that it is done in; every one that is known is asked where not given.
    #[arg(long, value_name = "NAME")]
    pub(crate) account: Option<String>,
    /// Where vast.ai answers: a simulated one, for trying things.
    #[arg(long, env = "VAST_URL", value_name = "URL")]
    pub(crate) vast_url: Option<String>,
    /// Time between two readings that show what came of it.
    #[arg(long, default_value = "15s", value_name = "TIME", value_parser = span)]
    pub(crate) every: Duration,
    /// After so many readings it is not waited any longer.
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u16).range(2..))]
    pub(crate) readings: u16,
}

/// What can be done with rules.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum RulesCommand {
    /// All of the fleet, with what they did today.
    List,
    /// Keep a rule, in place of the one of its name.
    Add {
        /// Its name.
        name: String,
        /// When this verdict holds: stalled, invisible, contradicted, leaking, slow or gone.
        #[arg(long)]
        verdict: String,
        /// With this cause confirmed (dwellctl explain lists causes).
        #[arg(long)]
        cause: String,
        /// For so long.
        #[arg(long = "for", default_value = "15m", value_name = "TIME", value_parser = span)]
        lasts: Duration,
        /// Do this: kill, destroy, reboot or ban.
        #[arg(long = "do", value_name = "DEED")]
        deed: String,
        /// To so many a day at most.
        #[arg(long, default_value_t = 3, value_name = "N")]
        per_day: u32,
        /// Whose prices add up to so much a day at most, dollars per hour.
        #[arg(long, default_value_t = 2.0, value_name = "DOLLARS", allow_negative_numbers = true, value_parser = above_zero)]
        dollars_per_day: f64,
        /// Follow it.
        #[arg(long)]
        on: bool,
        /// Do it; without this the journal says what would be done.
        #[arg(long)]
        really: bool,
    },
    /// Remove a rule.
    Remove {
        /// Its name.
        name: String,
    },
}

/// What can be done to a rollout.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum RolloutsCommand {
    /// All of them, newest first.
    List,
    /// One, item by item.
    Show {
        /// Its name.
        name: String,
    },
    /// Begin no new step; what is under way is followed by whoever takes its steps.
    Pause {
        /// Its name.
        name: String,
    },
    /// Go on with one that was paused, or left by a process that was ended.
    Resume {
        /// Its name.
        name: String,
        /// The account of vast.ai's that rents; the one that was named when it was begun.
        #[arg(long, value_name = "NAME")]
        account: Option<String>,
        /// Where vast.ai answers: a simulated one, for trying things.
        #[arg(long, env = "VAST_URL", value_name = "URL")]
        vast_url: Option<String>,
        /// Time between two readings.
        #[arg(long, default_value = "15s", value_name = "TIME", value_parser = span)]
        every: Duration,
    },
    /// Take back what has not been begun.
    TakeBack {
        /// Its name.
        name: String,
    },
}

/// How something is rented.
#[derive(Debug, clap::Args)]
pub(crate) struct TermsArgs {
    /// What new ones may cost, dollars per hour: of a deployment all of them, of a replacement those whose old one is still there.
    #[arg(long, value_name = "DOLLARS", allow_negative_numbers = true, value_parser = above_zero)]
    pub(crate) budget: f64,
    /// New ones on their way at a time.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) at_once: u32,
    /// What a proof may cost, dollars: the manager kills whatever turns out dearer in its benchmark.
    #[arg(long, value_name = "DOLLARS", conflicts_with = "min_rate", allow_negative_numbers = true, value_parser = above_zero)]
    pub(crate) per_proof: Option<f64>,
    /// Proofs per hour below which the manager kills it.
    #[arg(long, value_name = "RATE", allow_negative_numbers = true, value_parser = above_zero)]
    pub(crate) min_rate: Option<f64>,
    /// These offers alone.
    #[arg(long, value_delimiter = ',', value_name = "IDS")]
    pub(crate) offers: Vec<u64>,
    /// Straight from vast.ai, with this image; through the manager, with its own, where not given.
    #[arg(long)]
    pub(crate) image: Option<String>,
    /// What the container runs at its start.
    #[arg(long, requires = "image", value_name = "SCRIPT")]
    pub(crate) onstart: Option<String>,
    /// A variable in its environment, NAME=VALUE, which is stored as it is; NAME alone takes the value from the keychain (dwellctl keys
    /// set-env), as every secret has to.
    #[arg(long = "env", requires = "image", value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,
    /// Longest time until one runs.
    #[arg(long, default_value = "150m", value_name = "TIME", value_parser = span)]
    pub(crate) running_within: Duration,
    /// Hours that the credit has to last.
    #[arg(long, default_value_t = 6.0, value_name = "HOURS", allow_negative_numbers = true, value_parser = from_zero)]
    pub(crate) credit_lasts: f64,
    /// Why, for the journal.
    #[arg(long, default_value = "")]
    pub(crate) why: String,
    /// Do not ask: it is meant so.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Only say what would be done.
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Time between two readings.
    #[arg(long, default_value = "15s", value_name = "TIME", value_parser = span)]
    pub(crate) every: Duration,
}

/// Which offers.
#[derive(Debug, clap::Args)]
pub(crate) struct MarketArgs {
    /// Filters in vast.ai's own language, e.g. 'gpu_name=RTX_4090 dph<=0.5 geolocation in [NO,SE]'; in place of those that follow
    /// from what the image needs.
    #[arg(long, value_name = "QUERY")]
    pub(crate) filter: Option<String>,
    /// Card model, e.g. "RTX 4090".
    #[arg(long)]
    pub(crate) gpu: Option<String>,
    /// Exactly so many cards.
    #[arg(long)]
    pub(crate) cards: Option<u64>,
    /// Highest price, dollars per hour.
    #[arg(long, value_name = "DOLLARS", allow_negative_numbers = true, value_parser = above_zero)]
    pub(crate) at_most: Option<f64>,
    /// Disk, GB; the price includes it.
    #[arg(long, default_value_t = 250.0, value_name = "GB", allow_negative_numbers = true, value_parser = from_zero)]
    pub(crate) disk: f64,
    /// Memory that the prover needs, GB.
    #[arg(long, default_value_t = 240.0, value_name = "GB", allow_negative_numbers = true, value_parser = from_zero)]
    pub(crate) ram: f64,
    /// CUDA that the image was built with.
    #[arg(long, default_value_t = 13.0, value_name = "VERSION", allow_negative_numbers = true, value_parser = from_zero)]
    pub(crate) cuda: f64,
    /// Oldest driver that will do, e.g. 570.133.
    #[arg(long, value_name = "VERSION")]
    pub(crate) driver: Option<String>,
    /// Compute capabilities that the image has kernels for, e.g. 8.6,8.9,12.0. All where not given.
    #[arg(long, value_delimiter = ',', value_parser = compute_cap, value_name = "LIST")]
    pub(crate) compute_cap: Vec<u64>,
    /// At most so many.
    #[arg(long, default_value_t = 40, value_name = "N")]
    pub(crate) limit: u32,
    /// Whose key: the name of an account.
    #[arg(long)]
    pub(crate) account: Option<String>,
    /// Where vast.ai answers: a simulated one, for trying things.
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
    /// From then on: a date, a time or an age such as 36h, 30d, 2w. All there is where not given.
    #[arg(long, value_name = "WHEN", value_parser = crate::diagnose::before)]
    pub(crate) since: Option<jiff::Timestamp>,
    /// Until then.
    #[arg(long, value_name = "WHEN", value_parser = crate::diagnose::before)]
    pub(crate) until: Option<jiff::Timestamp>,
}

/// A simulated fleet instead of one that was watched.
#[derive(Debug, clap::Args)]
pub(crate) struct SimulatedArchive {
    /// Of a simulated fleet, watched in virtual time: a scenario, or a scenario file.
    #[arg(long, value_name = "SCENARIO")]
    pub(crate) simulate: Option<String>,
    /// How long it is watched.
    #[arg(long = "for", value_name = "TIME", value_parser = span, default_value = "12h", requires = "simulate")]
    pub(crate) lasts: Duration,
    /// Seed of its randomness.
    #[arg(long, requires = "simulate")]
    pub(crate) seed: Option<u64>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ChartArgs {
    /// Which: throughput, cost, cost-per-proof, states, dwell, dwell-boxes, dwell-histogram, until-running, spent-before,
    /// endings, bench-rates, instance.
    pub(crate) name: Option<String>,
    /// Write it to this file: .svg, .png, .csv or .json.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) during: During,
    /// Split by: gpu, image, region or machine.
    #[arg(long)]
    pub(crate) by: Option<String>,
    /// The state, for charts of how long a state lasts.
    #[arg(long, default_value = "params_done", value_parser = PossibleValuesParser::new(STATES))]
    pub(crate) state: String,
    /// The instance, for its life.
    #[arg(long, value_name = "ID")]
    pub(crate) instance: Option<String>,
    /// Width, pixels; a PNG has twice as many.
    #[arg(long, default_value_t = 960, value_name = "N")]
    pub(crate) width: u32,
    /// Height, pixels.
    #[arg(long, default_value_t = 480, value_name = "N")]
    pub(crate) height: u32,
    /// Light on dark.
    #[arg(long)]
    pub(crate) dark: bool,
    #[command(flatten)]
    pub(crate) simulated: SimulatedArchive,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HistoryCommand {
    /// Figures of a time, group by group: proofs, dollars, how long until running, kills.
    Query {
        #[command(flatten)]
        during: During,
        /// Split by: gpu, image, region or machine.
        #[arg(long, default_value = "gpu")]
        by: String,
        #[command(flatten)]
        simulated: SimulatedArchive,
    },
    /// Find words in every log line that is kept, newest first.
    Search {
        /// Whole words, all of them; word* for a beginning of four letters or more; in quotation marks as they are.
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
        /// At most so many.
        #[arg(long, short = 'n', default_value_t = 50, value_name = "N")]
        limit: usize,
        #[command(flatten)]
        simulated: SimulatedArchive,
    },
    /// Write a part of history to a file: CSV, JSON lines or Parquet.
    Export {
        /// instances, transitions, gauges, benchmarks, flags or logs.
        table: String,
        /// The file: .csv, .jsonl or .parquet. Never written over another.
        #[arg(long, short, value_name = "FILE")]
        out: PathBuf,
        #[command(flatten)]
        during: During,
        #[command(flatten)]
        simulated: SimulatedArchive,
    },
    /// Join another workstation's history to this one: what both saw counts once.
    Import {
        /// Its history.sqlite3.
        file: PathBuf,
    },
    /// List the fleets of which something is kept.
    Fleets,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BenchRun {
    /// Which cards, by their numbers in the driver's order, with commas between.
    #[arg(long, default_value = "0", value_name = "N", value_delimiter = ',')]
    pub(crate) device: Vec<u32>,
    /// Every card of this machine.
    #[arg(long, conflicts_with_all = ["device", "simulate"])]
    pub(crate) all: bool,
    /// Several cards at the same time, as they would prove, instead of in turn.
    #[arg(long)]
    pub(crate) together: bool,
    /// Under a minute a card; so it is where nothing else is said.
    #[arg(long, conflicts_with_all = ["full", "soak"])]
    pub(crate) quick: bool,
    /// Under five minutes instead of under one.
    #[arg(long)]
    pub(crate) full: bool,
    /// The full run, and then the mix of proving for so long: does it stay as fast?
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub(crate) soak: Option<Duration>,
    /// Simulated cards instead, with commas between; `dwellctl bench cards` lists them.
    #[arg(long, value_name = "NAME", global = true, value_delimiter = ',')]
    pub(crate) simulate: Vec<String>,
    /// Keep the record in this file: .json, .md, .png or .svg. May be given several times.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Vec<PathBuf>,
    /// Also run the prover's own benchmark client and keep the proofs per minute that it prints. The command follows `--`:
    /// `dwellctl bench --external -- cuzk-bench batch -t porep --c1 c1.json -c 12`.
    #[arg(long, requires = "command_of_client")]
    pub(crate) external: bool,
    /// How long that client may run.
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "2h")]
    pub(crate) external_at_most: Duration,
    /// The command.
    #[arg(last = true, value_name = "COMMAND", requires = "external", id = "command_of_client")]
    pub(crate) client: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Only check that every kernel computes rightly on the card.
    Check,
    /// List the cards of this machine, what the driver says of them now, and the simulated ones.
    Cards,
    /// Published figures of the same arithmetic, with their sources.
    Published,
    /// Put two records side by side.
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
    /// One HTML file that loads nothing.
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
    /// The newest so many lines.
    #[arg(long, short = 'n', default_value_t = 200, value_name = "N")]
    pub(crate) tail: usize,
    /// Only lines that contain this text, letter case ignored.
    #[arg(long, value_name = "TEXT")]
    pub(crate) contains: Option<String>,
    /// Go on with new lines as they come.
    #[arg(long, short)]
    pub(crate) follow: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Keep the value of a variable that rentals get in the keychain; it is asked for, or read from standard input.
    SetEnv {
        /// Name of the variable.
        name: String,
    },
    /// List the accounts, and where their keys are.
    List,
    /// Take a key into the keychain. It is asked for, or read from standard input.
    Add {
        /// A name for the account.
        name: String,
    },
    /// Take the key of vast.ai's own client into the keychain: from VAST_API_KEY, else from its file.
    Import {
        /// A name for the account.
        #[arg(default_value = "vast.ai")]
        name: String,
    },
    /// Take a key out of the keychain.
    Remove {
        /// The account.
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum VastCommand {
    /// The account's rentals, as vast.ai lists them.
    Instances {
        /// Read the manager as well, and put its rows beside them: what is billed and unknown to it stands out.
        #[arg(long)]
        with_manager: bool,
    },
    /// The account and its credit.
    User,
    /// A container's output, as vast.ai uploads it.
    Logs {
        /// vast.ai's number of the rental.
        id: u64,
        /// The host daemon's log instead.
        #[arg(long)]
        daemon: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum FleetsCommand {
    /// List them.
    List,
    /// Save one that answers, and make it the one that is watched.
    Add {
        /// A name for it.
        name: String,
        /// The manager's address.
        url: String,
        /// Save it though it does not answer.
        #[arg(long)]
        force: bool,
    },
    /// Allow looks at its machines by SSH (dwellctl probe ID --show prints what is run).
    AllowProbe {
        /// Its name.
        name: String,
    },
    /// Forbid looks at its machines.
    ForbidProbe {
        /// Its name.
        name: String,
    },
    /// Allow acting on it: kill, destroy, stop, ban. Until then it is read-only.
    AllowActing {
        /// Its name.
        name: String,
    },
    /// Make it read-only.
    ReadOnly {
        /// Its name.
        name: String,
    },
    /// Forget one. Its history stays.
    Remove {
        /// Its name.
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum SimCommand {
    /// List the scenarios.
    List,
    /// Serve a scenario as a manager and as vast.ai on this machine, until interrupted.
    Serve {
        /// Its name, or a scenario file.
        #[arg(default_value = "params-done-silence")]
        scenario: String,
        #[command(flatten)]
        start: SimStart,
        /// Simulated seconds in a real one; 0: time stands still.
        #[arg(long, default_value_t = 1.0, allow_negative_numbers = true, value_parser = from_zero)]
        speed: f64,
        /// The manager's port on 127.0.0.1; 0 for any free one.
        #[arg(long, default_value_t = 0)]
        port: u16,
        /// vast.ai's port on 127.0.0.1; 0 for any free one.
        #[arg(long, default_value_t = 0)]
        vast_port: u16,
    },
    /// Watch a scenario in virtual time: as fast as this machine can, ending with what is flagged.
    Run {
        /// Its name, or a scenario file.
        #[arg(default_value = "params-done-silence")]
        scenario: String,
        #[command(flatten)]
        start: SimStart,
        /// Simulated time to watch; the scenario's own where not given.
        #[arg(long = "for", value_name = "TIME", value_parser = span)]
        lasts: Option<Duration>,
        /// Stop when this many instances are flagged that need a person.
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
        /// Its name, or a scenario file.
        scenario: String,
        #[command(flatten)]
        start: SimStart,
    },
    /// Run many scenarios with many seeds.
    Batch {
        /// Names, scenario files, or folders of scenario files; every shipped one where none is given.
        scenarios: Vec<String>,
        /// Seeds from A up to, not including, B.
        #[arg(long, value_name = "A..B", default_value = "0..1", value_parser = seeds)]
        seeds: std::ops::Range<u64>,
        /// Runs at the same time; 0 for as many as there are processors.
        #[arg(long, default_value_t = 0, value_name = "N")]
        jobs: usize,
        /// List for every cause how often it was found: with the manager alone, and with every channel asked.
        #[arg(long)]
        by_cause: bool,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct SimStart {
    /// Seed of all randomness; the scenario's own where not given.
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
