// Made from crates/api by `cargo xtask bindings`. Not edited by hand.

import { call } from "../host";

export type Nothing = Record<symbol, never>;
export type FleetView = { 
/**
 * What is watched and how.
 */
watching: Watching, 
/**
 * The connection to the manager.
 */
connection: ConnectionView, 
/**
 * The time that the instances are told of, on the manager's clock; `null` before the first answer.
 */
as_of: string | null, 
/**
 * The time at which the answer arrived, on the operator's clock (simulated time in a simulation).
 */
received_at: string | null, 
/**
 * Age of that answer at `watching.now`, seconds; `null` before the first answer.
 */
age_s: number | null, 
/**
 * What is out of order with the whole fleet or with what can be seen of it, loudest first.
 */
conditions: Array<ConditionView>, 
/**
 * Sums and counts.
 */
summary: Summary, 
/**
 * When the manager's present run began, on its clock; `null` where not known.
 */
manager_started_at: string | null, 
/**
 * The instances, most pressing first.
 */
instances: Array<InstanceRow>, };
export type ConditionView = { 
/**
 * `fleet-written-off`, `manager-never-reached`, `manager-unreachable`, `vast-list-missing`, `vast-list-stale`,
 * `history-not-written`, `rows-unreadable` or `times-implausible`.
 */
kind: string, 
/**
 * `incident` (it costs money or proofs now), `blind` (it hides what is asked), `partial` or `passing`.
 */
severity: string, 
/**
 * While it stands, that nothing is seen does not mean that there is nothing.
 */
is_unknown: boolean, 
/**
 * Since when, on the manager's clock.
 */
since: string | null, 
/**
 * What is so, in one sentence.
 */
summary: string, 
/**
 * What was seen of it.
 */
evidence: Array<string>, 
/**
 * What it means for what is shown.
 */
meaning: string, 
/**
 * What to do, in order.
 */
next: Array<string>, 
/**
 * The instances that it is about, where it is about some.
 */
instances: Array<string>, 
/**
 * What those last cost, US dollars per hour; what was not told is left out.
 */
dollars_per_h: number | null, };
export type AcknowledgeRequest = { 
/**
 * Whose; none for all that were written off together.
 */
ids: Array<string>, 
/**
 * Why, in a person's words.
 */
text: string, };
export type Watching = { 
/**
 * Name that the operator gave, or the scenario's title.
 */
name: string, 
/**
 * The manager's address.
 */
address: string, 
/**
 * `live`, `simulated` or `drill`.
 */
mode: string, 
/**
 * What the simulator says of itself.
 */
simulated: string | null, 
/**
 * Seconds of fleet time in a real second; 1 for a live fleet.
 */
speed: number, 
/**
 * The fleet time at `at_real`: where the window's clock starts from.
 */
now: string, };
export type ConnectionView = { 
/**
 * `connecting`, `ok` or `failing`.
 */
state: string, 
/**
 * Latest failure.
 */
error: ConnectionError | null, 
/**
 * Last good answer, on the operator's clock.
 */
last_ok_at: string | null, 
/**
 * First failure since.
 */
failing_since: string | null, 
/**
 * Next try; `null` while asking, or when only the operator can change something.
 */
next_try_at: string | null, 
/**
 * Answers since this watch began.
 */
answered: number, 
/**
 * Failures to get one since this watch began.
 */
failed: number, 
/**
 * The manager's clock minus the operator's, seconds.
 */
clock_skew_s: number | null, 
/**
 * Age of the manager's copy of vast.ai's records at its latest answer, seconds; `null` before the first copy.
 */
vast_cache_age_s: number | null, 
/**
 * Rows of the latest answer that could not be used.
 */
rows_unusable: number, 
/**
 * Why the latest answer was set aside, if it was: `older-request` or `time-went-back`.
 */
set_aside: string | null, 
/**
 * Why the manager's own log could not be read, if it could not.
 */
manager_log_error: string | null, 
/**
 * Why history could not be written, if it could not.
 */
history_error: string | null, 
/**
 * Answers and log lines that are held in memory until history can be written.
 */
history_held: number, 
/**
 * Those that found no room there, and are lost.
 */
history_lost: number, 
/**
 * The SSH tunnel that the manager is reached through, where there is one.
 */
tunnel: TunnelView | null, };
export type TunnelView = { 
/**
 * Whom it goes through.
 */
target: string, 
/**
 * `opening`, `up` or `down`.
 */
state: string, 
/**
 * The port on 127.0.0.1 while it is up.
 */
port: number | null, 
/**
 * Why it is down.
 */
error: ConnectionError | null, 
/**
 * What helps, where something does.
 */
hint: string | null, };
export type ConnectionError = { 
/**
 * Stable kebab-case word.
 */
code: ErrorCode, 
/**
 * What happened.
 */
message: string, };
export type Summary = { 
/**
 * Proofs per hour of running instances that are not flagged, as their benchmarks measured them.
 */
benchmarked_proofs_per_h: number | null, 
/**
 * Those of them without a benchmark rate.
 */
rate_not_told: number, 
/**
 * Dollars per hour of running instances that are not flagged.
 */
proving_dollars_per_h: number | null, 
/**
 * Dollars per hour of instances on their way to running, or being destroyed, that are not flagged.
 */
waiting_dollars_per_h: number | null, 
/**
 * Dollars per hour of instances alive that are flagged as needing a person.
 */
stalled_dollars_per_h: number | null, 
/**
 * Dollars per hour of killed instances that vast.ai billed when the manager's list last told.
 */
leaking_dollars_per_h: number | null, 
/**
 * Dollars per hour, by their last price, of instances of which it is not known whether they are billed.
 */
unknown_dollars_per_h: number | null, 
/**
 * How many those are.
 */
billing_unknown: number, 
/**
 * Instances whose price was not told: the sums lack them.
 */
price_not_told: number, 
/**
 * All dollars over all proofs.
 */
dollars_per_proof: number | null, 
/**
 * Instances in each state.
 */
states: Array<StateCount>, 
/**
 * Instances with each flag, most pressing first.
 */
flags: Array<FlagCount>, 
/**
 * Machines that the manager destroys instances on.
 */
bad_hosts: number, };
export type StateCount = { 
/**
 * The manager's name of it.
 */
state: string, 
/**
 * How many.
 */
count: number, };
export type FlagCount = { 
/**
 * The kind.
 */
kind: string, 
/**
 * How many.
 */
count: number, };
export type InstanceRow = { 
/**
 * The manager's id, or `vast-<number>` before it has registered.
 */
id: string, 
/**
 * The manager's id.
 */
uuid: string | null, 
/**
 * vast.ai's number.
 */
vast_id: number | null, 
/**
 * vast.ai's label.
 */
label: string | null, 
/**
 * What it last said.
 */
state: string, 
/**
 * When it entered that state, on the manager's clock.
 */
entered_at: string, 
/**
 * Time in that state at `observed_at`, seconds; `null` where the clocks make no sense.
 */
dwell_s: number | null, 
/**
 * Where `entered_at` comes from: `manager`, `vast_start`, `observed`, `bench_done` or `first_sight`.
 */
dwell_basis: string, 
/**
 * By how many seconds at most the true entry is earlier (`observed`).
 */
dwell_earlier_by_s: number, 
/**
 * How long it usually takes; `null` in states that nobody waits to leave.
 */
expectation: ExpectationView | null, 
/**
 * Why it deserves a look.
 */
flag: FlagView | null, 
/**
 * One line where there is no flag.
 */
note: string, 
/**
 * What the manager will do to it by its timers.
 */
countdown: CountdownView | null, 
/**
 * Still in the manager's answers.
 */
listed: boolean, 
/**
 * Card model.
 */
gpu_name: string | null, 
/**
 * Cards.
 */
num_gpus: number | null, 
/**
 * Physical machine.
 */
machine_id: number | null, 
/**
 * Where it stands.
 */
geolocation: string | null, 
/**
 * Image reference.
 */
image: string | null, 
/**
 * Proofs per hour in its benchmark.
 */
bench_rate_proofs_per_h: number | null, 
/**
 * Price, dollars per hour.
 */
dollars_per_h: number | null, 
/**
 * Price over benchmark rate, dollars.
 */
dollars_per_proof: number | null, 
/**
 * GPU load, percent.
 */
gpu_util_percent: number | null, 
/**
 * GPU temperature, degrees Celsius.
 */
gpu_temp_c: number | null, 
/**
 * When vast.ai's record was read.
 */
gauges_at: string | null, 
/**
 * Lines in the manager's buffer.
 */
log_lines: number | null, 
/**
 * Newest line ever received.
 */
log_newest_at: string | null, 
/**
 * Health of its log channel: `working`, `quiet`, `blind` or `not-asked`.
 */
log_health: string, 
/**
 * The manager's reason for killing it.
 */
kill_reason: string | null, 
/**
 * The answer that told all this, on the manager's clock.
 */
observed_at: string, };
export type ExpectationView = { 
/**
 * Half of those that go on have gone on by then, seconds.
 */
usual_s: number, 
/**
 * 95 % of them, seconds.
 */
late_from_s: number, 
/**
 * Longer than this its kind has never needed, seconds.
 */
limit_s: number, 
/**
 * `history` or `prior`.
 */
basis: string, 
/**
 * The group compared with, or where the prior comes from.
 */
of: string, 
/**
 * Completed stays behind it.
 */
stays: number, };
export type FlagView = { 
/**
 * `leaking`, `stalled`, `contradicted`, `gone`, `invisible` or `slow`.
 */
kind: string, 
/**
 * Why, in one sentence.
 */
reason: string, 
/**
 * Since when it is true, on the manager's clock.
 */
since: string, 
/**
 * How sure that can be.
 */
certainty: string, 
/**
 * What would show progress.
 */
would_show: Array<string>, };
export type CountdownView = { 
/**
 * When it runs out, on the manager's clock.
 */
at: string, 
/**
 * What happens then.
 */
what: string, };
export type Patch = { 
/**
 * Rises by one; a hole means that something was missed and all must be asked for anew.
 */
seq: number, 
/**
 * Names the watch: another one, over another fleet or the same, has another name. What was planned in one is void in the next.
 */
run: string, 
/**
 * Everything but the instances.
 */
head: FleetView, 
/**
 * Instances that are new or have changed.
 */
upsert: Array<InstanceRow>, 
/**
 * Instances that are gone.
 */
removed: Array<string>, 
/**
 * True where `upsert` is the whole fleet.
 */
whole: boolean, };
export type InstanceRequest = { 
/**
 * Its id, a unique prefix of it, its vast.ai number or its label.
 */
id: string, };
export type InstancePage = { 
/**
 * Its row.
 */
row: InstanceRow, 
/**
 * What it is, field by field.
 */
facts: Array<Fact>, 
/**
 * Its life, oldest first.
 */
life: Array<LifeEntry>, 
/**
 * Readings of its gauges, oldest first.
 */
gauges: Array<GaugeView>, 
/**
 * Flags it has carried, newest first.
 */
flags: Array<PastFlag>, 
/**
 * What was looked at.
 */
evidence: Array<EvidenceView>, 
/**
 * Known words in its log and in vast.ai's status, newest first.
 */
said: Array<SaidView>, 
/**
 * What its silence can and cannot mean, where its log is silent.
 */
silence: SilenceView | null, 
/**
 * Times without answers from the manager.
 */
gaps: Array<GapView>, 
/**
 * First answer that listed it.
 */
first_seen_at: string, 
/**
 * What was asked on purpose, the latest answer of each channel.
 */
looks: Array<LookView>, 
/**
 * The machine itself, where it was looked at.
 */
machine: MachinePanel | null, 
/**
 * The prover, where it was asked.
 */
prover: ProverPanel | null, };
export type LookView = { 
/**
 * Channel.
 */
channel: string, 
/**
 * What it is.
 */
title: string, 
/**
 * When it was asked, on the manager's clock.
 */
at: string, 
/**
 * What came, in a sentence.
 */
summary: string, };
export type MachinePanel = { 
/**
 * When it was looked at, on the manager's clock.
 */
at: string, 
/**
 * How far the connection got.
 */
reach: string, 
/**
 * Single values; `null` where the machine did not show them.
 */
facts: Array<Fact>, 
/**
 * Processes; `null` where they were not shown.
 */
processes: Array<ProcessRow> | null, 
/**
 * What `nvidia-smi` came to where it showed no cards; `null` where it did, or was not shown.
 */
smi: string | null, 
/**
 * Cards.
 */
cards: Array<CardRow>, 
/**
 * Log files, with their newest lines; `null` where they were not shown.
 */
files: Array<FileRow> | null, 
/**
 * What has ended, newest first.
 */
exits: Array<string>, 
/**
 * Kernel log lines about cards and memory, newest last; `null` where it may not be read: that is no sign of health.
 */
kernel: Array<string> | null, 
/**
 * What listens.
 */
sockets: Array<string> | null, };
export type ProcessRow = { 
/**
 * Id.
 */
pid: number, 
/**
 * Program.
 */
program: string, 
/**
 * `R`, `S`, `D`, `Z`.
 */
state: string, 
/**
 * When it started; `null` where that is not told.
 */
started_at: string | null, 
/**
 * Load, percent of one core.
 */
cpu_percent: number | null, 
/**
 * Resident memory, GiB.
 */
memory_gib: number | null, };
export type CardRow = { 
/**
 * Model.
 */
name: string, 
/**
 * Percent.
 */
load_percent: number | null, 
/**
 * Degrees Celsius.
 */
temperature_c: number | null, 
/**
 * MiB used.
 */
memory_used_mib: number | null, 
/**
 * MiB in all.
 */
memory_mib: number | null, 
/**
 * Why the clocks are low, where they are.
 */
throttled: string | null, 
/**
 * Lanes of the bus now.
 */
bus_width: number | null, };
export type FileRow = { 
/**
 * The source that the shipper would name.
 */
source: string, 
/**
 * Path.
 */
path: string, 
/**
 * Bytes.
 */
bytes: number | null, 
/**
 * Last written.
 */
modified_at: string | null, 
/**
 * Its newest lines.
 */
tail: Array<string>, };
export type ProverPanel = { 
/**
 * When it was asked, on the manager's clock.
 */
at: string, 
/**
 * Whether a status came.
 */
answered: boolean, 
/**
 * What came, in a sentence.
 */
answer: string, 
/**
 * Proofs completed since its start; `null` where that is not told.
 */
completed: number | null, 
/**
 * Proofs that failed once assembled, since its start; `null` where that is not told.
 */
failed: number | null, 
/**
 * Requests that wait; `null` where that is not told.
 */
waiting: number | null, 
/**
 * Its numbers, and how each misleads.
 */
rows: Array<ProverRow>, 
/**
 * Proofs in work.
 */
proofs: Array<ProofRow>, 
/**
 * Workers.
 */
workers: Array<WorkerRow>, };
export type ProverRow = { 
/**
 * What.
 */
name: string, 
/**
 * As text, with its unit; `null` where it was not told.
 */
value: string | null, 
/**
 * What it does not mean.
 */
misleads: string, };
export type ProofRow = { 
/**
 * Number, as the prover names it.
 */
job: string, 
/**
 * Kind.
 */
kind: string, 
/**
 * Partitions done.
 */
done: number, 
/**
 * Partitions in all.
 */
of: number | null, 
/**
 * How many partitions are in which state.
 */
states: string, };
export type WorkerRow = { 
/**
 * Number of the card.
 */
card: number | null, 
/**
 * `idle`, `proving`.
 */
state: string, 
/**
 * At its partition, seconds.
 */
busy_s: number | null, };
export type RawAnswers = { 
/**
 * Newest first.
 */
answers: Array<RawAnswerView>, };
export type RawAnswerView = { 
/**
 * Channel.
 */
channel: string, 
/**
 * What it is.
 */
title: string, 
/**
 * When it was asked, on the manager's clock.
 */
at: string, 
/**
 * As it came; keys and the like are left out.
 */
text: string, 
/**
 * Bytes that were cut off its end.
 */
cut_bytes: number, };
export type Fact = { 
/**
 * What.
 */
name: string, 
/**
 * As text, with its unit; `null` where no source told it.
 */
value: string | null, 
/**
 * The field that told it.
 */
source: string, };
export type LifeEntry = { 
/**
 * The state.
 */
state: string, 
/**
 * The one before.
 */
from: string | null, 
/**
 * When, on the manager's clock.
 */
at: string, 
/**
 * Where the time comes from.
 */
basis: string, 
/**
 * By how many seconds at most it is earlier.
 */
earlier_by_s: number, 
/**
 * What kind of change.
 */
kind: string, 
/**
 * How long it stayed, seconds; `null` for the present state.
 */
stayed_s: number | null, };
export type GaugeView = { 
/**
 * When.
 */
at: string, 
/**
 * GPU load, percent.
 */
gpu_util_percent: number | null, 
/**
 * GPU temperature, degrees Celsius.
 */
gpu_temp_c: number | null, 
/**
 * Lines in the manager's buffer.
 */
log_lines: number | null, };
export type PastFlag = { 
/**
 * The kind.
 */
kind: string, 
/**
 * Since when it was true.
 */
since: string, 
/**
 * When Dwell raised it.
 */
raised_at: string, 
/**
 * When it was cleared.
 */
cleared_at: string | null, 
/**
 * Why.
 */
reason: string, };
export type EvidenceView = { 
/**
 * Where.
 */
channel: string, 
/**
 * `working`, `quiet`, `blind`, `not-asked` or `unreachable`.
 */
health: string, 
/**
 * What.
 */
text: string, 
/**
 * When it was last true.
 */
at: string | null, };
export type SaidView = { 
/**
 * Stable kebab-case id of the signature.
 */
id: string, 
/**
 * What it means: what was written, not what is wrong.
 */
meaning: string, 
/**
 * Causes in the catalogue that write it.
 */
causes: Array<string>, 
/**
 * `manager-instance-log`, `manager-log` or `vast-record`.
 */
channel: string, 
/**
 * Log source; empty for vast.ai's status.
 */
source: string, 
/**
 * The newest such line; hostile text, cut to 400 characters.
 */
line: string, 
/**
 * When it arrived.
 */
at: string, 
/**
 * When the first of those looked at did.
 */
first_at: string, 
/**
 * How many were among the lines looked at.
 */
count: number, };
export type SilenceView = { 
/**
 * What was seen.
 */
seen: string, 
/**
 * What it can mean.
 */
can_mean: Array<string>, 
/**
 * What it does not show.
 */
cannot_mean: Array<string>, };
export type GapView = { 
/**
 * Last answer before.
 */
from: string, 
/**
 * First answer after.
 */
to: string, };
export type Incidents = { 
/**
 * Incidents, most pressing first.
 */
incidents: Array<IncidentView>, 
/**
 * Flagged instances whose trouble was closed by a person.
 */
closed: number, 
/**
 * What is out of order with the whole fleet or with what can be seen of it, loudest first.
 */
conditions: Array<ConditionView>, 
/**
 * The manager's time that this is told of.
 */
as_of: string | null, };
export type IncidentView = { 
/**
 * Stable as long as its first instance is in it.
 */
id: string, 
/**
 * Verdict that they share.
 */
verdict: string, 
/**
 * State that they share.
 */
state: string, 
/**
 * In one sentence.
 */
sentence: string, 
/**
 * Since when the first of them is so.
 */
since: string, 
/**
 * Who.
 */
instances: Array<IncidentMember>, 
/**
 * Causes that lead for them, by title.
 */
causes: Array<string>, 
/**
 * What they cost together, US dollars per hour; what was not told is left out.
 */
dollars_per_h: number | null, 
/**
 * What is to be looked at next.
 */
next_check: string | null, 
/**
 * What they share that others do not, in a sentence; `null` where nothing is clear.
 */
shared: string | null, };
export type IncidentMember = { 
/**
 * Its id.
 */
id: string, 
/**
 * Card model.
 */
gpu_name: string | null, 
/**
 * Why it is flagged.
 */
reason: string, 
/**
 * Since when, on the manager's clock.
 */
since: string, };
export type DiagnosisPage = { 
/**
 * Its row.
 */
row: InstanceRow, 
/**
 * Verdict: the flag's kind, else `healthy`, or `gone` where it was killed.
 */
verdict: string, 
/**
 * The verdict with what is likely behind it, in one or two sentences.
 */
sentence: string, 
/**
 * When it was worked out, on the manager's clock.
 */
at: string, 
/**
 * Contradictions, and what is about to be lost.
 */
findings: Array<FindingView>, 
/**
 * Causes, most probable first; those of one group are not told apart by what was seen.
 */
groups: Array<CauseGroup>, 
/**
 * Causes that are unlikely or excluded.
 */
unlikely: Array<CauseRank>, 
/**
 * Two causes at once, where they explain much more than one.
 */
pair: PairView | null, 
/**
 * Independent channels that have spoken.
 */
channels_heard: number, 
/**
 * No cause was given more than this, 0 to 1.
 */
ceiling: number, 
/**
 * What was seen, fact by fact.
 */
observations: Array<ObservationView>, 
/**
 * The channels, each with whether it could have spoken.
 */
channels: Array<ChannelView>, 
/**
 * What to look at next, most telling first.
 */
next_checks: Array<CheckView>, 
/**
 * What to do by what is thought now.
 */
act: string | null, 
/**
 * The comparison with instances that are well.
 */
cohort: CohortView, 
/**
 * Notes, looks and closings, oldest first.
 */
notes: Array<NoteView>, 
/**
 * Other instances that were closed with one of the leading causes.
 */
seen_before: Array<SeenBeforeView>, 
/**
 * Its trouble was closed since it was flagged.
 */
closed: boolean, };
export type FindingView = { 
/**
 * Stable id.
 */
id: string, 
/**
 * `stop` (it costs money or destroys evidence now) or `find-out`.
 */
lane: string, 
/**
 * What does not fit together.
 */
text: string, 
/**
 * US dollars per hour.
 */
dollars_per_h: number | null, 
/**
 * Since when, or when it will be.
 */
at: string | null, 
/**
 * The field or line that shows it.
 */
reference: string, };
export type CauseGroup = { 
/**
 * They, by how common they are.
 */
causes: Array<CauseRank>, 
/**
 * Looks that would tell them apart, best first.
 */
told_apart_by: Array<string>, };
export type CauseRank = { 
/**
 * Id in the catalogue.
 */
id: string, 
/**
 * In a few words.
 */
title: string, 
/**
 * `confirmed`, `likely`, `possible`, `unlikely` or `excluded`.
 */
standing: string, 
/**
 * Posterior probability, 0 to 1. Calibrated in drills only.
 */
probability: number, 
/**
 * What the observations add up to, in nats; how common the cause is comes on top.
 */
evidence: number, 
/**
 * `common`, `occasional` or `rare`.
 */
common: string, 
/**
 * What speaks for it, strongest first.
 */
for_it: Array<ContributionView>, 
/**
 * What speaks against it, strongest first.
 */
against_it: Array<ContributionView>, 
/**
 * What would prove it and was not seen.
 */
would_confirm: Array<string>, 
/**
 * What to do about it.
 */
remedy: string, };
export type ContributionView = { 
/**
 * Its place among the observations.
 */
observation: number, 
/**
 * In words.
 */
text: string, 
/**
 * Log-odds, nats, before its witness's cap.
 */
log_odds: number, };
export type PairView = { 
/**
 * Their ids.
 */
ids: Array<string>, 
/**
 * Their titles.
 */
titles: Array<string>, 
/**
 * What they explain beyond the best single one, nats.
 */
gain: number, };
export type ObservationView = { 
/**
 * Id of the fact.
 */
fact: string, 
/**
 * It holds.
 */
holds: boolean, 
/**
 * In words.
 */
text: string, 
/**
 * Where it was read.
 */
channel: string, 
/**
 * The time that it speaks of.
 */
at: string, 
/**
 * It is evidence for so long after that, seconds; `null` where it does not age.
 */
fresh_for_s: number | null, 
/**
 * The raw line or field.
 */
reference: string, 
/**
 * It is out of the ordinary.
 */
odd: boolean, };
export type ChannelView = { 
/**
 * Its id.
 */
channel: string, 
/**
 * Its name.
 */
title: string, 
/**
 * `working`, `quiet`, `blind`, `unreachable` or `not-asked`.
 */
health: string, 
/**
 * Why that is said.
 */
why: string, 
/**
 * When it was last read.
 */
at: string | null, 
/**
 * Facts that it gave.
 */
facts: number, 
/**
 * Read by itself; the others are asked when wanted.
 */
watched: boolean, };
export type CheckView = { 
/**
 * Its id.
 */
check: string, 
/**
 * As an imperative.
 */
title: string, 
/**
 * What it takes, seconds.
 */
seconds: number, 
/**
 * Uncertainty that it is expected to take away, nats.
 */
uncertainty: number, 
/**
 * Causes that it would tell apart: titles, a group each.
 */
separates: Array<Array<string>>, 
/**
 * Why it cannot be made from here, where it cannot.
 */
wanting: string | null, 
/**
 * How to do it by hand.
 */
by_hand: string, };
export type CohortView = { 
/**
 * Stuck.
 */
stuck: number, 
/**
 * Well: they passed the same state in the same time.
 */
well: number, 
/**
 * Values that were tried; p is corrected for as many.
 */
tried: number, 
/**
 * In one sentence.
 */
sentence: string, 
/**
 * What the stuck share, strongest first.
 */
shared: Array<SharedView>, 
/**
 * In what they differ: evidence against a cause there.
 */
differ_in: Array<string>, };
export type SharedView = { 
/**
 * e.g. `image`.
 */
attribute: string, 
/**
 * Its value.
 */
value: string, 
/**
 * Stuck with it.
 */
stuck_with: number, 
/**
 * Stuck without it.
 */
stuck_without: number, 
/**
 * Well with it.
 */
well_with: number, 
/**
 * Well without it.
 */
well_without: number, 
/**
 * One-sided p of Fisher's exact test.
 */
p: number, 
/**
 * Smallest p that these counts could reach.
 */
p_least: number, 
/**
 * p corrected for the values tried.
 */
p_corrected: number, 
/**
 * Share of the stuck that have it less that of the well.
 */
effect: number, 
/**
 * `no-contrast`, `weak`, `clear` or `strong`.
 */
strength: string, 
/**
 * What divides the same instances in the same way.
 */
confounded_with: Array<string>, };
export type NoteView = { 
/**
 * When.
 */
at: string, 
/**
 * `note`, `look` or `close`.
 */
kind: string, 
/**
 * Its text.
 */
text: string, 
/**
 * Of a closing: the cause.
 */
cause: string | null, };
export type SeenBeforeView = { 
/**
 * Whose.
 */
id: string, 
/**
 * When.
 */
at: string, 
/**
 * The cause.
 */
cause: string, 
/**
 * What was written.
 */
text: string, 
/**
 * Card then.
 */
gpu: string | null, 
/**
 * Machine then.
 */
machine: number | null, };
export type LookRequest = { 
/**
 * Whose.
 */
id: string, 
/**
 * Which.
 */
check: string, };
export type NoteRequest = { 
/**
 * Whose.
 */
id: string, 
/**
 * What.
 */
text: string, };
export type CloseRequest = { 
/**
 * Whose.
 */
id: string, 
/**
 * The cause: an id of the catalogue, `not-stuck-yet`, or `not-in-the-catalogue`.
 */
cause: string, 
/**
 * Why, in words.
 */
text: string, };
export type CauseRequest = { 
/**
 * Its id.
 */
id: string, };
export type Causes = { 
/**
 * Its causes, by place.
 */
causes: Array<CauseInfo>, };
export type CauseInfo = { 
/**
 * Its id.
 */
id: string, 
/**
 * In a few words.
 */
title: string, 
/**
 * It is ranked; the others explain what the manager's own page shows.
 */
ranked: boolean, };
export type CauseView = { 
/**
 * Its id.
 */
id: string, 
/**
 * In a few words.
 */
title: string, 
/**
 * What happens.
 */
what: string, 
/**
 * States it can hold an instance in; empty for every one.
 */
states: Array<string>, 
/**
 * `common`, `occasional` or `rare`.
 */
common: string, 
/**
 * What it shows, and how often.
 */
shows: Array<ShownView>, 
/**
 * What it never shows.
 */
never_shows: Array<string>, 
/**
 * Sets of facts that prove it.
 */
confirmed_by: Array<Array<string>>, 
/**
 * What it always shows: its absence speaks against it.
 */
excluded_by: Array<string>, 
/**
 * Kind of remedy.
 */
act: string, 
/**
 * The remedy.
 */
remedy: string, 
/**
 * Where it is known from.
 */
source: string, 
/**
 * It is ranked.
 */
ranked: boolean, };
export type ShownView = { 
/**
 * In words.
 */
text: string, 
/**
 * Channels that can show it.
 */
channels: Array<string>, 
/**
 * `always`, `usually`, `often`, `sometimes` or `seldom`.
 */
often: string, 
/**
 * As a share, 0 to 1. A judgement.
 */
share: number, 
/**
 * How often it is seen where nothing explains it.
 */
usual: number, };
export type ReportRequest = { 
/**
 * Instances.
 */
ids: Array<string>, 
/**
 * `markdown` or `html`.
 */
format: string, 
/**
 * Addresses and numbers of hosts are written out; otherwise they are left out.
 */
with_addresses: boolean, };
export type Report = { 
/**
 * A name for the file.
 */
file_name: string, 
/**
 * The text.
 */
text: string, };
export type Rule = { 
/**
 * Name.
 */
name: string, 
/**
 * Name of the fleet that it is for.
 */
fleet: string, 
/**
 * When this verdict holds: `stalled`, `invisible`, `contradicted`, `leaking`, `slow` or `gone`.
 */
verdict: string, 
/**
 * With this cause confirmed, and no other.
 */
cause: string, 
/**
 * For so long, seconds.
 */
for_s: number, 
/**
 * This is done: `kill`, `destroy`, `reboot` or `ban`.
 */
deed: string, 
/**
 * It is followed.
 */
on: boolean, 
/**
 * It only says in the journal what it would do.
 */
dry_run: boolean, 
/**
 * To so many within a day.
 */
per_day: number, 
/**
 * Whose prices add up to so much within a day, US dollars per hour.
 */
dollars_per_h_a_day: number, };
export type RuleName = { 
/**
 * Its name.
 */
name: string, };
export type Rules = { 
/**
 * They.
 */
rules: Array<RuleView>, };
export type RuleView = { 
/**
 * The rule.
 */
rule: Rule, 
/**
 * To so many.
 */
today: number, 
/**
 * Whose prices add up to so much, US dollars per hour.
 */
dollars_per_h_today: number, };
export type PlanRequest = { 
/**
 * `kill`, `destroy`, `stop`, `start`, `reboot`, `label`, `ban` or `unban`.
 */
deed: string, 
/**
 * Instances (ids, unique prefixes, vast.ai numbers or labels), rentals by number; of `unban` machines.
 */
ids: Array<string>, 
/**
 * The label; the reason of a ban.
 */
text: string | null, 
/**
 * Why, for the journal.
 */
why: string | null, };
export type PlanView = { 
/**
 * Carries it out, once, within two minutes; `null` where nothing can be done now.
 */
token: string | null, 
/**
 * What is done.
 */
deed: string, 
/**
 * In a sentence.
 */
sentence: string, 
/**
 * Each step.
 */
steps: Array<PlanStep>, 
/**
 * What it saves, US dollars per hour, as far as prices were told; negative: what it costs more.
 */
saves_dollars_per_h: number | null, 
/**
 * What is destroyed does not come back.
 */
destructive: boolean, 
/**
 * What has to be typed to confirm it; `null`: nothing.
 */
confirm_with: string | null, 
/**
 * The fleet is read-only: nothing can be carried out until that is switched off.
 */
read_only: boolean, };
export type PlanStep = { 
/**
 * To whom.
 */
id: string, 
/**
 * Where it is now, what it is.
 */
is_now: string, 
/**
 * What will happen.
 */
what: string, 
/**
 * What will be lost with it.
 */
lost: string | null, 
/**
 * What else it hits, where that is more than what it says.
 */
warning: string | null, 
/**
 * Why this step is left out; the others are not.
 */
refused: string | null, 
/**
 * Its price, US dollars per hour.
 */
dollars_per_h: number | null, 
/**
 * The account of vast.ai's that lists its rental and that the deed goes to; `null` where none does, or none is asked.
 */
account: string | null, };
export type CarryOut = { 
/**
 * Its token.
 */
token: string, 
/**
 * What was typed to confirm it.
 */
confirmation: string | null, 
/**
 * Why, for the journal, in place of what the plan was asked with. It changes nothing of the plan.
 */
why: string | null, };
export type AllowActing = { 
/**
 * Whether.
 */
allow: boolean, 
/**
 * For how long, seconds (60 to 14,400); 900 where not given. It is read-only again by itself.
 */
for_s: number | null, 
/**
 * Not write access: whether rules and `dwellctl` may act on it at any time. That is allowed only during write access.
 */
standing: boolean, };
export type Acts = { 
/**
 * The fleet that is watched may be acted on.
 */
may_act: boolean, 
/**
 * For how long still, seconds; `null` where it is read-only.
 */
write_access_left_s: number | null, 
/**
 * Rules and `dwellctl` may act on it at any time.
 */
standing: boolean, 
/**
 * Rules that act on it by themselves now: followed, not dry, and allowed to.
 */
rules_acting: number, 
/**
 * Deeds, newest first.
 */
acts: Array<ActView>, };
export type ActView = { 
/**
 * The plan that it is a step of.
 */
plan: string, 
/**
 * What.
 */
deed: string, 
/**
 * With which text.
 */
deed_text: string | null, 
/**
 * To whom.
 */
target: string, 
/**
 * The account of vast.ai's whose rental it is, where that was known.
 */
account: string | null, 
/**
 * Who had it done.
 */
who: string, 
/**
 * Why.
 */
why: string, 
/**
 * The fleet's manager.
 */
fleet: string, 
/**
 * It was a simulation.
 */
simulated: boolean, 
/**
 * `planned`, `sent`, `answered`, `unanswered`, `not-verified` (not yet), `refused`, `taken`, `verified` or `incident`.
 */
phase: string, 
/**
 * Nothing comes after it.
 */
done: boolean, 
/**
 * What happened last.
 */
text: string, 
/**
 * When it was planned.
 */
planned_at: string, 
/**
 * When what happened last did.
 */
at: string, 
/**
 * Every step.
 */
steps: Array<ActStep>, };
export type ActStep = { 
/**
 * When.
 */
at: string, 
/**
 * Which.
 */
phase: string, 
/**
 * What happened.
 */
text: string, };
export type EnvVar = { 
/**
 * Name.
 */
name: string, 
/**
 * Value, stored as it is; `null`: the keychain has it, under `env:NAME`. Refused where the name reads like a secret.
 */
value: string | null, };
export type RolloutRequest = { 
/**
 * So many new ones, in place of nobody.
 */
count: number, 
/**
 * Replaces these.
 */
ids: Array<string>, 
/**
 * Replaces everybody who was rented before then.
 */
rented_before: string | null, 
/**
 * Which offers.
 */
market: OffersRequest, 
/**
 * These alone.
 */
offer_ids: Array<number>, 
/**
 * Straight from vast.ai with this image; through the manager, with its own, where not given.
 */
image: string | null, 
/**
 * What the container runs at its start.
 */
onstart: string | null, 
/**
 * Its environment.
 */
env: Array<EnvVar>, 
/**
 * Proofs per hour below which the manager kills it.
 */
min_rate: number | null, 
/**
 * What a proof may cost, US dollars: the minimum rate of each follows from its price.
 */
dollars_per_proof_max: number | null, 
/**
 * New ones on their way at a time; 1 where not given.
 */
at_once: number | null, 
/**
 * What new ones may cost while what they replace is still there, US dollars per hour; of a deployment, all of them.
 */
extra_dollars_per_h: number, 
/**
 * Longest time until one runs, seconds; two and a half hours where not given, as long as the manager's own timers allow.
 */
running_within_s: number | null, 
/**
 * Hours that the credit has to last at the new price; 6 where not given.
 */
credit_lasts_h: number | null, 
/**
 * Why, for the journal.
 */
why: string | null, };
export type RolloutPlan = { 
/**
 * Begins it, once, within two minutes; `null` where it cannot be begun.
 */
token: string | null, 
/**
 * In a sentence.
 */
sentence: string, 
/**
 * Whom it replaces, oldest first.
 */
replaces: Array<PlanStep>, 
/**
 * The offers that would be taken now; they may be gone when their turn comes.
 */
offers: Array<OfferView>, 
/**
 * What these cost together, US dollars per hour, as far as prices were told.
 */
dollars_per_h: number | null, 
/**
 * What should be known before.
 */
notes: Array<string>, 
/**
 * Why it cannot be begun.
 */
refused: string | null, 
/**
 * What has to be typed to confirm it.
 */
confirm_with: string | null, 
/**
 * The fleet is read-only.
 */
read_only: boolean, };
export type RolloutName = { 
/**
 * Its name.
 */
name: string, };
export type Rollouts = { 
/**
 * They.
 */
rollouts: Array<RolloutView>, };
export type RolloutView = { 
/**
 * Name.
 */
name: string, 
/**
 * `deploy` or `replace`.
 */
kind: string, 
/**
 * `going`, `paused` or `ended`.
 */
state: string, 
/**
 * A process takes its steps; false where that one was ended and somebody has to resume it.
 */
alive: boolean, 
/**
 * Why it is in that state.
 */
says: string, 
/**
 * When it was asked for.
 */
at: string, 
/**
 * Why.
 */
why: string, 
/**
 * What new ones may cost while what they replace is still there, US dollars per hour.
 */
extra_dollars_per_h_max: number, 
/**
 * What they cost so: each what is billed, or what was offered where that is more or no bill is known yet.
 */
extra_dollars_per_h: number, 
/**
 * It was a simulation.
 */
simulated: boolean, 
/**
 * Each.
 */
items: Array<RolloutItemView>, };
export type RolloutItemView = { 
/**
 * Whom it replaces.
 */
old: string | null, 
/**
 * `waiting`, `ordering`, `coming`, `retiring`, `done`, `failed` or `left`.
 */
state: string, 
/**
 * Since when.
 */
at: string, 
/**
 * What happened last.
 */
text: string, 
/**
 * Label that it was ordered with.
 */
label: string | null, 
/**
 * Machine.
 */
machine_id: number | null, 
/**
 * vast.ai's number of the new one.
 */
vast_id: number | null, 
/**
 * Its price as it was offered, US dollars per hour.
 */
dollars_per_h: number | null, 
/**
 * What vast.ai bills for it, US dollars per hour; `null` where that is not known yet.
 */
billed_dollars_per_h: number | null, };
export type Needs = { 
/**
 * Memory of one card, GB: more than that.
 */
gpu_ram_gb: number | null, 
/**
 * Memory of the rented share of the host, GB.
 */
ram_gb: number | null, 
/**
 * Hardware threads: more than that.
 */
cpu_threads: number | null, 
/**
 * Download, Mbit/s: more than that.
 */
inet_down_mbps: number | null, 
/**
 * CUDA that its driver has to support.
 */
cuda: number | null, 
/**
 * Oldest driver, e.g. `570.133`.
 */
driver: string | null, 
/**
 * Compute capabilities that the image was built for, times 100: 860 is sm_86. Empty: all.
 */
compute_caps: Array<number>, };
export type OffersRequest = { 
/**
 * Filters in the language of vast.ai's own client, e.g. `gpu_name=RTX_4090 dph<=0.5`, instead of those that follow from
 * the needs.
 */
filter: string | null, 
/**
 * Card model.
 */
gpu: string | null, 
/**
 * Exactly so many cards.
 */
cards: number | null, 
/**
 * Highest price, US dollars per hour.
 */
dollars_per_h_max: number | null, 
/**
 * Disk, GB; the price includes it. 250 where not given.
 */
disk_gb: number | null, 
/**
 * What the image needs; what the manager itself asks for where not given.
 */
needs: Needs | null, 
/**
 * Offers that do not fit the needs are asked for as well, and told with why.
 */
all: boolean, 
/**
 * At most so many; 64 where not given.
 */
limit: number | null, };
export type OffersView = { 
/**
 * Who was asked: `vast.ai` or `manager`.
 */
source: string, 
/**
 * With which filters.
 */
filter: string, 
/**
 * Disk that the prices include, GB; `null` where the manager's own counts.
 */
disk_gb: number | null, 
/**
 * What the image needs.
 */
needs: Needs, 
/**
 * Those that can work, cheapest proofs first; then the others.
 */
offers: Array<OfferView>, 
/**
 * What could not be asked.
 */
notes: Array<string>, 
/**
 * When they were asked for, on the operator's clock.
 */
at: string, };
export type OfferView = { 
/**
 * Number to rent it by; good for minutes.
 */
id: number, 
/**
 * Machine.
 */
machine_id: number | null, 
/**
 * Host.
 */
host_id: number | null, 
/**
 * Card model.
 */
gpu_name: string | null, 
/**
 * Cards.
 */
num_gpus: number | null, 
/**
 * Memory of one card, GB.
 */
gpu_ram_gb: number | null, 
/**
 * Memory of the offered share of the host, GB.
 */
ram_gb: number | null, 
/**
 * Hardware threads.
 */
cpu_threads: number | null, 
/**
 * Copies to the card as vast.ai measured them, GB/s.
 */
pcie_gb_s: number | null, 
/**
 * Download, Mbit/s.
 */
inet_down_mbps: number | null, 
/**
 * Newest CUDA that its driver supports.
 */
cuda_max: number | null, 
/**
 * Compute capability times 100.
 */
compute_cap: number | null, 
/**
 * Driver.
 */
driver_version: string | null, 
/**
 * Place.
 */
geolocation: string | null, 
/**
 * Price, US dollars per hour.
 */
dollars_per_h: number | null, 
/**
 * Time left for which it is offered, seconds.
 */
lasts_s: number | null, 
/**
 * Share of time that it was up, 0 to 1.
 */
reliability: number | null, 
/**
 * What it would prove, proofs per hour.
 */
proofs_per_h: number | null, 
/**
 * From.
 */
proofs_per_h_least: number | null, 
/**
 * To.
 */
proofs_per_h_most: number | null, 
/**
 * What that rests on: `machine`, `same-cards` or `model`.
 */
basis: string | null, 
/**
 * The same in words.
 */
basis_words: string | null, 
/**
 * What limits it, by the model.
 */
limited_by: string | null, 
/**
 * Price of a proof, US dollars.
 */
dollars_per_proof: number | null, 
/**
 * Median time from the rental to `running`, seconds; the first proof itself is told by nobody.
 */
until_running_s: number | null, 
/**
 * What that rests on.
 */
until_running_of: string | null, 
/**
 * What the time until then costs, US dollars.
 */
dollars_before_running: number | null, 
/**
 * Rentals of this machine that were watched.
 */
rented_before: number, 
/**
 * Of these: proved.
 */
proved_before: number, 
/**
 * Of these: were flagged as stuck.
 */
stuck_before: number, 
/**
 * Why the manager's list of bad hosts has it.
 */
banned: string | null, 
/**
 * Why it cannot work; empty: nothing speaks against it.
 */
why_not: Array<string>, };
export type Accounts = { 
/**
 * They.
 */
accounts: Array<Account>, };
export type Rentals = { 
/**
 * When vast.ai was asked, on the operator's clock.
 */
at: string, 
/**
 * The accounts that were asked.
 */
accounts: Array<AccountRentals>, 
/**
 * Rentals, those that do not fit together first.
 */
rentals: Array<RentalView>, 
/**
 * Name of the fleet that they are joined with; `null` where none is watched.
 */
joined_with: string | null, 
/**
 * Rows that the manager counts as alive and no account lists; empty where not every account's list is whole.
 */
without_rental: Array<RowWithoutRental>, 
/**
 * Every account's list is whole: what is not among the rentals is in none of them.
 */
complete: boolean, };
export type AccountRentals = { 
/**
 * The operator's name for it.
 */
name: string, 
/**
 * vast.ai's number of it; `null` where not told.
 */
number: number | null, 
/**
 * Credit left, US dollars; `null` where not told.
 */
credit_dollars: number | null, 
/**
 * Rentals listed; `null` where the list was not given, or nothing of it could be read.
 */
rentals: number | null, 
/**
 * Rows of the list that could not be read: they are billed as well.
 */
rows_unreadable: number, 
/**
 * Rentals by vast.ai's own count.
 */
total: number | null, 
/**
 * Why the list is not known to be all; `null` where it is. Nothing follows from what an incomplete list has not.
 */
incomplete: string | null, 
/**
 * Their prices together, US dollars per hour, as far as told.
 */
dollars_per_h: number | null, 
/**
 * Rentals and prices are at least that: the list is incomplete, or a price was not told.
 */
at_least: boolean, 
/**
 * Hours that the credit lasts at that price; `null` where the price is not known whole.
 */
hours_left: number | null, 
/**
 * Why it was not listed.
 */
error: ApiError | null, };
export type RentalView = { 
/**
 * vast.ai's number.
 */
vast_id: number, 
/**
 * Account.
 */
account: string, 
/**
 * Status now, in vast.ai's words.
 */
status: string | null, 
/**
 * Status that is wanted.
 */
wanted: string | null, 
/**
 * What vast.ai says of it. Hostile text.
 */
says: string | null, 
/**
 * Card.
 */
gpu_name: string | null, 
/**
 * Image.
 */
image: string | null, 
/**
 * Label at vast.ai.
 */
label: string | null, 
/**
 * Price, US dollars per hour.
 */
dollars_per_h: number | null, 
/**
 * When it was rented.
 */
started_at: string | null, 
/**
 * When the rental ends.
 */
ends_at: string | null, 
/**
 * Load of the card, percent, as vast.ai has it.
 */
gpu_util_percent: number | null, 
/**
 * The manager's row of it.
 */
row: RowOfRental | null, 
/**
 * What does not fit together.
 */
odd: string | null, };
export type RowOfRental = { 
/**
 * Id of the instance.
 */
id: string, 
/**
 * Its state by the manager.
 */
state: string, 
/**
 * Its flag.
 */
flag: string | null, 
/**
 * What they were joined by: `number` or `label`.
 */
by: string, };
export type RowWithoutRental = { 
/**
 * Id of the instance.
 */
id: string, 
/**
 * Its state by the manager.
 */
state: string, 
/**
 * vast.ai's number, by the manager.
 */
vast_id: number | null, };
export type ImportKey = { 
/**
 * A name for the account.
 */
name: string, 
/**
 * Keep it in this process alone instead of the keychain.
 */
session_only: boolean, };
export type AccountName = { 
/**
 * Its name.
 */
name: string, };
export type Account = { 
/**
 * The operator's name for it.
 */
name: string, 
/**
 * Where its key is, or why it cannot be had.
 */
state: string, };
export type RentedBefore = { 
/**
 * The date.
 */
before: string, };
export type Rented = { 
/**
 * They, oldest first.
 */
instances: Array<RentedView>, 
/**
 * Alive in all.
 */
alive: number, 
/**
 * Of those: it is not told when they were rented.
 */
not_told: number, };
export type RentedView = { 
/**
 * Its id.
 */
id: string, 
/**
 * State.
 */
state: string, 
/**
 * When.
 */
rented_at: string, 
/**
 * Image, as vast.ai's status names it.
 */
image: string | null, 
/**
 * Flag.
 */
flag: string | null, };
export type LogRequest = { 
/**
 * The instance; `null` for the manager's own log.
 */
id: string | null, 
/**
 * Only this source.
 */
source: string | null, 
/**
 * Only lines kept after this one.
 */
after: number | null, 
/**
 * Only lines kept before this one.
 */
before: number | null, 
/**
 * Only lines that contain this text, letter case ignored.
 */
contains: string | null, 
/**
 * The newest so many, given oldest first; 1000 where not given, 10000 at most.
 */
limit: number | null, };
export type LogPage = { 
/**
 * The lines, oldest first.
 */
lines: Array<LogLineView>, 
/**
 * Sources with how many lines are kept of each.
 */
sources: Array<SourceCount>, 
/**
 * Start of the manager's present run: lines from before are gone from the manager.
 */
manager_started_at: string | null, 
/**
 * Known words in these lines, newest first; of the manager's own log only.
 */
said: Array<SaidView>, 
/**
 * What the silence means, where the log is silent.
 */
silence: SilenceView | null, 
/**
 * When the log was last read, on the manager's clock; `null` where it was not.
 */
read_at: string | null, };
export type LogLineView = { 
/**
 * Place in the archive.
 */
id: number, 
/**
 * Source.
 */
source: string, 
/**
 * Arrival at the manager, not the time of writing.
 */
at: string, 
/**
 * The line; hostile text, cut to 16 KiB.
 */
text: string, 
/**
 * Bytes cut off it.
 */
cut_bytes: number, 
/**
 * From before the manager's present run: only Dwell still has it.
 */
kept_from_before: boolean, 
/**
 * Lines may be missing just before it.
 */
after_gap: boolean, };
export type SourceCount = { 
/**
 * The source.
 */
source: string, 
/**
 * Lines kept.
 */
lines: number, };
export type SearchLogs = { 
/**
 * Whole words, all of them; `word*` for a beginning; in quotation marks as they are.
 */
words: string, 
/**
 * Only this instance's.
 */
instance: string | null, 
/**
 * Only this source.
 */
source: string | null, 
/**
 * Only from then on.
 */
since: string | null, 
/**
 * Only before then.
 */
until: string | null, 
/**
 * The next page: only what was kept before this line.
 */
before: number | null, 
/**
 * The newest so many; 200 where not given.
 */
limit: number | null, };
export type FoundLogs = { 
/**
 * They.
 */
lines: Array<FoundLog>, 
/**
 * Set where there is more: ask again with `before`.
 */
go_on_before: number | null, };
export type FoundLog = { 
/**
 * Place in the archive.
 */
id: number, 
/**
 * Whose; `null` for the manager's own log.
 */
instance: string | null, 
/**
 * Its source.
 */
source: string, 
/**
 * When, on the manager's clock.
 */
at: string, 
/**
 * The line.
 */
text: string, };
export type ExportHistory = { 
/**
 * `instances`, `transitions`, `gauges`, `benchmarks`, `flags` or `logs`.
 */
table: string, 
/**
 * `csv`, `json` (one object a line) or `parquet`.
 */
format: string, 
/**
 * From then on.
 */
since: string | null, 
/**
 * Before then.
 */
until: string | null, };
export type ExportedFile = { 
/**
 * Where it is.
 */
path: string, 
/**
 * Rows in it.
 */
rows: number, };
export type ChartList = { 
/**
 * Charts.
 */
charts: Array<ChartInfo>, 
/**
 * When the fleet was first watched, on the manager's clock.
 */
begins: string | null, 
/**
 * Bytes that history uses.
 */
history_bytes: number, };
export type ChartInfo = { 
/**
 * Its name.
 */
name: string, 
/**
 * Its title.
 */
title: string, 
/**
 * What it shows, and what its numbers rest on.
 */
about: string, 
/**
 * What it can be split by: `nothing`, `gpu`, `image`, `region`, `machine`; empty where it is not split.
 */
by: Array<string>, 
/**
 * It is of one state on the way to `running`.
 */
of_a_state: boolean, 
/**
 * It is of one instance.
 */
of_an_instance: boolean, };
export type ChartRequest = { 
/**
 * Its name.
 */
name: string, 
/**
 * Of the last so many seconds.
 */
last_s: number | null, 
/**
 * From then on, on the manager's clock; counts before `last_s`. Without either: all there is.
 */
since: string | null, 
/**
 * Until then; until now where not given.
 */
until: string | null, 
/**
 * What it is split by.
 */
by: string | null, 
/**
 * The state, for charts of a state; `params_done` where not given.
 */
state: string | null, 
/**
 * The instance, for charts of one.
 */
instance: string | null, 
/**
 * Pixels.
 */
width: number, 
/**
 * Pixels.
 */
height: number, 
/**
 * Light on dark.
 */
dark: boolean, };
export type ChartView = { 
/**
 * Its name.
 */
name: string, 
/**
 * Its title.
 */
title: string, 
/**
 * What it shows, in a sentence.
 */
sentence: string, 
/**
 * What its numbers rest on, and what they leave out.
 */
notes: Array<string>, 
/**
 * There is nothing to draw; `sentence` says why.
 */
empty: boolean, 
/**
 * The plot, as SVG.
 */
svg: string, 
/**
 * Where values are in it, panel by panel.
 */
plots: Array<PlotView>, 
/**
 * The x axis: `time` (seconds since the epoch), or a quantity.
 */
x_kind: string, 
/**
 * Least x.
 */
x_from: number, 
/**
 * Greatest x.
 */
x_to: number, 
/**
 * The time that is shown.
 */
since: string, 
/**
 * Its end.
 */
until: string, 
/**
 * Names with their colours.
 */
legend: Array<LegendEntry>, 
/**
 * Names of the numbers of a reading.
 */
columns: Array<string>, 
/**
 * The numbers, in order of x (of y where `readings_down`).
 */
readings: Array<Reading>, 
/**
 * Readings are one below the other: rows of a chart of groups.
 */
readings_down: boolean, 
/**
 * A reading can be asked who is behind it.
 */
has_behind: boolean, };
export type PlotView = { 
/**
 * Left edge.
 */
left: number, 
/**
 * Upper edge.
 */
top: number, 
/**
 * Width.
 */
width: number, 
/**
 * Height.
 */
height: number, };
export type LegendEntry = { 
/**
 * Name.
 */
name: string, 
/**
 * `#rrggbb`.
 */
colour: string, };
export type Reading = { 
/**
 * Where it begins, on the axis that it is along.
 */
from: number, 
/**
 * Where it ends.
 */
to: number, 
/**
 * What it is of: a time, a group.
 */
label: string, 
/**
 * Numbers with their units, as in `columns`; a dash where it is not known.
 */
cells: Array<string>, };
export type ChartBehind = { 
/**
 * The chart.
 */
chart: ChartRequest, 
/**
 * Where the reading begins.
 */
from: number, 
/**
 * Where it ends.
 */
to: number, 
/**
 * Only this group.
 */
group: string | null, };
export type Behind = { 
/**
 * Instances, at most 200.
 */
instances: Array<BehindRow>, 
/**
 * How many there are in all.
 */
all: number, };
export type BehindRow = { 
/**
 * Its id.
 */
id: string, 
/**
 * Card model with its count.
 */
gpu: string | null, 
/**
 * Machine.
 */
machine: string | null, 
/**
 * Place.
 */
region: string | null, 
/**
 * What it was or did then.
 */
was: string, };
export type SaveChart = { 
/**
 * Which.
 */
chart: ChartRequest, 
/**
 * `svg`, `png`, `csv` or `json`.
 */
format: string, };
export type HistorySummary = { 
/**
 * From then on.
 */
since: string, 
/**
 * Until then.
 */
until: string, 
/**
 * Seconds of it in which the fleet was watched and answered; means are over these.
 */
watched_s: number, 
/**
 * What it is split by.
 */
by: string, 
/**
 * Groups, most dollars first.
 */
groups: Array<SummaryRow>, };
export type SummaryRow = { 
/**
 * Its name.
 */
group: string, 
/**
 * Instances that were there at any time.
 */
instances: number, 
/**
 * Mean of what the running ones make by their own benchmarks; `null` where none was told.
 */
proofs_per_h: number | null, 
/**
 * Mean US dollars per hour; `null` where no price was told.
 */
dollars_per_h: number | null, 
/**
 * Of these, on the way to running.
 */
waiting_dollars_per_h: number | null, 
/**
 * All dollars over all proofs.
 */
dollars_per_proof: number | null, 
/**
 * Half of the rentals that began in this time were running after so many seconds.
 */
until_running_median_s: number | null, 
/**
 * Rentals that began in this time.
 */
rented: number, 
/**
 * Of these, running at any time.
 */
got_running: number, 
/**
 * Killed in this time.
 */
killed: number, 
/**
 * Instances whose price or benchmark rate was not told: the sums are too low by these.
 */
not_told: number, };
export type BenchCards = { 
/**
 * Cards of this machine.
 */
real: number, 
/**
 * Why there are none, where there are none.
 */
problem: string | null, 
/**
 * Simulated ones.
 */
simulated: Array<SimulatedCard>, };
export type SimulatedCard = { 
/**
 * Its name.
 */
name: string, 
/**
 * What it is.
 */
title: string, };
export type StartBench = { 
/**
 * Cards of this machine, by their numbers.
 */
devices: Array<number>, 
/**
 * Simulated cards, by their names.
 */
simulate: Array<string>, 
/**
 * At the same time instead of in turn.
 */
together: boolean, 
/**
 * `quick`, `full` or `soak`.
 */
depth: string, 
/**
 * How long it soaks, seconds.
 */
soak_s: number | null, };
export type BenchView = { 
/**
 * What is being done.
 */
running: BenchProgress | null, 
/**
 * The latest records of this session, a card each; empty while one is being made.
 */
records: Array<BenchRecord>, 
/**
 * What those cards prove together, where there are several.
 */
together: PredictionView | null, 
/**
 * Why the latest one could not begin.
 */
problem: ApiError | null, 
/**
 * Earlier records of cards of this machine, newest first; empty while one is being made.
 */
past: Array<PastBench>, };
export type BenchProgress = { 
/**
 * What is being done.
 */
what: string, 
/**
 * Steps done.
 */
done: number, 
/**
 * Steps in all.
 */
of: number, 
/**
 * What the driver has said so far of the card that spoke last.
 */
readings: Array<BenchReading>, };
export type PastBench = { 
/**
 * When, on the operator's clock.
 */
at: string, 
/**
 * The card.
 */
card: string, 
/**
 * Its own number, where it was told.
 */
uuid: string | null, 
/**
 * Sum over the kernels: other kernels, other figures.
 */
kernels: string, 
/**
 * Proofs per hour that were predicted.
 */
proofs_per_h: number | null, 
/**
 * Pinned copies to the card, bytes per second.
 */
pinned_bytes_s: number | null, 
/**
 * Products in the base field per second.
 */
products_s: number | null, 
/**
 * Gravest verdict, where there was one.
 */
verdict: string | null, };
export type SaveBench = { 
/**
 * Which of the latest records.
 */
place: number, 
/**
 * `png`, `svg`, `markdown` or `json`.
 */
form: string, 
/**
 * `light` or `dark`, for pictures.
 */
theme: string, };
export type SavedFile = { 
/**
 * Where.
 */
path: string, };
export type BenchRecord = { 
/**
 * When it ended, on the operator's clock.
 */
at: string, 
/**
 * The card.
 */
card: string, 
/**
 * Its own number, where it was told.
 */
uuid: string | null, 
/**
 * It is simulated.
 */
simulated: boolean, 
/**
 * Version of the driver.
 */
driver: string | null, 
/**
 * It was broken off.
 */
cancelled: boolean, 
/**
 * Sum over the kernels: other kernels, other figures.
 */
kernels: string, 
/**
 * Proofs per hour.
 */
prediction: PredictionView | null, 
/**
 * What the operator's machines with such cards have proved.
 */
fleet: EstimateView | null, 
/**
 * What is thought of the card, gravest first.
 */
verdicts: Array<VerdictView>, 
/**
 * Figures.
 */
measured: Array<MeasuredView>, 
/**
 * Published figures of the same model beside its own.
 */
published: Array<ComparedView>, 
/**
 * What the driver said meanwhile.
 */
readings: Array<BenchReading>, 
/**
 * The soak.
 */
soak: Array<SoakPoint>, 
/**
 * All of it as JSON, to keep or to compare.
 */
json: string, };
export type EstimateView = { 
/**
 * Best estimate.
 */
proofs_per_h: number, 
/**
 * From.
 */
least: number, 
/**
 * To.
 */
most: number, 
/**
 * What it rests on, in words.
 */
basis: string, 
/**
 * Benchmarks that it rests on.
 */
benchmarks: number, };
export type ComparedView = { 
/**
 * The test.
 */
title: string, 
/**
 * Seconds here.
 */
seconds: number, 
/**
 * Seconds as published.
 */
published_s: number, 
/**
 * How fast this is against it.
 */
ratio: number, 
/**
 * By what.
 */
by: string, 
/**
 * Where it is from.
 */
source: string, };
export type PredictionView = { 
/**
 * Best estimate.
 */
proofs_per_h: number, 
/**
 * From.
 */
least: number, 
/**
 * To.
 */
most: number, 
/**
 * What limits.
 */
limit: string, 
/**
 * Seconds a proof for each part, slowest first.
 */
parts: Array<PredictionPart>, 
/**
 * What was not told, and is not in it.
 */
left_out: Array<string>, };
export type PredictionPart = { 
/**
 * What.
 */
what: string, 
/**
 * Seconds a proof, were it alone in the way.
 */
seconds: number, };
export type VerdictView = { 
/**
 * A stable word.
 */
code: string, 
/**
 * `note`, `warning` or `bad`.
 */
gravity: string, 
/**
 * In a sentence.
 */
text: string, };
export type MeasuredView = { 
/**
 * The test.
 */
title: string, 
/**
 * Unit of the rates.
 */
unit: string, 
/**
 * Median rate.
 */
median: number, 
/**
 * Median rate with its unit.
 */
shown: string, 
/**
 * Rates that a tenth of the runs was below, and above, with their unit.
 */
range: string, 
/**
 * Runs.
 */
runs: number, 
/**
 * Standard deviation of a run, percent.
 */
spread_percent: number, 
/**
 * Looks at the driver meanwhile.
 */
looks: number, 
/**
 * Those that found the clocks held back by heat or by the hardware.
 */
held_back: number, 
/**
 * Share of what such a card could do at most at its clock.
 */
of_most: number | null, };
export type BenchReading = { 
/**
 * Seconds since the run began.
 */
at_s: number, 
/**
 * MHz.
 */
clock_mhz: number | null, 
/**
 * Degrees Celsius.
 */
temperature_c: number | null, 
/**
 * W.
 */
power_w: number | null, };
export type SoakPoint = { 
/**
 * Seconds since it began.
 */
at_s: number, 
/**
 * Rate against the first window.
 */
rate: number, };
export type Drills = { 
/**
 * What can be played, by group and title.
 */
drills: Array<DrillInfo>, 
/**
 * What was played, newest first.
 */
past: Array<PastDrill>, };
export type DrillInfo = { 
/**
 * The scenario's name. It can give the truth away: not shown before the end.
 */
name: string, 
/**
 * What is seen, in one line.
 */
title: string, 
/**
 * `evening`, `several` or `one`.
 */
group: string, 
/**
 * How long it lasts, simulated seconds.
 */
duration_s: number, 
/**
 * How often it was played to its end.
 */
plays: number, 
/**
 * Best score, 0 to 100; `null` where it was not played.
 */
best_score: number | null, };
export type PastDrill = { 
/**
 * The scenario's name.
 */
scenario: string, 
/**
 * Its title.
 */
title: string, 
/**
 * The seed.
 */
seed: number, 
/**
 * When it ended.
 */
at: string, 
/**
 * Score, 0 to 100.
 */
score: number, 
/**
 * Instances whose cause was named rightly.
 */
right: number, 
/**
 * Instances with something to name.
 */
to_name: number, 
/**
 * What the delay cost, dollars.
 */
delay_dollars: number, };
export type StartDrill = { 
/**
 * The scenario; any where not given.
 */
scenario: string | null, 
/**
 * The seed; another every time where not given.
 */
seed: number | null, };
export type DrillView = { 
/**
 * What is seen, in one line.
 */
title: string, 
/**
 * Simulated time of the first screen.
 */
began_at: string, 
/**
 * Simulated time after which nothing more is to be learnt.
 */
ends_at: string, 
/**
 * What can be named.
 */
causes: Array<DrillCause>, 
/**
 * What was named so far; the latest answer about an instance counts.
 */
answers: Array<DrillAnswer>, 
/**
 * What was done so far.
 */
deeds: Array<DrillDeed>, 
/**
 * Once it has ended.
 */
debrief: Debrief | null, };
export type DrillCause = { 
/**
 * Its id.
 */
id: string, 
/**
 * Where it sits.
 */
place: string, 
/**
 * What is different then.
 */
what: string, };
export type AnswerDrill = { 
/**
 * The instance.
 */
id: string, 
/**
 * Id of a cause, or `nothing-wrong`.
 */
cause: string, };
export type DrillAnswer = { 
/**
 * The instance.
 */
id: string, 
/**
 * Id of a cause, or `nothing-wrong`.
 */
cause: string, 
/**
 * Simulated seconds after the first screen.
 */
at_s: number, };
export type DoInDrill = { 
/**
 * The instance.
 */
id: string, 
/**
 * `destroy` or `reboot`.
 */
deed: string, };
export type DrillDeed = { 
/**
 * The instance.
 */
id: string, 
/**
 * `destroy` or `reboot`.
 */
deed: string, 
/**
 * Simulated seconds after the first screen.
 */
at_s: number, };
export type Debrief = { 
/**
 * The scenario's name.
 */
scenario: string, 
/**
 * What it was about.
 */
summary: string, 
/**
 * The seed.
 */
seed: number, 
/**
 * Simulated time played, seconds.
 */
played_s: number, 
/**
 * Score, 0 to 100.
 */
score: number, 
/**
 * How the score comes about, one sentence a part.
 */
score_parts: Array<string>, 
/**
 * Instances whose cause was named rightly.
 */
right: number, 
/**
 * Instances with something to name.
 */
to_name: number, 
/**
 * What they cost from fault to answer, dollars.
 */
delay_dollars: number, 
/**
 * Every instance that was struck, answered or acted upon.
 */
instances: Array<DebriefInstance>, 
/**
 * What happened, oldest first.
 */
timeline: Array<DebriefEvent>, 
/**
 * What a perfect diagnosis would say and ask next.
 */
perfect: Array<string>, };
export type DebriefInstance = { 
/**
 * Its id.
 */
id: string, 
/**
 * Faults that struck it, each with what it does.
 */
truth: Array<DrillCause>, 
/**
 * What a perfect diagnosis says of it; `null` where the scenario says nothing.
 */
expected_verdict: string | null, 
/**
 * Causes that cannot be told apart from there.
 */
expected_causes: Array<string>, 
/**
 * What was named.
 */
answer: string | null, 
/**
 * `right`, `close` (not told apart from the truth), `wrong`, `missed` or `nothing-to-name`.
 */
outcome: string, 
/**
 * Simulated seconds after the first screen.
 */
fault_at_s: number | null, 
/**
 * Its first flag that asks for a person.
 */
flagged_at_s: number | null, 
/**
 * The answer that counts.
 */
answered_at_s: number | null, 
/**
 * What it cost from fault to answer or end, dollars.
 */
delay_dollars: number, 
/**
 * It was destroyed by the player.
 */
destroyed: boolean, };
export type DebriefEvent = { 
/**
 * Simulated seconds after the first screen.
 */
at_s: number, 
/**
 * `fault`, `flag`, `look`, `answer` or `deed`.
 */
kind: string, 
/**
 * The instance, where it is about one.
 */
id: string | null, 
/**
 * What.
 */
text: string, };
export type ConnectRequest = { 
/**
 * The manager's address.
 */
address: string, 
/**
 * A name for it; the address where not given.
 */
name: string | null, 
/**
 * Reached through SSH: `user@host`, or an entry of the SSH configuration. The address is then as seen from there.
 */
ssh: string | null, };
export type AllowProbe = { 
/**
 * Name of the saved fleet.
 */
name: string, 
/**
 * Allowed.
 */
allow: boolean, };
export type ProbeScriptRequest = { 
/**
 * On which instance; `null` for the script alone.
 */
id: string | null, };
export type ProbeScript = { 
/**
 * The script. It reads and writes nothing.
 */
script: string, 
/**
 * How it is run on one instance, as it can be pasted into a terminal; `null` where no address is known.
 */
by_hand: string | null, };
export type SimulateRequest = { 
/**
 * Scenario.
 */
scenario: string, 
/**
 * Seed; the scenario's own where not given.
 */
seed: number | null, 
/**
 * Speed; the scenario's own where not given.
 */
speed: number | null, };
export type FleetName = { 
/**
 * Its name.
 */
name: string, };
export type Fleets = { 
/**
 * They.
 */
saved: Array<SavedFleet>, 
/**
 * Name of the one that is watched.
 */
watching: string | null, 
/**
 * Name of the saved one that was chosen last: a terminal looks at it where none is named.
 */
last: string | null, 
/**
 * Why the one that was asked for at the start is not.
 */
problem: ApiError | null, };
export type SavedFleet = { 
/**
 * Name.
 */
name: string, 
/**
 * The manager's address.
 */
address: string, 
/**
 * Whom SSH goes through; the address is as seen from there.
 */
ssh: string | null, 
/**
 * Its machines may be looked at by SSH.
 */
allow_probe: boolean, 
/**
 * Rules and `dwellctl` may act on it at any time. A window has write access for a time besides, kept nowhere.
 */
may_act: boolean, };
export type SpeedRequest = { 
/**
 * Simulated seconds in a real one; 0 pauses.
 */
speed: number, };
export type ScenarioInfo = { 
/**
 * Its name.
 */
name: string, 
/**
 * One line.
 */
title: string, 
/**
 * What it shows.
 */
summary: string, 
/**
 * Speed that suits a person.
 */
speed: number, 
/**
 * Meant for newcomers.
 */
featured: boolean, };
export type Scenarios = { 
/**
 * They.
 */
scenarios: Array<ScenarioInfo>, };
export type Doctor = { 
/**
 * One by one.
 */
checks: Array<Check>, };
export type Check = { 
/**
 * What was checked.
 */
name: string, 
/**
 * In order.
 */
ok: boolean, 
/**
 * What was found.
 */
detail: string, };
export type ErrorCode = "unreachable" | "timed-out" | "cut-short" | "too-large" | "not-a-manager" | "unauthorised" | "refused" | "manager-failed" | "bad-address" | "key-refused" | "too-often" | "no-such-instance" | "vast-failed" | "vast-silent" | "not-vast" | "list-incomplete" | "no-certificates" | "no-ssh" | "ssh-key-refused" | "host-key-unknown" | "host-key-changed" | "port-in-use" | "name-unknown" | "ssh-refused" | "ssh-unanswered" | "ssh-failed" | "ssh-config-broken" | "read-only" | "not-confirmed" | "plan-gone" | "plan-changed" | "too-many-plans" | "other-fleet" | "shared-rental" | "under-way" | "nothing-to-do" | "nothing-to-acknowledge" | "not-banned" | "unknown-rule" | "unknown-rollout" | "rollout-ended" | "rollout-unreadable" | "cannot-begin" | "secret-in-clear" | "no-randomness" | "no-fleet" | "unknown-fleet" | "unknown-id" | "ambiguous-id" | "unknown-state" | "unknown-source" | "unknown-cause" | "unknown-command" | "bad-request" | "bad-filter" | "watch-ended" | "not-allowed" | "cannot-look" | "nobody-to-ask" | "not-read-yet" | "not-kept" | "no-key" | "bad-key" | "unknown-account" | "no-keychain" | "bad-scenario" | "cannot-serve" | "no-drill" | "drill-over" | "drills-unreadable" | "drills-unwritable" | "unknown-chart" | "nothing-to-draw" | "not-drawn" | "not-saved" | "no-history" | "history-newer" | "history-unreadable" | "history-failed" | "settings-unreadable" | "settings-unwritable" | "no-home" | "no-card" | "unknown-card" | "no-record" | "driver-failed" | "busy" | "no-thread" | "backend-gone" | "host" | "failed" | "bug";
export type ApiError = { 
/**
 * What went wrong, for programs.
 */
code: ErrorCode, 
/**
 * What happened.
 */
message: string, 
/**
 * What now, where something helps.
 */
hint: string | null, };

