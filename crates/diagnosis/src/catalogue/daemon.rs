//! The prover daemon's start.

use super::Phase::{BenchDone, ParamsDone, Running};
use super::{A, Act, Cause, Common, Effect, N, O, S, U, cause};
use crate::fact::*;

pub(super) const CAUSES: &[Cause] = &[
    cause("daemon-config-invalid", "The prover daemon refuses its configuration", &[ParamsDone], Common::Occasional, Effect::Stops)
        .shows(&[
            (Fact::said("config-invalid"), A), (DAEMON_ENDED_1, A), (DAEMON_GONE, A), (STATUS_REFUSED, A),
            (Fact::said("waits-for-daemon"), U), (BENCH_WAITS, U),
        ])
        .proof(&[&[Fact::said("config-invalid")]])
        .what("Its configuration cannot be read: it ends at once. A missing file is no error: it then listens elsewhere.")
        .remedy(Act::MendImage, "Mend the configuration; its first five lines say what it read.")
        .source("prover source"),
    cause("daemon-address-mismatch", "Daemon and benchmark mean different addresses", &[ParamsDone], Common::Occasional, Effect::Stops)
        .shows(&[
            (Fact::said("daemon-unreachable"), A), (DAEMON_GONE, 0.02), (PROVER_IDLE, A), (STATUS_REFUSED, 0.1),
            (BENCH_WAITS, O), (GPU_IDLE, A),
        ])
        .proof(&[&[Fact::said("daemon-unreachable"), PROVER_IDLE]])
        .what("The daemon is healthy and has nothing to do; its client knocks at another door.")
        .remedy(Act::MendImage, "Compare what it listens on with what the benchmark is told.")
        .source("failure catalogue 2.G"),
    cause("daemon-port-in-use", "An earlier daemon holds the address", &[ParamsDone], Common::Occasional, Effect::Stops)
        .shows(&[
            (Fact::said("address-in-use"), A), (DAEMON_ENDED_1, U), (TWO_DAEMONS, O), (DAEMON_GONE, 0.3), (STATUS_REFUSED, U),
            (Fact::said("waits-for-daemon"), U), (BENCH_WAITS, U),
        ])
        .proof(&[&[Fact::said("address-in-use")]])
        .what("It says that it is ready before it binds, then ends: the daemon of the warm-up still holds the address and the card's memory.")
        .remedy(Act::MendInstance, "End the earlier daemon, then start again.")
        .source("prover source; failure catalogue 2.G"),
    cause("daemon-crash-loop", "The prover daemon is started again and again", &[ParamsDone, BenchDone, Running], Common::Occasional, Effect::Stops)
        .shows(&[
            (DAEMON_STARTS_AGAIN, A), (DAEMON_ENDS_AGAIN, A), (DAEMON_GONE, 0.6), (STATUS_REFUSED, U),
            (Fact::said("panic"), O), (DAEMON_ENDED_134, O), (LOG_SILENT, 0.6), (Fact::said("waits-for-daemon"), O),
            (BENCH_WAITS, O),
        ])
        .proof(&[&[DAEMON_STARTS_AGAIN, DAEMON_ENDS_AGAIN]])
        .what("A supervisor starts it whenever it ends; the exit code tells why.")
        .remedy(Act::MendImage, "Go by the exit code and the last lines before it.")
        .source("failure catalogue 2.G"),
    cause("srs-load-slow", "Parameters are loaded from a slow disk", &[ParamsDone], Common::Common, Effect::Slows)
        .shows(&[
            (DISK_SLOW, A), (DAEMON_GONE, 0.02), (STATUS_REFUSED, 0.3), (LOG_SILENT, O), (WORK_GOES_ON, 0.4), (GPU_IDLE, O),
            (STANDS_LONG, 0.12), (PROVER_IDLE, 0.15), (PAUSED, O), (PROOFS_SLOW, 0.06), (PROOF_STANDS, S), (BENCH_GONE, 0.4),
            (DAEMON_HANGS_IN_DRIVER, 0.005), (Fact::said("loading-parameters"), U),
        ])
        .what("44 GiB from a slow disk: minutes without a line, and the card idles.")
        .remedy(Act::Wait, "Wait; memory in use grows while it loads. Rent faster disks.")
        .source("failure catalogue 2.G"),
    cause("pce-extraction-first-proof", "The first proof extracts its circuit", &[ParamsDone], Common::Common, Effect::Slows)
        .shows(&[
            (Fact::said("extraction"), A), (DAEMON_GONE, 0.02), (GPU_IDLE, O), (STANDS_LONG, 0.1), (PROVER_IDLE, 0.15),
            (PAUSED, O), (LOG_SILENT, 0.3), (WORK_GOES_ON, 0.6), (PROOFS_SLOW, 0.06), (DISK_SLOW, 0.02), (BENCH_GONE, 0.1),
            (STATUS_REFUSED, 0.3), (DAEMON_HANGS_IN_DRIVER, 0.005),
        ])
        .what("Processors only, for minutes, on the first proof of a machine. The next one is much faster.")
        .remedy(Act::Wait, "Wait.")
        .source("prover source: no cached circuit on a new machine"),
    cause("cuda-jit-first-launch", "The driver translates the prover for this card", &[ParamsDone], Common::Common, Effect::Slows)
        .shows(&[
            (LOG_SILENT, 0.6), (STANDS_LONG, 0.05), (PAUSED, O), (PROVER_IDLE, 0.4), (BENCH_GONE, 0.1), (STATUS_REFUSED, 0.25),
            (GPU_IDLE, O), (DAEMON_GONE, 0.02), (WORK_GOES_ON, 0.4), (PROOFS_SLOW, 0.06), (Fact::said("extraction"), 0.01),
            (DISK_SLOW, 0.02), (LATE, 0.3), (DAEMON_HANGS_IN_DRIVER, N), (STATUS_HANGS, 0.02),
        ])
        .what("The image has no code for this card generation: the driver translates it at first launch, for minutes and without a word.")
        .remedy(Act::Wait, "Wait; build for the card, or keep the cache.")
        .source("sppark 0.1.14's build flags; tensorflow#22043"),
    cause("doc-code-skew", "The prover does not do what its documentation says", &[ParamsDone], Common::Rare, Effect::Harmless)
        .what("It loads parameters on demand and ignores two settings with a warning: no proof within the first minutes is normal.")
        .remedy(Act::Wait, "Wait.")
        .source("prover source and documentation compared")
        .unranked(),
    cause("bench-waits-for-daemon", "The benchmark waits for a daemon that is gone", &[ParamsDone], Common::Common, Effect::Stops)
        .shows(&[
            (Fact::said("waits-for-daemon"), A), (DAEMON_GONE, A), (BENCH_WAITS, A), (STATUS_REFUSED, A),
            (DAEMON_ENDED_134, O), (Fact::said("panic"), O), (DAEMON_ENDED_127, N), (DAEMON_ENDED_132, N),
            (DAEMON_ENDED_136, N), (DAEMON_ENDED_139, N), (DAEMON_ENDED_137, N), (OOM_KILLS, N),
        ])
        .what("The script loops on a socket that never opens, because the daemon died. Why it died is a question of its own.")
        .remedy(Act::MendInstance, "Find why the daemon ended: its exit code and its last lines.")
        .source("failure catalogue 2.J"),
];
