//! Faults between the start of the container and its registration.

use super::{Does, FaultKind, Place, flag, number};
use crate::conditions::{Line, Naming};

const PLACE: Place = Place::Boot;

pub(super) const FAULTS: &[FaultKind] = &[
    FaultKind {
        id: "onstart-not-run",
        what: "The container runs, its start command is never executed.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.software.starts = false),
    },
    FaultKind {
        id: "entrypoint-died-early",
        what: "The entrypoint ends with an error before it registers.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| {
            on.software.entrypoint_death = Some(("/opt/entrypoint.sh: line 31: MANAGER_URL: unbound variable", 1));
        }),
    },
    FaultKind {
        id: "env-missing",
        what: "The variable with the instance's label is not set: it registers under a name that no rental has.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.software.naming = Naming::Odd),
    },
    FaultKind {
        id: "register-unreachable",
        what: "The manager's address cannot be reached from the instance.",
        place: PLACE,
        parameters: &[],
        does: Does::Changes(|on, _| on.lines.manager = Line::Cut),
    },
    FaultKind {
        id: "container-restarted-midway",
        what: "The container is restarted: every process begins again, the manager's state does not.",
        place: PLACE,
        parameters: &[flag("loses_parameters", true, "the parameters are fetched again")],
        does: Does::Strikes(|world, index, given| world.restart_container(index, given.flag("loses_parameters"))),
    },
    FaultKind {
        id: "container-flapping",
        what: "The container's first process ends after a while, again and again; the host starts it anew.",
        place: PLACE,
        parameters: &[number("after", 40.0, "s", "from start to end")],
        does: Does::ChangesAndStrikes(
            |on, given| on.software.exits_after_s = Some(given.number("after")),
            |world, index, _| world.exit_container(index),
        ),
    },
];
