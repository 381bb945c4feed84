//! Deployments and rolling replacements: new rentals are ordered, followed until they prove, and only then the old ones retired.
//!
//! Where an item stands is on disk before its next step is taken, so that whoever goes on after a crash knows what may have been
//! sent. An order is never sent twice: it carries a label of its own, and where no answer came the account's list tells whether it
//! was taken. Only after readings over several minutes agree that it was not, another offer is tried.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use dwell_clients::{Code, FetchError};
use dwell_fleet::{Timestamp, seconds_between};
use dwell_history::{ActEntry, RolloutItemRecord, RolloutRecord};
use serde::{Deserialize, Serialize};

use super::perform::{Account, Deed, Hands, Owner, Phase, SeenRental, Target, perform};
use super::{Journal, Patience, goes_on, locked, this_process, who, writer};
use crate::dto::{EnvVar, OfferView, OffersRequest};
use crate::{ApiError, ErrorCode};

/// Orders that are refused one after the other, after which it pauses.
const REFUSED_MOST: usize = 5;
/// Replacements that fail the same way, with none that proves: the wave fails.
const SAME_WAY: usize = 2;
/// Readings one after the other in which a rental is missing, after which it counts as gone.
const GONE_AFTER: usize = 3;
/// A bill that is higher than the offer by more than this share and this much an hour is told. The price of an offer has the disk in it
/// that was asked for, and traffic is in neither: no more than rounding of disk and cents is between them. Smaller differences are
/// counted all the same.
const DEARER_BY_SHARE: f64 = 0.05;
const DEARER_BY_DOLLARS: f64 = 0.01;
/// The manager asks for offers as vast.ai's client does where it is told no disk: their prices have 5 GB in them (the client's own
/// default), and the disk that is ordered is billed on top. Hosts set that price; 0.15 dollars a month for a GB stands in vast.ai's
/// documented records. US dollars per hour and GB.
pub(crate) const DISK_DOLLARS_PER_H: f64 = 0.15 / 730.0;
/// So many times that is no surprise: a guess, for no list of what hosts ask for disk is public.
const DISK_DEARER: f64 = 2.0;
/// Sums of prices that differ by no more than this are the same, US dollars per hour.
const NO_DOLLARS: f64 = 1e-9;

/// What was asked. No secret is in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Terms {
    /// Who rents: the manager, with its own image; else vast.ai with these.
    pub(crate) through_manager: bool,
    pub(crate) image: Option<String>,
    pub(crate) onstart: Option<String>,
    pub(crate) env: Vec<EnvVar>,
    pub(crate) disk_gb: f64,
    /// Proofs per hour below which the manager kills what it rents.
    pub(crate) min_rate: Option<f64>,
    /// The same, from what a proof may cost, US dollars.
    pub(crate) dollars_per_proof_max: Option<f64>,
    /// New ones that are not done, at most.
    pub(crate) at_once: usize,
    /// What new ones may cost while what they replace is still there, US dollars per hour.
    pub(crate) extra_dollars_per_h: f64,
    /// Longest time until one proves, seconds.
    pub(crate) running_within_s: f64,
    /// Hours that the credit has to last at the new price.
    pub(crate) credit_lasts_h: f64,
    /// Which offers.
    pub(crate) market: OffersRequest,
    /// These alone, where any are named.
    pub(crate) offer_ids: Vec<u64>,
    pub(crate) why: String,
}

impl Terms {
    /// Minimum rate for an offer, proofs per hour.
    pub(crate) fn min_rate_of(&self, dollars_per_h: f64) -> Option<f64> {
        self.min_rate.or_else(|| self.dollars_per_proof_max.filter(|it| *it > 0.0).map(|most| dollars_per_h / most))
    }
}

/// Where an item stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stand {
    /// Not begun.
    Waiting,
    /// An order may have been sent.
    Ordering,
    /// Rented; does not prove yet.
    Coming,
    /// It proves; what it replaces is being ended.
    Retiring,
    Done,
    Failed,
    /// Taken back before it was begun.
    Left,
}

impl Stand {
    const ALL: [Self; 7] = [Self::Waiting, Self::Ordering, Self::Coming, Self::Retiring, Self::Done, Self::Failed, Self::Left];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Ordering => "ordering",
            Self::Coming => "coming",
            Self::Retiring => "retiring",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Left => "left",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stand| stand.as_str() == word)
    }

    /// Something of it may be rented, or about to be ended.
    fn is_under_way(self) -> bool {
        matches!(self, Self::Ordering | Self::Coming | Self::Retiring)
    }
}

/// An order, as it was or will be sent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Order {
    /// Found again by it. The manager labels nothing; then the machine tells.
    pub(crate) label: String,
    pub(crate) offer: u64,
    pub(crate) machine: Option<u64>,
    /// As it was offered.
    pub(crate) dollars_per_h: Option<f64>,
    /// Rentals of the account before.
    pub(crate) before: Vec<u64>,
    /// What vast.ai bills for what it brought, US dollars per hour, as the list told last; `None`: not told yet.
    #[serde(default)]
    pub(crate) billed: Option<f64>,
    /// The highest bill that was told to a person.
    #[serde(default)]
    billed_told: Option<f64>,
    /// What it brought after it had been given up: nobody's, and billed.
    #[serde(default)]
    stray: Option<u64>,
    /// What it brought is gone, by readings that agree: it is not billed any more.
    #[serde(default)]
    gone: bool,
}

impl Order {
    /// Whether a rental is what this order brought.
    fn brought(&self, rental: &SeenRental) -> bool {
        let labelled = rental.label.as_deref() == Some(self.label.as_str());
        let on_its_machine = self.machine.is_some() && rental.machine == self.machine;
        labelled || (on_its_machine && !self.before.contains(&rental.vast_id))
    }

