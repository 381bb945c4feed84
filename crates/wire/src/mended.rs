//! JSON that is right but for single values: written by Python (`NaN`, `Infinity`, halves of surrogate pairs), by C (raw controls), or
//! hurt on its way (bytes that are no text). Read strictly, one of them would cost the whole answer.

/// The text with null in place of numbers that JSON does not know, the letter U+FFFD in place of halves of surrogate pairs and of bytes
/// that are no text, and controls in strings as escapes.
pub(crate) fn as_strict(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let mut strict = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(first) = rest.chars().next() {
        let (token, is_text) = match first {
            '"' => (string_token(rest), true),
            'A'..='Z' | 'a'..='z' | '0'..='9' | '-' => {
                let end = rest.find(|it: char| !(it.is_ascii_alphanumeric() || matches!(it, '-' | '+' | '.')));
                (&rest[..end.unwrap_or(rest.len())], false)
            }
            other => (&rest[..other.len_utf8()], false),
        };
        rest = &rest[token.len()..];
        let unknown = matches!(token, "NaN" | "Infinity" | "-Infinity")
            || (token.parse::<f64>().is_ok_and(|number| !number.is_finite()) && token.contains(|it: char| it.is_ascii_digit()));
        match (is_text, unknown) {
            (true, _) => strict.push_str(&mended_string(token)),
            (false, true) => strict.push_str("null"),
            (false, false) => strict.push_str(token),
        }
    }
    strict
}

/// The string that begins here, with its quotation marks; all that is left where it does not end.
fn string_token(text: &str) -> &str {
    let mut escaped = false;
    for (at, it) in text.char_indices().skip(1) {
        match it {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return &text[..=at],
            _ => {}
        }
    }
    text
}

/// A string token in which no escape is half of a surrogate pair, and no control stands as itself.
fn mended_string(token: &str) -> String {
    if !token.contains(|it: char| it == '\\' || it < ' ') {
        return token.to_owned();
    }
    let unit = |text: &str| {
        let digits = text.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut whole = String::with_capacity(token.len());
    let mut rest = token;
    while let Some(at) = rest.find(|it: char| it == '\\' || it < ' ') {
        whole.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(control) = rest.bytes().next().filter(|byte| *byte < b' ') {
            whole.push_str(&format!("\\u{control:04x}"));
            rest = &rest[1..];
            continue;
        }
        let (length, is_half) = match unit(rest) {
            Some(0xd800..=0xdbff) if unit(&rest[6..]).is_some_and(|next| (0xdc00..=0xdfff).contains(&next)) => (12, false),
            Some(0xd800..=0xdfff) => (6, true),
            // The escape and what it escapes, which can be a backslash.
            _ => (1 + rest.chars().nth(1).map_or(0, char::len_utf8), false),
        };
        whole.push_str(if is_half { "\\ufffd" } else { &rest[..length] });
        rest = &rest[length..];
    }
    whole.push_str(rest);
    whole
}
