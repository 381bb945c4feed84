//! Drills.

use dwell_fleet::Timestamp;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

dto! {
    /// The drills that can be played, and those that were.
    Drills {
        /// What can be played, by group and title.
        drills: Vec<DrillInfo>,
        /// What was played, newest first.
        past: Vec<PastDrill>,
    }

    /// A drill that can be played.
    DrillInfo {
        /// The scenario's name. It can give the truth away: not shown before the end.
        name: String,
        /// What is seen, in one line.
        title: String,
        /// `evening`, `several` or `one`.
        group: String,
        /// How long it lasts, simulated seconds.
        duration_s: f64,
        /// How often it was played to its end.
        plays: usize,
        /// Best score, 0 to 100; `null` where it was not played.
        best_score: Option<f64>,
    }

    /// A drill that was played.
    PastDrill {
        /// The scenario's name.
        scenario: String,
        /// Its title.
        title: String,
        /// The seed.
        seed: u64,
        /// When it ended.
        #[ts(type = "string")]
        at: Timestamp,
        /// Score, 0 to 100.
        score: f64,
        /// Instances whose cause was named rightly.
        right: usize,
        /// Instances with something to name.
        to_name: usize,
        /// What the delay cost, dollars.
        delay_dollars: f64,
    }

    /// Begins a drill.
    StartDrill {
        /// The scenario; any where not given.
        scenario: Option<String>,
        /// The seed; another every time where not given.
        seed: Option<u64>,
    }

    /// The drill that is being played, or has just ended.
    DrillView {
        /// What is seen, in one line.
        title: String,
        /// Simulated time of the first screen.
        #[ts(type = "string")]
        began_at: Timestamp,
        /// Simulated time after which nothing more is to be learnt.
        #[ts(type = "string")]
        ends_at: Timestamp,
        /// What can be named.
        causes: Vec<DrillCause>,
        /// What was named so far; the latest answer about an instance counts.
        answers: Vec<DrillAnswer>,
        /// What was done so far.
        deeds: Vec<DrillDeed>,
        /// Once it has ended.
        debrief: Option<Debrief>,
    }

    /// A cause that can be named.
    DrillCause {
        /// Its id.
        id: String,
        /// Where it sits.
        place: String,
        /// What is different then.
        what: String,
    }

    /// Names the cause of what an instance shows.
    AnswerDrill {
        /// The instance.
        id: String,
        /// Id of a cause, or `nothing-wrong`.
        cause: String,
    }

    /// An answer.
    DrillAnswer {
        /// The instance.
        id: String,
        /// Id of a cause, or `nothing-wrong`.
        cause: String,
        /// Simulated seconds after the first screen.
        at_s: f64,
    }

    /// Does something to an instance of the drill.
    DoInDrill {
        /// The instance.
        id: String,
        /// `destroy` or `reboot`.
        deed: String,
    }

    /// Something done.
    DrillDeed {
        /// The instance.
        id: String,
        /// `destroy` or `reboot`.
        deed: String,
        /// Simulated seconds after the first screen.
        at_s: f64,
    }

    /// What a drill comes to.
    Debrief {
        /// The scenario's name.
        scenario: String,
        /// What it was about.
        summary: String,
        /// The seed.
        seed: u64,
        /// Simulated time played, seconds.
        played_s: f64,
        /// Score, 0 to 100.
        score: f64,
        /// How the score comes about, one sentence a part.
        score_parts: Vec<String>,
        /// Instances whose cause was named rightly.
        right: usize,
        /// Instances with something to name.
        to_name: usize,
        /// What they cost from fault to answer, dollars.
        delay_dollars: f64,
        /// Every instance that was struck, answered or acted upon.
        instances: Vec<DebriefInstance>,
        /// What happened, oldest first.
        timeline: Vec<DebriefEvent>,
        /// What a perfect diagnosis would say and ask next.
        perfect: Vec<String>,
    }

    /// An instance in a debrief.
    DebriefInstance {
        /// Its id.
        id: String,
        /// Faults that struck it, each with what it does.
        truth: Vec<DrillCause>,
        /// What a perfect diagnosis says of it; `null` where the scenario says nothing.
        expected_verdict: Option<String>,
        /// Causes that cannot be told apart from there.
        expected_causes: Vec<String>,
        /// What was named.
        answer: Option<String>,
        /// `right`, `close` (not told apart from the truth), `wrong`, `missed` or `nothing-to-name`.
        outcome: String,
        /// Simulated seconds after the first screen.
        fault_at_s: Option<f64>,
        /// Its first flag that asks for a person.
        flagged_at_s: Option<f64>,
        /// The answer that counts.
        answered_at_s: Option<f64>,
        /// What it cost from fault to answer or end, dollars.
        delay_dollars: f64,
        /// It was destroyed by the player.
        destroyed: bool,
    }

    /// Something that happened in a drill.
    DebriefEvent {
        /// Simulated seconds after the first screen.
        at_s: f64,
        /// `fault`, `flag`, `look`, `answer` or `deed`.
        kind: String,
        /// The instance, where it is about one.
        id: Option<String>,
        /// What.
        text: String,
    }
}
