//! The texts of the real programs are read as the list says, every signature is borne out by it, and a guess proves nothing.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::collections::BTreeSet;

use dwell_diagnosis::{Basis, SIGNATURES, Signature, Written, causes, matches};
use dwell_real_texts::{Place, Text, texts};

fn written(place: Place) -> Option<Written> {
    match place {
        Place::Log => Some(Written::InInstanceLog),
        Place::Manager => Some(Written::InManagerLog),
        Place::Status => Some(Written::InVastStatus),
        Place::Kernel | Place::NvidiaSmi | Place::Program => None,
    }
}

#[test]
fn each_text_is_read_as_the_list_says() {
    let mut wrong = Vec::new();
    for text in texts().unwrap() {
        let Some(written) = written(text.place) else { continue };
        let line = text.example().unwrap();
        let found: BTreeSet<&str> = matches(written, &line).iter().map(|signature| signature.id).collect();
        let wanted: BTreeSet<&str> = text.reads.iter().map(String::as_str).collect();
        if found != wanted {
            wrong.push(format!("{line:?}: {found:?} instead of {wanted:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Real where a text with a source has it, a guess where none does.
#[test]
fn each_signature_is_borne_out_or_called_a_guess() {
    let texts = texts().unwrap();
    let has = |text: &&Text, signature: &Signature| {
        written(text.place) == Some(signature.written) && text.reads.iter().any(|id| id == signature.id)
    };
    for signature in SIGNATURES {
        let of_it: Vec<&Text> = texts.iter().filter(|text| has(text, signature)).collect();
        assert!(!of_it.is_empty(), "{} is in no text of the list", signature.id);
        let basis = if of_it.iter().any(|text| !text.is_guess()) { Basis::Real } else { Basis::Guess };
        assert_eq!(signature.basis, basis, "{}", signature.id);
    }
    for text in &texts {
        for id in &text.reads {
            assert!(SIGNATURES.iter().any(|signature| signature.id == id), "{} names {id}", text.shape);
        }
    }
}

#[test]
fn a_guess_proves_nothing() {
    let guess = |id: &str| {
        let signature = id.strip_prefix("said:").and_then(|id| SIGNATURES.iter().find(|signature| signature.id == id));
        signature.is_some_and(|signature| signature.basis == Basis::Guess)
    };
    assert!(guess("said:gsp"), "there is a guess to be found");
    for cause in causes() {
        for set in cause.confirmed_by {
            assert!(!set.iter().any(|fact| guess(fact.kind().id)), "{} is confirmed by a guess", cause.id);
        }
    }
}
