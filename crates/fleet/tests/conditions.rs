//! Conditions of a whole fleet, leaks that outlive the list that showed them, and money that is not known.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use dwell_fleet::{
    ConditionKind, FlagKind, Fleet, InstanceUuid, ListNews, Outlook, Row, Severity, Snapshot, State, Timestamp, VastFacts,
    VastId, conditions, money,
};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_796_092_800 + second).unwrap()
}

fn running(number: u64) -> Row {
    Row {
        uuid: InstanceUuid::new(format!("uuid-{number}")),
        vast_id: Some(VastId(number)),
        label: Some(format!("C.{number}")),
        registered_at: Some(at(-9_000)),
        bench_done_at: Some(at(-6_000)),
        bench_rate_proofs_per_h: Some(40.0),
        vast: VastFacts {
            gpu_util_percent: Some(97.0),
            gpu_temp_c: Some(60.0),
            dollars_per_h: Some(0.31),
            ..VastFacts::default()
        },
        ..Row::bare(State::Running)
    }
}

fn killed(mut row: Row, second: i64, reason: &str) -> Row {
    row.state = State::Killed;
    (row.killed_at, row.kill_reason) = (Some(at(second)), Some(reason.to_owned()));
    row
}

/// Its record is not on the list.
fn unlisted(mut row: Row) -> Row {
    (row.vast_id, row.vast) = (None, VastFacts::default());
    row
}

fn answer_aged(second: i64, age_s: Option<f64>, rows: Vec<Row>) -> Snapshot {
    Snapshot {
        requested_at: at(second),
        received_at: at(second),
        manager_time: Some(at(second)),
        vast_cache_age_s: age_s,
        rows,
        bad_hosts: vec![],
        rows_unreadable: 0,
    }
}

fn answer(second: i64, rows: Vec<Row>) -> Snapshot {
    answer_aged(second, Some(5.0), rows)
}

fn see(fleet: &mut Fleet, snapshot: &Snapshot) {
    assert_eq!(fleet.observe(snapshot).rejected, None);
    fleet.assess();
}

fn found(fleet: &Fleet, now: i64) -> Vec<(ConditionKind, Severity)> {
    let list = ListNews::default();
    let outlook = Outlook {
        now: at(now),
        failure: None,
        failing_since: None,
        list: &list,
        log_failure: None,
        rows_unusable: 0,
        implausible: &[],
        not_stored: None,
    };
    conditions(fleet, &outlook).iter().map(|it| (it.kind, it.severity)).collect()
}

fn flags(fleet: &Fleet) -> Vec<FlagKind> {
    fleet.instances().filter_map(|instance| instance.flag.as_ref().map(|flag| flag.kind)).collect()
}

const GONE: &str = "instance disappeared from vast";

fn eleven() -> Vec<Row> {
    (10..21).map(running).collect()
}

fn written_off(second: i64) -> Vec<Row> {
    eleven().into_iter().map(|row| unlisted(killed(row, second, GONE))).collect()
}

#[test]
fn a_whole_fleet_that_a_list_wrote_off_is_an_incident_until_it_is_accounted_for() {
    let mut fleet = Fleet::new(60.0);
    see(&mut fleet, &answer(0, eleven()));
    assert_eq!(found(&fleet, 0), []);
    see(&mut fleet, &answer(70, written_off(65)));
    assert_eq!(found(&fleet, 70), [(ConditionKind::WrittenOff, Severity::Incident)]);
    assert_eq!(flags(&fleet), [FlagKind::WrittenOff; 11]);
    let sums = money(&fleet);
    assert_eq!((sums.unknown.instances, sums.leaking_dollars_per_h()), (11, None), "unknown, and no zero");
    assert!((sums.unknown.told().unwrap() - 3.41).abs() < 1e-9, "by their last prices");
    // The same empty list, again and again, tells nothing new.
    for minute in 2..60 {
        see(&mut fleet, &answer(70 + minute * 60, written_off(65)));
    }
    assert_eq!(found(&fleet, 3_700), [(ConditionKind::WrittenOff, Severity::Incident)]);
    // A good list has them: they are billed, and were all the time.
    let back: Vec<Row> = eleven().into_iter().map(|row| killed(row, 65, GONE)).collect();
    see(&mut fleet, &answer(3_760, back));
    assert_eq!(flags(&fleet), [FlagKind::Leaking; 11]);
    assert!((money(&fleet).leaking_dollars_per_h().unwrap() - 3.41).abs() < 1e-9);
    assert_eq!(found(&fleet, 3_760), [(ConditionKind::WrittenOff, Severity::Incident)]);
    // Ten of them are destroyed, and the list that has the eleventh lacks them.
    let mut rest = written_off(65);
    rest[0] = killed(running(10), 65, GONE);
    for minute in 0..2 {
        see(&mut fleet, &answer(3_820 + minute * 60, rest.clone()));
    }
    assert_eq!(flags(&fleet), [FlagKind::Leaking]);
}

