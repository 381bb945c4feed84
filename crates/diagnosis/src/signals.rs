//! What logs have said so far, gathered line by line: bounded, whatever is written.

use std::collections::{BTreeMap, HashMap, VecDeque};

use dwell_fleet::{LogLine, Timestamp, seconds_between};

use crate::kill::{DestroyTold, KillTold};
use crate::signature::{Said, Written, matches};

/// Proofs whose times are kept.
const PROOFS_KEPT: usize = 8;
/// Lines that arrived in one instant, from which on they were held back before.
const BURST_LINES: usize = 60;
/// A pause before them, seconds.
const BURST_PAUSE_S: f64 = 240.0;
/// The manager cuts a push here, bytes.
const PUSH_BYTES: usize = 256 * 1024;
/// The prover daemon's first line. Source: prover source, `cuzk-daemon`.
pub(crate) const DAEMON_STARTS: &str = "cuzk-daemon starting";
/// A pause in the manager's log from which lines may be missing, seconds.
const HOLE_FROM_S: f64 = 300.0;
/// Dated lines whose clock is compared with the manager's.
const DATED_KEPT: usize = 32;
/// Names of whom the manager's log speaks, at most.
const NAMES_KEPT: usize = 20_000;

/// What one instance's log has said.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Signals {
    said: BTreeMap<&'static str, Said>,
    proofs: VecDeque<f64>,
    first_proofs: Vec<f64>,
    /// When the prover daemon last started, by its first line.
    daemon_starts: VecDeque<Timestamp>,
    /// Of its latest lines that carry a date: when they arrived, and by how many seconds later than they are dated.
    dated: VecDeque<(Timestamp, f64)>,
    instant: Option<(Timestamp, usize, usize, Option<Timestamp>)>,
    /// Lines that arrived at once after a pause: when, how many, bytes.
    pub burst: Option<(Timestamp, usize, usize)>,
    /// A line came without a source.
    pub unnamed: Option<Timestamp>,
    /// A line with several carriage returns.
    pub carriages: Option<Timestamp>,
    /// The newest line of the benchmark or its daemon.
    pub benchmark_at: Option<Timestamp>,
    /// A pause in those of more than four minutes, after which they went on: its end and its length, seconds.
    pub pause: Option<(Timestamp, f64)>,
    known: Known,
}

/// How far lines are known: readings overlap.
#[derive(Debug, Clone, Default, PartialEq)]
struct Known {
    newest: Option<Timestamp>,
    at_newest: usize,
}

impl Known {
    /// The lines that are not known yet. `lines` are in order of arrival.
    fn new_of<'a>(&mut self, lines: &'a [LogLine]) -> &'a [LogLine] {
        let Some(newest) = self.newest else { return self.all(lines) };
        let from = lines.partition_point(|line| line.at < newest);
        let same = lines.get(from..).unwrap_or_default().iter().take_while(|line| line.at == newest).count();
        let skip = from + same.min(self.at_newest);
        self.all(lines.get(skip..).unwrap_or_default())
    }

    fn all<'a>(&mut self, lines: &'a [LogLine]) -> &'a [LogLine] {
        if let Some(last) = lines.last() {
            let count = lines.iter().rev().take_while(|line| line.at == last.at).count();
            self.at_newest = if self.newest == Some(last.at) { self.at_newest + count } else { count };
            self.newest = Some(last.at);
        }
        lines
    }
}

/// Seconds of a proof, where a line tells of one that was made: of the benchmark's client,
/// `  [3/12] COMPLETED — 101.2s (prove=98123 ms, queue=12 ms)`, and of the prover, `proof assembled ... total_ms=101230`.
pub(crate) fn proof_seconds(text: &str) -> Option<f64> {
    let text = text.get(..text.floor_char_boundary(400))?;
    let seconds: f64 = if let Some((_, rest)) = text.split_once("] COMPLETED \u{2014} ") {
        rest.split_once('s')?.0.parse().ok()?
    } else if text.contains("proof assembled") || text.contains("proof completed successfully") {
        // Its values are dressed in colours.
        let (_, rest) = text.split_once("total_ms")?;
        let digits = rest.split(|letter: char| !letter.is_ascii_digit()).find(|word| word.len() >= 3)?;
        digits.parse::<f64>().ok()? / 1000.0
    } else {
        return None;
    };
    (0.1..86_400.0).contains(&seconds).then_some(seconds)
}

