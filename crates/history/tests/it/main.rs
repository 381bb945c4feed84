//! History over real files: what is kept once, what survives a new process and a kill, what is joined, thinned and found.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on says where")]

mod acts;
mod future;
mod held;
mod history;
mod kills;
mod over_time;

use dwell_fleet::{Fleet, InstanceUuid, LogLine, ManagerRun, Row, Snapshot, State, Timestamp, VastFacts, VastId};
use dwell_history::{Answer, FleetId, History, LogOwner, LogQuery};

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_796_092_800 + second).unwrap()
}

pub(crate) fn row(uuid: &str, vast_id: u64, state: State) -> Row {
    Row {
        uuid: InstanceUuid::new(uuid),
        vast_id: Some(VastId(vast_id)),
        registered_at: InstanceUuid::new(uuid).map(|_| at(0)),
        param_done_at: (state == State::ParamsDone).then(|| at(100)),
        log_lines: Some(0),
        vast: VastFacts {
            gpu_name: Some("RTX 4090".into()),
            gpu_util_percent: Some(50.0),
            gpu_temp_c: Some(60.0),
            ..VastFacts::default()
        },
        ..Row::bare(state)
    }
}

pub(crate) fn snapshot(second: i64, rows: Vec<Row>) -> Snapshot {
    Snapshot {
        requested_at: at(second),
        received_at: at(second),
        manager_time: Some(at(second)),
        vast_cache_age_s: Some(5.0),
        rows,
        bad_hosts: vec![],
        rows_unreadable: 0,
    }
}

/// Lets a fleet see an answer and keeps what it brought.
pub(crate) fn watch(history: &mut History, id: FleetId, fleet: &mut Fleet, second: i64, rows: Vec<Row>) {
    see(fleet, second, rows, |answer| history.record(id, answer).unwrap());
}

/// Lets a fleet see an answer, and gives what it brought to `keep`.
pub(crate) fn see(fleet: &mut Fleet, second: i64, rows: Vec<Row>, mut keep: impl FnMut(&Answer<'_>)) {
    let observed = fleet.observe(&snapshot(second, rows));
    let flags = fleet.assess();
    keep(&Answer {
        as_of: at(second),
        instances: fleet.instances().collect(),
        transitions: &observed.transitions,
        redated: &observed.redated,
        merged: &observed.merged,
        gap: observed.gap,
        run: ManagerRun::default(),
        vast_cache_age_s: fleet.vast_cache_age_s(),
        clock_skew_s: None,
        flags: &flags,
    });
}

pub(crate) fn line(second: i64, text: &str) -> LogLine {
    LogLine { source: "setup".into(), text: text.into(), at: at(second) }
}

pub(crate) fn texts(history: &History, id: FleetId, owner: LogOwner, query: &LogQuery) -> Vec<String> {
    history.lines(id, owner, query).unwrap().into_iter().map(|stored| stored.line.text).collect()
}
