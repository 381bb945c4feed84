//! A restart of Dwell, anywhere, changes nothing: a watch that is dropped and taken up again from what was kept says from then on
//! what the one says that was never interrupted.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use dwell_fleet::Instance;
use dwell_history::History;
use dwell_simulator::Scenario;
use proptest::prelude::*;

use crate::virtual_time::VirtualFleet;
use crate::watch::Pace;

/// Fleets of all kinds: the seed's evening, a healthy one, silences of several kinds, logs that repeat themselves, a manager that
/// restarts, rentals that leak, come back, or are written off.
const SCENARIOS: [&str; 14] = [
    "params-done-silence",
    "evening-nothing-wrong",
    "evening-four-truths",
    "evening-half-open",
    "evening-restart",
    "daemon-crash-loop",
    "bench-waits-for-daemon",
    "bench-client-hang",
    "container-flapping",
    "container-restarted-midway",
    "destroy-false-success",
    "destroyed-outside",
    "family-loading",
    "cpu-starved",
];

/// One fleet, watched twice at the same pace.
struct Pair {
    folder: tempfile::TempDir,
    whole: VirtualFleet,
    torn: VirtualFleet,
}

impl Pair {
    fn new(name: &str, seed: Option<u64>) -> Self {
        let fleet = || VirtualFleet::new(Scenario::named(name).unwrap(), seed, Pace::default());
        let folder = tempfile::tempdir().unwrap();
        let (mut whole, torn) = (fleet(), fleet());
        let mut kept = History::in_memory().unwrap();
        let id = kept.fleet("http://m", None).unwrap();
        whole.keep_in(kept, id);
        let mut pair = Self { folder, whole, torn };
        let mut kept = pair.open();
        let id = kept.fleet("http://m", None).unwrap();
        pair.torn.keep_in(kept, id);
        pair
    }

    fn open(&self) -> History {
        History::open(&self.folder.path().join("history.sqlite3")).unwrap()
    }

    fn run(&mut self, seconds: f64) {
        self.whole.run(seconds, |_| {});
        self.torn.run(seconds, |_| {});
    }

    fn tear(&mut self) {
        let mut kept = self.open();
        let id = kept.fleet("http://m", None).unwrap();
        self.torn.begin_again(kept, id).unwrap();
    }

    /// What differs between the two, in the words of whoever watches.
    fn difference(&self) -> Option<String> {
        let (whole, torn) = (said(&self.whole), said(&self.torn));
        whole
            .iter()
            .zip(&torn)
            .find(|(left, right)| left != right)
            .map(|(left, right)| {
                let words = |text: &str| text.split('\n').map(str::to_owned).collect::<Vec<_>>();
                let (left, right) = (words(left), words(right));
                let lines: Vec<String> = left
                    .iter()
                    .zip(&right)
                    .filter(|(left, right)| left != right)
                    .map(|(left, right)| format!("  whole: {left}\n  torn:  {right}"))
                    .collect();
                format!("{}\n{}", left.first().cloned().unwrap_or_default(), lines.join("\n"))
            })
            .or_else(|| (whole.len() != torn.len()).then(|| format!("{} parts, {} parts", whole.len(), torn.len())))
    }
}

/// All that is said of a fleet: its summary, then each instance with its row, why its log is silent, and what is known of its
/// channels.
fn said(fleet: &VirtualFleet) -> Vec<String> {
    let mut view = fleet.view();
    let rows = std::mem::take(&mut view.instances);
    let summary = serde_json::json!({ "as_of": view.as_of, "summary": view.summary, "started": view.manager_started_at });
    let mut said = vec![serde_json::to_string_pretty(&summary).unwrap()];
    for row in rows {
        let instance = fleet.watch().fleet().instances().find(|instance| instance.id() == row.id).unwrap();
        let silence = fleet.silence(&row.id);
        let parts = [
            row.id.clone(),
            serde_json::to_string_pretty(&row).unwrap(),
            serde_json::to_string_pretty(&silence).unwrap(),
            channels(instance),
        ];
        said.push(parts.join("\n"));
    }
    said
}

fn channels(instance: &Instance) -> String {
    let log = &instance.log;
    format!(
        "presence {:?}\nentered {:?}\nledger {:?}\nnewest {:?}\nnew {:?}\nrecent {:?}\narrivals {:?}\nbuffered {:?} read {:?}\ngpu {:?}\nstatus {:?}\nevidence {:?}",
        instance.presence,
        instance.entered,
        instance.ledger.entries(),
        log.newest,
        log.newest_new,
        log.recent,
        log.arrivals,
        log.buffered,
        log.read_lines,
        instance.gpu,
        instance.status,
        instance.assessment.as_ref().map(|assessment| &assessment.evidence),
    )
}

#[test]
fn a_restart_of_dwell_changes_nothing() {
    let mut faults = String::new();
    for name in SCENARIOS {
        let mut pair = Pair::new(name, None);
        'run: for torn_after in [7, 54, 1, 66] {
            pair.run(f64::from(torn_after) * 10.0);
            pair.tear();
            for after in 1..=3 {
                pair.run(10.0);
                if let Some(difference) = pair.difference() {
                    faults.push_str(&format!("{name}, {after} answers after a restart: {difference}\n"));
                    break 'run;
                }
            }
        }
    }
    assert!(faults.is_empty(), "{faults}");
}

