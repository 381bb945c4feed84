//! What is kept, row by row, for files that other programs read.

use dwell_fleet::Timestamp;
use rusqlite::types::ValueRef;

use crate::{FleetId, History, HistoryError, ms};

/// What can be exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportTable {
    /// Every instance: what it is, where it was last, its price, its benchmark.
    Instances,
    /// Every change of state.
    Transitions,
    /// Every reading of gauges that is kept.
    Gauges,
    /// Every benchmark rate that was reported.
    Benchmarks,
    /// Every flag.
    Flags,
    /// Every kept log line.
    Logs,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Text.
    Text,
    /// A whole number.
    Integer,
    /// A number.
    Real,
    /// A time: milliseconds since the epoch, on the manager's clock.
    Time,
}

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name, with its unit.
    pub name: &'static str,
    /// What it holds. Any cell can be empty: not told.
    pub kind: ColumnKind,
}

/// A value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    /// Not told.
    Nothing,
    /// A whole number, or a time in ms since the epoch.
    Integer(i64),
    /// A number.
    Real(f64),
    /// A text.
    Text(&'a str),
}

const fn text(name: &'static str) -> Column {
    Column { name, kind: ColumnKind::Text }
}
const fn integer(name: &'static str) -> Column {
    Column { name, kind: ColumnKind::Integer }
}
const fn real(name: &'static str) -> Column {
    Column { name, kind: ColumnKind::Real }
}
const fn moment(name: &'static str) -> Column {
    Column { name, kind: ColumnKind::Time }
}

