//! Faults of the rented machine and of its place in the market.

use super::{Does, FaultKind, Place, number, word};

const PLACE: Place = Place::Host;

pub(super) const FAULTS: &[FaultKind] = &[
    FaultKind {
        id: "host-gpu-refuses-start",
        what: "The host's container runtime cannot give the card to a container.",
        place: PLACE,
        parameters: &[word("says", &["gpu-error", "device-handle", "nvidia-container-cli"], "what the host reports")],
        does: Does::Changes(|on, given| {
            on.host.start_refusal = Some(match given.word("says") {
                "device-handle" => "Unable to determine the device handle for GPU 0000:01:00.0: Unknown Error",
                "nvidia-container-cli" => "nvidia-container-cli: device error: 0: unknown device",
                _ => "Error: GPU error, unable to start instance.",
            });
        }),
    },
    FaultKind {
        id: "image-pull-slow",
        what: "The host reaches the image registry with a small share of its bandwidth.",
        place: PLACE,
        parameters: &[number("share", 0.03, "of the bandwidth", "what is left of it")],
        does: Does::Changes(|on, given| on.host.pull_share = given.number("share")),
    },
    FaultKind {
        id: "image-pull-refused",
        what: "The image registry refuses the host.",
        place: PLACE,
        parameters: &[word("answer", &["rate-limit", "denied", "manifest-unknown"], "what the registry answers")],
        does: Does::Changes(|on, given| {
            on.host.pull_refusal = Some(match given.word("answer") {
                "denied" => {
                    "Error response from daemon: pull access denied, repository does not exist or may require authorization"
                }
                "manifest-unknown" => "Error response from daemon: manifest unknown",
                _ => "Error response from daemon: toomanyrequests: You have reached your pull rate limit.",
            });
        }),
    },
    FaultKind {
        id: "container-create-failed",
        what: "The host's container runtime fails to create the container.",
        place: PLACE,
        parameters: &[word("says", &["cdi", "layer", "space"], "what it fails on")],
        does: Does::Changes(|on, given| {
            on.host.start_refusal = Some(match given.word("says") {
                "layer" => "Error response from daemon: layer does not exist",
                "space" => "Error response from daemon: write /var/lib/docker/overlay2: no space left on device",
                _ => "OCI runtime create failed: failed to inject CDI devices: unresolvable CDI devices nvidia.com/gpu=0",
            });
        }),
    },
    FaultKind {
        id: "driver-too-old-at-create",
        what: "The host's driver is older than the image requires; the runtime refuses to create the container.",
        place: PLACE,
        parameters: &[number("cuda_max", 12.2, "CUDA version", "newest that the driver supports")],
        does: Does::Changes(|on, given| {
            on.host.cuda_max = given.number("cuda_max");
            on.host.driver = "535.183.01";
        }),
    },
    FaultKind {
        id: "scheduling-gpu-taken",
        what: "The instance is stopped for a moment, and another tenant gets the card.",
        place: PLACE,
        parameters: &[],
        does: Does::ChangesAndStrikes(
            |on, _| on.host.card_taken = true,
            |world, index, _| {
                world.stop_by_host(index);
                world.set_intended(index, true);
            },
        ),
    },
    FaultKind {
        id: "host-offline",
        what: "The host loses its connection.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.host.offline = true),
    },
    FaultKind {
        id: "outbid-preempted",
        what: "Somebody bids more for the machine. Strikes interruptible rentals (`bid` in the wave) below that price.",
        place: PLACE,
        parameters: &[number("bid", 0.6, "$/h", "the other's bid")],
        does: Does::Strikes(|world, index, given| world.outbid(index, given.number("bid"))),
    },
    FaultKind {
        id: "rental-expired",
        what: "The rental's end date passes.",
        place: PLACE,
        parameters: &[],
        does: Does::Strikes(|world, index, _| world.expire(index)),
    },
    FaultKind {
        id: "destroyed-outside",
        what: "Somebody with a key of the account destroys the instance, past the manager.",
        place: Place::Vast,
        parameters: &[],
        does: Does::Strikes(|world, index, _| world.end_rental(index)),
    },
    FaultKind {
        id: "host-lost",
        what: "The host leaves vast.ai, with its rentals.",
        place: PLACE,
        parameters: &[],
        does: Does::Strikes(|world, index, _| world.end_rental(index)),
    },
    FaultKind {
        id: "direct-port-broken",
        what: "The host maps no ports to the outside.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.host.direct_ports = false),
    },
];
