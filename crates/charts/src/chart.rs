//! A chart: panels above one another over one x axis, each with its series. What is drawn, its ticks and their words are given.

use plotters::coord::Shift;
use plotters::coord::ranged1d::Ranged;
use plotters::coord::types::RangedCoordf64;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::canvas::{self, DrawError, Drawn, failed};
use crate::theme::{Colours, Theme, Tint};

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What it measures, with its unit; empty where it goes without saying.
    pub label: String,
    /// Least value shown.
    pub from: f64,
    /// Greatest value shown.
    pub to: f64,
    /// Where a line is drawn, and its words.
    pub ticks: Vec<(f64, String)>,
}

/// An axis of numbers from 0 to a round number not below `most`, with about `count` ticks.
pub fn number_axis(label: impl Into<String>, most: f64, count: usize) -> Axis {
    let most = if most.is_finite() && most > 0.0 { most } else { 1.0 };
    let points = |to: f64| RangedCoordf64::from(0.0..to).key_points(count);
    let step = match points(most)[..] {
        [first, second, ..] => second - first,
        _ => most,
    };
    // A round number, so that a chart that is drawn again a moment later does not jump.
    let to = (most / step - 1e-9).ceil().max(1.0) * step;
    let decimals = (0..6)
        .find(|decimals| {
            let unit = 10f64.powi(*decimals);
            (step * unit - (step * unit).round()).abs() < 1e-6
        })
        .unwrap_or(6) as usize;
    let ticks = (0..=(to / step).round() as usize).map(|n| n as f64 * step).map(|at| (at, format!("{at:.decimals$}"))).collect();
    Axis { label: label.into(), from: 0.0, to, ticks }
}

/// A step of a curve that falls or rises at some values and holds between them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// From here on.
    pub x: f64,
    /// The value.
    pub y: f64,
    /// The lower and upper end of its band; `None` where nothing is said of it.
    pub band: Option<(f64, f64)>,
}

/// Quantiles of one group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantiles {
    /// Its place across.
    pub at: f64,
    /// 5, 25, 50, 75 and 95 %; `None` where so many have not been seen to get there: the box is open.
    pub values: [Option<f64>; 5],
    /// Longest seen: where an open box ends.
    pub seen: f64,
}

/// How a series is drawn.
#[derive(Debug, Clone, PartialEq)]
pub enum Form {
    /// A line through points; `None`: a gap.
    Line(Vec<(f64, Option<f64>)>),
    /// A line that holds from each x to the next; `None`: a gap.
    Held(Vec<(f64, Option<f64>)>),
    /// An area from a lower to an upper value that holds from each x to the next; `None`: a gap.
    Area(Vec<(f64, Option<(f64, f64)>)>),
    /// A curve of steps with its band, to the end `until`.
    Curve {
        /// Its steps, rising in x.
        steps: Vec<Step>,
        /// Where what is known ends.
        until: f64,
    },
    /// Blocks: from, to, lower, upper.
    Blocks(Vec<[f64; 4]>),
    /// Boxes along x, one a group, at their places in y.
    Boxes(Vec<Quantiles>),
    /// Points.
    Points(Vec<(f64, f64)>),
}

/// A series.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name, for the legend; empty: none.
    pub name: String,
    /// Colour.
    pub tint: Tint,
    /// How it is drawn.
    pub form: Form,
}

/// One panel.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// The y axis.
    pub y: Axis,
    /// Series, the lowest first.
    pub series: Vec<Series>,
    /// Height compared with the other panels.
    pub weight: u32,
}

/// The chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// What it shows; with it legend and foot are drawn. `None`: the plot alone, for where the rest stands beside it.
    pub title: Option<String>,
    /// Under the title.
    pub under: String,
    /// It is simulated, and says so.
    pub simulated: bool,
    /// The x axis of all panels.
    pub x: Axis,
    /// Panels, from above.
    pub panels: Vec<Panel>,
    /// Parts of x of which nothing is known.
    pub blind: Vec<(f64, f64)>,
    /// Where it is from.
    pub foot: String,
    /// Colours.
    pub theme: Theme,
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
}

/// Where a panel's values are drawn, in pixels of the picture: `x.from` is at `left`, `y.to` at `top`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plot {
    /// Left edge.
    pub left: f64,
    /// Upper edge.
    pub top: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
}

