//! A whole benchmark: checks, tests, what the driver says meanwhile, verdicts, and what follows for proofs per hour.

use serde::Serialize;

use crate::cards::{ADDS_A_CYCLE, PRODUCTS_A_LEVEL, PRODUCTS_A_POINT, model_of};
use crate::device::{Device, Fault, Identity, Reading, reasons};
use crate::partition;
use crate::predict::{CardFigures, HostFigures, PARTITIONS, Prediction, predict, transform_at_prover_size};
use crate::work::Test;

/// Version of the record's form, and of what is measured; records of different versions are not compared.
pub const RECORD_VERSION: u32 = 1;

/// Runs of a test at least, and at most.
const RUNS: (usize, usize) = (10, 30);
/// A test ends once its figure is this sure, relative half-width of the 95 % interval of the mean: of computing, of copying.
const SURE: (f64, f64) = (0.005, 0.01);
/// Work before the first figure, seconds: quick, else. Cards slow down as they warm up; figures of cold ones are too good.
const WARM_UP_S: (f64, f64) = (5.0, 15.0);
/// Share of the host's memory that a test may pin.
const PINNED_SHARE: f64 = 0.25;
/// Smallest partition whose figure stands for the prover's own: in smaller ones starts and ends of batches weigh too much.
const PARTITION_LEAST: u32 = 24;
/// Seconds that a test takes at most.
const TEST_S: f64 = 8.0;
/// Of a soak's runs one in so many is kept with what the driver said.
const SOAK_READINGS: u32 = 100;
/// The soak's window, seconds, and what its worst may be of its best.
const WINDOW_S: f64 = 10.0;
const STEADY: f64 = 0.97;
const UNSTEADY: f64 = 0.90;
/// Readings with software thermal slowdown that are still well, as a share.
const WARM_SHARE: f64 = 0.05;
/// A card that reaches less than this share of what its kind does at its clock is slower than its kind.
const SLOW: f64 = 0.75;

/// How much is done.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Depth {
    /// Under a minute.
    Quick,
    /// Under five.
    Full,
    /// Full, and then the mix of proving for so many seconds.
    Soak(f64),
}

/// A test's figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    /// Which.
    pub test: Test,
    /// Its name.
    pub title: String,
    /// Unit of the rates.
    pub unit: &'static str,
    /// Runs.
    pub runs: usize,
    /// Median rate.
    pub median: f64,
    /// Rates that a tenth of the runs was below, and above.
    pub p10: f64,
    /// The same from above.
    pub p90: f64,
    /// Standard deviation of a run, percent.
    pub spread_percent: f64,
    /// Looks at the driver during it, and how many of them found the clocks held back by heat or hardware.
    pub looks: usize,
    /// Those.
    pub held_back: usize,
    /// Mean clock, MHz.
    pub clock_mhz: Option<f64>,
    /// Share of what the model could do at this clock, where that is known.
    pub of_most: Option<f64>,
}

/// How grave a verdict is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gravity {
    /// Good to know.
    Note,
    /// It costs speed.
    Warning,
    /// Do not prove with it.
    Bad,
}

/// What is thought of a card.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// A stable word.
    pub code: &'static str,
    /// How grave.
    pub gravity: Gravity,
    /// In a sentence.
    pub text: String,
}

/// A benchmark.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Record {
    /// Version.
    pub version: u32,
    /// Sum over the kernels' text: other kernels, other figures.
    pub kernels: String,
    /// The card.
    pub card: Identity,
    /// How much was done.
    pub depth: Depth,
    /// It was broken off.
    pub cancelled: bool,
    /// Figures.
    pub measured: Vec<Measured>,
    /// Tests without one, and why.
    pub without: Vec<(Test, Fault)>,
    /// What the driver said.
    pub readings: Vec<Reading>,
    /// The soak: seconds, and the rate of the mix against its first window.
    pub soak: Vec<(f64, f64)>,
    /// What is thought of it, gravest first.
    pub verdicts: Vec<Verdict>,
    /// What the prediction is made from.
    pub figures: Option<CardFigures>,
    /// Proofs per hour, in the host as it was told of. `None` where a result was wrong, or too little was measured.
    pub prediction: Option<Prediction>,
}

