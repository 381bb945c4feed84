//! Models of cards: what each can do at most, and what kernels of proving reach of it. Before a card is measured this is all
//! that is known of it.
//!
//! Processors, boost clocks and bandwidths are the vendor's figures; real clocks under load are lower. The share of the peak
//! that is reached follows from published runs on Ampere and Ada cards (60 to 75 % of the integer peak for large sums, 35 to 41 %
//! for transforms).

use serde::Serialize;

use crate::predict::CardFigures;

/// Products in the base field for each point of a large sum: 15 windows of a mixed addition of ten products.
pub(crate) const PRODUCTS_A_POINT: f64 = 150.0;
/// Products in the scalar field for each element and level of a transform: half a one, and a third more between passes.
pub(crate) const PRODUCTS_A_LEVEL: f64 = 0.65;
/// Integer multiply-adds that a processor of the card begins in a cycle: of 32 bits, and of 32 bits into 64.
pub(crate) const ADDS_A_CYCLE: (f64, f64) = (64.0, 32.0);
/// Products in the scalar field of a transform of 2^27, with those between its passes.
const PRODUCTS_A_TRANSFORM: f64 = 2.36e9;
/// Bytes moved in the card's memory by a transform of 2^27 in three passes.
const BYTES_A_TRANSFORM: f64 = 25.8e9;
/// Share of the integer peak that is reached: of large sums, of transforms.
const REACHED: (f64, f64) = (0.6, 0.4);
/// Clock cycles of a warp that a product takes to issue, of the base and of the scalar field: by the assembler's schedule of the
/// kernels, the same on every kind of card so far.
const CYCLES: (f64, f64) = (1160.0, 516.0);
/// Lanes of a multiprocessor.
const LANES: f64 = 128.0;

/// A model of card.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Model {
    /// Name, as drivers and vast.ai give it, without the vendor.
    pub name: &'static str,
    /// Compute capability, times ten.
    pub capability: u32,
    /// Multiprocessors.
    pub processors: u32,
    /// Boost clock, GHz.
    pub boost_ghz: f64,
    /// Memory bandwidth, GB/s.
    pub memory_gb_s: f64,
    /// Memory, GiB.
    pub memory_gib: u32,
}

const fn model(name: &'static str, capability: u32, of: (u32, f64, f64, u32)) -> Model {
    Model { name, capability, processors: of.0, boost_ghz: of.1, memory_gb_s: of.2, memory_gib: of.3 }
}

/// The models that are known.
pub const MODELS: [Model; 20] = [
    model("T4", 75, (40, 1.59, 320.0, 16)),
    model("RTX 2080 Ti", 75, (68, 1.545, 616.0, 11)),
    model("A100", 80, (108, 1.41, 2039.0, 80)),
    model("RTX 3090", 86, (82, 1.695, 936.0, 24)),
    model("RTX 3090 Ti", 86, (84, 1.86, 1008.0, 24)),
    model("RTX A5000", 86, (64, 1.695, 768.0, 24)),
    model("RTX A6000", 86, (84, 1.8, 768.0, 48)),
    model("A40", 86, (84, 1.74, 696.0, 48)),
    model("RTX 4090", 89, (128, 2.52, 1008.0, 24)),
    model("RTX 5000 Ada", 89, (100, 2.55, 576.0, 32)),
    model("RTX 6000 Ada", 89, (142, 2.505, 960.0, 48)),
    model("L40S", 89, (142, 2.52, 864.0, 48)),
    model("H100 SXM", 90, (132, 1.98, 3350.0, 80)),
    model("H100 PCIe", 90, (114, 1.755, 2000.0, 80)),
    model("H200", 90, (132, 1.98, 4800.0, 141)),
    model("B200", 100, (148, 1.965, 8000.0, 180)),
    model("RTX 5070 Ti", 120, (70, 2.45, 896.0, 16)),
    model("RTX 5080", 120, (84, 2.62, 960.0, 16)),
    model("RTX 5090", 120, (170, 2.41, 1792.0, 32)),
    model("RTX PRO 6000", 120, (188, 2.6, 1792.0, 96)),
];

