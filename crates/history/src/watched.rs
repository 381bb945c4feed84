//! When somebody was watching.

use dwell_fleet::Timestamp;
use rusqlite::{Connection, OptionalExtension, Transaction};

use crate::{FleetId, History, HistoryError, time};

/// A new process goes on with the last one's time where no more than this lies between, ms: a window that is opened again.
const JOINED_MS: i64 = 120_000;
/// What is watched is written at most this often, ms.
const WRITTEN_EVERY_MS: i64 = 10_000;

/// A stretch of time under watch as it stands on disk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stretch {
    pub(crate) from_ms: i64,
    pub(crate) to_ms: i64,
}

/// Carries the present stretch on to `as_of`. `known`: the one that this process writes.
pub(crate) fn carry_on(
    transaction: &Transaction<'_>,
    fleet: FleetId,
    known: Option<Stretch>,
    as_of: i64,
) -> Result<Stretch, rusqlite::Error> {
    let last = match known {
        // The manager's clock was set back: what was watched until then was watched until now.
        Some(known) if known.to_ms > as_of + JOINED_MS && known.from_ms <= as_of => {
            transaction.prepare_cached("UPDATE watched SET to_ms = ?3 WHERE fleet = ?1 AND from_ms = ?2")?.execute((
                fleet.0,
                known.from_ms,
                as_of,
            ))?;
            Some(Stretch { to_ms: as_of, ..known })
        }
        Some(known) if known.to_ms > as_of + JOINED_MS => None,
        Some(known) => Some(known),
        None => transaction
            .prepare_cached(
                "SELECT from_ms, to_ms FROM watched WHERE fleet = ?1 AND from_ms <= ?2 ORDER BY from_ms DESC LIMIT 1",
            )?
            .query_row((fleet.0, as_of), |row| Ok(Stretch { from_ms: row.get(0)?, to_ms: row.get(1)? }))
            .optional()?
            // One that ends in the future is none that goes on now.
            .filter(|last| (as_of - last.to_ms).abs() <= JOINED_MS),
    };
    match last {
        Some(last) if as_of - last.to_ms < WRITTEN_EVERY_MS => Ok(last),
        Some(last) => {
            // Another process may have written a later end, or have joined stretches (an import).
            transaction
                .prepare_cached(
                    "INSERT INTO watched (fleet, from_ms, to_ms) VALUES (?1, ?2, ?3)
                     ON CONFLICT DO UPDATE SET to_ms = max(to_ms, excluded.to_ms)",
                )?
                .execute((fleet.0, last.from_ms, as_of))?;
            Ok(Stretch { to_ms: as_of, ..last })
        }
        None => {
            transaction
                .prepare_cached("INSERT OR IGNORE INTO watched (fleet, from_ms, to_ms) VALUES (?1, ?2, ?2)")?
                .execute((fleet.0, as_of))?;
            Ok(Stretch { from_ms: as_of, to_ms: as_of })
        }
    }
}

pub(crate) fn stretches(connection: &Connection, table: &str, fleet: i64) -> Result<Vec<(i64, i64)>, rusqlite::Error> {
    connection
        .prepare(&format!("SELECT from_ms, to_ms FROM {table} WHERE fleet = ?1 ORDER BY from_ms"))?
        .query_map([fleet], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

/// A fleet of which something is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptFleet {
    /// Which.
    pub id: FleetId,
    /// The manager's address.
    pub address: String,
    /// What the simulator says of itself, where it is one.
    pub simulated: Option<String>,
    /// When it was last watched.
    pub last_watched: Option<Timestamp>,
}

impl History {
    /// Times in which the fleet was watched, oldest first; within them [`History::gaps`] were without answers.
    pub fn watched(&self, fleet: FleetId) -> Result<Vec<(Timestamp, Timestamp)>, HistoryError> {
        let stretches = stretches(&self.connection, "main.watched", fleet.0)?;
        Ok(stretches.into_iter().map(|(from, to)| (time(from), time(to))).collect())
    }

    /// When the fleet was last seen to answer.
    pub fn watched_until(&self, fleet: FleetId) -> Result<Option<Timestamp>, HistoryError> {
        let last: Option<i64> =
            self.connection.query_row("SELECT max(to_ms) FROM watched WHERE fleet = ?1", [fleet.0], |row| row.get(0))?;
        Ok(last.map(time))
    }

    /// Fleets of which something is kept, the one that was watched last first.
    pub fn fleets(&self) -> Result<Vec<KeptFleet>, HistoryError> {
        let fleets = self
            .connection
            .prepare(
                "SELECT id, address, simulated, (SELECT max(to_ms) FROM watched WHERE fleet = fleet.id) AS last
                 FROM fleet ORDER BY last DESC",
            )?
            .query_map([], |row| {
                let simulated: String = row.get(2)?;
                Ok(KeptFleet {
                    id: FleetId(row.get(0)?),
                    address: row.get(1)?,
                    simulated: Some(simulated).filter(|it| !it.is_empty()),
                    last_watched: row.get::<_, Option<i64>>(3)?.map(time),
                })
            })?
            .collect::<Result<_, _>>()?;
        Ok(fleets)
    }
}
