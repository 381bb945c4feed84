//! What to look at next: the observation not yet made that is expected to tell most per second of waiting.
//!
//! For every cause the catalogue says which facts a look would most likely show. Causes that would show the same stay
//! together; what a look is worth is how much uncertainty (entropy) and how much regret (acting on the wrong kind of remedy)
//! is expected to be left once they are divided so. Reading is always proposed before acting: nothing here touches the work.

use std::collections::BTreeMap;

use crate::catalogue::{Act, NOT_IN_CATALOGUE, Phase, cause_of};
use crate::channel::{Channel, Health};
use crate::engine::{Diagnosis, shown_by};
use crate::fact::{self, Fact, Witness};

/// Causes that are weighed.
const WEIGHED: usize = 48;
/// A look worth less than this is not proposed, nats.
const WORTH_LEAST: f64 = 0.01;

/// A read-only look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Check {
    /// Read the instance's log at the manager.
    InstanceLog,
    /// Read the manager's own log.
    ManagerLog,
    /// Ask vast.ai for its record.
    VastRecord,
    /// Have the container's output uploaded.
    ContainerLog,
    /// Look at the machine by SSH.
    Ssh,
    /// Ask the prover for its status.
    Prover,
    /// Look at the machine again after a minute.
    SshAgain,
    /// Ask the prover again after a minute.
    ProverAgain,
}

impl Check {
    /// Every look.
    pub const ALL: [Self; 8] = [
        Self::InstanceLog,
        Self::ManagerLog,
        Self::VastRecord,
        Self::ContainerLog,
        Self::Ssh,
        Self::Prover,
        Self::SshAgain,
        Self::ProverAgain,
    ];

    /// Its stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InstanceLog => "read-log",
            Self::ManagerLog => "read-manager-log",
            Self::VastRecord => "ask-vast",
            Self::ContainerLog => "container-log",
            Self::Ssh => "ssh-probe",
            Self::Prover => "prover-status",
            Self::SshAgain => "ssh-probe-again",
            Self::ProverAgain => "prover-status-again",
        }
    }

    /// Reads [`Check::as_str`] back.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|check| check.as_str() == text)
    }

    /// What to do, as an imperative.
    pub fn title(self) -> &'static str {
        match self {
            Self::InstanceLog => "Read its log at the manager",
            Self::ManagerLog => "Read the manager's own log",
            Self::VastRecord => "Ask vast.ai for its record",
            Self::ContainerLog => "Have vast.ai upload the container's output",
            Self::Ssh => "Look at the machine by SSH",
            Self::Prover => "Ask the prover for its status",
            Self::SshAgain => "Look at the machine again after a minute",
            Self::ProverAgain => "Ask the prover again after a minute",
        }
    }

    /// The channel that it asks.
    pub fn channel(self) -> Channel {
        match self {
            Self::InstanceLog => Channel::InstanceLog,
            Self::ManagerLog => Channel::ManagerLog,
            Self::VastRecord => Channel::VastRecord,
            Self::ContainerLog => Channel::ContainerLog,
            Self::Ssh | Self::SshAgain => Channel::SshProbe,
            Self::Prover | Self::ProverAgain => Channel::ProverStatus,
        }
    }

    /// What it takes, seconds.
    pub fn seconds(self) -> f64 {
        match self {
            Self::InstanceLog | Self::ManagerLog => 1.0,
            Self::VastRecord => 3.0,
            Self::ContainerLog => 15.0,
            Self::Ssh => 12.0,
            Self::Prover => 6.0,
            Self::SshAgain => 75.0,
            Self::ProverAgain => 66.0,
        }
    }

    fn again(self) -> bool {
        matches!(self, Self::SshAgain | Self::ProverAgain)
    }
}

/// A look with what it is worth.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// Which.
    pub check: Check,
    /// Uncertainty that it is expected to take away, nats.
    pub uncertainty: f64,
    /// Probability of the wrong remedy that it is expected to take away.
    pub regret: f64,
    /// Both together, per second.
    pub worth: f64,
    /// Causes that it would tell apart, a group each, most probable first.
    pub separates: Vec<Vec<&'static str>>,
}

impl Diagnosis {
    fn health(&self, channel: Channel) -> Health {
        self.seen.channels.iter().find(|state| state.channel == channel).map_or(Health::NotAsked, |state| state.health)
    }

    fn can_be_made(&self, check: Check) -> bool {
        let on_card = matches!(self.seen.phase, Some(Phase::ParamsDone | Phase::BenchDone | Phase::Running));
        let health = self.health(check.channel());
        let ended = self.seen.phase == Some(Phase::Killed);
        let given_back = ended && !self.seen.observations.iter().any(|it| it.fact == fact::KILLED_STILL_LISTED && it.holds);
        if given_back && !matches!(check, Check::VastRecord | Check::ManagerLog | Check::InstanceLog) {
            return false;
        }
        let moves = self.seen.observations.iter().any(|it| it.fact == fact::WORK_GOES_ON);
        match check {
            Check::InstanceLog | Check::ManagerLog | Check::VastRecord | Check::ContainerLog | Check::Ssh => {
                health == Health::NotAsked
            }
            Check::Prover => health == Health::NotAsked && on_card,
            Check::SshAgain => health == Health::Working && !moves && self.seen.phase == Some(Phase::Registered),
            Check::ProverAgain => health == Health::Working && !moves && on_card,
        }
    }

