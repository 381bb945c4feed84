//! Everything that is printed goes through here: one place that knows about terminals, pipes and hostile text.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use comfy_table::{Attribute, Cell, Color, ContentArrangement, Table, presets};
use dwell_commands::ApiError;
use dwell_commands::dto::*;
use dwell_commands::words::duration;
use dwell_commands::{is_plain, redacted};
use serde::Serialize;

use crate::list::{Form, List};

/// Writes to standard output. A closed pipe ends the program quietly: whoever read has seen enough.
pub(crate) fn out(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let written =
        stdout.write_all(redacted(text).as_bytes()).and_then(|()| stdout.write_all(b"\n")).and_then(|()| stdout.flush());
    if let Err(error) = written {
        let code = if error.kind() == std::io::ErrorKind::BrokenPipe { 0 } else { 1 };
        std::process::exit(code);
    }
}

/// Writes a remark to standard error, with the time: some are read hours later.
pub(crate) fn remark(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}  {}", local(dwell_commands::now()), redacted(text));
}

/// One object, or one object a line where the output goes on, as JSON that is safe to show in a terminal: whatever is not plain is escaped.
pub(crate) fn json<T: Serialize>(value: &T, pretty: bool) -> anyhow::Result<()> {
    let text = if pretty { serde_json::to_string_pretty(value)? } else { serde_json::to_string(value)? };
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        // The only ASCII controls are the line breaks between fields.
        if character == '\u{7f}' || !character.is_ascii() && !is_plain(character) {
            let escape = |unit: &mut u16| format!("\\u{unit:04x}");
            safe.extend(character.encode_utf16(&mut [0; 2]).iter_mut().map(escape));
        } else {
            safe.push(character);
        }
    }
    out(&safe);
    Ok(())
}

/// Exit code where the manager or vast.ai could not be reached or understood, or what it listed is not all.
pub(crate) const INCOMPLETE: u8 = 3;
/// Exit code where something was sent, and what came of it is not known yet.
pub(crate) const NOT_VERIFIED: u8 = 5;

/// An error as text or JSON, and the exit code for it.
pub(crate) fn failure(error: &anyhow::Error, as_json: bool) -> ExitCode {
    let api = error.downcast_ref::<ApiError>();
    let code = match api.map_or(ErrorCode::Failed, |api| api.code) {
        ErrorCode::KeyRefused
        | ErrorCode::TooOften
        | ErrorCode::VastFailed
        | ErrorCode::VastSilent
        | ErrorCode::NotVast
        | ErrorCode::Unreachable
        | ErrorCode::TimedOut
        | ErrorCode::CutShort
        | ErrorCode::TooLarge
        | ErrorCode::NotAManager
        | ErrorCode::Unauthorised
        | ErrorCode::Refused
        | ErrorCode::ManagerFailed
        | ErrorCode::BadAddress
        | ErrorCode::NoCertificates
        | ErrorCode::NoSsh
        | ErrorCode::SshKeyRefused
        | ErrorCode::HostKeyUnknown
        | ErrorCode::HostKeyChanged
        | ErrorCode::PortInUse
        | ErrorCode::NameUnknown
        | ErrorCode::SshRefused
        | ErrorCode::SshUnanswered
        | ErrorCode::SshFailed
        | ErrorCode::ListIncomplete => INCOMPLETE,
        ErrorCode::UnknownId | ErrorCode::AmbiguousId | ErrorCode::NoSuchInstance | ErrorCode::NotBanned => 4,
        ErrorCode::NoFleet
        | ErrorCode::UnknownFleet
        | ErrorCode::BadScenario
        | ErrorCode::BadFilter
        | ErrorCode::BadKey
        | ErrorCode::UnknownAccount
        | ErrorCode::UnknownState
        | ErrorCode::UnknownSource
        | ErrorCode::UnknownCard => 2,
        _ => 1,
    };
    if as_json {
        let api = api.cloned().unwrap_or(ApiError::new(ErrorCode::Failed, format!("{error:#}")));
        let _ = json(&serde_json::json!({ "error": api }), true);
    } else {
        remark(&format!("error: {}", clean(&format!("{error:#}"))));
        if let Some(hint) = api.and_then(|api| api.hint.as_ref()) {
            remark(&format!("  hint: {}", clean(hint)));
        }
    }
    ExitCode::from(code)
}

