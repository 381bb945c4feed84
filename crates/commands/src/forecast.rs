//! What an offer, or a machine that is described, would prove per hour: before it is rented.

use dwell_bench::calibrate::{Estimate, Observed, estimate};
use dwell_bench::cards::model_of;
use dwell_bench::predict::{HostFigures, Prediction, predict};
use dwell_clients::{ManagerClient, VastOffer};
use dwell_history::{History, RateRecord};
use dwell_wire::HostPerf;

use crate::settings::Folder;
use crate::{ApiError, ErrorCode};

/// Benchmark rates that are looked at, newest first.
const RATES_MAX: usize = 2_000;

/// vast.ai counts hardware threads; the model counts cores.
const THREADS_A_CORE: f64 = 2.0;
/// The operator's MB are thousands; the model's GiB are not.
const MB_IN_GIB: f64 = 1_073.741_824;

/// A machine, as a person describes it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Described {
    /// Card model.
    pub gpu: String,
    /// Cards.
    pub cards: u32,
    /// Pinned copies to a card, GB/s.
    pub pcie_gb_s: f64,
    /// Host memory, GiB.
    pub memory_gib: Option<f64>,
    /// Physical cores.
    pub cores: Option<f64>,
    /// Host memory bandwidth, GB/s.
    pub memory_gb_s: Option<f64>,
}

/// This machine, as far as it tells: its memory and its cores.
pub fn this_host() -> HostFigures {
    let system = sysinfo::System::new_with_specifics(
        sysinfo::RefreshKind::nothing().with_memory(sysinfo::MemoryRefreshKind::nothing().with_ram()),
    );
    let gib = system.total_memory() as f64 / 1_073_741_824.0;
    HostFigures {
        memory_gib: (gib > 0.0).then_some(gib),
        cores: sysinfo::System::physical_core_count().map(|cores| cores as f64),
        memory_gb_s: None,
        core_speed: None,
    }
}

/// What a machine would prove per hour.
pub fn forecast(machine: &Described) -> Result<Prediction, ApiError> {
    let model = model_of(&machine.gpu).ok_or_else(|| {
        let known: Vec<&str> = dwell_bench::cards::MODELS.iter().map(|model| model.name).collect();
        ApiError::new(ErrorCode::UnknownCard, format!("no model of card is called {:?}", machine.gpu))
            .hint(format!("known: {}", known.join(", ")))
    })?;
    let host =
        HostFigures { memory_gib: machine.memory_gib, cores: machine.cores, memory_gb_s: machine.memory_gb_s, core_speed: None };
    predict(&model.expected(machine.pcie_gb_s), machine.cards, &host)
        .ok_or_else(|| ApiError::new(ErrorCode::BadRequest, "these figures make no sense: each must be above 0"))
}

/// What an offer would prove per hour; `None` where it does not tell enough: the card, or how fast it is fed.
pub fn forecast_offer(offer: &VastOffer) -> Option<Prediction> {
    let share = offer.share.unwrap_or(1.0);
    let machine = Described {
        gpu: offer.gpu_name.clone()?,
        cards: u32::try_from(offer.num_gpus?).ok()?,
        pcie_gb_s: offer.pcie_gb_s?,
        memory_gib: offer.cpu_ram_mb.map(|mb| mb * share / MB_IN_GIB),
        cores: offer.cpu_threads.map(|threads| threads / THREADS_A_CORE),
        memory_gb_s: None,
    };
    forecast(&machine).ok()
}

/// What an offer would prove by the best that is known: its machine's own benchmarks, those of the same cards, the model.
pub fn estimate_offer(offer: &VastOffer, model: Option<&Prediction>, observed: &[Observed]) -> Option<Estimate> {
    let cards = u32::try_from(offer.num_gpus?).ok()?;
    estimate(offer.machine_id, offer.gpu_name.as_deref()?, cards, model, observed)
}

/// Rates that the operator's machines have reported: those in history, and for machines that history does not know the best
/// that the manager remembers. What cannot be read is left out.
pub async fn observed_rates(folder: &Folder, manager: Option<&ManagerClient>) -> Vec<Observed> {
    let path = folder.history();
    let kept = tokio::task::spawn_blocking(move || {
        // Looking makes no file.
        if !path.exists() {
            return Vec::new();
        }
        History::open(&path).and_then(|history| history.bench_rates(false, RATES_MAX)).unwrap_or_default()
    });
    let mut rates: Vec<Observed> = kept.await.unwrap_or_default().into_iter().map(observed).collect();
    let Some(manager) = manager else { return rates };
    let known: std::collections::HashSet<u64> = rates.iter().filter_map(|it| it.machine).collect();
    let told = manager.host_perf().await.unwrap_or_default();
    let unknown = |it: &Observed| it.machine.is_some_and(|machine| !known.contains(&machine));
    rates.extend(told.into_iter().filter_map(remembered).filter(unknown));
    rates
}

/// A rate of history.
pub(crate) fn observed(record: RateRecord) -> Observed {
    Observed {
        machine: record.machine.map(|machine| machine.0),
        gpu: record.gpu_name,
        cards: u32::try_from(record.num_gpus).unwrap_or(u32::MAX),
        proofs_per_h: record.proofs_per_h,
    }
}

/// The best rate that the manager remembers of a machine.
pub(crate) fn remembered(rate: HostPerf) -> Option<Observed> {
    Some(Observed {
        machine: rate.machine_id,
        gpu: rate.gpu_name?,
        cards: u32::try_from(rate.num_gpus.unwrap_or(1)).ok()?,
        proofs_per_h: rate.bench_rate.filter(|rate| *rate > 0.0)?,
    })
}
