//! Lives for charts, thinning, search, export, and another workstation's history.

use dwell_fleet::{Fleet, Gap, InstanceUuid, Key, LogLine, State, Timestamp};
use dwell_history::{
    Cell, ExportTable, FULL_S, FleetId, History, HistoryError, Imported, Limits, LogOwner, LogQuery, MINUTES_S, Search,
};

use crate::{at, line, row, texts, watch};

fn key(fleet: &Fleet, uuid: &str) -> Key {
    fleet.by_uuid(&InstanceUuid::new(uuid).unwrap()).unwrap().key
}

fn gauges(history: &History, id: FleetId, key: Key) -> Vec<i64> {
    let kept = history.gauges(id, key, Timestamp::UNIX_EPOCH, 1_000_000).unwrap();
    kept.iter().map(|point| point.at.as_second() - at(0).as_second()).collect()
}

#[test]
fn a_life_is_read_whole_with_its_absences() {
    let mut history = History::in_memory().unwrap();
    let id = history.fleet("http://m", None).unwrap();
    let mut fleet = Fleet::new(300.0);
    watch(&mut history, id, &mut fleet, 50, vec![row("aaaa", 7, State::Registered), row("bbbb", 8, State::Registered)]);
    watch(&mut history, id, &mut fleet, 110, vec![row("aaaa", 7, State::ParamsDone), row("bbbb", 8, State::Registered)]);
    for second in [120, 130, 140] {
        watch(&mut history, id, &mut fleet, second, vec![row("aaaa", 7, State::ParamsDone)]);
    }
    watch(&mut history, id, &mut fleet, 1_000, vec![row("aaaa", 7, State::ParamsDone), row("bbbb", 8, State::Registered)]);
    let lives = history.lives(id, at(0), at(2_000)).unwrap();
    let states = |life: &dwell_fleet::Life| life.entries.iter().map(|entry| entry.state.to_string()).collect::<Vec<_>>();
    assert_eq!(lives.len(), 2);
    assert_eq!((lives[0].id.as_str(), states(&lives[0])), ("aaaa", vec!["registered".to_owned(), "params_done".to_owned()]));
    assert_eq!((lives[0].gpu.as_deref(), lives[0].last_listed_at), (Some("RTX 4090"), at(1_000)));
    let (gone, back) = lives[1].absences[0];
    assert!(gone > at(110) && gone <= at(140) && back == Some(at(1_000)), "{gone} {back:?}");
    assert_eq!(lives[1].state_at(at(200)), None);
    assert_eq!(lives[0].state_at(at(99)), Some(&State::Registered));
    // The watch lasted from the first answer to the last, with a gap in it.
    assert_eq!(history.watched(id).unwrap(), [(at(50), at(1_000))]);
    assert_eq!(history.gaps(id, at(0)).unwrap(), [(at(140), at(1_000))]);
    assert!(history.lives(id, at(1_001), at(2_000)).unwrap().is_empty());
    assert!(history.lives(id, at(-99), at(-1)).unwrap().is_empty());
}

#[test]
fn two_processes_and_a_night_between_are_two_stretches_of_watch() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.sqlite3");
    let mut id = None;
    for begin in [0, 100, 50_000] {
        let mut history = History::open(&path).unwrap();
        let fleet_id = history.fleet("http://m", None).unwrap();
        for second in [begin, begin + 30, begin + 60] {
            watch(&mut history, fleet_id, &mut Fleet::new(300.0), second, vec![row("aaaa", 7, State::Registered)]);
        }
        id = Some(fleet_id);
    }
    let history = History::open(&path).unwrap();
    assert_eq!(history.watched(id.unwrap()).unwrap(), [(at(0), at(160)), (at(50_000), at(50_060))]);
    assert_eq!(history.watched_until(id.unwrap()).unwrap(), Some(at(50_060)));
}

