//! From answers to instances: which row is whom, what changed, what was missed, who is missing.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::{
    Assessment, Basis, Entry, Expectations, Flag, FlagKind, GpuActivity, InstanceUuid, Kind, Ledger, LogChannel, LogLine, Row,
    Snapshot, State, Stay, Timestamp, Transition, TransitionKind, VastFacts, VastId,
    flag::{Surroundings, assess},
    id::Key,
    ledger::{Redated, classify, told_by_stamps, told_running},
    life::stays_of,
    progress::{one_line_is_proof, progress_sources},
    rental::{Commands, LIST_FRESH_S, Rental, WrittenOff, written_off},
    seconds_between, shift,
};

/// Lines below which the manager's buffer has never been full: it holds 10,000 and then drops its oldest tenth.
const BUFFER_NEVER_FULL_BELOW: u64 = 9_000;

/// `updated_at` is cut to whole seconds, and the next answer may come within the same second.
const CLOCK_GRAIN_S: f64 = 1.5;

/// Stays that go on count up to the last whole minute in the curves, which are the same all through it unless something happens.
const EXPECTATIONS_STEP_MS: i64 = 60_000;

/// Instances gone this long are forgotten here (history keeps them), seconds. The manager forgets killed rows after 7 days.
const FORGET_AFTER_S: f64 = 7.0 * 86_400.0;

/// Whether the latest answers list an instance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Presence {
    /// In the latest answer.
    Listed,
    /// Missing from the latest answers.
    Missing {
        /// Last answer that listed it, on the manager's clock.
        since: Timestamp,
        /// Answers in a row without it.
        answers: u32,
    },
}

/// An instance as Dwell knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    /// Dwell's own number.
    pub key: Key,
    /// The manager's id, once it has registered.
    pub uuid: Option<InstanceUuid>,
    /// vast.ai's number, once told; kept when the row loses its match.
    pub vast_id: Option<VastId>,
    /// Present state: what it last said.
    pub state: State,
    /// When it entered that state, and how that is known.
    pub entered: Entry,
    /// Its life so far.
    pub ledger: Ledger,
    /// First answer that listed it, on the manager's clock.
    pub first_seen_at: Timestamp,
    /// Last answer that listed it, on the manager's clock.
    pub last_listed_at: Timestamp,
    /// Whether it is still listed.
    pub presence: Presence,
    /// The latest row.
    pub row: Row,
    /// The latest vast.ai record told, also when the row has lost it since.
    pub vast: VastFacts,
    /// When that record was told, on the manager's clock.
    pub vast_told_at: Option<Timestamp>,
    /// How long vast.ai has said of it what it says.
    pub status: StatusText,
    /// Its log channel.
    pub log: LogChannel,
    /// Its GPU's load.
    pub gpu: GpuActivity,
    /// Sightings of its rental.
    pub rental: Rental,
    /// Present flag, held over one unflagged assessment so that it does not flicker.
    pub flag: Option<Flag>,
    /// Latest assessment.
    pub assessment: Option<Assessment>,
    /// Assessments in a row that found no reason for a flag.
    pub unflagged_in_a_row: u8,
}

/// Longest status message that is compared and kept, characters.
pub const STATUS_CHARACTERS_MAX: usize = 500;

/// When vast.ai's status message was read, and when it was seen to change. That it stands still takes two readings: one tells
/// neither that nor the contrary.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StatusText {
    /// First reading of the present text.
    pub first_at: Option<Timestamp>,
    /// Latest reading of it.
    pub last_at: Option<Timestamp>,
    /// When it was last seen to change: the last reading of the text before, and the first of the one after.
    pub changed: Option<(Timestamp, Timestamp)>,
}

impl StatusText {
    fn note(&mut self, before: Option<&str>, now: Option<&str>, read_at: Timestamp) {
        let same = match (before, now) {
            (Some(before), Some(now)) => before.chars().take(STATUS_CHARACTERS_MAX).eq(now.chars().take(STATUS_CHARACTERS_MAX)),
            (None, None) => true,
            _ => false,
        };
        if !same && before.is_some() {
            self.changed = self.last_at.map(|last| (last, read_at));
        }
        if !same || self.first_at.is_none() {
            self.first_at = Some(read_at);
        }
        self.last_at = Some(read_at);
    }

    /// Whether it has stood still for so many seconds up to its latest reading; `None` where the readings of it do not tell.
    pub fn stands(&self, for_s: f64) -> Option<bool> {
        let last = self.last_at?;
        if self.changed.is_some_and(|(before, _)| seconds_between(before, last) <= for_s) {
            return Some(false);
        }
        (seconds_between(self.first_at?, last) >= for_s).then_some(true)
    }
}

