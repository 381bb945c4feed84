//! What a fleet under watch must get right, answer by answer.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod reference;

use dwell_fleet::{
    Basis, FlagKind, Fleet, InstanceUuid, Key, LogLine, Outcome, Presence, Rejected, Row, Snapshot, State, Timestamp,
    TransitionKind, VastFacts, VastId, money,
};
use proptest::prelude::*;

/// Seconds after the start of the test, on the manager's clock.
fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_796_092_800 + second).unwrap()
}

const MINUTE: i64 = 60;

#[derive(Clone)]
struct Given(Row);

impl Given {
    fn registered(uuid: &str, vast_id: u64, registered: i64) -> Self {
        Self(Row {
            uuid: InstanceUuid::new(uuid),
            vast_id: Some(VastId(vast_id)),
            label: Some(format!("C.{vast_id}")),
            registered_at: Some(at(registered)),
            log_lines: Some(0),
            ..Row::bare(State::Registered)
        })
    }
    fn loading(vast_id: u64) -> Self {
        Self(Row { vast_id: Some(VastId(vast_id)), label: Some(format!("C.{vast_id}")), ..Row::bare(State::Loading) })
    }
    fn params_done(mut self, second: i64) -> Self {
        self.0.state = State::ParamsDone;
        self.0.param_done_at = Some(at(second));
        self
    }
    fn bench_done(mut self, second: i64, rate: f64) -> Self {
        self.0.state = State::BenchDone;
        self.0.bench_done_at = Some(at(second));
        self.0.bench_rate_proofs_per_h = Some(rate);
        self
    }
    fn running(mut self) -> Self {
        self.0.state = State::Running;
        self
    }
    fn killed(mut self, second: i64) -> Self {
        self.0.state = State::Killed;
        self.0.killed_at = Some(at(second));
        self.0.kill_reason = Some("benchmark timeout (45min)".into());
        self
    }
    fn no_match(mut self) -> Self {
        self.0.vast_id = None;
        self
    }
    fn lines(mut self, lines: u64) -> Self {
        self.0.log_lines = Some(lines);
        self
    }
    fn gpu(mut self, load: f64) -> Self {
        self.0.vast = VastFacts {
            gpu_util_percent: Some(load),
            gpu_temp_c: Some(50.0),
            gpu_name: Some("RTX 4090".into()),
            dollars_per_h: Some(0.4),
            ..self.0.vast
        };
        self
    }
    fn image(mut self, image: &str) -> Self {
        self.0.vast.status_msg = Some(format!("success, running {image}"));
        self
    }
    fn started(mut self, second: i64) -> Self {
        self.0.vast.start_date = Some(at(second));
        self
    }
}

fn answer(second: i64, rows: &[Given]) -> Snapshot {
    Snapshot {
        requested_at: at(second),
        received_at: at(second),
        manager_time: Some(at(second)),
        vast_cache_age_s: Some(5.0),
        rows: rows.iter().map(|given| given.0.clone()).collect(),
        bad_hosts: vec![],
        rows_unreadable: 0,
    }
}

fn fleet() -> Fleet {
    Fleet::new(60.0)
}

fn only(fleet: &Fleet) -> &dwell_fleet::Instance {
    let mut all = fleet.instances();
    let first = all.next().expect("an instance");
    assert!(all.next().is_none(), "one instance only");
    first
}

fn kinds(observed: &dwell_fleet::Observed) -> Vec<(String, TransitionKind)> {
    observed.transitions.iter().map(|transition| (transition.entry.state.to_string(), transition.kind.clone())).collect()
}

fn flag_of(fleet: &mut Fleet, uuid: &str) -> Option<FlagKind> {
    fleet.assess();
    fleet.by_uuid(&InstanceUuid::new(uuid).unwrap()).unwrap().flag.as_ref().map(|flag| flag.kind)
}

#[test]
fn a_loading_row_changes_key_when_it_registers_and_stays_one_instance() {
    let mut fleet = fleet();
    fleet.observe(&answer(0, &[Given::loading(7).started(-60), Given::loading(8)]));
    assert_eq!(
        fleet.instances().map(|instance| instance.id()).collect::<Vec<_>>(),
        ["vast-7", "vast-8"],
        "two rows without uuid"
    );
    let before: Vec<Key> = fleet.instances().map(|instance| instance.key).collect();
    let observed = fleet.observe(&answer(10, &[Given::registered("aaaa", 7, 5).started(-60), Given::loading(8)]));
    assert_eq!(kinds(&observed), [("registered".into(), TransitionKind::Forward)]);
    assert_eq!(fleet.instances().map(|instance| instance.key).collect::<Vec<_>>(), before);
    let instance = fleet.by_uuid(&InstanceUuid::new("aaaa").unwrap()).unwrap();
    assert_eq!((instance.entered.at, instance.entered.basis), (at(5), Basis::Manager));
    let loading = instance.stays()[0].1;
    assert_eq!(
        (loading.watched_from_s, loading.until_s),
        (60.0, 65.0),
        "from the rental to the registration, watched at the end"
    );
}

