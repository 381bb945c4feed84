//! Words on axes: times of day in the operator's zone, spans, money.

use dwell_charts::{Axis, number_axis};
use dwell_fleet::Timestamp;
use jiff::tz::TimeZone;
use jiff::{ToSpan, ZonedDateTime};

/// Distances between ticks, seconds: minutes and hours, then days.
const STEPS_S: [i64; 15] =
    [60, 300, 900, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800, 1_209_600, 2_592_000, 7_776_000, 31_536_000];
const DAY_S: i64 = 86_400;
const MONTH_S: i64 = 2_592_000;
/// Width that a tick's words need, pixels.
const WORDS_WIDE: i64 = 74;

/// An axis of time from `since` to `until`; positions are seconds since the epoch.
pub(super) fn time_axis(since: Timestamp, until: Timestamp, zone: &TimeZone, width: u32) -> Axis {
    let seconds = |at: Timestamp| at.as_millisecond() as f64 / 1000.0;
    let span = (until.as_second() - since.as_second()).max(1);
    let most = (i64::from(width) / WORDS_WIDE).max(2);
    let step = STEPS_S.into_iter().find(|step| span / step < most).unwrap_or(31_536_000);
    let ticks = edges(since, until, zone, step).into_iter().map(|at| (seconds(at.timestamp()), words(&at, step))).collect();
    Axis { label: String::new(), from: seconds(since), to: seconds(until), ticks }
}

fn words(at: &ZonedDateTime, step: i64) -> String {
    let format = match step {
        _ if step < DAY_S && at.hour() == 0 && at.minute() == 0 => "%-d %b",
        _ if step < DAY_S => "%H:%M",
        _ if step < MONTH_S => "%-d %b",
        _ => "%b %Y",
    };
    at.strftime(format).to_string()
}

/// Round times within, by the clock on the wall: also where a day has 23 hours.
fn edges(since: Timestamp, until: Timestamp, zone: &TimeZone, step: i64) -> Vec<ZonedDateTime> {
    let first = since.to_zoned_datetime(zone.clone());
    let mut edges = Vec::new();
    let mut add = |at: ZonedDateTime| {
        let inside = at.timestamp() >= since && at.timestamp() <= until;
        if inside {
            edges.push(at.clone());
        }
        at.timestamp() <= until
    };
    let begin = first.start_of_day().unwrap_or(first);
    if step < DAY_S {
        // Whole steps from midnight on, day by day.
        for day in 0.. {
            let Ok(midnight) = begin.checked_add(day.days()) else { break };
            let mut goes_on = true;
            for part in 0..DAY_S / step {
                let Ok(at) = midnight.date().at(0, 0, 0, 0).checked_add((part * step).seconds()) else { break };
                // An hour that the clock leaves out has no tick.
                let Ok(at) = zone.to_ambiguous_zoned_datetime(at).compatible() else { continue };
                goes_on = add(at);
                if !goes_on {
                    break;
                }
            }
            if !goes_on {
                break;
            }
        }
    } else {
        let months = if step >= 31_536_000 { 12 } else { step / MONTH_S };
        let aligned = match months {
            0 => begin.checked_sub(i64::from(begin.date().weekday().to_monday_zero_offset()).days()),
            _ => begin.first_of_month().and_then(|it| it.checked_sub((i64::from(it.month() - 1) % months).months())),
        };
        let days = (step / DAY_S).max(1);
        let mut at = aligned.unwrap_or(begin);
        while add(at.clone()) {
            let next = if months > 0 { at.checked_add(months.months()) } else { at.checked_add(days.days()) };
            match next {
                Ok(next) => at = next,
                Err(_) => break,
            }
        }
    }
    edges
}

/// An axis of spans from 0, in the unit that suits; positions are seconds.
pub(super) fn span_axis(most_s: f64) -> Axis {
    let (unit, name) = match most_s {
        most if most > 4.0 * 86_400.0 => (86_400.0, "days"),
        most if most > 3.0 * 3_600.0 => (3_600.0, "hours"),
        most if most > 240.0 => (60.0, "minutes"),
        _ => (1.0, "seconds"),
    };
    let axis = number_axis(name, most_s / unit, 6);
    let ticks = axis.ticks.into_iter().map(|(at, words)| (at * unit, words)).collect();
    Axis { label: axis.label, from: 0.0, to: axis.to * unit, ticks }
}

/// A span in words: `14 m`, `3 h 05 m`.
pub(super) fn span_words(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    let (days, hours, minutes) = (whole / 86_400, whole % 86_400 / 3_600, whole % 3_600 / 60);
    match whole {
        0..60 => format!("{whole} s"),
        60..3_600 => format!("{minutes} m"),
        3_600..86_400 => format!("{hours} h {minutes:02} m"),
        _ => format!("{days} d {hours:02} h"),
    }
}

/// A time of day with its date, in the operator's zone.
pub(super) fn time_words(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned_datetime(zone.clone()).strftime("%-d %b %H:%M").to_string()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]
mod tests {
    use super::*;

    fn labels(since: &str, until: &str, zone: &str, width: u32) -> Vec<String> {
        let axis = time_axis(since.parse().unwrap(), until.parse().unwrap(), &TimeZone::get(zone).unwrap(), width);
        axis.ticks.into_iter().map(|(_, words)| words).collect()
    }

    #[test]
    fn ticks_are_round_by_the_clock_on_the_wall() {
        assert_eq!(
            labels("2026-12-01T20:10:00Z", "2026-12-02T02:10:00Z", "Europe/Oslo", 600),
            ["22:00", "23:00", "2 Dec", "01:00", "02:00", "03:00"]
        );
        assert_eq!(labels("2026-11-20T00:00:00Z", "2026-12-02T00:00:00Z", "UTC", 560)[..2], ["20 Nov", "22 Nov"]);
        assert_eq!(labels("2026-01-15T00:00:00Z", "2026-12-02T00:00:00Z", "UTC", 900)[..2], ["Feb 2026", "Mar 2026"]);
        // The night in which the clock goes back has one tick an hour by the wall's names.
        let night = labels("2026-10-24T22:00:00Z", "2026-10-25T03:00:00Z", "Europe/Oslo", 700);
        assert_eq!(night, ["25 Oct", "01:00", "02:00", "03:00", "04:00"]);
        assert!(labels("2026-01-01T00:00:00Z", "2036-01-01T00:00:00Z", "UTC", 300).len() < 12);
        assert!(labels("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "UTC", 10).len() < 3);
    }

    #[test]
    fn spans_have_the_unit_that_suits() {
        let axis = span_axis(5_000.0);
        assert_eq!((axis.label.as_str(), axis.to, axis.ticks[1].1.as_str()), ("minutes", 6_000.0, "20"));
        assert_eq!(span_axis(100_000.0).label, "hours");
        assert_eq!([59.0, 840.0, 11_100.0, 97_200.0].map(span_words), ["59 s", "14 m", "3 h 05 m", "1 d 03 h"]);
    }
}