/// Hostile text made harmless: escape sequences removed, other controls shown as what they are.
pub(crate) fn clean(text: &str) -> String {
    // C1 controls are escape sequences in one character: made into the two-character form, so that one filter takes both.
    let long_form: String = text
        .chars()
        .flat_map(|character| match character {
            '\u{80}'..='\u{9f}' => ['\u{1b}', char::from(character as u8 - 0x40)].into_iter().take(2),
            '\t' => [' ', ' '].into_iter().take(2),
            other => [other, ' '].into_iter().take(1),
        })
        .collect();
    strip_ansi_escapes::strip_str(long_form)
        .chars()
        .map(|letter| if is_plain(letter) { letter } else { char::REPLACEMENT_CHARACTER })
        .collect()
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "\u{2013}".to_owned())
}

/// A table of a page: long text goes on in the next line. Lists are [`crate::list::List`]s.
pub(crate) fn table(head: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    if !std::io::stdout().is_terminal() {
        // A pipe has no width: rows stay whole for grep.
        table.set_content_arrangement(ContentArrangement::Disabled).force_no_tty();
    }
    table.set_header(head.iter().map(|name| Cell::new(name).add_attribute(Attribute::Dim)));
    table
}

/// Dwell against expectation, fourteen characters wide: `█████▌··┊───▏`.
pub(crate) fn dwell_bar(dwell_s: f64, usual_s: f64, late_s: f64) -> String {
    const WIDTH: usize = 14;
    let whole_s = (late_s * 1.25).max(dwell_s).max(1.0);
    let place = |seconds: f64| ((seconds / whole_s * WIDTH as f64) as usize).min(WIDTH - 1);
    let (usual, late) = (place(usual_s), place(late_s));
    let filled = dwell_s / whole_s * WIDTH as f64;
    (0..WIDTH)
        .map(|index| match index {
            index if (index as f64) + 0.75 <= filled && index > late => '\u{2593}',
            index if (index as f64) + 0.75 <= filled => '\u{2588}',
            index if (index as f64) + 0.25 <= filled => '\u{258c}',
            index if index == usual => '\u{250a}',
            index if index == late => '\u{258f}',
            _ => '\u{b7}',
        })
        .collect()
}

/// Columns of the fleet's list by the names that `--columns` takes, with their heads.
const FLEET: [(&str, &str); 17] = [
    ("mark", ""),
    ("state", "STATE"),
    ("dwell", "DWELL"),
    ("bar", "DWELL / LATE"),
    ("instance", "INSTANCE"),
    ("id", "ID"),
    ("vast", "VAST.AI"),
    ("label", "LABEL"),
    ("gpu", "GPU"),
    ("proofs", "PROOFS/H"),
    ("price", "$/H"),
    ("load", "GPU %"),
    ("machine", "MACHINE"),
    ("place", "PLACE"),
    ("image", "IMAGE"),
    ("flag", "FLAG"),
    ("why", "WHY"),
];
/// What is shown where no columns are named.
const FLEET_USUAL: [&str; 10] = ["mark", "state", "dwell", "bar", "instance", "gpu", "proofs", "price", "load", "why"];
const FLEET_WIDE: [&str; 15] = [
    "mark", "state", "dwell", "bar", "instance", "vast", "label", "gpu", "proofs", "price", "load", "machine", "place", "image",
    "why",
];

/// Names of the fleet's columns.
pub(crate) fn fleet_columns() -> Vec<&'static str> {
    FLEET.iter().map(|(name, _)| *name).collect()
}

/// The fleet as a list with its sums.
pub(crate) fn fleet(view: &FleetView, rows: &[&InstanceRow], form: Form, columns: &[String]) {
    head(view);
    if rows.is_empty() {
        out(if view.conditions.iter().any(|it| it.is_unknown) {
            "no instance is known; what there is besides is unknown"
        } else {
            "no instances to show"
        });
    } else {
        fleet_list(rows, form, columns).show(form);
    }
    let hidden = view.instances.len() - rows.len();
    if hidden > 0 {
        remark(&format!("{hidden} more not shown (killed, or filtered out); --all shows them"));
    }
}

