//! The mechanical world: machines and their market, instances with their processes, the lines between them, the manager
//! and vast.ai's side.
//!
//! Time moves from event to event. An instance is a chain of tasks (pull, register, fetch, warm up, preload, twelve
//! proofs, prove for good) that uses mechanisms; a fault changes a mechanism, never what a channel shows.

mod faults;
#[cfg(test)]
pub(crate) mod heard;
mod instance;
mod life;
mod probe;
mod shell;
mod ship;
mod vast;
mod words;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;

use dwell_wire as wire;
use jiff::Timestamp;

pub use faults::Truth;
pub use instance::ShippedBytes;
pub(crate) use instance::{Container, Contract, Instance, Source, Stuck, Task};
pub use probe::{FileView, GpuView, HostView, ProcessView, ProverStatus, Smi, SshReach};
pub use vast::{Account, ApiAnswer};

use crate::conditions::{Conditions, Line, ManagerTrouble, VastTrouble};
use crate::dice::Dice;
use crate::hardware::Machine;
use crate::manager::{FIRST_LISTING_MS, MONITOR_EVERY_MS, Manager, plus_ms};
use crate::scenario::{Fault, Scenario, Wave, card};

const SECOND: i64 = 1_000;
/// Streams of dice that are nobody's: machines on offer.
const OFFER_DICE: u64 = 1 << 40;
/// Numbers of the machines on offer at the start.
const OFFER_SERIAL: u64 = 100_000;
/// Rentals last this long unless a scenario ends them.
const RENTAL_MS: i64 = 60 * 24 * 3600 * SECOND;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Rent {
        wave: usize,
        index: usize,
    },
    Fault {
        fault: usize,
    },
    FaultEnds {
        fault: usize,
    },
    /// A round of the manager's monitor; one planned before a restart is not the new process's.
    Monitor {
        process: u32,
    },
    Next {
        instance: usize,
        generation: u32,
    },
    Ship {
        instance: usize,
    },
    /// The container ends by itself.
    Exit {
        instance: usize,
        started_ms: i64,
    },
    /// The record of an ended rental vanishes.
    Vanish {
        instance: usize,
    },
    /// vast.ai settles the account.
    Settle,
}

/// The world.
#[derive(Debug, Clone)]
pub struct World {
    scenario: Arc<Scenario>,
    seed: u64,
    origin: Timestamp,
    now: Timestamp,
    events: BinaryHeap<Reverse<(Timestamp, u64, Event)>>,
    events_made: u64,
    machines: Vec<Machine>,
    instances: Vec<Instance>,
    by_vast: BTreeMap<u64, usize>,
    manager: Manager,
    manager_process: u32,
    manager_trouble: ManagerTrouble,
    vast_trouble: VastTrouble,
    account: vast::Ledger,
    market_dice: Dice,
    market_index: u64,
    active_faults: Vec<usize>,
    monitor_at: Timestamp,
    /// Instances that are listed, oldest first.
    listed: Vec<usize>,
}

impl World {
    /// A world at its first screen, which happens at `origin`: everything that the scenario dates before has happened.
    pub fn new(scenario: Scenario, seed: u64, origin: Timestamp) -> Self {
        let earliest =
            scenario.waves.iter().map(|wave| wave.at).chain(scenario.faults.iter().map(|fault| fault.at)).fold(0.0, f64::min);
        let begin = plus_ms(origin, (earliest * 1000.0) as i64 - 60 * SECOND);
        let mut offer_dice = Dice::new(seed, OFFER_DICE);
        let machines = (0..scenario.account.offers as u64)
            .map(|index| Machine::draw(&mut offer_dice, OFFER_SERIAL + index, None, None))
            .collect();
        let mut world = Self {
            seed,
            origin,
            now: begin,
            events: BinaryHeap::new(),
            events_made: 0,
            machines,
            instances: Vec::new(),
            by_vast: BTreeMap::new(),
            manager: Manager::started(begin),
            manager_process: 0,
            manager_trouble: ManagerTrouble::default(),
            vast_trouble: VastTrouble::default(),
            account: vast::Ledger::default(),
            market_dice: Dice::new(seed, 0),
            market_index: 0,
            active_faults: Vec::new(),
            monitor_at: plus_ms(begin, FIRST_LISTING_MS),
            listed: Vec::new(),
            scenario: Arc::new(scenario),
        };
        world.push(world.monitor_at, Event::Monitor { process: 0 });
        world.push(begin, Event::Settle);
        let scenario = Arc::clone(&world.scenario);
        for (wave, Wave { at, every, count, .. }) in scenario.waves.iter().enumerate() {
            for index in 0..*count {
                world.push(world.on_screen(at + every * index as f64), Event::Rent { wave, index });
            }
        }
        for (fault, Fault { at, lasts, .. }) in scenario.faults.iter().enumerate() {
            world.push(world.on_screen(*at), Event::Fault { fault });
            if let Some(lasts) = lasts {
                world.push(world.on_screen(at + lasts), Event::FaultEnds { fault });
            }
        }
        world.advance_to(origin);
        world.settle_all();
        world.account.open(world.scenario.account.credit);
        world
    }

