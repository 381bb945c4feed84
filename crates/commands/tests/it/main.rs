//! The main job, end to end without a window: simulated fleets in virtual time, and over HTTP.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod access;
mod charts;
mod conditions;
mod cuts;
mod drills;
mod evening;
mod faults;
mod incidents;
mod machines;
mod misbehaving;
mod secrets;
mod soak;
mod table;
mod vast;
mod watch;

/// A real OpenSSH server, as the tests of the clients use it.
#[allow(dead_code, reason = "not all of it is used here")]
#[path = "../../../clients/tests/it/sshd.rs"]
mod sshd;

/// Healthy instances at work, an hour after the first screen, and faults as a scenario writes them.
fn world(seed: u64, count: usize, faults: &str) -> dwell_commands::World {
    let text = format!(
        r#"
name = "small"
title = "A few at work"
summary = "-"
seed = {seed}
start = "2026-03-13T17:00:00Z"
duration = "6h"
[[image]]
id = "new"
reference = "example/curio-cuzk:1"
ships = ["setup", "benchdaemon", "benchout", "cuzk", "curio"]
[[wave]]
at = "-3h"
image = "new"
count = {count}
ram_gib = 256
{faults}"#
    );
    let scenario = dwell_commands::Scenario::parse("test", &text).unwrap();
    let mut world = dwell_commands::World::new(scenario, seed, dwell_commands::now());
    let at = dwell_commands::later(world.now(), 3_600.0);
    world.advance_to(at);
    world
}
