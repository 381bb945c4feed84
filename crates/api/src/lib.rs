//! What commands take and give: plain data for the window, for `--json`, and for whoever reads that; the table of commands, and the one
//! error that all of them share. Nothing here asks, stores or decides.
//!
//! Conventions, stable: times are RFC 3339 in UTC; a name ends in its unit; what no source reported is `null`, never 0; an id
//! is the manager's, or `vast-<number>` for an instance that has not registered.

macro_rules! dto {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
            pub struct $name { $($(#[$field_doc])* pub $field: $type,)* }
        )*

        /// The TypeScript declaration of every type above, in order.
        pub(crate) fn declarations(config: &ts_rs::Config) -> Vec<String> {
            vec![$(<$name as TS>::decl(config)),*]
        }
    };
}

#[macro_use]
mod table;
mod actions;
mod bench;
mod bindings;
mod charts;
mod code;
mod commands;
mod diagnosis;
mod drills;
mod error;
mod fleet;
mod history;
mod instance;
mod offers;
mod rentals;
mod rollouts;
mod settings;

pub use actions::*;
pub use bench::*;
pub use charts::*;
pub use diagnosis::*;
pub use drills::*;
pub use fleet::*;
pub use history::*;
pub use instance::*;
pub use offers::*;
pub use rentals::*;
pub use rollouts::*;
pub use settings::*;

pub use bindings::typescript;
pub use code::ErrorCode;
pub use commands::{COMMANDS, CommandInfo};
pub use error::ApiError;

/// The TypeScript declaration of every type that commands take and give, area by area.
fn declarations(config: &ts_rs::Config) -> Vec<String> {
    [
        fleet::declarations(config),
        instance::declarations(config),
        diagnosis::declarations(config),
        actions::declarations(config),
        rollouts::declarations(config),
        offers::declarations(config),
        rentals::declarations(config),
        history::declarations(config),
        charts::declarations(config),
        bench::declarations(config),
        drills::declarations(config),
        settings::declarations(config),
    ]
    .concat()
}
