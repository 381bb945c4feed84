//! The hands that reach a real manager and vast.ai, and those of a simulation, which answer over the same protocols.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use dwell_clients::{Code, Create, FetchError, ManagerClient, VastClient};
use dwell_fleet::look::VastRecord;
use dwell_fleet::{FlagKind, Row, State, Timestamp};
use dwell_wire::DeployRequest;
use tokio::sync::{mpsc, oneshot};

use super::Scope;
use super::perform::{Account, AtVast, Deed, Hands, Owner, SeenManager, SeenRental, SeenRow, Target};
use super::rollout::{Order, Rents, Standing, Terms};
use crate::ApiError;
use crate::drive::{Ask, Clock, KeptDeed, ask_watch, watch_ended};
use crate::dto::{FleetView, OfferView, Rentals};
use crate::keys;
use crate::offers::{self, Past};
use crate::rentals;

/// Longest wait for the keychain: a person may have to unlock it.
const KEY_WITHIN: Duration = Duration::from_secs(60);
/// A pause in a simulation that runs fast is shorter, but never nothing, seconds.
const PAUSE_LEAST_S: f64 = 0.05;

/// Lines of the manager's own log that are read to see what came of a deed.
const LOG_LINES: usize = 2_000;
/// How the manager's reasons for a kill begin that its list of vast.ai gave.
const DISAPPEARED: &str = "instance disappeared";

/// A question to the watch over a fleet, and its answer.
pub(crate) type Asked<T> = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Result<T, ApiError>> + Send>> + Send + Sync>;

/// The watch over the fleet, for those who follow what they have done.
#[derive(Clone)]
pub(crate) struct Watching {
    /// What it sees now.
    pub(crate) fleet: Asked<FleetView>,
    /// What it has seen, as far as it tells of offers.
    pub(crate) past: Asked<Past>,
}

impl Watching {
    /// By a watch that goes on without them.
    pub(crate) fn of(asks: mpsc::WeakSender<Ask>) -> Self {
        let of_past = asks.clone();
        Self {
            fleet: Arc::new(move || {
                let asks = asks.clone();
                Box::pin(async move { ask_watch(&asks.upgrade().ok_or_else(watch_ended)?, Ask::Fresh).await? })
            }),
            past: Arc::new(move || {
                let asks = of_past.clone();
                let read = |reply: oneshot::Sender<Result<Past, ApiError>>| {
                    Ask::Kept(KeptDeed(Box::new(move |driver| drop(reply.send(driver.with_kept(offers::past))))))
                };
                Box::pin(async move { ask_watch(&asks.upgrade().ok_or_else(watch_ended)?, read).await? })
            }),
        }
    }
}

impl std::fmt::Debug for Watching {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watching")
    }
}

/// Hands, and eyes that follow what they have rented.
#[derive(Debug, Clone)]
pub(crate) struct Renter {
    pub(crate) hands: LiveHands,
    pub(crate) watching: Watching,
}

/// A manager, and the accounts whose keys could be had.
#[derive(Debug, Clone)]
pub(crate) struct LiveHands {
    /// The watch whose fleet they reach.
    scope: Scope,
    pub(crate) manager: Option<ManagerClient>,
    pub(crate) vast: Vec<VastClient>,
    /// Accounts that cannot be asked, and why: what they list is not known.
    lacking: Vec<(String, ApiError)>,
    pub(crate) clock: Clock,
}

fn lacking(what: &str) -> FetchError {
    FetchError { code: Code::Refused, message: what.to_owned(), status: None }
}

fn incomplete(why: &str) -> FetchError {
    FetchError { code: Code::ListIncomplete, message: why.to_owned(), status: None }
}

fn seen_rental(vast_id: u64, record: VastRecord, machine: Option<u64>) -> SeenRental {
    SeenRental {
        vast_id,
        actual: record.actual_status,
        wished: record.intended_status,
        label: record.label,
        machine,
        dollars_per_h: record.dollars_per_h,
    }
}

