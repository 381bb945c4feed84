//! Writing what one answer brought, in one transaction.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use dwell_fleet::{
    CLOCK_WRONG_MAX_S, FlagChange, Gap, Instance, Key, ManagerRun, ONE_READING_S, Presence, Redated, STATUS_CHARACTERS_MAX,
    Timestamp, Transition, redacted,
};
use rusqlite::{OptionalExtension, Transaction, params};

use crate::watched::carry_on;
use crate::{FleetId, History, HistoryError, ms};

/// What changes with every reading of an otherwise unchanged instance is written at most this often, ms.
const WRITTEN_EVERY_MS: i64 = 60_000;

/// Two readings of vast.ai's record closer than this are one, dated by two watchers, ms.
pub(crate) const ONE_READING_MS: i64 = (ONE_READING_S * 1000.0) as i64;

/// Longest text kept of what a row says of an instance, characters.
const TEXT_CHARACTERS_MAX: usize = STATUS_CHARACTERS_MAX;

/// What of an instance stands on disk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Written {
    /// When all of it was written last.
    at: i64,
    /// What of it matters at once.
    digest: u64,
    /// Lines in the manager's buffer, lines when it was last read, and when; and the newest list that has its rental.
    moving: Moving,
}

type Moving = (Option<i64>, Option<i64>, Option<i64>, Option<i64>);

/// What one answer of the dashboard brought.
#[derive(Debug, Clone)]
pub struct Answer<'a> {
    /// The time it speaks of, on the manager's clock.
    pub as_of: Timestamp,
    /// Every instance now under watch.
    pub instances: Vec<&'a Instance>,
    /// Changes of state.
    pub transitions: &'a [Transition],
    /// Entries that turned out to be dated elsewhere.
    pub redated: &'a [Redated],
    /// Instances that turned out to be another.
    pub merged: &'a [(Key, Key)],
    /// Time without answers before it.
    pub gap: Option<Gap>,
    /// The manager's present run.
    pub run: ManagerRun,
    /// Age of the manager's copy of vast.ai's list, seconds.
    pub vast_cache_age_s: Option<f64>,
    /// The manager's clock minus the operator's, seconds.
    pub clock_skew_s: Option<f64>,
    /// Flags raised, changed or cleared.
    pub flags: &'a [FlagChange],
}

impl History {
    /// Writes an answer.
    pub fn record(&mut self, fleet: FleetId, answer: &Answer<'_>) -> Result<(), HistoryError> {
        self.record_held(fleet, answer, &[])
    }