    /// What it counts for, US dollars per hour: the offer until a bill is known, and never less than either.
    fn counts(&self) -> f64 {
        let offered = self.dollars_per_h.filter(|price| is_price(*price)).unwrap_or(0.0);
        self.billed.map_or(offered, |billed| billed.max(offered))
    }

    /// Takes in what the list bills. What to tell of it, where it is much more than was offered, and more than was told before.
    ///
    /// `margin` is what may be between the two, US dollars per hour.
    fn is_billed(&mut self, id: u64, billed: Option<f64>, margin: f64) -> Option<String> {
        // A bill that is no number, or below nothing, is none.
        let billed = billed.filter(|price| price.is_finite() && *price >= 0.0)?;
        self.billed = Some(billed);
        let offered = self.dollars_per_h.unwrap_or(0.0);
        let expected = self.billed_told.unwrap_or(offered);
        if billed <= expected * (1.0 + DEARER_BY_SHARE) + margin {
            return None;
        }
        self.billed_told = Some(billed);
        Some(format!("{id} is billed at {billed:.2} $/h and was offered at {offered:.2}"))
    }
}

/// Whether somebody can rent at this price, US dollars per hour: what is negative, infinite or no number could cost anything.
pub(crate) fn is_price(dollars_per_h: f64) -> bool {
    dollars_per_h.is_finite() && dollars_per_h > 0.0
}

/// What is known of an item.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Body {
    /// What is replaced.
    pub(crate) old: Option<OldOne>,
    /// The order that counts.
    pub(crate) order: Option<Order>,
    /// Orders that brought nothing; one of them may still.
    pub(crate) given_up: Vec<Order>,
    /// The new rental.
    pub(crate) vast_id: Option<u64>,
    /// When it was rented.
    pub(crate) rented_at: Option<Timestamp>,
    /// The list has had it.
    #[serde(default)]
    pub(crate) seen: bool,
    /// Its start was asked for once.
    pub(crate) started: bool,
    /// What happened last.
    pub(crate) text: String,
}

/// What is replaced.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct OldOne {
    pub(crate) id: String,
    pub(crate) uuid: Option<String>,
    pub(crate) vast_id: Option<u64>,
    pub(crate) machine: Option<u64>,
    /// The account that listed it before it was ended.
    #[serde(default)]
    pub(crate) account: Option<Account>,
    pub(crate) dollars_per_h: Option<f64>,
}

impl OldOne {
    /// As one of the fleet at this address.
    pub(crate) fn target(&self, fleet: &str) -> Target {
        Target {
            fleet: fleet.to_owned(),
            id: self.id.clone(),
            uuid: self.uuid.clone(),
            vast_id: self.vast_id,
            machine: self.machine,
            account: self.account.clone(),
            dollars_per_h: self.dollars_per_h,
        }
    }
}

/// An item.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Item {
    pub(crate) at: Timestamp,
    pub(crate) stand: Stand,
    pub(crate) body: Body,
}

impl Item {
    fn record(&self) -> RolloutItemRecord {
        let body = serde_json::to_string(&self.body).unwrap_or_default();
        RolloutItemRecord { at: self.at, state: self.stand.as_str().to_owned(), body }
    }

    pub(crate) fn read(record: &RolloutItemRecord) -> Option<Self> {
        Some(Self { at: record.at, stand: Stand::parse(&record.state)?, body: serde_json::from_str(&record.body).ok()? })
    }

    /// Orders whose rentals are billed, or may be, beyond what they replace; with vast.ai's number where it is known.
    fn billed(&self) -> impl Iterator<Item = (Option<u64>, &Order)> {
        let rented = self.body.vast_id.is_some() || self.stand == Stand::Ordering;
        let replaced = self.body.old.is_some() && self.stand == Stand::Done;
        let current = self.body.order.iter().filter(move |order| rented && !replaced && !order.gone);
        let strays = self.body.given_up.iter().filter(|order| order.stray.is_some() && !order.gone);
        current.map(|order| (self.body.vast_id, order)).chain(strays.map(|order| (order.stray, order)))
    }
}

/// How a new rental does, as the fleet's watch sees it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Standing {
    pub(crate) vast_id: Option<u64>,
    pub(crate) state: String,
    pub(crate) kill_reason: Option<String>,
    /// Why it is stuck.
    pub(crate) stuck: Option<String>,
}

/// What rents and follows.
#[allow(async_fn_in_trait, reason = "used with known types alone")]
pub(crate) trait Rents: Hands {
    /// Sends an order, once. vast.ai's number of the rental, where it is told.
    async fn order(&self, order: &Order, terms: &Terms) -> Result<Option<u64>, FetchError>;
    /// Offers, best first, with what speaks against each.
    async fn market(&self, terms: &Terms) -> Result<Vec<OfferView>, ApiError>;
    /// The fleet's rows as the watch sees them.
    async fn standings(&self) -> Result<Vec<Standing>, ApiError>;
    /// Credit of the account, US dollars, and what it spends an hour; `None` where nobody can be asked, or it is not told.
    async fn credit(&self) -> Result<Option<(f64, f64)>, FetchError>;
}

/// How a stretch of work ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Everything is done, failed or left.
    Over(String),
    /// It waits for a person.
    Paused(String),
}

/// Says why nothing may be done any more.
pub(crate) type MayAct = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

