//! The watch loop, event by event, without a clock or a network.

use dwell_clients::{Code, FetchError};
use dwell_commands::{Effect, Event, Pace, Watch};
use dwell_fleet::{Fleet, InstanceUuid, LogLine, Row, Snapshot, State, Timestamp};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_796_092_800 + second).unwrap()
}

fn watch() -> Watch {
    Watch::new(Fleet::new(60.0), Pace::default(), at(0))
}

fn answer(second: i64, lines: u64) -> Event {
    let row = Row {
        uuid: InstanceUuid::new("aaaa"),
        registered_at: Some(at(-600)),
        param_done_at: Some(at(-60)),
        log_lines: Some(lines),
        ..Row::bare(State::ParamsDone)
    };
    let snapshot = Snapshot {
        requested_at: at(second),
        received_at: at(second),
        manager_time: Some(at(second)),
        vast_cache_age_s: Some(5.0),
        rows: vec![row],
        bad_hosts: vec![],
        rows_unreadable: 0,
    };
    Event::Dashboard(Ok((snapshot, None)))
}

fn failure(code: Code) -> Event {
    Event::Dashboard(Err(FetchError { code, message: "it did not work".into(), status: None }))
}

/// What was asked of the outside, in words.
fn asked(effects: &[Effect]) -> Vec<String> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::FetchDashboard => Some("dashboard".to_owned()),
            Effect::FetchInstanceLines { uuid, tail, .. } => Some(format!("{uuid} {tail}")),
            Effect::FetchManagerLines { tail } => Some(format!("manager {tail}")),
            _ => None,
        })
        .collect()
}

#[test]
fn a_dashboard_is_asked_for_at_its_pace_and_never_twice_at_once() {
    let mut watch = watch();
    assert_eq!(asked(&watch.step(Event::Tick, at(0))), ["dashboard"]);
    assert!(asked(&watch.step(Event::Tick, at(60))).is_empty(), "one is under way");
    assert!(asked(&watch.step(Event::Refresh, at(61))).is_empty());
    assert_eq!(asked(&watch.step(answer(62, 0), at(62))), ["manager 5000"]);
    assert!(asked(&watch.step(Event::Tick, at(71))).is_empty());
    assert_eq!(asked(&watch.step(Event::Tick, at(72))), ["dashboard"]);
}

#[test]
fn after_a_failure_the_manager_is_asked_again_within_two_readings_and_behind_a_login_page_once_a_minute() {
    let mut watch = watch();
    watch.step(Event::Tick, at(0));
    let mut now = 0;
    let mut waits = Vec::new();
    for _ in 0..6 {
        watch.step(failure(Code::TimedOut), at(now));
        let next = watch.connection().next_try_at.unwrap();
        waits.push(next.as_second() - at(now).as_second());
        now = next.as_second() - at(0).as_second();
        assert_eq!(asked(&watch.step(Event::Tick, at(now))), ["dashboard"]);
    }
    assert_eq!(waits, [10, 20, 20, 20, 20, 20]);
    assert_eq!((watch.connection().failing_since, watch.connection().failures), (Some(at(0)), 6));
    watch.step(failure(Code::Unauthorised), at(now));
    assert!(asked(&watch.step(Event::Tick, at(now + 59))).is_empty(), "somebody has to log in");
    assert_eq!(asked(&watch.step(Event::Tick, at(now + 60))), ["dashboard"]);
    watch.step(failure(Code::BadAddress), at(now + 60));
    assert!(asked(&watch.step(Event::Tick, at(now + 86_400))).is_empty(), "only the operator can change this");
    assert_eq!(asked(&watch.step(Event::Refresh, at(now + 86_401))), ["dashboard"]);
    watch.step(answer(now + 86_402, 0), at(now + 86_402));
    assert_eq!((watch.connection().answered, watch.connection().failed), (1, 8));
    assert!(watch.connection().failure.is_none() && watch.connection().failing_since.is_none());
}

#[test]
fn what_was_told_stays_while_the_manager_is_silent() {
    let mut watch = watch();
    watch.step(Event::Tick, at(0));
    watch.step(answer(1, 0), at(1));
    watch.step(Event::Tick, at(11));
    watch.step(failure(Code::NotAManager), at(12));
    assert_eq!(watch.fleet().instances().count(), 1);
    assert_eq!((watch.connection().last_ok_at, watch.fleet().as_of()), (Some(at(1)), Some(at(1))));
}

#[test]
fn logs_are_read_whole_once_and_then_only_what_grew() {
    let mut watch = watch();
    watch.step(Event::Tick, at(0));
    let effects = watch.step(answer(1, 300), at(1));
    assert_eq!(asked(&effects), ["manager 5000", "aaaa 10000"]);
    let key = watch.fleet().instances().next().unwrap().key;
    let line = LogLine { source: "benchout".into(), text: "proof 1".into(), at: at(0) };
    let effects = watch.step(Event::InstanceLines { key, tail: 10_000, result: Ok(vec![line.clone()]) }, at(2));
    assert!(effects.iter().any(|effect| matches!(effect, Effect::KeepLines { whole_buffer: true, .. })));
    watch.step(Event::LinesKept { key, lines: vec![line] }, at(2));
    watch.step(Event::Tick, at(11));
    assert!(asked(&watch.step(answer(12, 300), at(12))).is_empty(), "nothing new, nothing read");
    watch.step(Event::Tick, at(22));
    assert_eq!(asked(&watch.step(answer(23, 307), at(23))), ["aaaa 27"], "seven new lines and some to overlap");

    // The buffers empty: read whole again, and the manager's log as well.
    watch.step(Event::InstanceLines { key, tail: 27, result: Ok(vec![]) }, at(24));
    watch.step(Event::ManagerLines(Ok(vec![])), at(24));
    watch.step(Event::Tick, at(33));
    assert_eq!(asked(&watch.step(answer(34, 3), at(34))), ["manager 500", "aaaa 10000"]);
}

#[test]
fn the_managers_start_is_found_in_its_own_words_only() {
    let mut watch = watch();
    watch.step(Event::Tick, at(0));
    watch.step(answer(1, 0), at(1));
    let line = |text: &str, second| LogLine { source: "manager".into(), text: text.into(), at: at(second) };
    let forged = line("2026/12/01 02:44:09 [bad-host] added machine_id=1 reason=API server listening on x", -5);
    watch.step(Event::ManagerLines(Ok(vec![forged.clone()])), at(2));
    assert_eq!(watch.fleet().manager_run().started_at, None);
    watch.step(Event::Tick, at(40));
    watch.step(
        Event::ManagerLines(Ok(vec![line("2026/12/01 02:44:09 API server listening on 127.0.0.1:1235", -9), forged])),
        at(41),
    );
    assert_eq!(watch.fleet().manager_run().started_at, Some(at(-9)));
}