#[test]
fn a_life_told_by_timestamps_is_known_at_first_sight() {
    let mut fleet = fleet();
    let row = Given::registered("aaaa", 7, 100).started(40).params_done(1_300).bench_done(3_100, 35.57).running();
    let observed = fleet.observe(&answer(4_000, &[row]));
    let told: Vec<String> =
        observed.transitions.iter().map(|transition| format!("{} {}", transition.entry.state, transition.entry.at)).collect();
    assert_eq!(
        told,
        [
            format!("loading {}", at(40)),
            format!("registered {}", at(100)),
            format!("params_done {}", at(1_300)),
            format!("bench_done {}", at(3_100)),
            format!("running {}", at(3_100)),
        ]
    );
    assert_eq!(only(&fleet).entered.basis, Basis::BenchDone, "the manager keeps no time of running");
    let stays: Vec<f64> = only(&fleet).stays().iter().map(|(_, stay)| stay.until_s).collect();
    assert_eq!(stays, [60.0, 1_200.0, 1_800.0], "how long it was in bench_done is not told");
}

fn by_the_manager(second: i64, words: &str) -> LogLine {
    LogLine { source: "manager".into(), text: format!("2026/12/01 02:41:35 {words}"), at: at(second) }
}

fn stays_in(fleet: &Fleet, state: &State) -> Vec<(f64, Outcome)> {
    let all = only(fleet).stays();
    all.into_iter().filter(|(of, _)| of == state).map(|(_, stay)| (stay.until_s, stay.outcome)).collect()
}

#[test]
fn when_it_began_to_run_stands_in_the_managers_log() {
    let mut fleet = fleet();
    let benchmarking = Given::registered("aaaa", 7, 0).params_done(10);
    fleet.observe(&answer(20, std::slice::from_ref(&benchmarking)));
    // Dwell sees it again a quarter of an hour after the benchmark.
    let running = benchmarking.bench_done(2_000, 40.0).running();
    fleet.observe(&answer(2_900, std::slice::from_ref(&running)));
    assert_eq!((only(&fleet).entered.basis, only(&fleet).entered.earlier_by_s), (Basis::Observed, 2_880.0));
    assert!(stays_in(&fleet, &State::BenchDone).is_empty(), "somewhere in between is no length of a stay");
    // What an instance calls itself is not the manager's word.
    let spoofed = [
        by_the_manager(2_005, "[register] new label=[running] uuid=aaaa"),
        by_the_manager(2_005, "[running] uuid=aaaa of somebody"),
        LogLine { source: "manager".into(), text: "[running] uuid=aaaa".into(), at: at(2_005) },
    ];
    assert_eq!(fleet.note_manager_lines(&spoofed), dwell_fleet::Observed::default());
    // Said again later, when it was running already.
    let lines = [by_the_manager(2_006, "[running] uuid=aaaa"), by_the_manager(2_500, "[running] uuid=aaaa")];
    let observed = fleet.note_manager_lines(&lines);
    assert_eq!(observed.redated.iter().map(|it| (it.was, it.entry.at)).collect::<Vec<_>>(), [(at(2_900), at(2_006))]);
    assert_eq!((only(&fleet).entered.at, only(&fleet).entered.basis), (at(2_006), Basis::Manager));
    assert_eq!(stays_in(&fleet, &State::BenchDone), [(6.0, Outcome::Advanced)]);
    assert_eq!(fleet.note_manager_lines(&lines), dwell_fleet::Observed::default(), "read again, it is no news");
    // Of an instance that ran already when Dwell first looked.
    let mut later = Fleet::new(60.0);
    later.observe(&answer(4_000, &[running]));
    assert_eq!(only(&later).entered.basis, Basis::BenchDone);
    later.note_manager_lines(&lines);
    assert_eq!((only(&later).entered.at, stays_in(&later, &State::BenchDone)), (at(2_006), vec![(6.0, Outcome::Advanced)]));
}

#[test]
fn who_ran_and_was_killed_while_nobody_looked_did_run() {
    let mut fleet = fleet();
    let benchmarking = Given::registered("aaaa", 7, 0).params_done(10);
    fleet.observe(&answer(20, std::slice::from_ref(&benchmarking)));
    fleet.observe(&answer(9_000, &[benchmarking.bench_done(2_000, 40.0).killed(8_000)]));
    assert_eq!(stays_in(&fleet, &State::BenchDone), [(6_000.0, Outcome::Killed)]);
    let observed = fleet.note_manager_lines(&[by_the_manager(2_010, "[running] uuid=aaaa")]);
    assert_eq!(kinds(&observed), [("running".into(), TransitionKind::Told)]);
    assert_eq!(stays_in(&fleet, &State::BenchDone), [(10.0, Outcome::Advanced)]);
}

