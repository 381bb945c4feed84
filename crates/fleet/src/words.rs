//! Words for durations and for what silence means: short, with units, never claiming more than was seen.

/// `40 s`, `14 m`, `3 h 05 m`, `2 d 4 h`. Negative spans are written with a minus sign.
pub fn duration(seconds: f64) -> String {
    let sign = if seconds <= -1.0 { "-" } else { "" };
    let total = seconds.abs().floor() as u64;
    let (days, hours, minutes) = (total / 86_400, total / 3600 % 24, total / 60 % 60);
    let text = match total {
        0..60 => format!("{total} s"),
        60..3600 => format!("{minutes} m"),
        3600..86_400 => format!("{hours} h {minutes:02} m"),
        _ => format!("{days} d {hours} h"),
    };
    format!("{sign}{text}")
}

/// `a`, `a and b`, `a, b and c`.
pub fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
