//! What the operator's own machines have proved, put before the model: a rate that was measured on the machine itself counts most,
//! then rates of the same cards elsewhere, then the model.

use serde::Serialize;

use crate::cards::model_of;
use crate::predict::Prediction;

/// So many rates of the same cards elsewhere stand before the model.
const ELSEWHERE_LEAST: usize = 3;
/// From so many on the range is that of eight tenths of them, else of all.
const PERCENTILES_LEAST: usize = 10;
/// How far the next benchmark of a machine may be from its last one, relative: a dozen proofs are counted, and hosts are shared.
const REPEAT: f64 = 0.10;

/// A rate that was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Observed {
    /// Physical machine, by vast.ai's number.
    pub machine: Option<u64>,
    /// Card, as its driver or vast.ai calls it.
    pub gpu: String,
    /// Cards.
    pub cards: u32,
    /// Proofs per hour.
    pub proofs_per_h: f64,
}

/// What an estimate rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// This machine's own benchmarks.
    Machine,
    /// The same cards on other machines.
    SameCards,
    /// The model alone.
    Model,
}

/// An estimate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// Proofs per hour.
    pub proofs_per_h: f64,
    /// From.
    pub least: f64,
    /// To.
    pub most: f64,
    /// What it rests on.
    pub basis: Basis,
    /// Benchmarks that it rests on.
    pub benchmarks: usize,
}

impl Estimate {
    /// The basis in words.
    pub fn words(&self) -> String {
        match (self.basis, self.benchmarks) {
            (Basis::Machine, 1) => "this machine's own benchmark".to_owned(),
            (Basis::Machine, count) => format!("{count} benchmarks of this machine"),
            (Basis::SameCards, count) => format!("{count} benchmarks of the same cards on your machines"),
            (Basis::Model, _) => "the card's model, not calibrated".to_owned(),
        }
    }
}

/// Rates, put in order: the middle one, and a range.
fn spread(mut rates: Vec<f64>, basis: Basis) -> Option<Estimate> {
    rates.retain(|rate| rate.is_finite() && *rate > 0.0);
    rates.sort_by(f64::total_cmp);
    let count = rates.len();
    let last = count.checked_sub(1)?;
    let at = |share: f64| rates.get((last as f64 * share).round() as usize).copied();
    let (low, high) = if count >= PERCENTILES_LEAST { (0.1, 0.9) } else { (0.0, 1.0) };
    let proofs_per_h = (rates.get(last / 2)? + rates.get(count / 2)?) / 2.0;
    Some(Estimate { proofs_per_h, least: at(low)?, most: at(high)?, basis, benchmarks: count })
}

/// Rates of so many of these cards, anywhere: what one's own fleet says of them. `None` where there are none.
pub fn of_cards(gpu: &str, cards: u32, observed: &[Observed]) -> Option<Estimate> {
    let model = model_of(gpu);
    let same = |it: &&Observed| {
        it.cards == cards
            && (it.gpu == gpu || model.is_some_and(|model| model_of(&it.gpu).is_some_and(|its| its.name == model.name)))
    };
    spread(observed.iter().filter(same).map(|it| it.proofs_per_h).collect(), Basis::SameCards)
}

/// The best that is known of a machine with these cards. `None` where nothing is.
pub fn estimate(
    machine: Option<u64>,
    gpu: &str,
    cards: u32,
    model: Option<&Prediction>,
    observed: &[Observed],
) -> Option<Estimate> {
    let own = observed.iter().filter(|it| machine.is_some() && it.machine == machine && it.cards == cards);
    let own = spread(own.map(|it| it.proofs_per_h).collect(), Basis::Machine).map(|told| Estimate {
        least: told.least.min(told.proofs_per_h * (1.0 - REPEAT)),
        most: told.most.max(told.proofs_per_h * (1.0 + REPEAT)),
        ..told
    });
    let elsewhere = of_cards(gpu, cards, observed).filter(|told| told.benchmarks >= ELSEWHERE_LEAST);
    let modelled = model.map(|told| Estimate {
        proofs_per_h: told.proofs_per_h,
        least: told.least,
        most: told.most,
        basis: Basis::Model,
        benchmarks: 0,
    });
    own.or(elsewhere).or(modelled)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]
mod tests {
    use super::*;

    fn rate(machine: u64, gpu: &str, proofs_per_h: f64) -> Observed {
        Observed { machine: Some(machine), gpu: gpu.to_owned(), cards: 1, proofs_per_h }
    }

    #[test]
    fn the_machine_itself_counts_before_its_kind_and_its_kind_before_the_model() {
        let model = crate::predict::predict(&model_of("RTX 4090").unwrap().expected(25.0), 1, &Default::default()).unwrap();
        let known = [
            rate(1, "RTX 4090", 30.0),
            rate(1, "RTX 4090", 34.0),
            rate(2, "NVIDIA GeForce RTX 4090", 50.0),
            rate(3, "RTX 3090", 90.0),
            rate(4, "RTX 4090", f64::NAN),
        ];
        let of = |machine| estimate(Some(machine), "RTX 4090", 1, Some(&model), &known).unwrap();
        assert_eq!(of(1), Estimate { proofs_per_h: 32.0, least: 28.8, most: 35.2, basis: Basis::Machine, benchmarks: 2 });
        assert_eq!(of(9), Estimate { proofs_per_h: 34.0, least: 30.0, most: 50.0, basis: Basis::SameCards, benchmarks: 3 });
        // Two are too few, and others' counts of cards say nothing.
        let few = estimate(None, "RTX 4090", 1, Some(&model), &known[1..]).unwrap();
        assert_eq!((few.basis, few.proofs_per_h), (Basis::Model, model.proofs_per_h));
        assert_eq!(estimate(Some(1), "RTX 4090", 2, None, &known), None);
    }

    #[test]
    fn many_rates_give_the_range_of_eight_tenths() {
        let known: Vec<Observed> = (1..=21).map(|place| rate(place, "L40S", place as f64)).collect();
        let told = of_cards("L40S", 1, &known).unwrap();
        assert_eq!((told.proofs_per_h, told.least, told.most, told.benchmarks), (11.0, 3.0, 19.0, 21));
    }
}
