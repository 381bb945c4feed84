//! The journal: what was done, by whom, why, and what came of it. It is written before a wish is sent, and only ever added to.

use dwell_fleet::{Timestamp, redacted};
use rusqlite::params;

use crate::{History, HistoryError, ms, time};

/// Longest text of an entry kept, characters.
const TEXT_CHARACTERS_MAX: usize = 2_000;

/// An entry of the journal.
#[derive(Debug, Clone, PartialEq)]
pub struct ActEntry {
    /// Rises with every entry; 0 before it is kept.
    pub id: i64,
    /// The plan that it is a step of.
    pub plan: String,
    /// When, on the operator's clock (simulated time in a simulation).
    pub at: Timestamp,
    /// Whose account on this machine.
    pub who: String,
    /// The process that does it: its number and when it began.
    pub process: String,
    /// Why, in that person's words.
    pub why: String,
    /// The rule that did it, where no person did.
    pub rule: Option<String>,
    /// Address of the fleet's manager.
    pub fleet: String,
    /// What the simulator says of itself, where it is one.
    pub simulated: Option<String>,
    /// What is done.
    pub deed: String,
    /// With which text.
    pub deed_text: Option<String>,
    /// To whom, as people name it.
    pub target: String,
    /// The manager's id.
    pub uuid: Option<String>,
    /// vast.ai's number.
    pub vast_id: Option<u64>,
    /// The machine.
    pub machine: Option<u64>,
    /// The account of vast.ai's that had listed the rental before, by the operator's name for it.
    pub account: Option<String>,
    /// vast.ai's number of that account.
    pub account_number: Option<u64>,
    /// Its price then, US dollars per hour.
    pub dollars_per_h: Option<f64>,
    /// `planned`, `sent`, `answered`, `unanswered`, `not-verified`, `refused`, `taken`, `verified`, `incident`, `dry-run`.
    pub phase: String,
    /// What happened.
    pub text: String,
}

/// What a rule has begun within a time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RuleActs {
    /// How many.
    pub count: usize,
    /// What those cost an hour together, US dollars, as far as their prices were told.
    pub dollars_per_h: f64,
}

impl History {
    /// Adds an entry; it is on disk when this returns.
    pub fn add_act(&self, entry: &ActEntry) -> Result<(), HistoryError> {
        // A crash of the machine must not lose that something was sent.
        self.durably(|history| history.write_act(entry))
    }

