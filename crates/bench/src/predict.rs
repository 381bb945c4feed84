//! Proofs per hour from a card's figures and its host's: by a model of what one proof moves and computes, with the part that
//! limits it named. Source of the model and its figures: readings of the prover's code and documents, in the project's notes on
//! the benchmark; one proof is 10 partitions of a domain of 2^27.

use serde::Serialize;

/// Partitions of a proof of a 32 GiB sector.
pub(crate) const PARTITIONS: f64 = 10.0;
/// Domain of a partition, as a logarithm.
pub(crate) const PARTITION_LOG: i32 = 27;
/// Moved to the card for each partition, GB: three vectors of the circuit, points for the first sum, points for the others.
const VECTORS_GB: f64 = 12.5;
const FIRST_POINTS_GB: f64 = 12.9;
const OTHER_POINTS_GB: f64 = 34.5;
/// Points of the large sum, and of those that are chosen by a bit.
const PRODUCTS: f64 = 134_217_728.0;
const CHOSEN: f64 = 1.0e8;
/// Transforms of a partition, with what stands between them.
const TRANSFORMS: f64 = 7.3;
/// What is left of a partition on the card, and the pause before the next, seconds.
const REST_S: f64 = 0.1;
const PAUSE_S: f64 = 0.02;
/// Synthesis of one partition alone, seconds, and how much each further one at the same time slows it: on 96 cores with eight
/// channels of DDR5.
const SYNTHESIS_S: f64 = 29.0;
const CONTENTION: f64 = 0.045;
/// Partitions that are synthesised at once, at most.
const AT_ONCE_MOST: f64 = 18.0;
/// Host memory that is taken before the first partition, and by each, GiB.
const FIXED_GIB: f64 = 75.0;
const EACH_GIB: f64 = 20.0;
/// Cores that a partition under synthesis keeps busy.
const CORES_EACH: f64 = 4.0;
/// Single-threaded preparation of a partition on the host, seconds, and workers that share it.
const PREPARATION_S: f64 = 1.9;
const WORKERS: f64 = 2.0;
/// Host memory traffic of a partition, GB.
const HOST_TRAFFIC_GB: f64 = 150.0;
/// What steady work takes beyond the slowest part alone: 32.1 s became 36.7 to 38 s where both were measured.
const STEADY: f64 = 1.15;
/// Relative uncertainty before anything is calibrated: of the card's part, of the host's part.
const CARD_UNCERTAIN: f64 = 0.25;
const HOST_UNCERTAIN: f64 = 0.35;

/// What is known of a card. Measured, or by its model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CardFigures {
    /// Pinned copies to the card, GB/s, sustained.
    pub pinned_gb_s: f64,
    /// A transform of 2^27 elements, seconds.
    pub transform_s: f64,
    /// Products of a large sum, points per second.
    pub products_per_s: f64,
    /// Chosen points, per second, where they are in the card's memory; `None` where not known: then the copy limits.
    pub chosen_per_s: Option<f64>,
    /// A whole partition, seconds, where it was measured: then it counts, and not the sum of its parts.
    pub partition_s: Option<f64>,
}

/// What is known of a host. `None`: not told; then it is left out, and said to be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct HostFigures {
    /// Memory, GiB.
    pub memory_gib: Option<f64>,
    /// Physical cores.
    pub cores: Option<f64>,
    /// Memory bandwidth, GB/s.
    pub memory_gb_s: Option<f64>,
    /// Speed of one core against the reference's; 1 where it is the same.
    pub core_speed: Option<f64>,
}

/// What limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Copies to the card.
    Copies,
    /// The card's arithmetic.
    Card,
    /// Host memory: too few partitions at once.
    HostMemory,
    /// Host cores.
    HostCores,
    /// Preparation on one core of the host.
    Preparation,
    /// Bandwidth of host memory.
    HostBandwidth,
}

impl Limit {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Copies => "copies to the card (PCIe)",
            Self::Card => "the card's arithmetic",
            Self::HostMemory => "the host's memory",
            Self::HostCores => "the host's cores",
            Self::Preparation => "preparation on one core of the host",
            Self::HostBandwidth => "the host's memory bandwidth",
        }
    }
}

/// A prediction, with its basis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prediction {
    /// Best estimate, proofs per hour.
    pub proofs_per_h: f64,
    /// From.
    pub least: f64,
    /// To.
    pub most: f64,
    /// What limits it.
    pub limit: Limit,
    /// Seconds a proof for each part that was worked out, slowest first.
    pub parts: Vec<(Limit, f64)>,
    /// What was not told, and is not in it.
    pub left_out: Vec<&'static str>,
}

