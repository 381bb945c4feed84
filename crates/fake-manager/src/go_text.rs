//! Numbers, durations and times as Go prints them.

use jiff::Timestamp;

/// `time.Duration.Round(time.Second).String()`, of nanoseconds.
pub(crate) fn rounded(nanoseconds: i128) -> String {
    let seconds = (nanoseconds.abs() + 500_000_000) / 1_000_000_000;
    let sign = if nanoseconds < 0 && seconds > 0 { "-" } else { "" };
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{sign}{rest}s"),
        (0, _) => format!("{sign}{minutes}m{rest}s"),
        _ => format!("{sign}{hours}h{minutes}m{rest}s"),
    }
}

/// `time.Now().Sub(then)`, of nanoseconds: it ends at some 292 years.
pub(crate) fn since(then: Timestamp, now: Timestamp) -> i128 {
    let most = i128::from(i64::MAX);
    (now.as_nanosecond() - then.as_nanosecond()).clamp(-most - 1, most)
}

/// `%.1f`.
pub(crate) fn one_decimal(value: f64) -> String {
    format!("{value:.1}")
}

/// `CURRENT_TIMESTAMP`: to the second, in UTC.
pub(crate) fn to_the_second(now: Timestamp) -> Timestamp {
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

/// RFC 3339, to the second, in UTC.
pub(crate) fn rfc3339(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// `strconv.Atoi`.
pub(crate) fn atoi(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.strip_prefix('+').unwrap_or(text).parse().ok() } else { None }
}
