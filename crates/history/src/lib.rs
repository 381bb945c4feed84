//! What happened, kept: transitions, thinned gauges, flags, and every log line ever fetched. The manager forgets its logs
//! at a restart and its killed rows after a week; this does not.
//!
//! One SQLite file, write-ahead log, one transaction for each answer: killed at any moment, it holds all answers before
//! the last or all with it. Several processes may watch the same fleet; what both see is kept once. Only this crate knows SQL.

mod acts;
mod answers;
mod export;
pub mod files;
mod heal;
mod held;
mod import;
mod lives;
mod load;
mod logs;
mod notes;
mod rates;
mod record;
mod rollouts;
#[doc(hidden)]
pub mod sample;
mod search;
mod upkeep;
mod watched;

use std::collections::HashMap;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use dwell_fleet::{Key, Timestamp};
use rusqlite::{Connection, OptionalExtension};
use rusqlite_migration::{M, Migrations};

pub use acts::{ActEntry, RuleActs};
pub use answers::{ANSWER_BYTES_MAX, ANSWERS_MAX, RawAnswer};
pub use export::{Cell, Column, ColumnKind, ExportTable};
pub use held::{Held, HeldLimits, HeldState};
pub use import::Imported;
pub use lives::CalledRow;
pub use load::{FlagRecord, GaugePoint, Remembered, TransitionRecord};
pub use logs::{Appended, LogOwner, LogQuery, StoredLine};
pub use notes::{Closing, NOTE_CHARACTERS_MAX, Note, NoteKind, SeenBefore};
pub use rates::{MachinePast, RateRecord};
pub use record::Answer;
pub use rollouts::{RolloutItemRecord, RolloutRecord};
pub use search::{Found, FoundLine, SEARCHED_MOST, Search};
pub use upkeep::{FULL_S, Limits, MINUTES_S, Size, Upkept};
pub use watched::KeptFleet;

static MIGRATIONS: LazyLock<Migrations<'static>> = LazyLock::new(|| {
    let steps = [
        include_str!("schema.sql"),
        include_str!("notes.sql"),
        include_str!("answers.sql"),
        include_str!("rates.sql"),
        include_str!("time.sql"),
        include_str!("acts.sql"),
        include_str!("rollouts.sql"),
        include_str!("again.sql"),
        include_str!("act_rule.sql"),
        include_str!("act_account.sql"),
    ];
    Migrations::new(steps.map(M::up).into())
});

/// Why history could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The file is from a newer Dwell.
    #[error("the history at {path} was written by a newer Dwell; update this one, or give it another file")]
    Newer {
        /// The file.
        path: String,
    },
    /// The file cannot be opened, or is no database.
    #[error("cannot open the history at {path}: {reason}")]
    Open {
        /// The file.
        path: String,
        /// The reason given.
        reason: String,
    },
    /// SQLite refused: disk full, locked for too long, damaged.
    #[error("the history cannot be read or written: {0}")]
    Sqlite(#[from] rusqlite::Error),
}

impl HistoryError {
    /// The place is out of order and not what is written: no room, no right, a lock that lasts, a damaged file. The same write may work
    /// later.
    pub fn is_of_the_place(&self) -> bool {
        use rusqlite::ErrorCode as Code;
        match self {
            Self::Newer { .. } | Self::Open { .. } => true,
            Self::Sqlite(error) => matches!(
                error.sqlite_error_code(),
                Some(
                    Code::DiskFull
                        | Code::SystemIoFailure
                        | Code::ReadOnly
                        | Code::DatabaseBusy
                        | Code::DatabaseLocked
                        | Code::CannotOpen
                        | Code::PermissionDenied
                        | Code::FileLockingProtocolFailed
                        | Code::NoLargeFileSupport
                        | Code::OutOfMemory
                        | Code::DatabaseCorrupt
                        | Code::NotADatabase
                )
            ),
        }
    }
}

/// A fleet in the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FleetId(i64);

/// An open history.
#[derive(Debug)]
pub struct History {
    connection: Connection,
    /// Which row of the database each instance in memory is. Keys of instances are the process's own.
    rows: HashMap<(FleetId, Key), i64>,
    /// Newest gauge written for each row, for thinning.
    gauges_at: HashMap<i64, i64>,
    /// What of each row stands on disk, for thinning.
    written: HashMap<i64, record::Written>,
    /// The newest line of each log that this process was given: another one may keep lines as well.
    given: HashMap<(FleetId, Option<i64>), i64>,
    /// The stretch of time under watch that this process writes.
    watching: HashMap<FleetId, watched::Stretch>,
    /// Keys are the database's own: nobody watches.
    keyed_by_rows: bool,
}

