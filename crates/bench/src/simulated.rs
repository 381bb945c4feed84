//! Simulated cards: what a model would measure, in a time of its own that nobody waits for. For first use, tests and drills;
//! always called simulated.

use crate::cards::{ADDS_A_CYCLE, Model, PRODUCTS_A_LEVEL, PRODUCTS_A_POINT, is_same_name, model_of};
use crate::device::{Device, Fault, Health, Identity, LOOK_EVERY, Next, OneRun, Reading, reasons};
use crate::predict::{CardFigures, card_s, transform_at_prover_size};
use crate::work::Test;

/// What is wrong with a simulated card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// Nothing.
    None,
    /// It becomes too hot after half a minute of work.
    Throttling,
    /// Now and then a result is wrong.
    Wrong,
    /// Its link has four lanes instead of sixteen.
    NarrowLink,
    /// It falls off the bus in the middle of it all.
    FallsOff,
}

/// Simulated cards by name: model, GB/s of its link, trouble.
pub const NAMES: [(&str, &str, f64, Trouble); 10] = [
    ("rtx-3090", "RTX 3090", 24.0, Trouble::None),
    ("rtx-4090", "RTX 4090", 25.0, Trouble::None),
    ("rtx-5000-ada", "RTX 5000 Ada", 25.0, Trouble::None),
    ("rtx-5090", "RTX 5090", 52.0, Trouble::None),
    ("a100", "A100", 24.0, Trouble::None),
    ("h100", "H100 SXM", 52.0, Trouble::None),
    ("throttling", "RTX 4090", 25.0, Trouble::Throttling),
    ("wrong", "RTX 3090", 24.0, Trouble::Wrong),
    ("narrow-link", "RTX 3090", 6.1, Trouble::NarrowLink),
    ("falls-off", "RTX 4090", 25.0, Trouble::FallsOff),
];

/// Their names.
pub fn names() -> Vec<&'static str> {
    NAMES.iter().map(|(name, ..)| *name).collect()
}

/// Shares of what a model could do at most that its tests reach.
const MEMORY: f64 = 0.92;
const INTEGERS: f64 = 0.97;
const CHAINS: f64 = 0.91;
const SUMS: f64 = 0.6;
const TRANSFORMS: f64 = 0.4;
/// Pageable copies: a share of the link, and what the host's copying allows, GB/s.
const PAGEABLE: (f64, f64) = (0.45, 11.0);
/// Throttling: after so many seconds of work, to this share of the clock.
const HOT_AFTER_S: f64 = 30.0;
const HOT_CLOCK: f64 = 0.55;
/// It falls off the bus after so many seconds of work.
const OFF_AFTER_S: f64 = 16.0;

/// A simulated card.
#[derive(Debug)]
pub struct Simulated {
    model: &'static Model,
    link_gb_s: f64,
    trouble: Trouble,
    /// Work and pauses so far, seconds.
    passed_s: f64,
    draws: u64,
}

impl Simulated {
    /// The card of this name.
    pub fn named(name: &str) -> Option<Self> {
        let (_, model, link_gb_s, trouble) =
            NAMES.into_iter().find(|(known, model, ..)| [known, model].into_iter().any(|it| is_same_name(it, name)))?;
        Some(Self { model: model_of(model)?, link_gb_s, trouble, passed_s: 0.0, draws: 0 })
    }

    /// Between -1 and 1, the same in every run.
    fn draw(&mut self) -> f64 {
        self.draws += 1;
        let mut z = self.draws.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z ^= z >> 27;
        (z % 20_001) as f64 / 10_000.0 - 1.0
    }

    fn is_hot(&self) -> bool {
        self.trouble == Trouble::Throttling && self.passed_s > HOT_AFTER_S
    }

    fn ghz(&self) -> f64 {
        // A little below boost under load, as cards are.
        self.model.boost_ghz * 0.97 * if self.is_hot() { HOT_CLOCK } else { 1.0 }
    }

