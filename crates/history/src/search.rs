//! Words in kept log lines.

use dwell_fleet::{Key, LogLine, Timestamp};

use crate::{FleetId, History, HistoryError, ms, time};

/// Lines that hold the words and are looked at for the rest of what is asked, at most, in one search.
pub const SEARCHED_MOST: usize = 20_000;
/// Words of one search, and letters that a beginning of a word must have.
const WORDS_MOST: usize = 16;
const BEGINNING_LETTERS: usize = 4;

/// What is searched for.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// Whole words, all of them, in any order, letter case ignored; `word*` for a beginning of at least four letters. In
    /// quotation marks: these very words in a row.
    pub words: String,
    /// Only this instance's.
    pub instance: Option<Key>,
    /// Only this source.
    pub source: Option<String>,
    /// Only from then on.
    pub since: Option<Timestamp>,
    /// Only before then.
    pub until: Option<Timestamp>,
    /// Only lines kept before this one: the next page.
    pub before_id: Option<i64>,
    /// The newest so many.
    pub limit: usize,
}

/// A line that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundLine {
    /// Place in the archive.
    pub id: i64,
    /// Whose: the instance's id; `None` for the manager's own log.
    pub instance: Option<String>,
    /// The line.
    pub line: LogLine,
}

/// What was found, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// Lines.
    pub lines: Vec<FoundLine>,
    /// Set where there is more to look at: go on before this line.
    pub go_on_before: Option<i64>,
}

/// What FTS5 is asked, and which texts must stand in a line as they are.
fn query_of(words: &str) -> (Vec<String>, Vec<String>) {
    let (mut terms, mut literal) = (Vec::new(), Vec::new());
    for (place, part) in words.split('"').enumerate() {
        let quoted = place % 2 == 1;
        if quoted && !part.trim().is_empty() {
            literal.push(part.trim().to_lowercase());
        }
        for word in part.split_whitespace() {
            let beginning = !quoted && word.ends_with('*');
            let pieces: Vec<&str> = word.split(|letter: char| !letter.is_alphanumeric()).filter(|it| !it.is_empty()).collect();
            // A word with signs in it (`out-of-memory`, `0x1f.c`) is kept as several, and must stand there as it is.
            if pieces.len() > 1 && !quoted {
                literal.push(word.trim_end_matches('*').to_lowercase());
            }
            for (index, piece) in pieces.iter().enumerate() {
                let star = beginning && index + 1 == pieces.len() && piece.chars().count() >= BEGINNING_LETTERS;
                terms.push(format!("\"{piece}\"{}", if star { "*" } else { "" }));
            }
        }
    }
    terms.truncate(WORDS_MOST);
    (terms, literal)
}

impl History {
    /// Whether an instance of the fleet has ever written to a source of this name.
    pub fn has_source(&self, fleet: FleetId, source: &str) -> Result<bool, HistoryError> {
        let sql =
            "SELECT EXISTS (SELECT 1 FROM log_line WHERE source = ?2 AND instance IN (SELECT id FROM instance WHERE fleet = ?1))";
        Ok(self.connection.query_row(sql, (fleet.0, source), |row| row.get(0))?)
    }
}

impl History {
    /// Finds the newest lines that hold the words. Nothing is found without a word.
    pub fn search(&self, fleet: FleetId, search: &Search) -> Result<Found, HistoryError> {
        let (terms, literal) = query_of(&search.words);
        let mut found = Found::default();
        if terms.is_empty() || search.limit == 0 {
            return Ok(found);
        }
        let wanted = match search.instance {
            None => None,
            Some(key) => match self.row_of(fleet, key) {
                Some(row) => Some(row),
                None => return Ok(found),
            },
        };
        let mut statement = self.connection.prepare_cached(
            "SELECT l.id, l.fleet, l.instance, l.source, l.at_ms, l.text
             FROM log_search s CROSS JOIN log_line l ON l.id = s.rowid
             WHERE log_search MATCH ?1 AND s.rowid < ?2 ORDER BY s.rowid DESC",
        )?;
        let mut rows = statement.query((terms.join(" AND "), search.before_id.unwrap_or(i64::MAX)))?;
        let mut owners: Vec<(usize, i64)> = Vec::new();
        let mut looked_at = 0;
        let (since, until) = (search.since.map(ms), search.until.map(ms));
        while let Some(row) = rows.next()? {
            let id: i64 = row.get(0)?;
            if looked_at == SEARCHED_MOST {
                found.go_on_before = Some(id + 1);
                break;
            }
            looked_at += 1;
            let (owner, at): (Option<i64>, i64) = (row.get(2)?, row.get(4)?);
            let elsewhere = row.get::<_, i64>(1)? != fleet.0
                || wanted.is_some() && owner != wanted
                || since.is_some_and(|since| at < since)
                || until.is_some_and(|until| at >= until)
                || search.source.as_deref().is_some_and(|source| row.get_ref(3).is_ok_and(|it| it.as_str() != Ok(source)));
            if elsewhere {
                continue;
            }
            let text: String = row.get(5)?;
            if !literal.is_empty() {
                let lower = text.to_lowercase();
                if !literal.iter().all(|part| lower.contains(part)) {
                    continue;
                }
            }
            if let Some(owner) = owner {
                owners.push((found.lines.len(), owner));
            }
            found.lines.push(FoundLine { id, instance: None, line: LogLine { source: row.get(3)?, text, at: time(at) } });
            if found.lines.len() == search.limit {
                found.go_on_before = Some(id);
                break;
            }
        }
        let mut name = self
            .connection
            .prepare_cached("SELECT coalesce(uuid, cast(vast_id AS TEXT), label, '') FROM instance WHERE id = ?1")?;
        for (place, owner) in owners {
            found.lines[place].instance = Some(name.query_row([owner], |row| row.get(0))?);
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_a_query_that_cannot_be_anything_else() {
        let (terms, literal) = query_of("Proof OR NEAR(x) alloc* out-of-memory \"no kernel  image\" a* \"");
        assert_eq!(
            terms,
            [
                "\"Proof\"",
                "\"OR\"",
                "\"NEAR\"",
                "\"x\"",
                "\"alloc\"*",
                "\"out\"",
                "\"of\"",
                "\"memory\"",
                "\"no\"",
                "\"kernel\"",
                "\"image\"",
                "\"a\"",
            ]
        );
        assert_eq!(literal, ["near(x)", "out-of-memory", "no kernel  image"]);
        assert!(query_of("  -- \"\" * ").0.is_empty());
    }
}
