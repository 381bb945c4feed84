//! Charts of history: what was asked for, from lives to a drawing with its numbers in words. Statistics are `fleet`'s, drawing is
//! `dwell-charts`'; this joins them and says what the numbers rest on.

mod groups;
mod instance;
mod over_time;
mod summary;
mod ticks;

pub(crate) use summary::summary;

use std::collections::HashMap;

use dwell_charts::{Axis, Chart, Panel, Theme, Tint};
use dwell_fleet::over_time::{By, Frame, NOT_TOLD, OTHER};
use dwell_fleet::{Life, State, Timestamp, plain_letter, shift};
use dwell_history::{FleetId, History};
use jiff::tz::TimeZone;

use crate::dto::{Behind, BehindRow, ChartBehind, ChartInfo, ChartList, ChartRequest, ChartView, LegendEntry, PlotView, Reading};
use crate::{ApiError, ErrorCode};
use ticks::{span_words, time_axis, time_words};

/// Instances behind a reading that are listed.
const BEHIND_MOST: usize = 200;
/// Steps of time that a chart shows: fewer than its pixels, and few enough to draw and to read.
const STEPS_MOST: u32 = 240;
/// Pixels of one step at least.
const STEP_WIDE: u32 = 4;

/// What can be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Throughput,
    Cost,
    CostPerProof,
    States,
    Dwell,
    DwellBoxes,
    DwellHistogram,
    UntilRunning,
    SpentBefore,
    Endings,
    Restarts,
    BenchRates,
    Instance,
}

impl Kind {
    const ALL: [Kind; 13] = [
        Self::Throughput,
        Self::Cost,
        Self::CostPerProof,
        Self::States,
        Self::Dwell,
        Self::DwellBoxes,
        Self::DwellHistogram,
        Self::UntilRunning,
        Self::SpentBefore,
        Self::Endings,
        Self::Restarts,
        Self::BenchRates,
        Self::Instance,
    ];

    /// Name, title, what it shows and what it rests on.
    fn told(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Throughput => (
                "throughput",
                "Proofs per hour",
                "What the running instances make, each by its own benchmark: proofs themselves are not counted by the manager.",
            ),
            Self::Cost => (
                "cost",
                "Dollars per hour",
                "What is rented, by what it buys: proving, on the way there, or killed and billed on.",
            ),
            Self::CostPerProof => (
                "cost-per-proof",
                "Dollars per proof",
                "All dollars over all proofs of a step of time, waiting and leaking included.",
            ),
            Self::States => (
                "states",
                "Instances in each state",
                "How many were in each state, as the manager told it. Killed ones are left out.",
            ),
            Self::Dwell => (
                "dwell",
                "Still in the state",
                "The share that is still in a state after so long (Kaplan-Meier, with its 95 % band). Stays that go on count as at least so long.",
            ),
            Self::DwellBoxes => (
                "dwell-boxes",
                "Time in the state",
                "The 5th, 25th, 50th, 75th and 95th percentile of a group's stays. A box is open where too few have left to say.",
            ),
            Self::DwellHistogram => (
                "dwell-histogram",
                "How stays ended",
                "Stays by how long they took, and how they ended. Stays that go on are not among them.",
            ),
            Self::UntilRunning => (
                "until-running",
                "From rent to running",
                "How long it takes from the beginning of a rental until the instance says that it proves. The first proof itself is not told.",
            ),
            Self::SpentBefore => (
                "spent-before",
                "Dollars before running",
                "What a rental cost before the instance said that it proves: price times time.",
            ),
            Self::Endings => (
                "endings",
                "Kills and their reasons",
                "Instances that were killed, by the manager's reason, and those that were gone without having been killed.",
            ),
            Self::Restarts => (
                "restarts",
                "Restarts",
                "Starts of the manager, and instances that began anew: set back to an earlier state, out of killed, or listed again after an absence.",
            ),
            Self::BenchRates => ("bench-rates", "Benchmark rates", "What each instance reported as its benchmark, when it did."),
            Self::Instance => ("instance", "An instance's life", "Its states, flags, log lines and gauges, over one time axis."),
        }
    }

    fn name(self) -> &'static str {
        self.told().0
    }

    fn named(name: &str) -> Result<Self, ApiError> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.into_iter().map(Self::name).collect();
            ApiError::new(ErrorCode::UnknownChart, format!("no chart is called {name:?}"))
                .hint(format!("there are: {}", known.join(", ")))
        })
    }

    fn of_a_state(self) -> bool {
        matches!(self, Self::Dwell | Self::DwellBoxes | Self::DwellHistogram)
    }

    fn by(self) -> &'static [By] {
        match self {
            Self::States | Self::DwellHistogram | Self::Endings | Self::Restarts | Self::Instance => &[],
            _ => &By::ALL,
        }
    }
}