/// Units of a picture in one pixel of its SVG.
const FINER: u32 = 4;
const LETTER: i32 = 6;
const LABEL_MOST: i32 = 190;
const PANEL_GAP: i32 = 16;
const LEGEND_ROW: i32 = 18;
const EDGE: i32 = 16;

impl Chart {
    /// As SVG, exact to a quarter of a pixel.
    pub fn svg(&self) -> Result<String, DrawError> {
        canvas::svg_of(&Scaled { chart: self, scale: FINER as i32 }, (self.width, self.height), FINER)
    }

    /// As PNG, `scale` pixels for one of its own.
    pub fn png(&self, scale: u32) -> Result<Vec<u8>, DrawError> {
        let scale = scale.clamp(1, 4);
        canvas::png(&Scaled { chart: self, scale: scale as i32 }, (self.width * scale, self.height * scale))
    }

    /// Where each panel's values are.
    pub fn plots(&self) -> Vec<Plot> {
        let widest =
            self.panels.iter().flat_map(|panel| &panel.y.ticks).map(|(_, words)| words.chars().count()).max().unwrap_or(0);
        let left = (widest as i32 * LETTER + 12).clamp(34, LABEL_MOST) + if self.title.is_some() { EDGE } else { 0 };
        let (above, below) = match &self.title {
            Some(_) => (EDGE + 48 + self.legend_rows(left).len() as i32 * LEGEND_ROW + 8, 54),
            None => (20, 22),
        };
        let right = if self.title.is_some() { EDGE + 8 } else { 10 };
        let count = self.panels.len().max(1) as i32;
        let room = (self.height as i32 - above - below - (count - 1) * (PANEL_GAP + 4)).max(count * 8);
        let weights: u32 = self.panels.iter().map(|panel| panel.weight.max(1)).sum::<u32>().max(1);
        let width = (self.width as i32 - left - right).max(8);
        let mut top = above;
        self.panels
            .iter()
            .map(|panel| {
                let height = room * panel.weight.max(1) as i32 / weights as i32;
                let plot =
                    Plot { left: f64::from(left), top: f64::from(top), width: f64::from(width), height: f64::from(height) };
                top += height + PANEL_GAP + 4;
                plot
            })
            .collect()
    }

    /// Names in rows that fit: (x, name, colour).
    fn legend_rows(&self, left: i32) -> Vec<Vec<(i32, &str, Tint)>> {
        let mut rows: Vec<Vec<(i32, &str, Tint)>> = Vec::new();
        let mut x = left;
        let mut seen: Vec<&str> = Vec::new();
        for series in self.panels.iter().flat_map(|panel| &panel.series) {
            if series.name.is_empty() || seen.contains(&series.name.as_str()) {
                continue;
            }
            seen.push(&series.name);
            let width = 22 + series.name.chars().count() as i32 * (LETTER + 1);
            if rows.is_empty() || x + width > self.width as i32 - EDGE && x > left {
                (x, _) = (left, rows.push(Vec::new()));
            }
            if let Some(row) = rows.last_mut() {
                row.push((x, &series.name, series.tint));
            }
            x += width;
        }
        rows
    }
}

struct Scaled<'a> {
    chart: &'a Chart,
    scale: i32,
}

type Plane = Cartesian2d<RangedCoordf64, RangedCoordf64>;

