//! Which share is still in a state after so long, with a band, and whether groups differ.
//!
//! Kaplan & Meier 1958 with late entry (left truncation) and right-censoring; variance by Greenwood 1926; the band is symmetric
//! on the log(-log) scale (Kalbfleisch & Prentice, The Statistical Analysis of Failure Time Data, 2002, section 1.4), so that it
//! never leaves 0 to 1. Groups are compared by the log-rank test (Mantel 1966), by the same number at risk.
//!
//! Leaving counts however it ends: here the manager's kills are ends like any other. [`crate::Curve`] tells kills apart.

use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::{Outcome, Stay};

/// 97.5 % of the normal distribution: the band holds 95 %.
const Z_95: f64 = 1.959_963_984_540_054;

/// The curve after one age.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SurvivalStep {
    /// Age, seconds.
    pub age_s: f64,
    /// Share still there after it.
    pub share: f64,
    /// Lower end of the 95 % band; `None` where nothing is left to say it from.
    pub lower: Option<f64>,
    /// Upper end.
    pub upper: Option<f64>,
    /// Stays at risk just before.
    pub at_risk: usize,
    /// Stays that ended at this age.
    pub ended: usize,
}

/// A survival curve.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Survival {
    /// One for each age at which stays ended, rising in age.
    pub steps: Vec<SurvivalStep>,
    /// Stays that it rests on.
    pub stays: usize,
    /// Of these, ended.
    pub ended: usize,
    /// Longest age seen, seconds: nothing is said beyond it.
    pub seen_until_s: f64,
}

/// Stays that can be: finite, not negative, watched before they ended.
fn valid(stays: &[Stay]) -> Vec<Stay> {
    let can_be = |stay: &&Stay| {
        stay.until_s.is_finite()
            && stay.watched_from_s >= 0.0
            && (stay.watched_from_s < stay.until_s || stay.watched_from_s == 0.0 && stay.until_s == 0.0)
    };
    let mut valid: Vec<Stay> = stays.iter().filter(can_be).copied().collect();
    valid.sort_by(|left, right| left.until_s.total_cmp(&right.until_s));
    valid
}

/// At an age: how many were at risk just before, how many ended, how many of these and of the others left sight.
struct Tally<'a> {
    by_end: &'a [Stay],
    entries: Vec<f64>,
    entered: usize,
    left: usize,
}

impl<'a> Tally<'a> {
    fn new(by_end: &'a [Stay]) -> Self {
        let mut entries: Vec<f64> = by_end.iter().map(|stay| stay.watched_from_s).collect();
        entries.sort_by(f64::total_cmp);
        Self { by_end, entries, entered: 0, left: 0 }
    }

    /// The next age at which somebody leaves.
    fn next_age(&self) -> Option<f64> {
        self.by_end.get(self.left).map(|stay| stay.until_s)
    }

    /// Those at risk just before an age, and how many of them end at it. Ages must rise from call to call.
    fn at(&mut self, age_s: f64) -> (usize, usize) {
        while self.by_end.get(self.left).is_some_and(|stay| stay.until_s < age_s) {
            self.left += 1;
        }
        while self.entries.get(self.entered).is_some_and(|entry| *entry < age_s || *entry == 0.0) {
            self.entered += 1;
        }
        let at_risk = self.entered - self.left;
        let here = self.by_end[self.left..].iter().take_while(|stay| stay.until_s == age_s);
        (at_risk, here.filter(|stay| stay.outcome != Outcome::Censored).count())
    }

    fn pass(&mut self, age_s: f64) {
        while self.by_end.get(self.left).is_some_and(|stay| stay.until_s == age_s) {
            self.left += 1;
        }
    }
}