    /// What to look at next, most worth first.
    pub fn next_checks(&self) -> Vec<Proposal> {
        let mut proposals: Vec<Proposal> =
            Check::ALL.into_iter().filter(|check| self.can_be_made(*check)).filter_map(|check| self.proposal(check)).collect();
        proposals.sort_by(|one, other| other.worth.total_cmp(&one.worth).then(one.check.cmp(&other.check)));
        proposals
    }

    fn proposal(&self, check: Check) -> Option<Proposal> {
        let channel = check.channel();
        let known: std::collections::HashSet<Fact> = self.seen.observations.iter().map(|it| it.fact).collect();
        let seen_there = |fact: Fact| known.contains(&fact);
        let facts: Vec<Fact> = Fact::every()
            .filter(|fact| fact.kind().by.contains(&channel) && !seen_there(*fact))
            .filter(|fact| !check.again() || *fact == fact::WORK_GOES_ON || fact.kind().two_looks)
            .collect();
        let weighed: Vec<(&'static str, f64, Act)> = self
            .hypotheses
            .iter()
            .filter(|it| it.id != NOT_IN_CATALOGUE)
            .take(WEIGHED)
            .filter_map(|it| Some((it.id, it.probability, cause_of(it.id)?.act)))
            .collect();
        let total: f64 = weighed.iter().map(|(_, probability, _)| probability).sum();
        if total <= 0.0 {
            return None;
        }
        let mut parts: BTreeMap<Vec<u16>, Vec<(&'static str, f64, Act)>> = BTreeMap::new();
        for (id, probability, act) in &weighed {
            let shown = expected(id, &facts, check);
            parts.entry(shown).or_default().push((id, probability / total, *act));
        }
        let all: Vec<(&'static str, f64, Act)> = weighed.iter().map(|(id, p, act)| (*id, p / total, *act)).collect();
        let (mut entropy_left, mut regret_left) = (0.0, 0.0);
        for part in parts.values() {
            let share: f64 = part.iter().map(|(_, p, _)| p).sum();
            if share > 0.0 {
                entropy_left += share * entropy(part, share);
                regret_left += share * regret(part, share);
            }
        }
        let uncertainty = (entropy(&all, 1.0) - entropy_left).max(0.0);
        let regret = (regret(&all, 1.0) - regret_left).max(0.0);
        if uncertainty < WORTH_LEAST {
            return None;
        }
        let mut separates: Vec<(f64, Vec<&'static str>)> = parts
            .into_values()
            .map(|part| {
                (
                    part.iter().map(|(_, p, _)| p).sum(),
                    part.into_iter().filter(|(_, p, _)| *p > 0.01).map(|(id, ..)| id).collect(),
                )
            })
            .collect();
        separates.retain(|(_, ids): &(f64, Vec<_>)| !ids.is_empty());
        separates.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
        Some(Proposal {
            check,
            uncertainty,
            regret,
            worth: (uncertainty + regret) / check.seconds(),
            separates: separates.into_iter().map(|(_, ids)| ids).collect(),
        })
    }
}

/// The facts that a look would most likely show if this were the cause. Where there is no way in, only that shows.
fn expected(id: &str, facts: &[Fact], check: Check) -> Vec<u16> {
    let Some(often) = shown_by(id) else { return Vec::new() };
    let often = |fact: Fact| often.get(fact.index()).copied().unwrap_or_default();
    let by_way = matches!(check, Check::Ssh | Check::Prover | Check::SshAgain | Check::ProverAgain);
    let shut = by_way
        && [fact::NO_ADDRESS, fact::SSH_TIMES_OUT, fact::SSH_REFUSED, fact::KEY_REFUSED].into_iter().any(|way| often(way) > 0.5);
    facts
        .iter()
        .filter(|fact| !shut || fact.kind().witness == Witness::Way)
        .filter(|fact| often(**fact) > 0.5)
        .map(|fact| fact.index() as u16)
        .collect()
}

fn entropy(part: &[(&str, f64, Act)], share: f64) -> f64 {
    part.iter().map(|(_, p, _)| p / share).filter(|p| *p > 0.0).map(|p| -p * p.ln()).sum()
}

/// Probability that the remedy with the most behind it is the wrong one.
fn regret(part: &[(&str, f64, Act)], share: f64) -> f64 {
    let mut acts: BTreeMap<Act, f64> = BTreeMap::new();
    for (_, p, act) in part {
        *acts.entry(*act).or_default() += p / share;
    }
    1.0 - acts.values().copied().fold(0.0, f64::max)
}
