//! Faults of the time after the benchmark.

use super::{Does, FaultKind, Place, number};

const PLACE: Place = Place::Running;

pub(super) const FAULTS: &[FaultKind] = &[
    FaultKind {
        id: "running-call-failed",
        what: "The entrypoint ends before it reports that the prover runs.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.software.never_reports_running = true),
    },
    FaultKind {
        id: "daemon-died-after-running",
        what: "The prover daemon ends.",
        place: PLACE,
        parameters: &[],
        does: Does::Strikes(|world, index, _| world.end_daemon(index, 134)),
    },
    FaultKind {
        id: "worker-panicked-process-alive",
        what: "A worker thread of the prover dies; the process stays.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.software.worker_dead = true),
    },
    FaultKind {
        id: "upstream-no-work",
        what: "There is nothing to prove. Nothing is wrong with the instance.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.software.has_work = false),
    },
    FaultKind {
        id: "age-degradation",
        what: "Proofs become slower the longer the prover runs.",
        place: PLACE,
        parameters: &[number("per_hour", 0.08, "of the time", "added every hour")],
        does: Does::Changes(|on, given| on.software.aging_per_h = given.number("per_hour")),
    },
    FaultKind {
        id: "post-proof-submit-failed",
        what: "Proofs are made and not accepted.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.software.proofs_accepted = false),
    },
];
