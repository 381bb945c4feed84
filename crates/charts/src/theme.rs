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
    /// Groups, the largest first; the last one is what stands together.
    pub(crate) groups: [RGBColor; 8],
    /// States in life order, `killed` last.
    pub(crate) states: [RGBColor; 6],
}

/// What a colour is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tint {
    /// One of several groups, the largest first.
    Group(usize),
    /// A state by its place: loading, registered, params_done, bench_done, running, killed.
    State(usize),
    /// What a chart is about.
    Accent,
    /// Well.
    Good,
    /// It costs.
    Warn,
    /// It is wrong.
    Alarm,
    /// Less than the rest.
    Soft,
}

impl Colours {
    pub(crate) fn of(&self, tint: Tint) -> RGBColor {
        match tint {
            Tint::Group(place) => self.groups[place.min(self.groups.len() - 1)],
            Tint::State(place) => self.states[place.min(self.states.len() - 1)],
            Tint::Accent => self.accent,
            Tint::Good => self.good,
            Tint::Warn => self.warn,
            Tint::Alarm => self.alarm,
            Tint::Soft => self.soft,
        }
    }
}

const fn rgb(hex: u32) -> RGBColor {
    RGBColor((hex >> 16) as u8, (hex >> 8) as u8, hex as u8)
}

impl Theme {
    /// A tint's colour as `#rrggbb`, for what stands beside a chart.
    pub fn hex(self, tint: Tint) -> String {
        let RGBColor(red, green, blue) = self.colours().of(tint);
        format!("#{red:02x}{green:02x}{blue:02x}")
    }

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
                groups: [0x2b_5bb8, 0xc2_571a, 0x1f_7a5c, 0x8a_3ea8, 0xa0_7800, 0x0f_7f9c, 0xb3_304f, 0x7b_8290].map(rgb),
                states: [0xb3_bac6, 0x7d_b3d6, 0xa3_9be0, 0x74_c3c3, 0x5f_b083, 0x96_9aa0].map(rgb),
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
                groups: [0x7f_b0f5, 0xf2_a065, 0x6c_c394, 0xc9_9af0, 0xe0_c25c, 0x6f_cbe0, 0xf0_8aa0, 0x9a_a2af].map(rgb),
                states: [0x5a_6270, 0x3f_7fa8, 0x71_67b8, 0x3f_9494, 0x4a_9c6c, 0x4b_4f55].map(rgb),
            },
        }
    }
}
