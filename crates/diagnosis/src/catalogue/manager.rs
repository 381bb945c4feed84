//! The manager's own failure modes: its list, its kills, its states, its pages.

use super::Phase::{BenchDone, Killed, Loading, ParamsDone, Registered, Running, Vanished};
use super::{A, ANY, Act, Cause, Common, Effect, O, S, U, cause};
use crate::fact::*;

pub(super) const CAUSES: &[Cause] = &[
    // Its copy of vast.ai's list.
    cause("vast-cache-frozen-error", "The manager's vast.ai client fails", ANY, Common::Rare, Effect::Harmless)
        .shows(&[(LIST_OLD, A), (Fact::said("listing-failed"), A), (LISTING_SILENT, 0.01), (START_DATE_MISSING, 0.004)])
        .what("The client ends with an error: the manager keeps its old list, kills nothing and notices nothing that vast.ai does.")
        .remedy(Act::MendManager, "Run the client by hand on the manager's host: its error is not in the manager's log.")
        .source("manager source: monitor loop"),
    cause("vast-cli-hang", "The manager's vast.ai client hangs", ANY, Common::Rare, Effect::Harmless)
        .shows(&[
            (LIST_OLD, A), (LISTING_SILENT, A), (Fact::said("listing-failed"), 0.01),
            (Fact::said("listing-empty-output"), 0.01), (Fact::said("listing-odd"), 0.01),
        ])
        .proof(&[&[LIST_OLD, LISTING_SILENT]])
        .what("The client never ends and the monitor waits without a word: the list is old and nothing is killed.")
        .remedy(Act::MendManager, "End the vastai process on the manager's host.")
        .source("manager source: exec without time-out"),
    cause("vast-poison-row", "One record of vast.ai cannot be read", ANY, Common::Rare, Effect::Harmless)
        .shows(&[(LIST_OLD, A), (Fact::said("listing-odd"), A), (LISTING_SILENT, 0.01)])
        .proof(&[&[LIST_OLD, Fact::said("listing-odd")]])
        .what("One field of one record has an odd type, and none of them is read: the whole list is old.")
        .remedy(Act::MendManager, "Find the new rental of that minute; mend the manager's types.")
        .source("manager source: typed decode (inferred)"),
    cause("vast-cli-null-start-date", "A rental without start date fails the client", ANY, Common::Rare, Effect::Harmless)
        .shows(&[(LIST_OLD, 0.4), (Fact::said("listing-failed"), A), (START_DATE_MISSING, U), (LISTING_SILENT, 0.01)])
        .proof(&[&[Fact::said("listing-failed"), START_DATE_MISSING]])
        .what("While something is being provisioned its start date is missing, and the client fails on it. It heals by itself.")
        .remedy(Act::Wait, "Wait until it has started; a newer client.")
        .source("vast-ai/vast-cli: age worked out from start_date"),
    cause("vast-http-error-exit0", "vast.ai refuses, and its client calls that success", ANY, Common::Rare, Effect::Harmless)
        .shows(&[
            (LIST_OLD, A), (Fact::said("listing-empty-output"), A), (LISTING_SILENT, 0.01), (VAST_REFUSES, A),
            (LISTING_RETIRED, 0.004),
        ])
        .proof(&[&[Fact::said("listing-empty-output"), VAST_REFUSES]])
        .what("On an HTTP error the client prints nothing and ends with status 0: the manager reads an empty text and keeps its old list.")
        .remedy(Act::MendManager, "Ask vast.ai yourself: the status it answers with tells which.")
        .source("vast-ai/vast-cli: main"),
    cause("vast-list-retired", "vast.ai has retired the listing that the client calls", ANY, Common::Rare, Effect::Harmless)
        .shows(&[
            (LIST_OLD, A), (Fact::said("listing-empty-output"), A), (LISTING_SILENT, 0.01), (VAST_REFUSES, 0.01),
            (LISTING_RETIRED, A),
        ])
        .proof(&[&[Fact::said("listing-empty-output"), LISTING_RETIRED]])
        .what("The old listing answers 410: the manager keeps its old list for ever.")
        .remedy(Act::MendManager, "A newer client.")
        .source("vast.ai's documentation: v0 listing"),
    cause("vast-empty-list", "The manager's key belongs to another account", &[Killed, Vanished, Loading], Common::Rare, Effect::Ends)
        .shows(&[
            (KILLED_DISAPPEARED, A), (KILLED_TOGETHER, A), (LISTED_NONE, A), (RECORD_ABSENT, 0.02), (KILLED_STILL_LISTED, O),
            (LABEL_ODD, 0.004), (LISTED_SHORT, U),
        ])
        // A fleet that somebody destroyed as a whole shows the first three as well: vast.ai has to have it.
        .proof(&[&[KILLED_DISAPPEARED, KILLED_TOGETHER, LISTED_NONE, KILLED_STILL_LISTED]])
        .what("An empty list made the manager write the whole fleet off in one second. At vast.ai it runs on and costs money.")
        .remedy(Act::MendManager, "Check the key that the manager uses; nothing was destroyed.")
        .source("vast-ai/vast-cli: null becomes an empty list"),
    cause("vast-partial-list", "The manager sees only the first page of its rentals", &[Killed, Vanished, Loading], Common::Rare, Effect::Ends)
        .shows(&[
            (KILLED_DISAPPEARED, A), (LISTED_ONE_PAGE, A), (RECORD_ABSENT, 0.02), (KILLED_TOGETHER, O),
            (KILLED_STILL_LISTED, O), (LISTED_NONE, 0.004), (LISTED_SHORT, U),
        ])
        // A fleet of just 25 of which somebody destroyed one shows the first two as well.
        .proof(&[&[KILLED_DISAPPEARED, LISTED_ONE_PAGE, KILLED_STILL_LISTED, LISTED_SHORT]])
        .what("An old client reads one page of 25: what is beyond looks gone and is written off, while it runs on and costs money.")
        .remedy(Act::MendManager, "A newer client.")
        .source("vast.ai's documentation: pages of v1 (inferred)"),
    cause("cold-cache-window", "The manager has not read vast.ai's list yet", ANY, Common::Rare, Effect::Harmless)
        .what("For ten seconds after its start nothing is joined: the fleet seems to shrink.")
        .remedy(Act::Wait, "Wait ten seconds. Dwell does.")
        .source("manager source: first listing after 10 s")
        .unranked(),
    cause("actual-status-not-exposed", "The manager does not say whether it is stopped", ANY, Common::Rare, Effect::Harmless)
        .what("The dashboard leaves vast.ai's status out: what is stopped looks as it last did.")
        .remedy(Act::MendObserver, "Ask vast.ai for its record.")
        .source("manager source: dashboard fields")
        .unranked(),
    cause("rows-dropped-on-scan", "The manager cannot read its own row", &[Loading], Common::Rare, Effect::Harmless)
        .shows(&[(FELL_BACK, A), (NOT_RUNNING, 0.02), (LATE, O), (LOG_SPOKE, U), (REGISTERED_UNHEARD, U)])
        .proof(&[&[FELL_BACK]])
        .what("A row that cannot be read is left out of the dashboard, and its rental looks as if it had never registered.")
        .remedy(Act::MendManager, "Compare with the manager's /status; mend the row in its database.")
        .source("manager source: dashboard scan"),
    // Its kills.
    cause("destroy-false-success", "Destroyed by the manager's word only", &[Killed, BenchDone, Running], Common::Occasional, Effect::Ends)
        .shows(&[
            (KILLED_STILL_LISTED, A), (DESTROYED_BY_ITS_WORD, A), (Fact::said("destroy-failed"), 0.01), (KILLED_RATE_LOW, O),
            (KILLED_RATE_ZERO, 0.3), (KILLED_BENCHMARK_TIMEOUT, 0.4), (MIN_RATE_HIGH, 0.3), (PROOFS_SLOW, 0.3),
            (KILLED_AND_BACK, 0.2), (RECORD_ABSENT, 0.01), (KILLED_DISAPPEARED, 0.01), (KILLED_BY_HAND, 0.1),
            (KILL_UNNAMED, 0.001),
        ])
        .what("The client asked for confirmation, found no terminal, printed \u{201c}Aborted.\u{201d} and ended with status 0. The rental runs and costs money.")
        .remedy(Act::Destroy, "Destroy it at vast.ai; give the client -y, or pin its version.")
        .source("vast-ai/vast-cli c965806; manager checks the exit code alone"),
    cause("vast-destroy-refused", "vast.ai refused to destroy, with status 200", &[Killed], Common::Rare, Effect::Ends)
        .shows(&[
            (KILLED_STILL_LISTED, A), (DESTROYED_BY_ITS_WORD, A), (Fact::said("destroy-failed"), 0.01), (KILLED_RATE_LOW, O),
            (KILLED_RATE_ZERO, 0.3), (KILLED_BENCHMARK_TIMEOUT, 0.4), (MIN_RATE_HIGH, 0.3), (PROOFS_SLOW, 0.3),
            (KILLED_AND_BACK, 0.2), (RECORD_ABSENT, 0.01), (KILLED_DISAPPEARED, 0.01), (KILLED_BY_HAND, 0.1),
            (KILL_UNNAMED, 0.001),
        ])
        .what("vast.ai answered success: false; the client ended with status 0 and the manager believed it. The rental costs money.")
        .remedy(Act::Destroy, "Destroy it at vast.ai and read the answer.")
        .source("vast-ai/vast-cli: destroy"),
    cause("destroy-failed-logged", "The manager failed to destroy it, and says so", &[Killed], Common::Occasional, Effect::Ends)
        .shows(&[
            (KILLED_STILL_LISTED, A), (Fact::said("destroy-failed"), A), (KILLED_RATE_LOW, O), (KILLED_RATE_ZERO, 0.3),
            (KILLED_BENCHMARK_TIMEOUT, 0.4), (MIN_RATE_HIGH, 0.3), (PROOFS_SLOW, 0.3), (DESTROYED_BY_ITS_WORD, 0.01),
            (RECORD_ABSENT, 0.01), (KILLED_DISAPPEARED, 0.01), (KILLED_BY_HAND, 0.1), (KILL_UNNAMED, 0.001),
        ])
        .proof(&[&[KILLED_STILL_LISTED, Fact::said("destroy-failed")]])
        .what("The client ended with an error. The row is killed all the same and the manager does not try again: the rental costs money.")
        .remedy(Act::Destroy, "Destroy it at vast.ai.")
        .source("manager source: kill"),
    cause("zombie-hidden-in-killed-row", "A killed row hides a rental that lives", &[Killed], Common::Rare, Effect::Ends)
        .what("Killed rows are joined with vast.ai's list as well: a rental that survived its kill is not shown as loading, and is left out of the sum.")
        .remedy(Act::Destroy, "See destroy-false-success and its relatives for why.")
        .source("manager source: dashboard join")
        .unranked(),
    cause("zombie-resurfaces-day-7", "A rental that survived its kill comes back as loading", &[Loading], Common::Rare, Effect::Harmless)
        .what("Killed rows are deleted after 7 days; what survived is then listed as loading, days old and busy.")
        .remedy(Act::Destroy, "Destroy it at vast.ai.")
        .source("manager source: clean-up")
        .unranked(),
    cause("kill-before-destroy-ordering", "Killed without naming the rental", &[Killed], Common::Occasional, Effect::Ends)
        .shows(&[
            (KILLED_STILL_LISTED, A), (KILLED_BY_HAND, A), (DESTROYED_BY_ITS_WORD, 0.01), (Fact::said("destroy-failed"), 0.01),
            (RECORD_ABSENT, 0.01), (KILLED_DISAPPEARED, 0.01), (KILL_UNNAMED, A),
        ])
        .proof(&[&[KILLED_STILL_LISTED, KILLED_BY_HAND, KILL_UNNAMED]])
        .what("Somebody had the row killed without its vast.ai number: only the row was. The rental costs money.")
        .remedy(Act::Destroy, "Destroy it at vast.ai; always name the rental.")
        .source("manager source: kill route"),
    cause("label-null-never-reaped", "No timer for what carries no label", &[Loading], Common::Common, Effect::Harmless)
        .what("The manager's 15 minutes are for labelled rentals: one without a label stays in loading, and costs money, for ever.")
        .remedy(Act::Wait, "Dwell's own clock watches it.")
        .source("manager source: monitor loop")
        .unranked(),
    cause("disappear-reason-cascade", "One reason for many causes", &[Killed], Common::Common, Effect::Ends)
        .what("A destroyed rental, a lost host, spent credit and every fault of the listing are all recorded as \u{201c}disappeared from vast\u{201d}.")
        .remedy(Act::Wait, "Ask vast.ai whether it is there.")
        .source("manager source: monitor loop")
        .unranked(),
    cause("bench-slow-not-hung", "Killed by the timer while it proved", &[Killed], Common::Common, Effect::Ends)
        .what("45 minutes against the 26 to 39 of a healthy benchmark: see bench-slow-timeout.")
        .remedy(Act::Wait, "Look at its last progress before the kill.")
        .source("manager source: 45-minute timer")
        .unranked(),
    // Its states.
    cause("state-resurrected", "A killed instance reported and came back", &[BenchDone, Running], Common::Occasional, Effect::Harmless)
        .shows(&[(KILLED_AND_BACK, A), (LATE, 0.3)])
        .what("A benchmark's report is taken in any state: the row came back, with the time of its kill still in it.")
        .remedy(Act::Destroy, "Decide whether to keep it: it is paid for and proves. Its kill did not destroy it.")
        .source("manager source: bench-done without guard"),
    cause("state-skipped", "It runs without a benchmark", &[Running], Common::Rare, Effect::Harmless)
        .shows(&[(NO_BENCHMARK, A)])
        .proof(&[&[NO_BENCHMARK]])
        .what("It reported that it runs and never a benchmark: an old image, or a call by hand. Its rate is not known.")
        .remedy(Act::MendImage, "A newer image.")
        .source("manager source: running route"),
    cause("param-done-noop-200", "A report that changed nothing was answered ok", ANY, Common::Rare, Effect::Harmless)
        .what("\u{201c}Parameters done\u{201d} in any other state is answered ok, killed ones included: the instance believes it is in.")
        .remedy(Act::Wait, "The manager's log says no-op.")
        .source("manager source: param-done route")
        .unranked(),
    cause("running-404-after-kill", "It reported that it runs after it was killed", &[Killed], Common::Rare, Effect::Ends)
        .shows(&[(Fact::said("killed-while-running"), A)])
        .what("Its report was answered 404: the manager had killed it.")
        .remedy(Act::Wait, "See why it was killed.")
        .source("manager source: running route"),
    cause("reregister-stale-state", "Registered again under its old state", &[Registered, ParamsDone, BenchDone, Running], Common::Rare, Effect::Harmless)
        .what("Registering again keeps state and times: see container-restarted-midway.")
        .remedy(Act::Wait, "Go by the start of its processes.")
        .source("manager source: registration")
        .unranked(),
    cause("register-falls-through", "Registered again under a second row", ANY, Common::Rare, Effect::Harmless)
        .shows(&[
            (TWIN_ROW, A), (LABEL_ODD, 0.01), (KILLED_DISAPPEARED, 0.4), (RECORD_ABSENT, 0.3), (DESTROYED_BY_ITS_WORD, 0.4),
            (KILLED_AND_BACK, 0.3), (LATE, O), (LOG_SILENT, 0.3), (STARTED_OVER, O), (WORK_GOES_ON, 0.7), (GPU_IDLE, O),
        ])
        .what("The look-up of its name failed, so a second row was made for the same rental: a kill of one hits both.")
        .remedy(Act::MendManager, "Go by the newer row; mend the database.")
        .source("manager source: registration"),
    cause("sqlite-busy", "The manager's database is locked", ANY, Common::Rare, Effect::Stops)
        .shows(&[
            (Fact::said("database-locked"), A), (Fact::said("manager-unanswered"), S), (RECORD_ABSENT, O), (NO_ADDRESS, O),
            (NO_CONTAINER, O), (MANAGER_OUT_OF_REACH, 0.002), (LOG_SILENT, 0.2), (FETCH_GONE, O), (SCRIPT_GONE, 0.02),
            (LOG_SPOKE, U), (TUNNEL_GONE, 0.01),
        ])
        .proof(&[&[Fact::said("database-locked")]])
        .what("Reports are refused and its own kills are not written: instances wait in the state they were in.")
        .remedy(Act::MendManager, "Find who holds the database; restart the manager.")
        .source("manager source: 5 s busy time-out"),
    cause("bad-timestamp", "A time is missing in the manager's row", &[ParamsDone, Registered], Common::Rare, Effect::Harmless)
        .shows(&[
            (NO_PARAMETER_TIME, A), (Fact::said("no-timestamp"), A), (LATE, O), (LOG_SILENT, O), (WORK_GOES_ON, O),
            (GPU_IDLE, O),
        ])
        .proof(&[&[NO_PARAMETER_TIME, Fact::said("no-timestamp")]])
        .what("Without that time the manager's timer never ends: what hangs in it hangs for ever.")
        .remedy(Act::MendManager, "Write the time into its database; Dwell's own clock watches it.")
        .source("manager source: monitor loop"),
    cause("clock-step", "The manager's clock jumped", ANY, Common::Rare, Effect::Harmless)
        .shows(&[
            (KILLED_TOO_SOON, U), (LIST_OLD, O), (MANAGER_CLOCK_OFF, A), (KILLED_BENCHMARK_TIMEOUT, O),
            (KILLED_PARAMS_TIMEOUT, O), (LATE, 0.7), (LOG_SILENT, 0.7), (GPU_IDLE, 0.2), (CLOCK_OFF_BY_LINES, U),
        ])
        // Both of the first two show when it is Dwell's own clock that jumps: other clocks have to agree with it.
        .proof(&[&[KILLED_TOO_SOON, MANAGER_CLOCK_OFF, CLOCK_OFF_BY_LINES]])
        .what("A jump ahead lets all its timers run out at once.")
        .remedy(Act::MendManager, "Mend its clock.")
        .source("manager source: wall clock"),
    cause("host-perf-best-ever", "The manager remembers a machine's best rate only", ANY, Common::Rare, Effect::Harmless)
        .what("It keeps the maximum: a machine that has got worse looks as it once was.")
        .remedy(Act::Wait, "Compare with the rate of this rental.")
        .source("manager source: host_perf")
        .unranked(),
    // Its pages.
    cause("ui-loading-rows-share-uuid", "The manager's page opens all loading rows at once", &[Loading], Common::Rare, Effect::Harmless)
        .what("Rows without a number share one: its page opens them together and waits for logs for ever.")
        .remedy(Act::Wait, "Use Dwell's page.")
        .source("manager source: page")
        .unranked(),
    cause("ui-stale-after-error", "The manager's page shows old rows after an error", ANY, Common::Rare, Effect::Harmless)
        .what("A failed fetch leaves the table as it was; one dot turns red.")
        .remedy(Act::Wait, "Use Dwell's page: every number there has an age.")
        .source("manager source: page")
        .unranked(),
    cause("ui-cuzk-panel-hidden", "The manager's page asks the prover too late", &[ParamsDone], Common::Rare, Effect::Harmless)
        .what("The prover is asked in bench_done and running only, not in params_done where it matters.")
        .remedy(Act::Wait, "Ask its status over SSH.")
        .source("manager source: page")
        .unranked(),
    cause("ui-deploy-error-hidden", "The manager's page hides why renting failed", ANY, Common::Rare, Effect::Harmless)
        .what("The answer carries error and the page reads message: it says unknown error.")
        .remedy(Act::Wait, "Read the answer's body.")
        .source("manager source: page")
        .unranked(),
    cause("ui-benching-mixes-states", "The manager's page counts states together", ANY, Common::Rare, Effect::Harmless)
        .what("Benchmarking there is params_done and bench_done, and the price sums running instances only.")
        .remedy(Act::Wait, "Use Dwell's sums.")
        .source("manager source: page")
        .unranked(),
    cause("ssh-cmd-stale-or-absent", "The manager's SSH address is old or missing", ANY, Common::Occasional, Effect::Harmless)
        .what("It needs a public address and a mapped port, has no way by the proxy, and can be old.")
        .remedy(Act::MendObserver, "Use ssh_host and ssh_port of vast.ai's record.")
        .source("manager source: lookupSSHCmd")
        .unranked(),
    cause("cuzk-proxy-error-flattened", "The manager hides why the prover was not reached", ANY, Common::Occasional, Effect::Harmless)
        .what("It answers 502 with an exit status: 255 SSH, 7 refused, 28 timed out, 22 an HTTP error, 127 no curl.")
        .remedy(Act::MendObserver, "Go by the number.")
        .source("manager source: cuzk proxy")
        .unranked(),
];
