//! Conditions of the whole fleet: what the manager's own log says about its list of rentals, who was ordered to end, and how all of
//! that is shown.

use std::collections::VecDeque;

use dwell_fleet::{Condition, Fleet, ListNews, LogLine, NotStored, Outlook, Severity, Timestamp, conditions};
use dwell_history::HeldState;

use crate::dto::ConditionView;
use crate::watch::Watch;

/// Longest words of a failure that are shown, characters.
const WORDS_CHARACTERS_MAX: usize = 300;
/// Lines of one instant that are remembered, so that they are not counted again.
const SAME_INSTANT_MAX: usize = 256;

/// What is read from the manager's own log, line by line: readings overlap.
#[derive(Debug, Default)]
pub(crate) struct ListLog {
    news: ListNews,
    newest: Option<Timestamp>,
    at_newest: VecDeque<String>,
}

impl ListLog {
    /// Takes in lines in order of arrival; those that it knows are passed over. Gives whom the new ones say that the manager ends:
    /// by its id or by vast.ai's number, and since when.
    pub(crate) fn note(&mut self, lines: &[LogLine]) -> Vec<(String, Timestamp)> {
        let mut orders = Vec::new();
        for line in lines {
            if self.is_known(line) {
                continue;
            }
            let Some(words) = words_of(&line.text) else { continue };
            orders.extend(ordered(words).map(|name| (name.to_owned(), line.at)));
            self.note_list(words, line.at);
        }
        orders
    }

    fn is_known(&mut self, line: &LogLine) -> bool {
        if self.newest.is_some_and(|newest| line.at < newest)
            || (self.newest == Some(line.at) && self.at_newest.contains(&line.text))
        {
            return true;
        }
        if self.newest != Some(line.at) {
            self.newest = Some(line.at);
            self.at_newest.clear();
        }
        if self.at_newest.len() < SAME_INSTANT_MAX {
            self.at_newest.push_back(line.text.clone());
        }
        false
    }

    fn note_list(&mut self, words: &str, at: Timestamp) {
        if words.starts_with("API server listening on") {
            // A new run begins without a list.
            self.news = ListNews::default();
        } else if let Some(count) = words.strip_prefix("[monitor] cached ").and_then(|rest| rest.split(' ').next()?.parse().ok())
        {
            if self.news.read.is_some_and(|(_, before)| before != count) {
                self.news.read_before = self.news.read;
            }
            self.news = ListNews { read: Some((at, count)), read_before: self.news.read_before, ..ListNews::default() };
        } else if words.starts_with("[monitor] ") && words.contains("enumerate vast instances") {
            self.news.failures += 1;
            self.news.failing_since.get_or_insert(at);
            self.news.failure = Some((at, words.chars().take(WORDS_CHARACTERS_MAX).collect()));
        }
    }
}

/// What a line says behind the manager's date. A line without one is a part of a text that somebody else may have written.
fn words_of(text: &str) -> Option<&str> {
    let date = text.as_bytes().get(..20)?;
    let is_date = date.iter().enumerate().all(|(place, byte)| match place {
        4 | 7 => *byte == b'/',
        10 | 19 => *byte == b' ',
        13 | 16 => *byte == b':',
        _ => byte.is_ascii_digit(),
    });
    text.get(20..).filter(|_| is_date)
}

/// Whom the manager says that it ends on purpose. A label is an instance's own words: nothing behind it is read.
fn ordered(words: &str) -> impl Iterator<Item = &str> {
    let is_order =
        ["[kill] ", "[monitor] destroyed vast instance ", "[monitor] killing "].iter().any(|start| words.starts_with(start));
    let head = words.split("(label=").next().filter(|_| is_order).unwrap_or_default();
    let names = head.split(|letter: char| letter.is_whitespace() || matches!(letter, '=' | '(' | ')' | ','));
    names.filter(|word| {
        let is_number = word.len() >= 4 && word.bytes().all(|byte| byte.is_ascii_digit());
        is_number || (word.len() == 36 && word.matches('-').count() == 4)
    })
}

