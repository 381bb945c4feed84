//! A way out on which no secret passes.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, Write};

/// Writes to another writer what it is given, without any secret that is known. A log gives it a line at a time: what is split over two
/// writes is not seen.
#[derive(Debug, Clone)]
pub struct Redacting<W>(pub W);

impl<W: Write> Write for Redacting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(&dwell_fleet::redacted_bytes(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Has a crash of this program say no secret, whatever the words of it are; where `RUST_BACKTRACE` asks for it, with its way there.
pub fn panics_hold_no_secret() {
    std::panic::set_hook(Box::new(|panic| {
        let way = Backtrace::capture();
        let way = if way.status() == BacktraceStatus::Captured { format!("{way}") } else { String::new() };
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("without a name");
        let _ = writeln!(Redacting(io::stderr()), "thread {name} {panic}\n{way}");
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[ignore = "started by another test, in a process of its own"]
    fn crashes() {
        panics_hold_no_secret();
        dwell_fleet::keep_secret("hf-5ec7e7-crash");
        panic!("no answer to Bearer hf-5ec7e7-crash");
    }

    #[test]
    fn a_crash_says_where_and_no_secret() -> io::Result<()> {
        let mut child = std::process::Command::new(std::env::current_exe()?);
        let child = child.args(["--exact", "redacting::tests::crashes", "--ignored", "--nocapture"]).output()?;
        let said = String::from_utf8_lossy(&child.stderr);
        assert!(!child.status.success() && said.contains("redacting.rs:") && said.contains("Bearer [a secret]"), "{said}");
        assert!(!said.contains("5ec7e7"), "{said}");
        Ok(())
    }

    #[test]
    fn what_passes_holds_no_secret() -> io::Result<()> {
        dwell_fleet::keep_secret("hf-5ec7e7-writer");
        let mut written = Redacting(Vec::new());
        written.write_all(b"GET / Authorization: Bearer hf-5ec7e7-writer\n")?;
        written.write_all(&[0xff, b'\n'])?;
        assert_eq!(written.0, b"GET / Authorization: Bearer [a secret]\n\xff\n");
        Ok(())
    }
}
