//! The clients over real sockets, and over a real `ssh` and `sshd`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on says where")]

mod http;
mod ssh;
mod sshd;
mod vast_list;
