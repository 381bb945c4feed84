//! From answers to observations and contradictions: what a channel could not have shown is not observed, the same fact from two
//! channels is one, old looks are none.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use dwell_diagnosis::{
    Around, Case, Channel, Diagnosis, Fact, Finding, Health, Lane, ManagerSignals, Outside, Role, Signals, diagnose, findings,
};
use dwell_fleet::look::{Asked, HostAnswer, HostSeen, LogFile, Looks, Process, Reach, VastAnswer, VastRecord, VastShown};
use dwell_fleet::{Fleet, InstanceUuid, LogLine, Row, Snapshot, State, Timestamp, VastFacts, VastId, shift};

const UUID: &str = "d977dead-b3a7-4a08-b6df-9e126679078f";

const PROOF: &str = "  [1/12] COMPLETED \u{2014} 101.2s (prove=98123 ms, queue=3 ms)";

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_796_092_800 + second).unwrap()
}

fn row(state: State) -> Row {
    Row {
        uuid: InstanceUuid::new(UUID),
        label: Some("C.31000001".into()),
        vast_id: Some(VastId(31_000_001)),
        registered_at: Some(at(-4_000)),
        param_done_at: Some(at(-1_200)),
        log_lines: Some(0),
        vast: VastFacts { gpu_name: Some("RTX 4090".into()), dollars_per_h: Some(0.38), ..VastFacts::default() },
        ..Row::bare(state)
    }
}

/// An instance with what was seen of it.
struct Bench {
    fleet: Fleet,
    signals: Signals,
    looks: Looks,
    manager: ManagerSignals,
    roles: std::collections::BTreeSet<Role>,
}

impl Bench {
    fn of(row: Row) -> Self {
        let mut fleet = Fleet::new(60.0);
        let snapshot = Snapshot {
            requested_at: at(0),
            received_at: at(0),
            manager_time: Some(at(0)),
            vast_cache_age_s: Some(5.0),
            rows: vec![row],
            bad_hosts: vec![],
            rows_unreadable: 0,
        };
        fleet.observe(&snapshot);
        fleet.assess();
        Self {
            fleet,
            signals: Signals::default(),
            looks: Looks::default(),
            manager: ManagerSignals::default(),
            roles: Default::default(),
        }
    }

    fn lines(&mut self, lines: &[(i64, &str, &str)]) {
        let lines: Vec<LogLine> = lines
            .iter()
            .map(|(second, source, text)| LogLine { source: (*source).into(), text: (*text).into(), at: at(*second) })
            .collect();
        let key = self.fleet.instances().next().unwrap().key;
        self.fleet.note_log_lines(key, &lines, Some(at(0)));
        self.fleet.assess();
        self.signals.note(&lines);
    }

    fn look(&mut self, second: i64, seen: HostSeen) {
        let answer = HostAnswer { direct: Reach::Connected, proxy: Reach::Connected, seen: Some(Box::new(seen)) };
        self.looks.host = Some(Asked { at: at(second), answer });
    }

    fn diagnose(&self) -> (Diagnosis, Vec<Finding>) {
        let outside =
            Outside { now: at(0), manager: self.manager.clone().into(), roles_seen: self.roles.clone(), ..Outside::default() };
        let around = Around::of(&self.fleet, outside, |_| Some(&self.signals));
        let instance = self.fleet.instances().next().unwrap();
        let case = Case { instance, signals: &self.signals, looks: &self.looks, around: &around };
        let diagnosis = diagnose(case);
        let found = findings(case, &diagnosis);
        (diagnosis, found)
    }
}

fn health(diagnosis: &Diagnosis, channel: Channel) -> Health {
    diagnosis.seen.channels.iter().find(|it| it.channel == channel).unwrap().health
}

fn holds(diagnosis: &Diagnosis, fact: &str) -> Option<bool> {
    let fact = Fact::named(fact).unwrap_or_else(|| panic!("no fact is called {fact}"));
    diagnosis.seen.observations.iter().find(|it| it.fact == fact).map(|it| it.holds)
}

#[test]
fn an_empty_log_that_never_spoke_is_no_observation() {
    let (diagnosis, _) = Bench::of(row(State::ParamsDone)).diagnose();
    assert_eq!(health(&diagnosis, Channel::InstanceLog), Health::Blind);
    assert!(diagnosis.seen.observations.iter().all(|it| it.channel != Channel::InstanceLog));
    for channel in [Channel::VastRecord, Channel::ContainerLog, Channel::SshProbe, Channel::ProverStatus] {
        assert_eq!(health(&diagnosis, channel), Health::NotAsked);
    }
    // Nothing that would need another channel to speak is said to be so, or not to be so.
    assert_eq!(
        (holds(&diagnosis, "log-silent"), holds(&diagnosis, "daemon-gone"), holds(&diagnosis, "said:panic")),
        (None, None, None)
    );
}

