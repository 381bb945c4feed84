//! Charts of how long stays last, group beside group.

use dwell_charts::{Axis, Form, Panel, Quantiles, Series, Step, Tint, number_axis};
use dwell_fleet::over_time::{self, By};
use dwell_fleet::{Life, Outcome, Stay, Survival, log_rank};

use super::ticks::{span_axis, span_words};
use super::{Asked, DASH, Drawing, Kind, number, tints};
use crate::dto::{ChartBehind, Reading};

/// Quantiles of a box.
const QUANTILES: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];
/// Bars of a histogram, about.
const BARS: usize = 24;
/// An axis ends where this share of all has ended, and half as far again: a few that never end would squeeze all others.
const SHOWN_SHARE: f64 = 0.95;

pub(super) fn drawing(asked: &Asked, lives: &[Life]) -> Drawing {
    match asked.kind {
        Kind::UntilRunning | Kind::SpentBefore => before_running(asked, lives),
        _ => dwell(asked, lives),
    }
}

fn dwell(asked: &Asked, lives: &[Life]) -> Drawing {
    let groups = over_time::stays(lives, &asked.state, asked.since, asked.until, asked.by);
    if groups.is_empty() {
        let why = format!("No stay in {} began in this time, as far as its beginning is dated.", asked.state);
        return Drawing::nothing(span_axis(3_600.0), "span", why);
    }
    match asked.kind {
        Kind::DwellHistogram => histogram(asked, &groups[0].1),
        Kind::DwellBoxes => boxes(asked, lives, &groups, Measure::Time),
        _ => curves(asked, lives, &groups),
    }
}

/// How far an axis goes.
fn reach<'a>(groups: impl Iterator<Item = &'a [Stay]>) -> f64 {
    let mut longest = 0.0f64;
    let mut shown = 0.0f64;
    for stays in groups {
        let curve = Survival::estimate(stays);
        longest = longest.max(curve.seen_until_s);
        shown = shown.max(curve.quantile_s(SHOWN_SHARE).map_or(curve.seen_until_s, |at| at * 1.5));
    }
    shown.min(longest).max(1.0)
}

fn curves(asked: &Asked, lives: &[Life], groups: &[(String, Vec<Stay>)]) -> Drawing {
    let names: Vec<&str> = groups.iter().map(|(name, _)| name.as_str()).collect();
    let tints = if asked.by == By::Nothing { vec![Tint::Accent] } else { tints(&names, lives, asked.by) };
    let estimates: Vec<Survival> = groups.iter().map(|(_, stays)| Survival::estimate(stays)).collect();
    let x = span_axis(reach(groups.iter().map(|(_, stays)| stays.as_slice())));
    let series = names
        .iter()
        .zip(&estimates)
        .zip(tints)
        .map(|((name, curve), tint)| {
            let begin = Step { x: 0.0, y: 1.0, band: None };
            let steps = curve.steps.iter().map(|step| Step { x: step.age_s, y: step.share, band: step.lower.zip(step.upper) });
            // No more steps than can be told apart.
            let steps = thinned([begin].into_iter().chain(steps).collect(), x.to / f64::from(asked.width.max(1)));
            Series { name: (*name).to_owned(), tint, form: Form::Curve { steps, until: curve.seen_until_s } }
        })
        .collect();
    let parts = 24;
    let readings = (0..=parts)
        .map(|part| {
            let at = x.to * f64::from(part) / f64::from(parts);
            let cell = |curve: &Survival| {
                if at > curve.seen_until_s {
                    return DASH.to_owned();
                }
                let band = curve.steps.iter().rev().find(|step| step.age_s <= at).and_then(|step| step.lower.zip(step.upper));
                let band =
                    band.map(|(lower, upper)| format!(" ({:.0} to {:.0} %)", lower * 100.0, upper * 100.0)).unwrap_or_default();
                format!("{:.0} %{band}", curve.share_at(at) * 100.0)
            };
            let half = x.to / f64::from(parts) / 2.0;
            Reading { from: at - half, to: at + half, label: span_words(at), cells: estimates.iter().map(cell).collect() }
        })
        .collect();
    let all: usize = estimates.iter().map(|curve| curve.stays).sum();
    let ended: usize = estimates.iter().map(|curve| curve.ended).sum();
    let mut sentence = format!("Of {all} stays in {} {}, {ended} have ended.", asked.state, asked.span_words());
    for (name, curve) in names.iter().zip(&estimates).take(3) {
        let half = curve
            .quantile_s(0.5)
            .map_or_else(|| "half are still there".to_owned(), |at| format!("half left within {}", span_words(at)));
        let whose = if asked.by == By::Nothing { String::new() } else { format!("{name}: ") };
        let late = curve.quantile_s(0.95).map(|at| format!(", 95 % within {}", span_words(at))).unwrap_or_default();
        sentence.push_str(&format!(" {whose}{}{late}.", capital(&half, whose.is_empty())));
    }
    let mut notes = vec![
        "Leaving counts however it ends: going on and being killed alike. Rentals seen late count from when they were seen."
            .to_owned(),
    ];
    let stays: Vec<Vec<Stay>> = groups.iter().map(|(_, stays)| stays.clone()).collect();
    if let Some(test) = log_rank(&stays) {
        notes.push(format!(
            "Do the groups differ? Log-rank test: chi-squared {:.1} with {} {}, p {}.",
            test.chi_squared,
            test.degrees,
            if test.degrees == 1 { "degree of freedom" } else { "degrees of freedom" },
            if test.p < 0.001 { "below 0.001".to_owned() } else { format!("{:.3}", test.p) }
        ));
    }
    let y = Axis {
        label: "still there".to_owned(),
        from: 0.0,
        to: 1.0,
        ticks: [0.0, 0.25, 0.5, 0.75, 1.0].map(|at| (at, format!("{:.0} %", at * 100.0))).to_vec(),
    };
    Drawing {
        x,
        x_kind: "span",
        panels: vec![Panel { y, series, weight: 1 }],
        blind: Vec::new(),
        sentence,
        notes,
        columns: names
            .iter()
            .zip(&estimates)
            .map(|(name, curve)| format!("{name} ({} of {} ended)", curve.ended, curve.stays))
            .collect(),
        readings,
        readings_down: false,
        empty: false,
        has_behind: true,
    }
}