/// A rollout under way in this process.
pub(crate) struct Runner<'a, H> {
    hands: &'a H,
    journal: &'a Journal,
    patience: Patience,
    name: String,
    fleet: String,
    simulated: Option<String>,
    process: String,
    terms: Terms,
    items: Vec<Item>,
    /// By item: readings in which its order brought nothing, and readings that failed, one after the other.
    looked: Vec<(usize, usize)>,
    /// By item: readings in which its rental was missing.
    missing: Vec<usize>,
    /// By rental that is not followed any more: the same.
    unlisted: HashMap<u64, usize>,
    /// Offers that were refused.
    refused: HashSet<u64>,
    refused_in_a_row: usize,
}

const GONE: &str = "gone from vast.ai's list";
const NEVER_CAME: &str = "never on vast.ai's list";

/// Letters of a label before its number.
pub(crate) const LABEL: &str = "dwell-";

impl<'a, H: Rents> Runner<'a, H> {
    /// Goes on with what is kept, as far as it has come. The record's process must be this one.
    pub(crate) fn new(hands: &'a H, journal: &'a Journal, patience: Patience, record: &RolloutRecord) -> Result<Self, ApiError> {
        let broken = || ApiError::new(ErrorCode::RolloutUnreadable, format!("{} cannot be read from history", record.name));
        let terms: Terms = serde_json::from_str(&record.terms).map_err(|_| broken())?;
        let items: Vec<Item> = record.items.iter().map(Item::read).collect::<Option<_>>().ok_or_else(broken)?;
        Ok(Self {
            hands,
            journal,
            patience,
            name: record.name.clone(),
            fleet: record.fleet.clone(),
            simulated: record.simulated.clone(),
            process: this_process(),
            looked: vec![(0, 0); items.len()],
            missing: vec![0; items.len()],
            unlisted: HashMap::new(),
            terms,
            items,
            refused: HashSet::new(),
            refused_in_a_row: 0,
        })
    }

    /// Works until all is done or a person is needed. What happens is written down before it does. `may_act` is asked before every
    /// round: a fleet that has been made read-only, or is not watched any more, is left as it is.
    pub(crate) async fn run(mut self, may_act: MayAct) -> Result<(), ApiError> {
        loop {
            if let Err(why) = may_act() {
                return self.set(&["going"], "paused", &why);
            }
            // Somebody else, in a window or a terminal, may have told it to wait or taken something back.
            let Some(record) = locked(self.journal).rollout(&self.name)? else { return Ok(()) };
            if record.process != self.process {
                return Ok(());
            }
            for (place, kept) in record.items.iter().enumerate() {
                if kept.state == Stand::Left.as_str() && self.items[place].stand == Stand::Waiting {
                    self.items[place].stand = Stand::Left;
                }
            }
            // What is under way is followed even while it is paused; nothing new begins.
            let may_begin = record.state == "going";
            match self.turn(may_begin).await? {
                Some(Ended::Over(says)) => {
                    self.set(&["going", "paused"], "ended", &says)?;
                    return Ok(());
                }
                Some(Ended::Paused(says)) => {
                    self.set(&["going"], "paused", &says)?;
                }
                None => {}
            }
            if !may_begin && !self.items.iter().any(|item| matches!(item.stand, Stand::Ordering | Stand::Coming)) {
                return Ok(());
            }
            self.hands.pause(self.patience.between_s).await;
        }
    }

    fn set(&self, from: &[&str], state: &str, says: &str) -> Result<(), ApiError> {
        locked(self.journal).set_rollout(&self.name, from, state, says, &self.process)?;
        Ok(())
    }

    /// Writes where an item stands; an error ends everything, for what cannot be written down is not done. False where somebody has
    /// taken it back meanwhile.
    fn put(&mut self, place: usize, stand: Stand, text: impl Into<String>) -> Result<bool, ApiError> {
        let now = self.hands.now();
        let item = &mut self.items[place];
        let from = item.stand;
        item.body.text = text.into();
        if from != stand {
            item.at = now;
        }
        item.stand = stand;
        let record = item.record();
        let stood = locked(self.journal).set_rollout_item(&self.name, place, from.as_str(), &record)?;
        if !stood {
            item.stand = Stand::Left;
        }
        Ok(stood)
    }

    fn entry(&self, order: &Order) -> ActEntry {
        ActEntry {
            id: 0,
            plan: format!("{} {}", self.name, order.label),
            at: self.hands.now(),
            who: who(),
            process: self.process.clone(),
            why: self.terms.why.clone(),
            rule: None,
            fleet: self.fleet.clone(),
            simulated: self.simulated.clone(),
            deed: "deploy".to_owned(),
            deed_text: Some(order.label.clone()),
            target: order.machine.map_or_else(|| format!("offer {}", order.offer), |machine| format!("machine {machine}")),
            uuid: None,
            vast_id: None,
            machine: order.machine,
            account: None,
            account_number: None,
            dollars_per_h: order.dollars_per_h,
            phase: String::new(),
            text: String::new(),
        }
    }

    fn note(&self, order: &Order, phase: Phase, text: &str) -> Result<(), ApiError> {
        let entry = ActEntry { phase: phase.as_str().to_owned(), text: text.to_owned(), ..self.entry(order) };
        locked(self.journal).add_act(&entry)?;
        Ok(())
    }

    /// One round: looks, and takes the steps that follow.
    async fn turn(&mut self, may_begin: bool) -> Result<Option<Ended>, ApiError> {
        let rentals = self.hands.rentals().await;
        if let Some(paused) = self.look_for_orders(&rentals)? {
            return Ok(Some(paused));
        }
        if let Ok(rentals) = &rentals
            && let Some(paused) = self.late(rentals)?
        {
            return Ok(Some(paused));
        }
        if let Ok(rentals) = &rentals
            && let Some(paused) = self.bills(rentals)?
        {
            return Ok(Some(paused));
        }
        if let Some(paused) = self.follow(&rentals, may_begin).await? {
            return Ok(Some(paused));
        }
        if self.items.iter().all(|item| matches!(item.stand, Stand::Done | Stand::Failed | Stand::Left)) {
            return Ok(Some(Ended::Over(self.summary())));
        }
        if may_begin {
            return self.begin_next(&rentals).await;
        }
        Ok(None)
    }

