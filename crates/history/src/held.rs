//! What cannot be written now (disk full, read-only, damaged, locked for long) is held in memory, in order and within limits, and written
//! once as soon as a later write works.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use dwell_fleet::{
    FlagChange, Gap, GpuActivity, Instance, Key, LogChannel, LogLine, ManagerRun, Redated, Timestamp, Transition, merge_tail,
};

use crate::logs::within_limit;
use crate::record::{GaugeReading, ONE_READING_MS};
use crate::{Answer, Appended, FleetId, History, HistoryError, LogOwner};

/// How long a write waits for another process's, and how long while earlier ones are held: a watch must go on.
const WAIT: Duration = Duration::from_secs(10);
const WAIT_WHILE_HELD: Duration = Duration::from_millis(250);
/// Lines kept before the first new one of a reading, so that it joins what is stored.
const JOINING_LINES: usize = 200;
/// What a held entry costs besides its texts, bytes: an estimate on the high side.
const ENTRY_BYTES: usize = 256;

/// How much is held at most.
#[derive(Debug, Clone, Copy)]
pub struct HeldLimits {
    /// Answers: transitions, flags, gauges; bytes. Beyond, the oldest answers are dropped: what is so now matters most.
    pub answers_bytes: usize,
    /// Log lines, bytes. Beyond, the newest are not held: the manager has those longest, and they are read from it again.
    pub lines_bytes: usize,
}

impl Default for HeldLimits {
    fn default() -> Self {
        Self { answers_bytes: 32 << 20, lines_bytes: 32 << 20 }
    }
}

/// What is held, and what was lost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeldState {
    /// Why nothing can be written; `None` while writing works.
    pub error: Option<String>,
    /// The first answer that is not stored, on the manager's clock.
    pub since: Option<Timestamp>,
    /// Answers of the manager held.
    pub answers: usize,
    /// Transitions in them.
    pub transitions: usize,
    /// Log lines held.
    pub lines: usize,
    /// Memory that all of it takes, bytes.
    pub bytes: usize,
    /// Answers dropped since this process began, with what they brought.
    pub lost_answers: usize,
    /// Transitions in those.
    pub lost_transitions: usize,
    /// Log lines that were not held since this process began; as far as the manager's buffers still have them they are read again.
    pub lost_lines: usize,
}

impl HeldState {
    /// Entries that wait to be written: answers and log lines.
    pub fn entries(&self) -> usize {
        self.answers + self.lines
    }

    /// Entries that will never be written.
    pub fn lost(&self) -> usize {
        self.lost_answers + self.lost_lines
    }
}

/// One answer, without its instances.
#[derive(Debug)]
struct HeldAnswer {
    fleet: FleetId,
    as_of: Timestamp,
    transitions: Vec<Transition>,
    redated: Vec<Redated>,
    merged: Vec<(Key, Key)>,
    gap: Option<Gap>,
    run: ManagerRun,
    vast_cache_age_s: Option<f64>,
    clock_skew_s: Option<f64>,
    flags: Vec<FlagChange>,
    gauges: Vec<(Key, GaugeReading)>,
}

impl HeldAnswer {
    fn bytes(&self) -> usize {
        let reasons: usize = self.flags.iter().filter_map(|change| change.to.as_ref()).map(|flag| flag.reason.len() * 2).sum();
        let entries = 1 + self.transitions.len() + self.redated.len() + self.merged.len() + self.flags.len();
        entries * ENTRY_BYTES + self.gauges.len() * size_of::<(Key, GaugeReading)>() + reasons
    }

    fn answer<'a>(&'a self, instances: Vec<&'a Instance>) -> Answer<'a> {
        Answer {
            as_of: self.as_of,
            instances,
            transitions: &self.transitions,
            redated: &self.redated,
            merged: &self.merged,
            gap: self.gap,
            run: self.run,
            vast_cache_age_s: self.vast_cache_age_s,
            clock_skew_s: self.clock_skew_s,
            flags: &self.flags,
        }
    }
}

/// Lines of one log that follow each other.
#[derive(Debug)]
struct HeldLines {
    fleet: FleetId,
    owner: LogOwner,
    run: Option<Timestamp>,
    lines: Vec<LogLine>,
    whole_buffer: bool,
}

fn line_bytes(line: &LogLine) -> usize {
    line.text.len() + line.source.len() + size_of::<LogLine>()
}

/// Everything that waits to be written. All writes of a watch go through it, so that none overtakes another.
#[derive(Debug, Default)]
pub struct Held {
    limits: HeldLimits,
    state: HeldState,
    answers: VecDeque<HeldAnswer>,
    /// Every instance of the held answers as it was seen last: what a row says is only ever its latest.
    instances: BTreeMap<(FleetId, Key), Instance>,
    /// The newest gauge held of each.
    gauges_at: BTreeMap<(FleetId, Key), i64>,
    lines: Vec<HeldLines>,
    /// Logs of which lines were not held.
    unheld: Vec<LogOwner>,
    answers_bytes: usize,
    lines_bytes: usize,
    /// From where on answers were dropped that are not stored as a gap yet.
    dropped_from: Option<Timestamp>,
}

