//! The application: which fleet is watched, and every command as one function.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use dwell_clients::{Limits, ManagerClient, Ssh, SshTarget, VAST_ADDRESS, VastClient};
use dwell_diagnosis::{Check, NOT_IN_CATALOGUE};
use dwell_history::{ExportTable, History, Limits as HistoryLimits};
use dwell_simulator::{Scenario, World, serve};
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use tokio::sync::{Mutex, mpsc, oneshot};

use crate::ApiError;
use crate::access::WriteAccess;
use crate::act::{self, Acting, Journal, Leave, LiveHands, Patience, Renter, Scope, Watching, rolling, rollout, rules};
use crate::archive::{self, Archive};
use crate::charts::{self, ChartForm, Source};
use crate::drive::{Ask, Clock, Driver, KeptDeed, NewNote, ask_watch};
use crate::dto::*;
use crate::hub::Hub;
use crate::incident;
use crate::keys::{self, SessionKeys};
use crate::live::{self, Live, Means};
use crate::look::VastAccounts;
use crate::offers;
use crate::play::{self, Flags, Play};
use crate::rentals;
use crate::settings::{Folder, Settings};
use crate::tables::TableForm;
use crate::workbench::{self, Workbench};

/// What a simulated vast.ai is asked with: no secret.
const NO_KEY: &str = "none";

/// What the account of a simulation is called.
const SIMULATED: &str = "simulated";

/// Longest wait for the keychain: a person may have to unlock it. And where the look can do without.
const KEY_WITHIN: Duration = Duration::from_secs(60);
const KEY_SOON: Duration = Duration::from_secs(3);

/// Longest wait for a reading before a plan is carried out.
const READ_ANEW_WITHIN: Duration = Duration::from_secs(10);

/// How large the history of a simulation may become: it is in memory.
const SIMULATED_BYTES_MAX: u64 = 512 << 20;

/// Simulated seconds in a real one at the start of a drill: the window offers 1, 20 and 100.
const DRILL_SPEED: f64 = 20.0;

/// The application behind a window or a terminal.
#[derive(Debug)]
pub struct App {
    folder: Folder,
    hub: Hub,
    state: Mutex<State>,
    /// Longest wait for any one answer, where it is shorter than the client's own.
    within_at_most: OnceLock<Duration>,
    session_keys: SessionKeys,
    vast_address: OnceLock<String>,
    ssh_config: OnceLock<PathBuf>,
    workbench: Workbench,
    acting: Arc<Acting>,
}

/// How a fleet is reached.
type Ways = (Scope, Option<ManagerClient>, Option<Arc<dwell_simulator::Served>>);

#[derive(Debug, Default)]
struct State {
    session: Option<Session>,
    problem: Option<ApiError>,
}

#[derive(Debug)]
struct Session {
    name: String,
    /// Plans and hands of this watch are made from it.
    scope: Scope,
    asks: mpsc::Sender<Ask>,
    /// Keeps a served simulation alive.
    served: Option<Arc<dwell_simulator::Served>>,
    /// The drill that is played on it.
    drill: Option<Play>,
    /// The manager of a connected fleet.
    manager: Option<ManagerClient>,
    /// A connected fleet as it was saved when its watch began: another one can get its name.
    saved: Option<SavedFleet>,
    /// What was done is written here: beside the history, or in memory.
    journal: Journal,
    /// What a person may do to it from here now.
    access: WriteAccess,
    /// Rules may act on a simulation at any time; of a connected fleet that is set with it.
    simulation_standing: Arc<AtomicBool>,
}

/// What to watch from the start.
#[derive(Debug, Clone, PartialEq)]
pub enum Start {
    /// A simulated fleet.
    Simulated {
        /// Name of the scenario.
        scenario: String,
        /// Simulated seconds in a real one; the scenario's own where not given.
        speed: Option<f64>,
    },
    /// A manager.
    Manager {
        /// Its address.
        address: String,
        /// Whom SSH goes through, where it does.
        ssh: Option<String>,
    },
    /// The fleet that was watched last, if any.
    WatchedLast,
}

impl Start {
    /// From the arguments that the window and the bridge share.
    pub fn from_arguments(simulate: Option<String>, speed: Option<f64>, manager: Option<String>, ssh: Option<String>) -> Self {
        match (simulate, manager) {
            (Some(scenario), _) => Self::Simulated { scenario, speed },
            (None, Some(address)) => Self::Manager { address, ssh },
            (None, None) => Self::WatchedLast,
        }
    }
}

macro_rules! commands {
    ($($name:ident($request:ident) -> $response:ident, $risk:ident, $title:literal, $keys:literal;)*) => {
        impl App {
            /// Calls a command by name with its request as JSON.
            pub async fn call(&self, name: &str, request: serde_json::Value) -> Result<serde_json::Value, ApiError> {
                match name {
                    $(stringify!($name) => {
                        if stringify!($risk) == "act" {
                            self.leave().await?;
                        }
                        let request: $request = read(request)?;
                        let response: $response = self.$name(request).await?;
                        let mut value =
                            serde_json::to_value(response).map_err(|error| ApiError::new(ErrorCode::Bug, error.to_string()))?;
                        dwell_clients::redact(&mut value);
                        Ok(value)
                    })*
                    _ => Err(ApiError::new(ErrorCode::UnknownCommand, format!("no command is called {name:?}"))),
                }
            }
        }
    };
}
dwell_api::for_each_command!(commands);

/// A client of a fleet's manager, through SSH where that is how it is reached. Runs on the present runtime.
pub(crate) fn client_of(ssh: Ssh, address: &str, through: Option<&str>, limits: Limits) -> Result<ManagerClient, ApiError> {
    Ok(match through {
        Some(target) => ManagerClient::through(ssh, SshTarget::new(target)?, address, limits)?,
        None => ManagerClient::new(address, limits)?,
    })
}

/// Leave to act on the fleet that is watched, where write access is given.
fn given(may_act: bool) -> Result<Leave, ApiError> {
    Leave::of(may_act)
        .map_err(|error| error.hint("give write access in the window's status line; dwellctl: fleets allow-acting NAME"))
}

fn unknown_form(format: &str, known: &str) -> ApiError {
    ApiError::new(ErrorCode::BadRequest, format!("no file of the form {format:?} can be written"))
        .hint(format!("there are: {known}"))
}

fn read<T: DeserializeOwned>(request: serde_json::Value) -> Result<T, ApiError> {
    let request = if request.is_null() { serde_json::json!({}) } else { request };
    serde_json::from_value(request).map_err(|error| ApiError::new(ErrorCode::BadRequest, error.to_string()))
}

impl App {
    /// An application that keeps its files in the given folder, or where [`Folder::find`] says. Watches nothing yet.
    pub fn new(folder: Option<PathBuf>) -> Result<Self, ApiError> {
        Ok(Self {
            folder: Folder::find(folder)?,
            hub: Hub::default(),
            state: Mutex::default(),
            within_at_most: OnceLock::new(),
            session_keys: SessionKeys::default(),
            vast_address: OnceLock::new(),
            ssh_config: OnceLock::new(),
            workbench: Workbench::default(),
            acting: Arc::default(),
        })
    }

    /// Shortens the wait for any one answer of a manager, for everything watched from now on. Set once.
    pub fn set_patience(&self, within: Duration) {
        let _ = self.within_at_most.set(within);
    }

