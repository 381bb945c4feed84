//! The card and its driver.

use super::Phase::{BenchDone, ParamsDone, Running};
use super::{A, ANY, Act, Cause, Common, Effect, O, S, U, cause};
use crate::fact::*;

const WORKING: &[super::Phase] = &[ParamsDone, BenchDone, Running];
const RATED: &[super::Phase] = &[ParamsDone, BenchDone, Running];

pub(super) const CAUSES: &[Cause] = &[
    cause("no-kernel-image", "The prover has no code for this card", &[ParamsDone], Common::Occasional, Effect::Stops)
        .shows(&[(Fact::said("no-kernel"), A), (PROOFS_FAIL, U), (DAEMON_GONE, 0.1), (STATUS_REFUSED, 0.2)])
        .proof(&[&[Fact::said("no-kernel")]])
        .what("No kernel in the prover suits the card's generation, and none can be translated for it.")
        .remedy(Act::MendImage, "Build for this generation. All cards of it fail, and none of the others.")
        .source("vllm#19906; ik_llama.cpp#514; gpustack#1382"),
    cause("driver-too-old", "The driver is older than the prover's CUDA", &[ParamsDone], Common::Occasional, Effect::Stops)
        .shows(&[
            (Fact::said("driver-insufficient"), U), (Fact::said("forward-compatibility"), S), (DRIVER_OLD, A),
            (DAEMON_ENDED_1, U), (DAEMON_GONE, U), (STATUS_REFUSED, U),
        ])
        .proof(&[&[Fact::said("driver-insufficient")], &[Fact::said("forward-compatibility")]])
        .what("The container started all the same; the prover finds that the driver cannot run it.")
        .remedy(Act::Replace, "Rent by driver version.")
        .source("CUDA error table; failure catalogue 2.H"),
    cause("driver-lib-mismatch", "The host upgraded its driver while it ran", ANY, Common::Occasional, Effect::Stops)
        .shows(&[
            (DRIVER_MISMATCH, A), (Fact::said("driver-mismatch"), U), (DAEMON_GONE, O), (STATUS_REFUSED, O),
            (DAEMON_ENDED_1, O), (Fact::said("waits-for-daemon"), O), (BENCH_WAITS, O),
        ])
        .proof(&[&[DRIVER_MISMATCH], &[Fact::said("driver-mismatch")]])
        .what("What was running goes on; what starts now fails. It shows when the daemon is restarted between warm-up and benchmark.")
        .remedy(Act::Replace, "Only a reboot of the host helps: replace it.")
        .source("pando85/homelab#4110; NVIDIA/nvidia-docker#584"),
    cause("nvml-lost-in-container", "The container lost its right to the card", ANY, Common::Occasional, Effect::Stops)
        .shows(&[
            (DEVICES_LOST, A), (Fact::said("nvml-unknown"), U), (Fact::said("no-device"), O), (DAEMON_GONE, O),
            (STATUS_REFUSED, O), (DAEMON_ENDED_1, O), (Fact::said("waits-for-daemon"), O), (BENCH_WAITS, O),
        ])
        .proof(&[&[DEVICES_LOST], &[Fact::said("nvml-unknown")]])
        .what("The host reloaded its services, and the container may no longer open the card's devices. The host itself is well.")
        .remedy(Act::Replace, "Have the container created anew, or replace it.")
        .source("NVIDIA/nvidia-container-toolkit#48; nvidia-docker#1671"),
    cause("gpu-fell-off-bus", "The card fell off the bus (Xid 79)", WORKING, Common::Occasional, Effect::Stops)
        .shows(&[
            (CARD_LOST, A), (XID_79, A), (OFF_BUS_UNNUMBERED, 0.01), (DAEMON_HANGS_IN_DRIVER, U),
            (Fact::said("card-lost"), 0.1), (Fact::said("off-the-bus"), 0.1), (DAEMON_GONE, 0.05), (STATUS_HANGS, S),
            (PROOF_STANDS, O), (Fact::said("no-device"), 0.1),
        ])
        .proof(&[&[CARD_LOST, XID_79]])
        .what("Calls to the card never come back; the process cannot be ended. One dead card can block every other of the host.")
        .remedy(Act::Replace, "Replace it and remember the machine.")
        .source("lotus#5958; NVIDIA/open-gpu-kernel-modules#888; akash-network/support#209"),
    cause("gpu-lost-without-xid", "The card fell off the bus, without a number", WORKING, Common::Rare, Effect::Stops)
        .shows(&[
            (CARD_LOST, A), (XID_79, 0.01), (OFF_BUS_UNNUMBERED, A), (DAEMON_HANGS_IN_DRIVER, U),
            (Fact::said("card-lost"), 0.1), (Fact::said("off-the-bus"), 0.1), (DAEMON_GONE, 0.05), (STATUS_HANGS, S),
            (PROOF_STANDS, O), (Fact::said("no-device"), 0.1),
        ])
        .proof(&[&[CARD_LOST, OFF_BUS_UNNUMBERED]])
        .what("As Xid 79, with a kernel log that does not number it: do not look for the word Xid alone.")
        .remedy(Act::Replace, "Replace it and remember the machine.")
        .source("NVIDIA/NVSentinel#155; gpud#1209"),
    cause("gsp-timeout", "The card's firmware does not answer", ANY, Common::Occasional, Effect::Stops)
        .shows(&[
            (SMI_TIMES_OUT, A), (XID_GSP, A), (DAEMON_HANGS_IN_DRIVER, U), (Fact::said("gsp"), 0.1), (DAEMON_GONE, 0.05),
            (STATUS_HANGS, S), (PROOF_STANDS, O),
        ])
        .proof(&[&[SMI_TIMES_OUT, XID_GSP]])
        .what("Every question to the card takes most of a minute or does not come back. Ending a process of the card by force can cause it.")
        .remedy(Act::Replace, "Replace it. Do not kill and retry.")
        .source("open-gpu-kernel-modules#446; NVIDIA/dcgm-exporter#84"),
    cause("ecc-uncorrectable", "The card's memory has errors", WORKING, Common::Rare, Effect::Stops)
        .shows(&[
            (XID_ECC, A), (Fact::said("ecc"), O), (DAEMON_GONE, U), (DAEMON_ENDED_134, U), (STATUS_REFUSED, U),
            (Fact::said("prover-refused"), U),
        ])
        .proof(&[&[XID_ECC]])
        .what("The card reports memory errors that it cannot correct; the process that meets them ends.")
        .remedy(Act::Replace, "Replace it.")
        .source("NVIDIA's Xid catalogue, by way of gpud"),
    cause("cuda-app-fault", "A kernel accesses memory that is not its own", WORKING, Common::Occasional, Effect::Slows)
        .shows(&[(Fact::said("illegal-access"), A), (XID_FAULT, A), (PROOFS_FAIL, U), (PROOFS_SLOW, 0.2), (GPU_IDLE, 0.2)])
        .proof(&[&[Fact::said("illegal-access")], &[XID_FAULT, PROOFS_FAIL]])
        .what("Some proofs end in an illegal access. Usually software; hardware if this machine repeats it and the same image elsewhere does not.")
        .remedy(Act::MendInstance, "Restart the daemon; compare with the same image elsewhere.")
        .source("NVIDIA's Xid catalogue: 13, 31"),
    cause("gpu-vram-oom", "The card's memory is taken by somebody else", WORKING, Common::Occasional, Effect::Stops)
        .shows(&[
            (Fact::said("out-of-memory"), A), (Fact::said("pinned"), 0.01), (PROOFS_FAIL, U), (CARD_MEMORY_TAKEN, U),
            (MANY_COMPLETED, 0.03), (DAEMON_GONE, 0.15), (LOG_SILENT, 0.7),
        ])
        .what("There is not enough of the card's memory left for a proof.")
        .remedy(Act::Replace, "Find the other process; else replace it, with a card of its own.")
        .source("filecoin-project/lotus#2203"),
    cause("gpu-mem-leak-sppark", "Every proof leaves card memory behind", &[Running, ParamsDone], Common::Occasional, Effect::Stops)
        .shows(&[
            (Fact::said("out-of-memory"), A), (Fact::said("pinned"), 0.01), (PROOFS_FAIL, U), (MANY_COMPLETED, A),
            (CARD_MEMORY_TAKEN, U), (DAEMON_GONE, 0.15), (LOG_SILENT, 0.7), (LATE, 0.1),
        ])
        .what("Card memory climbs with every proof until none is left: sppark 0.1.12 to 0.1.14, in images built before 2026-02-27.")
        .remedy(Act::MendImage, "Restart the daemon for now; a newer image for good.")
        .source("lotus#13634, #13635; supranational/sppark#81"),
    cause("gpu-held-by-other", "Another process holds the card for itself", &[ParamsDone], Common::Occasional, Effect::Stops)
        .shows(&[
            (Fact::said("device-busy"), A), (DAEMON_ENDED_1, U), (DAEMON_GONE, U), (STATUS_REFUSED, U),
            (Fact::said("waits-for-daemon"), O), (BENCH_WAITS, O),
        ])
        .proof(&[&[Fact::said("device-busy")]])
        .what("The card is in exclusive mode, or a left-over process has it.")
        .remedy(Act::Replace, "End your own left-over; else replace it.")
        .source("3dem/relion#1182; DIGITS#2005"),
    cause("stale-gpu-lock", "A lock file of an earlier prover is left", &[ParamsDone], Common::Rare, Effect::Stops)
        .shows(&[(Fact::said("gpu-lock"), A), (PROOFS_FAIL, O)])
        .proof(&[&[Fact::said("gpu-lock")]])
        .what("A lock file of the card belongs to another user, or to a prover that died. Only the bellperson way of proving has it.")
        .remedy(Act::MendInstance, "Remove the lock file.")
        .source("filecoin-project/lotus#6980; bellperson#126"),
    cause("gpu-throttled", "The card has lowered its clocks", RATED, Common::Occasional, Effect::Slows)
        .shows(&[(THROTTLED, A), (GPU_IDLE, 0.03), (KILLED_RATE_LOW, O), (KILLED_BENCHMARK_TIMEOUT, O), (PROOFS_SLOWING, 0.02)])
        .proof(&[&[THROTTLED, PROOFS_SLOW]])
        .what("Heat, the power supply or the host's limits lower the clocks under load. A software power limit alone is normal.")
        .remedy(Act::Replace, "Replace it; the machine will not get cooler.")
        .source("gpud#330; Azure/azurehpc#595"),
    cause("pcie-degraded", "The card's bus link is not what it should be", RATED, Common::Occasional, Effect::Slows)
        .shows(&[(BUS_NARROW, A), (GPU_IDLE, 0.2), (KILLED_RATE_LOW, O), (KILLED_BENCHMARK_TIMEOUT, O)])
        .proof(&[&[BUS_NARROW, PROOFS_SLOW]])
        .what("Fewer lanes or a slower generation than there should be, under load. An idle link at generation 1 is normal.")
        .remedy(Act::Replace, "Replace it: mining rigs are often built so.")
        .source("failure catalogue 2.H; Syllo/nvtop#6"),
    cause("fabric-not-ready", "The machine's fabric manager is not ready (CUDA 802)", &[ParamsDone], Common::Rare, Effect::Stops)
        .shows(&[
            (Fact::said("fabric"), A), (DAEMON_ENDED_1, U), (DAEMON_GONE, U), (STATUS_REFUSED, U),
            (Fact::said("waits-for-daemon"), O), (BENCH_WAITS, O),
        ])
        .proof(&[&[Fact::said("fabric")]])
        .what("nvidia-smi is perfect and nothing that uses CUDA can start. Boards with NVSwitch only.")
        .remedy(Act::Replace, "Replace it.")
        .source("huggingface/huggingface_hub#4128; wilicc/gpu-burn#92"),
    cause("multi-gpu-partial", "Only some of its cards work", RATED, Common::Occasional, Effect::Slows)
        .shows(&[
            (CARDS_IDLE, A), (PROOFS_SLOW, O), (KILLED_RATE_LOW, O), (KILLED_BENCHMARK_TIMEOUT, O), (GPU_IDLE, 0.1),
            (PROOFS_FAIL, 0.04),
        ])
        .what("Some of the rented cards do nothing, and all of them are paid for.")
        .remedy(Act::Replace, "Replace it, or rent single cards.")
        .source("failure catalogue 2.H"),
    cause("silent-corruption", "Memory or card computes wrongly now and then", &[ParamsDone, Running], Common::Occasional, Effect::Harmless)
        .shows(&[(Fact::said("self-check"), A), (Fact::said("verify"), S), (PROOFS_FAIL, U), (KILLED_RATE_LOW, S)])
        .what("Some proofs come out wrong. Where it follows the host it is memory or card, where it follows the image it is software.")
        .remedy(Act::Replace, "Prove the same input five times here and on a good host; replace what fails.")
        .source("rust-fil-proofs#1185, #1736, #1230"),
    cause("gpu-probe-wedged", "The driver holds back every question to the card", ANY, Common::Rare, Effect::Stops)
        .shows(&[
            (SMI_TIMES_OUT, A), (XID_GSP, 0.02), (CARD_LOST, 0.01), (DAEMON_HANGS_IN_DRIVER, A), (DAEMON_GONE, 0.05),
            (STATUS_HANGS, S), (PROOF_STANDS, O),
        ])
        .what("Even looking for cards hangs in the driver; logs are silent for ever. The kernel says nothing of it.")
        .remedy(Act::Replace, "Replace it.")
        .source("tobocop2/lilbee#540"),
    cause("driver-lockup-transient", "The driver holds calls back for a while", &[ParamsDone, Running], Common::Rare, Effect::Stops)
        .shows(&[
            (SMI_TIMES_OUT, A), (XID_GSP, 0.02), (CARD_LOST, 0.01), (DAEMON_HANGS_IN_DRIVER, A), (DAEMON_GONE, 0.05),
            (STATUS_HANGS, S), (PROOF_STANDS, O),
        ])
        .what("No progress for minutes to hours, then it goes on. While it lasts it looks like a driver that hangs for good.")
        .remedy(Act::Wait, "Give it some minutes before destroying it.")
        .source("rust-fil-proofs#1333"),
    cause("multi-gpu-on-gpu0", "All work goes to the first card", &[ParamsDone, Running], Common::Rare, Effect::Slows)
        .shows(&[(CARDS_IDLE, A), (PROOFS_SLOW, O), (Fact::said("self-check"), 0.7), (PROOFS_FAIL, 0.6)])
        .what("An old image proves on card 0 alone, and corrupts proofs on machines with several.")
        .remedy(Act::MendImage, "A newer image (fixed in 87852b47).")
        .source("prover source: history"),
    cause("jobid-collision", "Requests of the same number mix", &[ParamsDone, Running], Common::Rare, Effect::Harmless)
        .shows(&[(Fact::said("self-check"), A), (PROOFS_FAIL, A)])
        .what("An old image mixes the parts of requests with one id: every self-check fails, which looks like bad memory.")
        .remedy(Act::MendImage, "A newer image (fixed in b2c6d33d).")
        .source("prover source: history"),
];