/// Where charts are read from.
pub(crate) struct Source<'a> {
    pub(crate) history: &'a History,
    pub(crate) fleet: FleetId,
    /// On the manager's clock.
    pub(crate) now: Timestamp,
    /// Name of the fleet.
    pub(crate) name: String,
    pub(crate) simulated: bool,
    /// The operator's.
    pub(crate) zone: TimeZone,
    /// The key of an instance that a person names.
    pub(crate) key_of: &'a dyn Fn(&str) -> Result<dwell_fleet::Key, ApiError>,
}

/// What was asked for, understood.
struct Asked {
    kind: Kind,
    since: Timestamp,
    until: Timestamp,
    by: By,
    state: State,
    instance: Option<String>,
    width: u32,
    height: u32,
    theme: Theme,
}

/// What a chart of one kind comes to.
struct Drawing {
    x: Axis,
    x_kind: &'static str,
    panels: Vec<Panel>,
    blind: Vec<(f64, f64)>,
    sentence: String,
    notes: Vec<String>,
    columns: Vec<String>,
    readings: Vec<Reading>,
    readings_down: bool,
    /// Nothing can be drawn; the sentence says why.
    empty: bool,
    has_behind: bool,
}

/// The charts there are.
pub(crate) fn list(source: &Source<'_>) -> Result<ChartList, ApiError> {
    let charts = Kind::ALL
        .into_iter()
        .map(|kind| {
            let (name, title, about) = kind.told();
            ChartInfo {
                name: name.to_owned(),
                title: title.to_owned(),
                about: about.to_owned(),
                by: kind.by().iter().map(|by| by.as_str().to_owned()).collect(),
                of_a_state: kind.of_a_state(),
                of_an_instance: kind == Kind::Instance,
            }
        })
        .collect();
    let begins = source.history.begins(source.fleet)?;
    Ok(ChartList { charts, begins, history_bytes: source.history.size()?.used_bytes as f64 })
}

/// Longest side of a chart, pixels.
const SIDE_MOST: u32 = 4_096;

/// What to split by; nothing where no word is given.
fn by_named(word: &str) -> Result<By, ApiError> {
    if word.is_empty() {
        return Ok(By::Nothing);
    }
    By::parse(word).ok_or_else(|| {
        let known: Vec<&str> = By::ALL.into_iter().map(By::as_str).collect();
        ApiError::new(ErrorCode::BadRequest, format!("nothing is split by {word:?}"))
            .hint(format!("there are: {}", known.join(", ")))
    })
}

fn understood(source: &Source<'_>, request: &ChartRequest) -> Result<Asked, ApiError> {
    let bad = |message: String| ApiError::new(ErrorCode::BadRequest, message);
    let kind = Kind::named(&request.name)?;
    let by = by_named(request.by.as_deref().unwrap_or_default())?;
    let state = State::parse(request.state.as_deref().unwrap_or("params_done"));
    if kind.of_a_state() && !state.is_waiting() {
        return Err(bad(format!("{state} is no state on the way to running"))
            .hint("there are: loading, registered, params_done, bench_done"));
    }
    let until = request.until.unwrap_or(source.now).min(source.now);
    let earliest = source.history.begins(source.fleet)?.unwrap_or(until).min(shift(until, -600.0));
    let since = match (request.since, request.last_s) {
        (Some(since), _) => since,
        // Not from long before anything is known.
        (None, Some(last_s)) if last_s.is_finite() && last_s > 0.0 => shift(until, -last_s).max(earliest),
        (None, Some(_)) => return Err(bad("the time shown must be longer than nothing".to_owned())),
        // All there is, and never nothing.
        (None, None) => earliest,
    };
    if since >= until {
        return Err(bad("the time shown ends before it begins".to_owned()));
    }
    let side = |length: u32| length.clamp(60, SIDE_MOST);
    Ok(Asked {
        kind,
        since,
        until,
        by: if kind.by().contains(&by) { by } else { By::Nothing },
        state,
        instance: request.instance.clone(),
        width: side(request.width),
        height: side(request.height),
        theme: if request.dark { Theme::Dark } else { Theme::Light },
    })
}

