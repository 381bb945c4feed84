//! One error for every command: a code that programs branch on, a sentence for people, and what to do.

use dwell_clients::FetchError;
use dwell_history::HistoryError;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{ConnectionError, ErrorCode};

/// A command that did not succeed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// What went wrong, for programs.
    pub code: ErrorCode,
    /// What happened.
    pub message: String,
    /// What now, where something helps.
    pub hint: Option<String>,
}

impl ApiError {
    /// Of a code and a sentence. Secrets that are known to this process are taken out of it.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: dwell_fleet::redacted(&message.into()).into_owned(), hint: None }
    }

    /// The same, with what to do now.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// No fleet is watched.
    #[must_use]
    pub fn no_fleet() -> Self {
        Self::new(ErrorCode::NoFleet, "no fleet is being watched").hint("connect to a manager, or try a simulated fleet")
    }
}

impl From<FetchError> for ApiError {
    fn from(error: FetchError) -> Self {
        use dwell_clients::Code;
        let hint = match error.code {
            Code::Unreachable => Some(
                "is the manager running, and is this its address? It listens on its own machine: reach it through SSH (dwellctl connect ADDRESS --ssh USER@HOST)",
            ),
            Code::NotAManager => Some("the address answers, but not as a manager: check host, port and path"),
            Code::Unauthorised => Some("something in front of the manager wants a login; reach it through an SSH tunnel instead"),
            Code::TimedOut => Some("the manager is slow or hangs; `dwellctl manager-logs` may show why once it answers"),
            Code::VastSilent => {
                Some("is this machine online, and is vast.ai (status.vast.ai)? What the manager tells does not depend on it")
            }
            Code::NoSsh => Some("install OpenSSH's client: the package is openssh-client or openssh"),
            Code::SshKeyRefused => {
                Some("does `ssh HOST` work in a terminal, without a question? Unlock the key, or add it to the agent: ssh-add")
            }
            Code::HostKeyUnknown => {
                Some("connect once in a terminal (ssh HOST), compare the fingerprint, say yes; then try again")
            }
            Code::HostKeyChanged => Some(
                "the machine was set up anew, or somebody stands in between: find out which before you remove the old key (ssh-keygen -R HOST)",
            ),
            Code::SshRefused => Some(
                "nothing accepts SSH at that host and port: is the host up, is its port the usual 22 (else name it in ~/.ssh/config), does a firewall refuse you?",
            ),
            Code::SshUnanswered => {
                Some("the host that SSH goes through does not answer: is it up, and can you reach its network from here (VPN)?")
            }
            Code::NameUnknown => Some("is the name spelt right, or an entry in ~/.ssh/config?"),
            Code::SshConfig => Some("mend it here; the other side was not asked. `ssh -G HOST` shows what is wrong"),
            Code::HistoryFailed => Some("make room on the disk that has the history; it is tried again by itself"),
            Code::SshFailed => Some("try it in a terminal: ssh -v HOST true"),
            _ => None,
        };
        Self { code: error.code.into(), message: error.message, hint: hint.map(str::to_owned) }
    }
}

impl From<HistoryError> for ApiError {
    fn from(error: HistoryError) -> Self {
        let code = match error {
            HistoryError::Newer { .. } => ErrorCode::HistoryNewer,
            HistoryError::Open { .. } => ErrorCode::HistoryUnreadable,
            HistoryError::Sqlite(_) => ErrorCode::HistoryFailed,
        };
        Self::new(code, error.to_string())
    }
}

impl From<FetchError> for ConnectionError {
    fn from(error: FetchError) -> Self {
        Self { code: error.code.into(), message: error.message }
    }
}
