//! Faults of the manager, of the vast.ai client that it runs, and deeds done to it.

use super::{Does, FaultKind, Place, number, word};
use crate::conditions::Line;

const PLACE: Place = Place::Manager;

pub(super) const FAULTS: &[FaultKind] = &[
    FaultKind {
        id: "mgr-restart-lost-logs",
        what: "The manager's process restarts (`for` is its down time): log buffers and copy of vast.ai's list are lost.",
        place: PLACE,
        parameters: &[],
        does: Does::Manager(|on, _| on.down = true),
    },
    FaultKind {
        id: "observer-fault",
        what: "The operator's own line to the manager fails; everything behind it goes on.",
        place: PLACE,
        parameters: &[word("way", &["cut", "swallows"], "how it fails: at once, or by never answering")],
        does: Does::Manager(|on, given| {
            on.operator_line = if given.word("way") == "swallows" { Line::Swallows } else { Line::Cut };
        }),
    },
    FaultKind {
        id: "vast-cache-frozen-error",
        what: "The manager's vast.ai client ends with status 1: its copy of the list is kept, nothing is killed.",
        place: PLACE,
        parameters: &[],
        does: Does::Manager(|on, _| on.client_fails = true),
    },
    FaultKind {
        id: "vast-cli-hang",
        what: "The manager's vast.ai client never ends, and the monitor waits for it without a word.",
        place: PLACE,
        parameters: &[],
        does: Does::Manager(|on, _| on.client_hangs = true),
    },
    FaultKind {
        id: "vast-empty-list",
        what: "The manager's key belongs to another account, which has no instances.",
        place: PLACE,
        parameters: &[],
        does: Does::Manager(|on, _| on.client_other_account = true),
    },
    FaultKind {
        id: "vast-partial-list",
        what: "The manager's vast.ai client reads the first page of 25 only.",
        place: PLACE,
        parameters: &[],
        does: Does::Manager(|on, _| on.client_first_page_only = true),
    },
    FaultKind {
        id: "destroy-false-success",
        what: "The manager's vast.ai client asks before it destroys, finds no terminal, prints \"Aborted.\" and ends with status 0.",
        place: PLACE,
        parameters: &[],
        does: Does::Manager(|on, _| on.destroy_prompts = true),
    },
    FaultKind {
        id: "destroy-failed-logged",
        what: "The manager's vast.ai client fails to destroy, and says so.",
        place: PLACE,
        parameters: &[],
        does: Does::Manager(|on, _| on.destroy_fails = true),
    },
    FaultKind {
        id: "sqlite-busy",
        what: "The manager's database is locked: reports are refused, its own kills are not written.",
        place: PLACE,
        parameters: &[],
        does: Does::Manager(|on, _| on.database_locked = true),
    },
    FaultKind {
        id: "register-falls-through",
        what: "The manager's look-up of a label fails at registration: a second row is made.",
        place: PLACE,
        parameters: &[],
        does: Does::Manager(|on, _| on.lookup_fails = true),
    },
    FaultKind {
        id: "rows-dropped-on-scan",
        what: "Some rows cannot be read for the dashboard and are left out.",
        place: PLACE,
        parameters: &[number("every", 4.0, "rows", "one in so many")],
        does: Does::Manager(|on, given| on.drops_every = Some(u64::from(given.count("every").max(1)))),
    },
    FaultKind {
        id: "bad-timestamp",
        what: "The time of \"parameters done\" is not written: the benchmark's timer never ends.",
        place: PLACE,
        parameters: &[],
        does: Does::Manager(|on, _| on.param_time_lost = true),
    },
    FaultKind {
        id: "clock-step",
        what: "The manager's clock jumps.",
        place: PLACE,
        parameters: &[number("ahead", 3_600.0, "s", "by how much; negative is back")],
        does: Does::Manager(|on, given| on.clock_ahead_s = given.number("ahead")),
    },
    FaultKind {
        id: "bad-host-reaped",
        what: "The instance's machine is put on the list of bad hosts.",
        place: Place::Boot,
        parameters: &[],
        does: Does::Strikes(|world, index, _| world.ban_machine(index, "slow, see ticket 12")),
    },
    FaultKind {
        id: "bad-host-meaning-shift",
        what: "The list of bad hosts has an old host number that is the machine's number today.",
        place: Place::Boot,
        parameters: &[],
        does: Does::Strikes(|world, index, _| world.ban_machine(index, "host of 2024")),
    },
    FaultKind {
        id: "kill-before-destroy-ordering",
        what: "Somebody has the row killed without naming the rental.",
        place: Place::Running,
        parameters: &[],
        does: Does::Strikes(|world, index, _| world.kill_row_only(index)),
    },
    FaultKind {
        id: "unauthenticated-report",
        what: "Somebody else reports a benchmark for the instance.",
        place: Place::Benchmark,
        parameters: &[number("rate", 999.0, "proofs/h", "what is reported")],
        does: Does::Strikes(|world, index, given| world.report_benchmark_for(index, given.number("rate"))),
    },
    FaultKind {
        id: "state-skipped",
        what: "The image reports \"running\" without a benchmark.",
        place: Place::Image,
        parameters: &[],
        does: Does::Changes(|on, _| on.software.skips_benchmark = true),
    },
    FaultKind {
        id: "labelled-slow-pull-killed",
        what: "The rental carries a label at vast.ai, and its image takes longer than the 15 minutes that the manager waits.",
        place: Place::Host,
        parameters: &[number("share", 0.03, "of the bandwidth", "what reaches the registry")],
        does: Does::ChangesAndStrikes(
            |on, given| on.host.pull_share = given.number("share"),
            |world, index, _| world.label_at_vast(index),
        ),
    },
];
