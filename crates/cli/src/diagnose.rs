//! `dwellctl diagnose` and `dwellctl explain`: incidents, what is thought of an instance and why, the catalogue.

use std::process::ExitCode;

use dwell_commands::dto::*;
use dwell_commands::{ApiError, Look, catalogue, explain};
use serde_json::json;

use crate::args::{Args, ReportFormat};
use crate::list::{Form, List};
use crate::print::{self, clean, out, remark};
use crate::run::UNKNOWN;

/// What a terminal is asked for.
pub(crate) struct Wanted<'a> {
    pub(crate) ids: &'a [String],
    /// The proposed looks are made as well.
    pub(crate) asks: bool,
    pub(crate) report: Option<ReportFormat>,
    pub(crate) with_addresses: bool,
    pub(crate) rented_before: Option<jiff::Timestamp>,
}

pub(crate) async fn run(args: &Args, mut look: Look, wanted: Wanted<'_>) -> anyhow::Result<ExitCode> {
    look.read(wanted.ids.first().map(String::as_str)).await?;
    for id in wanted.ids.iter().filter(|_| wanted.asks) {
        let (_, failed) = look.look_around(id).await?;
        failed.iter().for_each(|what| remark(&clean(what)));
    }
    if let Some(before) = wanted.rented_before {
        let rented = look.rented_before(before);
        if args.json {
            print::json(&rented, true)?;
        } else {
            tell_rented(&rented);
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(format) = wanted.report {
        let ids = if wanted.ids.is_empty() {
            look.incidents().incidents.into_iter().flat_map(|it| it.instances).map(|it| it.id).collect()
        } else {
            wanted.ids.to_vec()
        };
        if ids.is_empty() {
            let hidden = look.fleet().conditions.iter().any(|it| it.is_unknown);
            remark(if hidden {
                "no instance is known to be stuck, and that means nothing: dwellctl diagnose says why"
            } else {
                "nothing is stuck: there is nothing to report"
            });
            return Ok(ExitCode::from(u8::from(hidden) * UNKNOWN));
        }
        let request = ReportRequest { ids, format: format.as_str().to_owned(), with_addresses: wanted.with_addresses };
        out(look.report(&request)?.text.trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    if wanted.ids.is_empty() {
        let incidents = look.incidents();
        if args.json {
            print::json(&incidents, true)?;
        } else {
            print::conditions(&incidents.conditions);
            tell_incidents(&incidents);
        }
        let hidden = incidents.conditions.iter().any(|it| it.is_unknown);
        return Ok(ExitCode::from(u8::from(hidden) * UNKNOWN));
    }
    if !args.json {
        print::conditions(&look.fleet().conditions);
    }
    let pages = wanted.ids.iter().map(|id| look.diagnosis(id)).collect::<Result<Vec<_>, ApiError>>()?;
    if args.json {
        print::json(&json!({ "diagnoses": pages }), true)?;
    } else {
        pages.iter().for_each(tell_page);
    }
    Ok(ExitCode::SUCCESS)
}

fn tell_incidents(incidents: &Incidents) {
    if incidents.incidents.is_empty() {
        out(if incidents.conditions.iter().any(|it| it.is_unknown) {
            "Whether anything is stuck is unknown."
        } else {
            "Nothing is stuck, as far as can be seen."
        });
    }
    for it in &incidents.incidents {
        let price = it.dollars_per_h.map_or_else(String::new, |dollars| format!(", ${dollars:.2}/h"));
        let count = it.instances.len();
        out(&format!("{} {} in {}{price}", count, if count == 1 { "instance" } else { "instances" }, clean(&it.state)));
        out(&format!("  {}", clean(&it.sentence)));
        if let Some(shared) = &it.shared {
            out(&format!("  Shared: {}", clean(shared)));
        }
        for member in &it.instances {
            out(&format!(
                "  - {} {}: {}",
                clean(&member.id),
                clean(member.gpu_name.as_deref().unwrap_or("")),
                clean(&member.reason)
            ));
        }
        out("");
    }
    if incidents.closed > 0 {
        remark(&format!("{} more were closed by a person", incidents.closed));
    }
    if let Some(first) = incidents.incidents.first() {
        remark(&format!("dwellctl diagnose {} says why", clean(&first.id)));
    }
}

fn tell_page(page: &DiagnosisPage) {
    out(&format!("{}  {}", clean(&page.row.id), clean(&page.row.state)));
    out(&clean(&page.sentence));
    for lane in ["stop", "find-out"] {
        let mut findings = page.findings.iter().filter(|it| it.lane == lane).peekable();
        if findings.peek().is_some() {
            out(if lane == "stop" { "\nCosts money or evidence now" } else { "\nDoes not fit together" });
            findings.for_each(|it| out(&format!("  {}", clean(&it.text))));
        }
    }
    out("\nWhat it may be (words follow the weight of what was seen; the catalogue's figures are judgements)");
    for group in &page.groups {
        if group.causes.len() > 1 {
            out(&format!("  {} causes are not told apart by what was seen:", group.causes.len()));
        }
        for cause in &group.causes {
            let indent = if group.causes.len() > 1 { "    " } else { "  " };
            out(&format!(
                "{indent}{:<9} {} ({}, {})",
                clean(&cause.standing),
                clean(&cause.title),
                clean(&cause.id),
                clean(&cause.common)
            ));
            let told = |sign: char, it: &ContributionView| {
                out(&format!("{indent}          {sign} {} ({:+.1})", clean(&it.text), it.log_odds))
            };
            cause.for_it.iter().take(3).for_each(|it| told('+', it));
            cause.against_it.iter().take(2).for_each(|it| told('-', it));
        }
    }
    if let Some(pair) = &page.pair {
        out(&format!("  Two at once would explain more: {}", clean(&pair.titles.join(", and "))));
    }
    if !page.unlikely.is_empty() {
        let ids: Vec<String> =
            page.unlikely.iter().take(6).map(|it| format!("{} {}", clean(&it.standing), clean(&it.id))).collect();
        out(&format!("  Set aside: {}", ids.join(", ")));
    }
    out("\nChannels");
    for channel in &page.channels {
        out(&format!("  {:<20} {:<12} {}", clean(&channel.channel), clean(&channel.health), clean(&channel.why)));
    }
    out("\nNext");
    if page.next_checks.is_empty() {
        out("  No further look is expected to tell more.");
    }
    for check in page.next_checks.iter().take(4) {
        out(&format!("  {} (about {:.0} s)", clean(&check.title), check.seconds));
        if let Some(wanting) = &check.wanting {
            out(&format!("      not from here: {}", clean(wanting)));
        }
        out(&format!("      {}", clean(&check.by_hand)));
    }
    if let Some(act) = &page.act {
        out(&format!("  Then: {}", clean(act)));
    }
    if page.cohort.stuck > 0 {
        out(&format!("\nCompared with others\n  {}", clean(&page.cohort.sentence)));
    }
    for note in &page.notes {
        out(&format!("\n{} {}: {}", note.at, clean(&note.kind), clean(&note.text)));
    }
    for it in &page.seen_before {
        out(&format!("\nSeen before: {} closed as {} on {}: {}", clean(&it.id), clean(&it.cause), it.at, clean(&it.text)));
    }
    out("");
}

fn tell_rented(rented: &Rented) {
    let mut table = List::new(["Instance", "State", "Rented", "Image", "Flag"]);
    for it in &rented.instances {
        table.add_row([
            clean(&it.id),
            clean(&it.state),
            it.rented_at.to_string(),
            clean(it.image.as_deref().unwrap_or("not told")),
            clean(it.flag.as_deref().unwrap_or("\u{2013}")),
        ]);
    }
    table.show(Form::default());
    out(&format!(
        "{} of {} alive were rented before. A new image reaches only those rented after it.",
        rented.instances.len(),
        rented.alive
    ));
    if rented.not_told > 0 {
        remark(&format!("of {} more it is not told when they were rented", rented.not_told));
    }
}

pub(crate) fn tell_cause(args: &Args, id: Option<&str>) -> anyhow::Result<()> {
    let Some(id) = id else {
        let list = catalogue();
        if args.json {
            return print::json(&list, true);
        }
        let mut table = List::new(["Id", "What"]);
        for cause in &list.causes {
            table.add_row([cause.id.as_str(), cause.title.as_str()]);
        }
        table.show(Form::default());
        return Ok(());
    };
    let cause = explain(id)?;
    if args.json {
        return print::json(&cause, true);
    }
    out(&format!("{} ({}, {})", cause.title, cause.id, cause.common));
    out(&cause.what);
    let states = if cause.states.is_empty() { "every state".to_owned() } else { cause.states.join(", ") };
    out(&format!("\nIn: {states}"));
    let listed = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            out(&format!("\n{title}"));
            lines.iter().for_each(|line| out(&format!("  {line}")));
        }
    };
    let shown = cause.shows.iter().map(|it| format!("{:<9} {} ({})", it.often, it.text, it.channels.join(", "))).collect();
    listed("Shows", shown);
    listed("Hardly ever shows", cause.never_shows.clone());
    listed("Confirmed by any of", cause.confirmed_by.iter().map(|set| set.join("; and ")).collect());
    listed("Spoken against by any of", cause.excluded_by.clone());
    out(&format!("\nRemedy ({}): {}", cause.act, cause.remedy));
    out(&format!("Known from: {}", cause.source));
    if !cause.ranked {
        out("It is not ranked: it explains what the manager's own page or another reader shows, or is told by another entry.");
    }
    Ok(())
}

/// A date, a time, or an age such as `36h`, `2d`, `1w`.
pub(crate) fn before(text: &str) -> Result<jiff::Timestamp, String> {
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        return Ok(at);
    }
    if let Ok(date) = text.parse::<jiff::civil::Date>() {
        return jiff::tz::TimeZone::UTC.to_timestamp(date.at(0, 0, 0, 0)).map_err(|error| error.to_string());
    }
    // Days of 24 hours: what is asked for is so long ago, whatever the clock on the wall did.
    let of_days = |ending: char, hours: u32| text.strip_suffix(ending)?.trim().parse::<u32>().ok()?.checked_mul(hours);
    let hours = of_days('d', 24).or_else(|| of_days('w', 168)).map(|hours| format!("{hours}h"));
    let span: jiff::SignedDuration = hours
        .as_deref()
        .unwrap_or(text)
        .parse()
        .map_err(|_| "write a date (2026-03-10), a time (2026-03-10T09:00:00Z) or an age (36h)".to_owned())?;
    Ok(dwell_commands::later(dwell_commands::now(), -span.as_secs_f64()))
}