fn capital(words: &str, first: bool) -> String {
    match words.chars().next() {
        Some(letter) if first => letter.to_uppercase().chain(words.chars().skip(1)).collect(),
        _ => words.to_owned(),
    }
}

/// Steps at least so far apart: the last of those that fall together.
fn thinned(steps: Vec<Step>, apart: f64) -> Vec<Step> {
    let mut kept: Vec<Step> = Vec::new();
    for step in steps {
        match kept.last_mut() {
            Some(last) if last.x > 0.0 && step.x - last.x < apart => *last = Step { x: last.x, ..step },
            _ => kept.push(step),
        }
    }
    kept
}

fn histogram(asked: &Asked, stays: &[Stay]) -> Drawing {
    let running = stays.iter().filter(|stay| stay.outcome == Outcome::Censored).count();
    let ended: Vec<Stay> = stays.iter().filter(|stay| stay.outcome != Outcome::Censored).copied().collect();
    if ended.is_empty() {
        let why = format!("No stay in {} that began in this time has ended; {running} go on.", asked.state);
        return Drawing::nothing(span_axis(3_600.0), "span", why);
    }
    let x = span_axis(reach([ended.as_slice()].into_iter()));
    let width = x.to / BARS as f64;
    let count = |outcome: Outcome| {
        let mut counts = [0.0; BARS];
        for stay in ended.iter().filter(|stay| stay.outcome == outcome) {
            if let Some(bar) = counts.get_mut((stay.until_s / width) as usize) {
                *bar += 1.0;
            }
        }
        counts
    };
    let (advanced, killed) = (count(Outcome::Advanced), count(Outcome::Killed));
    let blocks = |low: &dyn Fn(usize) -> f64, high: &dyn Fn(usize) -> f64| {
        let bar = |n: usize| [(n as f64 + 0.06) * width, (n as f64 + 0.94) * width, low(n), high(n)];
        (0..BARS).filter(|n| high(*n) > low(*n)).map(bar).collect::<Vec<_>>()
    };
    let series = vec![
        Series { name: "went on".to_owned(), tint: Tint::State(4), form: Form::Blocks(blocks(&|_| 0.0, &|n| advanced[n])) },
        Series {
            name: "killed".to_owned(),
            tint: Tint::Alarm,
            form: Form::Blocks(blocks(&|n| advanced[n], &|n| advanced[n] + killed[n])),
        },
    ];
    let series = series.into_iter().filter(|it| !matches!(&it.form, Form::Blocks(blocks) if blocks.is_empty())).collect();
    let most = (0..BARS).map(|n| advanced[n] + killed[n]).fold(0.0, f64::max);
    let readings = (0..BARS)
        .map(|n| {
            let (from, to) = (n as f64 * width, (n + 1) as f64 * width);
            Reading {
                from,
                to,
                label: format!("{} to {}", span_words(from), span_words(to)),
                cells: vec![number(advanced[n]), number(killed[n])],
            }
        })
        .collect();
    let beyond = ended.iter().filter(|stay| stay.until_s >= x.to).count();
    let mut notes = Vec::new();
    if running > 0 {
        notes.push(format!(
            "{running} that go on are not among them: a histogram of what has ended is shorter than what is to come."
        ));
    }
    if beyond > 0 {
        notes.push(format!("{beyond} that took longer than {} are not shown.", span_words(x.to)));
    }
    let kills = killed.iter().fold(0.0, |sum, count| sum + count);
    Drawing {
        sentence: format!(
            "{} stays in {} ended {}: {:.0} were killed, the others went on.",
            ended.len(),
            asked.state,
            asked.span_words(),
            kills
        ),
        x,
        x_kind: "span",
        panels: vec![Panel { y: number_axis("stays", most, (asked.height / 38).max(2) as usize), series, weight: 1 }],
        blind: Vec::new(),
        notes,
        columns: vec!["went on".to_owned(), "killed".to_owned()],
        readings,
        readings_down: false,
        empty: false,
        has_behind: true,
    }
}

