//! What cannot be written is held, and written once, in order, when there is room: compared with a twin that could always write.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use dwell_fleet::{Fleet, Gap, InstanceUuid, Key, LogLine, State};
use dwell_history::{Answer, FleetId, Held, HeldLimits, History, LogOwner};
use proptest::prelude::*;
use rusqlite::Connection;

use crate::{at, line, row, see};

/// Short, for a lock that another one holds for long.
const WAIT: Duration = Duration::from_millis(5);

/// Everything in a history that tells what happened, in the order of its keeping where that matters.
fn all_of(path: &Path) -> Vec<String> {
    let connection = Connection::open(path).unwrap();
    let who = "(SELECT coalesce(uuid, 'vast-' || vast_id) FROM instance AS i WHERE i.id = instance)";
    let mut all = Vec::new();
    for query in [
        format!(
            "SELECT {who} || ' ' || coalesce(from_state, '-') || ' ' || to_state || ' ' || at_ms || ' ' || basis || ' ' || kind || ' ' || seen_ms
             FROM transition ORDER BY 1"
        ),
        format!("SELECT {who} || ' ' || kind || ' ' || since_ms || ' ' || raised_ms || ' ' || coalesce(cleared_ms, '-') FROM flag ORDER BY 1"),
        format!("SELECT {who} || ' ' || at_ms || ' ' || gpu_util FROM gauge ORDER BY 1"),
        format!("SELECT {who} || ' ' || text || ' ' || at_ms || ' ' || after_gap FROM log_line ORDER BY instance, id"),
        "SELECT 'gap ' || from_ms || ' ' || to_ms FROM gap ORDER BY 1".to_owned(),
        "SELECT 'watched ' || from_ms || ' ' || to_ms FROM watched ORDER BY 1".to_owned(),
        "SELECT coalesce(uuid, '-') || ' ' || vast_id || ' ' || state || ' ' || entered_ms || ' ' || last_listed_ms || ' ' || listed
         FROM instance JOIN seen ON seen.instance = instance.id WHERE merged_into IS NULL ORDER BY 1"
            .to_owned(),
    ] {
        let mut statement = connection.prepare(&query).unwrap();
        all.extend(statement.query_map([], |row| row.get::<_, String>(0)).unwrap().map(Result::unwrap));
    }
    all
}

/// A history beside a twin, both over the same answers.
struct Twins {
    folder: tempfile::TempDir,
    history: History,
    held: Held,
    twin: History,
    id: FleetId,
    twin_id: FleetId,
    fleet: Fleet,
    lock: Option<Connection>,
}

impl Twins {
    fn new(limits: HeldLimits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut history = History::open(&folder.path().join("history.sqlite3")).unwrap();
        let mut twin = History::open(&folder.path().join("twin.sqlite3")).unwrap();
        let (id, twin_id) = (history.fleet("http://m", None).unwrap(), twin.fleet("http://m", None).unwrap());
        Self { folder, history, held: Held::within(limits), twin, id, twin_id, fleet: Fleet::new(60.0), lock: None }
    }

    /// Another process writes for so long that nobody waits for it; or has ended.
    fn set_locked(&mut self, locked: bool) {
        self.lock = locked.then(|| {
            self.lock.take().unwrap_or_else(|| {
                let connection = Connection::open(self.folder.path().join("history.sqlite3")).unwrap();
                connection.execute_batch("BEGIN IMMEDIATE").unwrap();
                connection
            })
        });
        self.history.wait_for_others(WAIT);
    }

    fn answer(&mut self, second: i64, rows: Vec<dwell_fleet::Row>) {
        let (held, history, id) = (&mut self.held, &mut self.history, self.id);
        let (twin, twin_id) = (&mut self.twin, self.twin_id);
        see(&mut self.fleet, second, rows, |answer: &Answer<'_>| {
            held.record(history, id, answer);
            twin.record(twin_id, answer).unwrap();
        });
    }

    fn read(&mut self, key: Key, lines: &[LogLine], whole: bool, part: bool) {
        let owner = LogOwner::Instance(key);
        let kept = self.held.append(&mut self.history, self.id, owner, lines, (whole, part), None);
        let twins = match part {
            true => self.twin.append_part(self.twin_id, owner, lines, None).unwrap(),
            false => self.twin.append_lines(self.twin_id, owner, lines, whole, None).unwrap(),
        };
        assert_eq!(kept, twins, "what is new is told as it is without a failure");
    }

    fn compare(&self) -> (Vec<String>, Vec<String>) {
        (all_of(&self.folder.path().join("history.sqlite3")), all_of(&self.folder.path().join("twin.sqlite3")))
    }
}

