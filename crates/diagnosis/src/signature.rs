//! Signatures: fragments of text that are known to mean something, found in one pass over a line.
//!
//! A signature says what was written, not what is wrong: the causes that it names are those that write it, and each of them
//! has to be told apart by other means. Source of each fragment: the failure catalogue (public issues of the programs
//! involved, vendor documentation, the programs' own source), where not said otherwise.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, MatchKind};
use dwell_fleet::{LogLine, Timestamp};

/// Text beyond this is not searched, bytes: a line can be 256 KiB long, and its beginning tells.
const SEARCHED_BYTES_MAX: usize = 16 * 1024;
/// Length of the line that is kept as the reference, characters.
const REFERENCE_CHARS_MAX: usize = 400;

/// Where a signature's text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Written {
    /// An instance's log.
    InInstanceLog,
    /// The manager's own log.
    InManagerLog,
    /// vast.ai's `status_msg`.
    InVastStatus,
}

/// A fragment with its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature {
    /// Stable kebab-case id.
    pub id: &'static str,
    /// Where it is written.
    pub written: Written,
    /// Fragments of which any one is it; letter case is ignored.
    pub fragments: &'static [&'static str],
    /// What it means, as a sentence part: what was written, never more than that.
    pub meaning: &'static str,
    /// Ids of the causes in the catalogue that write it.
    pub causes: &'static [&'static str],
    /// What bears it out.
    pub basis: Basis,
}

/// What bears a signature out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// A text of a real program, in the list of those texts.
    Real,
    /// No public text has it: it may be right, and no cause is confirmed by it.
    Guess,
}

impl Signature {
    /// Nothing that can be read bears it out.
    const fn guess(mut self) -> Self {
        self.basis = Basis::Guess;
        self
    }
}

const fn log(
    id: &'static str,
    fragment: &'static [&'static str],
    meaning: &'static str,
    causes: &'static [&'static str],
) -> Signature {
    Signature { id, written: Written::InInstanceLog, fragments: fragment, meaning, causes, basis: Basis::Real }
}

const fn manager(
    id: &'static str,
    fragment: &'static [&'static str],
    meaning: &'static str,
    causes: &'static [&'static str],
) -> Signature {
    Signature { id, written: Written::InManagerLog, fragments: fragment, meaning, causes, basis: Basis::Real }
}

const fn status(
    id: &'static str,
    fragment: &'static [&'static str],
    meaning: &'static str,
    causes: &'static [&'static str],
) -> Signature {
    Signature { id, written: Written::InVastStatus, fragments: fragment, meaning, causes, basis: Basis::Real }
}

