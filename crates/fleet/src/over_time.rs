//! A fleet over time, from the lives of its instances: how many were where, what they would prove and what they cost, by what they
//! share. Means over equal steps of time, of the observed part of each: a time without answers is a gap, not a zero.

use std::collections::{BTreeMap, HashMap};

use crate::{Life, State, Stay, Timestamp, TransitionKind, shown};

/// Lengths of a step, seconds: such that their edges are round times of day.
const STEPS_S: [i64; 16] =
    [10, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800];

/// Groups shown by name; the rest stand together.
pub const GROUPS_MOST: usize = 7;

/// What instances are told apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum By {
    /// Nothing: the whole fleet.
    Nothing,
    /// Card model with its count.
    Gpu,
    /// Image.
    Image,
    /// Place.
    Region,
    /// Physical machine.
    Machine,
}

impl By {
    /// All of them.
    pub const ALL: [By; 5] = [Self::Nothing, Self::Gpu, Self::Image, Self::Region, Self::Machine];

    /// Its stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Gpu => "gpu",
            Self::Image => "image",
            Self::Region => "region",
            Self::Machine => "machine",
        }
    }

    /// Reads [`By::as_str`] back.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|by| by.as_str() == text)
    }

    /// The group of a life: what was told, `not told` where nothing was.
    pub fn group(self, life: &Life) -> String {
        let told = match self {
            Self::Nothing => return "fleet".to_owned(),
            Self::Gpu => life.gpu.clone(),
            Self::Image => life.image.clone(),
            Self::Region => life.region.clone(),
            Self::Machine => life.machine.map(|id| format!("machine {id}")),
        };
        told.unwrap_or_else(|| NOT_TOLD.to_owned())
    }
}

/// The group of those of whom it was not told.
pub const NOT_TOLD: &str = "not told";

/// Equal steps of time, and which parts of them were observed.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// Milliseconds since the epoch.
    from_ms: i64,
    step_ms: i64,
    steps: usize,
    /// Beginnings and ends of times that were not observed, apart and rising; and how much of them lies before each.
    blind: Vec<(i64, i64)>,
    blind_before: Vec<i64>,
}

impl Frame {
    /// From `since` to `until` in at most `most` steps. `watched`: the times in which there were answers; `gaps`: times within
    /// them in which there were none.
    pub fn new(
        since: Timestamp,
        until: Timestamp,
        most: usize,
        watched: &[(Timestamp, Timestamp)],
        gaps: &[(Timestamp, Timestamp)],
    ) -> Self {
        let (since, until) = (since.as_millisecond(), until.as_millisecond().max(since.as_millisecond() + 1));
        let fits = |step: &i64| (until - since) / (step * 1000) < most.max(2) as i64 - 1;
        let weeks = ((until - since) / (604_800_000 * most.max(1) as i64) + 1) * 604_800;
        let step_ms = STEPS_S.iter().copied().find(fits).unwrap_or(weeks) * 1000;
        let from_ms = since.div_euclid(step_ms) * step_ms;
        let steps = ((until - from_ms) as u64).div_ceil(step_ms as u64) as usize;
        Self::of_steps(from_ms, step_ms, steps, unwatched(watched, gaps))
    }

    /// One step, exactly from `since` to `until`.
    pub fn whole(
        since: Timestamp,
        until: Timestamp,
        watched: &[(Timestamp, Timestamp)],
        gaps: &[(Timestamp, Timestamp)],
    ) -> Self {
        let (since, until) = (since.as_millisecond(), until.as_millisecond().max(since.as_millisecond() + 1));
        Self::of_steps(since, until - since, 1, unwatched(watched, gaps))
    }

    /// `blind`: apart and rising.
    fn of_steps(from_ms: i64, step_ms: i64, steps: usize, blind: Vec<(i64, i64)>) -> Self {
        let mut before = 0;
        let blind_before = blind
            .iter()
            .map(|(from, to)| {
                let so_far = before;
                before += to - from;
                so_far
            })
            .collect();
        Self { from_ms, step_ms, steps, blind, blind_before }
    }

    /// Steps.
    pub fn len(&self) -> usize {
        self.steps
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.steps == 0
    }

    /// Length of a step, seconds.
    pub fn step_s(&self) -> f64 {
        self.step_ms as f64 / 1000.0
    }

