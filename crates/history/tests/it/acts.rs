//! The journal of what was done, and what rules are found by in it.

use dwell_history::{History, RuleActs};
use rusqlite::Connection;

/// A file of the version before rules had a column of their own.
#[test]
fn what_rules_did_before_is_found_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    let before = [
        include_str!("../../src/schema.sql"),
        include_str!("../../src/notes.sql"),
        include_str!("../../src/answers.sql"),
        include_str!("../../src/rates.sql"),
        include_str!("../../src/time.sql"),
        include_str!("../../src/acts.sql"),
        include_str!("../../src/rollouts.sql"),
    ];
    let connection = Connection::open(&path).unwrap();
    before.iter().for_each(|step| connection.execute_batch(step).unwrap());
    connection.pragma_update(None, "user_version", before.len() as i64).unwrap();
    let row = |target: &str, phase: &str, why: &str, at_ms: i64| {
        connection
            .execute(
                "INSERT INTO act (plan, at_ms, who, process, why, fleet, simulated, deed, target, dollars_per_h, phase, text)
                 VALUES (?1, ?4, 'o', '1 1', ?3, 'f', '', 'kill', ?1, 0.5, ?2, '')",
                (target, phase, why, at_ms),
            )
            .unwrap();
    };
    row("a", "planned", "rule two words: stalled for 15 m with pipeline-deadlock confirmed", 1_000);
    row("a", "verified", "rule two words: stalled for 15 m with pipeline-deadlock confirmed", 2_000);
    row("b", "dry-run", "rule two words: stalled: again", 3_000);
    row("c", "planned", "rule other: stalled", 3_000);
    row("d", "planned", "rule two words", 3_000);
    row("e", "planned", "rule : nothing", 3_000);
    row("f", "planned", "the rule two words: no", 3_000);
    drop(connection);

    let history = History::open(&path).unwrap();
    let since = |ms: i64| dwell_fleet::Timestamp::from_millisecond(ms).unwrap();
    assert_eq!(history.rule_acts("two words", since(0)).unwrap(), RuleActs { count: 2, dollars_per_h: 1.0 });
    assert_eq!(history.rule_acts("two words", since(1_000)).unwrap().count, 1, "later than that");
    assert_eq!(history.rule_acts("nobody", since(0)).unwrap(), RuleActs::default());
    let begun = |target: &str, dry: bool| history.rule_has_begun("two words", target, dry).unwrap();
    assert_eq!(["a", "b", "c", "d", "f"].map(|target| begun(target, false)), [true, false, false, false, false]);
    assert_eq!(["a", "b", "c"].map(|target| begun(target, true)), [true, true, false]);
    let rules: Vec<Option<String>> = history.acts(10).unwrap().into_iter().map(|entry| entry.rule).collect();
    let two = Some("two words".to_owned());
    assert_eq!(rules, [two.clone(), two.clone(), two, Some("other".into()), None, None, None]);
}
