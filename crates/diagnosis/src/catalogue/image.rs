//! What the image contains or lacks.

use super::Phase::{Loading, ParamsDone, Registered};
use super::{A, ANY, Act, Cause, Common, Effect, N, O, S, U, cause};
use crate::fact::*;

pub(super) const CAUSES: &[Cause] = &[
    cause("image-lacks-feature", "The image does not ship these logs: silence by design", ANY, Common::Common, Effect::Hides)
        .shows(&[
            (SHIPPER_GONE, 0.93), (LOG_SPOKE, 0.3), (ONLY_EARLY_SOURCES, O), (MANAGER_OUT_OF_REACH, 0.01), (IMAGE_OLD, O),
            (LOGS_LOST_AT_RESTART, 0.02),
        ])
        .what("An image from before log shipping writes its logs on the machine only. It may be perfectly healthy; its silence tells nothing.")
        .remedy(Act::Wait, "Read the files on the machine. A newer image reaches only instances created after it.")
        .source("the seed article"),
    cause("stale-cached-latest", "The host took an old image from its cache", ANY, Common::Occasional, Effect::Hides)
        .shows(&[
            (SHIPPER_GONE, 0.93), (LOG_SPOKE, 0.3), (ONLY_EARLY_SOURCES, O), (MANAGER_OUT_OF_REACH, 0.01), (IMAGE_OLD, A),
            (LOGS_LOST_AT_RESTART, 0.02),
        ])
        .what("It was rented after the newer image, and its host used what it held under the same tag.")
        .remedy(Act::MendImage, "Rent by digest instead of by tag.")
        .source("kubernetes/kubernetes#3028; kreuzwerker/terraform-provider-docker#58"),
    cause("wrong-arch-image", "The image is built for another kind of processor", &[Loading, Registered], Common::Rare, Effect::Stops)
        .shows(&[(Fact::said("exec-format"), A), (SCRIPT_GONE, A), (SCRIPT_FAILED, U)])
        .proof(&[&[Fact::said("exec-format")]])
        .what("The programs of the image cannot run on this processor.")
        .remedy(Act::MendImage, "Build for this processor as well, or search by cpu_arch.")
        .source("failure catalogue 2.C"),
    cause("missing-shared-library", "A library that the prover needs is missing", &[Registered, ParamsDone], Common::Occasional, Effect::Stops)
        .shows(&[
            (Fact::said("library-missing"), U), (Fact::said("glibc-missing"), S), (DAEMON_ENDED_127, A), (DAEMON_GONE, A),
            (STATUS_REFUSED, A), (Fact::said("waits-for-daemon"), U), (BENCH_WAITS, U),
        ])
        .proof(&[&[Fact::said("library-missing"), DAEMON_ENDED_127]])
        .what("The prover does not start: the loader misses a library. libcuda.so.1 comes from the host, every other from the image.")
        .remedy(Act::MendImage, "Mend the image; where libcuda.so.1 is missing, replace the host.")
        .source("ggml-org/llama.cpp#7774; glifio/filecoin-docker#62; Lilypad-Tech/lilypad#548"),
    cause("cpu-isa-sigill", "The processor lacks instructions of the prover", &[ParamsDone], Common::Occasional, Effect::Stops)
        .shows(&[
            (Fact::said("illegal-instruction"), U), (DAEMON_ENDED_132, A), (NO_ADX, U), (DAEMON_GONE, A), (STATUS_REFUSED, A),
            (Fact::said("waits-for-daemon"), U), (BENCH_WAITS, U),
        ])
        .proof(&[&[DAEMON_ENDED_132, NO_ADX], &[Fact::said("illegal-instruction"), DAEMON_ENDED_132]])
        .what("The prover was built for newer processors and dies with SIGILL on this one.")
        .remedy(Act::Replace, "Rent a newer processor, or build the prover without ADX.")
        .source("filecoin-project/lotus#3891, #4467, #2332"),
    cause("gpu-arch-crash-before-main", "The prover crashes at start on this card generation", &[Registered, ParamsDone], Common::Occasional, Effect::Stops)
        .shows(&[
            (DAEMON_ENDED_139, A), (DAEMON_GONE, A), (STATUS_REFUSED, A), (Fact::said("waits-for-daemon"), U),
            (BENCH_WAITS, U), (Fact::said("segfault"), S),
        ])
        .proof(&[&[DAEMON_ENDED_139]])
        .what("The prover was built without this card generation and crashes before its first line, even for --version.")
        .remedy(Act::MendImage, "Build for the card's generation. Compare cards: all of one generation, none of the others.")
        .source("filecoin-project/curio#1038"),
    cause("init-lib-crash-on-some-gpus", "A library divides by zero at start on this card", &[Registered, ParamsDone], Common::Rare, Effect::Stops)
        .shows(&[
            (DAEMON_ENDED_136, A), (DAEMON_GONE, A), (STATUS_REFUSED, A), (Fact::said("waits-for-daemon"), U),
            (BENCH_WAITS, U),
        ])
        .proof(&[&[DAEMON_ENDED_136]])
        .what("A library that is loaded at start divides by zero on some pairs of card and driver.")
        .remedy(Act::MendImage, "Another version of the library, or other cards.")
        .source("dstackai/dstack#2963"),
    cause("image-missing-tool", "The entrypoint calls a program that the image lacks", &[Loading, Registered], Common::Occasional, Effect::Stops)
        .shows(&[
            (Fact::said("command-missing"), A), (SCRIPT_LACKED_TOOL, A), (SCRIPT_GONE, A), (TUNNEL_GONE, U), (SHIPPER_GONE, U),
            (SSH_REFUSED, S), (LOG_SPOKE, N),
        ])
        .proof(&[&[Fact::said("command-missing"), SCRIPT_LACKED_TOOL]])
        .what("The entrypoint ended at a command that is not in the image: it never registered.")
        .remedy(Act::MendImage, "Add the tool to the image.")
        .source("dstackai/dstack#1065"),
];
