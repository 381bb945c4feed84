//! One harness a reader.

use dwell_clients::VastPages;
use dwell_commands::settings_text;
use dwell_fleet::look::Smi;
use dwell_fleet::{NAME_LETTERS_MAX, Row, Timestamp, WORDS_LETTERS_MAX, is_plain};
use dwell_wire::{Dashboard, LogLine, PROBE_END, ROWS_MAX, decode, encode, log_line, probed, snapshot, vast_json, vast_record};
use serde_json::{Map, Value};

/// Bytes of an input; longer ones only take longer.
const BYTES_MAX: usize = 16 * 1024;

fn at() -> Timestamp {
    Timestamp::UNIX_EPOCH
}

fn is_shown(text: &Option<String>, letters_max: usize) -> bool {
    text.as_ref().is_none_or(|text| {
        text.chars().count() <= letters_max && text.chars().all(|letter| is_plain(letter) || letter == '\u{fffd}')
    })
}

fn is_sane(row: &Row) -> bool {
    let vast = &row.vast;
    let numbers = [
        row.min_rate_proofs_per_h,
        vast.dollars_per_h,
        vast.cpu_ram_mib,
        vast.gpu_temp_c,
        vast.gpu_ram_mib,
        vast.cuda_version,
        vast.inet_down_mbps,
        vast.inet_up_mbps,
        vast.cpu_util_percent,
        vast.mem_usage_gb,
        vast.mem_limit_gb,
        vast.disk_space_gb,
        vast.gpu_mem_bw_gb_s,
        vast.reliability,
        vast.gpu_frac,
    ];
    let names = [&row.label, &vast.gpu_name, &vast.ssh_command, &vast.geolocation, &vast.driver_version, &vast.public_ip];
    numbers.into_iter().flatten().all(|number| number.is_finite() && number > 0.0)
        && names.into_iter().all(|name| is_shown(name, NAME_LETTERS_MAX))
        && [&row.kill_reason, &vast.status_msg].into_iter().all(|words| is_shown(words, WORDS_LETTERS_MAX))
        && row
            .uuid
            .as_ref()
            .is_none_or(|uuid| uuid.as_str().len() <= 64 && uuid.as_str().bytes().all(|byte| byte.is_ascii_graphic()))
}

#[test]
fn a_dashboard() {
    bolero::check!().with_max_len(BYTES_MAX).for_each(|bytes: &[u8]| {
        let Ok(dashboard) = decode::<Dashboard>(bytes) else { return };
        let (listed, unreadable) = (dashboard.instances.len(), dashboard.instances_unreadable);
        let written = encode(&dashboard);
        let read = snapshot(dashboard, at(), at());
        assert!(listed <= ROWS_MAX && read.rows.len() == listed && read.rows_unreadable == unreadable);
        assert!(read.rows.iter().all(is_sane), "{read:?}");
        // What Dwell writes (as the simulator does) Dwell reads.
        assert!(decode::<Dashboard>(&written).is_ok_and(|again| again.instances.len() == listed));
    });
}

#[test]
fn a_log() {
    bolero::check!().with_max_len(BYTES_MAX).for_each(|bytes: &[u8]| {
        let Ok(lines) = decode::<Vec<LogLine>>(bytes) else { return };
        for line in lines.into_iter().filter_map(log_line) {
            assert!(is_shown(&Some(line.source), NAME_LETTERS_MAX));
        }
    });
}

#[test]
fn a_record_of_vast() {
    bolero::check!().with_max_len(BYTES_MAX).for_each(|bytes: &[u8]| {
        let Some(answer) = vast_json(bytes) else { return };
        for record in [&answer, &answer["instances"], &answer["instances"][0]] {
            let read = vast_record(record);
            let numbers =
                [read.cpu_cores, read.gpu_temp_c, read.cpu_ram_mib, read.disk_space_gb, read.disk_usage_gb, read.dollars_per_h];
            assert!(numbers.into_iter().flatten().all(f64::is_finite), "{read:?}");
            let words = [
                &read.actual_status,
                &read.intended_status,
                &read.cur_state,
                &read.status_msg,
                &read.label,
                &read.driver_version,
            ];
            assert!(words.into_iter().all(|words| is_shown(words, WORDS_LETTERS_MAX)), "{read:?}");
        }
    });
}

