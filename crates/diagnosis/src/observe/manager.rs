//! The manager's own log: of the fleet, and of this instance.

use dwell_fleet::{Timestamp, seconds_between};

use super::{FRESH_WORDS_S, Gather, MINUTE};
use crate::channel::{Channel, Health};
use crate::fact::{self, Fact};
use crate::kill::KilledBy;

/// Between the line of a kill and the row's time of it lies the client's destroy, which can take minutes, seconds.
const KILL_TAKES_S: f64 = 300.0;
/// A reading so long after a kill has all its lines, those of a client that takes long included, seconds.
const KILL_LINES_COME_S: f64 = 90.0;

impl Gather<'_> {
    pub(super) fn manager_log(&mut self) {
        let (instance, around) = (self.case.instance, self.case.around);
        let manager = &around.manager;
        let channel = Channel::ManagerLog;
        let Some((oldest, newest)) = manager.oldest.zip(manager.newest) else {
            let (health, why) = match &around.manager_log_failure {
                Some(why) => (Health::Unreachable, why.clone()),
                None => (Health::NotAsked, "not read yet".to_owned()),
            };
            return self.channel(channel, health, why, None);
        };
        let at = around.as_of.unwrap_or(newest);
        let known = dwell_fleet::words::duration(seconds_between(oldest, at).max(0.0));
        self.channel(channel, Health::Working, format!("its lines of the last {known} are known"), Some(newest));
        for id in ["listing-failed", "listing-empty-output", "listing-odd"] {
            let said = manager.fleet(id);
            let recent = said.filter(|said| seconds_between(said.at, at) < 5.0 * MINUTE);
            match recent {
                Some(said) => self.note(Fact::said(id), true, channel, said.at, FRESH_WORDS_S, said.line.clone()),
                None => self.note(Fact::said(id), false, channel, newest, FRESH_WORDS_S, "its newest lines"),
            }
        }
        let read_at = manager.read_at.unwrap_or(newest);
        let silent_s = seconds_between(manager.listing_at.unwrap_or(oldest), read_at);
        self.note(
            fact::LISTING_SILENT,
            silent_s > 200.0,
            channel,
            read_at,
            FRESH_WORDS_S,
            format!("no line about it for {silent_s:.0} s"),
        );
        let none = manager.listed_none_at.filter(|at| self.age_s(*at).abs() < FRESH_WORDS_S);
        self.note(
            fact::LISTED_NONE,
            none.is_some(),
            channel,
            none.unwrap_or(newest),
            FRESH_WORDS_S,
            "[monitor] cached 0 vast instances",
        );
        if let Some((listed_at, count)) = manager.listed {
            self.note(
                fact::LISTED_ONE_PAGE,
                count == 25,
                channel,
                listed_at,
                FRESH_WORDS_S,
                format!("[monitor] cached {count} vast instances"),
            );
        }
        let mut names: Vec<String> = instance.uuid.iter().map(ToString::to_string).collect();
        if let Some(vast_id) = instance.vast_id {
            names.extend([vast_id.to_string(), format!("C.{vast_id}")]);
        }
        let covers = oldest <= self.since;
        for id in ["bad-host", "unregistered", "destroy-failed", "no-timestamp", "re-registered"] {
            let fact = Fact::said(id);
            match manager.of(&names, id) {
                Some(said) => {
                    // A restart before this state was reached is of another stay.
                    if id == "re-registered" {
                        if said.at < self.since {
                            continue;
                        }
                        self.note(fact::STARTED_OVER, true, channel, said.at, f64::MAX, said.line.clone());
                    }
                    self.note(fact, true, channel, said.at, f64::MAX, said.line.clone());
                }
                None if covers => {
                    if id == "re-registered" {
                        self.note(
                            fact::STARTED_OVER,
                            false,
                            channel,
                            newest,
                            FRESH_WORDS_S,
                            "no re-register since it entered this state",
                        );
                    }
                    self.note(fact, false, channel, newest, f64::MAX, "no such line of it");
                }
                None => {}
            }
        }
        if let Some(ended) = self.ended_at {
            self.told_of_its_kill(&names, ended);
        }
        if let (Some(vast_id), Some(ended)) = (instance.vast_id, self.ended_at)
            && oldest <= ended
        {
            let holds = manager.destroyed(vast_id.0);
            self.note(
                fact::DESTROYED_BY_ITS_WORD,
                holds,
                channel,
                ended,
                f64::MAX,
                format!("[monitor] destroyed vast instance {vast_id}"),
            );
        }
        if let Some(started) = around.manager_started_at {
            let lost = started > self.since && instance.row.log_lines.is_some();
            let text = format!("the manager started at {started}");
            self.note(fact::LOGS_LOST_AT_RESTART, lost, channel, newest, FRESH_WORDS_S, text);
        }
    }

    /// What the manager's log says of who had it killed, and with which rental. The row alone does not tell whether a rental
    /// was named: it says the same whether one was or not.
    fn told_of_its_kill(&mut self, names: &[String], ended: Timestamp) {
        let manager = &self.case.around.manager;
        let channel = Channel::ManagerLog;
        let told = manager.kill_of(names).filter(|told| seconds_between(told.at, ended).abs() < KILL_TAKES_S);
        if let Some(told) = told.filter(|told| told.by == KilledBy::BadHost) {
            self.note(fact::KILLED_BAD_HOST, true, channel, told.at, f64::MAX, told.line.clone());
        }
        let Some(vast_id) = self.case.instance.vast_id.map(|vast_id| vast_id.0) else { return };
        let destroy = manager.destroy_told(vast_id).filter(|at| seconds_between(*at, ended).abs() < KILL_TAKES_S);
        if let Some(told) = told.filter(|told| told.vast_id == Some(vast_id)) {
            return self.note(fact::KILL_UNNAMED, false, channel, told.at, f64::MAX, told.line.clone());
        }
        if let Some(at) = destroy {
            return self.note(fact::KILL_UNNAMED, false, channel, at, f64::MAX, format!("[monitor] a destroy of {vast_id}"));
        }
        // What was written off is not destroyed on purpose. Of anything else every line of that time has to be known: those
        // from well before it until after it, without a hole in which its lines could have stood.
        let whole = manager.whole_from.is_some_and(|from| seconds_between(from, ended) > KILL_TAKES_S)
            && manager.read_at.is_some_and(|read| seconds_between(ended, read) > KILL_LINES_COME_S);
        match told {
            Some(told) if told.by == KilledBy::Disappeared => {}
            // It names another's rental.
            Some(told) if told.vast_id.is_some() || whole => {
                self.note(fact::KILL_UNNAMED, true, channel, told.at, f64::MAX, told.line.clone());
            }
            None if whole => {
                self.note(fact::KILL_UNNAMED, true, channel, ended, f64::MAX, "no line of its kill in the manager's log");
            }
            _ => {}
        }
    }
}