fn fleet_list(rows: &[&InstanceRow], form: Form, columns: &[String]) -> List {
    let usual: &[&str] = if form == Form::Wide { &FLEET_WIDE } else { &FLEET_USUAL };
    let named: Vec<&str> = columns.iter().map(String::as_str).collect();
    let columns: &[&str] = if named.is_empty() { usual } else { &named };
    let heads = columns.iter().map(|name| FLEET.iter().find(|(known, _)| known == name).map_or("", |(_, head)| *head));
    let mut list = List::new(heads).right(&["DWELL", "PROOFS/H", "$/H", "GPU %"]);
    if named.is_empty() {
        list = list.leaving_out(&["DWELL / LATE", "PROOFS/H", "GPU %", "$/H", "GPU"]);
    }
    for row in rows {
        list.add_row(columns.iter().map(|column| fleet_cell(row, column)));
    }
    list
}

fn fleet_cell(row: &InstanceRow, column: &str) -> Cell {
    let (mark, colour) = mark(row);
    let text = |value: &Option<String>| or_dash(value.as_deref().map(clean));
    let whole = |value: Option<u64>| or_dash(value.map(|value| value.to_string()));
    let words = match column {
        "mark" => mark.to_owned(),
        "state" => clean(&row.state),
        "dwell" => {
            let at_least = if row.dwell_basis == "first_sight" { "\u{2265} " } else { "" };
            or_dash(row.dwell_s.map(|dwell_s| format!("{at_least}{}", duration(dwell_s))))
        }
        "bar" => match (&row.expectation, row.dwell_s) {
            (Some(expectation), Some(dwell_s)) => dwell_bar(dwell_s, expectation.usual_s, expectation.late_from_s),
            _ => String::new(),
        },
        "instance" => short_id(row),
        "id" => clean(&row.id),
        "vast" => whole(row.vast_id),
        "label" => text(&row.label),
        "gpu" => or_dash(gpu(row)),
        "proofs" => or_dash(row.bench_rate_proofs_per_h.map(|rate| format!("{rate:.1}"))),
        "price" => or_dash(row.dollars_per_h.map(|dollars| format!("{dollars:.2}"))),
        "load" => or_dash(row.gpu_util_percent.map(|load| format!("{load:.0}"))),
        "machine" => whole(row.machine_id),
        "place" => text(&row.geolocation),
        "image" => text(&row.image),
        "flag" => or_dash(row.flag.as_ref().map(|flag| flag.kind.clone())),
        _ => match &row.flag {
            Some(flag) => clean(&format!("{}: {}", flag.kind, flag.reason)),
            None => clean(&row.note),
        },
    };
    match colour {
        Some(colour) if matches!(column, "mark" | "state" | "flag") => Cell::new(words).fg(colour),
        _ => Cell::new(words),
    }
}

fn mark(row: &InstanceRow) -> (&'static str, Option<Color>) {
    match (&row.flag, row.state.as_str()) {
        (Some(flag), _) if flag.kind == "slow" => ("\u{25d0}", Some(Color::Yellow)),
        (Some(_), _) => ("\u{25b2}", Some(Color::Red)),
        (None, "running") => ("\u{25cf}", Some(Color::Green)),
        (None, "killed") => ("\u{25a0}", None),
        (None, "loading" | "registered" | "params_done" | "bench_done") => ("\u{25d0}", None),
        _ => ("\u{25cb}", None),
    }
}

/// The first block of a UUID; whatever else an id is, whole.
pub(crate) fn short_id(row: &InstanceRow) -> String {
    let id = clean(&row.id);
    match id.split_once('-') {
        Some((first, _)) if row.uuid.is_some() && first.len() >= 8 => first.to_owned(),
        _ => id,
    }
}

fn gpu(row: &InstanceRow) -> Option<String> {
    let name = clean(row.gpu_name.as_deref()?);
    Some(match row.num_gpus {
        Some(count) if count > 1 => format!("{count}x {name}"),
        _ => name,
    })
}

/// What is out of order with the whole fleet.
pub(crate) fn conditions(all: &[ConditionView]) {
    all.iter().for_each(|it| condition(it, ""));
    if !all.is_empty() {
        out("");
    }
}