impl ExportTable {
    /// All of them.
    pub const ALL: [ExportTable; 6] =
        [Self::Instances, Self::Transitions, Self::Gauges, Self::Benchmarks, Self::Flags, Self::Logs];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Instances => "instances",
            Self::Transitions => "transitions",
            Self::Gauges => "gauges",
            Self::Benchmarks => "benchmarks",
            Self::Flags => "flags",
            Self::Logs => "logs",
        }
    }

    /// Of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.as_str() == name)
    }

    /// Its columns.
    pub fn columns(self) -> &'static [Column] {
        match self {
            Self::Instances => {
                &const {
                    [
                        text("instance"),
                        integer("vast_id"),
                        text("label"),
                        text("state"),
                        moment("entered_at"),
                        moment("first_seen_at"),
                        moment("last_listed_at"),
                        text("gpu_name"),
                        integer("num_gpus"),
                        text("image"),
                        text("region"),
                        integer("machine_id"),
                        integer("host_id"),
                        real("dollars_per_h"),
                        real("min_rate_proofs_per_h"),
                        real("bench_rate_proofs_per_h"),
                        text("kill_reason"),
                    ]
                }
            }
            Self::Transitions => {
                &const {
                    [
                        text("instance"),
                        moment("at"),
                        text("from_state"),
                        text("to_state"),
                        text("kind"),
                        text("basis"),
                        real("earlier_by_s"),
                        moment("seen_at"),
                    ]
                }
            }
            Self::Gauges => {
                &const {
                    [
                        text("instance"),
                        moment("at"),
                        real("gpu_util_percent"),
                        real("gpu_temp_c"),
                        real("cpu_util_percent"),
                        real("mem_gb"),
                        integer("log_lines"),
                    ]
                }
            }
            Self::Benchmarks => {
                &const {
                    [
                        text("instance"),
                        moment("at"),
                        real("proofs_per_h"),
                        real("min_rate_proofs_per_h"),
                        text("gpu_name"),
                        integer("num_gpus"),
                        integer("machine_id"),
                        real("cpu_ram_mib"),
                        text("image"),
                        real("dollars_per_h"),
                    ]
                }
            }
            Self::Flags => {
                &const {
                    [
                        text("instance"),
                        text("kind"),
                        moment("since"),
                        moment("raised_at"),
                        moment("cleared_at"),
                        text("reason"),
                        text("certainty"),
                    ]
                }
            }
            Self::Logs => &const { [text("instance"), moment("at"), text("source"), text("text"), integer("after_gap")] },
        }
    }

    /// Oldest first by the time that is filtered by.
    fn sql(self) -> &'static str {
        match self {
            Self::Instances => {
                "SELECT coalesce(uuid, ''), vast_id, label, state, entered_ms, first_seen_ms, last_listed_ms, gpu_name, num_gpus, image,
                        geolocation, machine_id, host_id, dollars_per_h, min_rate, bench_rate, kill_reason
                 FROM instance i WHERE fleet = ?1 AND merged_into IS NULL AND last_listed_ms >= ?2 AND first_seen_ms < ?3 ORDER BY id"
            }
            Self::Transitions => {
                "SELECT coalesce(i.uuid, cast(i.vast_id AS TEXT), i.label), t.at_ms, t.from_state, t.to_state, t.kind, t.basis,
                        t.earlier_by_s, t.seen_ms
                 FROM instance i CROSS JOIN transition t ON t.instance = i.id
                 WHERE i.fleet = ?1 AND t.at_ms >= ?2 AND t.at_ms < ?3 ORDER BY t.instance, t.at_ms, t.id"
            }
            Self::Gauges => {
                "SELECT coalesce(i.uuid, cast(i.vast_id AS TEXT), i.label), g.at_ms, g.gpu_util, g.gpu_temp, g.cpu_util, g.mem_gb, g.log_lines
                 FROM instance i CROSS JOIN gauge g ON g.instance = i.id
                 WHERE i.fleet = ?1 AND g.at_ms >= ?2 AND g.at_ms < ?3 ORDER BY g.instance, g.at_ms"
            }
            Self::Benchmarks => {
                "SELECT coalesce(i.uuid, cast(i.vast_id AS TEXT), i.label) AS name,
                        coalesce((SELECT max(at_ms) FROM transition WHERE instance = i.id AND to_state = 'bench_done'), i.last_listed_ms) AS at,
                        i.bench_rate, i.min_rate, i.gpu_name, i.num_gpus, i.machine_id, i.cpu_ram_mib, i.image, i.dollars_per_h
                 FROM instance i WHERE i.fleet = ?1 AND i.merged_into IS NULL AND i.bench_rate > 0 AND at >= ?2 AND at < ?3 ORDER BY at"
            }
            Self::Flags => {
                "SELECT coalesce(i.uuid, cast(i.vast_id AS TEXT), i.label), f.kind, f.since_ms, f.raised_ms, f.cleared_ms, f.reason, f.certainty
                 FROM flag f JOIN instance i ON i.id = f.instance
                 WHERE i.fleet = ?1 AND f.raised_ms >= ?2 AND f.raised_ms < ?3 ORDER BY f.id"
            }
            Self::Logs => {
                "SELECT (SELECT coalesce(uuid, cast(vast_id AS TEXT), label) FROM instance WHERE id = l.instance), l.at_ms, l.source, l.text,
                        l.after_gap
                 FROM log_line l WHERE l.fleet = ?1 AND l.at_ms >= ?2 AND l.at_ms < ?3 ORDER BY l.id"
            }
        }
    }
}

impl History {
    /// Gives every row of a table from `since` on and before `until` to `each`, until it refuses one. Holds one row at a time.
    pub fn export(
        &self,
        fleet: FleetId,
        table: ExportTable,
        (since, until): (Timestamp, Timestamp),
        mut each: impl FnMut(&[Cell<'_>]) -> bool,
    ) -> Result<(), HistoryError> {
        let columns = table.columns().len();
        let mut statement = self.connection.prepare(table.sql())?;
        let mut rows = statement.query((fleet.0, ms(since), ms(until)))?;
        while let Some(row) = rows.next()? {
            let mut cells = Vec::with_capacity(columns);
            for index in 0..columns {
                cells.push(match row.get_ref(index)? {
                    ValueRef::Integer(number) => Cell::Integer(number),
                    ValueRef::Real(number) => Cell::Real(number),
                    ValueRef::Text(_) => row.get_ref(index)?.as_str().map_or(Cell::Nothing, Cell::Text),
                    ValueRef::Null | ValueRef::Blob(_) => Cell::Nothing,
                });
            }
            if !each(&cells) {
                break;
            }
        }
        Ok(())
    }
}
