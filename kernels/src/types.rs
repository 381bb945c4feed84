//! Numbers and points as the kernels lay them out.

use bytemuck::{Pod, Zeroable};

/// An element of the scalar field, 255 bits, least limb first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Fr(pub [u32; 8]);

/// An element of the base field, 381 bits, least limb first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Fp(pub [u32; 12]);

/// A point of G1, its coordinates in Montgomery form. (0, 0) is the point at infinity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Affine {
    /// x.
    pub x: Fp,
    /// y.
    pub y: Fp,
}

/// A point as a running sum: x = X/ZZ, y = Y/ZZZ. ZZ = 0 is the point at infinity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Sum {
    /// X.
    pub x: Fp,
    /// Y.
    pub y: Fp,
    /// ZZ.
    pub zz: Fp,
    /// ZZZ.
    pub zzz: Fp,
}

impl Affine {
    /// The generator of G1. Source: draft-irtf-cfrg-pairing-friendly-curves, in Montgomery form.
    pub const GENERATOR: Self = Self {
        x: Fp([
            0xfd53_0c16,
            0x5cb3_8790,
            0x9976_fff5,
            0x7817_fc67,
            0x143b_a1c1,
            0x154f_95c7,
            0xf3d0_e747,
            0xf0ae_6acd,
            0x21db_f440,
            0xedce_6ecc,
            0x9e0b_fb75,
            0x1201_7741,
        ]),
        y: Fp([
            0x0ce7_2271,
            0xbaac_93d5,
            0x7918_fd8e,
            0x8c22_631a,
            0x5707_25ce,
            0xdd59_5f13,
            0x5040_5194,
            0x51ac_5829,
            0xad00_59c0,
            0x0e1c_8c3f,
            0x5008_a26a,
            0x0bbc_3efc,
        ]),
    };
}