/// Whether a row of the manager's shows vast.ai's record as it stands in its list. Of what has left the list it keeps a number, a price
/// and a place, and no more.
pub(super) fn is_on_its_list(row: &Row) -> bool {
    let vast = &row.vast;
    let told = [
        vast.start_date.is_some(),
        vast.driver_version.is_some(),
        vast.status_msg.is_some(),
        vast.disk_space_gb.is_some(),
        vast.cuda_version.is_some(),
        vast.reliability.is_some(),
    ];
    row.vast_id.is_some() && told.contains(&true)
}

impl LiveHands {
    /// Hands of a watch: they carry out what was planned in it.
    pub(crate) fn of(scope: Scope, manager: Option<ManagerClient>, vast: Vec<VastClient>, clock: Clock) -> Self {
        Self { scope, manager, vast, lacking: Vec::new(), clock }
    }

    /// With accounts that are known and cannot be asked.
    #[must_use]
    pub(crate) fn lacking(self, lacking: Vec<(String, ApiError)>) -> Self {
        Self { lacking, ..self }
    }

    /// The watch that they belong to.
    pub(crate) fn scope(&self) -> &Scope {
        &self.scope
    }

    fn its_manager(&self) -> Result<&ManagerClient, FetchError> {
        self.manager.as_ref().ok_or_else(|| lacking("there is no manager to ask"))
    }

    /// Credit of the account that rents, US dollars, and what it spends an hour; `None` where nobody can be asked, or it is not told.
    pub(crate) async fn credit(&self) -> Result<Option<(f64, f64)>, FetchError> {
        let Some(client) = self.vast.first() else { return Ok(None) };
        let Some(credit) = client.user().await?.credit_dollars else { return Ok(None) };
        let list = client.list().await?;
        let (spends, all_told) = list.dollars_per_h();
        // What is spent beside what is known is not nothing.
        let rentals = list.whole()?;
        match spends.filter(|_| all_told) {
            Some(spends) => Ok(Some((credit, spends))),
            None => Err(incomplete(&format!("the prices of some of {} rentals are not told", rentals.len()))),
        }
    }

    /// What the accounts list, beside the fleet's rows.
    pub(crate) async fn listed(&self, fleet: Option<&FleetView>) -> Option<Rentals> {
        if self.vast.is_empty() && self.lacking.is_empty() {
            return None;
        }
        Some(rentals::joined(rentals::of_accounts(&self.vast, &self.lacking).await, fleet, self.clock.now()))
    }

    /// Why what is in no list that could be read may be rented all the same: an account cannot be asked.
    fn unasked(&self) -> Option<String> {
        if self.vast.is_empty() && self.lacking.is_empty() {
            return Some("vast.ai cannot be asked: no key of an account is known".to_owned());
        }
        self.lacking.first().map(|(name, error)| format!("account {name:?} cannot be asked: {}", error.message))
    }

    fn of_account(&self, account: &Account) -> Result<&VastClient, FetchError> {
        let its = self.vast.iter().find(|client| client.account() == account.name);
        its.ok_or_else(|| lacking(&format!("account {:?}, which had listed it, cannot be asked", account.name)))
    }

    /// The account that lists a rental, of all that can be asked.
    async fn lister(&self, vast_id: u64) -> Result<Option<&VastClient>, String> {
        let mut unknown = self.unasked();
        for client in &self.vast {
            match client.list().await {
                Ok(list) => match list.has(vast_id) {
                    Some(true) => return Ok(Some(client)),
                    Some(false) => {}
                    None => unknown = unknown.or_else(|| Some(format!("vast.ai's list is incomplete: {}", list.incomplete?))),
                },
                Err(error) => unknown = unknown.or(Some(error.message)),
            }
        }
        unknown.map_or(Ok(None), Err)
    }

    /// The accounts that can be asked, with vast.ai's numbers of them.
    pub(crate) async fn accounts(&self) -> Vec<Account> {
        let mut accounts = Vec::new();
        for client in &self.vast {
            accounts.push(account_of(client).await);
        }
        accounts
    }

