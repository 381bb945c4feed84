//! The command table as data.

/// A row of the command table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandInfo {
    /// Name, as it is called.
    pub name: &'static str,
    /// Type of its request.
    pub request: &'static str,
    /// Type of its response.
    pub response: &'static str,
    /// `read`, `view` or `act`.
    pub risk: &'static str,
    /// What it does, for menus and the palette.
    pub title: &'static str,
    /// Keys in the window; empty where there are none.
    pub keys: &'static str,
}

macro_rules! rows {
    ($($name:ident($request:ident) -> $response:ident, $risk:ident, $title:literal, $keys:literal;)*) => {
        /// The command table.
        pub const COMMANDS: &[CommandInfo] = &[$(CommandInfo {
            name: stringify!($name),
            request: stringify!($request),
            response: stringify!($response),
            risk: stringify!($risk),
            title: $title,
            keys: $keys,
        }),*];
    };
}
for_each_command!(rows);

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]
mod tests {
    use std::collections::BTreeSet;

    use super::COMMANDS;

    #[test]
    fn the_readme_names_keys_that_there_are_and_no_key_is_taken_twice() {
        let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).unwrap();
        let keys: Vec<&str> = COMMANDS.iter().map(|command| command.keys).filter(|keys| !keys.is_empty()).collect();
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len(), "{keys:?}");
        // A chord stands alone: `g h`, or "g l in the window".
        let words: Vec<&str> = readme.split_whitespace().collect();
        let bare = |word: &str| word.trim_matches(|it: char| !it.is_ascii_alphanumeric()).to_owned();
        let chords: BTreeSet<String> = words
            .windows(2)
            .filter(|pair| bare(pair[0]) == "g" && bare(pair[1]).len() == 1)
            .map(|pair| format!("g {}", bare(pair[1])))
            .collect();
        assert!(chords.len() > 6, "{chords:?}");
        let unknown: Vec<&String> = chords.iter().filter(|chord| !keys.contains(&chord.as_str())).collect();
        assert!(unknown.is_empty(), "{unknown:?} of the README are no keys");
    }
}
