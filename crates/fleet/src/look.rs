//! What the channels that are asked on purpose answer: vast.ai's record, the container's output, the machine itself, the
//! prover's status. Typed, in the domain's terms; whoever asks (a client, a simulated world) makes these.
//!
//! Text in here comes from instances and hosts, and is hostile.

use std::net::{IpAddr, Ipv4Addr};

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
    /// Where port 22 is mapped to.
    pub ssh_direct: Option<SshAddress>,
    /// vast.ai's proxy for it.
    pub ssh_proxy: Option<SshAddress>,
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

/// An address for SSH. Checked: it can be given to a program as an argument.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SshAddress {
    host: String,
    port: u16,
}

/// Whether this is a name of the DNS with its domain: a word alone could be a name in the operator's own network or configuration.
fn is_full_name(host: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|letter| letter.is_ascii_alphanumeric() || letter == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let last = host.rsplit('.').next().unwrap_or_default();
    // What ends in a number is read as an address, in spellings that are none.
    let is_numeric = last.starts_with(|letter: char| letter.is_ascii_digit());
    host.len() <= 253 && host.contains('.') && host.split('.').all(label) && !is_numeric
}

/// Endings of names that mean something in one's own network alone. Source: RFC 6761, 6762, 8375, and ICANN's `.internal`; `lan`,
/// `intranet`, `corp` and `home` are no names of the public DNS and are used so.
const LOCAL_ENDINGS: [&str; 12] =
    ["localhost", "localdomain", "local", "internal", "intranet", "private", "lan", "corp", "home", "arpa", "test", "invalid"];

/// Whether an address is one of the public internet: neither this machine's, nor of a network of one's own (RFC 1918, 4193, 6598,
/// link-local), nor for many at once, nor reserved. Those that stand for documentation lead nowhere, and are let pass.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [one, two, three, _] = address.octets();
            let is_shared = one == 100 && (64..128).contains(&two);
            let is_protocols = (one, two, three) == (192, 0, 0) || (one == 198 && (18..20).contains(&two));
            !(address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || one == 0
                || one >= 224
                || is_shared
                || is_protocols)
        }
        IpAddr::V6(address) => {
            let parts = address.segments();
            let [high, low] = [parts[6], parts[7]];
            let inner = |high: u16, low: u16| is_public(IpAddr::V4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low))));
            match parts {
                // ::/96 and ::ffff:0:0/96: this machine, nobody, or an address of the older kind.
                [0, 0, 0, 0, 0, 0 | 0xffff, ..] => inner(high, low),
                // NAT64 and 6to4 lead to one as well.
                [0x64, 0xff9b, ..] => inner(high, low),
                [0x2002, high, low, ..] => inner(high, low),
                [first, ..] => (first & 0xfe00) != 0xfc00 && (first & 0xff80) != 0xfe80 && first < 0xff00,
            }
        }
    }
}

impl SshAddress {
    /// Whether its name is one of a network of one's own, whatever it leads to.
    pub fn is_local_name(&self) -> bool {
        let last = self.host.rsplit('.').next().unwrap_or_default();
        self.host.parse::<IpAddr>().is_err() && LOCAL_ENDINGS.iter().any(|ending| last.eq_ignore_ascii_case(ending))
    }

    /// `None` where that is neither an IP address nor a full name, or no port.
    pub fn new(host: &str, port: u64) -> Option<Self> {
        let port = u16::try_from(port).ok().filter(|port| *port > 0)?;
        let is_number = host.parse::<IpAddr>().is_ok();
        (is_number || is_full_name(host)).then(|| Self { host: host.to_owned(), port })
    }

    /// Out of a command line such as the manager writes it, `ssh -p 40022 root@192.0.2.10`; anything else is `None`.
    pub fn of_command(command: &str) -> Option<Self> {
        let words: Vec<&str> = command.split_whitespace().collect();
        let ["ssh", "-p", port, target] = words[..] else { return None };
        Self::new(target.strip_prefix("root@")?, port.parse().ok()?)
    }

    /// Name or number of the host.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Port.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl std::fmt::Display for SshAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
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
    /// It printed more than is read, and nothing that was asked for.
    TooMuch,
    /// Something listens, and ends the connection before anybody is let in.
    Cut,
    /// Another host key than at an earlier look: the container was made anew, or somebody stands in between.
    HostKeyChanged,
    /// The other way got in.
    NotTried,
    /// The name of the host is not known here.
    NameUnknown,
}

impl Reach {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connected => "connected",
            Self::TimedOut => "no answer",
            Self::Refused => "refused",
            Self::KeyRefused => "key not accepted",
            Self::NoAddress => "no address",
            Self::TooMuch => "too much output",
            Self::Cut => "cut before the login",
            Self::HostKeyChanged => "host key changed",
            Self::NotTried => "not tried",
            Self::NameUnknown => "name not found",
        }
    }
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
    /// When it started; `None` where `ps` told an age that no process has.
    pub started_at: Option<Timestamp>,
    /// Processor load, percent of one core.
    pub cpu_percent: Option<f64>,
    /// Resident memory, GiB.
    pub memory_gib: Option<f64>,
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
    /// Model.
    pub name: String,
    /// Percent.
    pub load_percent: Option<f64>,
    /// Degrees Celsius.
    pub temperature_c: Option<f64>,
    /// MiB.
    pub memory_used_mib: Option<f64>,
    /// MiB.
    pub memory_mib: Option<f64>,
    /// The gravest reason that the driver gives for low clocks; `Not Active` where it gives none.
    pub throttle_reason: Option<String>,
    /// Lanes now.
    pub bus_width: Option<u32>,
}