/// Every signature.
pub const SIGNATURES: &[Signature] = &[
    // The image.
    log(
        "library-missing",
        &["error while loading shared libraries"],
        "a program did not start: a library is missing",
        &["missing-shared-library"],
    ),
    log("glibc-missing", &["GLIBC_"], "a program wants a newer C library than the image has", &["missing-shared-library"]),
    log("command-missing", &["command not found"], "the script called a program that the image lacks", &["image-missing-tool"]),
    log("exec-format", &["exec format error"], "the image is built for another kind of processor", &["wrong-arch-image"]),
    log(
        "illegal-instruction",
        &["illegal instruction"],
        "a program used an instruction that this processor lacks",
        &["cpu-isa-sigill"],
    ),
    log("segfault", &["segmentation fault"], "a program crashed", &["gpu-arch-crash-before-main"]),
    log(
        "unbound-variable",
        &["unbound variable"],
        "the script ended at a variable that is not set",
        &["entrypoint-died-early", "env-missing"],
    ),
    // Network.
    log("name-resolution", &["name resolution"], "names cannot be resolved", &["dns-broken"]),
    log("host-unresolved", &["could not resolve host"], "names cannot be resolved", &["dns-broken"]),
    log(
        "certificate",
        &["certificate has expired or is not yet valid"],
        "a certificate is refused: the clock is wrong, or the certificate",
        &["clock-skew-tls"],
    ),
    log(
        "manager-unanswered",
        &["127.0.0.1 port 1235", "curl: (52) Empty reply from server", "with 0 bytes received"],
        "a report to the manager was not answered",
        &["register-unreachable", "tunnel-never-up", "tunnel-half-open", "bench-report-lost", "sqlite-busy"],
    ),
    log("database-locked", &["database is locked"], "the manager's database was locked when it reported", &["sqlite-busy"]),
    // Parameters.
    log(
        "checksum",
        &["checksum mismatch in param file"],
        "a parameter file is not what it should be",
        &["params-checksum-mismatch"],
    ),
    log("no-space", &["no space left on device"], "the disk is full", &["params-disk-full", "disk-full-runtime"]),
    log("gateway-timeout", &["i/o timeout"], "a download timed out", &["params-gateway-stall", "params-slow"]),
    log(
        "params-missing",
        &["SRS param file not found for"],
        "the prover does not find its parameters",
        &["params-wrong-dir", "params-done-premature"],
    ),
    // The daemon's start.
    log(
        "config-invalid",
        &["failed to load config from"],
        "the prover daemon refuses its configuration",
        &["daemon-config-invalid"],
    ),
    log(
        "address-in-use",
        &["address already in use (os error 98)"],
        "the prover daemon's address is taken by another process",
        &["daemon-port-in-use"],
    ),
    log(
        "daemon-unreachable",
        &["failed to connect to daemon at"],
        "the benchmark does not reach the daemon",
        &["daemon-address-mismatch", "bench-waits-for-daemon"],
    ),
    log(
        "waits-for-daemon",
        &["failed to connect to daemon via unix socket"],
        "the benchmark's client does not reach the daemon's socket",
        &["bench-waits-for-daemon", "host-oom-cgroup", "gpu-arch-crash-before-main", "missing-shared-library"],
    ),
    log(
        "panic",
        &["panicked at"],
        "a program panicked",
        &["daemon-crash-loop", "bench-waits-for-daemon", "worker-panicked-process-alive"],
    ),
    log(
        "extraction",
        &["background PCE extraction starting"],
        "the first proof extracts its circuit: minutes on the processors, none on the card",
        &["pce-extraction-first-proof"],
    ),
    log(
        "loading-parameters",
        &["loading SRS from disk"],
        "the prover loads its parameters: 44 GiB from its disk, without another line until it is done",
        &["srs-load-slow"],
    ),
    log(
        "budget",
        &["acquire request exceeds total budget"],
        "a proof needs more memory than the prover's budget: it waits",
        &["budget-starved-wait"],
    ),
    log("pinned", &["cudaHostAlloc failed"], "memory could not be pinned: copies go the slow way", &["pinned-alloc-failed"]),
    // The card and its driver.
    log("no-kernel", &["no kernel image is available"], "the prover has no code for this card", &["no-kernel-image"]),
    log(
        "driver-insufficient",
        &["driver version is insufficient"],
        "the driver is older than the prover's CUDA",
        &["driver-too-old"],
    ),
    log(
        "forward-compatibility",
        &["forward compatibility was attempted"],
        "the driver is older than the image's CUDA, and this card cannot bridge that",
        &["driver-too-old"],
    ),
    log(
        "driver-mismatch",
        &["driver/library version mismatch"],
        "the host upgraded its driver while it ran",
        &["driver-lib-mismatch"],
    ),
    log(
        "nvml-unknown",
        &["failed to initialize nvml: unknown error"],
        "the container lost its right to the card",
        &["nvml-lost-in-container"],
    ),
    log("no-device", &["no CUDA-capable device is detected"], "no card is seen", &["nvml-lost-in-container", "gpu-fell-off-bus"]),
    log("gpu-lock", &["failed to get gpu lock"], "a lock file of the card is held or broken", &["stale-gpu-lock"]),
    log("device-busy", &["devices are busy or unavailable"], "another process holds the card", &["gpu-held-by-other"]),
    log("fabric", &["system not yet initialized"], "CUDA 802: the machine's fabric manager is not ready", &["fabric-not-ready"]),
    log("card-lost", &["GPU is lost"], "the driver lost the card", &["gpu-fell-off-bus", "gpu-lost-without-xid"]),
    log("off-the-bus", &["fallen off the bus"], "the card fell off the bus", &["gpu-fell-off-bus", "gpu-lost-without-xid"])
        .guess(),
    log("gsp", &["RPC from GSP"], "the card's firmware does not answer", &["gsp-timeout"]).guess(),
    log("ecc", &["uncorrectable ECC"], "the card's memory has errors that it cannot correct", &["ecc-uncorrectable"]),
    log("illegal-access", &["illegal memory access"], "a kernel accessed memory that is not its own", &["cuda-app-fault"]),
    log(
        "out-of-memory",
        &["out of memory"],
        "memory ran out: of the card, or, with cudaHostAlloc, of the host",
        &["gpu-vram-oom", "gpu-mem-leak-sppark", "pinned-alloc-failed"],
    ),
    log(
        "killed-for-memory",
        &["Killed process"],
        "the kernel ended a process for memory",
        &["host-oom-cgroup", "host-oom-global"],
    ),
    log(
        "self-check",
        &["self-check FAILED"],
        "a proof came out wrong",
        &["silent-corruption", "jobid-collision", "multi-gpu-on-gpu0"],
    ),
    log("verify", &["proof failed to verify"], "a proof came out wrong", &["silent-corruption"]),
    // The benchmark.
    log("input-missing", &["Error: failed to read "], "the benchmark's input is not there", &["bench-input-missing"]),
    log(
        "rpc-error",
        &["Prove RPC failed"],
        "a call of the benchmark to the prover failed: it ends with it",
        &["bench-rpc-abort", "host-oom-cgroup"],
    ),
    log("summary", &["=== Batch Summary ==="], "the benchmark has ended", &["bench-report-lost"]),
    // At work.
    log(
        "no-work",
        &["polled work from service\t{\"requests\": 0,"],
        "there was no work to prove: idle is well",
        &["upstream-no-work"],
    ),
    log("prover-refused", &["cuzk.sock: connect: connection refused"], "curio found no prover", &["daemon-died-after-running"]),
    log("submit-failed", &["failed to respond to work"], "a proof was made and not accepted", &["post-proof-submit-failed"]),
    log(
        "killed-while-running",
        &["instance not found or already killed"],
        "the manager had killed it when it reported",
        &["running-404-after-kill"],
    ),
    // The manager's own log.
    manager(
        "listing-failed",
        &["vastai show instances: exit status"],
        "the manager's vast.ai client failed: its copy of the list is old",
        &["vast-cache-frozen-error", "vast-cli-null-start-date"],
    ),
    manager(
        "listing-empty-output",
        &["unexpected end of JSON input"],
        "vast.ai refused the listing, and its client ended with status 0: the copy is old",
        &["vast-http-error-exit0", "vast-list-retired"],
    ),
    manager(
        "listing-odd",
        &["cannot unmarshal"],
        "one record of vast.ai has an odd type: none could be read",
        &["vast-poison-row"],
    ),
    manager(
        "listed-none",
        &["cached 0 vast instances"],
        "vast.ai's list was empty: another account, or no rentals",
        &["vast-empty-list"],
    ),
    manager(
        "listed-25",
        &["cached 25 vast instances"],
        "exactly one page was listed: what is beyond looks gone",
        &["vast-partial-list"],
    ),
    manager(
        "destroy-failed",
        &["failed to destroy vast instance"],
        "a rental was not destroyed: it goes on costing",
        &["destroy-failed-logged"],
    ),
    manager("no-timestamp", &["bad timestamp for"], "a time is missing: a timer never ends", &["bad-timestamp"]),
    manager(
        "bad-host",
        &[") \u{2014} bad host "],
        "a rental was destroyed for its machine",
        &["bad-host-reaped", "bad-host-meaning-shift"],
    ),
    manager(
        "unregistered",
        &["killing unregistered instance"],
        "a labelled rental was destroyed for not registering within 15 minutes",
        &["labelled-slow-pull-killed"],
    ),
    manager(
        "re-registered",
        &["[register] re-register"],
        "an instance registered again: its container was restarted",
        &["container-restarted-midway", "container-flapping"],
    ),
    // vast.ai's status.
    status(
        "gpu-error",
        &["GPU error, unable to start"],
        "the host cannot give the card to a container: it will not start",
        &["host-gpu-refuses-start"],
    ),
    status(
        "device-handle",
        &["Unable to determine the device handle"],
        "the host's card does not answer",
        &["host-gpu-refuses-start", "gpu-fell-off-bus"],
    ),
    status(
        "container-cli",
        &["nvidia-container-cli"],
        "the host's container runtime fails on the card",
        &["host-gpu-refuses-start", "driver-too-old-at-create"],
    ),
    status(
        "oci",
        &["OCI runtime create failed"],
        "the container could not be created: it will not start",
        &["container-create-failed", "driver-too-old-at-create"],
    ),
    status(
        "cdi",
        &["CDI devices"],
        "the host's container runtime does not know the card: it will not start",
        &["container-create-failed"],
    ),
    status(
        "cuda-requirement",
        &["unsatisfied condition: cuda"],
        "the image requires a newer driver than the host has",
        &["driver-too-old-at-create"],
    ),
    status("pull-limit", &["toomanyrequests"], "the image registry refuses the host for now", &["image-pull-refused"]),
    status("pull-denied", &["pull access denied"], "the image registry refuses access", &["image-pull-refused"]),
    status("no-manifest", &["manifest unknown"], "the registry has no such image", &["image-pull-refused"]),
    status("host-disk", &["no space left on device"], "the host's disk is full", &["container-create-failed"]),
    status("layer", &["layer does not exist"], "the host's image store is damaged", &["container-create-failed"]),
    status(
        "unexpected-eof",
        &["unexpected EOF"],
        "the download of the image broke off",
        &["image-pull-refused", "container-create-failed"],
    ),
    status(
        "ports",
        &["external connectivity"],
        "the host could not map ports",
        &["direct-port-broken", "container-create-failed"],
    ),
    status("downloading", &["Downloading"], "a layer of the image is on its way", &["image-pull-slow"]),
];

