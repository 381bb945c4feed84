//! What can go wrong between Dwell and a manager, as codes a program can branch on and sentences a person can act on.

use std::time::Duration;

/// Machine-readable kinds of failure. The words are stable: they stand in JSON output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    /// No connection: refused, no route, no such name.
    Unreachable,
    /// Connected, but no complete answer in time.
    TimedOut,
    /// The connection ended in the middle of an answer.
    CutShort,
    /// The answer is larger than any real one.
    TooLarge,
    /// The answer is not what a manager says: HTML, other JSON, garbage.
    NotAManager,
    /// 401 or 403: something in front of the manager wants a login.
    Unauthorised,
    /// The manager refused with a reason (4xx).
    Refused,
    /// The manager failed (5xx).
    ManagerFailed,
    /// The address cannot be used as given.
    BadAddress,
    /// vast.ai does not accept the key.
    KeyRefused,
    /// vast.ai, or what stands before the manager, was asked too often: nothing was done.
    TooOften,
    /// vast.ai has no rental of this number.
    NoSuchInstance,
    /// vast.ai failed (5xx).
    VastFailed,
    /// vast.ai gave no complete answer: no connection, none in time, or one that ended in the middle.
    VastSilent,
    /// The answer is not what vast.ai says.
    NotVast,
    /// vast.ai's list is not known to be whole: what is not in it may be rented all the same.
    ListIncomplete,
    /// This machine cannot make HTTPS clients: no CA certificates.
    NoCertificates,
    /// There is no `ssh` on this machine.
    NoSsh,
    /// The other side accepts none of the operator's SSH keys.
    SshKeyRefused,
    /// The host key is not known here yet.
    HostKeyUnknown,
    /// The host key is not the one that is known.
    HostKeyChanged,
    /// The local port is taken.
    PortInUse,
    /// The name of the host is not found.
    NameUnknown,
    /// The host that SSH goes through refuses connections.
    SshRefused,
    /// The host that SSH goes through does not answer.
    SshUnanswered,
    /// The configuration of `ssh` on this machine is broken: nothing was asked.
    SshConfig,
    /// `ssh` failed otherwise.
    SshFailed,
    /// It answered, and the history of what it says cannot be begun.
    HistoryFailed,
}

impl Code {
    /// The stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::TimedOut => "timed-out",
            Self::CutShort => "cut-short",
            Self::TooLarge => "too-large",
            Self::NotAManager => "not-a-manager",
            Self::Unauthorised => "unauthorised",
            Self::Refused => "refused",
            Self::ManagerFailed => "manager-failed",
            Self::BadAddress => "bad-address",
            Self::KeyRefused => "key-refused",
            Self::TooOften => "too-often",
            Self::NoSuchInstance => "no-such-instance",
            Self::VastFailed => "vast-failed",
            Self::VastSilent => "vast-silent",
            Self::NotVast => "not-vast",
            Self::ListIncomplete => "list-incomplete",
            Self::NoCertificates => "no-certificates",
            Self::NoSsh => "no-ssh",
            Self::SshKeyRefused => "ssh-key-refused",
            Self::HostKeyUnknown => "host-key-unknown",
            Self::HostKeyChanged => "host-key-changed",
            Self::PortInUse => "port-in-use",
            Self::NameUnknown => "name-unknown",
            Self::SshRefused => "ssh-refused",
            Self::SshUnanswered => "ssh-unanswered",
            Self::SshConfig => "ssh-config-broken",
            Self::SshFailed => "ssh-failed",
            Self::HistoryFailed => "history-failed",
        }
    }

    /// Worth one more try at once, where repeating is safe.
    pub(crate) fn is_transient(self) -> bool {
        matches!(self, Self::Unreachable | Self::SshRefused | Self::CutShort)
    }
}

/// A failed call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FetchError {
    /// What kind.
    pub code: Code,
    /// What happened, in one sentence without a full stop.
    pub message: String,
    /// HTTP status, where there was an answer.
    pub status: Option<u16>,
}

impl FetchError {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: dwell_fleet::redacted(&message.into()).into_owned(), status: None }
    }

    pub(crate) fn timed_out(limit: Duration) -> Self {
        Self::new(Code::TimedOut, format!("no complete answer within {} s", limit.as_secs()))
    }

    pub(crate) fn too_large(limit_bytes: usize) -> Self {
        Self::new(Code::TooLarge, format!("the answer is larger than {} MiB, the most that is read", limit_bytes / 1024 / 1024))
    }
}
