//! Offers, and what is known of each: what it would prove and by what, what that costs, how long until it does, how its machine did
//! before, and what speaks against it.

use std::collections::HashMap;

use dwell_bench::calibrate::{Basis, Observed};
use dwell_bench::cards::name_at_vast;
use dwell_clients::{FetchError, ManagerClient, OfferQuery, VastClient, VastOffer};
use dwell_fleet::over_time::By;
use dwell_fleet::{Life, MachineId, Stay, Survival, Timestamp, shift};
use dwell_history::MachinePast;

use crate::ApiError;
use crate::charts::Source;
use crate::dto::*;
use crate::forecast::{estimate_offer, forecast_offer, observed, observed_rates, remembered};
use crate::settings::Folder;

/// Disk, GB, where none is asked for: as the manager asks for.
pub(crate) const DISK_GB: f64 = 250.0;
/// Offers where no number is named, and at most.
const OFFERS_ORDINARY: u32 = 64;
const OFFERS_MOST: u32 = 500;
/// Benchmark rates that are looked at, newest first.
const RATES_MAX: usize = 2_000;
/// How far back rentals tell how long it takes until they prove, seconds.
const BACK_S: f64 = 90.0 * 86_400.0;
/// So many rentals tell a median.
const MEDIAN_OF: usize = 3;
const MB_A_GB: f64 = 1_000.0;

/// What the manager itself asks for where it is given no filter (its `/api/offers`).
pub fn managers_needs() -> Needs {
    Needs {
        gpu_ram_gb: Some(12.5),
        ram_gb: Some(240.0),
        cpu_threads: Some(25.0),
        inet_down_mbps: Some(100.0),
        cuda: Some(13.0),
        driver: None,
        compute_caps: Vec::new(),
    }
}

/// Offers of an account, without any manager: by benchmark rates that history has, and by the model.
pub async fn offers_of_account(folder: &Folder, client: &VastClient, request: &OffersRequest) -> Result<OffersView, ApiError> {
    let market = market(None, Some(client), request).await?;
    let past = Past { rates: observed_rates(folder, None).await, ..Past::default() };
    Ok(view(market, &past, request, crate::now()))
}

/// A median and how many it is of.
type Median = (f64, usize);

/// What was watched, as far as it tells of offers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Past {
    rates: Vec<Observed>,
    machines: HashMap<MachineId, MachinePast>,
    by_machine: HashMap<MachineId, Median>,
    by_gpu: HashMap<String, Median>,
    all: Option<Median>,
}

/// Reads it.
pub(crate) fn past(source: &Source<'_>) -> Result<Past, ApiError> {
    let lives = source.history.lives(source.fleet, shift(source.now, -BACK_S), source.now)?;
    let rates = source.history.bench_rates(source.simulated, RATES_MAX)?;
    Ok(Past {
        rates: rates.into_iter().map(observed).collect(),
        machines: source.history.machines(source.simulated)?,
        by_machine: medians(&lives, |life| life.machine),
        by_gpu: medians(&lives, |life| life.gpu.as_ref().map(|_| By::Gpu.group(life))),
        all: medians(&lives, |_| Some(())).into_values().next(),
    })
}

/// Median times from the rental to `running`, of groups with enough of them.
fn medians<G: std::hash::Hash + Eq>(lives: &[Life], group: impl Fn(&Life) -> Option<G>) -> HashMap<G, Median> {
    let mut stays: HashMap<G, Vec<Stay>> = HashMap::new();
    for life in lives {
        if let (Some(group), Some((_, stay))) = (group(life), life.until_running()) {
            stays.entry(group).or_default().push(stay);
        }
    }
    let median = |stays: &[Stay]| Survival::estimate(stays).quantile_s(0.5);
    stays
        .into_iter()
        .filter(|(_, stays)| stays.len() >= MEDIAN_OF)
        .filter_map(|(group, stays)| Some((group, (median(&stays)?, stays.len()))))
        .collect()
}