impl Instance {
    /// An instance that Dwell knows from an earlier run: identity, state, life and kind; everything else untold.
    pub fn remembered(
        key: Key,
        row: Row,
        entered: Entry,
        ledger: Ledger,
        first_seen_at: Timestamp,
        last_listed_at: Timestamp,
    ) -> Self {
        Self {
            key,
            uuid: row.uuid.clone(),
            vast_id: row.vast_id_told(),
            state: row.state.clone(),
            entered,
            ledger,
            first_seen_at,
            last_listed_at,
            presence: Presence::Listed,
            vast: row.vast.clone(),
            vast_told_at: None,
            status: StatusText::default(),
            log: LogChannel::default(),
            gpu: GpuActivity::default(),
            rental: Rental::default(),
            flag: None,
            assessment: None,
            // A flag from an earlier run is not held over the first look that finds no reason for it.
            unflagged_in_a_row: 1,
            row,
        }
    }

    /// The id that people and programs use: the manager's, or `vast-<number>` before it has registered.
    pub fn id(&self) -> String {
        match (&self.uuid, self.vast_id) {
            (Some(uuid), _) => uuid.to_string(),
            (None, Some(vast_id)) => format!("vast-{vast_id}"),
            (None, None) => format!("dwell-{}", self.key),
        }
    }

    /// What its dwell is compared by.
    pub fn kind(&self) -> Kind {
        Kind::of(&self.vast)
    }

    /// Its stays, completed and present, as far as their ends are dated.
    pub fn stays(&self) -> Vec<(State, Stay)> {
        let stays = stays_of(self.ledger.entries(), self.first_seen_at, self.last_listed_at);
        stays.into_iter().map(|(state, _, stay)| (state, stay)).collect()
    }
}

/// A time without answers. It is drawn as a gap and never counted as dwell observed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gap {
    /// Last answer before, on the manager's clock.
    pub from: Timestamp,
    /// First answer after, on the manager's clock.
    pub to: Timestamp,
}

/// What is known of the manager's present run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ManagerRun {
    /// When it started, on its own clock.
    pub started_at: Option<Timestamp>,
    /// True when its own log says so; false when inferred from log buffers that emptied.
    pub from_its_log: bool,
}

/// Why an answer was set aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejected {
    /// Requested before the answer that is known already.
    OlderRequest,
    /// The manager's time went back: an old answer from in between, unless the next one says the same.
    TimeWentBack,
}

/// What one answer brought.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observed {
    /// Set when the answer was not used.
    pub rejected: Option<Rejected>,
    /// Changes of state, in no particular order between instances.
    pub transitions: Vec<Transition>,
    /// Entries that turned out to be dated elsewhere.
    pub redated: Vec<Redated>,
    /// Instances seen for the first time.
    pub appeared: Vec<Key>,
    /// Instances whose row came under another key: `(forgotten, continued as)`.
    pub merged: Vec<(Key, Key)>,
    /// Time without answers before this one.
    pub gap: Option<Gap>,
    /// The manager's log buffers emptied since the last answer.
    pub buffers_emptied: bool,
    /// Rows that named nobody (neither uuid nor vast.ai number), or somebody named twice.
    pub rows_unusable: usize,
}

/// A flag raised, changed or cleared.
#[derive(Debug, Clone, PartialEq)]
pub struct FlagChange {
    /// Which instance.
    pub key: Key,
    /// Kind before.
    pub from: Option<FlagKind>,
    /// Flag now.
    pub to: Option<Flag>,
}

#[derive(Debug, Clone, Copy)]
struct Mark {
    requested_at: Timestamp,
    received_at: Timestamp,
    as_of: Timestamp,
}

/// A fleet under watch.
#[derive(Debug, Clone)]
pub struct Fleet {
    instances: BTreeMap<Key, Instance>,
    by_uuid: HashMap<InstanceUuid, Key>,
    by_vast: HashMap<VastId, BTreeSet<Key>>,
    next_key: u64,
    gap_after_s: f64,
    last: Option<Mark>,
    went_back_once: bool,
    older_once: bool,
    run: ManagerRun,
    vast_cache_age_s: Option<f64>,
    commands: Commands,
    written_off: Vec<WrittenOff>,
    past_stays: Vec<(State, Kind, Stay)>,
    expectations: Expectations,
    /// The minute that they are of; `None` where something has happened since.
    expectations_of: Option<i64>,
    /// The latest answer to an earlier process.
    resumed_from: Option<Timestamp>,
}

impl Fleet {
    /// An empty fleet. Answers further apart than `gap_after_s` seconds leave a [`Gap`].
    pub fn new(gap_after_s: f64) -> Self {
        Self {
            instances: BTreeMap::new(),
            by_uuid: HashMap::new(),
            by_vast: HashMap::new(),
            next_key: 1,
            gap_after_s,
            last: None,
            went_back_once: false,
            older_once: false,
            run: ManagerRun::default(),
            vast_cache_age_s: None,
            commands: Commands::default(),
            written_off: Vec::new(),
            past_stays: Vec::new(),
            expectations: Expectations::default(),
            expectations_of: None,
            resumed_from: None,
        }
    }

    /// From now on answers further apart than this leave a [`Gap`].
    pub fn set_gap_after_s(&mut self, gap_after_s: f64) {
        self.gap_after_s = gap_after_s;
    }