impl Scaled<'_> {
    fn text<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        (words, size, colour): (&str, i32, RGBColor),
        (x, y): (i32, i32),
        pos: Pos,
    ) -> Result<(), DrawError> {
        let style = ("sans-serif", f64::from(size * self.scale)).into_font().color(&colour).pos(pos);
        area.draw(&Text::new(words.to_owned(), (x * self.scale, y * self.scale), style)).map_err(failed)
    }

    fn block<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        [left, top, right, bottom]: [i32; 4],
        style: ShapeStyle,
    ) -> Result<(), DrawError> {
        let at = |x: i32, y: i32| (x * self.scale, y * self.scale);
        area.draw(&Rectangle::new([at(left, top), at(right, bottom)], style)).map_err(failed)
    }

    fn frame<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>, colours: &Colours, left: i32) -> Result<(), DrawError> {
        let chart = self.chart;
        let Some(title) = &chart.title else { return Ok(()) };
        let (right, top) = (chart.width as i32 - EDGE, Pos::new(HPos::Left, VPos::Top));
        self.text(area, (title, 16, colours.text), (EDGE, EDGE), top)?;
        if chart.simulated {
            self.text(area, ("SIMULATED", 12, colours.simulated), (right, EDGE), Pos::new(HPos::Right, VPos::Top))?;
        }
        self.text(area, (&chart.under, 12, colours.soft), (EDGE, EDGE + 24), top)?;
        for (row, entries) in chart.legend_rows(left).iter().enumerate() {
            let y = EDGE + 50 + row as i32 * LEGEND_ROW;
            for (x, name, tint) in entries {
                self.block(area, [*x, y, x + 10, y + 10], colours.of(*tint).filled())?;
                self.text(area, (name, 12, colours.text), (x + 15, y - 2), top)?;
            }
        }
        self.text(area, (&chart.foot, 11, colours.soft), (EDGE, chart.height as i32 - EDGE), Pos::new(HPos::Left, VPos::Bottom))
    }

    fn axes<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        colours: &Colours,
        (panel, plot, is_last): (&Panel, &Plot, bool),
    ) -> Result<(), DrawError> {
        let chart = self.chart;
        let (left, top) = (plot.left as i32, plot.top as i32);
        let (right, bottom) = (left + plot.width as i32, top + plot.height as i32);
        self.block(area, [left, top, right, bottom], colours.bar_ground.mix(0.35).filled())?;
        let along = |axis: &Axis, value: f64, from: i32, to: i32| {
            let share = (value - axis.from) / (axis.to - axis.from).max(f64::MIN_POSITIVE);
            from + (share * f64::from(to - from)).round() as i32
        };
        for (from, to) in &chart.blind {
            let ends = [from, to].map(|x| along(&chart.x, x.clamp(chart.x.from, chart.x.to), left, right));
            if ends[1] > ends[0] {
                self.block(area, [ends[0], top, ends[1], bottom], colours.line.mix(0.75).filled())?;
            }
        }
        let room = ((f64::from(LABEL_MOST) - 12.0) / f64::from(LETTER)) as usize;
        for (value, words) in &panel.y.ticks {
            let y = along(&panel.y, *value, bottom, top);
            self.block(area, [left, y, right, y], colours.line.stroke_width(1))?;
            let words: String = words.chars().take(room).collect();
            self.text(area, (&words, 11, colours.soft), (left - 6, y), Pos::new(HPos::Right, VPos::Center))?;
        }
        self.text(area, (&panel.y.label, 11, colours.soft), (left, top - 4), Pos::new(HPos::Left, VPos::Bottom))?;
        for (value, words) in &chart.x.ticks {
            let x = along(&chart.x, *value, left, right);
            self.block(area, [x, top, x, bottom], colours.line.mix(0.6).stroke_width(1))?;
            if is_last {
                self.text(area, (words, 11, colours.soft), (x, bottom + 5), Pos::new(HPos::Center, VPos::Top))?;
            }
        }
        if is_last {
            self.text(area, (&chart.x.label, 11, colours.soft), (right, top - 4), Pos::new(HPos::Right, VPos::Bottom))?;
        }
        Ok(())
    }

    fn series<B: DrawingBackend>(
        &self,
        plane: &DrawingArea<B, Plane>,
        series: &Series,
        panel: &Panel,
        colours: &Colours,
    ) -> Result<(), DrawError> {
        let colour = colours.of(series.tint);
        let line = colour.stroke_width((self.scale * 3 / 2).max(1) as u32);
        let (x, y) = (&self.chart.x, &panel.y);
        let within = |(at, value): (f64, f64)| (at.clamp(x.from, x.to), value.clamp(y.from, y.to));
        match &series.form {
            Form::Line(points) => {
                for part in points.split(|(_, value)| value.is_none()) {
                    let path: Vec<(f64, f64)> =
                        part.iter().filter_map(|(at, value)| Some((*at, (*value)?))).map(within).collect();
                    match path[..] {
                        [] => {}
                        [only] => plane.draw(&Circle::new(only, self.scale * 2, colour.filled())).map_err(failed)?,
                        _ => plane.draw(&PathElement::new(path, line)).map_err(failed)?,
                    }
                }
            }
            Form::Held(points) => {
                for part in held(points) {
                    let path: Vec<(f64, f64)> =
                        part.into_iter().flat_map(|(from, to, value)| [(from, value), (to, value)]).map(within).collect();
                    plane.draw(&PathElement::new(path, line)).map_err(failed)?;
                }
            }
            Form::Area(points) => {
                for part in held(points) {
                    let upper = part.iter().flat_map(|(from, to, (_, top))| [(*from, *top), (*to, *top)]);
                    let lower = part.iter().rev().flat_map(|(from, to, (base, _))| [(*to, *base), (*from, *base)]);
                    let outline: Vec<(f64, f64)> = upper.chain(lower).map(within).collect();
                    plane.draw(&Polygon::new(outline, colour.mix(0.82))).map_err(failed)?;
                }
            }
            Form::Curve { steps, until } => self.curve(plane, (steps, *until), colour, within)?,
            Form::Blocks(blocks) => {
                for [from, to, lower, upper] in blocks {
                    if *to > x.from && *from < x.to {
                        let ends = [within((*from, *lower)), within((*to, *upper))];
                        plane.draw(&Rectangle::new(ends, colour.filled())).map_err(failed)?;
                    }
                }
            }
            Form::Boxes(groups) => {
                for group in groups {
                    self.quantiles(plane, group, (colour, colours.ground), within)?;
                }
            }
            Form::Points(points) => {
                for point in points.iter().filter(|(at, _)| (x.from..=x.to).contains(at)) {
                    plane.draw(&Circle::new(within(*point), self.scale * 7 / 2, colour.mix(0.75).filled())).map_err(failed)?;
                }
            }
        }
        Ok(())
    }

    fn curve<B: DrawingBackend>(
        &self,
        plane: &DrawingArea<B, Plane>,
        (steps, until): (&[Step], f64),
        colour: RGBColor,
        within: impl Fn((f64, f64)) -> (f64, f64),
    ) -> Result<(), DrawError> {
        let Some(first) = steps.first() else { return Ok(()) };
        let ends = steps.iter().skip(1).map(|step| step.x).chain([until.max(first.x)]);
        let parts: Vec<(f64, f64, &Step)> = steps.iter().zip(ends).map(|(step, end)| (step.x, end, step)).collect();
        for run in parts.split(|(.., step)| step.band.is_none()) {
            let band = |(from, to, step): &(f64, f64, &Step), upper: bool| {
                let (low, high) = step.band.unwrap_or((step.y, step.y));
                let value = if upper { high } else { low };
                [(*from, value), (*to, value)]
            };
            let above = run.iter().flat_map(|part| band(part, true));
            let below = run.iter().rev().flat_map(|part| {
                let [from, to] = band(part, false);
                [to, from]
            });
            let outline: Vec<(f64, f64)> = above.chain(below).map(&within).collect();
            if !outline.is_empty() {
                plane.draw(&Polygon::new(outline, colour.mix(0.14))).map_err(failed)?;
            }
        }
        let path: Vec<(f64, f64)> =
            parts.iter().flat_map(|(from, to, step)| [(*from, step.y), (*to, step.y)]).map(&within).collect();
        plane.draw(&PathElement::new(path, colour.stroke_width((self.scale * 3 / 2) as u32))).map_err(failed)
    }

    /// A box: from the quarter to three quarters, a line in the middle, whiskers from 5 to 95 %. Open, and dashed to the longest
    /// seen, where too few have got there to say.
    fn quantiles<B: DrawingBackend>(
        &self,
        plane: &DrawingArea<B, Plane>,
        group: &Quantiles,
        (colour, ground): (RGBColor, RGBColor),
        within: impl Fn((f64, f64)) -> (f64, f64),
    ) -> Result<(), DrawError> {
        let [low, quarter, middle, three_quarters, high] = group.values;
        let (thin, thick) = (colour.stroke_width(self.scale as u32), colour.stroke_width((self.scale * 2) as u32));
        let segment = |ends: [(f64, f64); 2], style: ShapeStyle| {
            plane.draw(&PathElement::new(ends.map(&within).to_vec(), style)).map_err(failed)
        };
        let open = |from: f64| {
            let ends = [(from, group.at), (group.seen.max(from), group.at)].map(&within);
            plane.draw(&DashedPathElement::new(ends, self.scale * 4, self.scale * 3, thin)).map_err(failed)
        };
        let Some(low) = low else { return open(0.0) };
        let cap = |at: f64| segment([(at, group.at - 0.14), (at, group.at + 0.14)], thin);
        cap(low)?;
        let Some(quarter) = quarter else { return open(low) };
        segment([(low, group.at), (quarter, group.at)], thin)?;
        let end = three_quarters.unwrap_or(group.seen.max(quarter));
        let corners = [within((quarter, group.at - 0.28)), within((end, group.at + 0.28))];
        plane.draw(&Rectangle::new(corners, ground.filled())).map_err(failed)?;
        plane.draw(&Rectangle::new(corners, colour.mix(0.35).filled())).map_err(failed)?;
        if three_quarters.is_some() {
            plane.draw(&Rectangle::new(corners, thin)).map_err(failed)?;
        }
        if let Some(middle) = middle {
            segment([(middle, group.at - 0.28), (middle, group.at + 0.28)], thick)?;
        }
        let Some(three_quarters) = three_quarters else { return Ok(()) };
        let Some(high) = high else { return open(three_quarters) };
        segment([(three_quarters, group.at), (high, group.at)], thin)?;
        cap(high)
    }
}