impl Past {
    fn until_running(&self, offer: &VastOffer) -> Option<(f64, String)> {
        let machine = offer.machine_id.and_then(|id| self.by_machine.get(&MachineId(id)));
        if let Some((median, count)) = machine {
            return Some((*median, format!("{count} rentals of this machine")));
        }
        let facts = dwell_fleet::VastFacts {
            gpu_name: offer.gpu_name.clone(),
            num_gpus: offer.num_gpus,
            ..dwell_fleet::VastFacts::default()
        };
        if let Some((median, count)) = facts.gpu_kind().and_then(|gpu| self.by_gpu.get(&gpu)) {
            return Some((*median, format!("{count} rentals with this card")));
        }
        self.all.map(|(median, count)| (median, format!("{count} rentals of this fleet, whatever the card")))
    }
}

/// What the market and the manager answered.
#[derive(Debug, Clone)]
pub(crate) struct Market {
    source: &'static str,
    filter: String,
    offers: Vec<VastOffer>,
    remembered: Vec<Observed>,
    banned: HashMap<u64, String>,
    notes: Vec<String>,
}

fn filter_of(request: &OffersRequest, needs: &Needs) -> String {
    if let Some(filter) = request.filter.as_deref().map(str::trim).filter(|filter| !filter.is_empty()) {
        return filter.to_owned();
    }
    let mut terms = vec![format!("disk_space>={}", request.disk_gb.unwrap_or(DISK_GB))];
    if let Some(gpu) = &request.gpu {
        terms.push(format!("gpu_name={}", name_at_vast(gpu).replace(' ', "_")));
    }
    terms.extend(request.cards.map(|cards| format!("num_gpus={cards}")));
    terms.extend(request.dollars_per_h_max.map(|dollars| format!("dph<={dollars}")));
    if !request.all {
        terms.extend(needs.gpu_ram_gb.map(|gb| format!("gpu_ram>{gb}")));
        terms.extend(needs.ram_gb.map(|gb| format!("cpu_ram>={gb}")));
        terms.extend(needs.cpu_threads.map(|count| format!("cpu_cores>{count}")));
        terms.extend(needs.inet_down_mbps.map(|rate| format!("inet_down>{rate}")));
        terms.extend(needs.cuda.map(|cuda| format!("cuda_vers>={cuda:?}")));
    }
    terms.join(" ")
}

