//! Published figures of the same arithmetic on named cards, to stand beside one's own. Each with where it is from: other code, often
//! with points worked out beforehand, and some over a curve of nearly the same size. They are a measure, not a goal.

use serde::Serialize;

use crate::cards::model_of;
use crate::run::Measured;
use crate::work::Test;

/// A published figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Published {
    /// Model of card.
    pub card: &'static str,
    /// What was timed.
    pub test: Test,
    /// Seconds.
    pub seconds: f64,
    /// By what, and what differs.
    pub by: &'static str,
    /// Where it is from.
    pub source: &'static str,
}

/// A figure beside a published one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// The test.
    pub title: String,
    /// Seconds here.
    pub seconds: f64,
    /// Seconds as published.
    pub published_s: f64,
    /// How fast this is against it: 1 as fast.
    pub ratio: f64,
    /// By what, and what differs.
    pub by: &'static str,
    /// Where it is from.
    pub source: &'static str,
}

/// A whole proof as published: the card's name alone predicts little of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PublishedProof {
    /// Card and host.
    pub machine: &'static str,
    /// Seconds.
    pub seconds: f64,
    /// What was timed.
    pub what: &'static str,
    /// Where it is from.
    pub source: &'static str,
}

const ZKALC: &str = "zkalc, ICICLE data, 2025";
const ICICLE: &str = "ICICLE documentation, table of sums";
const ZPRIZE_22: &str = "ZPrize 2022, MSM on GPU, entries";
const ZPRIZE_23: &str = "ZPrize 2023, MSM on GPU, entries";
const ON_381: &str = "ICICLE, BLS12-381";
const ON_377: &str = "ICICLE, BLS12-377";

const fn published(card: &'static str, test: Test, milliseconds: f64, by: (&'static str, &'static str)) -> Published {
    Published { card, test, seconds: milliseconds / 1000.0, by: by.0, source: by.1 }
}

/// Transforms over the scalar field of BLS12-381, data on the card; sums over G1.
pub const FIGURES: [Published; 26] = [
    published("RTX 3090", Test::Transform(18), 0.200, (ON_381, ZKALC)),
    published("RTX 3090", Test::Transform(20), 0.809, (ON_381, ZKALC)),
    published("RTX 3090", Test::Transform(21), 1.549, (ON_381, ZKALC)),
    published("RTX 3090 Ti", Test::Transform(18), 0.178, (ON_381, ZKALC)),
    published("RTX 3090 Ti", Test::Transform(20), 0.726, (ON_381, ZKALC)),
    published("RTX 3090 Ti", Test::Transform(21), 1.384, (ON_381, ZKALC)),
    published("RTX 4090", Test::Transform(18), 0.089, (ON_381, ZKALC)),
    published("RTX 4090", Test::Transform(20), 0.363, (ON_381, ZKALC)),
    published("RTX 4090", Test::Transform(21), 0.761, (ON_381, ZKALC)),
    published("RTX 3090", Test::Products(20), 39.1, (ON_381, ZKALC)),
    published("RTX 3090", Test::Products(21), 68.5, (ON_381, ZKALC)),
    published("RTX 3090 Ti", Test::Products(20), 34.1, (ON_381, ZKALC)),
    published("RTX 3090 Ti", Test::Products(21), 58.2, (ON_381, ZKALC)),
    published("RTX 3090 Ti", Test::Products(22), 68.0, (ON_377, ICICLE)),
    published("RTX 3090 Ti", Test::Products(24), 232.0, (ON_377, ICICLE)),
    published("RTX 4090", Test::Products(20), 24.7, (ON_381, ZKALC)),
    published("RTX 4090", Test::Products(21), 41.2, (ON_381, ZKALC)),
    published(
        "RTX 5000 Ada",
        Test::Products(24),
        109.0,
        ("Yrrid and Snarkify, BLS12-381, 12 multiples of each point beforehand", ZPRIZE_23),
    ),
    published("RTX 5000 Ada", Test::Products(24), 158.8, ("Trapdoor, BLS12-381", ZPRIZE_23)),
    published("RTX 5000 Ada", Test::Products(24), 148.7, ("Trapdoor, BLS12-377", ZPRIZE_23)),
    published(
        "RTX 5000 Ada",
        Test::Products(24),
        106.0,
        ("Yrrid and Snarkify, BLS12-377, 12 multiples of each point beforehand", ZPRIZE_23),
    ),
    published(
        "A40",
        Test::Products(26),
        562.0,
        ("Yrrid and Matter Labs combined, BLS12-377, 6 multiples of each point beforehand", ZPRIZE_22),
    ),
    published("A40", Test::Products(26), 637.0, ("Yrrid, BLS12-377", ZPRIZE_22)),
    published("A40", Test::Products(26), 625.0, ("Matter Labs, BLS12-377, 4 multiples of each point beforehand", ZPRIZE_22)),
    published("A40", Test::Products(26), 845.0, ("cuZK's authors, BLS12-377", ZPRIZE_22)),
    published("A40", Test::Products(26), 1412.0, ("sppark of 2022, BLS12-377: the prover's own library", ZPRIZE_22)),
];

