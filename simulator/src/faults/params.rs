//! Faults of the parameter fetch.

use super::{Does, FaultKind, Place, number};
use crate::conditions::{Gateway, Line};

const PLACE: Place = Place::Parameters;

pub(super) const FAULTS: &[FaultKind] = &[
    FaultKind {
        id: "params-slow",
        what: "The parameter source gives a fraction of the bandwidth.",
        place: PLACE,
        parameters: &[number("share", 0.15, "of the bandwidth", "what is left of it")],
        does: Does::Changes(|on, given| on.lines.parameters = Line::Slow(given.number("share"))),
    },
    FaultKind {
        id: "params-gateway-stall",
        what: "The parameter source stops sending; the fetcher sets no time-out.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.lines.parameters = Line::Swallows),
    },
    FaultKind {
        id: "params-checksum-mismatch",
        what: "The parameter source sends an error page, which is saved as the file.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.software.gateway = Gateway::ErrorPage),
    },
    FaultKind {
        id: "params-disk-full",
        what: "The container got less disk than was asked for.",
        place: Place::Host,
        parameters: &[number("disk", 60.0, "GB", "what it got")],
        does: Does::Changes(|on, given| on.host.disk_gb = Some(given.number("disk"))),
    },
    FaultKind {
        id: "params-done-premature",
        what: "The end of the fetch is reported before it has ended.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.software.reports_params_early = true),
    },
    FaultKind {
        id: "params-wrong-dir",
        what: "The daemon looks for the parameters where they are not.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.software.params_elsewhere = true),
    },
    FaultKind {
        id: "clock-skew-tls",
        what: "The host's clock is years ahead: every certificate has expired for it.",
        place: Place::Host,
        parameters: &[number("ahead", 126_230_400.0, "s", "how far")],
        does: Does::Changes(|on, given| on.host.clock_ahead_s = given.number("ahead")),
    },
];