/// What is being done.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Steps done, and in all.
    pub done: usize,
    /// In all.
    pub of: usize,
    /// In words.
    pub what: String,
}

/// A sum over the kernels (FNV-1a): tells one set from another.
pub fn kernels_sum() -> String {
    let sum = dwell_kernels::PTX
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{sum:016x}")
}

/// The checks: every test at a small size.
pub fn checks() -> Vec<Test> {
    vec![
        Test::MemoryRead(1 << 24),
        Test::MemoryWrite(1 << 24),
        Test::MemoryCopy(1 << 24),
        Test::CopyIn(1 << 24),
        Test::CopyInPageable(1 << 24),
        Test::CopyOut(1 << 24),
        Test::CopyBoth(1 << 24),
        Test::MultiplyAdd(64),
        Test::MultiplyAddWide(64),
        Test::ScalarProducts(64),
        Test::BaseProducts(64),
        Test::Transform(16),
        Test::Products(14),
        Test::Streamed(14),
        Test::Partition(12),
    ]
}

/// The tests, in order, as far as the card's memory allows.
fn tests(depth: Depth, card: &Identity, host: &HostFigures) -> Vec<Test> {
    let quick = depth == Depth::Quick;
    let blocks = card.processors.unwrap_or(64) * 16;
    // Larger than any cache.
    let large = if quick { 1 << 30 } else { 2 << 30 };
    let copy = if quick { 256 << 20 } else { 1 << 30 };
    let room = card.memory_bytes.unwrap_or(8 << 30) as f64 * 0.85;
    let transforms = if quick { vec![24] } else { vec![20, 22, 24, 26, 27] };
    let sums = if quick { vec![22] } else { vec![20, 22, 24] };
    let mut all = vec![
        Test::MemoryRead(large),
        Test::MemoryWrite(large),
        Test::MemoryCopy(large),
        Test::CopyIn(copy),
        Test::CopyInPageable(copy),
        Test::CopyOut(copy),
        Test::CopyBoth(copy),
        Test::MultiplyAdd(blocks),
        Test::MultiplyAddWide(blocks),
        Test::ScalarProducts(blocks),
        Test::BaseProducts(blocks),
    ];
    all.extend(transforms.into_iter().map(Test::Transform));
    all.extend(sums.into_iter().map(Test::Products));
    all.push(Test::Streamed(if quick { 22 } else { 24 }));
    all.extend(if quick { vec![22] } else { vec![24, 26] }.into_iter().map(Test::Partition));
    let host = host.memory_gib.map(|gib| gib * 2_f64.powi(30) * PINNED_SHARE);
    all.retain(|test| match test {
        Test::Transform(log) => 2_f64.powi(*log as i32) * 32.0 < room,
        // Points, scalars, entries of sixteen windows, buckets.
        Test::Products(log) => 2_f64.powi(*log as i32) * 192.0 + 1.2e8 < room,
        // A host that does not tell its memory is not asked for much of it.
        Test::Partition(log) => {
            partition::bytes(*log) < room && host.map_or(*log <= 24, |most| partition::pinned_bytes(*log) < most)
        }
        _ => true,
    });
    all
}

fn is_copy(test: Test) -> bool {
    matches!(
        test,
        Test::CopyIn(_) | Test::CopyInPageable(_) | Test::CopyOut(_) | Test::CopyBoth(_) | Test::Streamed(_) | Test::Partition(_)
    )
}

/// Held back by heat or by the hardware: not by the power that it may draw, which is usual.
fn is_held_back(reading: &Reading) -> bool {
    reading.reasons.is_some_and(|bits| bits & (reasons::HARDWARE | reasons::WARM | reasons::HOT | reasons::BRAKE) != 0)
}

fn percentile(sorted: &[f64], share: f64) -> f64 {
    let place = ((sorted.len() - 1) as f64 * share).round() as usize;
    sorted.get(place).copied().unwrap_or(f64::NAN)
}

