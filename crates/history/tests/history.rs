//! History over real files: what is kept once, what survives a new process and a kill.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on says where")]

use std::process::Command;

use dwell_fleet::{Fleet, InstanceUuid, LogLine, ManagerRun, Row, Snapshot, State, Timestamp, VastFacts, VastId};
use dwell_history::{Answer, Closing, FleetId, History, HistoryError, LogOwner, LogQuery, NOTE_CHARACTERS_MAX, Note, NoteKind};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_796_092_800 + second).unwrap()
}

fn row(uuid: &str, vast_id: u64, state: State) -> Row {
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

fn snapshot(second: i64, rows: Vec<Row>) -> Snapshot {
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
fn watch(history: &mut History, id: FleetId, fleet: &mut Fleet, second: i64, rows: Vec<Row>) {
    let observed = fleet.observe(&snapshot(second, rows));
    let flags = fleet.assess();
    let answer = Answer {
        as_of: at(second),
        instances: fleet.instances().collect(),
        transitions: &observed.transitions,
        merged: &observed.merged,
        gap: observed.gap,
        run: ManagerRun::default(),
        flags: &flags,
    };
    history.record(id, &answer).unwrap();
}

fn line(second: i64, text: &str) -> LogLine {
    LogLine { source: "setup".into(), text: text.into(), at: at(second) }
}

fn texts(history: &History, id: FleetId, owner: LogOwner, query: &LogQuery) -> Vec<String> {
    history.lines(id, owner, query).unwrap().into_iter().map(|stored| stored.line.text).collect()
}

#[test]
fn a_new_process_goes_on_where_the_last_one_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/er/history.sqlite3");
    let mut history = History::open(&path).unwrap();
    let id = history.fleet("http://m", None).unwrap();
    let mut fleet = Fleet::new(60.0);
    watch(&mut history, id, &mut fleet, 10, vec![row("", 7, State::Loading)]);
    watch(&mut history, id, &mut fleet, 20, vec![row("aaaa", 7, State::Registered)]);
    let key = fleet.instances().next().unwrap().key;
    history.append_lines(id, LogOwner::Instance(key), &[line(15, "hello")], true, None).unwrap();
    drop(history);

    let mut history = History::open(&path).unwrap();
    let id = history.fleet("http://m", None).unwrap();
    let remembered = history.remembered(id, at(5000)).unwrap();
    assert_eq!(remembered.instances.len(), 1, "one instance, though its row changed key");
    let mut fleet = Fleet::new(60.0);
    fleet.remember(remembered.instances, remembered.past_stays, remembered.highest_key);
    watch(&mut history, id, &mut fleet, 5000, vec![row("aaaa", 7, State::ParamsDone)]);
    let instance = fleet.instances().next().unwrap();
    assert_eq!((instance.id().as_str(), instance.log.newest["setup"]), ("aaaa", at(15)));
    let states: Vec<String> =
        history.transitions(id, instance.key, 100).unwrap().iter().map(|record| record.entry.state.to_string()).collect();
    assert_eq!(
        states,
        ["registered", "loading", "params_done"],
        "in order of when they happened; loading was dated by first sight"
    );
    assert_eq!(texts(&history, id, LogOwner::Instance(instance.key), &LogQuery { limit: 10, ..LogQuery::default() }), ["hello"]);
}

#[test]
fn two_watchers_keep_one_history() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.sqlite3");
    let (mut first, mut second) = (History::open(&path).unwrap(), History::open(&path).unwrap());
    let id = first.fleet("http://m", None).unwrap();
    assert_eq!(second.fleet("http://m", None).unwrap(), id);
    let (mut fleet_1, mut fleet_2) = (Fleet::new(60.0), Fleet::new(60.0));
    // They see different instances first, so their own keys differ.
    watch(&mut first, id, &mut fleet_1, 10, vec![row("aaaa", 1, State::Registered)]);
    watch(&mut second, id, &mut fleet_2, 11, vec![row("bbbb", 2, State::Registered), row("aaaa", 1, State::Registered)]);
    watch(&mut first, id, &mut fleet_1, 120, vec![row("aaaa", 1, State::ParamsDone), row("bbbb", 2, State::Registered)]);
    watch(&mut second, id, &mut fleet_2, 125, vec![row("aaaa", 1, State::ParamsDone), row("bbbb", 2, State::Registered)]);
    for (history, fleet) in [(&mut first, &fleet_1), (&mut second, &fleet_2)] {
        let key = fleet.by_uuid(&InstanceUuid::new("aaaa").unwrap()).unwrap().key;
        history.append_lines(id, LogOwner::Instance(key), &[line(5, "one"), line(6, "two")], true, None).unwrap();
        let kept = texts(history, id, LogOwner::Instance(key), &LogQuery { limit: 10, ..LogQuery::default() });
        assert_eq!(kept, ["one", "two"]);
        assert_eq!(history.transitions(id, key, 10).unwrap().len(), 2);
    }
    assert_eq!(first.remembered(id, at(200)).unwrap().instances.len(), 2);
}

