//! Times of a future that cannot be, kept by a version that believed them.

use dwell_fleet::{Timestamp, is_plausible, latest_plausible};
use rusqlite::{OptionalExtension, TransactionBehavior};

use crate::{FleetId, History, HistoryError, ms, time};

/// Times of what was seen of an instance, each of which may be unknown.
const SEEN: [&str; 12] = [
    "missing_since_ms",
    "vast_told_ms",
    "status_first_ms",
    "status_last_ms",
    "status_before_ms",
    "status_changed_ms",
    "registered_ms",
    "param_done_ms",
    "bench_done_ms",
    "killed_ms",
    "start_ms",
    "read_ms",
];

impl History {
    /// Takes the future out of what is kept of a fleet. `now` is this machine's clock. Nothing is changed where that clock may be the one
    /// that is wrong: where the fleet's latest answer is itself of that future.
    pub(crate) fn heal(&mut self, fleet: FleetId, now: Timestamp) -> Result<(), HistoryError> {
        let answered: Option<Option<i64>> =
            self.connection.query_row("SELECT answered_ms FROM fleet WHERE id = ?1", [fleet.0], |row| row.get(0)).optional()?;
        let (Some(Some(answered)), Some(latest)) = (answered, latest_plausible(now)) else { return Ok(()) };
        if !is_plausible(time(answered), now) {
            return Ok(());
        }
        let latest = ms(latest);
        // By their indexes: a year of a large fleet is not read for this.
        let of_fleet = "SELECT id FROM instance WHERE fleet = ?1";
        let future = |table: &str, column: &str| {
            format!(
                "EXISTS (SELECT 1 FROM instance AS i JOIN {table} AS t ON t.instance = i.id WHERE i.fleet = ?1 AND t.{column} > ?2)"
            )
        };
        let seen = SEEN.map(|column| format!("coalesce(t.{column} > ?2, 0)")).join(" OR ");
        let is_sick: bool = self.connection.query_row(
            &format!(
                "SELECT EXISTS (SELECT 1 FROM watched WHERE fleet = ?1 AND to_ms > ?2)
                     OR EXISTS (SELECT 1 FROM gap WHERE fleet = ?1 AND to_ms > ?2)
                     OR EXISTS (SELECT 1 FROM manager_run WHERE fleet = ?1 AND started_ms > ?2)
                     OR EXISTS (SELECT 1 FROM instance WHERE fleet = ?1
                                AND (last_listed_ms > ?2 OR first_seen_ms > ?2 OR entered_ms > ?2))
                     OR EXISTS (SELECT 1 FROM instance AS i JOIN seen AS t ON t.instance = i.id WHERE i.fleet = ?1 AND ({seen}))
                     OR {} OR {} OR {}",
                future("transition", "at_ms"),
                future("gauge", "at_ms"),
                future("flag", "raised_ms")
            ),
            (fleet.0, latest),
            |row| row.get(0),
        )?;
        if !is_sick {
            return Ok(());
        }
        tracing::warn!("times of a future that cannot be are taken out of the history of this fleet");
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let seen = SEEN.map(|column| format!("{column} = iif({column} > ?2, NULL, {column})")).join(", ");
        let rentals = ["rental_listed_ms", "rental_ended_ms", "rental_known_ms"]
            .map(|column| format!("{column} = iif({column} > ?2, NULL, {column})"))
            .join(", ");
        for sql in [
            // When it was seen is nearer to when it happened than a date that cannot be.
            format!(
                "UPDATE OR IGNORE transition SET at_ms = seen_ms, basis = 'observed' WHERE at_ms > ?2 AND seen_ms <= ?2 AND instance IN ({of_fleet})"
            ),
            format!("DELETE FROM transition WHERE at_ms > ?2 AND instance IN ({of_fleet})"),
            format!("UPDATE transition SET seen_ms = at_ms WHERE seen_ms > ?2 AND instance IN ({of_fleet})"),
            format!("DELETE FROM gauge WHERE at_ms > ?2 AND instance IN ({of_fleet})"),
            format!("DELETE FROM flag WHERE raised_ms > ?2 AND instance IN ({of_fleet})"),
            format!(
                "UPDATE flag SET since_ms = min(since_ms, raised_ms), cleared_ms = iif(cleared_ms > ?2, raised_ms, cleared_ms)
                 WHERE (since_ms > ?2 OR cleared_ms > ?2) AND instance IN ({of_fleet})"
            ),
            format!("UPDATE seen SET {seen}, {rentals} WHERE instance IN ({of_fleet})"),
            "DELETE FROM gap WHERE fleet = ?1 AND to_ms > ?2".to_owned(),
            "DELETE FROM manager_run WHERE fleet = ?1 AND started_ms > ?2".to_owned(),
            "DELETE FROM watched WHERE fleet = ?1 AND from_ms > ?2".to_owned(),
        ] {
            transaction.execute(&sql, (fleet.0, latest))?;
        }
        for sql in [
            // The latest answer is the latest time at which it was surely watched, and anything listed.
            "UPDATE watched SET to_ms = max(from_ms, ?3) WHERE fleet = ?1 AND to_ms > ?2",
            "UPDATE instance SET last_listed_ms = ?3 WHERE fleet = ?1 AND last_listed_ms > ?2",
            "UPDATE instance SET first_seen_ms = last_listed_ms WHERE fleet = ?1 AND first_seen_ms > ?2",
            "UPDATE instance SET entered_ms = coalesce((SELECT max(t.at_ms) FROM transition AS t WHERE t.instance = instance.id AND t.to_state = instance.state),
                 first_seen_ms), basis = 'observed' WHERE fleet = ?1 AND entered_ms > ?2",
        ] {
            let mut statement = transaction.prepare(sql)?;
            match statement.parameter_count() {
                3 => statement.execute((fleet.0, latest, answered))?,
                _ => statement.execute((fleet.0, latest))?,
            };
        }
        transaction.commit()?;
        Ok(())
    }
}
