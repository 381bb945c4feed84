//! The window from outside, through WebDriver. Most tests drive the same front end in the same engine against the loopback
//! bridge (`page`); a few drive the real window (`window`). `cargo xtask test` gives them a display and a session bus.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on says where")]

mod driver;
mod page;
mod window;
