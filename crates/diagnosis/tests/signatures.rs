//! Signatures: found wherever they stand, and nothing else is.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::collections::BTreeSet;

use dwell_diagnosis::{SIGNATURES, Written, matches, said};
use dwell_fleet::{LogLine, Timestamp};
use proptest::prelude::*;

#[test]
fn each_is_found_in_its_own_channel_and_in_no_other() {
    let mut ids = BTreeSet::new();
    for signature in SIGNATURES {
        assert!(ids.insert(signature.id), "{} is there twice", signature.id);
        assert!(!signature.causes.is_empty() && !signature.fragments.is_empty(), "{}", signature.id);
        assert!(signature.fragments.iter().all(|fragment| fragment.len() >= 6), "{}", signature.id);
        assert!(!signature.meaning.ends_with('.'), "{}: a sentence part", signature.id);
        for fragment in signature.fragments {
            let line = format!("2026-03-13T17:00:01Z \u{1b}[31mERROR\u{1b}[0m {} and more", fragment.to_uppercase());
            let found = matches(signature.written, &line);
            assert_eq!(found.iter().filter(|found| found.id == signature.id).count(), 1, "{}", signature.id);
            assert!(found.iter().all(|found| found.written == signature.written));
        }
    }
}

#[test]
fn the_newest_line_is_the_reference() {
    let line = |second: i64, source: &str, text: &str| LogLine {
        source: source.to_owned(),
        text: text.to_owned(),
        at: Timestamp::from_second(second).unwrap(),
    };
    let lines = [
        line(1, "benchout", "=== Batch Benchmark ==="),
        line(2, "benchdaemon", "ERROR cuzk_core::engine: partition GPU proving failed error=GPU prove failed: out of memory"),
        line(3, "benchout", "Error: Prove RPC failed: out of memory"),
        line(4, "benchdaemon", " WARN cuzk_core::pinned_pool: cudaHostAlloc failed: out of memory"),
    ];
    let said = said(Written::InInstanceLog, &lines);
    let told: Vec<_> =
        said.iter().map(|said| (said.signature.id, said.count, said.at.as_second(), said.source.as_str())).collect();
    assert_eq!(told, [("out-of-memory", 3, 4, "benchdaemon"), ("pinned", 1, 4, "benchdaemon"), ("rpc-error", 1, 3, "benchout")]);
    assert_eq!(said[0].first_at.as_second(), 2);
}

#[test]
fn ordinary_lines_say_nothing() {
    for text in [
        "Registered with manager",
        "[#2089b0 12.3GiB/100.0GiB(12%) CN:16 DL:48MiB ETA:31m]",
        "throughput:    0.593 proofs/min (101.2s/proof)",
        "  [3/12] COMPLETED \u{2014} 101.2s (prove=98123 ms, queue=3 ms)",
        "Phase 7: PoRep proof self-check PASSED",
        "Error: listen EADDRINUSE: address already in use :::3000",
    ] {
        assert!(matches(Written::InInstanceLog, text).is_empty(), "{text}");
    }
    for text in ["[monitor] cached 7 vast instances", "[param-done] uuid=6259fe5e", "[monitor] cached 250 vast instances"] {
        assert!(matches(Written::InManagerLog, text).is_empty(), "{text}");
    }
    assert!(matches(Written::InVastStatus, "success, running magik6k/curio-cuzk:latest").is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Any text is searched without harm, also where it is cut inside a character, and what is appended never hides what
    /// was found.
    #[test]
    fn any_text_can_be_searched(text in ".{0,200}", more in ".{0,200}", times in 1..200_usize) {
        let long = text.repeat(times);
        let before = matches(Written::InInstanceLog, &long).len();
        prop_assert!(matches(Written::InInstanceLog, &(long + &more)).len() >= before);
    }
}
