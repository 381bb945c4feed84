//! What is measured: a card in this machine, or a simulated one. Both go the same way from the first launch to the report.

use std::time::Instant;

use dwell_kernels::MachineError;
use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::{Clock, EccCounter, MemoryError as EccError, PcieUtilCounter, TemperatureSensor};
use serde::Serialize;

use crate::card::{Card, NoCard};
use crate::clocked::Clocked;
use crate::simulated::Simulated;
use crate::work::{Test, prepare};
use crate::xid::Xids;

/// A card, as it is told of.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Identity {
    /// Name.
    pub name: String,
    /// Compute capability, times ten.
    pub capability: Option<u32>,
    /// Multiprocessors.
    pub processors: Option<u32>,
    /// Memory, bytes.
    pub memory_bytes: Option<u64>,
    /// Version of the driver.
    pub driver: Option<String>,
    /// The card's own number.
    pub uuid: Option<String>,
    /// It is simulated.
    pub simulated: bool,
}

/// What the driver says of a card at a time. `None`: not told here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Reading {
    /// Seconds since the run began.
    pub at_s: f64,
    /// Clock of the multiprocessors, MHz.
    pub clock_mhz: Option<f64>,
    /// Clock of the memory, MHz.
    pub memory_clock_mhz: Option<f64>,
    /// Power, W.
    pub power_w: Option<f64>,
    /// Power that it may draw, W.
    pub power_limit_w: Option<f64>,
    /// Degrees Celsius.
    pub temperature_c: Option<f64>,
    /// Fan, percent.
    pub fan_percent: Option<f64>,
    /// Why the clocks are low: the driver's bits.
    pub reasons: Option<u64>,
    /// Generation of the link now, and at most.
    pub link_generation: Option<(u32, u32)>,
    /// Lanes of the link now, and at most.
    pub link_width: Option<(u32, u32)>,
    /// Bytes per second to the card over the link.
    pub link_in: Option<f64>,
    /// Other processes that compute on it.
    pub others: Option<u32>,
}

/// What the driver counts over a card's life, read before and after a benchmark. `None`: not told here, as on most cards for
/// games and on rented machines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Health {
    /// Memory errors are corrected (ECC).
    pub ecc: Option<bool>,
    /// Memory errors that were corrected since the card was made.
    pub corrected: Option<u64>,
    /// Memory errors that were not.
    pub uncorrected: Option<u64>,
    /// Pages of memory wait for a restart to be taken out of use.
    pub pages_pending: Option<bool>,
    /// Packets that the link had to send again.
    pub link_replays: Option<u32>,
    /// It is cut into slices (MIG).
    pub sliced: Option<bool>,
    /// Power that it may draw as it was made, W.
    pub power_default_w: Option<f64>,
}

/// Reasons for low clocks, as the driver's bits. Source: NVML, clocks event reasons.
pub mod reasons {
    /// Nothing to do.
    pub const IDLE: u64 = 0x1;
    /// The power that it may draw: usual under full load.
    pub const POWER_CAP: u64 = 0x4;
    /// Hardware slowdown.
    pub const HARDWARE: u64 = 0x8;
    /// Too warm, by software.
    pub const WARM: u64 = 0x20;
    /// Too hot, by hardware.
    pub const HOT: u64 = 0x40;
    /// Power brake.
    pub const BRAKE: u64 = 0x80;
}

/// Why a test gave no figure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize)]
#[serde(rename_all = "kebab-case", tag = "fault", content = "words")]
pub enum Fault {
    /// A result was wrong: the card computes wrongly.
    #[error("a result was wrong")]
    Wrong,
    /// The card does not answer any more.
    #[error("the card does not answer any more: {0}")]
    Lost(String),
    /// There is not so much memory.
    #[error("there is no room for it")]
    NoRoom,
    /// It was broken off.
    #[error("it was broken off")]
    Stopped,
}

/// What follows a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Another.
    Again,
    /// The check of the result.
    Check,
    /// Nothing: the test is broken off.
    Stop,
}

/// One run of a test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OneRun {
    /// Seconds that it took.
    pub seconds: f64,
    /// What the driver said after it; not after every one.
    pub reading: Option<Reading>,
    /// Seconds since the benchmark began.
    pub passed_s: f64,
}

/// Runs between two looks at the driver.
pub(crate) const LOOK_EVERY: usize = 5;

/// A card.
pub trait Device {
    /// Which.
    fn identity(&self) -> Identity;

    /// Runs a test once, so that nothing of what follows is a first time, and checks its result.
    fn check(&mut self, test: Test) -> Result<(), Fault>;

    /// Runs a test again and again, on data that is made once, for as long as `next` says so; checks the result at the end.
    fn time(&mut self, test: Test, next: &mut dyn FnMut(&OneRun) -> Next) -> Result<(), Fault>;

    /// What the driver has counted until now.
    fn health(&mut self) -> Health;

    /// Errors of this card that the driver reported since it was taken: NVIDIA's numbers (Xid), as far as they are told here.
    fn xids(&mut self) -> Vec<u64>;

    /// What the driver says now.
    fn reading(&mut self) -> Reading;

    /// Seconds since the run began.
    fn passed_s(&self) -> f64;
}

/// A card that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// A card in this machine, by its number in the driver's order.
    Number(u32),
    /// A simulated one, by its name.
    Simulated(String),
}