    /// The client that reaches a rental: its account's, else that of the account which lists it.
    async fn client_for(&self, target: &Target) -> Result<(&VastClient, u64), FetchError> {
        let id = target.vast_id.ok_or_else(|| lacking("vast.ai's number of it is not known"))?;
        if let Some(account) = &target.account {
            return Ok((self.of_account(account)?, id));
        }
        match self.lister(id).await {
            Ok(Some(client)) => Ok((client, id)),
            Ok(None) => Err(FetchError { code: Code::NoSuchInstance, message: format!("no account lists {id}"), status: None }),
            Err(why) if self.vast.is_empty() => Err(lacking(&why)),
            Err(why) => Err(incomplete(&format!("it is not known whose rental {id} is ({why})"))),
        }
    }
}

async fn account_of(client: &VastClient) -> Account {
    Account { name: client.account().to_owned(), number: client.user().await.ok().and_then(|user| user.id) }
}

impl Hands for LiveHands {
    async fn send(&self, deed: &Deed, target: &Target) -> Result<(), FetchError> {
        if target.fleet != self.scope.fleet() {
            let words = format!("{} is of the fleet at {}, and this one is at {}", target.id, target.fleet, self.scope.fleet());
            return Err(lacking(&words));
        }
        let machine = || target.machine.map(|id| id.to_string()).ok_or_else(|| lacking("its machine is not known"));
        match deed {
            Deed::Kill => {
                let uuid = target.uuid.as_deref().ok_or_else(|| lacking("the manager has given it no id yet"))?;
                self.its_manager()?.kill(uuid, target.vast_id).await
            }
            Deed::Ban(reason) => self.its_manager()?.ban(&machine()?, reason).await,
            Deed::Unban => self.its_manager()?.unban(&machine()?).await,
            Deed::Destroy | Deed::Stop | Deed::Start | Deed::Reboot | Deed::Label(_) => {
                let (client, id) = self.client_for(target).await?;
                match deed {
                    Deed::Destroy => client.destroy(id).await,
                    Deed::Stop => client.stop(id).await,
                    Deed::Start => client.start(id).await,
                    Deed::Label(label) => client.label(id, label).await,
                    _ => client.reboot(id).await,
                }
            }
        }
    }

    async fn rentals(&self) -> Result<Vec<SeenRental>, FetchError> {
        let mut seen = Vec::new();
        if self.vast.is_empty() {
            // Nobody but the manager can be asked: its copy of the list, as old as a minute.
            let snapshot = self.its_manager()?.dashboard(|| self.clock.now()).await?.value;
            if snapshot.rows_unreadable > 0 {
                return Err(incomplete(&format!("{} rows of the manager's could not be read", snapshot.rows_unreadable)));
            }
            let listed = |row: Row| {
                Some(SeenRental {
                    vast_id: row.vast_id_told()?.0,
                    actual: None,
                    wished: None,
                    label: row.label,
                    machine: Some(row.vast.machine_id?.0),
                    dollars_per_h: row.vast.dollars_per_h,
                })
            };
            return Ok(snapshot.rows.into_iter().filter_map(listed).collect());
        }
        if let Some(why) = self.unasked() {
            return Err(incomplete(&why));
        }
        for client in &self.vast {
            let rentals = client.list().await?.whole()?;
            seen.extend(rentals.into_iter().map(|rental| seen_rental(rental.id, rental.record, rental.machine_id)));
        }
        Ok(seen)
    }

    async fn rental(&self, account: Option<&Account>, vast_id: u64) -> AtVast {
        let (clients, mut unknown) = match account.map(|account| self.of_account(account)) {
            None => (self.vast.iter().collect(), self.unasked()),
            Some(Ok(client)) => (vec![client], None),
            Some(Err(error)) => return AtVast::Unknown(error.message),
        };
        let failed = |error: FetchError| format!("the last reading failed: {}", error.message);
        for client in &clients {
            match client.list().await {
                Ok(list) => {
                    if let Some(rental) = list.rentals.into_iter().find(|rental| rental.id == vast_id) {
                        return AtVast::Rented(seen_rental(vast_id, rental.record, rental.machine_id));
                    }
                    unknown = unknown.or_else(|| Some(format!("vast.ai's list is incomplete: {}", list.incomplete?)));
                }
                Err(error) => unknown = unknown.or_else(|| Some(failed(error))),
            }
        }
        for client in clients {
            match client.show(vast_id).await {
                Ok(Some(record)) => return AtVast::Rented(seen_rental(vast_id, record, None)),
                Ok(None) => {}
                Err(error) => unknown = unknown.or_else(|| Some(failed(error))),
            }
        }
        unknown.map_or(AtVast::Absent, AtVast::Unknown)
    }

