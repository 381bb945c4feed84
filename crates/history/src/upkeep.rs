//! What keeps the file from growing for ever: old gauges are thinned, and the oldest log lines make room.

use dwell_fleet::Timestamp;
use rusqlite::{Connection, OptionalExtension, Transaction};

use crate::{History, HistoryError, ms};

/// Gauges are kept in full for so long, seconds: 7 days.
pub const FULL_S: i64 = 7 * 86_400;
/// Then one a minute up to this age, seconds: 30 days. Then one in ten minutes.
pub const MINUTES_S: i64 = 30 * 86_400;

/// A thinning: its name, from which age on, and in which steps one reading is left. What is left is a reading that was made (the
/// first of its step), never a mean.
const THINNINGS: [(&str, i64, i64); 2] =
    [("gauges to minutes", FULL_S * 1000, 60_000), ("gauges to 10 minutes", MINUTES_S * 1000, 600_000)];

/// One transaction thins the gauges of so long, ms; one call makes at most so many.
const WINDOW_MS: i64 = 3_600_000;
const WINDOWS_MOST: usize = 48;
/// Gauges removed in one call, about, and log lines: both take some tens of milliseconds.
const GAUGES_MOST: usize = 20_000;
const LINES_MOST: i64 = 5_000;

/// How large history may become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes in use; beyond them the oldest log lines go. Transitions, gauges, notes and benchmarks are never removed for it.
    pub bytes_max: u64,
}

impl Default for Limits {
    /// 16 GiB: room for a year of 500 instances with 50 million log lines (`cargo bench -p dwell-commands --bench year`).
    fn default() -> Self {
        Self { bytes_max: 16 << 30 }
    }
}

/// What was done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Upkept {
    /// Readings of gauges that went.
    pub gauges: usize,
    /// Log lines that went.
    pub lines: usize,
    /// There is more to do: call again.
    pub more: bool,
}

/// How large history is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Bytes in use.
    pub used_bytes: u64,
    /// Bytes of the file that are free for what comes.
    pub free_bytes: u64,
}

impl History {
    /// Does a part of what is due, in transactions of their own: killed in between, what is left is whole, and goes on later.
    pub fn upkeep(&mut self, now: Timestamp, limits: Limits) -> Result<Upkept, HistoryError> {
        let mut done = Upkept::default();
        for (task, age_ms, step_ms) in THINNINGS {
            done.more |= self.thin(task, ms(now) - age_ms, step_ms, &mut done.gauges)?;
        }
        if self.size()?.used_bytes > limits.bytes_max {
            done.lines = self.drop_oldest_lines()?;
            done.more |= done.lines > 0;
        }
        Ok(done)
    }

    /// How large history is.
    pub fn size(&self) -> Result<Size, HistoryError> {
        let number =
            |what: &str| self.connection.pragma_query_value(None, what, |row| row.get::<_, i64>(0)).map(i64::unsigned_abs);
        let (pages, free, size) = (number("page_count")?, number("freelist_count")?, number("page_size")?);
        Ok(Size { used_bytes: (pages - free.min(pages)) * size, free_bytes: free * size })
    }

    /// Thins up to `before`, window by window. True where windows are left.
    fn thin(&mut self, task: &str, before: i64, step_ms: i64, removed: &mut usize) -> Result<bool, HistoryError> {
        for _ in 0..WINDOWS_MOST {
            if *removed >= GAUGES_MOST {
                return Ok(true);
            }
            let transaction = self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            let Some(from) = next_window(&transaction, task)? else { return Ok(false) };
            let to = from + WINDOW_MS;
            // A window is thinned when it is old enough as a whole, and then never again.
            if to > before {
                return Ok(false);
            }
            let instances: Vec<i64> = transaction
                .prepare_cached("SELECT id FROM instance WHERE first_seen_ms < ?2 AND last_listed_ms >= ?1")?
                .query_map((from, to), |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            let mut thin = transaction.prepare_cached(
                "DELETE FROM gauge WHERE instance = ?1 AND at_ms >= ?2 AND at_ms < ?3 AND EXISTS
                    (SELECT 1 FROM gauge AS earlier WHERE earlier.instance = ?1 AND earlier.at_ms < gauge.at_ms
                        AND earlier.at_ms >= gauge.at_ms - gauge.at_ms % ?4)",
            )?;
            for instance in instances {
                *removed += thin.execute((instance, from, to, step_ms))?;
            }
            drop(thin);
            transaction.execute("INSERT OR REPLACE INTO upkeep (task, until_ms) VALUES (?1, ?2)", (task, to))?;
            transaction.commit()?;
        }
        Ok(true)
    }

    fn drop_oldest_lines(&mut self) -> Result<usize, HistoryError> {
        let transaction = self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let last: Option<i64> = transaction
            .prepare_cached("SELECT max(id) FROM (SELECT id FROM log_line ORDER BY id LIMIT ?1)")?
            .query_row([LINES_MOST], |row| row.get(0))?;
        let Some(last) = last else { return Ok(0) };
        transaction.prepare_cached("DELETE FROM log_search WHERE rowid <= ?1")?.execute([last])?;
        let removed = transaction.prepare_cached("DELETE FROM log_line WHERE id <= ?1")?.execute([last])?;
        transaction.commit()?;
        Ok(removed)
    }
}

/// Where the next window of a thinning begins: where the last one ended, or where history begins. `None` without any.
fn next_window(connection: &Connection, task: &str) -> Result<Option<i64>, rusqlite::Error> {
    let until: Option<i64> = connection
        .prepare_cached("SELECT until_ms FROM upkeep WHERE task = ?1")?
        .query_row([task], |row| row.get(0))
        .optional()?;
    // Nobody was watched in between: nothing to thin there.
    let first: Option<i64> = connection
        .prepare_cached("SELECT min(first_seen_ms) FROM instance WHERE last_listed_ms >= ?1")?
        .query_row([until.unwrap_or(i64::MIN)], |row| row.get(0))?;
    Ok(first.map(|first| until.unwrap_or(i64::MIN).max(first - first.rem_euclid(WINDOW_MS))))
}

/// Before which times gauges are thinned already, ms since the epoch.
pub(crate) struct Thinned {
    pub(crate) to_minutes: i64,
    pub(crate) to_ten_minutes: i64,
}

pub(crate) fn thinned_until(transaction: &Transaction<'_>) -> Result<Thinned, rusqlite::Error> {
    let until = |task: &str| {
        let sql = "SELECT coalesce(max(until_ms), -1) FROM upkeep WHERE task = ?1";
        transaction.query_row(sql, [task], |row| row.get(0))
    };
    let [(minutes, ..), (ten_minutes, ..)] = THINNINGS;
    Ok(Thinned { to_minutes: until(minutes)?, to_ten_minutes: until(ten_minutes)? })
}

/// For an import: what was thinned here is to be thinned again from `from` on.
pub(crate) fn thin_again_from(transaction: &Transaction<'_>, from: i64) -> Result<(), rusqlite::Error> {
    let from = from - from.rem_euclid(WINDOW_MS);
    transaction.execute("UPDATE upkeep SET until_ms = min(until_ms, ?1)", [from]).map(drop)
}
