//! The seven independent ways of learning something about an instance, and whether each could have spoken.

/// One independent way of learning something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Channel {
    /// The manager's dashboard row, with vast.ai's record as the manager last read it.
    ManagerDashboard,
    /// The manager's log buffer of the instance.
    InstanceLog,
    /// The manager's own log.
    ManagerLog,
    /// vast.ai's own record, and its list.
    VastRecord,
    /// The container's output and the host daemon's, as vast.ai uploads them.
    ContainerLog,
    /// A look at the machine itself: processes, cards, files, limits.
    SshProbe,
    /// The prover's status.
    ProverStatus,
}

impl Channel {
    /// Every channel, cheapest first.
    pub const ALL: [Self; 7] = [
        Self::ManagerDashboard,
        Self::InstanceLog,
        Self::ManagerLog,
        Self::VastRecord,
        Self::ContainerLog,
        Self::SshProbe,
        Self::ProverStatus,
    ];

    /// Its stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ManagerDashboard => "manager-dashboard",
            Self::InstanceLog => "manager-instance-log",
            Self::ManagerLog => "manager-log",
            Self::VastRecord => "vast-record",
            Self::ContainerLog => "vast-container-log",
            Self::SshProbe => "ssh-probe",
            Self::ProverStatus => "prover-status",
        }
    }

    /// Reads [`Channel::as_str`] back.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|channel| channel.as_str() == text)
    }

    /// What it is, for a table.
    pub fn title(self) -> &'static str {
        match self {
            Self::ManagerDashboard => "Manager's dashboard",
            Self::InstanceLog => "Instance's log at the manager",
            Self::ManagerLog => "Manager's own log",
            Self::VastRecord => "vast.ai's record",
            Self::ContainerLog => "Container's output at vast.ai",
            Self::SshProbe => "The machine itself, by SSH",
            Self::ProverStatus => "Prover's status",
        }
    }

    /// It is read by itself all the time; the others are asked when wanted.
    pub fn is_watched(self) -> bool {
        matches!(self, Self::ManagerDashboard | Self::InstanceLog | Self::ManagerLog)
    }
}

/// Whether a channel could have spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Health {
    /// It delivered something for this instance recently.
    Working,
    /// It answers and has nothing, and something proves that it could have.
    Quiet,
    /// It answers, and nothing could be there.
    Blind,
    /// It does not answer.
    Unreachable,
    /// Nobody asked.
    NotAsked,
}

impl Health {
    /// Its stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Quiet => "quiet",
            Self::Blind => "blind",
            Self::Unreachable => "unreachable",
            Self::NotAsked => "not-asked",
        }
    }

    /// What it says, or does not say, is evidence.
    pub fn counts(self) -> bool {
        matches!(self, Self::Working | Self::Quiet)
    }
}