/// Another process looks again and again at the same fleet with the same history: the first one neither loses a line to it nor says
/// anything else.
#[test]
fn a_second_process_beside_it_changes_nothing() {
    for name in ["params-done-silence", "daemon-crash-loop", "evening-nothing-wrong"] {
        let mut pair = Pair::new(name, None);
        let mut beside = VirtualFleet::new(Scenario::named(name).unwrap(), None, Pace::default());
        for _ in 0..40 {
            beside.run(70.0, |_| {});
            let mut kept = pair.open();
            let id = kept.fleet("http://m", None).unwrap();
            beside.begin_again(kept, id).unwrap();
            beside.run(10.0, |_| {});
            pair.run(80.0);
            assert_eq!(pair.difference(), None, "{name}");
        }
        pair.tear();
        pair.run(10.0);
        assert_eq!(pair.difference(), None, "{name}: by what both kept");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, max_shrink_iters: 0, ..ProptestConfig::default() })]

    /// Anywhere, any number of times, in any of them.
    #[test]
    fn a_restart_anywhere_changes_nothing(
        name in prop::sample::select(&SCENARIOS[..]),
        seed in 0u64..1_000,
        pieces in prop::collection::vec(1u32..240, 1..6),
    ) {
        let mut pair = Pair::new(name, Some(seed));
        for piece in pieces {
            pair.run(f64::from(piece) * 10.0);
            prop_assert_eq!(pair.difference(), None, "{} {}", name, seed);
            pair.tear();
            pair.run(10.0);
            prop_assert_eq!(pair.difference(), None, "{} {}", name, seed);
        }
    }
}

/// A day, seconds.
const DAY_S: f64 = 86_400.0;

/// State, flag and dwell of each instance.
fn verdicts(fleet: &VirtualFleet) -> Vec<(String, String, Option<String>, Option<f64>)> {
    let mut all: Vec<_> =
        fleet.view().instances.into_iter().map(|row| (row.id, row.state, row.flag.map(|flag| flag.kind), row.dwell_s)).collect();
    all.sort_by(|left, right| left.0.cmp(&right.0));
    all
}

fn assert_as_if_nothing_had_been(pair: &Pair, case: &str) {
    let (whole, torn) = (verdicts(&pair.whole), verdicts(&pair.torn));
    assert_eq!(whole.len(), torn.len(), "{case}");
    for (right, jumped) in whole.iter().zip(&torn) {
        assert_eq!((&right.0, &right.1, &right.2), (&jumped.0, &jumped.1, &jumped.2), "{case}");
        // A change that nobody dates is dated by the answer that showed it: some answers were set aside.
        let apart_s = right.3.zip(jumped.3).map_or(0.0, |(left, right)| (left - right).abs());
        assert!(apart_s <= 60.0 && right.3.is_some() == jumped.3.is_some(), "{case}: {right:?} {jumped:?}");
    }
    let (whole, torn) = (pair.whole.watch().fleet(), pair.torn.watch().fleet());
    assert_eq!(whole.as_of(), torn.as_of(), "{case}");
    let newest = |fleet: &dwell_fleet::Fleet| fleet.instances().map(|it| it.last_listed_at).max();
    assert_eq!(newest(whole), newest(torn), "{case}");
    assert!(pair.torn.watch().connection().implausible.is_empty(), "{case}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, max_shrink_iters: 0, ..ProptestConfig::default() })]

    /// The manager's clock shows a far future for a while, this machine's jumps forth and back by seconds or years: once both are right
    /// again, all is as with a twin whose clocks never were wrong, also for the next process, which has it from history.
    #[test]
    fn clocks_that_jump_leave_no_trace(
        name in prop::sample::select(&SCENARIOS[..]),
        seed in 0u64..1_000,
        jumps in prop::collection::vec(
            (1u32..60, 1u32..6, prop::sample::select(vec![0.0, 0.0, 3.0 * DAY_S, 26_000.0 * DAY_S]),
             prop::sample::select(vec![0.0, 7.0, -7.0, 3_600.0, -3_600.0, 2.0 * DAY_S, -2.0 * DAY_S, 3_650.0 * DAY_S])),
            1..5,
        ),
    ) {
        let mut pair = Pair::new(name, Some(seed));
        pair.run(600.0);
        for (right, wrong, manager_s, own_s) in jumps {
            let case = format!("{name} {seed}: manager {manager_s}, this machine {own_s}");
            // One of them at a time: where both lie, nobody knows.
            pair.torn.set_clocks(manager_s, if manager_s == 0.0 { own_s } else { 0.0 });
            pair.run(f64::from(wrong) * 10.0);
            pair.torn.set_clocks(0.0, 0.0);
            pair.run(600.0 + f64::from(right) * 10.0);
            assert_as_if_nothing_had_been(&pair, &case);
            pair.tear();
            pair.run(60.0);
            assert_as_if_nothing_had_been(&pair, &format!("{case}, the next process"));
        }
    }
}
