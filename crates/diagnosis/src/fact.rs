//! What can be seen: one entry a fact, with what its presence and its absence mean, who can witness it, and how often it is
//! seen where nothing explains it.
//!
//! A fact is a sign, mostly of something out of order, that can be true or false. It is independent of the channel that
//! shows it: the same line read from the manager and from the file on the machine is one fact, counted once.

use std::sync::OnceLock;

use crate::channel::Channel;
use crate::signature::{SIGNATURES, Written};

/// A fact, by its place in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fact(u16);

/// Facts that have one witness count as one voice: their sum is capped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Witness {
    /// The manager's rows.
    Rows,
    /// What the manager and its copy of vast.ai's list do for the whole fleet.
    Manager,
    /// Text that the instance writes, wherever it is read.
    Words,
    /// Whether it writes at all.
    Pace,
    /// vast.ai's record.
    Record,
    /// How far a connection gets.
    Way,
    /// Processes on the machine.
    Processes,
    /// Cards and driver.
    Cards,
    /// Memory, disk, processors, names.
    Machine,
    /// The prover's own counters.
    Prover,
}

impl Witness {
    /// Every witness.
    pub const ALL: [Self; 10] = [
        Self::Rows,
        Self::Manager,
        Self::Words,
        Self::Pace,
        Self::Record,
        Self::Way,
        Self::Processes,
        Self::Cards,
        Self::Machine,
        Self::Prover,
    ];
}

/// An entry of the table.
#[derive(Debug, Clone, Copy)]
pub struct FactKind {
    /// Stable kebab-case id.
    pub id: &'static str,
    /// What is known when it holds, as a sentence part.
    pub holds: &'static str,
    /// What is known when it does not.
    pub fails: &'static str,
    /// Who witnesses it.
    pub witness: Witness,
    /// Channels that can show it.
    pub by: &'static [Channel],
    /// Two looks some time apart are needed.
    pub two_looks: bool,
    /// How often it is true under a cause that says nothing of it. A judgement, as all the catalogue's figures are.
    pub usual: f32,
}

use Channel::VastRecord as V;
use Channel::{ContainerLog as C, InstanceLog as L, ManagerDashboard as D, ManagerLog as M, ProverStatus as Q, SshProbe as S};