const STATES: [State; 5] = [State::Loading, State::Registered, State::ParamsDone, State::Running, State::Killed];

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whenever writing fails and works again: once there is room, all is there once, as in a history that could always be written.
    #[test]
    fn what_is_held_is_written_once_in_order(
        steps in prop::collection::vec((5i64..90, 0usize..3, any::<bool>(), 0usize..4, any::<bool>()), 4..28),
    ) {
        let mut twins = Twins::new(HeldLimits::default());
        let (mut second, mut stages, mut logs) = (10, [0usize; 3], BTreeMap::<Key, Vec<LogLine>>::new());
        for (pause, who, moves, lines, locked) in steps {
            twins.set_locked(locked);
            second += pause;
            stages[who] = (stages[who] + usize::from(moves)).min(STATES.len() - 1);
            let rows = stages.iter().enumerate().map(|(place, stage)| {
                let uuid = if *stage == 0 { String::new() } else { format!("uuid-{place}") };
                row(&uuid, place as u64 + 1, STATES[*stage].clone())
            });
            let rows = rows.collect();
            twins.answer(second, rows);
            let keys: Vec<Key> = twins.fleet.instances().filter(|it| it.uuid.is_some()).map(|it| it.key).collect();
            if let Some(key) = keys.get(who.min(keys.len().saturating_sub(1))).copied() {
                let log = logs.entry(key).or_default();
                let from = log.len().saturating_sub(5);
                log.extend((0..lines).map(|place| line(second, &format!("line {second}-{place}"))));
                let whole = locked == moves;
                let reading = if whole { log.clone() } else { log[from..].to_vec() };
                twins.read(key, &reading, whole, !whole);
            }
            twins.history.wait_for_others(WAIT);
            twins.held.retry(&mut twins.history);
            prop_assert_eq!(twins.held.is_waiting(), locked && twins.held.state().error.is_some());
        }
        twins.set_locked(false);
        twins.held.retry(&mut twins.history);
        prop_assert!(!twins.held.is_waiting() && twins.held.state().error.is_none());
        prop_assert_eq!((twins.held.state().entries(), twins.held.state().lost()), (0, 0));
        // What readings move all the time is written with the next answer.
        let rows: Vec<_> = stages.iter().enumerate().map(|(place, stage)| {
            let uuid = if *stage == 0 { String::new() } else { format!("uuid-{place}") };
            row(&uuid, place as u64 + 1, STATES[*stage].clone())
        }).collect();
        twins.answer(second + 70, rows);
        let (kept, twin) = twins.compare();
        prop_assert_eq!(kept, twin);
    }
}

#[test]
fn beyond_the_limit_the_oldest_answers_are_dropped_and_a_gap_says_so() {
    let mut twins = Twins::new(HeldLimits { answers_bytes: 4_000, lines_bytes: 1_000 });
    twins.answer(10, vec![row("uuid-1", 1, State::Registered)]);
    twins.set_locked(true);
    for step in 1..60 {
        twins.answer(10 + step * 10, vec![row("uuid-1", 1, if step < 30 { State::Registered } else { State::ParamsDone })]);
    }
    let key = twins.fleet.by_uuid(&InstanceUuid::new("uuid-1").unwrap()).unwrap().key;
    let owner = LogOwner::Instance(key);
    let long: Vec<LogLine> = (0..50).map(|place| line(500, &format!("{place} {}", "x".repeat(100)))).collect();
    twins.held.append(&mut twins.history, twins.id, owner, &long[..3], (true, false), None);
    let new = twins.held.append(&mut twins.history, twins.id, owner, &long, (true, false), None);
    assert_eq!(new.lines.len(), 47, "what is not held is still seen");
    let state = twins.held.state().clone();
    assert!(state.bytes < 12_000 && state.lost_answers > 20 && state.lost_transitions == 1, "{state:?}");
    assert_eq!((state.lines, state.lost_lines), (3, 47));
    assert!(state.error.as_ref().is_some_and(|error| error.contains("locked")), "{state:?}");
    twins.set_locked(false);
    assert_eq!(twins.held.retry(&mut twins.history), [owner], "its log is read again in whole");
    let gaps = twins.history.gaps(twins.id, at(0)).unwrap();
    let gap = Gap { from: gaps[0].0, to: gaps[0].1 };
    assert!(gaps.len() == 1 && gap.from <= at(20) && gap.to > at(300), "{gaps:?}");
    twins.held.append(&mut twins.history, twins.id, owner, &long, (true, false), None);
    let kept = twins.history.lines(twins.id, owner, &dwell_history::LogQuery { limit: 100, ..Default::default() }).unwrap();
    assert_eq!(kept.into_iter().map(|it| it.line).collect::<Vec<_>>(), long, "each once");
}