impl Asked {
    fn frame(&self, source: &Source<'_>) -> Result<Frame, ApiError> {
        let steps = (self.width / STEP_WIDE).clamp(12, STEPS_MOST) as usize;
        let (watched, gaps) = (source.history.watched(source.fleet)?, source.history.gaps(source.fleet, self.since)?);
        Ok(Frame::new(self.since, self.until, steps, &watched, &gaps))
    }

    fn time_axis(&self, source: &Source<'_>) -> Axis {
        time_axis(self.since, self.until, &source.zone, self.width)
    }

    fn span_words(&self) -> String {
        let seconds = dwell_fleet::seconds_between(self.since, self.until);
        format!("over {}", span_words(seconds))
    }
}

fn drawn(source: &Source<'_>, asked: &Asked) -> Result<Drawing, ApiError> {
    let lives = || source.history.lives(source.fleet, asked.since, asked.until);
    let mut drawing = match asked.kind {
        Kind::Throughput | Kind::Cost | Kind::CostPerProof | Kind::States | Kind::Endings | Kind::Restarts | Kind::BenchRates => {
            over_time::drawing(source, asked, &lives()?)?
        }
        Kind::Dwell | Kind::DwellBoxes | Kind::DwellHistogram | Kind::UntilRunning | Kind::SpentBefore => {
            groups::drawing(asked, &lives()?)
        }
        Kind::Instance => instance::drawing(source, asked)?,
    };
    drawing.notes.insert(0, asked.kind.told().2.to_owned());
    Ok(drawing)
}

impl Drawing {
    /// Nothing to draw, and why.
    fn nothing(x: Axis, x_kind: &'static str, why: impl Into<String>) -> Self {
        Self {
            x,
            x_kind,
            panels: Vec::new(),
            blind: Vec::new(),
            sentence: why.into(),
            notes: Vec::new(),
            columns: Vec::new(),
            readings: Vec::new(),
            readings_down: false,
            empty: true,
            has_behind: false,
        }
    }

    fn chart(&self, source: &Source<'_>, asked: &Asked, titled: bool) -> Chart {
        let range = format!("{} to {}", time_words(asked.since, &source.zone), time_words(asked.until, &source.zone));
        Chart {
            title: titled.then(|| title(asked)),
            under: self.sentence.clone(),
            simulated: source.simulated,
            x: self.x.clone(),
            panels: self.panels.clone(),
            blind: self.blind.clone(),
            foot: format!("{}, {range}. {}", source.name, self.notes.first().map_or("", String::as_str)),
            theme: asked.theme,
            width: asked.width,
            height: asked.height,
        }
    }
}

fn title(asked: &Asked) -> String {
    let title = asked.kind.told().1;
    let mut words = if asked.kind.of_a_state() { format!("{title}: {}", asked.state) } else { title.to_owned() };
    if let Some(instance) = asked.instance.as_ref().filter(|_| asked.kind == Kind::Instance) {
        words = format!("{title}: {instance}");
    }
    match asked.by {
        By::Nothing => words,
        by => format!("{words}, by {}", by.as_str()),
    }
}

fn undrawn(error: dwell_charts::DrawError) -> ApiError {
    ApiError::new(ErrorCode::NotDrawn, error.to_string())
}

/// A chart for the window: its plot, with all that stands beside it as words.
pub(crate) fn view(source: &Source<'_>, request: &ChartRequest) -> Result<ChartView, ApiError> {
    let asked = understood(source, request)?;
    let drawing = drawn(source, &asked)?;
    let chart = drawing.chart(source, &asked, false);
    let svg = if drawing.empty { String::new() } else { chart.svg().map_err(undrawn)? };
    let mut legend: Vec<LegendEntry> = Vec::new();
    for series in drawing.panels.iter().flat_map(|panel| &panel.series) {
        if !series.name.is_empty() && legend.iter().all(|entry| entry.name != series.name) {
            legend.push(LegendEntry { name: series.name.clone(), colour: asked.theme.hex(series.tint) });
        }
    }
    let plots = chart.plots();
    Ok(ChartView {
        name: asked.kind.name().to_owned(),
        title: title(&asked),
        sentence: drawing.sentence,
        notes: drawing.notes,
        empty: drawing.empty,
        svg,
        plots: plots.into_iter().map(|it| PlotView { left: it.left, top: it.top, width: it.width, height: it.height }).collect(),
        x_kind: drawing.x_kind.to_owned(),
        x_from: drawing.x.from,
        x_to: drawing.x.to,
        since: asked.since,
        until: asked.until,
        legend,
        columns: drawing.columns,
        readings: drawing.readings,
        readings_down: drawing.readings_down,
        has_behind: drawing.has_behind,
    })
}

