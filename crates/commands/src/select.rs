//! Whom a person means: one rule for everything that takes an instance, whether it looks or destroys.
//!
//! An id in full or the beginning of one that no other has, vast.ai's number in full, or a label. What fits several is ambiguous
//! everywhere; where one of those that share a number or a label is alive and the others are not, that one is meant.
//! A label that is the beginning of another's id means neither: anybody can write one.

use crate::{ApiError, ErrorCode};

/// Candidates that an error names.
const NAMED_MAX: usize = 10;

/// What an instance can be called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Called {
    /// The id that people and programs use.
    pub(crate) id: String,
    /// vast.ai's number.
    pub(crate) vast_id: Option<u64>,
    /// Its label.
    pub(crate) label: Option<String>,
    /// Where it is, for the error that names it.
    pub(crate) state: String,
    /// It is listed, and not killed.
    pub(crate) is_alive: bool,
}

/// The one that is meant, by its place among all of them.
pub(crate) fn select(all: impl IntoIterator<Item = Called>, wanted: &str) -> Result<usize, ApiError> {
    let wanted = wanted.trim();
    let (mut exact, mut begins, mut number_begins) = (Vec::new(), Vec::new(), Vec::new());
    for (place, it) in all.into_iter().enumerate().filter(|_| !wanted.is_empty()) {
        let number = it.vast_id.map(|id| id.to_string());
        if it.id == wanted || number.as_deref() == Some(wanted) || it.label.as_deref() == Some(wanted) {
            exact.push((place, it));
        } else if it.id.starts_with(wanted) {
            begins.push((place, it));
        } else if number.is_some_and(|number| number.starts_with(wanted)) {
            number_begins.push((place, it));
        }
    }
    // A label is written by whoever rents, an id is given: the one does not take the place of the other's beginning.
    let by_label = |it: &Called| it.id != wanted && it.vast_id.is_none_or(|id| id.to_string() != wanted);
    let is_label_alone = |(_, it): &(usize, Called)| it.is_alive && by_label(it);
    let is_given = |(_, it): &(usize, Called)| !it.is_alive && !by_label(it);
    let is_taken_by_a_label = exact.iter().any(is_label_alone) && exact.iter().any(is_given);
    if exact.len() > 1 && exact.iter().filter(|(_, it)| it.is_alive).count() == 1 && !is_taken_by_a_label {
        exact.retain(|(_, it)| it.is_alive);
    }
    if !exact.is_empty() && !begins.is_empty() && exact.iter().all(|(_, it)| by_label(it)) {
        exact.append(&mut begins);
    }
    if let [(only, _)] = exact[..] {
        return Ok(only);
    }
    if !exact.is_empty() {
        return Err(ambiguous(wanted, &exact));
    }
    match (&begins[..], &number_begins[..]) {
        ([(only, _)], []) => Ok(*only),
        ([], []) => Err(unknown(wanted)),
        ([], [(_, only)]) => {
            let number = only.vast_id.unwrap_or_default();
            Err(unknown(wanted).hint(format!("a number of vast.ai's is given in full: {number}")))
        }
        _ => {
            begins.append(&mut number_begins);
            Err(ambiguous(wanted, &begins))
        }
    }
}

/// Whether it is called exactly so, and not only begins so.
pub(crate) fn is_in_full(it: &Called, wanted: &str) -> bool {
    let wanted = wanted.trim();
    it.id == wanted || it.label.as_deref() == Some(wanted) || it.vast_id.is_some_and(|id| id.to_string() == wanted)
}

pub(crate) fn unknown(wanted: &str) -> ApiError {
    ApiError::new(ErrorCode::UnknownId, format!("no instance is called {wanted:?}, and no id begins so")).hint(
        "dwellctl fleet lists them, dwellctl vast instances what vast.ai bills; what the manager has forgotten is not watched any more",
    )
}

