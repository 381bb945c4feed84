//! How long is normal: per state, from the narrowest group of the fleet's own history that is large enough, else from a
//! built-in prior. Never "no opinion" for a state that an instance is supposed to leave.

use std::collections::BTreeMap;

use crate::{Curve, Outcome, State, Stay, VastFacts};

/// Completed stays that a group needs before its own curve is believed.
pub const MINIMUM_ADVANCES: usize = 8;

/// Completed stays from which the longest of them is taken for "what this kind has ever needed" without the prior's limit.
const AMPLE_ADVANCES: usize = 20;

/// What dwell is compared by. Absent where vast.ai told nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    /// Card model with its count.
    pub gpu: Option<String>,
    /// Image reference.
    pub image: Option<String>,
    /// Machine, as `machine 40100`.
    pub machine: Option<String>,
    /// Download bandwidth, whole Mbit/s, for the prior of the parameter fetch.
    pub inet_down_mbps: Option<u64>,
}

impl Kind {
    /// The kind that a vast.ai record describes.
    pub fn of(vast: &VastFacts) -> Self {
        Self {
            gpu: vast.gpu_kind(),
            image: vast.image().map(str::to_owned),
            machine: vast.machine_id.map(|id| format!("machine {id}")),
            inet_down_mbps: vast.inet_down_mbps.map(|mbps| mbps.max(0.0) as u64),
        }
    }

    /// Names of the groups it belongs to, narrowest first, ending with the whole fleet.
    fn groups(&self) -> Vec<String> {
        let mut groups = Vec::new();
        if let Some(machine) = &self.machine {
            groups.push(machine.clone());
        }
        if let (Some(gpu), Some(image)) = (&self.gpu, &self.image) {
            groups.push(format!("{gpu} on {image}"));
        }
        groups.extend(self.gpu.clone());
        groups.push(FLEET.to_owned());
        groups
    }
}

const FLEET: &str = "the fleet";

/// What an expectation rests on.
#[derive(Debug, Clone, PartialEq)]
pub enum ExpectationBase {
    /// This fleet's own stays.
    Group {
        /// e.g. `RTX 4090`, `the fleet`.
        name: String,
        /// Stays that advanced.
        advanced: usize,
        /// Stays still running or lost from sight, counted as at least so long.
        censored: usize,
        /// Stays that the manager killed.
        killed: usize,
    },
    /// Built in.
    Prior {
        /// Where the figures come from.
        source: &'static str,
    },
}

/// How long a stay in a state usually takes. Seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectation {
    /// Half of those that go on have gone on by then.
    pub usual_s: f64,
    /// 95 % of those that go on have gone on by then.
    pub late_from_s: f64,
    /// Longer than this its kind has never needed.
    pub limit_s: f64,
    /// What it rests on.
    pub base: ExpectationBase,
}

const MINUTE: f64 = 60.0;

/// Size of the proof parameters: about 100 GiB (the manager's protocol document), in megabits.
const PARAMETERS_MEGABIT: f64 = 100.0 * 1024.0 * 1024.0 * 1024.0 * 8.0 / 1e6;

/// The built-in expectation of a state; `None` for states that nobody is waiting to leave.
pub fn prior(state: &State, kind: &Kind) -> Option<Expectation> {
    let (usual_min, late_min, limit_min, source) = match state {
        State::Loading => {
            (4.0, 12.0, 15.0, "prior: an image pull takes minutes; the manager destroys labelled instances after 15 min")
        }
        State::Registered => match kind.inet_down_mbps.filter(|mbps| *mbps > 0) {
            Some(mbps) => {
                // The advertised rate is seldom reached: usual at four fifths of it, late at two fifths.
                let ideal_min = PARAMETERS_MEGABIT / mbps as f64 / MINUTE;
                let usual = (ideal_min / 0.8).clamp(20.0, 70.0);
                (
                    usual,
                    (ideal_min / 0.4).clamp(usual + 10.0, 85.0),
                    90.0,
                    "prior: 100 GiB of parameters at the advertised bandwidth, 20-90 min",
                )
            }
            None => (40.0, 80.0, 90.0, "prior: 100 GiB of parameters, 20-90 min; bandwidth not told"),
        },
        State::ParamsDone => {
            (30.0, 39.0, 40.0, "prior: a benchmark takes 26-39 min by the comment beside the manager's 45 min timer")
        }
        State::BenchDone => (1.0, 5.0, 15.0, "prior: the prover starts within minutes of the benchmark"),
        State::Running | State::Killed | State::Unknown(_) => return None,
    };
    Some(Expectation {
        usual_s: usual_min * MINUTE,
        late_from_s: late_min * MINUTE,
        limit_s: limit_min * MINUTE,
        base: ExpectationBase::Prior { source },
    })
}

/// The fleet's own history of stays, as curves per state and group.
#[derive(Debug, Clone, Default)]
pub struct Expectations {
    curves: BTreeMap<(State, String), Curve>,
}

