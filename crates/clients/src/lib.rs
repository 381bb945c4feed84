//! The manager and vast.ai over HTTP, machines and the way to the manager by SSH.
//!
//! Each route is a request built by one function and an answer read by another (no I/O in either); [`ManagerClient`] sends
//! them, with time-outs, a limit on every body, and one retry where the call is safe to repeat. Nothing is decided here.
//! A [`Tunnel`] only changes which address is asked.

mod error;
mod manager;
mod request;
mod secret;
mod ssh;
mod tunnel;
mod vast;
mod vast_list;

pub use dwell_wire::probe_script;
pub use error::{Code, FetchError};
pub use manager::{Answered, Limits, ManagerClient, is_address};
pub use request::{Call, Method, SIMULATED_HEADER};
pub use secret::redact;
pub use ssh::{ProbeRun, Ssh, SshTarget, probe_by_hand};
pub use tunnel::{Tunnel, TunnelState};
pub use vast::{Create, OfferQuery, VAST_ADDRESS, VastClient, VastListed, VastOffer, VastUser};
pub use vast_list::{VastList, VastPages};