/// What is done with a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Check,
    WarmUp,
    Measure,
}

/// Works until the card is as warm as it will be.
fn warm(device: &mut dyn Device, test: Test, depth: Depth) -> Result<(), Fault> {
    let wanted_s = if depth == Depth::Quick { WARM_UP_S.0 } else { WARM_UP_S.1 };
    let began_s = device.passed_s();
    device.time(test, &mut |run| run.passed_s - began_s < wanted_s)
}

/// Measures one test.
fn measure(device: &mut dyn Device, test: Test, readings: &mut Vec<Reading>) -> Result<Measured, Fault> {
    let mut rates: Vec<f64> = Vec::new();
    let mut seen: Vec<Reading> = Vec::new();
    let began_s = device.passed_s();
    let sure = if is_copy(test) { SURE.1 } else { SURE.0 };
    let mut spread = 0.0;
    device.time(test, &mut |run| {
        rates.push(test.amount() / run.seconds);
        seen.extend(run.reading);
        if rates.len() < RUNS.0 {
            return true;
        }
        let count = rates.len() as f64;
        let mean = rates.iter().sum::<f64>() / count;
        let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (count - 1.0);
        spread = variance.sqrt() / mean;
        let is_sure = 1.96 * spread / count.sqrt() < sure;
        !is_sure && rates.len() < RUNS.1 && run.passed_s - began_s < TEST_S
    })?;
    rates.sort_by(f64::total_cmp);
    let clocks: Vec<f64> = seen.iter().filter_map(|reading| reading.clock_mhz).collect();
    let clock_mhz = (!clocks.is_empty()).then(|| clocks.iter().sum::<f64>() / clocks.len() as f64);
    let median = percentile(&rates, 0.5);
    let held_back = seen.iter().filter(|reading| is_held_back(reading)).count();
    let looks = seen.len();
    readings.append(&mut seen);
    Ok(Measured {
        test,
        title: test.title(),
        unit: test.unit(),
        runs: rates.len(),
        median,
        p10: percentile(&rates, 0.1),
        p90: percentile(&rates, 0.9),
        spread_percent: spread * 100.0,
        looks,
        held_back,
        clock_mhz,
        of_most: of_most(test, median, clock_mhz, &device.identity()),
    })
}

/// Share of what the model could do at most at this clock.
fn of_most(test: Test, rate: f64, clock_mhz: Option<f64>, card: &Identity) -> Option<f64> {
    let model = model_of(&card.name)?;
    let ghz = clock_mhz.map_or(model.boost_ghz, |mhz| mhz / 1000.0);
    let cycles = f64::from(card.processors.unwrap_or(model.processors)) * ghz * 1e9;
    let most = match test {
        Test::MemoryRead(_) | Test::MemoryWrite(_) | Test::MemoryCopy(_) => model.memory_gb_s * 1e9,
        Test::MultiplyAdd(_) => cycles * ADDS_A_CYCLE.0,
        Test::MultiplyAddWide(_) => cycles * ADDS_A_CYCLE.1,
        Test::ScalarProducts(_) => model.fr_peak(ghz),
        Test::BaseProducts(_) => model.fp_peak(ghz),
        Test::Transform(log) => model.fr_peak(ghz) / (PRODUCTS_A_LEVEL * f64::from(log)),
        Test::Products(_) => model.fp_peak(ghz) / PRODUCTS_A_POINT,
        _ => return None,
    };
    Some(rate / most)
}

