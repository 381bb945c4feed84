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