/// The date at the beginning of a line, as Rust's tracing and Go's loggers write it: RFC 3339, colours around it left aside.
pub(crate) fn date_of(text: &str) -> Option<Timestamp> {
    let mut rest = text.get(..text.floor_char_boundary(80))?.trim_start();
    while let Some(behind) = rest.strip_prefix("\u{1b}[") {
        rest = behind.split_once('m')?.1;
    }
    let word = rest.split(|letter: char| letter.is_whitespace() || letter == '\u{1b}').next()?;
    word.starts_with(|letter: char| letter.is_ascii_digit()).then(|| word.parse().ok()).flatten()
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

impl Signals {
    /// Takes in lines, in order of arrival; those that it knows are passed over.
    pub fn note(&mut self, lines: &[LogLine]) {
        for line in self.known.new_of(lines) {
            self.note_line(line);
        }
    }

    fn note_line(&mut self, line: &LogLine) {
        for signature in matches(Written::InInstanceLog, &line.text) {
            Said::gather(&mut self.said, signature, line);
        }
        if line.text.contains(DAEMON_STARTS) {
            self.daemon_starts.push_back(line.at);
            if self.daemon_starts.len() > PROOFS_KEPT {
                self.daemon_starts.pop_front();
            }
        }
        if let Some(seconds) = proof_seconds(&line.text) {
            if self.first_proofs.len() < PROOFS_KEPT {
                self.first_proofs.push(seconds);
            }
            self.proofs.push_back(seconds);
            if self.proofs.len() > PROOFS_KEPT {
                self.proofs.pop_front();
            }
        }
        if let Some(written_at) = date_of(&line.text) {
            self.dated.push_back((line.at, seconds_between(written_at, line.at)));
            if self.dated.len() > DATED_KEPT {
                self.dated.pop_front();
            }
        }
        if line.source == "unknown" || line.source.is_empty() {
            self.unnamed = Some(line.at);
        }
        if line.text.matches('\r').take(3).count() == 3 {
            self.carriages = Some(line.at);
        }
        if line.source.starts_with("bench") {
            let pause_s = self.benchmark_at.map_or(0.0, |before| seconds_between(before, line.at));
            if pause_s > BURST_PAUSE_S {
                self.pause = Some((line.at, pause_s));
            }
            self.benchmark_at = Some(line.at);
        }
        let bytes = line.text.len() + 1;
        match &mut self.instant {
            Some((at, count, sum, _)) if *at == line.at => {
                *count += 1;
                *sum += bytes;
            }
            instant => *instant = Some((line.at, 1, bytes, instant.map(|(at, ..)| at))),
        }
        if let Some((at, count, sum, Some(before))) = self.instant
            && count >= BURST_LINES
            && seconds_between(before, at) >= BURST_PAUSE_S
        {
            self.burst = Some((at, count, sum));
        }
    }

    /// When the prover daemon last started.
    pub fn daemon_started_at(&self) -> Option<Timestamp> {
        self.daemon_starts.back().copied()
    }

    /// How often it has started within so many seconds before its latest start, that one included.
    pub fn daemon_starts(&self, within_s: f64) -> usize {
        let Some(newest) = self.daemon_starts.back() else { return 0 };
        self.daemon_starts.iter().filter(|at| seconds_between(**at, *newest) <= within_s).count()
    }

    /// By how many seconds the manager's clock is ahead of its own, by the lines that arrived since `from`. What is held back
    /// arrives late, so the line that took the least counts; `None` with fewer than three.
    pub fn manager_ahead_s(&self, from: Timestamp) -> Option<f64> {
        let late = self.dated.iter().filter(|(at, _)| *at >= from).map(|(_, late_s)| *late_s);
        let (count, least) = late.fold((0, f64::MAX), |(count, least), late_s| (count + 1, least.min(late_s)));
        (count >= 3).then_some(least)
    }

    /// The signatures that were written, by id.
    pub fn said(&self, id: &str) -> Option<&Said> {
        self.said.get(id)
    }

    /// Every signature that was written.
    pub fn all_said(&self) -> impl Iterator<Item = &Said> {
        self.said.values()
    }

    /// Median time of its latest proofs, seconds.
    pub fn proof_s(&self) -> Option<f64> {
        median(self.proofs.iter().copied())
    }

    /// Median time of its latest proofs against that of its first ones, where there are enough of both.
    pub fn slowing(&self) -> Option<f64> {
        let enough = self.first_proofs.len() == PROOFS_KEPT && self.proofs.len() == PROOFS_KEPT;
        let first = median(self.first_proofs.iter().copied()).filter(|first| enough && *first > 0.0)?;
        // The first ones may still be the latest ones: then this is 1.
        Some(self.proof_s()? / first)
    }

    /// The burst reached the size at which the manager cuts a push.
    pub fn push_cut(&self) -> Option<Timestamp> {
        self.burst.filter(|(.., bytes)| *bytes + 1_024 >= PUSH_BYTES).map(|(at, ..)| at)
    }
}

/// What the manager's own log has said: for the fleet, and of single instances.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ManagerSignals {
    fleet: BTreeMap<&'static str, Said>,
    of: HashMap<String, BTreeMap<&'static str, Said>>,
    order: VecDeque<String>,
    /// The oldest line known.
    pub oldest: Option<Timestamp>,
    /// The newest line known.
    pub newest: Option<Timestamp>,
    /// Every line since then is known: its monitor speaks every minute, so a longer pause can be a hole, and a start is one.
    pub whole_from: Option<Timestamp>,
    /// When it was last read.
    pub read_at: Option<Timestamp>,
    /// The newest line about vast.ai's list, error or not.
    pub listing_at: Option<Timestamp>,
    /// How many rentals the newest listing had.
    pub listed: Option<(Timestamp, u64)>,
    /// An empty list right after one that was not.
    pub listed_none_at: Option<Timestamp>,
    /// The latest kill of each, by uuid and by the rental's number.
    kills: HashMap<String, KillTold>,
    /// When the manager last spoke of destroying a rental, and whether its client said that it did.
    destroys: HashMap<u64, (Timestamp, bool)>,
    /// What is in the two above, oldest first: both are bounded.
    kills_in_order: VecDeque<String>,
    destroys_in_order: VecDeque<u64>,
    known: Known,
}

