//! Rollouts on a small world that answers badly, and in which Dwell dies at any of its calls.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::cell::{Cell, RefCell};
use std::sync::Mutex;

use dwell_history::History;
use proptest::prelude::*;

use super::*;
use crate::act::perform::{Account, AtVast, Owner, SeenManager, SeenRow};
use crate::dto::OffersRequest;

/// What goes wrong with a call that changes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// Done, and the answer is lost.
    Lost,
    /// Neither done nor answered.
    Swallowed,
    /// Said to be done, and not.
    Lied,
    /// Done, and said without a number.
    Unnumbered,
    /// Refused with a reason.
    Refused,
    /// Refused, and done all the same.
    RefusedAndDone,
    TooOften,
    /// A server's failure, and done.
    FailedAndDone,
    Failed,
    /// Done, and left stopped.
    Stopped,
    /// Done; it will get stuck.
    Stuck,
    /// Done; the manager will kill it.
    Killed,
}

const FAULTS: [Fault; 13] = [
    Fault::None,
    Fault::Lost,
    Fault::Swallowed,
    Fault::Lied,
    Fault::Unnumbered,
    Fault::Refused,
    Fault::RefusedAndDone,
    Fault::TooOften,
    Fault::FailedAndDone,
    Fault::Failed,
    Fault::Stopped,
    Fault::Stuck,
    Fault::Killed,
];

#[derive(Debug, Clone)]
struct Rental {
    id: u64,
    label: String,
    machine: u64,
    at_s: f64,
    stopped: bool,
    fate: Fault,
    /// Readings until it is listed.
    lag: usize,
    gone: bool,
    killed: bool,
    /// What is billed, and readings until that is told.
    billed: Option<f64>,
    told_in: usize,
}

impl Rental {
    fn state(&self, now_s: f64) -> &'static str {
        match self.fate {
            _ if self.killed => "killed",
            _ if self.stopped => "loading",
            Fault::Stuck | Fault::Killed => "params_done",
            _ if now_s - self.at_s > 600.0 => "running",
            _ => "registered",
        }
    }
}

/// When Dwell dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Crash {
    call: usize,
    after_its_effect: bool,
}

/// Credit and what is spent an hour, as an account tells them.
type Credit = Result<Option<(f64, f64)>, FetchError>;

struct Double {
    rentals: RefCell<Vec<Rental>>,
    now_s: Cell<f64>,
    faults: RefCell<Vec<Fault>>,
    /// Readings that fail.
    blind: RefCell<Vec<bool>>,
    lag: usize,
    calls: Cell<usize>,
    crash: Cell<Option<Crash>>,
    crashed: tokio::sync::Notify,
    /// Old ones that were ended while nothing new ran in their place.
    too_early: Cell<usize>,
    orders: Cell<usize>,
    /// Offers do not tell their machines.
    nameless: bool,
    /// What the account tells of its credit, the last one first.
    credit: RefCell<Vec<Credit>>,
    /// What offers cost, by place.
    prices: Vec<Option<f64>>,
    /// What is billed of each order, by its turn, and in how many readings that is told.
    bills: Vec<(Option<f64>, usize)>,
    /// Sum that the last list billed for new ones.
    billed_sum: Cell<f64>,
    /// What may be billed, where that is watched.
    budget: Option<f64>,
    /// Orders beyond a budget that was known to be exceeded, and orders without a price.
    wrong_orders: RefCell<Vec<String>>,
}

const OLDS: u64 = 3;

fn error(code: Code) -> FetchError {
    FetchError { code, message: code.as_str().to_owned(), status: None }
}

impl Double {
    fn new(faults: Vec<Fault>, blind: Vec<bool>, lag: usize, crash: Option<Crash>) -> Self {
        let old = |id: u64| Rental {
            id,
            label: format!("C.{id}"),
            machine: 100 + id,
            at_s: -9_000.0,
            stopped: false,
            fate: Fault::None,
            lag: 0,
            gone: false,
            killed: false,
            billed: Some(0.4),
            told_in: 0,
        };
        Self {
            rentals: RefCell::new((1..=OLDS).map(old).collect()),
            now_s: Cell::new(0.0),
            faults: RefCell::new(faults),
            blind: RefCell::new(blind),
            lag,
            calls: Cell::new(0),
            crash: Cell::new(crash),
            crashed: tokio::sync::Notify::new(),
            too_early: Cell::new(0),
            orders: Cell::new(0),
            nameless: false,
            credit: RefCell::default(),
            prices: vec![Some(0.4); 40],
            bills: Vec::new(),
            billed_sum: Cell::new(0.0),
            budget: None,
            wrong_orders: RefCell::default(),
        }
    }

    /// Dwell dies here, where it is to.
    async fn passes(&self, after: bool) {
        let call = self.calls.get();
        if self.crash.get() == Some(Crash { call, after_its_effect: after }) {
            self.crash.set(None);
            self.crashed.notify_one();
            std::future::pending::<()>().await;
        }
        if after {
            self.calls.set(call + 1);
        }
    }

    fn fault(&self) -> Fault {
        self.faults.borrow_mut().pop().unwrap_or(Fault::None)
    }