impl Expectations {
    /// Builds every curve from stays labelled with their state and kind.
    pub fn estimate(stays: impl IntoIterator<Item = (State, Kind, Stay)>) -> Self {
        let mut grouped: BTreeMap<(State, String), Vec<Stay>> = BTreeMap::new();
        for (state, kind, stay) in stays {
            for group in kind.groups() {
                grouped.entry((state.clone(), group)).or_default().push(stay);
            }
        }
        // A group too small to be believed is not worth a curve; ten thousand machines would each have one.
        let curves = grouped
            .into_iter()
            .filter(|(_, stays)| stays.iter().filter(|stay| stay.outcome == Outcome::Advanced).count() >= MINIMUM_ADVANCES)
            .map(|(group, stays)| (group, Curve::estimate(&stays)))
            .collect();
        Self { curves }
    }

    /// The expectation for a stay in `state` of an instance of this kind.
    pub fn of(&self, state: &State, kind: &Kind) -> Option<Expectation> {
        let prior = prior(state, kind)?;
        for name in kind.groups() {
            let Some(curve) = self.curves.get(&(state.clone(), name.clone())) else { continue };
            let (Some(usual_s), Some(late_from_s), Some(longest_s)) =
                (curve.quantile_s(0.5), curve.quantile_s(0.95), curve.longest_s())
            else {
                continue;
            };
            // Stays of seconds (parameters already there) say nothing about one that has the whole work before it.
            let least_s = if curve.advanced() < AMPLE_ADVANCES { prior.limit_s } else { prior.usual_s };
            let (limit_s, late_from_s) = (longest_s.max(least_s), late_from_s.max(MINUTE));
            let base =
                ExpectationBase::Group { name, advanced: curve.advanced(), censored: curve.censored(), killed: curve.killed() };
            return Some(Expectation { usual_s, late_from_s, limit_s, base });
        }
        Some(prior)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(gpu: &str) -> Kind {
        Kind { gpu: Some(gpu.into()), ..Kind::default() }
    }

    fn stays(gpu: &str, minutes: impl IntoIterator<Item = f64>) -> Vec<(State, Kind, Stay)> {
        minutes
            .into_iter()
            .map(|minutes| {
                let stay = Stay { watched_from_s: 0.0, until_s: minutes * 60.0, outcome: Outcome::Advanced };
                (State::ParamsDone, kind(gpu), stay)
            })
            .collect()
    }

    #[test]
    fn the_narrowest_group_with_enough_stays_decides() {
        let mut all = stays("RTX 4090", (0..8).map(|i| 20.0 + f64::from(i)));
        all.extend(stays("RTX 3090", [35.0, 36.0]));
        let expectations = Expectations::estimate(all);
        let own = expectations.of(&State::ParamsDone, &kind("RTX 4090")).unwrap();
        assert!(matches!(&own.base, ExpectationBase::Group { name, advanced: 8, .. } if name == "RTX 4090"));
        assert_eq!(own.usual_s, 23.0 * 60.0);
        let few = expectations.of(&State::ParamsDone, &kind("RTX 3090")).unwrap();
        assert!(matches!(&few.base, ExpectationBase::Group { name, advanced: 10, .. } if name == "the fleet"));
    }

    #[test]
    fn a_handful_of_stays_does_not_shorten_the_limit() {
        let expectations = Expectations::estimate(stays("RTX 4090", (0..8).map(|_| 20.0)));
        assert_eq!(expectations.of(&State::ParamsDone, &kind("RTX 4090")).unwrap().limit_s, 40.0 * 60.0);
        let ample = Expectations::estimate(stays("RTX 4090", (0..20).map(|i| 32.0 + f64::from(i) / 10.0)));
        assert_eq!(ample.of(&State::ParamsDone, &kind("RTX 4090")).unwrap().limit_s, 33.9 * 60.0);
    }

    #[test]
    fn stays_of_seconds_do_not_condemn_one_that_has_the_work_before_it() {
        let expectations = Expectations::estimate(stays("RTX 4090", (0..50).map(|_| 0.0)));
        let expectation = expectations.of(&State::ParamsDone, &kind("RTX 4090")).unwrap();
        assert_eq!((expectation.late_from_s, expectation.limit_s), (60.0, 30.0 * 60.0));
    }

    #[test]
    fn no_history_falls_back_to_the_prior() {
        let none = Expectations::default();
        let expectation = none.of(&State::ParamsDone, &Kind::default()).unwrap();
        assert!(matches!(expectation.base, ExpectationBase::Prior { .. }));
        assert!(none.of(&State::Running, &Kind::default()).is_none());
    }

    #[test]
    fn the_parameter_prior_follows_the_bandwidth() {
        let at =
            |mbps| prior(&State::Registered, &Kind { inet_down_mbps: Some(mbps), ..Kind::default() }).unwrap().usual_s / 60.0;
        assert!((at(800) - 22.4).abs() < 0.1, "{}", at(800));
        assert_eq!((at(10_000), at(50)), (20.0, 70.0));
    }
}
