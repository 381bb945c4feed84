//! The log archive: lines joined to what is kept, read in pages.

use dwell_fleet::{Key, LINE_BYTES_MAX, LogLine, MergeOutcome, Timestamp, merge_tail, redacted};
use rusqlite::{Connection, ToSql, Transaction, params_from_iter};

use crate::{FleetId, History, HistoryError, ms, time};

/// Whose log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogOwner {
    /// The manager's own.
    Manager,
    /// An instance's.
    Instance(Key),
}

/// How much of a buffer a reading shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// Everything that the buffer holds, and it was never full.
    Whole,
    /// As much as the manager gives; the buffer may have dropped older lines.
    Most,
    /// The newest lines, as many as were asked for.
    Part,
}

/// What a reading added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// Lines that this process was not given before, oldest first: those that were new, and those that another process has kept.
    pub lines: Vec<LogLine>,
    /// Lines may be missing before them: more arrived between two readings than one reading shows. Nothing was kept of a reading of
    /// a part: the whole shows more.
    pub gap: bool,
}

/// Lines kept by another process that are given at once.
const CAUGHT_UP_MAX: i64 = 20_000;

/// A kept line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredLine {
    /// Place in the archive; rises with age of keeping.
    pub id: i64,
    /// The line.
    pub line: LogLine,
    /// Lines may be missing just before it.
    pub after_gap: bool,
}

/// Which kept lines to read.
#[derive(Debug, Clone, Default)]
pub struct LogQuery {
    /// Only this source.
    pub source: Option<String>,
    /// Only lines kept after this one.
    pub after_id: Option<i64>,
    /// Only lines kept before this one.
    pub before_id: Option<i64>,
    /// Only lines that contain this text, letter case ignored (ASCII).
    pub contains: Option<String>,
    /// The newest so many, given oldest first.
    pub limit: usize,
}

impl History {
    /// Keeps a reading of a log: joins it to what is known of the manager's present run and stores what is new.
    /// `whole_buffer`: the reading is everything that the buffer holds and it was never full.
    pub fn append_lines(
        &mut self,
        fleet: FleetId,
        owner: LogOwner,
        fetched: &[LogLine],
        whole_buffer: bool,
        run_started_at: Option<Timestamp>,
    ) -> Result<Appended, HistoryError> {
        let extent = if whole_buffer { Extent::Whole } else { Extent::Most };
        self.append(fleet, owner, fetched, extent, run_started_at)
    }

    /// Keeps a reading of the newest lines of a log, fewer than the manager would give. Where lines are missing before them nothing is
    /// kept: a reading of all of them has them perhaps.
    pub fn append_part(
        &mut self,
        fleet: FleetId,
        owner: LogOwner,
        fetched: &[LogLine],
        run_started_at: Option<Timestamp>,
    ) -> Result<Appended, HistoryError> {
        self.append(fleet, owner, fetched, Extent::Part, run_started_at)
    }

    fn append(
        &mut self,
        fleet: FleetId,
        owner: LogOwner,
        fetched: &[LogLine],
        extent: Extent,
        run_started_at: Option<Timestamp>,
    ) -> Result<Appended, HistoryError> {
        let row = match owner {
            LogOwner::Manager => None,
            LogOwner::Instance(key) => match self.row_of(fleet, key) {
                Some(row) => Some(row),
                // Lines of an instance that was never recorded: nothing to hang them on yet.
                None => return Ok(Appended { lines: Vec::new(), gap: false }),
            },
        };
        let transaction = self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let known = known_tail(&transaction, (fleet, row), run_started_at, fetched.len())?;
        let cut: Vec<LogLine> = fetched.iter().map(within_limit).collect();
        let merged = merge_tail(&known, &cut, extent == Extent::Whole);
        if merged.gap && extent == Extent::Part {
            return Ok(Appended { lines: Vec::new(), gap: true });
        }
        let newest = |transaction: &Transaction<'_>| -> Result<i64, rusqlite::Error> {
            transaction
                .prepare_cached("SELECT coalesce(max(id), 0) FROM log_line WHERE fleet = ?1 AND instance IS ?2")?
                .query_row((fleet.0, row), |row| row.get(0))
        };
        let before = newest(&transaction)?;
        {
            let mut insert = transaction.prepare_cached(
                "INSERT INTO log_line (fleet, instance, source, at_ms, text, after_gap) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?;
            let mut words = transaction.prepare_cached("INSERT INTO log_search (rowid, text) VALUES (?1, ?2)")?;
            for (index, line) in cut[merged.new_from..].iter().enumerate() {
                insert.execute((fleet.0, row, &line.source, ms(line.at), &line.text, merged.gap && index == 0))?;
                words.execute((transaction.last_insert_rowid(), &line.text))?;
            }
        }
        let mut lines = Vec::new();
        // Of an instance that another process has seen before this one all of its lines.
        let given = self.given.get(&(fleet, row)).copied().unwrap_or(0);
        if given < before {
            lines = transaction
                .prepare_cached(
                    "SELECT source, text, at_ms FROM log_line WHERE fleet = ?1 AND instance IS ?2 AND id > ?3 AND id <= ?4
                     ORDER BY id DESC LIMIT ?5",
                )?
                .query_map((fleet.0, row, given, before, CAUGHT_UP_MAX), read_line)?
                .collect::<Result<_, _>>()?;
            lines.reverse();
        }
        let last = newest(&transaction)?;
        transaction.commit()?;
        self.given.insert((fleet, row), last);
        lines.extend_from_slice(cut.get(merged.new_from..).unwrap_or_default());
        Ok(Appended { lines, gap: merged.gap })
    }

