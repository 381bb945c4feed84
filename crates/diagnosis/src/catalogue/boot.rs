//! From the start of the container to its registration.

use super::Phase::{BenchDone, Killed, Loading, ParamsDone, Registered, Running};
use super::{A, Act, Cause, Common, Effect, N, O, U, cause};
use crate::fact::*;

pub(super) const CAUSES: &[Cause] = &[
    cause("onstart-not-run", "The start command was never run", &[Loading], Common::Occasional, Effect::Stops)
        .shows(&[
            (NOT_RUNNING, 0.02), (SCRIPT_GONE, A), (NO_ENTRYPOINT_LOG, A), (TUNNEL_GONE, U), (SHIPPER_GONE, U),
            (STATUS_REFUSED, A), (LOG_SPOKE, N),
        ])
        .proof(&[&[SCRIPT_GONE, NO_ENTRYPOINT_LOG]])
        .what("The container runs and its start command was not executed. No timer of the manager ends it: it costs money for ever.")
        .remedy(Act::MendInstance, "Run the start command by hand; mend the template.")
        .source("failure catalogue 2.D"),
    cause("entrypoint-died-early", "The entrypoint ended before it registered", &[Loading, Registered], Common::Occasional, Effect::Stops)
        .shows(&[
            (NOT_RUNNING, 0.02), (SCRIPT_GONE, A), (SCRIPT_FAILED, A), (Fact::said("unbound-variable"), O),
            (NO_ENTRYPOINT_LOG, 0.02), (TUNNEL_GONE, U), (SHIPPER_GONE, U), (STATUS_REFUSED, A), (LOG_SPOKE, 0.1),
        ])
        .proof(&[&[SCRIPT_FAILED, Fact::said("unbound-variable")]])
        .what("The entrypoint ended with an error. The container stays up: its first process is the SSH launcher.")
        .remedy(Act::MendImage, "Read the end of /var/log/entrypoint.log, and mend what it says.")
        .source("failure catalogue 2.D"),
    cause("env-missing", "The variable with its label is not set", &[Killed, Loading], Common::Occasional, Effect::Ends)
        .shows(&[
            (LABEL_ODD, A), (REGISTERED_UNHEARD, A), (KILLED_DISAPPEARED, A), (KILLED_STILL_LISTED, 0.3), (TWIN_ROW, O),
            (KILLED_TOGETHER, 0.05), (RECORD_ABSENT, 0.02),
        ])
        .proof(&[&[LABEL_ODD, KILLED_DISAPPEARED]])
        .what("It registered under a name that no rental has; the manager does not find it in vast.ai's list and writes it off. It runs on and costs money.")
        .remedy(Act::MendImage, "Pass VAST_CONTAINERLABEL through to the entrypoint; destroy it by its vast.ai number.")
        .source("failure catalogue 2.D; vast.ai's questions and answers"),
    cause("label-missing-or-odd", "Its name is not the one the manager looks for", &[Killed], Common::Rare, Effect::Ends)
        .shows(&[(LABEL_ODD, A), (KILLED_DISAPPEARED, A), (TWIN_ROW, O)])
        .what("The label that it registered with is not C.<number>: the manager finds no record for it and cannot destroy it.")
        .remedy(Act::MendImage, "See env-missing, which is the usual reason.")
        .source("manager source: registration")
        .unranked(),
    cause("register-unreachable", "The manager cannot be reached from it", &[Loading], Common::Occasional, Effect::Stops)
        .shows(&[
            (NOT_RUNNING, 0.02), (Fact::said("manager-unanswered"), A), (MANAGER_OUT_OF_REACH, A), (TUNNEL_GONE, 0.02),
            (SCRIPT_GONE, 0.02), (LOG_SPOKE, N), (SHIPPER_GONE, 0.05),
        ])
        .what("Its entrypoint runs and cannot reach the manager's address: it can neither register nor log.")
        .remedy(Act::MendInstance, "Check the manager's address and the tunnel's server from the machine.")
        .source("failure catalogue 2.D"),
    cause("container-restarted-midway", "Its container was started again", &[Registered, ParamsDone, BenchDone, Running], Common::Occasional, Effect::Slows)
        .shows(&[
            (STARTED_OVER, A), (Fact::said("re-registered"), U), (FETCH_STILL_RUNS, U), (LOG_SILENT, 0.4), (WORK_GOES_ON, O),
            (GPU_IDLE, U), (DAEMON_GONE, O), (STATUS_REFUSED, O), (BENCH_GONE, O), (PROOFS_SLOW, 0.06), (SHIPPER_GONE, 0.05),
            (SCRIPT_GONE, 0.05),
        ])
        .proof(&[&[STARTED_OVER, FETCH_STILL_RUNS]])
        .what("Every process began again; the manager's state and its timer did not. It may be fetching parameters while it is called params_done.")
        .remedy(Act::Wait, "Expect the whole way again; the manager's timer runs from the first time and may end it before.")
        .source("manager source: registration keeps the row"),
];
