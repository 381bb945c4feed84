//! Another workstation's history, joined to this one: what both saw is kept once, and importing again adds nothing.

use std::collections::HashSet;
use std::path::Path;

use rusqlite::{Connection, MAIN_DB, OpenFlags, OptionalExtension, Transaction, params};

use crate::record::ONE_READING_MS;
use crate::watched::stretches;
use crate::{History, HistoryError, upkeep};

/// What an import brought.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Imported {
    /// Fleets that were not known here.
    pub fleets: usize,
    /// Instances that were not known here.
    pub instances: usize,
    /// Changes of state.
    pub transitions: usize,
    /// Readings of gauges.
    pub gauges: usize,
    /// Flags.
    pub flags: usize,
    /// Log lines.
    pub lines: usize,
    /// Notes and closings.
    pub notes: usize,
    /// Answers of channels that were asked on purpose.
    pub answers: usize,
}

impl History {
    /// Joins the history at `path` to this one; that file is only read. Instance by instance, a transaction each: killed in
    /// between, what is there is whole, and importing again adds the rest.
    pub fn import(&mut self, path: &Path) -> Result<Imported, HistoryError> {
        let shown = path.display().to_string();
        let unreadable = |reason: String| HistoryError::Open { path: shown.clone(), reason };
        // A copy, so that the other file stays as it is: brought up to date where it is from an older Dwell.
        let folder = tempfile::tempdir().map_err(|error| unreadable(error.to_string()))?;
        let copy = folder.path().join("history.sqlite3");
        copy_of(path, &copy).map_err(unreadable)?;
        drop(Self::open(&copy).map_err(|error| match error {
            HistoryError::Newer { .. } => HistoryError::Newer { path: shown.clone() },
            other => unreadable(other.to_string()),
        })?);
        self.connection.execute("ATTACH DATABASE ?1 AS other", [copy.to_string_lossy()])?;
        let merged = self.merge();
        self.connection.execute("DETACH DATABASE other", [])?;
        // Newest readings and stretches may now be others.
        self.gauges_at.clear();
        self.written.clear();
        self.watching.clear();
        merged
    }

    fn merge(&mut self) -> Result<Imported, HistoryError> {
        let mut brought = Imported::default();
        let fleets: Vec<(i64, String, String)> = self
            .connection
            .prepare("SELECT id, address, simulated FROM other.fleet")?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            .collect::<Result<_, _>>()?;
        for (theirs, address, simulated) in fleets {
            let named = (&address, &simulated);
            brought.fleets +=
                self.connection.execute("INSERT OR IGNORE INTO main.fleet (address, simulated) VALUES (?1, ?2)", named)?;
            let sql = "SELECT id FROM main.fleet WHERE address = ?1 AND simulated = ?2";
            let ours: i64 = self.connection.query_row(sql, named, |row| row.get(0))?;
            self.merge_fleet(theirs, ours, &mut brought)?;
        }
        Ok(brought)
    }