    /// Writes an answer, with gauges that were read of instances that are not among its own.
    pub(crate) fn record_held(
        &mut self,
        fleet: FleetId,
        answer: &Answer<'_>,
        held: &[(Key, GaugeReading)],
    ) -> Result<(), HistoryError> {
        let transaction = self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let as_of = ms(answer.as_of);
        let (mut rows, mut gauges, mut written) = (Vec::new(), Vec::new(), Vec::new());
        for instance in &answer.instances {
            let known = self.rows.get(&(fleet, instance.key)).copied();
            let listed = instance.presence == Presence::Listed && instance.last_listed_at == answer.as_of;
            let now = Written { at: as_of, digest: digest(instance, listed), moving: moving(instance) };
            let before = known.and_then(|row| self.written.get(&row));
            let row = match (known, before) {
                (Some(row), Some(before)) if before.digest == now.digest && (as_of - before.at).abs() < WRITTEN_EVERY_MS => {
                    if before.moving != now.moving {
                        let (buffered, read, at, listed_at) = now.moving;
                        transaction
                            .prepare_cached(
                                "UPDATE seen SET buffered = ?2, read_lines = ?3, read_ms = ?4, rental_listed_ms = ?5 WHERE instance = ?1",
                            )?
                            .execute((row, buffered, read, at, listed_at))?;
                        written.push((row, Written { at: before.at, ..now }));
                    }
                    row
                }
                _ => {
                    let row = upsert(&transaction, fleet, known, instance)?;
                    write_seen(&transaction, row, instance, listed)?;
                    written.push((row, now));
                    row
                }
            };
            if known != Some(row) {
                rows.push((instance.key, row));
            }
            if let Some(reading) = GaugeReading::of(instance)
                && reading.write(&transaction, row, self.gauges_at.get(&row).copied())?
            {
                gauges.push((row, reading.at));
            }
        }
        let new_rows: HashMap<Key, i64> = rows.iter().copied().collect();
        let row_of = |key: Key| new_rows.get(&key).or_else(|| self.rows.get(&(fleet, key))).copied();
        for (key, reading) in held {
            if let Some(row) = row_of(*key)
                && reading.write(&transaction, row, self.gauges_at.get(&row).copied())?
            {
                gauges.push((row, reading.at));
            }
        }
        for transition in answer.transitions {
            if let Some(row) = row_of(transition.key) {
                write_transition(&transaction, row, transition)?;
            }
        }
        for redated in answer.redated {
            if let Some(row) = row_of(redated.key) {
                transaction
                    .prepare_cached(
                        "UPDATE OR REPLACE transition SET at_ms = ?4, basis = ?5, earlier_by_s = ?6
                         WHERE instance = ?1 AND to_state = ?2 AND at_ms = ?3",
                    )?
                    .execute(params![
                        row,
                        redated.entry.state.as_str(),
                        ms(redated.was),
                        ms(redated.entry.at),
                        redated.entry.basis.as_str(),
                        redated.entry.earlier_by_s,
                    ])?;
            }
        }
        for (gone, into) in answer.merged {
            // Of two that were never written apart there is one row.
            if let (Some(gone), Some(into)) = (row_of(*gone), row_of(*into))
                && gone != into
            {
                transaction.execute("UPDATE instance SET merged_into = ?2 WHERE id = ?1", (gone, into))?;
            }
        }
        for change in answer.flags {
            if let Some(row) = row_of(change.key) {
                write_flag(&transaction, row, change, as_of)?;
            }
        }
        transaction
            .prepare_cached(
                "UPDATE fleet SET answered_ms = ?2, vast_age_s = ?3, first_skew_s = coalesce(first_skew_s, ?4) WHERE id = ?1",
            )?
            .execute((fleet.0, as_of, answer.vast_cache_age_s, answer.clock_skew_s))?;
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
        self.written.extend(written);
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
                    entered_ms = ?6, basis = ?7, earlier_by_s = ?8, last_listed_ms = iif(last_listed_ms > ?9 + ?23, ?9, max(last_listed_ms, ?9)), gpu_name = ?10,
                    num_gpus = ?11, dollars_per_h = ?12, machine_id = ?13, host_id = ?14, geolocation = ?15, inet_down_mbps = ?16,
                    status_msg = ?17, bench_rate = coalesce(?18, bench_rate), min_rate = coalesce(?19, min_rate),
                    image = coalesce(?20, image), cpu_ram_mib = coalesce(?21, cpu_ram_mib), kill_reason = coalesce(?22, kill_reason)
             WHERE id = ?1",
        )?
        .execute(params![
            id,
            uuid,
            vast_id,
            instance.row.label.as_deref().map(redacted),
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
            // What was listed in a future that cannot be is listed now.
            (CLOCK_WRONG_MAX_S * 1000.0) as i64,
        ])?;
    Ok(id)
}

fn cut(text: &str) -> String {
    redacted(text).chars().take(TEXT_CHARACTERS_MAX).collect()
}

fn moving(instance: &Instance) -> Moving {
    let lines = |lines: Option<u64>| lines.and_then(|lines| i64::try_from(lines).ok());
    let log = &instance.log;
    (lines(log.buffered), lines(log.read_lines), log.read_at.map(ms), instance.rental.listed_at.map(ms))
}

/// What of an instance is written as soon as it changes. What readings move all the time is not among it: gauges, and when it was
/// last listed, which is the time of the answer as long as it is listed.
fn digest(instance: &Instance, listed: bool) -> u64 {
    let mut hasher = DefaultHasher::new();
    let bits = |value: Option<f64>| value.map(f64::to_bits);
    let (row, vast) = (&instance.row, &instance.vast);
    (listed, instance.unflagged_in_a_row.min(UNFLAGGED_MOST), &instance.uuid, instance.vast_id, &instance.state)
        .hash(&mut hasher);
    if let Presence::Missing { since, answers } = instance.presence {
        (ms(since), answers).hash(&mut hasher);
    }
    let entered = &instance.entered;
    (ms(entered.at), entered.basis, entered.earlier_by_s.to_bits(), instance.ledger.entries().len()).hash(&mut hasher);
    (row.vast.kept_id, instance.rental.ended_at, instance.rental.acknowledged_at).hash(&mut hasher);
    (row.vast_id, &row.label, row.runner_id, bits(row.min_rate_proofs_per_h), bits(row.bench_rate_proofs_per_h))
        .hash(&mut hasher);
    (row.registered_at, row.param_done_at, row.bench_done_at, row.killed_at, &row.kill_reason).hash(&mut hasher);
    (instance.status.first_at, instance.status.changed, &vast.status_msg, vast.start_date, bits(vast.dollars_per_h))
        .hash(&mut hasher);
    (&vast.gpu_name, vast.num_gpus, vast.machine_id, vast.host_id, &vast.geolocation, bits(vast.inet_down_mbps))
        .hash(&mut hasher);
    (&vast.ssh_command, &vast.public_ip, &vast.driver_version, bits(vast.cpu_ram_mib)).hash(&mut hasher);
    hasher.finish()
}

/// More assessments in a row without a flag are as good as so many.
const UNFLAGGED_MOST: u8 = 2;

