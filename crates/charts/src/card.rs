//! A benchmark on one picture: what a card would prove, what is thought of it, and how fast each part is.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::canvas::{self, DrawError, Drawn, failed};
use crate::theme::{Colours, Theme};

/// How a line is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Well.
    Good,
    /// To know.
    Note,
    /// It costs.
    Warning,
    /// It is wrong.
    Bad,
}

/// A marked line of text.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Its mark.
    pub mark: Mark,
    /// Its words; broken where they do not fit.
    pub text: String,
}

/// A named figure with a bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// Name.
    pub label: String,
    /// The figure with its unit.
    pub value: String,
    /// Length of the bar, 0 to 1; `None`: no bar.
    pub share: Option<f64>,
}

/// A quantity over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// Name.
    pub title: String,
    /// Unit.
    pub unit: String,
    /// Seconds and value; `None`: not told, a gap.
    pub points: Vec<(f64, Option<f64>)>,
}

/// The picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Card {
    /// Who, in small letters.
    pub title: String,
    /// It is simulated, and says so.
    pub simulated: bool,
    /// The figure.
    pub figure: String,
    /// What is said of the figure.
    pub under: String,
    /// What is thought of it.
    pub lines: Vec<Line>,
    /// Figures.
    pub bars: Vec<Bar>,
    /// Over time.
    pub traces: Vec<Trace>,
    /// Where it is from.
    pub foot: String,
    /// Colours.
    pub theme: Theme,
    /// Pixels for one unit of its own measures: 2 for sharp screens.
    pub scale: u32,
}

const WIDTH: i32 = 960;
const MARGIN: i32 = 28;
const ROW: i32 = 24;
const TRACE: i32 = 96;
/// Points of a line.
const POINTS: usize = 220;
/// Letters of a line of text, at most.
const LETTERS: usize = 118;

/// Breaks a text between words.
fn broken(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < LETTERS => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.chars().take(LETTERS).collect()),
        }
    }
    lines
}

impl Card {
    /// As SVG.
    pub fn svg(&self) -> Result<String, DrawError> {
        canvas::svg(self, self.size())
    }

    /// As PNG.
    pub fn png(&self) -> Result<Vec<u8>, DrawError> {
        canvas::png(self, self.size())
    }

    fn told(&self) -> Vec<&Trace> {
        let is_told = |trace: &&Trace| trace.points.iter().filter(|(_, value)| value.is_some()).count() > 1;
        self.traces.iter().filter(is_told).collect()
    }

    fn size(&self) -> (u32, u32) {
        let lines: usize = self.lines.iter().map(|line| broken(&line.text).len()).sum();
        let height = MARGIN * 2
            + 92
            + lines as i32 * 20
            + 16
            + self.bars.len() as i32 * ROW
            + (self.told().len() as i32 + 1) / 2 * (TRACE + 14)
            + 34;
        (WIDTH as u32 * self.scale, height as u32 * self.scale)
    }

    fn colour(&self, mark: Mark) -> RGBColor {
        let colours = self.theme.colours();
        match mark {
            Mark::Good => colours.good,
            Mark::Note => colours.soft,
            Mark::Warning => colours.warn,
            Mark::Bad => colours.alarm,
        }
    }
}

/// Draws in the picture's own measures.
struct Pen<'a, B: DrawingBackend> {
    area: &'a DrawingArea<B, Shift>,
    scale: i32,
}

impl<B: DrawingBackend> Pen<'_, B> {
    fn text(&self, text: &str, at: (i32, i32), (size, colour): (i32, RGBColor), to: HPos) -> Result<(), DrawError> {
        let style = ("sans-serif", f64::from(size * self.scale)).into_font().color(&colour).pos(Pos::new(to, VPos::Top));
        self.area.draw(&Text::new(text.to_owned(), self.at(at), style)).map_err(failed)
    }

    fn at(&self, (x, y): (i32, i32)) -> (i32, i32) {
        (x * self.scale, y * self.scale)
    }

    fn block(&self, from: (i32, i32), to: (i32, i32), colour: RGBColor) -> Result<(), DrawError> {
        self.area.draw(&Rectangle::new([self.at(from), self.at(to)], colour.filled())).map_err(failed)
    }

    fn trace(&self, trace: &Trace, (x, y, width): (i32, i32, i32), colours: &Colours) -> Result<(), DrawError> {
        let told: Vec<f64> = trace.points.iter().filter_map(|(_, value)| *value).collect();
        let (least, most) = told.iter().fold((f64::MAX, f64::MIN), |(least, most), value| (least.min(*value), most.max(*value)));
        let range = format!("{}   {least:.0} to {most:.0} {}", trace.title, trace.unit);
        self.text(&range, (x, y), (12, colours.soft), HPos::Left)?;
        let (top, height) = (y + 18, TRACE - 24);
        self.block((x, top), (x + width, top + height), colours.bar_ground)?;
        let begin = trace.points.first().map_or(0.0, |(at, _)| *at);
        let span = (trace.points.last().map_or(1.0, |(at, _)| *at) - begin).max(1e-9);
        let rise = |value: f64| if most > least { (value - least) / (most - least) } else { 0.5 };
        // No more points than a line can show.
        let step = trace.points.len().div_ceil(POINTS).max(1);
        let points: Vec<(f64, Option<f64>)> = trace.points.iter().step_by(step).copied().collect();
        // A gap where nothing was told.
        for part in points.split(|(_, value)| value.is_none()) {
            let place = |(at, value): &(f64, Option<f64>)| {
                let across = (at - begin) / span * f64::from(width);
                let up = f64::from(height - 8) * (1.0 - rise(value.unwrap_or(least)));
                let scale = f64::from(self.scale);
                ((f64::from(x) * scale + across * scale) as i32, (f64::from(top + 4) * scale + up * scale) as i32)
            };
            let style = colours.accent.stroke_width(self.scale as u32);
            self.area.draw(&PathElement::new(part.iter().map(place).collect::<Vec<_>>(), style)).map_err(failed)?;
        }
        Ok(())
    }
}

