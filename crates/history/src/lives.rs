//! Lives of instances, for charts.

use std::collections::HashMap;

use dwell_fleet::{Basis, Entry, Key, Life, MachineId, State, Timestamp, TransitionKind, VastFacts, seconds_between};
use rusqlite::types::ValueRef;

use crate::{FleetId, History, HistoryError, ms, time};

/// Who was written as listed so long before the last answer was still listed in it, seconds.
const LISTED_WITHIN_S: f64 = 120.0;

/// How much of the file is read without copying, bytes.
const MAPPED_BYTES: i64 = 4 << 30;

/// Instances that one word can name, at most.
const CALLED_MAX: usize = 100;

/// An instance that was kept, by all that it can be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalledRow {
    /// Its row.
    pub key: Key,
    /// The manager's id.
    pub uuid: Option<String>,
    /// vast.ai's number.
    pub vast_id: Option<u64>,
    /// Its label.
    pub label: Option<String>,
    /// Where it was last, as the manager writes it.
    pub state: String,
}

impl History {
    /// The lives that touch the time from `since` to `until`, whole.
    pub fn lives(&self, fleet: FleetId, since: Timestamp, until: Timestamp) -> Result<Vec<Life>, HistoryError> {
        let mut places: HashMap<i64, usize> = HashMap::new();
        let mut lives: Vec<Life> = Vec::new();
        let mut instances = self.connection.prepare_cached(
            "SELECT id, coalesce(uuid, cast(vast_id AS TEXT), label, ''), gpu_name, num_gpus, image, geolocation, machine_id,
                    dollars_per_h, bench_rate, kill_reason, first_seen_ms, last_listed_ms
             FROM instance WHERE fleet = ?1 AND last_listed_ms >= ?2 AND merged_into IS NULL",
        )?;
        let mut rows = instances.query((fleet.0, ms(since)))?;
        while let Some(row) = rows.next()? {
            let number = |index: usize| row.get::<_, Option<i64>>(index).map(|id| id.and_then(|id| u64::try_from(id).ok()));
            let vast = VastFacts { gpu_name: row.get(2)?, num_gpus: number(3)?, ..VastFacts::default() };
            places.insert(row.get(0)?, lives.len());
            lives.push(Life {
                id: row.get(1)?,
                gpu: vast.gpu_kind(),
                image: row.get(4)?,
                region: row.get(5)?,
                machine: number(6)?.map(MachineId),
                dollars_per_h: row.get(7)?,
                bench_rate_proofs_per_h: row.get(8)?,
                kill_reason: row.get(9)?,
                first_seen_at: time(row.get(10)?),
                last_listed_at: time(row.get(11)?),
                entries: Vec::new(),
                absences: Vec::new(),
                leaks: Vec::new(),
                anew: Vec::new(),
            });
        }
        let mut transitions = self.connection.prepare_cached(
            "SELECT t.instance, t.at_ms, t.kind, t.to_state, t.basis, t.earlier_by_s
             FROM instance i CROSS JOIN transition t INDEXED BY transition_by_life ON t.instance = i.id
             WHERE i.fleet = ?1 AND i.last_listed_ms >= ?2 AND i.merged_into IS NULL",
        )?;
        // One instance after the other, each in the order of its index: sorting all of them anew takes longer than reading them.
        let mut rows = transitions.query((fleet.0, ms(since)))?;
        let (mut of, mut place) = (i64::MIN, None);
        while let Some(row) = rows.next()? {
            let instance: i64 = row.get(0)?;
            if instance != of {
                (of, place) = (instance, places.get(&instance).copied());
            }
            let Some(life) = place.and_then(|place| lives.get_mut(place)) else { continue };
            let at = time(row.get(1)?);
            match text(row.get_ref(2)?) {
                "vanished" => life.absences.push((at, None)),
                "returned" => {
                    if let Some((_, back @ None)) = life.absences.last_mut() {
                        *back = Some(at);
                    }
                }
                kind => {
                    let anew = [TransitionKind::Backward, TransitionKind::CameBack].into_iter().find(|it| it.as_str() == kind);
                    life.anew.extend(anew.map(|kind| (at, kind)));
                    life.entries.push(Entry {
                        state: State::parse(text(row.get_ref(3)?)),
                        at,
                        basis: Basis::parse(text(row.get_ref(4)?)).unwrap_or(Basis::FirstSight),
                        earlier_by_s: row.get(5)?,
                    });
                }
            }
        }
        let mut leaks = self.connection.prepare_cached(
            "SELECT f.instance, f.since_ms, f.cleared_ms FROM flag f JOIN instance i ON i.id = f.instance
             WHERE f.kind = 'leaking' AND i.fleet = ?1 AND i.last_listed_ms >= ?2",
        )?;
        let mut rows = leaks.query((fleet.0, ms(since)))?;
        while let Some(row) = rows.next()? {
            if let Some(life) = places.get(&row.get(0)?).and_then(|place| lives.get_mut(*place)) {
                life.leaks.push((time(row.get(1)?), row.get::<_, Option<i64>>(2)?.map(time)));
            }
        }
        // That an unchanged instance was listed is written once a minute; had it gone, that would stand as an absence.
        let newest = self.watched_until(fleet)?;
        for life in &mut lives {
            let is_listed = life.absences.last().is_none_or(|(_, back)| back.is_some());
            if let Some(newest) =
                newest.filter(|newest| is_listed && seconds_between(life.last_listed_at, *newest) <= LISTED_WITHIN_S)
            {
                life.last_listed_at = life.last_listed_at.max(newest);
            }
        }
        lives.retain(|life| life.entries.first().map_or(life.first_seen_at, |entry| entry.at) < until);
        Ok(lives)
    }

