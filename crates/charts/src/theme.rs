//! Colours, as the window has them.

use plotters::style::RGBColor;

/// Light or dark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

/// Colours by what they are for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Colours {
    pub(crate) ground: RGBColor,
    pub(crate) line: RGBColor,
    pub(crate) text: RGBColor,
    pub(crate) soft: RGBColor,
    pub(crate) accent: RGBColor,
    pub(crate) alarm: RGBColor,
    pub(crate) warn: RGBColor,
    pub(crate) good: RGBColor,
    pub(crate) bar: RGBColor,
    pub(crate) bar_ground: RGBColor,
    pub(crate) simulated: RGBColor,
}

const fn rgb(hex: u32) -> RGBColor {
    RGBColor((hex >> 16) as u8, (hex >> 8) as u8, hex as u8)
}

impl Theme {
    pub(crate) fn colours(self) -> Colours {
        match self {
            Self::Light => Colours {
                ground: rgb(0xff_ffff),
                line: rgb(0xdd_e0e6),
                text: rgb(0x1b_1f27),
                soft: rgb(0x56_5b65),
                accent: rgb(0x2b_5bb8),
                alarm: rgb(0xb3_261e),
                warn: rgb(0x8a_5a00),
                good: rgb(0x2a_7a4b),
                bar: rgb(0x8a_a6dc),
                bar_ground: rgb(0xe8_eaee),
                simulated: rgb(0x7c_3fb0),
            },
            Self::Dark => Colours {
                ground: rgb(0x14_1922),
                line: rgb(0x2d_333e),
                text: rgb(0xe6_e8ec),
                soft: rgb(0xa4_a9b3),
                accent: rgb(0x7f_b0f5),
                alarm: rgb(0xf4_877c),
                warn: rgb(0xe0_b35c),
                good: rgb(0x6c_c394),
                bar: rgb(0x4f_78c4),
                bar_ground: rgb(0x2a_2f38),
                simulated: rgb(0xc5_a0f0),
            },
        }
    }
}