#[test]
fn gauges_are_thinned_by_age_and_never_lost_as_a_whole() {
    let mut history = History::in_memory().unwrap();
    let id = history.fleet("http://m", None).unwrap();
    let mut fleet = Fleet::new(300.0);
    // Every 20 s for two hours.
    for step in 0..360 {
        watch(&mut history, id, &mut fleet, step * 20, vec![row("aaaa", 7, State::Registered)]);
    }
    let of = key(&fleet, "aaaa");
    let all = gauges(&history, id, of);
    assert!(all.len() >= 350, "{}", all.len());
    let mut keep = |second: i64| {
        while history.upkeep(at(second), Limits::default()).unwrap().more {}
        gauges(&history, id, of)
    };
    assert_eq!(keep(7_200).len(), all.len(), "within a week nothing goes");
    let week = keep(7_200 + 3_600 + FULL_S);
    assert!((119..=122).contains(&week.len()), "{}", week.len());
    assert!(week.iter().all(|second| all.contains(second)), "what is left are readings that were made");
    assert_eq!(keep(7_200 + 3_600 + FULL_S), week, "again changes nothing");
    let old = keep(7_200 + 3_600 + MINUTES_S);
    assert!((12..=14).contains(&old.len()), "{old:?}");
    let steps: std::collections::HashSet<i64> = all.iter().map(|second| (second + at(0).as_second()) / 600).collect();
    assert_eq!(steps.len(), old.len(), "one of every ten minutes in which there was any");
}

#[test]
fn the_oldest_lines_make_room_and_the_newest_stay() {
    let mut history = History::in_memory().unwrap();
    let id = history.fleet("http://m", None).unwrap();
    let mut fleet = Fleet::new(300.0);
    watch(&mut history, id, &mut fleet, 0, vec![row("aaaa", 7, State::Registered)]);
    let owner = LogOwner::Instance(key(&fleet, "aaaa"));
    let lines: Vec<LogLine> = (0..30_000).map(|n| line(n, &format!("needle{n} {}", "hay ".repeat(30)))).collect();
    history.append_lines(id, owner, &lines, true, None).unwrap();
    let before = history.size().unwrap().used_bytes;
    let limits = Limits { bytes_max: before / 2 };
    let mut removed = 0;
    loop {
        let done = history.upkeep(at(60), limits).unwrap();
        removed += done.lines;
        if !done.more {
            break;
        }
    }
    assert!(history.size().unwrap().used_bytes <= limits.bytes_max);
    let kept = texts(&history, id, owner, &LogQuery { limit: 100_000, ..LogQuery::default() });
    assert_eq!(kept.len() + removed, 30_000);
    assert!(kept.first().unwrap().starts_with(&format!("needle{removed} ")) && kept.last().unwrap().starts_with("needle29999 "));
    let find =
        |words: &str| history.search(id, &Search { words: words.into(), limit: 10, ..Search::default() }).unwrap().lines.len();
    assert_eq!((find("needle0"), find("needle29999")), (0, 1), "what went is not found any more");
    assert_eq!(history.lives(id, at(0), at(99)).unwrap().len(), 1);
}