/// Runs of what holds from each x to the next: (from, to, value).
fn held<T: Copy>(points: &[(f64, Option<T>)]) -> Vec<Vec<(f64, f64, T)>> {
    let mut runs: Vec<Vec<(f64, f64, T)>> = Vec::new();
    let mut goes_on = false;
    for pair in points.windows(2) {
        let [(from, value), (to, _)] = pair else { continue };
        match value {
            Some(value) if goes_on => {
                if let Some(run) = runs.last_mut() {
                    run.push((*from, *to, *value));
                }
            }
            Some(value) => runs.push(vec![(*from, *to, *value)]),
            None => {}
        }
        goes_on = value.is_some();
    }
    runs
}

impl Drawn for Scaled<'_> {
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), DrawError> {
        let (chart, colours) = (self.chart, self.chart.theme.colours());
        if chart.title.is_some() {
            area.fill(&colours.ground).map_err(failed)?;
        }
        let plots = chart.plots();
        self.frame(area, &colours, plots.first().map_or(EDGE, |plot| plot.left as i32))?;
        for (place, (panel, plot)) in chart.panels.iter().zip(&plots).enumerate() {
            self.axes(area, &colours, (panel, plot, place + 1 == chart.panels.len()))?;
            let pixels = |from: f64, length: f64| {
                let scale = f64::from(self.scale);
                (from * scale) as i32..((from + length) * scale) as i32
            };
            let plane = Plane::new(
                chart.x.from..chart.x.to.max(chart.x.from + f64::MIN_POSITIVE),
                // Upwards.
                panel.y.to.max(panel.y.from + f64::MIN_POSITIVE)..panel.y.from,
                (pixels(plot.left, plot.width), pixels(plot.top, plot.height)),
            );
            let plane = area.apply_coord_spec(plane);
            for series in &panel.series {
                self.series(&plane, series, panel, &colours)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]
mod tests {
    use super::*;

    fn chart(series: Vec<Series>) -> Chart {
        Chart {
            title: Some("Proofs <b>per hour</b>".to_owned()),
            under: "by each instance's own benchmark".to_owned(),
            simulated: true,
            x: Axis { label: String::new(), from: 0.0, to: 100.0, ticks: vec![(0.0, "00:00".into()), (50.0, "12:00".into())] },
            panels: vec![Panel { y: number_axis("proofs/h", 37.0, 4), series, weight: 1 }],
            blind: vec![(80.0, 100.0)],
            foot: "Dwell".to_owned(),
            theme: Theme::Light,
            width: 640,
            height: 320,
        }
    }

    fn series(name: &str, form: Form) -> Series {
        Series { name: name.to_owned(), tint: Tint::Group(0), form }
    }

    #[test]
    fn an_axis_ends_at_a_round_number_and_names_its_ticks_as_finely_as_they_lie() {
        let axis = number_axis("", 37.0, 4);
        assert_eq!((axis.to, axis.ticks.last().unwrap().1.as_str()), (40.0, "40"));
        let small = number_axis("", 0.037, 4);
        assert_eq!((small.to, small.ticks[1].1.as_str()), (0.04, "0.01"));
        assert_eq!(number_axis("", 0.0, 4).to, 1.0);
        assert_eq!(number_axis("", f64::NAN, 4).to, 1.0);
        assert!(number_axis("", 1e9, 5).ticks.len() < 12);
    }

    #[test]
    fn every_form_is_drawn_within_its_panel_and_gaps_stay_gaps() {
        let forms = vec![
            series("a", Form::Line(vec![(0.0, Some(1.0)), (10.0, None), (20.0, Some(9e9)), (30.0, Some(-9e9))])),
            series("b", Form::Held(vec![(0.0, Some(5.0)), (10.0, None), (20.0, Some(7.0)), (30.0, None)])),
            series("c", Form::Area(vec![(0.0, Some((0.0, 5.0))), (10.0, Some((1.0, 6.0))), (20.0, None)])),
            series(
                "d",
                Form::Curve {
                    steps: vec![Step { x: 0.0, y: 1.0, band: Some((0.5, 1.0)) }, Step { x: 9.0, y: 0.0, band: None }],
                    until: 50.0,
                },
            ),
            series("e", Form::Blocks(vec![[-50.0, 20.0, 0.0, 1.0], [200.0, 300.0, 0.0, 1.0]])),
            series(
                "f",
                Form::Boxes(vec![
                    Quantiles { at: 1.0, values: [Some(1.0), Some(2.0), Some(3.0), Some(4.0), Some(5.0)], seen: 5.0 },
                    Quantiles { at: 2.0, values: [Some(1.0), Some(2.0), Some(3.0), None, None], seen: 50.0 },
                    Quantiles { at: 3.0, values: [None; 5], seen: 50.0 },
                ]),
            ),
            series("g", Form::Points(vec![(5.0, 5.0), (500.0, 5.0)])),
        ];
        for it in &forms {
            let chart = chart(vec![it.clone()]);
            let (plain, svg) = (
                Chart {
                    panels: chart.panels.iter().map(|panel| Panel { series: vec![], ..panel.clone() }).collect(),
                    ..chart.clone()
                }
                .svg()
                .unwrap(),
                chart.svg().unwrap(),
            );
            assert!(svg.len() > plain.len(), "{} is drawn", it.name);
            let plot = chart.plots()[0];
            // Everything that a series draws lies in the plot, in quarters of a pixel.
            for part in svg.lines().filter(|line| !plain.contains(*line)).filter(|line| line.contains("points=\"")) {
                for pair in part.split("points=\"").nth(1).unwrap().split('"').next().unwrap().split_whitespace() {
                    let (x, y) = pair.split_once(',').unwrap();
                    let (x, y): (f64, f64) = (x.parse::<f64>().unwrap() / 4.0, y.parse::<f64>().unwrap() / 4.0);
                    assert!(x >= plot.left - 1.0 && x <= plot.left + plot.width + 1.0, "{}: {part}", it.name);
                    assert!(y >= plot.top - 1.0 && y <= plot.top + plot.height + 1.0, "{}: {part}", it.name);
                }
            }
        }
        let lines = chart(vec![forms[1].clone()]).svg().unwrap();
        assert_eq!(lines.matches("<polyline").count(), chart(vec![]).svg().unwrap().matches("<polyline").count() + 2, "two runs");
    }

    #[test]
    fn hostile_names_stay_words_and_the_plot_alone_has_none() {
        let named = chart(vec![series("<script>x</script>", Form::Points(vec![(1.0, 1.0)]))]);
        let svg = named.svg().unwrap();
        assert!(svg.contains("&lt;script&gt;") && !svg.contains("<script") && !svg.contains("<b>") && svg.contains("SIMULATED"));
        assert!(svg.starts_with("<svg width=\"640\" height=\"320\" viewBox=\"0 0 2560 1280\""), "{}", &svg[..80]);
        let bare = Chart { title: None, ..named };
        let svg = bare.svg().unwrap();
        assert!(!svg.contains("script") && !svg.contains("SIMULATED"));
        assert_eq!(bare.plots()[0].top, 20.0);
    }

    #[test]
    fn panels_share_the_height_by_weight_and_a_picture_has_its_size() {
        let mut two = chart(vec![]);
        two.panels.push(Panel { weight: 3, ..two.panels[0].clone() });
        let plots = two.plots();
        assert!((plots[1].height / plots[0].height - 3.0).abs() < 0.1 && plots[1].top > plots[0].top + plots[0].height);
        let png = two.png(2).unwrap();
        assert_eq!(u32::from_be_bytes(png[16..20].try_into().unwrap()), 1_280);
        let tiny = Chart { width: 30, height: 20, ..two };
        assert!(tiny.svg().is_ok());
        assert!(matches!(Chart { width: 9_000, ..tiny }.svg(), Err(DrawError::Size { .. })));
    }
}