    fn summary(&self) -> String {
        let count = |stand: Stand| self.items.iter().filter(|item| item.stand == stand).count();
        let mut parts = vec![format!("{} of {} done", count(Stand::Done), self.items.len())];
        for (stand, word) in [(Stand::Failed, "failed"), (Stand::Left, "taken back")] {
            if count(stand) > 0 {
                parts.push(format!("{} {word}", count(stand)));
            }
        }
        let first = self.items.iter().find(|item| item.stand == Stand::Failed).map(|item| format!(": {}", item.body.text));
        let costs = extra(&self.items);
        let allowed = self.terms.extra_dollars_per_h;
        let dear = costs > allowed + NO_DOLLARS;
        let dear = dear.then(|| format!("; over budget: it costs {costs:.2} $/h extra, and {allowed:.2} are allowed"));
        parts.join(", ") + &first.unwrap_or_default() + &dear.unwrap_or_default()
    }

    /// Looks whether orders of which that is not known were taken.
    fn look_for_orders(&mut self, rentals: &Result<Vec<SeenRental>, FetchError>) -> Result<Option<Ended>, ApiError> {
        for place in 0..self.items.len() {
            if self.items[place].stand != Stand::Ordering {
                continue;
            }
            let Some(order) = self.items[place].body.order.clone() else {
                self.put(place, Stand::Waiting, "no order was written down")?;
                continue;
            };
            let taken: HashSet<u64> = self.items.iter().filter_map(|item| item.body.vast_id).collect();
            let found = match rentals {
                Ok(rentals) => rentals.iter().find(|it| order.brought(it) && !taken.contains(&it.vast_id)),
                Err(error) => {
                    self.looked[place] = (0, self.looked[place].1 + 1);
                    if self.looked[place].1 >= self.patience.readings {
                        let says = format!(
                            "it is not known whether an order on {} was taken: the list of rentals cannot be read ({})",
                            place_of(&order),
                            error.message
                        );
                        self.looked[place] = (0, 0);
                        return Ok(Some(Ended::Paused(says)));
                    }
                    continue;
                }
            };
            if let Some(rental) = found {
                let id = rental.vast_id;
                self.items[place].body.vast_id = Some(id);
                self.items[place].body.rented_at.get_or_insert(self.hands.now());
                self.note(&order, Phase::Verified, &format!("rented as {id}, by the list"))?;
                self.put(place, Stand::Coming, format!("rented as {id}, found by the list"))?;
                continue;
            }
            self.looked[place] = (self.looked[place].0 + 1, 0);
            if self.looked[place].0 >= self.patience.readings {
                self.looked[place] = (0, 0);
                let says = format!("not rented, by {} readings of the list", self.patience.readings);
                self.note(&order, Phase::Refused, &says)?;
                self.refused.insert(order.offer);
                let body = &mut self.items[place].body;
                body.order = None;
                body.given_up.push(order);
                self.put(place, Stand::Waiting, says)?;
            }
        }
        Ok(None)
    }

    /// Takes in what the list bills for what was rented. What is billed much higher than it was offered is told; where that, or any
    /// bill that has risen, is more than is allowed, a person decides: nothing is destroyed for its price.
    fn bills(&mut self, rentals: &[SeenRental]) -> Result<Option<Ended>, ApiError> {
        let before = extra(&self.items);
        let margin = DEARER_BY_DOLLARS
            + if self.terms.through_manager { DISK_DEARER * DISK_DOLLARS_PER_H * self.terms.disk_gb } else { 0.0 };
        let mut told = Vec::new();
        for place in 0..self.items.len() {
            let (was, vast_id, stand) = {
                let item = &self.items[place];
                (item.body.clone(), item.body.vast_id, item.stand)
            };
            // Whether what is on its way has gone is found by those who follow it.
            let is_followed = matches!(stand, Stand::Ordering | Stand::Coming);
            let body = &mut self.items[place].body;
            let current = body.order.iter_mut().filter_map(|order| Some((vast_id?, is_followed, order)));
            let strays = body.given_up.iter_mut().filter_map(|order| Some((order.stray?, false, order)));
            for (id, is_followed, order) in current.chain(strays) {
                let Some(rental) = rentals.iter().find(|rental| rental.vast_id == id) else {
                    if !is_followed {
                        let readings = self.unlisted.entry(id).or_default();
                        *readings += 1;
                        order.gone |= *readings >= GONE_AFTER;
                    }
                    continue;
                };
                self.unlisted.remove(&id);
                order.gone = false;
                told.extend(order.is_billed(id, rental.dollars_per_h, margin).map(|words| (order.clone(), words)));
            }
            if self.items[place].body != was {
                self.put(place, stand, was.text)?;
            }
        }
        for (order, words) in &told {
            self.note(order, Phase::Incident, words)?;
        }
        let now = extra(&self.items);
        let rose = !told.is_empty() || now > before + NO_DOLLARS;
        Ok(self.too_dear().filter(|_| rose).map(Ended::Paused))
    }

    /// What to tell where what was rented costs more than is allowed.
    fn too_dear(&self) -> Option<String> {
        let costs = extra(&self.items);
        if costs <= self.terms.extra_dollars_per_h + NO_DOLLARS {
            return None;
        }
        let each: Vec<String> = self.items.iter().flat_map(Item::billed).map(|(id, order)| words_of(id, order)).collect();
        Some(format!(
            "over budget: what it rented costs {costs:.2} $/h extra, and {:.2} are allowed ({}). Nothing more is ordered, and nothing is \
             destroyed for its price: destroy what is too dear. Resumed, it follows what it has, and orders when that fits again",
            self.terms.extra_dollars_per_h,
            each.join("; ")
        ))
    }