    /// Instances of which a word could be the name, newest first: their manager's id or its beginning, vast.ai's number or its
    /// beginning, or their label. A hundred at most.
    pub fn called(&self, fleet: FleetId, wanted: &str) -> Result<Vec<CalledRow>, HistoryError> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let sql = "SELECT id, uuid, vast_id, label, state FROM instance
             WHERE fleet = ?1 AND merged_into IS NULL
                AND ((uuid >= ?2 AND uuid < ?2 || char(1114111)) OR label = ?2 OR substr(cast(vast_id AS TEXT), 1, length(?2)) = ?2
                    OR (uuid IS NULL AND substr('vast-' || vast_id, 1, length(?2)) = ?2))
             ORDER BY id DESC LIMIT ?3";
        let read = |row: &rusqlite::Row<'_>| {
            let number: Option<i64> = row.get(2)?;
            Ok(CalledRow {
                key: Key(row.get::<_, i64>(0)?.unsigned_abs()),
                uuid: row.get(1)?,
                vast_id: number.and_then(|id| u64::try_from(id).ok()),
                label: row.get(3)?,
                state: row.get(4)?,
            })
        };
        let mut statement = self.connection.prepare_cached(sql)?;
        let found = statement.query_map(rusqlite::params![fleet.0, wanted, CALLED_MAX as i64], read)?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// From now on keys are those that [`History::called`] gives: for reading alone, without a watch that gives keys of its own.
    pub fn keyed_by_rows(self) -> Result<Self, HistoryError> {
        // Charts read all of the instances: through the system's own cache, without copying each page.
        self.connection.pragma_update(None, "mmap_size", MAPPED_BYTES)?;
        Ok(Self { keyed_by_rows: true, ..self })
    }

    /// When the manager was started, as far as it was told, from `since` to `until`, oldest first.
    pub fn manager_starts(&self, fleet: FleetId, since: Timestamp, until: Timestamp) -> Result<Vec<Timestamp>, HistoryError> {
        let starts = self
            .connection
            .prepare_cached("SELECT started_ms FROM manager_run WHERE fleet = ?1 AND started_ms >= ?2 AND started_ms < ?3 ORDER BY started_ms")?
            .query_map((fleet.0, ms(since), ms(until)), |row| Ok(time(row.get(0)?)))?
            .collect::<Result<_, _>>()?;
        Ok(starts)
    }

    /// When the fleet's history begins: the first sight of any instance.
    pub fn begins(&self, fleet: FleetId) -> Result<Option<Timestamp>, HistoryError> {
        let first: Option<i64> =
            self.connection.query_row("SELECT min(from_ms) FROM watched WHERE fleet = ?1", [fleet.0], |row| row.get(0))?;
        Ok(first.map(time))
    }

    /// How many lines an instance's log has in each step of `step_s` seconds from `since` on: (beginning of the step, lines),
    /// steps without a line left out.
    pub fn log_activity(
        &self,
        fleet: FleetId,
        key: Key,
        (since, until): (Timestamp, Timestamp),
        step_s: f64,
    ) -> Result<Vec<(Timestamp, u64)>, HistoryError> {
        let Some(row) = self.row_of(fleet, key) else { return Ok(Vec::new()) };
        let step = ((step_s * 1000.0) as i64).max(1);
        let counts = self
            .connection
            .prepare_cached(
                "SELECT ?2 + (at_ms - ?2) / ?4 * ?4 AS step, count(*) FROM log_line
                 WHERE instance = ?1 AND at_ms >= ?2 AND at_ms < ?3 GROUP BY step ORDER BY step",
            )?
            .query_map((row, ms(since), ms(until), step), |row| Ok((time(row.get(0)?), row.get::<_, i64>(1)?.unsigned_abs())))?
            .collect::<Result<_, _>>()?;
        Ok(counts)
    }
}

/// A text, borrowed; empty where it is none.
fn text(value: ValueRef<'_>) -> &str {
    value.as_str().unwrap_or_default()
}
