//! The mechanical world: machines, instances with their processes, the lines between them and the manager.
//!
//! Time moves from event to event. An instance is a chain of stages (pull, fetch, warm-up, preload, twelve proofs, prove
//! for good); a fault changes a mechanism of that chain, never what a channel shows.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use dwell_wire as wire;
use jiff::Timestamp;

use crate::dice::{Dice, wobble};
use crate::hardware::Machine;
use crate::manager::{Destroy, Manager, VastRecord, plus_ms};
use crate::scenario::{Fault, FaultKind, Image, Scenario, Wave, card};

const SECOND: i64 = 1_000;
/// An image with the prover and CUDA, GB.
const IMAGE_GB: f64 = 14.0;
/// Proof parameters, bits: 100 GiB.
const PARAMETERS_BITS: f64 = 100.0 * 1024.0 * 1024.0 * 1024.0 * 8.0;
/// Proofs in a benchmark.
const BENCHMARK_PROOFS: u32 = 12;
/// The log shipper looks for new lines this often.
const SHIP_EVERY_MS: i64 = 10 * SECOND;
/// A report that cannot be delivered is tried again after this.
const REPORT_RETRY_MS: i64 = 30 * SECOND;

/// What an instance's processes are doing.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    Pulling,
    Fetching { minutes: u32 },
    WarmingUp { beat: u32 },
    Preloading,
    Benchmarking { proofs: u32 },
    Reporting,
    Starting,
    Proving,
    Wedged { spinning: bool },
    Ended,
}

#[derive(Debug, Clone)]
struct Instance {
    vast_id: u64,
    wave: usize,
    image: usize,
    machine: Machine,
    min_rate: f64,
    proof_s: f64,
    exact_proofs: bool,
    preset_uuid: Option<String>,
    uuid: Option<String>,
    stage: Stage,
    stage_since: Timestamp,
    rented_at: Timestamp,
    fetch_ends_at: Timestamp,
    fetch_share: f64,
    bench_started_at: Timestamp,
    proofs: u64,
    wedge: Option<(u32, bool)>,
    uplink_cut: bool,
    unshipped: Vec<(&'static str, String)>,
    shipping: bool,
    listed: bool,
    generation: u32,
    dice: Dice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Rent { wave: usize, index: usize },
    Fault { fault: usize },
    FaultEnds { fault: usize },
    Monitor,
    Next { instance: usize, generation: u32 },
    Ship { instance: usize },
}

/// What is true of an instance: for scoring and for tests, never for the diagnosis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truth {
    /// vast.ai's number.
    pub vast_id: u64,
    /// The manager's id, once registered.
    pub uuid: Option<String>,
    /// Its processes make progress, or have just begun a step that they will finish.
    pub progressing: bool,
}

/// The world.
#[derive(Debug, Clone)]
pub struct World {
    scenario: Scenario,
    seed: u64,
    origin: Timestamp,
    now: Timestamp,
    events: BinaryHeap<Reverse<(Timestamp, u64, Event)>>,
    events_made: u64,
    instances: Vec<Instance>,
    by_vast: BTreeMap<u64, usize>,
    manager: Manager,
    market_dice: Dice,
    market_index: u64,
    active_faults: Vec<usize>,
}

