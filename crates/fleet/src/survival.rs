//! How long stays last, from completed and from still running ones.
//!
//! Aalen-Johansen estimate of the cumulative incidence of *advancing*, with the manager's kills as a competing risk,
//! stays still running as right-censored, and stays that Dwell began to watch late as left-truncated
//! (Aalen & Johansen 1978; Putter, Fiocco & Geskus, Statistics in Medicine 26, 2007, for the form used here). Nothing
//! is said about times beyond the last at which anybody was still at risk: the manager's timers end them all.

/// How a stay ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Went on to a later state.
    Advanced,
    /// Killed: the stay might have ended otherwise.
    Killed,
    /// Still running, or lost from sight: at least this long.
    Censored,
}

/// One stay in one state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stay {
    /// Age of the stay when it came under watch, seconds (0 where the whole of it is known).
    pub watched_from_s: f64,
    /// Age when it ended or was last seen, seconds.
    pub until_s: f64,
    /// How it ended.
    pub outcome: Outcome,
}

/// Cumulative incidence of advancing, as steps.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Curve {
    /// (age in seconds, probability of having advanced by then), rising.
    steps: Vec<(f64, f64)>,
    /// Stays that advanced.
    advanced: usize,
    /// Stays still running or lost.
    censored: usize,
    /// Stays killed.
    killed: usize,
    /// Longest stay that advanced, seconds.
    longest_s: Option<f64>,
}

impl Curve {
    /// Estimates from any number of stays; impossible ones (negative, not finite, ended before watched) are left out.
    pub fn estimate(stays: &[Stay]) -> Self {
        let mut valid: Vec<Stay> = stays
            .iter()
            .copied()
            .filter(|stay| {
                stay.until_s.is_finite()
                    && stay.watched_from_s >= 0.0
                    && (stay.watched_from_s < stay.until_s || stay.watched_from_s == 0.0 && stay.until_s == 0.0)
            })
            .collect();
        valid.sort_by(|left, right| left.until_s.total_cmp(&right.until_s));
        let mut entries: Vec<f64> = valid.iter().map(|stay| stay.watched_from_s).collect();
        entries.sort_by(f64::total_cmp);

        let mut curve = Self::default();
        let (mut surviving, mut incidence) = (1.0, 0.0);
        let (mut entered, mut left) = (0, 0);
        let mut index = 0;
        while index < valid.len() {
            let age_s = valid[index].until_s;
            // At risk just before this age: entered earlier, not yet left. A stay watched from 0 counts at age 0 too.
            while entered < entries.len() && (entries[entered] < age_s || entries[entered] == 0.0) {
                entered += 1;
            }
            let at_risk = (entered - left) as f64;
            let (mut advanced, mut killed, mut together) = (0, 0, 0);
            while index + together < valid.len() && valid[index + together].until_s == age_s {
                match valid[index + together].outcome {
                    Outcome::Advanced => advanced += 1,
                    Outcome::Killed => killed += 1,
                    Outcome::Censored => curve.censored += 1,
                }
                together += 1;
            }
            if advanced > 0 {
                incidence += surviving * f64::from(advanced) / at_risk;
                curve.steps.push((age_s, incidence));
                curve.longest_s = Some(age_s);
            }
            surviving *= 1.0 - f64::from(advanced + killed) / at_risk;
            curve.advanced += advanced as usize;
            curve.killed += killed as usize;
            index += together;
            left += together;
        }
        curve
    }

    /// Stays that advanced: what the estimate rests on.
    pub fn advanced(&self) -> usize {
        self.advanced
    }

    /// Stays still running or lost from sight.
    pub fn censored(&self) -> usize {
        self.censored
    }

    /// Stays ended by a kill.
    pub fn killed(&self) -> usize {
        self.killed
    }

    /// Longest stay that advanced, seconds.
    pub fn longest_s(&self) -> Option<f64> {
        self.longest_s
    }

    /// Probability of having advanced by `age_s`.
    pub fn incidence_at(&self, age_s: f64) -> f64 {
        let after = self.steps.partition_point(|(step, _)| *step <= age_s);
        after.checked_sub(1).map_or(0.0, |last| self.steps[last].1)
    }

