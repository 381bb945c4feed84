//! The texts of the real programs: one list, `real-texts.toml`, that two sides are held against. The simulated world prints
//! nothing that is not in it; every signature of the diagnosis that counts as proof has a text in it, and every text is read as
//! the list says. Each entry names the program, and where its text is known from. Nothing of this ships.
//!
//! A shape is a line with placeholders: `{int}`, `{dec}`, `{time}` (RFC 3339), `{date}` (Go's logger), `{id}` (a uuid),
//! `{word}` (no space) and `{text}` (anything). Colours are left aside.

use std::borrow::Cow;
use std::sync::OnceLock;

use regex::Regex;
use serde::Deserialize;

/// The list as it stands in the repository.
const LIST: &str = include_str!("../real-texts.toml");

/// Where a text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// An instance's log, whatever its source.
    Log,
    /// The manager's own log.
    Manager,
    /// vast.ai's `status_msg`, and the host daemon's output.
    Status,
    /// The kernel log of the machine.
    Kernel,
    /// What `nvidia-smi` ends with.
    NvidiaSmi,
    /// A program's name in the list of processes.
    Program,
}

/// One text.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Text {
    /// Who writes it.
    pub program: String,
    /// Where that is known from: a public source with its file, a capture, or a report. Empty for what no public text bears
    /// out: a guess.
    pub source: String,
    /// Where it is written.
    pub place: Place,
    /// The line with placeholders.
    pub shape: String,
    /// Ids of the signatures that have to read it; none for what is ordinary.
    #[serde(default)]
    pub reads: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    text: Vec<Text>,
}

impl Text {
    /// No public text bears it out.
    pub fn is_guess(&self) -> bool {
        self.source.is_empty()
    }

    /// What matches a line of this shape, colours left aside.
    ///
    /// # Errors
    /// The shape is not a shape: a placeholder that is not known.
    pub fn pattern(&self) -> Result<Regex, String> {
        let mut pattern = String::from("^");
        for (fixed, placeholder) in parts(&self.shape)? {
            pattern.push_str(&regex::escape(fixed));
            pattern.push_str(placeholder.map_or("", |it| it.pattern));
        }
        pattern.push('$');
        Regex::new(&pattern).map_err(|error| error.to_string())
    }

    /// A line of this shape.
    ///
    /// # Errors
    /// As [`Text::pattern`].
    pub fn example(&self) -> Result<String, String> {
        let parts = parts(&self.shape)?;
        Ok(parts.into_iter().flat_map(|(fixed, placeholder)| [fixed, placeholder.map_or("", |it| it.example)]).collect())
    }
}

struct Placeholder {
    name: &'static str,
    pattern: &'static str,
    example: &'static str,
}

const PLACEHOLDERS: &[Placeholder] = &[
    Placeholder { name: "int", pattern: "[0-9]+", example: "7" },
    Placeholder { name: "dec", pattern: r"-?[0-9]+(?:\.[0-9]+)?", example: "101.2" },
    Placeholder {
        name: "time",
        pattern: r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(?:\.[0-9]+)?Z",
        example: "2026-03-13T17:00:01.123456Z",
    },
    Placeholder { name: "date", pattern: r"[0-9]{4}/[0-9]{2}/[0-9]{2} [0-9:]{8}", example: "2026/03/13 17:00:01" },
    Placeholder {
        name: "id",
        pattern: "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        example: "6259fe5e-43a9-49c9-bda5-86eec6e6755f",
    },
    Placeholder { name: "word", pattern: "[^ ]+", example: "word" },
    Placeholder { name: "text", pattern: ".*", example: "some words" },
];

/// A shape as fixed text, each piece with the placeholder that follows it.
fn parts(shape: &str) -> Result<Vec<(&str, Option<&'static Placeholder>)>, String> {
    let mut parts = Vec::new();
    let mut rest = shape;
    while let Some(place) = PLACEHOLDERS
        .iter()
        .filter_map(|placeholder| {
            let marker = format!("{{{}}}", placeholder.name);
            rest.find(&marker).map(|at| (at, marker.len(), placeholder))
        })
        .min_by_key(|(at, ..)| *at)
    {
        let (at, length, placeholder) = place;
        let (fixed, behind) = rest.split_at(at);
        parts.push((fixed, Some(placeholder)));
        rest = behind.get(length..).ok_or_else(|| format!("{shape}: cut inside a letter"))?;
    }
    parts.push((rest, None));
    Ok(parts)
}

/// The list.
///
/// # Errors
/// It cannot be read: the message says where.
pub fn texts() -> Result<Vec<Text>, String> {
    toml::from_str::<List>(LIST).map(|list| list.text).map_err(|error| error.to_string())
}

/// A line without its colours.
pub fn plain(line: &str) -> Cow<'_, str> {
    static COLOUR: OnceLock<Option<Regex>> = OnceLock::new();
    let colour = COLOUR.get_or_init(|| Regex::new("\u{1b}\\[[0-9;]*m").ok());
    colour.as_ref().map_or(Cow::Borrowed(line), |colour| colour.replace_all(line, ""))
}

/// The texts that a line can be.
pub fn matching(place: Place, line: &str) -> Vec<&'static Text> {
    static ALL: OnceLock<Vec<(Text, Regex)>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let read = texts().unwrap_or_default();
        read.into_iter().filter_map(|text| text.pattern().ok().map(|pattern| (text, pattern))).collect()
    });
    let line = plain(line);
    all.iter().filter(|(text, pattern)| text.place == place && pattern.is_match(&line)).map(|(text, _)| text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_can_be_read_and_each_example_is_of_its_shape() -> Result<(), String> {
        let texts = texts()?;
        assert!(texts.len() > 100, "{}", texts.len());
        for text in &texts {
            let example = text.example()?;
            assert!(text.pattern()?.is_match(&example), "{example}");
            assert!(matching(text.place, &example).iter().any(|it| it.shape == text.shape), "{example}");
            assert!(!text.program.is_empty(), "{}", text.shape);
        }
        Ok(())
    }

    #[test]
    fn colours_and_numbers_are_left_aside() {
        let line = "\u{1b}[2m2026-03-13T17:00:01.123456Z\u{1b}[0m \u{1b}[32m INFO\u{1b}[0m \u{1b}[2mcuzk_daemon\u{1b}[0m\u{1b}[2m:\u{1b}[0m cuzk-daemon starting";
        assert_eq!(matching(Place::Log, line).len(), 1);
        assert!(matching(Place::Log, "  [3/12] COMPLETED \u{2014} 101.2s (prove=98123 ms, queue=3 ms)").len() == 1);
        assert!(matching(Place::Log, "proof 3/12: 101.2s ok").is_empty());
        assert!(matching(Place::Manager, line).is_empty());
    }
}
