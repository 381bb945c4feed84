//! Seeded randomness. Every instance throws its own dice, so adding one changes no other.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A stream of random values.
#[derive(Debug, Clone)]
pub(crate) struct Dice(ChaCha8Rng);

impl Dice {
    /// The stream `stream` of a seed.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream);
        Self(rng)
    }

    /// Uniform in `[low, high)`.
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        let unit = (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        low + (high - low) * unit
    }

    /// A number below `end` (which is above 0).
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.0.next_u64() % end as u64) as usize
    }

    /// A random version-4 UUID.
    pub(crate) fn uuid(&mut self) -> String {
        let (high, low) = (self.0.next_u64(), self.0.next_u64());
        let high = (high & 0xffff_ffff_ffff_0fff) | 0x4000;
        let low = (low & 0x3fff_ffff_ffff_ffff) | 0x8000_0000_0000_0000;
        format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            high >> 32,
            high >> 16 & 0xffff,
            high & 0xffff,
            low >> 48,
            low & 0xffff_ffff_ffff
        )
    }
}

/// A steady pseudo-random value in `[0, 1)` for a place and a moment: the wobble of a gauge, the same however often it is read.
pub(crate) fn wobble(place: u64, moment: u64) -> f64 {
    // SplitMix64's output function (Steele, Lea & Flood, OOPSLA 2014).
    let mut bits = place.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(moment.wrapping_mul(0xbf58_476d_1ce4_e5b9));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    (bits >> 11) as f64 / (1u64 << 53) as f64
}
