//! A whole benchmark: checks, tests, what the driver says meanwhile, verdicts, and what follows for proofs per hour.

use serde::Serialize;

use crate::cards::{ADDS_A_CYCLE, PRODUCTS_A_LEVEL, PRODUCTS_A_POINT, model_of};
use crate::device::{Device, Fault, Health, Identity, Next, OneRun, Reading, reasons};
use crate::external::External;
use crate::partition;
use crate::predict::{CardFigures, HostFigures, PARTITIONS, Prediction, predict, transform_at_prover_size};
use crate::published::{self, Compared};
use crate::verdicts::{self, Verdict};
use crate::work::Test;

/// Version of the record's form, and of what is measured; records of different versions are not compared. 2: whole partitions,
/// the driver's counters, published figures beside the card's own.
pub const RECORD_VERSION: u32 = 2;

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
/// The soak's window, seconds.
const WINDOW_S: f64 = 10.0;
/// How far it is, is told as often, seconds.
const TELL_EVERY_S: f64 = 0.2;

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
    /// What the driver had counted before, and what after.
    pub health: (Health, Health),
    /// Errors that the driver reported of the card meanwhile (Xid).
    pub xids: Vec<u64>,
    /// Published figures for this model of card, of tests of the same size.
    pub published: Vec<Compared>,
    /// What another program measured beside it.
    pub external: Option<External>,
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
    /// Steps done.
    pub done: usize,
    /// Steps in all.
    pub of: usize,
    /// In words.
    pub what: String,
    /// A step begins.
    pub begins: bool,
    /// The latest that the driver said, while it works.
    pub reading: Option<Reading>,
}

/// How far a benchmark is, and whether it goes on.
struct Course<'t> {
    progress: Progress,
    told_s: f64,
    stopped: bool,
    tell: &'t mut dyn FnMut(&Progress) -> bool,
}

impl Course<'_> {
    /// Tells of a step that begins. False: it does not.
    fn begin(&mut self, done: usize, what: String) -> bool {
        (self.progress.done, self.progress.what, self.progress.begins) = (done, what, true);
        self.stopped |= !(self.tell)(&self.progress);
        self.progress.begins = false;
        !self.stopped
    }

    /// Tells of a run, now and then. False: it was broken off.
    fn goes_on(&mut self, run: &OneRun) -> bool {
        if run.reading.is_some() {
            self.progress.reading = run.reading;
        }
        if run.passed_s - self.told_s > TELL_EVERY_S {
            self.told_s = run.passed_s;
            self.stopped |= !(self.tell)(&self.progress);
        }
        !self.stopped
    }

    /// `next`, unless it was broken off.
    fn then(&mut self, run: &OneRun, next: Next) -> Next {
        if self.goes_on(run) { next } else { Next::Stop }
    }
}

/// A sum over the kernels (FNV-1a): tells one set from another.
pub fn kernels_sum() -> String {
    let sum = dwell_kernels::PTX
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{sum:016x}")
}