    /// Another configuration of `ssh` than the operator's own. Set once.
    pub fn set_ssh_config(&self, path: PathBuf) {
        let _ = self.ssh_config.set(path);
    }

    fn ssh(&self) -> Ssh {
        self.ssh_config.get().map_or_else(live::ssh, |path| Ssh::with_config(Some(path.clone())))
    }

    fn limits(&self) -> Limits {
        Limits { within_at_most: self.within_at_most.get().copied(), ..Limits::default() }
    }

    /// Where files are kept.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// What is seen, as a stream.
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Begins as a shell was told: on a simulated fleet, on a manager, or on the fleet that was watched last. What goes
    /// wrong is kept as well, for the window to say.
    pub async fn start(&self, start: Start) -> Result<(), ApiError> {
        let begun = match start {
            Start::Simulated { scenario, speed } => {
                self.simulate(SimulateRequest { scenario, seed: None, speed }).await.map(|_| ())
            }
            Start::Manager { address, ssh } => self.connect(ConnectRequest { address, name: None, ssh }).await.map(|_| ()),
            Start::WatchedLast => self.resume().await,
        };
        if let Err(problem) = &begun {
            self.state.lock().await.problem = Some(problem.clone());
        }
        begun
    }

    async fn resume(&self) -> Result<(), ApiError> {
        let settings = Settings::load(&self.folder)?;
        if let Some(name) = settings.watching.clone() {
            self.watch_live(settings.named(&name)?).await?;
        }
        Ok(())
    }

    async fn watch_live(&self, fleet: &SavedFleet) -> Result<(), ApiError> {
        let client = client_of(self.ssh(), &fleet.address, fleet.ssh.as_deref(), self.limits())?;
        let history = History::open(&self.folder.history())?;
        let means = self.means(fleet)?;
        let limits = Settings::load(&self.folder)?.history_limits();
        let driver = Driver::new(fleet.name.clone(), client.clone(), history, Clock::System)?;
        let driver = driver.with_means(means).with_history_limits(limits);
        self.begin(fleet.name.clone(), driver, None, None, Some((fleet.clone(), client))).await
    }

    fn means(&self, fleet: &SavedFleet) -> Result<Means, ApiError> {
        Ok(Means { vast: keys::any(&self.folder, &self.session_keys)?, machines: fleet.allow_probe })
    }

    /// Says what can be asked now to the watch over a connected fleet, where there is one.
    async fn tell_means(&self) -> Result<(), ApiError> {
        let settings = Settings::load(&self.folder)?;
        let watched = self.state.lock().await.session.as_ref().and_then(|it| it.saved.clone());
        if let Some(fleet) = watched.as_ref().and_then(|watched| settings.still(watched)) {
            self.tell(Ask::Means(self.means(fleet)?)).await?;
        }
        Ok(())
    }

    async fn begin(
        &self,
        name: String,
        driver: Driver,
        served: Option<Arc<dwell_simulator::Served>>,
        drill: Option<Play>,
        connected: Option<(SavedFleet, ManagerClient)>,
    ) -> Result<(), ApiError> {
        let (saved, manager) = connected.unzip();
        let mut state = self.state.lock().await;
        (state.session, state.problem) = (None, None);
        self.acting.end_waiting();
        self.hub.reset();
        let scope = Scope::begin(&driver.view().watching.address);
        let asks = driver.begin(self.hub.clone(), None)?;
        let journal = Arc::new(std::sync::Mutex::new(match &manager {
            Some(_) => History::open(&self.folder.history())?,
            None => History::in_memory()?,
        }));
        let (live, weak, of_rules) = (manager.clone(), asks.downgrade(), name.clone());
        let (world, is_drill) = (served.clone(), drill.is_some());
        state.session = Some(Session {
            name,
            scope: scope.clone(),
            asks,
            served,
            drill,
            manager,
            saved: saved.clone(),
            journal: Arc::clone(&journal),
            access: WriteAccess::default(),
            simulation_standing: Arc::default(),
        });
        drop(state);
        let hands = self.hands((scope, live.clone(), world), KEY_SOON).await?;
        if let Some(manager) = live {
            let (fleet, hands, journal) = (manager.base().to_owned(), hands.clone(), Arc::clone(&journal));
            tokio::spawn(async move { act::resume(hands, journal, &fleet, Patience::default()).await });
        }
        // In a drill a person acts.
        if !is_drill {
            let (folder, acting, may_act) = (self.folder.clone(), Arc::clone(&self.acting), self.rules_may().await?);
            let following = rules::Following { folder, name: of_rules, saved, asks: weak, hands, journal, acting, may_act };
            tokio::spawn(following.run());
        }
        Ok(())
    }

    /// The hands that act on a connected fleet, or on a simulated one over the same protocols.
    async fn hands(&self, (scope, manager, served): Ways, within: Duration) -> Result<LiveHands, ApiError> {
        let Some(served) = served else {
            // Without a key the manager alone is asked; what is missing is said by each step.
            let VastAccounts { clients, lacking } = self.every_vast(within).await?;
            return Ok(LiveHands::of(scope, manager, clients, Clock::System).lacking(lacking));
        };
        let manager = ManagerClient::new(&served.url(), self.limits())?;
        let vast = VastClient::new(&served.vast_url(), SecretString::from(NO_KEY), self.limits())?.named(SIMULATED);
        Ok(LiveHands::of(scope, Some(manager), vec![vast], Clock::Simulated(served)))
    }

    /// Leave to act on the fleet that is watched; refused without write access.
    async fn leave(&self) -> Result<Leave, ApiError> {
        given(self.may_act().await?)
    }

    /// Seconds of write access that are left; `None` where the fleet that is watched is read-only.
    async fn write_access_left_s(&self) -> Result<Option<f64>, ApiError> {
        let state = self.state.lock().await;
        let session = state.session.as_ref().ok_or_else(ApiError::no_fleet)?;
        Ok(session.access.left_s(Clock::System.now()))
    }

    async fn may_act(&self) -> Result<bool, ApiError> {
        Ok(self.write_access_left_s().await?.is_some())
    }

    /// Says at any time whether rules and `dwellctl` may act on the fleet that is watched now, whatever a window may.
    async fn standing(&self) -> Result<impl Fn() -> bool + Send + Sync + 'static, ApiError> {
        let state = self.state.lock().await;
        let session = state.session.as_ref().ok_or_else(ApiError::no_fleet)?;
        let simulated = session.manager.is_none().then(|| Arc::clone(&session.simulation_standing));
        let (folder, saved) = (self.folder.clone(), session.saved.clone());
        Ok(move || match (&simulated, &saved) {
            (Some(may), _) => may.load(Ordering::Relaxed),
            (None, Some(saved)) => Settings::load(&folder).is_ok_and(|it| it.still(saved).is_some_and(|fleet| fleet.may_act)),
            (None, None) => false,
        })
    }

    async fn ask<T>(&self, make: impl FnOnce(oneshot::Sender<T>) -> Ask) -> Result<T, ApiError> {
        let asks = {
            let state = self.state.lock().await;
            state.session.as_ref().ok_or_else(ApiError::no_fleet)?.asks.clone()
        };
        ask_watch(&asks, make).await
    }

    async fn tell(&self, ask: Ask) -> Result<Nothing, ApiError> {
        let state = self.state.lock().await;
        let session = state.session.as_ref().ok_or_else(ApiError::no_fleet)?;
        session.asks.send(ask).await.map_err(|_| ApiError::new(ErrorCode::WatchEnded, "the watch over this fleet has ended"))?;
        Ok(Nothing {})
    }

    async fn list(&self) -> Result<Fleets, ApiError> {
        let Settings { fleets: saved, watching: last, .. } = Settings::load(&self.folder)?;
        let state = self.state.lock().await;
        let watching = state.session.as_ref().map(|session| session.name.clone());
        Ok(Fleets { saved, watching, last, problem: state.problem.clone() })
    }
}