/// A list of an account's rentals: it is whole only where its own count agrees with rows that could all be read.
#[test]
fn a_list_of_vast() {
    bolero::check!().with_max_len(BYTES_MAX).for_each(|bytes: &[u8]| {
        // Pages with a zero byte between: in JSON there is none.
        let mut pages = VastPages::default();
        let mut rows = 0;
        for page in bytes.split(|byte| *byte == 0).filter_map(vast_json) {
            rows += page["instances"].as_array().map_or(0, Vec::len);
            match pages.take(&page) {
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break,
            }
        }
        let list = pages.end();
        assert!(list.rentals.len() + list.rows_unreadable <= rows);
        if list.incomplete.is_none() {
            assert_eq!((list.rows_unreadable, list.total), (0, Some(list.rentals.len() as u64)));
            assert!(list.rentals.iter().all(|rental| list.has(rental.id) == Some(true)));
        } else {
            assert_ne!(list.has(u64::MAX), Some(false), "absence follows from whole lists alone");
        }
    });
}

/// Where the line begins that ends an output: the mark alone, for in the middle of a line it ends nothing.
fn end_of(text: &str) -> Option<usize> {
    let mut place = 0;
    for line in text.split_inclusive('\n') {
        let words = line.strip_suffix('\n').unwrap_or(line);
        if words == PROBE_END || words.strip_suffix('\r').is_some_and(|it| it.strip_suffix('\r').unwrap_or(it) == PROBE_END) {
            return Some(place);
        }
        place += line.len();
    }
    None
}

/// Also: what was cut off says nothing that the whole would not have said.
#[test]
fn a_look_at_a_machine() {
    bolero::check!().with_max_len(BYTES_MAX).for_each(|bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let Some(read) = probed(&text, at()) else { return };
        let seen = &read.seen;
        let numbers = [
            seen.clock_ahead_s,
            seen.memory_limit_gib,
            seen.memory_used_gib,
            seen.disk_gb,
            seen.disk_used_gb,
            seen.disk_mb_s,
            seen.up_s,
        ];
        assert!(numbers.into_iter().flatten().all(f64::is_finite), "{seen:?}");
        if let Some(Smi::Cards(cards)) = &seen.smi {
            let numbers =
                cards.iter().flat_map(|card| [card.load_percent, card.temperature_c, card.memory_used_mib, card.memory_mib]);
            assert!(numbers.flatten().all(|number| number.is_finite() && number >= 0.0), "{cards:?}");
        }
        let ages = seen.processes.iter().flatten().filter_map(|process| process.cpu_percent);
        assert!(ages.into_iter().all(|percent| percent.is_finite() && percent >= 0.0));
        let Some(end) = end_of(&text) else { return assert!(!read.complete) };
        // Cut before its end mark, it is not whole, and what it denies the whole denies too.
        let cut = probed(&text[..end], at());
        if let Some(cut) = cut.filter(|_| read.complete) {
            assert!(!cut.complete);
            for (part, whole) in [
                (cut.seen.has_adx, seen.has_adx),
                (cut.seen.resolves_names, seen.resolves_names),
                (cut.seen.reaches_manager, seen.reaches_manager),
            ] {
                assert!(part != Some(false) || whole == Some(false));
            }
        }
    });
}

/// What a settings file says that this version does not know, fleet by fleet after the rest.
fn unknown(text: &str) -> Vec<Map<String, Value>> {
    let mut all: Map<String, Value> = toml_edit::de::from_str(text).unwrap_or_default();
    let fleets = all.remove("fleet");
    for known in ["watching", "vast_accounts", "history_gib_max", "rule"] {
        all.remove(known);
    }
    let fleets = fleets.iter().filter_map(Value::as_array).flatten().filter_map(Value::as_object).map(|fleet| {
        let known = ["name", "address", "ssh", "allow_probe", "may_act"];
        fleet.iter().filter(|(key, _)| !known.contains(&key.as_str())).map(|(key, value)| (key.clone(), value.clone())).collect()
    });
    [all].into_iter().chain(fleets).collect()
}

/// Settings that can be read are read again after a change: that one fleet is read-only now, no other may be acted on that might not
/// be before, and what another version wrote stays.
#[test]
fn settings() {
    bolero::check!().with_max_len(BYTES_MAX).for_each(|bytes: &[u8]| {
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        let Some(before) = settings_text::fleets(text) else { return };
        let place = bytes.len() % before.len().max(1);
        let changed = settings_text::changed(text, "one more", place).unwrap_or_else(|error| panic!("{error}: {text:?}"));
        let after = settings_text::fleets(&changed).unwrap_or_else(|| panic!("not readable any more: {changed:?}"));
        let expected = before.iter().enumerate().map(|(at, (name, may_act))| (name.clone(), *may_act && at != place));
        assert!(after.iter().cloned().eq(expected.chain([("one more".to_owned(), false)])), "{text:?} {changed:?}");
        let (known, mut kept) = (unknown(text), unknown(&changed));
        assert!(kept.pop().is_some_and(|new| new.is_empty()) && kept == known, "{text:?} {changed:?}");
    });
}
