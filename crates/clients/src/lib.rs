//! The manager and vast.ai over HTTP.
//!
//! Each route is a request built by one function and an answer read by another (no I/O in either); [`ManagerClient`] sends
//! them, with time-outs, a limit on every body, and one retry where the call is safe to repeat. Nothing is decided here.
//! The SSH tunnel will stand where [`ManagerClient::new`] takes a base URL: it only changes which address is asked.

mod error;
mod manager;
mod request;
mod vast;

pub use error::{Code, FetchError};
pub use manager::{Answered, Limits, ManagerClient};
pub use request::{Call, Method, SIMULATED_HEADER};
pub use vast::{VAST_ADDRESS, VastClient, VastListed, VastUser};