    /// Takes up instances known from earlier runs, the stays of others long gone, and the highest key ever used.
    pub fn remember(&mut self, instances: Vec<Instance>, past_stays: Vec<(State, Kind, Stay)>, highest_key: u64) {
        for instance in instances {
            self.next_key = self.next_key.max(instance.key.0 + 1);
            self.index(&instance);
            self.instances.insert(instance.key, instance);
        }
        self.next_key = self.next_key.max(highest_key + 1);
        self.past_stays = past_stays;
        self.expectations_of = None;
    }

    /// Goes on from the latest answer of an earlier process: `answered_at` is its time, `run` the manager's run, and
    /// `vast_cache_age_s` the age of its copy of vast.ai's list, as they were known then.
    pub fn resume(&mut self, answered_at: Timestamp, run: ManagerRun, vast_cache_age_s: Option<f64>) {
        self.run = run;
        self.vast_cache_age_s = vast_cache_age_s;
        self.resumed_from = Some(answered_at);
        let held: HashMap<Key, (Option<Flag>, u8)> = self
            .instances
            .values()
            .map(|instance| (instance.key, (instance.flag.clone(), instance.unflagged_in_a_row)))
            .collect();
        self.account();
        self.assess_at(answered_at);
        // What was found then, in the words of then; which flags there are is what was kept.
        for (key, (flag, unflagged)) in held {
            let Some(instance) = self.instances.get_mut(&key) else { continue };
            let same = instance.flag.as_ref().map(|flag| flag.kind) == flag.as_ref().map(|flag| flag.kind);
            if !same {
                if let Some(assessment) = &mut instance.assessment {
                    assessment.flag.clone_from(&flag);
                }
                instance.flag = flag;
            }
            instance.unflagged_in_a_row = unflagged;
        }
        self.vast_cache_age_s = None;
    }

    /// Every instance under watch, by key.
    pub fn instances(&self) -> impl Iterator<Item = &Instance> {
        self.instances.values()
    }

    /// One instance.
    pub fn instance(&self, key: Key) -> Option<&Instance> {
        self.instances.get(&key)
    }

    /// The instance with this manager id.
    pub fn by_uuid(&self, uuid: &InstanceUuid) -> Option<&Instance> {
        self.instances.get(self.by_uuid.get(uuid)?)
    }

    /// The time of the latest answer, on the manager's clock.
    pub fn as_of(&self) -> Option<Timestamp> {
        self.last.map(|mark| mark.as_of)
    }

    /// The manager's time at `now` on the operator's clock: the latest answer's time plus what has passed since.
    pub fn manager_time_at(&self, now: Timestamp) -> Timestamp {
        match self.last {
            Some(mark) => shift(mark.as_of, seconds_between(mark.received_at, now)),
            None => now,
        }
    }

    /// The manager's present run.
    pub fn manager_run(&self) -> ManagerRun {
        self.run
    }

    /// Age in seconds of the manager's copy of vast.ai's records at the latest answer.
    pub fn vast_cache_age_s(&self) -> Option<f64> {
        self.vast_cache_age_s
    }

    /// When the manager read the list of rentals that its latest answer is told from, on its clock.
    pub fn list_read_at(&self) -> Option<Timestamp> {
        Some(shift(self.as_of()?, -self.vast_cache_age_s?))
    }

    /// The manager's list at its latest answer is young enough to tell of then, and nothing says that it came short.
    pub fn list_can_tell(&self) -> bool {
        self.vast_cache_age_s.is_some_and(|age_s| age_s <= LIST_FRESH_S) && !self.list_is_doubtful()
    }

    fn list_is_doubtful(&self) -> bool {
        self.written_off.iter().any(|group| group.list_is_doubtful)
    }

    /// Rows that the manager wrote off together and that nothing accounts for, earliest first.
    pub fn written_off(&self) -> &[WrittenOff] {
        &self.written_off
    }

    /// Takes note that somebody ordered the end of who has this name: the manager's id, or vast.ai's number. What was ordered is not
    /// written off by mistake. True where it was not known.
    pub fn note_command(&mut self, name: &str, at: Timestamp) -> bool {
        let is_news = self.commands.note(name, at);
        if is_news {
            self.account();
        }
        is_news
    }

    /// A person has accounted for an instance's rental: it raises no alarm until a list read after `at` has it. True where that
    /// was not known.
    pub fn acknowledge(&mut self, key: Key, at: Timestamp) -> bool {
        let Some(instance) = self.instances.get_mut(&key) else { return false };
        if instance.rental.acknowledged_at >= Some(at) {
            return false;
        }
        instance.rental.acknowledged_at = Some(at);
        instance.unflagged_in_a_row = u8::MAX;
        self.account();
        true
    }

    /// vast.ai itself has said that a rental ended. True where that was not known.
    pub fn note_rental_ended(&mut self, key: Key, at: Timestamp) -> bool {
        let Some(instance) = self.instances.get_mut(&key) else { return false };
        if instance.rental.ended_at.is_some() || instance.rental.listed_at.is_some_and(|listed| listed > at) {
            return false;
        }
        instance.rental.ended_at = Some(at);
        self.acknowledge(key, at);
        true
    }