impl Drawn for Card {
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), DrawError> {
        let colours = self.theme.colours();
        area.fill(&colours.ground).map_err(failed)?;
        let pen = Pen { area, scale: i32::try_from(self.scale).unwrap_or(1) };
        let right = WIDTH - MARGIN;
        let mut y = MARGIN;
        pen.text(&self.title, (MARGIN, y), (14, colours.soft), HPos::Left)?;
        if self.simulated {
            pen.text("SIMULATED", (right, y), (13, colours.simulated), HPos::Right)?;
        }
        y += 22;
        pen.text(&self.figure, (MARGIN, y), (34, colours.text), HPos::Left)?;
        y += 44;
        pen.text(&self.under, (MARGIN, y), (14, colours.soft), HPos::Left)?;
        y += 26;
        for line in &self.lines {
            let colour = self.colour(line.mark);
            for (place, part) in broken(&line.text).into_iter().enumerate() {
                if place == 0 {
                    pen.block((MARGIN, y), (MARGIN + 8, y + 8), colour)?;
                }
                pen.text(&part, (MARGIN + 18, y), (13, colour), HPos::Left)?;
                y += 20;
            }
        }
        y += 16;
        for bar in &self.bars {
            pen.text(&bar.label, (MARGIN, y), (13, colours.text), HPos::Left)?;
            pen.text(&bar.value, (MARGIN + 430, y), (13, colours.text), HPos::Right)?;
            if let Some(share) = bar.share {
                let (from, to) = (MARGIN + 450, right - 60);
                pen.block((from, y), (to, y + 9), colours.bar_ground)?;
                let length = (f64::from(to - from) * share.clamp(0.0, 1.0)) as i32;
                pen.block((from, y), (from + length, y + 9), colours.bar)?;
                pen.text(&format!("{:.0} %", share * 100.0), (right, y), (13, colours.soft), HPos::Right)?;
            }
            y += ROW;
        }
        let width = (WIDTH - 2 * MARGIN - 20) / 2;
        let told = self.told();
        for (place, trace) in told.iter().enumerate() {
            let column = place as i32 % 2;
            pen.trace(trace, (MARGIN + column * (width + 20), y + 8, width), &colours)?;
            if column == 1 || place + 1 == told.len() {
                y += TRACE + 14;
            }
        }
        y += 14;
        pen.block((MARGIN, y), (right, y + 1), colours.line)?;
        pen.text(&self.foot, (MARGIN, y + 8), (11, colours.soft), HPos::Left)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]
mod tests {
    use super::*;

    fn card(theme: Theme) -> Card {
        Card {
            title: "RTX 4090".to_owned(),
            simulated: true,
            figure: "104 proofs/h".to_owned(),
            under: "from 78 to 130".to_owned(),
            lines: vec![Line { mark: Mark::Bad, text: "<script>alert(1)</script> & so on ".repeat(12) }],
            bars: vec![Bar { label: "Copy".to_owned(), value: "25 GB/s".to_owned(), share: Some(2.5) }],
            traces: vec![
                Trace {
                    title: "Clock".to_owned(),
                    unit: "MHz".to_owned(),
                    points: vec![(0.0, Some(1.0)), (1.0, None), (2.0, Some(2.0))],
                },
                Trace { title: "Fan".to_owned(), unit: "%".to_owned(), points: vec![(0.0, None)] },
            ],
            foot: "Dwell".to_owned(),
            theme,
            scale: 1,
        }
    }

    #[test]
    fn hostile_words_stay_words_and_what_was_not_told_is_not_drawn() {
        let svg = card(Theme::Light).svg().unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("SIMULATED") && svg.contains("104 proofs/h"));
        assert!(!svg.contains("<script") && svg.contains("&lt;script"), "{svg}");
        assert!(svg.contains("Clock") && !svg.contains("Fan"));
    }

    #[test]
    fn a_picture_has_its_size_and_its_themes_differ() {
        let size = |png: &[u8]| u32::from_be_bytes(png[16..20].try_into().unwrap());
        let (light, dark) = (card(Theme::Light).png().unwrap(), card(Theme::Dark).png().unwrap());
        assert!(light != dark && size(&light) == 960);
        assert_eq!(size(&Card { scale: 2, ..card(Theme::Dark) }.png().unwrap()), 1_920);
        assert!(matches!(Card { scale: 20, ..card(Theme::Dark) }.png(), Err(DrawError::Size { .. })));
    }
}