/// The commands, in the table's order.
impl App {
    /// The fleet as it is.
    pub async fn fleet(&self, _: Nothing) -> Result<FleetView, ApiError> {
        self.ask(Ask::Fleet).await
    }

    /// An instance's page.
    pub async fn instance(&self, request: InstanceRequest) -> Result<InstancePage, ApiError> {
        let page = self.ask(|reply| Ask::Instance(request, reply)).await??;
        self.note_look(&page.row.id, "opened").await;
        Ok(page)
    }

    /// An instance's kept log lines.
    pub async fn logs(&self, request: LogRequest) -> Result<LogPage, ApiError> {
        if let Some(id) = &request.id {
            self.note_look(id, "read its log").await;
        }
        self.ask(|reply| Ask::Logs(request, reply)).await?
    }

    /// The manager's own kept log lines.
    pub async fn manager_logs(&self, request: LogRequest) -> Result<LogPage, ApiError> {
        let request = LogRequest { id: None, ..request };
        self.ask(|reply| Ask::Logs(request, reply)).await?
    }

    /// A person has accounted for rentals that raise an alarm.
    pub async fn acknowledge(&self, request: AcknowledgeRequest) -> Result<FleetView, ApiError> {
        self.ask(|reply| Ask::Acknowledge(request, reply)).await?
    }

    /// Everything that is stuck, grouped.
    pub async fn incidents(&self, _: Nothing) -> Result<Incidents, ApiError> {
        self.ask(Ask::Incidents).await
    }

    /// What is thought of an instance, and why.
    pub async fn diagnosis(&self, request: InstanceRequest) -> Result<DiagnosisPage, ApiError> {
        let page = self.ask(|reply| Ask::Diagnosis(request.id, reply)).await??;
        self.note_look(&page.row.id, "diagnosed").await;
        Ok(page)
    }

    /// Makes a look at an instance that is not made by itself.
    pub async fn make_look(&self, request: LookRequest) -> Result<DiagnosisPage, ApiError> {
        let what = format!("looked: {}", request.check);
        let check = Check::parse(&request.check)
            .ok_or_else(|| ApiError::new(ErrorCode::BadRequest, format!("no look is called {:?}", request.check)))?;
        let page = match self.live().await? {
            Some(mut live) if !matches!(check, Check::InstanceLog | Check::ManagerLog) => {
                let whom = self.ask(|reply| Ask::Whom(request.id, reply)).await??;
                match check {
                    Check::VastRecord | Check::ContainerLog => {
                        live.vast = self.every_vast(KEY_WITHIN).await?.any().map(|it| it.clients);
                    }
                    // For the addresses, where the keychain is open: nobody is made to wait for it.
                    Check::Ssh | Check::SshAgain if whom.proxy.is_none() => {
                        live.vast = self.every_vast(KEY_SOON).await?.any().map(|it| it.clients);
                    }
                    _ => {}
                }
                let looked = live.look(&whom, check).await?;
                self.ask(|reply| Ask::Looked(whom.id, check, looked, reply)).await??
            }
            _ => self.ask(|reply| Ask::Look(request, reply)).await??,
        };
        self.note_look(&page.row.id, &what).await;
        Ok(page)
    }

    /// Asks an instance's prover what it does now. For a panel that asks again and again: of its answers history keeps one a minute.
    pub async fn prover(&self, request: InstanceRequest) -> Result<ProverPanel, ApiError> {
        self.note_look(&request.id, "followed its prover").await;
        match self.live().await? {
            Some(live) => {
                let whom = self.ask(|reply| Ask::Whom(request.id, reply)).await??;
                let answer = live.prover(&whom).await?;
                self.ask(|reply| Ask::ProverSeen(whom.id, answer, reply)).await?
            }
            None => self.ask(|reply| Ask::Prover(request.id, reply)).await?,
        }
    }

    /// The ways into the connected fleet that is watched; `None` where a simulation is.
    async fn live(&self) -> Result<Option<Live>, ApiError> {
        let state = self.state.lock().await;
        let session = state.session.as_ref().ok_or_else(ApiError::no_fleet)?;
        let Some(manager) = session.manager.clone() else { return Ok(None) };
        let settings = Settings::load(&self.folder)?;
        let allowed = session.saved.as_ref().and_then(|saved| settings.still(saved)).is_some_and(|fleet| fleet.allow_probe);
        let machines = allowed.then(|| self.folder.path().to_owned());
        let ssh = self.ssh().with_private_machines(settings.allow_private_machines);
        Ok(Some(Live { ssh, manager: Some(manager), vast: Err(keys::unknown()), machines }))
    }

    /// What the channels that are asked on purpose have answered of an instance, as it came.
    pub async fn raw_answers(&self, request: InstanceRequest) -> Result<RawAnswers, ApiError> {
        self.ask(|reply| Ask::Answers(request.id, reply)).await?
    }

    /// What a look at a machine runs.
    pub async fn probe_script(&self, request: ProbeScriptRequest) -> Result<ProbeScript, ApiError> {
        let whom = match request.id {
            Some(id) => Some(self.ask(|reply| Ask::Whom(id, reply)).await??),
            None => None,
        };
        Ok(live::probe_script(whom.as_ref()))
    }

    /// Allows looks at a saved fleet's machines, or forbids them.
    pub async fn allow_probe(&self, request: AllowProbe) -> Result<Fleets, ApiError> {
        Settings::change(&self.folder, |settings| {
            settings.named(&request.name)?;
            settings.fleets.iter_mut().filter(|fleet| fleet.name == request.name).for_each(|it| it.allow_probe = request.allow);
            Ok(())
        })?;
        self.tell_means().await?;
        self.list().await
    }

    /// A client of vast.ai with the key of this account; of the first one where none is named.
    pub async fn vast(&self, account: Option<&str>) -> Result<VastClient, ApiError> {
        self.vast_within(account, KEY_WITHIN).await
    }

    /// A client for each account whose key can be had, and the reason for each other one.
    async fn every_vast(&self, within: Duration) -> Result<VastAccounts, ApiError> {
        let mut all = VastAccounts { clients: Vec::new(), lacking: Vec::new() };
        for name in keys::names(&self.folder, &self.session_keys)? {
            match self.vast_within(Some(&name), within).await {
                Ok(client) => all.clients.push(client),
                Err(error) => all.lacking.push((name, error)),
            }
        }
        Ok(all)
    }

    /// The account of this name; every known one where none is named. Fails where none of them can be asked.
    pub async fn vast_accounts(&self, account: Option<&str>) -> Result<VastAccounts, ApiError> {
        let all = match account {
            Some(_) => VastAccounts { clients: vec![self.vast(account).await?], lacking: Vec::new() },
            None => self.every_vast(KEY_WITHIN).await?,
        };
        all.any()
    }