impl World {
    /// A world at its first screen, which happens at `origin`: everything that the scenario dates before has happened.
    pub fn new(scenario: Scenario, seed: u64, origin: Timestamp) -> Self {
        let earliest =
            scenario.waves.iter().map(|wave| wave.at).chain(scenario.faults.iter().map(|fault| fault.at)).fold(0.0, f64::min);
        let begin = plus_ms(origin, (earliest * 1000.0) as i64 - 60 * SECOND);
        let mut world = Self {
            seed,
            origin,
            now: begin,
            events: BinaryHeap::new(),
            events_made: 0,
            instances: Vec::new(),
            by_vast: BTreeMap::new(),
            manager: Manager::started(begin),
            market_dice: Dice::new(seed, 0),
            market_index: 0,
            active_faults: Vec::new(),
            scenario,
        };
        world.push(world.manager.next_monitor_at(), Event::Monitor);
        for wave in 0..world.scenario.waves.len() {
            for index in 0..world.scenario.waves[wave].count {
                let Wave { at, every, .. } = world.scenario.waves[wave];
                world.push(world.on_screen(at + every * index as f64), Event::Rent { wave, index });
            }
        }
        for fault in 0..world.scenario.faults.len() {
            let Fault { at, lasts, .. } = world.scenario.faults[fault];
            world.push(world.on_screen(at), Event::Fault { fault });
            if let Some(lasts) = lasts {
                world.push(world.on_screen(at + lasts), Event::FaultEnds { fault });
            }
        }
        world.advance_to(origin);
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

    pub(crate) fn manager_mut(&mut self) -> &mut Manager {
        &mut self.manager
    }

    fn on_screen(&self, seconds: f64) -> Timestamp {
        plus_ms(self.origin, (seconds * 1000.0) as i64)
    }

    fn push(&mut self, at: Timestamp, event: Event) {
        self.events_made += 1;
        self.events.push(Reverse((at, self.events_made, event)));
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
            Event::Rent { wave, index } => {
                self.rent(wave, index);
            }
            Event::Fault { fault } => self.begin_fault(fault),
            Event::FaultEnds { fault } => self.end_fault(fault),
            Event::Monitor => {
                // A round planned before a restart is not this process's round.
                if self.manager.is_up() && self.manager.next_monitor_at() <= self.now {
                    let listing = self.listing();
                    let destroyed = self.manager.monitor(listing, self.now);
                    destroyed.into_iter().for_each(|destroy| self.destroy(destroy));
                    self.push(self.manager.next_monitor_at(), Event::Monitor);
                }
            }
            Event::Next { instance, generation } => {
                if self.instances[instance].generation == generation {
                    self.step(instance);
                }
            }
            Event::Ship { instance } => self.ship(instance),
        }
    }

    fn rent(&mut self, wave_index: usize, index: usize) -> u64 {
        let wave = self.scenario.waves[wave_index].clone();
        self.market_index += 1;
        let serial = self.market_index;
        let mut machine =
            Machine::draw(&mut self.market_dice, serial, wave.gpu.as_deref().and_then(card), wave.region.as_deref());
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
        let vast_id = 31_000_000 + serial;
        let mut dice = Dice::new(self.seed, serial);
        let pull_s = IMAGE_GB * 8_000.0 / machine.down_mbps + dice.between(25.0, 90.0);
        self.instances.push(Instance {
            vast_id,
            wave: wave_index,
            image: self.scenario.image(&wave.image).unwrap_or(0),
            min_rate: wave.min_rate,
            proof_s: wave.proof_s.unwrap_or_else(|| machine.proof_s()),
            exact_proofs: wave.proof_s.is_some(),
            preset_uuid: wave.uuid.clone().filter(|_| index == 0),
            machine,
            uuid: None,
            stage: Stage::Pulling,
            stage_since: self.now,
            rented_at: self.now,
            fetch_ends_at: self.now,
            fetch_share: 1.0,
            bench_started_at: self.now,
            proofs: 0,
            wedge: None,
            uplink_cut: false,
            unshipped: Vec::new(),
            shipping: false,
            listed: true,
            generation: 0,
            dice,
        });
        let instance = self.instances.len() - 1;
        self.by_vast.insert(vast_id, instance);
        for fault in self.active_faults.clone() {
            self.strike(fault, instance);
        }
        self.next_in(instance, pull_s);
        vast_id
    }

    /// Rents a machine like those of the last wave: `POST /api/deploy`.
    pub(crate) fn deploy(&mut self, min_rate: f64) -> Option<u64> {
        let wave = self.scenario.waves.len().checked_sub(1)?;
        let vast_id = self.rent(wave, usize::MAX);
        self.instances[self.by_vast[&vast_id]].min_rate = min_rate;
        Some(vast_id)
    }

    fn next_in(&mut self, instance: usize, seconds: f64) {
        let generation = self.instances[instance].generation;
        self.push(plus_ms(self.now, (seconds * 1000.0) as i64), Event::Next { instance, generation });
    }

    fn enter(&mut self, instance: usize, stage: Stage) {
        self.instances[instance].stage = stage;
        self.instances[instance].stage_since = self.now;
    }

