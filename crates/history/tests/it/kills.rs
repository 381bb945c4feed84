//! `kill -9` at any moment, a hundred times in all: what was acknowledged is there, once, and the file is sound.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use dwell_fleet::{Fleet, LogLine, State, Timestamp};
use dwell_history::{FULL_S, History, Limits, LogOwner, LogQuery, Search};

use crate::{at, line, row, texts, watch};

/// What the process that will be killed does, and where.
const DEED: &str = "DWELL_TEST_DEED_UNTIL_KILLED";

fn deed_of(test: &str, deed: fn(&Path) -> !) {
    if let Ok(path) = std::env::var(DEED)
        && std::env::args().any(|argument| argument.ends_with(test))
    {
        deed(Path::new(&path));
    }
}

fn begin(test: &str, path: &Path) -> (Child, BufReader<ChildStdout>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(DEED, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    (child, output)
}

/// The next number that the process acknowledges.
fn acknowledged(output: &mut BufReader<ChildStdout>) -> Option<i64> {
    let mut text = String::new();
    loop {
        text.clear();
        if output.read_line(&mut text).unwrap() == 0 {
            return None;
        }
        if let Some(kept) = text.trim().strip_prefix("kept ") {
            return Some(kept.parse().unwrap());
        }
    }
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn assert_sound(path: &Path) {
    let connection = rusqlite::Connection::open(path).unwrap();
    let sound: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    if version >= 5 {
        connection.execute("INSERT INTO log_search (log_search) VALUES ('integrity-check')", []).unwrap();
        let words: i64 = connection.query_row("SELECT count(*) FROM log_search", [], |row| row.get(0)).unwrap();
        let lines: i64 = connection.query_row("SELECT count(*) FROM log_line", [], |row| row.get(0)).unwrap();
        assert_eq!(words, lines, "every line can be found, and no other");
    }
}

/// Moments that differ from round to round, up to some milliseconds.
fn a_moment(round: u64) {
    std::thread::sleep(Duration::from_micros(round * 7_919 % 25_000));
}

#[test]
fn answers_and_lines_while_they_come_in() {
    deed_of("answers_and_lines_while_they_come_in", write_until_killed);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.sqlite3");
    let mut reported = 0;
    for round in 0..40u64 {
        let (child, mut output) = begin("kills::answers_and_lines_while_they_come_in", &path);
        // Killed after so many reported answers, wherever the next one then is.
        for _ in 0..3 + round % 9 {
            reported = reported.max(acknowledged(&mut output).unwrap());
        }
        kill(child);
        while let Some(more) = acknowledged(&mut output) {
            reported = reported.max(more);
        }
        assert_sound(&path);
        let mut history = History::open(&path).unwrap();
        let id = history.fleet("http://m", None).unwrap();
        let instances = history.remembered(id, at(reported)).unwrap().instances;
        let kept =
            texts(&history, id, LogOwner::Instance(instances[0].key), &LogQuery { limit: 1_000_000, ..LogQuery::default() });
        assert!(kept.len() as i64 >= reported, "{} lines of {reported} reported", kept.len());
        assert!(kept.iter().enumerate().all(|(index, text)| *text == format!("line {}", index + 1)), "each line once, in order");
    }
}

fn write_until_killed(path: &Path) -> ! {
    let mut history = History::open(path).unwrap();
    let id = history.fleet("http://m", None).unwrap();
    let remembered = history.remembered(id, at(0)).unwrap();
    let mut fleet = Fleet::new(60.0);
    fleet.remember(remembered.instances, remembered.past_stays, remembered.highest_key);
    let mut second = 0;
    loop {
        second += 1;
        watch(&mut history, id, &mut fleet, second, vec![row("aaaa", 1, State::Registered)]);
        let owner = LogOwner::Instance(fleet.instances().next().unwrap().key);
        // The manager's buffer as it would be: all lines so far.
        let buffer: Vec<LogLine> = (1..=second).map(|n| line(n, &format!("line {n}"))).collect();
        history.append_lines(id, owner, &buffer, true, None).unwrap();
        println!("kept {second}");
    }
}

/// A day of gauges of ten instances, two months ago, and many lines.
fn fill(path: &Path) {
    let mut history = History::open(path).unwrap();
    let id = history.fleet("http://m", None).unwrap();
    let mut fleet = Fleet::new(300.0);
    let rows = || (0..10).map(|n| row(&format!("aaa{n}"), 100 + n, State::Registered)).collect();
    watch(&mut history, id, &mut fleet, 0, rows());
    watch(&mut history, id, &mut fleet, 86_400, rows());
    let lines: Vec<LogLine> = (0..20_000).map(|n| line(n, &format!("line {n} {}", "words ".repeat(12)))).collect();
    history.append_lines(id, LogOwner::Manager, &lines, true, None).unwrap();
    drop(history);
    let connection = rusqlite::Connection::open(path).unwrap();
    connection
        .execute(
            "WITH RECURSIVE step (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM step WHERE n < 4000)
             INSERT OR IGNORE INTO gauge (instance, at_ms, gpu_util)
             SELECT instance.id, ?1 + n * 20000, n FROM step, instance",
            [at(0).as_millisecond()],
        )
        .unwrap();
}

/// One of every minute in which there was any.
fn minutes(path: &Path) -> i64 {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection
        .query_row("SELECT count(*) FROM (SELECT DISTINCT instance, at_ms / 60000 FROM gauge)", [], |row| row.get(0))
        .unwrap()
}

const TIGHT: Limits = Limits { bytes_max: 3_000_000 };

fn long_after() -> Timestamp {
    at(86_400 + FULL_S + 7_200)
}

#[test]
fn thinning_and_making_room() {
    deed_of("thinning_and_making_room", keep_up_until_killed);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.sqlite3");
    fill(&path);
    let whole = minutes(&path);
    for round in 0..20u64 {
        let (child, mut output) = begin("kills::thinning_and_making_room", &path);
        if acknowledged(&mut output).is_some() {
            a_moment(round);
        }
        kill(child);
        assert_sound(&path);
        assert_eq!(minutes(&path), whole, "no minute is lost");
    }
    let mut history = History::open(&path).unwrap();
    while history.upkeep(long_after(), TIGHT).unwrap().more {}
    drop(history);
    let connection = rusqlite::Connection::open(&path).unwrap();
    let left: i64 = connection.query_row("SELECT count(*) FROM gauge", [], |row| row.get(0)).unwrap();
    assert!(left < whole + whole / 20 && minutes(&path) == whole, "{left} of {whole} minutes");
    let (first, last, lines): (i64, i64, i64) = connection
        .query_row("SELECT min(id), max(id), count(*) FROM log_line", [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap();
    assert!(first > 1 && last == 20_000 && lines == last - first + 1, "the newest stay: {first} to {last}");
}

fn keep_up_until_killed(path: &Path) -> ! {
    let mut history = History::open(path).unwrap();
    println!("kept 0");
    loop {
        history.upkeep(long_after(), TIGHT).unwrap();
    }
}

/// Takes a history back to what the schema was before.
fn as_before(path: &Path) {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection
        .execute_batch(
            "DROP TABLE log_search; DROP TABLE watched; DROP TABLE upkeep; DROP INDEX transition_by_life; DROP INDEX instance_by_listed;
             DROP INDEX flag_leaking; DROP TABLE act; DROP TABLE rollout_item; DROP TABLE rollout; DROP TABLE seen;
             ALTER TABLE fleet DROP COLUMN answered_ms; ALTER TABLE fleet DROP COLUMN vast_age_s;
             ALTER TABLE fleet DROP COLUMN first_skew_s; PRAGMA user_version = 4;",
        )
        .unwrap();
}

#[test]
fn bringing_an_older_file_up_to_date() {
    deed_of("bringing_an_older_file_up_to_date", migrate_until_killed);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.sqlite3");
    fill(&path);
    let whole = minutes(&path);
    for round in 0..20u64 {
        as_before(&path);
        let (child, mut output) = begin("kills::bringing_an_older_file_up_to_date", &path);
        acknowledged(&mut output).unwrap();
        a_moment(round);
        kill(child);
        assert_sound(&path);
        let mut history = History::open(&path).unwrap();
        let id = history.fleet("http://m", None).unwrap();
        let found = history.search(id, &Search { words: "line 19999".into(), limit: 9, ..Search::default() }).unwrap();
        assert_eq!((found.lines.len(), history.watched(id).unwrap()), (1, vec![(at(0), at(86_400))]));
        assert_eq!(minutes(&path), whole);
        drop(history);
        assert_sound(&path);
    }
}

fn migrate_until_killed(path: &Path) -> ! {
    println!("kept 0");
    let _history = History::open(path).unwrap();
    loop {
        std::thread::park();
    }
}

#[test]
fn joining_another_history() {
    deed_of("joining_another_history", import_until_killed);
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("history.sqlite3"), folder.path().join("other.sqlite3"));
    fill(&other);
    let mut sizes = Vec::new();
    for round in 0..20u64 {
        let (child, mut output) = begin("kills::joining_another_history", &path);
        acknowledged(&mut output).unwrap();
        a_moment(round * 3);
        kill(child);
        assert_sound(&path);
        sizes.push(minutes(&path));
    }
    assert!(sizes.windows(2).all(|pair| pair[0] <= pair[1]), "what was joined stays: {sizes:?}");
    let mut history = History::open(&path).unwrap();
    history.import(&other).unwrap();
    let id = history.fleet("http://m", None).unwrap();
    assert_eq!(texts(&history, id, LogOwner::Manager, &LogQuery { limit: 99_999, ..LogQuery::default() }).len(), 20_000);
    assert_eq!((minutes(&path), history.lives(id, at(0), at(99_999)).unwrap().len()), (minutes(&other), 10));
    assert_eq!(history.import(&other).unwrap(), dwell_history::Imported::default());
}

fn import_until_killed(path: &Path) -> ! {
    let mut history = History::open(path).unwrap();
    println!("kept 0");
    history.import(&path.with_file_name("other.sqlite3")).unwrap();
    loop {
        std::thread::park();
    }
}
