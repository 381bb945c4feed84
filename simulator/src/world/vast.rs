//! vast.ai's side: contracts and their states, the account, the records of its API, and the command line client that the
//! manager runs.
//!
//! Shapes and rules: vast.ai's API description, its own client and what clients of it have met.

use std::collections::BTreeMap;
use std::sync::Arc;

use dwell_wire as wire;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::life::CARD_MEMORY_MIB;
use super::{Instance, Stuck, Task, World};
use crate::conditions::Card;
use crate::dice::wobble;
use crate::gauges::Reading;
use crate::manager::{Fixed, VastClient, VastRecord, plus_ms};

/// Disk, dollars per GB and hour: $0.15 a month.
const DISK_DOLLARS_GB_H: f64 = 0.15 / 730.0;
/// Instances on a page of the listing.
const PAGE: usize = 25;

/// The account's books.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ledger {
    /// Credit at the opening, dollars; infinite before the first screen.
    opened_with: Option<f64>,
    /// Spent before the opening, and since.
    spent_before: f64,
    spent: f64,
}

impl Ledger {
    pub(super) fn open(&mut self, credit: f64) {
        self.spent_before = self.spent;
        self.opened_with = Some(credit);
    }

    fn credit(&self) -> Option<f64> {
        self.opened_with.map(|credit| credit - (self.spent - self.spent_before))
    }
}

/// The account at vast.ai.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Account {
    /// Prepaid credit left, dollars.
    pub credit: f64,
    /// Spent on every rental there ever was, dollars.
    pub spent: f64,
}

/// An answer of vast.ai's API.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiAnswer {
    /// HTTP status.
    pub status: u16,
    /// Body.
    pub body: Value,
}

impl ApiAnswer {
    pub(crate) fn ok(body: Value) -> Self {
        Self { status: 200, body }
    }

    pub(crate) fn no(status: u16, error: &str, msg: &str) -> Self {
        Self { status, body: json!({ "success": false, "error": error, "msg": msg }) }
    }
}

/// One object of the fields of all.
fn merged<const N: usize>(parts: [Value; N]) -> Value {
    parts.into_iter().filter_map(|part| if let Value::Object(fields) = part { Some(fields) } else { None }).flatten().collect()
}

impl World {
    // Bills.

    /// What vast.ai bills for a rental now, dollars per hour: the card from `running` on, the disk in every state but offline.
    pub(super) fn bill_per_h(&self, index: usize) -> f64 {
        let instance = &self.instances[index];
        let contract = &instance.contract;
        if contract.gone_at.is_some() || instance.conditions.host.offline {
            return 0.0;
        }
        let disk = contract.disk_gb * DISK_DOLLARS_GB_H;
        if contract.actual == Some("running") { contract.dollars_per_h.max(disk) } else { disk }
    }

    /// Bills a rental up to now.
    pub(super) fn settle(&mut self, index: usize) {
        let per_h = self.bill_per_h(index);
        let now = self.now;
        let contract = &mut self.instances[index].contract;
        let hours = (now.as_millisecond() - contract.settled_at.as_millisecond()) as f64 / 3_600_000.0;
        contract.settled_at = now;
        contract.billed_dollars += hours * per_h;
        if contract.actual == Some("running") && contract.gone_at.is_none() {
            contract.billed_card_s += hours * 3600.0;
        }
        self.account.spent += hours * per_h;
    }

    /// Bills every rental up to now. Where no credit is left, vast.ai stops them all.
    pub(super) fn settle_all(&mut self) {
        for index in self.listed.clone() {
            self.settle(index);
        }
        if self.account.credit().is_some_and(|credit| credit <= 0.0) {
            for index in self.listed.clone() {
                if self.instances[index].contract.wants_running {
                    self.instances[index].contract.wants_running = false;
                    self.stop_container(index);
                }
            }
        }
    }

    /// Bills every rental up to now.
    pub fn settle_now(&mut self) {
        self.settle_all();
    }

    /// The account.
    pub fn account(&self) -> Account {
        Account { credit: self.account.credit().unwrap_or(self.scenario.account.credit), spent: self.account.spent }
    }

    // Contracts.

    /// vast.ai has this rental, and nobody has asked for its end.
    pub fn is_rented(&self, vast_id: u64) -> bool {
        self.find(vast_id).is_some_and(|index| !self.instances[index].contract.ending)
    }