    fn reads(&self) -> Result<(), FetchError> {
        if self.blind.borrow_mut().pop().unwrap_or(false) { Err(error(Code::VastSilent)) } else { Ok(()) }
    }

    fn live(&self) -> Vec<Rental> {
        self.rentals.borrow().iter().filter(|it| !it.gone).cloned().collect()
    }

    fn new_ones(&self) -> Vec<Rental> {
        self.live().into_iter().filter(|it| it.id > 1_000).collect()
    }
}

impl Hands for Double {
    async fn send(&self, deed: &Deed, target: &Target) -> Result<(), FetchError> {
        self.passes(false).await;
        let fault = self.fault();
        let done = !matches!(fault, Fault::Swallowed | Fault::Lied | Fault::Refused | Fault::TooOften | Fault::Failed);
        if done {
            let running = self.new_ones().iter().filter(|it| it.state(self.now_s.get()) == "running").count();
            let ended = self.rentals.borrow().iter().filter(|it| it.id <= OLDS && it.gone).count();
            for rental in self.rentals.borrow_mut().iter_mut().filter(|it| Some(it.id) == target.vast_id) {
                match deed {
                    Deed::Start => (rental.stopped, rental.at_s) = (false, self.now_s.get()),
                    _ => {
                        if !rental.gone && running < ended + 1 {
                            self.too_early.set(self.too_early.get() + 1);
                        }
                        (rental.gone, rental.killed) = (true, true);
                    }
                }
            }
        }
        let answer = match fault {
            Fault::Lost | Fault::Swallowed => Err(error(Code::VastSilent)),
            Fault::Refused | Fault::RefusedAndDone => Err(error(Code::Refused)),
            Fault::TooOften => Err(error(Code::TooOften)),
            Fault::FailedAndDone | Fault::Failed => Err(error(Code::VastFailed)),
            _ => Ok(()),
        };
        self.passes(true).await;
        answer
    }

    async fn rentals(&self) -> Result<Vec<SeenRental>, FetchError> {
        self.passes(false).await;
        let read = self.reads();
        let mut listed = Vec::new();
        for rental in self.rentals.borrow_mut().iter_mut().filter(|it| !it.gone) {
            if rental.lag > 0 {
                rental.lag -= 1;
                continue;
            }
            let told = rental.told_in == 0;
            rental.told_in = rental.told_in.saturating_sub(1);
            listed.push(SeenRental {
                dollars_per_h: rental.billed.filter(|_| told),
                vast_id: rental.id,
                actual: None,
                wished: Some(if rental.stopped { "stopped" } else { "running" }.to_owned()),
                label: Some(rental.label.clone()),
                machine: Some(rental.machine),
            });
        }
        self.passes(true).await;
        if read.is_ok() {
            let bills = listed.iter().filter(|it| it.vast_id > 1_000).filter_map(|it| it.dollars_per_h);
            self.billed_sum.set(bills.filter(|it| it.is_finite() && *it > 0.0).sum());
        }
        read.map(|()| listed)
    }

    fn sees_rentals(&self) -> bool {
        true
    }

    async fn owner(&self, vast_id: u64) -> Owner {
        match self.rentals().await {
            Ok(rentals) if rentals.iter().any(|it| it.vast_id == vast_id) => {
                Owner::Is(Account { name: "main".into(), number: None })
            }
            Ok(_) => Owner::Nobody,
            Err(error) => Owner::Unknown(error.message),
        }
    }

    async fn rental(&self, _: Option<&Account>, vast_id: u64) -> AtVast {
        match self.rentals().await {
            Ok(rentals) => rentals.into_iter().find(|it| it.vast_id == vast_id).map_or(AtVast::Absent, AtVast::Rented),
            Err(error) => AtVast::Unknown(error.message),
        }
    }

    fn has_manager(&self) -> bool {
        true
    }

    async fn manager(&self) -> Result<SeenManager, FetchError> {
        self.reads()?;
        let row = |it: &Rental| SeenRow {
            uuid: Some(format!("u{}", it.id)),
            vast_id: Some(it.id),
            is_killed: it.killed,
            is_listed: !it.gone,
            disappeared_at: None,
        };
        // It reads vast.ai's list every minute.
        let read_at_s = (self.now_s.get() / 60.0).floor() * 60.0;
        Ok(SeenManager {
            rows: self.rentals.borrow().iter().map(row).collect(),
            rows_unreadable: 0,
            at: self.now(),
            list_read_at: Some(dwell_fleet::shift(Timestamp::UNIX_EPOCH, read_at_s)),
        })
    }

    async fn manager_log(&self) -> Result<Vec<(Timestamp, String)>, FetchError> {
        Ok(Vec::new())
    }

    async fn banned(&self) -> Result<Vec<String>, FetchError> {
        Ok(Vec::new())
    }

    async fn pause(&self, seconds: f64) {
        self.now_s.set(self.now_s.get() + seconds);
        for rental in self.rentals.borrow_mut().iter_mut() {
            if rental.fate == Fault::Killed && self.now_s.get() - rental.at_s > 900.0 {
                (rental.killed, rental.gone) = (true, true);
            }
        }
        tokio::task::yield_now().await;
    }