    /// The rentals of every account, as vast.ai lists them, joined with the rows of the fleet that is watched.
    pub async fn rentals(&self, _: Nothing) -> Result<Rentals, ApiError> {
        let fleet = match self.ask(Ask::Fleet).await {
            Ok(view) => Some(view),
            Err(error) if error.code == ErrorCode::NoFleet => None,
            Err(error) => return Err(error),
        };
        let served = self.state.lock().await.session.as_ref().and_then(|session| session.served.clone());
        if let Some(served) = served {
            let told = served.with_world(|world| rentals::of_world(world));
            return Ok(rentals::joined(vec![(SIMULATED.to_owned(), told)], fleet.as_ref(), served.now()));
        }
        let names = keys::names(&self.folder, &self.session_keys)?;
        if names.is_empty() {
            return Err(keys::unknown());
        }
        let mut told = Vec::new();
        for name in names {
            let client = self.vast_within(Some(&name), KEY_WITHIN).await;
            told.push((name, rentals::of_account(client).await));
        }
        Ok(rentals::joined(told, fleet.as_ref(), Clock::System.now()))
    }

    async fn vast_within(&self, account: Option<&str>, within: Duration) -> Result<VastClient, ApiError> {
        let (folder, session, account) = (self.folder.clone(), self.session_keys.clone(), account.map(str::to_owned));
        let name = account.clone();
        let key = keys::patiently(move || keys::key(&folder, &session, account.as_deref()), self.key_within(within)).await?;
        // The variable is that of vast.ai's own client; the client refuses what is neither https nor this machine.
        let of_environment = std::env::var("VAST_URL").ok().filter(|address| !address.is_empty());
        let address = self.vast_address.get().cloned().or(of_environment).unwrap_or_else(|| VAST_ADDRESS.to_owned());
        let client = VastClient::new(&address, key.ok_or_else(keys::unknown)?, self.limits())?;
        Ok(match name {
            Some(name) => client.named(&name),
            None => client,
        })
    }

    /// Another address of vast.ai than its own: a simulated one. Set once.
    pub fn set_vast_address(&self, address: String) {
        let _ = self.vast_address.set(address);
    }

    /// Keeps the key of a vast.ai account: in the keychain, or in this process alone.
    pub async fn add_key(&self, account: &str, key: SecretString, session_only: bool) -> Result<Accounts, ApiError> {
        let (folder, session, account) = (self.folder.clone(), self.session_keys.clone(), account.to_owned());
        keys::patiently(move || keys::add(&folder, &session, &account, key, session_only), self.key_within(KEY_WITHIN)).await?;
        self.tell_means().await?;
        self.keys(Nothing {}).await
    }

    /// The key of vast.ai's own client, and where it was found.
    pub fn key_of_vastai(&self) -> Result<(SecretString, String), ApiError> {
        keys::of_vastai()
    }

    /// Keeps the value of a variable that rentals get: in the keychain alone.
    pub async fn set_env(&self, name: &str, value: SecretString) -> Result<(), ApiError> {
        let name = name.to_owned();
        keys::patiently(move || keys::set_variable(&name, &value), self.key_within(KEY_WITHIN)).await
    }

    /// Longest wait for the keychain: no longer than for anything else, where that was said.
    fn key_within(&self, within: Duration) -> Duration {
        self.within_at_most.get().map_or(within, |most| within.min(*most))
    }

    /// The key in `VAST_API_KEY`, for one call.
    pub fn key_of_environment(&self) -> Result<(SecretString, String), ApiError> {
        keys::of_environment()
    }

    /// Removes the key of a vast.ai account.
    pub async fn remove_key(&self, account: &str) -> Result<Accounts, ApiError> {
        let (folder, session, account) = (self.folder.clone(), self.session_keys.clone(), account.to_owned());
        keys::patiently(move || keys::remove(&folder, &session, &account), self.key_within(KEY_WITHIN)).await?;
        self.tell_means().await?;
        self.keys(Nothing {}).await
    }

    /// Takes over the key of vast.ai's own client.
    pub async fn import_key(&self, request: ImportKey) -> Result<Accounts, ApiError> {
        let (key, _) = keys::of_vastai()?;
        self.add_key(&request.name, key, request.session_only).await
    }

    /// Removes a vast.ai account.
    pub async fn remove_account(&self, request: AccountName) -> Result<Accounts, ApiError> {
        self.remove_key(&request.name).await
    }

    /// The vast.ai accounts; never their keys.
    pub async fn keys(&self, _: Nothing) -> Result<Accounts, ApiError> {
        let (folder, session) = (self.folder.clone(), self.session_keys.clone());
        keys::patiently(move || keys::list(&folder, &session), self.key_within(KEY_WITHIN)).await
    }

    /// Keeps a note on an instance.
    pub async fn note(&self, request: NoteRequest) -> Result<DiagnosisPage, ApiError> {
        let text = request.text.trim().to_owned();
        if text.is_empty() {
            return Err(ApiError::new(ErrorCode::BadRequest, "a note needs words"));
        }
        self.ask(|reply| Ask::Note(request.id, NewNote { text, cause: None }, reply)).await?
    }

    /// Closes an instance's trouble with a cause.
    pub async fn close(&self, request: CloseRequest) -> Result<DiagnosisPage, ApiError> {
        if request.cause != NOT_IN_CATALOGUE {
            incident::explain(&request.cause)?;
        }
        let note = NewNote { text: request.text.trim().to_owned(), cause: Some(request.cause) };
        self.ask(|reply| Ask::Note(request.id, note, reply)).await?
    }

    /// A report of instances.
    pub async fn report(&self, request: ReportRequest) -> Result<Report, ApiError> {
        if !matches!(request.format.as_str(), "markdown" | "html") {
            return Err(ApiError::new(ErrorCode::BadRequest, "a report is markdown or html"));
        }
        self.ask(|reply| Ask::Report(request, reply)).await?
    }

    /// The catalogue of causes.
    pub async fn causes(&self, _: Nothing) -> Result<Causes, ApiError> {
        Ok(incident::catalogue())
    }

    /// A cause, explained.
    pub async fn explain(&self, request: CauseRequest) -> Result<CauseView, ApiError> {
        incident::explain(&request.id)
    }

    /// Who was rented before a date.
    pub async fn rented_before(&self, request: RentedBefore) -> Result<Rented, ApiError> {
        self.ask(|reply| Ask::Rented(request.before, reply)).await
    }

    /// Reads everything now.
    pub async fn refresh(&self, _: Nothing) -> Result<Nothing, ApiError> {
        self.tell(Ask::Refresh).await
    }

    /// The saved fleets.
    pub async fn fleets(&self, _: Nothing) -> Result<Fleets, ApiError> {
        self.list().await
    }

    /// Saves a fleet and watches it.
    pub async fn connect(&self, request: ConnectRequest) -> Result<Fleets, ApiError> {
        let fleet = self.keep(request)?;
        self.watch_live(&fleet).await?;
        self.list().await
    }

    /// Asks a manager once, and keeps nothing: for whoever wants to save what answers only.
    pub async fn ask_manager(&self, request: ConnectRequest) -> Result<Nothing, ApiError> {
        let through = request.ssh.as_deref().map(str::trim).filter(|text| !text.is_empty());
        client_of(self.ssh(), request.address.trim(), through, self.limits())?.dashboard(crate::now).await?;
        Ok(Nothing {})
    }

    /// Saves a fleet, to be watched by whoever watches next. Asks nobody: neither the manager nor the keychain.
    pub async fn save_fleet(&self, request: ConnectRequest) -> Result<Fleets, ApiError> {
        self.keep(request)?;
        self.list().await
    }