    /// Where a reading would join what is kept. Nothing is written.
    pub(crate) fn joins(
        &self,
        fleet: FleetId,
        owner: LogOwner,
        fetched: &[LogLine],
        whole_buffer: bool,
        run_started_at: Option<Timestamp>,
    ) -> Result<MergeOutcome, HistoryError> {
        let row = match owner {
            LogOwner::Manager => None,
            LogOwner::Instance(key) => match self.row_of(fleet, key) {
                Some(row) => Some(row),
                None => return Ok(MergeOutcome { new_from: 0, gap: false }),
            },
        };
        let known = known_tail(&self.connection, (fleet, row), run_started_at, fetched.len())?;
        Ok(merge_tail(&known, fetched, whole_buffer))
    }

    /// Reads kept lines, oldest first.
    pub fn lines(&self, fleet: FleetId, owner: LogOwner, query: &LogQuery) -> Result<Vec<StoredLine>, HistoryError> {
        let row = match owner {
            LogOwner::Manager => None,
            LogOwner::Instance(key) => match self.row_of(fleet, key) {
                Some(row) => Some(row),
                None => return Ok(Vec::new()),
            },
        };
        let mut sql = String::from("SELECT source, text, at_ms, id, after_gap FROM log_line WHERE fleet = ? AND instance IS ?");
        let mut values: Vec<Box<dyn ToSql>> = vec![Box::new(fleet.0), Box::new(row)];
        if let Some(source) = &query.source {
            sql.push_str(" AND source = ?");
            values.push(Box::new(source.clone()));
        }
        if let Some(id) = query.after_id {
            sql.push_str(" AND id > ?");
            values.push(Box::new(id));
        }
        if let Some(id) = query.before_id {
            sql.push_str(" AND id < ?");
            values.push(Box::new(id));
        }
        if let Some(text) = &query.contains {
            sql.push_str(" AND instr(lower(text), lower(?)) > 0");
            values.push(Box::new(text.clone()));
        }
        sql.push_str(" ORDER BY id DESC LIMIT ?");
        values.push(Box::new(query.limit as i64));
        let mut lines: Vec<StoredLine> = self
            .connection
            .prepare_cached(&sql)?
            .query_map(params_from_iter(values), |row| {
                Ok(StoredLine { line: read_line(row)?, id: row.get(3)?, after_gap: row.get(4)? })
            })?
            .collect::<Result<_, _>>()?;
        lines.reverse();
        Ok(lines)
    }

    /// Sources of an owner's kept lines with how many there are of each, by name.
    pub fn sources(&self, fleet: FleetId, owner: LogOwner) -> Result<Vec<(String, u64)>, HistoryError> {
        let row = match owner {
            LogOwner::Manager => None,
            LogOwner::Instance(key) => match self.row_of(fleet, key) {
                Some(row) => Some(row),
                None => return Ok(Vec::new()),
            },
        };
        let sources = self
            .connection
            .prepare_cached(
                "SELECT source, count(*) FROM log_line WHERE fleet = ?1 AND instance IS ?2 GROUP BY source ORDER BY source",
            )?
            .query_map((fleet.0, row), |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs())))?
            .collect::<Result<_, _>>()?;
        Ok(sources)
    }
}

/// The newest kept lines of a log of the manager's present run, oldest first: one more than a reading has.
fn known_tail(
    connection: &Connection,
    (fleet, row): (FleetId, Option<i64>),
    run_started_at: Option<Timestamp>,
    lines: usize,
) -> Result<Vec<LogLine>, rusqlite::Error> {
    let from_ms = run_started_at.map_or(i64::MIN, ms);
    let mut known: Vec<LogLine> = connection
        .prepare_cached(
            "SELECT source, text, at_ms FROM log_line
             WHERE fleet = ?1 AND instance IS ?2 AND at_ms >= ?3 ORDER BY id DESC LIMIT ?4",
        )?
        .query_map((fleet.0, row, from_ms, lines as i64 + 1), read_line)?
        .collect::<Result<_, _>>()?;
    known.reverse();
    // Lines that were kept before a secret was known join those that are read now all the same.
    known.iter_mut().for_each(|line| line.text = redacted(&line.text).into_owned());
    Ok(known)
}

fn read_line(row: &rusqlite::Row<'_>) -> Result<LogLine, rusqlite::Error> {
    Ok(LogLine { source: row.get(0)?, text: row.get(1)?, at: time(row.get(2)?) })
}

/// A line no longer than is kept, cut at a character.
pub(crate) fn within_limit(line: &LogLine) -> LogLine {
    // Before it is cut: half a secret is none that could be found.
    let mut line = LogLine { text: redacted(&line.text).into_owned(), ..line.clone() };
    if line.text.len() > LINE_BYTES_MAX {
        line.text.truncate(line.text.floor_char_boundary(LINE_BYTES_MAX));
    }
    line
}
