//! What is kept once, and what survives a new process.

use dwell_fleet::{Fleet, InstanceUuid, State};
use dwell_history::{ActEntry, Closing, History, HistoryError, LogOwner, LogQuery, NOTE_CHARACTERS_MAX, Note, NoteKind};

use crate::{at, line, row, texts, watch};

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

/// What was kept of this machine under another of its names is found under the one that is used now.
#[test]
fn this_machine_has_one_history_whatever_it_was_called() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.sqlite3");
    let mut history = History::open(&path).unwrap();
    let id = history.fleet("http://localhost:1235", None).unwrap();
    let mut fleet = Fleet::new(60.0);
    watch(&mut history, id, &mut fleet, 10, vec![row("aaaa", 7, State::Registered)]);
    let elsewhere = history.fleet("http://localhost.example:1235", None).unwrap();
    drop(history);

    let mut history = History::open(&path).unwrap();
    let id = history.fleet("http://127.0.0.1:1235", None).unwrap();
    assert_eq!(history.remembered(id, at(20)).unwrap().instances.len(), 1);
    assert_eq!(history.fleet("http://localhost.example:1235", None).unwrap(), elsewhere, "only this machine is renamed");
}

/// A fresh folder and several watchers at once: one makes the schema, the others wait for it.
#[test]
fn several_open_a_fresh_history_at_once() {
    for _ in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/history.sqlite3");
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| History::open(&path).unwrap().fleet("http://127.0.0.1:1235", None).unwrap());
            }
        });
        #[cfg(unix)]
        for entry in std::fs::read_dir(folder.path().join("a")).unwrap() {
            use std::os::unix::fs::PermissionsExt;
            let entry = entry.unwrap();
            assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", entry.file_name());
        }
    }
}

#[test]
fn what_was_left_under_way_is_taken_over_by_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.sqlite3");
    let history = History::open(&path).unwrap();
    let entry = |plan: &str, fleet: &str, phase: &str| ActEntry {
        id: 0,
        plan: plan.into(),
        at: at(10),
        who: "tester".into(),
        process: "ended".into(),
        why: String::new(),
        rule: None,
        fleet: fleet.into(),
        simulated: None,
        deed: "kill".into(),
        deed_text: None,
        target: "aaaa".into(),
        uuid: None,
        vast_id: Some(7),
        machine: None,
        account: None,
        account_number: None,
        dollars_per_h: None,
        phase: phase.into(),
        text: String::new(),
    };
    let written = [("left", "http://m", "sent"), ("elsewhere", "http://other", "sent"), ("done", "http://m", "verified")];
    written.into_iter().for_each(|(plan, fleet, phase)| history.add_act(&entry(plan, fleet, phase)).unwrap());
    let start = std::sync::Barrier::new(4);
    let taken: Vec<(String, String)> = std::thread::scope(|scope| {
        let one = |number: usize| {
            let (path, start) = (&path, &start);
            scope.spawn(move || {
                let mut history = History::open(path).unwrap();
                start.wait();
                let taken = history.take_over_acts("http://m", &format!("process {number}"), |it| it.process == "ended").unwrap();
                taken.into_iter().map(|it| (it.plan, it.process)).collect::<Vec<_>>()
            })
        };
        let all: Vec<_> = (0..4).map(one).collect();
        all.into_iter().flat_map(|it| it.join().unwrap()).collect()
    });
    assert_eq!(taken.len(), 1, "{taken:?}");
    assert_eq!(taken[0].0, "left");
    let open = history.open_acts().unwrap();
    assert_eq!(open.iter().find(|it| it.plan == "left").unwrap().process, taken[0].1);
    assert_eq!(open.iter().find(|it| it.plan == "elsewhere").unwrap().process, "ended");
}
