//! What is out of order with a whole fleet, or with what can be seen of it: said before anything is said of its instances. Where a
//! condition hides what is asked, "nothing" is no answer.

use crate::{Fleet, Implausible, Instance, Key, LIST_FRESH_S, Timestamp, WrittenOff, seconds_between, words::duration};

/// From its start the manager needs this long for its first list at most, seconds: it asks after 10 s, and its client takes a while.
const FIRST_LIST_S: f64 = 60.0;

/// What is out of order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ConditionKind {
    /// Many instances were killed within seconds because the manager's list of rentals came empty or short.
    WrittenOff,
    /// The manager has not answered since this watch began.
    NeverReached,
    /// The manager does not answer any more.
    Unreachable,
    /// The manager has not read vast.ai's list since it started.
    ListMissing,
    /// The manager has not read vast.ai's list for longer than usual.
    ListStale,
    /// What is seen cannot be stored.
    NotStored,
    /// Rows of the manager's answer could not be read.
    RowsUnreadable,
    /// Times of the manager's answer cannot be true.
    TimesImplausible,
}

impl ConditionKind {
    /// Every kind, loudest first.
    pub const ALL: [ConditionKind; 8] = [
        Self::WrittenOff,
        Self::NeverReached,
        Self::Unreachable,
        Self::ListMissing,
        Self::ListStale,
        Self::NotStored,
        Self::RowsUnreadable,
        Self::TimesImplausible,
    ];

    /// The stable word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WrittenOff => "fleet-written-off",
            Self::NeverReached => "manager-never-reached",
            Self::Unreachable => "manager-unreachable",
            Self::ListMissing => "vast-list-missing",
            Self::ListStale => "vast-list-stale",
            Self::NotStored => "history-not-written",
            Self::RowsUnreadable => "rows-unreadable",
            Self::TimesImplausible => "times-implausible",
        }
    }
}

/// How much it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// It costs money or proofs now.
    Incident,
    /// It hides what is asked: that nothing is seen means nothing.
    Blind,
    /// It hides a part.
    Partial,
    /// It is expected to pass by itself within a minute.
    Passing,
}

impl Severity {
    /// The stable word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Incident => "incident",
            Self::Blind => "blind",
            Self::Partial => "partial",
            Self::Passing => "passing",
        }
    }
}

/// Something out of order with a fleet.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// What.
    pub kind: ConditionKind,
    /// How much it matters.
    pub severity: Severity,
    /// Since when, on the manager's clock.
    pub since: Option<Timestamp>,
    /// What is so, in one sentence.
    pub summary: String,
    /// What was seen of it.
    pub evidence: Vec<String>,
    /// What that means for what is shown.
    pub meaning: String,
    /// What to do, in order.
    pub next: Vec<String>,
    /// The instances that it is about, where it is about some.
    pub instances: Vec<Key>,
    /// What those last cost, US dollars per hour; what was not told is left out.
    pub dollars_per_h: Option<f64>,
}

/// What the manager's own log says about its list of rentals.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ListNews {
    /// The newest reading that it calls a success, and how many rentals that had.
    pub read: Option<(Timestamp, u64)>,
    /// The newest reading before that with another number of rentals.
    pub read_before: Option<(Timestamp, u64)>,
    /// Failures since then.
    pub failures: usize,
    /// The first of them.
    pub failing_since: Option<Timestamp>,
    /// The newest of them, and its words.
    pub failure: Option<(Timestamp, String)>,
}

/// A history that cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotStored<'a> {
    /// Why, in the words of who refused.
    pub error: &'a str,
    /// What is seen since then is not stored, on the manager's clock.
    pub since: Option<Timestamp>,
    /// Changes of state held in memory.
    pub transitions: usize,
    /// Log lines held in memory.
    pub lines: usize,
    /// Answers of the manager and log lines that found no room there.
    pub lost: usize,
}