#[test]
fn a_change_seen_after_a_long_pause_is_no_exact_stay() {
    let mut fleet = fleet();
    let benchmarked = Given::registered("aaaa", 7, 0).params_done(10).bench_done(2_000, 40.0);
    fleet.observe(&answer(2_030, std::slice::from_ref(&benchmarked)));
    fleet.observe(&answer(2_900, &[benchmarked.running()]));
    assert_eq!(stays_in(&fleet, &State::BenchDone), [(30.0, Outcome::Censored)], "so long it was seen in it");
}

/// A rental whose container registers anew has been rented for long, and loading for a moment.
#[test]
fn an_old_start_of_the_rental_is_not_the_start_of_this_loading() {
    const LONG: i64 = 63_000;
    let seventeen_hours = |fleet: &Fleet| {
        let all = fleet.instances().flat_map(|instance| instance.stays());
        all.filter(|(state, stay)| *state == State::Loading && stay.until_s > 3_600.0).count()
    };
    // The killed row of its first life is listed beside it, after it or before it.
    let first = Given::registered("aaaa", 7, 300).started(0).killed(2_000);
    let second = Given::registered("bbbb", 7, LONG).started(0);
    for rows in [[first.clone(), second.clone()], [second.clone(), first]] {
        let mut fleet = fleet();
        let observed = fleet.observe(&answer(LONG + 60, &rows));
        assert_eq!(seventeen_hours(&fleet), 0);
        let told = observed.transitions.iter().filter(|it| it.entry.state == State::Loading).count();
        assert_eq!(told, 1, "of its first life alone");
    }
    // Nothing of it is listed any more, and nobody saw it load.
    let mut alone = fleet();
    alone.observe(&answer(LONG + 60, &[second]));
    assert_eq!(seventeen_hours(&alone), 0);
    // The manager has lost its row: it is loading again, since now.
    let mut lost = fleet();
    lost.observe(&answer(LONG, &[Given::registered("cccc", 8, 300).started(0).params_done(900)]));
    let mut nameless = Given::loading(8).started(0);
    nameless.0.label = Some("C.8".into());
    lost.observe(&answer(LONG + 10, std::slice::from_ref(&nameless)));
    assert_eq!((only(&lost).entered.at, only(&lost).entered.basis), (at(LONG + 10), Basis::Observed));
    lost.observe(&answer(LONG + 200, &[Given::registered("dddd", 8, LONG + 190).started(0)]));
    assert_eq!(seventeen_hours(&lost), 0);
    // Who was seen to load for long did so.
    let mut slow = fleet();
    slow.observe(&answer(60, &[Given::loading(9).started(0)]));
    slow.observe(&answer(4_000, &[Given::registered("eeee", 9, 3_990).started(0)]));
    assert_eq!(seventeen_hours(&slow), 1);
}

#[test]
fn states_missed_between_two_answers_are_dated_by_the_manager() {
    let mut fleet = fleet();
    fleet.observe(&answer(0, &[Given::registered("aaaa", 7, 0)]));
    let observed = fleet.observe(&answer(3_000, &[Given::registered("aaaa", 7, 0).params_done(1_000).bench_done(2_900, 40.0)]));
    assert_eq!(kinds(&observed), [("params_done".into(), TransitionKind::Told), ("bench_done".into(), TransitionKind::Forward)]);
    assert_eq!(observed.gap.unwrap(), dwell_fleet::Gap { from: at(0), to: at(3_000) }, "and the time without answers is a gap");
}

#[test]
fn jumps_and_steps_back_are_named() {
    let mut fleet = fleet();
    fleet.observe(&answer(0, &[Given::registered("aaaa", 7, 0)]));
    let observed = fleet.observe(&answer(10, &[Given::registered("aaaa", 7, 0).running()]));
    assert_eq!(kinds(&observed), [("running".into(), TransitionKind::Jumped)], "no time of params_done nor bench_done");
    assert_eq!((only(&fleet).entered.basis, only(&fleet).entered.earlier_by_s), (Basis::Observed, 10.0));
    let observed = fleet.observe(&answer(20, &[Given::registered("aaaa", 7, 0)]));
    assert_eq!(kinds(&observed), [("registered".into(), TransitionKind::Backward)]);
    let mut odd = Given::registered("aaaa", 7, 0);
    odd.0.state = State::Unknown("defragmenting".into());
    assert_eq!(kinds(&fleet.observe(&answer(30, &[odd]))), [("defragmenting".into(), TransitionKind::Other)]);
    assert_eq!(only(&fleet).state.as_str(), "defragmenting");
}