#[test]
fn a_restarted_managers_empty_buffer_costs_no_kept_line() {
    let mut history = History::in_memory().unwrap();
    let id = history.fleet("http://m", Some("run 1")).unwrap();
    assert_ne!(history.fleet("http://m", Some("run 2")).unwrap(), id, "each simulated run is a fleet of its own");
    let mut fleet = Fleet::new(60.0);
    watch(&mut history, id, &mut fleet, 10, vec![row("aaaa", 1, State::Registered)]);
    let owner = LogOwner::Instance(fleet.instances().next().unwrap().key);
    let before = [line(1, "same"), line(1, "same"), line(2, "b")];
    assert_eq!(history.append_lines(id, owner, &before, true, None).unwrap().lines.len(), 3);
    assert!(history.append_lines(id, owner, &before, true, None).unwrap().lines.is_empty());
    // Restarted at 50: an empty buffer, then the very same words again.
    assert!(history.append_lines(id, owner, &[], true, Some(at(50))).unwrap().lines.is_empty());
    let after = history.append_lines(id, owner, &[line(60, "same"), line(60, "b")], true, Some(at(50))).unwrap();
    assert_eq!((after.lines.len(), after.gap), (2, false));
    let all = LogQuery { limit: 10, ..LogQuery::default() };
    assert_eq!(texts(&history, id, owner, &all), ["same", "same", "b", "same", "b"]);
    assert_eq!(texts(&history, id, owner, &LogQuery { contains: Some("AM".into()), limit: 2, ..all.clone() }), ["same", "same"]);
    assert_eq!(history.sources(id, owner).unwrap(), [("setup".to_owned(), 5)]);
    // More arrived than one reading shows.
    let lost = history.append_lines(id, owner, &[line(90, "z")], false, Some(at(50))).unwrap();
    assert!(lost.gap && history.lines(id, owner, &all).unwrap().last().unwrap().after_gap);
}

#[test]
fn a_newer_file_is_left_alone_and_garbage_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.sqlite3");
    drop(History::open(&path).unwrap());
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    assert!(matches!(History::open(&path).unwrap_err(), HistoryError::Newer { .. }));
    std::fs::write(
        &path,
        b"this is no database, and long enough to be read as one: ............................................",
    )
    .unwrap();
    std::fs::remove_file(folder.path().join("history.sqlite3-wal")).ok();
    assert!(matches!(History::open(&path).unwrap_err(), HistoryError::Open { .. }));
}