/// The form of a saved chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChartForm {
    /// A picture that is sharp at any size.
    Svg,
    /// A picture, as pixels.
    Png,
    /// Its numbers as a table.
    Csv,
    /// All of it as JSON.
    Json,
}

impl ChartForm {
    /// Of a name or of the end of a file's name.
    pub fn named(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "svg" => Some(Self::Svg),
            "png" => Some(Self::Png),
            "csv" => Some(Self::Csv),
            "json" => Some(Self::Json),
            _ => None,
        }
    }

    /// How the name of such a file ends.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Png => "png",
            Self::Csv => "csv",
            Self::Json => "json",
        }
    }
}

/// Pixels of a saved PNG for one of its measures: sharp on a screen of twice the usual fineness.
const PNG_SCALE: u32 = 2;

/// A chart as a file. Refused where there is nothing to draw.
pub(crate) fn file(source: &Source<'_>, request: &ChartRequest, form: ChartForm) -> Result<Vec<u8>, ApiError> {
    let asked = understood(source, request)?;
    if form == ChartForm::Json {
        let view = view(source, request)?;
        return serde_json::to_vec_pretty(&view).map_err(|error| ApiError::new(ErrorCode::Bug, error.to_string()));
    }
    let drawing = drawn(source, &asked)?;
    if drawing.empty {
        return Err(ApiError::new(ErrorCode::NothingToDraw, drawing.sentence));
    }
    match form {
        ChartForm::Svg => drawing.chart(source, &asked, true).svg().map(String::into_bytes).map_err(undrawn),
        ChartForm::Png => drawing.chart(source, &asked, true).png(PNG_SCALE).map_err(undrawn),
        ChartForm::Csv | ChartForm::Json => table(&drawing),
    }
}

fn table(drawing: &Drawing) -> Result<Vec<u8>, ApiError> {
    let unwritten = |error: csv::Error| ApiError::new(ErrorCode::Bug, error.to_string());
    let mut writer = csv::Writer::from_writer(Vec::new());
    let head = if drawing.readings_down { ["", "from", "to"] } else { ["at", "from", "to"] };
    writer.write_record(head.into_iter().chain(drawing.columns.iter().map(String::as_str))).map_err(unwritten)?;
    for reading in &drawing.readings {
        let (from, to) = (reading.from.to_string(), reading.to.to_string());
        let cells = reading.cells.iter().map(|cell| safe_cell(cell));
        let row: Vec<String> = [safe_cell(&reading.label), from, to].into_iter().chain(cells).collect();
        writer.write_record(row).map_err(unwritten)?;
    }
    writer.into_inner().map_err(|error| ApiError::new(ErrorCode::Bug, error.to_string()))
}

/// A text that a spreadsheet does not take for a formula: names come from machines that are not the operator's.
pub(crate) fn safe_cell(text: &str) -> String {
    let plain: String = text.chars().map(|letter| if letter == '\t' { letter } else { plain_letter(letter) }).collect();
    let starts_a_formula =
        |first: char| matches!(first, '=' | '+' | '@' | '\t') || first == '-' && plain.parse::<f64>().is_err() && plain.len() > 1;
    match plain.chars().next() {
        Some(first) if starts_a_formula(first) => format!("'{plain}"),
        _ => plain,
    }
}

