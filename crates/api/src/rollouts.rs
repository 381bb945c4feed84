//! Deployments and rolling replacements.

use dwell_fleet::Timestamp;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{OfferView, OffersRequest, PlanStep};

dto! {
    /// A variable in the environment of what is rented.
    EnvVar {
        /// Name.
        name: String,
        /// Value, stored as it is; `null`: the keychain has it, under `env:NAME`. Refused where the name reads like a secret.
        #[serde(default)]
        value: Option<String>,
    }

    /// Asks what a deployment or a rolling replacement would do.
    RolloutRequest {
        /// So many new ones, in place of nobody.
        #[serde(default)]
        count: u32,
        /// Replaces these.
        #[serde(default)]
        ids: Vec<String>,
        /// Replaces everybody who was rented before then.
        #[serde(default)]
        #[ts(type = "string | null")]
        rented_before: Option<Timestamp>,
        /// Which offers.
        market: OffersRequest,
        /// These alone.
        #[serde(default)]
        offer_ids: Vec<u64>,
        /// Straight from vast.ai with this image; through the manager, with its own, where not given.
        #[serde(default)]
        image: Option<String>,
        /// What the container runs at its start.
        #[serde(default)]
        onstart: Option<String>,
        /// Its environment.
        #[serde(default)]
        env: Vec<EnvVar>,
        /// Proofs per hour below which the manager kills it.
        #[serde(default)]
        min_rate: Option<f64>,
        /// What a proof may cost, US dollars: the minimum rate of each follows from its price.
        #[serde(default)]
        dollars_per_proof_max: Option<f64>,
        /// New ones on their way at a time; 1 where not given.
        #[serde(default)]
        at_once: Option<u32>,
        /// What new ones may cost while what they replace is still there, US dollars per hour; of a deployment, all of them.
        extra_dollars_per_h: f64,
        /// Longest time until one runs, seconds; two and a half hours where not given, as long as the manager's own timers allow.
        #[serde(default)]
        running_within_s: Option<f64>,
        /// Hours that the credit has to last at the new price; 6 where not given.
        #[serde(default)]
        credit_lasts_h: Option<f64>,
        /// Why, for the journal.
        #[serde(default)]
        why: Option<String>,
    }

    /// What it would do.
    RolloutPlan {
        /// Begins it, once, within two minutes; `null` where it cannot be begun.
        token: Option<String>,
        /// In a sentence.
        sentence: String,
        /// Whom it replaces, oldest first.
        replaces: Vec<PlanStep>,
        /// The offers that would be taken now; they may be gone when their turn comes.
        offers: Vec<OfferView>,
        /// What these cost together, US dollars per hour, as far as prices were told.
        dollars_per_h: Option<f64>,
        /// What should be known before.
        notes: Vec<String>,
        /// Why it cannot be begun.
        refused: Option<String>,
        /// What has to be typed to confirm it.
        confirm_with: Option<String>,
        /// The fleet is read-only.
        read_only: bool,
    }

    /// Names a rollout.
    RolloutName {
        /// Its name.
        name: String,
    }

    /// Deployments and replacements, newest first.
    Rollouts {
        /// They.
        rollouts: Vec<RolloutView>,
    }

    /// A deployment or a replacement.
    RolloutView {
        /// Name.
        name: String,
        /// `deploy` or `replace`.
        kind: String,
        /// `going`, `paused` or `ended`.
        state: String,
        /// A process takes its steps; false where that one was ended and somebody has to resume it.
        alive: bool,
        /// Why it is in that state.
        says: String,
        /// When it was asked for.
        #[ts(type = "string")]
        at: Timestamp,
        /// Why.
        why: String,
        /// What new ones may cost while what they replace is still there, US dollars per hour.
        extra_dollars_per_h_max: f64,
        /// What they cost so: each what is billed, or what was offered where that is more or no bill is known yet.
        extra_dollars_per_h: f64,
        /// It was a simulation.
        simulated: bool,
        /// Each.
        items: Vec<RolloutItemView>,
    }

    /// One of them.
    RolloutItemView {
        /// Whom it replaces.
        old: Option<String>,
        /// `waiting`, `ordering`, `coming`, `retiring`, `done`, `failed` or `left`.
        state: String,
        /// Since when.
        #[ts(type = "string")]
        at: Timestamp,
        /// What happened last.
        text: String,
        /// Label that it was ordered with.
        label: Option<String>,
        /// Machine.
        machine_id: Option<u64>,
        /// vast.ai's number of the new one.
        vast_id: Option<u64>,
        /// Its price as it was offered, US dollars per hour.
        dollars_per_h: Option<f64>,
        /// What vast.ai bills for it, US dollars per hour; `null` where that is not known yet.
        billed_dollars_per_h: Option<f64>,
    }
}
