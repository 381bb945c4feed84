//! The fleet, its rows and sums, and what changes of it.

use dwell_fleet::Timestamp;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::ErrorCode;

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
        code: ErrorCode,
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
