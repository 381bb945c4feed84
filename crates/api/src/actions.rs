//! Plans, the audit log, write access and rules.

use dwell_fleet::Timestamp;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

dto! {
    /// What is done by itself.
    Rule {
        /// Name.
        name: String,
        /// Name of the fleet that it is for.
        fleet: String,
        /// When this verdict holds: `stalled`, `invisible`, `contradicted`, `leaking`, `slow` or `gone`.
        verdict: String,
        /// With this cause confirmed, and no other.
        cause: String,
        /// For so long, seconds.
        for_s: f64,
        /// This is done: `kill`, `destroy`, `reboot` or `ban`.
        deed: String,
        /// It is followed.
        #[serde(default)]
        on: bool,
        /// It only says in the journal what it would do.
        dry_run: bool,
        /// To so many within a day.
        per_day: u32,
        /// Whose prices add up to so much within a day, US dollars per hour.
        dollars_per_h_a_day: f64,
    }

    /// Names a rule.
    RuleName {
        /// Its name.
        name: String,
    }

    /// Rules of the fleet that is watched.
    Rules {
        /// They.
        rules: Vec<RuleView>,
    }

    /// A rule, and what it did within the last day.
    RuleView {
        /// The rule.
        rule: Rule,
        /// To so many.
        today: usize,
        /// Whose prices add up to so much, US dollars per hour.
        dollars_per_h_today: f64,
    }

    /// Asks what would be done.
    PlanRequest {
        /// `kill`, `destroy`, `stop`, `start`, `reboot`, `label`, `ban` or `unban`.
        deed: String,
        /// Instances (ids, unique prefixes, vast.ai numbers or labels), rentals by number; of `unban` machines.
        ids: Vec<String>,
        /// The label; the reason of a ban.
        #[serde(default)]
        text: Option<String>,
        /// Why, for the journal.
        #[serde(default)]
        why: Option<String>,
    }

    /// What would be done, to whom, and what it costs.
    PlanView {
        /// Carries it out, once, within two minutes; `null` where nothing can be done now.
        token: Option<String>,
        /// What is done.
        deed: String,
        /// In a sentence.
        sentence: String,
        /// Each step.
        steps: Vec<PlanStep>,
        /// What it saves, US dollars per hour, as far as prices were told; negative: what it costs more.
        saves_dollars_per_h: Option<f64>,
        /// What is destroyed does not come back.
        destructive: bool,
        /// What has to be typed to confirm it; `null`: nothing.
        confirm_with: Option<String>,
        /// The fleet is read-only: nothing can be carried out until that is switched off.
        read_only: bool,
    }

    /// A step of a plan.
    PlanStep {
        /// To whom.
        id: String,
        /// Where it is now, what it is.
        is_now: String,
        /// What will happen.
        what: String,
        /// What will be lost with it.
        lost: Option<String>,
        /// What else it hits, where that is more than what it says.
        warning: Option<String>,
        /// Why this step is left out; the others are not.
        refused: Option<String>,
        /// Its price, US dollars per hour.
        dollars_per_h: Option<f64>,
        /// The account of vast.ai's that lists its rental and that the deed goes to; `null` where none does, or none is asked.
        account: Option<String>,
    }

    /// Carries out a plan, as it was shown.
    CarryOut {
        /// Its token.
        token: String,
        /// What was typed to confirm it.
        #[serde(default)]
        confirmation: Option<String>,
        /// Why, for the journal, in place of what the plan was asked with. It changes nothing of the plan.
        #[serde(default)]
        why: Option<String>,
    }

    /// Gives write access to the fleet that is watched, or makes it read-only.
    AllowActing {
        /// Whether.
        allow: bool,
        /// For how long, seconds (60 to 14,400); 900 where not given. It is read-only again by itself.
        #[serde(default)]
        for_s: Option<f64>,
        /// Not write access: whether rules and `dwellctl` may act on it at any time. That is allowed only during write access.
        #[serde(default)]
        standing: bool,
    }

    /// What was done, and whether anything can be.
    Acts {
        /// The fleet that is watched may be acted on.
        may_act: bool,
        /// For how long still, seconds; `null` where it is read-only.
        write_access_left_s: Option<f64>,
        /// Rules and `dwellctl` may act on it at any time.
        standing: bool,
        /// Rules that act on it by themselves now: followed, not dry, and allowed to.
        rules_acting: usize,
        /// Deeds, newest first.
        acts: Vec<ActView>,
    }

    /// A deed and what came of it.
    ActView {
        /// The plan that it is a step of.
        plan: String,
        /// What.
        deed: String,
        /// With which text.
        deed_text: Option<String>,
        /// To whom.
        target: String,
        /// The account of vast.ai's whose rental it is, where that was known.
        account: Option<String>,
        /// Who had it done.
        who: String,
        /// Why.
        why: String,
        /// The fleet's manager.
        fleet: String,
        /// It was a simulation.
        simulated: bool,
        /// `planned`, `sent`, `answered`, `unanswered`, `not-verified` (not yet), `refused`, `taken`, `verified` or `incident`.
        phase: String,
        /// Nothing comes after it.
        done: bool,
        /// What happened last.
        text: String,
        /// When it was planned.
        #[ts(type = "string")]
        planned_at: Timestamp,
        /// When what happened last did.
        #[ts(type = "string")]
        at: Timestamp,
        /// Every step.
        steps: Vec<ActStep>,
    }

    /// A step of a deed's course.
    ActStep {
        /// When.
        #[ts(type = "string")]
        at: Timestamp,
        /// Which.
        phase: String,
        /// What happened.
        text: String,
    }
}
