//! A report of instances as Markdown or as one HTML file: what was seen when, on which channel, what was concluded, what was
//! unknown, what was done. Addresses and secrets are left out unless asked for.
//!
//! Text from instances is hostile: in Markdown it stands in code spans that it cannot end, and the HTML is made from that
//! Markdown with everything that looks like markup written as text.

use std::fmt::Write as _;
use std::sync::LazyLock;

use dwell_fleet::words::duration;
use dwell_fleet::{Timestamp, plain_letter};
use pulldown_cmark::{Event, Options, Parser, html};
use regex::Regex;

use crate::dto::*;
use crate::incident::LANES;

/// Observations of one instance that are written out: what is out of order first.
const OBSERVATIONS_MAX: usize = 15;
/// Observations that all instances of a report share, written out once.
const SHARED_MAX: usize = 20;
/// Causes that are written out with what speaks for and against them; the others by name.
const CAUSES_MAX: usize = 5;
/// Events of an instance's life that are written out, the newest.
const EVENTS_MAX: usize = 15;
/// Instances that a heading names.
const NAMED_MAX: usize = 8;

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
    let flat: String = text.chars().map(plain_letter).collect();
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
            letter => escaped.push(plain_letter(letter)),
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
    if pages.len() > 1 {
        line(String::new());
        line("## Instances".to_owned());
        line(String::new());
        line("| Instance | State | For | Verdict | GPU | $/h |".to_owned());
        line("| --- | --- | --- | --- | --- | --- |".to_owned());
        for (page, _) in pages {
            let row = &page.row;
            line(format!(
                "| {} | {} | {} | {} | {} | {} |",
                clean(&row.id),
                clean(&row.state),
                row.dwell_s.map_or_else(|| "unknown".to_owned(), duration),
                clean(row.flag.as_ref().map_or("none", |flag| &flag.kind)),
                clean(row.gpu_name.as_deref().unwrap_or("unknown")),
                row.dollars_per_h.map_or_else(|| "unknown".to_owned(), |dollars| format!("{dollars:.2}")),
            ));
        }
    }
    let shared = shared(pages);
    for (page, instance) in pages {
        line(String::new());
        one(&mut line, &clean, &raw, page, instance, &shared);
    }
    // What is the same of several instances is written once.
    type Body<'a> = &'a dyn Fn(&DiagnosisPage) -> String;
    let sections: [(&str, Body<'_>); 4] = [
        ("Possible causes", &|page| causes(page, &clean, &raw)),
        ("Evidence sources", &|page| sources(page, &clean)),
        ("Checks not made yet", &|page| checks(page, &clean, &raw)),
        ("Compared with other instances", &|page| compared(page, &clean, &raw)),
    ];
    for (title, body) in sections {
        let mut folded: Vec<(String, Vec<&str>)> = Vec::new();
        for (page, _) in pages {
            let body = body(page);
            match folded.iter_mut().find(|(known, _)| *known == body) {
                Some((_, ids)) => ids.push(&page.row.id),
                None => folded.push((body, vec![&page.row.id])),
            }
        }
        line(String::new());
        line(format!("## {title}"));
        for (body, ids) in folded {
            line(String::new());
            if pages.len() > 1 {
                line(format!("### {}", clean(&named(&ids))));
                line(String::new());
            }
            line(body);
        }
    }
    if !shared.is_empty() {
        line(String::new());
        line("## Observed of every instance above".to_owned());
        line(String::new());
        line("| Source | What |".to_owned());
        line("| --- | --- |".to_owned());
        for (channel, what) in shared.iter().take(SHARED_MAX) {
            line(format!("| {} | {} |", clean(channel), clean(what)));
        }
        if shared.len() > SHARED_MAX {
            line(String::new());
            line(format!("{} more of these are in Dwell.", shared.len() - SHARED_MAX));
        }
    }
    text
}

