//! The parameter fetch.

use super::Phase::{ParamsDone, Registered};
use super::{A, Act, Cause, Common, Effect, N, O, S, U, cause};
use crate::fact::*;

pub(super) const CAUSES: &[Cause] = &[
    cause("params-slow", "Parameters arrive slowly", &[Registered], Common::Common, Effect::Slows)
        .shows(&[
            (FETCH_SLEEPS, 0.03),
            (FETCH_GONE, 0.02),
            (DISK_SLOW, 0.02),
            (LATE, U),
            (PROOFS_SLOW, 0.06),
            (KILLED_PARAMS_TIMEOUT, O),
            (Fact::said("gateway-timeout"), S),
        ])
        .what("100 GiB and more over a slow line: at 100 Mbit/s that is 2.4 hours, and the manager waits 90 minutes.")
        .remedy(Act::Wait, "Compare bytes now and in a minute with the manager's timer; rent more bandwidth, or a mirror.")
        .source("failure catalogue 2.F; ChainSafe/forest#3826"),
    cause(
        "params-gateway-stall",
        "The source of the parameters has stopped sending",
        &[Registered],
        Common::Occasional,
        Effect::Stops,
    )
    .shows(&[
        (FETCH_SLEEPS, A),
        (FETCH_GONE, 0.02),
        (LOG_SPOKE, U),
        (NAMES_FAIL, 0.01),
        (KILLED_PARAMS_TIMEOUT, O),
        (Fact::said("gateway-timeout"), S),
        (MANAGER_OUT_OF_REACH, 0.01),
    ])
    .what("The transfer fell to nothing in the middle of a file, and the fetcher sets no time-out.")
    .remedy(Act::MendInstance, "Start the fetch again, from another gateway.")
    .source("filecoin-project/rust-fil-proofs#818, #548; lotus#922"),
    cause(
        "params-checksum-mismatch",
        "The parameters are not what they should be",
        &[Registered],
        Common::Occasional,
        Effect::Stops,
    )
    .shows(&[(Fact::said("checksum"), A), (PARAMETERS_TINY, O), (KILLED_PARAMS_TIMEOUT, O)])
    .proof(&[&[Fact::said("checksum")]])
    .what("What was fetched does not match its checksum, again and again: often an error page saved as the file.")
    .remedy(Act::MendInstance, "Delete the files and take another gateway. On good bytes it is the disk or the memory.")
    .source("filecoin-project/lotus#8124, #2237"),
    cause("params-disk-full", "The disk is too small for the parameters", &[Registered], Common::Occasional, Effect::Stops)
        .shows(&[(Fact::said("no-space"), A), (DISK_FULL, A), (DISK_SMALLER, U), (KILLED_PARAMS_TIMEOUT, O)])
        .proof(&[&[Fact::said("no-space"), DISK_FULL], &[Fact::said("no-space"), DISK_SMALLER]])
        .what("There is no space left for the parameters; some hosts give less disk than was asked for.")
        .remedy(Act::Replace, "Rent with more disk: it cannot be changed later.")
        .source("failure catalogue 2.F"),
    cause(
        "params-done-premature",
        "It reported its parameters before it had them",
        &[ParamsDone],
        Common::Occasional,
        Effect::Slows,
    )
    .shows(&[
        (FETCH_STILL_RUNS, A),
        (STARTED_OVER, N),
        (DAEMON_GONE, A),
        (STATUS_REFUSED, A),
        (BENCH_GONE, A),
        (GPU_IDLE, A),
        (WORK_GOES_ON, O),
        (LOG_SILENT, O),
        (PROOFS_SLOW, 0.06),
        (Fact::said("params-missing"), 0.1),
    ])
    .what("The state was reported before the fetch had ended: the manager's 45 minutes run while it still fetches.")
    .remedy(Act::MendImage, "Report after the fetch has been verified.")
    .source("failure catalogue 2.F"),
    cause("params-wrong-dir", "The prover looks for its parameters elsewhere", &[ParamsDone], Common::Occasional, Effect::Stops)
        .shows(&[(Fact::said("params-missing"), A), (PROOFS_FAIL, U), (DAEMON_GONE, 0.03), (STATUS_REFUSED, 0.2)])
        .proof(&[&[Fact::said("params-missing"), PROOFS_FAIL]])
        .what("Fetcher and prover mean different directories: every proof fails at once.")
        .remedy(Act::MendImage, "Set the prover's parameter path, or link it.")
        .source("failure catalogue 2.F"),
    cause("clock-skew-tls", "The host's clock makes every certificate expire", &[Registered], Common::Rare, Effect::Stops)
        .shows(&[(Fact::said("certificate"), A), (CLOCK_OFF, A)])
        .proof(&[&[Fact::said("certificate"), CLOCK_OFF]])
        .what("The host's clock is years off: no certificate is valid for it. The manager's timers are not affected.")
        .remedy(Act::Replace, "Rent another host.")
        .source("rancher/os#2424; elastic/cloud-on-k8s#4943"),
];
