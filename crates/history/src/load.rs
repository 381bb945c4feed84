//! Reading history back: what a new process needs to go on watching, and what a person wants to see.

use dwell_fleet::{
    Basis, Entry, Flag, FlagKind, HostId, Instance, InstanceUuid, Key, Kind, Ledger, MachineId, ManagerRun, Row, State, Stay,
    Timestamp, VastFacts, VastId,
};
use rusqlite::OptionalExtension;

use crate::{FleetId, History, HistoryError, ms, time};

/// Instances listed within this time are taken up again; of older ones only the stays are. The manager keeps killed rows
/// for 7 days, ms.
const TAKEN_UP_MS: i64 = 7 * 86_400_000;

/// Stays older than this say little about today's machines, ms.
const STAYS_MS: i64 = 90 * 86_400_000;

/// What a new process takes up.
#[derive(Debug, Clone, Default)]
pub struct Remembered {
    /// Instances listed lately.
    pub instances: Vec<Instance>,
    /// Stays of instances long gone.
    pub past_stays: Vec<(State, Kind, Stay)>,
    /// Highest key in use.
    pub highest_key: u64,
    /// The manager's run as last known.
    pub run: ManagerRun,
}

/// A kept transition.
#[derive(Debug, Clone, PartialEq)]
pub struct TransitionRecord {
    /// State before.
    pub from: Option<State>,
    /// State entered, when, and how that is known.
    pub entry: Entry,
    /// What kind of change, by its stable word.
    pub kind: String,
    /// The answer that showed it.
    pub seen_at: Timestamp,
}

/// A kept reading of an instance's gauges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GaugePoint {
    /// When vast.ai's record was read.
    pub at: Timestamp,
    /// GPU load, percent.
    pub gpu_util_percent: Option<f64>,
    /// GPU temperature, degrees Celsius.
    pub gpu_temp_c: Option<f64>,
    /// CPU load, percent.
    pub cpu_util_percent: Option<f64>,
    /// Memory used, GB.
    pub mem_gb: Option<f64>,
    /// Lines in the manager's buffer.
    pub log_lines: Option<u64>,
}

/// A kept flag.
#[derive(Debug, Clone, PartialEq)]
pub struct FlagRecord {
    /// What it said.
    pub kind: FlagKind,
    /// Since when it was true.
    pub since: Timestamp,
    /// When Dwell raised it.
    pub raised_at: Timestamp,
    /// When it was cleared.
    pub cleared_at: Option<Timestamp>,
    /// Why.
    pub reason: String,
}