/// The checks: every test at a small size.
pub fn checks(card: &Identity) -> Vec<Test> {
    // Enough for every multiprocessor of a small card; few where there are hardly any.
    let blocks = card.processors.map_or(64, |processors| (4 * processors).clamp(1, 64));
    vec![
        Test::MemoryRead(1 << 24),
        Test::MemoryWrite(1 << 24),
        Test::MemoryCopy(1 << 24),
        Test::CopyIn(1 << 24),
        Test::CopyInPageable(1 << 24),
        Test::CopyOut(1 << 24),
        Test::CopyBoth(1 << 24),
        Test::MultiplyAdd(blocks),
        Test::MultiplyAddWide(blocks),
        Test::ScalarProducts(blocks),
        Test::BaseProducts(blocks),
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
pub(crate) fn is_held_back(reading: &Reading) -> bool {
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
fn warm(device: &mut dyn Device, test: Test, depth: Depth, course: &mut Course<'_>) -> Result<(), Fault> {
    let wanted_s = if depth == Depth::Quick { WARM_UP_S.0 } else { WARM_UP_S.1 };
    let began_s = device.passed_s();
    device.time(test, &mut |run| {
        let next = if run.passed_s - began_s < wanted_s { Next::Again } else { Next::Check };
        course.then(run, next)
    })
}

/// Measures one test.
fn measure(device: &mut dyn Device, test: Test, readings: &mut Vec<Reading>, course: &mut Course<'_>) -> Result<Measured, Fault> {
    let mut rates: Vec<f64> = Vec::new();
    let mut seen: Vec<Reading> = Vec::new();
    let began_s = device.passed_s();
    let sure = if is_copy(test) { SURE.1 } else { SURE.0 };
    let mut spread = 0.0;
    device.time(test, &mut |run| {
        rates.push(test.amount() / run.seconds);
        seen.extend(run.reading);
        if rates.len() < RUNS.0 {
            return course.then(run, Next::Again);
        }
        let count = rates.len() as f64;
        let mean = rates.iter().sum::<f64>() / count;
        let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (count - 1.0);
        spread = variance.sqrt() / mean;
        let is_sure = 1.96 * spread / count.sqrt() < sure;
        let is_enough = is_sure || rates.len() >= RUNS.1 || run.passed_s - began_s >= TEST_S;
        course.then(run, if is_enough { Next::Check } else { Next::Again })
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

/// Runs a benchmark. `tell` is called before each step and a few times a second while one lasts; where it gives false, the rest is
/// left, and the step with it.
pub fn run(device: &mut dyn Device, depth: Depth, host: &HostFigures, tell: &mut dyn FnMut(&Progress) -> bool) -> Record {
    let card = device.identity();
    let (checks, tests) = (checks(&card), tests(depth, &card, host));
    let of = checks.len() + 1 + tests.len() + usize::from(matches!(depth, Depth::Soak(_)));
    let before = device.health();
    let mut record = Record {
        version: RECORD_VERSION,
        kernels: kernels_sum(),
        card,
        depth,
        cancelled: false,
        measured: Vec::new(),
        without: Vec::new(),
        readings: vec![device.reading()],
        health: (before, before),
        xids: Vec::new(),
        published: Vec::new(),
        external: None,
        soak: Vec::new(),
        verdicts: Vec::new(),
        figures: None,
        prediction: None,
    };
    let progress = Progress { done: 0, of, what: String::new(), begins: true, reading: None };
    let mut course = Course { progress, told_s: device.passed_s(), stopped: false, tell };
    let warm_up = Test::BaseProducts(record.card.processors.unwrap_or(64) * 16);
    let steps = checks.into_iter().map(|test| (Step::Check, test));
    let steps = steps.chain([(Step::WarmUp, warm_up)]).chain(tests.into_iter().map(|test| (Step::Measure, test)));
    for (done, (step, test)) in steps.enumerate() {
        let what = match step {
            Step::Check => format!("Checking: {}", test.title()),
            Step::WarmUp => "Warming up".to_owned(),
            Step::Measure => test.title(),
        };
        if !course.begin(done, what) {
            break;
        }
        let outcome = match step {
            Step::Check => device.check(test),
            Step::WarmUp => warm(device, test, depth, &mut course),
            Step::Measure => {
                measure(device, test, &mut record.readings, &mut course).map(|measured| record.measured.push(measured))
            }
        };
        match outcome {
            Ok(()) => {}
            Err(Fault::Stopped) => break,
            Err(fault) => {
                let is_lost = matches!(fault, Fault::Lost(_));
                record.without.push((test, fault));
                if is_lost {
                    break;
                }
            }
        }
    }
    let is_lost = record.without.iter().any(|(_, fault)| matches!(fault, Fault::Lost(_)));
    if let (Depth::Soak(seconds), false, false) = (depth, course.stopped, is_lost) {
        soak(device, seconds, &mut record, &mut course);
    }
    record.cancelled = course.stopped;
    record.health.1 = device.health();
    record.xids = device.xids();
    record.published = published::beside(&record.card.name, &record.measured);
    record.figures = figures(&record.measured).map(|figures| sustained(figures, &record.soak));
    record.verdicts = verdicts::of(&record);
    record.prediction = record.figures.filter(|_| record.can_prove()).and_then(|figures| predict(&figures, 1, host));
    record
}

impl Record {
    /// A card that computes wrongly, or that is gone, proves nothing.
    pub fn can_prove(&self) -> bool {
        !self.without.iter().any(|(_, fault)| matches!(fault, Fault::Wrong | Fault::Lost(_)))
    }
}

/// The mix of proving, again and again: a transform, a sum, a copy.
fn soak(device: &mut dyn Device, seconds: f64, record: &mut Record, course: &mut Course<'_>) {
    const MIX: [Test; 3] = [Test::Transform(22), Test::Products(20), Test::CopyIn(256 << 20)];
    let began_s = device.passed_s();
    let done = course.progress.of - 1;
    let mut first_window = None;
    while device.passed_s() - began_s < seconds {
        let passed_s = device.passed_s() - began_s;
        if !course.begin(done, format!("Soak: {passed_s:.0} of {seconds:.0} s")) {
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
                let is_over = run.passed_s - part_s >= WINDOW_S / MIX.len() as f64;
                course.then(run, if is_over { Next::Check } else { Next::Again })
            });
            match outcome {
                Ok(()) => {}
                Err(Fault::Stopped) => return,
                Err(fault) => {
                    record.without.push((test, fault));
                    return;
                }
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
