//! Faults of the prover daemon's start.

use super::{Does, FaultKind, Place, number};

const PLACE: Place = Place::Daemon;

pub(super) const FAULTS: &[FaultKind] = &[
    FaultKind {
        id: "daemon-config-invalid",
        what: "The daemon's configuration cannot be read; it ends at once.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.software.config_valid = false),
    },
    FaultKind {
        id: "daemon-address-mismatch",
        what: "Daemon and benchmark client mean different addresses.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.software.addresses_agree = false),
    },
    FaultKind {
        id: "daemon-port-in-use",
        what: "The daemon of the warm-up keeps the port: the new one says it is ready, fails to bind and ends.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.software.port_taken = true),
    },
    FaultKind {
        id: "daemon-crash-loop",
        what: "The daemon is supervised and ends at every start.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| {
            on.software.supervised = true;
            on.software.dies_before_main = Some(134);
        }),
    },
    FaultKind {
        id: "status-disabled-by-default",
        what: "The daemon does not serve its status. Nothing else is different.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.software.serves_status = false),
    },
    FaultKind {
        id: "srs-load-slow",
        what: "Loading 44 GiB of parameters takes long, for the disk is slow.",
        place: Place::Host,
        parameters: &[number("share", 0.03, "of the disk's speed", "what is left of it")],
        does: Does::Changes(|on, given| on.host.disk_share = given.number("share")),
    },
    FaultKind {
        id: "pce-extraction-first-proof",
        what: "The first proof extracts the circuit before it proves, on the processors alone.",
        place: PLACE,
        parameters: &[number("extra", 480.0, "s", "beyond the usual")],
        does: Does::Changes(|on, given| on.software.extraction_s = given.number("extra")),
    },
    FaultKind {
        id: "cuda-jit-first-launch",
        what: "The image has no native code for the card: the driver translates it at first launch, without a word.",
        place: PLACE,
        parameters: &[number("takes", 420.0, "s", "the translation")],
        does: Does::Changes(|on, given| on.software.translation_s = given.number("takes")),
    },
];
