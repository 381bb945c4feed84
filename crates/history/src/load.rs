//! Reading history back: what a new process needs to go on watching, and what a person wants to see.

use dwell_fleet::{
    Basis, Entry, Flag, FlagKind, GPU_BUSY_PERCENT, GpuActivity, Heard, HostId, Instance, InstanceUuid, Key, Kind, Ledger,
    LogChannel, MachineId, ManagerRun, Presence, Rental, Row, State, StatusText, Stay, Timestamp, VastFacts, VastId,
    latest_plausible, seconds_between, shift,
};
use rusqlite::{Connection, OptionalExtension};

use crate::{FleetId, History, HistoryError, ms, time};

/// Instances listed within this time are taken up again; of older ones only the stays are. The manager keeps killed rows
/// for 7 days, ms.
const TAKEN_UP_MS: i64 = 7 * 86_400_000;

/// Stays older than this say little about today's machines, ms.
const STAYS_MS: i64 = 90 * 86_400_000;

/// Newest lines of each source that are heard again, until they tell what all of them would: an ordinary log says something new
/// often, one that repeats itself does not.
const HEARD_LINES: [usize; 4] = [64, 1_024, 8_192, 65_536];
/// And bytes of them at most.
const HEARD_BYTES_MAX: usize = 64 << 20;
/// What was written so long before a source's newest line is heard in any case where the instance lives, within the second of
/// [`HEARD_LINES`], seconds.
const HEARD_S: f64 = 30.0 * 60.0;
/// Sources of one instance at most.
const SOURCES_MAX: usize = 64;

