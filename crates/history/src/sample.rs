//! A made-up year of a large fleet, for measuring: written past the watch, with everything that a real one has.

use std::path::Path;

use dwell_fleet::Timestamp;
use rusqlite::Connection;

use crate::{FULL_S, History, HistoryError, MINUTES_S, ms};

/// How much is written.
#[derive(Debug, Clone, Copy)]
pub struct Year {
    /// Rented at the same time.
    pub instances: i64,
    /// Changes of state over the year, about.
    pub transitions: i64,
    /// Readings of gauges, about: close to each other in the last week, then a minute apart, then ten.
    pub gauges: i64,
    /// Log lines, about.
    pub lines: i64,
}

/// Seconds of the year.
const YEAR_S: i64 = 365 * 86_400;
/// States of a life, each with when it is entered, seconds after the rental.
const LIFE: [(&str, i64); 5] =
    [("loading", 0), ("registered", 200), ("params_done", 2_400), ("bench_done", 4_000), ("running", 4_100)];
const CARDS: [&str; 6] = ["RTX 3090", "RTX 4090", "RTX 5090", "RTX 5000Ada", "RTX A6000", "H100 SXM"];
const IMAGES: [&str; 4] = ["example/curio-cuzk:1", "example/curio-cuzk:2", "example/curio-cuzk:3", "example/curio-cuzk:latest"];
const REGIONS: [&str; 8] =
    ["Norway, NO", "Quebec, CA", "Texas, US", "Poland, PL", "Sweden, SE", "Ohio, US", "Spain, ES", "Japan, JP"];
const SOURCES: [&str; 5] = ["setup", "benchdaemon", "benchout", "cuzk", "curio"];

/// Numbers that look random and are the same every time.
struct Mixed(u64);

impl Mixed {
    /// Below `below`.
    fn next(&mut self, below: i64) -> i64 {
        // SplitMix64 (Steele, Lea & Flood 2014).
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % below.unsigned_abs().max(1)) as i64
    }
}

/// One rental: its row, and when it was there, ms.
struct Rental {
    row: i64,
    from: i64,
    to: i64,
}

/// Writes a year that ends at `end` to a file that is not there yet. `told` is given what was done, now and then.
pub fn write_year(path: &Path, year: Year, end: Timestamp, mut told: impl FnMut(&str)) -> Result<(), HistoryError> {
    let mut history = History::open(path)?;
    let fleet = history.fleet("http://year.example", None)?;
    let connection = &mut history.connection;
    // What is half written is thrown away: nobody waits for the disk.
    connection.pragma_update(None, "synchronous", "OFF")?;
    connection.pragma_update(None, "cache_size", -500_000)?;
    let begin = ms(end) - YEAR_S * 1000;
    let mut mixed = Mixed(1);
    connection.execute("INSERT INTO watched (fleet, from_ms, to_ms) VALUES (?1, ?2, ?3)", (fleet.0, begin, ms(end)))?;
    // A laptop that is closed every night.
    for night in 0..365 {
        let from = begin + night * 86_400_000 + 82_800_000;
        connection.execute("INSERT INTO gap (fleet, from_ms, to_ms) VALUES (?1, ?2, ?3)", (fleet.0, from, from + 3_000_000))?;
    }
    let rentals = rentals(connection, fleet.0, year, (begin, ms(end)), &mut mixed)?;
    told(&format!("{} instances", rentals.len()));
    gauges(connection, year, &rentals, ms(end))?;
    told("gauges");
    lines(connection, fleet.0, year, &rentals, (begin, ms(end)), &mut mixed, &mut told)?;
    connection
        .execute("INSERT OR REPLACE INTO upkeep (task, until_ms) SELECT 'gauges to minutes', ?1", [ms(end) - FULL_S * 1000])?;
    connection.execute(
        "INSERT OR REPLACE INTO upkeep (task, until_ms) SELECT 'gauges to 10 minutes', ?1",
        [ms(end) - MINUTES_S * 1000],
    )?;
    // All of it into the file itself.
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}

