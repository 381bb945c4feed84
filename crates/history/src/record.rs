//! Writing what one answer brought, in one transaction.

use std::collections::HashMap;

use dwell_fleet::{FlagChange, Gap, Instance, Key, ManagerRun, Timestamp, Transition};
use rusqlite::{OptionalExtension, Transaction, params};

use crate::watched::carry_on;
use crate::{FleetId, History, HistoryError, ms};

/// The time an unchanged instance was last listed is written at most this often, ms.
const LISTED_EVERY_MS: i64 = 60_000;

/// Two readings of vast.ai's record closer than this are one, dated by two watchers, ms.
pub(crate) const ONE_READING_MS: i64 = 10_000;

/// Longest status message kept, characters.
const STATUS_CHARACTERS_MAX: usize = 500;

/// What one answer of the dashboard brought.
#[derive(Debug, Clone)]
pub struct Answer<'a> {
    /// The time it speaks of, on the manager's clock.
    pub as_of: Timestamp,
    /// Every instance now under watch.
    pub instances: Vec<&'a Instance>,
    /// Changes of state.
    pub transitions: &'a [Transition],
    /// Instances that turned out to be another.
    pub merged: &'a [(Key, Key)],
    /// Time without answers before it.
    pub gap: Option<Gap>,
    /// The manager's present run.
    pub run: ManagerRun,
    /// Flags raised, changed or cleared.
    pub flags: &'a [FlagChange],
}

impl History {
    /// Writes an answer.
    pub fn record(&mut self, fleet: FleetId, answer: &Answer<'_>) -> Result<(), HistoryError> {
        let changed: std::collections::HashSet<Key> = answer.transitions.iter().map(|transition| transition.key).collect();
        let transaction = self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let as_of = ms(answer.as_of);
        let (mut rows, mut gauges, mut listed) = (Vec::new(), Vec::new(), Vec::new());
        for instance in &answer.instances {
            let known = self.rows.get(&(fleet, instance.key)).copied();
            let fresh = known
                .and_then(|row| self.listed_at.get(&row))
                .is_some_and(|at| (as_of - at).abs() < LISTED_EVERY_MS && !changed.contains(&instance.key));
            let row = match known {
                Some(row) if fresh => row,
                _ => {
                    let row = upsert(&transaction, fleet, known, instance)?;
                    listed.push((row, as_of));
                    row
                }
            };
            if known.is_none() {
                rows.push((instance.key, row));
            }
            if let Some(at) = gauge(&transaction, row, instance, self.gauges_at.get(&row).copied())? {
                gauges.push((row, at));
            }
        }
        let new_rows: HashMap<Key, i64> = rows.iter().copied().collect();
        let row_of = |key: Key| new_rows.get(&key).or_else(|| self.rows.get(&(fleet, key))).copied();
        for transition in answer.transitions {
            if let Some(row) = row_of(transition.key) {
                write_transition(&transaction, row, transition)?;
            }
        }
        for (gone, into) in answer.merged {
            if let (Some(gone), Some(into)) = (row_of(*gone), row_of(*into)) {
                transaction.execute("UPDATE instance SET merged_into = ?2 WHERE id = ?1", (gone, into))?;
            }
        }
        for change in answer.flags {
            if let Some(row) = row_of(change.key) {
                write_flag(&transaction, row, change, as_of)?;
            }
        }
        // A gap between two answers of one process lies within its stretch.
        let stretch = carry_on(&transaction, fleet, self.watching.get(&fleet).copied(), as_of)?;
        if let Some(gap) = answer.gap {
            transaction.execute(
                "INSERT OR IGNORE INTO gap (fleet, from_ms, to_ms) VALUES (?1, ?2, ?3)",
                (fleet.0, ms(gap.from), ms(gap.to)),
            )?;
        }
        if let Some(started) = answer.run.started_at {
            transaction.execute(
                "INSERT OR IGNORE INTO manager_run (fleet, started_ms, from_its_log) VALUES (?1, ?2, ?3)",
                (fleet.0, ms(started), answer.run.from_its_log),
            )?;
        }
        transaction.commit()?;
        // Only what is on disk is remembered as written.
        self.rows.extend(rows.into_iter().map(|(key, row)| ((fleet, key), row)));
        self.gauges_at.extend(gauges);
        self.listed_at.extend(listed);
        self.watching.insert(fleet, stretch);
        Ok(())
    }