    fn keep(&self, request: ConnectRequest) -> Result<SavedFleet, ApiError> {
        let given = |text: Option<String>| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let (name, ssh) = (given(request.name), given(request.ssh));
        if let Some(ssh) = &ssh {
            SshTarget::new(ssh)?;
        }
        let address = ManagerClient::new(request.address.trim(), Limits::default())?.address().to_owned();
        let name = name.unwrap_or_else(|| match &ssh {
            Some(ssh) => format!("{address} via {ssh}"),
            None => address.clone(),
        });
        Settings::change(&self.folder, |settings| {
            // What was allowed for another address was not allowed for this one.
            let before = settings.fleets.iter().find(|it| it.name == name && it.address == address && it.ssh == ssh);
            let (allow_probe, may_act) = before.map_or((false, false), |it| (it.allow_probe, it.may_act));
            if before.is_none() {
                // Nor were its rules made for this one.
                settings.rules.iter_mut().filter(|rule| rule.fleet == name).for_each(|rule| rule.on = false);
            }
            let fleet = SavedFleet { name: name.clone(), address, ssh, allow_probe, may_act };
            settings.fleets.retain(|fleet| fleet.name != name);
            settings.fleets.push(fleet.clone());
            settings.watching = Some(name);
            Ok(fleet)
        })
    }

    /// Watches a saved fleet.
    pub async fn watch_saved(&self, request: FleetName) -> Result<Fleets, ApiError> {
        let fleet = Settings::change(&self.folder, |settings| {
            let fleet = settings.named(&request.name)?.clone();
            settings.watching = Some(request.name);
            Ok(fleet)
        })?;
        self.watch_live(&fleet).await?;
        self.list().await
    }

    /// Forgets a saved fleet. Its history stays.
    pub async fn forget(&self, request: FleetName) -> Result<Fleets, ApiError> {
        let was_watched = Settings::change(&self.folder, |settings| {
            settings.named(&request.name)?;
            settings.fleets.retain(|fleet| fleet.name != request.name);
            Ok(settings.watching.take_if(|watched| *watched == request.name).is_some())
        })?;
        if was_watched {
            self.state.lock().await.session = None;
            self.acting.end_waiting();
            self.hub.reset();
        }
        self.list().await
    }

    /// The scenarios that can be simulated.
    pub async fn scenarios(&self, _: Nothing) -> Result<Scenarios, ApiError> {
        let scenarios = dwell_simulator::shipped()
            .into_iter()
            .map(|scenario| ScenarioInfo {
                name: scenario.name,
                title: scenario.title,
                summary: scenario.summary.split_whitespace().collect::<Vec<_>>().join(" "),
                speed: scenario.speed,
                featured: scenario.featured,
            })
            .collect();
        Ok(Scenarios { scenarios })
    }

    /// Watches a simulated fleet: a manager of its own on loopback, a history that ends with it.
    pub async fn simulate(&self, request: SimulateRequest) -> Result<Fleets, ApiError> {
        let scenario = Scenario::named(&request.scenario).map_err(crate::bad_scenario)?;
        let seed = request.seed.unwrap_or(scenario.seed);
        let speed = request.speed.unwrap_or(scenario.speed);
        let name = scenario.title.clone();
        let (served, driver) = self.serve_world(scenario, seed, speed, &name).await?;
        self.begin(name, driver.slow_on_flag(), Some(served), None, None).await?;
        self.list().await
    }

    /// A world served on loopback, and a watch over it with a history of its own that ends with it.
    async fn serve_world(
        &self,
        scenario: Scenario,
        seed: u64,
        speed: f64,
        name: &str,
    ) -> Result<(Arc<dwell_simulator::Served>, Driver), ApiError> {
        let origin = Clock::System.now();
        // Building the world plays back the days before its first screen.
        let world = tokio::task::spawn_blocking(move || World::new(scenario, seed, origin))
            .await
            .map_err(|error| ApiError::new(ErrorCode::Bug, error.to_string()))?;
        let served = Arc::new(serve(world, speed, 0, 0).await.map_err(crate::cannot_serve)?);
        let client = ManagerClient::new(&served.url(), Limits::default())?;
        let driver = Driver::new(name.to_owned(), client, History::in_memory()?, Clock::Simulated(Arc::clone(&served)))?;
        Ok((served, driver.with_history_limits(HistoryLimits { bytes_max: SIMULATED_BYTES_MAX })))
    }

    /// Cards that can be measured.
    pub async fn bench_cards(&self, _: Nothing) -> Result<BenchCards, ApiError> {
        // Looking for a driver can take a moment.
        tokio::task::spawn_blocking(workbench::cards).await.map_err(|error| ApiError::new(ErrorCode::Bug, error.to_string()))
    }

    /// The benchmark that is running, and the latest record.
    pub async fn bench(&self, _: Nothing) -> Result<BenchView, ApiError> {
        Ok(self.workbench.view(&self.folder))
    }

    /// Begins a benchmark.
    pub async fn start_bench(&self, request: StartBench) -> Result<BenchView, ApiError> {
        let manager = self.state.lock().await.session.as_ref().and_then(|session| session.manager.clone());
        let observed = crate::forecast::observed_rates(&self.folder, manager.as_ref()).await;
        self.workbench.start(&self.folder, request, observed)?;
        Ok(self.workbench.view(&self.folder))
    }

    /// Ends the benchmark at its next step.
    pub async fn stop_bench(&self, _: Nothing) -> Result<BenchView, ApiError> {
        self.workbench.stop();
        Ok(self.workbench.view(&self.folder))
    }

    /// Writes one of the latest records to a file of the operator's.
    pub async fn save_bench(&self, request: SaveBench) -> Result<SavedFile, ApiError> {
        let (name, bytes) = self.workbench.file(&request)?;
        Ok(SavedFile { path: self.folder.export(&name, &bytes)?.display().to_string() })
    }

    /// Offers that could be rented, with what is known of each.
    pub async fn offers(&self, request: OffersRequest) -> Result<OffersView, ApiError> {
        let hands = self.hands(self.ways().await?, KEY_SOON).await?;
        let market = offers::market(hands.manager.as_ref(), hands.vast.first(), &request).await?;
        let past = self.kept(offers::past).await?;
        Ok(offers::view(market, &past, &request, hands.clock.now()))
    }

    /// The manager of a connected fleet, or the served world of a simulated one.
    async fn ways(&self) -> Result<Ways, ApiError> {
        let state = self.state.lock().await;
        let session = state.session.as_ref().ok_or_else(ApiError::no_fleet)?;
        Ok((session.scope.clone(), session.manager.clone(), session.served.clone()))
    }

    /// Plans what is to be done. Nothing is done.
    pub async fn plan(&self, request: PlanRequest) -> Result<PlanView, ApiError> {
        let plan = self.plan_now(&request).await?;
        self.acting.keep(plan, Clock::System.now())
    }

