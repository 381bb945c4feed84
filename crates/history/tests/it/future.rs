//! Times of a future that cannot be, kept by a version that believed them: the next process heals them, and nothing else.

use dwell_fleet::{Fleet, State, Timestamp};
use dwell_history::History;
use rusqlite::Connection;

use crate::{at, row, see, watch};

/// The year 2099, seconds after [`at`]'s zero.
const FUTURE: i64 = 2_300_000_000;

fn all(path: &std::path::Path, query: &str) -> Vec<String> {
    let connection = Connection::open(path).unwrap();
    let mut statement = connection.prepare(query).unwrap();
    statement.query_map([], |row| row.get::<_, String>(0)).unwrap().map(Result::unwrap).collect()
}

/// What can be read back of the future.
fn futures(path: &std::path::Path) -> Vec<String> {
    let latest = at(1_000_000).as_millisecond();
    let mut found = Vec::new();
    for (table, column) in [
        ("watched", "to_ms"),
        ("gap", "to_ms"),
        ("instance", "last_listed_ms"),
        ("instance", "entered_ms"),
        ("transition", "at_ms"),
        ("transition", "seen_ms"),
        ("gauge", "at_ms"),
        ("flag", "raised_ms"),
        ("seen", "vast_told_ms"),
        ("seen", "rental_listed_ms"),
    ] {
        found.extend(all(path, &format!("SELECT '{table}.{column} ' || {column} FROM {table} WHERE {column} > {latest}")));
    }
    found
}

#[test]
fn one_answer_of_the_far_future_heals() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.sqlite3");
    let mut history = History::open(&path).unwrap();
    let id = history.fleet("http://m", None).unwrap();
    let mut fleet = Fleet::new(60.0);
    watch(&mut history, id, &mut fleet, 10, vec![row("aaaa", 1, State::Registered)]);
    watch(&mut history, id, &mut fleet, 20, vec![row("aaaa", 1, State::Registered)]);
    // As an earlier version took it in.
    let mut wrong = fleet.clone();
    see(&mut wrong, FUTURE, vec![row("aaaa", 1, State::Running)], |answer| history.record(id, answer).unwrap());
    assert!(futures(&path).len() > 4, "{:?}", futures(&path));
    // The same process goes on with right times.
    for second in [30, 40, 50, 120] {
        watch(&mut history, id, &mut fleet, second, vec![row("aaaa", 1, State::Registered)]);
    }
    let watched = history.watched(id).unwrap();
    assert!(watched.iter().all(|(_, to)| *to <= at(120)) && watched.last().is_some_and(|(_, to)| *to >= at(110)), "{watched:?}");
    assert_eq!(all(&path, "SELECT '' || last_listed_ms FROM instance"), [at(120).as_millisecond().to_string()]);
    drop(history);

    // A clock that is behind heals nothing: it may be the one that is wrong.
    let mut history = History::open(&path).unwrap();
    let before = futures(&path);
    history.remembered(id, at(-10 * 86_400)).unwrap();
    history.remembered(id, Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(futures(&path), before);

    let remembered = history.remembered(id, at(130)).unwrap();
    assert_eq!(futures(&path), [""; 0], "nothing of it is left");
    let instance = &remembered.instances[0];
    assert!(instance.last_listed_at <= at(130) && instance.entered.at <= at(130), "{instance:?}");
    let mut fleet = Fleet::new(60.0);
    fleet.remember(remembered.instances, remembered.past_stays, remembered.highest_key);
    watch(&mut history, id, &mut fleet, 140, vec![row("aaaa", 1, State::ParamsDone)]);
    let key = fleet.instances().next().unwrap().key;
    let states: Vec<String> = history.transitions(id, key, 10).unwrap().iter().map(|it| it.entry.state.to_string()).collect();
    assert_eq!(states.last().map(String::as_str), Some("params_done"), "{states:?}");
    assert!(history.gauges(id, key, at(0), 10).unwrap().iter().all(|gauge| gauge.at <= at(140)));
}