/// Letters and digits alone, small: names are written in many ways.
fn folded(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

/// Whether two names are of one model of card, as people write it: `RTX 4090`, `rtx-4090`, `NVIDIA GeForce RTX 4090`.
pub fn is_same_name(one: &str, other: &str) -> bool {
    let plain = |name: &str| folded(name).replace("nvidia", "").replace("geforce", "");
    plain(one) == plain(other)
}

/// A card's name as vast.ai writes it, however it was typed: `rtx-4090` and `RTX_4090` are `RTX 4090`. A name that is not known
/// keeps its letters; an underscore there is a blank.
pub fn name_at_vast(typed: &str) -> String {
    match MODELS.iter().find(|model| is_same_name(model.name, typed)) {
        // vast.ai writes this family in one word.
        Some(model) => model.name.replace(" Ada", "Ada"),
        None => typed.trim().replace('_', " "),
    }
}

/// The model that a name is of: the longest that it holds.
pub fn model_of(name: &str) -> Option<&'static Model> {
    let name = folded(name);
    MODELS.iter().filter(|model| name.contains(&folded(model.name))).max_by_key(|model| model.name.len())
}

impl Model {
    /// Products per second in the base field at most, at this clock.
    pub fn fp_peak(&self, ghz: f64) -> f64 {
        f64::from(self.processors) * ghz * 1e9 * LANES / CYCLES.0
    }

    /// Products per second in the scalar field at most, at this clock.
    pub fn fr_peak(&self, ghz: f64) -> f64 {
        f64::from(self.processors) * ghz * 1e9 * LANES / CYCLES.1
    }

    /// What is expected of a card of this model behind a link of so many GB/s.
    pub fn expected(&self, pinned_gb_s: f64) -> CardFigures {
        let arithmetic = PRODUCTS_A_TRANSFORM / (self.fr_peak(self.boost_ghz) * REACHED.1);
        let memory = BYTES_A_TRANSFORM / (self.memory_gb_s * 1e9);
        CardFigures {
            pinned_gb_s,
            transform_s: arithmetic.max(memory),
            products_per_s: self.fp_peak(self.boost_ghz) * REACHED.0 / PRODUCTS_A_POINT,
            chosen_per_s: None,
            partition_s: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::{HostFigures, predict};

    #[test]
    fn a_name_is_put_as_vast_puts_it() {
        for (typed, name) in [
            ("rtx-4090", "RTX 4090"),
            ("RTX_4090", "RTX 4090"),
            (" rtx 4090 ", "RTX 4090"),
            ("NVIDIA GeForce RTX 4090", "RTX 4090"),
            ("rtx-5000-ada", "RTX 5000Ada"),
            ("RTX 5000Ada", "RTX 5000Ada"),
            ("RTX_4070S_Ti", "RTX 4070S Ti"),
        ] {
            assert_eq!(name_at_vast(typed), name, "{typed}");
        }
    }

    #[test]
    fn names_are_found_however_they_are_written() {
        for (name, model) in [
            ("NVIDIA GeForce RTX 3090", "RTX 3090"),
            ("RTX 3090 Ti", "RTX 3090 Ti"),
            ("RTX_5090", "RTX 5090"),
            ("RTX 5000Ada", "RTX 5000 Ada"),
            ("NVIDIA A100-SXM4-80GB", "A100"),
            ("H100 SXM", "H100 SXM"),
        ] {
            assert_eq!(model_of(name).map(|it| it.name), Some(model), "{name}");
        }
        assert_eq!(model_of("GTX 1080"), None);
    }

    #[test]
    fn peaks_and_published_runs_fit_together() {
        let of = |name| model_of(name).unwrap();
        let near = |value: f64, wanted: f64, share: f64| assert!((value / wanted - 1.0).abs() < share, "{value} {wanted}");
        near(of("RTX 3090").fp_peak(1.695), 15.3e9, 0.01);
        near(of("RTX 4090").fr_peak(2.52), 80.0e9, 0.01);
        // Published transforms of 2^21, taken to 2^27: 127 ms on a 3090, 63 to 80 ms on a 4090.
        near(of("RTX 3090").expected(12.0).transform_s, 0.127, 0.4);
        near(of("RTX 4090").expected(12.0).transform_s, 0.072, 0.2);
        // A sum of 2^26 in 0.55 to 0.85 s on an A40.
        near(67.1e6 / of("A40").expected(12.0).products_per_s, 0.8, 0.4);
    }

    #[test]
    fn cards_differ_where_the_link_is_wide_and_hardly_where_it_is_narrow() {
        let rate =
            |name, link| predict(&model_of(name).unwrap().expected(link), 1, &HostFigures::default()).unwrap().proofs_per_h;
        assert!(rate("RTX 5090", 25.0) > 1.2 * rate("RTX 3090", 25.0));
        assert!(rate("RTX 5090", 6.0) < 1.1 * rate("RTX 3090", 6.0));
    }
}