const CUZK: &str = "cuzk's own documents";
const LOTUS: &str = "Lotus documentation, table of SupraSeal C2";
const WORKSTATION: &str = "RTX 5070 Ti, 96 cores, 512 GiB and more, PCIe 5.0 x16";
const ALONE: &str = "one call of SupraSeal C2, reading its parameters included";

/// Whole proofs of a 32 GiB sector.
pub const PROOFS: [PublishedProof; 8] = [
    PublishedProof { machine: WORKSTATION, seconds: 37.4, what: "cuzk, steady, two workers", source: CUZK },
    PublishedProof { machine: WORKSTATION, seconds: 32.1, what: "cuzk, one proof after another", source: CUZK },
    PublishedProof { machine: WORKSTATION, seconds: 68.4, what: "cuzk, memory for 5 partitions at once (170 GiB)", source: CUZK },
    PublishedProof {
        machine: WORKSTATION,
        seconds: 152.0,
        what: "cuzk, memory for 2 partitions at once (110 GiB)",
        source: CUZK,
    },
    PublishedProof { machine: "RTX 3090, host not told", seconds: 138.0, what: ALONE, source: LOTUS },
    PublishedProof { machine: "RTX 4090, host not told", seconds: 143.0, what: ALONE, source: LOTUS },
    PublishedProof { machine: "Quadro RTX 6000, host not told", seconds: 227.0, what: ALONE, source: LOTUS },
    PublishedProof { machine: "RTX A4000, host not told", seconds: 538.0, what: ALONE, source: LOTUS },
];

/// Figures beside the published ones of the same model and size.
pub(crate) fn beside(card: &str, measured: &[Measured]) -> Vec<Compared> {
    let Some(model) = model_of(card) else { return Vec::new() };
    let of = |it: &Measured| -> Vec<Compared> {
        let seconds = it.test.amount() / it.median;
        let same = FIGURES.iter().filter(|figure| figure.card == model.name && figure.test == it.test);
        same.map(|figure| Compared {
            title: it.title.clone(),
            seconds,
            published_s: figure.seconds,
            ratio: figure.seconds / seconds,
            by: figure.by,
            source: figure.source,
        })
        .collect()
    };
    measured.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_card_is_a_known_model_and_its_figure_is_below_what_it_can_do() {
        for figure in FIGURES {
            let model = model_of(figure.card).unwrap();
            assert_eq!(model.name, figure.card);
            let most = match figure.test {
                Test::Transform(log) => model.fr_peak(model.boost_ghz) / (0.5 * f64::from(log)),
                // With points worked out beforehand there are fewer windows: at least a dozen are left.
                _ => model.fp_peak(model.boost_ghz) / 120.0,
            };
            let share = figure.test.amount() / figure.seconds / most;
            assert!((0.05..1.0).contains(&share), "{figure:?}: {share}");
        }
    }
}
