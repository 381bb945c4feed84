//! Memory, processors, disk.

use super::Phase::{BenchDone, ParamsDone, Registered, Running};
use super::{A, ANY, Act, Cause, Common, Effect, O, S, U, cause};
use crate::fact::*;

const RATED: &[super::Phase] = &[ParamsDone, BenchDone, Running];

pub(super) const CAUSES: &[Cause] = &[
    cause("host-oom-cgroup", "The prover was ended for the container's memory limit", &[ParamsDone, BenchDone, Running], Common::Common, Effect::Stops)
        .shows(&[
            (OOM_KILLS, A), (DAEMON_ENDED_137, A), (DAEMON_GONE, A), (STATUS_REFUSED, A), (SMALL_MEMORY, U),
            (OOM_GLOBAL, 0.01), (Fact::said("killed-for-memory"), 0.1), (Fact::said("waits-for-daemon"), O), (BENCH_WAITS, O),
            (Fact::said("rpc-error"), S), (Fact::said("prover-refused"), O),
        ])
        .proof(&[&[OOM_KILLS, DAEMON_ENDED_137]])
        .what("The prover sizes its budget by the host's memory, not by the container's limit, and the kernel ends it without a farewell line.")
        .remedy(Act::Replace, "Set total_budget by hand, or rent machines whose limit is their memory.")
        .source("prover source: budget from /proc/meminfo"),
    cause("host-oom-global", "The host ran out of memory", ANY, Common::Occasional, Effect::Stops)
        .shows(&[
            (OOM_KILLS, 0.02), (OOM_GLOBAL, A), (DAEMON_ENDED_137, A), (DAEMON_GONE, A), (STATUS_REFUSED, A),
            (Fact::said("waits-for-daemon"), O), (BENCH_WAITS, O), (Fact::said("prover-refused"), O),
        ])
        .proof(&[&[OOM_GLOBAL, DAEMON_ENDED_137]])
        .what("Another tenant used the host's memory up; the kernel ended the largest process, which was this prover.")
        .remedy(Act::Replace, "Replace it.")
        .source("moby/moby#47418, #15621"),
    cause("budget-starved-wait", "A proof needs more memory than the prover's budget", &[ParamsDone], Common::Occasional, Effect::Stops)
        .shows(&[
            (Fact::said("budget"), U), (PROOF_PENDING, A), (DAEMON_GONE, 0.02), (STATUS_REFUSED, 0.1), (PROOFS_FAIL, 0.02),
        ])
        .proof(&[&[Fact::said("budget"), PROOF_PENDING]])
        .what("One proof takes 84 GiB (parameters 44, circuit 26, working set 14); with less it waits for ever after one warning.")
        .remedy(Act::Replace, "Rent more memory, or set the budget higher.")
        .source("prover source: memory budget"),
    cause("pinned-alloc-failed", "Memory cannot be pinned", RATED, Common::Occasional, Effect::Slows)
        .shows(&[
            (Fact::said("pinned"), A), (PINNING_LIMITED, A), (KILLED_RATE_LOW, O),
            (GPU_IDLE, 0.2), (KILLED_BENCHMARK_TIMEOUT, O),
        ])
        .proof(&[&[Fact::said("pinned"), PINNING_LIMITED]])
        .what("cudaHostAlloc fails for the host's memory, not for the card's; copies take the slow way.")
        .remedy(Act::Replace, "Raise the limit of locked memory, or replace it.")
        .source("nvidia-docker#1725"),
    cause("cpu-starved", "It has far fewer cores than offered", RATED, Common::Common, Effect::Slows)
        .shows(&[
            (FEW_CORES, A), (CPU_FULL, A), (QUOTA, 0.02), (GPU_IDLE, 0.3), (KILLED_RATE_LOW, O), (KILLED_BENCHMARK_TIMEOUT, O),
        ])
        .what("The card waits for the processors: they are at their limit and the card's load goes up and down.")
        .remedy(Act::Replace, "Rent by cpu_cores_effective.")
        .source("failure catalogue 2.I"),
    cause("cpu-quota-throttled", "A quota stops its processors", RATED, Common::Occasional, Effect::Slows)
        .shows(&[
            (QUOTA, A), (FEW_CORES, A), (CPU_FULL, A), (GPU_IDLE, 0.3), (KILLED_RATE_LOW, O), (KILLED_BENCHMARK_TIMEOUT, O),
        ])
        .proof(&[&[QUOTA, PROOFS_SLOW]])
        .what("The prover starts as many threads as the host has cores; the quota stops them for part of every period.")
        .remedy(Act::Replace, "Limit its threads to the quota, or replace it.")
        .source("llmmanorg/llmman#322"),
    cause("disk-slow", "Its disk is slow", &[Registered, ParamsDone], Common::Occasional, Effect::Slows)
        .shows(&[
            (DISK_SLOW, A), (FETCH_SLEEPS, 0.03), (FETCH_GONE, 0.05), (PROOFS_SLOW, 0.06), (LATE, O),
            (Fact::said("loading-parameters"), 0.7), (KILLED_PARAMS_TIMEOUT, O), (KILLED_BENCHMARK_TIMEOUT, O),
            (LOG_SILENT, 0.4), (WORK_GOES_ON, O), (GPU_IDLE, O), (PAUSED, O), (STANDS_LONG, 0.1), (DAEMON_GONE, 0.03),
            (STATUS_REFUSED, 0.3), (BENCH_GONE, 0.4),
        ])
        .what("Fetching and loading wait for the disk.")
        .remedy(Act::Replace, "Rent by disk_bw.")
        .source("failure catalogue 2.I"),
    cause("disk-full-runtime", "Its disk has filled up", &[ParamsDone, BenchDone, Running], Common::Occasional, Effect::Hides)
        .shows(&[
            (DISK_FULL, A), (DISK_SMALLER, 0.03), (Fact::said("no-space"), O), (LOG_SPOKE, U), (SHIPPER_GONE, 0.03),
            (MANAGER_OUT_OF_REACH, 0.01),
        ])
        .proof(&[&[DISK_FULL]])
        .what("Nothing can be written any more, logs included: the files on the machine are silent too.")
        .remedy(Act::MendInstance, "Make room; find what fills it.")
        .source("failure catalogue 2.I"),
    cause("noisy-neighbour-pcie", "A neighbour shares its bus", RATED, Common::Occasional, Effect::Slows)
        .shows(&[
            (BUS_NARROW, 0.02), (GPU_IDLE, 0.2), (CPU_FULL, 0.05), (FEW_CORES, 0.02), (THROTTLED, 0.01), (KILLED_RATE_LOW, O),
            (KILLED_BENCHMARK_TIMEOUT, O),
        ])
        .what("Copies to the card are slow and the link is whole: somebody else uses it as well.")
        .remedy(Act::Replace, "Measure again in an hour; replace it if it stays.")
        .source("failure catalogue 2.I"),
    cause("noisy-neighbour-cpu", "A neighbour uses its processors", RATED, Common::Occasional, Effect::Slows)
        .shows(&[
            (FEW_CORES, U), (CPU_FULL, 0.6), (QUOTA, 0.02), (GPU_IDLE, 0.15), (THROTTLED, 0.01), (BUS_NARROW, 0.01),
            (KILLED_RATE_LOW, O), (KILLED_BENCHMARK_TIMEOUT, O),
        ])
        .what("Time of its processors goes to somebody else.")
        .remedy(Act::Replace, "Measure again in an hour; replace it if it stays.")
        .source("failure catalogue 2.I"),
];