/// One automaton a channel, with the signature of each pattern.
struct Matcher {
    automaton: AhoCorasick,
    signatures: Vec<&'static Signature>,
}

fn matcher(written: Written) -> Option<&'static Matcher> {
    static MATCHERS: OnceLock<BTreeMap<Written, Matcher>> = OnceLock::new();
    let all = MATCHERS.get_or_init(|| {
        let build = |written: Written| {
            let of_it = SIGNATURES.iter().filter(|signature| signature.written == written);
            let (signatures, fragments): (Vec<&Signature>, Vec<&str>) =
                of_it.flat_map(|signature| signature.fragments.iter().map(move |fragment| (signature, *fragment))).unzip();
            let built = AhoCorasick::builder().ascii_case_insensitive(true).match_kind(MatchKind::Standard).build(fragments);
            // Building fails only for patterns beyond all reason; a test builds these.
            built.ok().map(|automaton| (written, Matcher { automaton, signatures }))
        };
        [Written::InInstanceLog, Written::InManagerLog, Written::InVastStatus].into_iter().filter_map(build).collect()
    });
    all.get(&written)
}

/// The signatures in a text, each once, in the table's order.
pub fn matches(written: Written, text: &str) -> Vec<&'static Signature> {
    let Some(matcher) = matcher(written) else { return Vec::new() };
    let searched = &text.as_bytes()[..text.len().min(SEARCHED_BYTES_MAX)];
    let mut found: Vec<usize> =
        matcher.automaton.find_overlapping_iter(searched).map(|found| found.pattern().as_usize()).collect();
    found.sort_unstable();
    let mut found: Vec<&'static Signature> =
        found.into_iter().filter_map(|place| matcher.signatures.get(place).copied()).collect();
    found.dedup_by_key(|signature| signature.id);
    found
}

