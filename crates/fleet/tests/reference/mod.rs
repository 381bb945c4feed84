//! The survival estimates against lifelines 0.30.3 on the same stays; `survival.py` wrote `survival.txt`.

use std::collections::HashMap;

use dwell_fleet::{Curve, Outcome, Stay, Survival, log_rank};

const TOLERANCE: f64 = 1e-9;

fn number(text: &str) -> f64 {
    text.parse().unwrap()
}

#[test]
fn estimates_agree_with_lifelines() {
    let mut groups: HashMap<&str, Vec<Stay>> = HashMap::new();
    let (mut name, mut compared, mut tests) = ("", 0, 0);
    let near = |ours: Option<f64>, told: &str, what: &str| match (ours, number(told)) {
        // Nothing is said of a band around a share of 0, there and here.
        (None, told) => assert!(told.is_nan() || told == 0.0, "{what}: nothing here, {told} there"),
        (Some(ours), told) => assert!((ours - told).abs() <= TOLERANCE, "{what}: {ours} here, {told} there"),
    };
    for line in include_str!("survival.txt").lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[0] {
            "stays" => name = words[1],
            "stay" => {
                let outcome = match words[3] {
                    "a" => Outcome::Advanced,
                    "k" => Outcome::Killed,
                    _ => Outcome::Censored,
                };
                groups.entry(name).or_default().push(Stay {
                    watched_from_s: number(words[1]),
                    until_s: number(words[2]),
                    outcome,
                });
            }
            "survival" => {
                let curve = Survival::estimate(&groups[name]);
                let step = *curve.steps.iter().find(|step| step.age_s == number(words[1])).expect(line);
                near(Some(step.share), words[2], line);
                near(step.lower, words[3], line);
                near(step.upper, words[4], line);
                compared += 3;
            }
            "incidence" => {
                near(Some(Curve::estimate(&groups[name]).incidence_at(number(words[1]))), words[2], line);
                compared += 1;
            }
            "log-rank" => {
                let end = words.len() - 3;
                let stays: Vec<Vec<Stay>> = words[1..end].iter().map(|name| groups[name].clone()).collect();
                let test = log_rank(&stays).unwrap();
                // Relative: the statistic is in the hundreds.
                assert!((test.chi_squared / number(words[end]) - 1.0).abs() < TOLERANCE, "{line}: {test:?}");
                assert_eq!(test.degrees as f64, number(words[end + 1]));
                near(Some(test.p), words[end + 2], line);
                tests += 1;
            }
            other => panic!("{other} is not known"),
        }
    }
    assert!(compared == 673 && tests == 3, "{compared} values, {tests} tests");
}