export const api = {
  /** Show the fleet */
  fleet: (): Promise<FleetView> => call("fleet", {}),
  /** Show an instance */
  instance: (request: InstanceRequest): Promise<InstancePage> => call("instance", request),
  /** Show an instance's log */
  logs: (request: LogRequest): Promise<LogPage> => call("logs", request),
  /** Show the manager's own log */
  manager_logs: (request: LogRequest): Promise<LogPage> => call("manager_logs", request),
  /** Show incidents: what is stuck, and why */
  incidents: (): Promise<Incidents> => call("incidents", {}),
  /** Diagnose an instance */
  diagnosis: (request: InstanceRequest): Promise<DiagnosisPage> => call("diagnosis", request),
  /** Run a check */
  make_look: (request: LookRequest): Promise<DiagnosisPage> => call("make_look", request),
  /** Show the prover's live status */
  prover: (request: InstanceRequest): Promise<ProverPanel> => call("prover", request),
  /** Show raw answers */
  raw_answers: (request: InstanceRequest): Promise<RawAnswers> => call("raw_answers", request),
  /** Show the probe's commands */
  probe_script: (request: ProbeScriptRequest): Promise<ProbeScript> => call("probe_script", request),
  /** Allow SSH probes of a fleet's machines */
  allow_probe: (request: AllowProbe): Promise<Fleets> => call("allow_probe", request),
  /** Write a note */
  note: (request: NoteRequest): Promise<DiagnosisPage> => call("note", request),
  /** Close with a cause */
  close: (request: CloseRequest): Promise<DiagnosisPage> => call("close", request),
  /** Acknowledge written-off instances */
  acknowledge: (request: AcknowledgeRequest): Promise<FleetView> => call("acknowledge", request),
  /** Write a report */
  report: (request: ReportRequest): Promise<Report> => call("report", request),
  /** List the catalogue of causes */
  causes: (): Promise<Causes> => call("causes", {}),
  /** Explain a cause */
  explain: (request: CauseRequest): Promise<CauseView> => call("explain", request),
  /** List instances created before a date */
  rented_before: (request: RentedBefore): Promise<Rented> => call("rented_before", request),
  /** Show what vast.ai bills */
  rentals: (): Promise<Rentals> => call("rentals", {}),
  /** List vast.ai accounts */
  keys: (): Promise<Accounts> => call("keys", {}),
  /** Import the key of the vast.ai CLI */
  import_key: (request: ImportKey): Promise<Accounts> => call("import_key", request),
  /** Remove a vast.ai account */
  remove_account: (request: AccountName): Promise<Accounts> => call("remove_account", request),
  /** Show charts: throughput, dwell, cost */
  charts: (): Promise<ChartList> => call("charts", {}),
  /** Draw a chart */
  chart: (request: ChartRequest): Promise<ChartView> => call("chart", request),
  /** Show the instances behind a number of a chart */
  chart_behind: (request: ChartBehind): Promise<Behind> => call("chart_behind", request),
  /** Save a chart as a file */
  save_chart: (request: SaveChart): Promise<SavedFile> => call("save_chart", request),
  /** Search all stored logs */
  search_logs: (request: SearchLogs): Promise<FoundLogs> => call("search_logs", request),
  /** Export a part of history */
  export_history: (request: ExportHistory): Promise<ExportedFile> => call("export_history", request),
  /** Show offers, with predicted proofs per hour */
  offers: (request: OffersRequest): Promise<OffersView> => call("offers", request),
  /** Plan an action: kill, destroy, stop, ban, ... */
  plan: (request: PlanRequest): Promise<PlanView> => call("plan", request),
  /** Execute a plan */
  carry_out: (request: CarryOut): Promise<Acts> => call("carry_out", request),
  /** Plan a deployment or a rolling replacement */
  plan_rollout: (request: RolloutRequest): Promise<RolloutPlan> => call("plan_rollout", request),
  /** Start a deployment or a rolling replacement */
  begin_rollout: (request: CarryOut): Promise<Rollouts> => call("begin_rollout", request),
  /** Show deployments and replacements */
  rollouts: (): Promise<Rollouts> => call("rollouts", {}),
  /** Pause a rollout */
  pause_rollout: (request: RolloutName): Promise<Rollouts> => call("pause_rollout", request),
  /** Resume a rollout */
  resume_rollout: (request: RolloutName): Promise<Rollouts> => call("resume_rollout", request),
  /** Cancel a rollout's pending items */
  take_back_rollout: (request: RolloutName): Promise<Rollouts> => call("take_back_rollout", request),
  /** Show rules */
  rules: (): Promise<Rules> => call("rules", {}),
  /** Save a rule */
  save_rule: (request: Rule): Promise<Rules> => call("save_rule", request),
  /** Remove a rule */
  remove_rule: (request: RuleName): Promise<Rules> => call("remove_rule", request),
  /** Show the audit log */
  acts: (): Promise<Acts> => call("acts", {}),
  /** Give write access to the fleet for a time, or make it read-only */
  allow_acting: (request: AllowActing): Promise<Acts> => call("allow_acting", request),
  /** Read everything now */
  refresh: (): Promise<Nothing> => call("refresh", {}),
  /** List saved fleets */
  fleets: (): Promise<Fleets> => call("fleets", {}),
  /** Check that a manager answers */
  ask_manager: (request: ConnectRequest): Promise<Nothing> => call("ask_manager", request),
  /** Connect to a manager */
  connect: (request: ConnectRequest): Promise<Fleets> => call("connect", request),
  /** Watch a saved fleet */
  watch_saved: (request: FleetName): Promise<Fleets> => call("watch_saved", request),
  /** Remove a saved fleet */
  forget: (request: FleetName): Promise<Fleets> => call("forget", request),
  /** List scenarios */
  scenarios: (): Promise<Scenarios> => call("scenarios", {}),
  /** Try it with a simulated fleet */
  simulate: (request: SimulateRequest): Promise<Fleets> => call("simulate", request),
  /** List GPUs that can be benchmarked */
  bench_cards: (): Promise<BenchCards> => call("bench_cards", {}),
  /** Benchmark a GPU */
  bench: (): Promise<BenchView> => call("bench", {}),
  /** Start a benchmark */
  start_bench: (request: StartBench): Promise<BenchView> => call("start_bench", request),
  /** Stop the benchmark */
  stop_bench: (): Promise<BenchView> => call("stop_bench", {}),
  /** Save a benchmark as a file */
  save_bench: (request: SaveBench): Promise<SavedFile> => call("save_bench", request),
  /** Practise: run a drill */
  drills: (): Promise<Drills> => call("drills", {}),
  /** Start a drill */
  start_drill: (request: StartDrill): Promise<Fleets> => call("start_drill", request),
  /** Show the drill */
  drill: (): Promise<DrillView> => call("drill", {}),
  /** Name a cause in the drill */
  answer_drill: (request: AnswerDrill): Promise<DrillView> => call("answer_drill", request),
  /** Act in the drill */
  do_in_drill: (request: DoInDrill): Promise<DrillView> => call("do_in_drill", request),
  /** End the drill */
  end_drill: (): Promise<DrillView> => call("end_drill", {}),
  /** Change the simulation's speed */
  set_speed: (request: SpeedRequest): Promise<Nothing> => call("set_speed", request),
  /** Check this machine for what Dwell needs */
  doctor: (): Promise<Doctor> => call("doctor", {}),
};

