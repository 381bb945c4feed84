//! Charts over time.

use std::collections::BTreeMap;

use dwell_charts::{Form, Panel, Series, Tint, number_axis};
use dwell_fleet::over_time::{self, By, Frame, Line};
use dwell_fleet::{Life, State, Timestamp, seconds_between};
use jiff::tz::TimeZone;

use super::ticks::{span_words, time_words};
use super::{Asked, DASH, Drawing, Kind, Source, number, tints};
use crate::ApiError;
use crate::dto::{ChartBehind, Reading};

/// How several lines stand in one panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Together {
    /// On one another: their sum is a number of its own.
    Stacked,
    /// Beside one another.
    Apart,
}

/// Lines, what they measure, and what was left out of them.
struct Told {
    lines: Vec<Line>,
    tints: Vec<Tint>,
    unit: &'static str,
    together: Together,
    notes: Vec<String>,
    /// Numbers of each step add up over time, rather than being a mean.
    counted: bool,
}

pub(super) fn drawing(source: &Source<'_>, asked: &Asked, lives: &[Life]) -> Result<Drawing, ApiError> {
    let frame = asked.frame(source)?;
    if asked.kind == Kind::BenchRates {
        return Ok(rates(source, asked, lives));
    }
    let told = if asked.kind == Kind::Restarts {
        let manager = source.history.manager_starts(source.fleet, asked.since, asked.until)?;
        counted(over_time::restarts(lives, &manager, &frame), "anew")
    } else {
        lines(asked, lives, &frame)
    };
    let x = asked.time_axis(source);
    let known = |line: &Line| line.values.iter().any(Option::is_some);
    if !told.lines.iter().any(known) {
        let why = match source.history.begins(source.fleet)? {
            None => "Nothing has been kept of this fleet yet: charts begin with the first answer of its manager.",
            Some(begins) if begins > asked.until => "This is before the fleet was first watched.",
            _ if told.lines.is_empty() => match asked.kind {
                Kind::Endings if frame.blind().is_empty() => "Nobody was killed or went missing in this time.",
                Kind::Endings => "Nobody was killed or went missing in this time, as far as it was watched.",
                Kind::Restarts => "Neither the manager nor an instance began anew in this time, as far as it was watched.",
                Kind::Throughput | Kind::CostPerProof => "Nobody that was running in this time has reported a benchmark rate.",
                Kind::Cost => "Nobody with a price was rented in this time.",
                _ => "There was no instance in this time.",
            },
            _ => "Nothing of this time was watched.",
        };
        return Ok(Drawing::nothing(x, "time", why));
    }
    let series = drawn(&told, &frame);
    let sums = sums(&told);
    let most = match told.together {
        Together::Stacked => sums.iter().flatten().copied().fold(0.0, f64::max),
        Together::Apart => told.lines.iter().flat_map(|line| line.values.iter().flatten()).copied().fold(0.0, f64::max),
    };
    let readings = (0..frame.len())
        .map(|step| {
            let edge = |step: usize| seconds(frame.edge(step));
            let cell = |value: Option<f64>| value.map_or_else(|| DASH.to_owned(), number);
            let mut cells: Vec<String> = told.lines.iter().map(|line| cell(line.values[step])).collect();
            if told.together == Together::Stacked && told.lines.len() > 1 {
                cells.push(cell(sums[step]));
            }
            Reading { from: edge(step), to: edge(step + 1), label: time_words(frame.edge(step), &source.zone), cells }
        })
        .collect();
    let mut columns: Vec<String> = told.lines.iter().map(|line| line.name.clone()).collect();
    if told.together == Together::Stacked && columns.len() > 1 {
        columns.push("all".to_owned());
    }
    let blind: Vec<(f64, f64)> = frame.blind().iter().map(|(from, to)| (seconds(*from), seconds(*to))).collect();
    let mut notes = told.notes.clone();
    notes.push(format!(
        "Each step is {} long{}.",
        span_words(frame.step_s()),
        if told.counted { "" } else { "; its number is the mean over what was watched of it" }
    ));
    Ok(Drawing {
        sentence: sentence(asked, &told, &sums, &frame),
        x,
        x_kind: "time",
        panels: vec![Panel { y: number_axis(told.unit, most, (asked.height / 38).max(2) as usize), series, weight: 1 }],
        blind,
        notes,
        columns,
        readings,
        readings_down: false,
        empty: false,
        has_behind: true,
    })
}

