//! A benchmark as a file to keep or to show: Markdown, and a picture.

use dwell_bench::calibrate::Estimate;
use dwell_bench::run::{Depth, Record};
use dwell_bench::verdicts::Gravity;
use dwell_bench::work::rate;
use dwell_charts::{Bar, Card, Line, Mark, Theme, Trace};
use dwell_fleet::{Timestamp, plain_letter};

use crate::{ApiError, ErrorCode};

/// The form of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BenchForm {
    /// The record itself, whole.
    Json,
    /// Markdown.
    Markdown,
    /// A picture, as pixels.
    Png,
    /// A picture that is sharp at any size.
    Svg,
}

impl BenchForm {
    /// Of a name or of the end of a file's name.
    pub fn named(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "json" => Some(Self::Json),
            "markdown" | "md" => Some(Self::Markdown),
            "png" => Some(Self::Png),
            "svg" => Some(Self::Svg),
            _ => None,
        }
    }

    /// How the name of such a file ends.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Markdown => "md",
            Self::Png => "png",
            Self::Svg => "svg",
        }
    }
}

/// A record as a file.
pub fn bench_file(
    record: &Record,
    fleet: Option<&Estimate>,
    at: Timestamp,
    form: BenchForm,
    theme: Theme,
) -> Result<Vec<u8>, ApiError> {
    let undrawn = |error: dwell_charts::DrawError| ApiError::new(ErrorCode::NotDrawn, error.to_string());
    match form {
        BenchForm::Json => serde_json::to_vec_pretty(record).map_err(|error| ApiError::new(ErrorCode::Bug, error.to_string())),
        BenchForm::Markdown => Ok(markdown(record, fleet, at).into_bytes()),
        BenchForm::Svg => picture(record, fleet, at, theme).svg().map(String::into_bytes).map_err(undrawn),
        BenchForm::Png => Card { scale: 2, ..picture(record, fleet, at, theme) }.png().map_err(undrawn),
    }
}

fn depth(depth: Depth) -> String {
    match depth {
        Depth::Quick => "quick".to_owned(),
        Depth::Full => "full".to_owned(),
        Depth::Soak(seconds) => format!("full, then a soak of {:.0} min", seconds / 60.0),
    }
}

/// What it would prove, and what is said of it.
fn figure(record: &Record) -> (String, String) {
    match &record.prediction {
        Some(told) => (
            format!("{:.0} proofs/h", told.proofs_per_h),
            format!("predicted, from {:.0} to {:.0}; limited by {}", told.least, told.most, told.limit.as_str()),
        ),
        None => ("No prediction".to_owned(), "what was measured does not carry one: see below".to_owned()),
    }
}

fn foot(record: &Record, at: Timestamp) -> String {
    format!(
        "Dwell {}, {}, {}, kernels {}, record version {}",
        env!("CARGO_PKG_VERSION"),
        at.strftime("%Y-%m-%d %H:%M UTC"),
        depth(record.depth),
        record.kernels,
        record.version
    )
}

/// Beside the prediction: what was measured by the real prover, here or on one's own machines.
fn beside(record: &Record, fleet: Option<&Estimate>) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(it) = &record.external {
        let failed = if it.failed > 0 { format!(", {} failed", it.failed) } else { String::new() };
        lines.push(format!(
            "The prover's own client measured {:.1} proofs/h here ({} proofs{failed}).",
            it.proofs_per_h, it.completed
        ));
    }
    if let Some(it) = fleet {
        lines.push(format!(
            "Your machines with such cards: {:.0} proofs/h, from {:.0} to {:.0} ({}).",
            it.proofs_per_h,
            it.least,
            it.most,
            it.words()
        ));
    }
    lines
}

fn picture(record: &Record, fleet: Option<&Estimate>, at: Timestamp, theme: Theme) -> Card {
    let (figure, under) = figure(record);
    let mark = |gravity| match gravity {
        Gravity::Note => Mark::Note,
        Gravity::Warning => Mark::Warning,
        Gravity::Bad => Mark::Bad,
    };
    let mut lines: Vec<Line> = record.verdicts.iter().map(|it| Line { mark: mark(it.gravity), text: it.text.clone() }).collect();
    if lines.is_empty() {
        lines.push(Line { mark: Mark::Good, text: "Every result was right, and nothing held it back.".to_owned() });
    }
    lines.extend(beside(record, fleet).into_iter().map(|text| Line { mark: Mark::Note, text }));
    let over = |title: &str, unit: &str, of: fn(&dwell_bench::device::Reading) -> Option<f64>| Trace {
        title: title.to_owned(),
        unit: unit.to_owned(),
        points: record.readings.iter().map(|reading| (reading.at_s, of(reading))).collect(),
    };
    Card {
        title: format!(
            "{}{}",
            record.card.name,
            record.card.driver.as_ref().map_or_else(String::new, |driver| format!(", driver {driver}"))
        ),
        simulated: record.card.simulated,
        figure,
        under,
        lines,
        bars: record
            .measured
            .iter()
            .map(|it| Bar { label: it.title.clone(), value: rate(it.median, it.unit), share: it.of_most })
            .collect(),
        traces: vec![
            over("Clock", "MHz", |it| it.clock_mhz),
            over("Temperature", "\u{b0}C", |it| it.temperature_c),
            over("Power", "W", |it| it.power_w),
            Trace {
                title: "Soak, against its first window".to_owned(),
                unit: "%".to_owned(),
                points: record.soak.iter().map(|(at_s, rate)| (*at_s, Some(rate * 100.0))).collect(),
            },
        ],
        foot: foot(record, at),
        theme,
        scale: 1,
    }
}

