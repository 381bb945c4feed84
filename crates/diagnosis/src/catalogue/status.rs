//! The prover's own status, and bugs of its past.

use super::Phase::{BenchDone, ParamsDone, Running};
use super::{A, Act, Cause, Common, Effect, cause};
use crate::fact::*;

const PROVING: &[super::Phase] = &[ParamsDone, BenchDone, Running];

const fn known(id: &'static str, title: &'static str, effect: Effect) -> Cause {
    cause(id, title, PROVING, Common::Rare, effect).source("prover source").unranked()
}

pub(super) const CAUSES: &[Cause] = &[
    cause("status-disabled-by-default", "The prover does not serve its status", PROVING, Common::Common, Effect::Harmless)
        .shows(&[(STATUS_REFUSED, A), (DAEMON_GONE, 0.02)])
        .what("status_listen is empty by default: a refused connection says nothing of the daemon.")
        .remedy(Act::Wait, "Look for its process; set status_listen.")
        .source("prover source: configuration"),
    known("status-failed-counter-blind", "The status does not count every failure", Effect::Harmless)
        .what("total_failed counts assembled proofs only: it can say 0 while every proof fails. Failed jobs stay in the list for ever.")
        .remedy(Act::Wait, "Compare with the daemon's log."),
    known("status-worker-busy-stale", "A worker is called busy after its job failed", Effect::Harmless)
        .what("The flag is cleared by its next part only: busy for 900 s can be a job that failed long ago.")
        .remedy(Act::Wait, "Go by what is completed."),
    known("status-srs-empty-while-loading", "No parameters listed: none, or just loading", Effect::Harmless)
        .what("The list is empty while they load, because it is locked then.")
        .remedy(Act::Wait, "Look whether memory in use grows."),
    known("status-liveness-not-progress", "Its uptime says nothing of its work", Effect::Harmless)
        .what("The uptime counts on even if nothing is proved.")
        .remedy(Act::Wait, "Go by what is completed."),
    known("budget-host-not-cgroup", "The budget is taken from the host's memory", Effect::Stops)
        .what("total_budget = auto reads the host's memory, not the container's limit: see host-oom-cgroup.")
        .remedy(Act::MendImage, "Set total_budget by hand."),
    known("budget-acquire-blocks-forever", "A request larger than the budget waits for ever", Effect::Stops)
        .what("It warns once and then waits silently: see budget-starved-wait.")
        .remedy(Act::Replace, "Rent more memory."),
    known("budget-lost-wakeup", "A freed budget wakes nobody", Effect::Stops)
        .what("The waiter can miss the wake-up between its check and its wait (inferred); the next release heals it. See pipeline-deadlock.")
        .remedy(Act::MendImage, "A newer image."),
    known("evictor-panic", "The cache's evictor panics", Effect::Stops)
        .what("A blocking lock inside the runtime panics; fixed in c6241652. See pipeline-deadlock.")
        .remedy(Act::MendImage, "A newer image."),
    known("unpinned-h2d-stall", "Copies from memory that is not pinned", Effect::Slows)
        .what("1 to 4 GB/s and stalls of seconds; fixed in 48dccd93. See pinned-alloc-failed.")
        .remedy(Act::MendImage, "A newer image."),
    known("pacer-collapse", "The prover slows itself down", Effect::Slows)
        .what("Its pacer throttles to a crawl within minutes; fixed in a1a16a9b and 9986490c. See age-degradation.")
        .remedy(Act::MendImage, "A newer image."),
    known("bench-client-no-timeout", "The benchmark's client sets no deadline", Effect::Stops)
        .what("It waits for ever for a daemon that hangs: see bench-client-hang.")
        .remedy(Act::MendImage, "Give it a deadline."),
    known("bench-one-rpc-aborts-all", "One failed call ends the whole benchmark", Effect::Ends)
        .what("No summary is printed then: see bench-rpc-abort.")
        .remedy(Act::MendImage, "Report partial results."),
];