fn seconds(at: Timestamp) -> f64 {
    at.as_millisecond() as f64 / 1000.0
}

/// Things that happened, each step's number of them.
fn counted(lines: Vec<Line>, unit: &'static str) -> Told {
    let tints = (0..lines.len()).map(Tint::Group).collect();
    Told { tints, lines, unit, together: Together::Stacked, notes: Vec::new(), counted: true }
}

fn lines(asked: &Asked, lives: &[Life], frame: &Frame) -> Told {
    let left_out = |not_told: usize, what: &str| match not_told {
        0 => Vec::new(),
        1 => vec![format!("1 instance is left out: its {what} was not told.")],
        many => vec![format!("{many} instances are left out: their {what} was not told.")],
    };
    let grouped = |split: over_time::Split, unit, together, what| {
        let names: Vec<&str> = split.lines.iter().map(|line| line.name.as_str()).collect();
        let tints = if asked.by == By::Nothing {
            names.iter().map(|name| plain_tint(name)).collect()
        } else {
            tints(&names, lives, asked.by)
        };
        Told { tints, unit, together, notes: left_out(split.not_told, what), counted: false, lines: split.lines }
    };
    match asked.kind {
        Kind::Cost => grouped(over_time::cost(lives, frame, asked.by), "$/h", Together::Stacked, "price"),
        Kind::CostPerProof => {
            grouped(over_time::dollars_per_proof(lives, frame, asked.by), "$/proof", Together::Apart, "price or benchmark rate")
        }
        Kind::States => {
            let lines: Vec<Line> = over_time::states(lives, frame)
                .into_iter()
                .filter(|line| line.name != State::Killed.as_str() && line.values.iter().flatten().any(|value| *value > 0.0))
                .collect();
            let tints = lines.iter().map(|line| Tint::State(State::parse(&line.name).rank().map_or(0, usize::from))).collect();
            Told { lines, tints, unit: "instances", together: Together::Stacked, notes: Vec::new(), counted: false }
        }
        Kind::Endings => counted(over_time::endings(lives, frame), "ended"),
        _ => grouped(over_time::throughput(lives, frame, asked.by), "proofs/h", Together::Stacked, "benchmark rate"),
    }
}

/// Of what is not split: money by what it buys, else the one line there is.
fn plain_tint(name: &str) -> Tint {
    match name {
        "proving" => Tint::State(4),
        "waiting" => Tint::Group(4),
        "leaking" => Tint::Alarm,
        _ => Tint::Accent,
    }
}

fn drawn(told: &Told, frame: &Frame) -> Vec<Series> {
    let mut base = vec![0.0; frame.len()];
    let ends = |step: usize| seconds(frame.edge(step));
    told.lines
        .iter()
        .zip(&told.tints)
        .map(|(line, tint)| {
            let form = match told.together {
                Together::Stacked => {
                    let mut points: Vec<(f64, Option<(f64, f64)>)> = Vec::with_capacity(frame.len() + 1);
                    for (step, value) in line.values.iter().enumerate() {
                        points.push((ends(step), value.map(|value| (base[step], base[step] + value))));
                        base[step] += value.unwrap_or(0.0);
                    }
                    points.push((ends(frame.len()), None));
                    Form::Area(points)
                }
                Together::Apart => {
                    let points = line.values.iter().enumerate().map(|(step, value)| (ends(step), *value));
                    Form::Held(points.chain([(ends(frame.len()), None)]).collect())
                }
            };
            Series { name: line.name.clone(), tint: *tint, form }
        })
        .collect()
}

/// All lines of each step together; `None` where nothing was watched.
fn sums(told: &Told) -> Vec<Option<f64>> {
    let steps = told.lines.first().map_or(0, |line| line.values.len());
    (0..steps)
        .map(|step| {
            let mut told = told.lines.iter().filter_map(|line| line.values[step]).peekable();
            told.peek().is_some().then_some(()).map(|()| told.sum())
        })
        .collect()
}

