//! Every kernel, as it runs on the processor, against another library (arkworks) on random and on edge inputs.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod fields;
mod memory;
mod sums;
mod transforms;

use ark_bls12_381::{Fq, Fr as ArkFr, G1Affine, G1Projective};
use ark_ec::{AffineRepr, CurveGroup};
use ark_ff::{BigInt, PrimeField};
use dwell_kernels::{Affine, Fp, Fr};

/// Numbers that repeat from run to run: splitmix64.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn fr(&mut self) -> ArkFr {
        ArkFr::from_le_bytes_mod_order(&self.bytes::<64>())
    }

    fn fq(&mut self) -> Fq {
        Fq::from_le_bytes_mod_order(&self.bytes::<64>())
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.next() as u8)
    }
}

fn halves<const N: usize, const M: usize>(limbs: [u64; N]) -> [u32; M] {
    std::array::from_fn(|i| (limbs[i / 2] >> (32 * (i % 2))) as u32)
}

fn whole<const N: usize, const M: usize>(limbs: [u32; M]) -> [u64; N] {
    std::array::from_fn(|i| u64::from(limbs[2 * i]) | u64::from(limbs[2 * i + 1]) << 32)
}

/// As the kernels have it: both libraries use the same Montgomery form.
fn fr(x: ArkFr) -> Fr {
    Fr(halves(x.0.0))
}

fn ark_fr(x: Fr) -> ArkFr {
    ArkFr::new_unchecked(BigInt(whole(x.0)))
}

/// The number itself, not in Montgomery form.
fn plain(x: ArkFr) -> Fr {
    Fr(halves(x.into_bigint().0))
}

fn fp(x: Fq) -> Fp {
    Fp(halves(x.0.0))
}

fn point(p: impl Into<G1Projective>) -> Affine {
    let p: G1Affine = p.into().into_affine();
    match p.xy() {
        Some((x, y)) => Affine { x: fp(x), y: fp(y) },
        None => Affine::default(),
    }
}