    fn now(&self) -> Timestamp {
        dwell_fleet::shift(Timestamp::UNIX_EPOCH, self.now_s.get())
    }
}

impl Rents for Double {
    async fn order(&self, order: &Order, terms: &Terms) -> Result<Option<u64>, FetchError> {
        self.passes(false).await;
        let fault = self.fault();
        self.orders.set(self.orders.get() + 1);
        let id = 1_000 + self.orders.get() as u64;
        if self.budget.is_some_and(|budget| self.billed_sum.get() > budget + 1e-6) {
            self.wrong_orders.borrow_mut().push(format!("{id} at {} $/h known", self.billed_sum.get()));
        }
        if !order.dollars_per_h.is_some_and(|price| price.is_finite() && price > 0.0) {
            self.wrong_orders.borrow_mut().push(format!("{id} for {:?}", order.dollars_per_h));
        }
        let (billed, told_in) = self.bills.get(self.orders.get() - 1).copied().unwrap_or((order.dollars_per_h, 0));
        let done = !matches!(fault, Fault::Swallowed | Fault::Lied | Fault::Refused | Fault::TooOften | Fault::Failed);
        if done {
            self.rentals.borrow_mut().push(Rental {
                id,
                label: if terms.through_manager { format!("C.{id}") } else { order.label.clone() },
                machine: order.machine.unwrap(),
                at_s: self.now_s.get(),
                stopped: fault == Fault::Stopped,
                fate: fault,
                lag: self.lag,
                gone: false,
                killed: false,
                billed,
                told_in,
            });
        }
        let answer = match fault {
            Fault::Lost | Fault::Swallowed => Err(error(Code::VastSilent)),
            Fault::Refused | Fault::RefusedAndDone => Err(error(Code::Refused)),
            Fault::TooOften => Err(error(Code::TooOften)),
            Fault::FailedAndDone | Fault::Failed => Err(error(Code::VastFailed)),
            Fault::Unnumbered => Ok(None),
            _ => Ok(Some(id)),
        };
        self.passes(true).await;
        answer
    }

    async fn market(&self, _: &Terms) -> Result<Vec<OfferView>, ApiError> {
        let taken: HashSet<u64> = self.live().iter().map(|it| it.machine).collect();
        let machine = |offer: OfferView| OfferView { machine_id: offer.machine_id.filter(|_| !self.nameless), ..offer };
        let offers = (0_u64..).zip(&self.prices).filter(|(n, _)| !taken.contains(&(500 + n)));
        Ok(offers.map(|(n, price)| machine(offer(7_000 + n, 500 + n, *price))).collect())
    }

    async fn standings(&self) -> Result<Vec<Standing>, ApiError> {
        self.passes(false).await;
        let now_s = self.now_s.get();
        let standing = |it: &Rental| Standing {
            vast_id: Some(it.id),
            state: it.state(now_s).to_owned(),
            kill_reason: it.killed.then(|| "benchmark timeout (45min)".to_owned()),
            stuck: (it.fate == Fault::Stuck && now_s - it.at_s > 1_200.0).then(|| "stalled".to_owned()),
        };
        let all = self.rentals.borrow().iter().filter(|it| !it.gone || it.killed).map(standing).collect();
        self.passes(true).await;
        Ok(all)
    }

    async fn credit(&self) -> Result<Option<(f64, f64)>, FetchError> {
        self.credit.borrow_mut().pop().unwrap_or(Ok(None))
    }
}

fn offer(id: u64, machine: u64, dollars_per_h: Option<f64>) -> OfferView {
    let told = serde_json::json!({
        "id": id, "machine_id": machine, "rented_before": 0, "proved_before": 0,
        "stuck_before": 0, "why_not": [],
    });
    OfferView { dollars_per_h, ..serde_json::from_value(told).unwrap() }
}

fn terms(at_once: usize) -> Terms {
    Terms {
        through_manager: false,
        image: Some("example/curio:2".into()),
        onstart: None,
        env: vec![],
        disk_gb: 250.0,
        min_rate: None,
        dollars_per_proof_max: None,
        at_once,
        extra_dollars_per_h: 0.4 * at_once as f64 + 0.5,
        running_within_s: 9_000.0,
        credit_lasts_h: 0.0,
        market: serde_json::from_str::<OffersRequest>("{}").unwrap(),
        offer_ids: vec![],
        why: "a fix".into(),
    }
}

fn replacing(count: u64) -> Vec<Option<OldOne>> {
    let old = |id: u64| OldOne {
        id: format!("u{id}"),
        uuid: Some(format!("u{id}")),
        vast_id: Some(id),
        machine: Some(100 + id),
        account: None,
        dollars_per_h: Some(0.4),
    };
    (1..=count).map(|id| Some(old(id))).collect()
}

/// Plays a rollout to its end: whenever Dwell dies it is begun anew, whenever it pauses it is resumed a few times.
fn play(double: &Double, terms: &Terms, olds: Vec<Option<OldOne>>) -> (Vec<Item>, RolloutRecord, Vec<String>) {
    let journal: Journal = Arc::new(Mutex::new(History::in_memory().unwrap()));
    journal.lock().unwrap().add_rollout(&record_of(double, terms, olds)).unwrap();
    play_on(double, &journal)
}