/// A log file on the machine.
#[derive(Debug, Clone, PartialEq)]
pub struct LogFile {
    /// The source that the shipper would name.
    pub source: String,
    /// Path.
    pub path: String,
    /// Size, bytes.
    pub bytes: Option<u64>,
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
    pub processes: Option<Vec<Process>>,
    /// What has ended, oldest first.
    pub exits: Option<Vec<Exit>>,
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
    /// Memory used of it, GiB.
    pub memory_used_gib: Option<f64>,
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
    pub files: Option<Vec<LogFile>>,
    /// What listens, as the machine lists it.
    pub sockets: Option<Vec<String>>,
    /// A name can be resolved.
    pub resolves_names: Option<bool>,
    /// The manager answers from there.
    pub reaches_manager: Option<bool>,
    /// Since the machine started, seconds.
    pub up_s: Option<f64>,
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

/// The prover's status. `None`: not told.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProverStatus {
    /// Since its start, seconds. It ticks by itself: no sign of work.
    pub up_s: Option<f64>,
    /// Memory that it may use, bytes.
    pub memory_total: Option<f64>,
    /// Memory that it holds, bytes.
    pub memory_used: Option<f64>,
    /// Circuits being synthesised, and how many may be at once.
    pub synthesis: Option<(u64, Option<u64>)>,
    /// Proofs completed since its start.
    pub completed: Option<u64>,
    /// Proofs failed since its start (an under-count in some versions).
    pub failed: Option<u64>,
    /// Proofs in work; failed ones stay here for ever.
    pub proofs: Vec<ProofInWork>,
    /// Workers, one a card or more.
    pub workers: Vec<Worker>,
    /// Parameter files in memory; none while one is loaded.
    pub parameters_loaded: Option<Vec<String>>,
    /// Requests that wait.
    pub queue_depth: Option<u64>,
}

/// A proof that the prover works on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProofInWork {
    /// Its number, as the prover names it.
    pub job: String,
    /// e.g. `porep-32g`.
    pub kind: String,
    /// Parts done.
    pub done: u64,
    /// Parts in all.
    pub of: Option<u64>,
    /// How many parts are in each state that is named.
    pub states: Vec<(String, u64)>,
}

impl ProofInWork {
    /// Nothing of it has begun.
    pub fn all_pending(&self) -> bool {
        !self.states.is_empty() && self.states.iter().all(|(state, _)| state == "pending")
    }
}

/// A worker of the prover.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Worker {
    /// Number of the card.
    pub card: Option<u64>,
    /// `idle`, `proving`.
    pub state: String,
    /// At its part, seconds.
    pub busy_s: Option<f64>,
}

impl ProverStatus {
    /// Longest time that a worker has been at its part, seconds.
    pub fn busiest_s(&self) -> f64 {
        self.workers.iter().filter(|worker| worker.state == "proving").filter_map(|worker| worker.busy_s).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rented_machine_is_on_the_public_internet() {
        let public = |host: &str| is_public(host.parse().unwrap());
        for host in [
            "8.8.8.8",
            "192.0.2.10",
            "100.63.0.1",
            "172.32.0.1",
            "223.255.255.255",
            "2001:db8::1",
            "2a01:4f8::1",
            "::ffff:8.8.8.8",
        ] {
            assert!(public(host), "{host}");
        }
        for host in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.127.0.1",
            "192.0.0.8",
            "198.18.0.1",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::10.0.0.1",
            "2002:7f00:1::",
            "2002:a00:1::1",
        ] {
            assert!(!public(host), "{host}");
        }
        for host in ["db.internal", "printer.local", "a.localhost", "x.LAN", "router.home.arpa", "ci.corp"] {
            assert!(SshAddress::new(host, 22).is_some_and(|address| address.is_local_name()), "{host}");
        }
        for host in ["ssh4.vast.ai", "local.example.com", "10.0.0.1", "internal.vast.ai"] {
            assert!(SshAddress::new(host, 22).is_some_and(|address| !address.is_local_name()), "{host}");
        }
    }

    #[test]
    fn an_address_of_a_machine_is_no_alias() {
        for host in ["192.0.2.10", "2001:db8::1", "ssh4.vast.ai", "A-1.example"] {
            assert!(SshAddress::new(host, 40_022).is_some(), "{host}");
        }
        for host in [
            "",
            "controller",
            "localhost",
            "-x.y",
            "x-.y",
            "a..b",
            ".a",
            "a.",
            "a_b.c",
            "0x7f.1",
            "127.1",
            "a.b:c",
            "fe80::1%eth0",
            "a b.c",
        ] {
            assert_eq!(SshAddress::new(host, 40_022), None, "{host}");
            assert_eq!(SshAddress::of_command(&format!("ssh -p 40022 root@{host}")), None, "{host}");
        }
        assert!(SshAddress::new("192.0.2.10", 0).is_none() && SshAddress::new("192.0.2.10", 65_536).is_none());
    }
}