/// One condition, its first line behind `before`.
pub(crate) fn condition(it: &ConditionView, before: &str) {
    let mark = if it.severity == "incident" { "\u{25b2}\u{25b2}" } else { "\u{25b2}" };
    let price = it.dollars_per_h.map_or_else(String::new, |dollars| format!("; ${dollars:.2}/h by their last prices"));
    out(&format!("{before}{mark} {}: {}{price}", clean(&it.kind), clean(&it.summary)));
    it.evidence.iter().for_each(|seen| out(&format!("   seen: {}", clean(seen))));
    out(&format!("   means: {}", clean(&it.meaning)));
    it.next.iter().for_each(|next| out(&format!("   next: {}", clean(next))));
}

/// What is out of order, what is watched, how fresh it is, and the sums.
pub(crate) fn head(view: &FleetView) {
    conditions(&view.conditions);
    sums(view);
}

/// What is watched, how fresh it is, and the sums.
pub(crate) fn sums(view: &FleetView) {
    if let Some(simulated) = &view.watching.simulated {
        out(&format!("SIMULATED: {}", clean(simulated)));
    }
    let summary = &view.summary;
    let at = view.as_of.map_or_else(|| "never read".to_owned(), |at| format!("as of {}", local(at)));
    let cache = match view.connection.vast_cache_age_s {
        Some(age_s) => format!("vast.ai's records {} old", duration(age_s)),
        None => "vast.ai's records not read yet".to_owned(),
    };
    out(&format!("{}, {at}, {cache}", clean(&view.watching.name)));
    if let Some(skew) = view.connection.clock_skew_s.filter(|skew| skew.abs() >= 5.0) {
        out(&format!(
            "the manager's clock is {} {} yours; dwell is counted on the manager's",
            duration(skew.abs()),
            if skew > 0.0 { "ahead of" } else { "behind" }
        ));
    }
    let dollars = |value: Option<f64>| value.map_or_else(|| "$\u{2013}/h".to_owned(), |value| format!("${value:.2}/h"));
    let mut money = format!(
        "{} proofs/h benchmarked   {} proving   {} waiting   {} stalled   {} leaking",
        or_dash(summary.benchmarked_proofs_per_h.map(|rate| format!("{rate:.2}"))),
        dollars(summary.proving_dollars_per_h),
        dollars(summary.waiting_dollars_per_h),
        dollars(summary.stalled_dollars_per_h),
        dollars(summary.leaking_dollars_per_h)
    );
    if summary.billing_unknown > 0 {
        money.push_str(&format!(
            "   {} billed or not: unknown ({})",
            dollars(summary.unknown_dollars_per_h),
            summary.billing_unknown
        ));
    }
    if let Some(dollars) = summary.dollars_per_proof {
        money.push_str(&format!("   ${dollars:.4}/proof all-in"));
    }
    if summary.price_not_told > 0 {
        money.push_str(&format!("   ({} prices not told)", summary.price_not_told));
    }
    out(&money);
    let states: Vec<String> = summary.states.iter().map(|state| format!("{} {}", clean(&state.state), state.count)).collect();
    out(&states.join("   "));
    out("");
}

