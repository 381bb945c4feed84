//! The real prover's own benchmark client, where it is on the machine: a command that the operator gives, run as it is, and the
//! proofs per minute that it prints. Source of the lines: the client's output (`=== Batch Summary ===`, `throughput:`).

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use regex::Regex;
use serde::Serialize;

/// Longer lines are cut, bytes.
const LINE_MOST: u64 = 64 * 1024;
/// Lines that are kept for a message where there is no figure.
const LAST_LINES: usize = 5;
/// An end is looked for as often.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What it measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct External {
    /// The command.
    pub command: Vec<String>,
    /// Proofs per hour: sixty times what it printed per minute.
    pub proofs_per_h: f64,
    /// Seconds a proof, as it printed them.
    pub seconds_a_proof: f64,
    /// Proofs that were completed, and that failed.
    pub completed: u32,
    /// Those that failed: their time counts.
    pub failed: u32,
    /// Seconds that the command ran.
    pub lasted_s: f64,
}

/// Why it gave no figure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExternalError {
    /// It could not be started.
    #[error("cannot run {command:?}: {why}")]
    Start {
        /// The program.
        command: String,
        /// Why.
        why: String,
    },
    /// It ran too long.
    #[error("it was ended after {0:?}: it had not finished")]
    TooLong(Duration),
    /// It was broken off.
    #[error("it was broken off")]
    Stopped,
    /// It ended without a figure.
    #[error(
        "it ended with {status} and without a line like \"throughput: 0.612 proofs/min (98.0s/proof)\"; its last lines:\n{last}"
    )]
    NoFigure {
        /// How it ended.
        status: String,
        /// Its last lines.
        last: String,
    },
}

/// What its lines say.
#[derive(Debug, Default)]
struct Said {
    throughput: Option<(f64, f64)>,
    completed: u32,
    failed: u32,
    last: Vec<String>,
}

struct Patterns {
    throughput: Regex,
    result: Regex,
}

impl Patterns {
    /// `None` never: both are constants, which a test compiles.
    fn new() -> Option<Self> {
        Some(Self {
            throughput: Regex::new(r"throughput:\s+([0-9]+(?:\.[0-9]+)?) proofs/min \(([0-9]+(?:\.[0-9]+)?)s/proof\)").ok()?,
            result: Regex::new(r"^\s*\[\d+/\d+\] (COMPLETED|FAILED|CANCELLED|TIMEOUT|UNKNOWN)\b").ok()?,
        })
    }
}

impl Said {
    fn take(&mut self, line: &str, patterns: &Patterns) {
        if let Some(found) = patterns.throughput.captures(line)
            && let (Ok(per_minute), Ok(seconds)) = (found[1].parse(), found[2].parse())
        {
            self.throughput = Some((per_minute, seconds));
        }
        if let Some(found) = patterns.result.captures(line) {
            if &found[1] == "COMPLETED" {
                self.completed += 1;
            } else {
                self.failed += 1;
            }
        }
        if self.last.len() == LAST_LINES {
            self.last.remove(0);
        }
        self.last.push(line.to_owned());
    }
}

/// Sends each line on, cut at its limit.
fn lines(from: impl Read + Send + 'static, to: std::sync::mpsc::Sender<String>) {
    std::thread::spawn(move || {
        let mut from = BufReader::new(from);
        loop {
            let mut line = Vec::new();
            match from.by_ref().take(LINE_MOST).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) if to.send(String::from_utf8_lossy(&line).trim_end().to_owned()).is_err() => return,
                Ok(_) => {}
            }
        }
    });
}