#[test]
fn words_are_found_in_every_log_newest_first() {
    let mut history = History::in_memory().unwrap();
    let id = history.fleet("http://m", None).unwrap();
    let other = history.fleet("http://elsewhere", None).unwrap();
    let mut fleet = Fleet::new(300.0);
    watch(&mut history, id, &mut fleet, 0, vec![row("aaaa", 7, State::Registered), row("bbbb", 8, State::Registered)]);
    let (one, two) = (key(&fleet, "aaaa"), key(&fleet, "bbbb"));
    history
        .append_lines(
            id,
            LogOwner::Instance(one),
            &[line(1, "CUDA error: no kernel image"), line(2, "kernel: image 7")],
            true,
            None,
        )
        .unwrap();
    history
        .append_lines(id, LogOwner::Instance(two), &[line(3, "No Kernel Image; allocation of 0x1f failed")], true, None)
        .unwrap();
    history.append_lines(id, LogOwner::Manager, &[line(4, "<b>kernel</b> image")], true, None).unwrap();
    history.append_lines(other, LogOwner::Manager, &[line(4, "kernel image elsewhere")], true, None).unwrap();
    let find = |search: Search| -> Vec<(Option<String>, i64)> {
        let found = history.search(id, &Search { limit: 10, ..search }).unwrap().lines;
        found.into_iter().map(|it| (it.instance, it.line.at.as_second() - at(0).as_second())).collect()
    };
    let words = |words: &str| Search { words: words.into(), ..Search::default() };
    assert_eq!(
        find(words("image kernel")),
        [(None, 4), (Some("bbbb".into()), 3), (Some("aaaa".into()), 2), (Some("aaaa".into()), 1)]
    );
    assert_eq!(find(words("\"no kernel image\"")), [(Some("bbbb".into()), 3), (Some("aaaa".into()), 1)]);
    assert_eq!(find(words("alloc*")), [(Some("bbbb".into()), 3)]);
    assert!(find(words("al*")).is_empty() && find(words("")).is_empty() && find(words("' OR 1=1 --")).is_empty());
    assert_eq!(find(Search { instance: Some(one), until: Some(at(2)), ..words("kernel") }), [(Some("aaaa".into()), 1)]);
    assert_eq!(find(Search { source: Some("nowhere".into()), ..words("kernel") }), []);
    // Page by page.
    let first = history.search(id, &Search { limit: 2, ..words("kernel") }).unwrap();
    let second = history.search(id, &Search { limit: 9, before_id: first.go_on_before, ..words("kernel") }).unwrap();
    assert_eq!((first.lines.len(), second.lines.len(), second.go_on_before), (2, 2, None));
}

#[test]
fn tables_are_exported_with_their_columns_and_what_was_not_told_is_empty() {
    let mut history = History::in_memory().unwrap();
    let id = history.fleet("http://m", None).unwrap();
    let mut fleet = Fleet::new(300.0);
    watch(&mut history, id, &mut fleet, 50, vec![row("aaaa", 7, State::Registered)]);
    watch(&mut history, id, &mut fleet, 150, vec![row("aaaa", 7, State::ParamsDone)]);
    history.append_lines(id, LogOwner::Instance(key(&fleet, "aaaa")), &[line(1, "one")], true, None).unwrap();
    let ever = (Timestamp::UNIX_EPOCH, at(9_999));
    for table in ExportTable::ALL {
        let mut rows = 0;
        history
            .export(id, table, ever, |cells| {
                assert_eq!(cells.len(), table.columns().len(), "{}", table.as_str());
                rows += 1;
                true
            })
            .unwrap();
        let expected = match table {
            ExportTable::Transitions | ExportTable::Gauges => 2,
            ExportTable::Instances | ExportTable::Logs => 1,
            ExportTable::Benchmarks | ExportTable::Flags => 0,
        };
        assert_eq!(rows, expected, "{}", table.as_str());
    }
    let mut seen = Vec::new();
    history
        .export(id, ExportTable::Gauges, ever, |cells| {
            seen.push((cells[2] == Cell::Real(50.0), cells[4] == Cell::Nothing));
            false
        })
        .unwrap();
    assert_eq!(seen, [(true, true)], "and it ends where it is told to");
    let mut none = 0;
    history
        .export(id, ExportTable::Transitions, (at(200), at(300)), |_| {
            none += 1;
            true
        })
        .unwrap();
    assert_eq!(none, 0);
}

