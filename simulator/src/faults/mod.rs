//! Faults: one entry each, with its parameters. A fault changes a mechanism (see `conditions`) or does a deed; it never
//! writes what a channel shows. Its id is the id of the cause in the diagnosis catalogue.

mod bench;
mod boot;
mod daemon;
mod gpu;
mod host;
mod image;
mod manager;
mod network;
mod params;
mod resources;
mod run;
mod vast;

use std::collections::BTreeMap;

use crate::conditions::{Conditions, ManagerTrouble, VastTrouble};
use crate::world::World;

/// Where a fault sits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The rented machine, or its place in the market. It stays with the machine: the next tenant meets it too.
    Host,
    /// The card or its driver. It stays with the machine as well.
    Gpu,
    /// What the image contains or lacks.
    Image,
    /// From the start of the container to its registration.
    Boot,
    /// A line between two places.
    Network,
    /// The parameter fetch.
    Parameters,
    /// The prover daemon's start.
    Daemon,
    /// Memory, processors, disk.
    Resources,
    /// The benchmark.
    Benchmark,
    /// The time after the benchmark.
    Running,
    /// The manager.
    Manager,
    /// vast.ai's side.
    Vast,
}

impl Place {
    /// One word for a table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Gpu => "gpu",
            Self::Image => "image",
            Self::Boot => "boot",
            Self::Network => "network",
            Self::Parameters => "parameters",
            Self::Daemon => "daemon",
            Self::Resources => "resources",
            Self::Benchmark => "benchmark",
            Self::Running => "running",
            Self::Manager => "manager",
            Self::Vast => "vast.ai",
        }
    }

    /// It strikes single instances, and can be aimed.
    pub fn is_aimed(self) -> bool {
        !matches!(self, Self::Manager | Self::Vast)
    }

    /// It stays with the machine.
    pub(crate) fn stays_with_machine(self) -> bool {
        matches!(self, Self::Host | Self::Gpu)
    }
}

/// A parameter's value: what is used where the scenario gives none, and so its type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// Yes or no.
    Flag(bool),
    /// One of these words; the first where none is given.
    Word(&'static [&'static str]),
}

/// A parameter of a fault.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name under `with`.
    pub name: &'static str,
    /// Its unit, `""` where it has none.
    pub unit: &'static str,
    /// Used where the scenario gives none.
    pub value: Value,
    /// What it does.
    pub what: &'static str,
}

const fn number(name: &'static str, value: f64, unit: &'static str, what: &'static str) -> Parameter {
    Parameter { name, unit, value: Value::Number(value), what }
}

const fn flag(name: &'static str, value: bool, what: &'static str) -> Parameter {
    Parameter { name, unit: "", value: Value::Flag(value), what }
}

const fn word(name: &'static str, words: &'static [&'static str], what: &'static str) -> Parameter {
    Parameter { name, unit: "", value: Value::Word(words), what }
}

/// What a fault does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Does {
    /// Changes mechanisms of the instances it strikes, while it lasts.
    Changes(fn(&mut Conditions, &Given)),
    /// Does a deed to each instance it strikes, once.
    Strikes(fn(&mut World, usize, &Given)),
    /// Both: the mechanism is changed first.
    ChangesAndStrikes(fn(&mut Conditions, &Given), fn(&mut World, usize, &Given)),
    /// Changes the manager's mechanisms, while it lasts.
    Manager(fn(&mut ManagerTrouble, &Given)),
    /// Changes vast.ai's mechanisms, while it lasts.
    Vast(fn(&mut VastTrouble, &Given)),
    /// Does a deed to the world, once.
    World(fn(&mut World, &Given)),
}

/// A kind of fault.
#[derive(Debug, Clone, Copy)]
pub struct FaultKind {
    /// Kebab-case id: that of the cause in the catalogue.
    pub id: &'static str,
    /// What is different in the world.
    pub what: &'static str,
    /// Where.
    pub place: Place,
    /// What can be set.
    pub parameters: &'static [Parameter],
    pub(crate) does: Does,
}

/// The parameters given to a fault, by name. Checked against its kind when the scenario is read.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Given {
    pub(crate) numbers: BTreeMap<&'static str, f64>,
    pub(crate) flags: BTreeMap<&'static str, bool>,
    pub(crate) words: BTreeMap<&'static str, &'static str>,
}

impl Given {
    fn number(&self, name: &str) -> f64 {
        self.numbers.get(name).copied().unwrap_or_default()
    }

    fn count(&self, name: &str) -> u32 {
        self.number(name).max(0.0) as u32
    }

    fn flag(&self, name: &str) -> bool {
        self.flags.get(name).copied().unwrap_or_default()
    }

    fn word(&self, name: &str) -> &'static str {
        self.words.get(name).copied().unwrap_or_default()
    }
}

impl FaultKind {
    /// The parameters with their values where the scenario gives none.
    pub(crate) fn usual(&self) -> Given {
        let mut given = Given::default();
        for parameter in self.parameters {
            match parameter.value {
                Value::Number(value) => drop(given.numbers.insert(parameter.name, value)),
                Value::Flag(value) => drop(given.flags.insert(parameter.name, value)),
                Value::Word(words) => drop(given.words.insert(parameter.name, words.first().copied().unwrap_or_default())),
            }
        }
        given
    }
}

/// Every kind of fault, by place and then as the catalogue lists them.
pub fn fault_kinds() -> impl Iterator<Item = &'static FaultKind> + Clone {
    [
        host::FAULTS,
        image::FAULTS,
        boot::FAULTS,
        network::FAULTS,
        params::FAULTS,
        daemon::FAULTS,
        gpu::FAULTS,
        resources::FAULTS,
        bench::FAULTS,
        run::FAULTS,
        manager::FAULTS,
        vast::FAULTS,
    ]
    .into_iter()
    .flatten()
}

/// The kind with this id.
pub fn fault_kind(id: &str) -> Option<&'static FaultKind> {
    fault_kinds().find(|kind| kind.id == id)
}