/// Runs a command for so long at most and reads its figure. `goes_on` is told each line; where it gives false, the command is ended.
pub fn external(
    command: &[String],
    at_most: Duration,
    goes_on: &mut dyn FnMut(Option<&str>) -> bool,
) -> Result<External, ExternalError> {
    let start = |why: String| ExternalError::Start { command: command.first().cloned().unwrap_or_default(), why };
    let (program, arguments) = command.split_first().ok_or_else(|| start("no command was given".to_owned()))?;
    let patterns = Patterns::new().ok_or_else(|| start("its output cannot be read".to_owned()))?;
    let began = Instant::now();
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| start(error.to_string()))?;
    let (to, from) = channel();
    if let Some(out) = child.stdout.take() {
        lines(out, to.clone());
    }
    if let Some(errors) = child.stderr.take() {
        lines(errors, to);
    }
    let mut said = Said::default();
    let mut broken_off = None;
    // Also where what it started goes on holding its output: then for as long as is allowed.
    loop {
        let line = from.recv_timeout(LOOK_EVERY);
        if let Ok(line) = &line {
            said.take(line, &patterns);
        }
        if !goes_on(line.as_deref().ok()) {
            broken_off = Some(ExternalError::Stopped);
        } else if began.elapsed() > at_most {
            broken_off = Some(ExternalError::TooLong(at_most));
        }
        if broken_off.is_some() {
            let _ = child.kill();
            break;
        }
        if line == Err(RecvTimeoutError::Disconnected) {
            break;
        }
    }
    let status = child.wait().map_err(|error| start(error.to_string()))?;
    if let Some(error) = broken_off {
        return Err(error);
    }
    let (per_minute, seconds_a_proof) = said
        .throughput
        .filter(|(per_minute, _)| *per_minute > 0.0)
        .ok_or_else(|| ExternalError::NoFigure { status: status.to_string(), last: said.last.join("\n") })?;
    Ok(External {
        command: command.to_vec(),
        proofs_per_h: per_minute * 60.0,
        seconds_a_proof,
        completed: said.completed,
        failed: said.failed,
        lasted_s: began.elapsed().as_secs_f64(),
    })
}

#[cfg(test)]
#[cfg(unix)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]
mod tests {
    use super::*;

    fn shell(script: &str, at_most: Duration) -> Result<External, ExternalError> {
        external(&["sh".to_owned(), "-c".to_owned(), script.to_owned()], at_most, &mut |_| true)
    }

    #[test]
    fn the_figure_is_read_from_what_the_client_prints() {
        let script = "echo '=== Batch Benchmark ==='; \
            echo '  [1/3] COMPLETED job-1 101.2s (prove=98000 ms, queue=12 ms)'; \
            echo '  [2/3] FAILED job-2 3.0s (prove=0 ms, queue=9 ms)' >&2; \
            echo '  [3/3] COMPLETED job-3 99.0s (prove=97000 ms, queue=10 ms)'; \
            echo '  throughput:   0.593 proofs/min (101.2s/proof)'";
        let told = shell(script, Duration::from_secs(20)).unwrap();
        assert!((told.proofs_per_h - 35.58).abs() < 1e-9 && told.seconds_a_proof == 101.2, "{told:?}");
        assert_eq!((told.completed, told.failed), (2, 1));
    }

    #[test]
    fn without_a_figure_its_last_words_are_told() {
        let error = shell("echo 'failed to connect to daemon' >&2; exit 3", Duration::from_secs(20)).unwrap_err();
        let words = error.to_string();
        assert!(words.contains("failed to connect to daemon") && words.contains('3'), "{words}");
        let missing = external(&["/nonexistent/cuzk-bench".to_owned()], Duration::from_secs(1), &mut |_| true);
        assert!(matches!(missing, Err(ExternalError::Start { .. })), "{missing:?}");
    }

    #[test]
    fn it_is_ended_when_it_runs_too_long_or_is_broken_off() {
        assert!(matches!(shell("exec sleep 60", Duration::from_millis(300)), Err(ExternalError::TooLong(_))));
        let command = ["sleep".to_owned(), "60".to_owned()];
        assert_eq!(external(&command, Duration::from_secs(60), &mut |_| false), Err(ExternalError::Stopped));
    }
}
