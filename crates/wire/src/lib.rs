//! What comes from outside, as it is really written: the manager's and vast.ai's JSON, the prover's status, the output of the
//! look at a machine.
//!
//! Tolerant on input: a missing, null, mistyped or unknown field never costs more than itself, a bad row never more than
//! its row. Exact on output: what the simulator serves is what the real manager would have written, byte for byte, as the
//! captures in `tests/captures` show. Only this crate knows JSON field names.

mod domain;
mod lenient;
mod manager;
mod mended;
mod offer_query;
mod probe;
mod vast;

pub use domain::{log_line, snapshot};
pub use manager::{
    BadHostEntry, Dashboard, DeployAnswer, DeployRequest, ErrorBody, HostPerf, Instance, KillRequest, LogLine, Offer, Offers,
    ROWS_MAX, Summary,
};

pub use offer_query::{OFFER_FIELDS, OfferFilters, offer_defaults, offer_filters};
pub use probe::{
    PROBE_BYTES_MAX, PROBE_END, PROBE_SECTIONS, Probed, THROTTLE_REASONS, probe_mark, probe_script, probe_section, probed,
    prover_failure,
};
pub use vast::{prover_status, vast_answer_shown, vast_json, vast_record};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Why an answer could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The body is not JSON.
    #[error("the answer is not JSON: it begins with {begins_with:?} and is {bytes} bytes long")]
    NotJson {
        /// The first characters, control characters escaped by `Debug`.
        begins_with: String,
        /// Length of the body.
        bytes: usize,
    },
    /// The body is JSON that ends in the middle.
    #[error("the answer is cut short after {bytes} bytes")]
    CutShort {
        /// Length of what arrived.
        bytes: usize,
    },
    /// The body is JSON of another shape.
    #[error("the answer has another shape than expected: {detail}")]
    Shape {
        /// What did not fit.
        detail: String,
    },
}

/// Reads a body. What no JSON may hold (a `NaN`, half of a surrogate pair, a byte that is no text, a raw control) costs no more than
/// itself: the value becomes null, the letter U+FFFD.
pub fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, DecodeError> {
    let strictly = |error: serde_json::Error| match error.is_data() {
        true => Err(error),
        false => serde_json::from_str(&mended::as_strict(body)).map_err(|_| error),
    };
    serde_json::from_slice(body).or_else(strictly).map_err(|error: serde_json::Error| match error.classify() {
        serde_json::error::Category::Eof => DecodeError::CutShort { bytes: body.len() },
        serde_json::error::Category::Syntax => DecodeError::NotJson {
            begins_with: String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned(),
            bytes: body.len(),
        },
        serde_json::error::Category::Data | serde_json::error::Category::Io => {
            DecodeError::Shape { detail: error.to_string().chars().take(200).collect() }
        }
    })
}

/// Writes a body as the manager (Go's `encoding/json` through an `Encoder`) does: `<`, `>`, `&` and the two Unicode line
/// separators escaped, a newline at the end.
pub fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    // Serialising our own plain structs into memory cannot fail: no maps with odd keys, no failing writer.
    let json = serde_json::to_string(value).unwrap_or_default();
    let needs_escapes = |byte: &u8| matches!(byte, b'<' | b'>' | b'&' | 0xe2);
    if !json.as_bytes().iter().any(needs_escapes) {
        return (json + "\n").into_bytes();
    }
    let mut body = Vec::with_capacity(json.len() + 1);
    // Outside of strings JSON has none of these characters, so replacing them everywhere touches strings alone.
    let mut buffer = [0; 4];
    for character in json.chars() {
        match character {
            '<' => body.extend_from_slice(b"\\u003c"),
            '>' => body.extend_from_slice(b"\\u003e"),
            '&' => body.extend_from_slice(b"\\u0026"),
            '\u{2028}' => body.extend_from_slice(b"\\u2028"),
            '\u{2029}' => body.extend_from_slice(b"\\u2029"),
            other => body.extend_from_slice(other.encode_utf8(&mut buffer).as_bytes()),
        }
    }
    body.push(b'\n');
    body
}