    pub(crate) fn row_of(&self, fleet: FleetId, key: Key) -> Option<i64> {
        if self.keyed_by_rows {
            return i64::try_from(key.0).ok();
        }
        self.rows.get(&(fleet, key)).copied()
    }
}

/// The row of an instance: the known one, the one another process has written, or a new one.
fn upsert(
    transaction: &Transaction<'_>,
    fleet: FleetId,
    known: Option<i64>,
    instance: &Instance,
) -> Result<i64, rusqlite::Error> {
    let uuid = instance.uuid.as_ref().map(|uuid| uuid.as_str());
    let vast_id = instance.vast_id.and_then(|id| i64::try_from(id.0).ok());
    let by_uuid = |uuid: &str| {
        transaction
            .prepare_cached("SELECT id FROM instance WHERE fleet = ?1 AND uuid = ?2")?
            .query_row((fleet.0, uuid), |row| row.get(0))
            .optional()
    };
    let by_vast = |vast_id: i64| {
        transaction
            .prepare_cached(
                "SELECT id FROM instance WHERE fleet = ?1 AND vast_id = ?2 AND uuid IS NULL AND merged_into IS NULL ORDER BY id DESC LIMIT 1",
            )?
            .query_row((fleet.0, vast_id), |row| row.get(0))
            .optional()
    };
    // Its uuid may stand in a row that another process wrote since; the nameless row then becomes part of that one.
    let elsewhere: Option<i64> = uuid.map(by_uuid).transpose()?.flatten();
    let found: Option<i64> = match (elsewhere, known) {
        (Some(elsewhere), Some(known)) if elsewhere != known => {
            transaction.execute("UPDATE instance SET merged_into = ?2 WHERE id = ?1", (known, elsewhere))?;
            Some(elsewhere)
        }
        (Some(elsewhere), _) => Some(elsewhere),
        (None, Some(known)) => Some(known),
        (None, None) => vast_id.map(by_vast).transpose()?.flatten(),
    };
    let cut = |text: &str| text.chars().take(STATUS_CHARACTERS_MAX).collect::<String>();
    let status = instance.vast.status_msg.as_deref().map(cut);
    let number = |id: Option<u64>| id.and_then(|id| i64::try_from(id).ok());
    let id = match found {
        Some(id) => id,
        None => {
            transaction
                .prepare_cached(
                    "INSERT INTO instance (fleet, state, entered_ms, basis, earlier_by_s, first_seen_ms, last_listed_ms)
                     VALUES (?1, '', 0, '', 0, ?2, ?2)",
                )?
                .execute((fleet.0, ms(instance.first_seen_at)))?;
            transaction.last_insert_rowid()
        }
    };
    transaction
        .prepare_cached(
            "UPDATE instance SET uuid = coalesce(?2, uuid), vast_id = coalesce(?3, vast_id), label = coalesce(?4, label), state = ?5,
                    entered_ms = ?6, basis = ?7, earlier_by_s = ?8, last_listed_ms = max(last_listed_ms, ?9), gpu_name = ?10,
                    num_gpus = ?11, dollars_per_h = ?12, machine_id = ?13, host_id = ?14, geolocation = ?15, inet_down_mbps = ?16,
                    status_msg = ?17, bench_rate = coalesce(?18, bench_rate), min_rate = coalesce(?19, min_rate),
                    image = coalesce(?20, image), cpu_ram_mib = coalesce(?21, cpu_ram_mib), kill_reason = coalesce(?22, kill_reason)
             WHERE id = ?1",
        )?
        .execute(params![
            id,
            uuid,
            vast_id,
            instance.row.label,
            instance.state.as_str(),
            ms(instance.entered.at),
            instance.entered.basis.as_str(),
            instance.entered.earlier_by_s,
            ms(instance.last_listed_at),
            instance.vast.gpu_name,
            number(instance.vast.num_gpus),
            instance.vast.dollars_per_h,
            number(instance.vast.machine_id.map(|id| id.0)),
            number(instance.vast.host_id.map(|id| id.0)),
            instance.vast.geolocation,
            instance.vast.inet_down_mbps,
            status,
            instance.row.bench_rate_proofs_per_h,
            instance.row.min_rate_proofs_per_h,
            instance.vast.image(),
            instance.vast.cpu_ram_mib,
            instance.row.kill_reason.as_deref().map(cut),
        ])?;
    Ok(id)
}

