//! The time after the benchmark.

use super::Phase::{BenchDone, Running};
use super::{A, Act, Cause, Common, Effect, O, S, U, cause};
use crate::fact::*;

pub(super) const CAUSES: &[Cause] = &[
    cause("running-call-failed", "It never reported that it runs", &[BenchDone], Common::Occasional, Effect::Stops)
        .shows(&[
            (SCRIPT_GONE, A),
            (SCRIPT_FAILED, A),
            (BENCH_GONE, A),
            (GPU_IDLE, U),
            (DAEMON_GONE, O),
            (STATUS_REFUSED, O),
            (PROVER_IDLE, O),
        ])
        .proof(&[&[SCRIPT_GONE, SCRIPT_FAILED]])
        .what("Its entrypoint ended after the benchmark. The manager has no timer for bench_done: it stays so, and costs money.")
        .remedy(Act::MendInstance, "Start the prover by hand, or replace it.")
        .source("manager source: no timer for bench_done"),
    cause("daemon-died-after-running", "The prover daemon has ended", &[Running], Common::Common, Effect::Stops)
        .shows(&[
            (DAEMON_GONE, A),
            (STATUS_REFUSED, A),
            (DAEMON_ENDED_134, U),
            (Fact::said("prover-refused"), U),
            (DAEMON_ENDED_137, 0.02),
            (OOM_KILLS, 0.01),
            (XID_ECC, 0.005),
            (OOM_GLOBAL, 0.005),
            (SCRIPT_GONE, 0.1),
            (DAEMON_ENDS_AGAIN, 0.02),
            (Fact::said("ecc"), 0.01),
        ])
        .what("The manager hears nothing of a prover that ends: it calls it running for ever.")
        .remedy(Act::MendInstance, "Start it again; go by its exit code.")
        .source("manager source: nothing is a heartbeat"),
    cause(
        "worker-panicked-process-alive",
        "A worker of the prover died, its process lives",
        &[Running],
        Common::Occasional,
        Effect::Stops,
    )
    .shows(&[
        (DAEMON_GONE, 0.02),
        (STATUS_REFUSED, 0.08),
        (STATUS_HANGS, 0.05),
        (DAEMON_HANGS_IN_DRIVER, 0.01),
        (PROOF_STANDS, U),
        (PROVER_IDLE, 0.1),
        (Fact::said("panic"), S),
        (SMI_TIMES_OUT, 0.01),
        (CARD_LOST, 0.005),
        (Fact::said("prover-refused"), 0.02),
    ])
    .what("A thread panicked; the process stays and makes nothing.")
    .remedy(Act::MendInstance, "Restart the daemon.")
    .source("6block/zkwork_aleo_gpu_worker#10"),
    cause("upstream-no-work", "There is nothing to prove", &[Running], Common::Common, Effect::Harmless)
        .shows(&[
            (Fact::said("no-work"), A),
            (GPU_IDLE, U),
            (PROVER_IDLE, A),
            (DAEMON_GONE, 0.02),
            (STATUS_REFUSED, 0.1),
            (LOG_SILENT, 0.4),
            (WORK_GOES_ON, 0.3),
            (Fact::said("prover-refused"), 0.01),
        ])
        .proof(&[&[Fact::said("no-work"), PROVER_IDLE]])
        .what("The queue is empty: it is idle and well.")
        .remedy(Act::Wait, "Nothing with the instance; look at the queue.")
        .source("failure catalogue 2.K; prover commit b2c6d33d"),
    cause("age-degradation", "It slows down as it ages", &[Running], Common::Occasional, Effect::Slows)
        .shows(&[(PROOFS_SLOWING, A), (PROOFS_SLOW, O), (THROTTLED, 0.01), (GPU_IDLE, 0.05), (LATE, 0.1)])
        .what("Proofs take longer the longer the process runs.")
        .remedy(Act::MendInstance, "Restart one of several and keep another to compare.")
        .source("boundless-xyz/boundless#1648"),
    cause("post-proof-submit-failed", "Proofs are made and not accepted", &[Running], Common::Occasional, Effect::Harmless)
        .shows(&[(Fact::said("submit-failed"), A), (PROOFS_FAIL, 0.03)])
        .proof(&[&[Fact::said("submit-failed")]])
        .what("Every proof costs money and earns none: what takes them refuses them.")
        .remedy(Act::MendInstance, "Look at the chain and at curio's account.")
        .source("failure catalogue 2.K"),
];