    /// The scenario.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The seed in use.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Simulated time.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// The time of the first screen.
    pub fn origin(&self) -> Timestamp {
        self.origin
    }

    /// The manager.
    pub fn manager(&self) -> &Manager {
        &self.manager
    }

    /// The manager's own idea of the time.
    pub fn manager_now(&self) -> Timestamp {
        plus_ms(self.now, (self.manager_trouble.clock_ahead_s * 1000.0) as i64)
    }

    /// Does something with the manager, which may call vast.ai's client meanwhile. It is given its own clock.
    pub(crate) fn with_manager<T>(&mut self, act: impl FnOnce(&mut Manager, &mut Self, Timestamp) -> T) -> T {
        let now = self.manager_now();
        let mut manager = std::mem::take(&mut self.manager);
        let result = act(&mut manager, self, now);
        self.manager = manager;
        result
    }

    fn on_screen(&self, seconds: f64) -> Timestamp {
        plus_ms(self.origin, (seconds * 1000.0) as i64)
    }

    fn push(&mut self, at: Timestamp, event: Event) {
        self.events_made += 1;
        self.events.push(Reverse((at, self.events_made, event)));
    }

    fn push_in(&mut self, seconds: f64, event: Event) {
        self.push(plus_ms(self.now, (seconds * 1000.0) as i64), event);
    }

    fn seconds_since(&self, at: Timestamp) -> f64 {
        (self.now.as_millisecond() - at.as_millisecond()) as f64 / 1000.0
    }

