//! Incidents, causes, evidence, checks and reports.

use dwell_fleet::Timestamp;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{ConditionView, InstanceRow};

dto! {
    /// Everything that is stuck, grouped by what it may share.
    Incidents {
        /// Incidents, most pressing first.
        incidents: Vec<IncidentView>,
        /// Flagged instances whose trouble was closed by a person.
        closed: usize,
        /// What is out of order with the whole fleet or with what can be seen of it, loudest first.
        conditions: Vec<ConditionView>,
        /// The manager's time that this is told of.
        #[ts(type = "string | null")]
        as_of: Option<Timestamp>,
    }

    /// Stuck instances that look alike.
    IncidentView {
        /// Stable as long as its first instance is in it.
        id: String,
        /// Verdict that they share.
        verdict: String,
        /// State that they share.
        state: String,
        /// In one sentence.
        sentence: String,
        /// Since when the first of them is so.
        #[ts(type = "string")]
        since: Timestamp,
        /// Who.
        instances: Vec<IncidentMember>,
        /// Causes that lead for them, by title.
        causes: Vec<String>,
        /// What they cost together, US dollars per hour; what was not told is left out.
        dollars_per_h: Option<f64>,
        /// What is to be looked at next.
        next_check: Option<String>,
        /// What they share that others do not, in a sentence; `null` where nothing is clear.
        shared: Option<String>,
    }

    /// A member of an incident.
    IncidentMember {
        /// Its id.
        id: String,
        /// Card model.
        gpu_name: Option<String>,
        /// Why it is flagged.
        reason: String,
        /// Since when, on the manager's clock.
        #[ts(type = "string")]
        since: Timestamp,
    }

    /// What is thought of an instance, and why.
    DiagnosisPage {
        /// Its row.
        row: InstanceRow,
        /// Verdict: the flag's kind, else `healthy`, or `gone` where it was killed.
        verdict: String,
        /// The verdict with what is likely behind it, in one or two sentences.
        sentence: String,
        /// When it was worked out, on the manager's clock.
        #[ts(type = "string")]
        at: Timestamp,
        /// Contradictions, and what is about to be lost.
        findings: Vec<FindingView>,
        /// Causes, most probable first; those of one group are not told apart by what was seen.
        groups: Vec<CauseGroup>,
        /// Causes that are unlikely or excluded.
        unlikely: Vec<CauseRank>,
        /// Two causes at once, where they explain much more than one.
        pair: Option<PairView>,
        /// Independent channels that have spoken.
        channels_heard: usize,
        /// No cause was given more than this, 0 to 1.
        ceiling: f64,
        /// What was seen, fact by fact.
        observations: Vec<ObservationView>,
        /// The channels, each with whether it could have spoken.
        channels: Vec<ChannelView>,
        /// What to look at next, most telling first.
        next_checks: Vec<CheckView>,
        /// What to do by what is thought now.
        act: Option<String>,
        /// The comparison with instances that are well.
        cohort: CohortView,
        /// Notes, looks and closings, oldest first.
        notes: Vec<NoteView>,
        /// Other instances that were closed with one of the leading causes.
        seen_before: Vec<SeenBeforeView>,
        /// Its trouble was closed since it was flagged.
        closed: bool,
    }

    /// A contradiction.
    FindingView {
        /// Stable id.
        id: String,
        /// `stop` (it costs money or destroys evidence now) or `find-out`.
        lane: String,
        /// What does not fit together.
        text: String,
        /// US dollars per hour.
        dollars_per_h: Option<f64>,
        /// Since when, or when it will be.
        #[ts(type = "string | null")]
        at: Option<Timestamp>,
        /// The field or line that shows it.
        reference: String,
    }

    /// Causes that what was seen does not tell apart.
    CauseGroup {
        /// They, by how common they are.
        causes: Vec<CauseRank>,
        /// Looks that would tell them apart, best first.
        told_apart_by: Vec<String>,
    }

    /// A cause in the ranking.
    CauseRank {
        /// Id in the catalogue.
        id: String,
        /// In a few words.
        title: String,
        /// `confirmed`, `likely`, `possible`, `unlikely` or `excluded`.
        standing: String,
        /// Posterior probability, 0 to 1. Calibrated in drills only.
        probability: f64,
        /// What the observations add up to, in nats; how common the cause is comes on top.
        evidence: f64,
        /// `common`, `occasional` or `rare`.
        common: String,
        /// What speaks for it, strongest first.
        for_it: Vec<ContributionView>,
        /// What speaks against it, strongest first.
        against_it: Vec<ContributionView>,
        /// What would prove it and was not seen.
        would_confirm: Vec<String>,
        /// What to do about it.
        remedy: String,
    }

    /// What one observation adds to a cause.
    ContributionView {
        /// Its place among the observations.
        observation: usize,
        /// In words.
        text: String,
        /// Log-odds, nats, before its witness's cap.
        log_odds: f64,
    }

    /// Two causes at once.
    PairView {
        /// Their ids.
        ids: Vec<String>,
        /// Their titles.
        titles: Vec<String>,
        /// What they explain beyond the best single one, nats.
        gain: f64,
    }

    /// A typed fact read on one channel at one time.
    ObservationView {
        /// Id of the fact.
        fact: String,
        /// It holds.
        holds: bool,
        /// In words.
        text: String,
        /// Where it was read.
        channel: String,
        /// The time that it speaks of.
        #[ts(type = "string")]
        at: Timestamp,
        /// It is evidence for so long after that, seconds; `null` where it does not age.
        fresh_for_s: Option<f64>,
        /// The raw line or field.
        reference: String,
        /// It is out of the ordinary.
        odd: bool,
    }

    /// A channel.
    ChannelView {
        /// Its id.
        channel: String,
        /// Its name.
        title: String,
        /// `working`, `quiet`, `blind`, `unreachable` or `not-asked`.
        health: String,
        /// Why that is said.
        why: String,
        /// When it was last read.
        #[ts(type = "string | null")]
        at: Option<Timestamp>,
        /// Facts that it gave.
        facts: usize,
        /// Read by itself; the others are asked when wanted.
        watched: bool,
    }

    /// A look that could be made.
    CheckView {
        /// Its id.
        check: String,
        /// As an imperative.
        title: String,
        /// What it takes, seconds.
        seconds: f64,
        /// Uncertainty that it is expected to take away, nats.
        uncertainty: f64,
        /// Causes that it would tell apart: titles, a group each.
        separates: Vec<Vec<String>>,
        /// Why it cannot be made from here, where it cannot.
        wanting: Option<String>,
        /// How to do it by hand.
        by_hand: String,
    }

    /// The stuck against the well.
    CohortView {
        /// Stuck.
        stuck: usize,
        /// Well: they passed the same state in the same time.
        well: usize,
        /// Values that were tried; p is corrected for as many.
        tried: usize,
        /// In one sentence.
        sentence: String,
        /// What the stuck share, strongest first.
        shared: Vec<SharedView>,
        /// In what they differ: evidence against a cause there.
        differ_in: Vec<String>,
    }

    /// What one value has to do with being stuck.
    SharedView {
        /// e.g. `image`.
        attribute: String,
        /// Its value.
        value: String,
        /// Stuck with it.
        stuck_with: usize,
        /// Stuck without it.
        stuck_without: usize,
        /// Well with it.
        well_with: usize,
        /// Well without it.
        well_without: usize,
        /// One-sided p of Fisher's exact test.
        p: f64,
        /// Smallest p that these counts could reach.
        p_least: f64,
        /// p corrected for the values tried.
        p_corrected: f64,
        /// Share of the stuck that have it less that of the well.
        effect: f64,
        /// `no-contrast`, `weak`, `clear` or `strong`.
        strength: String,
        /// What divides the same instances in the same way.
        confounded_with: Vec<String>,
    }

    /// A note, a look or a closing.
    NoteView {
        /// When.
        #[ts(type = "string")]
        at: Timestamp,
        /// `note`, `look` or `close`.
        kind: String,
        /// Its text.
        text: String,
        /// Of a closing: the cause.
        cause: Option<String>,
    }

    /// A closing of another instance.
    SeenBeforeView {
        /// Whose.
        id: String,
        /// When.
        #[ts(type = "string")]
        at: Timestamp,
        /// The cause.
        cause: String,
        /// What was written.
        text: String,
        /// Card then.
        gpu: Option<String>,
        /// Machine then.
        machine: Option<u64>,
    }

    /// A look at one instance.
    LookRequest {
        /// Whose.
        id: String,
        /// Which.
        check: String,
    }

    /// A note on an instance.
    NoteRequest {
        /// Whose.
        id: String,
        /// What.
        text: String,
    }

    /// Closes an instance's trouble with a cause.
    CloseRequest {
        /// Whose.
        id: String,
        /// The cause: an id of the catalogue, `not-stuck-yet`, or `not-in-the-catalogue`.
        cause: String,
        /// Why, in words.
        text: String,
    }

    /// Names a cause.
    CauseRequest {
        /// Its id.
        id: String,
    }

    /// The catalogue.
    Causes {
        /// Its causes, by place.
        causes: Vec<CauseInfo>,
    }

    /// A cause in a list.
    CauseInfo {
        /// Its id.
        id: String,
        /// In a few words.
        title: String,
        /// It is ranked; the others explain what the manager's own page shows.
        ranked: bool,
    }

    /// A cause, explained.
    CauseView {
        /// Its id.
        id: String,
        /// In a few words.
        title: String,
        /// What happens.
        what: String,
        /// States it can hold an instance in; empty for every one.
        states: Vec<String>,
        /// `common`, `occasional` or `rare`.
        common: String,
        /// What it shows, and how often.
        shows: Vec<ShownView>,
        /// What it never shows.
        never_shows: Vec<String>,
        /// Sets of facts that prove it.
        confirmed_by: Vec<Vec<String>>,
        /// What it always shows: its absence speaks against it.
        excluded_by: Vec<String>,
        /// Kind of remedy.
        act: String,
        /// The remedy.
        remedy: String,
        /// Where it is known from.
        source: String,
        /// It is ranked.
        ranked: bool,
    }

    /// A fact that a cause shows.
    ShownView {
        /// In words.
        text: String,
        /// Channels that can show it.
        channels: Vec<String>,
        /// `always`, `usually`, `often`, `sometimes` or `seldom`.
        often: String,
        /// As a share, 0 to 1. A judgement.
        share: f64,
        /// How often it is seen where nothing explains it.
        usual: f64,
    }

    /// Asks for a report.
    ReportRequest {
        /// Instances.
        ids: Vec<String>,
        /// `markdown` or `html`.
        format: String,
        /// Addresses and numbers of hosts are written out; otherwise they are left out.
        with_addresses: bool,
    }

    /// A report.
    Report {
        /// A name for the file.
        file_name: String,
        /// The text.
        text: String,
    }
}
