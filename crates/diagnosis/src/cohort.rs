//! Whether stuck instances share something that others do not: a two-by-two table for each value of each attribute, Fisher's
//! exact test, and a correction for how many were tried.
//!
//! "4 of 4 on image X, 0 of 9 elsewhere" is a finding; "all four are stuck" is not. The smallest p that the counts could have
//! reached is given with each: with one instance to compare four with, nothing below 0.20 can be.
//!
//! The correction multiplies by the number of values tried (Bonferroni, which is Holm's first step for each of them). Holm's
//! later steps would let a healthy instance that shares one attribute make the finding on it stronger, by making another
//! attribute's finding stronger first; this one cannot.

use std::collections::BTreeMap;

/// Attributes and their values of one instance.
pub type Attributes = Vec<(&'static str, String)>;

/// A member of the comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// It is stuck; else it has passed the same state in the same time.
    pub stuck: bool,
    /// What it is like. What was not told is left out.
    pub attributes: Attributes,
}

/// How strong a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// No instance to compare with has another value, or none to compare with at all.
    NoContrast,
    /// It could be chance.
    Weak,
    /// Corrected p below 0.05.
    Clear,
    /// Corrected p below 0.01.
    Strong,
}

impl Strength {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoContrast => "no-contrast",
            Self::Weak => "weak",
            Self::Clear => "clear",
            Self::Strong => "strong",
        }
    }
}

/// What one value of one attribute has to do with being stuck.
#[derive(Debug, Clone, PartialEq)]
pub struct Shared {
    /// e.g. `image`.
    pub attribute: &'static str,
    /// e.g. `magik6k/curio-cuzk:2026-03-10`.
    pub value: String,
    /// Stuck with it.
    pub stuck_with: usize,
    /// Stuck without it.
    pub stuck_without: usize,
    /// Well with it.
    pub well_with: usize,
    /// Well without it.
    pub well_without: usize,
    /// One-sided p of Fisher's exact test: as many stuck with it, or more, by chance.
    pub p: f64,
    /// Smallest p that these margins could reach.
    pub p_least: f64,
    /// p times the number of values tried, at most 1.
    pub p_corrected: f64,
    /// Share of the stuck that have it less share of the well that have it, -1 to 1.
    pub effect: f64,
    /// How strong that is.
    pub strength: Strength,
    /// Other attributes that divide the same instances in the same way: which of them it is cannot be told.
    pub confounded_with: Vec<String>,
}

/// A comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Stuck.
    pub stuck: usize,
    /// Well.
    pub well: usize,
    /// Values tried.
    pub tried: usize,
    /// What the stuck share, strongest first.
    pub shared: Vec<Shared>,
    /// Attributes in which the stuck differ from each other: evidence against a cause in those.
    pub differ_in: Vec<(&'static str, usize)>,
}

/// ln(n!), exactly summed; numbers are instances of a fleet.
fn ln_factorials(most: usize) -> Vec<f64> {
    let mut table = vec![0.0; most + 1];
    for n in 1..=most {
        if let Some(before) = table.get(n - 1).copied()
            && let Some(place) = table.get_mut(n)
        {
            *place = before + (n as f64).ln();
        }
    }
    table
}

/// One-sided p that `a` or more of the `a + b` stuck have a value that `a + c` of all have, and the smallest p of these
/// margins. Hypergeometric (Fisher 1935).
fn fisher(a: usize, b: usize, c: usize, d: usize, ln: &[f64]) -> (f64, f64) {
    let get = |n: usize| ln.get(n).copied().unwrap_or(f64::INFINITY);
    let (stuck, with, all) = (a + b, a + c, a + b + c + d);
    let choose = |n: usize, k: usize| get(n) - get(k) - get(n - k);
    let most = stuck.min(with);
    let probability = |k: usize| {
        // k of the stuck have it; the rest of those who have it are well.
        if with - k > all - stuck {
            return 0.0;
        }
        (choose(stuck, k) + choose(all - stuck, with - k) - choose(all, with)).exp()
    };
    let p: f64 = (a..=most).map(probability).sum();
    (p.min(1.0), probability(most).min(1.0))
}

/// Compares those who are stuck with those who are not.
pub fn compare(members: &[Member]) -> Comparison {
    let stuck = members.iter().filter(|member| member.stuck).count();
    let well = members.len() - stuck;
    let mut counts: BTreeMap<(&'static str, &str), (usize, usize)> = BTreeMap::new();
    let mut told: BTreeMap<&'static str, (usize, usize)> = BTreeMap::new();
    let mut who: BTreeMap<(&'static str, &str), Vec<usize>> = BTreeMap::new();
    for (place, member) in members.iter().enumerate() {
        for (attribute, value) in &member.attributes {
            let count = counts.entry((attribute, value)).or_default();
            let all = told.entry(attribute).or_default();
            if member.stuck {
                count.0 += 1;
                all.0 += 1;
            } else {
                count.1 += 1;
                all.1 += 1;
            }
            who.entry((attribute, value)).or_default().push(place);
        }
    }
    // Values that at least two of the stuck share, or the only one.
    let least = stuck.min(2);
    let tried = counts.values().filter(|(with, _)| *with >= least && stuck > 0).count();
    let ln = ln_factorials(members.len());
    let mut shared: Vec<Shared> = Vec::new();
    for ((attribute, value), (stuck_with, well_with)) in &counts {
        if *stuck_with < least || stuck == 0 {
            continue;
        }
        let (stuck_told, well_told) = told.get(attribute).copied().unwrap_or_default();
        let (stuck_without, well_without) = (stuck_told - stuck_with, well_told - well_with);
        let (p, p_least) = fisher(*stuck_with, stuck_without, *well_with, well_without, &ln);
        let p_corrected = (p * tried as f64).min(1.0);
        let share = |with: usize, without: usize| if with + without == 0 { 0.0 } else { with as f64 / (with + without) as f64 };
        let contrast = stuck_without + well_without > 0 && well_told > 0;
        let strength = match p_corrected {
            _ if !contrast => Strength::NoContrast,
            p if p < 0.01 => Strength::Strong,
            p if p < 0.05 => Strength::Clear,
            _ => Strength::Weak,
        };
        let same = who.get(&(*attribute, *value));
        let confounded_with = who
            .iter()
            .filter(|((other, _), members)| other != attribute && Some(*members) == same && contrast)
            .map(|((other, value), _)| format!("{other} {value}"))
            .collect();
        shared.push(Shared {
            attribute,
            value: (*value).to_owned(),
            stuck_with: *stuck_with,
            stuck_without,
            well_with: *well_with,
            well_without,
            p,
            p_least,
            p_corrected,
            effect: share(*stuck_with, stuck_without) - share(*well_with, well_without),
            strength,
            confounded_with,
        });
    }
    shared.sort_by(|one, other| {
        one.p
            .total_cmp(&other.p)
            .then(other.effect.total_cmp(&one.effect))
            .then_with(|| (one.attribute, &one.value).cmp(&(other.attribute, &other.value)))
    });
    let mut differ_in: BTreeMap<&'static str, usize> = BTreeMap::new();
    for ((attribute, _), (with, _)) in &counts {
        if *with > 0 {
            *differ_in.entry(attribute).or_default() += 1;
        }
    }
    Comparison { stuck, well, tried, shared, differ_in: differ_in.into_iter().filter(|(_, values)| *values > 1).collect() }
}