fn sentence(asked: &Asked, told: &Told, sums: &[Option<f64>], frame: &Frame) -> String {
    let title = asked.kind.told().1;
    let unit = told.unit;
    let values: Vec<f64> = match told.together {
        Together::Stacked => sums.iter().flatten().copied().collect(),
        Together::Apart => told.lines.first().map(|line| line.values.iter().flatten().copied().collect()).unwrap_or_default(),
    };
    let (least, most) = values.iter().fold((f64::MAX, f64::MIN), |(least, most), value| (least.min(*value), most.max(*value)));
    let all: f64 = values.iter().sum();
    let whose = match told.together {
        Together::Apart if told.lines.len() > 1 => told.lines.first().map(|line| format!(" ({})", line.name)).unwrap_or_default(),
        _ => String::new(),
    };
    let mut words = if told.counted {
        format!("{title} {}: {all:.0} in all, at most {most:.0} in one step", asked.span_words())
    } else {
        let last = values.last().copied().unwrap_or(0.0);
        format!(
            "{title}{whose} {}: {} {unit} at the end, {} on average, between {} and {}",
            asked.span_words(),
            number(last),
            number(all / values.len().max(1) as f64),
            number(least),
            number(most)
        )
    };
    let total = |line: &Line| line.values.iter().flatten().sum::<f64>();
    if told.together == Together::Stacked
        && told.lines.len() > 1
        && let Some(largest) = told.lines.iter().max_by(|left, right| total(left).total_cmp(&total(right)))
        && all > 0.0
    {
        words.push_str(&format!("; most of it {} ({:.0} %)", largest.name, total(largest) / all * 100.0));
    }
    let blind: f64 =
        frame.blind().iter().map(|(from, to)| seconds_between((*from).max(asked.since), (*to).min(asked.until)).max(0.0)).sum();
    if blind >= 60.0 {
        words.push_str(&format!(". Not watched for {} of it", span_words(blind)));
    }
    words.push('.');
    words
}

/// Reported rates as points: when, how much, by group.
fn rates(source: &Source<'_>, asked: &Asked, lives: &[Life]) -> Drawing {
    let x = asked.time_axis(source);
    let mut groups: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    let mut rows: Vec<(Timestamp, &Life, f64)> = reported(lives, asked).collect();
    rows.sort_by(|left, right| left.0.cmp(&right.0).then_with(|| left.1.id.cmp(&right.1.id)));
    if rows.is_empty() {
        return Drawing::nothing(x, "time", "No benchmark was reported in this time.");
    }
    for (at, life, rate) in &rows {
        groups.entry(asked.by.group(life)).or_default().push((seconds(*at), *rate));
    }
    // As many groups as there are colours; the least of them stand together.
    let mut ranked: Vec<(String, Vec<(f64, f64)>)> = groups.into_iter().collect();
    ranked.sort_by_key(|(_, points)| std::cmp::Reverse(points.len()));
    if ranked.len() > over_time::GROUPS_MOST + 1 {
        let rest = ranked.split_off(over_time::GROUPS_MOST).into_iter().flat_map(|(_, points)| points).collect();
        ranked.push((over_time::OTHER.to_owned(), rest));
    }
    let names: Vec<&str> = ranked.iter().map(|(name, _)| name.as_str()).collect();
    let tints = if asked.by == By::Nothing { vec![Tint::Accent; names.len()] } else { tints(&names, lives, asked.by) };
    let mut rates: Vec<f64> = rows.iter().map(|(.., rate)| *rate).collect();
    rates.sort_by(f64::total_cmp);
    let (least, middle, most) = (rates[0], rates[rates.len() / 2], rates[rates.len() - 1]);
    let readings = rows
        .iter()
        .map(|(at, life, rate)| Reading {
            from: seconds(*at),
            to: seconds(*at),
            label: time_words(*at, &source.zone),
            cells: vec![
                number(*rate),
                life.gpu.clone().unwrap_or_else(|| DASH.to_owned()),
                life.machine.map_or_else(|| DASH.to_owned(), |id| id.to_string()),
                life.id.clone(),
            ],
        })
        .collect();
    let series = ranked
        .iter()
        .zip(tints)
        .map(|((name, points), tint)| Series { name: name.clone(), tint, form: Form::Points(points.clone()) })
        .collect();
    Drawing {
        sentence: format!(
            "{} benchmark rates {}: half of them above {} proofs/h, between {} and {}.",
            rows.len(),
            asked.span_words(),
            number(middle),
            number(least),
            number(most)
        ),
        x,
        x_kind: "time",
        panels: vec![Panel { y: number_axis("proofs/h", most, (asked.height / 38).max(2) as usize), series, weight: 1 }],
        blind: Vec::new(),
        notes: vec!["A rate stands where the benchmark was reported, or where the instance was first seen with it.".to_owned()],
        columns: ["proofs/h", "card", "machine", "instance"].map(str::to_owned).to_vec(),
        readings,
        readings_down: false,
        empty: false,
        has_behind: true,
    }
}

