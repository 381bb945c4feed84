//! A report of instances as Markdown or as one HTML file: what was seen when, on which channel, what was concluded, what was
//! unknown, what was done. Addresses and secrets are left out unless asked for.
//!
//! Text from instances is hostile: in Markdown it stands in code spans that it cannot end, and the HTML is made from that
//! Markdown with everything that looks like markup written as text.

use std::fmt::Write as _;
use std::sync::LazyLock;

use dwell_fleet::Timestamp;
use dwell_fleet::words::duration;
use pulldown_cmark::{Event, Options, Parser, html};
use regex::Regex;

use crate::dto::*;
use crate::incident::{LANES, ago};

/// Observations of one instance that are written out.
const OBSERVATIONS_MAX: usize = 200;

/// What is never written out: keys, tokens, passwords.
static SECRETS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:[0-9a-f]{40,}|[A-Za-z0-9_-]{48,}|(?:api[_-]?key|token|secret|password|authorization)\s*[=:]\s*\S+|bearer\s+\S+)").ok()
});
/// Addresses, and what names a person or a place in the network.
static ADDRESSES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:\d{1,3}(?:\.\d{1,3}){3}|(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{1,4}|[\w.+-]+@[\w-]+\.[\w.]+|ssh\d*\.vast\.ai)(?::\d+)?\b").ok()
});

/// Leaves out secrets always, and addresses unless they are wanted.
fn redacted(text: &str, with_addresses: bool) -> String {
    let replace = |text: String, pattern: &Option<Regex>, by: &str| match pattern {
        Some(pattern) => pattern.replace_all(&text, by).into_owned(),
        // Without its pattern nothing can be left out of a text, so all of it is.
        None => by.to_owned(),
    };
    let text = replace(text.to_owned(), &SECRETS, "[secret left out]");
    if with_addresses { text } else { replace(text, &ADDRESSES, "[address left out]") }
}

/// Text as a code span that it cannot end, on one line.
fn code(text: &str) -> String {
    let flat: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    let longest = flat.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    format!("{fence} {flat} {fence}")
}

/// Our own words with what could come from outside: nothing in it is markup.
fn plain(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '<' | '>' | '#' | '|' | '!' | '~' | '&' => {
                escaped.push('\\');
                escaped.push(letter);
            }
            letter if letter.is_control() => escaped.push(' '),
            letter => escaped.push(letter),
        }
    }
    escaped
}

fn stamp(at: Timestamp) -> String {
    at.to_string().chars().take(19).collect::<String>().replace('T', " ") + " UTC"
}

/// The report.
pub(crate) fn report(
    pages: &[(DiagnosisPage, InstancePage)],
    watching: &Watching,
    now: Timestamp,
    request: &ReportRequest,
) -> Report {
    let markdown = markdown(pages, watching, now, request.with_addresses);
    let day: String = now.to_string().chars().take(16).collect::<String>().replace([':', 'T'], "-");
    if request.format == "html" {
        return Report { file_name: format!("dwell-incident-{day}.html"), text: page(&markdown) };
    }
    Report { file_name: format!("dwell-incident-{day}.md"), text: markdown }
}