export const commands = [
  { name: "fleet", risk: "read", title: "Show the fleet", keys: "g f" },
  { name: "instance", risk: "read", title: "Show an instance", keys: "Enter" },
  { name: "logs", risk: "read", title: "Show an instance's log", keys: "l" },
  { name: "manager_logs", risk: "read", title: "Show the manager's own log", keys: "g m" },
  { name: "incidents", risk: "read", title: "Show incidents: what is stuck, and why", keys: "g i" },
  { name: "diagnosis", risk: "read", title: "Diagnose an instance", keys: "d" },
  { name: "make_look", risk: "read", title: "Run a check", keys: "" },
  { name: "prover", risk: "read", title: "Show the prover's live status", keys: "" },
  { name: "raw_answers", risk: "read", title: "Show raw answers", keys: "" },
  { name: "probe_script", risk: "read", title: "Show the probe's commands", keys: "" },
  { name: "allow_probe", risk: "view", title: "Allow SSH probes of a fleet's machines", keys: "" },
  { name: "note", risk: "view", title: "Write a note", keys: "" },
  { name: "close", risk: "view", title: "Close with a cause", keys: "" },
  { name: "acknowledge", risk: "view", title: "Acknowledge written-off instances", keys: "" },
  { name: "report", risk: "read", title: "Write a report", keys: "" },
  { name: "causes", risk: "read", title: "List the catalogue of causes", keys: "" },
  { name: "explain", risk: "read", title: "Explain a cause", keys: "" },
  { name: "rented_before", risk: "read", title: "List instances created before a date", keys: "" },
  { name: "rentals", risk: "read", title: "Show what vast.ai bills", keys: "g v" },
  { name: "keys", risk: "read", title: "List vast.ai accounts", keys: "" },
  { name: "import_key", risk: "view", title: "Import the key of the vast.ai CLI", keys: "" },
  { name: "remove_account", risk: "view", title: "Remove a vast.ai account", keys: "" },
  { name: "charts", risk: "read", title: "Show charts: throughput, dwell, cost", keys: "g h" },
  { name: "chart", risk: "read", title: "Draw a chart", keys: "" },
  { name: "chart_behind", risk: "read", title: "Show the instances behind a number of a chart", keys: "" },
  { name: "save_chart", risk: "view", title: "Save a chart as a file", keys: "" },
  { name: "search_logs", risk: "read", title: "Search all stored logs", keys: "g l" },
  { name: "export_history", risk: "view", title: "Export a part of history", keys: "" },
  { name: "offers", risk: "read", title: "Show offers, with predicted proofs per hour", keys: "g o" },
  { name: "plan", risk: "read", title: "Plan an action: kill, destroy, stop, ban, ...", keys: "" },
  { name: "carry_out", risk: "act", title: "Execute a plan", keys: "" },
  { name: "plan_rollout", risk: "read", title: "Plan a deployment or a rolling replacement", keys: "" },
  { name: "begin_rollout", risk: "act", title: "Start a deployment or a rolling replacement", keys: "" },
  { name: "rollouts", risk: "read", title: "Show deployments and replacements", keys: "g p" },
  { name: "pause_rollout", risk: "view", title: "Pause a rollout", keys: "" },
  { name: "resume_rollout", risk: "act", title: "Resume a rollout", keys: "" },
  { name: "take_back_rollout", risk: "view", title: "Cancel a rollout's pending items", keys: "" },
  { name: "rules", risk: "read", title: "Show rules", keys: "" },
  { name: "save_rule", risk: "act", title: "Save a rule", keys: "" },
  { name: "remove_rule", risk: "view", title: "Remove a rule", keys: "" },
  { name: "acts", risk: "read", title: "Show the audit log", keys: "g j" },
  { name: "allow_acting", risk: "view", title: "Give write access to the fleet for a time, or make it read-only", keys: "" },
  { name: "refresh", risk: "read", title: "Read everything now", keys: "r" },
  { name: "fleets", risk: "read", title: "List saved fleets", keys: "" },
  { name: "ask_manager", risk: "read", title: "Check that a manager answers", keys: "" },
  { name: "connect", risk: "view", title: "Connect to a manager", keys: "g c" },
  { name: "watch_saved", risk: "view", title: "Watch a saved fleet", keys: "" },
  { name: "forget", risk: "view", title: "Remove a saved fleet", keys: "" },
  { name: "scenarios", risk: "read", title: "List scenarios", keys: "" },
  { name: "simulate", risk: "view", title: "Try it with a simulated fleet", keys: "g s" },
  { name: "bench_cards", risk: "read", title: "List GPUs that can be benchmarked", keys: "" },
  { name: "bench", risk: "read", title: "Benchmark a GPU", keys: "g b" },
  { name: "start_bench", risk: "view", title: "Start a benchmark", keys: "" },
  { name: "stop_bench", risk: "view", title: "Stop the benchmark", keys: "" },
  { name: "save_bench", risk: "view", title: "Save a benchmark as a file", keys: "" },
  { name: "drills", risk: "read", title: "Practise: run a drill", keys: "g r" },
  { name: "start_drill", risk: "view", title: "Start a drill", keys: "" },
  { name: "drill", risk: "read", title: "Show the drill", keys: "" },
  { name: "answer_drill", risk: "view", title: "Name a cause in the drill", keys: "" },
  { name: "do_in_drill", risk: "view", title: "Act in the drill", keys: "" },
  { name: "end_drill", risk: "view", title: "End the drill", keys: "" },
  { name: "set_speed", risk: "view", title: "Change the simulation's speed", keys: "" },
  { name: "doctor", risk: "read", title: "Check this machine for what Dwell needs", keys: "g d" },
] as const;
