//! The hands that reach a real manager and vast.ai, and those of a simulation, which answer over the same protocols.

use std::time::Duration;

use dwell_clients::{Code, FetchError, ManagerClient, VastClient};
use dwell_fleet::{State, Timestamp};

use super::perform::{Deed, Hands, SeenRental, SeenRow, Target};
use crate::drive::Clock;

/// A pause in a simulation that runs fast is shorter, but never nothing, seconds.
const PAUSE_LEAST_S: f64 = 0.05;

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
        for client in &self.vast {
            seen.extend(client.list().await?.into_iter().map(|rental| SeenRental {
                vast_id: rental.id,
                actual: rental.record.actual_status,
                wished: rental.record.intended_status,
                label: rental.record.label,
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
