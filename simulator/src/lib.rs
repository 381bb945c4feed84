//! A fleet of rented GPU instances that fails on purpose.
//!
//! A scenario never says "instance 3 shows no logs". It injects a fault into a mechanical world, and what the manager's
//! API then shows follows from the mechanism. The same world runs in virtual time, as fast as the CPU allows, and served
//! over HTTP at a speed factor. Same scenario, same seed: same result to the byte, on every platform (only integer
//! randomness and the four basic operations on floats are used).

mod clock;
mod dice;
mod hardware;
mod manager;
mod scenario;
mod serve;
mod world;

pub use clock::SimClock;
pub use manager::{BUFFER_LINES_MAX, MANAGER_LOG_LINES_MAX, Manager};
pub use scenario::{FaultKind, Scenario, ScenarioError, shipped};
pub use serve::{SIMULATED_HEADER, ServeError, Served, serve};
pub use world::{Truth, World};