    /// Ends a rental: its container now, its record a little later.
    pub(super) fn destroy_rental(&mut self, index: usize) {
        if self.instances[index].contract.ending {
            return;
        }
        self.stop_container(index);
        let machine = self.instances[index].machine;
        self.instances[index].contract.ending = true;
        self.machines[machine].tenant = None;
        self.vanish_at(index);
    }

    pub(super) fn vanish(&mut self, index: usize) {
        self.settle(index);
        self.instances[index].contract.gone_at = Some(self.now);
        self.instances[index].contract.actual = None;
        self.listed.retain(|listed| *listed != index);
    }

    fn actual_status(&self, instance: &Instance) -> Option<&'static str> {
        if instance.conditions.host.offline { Some("offline") } else { instance.contract.actual }
    }

    // Telemetry.

    /// What the host agent reads, or goes on showing.
    pub(super) fn reading(&self, index: usize) -> Reading {
        let instance = &self.instances[index];
        if let Some(frozen) = instance.frozen {
            return frozen;
        }
        let minute = self.now.as_millisecond() as u64 / 60_000;
        let sway = |moment: u64| wobble(instance.vast_id, minute.wrapping_add(moment));
        if self.vast_trouble.telemetry_zeros && minute.is_multiple_of(2) {
            return Reading::default();
        }
        let one_decimal = |value: f64| (value * 10.0).round() / 10.0;
        let prover_gb = self.memory_wanted_gib(index).min(self.memory_limit_gib(index));
        let has_daemon = self.container(index).is_some_and(|container| container.daemon.is_some());
        let held = if has_daemon { 140.0_f64.min(prover_gb) } else { 4.0 };
        let (load, cpu, memory) = match (instance.task, instance.stuck) {
            // Before the container runs there is no reading: zeros.
            (Task::Waiting | Task::Pulling | Task::Refused | Task::Stopped, _) => return Reading::default(),
            (_, Some(Stuck::Call { spinning: true })) => (100.0, 4.0, held),
            (_, Some(Stuck::Call { spinning: false } | Stuck::Driver | Stuck::Budget | Stuck::NoWorker | Stuck::Report)) => {
                (0.0, 1.0 + sway(0), held)
            }
            (_, Some(Stuck::NoDaemon | Stuck::Retrying)) => (0.0, 1.0 + sway(0), held),
            (Task::Proving, _) if !instance.conditions.software.has_work => (0.0, 2.0 + sway(0), held),
            (Task::Registering | Task::Fetching | Task::ReportingParameters, _) => (0.0, 6.0 + 5.0 * sway(0), 6.0),
            (Task::WarmingUp { beat: 3 }, _) if instance.conditions.software.translation_s > 0.0 => (0.0, 3.0, 20.0),
            (Task::WarmingUp { beat: 3 }, _) if instance.conditions.software.extraction_s > 0.0 => (0.0, 99.0, 60.0),
            (Task::WarmingUp { .. }, _) => (if sway(0) < 0.6 { 35.0 + 50.0 * sway(1) } else { 0.0 }, 45.0 + 30.0 * sway(2), 70.0),
            (Task::Preloading | Task::Connecting | Task::Starting | Task::ReportingRunning, _) => (0.0, 20.0, held.min(60.0)),
            (Task::Benchmarking { .. } | Task::Proving, _) => self.busy(index, prover_gb, &sway),
            (Task::ReportingBenchmark { .. }, _) => (0.0, 3.0, held),
            (Task::Over, _) => (0.0, 1.0 + sway(0), held),
        };
        let stage_s = self.seconds_since(instance.task_since);
        let warm = if load > 10.0 { (stage_s / 300.0).min(1.0) } else { 0.0 };
        let hot = if instance.conditions.gpu.throttle_reason.contains("Thermal") { 18.0 } else { 0.0 };
        let temperature = 33.0 + 6.0 * wobble(instance.vast_id, 3) + (34.0 + hot) * warm * load / 100.0;
        let leaked_mib =
            self.container(index).and_then(|container| container.daemon.as_ref()).map_or(0.0, |daemon| daemon.leaked_mib);
        let card_mib = instance.conditions.gpu.memory_taken_mib + if has_daemon { CARD_MEMORY_MIB + leaked_mib } else { 0.0 };
        // A card that is lost cannot be read: the agent sends zeros for it.
        let lost = matches!(instance.conditions.gpu.card, Card::Lost);
        Reading {
            gpu_util: if lost { 0.0 } else { load.round() },
            gpu_temp: if lost { 0.0 } else { temperature.round() },
            cpu_util: one_decimal(cpu),
            memory_gb: one_decimal(memory),
            card_memory_gb: one_decimal(card_mib / 1000.0),
            disk_gb: one_decimal(self.disk_used_gb(index)),
        }
    }

    /// Loads while proofs are made: the card waits for what is slower.
    fn busy(&self, index: usize, prover_gb: f64, sway: &dyn Fn(u64) -> f64) -> (f64, f64, f64) {
        let conditions = &self.instances[index].conditions;
        let starved = conditions.host.cpu_share < 0.35;
        let waits = starved || conditions.gpu.bus_share < 0.6 || !conditions.host.pins_memory;
        let load = if waits { 20.0 + 30.0 * sway(0) } else { 86.0 + 13.0 * sway(0) };
        let cpu = if starved { 98.0 } else { 35.0 + 20.0 * sway(1) };
        (load, cpu, (150.0 + 20.0 * sway(2)).min(prover_gb))
    }

    // Records.

    /// What a record says for the whole rental, in the dashboard's fields.
    pub(super) fn fixed(&self, vast_id: u64, machine: usize) -> Fixed {
        let machine = &self.machines[machine];
        Fixed {
            numbered: format!("C.{vast_id}"),
            shown: wire::Instance {
                gpu_name: Some(machine.card.name.to_owned()),
                num_gpus: Some(machine.cards),
                dph_total: Some(machine.dollars_per_h),
                ssh_cmd: Some(format!("ssh -p {} root@{}", machine.ssh_port, machine.public_ip)),
                host_id: Some(machine.host_id),
                machine_id: Some(machine.machine_id),
                geolocation: Some(machine.region.clone()),
                cpu_ram_mb: Some(machine.ram_mib),
                gpu_ram_mb: Some((machine.card.memory_mib * machine.cards) as f64),
                cuda_version: Some(13.0),
                inet_down_mbps: Some(machine.down_mbps),
                inet_up_mbps: Some(machine.up_mbps),
                mem_limit_gb: Some((machine.ram_mib / 1024.0 * 10.0).round() / 10.0),
                disk_space_gb: Some(machine.disk_gb),
                gpu_mem_bw: Some(machine.card.bandwidth_gb_s),
                driver_version: Some("580.95.05".to_owned()),
                reliability: Some(machine.reliability),
                gpu_frac: Some(1.0),
                public_ip: Some(machine.public_ip.clone()),
                ..wire::Instance::default()
            },
        }
    }

    fn has_ports(&self, index: usize) -> bool {
        let instance = &self.instances[index];
        instance.conditions.host.direct_ports && instance.container.is_some()
    }

    fn listed_record(&self, index: usize) -> VastRecord {
        let instance = &self.instances[index];
        let host = &instance.conditions.host;
        // Where a fault changes what a record says, the shared part is copied.
        let differs = host.memory_share < 1.0 || host.driver != "580.95.05" || instance.contract.bid.is_some();
        let fixed = if differs {
            let mut fixed = (*instance.fixed).clone();
            fixed.shown.mem_limit_gb = Some((self.memory_limit_gib(index) * 10.0).round() / 10.0);
            fixed.shown.gpu_frac = Some(host.memory_share);
            fixed.shown.driver_version = Some(host.driver.to_owned());
            fixed.shown.cuda_version = Some(host.cuda_max);
            fixed.shown.dph_total = Some(instance.contract.dollars_per_h);
            Arc::new(fixed)
        } else {
            Arc::clone(&instance.fixed)
        };
        VastRecord {
            vast_id: instance.vast_id,
            label: instance.contract.label.clone(),
            start_date_s: instance.contract.started_at.as_millisecond() as f64 / 1000.0,
            reading: self.reading(index),
            status_msg: instance.contract.status_msg.clone(),
            has_ports: self.has_ports(index),
            fixed,
        }
    }

    /// The record of a rental as vast.ai's API gives it.
    fn record(&self, index: usize) -> Value {
        let instance = &self.instances[index];
        let (machine, contract, host) = (&self.machines[instance.machine], &instance.contract, &instance.conditions.host);
        let image = &self.scenario.images[instance.image];
        let reading = self.reading(index);
        let started = instance.container.is_some() || instance.frozen.is_some();
        let told = |value: f64| if started { json!(value) } else { Value::Null };
        let seconds = |at: Timestamp| at.as_millisecond() as f64 / 1000.0;
        let disk_h = (contract.disk_gb * DISK_DOLLARS_GB_H * 1e4).round() / 1e4;
        let card_h = ((contract.dollars_per_h - disk_h).max(0.0) * 1e4).round() / 1e4;
        let rates = |card: f64| {
            json!({ "gpuCostPerHour": card, "diskHour": disk_h, "totalHour": ((card + disk_h) * 1e4).round() / 1e4,
                "discountTotalHour": 0, "discountedTotalPerHour": ((card + disk_h) * 1e4).round() / 1e4 })
        };
        let running = contract.actual == Some("running");
        let ports = self.has_ports(index).then(|| {
            json!({ "22/tcp": [{ "HostIp": "0.0.0.0", "HostPort": machine.ssh_port.to_string() },
                { "HostIp": "::", "HostPort": machine.ssh_port.to_string() }] })
        });
        let provisioning = self.vast_trouble.start_date_null && !started;
        let identity = json!({
            "id": instance.vast_id,
            "machine_id": machine.machine_id,
            "host_id": machine.host_id,
            "hosting_type": 0,
        });
        let state = json!({
            "actual_status": self.actual_status(instance),
            "intended_status": if contract.wants_running { "running" } else { "stopped" },
            "cur_state": contract.cur_state,
            "next_state": if contract.wants_running { "running" } else { "stopped" },
            "status_msg": contract.status_msg.as_deref(),
            "label": contract.label.as_deref(),
            "template_id": null,
            "template_hash_id": null,
            "template_name": null,
            "image_uuid": image.reference,
            "image_args": [],
            "image_runtype": contract.runtype,
            "extra_env": contract.env.iter().map(|(key, value)| json!([key, value])).collect::<Vec<_>>(),
            "onstart": contract.onstart.as_deref().unwrap_or("/opt/entrypoint.sh >/var/log/entrypoint.log 2>&1 &"),
        });
        let ways = json!({
            "ssh_host": "ssh7.vast.ai",
            "ssh_idx": "7",
            "ssh_port": 20_000 + instance.vast_id % 10_000,
            "machine_dir_ssh_port": machine.ssh_port,
            "public_ipaddr": if host.direct_ports { json!(format!("{} ", machine.public_ip)) } else { Value::Null },
            "local_ipaddrs": "192.168.4.21 172.17.0.1 \n",
            "direct_port_count": if host.direct_ports { 64 } else { 0 },
            "direct_port_start": -1,
            "direct_port_end": -1,
            "ports": ports,
            "static_ip": true,
            "geolocation": machine.region,
            "country_code": machine.region.rsplit(' ').next(),
            "verification": "verified",
            "rentable": false,
            "external": false,
            "is_bid": contract.bid.is_some(),
            "min_bid": (machine.dollars_per_h * 60.0).round() / 100.0,
            "start_date": if provisioning { Value::Null } else { json!(seconds(contract.started_at)) },
            "end_date": seconds(contract.ends_at),
            "duration": (seconds(contract.ends_at) - seconds(self.now)).max(0.0),
            "uptime_mins": instance.container.as_ref().map(|container| (self.seconds_since(container.started_at) / 60.0).floor()),
        });
        let cards = json!({
            "num_gpus": machine.cards,
            "gpu_name": machine.card.name,
            "gpu_arch": "nvidia",
            "compute_cap": machine.card.compute_cap,
            "cuda_max_good": host.cuda_max,
            "driver_version": host.driver,
            "gpu_ram": machine.card.memory_mib,
            "gpu_totalram": machine.card.memory_mib * machine.cards,
            "gpu_frac": host.memory_share,
            "gpu_lanes": 16,
            "gpu_mem_bw": machine.card.bandwidth_gb_s,
            "gpu_util": told(reading.gpu_util),
            "gpu_temp": told(reading.gpu_temp),
            "vmem_usage": told(reading.card_memory_gb),
        });
        let host_part = json!({
            "cpu_name": machine.cpu_name,
            "cpu_arch": "amd64",
            "cpu_cores": machine.cores,
            "cpu_cores_effective": (f64::from(machine.cores) * host.cpu_share * 10.0).round() / 10.0,
            "cpu_ram": machine.ram_mib.round() as u64,
            "cpu_util": told(reading.cpu_util),
            "mem_limit": told((self.memory_limit_gib(index) * 10.0).round() / 10.0),
            "mem_usage": told(reading.memory_gb),
            "has_avx": 1,
            "os_version": "22.04",
            "pci_gen": 4.0,
            "pcie_bw": machine.pcie_gb_s,
            "disk_name": "Samsung SSD 990 PRO 4TB",
            "disk_space": contract.disk_gb,
            "disk_bw": machine.disk_mb_s,
            "disk_usage": if started { json!(reading.disk_gb) } else { json!(-1) },
            "disk_util": if started { json!((reading.disk_gb / contract.disk_gb * 100.0).round() / 100.0) } else { json!(-1) },
            "inet_up": machine.up_mbps,
            "inet_down": machine.down_mbps,
            "inet_up_cost": 0.003,
            "inet_down_cost": 0.003,
            "dph_base": card_h,
            "dph_total": contract.dollars_per_h,
            "storage_cost": 0.15,
            "storage_total_cost": disk_h,
            "search": rates(card_h),
            "instance": rates(if running { card_h } else { 0.0 }),
            "reliability2": machine.reliability,
        });
        let mut record = merged([identity, state, ways, cards, host_part]);
        if self.vast_trouble.odd_record && self.listed.last() == Some(&index) {
            record["num_gpus"] = json!([machine.cards]);
        }
        record
    }

    /// vast.ai's record of a rental now; `None` where it lists none. What tests and virtual time read.
    pub fn vast_record(&self, vast_id: u64) -> Option<Value> {
        let index = self.find(vast_id).filter(|index| self.instances[*index].contract.gone_at.is_none())?;
        Some(self.record(index))
    }

    // The API.

    fn refused(&self) -> Option<ApiAnswer> {
        let (status, body) = self.vast_trouble.answers?;
        Some(ApiAnswer { status, body: serde_json::from_str(body).unwrap_or_else(|_| Value::String(body.to_owned())) })
    }

    fn numbered(&self, vast_id: u64) -> Result<usize, ApiAnswer> {
        if let Some(refused) = self.refused() {
            return Err(refused);
        }
        self.find(vast_id)
            .filter(|index| !self.instances[*index].contract.ending)
            .ok_or_else(|| ApiAnswer::no(404, "no_such_instance", &format!("error 404/3602: instance {vast_id} not found")))
    }

    /// `GET /api/v1/instances/`: a page in the order of ids, after the token.
    pub fn api_list(&self, limit: Option<usize>, after: Option<&str>) -> ApiAnswer {
        if let Some(refused) = self.refused() {
            return refused;
        }
        if self.vast_trouble.listing_retired {
            return ApiAnswer::no(
                410,
                "deprecated_endpoint",
                "/api/v1/instances/ is deprecated. Use /api/v2/instances/ instead.",
            );
        }
        let limit = limit.map_or(PAGE, |limit| if limit == 0 { 5 } else { limit.min(PAGE) });
        let after: u64 = match after.filter(|token| !token.is_empty()).map(|token| token.trim_start_matches("id-").parse()) {
            None => 0,
            Some(Ok(after)) => after,
            Some(Err(_)) => return ApiAnswer::no(400, "invalid_token", "error 400: after_token is not valid"),
        };
        let page: Vec<usize> = self.listed.iter().copied().filter(|index| self.instances[*index].vast_id > after).collect();
        let next = (page.len() > limit).then(|| format!("id-{}", self.instances[page[limit - 1]].vast_id));
        let rows: Vec<Value> = page.into_iter().take(limit).map(|index| self.record(index)).collect();
        let mut labels: BTreeMap<&str, usize> = BTreeMap::new();
        for index in &self.listed {
            *labels.entry(self.instances[*index].contract.label.as_deref().unwrap_or("")).or_default() += 1;
        }
        ApiAnswer::ok(json!({
            "success": true,
            "instances_found": rows.len(),
            "total_instances": self.listed.len(),
            "label_counts": labels,
            "next_token": next,
            "instances": rows,
        }))
    }

    /// `GET /api/v0/instances/{id}/`. `looks` counts the look-ups so far.
    pub fn api_show(&self, vast_id: u64, looks: u64) -> ApiAnswer {
        if let Some(refused) = self.refused() {
            return refused;
        }
        let flickers = self.vast_trouble.null_every.is_some_and(|every| looks.is_multiple_of(every));
        ApiAnswer::ok(json!({ "instances": self.vast_record(vast_id).filter(|_| !flickers) }))
    }

    /// `DELETE /api/v0/instances/{id}/`.
    pub fn api_destroy(&mut self, vast_id: u64) -> ApiAnswer {
        match self.numbered(vast_id) {
            Err(answer) => answer,
            Ok(_) if self.vast_trouble.destroy_refused => ApiAnswer {
                status: 200,
                body: json!({ "success": false, "error": "invalid_request", "msg": "Instance is locked by a pending operation." }),
            },
            Ok(index) => {
                self.destroy_rental(index);
                ApiAnswer::ok(json!({ "success": true, "msg": format!("destroying instance {vast_id}") }))
            }
        }
    }

    /// `PUT /api/v0/instances/{id}/`: `state` or `label`.
    pub fn api_change(&mut self, vast_id: u64, body: &Value) -> ApiAnswer {
        let index = match self.numbered(vast_id) {
            Ok(index) => index,
            Err(answer) => return answer,
        };
        if let Some(label) = body["label"].as_str() {
            if label.chars().count() > 1_024 {
                return ApiAnswer::no(400, "label_too_long", "label is longer than 1024 characters");
            }
            self.instances[index].contract.label = Some(label.into()).filter(|_| !label.is_empty());
            return ApiAnswer::ok(json!({ "success": true, "msg": "label set" }));
        }
        match body["state"].as_str() {
            Some("running") => {
                if self.account.credit().is_some_and(|credit| credit <= 0.0) {
                    return ApiAnswer::no(400, "missing_billing", "Your account has no credit.");
                }
                self.set_intended(index, true);
            }
            Some("stopped") => self.set_intended(index, false),
            _ => return ApiAnswer::no(400, "invalid_args", "state must be running or stopped"),
        }
        ApiAnswer::ok(json!({ "success": true }))
    }

    /// `PUT /api/v0/instances/reboot/{id}/`, and `recycle`, which pulls the image anew and loses the container's data.
    pub fn api_reboot(&mut self, vast_id: u64, recycle: bool) -> ApiAnswer {
        let index = match self.numbered(vast_id) {
            Ok(index) => index,
            Err(answer) => return answer,
        };
        if recycle {
            let reference = self.scenario.images[self.instances[index].image].reference.clone();
            let newest = self.scenario.images.iter().rposition(|image| image.reference == reference);
            let instance = &mut self.instances[index];
            self.machines[instance.machine].images.remove(&reference);
            instance.image = newest.unwrap_or(instance.image);
            instance.pulled_gb = 0.0;
            instance.parameters_gib = 0.0;
            instance.container = None;
            instance.generation += 1;
            self.enter(index, Task::Waiting);
            self.next_in(index, 5.0);
        } else {
            self.restart_container(index, false);
        }
        ApiAnswer::ok(json!({ "success": true }))
    }

    /// `GET /api/v0/users/current`.
    pub fn api_user(&self) -> ApiAnswer {
        self.refused().unwrap_or_else(|| {
            let Account { credit, spent } = self.account();
            ApiAnswer::ok(json!({
                "id": 4_711, "key_id": 1, "email": "operator@example.org", "username": "operator", "balance": 0.0,
                "credit": (credit * 1e4).round() / 1e4, "total_spend": -(spent * 1e4).round() / 1e4,
                "ssh_key": "ssh-ed25519 AAAA simulated", "host_agreement_accepted": null, "has_billing": true, "can_pay": true,
                "balance_threshold": 5.0, "balance_threshold_enabled": false, "sid": null,
            }))
        })
    }

    fn offer(&self, machine: usize) -> Value {
        let it = &self.machines[machine];
        let identity = json!({
            "id": it.offer_id, "ask_contract_id": it.offer_id, "bundle_id": 1_730_000_000 + it.offer_id, "machine_id": it.machine_id,
            "host_id": it.host_id, "hosting_type": 0, "num_gpus": it.cards, "gpu_name": it.card.name, "gpu_arch": "nvidia",
            "compute_cap": it.card.compute_cap, "cuda_max_good": 13.0, "driver_version": "580.95.05", "driver_vers": 580_095_005,
            "gpu_ram": it.card.memory_mib, "gpu_total_ram": it.card.memory_mib * it.cards, "gpu_frac": 1.0, "gpu_lanes": 16,
            "gpu_mem_bw": it.card.bandwidth_gb_s,
        });
        let host = json!({
            "cpu_name": it.cpu_name, "cpu_arch": "amd64", "cpu_cores": it.cores, "cpu_cores_effective": it.cores, "cpu_ghz": 2.8,
            "cpu_ram": it.ram_mib.round() as u64, "has_avx": 1, "pci_gen": 4.0, "pcie_bw": it.pcie_gb_s, "disk_name": "Samsung SSD 990 PRO 4TB",
            "disk_bw": it.disk_mb_s, "disk_space": it.disk_gb * 4.0, "inet_up": it.up_mbps, "inet_down": it.down_mbps,
            "inet_up_cost": 0.003, "inet_down_cost": 0.003, "direct_port_count": 120, "public_ipaddr": it.public_ip,
            "static_ip": true, "mobo_name": "H12SSL-i", "os_version": "22.04", "vms_enabled": false, "cluster_id": null,
            "gpu_display_active": false, "gpu_max_power": 450.0, "gpu_max_temp": 90.0, "bw_nvlink": 0.0,
            "total_flops": (36.0 / it.card.proof_factor * it.cards as f64).round(),
        });
        let price = json!({
            "geolocation": it.region, "country_code": it.region.rsplit(' ').next(), "verification": "verified",
            "rentable": true, "rented": false, "external": false, "is_bid": false, "min_bid": (it.dollars_per_h * 60.0).round() / 100.0,
            "dph_base": it.dollars_per_h, "dph_total": it.dollars_per_h, "storage_cost": 0.15, "reliability": it.reliability,
            "reliability2": it.reliability, "dlperf": (200.0 / it.card.proof_factor).round(), "dlperf_usd": 400.0, "score": 300.0,
            "duration": 2_400_000.0, "end_date": self.now.as_second() + 2_400_000,
            "search": { "gpuCostPerHour": it.dollars_per_h, "diskHour": 0.0, "totalHour": it.dollars_per_h,
                "discountTotalHour": 0, "discountedTotalPerHour": it.dollars_per_h },
        });
        merged([identity, host, price])
    }

    /// The offers of the market now, as vast.ai gives them.
    pub fn offers(&self) -> Vec<Value> {
        (0..self.machines.len())
            .filter(|machine| self.machines[*machine].tenant.is_none())
            .map(|machine| self.offer(machine))
            .collect()
    }

    /// `PUT /api/v0/asks/{offer}/`: rents.
    pub fn api_create(&mut self, offer_id: u64, body: &Value) -> ApiAnswer {
        if let Some(refused) = self.refused() {
            return refused;
        }
        let free = |machine: &crate::hardware::Machine| machine.offer_id == offer_id && machine.tenant.is_none();
        let Some(machine) = self.machines.iter().position(free) else {
            let gone = format!("error 404/3603: no_such_ask Instance type by id {offer_id} is not available.");
            return ApiAnswer {
                status: 404,
                body: json!({ "success": false, "error": "no_such_ask", "msg": gone, "ask_id": offer_id }),
            };
        };
        if body.get("env").is_some_and(|env| !env.is_object() && !env.is_null()) {
            return ApiAnswer::no(400, "invalid_args", "env must be a dict");
        }
        if self.account.credit().is_some_and(|credit| credit <= 0.0) {
            return ApiAnswer::no(400, "missing_billing", "Your account has no credit.");
        }
        if self.vast_trouble.create_without_contract {
            return ApiAnswer::ok(json!({ "success": true }));
        }
        if self.vast_trouble.create_never_appears {
            self.market_index += 1;
            return ApiAnswer::ok(
                json!({ "success": true, "new_contract": 31_000_000 + self.market_index, "instance_api_key": "x" }),
            );
        }
        let reference = body["image"].as_str().unwrap_or("");
        let image = self.scenario.images.iter().rposition(|image| image.reference == reference);
        let image = image.unwrap_or(self.scenario.images.len().saturating_sub(1));
        let index = self.rent(machine, image, None);
        let instance = &mut self.instances[index];
        let contract = &mut instance.contract;
        contract.label = body["label"].as_str().filter(|label| !label.is_empty()).map(Into::into);
        contract.bid = body["price"].as_f64();
        contract.dollars_per_h = contract.bid.unwrap_or(contract.dollars_per_h);
        contract.disk_gb = body["disk"].as_f64().unwrap_or(10.0).max(8.0);
        contract.onstart = body["onstart"].as_str().map(str::to_owned);
        contract.runtype = body["runtype"].as_str().unwrap_or("ssh").to_owned();
        let env = body["env"].as_object().into_iter().flatten();
        contract.env =
            env.map(|(key, value)| (key.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned))).collect();
        let vast_id = instance.vast_id;
        let min_rate = contract.env.iter().find(|(key, _)| key == "MIN_RATE").and_then(|(_, value)| value.parse().ok());
        instance.min_rate = min_rate.unwrap_or(instance.min_rate);
        self.strike_newcomer(index);
        if self.vast_trouble.create_stopped || body["target_state"].as_str() == Some("stopped") {
            self.instances[index].contract.wants_running = false;
            self.stop_container(index);
        }
        ApiAnswer::ok(json!({ "success": true, "new_contract": vast_id, "instance_api_key": "x" }))
    }

    /// The manager's `POST /api/deploy`: rents through the client. The contract, 0 where the client's output names none, and that output.
    pub(crate) fn deploy(&mut self, offer_id: u64, min_rate: f64, disk_gb: f64) -> (u64, String) {
        let image = self.scenario.waves.last().map_or_else(
            || self.scenario.images.last().map(|image| image.reference.clone()),
            |wave| self.scenario.image(wave.image.get_ref()).map(|image| self.scenario.images[image].reference.clone()),
        );
        let body = json!({
            "image": image, "disk": disk_gb, "runtype": "ssh_direc ssh_proxy",
            "onstart": "/opt/entrypoint.sh >/var/log/entrypoint.log 2>&1 &", "env": { "MIN_RATE": min_rate.to_string() },
        });
        let answer = self.api_create(offer_id, &body);
        // The client prints why and ends with status 0: the manager calls it ok, and finds no number in it.
        if answer.status != 200 {
            return (0, format!("Failed with error {}: {}\n", answer.status, answer.body["msg"].as_str().unwrap_or("")));
        }
        match answer.body["new_contract"].as_u64() {
            Some(id) => (id, format!("Started. {{'success': True, 'new_contract': {id}, 'instance_api_key': 'x'}}")),
            None => (0, "Started. {'success': True}".to_owned()),
        }
    }

    // Container logs.

    /// What `request_logs` uploads, and when it can be read; `None` for an unknown instance.
    pub fn container_log(&self, vast_id: u64, daemon: bool) -> Option<(Timestamp, String)> {
        let index = self.find(vast_id).filter(|index| !self.instances[*index].contract.ending)?;
        let instance = &self.instances[index];
        let ready = plus_ms(self.now, (self.vast_trouble.log_delay_s * 1000.0) as i64);
        if instance.conditions.host.offline {
            return Some((ready, String::new()));
        }
        let image = &self.scenario.images[instance.image].reference;
        let text = if daemon {
            match (&instance.task, instance.contract.status_msg.as_deref()) {
                (Task::Refused | Task::Pulling | Task::Waiting, Some(words)) => format!("pulling {image}\n{words}\n"),
                (Task::Refused | Task::Pulling | Task::Waiting, None) => String::new(),
                _ => format!("pulling {image}\nStatus: Downloaded newer image for {image}\nstarted container C.{vast_id}\n"),
            }
        } else {
            // The workload's output goes to files; the container's own output is its launcher's.
            match &instance.container {
                Some(_) => "Starting OpenSSH server: sshd.\n".to_owned(),
                None if instance.contract.actual == Some("exited") => {
                    "Starting OpenSSH server: sshd.\nentrypoint ended\n".to_owned()
                }
                None => "Error response from daemon: No such container\n".to_owned(),
            }
        };
        Some((ready, text))
    }
}

