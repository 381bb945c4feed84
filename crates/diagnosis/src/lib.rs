//! What observations mean. So far: signatures, the words in logs and status texts that are known to mean something.
//!
//! Pure: no I/O, no clock, no JSON, no randomness; the same text gives the same answer. Nothing here reads a scenario: what
//! is known of a fleet comes through its channels.

mod signature;

pub use signature::{Channel, SIGNATURES, Said, Signature, matches, said};