    /// The next step of an instance's processes.
    fn step(&mut self, index: usize) {
        match self.instances[index].stage {
            Stage::Pulling => self.start_entrypoint(index),
            Stage::Fetching { minutes } => self.fetch(index, minutes),
            Stage::WarmingUp { beat } => self.warm_up(index, beat),
            Stage::Preloading => {
                if self.wedges_after(index, 0) {
                    return;
                }
                self.write(index, "benchdaemon", "INFO cuzk: SRS loaded, pinned 44.1 GiB");
                self.write(index, "benchout", &format!("batch: {BENCHMARK_PROOFS} proofs, concurrency 1"));
                self.instances[index].bench_started_at = self.now;
                self.enter(index, Stage::Benchmarking { proofs: 0 });
                self.next_proof(index);
            }
            Stage::Benchmarking { proofs } => self.finish_benchmark_proof(index, proofs + 1),
            Stage::Reporting => self.report_benchmark(index),
            Stage::Starting => self.report_running(index),
            Stage::Proving => {
                self.instances[index].proofs += 1;
                let count = self.instances[index].proofs;
                let seconds = self.instances[index].proof_s;
                self.write(index, "cuzk", &format!("\u{1b}[2m{}\u{1b}[0m \u{1b}[32m INFO\u{1b}[0m cuzk: proof {count} done in {seconds:.1}s, self-check 10/10", self.now.strftime("%Y-%m-%dT%H:%M:%SZ")));
                self.write(index, "curio", &format!("PoRep task {} completed", 48_000 + count));
                self.next_proof(index);
            }
            Stage::Wedged { .. } | Stage::Ended => {}
        }
    }

    fn start_entrypoint(&mut self, index: usize) {
        let label = format!("C.{}", self.instances[index].vast_id);
        if !self.reaches_manager(index) {
            return self.next_in(index, REPORT_RETRY_MS as f64 / 1000.0);
        }
        let drawn = self.instances[index].dice.uuid();
        let fresh = self.instances[index].preset_uuid.clone().unwrap_or(drawn);
        let min_rate = self.instances[index].min_rate;
        let (uuid, _) = self.manager.register(&label, min_rate, fresh, self.now);
        self.instances[index].uuid = Some(uuid);
        self.write(index, "setup", "Registered with manager");
        let instance = &mut self.instances[index];
        // The advertised bandwidth is reached in part only.
        let share = instance.dice.between(0.55, 0.9) * instance.fetch_share;
        let seconds = PARAMETERS_BITS / (instance.machine.down_mbps * 1e6 * share);
        instance.fetch_ends_at = plus_ms(self.now, (seconds * 1000.0) as i64);
        self.enter(index, Stage::Fetching { minutes: 0 });
        self.next_in(index, seconds.min(60.0));
    }

    fn fetch(&mut self, index: usize, minutes: u32) {
        let instance = &self.instances[index];
        let total_s = (instance.fetch_ends_at.as_millisecond() - instance.stage_since.as_millisecond()) as f64 / 1000.0;
        let done_s = (self.now.as_millisecond() - instance.stage_since.as_millisecond()) as f64 / 1000.0;
        if self.now < instance.fetch_ends_at {
            self.write(index, "setup", &format!("Params: {:.1} of 100.0 GiB", 100.0 * done_s / total_s));
            self.instances[index].stage = Stage::Fetching { minutes: minutes + 1 };
            return self.next_in(index, (total_s - done_s).clamp(0.001, 60.0));
        }
        if !self.reaches_manager(index) {
            return self.next_in(index, REPORT_RETRY_MS as f64 / 1000.0);
        }
        if let Some(uuid) = self.instances[index].uuid.clone() {
            self.manager.param_done(&uuid, self.now);
        }
        self.write(index, "setup", "Params: complete");
        self.write(index, "setup", "Starting benchmark");
        self.enter(index, Stage::WarmingUp { beat: 0 });
        self.next_in(index, 5.0);
    }

    /// Warm-up of 5-7 min in beats of about 20 s: the daemon starts, extracts the circuit, proves once.
    fn warm_up(&mut self, index: usize, beat: u32) {
        if beat == 0 {
            self.write(index, "benchdaemon", "INFO cuzk: daemon starting, listening on unix:/run/cuzk.sock");
        }
        let beats = 15 + (wobble(self.instances[index].vast_id, 1) * 6.0) as u32;
        if beat < beats {
            self.write(index, "benchdaemon", &format!("INFO cuzk: warm-up {:.0} %", f64::from(beat) / f64::from(beats) * 100.0));
            self.instances[index].stage = Stage::WarmingUp { beat: beat + 1 };
            return self.next_in(index, 20.0);
        }
        self.write(index, "benchdaemon", "INFO cuzk: restarting with warm caches, loading SRS");
        self.enter(index, Stage::Preloading);
        let preload_s = self.instances[index].dice.between(60.0, 120.0);
        self.next_in(index, preload_s);
    }

