//! Offers of the market.

use dwell_fleet::Timestamp;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

dto! {
    /// What an image needs of a machine; a field that is not given is not asked for.
    Needs {
        /// Memory of one card, GB: more than that.
        #[serde(default)]
        gpu_ram_gb: Option<f64>,
        /// Memory of the rented share of the host, GB.
        #[serde(default)]
        ram_gb: Option<f64>,
        /// Hardware threads: more than that.
        #[serde(default)]
        cpu_threads: Option<f64>,
        /// Download, Mbit/s: more than that.
        #[serde(default)]
        inet_down_mbps: Option<f64>,
        /// CUDA that its driver has to support.
        #[serde(default)]
        cuda: Option<f64>,
        /// Oldest driver, e.g. `570.133`.
        #[serde(default)]
        driver: Option<String>,
        /// Compute capabilities that the image was built for, times 100: 860 is sm_86. Empty: all.
        #[serde(default)]
        compute_caps: Vec<u64>,
    }

    /// Asks for offers.
    OffersRequest {
        /// Filters in the language of vast.ai's own client, e.g. `gpu_name=RTX_4090 dph<=0.5`, instead of those that follow from
        /// the needs.
        #[serde(default)]
        filter: Option<String>,
        /// Card model.
        #[serde(default)]
        gpu: Option<String>,
        /// Exactly so many cards.
        #[serde(default)]
        cards: Option<u64>,
        /// Highest price, US dollars per hour.
        #[serde(default)]
        dollars_per_h_max: Option<f64>,
        /// Disk, GB; the price includes it. 250 where not given.
        #[serde(default)]
        disk_gb: Option<f64>,
        /// What the image needs; what the manager itself asks for where not given.
        #[serde(default)]
        needs: Option<Needs>,
        /// Offers that do not fit the needs are asked for as well, and told with why.
        #[serde(default)]
        all: bool,
        /// At most so many; 64 where not given.
        #[serde(default)]
        limit: Option<u32>,
    }

    /// Offers, and what is known of each.
    OffersView {
        /// Who was asked: `vast.ai` or `manager`.
        source: String,
        /// With which filters.
        filter: String,
        /// Disk that the prices include, GB; `null` where the manager's own counts.
        disk_gb: Option<f64>,
        /// What the image needs.
        needs: Needs,
        /// Those that can work, cheapest proofs first; then the others.
        offers: Vec<OfferView>,
        /// What could not be asked.
        notes: Vec<String>,
        /// When they were asked for, on the operator's clock.
        #[ts(type = "string")]
        at: Timestamp,
    }

    /// An offer. `null`: not told.
    OfferView {
        /// Number to rent it by; good for minutes.
        id: u64,
        /// Machine.
        machine_id: Option<u64>,
        /// Host.
        host_id: Option<u64>,
        /// Card model.
        gpu_name: Option<String>,
        /// Cards.
        num_gpus: Option<u64>,
        /// Memory of one card, GB.
        gpu_ram_gb: Option<f64>,
        /// Memory of the offered share of the host, GB.
        ram_gb: Option<f64>,
        /// Hardware threads.
        cpu_threads: Option<f64>,
        /// Copies to the card as vast.ai measured them, GB/s.
        pcie_gb_s: Option<f64>,
        /// Download, Mbit/s.
        inet_down_mbps: Option<f64>,
        /// Newest CUDA that its driver supports.
        cuda_max: Option<f64>,
        /// Compute capability times 100.
        compute_cap: Option<u64>,
        /// Driver.
        driver_version: Option<String>,
        /// Place.
        geolocation: Option<String>,
        /// Price, US dollars per hour.
        dollars_per_h: Option<f64>,
        /// Time left for which it is offered, seconds.
        lasts_s: Option<f64>,
        /// Share of time that it was up, 0 to 1.
        reliability: Option<f64>,
        /// What it would prove, proofs per hour.
        proofs_per_h: Option<f64>,
        /// From.
        proofs_per_h_least: Option<f64>,
        /// To.
        proofs_per_h_most: Option<f64>,
        /// What that rests on: `machine`, `same-cards` or `model`.
        basis: Option<String>,
        /// The same in words.
        basis_words: Option<String>,
        /// What limits it, by the model.
        limited_by: Option<String>,
        /// Price of a proof, US dollars.
        dollars_per_proof: Option<f64>,
        /// Median time from the rental to `running`, seconds; the first proof itself is told by nobody.
        until_running_s: Option<f64>,
        /// What that rests on.
        until_running_of: Option<String>,
        /// What the time until then costs, US dollars.
        dollars_before_running: Option<f64>,
        /// Rentals of this machine that were watched.
        rented_before: usize,
        /// Of these: proved.
        proved_before: usize,
        /// Of these: were flagged as stuck.
        stuck_before: usize,
        /// Why the manager's list of bad hosts has it.
        banned: Option<String>,
        /// Why it cannot work; empty: nothing speaks against it.
        why_not: Vec<String>,
    }
}
