//! The lines of the programs on an instance, in the forms in which the real ones write them. Where each is from stands in
//! `crates/real-texts/real-texts.toml`; a test holds every line that is written against it.

use std::fmt::Display;

use jiff::Timestamp;

use super::{Source, World};
use crate::manager::plus_ms;

/// Where the prover listens.
pub(super) const SOCKET: &str = "/run/curio/cuzk.sock";
/// The file with the parameters of a proof.
pub(super) const PARAMETERS: &str = "v28-stacked-proof-of-replication-merkletree-poseidon_hasher-8-8-0-sha256_hasher-82a357d2f2ca81dc61bb45f4a762807aedee1b0a53fd6c4e77b46a01bfef7820.params";

/// A level, as Rust's tracing writes it with its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

impl Level {
    fn coloured(self) -> &'static str {
        match self {
            Self::Debug => "\u{1b}[34mDEBUG\u{1b}[0m",
            Self::Info => "\u{1b}[32m INFO\u{1b}[0m",
            Self::Warn => "\u{1b}[33m WARN\u{1b}[0m",
            Self::Error => "\u{1b}[31mERROR\u{1b}[0m",
        }
    }
}

/// A line of Rust's tracing: time, level, target, message, fields; coloured, terminal or not.
fn traced(at: Timestamp, level: Level, target: &str, message: &str, fields: &[(&str, &dyn Display)]) -> String {
    let time = at.strftime("%Y-%m-%dT%H:%M:%S%.6fZ");
    let mut line =
        format!("\u{1b}[2m{time}\u{1b}[0m {} \u{1b}[2m{target}\u{1b}[0m\u{1b}[2m:\u{1b}[0m {message}", level.coloured());
    for (name, value) in fields {
        line.push_str(&format!(" \u{1b}[3m{name}\u{1b}[0m\u{1b}[2m=\u{1b}[0m{value}"));
    }
    line
}

/// A line of Go's logger as curio uses it: time, level, system, place, message, fields, with tabs between.
fn logged(at: Timestamp, level: &str, system: &str, place: &str, message: &str, fields: &str) -> String {
    let time = at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ");
    let line = format!("{time}\t{level}\t{system}\t{place}\t{message}");
    if fields.is_empty() { line } else { format!("{line}\t{{{fields}}}") }
}

impl World {
    /// The instance's own clock.
    fn clock_of(&self, index: usize) -> Timestamp {
        plus_ms(self.now, (self.instances[index].conditions.host.clock_ahead_s * 1000.0) as i64)
    }

    /// The prover daemon writes a line.
    pub(super) fn daemon_says(
        &mut self,
        index: usize,
        log: Source,
        level: Level,
        target: &str,
        message: &str,
        fields: &[(&str, &dyn Display)],
    ) {
        let line = traced(self.clock_of(index), level, target, message, fields);
        self.write(index, log, &line);
    }

    /// curio, or its parameter fetcher, writes a line.
    pub(super) fn curio_says(
        &mut self,
        index: usize,
        log: Source,
        level: &str,
        (system, place): (&str, &str),
        message: &str,
        fields: &str,
    ) {
        let line = logged(self.clock_of(index), level, system, place, message, fields);
        self.write(index, log, &line);
    }

    /// A program ends with an error of Rust's `anyhow`: what failed, then its causes.
    pub(super) fn ends_with(&mut self, index: usize, log: Source, what: &str, causes: &[&str]) {
        self.write(index, log, &format!("Error: {what}"));
        if causes.is_empty() {
            return;
        }
        self.write(index, log, "Caused by:");
        for (place, cause) in causes.iter().enumerate() {
            let line = if causes.len() == 1 { format!("    {cause}") } else { format!("    {place}: {cause}") };
            self.write(index, log, &line);
        }
    }

    /// What the shell tells of a program that a signal ended; of any other end it tells nothing.
    pub(super) fn shell_tells_of_end(&mut self, index: usize, log: Source, pid: u32, code: i32) {
        let words = match code {
            132 => "Illegal instruction     (core dumped)",
            134 => "Aborted                 (core dumped)",
            136 => "Floating point exception(core dumped)",
            137 => "Killed                 ",
            139 => "Segmentation fault      (core dumped)",
            _ => return,
        };
        let line = format!("/usr/local/bin/benchmark.sh: line 57: {pid:>5} {words} cuzk-daemon --config /etc/cuzk.toml");
        self.write(index, log, &line);
    }

    /// The number by which the prover knows a job.
    pub(super) fn job_id(&self, index: usize, number: u64) -> String {
        format!("{:08x}-0000-4000-8000-{number:012x}", self.instances[index].vast_id)
    }
}
