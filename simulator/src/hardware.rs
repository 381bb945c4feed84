//! Machines that can be rented: cards, memory, lines, prices. Figures are those of listed rental machines of 2025-26;
//! they set the scene, no measurement rests on them.

use std::collections::BTreeMap;

use crate::dice::{Dice, wobble};

/// A card model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Card {
    /// As vast.ai names it.
    pub(crate) name: &'static str,
    /// Memory, MiB.
    pub(crate) memory_mib: u64,
    /// Memory bandwidth, GB/s.
    pub(crate) bandwidth_gb_s: f64,
    /// Time of a proof relative to an RTX 3090 in the same machine.
    pub(crate) proof_factor: f64,
    /// Usual price of one, dollars per hour.
    pub(crate) dollars_per_h: f64,
    /// Compute capability times 100, as vast.ai gives it: 860 is sm_86.
    pub(crate) compute_cap: u32,
}

const fn card_model(
    name: &'static str,
    memory_mib: u64,
    bandwidth_gb_s: f64,
    proof_factor: f64,
    dollars_per_h: f64,
    compute_cap: u32,
) -> Card {
    Card { name, memory_mib, bandwidth_gb_s, proof_factor, dollars_per_h, compute_cap }
}

/// Card models; the market draws from the first [`COMMON_CARDS`], a scenario can name any.
pub(crate) const CARDS: [Card; 8] = [
    card_model("RTX 3090", 24_576, 868.2, 1.0, 0.31, 860),
    card_model("RTX 4090", 24_564, 918.0, 0.86, 0.38, 890),
    card_model("RTX 5000Ada", 32_760, 530.4, 0.95, 0.45, 890),
    card_model("RTX 5090", 32_607, 1536.0, 0.75, 0.52, 1200),
    card_model("RTX A6000", 49_140, 672.0, 1.02, 0.47, 860),
    card_model("Q RTX 8000", 46_080, 624.0, 1.35, 0.28, 750),
    card_model("H100 PCIE", 81_559, 1920.0, 0.7, 1.75, 900),
    card_model("RTX 4070S Ti", 16_376, 640.0, 1.1, 0.16, 890),
];
const COMMON_CARDS: usize = 5;

pub(crate) const REGIONS: [&str; 6] = ["Norway, NO", "Quebec, CA", "Texas, US", "United Kingdom, GB", "Sweden, SE", "Poland, PL"];

/// A machine that its host offers, with what it is made of. What faults do to it is in `conditions`.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    pub(crate) host_id: u64,
    pub(crate) machine_id: u64,
    pub(crate) offer_id: u64,
    pub(crate) card: Card,
    pub(crate) cards: u64,
    pub(crate) region: String,
    /// Memory of the whole host, MiB.
    pub(crate) ram_mib: f64,
    pub(crate) down_mbps: f64,
    pub(crate) up_mbps: f64,
    pub(crate) dollars_per_h: f64,
    pub(crate) reliability: f64,
    pub(crate) public_ip: String,
    pub(crate) ssh_port: u64,
    pub(crate) disk_gb: f64,
    /// Sequential reads, MB/s.
    pub(crate) disk_mb_s: f64,
    /// Pinned host-to-device copies, GB/s.
    pub(crate) pcie_gb_s: f64,
    pub(crate) cores: u32,
    pub(crate) cpu_name: &'static str,
    /// What the host has pulled before: image reference and index of the image that it holds under it.
    pub(crate) images: BTreeMap<String, usize>,
    /// The instance that has it now.
    pub(crate) tenant: Option<usize>,
    /// Faults that struck this machine: the next tenant meets them too.
    pub(crate) faults: Vec<usize>,
}

impl Machine {
    /// The `index`-th machine of the market, with a card and region of its own dice where none is asked for.
    pub(crate) fn draw(dice: &mut Dice, index: u64, card: Option<Card>, region: Option<&str>) -> Self {
        let card = card.unwrap_or_else(|| CARDS[dice.below(COMMON_CARDS)]);
        let region = region.map_or_else(|| REGIONS[dice.below(REGIONS.len())].to_owned(), str::to_owned);
        let ram_gib = [192.0, 256.0, 256.0, 384.0, 512.0][dice.below(5)];
        let down_mbps = dice.between(500.0, 2_400.0).round();
        let machine_id = 40_100 + index;
        let (cores, cpu_name) = [
            (64, "AMD EPYC 7543 32-Core Processor"),
            (96, "AMD EPYC 7643 48-Core Processor"),
            (48, "AMD EPYC 7402 24-Core Processor"),
        ][(wobble(machine_id, 11) * 3.0) as usize];
        Self {
            host_id: 90_100 + index % 7_000,
            machine_id,
            offer_id: 7_000_000 + index,
            card,
            cards: 1,
            region,
            ram_mib: (ram_gib * 1007.0_f64).round(),
            down_mbps,
            up_mbps: (down_mbps * dice.between(0.5, 0.9)).round(),
            dollars_per_h: (card.dollars_per_h * dice.between(0.9, 1.25) * 100.0).round() / 100.0,
            reliability: (dice.between(0.96, 0.9995) * 10_000.0).round() / 10_000.0,
            // TEST-NET-1, -2 and -3: addresses that belong to nobody (RFC 5737).
            public_ip: format!("{}.{}", ["192.0.2", "198.51.100", "203.0.113"][(index / 250 % 3) as usize], index % 250 + 1),
            ssh_port: 40_022 + index % 20_000,
            disk_gb: 250.0,
            disk_mb_s: 900.0 + (wobble(machine_id, 12) * 2_400.0).round(),
            pcie_gb_s: 20.0 + (wobble(machine_id, 13) * 60.0).round() / 10.0,
            cores,
            cpu_name,
            images: BTreeMap::new(),
            tenant: None,
            faults: Vec::new(),
        }
    }

    /// Seconds that one proof takes with `gib` of memory for it: 38 to 152 s, by memory first and card second (the failure
    /// document's range; interpolated between 128, 256 and 512 GiB).
    pub(crate) fn proof_s(&self, gib: f64) -> f64 {
        let by_memory = if gib <= 256.0 {
            152.0 - (gib.max(128.0) - 128.0) / 128.0 * 51.0
        } else {
            101.0 - (gib.min(512.0) - 256.0) / 256.0 * 63.0
        };
        (by_memory * self.card.proof_factor).clamp(38.0, 152.0)
    }
}