    /// The edge before a step; of `len()`, the end.
    pub fn edge(&self, step: usize) -> Timestamp {
        Timestamp::from_millisecond(self.edge_ms(step)).unwrap_or(Timestamp::MAX)
    }

    /// Times within the frame that were not observed.
    pub fn blind(&self) -> Vec<(Timestamp, Timestamp)> {
        let (begin, end) = (self.from_ms, self.edge_ms(self.steps));
        let within = self.blind.iter().filter(|(from, to)| *to > begin && *from < end);
        let time = |ms: i64| Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX);
        within.map(|(from, to)| (time((*from).max(begin)), time((*to).min(end)))).collect()
    }

    fn edge_ms(&self, step: usize) -> i64 {
        self.from_ms + self.step_ms * step as i64
    }

    /// Observed time up to `at`, in a measure of its own, ms.
    fn observed(&self, at: i64) -> i64 {
        let after = self.blind.partition_point(|(from, _)| *from <= at);
        let Some(last) = after.checked_sub(1) else { return at };
        let (from, to) = self.blind[last];
        at - self.blind_before[last] - (at.min(to) - from)
    }
}

/// Times that were not watched, or without answers while they were; apart and rising.
fn unwatched(watched: &[(Timestamp, Timestamp)], gaps: &[(Timestamp, Timestamp)]) -> Vec<(i64, i64)> {
    let mut blind = complement(watched);
    blind.extend(gaps.iter().map(|(from, to)| (from.as_millisecond(), to.as_millisecond())));
    joined(blind)
}

fn complement(watched: &[(Timestamp, Timestamp)]) -> Vec<(i64, i64)> {
    /// Far from any time that is charted, and from where the sums would overflow.
    const FAR_MS: i64 = 1 << 60;
    let mut blind = Vec::new();
    let mut from = -FAR_MS;
    for (begin, end) in joined(watched.iter().map(|(from, to)| (from.as_millisecond(), to.as_millisecond())).collect()) {
        blind.push((from, begin));
        from = end;
    }
    blind.push((from, FAR_MS));
    blind
}

fn joined(mut parts: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
    parts.retain(|(from, to)| to > from);
    parts.sort_unstable();
    let mut joined: Vec<(i64, i64)> = Vec::with_capacity(parts.len());
    for (from, to) in parts {
        match joined.last_mut() {
            Some((_, end)) if from <= *end => *end = (*end).max(to),
            _ => joined.push((from, to)),
        }
    }
    joined
}

/// Adds up what lasts, step by step.
#[derive(Debug, Clone)]
struct Sum {
    /// Weight times observed ms of the steps that are covered in part.
    parts: Vec<f64>,
    /// Weight that begins (and, negative, ends) to cover whole steps.
    whole: Vec<f64>,
}

impl Sum {
    fn new(frame: &Frame) -> Self {
        Self { parts: vec![0.0; frame.steps], whole: vec![0.0; frame.steps + 1] }
    }

    fn add(&mut self, frame: &Frame, from: Timestamp, until: Timestamp, weight: f64) {
        let end = frame.edge_ms(frame.steps);
        let (from, until) = (from.as_millisecond().max(frame.from_ms), until.as_millisecond().min(end));
        if from >= until {
            return;
        }
        let step_of = |at: i64| ((at - frame.from_ms) / frame.step_ms) as usize;
        let (first, last) = (step_of(from), step_of(until - 1));
        let observed = |from: i64, until: i64| weight * (frame.observed(until) - frame.observed(from)) as f64;
        if first == last {
            self.parts[first] += observed(from, until);
            return;
        }
        self.parts[first] += observed(from, frame.edge_ms(first + 1));
        self.parts[last] += observed(frame.edge_ms(last), until);
        self.whole[first + 1] += weight;
        self.whole[last] -= weight;
    }

    /// The mean of each step over its observed part; `None` where nothing of it was observed.
    fn means(&self, frame: &Frame) -> Vec<Option<f64>> {
        let mut covering = 0.0;
        (0..frame.steps)
            .map(|step| {
                covering += self.whole[step];
                let seen = (frame.observed(frame.edge_ms(step + 1)) - frame.observed(frame.edge_ms(step))) as f64;
                // What is left of a sum of many is not told from nothing.
                (seen > 0.0)
                    .then(|| (self.parts[step] / seen + covering).max(0.0))
                    .map(|mean| if mean < 1e-9 { 0.0 } else { mean })
            })
            .collect()
    }
}