    /// Finds anew who was written off. Whoever is accounted for now loses its flag at the next assessment.
    fn account(&mut self) {
        let before: BTreeSet<Key> = self.written_off.iter().flat_map(|group| group.keys.iter().copied()).collect();
        self.written_off = written_off(&self.instances, &self.commands);
        let now: BTreeSet<Key> = self.written_off.iter().flat_map(|group| group.keys.iter().copied()).collect();
        for key in before.difference(&now) {
            if let Some(instance) = self.instances.get_mut(key) {
                instance.unflagged_in_a_row = u8::MAX;
            }
        }
    }

    /// What the list of this answer tells of rentals that the manager has no use for any more.
    fn note_rentals(&mut self, snapshot: &Snapshot) {
        self.account();
        let has_rows = snapshot.rows.iter().any(|row| row.vast_id.is_some());
        let Some(read_at) = snapshot.vast_read_at().filter(|_| has_rows && self.list_can_tell()) else { return };
        let killed = self.instances.values_mut().filter(|instance| instance.state == State::Killed);
        for instance in killed.filter(|instance| instance.presence == Presence::Listed && instance.row.vast_id.is_none()) {
            instance.rental.note_absent(read_at);
        }
        self.account();
    }

    /// Takes note of a start of the manager found in its own log. True when it is a start not known before.
    pub fn note_manager_start(&mut self, at: Timestamp) -> bool {
        let known = self.run.from_its_log && self.run.started_at.is_some_and(|known| known >= at);
        if !known {
            self.run = ManagerRun { started_at: Some(at), from_its_log: true };
        }
        !known
    }

    /// Takes note of lines of the manager's own log: what they tell of when instances began to run, which no row does. Gives the
    /// entries that are dated by them now, and the transitions that nobody saw.
    pub fn note_manager_lines(&mut self, lines: &[LogLine]) -> Observed {
        let mut observed = Observed::default();
        let seen_at = self.as_of();
        for (uuid, at) in lines.iter().filter_map(told_running) {
            let Some(instance) = self.by_uuid.get(&uuid).and_then(|key| self.instances.get_mut(key)) else { continue };
            let entry = Entry { state: State::Running, at, basis: Basis::Manager, earlier_by_s: 0.0 };
            if instance.ledger.has(&State::Running, at) {
                continue;
            }
            let entries = instance.ledger.entries();
            if let Some(was) =
                entries.iter().enumerate().find(|(index, _)| can_be_at(entries, *index, instance.first_seen_at, at))
            {
                let was = was.1.at;
                if instance.state == State::Running && instance.entered.at == was {
                    instance.entered = entry.clone();
                }
                instance.ledger.redate(was, entry.clone());
                observed.redated.push(Redated { key: instance.key, was, entry });
                continue;
            }
            // It had run and ended before anybody looked.
            let after = entries.partition_point(|entry| entry.at <= at);
            let before = after.checked_sub(1).and_then(|index| entries.get(index));
            if let (Some(before), Some(next), Some(seen_at)) = (before, entries.get(after), seen_at)
                && before.state.is_waiting()
                && next.state == State::Killed
            {
                observed.transitions.push(Transition {
                    key: instance.key,
                    from: Some(before.state.clone()),
                    entry: entry.clone(),
                    kind: TransitionKind::Told,
                    seen_at,
                });
                instance.ledger.add(entry);
            }
        }
        if !observed.redated.is_empty() || !observed.transitions.is_empty() {
            self.expectations_of = None;
        }
        observed
    }