/// Two workstations watch one fleet: the first from 0, the second from 60, which misses the beginning and sees the end.
fn two_workstations(folder: &std::path::Path) -> [std::path::PathBuf; 2] {
    let paths = ["first", "second"].map(|name| folder.join(name).join("history.sqlite3"));
    for (place, path) in paths.iter().enumerate() {
        let mut history = History::open(path).unwrap();
        let id = history.fleet("http://m", None).unwrap();
        let mut fleet = Fleet::new(300.0);
        let begin = place as i64 * 60;
        for second in (begin..=begin + 600).step_by(30) {
            let state = if second < 300 { State::Registered } else { State::ParamsDone };
            let mut rows = vec![row("aaaa", 7, state.clone())];
            rows[0].param_done_at = (state == State::ParamsDone).then(|| at(290));
            // The second one alone sees another instance.
            if place == 1 {
                rows.push(row("bbbb", 8, State::Registered));
            }
            watch(&mut history, id, &mut fleet, second + place as i64, rows);
        }
        let owner = LogOwner::Instance(key(&fleet, "aaaa"));
        // The manager's buffer lost its first lines before the second one looked.
        let lines: Vec<LogLine> = (place as i64 * 20..40 + place as i64 * 10).map(|n| line(n / 2, "same words")).collect();
        history.append_lines(id, owner, &lines, true, None).unwrap();
        history.append_lines(id, LogOwner::Manager, &[line(5, "started"), line(place as i64 + 6, "tick")], true, None).unwrap();
    }
    paths
}

#[test]
fn another_workstations_history_is_joined_without_counting_twice() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = two_workstations(folder.path());
    let untouched = std::fs::read(&second).unwrap();
    let mut history = History::open(&first).unwrap();
    let id = history.fleet("http://m", None).unwrap();
    let brought = history.import(&second).unwrap();
    assert_eq!((brought.fleets, brought.instances, brought.lines), (0, 1, 11), "{brought:?}");
    assert_eq!(history.import(&second).unwrap(), Imported::default(), "again brings nothing");
    assert_eq!(std::fs::read(&second).unwrap(), untouched);

    let lives = history.lives(id, at(0), at(9_999)).unwrap();
    let life = lives.iter().find(|life| life.id == "aaaa").unwrap();
    let entries: Vec<(String, i64)> =
        life.entries.iter().map(|entry| (entry.state.to_string(), entry.at.as_second() - at(0).as_second())).collect();
    assert_eq!(entries, [("registered".to_owned(), 0), ("params_done".to_owned(), 290)], "each change once");
    assert_eq!((lives.len(), life.last_listed_at), (2, at(661)));
    assert_eq!(history.watched(id).unwrap(), [(at(0), at(661))]);
    let remembered = history.remembered(id, at(700)).unwrap();
    let of = remembered.instances.iter().find(|it| it.id() == "aaaa").unwrap().key;
    // Readings a second apart are one.
    let kept = gauges(&history, id, of);
    assert!(kept.windows(2).all(|pair| pair[1] - pair[0] >= 10), "{kept:?}");
    assert!(kept.len() >= 22, "{kept:?}");
    let lines = history.lines(id, LogOwner::Instance(of), &LogQuery { limit: 999, ..LogQuery::default() }).unwrap();
    assert_eq!(lines.len(), 50, "40 of the first, and the last 10 of the second");
    assert!(lines.windows(2).all(|pair| pair[0].line.at <= pair[1].line.at), "in order");
    assert_eq!(history.search(id, &Search { words: "same".into(), limit: 999, ..Search::default() }).unwrap().lines.len(), 50);
    assert_eq!(
        texts(&history, id, LogOwner::Manager, &LogQuery { limit: 9, ..LogQuery::default() }),
        ["started", "tick", "tick"]
    );
}

#[test]
fn joined_either_way_round_it_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let summaries: Vec<_> = [(0, 1), (1, 0)]
        .into_iter()
        .map(|(into, from)| {
            let place = folder.path().join(into.to_string());
            let paths = two_workstations(&place);
            let mut history = History::open(&paths[into]).unwrap();
            history.import(&paths[from]).unwrap();
            let id = history.fleet("http://m", None).unwrap();
            let mut lives = history.lives(id, at(0), at(9_999)).unwrap();
            lives.sort_by(|left, right| left.id.cmp(&right.id));
            (
                lives,
                history.watched(id).unwrap(),
                history.search(id, &Search { words: "words".into(), limit: 999, ..Search::default() }).unwrap().lines.len(),
            )
        })
        .collect();
    assert_eq!(summaries[0], summaries[1]);
}

