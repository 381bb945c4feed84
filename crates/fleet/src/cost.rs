//! Money: what proves, what waits, what stands still, what leaks. Sums say how many instances they leave out, and a part of which
//! nothing is known is no zero.

use crate::{FlagKind, Fleet, Instance, Presence, State};

/// What a part of a fleet costs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Part {
    /// Dollars per hour, of those whose price was told.
    pub dollars_per_h: f64,
    /// Instances in it.
    pub instances: usize,
    /// Those of them whose price was not told.
    pub price_not_told: usize,
}

impl Part {
    fn add(&mut self, instance: &Instance) {
        self.instances += 1;
        // What it last cost, where its present row tells no price any more.
        match instance.row.vast.dollars_per_h.or(instance.vast.dollars_per_h) {
            Some(dollars) => self.dollars_per_h += dollars,
            None => self.price_not_told += 1,
        }
    }

    /// Dollars per hour; `None` where nobody's price was told.
    pub fn told(&self) -> Option<f64> {
        (self.instances == 0 || self.price_not_told < self.instances).then_some(self.dollars_per_h)
    }
}

/// Dollars per hour by what they buy.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Money {
    /// Instances that say `running`, and nothing speaks against it.
    pub proving: Part,
    /// Instances on their way there, or being destroyed, and nothing speaks against it.
    pub waiting: Part,
    /// Instances alive that are flagged as needing a person: no progress is seen of what they cost.
    pub stalled: Part,
    /// Killed for the manager, and billed by vast.ai's list when it last told.
    pub leaking: Part,
    /// Written off, or not listed by the manager any more: whether they are billed is not known.
    pub unknown: Part,
    /// The manager's list can tell that nothing else leaks.
    pub leaks_known: bool,
    /// The manager has a list, and so knows of rentals that have not registered.
    pub rentals_known: bool,
    /// Proofs per hour of the proving instances, as their benchmarks measured them: not a count of proofs.
    pub benchmarked_proofs_per_h: f64,
    /// Proving instances without a benchmark rate.
    pub rate_not_told: usize,
}

impl Money {
    /// Dollars per hour that leak; `None` where none is known and the manager's list cannot tell.
    pub fn leaking_dollars_per_h(&self) -> Option<f64> {
        self.leaking.told().filter(|_| self.leaks_known || self.leaking.instances > 0)
    }

    /// Dollars per hour that wait; `None` where none is known and the manager has no list that could have them.
    pub fn waiting_dollars_per_h(&self) -> Option<f64> {
        self.waiting.told().filter(|_| self.rentals_known || self.waiting.instances > 0)
    }

    /// Instances that cost something whose price was not told: the sums are too low by these.
    pub fn price_not_told(&self) -> usize {
        [self.proving, self.waiting, self.stalled, self.leaking, self.unknown].iter().map(|part| part.price_not_told).sum()
    }

    /// All dollars per hour over all proofs per hour; `None` when nothing proves.
    pub fn dollars_per_proof_all_in(&self) -> Option<f64> {
        let spent: f64 = [self.proving, self.waiting, self.stalled, self.leaking].iter().map(|part| part.dollars_per_h).sum();
        (self.benchmarked_proofs_per_h > 0.0).then(|| spent / self.benchmarked_proofs_per_h)
    }
}

/// Adds up a fleet, as it was last assessed.
pub fn money(fleet: &Fleet) -> Money {
    let rentals_known = fleet.vast_cache_age_s().is_some();
    let mut money = Money { leaks_known: fleet.list_can_tell(), rentals_known, ..Money::default() };
    for instance in fleet.instances() {
        let flag = instance.flag.as_ref().map(|flag| flag.kind);
        let part = match (&instance.state, flag) {
            (_, Some(FlagKind::Leaking)) => &mut money.leaking,
            (_, Some(FlagKind::WrittenOff | FlagKind::Gone)) => &mut money.unknown,
            // What the list still has is being destroyed; what it lacks has ended.
            (State::Killed, _) if instance.row.vast_id.is_none() || instance.rental.ended_at.is_some() => continue,
            (State::Killed, _) if instance.presence == Presence::Listed => &mut money.waiting,
            (State::Killed, _) => continue,
            _ if instance.presence != Presence::Listed => &mut money.unknown,
            (_, Some(kind)) if kind.needs_a_person() => &mut money.stalled,
            (State::Running, _) => {
                match instance.row.bench_rate_proofs_per_h {
                    Some(rate) => money.benchmarked_proofs_per_h += rate,
                    None => money.rate_not_told += 1,
                }
                &mut money.proving
            }
            _ => &mut money.waiting,
        };
        part.add(instance);
    }
    money
}

/// How many instances are in each state, known states first in life order, then unknown ones by name.
pub type StateCounts = Vec<(State, usize)>;

/// Counts the listed instances by state. Known states are always there, with 0 where nobody is.
pub fn state_counts<'a>(instances: impl IntoIterator<Item = &'a Instance>) -> StateCounts {
    let mut counts: StateCounts = State::KNOWN.iter().map(|state| (state.clone(), 0)).collect();
    for instance in instances {
        if !matches!(instance.presence, Presence::Listed) {
            continue;
        }
        match counts.iter_mut().find(|(state, _)| *state == instance.state) {
            Some((_, count)) => *count += 1,
            None => counts.push((instance.state.clone(), 1)),
        }
    }
    let known = State::KNOWN.len();
    counts[known..].sort();
    counts
}