    fn next_proof(&mut self, index: usize) {
        let instance = &mut self.instances[index];
        let jitter = if instance.exact_proofs { 1.0 } else { instance.dice.between(0.95, 1.05) };
        let seconds = instance.proof_s * jitter;
        self.next_in(index, seconds);
    }

    fn wedges_after(&mut self, index: usize, proofs: u32) -> bool {
        let Some((after, spinning)) = self.instances[index].wedge else { return false };
        if proofs < after {
            return false;
        }
        self.instances[index].generation += 1;
        self.enter(index, Stage::Wedged { spinning });
        true
    }

    fn finish_benchmark_proof(&mut self, index: usize, proofs: u32) {
        let seconds = self.instances[index].proof_s;
        self.write(index, "benchout", &format!("proof {proofs}/{BENCHMARK_PROOFS}: {seconds:.1}s ok"));
        self.write(index, "benchdaemon", &format!("INFO cuzk: job {proofs} partitions 10/10"));
        if self.wedges_after(index, proofs) {
            return;
        }
        if proofs < BENCHMARK_PROOFS {
            self.instances[index].stage = Stage::Benchmarking { proofs };
            return self.next_proof(index);
        }
        self.enter(index, Stage::Reporting);
        self.report_benchmark(index);
    }

    fn report_benchmark(&mut self, index: usize) {
        if !self.reaches_manager(index) {
            return self.next_in(index, REPORT_RETRY_MS as f64 / 1000.0);
        }
        let instance = &self.instances[index];
        let elapsed_s = (instance.stage_since.as_millisecond() - instance.bench_started_at.as_millisecond()) as f64 / 1000.0;
        let rate = (f64::from(BENCHMARK_PROOFS) * 3600.0 / elapsed_s * 100.0).round() / 100.0;
        let Some(uuid) = instance.uuid.clone() else { return };
        self.write(index, "benchout", &format!("throughput: {rate:.2} proofs/h"));
        match self.manager.bench_done(&uuid, rate, self.now) {
            Ok((true, _)) => {
                self.enter(index, Stage::Starting);
                let start_s = self.instances[index].dice.between(15.0, 45.0);
                self.next_in(index, start_s);
            }
            Ok((false, destroy)) => destroy.into_iter().for_each(|destroy| self.destroy(destroy)),
            Err(_) => self.enter(index, Stage::Ended),
        }
    }

    fn report_running(&mut self, index: usize) {
        if !self.reaches_manager(index) {
            return self.next_in(index, REPORT_RETRY_MS as f64 / 1000.0);
        }
        let Some(uuid) = self.instances[index].uuid.clone() else { return };
        if self.manager.running(&uuid, self.now).is_err() {
            return self.enter(index, Stage::Ended);
        }
        self.write(index, "setup", "Prover running");
        self.enter(index, Stage::Proving);
        self.next_proof(index);
    }

    fn reaches_manager(&self, index: usize) -> bool {
        !self.instances[index].uplink_cut && self.manager.is_up()
    }

    /// A line written on the instance; shipped if its image ships that source.
    fn write(&mut self, index: usize, source: &'static str, text: &str) {
        let image: &Image = &self.scenario.images[self.instances[index].image];
        if !image.ships.iter().any(|shipped| shipped == source) {
            return;
        }
        self.instances[index].unshipped.push((source, text.to_owned()));
        if !self.instances[index].shipping {
            self.instances[index].shipping = true;
            self.push(plus_ms(self.now, SHIP_EVERY_MS), Event::Ship { instance: index });
        }
    }

    /// The shipper pushes what is new, one push a source.
    fn ship(&mut self, index: usize) {
        self.instances[index].shipping = false;
        if !self.instances[index].listed {
            return;
        }
        if !self.reaches_manager(index) {
            self.instances[index].shipping = true;
            return self.push(plus_ms(self.now, REPORT_RETRY_MS), Event::Ship { instance: index });
        }
        let lines = std::mem::take(&mut self.instances[index].unshipped);
        let Some(uuid) = self.instances[index].uuid.clone() else { return };
        let mut pushes: BTreeMap<&str, String> = BTreeMap::new();
        for (source, text) in lines {
            let push = pushes.entry(source).or_default();
            push.push_str(&text);
            push.push('\n');
        }
        for (source, body) in pushes {
            self.manager.log_push(&uuid, source, body.as_bytes(), self.now);
        }
    }