/// What a box measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measure {
    /// Seconds.
    Time,
    /// US dollars.
    Money,
}

impl Measure {
    fn words(self, value: f64) -> String {
        match self {
            Self::Time => span_words(value),
            Self::Money => format!("${value:.2}"),
        }
    }
}

fn boxes(asked: &Asked, lives: &[Life], groups: &[(String, Vec<Stay>)], measure: Measure) -> Drawing {
    let count = groups.len();
    let reach = reach(groups.iter().map(|(_, stays)| stays.as_slice()));
    let x = match measure {
        Measure::Time => span_axis(reach),
        Measure::Money => number_axis("$", reach, 6),
    };
    let estimates: Vec<Survival> = groups.iter().map(|(_, stays)| Survival::estimate(stays)).collect();
    let names: Vec<&str> = groups.iter().map(|(name, _)| name.as_str()).collect();
    let tints = if asked.by == By::Nothing { vec![Tint::Accent; count] } else { tints(&names, lives, asked.by) };
    // The largest group on top.
    let place = |index: usize| (count - 1 - index) as f64 + 0.5;
    let series = estimates
        .iter()
        .zip(tints)
        .enumerate()
        .map(|(index, (curve, tint))| {
            let quantiles =
                Quantiles { at: place(index), values: QUANTILES.map(|q| curve.quantile_s(q)), seen: curve.seen_until_s };
            Series { name: String::new(), tint, form: Form::Boxes(vec![quantiles]) }
        })
        .collect();
    let cells = |curve: &Survival| {
        let quantile = |q: f64| curve.quantile_s(q).map_or_else(|| DASH.to_owned(), |at| measure.words(at));
        let counts = [curve.stays.to_string(), curve.ended.to_string()];
        counts.into_iter().chain(QUANTILES.map(quantile)).collect::<Vec<_>>()
    };
    let readings = names
        .iter()
        .zip(&estimates)
        .enumerate()
        .map(|(index, (name, curve))| Reading {
            from: index as f64,
            to: index as f64 + 1.0,
            label: (*name).to_owned(),
            cells: cells(curve),
        })
        .collect();
    let what = match asked.kind {
        Kind::DwellBoxes => format!("stays in {}", asked.state),
        _ => "rentals".to_owned(),
    };
    let all: usize = estimates.iter().map(|curve| curve.stays).sum();
    let medians: Vec<String> = names
        .iter()
        .zip(&estimates)
        .take(3)
        .filter_map(|(name, curve)| Some(format!("{name} {}", measure.words(curve.quantile_s(0.5)?))))
        .collect();
    let medians =
        if medians.is_empty() { "no group has a median yet".to_owned() } else { format!("medians: {}", medians.join(", ")) };
    Drawing {
        sentence: format!("{all} {what} {}; {medians}.", asked.span_words()),
        x,
        x_kind: if measure == Measure::Time { "span" } else { "money" },
        panels: vec![Panel {
            y: Axis {
                label: String::new(),
                from: 0.0,
                to: count as f64,
                ticks: names.iter().enumerate().map(|(index, name)| (place(index), (*name).to_owned())).collect(),
            },
            series,
            weight: 1,
        }],
        blind: Vec::new(),
        notes: vec![
            "Percentiles count those that go on as at least so long; a dash is where too few have ended to say.".to_owned(),
        ],
        columns: ["all", "ended", "5 %", "25 %", "half", "75 %", "95 %"].map(str::to_owned).to_vec(),
        readings,
        readings_down: true,
        empty: false,
        has_behind: true,
    }
}