/// A quantity over the steps of a frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// What it is of.
    pub name: String,
    /// Mean of each step; `None` where nothing was observed, or where it is not told.
    pub values: Vec<Option<f64>>,
}

/// How many instances were in each state: known states in life order, then others by name.
pub fn states(lives: &[Life], frame: &Frame) -> Vec<Line> {
    let mut sums: BTreeMap<State, Sum> = State::KNOWN.into_iter().map(|state| (state, Sum::new(frame))).collect();
    for life in lives {
        for span in life.spans() {
            if !sums.contains_key(span.state) {
                sums.insert(span.state.clone(), Sum::new(frame));
            }
            if let Some(sum) = sums.get_mut(span.state) {
                present(life, span.from, span.until, |from, until| sum.add(frame, from, until, 1.0));
            }
        }
    }
    sums.into_iter().map(|(state, sum)| Line { name: state.to_string(), values: sum.means(frame) }).collect()
}

/// The parts of a time in which an instance was in the answers.
fn present(life: &Life, from: Timestamp, until: Timestamp, mut part: impl FnMut(Timestamp, Timestamp)) {
    let mut from = from;
    for (gone, back) in &life.absences {
        if *gone >= until {
            break;
        }
        if *gone > from {
            part(from, *gone);
        }
        match back {
            Some(back) => from = from.max(*back),
            None => return,
        }
    }
    if from < until {
        part(from, until);
    }
}

/// What the sums of a chart leave out.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// One line a group, largest first; the rest as `other`.
    pub lines: Vec<Line>,
    /// Instances that should count and whose figure was not told.
    pub not_told: usize,
}

/// Proofs per hour of the running instances, each by its own benchmark: not a count of proofs.
pub fn throughput(lives: &[Life], frame: &Frame, by: By) -> Split {
    split(lives, frame, |life, sums| {
        let Some(rate) = life.bench_rate_proofs_per_h else {
            return life.spans().any(|span| *span.state == State::Running && within(frame, &span.from, &span.until));
        };
        let sum = sums.of(by.group(life));
        for span in life.spans().filter(|span| *span.state == State::Running) {
            present(life, span.from, span.until, |from, until| sum.add(frame, from, until, rate));
        }
        false
    })
}

/// What money goes to.
const PROVING: &str = "proving";
const WAITING: &str = "waiting";
const LEAKING: &str = "leaking";

/// US dollars per hour: by what they buy where nothing else tells apart (proving, waiting, leaking), else by group.
pub fn cost(lives: &[Life], frame: &Frame, by: By) -> Split {
    split(lives, frame, |life, sums| {
        let costs = |state: &State| *state == State::Running || state.is_waiting();
        let Some(dollars) = life.dollars_per_h else {
            return life.spans().any(|span| costs(span.state) && within(frame, &span.from, &span.until));
        };
        let group = by.group(life);
        for span in life.spans().filter(|span| costs(span.state)) {
            let name = match by {
                By::Nothing if *span.state == State::Running => PROVING,
                By::Nothing => WAITING,
                _ => &group,
            };
            let sum = sums.of(name.to_owned());
            present(life, span.from, span.until, |from, until| sum.add(frame, from, until, dollars));
        }
        for (from, until) in &life.leaks {
            let sum = sums.of(if by == By::Nothing { LEAKING.to_owned() } else { group.clone() });
            sum.add(frame, *from, until.unwrap_or(life.last_listed_at), dollars);
        }
        false
    })
}

