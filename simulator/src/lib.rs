//! A fleet of rented GPU instances that fails on purpose.
//!
//! A scenario never says "instance 3 shows no logs". It injects a fault into a mechanical world, and what every channel
//! then shows follows from the mechanism: the manager's API, vast.ai's API, the machine itself, the prover's status. The
//! same world runs in virtual time, as fast as the CPU allows, and served over HTTP at a speed factor. Same scenario, same
//! seed: same result to the byte, on every platform (only integer randomness and the four basic operations on floats are
//! used).

mod clock;
mod conditions;
mod dice;
mod faults;
mod gauges;
mod hardware;
mod manager;
mod scenario;
mod serve;
mod world;

pub use clock::SimClock;
pub use faults::{FaultKind, Parameter, Place, Value, fault_kind, fault_kinds};
pub use manager::{BUFFER_LINES_MAX, LogBytes, MANAGER_LOG_LINES_MAX, Manager, PUSH_BYTES_MAX};
pub use scenario::{Diagnosis, Fault, Scenario, ScenarioError, Target, scenario_schema, shipped};
pub use serve::{SIMULATED_HEADER, ServeError, Served, serve};
pub use world::{
    Account, ApiAnswer, FileView, GpuView, HostView, ProcessView, ProverStatus, ShippedBytes, Smi, SshReach, Truth, World,
};