fn markdown(pages: &[(DiagnosisPage, InstancePage)], watching: &Watching, now: Timestamp, with_addresses: bool) -> String {
    let clean = |text: &str| plain(&redacted(text, with_addresses));
    let raw = |text: &str| code(&redacted(text, with_addresses));
    let mut text = String::new();
    let mut line = |words: String| {
        text.push_str(&words);
        text.push('\n');
    };
    line(format!("# Incident report, {}", stamp(now)));
    line(String::new());
    let mode =
        if watching.mode == "live" { String::new() } else { format!(" ({}: nothing of this is real)", clean(&watching.mode)) };
    line(format!("Fleet: {}{mode}. Times are on the manager's clock, in UTC.", clean(&watching.name)));
    if !with_addresses {
        line("Addresses and secrets are left out.".to_owned());
    }
    for (page, instance) in pages {
        let row = &page.row;
        line(String::new());
        line(format!("## {}", clean(&row.id)));
        line(String::new());
        line(format!("**{}**", clean(&page.sentence)));
        line(String::new());
        let card = row.gpu_name.as_deref().unwrap_or("card not told");
        let dwell = row.dwell_s.map_or_else(|| "not told".to_owned(), duration);
        line(format!(
            "- State {} for {dwell}; {}; image {}",
            clean(&row.state),
            clean(card),
            raw(row.image.as_deref().unwrap_or("not told"))
        ));
        if let Some(flag) = &row.flag {
            line(format!("- Flagged {}: {}", clean(&flag.kind), clean(&flag.reason)));
            line(format!("- How sure that can be: {}", clean(&flag.certainty)));
        }
        if let Some(countdown) = &row.countdown {
            line(format!("- At {} {}", stamp(countdown.at), clean(&countdown.what)));
        }
        for lane in LANES {
            let findings: Vec<&FindingView> = page.findings.iter().filter(|it| it.lane == lane.as_str()).collect();
            if findings.is_empty() {
                continue;
            }
            line(String::new());
            line(
                if lane.as_str() == "stop" { "### Costs money or evidence now" } else { "### Does not fit together" }.to_owned(),
            );
            line(String::new());
            for finding in findings {
                let price = finding.dollars_per_h.map_or_else(String::new, |dollars| format!(" (${dollars:.2}/h)"));
                line(format!("- {}{price} {}", clean(&finding.text), raw(&finding.reference)));
            }
        }
        line(String::new());
        line("### What it may be".to_owned());
        line(String::new());
        line("The words follow the weight of what was seen, and only drills have calibrated them.".to_owned());
        line(String::new());
        for group in &page.groups {
            if group.causes.len() > 1 {
                line(format!("- Not told apart by what was seen ({} causes):", group.causes.len()));
            }
            for cause in &group.causes {
                let indent = if group.causes.len() > 1 { "  " } else { "" };
                line(format!("{indent}- **{}**: {} ({})", clean(&cause.standing), clean(&cause.title), raw(&cause.id)));
                for it in cause.for_it.iter().take(4) {
                    line(format!("{indent}  - for ({:+.1}): {}", it.log_odds, clean(&it.text)));
                }
                for it in cause.against_it.iter().take(3) {
                    line(format!("{indent}  - against ({:+.1}): {}", it.log_odds, clean(&it.text)));
                }
                line(format!("{indent}  - remedy: {}", clean(&cause.remedy)));
            }
        }
        if let Some(pair) = &page.pair {
            line(format!("- Two at once would explain more: {}", clean(&pair.titles.join(", and "))));
        }
        line(String::new());
        line("### What could be known, and from where".to_owned());
        line(String::new());
        line("| Channel | Health | Why | Last read |".to_owned());
        line("| --- | --- | --- | --- |".to_owned());
        for channel in &page.channels {
            let read = channel.at.map_or_else(|| "never".to_owned(), |at| format!("{} ago", ago(at, page.at)));
            line(format!("| {} | {} | {} | {read} |", clean(&channel.title), clean(&channel.health), clean(&channel.why)));
        }
        line(String::new());
        line("### Not looked at".to_owned());
        line(String::new());
        if page.next_checks.is_empty() {
            line("No further look is expected to tell more.".to_owned());
        }
        for check in &page.next_checks {
            line(format!("- {}: {}", clean(&check.title), raw(&check.by_hand)));
        }
        line(String::new());
        line("### What was seen".to_owned());
        line(String::new());
        line("| When | Channel | What | Reference |".to_owned());
        line("| --- | --- | --- | --- |".to_owned());
        let mut observations: Vec<&ObservationView> =
            page.observations.iter().filter(|it| it.holds || !it.fact.starts_with("said:")).collect();
        observations.sort_by_key(|it| (!it.odd, it.at));
        for it in observations.iter().take(OBSERVATIONS_MAX) {
            // A bar ends a cell, in code as well.
            let reference = raw(&it.reference.replace('|', "\u{a6}"));
            line(format!("| {} | {} | {} | {reference} |", stamp(it.at), clean(&it.channel), clean(&it.text)));
        }
        line(String::new());
        line("### Compared with others".to_owned());
        line(String::new());
        line(clean(&page.cohort.sentence));
        for it in page.cohort.shared.iter().take(6) {
            line(format!(
                "- {} {}: {} of {} stuck, {} of {} well; p {:.3}, corrected {:.3}, least possible {:.3}; {}",
                clean(&it.attribute),
                raw(&it.value),
                it.stuck_with,
                it.stuck_with + it.stuck_without,
                it.well_with,
                it.well_with + it.well_without,
                it.p,
                it.p_corrected,
                it.p_least,
                clean(&it.strength)
            ));
        }
        line(String::new());
        line("### Its life, and what was done".to_owned());
        line(String::new());
        let mut events: Vec<(Timestamp, String)> =
            instance.life.iter().map(|it| (it.at, format!("entered {}", clean(&it.state)))).collect();
        events.extend(
            instance.flags.iter().map(|it| (it.raised_at, format!("flagged {}: {}", clean(&it.kind), clean(&it.reason)))),
        );
        events.extend(page.notes.iter().map(|it| {
            let cause = it.cause.as_deref().map_or_else(String::new, |cause| format!(" as {}", clean(cause)));
            (it.at, format!("{}{cause}: {}", clean(&it.kind), clean(&it.text)))
        }));
        events.sort();
        for (at, what) in events {
            line(format!("- {}: {what}", stamp(at)));
        }
    }
    text
}