/// Who is behind a reading.
pub(crate) fn behind(source: &Source<'_>, request: &ChartBehind) -> Result<Behind, ApiError> {
    let asked = understood(source, &request.chart)?;
    let lives = source.history.lives(source.fleet, asked.since, asked.until)?;
    let found: Vec<(&Life, String)> = match asked.kind {
        Kind::Dwell | Kind::DwellBoxes | Kind::DwellHistogram | Kind::UntilRunning | Kind::SpentBefore => {
            groups::behind(&asked, &lives, request)
        }
        Kind::Instance => Vec::new(),
        _ => over_time::behind(&asked, &lives, request, &source.zone),
    };
    let all = found.len();
    let instances = found
        .into_iter()
        .take(BEHIND_MOST)
        .map(|(life, was)| BehindRow {
            id: life.id.clone(),
            gpu: life.gpu.clone(),
            machine: life.machine.map(|id| id.to_string()),
            region: life.region.clone(),
            was,
        })
        .collect();
    Ok(Behind { instances, all })
}

/// Colours of the groups that a chart shows: the same in every chart of the same lives, by how many instances each group has; grey
/// for what stands together.
fn tints(names: &[&str], lives: &[Life], by: By) -> Vec<Tint> {
    /// The palette's grey.
    const REST: usize = 7;
    let mut sizes: HashMap<String, usize> = HashMap::new();
    for life in lives {
        *sizes.entry(by.group(life)).or_default() += 1;
    }
    let is_group = |name: &str| name != OTHER && name != NOT_TOLD;
    let mut ranked: Vec<(&str, usize)> =
        sizes.iter().map(|(name, size)| (name.as_str(), *size)).filter(|(name, _)| is_group(name)).collect();
    ranked.sort_by(|left, right| right.1.cmp(&left.1).then(left.0.cmp(right.0)));
    let mut places: HashMap<&str, usize> =
        ranked.into_iter().take(REST).enumerate().map(|(place, (name, _))| (name, place)).collect();
    // Small groups that are shown take what the large ones that are not leave.
    let mut free: Vec<usize> = (0..REST).filter(|place| !names.iter().any(|name| places.get(name) == Some(place))).collect();
    free.reverse();
    for name in names.iter().filter(|name| is_group(name)) {
        if !places.contains_key(name)
            && let Some(place) = free.pop()
        {
            places.insert(name, place);
        }
    }
    names.iter().map(|name| Tint::Group(places.get(name).copied().unwrap_or(REST))).collect()
}

/// A number with as many decimals as it needs to be told from others of its size.
fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        ..0.1 => format!("{value:.4}"),
        ..10.0 => format!("{value:.2}"),
        ..1_000.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

const DASH: &str = "–";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_no_formula() {
        assert_eq!(
            ["=1+1", "-2.5", "-x", "@a", "RTX 4090", "–"].map(safe_cell),
            ["'=1+1", "-2.5", "'-x", "'@a", "RTX 4090", "–"]
        );
        assert_eq!(safe_cell("a\u{1b}[31mb\r\n"), "a\u{fffd}[31mb  ");
    }

    #[test]
    fn a_group_has_one_colour_in_all_charts_and_the_rest_is_grey() {
        let at = Timestamp::UNIX_EPOCH;
        let life = |gpu: &str| Life {
            id: String::new(),
            gpu: Some(gpu.to_owned()),
            image: None,
            region: None,
            machine: None,
            dollars_per_h: None,
            bench_rate_proofs_per_h: None,
            kill_reason: None,
            first_seen_at: at,
            last_listed_at: at,
            entries: Vec::new(),
            absences: Vec::new(),
            leaks: Vec::new(),
            anew: Vec::new(),
        };
        let lives: Vec<Life> = ["b", "b", "b", "a", "a", "c", "d", "e", "f", "g", "h"].map(life).into_iter().collect();
        let places = |names: &[&str]| tints(names, &lives, By::Gpu);
        assert_eq!(places(&["a", OTHER, "b", NOT_TOLD]), [Tint::Group(1), Tint::Group(7), Tint::Group(0), Tint::Group(7)]);
        assert_eq!(places(&["b", "h"]), [Tint::Group(0), Tint::Group(1)], "an eighth group takes a colour that nobody shows");
        assert_eq!(places(&["c", "b"]), [Tint::Group(2), Tint::Group(0)]);
    }

    #[test]
    fn names_of_charts_are_told_apart() {
        let mut names: Vec<&str> = Kind::ALL.into_iter().map(Kind::name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Kind::ALL.len());
        assert_eq!([0.0, 0.0412, 1.5, 35.57, 1234.4].map(number), ["0", "0.0412", "1.50", "35.6", "1234"]);
    }
}