/// Ids in a heading.
fn named(ids: &[&str]) -> String {
    let short = |id: &&str| id.split('-').next().filter(|part| part.len() == 8).unwrap_or(id).to_owned();
    let names: Vec<String> = ids.iter().take(NAMED_MAX).map(short).collect();
    let more = ids.len().saturating_sub(NAMED_MAX);
    if more == 0 { names.join(", ") } else { format!("{} and {more} more", names.join(", ")) }
}

fn observed(page: &DiagnosisPage) -> impl Iterator<Item = &ObservationView> {
    page.observations.iter().filter(|it| it.holds || !it.fact.starts_with("said:"))
}

/// What is observed of every instance and out of order in none.
fn shared(pages: &[(DiagnosisPage, InstancePage)]) -> Vec<(String, String)> {
    let Some(((first, _), others)) = pages.split_first().filter(|(_, others)| !others.is_empty()) else { return Vec::new() };
    let same = |it: &ObservationView, page: &DiagnosisPage| {
        observed(page).any(|other| (&other.channel, &other.text, other.odd) == (&it.channel, &it.text, false))
    };
    observed(first)
        .filter(|it| !it.odd && others.iter().all(|(page, _)| same(it, page)))
        .map(|it| (it.channel.clone(), it.text.clone()))
        .collect()
}

/// What is of one instance alone.
fn one(
    line: &mut impl FnMut(String),
    clean: &impl Fn(&str) -> String,
    raw: &impl Fn(&str) -> String,
    page: &DiagnosisPage,
    instance: &InstancePage,
    shared: &[(String, String)],
) {
    let row = &page.row;
    line(format!("## {}", clean(&row.id)));
    line(String::new());
    line(format!("**{}**", clean(&page.sentence)));
    line(String::new());
    let card = row.gpu_name.as_deref().unwrap_or("GPU unknown");
    let dwell = row.dwell_s.map_or_else(|| "an unknown time".to_owned(), duration);
    let image = row.image.as_deref().unwrap_or("unknown");
    line(format!("- State {} for {dwell}; {}; image {}", clean(&row.state), clean(card), raw(image)));
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
        line(if lane.as_str() == "stop" { "### Costs money or evidence now" } else { "### Does not fit together" }.to_owned());
        line(String::new());
        for finding in findings {
            let price = finding.dollars_per_h.map_or_else(String::new, |dollars| format!(" (${dollars:.2}/h)"));
            line(format!("- {}{price} {}", clean(&finding.text), raw(&finding.reference)));
        }
    }
    let mut own: Vec<&ObservationView> = observed(page)
        .filter(|it| it.odd || !shared.iter().any(|(channel, text)| (channel, text) == (&it.channel, &it.text)))
        .collect();
    own.sort_by_key(|it| (!it.odd, std::cmp::Reverse(it.at)));
    if !own.is_empty() {
        line(String::new());
        line("### Observed".to_owned());
        line(String::new());
        line("| When | Source | What | Reference |".to_owned());
        line("| --- | --- | --- | --- |".to_owned());
        for it in own.iter().take(OBSERVATIONS_MAX) {
            // A bar ends a cell, in code as well.
            let reference = raw(&it.reference.replace('|', "\u{a6}"));
            line(format!("| {} | {} | {} | {reference} |", stamp(it.at), clean(&it.channel), clean(&it.text)));
        }
        if own.len() > OBSERVATIONS_MAX {
            line(String::new());
            let all = format!("dwellctl diagnose {} --json", row.id);
            line(format!("{} more, all of them in order: {}", own.len() - OBSERVATIONS_MAX, raw(&all)));
        }
    }
    line(String::new());
    line("### History, and what was done".to_owned());
    line(String::new());
    let mut events: Vec<(Timestamp, String)> =
        instance.life.iter().map(|it| (it.at, format!("entered {}", clean(&it.state)))).collect();
    events.extend(instance.flags.iter().map(|it| (it.raised_at, format!("flagged {}: {}", clean(&it.kind), clean(&it.reason)))));
    events.extend(page.notes.iter().map(|it| {
        let cause = it.cause.as_deref().map_or_else(String::new, |cause| format!(" as {}", clean(cause)));
        (it.at, format!("{}{cause}: {}", clean(&it.kind), clean(&it.text)))
    }));
    events.sort();
    let skip = events.len().saturating_sub(EVENTS_MAX);
    if skip > 0 {
        line(format!("- {skip} earlier"));
    }
    for (at, what) in events.into_iter().skip(skip) {
        line(format!("- {}: {what}", stamp(at)));
    }
}

