//! Money: what proves, what waits, what leaks. Sums say how many instances they leave out.

use crate::{Instance, Presence, State};

/// Dollars per hour by what they buy.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Money {
    /// Instances that say `running`.
    pub proving_dollars_per_h: f64,
    /// Instances on their way there.
    pub waiting_dollars_per_h: f64,
    /// Killed for the manager, still on vast.ai's list.
    pub leaking_dollars_per_h: f64,
    /// Instances that cost something whose price was not told: the sums are too low by these.
    pub price_not_told: usize,
    /// Proofs per hour of the running instances, as their benchmarks measured them: not a count of proofs.
    pub benchmarked_proofs_per_h: f64,
    /// Running instances without a benchmark rate.
    pub rate_not_told: usize,
}

impl Money {
    /// All dollars per hour over all proofs per hour; `None` when nothing proves.
    pub fn dollars_per_proof_all_in(&self) -> Option<f64> {
        let spent = self.proving_dollars_per_h + self.waiting_dollars_per_h + self.leaking_dollars_per_h;
        (self.benchmarked_proofs_per_h > 0.0).then(|| spent / self.benchmarked_proofs_per_h)
    }
}

/// Adds up a fleet.
pub fn money<'a>(instances: impl IntoIterator<Item = &'a Instance>) -> Money {
    let mut money = Money::default();
    for instance in instances {
        if !matches!(instance.presence, Presence::Listed) {
            continue;
        }
        let sum = match instance.state {
            State::Running => &mut money.proving_dollars_per_h,
            // A killed row that still has a vast.ai record is still billed.
            State::Killed if instance.row.vast_id.is_some() => &mut money.leaking_dollars_per_h,
            State::Killed => continue,
            _ => &mut money.waiting_dollars_per_h,
        };
        match instance.row.vast.dollars_per_h {
            Some(dollars) => *sum += dollars,
            None => money.price_not_told += 1,
        }
        if instance.state == State::Running {
            match instance.row.bench_rate_proofs_per_h {
                Some(rate) => money.benchmarked_proofs_per_h += rate,
                None => money.rate_not_told += 1,
            }
        }
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
