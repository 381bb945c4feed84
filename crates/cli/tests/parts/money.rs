//! Budgets and prices: what is no number, or below 0, limits nothing and is refused.

use crate::{dwellctl, text};

#[test]
fn a_limit_that_is_no_number_is_refused_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let limits: [(&[&str], &str, bool); 9] = [
        (&["deploy", "1", "--budget"], "--budget <DOLLARS>", true),
        (&["replace", "u1", "--budget"], "--budget <DOLLARS>", true),
        (&["deploy", "1", "--budget", "1", "--per-proof"], "--per-proof <DOLLARS>", true),
        (&["deploy", "1", "--budget", "1", "--min-rate"], "--min-rate <RATE>", true),
        (&["deploy", "1", "--budget", "1", "--credit-lasts"], "--credit-lasts <HOURS>", false),
        (&["deploy", "1", "--budget", "1", "--disk"], "--disk <GB>", false),
        (&["offers", "--at-most"], "--at-most <DOLLARS>", true),
        (&["offers", "--ram"], "--ram <GB>", false),
        (&["rules", "add", "r", "--dollars-per-day"], "--dollars-per-day <DOLLARS>", true),
    ];
    for (words, name, above_zero) in limits {
        let below = if above_zero { "a number above 0 is needed" } else { "a number from 0 up is needed" };
        for (value, why) in [
            ("nan", "neither infinity nor NaN"),
            ("inf", "neither infinity nor NaN"),
            ("1e999", "neither infinity nor NaN"),
            ("-0.5", below),
            ("cheap", "write it like 0.35"),
        ] {
            let output = dwellctl(folder.path(), &[words, &[value]].concat());
            let told = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{words:?} {value}: {told}");
            assert!(told.contains(why) && told.contains(name), "{words:?} {value}: {told}");
        }
    }
}
