//! Answers without what they repeat of secrets.

use dwell_fleet::{any_secret, redacted, redacted_bytes};
use dwell_wire as wire;
use serde_json::Value;

/// Takes every secret that is known out of an answer, names of fields included. Whether there was one.
pub fn redact(value: &mut Value) -> bool {
    if !any_secret() {
        return false;
    }
    match value {
        Value::String(text) => {
            let clean = redacted(text);
            let found = clean != *text;
            if found {
                *text = clean.into_owned();
            }
            found
        }
        Value::Array(values) => values.iter_mut().fold(false, |found, value| redact(value) | found),
        Value::Object(fields) => {
            let mut found = false;
            for (name, mut value) in std::mem::take(fields) {
                found |= redact(&mut value);
                let clean = redacted(&name);
                found |= clean != name;
                fields.insert(clean.into_owned(), value);
            }
            found
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The same for a body, which may be no JSON. Texts in JSON can be escaped letter by letter: they are looked through as they read.
pub(crate) fn without_secrets(body: Vec<u8>) -> Vec<u8> {
    if !any_secret() {
        return body;
    }
    match wire::decode::<Value>(&body) {
        Ok(mut value) => match redact(&mut value) {
            true => serde_json::to_vec(&value).unwrap_or_default(),
            false => body,
        },
        Err(_) => redacted_bytes(&body).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_in_an_answer_is_found_however_it_is_escaped() {
        let body = br#"{"text":"vk-5ec7e7-\u0030123 \u0076k-5ec7e7-0123","more":[{"vk-5ec7e7-0123":1e999}]}"#;
        assert_eq!(without_secrets(b"no secret is known".to_vec()), b"no secret is known");
        dwell_fleet::keep_secret("vk-5ec7e7-0123");
        let clean = String::from_utf8(without_secrets(body.to_vec())).unwrap_or_default();
        assert_eq!(clean, r#"{"more":[{"[a secret]":null}],"text":"[a secret] [a secret]"}"#);
        assert_eq!(without_secrets(b"<p>vk-5ec7e7-0123".to_vec()), b"<p>[a secret]");
        let without = br#"{"a":  1}"#;
        assert_eq!(without_secrets(without.to_vec()), without);
    }
}
