//! Faults of the benchmark.

use super::{Does, FaultKind, Place, flag, number};
use crate::conditions::Wedge;

const PLACE: Place = Place::Benchmark;

pub(super) const FAULTS: &[FaultKind] = &[
    FaultKind {
        id: "bench-not-started",
        what: "The script reports the parameters and ends; no benchmark is started.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.software.benchmark_starts = false),
    },
    FaultKind {
        id: "bench-waits-for-daemon",
        what: "The daemon dies after the warm-up; the script waits for its socket without end.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.software.dies_before_main = Some(134)),
    },
    FaultKind {
        id: "bench-client-hang",
        what: "A call to the daemon is never answered, and its client sets no deadline.",
        place: PLACE,
        parameters: &[number("after", 3.0, "proofs", "done before")],
        does: Does::Changes(|on, given| {
            on.software.wedge = Some(Wedge { after_proofs: given.count("after"), spinning: false, client_only: true });
        }),
    },
    FaultKind {
        id: "pipeline-deadlock",
        what: "The prover's stages wait for each other.",
        place: PLACE,
        parameters: &[
            number("after", 0.0, "proofs", "of the benchmark done before"),
            flag("spinning", false, "the card spins at full load instead of idling"),
        ],
        does: Does::Changes(|on, given| {
            on.software.wedge =
                Some(Wedge { after_proofs: given.count("after"), spinning: given.flag("spinning"), client_only: false });
        }),
    },
    FaultKind {
        id: "bench-input-missing",
        what: "The file that the benchmark proves is not there.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.software.benchmark_input = false),
    },
    FaultKind {
        id: "bench-rpc-abort",
        what: "One call of the benchmark fails: it ends without a summary.",
        place: PLACE,
        parameters: &[number("after", 4.0, "proofs", "done before")],
        does: Does::Changes(|on, given| on.software.call_fails_after = Some(given.count("after"))),
    },
    FaultKind {
        id: "bench-report-lost",
        what: "The benchmark finishes; its report is lost on the way and not repeated.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| {
            on.software.loses_benchmark_report = true;
            on.software.gives_up_reports = true;
        }),
    },
    FaultKind {
        id: "bench-rate-zero",
        what: "The script does not find the rate in the benchmark's output and reports none.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.software.result_unread = true),
    },
    FaultKind {
        id: "rate-unit-mismatch",
        what: "The rate is reported per minute.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.software.rate_per_minute = true),
    },
    FaultKind {
        id: "rate-below-min-genuine",
        what: "The machine is slow, evenly and for no other reason.",
        place: PLACE,
        parameters: &[number("factor", 2.2, "times the seconds per proof", "how slow")],
        does: Does::Changes(|on, given| on.software.proof_factor = given.number("factor")),
    },
    FaultKind {
        id: "min-rate-misset",
        what: "The minimum rate is more than the card can do.",
        place: PLACE,
        parameters: &[number("min_rate", 90.0, "proofs/h", "what is asked")],
        does: Does::Changes(|on, given| on.software.min_rate = Some(given.number("min_rate"))),
    },
    FaultKind {
        id: "bench-slow-timeout",
        what: "The benchmark is healthy and slower than the manager's 45 minutes allow.",
        place: PLACE,
        parameters: &[number("factor", 2.4, "times the seconds per proof", "how slow")],
        does: Does::Changes(|on, given| on.software.proof_factor = given.number("factor")),
    },
];