#[test]
fn a_log_that_has_spoken_makes_its_silence_a_fact() {
    let mut bench = Bench::of(row(State::ParamsDone));
    bench.lines(&[(-1_150, "benchout", "=== Batch Benchmark ==="), (-1_000, "benchout", PROOF)]);
    let (diagnosis, _) = bench.diagnose();
    assert_eq!(health(&diagnosis, Channel::InstanceLog), Health::Quiet);
    assert_eq!((holds(&diagnosis, "log-silent"), holds(&diagnosis, "said:panic")), (Some(true), Some(false)));
}

#[test]
fn the_same_line_from_two_channels_is_one_fact() {
    let words = "thread 'main' panicked at src/pipeline.rs:42";
    let mut bench = Bench::of(row(State::ParamsDone));
    bench.lines(&[(-900, "benchdaemon", words)]);
    let file = |tail: &str| LogFile {
        bytes: None,
        source: "benchdaemon".into(),
        path: "/var/log/cuzk-bench-daemon.log".into(),
        modified_at: Some(at(-900)),
        tail: vec![tail.into()],
    };
    let (by_one, _) = bench.diagnose();
    bench.look(-10, HostSeen { files: Some(vec![file(words)]), ..HostSeen::default() });
    let (by_two, _) = bench.diagnose();
    let panic = Fact::named("said:panic").unwrap();
    let count = |diagnosis: &Diagnosis| diagnosis.seen.observations.iter().filter(|it| it.fact == panic).count();
    assert_eq!((count(&by_one), count(&by_two)), (1, 1));
    let adds = |diagnosis: &Diagnosis| {
        let of_it = diagnosis.contributions("bench-waits-for-daemon");
        of_it.iter().find(|it| diagnosis.observation(it.observation).unwrap().fact == panic).map(|it| it.log_odds)
    };
    assert_eq!(adds(&by_one), adds(&by_two));
    // What the machine's file does not show, the manager's lines having shown it, has still been said.
    bench.look(-5, HostSeen { files: Some(vec![file("INFO cuzk: daemon starting")]), ..HostSeen::default() });
    assert_eq!(holds(&bench.diagnose().0, "said:panic"), Some(true));
}

#[test]
fn an_old_look_is_none() {
    let mut bench = Bench::of(row(State::ParamsDone));
    bench.look(-60, HostSeen { oom_kills: Some(1), ..HostSeen::default() });
    let (diagnosis, _) = bench.diagnose();
    assert_eq!((health(&diagnosis, Channel::SshProbe), holds(&diagnosis, "oom-kills")), (Health::Working, Some(true)));
    bench.look(-1_100, HostSeen { oom_kills: Some(1), ..HostSeen::default() });
    let (diagnosis, _) = bench.diagnose();
    assert_eq!((health(&diagnosis, Channel::SshProbe), holds(&diagnosis, "oom-kills")), (Health::NotAsked, None));
    assert!(diagnosis.next_checks().iter().any(|it| it.check == dwell_diagnosis::Check::Ssh), "it can be asked again");
}

fn process(pid: u32, program: &str) -> Process {
    Process { pid, program: program.into(), state: 'S', started_at: Some(at(-3_000)), memory_gib: None, cpu_percent: None }
}

/// An image whose scripts have other names, all of it well. What was never seen under a name that is known is not missed.
#[test]
fn names_that_were_never_seen_are_not_missed() {
    let look = |programs: &[&str]| HostSeen {
        container_started_at: Some(at(-3_000)),
        processes: Some(programs.iter().enumerate().map(|(place, name)| process(place as u32 + 1, name)).collect()),
        ..HostSeen::default()
    };
    let own = [
        "/bin/bash /.launch",
        "/bin/bash /usr/local/bin/entrypoint.sh",
        "/opt/own/line-to-controller -s controller.example:7000",
        "/opt/own/sender",
        "/usr/local/bin/cuzk-daemon --config /etc/cuzk.toml",
        "/bin/bash /usr/local/bin/benchmark.sh",
        "cuzk-bench batch -c 12",
    ];
    let mut bench = Bench::of(row(State::ParamsDone));
    bench.look(-10, look(&own));
    let (diagnosis, _) = bench.diagnose();
    let facts = ["tunnel-gone", "shipper-gone", "bench-waits", "bench-gone", "daemon-gone"];
    assert_eq!(facts.map(|fact| holds(&diagnosis, fact)), [None, None, Some(false), Some(false), Some(false)]);
    // A machine of this fleet has shown what they are called: now they are missed.
    bench.roles = [Role::Tunnel, Role::Shipper].into();
    assert_eq!(facts.map(|fact| holds(&bench.diagnose().0, fact))[..2], [Some(true), Some(true)]);
    // The names that the seed and the manager's source tell are known.
    bench.look(-10, look(&["portavail -client", "bash -c while sleep 5; do push_logs; done", "/usr/local/bin/benchmark.sh"]));
    let (diagnosis, _) = bench.diagnose();
    assert_eq!(facts.map(|fact| holds(&diagnosis, fact)), [Some(false), Some(false), Some(true), Some(true), Some(true)]);
}