/// What a new process takes up.
#[derive(Debug, Clone, Default)]
pub struct Remembered {
    /// The latest answer to any process.
    pub answered_at: Option<Timestamp>,
    /// Age of the manager's copy of vast.ai's list in it, seconds.
    pub vast_cache_age_s: Option<f64>,
    /// The manager's clock minus the operator's when Dwell first looked, seconds.
    pub first_skew_s: Option<f64>,
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
        self.heal(fleet, now)?;
        let mut remembered = Remembered::default();
        let seen: Option<(Option<i64>, Option<f64>, Option<f64>)> = self
            .connection
            .prepare_cached("SELECT answered_ms, vast_age_s, first_skew_s FROM fleet WHERE id = ?1")?
            .query_row([fleet.0], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?;
        if let Some((answered, vast_age_s, skew_s)) = seen {
            remembered.answered_at = answered.map(time).filter(|at| latest_plausible(now).is_none_or(|latest| *at <= latest));
            (remembered.vast_cache_age_s, remembered.first_skew_s) = (vast_age_s, skew_s);
        }
        let answer = (remembered.answered_at, remembered.vast_cache_age_s);
        let mut instances: Vec<(i64, Instance)> = self
            .connection
            .prepare_cached(&format!(
                "SELECT {INSTANCE_COLUMNS} FROM instance AS i LEFT JOIN seen AS s ON s.instance = i.id
                 WHERE i.fleet = ?1 AND i.merged_into IS NULL AND i.last_listed_ms >= ?2 ORDER BY i.id"
            ))?
            .query_map((fleet.0, ms(now) - STAYS_MS), |row| read_instance(row, answer))?
            .collect::<Result<_, _>>()?;
        let mut entries = self.connection.prepare_cached(
            "SELECT to_state, at_ms, basis, earlier_by_s FROM transition
             WHERE instance = ?1 AND kind NOT IN ('vanished', 'returned') ORDER BY at_ms DESC, id DESC LIMIT ?2",
        )?;
        let mut open = self.connection.prepare_cached(
            "SELECT kind, since_ms, raised_ms, cleared_ms, reason, certainty FROM flag WHERE instance = ?1 AND cleared_ms IS NULL
             ORDER BY id DESC LIMIT 1",
        )?;
        for (id, instance) in &mut instances {
            remembered.highest_key = remembered.highest_key.max(instance.key.0);
            let mut latest: Vec<Entry> =
                entries.query_map((*id, Ledger::ENTRIES_MAX as i64), read_entry)?.collect::<Result<_, _>>()?;
            latest.reverse();
            latest.into_iter().for_each(|entry| instance.ledger.push(entry));
            if !is_taken_up(instance, now) {
                continue;
            }
            let flag = open.query_row([*id], |row| Ok((read_flag(row)?, row.get(5)?))).optional()?;
            instance.flag = flag.and_then(|(record, certainty)| {
                let record = record?;
                Some(Flag { kind: record.kind, since: record.since, reason: record.reason, certainty, would_show: Vec::new() })
            });
            hear(&self.connection, *id, instance.state != State::Killed, &mut instance.log)?;
            instance.gpu = gpu_of(&self.connection, *id)?;
        }
        drop((entries, open));
        for (id, instance) in instances {
            if is_taken_up(&instance, now) {
                self.rows.insert((fleet, instance.key), id);
                let last: Option<i64> = self
                    .connection
                    .prepare_cached("SELECT max(id) FROM log_line WHERE fleet = ?1 AND instance = ?2")?
                    .query_row((fleet.0, id), |row| row.get(0))?;
                self.given.insert((fleet, Some(id)), last.unwrap_or(0));
                remembered.instances.push(instance);
            } else {
                remembered.past_stays.extend(instance.stays().into_iter().map(|(state, stay)| (state, instance.kind(), stay)));
            }
        }
        let last: Option<i64> = self
            .connection
            .prepare_cached("SELECT max(id) FROM log_line WHERE fleet = ?1 AND instance IS NULL")?
            .query_row([fleet.0], |row| row.get(0))?;
        self.given.insert((fleet, None), last.unwrap_or(0));
        // A start by the manager's own log is firmer than one that was inferred, whichever seems the later.
        let run = self
            .connection
            .query_row(
                "SELECT started_ms, from_its_log FROM manager_run WHERE fleet = ?1 ORDER BY from_its_log DESC, started_ms DESC LIMIT 1",
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

/// Whether an instance is watched on; of others only the stays count. Who was killed and is listed no more was let go before.
fn is_taken_up(instance: &Instance, now: Timestamp) -> bool {
    let let_go =
        instance.state == State::Killed && matches!(instance.presence, Presence::Missing { answers, .. } if answers >= 2);
    !let_go && ms(instance.last_listed_at) >= ms(now) - TAKEN_UP_MS
}

/// What the kept lines of an instance tell of its log channel, heard as they were when they came.
fn hear(connection: &Connection, instance: i64, lives: bool, log: &mut LogChannel) -> Result<(), rusqlite::Error> {
    // From one source to the next by the index: an instance has a few sources and any number of lines.
    let sources: Vec<String> = connection
        .prepare_cached(
            "WITH RECURSIVE named (source) AS
                 (SELECT min(source) FROM log_line WHERE instance = ?1
                  UNION ALL
                  SELECT (SELECT min(source) FROM log_line WHERE instance = ?1 AND source > named.source)
                  FROM named WHERE named.source IS NOT NULL)
             SELECT source FROM named WHERE source IS NOT NULL LIMIT ?2",
        )?
        .query_map((instance, SOURCES_MAX as i64), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut newest = connection.prepare_cached(
        "SELECT text, at_ms FROM log_line WHERE instance = ?1 AND source = ?2 ORDER BY at_ms DESC, id DESC LIMIT ?3",
    )?;
    for source in sources {
        for (attempt, most) in HEARD_LINES.into_iter().enumerate() {
            let (mut heard, mut bytes) = (Vec::new(), 0);
            let mut rows = newest.query((instance, &source, most as i64))?;
            while let Some(row) = rows.next()?
                && bytes < HEARD_BYTES_MAX
            {
                // A damaged line is one without words.
                let text = row.get_ref(0)?.as_str().unwrap_or_default();
                bytes += text.len();
                heard.push(Heard::of(text, time(row.get(1)?)));
            }
            heard.reverse();
            let whole = heard.len() < most && bytes < HEARD_BYTES_MAX;
            let lately = match (heard.first(), heard.last()) {
                (Some(first), Some(last)) if lives && attempt == 0 => seconds_between(first.at(), last.at()) > HEARD_S,
                _ => true,
            };
            if log.take_up(&source, &heard, whole) && (lately || whole) {
                break;
            }
            if bytes >= HEARD_BYTES_MAX {
                break;
            }
        }
    }
    Ok(())
}

/// What the kept readings tell of the load of an instance's GPU: the latest busy one, the first idle one since, the latest of all.
fn gpu_of(connection: &Connection, instance: i64) -> Result<GpuActivity, rusqlite::Error> {
    let mut gpu = GpuActivity::default();
    let reading = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, f64>(1)?));
    let busy: Option<(i64, f64)> = connection
        .prepare_cached("SELECT at_ms, gpu_util FROM gauge WHERE instance = ?1 AND gpu_util >= ?2 ORDER BY at_ms DESC LIMIT 1")?
        .query_row((instance, GPU_BUSY_PERCENT), reading)
        .optional()?;
    let after = busy.map_or(i64::MIN, |(at, _)| at);
    let idle = |order: &str| {
        let sql = format!(
            "SELECT at_ms, gpu_util FROM gauge WHERE instance = ?1 AND at_ms > ?2 AND gpu_util IS NOT NULL ORDER BY at_ms {order} LIMIT 1"
        );
        connection.prepare_cached(&sql)?.query_row((instance, after), reading).optional()
    };
    for (at, load) in [busy, idle("ASC")?, idle("DESC")?].into_iter().flatten() {
        gpu.note_reading(load, time(at));
    }
    Ok(gpu)
}

const INSTANCE_COLUMNS: &str = "i.id, i.uuid, i.vast_id, i.label, i.state, i.entered_ms, i.basis, i.earlier_by_s, i.first_seen_ms,
    i.last_listed_ms, i.gpu_name, i.num_gpus, i.dollars_per_h, i.machine_id, i.host_id, i.geolocation, i.inet_down_mbps, i.status_msg,
    i.cpu_ram_mib, i.kill_reason, s.listed, s.missing_answers, s.missing_since_ms, s.unflagged, s.matched, s.vast_told_ms,
    s.status_first_ms, s.status_last_ms, s.status_before_ms, s.status_changed_ms, s.runner_id, s.min_rate, s.bench_rate,
    s.registered_ms, s.param_done_ms, s.bench_done_ms, s.killed_ms, s.ssh_command, s.gpu_util, s.gpu_temp, s.gpu_ram_mib,
    s.cuda_version, s.inet_up_mbps, s.cpu_util, s.mem_usage_gb, s.mem_limit_gb, s.disk_space_gb, s.gpu_mem_bw_gb_s,
    s.driver_version, s.reliability, s.start_ms, s.gpu_frac, s.public_ip, s.buffered, s.read_lines, s.read_ms,
    s.kept_vast_id, s.rental_listed_ms, s.rental_ended_ms, s.rental_known_ms";

/// An instance as it was known at the latest answer: when that was, and how old the manager's copy of vast.ai's list.
fn read_instance(
    row: &rusqlite::Row<'_>,
    (answered_at, vast_age_s): (Option<Timestamp>, Option<f64>),
) -> Result<(i64, Instance), rusqlite::Error> {
    let number = |name: &str| row.get::<_, Option<i64>>(name).map(|id| id.and_then(|id| u64::try_from(id).ok()));
    let moment = |name: &str| row.get::<_, Option<i64>>(name).map(|at| at.map(time));
    let id: i64 = row.get("id")?;
    let state = State::parse(&row.get::<_, String>("state")?);
    let entered = Entry {
        state: state.clone(),
        at: time(row.get("entered_ms")?),
        basis: Basis::parse(&row.get::<_, String>("basis")?).unwrap_or(Basis::FirstSight),
        earlier_by_s: row.get("earlier_by_s")?,
    };
    let vast_id = number("vast_id")?.map(VastId);
    let kept_id = number("kept_vast_id")?.map(VastId);
    let vast = VastFacts {
        kept_id,
        gpu_name: row.get("gpu_name")?,
        num_gpus: number("num_gpus")?,
        dollars_per_h: row.get("dollars_per_h")?,
        ssh_command: row.get("ssh_command")?,
        host_id: number("host_id")?.map(HostId),
        machine_id: number("machine_id")?.map(MachineId),
        geolocation: row.get("geolocation")?,
        cpu_ram_mib: row.get("cpu_ram_mib")?,
        gpu_util_percent: row.get("gpu_util")?,
        gpu_temp_c: row.get("gpu_temp")?,
        gpu_ram_mib: row.get("gpu_ram_mib")?,
        cuda_version: row.get("cuda_version")?,
        inet_down_mbps: row.get("inet_down_mbps")?,
        inet_up_mbps: row.get("inet_up_mbps")?,
        cpu_util_percent: row.get("cpu_util")?,
        mem_usage_gb: row.get("mem_usage_gb")?,
        mem_limit_gb: row.get("mem_limit_gb")?,
        disk_space_gb: row.get("disk_space_gb")?,
        gpu_mem_bw_gb_s: row.get("gpu_mem_bw_gb_s")?,
        driver_version: row.get("driver_version")?,
        reliability: row.get("reliability")?,
        start_date: moment("start_ms")?,
        gpu_frac: row.get("gpu_frac")?,
        status_msg: row.get("status_msg")?,
        public_ip: row.get("public_ip")?,
    };
    // Kept by a version that did not know more: told, and listed when that was written.
    let matched = row.get::<_, Option<bool>>("matched")?.unwrap_or(true);
    let listed = row.get::<_, Option<bool>>("listed")?.unwrap_or(false);
    let buffered = number("buffered")?;
    let told = Row {
        uuid: row.get::<_, Option<String>>("uuid")?.and_then(InstanceUuid::new),
        vast_id: vast_id.filter(|_| matched),
        label: row.get("label")?,
        runner_id: number("runner_id")?,
        min_rate_proofs_per_h: row.get("min_rate")?,
        registered_at: moment("registered_ms")?,
        param_done_at: moment("param_done_ms")?,
        bench_done_at: moment("bench_done_ms")?,
        killed_at: moment("killed_ms")?,
        bench_rate_proofs_per_h: row.get("bench_rate")?,
        kill_reason: row.get("kill_reason")?,
        log_lines: buffered,
        vast: if matched || kept_id.is_some() { vast.clone() } else { VastFacts::default() },
        ..Row::bare(state)
    };
    let (first_seen, last_listed) = (time(row.get("first_seen_ms")?), time(row.get("last_listed_ms")?));
    // Who is listed was listed in the latest answer, whenever that was last written down.
    let answered_at = answered_at.filter(|_| listed);
    let last_listed = answered_at.map_or(last_listed, |at| at.max(last_listed));
    let mut instance = Instance::remembered(Key(id.unsigned_abs()), told, entered, Ledger::default(), first_seen, last_listed);
    let told_now = answered_at.filter(|_| matched);
    instance.vast_id = vast_id;
    instance.vast_told_at = told_now.or(moment("vast_told_ms")?);
    // Of a record that was told once the row that has none keeps a few fields; the record itself is known.
    instance.vast = VastFacts { kept_id: kept_id.filter(|_| instance.vast_told_at.is_none()), ..vast };
    instance.status = StatusText {
        first_at: moment("status_first_ms")?,
        last_at: told_now.map(|at| shift(at, -vast_age_s.unwrap_or(0.0))).or(moment("status_last_ms")?),
        changed: moment("status_before_ms")?.zip(moment("status_changed_ms")?),
    };
    instance.rental = Rental {
        listed_at: moment("rental_listed_ms")?,
        ended_at: moment("rental_ended_ms")?,
        acknowledged_at: moment("rental_known_ms")?,
    };
    let answers = number("missing_answers")?.and_then(|answers| u32::try_from(answers).ok()).unwrap_or(0);
    if let Some(since) = moment("missing_since_ms")?.filter(|_| answers > 0) {
        instance.presence = Presence::Missing { since, answers };
    }
    // A flag is held over a look that finds no reason for it where the look before it did.
    instance.unflagged_in_a_row = number("unflagged")?.and_then(|count| u8::try_from(count).ok()).unwrap_or(1);
    (instance.log.buffered, instance.log.read_lines, instance.log.read_at) =
        (buffered, number("read_lines")?, moment("read_ms")?);
    Ok((id, instance))
}
