//! What commands take and give: plain data for the window, for `--json`, and for whoever reads that.
//!
//! Conventions, stable: times are RFC 3339 in UTC; a name ends in its unit; what no source told is `null`, never 0; an id
//! is the manager's, or `vast-<number>` for an instance that has not registered.

use dwell_fleet::Timestamp;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::ApiError;

macro_rules! dto {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
            pub struct $name { $($(#[$field_doc])* pub $field: $type,)* }
        )*

        /// The TypeScript declaration of every type above, in order.
        pub(crate) fn typescript(config: &ts_rs::Config) -> Vec<String> {
            vec![$(<$name as TS>::decl(config)),*]
        }
    };
}

dto! {
    /// Takes nothing.
    Nothing {}

    /// The fleet as it is.
    FleetView {
        /// What is watched and how.
        watching: Watching,
        /// The connection to the manager.
        connection: ConnectionView,
        /// The time that the instances are told of, on the manager's clock; `null` before the first answer.
        #[ts(type = "string | null")]
        as_of: Option<Timestamp>,
        /// The time at which the answer arrived, on the operator's clock (simulated time in a simulation).
        #[ts(type = "string | null")]
        received_at: Option<Timestamp>,
        /// Age of that answer at `watching.now`, seconds; `null` before the first answer.
        age_s: Option<f64>,
        /// What is out of order with the whole fleet or with what can be seen of it, loudest first.
        conditions: Vec<ConditionView>,
        /// Sums and counts.
        summary: Summary,
        /// When the manager's present run began, on its clock; `null` where not known.
        #[ts(type = "string | null")]
        manager_started_at: Option<Timestamp>,
        /// The instances, most pressing first.
        instances: Vec<InstanceRow>,
    }

    /// Something out of order with a whole fleet, or with what can be seen of it.
    ConditionView {
        /// `fleet-written-off`, `manager-never-reached`, `manager-unreachable`, `vast-list-missing`, `vast-list-stale`,
        /// `history-not-written`, `rows-unreadable` or `times-implausible`.
        kind: String,
        /// `incident` (it costs money or proofs now), `blind` (it hides what is asked), `partial` or `passing`.
        severity: String,
        /// While it stands, that nothing is seen does not mean that there is nothing.
        is_unknown: bool,
        /// Since when, on the manager's clock.
        #[ts(type = "string | null")]
        since: Option<Timestamp>,
        /// What is so, in one sentence.
        summary: String,
        /// What was seen of it.
        evidence: Vec<String>,
        /// What it means for what is shown.
        meaning: String,
        /// What to do, in order.
        next: Vec<String>,
        /// The instances that it is about, where it is about some.
        instances: Vec<String>,
        /// What those last cost, US dollars per hour; what was not told is left out.
        dollars_per_h: Option<f64>,
    }

    /// Accounts for rentals that raise an alarm.
    AcknowledgeRequest {
        /// Whose; none for all that were written off together.
        ids: Vec<String>,
        /// Why, in a person's words.
        text: String,
    }

    /// What is watched.
    Watching {
        /// Name that the operator gave, or the scenario's title.
        name: String,
        /// The manager's address.
        address: String,
        /// `live`, `simulated` or `drill`.
        mode: String,
        /// What the simulator says of itself.
        simulated: Option<String>,
        /// Seconds of fleet time in a real second; 1 for a live fleet.
        speed: f64,
        /// The fleet time at `at_real`: where the window's clock starts from.
        #[ts(type = "string")]
        now: Timestamp,
    }

    /// The connection to the manager.
    ConnectionView {
        /// `connecting`, `ok` or `failing`.
        state: String,
        /// Latest failure.
        error: Option<ConnectionError>,
        /// Last good answer, on the operator's clock.
        #[ts(type = "string | null")]
        last_ok_at: Option<Timestamp>,
        /// First failure since.
        #[ts(type = "string | null")]
        failing_since: Option<Timestamp>,
        /// Next try; `null` while asking, or when only the operator can change something.
        #[ts(type = "string | null")]
        next_try_at: Option<Timestamp>,
        /// Answers since this watch began.
        #[ts(type = "number")]
        answered: u64,
        /// Failures to get one since this watch began.
        #[ts(type = "number")]
        failed: u64,
        /// The manager's clock minus the operator's, seconds.
        clock_skew_s: Option<f64>,
        /// Age of the manager's copy of vast.ai's records at its latest answer, seconds; `null` before the first copy.
        vast_cache_age_s: Option<f64>,
        /// Rows of the latest answer that could not be used.
        rows_unusable: usize,
        /// Why the latest answer was set aside, if it was: `older-request` or `time-went-back`.
        set_aside: Option<String>,
        /// Why the manager's own log could not be read, if it could not.
        manager_log_error: Option<String>,
        /// Why history could not be written, if it could not.
        history_error: Option<String>,
        /// Answers and log lines that are held in memory until history can be written.
        history_held: usize,
        /// Those that found no room there, and are lost.
        history_lost: usize,
        /// The SSH tunnel that the manager is reached through, where there is one.
        tunnel: Option<TunnelView>,
    }

    /// An SSH tunnel.
    TunnelView {
        /// Whom it goes through.
        target: String,
        /// `opening`, `up` or `down`.
        state: String,
        /// The port on 127.0.0.1 while it is up.
        port: Option<u16>,
        /// Why it is down.
        error: Option<ConnectionError>,
        /// What helps, where something does.
        hint: Option<String>,
    }

    /// A failure of the connection.
    ConnectionError {
        /// Stable kebab-case word.
        code: String,
        /// What happened.
        message: String,
    }

    /// Sums and counts over the listed instances. `null`: not known, which is no zero.
    Summary {
        /// Proofs per hour of running instances that are not flagged, as their benchmarks measured them.
        benchmarked_proofs_per_h: Option<f64>,
        /// Those of them without a benchmark rate.
        rate_not_told: usize,
        /// Dollars per hour of running instances that are not flagged.
        proving_dollars_per_h: Option<f64>,
        /// Dollars per hour of instances on their way to running, or being destroyed, that are not flagged.
        waiting_dollars_per_h: Option<f64>,
        /// Dollars per hour of instances alive that are flagged as needing a person.
        stalled_dollars_per_h: Option<f64>,
        /// Dollars per hour of killed instances that vast.ai billed when the manager's list last told.
        leaking_dollars_per_h: Option<f64>,
        /// Dollars per hour, by their last price, of instances of which it is not known whether they are billed.
        unknown_dollars_per_h: Option<f64>,
        /// How many those are.
        billing_unknown: usize,
        /// Instances whose price was not told: the sums lack them.
        price_not_told: usize,
        /// All dollars over all proofs.
        dollars_per_proof: Option<f64>,
        /// Instances in each state.
        states: Vec<StateCount>,
        /// Instances with each flag, most pressing first.
        flags: Vec<FlagCount>,
        /// Machines that the manager destroys instances on.
        bad_hosts: usize,
    }

    /// How many are in a state.
    StateCount {
        /// The manager's name of it.
        state: String,
        /// How many.
        count: usize,
    }

    /// How many carry a flag.
    FlagCount {
        /// The kind.
        kind: String,
        /// How many.
        count: usize,
    }

    /// An instance in the table.
    InstanceRow {
        /// The manager's id, or `vast-<number>` before it has registered.
        id: String,
        /// The manager's id.
        uuid: Option<String>,
        /// vast.ai's number.
        vast_id: Option<u64>,
        /// vast.ai's label.
        label: Option<String>,
        /// What it last said.
        state: String,
        /// When it entered that state, on the manager's clock.
        #[ts(type = "string")]
        entered_at: Timestamp,
        /// Time in that state at `observed_at`, seconds; `null` where the clocks make no sense.
        dwell_s: Option<f64>,
        /// Where `entered_at` comes from: `manager`, `vast_start`, `observed`, `bench_done` or `first_sight`.
        dwell_basis: String,
        /// By how many seconds at most the true entry is earlier (`observed`).
        dwell_earlier_by_s: f64,
        /// How long it usually takes; `null` in states that nobody waits to leave.
        expectation: Option<ExpectationView>,
        /// Why it deserves a look.
        flag: Option<FlagView>,
        /// One line where there is no flag.
        note: String,
        /// What the manager will do to it by its timers.
        countdown: Option<CountdownView>,
        /// Still in the manager's answers.
        listed: bool,
        /// Card model.
        gpu_name: Option<String>,
        /// Cards.
        num_gpus: Option<u64>,
        /// Physical machine.
        machine_id: Option<u64>,
        /// Where it stands.
        geolocation: Option<String>,
        /// Image reference.
        image: Option<String>,
        /// Proofs per hour in its benchmark.
        bench_rate_proofs_per_h: Option<f64>,
        /// Price, dollars per hour.
        dollars_per_h: Option<f64>,
        /// Price over benchmark rate, dollars.
        dollars_per_proof: Option<f64>,
        /// GPU load, percent.
        gpu_util_percent: Option<f64>,
        /// GPU temperature, degrees Celsius.
        gpu_temp_c: Option<f64>,
        /// When vast.ai's record was read.
        #[ts(type = "string | null")]
        gauges_at: Option<Timestamp>,
        /// Lines in the manager's buffer.
        log_lines: Option<u64>,
        /// Newest line ever received.
        #[ts(type = "string | null")]
        log_newest_at: Option<Timestamp>,
        /// Health of its log channel: `working`, `quiet`, `blind` or `not-asked`.
        log_health: String,
        /// The manager's reason for killing it.
        kill_reason: Option<String>,
        /// The answer that told all this, on the manager's clock.
        #[ts(type = "string")]
        observed_at: Timestamp,
    }

    /// How long a stay usually takes.
    ExpectationView {
        /// Half of those that go on have gone on by then, seconds.
        usual_s: f64,
        /// 95 % of them, seconds.
        late_from_s: f64,
        /// Longer than this its kind has never needed, seconds.
        limit_s: f64,
        /// `history` or `prior`.
        basis: String,
        /// The group compared with, or where the prior comes from.
        of: String,
        /// Completed stays behind it.
        stays: usize,
    }

    /// A reason to look at an instance.
    FlagView {
        /// `leaking`, `stalled`, `contradicted`, `gone`, `invisible` or `slow`.
        kind: String,
        /// Why, in one sentence.
        reason: String,
        /// Since when it is true, on the manager's clock.
        #[ts(type = "string")]
        since: Timestamp,
        /// How sure that can be.
        certainty: String,
        /// What would show progress.
        would_show: Vec<String>,
    }

    /// A timer of the manager.
    CountdownView {
        /// When it runs out, on the manager's clock.
        #[ts(type = "string")]
        at: Timestamp,
        /// What happens then.
        what: String,
    }

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

    /// The drills that can be played, and those that were.
    Drills {
        /// What can be played, by group and title.
        drills: Vec<DrillInfo>,
        /// What was played, newest first.
        past: Vec<PastDrill>,
    }

    /// A drill that can be played.
    DrillInfo {
        /// The scenario's name. It can give the truth away: not shown before the end.
        name: String,
        /// What is seen, in one line.
        title: String,
        /// `evening`, `several` or `one`.
        group: String,
        /// How long it lasts, simulated seconds.
        duration_s: f64,
        /// How often it was played to its end.
        plays: usize,
        /// Best score, 0 to 100; `null` where it was not played.
        best_score: Option<f64>,
    }

    /// A drill that was played.
    PastDrill {
        /// The scenario's name.
        scenario: String,
        /// Its title.
        title: String,
        /// The seed.
        seed: u64,
        /// When it ended.
        #[ts(type = "string")]
        at: Timestamp,
        /// Score, 0 to 100.
        score: f64,
        /// Instances whose cause was named rightly.
        right: usize,
        /// Instances with something to name.
        to_name: usize,
        /// What the delay cost, dollars.
        delay_dollars: f64,
    }

    /// Begins a drill.
    StartDrill {
        /// The scenario; any where not given.
        scenario: Option<String>,
        /// The seed; another every time where not given.
        seed: Option<u64>,
    }

    /// The drill that is being played, or has just ended.
    DrillView {
        /// What is seen, in one line.
        title: String,
        /// Simulated time of the first screen.
        #[ts(type = "string")]
        began_at: Timestamp,
        /// Simulated time after which nothing more is to be learnt.
        #[ts(type = "string")]
        ends_at: Timestamp,
        /// What can be named.
        causes: Vec<DrillCause>,
        /// What was named so far; the latest answer about an instance counts.
        answers: Vec<DrillAnswer>,
        /// What was done so far.
        deeds: Vec<DrillDeed>,
        /// Once it has ended.
        debrief: Option<Debrief>,
    }

    /// A cause that can be named.
    DrillCause {
        /// Its id.
        id: String,
        /// Where it sits.
        place: String,
        /// What is different then.
        what: String,
    }

    /// Names the cause of what an instance shows.
    AnswerDrill {
        /// The instance.
        id: String,
        /// Id of a cause, or `nothing-wrong`.
        cause: String,
    }

    /// An answer.
    DrillAnswer {
        /// The instance.
        id: String,
        /// Id of a cause, or `nothing-wrong`.
        cause: String,
        /// Simulated seconds after the first screen.
        at_s: f64,
    }

    /// Does something to an instance of the drill.
    DoInDrill {
        /// The instance.
        id: String,
        /// `destroy` or `reboot`.
        deed: String,
    }

    /// Something done.
    DrillDeed {
        /// The instance.
        id: String,
        /// `destroy` or `reboot`.
        deed: String,
        /// Simulated seconds after the first screen.
        at_s: f64,
    }

    /// What a drill comes to.
    Debrief {
        /// The scenario's name.
        scenario: String,
        /// What it was about.
        summary: String,
        /// The seed.
        seed: u64,
        /// Simulated time played, seconds.
        played_s: f64,
        /// Score, 0 to 100.
        score: f64,
        /// How the score comes about, one sentence a part.
        score_parts: Vec<String>,
        /// Instances whose cause was named rightly.
        right: usize,
        /// Instances with something to name.
        to_name: usize,
        /// What they cost from fault to answer, dollars.
        delay_dollars: f64,
        /// Every instance that was struck, answered or acted upon.
        instances: Vec<DebriefInstance>,
        /// What happened, oldest first.
        timeline: Vec<DebriefEvent>,
        /// What a perfect diagnosis would say and ask next.
        perfect: Vec<String>,
    }

    /// An instance in a debrief.
    DebriefInstance {
        /// Its id.
        id: String,
        /// Faults that struck it, each with what it does.
        truth: Vec<DrillCause>,
        /// What a perfect diagnosis says of it; `null` where the scenario says nothing.
        expected_verdict: Option<String>,
        /// Causes that cannot be told apart from there.
        expected_causes: Vec<String>,
        /// What was named.
        answer: Option<String>,
        /// `right`, `close` (not told apart from the truth), `wrong`, `missed` or `nothing-to-name`.
        outcome: String,
        /// Simulated seconds after the first screen.
        fault_at_s: Option<f64>,
        /// Its first flag that asks for a person.
        flagged_at_s: Option<f64>,
        /// The answer that counts.
        answered_at_s: Option<f64>,
        /// What it cost from fault to answer or end, dollars.
        delay_dollars: f64,
        /// It was destroyed by the player.
        destroyed: bool,
    }

    /// Something that happened in a drill.
    DebriefEvent {
        /// Simulated seconds after the first screen.
        at_s: f64,
        /// `fault`, `flag`, `look`, `answer` or `deed`.
        kind: String,
        /// The instance, where it is about one.
        id: Option<String>,
        /// What.
        text: String,
    }

    /// Asks for log lines.
    LogRequest {
        /// The instance; `null` for the manager's own log.
        id: Option<String>,
        /// Only this source.
        source: Option<String>,
        /// Only lines kept after this one.
        after: Option<i64>,
        /// Only lines kept before this one.
        before: Option<i64>,
        /// Only lines that contain this text, letter case ignored.
        contains: Option<String>,
        /// The newest so many, given oldest first; 1000 where not given, 10000 at most.
        limit: Option<usize>,
    }

    /// Log lines.
    LogPage {
        /// The lines, oldest first.
        lines: Vec<LogLineView>,
        /// Sources with how many lines are kept of each.
        sources: Vec<SourceCount>,
        /// Start of the manager's present run: lines from before are gone from the manager.
        #[ts(type = "string | null")]
        manager_started_at: Option<Timestamp>,
        /// Known words in these lines, newest first; of the manager's own log only.
        said: Vec<SaidView>,
        /// What the silence means, where the log is silent.
        silence: Option<SilenceView>,
        /// When the log was last read, on the manager's clock; `null` where it was not.
        #[ts(type = "string | null")]
        read_at: Option<Timestamp>,
    }

    /// A log line.
    LogLineView {
        /// Place in the archive.
        id: i64,
        /// Source.
        source: String,
        /// Arrival at the manager, not the time of writing.
        #[ts(type = "string")]
        at: Timestamp,
        /// The line; hostile text, cut to 16 KiB.
        text: String,
        /// Bytes cut off it.
        cut_bytes: usize,
        /// From before the manager's present run: only Dwell still has it.
        kept_from_before: bool,
        /// Lines may be missing just before it.
        after_gap: bool,
    }

    /// How many lines a source has.
    SourceCount {
        /// The source.
        source: String,
        /// Lines kept.
        lines: u64,
    }

    /// Saves a fleet and watches it.
    ConnectRequest {
        /// The manager's address.
        address: String,
        /// A name for it; the address where not given.
        name: Option<String>,
        /// Reached through SSH: `user@host`, or an entry of the SSH configuration. The address is then as seen from there.
        ssh: Option<String>,
    }

    /// Allows Dwell to look at a fleet's machines by SSH, or forbids it.
    AllowProbe {
        /// Name of the saved fleet.
        name: String,
        /// Allowed.
        allow: bool,
    }

    /// Asks what a look at a machine runs.
    ProbeScriptRequest {
        /// On which instance; `null` for the script alone.
        id: Option<String>,
    }

    /// What a look at a machine runs.
    ProbeScript {
        /// The script. It reads and writes nothing.
        script: String,
        /// How it is run on one instance, as it can be pasted into a terminal; `null` where no address is known.
        by_hand: Option<String>,
    }

    /// Watches a simulated fleet.
    SimulateRequest {
        /// Scenario.
        scenario: String,
        /// Seed; the scenario's own where not given.
        seed: Option<u64>,
        /// Speed; the scenario's own where not given.
        speed: Option<f64>,
    }

    /// Names a saved fleet.
    FleetName {
        /// Its name.
        name: String,
    }

    /// The saved fleets.
    Fleets {
        /// They.
        saved: Vec<SavedFleet>,
        /// Name of the one that is watched.
        watching: Option<String>,
        /// Name of the saved one that was chosen last: a terminal looks at it where none is named.
        last: Option<String>,
        /// Why the one that was asked for at the start is not.
        problem: Option<ApiError>,
    }

    /// A saved fleet.
    SavedFleet {
        /// Name.
        name: String,
        /// The manager's address.
        address: String,
        /// Whom SSH goes through; the address is as seen from there.
        #[serde(default)]
        ssh: Option<String>,
        /// Its machines may be looked at by SSH.
        #[serde(default)]
        allow_probe: bool,
        /// Rules and `dwellctl` may act on it at any time. A window has write access for a time besides, kept nowhere.
        #[serde(default)]
        may_act: bool,
    }

    /// The charts there are, and what of the history they can show.
    ChartList {
        /// Charts.
        charts: Vec<ChartInfo>,
        /// When the fleet was first watched, on the manager's clock.
        #[ts(type = "string | null")]
        begins: Option<Timestamp>,
        /// Bytes that history uses.
        history_bytes: f64,
    }

    /// A chart that can be drawn.
    ChartInfo {
        /// Its name.
        name: String,
        /// Its title.
        title: String,
        /// What it shows, and what its numbers rest on.
        about: String,
        /// What it can be split by: `nothing`, `gpu`, `image`, `region`, `machine`; empty where it is not split.
        by: Vec<String>,
        /// It is of one state on the way to `running`.
        of_a_state: bool,
        /// It is of one instance.
        of_an_instance: bool,
    }

    /// Which chart, of which time.
    ChartRequest {
        /// Its name.
        name: String,
        /// Of the last so many seconds.
        #[serde(default)]
        last_s: Option<f64>,
        /// From then on, on the manager's clock; counts before `last_s`. Without either: all there is.
        #[serde(default)]
        #[ts(type = "string | null")]
        since: Option<Timestamp>,
        /// Until then; until now where not given.
        #[serde(default)]
        #[ts(type = "string | null")]
        until: Option<Timestamp>,
        /// What it is split by.
        #[serde(default)]
        by: Option<String>,
        /// The state, for charts of a state; `params_done` where not given.
        #[serde(default)]
        state: Option<String>,
        /// The instance, for charts of one.
        #[serde(default)]
        instance: Option<String>,
        /// Pixels.
        width: u32,
        /// Pixels.
        height: u32,
        /// Light on dark.
        dark: bool,
    }

    /// A chart, drawn.
    ChartView {
        /// Its name.
        name: String,
        /// Its title.
        title: String,
        /// What it shows, in a sentence.
        sentence: String,
        /// What its numbers rest on, and what they leave out.
        notes: Vec<String>,
        /// There is nothing to draw; `sentence` says why.
        empty: bool,
        /// The plot, as SVG.
        svg: String,
        /// Where values are in it, panel by panel.
        plots: Vec<PlotView>,
        /// The x axis: `time` (seconds since the epoch), or a quantity.
        x_kind: String,
        /// Least x.
        x_from: f64,
        /// Greatest x.
        x_to: f64,
        /// The time that is shown.
        #[ts(type = "string")]
        since: Timestamp,
        /// Its end.
        #[ts(type = "string")]
        until: Timestamp,
        /// Names with their colours.
        legend: Vec<LegendEntry>,
        /// Names of the numbers of a reading.
        columns: Vec<String>,
        /// The numbers, in order of x (of y where `readings_down`).
        readings: Vec<Reading>,
        /// Readings are one below the other: rows of a chart of groups.
        readings_down: bool,
        /// A reading can be asked who is behind it.
        has_behind: bool,
    }

    /// Where the values of a panel are, in pixels of its picture.
    PlotView {
        /// Left edge.
        left: f64,
        /// Upper edge.
        top: f64,
        /// Width.
        width: f64,
        /// Height.
        height: f64,
    }

    /// A name and its colour.
    LegendEntry {
        /// Name.
        name: String,
        /// `#rrggbb`.
        colour: String,
    }

    /// The numbers at one place.
    Reading {
        /// Where it begins, on the axis that it is along.
        from: f64,
        /// Where it ends.
        to: f64,
        /// What it is of: a time, a group.
        label: String,
        /// Numbers with their units, as in `columns`; a dash where it is not known.
        cells: Vec<String>,
    }

    /// Asks who is behind a reading.
    ChartBehind {
        /// The chart.
        chart: ChartRequest,
        /// Where the reading begins.
        from: f64,
        /// Where it ends.
        to: f64,
        /// Only this group.
        #[serde(default)]
        group: Option<String>,
    }

    /// Who is behind a reading.
    Behind {
        /// Instances, at most 200.
        instances: Vec<BehindRow>,
        /// How many there are in all.
        all: usize,
    }

    /// An instance behind a reading.
    BehindRow {
        /// Its id.
        id: String,
        /// Card model with its count.
        gpu: Option<String>,
        /// Machine.
        machine: Option<String>,
        /// Place.
        region: Option<String>,
        /// What it was or did then.
        was: String,
    }

    /// Saves a chart as a file.
    SaveChart {
        /// Which.
        chart: ChartRequest,
        /// `svg`, `png`, `csv` or `json`.
        format: String,
    }

    /// A part of history in figures, group by group.
    HistorySummary {
        /// From then on.
        #[ts(type = "string")]
        since: Timestamp,
        /// Until then.
        #[ts(type = "string")]
        until: Timestamp,
        /// Seconds of it in which the fleet was watched and answered; means are over these.
        watched_s: f64,
        /// What it is split by.
        by: String,
        /// Groups, most dollars first.
        groups: Vec<SummaryRow>,
    }

    /// A group in figures.
    SummaryRow {
        /// Its name.
        group: String,
        /// Instances that were there at any time.
        instances: usize,
        /// Mean of what the running ones make by their own benchmarks; `null` where none was told.
        proofs_per_h: Option<f64>,
        /// Mean US dollars per hour; `null` where no price was told.
        dollars_per_h: Option<f64>,
        /// Of these, on the way to running.
        waiting_dollars_per_h: Option<f64>,
        /// All dollars over all proofs.
        dollars_per_proof: Option<f64>,
        /// Half of the rentals that began in this time were running after so many seconds.
        until_running_median_s: Option<f64>,
        /// Rentals that began in this time.
        rented: usize,
        /// Of these, running at any time.
        got_running: usize,
        /// Killed in this time.
        killed: usize,
        /// Instances whose price or benchmark rate was not told: the sums are too low by these.
        not_told: usize,
    }

    /// Searches kept log lines.
    SearchLogs {
        /// Whole words, all of them; `word*` for a beginning; in quotation marks as they are.
        words: String,
        /// Only this instance's.
        #[serde(default)]
        instance: Option<String>,
        /// Only this source.
        #[serde(default)]
        source: Option<String>,
        /// Only from then on.
        #[serde(default)]
        #[ts(type = "string | null")]
        since: Option<Timestamp>,
        /// Only before then.
        #[serde(default)]
        #[ts(type = "string | null")]
        until: Option<Timestamp>,
        /// The next page: only what was kept before this line.
        #[serde(default)]
        #[ts(type = "number | null")]
        before: Option<i64>,
        /// The newest so many; 200 where not given.
        #[serde(default)]
        limit: Option<usize>,
    }

    /// Lines that were found, newest first.
    FoundLogs {
        /// They.
        lines: Vec<FoundLog>,
        /// Set where there is more: ask again with `before`.
        #[ts(type = "number | null")]
        go_on_before: Option<i64>,
    }

    /// A line that was found.
    FoundLog {
        /// Place in the archive.
        #[ts(type = "number")]
        id: i64,
        /// Whose; `null` for the manager's own log.
        instance: Option<String>,
        /// Its source.
        source: String,
        /// When, on the manager's clock.
        #[ts(type = "string")]
        at: Timestamp,
        /// The line.
        text: String,
    }

    /// Exports a part of history.
    ExportHistory {
        /// `instances`, `transitions`, `gauges`, `benchmarks`, `flags` or `logs`.
        table: String,
        /// `csv`, `json` (one object a line) or `parquet`.
        format: String,
        /// From then on.
        #[serde(default)]
        #[ts(type = "string | null")]
        since: Option<Timestamp>,
        /// Before then.
        #[serde(default)]
        #[ts(type = "string | null")]
        until: Option<Timestamp>,
    }

    /// A file that was written from history.
    ExportedFile {
        /// Where it is.
        path: String,
        /// Rows in it.
        rows: usize,
    }

    /// What an image needs of a machine; a field that is not given is not asked for.
    Needs {
        /// Memory of one card, GB: more than that.
        #[serde(default)]
        gpu_ram_gb: Option<f64>,
        /// Memory of the rented share of the host, GB.
        #[serde(default)]
        ram_gb: Option<f64>,
        /// Hardware threads: more than that.
        #[serde(default)]
        cpu_threads: Option<f64>,
        /// Download, Mbit/s: more than that.
        #[serde(default)]
        inet_down_mbps: Option<f64>,
        /// CUDA that its driver has to support.
        #[serde(default)]
        cuda: Option<f64>,
        /// Oldest driver, e.g. `570.133`.
        #[serde(default)]
        driver: Option<String>,
        /// Compute capabilities that the image was built for, times 100: 860 is sm_86. Empty: all.
        #[serde(default)]
        compute_caps: Vec<u64>,
    }

    /// Asks for offers.
    OffersRequest {
        /// Filters in the language of vast.ai's own client, e.g. `gpu_name=RTX_4090 dph<=0.5`, instead of those that follow from
        /// the needs.
        #[serde(default)]
        filter: Option<String>,
        /// Card model.
        #[serde(default)]
        gpu: Option<String>,
        /// Exactly so many cards.
        #[serde(default)]
        cards: Option<u64>,
        /// Highest price, US dollars per hour.
        #[serde(default)]
        dollars_per_h_max: Option<f64>,
        /// Disk, GB; the price includes it. 250 where not given.
        #[serde(default)]
        disk_gb: Option<f64>,
        /// What the image needs; what the manager itself asks for where not given.
        #[serde(default)]
        needs: Option<Needs>,
        /// Offers that do not fit the needs are asked for as well, and told with why.
        #[serde(default)]
        all: bool,
        /// At most so many; 64 where not given.
        #[serde(default)]
        limit: Option<u32>,
    }

    /// Offers, and what is known of each.
    OffersView {
        /// Who was asked: `vast.ai` or `manager`.
        source: String,
        /// With which filters.
        filter: String,
        /// Disk that the prices include, GB; `null` where the manager's own counts.
        disk_gb: Option<f64>,
        /// What the image needs.
        needs: Needs,
        /// Those that can work, cheapest proofs first; then the others.
        offers: Vec<OfferView>,
        /// What could not be asked.
        notes: Vec<String>,
        /// When they were asked for, on the operator's clock.
        #[ts(type = "string")]
        at: Timestamp,
    }

    /// An offer. `null`: not told.
    OfferView {
        /// Number to rent it by; good for minutes.
        id: u64,
        /// Machine.
        machine_id: Option<u64>,
        /// Host.
        host_id: Option<u64>,
        /// Card model.
        gpu_name: Option<String>,
        /// Cards.
        num_gpus: Option<u64>,
        /// Memory of one card, GB.
        gpu_ram_gb: Option<f64>,
        /// Memory of the offered share of the host, GB.
        ram_gb: Option<f64>,
        /// Hardware threads.
        cpu_threads: Option<f64>,
        /// Copies to the card as vast.ai measured them, GB/s.
        pcie_gb_s: Option<f64>,
        /// Download, Mbit/s.
        inet_down_mbps: Option<f64>,
        /// Newest CUDA that its driver supports.
        cuda_max: Option<f64>,
        /// Compute capability times 100.
        compute_cap: Option<u64>,
        /// Driver.
        driver_version: Option<String>,
        /// Place.
        geolocation: Option<String>,
        /// Price, US dollars per hour.
        dollars_per_h: Option<f64>,
        /// Time left for which it is offered, seconds.
        lasts_s: Option<f64>,
        /// Share of time that it was up, 0 to 1.
        reliability: Option<f64>,
        /// What it would prove, proofs per hour.
        proofs_per_h: Option<f64>,
        /// From.
        proofs_per_h_least: Option<f64>,
        /// To.
        proofs_per_h_most: Option<f64>,
        /// What that rests on: `machine`, `same-cards` or `model`.
        basis: Option<String>,
        /// The same in words.
        basis_words: Option<String>,
        /// What limits it, by the model.
        limited_by: Option<String>,
        /// Price of a proof, US dollars.
        dollars_per_proof: Option<f64>,
        /// Median time from the rental to `running`, seconds; the first proof itself is told by nobody.
        until_running_s: Option<f64>,
        /// What that rests on.
        until_running_of: Option<String>,
        /// What the time until then costs, US dollars.
        dollars_before_running: Option<f64>,
        /// Rentals of this machine that were watched.
        rented_before: usize,
        /// Of these: proved.
        proved_before: usize,
        /// Of these: were flagged as stuck.
        stuck_before: usize,
        /// Why the manager's list of bad hosts has it.
        banned: Option<String>,
        /// Why it cannot work; empty: nothing speaks against it.
        why_not: Vec<String>,
    }

    /// What is done by itself.
    Rule {
        /// Name.
        name: String,
        /// Name of the fleet that it is for.
        fleet: String,
        /// When this verdict holds: `stalled`, `invisible`, `contradicted`, `leaking`, `slow` or `gone`.
        verdict: String,
        /// With this cause confirmed, and no other.
        cause: String,
        /// For so long, seconds.
        for_s: f64,
        /// This is done: `kill`, `destroy`, `reboot` or `ban`.
        deed: String,
        /// It is followed.
        #[serde(default)]
        on: bool,
        /// It only says in the journal what it would do.
        dry_run: bool,
        /// To so many within a day.
        per_day: u32,
        /// Whose prices add up to so much within a day, US dollars per hour.
        dollars_per_h_a_day: f64,
    }

    /// Names a rule.
    RuleName {
        /// Its name.
        name: String,
    }

    /// Rules of the fleet that is watched.
    Rules {
        /// They.
        rules: Vec<RuleView>,
    }

    /// A rule, and what it did within the last day.
    RuleView {
        /// The rule.
        rule: Rule,
        /// To so many.
        today: usize,
        /// Whose prices add up to so much, US dollars per hour.
        dollars_per_h_today: f64,
    }

    /// A variable in the environment of what is rented.
    EnvVar {
        /// Name.
        name: String,
        /// Value, stored as it is; `null`: the keychain has it, under `env:NAME`. Refused where the name reads like a secret.
        #[serde(default)]
        value: Option<String>,
    }

    /// Asks what a deployment or a rolling replacement would do.
    RolloutRequest {
        /// So many new ones, in place of nobody.
        #[serde(default)]
        count: u32,
        /// Replaces these.
        #[serde(default)]
        ids: Vec<String>,
        /// Replaces everybody who was rented before then.
        #[serde(default)]
        #[ts(type = "string | null")]
        rented_before: Option<Timestamp>,
        /// Which offers.
        market: OffersRequest,
        /// These alone.
        #[serde(default)]
        offer_ids: Vec<u64>,
        /// Straight from vast.ai with this image; through the manager, with its own, where not given.
        #[serde(default)]
        image: Option<String>,
        /// What the container runs at its start.
        #[serde(default)]
        onstart: Option<String>,
        /// Its environment.
        #[serde(default)]
        env: Vec<EnvVar>,
        /// Proofs per hour below which the manager kills it.
        #[serde(default)]
        min_rate: Option<f64>,
        /// What a proof may cost, US dollars: the minimum rate of each follows from its price.
        #[serde(default)]
        dollars_per_proof_max: Option<f64>,
        /// New ones on their way at a time; 1 where not given.
        #[serde(default)]
        at_once: Option<u32>,
        /// What new ones may cost while what they replace is still there, US dollars per hour; of a deployment, all of them.
        extra_dollars_per_h: f64,
        /// Longest time until one runs, seconds; two and a half hours where not given, as long as the manager's own timers allow.
        #[serde(default)]
        running_within_s: Option<f64>,
        /// Hours that the credit has to last at the new price; 6 where not given.
        #[serde(default)]
        credit_lasts_h: Option<f64>,
        /// Why, for the journal.
        #[serde(default)]
        why: Option<String>,
    }

    /// What it would do.
    RolloutPlan {
        /// Begins it, once, within two minutes; `null` where it cannot be begun.
        token: Option<String>,
        /// In a sentence.
        sentence: String,
        /// Whom it replaces, oldest first.
        replaces: Vec<PlanStep>,
        /// The offers that would be taken now; they may be gone when their turn comes.
        offers: Vec<OfferView>,
        /// What these cost together, US dollars per hour, as far as prices were told.
        dollars_per_h: Option<f64>,
        /// What should be known before.
        notes: Vec<String>,
        /// Why it cannot be begun.
        refused: Option<String>,
        /// What has to be typed to confirm it.
        confirm_with: Option<String>,
        /// The fleet is read-only.
        read_only: bool,
    }

    /// Names a rollout.
    RolloutName {
        /// Its name.
        name: String,
    }

    /// Deployments and replacements, newest first.
    Rollouts {
        /// They.
        rollouts: Vec<RolloutView>,
    }

    /// A deployment or a replacement.
    RolloutView {
        /// Name.
        name: String,
        /// `deploy` or `replace`.
        kind: String,
        /// `going`, `paused` or `ended`.
        state: String,
        /// A process takes its steps; false where that one was ended and somebody has to resume it.
        alive: bool,
        /// Why it is in that state.
        says: String,
        /// When it was asked for.
        #[ts(type = "string")]
        at: Timestamp,
        /// Why.
        why: String,
        /// What new ones may cost while what they replace is still there, US dollars per hour.
        extra_dollars_per_h_max: f64,
        /// What they cost so: each what is billed, or what was offered where that is more or no bill is known yet.
        extra_dollars_per_h: f64,
        /// It was a simulation.
        simulated: bool,
        /// Each.
        items: Vec<RolloutItemView>,
    }

    /// One of them.
    RolloutItemView {
        /// Whom it replaces.
        old: Option<String>,
        /// `waiting`, `ordering`, `coming`, `retiring`, `done`, `failed` or `left`.
        state: String,
        /// Since when.
        #[ts(type = "string")]
        at: Timestamp,
        /// What happened last.
        text: String,
        /// Label that it was ordered with.
        label: Option<String>,
        /// Machine.
        machine_id: Option<u64>,
        /// vast.ai's number of the new one.
        vast_id: Option<u64>,
        /// Its price as it was offered, US dollars per hour.
        dollars_per_h: Option<f64>,
        /// What vast.ai bills for it, US dollars per hour; `null` where that is not known yet.
        billed_dollars_per_h: Option<f64>,
    }

    /// Asks what would be done.
    PlanRequest {
        /// `kill`, `destroy`, `stop`, `start`, `reboot`, `label`, `ban` or `unban`.
        deed: String,
        /// Instances (ids, unique prefixes, vast.ai numbers or labels), rentals by number; of `unban` machines.
        ids: Vec<String>,
        /// The label; the reason of a ban.
        #[serde(default)]
        text: Option<String>,
        /// Why, for the journal.
        #[serde(default)]
        why: Option<String>,
    }

    /// What would be done, to whom, and what it costs.
    PlanView {
        /// Carries it out, once, within two minutes; `null` where nothing can be done now.
        token: Option<String>,
        /// What is done.
        deed: String,
        /// In a sentence.
        sentence: String,
        /// Each step.
        steps: Vec<PlanStep>,
        /// What it saves, US dollars per hour, as far as prices were told; negative: what it costs more.
        saves_dollars_per_h: Option<f64>,
        /// What is destroyed does not come back.
        destructive: bool,
        /// What has to be typed to confirm it; `null`: nothing.
        confirm_with: Option<String>,
        /// The fleet is read-only: nothing can be carried out until that is switched off.
        read_only: bool,
    }

    /// A step of a plan.
    PlanStep {
        /// To whom.
        id: String,
        /// Where it is now, what it is.
        is_now: String,
        /// What will happen.
        what: String,
        /// What will be lost with it.
        lost: Option<String>,
        /// What else it hits, where that is more than what it says.
        warning: Option<String>,
        /// Why this step is left out; the others are not.
        refused: Option<String>,
        /// Its price, US dollars per hour.
        dollars_per_h: Option<f64>,
        /// The account of vast.ai's that lists its rental and that the deed goes to; `null` where none does, or none is asked.
        account: Option<String>,
    }

    /// Carries out a plan, as it was shown.
    CarryOut {
        /// Its token.
        token: String,
        /// What was typed to confirm it.
        #[serde(default)]
        confirmation: Option<String>,
        /// Why, for the journal, in place of what the plan was asked with. It changes nothing of the plan.
        #[serde(default)]
        why: Option<String>,
    }

    /// Gives write access to the fleet that is watched, or makes it read-only.
    AllowActing {
        /// Whether.
        allow: bool,
        /// For how long, seconds (60 to 14,400); 900 where not given. It is read-only again by itself.
        #[serde(default)]
        for_s: Option<f64>,
        /// Not write access: whether rules and `dwellctl` may act on it at any time. That is allowed only during write access.
        #[serde(default)]
        standing: bool,
    }

    /// What was done, and whether anything can be.
    Acts {
        /// The fleet that is watched may be acted on.
        may_act: bool,
        /// For how long still, seconds; `null` where it is read-only.
        write_access_left_s: Option<f64>,
        /// Rules and `dwellctl` may act on it at any time.
        standing: bool,
        /// Rules that act on it by themselves now: followed, not dry, and allowed to.
        rules_acting: usize,
        /// Deeds, newest first.
        acts: Vec<ActView>,
    }

    /// A deed and what came of it.
    ActView {
        /// The plan that it is a step of.
        plan: String,
        /// What.
        deed: String,
        /// With which text.
        deed_text: Option<String>,
        /// To whom.
        target: String,
        /// The account of vast.ai's whose rental it is, where that was known.
        account: Option<String>,
        /// Who had it done.
        who: String,
        /// Why.
        why: String,
        /// The fleet's manager.
        fleet: String,
        /// It was a simulation.
        simulated: bool,
        /// `planned`, `sent`, `answered`, `unanswered`, `not-verified` (not yet), `refused`, `taken`, `verified` or `incident`.
        phase: String,
        /// Nothing comes after it.
        done: bool,
        /// What happened last.
        text: String,
        /// When it was planned.
        #[ts(type = "string")]
        planned_at: Timestamp,
        /// When what happened last did.
        #[ts(type = "string")]
        at: Timestamp,
        /// Every step.
        steps: Vec<ActStep>,
    }

    /// A step of a deed's course.
    ActStep {
        /// When.
        #[ts(type = "string")]
        at: Timestamp,
        /// Which.
        phase: String,
        /// What happened.
        text: String,
    }

    /// Changes the speed of a simulation.
    SpeedRequest {
        /// Simulated seconds in a real one; 0 pauses.
        speed: f64,
    }

    /// A scenario that can be simulated.
    ScenarioInfo {
        /// Its name.
        name: String,
        /// One line.
        title: String,
        /// What it shows.
        summary: String,
        /// Speed that suits a person.
        speed: f64,
        /// Meant for newcomers.
        featured: bool,
    }

    /// The scenarios.
    Scenarios {
        /// They.
        scenarios: Vec<ScenarioInfo>,
    }

    /// Whether everything is in order.
    Doctor {
        /// One by one.
        checks: Vec<Check>,
    }

    /// One check.
    Check {
        /// What was checked.
        name: String,
        /// In order.
        ok: bool,
        /// What was found.
        detail: String,
    }

    /// Everything that is stuck, grouped by what it may share.
    Incidents {
        /// Incidents, most pressing first.
        incidents: Vec<IncidentView>,
        /// Flagged instances whose trouble was closed by a person.
        closed: usize,
        /// What is out of order with the whole fleet or with what can be seen of it, loudest first.
        conditions: Vec<ConditionView>,
        /// The manager's time that this is told of.
        #[ts(type = "string | null")]
        as_of: Option<Timestamp>,
    }

    /// Stuck instances that look alike.
    IncidentView {
        /// Stable as long as its first instance is in it.
        id: String,
        /// Verdict that they share.
        verdict: String,
        /// State that they share.
        state: String,
        /// In one sentence.
        sentence: String,
        /// Since when the first of them is so.
        #[ts(type = "string")]
        since: Timestamp,
        /// Who.
        instances: Vec<IncidentMember>,
        /// Causes that lead for them, by title.
        causes: Vec<String>,
        /// What they cost together, US dollars per hour; what was not told is left out.
        dollars_per_h: Option<f64>,
        /// What is to be looked at next.
        next_check: Option<String>,
        /// What they share that others do not, in a sentence; `null` where nothing is clear.
        shared: Option<String>,
    }

    /// A member of an incident.
    IncidentMember {
        /// Its id.
        id: String,
        /// Card model.
        gpu_name: Option<String>,
        /// Why it is flagged.
        reason: String,
        /// Since when, on the manager's clock.
        #[ts(type = "string")]
        since: Timestamp,
    }

    /// What is thought of an instance, and why.
    DiagnosisPage {
        /// Its row.
        row: InstanceRow,
        /// Verdict: the flag's kind, else `healthy`, or `gone` where it was killed.
        verdict: String,
        /// The verdict with what is likely behind it, in one or two sentences.
        sentence: String,
        /// When it was worked out, on the manager's clock.
        #[ts(type = "string")]
        at: Timestamp,
        /// Contradictions, and what is about to be lost.
        findings: Vec<FindingView>,
        /// Causes, most probable first; those of one group are not told apart by what was seen.
        groups: Vec<CauseGroup>,
        /// Causes that are unlikely or excluded.
        unlikely: Vec<CauseRank>,
        /// Two causes at once, where they explain much more than one.
        pair: Option<PairView>,
        /// Independent channels that have spoken.
        channels_heard: usize,
        /// No cause was given more than this, 0 to 1.
        ceiling: f64,
        /// What was seen, fact by fact.
        observations: Vec<ObservationView>,
        /// The channels, each with whether it could have spoken.
        channels: Vec<ChannelView>,
        /// What to look at next, most telling first.
        next_checks: Vec<CheckView>,
        /// What to do by what is thought now.
        act: Option<String>,
        /// The comparison with instances that are well.
        cohort: CohortView,
        /// Notes, looks and closings, oldest first.
        notes: Vec<NoteView>,
        /// Other instances that were closed with one of the leading causes.
        seen_before: Vec<SeenBeforeView>,
        /// Its trouble was closed since it was flagged.
        closed: bool,
    }

    /// A contradiction.
    FindingView {
        /// Stable id.
        id: String,
        /// `stop` (it costs money or destroys evidence now) or `find-out`.
        lane: String,
        /// What does not fit together.
        text: String,
        /// US dollars per hour.
        dollars_per_h: Option<f64>,
        /// Since when, or when it will be.
        #[ts(type = "string | null")]
        at: Option<Timestamp>,
        /// The field or line that shows it.
        reference: String,
    }

    /// Causes that what was seen does not tell apart.
    CauseGroup {
        /// They, by how common they are.
        causes: Vec<CauseRank>,
        /// Looks that would tell them apart, best first.
        told_apart_by: Vec<String>,
    }

    /// A cause in the ranking.
    CauseRank {
        /// Id in the catalogue.
        id: String,
        /// In a few words.
        title: String,
        /// `confirmed`, `likely`, `possible`, `unlikely` or `excluded`.
        standing: String,
        /// Posterior probability, 0 to 1. Calibrated in drills only.
        probability: f64,
        /// What the observations add up to, in nats; how common the cause is comes on top.
        evidence: f64,
        /// `common`, `occasional` or `rare`.
        common: String,
        /// What speaks for it, strongest first.
        for_it: Vec<ContributionView>,
        /// What speaks against it, strongest first.
        against_it: Vec<ContributionView>,
        /// What would prove it and was not seen.
        would_confirm: Vec<String>,
        /// What to do about it.
        remedy: String,
    }

    /// What one observation adds to a cause.
    ContributionView {
        /// Its place among the observations.
        observation: usize,
        /// In words.
        text: String,
        /// Log-odds, nats, before its witness's cap.
        log_odds: f64,
    }

    /// Two causes at once.
    PairView {
        /// Their ids.
        ids: Vec<String>,
        /// Their titles.
        titles: Vec<String>,
        /// What they explain beyond the best single one, nats.
        gain: f64,
    }

    /// A typed fact read on one channel at one time.
    ObservationView {
        /// Id of the fact.
        fact: String,
        /// It holds.
        holds: bool,
        /// In words.
        text: String,
        /// Where it was read.
        channel: String,
        /// The time that it speaks of.
        #[ts(type = "string")]
        at: Timestamp,
        /// It is evidence for so long after that, seconds; `null` where it does not age.
        fresh_for_s: Option<f64>,
        /// The raw line or field.
        reference: String,
        /// It is out of the ordinary.
        odd: bool,
    }

    /// A channel.
    ChannelView {
        /// Its id.
        channel: String,
        /// Its name.
        title: String,
        /// `working`, `quiet`, `blind`, `unreachable` or `not-asked`.
        health: String,
        /// Why that is said.
        why: String,
        /// When it was last read.
        #[ts(type = "string | null")]
        at: Option<Timestamp>,
        /// Facts that it gave.
        facts: usize,
        /// Read by itself; the others are asked when wanted.
        watched: bool,
    }

    /// A look that could be made.
    CheckView {
        /// Its id.
        check: String,
        /// As an imperative.
        title: String,
        /// What it takes, seconds.
        seconds: f64,
        /// Uncertainty that it is expected to take away, nats.
        uncertainty: f64,
        /// Causes that it would tell apart: titles, a group each.
        separates: Vec<Vec<String>>,
        /// Why it cannot be made from here, where it cannot.
        wanting: Option<String>,
        /// How to do it by hand.
        by_hand: String,
    }

    /// The stuck against the well.
    CohortView {
        /// Stuck.
        stuck: usize,
        /// Well: they passed the same state in the same time.
        well: usize,
        /// Values that were tried; p is corrected for as many.
        tried: usize,
        /// In one sentence.
        sentence: String,
        /// What the stuck share, strongest first.
        shared: Vec<SharedView>,
        /// In what they differ: evidence against a cause there.
        differ_in: Vec<String>,
    }

    /// What one value has to do with being stuck.
    SharedView {
        /// e.g. `image`.
        attribute: String,
        /// Its value.
        value: String,
        /// Stuck with it.
        stuck_with: usize,
        /// Stuck without it.
        stuck_without: usize,
        /// Well with it.
        well_with: usize,
        /// Well without it.
        well_without: usize,
        /// One-sided p of Fisher's exact test.
        p: f64,
        /// Smallest p that these counts could reach.
        p_least: f64,
        /// p corrected for the values tried.
        p_corrected: f64,
        /// Share of the stuck that have it less that of the well.
        effect: f64,
        /// `no-contrast`, `weak`, `clear` or `strong`.
        strength: String,
        /// What divides the same instances in the same way.
        confounded_with: Vec<String>,
    }

    /// A note, a look or a closing.
    NoteView {
        /// When.
        #[ts(type = "string")]
        at: Timestamp,
        /// `note`, `look` or `close`.
        kind: String,
        /// Its text.
        text: String,
        /// Of a closing: the cause.
        cause: Option<String>,
    }

    /// A closing of another instance.
    SeenBeforeView {
        /// Whose.
        id: String,
        /// When.
        #[ts(type = "string")]
        at: Timestamp,
        /// The cause.
        cause: String,
        /// What was written.
        text: String,
        /// Card then.
        gpu: Option<String>,
        /// Machine then.
        machine: Option<u64>,
    }

    /// A look at one instance.
    LookRequest {
        /// Whose.
        id: String,
        /// Which.
        check: String,
    }

    /// A note on an instance.
    NoteRequest {
        /// Whose.
        id: String,
        /// What.
        text: String,
    }

    /// Closes an instance's trouble with a cause.
    CloseRequest {
        /// Whose.
        id: String,
        /// The cause: an id of the catalogue, `not-stuck-yet`, or `not-in-the-catalogue`.
        cause: String,
        /// Why, in words.
        text: String,
    }

    /// Names a cause.
    CauseRequest {
        /// Its id.
        id: String,
    }

    /// The catalogue.
    Causes {
        /// Its causes, by place.
        causes: Vec<CauseInfo>,
    }

    /// A cause in a list.
    CauseInfo {
        /// Its id.
        id: String,
        /// In a few words.
        title: String,
        /// It is ranked; the others explain what the manager's own page shows.
        ranked: bool,
    }

    /// A cause, explained.
    CauseView {
        /// Its id.
        id: String,
        /// In a few words.
        title: String,
        /// What happens.
        what: String,
        /// States it can hold an instance in; empty for every one.
        states: Vec<String>,
        /// `common`, `occasional` or `rare`.
        common: String,
        /// What it shows, and how often.
        shows: Vec<ShownView>,
        /// What it never shows.
        never_shows: Vec<String>,
        /// Sets of facts that prove it.
        confirmed_by: Vec<Vec<String>>,
        /// What it always shows: its absence speaks against it.
        excluded_by: Vec<String>,
        /// Kind of remedy.
        act: String,
        /// The remedy.
        remedy: String,
        /// Where it is known from.
        source: String,
        /// It is ranked.
        ranked: bool,
    }

    /// A fact that a cause shows.
    ShownView {
        /// In words.
        text: String,
        /// Channels that can show it.
        channels: Vec<String>,
        /// `always`, `usually`, `often`, `sometimes` or `seldom`.
        often: String,
        /// As a share, 0 to 1. A judgement.
        share: f64,
        /// How often it is seen where nothing explains it.
        usual: f64,
    }

    /// Asks for a report.
    ReportRequest {
        /// Instances.
        ids: Vec<String>,
        /// `markdown` or `html`.
        format: String,
        /// Addresses and numbers of hosts are written out; otherwise they are left out.
        with_addresses: bool,
    }

    /// A report.
    Report {
        /// A name for the file.
        file_name: String,
        /// The text.
        text: String,
    }

    /// vast.ai accounts.
    Accounts {
        /// They.
        accounts: Vec<Account>,
    }

    /// What vast.ai bills, joined with what the manager knows.
    Rentals {
        /// When vast.ai was asked, on the operator's clock.
        #[ts(type = "string")]
        at: Timestamp,
        /// The accounts that were asked.
        accounts: Vec<AccountRentals>,
        /// Rentals, those that do not fit together first.
        rentals: Vec<RentalView>,
        /// Name of the fleet that they are joined with; `null` where none is watched.
        joined_with: Option<String>,
        /// Rows that the manager counts as alive and no account lists; empty where not every account's list is whole.
        without_rental: Vec<RowWithoutRental>,
        /// Every account's list is whole: what is not among the rentals is in none of them.
        complete: bool,
    }

    /// An account that was asked.
    AccountRentals {
        /// The operator's name for it.
        name: String,
        /// vast.ai's number of it; `null` where not told.
        number: Option<u64>,
        /// Credit left, US dollars; `null` where not told.
        credit_dollars: Option<f64>,
        /// Rentals listed; `null` where the list was not given, or nothing of it could be read.
        rentals: Option<usize>,
        /// Rows of the list that could not be read: they are billed as well.
        rows_unreadable: usize,
        /// Rentals by vast.ai's own count.
        total: Option<u64>,
        /// Why the list is not known to be all; `null` where it is. Nothing follows from what an incomplete list has not.
        incomplete: Option<String>,
        /// Their prices together, US dollars per hour, as far as told.
        dollars_per_h: Option<f64>,
        /// Rentals and prices are at least that: the list is incomplete, or a price was not told.
        at_least: bool,
        /// Hours that the credit lasts at that price; `null` where the price is not known whole.
        hours_left: Option<f64>,
        /// Why it was not listed.
        error: Option<ApiError>,
    }

    /// A rental.
    RentalView {
        /// vast.ai's number.
        vast_id: u64,
        /// Account.
        account: String,
        /// Status now, in vast.ai's words.
        status: Option<String>,
        /// Status that is wanted.
        wanted: Option<String>,
        /// What vast.ai says of it. Hostile text.
        says: Option<String>,
        /// Card.
        gpu_name: Option<String>,
        /// Image.
        image: Option<String>,
        /// Label at vast.ai.
        label: Option<String>,
        /// Price, US dollars per hour.
        dollars_per_h: Option<f64>,
        /// When it was rented.
        #[ts(type = "string | null")]
        started_at: Option<Timestamp>,
        /// When the rental ends.
        #[ts(type = "string | null")]
        ends_at: Option<Timestamp>,
        /// Load of the card, percent, as vast.ai has it.
        gpu_util_percent: Option<f64>,
        /// The manager's row of it.
        row: Option<RowOfRental>,
        /// What does not fit together.
        odd: Option<String>,
    }

    /// The manager's row of a rental.
    RowOfRental {
        /// Id of the instance.
        id: String,
        /// Its state by the manager.
        state: String,
        /// Its flag.
        flag: Option<String>,
        /// What they were joined by: `number` or `label`.
        by: String,
    }

    /// A row without a rental.
    RowWithoutRental {
        /// Id of the instance.
        id: String,
        /// Its state by the manager.
        state: String,
        /// vast.ai's number, by the manager.
        vast_id: Option<u64>,
    }

    /// Cards that can be measured.
    BenchCards {
        /// Cards of this machine.
        real: u32,
        /// Why there are none, where there are none.
        problem: Option<String>,
        /// Simulated ones.
        simulated: Vec<SimulatedCard>,
    }

    /// A simulated card.
    SimulatedCard {
        /// Its name.
        name: String,
        /// What it is.
        title: String,
    }

    /// Begins a benchmark: of cards of this machine, or of simulated ones.
    StartBench {
        /// Cards of this machine, by their numbers.
        devices: Vec<u32>,
        /// Simulated cards, by their names.
        simulate: Vec<String>,
        /// At the same time instead of in turn.
        together: bool,
        /// `quick`, `full` or `soak`.
        depth: String,
        /// How long it soaks, seconds.
        soak_s: Option<f64>,
    }

    /// The benchmark that is running, and the latest records.
    BenchView {
        /// What is being done.
        running: Option<BenchProgress>,
        /// The latest records of this session, a card each; empty while one is being made.
        records: Vec<BenchRecord>,
        /// What those cards prove together, where there are several.
        together: Option<PredictionView>,
        /// Why the latest one could not begin.
        problem: Option<ApiError>,
        /// Earlier records of cards of this machine, newest first; empty while one is being made.
        past: Vec<PastBench>,
    }

    /// How far a benchmark is.
    BenchProgress {
        /// What is being done.
        what: String,
        /// Steps done.
        done: usize,
        /// Steps in all.
        of: usize,
        /// What the driver has said so far of the card that spoke last.
        readings: Vec<BenchReading>,
    }

    /// An earlier record.
    PastBench {
        /// When, on the operator's clock.
        #[ts(type = "string")]
        at: Timestamp,
        /// The card.
        card: String,
        /// Its own number, where it was told.
        uuid: Option<String>,
        /// Sum over the kernels: other kernels, other figures.
        kernels: String,
        /// Proofs per hour that were predicted.
        proofs_per_h: Option<f64>,
        /// Pinned copies to the card, bytes per second.
        pinned_bytes_s: Option<f64>,
        /// Products in the base field per second.
        products_s: Option<f64>,
        /// Gravest verdict, where there was one.
        verdict: Option<String>,
    }

    /// Asks for a record as a file.
    SaveBench {
        /// Which of the latest records.
        place: usize,
        /// `png`, `svg`, `markdown` or `json`.
        form: String,
        /// `light` or `dark`, for pictures.
        theme: String,
    }

    /// A file that was written.
    SavedFile {
        /// Where.
        path: String,
    }

    /// A benchmark.
    BenchRecord {
        /// When it ended, on the operator's clock.
        #[ts(type = "string")]
        at: Timestamp,
        /// The card.
        card: String,
        /// Its own number, where it was told.
        uuid: Option<String>,
        /// It is simulated.
        simulated: bool,
        /// Version of the driver.
        driver: Option<String>,
        /// It was broken off.
        cancelled: bool,
        /// Sum over the kernels: other kernels, other figures.
        kernels: String,
        /// Proofs per hour.
        prediction: Option<PredictionView>,
        /// What the operator's machines with such cards have proved.
        fleet: Option<EstimateView>,
        /// What is thought of the card, gravest first.
        verdicts: Vec<VerdictView>,
        /// Figures.
        measured: Vec<MeasuredView>,
        /// Published figures of the same model beside its own.
        published: Vec<ComparedView>,
        /// What the driver said meanwhile.
        readings: Vec<BenchReading>,
        /// The soak.
        soak: Vec<SoakPoint>,
        /// All of it as JSON, to keep or to compare.
        json: String,
    }

    /// An estimate of proofs per hour.
    EstimateView {
        /// Best estimate.
        proofs_per_h: f64,
        /// From.
        least: f64,
        /// To.
        most: f64,
        /// What it rests on, in words.
        basis: String,
        /// Benchmarks that it rests on.
        benchmarks: usize,
    }

    /// A figure beside a published one.
    ComparedView {
        /// The test.
        title: String,
        /// Seconds here.
        seconds: f64,
        /// Seconds as published.
        published_s: f64,
        /// How fast this is against it.
        ratio: f64,
        /// By what.
        by: String,
        /// Where it is from.
        source: String,
    }

    /// Proofs per hour, with the basis.
    PredictionView {
        /// Best estimate.
        proofs_per_h: f64,
        /// From.
        least: f64,
        /// To.
        most: f64,
        /// What limits.
        limit: String,
        /// Seconds a proof for each part, slowest first.
        parts: Vec<PredictionPart>,
        /// What was not told, and is not in it.
        left_out: Vec<String>,
    }

    /// A part of a proof.
    PredictionPart {
        /// What.
        what: String,
        /// Seconds a proof, were it alone in the way.
        seconds: f64,
    }

    /// A verdict.
    VerdictView {
        /// A stable word.
        code: String,
        /// `note`, `warning` or `bad`.
        gravity: String,
        /// In a sentence.
        text: String,
    }

    /// A figure.
    MeasuredView {
        /// The test.
        title: String,
        /// Unit of the rates.
        unit: String,
        /// Median rate.
        median: f64,
        /// Median rate with its unit.
        shown: String,
        /// Rates that a tenth of the runs was below, and above, with their unit.
        range: String,
        /// Runs.
        runs: usize,
        /// Standard deviation of a run, percent.
        spread_percent: f64,
        /// Looks at the driver meanwhile.
        looks: usize,
        /// Those that found the clocks held back by heat or by the hardware.
        held_back: usize,
        /// Share of what such a card could do at most at its clock.
        of_most: Option<f64>,
    }

    /// What the driver said at a time.
    BenchReading {
        /// Seconds since the run began.
        at_s: f64,
        /// MHz.
        clock_mhz: Option<f64>,
        /// Degrees Celsius.
        temperature_c: Option<f64>,
        /// W.
        power_w: Option<f64>,
    }

    /// A window of the soak.
    SoakPoint {
        /// Seconds since it began.
        at_s: f64,
        /// Rate against the first window.
        rate: f64,
    }

    /// Takes over the key of vast.ai's own client, from `VAST_API_KEY` or its file.
    ImportKey {
        /// A name for the account.
        name: String,
        /// Keep it in this process alone instead of the keychain.
        session_only: bool,
    }

    /// A vast.ai account.
    AccountName {
        /// Its name.
        name: String,
    }

    /// A vast.ai account. Its key is never told.
    Account {
        /// The operator's name for it.
        name: String,
        /// Where its key is, or why it cannot be had.
        state: String,
    }

    /// Asks who was rented before a date: a new image reaches only those rented after it.
    RentedBefore {
        /// The date.
        #[ts(type = "string")]
        before: Timestamp,
    }

    /// Who was rented before a date.
    Rented {
        /// They, oldest first.
        instances: Vec<RentedView>,
        /// Alive in all.
        alive: usize,
        /// Of those: it is not told when they were rented.
        not_told: usize,
    }

    /// When an instance was rented.
    RentedView {
        /// Its id.
        id: String,
        /// State.
        state: String,
        /// When.
        #[ts(type = "string")]
        rented_at: Timestamp,
        /// Image, as vast.ai's status names it.
        image: Option<String>,
        /// Flag.
        flag: Option<String>,
    }

    /// What the window's stream sends.
    Patch {
        /// Rises by one; a hole means that something was missed and all must be asked for anew.
        seq: u64,
        /// Names the watch: another one, over another fleet or the same, has another name. What was planned in one is void in the next.
        run: String,
        /// Everything but the instances.
        head: FleetView,
        /// Instances that are new or have changed.
        upsert: Vec<InstanceRow>,
        /// Instances that are gone.
        removed: Vec<String>,
        /// True where `upsert` is the whole fleet.
        whole: bool,
    }
}