/// Asks for offers: vast.ai itself where a key can be had, else the manager; and the manager for what it knows of machines.
pub(crate) async fn market(
    manager: Option<&ManagerClient>,
    vast: Option<&VastClient>,
    request: &OffersRequest,
) -> Result<Market, ApiError> {
    checked(request)?;
    let needs = request.needs.clone().unwrap_or_else(managers_needs);
    let filter = filter_of(request, &needs);
    let limit = request.limit.unwrap_or(OFFERS_ORDINARY).clamp(1, OFFERS_MOST) as usize;
    // Read here as well: what cannot be read ends as an obscure failure of the manager's client.
    let read = dwell_wire::offer_filters(&filter, dwell_wire::offer_defaults());
    let read = read.map_err(|why| {
        ApiError::new(ErrorCode::BadFilter, why).hint("fields and operators are those of: vastai search offers --help")
    })?;
    let unknown = |field: &String| format!("vast.ai's client knows no field {field:?}: the filter may find nothing by it");
    let mut notes: Vec<String> = read.unknown_fields.iter().map(unknown).collect();
    let (mut remembered_rates, mut banned) = (Vec::new(), HashMap::new());
    if let Some(manager) = manager {
        let mut note = |what: &str, error: &FetchError| notes.push(format!("{what} could not be read: {}", error.message));
        match manager.host_perf().await {
            Ok(rates) => remembered_rates = rates.into_iter().filter_map(remembered).collect(),
            Err(error) => note("the manager's known rates", &error),
        }
        match manager.bad_hosts().await {
            Ok(hosts) => {
                let entry = |host: dwell_wire::BadHostEntry| {
                    Some((host.machine_id?.trim().parse().ok()?, host.reason.unwrap_or_default()))
                };
                banned = hosts.into_iter().filter_map(entry).collect();
            }
            Err(error) => note("the manager's list of bad hosts", &error),
        }
    } else {
        notes.push("no manager was asked: its known rates and bad hosts are not in this".to_owned());
    }
    let (source, offers) = match (vast, manager) {
        (Some(client), _) => {
            let disk_gb = request.disk_gb.unwrap_or(DISK_GB);
            let query = OfferQuery { filter: Some(filter.clone()), disk_gb, limit, ..OfferQuery::default() };
            ("vast.ai", client.offers(&query).await?)
        }
        (None, Some(manager)) => {
            let told = manager.offers(Some(&filter)).await?;
            let read = |offer: dwell_wire::Offer| VastOffer::read(&serde_json::to_value(offer).ok()?);
            let mut offers: Vec<VastOffer> = told.offers.into_iter().filter_map(read).collect();
            offers.sort_by(|one, other| dear(one.dollars_per_h).total_cmp(&dear(other.dollars_per_h)));
            if offers.len() > limit {
                notes.push(format!("{} offers came; the {limit} cheapest are told", offers.len()));
                offers.truncate(limit);
            }
            ("manager", offers)
        }
        (None, None) => {
            return Err(ApiError::new(ErrorCode::NobodyToAsk, "there is neither a manager nor a key of vast.ai")
                .hint("connect to a manager, or: dwellctl keys add NAME"));
        }
    };
    Ok(Market { source, filter, offers, remembered: remembered_rates, banned, notes })
}

fn dear(value: Option<f64>) -> f64 {
    value.unwrap_or(f64::MAX)
}

/// Offers with what is known of them.
pub(crate) fn view(market: Market, past: &Past, request: &OffersRequest, at: Timestamp) -> OffersView {
    let needs = request.needs.clone().unwrap_or_else(managers_needs);
    // What history knows of a machine comes before what the manager remembers of it: the latest, not the best.
    let known: std::collections::HashSet<u64> = past.rates.iter().filter_map(|it| it.machine).collect();
    let mut rates = past.rates.clone();
    rates.extend(market.remembered.into_iter().filter(|it| it.machine.is_none_or(|machine| !known.contains(&machine))));
    let mut offers: Vec<OfferView> = market
        .offers
        .iter()
        .map(|offer| {
            let banned = offer.machine_id.and_then(|machine| market.banned.get(&machine).cloned());
            told(offer, past, &rates, &needs, request.disk_gb.unwrap_or(DISK_GB), banned)
        })
        .collect();
    offers.sort_by(|one, other| {
        let order = |it: &OfferView| (!it.why_not.is_empty(), it.dollars_per_proof.is_none());
        order(one)
            .cmp(&order(other))
            .then(dear(one.dollars_per_proof).total_cmp(&dear(other.dollars_per_proof)))
            .then(dear(one.dollars_per_h).total_cmp(&dear(other.dollars_per_h)))
            .then(one.id.cmp(&other.id))
    });
    OffersView {
        source: market.source.to_owned(),
        filter: market.filter,
        disk_gb: (market.source == "vast.ai").then(|| request.disk_gb.unwrap_or(DISK_GB)),
        needs,
        offers,
        notes: market.notes,
        at,
    }
}