impl History {
    /// What a process that starts watching this fleet at `now` takes up.
    pub fn remembered(&mut self, fleet: FleetId, now: Timestamp) -> Result<Remembered, HistoryError> {
        let mut remembered = Remembered::default();
        let mut instances: Vec<(i64, Instance)> = self
            .connection
            .prepare_cached(
                "SELECT id, uuid, vast_id, label, state, entered_ms, basis, earlier_by_s, first_seen_ms, last_listed_ms, gpu_name,
                        num_gpus, dollars_per_h, machine_id, host_id, geolocation, inet_down_mbps, status_msg
                 FROM instance WHERE fleet = ?1 AND merged_into IS NULL AND last_listed_ms >= ?2 ORDER BY id",
            )?
            .query_map((fleet.0, ms(now) - STAYS_MS), read_instance)?
            .collect::<Result<_, _>>()?;
        let mut entries = self.connection.prepare_cached(
            "SELECT to_state, at_ms, basis, earlier_by_s FROM transition
             WHERE instance = ?1 AND kind NOT IN ('vanished', 'returned') ORDER BY id DESC LIMIT ?2",
        )?;
        let mut newest =
            self.connection.prepare_cached("SELECT source, max(at_ms) FROM log_line WHERE instance = ?1 GROUP BY source")?;
        let mut open = self.connection.prepare_cached(
            "SELECT kind, since_ms, raised_ms, cleared_ms, reason, certainty FROM flag WHERE instance = ?1 AND cleared_ms IS NULL
             ORDER BY id DESC LIMIT 1",
        )?;
        for (id, instance) in &mut instances {
            let flag = open.query_row([*id], |row| Ok((read_flag(row)?, row.get(5)?))).optional()?;
            instance.flag = flag.and_then(|(record, certainty)| {
                let record = record?;
                Some(Flag { kind: record.kind, since: record.since, reason: record.reason, certainty, would_show: Vec::new() })
            });
            remembered.highest_key = remembered.highest_key.max(instance.key.0);
            for entry in entries.query_map((*id, Ledger::ENTRIES_MAX as i64), read_entry)? {
                instance.ledger.push(entry?);
            }
            for line in newest.query_map([*id], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))? {
                let (source, at) = line?;
                instance.log.note_newest(&source, time(at));
            }
        }
        drop((entries, newest, open));
        for (id, instance) in instances {
            if ms(instance.last_listed_at) >= ms(now) - TAKEN_UP_MS {
                self.rows.insert((fleet, instance.key), id);
                remembered.instances.push(instance);
            } else {
                remembered.past_stays.extend(instance.stays().into_iter().map(|(state, stay)| (state, instance.kind(), stay)));
            }
        }
        let run = self
            .connection
            .query_row(
                "SELECT started_ms, from_its_log FROM manager_run WHERE fleet = ?1 ORDER BY started_ms DESC LIMIT 1",
                [fleet.0],
                |row| Ok(ManagerRun { started_at: Some(time(row.get(0)?)), from_its_log: row.get(1)? }),
            )
            .optional()?;
        remembered.run = run.unwrap_or_default();
        Ok(remembered)
    }

    /// Transitions of an instance, oldest first by when they happened; the newest `limit`.
    pub fn transitions(&self, fleet: FleetId, key: Key, limit: usize) -> Result<Vec<TransitionRecord>, HistoryError> {
        let Some(row) = self.row_of(fleet, key) else { return Ok(Vec::new()) };
        let mut records: Vec<TransitionRecord> = self
            .connection
            .prepare_cached(
                "SELECT to_state, at_ms, basis, earlier_by_s, from_state, kind, seen_ms FROM transition
                 WHERE instance = ?1 ORDER BY at_ms DESC, id DESC LIMIT ?2",
            )?
            .query_map((row, limit as i64), |row| {
                Ok(TransitionRecord {
                    entry: read_entry(row)?,
                    from: row.get::<_, Option<String>>(4)?.map(|state| State::parse(&state)),
                    kind: row.get(5)?,
                    seen_at: time(row.get(6)?),
                })
            })?
            .collect::<Result<_, _>>()?;
        records.reverse();
        Ok(records)
    }

    /// Gauges of an instance since a time, oldest first, at most `limit` of the newest.
    pub fn gauges(&self, fleet: FleetId, key: Key, since: Timestamp, limit: usize) -> Result<Vec<GaugePoint>, HistoryError> {
        let Some(row) = self.row_of(fleet, key) else { return Ok(Vec::new()) };
        let mut points: Vec<GaugePoint> = self
            .connection
            .prepare_cached(
                "SELECT at_ms, gpu_util, gpu_temp, cpu_util, mem_gb, log_lines FROM gauge
                 WHERE instance = ?1 AND at_ms >= ?2 ORDER BY at_ms DESC LIMIT ?3",
            )?
            .query_map((row, ms(since), limit as i64), |row| {
                Ok(GaugePoint {
                    at: time(row.get(0)?),
                    gpu_util_percent: row.get(1)?,
                    gpu_temp_c: row.get(2)?,
                    cpu_util_percent: row.get(3)?,
                    mem_gb: row.get(4)?,
                    log_lines: row.get::<_, Option<i64>>(5)?.map(i64::unsigned_abs),
                })
            })?
            .collect::<Result<_, _>>()?;
        points.reverse();
        Ok(points)
    }

    /// Flags of an instance, newest first.
    pub fn flags(&self, fleet: FleetId, key: Key, limit: usize) -> Result<Vec<FlagRecord>, HistoryError> {
        let Some(row) = self.row_of(fleet, key) else { return Ok(Vec::new()) };
        let flags = self
            .connection
            .prepare_cached(
                "SELECT kind, since_ms, raised_ms, cleared_ms, reason FROM flag WHERE instance = ?1 ORDER BY id DESC LIMIT ?2",
            )?
            .query_map((row, limit as i64), read_flag)?
            .filter_map(Result::transpose)
            .collect::<Result<_, rusqlite::Error>>()?;
        Ok(flags)
    }

    /// Times without answers since `since`, oldest first.
    pub fn gaps(&self, fleet: FleetId, since: Timestamp) -> Result<Vec<(Timestamp, Timestamp)>, HistoryError> {
        let gaps = self
            .connection
            .prepare_cached("SELECT from_ms, to_ms FROM gap WHERE fleet = ?1 AND to_ms >= ?2 ORDER BY from_ms")?
            .query_map((fleet.0, ms(since)), |row| Ok((time(row.get(0)?), time(row.get(1)?))))?
            .collect::<Result<_, _>>()?;
        Ok(gaps)
    }
}