#[test]
fn a_person_accounts_for_what_was_meant() {
    let mut fleet = Fleet::new(60.0);
    see(&mut fleet, &answer(0, eleven()));
    see(&mut fleet, &answer(70, written_off(65)));
    let keys: Vec<_> = fleet.written_off()[0].keys.clone();
    assert!(keys.iter().all(|key| fleet.acknowledge(*key, at(80))));
    see(&mut fleet, &answer(90, written_off(65)));
    assert_eq!((found(&fleet, 90), flags(&fleet)), (vec![], vec![]));
    assert_eq!(money(&fleet).unknown.instances, 0);
    // What vast.ai lists after all is billed after all.
    let back: Vec<Row> = eleven().into_iter().map(|row| killed(row, 65, GONE)).collect();
    see(&mut fleet, &answer(200, back));
    assert_eq!(flags(&fleet), [FlagKind::Leaking; 11]);
}

#[test]
fn what_was_ordered_is_no_write_off() {
    let by_number = |number: u64| number.to_string();
    let by_uuid = |number: u64| format!("uuid-{number}");
    for name in [&by_number as &dyn Fn(u64) -> String, &by_uuid] {
        let mut fleet = Fleet::new(60.0);
        see(&mut fleet, &answer(0, eleven()));
        (10..21).for_each(|number| _ = fleet.note_command(&name(number), at(30)));
        see(&mut fleet, &answer(70, written_off(65)));
        assert_eq!((found(&fleet, 70), flags(&fleet)), (vec![], vec![]));
    }
    // The journal is asked once there is something to explain, and what comes of it counts at once.
    let mut fleet = Fleet::new(60.0);
    see(&mut fleet, &answer(0, eleven()));
    see(&mut fleet, &answer(70, written_off(65)));
    (10..21).for_each(|number| _ = fleet.note_command(&by_number(number), at(30)));
    fleet.assess();
    assert_eq!((found(&fleet, 70), flags(&fleet)), (vec![], vec![]));
    // An order that came afterwards explains nothing: it is what a person does about it.
    let mut fleet = Fleet::new(60.0);
    see(&mut fleet, &answer(0, eleven()));
    see(&mut fleet, &answer(70, written_off(65)));
    (10..21).for_each(|number| _ = fleet.note_command(&by_number(number), at(100)));
    assert_eq!(found(&fleet, 110), [(ConditionKind::WrittenOff, Severity::Incident)]);
}