#[test]
fn a_killed_row_that_comes_back_is_a_contradiction() {
    let mut fleet = fleet();
    let killed = Given::registered("aaaa", 7, 0).params_done(60).killed(2_800);
    fleet.observe(&answer(2_810, std::slice::from_ref(&killed)));
    assert_eq!(flag_of(&mut fleet, "aaaa"), None);
    let observed = fleet.observe(&answer(2_900, &[killed.bench_done(2_895, 60.0)]));
    assert_eq!(kinds(&observed), [("bench_done".into(), TransitionKind::CameBack)]);
    assert_eq!(flag_of(&mut fleet, "aaaa"), Some(FlagKind::Contradicted));
}

#[test]
fn a_killed_row_still_on_vast_ais_list_leaks_money() {
    let mut fleet = fleet();
    let killed = Given::registered("aaaa", 7, 0).gpu(97.0).killed(100);
    fleet.observe(&answer(200, std::slice::from_ref(&killed)));
    assert_eq!(flag_of(&mut fleet, "aaaa"), None, "being destroyed takes a moment");
    fleet.observe(&answer(100 + 6 * MINUTE, std::slice::from_ref(&killed)));
    assert_eq!(flag_of(&mut fleet, "aaaa"), Some(FlagKind::Leaking));
    assert_eq!(money(&fleet).leaking_dollars_per_h(), Some(0.4));
    let mut old = answer(100 + 20 * MINUTE, std::slice::from_ref(&killed));
    old.vast_cache_age_s = Some(1_150.0);
    let mut later = Fleet::new(60.0);
    later.observe(&old);
    assert_eq!(flag_of(&mut later, "aaaa"), None, "a list from before the destroy proves nothing");
}

#[test]
fn an_answer_from_the_past_is_set_aside_and_a_clock_set_back_is_followed() {
    let mut fleet = fleet();
    fleet.observe(&answer(100, &[Given::registered("aaaa", 7, 0).params_done(50)]));
    let mut late = answer(90, &[Given::registered("aaaa", 7, 0)]);
    assert_eq!(fleet.observe(&late).rejected, Some(Rejected::OlderRequest));
    // A cache in between answers with an old body: asked later, told of earlier.
    late.requested_at = at(110);
    late.received_at = at(110);
    assert_eq!(fleet.observe(&late).rejected, Some(Rejected::TimeWentBack));
    assert_eq!(only(&fleet).state, State::ParamsDone, "nothing went backwards");
    let good = answer(120, &[Given::registered("aaaa", 7, 0).params_done(50)]);
    assert_eq!(fleet.observe(&good).rejected, None);
    // The manager's clock is set back an hour: the first such answer waits for a second.
    for (asked, rejected) in [(130, Some(Rejected::TimeWentBack)), (140, None)] {
        let mut answer = answer(asked - 3_600, &[Given::registered("aaaa", 7, 0).params_done(50)]);
        (answer.requested_at, answer.received_at) = (at(asked), at(asked));
        assert_eq!(fleet.observe(&answer).rejected, rejected);
    }
}

#[test]
fn dwell_is_counted_on_the_managers_clock() {
    let mut fleet = fleet();
    let mut answer = answer(1_000, &[Given::registered("aaaa", 7, 0).params_done(400)]);
    // The operator's clock is three hours behind.
    answer.requested_at = at(1_000 - 10_800);
    answer.received_at = at(1_001 - 10_800);
    fleet.observe(&answer);
    fleet.assess();
    assert_eq!(only(&fleet).assessment.as_ref().unwrap().dwell_s, Some(600.0));
    assert_eq!(answer.clock_skew_s(), Some(10_800.0));
    assert_eq!(fleet.manager_time_at(at(1_031 - 10_800)), at(1_030));
}

#[test]
fn a_row_that_vanishes_is_gone_only_after_two_answers() {
    let mut fleet = fleet();
    let rows = [Given::registered("aaaa", 7, 0), Given::registered("bbbb", 8, 0).killed(5)];
    fleet.observe(&answer(0, &rows));
    assert!(fleet.observe(&answer(10, &[])).transitions.is_empty());
    assert_eq!(flag_of(&mut fleet, "aaaa"), None);
    let observed = fleet.observe(&answer(20, &[]));
    assert!(kinds(&observed).contains(&("registered".into(), TransitionKind::Vanished)));
    assert_eq!(flag_of(&mut fleet, "aaaa"), Some(FlagKind::Gone));
    assert_eq!(fleet.instances().count(), 1, "a killed row that the manager deletes is no news");
    assert!(matches!(only(&fleet).presence, Presence::Missing { answers: 2, .. }));
    let observed = fleet.observe(&answer(30, &rows[..1]));
    assert!(kinds(&observed).contains(&("registered".into(), TransitionKind::Returned)));
    assert_eq!(only(&fleet).presence, Presence::Listed);
}

