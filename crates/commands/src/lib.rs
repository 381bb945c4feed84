//! Everything an operator can ask or do, once: the watch loop, the commands, the settings. Shells (window, terminal, web
//! bridge) call this crate and nothing else; this crate knows no window, no clap, no HTTP framework.

mod access;
mod act;
#[cfg(test)]
mod again;
mod app;
mod archive;
mod ask;
#[doc(hidden)]
pub mod bench;
mod bench_export;
mod casebook;
mod charts;
mod conditions;
pub mod drill;
mod drive;
mod forecast;
mod hub;
mod incident;
mod keys;
mod live;
mod look;
mod metrics;
mod offers;
mod panels;
mod play;
mod redacting;
mod rentals;
mod report;
pub mod scoring;
mod select;
mod settings;
mod tables;
mod view;
mod virtual_time;
mod watch;
mod workbench;

pub use app::{App, Start};
pub use archive::Archive;
pub use bench_export::{BenchForm, bench_file};
pub use charts::ChartForm;
pub use dwell_api as dto;
pub use dwell_api::{ApiError, COMMANDS, CommandInfo, ErrorCode, for_each_command, typescript};
pub use dwell_bench as benchmark;
pub use dwell_bench::predict::{Limit, Prediction};
pub use dwell_charts::Theme;
pub use dwell_clients::{Limits, OfferQuery, VAST_ADDRESS, VastClient, VastList, VastListed, VastOffer, VastUser};
pub use dwell_fleet::{is_plain, keep_secret, plain_letter, redacted, redacted_bytes, words};
pub use dwell_history::files;
pub use dwell_history::{ExportTable, Imported};
pub use dwell_simulator::{FaultKind, Parameter, Scenario, Served, Value, World, fault_kinds, scenario_schema, serve, shipped};
pub use forecast::{Described, estimate_offer, forecast, forecast_offer, observed_rates, this_host};
pub use hub::Hub;
pub use incident::{catalogue, explain};
/// States of an instance that the manager is known to tell, on the way to `running` first.
pub const STATES: [&str; 6] = ["loading", "registered", "params_done", "bench_done", "running", "killed"];
/// Sources of an instance's log that its image is known to ship, and the manager's own.
pub const LOG_SOURCES: [&str; 6] = ["setup", "benchdaemon", "benchout", "cuzk", "curio", "manager"];

pub use keys::{OF_ENVIRONMENT, keep_environment_secret};
pub use look::{Look, Planned, PlannedRollout, VastAccounts, Watched, is_to_be_planned_again, manager_answers};
pub use metrics::Metrics;
pub use offers::{managers_needs, offers_of_account};
pub use redacting::{Redacting, panics_hold_no_secret};
pub use secrecy::SecretString;
pub use settings::Folder;
#[doc(hidden)]
pub use settings::text as settings_text;
pub use tables::TableForm;
pub use virtual_time::{Change, VirtualFleet};
pub use watch::{Connection, Effect, Event, Pace, Watch};

/// What is wrong with a scenario, as every command tells it.
pub fn bad_scenario(error: dwell_simulator::ScenarioError) -> ApiError {
    ApiError::new(ErrorCode::BadScenario, error.to_string())
}

/// Why a simulated fleet cannot be served, as every command tells it.
pub fn cannot_serve(error: dwell_simulator::ServeError) -> ApiError {
    ApiError::new(ErrorCode::CannotServe, error.to_string())
}

/// The operator's clock, for shells that start something at the present time.
pub fn now() -> dwell_fleet::Timestamp {
    drive::Clock::System.now()
}

/// `at` and so many seconds.
pub fn later(at: dwell_fleet::Timestamp, seconds: f64) -> dwell_fleet::Timestamp {
    dwell_fleet::shift(at, seconds)
}
