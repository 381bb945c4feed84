//! The main job, end to end without a window: simulated fleets in virtual time, and over HTTP.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod drills;
mod evening;
mod incidents;
mod machines;
mod misbehaving;
mod table;
mod vast;
mod watch;