    /// Takes note of log lines of one instance (all of them new), and that its buffer has been read.
    pub fn note_log_lines<'a>(&mut self, key: Key, lines: impl IntoIterator<Item = &'a LogLine>, read_at: Option<Timestamp>) {
        let Some(instance) = self.instances.get_mut(&key) else { return };
        for line in lines {
            instance.log.note_line(line);
        }
        if read_at.is_some() {
            instance.log.read_at = read_at;
        }
    }

    /// Takes note of how many lines the buffer had when it was last read.
    pub fn note_log_read(&mut self, key: Key, lines: u64) {
        if let Some(instance) = self.instances.get_mut(&key) {
            instance.log.read_lines = Some(lines);
        }
    }

    /// Takes in one answer of the dashboard.
    pub fn observe(&mut self, snapshot: &Snapshot) -> Observed {
        let mut observed = Observed::default();
        if let Some(rejected) = self.out_of_order(snapshot) {
            observed.rejected = Some(rejected);
            return observed;
        }
        let as_of = snapshot.as_of();
        if let Some(last) = self.last
            // By both clocks: one of them may have jumped.
            && seconds_between(last.received_at, snapshot.received_at).min(seconds_between(last.as_of, as_of)) > self.gap_after_s
        {
            observed.gap = Some(Gap { from: last.as_of, to: as_of });
        }
        if let Some(from) = self.resumed_from.take()
            && seconds_between(from, as_of) > self.gap_after_s
        {
            observed.gap = Some(Gap { from, to: as_of });
        }
        if observed.gap.is_some() {
            // Nothing of before is held over an answer that finds no reason for it.
            self.instances.values_mut().for_each(|instance| instance.unflagged_in_a_row = instance.unflagged_in_a_row.max(1));
        }
        self.vast_cache_age_s = snapshot.vast_cache_age_s;

        let uuids_listed: HashSet<&InstanceUuid> = snapshot.rows.iter().filter_map(|row| row.uuid.as_ref()).collect();
        let mut listed: BTreeSet<Key> = BTreeSet::new();
        let mut vast_of_registered: HashMap<VastId, Key> = HashMap::new();
        // Registered rows first: a `loading` row of the same vast.ai number must not take their place.
        let (registered, loading): (Vec<&Row>, Vec<&Row>) = snapshot.rows.iter().partition(|row| row.uuid.is_some());
        let mut nameless: HashSet<VastId> = HashSet::new();
        let mut lives: HashMap<VastId, Vec<(&InstanceUuid, Option<Timestamp>)>> = HashMap::new();
        for row in &registered {
            if let (Some(uuid), Some(vast_id)) = (&row.uuid, row.vast_id_told()) {
                lives.entry(vast_id).or_default().push((uuid, row.registered_at));
            }
        }
        for row in registered.into_iter().chain(loading) {
            // vast.ai's numbers are unique: a second nameless row of one is a copy.
            let copy = row.uuid.is_none() && row.vast_id_told().is_some_and(|vast_id| !nameless.insert(vast_id));
            let Some(key) = (if copy { None } else { self.identify(row, &uuids_listed, &listed) }) else {
                observed.rows_unusable += 1;
                continue;
            };
            listed.insert(key);
            if let (Some(_), Some(vast_id)) = (&row.uuid, row.vast_id) {
                vast_of_registered.insert(vast_id, key);
            }
            if self.instances.contains_key(&key) {
                self.update(key, row, snapshot, &mut observed);
            } else {
                // Another row of the same rental, kept or in this answer, that was there before this one.
                let had_a_life = row.vast_id_told().is_some_and(|vast_id| {
                    let kept = self.by_vast.get(&vast_id).is_some_and(|keys| {
                        keys.iter().filter_map(|key| self.instances.get(key)).any(|other| other.first_seen_at < snapshot.as_of())
                    });
                    let listed = lives.get(&vast_id).into_iter().flatten().any(|(uuid, registered_at)| {
                        row.uuid.as_ref() != Some(*uuid)
                            && row.registered_at.is_none_or(|own| registered_at.is_some_and(|at| at < own))
                    });
                    kept || listed
                });
                self.appear(key, row, had_a_life, snapshot, &mut observed);
            }
        }
        self.note_missing(&listed, &vast_of_registered, snapshot, &mut observed);
        self.note_rentals(snapshot);
        if observed.buffers_emptied && !self.run.from_its_log {
            self.run = ManagerRun { started_at: Some(as_of), from_its_log: false };
        }
        self.last = Some(Mark { requested_at: snapshot.requested_at, received_at: snapshot.received_at, as_of });
        if !observed.transitions.is_empty() || !observed.merged.is_empty() {
            self.expectations_of = None;
        }
        observed
    }

    fn out_of_order(&mut self, snapshot: &Snapshot) -> Option<Rejected> {
        let last = self.last?;
        // One request from before the last is an old one. Two in a row are this machine's clock set back.
        let older = snapshot.requested_at < last.requested_at && !self.older_once;
        self.older_once = older;
        if older {
            return Some(Rejected::OlderRequest);
        }
        let back = seconds_between(snapshot.as_of(), last.as_of) > CLOCK_GRAIN_S;
        // One answer from the past is an old answer. Two in a row are a manager whose clock was set back.
        let reject = back && !self.went_back_once;
        self.went_back_once = reject;
        reject.then_some(Rejected::TimeWentBack)
    }

    /// Whose row this is; a new key when nobody's; `None` when it names nobody or somebody already seen in this answer.
    fn identify(&mut self, row: &Row, uuids_listed: &HashSet<&InstanceUuid>, listed: &BTreeSet<Key>) -> Option<Key> {
        let vast_id = row.vast_id_told();
        if row.uuid.is_none() && vast_id.is_none() {
            return None;
        }
        let of_vast = |fleet: &Self, wanted: &dyn Fn(&Instance) -> bool| -> Option<Key> {
            let keys = fleet.by_vast.get(&vast_id?)?;
            keys.iter().rev().copied().find(|key| fleet.instances.get(key).is_some_and(wanted))
        };
        let known = match &row.uuid {
            Some(uuid) => self.by_uuid.get(uuid).copied().or_else(|| {
                // It registers: the nameless row of the same vast.ai number becomes this one.
                of_vast(self, &|instance| instance.uuid.is_none())
            }),
            None => of_vast(self, &|instance| instance.uuid.is_none()).or_else(|| {
                // The manager has lost its row (a new database): the same machine, nameless again.
                of_vast(self, &|instance| {
                    (instance.state != State::Killed || row.state == State::Killed)
                        && instance.uuid.as_ref().is_some_and(|uuid| !uuids_listed.contains(uuid))
                })
            }),
        };
        match known {
            Some(key) if listed.contains(&key) => None,
            Some(key) => Some(key),
            None => {
                let key = Key(self.next_key);
                self.next_key += 1;
                Some(key)
            }
        }
    }

    fn index(&mut self, instance: &Instance) {
        if let Some(uuid) = &instance.uuid {
            self.by_uuid.insert(uuid.clone(), instance.key);
        }
        if let Some(vast_id) = instance.vast_id {
            self.by_vast.entry(vast_id).or_default().insert(instance.key);
        }
    }

    fn forget(&mut self, key: Key) {
        let Some(instance) = self.instances.remove(&key) else { return };
        if let Some(uuid) = &instance.uuid
            && self.by_uuid.get(uuid) == Some(&key)
        {
            self.by_uuid.remove(uuid);
        }
        if let Some(keys) = instance.vast_id.and_then(|vast_id| self.by_vast.get_mut(&vast_id)) {
            keys.remove(&key);
        }
    }

    fn appear(&mut self, key: Key, row: &Row, had_a_life: bool, snapshot: &Snapshot, observed: &mut Observed) {
        let as_of = snapshot.as_of();
        let told = told_by_stamps(row, had_a_life);
        let entered = match entered_by_row(row).filter(|entry| entry.basis != Basis::VastStart || !had_a_life) {
            Some(entry) => entry,
            None => Entry { state: row.state.clone(), at: as_of, basis: Basis::FirstSight, earlier_by_s: 0.0 },
        };
        let mut from = None;
        for entry in &told {
            observed.transitions.push(Transition {
                key,
                from: from.replace(entry.state.clone()),
                entry: entry.clone(),
                kind: TransitionKind::Told,
                seen_at: as_of,
            });
        }
        observed.transitions.push(Transition {
            key,
            from,
            entry: entered.clone(),
            kind: TransitionKind::FirstSeen,
            seen_at: as_of,
        });
        let mut ledger = Ledger::default();
        told.into_iter().chain([entered.clone()]).for_each(|entry| ledger.push(entry));
        let mut instance = Instance::remembered(key, row.clone(), entered, ledger, as_of, as_of);
        if row.vast_id.is_some() {
            instance.vast_told_at = Some(as_of);
            instance.status.note(None, row.vast.status_msg.as_deref(), snapshot.vast_read_at().unwrap_or(as_of));
        }
        note_listed(&mut instance, row, snapshot);
        instance.log.buffered = row.log_lines;
        if row.log_lines == Some(0) {
            instance.log.read_at = Some(as_of);
        }
        instance.gpu.note(row, snapshot);
        self.index(&instance);
        self.instances.insert(key, instance);
        observed.appeared.push(key);
    }

    fn update(&mut self, key: Key, row: &Row, snapshot: &Snapshot, observed: &mut Observed) {
        let as_of = snapshot.as_of();
        let Some(instance) = self.instances.get_mut(&key) else { return };

        if let Presence::Missing { since, answers } = instance.presence
            && answers >= 2
        {
            let entry = Entry {
                state: row.state.clone(),
                at: as_of,
                basis: Basis::Observed,
                earlier_by_s: seconds_between(since, as_of),
            };
            observed.transitions.push(Transition {
                key,
                from: Some(instance.state.clone()),
                entry,
                kind: TransitionKind::Returned,
                seen_at: as_of,
            });
        }
        instance.presence = Presence::Listed;

        if row.state != instance.state {
            Self::change_state(instance, row, as_of, observed);
        } else if let Some(entry) = entered_by_row(row)
            && entry.at != instance.entered.at
            && entry.basis == Basis::Manager
        {
            // Same state, told anew: a benchmark reported twice.
            observed.transitions.push(Transition {
                key,
                from: Some(instance.state.clone()),
                entry: entry.clone(),
                kind: TransitionKind::Told,
                seen_at: as_of,
            });
            instance.ledger.add(entry.clone());
            instance.entered = entry;
        }

        instance.last_listed_at = as_of;
        note_listed(instance, row, snapshot);
        if instance.vast.gpu_name.is_none() && row.vast.kept_id.is_some() {
            instance.vast = row.vast.clone();
        }
        if row.vast_id.is_some() {
            let read_at = snapshot.vast_read_at().unwrap_or(as_of);
            instance.status.note(instance.vast.status_msg.as_deref(), row.vast.status_msg.as_deref(), read_at);
            if Kind::of(&row.vast) != Kind::of(&instance.vast) {
                self.expectations_of = None;
            }
            instance.vast = row.vast.clone();
            instance.vast_told_at = Some(as_of);
        }
        if let (Some(before), Some(now)) = (instance.log.buffered, row.log_lines)
            && now < before
            && now < BUFFER_NEVER_FULL_BELOW
        {
            observed.buffers_emptied = true;
            instance.log.read_at = None;
            instance.log.read_lines = None;
        }
        instance.log.buffered = row.log_lines;
        if row.log_lines == Some(0) {
            instance.log.read_at = Some(as_of);
        }
        instance.gpu.note(row, snapshot);

        let registers = instance.uuid.is_none() && row.uuid.is_some();
        if registers {
            instance.uuid.clone_from(&row.uuid);
        }
        let vast_changes = row.vast_id_told().filter(|told| instance.vast_id != Some(*told));
        if let Some(vast_id) = vast_changes {
            if let Some(keys) = instance.vast_id.and_then(|old| self.by_vast.get_mut(&old)) {
                keys.remove(&key);
            }
            instance.vast_id = Some(vast_id);
        }
        instance.row = row.clone();
        if registers || vast_changes.is_some() {
            if let Some(uuid) = &instance.uuid {
                self.by_uuid.insert(uuid.clone(), key);
            }
            if let Some(vast_id) = instance.vast_id {
                self.by_vast.entry(vast_id).or_default().insert(key);
            }
        }
    }

    fn change_state(instance: &mut Instance, row: &Row, as_of: Timestamp, observed: &mut Observed) {
        let kind = classify(&instance.state, row);
        // States passed through between two answers, dated by the manager.
        let mut from = instance.state.clone();
        for entry in told_by_stamps(row, true) {
            let passed = entry.at >= instance.entered.at && entry.state != from && entry.state != State::Loading;
            if passed && !instance.ledger.has(&entry.state, entry.at) {
                observed.transitions.push(Transition {
                    key: instance.key,
                    from: Some(std::mem::replace(&mut from, entry.state.clone())),
                    entry: entry.clone(),
                    kind: TransitionKind::Told,
                    seen_at: as_of,
                });
                instance.ledger.push(entry);
            }
        }
        // A rental that is `loading` again began to load before what it has been since.
        let is_of_now = |entry: &Entry| match entry.basis {
            Basis::BenchDone => false,
            Basis::VastStart => entry.at >= instance.entered.at,
            _ => true,
        };
        let entered = entered_by_row(row).filter(is_of_now).unwrap_or(Entry {
            state: row.state.clone(),
            at: as_of,
            basis: Basis::Observed,
            earlier_by_s: seconds_between(instance.last_listed_at, as_of).max(0.0),
        });
        observed.transitions.push(Transition {
            key: instance.key,
            from: Some(from),
            entry: entered.clone(),
            kind,
            seen_at: as_of,
        });
        instance.ledger.add(entered.clone());
        instance.entered = entered;
        instance.state = row.state.clone();
        instance.unflagged_in_a_row = u8::MAX;
    }

    fn note_missing(
        &mut self,
        listed: &BTreeSet<Key>,
        vast_of_registered: &HashMap<VastId, Key>,
        snapshot: &Snapshot,
        observed: &mut Observed,
    ) {
        let as_of = snapshot.as_of();
        let mut forget = Vec::new();
        for (key, instance) in &mut self.instances {
            if listed.contains(key) {
                continue;
            }
            if instance.uuid.is_none() {
                // Before its first copy of vast.ai's list the manager cannot list what has not registered.
                if snapshot.vast_cache_age_s.is_none() {
                    continue;
                }
                if let Some(into) = instance.vast_id.and_then(|vast_id| vast_of_registered.get(&vast_id)) {
                    observed.merged.push((*key, *into));
                    forget.push(*key);
                    continue;
                }
            }
            let (since, answers) = match instance.presence {
                Presence::Listed => (instance.last_listed_at, 1),
                Presence::Missing { since, answers } => (since, answers.saturating_add(1)),
            };
            instance.presence = Presence::Missing { since, answers };
            if answers == 2 {
                observed.transitions.push(Transition {
                    key: *key,
                    from: Some(instance.state.clone()),
                    entry: Entry {
                        state: instance.state.clone(),
                        at: as_of,
                        basis: Basis::Observed,
                        earlier_by_s: seconds_between(since, as_of).max(0.0),
                    },
                    kind: TransitionKind::Vanished,
                    seen_at: as_of,
                });
            }
            // The manager deletes killed rows after a week: expected, not worth a flag.
            let expected = instance.state == State::Killed && answers >= 2;
            if expected || seconds_between(since, as_of) > FORGET_AFTER_S {
                self.past_stays.extend(instance.stays().into_iter().map(|(state, stay)| (state, instance.kind(), stay)));
                forget.push(*key);
            }
        }
        forget.into_iter().for_each(|key| self.forget(key));
    }

    /// How long stays usually last in this fleet.
    pub fn expectations(&self) -> &Expectations {
        &self.expectations
    }

    /// Assesses every instance at the latest answer; returns the flags that changed.
    pub fn assess(&mut self) -> Vec<FlagChange> {
        let Some(as_of) = self.as_of() else { return Vec::new() };
        self.assess_at(as_of)
    }

    /// The curves are the same for whoever knows the same of the fleet, whenever it came to know it.
    fn refresh_expectations(&mut self, as_of: Timestamp) {
        let minute = as_of.as_millisecond().div_euclid(EXPECTATIONS_STEP_MS);
        if self.expectations_of == Some(minute) {
            return;
        }
        let until = Timestamp::from_millisecond(minute.saturating_mul(EXPECTATIONS_STEP_MS)).unwrap_or(as_of);
        let own = self.instances.values().flat_map(|instance| {
            let stays = stays_of(instance.ledger.entries(), instance.first_seen_at, instance.last_listed_at.min(until));
            stays.into_iter().map(|(state, _, stay)| (state, instance.kind(), stay))
        });
        self.expectations = Expectations::estimate(own.chain(self.past_stays.iter().cloned()));
        self.expectations_of = Some(minute);
    }

    fn assess_at(&mut self, as_of: Timestamp) -> Vec<FlagChange> {
        self.refresh_expectations(as_of);
        let controls = self.controls(as_of);
        let list_can_tell = self.list_can_tell();
        let groups = &self.written_off;
        let group_of: HashMap<Key, &WrittenOff> =
            groups.iter().flat_map(|group| group.keys.iter().map(move |key| (*key, group))).collect();
        let mut changes = Vec::new();
        for instance in self.instances.values_mut() {
            let kind = instance.kind();
            let control = kind
                .image
                .as_ref()
                .and_then(|image| controls.get(&(image.clone(), instance.state.clone())))
                .filter(|(_, name, key)| *key != instance.key && !name.is_empty())
                .map(|(source, name, _)| (source.as_str(), name.as_str()));
            let mut assessment = assess(
                instance,
                Surroundings {
                    as_of,
                    restarted_at: self.run.started_at,
                    vast_cache_age_s: self.vast_cache_age_s,
                    list_can_tell,
                    written_off: group_of.get(&instance.key).copied(),
                    control,
                    expectation: self.expectations.of(&instance.state, &kind),
                },
            );
            let before = instance.flag.as_ref().map(|flag| flag.kind);
            match &assessment.flag {
                Some(_) => instance.unflagged_in_a_row = 0,
                None => instance.unflagged_in_a_row = instance.unflagged_in_a_row.saturating_add(1),
            }
            if assessment.flag.is_none() && instance.unflagged_in_a_row < 2 {
                assessment.flag.clone_from(&instance.flag);
            }
            instance.flag.clone_from(&assessment.flag);
            let after = instance.flag.as_ref().map(|flag| flag.kind);
            if before != after {
                changes.push(FlagChange { key: instance.key, from: before, to: instance.flag.clone() });
            }
            instance.assessment = Some(assessment);
        }
        changes
    }

    /// For each image and state, an instance whose progress lines prove that the image ships them. A tag `latest` proves
    /// nothing: it names different images on different days and hosts, which is how a fix reaches no running instance.
    fn controls(&self, as_of: Timestamp) -> HashMap<(String, State), (String, String, Key)> {
        let mut controls = HashMap::new();
        for instance in self.instances.values() {
            let Some(image) = instance.vast.image() else { continue };
            let name_part = image.rsplit('/').next().unwrap_or(image);
            let fixed = image.contains('@') || name_part.split_once(':').is_some_and(|(_, tag)| tag != "latest");
            if !fixed {
                continue;
            }
            for state in State::KNOWN {
                let spoke = progress_sources(&state).iter().filter(|source| one_line_is_proof(source)).find(|source| {
                    instance.log.newest_new.get(**source).is_some_and(|at| seconds_between(*at, as_of) < FORGET_AFTER_S)
                });
                if let Some(source) = spoke {
                    controls
                        .entry((image.to_owned(), state))
                        .or_insert_with(|| ((*source).to_owned(), instance.id(), instance.key));
                }
            }
        }
        controls
    }
}