impl Which {
    /// Takes it. The driver binds a card to the thread that takes it.
    pub fn open(&self) -> Result<Box<dyn Device>, NoCard> {
        match self {
            Self::Number(number) => Ok(Box::new(Real::open(*number)?)),
            Self::Simulated(name) => Ok(Box::new(Simulated::named(name).ok_or_else(|| NoCard::Unknown(name.clone()))?)),
        }
    }
}

/// A card in this machine.
pub struct Real {
    card: Card,
    nvml: Option<Nvml>,
    xids: Xids,
    began: Instant,
}

impl std::fmt::Debug for Real {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Real").field("card", &self.card).finish_non_exhaustive()
    }
}

impl Real {
    /// Takes a card, by its number.
    pub fn open(number: u32) -> Result<Self, NoCard> {
        let card = Card::open(number)?;
        // Without NVML there are figures, and nothing beside them.
        let xids = Xids::watch(card.uuid());
        Ok(Self { card, nvml: Nvml::init().ok(), xids, began: Instant::now() })
    }

    fn told<T>(&self, ask: impl FnOnce(&nvml_wrapper::Device<'_>) -> Result<T, nvml_wrapper::error::NvmlError>) -> Option<T> {
        // The two libraries number cards in orders of their own.
        let device = self.nvml.as_ref()?.device_by_uuid(self.card.uuid()).ok()?;
        ask(&device).ok()
    }
}

fn fault(error: MachineError) -> Fault {
    match error {
        MachineError::Memory { .. } | MachineError::Size { .. } => Fault::NoRoom,
        MachineError::Failed(words) => Fault::Lost(words),
    }
}

impl Device for Real {
    fn identity(&self) -> Identity {
        Identity {
            name: self.card.name().to_owned(),
            capability: Some(self.card.capability()),
            processors: Some(self.card.processors()),
            memory_bytes: Some(self.card.memory_bytes()),
            driver: self.nvml.as_ref().and_then(|nvml| nvml.sys_driver_version().ok()),
            uuid: Some(self.card.uuid().to_owned()),
            simulated: false,
        }
    }

    fn check(&mut self, test: Test) -> Result<(), Fault> {
        let mut ready = prepare(&self.card, test).map_err(fault)?;
        if (ready.verify)().map_err(fault)? { Ok(()) } else { Err(Fault::Wrong) }
    }

    fn time(&mut self, test: Test, next: &mut dyn FnMut(&OneRun) -> Next) -> Result<(), Fault> {
        let mut ready = prepare(&self.card, test).map_err(fault)?;
        // The first run is not counted.
        self.card.seconds(&mut ready.run).map_err(fault)?;
        for run in 1.. {
            let seconds = self.card.seconds(&mut ready.run).map_err(fault)?;
            let reading = (run % LOOK_EVERY == 0).then(|| self.now());
            match next(&OneRun { seconds, reading, passed_s: self.passed_s() }) {
                Next::Again => {}
                Next::Check => break,
                Next::Stop => return Err(Fault::Stopped),
            }
        }
        if (ready.verify)().map_err(fault)? { Ok(()) } else { Err(Fault::Wrong) }
    }

    fn reading(&mut self) -> Reading {
        self.now()
    }

    fn health(&mut self) -> Health {
        let errors = |what| self.told(|device| device.total_ecc_errors(what, EccCounter::Aggregate));
        Health {
            ecc: self.told(|device| device.is_ecc_enabled()).map(|state| state.currently_enabled),
            corrected: errors(EccError::Corrected),
            uncorrected: errors(EccError::Uncorrected),
            pages_pending: self.told(|device| device.are_pages_pending_retired()),
            link_replays: self.told(|device| device.pcie_replay_counter()),
            sliced: self.told(|device| device.mig_mode()).map(|mode| mode.current != 0),
            power_default_w: self
                .told(|device| device.power_management_limit_default())
                .map(|milliwatts| f64::from(milliwatts) / 1000.0),
        }
    }

    fn xids(&mut self) -> Vec<u64> {
        self.xids.seen()
    }

    fn passed_s(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }
}

impl Real {
    fn now(&self) -> Reading {
        let mhz = |clock| self.told(|device| device.clock_info(clock)).map(f64::from);
        let pair = |now: Option<u32>, most: Option<u32>| Some((now?, most?));
        Reading {
            at_s: self.passed_s(),
            clock_mhz: mhz(Clock::SM),
            memory_clock_mhz: mhz(Clock::Memory),
            power_w: self.told(|device| device.power_usage()).map(|milliwatts| f64::from(milliwatts) / 1000.0),
            power_limit_w: self.told(|device| device.enforced_power_limit()).map(|milliwatts| f64::from(milliwatts) / 1000.0),
            temperature_c: self.told(|device| device.temperature(TemperatureSensor::Gpu)).map(f64::from),
            fan_percent: self.told(|device| device.fan_speed(0)).map(f64::from),
            reasons: self.told(|device| device.current_throttle_reasons()).map(|reasons| reasons.bits()),
            link_generation: pair(
                self.told(|device| device.current_pcie_link_gen()),
                self.told(|device| device.max_pcie_link_gen()),
            ),
            link_width: pair(
                self.told(|device| device.current_pcie_link_width()),
                self.told(|device| device.max_pcie_link_width()),
            ),
            link_in: self
                .told(|device| device.pcie_throughput(PcieUtilCounter::Receive))
                .map(|kilobytes| f64::from(kilobytes) * 1e3),
            others: self
                .told(|device| device.running_compute_processes())
                .map(|all| all.iter().filter(|process| process.pid != std::process::id()).count() as u32),
        }
    }
}