    fn write_act(&self, entry: &ActEntry) -> Result<(), HistoryError> {
        let cut = |text: &str| redacted(text).chars().take(TEXT_CHARACTERS_MAX).collect::<String>();
        let number = |id: Option<u64>| id.and_then(|id| i64::try_from(id).ok());
        self.connection
            .prepare_cached(
                "INSERT INTO act (plan, at_ms, who, process, why, fleet, simulated, deed, deed_text, target, uuid, vast_id, machine, dollars_per_h,
                        phase, text, rule, account, account_number)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
            )?
            .execute(params![
                entry.plan,
                ms(entry.at),
                entry.who,
                entry.process,
                cut(&entry.why),
                entry.fleet,
                entry.simulated.as_deref().unwrap_or(""),
                entry.deed,
                entry.deed_text.as_deref().map(cut),
                redacted(&entry.target),
                entry.uuid,
                number(entry.vast_id),
                number(entry.machine),
                entry.dollars_per_h,
                entry.phase,
                cut(&entry.text),
                entry.rule,
                entry.account,
                number(entry.account_number),
            ])?;
        Ok(())
    }

    /// Writes down that a deed begins, unless anything is being done to the same rental, instance or machine by a process that goes on:
    /// looked up and written as one, whoever else writes. Whether it was written.
    pub fn begin_act(&self, entry: &ActEntry, goes_on: impl Fn(&str) -> bool) -> Result<bool, HistoryError> {
        // Held by one writer at a time, of all processes; dropped it takes everything back.
        self.connection.pragma_update(None, "synchronous", "FULL")?;
        let begun = (|| {
            let transaction = rusqlite::Transaction::new_unchecked(&self.connection, rusqlite::TransactionBehavior::Immediate)?;
            // A number is one rental at vast.ai, whoever's manager lists it. What is not verified is looked at on and on by the process
            // that sent it. An order has no rental yet.
            let number = |id: Option<u64>| id.and_then(|id| i64::try_from(id).ok());
            let open: Vec<String> = self
                .connection
                .prepare_cached(
                    "SELECT process FROM act WHERE id IN (SELECT max(id) FROM act GROUP BY plan, target)
                        AND (vast_id = ?1 OR (fleet = ?2 AND (target = ?3 OR (deed IN ('ban', 'unban') AND ?4 IN ('ban', 'unban') AND machine = ?5))))
                        AND plan <> ?6 AND deed <> 'deploy' AND phase NOT IN ('refused', 'taken', 'verified', 'incident', 'dry-run')",
                )?
                .query_map(
                    params![number(entry.vast_id), entry.fleet, entry.target, entry.deed, number(entry.machine), entry.plan],
                    |row| row.get(0),
                )?
                .collect::<Result<_, _>>()?;
            if open.iter().any(|process| goes_on(process)) {
                return Ok(false);
            }
            self.write_act(entry)?;
            transaction.commit()?;
            Ok(true)
        })();
        self.connection.pragma_update(None, "synchronous", "NORMAL")?;
        begun
    }

    /// The newest entries, oldest first.
    pub fn acts(&self, limit: usize) -> Result<Vec<ActEntry>, HistoryError> {
        let mut entries: Vec<ActEntry> = self
            .connection
            .prepare_cached(
                "SELECT id, plan, at_ms, who, process, why, fleet, simulated, deed, deed_text, target, uuid, vast_id, machine, dollars_per_h, phase, text, rule,
                    account, account_number
                 FROM act ORDER BY id DESC LIMIT ?1",
            )?
            .query_map([limit as i64], read_entry)?
            .collect::<Result<_, _>>()?;
        entries.reverse();
        Ok(entries)
    }

    /// What a rule has begun since a time, done dry or not: counted over the whole journal, however long it is.
    pub fn rule_acts(&self, rule: &str, since: Timestamp) -> Result<RuleActs, HistoryError> {
        let mut counted = self.connection.prepare_cached(
            "SELECT count(*), coalesce(sum(dollars_per_h), 0.0) FROM act
             WHERE rule = ?1 AND phase IN ('planned', 'dry-run') AND at_ms > ?2",
        )?;
        let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get(1)?));
        let (count, dollars_per_h) = counted.query_row(params![rule, ms(since)], read)?;
        Ok(RuleActs { count: usize::try_from(count).unwrap_or_default(), dollars_per_h })
    }

    /// Whether a rule has ever begun something with this target; what was only done dry counts where `dry`.
    pub fn rule_has_begun(&self, rule: &str, target: &str, dry: bool) -> Result<bool, HistoryError> {
        let mut asked = self.connection.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM act
                 WHERE rule = ?1 AND target = ?2 AND (phase = 'planned' OR (?3 AND phase = 'dry-run')))",
        )?;
        Ok(asked.query_row(params![rule, target, dry], |row| row.get(0))?)
    }

    /// The last entry of every deed that has none after which nothing comes: what a process that was killed left under way.
    pub fn open_acts(&self) -> Result<Vec<ActEntry>, HistoryError> {
        let entries = self
            .connection
            .prepare_cached(
                "SELECT id, plan, at_ms, who, process, why, fleet, simulated, deed, deed_text, target, uuid, vast_id, machine, dollars_per_h, phase, text, rule,
                    account, account_number
                 FROM act WHERE id IN (SELECT max(id) FROM act GROUP BY plan, target)
                    AND phase NOT IN ('refused', 'taken', 'verified', 'incident', 'planned', 'dry-run') ORDER BY id",
            )?
            .query_map([], read_entry)?
            .collect::<Result<_, _>>()?;
        Ok(entries)
    }

    /// Gives `process` what is under way on a fleet and is `free` by the process that had it last, and tells what that is, with its
    /// new process. Of several processes that ask at once one gets it.
    pub fn take_over_acts(
        &mut self,
        fleet: &str,
        process: &str,
        free: impl Fn(&ActEntry) -> bool,
    ) -> Result<Vec<ActEntry>, HistoryError> {
        // Begun for writing: nobody else reads between this reading and this writing with the same in mind.
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        let taken = self.open_acts().and_then(|open| {
            let mut taken: Vec<ActEntry> = open.into_iter().filter(|entry| entry.fleet == fleet && free(entry)).collect();
            for entry in &mut taken {
                process.clone_into(&mut entry.process);
                self.connection.execute("UPDATE act SET process = ?1 WHERE id = ?2", params![process, entry.id])?;
            }
            Ok(taken)
        });
        self.connection.execute_batch(if taken.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
        taken
    }
}