impl ManagerSignals {
    /// Takes in a reading at this time, in order of arrival; lines that it knows are passed over.
    pub fn note(&mut self, lines: &[LogLine], read_at: Timestamp) {
        self.read_at = Some(read_at);
        for line in self.known.new_of(lines) {
            self.note_line(line);
        }
    }

    fn note_line(&mut self, line: &LogLine) {
        let hole = self.newest.is_none_or(|newest| seconds_between(newest, line.at) > HOLE_FROM_S);
        if hole || line.text.contains("API server listening on ") {
            self.whole_from = Some(line.at);
        }
        self.oldest = Some(self.oldest.map_or(line.at, |oldest| oldest.min(line.at)));
        self.newest = self.newest.max(Some(line.at));
        let text = line.text.get(..line.text.floor_char_boundary(2_000)).unwrap_or_default();
        if let Some(count) = text.split_once("[monitor] cached ").and_then(|(_, rest)| rest.split(' ').next()?.parse().ok()) {
            if count == 0 && self.listed.is_some_and(|(_, before)| before > 0) {
                self.listed_none_at = Some(line.at);
            }
            self.listed = Some((line.at, count));
            self.listing_at = Some(line.at);
        }
        if text.contains("enumerate vast instances") {
            self.listing_at = Some(line.at);
        }
        if let Some(told) = KillTold::of_line(text, line.at) {
            self.note_kill(told);
        }
        if let Some(told) = DestroyTold::of_line(text) {
            self.note_destroy(told, line.at);
        }
        for signature in matches(Written::InManagerLog, text) {
            Said::gather(&mut self.fleet, signature, line);
            for name in names(text) {
                if !self.of.contains_key(name) {
                    self.order.push_back(name.to_owned());
                    if self.order.len() > NAMES_KEPT
                        && let Some(oldest) = self.order.pop_front()
                    {
                        self.of.remove(&oldest);
                    }
                }
                Said::gather(self.of.entry(name.to_owned()).or_default(), signature, line);
            }
        }
    }

    fn note_kill(&mut self, told: KillTold) {
        let names = told.uuid.clone().into_iter().chain(told.vast_id.map(|vast_id| vast_id.to_string()));
        for name in names {
            if self.kills.insert(name.clone(), told.clone()).is_none() {
                self.kills_in_order.push_back(name);
            }
        }
        while self.kills.len() > NAMES_KEPT {
            let Some(oldest) = self.kills_in_order.pop_front() else { break };
            self.kills.remove(&oldest);
        }
    }

    fn note_destroy(&mut self, told: DestroyTold, at: Timestamp) {
        if self.destroys.insert(told.vast_id, (at, told.claimed)).is_none() {
            self.destroys_in_order.push_back(told.vast_id);
        }
        while self.destroys.len() > NAMES_KEPT {
            let Some(oldest) = self.destroys_in_order.pop_front() else { break };
            self.destroys.remove(&oldest);
        }
    }

    /// The latest kill of who has one of these names, uuid or number.
    pub fn kill_of(&self, names: &[String]) -> Option<&KillTold> {
        names.iter().filter_map(|name| self.kills.get(name)).max_by_key(|told| told.at)
    }

    /// When the manager last spoke of destroying this rental, well or not.
    pub fn destroy_told(&self, vast_id: u64) -> Option<Timestamp> {
        self.destroys.get(&vast_id).map(|(at, _)| *at)
    }

    /// What was written of the fleet.
    pub fn fleet(&self, id: &str) -> Option<&Said> {
        self.fleet.get(id)
    }

    /// What was written of one who has one of these names: uuid, `C.<number>`, number.
    pub fn of<'a>(&'a self, names: &'a [String], id: &str) -> Option<&'a Said> {
        names.iter().filter_map(|name| self.of.get(name)?.get(id)).max_by_key(|said| said.at)
    }

    /// The manager's latest word on this rental is that it destroyed it.
    pub fn destroyed(&self, vast_id: u64) -> bool {
        self.destroys.get(&vast_id).is_some_and(|(_, claimed)| *claimed)
    }
}

/// Whom a line of the manager names: uuids and rental numbers.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| letter.is_whitespace() || matches!(letter, '=' | '(' | ')' | ',' | ':'))
        .filter(|word| {
            let digits = word.strip_prefix("C.").unwrap_or(word);
            let number = digits.len() >= 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
            number || (word.len() == 36 && word.matches('-').count() == 4)
        })
        .take(6)
}