/// Seconds that a card takes for a proof, and whether its copies take the most of it.
pub(crate) fn card_s(card: &CardFigures) -> (f64, Limit) {
    let copy = |gigabytes: f64| gigabytes / card.pinned_gb_s;
    let transforms = TRANSFORMS * card.transform_s;
    let vectors = copy(VECTORS_GB);
    // The first third of the copy overlaps nothing.
    let first = vectors.max(transforms) + vectors.min(transforms) / 3.0;
    let products = (PRODUCTS / card.products_per_s).max(copy(FIRST_POINTS_GB));
    let chosen = card.chosen_per_s.map_or(0.0, |rate| CHOSEN / rate).max(copy(OTHER_POINTS_GB));
    let partition = card.partition_s.unwrap_or(first + products + chosen);
    let whole = PARTITIONS * (partition + REST_S + PAUSE_S);
    let copies = PARTITIONS * copy(VECTORS_GB + FIRST_POINTS_GB + OTHER_POINTS_GB);
    (whole, if copies * 2.0 > whole { Limit::Copies } else { Limit::Card })
}

/// Partitions that a host synthesises at once, and what keeps it from more.
fn at_once(host: &HostFigures) -> Option<(f64, Limit)> {
    let by_memory = host.memory_gib.map(|gib| ((gib - FIXED_GIB) / EACH_GIB).floor());
    let by_cores = host.cores.map(|cores| (cores / CORES_EACH).floor());
    let (most, limit) = match (by_memory, by_cores) {
        (None, None) => return None,
        (Some(memory), Some(cores)) if cores < memory => (cores, Limit::HostCores),
        (Some(memory), _) => (memory, Limit::HostMemory),
        (None, Some(cores)) => (cores, Limit::HostCores),
    };
    Some((most.clamp(1.0, AT_ONCE_MOST), limit))
}

/// Predicts what so many equal cards in one host prove together: they share its memory and cores. `None` where a figure makes no
/// sense.
pub fn predict(card: &CardFigures, cards: u32, host: &HostFigures) -> Option<Prediction> {
    predict_all(&vec![*card; cards as usize], host)
}