impl Survival {
    /// Estimates from any number of stays; impossible ones are left out.
    pub fn estimate(stays: &[Stay]) -> Self {
        let valid = valid(stays);
        let mut curve =
            Self { stays: valid.len(), seen_until_s: valid.last().map_or(0.0, |stay| stay.until_s), ..Self::default() };
        let mut tally = Tally::new(&valid);
        // Greenwood's sum.
        let (mut share, mut sum) = (1.0, 0.0);
        while let Some(age_s) = tally.next_age() {
            let (at_risk, ended) = tally.at(age_s);
            if ended > 0 {
                let (n, d) = (at_risk as f64, ended as f64);
                share *= 1.0 - d / n;
                sum += d / (n * (n - d));
                let band = band(share, sum);
                curve.steps.push(SurvivalStep {
                    age_s,
                    share,
                    lower: band.map(|(lower, _)| lower),
                    upper: band.map(|(_, upper)| upper),
                    at_risk,
                    ended,
                });
                curve.ended += ended;
            }
            tally.pass(age_s);
        }
        curve
    }

    /// The age by which the share `q` has left; `None` where fewer have been seen to.
    pub fn quantile_s(&self, q: f64) -> Option<f64> {
        self.steps.iter().find(|step| step.share <= 1.0 - q + 1e-12).map(|step| step.age_s)
    }

    /// Share still there at an age.
    pub fn share_at(&self, age_s: f64) -> f64 {
        let after = self.steps.partition_point(|step| step.age_s <= age_s);
        after.checked_sub(1).map_or(1.0, |last| self.steps[last].share)
    }
}

fn band(share: f64, greenwood: f64) -> Option<(f64, f64)> {
    let log = share.ln();
    if !(log.is_finite() && log < 0.0) {
        return None;
    }
    let reach = Z_95 * greenwood.sqrt() / log;
    Some((share.powf((-reach).exp()), share.powf(reach.exp())))
}

/// Whether groups leave at the same pace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogRank {
    /// The statistic.
    pub chi_squared: f64,
    /// Degrees of freedom.
    pub degrees: usize,
    /// How likely so large a difference is among groups that do not differ.
    pub p: f64,
}

/// The log-rank test over groups. `None` with fewer than two groups that have anybody at risk when somebody leaves.
pub fn log_rank(groups: &[Vec<Stay>]) -> Option<LogRank> {
    let groups: Vec<Vec<Stay>> = groups.iter().map(|stays| valid(stays)).filter(|stays| !stays.is_empty()).collect();
    let mut ages: Vec<f64> =
        groups.iter().flatten().filter(|stay| stay.outcome != Outcome::Censored).map(|stay| stay.until_s).collect();
    ages.sort_by(f64::total_cmp);
    ages.dedup();
    let count = groups.len();
    if count < 2 || ages.is_empty() {
        return None;
    }
    let mut tallies: Vec<Tally<'_>> = groups.iter().map(|stays| Tally::new(stays)).collect();
    let mut excess = vec![0.0; count];
    let mut variance = vec![vec![0.0; count]; count];
    for age_s in ages {
        let here: Vec<(f64, f64)> =
            tallies.iter_mut().map(|tally| tally.at(age_s)).map(|(at_risk, ended)| (at_risk as f64, ended as f64)).collect();
        let (n, d) = here.iter().fold((0.0, 0.0), |(n, d), (at_risk, ended)| (n + at_risk, d + ended));
        let spread = if n > 1.0 { d * (n - d) / (n - 1.0) } else { 0.0 };
        for (i, (at_risk, ended)) in here.iter().enumerate() {
            excess[i] += ended - d * at_risk / n;
            for (j, (other, _)) in here.iter().enumerate() {
                let same = if i == j { 1.0 } else { 0.0 };
                variance[i][j] += spread * (at_risk / n) * (same - other / n);
            }
        }
    }
    // The groups' excesses add up to nothing: one is left out.
    let (chi_squared, degrees) = quadratic_form(&mut variance, &excess, count - 1);
    let p = ChiSquared::new(degrees as f64).ok()?.sf(chi_squared);
    (degrees > 0).then_some(LogRank { chi_squared, degrees, p })
}