impl Held {
    /// With other limits.
    pub fn within(limits: HeldLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// How it stands.
    pub fn state(&self) -> &HeldState {
        &self.state
    }

    /// Whether something waits to be written.
    pub fn is_waiting(&self) -> bool {
        !self.answers.is_empty() || !self.lines.is_empty() || !self.unheld.is_empty()
    }

    /// Writes an answer, or holds it.
    pub fn record(&mut self, history: &mut History, fleet: FleetId, answer: &Answer<'_>) {
        if self.is_waiting() {
            self.hold_answer(fleet, answer);
            return;
        }
        match history.record(fleet, answer) {
            Ok(()) => self.state.error = None,
            Err(error) => {
                let text = error.to_string();
                if error.is_of_the_place() {
                    self.begin(history, text, answer.as_of);
                    self.hold_answer(fleet, answer);
                } else {
                    self.state.error = Some(text);
                    self.state.lost_answers += 1;
                    self.state.lost_transitions += answer.transitions.len();
                }
            }
        }
    }

    /// Writes a reading of a log, or holds it. Gives the lines that were not known, as [`History::append_lines`] and
    /// [`History::append_part`] do.
    pub fn append(
        &mut self,
        history: &mut History,
        fleet: FleetId,
        owner: LogOwner,
        fetched: &[LogLine],
        (whole_buffer, part): (bool, bool),
        run: Option<Timestamp>,
    ) -> Appended {
        if !self.is_waiting() {
            let written = match part {
                true => history.append_part(fleet, owner, fetched, run),
                false => history.append_lines(fleet, owner, fetched, whole_buffer, run),
            };
            match written {
                Ok(appended) => return appended,
                Err(error) if error.is_of_the_place() => {
                    let since = fetched.last().map_or(Timestamp::UNIX_EPOCH, |line| line.at);
                    self.begin(history, error.to_string(), since);
                }
                Err(error) => {
                    self.state.error = Some(error.to_string());
                    self.state.lost_lines += fetched.len();
                    return Appended { lines: fetched.to_vec(), gap: false };
                }
            }
        }
        self.hold_lines(history, fleet, owner, fetched, (whole_buffer, part), run)
    }

    fn begin(&mut self, history: &History, error: String, since: Timestamp) {
        self.state.error = Some(error);
        self.state.since = Some(since);
        history.wait_for_others(WAIT_WHILE_HELD);
    }

    fn hold_answer(&mut self, fleet: FleetId, answer: &Answer<'_>) {
        let mut gauges = Vec::new();
        for instance in &answer.instances {
            let key = (fleet, instance.key);
            let newest = self.gauges_at.get(&key).copied();
            if let Some(reading) = GaugeReading::of(instance)
                && newest.is_none_or(|newest| reading.at - newest >= ONE_READING_MS)
            {
                self.gauges_at.insert(key, reading.at);
                gauges.push((instance.key, reading));
            }
            let mut copy = (*instance).clone();
            // What it has written and its load are held apart.
            copy.log = LogChannel {
                buffered: copy.log.buffered,
                read_lines: copy.log.read_lines,
                read_at: copy.log.read_at,
                ..LogChannel::default()
            };
            (copy.gpu, copy.assessment) = (GpuActivity::default(), None);
            self.instances.insert(key, copy);
        }
        let held = HeldAnswer {
            fleet,
            as_of: answer.as_of,
            transitions: answer.transitions.to_vec(),
            redated: answer.redated.to_vec(),
            merged: answer.merged.to_vec(),
            gap: answer.gap,
            run: answer.run,
            vast_cache_age_s: answer.vast_cache_age_s,
            clock_skew_s: answer.clock_skew_s,
            flags: answer.flags.to_vec(),
            gauges,
        };
        self.state.since.get_or_insert(answer.as_of);
        self.answers_bytes += held.bytes();
        self.answers.push_back(held);
        while self.answers_bytes > self.limits.answers_bytes && self.answers.len() > 1 {
            let Some(dropped) = self.answers.pop_front() else { break };
            self.lose(&dropped);
            let from = *self.dropped_from.get_or_insert(dropped.as_of);
            // Nothing is known of the time in between any more.
            if let Some(first) = self.answers.front_mut() {
                let from = first.gap.map_or(from, |gap| gap.from.min(from));
                first.gap = Some(Gap { from, to: first.as_of });
            }
        }
        self.count();
    }

    fn lose(&mut self, dropped: &HeldAnswer) {
        self.answers_bytes = self.answers_bytes.saturating_sub(dropped.bytes());
        self.state.lost_answers += 1;
        self.state.lost_transitions += dropped.transitions.len();
    }

    fn hold_lines(
        &mut self,
        history: &History,
        fleet: FleetId,
        owner: LogOwner,
        fetched: &[LogLine],
        (whole_buffer, part): (bool, bool),
        run: Option<Timestamp>,
    ) -> Appended {
        let cut: Vec<LogLine> = fetched.iter().map(within_limit).collect();
        if self.unheld.contains(&owner) {
            // Read again once there is room; what is new cannot be told from what is not.
            return Appended { lines: cut, gap: false };
        }
        let place = self.lines.iter().rposition(|it| it.fleet == fleet && it.owner == owner && it.run == run);
        let (new_from, gap) = match place {
            Some(place) => {
                let merged = merge_tail(&self.lines[place].lines, &cut, whole_buffer && self.lines[place].whole_buffer);
                (merged.new_from, merged.gap)
            }
            None => match history.joins(fleet, owner, &cut, whole_buffer, run) {
                Ok(merged) => (merged.new_from, merged.gap),
                // What is stored cannot be read either: all of it is held, and what is known is found when it is written.
                Err(_) => (0, false),
            },
        };
        if gap && part {
            return Appended { lines: Vec::new(), gap: true };
        }
        let new = cut.get(new_from..).unwrap_or_default().to_vec();
        let bytes: usize = new.iter().map(line_bytes).sum();
        if new.is_empty() {
            return Appended { lines: new, gap };
        }
        if self.lines_bytes + bytes > self.limits.lines_bytes {
            self.unheld.push(owner);
            self.state.lost_lines += new.len();
            self.count();
            return Appended { lines: new, gap };
        }
        match place.filter(|_| !gap) {
            Some(place) => self.lines[place].lines.extend_from_slice(&new),
            None => {
                let from = if gap { new_from } else { new_from.saturating_sub(JOINING_LINES) };
                let lines = cut.get(from..).unwrap_or_default().to_vec();
                self.lines.push(HeldLines { fleet, owner, run, lines, whole_buffer: whole_buffer && from == 0 });
            }
        }
        self.state.since = self.state.since.or(new.first().map(|line| line.at));
        self.count();
        Appended { lines: new, gap }
    }

    fn count(&mut self) {
        self.lines_bytes = self.lines.iter().flat_map(|it| &it.lines).map(line_bytes).sum();
        self.state.answers = self.answers.len();
        self.state.transitions = self.answers.iter().map(|it| it.transitions.len()).sum();
        self.state.lines = self.lines.iter().map(|it| it.lines.len()).sum();
        self.state.bytes = self.answers_bytes + self.lines_bytes + self.instances.len() * size_of::<Instance>();
    }

    /// Tries to write what is held, oldest first. Each entry is one transaction: it is written whole and once. Gives the logs that are
    /// to be read again in whole, once all is written.
    pub fn retry(&mut self, history: &mut History) -> Vec<LogOwner> {
        if !self.is_waiting() {
            return Vec::new();
        }
        match self.write(history) {
            Ok(()) => {
                history.wait_for_others(WAIT);
                (self.state.error, self.state.since, self.dropped_from) = (None, None, None);
                self.count();
                std::mem::take(&mut self.unheld)
            }
            Err(error) => {
                self.state.error = Some(error.to_string());
                self.count();
                Vec::new()
            }
        }
    }

    fn write(&mut self, history: &mut History) -> Result<(), HistoryError> {
        let mut before = None;
        while let Some(first) = self.answers.front() {
            let fleet = first.fleet;
            // With the first answer for the rows that the others need, with the last for how they stand then.
            let is_last = self.answers.get(1).is_none_or(|next| next.fleet != fleet);
            let of_fleet = self.instances.iter().filter(|((of, _), _)| *of == fleet && (is_last || before != Some(fleet)));
            let instances = of_fleet.map(|(_, instance)| instance).collect();
            match history.record_held(fleet, &first.answer(instances), &first.gauges) {
                Ok(()) => {
                    self.answers_bytes = self.answers_bytes.saturating_sub(first.bytes());
                    (self.state.since, before) = (Some(first.as_of), Some(fleet));
                    self.answers.pop_front();
                }
                Err(error) if error.is_of_the_place() => return Err(error),
                Err(error) => {
                    tracing::error!(%error, "an answer cannot be stored");
                    if let Some(dropped) = self.answers.pop_front() {
                        self.lose(&dropped);
                    }
                }
            }
        }
        (self.gauges_at, self.answers_bytes) = (BTreeMap::new(), 0);
        self.instances.clear();
        while let Some(first) = self.lines.first() {
            match history.append_lines(first.fleet, first.owner, &first.lines, first.whole_buffer, first.run) {
                Ok(_) => {}
                Err(error) if error.is_of_the_place() => return Err(error),
                Err(error) => {
                    tracing::error!(%error, "lines cannot be stored");
                    self.state.lost_lines += first.lines.len();
                }
            }
            self.lines.remove(0);
        }
        Ok(())
    }
}

impl History {
    /// How long a write waits for another process's, before it gives up.
    pub fn wait_for_others(&self, wait: Duration) {
        // It only fails on a closed database.
        let _ = self.connection.busy_timeout(wait);
    }
}