/// Kills a writing process at arbitrary moments; what it said was kept must be there, and the file must be sound.
#[test]
fn survives_kill_9_at_any_moment() {
    if let Ok(path) = std::env::var("DWELL_TEST_WRITE_UNTIL_KILLED") {
        write_until_killed(&path);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.sqlite3");
    let mut reported = 0;
    for round in 0..4u64 {
        let mut writer = Command::new(std::env::current_exe().unwrap())
            .args(["survives_kill_9_at_any_moment", "--exact", "--nocapture"])
            .env("DWELL_TEST_WRITE_UNTIL_KILLED", &path)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let mut output = std::io::BufReader::new(writer.stdout.take().unwrap());
        // Killed after so many reported answers, wherever the next one then is.
        let mut text = String::new();
        let mut seen = 0;
        while seen < 7 + round * 5 {
            text.clear();
            std::io::BufRead::read_line(&mut output, &mut text).unwrap();
            if let Some(kept) = text.trim().strip_prefix("kept ") {
                reported = reported.max(kept.parse::<i64>().unwrap());
                seen += 1;
            }
        }
        writer.kill().unwrap();
        writer.wait().unwrap();

        let sound: String =
            rusqlite::Connection::open(&path).unwrap().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(sound, "ok");
        let mut history = History::open(&path).unwrap();
        let id = history.fleet("http://m", None).unwrap();
        let instances = history.remembered(id, at(reported)).unwrap().instances;
        let kept =
            texts(&history, id, LogOwner::Instance(instances[0].key), &LogQuery { limit: 1_000_000, ..LogQuery::default() });
        assert!(kept.len() as i64 >= reported, "{} lines of {reported} reported", kept.len());
        assert!(kept.iter().enumerate().all(|(index, text)| *text == format!("line {}", index + 1)), "each line once, in order");
    }
}

fn write_until_killed(path: &str) -> ! {
    let mut history = History::open(std::path::Path::new(path)).unwrap();
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

#[test]
fn notes_and_closings_outlive_the_process_and_are_found_by_cause() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.sqlite3");
    let rows = || vec![row("aaaa", 1, State::ParamsDone), row("bbbb", 2, State::ParamsDone)];
    let key = |fleet: &Fleet, uuid: &str| fleet.by_uuid(&InstanceUuid::new(uuid).unwrap()).unwrap().key;
    {
        let mut history = History::open(&path).unwrap();
        let id = history.fleet("http://m", None).unwrap();
        let mut fleet = Fleet::new(60.0);
        watch(&mut history, id, &mut fleet, 100, rows());
        let (one, other) = (key(&fleet, "aaaa"), key(&fleet, "bbbb"));
        let text = "x".repeat(NOTE_CHARACTERS_MAX * 2);
        assert!(history.add_note(id, one, &Note { at: at(100), kind: NoteKind::Note, text, closing: None }).unwrap());
        let closing = Closing { cause: "disk-slow".into(), gpu: Some("RTX 4090".into()), machine: Some(7), ..Closing::default() };
        let closed = Note { at: at(101), kind: NoteKind::Close, text: "read test".into(), closing: Some(closing) };
        assert!(history.add_note(id, other, &closed).unwrap());
        // Whom the history does not know, nothing is kept of.
        let nobody = dwell_fleet::Key(999);
        assert!(
            !history.add_note(id, nobody, &Note { at: at(100), kind: NoteKind::Note, text: "?".into(), closing: None }).unwrap()
        );
    }
    let mut history = History::open(&path).unwrap();
    let id = history.fleet("http://m", None).unwrap();
    let remembered = history.remembered(id, at(200)).unwrap();
    let mut fleet = Fleet::new(60.0);
    fleet.remember(remembered.instances, remembered.past_stays, remembered.highest_key);
    let (one, other) = (key(&fleet, "aaaa"), key(&fleet, "bbbb"));
    let notes = history.notes(id, one, 10).unwrap();
    assert_eq!((notes.len(), notes[0].text.len()), (1, NOTE_CHARACTERS_MAX));
    let before = history.seen_before(id, &["disk-slow"], one, 10).unwrap();
    assert_eq!((before.len(), before[0].id.as_str()), (1, "bbbb"));
    assert_eq!(before[0].note.closing.as_ref().unwrap().machine, Some(7));
    assert!(history.seen_before(id, &["disk-slow"], other, 10).unwrap().is_empty(), "its own is not before");
    assert!(history.seen_before(id, &["gsp-timeout"], one, 10).unwrap().is_empty());
}

#[test]
fn benchmark_rates_outlive_the_row_and_simulated_ones_stay_apart() {
    let mut history = History::in_memory().unwrap();
    let proving = |uuid: &str, rate: Option<f64>| {
        let mut row = row(uuid, 7, State::Running);
        row.bench_rate_proofs_per_h = rate;
        row.vast.cpu_ram_mib = Some(131_072.0);
        row
    };
    for (simulated, uuid, rate) in
        [(None, "11111111-1111-4111-8111-111111111111", 35.57), (Some("a run"), "22222222-2222-4222-8222-222222222222", 99.0)]
    {
        let id = history.fleet("http://m", simulated).unwrap();
        let mut fleet = Fleet::new(300.0);
        watch(&mut history, id, &mut fleet, 0, vec![proving(uuid, Some(rate))]);
        // A later answer that does not tell it any more takes nothing away.
        watch(&mut history, id, &mut fleet, 120, vec![proving(uuid, None)]);
    }
    let rates = history.bench_rates(false, 10).unwrap();
    assert_eq!(rates.len(), 1);
    assert_eq!((rates[0].proofs_per_h, rates[0].gpu_name.as_str(), rates[0].num_gpus), (35.57, "RTX 4090", 1));
    assert_eq!((rates[0].cpu_ram_mib, rates[0].at), (Some(131_072.0), at(120)));
    assert_eq!(history.bench_rates(true, 10).unwrap()[0].proofs_per_h, 99.0);
    assert!(history.bench_rates(false, 0).unwrap().is_empty());
}
