//! Faults in the world: whom they strike, what is rebuilt when they begin and end, the deeds they do, and the truth.

use std::sync::Arc;

use jiff::Timestamp;

use super::{Container, Event, Source, Stuck, Task, World};
use crate::conditions::{Card, Conditions, ManagerTrouble, VastTrouble};
use crate::dice::wobble;
use crate::faults::{Does, FaultKind, Given, fault_kind};
use crate::manager::plus_ms;
use crate::scenario::Target;

/// What is true of a rental: for scoring and for tests, never for the diagnosis.
#[derive(Debug, Clone, PartialEq)]
pub struct Truth {
    /// vast.ai's number.
    pub vast_id: u64,
    /// The manager's id, once registered.
    pub uuid: Option<String>,
    /// vast.ai has it, and nobody has asked for its end.
    pub rented: bool,
    /// Its processes make progress, or have just begun a step that they will finish.
    pub progressing: bool,
    /// Ids of the faults that have struck it, those of the manager and of vast.ai included, in the order in which they did.
    pub causes: Vec<String>,
    /// Its image does not ship what would show its benchmark.
    pub silent_image: bool,
    /// When the first of them did.
    pub fault_at: Option<Timestamp>,
    /// Each strike in order: the fault's id, when, and what the rental had cost by then, dollars.
    pub strikes: Vec<(String, Timestamp, f64)>,
    /// When it was rented.
    pub rented_at: Timestamp,
    /// When vast.ai ceased to list it.
    pub gone_at: Option<Timestamp>,
    /// What it has cost so far, dollars.
    pub dollars: f64,
    /// Cost now, dollars per hour, as vast.ai bills it.
    pub dollars_per_h: f64,
}

