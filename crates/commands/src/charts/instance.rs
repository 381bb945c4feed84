//! The story of one instance: lanes over one time axis.

use dwell_charts::{Axis, Form, Panel, Series, Tint, number_axis};
use dwell_fleet::{FlagKind, State, Timestamp, seconds_between, shift};

use super::ticks::{span_words, time_axis, time_words};
use super::{Asked, DASH, Drawing, Source, number};
use crate::dto::Reading;
use crate::{ApiError, ErrorCode};

/// Changes, flags and gauges that are read.
const CHANGES_MOST: usize = 500;
const GAUGES_MOST: usize = 20_000;
/// Steps of the log's bars, and of the table.
const STEPS: u32 = 120;
/// Gauges this far apart are joined by no line, seconds: thinned ones are ten minutes apart.
const GAUGE_GAP_S: f64 = 1_500.0;

fn seconds(at: Timestamp) -> f64 {
    at.as_millisecond() as f64 / 1000.0
}

pub(super) fn drawing(source: &Source<'_>, asked: &Asked) -> Result<Drawing, ApiError> {
    let Some(id) = &asked.instance else {
        return Err(ApiError::new(ErrorCode::BadRequest, "this chart is of one instance").hint("say which: --instance ID"));
    };
    let key = (source.key_of)(id)?;
    let (history, fleet) = (source.history, source.fleet);
    let changes: Vec<_> = history
        .transitions(fleet, key, CHANGES_MOST)?
        .into_iter()
        .filter(|change| !matches!(change.kind.as_str(), "vanished" | "returned"))
        .collect();
    let flags = history.flags(fleet, key, CHANGES_MOST)?;
    let Some(first) = changes.first().map(|change| change.entry.at) else {
        return Ok(Drawing::nothing(asked.time_axis(source), "time", "Nothing has been kept of this instance yet."));
    };
    // Its whole life where no time was chosen that begins later.
    let since = asked.since.max(shift(first, -60.0));
    let until = asked.until.max(shift(since, 60.0));
    let gauges = history.gauges(fleet, key, since, GAUGES_MOST)?;
    let step_s = seconds_between(since, until) / f64::from(STEPS);
    let lines = history.log_activity(fleet, key, (since, until), step_s)?;

    let ends = changes.iter().skip(1).map(|change| change.entry.at).chain([until]);
    let stays: Vec<(State, Timestamp, Timestamp)> =
        changes.iter().zip(ends).map(|(change, end)| (change.entry.state.clone(), change.entry.at, end)).collect();
    let blocks = |state: &State| -> Vec<[f64; 4]> {
        stays.iter().filter(|(of, ..)| of == state).map(|(_, from, to)| [seconds(*from), seconds(*to), 0.0, 1.0]).collect()
    };
    let mut seen: Vec<State> = stays.iter().map(|(state, ..)| state.clone()).collect();
    seen.sort();
    seen.dedup();
    let states = seen
        .iter()
        .map(|state| Series {
            name: state.to_string(),
            tint: match state {
                State::Killed => Tint::State(5),
                _ => Tint::State(state.rank().map_or(0, usize::from)),
            },
            form: Form::Blocks(blocks(state)),
        })
        .collect();
    let lane = |label: &str| Axis { label: label.to_owned(), from: 0.0, to: 1.0, ticks: Vec::new() };
    let mut panels = vec![Panel { y: lane("state"), series: states, weight: 2 }];
    if !flags.is_empty() {
        let of = |kind: FlagKind| -> Vec<[f64; 4]> {
            let kind_of = flags.iter().filter(|flag| flag.kind == kind);
            kind_of.map(|flag| [seconds(flag.since), seconds(flag.cleared_at.unwrap_or(until)), 0.0, 1.0]).collect()
        };
        let mut kinds: Vec<FlagKind> = Vec::new();
        for flag in &flags {
            if !kinds.contains(&flag.kind) {
                kinds.push(flag.kind);
            }
        }
        let series = kinds
            .into_iter()
            .map(|kind| Series {
                name: kind.as_str().to_owned(),
                tint: match kind {
                    FlagKind::Slow => Tint::Warn,
                    FlagKind::Invisible => Tint::Group(3),
                    _ => Tint::Alarm,
                },
                form: Form::Blocks(of(kind)),
            })
            .collect();
        panels.push(Panel { y: lane("flag"), series, weight: 1 });
    }
    let bars: Vec<[f64; 4]> =
        lines.iter().map(|(at, count)| [seconds(*at), seconds(*at) + step_s * 0.9, 0.0, *count as f64]).collect();
    let most = bars.iter().map(|bar| bar[3]).fold(0.0, f64::max);
    panels.push(Panel {
        y: number_axis(format!("log lines in {}", span_words(step_s)), most, 2),
        series: vec![Series { name: String::new(), tint: Tint::Accent, form: Form::Blocks(bars) }],
        weight: 3,
    });
    let gauge = |read: fn(&dwell_history::GaugePoint) -> Option<f64>| {
        let mut points: Vec<(f64, Option<f64>)> = Vec::new();
        for point in &gauges {
            let at = seconds(point.at);
            if points.last().is_some_and(|(before, _)| at - before > GAUGE_GAP_S) {
                points.push((at - 1.0, None));
            }
            points.push((at, read(point)));
        }
        points
    };
    for (label, tint, points, most) in [
        ("GPU load, %", Tint::Group(0), gauge(|point| point.gpu_util_percent), Some(100.0)),
        ("GPU temperature, °C", Tint::Group(1), gauge(|point| point.gpu_temp_c), None),
    ] {
        let told = points
            .iter()
            .filter_map(|(_, value)| *value)
            .fold(None, |most: Option<f64>, value| Some(most.map_or(value, |it| it.max(value))));
        if let Some(highest) = told {
            let series = vec![Series { name: String::new(), tint, form: Form::Line(points) }];
            panels.push(Panel { y: number_axis(label, most.unwrap_or(highest), 2), series, weight: 3 });
        }
    }
    let readings = (0..STEPS)
        .map(|step| {
            let (from, to) = (shift(since, step_s * f64::from(step)), shift(since, step_s * f64::from(step + 1)));
            let state =
                stays.iter().rev().find(|(_, begin, end)| *begin < to && *end > from).map(|(state, ..)| state.to_string());
            let flag = flags.iter().find(|flag| flag.since < to && flag.cleared_at.is_none_or(|cleared| cleared > from));
            let count: u64 = lines.iter().filter(|(at, _)| *at >= from && *at < to).map(|(_, count)| count).sum();
            let near = gauges.iter().rev().find(|point| point.at >= from && point.at < to);
            let cell = |value: Option<f64>| value.map_or_else(|| DASH.to_owned(), number);
            Reading {
                from: seconds(from),
                to: seconds(to),
                label: time_words(from, &source.zone),
                cells: vec![
                    state.unwrap_or_else(|| DASH.to_owned()),
                    flag.map_or_else(|| DASH.to_owned(), |flag| flag.kind.as_str().to_owned()),
                    count.to_string(),
                    cell(near.and_then(|point| point.gpu_util_percent)),
                    cell(near.and_then(|point| point.gpu_temp_c)),
                ],
            }
        })
        .collect();
    let story: Vec<String> = stays
        .iter()
        .rev()
        .take(4)
        .map(|(state, from, to)| format!("{state} for {}", span_words(seconds_between(*from, *to))))
        .collect();
    Ok(Drawing {
        sentence: format!("{id}, latest first: {}.", story.join(", ")),
        x: time_axis(since, until, &source.zone, asked.width),
        x_kind: "time",
        panels,
        blind: history
            .gaps(fleet, since)?
            .iter()
            .map(|(from, to)| (seconds(*from), seconds(*to)))
            .collect(),
        notes: vec!["Grey: no answer from the manager. Gauges are vast.ai's; after a week one a minute is kept, after a month one in ten minutes.".to_owned()],
        columns: ["state", "flag", "log lines", "GPU load, %", "GPU, °C"].map(str::to_owned).to_vec(),
        readings,
        readings_down: false,
        empty: false,
        has_behind: false,
    })
}