#[test]
fn kills_for_other_reasons_and_single_losses_are_no_write_off() {
    for (count, reason, expected) in
        [(11, "manually killed via UI", 0), (1, GONE, 0), (2, GONE, 0), (3, GONE, 1), (5, GONE, 1), (11, GONE, 1)]
    {
        let mut fleet = Fleet::new(60.0);
        see(&mut fleet, &answer(0, eleven()));
        let mut rows = eleven();
        for row in rows.iter_mut().take(count) {
            *row = unlisted(killed(row.clone(), 65, reason));
        }
        see(&mut fleet, &answer(70, rows));
        assert_eq!(found(&fleet, 70).len(), expected, "{count} of eleven: {reason}");
    }
    // A watch that begins afterwards sees it as well: what lived then is dated by the manager.
    let mut fleet = Fleet::new(60.0);
    let mut rows = eleven();
    rows[0] = unlisted(killed(rows[0].clone(), -500, GONE));
    rows[1] = unlisted(killed(rows[1].clone(), -500, GONE));
    see(&mut fleet, &answer(0, rows));
    assert_eq!(found(&fleet, 0), [], "two of eleven, long before anybody looked");
    let mut fleet = Fleet::new(60.0);
    see(&mut fleet, &answer(0, written_off(-500)));
    assert_eq!(found(&fleet, 0), [(ConditionKind::WrittenOff, Severity::Incident)]);
}

#[test]
fn a_known_leak_outlives_the_list_that_showed_it() {
    let leak = || killed(running(7), 0, "manually killed via UI");
    let mut fleet = Fleet::new(60.0);
    see(&mut fleet, &answer(0, vec![running(7), running(8)]));
    see(&mut fleet, &answer(400, vec![leak(), running(8)]));
    assert_eq!(flags(&fleet), [FlagKind::Leaking]);
    let kept = |fleet: &Fleet, words: &str| {
        let flag = fleet.instances().find_map(|instance| instance.flag.clone()).unwrap();
        assert_eq!(flag.kind, FlagKind::Leaking, "{words}");
        assert!(flag.reason.contains(words), "{words}: {}", flag.reason);
        assert_eq!(money(fleet).leaking_dollars_per_h(), Some(0.31), "the header says what the flag says");
    };
    kept(&fleet, "still lists it at $0.31/h");
    // The list stops: the same copy grows old.
    for second in (460..4_000).step_by(60) {
        see(&mut fleet, &answer_aged(second, Some((second - 395) as f64), vec![leak(), running(8)]));
    }
    kept(&fleet, "when its list last had it, 59 m ago");
    assert_eq!(found(&fleet, 4_000), [(ConditionKind::ListStale, Severity::Blind)]);
    // The manager starts anew, and has no list at all.
    for second in (4_000..5_000).step_by(60) {
        see(&mut fleet, &answer_aged(second, None, vec![unlisted(leak()), running(8)]));
    }
    kept(&fleet, "when its list last had it, 1 h 16 m ago");
    assert_eq!(found(&fleet, 5_000), [(ConditionKind::ListMissing, Severity::Blind)]);
    // An empty list is no proof of an end.
    see(&mut fleet, &answer(5_060, vec![unlisted(leak()), unlisted(running(8))]));
    see(&mut fleet, &answer(5_120, vec![unlisted(leak()), unlisted(running(8))]));
    kept(&fleet, "when its list last had it");
    // A list that has others and lacks it is.
    see(&mut fleet, &answer(5_180, vec![unlisted(leak()), running(8)]));
    see(&mut fleet, &answer(5_190, vec![unlisted(leak()), running(8)]));
    assert_eq!((flags(&fleet), found(&fleet, 5_190)), (vec![], vec![]));
    assert_eq!(money(&fleet).leaking_dollars_per_h(), Some(0.0));
}

/// The time of a reading is told anew with each answer, up to a second earlier or later: at the boundary that flickered.
#[test]
fn a_leak_does_not_flicker_at_its_boundary() {
    let mut fleet = Fleet::new(60.0);
    let (mut raised, mut cleared) = (0, 0);
    for second in 200..600_i64 {
        let read = second - second % 60;
        let jitter = f64::from(u8::try_from(second % 3).unwrap()) * 0.9 - 0.9;
        let age_s = ((second - read) as f64 + jitter).max(0.0);
        let rows = vec![killed(running(7), 0, "manually killed via UI"), running(8)];
        fleet.observe(&answer_aged(second, Some(age_s), rows));
        for change in fleet.assess() {
            raised += usize::from(change.to.is_some());
            cleared += usize::from(change.to.is_none());
        }
        let leaks = flags(&fleet) == [FlagKind::Leaking];
        assert_eq!(money(&fleet).leaking.instances, usize::from(leaks), "at {second}");
    }
    assert_eq!((raised, cleared), (1, 0));
}