/// Runs a benchmark. `tell` is called before each step; where it gives false, the rest is left.
pub fn run(device: &mut dyn Device, depth: Depth, host: &HostFigures, tell: &mut dyn FnMut(&Progress) -> bool) -> Record {
    let card = device.identity();
    let (checks, tests) = (checks(), tests(depth, &card, host));
    let of = checks.len() + 1 + tests.len() + usize::from(matches!(depth, Depth::Soak(_)));
    let mut record = Record {
        version: RECORD_VERSION,
        kernels: kernels_sum(),
        card,
        depth,
        cancelled: false,
        measured: Vec::new(),
        without: Vec::new(),
        readings: vec![device.reading()],
        soak: Vec::new(),
        verdicts: Vec::new(),
        figures: None,
        prediction: None,
    };
    let warm_up = Test::BaseProducts(record.card.processors.unwrap_or(64) * 16);
    let steps = checks.into_iter().map(|test| (Step::Check, test));
    let steps = steps.chain([(Step::WarmUp, warm_up)]).chain(tests.into_iter().map(|test| (Step::Measure, test)));
    for (done, (step, test)) in steps.enumerate() {
        let what = match step {
            Step::Check => format!("Checking: {}", test.title()),
            Step::WarmUp => "Warming up".to_owned(),
            Step::Measure => test.title(),
        };
        if !tell(&Progress { done, of, what }) {
            record.cancelled = true;
            break;
        }
        let outcome = match step {
            Step::Check => device.check(test),
            Step::WarmUp => warm(device, test, depth),
            Step::Measure => measure(device, test, &mut record.readings).map(|measured| record.measured.push(measured)),
        };
        if let Err(fault) = outcome {
            let is_lost = matches!(fault, Fault::Lost(_));
            record.without.push((test, fault));
            if is_lost {
                break;
            }
        }
    }
    let is_lost = record.without.iter().any(|(_, fault)| matches!(fault, Fault::Lost(_)));
    if let (Depth::Soak(seconds), false, false) = (depth, record.cancelled, is_lost) {
        soak(device, seconds, &mut record, &mut |what| tell(&Progress { done: of - 1, of, what }));
    }
    record.figures = figures(&record.measured).map(|figures| sustained(figures, &record.soak));
    record.verdicts = verdicts(&record);
    // A card that computes wrongly proves nothing.
    let is_wrong = record.without.iter().any(|(_, fault)| *fault == Fault::Wrong);
    record.prediction = record.figures.filter(|_| !is_wrong && !is_lost).and_then(|figures| predict(&figures, 1, host));
    record
}

/// The mix of proving, again and again: a transform, a sum, a copy.
fn soak(device: &mut dyn Device, seconds: f64, record: &mut Record, tell: &mut dyn FnMut(String) -> bool) {
    const MIX: [Test; 3] = [Test::Transform(22), Test::Products(20), Test::CopyIn(256 << 20)];
    let began_s = device.passed_s();
    let mut first_window = None;
    while device.passed_s() - began_s < seconds {
        let passed_s = device.passed_s() - began_s;
        if !tell(format!("Soak: {passed_s:.0} of {seconds:.0} s")) {
            record.cancelled = true;
            return;
        }
        // Each part of the mix for a third of the window; the rate is that of one round of all.
        let mut round_s = 0.0;
        for test in MIX {
            let part_s = device.passed_s();
            let (mut busy_s, mut runs) = (0.0, 0_u32);
            let outcome = device.time(test, &mut |run| {
                busy_s += run.seconds;
                runs += 1;
                record.readings.extend(run.reading.filter(|_| runs.is_multiple_of(SOAK_READINGS)));
                run.passed_s - part_s < WINDOW_S / MIX.len() as f64
            });
            if let Err(fault) = outcome {
                record.without.push((test, fault));
                return;
            }
            round_s += busy_s / f64::from(runs.max(1));
        }
        let rate = 1.0 / round_s;
        let first = *first_window.get_or_insert(rate);
        record.soak.push((device.passed_s() - began_s, rate / first));
        record.readings.push(device.reading());
    }
}

/// Figures as they are after the soak: the last third counts, not the first minute.
fn sustained(figures: CardFigures, soak: &[(f64, f64)]) -> CardFigures {
    let last = &soak[soak.len() - soak.len().div_ceil(3)..];
    if last.is_empty() {
        return figures;
    }
    let kept = (last.iter().map(|(_, rate)| rate).sum::<f64>() / last.len() as f64).min(1.0);
    CardFigures {
        transform_s: figures.transform_s / kept,
        products_per_s: figures.products_per_s * kept,
        partition_s: figures.partition_s.map(|seconds| seconds / kept),
        ..figures
    }
}

