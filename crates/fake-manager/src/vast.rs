//! vast.ai's records as the manager reads them from its client's output.

use crate::go_json::{Kind, Struct, Typed};

static PORT_BINDING: Struct = Struct {
    type_name: "main.PortBinding",
    name: "PortBinding",
    fields: &[("HostIp", Kind::String), ("HostPort", Kind::String)],
};
static BINDING: Kind = Kind::Struct(&PORT_BINDING);
static BINDINGS: Kind = Kind::Slice(&BINDING, "[]main.PortBinding");

static VAST_INSTANCE: Struct = Struct {
    type_name: "main.VastInstance",
    name: "VastInstance",
    fields: &[
        ("id", Kind::Int),
        ("label", Kind::String),
        ("machine_id", Kind::Int),
        ("host_id", Kind::Int),
        ("actual_status", Kind::String),
        ("start_date", Kind::Float),
        ("gpu_name", Kind::String),
        ("num_gpus", Kind::Int),
        ("dph_total", Kind::Float),
        ("dph_base", Kind::Float),
        ("cpu_name", Kind::String),
        ("cpu_ram", Kind::Int),
        ("geolocation", Kind::String),
        ("country_code", Kind::String),
        ("inet_down", Kind::Float),
        ("inet_up", Kind::Float),
        ("gpu_util", Kind::Float),
        ("gpu_temp", Kind::Float),
        ("gpu_totalram", Kind::Int),
        ("gpu_mem_bw", Kind::Float),
        ("disk_space", Kind::Float),
        ("disk_usage", Kind::Float),
        ("cuda_max_good", Kind::Float),
        ("driver_version", Kind::String),
        ("public_ipaddr", Kind::String),
        ("ports", Kind::Map(&BINDINGS, "map[string][]main.PortBinding")),
        ("mem_usage", Kind::Float),
        ("mem_limit", Kind::Float),
        ("cpu_util", Kind::Float),
        ("reliability2", Kind::Float),
        ("duration", Kind::Float),
        ("gpu_frac", Kind::Float),
        ("status_msg", Kind::String),
    ],
};
static INSTANCE: Kind = Kind::Struct(&VAST_INSTANCE);
/// What `show instances --raw` must be.
pub(crate) static INSTANCES: Kind = Kind::Slice(&INSTANCE, "[]main.VastInstance");

static VAST_OFFER: Struct = Struct {
    type_name: "main.VastOffer",
    name: "VastOffer",
    fields: &[
        ("id", Kind::Int),
        ("host_id", Kind::Int),
        ("machine_id", Kind::Int),
        ("gpu_name", Kind::String),
        ("num_gpus", Kind::Int),
        ("gpu_ram", Kind::Int),
        ("gpu_total_ram", Kind::Int),
        ("gpu_mem_bw", Kind::Float),
        ("gpu_lanes", Kind::Int),
        ("cpu_ram", Kind::Int),
        ("cpu_cores", Kind::Int),
        ("cpu_cores_effective", Kind::Float),
        ("cpu_name", Kind::String),
        ("cpu_ghz", Kind::Float),
        ("dph_base", Kind::Float),
        ("dph_total", Kind::Float),
        ("disk_space", Kind::Float),
        ("disk_bw", Kind::Float),
        ("inet_down", Kind::Float),
        ("inet_up", Kind::Float),
        ("geolocation", Kind::String),
        ("country_code", Kind::String),
        ("cuda_max_good", Kind::Float),
        ("reliability2", Kind::Float),
        ("dlperf", Kind::Float),
        ("compute_cap", Kind::Int),
        ("pcie_bw", Kind::Float),
        ("host_run_time", Kind::Float),
    ],
};
static OFFER: Kind = Kind::Struct(&VAST_OFFER);
/// What `search offers --raw` must be.
pub(crate) static OFFERS: Kind = Kind::Slice(&OFFER, "[]main.VastOffer");

/// One record of vast.ai's list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct VastInstance(pub(crate) Typed);

impl VastInstance {
    pub(crate) fn int(&self, name: &str) -> i64 {
        self.0.int(name)
    }

    pub(crate) fn float(&self, name: &str) -> f64 {
        self.0.float(name)
    }

    pub(crate) fn string(&self, name: &str) -> &str {
        self.0.string(name)
    }

    /// The command that reaches it; empty without an address or without a port that leads to its port 22.
    pub(crate) fn ssh_cmd(&self) -> String {
        let address = self.string("public_ipaddr");
        let binding = self.0.entry("ports", "22/tcp").and_then(|bindings| bindings.elements().first());
        match binding.map(|binding| binding.string("HostPort")) {
            Some(port) if !port.is_empty() && !address.is_empty() => format!("ssh -p {port} root@{address}"),
            _ => String::new(),
        }
    }
}

/// The number in a label `C.<number>`.
pub(crate) fn id_in_label(label: &str) -> Option<i64> {
    crate::go_text::atoi(label.strip_prefix("C.")?)
}
