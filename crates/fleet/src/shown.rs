//! Text from outside as it may be shown. Names, labels, reasons and statuses come from instances, their hosts and whoever answers as
//! the manager; none of it may change how the text around it reads.

use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory, VariationSelector};
use icu_properties::{CodePointMapData, CodePointSetData};

/// Letters of a name, a label, a version: more is cut.
pub const NAME_LETTERS_MAX: usize = 256;
/// Letters of a reason or a status: more is cut.
pub const WORDS_LETTERS_MAX: usize = 4_096;

/// Whether a character shows something of its own and leaves the others alone. Not: controls, overrides of writing direction, characters
/// without width (U+200B, U+061C, U+2060, tags, Hangul fillers), and separators of lines (U+2028, U+2029). Source: Unicode's general
/// categories Cc, Cf, Zl, Zp and the property `Default_Ignorable_Code_Point`; variation selectors (as in emoji) are left.
pub fn is_plain(letter: char) -> bool {
    if letter.is_ascii() {
        return !letter.is_ascii_control();
    }
    let steers = matches!(
        CodePointMapData::<GeneralCategory>::new().get(letter),
        GeneralCategory::Control | GeneralCategory::Format | GeneralCategory::LineSeparator | GeneralCategory::ParagraphSeparator
    );
    let is_unseen = CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(letter)
        && !CodePointSetData::new::<VariationSelector>().contains(letter);
    !steers && !is_unseen
}

/// A character as it may be shown: itself, a space for one that moves to another place, U+FFFD for any other that is not plain.
pub fn plain_letter(letter: char) -> char {
    match letter {
        '\t' | '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => ' ',
        other if is_plain(other) => other,
        _ => char::REPLACEMENT_CHARACTER,
    }
}

/// At most so many letters of a text, on one line, each plain; a cut is shown by an ellipsis.
pub fn shown(text: &str, letters_max: usize) -> String {
    let mut letters = text.chars().map(plain_letter);
    let mut shown: String = letters.by_ref().take(letters_max).collect();
    if letters.next().is_some() {
        shown.pop();
        shown.push('\u{2026}');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_or_is_unseen_is_not_shown() {
        let hostile = [
            '\u{0}',
            '\u{1b}',
            '\u{7f}',
            '\u{9b}',
            '\u{ad}',
            '\u{61c}',
            '\u{115f}',
            '\u{180e}',
            '\u{200b}',
            '\u{200d}',
            '\u{200f}',
            '\u{202e}',
            '\u{2060}',
            '\u{2066}',
            '\u{3164}',
            '\u{feff}',
            '\u{fff9}',
            '\u{e0041}',
            '\u{1d173}',
        ];
        for letter in hostile {
            assert!(!is_plain(letter), "{:04x}", letter as u32);
            assert_eq!(shown(&format!("a{letter}b"), 9), "a\u{fffd}b", "{:04x}", letter as u32);
        }
        for place in ['\t', '\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'] {
            assert!(!is_plain(place), "{:04x}", place as u32);
            assert_eq!(shown(&format!("a{place}b"), 9), "a b");
        }
        for text in
            ["RTX 4090", "Zürich, CH", "機械 7", "⚠\u{fe0f} low", "नेपाल", "مرحبا", "⠋ loading", "nvidia\u{a0}x", "\u{e000}"]
        {
            assert_eq!(shown(text, 99), text);
        }
    }

    #[test]
    fn a_cut_is_seen_and_letters_are_whole() {
        assert_eq!(shown("äöüß", 4), "äöüß");
        assert_eq!(shown("äöüßx", 4), "äöü…");
        assert_eq!(shown(&"x".repeat(20_000_000), 8).chars().count(), 8);
    }
}