fn record_of(double: &Double, terms: &Terms, olds: Vec<Option<OldOne>>) -> RolloutRecord {
    record(("r".into(), "http://m".into(), None), terms, &items(olds, double.now()), double.now())
}

fn play_on(double: &Double, journal: &Journal) -> (Vec<Item>, RolloutRecord, Vec<String>) {
    let patience = Patience { between_s: 15.0, readings: 8, tries: 3, leaves_open: false };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut said = Vec::new();
    for _ in 0..12 {
        let kept = journal.lock().unwrap().rollout("r").unwrap().unwrap();
        if kept.state == "ended" {
            break;
        }
        journal.lock().unwrap().set_rollout("r", &["paused"], "going", "", &kept.process).unwrap();
        let runner = Runner::new(double, journal, patience, &kept).unwrap();
        runtime.block_on(async {
            tokio::select! {
                ran = runner.run(Arc::new(|| Ok(()))) => ran.unwrap(),
                () = double.crashed.notified() => {}
            }
        });
        let kept = journal.lock().unwrap().rollout("r").unwrap().unwrap();
        if kept.state == "paused" {
            said.push(kept.says);
        }
    }
    let acts = journal.lock().unwrap().acts(1_000).unwrap();
    said.extend(acts.into_iter().filter(|act| act.phase == "incident").map(|act| act.text));
    let kept = journal.lock().unwrap().rollout("r").unwrap().unwrap();
    (kept.items.iter().map(|it| Item::read(it).unwrap()).collect(), kept, said)
}

/// What must hold whatever happened.
fn check(double: &Double, items: &[Item], said: &[String]) -> Result<(), TestCaseError> {
    let known: HashSet<u64> = items.iter().filter_map(|item| item.body.vast_id).collect();
    for rental in double.new_ones() {
        let told = said.iter().any(|says| says.contains(&rental.id.to_string()));
        prop_assert!(known.contains(&rental.id) || told, "rental {} is nobody's, and nobody was told: {said:?}", rental.id);
    }
    prop_assert_eq!(double.too_early.get(), 0, "an old one was ended before a new one ran");
    for item in items.iter().filter(|item| item.stand == Stand::Done) {
        let new = double.new_ones().into_iter().find(|it| Some(it.id) == item.body.vast_id);
        prop_assert_eq!(new.map(|it| it.state(double.now_s.get())), Some("running"));
        if let Some(old) = &item.body.old {
            prop_assert!(!double.live().iter().any(|it| Some(it.id) == old.vast_id));
        }
    }
    for item in items.iter().filter(|item| matches!(item.stand, Stand::Waiting | Stand::Left)) {
        if let Some(old) = &item.body.old {
            prop_assert!(double.live().iter().any(|it| Some(it.id) == old.vast_id), "an old one is gone, and nothing came");
        }
    }
    Ok(())
}

#[test]
fn everybody_is_replaced_one_after_the_other() {
    let double = Double::new(vec![], vec![], 0, None);
    let (items, record, said) = play(&double, &terms(1), replacing(OLDS));
    assert_eq!((record.state.as_str(), record.says.as_str(), said.len()), ("ended", "3 of 3 done", 0));
    check(&double, &items, &said).unwrap();
    assert_eq!((double.orders.get(), double.live().len()), (3, 3));
    // One at a time: each took as long as it takes to run.
    assert!(double.now_s.get() > 1_800.0);
}

#[test]
fn a_replacement_that_gets_stuck_stops_it_and_the_old_one_stays() {
    let double = Double::new(vec![Fault::Stuck], vec![], 0, None);
    let (items, record, said) = play(&double, &terms(1), replacing(1));
    assert_eq!((items[0].stand, said.len()), (Stand::Failed, 0));
    assert!(double.live().iter().any(|it| it.id == 1));
    assert_eq!((record.state.as_str(), record.says.as_str()), ("ended", "0 of 1 done, 1 failed: 1001 stuck: stalled"));
    let double = Double::new(vec![Fault::Stuck], vec![], 0, None);
    let (items, _, said) = play(&double, &terms(1), replacing(2));
    assert!(said[0].contains("stuck: stalled") && said[0].contains("stays as it is"), "{said:?}");
    assert_eq!((items[0].stand, items[1].stand), (Stand::Failed, Stand::Done), "a person resumed it");
}

#[test]
fn a_wave_that_fails_the_same_way_is_stopped() {
    let double = Double::new(vec![Fault::Killed; 9], vec![], 0, None);
    let (_, _, said) = play(&double, &terms(2), vec![None; 6]);
    assert!(said[0].contains("2 new ones failed the same way and none runs: killed: benchmark timeout"), "{said:?}");
    let one = Double::new(vec![Fault::None, Fault::Killed], vec![], 0, None);
    let (items, record, _) = play(&one, &terms(2), vec![None; 3]);
    assert_eq!(
        (record.state.as_str(), record.says.as_str()),
        ("ended", "2 of 3 done, 1 failed: 1001 killed: benchmark timeout (45min)"),
        "{items:?}"
    );
}