    fn rate(&self, test: Test) -> f64 {
        let (model, ghz) = (self.model, self.ghz());
        let link = self.link_gb_s * 1e9;
        let cycles = f64::from(model.processors) * ghz * 1e9;
        let by_memory = |bytes_each: f64| model.memory_gb_s * 1e9 * MEMORY / bytes_each;
        match test {
            Test::MemoryRead(_) | Test::MemoryWrite(_) | Test::MemoryCopy(_) => model.memory_gb_s * 1e9 * MEMORY,
            Test::CopyIn(_) => link,
            Test::CopyInPageable(_) => (link * PAGEABLE.0).min(PAGEABLE.1 * 1e9),
            Test::CopyOut(_) => link * 0.98,
            Test::CopyBoth(_) => link * 1.6,
            Test::MultiplyAdd(_) => cycles * ADDS_A_CYCLE.0 * INTEGERS,
            Test::MultiplyAddWide(_) => cycles * ADDS_A_CYCLE.1 * INTEGERS,
            Test::ScalarProducts(_) => model.fr_peak(ghz) * CHAINS,
            Test::BaseProducts(_) => model.fp_peak(ghz) * CHAINS,
            // A pass through memory for every nine levels.
            Test::Transform(log) => (model.fr_peak(ghz) * TRANSFORMS / (PRODUCTS_A_LEVEL * f64::from(log)))
                .min(by_memory(64.0 * f64::from(log.div_ceil(9)))),
            Test::Products(_) => model.fp_peak(ghz) * SUMS / PRODUCTS_A_POINT,
            Test::Streamed(_) => link * 0.97,
            Test::Partition(_) => {
                let (log, of_24) = (24, 2_f64.powi(24));
                let figures = CardFigures {
                    pinned_gb_s: self.link_gb_s,
                    transform_s: transform_at_prover_size(log, of_24 / self.rate(Test::Transform(log))),
                    products_per_s: self.rate(Test::Products(log)),
                    chosen_per_s: None,
                    partition_s: None,
                };
                3600.0 / card_s(&figures).0
            }
        }
    }
}

impl Device for Simulated {
    fn identity(&self) -> Identity {
        Identity {
            name: format!("{} (simulated)", self.model.name),
            capability: Some(self.model.capability),
            processors: Some(self.model.processors),
            memory_bytes: Some(u64::from(self.model.memory_gib) << 30),
            driver: None,
            uuid: None,
            simulated: true,
        }
    }

    fn check(&mut self, test: Test) -> Result<(), Fault> {
        self.time(test, &mut |_| Next::Check)
    }

    fn time(&mut self, test: Test, next: &mut dyn FnMut(&OneRun) -> Next) -> Result<(), Fault> {
        /// The start of a launch.
        const LAUNCH_S: f64 = 8e-6;
        let spread = if matches!(test, Test::CopyIn(_) | Test::CopyOut(_) | Test::CopyBoth(_)) { 0.008 } else { 0.003 };
        for run in 1.. {
            if self.trouble == Trouble::FallsOff && self.passed_s > OFF_AFTER_S {
                return Err(Fault::Lost("the driver says that no such device is there".to_owned()));
            }
            let seconds = test.amount() / self.rate(test) * (1.0 + spread * self.draw()) + LAUNCH_S;
            self.passed_s += seconds;
            let reading = (run % LOOK_EVERY == 0).then(|| self.reading());
            match next(&OneRun { seconds, reading, passed_s: self.passed_s }) {
                Next::Again => {}
                Next::Check => break,
                Next::Stop => return Err(Fault::Stopped),
            }
        }
        // Arithmetic in long sums is where a bad bit shows.
        let long = matches!(test, Test::Products(_));
        if self.trouble == Trouble::Wrong && long { Err(Fault::Wrong) } else { Ok(()) }
    }

    fn reading(&mut self) -> Reading {
        let hot = self.is_hot();
        let warmth = (self.passed_s / HOT_AFTER_S).min(1.0);
        let width = if self.trouble == Trouble::NarrowLink { 4 } else { 16 };
        let generation = if self.link_gb_s > 30.0 { 5 } else { 4 };
        Reading {
            at_s: self.passed_s,
            clock_mhz: Some(self.ghz() * 1000.0),
            memory_clock_mhz: None,
            power_w: Some(280.0 * if hot { 0.6 } else { 1.0 } + 4.0 * self.draw()),
            power_limit_w: Some(350.0),
            temperature_c: Some(38.0 + warmth * if self.trouble == Trouble::Throttling { 52.0 } else { 30.0 }),
            fan_percent: Some(30.0 + 50.0 * warmth),
            reasons: Some(if hot { reasons::WARM | reasons::HOT } else { 0 }),
            link_generation: Some((generation, generation)),
            link_width: Some((width, 16)),
            link_in: None,
            others: Some(0),
        }
    }

    fn health(&mut self) -> Health {
        // Cards for data centres count memory errors; those for games do not.
        let counts = matches!(self.model.capability, 80 | 90 | 100);
        Health {
            ecc: Some(counts),
            corrected: counts.then_some(0),
            uncorrected: counts.then_some(0),
            pages_pending: counts.then_some(false),
            link_replays: Some(0),
            sliced: counts.then_some(false),
            power_default_w: Some(350.0),
        }
    }

    fn xids(&mut self) -> Vec<u64> {
        if self.trouble == Trouble::FallsOff && self.passed_s > OFF_AFTER_S { vec![79] } else { Vec::new() }
    }

    fn passed_s(&self) -> f64 {
        self.passed_s
    }
}
