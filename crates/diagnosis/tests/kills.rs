//! Who killed an instance, why and with which rental, by the manager's own log in its real forms; and what one ambiguous sign
//! must not confirm.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::sync::Arc;

use dwell_diagnosis::{
    Around, Case, Diagnosis, Fact, KillTold, KilledBy, ManagerSignals, Outside, Signals, Standing, diagnose, findings,
};
use dwell_fleet::look::{Asked, Looks, VastAnswer, VastRecord, VastShown};
use dwell_fleet::{Fleet, InstanceUuid, LogLine, Row, Snapshot, State, Timestamp, VastFacts, VastId};

const RENTAL: u64 = 31_000_001;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_796_092_800 + second).unwrap()
}

fn uuid(number: u64) -> String {
    format!("d977dead-b3a7-4a08-b6df-{number:012}")
}

/// A line of the manager's log as Go's logger dates it.
fn said(second: i64, text: &str) -> LogLine {
    let text = format!("{} {text}", at(second).strftime("%Y/%m/%d %H:%M:%S"));
    LogLine { source: "manager".into(), text, at: at(second) }
}

/// The manager's log of an hour and a half: its monitor speaks every minute, and these lines stand among its own.
fn log(listed: u64, lines: &[(i64, String)]) -> ManagerSignals {
    let mut all: Vec<LogLine> = vec![said(-5_460, "API server listening on 127.0.0.1:1235")];
    all.extend((-90..0).map(|minute| said(minute * 60, &format!("[monitor] cached {listed} vast instances"))));
    all.extend(lines.iter().map(|(second, text)| said(*second, text)));
    all.sort_by_key(|line| line.at);
    let mut signals = ManagerSignals::default();
    signals.note(&all, at(0));
    signals
}

fn killed(number: u64, reason: &str, at_s: i64) -> Row {
    let row = killed_and_listed(number, reason, at_s);
    // What was written off is not in the manager's list.
    if reason.contains("disappeared") { Row { vast_id: None, vast: VastFacts::default(), ..row } } else { row }
}

fn killed_and_listed(number: u64, reason: &str, at_s: i64) -> Row {
    Row {
        uuid: InstanceUuid::new(uuid(number)),
        label: Some(format!("C.{}", RENTAL - 1 + number)),
        vast_id: Some(VastId(RENTAL - 1 + number)),
        registered_at: Some(at(-20_000)),
        param_done_at: Some(at(-15_000)),
        bench_done_at: Some(at(-13_000)),
        bench_rate_proofs_per_h: Some(35.6),
        min_rate_proofs_per_h: Some(30.0),
        killed_at: Some(at(at_s)),
        kill_reason: Some(reason.into()),
        log_lines: Some(0),
        vast: VastFacts { gpu_name: Some("RTX 4090".into()), dollars_per_h: Some(0.38), ..VastFacts::default() },
        ..Row::bare(State::Killed)
    }
}

fn alive(number: u64) -> Row {
    Row { state: State::Running, killed_at: None, kill_reason: None, ..killed(number, "", 0) }
}

/// What is known of a fleet whose first row is looked at.
struct Known {
    rows: Vec<Row>,
    manager: ManagerSignals,
    lines: Vec<LogLine>,
    vast: Option<VastAnswer>,
    outside: Outside,
}

impl Known {
    fn of(rows: Vec<Row>, manager: ManagerSignals) -> Self {
        Self { rows, manager, lines: Vec::new(), vast: None, outside: Outside::default() }
    }

    fn asked(mut self, record: VastShown, rentals: usize) -> Self {
        let listed = Some(matches!(record, VastShown::Record(_)));
        self.vast =
            Some(VastAnswer { record, listed, listing_retired: false, credit_dollars: None, rentals: Some((rentals, 0)) });
        self
    }

    fn diagnose(&self) -> (Diagnosis, Vec<&'static str>) {
        let mut fleet = Fleet::new(60.0);
        let answer = |second: i64, rows: Vec<Row>| Snapshot {
            requested_at: at(second),
            received_at: at(second),
            manager_time: Some(at(second)),
            vast_cache_age_s: Some(5.0),
            rows,
            bad_hosts: vec![],
            rows_unreadable: 0,
        };
        // All of them ran when Dwell first looked.
        let before = (1..=self.rows.len() as u64).map(alive).collect();
        fleet.observe(&answer(-10_000, before));
        fleet.observe(&answer(0, self.rows.clone()));
        fleet.assess();
        let mut signals = Signals::default();
        signals.note(&self.lines);
        let outside = Outside { now: at(0), manager: Arc::new(self.manager.clone()), ..self.outside.clone() };
        let first = InstanceUuid::new(uuid(1)).unwrap();
        let instance = fleet.by_uuid(&first).unwrap();
        let around = Around::of(&fleet, outside, |key| (key == instance.key).then_some(&signals));
        let vast = self.vast.clone().map(|answer| Asked { at: at(-2), answer });
        let looks = Looks { vast, ..Looks::default() };
        let case = Case { instance, signals: &signals, looks: &looks, around: &around };
        let diagnosis = diagnose(case);
        let found = findings(case, &diagnosis).into_iter().map(|finding| finding.id).collect();
        (diagnosis, found)
    }
}

