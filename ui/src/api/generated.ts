// Made from crates/commands by `cargo xtask bindings`. Not edited by hand.

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
history_error: string | null, };
export type ConnectionError = { 
/**
 * Stable kebab-case word.
 */
code: string, 
/**
 * What happened.
 */
message: string, };
export type Summary = { 
/**
 * Proofs per hour of running instances, as their benchmarks measured them.
 */
benchmarked_proofs_per_h: number, 
/**
 * Running instances without a benchmark rate.
 */
rate_not_told: number, 
/**
 * Dollars per hour of running instances.
 */
proving_dollars_per_h: number, 
/**
 * Dollars per hour of instances on their way to running.
 */
waiting_dollars_per_h: number, 
/**
 * Dollars per hour of killed instances that vast.ai still lists.
 */
leaking_dollars_per_h: number, 
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
first_seen_at: string, };
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
export type ConnectRequest = { 
/**
 * The manager's address.
 */
address: string, 
/**
 * A name for it; the address where not given.
 */
name: string | null, };
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
address: string, };
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
export type Patch = { 
/**
 * Rises by one; a hole means that something was missed and all must be asked for anew.
 */
seq: number, 
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
export type ApiError = { 
/**
 * Stable kebab-case word.
 */
code: string, 
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
  /** Read everything now */
  refresh: (): Promise<Nothing> => call("refresh", {}),
  /** List saved fleets */
  fleets: (): Promise<Fleets> => call("fleets", {}),
  /** Connect to a manager */
  connect: (request: ConnectRequest): Promise<Fleets> => call("connect", request),
  /** Watch a saved fleet */
  watch_saved: (request: FleetName): Promise<Fleets> => call("watch_saved", request),
  /** Forget a saved fleet */
  forget: (request: FleetName): Promise<Fleets> => call("forget", request),
  /** List scenarios */
  scenarios: (): Promise<Scenarios> => call("scenarios", {}),
  /** Try it with a simulated fleet */
  simulate: (request: SimulateRequest): Promise<Fleets> => call("simulate", request),
  /** Practise: play a drill */
  drills: (): Promise<Drills> => call("drills", {}),
  /** Begin a drill */
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
  /** Check that everything is in order */
  doctor: (): Promise<Doctor> => call("doctor", {}),
};

export const commands = [
  { name: "fleet", risk: "read", title: "Show the fleet", keys: "g f" },
  { name: "instance", risk: "read", title: "Show an instance", keys: "Enter" },
  { name: "logs", risk: "read", title: "Show an instance's log", keys: "l" },
  { name: "manager_logs", risk: "read", title: "Show the manager's own log", keys: "g m" },
  { name: "refresh", risk: "read", title: "Read everything now", keys: "r" },
  { name: "fleets", risk: "read", title: "List saved fleets", keys: "" },
  { name: "connect", risk: "view", title: "Connect to a manager", keys: "g c" },
  { name: "watch_saved", risk: "view", title: "Watch a saved fleet", keys: "" },
  { name: "forget", risk: "view", title: "Forget a saved fleet", keys: "" },
  { name: "scenarios", risk: "read", title: "List scenarios", keys: "" },
  { name: "simulate", risk: "view", title: "Try it with a simulated fleet", keys: "g s" },
  { name: "drills", risk: "read", title: "Practise: play a drill", keys: "g r" },
  { name: "start_drill", risk: "view", title: "Begin a drill", keys: "" },
  { name: "drill", risk: "read", title: "Show the drill", keys: "" },
  { name: "answer_drill", risk: "view", title: "Name a cause in the drill", keys: "" },
  { name: "do_in_drill", risk: "view", title: "Act in the drill", keys: "" },
  { name: "end_drill", risk: "view", title: "End the drill", keys: "" },
  { name: "set_speed", risk: "view", title: "Change the simulation's speed", keys: "" },
  { name: "doctor", risk: "read", title: "Check that everything is in order", keys: "g d" },
] as const;
