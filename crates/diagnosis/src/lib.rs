//! What observations mean: the catalogue of causes, their ranking for one instance, what to look at next, what contradicts
//! itself, and what instances share.
//!
//! Pure: no I/O, no clock, no JSON, no randomness; the same observations give the same answer. Nothing here reads a scenario:
//! what is known of a fleet comes through its channels.

mod around;
mod catalogue;
mod channel;
mod check;
mod cohort;
mod engine;
mod fact;
mod finding;
mod kill;
mod observe;
mod programs;
mod signals;
mod signature;

pub use around::{Around, Outside};
pub use catalogue::{Act, Cause, Common, Effect, NOT_IN_CATALOGUE, NOT_STUCK_YET, OBSERVER_FAULT, Phase, cause_of, causes};
pub use channel::{Channel, Health};
pub use check::{Check, Proposal};
pub use cohort::{Attributes, Comparison, Member, Shared, Strength, compare};
pub use dwell_fleet::look;
pub use engine::{Contribution, Diagnosis, Hypothesis, Pair, Standing, diagnose, rank};
pub use fact::{Fact, FactKind, Witness};
pub use finding::{Finding, Lane, findings};
pub use kill::{KillTold, KilledBy};
pub use observe::{Case, ChannelState, Observation, Seen, observe};
pub use programs::Role;
pub use signals::{ManagerSignals, Signals};
pub use signature::{Basis, SIGNATURES, Said, Signature, Written, matches, said};
