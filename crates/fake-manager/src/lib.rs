//! The manager's double, for tests: a server that behaves as the public manager source says, point by point, and refuses what
//! that program refuses. [`rules::RULES`] names for each rule the function and the lines of the source and the test here.
//!
//! It shares no code and no type with Dwell: what Dwell misunderstands about the manager, this cannot misunderstand with it.
//!
//! ```no_run
//! use dwell_fake_manager::{Behaviour, FakeManager, Options};
//!
//! let manager = FakeManager::serve(Options::default()); // on a free loopback port, in a thread of its own
//! let uuid = manager.running(31_000_010); // rented, registered, benchmarked, proving
//! manager.push(&uuid, "cuzk", "a line\n"); // as the instance ships it
//! manager.account(|account| account.destroy = Behaviour::Aborts); // as vastai 1.9.1 without -y
//! manager.cycle(); // the monitor, now instead of at its time (10 s after the start, then every 60 s)
//! // … dwellctl --manager {manager.url()} …
//! manager.stop(); // port closed, connections cut, buffers lost
//! manager.start_again(); // same address, same tables
//! assert!(manager.requests().iter().all(|seen| seen.method == "GET"));
//! ```
//!
//! Without sockets: [`Manager`] (`handle(request, now)`, `tick(now)`, `answered(call, output, now)`), and [`Desk`], which joins
//! it with an [`Account`] whose client answers at once, for virtual time.

mod account;
mod desk;
pub mod go_json;
mod go_text;
mod http;
mod manager;
pub mod rules;
mod serve;
mod store;
mod vast;

pub use account::{Account, Behaviour};
pub use desk::Desk;
pub use http::{Request, Response};
pub use manager::{
    CYCLE_PAUSE_S, Call, Exit, FIRST_CYCLE_S, INSTANCE_LINES_MAX, MANAGER_LINES_MAX, Manager, Outcome, Output, PUSH_BYTES_MAX,
};
pub use serve::{Client, FakeManager, Options, Seen};
pub use store::{BadHost, Database, Kept, LogBuffer, LogLine, Row};