/// Everything that is out of order with the fleet that is watched. `now` is the operator's clock.
pub(crate) fn of(watch: &Watch, held: &HeldState, now: Timestamp) -> Vec<Condition> {
    let (fleet, connection) = (watch.fleet(), watch.connection());
    let log_failure = watch.manager_log_failure().map(dwell_clients::Code::as_str);
    conditions(
        fleet,
        &Outlook {
            now: fleet.manager_time_at(now),
            failure: connection.failure.as_ref().map(|failure| failure.message.as_str()),
            failing_since: connection.failing_since.map(|since| fleet.manager_time_at(since)),
            list: &watch.list_log().news,
            log_failure,
            rows_unusable: connection.rows_unusable,
            implausible: &connection.implausible,
            not_stored: held.error.as_deref().map(|error| NotStored {
                error,
                since: held.since,
                transitions: held.transitions,
                lines: held.lines,
                lost: held.lost(),
            }),
        },
    )
}

/// Conditions as they are shown.
pub(crate) fn shown(fleet: &Fleet, conditions: Vec<Condition>) -> Vec<ConditionView> {
    let view = |it: Condition| ConditionView {
        kind: it.kind.as_str().to_owned(),
        severity: it.severity.as_str().to_owned(),
        is_unknown: matches!(it.severity, Severity::Incident | Severity::Blind),
        since: it.since,
        summary: it.summary,
        evidence: it.evidence,
        meaning: it.meaning,
        next: it.next,
        instances: it.instances.iter().filter_map(|key| Some(fleet.instance(*key)?.id())).collect(),
        dollars_per_h: it.dollars_per_h,
    };
    conditions.into_iter().map(view).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(second: i64, words: &str) -> LogLine {
        let at = Timestamp::from_second(1_796_092_800 + second).unwrap_or(Timestamp::UNIX_EPOCH);
        LogLine { source: "manager".to_owned(), text: format!("2026/12/01 00:00:{:02} {words}", second % 60), at }
    }

    #[test]
    fn failures_are_counted_once_and_end_with_a_list() {
        let failed = "[monitor] error: enumerate vast instances: vastai show instances: exit status 1 (will retry next cycle)";
        let lines = [line(0, "[monitor] cached 12 vast instances"), line(60, failed), line(120, failed)];
        let mut log = ListLog::default();
        log.note(&lines);
        log.note(&lines);
        assert_eq!((log.news.failures, log.news.failing_since), (2, Some(lines[1].at)));
        assert_eq!(log.news.failure.as_ref().map(|(at, words)| (*at, words.as_str())), Some((lines[2].at, failed)));
        log.note(&[line(180, "[monitor] cached 0 vast instances")]);
        assert_eq!((log.news.failures, log.news.read.map(|(_, count)| count)), (0, Some(0)));
        assert_eq!(log.news.read_before, Some((lines[0].at, 12)));
        log.note(&[line(240, "API server listening on 127.0.0.1:1235")]);
        assert_eq!(log.news, ListNews::default(), "a new run has no list");
    }

    #[test]
    fn orders_are_the_managers_own_words_alone() {
        let uuid = "d977dead-b3a7-4a08-b6df-9e126679078f";
        let named =
            |words: &str| ListLog::default().note(&[line(0, words)]).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(named(&format!("[kill] manually destroying vast instance 31000010 (uuid={uuid})")), ["31000010", uuid]);
        assert_eq!(named("[monitor] destroyed vast instance 31000010"), ["31000010"]);
        assert_eq!(
            named(&format!("[monitor] killing uuid={uuid} (state=registered, age=1h31m0s): param fetch timeout (90min)")),
            [uuid]
        );
        assert_eq!(
            named(&format!("[monitor] killing instance 31000011 (label=x uuid={uuid}) \u{2014} bad host 7: x")),
            ["31000011"]
        );
        let none: [&str; 0] = [];
        assert_eq!(named(&format!("[monitor] instance disappeared from vast uuid={uuid} label=C.1 state=running")), none);
        assert_eq!(named(&format!("[register] label=[kill] {uuid}")), none);
        let mut bare = line(0, "");
        bare.text = format!("[kill] manually destroying vast instance 31000010 (uuid={uuid})");
        assert_eq!(ListLog::default().note(&[bare]), [], "a second line of somebody's text has no date");
    }
}
