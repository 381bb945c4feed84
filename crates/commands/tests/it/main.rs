//! The main job, end to end without a window: simulated fleets in virtual time, and over HTTP.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod cuts;
mod drills;
mod evening;
mod incidents;
mod machines;
mod misbehaving;
mod secrets;
mod table;
mod vast;
mod watch;

/// A real OpenSSH server, as the tests of the clients use it.
#[allow(dead_code, reason = "not all of it is used here")]
#[path = "../../../clients/tests/it/sshd.rs"]
mod sshd;
