//! A way out on which no secret passes.

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

#[cfg(test)]
mod tests {
    use super::*;

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
