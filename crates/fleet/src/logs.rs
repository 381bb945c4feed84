//! Joining successive readings of a log buffer that numbers nothing.
//!
//! The manager answers the last N lines of a buffer: no line ids, arrival times in milliseconds shared by every line of
//! one push, equal lines allowed. Each reading must be joined to what is known without losing or doubling a line.

use crate::Timestamp;

/// Longest line kept, bytes. The manager cuts a push at 256 KiB, so no whole line of a real manager is longer.
pub const LINE_BYTES_MAX: usize = 256 * 1024;

/// One line of an instance's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// `setup`, `benchdaemon`, `benchout`, `cuzk`, `curio`, or whatever the instance called it.
    pub source: String,
    /// The line as it arrived. Hostile text.
    pub text: String,
    /// When it reached the manager (not when it was written), on the manager's clock.
    pub at: Timestamp,
}

/// How a reading joins what is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MergeOutcome {
    /// Index in the reading of the first line not known yet.
    pub new_from: usize,
    /// Lines may have been lost between what is known and the reading.
    pub gap: bool,
}

/// Finds where `fetched` continues `known`, the newest known lines of the same buffer, oldest first.
///
/// `whole_buffer` says that the reading holds everything the buffer has ever had since `known` begins: it is shorter
/// than asked for and the buffer was never full. Then `known` must be its beginning, which settles even runs of equal
/// lines exactly. Otherwise the longest overlap between the end of `known` and the reading decides; among equally long
/// ones the one that adds the most, because doubling a line of an endless repetition is better than losing its last word.
pub fn merge_tail(known: &[LogLine], fetched: &[LogLine], whole_buffer: bool) -> MergeOutcome {
    let Some(last_known) = known.last() else {
        return MergeOutcome { new_from: 0, gap: false };
    };
    if whole_buffer && fetched.len() >= known.len() && fetched[..known.len()] == *known {
        return MergeOutcome { new_from: known.len(), gap: false };
    }
    let mut best: Option<(usize, usize)> = None; // (length of the overlap, index after it)
    for (index, line) in fetched.iter().enumerate() {
        if line != last_known {
            continue;
        }
        let overlap = fetched[..=index].iter().rev().zip(known.iter().rev()).take_while(|(left, right)| left == right).count();
        // An overlap that ends before reaching the start of either side contradicts "same buffer": not a place to join.
        let reaches_an_end = overlap == index + 1 || overlap == known.len();
        if reaches_an_end && best.is_none_or(|(length, _)| overlap > length) {
            best = Some((overlap, index + 1));
        }
    }
    match best {
        Some((_, new_from)) => MergeOutcome { new_from, gap: false },
        // Nothing in common: what arrived later than the last known line is new, the rest was known or is older.
        None => {
            let new_from = fetched.partition_point(|line| line.at <= last_known.at);
            MergeOutcome { new_from, gap: new_from < fetched.len() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(text: &str, ms: i64) -> LogLine {
        LogLine { source: "setup".into(), text: text.into(), at: Timestamp::from_millisecond(ms).unwrap() }
    }

    #[test]
    fn a_first_reading_is_all_new() {
        assert_eq!(merge_tail(&[], &[line("a", 1)], false), MergeOutcome { new_from: 0, gap: false });
    }

    #[test]
    fn an_empty_reading_adds_nothing() {
        assert_eq!(merge_tail(&[line("a", 1)], &[], false).new_from, 0);
        assert!(!merge_tail(&[line("a", 1)], &[], true).gap);
    }

    #[test]
    fn lines_lost_between_readings_are_a_gap() {
        let outcome = merge_tail(&[line("a", 1)], &[line("x", 9), line("y", 9)], false);
        assert_eq!(outcome, MergeOutcome { new_from: 0, gap: true });
    }

    #[test]
    fn a_whole_buffer_of_equal_lines_is_exact() {
        let same: Vec<_> = (0..5).map(|_| line("tick", 7)).collect();
        assert_eq!(merge_tail(&same[..3], &same, true).new_from, 3);
    }

    proptest! {
        /// Appending, polling with any tail length, and joining gives back the buffer: each line once, in order, as long
        /// as every poll overlaps the one before.
        #[test]
        fn overlapping_polls_rebuild_the_log(pushes in prop::collection::vec((1usize..6, 0u8..3), 1..40), tail in 6usize..40) {
            let (mut truth, mut known) = (Vec::new(), Vec::new());
            for (step, (count, word)) in pushes.into_iter().enumerate() {
                for index in 0..count {
                    // Equal texts and equal times within a push happen; equal across pushes would share no millisecond.
                    truth.push(line(&format!("{word}-{}", index % 2), step as i64 * 50));
                }
                let start = truth.len().saturating_sub(tail);
                let whole = start == 0 && truth.len() < tail;
                let outcome = merge_tail(&known, &truth[start..], whole);
                prop_assert!(!outcome.gap);
                known.extend_from_slice(&truth[start..][outcome.new_from..]);
            }
            prop_assert_eq!(known, truth);
        }

        /// Reading the same answer again adds nothing.
        #[test]
        fn joining_is_idempotent(words in prop::collection::vec((0u8..4, 0i64..5), 1..60)) {
            let mut lines: Vec<_> = words.iter().map(|(word, ms)| line(&word.to_string(), *ms)).collect();
            lines.sort_by_key(|line| line.at);
            prop_assert_eq!(merge_tail(&lines, &lines, false).new_from, lines.len());
            prop_assert_eq!(merge_tail(&lines, &lines, true).new_from, lines.len());
        }
    }
}