    /// What orders that were given up have brought after all: taken where something still waits for it, else told.
    fn late(&mut self, rentals: &[SeenRental]) -> Result<Option<Ended>, ApiError> {
        let mut known: HashSet<u64> = self.items.iter().filter_map(|item| item.body.vast_id).collect();
        let mut told: Vec<u64> = Vec::new();
        let through_manager = self.terms.through_manager;
        for place in 0..self.items.len() {
            let brought = |order: &Order| {
                // The manager labels nothing: there the machine tells.
                let of_it = |it: &&SeenRental| {
                    let labelled = it.label.as_deref() == Some(order.label.as_str());
                    !known.contains(&it.vast_id) && (labelled || (through_manager && order.brought(it)))
                };
                rentals.iter().find(of_it).map(|it| it.vast_id)
            };
            let given_up = self.items[place].body.given_up.iter().enumerate().filter(|(_, order)| order.stray.is_none());
            let late: Vec<(usize, u64)> = given_up.filter_map(|(nth, order)| Some((nth, brought(order)?))).collect();
            // Those that are taken leave the list: from its end, so that the others keep their places.
            for (nth, id) in late.into_iter().rev() {
                let order = self.items[place].body.given_up[nth].clone();
                if !known.insert(id) {
                    continue;
                }
                if self.items[place].stand == Stand::Waiting {
                    let body = &mut self.items[place].body;
                    body.given_up.remove(nth);
                    body.order = Some(order.clone());
                    body.vast_id = Some(id);
                    body.rented_at = Some(self.hands.now());
                    self.note(&order, Phase::Verified, &format!("rented as {id} after all, by the list"))?;
                    self.put(place, Stand::Coming, format!("rented as {id} after all, found by the list"))?;
                    continue;
                }
                let words =
                    format!("an order that was given up was taken after all: rental {id} is nobody's and is billed; destroy it");
                self.note(&order, Phase::Incident, &words)?;
                // It counts against the budget until it is gone.
                self.items[place].body.given_up[nth].stray = Some(id);
                let (stand, text) = (self.items[place].stand, self.items[place].body.text.clone());
                self.put(place, stand, text)?;
                told.push(id);
            }
        }
        let ids: Vec<String> = told.iter().map(u64::to_string).collect();
        Ok((!ids.is_empty()).then(|| {
            Ended::Paused(format!(
                "orders that were given up were taken after all: destroy {}, which nobody uses",
                ids.join(", ")
            ))
        }))
    }

    /// Follows what was rented until it proves, and then retires what it replaces.
    async fn follow(
        &mut self,
        rentals: &Result<Vec<SeenRental>, FetchError>,
        may_begin: bool,
    ) -> Result<Option<Ended>, ApiError> {
        if !self.items.iter().any(|item| matches!(item.stand, Stand::Coming | Stand::Retiring)) {
            return Ok(None);
        }
        let standings = self.hands.standings().await;
        for place in 0..self.items.len() {
            if self.items[place].stand == Stand::Retiring {
                // Nobody is ended while a person has it wait.
                if may_begin && let Some(paused) = self.retire(place).await? {
                    return Ok(Some(paused));
                }
                continue;
            }
            let Some(id) = self.items[place].body.vast_id.filter(|_| self.items[place].stand == Stand::Coming) else { continue };
            let mut is_gone = false;
            if let Ok(rentals) = rentals {
                let rental = rentals.iter().find(|rental| rental.vast_id == id);
                self.missing[place] = if rental.is_some() { 0 } else { self.missing[place] + 1 };
                self.items[place].body.seen |= rental.is_some();
                // A rental can be left stopped by its own creation; one start mends that.
                let is_stopped = rental.is_some_and(|rental| rental.wished.as_deref() == Some("stopped"));
                if is_stopped && !self.items[place].body.started {
                    self.items[place].body.started = true;
                    self.put(place, Stand::Coming, "vast.ai left it stopped: its start is asked for, once")?;
                    let target = Target { fleet: self.fleet.clone(), id: id.to_string(), vast_id: Some(id), ..Target::default() };
                    if let Err(error) = self.hands.send(&Deed::Start, &target).await {
                        self.put(
                            place,
                            Stand::Coming,
                            format!("vast.ai left it stopped, and its start failed: {}", error.message),
                        )?;
                    }
                }
            }
            let standing = standings.as_ref().ok().and_then(|all| latest(all, id));
            let waited_s = seconds_between(self.items[place].body.rented_at.unwrap_or(self.items[place].at), self.hands.now());
            let failed = match standing {
                Some(it) if it.state == "running" && it.stuck.is_none() => {
                    let text = format!("{id} runs after {}", dwell_fleet::words::duration(waited_s));
                    let next = if self.items[place].body.old.is_some() { Stand::Retiring } else { Stand::Done };
                    self.put(place, next, text)?;
                    continue;
                }
                Some(it) if it.state == "killed" => {
                    Some(format!("killed: {}", it.kill_reason.as_deref().unwrap_or("no reason told")))
                }
                _ if self.items[place].body.seen && self.missing[place] >= GONE_AFTER => {
                    is_gone = true;
                    Some(GONE.to_owned())
                }
                // What was said to be rented can take a while to be listed.
                _ if self.missing[place] >= self.patience.readings.max(GONE_AFTER) => {
                    is_gone = true;
                    let body = &mut self.items[place].body;
                    let order = body.order.clone();
                    body.given_up.extend(order);
                    Some(format!("{NEVER_CAME}, by {} readings", self.missing[place]))
                }
                Some(Standing { stuck: Some(why), .. }) => Some(format!("stuck: {why}")),
                // Who cannot be seen has not failed.
                _ if standings.is_ok() && waited_s > self.terms.running_within_s => {
                    Some(format!("does not run after {}", dwell_fleet::words::duration(waited_s)))
                }
                Some(it) => {
                    let text = format!("{id} is {}", it.state);
                    if self.items[place].body.text != text {
                        self.put(place, Stand::Coming, text)?;
                    }
                    None
                }
                None => None,
            };
            if let Some(why) = failed {
                if let Some(order) = self.items[place].body.order.as_mut().filter(|_| is_gone) {
                    order.gone = true;
                }
                self.put(place, Stand::Failed, format!("{id} {why}"))?;
                if let Some(says) = self.is_wave_failing(place, &why) {
                    return Ok(Some(Ended::Paused(says)));
                }
            }
        }
        Ok(None)
    }