fn rentals(
    connection: &mut Connection,
    fleet: i64,
    year: Year,
    (begin, end): (i64, i64),
    mixed: &mut Mixed,
) -> Result<Vec<Rental>, rusqlite::Error> {
    let count = year.transitions / 6;
    let mean_s = YEAR_S * year.instances / count.max(1);
    let transaction = connection.transaction()?;
    let mut rentals = Vec::new();
    {
        let mut instance = transaction.prepare(
            "INSERT INTO instance (fleet, uuid, vast_id, label, state, entered_ms, basis, earlier_by_s, first_seen_ms, last_listed_ms,
                    gpu_name, num_gpus, dollars_per_h, machine_id, host_id, geolocation, bench_rate, min_rate, image, cpu_ram_mib, kill_reason)
             VALUES (?1, ?2, ?3, 'C.' || ?3, ?4, ?5, 'manager', 0, ?6, ?7, ?8, 1, ?9, ?10, ?10, ?11, ?12, 30, ?13, 262144, ?14)",
        )?;
        let mut transition = transaction.prepare(
            "INSERT INTO transition (instance, from_state, to_state, at_ms, basis, earlier_by_s, kind, seen_ms)
             VALUES (?1, ?2, ?3, ?4, 'manager', 0, ?5, ?4)",
        )?;
        for slot in 0..year.instances {
            let mut from = begin - mixed.next(mean_s) * 1000;
            while from < end {
                let life_s = mean_s / 3 + mixed.next(mean_s * 4 / 3);
                let to = from + life_s * 1000;
                let number = rentals.len() as i64;
                let stuck = mixed.next(10) == 0;
                let reached = if stuck { 3 } else { LIFE.len() };
                let is_killed = to < end;
                let (state, entered) =
                    if is_killed { ("killed", to) } else { (LIFE[reached - 1].0, from + LIFE[reached - 1].1 * 1000) };
                let pick = |list: &[&'static str], of: i64| list[(of as usize) % list.len()];
                let rate = (!stuck).then_some(20.0 + (slot % 60) as f64);
                instance.execute(rusqlite::params![
                    fleet,
                    format!("{number:08x}-9e52-422b-bb31-52baefcaa6ef"),
                    30_000_000 + number,
                    state,
                    entered,
                    from,
                    to.min(end),
                    pick(&CARDS, slot),
                    0.2 + (slot % 50) as f64 / 100.0,
                    40_000 + slot % 300,
                    pick(&REGIONS, slot / 3),
                    rate,
                    pick(&IMAGES, (from - begin) / (YEAR_S * 250 + 1)),
                    is_killed.then_some(if stuck { "benchmark timeout (45min)" } else { "manually killed via UI" }),
                ])?;
                let row = transaction.last_insert_rowid();
                let mut before: Option<&str> = None;
                for (state, after_s) in &LIFE[..reached] {
                    let spread = mixed.next(after_s / 2 + 1) - after_s / 4;
                    let kind = if before.is_none() { "first_seen" } else { "forward" };
                    transition.execute((row, before, state, from + (after_s + spread) * 1000, kind))?;
                    before = Some(state);
                }
                if is_killed {
                    transition.execute((row, before, "killed", to, "killed"))?;
                }
                rentals.push(Rental { row, from: from.max(begin), to: to.min(end) });
                from = to + 600_000;
            }
        }
    }
    transaction.commit()?;
    Ok(rentals)
}

fn gauges(connection: &mut Connection, year: Year, rentals: &[Rental], end: i64) -> Result<(), rusqlite::Error> {
    // As many as the rule leaves of readings every half minute, fewer by one factor.
    let (full, minutes) = (end - FULL_S * 1000, end - MINUTES_S * 1000);
    let (week, month) = (FULL_S / 30, (MINUTES_S - FULL_S) / 60);
    let whole = year.instances * (week + month + (YEAR_S - MINUTES_S) / 600);
    let sparser = (whole as f64 / year.gauges.max(1) as f64).max(1.0);
    let transaction = connection.transaction()?;
    {
        let mut insert = transaction.prepare(
            "INSERT OR IGNORE INTO gauge (instance, at_ms, gpu_util, gpu_temp, cpu_util, mem_gb, log_lines) VALUES (?1, ?2, ?3, ?4, 40.0, 96.5, ?5)",
        )?;
        for rental in rentals {
            let mut at = rental.from;
            while at < rental.to {
                insert.execute((
                    rental.row,
                    at,
                    (at / 1000 % 101) as f64,
                    50.0 + (at / 7_000 % 30) as f64,
                    at / 60_000 % 1_000,
                ))?;
                let step = if at >= full {
                    30_000.0
                } else if at >= minutes {
                    60_000.0
                } else {
                    600_000.0
                };
                at += (step * sparser) as i64;
            }
        }
    }
    transaction.commit()
}