impl History {
    /// Opens or creates the file, bringing its schema up to date.
    pub fn open(path: &Path) -> Result<Self, HistoryError> {
        let shown = path.display().to_string();
        let opened = |reason: String| HistoryError::Open { path: shown.clone(), reason };
        // Its journal and its memory take the rights of the file.
        let begin = || -> std::io::Result<files::Locked> {
            if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                files::private_folder(folder)?;
            }
            // One brings the schema up to date, others wait.
            let mut lock = path.to_owned();
            lock.as_mut_os_string().push(".lock");
            let locked = files::lock(&lock, files::LOCKED_WITHIN)?;
            files::open_private(path)?;
            for beside in ["-wal", "-shm"] {
                let mut file = path.to_owned();
                file.as_mut_os_string().push(beside);
                files::private_file(&file)?;
            }
            Ok(locked)
        };
        let _locked = begin().map_err(|error| opened(error.to_string()))?;
        let connection = Connection::open(path).map_err(|error| opened(error.to_string()))?;
        Self::prepare(connection).map_err(|error| match error {
            rusqlite_migration::Error::MigrationDefinition(rusqlite_migration::MigrationDefinitionError::DatabaseTooFarAhead) => {
                HistoryError::Newer { path: shown.clone() }
            }
            other => opened(other.to_string()),
        })
    }

    /// A history that lives as long as the process: simulations.
    pub fn in_memory() -> Result<Self, HistoryError> {
        Self::prepare(Connection::open_in_memory()?)
            .map_err(|error| HistoryError::Open { path: ":memory:".to_owned(), reason: error.to_string() })
    }

    fn prepare(mut connection: Connection) -> Result<Self, rusqlite_migration::Error> {
        connection.busy_timeout(Duration::from_secs(10))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        // Safe against a killed process at any moment; a power cut can cost the last answers, never the file.
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        MIGRATIONS.to_latest(&mut connection)?;
        one_name_for_this_machine(&mut connection)?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(Self {
            connection,
            rows: HashMap::new(),
            gauges_at: HashMap::new(),
            written: HashMap::new(),
            given: HashMap::new(),
            watching: HashMap::new(),
            keyed_by_rows: false,
        })
    }

    /// The fleet of a manager at this address; `simulated` keeps each simulated run apart.
    pub fn fleet(&mut self, address: &str, simulated: Option<&str>) -> Result<FleetId, HistoryError> {
        let simulated = simulated.unwrap_or("");
        self.connection.execute("INSERT OR IGNORE INTO fleet (address, simulated) VALUES (?1, ?2)", (address, simulated))?;
        let id = self.connection.query_row(
            "SELECT id FROM fleet WHERE address = ?1 AND simulated = ?2",
            (address, simulated),
            |row| row.get(0),
        )?;
        Ok(FleetId(id))
    }
}

/// Fleets that were kept under another name of this machine are found under the one that is used now. Where both names have a
/// history already, each stays what it is.
fn one_name_for_this_machine(connection: &mut Connection) -> Result<(), rusqlite::Error> {
    let named: Vec<(i64, String)> = connection
        .prepare("SELECT id, address FROM fleet ORDER BY id DESC")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    for (id, address) in named {
        let name = dwell_fleet::manager_name(&address);
        if name != address {
            connection.execute("UPDATE OR IGNORE fleet SET address = ?1 WHERE id = ?2", (&name, id))?;
            connection.execute("UPDATE rollout SET fleet = ?1 WHERE fleet = ?2", (&name, &address))?;
        }
    }
    Ok(())
}

impl History {
    /// What the simulator last answering at this address said of itself; `None` for a real manager or an unknown address.
    pub fn latest_simulated(&self, address: &str) -> Result<Option<String>, HistoryError> {
        let latest: Option<String> = self
            .connection
            .query_row("SELECT simulated FROM fleet WHERE address = ?1 ORDER BY id DESC LIMIT 1", [address], |row| row.get(0))
            .optional()?;
        Ok(latest.filter(|simulated| !simulated.is_empty()))
    }
}

fn ms(at: Timestamp) -> i64 {
    at.as_millisecond()
}

fn time(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH)
}