#[test]
fn before_the_first_copy_of_vast_ais_list_nothing_unregistered_is_missing() {
    let mut fleet = fleet();
    fleet.observe(&answer(0, &[Given::loading(7), Given::registered("aaaa", 8, 0)]));
    for second in [10, 20, 30] {
        let mut restarted = answer(second, &[Given::registered("aaaa", 8, 0).no_match()]);
        restarted.vast_cache_age_s = None;
        assert!(fleet.observe(&restarted).transitions.is_empty());
    }
    fleet.assess();
    assert!(fleet.instances().all(|instance| instance.flag.is_none()));
    assert_eq!(fleet.by_uuid(&InstanceUuid::new("aaaa").unwrap()).unwrap().vast_id, Some(VastId(8)), "what was told stays known");
}

#[test]
fn a_row_that_loses_its_match_is_not_two_instances_for_ever() {
    let mut fleet = fleet();
    let row = Given::registered("aaaa", 7, 0);
    let mut unlabelled = row.clone();
    unlabelled.0.label = Some("odd".into());
    fleet.observe(&answer(0, std::slice::from_ref(&row)));
    // vast.ai's label is gone: the row has no record, and the record has no row.
    fleet.observe(&answer(10, &[unlabelled.clone().no_match(), Given::loading(7)]));
    assert_eq!(fleet.instances().count(), 2);
    let observed = fleet.observe(&answer(20, &[row]));
    assert_eq!(observed.merged.len(), 1);
    assert_eq!(only(&fleet).id(), "aaaa");
}

#[test]
fn a_rented_machine_that_registers_anew_is_another_instance() {
    let mut fleet = fleet();
    let first = Given::registered("aaaa", 7, 0).killed(100);
    fleet.observe(&answer(200, std::slice::from_ref(&first)));
    let observed = fleet.observe(&answer(210, &[first, Given::registered("bbbb", 7, 205)]));
    assert_eq!(observed.appeared.len(), 1);
    assert_eq!(fleet.instances().count(), 2);
}

#[test]
fn rows_that_name_nobody_or_somebody_twice_are_counted() {
    let mut fleet = fleet();
    let row = Given::registered("aaaa", 7, 0);
    let observed = fleet.observe(&answer(0, &[row.clone(), row, Given(Row::bare(State::Loading))]));
    assert_eq!((observed.rows_unusable, fleet.instances().count()), (2, 1));
}

#[test]
fn buffers_that_empty_are_a_restart_until_the_managers_log_says_when() {
    let mut fleet = fleet();
    let row = Given::registered("aaaa", 7, 0).params_done(10);
    fleet.observe(&answer(60, &[row.clone().lines(40)]));
    let observed = fleet.observe(&answer(70, std::slice::from_ref(&row)));
    assert!(observed.buffers_emptied);
    assert_eq!((fleet.manager_run().started_at, fleet.manager_run().from_its_log), (Some(at(70)), false));
    assert!(fleet.note_manager_start(at(65)));
    assert_eq!(fleet.manager_run().started_at, Some(at(65)));
    assert!(!fleet.note_manager_start(at(65)), "not news");
    // A full buffer that drops its oldest tenth is no restart.
    fleet.observe(&answer(80, &[row.clone().lines(10_000)]));
    assert!(!fleet.observe(&answer(90, &[row.lines(9_001)])).buffers_emptied);
}

fn say(fleet: &mut Fleet, uuid: &str, source: &str, second: i64) {
    say_text(fleet, uuid, source, second, &format!("step {second}"));
}

fn say_text(fleet: &mut Fleet, uuid: &str, source: &str, second: i64, text: &str) {
    let key = fleet.by_uuid(&InstanceUuid::new(uuid).unwrap()).unwrap().key;
    fleet.note_log_lines(key, &[LogLine { source: source.into(), text: text.into(), at: at(second) }], Some(at(second)));
}

#[test]
fn silence_alone_is_invisible_and_a_working_channel_gone_quiet_is_stalled() {
    let row = Given::registered("aaaa", 7, -600).params_done(0);
    let mut fleet = fleet();
    fleet.observe(&answer(9 * MINUTE, &[row.clone().gpu(0.0)]));
    assert_eq!(flag_of(&mut fleet, "aaaa"), None, "nine minutes are nothing");
    fleet.observe(&answer(11 * MINUTE, &[row.clone().gpu(0.0)]));
    assert_eq!(flag_of(&mut fleet, "aaaa"), Some(FlagKind::Invisible));

    // `setup` lines prove nothing about the benchmark's logs: an older image ships no others.
    say(&mut fleet, "aaaa", "setup", 11 * MINUTE);
    fleet.observe(&answer(12 * MINUTE, &[row.clone().gpu(0.0)]));
    assert_eq!(flag_of(&mut fleet, "aaaa"), Some(FlagKind::Invisible));

    // A benchmark line: working, and not stuck however long the rest.
    say(&mut fleet, "aaaa", "benchout", 12 * MINUTE);
    fleet.observe(&answer(13 * MINUTE, &[row.clone().gpu(0.0)]));
    fleet.observe(&answer(13 * MINUTE + 10, &[row.clone().gpu(0.0)]));
    fleet.assess();
    fleet.assess();
    assert_eq!(flag_of(&mut fleet, "aaaa"), None);
    // Ten minutes of silence on a channel known to work, GPU idle.
    fleet.observe(&answer(23 * MINUTE, &[row.clone().gpu(0.0)]));
    assert_eq!(flag_of(&mut fleet, "aaaa"), Some(FlagKind::Stalled));
    // It writes again: cleared, after one more look.
    say(&mut fleet, "aaaa", "benchout", 24 * MINUTE);
    fleet.observe(&answer(24 * MINUTE, &[row.clone().gpu(90.0)]));
    assert_eq!(flag_of(&mut fleet, "aaaa"), Some(FlagKind::Stalled), "held once, so that it does not flicker");
    assert_eq!(flag_of(&mut fleet, "aaaa"), None);
}

