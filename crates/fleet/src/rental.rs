//! Whether vast.ai bills an instance, as far as the manager's list of rentals tells: by which reading, and how old that is. An
//! instance that a list lacks is not an ended rental: lists come short, come empty and stop coming.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::{Instance, Key, Presence, State, Timestamp, seconds_between, shift};

/// From this age on the manager's list of rentals says nothing about now, seconds: three of its readings, one a minute.
pub const LIST_FRESH_S: f64 = 180.0;

/// A killed instance still on vast.ai's list this long after the kill is not merely being destroyed, seconds: the manager
/// reads the list every 60 s.
pub(crate) const LEAK_AFTER_S: f64 = 300.0;

/// What the manager wrote off and its next list has again was never gone: no destroy was sent. Seconds, for rounded times.
const BACK_AFTER_S: f64 = 5.0;

/// Rows that one reading of the list wrote off are killed within this time of each other, seconds.
const TOGETHER_S: f64 = 30.0;

/// Written off together, at least: so many where the list came short, so many where it left nothing.
const SHORT_LIST_LEAST: usize = 3;
const EMPTY_LIST_LEAST: usize = 2;

/// A fifth of those alive is a list that came short; so many rows are one, however large the fleet.
const SHORT_LIST_SHARE: f64 = 0.2;
const SHORT_LIST_MANY: usize = 10;

/// A command explains a kill that comes up to this long before it is written down, seconds: two clocks, a busy manager.
const COMMAND_SLACK_S: f64 = 10.0;

/// Commands that are remembered.
const COMMANDS_MAX: usize = 20_000;

/// What the manager writes for a row that its list lacks (source: the manager's monitor).
const WRITTEN_OFF: &str = "disappeared from vast";

/// Sightings of an instance's rental in vast.ai's list, as the manager read it. Times are on the manager's clock.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rental {
    /// When the newest list that has it was read.
    pub listed_at: Option<Timestamp>,
    /// When the first list after that was read that lacks it and can be believed.
    pub ended_at: Option<Timestamp>,
    /// When a person accounted for it.
    pub acknowledged_at: Option<Timestamp>,
}

impl Rental {
    /// A list has it. The time of one reading is told anew with every answer, a second earlier or later: it never goes back.
    pub(crate) fn note_listed(&mut self, read_at: Timestamp) {
        self.listed_at = self.listed_at.max(Some(read_at));
        if self.ended_at.is_some_and(|ended| seconds_between(ended, read_at) > BACK_AFTER_S) {
            self.ended_at = None;
        }
    }

    /// A list that can be believed lacks it.
    pub(crate) fn note_absent(&mut self, read_at: Timestamp) {
        if self.ended_at.is_none() && self.listed_at.is_none_or(|listed| seconds_between(listed, read_at) > BACK_AFTER_S) {
            self.ended_at = Some(read_at);
        }
    }

    /// A list read after `at` has it.
    fn is_back(&self, at: Timestamp) -> bool {
        self.listed_at.is_some_and(|listed| seconds_between(at, listed) > BACK_AFTER_S)
    }

    /// A person has accounted for it, and no list has had it since.
    fn is_acknowledged(&self) -> bool {
        self.acknowledged_at.is_some_and(|at| self.listed_at.is_none_or(|listed| listed <= at))
    }
}

impl Instance {
    /// The manager wrote it off: its list of rentals lacked it.
    pub fn is_written_off(&self) -> bool {
        let reason = self.row.kill_reason.as_deref();
        self.state == State::Killed && reason.is_some_and(|reason| reason.contains(WRITTEN_OFF))
    }

    /// When vast.ai last listed, and so billed, this killed instance; `None` where it is not known to be billed after its kill.
    pub fn leak_seen_at(&self) -> Option<Timestamp> {
        let killed_at = self.row.killed_at.filter(|_| self.state == State::Killed)?;
        let after_s = if self.is_written_off() { BACK_AFTER_S } else { LEAK_AFTER_S };
        self.rental
            .listed_at
            .filter(|listed| seconds_between(killed_at, *listed) >= after_s)
            .filter(|_| self.rental.ended_at.is_none() && !self.rental.is_acknowledged())
    }

    /// Since when a leak is one: not while it may merely be being destroyed.
    pub(crate) fn leaks_since(&self) -> Option<Timestamp> {
        let killed_at = self.row.killed_at?;
        Some(if self.is_written_off() { killed_at } else { shift(killed_at, LEAK_AFTER_S) })
    }

    /// Its log went on after its kill: something on it still runs. What was under way at the kill arrives within a minute.
    pub fn spoke_after_kill(&self) -> Option<Timestamp> {
        let killed_at = self.row.killed_at.filter(|_| self.state == State::Killed)?;
        self.log.newest.values().max().copied().filter(|newest| seconds_between(killed_at, *newest) > 90.0)
    }
}