    async fn owner(&self, vast_id: u64) -> Owner {
        match self.lister(vast_id).await {
            Ok(Some(client)) => Owner::Is(account_of(client).await),
            Ok(None) => Owner::Nobody,
            Err(why) => Owner::Unknown(why),
        }
    }

    fn sees_rentals(&self) -> bool {
        !self.vast.is_empty()
    }

    fn has_manager(&self) -> bool {
        self.manager.is_some()
    }

    async fn manager(&self) -> Result<SeenManager, FetchError> {
        let snapshot = self.its_manager()?.dashboard(|| self.clock.now()).await?.value;
        let row = |row: &Row| SeenRow {
            uuid: row.uuid.as_ref().map(|uuid| uuid.as_str().to_owned()),
            vast_id: row.vast_id_told().map(|id| id.0),
            is_killed: row.state == State::Killed,
            is_listed: is_on_its_list(row),
            disappeared_at: row.killed_at.filter(|_| row.kill_reason.as_deref().is_some_and(|why| why.starts_with(DISAPPEARED))),
        };
        Ok(SeenManager {
            rows: snapshot.rows.iter().map(row).collect(),
            rows_unreadable: snapshot.rows_unreadable,
            at: snapshot.as_of(),
            list_read_at: snapshot.vast_read_at(),
        })
    }

    async fn manager_log(&self) -> Result<Vec<(Timestamp, String)>, FetchError> {
        let lines = self.its_manager()?.manager_logs(LOG_LINES).await?;
        Ok(lines.into_iter().map(|line| (line.at, line.text)).collect())
    }

    async fn banned(&self) -> Result<Vec<String>, FetchError> {
        Ok(self.its_manager()?.bad_hosts().await?.into_iter().filter_map(|host| host.machine_id).collect())
    }