    /// A plan by what is seen now.
    async fn plan_now(&self, request: &PlanRequest) -> Result<act::Plan, ApiError> {
        // Before anything is read: where the fleet changes meanwhile, the plan is of the watch that has ended.
        let (scope, ..) = self.ways().await?;
        let read_only = !self.may_act().await?;
        let view = self.ask(Ask::Fleet).await?;
        let rentals = match request.deed.as_str() {
            "ban" | "unban" => None,
            // The manager's own deeds go without an account.
            _ => match self.rentals(Nothing {}).await {
                Ok(rentals) => Some(rentals),
                Err(error) if error.code == ErrorCode::NoKey => None,
                Err(error) => return Err(error),
            },
        };
        let of_watch = |reply: oneshot::Sender<act::Machines>| {
            Ask::Kept(KeptDeed(Box::new(move |driver| drop(reply.send(act::Machines::of(driver.watch()))))))
        };
        let machines = self.ask(of_watch).await?;
        act::plan(&scope, Some(&view), rentals.as_ref(), &machines, request, read_only)
    }

    /// Reads the manager now, and waits for what comes of that; no longer than [`READ_ANEW_WITHIN`].
    async fn read_anew(&self) -> Result<(), ApiError> {
        let count = async || {
            let connection = self.ask(Ask::Fleet).await?.connection;
            Ok::<_, ApiError>(connection.answered + connection.failed)
        };
        let before = count().await?;
        self.tell(Ask::Refresh).await?;
        let began = std::time::Instant::now();
        while count().await? == before && began.elapsed() < READ_ANEW_WITHIN {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// Leave to act, the ways to the fleet and its journal, all of one watch.
    async fn to_act(&self) -> Result<(Leave, Ways, Journal), ApiError> {
        let state = self.state.lock().await;
        let session = state.session.as_ref().ok_or_else(ApiError::no_fleet)?;
        let leave = given(session.access.left_s(Clock::System.now()).is_some())?;
        let ways = (session.scope.clone(), session.manager.clone(), session.served.clone());
        Ok((leave, ways, Arc::clone(&session.journal)))
    }

    /// Carries out a plan, once. What comes of it is told by the journal as it happens.
    pub async fn carry_out(&self, request: CarryOut) -> Result<Acts, ApiError> {
        let (leave, ways, journal) = self.to_act().await?;
        let hands = self.hands(ways, KEY_WITHIN).await?;
        let plan = self.acting.take(&request, Clock::System.now())?;
        self.read_anew().await?;
        let now = self.plan_now(&plan.request).await?;
        let plan = plan.still_holds(&now)?;
        self.acting.begin(leave, plan, &hands, &journal, Patience::default())?.detach_all();
        self.acts(Nothing {}).await
    }

    /// Plans a deployment or a rolling replacement. Nothing is done.
    pub async fn plan_rollout(&self, request: RolloutRequest) -> Result<RolloutPlan, ApiError> {
        let ways = self.ways().await?;
        let scope = ways.0.clone();
        let read_only = !self.may_act().await?;
        let view = self.ask(Ask::Fleet).await?;
        let rented = match request.rented_before {
            Some(before) => self.ask(|reply| Ask::Rented(before, reply)).await?.instances,
            None => Vec::new(),
        };
        let hands = self.hands(ways, KEY_SOON).await?;
        let market = offers::market(hands.manager.as_ref(), hands.vast.first(), &request.market).await?;
        let past = self.kept(offers::past).await?;
        let offers = offers::view(market, &past, &request.market, hands.clock.now());
        // Where it cannot be read the plan says so.
        let credit = hands.credit().await.unwrap_or_default();
        let planned = rolling::plan(&scope, (&view, &rented), &offers, credit, !hands.vast.is_empty(), &request, read_only)?;
        self.acting.keep_rollout(planned, Clock::System.now())
    }

    /// Begins what was planned, once. How it goes on is told by the rollouts and the journal.
    pub async fn begin_rollout(&self, request: CarryOut) -> Result<Rollouts, ApiError> {
        let (leave, ways, journal) = self.to_act().await?;
        let hands = self.hands(ways, KEY_WITHIN).await?;
        self.read_anew().await?;
        let (seen, now) = (self.ask(Ask::Fleet).await?, (Clock::System.now(), hands.clock.now()));
        let name = self.acting.begin_rollout(leave, hands.scope(), &request, &journal, now, &seen)?;
        self.take_steps(leave, &name, hands, &journal).await?;
        self.rollouts(Nothing {}).await
    }

    /// Says at any time whether rules may act on the fleet that is watched now: during write access, and where that is allowed at
    /// any time.
    async fn rules_may(&self) -> Result<rollout::MayAct, ApiError> {
        let (asks, access) = self.watched().await?;
        let standing = self.standing().await?;
        Ok(Arc::new(move || {
            if asks.upgrade().is_none() {
                return Err("the fleet is not watched any more".to_owned());
            }
            if standing() || access.left_s(Clock::System.now()).is_some() {
                return Ok(());
            }
            Err("the fleet is read-only".to_owned())
        }))
    }

    /// Says at any later time whether what is begun now may go on: it was confirmed during write access and outlasts it, until that
    /// is given back, or the fleet is made read-only in a terminal.
    async fn still_may(&self) -> Result<rollout::MayAct, ApiError> {
        let (asks, access) = self.watched().await?;
        let (given_back, standing) = (access.begun(), self.standing().await?);
        let stood = standing();
        Ok(Arc::new(move || {
            if asks.upgrade().is_none() {
                return Err("the fleet is not watched any more".to_owned());
            }
            if given_back() || (stood && !standing()) {
                return Err("the fleet was made read-only".to_owned());
            }
            Ok(())
        }))
    }

    /// The fleet that is watched now. Held weakly: a watch ends with its session, whoever still follows something of it.
    async fn watched(&self) -> Result<(mpsc::WeakSender<Ask>, WriteAccess), ApiError> {
        let state = self.state.lock().await;
        let session = state.session.as_ref().ok_or_else(ApiError::no_fleet)?;
        Ok((session.asks.downgrade(), session.access.clone()))
    }

    /// Rules of the fleet that is watched.
    pub async fn rules(&self, _: Nothing) -> Result<Rules, ApiError> {
        let (name, ways) = (self.watched_name().await, self.ways().await?);
        let now = self.hands(ways, KEY_SOON).await?.clock.now();
        let rules = Settings::load(&self.folder)?.rules.into_iter().filter(|rule| rule.fleet == name).collect();
        rules::told(rules, &self.journal().await?, now)
    }

    /// Keeps a rule, in place of the one of its name.
    pub async fn save_rule(&self, request: Rule) -> Result<Rules, ApiError> {
        self.leave().await?;
        let rule = Rule { fleet: self.watched_name().await, ..request };
        rules::checked(&rule)?;
        Settings::change(&self.folder, |settings| {
            settings.rules.retain(|it| it.name != rule.name || it.fleet != rule.fleet);
            settings.rules.push(rule);
            Ok(())
        })?;
        self.rules(Nothing {}).await
    }

    /// Removes a rule.
    pub async fn remove_rule(&self, request: RuleName) -> Result<Rules, ApiError> {
        let fleet = self.watched_name().await;
        Settings::change(&self.folder, |settings| {
            settings.rules.retain(|it| it.name != request.name || it.fleet != fleet);
            Ok(())
        })?;
        self.rules(Nothing {}).await
    }

    /// Takes the steps of a rollout in the background.
    async fn take_steps(&self, leave: Leave, name: &str, hands: LiveHands, journal: &Journal) -> Result<(), ApiError> {
        let may_act = self.still_may().await?;
        let asks = {
            let state = self.state.lock().await;
            let session = state.session.as_ref().ok_or_else(ApiError::no_fleet)?;
            // Watches do not come back: what was read before this was of the same one.
            session.scope.admits(hands.scope())?;
            session.asks.downgrade()
        };
        let watching = Watching::of(asks);
        self.acting.run_rollout(leave, name, Renter { hands, watching }, journal, Patience::default(), may_act)?;
        Ok(())
    }

    /// Deployments and replacements, and how they stand.
    pub async fn rollouts(&self, _: Nothing) -> Result<Rollouts, ApiError> {
        let address = self.ask(Ask::Fleet).await?.watching.address;
        rolling::told(&self.journal().await?, &address)
    }

    /// Begins no new step of a rollout; what is under way is followed.
    pub async fn pause_rollout(&self, request: RolloutName) -> Result<Rollouts, ApiError> {
        let (journal, fleet) = self.journal_of_fleet().await?;
        rolling::pause(&journal, &request.name, &fleet)?;
        self.rollouts(Nothing {}).await
    }

    /// Goes on with a rollout that was paused, or left by a process that was ended.
    pub async fn resume_rollout(&self, request: RolloutName) -> Result<Rollouts, ApiError> {
        let (leave, ways, journal) = self.to_act().await?;
        let hands = self.hands(ways, KEY_WITHIN).await?;
        self.take_steps(leave, &request.name, hands, &journal).await?;
        self.rollouts(Nothing {}).await
    }

    /// Takes back what a rollout has not begun.
    pub async fn take_back_rollout(&self, request: RolloutName) -> Result<Rollouts, ApiError> {
        let (journal, fleet) = self.journal_of_fleet().await?;
        rollout::take_back(&journal, &request.name, &fleet, Clock::System.now())?;
        self.rollouts(Nothing {}).await
    }

    /// The journal and the address of the fleet that it is read for, of one watch.
    async fn journal_of_fleet(&self) -> Result<(Journal, String), ApiError> {
        let state = self.state.lock().await;
        let session = state.session.as_ref().ok_or_else(ApiError::no_fleet)?;
        Ok((Arc::clone(&session.journal), session.scope.fleet().to_owned()))
    }

    async fn journal(&self) -> Result<Journal, ApiError> {
        let state = self.state.lock().await;
        Ok(Arc::clone(&state.session.as_ref().ok_or_else(ApiError::no_fleet)?.journal))
    }

    /// The journal of what was done.
    pub async fn acts(&self, _: Nothing) -> Result<Acts, ApiError> {
        let (left_s, standing) = (self.write_access_left_s().await?, self.standing().await?());
        let name = self.watched_name().await;
        let rules = Settings::load(&self.folder)?.rules;
        let acting = rules.iter().filter(|rule| rule.fleet == name && rule.on && !rule.dry_run).count();
        Ok(Acts {
            may_act: left_s.is_some(),
            write_access_left_s: left_s,
            standing,
            rules_acting: if standing || left_s.is_some() { acting } else { 0 },
            acts: act::told_of(&self.journal().await?)?,
        })
    }

    /// Gives write access to the fleet that is watched for a time, or makes it read-only.
    pub async fn allow_acting(&self, request: AllowActing) -> Result<Acts, ApiError> {
        let (_, access) = self.watched().await?;
        match (request.standing, request.allow) {
            (false, true) => access.give(Clock::System.now(), request.for_s)?,
            (false, false) => access.give_back(),
            (true, allow) => {
                if allow {
                    self.leave().await?;
                }
                self.set_standing(allow).await?;
            }
        }
        self.acts(Nothing {}).await
    }

    async fn set_standing(&self, allow: bool) -> Result<(), ApiError> {
        let saved = {
            let state = self.state.lock().await;
            let session = state.session.as_ref().ok_or_else(ApiError::no_fleet)?;
            let Some(saved) = session.saved.clone() else {
                session.simulation_standing.store(allow, Ordering::Relaxed);
                return Ok(());
            };
            saved
        };
        Settings::change(&self.folder, |settings| {
            if settings.still(&saved).is_none() {
                let words = format!("the saved fleet {:?} is another one now: nothing was set", saved.name);
                return Err(ApiError::new(ErrorCode::OtherFleet, words).hint("choose the fleet again"));
            }
            settings.fleets.iter_mut().filter(|fleet| fleet.name == saved.name).for_each(|fleet| fleet.may_act = allow);
            Ok(())
        })
    }

    /// Allows rules and `dwellctl` to act on a saved fleet at any time, or makes it read-only for them.
    pub async fn set_may_act(&self, name: &str, allow: bool) -> Result<Fleets, ApiError> {
        Settings::change(&self.folder, |settings| {
            settings.named(name)?;
            settings.fleets.iter_mut().filter(|fleet| fleet.name == name).for_each(|fleet| fleet.may_act = allow);
            Ok(())
        })?;
        self.list().await
    }

    /// Reads what is kept of the fleet that is watched: of a simulated one beside its watch, of a connected one from its file, so
    /// that a long reading holds up nothing.
    async fn kept<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Source<'_>) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let manager = {
            let state = self.state.lock().await;
            state.session.as_ref().ok_or_else(ApiError::no_fleet)?.manager.clone()
        };
        if let Some(manager) = manager {
            let (folder, name) = (self.folder.clone(), self.watched_name().await);
            let reading = tokio::task::spawn_blocking(move || Archive::of_watched(&folder, manager.base(), name)?.with(read));
            return reading.await.map_err(|error| ApiError::new(ErrorCode::Bug, error.to_string()))?;
        }
        let (reply, answer) = oneshot::channel();
        let deed = KeptDeed(Box::new(move |driver| {
            let _ = reply.send(driver.with_kept(read));
        }));
        self.tell(Ask::Kept(deed)).await?;
        answer.await.map_err(|_| {
            ApiError::new(ErrorCode::WatchEnded, "the watch over this fleet has ended").hint("choose the fleet again")
        })?
    }