/// Words in a cell of a table: nothing that ends the cell or begins something else.
fn cell(text: &str) -> String {
    text.chars()
        .flat_map(|letter| match letter {
            '|' | '<' | '>' | '*' | '_' | '`' | '[' | ']' | '\\' => vec!['\\', letter],
            letter => vec![plain_letter(letter)],
        })
        .collect()
}

fn markdown(record: &Record, fleet: Option<&Estimate>, at: Timestamp) -> String {
    let (figure, under) = figure(record);
    let mut text = format!("# {}\n\n**{figure}**, {under}\n\n", cell(&record.card.name));
    let mut line = |words: String| text.push_str(&(words + "\n"));
    if record.card.simulated {
        line("*Simulated: no card was measured.*\n".to_owned());
    }
    for it in &record.verdicts {
        line(format!("- {}", cell(&it.text)));
    }
    if record.verdicts.is_empty() {
        line("- Every result was right, and nothing held it back.".to_owned());
    }
    beside(record, fleet).iter().for_each(|words| line(format!("- {}", cell(words))));
    line("\n| Test | Median | p10 | p90 | Runs | Spread | Of the most |\n|---|---|---|---|---|---|---|".to_owned());
    for it in &record.measured {
        let most = it.of_most.map_or_else(|| "\u{2013}".to_owned(), |share| format!("{:.0} %", share * 100.0));
        let (median, p10, p90) = (rate(it.median, it.unit), rate(it.p10, it.unit), rate(it.p90, it.unit));
        line(format!("| {} | {median} | {p10} | {p90} | {} | {:.2} % | {most} |", it.title, it.runs, it.spread_percent));
    }
    if let Some(told) = &record.prediction {
        line("\n| Part of a proof | Seconds, were it alone in the way |\n|---|---|".to_owned());
        told.parts.iter().for_each(|(limit, seconds)| line(format!("| {} | {seconds:.1} |", limit.as_str())));
        if !told.left_out.is_empty() {
            line(format!("\nNot told, and so not in it: {}.", told.left_out.join(", ")));
        }
    }
    if !record.published.is_empty() {
        line("\n| Test | Here | Published | By | Source |\n|---|---|---|---|---|".to_owned());
        for it in &record.published {
            let (here, there) = (it.seconds * 1000.0, it.published_s * 1000.0);
            line(format!("| {} | {here:.2} ms | {there:.2} ms | {} | {} |", it.title, it.by, it.source));
        }
    }
    line(format!("\n{}", foot(record, at)));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_bench::predict::HostFigures;
    use dwell_bench::simulated::Simulated;

    fn record(name: &str) -> Record {
        dwell_bench::run::run(&mut Simulated::named(name).unwrap(), Depth::Quick, &HostFigures::default(), &mut |_| true)
    }

    #[test]
    fn markdown_says_what_was_measured_and_that_it_was_simulated() {
        let at = "2026-12-01T10:00:00Z".parse().unwrap();
        let text = bench_file(&record("rtx-4090"), None, at, BenchForm::Markdown, Theme::Light).unwrap();
        let text = String::from_utf8(text).unwrap();
        let rows = text.lines().filter(|line| line.starts_with("| ") && line.matches('|').count() == 8).count();
        assert!(rows == 16 && text.contains("*Simulated") && text.contains("proofs/h**"), "{text}");
        let wrong = bench_file(&record("wrong"), None, at, BenchForm::Markdown, Theme::Light).unwrap();
        assert!(String::from_utf8(wrong).unwrap().contains("computes wrongly"));
    }

    #[test]
    fn a_name_from_outside_cannot_leave_its_place() {
        let mut record = record("rtx-4090");
        record.card.name = "RTX |<img src=x>`\n# no".to_owned();
        let text = markdown(&record, None, "2026-12-01T10:00:00Z".parse().unwrap());
        assert!(text.starts_with("# RTX \\|\\<img src=x\\>\\` # no\n"), "{text}");
    }

    #[test]
    fn pictures_are_drawn_in_both_forms() {
        let at = "2026-12-01T10:00:00Z".parse().unwrap();
        let of = |form| bench_file(&record("throttling"), None, at, form, Theme::Dark).unwrap();
        assert!(of(BenchForm::Png).starts_with(b"\x89PNG"));
        assert!(String::from_utf8(of(BenchForm::Svg)).unwrap().contains("Products, base field"));
    }
}