/// All dollars over all proofs, step by step; `None` where nothing proved.
pub fn dollars_per_proof(lives: &[Life], frame: &Frame, by: By) -> Split {
    let (proofs, money) = (throughput(lives, frame, by), cost(lives, frame, by));
    let mut per_group: HashMap<String, Vec<Option<f64>>> = HashMap::new();
    for line in money.lines {
        let name = if by == By::Nothing { By::Nothing.as_str().to_owned() } else { line.name };
        match per_group.get_mut(&name) {
            None => drop(per_group.insert(name, line.values)),
            Some(sum) => sum.iter_mut().zip(line.values).for_each(|(sum, more)| {
                *sum = sum.zip(more).map(|(sum, more)| sum + more);
            }),
        }
    }
    let lines = proofs
        .lines
        .into_iter()
        .filter_map(|line| {
            let spent = per_group.get(if by == By::Nothing { By::Nothing.as_str() } else { &line.name })?;
            let ratio = |(spent, made): (&Option<f64>, &Option<f64>)| {
                spent.zip(*made).filter(|(_, made)| *made > 1e-6).map(|(a, b)| a / b)
            };
            Some(Line { values: spent.iter().zip(&line.values).map(ratio).collect(), name: line.name })
        })
        // What stands together has other members in one sum than in the other.
        .filter(|line| line.name != OTHER)
        .collect();
    Split { lines, not_told: proofs.not_told + money.not_told }
}

/// The name of what stands together.
pub const OTHER: &str = "other";

/// Sums by name.
struct Sums<'a> {
    frame: &'a Frame,
    by_name: HashMap<String, Sum>,
}

impl Sums<'_> {
    fn of(&mut self, name: String) -> &mut Sum {
        self.by_name.entry(name).or_insert_with(|| Sum::new(self.frame))
    }
}

fn within(frame: &Frame, from: &Timestamp, until: &Timestamp) -> bool {
    until.as_millisecond() > frame.from_ms && from.as_millisecond() < frame.edge_ms(frame.steps)
}

/// Lets every life add to sums of its groups; `add` tells whether it lacks a figure that should count.
fn split(lives: &[Life], frame: &Frame, mut add: impl FnMut(&Life, &mut Sums<'_>) -> bool) -> Split {
    let mut sums = Sums { frame, by_name: HashMap::new() };
    let not_told = lives.iter().filter(|life| add(life, &mut sums)).count();
    let lines: Vec<Line> = sums.by_name.into_iter().map(|(name, sum)| Line { name, values: sum.means(frame) }).collect();
    Split { lines: largest(lines), not_told }
}

/// The largest lines by their sum, the rest added up as one.
fn largest(lines: Vec<Line>) -> Vec<Line> {
    let total = |line: &Line| line.values.iter().flatten().sum::<f64>();
    let mut ranked: Vec<(f64, Line)> =
        lines.into_iter().map(|line| (total(&line), line)).filter(|(total, _)| *total > 0.0).collect();
    ranked.sort_by(|(left, one), (right, other)| right.total_cmp(left).then_with(|| one.name.cmp(&other.name)));
    let mut lines: Vec<Line> = ranked.into_iter().map(|(_, line)| line).collect();
    if lines.len() > GROUPS_MOST + 1 {
        let rest = lines.split_off(GROUPS_MOST);
        let steps = rest.first().map_or(0, |line| line.values.len());
        let values = (0..steps)
            .map(|step| rest.iter().map(|line| line.values[step]).try_fold(0.0, |sum, value| value.map(|value| sum + value)))
            .collect();
        lines.push(Line { name: OTHER.to_owned(), values });
    }
    lines
}

/// Stays of a state by group, largest group first: those that began from `since` on and before `until`.
pub fn stays(lives: &[Life], state: &State, since: Timestamp, until: Timestamp, by: By) -> Vec<(String, Vec<Stay>)> {
    grouped(lives, by, |life| {
        let begun = move |at: Timestamp| at >= since && at < until;
        life.stays().into_iter().filter(|(of, at, _)| of == state && begun(*at)).map(|(_, _, stay)| stay).collect()
    })
}

/// A stay, and what it cost, US dollars; `None` where its price was not told.
pub type PricedStay = (Stay, Option<f64>);

/// From rent to `running` by group, with the money spent before it: of rentals that began from `since` on and before `until`.
pub fn until_running(lives: &[Life], since: Timestamp, until: Timestamp, by: By) -> Vec<(String, Vec<PricedStay>)> {
    grouped(lives, by, |life| {
        life.until_running()
            .filter(|(at, _)| *at >= since && *at < until)
            .map(|(_, stay)| (stay, life.dollars_per_h.map(|dollars| dollars * stay.until_s / 3600.0)))
            .into_iter()
            .collect()
    })
}

fn grouped<T>(lives: &[Life], by: By, of: impl Fn(&Life) -> Vec<T>) -> Vec<(String, Vec<T>)> {
    let mut groups: HashMap<String, Vec<T>> = HashMap::new();
    for life in lives {
        let found = of(life);
        if !found.is_empty() {
            groups.entry(by.group(life)).or_default().extend(found);
        }
    }
    let mut groups: Vec<(String, Vec<T>)> = groups.into_iter().collect();
    groups.sort_by(|(one, left), (other, right)| right.len().cmp(&left.len()).then_with(|| one.cmp(other)));
    if groups.len() > GROUPS_MOST + 1 {
        let rest = groups.split_off(GROUPS_MOST).into_iter().flat_map(|(_, found)| found).collect();
        groups.push((OTHER.to_owned(), rest));
    }
    groups
}

/// Things that happened at a time, counted in the steps of a frame by a name.
struct Counts<'a> {
    frame: &'a Frame,
    counts: HashMap<String, Vec<f64>>,
}