/// Benchmarks by when they were reported.
fn reported<'a>(lives: &'a [Life], asked: &Asked) -> impl Iterator<Item = (Timestamp, &'a Life, f64)> {
    let (since, until) = (asked.since, asked.until);
    lives.iter().filter_map(move |life| {
        let rate = life.bench_rate_proofs_per_h.filter(|rate| *rate > 0.0)?;
        let entry = life.entries.iter().find(|entry| matches!(entry.state, State::BenchDone | State::Running))?;
        (entry.at >= since && entry.at <= until).then_some((entry.at, life, rate))
    })
}

pub(super) fn behind<'a>(asked: &Asked, lives: &'a [Life], request: &ChartBehind, zone: &TimeZone) -> Vec<(&'a Life, String)> {
    let time = |at: f64| Timestamp::from_millisecond((at * 1000.0) as i64).unwrap_or(asked.until);
    let (from, to) = (time(request.from).max(asked.since), time(request.to.max(request.from + 0.001)));
    let wanted = |group: &str| request.group.as_deref().is_none_or(|it| it == group || it == over_time::OTHER || it == "all");
    let mut found = Vec::new();
    for life in lives {
        let by_group = wanted(&asked.by.group(life)) || asked.by == By::Nothing;
        let overlapping = |span: &dwell_fleet::Span<'_>| span.from < to && span.until > from;
        match asked.kind {
            Kind::BenchRates => {
                let at = reported(std::slice::from_ref(life), asked).find(|(at, ..)| *at >= from && *at <= to);
                if let Some((at, _, rate)) = at {
                    found.push((life, format!("{} proofs/h, {}", number(rate), time_words(at, zone))));
                }
            }
            Kind::Endings => {
                let killed = life.entries.iter().find(|entry| entry.state == State::Killed && entry.at >= from && entry.at < to);
                let gone = life.absences.last().filter(|(gone, back)| back.is_none() && *gone >= from && *gone < to);
                if let Some(entry) = killed {
                    let why = life.kill_reason.as_deref().unwrap_or("no reason told");
                    found.push((life, format!("killed {}: {why}", time_words(entry.at, zone))));
                } else if let Some((gone, _)) = gone.filter(|_| life.entries.last().is_none_or(|it| it.state != State::Killed)) {
                    found.push((life, format!("vanished {}", time_words(*gone, zone))));
                }
            }
            Kind::Restarts => {
                let mut anew = over_time::anew(life).filter(|(at, what)| *at >= from && *at < to && wanted(what));
                found.extend(anew.next().map(|(at, what)| (life, format!("{what} {}", time_words(at, zone)))));
            }
            _ => {
                let counts = |span: &dwell_fleet::Span<'_>| match asked.kind {
                    Kind::Throughput | Kind::CostPerProof => *span.state == State::Running && by_group,
                    Kind::States => *span.state != State::Killed && wanted(span.state.as_str()),
                    _ => (*span.state == State::Running || span.state.is_waiting()) && by_group,
                };
                if let Some(span) = life.spans().find(|span| overlapping(span) && counts(span)) {
                    let rate = life.bench_rate_proofs_per_h.filter(|_| *span.state == State::Running);
                    let rate = rate.map(|rate| format!(", {} proofs/h", number(rate))).unwrap_or_default();
                    let price = life.dollars_per_h.map(|price| format!(", ${}/h", number(price))).unwrap_or_default();
                    found.push((life, format!("{} since {}{rate}{price}", span.state, time_words(span.from, zone))));
                }
            }
        }
    }
    found
}