fn note_listed(instance: &mut Instance, row: &Row, snapshot: &Snapshot) {
    if let Some(read_at) = snapshot.vast_read_at().filter(|_| row.vast_id.is_some()) {
        instance.rental.note_listed(read_at);
    }
}

/// Whether the entry into `running` at this place, which nobody dated, can have been at `at`.
fn can_be_at(entries: &[Entry], index: usize, first_seen_at: Timestamp, at: Timestamp) -> bool {
    let Some(entry) = entries.get(index).filter(|entry| entry.state == State::Running) else { return false };
    let before = index.checked_sub(1).and_then(|index| entries.get(index)).map_or(Timestamp::MIN, |before| before.at);
    let (earliest, latest) = match entry.basis {
        Basis::Observed => (shift(entry.at, -entry.earlier_by_s - CLOCK_GRAIN_S), entry.at),
        Basis::BenchDone | Basis::FirstSight => (before, first_seen_at),
        Basis::Manager | Basis::VastStart => return false,
    };
    earliest.max(before) <= at && at <= shift(latest, CLOCK_GRAIN_S)
}

/// The entry into the present state as the row itself dates it.
fn entered_by_row(row: &Row) -> Option<Entry> {
    let dated = |at, basis| Entry { state: row.state.clone(), at, basis, earlier_by_s: 0.0 };
    match &row.state {
        State::Loading => row.vast.start_date.map(|at| dated(at, Basis::VastStart)),
        State::Running => row.bench_done_at.map(|at| dated(at, Basis::BenchDone)),
        state => row.stamp(state).map(|at| dated(at, Basis::Manager)),
    }
}