    async fn pause(&self, seconds: f64) {
        let speed = self.clock.speed().max(1.0);
        tokio::time::sleep(Duration::from_secs_f64((seconds / speed).max(PAUSE_LEAST_S))).await;
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

impl Hands for Renter {
    async fn send(&self, deed: &Deed, target: &Target) -> Result<(), FetchError> {
        self.hands.send(deed, target).await
    }

    async fn rentals(&self) -> Result<Vec<SeenRental>, FetchError> {
        self.hands.rentals().await
    }

    fn sees_rentals(&self) -> bool {
        self.hands.sees_rentals()
    }

    async fn rental(&self, account: Option<&Account>, vast_id: u64) -> AtVast {
        self.hands.rental(account, vast_id).await
    }

    async fn owner(&self, vast_id: u64) -> Owner {
        self.hands.owner(vast_id).await
    }

    fn has_manager(&self) -> bool {
        self.hands.has_manager()
    }

    async fn manager(&self) -> Result<SeenManager, FetchError> {
        self.hands.manager().await
    }

    async fn manager_log(&self) -> Result<Vec<(Timestamp, String)>, FetchError> {
        self.hands.manager_log().await
    }

    async fn banned(&self) -> Result<Vec<String>, FetchError> {
        self.hands.banned().await
    }

    async fn pause(&self, seconds: f64) {
        self.hands.pause(seconds).await;
    }

    fn now(&self) -> Timestamp {
        self.hands.now()
    }
}

/// Disk as it is ordered, GB: no less than asked for.
fn whole_gb(disk_gb: f64) -> u64 {
    disk_gb.ceil().max(0.0) as u64
}

/// Name by which the manager's entrypoint takes its minimum rate.
const MIN_RATE: &str = "MIN_RATE";

impl Rents for Renter {
    async fn order(&self, order: &Order, terms: &Terms) -> Result<Option<u64>, FetchError> {
        let min_rate = terms.min_rate_of(order.dollars_per_h.unwrap_or(0.0));
        if terms.through_manager {
            let wanted = DeployRequest {
                offer_id: order.offer,
                machine_id: order.machine.unwrap_or(0),
                // Told none, the manager takes 50 proofs an hour, which many a card does not reach.
                min_rate: min_rate.unwrap_or(1.0),
                disk: whole_gb(terms.disk_gb),
            };
            return self.hands.its_manager()?.deploy(&wanted).await;
        }
        let client = self.hands.vast.first().ok_or_else(|| lacking("vast.ai cannot be asked: no key of an account is known"))?;
        let (mut env, mut plain_env) = (Vec::new(), Vec::new());
        for variable in &terms.env {
            let name = variable.name.clone();
            match &variable.value {
                Some(value) => plain_env.push((name, value.clone())),
                None => {
                    let wanted = name.clone();
                    let read = keys::patiently(move || keys::variable(&wanted), KEY_WITHIN).await;
                    env.push((name, read.map_err(|error| lacking(&error.message))?));
                }
            }
        }
        if let Some(rate) = min_rate.filter(|_| !terms.env.iter().any(|it| it.name == MIN_RATE)) {
            plain_env.push((MIN_RATE.to_owned(), format!("{rate:.2}")));
        }
        let wanted = Create {
            image: terms.image.clone().unwrap_or_default(),
            label: order.label.clone(),
            disk_gb: terms.disk_gb,
            onstart: terms.onstart.clone(),
            env,
            plain_env,
        };
        client.create(order.offer, &wanted).await
    }

    async fn market(&self, terms: &Terms) -> Result<Vec<OfferView>, ApiError> {
        let past = (self.watching.past)().await?;
        let market = offers::market(self.hands.manager.as_ref(), self.hands.vast.first(), &terms.market).await?;
        Ok(offers::view(market, &past, &terms.market, self.hands.now()).offers)
    }

    async fn standings(&self) -> Result<Vec<Standing>, ApiError> {
        let view = (self.watching.fleet)().await?;
        let standing = |row: crate::dto::InstanceRow| {
            let stuck = row.flag.filter(|flag| FlagKind::parse(&flag.kind).is_some_and(FlagKind::needs_a_person));
            Standing {
                vast_id: row.vast_id,
                state: row.state,
                kill_reason: row.kill_reason,
                stuck: stuck.map(|flag| format!("{} ({})", flag.kind, flag.reason)),
            }
        };
        Ok(view.instances.into_iter().filter(|row| row.listed).map(standing).collect())
    }

    async fn credit(&self) -> Result<Option<(f64, f64)>, FetchError> {
        self.hands.credit().await
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]
mod tests {
    use std::net::TcpListener;

    use dwell_clients::Limits;

    use super::*;

    #[tokio::test]
    async fn ids_of_another_fleet_are_sent_nowhere() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let manager = ManagerClient::new(&address, Limits::default()).unwrap();
        let vast = VastClient::new(&address, secrecy::SecretString::from("key"), Limits::default()).unwrap();
        let account = Account { name: vast.account().to_owned(), number: None };
        let hands = LiveHands::of(Scope::begin(&address), Some(manager), vec![vast], Clock::System);
        let simulated = Target {
            fleet: "http://127.0.0.1:9".into(),
            id: "d977dead".into(),
            uuid: Some("d977dead".into()),
            vast_id: Some(31_000_001),
            machine: Some(40_001),
            account: Some(account),
            dollars_per_h: None,
        };
        let text = || "text".to_owned();
        let deeds = [
            Deed::Kill,
            Deed::Destroy,
            Deed::Stop,
            Deed::Start,
            Deed::Reboot,
            Deed::Label(text()),
            Deed::Ban(text()),
            Deed::Unban,
        ];
        for deed in deeds {
            let error = hands.send(&deed, &simulated).await.unwrap_err();
            assert!(error.code == Code::Refused && error.message.contains("of the fleet at"), "{deed:?}: {error}");
        }
        listener.set_nonblocking(true).unwrap();
        assert!(listener.accept().is_err(), "nobody was asked anything");
    }
}
