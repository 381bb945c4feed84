//! Faults of the lines.

use super::{Does, FaultKind, Place, number, word};
use crate::conditions::Line;

const PLACE: Place = Place::Network;

pub(super) const FAULTS: &[FaultKind] = &[
    FaultKind {
        id: "tunnel-never-up",
        what: "The tunnel client to the manager does not run.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.lines.tunnel = false),
    },
    FaultKind {
        id: "tunnel-half-open",
        what: "The tunnel accepts what is sent and delivers nothing: reports and logs are swallowed. The work goes on.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.lines.manager = Line::Swallows),
    },
    FaultKind {
        id: "log-shipper-dead",
        what: "The log shipper has ended. Reports still arrive.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.software.shipper_runs = false),
    },
    FaultKind {
        id: "partition-transient",
        what: "The instance cannot reach the manager for a while (`for`), then sends what has gathered.",
        place: PLACE,
        parameters: &[word("way", &["cut", "swallows", "drops-replies"], "how the line fails")],
        does: Does::Changes(|on, given| {
            on.lines.manager = match given.word("way") {
                "swallows" => Line::Swallows,
                "drops-replies" => Line::DropsReplies,
                _ => Line::Cut,
            }
        }),
    },
    FaultKind {
        id: "dns-broken",
        what: "Names cannot be resolved; the tunnel goes by address and works.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.lines.names = false),
    },
    FaultKind {
        id: "mtu-blackhole",
        what: "Small requests pass, bodies larger than a packet are lost, in both directions.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| {
            on.lines.manager = Line::DropsLarge;
            on.lines.parameters = Line::DropsLarge;
        }),
    },
    FaultKind {
        id: "probe-auth-failed",
        what: "The operator's key is not accepted by the instance. Nothing else is wrong with it.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.lines.key_accepted = false),
    },
    FaultKind {
        id: "log-push-truncated",
        what: "The shipper is held for a while (`for`) while much is written; its first push is then longer than 256 KiB.",
        place: PLACE,
        parameters: &[number("lines", 2_000.0, "lines per proof", "debugging output")],
        does: Does::Changes(|on, given| {
            on.software.shipper_held = true;
            on.software.debug_lines = given.count("lines");
        }),
    },
    FaultKind {
        id: "log-source-evicted",
        what: "The prover writes so much that the manager's one buffer for the instance drops the other sources.",
        place: PLACE,
        parameters: &[number("lines", 900.0, "lines per proof", "debugging output")],
        does: Does::Changes(|on, given| on.software.debug_lines = given.count("lines")),
    },
    FaultKind {
        id: "log-misattributed-uuid",
        what: "The shipper goes on under an id from before.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.software.shipper_stale_id = true),
    },
    FaultKind {
        id: "log-source-unknown",
        what: "The shipper does not name the source of its lines.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.software.shipper_names_source = false),
    },
    FaultKind {
        id: "log-cr-no-newline",
        what: "The fetcher draws a progress bar with carriage returns: no line ends until it is done.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.software.carriage_returns = true),
    },
];