fn sane(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

/// Predicts what cards in one host prove together.
pub fn predict_all(cards: &[CardFigures], host: &HostFigures) -> Option<Prediction> {
    let figures = |card: &CardFigures| {
        [card.pinned_gb_s, card.transform_s, card.products_per_s].into_iter().chain(card.partition_s).all(sane)
    };
    if !cards.iter().all(figures) {
        return None;
    }
    let each: Vec<(f64, Limit)> = cards.iter().map(card_s).collect();
    // Each takes the next proof as soon as it has done one.
    let all_s = 1.0 / each.iter().map(|(seconds, _)| 1.0 / seconds).sum::<f64>();
    let (_, card_limit) = *each.iter().max_by(|one, other| one.0.total_cmp(&other.0))?;
    let preparation_s = PARTITIONS * PREPARATION_S / WORKERS / cards.len() as f64;
    let mut parts = vec![(card_limit, all_s), (Limit::Preparation, preparation_s)];
    let mut left_out = Vec::new();
    match at_once(host) {
        Some((at_once, limit)) => {
            let each = SYNTHESIS_S / host.core_speed.filter(|speed| sane(*speed)).unwrap_or(1.0);
            parts.push((limit, PARTITIONS * each * (1.0 + CONTENTION * (at_once - 1.0)) / at_once));
        }
        None => left_out.push("the host's memory and cores"),
    }
    match host.memory_gb_s.filter(|rate| sane(*rate)) {
        Some(rate) => parts.push((Limit::HostBandwidth, PARTITIONS * HOST_TRAFFIC_GB / rate)),
        None => left_out.push("the host's memory bandwidth"),
    }
    if host.core_speed.is_none() {
        left_out.push("the speed of a core");
    }
    parts.sort_by(|one, other| other.1.total_cmp(&one.1));
    let (limit, slowest_s) = *parts.first()?;
    let proofs_per_h = 3600.0 / (slowest_s * STEADY);
    let uncertain = if matches!(limit, Limit::Copies | Limit::Card) { CARD_UNCERTAIN } else { HOST_UNCERTAIN };
    Some(Prediction {
        proofs_per_h,
        least: proofs_per_h * (1.0 - uncertain),
        most: proofs_per_h * (1.0 + uncertain),
        limit,
        parts,
        left_out,
    })
}

/// A transform of 2^27 elements from one of 2^log that was measured: by n log n. Not from one that fits a card's cache.
pub fn transform_at_prover_size(log: u32, seconds: f64) -> f64 {
    seconds * 2_f64.powi(27 - log as i32) * 27.0 / f64::from(log)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The one workstation of which public figures exist: an RTX 5070 Ti behind PCIe 5.0 x16, 96 cores, 512 GiB and more.
    const WORKSTATION: CardFigures = CardFigures {
        pinned_gb_s: 53.0,
        transform_s: 0.085,
        products_per_s: 1.34e8 / 1.15,
        chosen_per_s: None,
        partition_s: None,
    };

    fn host(memory_gib: f64) -> HostFigures {
        HostFigures { memory_gib: Some(memory_gib), cores: Some(96.0), memory_gb_s: Some(300.0), core_speed: Some(1.0) }
    }

    fn seconds(prediction: &Prediction, wanted: &[Limit]) -> f64 {
        prediction.parts.iter().filter(|(limit, _)| wanted.contains(limit)).map(|(_, s)| *s).fold(0.0, f64::max)
    }

    #[test]
    fn the_sweep_of_host_memory_is_met() {
        // Seconds a proof that were measured with so many partitions at once; memory that gives as many.
        for (at_once, measured_s) in [(1.0, 290.0), (2.0, 152.0), (5.0, 68.4), (7.0, 53.3), (10.0, 43.5), (12.0, 40.0)] {
            let prediction = predict(&WORKSTATION, 1, &host(75.0 + 20.0 * at_once + 1.0)).unwrap();
            let told = seconds(&prediction, &[Limit::HostMemory]);
            assert!((told / measured_s - 1.0).abs() < 0.12, "{at_once}: {told} s, measured {measured_s} s");
            assert_eq!(prediction.limit, Limit::HostMemory);
        }
    }

    #[test]
    fn the_cards_part_is_within_its_uncertainty_where_it_was_measured() {
        // 32.1 s a proof where one worker had the card to itself.
        let prediction = predict(&WORKSTATION, 1, &host(512.0)).unwrap();
        let told = seconds(&prediction, &[Limit::Card, Limit::Copies]) * STEADY;
        assert!((told / 32.1 - 1.0).abs() < CARD_UNCERTAIN, "{told} s");
        assert!(prediction.least < 95.0 && prediction.most > 85.0, "steady work was 95 to 98 proofs an hour: {prediction:?}");
    }

    #[test]
    fn behind_a_slow_link_every_card_is_the_same() {
        let slow = |transform_s, products_per_s| {
            let card = CardFigures { pinned_gb_s: 6.0, transform_s, products_per_s, chosen_per_s: None, partition_s: None };
            predict(&card, 1, &HostFigures::default()).unwrap()
        };
        let (fast, modest) = (slow(0.03, 4e8), slow(0.13, 1e8));
        assert!(fast.limit == Limit::Copies && modest.limit == Limit::Copies);
        assert!((fast.proofs_per_h / modest.proofs_per_h - 1.0).abs() < 0.1, "{fast:?} {modest:?}");
        assert!((28.0..36.0).contains(&fast.proofs_per_h), "about six for each GB/s, less what steady work costs: {fast:?}");
        assert_eq!(fast.left_out.len(), 3, "{:?}", fast.left_out);
    }

    #[test]
    fn a_small_host_limits_any_card() {
        let card =
            CardFigures { pinned_gb_s: 50.0, transform_s: 0.02, products_per_s: 5e8, chosen_per_s: Some(1e9), partition_s: None };
        let prediction = predict(&card, 1, &HostFigures { memory_gib: Some(128.0), cores: Some(32.0), ..HostFigures::default() });
        let prediction = prediction.unwrap();
        assert_eq!(prediction.limit, Limit::HostMemory);
        assert!((19.0..25.0).contains(&prediction.proofs_per_h), "{prediction:?}");
    }

    #[test]
    fn what_makes_no_sense_predicts_nothing() {
        let card = CardFigures { pinned_gb_s: 0.0, ..WORKSTATION };
        assert_eq!(predict(&card, 1, &host(512.0)), None);
        assert_eq!(predict(&CardFigures { transform_s: f64::NAN, ..WORKSTATION }, 1, &host(512.0)), None);
        assert!((transform_at_prover_size(21, 0.001_549) - 0.127).abs() < 0.002);
    }
}