    async fn watched_name(&self) -> String {
        self.state.lock().await.session.as_ref().map_or_else(String::new, |session| session.name.clone())
    }

    /// The charts there are.
    pub async fn charts(&self, _: Nothing) -> Result<ChartList, ApiError> {
        self.kept(charts::list).await
    }

    /// A chart, drawn, with its numbers.
    pub async fn chart(&self, request: ChartRequest) -> Result<ChartView, ApiError> {
        self.kept(move |source| charts::view(source, &request)).await
    }

    /// Who is behind a reading of a chart.
    pub async fn chart_behind(&self, request: ChartBehind) -> Result<Behind, ApiError> {
        self.kept(move |source| charts::behind(source, &request)).await
    }

    /// Saves a chart as a file.
    pub async fn save_chart(&self, request: SaveChart) -> Result<SavedFile, ApiError> {
        let form = ChartForm::named(&request.format).ok_or_else(|| unknown_form(&request.format, "svg, png, csv, json"))?;
        let name = format!("dwell-{}-{}.{}", request.chart.name, Clock::System.now().strftime("%Y-%m-%d"), form.ending());
        let bytes = self.kept(move |source| charts::file(source, &request.chart, form)).await?;
        Ok(SavedFile { path: self.folder.export(&name, &bytes)?.display().to_string() })
    }

    /// Searches all kept logs.
    pub async fn search_logs(&self, request: SearchLogs) -> Result<FoundLogs, ApiError> {
        self.kept(move |source| archive::search(source, &request)).await
    }