#[test]
fn a_manager_without_a_list_is_blind_and_one_that_just_started_is_not_yet() {
    let mut fleet = Fleet::new(60.0);
    fleet.note_manager_start(at(0));
    see(&mut fleet, &answer_aged(5, None, vec![]));
    assert_eq!(found(&fleet, 5), [(ConditionKind::ListMissing, Severity::Passing)]);
    assert_eq!(found(&fleet, 70), [(ConditionKind::ListMissing, Severity::Blind)]);
    let failed = ListNews {
        failures: 1,
        failing_since: Some(at(10)),
        failure: Some((at(10), "[monitor] error: exit status 1".to_owned())),
        ..ListNews::default()
    };
    let outlook = Outlook {
        now: at(12),
        failure: None,
        failing_since: None,
        list: &failed,
        log_failure: None,
        rows_unusable: 2,
        implausible: &[],
        not_stored: None,
    };
    let all = conditions(&fleet, &outlook);
    let kinds: Vec<_> = all.iter().map(|it| (it.kind, it.severity)).collect();
    assert_eq!(kinds, [(ConditionKind::ListMissing, Severity::Blind), (ConditionKind::RowsUnreadable, Severity::Partial)]);
    assert!(all[0].evidence[0].contains("exit status 1"), "{:?}", all[0].evidence);
    assert_eq!(money(&fleet).leaking_dollars_per_h(), None, "what leaks is not known");
}

#[test]
fn money_has_parts_and_a_flag_moves_it() {
    let mut idle = running(7);
    (idle.vast.gpu_util_percent, idle.log_lines) = (Some(0.0), Some(0));
    let mut loading = running(9);
    (loading.uuid, loading.state, loading.vast.start_date) = (None, State::Loading, Some(at(3_000)));
    let mut fleet = Fleet::new(600.0);
    for second in (0..3_600).step_by(60) {
        let mut rows = vec![idle.clone(), running(8)];
        rows.extend((second >= 3_000).then(|| loading.clone()));
        see(&mut fleet, &answer(second, rows));
    }
    assert!(flags(&fleet).iter().all(|kind| kind.needs_a_person()), "{:?}", flags(&fleet));
    let sums = money(&fleet);
    assert_eq!((sums.proving.instances, sums.waiting.instances, sums.stalled.instances), (1, 1, 1));
    assert_eq!((sums.proving.told(), sums.stalled.told(), sums.benchmarked_proofs_per_h), (Some(0.31), Some(0.31), 40.0));
    // A price that nobody told is no zero, and neither is a part that has only such.
    let mut untold = running(8);
    untold.vast.dollars_per_h = None;
    let mut fleet = Fleet::new(600.0);
    see(&mut fleet, &answer(0, vec![untold]));
    assert_eq!((money(&fleet).proving.told(), money(&fleet).price_not_told()), (None, 1));
}

/// Yesterday's rentals, ended where nobody watched: the list that has what came since lacks them.
#[test]
fn a_list_that_has_new_rentals_accounts_for_old_write_offs() {
    let mut fresh = running(30);
    (fresh.registered_at, fresh.bench_done_at) = (Some(at(-3_000)), Some(at(-600)));
    let mut rows: Vec<Row> = eleven().into_iter().map(|row| unlisted(killed(row, -7_000, GONE))).collect();
    rows.push(fresh);
    let mut fleet = Fleet::new(60.0);
    see(&mut fleet, &answer_aged(0, None, rows.clone()));
    assert_eq!(found(&fleet, 0)[0], (ConditionKind::WrittenOff, Severity::Incident), "without a list it is not known");
    see(&mut fleet, &answer(20, rows));
    assert_eq!((found(&fleet, 20), flags(&fleet)), (vec![], vec![]));
    assert_eq!(money(&fleet).leaking_dollars_per_h(), Some(0.0));
}
