//! The hands that reach a real manager and vast.ai, and those of a simulation, which answer over the same protocols.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use dwell_clients::{Code, Create, FetchError, ManagerClient, VastClient};
use dwell_fleet::{FlagKind, State, Timestamp};
use dwell_wire::DeployRequest;
use tokio::sync::{mpsc, oneshot};

use super::perform::{Deed, Hands, SeenRental, SeenRow, Target};
use super::rollout::{Order, Rents, Standing, Terms};
use crate::ApiError;
use crate::drive::{Ask, Clock, KeptDeed, ask_watch, watch_ended};
use crate::dto::{FleetView, OfferView};
use crate::keys;
use crate::offers::{self, Past};

/// Longest wait for the keychain: a person may have to unlock it.
const KEY_WITHIN: Duration = Duration::from_secs(60);
/// A pause in a simulation that runs fast is shorter, but never nothing, seconds.
const PAUSE_LEAST_S: f64 = 0.05;

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
    pub(crate) manager: Option<ManagerClient>,
    pub(crate) vast: Vec<VastClient>,
    pub(crate) clock: Clock,
}

fn lacking(what: &str) -> FetchError {
    FetchError { code: Code::Refused, message: what.to_owned(), status: None }
}

impl LiveHands {
    fn manager(&self) -> Result<&ManagerClient, FetchError> {
        self.manager.as_ref().ok_or_else(|| lacking("there is no manager to ask"))
    }

    /// Credit of the account that rents, US dollars, and what it spends an hour; `None` where nobody can be asked, or it is not told.
    pub(crate) async fn credit(&self) -> Result<Option<(f64, f64)>, FetchError> {
        let Some(client) = self.vast.first() else { return Ok(None) };
        let Some(credit) = client.user().await?.credit_dollars else { return Ok(None) };
        let prices = client.list().await?.into_iter().filter_map(|rental| rental.record.dollars_per_h);
        Ok(Some((credit, prices.sum())))
    }

    /// The account that a rental is of, and vast.ai's number.
    async fn owner(&self, target: &Target) -> Result<(&VastClient, u64), FetchError> {
        let id = target.vast_id.ok_or_else(|| lacking("vast.ai's number of it is not known"))?;
        match &self.vast[..] {
            [] => Err(lacking("vast.ai cannot be asked: no key of an account is known")),
            [only] => Ok((only, id)),
            several => {
                for client in several {
                    if client.list().await?.iter().any(|rental| rental.id == id) {
                        return Ok((client, id));
                    }
                }
                Err(FetchError { code: Code::NoSuchInstance, message: format!("no account lists {id}"), status: None })
            }
        }
    }
}

impl Hands for LiveHands {
    async fn send(&self, deed: &Deed, target: &Target) -> Result<(), FetchError> {
        let machine = || target.machine.map(|id| id.to_string()).ok_or_else(|| lacking("its machine is not known"));
        match deed {
            Deed::Kill => {
                let uuid = target.uuid.as_deref().ok_or_else(|| lacking("the manager has given it no id yet"))?;
                self.manager()?.kill(uuid, target.vast_id).await
            }
            Deed::Ban(reason) => self.manager()?.ban(&machine()?, reason).await,
            Deed::Unban => self.manager()?.unban(&machine()?).await,
            Deed::Destroy | Deed::Stop | Deed::Start | Deed::Reboot | Deed::Label(_) => {
                let (client, id) = self.owner(target).await?;
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
            let snapshot = self.manager()?.dashboard(|| self.clock.now()).await?.value;
            let listed = |row: dwell_fleet::Row| {
                Some(SeenRental {
                    vast_id: row.vast_id_told()?.0,
                    actual: None,
                    wished: None,
                    label: row.label,
                    machine: Some(row.vast.machine_id?.0),
                })
            };
            return Ok(snapshot.rows.into_iter().filter_map(listed).collect());
        }
        for client in &self.vast {
            seen.extend(client.list().await?.into_iter().map(|rental| SeenRental {
                vast_id: rental.id,
                actual: rental.record.actual_status,
                wished: rental.record.intended_status,
                label: rental.record.label,
                machine: rental.machine_id,
            }));
        }
        Ok(seen)
    }

    fn sees_rentals(&self) -> bool {
        !self.vast.is_empty()
    }

    async fn rows(&self) -> Result<Vec<SeenRow>, FetchError> {
        let snapshot = self.manager()?.dashboard(|| self.clock.now()).await?.value;
        let row = |row: dwell_fleet::Row| SeenRow {
            vast_id: row.vast_id_told().map(|id| id.0),
            is_killed: row.state == State::Killed,
            uuid: row.uuid.map(|uuid| uuid.as_str().to_owned()),
        };
        Ok(snapshot.rows.into_iter().map(row).collect())
    }

    async fn banned(&self) -> Result<Vec<String>, FetchError> {
        Ok(self.manager()?.bad_hosts().await?.into_iter().filter_map(|host| host.machine_id).collect())
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

    async fn rows(&self) -> Result<Vec<SeenRow>, FetchError> {
        self.hands.rows().await
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
            return self.hands.manager()?.deploy(&wanted).await;
        }
        let client = self.hands.vast.first().ok_or_else(|| lacking("vast.ai cannot be asked: no key of an account is known"))?;
        let mut env = Vec::new();
        for variable in &terms.env {
            let value = match &variable.value {
                Some(value) => secrecy::SecretString::from(value.clone()),
                None => {
                    let name = variable.name.clone();
                    let read = keys::patiently(move || keys::variable(&name), KEY_WITHIN).await;
                    read.map_err(|error| lacking(&error.message))?
                }
            };
            env.push((variable.name.clone(), value));
        }
        if let Some(rate) = min_rate.filter(|_| !terms.env.iter().any(|it| it.name == MIN_RATE)) {
            env.push((MIN_RATE.to_owned(), secrecy::SecretString::from(format!("{rate:.2}"))));
        }
        let wanted = Create {
            image: terms.image.clone().unwrap_or_default(),
            label: order.label.clone(),
            disk_gb: terms.disk_gb,
            onstart: terms.onstart.clone(),
            env,
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