    /// vast.ai ends a rental.
    pub(crate) fn destroy(&mut self, Destroy(vast_id): Destroy) {
        let Some(index) = self.by_vast.get(&vast_id).copied() else { return };
        self.instances[index].listed = false;
        self.instances[index].generation += 1;
        self.enter(index, Stage::Ended);
    }

    /// Whether vast.ai has this rental.
    pub(crate) fn is_rented(&self, vast_id: u64) -> bool {
        self.by_vast.get(&vast_id).is_some_and(|index| self.instances[*index].listed)
    }

    fn begin_fault(&mut self, fault: usize) {
        self.active_faults.push(fault);
        if self.scenario.faults[fault].kind == FaultKind::ManagerRestart {
            self.manager.stop();
            if self.scenario.faults[fault].lasts.is_none() {
                self.start_manager();
            }
            return;
        }
        for instance in 0..self.instances.len() {
            self.strike(fault, instance);
        }
    }

    fn start_manager(&mut self) {
        self.manager.start(self.now);
        self.push(self.manager.next_monitor_at(), Event::Monitor);
    }

    fn strike(&mut self, fault: usize, index: usize) {
        let fault = self.scenario.faults[fault].clone();
        let wave = &self.scenario.waves[self.instances[index].wave];
        if fault.wave.is_some() && fault.wave != wave.name || self.instances[index].stage == Stage::Ended {
            return;
        }
        match fault.kind {
            FaultKind::ProverWedge => {
                self.instances[index].wedge = Some((fault.after_proofs, fault.spinning));
                // A prover that already runs wedges at once.
                if self.instances[index].stage == Stage::Proving {
                    self.wedges_after(index, u32::MAX);
                }
            }
            FaultKind::UplinkCut => self.instances[index].uplink_cut = true,
            FaultKind::HostLost => self.destroy(Destroy(self.instances[index].vast_id)),
            FaultKind::SlowDownload => self.instances[index].fetch_share = fault.share.unwrap_or(0.2),
            FaultKind::ManagerRestart => {}
        }
    }

    fn end_fault(&mut self, fault: usize) {
        self.active_faults.retain(|active| *active != fault);
        let ended = self.scenario.faults[fault].clone();
        if ended.kind == FaultKind::ManagerRestart {
            return self.start_manager();
        }
        for index in 0..self.instances.len() {
            let wave = &self.scenario.waves[self.instances[index].wave];
            if ended.wave.is_some() && ended.wave != wave.name {
                continue;
            }
            match ended.kind {
                FaultKind::ProverWedge => self.instances[index].wedge = None,
                FaultKind::UplinkCut => self.instances[index].uplink_cut = false,
                FaultKind::SlowDownload => self.instances[index].fetch_share = 1.0,
                FaultKind::HostLost | FaultKind::ManagerRestart => {}
            }
        }
    }

    /// What `vastai show instances` lists now.
    fn listing(&self) -> Vec<VastRecord> {
        self.instances.iter().filter(|instance| instance.listed).map(|instance| self.record(instance)).collect()
    }

    fn record(&self, instance: &Instance) -> VastRecord {
        let machine = &instance.machine;
        let image = &self.scenario.images[instance.image].reference;
        let label = Some(format!("C.{}", instance.vast_id));
        let age_s = (self.now.as_millisecond() - instance.rented_at.as_millisecond()) as f64 / 1000.0;
        let pulling = instance.stage == Stage::Pulling;
        let (gpu_util, gpu_temp, cpu_util, mem_usage_gb) = self.gauges(instance);
        let status = match instance.stage {
            Stage::Pulling if age_s < 20.0 => format!("Pulling from {}", image.split(':').next().unwrap_or(image)),
            Stage::Pulling => {
                format!("{:08x}: Pull complete", (wobble(instance.vast_id, age_s as u64 / 20) * f64::from(u32::MAX)) as u32)
            }
            _ => format!("success, running {image}"),
        };
        VastRecord {
            vast_id: instance.vast_id,
            label: label.clone(),
            start_date_s: instance.rented_at.as_millisecond() as f64 / 1000.0,
            shown: wire::Instance {
                label,
                gpu_name: Some(machine.card.name.to_owned()),
                num_gpus: Some(machine.cards),
                dph_total: Some(machine.dollars_per_h),
                ssh_cmd: (!pulling).then(|| format!("ssh -p {} root@{}", machine.ssh_port, machine.public_ip)),
                host_id: Some(machine.host_id),
                machine_id: Some(machine.machine_id),
                geolocation: Some(machine.region.clone()),
                cpu_ram_mb: Some(machine.ram_mib),
                gpu_util: Some(gpu_util),
                gpu_temp: Some(gpu_temp),
                gpu_ram_mb: Some((machine.card.memory_mib * machine.cards) as f64),
                cuda_version: Some(13.0),
                inet_down_mbps: Some(machine.down_mbps),
                inet_up_mbps: Some(machine.up_mbps),
                cpu_util: Some(cpu_util),
                mem_usage_gb: Some(mem_usage_gb),
                mem_limit_gb: Some((machine.ram_mib / 1024.0 * 10.0).round() / 10.0),
                disk_space_gb: Some(machine.disk_gb),
                gpu_mem_bw: Some(machine.card.bandwidth_gb_s),
                driver_version: Some("580.95.05".to_owned()),
                reliability: Some(machine.reliability),
                gpu_frac: Some(1.0),
                status_msg: Some(status),
                public_ip: Some(machine.public_ip.clone()),
                ..wire::Instance::default()
            },
        }
    }