/// The Markdown as one HTML file that loads nothing.
fn page(markdown: &str) -> String {
    let safe = Parser::new_ext(markdown, Options::ENABLE_TABLES).map(|event| match event {
        // None of ours is markup; whatever is was written by somebody else.
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        other => other,
    });
    let mut body = String::new();
    html::push_html(&mut body, safe);
    let mut page = String::new();
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>Incident report</title>\n\
         <style>:root{{color-scheme:light dark}}body{{font:14px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}}\
         table{{border-collapse:collapse;display:block;overflow-x:auto}}td,th{{border:1px solid #8886;padding:.2rem .5rem;text-align:left;vertical-align:top}}\
         code{{font:12px ui-monospace,monospace;overflow-wrap:anywhere}}</style>\n<body>\n{body}</body>\n</html>\n"
    );
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_addresses_are_left_out() {
        let text = "ssh -p 22 root@203.0.113.7 token=abc123 Bearer xyz 0123456789abcdef0123456789abcdef01234567 a@b.example";
        let shut = redacted(text, false);
        for hidden in ["203.0.113.7", "abc123", "xyz", "0123456789abcdef", "a@b"] {
            assert!(!shut.contains(hidden), "{hidden} in {shut}");
        }
        let open = redacted(text, true);
        assert!(open.contains("203.0.113.7") && !open.contains("abc123"), "{open}");
    }

    #[test]
    fn an_id_is_no_secret() {
        let id = "d977dead-b3a7-4a08-b6df-9e126679078f";
        assert_eq!(redacted(id, false), id);
    }

    #[test]
    fn hostile_text_stays_text() {
        let hostile = "`` ` <script>alert(1)</script> | ] \u{1b}[31m";
        let html =
            page(&format!("{}\n\n| a |\n| - |\n| {} |\n\n{}\n", code(hostile), code(&hostile.replace('|', " ")), plain(hostile)));
        assert!(!html.contains("<script>"), "{html}");
        assert!(!html.contains('\u{1b}'), "{html}");
    }
}