fn before_running(asked: &Asked, lives: &[Life]) -> Drawing {
    let groups = over_time::until_running(lives, asked.since, asked.until, asked.by);
    if groups.is_empty() {
        let axis = if asked.kind == Kind::SpentBefore { number_axis("$", 1.0, 5) } else { span_axis(3_600.0) };
        return Drawing::nothing(axis, "span", "No rental began in this time, as far as its beginning is dated.");
    }
    let money = asked.kind == Kind::SpentBefore;
    // Who was killed before it was running never got there: it stays open, as one that still waits does.
    let as_waiting = |stay: &Stay| match stay.outcome {
        Outcome::Advanced => *stay,
        _ => Stay { outcome: Outcome::Censored, ..*stay },
    };
    let priced = |stay: Stay, spent: Option<f64>| {
        let share = if stay.until_s > 0.0 { stay.watched_from_s / stay.until_s } else { 0.0 };
        spent.map(|spent| Stay { watched_from_s: spent * share, until_s: spent, outcome: stay.outcome })
    };
    let measured: Vec<(String, Vec<Stay>)> = groups
        .iter()
        .map(|(name, found)| {
            let of = |(stay, spent): &(Stay, Option<f64>)| {
                if money { priced(as_waiting(stay), *spent) } else { Some(as_waiting(stay)) }
            };
            (name.clone(), found.iter().filter_map(of).collect())
        })
        .filter(|(_, stays): &(String, Vec<Stay>)| !stays.is_empty())
        .collect();
    let mut drawing = boxes(asked, lives, &measured, if money { Measure::Money } else { Measure::Time });
    let all = || groups.iter().flat_map(|(_, found)| found);
    // A sum of nothing is -0.
    let sum = |amounts: &mut dyn Iterator<Item = f64>| amounts.fold(0.0, |sum, amount| sum + amount);
    let lost = sum(&mut all().filter(|(stay, _)| stay.outcome == Outcome::Killed).filter_map(|(_, spent)| *spent));
    let killed = all().filter(|(stay, _)| stay.outcome == Outcome::Killed).count();
    let spent = sum(&mut all().filter_map(|(_, spent)| *spent));
    drawing
        .sentence
        .push_str(&format!(" {killed} were killed before they were running, after ${lost:.2}; all waiting cost ${spent:.2}."));
    let without = all().filter(|(_, spent)| spent.is_none()).count();
    if without > 0 {
        drawing.notes.push(format!("{without} whose price was not told cost nothing in these sums."));
    }
    drawing
}

pub(super) fn behind<'a>(asked: &Asked, lives: &'a [Life], request: &ChartBehind) -> Vec<(&'a Life, String)> {
    let begun = |at| at >= asked.since && at < asked.until;
    let groups = match asked.kind {
        Kind::UntilRunning | Kind::SpentBefore => over_time::until_running(lives, asked.since, asked.until, asked.by)
            .into_iter()
            .map(|(name, _)| name)
            .collect::<Vec<_>>(),
        _ => {
            over_time::stays(lives, &asked.state, asked.since, asked.until, asked.by).into_iter().map(|(name, _)| name).collect()
        }
    };
    // Of boxes a reading is a group; of others it is a time, and the group may be given.
    let down = !matches!(asked.kind, Kind::Dwell | Kind::DwellHistogram);
    let wanted = if down { groups.get(request.from.max(0.0) as usize).cloned() } else { request.group.clone() };
    let is_in = |life: &Life| {
        let group = asked.by.group(life);
        wanted.as_ref().is_none_or(|wanted| *wanted == group || wanted == over_time::OTHER && !groups.contains(&group))
    };
    let mut found: Vec<(f64, &Life, String)> = Vec::new();
    for life in lives.iter().filter(|life| is_in(life)) {
        let stays: Vec<Stay> = match asked.kind {
            Kind::UntilRunning | Kind::SpentBefore => {
                life.until_running().filter(|(at, _)| begun(*at)).map(|(_, stay)| stay).into_iter().collect()
            }
            _ => {
                let of = life.stays().into_iter();
                of.filter(|(state, at, _)| *state == asked.state && begun(*at)).map(|(.., stay)| stay).collect()
            }
        };
        for stay in stays {
            let here = match asked.kind {
                // Still there at that age.
                Kind::Dwell => stay.until_s >= request.from,
                Kind::DwellHistogram => {
                    stay.outcome != Outcome::Censored && stay.until_s >= request.from && stay.until_s < request.to
                }
                _ => true,
            };
            if here {
                let how = match stay.outcome {
                    Outcome::Advanced => "went on after",
                    Outcome::Killed => "killed after",
                    Outcome::Censored => "there for",
                };
                found.push((stay.until_s, life, format!("{how} {}", span_words(stay.until_s))));
            }
        }
    }
    // The longest first: they are asked about.
    found.sort_by(|left, right| right.0.total_cmp(&left.0));
    found.into_iter().map(|(_, life, was)| (life, was)).collect()
}