impl<'a> Counts<'a> {
    fn new(frame: &'a Frame) -> Self {
        Self { frame, counts: HashMap::new() }
    }

    fn count(&mut self, name: &str, at: Timestamp) {
        let frame = self.frame;
        if within(frame, &at, &Timestamp::from_millisecond(at.as_millisecond() + 1).unwrap_or(at)) {
            let step = ((at.as_millisecond() - frame.from_ms) / frame.step_ms) as usize;
            let steps = self.counts.entry(name.to_owned()).or_insert_with(|| vec![0.0; frame.steps]);
            if let Some(step) = steps.get_mut(step) {
                *step += 1.0;
            }
        }
    }

    fn lines(self) -> Vec<Line> {
        let observed = Sum::new(self.frame).means(self.frame);
        let lines = self.counts.into_iter().map(|(name, counts)| Line {
            name,
            // Where nothing was observed there is no count, unless one was told afterwards.
            values: counts
                .iter()
                .zip(&observed)
                .map(|(count, seen)| (seen.is_some() || *count > 0.0).then_some(*count))
                .collect(),
        });
        largest(lines.collect())
    }
}

/// How many instances ended in each step, by why: the manager's words with their numbers left out, `vanished` where it was gone
/// without having been killed.
pub fn endings(lives: &[Life], frame: &Frame) -> Vec<Line> {
    let mut counts = Counts::new(frame);
    for life in lives {
        for entry in life.entries.iter().filter(|entry| entry.state == State::Killed) {
            let why = life.kill_reason.as_deref().map_or_else(|| NOT_TOLD.to_owned(), without_numbers);
            counts.count(&why, entry.at);
        }
        // A killed row that the manager forgets is no second end.
        if let Some((gone, None)) = life.absences.last()
            && life.entries.last().is_none_or(|entry| entry.state != State::Killed)
        {
            counts.count("vanished", *gone);
        }
    }
    counts.lines()
}

/// What began anew in one instance's life: when, and what to call it.
pub fn anew(life: &Life) -> impl Iterator<Item = (Timestamp, &'static str)> {
    let states = life.anew.iter().filter_map(|(at, kind)| match kind {
        TransitionKind::Backward => Some((*at, "set back")),
        TransitionKind::CameBack => Some((*at, "out of killed")),
        _ => None,
    });
    states.chain(life.absences.iter().filter_map(|(_, back)| Some(((*back)?, "listed again"))))
}

/// How much began anew in each step: the manager itself, instances that went back to an earlier state, those that were killed and came
/// back, and those that were gone and are listed again.
pub fn restarts(lives: &[Life], manager: &[Timestamp], frame: &Frame) -> Vec<Line> {
    let mut counts = Counts::new(frame);
    manager.iter().for_each(|at| counts.count(MANAGER, *at));
    for (at, what) in lives.iter().flat_map(anew) {
        counts.count(what, at);
    }
    counts.lines()
}

/// Name of the line that counts starts of the manager.
pub const MANAGER: &str = "manager";

/// Longest reason that is told apart, letters.
const REASON_LETTERS: usize = 60;

/// A reason whose figures differ from case to case, as one: `bench_rate 12.3 below min_rate 40` is `bench_rate … below min_rate …`.
pub fn without_numbers(reason: &str) -> String {
    let mut plain = String::new();
    for word in reason.split_whitespace() {
        let number = word.starts_with(|first: char| first.is_ascii_digit());
        let word = if number { "…" } else { word };
        if !plain.is_empty() {
            plain.push(' ');
        }
        plain.push_str(word);
    }
    shown(&plain, REASON_LETTERS)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]