    /// The first sign that a wave fails: any failed replacement, or new ones that fail the same way while none proves.
    fn is_wave_failing(&self, place: usize, why: &str) -> Option<String> {
        let id = self.items[place].body.vast_id.unwrap_or_default();
        if let Some(old) = &self.items[place].body.old {
            return Some(format!("the replacement {id} of {} {why}; {} stays as it is", short(&old.id), short(&old.id)));
        }
        let kind = |text: &str| dwell_fleet::over_time::without_numbers(text);
        let failed: Vec<&Item> = self.items.iter().filter(|item| item.stand == Stand::Failed).collect();
        let without_id = |item: &Item| {
            let text = item.body.text.as_str();
            kind(text.split_once(' ').map_or(text, |(_, rest)| rest))
        };
        let same = failed.iter().filter(|item| without_id(item) == kind(why)).count();
        let proves = self.items.iter().any(|item| item.stand == Stand::Done);
        (same >= SAME_WAY && !proves).then(|| format!("{same} new ones failed the same way and none runs: {why}"))
    }

    /// The account that lists what is replaced, written down before anything is sent: it alone can show later that it is gone.
    async fn with_account(&mut self, place: usize, old: OldOne) -> Result<OldOne, ApiError> {
        let Some(vast_id) = old.vast_id.filter(|_| old.account.is_none()) else { return Ok(old) };
        let Owner::Is(account) = self.hands.owner(vast_id).await else { return Ok(old) };
        let old = OldOne { account: Some(account), ..old };
        let body = &mut self.items[place].body;
        body.old = Some(old.clone());
        let text = body.text.clone();
        self.put(place, Stand::Retiring, text)?;
        Ok(old)
    }

    /// Ends what was replaced: through the manager where it has a row there.
    async fn retire(&mut self, place: usize) -> Result<Option<Ended>, ApiError> {
        let Some(old) = self.items[place].body.old.clone() else {
            self.put(place, Stand::Done, "done")?;
            return Ok(None);
        };
        let deed = if old.uuid.is_some() { Deed::Kill } else { Deed::Destroy };
        let old = self.with_account(place, old).await?;
        let entry = ActEntry {
            plan: format!("{} retires {}", self.name, old.id),
            deed: deed.as_str().to_owned(),
            deed_text: None,
            target: old.id.clone(),
            uuid: old.uuid.clone(),
            vast_id: old.vast_id,
            machine: old.machine,
            account: old.account.as_ref().map(|it| it.name.clone()),
            account_number: old.account.as_ref().and_then(|it| it.number),
            dollars_per_h: old.dollars_per_h,
            phase: "planned".to_owned(),
            text: format!("{} is replaced", old.id),
            ..self.entry(&Order::default())
        };
        // A person, a rule or another process may be at it already: then it is waited for what comes of that.
        if !locked(self.journal).begin_act(&entry, goes_on)? {
            let text = format!("waits: something is being done to {} already", short(&old.id));
            if self.items[place].body.text != text {
                self.put(place, Stand::Retiring, text)?;
            }
            return Ok(None);
        }
        let hands = self.hands;
        let (phase, text) =
            perform(hands, (&deed, &old.target(&self.fleet)), self.patience, &mut writer(&entry, self.journal, || hands.now()))
                .await;
        if phase == Phase::Verified {
            self.put(place, Stand::Done, format!("{} is gone: {text}", short(&old.id)))?;
            return Ok(None);
        }
        self.put(place, Stand::Failed, text.clone())?;
        Ok(Some(Ended::Paused(format!("{} could not be retired: {text}", short(&old.id)))))
    }