    /// Exports a part of history.
    pub async fn export_history(&self, request: ExportHistory) -> Result<ExportedFile, ApiError> {
        let form = TableForm::named(&request.format).ok_or_else(|| unknown_form(&request.format, "csv, json, parquet"))?;
        let table = ExportTable::named(&request.table).ok_or_else(|| {
            let known: Vec<&str> = ExportTable::ALL.into_iter().map(ExportTable::as_str).collect();
            ApiError::new(ErrorCode::BadRequest, format!("history has no {:?}", request.table))
                .hint(format!("it has {}", known.join(", ")))
        })?;
        let (file, path) = self.folder.create_export(&format!("dwell-{}.{}", table.as_str(), form.ending()))?;
        let during = (request.since, request.until);
        let rows = self.kept(move |source| archive::export(source, table, during, form, file)).await?;
        Ok(ExportedFile { path: path.display().to_string(), rows })
    }

    /// The drills, and those that were played.
    pub async fn drills(&self, _: Nothing) -> Result<Drills, ApiError> {
        let past = play::past(&self.folder)?;
        Ok(Drills { drills: play::list(&past), past })
    }

    /// Begins a drill on a world of its own; whatever was watched is not any more.
    pub async fn start_drill(&self, request: StartDrill) -> Result<Fleets, ApiError> {
        let moment = Clock::System.now().as_millisecond().unsigned_abs();
        let scenario = match request.scenario {
            Some(name) => Scenario::named(&name).map_err(crate::bad_scenario)?,
            None => {
                let mut shipped = dwell_simulator::shipped();
                let any = (moment % shipped.len().max(1) as u64) as usize;
                shipped.swap_remove(any)
            }
        };
        let seed = request.seed.unwrap_or(moment);
        let name = scenario.title.clone();
        let (served, driver) = self.serve_world(play::disguised(&scenario), seed, DRILL_SPEED, &name).await?;
        let play = Play::new(Arc::clone(&served), scenario, seed);
        self.begin(name, driver, Some(served), Some(play), None).await?;
        self.list().await
    }

    async fn with_drill<T>(&self, act: impl FnOnce(&mut Play) -> Result<T, ApiError>) -> Result<T, ApiError> {
        let mut state = self.state.lock().await;
        let drill = state.session.as_mut().and_then(|session| session.drill.as_mut());
        act(drill.ok_or_else(|| ApiError::new(ErrorCode::NoDrill, "no drill is being played").hint("begin one"))?)
    }

    async fn note_look(&self, id: &str, what: &str) {
        // Where no drill is played there is nothing to note.
        let _ = self
            .with_drill(|drill| {
                drill.looked(id, what);
                Ok(())
            })
            .await;
    }

    /// The drill that is played, or has just ended.
    pub async fn drill(&self, _: Nothing) -> Result<DrillView, ApiError> {
        self.with_drill(|drill| Ok(drill.view())).await
    }

    async fn row_of(&self, id: &str) -> Result<InstanceRow, ApiError> {
        let request = InstanceRequest { id: id.to_owned() };
        Ok(self.ask(|reply| Ask::Instance(request, reply)).await??.row)
    }

    /// Names a cause in the drill.
    pub async fn answer_drill(&self, request: AnswerDrill) -> Result<DrillView, ApiError> {
        let row = self.row_of(&request.id).await?;
        self.with_drill(|drill| drill.answer(&row, &request.cause).map(|()| drill.view())).await
    }

    /// Does something to an instance of the drill's own world.
    pub async fn do_in_drill(&self, request: DoInDrill) -> Result<DrillView, ApiError> {
        let row = self.row_of(&request.id).await?;
        self.with_drill(|drill| drill.act(&row, &request.deed).map(|()| drill.view())).await
    }

    /// Ends the drill: time stands still, the truth is told, the score is kept.
    pub async fn end_drill(&self, _: Nothing) -> Result<DrillView, ApiError> {
        self.with_drill(|_| Ok(())).await?;
        // What was flagged when, read before time stands still.
        let rows = self.ask(Ask::Fleet).await?.instances;
        let mut flags = Flags::new();
        for row in &rows {
            let request = InstanceRequest { id: row.id.clone() };
            if let Ok(page) = self.ask(|reply| Ask::Instance(request, reply)).await? {
                flags.insert(row.id.clone(), page.flags);
            }
        }
        let at = Clock::System.now();
        let acts = act::told_of(&self.journal().await?)?;
        let (ended, view) = self
            .with_drill(|drill| {
                drill.acted(&acts);
                Ok((drill.end(&rows, &flags, at), drill.view()))
            })
            .await?;
        if let Some(past) = ended {
            play::keep(&self.folder, past)?;
            self.set_speed(SpeedRequest { speed: 0.0 }).await?;
        }
        Ok(view)
    }

    /// Changes the speed of a simulation.
    pub async fn set_speed(&self, request: SpeedRequest) -> Result<Nothing, ApiError> {
        if !request.speed.is_finite() || request.speed < 0.0 {
            return Err(ApiError::new(ErrorCode::BadRequest, "a speed is a number from 0 up"));
        }
        self.tell(Ask::Speed(request.speed)).await
    }

    /// Checks what Dwell needs of this machine.
    pub async fn doctor(&self, _: Nothing) -> Result<Doctor, ApiError> {
        let mut checks = Vec::new();
        let mut check = |name: &str, outcome: Result<String, String>| {
            let (ok, detail) = match outcome {
                Ok(detail) => (true, detail),
                Err(detail) => (false, detail),
            };
            checks.push(crate::dto::Check { name: name.to_owned(), ok, detail });
        };
        check("Data folder", Ok(self.folder.path().display().to_string()));
        check(
            "History",
            History::open(&self.folder.history())
                .map(|_| self.folder.history().display().to_string())
                .map_err(|error| error.to_string()),
        );
        check(
            "Settings",
            Settings::load(&self.folder)
                .map(|settings| format!("{} saved fleets", settings.fleets.len()))
                .map_err(|error| error.message),
        );
        check(
            "HTTPS certificates",
            ManagerClient::new("https://localhost", Limits::default()).map(|_| "found".to_owned()).map_err(|error| error.message),
        );
        check(
            "vast.ai accounts",
            match self.keys(Nothing {}).await {
                Ok(Accounts { accounts }) if accounts.is_empty() => {
                    Ok("none: vast.ai is seen through the manager only (dwellctl keys add NAME)".to_owned())
                }
                Ok(Accounts { accounts }) => {
                    let told: Vec<String> = accounts.iter().map(|it| format!("{}: {}", it.name, it.state)).collect();
                    let well = accounts.iter().all(|it| it.state == keys::IN_KEYCHAIN || it.state == keys::OF_SESSION);
                    if well { Ok(told.join(", ")) } else { Err(told.join(", ")) }
                }
                Err(error) => Err(error.message),
            },
        );
        check("SSH", self.ssh().version().await.map_err(|error| error.message));
        if let Ok(view) = self.ask(Ask::Fleet).await {
            let skew = view.connection.clock_skew_s;
            check(
                "Clock",
                match skew {
                    None => Ok("the manager's clock is not known yet".to_owned()),
                    Some(skew) if skew.abs() < 5.0 => Ok(format!("within {:.1} s of the manager's", skew.abs())),
                    Some(skew) => {
                        Err(format!("{skew:+.0} s from the manager's; dwell is counted on the manager's clock and stays right"))
                    }
                },
            );
            check(
                "Manager",
                match &view.connection.error {
                    Some(error) => Err(error.message.clone()),
                    None => Ok(view.connection.state),
                },
            );
        }
        Ok(Doctor { checks })
    }
}
