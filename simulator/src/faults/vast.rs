//! Faults of vast.ai's side and of the account.

use super::{Does, FaultKind, Place, number, word};

const PLACE: Place = Place::Vast;

pub(super) const FAULTS: &[FaultKind] = &[
    FaultKind {
        id: "credit-exhausted-stopped",
        what: "The account's credit is used up: vast.ai stops every instance.",
        place: PLACE,
        parameters: &[number("left", 0.0, "$", "credit that is left")],
        does: Does::World(|world, given| world.set_credit(given.number("left"))),
    },
    FaultKind {
        id: "vast-http-error-exit0",
        what: "vast.ai answers every call with an error; its client prints that and ends with status 0.",
        place: PLACE,
        parameters: &[word("answer", &["rate-limited", "unavailable", "html", "auth", "session"], "which")],
        does: Does::Vast(|on, given| {
            on.answers = Some(match given.word("answer") {
                "unavailable" => (503, r#"{"success":false,"error":"unavailable","msg":"Service temporarily unavailable."}"#),
                "html" => (502, "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"),
                "auth" => (404, r#"{"success":false,"error":"auth_error","msg":"Invalid user key"}"#),
                "session" => (404, r#"{"success":false,"error":"auth_error","msg":"Session expired. Please log in again."}"#),
                _ => (429, "API requests too frequent: endpoint threshold=2.0"),
            });
        }),
    },
    FaultKind {
        id: "vast-list-retired",
        what: "vast.ai retires the listing that the client calls.",
        place: PLACE,
        parameters: &[],
        does: Does::Vast(|on, _| on.listing_retired = true),
    },
    FaultKind {
        id: "vast-poison-row",
        what: "One record has a list where the manager expects a number: it cannot read any.",
        place: PLACE,
        parameters: &[],
        does: Does::Vast(|on, _| on.odd_record = true),
    },
    FaultKind {
        id: "vast-cli-null-start-date",
        what: "Records of instances that are being provisioned have no start date: the client fails on them.",
        place: PLACE,
        parameters: &[],
        does: Does::Vast(|on, _| on.start_date_null = true),
    },
    FaultKind {
        id: "vast-telemetry-zeros",
        what: "Every other reading of the hosts is missing and shown as zeros.",
        place: PLACE,
        parameters: &[],
        does: Does::Vast(|on, _| on.telemetry_zeros = true),
    },
    FaultKind {
        id: "vast-telemetry-frozen",
        what: "The hosts' readings stay as they were.",
        place: PLACE,
        parameters: &[],
        does: Does::Vast(|on, _| on.telemetry_frozen = true),
    },
    FaultKind {
        id: "vast-null-record",
        what: "Looking an instance up by its id sometimes answers null.",
        place: PLACE,
        parameters: &[number("every", 3.0, "look-ups", "one in so many")],
        does: Does::Vast(|on, given| on.null_every = Some(u64::from(given.count("every").max(1)))),
    },
    FaultKind {
        id: "vast-logs-late",
        what: "Container logs are uploaded late.",
        place: PLACE,
        parameters: &[number("delay", 45.0, "s", "how late")],
        does: Does::Vast(|on, given| on.log_delay_s = given.number("delay")),
    },
    FaultKind {
        id: "vast-destroy-refused",
        what: "vast.ai refuses to destroy, with status 200.",
        place: PLACE,
        parameters: &[],
        does: Does::Vast(|on, _| on.destroy_refused = true),
    },
    FaultKind {
        id: "deploy-no-contract",
        what: "Renting answers ok and names no contract.",
        place: PLACE,
        parameters: &[],
        does: Does::Vast(|on, _| on.create_without_contract = true),
    },
    FaultKind {
        id: "vast-create-never-appears",
        what: "Renting answers ok, and the instance never appears.",
        place: PLACE,
        parameters: &[],
        does: Does::Vast(|on, _| on.create_never_appears = true),
    },
    FaultKind {
        id: "vast-create-stopped",
        what: "Renting leaves the instance stopped until it is started by hand.",
        place: PLACE,
        parameters: &[],
        does: Does::Vast(|on, _| on.create_stopped = true),
    },
];