/// A kept flag; `None` for a kind of a newer version, which is left out rather than misnamed.
fn read_flag(row: &rusqlite::Row<'_>) -> Result<Option<FlagRecord>, rusqlite::Error> {
    let Some(kind) = FlagKind::parse(&row.get::<_, String>(0)?) else { return Ok(None) };
    Ok(Some(FlagRecord {
        kind,
        since: time(row.get(1)?),
        raised_at: time(row.get(2)?),
        cleared_at: row.get::<_, Option<i64>>(3)?.map(time),
        reason: row.get(4)?,
    }))
}

fn read_entry(row: &rusqlite::Row<'_>) -> Result<Entry, rusqlite::Error> {
    Ok(Entry {
        state: State::parse(&row.get::<_, String>(0)?),
        at: time(row.get(1)?),
        basis: Basis::parse(&row.get::<_, String>(2)?).unwrap_or(Basis::FirstSight),
        earlier_by_s: row.get(3)?,
    })
}

fn read_instance(row: &rusqlite::Row<'_>) -> Result<(i64, Instance), rusqlite::Error> {
    let number = |index: usize| row.get::<_, Option<i64>>(index).map(|id| id.and_then(|id| u64::try_from(id).ok()));
    let id: i64 = row.get(0)?;
    let state = State::parse(&row.get::<_, String>(4)?);
    let entered = Entry {
        state: state.clone(),
        at: time(row.get(5)?),
        basis: Basis::parse(&row.get::<_, String>(6)?).unwrap_or(Basis::FirstSight),
        earlier_by_s: row.get(7)?,
    };
    let mut told = Row::bare(state);
    told.uuid = row.get::<_, Option<String>>(1)?.and_then(InstanceUuid::new);
    told.vast_id = number(2)?.map(VastId);
    told.label = row.get(3)?;
    told.vast = VastFacts {
        gpu_name: row.get(10)?,
        num_gpus: number(11)?,
        dollars_per_h: row.get(12)?,
        machine_id: number(13)?.map(MachineId),
        host_id: number(14)?.map(HostId),
        geolocation: row.get(15)?,
        inet_down_mbps: row.get(16)?,
        status_msg: row.get(17)?,
        ..VastFacts::default()
    };
    let (first_seen, last_listed) = (time(row.get(8)?), time(row.get(9)?));
    Ok((id, Instance::remembered(Key(id.unsigned_abs()), told, entered, Ledger::default(), first_seen, last_listed)))
}