fn write_seen(transaction: &Transaction<'_>, row: i64, instance: &Instance, listed: bool) -> Result<(), rusqlite::Error> {
    let (missing_since, missing_answers) = match instance.presence {
        Presence::Listed => (None, 0),
        Presence::Missing { since, answers } => (Some(ms(since)), answers),
    };
    let (told, vast, status) = (&instance.row, &instance.vast, &instance.status);
    let number = |value: Option<u64>| value.and_then(|value| i64::try_from(value).ok());
    let (buffered, read_lines, read_at, rental_listed_at) = moving(instance);
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO seen (instance, listed, missing_answers, missing_since_ms, unflagged, matched, vast_told_ms,
                 status_first_ms, status_last_ms, status_before_ms, status_changed_ms, runner_id, min_rate, bench_rate,
                 registered_ms, param_done_ms, bench_done_ms, killed_ms, ssh_command, gpu_util, gpu_temp, gpu_ram_mib, cuda_version,
                 inet_up_mbps, cpu_util, mem_usage_gb, mem_limit_gb, disk_space_gb, gpu_mem_bw_gb_s, driver_version, reliability,
                 start_ms, gpu_frac, public_ip, buffered, read_lines, read_ms, kept_vast_id, rental_listed_ms, rental_ended_ms,
                 rental_known_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24,
                 ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39, ?40, ?41)",
        )?
        .execute(params![
            row,
            listed,
            missing_answers,
            missing_since,
            instance.unflagged_in_a_row.min(UNFLAGGED_MOST),
            told.vast_id.is_some(),
            instance.vast_told_at.map(ms),
            status.first_at.map(ms),
            status.last_at.map(ms),
            status.changed.map(|(before, _)| ms(before)),
            status.changed.map(|(_, after)| ms(after)),
            number(told.runner_id),
            told.min_rate_proofs_per_h,
            told.bench_rate_proofs_per_h,
            told.registered_at.map(ms),
            told.param_done_at.map(ms),
            told.bench_done_at.map(ms),
            told.killed_at.map(ms),
            vast.ssh_command.as_deref().map(cut),
            vast.gpu_util_percent,
            vast.gpu_temp_c,
            vast.gpu_ram_mib,
            vast.cuda_version,
            vast.inet_up_mbps,
            vast.cpu_util_percent,
            vast.mem_usage_gb,
            vast.mem_limit_gb,
            vast.disk_space_gb,
            vast.gpu_mem_bw_gb_s,
            vast.driver_version.as_deref().map(cut),
            vast.reliability,
            vast.start_date.map(ms),
            vast.gpu_frac,
            vast.public_ip.as_deref().map(cut),
            buffered,
            read_lines,
            read_at,
            number(told.vast.kept_id.map(|id| id.0)),
            rental_listed_at,
            instance.rental.ended_at.map(ms),
            instance.rental.acknowledged_at.map(ms),
        ])?;
    Ok(())
}

/// A reading of an instance's gauges.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GaugeReading {
    /// When vast.ai's record was read, ms.
    pub(crate) at: i64,
    gpu_util_percent: Option<f64>,
    gpu_temp_c: Option<f64>,
    cpu_util_percent: Option<f64>,
    mem_usage_gb: Option<f64>,
    log_lines: Option<i64>,
}

impl GaugeReading {
    /// What the latest answer told of an instance, where it told something.
    pub(crate) fn of(instance: &Instance) -> Option<Self> {
        let vast = &instance.row.vast;
        let told = vast.gpu_util_percent.or(vast.gpu_temp_c).or(vast.cpu_util_percent).or(vast.mem_usage_gb).is_some();
        Some(Self {
            at: instance.gpu.last_told.map(ms).filter(|_| told)?,
            gpu_util_percent: vast.gpu_util_percent,
            gpu_temp_c: vast.gpu_temp_c,
            cpu_util_percent: vast.cpu_util_percent,
            mem_usage_gb: vast.mem_usage_gb,
            log_lines: instance.row.log_lines.and_then(|lines| i64::try_from(lines).ok()),
        })
    }

    /// Writes it, unless it is the `newest` one read again: the same copy of vast.ai's record is no new reading.
    fn write(&self, transaction: &Transaction<'_>, row: i64, newest: Option<i64>) -> Result<bool, rusqlite::Error> {
        // One of a future that cannot be is no reading.
        let newest = newest.filter(|newest| *newest <= self.at + (CLOCK_WRONG_MAX_S * 1000.0) as i64);
        if newest.is_some_and(|newest| self.at - newest < ONE_READING_MS) {
            return Ok(false);
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
                self.at,
                self.gpu_util_percent,
                self.gpu_temp_c,
                self.cpu_util_percent,
                self.mem_usage_gb,
                self.log_lines,
                ONE_READING_MS,
            ])?;
        Ok(true)
    }
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
            .execute(params![row, flag.kind.as_str(), ms(flag.since), as_of, redacted(&flag.reason), flag.certainty])?;
    }
    Ok(())
}
