//! A part of history in figures.

use std::collections::HashMap;

use dwell_fleet::over_time::{self, By, Frame, Split};
use dwell_fleet::{Life, Outcome, State, Stay, Survival, Timestamp, seconds_between, shift};

use super::Source;
use crate::dto::{HistorySummary, SummaryRow};
use crate::{ApiError, ErrorCode};

/// Figures of the time from `since` to `until`, by group.
pub(crate) fn summary(
    source: &Source<'_>,
    (since, until): (Option<Timestamp>, Option<Timestamp>),
    by: &str,
) -> Result<HistorySummary, ApiError> {
    let by = super::by_named(by)?;
    let until = until.unwrap_or(source.now).min(source.now);
    let since = since.or(source.history.begins(source.fleet)?).unwrap_or(shift(until, -600.0));
    if since >= until {
        return Err(ApiError::new(ErrorCode::BadRequest, "the time ends before it begins"));
    }
    let (watched, gaps) = (source.history.watched(source.fleet)?, source.history.gaps(source.fleet, since)?);
    let frame = Frame::whole(since, until, &watched, &gaps);
    let blind: f64 = frame.blind().iter().map(|(from, to)| seconds_between(*from, *to)).sum();
    let mut groups: HashMap<String, Vec<Life>> = HashMap::new();
    for life in source.history.lives(source.fleet, since, until)? {
        groups.entry(by.group(&life)).or_default().push(life);
    }
    let mut rows: Vec<SummaryRow> = groups.into_iter().map(|(group, lives)| row(group, &lives, &frame, (since, until))).collect();
    rows.sort_by(|left, right| {
        let spent = |row: &SummaryRow| row.dollars_per_h.unwrap_or(0.0);
        spent(right).total_cmp(&spent(left)).then_with(|| left.group.cmp(&right.group))
    });
    let watched_s = (seconds_between(since, until) - blind).max(0.0);
    Ok(HistorySummary { since, until, watched_s, by: by.as_str().to_owned(), groups: rows })
}

fn row(group: String, lives: &[Life], frame: &Frame, (since, until): (Timestamp, Timestamp)) -> SummaryRow {
    let only = |split: &Split, name: &str| split.lines.iter().find(|line| line.name == name).and_then(|line| line.values[0]);
    let all = |split: &Split| {
        let told: Vec<f64> = split.lines.iter().filter_map(|line| line.values[0]).collect();
        (!told.is_empty()).then(|| told.iter().sum::<f64>())
    };
    let (proofs, money) = (over_time::throughput(lives, frame, By::Nothing), over_time::cost(lives, frame, By::Nothing));
    let rentals: Vec<Stay> = over_time::until_running(lives, since, until, By::Nothing)
        .into_iter()
        .flat_map(|(_, found)| found.into_iter().map(|(stay, _)| stay))
        .collect();
    let open =
        |stay: &Stay| Stay { outcome: if stay.outcome == Outcome::Advanced { stay.outcome } else { Outcome::Censored }, ..*stay };
    let waiting: Vec<Stay> = rentals.iter().map(open).collect();
    let (proofs_per_h, dollars_per_h) = (all(&proofs), all(&money));
    let killed =
        |life: &&Life| life.entries.iter().any(|entry| entry.state == State::Killed && entry.at >= since && entry.at < until);
    SummaryRow {
        group,
        instances: lives.len(),
        proofs_per_h,
        dollars_per_h,
        waiting_dollars_per_h: only(&money, "waiting"),
        dollars_per_proof: dollars_per_h
            .zip(proofs_per_h)
            .filter(|(_, proofs)| *proofs > 1e-9)
            .map(|(dollars, proofs)| dollars / proofs),
        until_running_median_s: Survival::estimate(&waiting).quantile_s(0.5),
        rented: rentals.len(),
        got_running: rentals.iter().filter(|stay| stay.outcome == Outcome::Advanced).count(),
        killed: lives.iter().filter(killed).count(),
        not_told: proofs.not_told + money.not_told,
    }
}
