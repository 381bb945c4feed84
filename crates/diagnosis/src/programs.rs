//! Programs on a machine, by what they are for. Which names an image gives its own scripts is not public: the absence of a
//! name is a sign only where a program of its kind was seen on some machine under a name that is known.

use std::collections::BTreeSet;

use dwell_fleet::look::HostSeen;

/// What a program is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The image's first script.
    Entrypoint,
    /// The tunnel to the manager.
    Tunnel,
    /// What ships log lines.
    Shipper,
    /// What fetches parameters.
    Fetcher,
    /// The prover daemon.
    Daemon,
    /// The script of the benchmark.
    BenchmarkScript,
    /// The benchmark's client.
    BenchmarkClient,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 7] = [
        Self::Entrypoint,
        Self::Tunnel,
        Self::Shipper,
        Self::Fetcher,
        Self::Daemon,
        Self::BenchmarkScript,
        Self::BenchmarkClient,
    ];

    /// Parts of the names that are known. Source: manager source (`handleDeploy`), prover source, the seed article, the failure
    /// catalogue; shippers by what they do.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::Entrypoint => &["entrypoint"],
            Self::Tunnel => &["portavail", "tunnel", "chisel"],
            Self::Shipper => &["logship", "push_logs", "log-push"],
            Self::Fetcher => &["fetch-params", "aria2c", "paramfetch"],
            Self::Daemon => &["cuzk-daemon"],
            Self::BenchmarkScript => &["benchmark.sh", "bench.sh"],
            Self::BenchmarkClient => &["cuzk-bench"],
        }
    }

    /// This program is one.
    pub fn is(self, program: &str) -> bool {
        self.names().iter().any(|name| program.contains(name))
    }

    /// The image's author chose the name, and it stands in no public source: others call theirs otherwise.
    pub(crate) fn is_named_by_image(self) -> bool {
        matches!(self, Self::Tunnel | Self::Shipper)
    }

    /// The roles of what runs on a machine.
    pub fn seen_on(machine: &HostSeen) -> BTreeSet<Self> {
        let programs = machine.processes.iter().flatten();
        programs.flat_map(|it| Self::ALL.into_iter().filter(move |role| role.is(&it.program))).collect()
    }
}