/// The real entrypoint says "Registered with manager" and may then be silent for the whole fetch.
#[test]
fn an_announcement_is_no_promise_to_go_on_speaking() {
    let row = Given::registered("aaaa", 7, 0);
    let mut fleet = fleet();
    fleet.observe(&answer(5, std::slice::from_ref(&row)));
    say(&mut fleet, "aaaa", "setup", 5);
    fleet.observe(&answer(40 * MINUTE, std::slice::from_ref(&row)));
    assert_eq!(flag_of(&mut fleet, "aaaa"), None, "forty minutes of fetching in silence are usual");
    fleet.observe(&answer(82 * MINUTE, std::slice::from_ref(&row)));
    assert_eq!(flag_of(&mut fleet, "aaaa"), Some(FlagKind::Invisible));
    assert!(only(&fleet).flag.as_ref().unwrap().reason.contains("announces steps"));

    // One that printed its progress and stopped is another matter.
    let mut prints = Fleet::new(60.0);
    prints.observe(&answer(5, std::slice::from_ref(&row)));
    for minute in 1..5 {
        say(&mut prints, "aaaa", "setup", minute * MINUTE);
    }
    prints.observe(&answer(12 * MINUTE, std::slice::from_ref(&row)));
    assert_eq!(flag_of(&mut prints, "aaaa"), None);
    prints.observe(&answer(20 * MINUTE, std::slice::from_ref(&row)));
    assert_eq!(flag_of(&mut prints, "aaaa"), Some(FlagKind::Stalled));
}

#[test]
fn progress_beats_time_and_load_is_not_stalled() {
    let row = Given::registered("aaaa", 7, -600).params_done(0);
    let mut fleet = fleet();
    fleet.observe(&answer(50 * MINUTE, &[row.clone().gpu(95.0)]));
    assert_eq!(flag_of(&mut fleet, "aaaa"), Some(FlagKind::Slow), "late and blind, but its GPU is busy");
    say(&mut fleet, "aaaa", "benchout", 50 * MINUTE);
    assert_eq!(flag_of(&mut fleet, "aaaa"), Some(FlagKind::Slow), "late, and writing");
    let mut idle = Fleet::new(60.0);
    idle.observe(&answer(41 * MINUTE, &[row.gpu(0.0)]));
    assert_eq!(flag_of(&mut idle, "aaaa"), Some(FlagKind::Stalled), "beyond what a benchmark has ever needed, and idle");
}

/// A script that waits, a fetch that is refused, a daemon in a crash loop: the log goes on, the work does not.
#[test]
fn a_log_that_only_repeats_itself_shows_no_progress() {
    let row = Given::registered("aaaa", 7, -600).params_done(0).gpu(0.0);
    let mut fleet = fleet();
    fleet.observe(&answer(10, std::slice::from_ref(&row)));
    say_text(&mut fleet, "aaaa", "benchout", 60, "2026-03-13T17:00:01Z batch: 12 proofs");
    for minute in 2..14 {
        say_text(
            &mut fleet,
            "aaaa",
            "benchout",
            minute * MINUTE,
            &format!("2026-03-13T17:{minute:02}:01Z waiting for the daemon"),
        );
        fleet.observe(&answer(minute * MINUTE, std::slice::from_ref(&row)));
        let expected = (minute == 13).then_some(FlagKind::Stalled);
        assert_eq!(flag_of(&mut fleet, "aaaa"), expected, "minute {minute}");
    }
    let flag = only(&fleet).flag.as_ref().unwrap();
    assert!(flag.reason.contains("has only repeated itself for 11 m") && flag.since == at(12 * MINUTE), "{}", flag.reason);
    // A line that says something new: it goes on.
    say_text(&mut fleet, "aaaa", "benchout", 14 * MINUTE, "proof 1/12: 87.0s ok");
    fleet.observe(&answer(14 * MINUTE, &[row]));
    fleet.assess();
    assert_eq!(flag_of(&mut fleet, "aaaa"), None);
}