#[test]
fn no_more_is_spent_than_is_allowed() {
    let double = Double::new(vec![], vec![], 0, None);
    let tight = Terms { extra_dollars_per_h: 0.3, ..terms(2) };
    let (_, _, said) = play(&double, &tight, replacing(2));
    assert!(said[0].contains("no offer fits") && said[0].contains("0.30 $/h extra are allowed"), "{said:?}");
    assert_eq!(double.orders.get(), 0);
    let for_two = Terms { extra_dollars_per_h: 0.85, ..terms(5) };
    let double = Double::new(vec![], vec![], 0, None);
    let (items, record, said) = play(&double, &for_two, vec![None; 3]);
    assert_eq!((double.orders.get(), record.state.as_str()), (2, "paused"), "{said:?}");
    assert_eq!(items.iter().filter(|it| it.stand == Stand::Done).count(), 2);
}

/// Offered at 0.35 and billed at 5.00: the first bill stops it, and nothing more is ordered however often it is resumed.
#[test]
fn what_is_billed_counts_and_not_what_was_offered() {
    let dear = |told_in| Double {
        prices: vec![Some(0.35); 40],
        bills: vec![(Some(5.0), told_in); 9],
        budget: Some(1.2),
        ..Double::new(vec![], vec![], 0, None)
    };
    let within = Terms { extra_dollars_per_h: 1.2, ..terms(1) };
    let double = dear(0);
    let (items, record, said) = play(&double, &within, vec![None; 3]);
    assert_eq!((double.orders.get(), record.state.as_str()), (1, "paused"), "{said:?}");
    let says = "over budget: what it rented costs 5.00 $/h extra, and 1.20 are allowed (1001: 5.00 $/h billed, 0.35 offered)";
    assert!(said[0].starts_with(says) && said[1].starts_with(says), "{said:?}");
    assert_eq!(said.last().unwrap(), "1001 is billed at 5.00 $/h and was offered at 0.35");
    assert_eq!((items[0].stand, items[1].stand), (Stand::Done, Stand::Waiting), "what runs is followed, and nothing destroyed");
    // A bill that comes late is counted when it comes; till then the offer counts.
    let late = dear(4);
    let (items, record, said) = play(&late, &Terms { at_once: 3, ..within.clone() }, vec![None; 3]);
    assert_eq!((late.orders.get(), record.state.as_str()), (3, "ended"), "{said:?}");
    assert_eq!(record.says, "3 of 3 done; over budget: it costs 15.00 $/h extra, and 1.20 are allowed");
    assert!((extra(&items) - 15.0).abs() < 1e-9 && said.len() == 3, "{said:?}");
    // Destroyed by a person, it counts no more: the rest is ordered.
    let double = Double { bills: vec![(Some(5.0), 0)], ..dear(0) };
    let journal: Journal = Arc::new(Mutex::new(History::in_memory().unwrap()));
    let kept = record_of(&double, &within, vec![None; 3]);
    journal.lock().unwrap().add_rollout(&kept).unwrap();
    let (_, record, _) = play_on(&double, &journal);
    assert_eq!((double.orders.get(), record.state.as_str()), (1, "paused"));
    double.rentals.borrow_mut().iter_mut().filter(|it| it.id == 1_001).for_each(|it| it.gone = true);
    let (items, record, said) = play_on(&double, &journal);
    assert_eq!((double.orders.get(), record.says.as_str()), (3, "3 of 3 done"), "{said:?}");
    assert!((extra(&items) - 0.7).abs() < 1e-9, "{items:?}");
}

/// Where an old one is replaced by what is billed higher, a person decides; resumed, the old one goes, and nothing counts extra.
#[test]
fn a_dear_replacement_is_told_before_the_old_one_goes() {
    let double = Double { bills: vec![(Some(5.0), 2)], ..Double::new(vec![], vec![], 0, None) };
    let (items, record, said) = play(&double, &terms(1), replacing(1));
    assert!(said[0].contains("over budget: what it rented costs 5.00 $/h extra, and 0.90 are allowed"), "{said:?}");
    assert_eq!((record.says.as_str(), extra(&items)), ("1 of 1 done", 0.0));
}

/// A bill a little above its offer is counted, and nobody is bothered with it.
#[test]
fn a_bill_within_the_margin_is_counted_and_not_told() {
    let double = Double { bills: vec![(Some(0.42), 0); 2], ..Double::new(vec![], vec![], 0, None) };
    let (items, _, said) = play(&double, &Terms { extra_dollars_per_h: 0.9, ..terms(1) }, vec![None; 2]);
    assert_eq!((double.orders.get(), said.len()), (2, 0), "{said:?}");
    assert!((extra(&items) - 0.84).abs() < 1e-9);
    // The manager's offers have hardly any disk in their price: what that costs is no surprise, and counts.
    let bills = vec![(Some(0.52), 0), (Some(0.56), 0)];
    let double = Double { bills, ..Double::new(vec![], vec![], 0, None) };
    let by_manager = Terms { extra_dollars_per_h: 1.2, through_manager: true, ..terms(1) };
    let (items, _, said) = play(&double, &by_manager, vec![None; 2]);
    assert!((extra(&items) - 1.08).abs() < 1e-9, "{items:?}");
    assert_eq!(said, ["1002 is billed at 0.56 $/h and was offered at 0.40"]);
    // A bill that is none lowers nothing.
    for none in [Some(-3.0), Some(f64::NAN), Some(f64::INFINITY), None] {
        let double = Double { bills: vec![(none, 0)], ..Double::new(vec![], vec![], 0, None) };
        let (items, _, _) = play(&double, &terms(1), vec![None]);
        assert!((extra(&items) - 0.4).abs() < 1e-9, "{none:?} {items:?}");
    }
}