fn causes(page: &DiagnosisPage, clean: &impl Fn(&str) -> String, raw: &impl Fn(&str) -> String) -> String {
    let mut lines =
        vec!["The words follow the weight of the evidence, and only drills have calibrated them.".to_owned(), String::new()];
    let mut left = CAUSES_MAX;
    for group in &page.groups {
        let several = group.causes.len() > 1;
        if several {
            lines.push(format!("- Indistinguishable on the evidence so far ({} causes):", group.causes.len()));
        }
        let indent = if several { "  " } else { "" };
        let (whole, names) = group.causes.split_at(left.min(group.causes.len()));
        left -= whole.len();
        for cause in whole {
            lines.push(format!("{indent}- **{}**: {} ({})", clean(&cause.standing), clean(&cause.title), raw(&cause.id)));
            for it in cause.for_it.iter().take(4) {
                lines.push(format!("{indent}  - for ({:+.1}): {}", it.log_odds, clean(&it.text)));
            }
            for it in cause.against_it.iter().take(3) {
                lines.push(format!("{indent}  - against ({:+.1}): {}", it.log_odds, clean(&it.text)));
            }
            lines.push(format!("{indent}  - remedy: {}", clean(&cause.remedy)));
        }
        if !names.is_empty() {
            let names: Vec<String> = names.iter().map(|cause| format!("{} {}", clean(&cause.standing), raw(&cause.id))).collect();
            lines.push(format!("{indent}- also: {}", names.join(", ")));
        }
    }
    if let Some(pair) = &page.pair {
        lines.push(format!("- Two at once would explain more: {}", clean(&pair.titles.join(", and "))));
    }
    lines.join("\n")
}

fn sources(page: &DiagnosisPage, clean: &impl Fn(&str) -> String) -> String {
    let mut lines = vec!["| Source | Health | Why | Last read |".to_owned(), "| --- | --- | --- | --- |".to_owned()];
    for channel in &page.channels {
        let read = match channel.at.map(|at| page.at.duration_since(at).as_secs()) {
            None => "never".to_owned(),
            // Seconds would keep apart what is the same.
            Some(age_s) if age_s < 60 => "less than 1 min ago".to_owned(),
            Some(age_s) => format!("{} ago", duration((age_s / 60 * 60) as f64)),
        };
        lines.push(format!("| {} | {} | {} | {read} |", clean(&channel.title), clean(&channel.health), clean(&channel.why)));
    }
    lines.join("\n")
}

/// Commands name an instance: where several are the same but for that, they are one.
fn checks(page: &DiagnosisPage, clean: &impl Fn(&str) -> String, raw: &impl Fn(&str) -> String) -> String {
    let (id, vast) = (page.row.id.clone(), page.row.vast_id.map(|id| id.to_string()));
    let general = |command: &str| match &vast {
        Some(vast) => command.replace(&id, "INSTANCE").replace(vast.as_str(), "INSTANCE"),
        None => command.replace(&id, "INSTANCE"),
    };
    if page.next_checks.is_empty() {
        return "No remaining check would change this ranking.".to_owned();
    }
    let one = |check: &CheckView| format!("- {}: {}", clean(&check.title), raw(&general(&check.by_hand)));
    page.next_checks.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn compared(page: &DiagnosisPage, clean: &impl Fn(&str) -> String, raw: &impl Fn(&str) -> String) -> String {
    let mut lines = vec![clean(&page.cohort.sentence)];
    // What is no contrast, or by chance, is said in the sentence.
    for it in page.cohort.shared.iter().filter(|it| it.strength != "no-contrast").take(6) {
        lines.push(format!(
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
    lines.join("\n")
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