fn record() -> VastShown {
    let status = |word: &str| Some(word.to_owned());
    VastShown::Record(Box::new(VastRecord {
        actual_status: status("running"),
        intended_status: status("running"),
        cur_state: status("running"),
        ..VastRecord::default()
    }))
}

fn confirmed(diagnosis: &Diagnosis) -> Vec<&'static str> {
    diagnosis.hypotheses.iter().filter(|it| it.standing == Standing::Confirmed).map(|it| it.id).collect()
}

fn holds(diagnosis: &Diagnosis, fact: &str) -> Option<bool> {
    let fact = Fact::named(fact).unwrap_or_else(|| panic!("no fact is called {fact}"));
    diagnosis.seen.observations.iter().find(|it| it.fact == fact).map(|it| it.holds)
}

/// The lines that the real manager writes; those of the captures among them.
#[test]
fn a_kill_is_read_from_the_managers_own_words() {
    let told = |text: &str| KillTold::of_line(&format!("2026/12/01 02:41:36 {text}"), at(0));
    let id = uuid(1);
    let cases = [
        (format!("[kill] manually destroying vast instance 31000099 (uuid={id})"), KilledBy::Hand, Some(31_000_099), ""),
        (
            "[monitor] killing instance 31000010 (label=) \u{2014} bad host 20043: bench 12 p/h, thermal".to_owned(),
            KilledBy::BadHost,
            Some(31_000_010),
            "bad host 20043: bench 12 p/h, thermal",
        ),
        (
            "[monitor] killing unregistered instance 31000016 (label=C.31000016, age=1h30m11s)".to_owned(),
            KilledBy::NotRegistered,
            Some(31_000_016),
            "",
        ),
        (
            format!("[monitor] killing uuid={id} (state=params_done, age=45m58s): benchmark timeout (45min)"),
            KilledBy::Timer,
            None,
            "benchmark timeout (45min)",
        ),
        (
            format!("[monitor] killing failed benchmark uuid={id} rate=21.4 < min=50.0"),
            KilledBy::LowRate,
            None,
            "rate=21.4 < min=50.0",
        ),
        (
            format!("[bench-done] uuid={id} rate=0.0 min_rate=50.0 passed=false"),
            KilledBy::LowRate,
            None,
            "rate=0.0 min_rate=50.0",
        ),
        (
            format!("[monitor] instance disappeared from vast uuid={id} label=C.31000023 state=registered"),
            KilledBy::Disappeared,
            None,
            "",
        ),
    ];
    for (text, by, vast_id, why) in cases {
        let told = told(&text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!((told.by, told.vast_id, told.why.as_str()), (by, vast_id, why), "{text}");
        assert_eq!(told.uuid.is_some(), text.contains(&id), "{text}");
        assert_eq!(told.label.as_deref(), text.split_once("label=C.").map(|_| told.label.as_deref().unwrap()), "{text}");
    }
    for nothing in [
        format!("[bench-done] uuid={id} rate=35.6 min_rate=30.0 passed=true"),
        "[monitor] unregistered instance 31000016 (label=C.31000016, age=3m2s) \u{2014} within grace period".to_owned(),
        "[register] new label=[kill] manually destroying vast instance 1 uuid=x runner_id=1 min_rate=30.0".to_owned(),
        "[kill] manually destroying vast instance".to_owned(),
    ] {
        assert_eq!(told(&nothing), None, "{nothing}");
    }
    // A second line of a reason is undated: somebody else's words.
    assert_eq!(KillTold::of_line(&format!("[kill] manually destroying vast instance 1 (uuid={id})"), at(0)), None);
}

/// The most ordinary path: killed by hand through the manager, its client printed "Aborted." and ended with status 0.
#[test]
fn a_kill_that_named_its_rental_is_no_kill_without_one() {
    let named = [
        (-900, format!("[kill] manually destroying vast instance {RENTAL} (uuid={})", uuid(1))),
        (-898, format!("[monitor] destroyed vast instance {RENTAL}")),
    ];
    let by_hand = || vec![killed(1, "manually killed via UI", -898), alive(2)];
    let (diagnosis, found) = Known::of(by_hand(), log(2, &named)).diagnose();
    assert_eq!((holds(&diagnosis, "killed-still-listed"), holds(&diagnosis, "killed-by-hand")), (Some(true), Some(true)));
    assert_eq!(holds(&diagnosis, "kill-unnamed"), Some(false));
    assert_eq!(confirmed(&diagnosis), Vec::<&str>::new());
    assert_eq!(diagnosis.hypotheses[0].id, "destroy-false-success", "{:?}", &diagnosis.hypotheses[..3]);
    assert!(found.contains(&"killed-but-billed"));

    // The client failed, and the log says so: that is confirmed, and the other is not.
    let failed = [
        (-900, format!("[kill] manually destroying vast instance {RENTAL} (uuid={})", uuid(1))),
        (
            -898,
            format!(
                "[monitor] failed to destroy vast instance {RENTAL}: exit status 1 (failed with error 404: no such instance)"
            ),
        ),
    ];
    let (diagnosis, _) = Known::of(by_hand(), log(2, &failed)).diagnose();
    assert_eq!(confirmed(&diagnosis), ["destroy-failed-logged"]);

    // The whole log of that time is known and has no word of the rental: nobody named it.
    let (diagnosis, _) = Known::of(by_hand(), log(2, &[])).diagnose();
    assert_eq!((holds(&diagnosis, "kill-unnamed"), confirmed(&diagnosis)), (Some(true), vec!["kill-before-destroy-ordering"]));
    // Another's rental was named.
    let other = [(-900, format!("[kill] manually destroying vast instance {} (uuid={})", RENTAL + 7, uuid(1)))];
    let (diagnosis, _) = Known::of(by_hand(), log(2, &other)).diagnose();
    assert_eq!(holds(&diagnosis, "kill-unnamed"), Some(true));
}

/// A log that began after the kill, or with a hole at its time, says nothing of it.
#[test]
fn a_log_with_a_hole_at_the_kill_confirms_nothing() {
    let rows = || vec![killed(1, "manually killed via UI", -898), alive(2)];
    let restarted = log(2, &[(-400, "API server listening on 127.0.0.1:1235".to_owned())]);
    let mut hole = ManagerSignals::default();
    let lines: Vec<LogLine> =
        [-5_000, -4_940, -700, -640, -60].into_iter().map(|second| said(second, "[monitor] cached 2 vast instances")).collect();
    hole.note(&lines, at(0));
    for manager in [restarted, hole, ManagerSignals::default()] {
        let (diagnosis, _) = Known::of(rows(), manager).diagnose();
        assert_eq!((holds(&diagnosis, "kill-unnamed"), confirmed(&diagnosis)), (None, vec![]));
    }
}

/// Its row has the time of its benchmark and that of its kill, as every row that was killed out of its run has.
#[test]
fn what_was_killed_out_of_its_run_does_not_report_again() {
    for reason in ["manually killed via UI", "bad host 20043: slow", "instance disappeared from vast"] {
        let (diagnosis, found) = Known::of(vec![killed(1, reason, -900), alive(2)], log(2, &[])).diagnose();
        assert_eq!(holds(&diagnosis, "killed-and-back"), None, "{reason}");
        assert!(!found.contains(&"killed-and-back"), "{reason}: {found:?}");
    }
    // One that came back does.
    let mut back = killed(1, "manually killed via UI", -900);
    back.state = State::BenchDone;
    let (diagnosis, found) = Known::of(vec![back, alive(2)], log(2, &[])).diagnose();
    assert_eq!(holds(&diagnosis, "killed-and-back"), Some(true));
    assert!(found.contains(&"killed-and-back"));
}

#[test]
fn a_machine_on_the_list_of_bad_hosts_is_told_from_row_and_log() {
    let line = format!("[monitor] killing instance {RENTAL} (label=) \u{2014} bad host 20043: bench 12 p/h, thermal");
    let reason = "bad host 20043: bench 12 p/h, thermal";
    let (diagnosis, _) = Known::of(vec![killed(1, reason, -900), alive(2)], log(2, &[(-900, line)])).diagnose();
    assert_eq!((holds(&diagnosis, "killed-bad-host"), holds(&diagnosis, "said:bad-host")), (Some(true), Some(true)));
    let first = diagnosis.hypotheses[0].id;
    assert!(first.starts_with("bad-host-"), "{first}");
}

/// Twenty-five rentals and one that somebody destroyed: exactly one page is no proof that there is another.
#[test]
fn just_25_rentals_are_not_a_cut_list() {
    let rows = || {
        let mut rows = vec![killed(1, "instance disappeared from vast", -900)];
        rows.extend((2..=26).map(alive));
        rows
    };
    let gone = Known::of(rows(), log(25, &[])).asked(VastShown::Absent, 25);
    let (diagnosis, _) = gone.diagnose();
    assert_eq!((holds(&diagnosis, "listed-one-page"), holds(&diagnosis, "listed-short")), (Some(true), Some(false)));
    assert_eq!(confirmed(&diagnosis), Vec::<&str>::new());
    assert_eq!(confirmed(&Known::of(rows(), log(25, &[])).diagnose().0), Vec::<&str>::new(), "nobody asked vast.ai");
    // vast.ai has it, and more than the page.
    let (diagnosis, _) = Known::of(rows(), log(25, &[])).asked(record(), 40).diagnose();
    assert_eq!(confirmed(&diagnosis), ["vast-partial-list"]);
}

/// A fleet that was destroyed as a whole looks to the manager like an account without rentals.
#[test]
fn a_fleet_that_was_destroyed_is_no_empty_list() {
    let rows = || (1..=4).map(|number| killed(number, "instance disappeared from vast", -900)).collect::<Vec<_>>();
    let mut lines = vec![said(-2_000, "API server listening on 127.0.0.1:1235")];
    lines.extend((-30..-15).map(|minute| said(minute * 60, "[monitor] cached 4 vast instances")));
    lines.extend((-15..0).map(|minute| said(minute * 60, "[monitor] cached 0 vast instances")));
    let mut manager = ManagerSignals::default();
    manager.note(&lines, at(0));
    let (diagnosis, _) = Known::of(rows(), manager.clone()).asked(VastShown::Absent, 0).diagnose();
    let all = ["killed-disappeared", "killed-together", "listed-none"].map(|fact| holds(&diagnosis, fact));
    assert_eq!(all, [Some(true); 3]);
    assert_eq!(confirmed(&diagnosis), Vec::<&str>::new());
    let (diagnosis, _) = Known::of(rows(), manager).asked(record(), 4).diagnose();
    assert_eq!(confirmed(&diagnosis), ["vast-empty-list"]);
}

/// A rate sixty times too low: reported per minute where its own proofs were made at the usual pace, slow where they were not.
#[test]
fn a_sixtieth_of_the_usual_rate_is_a_unit_only_by_its_own_proofs() {
    let row = || {
        let mut row = killed(1, "bench_rate 0.6 below min_rate 30.0", -900);
        (row.bench_rate_proofs_per_h, row.bench_done_at) = (Some(0.6), Some(at(-900)));
        row
    };
    let with = |seconds: f64| {
        let mut known = Known::of(vec![row(), alive(2), alive(3)], log(3, &[]));
        known.lines = (1..9)
            .map(|proof| LogLine {
                source: "benchout".into(),
                text: format!("  [{proof}/12] COMPLETED \u{2014} {seconds:.1}s (prove={:.0} ms, queue=3 ms)", seconds * 990.0),
                at: at(-3_000 + proof * 100),
            })
            .collect();
        known.diagnose().0
    };
    let by_minute = with(101.2);
    assert_eq!((holds(&by_minute, "killed-rate-sixtieth"), holds(&by_minute, "killed-rate-of-own")), (Some(true), Some(true)));
    assert_eq!(confirmed(&by_minute), ["rate-unit-mismatch"]);
    let slow = with(6_000.0);
    assert_eq!((holds(&slow, "killed-rate-sixtieth"), holds(&slow, "killed-rate-of-own")), (Some(true), Some(false)));
    assert_eq!(confirmed(&slow), Vec::<&str>::new());
}

/// Dwell's own clock, put right while it watched, shows the same two signs as a jump of the manager's.
#[test]
fn a_clock_is_accused_by_two_others() {
    let row = || {
        let mut row = killed(1, "benchmark timeout (45min)", -60);
        (row.param_done_at, row.bench_done_at, row.bench_rate_proofs_per_h) = (Some(at(-2_800)), None, None);
        row
    };
    let with = |late_s: i64| {
        let mut known = Known::of(vec![row(), alive(2)], log(2, &[]));
        known.outside = Outside { clock_skew_s: Some(3_600.0), skew_before_s: Some(0.0), ..Outside::default() };
        known.lines = (1..9)
            .map(|line| LogLine {
                source: "benchdaemon".into(),
                text: format!("\u{1b}[2m{}\u{1b}[0m \u{1b}[32m INFO\u{1b}[0m cuzk: at work", at(-900 + line * 60 - late_s)),
                at: at(-900 + line * 60),
            })
            .collect();
        known
    };
    let diagnosis = with(7).diagnose().0;
    assert_eq!((holds(&diagnosis, "killed-too-soon"), holds(&diagnosis, "manager-clock-off")), (Some(true), Some(true)));
    assert_ne!(holds(&diagnosis, "clock-off-by-lines"), Some(true));
    assert_eq!(confirmed(&diagnosis), Vec::<&str>::new());
    // One instance alone may have a wrong clock of its own.
    assert_eq!(confirmed(&with(3_607).diagnose().0), Vec::<&str>::new());
}