#[test]
fn an_offer_without_a_price_is_not_taken() {
    let none = vec![None, Some(-0.4), Some(0.0), Some(f64::NAN), Some(f64::INFINITY), Some(f64::NEG_INFINITY)];
    let double = Double { prices: none.clone(), ..Double::new(vec![], vec![], 0, None) };
    let (_, _, said) = play(&double, &terms(1), replacing(1));
    assert_eq!((double.orders.get(), said[0].as_str()), (0, "no offer can work: 6 came"));
    let double = Double { prices: none.into_iter().chain([Some(0.4)]).collect(), ..Double::new(vec![], vec![], 0, None) };
    let (items, record, _) = play(&double, &terms(1), replacing(1));
    assert_eq!((record.says.as_str(), items[0].body.order.as_ref().unwrap().offer), ("1 of 1 done", 7_006));
}

#[test]
fn an_order_without_an_answer_is_found_and_not_sent_again() {
    for fault in [Fault::Lost, Fault::FailedAndDone, Fault::Unnumbered] {
        for lag in 0..4 {
            let double = Double::new(vec![fault], vec![], lag, None);
            let (items, record, _) = play(&double, &terms(1), replacing(1));
            assert_eq!((double.orders.get(), record.state.as_str()), (1, "ended"), "{fault:?}");
            check(&double, &items, &[]).unwrap();
        }
    }
    // What was not taken is tried elsewhere, after readings that agree.
    let double = Double::new(vec![Fault::Swallowed], vec![], 0, None);
    let (items, record, _) = play(&double, &terms(1), replacing(1));
    assert_eq!((double.orders.get(), record.says.as_str()), (2, "1 of 1 done"));
    assert_eq!(items[0].body.given_up.len(), 1);
    // While nobody can look, nothing is ordered.
    let blind = Double::new(vec![], vec![true; 99], 0, None);
    play(&blind, &terms(1), replacing(1));
    assert!(blind.now_s.get() > 98.0 * 15.0 && blind.orders.get() == 1, "{}", blind.orders.get());
}

#[test]
fn what_was_left_stopped_is_started_once() {
    let double = Double::new(vec![Fault::Stopped], vec![], 0, None);
    let (items, record, _) = play(&double, &terms(1), replacing(1));
    assert_eq!((record.says.as_str(), items[0].body.started), ("1 of 1 done", true));
}

#[test]
fn what_is_not_begun_can_be_taken_back() {
    let journal: Journal = Arc::new(Mutex::new(History::in_memory().unwrap()));
    let kept = record(
        ("r".into(), "http://m".into(), None),
        &terms(1),
        &items(replacing(3), Timestamp::UNIX_EPOCH),
        Timestamp::UNIX_EPOCH,
    );
    journal.lock().unwrap().add_rollout(&kept).unwrap();
    let elsewhere = take_back(&journal, "r", "http://other", Timestamp::UNIX_EPOCH).unwrap_err();
    assert_eq!(elsewhere.code, "other-fleet", "{elsewhere}");
    assert_eq!(crate::act::rolling::pause(&journal, "r", "http://other").unwrap_err().code, "other-fleet");
    assert_eq!(take_back(&journal, "r", "http://m", Timestamp::UNIX_EPOCH).unwrap(), 3);
    assert_eq!(take_back(&journal, "r", "http://m", Timestamp::UNIX_EPOCH).unwrap(), 0);
    let double = Double::new(vec![], vec![], 0, None);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    // A runner that read it before does not begin what was taken back.
    let runner = Runner::new(&double, &journal, Patience::default(), &kept).unwrap();
    runtime.block_on(runner.run(Arc::new(|| Ok(())))).unwrap();
    let kept = journal.lock().unwrap().rollout("r").unwrap().unwrap();
    assert_eq!((double.orders.get(), kept.says.as_str()), (0, "all of it was taken back"));
    assert_eq!(take_back(&journal, "x", "http://m", Timestamp::UNIX_EPOCH).unwrap_err().code, "unknown-rollout");
}

#[test]
fn a_fleet_that_is_made_read_only_is_left_as_it_is() {
    let journal: Journal = Arc::new(Mutex::new(History::in_memory().unwrap()));
    let kept = record(
        ("r".into(), "http://m".into(), None),
        &terms(1),
        &items(replacing(1), Timestamp::UNIX_EPOCH),
        Timestamp::UNIX_EPOCH,
    );
    journal.lock().unwrap().add_rollout(&kept).unwrap();
    let double = Double::new(vec![], vec![], 0, None);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let runner = Runner::new(&double, &journal, Patience::default(), &kept).unwrap();
    runtime.block_on(runner.run(Arc::new(|| Err("the fleet was made read-only".into())))).unwrap();
    let kept = journal.lock().unwrap().rollout("r").unwrap().unwrap();
    assert_eq!((kept.state.as_str(), kept.says.as_str(), double.calls.get()), ("paused", "the fleet was made read-only", 0));
}