#[test]
fn killed_and_still_billed_costs_money_now() {
    let mut killed = row(State::Killed);
    killed.killed_at = Some(at(-900));
    killed.kill_reason = Some("bench_rate 20.0 below min_rate 30.0".into());
    let mut bench = Bench::of(killed);
    bench.lines(&[(-300, "cuzk", "Phase 7: PoRep proof self-check PASSED")]);
    let (_, found) = bench.diagnose();
    let of = |id: &str| found.iter().find(|it| it.id == id).unwrap_or_else(|| panic!("{id} is not in {found:?}"));
    let billed = of("killed-but-billed");
    assert_eq!((billed.lane, billed.dollars_per_h), (Lane::Stop, Some(0.38)));
    assert!(billed.text.contains("$0.38"), "{}", billed.text);
    assert_eq!(of("killed-but-reporting").lane, Lane::Stop);
}

#[test]
fn what_cannot_both_be_so_is_told() {
    let told = |bench: &Bench| bench.diagnose().1.iter().map(|it| it.id).collect::<Vec<_>>();

    let mut running = row(State::Running);
    running.param_done_at = None;
    assert!(told(&Bench::of(running)).contains(&"running-without-benchmark"));

    let mut back = row(State::BenchDone);
    (back.bench_done_at, back.killed_at) = (Some(at(-60)), Some(at(-120)));
    assert!(told(&Bench::of(back)).contains(&"killed-and-back"));

    // The manager's 45 minutes are nearly over.
    let mut late = row(State::ParamsDone);
    late.param_done_at = Some(at(-2_400));
    let bench = Bench::of(late);
    let (_, found) = bench.diagnose();
    assert!(found.first().is_some_and(|it| it.id == "timer-near" && it.lane == Lane::Stop), "{found:?}");
    assert!(!told(&Bench::of(row(State::ParamsDone))).contains(&"timer-near"), "25 minutes are not near");

    let mut bench = Bench::of(row(State::Running));
    let look = |record| VastAnswer { record, listed: Some(false), listing_retired: false, credit_dollars: None, rentals: None };
    bench.looks.vast = Some(Asked { at: at(-5), answer: look(VastShown::Absent) });
    assert!(told(&bench).contains(&"missing-at-vast"));
    // Null by its number beside a list that is not whole says nothing.
    bench.looks.vast = Some(Asked { at: at(-5), answer: VastAnswer { listed: None, ..look(VastShown::Absent) } });
    assert!(!told(&bench).contains(&"missing-at-vast"));
    let diagnosis = bench.diagnose().0;
    assert_eq!((holds(&diagnosis, "record-absent"), health(&diagnosis, Channel::VastRecord)), (None, Health::Working));
    let stopped =
        VastRecord { actual_status: Some("stopped".into()), intended_status: Some("running".into()), ..VastRecord::default() };
    bench.looks.vast = Some(Asked { at: at(-5), answer: look(VastShown::Record(Box::new(stopped))) });
    assert!(told(&bench).contains(&"stopped-but-called-alive"));

    let mut done = Bench::of(row(State::ParamsDone));
    done.lines(&[(-200, "benchout", "=== Batch Summary ===")]);
    assert!(told(&done).contains(&"done-but-unheard"));
    // A report is on its way for some seconds.
    let mut just = Bench::of(row(State::ParamsDone));
    just.lines(&[(-20, "benchout", "=== Batch Summary ===")]);
    assert!(!told(&just).contains(&"done-but-unheard"));
}

#[test]
fn a_row_that_lost_its_match_is_told() {
    let mut bench = Bench::of(row(State::Running));
    let mut lost = row(State::Running);
    (lost.vast_id, lost.vast) = (None, VastFacts::default());
    let snapshot = Snapshot {
        requested_at: at(10),
        received_at: at(10),
        manager_time: Some(at(10)),
        vast_cache_age_s: Some(5.0),
        rows: vec![lost],
        bad_hosts: vec![],
        rows_unreadable: 0,
    };
    bench.fleet.observe(&snapshot);
    bench.fleet.assess();
    assert!(bench.diagnose().1.iter().any(|it| it.id == "lost-match"));
}

#[test]
fn a_restart_of_the_manager_is_read_from_its_own_log() {
    let mut bench = Bench::of(row(State::ParamsDone));
    let line = |second: i64, text: &str| LogLine { source: String::new(), text: text.into(), at: at(second) };
    bench.manager.note(&[line(-600, "API server listening on :1235"), line(-30, "[monitor] cached 5 vast instances")], at(0));
    bench.fleet.note_manager_start(shift(at(0), -600.0));
    assert_eq!(holds(&bench.diagnose().0, "logs-lost-at-restart"), Some(true));
}
