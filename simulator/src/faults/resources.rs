//! Faults of memory, processors and disk.

use super::{Does, FaultKind, Place, number};

const PLACE: Place = Place::Resources;
const HOST: Place = Place::Host;

pub(super) const FAULTS: &[FaultKind] = &[
    FaultKind {
        id: "host-oom-cgroup",
        what: "The container's share of the host's memory is small; the prover takes its budget from the whole host.",
        place: HOST,
        parameters: &[number("share", 0.25, "of the host's memory", "what the container may use")],
        does: Does::Changes(|on, given| on.host.memory_share = given.number("share")),
    },
    FaultKind {
        id: "host-oom-global",
        what: "A neighbour uses up the host's memory; the kernel ends the largest process, which is ours.",
        place: HOST,
        parameters: &[],
        does: Does::ChangesAndStrikes(|on, _| on.host.memory_exhausted = true, |world, index, _| world.global_oom(index)),
    },
    FaultKind {
        id: "budget-starved-wait",
        what: "The prover's memory budget is smaller than what one proof needs: it waits for ever.",
        place: PLACE,
        parameters: &[number("budget", 64.0, "GiB", "its budget")],
        does: Does::Changes(|on, given| on.software.budget_gib = Some(given.number("budget"))),
    },
    FaultKind {
        id: "pinned-alloc-failed",
        what: "Memory cannot be pinned: copies to the card go the slow way.",
        place: HOST,
        parameters: &[],
        does: Does::Changes(|on, _| on.host.pins_memory = false),
    },
    FaultKind {
        id: "cpu-starved",
        what: "The container has far fewer effective cores than the offer lists.",
        place: HOST,
        parameters: &[number("share", 0.2, "of the cores", "what it has")],
        does: Does::Changes(|on, given| on.host.cpu_share = given.number("share")),
    },
    FaultKind {
        id: "cpu-quota-throttled",
        what: "A quota stops the container's processes for part of every period, while they start as many threads as the host has cores.",
        place: HOST,
        parameters: &[number("share", 0.25, "of the cores", "the quota")],
        does: Does::Changes(|on, given| {
            on.host.cpu_share = given.number("share");
            on.host.cpu_quota = true;
        }),
    },
    FaultKind {
        id: "disk-slow",
        what: "The disk is slow for everything: fetching, loading, writing.",
        place: HOST,
        parameters: &[number("share", 0.01, "of the disk's speed", "what is left of it")],
        does: Does::Changes(|on, given| on.host.disk_share = given.number("share")),
    },
    FaultKind {
        id: "disk-full-runtime",
        what: "Something fills the disk; then nothing can be written, logs included.",
        place: HOST,
        parameters: &[number("fill", 200.0, "GB per hour", "how fast")],
        does: Does::Changes(|on, given| on.host.disk_fill_gb_h = given.number("fill")),
    },
    FaultKind {
        id: "noisy-neighbour-pcie",
        what: "A neighbour shares the bus to the card.",
        place: HOST,
        parameters: &[number("share", 0.4, "of the bandwidth", "what is left of it")],
        does: Does::Changes(|on, given| {
            on.gpu.bus_share = given.number("share");
            on.gpu.bus_shared = true;
        }),
    },
    FaultKind {
        id: "noisy-neighbour-cpu",
        what: "A neighbour uses the processors.",
        place: HOST,
        parameters: &[number("share", 0.5, "of the cores", "what is left of them")],
        does: Does::Changes(|on, given| on.host.cpu_share = given.number("share")),
    },
];