    fn merge_fleet(&mut self, theirs: i64, ours: i64, brought: &mut Imported) -> Result<(), HistoryError> {
        let instances: Vec<i64> = self
            .connection
            .prepare("SELECT id FROM other.instance WHERE fleet = ?1 AND merged_into IS NULL ORDER BY id")?
            .query_map([theirs], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        for instance in instances {
            let transaction = self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            let (row, fresh) = merge_instance(&transaction, instance, ours)?;
            brought.instances += usize::from(fresh);
            brought.transitions += merge_transitions(&transaction, instance, row)?;
            brought.gauges += merge_gauges(&transaction, instance, row)?;
            brought.lines += merge_lines(&transaction, (theirs, Some(instance)), (ours, Some(row)))?;
            brought.flags += transaction.prepare_cached(FLAGS)?.execute((instance, row))?;
            brought.notes += transaction.prepare_cached(NOTES)?.execute((instance, row))?;
            brought.answers += transaction.prepare_cached(ANSWERS)?.execute((instance, row))?;
            transaction.commit()?;
        }
        let transaction = self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        brought.lines += merge_lines(&transaction, (theirs, None), (ours, None))?;
        transaction.execute(
            "INSERT OR IGNORE INTO main.manager_run (fleet, started_ms, from_its_log)
             SELECT ?2, started_ms, from_its_log FROM other.manager_run WHERE fleet = ?1",
            (theirs, ours),
        )?;
        merge_watched(&transaction, theirs, ours)?;
        transaction.commit()?;
        Ok(())
    }
}

/// Two watchers raise one flag at different moments: what was up at the same time is one.
const FLAGS: &str = "INSERT INTO main.flag (instance, kind, since_ms, raised_ms, cleared_ms, reason, certainty)
    SELECT ?2, kind, since_ms, raised_ms, cleared_ms, reason, certainty FROM other.flag AS o
    WHERE instance = ?1 AND NOT EXISTS
       (SELECT 1 FROM main.flag AS m WHERE m.instance = ?2 AND m.kind = o.kind
           AND m.raised_ms <= coalesce(o.cleared_ms, 9e15) AND coalesce(m.cleared_ms, 9e15) >= o.raised_ms)
    ORDER BY id";

const NOTES: &str = "INSERT INTO main.note (instance, at_ms, kind, text, cause, verdict, state, gpu, image, machine)
    SELECT ?2, at_ms, kind, text, cause, verdict, state, gpu, image, machine FROM other.note AS o
    WHERE instance = ?1 AND NOT EXISTS
       (SELECT 1 FROM main.note AS m WHERE m.instance = ?2 AND m.at_ms = o.at_ms AND m.kind = o.kind AND m.text = o.text)
    ORDER BY id";

const ANSWERS: &str = "INSERT INTO main.answer (instance, channel, at_ms, text, cut_bytes)
    SELECT ?2, channel, at_ms, text, cut_bytes FROM other.answer AS o
    WHERE instance = ?1 AND NOT EXISTS
       (SELECT 1 FROM main.answer AS m WHERE m.instance = ?2 AND m.channel = o.channel AND m.at_ms = o.at_ms AND m.text = o.text)
    ORDER BY id";

/// Copies a history as it is at one moment, also while another process writes it. Anything else is refused.
fn copy_of(path: &Path, copy: &Path) -> Result<(), String> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let copied = || -> rusqlite::Result<bool> {
        let other = Connection::open_with_flags(path, flags)?;
        other.busy_timeout(std::time::Duration::from_secs(10))?;
        let count = |sql: &str| other.query_row(sql, [], |row| row.get::<_, i64>(0));
        let tables = count(
            "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('fleet', 'instance', 'transition', 'log_line')",
        )?;
        // Dwell has neither: they could run when it is read.
        let foreign = count("SELECT count(*) FROM sqlite_schema WHERE type IN ('trigger', 'view')")?;
        if tables != 4 || foreign != 0 {
            return Ok(false);
        }
        other.backup(MAIN_DB, copy, None)?;
        Ok(true)
    };
    match copied() {
        Ok(true) => Ok(()),
        Ok(false) => Err("it is no history of Dwell".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// The row here of an instance there, and whether it is new. Of two values the one that was told later stands.
fn merge_instance(transaction: &Transaction<'_>, theirs: i64, fleet: i64) -> Result<(i64, bool), rusqlite::Error> {
    let (uuid, vast_id, label, first_seen, last_listed): (Option<String>, Option<i64>, Option<String>, i64, i64) = transaction
        .prepare_cached("SELECT uuid, vast_id, label, first_seen_ms, last_listed_ms FROM other.instance WHERE id = ?1")?
        .query_row([theirs], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))?;
    let by_uuid: Option<i64> = match &uuid {
        Some(uuid) => transaction
            .prepare_cached("SELECT id FROM main.instance WHERE fleet = ?1 AND uuid = ?2")?
            .query_row((fleet, uuid), |row| row.get(0))
            .optional()?,
        None => None,
    };
    // A row without the manager's id is the same where vast.ai's number is; without a number, where the label is, at the same
    // time. Who has an id on one side only has registered since, or was seen earlier there.
    let found = match by_uuid {
        Some(row) => Some(row),
        None => transaction
            .prepare_cached(
                "SELECT id FROM main.instance WHERE fleet = ?1 AND merged_into IS NULL AND (uuid IS NULL OR ?2 IS NULL)
                    AND (vast_id = ?3 OR ?3 IS NULL AND vast_id IS NULL AND label = ?4)
                    AND (vast_id IS NOT NULL OR first_seen_ms <= ?6 AND last_listed_ms >= ?5)
                 ORDER BY uuid IS NULL DESC, id DESC LIMIT 1",
            )?
            .query_row((fleet, &uuid, vast_id, &label, first_seen, last_listed), |row| row.get(0))
            .optional()?,
    };
    let (row, fresh) = match found {
        Some(row) => (row, false),
        None => {
            transaction
                .prepare_cached(
                    "INSERT INTO main.instance (fleet, state, entered_ms, basis, earlier_by_s, first_seen_ms, last_listed_ms)
                     VALUES (?1, '', 0, '', 0, ?2, -1)",
                )?
                .execute((fleet, first_seen))?;
            (transaction.last_insert_rowid(), true)
        }
    };
    transaction
        .prepare_cached(
            "UPDATE main.instance AS m SET
                uuid = coalesce(m.uuid, o.uuid), vast_id = coalesce(m.vast_id, o.vast_id), label = coalesce(m.label, o.label),
                state = iif(o.last_listed_ms > m.last_listed_ms, o.state, m.state),
                entered_ms = iif(o.last_listed_ms > m.last_listed_ms, o.entered_ms, m.entered_ms),
                basis = iif(o.last_listed_ms > m.last_listed_ms, o.basis, m.basis),
                earlier_by_s = iif(o.last_listed_ms > m.last_listed_ms, o.earlier_by_s, m.earlier_by_s),
                status_msg = iif(o.last_listed_ms > m.last_listed_ms, o.status_msg, m.status_msg),
                dollars_per_h = iif(o.last_listed_ms > m.last_listed_ms,
                                    coalesce(o.dollars_per_h, m.dollars_per_h), coalesce(m.dollars_per_h, o.dollars_per_h)),
                bench_rate = iif(o.last_listed_ms > m.last_listed_ms,
                                 coalesce(o.bench_rate, m.bench_rate), coalesce(m.bench_rate, o.bench_rate)),
                gpu_name = coalesce(m.gpu_name, o.gpu_name), num_gpus = coalesce(m.num_gpus, o.num_gpus),
                machine_id = coalesce(m.machine_id, o.machine_id), host_id = coalesce(m.host_id, o.host_id),
                geolocation = coalesce(m.geolocation, o.geolocation), inet_down_mbps = coalesce(m.inet_down_mbps, o.inet_down_mbps),
                min_rate = coalesce(m.min_rate, o.min_rate), image = coalesce(m.image, o.image),
                cpu_ram_mib = coalesce(m.cpu_ram_mib, o.cpu_ram_mib), kill_reason = coalesce(m.kill_reason, o.kill_reason),
                first_seen_ms = min(m.first_seen_ms, o.first_seen_ms), last_listed_ms = max(m.last_listed_ms, o.last_listed_ms)
             FROM other.instance AS o WHERE m.id = ?2 AND o.id = ?1",
        )?
        .execute((theirs, row))?;
    Ok((row, fresh))
}

/// A change of state as it stands in one of the two.
#[derive(Debug, Clone)]
struct Change {
    from_state: Option<String>,
    to_state: String,
    at_ms: i64,
    basis: String,
    earlier_by_s: f64,
    kind: String,
    seen_ms: i64,
    /// In this history already.
    here: bool,
}

impl Change {
    /// Whether it was listed, rather than what it was.
    fn is_presence(&self) -> bool {
        matches!(self.kind.as_str(), "vanished" | "returned")
    }

    /// Dated by the manager or by vast.ai: the same for every watcher.
    fn is_told(&self) -> bool {
        matches!(self.basis.as_str(), "manager" | "vast_start")
    }
}

/// Whether a change is the one kept before it, seen by another watcher: each dates what it sees itself, or found it so.
fn is_same(kept: &Change, later: &Change) -> bool {
    if later.is_presence() {
        return kept.kind == later.kind;
    }
    kept.to_state == later.to_state && !(kept.is_told() && later.is_told() && kept.at_ms != later.at_ms)
}

/// Joins the changes of both sides in the order in which they happened; gives how many came from the other one.
fn merge_transitions(transaction: &Transaction<'_>, theirs: i64, ours: i64) -> Result<usize, rusqlite::Error> {
    let read = |schema: &str, instance: i64, here: bool| -> Result<Vec<Change>, rusqlite::Error> {
        transaction
            .prepare_cached(&format!(
                "SELECT from_state, to_state, at_ms, basis, earlier_by_s, kind, seen_ms FROM {schema}.transition
                 WHERE instance = ?1 ORDER BY at_ms, id"
            ))?
            .query_map([instance], |row| {
                Ok(Change {
                    from_state: row.get(0)?,
                    to_state: row.get(1)?,
                    at_ms: row.get(2)?,
                    basis: row.get(3)?,
                    earlier_by_s: row.get(4)?,
                    kind: row.get(5)?,
                    seen_ms: row.get(6)?,
                    here,
                })
            })?
            .collect()
    };
    let (mut all, coming) = (read("main", ours, true)?, read("other", theirs, false)?);
    let before: HashSet<(String, i64)> = all.iter().map(|change| (change.to_state.clone(), change.at_ms)).collect();
    let known = all.len();
    all.extend(coming.into_iter().filter(|change| !before.contains(&(change.to_state.clone(), change.at_ms))));
    if all.len() == known {
        return Ok(0);
    }
    all.sort_by(|left, right| left.at_ms.cmp(&right.at_ms).then(right.here.cmp(&left.here)));
    let mut kept: Vec<Change> = Vec::new();
    for change in all {
        let last = kept.iter_mut().rev().find(|it| it.is_presence() == change.is_presence());
        match last.filter(|last| is_same(last, &change)) {
            // Nobody sees a change before it happens: the earlier one is nearer to it. But `running` counted from the benchmark
            // is only the earliest that it can be.
            Some(last) if last.basis == "bench_done" && change.basis == "observed" => *last = change,
            Some(_) => {}
            None => kept.push(change),
        }
    }
    let stays: HashSet<(&str, i64)> = kept.iter().map(|change| (change.to_state.as_str(), change.at_ms)).collect();
    for (state, at) in before.iter().filter(|(state, at)| !stays.contains(&(state.as_str(), *at))) {
        transaction
            .prepare_cached("DELETE FROM main.transition WHERE instance = ?1 AND to_state = ?2 AND at_ms = ?3")?
            .execute((ours, state, at))?;
    }
    let mut insert = transaction.prepare_cached(
        "INSERT OR IGNORE INTO main.transition (instance, from_state, to_state, at_ms, basis, earlier_by_s, kind, seen_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    let mut added = 0;
    for it in kept.iter().filter(|change| !change.here) {
        let row = params![ours, it.from_state, it.to_state, it.at_ms, it.basis, it.earlier_by_s, it.kind, it.seen_ms];
        added += insert.execute(row)?;
    }
    Ok(added)
}

fn merge_gauges(transaction: &Transaction<'_>, theirs: i64, ours: i64) -> Result<usize, rusqlite::Error> {
    let first: Option<i64> = transaction
        .prepare_cached(
            "SELECT min(at_ms) FROM other.gauge AS o WHERE instance = ?1 AND NOT EXISTS
                (SELECT 1 FROM main.gauge AS m WHERE m.instance = ?2 AND m.at_ms BETWEEN o.at_ms - ?3 AND o.at_ms + ?3)",
        )?
        .query_row((theirs, ours, ONE_READING_MS), |row| row.get(0))?;
    let Some(first) = first else { return Ok(0) };
    let thinned = upkeep::thinned_until(transaction)?;
    // Where gauges are thinned here already, a reading is one of many in its step: it comes only where its step is empty.
    let added = transaction
        .prepare_cached(
            "INSERT OR IGNORE INTO main.gauge (instance, at_ms, gpu_util, gpu_temp, cpu_util, mem_gb, log_lines)
             SELECT ?2, at_ms, gpu_util, gpu_temp, cpu_util, mem_gb, log_lines FROM other.gauge AS o
             WHERE instance = ?1 AND at_ms >= ?4 AND NOT EXISTS
                (SELECT 1 FROM main.gauge AS m WHERE m.instance = ?2 AND m.at_ms BETWEEN
                    iif(o.at_ms < ?6, o.at_ms - o.at_ms % 600000, iif(o.at_ms < ?5, o.at_ms - o.at_ms % 60000, o.at_ms - ?3)) AND
                    iif(o.at_ms < ?6, o.at_ms - o.at_ms % 600000 + 599999, iif(o.at_ms < ?5, o.at_ms - o.at_ms % 60000 + 59999, o.at_ms + ?3)))",
        )?
        .execute((theirs, ours, ONE_READING_MS, first, thinned.to_minutes, thinned.to_ten_minutes))?;
    if added > 0 {
        upkeep::thin_again_from(transaction, first)?;
    }
    Ok(added)
}

/// Adds the lines that are here less often than there: a log may say the same twice in a second. Lines are read in the order of
/// their ids, so those of the owner that are later than what comes move behind it.
fn merge_lines(
    transaction: &Transaction<'_>,
    (their_fleet, theirs): (i64, Option<i64>),
    (our_fleet, ours): (i64, Option<i64>),
) -> Result<usize, rusqlite::Error> {
    transaction.execute_batch(
        "CREATE TEMP TABLE IF NOT EXISTS coming (at_ms INTEGER, source TEXT, text TEXT, after_gap INTEGER, place INTEGER);
         DELETE FROM temp.coming;",
    )?;
    let missing = transaction
        .prepare_cached(
            "INSERT INTO temp.coming
             SELECT at_ms, source, text, after_gap, id FROM
                (SELECT *, row_number() OVER (PARTITION BY source, at_ms, text ORDER BY id) AS nth
                 FROM other.log_line WHERE fleet = ?1 AND instance IS ?2) AS o
             WHERE nth > (SELECT count(*) FROM main.log_line AS m WHERE m.fleet = ?3 AND m.instance IS ?4
                AND m.source = o.source AND m.at_ms = o.at_ms AND m.text = o.text)",
        )?
        .execute((their_fleet, theirs, our_fleet, ours))?;
    if missing == 0 {
        return Ok(0);
    }
    let first: i64 = transaction.query_row("SELECT min(at_ms) FROM temp.coming", [], |row| row.get(0))?;
    let begin: Option<i64> = transaction
        .prepare_cached("SELECT min(id) FROM main.log_line WHERE fleet = ?1 AND instance IS ?2 AND at_ms > ?3")?
        .query_row((our_fleet, ours, first), |row| row.get(0))?;
    if let Some(begin) = begin {
        // Before all that comes where times are equal.
        transaction
            .prepare_cached(
                "INSERT INTO temp.coming SELECT at_ms, source, text, after_gap, id - 9000000000000000000 FROM main.log_line
                 WHERE fleet = ?1 AND instance IS ?2 AND id >= ?3",
            )?
            .execute((our_fleet, ours, begin))?;
        transaction
            .prepare_cached(
                "DELETE FROM log_search WHERE rowid IN
                    (SELECT id FROM main.log_line WHERE fleet = ?1 AND instance IS ?2 AND id >= ?3)",
            )?
            .execute((our_fleet, ours, begin))?;
        transaction
            .prepare_cached("DELETE FROM main.log_line WHERE fleet = ?1 AND instance IS ?2 AND id >= ?3")?
            .execute((our_fleet, ours, begin))?;
    }
    let last: i64 = transaction.query_row("SELECT coalesce(max(id), 0) FROM main.log_line", [], |row| row.get(0))?;
    transaction
        .prepare_cached(
            "INSERT INTO main.log_line (fleet, instance, source, at_ms, text, after_gap)
             SELECT ?1, ?2, source, at_ms, text, after_gap FROM temp.coming ORDER BY at_ms, place",
        )?
        .execute((our_fleet, ours))?;
    transaction
        .prepare_cached("INSERT INTO main.log_search (rowid, text) SELECT id, text FROM main.log_line WHERE id > ?1")?
        .execute([last])?;
    Ok(missing)
}

/// Where either watched, it was watched.
fn merge_watched(transaction: &Transaction<'_>, theirs: i64, ours: i64) -> Result<(), rusqlite::Error> {
    let covered = |schema: &str, fleet: i64| -> Result<Vec<(i64, i64)>, rusqlite::Error> {
        let gaps = stretches(transaction, &format!("{schema}.gap"), fleet)?;
        Ok(without(&stretches(transaction, &format!("{schema}.watched"), fleet)?, &gaps))
    };
    let mut seen = covered("main", ours)?;
    seen.extend(covered("other", theirs)?);
    let seen = union(seen);
    let mut gaps = stretches(transaction, "main.gap", ours)?;
    gaps.extend(stretches(transaction, "other.gap", theirs)?);
    let gaps = without(&union(gaps), &seen);
    transaction.execute("DELETE FROM main.watched WHERE fleet = ?1", [ours])?;
    transaction.execute("DELETE FROM main.gap WHERE fleet = ?1", [ours])?;
    for (table, parts) in [("watched", seen), ("gap", gaps)] {
        let mut insert =
            transaction.prepare(&format!("INSERT OR IGNORE INTO main.{table} (fleet, from_ms, to_ms) VALUES (?1, ?2, ?3)"))?;
        for (from, to) in parts {
            insert.execute((ours, from, to))?;
        }
    }
    Ok(())
}

fn union(mut parts: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
    parts.sort_unstable();
    let mut joined: Vec<(i64, i64)> = Vec::new();
    for (from, to) in parts {
        match joined.last_mut() {
            Some((_, end)) if from <= *end => *end = (*end).max(to),
            _ => joined.push((from, to)),
        }
    }
    joined
}

/// What is left of `parts` outside of `holes`.
fn without(parts: &[(i64, i64)], holes: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let holes = union(holes.to_vec());
    let mut left = Vec::new();
    for (from, to) in parts {
        let mut from = *from;
        for (hole, end) in &holes {
            if *end <= from || hole >= to {
                continue;
            }
            if *hole > from {
                left.push((from, *hole));
            }
            from = *end;
        }
        if from < *to {
            left.push((from, *to));
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_either_watched_it_was_watched() {
        assert_eq!(without(&[(0, 10), (20, 30)], &[(2, 4), (3, 5), (25, 40)]), [(0, 2), (5, 10), (20, 25)]);
        assert_eq!(union(vec![(5, 9), (0, 3), (2, 6)]), [(0, 9)]);
        assert!(without(&[(0, 10)], &[(-5, 20)]).is_empty());
    }
}