/// Local time with its zone.
pub(crate) fn local(at: jiff::Timestamp) -> String {
    at.to_zoned_datetime(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S %Z").to_string()
}

fn clock(at: jiff::Timestamp) -> String {
    at.to_zoned_datetime(jiff::tz::TimeZone::system()).strftime("%H:%M:%S").to_string()
}

/// One instance's page.
pub(crate) fn page(page: &InstancePage) {
    let row = &page.row;
    out(&format!("{}  {}", clean(&row.id), or_dash(gpu(row))));
    let dwell =
        row.dwell_s.map_or_else(|| "for a time that makes no sense".to_owned(), |dwell_s| format!("for {}", duration(dwell_s)));
    out(&format!("{} {dwell}, {}", clean(&row.state), basis(row)));
    if let Some(expectation) = &row.expectation {
        out(&format!(
            "usual {}, late from {} ({}{})",
            duration(expectation.usual_s),
            duration(expectation.late_from_s),
            clean(&expectation.of),
            if expectation.stays > 0 { format!(", {} stays", expectation.stays) } else { String::new() },
        ));
    }
    if let Some(countdown) = &row.countdown {
        let left_s = countdown.at.duration_since(row.observed_at).as_secs_f64();
        out(&format!("in {}: {}", duration(left_s), countdown.what));
    }
    match &row.flag {
        Some(flag) => {
            out(&format!("\n{} since {}", flag.kind.to_uppercase(), local(flag.since)));
            out(&format!("  {}", clean(&flag.reason)));
            out(&format!("  {}", clean(&flag.certainty)));
            out(&format!("  would show: {}", clean(&flag.would_show.join("; "))));
        }
        None => out(&format!("\nno flag: {}", clean(&row.note))),
    }
    out("\nWhat was looked at");
    let mut evidence = table(&["CHANNEL", "HEALTH", "WHAT"]);
    for seen in &page.evidence {
        evidence.add_row(vec![seen.channel.clone(), seen.health.clone(), clean(&seen.text)]);
    }
    out(&evidence.to_string());
    if !page.said.is_empty() {
        out("\nKnown words in its log and status");
        for said in &page.said {
            let times = if said.count > 1 { format!(", {} times", said.count) } else { String::new() };
            out(&format!("  {} ({}{times}; written by {})", clean(&said.meaning), local(said.at), said.causes.join(", ")));
            let source = if said.source.is_empty() { "status" } else { &said.source };
            out(&format!("    {}: {}", clean(source), clean(&said.line)));
        }
    }
    if let Some(silence) = &page.silence {
        self::silence(silence);
    }
    out("\nLife");
    let mut life = table(&["AT", "STATE", "STAYED", "TIME FROM", "KIND"]);
    for entry in &page.life {
        life.add_row(vec![
            local(entry.at),
            clean(&entry.state),
            or_dash(entry.stayed_s.map(duration)),
            entry.basis.clone(),
            entry.kind.clone(),
        ]);
    }
    out(&life.to_string());
    out("\nFacts");
    let mut facts = table(&["", "", "FROM"]);
    for fact in &page.facts {
        facts.add_row(vec![fact.name.clone(), or_dash(fact.value.as_deref().map(clean)), fact.source.clone()]);
    }
    out(&facts.to_string());
}

fn basis(row: &InstanceRow) -> String {
    match row.dwell_basis.as_str() {
        "manager" => "by the manager's own time".to_owned(),
        "vast_start" => "since the rental began".to_owned(),
        "observed" => format!("seen entering it (to within {})", duration(row.dwell_earlier_by_s)),
        "bench_done" => "counted from its benchmark report: the manager keeps no time of running".to_owned(),
        _ => "at least: it was so when Dwell first looked".to_owned(),
    }
}

/// What a silence means.
pub(crate) fn silence(silence: &SilenceView) {
    out(&format!("\nIts silence: {}", clean(&silence.seen)));
    for meaning in &silence.can_mean {
        out(&format!("  can mean:    {}", clean(meaning)));
    }
    for meaning in &silence.cannot_mean {
        out(&format!("  cannot mean: {}", clean(meaning)));
    }
}

/// Log lines, harmless.
pub(crate) fn lines(page: &LogPage, one_source: bool) {
    for line in &page.lines {
        if line.after_gap {
            out("-- lines may be missing here: more arrived than one reading shows --");
        }
        let cut = if line.cut_bytes > 0 { format!(" [{} more bytes]", line.cut_bytes) } else { String::new() };
        let source = if one_source { String::new() } else { format!("{:<11} ", clean(&line.source)) };
        let kept = if line.kept_from_before { "kept " } else { "" };
        out(&format!("{} {kept}{source}{}{cut}", clock(line.at), clean(&line.text)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_harmless() {
        let hostile =
            "\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7} \u{9b}2J \u{1b}]8;;http://x\u{1b}\\link \u{202e}gnp <b>\u{0}\rover";
        let shown = clean(hostile);
        assert!(shown.contains("red") && shown.contains("<b>") && shown.contains("link"), "{shown:?}");
        assert!(!shown.chars().any(|character| !is_plain(character)), "{shown:?}");
        assert!(!shown.contains("title") && !shown.contains("http"), "{shown:?}");
        assert_eq!(clean(&"x".repeat(1 << 20)).len(), 1 << 20);
    }

    #[test]
    fn the_bar_shows_where_dwell_stands() {
        assert_eq!(dwell_bar(0.0, 30.0, 40.0), "········┊··▏··");
        assert_eq!(dwell_bar(25.0, 30.0, 40.0), "███████·┊··▏··");
        assert_eq!(dwell_bar(100.0, 30.0, 40.0), "██████▓▓▓▓▓▓▓▓");
        assert_eq!(dwell_bar(0.0, 0.0, 0.0).chars().count(), 14);
    }
}
