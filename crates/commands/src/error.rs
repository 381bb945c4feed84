//! One error for every command: a code that programs branch on, a sentence for people, and what to do.

use dwell_clients::FetchError;
use dwell_history::HistoryError;
use dwell_simulator::{ScenarioError, ServeError};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// A command that did not succeed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// Stable kebab-case word.
    pub code: String,
    /// What happened.
    pub message: String,
    /// What now, where something helps.
    pub hint: Option<String>,
}

impl ApiError {
    pub(crate) fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), hint: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn no_fleet() -> Self {
        Self::new("no-fleet", "no fleet is being watched").hint("connect to a manager, or try a simulated fleet")
    }
}

impl From<FetchError> for ApiError {
    fn from(error: FetchError) -> Self {
        use dwell_clients::Code;
        let hint = match error.code {
            Code::Unreachable => Some(
                "is the manager running, and is this its address? It listens on its own machine: ssh -L 1235:127.0.0.1:1235 HOST",
            ),
            Code::NotAManager => Some("the address answers, but not as a manager: check host, port and path"),
            Code::Unauthorised => Some("something in front of the manager wants a login; reach it through an SSH tunnel instead"),
            Code::TimedOut => Some("the manager is slow or hangs; `dwellctl manager-logs` may show why once it answers"),
            _ => None,
        };
        Self { code: error.code.as_str().to_owned(), message: error.message, hint: hint.map(str::to_owned) }
    }
}

impl From<HistoryError> for ApiError {
    fn from(error: HistoryError) -> Self {
        let code = match error {
            HistoryError::Newer { .. } => "history-newer",
            HistoryError::Open { .. } => "history-unreadable",
            HistoryError::Sqlite(_) => "history-failed",
        };
        Self::new(code, error.to_string())
    }
}

impl From<ScenarioError> for ApiError {
    fn from(error: ScenarioError) -> Self {
        Self::new("bad-scenario", error.to_string())
    }
}

impl From<ServeError> for ApiError {
    fn from(error: ServeError) -> Self {
        Self::new("cannot-serve", error.to_string())
    }
}