/// What the prediction is made from, where enough was measured.
fn figures(measured: &[Measured]) -> Option<CardFigures> {
    let largest = |of: fn(Test) -> Option<u32>| {
        measured.iter().filter_map(|it| Some((of(it.test)?, it.median))).max_by_key(|(log, _)| *log)
    };
    let pinned = measured.iter().find(|it| matches!(it.test, Test::CopyIn(_)))?.median;
    let (log, elements_s) = largest(|test| if let Test::Transform(log) = test { Some(log) } else { None })?;
    let (_, products_per_s) = largest(|test| if let Test::Products(log) = test { Some(log) } else { None })?;
    Some(CardFigures {
        pinned_gb_s: pinned / 1e9,
        transform_s: transform_at_prover_size(log, 2_f64.powi(log as i32) / elements_s),
        products_per_s,
        // The streamed sum is limited by the link wherever it was measured: the model takes the link for it.
        chosen_per_s: None,
        partition_s: largest(|test| if let Test::Partition(log) = test { Some(log) } else { None })
            .filter(|(log, _)| *log >= PARTITION_LEAST)
            .map(|(_, proofs_per_h)| 3600.0 / PARTITIONS / proofs_per_h),
    })
}

fn verdicts(record: &Record) -> Vec<Verdict> {
    let mut all = Vec::new();
    let mut say = |code, gravity, text: String| all.push(Verdict { code, gravity, text });
    for (test, fault) in &record.without {
        match fault {
            Fault::Wrong => say(
                "computes-wrongly",
                Gravity::Bad,
                format!(
                    "{}: a result was wrong. This card computes wrongly: its proofs would be refused, however fast they come.",
                    test.title()
                ),
            ),
            Fault::Lost(words) => {
                say("lost", Gravity::Bad, format!("{}: the card does not answer any more: {words}.", test.title()));
            }
            Fault::NoRoom => say("no-room", Gravity::Note, format!("{}: there was no room for it.", test.title())),
        }
    }
    let told: Vec<&Reading> = record.readings.iter().filter(|reading| reading.reasons.is_some()).collect();
    let with = |bits: u64| told.iter().filter(|reading| reading.reasons.is_some_and(|has| has & bits != 0)).count();
    let share = |count: usize| count as f64 / told.len().max(1) as f64;
    if with(reasons::HARDWARE | reasons::HOT | reasons::BRAKE) > 1 {
        let count = with(reasons::HARDWARE | reasons::HOT | reasons::BRAKE);
        say(
            "hot",
            Gravity::Bad,
            format!("In {count} of {} looks the hardware held the clocks back: cooling or power supply.", told.len()),
        );
    } else if share(with(reasons::WARM)) > WARM_SHARE {
        say("warm", Gravity::Warning, format!("In {} of {} looks heat held the clocks back.", with(reasons::WARM), told.len()));
    }
    if with(reasons::POWER_CAP) > 0 {
        let limit = record.readings.iter().find_map(|reading| reading.power_limit_w);
        let at = limit.map_or_else(String::new, |watts| format!(" of {watts:.0} W"));
        say("power-limited", Gravity::Note, format!("It ran at its power limit{at}, as cards do under full load."));
    }
    if let Some((now, most)) = record.readings.iter().filter_map(|reading| reading.link_width).max_by_key(|(now, _)| *now)
        && now < most
    {
        say(
            "narrow-link",
            Gravity::Warning,
            format!("Its link has {now} lanes of {most}: about six proofs an hour are lost for each GB/s."),
        );
    }
    if let Some(others) = record.readings.iter().filter_map(|reading| reading.others).max().filter(|others| *others > 0) {
        say(
            "shared",
            Gravity::Warning,
            format!("{others} other processes computed on it meanwhile: the figures are theirs as well."),
        );
    }
    let worst = record.soak.iter().map(|(_, rate)| *rate).fold(f64::INFINITY, f64::min);
    let best = record.soak.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    if record.soak.len() > 1 && worst / best < STEADY {
        let gravity = if worst / best < UNSTEADY { Gravity::Bad } else { Gravity::Warning };
        say("unsteady", gravity, format!("Its slowest ten seconds reached {:.0} % of its fastest.", worst / best * 100.0));
    }
    let chains = record.measured.iter().filter(|it| matches!(it.test, Test::ScalarProducts(_) | Test::BaseProducts(_)));
    if let Some(least) = chains.filter_map(|it| it.of_most).reduce(f64::min).filter(|least| *least < SLOW) {
        say(
            "slow",
            Gravity::Warning,
            format!("At its clock it reaches {:.0} % of what its kind can: less than usual.", least * 100.0),
        );
    }
    all.sort_by_key(|verdict| std::cmp::Reverse(verdict.gravity));
    all.dedup();
    all
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]
mod tests {
    use super::*;
    use crate::simulated::{NAMES, Simulated};