#[test]
fn what_is_no_history_is_not_imported() {
    let folder = tempfile::tempdir().unwrap();
    let mut history = History::open(&folder.path().join("history.sqlite3")).unwrap();
    let id = history.fleet("http://m", None).unwrap();
    watch(&mut history, id, &mut Fleet::new(300.0), 0, vec![row("aaaa", 7, State::Registered)]);
    let bad = folder.path().join("other.sqlite3");
    assert!(matches!(history.import(&bad), Err(HistoryError::Open { .. })), "not there");
    std::fs::write(&bad, "no database at all, but long enough to be looked at as if it were one").unwrap();
    assert!(matches!(history.import(&bad), Err(HistoryError::Open { .. })));
    std::fs::remove_file(&bad).unwrap();
    drop(History::open(&bad).unwrap());
    let hostile = rusqlite::Connection::open(&bad).unwrap();
    hostile.execute_batch("CREATE TRIGGER t AFTER INSERT ON fleet BEGIN DELETE FROM instance; END").unwrap();
    assert!(history.import(&bad).unwrap_err().to_string().contains("no history of Dwell"));
    hostile.execute_batch("DROP TRIGGER t").unwrap();
    hostile.pragma_update(None, "user_version", 99).unwrap();
    assert!(matches!(history.import(&bad), Err(HistoryError::Newer { .. })));
    assert_eq!(history.lives(id, at(-9), at(9)).unwrap().len(), 1);
}

#[test]
fn a_gap_of_one_is_no_gap_where_the_other_watched() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a", "b"].map(|name| folder.path().join(name).join("history.sqlite3"));
    for (place, seconds) in [vec![0, 30, 1_000, 1_030], vec![400, 430, 460]].into_iter().enumerate() {
        let mut history = History::open(&paths[place]).unwrap();
        let id = history.fleet("http://m", None).unwrap();
        let mut fleet = Fleet::new(300.0);
        for second in seconds {
            watch(&mut history, id, &mut fleet, second, vec![row("aaaa", 7, State::Registered)]);
        }
    }
    let mut history = History::open(&paths[0]).unwrap();
    let id = history.fleet("http://m", None).unwrap();
    history.import(&paths[1]).unwrap();
    let gap = |from, to| Gap { from: at(from), to: at(to) };
    let gaps: Vec<Gap> = history.gaps(id, at(0)).unwrap().into_iter().map(|(from, to)| Gap { from, to }).collect();
    assert_eq!(gaps, [gap(30, 400), gap(460, 1_000)]);
    assert_eq!(history.watched(id).unwrap(), [(at(0), at(30)), (at(400), at(460)), (at(1_000), at(1_030))]);
}

/// A window and a `dwellctl watch` on one folder read the same copy of vast.ai's list, each dating it to the second.
#[test]
fn two_processes_keep_one_reading_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.sqlite");
    let mut processes: Vec<_> = (0..2)
        .map(|_| {
            let mut history = History::open(&path).unwrap();
            let id = history.fleet("http://m", None).unwrap();
            (history, id, Fleet::new(60.0))
        })
        .collect();
    let mut listed = row("aaaa", 7, State::Running);
    for minute in 0..5 {
        listed.vast.gpu_util_percent = Some(90.0 + f64::from(minute));
        for (second, (history, id, fleet)) in processes.iter_mut().enumerate() {
            watch(history, *id, fleet, i64::from(minute) * 60 + second as i64, vec![listed.clone()]);
        }
    }
    let (history, id, fleet) = &processes[0];
    assert_eq!(gauges(history, *id, fleet.instances().next().unwrap().key).len(), 5);
}
