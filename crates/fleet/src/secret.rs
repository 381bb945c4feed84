//! Values that stand in nothing that is written, shown or sent on: keys of accounts, and what rentals get from the keychain. Whoever reads
//! one says so here, once; whatever writes text asks here, so that an answer, a log or an error that repeats one does no harm.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use aho_corasick::{AhoCorasick, MatchKind};
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use base64::{Engine, engine::GeneralPurpose};
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};

/// Stands where a secret stood.
pub const REDACTED: &str = "[a secret]";
/// Bytes of the shortest value that can be kept secret: a shorter one stands in many a word, and texts would be spoilt by its removal.
pub const SECRET_BYTES_MIN: usize = 8;

/// What stays as it is in an address.
const IN_ADDRESSES: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The same in JavaScript's `encodeURIComponent`, in forms, and in queries as browsers write them.
const IN_COMPONENTS: &AsciiSet = &IN_ADDRESSES.remove(b'!').remove(b'\'').remove(b'(').remove(b')').remove(b'*');
const IN_FORMS: &AsciiSet = &IN_ADDRESSES.remove(b'*').add(b'~');
const IN_QUERIES: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'<').add(b'>').add(b'\'');

/// The values of this process, and what finds them in all their forms.
struct Known {
    values: BTreeSet<String>,
    finder: Option<AhoCorasick>,
}

static KNOWN: RwLock<Known> = RwLock::new(Known { values: BTreeSet::new(), finder: None });
/// Spares those who write the look, where no secret was read.
static ANY: AtomicBool = AtomicBool::new(false);

/// Takes a value for a secret, from now on and as long as the process lives. False, and nothing, where it is too short for one.
pub fn keep_secret(value: &str) -> bool {
    if value.len() < SECRET_BYTES_MIN {
        return false;
    }
    if KNOWN.read().unwrap_or_else(PoisonError::into_inner).values.contains(value) {
        return true;
    }
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    known.values.insert(value.to_owned());
    let forms: BTreeSet<String> = known.values.iter().flat_map(|value| forms(value)).collect();
    // Fails for more patterns than memory has room for alone; the former one is better than none.
    if let Ok(finder) = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&forms) {
        known.finder = Some(finder);
    }
    ANY.store(true, Ordering::Release);
    true
}

/// A text without any secret that is known, in whatever form it stands there: plain, in a JSON text, in an address, in base64.
pub fn redacted(text: &str) -> Cow<'_, str> {
    if !ANY.load(Ordering::Acquire) {
        return Cow::Borrowed(text);
    }
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    match &known.finder {
        Some(finder) if finder.is_match(text) => Cow::Owned(finder.replace_all(text, &vec![REDACTED; finder.patterns_len()])),
        _ => Cow::Borrowed(text),
    }
}

/// The same for bytes, which need not be text.
pub fn redacted_bytes(bytes: &[u8]) -> Cow<'_, [u8]> {
    if !ANY.load(Ordering::Acquire) {
        return Cow::Borrowed(bytes);
    }
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    match &known.finder {
        Some(finder) if finder.is_match(bytes) => {
            Cow::Owned(finder.replace_all_bytes(bytes, &vec![REDACTED.as_bytes(); finder.patterns_len()]))
        }
        _ => Cow::Borrowed(bytes),
    }
}

/// Whether any secret is known: without one there is nothing to look for.
pub fn any_secret() -> bool {
    ANY.load(Ordering::Acquire)
}

/// Every form of a secret that is looked for. Encodings that take it together with what stands around it are met by what they always make
/// of its middle.
fn forms(value: &str) -> BTreeSet<String> {
    // As Rust and JSON write it between quotes; PHP's JSON escapes slashes.
    let debug = format!("{value:?}");
    let debug = debug.trim_start_matches('"').strip_suffix('"').unwrap_or(&debug).to_owned();
    let json = in_json(value);
    let slashes = json.replace('/', "\\/");
    let mut forms = BTreeSet::from([value.to_owned(), debug, json, slashes]);
    // Who writes addresses does not agree on what has to be escaped: from all that is no letter to what would end the part alone.
    for set in [NON_ALPHANUMERIC, IN_ADDRESSES, IN_COMPONENTS, IN_FORMS, IN_QUERIES] {
        let address = utf8_percent_encode(value, set).to_string();
        forms.extend([lower_hex(&address), address.replace("%20", "+"), address]);
    }
    for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
        forms.extend((0..3).map(|before| in_base64(engine, value, before)));
    }
    forms
}

fn in_json(value: &str) -> String {
    let mut json = String::with_capacity(value.len());
    for letter in value.chars() {
        match letter {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            '\u{8}' => json.push_str("\\b"),
            '\u{c}' => json.push_str("\\f"),
            other if other.is_ascii_control() => json.push_str(&format!("\\u{:04x}", u32::from(other))),
            other => json.push(other),
        }
    }
    json
}

/// The same percent-encoding with small letters.
fn lower_hex(address: &str) -> String {
    let mut left = 0;
    let lower = |letter: char| {
        if letter == '%' {
            left = 2;
            return letter;
        }
        let is_hex = left > 0;
        left -= usize::from(is_hex);
        if is_hex { letter.to_ascii_lowercase() } else { letter }
    };
    address.chars().map(lower).collect()
}

/// What base64 always makes of it where so many bytes stand before it in its group of three: without the letters that it shares.
fn in_base64(engine: &GeneralPurpose, value: &str, before: usize) -> String {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(value.as_bytes());
    let whole = bytes.len() * 8 / 6;
    let shared = [0, 2, 3][before.min(2)];
    engine.encode(&bytes).chars().take(whole).skip(shared).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_too_short_is_no_secret() {
        assert!(!keep_secret("1234567") && !keep_secret(""));
        assert_eq!(redacted("a 1234567 stays"), "a 1234567 stays");
    }

    proptest! {
        /// Wherever a secret stands, and however it is written there, it is gone, and what stands around it is left.
        #[test]
        fn a_secret_is_found_in_every_form(
            value in "[!-~]{4}[ -~]{6,40}[!-~]{2}",
            before in "[a-z ]{0,9}",
            after in "[a-z.]{0,5}",
        ) {
            prop_assert!(keep_secret(&value));
            let around = format!("{before}{value}{after}");
            for text in [around.clone(), format!("{around:?}"), in_json(&around), format!("key={}", utf8_percent_encode(&around, IN_ADDRESSES))] {
                let shown = redacted(&text).into_owned();
                prop_assert!(shown.contains(REDACTED), "{}", text);
                for form in forms(&value) {
                    prop_assert!(!shown.contains(&form), "{form} in {shown}");
                }
                prop_assert_eq!(redacted_bytes(text.as_bytes()).into_owned(), shown.into_bytes());
            }
            for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
                let text = engine.encode(&around);
                let shown = redacted(&text).into_owned();
                prop_assert!(shown.contains(REDACTED), "{}", text);
            }
        }
    }
}
