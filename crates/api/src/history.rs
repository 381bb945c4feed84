//! Stored logs, search and export.

use dwell_fleet::Timestamp;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{SaidView, SilenceView};

dto! {
    /// Asks for log lines.
    LogRequest {
        /// The instance; `null` for the manager's own log.
        id: Option<String>,
        /// Only this source.
        source: Option<String>,
        /// Only lines kept after this one.
        after: Option<i64>,
        /// Only lines kept before this one.
        before: Option<i64>,
        /// Only lines that contain this text, letter case ignored.
        contains: Option<String>,
        /// The newest so many, given oldest first; 1000 where not given, 10000 at most.
        limit: Option<usize>,
    }

    /// Log lines.
    LogPage {
        /// The lines, oldest first.
        lines: Vec<LogLineView>,
        /// Sources with how many lines are kept of each.
        sources: Vec<SourceCount>,
        /// Start of the manager's present run: lines from before are gone from the manager.
        #[ts(type = "string | null")]
        manager_started_at: Option<Timestamp>,
        /// Known words in these lines, newest first; of the manager's own log only.
        said: Vec<SaidView>,
        /// What the silence means, where the log is silent.
        silence: Option<SilenceView>,
        /// When the log was last read, on the manager's clock; `null` where it was not.
        #[ts(type = "string | null")]
        read_at: Option<Timestamp>,
    }

    /// A log line.
    LogLineView {
        /// Place in the archive.
        id: i64,
        /// Source.
        source: String,
        /// Arrival at the manager, not the time of writing.
        #[ts(type = "string")]
        at: Timestamp,
        /// The line; hostile text, cut to 16 KiB.
        text: String,
        /// Bytes cut off it.
        cut_bytes: usize,
        /// From before the manager's present run: only Dwell still has it.
        kept_from_before: bool,
        /// Lines may be missing just before it.
        after_gap: bool,
    }

    /// How many lines a source has.
    SourceCount {
        /// The source.
        source: String,
        /// Lines kept.
        lines: u64,
    }

    /// Searches kept log lines.
    SearchLogs {
        /// Whole words, all of them; `word*` for a beginning; in quotation marks as they are.
        words: String,
        /// Only this instance's.
        #[serde(default)]
        instance: Option<String>,
        /// Only this source.
        #[serde(default)]
        source: Option<String>,
        /// Only from then on.
        #[serde(default)]
        #[ts(type = "string | null")]
        since: Option<Timestamp>,
        /// Only before then.
        #[serde(default)]
        #[ts(type = "string | null")]
        until: Option<Timestamp>,
        /// The next page: only what was kept before this line.
        #[serde(default)]
        #[ts(type = "number | null")]
        before: Option<i64>,
        /// The newest so many; 200 where not given.
        #[serde(default)]
        limit: Option<usize>,
    }

    /// Lines that were found, newest first.
    FoundLogs {
        /// They.
        lines: Vec<FoundLog>,
        /// Set where there is more: ask again with `before`.
        #[ts(type = "number | null")]
        go_on_before: Option<i64>,
    }

    /// A line that was found.
    FoundLog {
        /// Place in the archive.
        #[ts(type = "number")]
        id: i64,
        /// Whose; `null` for the manager's own log.
        instance: Option<String>,
        /// Its source.
        source: String,
        /// When, on the manager's clock.
        #[ts(type = "string")]
        at: Timestamp,
        /// The line.
        text: String,
    }

    /// Exports a part of history.
    ExportHistory {
        /// `instances`, `transitions`, `gauges`, `benchmarks`, `flags` or `logs`.
        table: String,
        /// `csv`, `json` (one object a line) or `parquet`.
        format: String,
        /// From then on.
        #[serde(default)]
        #[ts(type = "string | null")]
        since: Option<Timestamp>,
        /// Before then.
        #[serde(default)]
        #[ts(type = "string | null")]
        until: Option<Timestamp>,
    }

    /// A file that was written from history.
    ExportedFile {
        /// Where it is.
        path: String,
        /// Rows in it.
        rows: usize,
    }
}