    /// The age in seconds by which the share `q` of *those that advance at all* has advanced.
    pub fn quantile_s(&self, q: f64) -> Option<f64> {
        let reachable = self.steps.last()?.1;
        // Guard against the rounding of the running sum: a share of 1 must find the last step.
        let wanted = q * reachable - 1e-12;
        self.steps.iter().find(|(_, incidence)| *incidence >= wanted).map(|(age_s, _)| *age_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stay(until_s: f64, outcome: Outcome) -> Stay {
        Stay { watched_from_s: 0.0, until_s, outcome }
    }

    #[test]
    fn without_censoring_it_is_the_empirical_distribution() {
        let curve = Curve::estimate(&[1.0, 2.0, 3.0, 4.0].map(|until_s| stay(until_s, Outcome::Advanced)));
        assert!((curve.incidence_at(2.0) - 0.5).abs() < 1e-12);
        assert_eq!(curve.quantile_s(0.5), Some(2.0));
        assert_eq!(curve.quantile_s(0.95), Some(4.0));
        assert_eq!(curve.quantile_s(1.0), Some(4.0));
    }

    /// Worked by hand: at 2 one of three at risk advances (1/3), at 3 the one left advances with what survived (2/3).
    #[test]
    fn a_running_stay_moves_weight_to_later_times() {
        let curve = Curve::estimate(&[
            stay(1.0, Outcome::Censored),
            stay(2.0, Outcome::Advanced),
            stay(2.5, Outcome::Censored),
            stay(3.0, Outcome::Advanced),
        ]);
        assert!((curve.incidence_at(2.0) - 1.0 / 3.0).abs() < 1e-12);
        assert!((curve.incidence_at(3.0) - 1.0).abs() < 1e-12);
    }

    /// Two of four killed at 45 min: the incidence of advancing stops at one half, and the quantiles are of those that advance.
    #[test]
    fn kills_compete() {
        let curve = Curve::estimate(&[
            stay(20.0, Outcome::Advanced),
            stay(30.0, Outcome::Advanced),
            stay(45.0, Outcome::Killed),
            stay(45.0, Outcome::Killed),
        ]);
        assert!((curve.incidence_at(100.0) - 0.5).abs() < 1e-12);
        assert_eq!(curve.quantile_s(0.95), Some(30.0));
        assert_eq!((curve.advanced(), curve.killed()), (2, 2));
    }

    /// A stay first watched at age 10 says nothing about ages below 10: at 5 only one stay is at risk.
    #[test]
    fn late_watching_is_truncation() {
        let curve = Curve::estimate(&[
            stay(5.0, Outcome::Advanced),
            Stay { watched_from_s: 10.0, until_s: 20.0, outcome: Outcome::Advanced },
        ]);
        assert!((curve.incidence_at(5.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn nothing_known_gives_no_opinion() {
        assert_eq!(Curve::estimate(&[]).quantile_s(0.5), None);
        assert_eq!(Curve::estimate(&[stay(f64::NAN, Outcome::Advanced), stay(-1.0, Outcome::Advanced)]).advanced(), 0);
    }

    proptest! {
        #[test]
        fn incidence_rises_within_zero_and_one(stays in prop::collection::vec((0.0f64..50.0, 0.0f64..100.0, 0u8..3), 0..80)) {
            let stays: Vec<Stay> = stays.into_iter().map(|(from, length, outcome)| Stay {
                watched_from_s: from,
                until_s: from + length,
                outcome: [Outcome::Advanced, Outcome::Killed, Outcome::Censored][outcome as usize],
            }).collect();
            let curve = Curve::estimate(&stays);
            let mut last = 0.0;
            for (_, incidence) in &curve.steps {
                prop_assert!(*incidence >= last && *incidence <= 1.0 + 1e-9);
                last = *incidence;
            }
            if let (Some(median), Some(late)) = (curve.quantile_s(0.5), curve.quantile_s(0.95)) {
                prop_assert!(median <= late && Some(late) <= curve.longest_s());
            }
        }
    }
}