fn lines(
    connection: &mut Connection,
    fleet: i64,
    year: Year,
    rentals: &[Rental],
    (begin, end): (i64, i64),
    mixed: &mut Mixed,
    told: &mut impl FnMut(&str),
) -> Result<(), rusqlite::Error> {
    const HOUR_MS: i64 = 3_600_000;
    let hours = (end - begin) / HOUR_MS;
    let each = year.lines / hours.max(1) / year.instances.max(1);
    let mut by_begin: Vec<&Rental> = rentals.iter().collect();
    by_begin.sort_by_key(|rental| rental.from);
    let (mut coming, mut alive): (usize, Vec<&Rental>) = (0, Vec::new());
    let mut written = 0;
    for hour in 0..hours {
        let from = begin + hour * HOUR_MS;
        while coming < by_begin.len() && by_begin[coming].from <= from {
            alive.push(by_begin[coming]);
            coming += 1;
        }
        alive.retain(|rental| rental.to > from);
        let transaction = connection.transaction()?;
        {
            let mut line = transaction
                .prepare_cached("INSERT INTO log_line (fleet, instance, source, at_ms, text) VALUES (?1, ?2, ?3, ?4, ?5)")?;
            let mut words = transaction.prepare_cached("INSERT INTO log_search (rowid, text) VALUES (?1, ?2)")?;
            for rental in &alive {
                for n in 0..each {
                    let at = from + n * HOUR_MS / each.max(1) + rental.row % 1_000;
                    let text = text_of(mixed, at);
                    line.execute((fleet, rental.row, SOURCES[mixed.next(5) as usize], at, &text))?;
                    words.execute((transaction.last_insert_rowid(), &text))?;
                    written += 1;
                }
            }
        }
        transaction.commit()?;
        if hour % 365 == 0 {
            told(&format!("{written} log lines"));
        }
    }
    Ok(())
}

/// A line as provers and daemons write them: a time, a level, words, figures; now and then one that is rare.
fn text_of(mixed: &mut Mixed, at: i64) -> String {
    let second = at / 1000 % 86_400;
    let time = format!("{:02}:{:02}:{:02}.{:03}", second / 3_600, second / 60 % 60, second % 60, at % 1_000);
    match mixed.next(1_000_000) {
        0 => format!("{time} ERROR cuda: no kernel image is available for execution on the device"),
        1..50 => format!("{time} WARN vast: host {} unreachable, retry {}", mixed.next(300), mixed.next(9)),
        50..300_000 => format!(
            "{time} INFO cuzk: proof {} partition {} synthesized in {} ms",
            mixed.next(400_000),
            mixed.next(10),
            mixed.next(90_000)
        ),
        300_000..600_000 => format!(
            "{time} INFO cuzk: proof {} partition {} proved in {} ms, {} pending",
            mixed.next(400_000),
            mixed.next(10),
            mixed.next(40_000),
            mixed.next(4)
        ),
        600_000..800_000 => {
            format!("{time} INFO curio: task {} PoRep sector {} claimed", mixed.next(900_000), mixed.next(60_000))
        }
        800_000..950_000 => format!("{time} DEBUG memory: budget {} of 240 GiB, waiting {}", mixed.next(240), mixed.next(6)),
        _ => format!(
            "{time} INFO benchd: warm-up pass {} finished, rate {}.{} proofs/h",
            mixed.next(12),
            mixed.next(90),
            mixed.next(100)
        ),
    }
}