/// What is known besides the fleet. Times are on the manager's clock.
#[derive(Debug, Clone, Copy)]
pub struct Outlook<'a> {
    /// Now.
    pub now: Timestamp,
    /// Why the manager does not answer, where it does not.
    pub failure: Option<&'a str>,
    /// Since when.
    pub failing_since: Option<Timestamp>,
    /// What its log says about its list.
    pub list: &'a ListNews,
    /// Why its log could not be read, where it could not.
    pub log_failure: Option<&'a str>,
    /// Rows of its latest answer that could not be used.
    pub rows_unusable: usize,
    /// Times of its latest answer that cannot be true.
    pub implausible: &'a [Implausible],
    /// Why what is seen is not stored, where it is not.
    pub not_stored: Option<NotStored<'a>>,
}

/// Everything that is out of order with a fleet, loudest first.
pub fn conditions(fleet: &Fleet, outlook: &Outlook<'_>) -> Vec<Condition> {
    let case = Case { fleet, outlook };
    let mut found: Vec<Condition> = fleet.written_off().iter().map(|group| case.written_off(group)).collect();
    found.extend(case.manager());
    found.extend(case.list());
    found.extend(outlook.not_stored.as_ref().map(|it| case.not_stored(it)));
    found.extend(case.rows());
    found.extend(case.times());
    found.sort_by_key(|condition| (condition.severity, condition.kind, condition.since));
    found
}

struct Case<'a> {
    fleet: &'a Fleet,
    outlook: &'a Outlook<'a>,
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn changes(count: usize) -> String {
    if count == 1 { "1 change of state".to_owned() } else { format!("{count} changes of state") }
}

