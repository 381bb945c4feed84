//! What the channels that are asked on purpose have answered, as it came. The machine will be gone; its words are not.

use dwell_fleet::{Key, Timestamp, redacted};
use rusqlite::params;

use crate::{FleetId, History, HistoryError, ms, time};

/// Longest answer kept, bytes: the end of a longer one is cut off.
pub const ANSWER_BYTES_MAX: usize = 256 * 1024;
/// Answers kept of each channel and instance: the newest.
pub const ANSWERS_MAX: usize = 8;

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawAnswer {
    /// The channel that gave it.
    pub channel: String,
    /// When it was asked, on the manager's clock.
    pub at: Timestamp,
    /// As it came. Hostile.
    pub text: String,
    /// Bytes that were cut off its end.
    pub cut_bytes: usize,
}

impl History {
    /// Keeps an answer. Where the instance is not in the history, nothing is kept and `false` is returned.
    pub fn add_answer(
        &mut self,
        fleet: FleetId,
        key: Key,
        channel: &str,
        at: Timestamp,
        text: &str,
    ) -> Result<bool, HistoryError> {
        let Some(row) = self.row_of(fleet, key) else { return Ok(false) };
        // Before it is cut: half a secret is none that could be found.
        let text = redacted(text);
        let kept = &text[..text.floor_char_boundary(ANSWER_BYTES_MAX)];
        let cut = i64::try_from(text.len() - kept.len()).unwrap_or(i64::MAX);
        let transaction = self.connection.transaction()?;
        transaction.execute(
            "INSERT INTO answer (instance, channel, at_ms, text, cut_bytes) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![row, channel, ms(at), kept, cut],
        )?;
        transaction.execute(
            "DELETE FROM answer WHERE instance = ?1 AND channel = ?2 AND id NOT IN
                 (SELECT id FROM answer WHERE instance = ?1 AND channel = ?2 ORDER BY id DESC LIMIT ?3)",
            params![row, channel, i64::try_from(ANSWERS_MAX).unwrap_or(i64::MAX)],
        )?;
        transaction.commit()?;
        Ok(true)
    }

    /// An instance's answers, newest first.
    pub fn answers(&self, fleet: FleetId, key: Key) -> Result<Vec<RawAnswer>, HistoryError> {
        let Some(row) = self.row_of(fleet, key) else { return Ok(Vec::new()) };
        let mut statement = self
            .connection
            .prepare_cached("SELECT channel, at_ms, text, cut_bytes FROM answer WHERE instance = ?1 ORDER BY id DESC")?;
        let answers = statement.query_map(params![row], |row| {
            Ok(RawAnswer {
                channel: row.get(0)?,
                at: time(row.get(1)?),
                text: row.get(2)?,
                cut_bytes: usize::try_from(row.get::<_, i64>(3)?).unwrap_or_default(),
            })
        })?;
        Ok(answers.collect::<Result<Vec<_>, _>>()?)
    }
}