    /// Lets everything happen that happens until `to`. Going back in time does nothing.
    pub fn advance_to(&mut self, to: Timestamp) {
        while self.events.peek().is_some_and(|Reverse((at, _, _))| *at <= to) {
            let Some(Reverse((at, _, event))) = self.events.pop() else { break };
            self.now = self.now.max(at);
            self.happen(event);
        }
        self.now = self.now.max(to);
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Rent { wave, index } => self.rent_wave(wave, index),
            Event::Fault { fault } => self.begin_fault(fault),
            Event::FaultEnds { fault } => self.end_fault(fault),
            Event::Monitor { process } => self.monitor(process),
            Event::Next { instance, generation } => {
                if self.instances[instance].generation == generation {
                    self.step(instance);
                }
            }
            Event::Ship { instance } => self.ship(instance),
            Event::Exit { instance, started_ms } => {
                let same = |container: &Container| container.started_at.as_millisecond() == started_ms;
                if self.instances[instance].container.as_ref().is_some_and(same) {
                    self.exit_container(instance);
                }
            }
            Event::Vanish { instance } => self.vanish(instance),
            Event::Settle => {
                self.settle_all();
                self.push_in(60.0, Event::Settle);
            }
        }
    }

    fn monitor(&mut self, process: u32) {
        if !self.manager.is_up() || process != self.manager_process {
            return;
        }
        // The monitor waits for its client: no round ends while that hangs.
        if !self.manager_trouble.client_hangs {
            self.with_manager(|manager, world, now| manager.monitor(world, now));
        }
        self.monitor_at = plus_ms(self.now, MONITOR_EVERY_MS);
        self.push(self.monitor_at, Event::Monitor { process });
    }

    fn start_manager(&mut self) {
        self.manager_process += 1;
        let now = self.manager_now();
        self.manager.start(now);
        self.monitor_at = plus_ms(self.now, FIRST_LISTING_MS);
        self.push(self.monitor_at, Event::Monitor { process: self.manager_process });
    }

    fn rent_wave(&mut self, wave_index: usize, index: usize) {
        let scenario = Arc::clone(&self.scenario);
        let wave = &scenario.waves[wave_index];
        let serial = self.market_index + 1;
        let gpu = wave.gpu.as_ref().and_then(|gpu| card(gpu.get_ref()));
        let mut machine = Machine::draw(&mut self.market_dice, serial, gpu, wave.region.as_deref());
        if let Some(cards) = wave.gpus {
            machine.cards = cards;
        }
        if let Some(gib) = wave.ram_gib {
            machine.ram_mib = (gib * 1007.0).round();
        }
        if let Some(mbps) = wave.down_mbps {
            machine.up_mbps = (machine.up_mbps / machine.down_mbps * mbps).round();
            machine.down_mbps = mbps;
        }
        if let Some(dollars) = wave.dollars_per_h {
            machine.dollars_per_h = dollars;
        }
        self.machines.push(machine);
        let rented = self.rent(self.machines.len() - 1, scenario.image(wave.image.get_ref()).unwrap_or(0), Some(wave_index));
        let instance = &mut self.instances[rented];
        instance.min_rate = wave.min_rate;
        instance.exact_proof_s = wave.proof_s;
        instance.preset_uuid = wave.uuid.clone().filter(|_| index == 0);
        instance.contract.bid = wave.bid;
        if let Some(bid) = wave.bid {
            instance.contract.dollars_per_h = bid;
        }
        if wave.labelled {
            instance.contract.label = Some(instance.fixed.numbered.as_str().into());
        }
        self.strike_newcomer(rented);
    }

    /// Rents a machine: a new instance at its very beginning, not yet struck by any fault.
    fn rent(&mut self, machine: usize, image: usize, wave: Option<usize>) -> usize {
        self.market_index += 1;
        let serial = self.market_index;
        let vast_id = 31_000_000 + serial;
        let mut dice = Dice::new(self.seed, serial);
        let wait_s = dice.between(25.0, 90.0);
        let index = self.instances.len();
        self.machines[machine].tenant = Some(index);
        let fixed = Arc::new(self.fixed(vast_id, machine));
        self.instances.push(Instance {
            vast_id,
            wave,
            image,
            min_rate: 20.0,
            exact_proof_s: None,
            preset_uuid: None,
            contract: Contract {
                label: None,
                wants_running: true,
                actual: None,
                cur_state: "scheduling",
                status_msg: None,
                started_at: self.now,
                ends_at: plus_ms(self.now, RENTAL_MS),
                bid: None,
                dollars_per_h: self.machines[machine].dollars_per_h,
                ending: false,
                gone_at: None,
                settled_at: self.now,
                billed_card_s: 0.0,
                billed_dollars: 0.0,
                runtype: "ssh_direc ssh_proxy".to_owned(),
                onstart: None,
                env: Vec::new(),
                disk_gb: self.machines[machine].disk_gb,
            },
            conditions: Conditions::default(),
            faults: Vec::new(),
            struck: Vec::new(),
            machine,
            container: None,
            pulled_gb: 0.0,
            parameters_gib: 0.0,
            fetch_share: 1.0,
            reported_early: false,
            uuid: None,
            task: Task::Waiting,
            task_since: self.now,
            stuck: None,
            generation: 0,
            files: Default::default(),
            unshipped: VecDeque::new(),
            shipping: false,
            shipped: ShippedBytes::default(),
            frozen: None,
            kernel: Vec::new(),
            benchmark_report_lost: false,
            proofs: 0,
            dice,
            fixed,
        });
        self.by_vast.insert(vast_id, index);
        self.listed.push(index);
        self.next_in(index, wait_s * 0.3);
        index
    }

    fn next_in(&mut self, instance: usize, seconds: f64) {
        let generation = self.instances[instance].generation;
        self.push_in(seconds, Event::Next { instance, generation });
    }

    fn enter(&mut self, instance: usize, task: Task) {
        let it = &mut self.instances[instance];
        it.task = task;
        it.task_since = self.now;
        it.stuck = None;
    }

    /// An instance by vast.ai's number.
    pub(crate) fn find(&self, vast_id: u64) -> Option<usize> {
        self.by_vast.get(&vast_id).copied()
    }

    /// The operator's own line to the manager.
    pub(crate) fn operator_line(&self) -> Line {
        self.manager_trouble.operator_line
    }

    fn manager_answers(&self) -> bool {
        self.manager.is_up() && self.operator_line() == Line::Good
    }

    /// The dashboard's body now, as the manager would send it; `None` while it does not answer. Virtual-time tests read this.
    pub fn dashboard_body(&self) -> Option<Vec<u8>> {
        self.manager_answers().then(|| wire::encode(&self.manager.dashboard(self.manager_now())))
    }

    /// An instance log's body now; `None` while the manager does not answer.
    pub fn instance_logs_body(&mut self, uuid: &str, tail: usize) -> Option<Vec<u8>> {
        self.manager_answers().then(|| wire::encode(&self.manager.instance_logs(uuid, tail, None)))
    }

    /// The manager log's body now; `None` while it does not answer.
    pub fn manager_logs_body(&self, tail: usize) -> Option<Vec<u8>> {
        self.manager_answers().then(|| wire::encode(&self.manager.manager_logs(tail)))
    }
}
