//! A vast.ai account behind its command line client: what `vastai` prints and how it exits, without a process.
//!
//! Texts and statuses: vast.ai's client 1.9.1 (PyPI `vastai`), run against a server of our own. It exits with 0 whatever
//! vast.ai answers, prints what went wrong on its error output, and destroys nothing where nobody answers its question.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::manager::{Call, Exit, Output};

/// What a subcommand of the client does.
#[derive(Debug, Clone, PartialEq)]
pub enum Behaviour {
    /// It does what it is for.
    Works,
    /// `destroy instance` without `-y` and without a terminal (1.0.1 and later): it asks, is not answered, and exits with 0.
    Aborts,
    /// It does nothing, prints this, and exits with this status. `{id}` stands for the last argument that is a number.
    Says {
        /// Its status.
        status: i32,
        /// Its output.
        stdout: String,
        /// Its error output.
        stderr: String,
    },
    /// It works, and then says that it failed: the answer was lost on its way.
    WorksButSays {
        /// Its status.
        status: i32,
        /// Its output.
        stdout: String,
        /// Its error output.
        stderr: String,
    },
    /// It never ends.
    Hangs,
    /// It is killed by a signal, as Go names it.
    Killed(String),
    /// It is not installed.
    Missing,
}

impl Behaviour {
    /// Fails as programs do: status 1 and words on its error output.
    pub fn fails(stderr: &str) -> Self {
        Self::Says { status: 1, stdout: String::new(), stderr: stderr.to_owned() }
    }

    /// vast.ai answers with a refusal: 1.9.1 exits with 0 and prints nothing on its output.
    pub fn refused(http_status: u16, words: &str) -> Self {
        let stderr = format!("Failed with error {http_status}: {words}\n");
        Self::Says { status: 0, stdout: String::new(), stderr }
    }

    /// Too many requests.
    pub fn rate_limited() -> Self {
        Self::refused(429, "API requests too frequent")
    }

    /// Prints this and exits with 0.
    pub fn prints(stdout: &str) -> Self {
        Self::Says { status: 0, stdout: stdout.to_owned(), stderr: String::new() }
    }
}

/// What an account rents, what is offered to it, and how its client behaves.
#[derive(Debug, Clone)]
pub struct Account {
    /// vast.ai's records, as `show instances --raw` prints them.
    pub rows: Vec<Map<String, Value>>,
    /// vast.ai's offers, as `search offers --raw` prints them.
    pub offers: Vec<Map<String, Value>>,
    /// `show instances --raw`.
    pub list: Behaviour,
    /// `destroy instance`.
    pub destroy: Behaviour,
    /// `create instance`.
    pub create: Behaviour,
    /// `search offers`.
    pub search: Behaviour,
    /// What `curl` on a machine prints of its prover's status, by address. Without an entry `ssh` exits with 255.
    pub provers: Vec<(String, String)>,
    /// Every program takes this long.
    pub takes: Duration,
    /// The number of the next rental.
    pub next_id: u64,
    /// Every command that was run.
    pub calls: Vec<Vec<String>>,
}

impl Default for Account {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            offers: Vec::new(),
            list: Behaviour::Works,
            destroy: Behaviour::Works,
            create: Behaviour::Works,
            search: Behaviour::Works,
            provers: Vec::new(),
            takes: Duration::ZERO,
            next_id: 31_900_000,
            calls: Vec::new(),
        }
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("no object: {other}"),
    }
}

impl Account {
    /// Rents an instance: a record like a real one, labelled `C.<id>`. `start_date` is Unix seconds.
    pub fn rent(&mut self, id: u64, start_date: f64) -> &mut Map<String, Value> {
        let machine = 40_000 + id % 1_000;
        self.rows.push(object(json!({
            "id": id,
            "label": format!("C.{id}"),
            "machine_id": machine,
            "host_id": 9_000 + id % 100,
            "actual_status": "running",
            "cur_state": "running",
            "intended_status": "running",
            "next_state": "running",
            "start_date": start_date,
            "gpu_name": "RTX 4090",
            "num_gpus": 1,
            "dph_total": 0.31,
            "dph_base": 0.29,
            "cpu_name": "AMD EPYC 7542 32-Core Processor",
            "cpu_ram": 257_604,
            "geolocation": "Norway, NO",
            "country_code": "NO",
            "inet_down": 812.4,
            "inet_up": 640.1,
            "gpu_util": 87.0,
            "gpu_temp": 64.0,
            "gpu_totalram": 24_564,
            "gpu_mem_bw": 924.9,
            "disk_space": 250.0,
            "disk_usage": 104.2,
            "cuda_max_good": 13.0,
            "driver_version": "580.95.05",
            "public_ipaddr": format!("198.51.100.{}", id % 250),
            "ports": { "22/tcp": [{ "HostIp": "0.0.0.0", "HostPort": (40_000 + id % 20_000).to_string() }] },
            "mem_usage": 96.5,
            "mem_limit": 240.0,
            "cpu_util": 12.5,
            "reliability2": 0.994,
            "duration": 2_592_000.0,
            "gpu_frac": 0.125,
            "status_msg": "success, running magik6k/curio-cuzk_latest/ssh",
            "image_uuid": "magik6k/curio-cuzk:latest",
            "verification": "verified",
        })));
        self.rows.last_mut().unwrap_or_else(|| unreachable!("it was just pushed"))
    }