    fn of(name: &str, depth: Depth) -> Record {
        run(&mut Simulated::named(name).unwrap(), depth, &HostFigures::default(), &mut |_| true)
    }

    fn codes(record: &Record) -> Vec<&'static str> {
        record.verdicts.iter().map(|verdict| verdict.code).collect()
    }

    #[test]
    fn every_simulated_card_goes_through_and_says_that_it_is_one() {
        for (name, ..) in NAMES {
            let record = of(name, Depth::Quick);
            assert!(record.card.simulated && record.card.name.contains("simulated"), "{name}");
            assert!(!record.measured.is_empty() && record.version == RECORD_VERSION, "{name}");
        }
    }

    #[test]
    fn a_sound_card_is_measured_within_its_model_and_predicted() {
        for name in ["rtx-3090", "rtx-4090", "rtx-5090", "a100", "h100", "rtx-5000-ada"] {
            let record = of(name, Depth::Full);
            assert!(record.without.is_empty() && codes(&record).is_empty(), "{name}: {:?}", record.verdicts);
            for it in &record.measured {
                assert!(it.p10 <= it.median && it.median <= it.p90 && it.runs >= RUNS.0, "{name}: {it:?}");
                assert!(it.of_most.is_none_or(|share| (0.2..=1.0).contains(&share)), "{name}: {it:?}");
            }
            let told = record.prediction.unwrap();
            assert!(told.proofs_per_h > 30.0 && told.most < 400.0, "{name}: {told:?}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_card_is_told_and_no_figure_hides_it() {
        let wrong = of("wrong", Depth::Quick);
        assert_eq!(codes(&wrong)[0], "computes-wrongly");
        assert_eq!(wrong.prediction, None, "a card that computes wrongly proves nothing");
        let off = of("falls-off", Depth::Full);
        assert!(codes(&off).contains(&"lost") && off.prediction.is_none(), "{:?}", off.verdicts);
        let narrow = of("narrow-link", Depth::Quick);
        assert!(codes(&narrow).contains(&"narrow-link"), "{:?}", narrow.verdicts);
        assert!(narrow.prediction.unwrap().proofs_per_h < 40.0);
        let hot = of("throttling", Depth::Soak(120.0));
        assert!(codes(&hot).contains(&"hot") && codes(&hot).contains(&"unsteady"), "{:?}", hot.verdicts);
        assert!(hot.soak.len() >= 10);
        let cool = of("rtx-4090", Depth::Quick).prediction.unwrap().proofs_per_h;
        assert!(hot.prediction.unwrap().proofs_per_h < cool * 0.97, "what it does when hot counts");
    }

    #[test]
    fn it_can_be_broken_off_at_any_step() {
        let mut left = 20;
        let record = run(&mut Simulated::named("rtx-3090").unwrap(), Depth::Full, &HostFigures::default(), &mut |_| {
            left -= 1;
            left > 0
        });
        assert!(record.cancelled && record.measured.len() < 8, "{}", record.measured.len());
    }

    #[test]
    fn what_does_not_fit_the_card_is_not_tried() {
        let small = Identity { memory_bytes: Some(4 << 30), ..Identity::default() };
        let tests = tests(Depth::Full, &small, &HostFigures::default());
        assert!(!tests.contains(&Test::Transform(27)) && tests.contains(&Test::Transform(24)), "{tests:?}");
    }
}
