//! The benchmark.

use super::Phase::{BenchDone, Killed, ParamsDone, Running};
use super::{A, Act, Cause, Common, Effect, N, O, U, cause};
use crate::fact::*;

pub(super) const CAUSES: &[Cause] = &[
    cause("bench-not-started", "No benchmark was started", &[ParamsDone], Common::Occasional, Effect::Stops)
        .shows(&[
            (SCRIPT_GONE, A), (SCRIPT_ENDED_WELL, A), (DAEMON_GONE, A), (BENCH_GONE, A), (STATUS_REFUSED, A),
            (Fact::said("waits-for-daemon"), 0.01),
        ])
        .proof(&[&[SCRIPT_ENDED_WELL, DAEMON_GONE]])
        .what("The script reported its parameters and ended; neither daemon nor benchmark was started.")
        .remedy(Act::MendImage, "Mend the script's order.")
        .source("failure catalogue 2.J"),
    cause("bench-client-hang", "The benchmark waits for an answer that never comes", &[ParamsDone], Common::Occasional, Effect::Stops)
        .shows(&[
            (BENCH_GONE, 0.02), (DAEMON_GONE, 0.02), (STATUS_REFUSED, 0.08), (STATUS_HANGS, 0.02),
            (DAEMON_HANGS_IN_DRIVER, 0.01), (PROVER_IDLE, 0.4), (PROOF_STANDS, 0.6), (LOG_SPOKE, U), (SMI_TIMES_OUT, 0.01),
            (CARD_LOST, 0.005), (Fact::said("waits-for-daemon"), 0.01), (PROOFS_FAIL, 0.05),
        ])
        .what("Its client sets no deadline: one call that is not answered holds it for ever, while the daemon answers others.")
        .remedy(Act::MendInstance, "End the client after saving its stack.")
        .source("prover source: client without deadline"),
    cause("pipeline-deadlock", "The prover's stages wait for each other", &[ParamsDone, Running], Common::Rare, Effect::Stops)
        .shows(&[
            (BENCH_GONE, 0.4), (DAEMON_GONE, 0.02), (STATUS_REFUSED, 0.3), (STATUS_HANGS, 0.6), (DAEMON_HANGS_IN_DRIVER, 0.01),
            (PROVER_IDLE, 0.05), (GPU_IDLE, U), (SMI_TIMES_OUT, 0.01), (CARD_LOST, 0.005),
            (Fact::said("waits-for-daemon"), 0.01),
        ])
        .what("The daemon lives, answers nothing and does nothing. Seen before: an evictor that panics, a lost wake-up.")
        .remedy(Act::MendImage, "Save a stack, restart it; a newer image if it comes back.")
        .source("prover source: history (c6241652)"),
    cause("bench-input-missing", "The benchmark's input is not there", &[Killed, ParamsDone], Common::Occasional, Effect::Ends)
        .shows(&[
            (Fact::said("input-missing"), A), (KILLED_RATE_ZERO, A), (Fact::said("rpc-error"), 0.02),
            (Fact::said("summary"), 0.01), (KILLED_RATE_LOW, N),
        ])
        .proof(&[&[Fact::said("input-missing"), KILLED_RATE_ZERO]])
        .what("The file to be proved is missing: the benchmark ends at once with a rate of zero, and the manager kills it.")
        .remedy(Act::MendImage, "Put the file into the image.")
        .source("failure catalogue 2.J"),
    cause("bench-rpc-abort", "One failed call ended the benchmark", &[Killed, ParamsDone], Common::Occasional, Effect::Ends)
        .shows(&[
            (Fact::said("rpc-error"), A), (KILLED_RATE_ZERO, A), (Fact::said("input-missing"), 0.01),
            (Fact::said("summary"), 0.01), (KILLED_RATE_LOW, N),
        ])
        .proof(&[&[Fact::said("rpc-error"), KILLED_RATE_ZERO]])
        .what("The first call that fails ends it without a summary; the script finds no rate and reports zero.")
        .remedy(Act::MendImage, "Look for what failed the call; have the script report partial results.")
        .source("prover source: batch benchmark"),
    cause("bench-report-lost", "The benchmark has ended and nobody heard", &[ParamsDone, Killed], Common::Occasional, Effect::Stops)
        .shows(&[
            (DONE_UNHEARD, A), (Fact::said("summary"), A), (SCRIPT_TIMED_OUT, U), (SCRIPT_GONE, U), (BENCH_GONE, U), (PROVER_IDLE, O),
            (Fact::said("manager-unanswered"), O), (MANAGER_OUT_OF_REACH, 0.1), (DAEMON_GONE, O), (STATUS_REFUSED, O),
            (KILLED_BENCHMARK_TIMEOUT, U), (SCRIPT_FAILED, O),
        ])
        .proof(&[&[DONE_UNHEARD, SCRIPT_TIMED_OUT]])
        .what("Its log has the summary and the manager still waits for the report: it was lost on the way and not repeated. The work is fine.")
        .remedy(Act::MendInstance, "Send the report again from the machine.")
        .source("failure catalogue 2.J"),
    cause("bench-rate-zero", "The rate was not found in the output", &[Killed], Common::Occasional, Effect::Ends)
        .shows(&[
            (KILLED_RATE_ZERO, A), (Fact::said("rpc-error"), 0.02), (Fact::said("input-missing"), 0.01),
            (Fact::said("summary"), O), (KILLED_RATE_LOW, N),
        ])
        .what("All proofs were made; the script did not find their rate and reported zero.")
        .remedy(Act::MendImage, "Mend how the script reads the summary.")
        .source("failure catalogue 2.J"),
    cause("rate-unit-mismatch", "The rate was reported per minute", &[Killed], Common::Rare, Effect::Ends)
        .shows(&[
            (KILLED_RATE_LOW, A), (KILLED_RATE_SIXTIETH, A), (KILLED_RATE_ZERO, N), (PROOFS_SLOW, 0.03), (MIN_RATE_HIGH, 0.02),
            (KILLED_RATE_OF_OWN, U),
        ])
        // A machine that proves on its processors alone is as slow: its own proofs tell.
        .proof(&[&[KILLED_RATE_SIXTIETH, KILLED_RATE_OF_OWN]])
        .what("The benchmark prints proofs a minute, the manager expects proofs an hour: it looks sixty times too slow.")
        .remedy(Act::MendImage, "Multiply by 60.")
        .source("prover source and manager source compared"),
    cause("rate-below-min-genuine", "The machine is slow", &[ParamsDone, Killed, Running], Common::Common, Effect::Slows)
        .shows(&[
            (KILLED_RATE_LOW, A), (KILLED_RATE_ZERO, N), (KILLED_RATE_SIXTIETH, N), (PROOFS_SLOW, A), (MIN_RATE_HIGH, 0.02),
            (KILLED_BENCHMARK_TIMEOUT, O), (FEW_CORES, 0.03), (CPU_FULL, 0.05), (THROTTLED, 0.01), (BUS_NARROW, 0.01),
            (CARDS_IDLE, 0.01), (QUOTA, 0.01), (PINNING_LIMITED, 0.02), (Fact::said("pinned"), 0.005), (GPU_IDLE, 0.05),
        ])
        .what("Its proofs are made, evenly, and take longer than those of others with this card.")
        .remedy(Act::Replace, "Replace it; remember the machine's rate.")
        .source("failure catalogue 2.J"),
    cause("min-rate-misset", "The minimum rate is more than the card can do", &[Killed], Common::Occasional, Effect::Ends)
        .shows(&[
            (KILLED_RATE_LOW, A), (MIN_RATE_HIGH, A), (KILLED_RATE_ZERO, N), (KILLED_RATE_SIXTIETH, N), (PROOFS_SLOW, 0.03),
        ])
        .what("It proved as fast as others with this card, and was killed for it: the minimum asked for is too high.")
        .remedy(Act::MendManager, "Lower the minimum rate for this card.")
        .source("manager source: min_rate from price"),
    cause("bench-slow-timeout", "Healthy, and slower than the manager's 45 minutes", &[ParamsDone, Killed], Common::Common, Effect::Slows)
        .shows(&[
            (KILLED_BENCHMARK_TIMEOUT, A), (KILLED_RATE_LOW, N), (KILLED_RATE_ZERO, N), (KILLED_RATE_SIXTIETH, N),
            (PROOFS_SLOW, A), (FEW_CORES, 0.03), (CPU_FULL, 0.05), (THROTTLED, 0.01), (BUS_NARROW, 0.01), (CARDS_IDLE, 0.01),
            (QUOTA, 0.01), (PINNING_LIMITED, 0.02), (KILLED_TOO_SOON, N), (Fact::said("pinned"), 0.005), (GPU_IDLE, 0.05),
        ])
        .what("Proofs were made until the end; the manager's timer did not wait for the last of them.")
        .remedy(Act::Replace, "Rent faster machines, or raise the timer.")
        .source("manager source: 45-minute timer"),
    cause("unauthenticated-report", "Somebody else reported for it", &[BenchDone, ParamsDone, Killed], Common::Rare, Effect::Harmless)
        .shows(&[(RATE_IMPLAUSIBLE, A), (BEATEN_TO_IT, A), (LATE, O)])
        .proof(&[&[RATE_IMPLAUSIBLE, BEATEN_TO_IT]])
        .what("The manager checks no sender: a benchmark was reported that its log does not show.")
        .remedy(Act::MendManager, "Close the manager's port to the outside.")
        .source("manager source: no authentication"),
];