fn read_entry(row: &rusqlite::Row<'_>) -> Result<ActEntry, rusqlite::Error> {
    let number = |index: usize| row.get::<_, Option<i64>>(index).map(|id| id.and_then(|id| u64::try_from(id).ok()));
    let simulated: String = row.get(7)?;
    Ok(ActEntry {
        id: row.get(0)?,
        plan: row.get(1)?,
        at: time(row.get(2)?),
        who: row.get(3)?,
        process: row.get(4)?,
        why: row.get(5)?,
        fleet: row.get(6)?,
        simulated: Some(simulated).filter(|it| !it.is_empty()),
        deed: row.get(8)?,
        deed_text: row.get(9)?,
        target: row.get(10)?,
        uuid: row.get(11)?,
        vast_id: number(12)?,
        machine: number(13)?,
        dollars_per_h: row.get(14)?,
        phase: row.get(15)?,
        text: row.get(16)?,
        rule: row.get(17)?,
        account: row.get(18)?,
        account_number: number(19)?,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]
mod tests {
    use super::*;

    fn entry(plan: &str, target: &str, vast_id: Option<u64>, phase: &str) -> ActEntry {
        ActEntry {
            id: 0,
            plan: plan.into(),
            at: Timestamp::UNIX_EPOCH,
            who: "a".into(),
            process: plan.into(),
            why: String::new(),
            rule: None,
            fleet: "http://m".into(),
            simulated: None,
            deed: "destroy".into(),
            deed_text: None,
            target: target.into(),
            uuid: None,
            vast_id,
            machine: None,
            account: None,
            account_number: None,
            dollars_per_h: None,
            phase: phase.into(),
            text: String::new(),
        }
    }

    #[test]
    fn of_many_writers_at_once_one_begins_a_deed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history.db");
        drop(History::open(&path).unwrap());
        let line = std::sync::Barrier::new(8);
        for round in 0..5 {
            let begun: usize = std::thread::scope(|scope| {
                let writers: Vec<_> = (0..8)
                    .map(|nth| {
                        let (path, line) = (&path, &line);
                        scope.spawn(move || {
                            let history = History::open(path).unwrap();
                            line.wait();
                            // By its id, or by its number: it is one rental.
                            let target = if nth % 2 == 0 { format!("id{round}") } else { format!("{}", 100 + round) };
                            let entry = entry(&format!("{round}-{nth}"), &target, Some(100 + round), "planned");
                            usize::from(history.begin_act(&entry, |_| true).unwrap())
                        })
                    })
                    .collect();
                writers.into_iter().map(|it| it.join().unwrap()).sum()
            });
            assert_eq!(begun, 1, "round {round}");
        }
    }

    #[test]
    fn one_rental_has_one_deed_at_a_time_whatever_it_is_and_whatever_it_is_called() {
        let of = |deed: &str, target: &str, vast_id: Option<u64>, phase: &str| ActEntry {
            deed: deed.into(),
            ..entry(&format!("{deed} {target}"), target, vast_id, phase)
        };
        for first in ["kill", "destroy", "stop", "reboot", "label"] {
            for (phase, is_open) in
                [("planned", true), ("sent", true), ("not-verified", true), ("verified", false), ("incident", false)]
            {
                let history = History::in_memory().unwrap();
                assert!(history.begin_act(&of(first, "u1", Some(7), "planned"), |_| true).unwrap());
                history.add_act(&of(first, "u1", Some(7), phase)).unwrap();
                for second in ["destroy", "kill", "start"] {
                    for (target, vast_id) in [("u1", Some(7)), ("7", Some(7)), ("u1", None), ("u2", Some(7))] {
                        let wanted = ActEntry { plan: "another".into(), ..of(second, target, vast_id, "dry-run") };
                        let begun = history.begin_act(&wanted, |_| true).unwrap();
                        assert_eq!(begun, !is_open, "{second} {target} after {first} {phase}");
                        // Of a process that has ended nothing is under way: a person can wish for it again.
                        assert!(history.begin_act(&wanted, |_| false).unwrap());
                    }
                }
                // Another rental, and another manager's row of the same name, are others.
                assert!(history.begin_act(&of("destroy", "u9", Some(9), "dry-run"), |_| true).unwrap());
                let elsewhere = ActEntry { fleet: "http://other".into(), ..of("destroy", "u1", None, "dry-run") };
                assert!(history.begin_act(&elsewhere, |_| true).unwrap());
            }
        }
        // A machine is banned or taken off the list, and not both at once; its number is no rental's.
        let machine = |deed: &str, target: &str| ActEntry { machine: Some(40), ..of(deed, target, None, "planned") };
        let history = History::in_memory().unwrap();
        assert!(history.begin_act(&machine("ban", "machine 40"), |_| true).unwrap());
        assert!(!history.begin_act(&machine("unban", "u5"), |_| true).unwrap());
        assert!(history.begin_act(&machine("destroy", "u5"), |_| true).unwrap());
    }

    #[test]
    fn what_has_ended_or_whose_process_has_ended_is_in_nobodys_way() {
        let history = History::in_memory().unwrap();
        let begins = |plan: &str, goes_on: bool| history.begin_act(&entry(plan, "a", None, "planned"), |_| goes_on).unwrap();
        assert!(begins("1", true));
        assert!(!begins("2", true));
        assert!(begins("3", false), "its process has ended");
        for plan in ["1", "3"] {
            assert!(!begins("4", true));
            history.add_act(&entry(plan, "a", None, "verified")).unwrap();
        }
        assert!(begins("4", true));
    }
}