    /// GPU load (%), temperature (C), CPU load (%), memory used (GB): from what the processes do.
    fn gauges(&self, instance: &Instance) -> (f64, f64, f64, f64) {
        let minute = self.now.as_millisecond() as u64 / 60_000;
        let sway = |moment: u64| wobble(instance.vast_id, minute.wrapping_add(moment));
        let one_decimal = |value: f64| (value * 10.0).round() / 10.0;
        let stage_s = (self.now.as_millisecond() - instance.stage_since.as_millisecond()) as f64 / 1000.0;
        let (load, cpu, memory) = match instance.stage {
            // Before the container runs vast.ai has no reading: it shows zeros.
            Stage::Pulling | Stage::Ended => return (0.0, 0.0, 0.0, 0.0),
            Stage::Fetching { .. } => (0.0, 6.0 + 5.0 * sway(0), 6.0),
            Stage::WarmingUp { .. } => (if sway(0) < 0.6 { 35.0 + 50.0 * sway(1) } else { 0.0 }, 45.0 + 30.0 * sway(2), 70.0),
            Stage::Preloading | Stage::Starting => (0.0, 20.0, 60.0),
            Stage::Benchmarking { .. } | Stage::Proving => (86.0 + 13.0 * sway(0), 35.0 + 20.0 * sway(1), 150.0 + 20.0 * sway(2)),
            Stage::Reporting => (0.0, 3.0, 140.0),
            Stage::Wedged { spinning: true } => (100.0, 4.0, 140.0),
            Stage::Wedged { spinning: false } => (0.0, 1.0 + sway(0), 140.0),
        };
        let warm = if load > 10.0 { (stage_s / 300.0).min(1.0) } else { 0.0 };
        let temperature = 33.0 + 6.0 * wobble(instance.vast_id, 3) + 34.0 * warm * load / 100.0;
        (load.round(), temperature.round(), one_decimal(cpu), one_decimal(memory))
    }

    /// What is true of every rental that vast.ai still has.
    pub fn truth(&self) -> Vec<Truth> {
        self.instances
            .iter()
            .filter(|instance| instance.listed)
            .map(|instance| Truth {
                vast_id: instance.vast_id,
                uuid: instance.uuid.clone(),
                progressing: !matches!(instance.stage, Stage::Wedged { .. } | Stage::Ended),
            })
            .collect()
    }

    /// The dashboard's body now, as the manager would send it; `None` while it is down. Virtual-time tests read this.
    pub fn dashboard_body(&self) -> Option<Vec<u8>> {
        self.manager.is_up().then(|| wire::encode(&self.manager.dashboard(self.now)))
    }

    /// An instance log's body now; `None` while the manager is down.
    pub fn instance_logs_body(&mut self, uuid: &str, tail: usize) -> Option<Vec<u8>> {
        self.manager.is_up().then(|| wire::encode(&self.manager.instance_logs(uuid, tail, None)))
    }

    /// The manager log's body now; `None` while it is down.
    pub fn manager_logs_body(&self, tail: usize) -> Option<Vec<u8>> {
        self.manager.is_up().then(|| wire::encode(&self.manager.manager_logs(tail)))
    }
}