    /// Offers a machine.
    pub fn offer(&mut self, id: u64, machine_id: u64, dph_total: f64) -> &mut Map<String, Value> {
        self.offers.push(object(json!({
            "id": id,
            "host_id": 9_100,
            "machine_id": machine_id,
            "gpu_name": "RTX 4090",
            "num_gpus": 1,
            "gpu_ram": 24_564,
            "gpu_total_ram": 24_564,
            "gpu_mem_bw": 924.9,
            "gpu_lanes": 16,
            "cpu_ram": 257_604,
            "cpu_cores": 64,
            "cpu_cores_effective": 32.0,
            "cpu_name": "AMD EPYC 7542 32-Core Processor",
            "cpu_ghz": 2.9,
            "dph_base": dph_total - 0.02,
            "dph_total": dph_total,
            "disk_space": 1_200.0,
            "disk_bw": 3_100.0,
            "inet_down": 812.4,
            "inet_up": 640.1,
            "geolocation": "Norway, NO",
            "country_code": "NO",
            "cuda_max_good": 13.0,
            "reliability2": 0.994,
            "dlperf": 98.4,
            "compute_cap": 890,
            "pcie_bw": 24.3,
            "host_run_time": 2_592_000.0,
        })));
        self.offers.last_mut().unwrap_or_else(|| unreachable!("it was just pushed"))
    }

    /// Whether an instance is rented, and so billed.
    pub fn is_rented(&self, id: u64) -> bool {
        self.rows.iter().any(|row| row.get("id").and_then(Value::as_u64) == Some(id))
    }

    /// The record of a rented instance.
    pub fn row(&mut self, id: u64) -> Option<&mut Map<String, Value>> {
        self.rows.iter_mut().find(|row| row.get("id").and_then(Value::as_u64) == Some(id))
    }

    /// Ends a rental, as its host or the website would.
    pub fn end(&mut self, id: u64) {
        self.rows.retain(|row| row.get("id").and_then(Value::as_u64) != Some(id));
    }

    /// Runs a program of the manager's. `None` where it never ends. `unix_s` is the time of what is rented now.
    pub fn run(&mut self, call: &Call, unix_s: f64) -> Option<Output> {
        let mut command = vec![call.program.to_owned()];
        command.extend(call.args.iter().cloned());
        self.calls.push(command);
        if call.program == "ssh" {
            let host = call.args.iter().find_map(|arg| arg.strip_prefix("root@")).unwrap_or_default();
            let status = self.provers.iter().find(|(address, _)| address == host);
            return Some(match status {
                Some((_, json)) => Output::exited(0, json.as_bytes(), ""),
                None => Output::exited(255, "", ""),
            });
        }
        let words: Vec<&str> = call.args.iter().map(String::as_str).collect();
        let behaviour = match words[..] {
            ["show", ..] => &self.list,
            ["destroy", ..] => &self.destroy,
            ["create", ..] => &self.create,
            _ => &self.search,
        };
        let id = words.iter().rev().find_map(|word| word.parse::<u64>().ok()).unwrap_or_default();
        let said = |status: i32, stdout: &str, stderr: &str| {
            let filled = |text: &str| text.replace("{id}", &id.to_string());
            Output::exited(status, filled(stdout), filled(stderr))
        };
        match behaviour.clone() {
            Behaviour::Works => Some(self.work(&words, unix_s)),
            Behaviour::Aborts => {
                let question =
                    "Are you sure you want to destroy instance {id}? This is irreversible and will delete all data. [y/N] ";
                Some(said(0, &format!("{question}\nAborted.\n"), ""))
            }
            Behaviour::Says { status, stdout, stderr } => Some(said(status, &stdout, &stderr)),
            Behaviour::WorksButSays { status, stdout, stderr } => {
                self.work(&words, unix_s);
                Some(said(status, &stdout, &stderr))
            }
            Behaviour::Hangs => None,
            Behaviour::Killed(signal) => Some(Output { exit: Exit::Signal(signal), ..Output::exited(0, "", "") }),
            Behaviour::Missing => Some(Output { exit: Exit::NotFound, ..Output::exited(0, "", "") }),
        }
    }

    fn work(&mut self, words: &[&str], unix_s: f64) -> Output {
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok()).unwrap_or_default();
        match words {
            ["show", ..] => Output::exited(0, printed(&self.rows), ""),
            ["destroy", ..] if self.is_rented(number(2)) => {
                self.end(number(2));
                Output::exited(0, format!("destroying instance {}.\n", number(2)), "")
            }
            ["destroy", ..] => Output::exited(
                0,
                "",
                format!("Failed with error 404: error 404: no_such_instance Instance {} not found.\n", number(2)),
            ),
            ["create", ..] => {
                let at = self.offers.iter().position(|offer| offer.get("id").and_then(Value::as_u64) == Some(number(2)));
                let Some(at) = at else {
                    let why = format!(
                        "Failed with error 404: error 404/3603: no_such_ask Instance type by id {} is not available.\n",
                        number(2)
                    );
                    return Output::exited(0, "", why);
                };
                let offer = self.offers.remove(at);
                let id = self.next_id;
                self.next_id += 1;
                let row = self.rent(id, unix_s);
                for name in ["machine_id", "host_id", "gpu_name", "num_gpus", "dph_total", "cpu_ram", "geolocation"] {
                    if let Some(value) = offer.get(name) {
                        row.insert(name.to_owned(), value.clone());
                    }
                }
                row.insert("label".to_owned(), Value::Null);
                Output::exited(0, format!("Started. {{'success': True, 'new_contract': {id}, 'instance_api_key': 'x'}}\n"), "")
            }
            _ => Output::exited(0, printed(&self.offers), ""),
        }
    }
}

/// As Python prints JSON with an indent of one.
fn printed(rows: &[Map<String, Value>]) -> Vec<u8> {
    let mut text = Vec::new();
    let format = serde_json::ser::PrettyFormatter::with_indent(b" ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, format);
    if serde::Serialize::serialize(rows, &mut serializer).is_err() {
        text.clear();
    }
    text.push(b'\n');
    text
}