#[test]
fn a_running_instance_whose_log_stops_is_flagged_by_what_its_gpu_shows() {
    for (gpu, told, expected) in [
        (Some(0.0), "cuzk: proof 1 done", Some(FlagKind::Stalled)),
        (None, "cuzk: proof 1 done", Some(FlagKind::Stalled)),
        (Some(95.0), "cuzk: proof 1 done", Some(FlagKind::Invisible)),
    ] {
        let bare = Given::registered("aaaa", 7, -9_000).params_done(-8_000).bench_done(-6_000, 40.0).running();
        let row = || gpu.map_or_else(|| bare.clone(), |load| bare.clone().gpu(load));
        let mut fleet = fleet();
        fleet.observe(&answer(10, &[row()]));
        say_text(&mut fleet, "aaaa", "cuzk", 60, told);
        fleet.observe(&answer(25 * MINUTE, &[row()]));
        assert_eq!(flag_of(&mut fleet, "aaaa"), None, "half an hour is allowed");
        fleet.observe(&answer(32 * MINUTE, &[row()]));
        assert_eq!(flag_of(&mut fleet, "aaaa"), expected, "{gpu:?}");
    }
    // Idle by its own word: nothing is wrong.
    let row = Given::registered("aaaa", 7, -9_000).params_done(-8_000).bench_done(-6_000, 40.0).running().gpu(0.0);
    let mut fleet = fleet();
    fleet.observe(&answer(10, std::slice::from_ref(&row)));
    for minute in [1, 11, 21, 31, 41, 51] {
        say_text(&mut fleet, "aaaa", "curio", minute * MINUTE, NO_WORK);
        fleet.observe(&answer(minute * MINUTE + 10, std::slice::from_ref(&row)));
        assert_eq!(flag_of(&mut fleet, "aaaa"), None, "minute {minute}");
    }
}

const NO_WORK: &str = "2026-12-01T02:41:34.123Z\tINFO\tproofshare\tproofshare/task_request.go:264\tpolled work from service\t\
                       {\"requests\": 0, \"activeAsks\": 4}";

/// A failure shows that a program lives, and nothing of its work; a proof is progress whatever was written before.
#[test]
fn failures_are_no_progress_and_proofs_are() {
    let row = || Given::registered("aaaa", 7, -600).params_done(0).gpu(0.0);
    let failures = [
        "  [3/12] FAILED \u{2014} 2.4s (prove=0 ms, queue=3 ms)",
        "\u{1b}[2m2026-03-13T17:00:01.123456Z\u{1b}[0m \u{1b}[31mERROR\u{1b}[0m \u{1b}[2mcuzk_core::engine\u{1b}[0m: partition GPU proving failed",
        "2026-03-13T17:00:01.123Z\tERROR\tharmonytask\tharmonytask/task_type_handler.go:292\tDo() returned error",
        "Error: failed to connect to daemon via unix socket",
        "    0: transport error",
        "thread 'main' panicked at cuzk-daemon/src/main.rs:104:14:",
    ];
    let after = |line: &dyn Fn(i64) -> String| {
        let mut fleet = fleet();
        fleet.observe(&answer(10, &[row()]));
        for minute in 1..12 {
            say_text(&mut fleet, "aaaa", "benchout", minute * MINUTE, &line(minute));
        }
        fleet.observe(&answer(12 * MINUTE, &[row()]));
        flag_of(&mut fleet, "aaaa")
    };
    for failure in failures {
        // Each of them with other numbers: they are not the same line.
        assert_eq!(after(&|minute| format!("{failure} {minute}")), Some(FlagKind::Stalled), "{failure}");
    }
    // The same words each time, times and all, as after a restart of the benchmark.
    assert_eq!(after(&|_| "  [1/12] COMPLETED \u{2014} 101.2s (prove=98123 ms, queue=3 ms)".to_owned()), None);
    // One job after the other: their ids tell them apart, the times that go with them do not.
    let job = |minute: i64| format!("2026-03-13T17:{minute:02}:01.123456Z  INFO proof self-check PASSED");
    assert_eq!(after(&|minute| format!("{} job_id=01d905a1-0000-4000-8000-{minute:012x}", job(minute))), None);
    assert_eq!(after(&job), Some(FlagKind::Stalled));
    assert_eq!(
        after(&|minute| format!("\u{1b}[2m{}\u{1b}[0m", job(minute).replace("Z ", "Z\u{1b}[0m "))),
        Some(FlagKind::Stalled)
    );
    for ordinary in ["0 ERRORS so far, step", "\u{1b}[33m WARN\u{1b}[0m retried", "completed: 3, failed: 0, at"] {
        assert_eq!(after(&|minute| format!("{ordinary} {minute}")), None, "{ordinary}");
    }
}