#[test]
fn a_credit_that_is_short_or_cannot_be_read_is_not_spent() {
    let within = Terms { credit_lasts_h: 6.0, ..terms(1) };
    let short = Double::new(vec![], vec![], 0, None);
    *short.credit.borrow_mut() = vec![Ok(Some((10.0, 3.0))); 99];
    let (_, _, said) = play(&short, &within, replacing(1));
    assert!(short.orders.get() == 0 && said[0].contains("would last 2.9 h with one more"), "{said:?}");
    // A debt is no credit, and what is no number is not told.
    let debt = Double::new(vec![], vec![], 0, None);
    *debt.credit.borrow_mut() = vec![Ok(Some((-10.0, 3.0))); 99];
    let (_, _, said) = play(&debt, &terms(1), replacing(1));
    assert!(debt.orders.get() == 0 && said[0].contains("the credit of -10.00 dollars would last 0.0 h"), "{said:?}");
    let odd = Double::new(vec![], vec![], 0, None);
    *odd.credit.borrow_mut() = vec![Ok(Some((f64::NAN, 3.0))), Ok(Some((100.0, -3.0))), Ok(Some((100.0, f64::INFINITY)))];
    let (_, record, _) = play(&odd, &within, replacing(1));
    assert!(record.says == "1 of 1 done" && odd.now_s.get() > 3.0 * 15.0, "{record:?}");
    // Not told for a while: it waits until it is.
    let late = Double::new(vec![], vec![], 0, None);
    *late.credit.borrow_mut() = vec![Err(error(Code::VastSilent)); 8];
    let (_, record, _) = play(&late, &within, replacing(1));
    assert!(record.says == "1 of 1 done" && late.now_s.get() > 8.0 * 15.0, "{record:?}");
}

/// A replacement that comes to run while it is paused waits with its old one.
#[test]
fn nobody_is_ended_while_it_is_paused() {
    let journal: Journal = Arc::new(Mutex::new(History::in_memory().unwrap()));
    let double = Double::new(vec![], vec![], 0, None);
    let kept = record(("r".into(), "http://m".into(), None), &terms(1), &items(replacing(1), double.now()), double.now());
    journal.lock().unwrap().add_rollout(&kept).unwrap();
    let patience = Patience { between_s: 15.0, readings: 8, tries: 3, leaves_open: false };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let stand = || Item::read(&journal.lock().unwrap().rollout("r").unwrap().unwrap().items[0]).unwrap().stand;
    let pausing = Arc::clone(&journal);
    // Paused as soon as something is on its way.
    let may_act: MayAct = Arc::new(move || {
        let journal = pausing.lock().unwrap();
        let kept = journal.rollout("r").unwrap().unwrap();
        if kept.items[0].state == "coming" {
            journal.set_rollout("r", &["going"], "paused", "paused by a person", &kept.process).unwrap();
        }
        Ok(())
    });
    runtime.block_on(Runner::new(&double, &journal, patience, &kept).unwrap().run(may_act)).unwrap();
    assert_eq!((stand(), double.live().len()), (Stand::Retiring, 4), "the new one runs, and the old one is still there");
    let kept = journal.lock().unwrap().rollout("r").unwrap().unwrap();
    journal.lock().unwrap().set_rollout("r", &["paused"], "going", "", &kept.process).unwrap();
    runtime.block_on(Runner::new(&double, &journal, patience, &kept).unwrap().run(Arc::new(|| Ok(())))).unwrap();
    assert_eq!((stand(), double.live().len()), (Stand::Done, 3));
}