fn gauge(
    transaction: &Transaction<'_>,
    row: i64,
    instance: &Instance,
    newest: Option<i64>,
) -> Result<Option<i64>, rusqlite::Error> {
    let vast = &instance.row.vast;
    let told = vast.gpu_util_percent.or(vast.gpu_temp_c).or(vast.cpu_util_percent).or(vast.mem_usage_gb).is_some();
    // The same copy of vast.ai's record read again is no new reading.
    let Some(at) = instance.gpu.last_told.map(ms).filter(|_| told) else { return Ok(None) };
    if newest.is_some_and(|newest| at - newest < ONE_READING_MS) {
        return Ok(None);
    }
    transaction
        .prepare_cached(
            // Another process on the same history may have written this reading, dated a second earlier or later.
            "INSERT OR IGNORE INTO gauge (instance, at_ms, gpu_util, gpu_temp, cpu_util, mem_gb, log_lines)
             SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7
             WHERE NOT EXISTS (SELECT 1 FROM gauge WHERE instance = ?1 AND at_ms > ?2 - ?8 AND at_ms < ?2 + ?8)",
        )?
        .execute(params![
            row,
            at,
            vast.gpu_util_percent,
            vast.gpu_temp_c,
            vast.cpu_util_percent,
            vast.mem_usage_gb,
            instance.row.log_lines.and_then(|lines| i64::try_from(lines).ok()),
            ONE_READING_MS,
        ])?;
    Ok(Some(at))
}

fn write_transition(transaction: &Transaction<'_>, row: i64, transition: &Transition) -> Result<(), rusqlite::Error> {
    let observed = !matches!(transition.entry.basis, dwell_fleet::Basis::Manager | dwell_fleet::Basis::VastStart);
    if observed {
        // Without a time of the manager's own, two watchers date the same change differently: the first one's word stays.
        let newest: Option<(String, i64)> = transaction
            .prepare_cached("SELECT to_state, seen_ms FROM transition WHERE instance = ?1 ORDER BY id DESC LIMIT 1")?
            .query_row([row], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let vanishing = matches!(transition.kind, dwell_fleet::TransitionKind::Vanished | dwell_fleet::TransitionKind::Returned);
        if newest.is_some_and(|(state, _)| state == transition.entry.state.as_str() && !vanishing) {
            return Ok(());
        }
    }
    transaction
        .prepare_cached(
            "INSERT OR IGNORE INTO transition (instance, from_state, to_state, at_ms, basis, earlier_by_s, kind, seen_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            row,
            transition.from.as_ref().map(|state| state.as_str()),
            transition.entry.state.as_str(),
            ms(transition.entry.at),
            transition.entry.basis.as_str(),
            transition.entry.earlier_by_s,
            transition.kind.as_str(),
            ms(transition.seen_at),
        ])?;
    Ok(())
}

fn write_flag(transaction: &Transaction<'_>, row: i64, change: &FlagChange, as_of: i64) -> Result<(), rusqlite::Error> {
    let kind = change.to.as_ref().map(|flag| flag.kind.as_str());
    let open: Option<String> = transaction
        .prepare_cached("SELECT kind FROM flag WHERE instance = ?1 AND cleared_ms IS NULL ORDER BY id DESC LIMIT 1")?
        .query_row([row], |row| row.get(0))
        .optional()?;
    if open.as_deref() == kind {
        return Ok(());
    }
    transaction.execute("UPDATE flag SET cleared_ms = ?2 WHERE instance = ?1 AND cleared_ms IS NULL", (row, as_of))?;
    if let Some(flag) = &change.to {
        transaction
            .prepare_cached(
                "INSERT INTO flag (instance, kind, since_ms, raised_ms, reason, certainty) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![row, flag.kind.as_str(), ms(flag.since), as_of, flag.reason, flag.certainty])?;
    }
    Ok(())
}