/// A signature that was written, with the line that is the reference for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// What.
    pub signature: &'static Signature,
    /// Log source.
    pub source: String,
    /// The newest such line, cut to 400 characters. Hostile text.
    pub line: String,
    /// When it arrived.
    pub at: Timestamp,
    /// When the first of those looked at did.
    pub first_at: Timestamp,
    /// How many were among those looked at.
    pub count: usize,
}

impl Said {
    /// Takes note of one more line.
    pub(crate) fn gather(into: &mut BTreeMap<&'static str, Self>, signature: &'static Signature, line: &LogLine) {
        let known = into.entry(signature.id).or_insert_with(|| Self {
            signature,
            source: String::new(),
            line: String::new(),
            at: line.at,
            first_at: line.at,
            count: 0,
        });
        known.count += 1;
        known.at = line.at;
        known.source.clone_from(&line.source);
        known.line = line.text.chars().take(REFERENCE_CHARS_MAX).collect();
    }
}

/// What lines say, newest first. `lines` are in order of arrival.
pub fn said<'a>(written: Written, lines: impl IntoIterator<Item = &'a LogLine>) -> Vec<Said> {
    let mut by_id: BTreeMap<&'static str, Said> = BTreeMap::new();
    for line in lines {
        for signature in matches(written, &line.text) {
            Said::gather(&mut by_id, signature, line);
        }
    }
    let mut said: Vec<Said> = by_id.into_values().collect();
    said.sort_by(|one, other| other.at.cmp(&one.at).then(one.signature.id.cmp(other.signature.id)));
    said
}