fn told(offer: &VastOffer, past: &Past, rates: &[Observed], needs: &Needs, disk_gb: f64, banned: Option<String>) -> OfferView {
    let model = forecast_offer(offer);
    let estimate = estimate_offer(offer, model.as_ref(), rates);
    let until = past.until_running(offer);
    let machine = offer.machine_id.and_then(|id| past.machines.get(&MachineId(id))).copied().unwrap_or_default();
    OfferView {
        id: offer.id,
        machine_id: offer.machine_id,
        host_id: offer.host_id,
        gpu_name: offer.gpu_name.clone(),
        num_gpus: offer.num_gpus,
        gpu_ram_gb: offer.gpu_ram_mb.map(|mb| mb / MB_A_GB),
        ram_gb: ram_gb(offer),
        cpu_threads: offer.cpu_threads,
        pcie_gb_s: offer.pcie_gb_s,
        inet_down_mbps: offer.inet_down_mbps,
        cuda_max: offer.cuda_max,
        compute_cap: offer.compute_cap,
        driver_version: offer.driver_version.clone(),
        geolocation: offer.geolocation.clone(),
        dollars_per_h: offer.dollars_per_h,
        lasts_s: offer.lasts_s,
        reliability: offer.reliability,
        proofs_per_h: estimate.map(|it| it.proofs_per_h),
        proofs_per_h_least: estimate.map(|it| it.least),
        proofs_per_h_most: estimate.map(|it| it.most),
        basis: estimate.map(|it| {
            match it.basis {
                Basis::Machine => "machine",
                Basis::SameCards => "same-cards",
                Basis::Model => "model",
            }
            .to_owned()
        }),
        basis_words: estimate.map(|it| it.words()),
        limited_by: model.map(|it| it.limit.as_str().to_owned()),
        dollars_per_proof: estimate.and_then(|it| Some(offer.dollars_per_h? / it.proofs_per_h)),
        dollars_before_running: until.as_ref().and_then(|(seconds, _)| Some(offer.dollars_per_h? * seconds / 3_600.0)),
        until_running_s: until.as_ref().map(|(seconds, _)| *seconds),
        until_running_of: until.map(|(_, of)| of),
        rented_before: machine.rented,
        proved_before: machine.got_running,
        stuck_before: machine.flagged,
        why_not: why_not(offer, needs, disk_gb, banned.as_deref()),
        banned,
    }
}

fn ram_gb(offer: &VastOffer) -> Option<f64> {
    offer.cpu_ram_mb.map(|mb| mb * offer.share.unwrap_or(1.0) / MB_A_GB)
}

/// Why an offer without a price is not rented.
pub(crate) const NO_PRICE: &str = "no price above 0 is told: it could cost anything";

/// Refuses numbers of a request that are none, or below 0. `Ok` where it has none of them.
fn checked(request: &OffersRequest) -> Result<(), ApiError> {
    let needs = request.needs.as_ref();
    let numbers = [
        ("the highest price", request.dollars_per_h_max),
        ("the disk", request.disk_gb),
        ("the memory of the card", needs.and_then(|it| it.gpu_ram_gb)),
        ("the memory", needs.and_then(|it| it.ram_gb)),
        ("the threads", needs.and_then(|it| it.cpu_threads)),
        ("the download", needs.and_then(|it| it.inet_down_mbps)),
        ("the version of CUDA", needs.and_then(|it| it.cuda)),
    ];
    match numbers.into_iter().find_map(|(what, value)| Some((what, value.filter(|it| !(it.is_finite() && *it >= 0.0))?))) {
        Some((what, value)) => {
            Err(ApiError::new(ErrorCode::BadRequest, format!("{what} is a number from 0 up, and not {value}")))
        }
        None => Ok(()),
    }
}

