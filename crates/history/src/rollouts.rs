//! Deployments and rolling replacements, as far as they have come. Every change is on disk when it returns: a process that is killed
//! leaves what it was about to do.

use dwell_fleet::{Timestamp, redacted};
use rusqlite::{OptionalExtension, params};

use crate::{History, HistoryError, ms, time};

/// Rollouts that are told, newest first.
const ROLLOUTS_MAX: i64 = 200;

/// A deployment or a replacement.
#[derive(Debug, Clone, PartialEq)]
pub struct RolloutRecord {
    /// Its name, of its own.
    pub name: String,
    /// When it was asked for.
    pub at: Timestamp,
    /// Address of the fleet's manager.
    pub fleet: String,
    /// What the simulator says of itself, where it is one.
    pub simulated: Option<String>,
    /// `going`, `paused` or `ended`.
    pub state: String,
    /// Why, for a person.
    pub says: String,
    /// The process that takes its steps: its number and when it began.
    pub process: String,
    /// What was asked, as JSON.
    pub terms: String,
    /// Where its items stand, by place.
    pub items: Vec<RolloutItemRecord>,
}

/// Where an item stands.
#[derive(Debug, Clone, PartialEq)]
pub struct RolloutItemRecord {
    /// When it came there.
    pub at: Timestamp,
    /// `waiting`, `ordering`, `coming`, `retiring`, `done`, `failed` or `left`.
    pub state: String,
    /// What is known of it, as JSON.
    pub body: String,
}

impl History {
    /// What is written is on the disk, and not in the system's cache alone, when this returns.
    pub(crate) fn durably<T>(&self, write: impl FnOnce(&Self) -> Result<T, HistoryError>) -> Result<T, HistoryError> {
        self.connection.pragma_update(None, "synchronous", "FULL")?;
        let written = write(self);
        self.connection.pragma_update(None, "synchronous", "NORMAL")?;
        written
    }

    /// Keeps a new rollout with its items, whole or not at all.
    pub fn add_rollout(&mut self, rollout: &RolloutRecord) -> Result<(), HistoryError> {
        self.connection.pragma_update(None, "synchronous", "FULL")?;
        let transaction = self.connection.transaction()?;
        transaction.execute(
            "INSERT INTO rollout (name, at_ms, fleet, simulated, state, says, process, terms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                rollout.name,
                ms(rollout.at),
                rollout.fleet,
                rollout.simulated.as_deref().unwrap_or(""),
                rollout.state,
                redacted(&rollout.says),
                rollout.process,
                redacted(&rollout.terms)
            ],
        )?;
        for (place, item) in rollout.items.iter().enumerate() {
            transaction.execute(
                "INSERT INTO rollout_item (rollout, place, at_ms, state, body) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![rollout.name, place as i64, ms(item.at), item.state, redacted(&item.body)],
            )?;
        }
        transaction.commit()?;
        self.connection.pragma_update(None, "synchronous", "NORMAL")?;
        Ok(())
    }

    /// Says where a rollout stands, if it stands in one of these states; whether it did.
    pub fn set_rollout(&self, name: &str, from: &[&str], state: &str, says: &str, process: &str) -> Result<bool, HistoryError> {
        self.durably(|history| {
            let mut changed = 0;
            for from in from {
                changed += history
                    .connection
                    .prepare_cached("UPDATE rollout SET state = ?3, says = ?4, process = ?5 WHERE name = ?1 AND state = ?2")?
                    .execute(params![name, from, state, redacted(says), process])?;
                if changed > 0 {
                    break;
                }
            }
            Ok(changed > 0)
        })
    }

    /// Writes where an item stands, if it stands where it is thought to; whether it did.
    pub fn set_rollout_item(&self, name: &str, place: usize, from: &str, item: &RolloutItemRecord) -> Result<bool, HistoryError> {
        self.durably(|history| {
            let changed = history
                .connection
                .prepare_cached(
                    "UPDATE rollout_item SET at_ms = ?4, state = ?5, body = ?6 WHERE rollout = ?1 AND place = ?2 AND state = ?3",
                )?
                .execute(params![name, place as i64, from, ms(item.at), item.state, redacted(&item.body)])?;
            Ok(changed > 0)
        })
    }

    /// One rollout.
    pub fn rollout(&self, name: &str) -> Result<Option<RolloutRecord>, HistoryError> {
        let found = self
            .connection
            .prepare_cached("SELECT name, at_ms, fleet, simulated, state, says, process, terms FROM rollout WHERE name = ?1")?
            .query_row([name], read)
            .optional()?;
        found.map(|rollout| self.with_items(rollout)).transpose()
    }

    /// The newest rollouts of a fleet, newest first.
    pub fn rollouts(&self, fleet: &str) -> Result<Vec<RolloutRecord>, HistoryError> {
        let found: Vec<RolloutRecord> = self
            .connection
            .prepare_cached(
                "SELECT name, at_ms, fleet, simulated, state, says, process, terms FROM rollout WHERE fleet = ?1 ORDER BY at_ms DESC LIMIT ?2",
            )?
            .query_map(params![fleet, ROLLOUTS_MAX], read)?
            .collect::<Result<_, _>>()?;
        found.into_iter().map(|rollout| self.with_items(rollout)).collect()
    }

    fn with_items(&self, rollout: RolloutRecord) -> Result<RolloutRecord, HistoryError> {
        let items = self
            .connection
            .prepare_cached("SELECT at_ms, state, body FROM rollout_item WHERE rollout = ?1 ORDER BY place")?
            .query_map([&rollout.name], |row| {
                Ok(RolloutItemRecord { at: time(row.get(0)?), state: row.get(1)?, body: row.get(2)? })
            })?
            .collect::<Result<_, _>>()?;
        Ok(RolloutRecord { items, ..rollout })
    }
}

fn read(row: &rusqlite::Row<'_>) -> Result<RolloutRecord, rusqlite::Error> {
    let simulated: String = row.get(3)?;
    Ok(RolloutRecord {
        name: row.get(0)?,
        at: time(row.get(1)?),
        fleet: row.get(2)?,
        simulated: Some(simulated).filter(|it| !it.is_empty()),
        state: row.get(4)?,
        says: row.get(5)?,
        process: row.get(6)?,
        terms: row.get(7)?,
        items: Vec::new(),
    })
}