/// Lines that wait at the manager may be progress: silence is known only up to the last reading.
#[test]
fn lines_not_read_yet_are_no_silence() {
    let row = |lines| Given::registered("aaaa", 7, -600).params_done(0).gpu(0.0).lines(lines);
    let mut fleet = fleet();
    fleet.observe(&answer(10, &[row(5)]));
    say(&mut fleet, "aaaa", "benchout", 60);
    fleet.note_log_read(only(&fleet).key, 5);
    fleet.observe(&answer(12 * MINUTE, &[row(9)]));
    assert_eq!(flag_of(&mut fleet, "aaaa"), None, "four lines wait");
    fleet.note_log_read(only(&fleet).key, 9);
    assert_eq!(flag_of(&mut fleet, "aaaa"), Some(FlagKind::Stalled), "they were read, and showed nothing");
}

#[test]
fn another_instance_is_a_control_only_where_the_image_is_surely_the_same() {
    for (image, expected) in [
        ("example/curio-cuzk:2026-03-13", FlagKind::Stalled),
        ("example/curio-cuzk@sha256:abc", FlagKind::Stalled),
        ("example/curio-cuzk:latest", FlagKind::Invisible),
        ("example/curio-cuzk", FlagKind::Invisible),
    ] {
        let row = |uuid: &str, vast_id| Given::registered(uuid, vast_id, -600).params_done(0).gpu(0.0).image(image);
        let mut fleet = fleet();
        fleet.observe(&answer(MINUTE, &[row("talks", 1), row("silent", 2)]));
        say(&mut fleet, "talks", "benchout", 11 * MINUTE);
        fleet.observe(&answer(12 * MINUTE, &[row("talks", 1), row("silent", 2)]));
        assert_eq!(flag_of(&mut fleet, "silent"), Some(expected), "{image}");
    }
}

#[test]
fn lines_lost_at_a_restart_are_not_evidence() {
    let row = Given::registered("aaaa", 7, -600).params_done(0).gpu(0.0);
    let mut fleet = fleet();
    fleet.observe(&answer(12 * MINUTE, &[row]));
    fleet.note_manager_start(at(5 * MINUTE));
    assert_eq!(flag_of(&mut fleet, "aaaa"), Some(FlagKind::Invisible));
    assert!(only(&fleet).flag.as_ref().unwrap().reason.contains("the manager restarted 7 m ago and lost its logs"));
}

#[test]
fn a_flag_is_dated_from_its_evidence_not_from_the_look() {
    let row = Given::registered("aaaa", 7, -600).params_done(0).gpu(0.0);
    let mut fleet = fleet();
    fleet.observe(&answer(30 * MINUTE, &[row]));
    fleet.assess();
    assert_eq!(only(&fleet).flag.as_ref().unwrap().since, at(10 * MINUTE));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    /// Whatever rows come in whatever order, every listed row has one instance, keys stay unique, ledgers are in order,
    /// and the same answer seen again changes nothing.
    #[test]
    fn any_sequence_of_answers_is_survived(answers in prop::collection::vec(
        (0i64..2_000, prop::collection::vec((0u8..5, 0u64..5, 0u8..7, 0i64..2_000), 0..7), any::<bool>()), 1..25,
    )) {
        let mut fleet = fleet();
        for (step, (second, rows, cold)) in answers.into_iter().enumerate() {
            let given: Vec<Given> = rows.into_iter().map(|(who, vast_id, state, stamp)| {
                let uuid = if who == 0 { String::new() } else { format!("uuid-{who}") };
                let mut row = Given::registered(&uuid, vast_id, stamp);
                row.0.vast_id = row.0.vast_id.filter(|id| id.0 > 0);
                row.0.label = None;
                match state {
                    0 => row.0.state = State::Loading,
                    1 => {}
                    2 => row = row.params_done(stamp + 5),
                    3 => row = row.bench_done(stamp + 9, 30.0),
                    4 => row = row.running(),
                    5 => row = row.killed(stamp + 11),
                    _ => row.0.state = State::Unknown("odd".into()),
                }
                row
            }).collect();
            let mut answer = answer(second, &given);
            (answer.requested_at, answer.received_at) = (at(step as i64 * 10), at(step as i64 * 10));
            if cold { answer.vast_cache_age_s = None; }
            let observed = fleet.observe(&answer);
            fleet.assess();
            if observed.rejected.is_none() {
                for row in &answer.rows {
                    if let Some(uuid) = &row.uuid {
                        let known = fleet.by_uuid(uuid).expect("every registered row is watched");
                        prop_assert_eq!(known.presence, Presence::Listed);
                    }
                }
                let again = fleet.observe(&answer);
                prop_assert!(again.transitions.iter().all(|transition| transition.kind == TransitionKind::Vanished));
                prop_assert!(again.appeared.is_empty() && again.gap.is_none());
            }
            for instance in fleet.instances() {
                prop_assert!(instance.ledger.entries().is_sorted_by_key(|entry| entry.at));
                for (_, stay) in instance.stays() {
                    prop_assert!(stay.until_s.is_finite());
                }
            }
        }
    }
}