/// What keeps it from working. What is not told speaks against nothing, but for the price.
fn why_not(offer: &VastOffer, needs: &Needs, disk_gb: f64, banned: Option<&str>) -> Vec<String> {
    let mut why = Vec::new();
    if !offer.dollars_per_h.is_some_and(crate::act::rollout::is_price) {
        why.push(NO_PRICE.to_owned());
    }
    if let Some(reason) = banned {
        let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        why.push(format!("on the manager's list of bad hosts{reason}; it would be destroyed within a minute"));
    }
    // vast.ai tells 12,282 MB of a card of 12 GB and 257,770 of a host of 256: the limits are as its own client compares them.
    let mut less = |what: &str, unit: &str, has: Option<f64>, needed: Option<f64>, strictly: bool| {
        if let (Some(has), Some(needed)) = (has, needed)
            && (has < needed || (strictly && has == needed))
        {
            let more = if strictly { "more than " } else { "" };
            why.push(format!("{what}: {has:.0}{unit}, and {more}{needed}{unit} is needed"));
        }
    };
    less("memory of the card", " GB", offer.gpu_ram_mb.map(|mb| mb / MB_A_GB), needs.gpu_ram_gb, true);
    less("memory", " GB", ram_gb(offer), needs.ram_gb, false);
    less("threads", "", offer.cpu_threads, needs.cpu_threads, true);
    less("download", " Mbit/s", offer.inet_down_mbps, needs.inet_down_mbps, true);
    less("disk", " GB", offer.disk_gb, Some(disk_gb), false);
    if let (Some(has), Some(needed)) = (offer.cuda_max, needs.cuda)
        && has < needed
    {
        why.push(format!("its driver supports CUDA {has:?}, and the image needs {needed:?}"));
    }
    if let Some(cap) = offer.compute_cap.filter(|cap| !needs.compute_caps.is_empty() && !needs.compute_caps.contains(cap)) {
        why.push(format!("its card is sm_{}, and the image has no kernels for it", cap / 10));
    }
    if let (Some(has), Some(needed)) = (&offer.driver_version, &needs.driver)
        && numbers(has) < numbers(needed)
    {
        why.push(format!("its driver is {has}, and {needed} is needed"));
    }
    why
}

