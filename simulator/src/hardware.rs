//! Machines that can be rented: cards, memory, lines, prices. Figures are those of listed rental machines of 2025-26;
//! they set the scene, no measurement rests on them.

use crate::dice::Dice;

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
}

pub(crate) const CARDS: [Card; 5] = [
    Card { name: "RTX 3090", memory_mib: 24_576, bandwidth_gb_s: 868.2, proof_factor: 1.0, dollars_per_h: 0.31 },
    Card { name: "RTX 4090", memory_mib: 24_564, bandwidth_gb_s: 918.0, proof_factor: 0.86, dollars_per_h: 0.38 },
    Card { name: "RTX 5000Ada", memory_mib: 32_760, bandwidth_gb_s: 530.4, proof_factor: 0.95, dollars_per_h: 0.45 },
    Card { name: "RTX 5090", memory_mib: 32_607, bandwidth_gb_s: 1536.0, proof_factor: 0.75, dollars_per_h: 0.52 },
    Card { name: "RTX A6000", memory_mib: 49_140, bandwidth_gb_s: 672.0, proof_factor: 1.02, dollars_per_h: 0.47 },
];

pub(crate) const REGIONS: [&str; 6] = ["Norway, NO", "Quebec, CA", "Texas, US", "United Kingdom, GB", "Sweden, SE", "Poland, PL"];

/// A machine with its rented share.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    pub(crate) host_id: u64,
    pub(crate) machine_id: u64,
    pub(crate) card: Card,
    pub(crate) cards: u64,
    pub(crate) region: String,
    pub(crate) ram_mib: f64,
    pub(crate) down_mbps: f64,
    pub(crate) up_mbps: f64,
    pub(crate) dollars_per_h: f64,
    pub(crate) reliability: f64,
    pub(crate) public_ip: String,
    pub(crate) ssh_port: u64,
    pub(crate) disk_gb: f64,
}

impl Machine {
    /// The `index`-th machine of the market, with a card and region of its own dice where none is asked for.
    pub(crate) fn draw(dice: &mut Dice, index: u64, card: Option<Card>, region: Option<&str>) -> Self {
        let card = card.unwrap_or_else(|| CARDS[dice.below(CARDS.len())]);
        let region = region.map_or_else(|| REGIONS[dice.below(REGIONS.len())].to_owned(), str::to_owned);
        let ram_gib = [192.0, 256.0, 256.0, 384.0, 512.0][dice.below(5)];
        let down_mbps = dice.between(500.0, 2_400.0).round();
        Self {
            host_id: 90_100 + index % 7_000,
            machine_id: 40_100 + index,
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
        }
    }

    /// Seconds that one proof takes here: 38 to 152 s, by memory first and card second (the failure document's range;
    /// interpolated between 128, 256 and 512 GiB).
    pub(crate) fn proof_s(&self) -> f64 {
        let gib = self.ram_mib / 1024.0;
        let by_memory = if gib <= 256.0 {
            152.0 - (gib.max(128.0) - 128.0) / 128.0 * 51.0
        } else {
            101.0 - (gib.min(512.0) - 256.0) / 256.0 * 63.0
        };
        (by_memory * self.card.proof_factor).clamp(38.0, 152.0)
    }
}
