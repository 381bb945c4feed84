//! Notes of people, looks made on purpose, and the causes with which trouble was closed.

use std::collections::HashMap;

use dwell_fleet::{Key, Timestamp, redacted};
use rusqlite::params;

use crate::{FleetId, History, HistoryError, ms, time};

/// Longest note kept, characters.
pub const NOTE_CHARACTERS_MAX: usize = 4_000;

/// What a note is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteKind {
    /// Somebody wrote it.
    Note,
    /// A look that was made on purpose.
    Look,
    /// Its trouble was closed.
    Close,
    /// A person accounted for its rental: written off or not, it is no alarm.
    Acknowledge,
}

impl NoteKind {
    /// The stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Look => "look",
            Self::Close => "close",
            Self::Acknowledge => "acknowledge",
        }
    }
}

/// A note.
#[derive(Debug, Clone, PartialEq)]
pub struct Note {
    /// When.
    pub at: Timestamp,
    /// What it is.
    pub kind: NoteKind,
    /// Its text.
    pub text: String,
    /// Of a closing: the cause.
    pub closing: Option<Closing>,
}

/// With what an instance's trouble was closed, and what it was like then.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Closing {
    /// Id of the cause.
    pub cause: String,
    /// Verdict then.
    pub verdict: Option<String>,
    /// State then.
    pub state: Option<String>,
    /// Card.
    pub gpu: Option<String>,
    /// Image.
    pub image: Option<String>,
    /// Machine.
    pub machine: Option<u64>,
}

/// A closing of another time.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenBefore {
    /// Whose.
    pub id: String,
    /// The note.
    pub note: Note,
}

impl History {
    /// Keeps a note. Where the instance is not in the history, nothing is kept and `false` is returned.
    pub fn add_note(&mut self, fleet: FleetId, key: Key, note: &Note) -> Result<bool, HistoryError> {
        let Some(row) = self.row_of(fleet, key) else { return Ok(false) };
        let text: String = redacted(&note.text).chars().take(NOTE_CHARACTERS_MAX).collect();
        let closing = note.closing.as_ref();
        self.connection.execute(
            "INSERT INTO note (instance, at_ms, kind, text, cause, verdict, state, gpu, image, machine)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            params![
                row,
                ms(note.at),
                note.kind.as_str(),
                text,
                closing.map(|it| it.cause.as_str()),
                closing.and_then(|it| it.verdict.as_deref()),
                closing.and_then(|it| it.state.as_deref()),
                closing.and_then(|it| it.gpu.as_deref()),
                closing.and_then(|it| it.image.as_deref()),
                closing.and_then(|it| it.machine).and_then(|id| i64::try_from(id).ok()),
            ],
        )?;
        Ok(true)
    }

    /// An instance's notes, oldest first; the newest `limit` of them.
    pub fn notes(&self, fleet: FleetId, key: Key, limit: usize) -> Result<Vec<Note>, HistoryError> {
        let Some(row) = self.row_of(fleet, key) else { return Ok(Vec::new()) };
        let mut statement = self.connection.prepare_cached(
            "SELECT at_ms, kind, text, cause, verdict, state, gpu, image, machine, '' FROM note
             WHERE instance = ?1 ORDER BY id DESC LIMIT ?2",
        )?;
        let mut notes: Vec<Note> = statement
            .query_map(params![row, i64::try_from(limit).unwrap_or(i64::MAX)], read)?
            .collect::<Result<Vec<_>, _>>()?
            .into_iter()
            .map(|(note, _)| note)
            .collect();
        notes.reverse();
        Ok(notes)
    }

    /// When each instance of a fleet was last accounted for by a person, of those that were and that are watched.
    pub fn acknowledged(&self, fleet: FleetId) -> Result<Vec<(Key, Timestamp)>, HistoryError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT note.instance, max(note.at_ms) FROM note JOIN instance ON instance.id = note.instance
             WHERE note.kind = 'acknowledge' AND instance.fleet = ?1 GROUP BY note.instance",
        )?;
        let found: HashMap<i64, i64> =
            statement.query_map([fleet.0], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let mine = self.rows.iter().filter(|((of, _), _)| *of == fleet);
        Ok(mine.filter_map(|((_, key), row)| Some((*key, time(*found.get(row)?)))).collect())
    }

    /// Closings with one of these causes in this fleet, newest first, those of `except` left out.
    pub fn seen_before(
        &self,
        fleet: FleetId,
        causes: &[&str],
        except: Key,
        limit: usize,
    ) -> Result<Vec<SeenBefore>, HistoryError> {
        let own = self.row_of(fleet, except).unwrap_or(-1);
        let mut statement = self.connection.prepare_cached(
            "SELECT note.at_ms, note.kind, note.text, note.cause, note.verdict, note.state, note.gpu, note.image, note.machine,
                    COALESCE(instance.uuid, 'vast-' || instance.vast_id, '')
             FROM note JOIN instance ON instance.id = note.instance
             WHERE note.cause IS NOT NULL AND instance.fleet = ?1 AND instance.id <> ?2 ORDER BY note.id DESC LIMIT 500",
        )?;
        let found = statement.query_map(params![fleet.0, own], read)?.collect::<Result<Vec<_>, _>>()?;
        let wanted = |note: &Note| note.closing.as_ref().is_some_and(|it| causes.contains(&it.cause.as_str()));
        Ok(found.into_iter().filter(|(note, _)| wanted(note)).take(limit).map(|(note, id)| SeenBefore { id, note }).collect())
    }
}

fn read(row: &rusqlite::Row<'_>) -> Result<(Note, String), rusqlite::Error> {
    let kind: String = row.get(1)?;
    let cause: Option<String> = row.get(3)?;
    let machine: Option<i64> = row.get(8)?;
    let closing = match cause {
        Some(cause) => Some(Closing {
            cause,
            verdict: row.get(4)?,
            state: row.get(5)?,
            gpu: row.get(6)?,
            image: row.get(7)?,
            machine: machine.and_then(|id| u64::try_from(id).ok()),
        }),
        None => None,
    };
    let note = Note {
        at: time(row.get(0)?),
        kind: match kind.as_str() {
            "look" => NoteKind::Look,
            "close" => NoteKind::Close,
            "acknowledge" => NoteKind::Acknowledge,
            _ => NoteKind::Note,
        },
        text: row.get(2)?,
        closing,
    };
    Ok((note, row.get(9)?))
}