impl Case<'_> {
    fn ago(&self, at: Timestamp) -> String {
        duration(seconds_between(at, self.outlook.now).max(0.0))
    }

    fn written_off(&self, group: &WrittenOff) -> Condition {
        let members: Vec<&Instance> = group.keys.iter().filter_map(|key| self.fleet.instance(*key)).collect();
        let prices: Vec<f64> = members.iter().filter_map(|it| it.row.vast.dollars_per_h.or(it.vast.dollars_per_h)).collect();
        let billed = members.iter().filter(|it| it.leak_seen_at().is_some()).count();
        let spoke = members.iter().filter(|it| it.spoke_after_kill().is_some()).count();
        let mut evidence = vec![format!(
            "killed within seconds of each other, {} ago, as \u{201c}instance disappeared from vast\u{201d}: {} of {} that were alive",
            self.ago(group.at),
            group.count,
            group.alive_before
        )];
        let news = self.outlook.list;
        for (at, count) in [news.read_before, news.read].into_iter().flatten() {
            // The list that did it, and what it was before.
            if seconds_between(at, group.at).abs() <= LIST_FRESH_S {
                evidence.push(format!(
                    "the manager's log, {} ago: {} on its list",
                    self.ago(at),
                    counted(count as usize, "rental")
                ));
            }
        }
        evidence.push("no order to end them is known, by Dwell's journal and by the manager's log".to_owned());
        if billed > 0 {
            evidence.push(format!("{billed} of them are on a later list: they are billed"));
        }
        if spoke > 0 {
            evidence.push(format!("{spoke} of them went on writing their log after they were killed: they run"));
        }
        let status = match members.len() {
            open if billed == open => "all of them are billed".to_owned(),
            open if billed > 0 => format!("{billed} of {open} are billed, of the others that is unknown"),
            _ => "whether they are billed is unknown".to_owned(),
        };
        let who = if group.count == group.alive_before {
            format!("the whole fleet ({}) was", counted(group.count, "instance"))
        } else {
            format!("{} of {} were", group.count, counted(group.alive_before, "instance"))
        };
        Condition {
            kind: ConditionKind::WrittenOff,
            severity: Severity::Incident,
            since: Some(group.at),
            summary: format!("{who} written off at once {} ago; {status}", self.ago(group.at)),
            evidence,
            meaning:
                "The manager believes the list that its vast.ai client prints: what an empty or short list lacks, it writes off \
                      without destroying it. Such instances go on running and go on being billed, and the manager does not take \
                      them back."
                    .to_owned(),
            next: vec![
                "look at vast.ai's own list: dwellctl vast instances, or the website".to_owned(),
                "destroy there what runs, or let it register anew: dwellctl destroy ID".to_owned(),
                "was it meant? then say so: dwellctl acknowledge".to_owned(),
            ],
            instances: group.keys.clone(),
            dollars_per_h: (!prices.is_empty()).then(|| prices.iter().sum()),
        }
    }

    fn manager(&self) -> Option<Condition> {
        let failure = self.outlook.failure?;
        let since = self.outlook.failing_since;
        let for_long = since.map_or_else(String::new, |since| format!(" for {}", self.ago(since)));
        let next = vec!["see why: dwellctl doctor".to_owned(), "it is asked again by itself while it is watched".to_owned()];
        Some(match self.fleet.as_of() {
            None => Condition {
                kind: ConditionKind::NeverReached,
                severity: Severity::Blind,
                since,
                summary: format!("the manager has not answered yet{for_long}: nothing is known of its fleet now"),
                evidence: vec![failure.to_owned()],
                meaning: "How many instances there are, what they do and what they cost is unknown.".to_owned(),
                next,
                instances: Vec::new(),
                dollars_per_h: None,
            },
            Some(as_of) => Condition {
                kind: ConditionKind::Unreachable,
                severity: Severity::Blind,
                since,
                summary: format!("the manager has not answered{for_long}: what is shown is {} old", self.ago(as_of)),
                evidence: vec![failure.to_owned()],
                meaning: "What has happened since is not seen. Instances go on, and so does what they cost.".to_owned(),
                next,
                instances: Vec::new(),
                dollars_per_h: None,
            },
        })
    }

    /// What its log says about a list that does not come.
    fn list_evidence(&self) -> Vec<String> {
        let news = self.outlook.list;
        let mut evidence = Vec::new();
        if let Some((at, words)) = &news.failure {
            let times = if news.failures > 1 { format!(", {} times", news.failures) } else { String::new() };
            evidence.push(format!("the manager's log, {} ago{times}: {words}", self.ago(*at)));
        } else if let Some((at, count)) = news.read {
            evidence.push(format!(
                "the manager's log last tells of its list {} ago ({}), and of no failure since: its client may hang",
                self.ago(at),
                counted(count as usize, "rental")
            ));
        } else if let Some(why) = self.outlook.log_failure {
            evidence.push(format!("the manager's log could not be read ({why})"));
        } else {
            evidence.push("the manager's log says nothing about its list".to_owned());
        }
        evidence
    }

    fn list(&self) -> Option<Condition> {
        let as_of = self.fleet.as_of()?;
        let news = self.outlook.list;
        let next = vec![
            "run `vastai show instances --raw` where the manager runs: does it print a list? Key, network and version of the client"
                .to_owned(),
            "ask vast.ai from here: dwellctl vast instances".to_owned(),
        ];
        match self.fleet.vast_cache_age_s() {
            None => {
                let started = self.fleet.manager_run().started_at;
                let is_new = news.failure.is_none()
                    && started.is_some_and(|at| (0.0..FIRST_LIST_S).contains(&seconds_between(at, self.outlook.now)));
                let since = news.failing_since.or(started);
                let for_long = since.map_or_else(String::new, |since| format!(", for {}", self.ago(since)));
                Some(Condition {
                    kind: ConditionKind::ListMissing,
                    severity: if is_new { Severity::Passing } else { Severity::Blind },
                    since,
                    summary: if is_new {
                        "the manager has just started and has not read vast.ai's list yet".to_owned()
                    } else {
                        format!("the manager has not read vast.ai's list since it started{for_long}: it is blind")
                    },
                    evidence: if is_new { Vec::new() } else { self.list_evidence() },
                    meaning:
                        "Rentals that have not registered are not shown, what is killed may still be billed, and the manager's \
                              timers do not run. That nothing is shown means nothing."
                            .to_owned(),
                    next: if is_new { vec!["look again in a minute".to_owned()] } else { next },
                    instances: Vec::new(),
                    dollars_per_h: None,
                })
            }
            Some(age_s) if age_s > LIST_FRESH_S => {
                let read_at = self.fleet.list_read_at().unwrap_or(as_of);
                Some(Condition {
                    kind: ConditionKind::ListStale,
                    severity: Severity::Blind,
                    since: Some(read_at),
                    summary: format!(
                        "the manager last read vast.ai's list {} ago, which it does every minute",
                        duration(age_s + seconds_between(as_of, self.outlook.now).max(0.0))
                    ),
                    evidence: self.list_evidence(),
                    meaning:
                        "New rentals are not shown, GPU load and status stand still, what is killed may still be billed, and the \
                              manager's timers do not run. What was last known stays, with its age."
                            .to_owned(),
                    next,
                    instances: Vec::new(),
                    dollars_per_h: None,
                })
            }
            Some(_) => None,
        }
    }

    fn not_stored(&self, it: &NotStored<'_>) -> Condition {
        let for_long = it.since.map_or_else(String::new, |since| format!(" for {}", self.ago(since)));
        let mut evidence =
            vec![it.error.to_owned(), format!("held in memory: {}, {}", changes(it.transitions), counted(it.lines, "log line"))];
        if it.lost > 0 {
            evidence.push(format!("found no room in memory: {} of the answers and log lines", it.lost));
        }
        Condition {
            kind: ConditionKind::NotStored,
            severity: Severity::Partial,
            since: it.since,
            summary: format!("history cannot be written{for_long}: what is seen is held in memory, within a limit"),
            evidence,
            meaning: "What is shown is right. It is stored, each change once, as soon as a write works again. If this program ends \
                      before, what it holds is lost. Nothing that acts is done meanwhile: it could not be written down."
                .to_owned(),
            next: vec![
                "make room on the disk that has the history, or give back the right to write there: dwellctl doctor names the file"
                    .to_owned(),
                "leave this program running until then".to_owned(),
            ],
            instances: Vec::new(),
            dollars_per_h: None,
        }
    }

    fn times(&self) -> Option<Condition> {
        let times = self.outlook.implausible;
        (!times.is_empty()).then(|| Condition {
            kind: ConditionKind::TimesImplausible,
            severity: Severity::Partial,
            since: self.fleet.as_of(),
            summary: "the manager's answer has times that cannot be true: they are taken for unknown".to_owned(),
            evidence: times.iter().map(ToString::to_string).collect(),
            meaning: "How long instances have been in their states is counted from what was seen where the manager's own date is not used. \
                      Everything is right again with the first answer whose times are."
                .to_owned(),
            next: vec![
                "compare the clocks: run `date -u` where the manager runs, and here".to_owned(),
                "does it stay, look at what the manager answers: curl MANAGER/api/dashboard".to_owned(),
            ],
            instances: Vec::new(),
            dollars_per_h: None,
        })
    }

    fn rows(&self) -> Option<Condition> {
        let count = self.outlook.rows_unusable;
        (count > 0).then(|| Condition {
            kind: ConditionKind::RowsUnreadable,
            severity: Severity::Partial,
            since: self.fleet.as_of(),
            summary: format!("{} of the manager's answer could not be used", counted(count, "row")),
            evidence: Vec::new(),
            meaning: "Sums and counts are too low by these.".to_owned(),
            next: vec!["see what it answers: curl MANAGER/api/dashboard".to_owned()],
            instances: Vec::new(),
            dollars_per_h: None,
        })
    }
}
