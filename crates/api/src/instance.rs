//! An instance's page and panels.

use dwell_fleet::Timestamp;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::InstanceRow;

dto! {
    /// Names an instance.
    InstanceRequest {
        /// Its id, a unique prefix of it, its vast.ai number or its label.
        id: String,
    }

    /// An instance's page.
    InstancePage {
        /// Its row.
        row: InstanceRow,
        /// What it is, field by field.
        facts: Vec<Fact>,
        /// Its life, oldest first.
        life: Vec<LifeEntry>,
        /// Readings of its gauges, oldest first.
        gauges: Vec<GaugeView>,
        /// Flags it has carried, newest first.
        flags: Vec<PastFlag>,
        /// What was looked at.
        evidence: Vec<EvidenceView>,
        /// Known words in its log and in vast.ai's status, newest first.
        said: Vec<SaidView>,
        /// What its silence can and cannot mean, where its log is silent.
        silence: Option<SilenceView>,
        /// Times without answers from the manager.
        gaps: Vec<GapView>,
        /// First answer that listed it.
        #[ts(type = "string")]
        first_seen_at: Timestamp,
        /// What was asked on purpose, the latest answer of each channel.
        looks: Vec<LookView>,
        /// The machine itself, where it was looked at.
        machine: Option<MachinePanel>,
        /// The prover, where it was asked.
        prover: Option<ProverPanel>,
    }

    /// An answer to a look that was made on purpose.
    LookView {
        /// Channel.
        channel: String,
        /// What it is.
        title: String,
        /// When it was asked, on the manager's clock.
        #[ts(type = "string")]
        at: Timestamp,
        /// What came, in a sentence.
        summary: String,
    }

    /// A machine, as the read-only look saw it. What was not shown is not told.
    MachinePanel {
        /// When it was looked at, on the manager's clock.
        #[ts(type = "string")]
        at: Timestamp,
        /// How far the connection got.
        reach: String,
        /// Single values; `null` where the machine did not show them.
        facts: Vec<Fact>,
        /// Processes; `null` where they were not shown.
        processes: Option<Vec<ProcessRow>>,
        /// What `nvidia-smi` came to where it showed no cards; `null` where it did, or was not shown.
        smi: Option<String>,
        /// Cards.
        cards: Vec<CardRow>,
        /// Log files, with their newest lines; `null` where they were not shown.
        files: Option<Vec<FileRow>>,
        /// What has ended, newest first.
        exits: Vec<String>,
        /// Kernel log lines about cards and memory, newest last; `null` where it may not be read: that is no sign of health.
        kernel: Option<Vec<String>>,
        /// What listens.
        sockets: Option<Vec<String>>,
    }

    /// A process.
    ProcessRow {
        /// Id.
        pid: u32,
        /// Program.
        program: String,
        /// `R`, `S`, `D`, `Z`.
        state: String,
        /// When it started; `null` where that is not told.
        #[ts(type = "string | null")]
        started_at: Option<Timestamp>,
        /// Load, percent of one core.
        cpu_percent: Option<f64>,
        /// Resident memory, GiB.
        memory_gib: Option<f64>,
    }

    /// A card.
    CardRow {
        /// Model.
        name: String,
        /// Percent.
        load_percent: Option<f64>,
        /// Degrees Celsius.
        temperature_c: Option<f64>,
        /// MiB used.
        memory_used_mib: Option<f64>,
        /// MiB in all.
        memory_mib: Option<f64>,
        /// Why the clocks are low, where they are.
        throttled: Option<String>,
        /// Lanes of the bus now.
        bus_width: Option<u32>,
    }

    /// A log file on the machine.
    FileRow {
        /// The source that the shipper would name.
        source: String,
        /// Path.
        path: String,
        /// Bytes.
        bytes: Option<u64>,
        /// Last written.
        #[ts(type = "string | null")]
        modified_at: Option<Timestamp>,
        /// Its newest lines.
        tail: Vec<String>,
    }

    /// The prover's status.
    ProverPanel {
        /// When it was asked, on the manager's clock.
        #[ts(type = "string")]
        at: Timestamp,
        /// Whether a status came.
        answered: bool,
        /// What came, in a sentence.
        answer: String,
        /// Proofs completed since its start; `null` where that is not told.
        completed: Option<u64>,
        /// Proofs that failed once assembled, since its start; `null` where that is not told.
        failed: Option<u64>,
        /// Requests that wait; `null` where that is not told.
        waiting: Option<u64>,
        /// Its numbers, and how each misleads.
        rows: Vec<ProverRow>,
        /// Proofs in work.
        proofs: Vec<ProofRow>,
        /// Workers.
        workers: Vec<WorkerRow>,
    }

    /// A number of the prover's status.
    ProverRow {
        /// What.
        name: String,
        /// As text, with its unit; `null` where it was not told.
        value: Option<String>,
        /// What it does not mean.
        misleads: String,
    }

    /// A proof in work.
    ProofRow {
        /// Number, as the prover names it.
        job: String,
        /// Kind.
        kind: String,
        /// Partitions done.
        done: u64,
        /// Partitions in all.
        of: Option<u64>,
        /// How many partitions are in which state.
        states: String,
    }

    /// A worker of the prover.
    WorkerRow {
        /// Number of the card.
        card: Option<u64>,
        /// `idle`, `proving`.
        state: String,
        /// At its partition, seconds.
        busy_s: Option<f64>,
    }

    /// What the channels that are asked on purpose have answered, as it came.
    RawAnswers {
        /// Newest first.
        answers: Vec<RawAnswerView>,
    }

    /// An answer as it came.
    RawAnswerView {
        /// Channel.
        channel: String,
        /// What it is.
        title: String,
        /// When it was asked, on the manager's clock.
        #[ts(type = "string")]
        at: Timestamp,
        /// As it came; keys and the like are left out.
        text: String,
        /// Bytes that were cut off its end.
        cut_bytes: usize,
    }

    /// One fact.
    Fact {
        /// What.
        name: String,
        /// As text, with its unit; `null` where no source told it.
        value: Option<String>,
        /// The field that told it.
        source: String,
    }

    /// A state entered.
    LifeEntry {
        /// The state.
        state: String,
        /// The one before.
        from: Option<String>,
        /// When, on the manager's clock.
        #[ts(type = "string")]
        at: Timestamp,
        /// Where the time comes from.
        basis: String,
        /// By how many seconds at most it is earlier.
        earlier_by_s: f64,
        /// What kind of change.
        kind: String,
        /// How long it stayed, seconds; `null` for the present state.
        stayed_s: Option<f64>,
    }

    /// A reading of the gauges.
    GaugeView {
        /// When.
        #[ts(type = "string")]
        at: Timestamp,
        /// GPU load, percent.
        gpu_util_percent: Option<f64>,
        /// GPU temperature, degrees Celsius.
        gpu_temp_c: Option<f64>,
        /// Lines in the manager's buffer.
        log_lines: Option<u64>,
    }

    /// A flag it has carried.
    PastFlag {
        /// The kind.
        kind: String,
        /// Since when it was true.
        #[ts(type = "string")]
        since: Timestamp,
        /// When Dwell raised it.
        #[ts(type = "string")]
        raised_at: Timestamp,
        /// When it was cleared.
        #[ts(type = "string | null")]
        cleared_at: Option<Timestamp>,
        /// Why.
        reason: String,
    }

    /// Something seen, or known not to have been seeable.
    EvidenceView {
        /// Where.
        channel: String,
        /// `working`, `quiet`, `blind`, `not-asked` or `unreachable`.
        health: String,
        /// What.
        text: String,
        /// When it was last true.
        #[ts(type = "string | null")]
        at: Option<Timestamp>,
    }

    /// Known words that were written, with the line that is the reference.
    SaidView {
        /// Stable kebab-case id of the signature.
        id: String,
        /// What it means: what was written, not what is wrong.
        meaning: String,
        /// Causes in the catalogue that write it.
        causes: Vec<String>,
        /// `manager-instance-log`, `manager-log` or `vast-record`.
        channel: String,
        /// Log source; empty for vast.ai's status.
        source: String,
        /// The newest such line; hostile text, cut to 400 characters.
        line: String,
        /// When it arrived.
        #[ts(type = "string")]
        at: Timestamp,
        /// When the first of those looked at did.
        #[ts(type = "string")]
        first_at: Timestamp,
        /// How many were among the lines looked at.
        count: usize,
    }

    /// What a silence means.
    SilenceView {
        /// What was seen.
        seen: String,
        /// What it can mean.
        can_mean: Vec<String>,
        /// What it does not show.
        cannot_mean: Vec<String>,
    }

    /// A time without answers.
    GapView {
        /// Last answer before.
        #[ts(type = "string")]
        from: Timestamp,
        /// First answer after.
        #[ts(type = "string")]
        to: Timestamp,
    }
}