/// Rows that one reading of the manager's list wrote off together, and that nothing explains: the list came empty or short.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenOff {
    /// When the manager killed the first of them, on its clock.
    pub at: Timestamp,
    /// Those of them whose rental may still be billed.
    pub keys: Vec<Key>,
    /// All of them.
    pub count: usize,
    /// Rows that lived until then, those included.
    pub alive_before: usize,
    /// No later list has any of them, nor anything new: the list that the manager has now may be the same bad one.
    pub list_is_doubtful: bool,
}

/// What is known to have been done to instances on purpose: by whom the manager names, or by whom vast.ai numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Commands {
    at: HashMap<String, Timestamp>,
}

impl Commands {
    /// Takes note that somebody ordered the end of who has this name; the earliest order counts. False where it was known.
    pub(crate) fn note(&mut self, name: &str, at: Timestamp) -> bool {
        if let Some(known) = self.at.get_mut(name) {
            let is_news = at < *known;
            *known = at.min(*known);
            return is_news;
        }
        if self.at.len() < COMMANDS_MAX {
            self.at.insert(name.to_owned(), at);
            return true;
        }
        false
    }

    fn explain(&self, instance: &Instance, killed_at: Timestamp) -> bool {
        let uuid = instance.uuid.as_ref().map(ToString::to_string);
        let number = instance.vast_id.map(|id| id.to_string());
        [uuid, number]
            .into_iter()
            .flatten()
            .any(|name| self.at.get(&name).is_some_and(|at| seconds_between(*at, killed_at) >= -COMMAND_SLACK_S))
    }
}

/// Finds who was written off together. Who was accounted for since, by a list, by a command or by a person, is not among them.
pub(crate) fn written_off(instances: &BTreeMap<Key, Instance>, commands: &Commands) -> Vec<WrittenOff> {
    let mut killed: Vec<(Timestamp, &Instance)> = instances
        .values()
        .filter(|instance| instance.is_written_off() && instance.presence == Presence::Listed)
        .filter_map(|instance| Some((instance.row.killed_at?, instance)))
        .filter(|(at, instance)| !commands.explain(instance, *at))
        .collect();
    if killed.len() < EMPTY_LIST_LEAST {
        return Vec::new();
    }
    killed.sort_by_key(|(at, instance)| (*at, instance.key));
    // A rental that has another row is not lost with the old one.
    let taken_up: BTreeSet<_> = instances
        .values()
        .filter(|instance| instance.state != State::Killed && instance.presence == Presence::Listed)
        .filter_map(|instance| instance.vast_id)
        .collect();
    let mut groups = Vec::new();
    let mut rest = &killed[..];
    while let Some((first, _)) = rest.first().copied() {
        let count = rest.iter().take_while(|(at, _)| seconds_between(first, *at) <= TOGETHER_S).count();
        let (group, after) = rest.split_at(count);
        rest = after;
        let spared = instances
            .values()
            .filter(|instance| instance.presence == Presence::Listed && lived_from(instance) < first)
            .filter(|instance| match (&instance.state, instance.row.killed_at) {
                (State::Killed, Some(at)) => seconds_between(first, at) > TOGETHER_S,
                (State::Killed, None) => false,
                _ => true,
            })
            .count();
        let share = count as f64 / (count + spared) as f64;
        let is_short = count >= SHORT_LIST_LEAST && (share >= SHORT_LIST_SHARE || count >= SHORT_LIST_MANY);
        let is_empty = count >= EMPTY_LIST_LEAST && spared == 0;
        if !is_short && !is_empty {
            continue;
        }
        // A rental that began and registered since is on the list: it is not the same bad one any more.
        let is_new = |instance: &Instance| {
            instance.uuid.is_some()
                && instance.row.vast_id.is_some()
                && instance.presence == Presence::Listed
                && instance.row.registered_at.is_some_and(|at| seconds_between(first, at) > TOGETHER_S)
        };
        let has_new = instances.values().any(is_new);
        let back = group.iter().filter(|(_, instance)| instance.rental.is_back(first)).count();
        let open = |instance: &&Instance| {
            let rental = &instance.rental;
            let is_elsewhere = instance.vast_id.is_some_and(|id| taken_up.contains(&id));
            // Only a list that has what the one before lacked can tell by an absence that a rental ended.
            let can_tell = rental.is_back(first) || back * 2 >= count || has_new;
            !(is_elsewhere || rental.is_acknowledged() || (can_tell && rental.ended_at.is_some()))
        };
        let keys: Vec<Key> = group.iter().map(|(_, instance)| *instance).filter(open).map(|instance| instance.key).collect();
        if !keys.is_empty() {
            let list_is_doubtful = back == 0 && !has_new;
            groups.push(WrittenOff { at: first, keys, count, alive_before: count + spared, list_is_doubtful });
        }
    }
    groups
}

/// Since when it lived, as far as anything tells.
fn lived_from(instance: &Instance) -> Timestamp {
    let row = &instance.row;
    let told = row.registered_at.or(instance.vast.start_date);
    told.map_or(instance.first_seen_at, |told| told.min(instance.first_seen_at))
}
