//! What is drawn on: a text for SVG, pixels for PNG. Text has the same font in both.

use std::sync::OnceLock;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};

/// Why a chart was not drawn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DrawError {
    /// What draws failed.
    #[error("the chart could not be drawn: {0}")]
    Draw(String),
    /// It is too large, or has no size.
    #[error("a chart of {width} by {height} pixels cannot be drawn")]
    Size {
        /// Width.
        width: u32,
        /// Height.
        height: u32,
    },
}

/// Longest side, pixels.
const SIDE_MOST: u32 = 8_192;
/// The one font. DejaVu Sans, from fonts-dejavu; its licence is beside it.
const FONT: &[u8] = include_bytes!("../fonts/DejaVuSans.ttf");

pub(crate) fn failed(error: impl std::fmt::Display) -> DrawError {
    DrawError::Draw(error.to_string())
}

fn ready(size: (u32, u32)) -> Result<(), DrawError> {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    let (width, height) = size;
    if width == 0 || height == 0 || width > SIDE_MOST || height > SIDE_MOST {
        return Err(DrawError::Size { width, height });
    }
    if *REGISTERED.get_or_init(|| register_font("sans-serif", FontStyle::Normal, FONT).is_ok()) {
        Ok(())
    } else {
        Err(DrawError::Draw("its font cannot be read".to_owned()))
    }
}

/// Something that can be drawn on either.
pub(crate) trait Drawn {
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), DrawError>;
}

pub(crate) fn svg(drawn: &impl Drawn, size: (u32, u32)) -> Result<String, DrawError> {
    svg_of(drawn, size, 1)
}

/// An SVG that is drawn `finer` times as fine as its size: plotters places everything on whole units.
pub(crate) fn svg_of(drawn: &impl Drawn, size: (u32, u32), finer: u32) -> Result<String, DrawError> {
    ready(size)?;
    let (width, height) = size;
    let fine = (width * finer, height * finer);
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, fine).into_drawing_area();
        drawn.draw(&area)?;
        area.present().map_err(failed)?;
    }
    let of = |(width, height): (u32, u32)| format!("width=\"{width}\" height=\"{height}\"");
    Ok(if finer == 1 { text } else { text.replacen(&of(fine), &of(size), 1) })
}

pub(crate) fn png(drawn: &impl Drawn, size: (u32, u32)) -> Result<Vec<u8>, DrawError> {
    ready(size)?;
    let mut pixels = vec![0; size.0 as usize * size.1 as usize * 3];
    {
        let area = BitMapBackend::with_buffer(&mut pixels, size).into_drawing_area();
        drawn.draw(&area)?;
        area.present().map_err(failed)?;
    }
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, size.0, size.1);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(&pixels).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(bytes)
}
