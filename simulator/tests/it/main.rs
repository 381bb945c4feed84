//! The simulated world against the real protocols, the failure catalogue and its own invariants.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod channels;
mod invariants;
mod offer_queries;
mod protocol;
mod vast_client;
