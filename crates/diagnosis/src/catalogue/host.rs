//! The rented machine and its place in the market.

use super::Phase::{Killed, Loading, Registered, Vanished};
use super::{A, ANY, Act, Cause, Common, Effect, N, O, S, U, cause};
use crate::fact::*;

pub(super) const CAUSES: &[Cause] = &[
    cause("host-gpu-refuses-start", "The host cannot give its card to a container", &[Loading], Common::Common, Effect::Stops)
        .shows(&[
            (NOT_RUNNING, A),
            (CREATED_ONLY, U),
            (NO_ADDRESS, A),
            (NO_CONTAINER, A),
            (Fact::said("gpu-error"), O),
            (Fact::said("device-handle"), O),
            (Fact::said("container-cli"), O),
            (STATUS_STANDS, A),
        ])
        .proof(&[&[Fact::said("gpu-error")]])
        .what("vast.ai has created the instance and its host's container runtime fails on the card: it will never start.")
        .remedy(Act::Replace, "Destroy it, put the machine on the list of bad hosts, rent another.")
        .source("failure catalogue 2.B; one operator measured about one consumer host in three"),
    cause("image-pull-slow", "The image arrives slowly", &[Loading], Common::Common, Effect::Slows)
        .shows(&[
            (NOT_RUNNING, A),
            (PULLING, A),
            (NO_ADDRESS, A),
            (NO_CONTAINER, A),
            (Fact::said("downloading"), U),
            (STATUS_STANDS, 0.05),
            (LATE, U),
            (PROOFS_SLOW, 0.06),
        ])
        .what("The host pulls the image over a slow line. A status text that changes is progress, not an error.")
        .remedy(Act::Wait, "Wait, or choose a host with more bandwidth; a smaller image helps every time.")
        .source("failure catalogue 2.B; vast.ai's documentation"),
    cause("image-pull-refused", "The registry refuses the image", &[Loading], Common::Occasional, Effect::Stops)
        .shows(&[
            (NOT_RUNNING, A),
            (PULLING, A),
            (NO_ADDRESS, A),
            (NO_CONTAINER, A),
            (Fact::said("pull-limit"), O),
            (Fact::said("pull-denied"), O),
            (Fact::said("no-manifest"), O),
            (STATUS_STANDS, A),
        ])
        .proof(&[&[Fact::said("pull-limit")], &[Fact::said("pull-denied")], &[Fact::said("no-manifest")]])
        .what("The image registry answers the host with a refusal: rate limit, no access, or no such image.")
        .remedy(
            Act::Replace,
            "Rate limits are per address: another host may get it at once. Else check the image's name and its access.",
        )
        .source("docker/hub-feedback#2429; pangeo-data/pangeo-binder#194"),
    cause("container-create-failed", "The host cannot create the container", &[Loading], Common::Occasional, Effect::Stops)
        .shows(&[
            (NOT_RUNNING, A),
            (CREATED_ONLY, U),
            (NO_ADDRESS, A),
            (NO_CONTAINER, A),
            (Fact::said("oci"), O),
            (Fact::said("cdi"), O),
            (Fact::said("layer"), S),
            (Fact::said("host-disk"), S),
            (STATUS_STANDS, A),
        ])
        .proof(&[&[Fact::said("cdi")], &[Fact::said("layer")], &[Fact::said("host-disk")]])
        .what("The host's container runtime fails to create the container: it will never start.")
        .remedy(Act::Replace, "Destroy it and rent another host.")
        .source("dstackai/dstack#1976; vast.ai's table of machine errors"),
    cause(
        "driver-too-old-at-create",
        "The host's driver is too old for the image",
        &[Loading],
        Common::Occasional,
        Effect::Stops,
    )
    .shows(&[
        (NOT_RUNNING, A),
        (CREATED_ONLY, U),
        (NO_ADDRESS, A),
        (NO_CONTAINER, A),
        (Fact::said("cuda-requirement"), A),
        (Fact::said("oci"), O),
        (Fact::said("container-cli"), O),
        (DRIVER_OLD, U),
        (STATUS_STANDS, A),
    ])
    .proof(&[&[Fact::said("cuda-requirement")]])
    .what("The image requires a newer CUDA than the host's driver has; the runtime refuses to create the container.")
    .remedy(Act::Replace, "Rent by cuda_max_good. The requirement of a tag can change under you.")
    .source("NVIDIA/nvidia-container-toolkit#152; theroyallab/tabbyAPI#324"),
    cause(
        "scheduling-gpu-taken",
        "Stopped for a moment, and another tenant got the card",
        ANY,
        Common::Occasional,
        Effect::Stops,
    )
    .shows(&[
        (NOT_RUNNING, A),
        (STOPPED_AGAINST_WILL, A),
        (WAITS_FOR_CARD, A),
        (NO_ADDRESS, A),
        (NO_CONTAINER, U),
        (IS_BID, 0.05),
    ])
    .proof(&[&[WAITS_FOR_CARD]])
    .what("It was stopped, is meant to run again, and vast.ai waits for a card that somebody else has. That can last for ever.")
    .remedy(Act::Replace, "Rent another.")
    .source("vast.ai's documentation: scheduling"),
    cause("host-offline", "The host has lost its connection", ANY, Common::Occasional, Effect::Stops)
        .shows(&[(NOT_RUNNING, A), (OFFLINE, A), (SSH_TIMES_OUT, A)])
        .proof(&[&[OFFLINE, SSH_TIMES_OUT], &[OFFLINE, LOG_SILENT]])
        .what("vast.ai hears nothing from the host, and neither does anybody else. Its readings are old.")
        .remedy(Act::Replace, "Wait some minutes, then replace it.")
        .source("failure catalogue 2.B"),
    cause("outbid-preempted", "Somebody bid more for the machine", ANY, Common::Rare, Effect::Stops)
        .shows(&[(NOT_RUNNING, A), (STOPPED_AGAINST_WILL, A), (IS_BID, A), (NO_ADDRESS, A), (NO_CONTAINER, U)])
        .proof(&[&[STOPPED_AGAINST_WILL, IS_BID]])
        .what("The rental is a bid, and somebody bid more: vast.ai stopped it. The manager goes on calling it what it was.")
        .remedy(Act::Replace, "Raise the bid, or rent on demand.")
        .source("dstackai/dstack#4026, #4037"),
    cause("rental-expired", "The rental has ended", ANY, Common::Occasional, Effect::Stops)
        .shows(&[(NOT_RUNNING, A), (STOPPED_AS_MEANT, A), (END_PASSED, A), (NO_ADDRESS, A), (NO_CONTAINER, U)])
        .proof(&[&[END_PASSED, STOPPED_AS_MEANT]])
        .what("The end date of the rental has passed; vast.ai stopped it. The manager goes on calling it what it was.")
        .remedy(Act::Replace, "Replace rentals before their end date.")
        .source("vast.ai's documentation: end_date"),
    cause(
        "destroyed-outside",
        "Somebody destroyed it past the manager",
        &[Killed, Vanished, Loading],
        Common::Occasional,
        Effect::Ends,
    )
    .shows(&[
        (KILLED_DISAPPEARED, A),
        (RECORD_ABSENT, A),
        (NO_ADDRESS, A),
        (KILLED_STILL_LISTED, 0.01),
        (DESTROYED_BY_ITS_WORD, 0.005),
        (Fact::said("bad-host"), N),
        (KILLED_BAD_HOST, N),
        (LABEL_ODD, N),
        (TWIN_ROW, N),
    ])
    .what("Somebody with a key of the account destroyed the instance; the manager found it missing from vast.ai's list.")
    .remedy(Act::Replace, "Ask who else holds a key; vast.ai's invoices show when it ended.")
    .source("failure catalogue 2.B, family F6"),
    cause("host-lost", "Its host left vast.ai", &[Killed, Vanished, Loading], Common::Occasional, Effect::Ends)
        .shows(&[
            (KILLED_DISAPPEARED, A),
            (RECORD_ABSENT, A),
            (NO_ADDRESS, A),
            (KILLED_STILL_LISTED, 0.01),
            (DESTROYED_BY_ITS_WORD, 0.005),
            (Fact::said("bad-host"), N),
            (KILLED_BAD_HOST, N),
            (LABEL_ODD, N),
            (TWIN_ROW, N),
        ])
        .what("The host left vast.ai with its rentals; the manager found it missing from the list.")
        .remedy(Act::Replace, "Rent another. From outside it looks like a rental destroyed by somebody else.")
        .source("failure catalogue, family F6"),
    cause("direct-port-broken", "The host maps no ports to the outside", ANY, Common::Occasional, Effect::Harmless)
        .shows(&[(NO_PORTS, A), (ONLY_BY_PROXY, A), (Fact::said("ports"), S)])
        .proof(&[&[NO_PORTS, ONLY_BY_PROXY]])
        .what("Its direct SSH port cannot be reached. The work is not affected, and vast.ai's proxy still gets in.")
        .remedy(Act::Wait, "Use the proxy's address; report the host.")
        .source("failure catalogue 2.B"),
    cause(
        "container-flapping",
        "The container ends and starts again and again",
        &[Loading, Registered],
        Common::Occasional,
        Effect::Stops,
    )
    .shows(&[
        (Fact::said("re-registered"), A),
        (STARTED_OVER, A),
        (LOG_SILENT, O),
        (NOT_RUNNING, 0.3),
        (LATE, U),
        (SSH_REFUSED, S),
        (NO_ADDRESS, O),
        (NO_CONTAINER, 0.3),
        (FETCH_GONE, S),
    ])
    .what("The container's first process ends after a while, and the host starts it anew: it never gets anywhere.")
    .remedy(Act::MendImage, "Find what ends it in the container's output; mend the image.")
    .source("dstackai/dstack#1065"),
    cause(
        "bad-host-reaped",
        "The manager destroyed it for its machine",
        &[Vanished, Killed, Loading],
        Common::Occasional,
        Effect::Ends,
    )
    .shows(&[
        (Fact::said("bad-host"), A),
        (KILLED_BAD_HOST, U),
        (VANISHED, O),
        (KILLED_DISAPPEARED, 0.1),
        (DESTROYED_BY_ITS_WORD, A),
        (RECORD_ABSENT, A),
        (NO_ADDRESS, A),
    ])
    .what("Its machine is on the manager's list of bad hosts: whatever is rented there is destroyed within a minute.")
    .remedy(Act::Replace, "Keep the ban and leave the machine out of the search, or take it off the list.")
    .source("manager source: monitor loop"),
    cause(
        "bad-host-meaning-shift",
        "The manager took a host's number for a machine's",
        &[Vanished, Killed, Loading],
        Common::Rare,
        Effect::Ends,
    )
    .shows(&[
        (Fact::said("bad-host"), A),
        (KILLED_BAD_HOST, U),
        (VANISHED, O),
        (KILLED_DISAPPEARED, 0.1),
        (DESTROYED_BY_ITS_WORD, A),
        (RECORD_ABSENT, A),
        (NO_ADDRESS, A),
    ])
    .what("An old entry of the list of bad hosts is a host's number and now matches a machine of the same number.")
    .remedy(Act::MendManager, "Look at the entry's date and reason; take it off the list.")
    .source("manager source: migration of host_id to machine_id"),
    cause(
        "labelled-slow-pull-killed",
        "Destroyed while its image was still arriving",
        &[Vanished, Loading],
        Common::Occasional,
        Effect::Ends,
    )
    .shows(&[(Fact::said("unregistered"), A), (VANISHED, U), (RECORD_ABSENT, A), (LABELLED, A), (NO_ADDRESS, A)])
    .proof(&[&[Fact::said("unregistered")]])
    .what("A labelled rental has 15 minutes to register. Its image took longer, and the manager destroyed it.")
    .remedy(Act::Replace, "Rent without a label, or with more bandwidth.")
    .source("manager source: monitor loop"),
    cause("deploy-no-contract", "Renting answered ok and rented nothing", &[Loading, Vanished], Common::Rare, Effect::Ends)
        .shows(&[(RECORD_ABSENT, A)])
        .what("vast.ai answered the request with success and named no contract: there is no instance.")
        .remedy(Act::Replace, "Treat a missing number as a failure, and rent again.")
        .source("failure catalogue 2.B")
        .unranked(),
    cause("bad-host-bypass", "Rented on a machine that is banned", &[Vanished], Common::Rare, Effect::Ends)
        .shows(&[(Fact::said("bad-host"), A)])
        .what("Renting without naming the machine skips the list of bad hosts; the monitor destroys it within a minute.")
        .remedy(Act::Replace, "Leave banned machines out of the search.")
        .source("manager source: deploy")
        .unranked(),
    cause("bad-host-post-type", "A ban that was never recorded", ANY, Common::Rare, Effect::Harmless)
        .what("The manager refuses a ban whose machine number is sent as a number, with HTTP 400: it is not recorded.")
        .remedy(Act::MendManager, "Send machine_id as text. Dwell does.")
        .source("manager source: bad-host route")
        .unranked(),
];