/// A person destroys what a rollout is about to retire: the rollout waits for what comes of that.
#[test]
fn what_somebody_ends_already_is_not_ended_twice() {
    const ROUNDS: usize = 5;
    let journal: Journal = Arc::new(Mutex::new(History::in_memory().unwrap()));
    let double = Double::new(vec![], vec![], 0, None);
    let kept = record(("r".into(), "http://m".into(), None), &terms(1), &items(replacing(1), double.now()), double.now());
    journal.lock().unwrap().add_rollout(&kept).unwrap();
    let runner = Runner::new(&double, &journal, Patience::default(), &kept).unwrap();
    let by_hand = ActEntry {
        plan: "by hand".into(),
        deed: "destroy".into(),
        target: "1".into(),
        vast_id: Some(1),
        phase: "sent".into(),
        ..runner.entry(&Order::default())
    };
    journal.lock().unwrap().add_act(&by_hand).unwrap();
    let (of_person, waited) = (Arc::clone(&journal), Arc::new(Mutex::new(Vec::new())));
    let texts = Arc::clone(&waited);
    let may_act: MayAct = Arc::new(move || {
        let journal = of_person.lock().unwrap();
        let item = Item::read(&journal.rollout("r").unwrap().unwrap().items[0]).unwrap();
        if item.stand == Stand::Retiring {
            texts.lock().unwrap().push(item.body.text);
            if texts.lock().unwrap().len() == ROUNDS {
                journal.add_act(&ActEntry { phase: "incident".into(), ..by_hand.clone() }).unwrap();
            }
        }
        Ok(())
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(runner.run(may_act)).unwrap();
    let waited = waited.lock().unwrap();
    assert_eq!(waited.len(), ROUNDS, "{waited:?}");
    assert!(waited[1..].iter().all(|text| text.contains("something is being done to u1 already")), "{waited:?}");
    let kept = journal.lock().unwrap().rollout("r").unwrap().unwrap();
    assert_eq!((kept.says.as_str(), double.live().len()), ("1 of 1 done", 3));
}

#[test]
fn through_the_manager_only_what_can_be_found_again_is_ordered() {
    let double = Double { nameless: true, ..Double::new(vec![], vec![], 0, None) };
    let (_, _, said) = play(&double, &Terms { through_manager: true, ..terms(1) }, replacing(1));
    assert!(double.orders.get() == 0 && said[0].contains("no offer fits"), "{said:?}");
}

/// Dwell dies at every call of a rolling replacement, before it has an effect and after: it goes on without a double deploy.
#[test]
fn dying_at_any_call_deploys_nothing_twice() {
    let calls = {
        let whole = Double::new(vec![], vec![], 1, None);
        play(&whole, &terms(2), replacing(OLDS));
        whole.calls.get()
    };
    assert!(calls > 100, "{calls}");
    for call in 0..calls {
        for after_its_effect in [false, true] {
            let double = Double::new(vec![], vec![], 1, Some(Crash { call, after_its_effect }));
            let (items, record, said) = play(&double, &terms(2), replacing(OLDS));
            assert_eq!(
                (record.state.as_str(), record.says.as_str()),
                ("ended", "3 of 3 done"),
                "{call} {after_its_effect} {said:?}"
            );
            check(&double, &items, &said).unwrap();
            assert_eq!(double.new_ones().len(), 3, "died at call {call}");
        }
    }
}

fn a_price() -> impl Strategy<Value = Option<f64>> {
    let odd = [None, Some(0.0), Some(-0.4), Some(f64::NAN), Some(f64::INFINITY), Some(f64::NEG_INFINITY)];
    prop_oneof![4 => (0.05..1.5_f64).prop_map(Some), 1 => prop::sample::select(odd.to_vec())]
}

proptest! {
    /// Whatever is offered and billed, and however late that is told: no order is sent once the bills that are known exceed the
    /// budget, and none without a price of its own; whatever goes wrong with calls, and wherever Dwell dies.
    #[test]
    fn nothing_is_ordered_beyond_a_budget_that_is_known_to_be_exceeded(
        prices in prop::collection::vec(a_price(), 0..40),
        bills in prop::collection::vec((prop_oneof![a_price(), (0.0..9.0_f64).prop_map(Some)], 0usize..60), 0..12),
        budget in 0.1..3.0_f64,
        faults in prop::collection::vec(0usize..FAULTS.len(), 0..8),
        blind in prop::collection::vec(prop::bool::weighted(0.2), 0..40),
        lag in 0usize..3,
        call in 0usize..300,
        at_once in 1usize..4,
        through_manager: bool,
    ) {
        let faults: Vec<Fault> = faults.into_iter().map(|it| FAULTS[it]).collect();
        let crash = Crash { call, after_its_effect: call % 2 == 0 };
        let double = Double { prices, bills, budget: Some(budget), ..Double::new(faults, blind, lag, Some(crash)) };
        let terms = Terms { extra_dollars_per_h: budget, through_manager, ..terms(at_once) };
        let (items, _, said) = play(&double, &terms, vec![None; 5]);
        prop_assert!(double.wrong_orders.borrow().is_empty(), "{:?} of {budget}: {said:?}", double.wrong_orders.borrow());
        check(&double, &items, &said)?;
    }

    /// Whatever goes wrong with calls and readings, and wherever Dwell dies: nothing is rented that nobody knows of, nothing is ended
    /// before its replacement runs.
    #[test]
    fn nothing_is_rented_unknown_and_nothing_ended_early(
        faults in prop::collection::vec(0usize..FAULTS.len(), 0..12),
        blind in prop::collection::vec(prop::bool::weighted(0.25), 0..60),
        lag in 0usize..4,
        call in 0usize..400,
        after_its_effect: bool,
        at_once in 1usize..4,
        deploys: bool,
        through_manager: bool,
    ) {
        let faults: Vec<Fault> = faults.into_iter().map(|it| FAULTS[it]).collect();
        let double = Double::new(faults, blind, lag, Some(Crash { call, after_its_effect }));
        let olds = if deploys { vec![None; 3] } else { replacing(OLDS) };
        let terms = Terms { extra_dollars_per_h: 9.0, through_manager, ..terms(at_once) };
        let (items, _, said) = play(&double, &terms, olds);
        check(&double, &items, &said)?;
    }
}