fn ambiguous(wanted: &str, found: &[(usize, Called)]) -> ApiError {
    let name = |(_, it): &(usize, Called)| match it.vast_id {
        Some(number) => format!("{} ({}, {number})", it.id, it.state),
        None => format!("{} ({})", it.id, it.state),
    };
    let named: Vec<String> = found.iter().take(NAMED_MAX).map(name).collect();
    let more = if found.len() > NAMED_MAX { format!(" and {} more", found.len() - NAMED_MAX) } else { String::new() };
    ApiError::new(ErrorCode::AmbiguousId, format!("{wanted:?} fits {} instances: {}{more}", found.len(), named.join(", ")))
        .hint("give more of the id, or the number in full")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn called(id: &str, vast_id: u64, label: &str, is_alive: bool) -> Called {
        let state = if is_alive { "running" } else { "killed" }.to_owned();
        Called { id: id.into(), vast_id: (vast_id > 0).then_some(vast_id), label: Some(label.into()), state, is_alive }
    }

    fn fleet() -> Vec<Called> {
        vec![
            called("7bec0001", 31_000_010, "C.31000010", true),
            called("7fff0002", 31_000_011, "C.31000011", true),
            called("a1b20003", 70_000_012, "C.70000012", true),
            called("31000003", 40_000_013, "mine", false),
            called("b1b20004", 40_000_013, "mine", true),
            called("c1c20005", 40_000_014, "twice", true),
            called("d1d20006", 40_000_015, "twice", true),
            called("e9e20007", 0, "", true),
            // Its label is how the id before it begins.
            called("f0f00008", 0, "e9e2", true),
        ]
    }

    #[test]
    fn an_id_its_beginning_a_number_in_full_or_a_label_means_one() {
        let of = |wanted: &str| select(fleet(), wanted).map_err(|error| error.code.as_str());
        for (wanted, place) in [("7bec0001", 0), ("7b", 0), (" a1 ", 2), ("31000011", 1), ("C.31000010", 0), ("e9", 7)] {
            assert_eq!(of(wanted), Ok(place), "{wanted}");
        }
        // The one that is alive of two that share a number and a label.
        assert_eq!((of("40000013"), of("mine")), (Ok(4), Ok(4)));
        for (wanted, code) in [
            // Two ids and a number begin so; one id and another's number do; a number alone does.
            ("7", "ambiguous-id"),
            ("31", "ambiguous-id"),
            ("4000001", "ambiguous-id"),
            ("7000001", "unknown-id"),
            ("twice", "ambiguous-id"),
            ("e9e2", "ambiguous-id"),
            ("", "unknown-id"),
            ("nobody", "unknown-id"),
            ("C.3", "unknown-id"),
        ] {
            assert_eq!(of(wanted), Err(code), "{wanted}");
        }
        let error = select(fleet(), "7").unwrap_err();
        for id in ["7bec0001", "7fff0002", "a1b20003"] {
            assert!(error.message.contains(id), "{error}");
        }
        assert!(select(fleet(), "7000001").unwrap_err().hint.unwrap().contains("70000012"));
    }

    proptest! {
        /// Whatever is typed: who is meant is called so, and nobody else could be meant as well.
        #[test]
        fn one_is_meant_or_none(
            all in prop::collection::vec(("[a-c1-3]{1,4}", 0u64..40, "[a-c1-3]{0,2}", any::<bool>()), 0..8),
            wanted in "[a-c1-3]{0,4}",
        ) {
            let all: Vec<Called> = all.into_iter().map(|(id, number, label, alive)| called(&id, number, &label, alive)).collect();
            if let Ok(place) = select(all.clone(), &wanted) {
                let meant = &all[place];
                prop_assert!(is_in_full(meant, &wanted) || meant.id.starts_with(&wanted));
                let others = all.iter().enumerate().filter(|(nth, _)| *nth != place);
                for (_, other) in others {
                    let by_label = meant.id != wanted && meant.vast_id.is_none_or(|id| id.to_string() != wanted) && is_in_full(meant, &wanted);
                    prop_assert!(!by_label || !other.id.starts_with(&wanted), "{meant:?} by its label, {other:?} by its id");
                    let as_well = is_in_full(other, &wanted) && (other.is_alive || !meant.is_alive);
                    prop_assert!(!as_well || (meant.is_alive && !other.is_alive), "{:?} or {:?}", meant, other);
                }
            }
        }
    }
}