macro_rules! facts {
    ($($name:ident $id:literal $witness:ident [$($by:ident)*] $usual:literal $($two:ident)? : $holds:literal / $fails:literal;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[repr(u16)]
        enum Place { $($name),* }
        $(#[doc = $holds] pub(crate) const $name: Fact = Fact(Place::$name as u16);)*
        const TABLE: &[FactKind] = &[
            $(FactKind {
                id: $id,
                holds: $holds,
                fails: $fails,
                witness: Witness::$witness,
                by: &[$($by),*],
                two_looks: facts!(@two $($two)?),
                usual: $usual,
            }),*
        ];
    };
    (@two) => { false };
    (@two twice) => { true };
}

facts! {
    // Pace.
    LATE "late" Rows [D] 0.35: "it has been in its state longer than 95 % of its kind" / "its dwell is still usual for its kind";
    LOG_SILENT "log-silent" Pace [L] 0.3: "its log could show progress and shows none" / "its log shows progress";
    WORK_GOES_ON "work-goes-on" Processes [S Q] 0.5: "work goes on, seen on the machine itself" / "nothing moves on the machine itself";
    STANDS_LONG "stands-long" Processes [S] 0.25: "nothing has been written on the machine itself for a quarter of an hour" / "something was written on the machine itself within a quarter of an hour";
    PAUSED "paused" Pace [L] 0.025: "its benchmark paused for minutes and went on" / "its benchmark did not pause";
    GPU_IDLE "gpu-idle" Record [D V S] 0.3: "its card idles" / "its card is busy";
    PROOFS_SLOW "proofs-slow" Words [L S] 0.06: "its proofs take much longer than those of others with this card" / "its proofs take as long as those of others with this card";
    PROOFS_SLOWING "proofs-slowing" Words [L S] 0.02: "its proofs take longer and longer" / "its proofs do not slow down";
    LOG_SPOKE "log-spoke" Rows [L] 0.8: "the manager has received lines from it" / "the manager has received no line from it";
    ONLY_EARLY_SOURCES "only-early-sources" Rows [L] 0.1: "only its entrypoint's lines arrive" / "lines of its prover arrive as well";

    // The manager's rows.
    KILLED_DISAPPEARED "killed-disappeared" Rows [D] 0.02: "the manager wrote it off: its number was not in vast.ai's list" / "the manager did not write it off as disappeared";
    KILLED_RATE_ZERO "killed-rate-zero" Rows [D] 0.01: "it was killed for a benchmark rate of zero" / "it was not killed for a rate of zero";
    KILLED_RATE_LOW "killed-rate-low" Rows [D] 0.01: "it was killed for a benchmark rate below its minimum" / "it was not killed for a low rate";
    KILLED_RATE_SIXTIETH "killed-rate-sixtieth" Rows [D] 0.005: "the reported rate is about a sixtieth of what its card does elsewhere" / "the reported rate is no sixtieth of what its card does";
    KILLED_BENCHMARK_TIMEOUT "killed-benchmark-timeout" Rows [D] 0.4: "the manager's 45 minutes for the benchmark ran out" / "the manager's 45 minutes for the benchmark did not end it";
    KILLED_PARAMS_TIMEOUT "killed-params-timeout" Rows [D] 0.4: "the manager's 90 minutes for the parameters ran out" / "the manager's 90 minutes for the parameters did not end it";
    KILLED_TOO_SOON "killed-too-soon" Rows [D] 0.005: "the manager's timer ended it before that time had passed by its own dates" / "the manager's timer and its dates agree";
    KILLED_BAD_HOST "killed-bad-host" Rows [D M] 0.005: "it was killed for its machine, which is on the manager's list of bad hosts" / "it was not killed for its machine";
    KILLED_RATE_OF_OWN "killed-rate-of-own" Words [L] 0.003: "the reported rate is about a sixtieth of what the times of its own proofs give" / "the reported rate is no sixtieth of what the times of its own proofs give";
    KILLED_BY_HAND "killed-by-hand" Rows [D] 0.01: "somebody had it killed" / "nobody had it killed by hand";
    KILLED_TOGETHER "killed-together" Rows [D] 0.02: "most of the fleet was written off in the same minute" / "it was not written off together with others";
    KILLED_STILL_LISTED "killed-still-listed" Record [D V] 0.02: "killed for the manager, and vast.ai still has it" / "vast.ai does not have it any more";
    KILLED_AND_BACK "killed-and-back" Rows [D] 0.005: "it was killed and reports again" / "it did not report after being killed";
    VANISHED "vanished" Rows [D] 0.05: "the manager stopped listing it without killing it" / "the manager lists it";
    LABEL_ODD "label-odd" Rows [D] 0.005: "it registered under a name that is no vast.ai number" / "it registered under its vast.ai number";
    MIN_RATE_HIGH "min-rate-high" Rows [D] 0.03: "its minimum rate is more than its card does anywhere here" / "its minimum rate is within what its card does";
    RATE_IMPLAUSIBLE "rate-implausible" Rows [D] 0.003: "its reported rate is more than its card can do" / "its reported rate is plausible for its card";
    NO_BENCHMARK "no-benchmark" Rows [D] 0.01: "it runs and never reported a benchmark" / "it reported a benchmark before it ran";
    TWIN_ROW "twin-row" Rows [D] 0.003: "the manager has two rows for this rental" / "the manager has one row for it";
    FELL_BACK "fell-back" Rows [D] 0.005: "the manager lost its row and calls it loading again" / "the manager has kept its row";
    NO_PARAMETER_TIME "no-parameter-time" Rows [D] 0.002: "the manager's row lacks the time of its parameters" / "the manager's row has its times";
    BUFFER_FULL "buffer-full" Rows [D] 0.03: "its log buffer at the manager is full: the oldest lines were dropped" / "its log buffer was never full";
    UNNAMED_SOURCE "unnamed-source" Words [L] 0.003: "its lines arrive without a source" / "its lines name their source";
    RETURNED_CARRIAGES "returned-carriages" Words [L S] 0.005: "a progress bar is drawn in one line without end" / "its lines end";
    LINES_IN_A_BURST "lines-in-a-burst" Pace [L] 0.02: "many lines arrived at once after a pause" / "its lines arrived as they were written";
    PUSH_CUT "push-cut" Pace [L] 0.003: "a push of lines reached the 256 KiB at which the manager cuts" / "no push reached the size at which the manager cuts";
    DONE_UNHEARD "done-unheard" Words [L S] 0.01: "its benchmark ended minutes ago, and the manager has not heard of it" / "the manager has heard of its benchmark's end, or it has not ended";
    DAEMON_STARTS_AGAIN "daemon-starts-again" Words [L S] 0.01: "the prover daemon has started four times or more within half an hour" / "the prover daemon does not start again and again";
    STARTED_OVER "started-over" Words [L S M] 0.01: "its container was started again after it had reached this state" / "its container was not started again since";
    REGISTERED_UNHEARD "registered-unheard" Words [S L] 0.01: "it says that it registered, and the manager does not list it so" / "it does not say that it registered";
    BEATEN_TO_IT "reported-by-another" Words [L] 0.005: "a benchmark was reported that its log does not show" / "its log shows the benchmark that was reported";

    // The manager and its copy of vast.ai's list.
    MANAGER_UNREACHABLE "manager-unreachable" Manager [D] 0.002: "the manager does not answer Dwell" / "the manager answers Dwell";
    MANAGER_CLOCK_OFF "manager-clock-off" Manager [D] 0.003: "the manager's clock is off by minutes" / "the manager's clock agrees with this one";
    LIST_OLD "list-old" Manager [D] 0.01: "the manager's copy of vast.ai's list is old" / "the manager's copy of vast.ai's list is fresh";
    LISTING_SILENT "listing-silent" Manager [M] 0.004: "the manager has stopped speaking of vast.ai's list, without an error" / "the manager's log speaks of vast.ai's list";
    LOGS_LOST_AT_RESTART "logs-lost-at-restart" Manager [D M] 0.03: "the manager restarted during this state: its buffers were emptied" / "the manager did not restart during this state";
    LISTED_NONE "listed-none" Manager [M] 0.003: "vast.ai's list was empty for the manager while instances were rented" / "vast.ai's list was not empty for the manager";
    LISTED_ONE_PAGE "listed-one-page" Manager [M] 0.004: "the manager sees exactly one page of 25 rentals" / "the manager does not see exactly one page of rentals";
    DESTROYED_BY_ITS_WORD "destroyed-by-its-word" Manager [M] 0.5: "the manager says that it destroyed the rental" / "the manager does not say that it destroyed the rental";
    KILL_UNNAMED "kill-unnamed" Manager [M] 0.02: "the manager's log knows of no destroy of its rental at its kill" / "the manager's log names its rental at its kill";
    LISTED_SHORT "listed-short" Manager [V] 0.01: "vast.ai has more rentals in this account than the manager's list" / "the manager's list has as many rentals as vast.ai has in this account";
    CLOCK_OFF_BY_LINES "clock-off-by-lines" Manager [L] 0.002: "the instances' own clocks too say that the manager's is off" / "the instances' own clocks agree with the manager's";
    TELEMETRY_ZEROS "telemetry-zeros" Record [D V] 0.01: "vast.ai shows zeros for most of the fleet's cards at once" / "vast.ai's readings are not zeros";
    TELEMETRY_FROZEN "telemetry-frozen" Record [D V] 0.01: "vast.ai's readings of the whole fleet have not changed for a quarter of an hour" / "vast.ai's readings change";

    // vast.ai's record.
    RECORD_ABSENT "record-absent" Record [V] 0.03: "vast.ai has no such rental" / "vast.ai has the rental";
    RECORD_FLICKERS "record-flickers" Record [V] 0.004: "vast.ai lists it and answers null when asked for it" / "vast.ai answers the same both ways";
    NOT_RUNNING "not-running" Record [V] 0.12: "vast.ai does not call it running" / "vast.ai calls it running";
    PULLING "pulling" Record [V] 0.02: "vast.ai is still pulling its image" / "vast.ai is not pulling its image";
    CREATED_ONLY "created-only" Record [V] 0.01: "vast.ai has created it and cannot start it" / "vast.ai has no trouble starting it";
    OFFLINE "offline" Record [V] 0.01: "vast.ai hears nothing from its host" / "vast.ai hears from its host";
    STOPPED_AS_MEANT "stopped-as-meant" Record [V] 0.01: "it is stopped, and is meant to be" / "it is not meant to be stopped";
    STOPPED_AGAINST_WILL "stopped-against-will" Record [V] 0.01: "it is stopped, and is meant to run" / "it is not stopped against its will";
    WAITS_FOR_CARD "waits-for-card" Record [V] 0.004: "vast.ai waits for its card to be free" / "vast.ai does not wait for a card";
    IS_BID "is-bid" Record [V] 0.05: "it is rented by a bid, and can be outbid" / "it is not rented by a bid";
    END_PASSED "end-passed" Record [V] 0.01: "the end of its rental has passed" / "its rental has not ended";
    CREDIT_GONE "credit-gone" Record [V] 0.005: "the account has no credit left" / "the account has credit";
    STOPPED_TOGETHER "stopped-together" Record [V] 0.02: "most of the account's rentals are stopped" / "the account's other rentals run";
    NO_PORTS "no-ports" Record [V] 0.03: "its SSH port is not mapped to the outside" / "its SSH port is mapped";
    DRIVER_OLD "driver-old" Record [D V] 0.04: "its driver is older than what CUDA 12.4 needs (550)" / "its driver is new enough for CUDA 12.4";
    FEW_CORES "few-cores" Machine [V] 0.08: "it may use less than half of the cores that it was offered with" / "it may use the cores that it was offered with";
    CPU_FULL "cpu-full" Record [D V] 0.1: "its processors are at their limit" / "its processors have room";
    SMALL_MEMORY "small-memory" Machine [D V S] 0.08: "the container may use much less memory than the host has" / "the container may use the host's memory";
    LABELLED "labelled" Record [V] 0.1: "its rental carries a label at vast.ai" / "its rental carries no label at vast.ai";
    VAST_REFUSES "vast-refuses" Record [V] 0.01: "vast.ai refuses Dwell's own request as well" / "vast.ai answers Dwell's own request";
    LISTING_RETIRED "listing-retired" Record [V] 0.004: "vast.ai says that the listing is retired" / "vast.ai does not say that its listing is retired";
    START_DATE_MISSING "start-date-missing" Record [V] 0.004: "a rental's record lacks its start date" / "its record has a start date";
    STATUS_STANDS "status-stands" Record [D V] 0.3 twice: "vast.ai's status text stands still" / "vast.ai's status text moves";

    // The container's output at vast.ai.
    NO_CONTAINER "no-container" Way [C] 0.1: "the host has no container for it" / "the host has a container for it";
    LOG_UPLOAD_LATE "log-upload-late" Way [C] 0.01: "vast.ai needs long to upload logs" / "vast.ai uploads logs at once";

    // The way in.
    SSH_TIMES_OUT "ssh-times-out" Way [S] 0.02: "nothing answers at its address" / "something answers at its address";
    SSH_REFUSED "ssh-refused" Way [S] 0.02: "nothing listens for SSH" / "something listens for SSH";
    KEY_REFUSED "key-refused" Way [S] 0.01: "it does not accept the operator's key" / "it accepts the operator's key";
    NO_ADDRESS "no-address" Way [S] 0.1: "there is no address to connect to" / "there is an address to connect to";
    ONLY_BY_PROXY "only-by-proxy" Way [S] 0.02: "it can be reached through vast.ai's proxy only" / "its direct port works";

    // Processes.
    SCRIPT_GONE "script-gone" Processes [S] 0.06: "its entrypoint is not running" / "its entrypoint is running";
    SCRIPT_ENDED_WELL "script-ended-well" Processes [S] 0.01: "its entrypoint ended with code 0" / "its entrypoint did not end with code 0";
    SCRIPT_FAILED "script-failed" Processes [S] 0.02: "its entrypoint ended with an error" / "its entrypoint did not end with an error";
    SCRIPT_LACKED_TOOL "script-lacked-tool" Processes [S] 0.005: "its entrypoint ended with code 127: a program is missing" / "its entrypoint did not end with code 127";
    SCRIPT_TIMED_OUT "script-timed-out" Processes [S] 0.005: "its entrypoint ended with code 28: curl timed out" / "its entrypoint did not end with a time-out of curl";
    NO_ENTRYPOINT_LOG "no-entrypoint-log" Processes [S] 0.02: "its entrypoint never wrote a line" / "its entrypoint wrote its log";
    TUNNEL_GONE "tunnel-gone" Processes [S] 0.02: "the tunnel client is not running" / "the tunnel client is running";
    SHIPPER_GONE "shipper-gone" Processes [S] 0.08: "no log shipper runs" / "the log shipper runs";
    FETCH_GONE "fetch-gone" Processes [S] 0.1: "nothing fetches parameters" / "the parameter fetch runs";
    FETCH_SLEEPS "fetch-sleeps" Processes [S] 0.1: "the parameter fetch sleeps" / "the parameter fetch works";
    FETCH_STILL_RUNS "fetch-still-runs" Processes [S] 0.02: "parameters are still being fetched" / "no parameters are being fetched any more";
    DAEMON_GONE "daemon-gone" Processes [S] 0.08: "the prover daemon is not running" / "the prover daemon is running";
    DAEMON_HANGS_IN_DRIVER "daemon-hangs-in-driver" Processes [S] 0.02: "the prover daemon waits in the driver and cannot be ended (state D)" / "the prover daemon does not hang in the driver";
    DAEMON_ENDED_1 "daemon-ended-1" Processes [S] 0.02: "the prover daemon ended with an error of its own (1)" / "the prover daemon did not end with code 1";
    DAEMON_ENDED_127 "daemon-ended-127" Processes [S] 0.005: "the prover daemon did not start: a library is missing (127)" / "the prover daemon did not end with code 127";
    DAEMON_ENDED_132 "daemon-ended-132" Processes [S] 0.004: "the prover daemon used an instruction that the processor lacks (132)" / "the prover daemon did not end with code 132";
    DAEMON_ENDED_134 "daemon-ended-134" Processes [S] 0.02: "the prover daemon aborted (134)" / "the prover daemon did not abort";
    DAEMON_ENDED_136 "daemon-ended-136" Processes [S] 0.004: "the prover daemon divided by zero (136)" / "the prover daemon did not end with code 136";
    DAEMON_ENDED_137 "daemon-ended-137" Processes [S] 0.01: "the prover daemon was killed (137)" / "the prover daemon was not killed";
    DAEMON_ENDED_139 "daemon-ended-139" Processes [S] 0.005: "the prover daemon crashed (139)" / "the prover daemon did not crash";
    DAEMON_ENDS_AGAIN "daemon-ends-again" Processes [S] 0.02: "the prover daemon has ended three times or more" / "the prover daemon does not end again and again";
    TWO_DAEMONS "two-daemons" Processes [S] 0.01: "a second prover daemon runs" / "no second prover daemon runs";
    BENCH_GONE "bench-gone" Processes [S] 0.3: "no benchmark runs" / "a benchmark runs";
    BENCH_WAITS "bench-waits" Processes [S] 0.08: "the benchmark's script waits for the daemon" / "the benchmark's script does not wait for the daemon";

    // Cards.
    CARD_LOST "card-lost" Cards [S] 0.01: "the driver has lost the card" / "the driver has the card";
    SMI_TIMES_OUT "smi-times-out" Cards [S] 0.01: "nvidia-smi does not come back" / "nvidia-smi comes back";
    DRIVER_MISMATCH "driver-mismatch" Cards [S] 0.005: "driver and library do not fit" / "driver and library fit";
    DEVICES_LOST "devices-lost" Cards [S] 0.005: "the container has lost its right to the card" / "the container may use the card";
    THROTTLED "throttled" Cards [S] 0.02: "the card has lowered its clocks for heat or power" / "the card's clocks are as usual";
    BUS_NARROW "bus-narrow" Cards [S] 0.02: "the card's bus link is narrower than it should be" / "the card's bus link is whole";
    CARDS_IDLE "cards-idle" Cards [S] 0.008: "some of its cards idle while another works" / "its cards work alike";
    CARD_MEMORY_TAKEN "card-memory-taken" Cards [S] 0.02: "more of the card's memory is taken than the prover takes" / "the card's memory is the prover's";
    XID_79 "xid-79" Cards [S] 0.003: "the kernel says Xid 79: the card fell off the bus" / "the kernel does not say Xid 79";
    OFF_BUS_UNNUMBERED "off-bus-unnumbered" Cards [S] 0.003: "the kernel says that the card fell off the bus, without an Xid" / "the kernel does not speak of a lost card without an Xid";
    XID_GSP "xid-gsp" Cards [S] 0.003: "the kernel says that the card's firmware does not answer (Xid 119, 120)" / "the kernel has no firmware time-outs";
    XID_ECC "xid-ecc" Cards [S] 0.003: "the kernel says that the card's memory has errors (Xid 48, 63, 64, 94, 95)" / "the kernel has no memory errors of the card";
    XID_FAULT "xid-fault" Cards [S] 0.005: "the kernel says that a program of the card accessed wrong memory (Xid 13, 31)" / "the kernel has no faults of the card's programs";

    // The machine.
    OOM_KILLS "oom-kills" Machine [S] 0.01: "the kernel has ended a process of the container for memory" / "the kernel ended no process of the container for its memory limit";
    OOM_GLOBAL "oom-global" Machine [S] 0.005: "the kernel has ended a process because the whole host was out of memory" / "the host was not out of memory as a whole";
    QUOTA "quota" Machine [S] 0.02: "a quota stops its processors again and again" / "no quota stops its processors";
    PINNING_LIMITED "pinning-limited" Machine [S] 0.03: "memory that may be pinned is limited" / "memory may be pinned";
    NO_ADX "no-adx" Machine [S] 0.04: "the processors lack the ADX instructions" / "the processors have the ADX instructions";
    DISK_FULL "disk-full" Machine [V S] 0.02: "its disk is full" / "its disk has room";
    DISK_SMALLER "disk-smaller" Machine [S] 0.02: "its disk is smaller than what was rented" / "its disk is what was rented";
    DISK_SLOW "disk-slow" Machine [S] 0.03: "its disk reads less than 200 MB/s" / "its disk is fast enough";
    PARAMETERS_TINY "parameters-tiny" Machine [S] 0.02: "its parameter file is no parameter file: it is far too small" / "its parameter file has grown";
    CLOCK_OFF "clock-off" Machine [S] 0.01: "its clock is off by more than an hour" / "its clock is right";
    NAMES_FAIL "names-fail" Machine [S] 0.01: "it cannot resolve names" / "it resolves names";
    MANAGER_OUT_OF_REACH "manager-out-of-reach" Machine [S] 0.03: "the manager cannot be reached from it" / "the manager can be reached from it";
    IMAGE_OLD "image-old" Machine [S] 0.1: "its image was built before the newest that the fleet has under this name" / "its image is the newest that the fleet has under this name";

    // The prover.
    STATUS_REFUSED "status-refused" Prover [Q] 0.15: "nothing serves the prover's status" / "the prover's status is served";
    STATUS_HANGS "status-hangs" Prover [Q] 0.02: "the prover's status is not answered in time" / "the prover's status is answered in time";
    PROOFS_FAIL "proofs-fail" Prover [Q] 0.04: "the prover counts failed proofs" / "the prover counts no failed proof";
    PROOF_PENDING "proof-pending" Prover [Q] 0.01: "the prover holds a proof back: all its parts are pending" / "the prover holds no proof back";
    PROVER_IDLE "prover-idle" Prover [Q] 0.06: "the prover has nothing to do" / "the prover has something to do";
    PROOF_STANDS "proof-stands" Prover [Q] 0.04: "the prover has been at the same proof for ten minutes" / "the prover is not at one proof for ten minutes";
    MANY_COMPLETED "many-completed" Prover [Q] 0.5: "the prover has completed twenty proofs or more" / "the prover has completed fewer than twenty proofs";
}

/// How often the words of a signature are written where nothing explains them. Some are written when all is well.
fn words_usual(id: &str) -> f32 {
    match id {
        "loading-parameters" | "summary" => 0.5,
        "downloading" => 0.3,
        "extraction" | "no-work" => 0.15,
        "waits-for-daemon" | "gateway-timeout" => 0.05,
        _ => 0.01,
    }
}

impl Fact {
    /// The fact that this signature was written. Fails to compile for an id that is not in the table.
    pub const fn said(id: &str) -> Self {
        let mut place = 0;
        while place < SIGNATURES.len() {
            if same(SIGNATURES[place].id.as_bytes(), id.as_bytes()) {
                return Self((TABLE.len() + place) as u16);
            }
            place += 1;
        }
        panic!("no such signature")
    }

    /// The facts that signatures written there were, with their signatures.
    pub(crate) fn of_signatures(written: Written) -> impl Iterator<Item = (Self, &'static crate::Signature)> {
        let all = SIGNATURES.iter().enumerate().filter(move |(_, signature)| signature.written == written);
        all.map(|(place, signature)| (Self((TABLE.len() + place) as u16), signature))
    }

    /// Its place, for tables.
    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The entry.
    pub fn kind(self) -> &'static FactKind {
        // Every `Fact` is made from a place in the table.
        all().get(self.index()).unwrap_or(&TABLE[0])
    }

    /// Every fact.
    pub fn every() -> impl Iterator<Item = Self> {
        (0..all().len() as u16).map(Self)
    }

    /// The fact with this id; that of a signature is `said:` and the signature's id.
    pub fn named(id: &str) -> Option<Self> {
        Self::every().find(|fact| fact.kind().id == id)
    }
}

const fn same(left: &[u8], right: &[u8]) -> bool {
    if left.len() != right.len() {
        return false;
    }
    let mut place = 0;
    while place < left.len() {
        if left[place] != right[place] {
            return false;
        }
        place += 1;
    }
    true
}

/// The facts of this table, then one for each signature.
fn all() -> &'static [FactKind] {
    static ALL: OnceLock<Vec<FactKind>> = OnceLock::new();
    ALL.get_or_init(|| {
        let of_words = SIGNATURES.iter().map(|signature| {
            let (witness, by): (Witness, &'static [Channel]) = match signature.written {
                Written::InInstanceLog => (Witness::Words, &[L, S]),
                Written::InManagerLog => (Witness::Manager, &[M]),
                Written::InVastStatus => (Witness::Record, &[D, V, C]),
            };
            FactKind {
                // Once for the life of the program: the ids of a table.
                id: Box::leak(format!("said:{}", signature.id).into_boxed_str()),
                holds: signature.meaning,
                fails: Box::leak(format!("nothing says so: {}", signature.meaning).into_boxed_str()),
                witness,
                by,
                two_looks: false,
                usual: words_usual(signature.id),
            }
        });
        TABLE.iter().copied().chain(of_words).collect()
    })
}