impl World {
    fn kind(&self, fault: usize) -> Option<&'static FaultKind> {
        fault_kind(self.scenario.faults[fault].id())
    }

    fn given(&self, fault: usize) -> Given {
        self.scenario.faults[fault].given.clone()
    }

    /// The instance fits the target, its place and share among the others left aside.
    fn fits(&self, index: usize, target: &Target) -> bool {
        let instance = &self.instances[index];
        let machine = &self.machines[instance.machine];
        let scenario = &self.scenario;
        let wave = instance.wave.and_then(|wave| scenario.waves[wave].name.as_deref());
        target.wave.as_ref().is_none_or(|name| wave == Some(name.get_ref().as_str()))
            && target.image.as_ref().is_none_or(|image| scenario.images[instance.image].id == *image.get_ref())
            && target.gpu.as_ref().is_none_or(|gpu| machine.card.name == gpu.get_ref())
            && target.region.as_ref().is_none_or(|region| machine.region == *region)
    }

    /// The instances rented so far that a target selects.
    pub fn selected(&self, target: Option<&Target>) -> Vec<u64> {
        self.select(target, u64::MAX).into_iter().map(|index| self.instances[index].vast_id).collect()
    }

    fn select(&self, target: Option<&Target>, salt: u64) -> Vec<usize> {
        let Some(target) = target else { return (0..self.instances.len()).collect() };
        let fitting = (0..self.instances.len()).filter(|index| self.fits(*index, target));
        fitting.enumerate().filter(|(place, index)| self.chosen(*place, *index, target, salt)).map(|(_, index)| index).collect()
    }

    fn chosen(&self, place: usize, index: usize, target: &Target, salt: u64) -> bool {
        let share = |share: f64| wobble(self.instances[index].vast_id ^ self.seed, salt.wrapping_add(1_000)) < share;
        target.index.as_ref().is_none_or(|places| places.contains(&place))
            && target.share.as_ref().is_none_or(|wanted| share(*wanted.get_ref()))
    }

    pub(super) fn begin_fault(&mut self, fault: usize) {
        let Some(kind) = self.kind(fault) else { return };
        self.active_faults.push(fault);
        if kind.place.is_aimed() || matches!(kind.does, Does::Strikes(_)) {
            let scenario = Arc::clone(&self.scenario);
            let target = scenario.faults[fault].target.as_ref().map(toml::Spanned::get_ref);
            for index in self.select(target, fault as u64) {
                self.strike(fault, index);
            }
            return;
        }
        for index in self.listed.clone() {
            self.note_struck(fault, index);
        }
        if let Does::World(act) = kind.does {
            act(self, &self.given(fault));
        }
        self.rebuild_trouble();
        // A restart without a down time.
        if self.manager_trouble.down && self.scenario.faults[fault].lasts.is_none() {
            self.end_fault(fault);
        }
    }

    pub(super) fn end_fault(&mut self, fault: usize) {
        self.active_faults.retain(|active| *active != fault);
        self.rebuild_trouble();
        for machine in &mut self.machines {
            machine.faults.retain(|active| *active != fault);
        }
        for index in 0..self.instances.len() {
            if self.instances[index].faults.contains(&fault) {
                self.instances[index].faults.retain(|active| *active != fault);
                self.rebuild(index);
            }
        }
    }

    /// Strikes an instance just rented with what is in force.
    pub(super) fn strike_newcomer(&mut self, index: usize) {
        let scenario = Arc::clone(&self.scenario);
        for fault in self.active_faults.clone() {
            let Some(kind) = self.kind(fault) else { continue };
            if !kind.place.is_aimed() {
                self.note_struck(fault, index);
                continue;
            }
            let target = scenario.faults[fault].target.as_ref().map(toml::Spanned::get_ref);
            let aimed = match target {
                None => true,
                Some(target) => {
                    let place = || (0..index).filter(|other| self.fits(*other, target)).count();
                    self.fits(index, target) && self.chosen(place(), index, target, fault as u64)
                }
            };
            if aimed || self.machines[self.instances[index].machine].faults.contains(&fault) {
                self.strike(fault, index);
            }
        }
    }

    fn strike(&mut self, fault: usize, index: usize) {
        let Some(kind) = self.kind(fault) else { return };
        if self.instances[index].contract.ending || self.instances[index].faults.contains(&fault) {
            return;
        }
        self.note_struck(fault, index);
        let instance = &mut self.instances[index];
        instance.faults.push(fault);
        if kind.place.stays_with_machine() {
            self.machines[instance.machine].faults.push(fault);
        }
        self.rebuild(index);
        if let Does::Strikes(act) | Does::ChangesAndStrikes(_, act) = kind.does {
            act(self, index, &self.given(fault));
        }
    }

    fn note_struck(&mut self, fault: usize, index: usize) {
        self.settle(index);
        let now = self.now;
        let instance = &mut self.instances[index];
        instance.struck.push((fault, now, instance.contract.billed_dollars));
    }

    /// Works out an instance's conditions from the faults in force on it.
    fn rebuild(&mut self, index: usize) {
        let mut conditions = Conditions::default();
        for fault in self.instances[index].faults.clone() {
            if let Some(FaultKind { does: Does::Changes(change) | Does::ChangesAndStrikes(change, _), .. }) = self.kind(fault) {
                change(&mut conditions, &self.given(fault));
            }
        }
        let before = std::mem::replace(&mut self.instances[index].conditions, conditions);
        self.react(index, &before);
    }

    /// What happens at the moment a mechanism changes, without any process having to do anything.
    fn react(&mut self, index: usize, before: &Conditions) {
        let now = self.now;
        let reading = self.reading(index);
        let instance = &mut self.instances[index];
        let conditions = &instance.conditions;
        if conditions.gpu.card != before.gpu.card {
            let line = match conditions.gpu.card {
                Card::Lost if conditions.gpu.says_xid => {
                    Some("NVRM: Xid (PCI:0000:01:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.")
                }
                Card::Lost => Some("NVRM: GPU 0000:01:00.0: GPU has fallen off the bus."),
                Card::FirmwareSilent => Some(
                    "NVRM: Xid (PCI:0000:01:00): 119, pid=311, name=cuzk-daemon, Timeout after 45s of waiting for RPC response from GSP!",
                ),
                Card::Works | Card::DriverBusy => None,
            };
            instance.kernel.extend(line.map(|line| (now, line.to_owned())));
        }
        if conditions.host.offline && !before.host.offline {
            instance.frozen = instance.frozen.or(Some(reading));
        }
        if !conditions.host.offline && before.host.offline && instance.task != Task::Stopped {
            instance.frozen = None;
        }
        // A card that was taken is free again: what waits for it starts.
        if before.host.card_taken && !conditions.host.card_taken && instance.contract.wants_running {
            self.start_container_again(index);
        }
    }

    fn rebuild_trouble(&mut self) {
        let (mut manager, mut vast) = (ManagerTrouble::default(), VastTrouble::default());
        for fault in self.active_faults.clone() {
            match self.kind(fault).map(|kind| kind.does) {
                Some(Does::Manager(change)) => change(&mut manager, &self.given(fault)),
                Some(Does::Vast(change)) => change(&mut vast, &self.given(fault)),
                _ => {}
            }
        }
        if vast.telemetry_frozen && !self.vast_trouble.telemetry_frozen {
            for index in self.listed.clone() {
                let reading = self.reading(index);
                self.instances[index].frozen.get_or_insert(reading);
            }
        }
        if !vast.telemetry_frozen && self.vast_trouble.telemetry_frozen {
            for index in self.listed.clone() {
                let instance = &mut self.instances[index];
                if instance.task != Task::Stopped && !instance.conditions.host.offline {
                    instance.frozen = None;
                }
            }
        }
        let (was_down, down) = (self.manager_trouble.down, manager.down);
        self.manager_trouble = manager;
        self.manager.trouble = self.manager_trouble.clone();
        self.vast_trouble = vast;
        if down && !was_down {
            self.manager.stop();
        }
        if was_down && !down {
            self.start_manager();
        }
    }

    /// What is true of every rental there ever was, oldest first.
    pub fn truth(&self) -> Vec<Truth> {
        (0..self.instances.len()).map(|index| self.truth_of(index)).collect()
    }

    fn truth_of(&self, index: usize) -> Truth {
        let instance = &self.instances[index];
        let mut causes: Vec<String> = Vec::new();
        for (fault, ..) in &instance.struck {
            let id = self.scenario.faults[*fault].id();
            if !causes.iter().any(|known| known == id) {
                causes.push(id.to_owned());
            }
        }
        let halted = matches!(instance.task, Task::Over | Task::Refused | Task::Stopped);
        Truth {
            vast_id: instance.vast_id,
            uuid: instance.uuid.clone(),
            rented: !instance.contract.ending,
            progressing: !instance.contract.ending && !halted && instance.stuck.is_none(),
            causes,
            silent_image: !self.scenario.images[instance.image].ships.iter().any(|source| source == "benchout"),
            fault_at: instance.struck.first().map(|(_, at, _)| *at),
            strikes: instance
                .struck
                .iter()
                .map(|(fault, at, dollars)| (self.scenario.faults[*fault].id().to_owned(), *at, *dollars))
                .collect(),
            rented_at: instance.contract.started_at,
            gone_at: instance.contract.gone_at,
            dollars: instance.contract.billed_dollars,
            dollars_per_h: self.bill_per_h(index),
        }
    }

    // What a person in a drill can do, through the manager and through vast.ai as an operator would.

    /// Has the manager kill a row and destroy its rental.
    pub fn kill(&mut self, vast_id: u64, uuid: &str) {
        self.with_manager(|manager, world, now| manager.kill(vast_id, uuid, world, now));
    }

    // The deeds of faults.

    /// The host stops the container; the rental stays.
    pub(crate) fn stop_by_host(&mut self, index: usize) {
        self.stop_container(index);
        let contract = &mut self.instances[index].contract;
        contract.cur_state = "stopped";
    }

    pub(crate) fn set_intended(&mut self, index: usize, running: bool) {
        self.settle(index);
        self.instances[index].contract.wants_running = running;
        if running {
            self.start_container_again(index);
        } else {
            self.stop_container(index);
        }
    }

    pub(crate) fn outbid(&mut self, index: usize, bid: f64) {
        if self.instances[index].contract.bid.is_some_and(|own| own < bid) {
            self.stop_container(index);
        }
    }

    pub(crate) fn expire(&mut self, index: usize) {
        self.instances[index].contract.ends_at = self.now;
        self.set_intended(index, false);
    }

    pub(crate) fn end_rental(&mut self, index: usize) {
        self.destroy_rental(index);
    }

    /// The host has the oldest image of the scenario under the tag.
    pub(crate) fn use_cached_image(&mut self, index: usize) {
        let instance = &mut self.instances[index];
        let reference = &self.scenario.images[instance.image].reference;
        let oldest = self.scenario.images.iter().position(|image| image.reference == *reference);
        if let Some(oldest) = oldest.filter(|_| instance.container.is_none()) {
            self.machines[instance.machine].images.insert(reference.clone(), oldest);
        }
    }

    /// Every process of the container begins again.
    pub(crate) fn restart_container(&mut self, index: usize, loses_parameters: bool) {
        if self.instances[index].container.is_none() {
            return;
        }
        if loses_parameters {
            self.instances[index].parameters_gib = 0.0;
        }
        self.start_container(index);
    }

    /// The container's first process ends; the host starts it again after a while.
    pub(crate) fn exit_container(&mut self, index: usize) {
        const PAUSE_S: f64 = 10.0;
        if self.instances[index].conditions.software.exits_after_s.is_none() || self.instances[index].container.is_none() {
            return;
        }
        let instance = &mut self.instances[index];
        instance.generation += 1;
        instance.container = None;
        instance.contract.actual = Some("exited");
        // The next step starts it.
        self.enter(index, Task::Pulling);
        self.next_in(index, PAUSE_S);
    }

    pub(super) fn plan_exit(&mut self, index: usize) {
        if let Some(seconds) = self.instances[index].conditions.software.exits_after_s {
            self.push_in(seconds, Event::Exit { instance: index, started_ms: self.now.as_millisecond() });
        }
    }

    pub(crate) fn ecc_error(&mut self, index: usize) {
        let now = self.now;
        let line = "NVRM: Xid (PCI:0000:01:00): 48, pid=311, name=cuzk-daemon, DBE (double bit error) ECC Error, uncorrectable ECC error encountered";
        self.instances[index].kernel.push((now, line.to_owned()));
        self.end_daemon(index, 134);
    }

    /// The kernel ends the largest process of the host.
    pub(crate) fn global_oom(&mut self, index: usize) {
        let now = self.now;
        if self.instances[index].container.as_ref().is_some_and(|container| container.daemon.is_some()) {
            let line = "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/docker/6f1d,task=cuzk-daemon,pid=311,uid=0";
            self.instances[index].kernel.push((now, line.to_owned()));
            self.end_daemon(index, 137);
        }
    }

    /// The prover daemon ends with this code.
    pub(crate) fn end_daemon(&mut self, index: usize, code: i32) {
        self.record_exit(index, "cuzk-daemon", code);
        if let Some(container) = &mut self.instances[index].container {
            container.daemon = None;
        }
        if matches!(self.instances[index].task, Task::Proving) {
            self.instances[index].stuck = Some(Stuck::NoDaemon);
            self.shell_tells_of_end(index, Source::Setup, 311, code);
        }
    }

    pub(crate) fn ban_machine(&mut self, index: usize, reason: &str) {
        let machine = self.machines[self.instances[index].machine].machine_id.to_string();
        self.with_manager(|manager, _, now| manager.add_bad_host(&machine, reason, now));
    }

    pub(crate) fn kill_row_only(&mut self, index: usize) {
        if let Some(uuid) = self.instances[index].uuid.clone() {
            self.with_manager(|manager, world, now| manager.kill(0, &uuid, world, now));
        }
    }

    pub(crate) fn report_benchmark_for(&mut self, index: usize, rate: f64) {
        if let Some(uuid) = self.instances[index].uuid.clone() {
            let _ = self.with_manager(|manager, world, now| manager.bench_done(&uuid, rate, world, now));
        }
    }

    pub(crate) fn label_at_vast(&mut self, index: usize) {
        let instance = &mut self.instances[index];
        instance.contract.label = Some(instance.fixed.numbered.as_str().into());
    }

    pub(crate) fn set_credit(&mut self, dollars: f64) {
        self.settle_all();
        self.account.open(dollars);
        self.settle_all();
    }

    /// Starts the container of an instance that is stopped, if its host can.
    pub(super) fn start_container_again(&mut self, index: usize) {
        let instance = &mut self.instances[index];
        if instance.contract.ending || !matches!(instance.task, Task::Stopped) {
            return;
        }
        if instance.conditions.host.card_taken {
            instance.contract.cur_state = "scheduling";
            return;
        }
        instance.contract.cur_state = "running";
        instance.frozen = None;
        if instance.pulled_gb > 0.0 {
            self.start_container(index);
        } else {
            self.enter(index, Task::Waiting);
            self.next_in(index, 5.0);
        }
    }

    /// Ends every process of the container.
    pub(super) fn stop_container(&mut self, index: usize) {
        self.settle(index);
        let reading = self.reading(index);
        let instance = &mut self.instances[index];
        if instance.contract.ending || instance.task == Task::Stopped {
            return;
        }
        instance.frozen.get_or_insert(reading);
        instance.generation += 1;
        instance.container = None;
        instance.contract.actual = Some("stopped");
        instance.contract.cur_state = "stopped";
        self.enter(index, Task::Stopped);
    }

    /// A fresh container: the entrypoint begins.
    pub(super) fn start_container(&mut self, index: usize) {
        self.settle(index);
        let now = self.now;
        let instance = &mut self.instances[index];
        instance.generation += 1;
        instance.container = Some(Container::started(now));
        instance.reported_early = false;
        instance.contract.actual = Some("running");
        instance.contract.cur_state = "running";
        let image = &self.scenario.images[instance.image].reference;
        instance.contract.status_msg = Some(format!("success, running {image}").into());
        self.plan_exit(index);
        self.begin_entrypoint(index);
    }

    pub(super) fn vanish_at(&mut self, index: usize) {
        // Destroyed rentals stay listed for some seconds.
        let lag_ms = 4_000 + (wobble(self.instances[index].vast_id, 21) * 16_000.0) as i64;
        self.push(plus_ms(self.now, lag_ms), Event::Vanish { instance: index });
    }
}