fn numbers(version: &str) -> Vec<u64> {
    version.split('.').map(|part| part.trim().parse().unwrap_or(0)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]
mod tests {
    use super::*;

    fn offer() -> VastOffer {
        VastOffer {
            id: 7,
            machine_id: Some(40_100),
            gpu_name: Some("RTX 3090".into()),
            num_gpus: Some(1),
            gpu_ram_mb: Some(24_576.0),
            cpu_ram_mb: Some(257_770.0),
            share: Some(1.0),
            cpu_threads: Some(64.0),
            inet_down_mbps: Some(800.0),
            disk_gb: Some(900.0),
            cuda_max: Some(13.0),
            compute_cap: Some(860),
            driver_version: Some("570.133.20".into()),
            dollars_per_h: Some(0.5),
            pcie_gb_s: Some(24.0),
            ..VastOffer::default()
        }
    }

    fn of(offer: &VastOffer, needs: &Needs) -> Vec<String> {
        why_not(offer, needs, DISK_GB, None)
    }

    #[test]
    fn what_cannot_work_says_why_and_what_is_not_told_speaks_against_nothing() {
        let needs = managers_needs();
        assert!(of(&offer(), &needs).is_empty());
        assert!(of(&VastOffer { id: 1, dollars_per_h: Some(0.4), ..VastOffer::default() }, &needs).is_empty());
        for no_price in [None, Some(-0.4), Some(0.0), Some(f64::NAN), Some(f64::INFINITY)] {
            assert_eq!(of(&VastOffer { dollars_per_h: no_price, ..offer() }, &needs), [NO_PRICE]);
        }
        let half = VastOffer { share: Some(0.5), ..offer() };
        assert_eq!(of(&half, &needs), ["memory: 129 GB, and 240 GB is needed"]);
        let old = VastOffer { cuda_max: Some(12.8), ..offer() };
        assert_eq!(of(&old, &needs), ["its driver supports CUDA 12.8, and the image needs 13.0"]);
        let for_blackwell = Needs { compute_caps: vec![890, 1200], driver: Some("580.0".into()), ..needs };
        assert_eq!(
            of(&offer(), &for_blackwell),
            ["its card is sm_86, and the image has no kernels for it", "its driver is 570.133.20, and 580.0 is needed"]
        );
        assert!(
            why_not(&offer(), &Needs { gpu_ram_gb: None, ..managers_needs() }, 250.0, Some("slow"))[0]
                .contains("bad hosts: slow")
        );
    }

    #[test]
    fn numbers_that_are_none_are_refused() {
        let request: OffersRequest = serde_json::from_str("{}").unwrap();
        checked(&request).unwrap();
        checked(&OffersRequest { dollars_per_h_max: Some(0.0), needs: Some(managers_needs()), ..request.clone() }).unwrap();
        for wrong in [-0.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let needs = Needs { ram_gb: Some(wrong), ..managers_needs() };
            for request in [
                OffersRequest { dollars_per_h_max: Some(wrong), ..request.clone() },
                OffersRequest { disk_gb: Some(wrong), ..request.clone() },
                OffersRequest { needs: Some(needs), ..request.clone() },
            ] {
                let error = checked(&request).unwrap_err();
                assert!(error.message.contains("is a number from 0 up"), "{error}");
            }
        }
    }

    #[test]
    fn its_own_past_comes_before_that_of_its_kind() {
        let rate =
            |machine: u64, proofs_per_h: f64| Observed { machine: Some(machine), gpu: "RTX 3090".into(), cards: 1, proofs_per_h };
        let mut past = Past {
            rates: vec![rate(40_100, 30.0), rate(1, 50.0), rate(2, 50.0), rate(3, 50.0)],
            by_gpu: HashMap::from([("RTX 3090".to_owned(), (3_600.0, 9))]),
            all: Some((7_200.0, 20)),
            ..Past::default()
        };
        past.machines.insert(MachineId(40_100), MachinePast { rented: 3, got_running: 1, flagged: 2 });
        let request = OffersRequest {
            filter: None,
            gpu: None,
            cards: None,
            dollars_per_h_max: None,
            disk_gb: None,
            needs: None,
            all: false,
            limit: None,
        };
        let elsewhere = VastOffer { id: 8, machine_id: Some(9), ..offer() };
        let bad = VastOffer { id: 9, machine_id: Some(66), dollars_per_h: Some(0.01), ..offer() };
        let market = Market {
            source: "manager",
            filter: filter_of(&request, &managers_needs()),
            offers: vec![bad, offer(), elsewhere],
            // The manager remembers the best of a machine that history knows better.
            remembered: vec![rate(40_100, 90.0), rate(9, 60.0)],
            banned: HashMap::from([(66, "dies".to_owned())]),
            notes: vec![],
        };
        let told = view(market, &past, &request, Timestamp::UNIX_EPOCH).offers;
        assert_eq!(told.iter().map(|it| it.id).collect::<Vec<_>>(), [8, 7, 9], "cheapest proofs first, what cannot work last");
        assert_eq!((told[1].proofs_per_h, told[1].basis.as_deref()), (Some(30.0), Some("machine")));
        assert_eq!((told[1].rented_before, told[1].proved_before, told[1].stuck_before), (3, 1, 2));
        assert_eq!((told[0].proofs_per_h, told[0].dollars_per_proof), (Some(60.0), Some(0.5 / 60.0)));
        assert_eq!((told[0].until_running_s, told[0].dollars_before_running), (Some(3_600.0), Some(0.5)));
        assert_eq!(told[0].until_running_of.as_deref(), Some("9 rentals with this card"));
        assert_eq!(told[2].why_not.len(), 1);
    }

    #[test]
    fn needs_become_filters_that_the_manager_asks_for_itself() {
        let request: OffersRequest = serde_json::from_str(r#"{"gpu":"RTX 4090","dollars_per_h_max":0.9}"#).unwrap();
        assert_eq!(
            filter_of(&request, &managers_needs()),
            "disk_space>=250 gpu_name=RTX_4090 dph<=0.9 gpu_ram>12.5 cpu_ram>=240 cpu_cores>25 inet_down>100 cuda_vers>=13.0"
        );
        assert_eq!(filter_of(&OffersRequest { all: true, gpu: None, ..request }, &managers_needs()), "disk_space>=250 dph<=0.9");
    }
}