mod tests {
    use super::*;
    use crate::{Basis, Entry};
    use proptest::prelude::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_796_083_200 + second).unwrap()
    }

    fn life(entries: &[(State, i64)], last: i64) -> Life {
        Life {
            id: "a".into(),
            gpu: Some("RTX 4090".into()),
            image: None,
            region: None,
            machine: None,
            dollars_per_h: Some(0.5),
            bench_rate_proofs_per_h: Some(40.0),
            kill_reason: None,
            first_seen_at: at(0),
            last_listed_at: at(last),
            entries: entries
                .iter()
                .map(|(state, second)| Entry { state: state.clone(), at: at(*second), basis: Basis::Manager, earlier_by_s: 0.0 })
                .collect(),
            absences: Vec::new(),
            leaks: Vec::new(),
            anew: Vec::new(),
        }
    }

    fn frame(until: i64, gaps: &[(i64, i64)]) -> Frame {
        let gaps: Vec<_> = gaps.iter().map(|(from, to)| (at(*from), at(*to))).collect();
        Frame::new(at(0), at(until), 5, &[(at(0), at(until))], &gaps)
    }

    #[test]
    fn a_step_is_the_mean_of_what_was_observed_in_it() {
        // Steps of 30 min over 90 min: registered for 45, then running to the end.
        let lives = [life(&[(State::Registered, 0), (State::Running, 2_700)], 5_400)];
        let frame = frame(5_400, &[(0, 900)]);
        assert_eq!((frame.step_s(), frame.len()), (1_800.0, 3));
        let states = states(&lives, &frame);
        let of = |name: &str| states.iter().find(|line| line.name == name).unwrap().values.clone();
        assert_eq!(of("registered"), [Some(1.0), Some(0.5), Some(0.0)]);
        assert_eq!(of("running"), [Some(0.0), Some(0.5), Some(1.0)]);
        let whole = Frame::whole(at(900), at(4_500), &[(at(0), at(5_400))], &[]);
        assert_eq!(throughput(&lives, &whole, By::Nothing).lines[0].values, [Some(20.0)]);
        let money = cost(&lives, &frame, By::Nothing);
        assert_eq!(money.lines.iter().map(|line| line.name.as_str()).collect::<Vec<_>>(), ["proving", "waiting"]);
        let per_proof = dollars_per_proof(&lives, &frame, By::Gpu);
        assert_eq!(per_proof.lines[0].values, [None, Some(0.5 / 20.0), Some(0.5 / 40.0)]);
        assert_eq!(dollars_per_proof(&lives, &frame, By::Nothing).lines[0].values, per_proof.lines[0].values);
    }

    #[test]
    fn what_was_not_observed_is_a_gap_and_who_was_away_does_not_count() {
        let mut lives = [life(&[(State::Running, 0)], 5_400)];
        lives[0].absences = vec![(at(1_800), Some(at(3_600)))];
        let blind = frame(5_400, &[(3_600, 5_400)]);
        assert_eq!(throughput(&lives, &blind, By::Gpu).lines[0].values, [Some(40.0), Some(0.0), None]);
        // Before and after the watch is a gap as well.
        let frame = Frame::new(at(-7_200), at(7_200), 9, &[(at(0), at(5_400))], &[]);
        let values = &throughput(&lives, &frame, By::Gpu).lines[0].values;
        assert_eq!(*values, [None, None, Some(20.0), Some(40.0)]);
        assert_eq!(frame.blind(), [(at(-7_200), at(0)), (at(5_400), at(7_200))]);
    }

    #[test]
    fn what_was_not_told_is_counted_apart() {
        let mut lives = vec![life(&[(State::Running, 0)], 5_400), life(&[(State::Running, 0)], 5_400)];
        (lives[0].bench_rate_proofs_per_h, lives[0].dollars_per_h, lives[0].gpu) = (None, None, None);
        let frame = frame(5_400, &[]);
        let split = throughput(&lives, &frame, By::Gpu);
        assert_eq!((split.lines.len(), split.not_told), (1, 1));
        assert_eq!(cost(&lives, &frame, By::Nothing).not_told, 1);
        assert_eq!(By::Gpu.group(&lives[0]), NOT_TOLD);
    }

    #[test]
    fn many_groups_stand_together_and_lose_nothing() {
        let lives: Vec<Life> = (0..20)
            .map(|n| Life {
                gpu: Some(format!("card {n}")),
                bench_rate_proofs_per_h: Some(f64::from(n) + 1.0),
                ..life(&[(State::Running, 0)], 5_400)
            })
            .collect();
        let lines = throughput(&lives, &frame(5_400, &[]), By::Gpu).lines;
        assert_eq!((lines.len(), lines[0].name.as_str(), lines[GROUPS_MOST].name.as_str()), (8, "card 19", OTHER));
        let sum: f64 = lines.iter().filter_map(|line| line.values[1]).sum();
        assert!((sum - 210.0).abs() < 1e-9);
        assert_eq!(stays(&lives, &State::Running, at(0), at(9), By::Gpu).len(), 0, "running is no stay on the way");
    }

    #[test]
    fn ends_are_counted_by_why() {
        let mut killed = life(&[(State::Running, 0), (State::Killed, 2_000)], 5_400);
        killed.kill_reason = Some("bench_rate 12.3 below min_rate 40.0".into());
        let mut gone = life(&[(State::Running, 0)], 2_500);
        gone.absences = vec![(at(2_500), None)];
        let lines = endings(&[killed.clone(), killed, gone], &frame(5_400, &[]));
        assert_eq!(
            lines[0],
            Line { name: "bench_rate … below min_rate …".into(), values: vec![Some(0.0), Some(2.0), Some(0.0)] }
        );
        assert_eq!((lines[1].name.as_str(), lines[1].values[1]), ("vanished", Some(1.0)));
    }

    #[test]
    fn what_began_anew_is_counted_by_what() {
        let mut back = life(&[(State::Running, 0)], 5_400);
        back.anew = vec![(at(2_000), TransitionKind::Backward), (at(4_000), TransitionKind::CameBack)];
        back.absences = vec![(at(100), Some(at(2_100))), (at(4_500), None)];
        let lines = restarts(&[back.clone(), back], &[at(-9), at(50), at(60), at(70)], &frame(5_400, &[]));
        let told: Vec<_> = lines.iter().map(|line| (line.name.as_str(), line.values.clone())).collect();
        assert_eq!(told.len(), 4);
        assert_eq!(told[0], (MANAGER, vec![Some(3.0), Some(0.0), Some(0.0)]));
        assert!(told.contains(&("set back", vec![Some(0.0), Some(2.0), Some(0.0)])));
        assert!(told.contains(&("out of killed", vec![Some(0.0), Some(0.0), Some(2.0)])));
        assert!(told.contains(&("listed again", vec![Some(0.0), Some(2.0), Some(0.0)])));
    }

    #[test]
    fn rent_to_running_counts_those_that_never_got_there() {
        let never = life(&[(State::Registered, 0), (State::Killed, 7_200)], 9_000);
        let soon = life(&[(State::Registered, 0), (State::Running, 3_600)], 9_000);
        let still = life(&[(State::Registered, 0)], 9_000);
        let groups = until_running(&[never, soon, still], at(-1), at(1), By::Nothing);
        let mut found: Vec<(f64, Option<f64>)> = groups[0].1.iter().map(|(stay, spent)| (stay.until_s, *spent)).collect();
        found.sort_by(|left, right| left.0.total_cmp(&right.0));
        assert_eq!(found, [(3_600.0, Some(0.5)), (7_200.0, Some(1.0)), (9_000.0, Some(1.25))]);
    }

    proptest! {
        /// Whatever the gaps, an instance that is always there is there once in every step of which anything was seen.
        #[test]
        fn nobody_counts_more_than_once(gaps in prop::collection::vec((0i64..20_000, 1i64..4_000), 0..6), until in 1_000i64..20_000) {
            let gaps: Vec<(i64, i64)> = gaps.into_iter().map(|(from, length)| (from, from + length)).collect();
            let frame = frame(until, &gaps);
            let running = &states(&[life(&[(State::Running, -50_000)], 50_000)], &frame)[4].values;
            for value in running.iter().flatten() {
                prop_assert!((value - 1.0).abs() < 1e-6, "{value}");
            }
        }
    }
}
