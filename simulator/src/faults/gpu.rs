//! Faults of the card and its driver.

use super::{Does, FaultKind, Place, flag, number, word};
use crate::conditions::{Card, Driver};

const PLACE: Place = Place::Gpu;

pub(super) const FAULTS: &[FaultKind] = &[
    FaultKind {
        id: "no-kernel-image",
        what: "No kernel in the prover suits the card, and nothing can be translated for it.",
        place: Place::Image,
        parameters: &[],
        does: Does::Changes(|on, _| on.software.kernels_missing = true),
    },
    FaultKind {
        id: "driver-too-old",
        what: "The driver is older than the prover's CUDA; the container starts all the same.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| {
            on.gpu.driver = Driver::TooOld;
            on.host.driver = "525.147.05";
        }),
    },
    FaultKind {
        id: "driver-lib-mismatch",
        what: "The host upgrades its driver: what runs goes on, what starts afterwards fails.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.gpu.driver = Driver::LibraryMismatch),
    },
    FaultKind {
        id: "nvml-lost-in-container",
        what: "The host reloads its services, and the container loses its right to the devices.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.gpu.driver = Driver::DevicesLost),
    },
    FaultKind {
        id: "gpu-fell-off-bus",
        what: "The card falls off the bus: calls to it never come back.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.gpu.card = Card::Lost),
    },
    FaultKind {
        id: "gpu-lost-without-xid",
        what: "The card falls off the bus, and the kernel log does not number it.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| {
            on.gpu.card = Card::Lost;
            on.gpu.says_xid = false;
        }),
    },
    FaultKind {
        id: "gsp-timeout",
        what: "The card's firmware no longer answers the driver.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.gpu.card = Card::FirmwareSilent),
    },
    FaultKind {
        id: "ecc-uncorrectable",
        what: "The card reports memory errors that it cannot correct; the process that meets them ends.",
        place: PLACE,
        parameters: &[],
        does: Does::Strikes(|world, index, _| world.ecc_error(index)),
    },
    FaultKind {
        id: "cuda-app-fault",
        what: "A kernel accesses memory that is not its own.",
        place: PLACE,
        parameters: &[number("every", 5.0, "proofs", "how often")],
        does: Does::Changes(|on, given| on.gpu.faults_every = Some(given.count("every").max(1))),
    },
    FaultKind {
        id: "gpu-vram-oom",
        what: "Somebody else holds most of the card's memory.",
        place: PLACE,
        parameters: &[number("taken", 20_000.0, "MiB", "what they hold")],
        does: Does::Changes(|on, given| on.gpu.memory_taken_mib = given.number("taken")),
    },
    FaultKind {
        id: "gpu-mem-leak-sppark",
        what: "Every proof leaves some card memory behind.",
        place: Place::Image,
        parameters: &[number("leak", 200.0, "MiB per proof", "what is left behind")],
        does: Does::Changes(|on, given| on.software.leak_mib = given.number("leak")),
    },
    FaultKind {
        id: "gpu-held-by-other",
        what: "Another process holds the card for itself.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.gpu.driver = Driver::Held),
    },
    FaultKind {
        id: "gpu-throttled",
        what: "The card lowers its clocks under load.",
        place: PLACE,
        parameters: &[
            number("share", 0.45, "of the clocks", "what is left of them"),
            word("reason", &["hw-thermal", "hw-power-brake"], "what the driver says"),
        ],
        does: Does::Changes(|on, given| {
            on.gpu.clock_share = given.number("share");
            on.gpu.throttle_reason =
                if given.word("reason") == "hw-power-brake" { "HW Power Brake Slowdown" } else { "HW Thermal Slowdown" };
        }),
    },
    FaultKind {
        id: "pcie-degraded",
        what: "The card's bus link is narrower or slower than it should be.",
        place: PLACE,
        parameters: &[number("share", 0.12, "of the bandwidth", "what is left of it")],
        does: Does::Changes(|on, given| on.gpu.bus_share = given.number("share")),
    },
    FaultKind {
        id: "fabric-not-ready",
        what: "The fabric manager of the machine is not ready: nothing that uses CUDA can start.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.gpu.driver = Driver::FabricNotReady),
    },
    FaultKind {
        id: "multi-gpu-partial",
        what: "Only some of the rented cards work.",
        place: PLACE,
        parameters: &[number("working", 1.0, "cards", "how many")],
        does: Does::Changes(|on, given| on.gpu.cards_working = Some(u64::from(given.count("working")))),
    },
    FaultKind {
        id: "silent-corruption",
        what: "Memory or card computes wrongly now and then.",
        place: PLACE,
        parameters: &[number("share", 0.4, "of the proofs", "how many come out wrong")],
        does: Does::Changes(|on, given| on.gpu.wrong_share = given.number("share")),
    },
    FaultKind {
        id: "gpu-probe-wedged",
        what: "The driver holds every call back, also the daemon's first look for cards.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.gpu.card = Card::DriverBusy),
    },
    FaultKind {
        id: "driver-lockup-transient",
        what: "The driver holds calls back for a while (`for`), then goes on.",
        place: PLACE,
        parameters: &[flag("logged", false, "the kernel log tells")],
        does: Does::Changes(|on, given| {
            on.gpu.card = Card::DriverBusy;
            on.gpu.says_xid = given.flag("logged");
        }),
    },
];