    /// Orders the next one, where there is room for it.
    async fn begin_next(&mut self, rentals: &Result<Vec<SeenRental>, FetchError>) -> Result<Option<Ended>, ApiError> {
        let under_way = self.items.iter().filter(|item| item.stand.is_under_way()).count();
        let Some(place) = self.items.iter().position(|item| item.stand == Stand::Waiting) else { return Ok(None) };
        // One order after the other: two of which nothing is known could not be told apart.
        if under_way >= self.terms.at_once.max(1) || self.items.iter().any(|item| item.stand == Stand::Ordering) {
            return Ok(None);
        }
        let rentals = match rentals {
            Ok(rentals) => rentals,
            // Whether it was taken could not be told afterwards.
            Err(error) => {
                let text = format!("waits: the list of rentals cannot be read ({})", error.message);
                if self.items[place].body.text != text {
                    self.put(place, Stand::Waiting, text)?;
                }
                return Ok(None);
            }
        };
        let offers = match self.hands.market(&self.terms).await {
            Ok(offers) => offers,
            Err(error) => {
                self.put(place, Stand::Waiting, format!("waits: no offers could be had ({})", error.message))?;
                return Ok(None);
            }
        };
        // A person has to decide, even where something under way may give way soon.
        if let Some(says) = self.too_dear() {
            // What was destroyed meanwhile counts until readings agree that it is gone.
            let is_leaving = self.unlisted.values().any(|readings| *readings < GONE_AFTER);
            return Ok((!is_leaving).then_some(Ended::Paused(says)));
        }
        let spent = extra(&self.items);
        // On a machine of an order of which that is not known, or that was given up, nothing new could be told apart.
        let orders =
            |item: &'_ Item| item.body.order.iter().chain(&item.body.given_up).filter_map(|it| it.machine).collect::<Vec<_>>();
        let machines: HashSet<u64> = self.items.iter().flat_map(orders).collect();
        let old: HashSet<u64> = self.items.iter().filter_map(|item| item.body.old.as_ref()?.machine).collect();
        let fits = |offer: &OfferView| {
            // What tells no price that could be paid could cost anything.
            let price = offer.dollars_per_h.filter(|price| is_price(*price))?;
            // The manager labels nothing: what it rents is found again by its machine alone.
            let findable = !self.terms.through_manager || offer.machine_id.is_some();
            let is_it = findable
                && offer.why_not.is_empty()
                && !self.refused.contains(&offer.id)
                && (self.terms.offer_ids.is_empty() || self.terms.offer_ids.contains(&offer.id))
                && offer.machine_id.is_none_or(|machine| !machines.contains(&machine) && !old.contains(&machine))
                && self.terms.dollars_per_proof_max.is_none_or(|most| offer.dollars_per_proof.is_none_or(|it| it <= most))
                && spent + price <= self.terms.extra_dollars_per_h + NO_DOLLARS;
            is_it.then_some(price)
        };
        let Some((offer, price)) = offers.iter().find_map(|offer| Some((offer, fits(offer)?))) else {
            // While something is under way there may be room later.
            if under_way > 0 {
                return Ok(None);
            }
            let can_work = offers.iter().filter(|it| it.why_not.is_empty());
            let cheapest = can_work.filter_map(|it| it.dollars_per_h).filter(|it| is_price(*it)).reduce(f64::min);
            let says = match cheapest {
                Some(price) => format!(
                    "no offer fits: {} came, the cheapest that can work at {price:.2} $/h; {:.2} $/h extra are allowed, {spent:.2} of it taken",
                    offers.len(),
                    self.terms.extra_dollars_per_h
                ),
                None => format!("no offer can work: {} came", offers.len()),
            };
            return Ok(Some(Ended::Paused(says)));
        };
        let credit = match self.hands.credit().await {
            Ok(credit) => credit,
            Err(error) => {
                self.put(place, Stand::Waiting, format!("waits: the account's credit cannot be read ({})", error.message))?;
                return Ok(None);
            }
        };
        if let Some((credit, spends)) = credit {
            let Some(lasts_h) = lasts_h(credit, spends + self.unlisted_price(rentals) + price) else {
                let text = format!("waits: the account's credit cannot be read (it tells {credit} dollars and {spends} $/h)");
                self.put(place, Stand::Waiting, text)?;
                return Ok(None);
            };
            // Who is in debt has none for anything.
            if lasts_h < self.terms.credit_lasts_h || credit <= 0.0 {
                return Ok(Some(Ended::Paused(format!(
                    "the credit of {credit:.2} dollars would last {:.1} h with one more; {:.1} h are asked for",
                    lasts_h.max(0.0),
                    self.terms.credit_lasts_h
                ))));
            }
        }
        let order = Order {
            label: format!("{LABEL}{}", super::token()?.chars().take(16).collect::<String>()),
            offer: offer.id,
            machine: offer.machine_id,
            dollars_per_h: Some(price),
            before: rentals
                .iter()
                .filter(|it| it.machine.is_some() && it.machine == offer.machine_id)
                .map(|it| it.vast_id)
                .collect(),
            ..Order::default()
        };
        self.send_order(place, order).await
    }

    /// What was ordered and is not on the list yet: no sum of the list has it. US dollars per hour.
    fn unlisted_price(&self, rentals: &[SeenRental]) -> f64 {
        let is_listed = |id: Option<u64>| id.is_some_and(|id| rentals.iter().any(|rental| rental.vast_id == id));
        let under_way = self.items.iter().filter(|item| item.stand.is_under_way());
        under_way.flat_map(Item::billed).filter(|(id, _)| !is_listed(*id)).map(|(_, order)| order.counts()).sum()
    }