/// `x' V^-1 x` over the first `size` rows, by elimination; rows that say nothing of their own are left out and not counted.
fn quadratic_form(matrix: &mut [Vec<f64>], vector: &[f64], size: usize) -> (f64, usize) {
    let mut right: Vec<f64> = vector[..size].to_vec();
    let (mut sum, mut rank) = (0.0, 0);
    for pivot in 0..size {
        let diagonal = matrix[pivot][pivot];
        if diagonal <= 1e-12 {
            continue;
        }
        sum += right[pivot] * right[pivot] / diagonal;
        rank += 1;
        let above = matrix[pivot].clone();
        for row in pivot + 1..size {
            let factor = matrix[row][pivot] / diagonal;
            for (value, above) in matrix[row].iter_mut().zip(&above).skip(pivot) {
                *value -= factor * above;
            }
            right[row] -= factor * right[pivot];
        }
    }
    (sum, rank)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stay(until_s: f64, outcome: Outcome) -> Stay {
        Stay { watched_from_s: 0.0, until_s, outcome }
    }

    /// Worked by hand: one of three leaves at 1, a running stay is lost at 2, the last one leaves at 3.
    #[test]
    fn running_stays_count_as_long_as_they_were_seen() {
        let curve = Survival::estimate(&[stay(1.0, Outcome::Killed), stay(2.0, Outcome::Censored), stay(3.0, Outcome::Advanced)]);
        let shares: Vec<f64> = curve.steps.iter().map(|step| step.share).collect();
        assert!((shares[0] - 2.0 / 3.0).abs() < 1e-12 && shares[1] == 0.0, "{shares:?}");
        assert_eq!((curve.steps[1].lower, curve.steps[1].at_risk, curve.ended), (None, 1, 2));
        assert_eq!((curve.quantile_s(0.25), curve.quantile_s(0.5), curve.quantile_s(1.0)), (Some(1.0), Some(3.0), Some(3.0)));
        assert_eq!(curve.share_at(0.5), 1.0);
    }

    #[test]
    fn groups_without_anybody_are_no_groups() {
        assert_eq!(log_rank(&[vec![stay(1.0, Outcome::Advanced)], vec![]]), None);
        assert_eq!(log_rank(&[vec![stay(1.0, Outcome::Censored)], vec![stay(2.0, Outcome::Censored)]]), None);
        let same: Vec<Stay> = (1..30).map(|age| stay(f64::from(age), Outcome::Advanced)).collect();
        let equal = log_rank(&[same.clone(), same.clone()]).map(|test| test.p);
        assert!(equal.is_some_and(|p| p > 0.99), "{equal:?}");
        let slower: Vec<Stay> = same.iter().map(|it| stay(it.until_s * 5.0, Outcome::Advanced)).collect();
        let differ = log_rank(&[same, slower]).map(|test| test.p);
        assert!(differ.is_some_and(|p| p < 1e-3), "{differ:?}");
    }

    proptest! {
        #[test]
        fn it_falls_within_zero_and_one_and_lies_in_its_band(stays in prop::collection::vec((0.0f64..50.0, 0.0f64..100.0, 0u8..3), 0..80)) {
            let stays: Vec<Stay> = stays.into_iter().map(|(from, length, outcome)| Stay {
                watched_from_s: from,
                until_s: from + length,
                outcome: [Outcome::Advanced, Outcome::Killed, Outcome::Censored][outcome as usize],
            }).collect();
            let mut last = 1.0;
            for step in Survival::estimate(&stays).steps {
                prop_assert!(step.share <= last && step.share >= 0.0);
                prop_assert!(step.lower.is_none_or(|lower| lower <= step.share + 1e-12 && lower >= 0.0));
                prop_assert!(step.upper.is_none_or(|upper| upper >= step.share - 1e-12 && upper <= 1.0));
                last = step.share;
            }
        }
    }
}
