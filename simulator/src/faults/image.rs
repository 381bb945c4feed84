//! Faults of the image. They are also what an older or a wrongly built image is like.

use super::{Does, FaultKind, Place, word};

const PLACE: Place = Place::Image;

pub(super) const FAULTS: &[FaultKind] = &[
    FaultKind {
        id: "image-lacks-feature",
        what: "The image is from before log shipping, wholly or for the benchmark's sources. Its work is not affected.",
        place: PLACE,
        parameters: &[word("lacks", &["all", "benchmark"], "sources that it does not ship")],
        does: Does::Changes(|on, given| match given.word("lacks") {
            "benchmark" => on.software.unshipped = &["benchdaemon", "benchout"],
            _ => on.software.ships_nothing = true,
        }),
    },
    FaultKind {
        id: "stale-cached-latest",
        what: "The host holds the oldest image of the scenario under the same tag and does not pull the newer one.",
        place: Place::Host,
        parameters: &[],
        does: Does::Strikes(|world, index, _| world.use_cached_image(index)),
    },
    FaultKind {
        id: "missing-shared-library",
        what: "A library that the prover needs is not in the image (or, for libcuda, not given by the host).",
        place: PLACE,
        parameters: &[word("library", &["libhwloc.so.15", "libcuda.so.1", "libssl.so.1.1"], "which")],
        does: Does::Changes(|on, given| on.software.library_lacking = Some(given.word("library"))),
    },
    FaultKind {
        id: "cpu-isa-sigill",
        what: "The processors lack instructions that the prover was built with.",
        place: Place::Host,
        parameters: &[],
        does: Does::Changes(|on, _| on.host.adx = false),
    },
    FaultKind {
        id: "gpu-arch-crash-before-main",
        what: "The prover was built without this card generation and dies before its first line, even for --version.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.software.dies_before_main = Some(139)),
    },
    FaultKind {
        id: "init-lib-crash-on-some-gpus",
        what: "A library that is loaded at start divides by zero with this card and driver.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.software.dies_before_main = Some(136)),
    },
    FaultKind {
        id: "image-missing-tool",
        what: "The entrypoint calls a tool that the image lacks.",
        place: PLACE,
        parameters: &[word("tool", &["curl", "ssh"], "which")],
        does: Does::Changes(|on, given| on.software.tool_lacking = Some(given.word("tool"))),
    },
];