    async fn send_order(&mut self, place: usize, order: Order) -> Result<Option<Ended>, ApiError> {
        self.items[place].body.order = Some(order.clone());
        self.items[place].body.rented_at = None;
        self.items[place].body.vast_id = None;
        if !self.put(place, Stand::Ordering, format!("orders offer {} on {}", order.offer, place_of(&order)))? {
            return Ok(None);
        }
        self.note(&order, Phase::Sent, &format!("offer {} as {}", order.offer, order.label))?;
        let answer = self.hands.order(&order, &self.terms).await;
        self.looked[place] = (0, 0);
        match answer {
            Ok(Some(id)) => {
                self.refused_in_a_row = 0;
                self.items[place].body.vast_id = Some(id);
                self.items[place].body.rented_at = Some(self.hands.now());
                self.note(&order, Phase::Taken, &format!("rented as {id}"))?;
                self.put(place, Stand::Coming, format!("rented as {id}"))?;
                Ok(None)
            }
            Ok(None) => {
                self.note(&order, Phase::Answered, "taken, without a number: the list will tell it")?;
                Ok(None)
            }
            Err(error) if error.code == Code::TooOften => {
                self.note(&order, Phase::Refused, &format!("not done: {}", error.message))?;
                self.items[place].body.order = None;
                self.put(place, Stand::Waiting, "vast.ai was asked too often; it is tried again")?;
                Ok(None)
            }
            Err(error)
                if matches!(error.code, Code::KeyRefused | Code::Unauthorised | Code::BadAddress | Code::NoCertificates) =>
            {
                self.note(&order, Phase::Refused, &error.message)?;
                self.items[place].body.order = None;
                self.put(place, Stand::Waiting, error.message.clone())?;
                Ok(Some(Ended::Paused(error.message)))
            }
            Err(error) if matches!(error.code, Code::Refused | Code::NoSuchInstance) => {
                self.note(&order, Phase::Refused, &error.message)?;
                self.refused.insert(order.offer);
                self.refused_in_a_row += 1;
                // A refusal can leave a rental behind all the same: the label is kept.
                self.items[place].body.order = None;
                self.items[place].body.given_up.push(order);
                self.put(place, Stand::Waiting, error.message.clone())?;
                let tired = self.refused_in_a_row >= REFUSED_MOST;
                if tired {
                    self.refused_in_a_row = 0;
                }
                Ok(tired
                    .then(|| Ended::Paused(format!("{REFUSED_MOST} orders were refused one after the other: {}", error.message))))
            }
            Err(error) => {
                self.note(&order, Phase::Unanswered, &format!("not known whether it was taken: {}", error.message))?;
                Ok(None)
            }
        }
    }
}

/// What new ones cost an hour while what they replace is still there; of a deployment, all of them. US dollars.
pub(crate) fn extra(items: &[Item]) -> f64 {
    // Without this an empty sum is -0.0.
    items.iter().flat_map(Item::billed).map(|(_, order)| order.counts()).fold(0.0, |sum, price| sum + price)
}

/// How long a credit lasts, hours; below 0 where it is a debt. `None` where that cannot be told: what is no number is no credit.
pub(crate) fn lasts_h(credit: f64, dollars_per_h: f64) -> Option<f64> {
    let known = credit.is_finite() && dollars_per_h.is_finite() && dollars_per_h >= 0.0;
    known.then(|| credit / dollars_per_h.max(NO_DOLLARS))
}

fn words_of(id: Option<u64>, order: &Order) -> String {
    let name = id.map_or_else(|| place_of(order), |id| id.to_string());
    let offered = order.dollars_per_h.unwrap_or_default();
    match order.billed {
        Some(billed) => format!("{name}: {billed:.2} $/h billed, {offered:.2} offered"),
        None => format!("{name}: {offered:.2} $/h offered, not known yet what is billed"),
    }
}

fn place_of(order: &Order) -> String {
    order.machine.map_or_else(|| format!("offer {}", order.offer), |machine| format!("machine {machine}"))
}

/// The row of a rental that counts: a live one before a killed one.
fn latest(all: &[Standing], id: u64) -> Option<&Standing> {
    all.iter().filter(|it| it.vast_id == Some(id)).max_by_key(|it| it.state != "killed")
}

fn short(id: &str) -> String {
    id.chars().take(8).collect()
}

/// Items as they begin.
pub(crate) fn items(olds: Vec<Option<OldOne>>, now: Timestamp) -> Vec<Item> {
    olds.into_iter().map(|old| Item { at: now, stand: Stand::Waiting, body: Body { old, ..Body::default() } }).collect()
}

/// A new rollout as it is kept.
pub(crate) fn record(
    (name, fleet, simulated): (String, String, Option<String>),
    terms: &Terms,
    items: &[Item],
    now: Timestamp,
) -> RolloutRecord {
    RolloutRecord {
        name,
        at: now,
        fleet,
        simulated,
        state: "going".to_owned(),
        says: String::new(),
        process: this_process(),
        terms: serde_json::to_string(terms).unwrap_or_default(),
        items: items.iter().map(Item::record).collect(),
    }
}

/// Takes back what has not been begun. How many.
pub(crate) fn take_back(journal: &Journal, name: &str, fleet: &str, now: Timestamp) -> Result<usize, ApiError> {
    let journal = locked(journal);
    let record = of_fleet(&journal, name, fleet)?;
    let mut left = 0;
    for (place, kept) in record.items.iter().enumerate().filter(|(_, it)| it.state == Stand::Waiting.as_str()) {
        let item = RolloutItemRecord { at: now, state: Stand::Left.as_str().to_owned(), ..kept.clone() };
        left += usize::from(journal.set_rollout_item(name, place, Stand::Waiting.as_str(), &item)?);
    }
    // Where nothing else was begun there is nothing to resume.
    let over = |it: &RolloutItemRecord| it.state == Stand::Left.as_str();
    if journal.rollout(name)?.is_some_and(|kept| kept.items.iter().all(over)) {
        journal.set_rollout(name, &["going", "paused"], "ended", "all of it was taken back", &record.process)?;
    }
    Ok(left)
}

/// A rollout of the fleet of this address; refused where it is another one's.
pub(crate) fn of_fleet(journal: &dwell_history::History, name: &str, fleet: &str) -> Result<RolloutRecord, ApiError> {
    let record = journal.rollout(name)?.ok_or_else(|| unknown(name))?;
    if record.fleet == fleet {
        return Ok(record);
    }
    Err(ApiError::new(
        ErrorCode::OtherFleet,
        format!("rollout {name} is of the fleet at {}, and not of {fleet}: nothing was done", record.fleet),
    )
    .hint("choose its fleet first"))
}

pub(crate) fn unknown(name: &str) -> ApiError {
    ApiError::new(ErrorCode::UnknownRollout, format!("no rollout is called {name:?}")).hint("dwellctl rollouts lists them")
}

#[cfg(test)]
mod tests;