impl VastClient for World {
    fn list(&mut self) -> Result<Vec<VastRecord>, String> {
        let trouble = &self.manager_trouble;
        if trouble.client_fails {
            return Err("vastai show instances: exit status 1".to_owned());
        }
        // The client prints an HTTP error on its error output and ends with status 0.
        if self.vast_trouble.answers.is_some() || self.vast_trouble.listing_retired {
            return Err("parse vast output: unexpected end of JSON input (output: )".to_owned());
        }
        let provisioning = |index: &usize| self.instances[*index].container.is_none() && self.instances[*index].frozen.is_none();
        if self.vast_trouble.start_date_null && self.listed.iter().any(provisioning) {
            return Err("vastai show instances: exit status 1".to_owned());
        }
        if self.vast_trouble.odd_record && !self.listed.is_empty() {
            return Err(
                "parse vast output: json: cannot unmarshal array into Go struct field VastInstance.num_gpus of type int (output: [{\"actual_status\": \"running\")".to_owned(),
            );
        }
        if trouble.client_other_account {
            return Ok(Vec::new());
        }
        let most = if trouble.client_first_page_only { PAGE } else { usize::MAX };
        Ok(self.listed.iter().take(most).map(|index| self.listed_record(*index)).collect())
    }

    fn destroy(&mut self, vast_id: u64) -> Result<(), String> {
        if self.manager_trouble.destroy_fails {
            return Err("exit status 1 ()".to_owned());
        }
        // It asked, found no terminal, printed "Aborted." and ended with status 0.
        if self.manager_trouble.destroy_prompts {
            return Ok(());
        }
        match self.api_destroy(vast_id).status {
            404 if self.vast_trouble.answers.is_none() => {
                Err("exit status 1 (failed with error 404: no such instance)".to_owned())
            }
            // Any other refusal ends with status 0 as well.
            _ => Ok(()),
        }
    }
}
