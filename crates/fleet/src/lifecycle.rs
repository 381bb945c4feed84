//! The states of an instance's life, as the manager names them.

use std::fmt;

/// What the instance last told the manager. It is not what the instance is doing now, and "stuck" is never one of these.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// A vast.ai instance that no row of the manager matches: it has not registered yet.
    Loading,
    /// Registered; fetching about 100 GiB of proof parameters.
    Registered,
    /// Parameters fetched; the benchmark should be running.
    ParamsDone,
    /// The benchmark was reported; the prover should start.
    BenchDone,
    /// Said that it proves.
    Running,
    /// Ended, by the manager's word.
    Killed,
    /// A state this version of Dwell does not know, kept as the manager wrote it.
    Unknown(String),
}

impl State {
    /// Every known state, in the order of an ordinary life.
    pub const KNOWN: [State; 6] =
        [Self::Loading, Self::Registered, Self::ParamsDone, Self::BenchDone, Self::Running, Self::Killed];

    /// Reads the manager's name; anything unfamiliar stays visible as itself.
    pub fn parse(text: &str) -> Self {
        match text {
            "loading" => Self::Loading,
            "registered" => Self::Registered,
            "params_done" => Self::ParamsDone,
            "bench_done" => Self::BenchDone,
            "running" => Self::Running,
            "killed" => Self::Killed,
            other => Self::Unknown(other.to_owned()),
        }
    }

    /// The manager's name.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Loading => "loading",
            Self::Registered => "registered",
            Self::ParamsDone => "params_done",
            Self::BenchDone => "bench_done",
            Self::Running => "running",
            Self::Killed => "killed",
            Self::Unknown(text) => text,
        }
    }

    /// Place on the way to `running` (0 to 4); `None` off that way.
    pub fn rank(&self) -> Option<u8> {
        match self {
            Self::Loading => Some(0),
            Self::Registered => Some(1),
            Self::ParamsDone => Some(2),
            Self::BenchDone => Some(3),
            Self::Running => Some(4),
            Self::Killed | Self::Unknown(_) => None,
        }
    }

    /// On its way to `running` but not there: it costs money and proves nothing.
    pub fn is_waiting(&self) -> bool {
        matches!(self, Self::Loading | Self::Registered | Self::ParamsDone | Self::BenchDone)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
