//! One look at a fleet, for a terminal: read, keep, answer, done. The same loop as the window's, ended when it is settled.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dwell_clients::{Limits, ManagerClient, VastClient};
use dwell_diagnosis::Check;
use dwell_fleet::Timestamp;
use dwell_history::History;
use tokio::sync::mpsc;

use crate::ApiError;
use crate::act::{self, Acting, Journal, Leave, LiveHands, Patience, Renter, Scope, Watching, rolling, rollout, rules};
use crate::app::client_of;
use crate::drive::{Ask, Clock, Driver, ask_watch, watch_ended};
use crate::dto::*;
use crate::hub::Hub;
use crate::keys;
use crate::live::{self, Live, Means};
use crate::offers;
use crate::rentals;
use crate::settings::{Folder, Settings};

/// A fleet looked at once (or now and again), without a watcher in the background.
#[derive(Debug)]
pub struct Look {
    driver: Driver,
    live: Live,
    /// Accounts of vast.ai's that cannot be asked, and why.
    lacking: Vec<(String, ApiError)>,
    folder: Folder,
    fleet: SavedFleet,
    scope: Scope,
    patience: Patience,
}

/// A fleet that is watched, as a terminal sees it: by the window's own loop.
#[derive(Debug)]
pub struct Watched {
    asks: mpsc::Sender<Ask>,
    news: mpsc::Receiver<Patch>,
}

impl Watched {
    /// Waits until there is something new, and gives all that is seen; with whether all that is to be read has been read.
    pub async fn next(&mut self) -> Result<(FleetView, bool), ApiError> {
        self.news.recv().await.ok_or_else(watch_ended)?;
        while self.news.try_recv().is_ok() {}
        ask_watch(&self.asks, Ask::Seen).await
    }

    /// Writes what is held back as far as that is possible now. How many answers and log lines are not stored then, and how many of
    /// those were dropped before: both are lost when this process ends.
    pub async fn settle_up(&self) -> Result<(usize, usize), ApiError> {
        let held = ask_watch(&self.asks, Ask::SettleUp).await?;
        Ok((held.entries(), held.lost()))
    }

    /// Kept log lines. Where they are an instance's, its log is read before others from now on.
    pub async fn logs(&self, request: LogRequest) -> Result<LogPage, ApiError> {
        ask_watch(&self.asks, |reply| Ask::Logs(request, reply)).await?
    }
}

/// How often it is looked whether there is something to tell.
const TOLD_EVERY: Duration = Duration::from_millis(500);

/// Accounts of vast.ai's: those that can be asked, and those that cannot.
#[derive(Debug, Clone)]
pub struct VastAccounts {
    pub(crate) clients: Vec<VastClient>,
    pub(crate) lacking: Vec<(String, ApiError)>,
}

impl VastAccounts {
    /// Each that cannot be asked, and why.
    pub fn lacking(&self) -> impl Iterator<Item = (&str, &ApiError)> {
        self.lacking.iter().map(|(name, error)| (name.as_str(), error))
    }

    /// The reason where none can be asked.
    pub(crate) fn any(self) -> Result<Self, ApiError> {
        match (&self.clients[..], &self.lacking[..]) {
            ([], [.., (_, error)]) => Err(error.clone()),
            ([], []) => Err(keys::unknown()),
            _ => Ok(self),
        }
    }
}

/// For how long a process that ends soon looks after what others left under way.
const LOOKS_AFTER: Duration = Duration::from_secs(10);

/// Something that is going to be done, once it is carried out.
#[derive(Debug)]
pub struct Planned {
    plan: act::Plan,
    /// When: it is not good for ever.
    at: Timestamp,
}

/// A deployment or a replacement that is going to be made, once it is begun.
#[derive(Debug)]
pub struct PlannedRollout {
    planned: rolling::Planned,
    /// When: it is not good for ever.
    at: Timestamp,
}

impl PlannedRollout {
    /// What it is.
    pub fn view(&self) -> &RolloutPlan {
        &self.planned.view
    }
}

impl Planned {
    /// What it is.
    pub fn view(&self) -> &PlanView {
        &self.plan.view
    }
}

/// Whether a plan was not carried out because it is not what was shown any more, or is too old: it is made again, and confirmed anew.
pub fn is_to_be_planned_again(error: &ApiError) -> bool {
    [act::CHANGED, act::GONE].contains(&error.code)
}

/// Asks a manager once, and keeps nothing. `through` whom SSH goes, where it does.
pub async fn manager_answers(address: &str, through: Option<&str>, within: Option<Duration>) -> Result<(), ApiError> {
    let limits = Limits { within_at_most: within, ..Limits::default() };
    let client = client_of(live::ssh(), address, through, limits)?;
    client.dashboard(crate::now).await?;
    Ok(())
}

/// While steps of a rollout are taken the fleet is read so often, seconds, where not oftener.
const READ_EVERY_MOST_S: f64 = 10.0;

/// Looks that are made after one another at most.
const LOOKS_MAX: usize = 6;

impl Look {
    /// A look at the manager at `manager`: an address, or the name of a saved fleet; the fleet watched last where not given.
    /// `through` whom SSH goes, where it does; a saved fleet knows its own.
    pub fn at(
        manager: Option<&str>,
        through: Option<&str>,
        folder: Option<PathBuf>,
        within: Option<Duration>,
    ) -> Result<Self, ApiError> {
        let folder = Folder::find(folder)?;
        let settings = Settings::load(&folder)?;
        let wanted = manager.map(str::to_owned).or_else(|| settings.watching.clone()).ok_or_else(|| {
            ApiError::new(ErrorCode::NoFleet, "no manager is given and none is saved")
                .hint("give --manager URL, or save one: dwellctl fleets add NAME URL")
        })?;
        let mut fleet = settings.meant(&wanted)?;
        let through = through.map(str::to_owned).or_else(|| fleet.ssh.clone());
        if through != fleet.ssh {
            // Another way leads to another machine's manager: what is allowed for the saved fleet is not allowed there.
            let name = format!("{} via {}", fleet.address, through.as_deref().unwrap_or("nothing"));
            fleet = SavedFleet { name, address: fleet.address, ssh: through.clone(), allow_probe: false, may_act: false };
        }
        let through = through.as_deref();
        let limits = Limits { within_at_most: within, ..Limits::default() };
        let client = client_of(live::ssh(), &fleet.address, through, limits)?;
        let history = History::open(&folder.history())?;
        let live = Live {
            ssh: live::ssh().with_private_machines(settings.allow_private_machines),
            manager: Some(client.clone()),
            vast: Err(keys::unknown()),
            machines: fleet.allow_probe.then(|| folder.path().to_owned()),
        };
        let means = Means { vast: false, machines: fleet.allow_probe };
        let driver = Driver::new(fleet.name.clone(), client, history, Clock::System)?.with_means(means).one_look();
        // A terminal does not wait for ever: what it has not seen by then the window looks after.
        let patience = Patience { leaves_open: true, ..Patience::default() };
        let scope = Scope::begin(&driver.view().watching.address);
        Ok(Self { driver, live, lacking: Vec::new(), folder, fleet, scope, patience })
    }

    /// Whether a text means a fleet: the name of a saved one, or an address.
    pub fn meant(wanted: &str, folder: Option<PathBuf>) -> Result<(), ApiError> {
        Settings::load(&Folder::find(folder)?)?.meant(wanted).map(drop)
    }

    /// The manager that it looks at.
    pub fn manager(&self) -> Option<&ManagerClient> {
        self.live.manager.as_ref()
    }

    /// Asks vast.ai as well.
    #[must_use]
    pub fn with_vast(mut self, client: VastClient) -> Self {
        self.live.vast = Ok(vec![client]);
        self.driver.set_means(Means { vast: true, ..self.driver.means() });
        self
    }

    /// Asks these accounts of vast.ai's as well, and knows of those that cannot be asked.
    #[must_use]
    pub fn with_accounts(mut self, accounts: VastAccounts) -> Self {
        self.live.vast = Ok(accounts.clients);
        self.lacking = accounts.lacking;
        self.driver.set_means(Means { vast: true, ..self.driver.means() });
        self
    }

    /// Looks at machines by SSH as well, keeping their host keys in `folder`: for one call, whatever is set for the fleet.
    #[must_use]
    pub fn with_machines(mut self, folder: &Folder) -> Self {
        self.live.machines = Some(folder.path().to_owned());
        self.driver.set_means(Means { machines: true, ..self.driver.means() });
        self
    }

    /// Reads the fleet, with the logs that can tell whether something is stuck, and that of `wanted`.
    pub async fn read(&mut self, wanted: Option<&str>) -> Result<FleetView, ApiError> {
        self.driver.look(wanted).await?;
        Ok(self.driver.view())
    }

    /// Whether a process has left deeds under way on this fleet that nobody looks after.
    pub fn has_left(&self) -> Result<bool, ApiError> {
        self.live.manager.as_ref().map_or(Ok(false), |manager| act::has_left(&self.journal()?, manager.base()))
    }

    /// Looks what came of deeds that a process left under way on this fleet, for a few seconds; what is not seen by then is left to
    /// the next one.
    pub async fn look_after_left(&self) -> Result<(), ApiError> {
        let Some(manager) = &self.live.manager else { return Ok(()) };
        let looked = act::resume(self.hands(), self.journal()?, manager.base(), Patience::BRIEF);
        // What came of it stands in the journal, and what did not stands there as before.
        let _ = tokio::time::timeout(LOOKS_AFTER, looked).await;
        Ok(())
    }

    /// Watches from now on: reads again and again, whatever fails, and everybody's log. What a process left under way is looked
    /// after besides.
    pub fn watch(self, every: Duration) -> Result<Watched, ApiError> {
        if let Some(manager) = &self.live.manager {
            let (fleet, hands, journal) = (manager.base().to_owned(), self.hands(), self.journal()?);
            tokio::spawn(async move { act::resume(hands, journal, &fleet, Patience::default()).await });
        }
        let hub = Hub::default();
        let news = hub.subscribe();
        Ok(Watched { asks: self.driver.begin(hub, Some(every.as_secs_f64()))?, news })
    }

    /// What is known, after a [`Look::read`] or from history alone.
    pub fn fleet(&self) -> FleetView {
        self.driver.view()
    }

    fn may_act(&self) -> Result<bool, ApiError> {
        Ok(Settings::load(&self.folder)?.still(&self.fleet).is_some_and(|fleet| fleet.may_act))
    }

    /// Plans what is to be done, from what was read, and by the accounts' lists.
    pub async fn plan(&self, request: &PlanRequest) -> Result<Planned, ApiError> {
        let at = Clock::System.now();
        let view = self.fleet();
        let rentals = match request.deed.as_str() {
            "ban" | "unban" => None,
            _ => self.hands().listed(Some(&view)).await,
        };
        Ok(Planned {
            at,
            plan: act::plan(
                &self.scope,
                Some(&view),
                rentals.as_ref(),
                &act::Machines::of(self.driver.watch()),
                request,
                !self.may_act()?,
            )?,
        })
    }

    /// Offers that could be rented, with what is known of each: by what was watched of this fleet, and by its manager.
    pub async fn offers(&self, request: &OffersRequest) -> Result<OffersView, ApiError> {
        let vast = self.live.vast.as_ref().ok().and_then(|clients| clients.first());
        let market = offers::market(self.live.manager.as_ref(), vast, request).await?;
        let past = self.driver.with_kept(offers::past)?;
        Ok(offers::view(market, &past, request, Clock::System.now()))
    }

    /// Carries out a plan and waits for what comes of it; every step is told as it is written down. The fleet is read anew first: where
    /// the plan made now is another one, or it is older than two minutes, nothing is done, and it has to be made and confirmed again
    /// ([`is_to_be_planned_again`]).
    pub async fn carry_out(
        &mut self,
        planned: Planned,
        confirmation: Option<&str>,
        mut tell: impl FnMut(&ActView, &ActStep),
    ) -> Result<Vec<ActView>, ApiError> {
        let leave = Leave::of(self.may_act()?)?;
        let now = Clock::System.now();
        let acting = Acting::default();
        let view = acting.keep(planned.plan, planned.at)?;
        let token = view.token.ok_or_else(|| ApiError::new(ErrorCode::NothingToDo, "no step of this plan can be done"))?;
        let plan = acting.take(&CarryOut { token, confirmation: confirmation.map(str::to_owned), why: None }, now)?;
        match self.driver.look(None).await {
            // It was planned without the manager.
            Err(_) if plan.is_blind => {}
            read => read?,
        }
        let fresh = self.plan(&plan.request).await?.plan;
        let plan = plan.still_holds(&fresh)?;
        let (hands, journal) = (self.hands(), self.journal()?);
        let mut tasks = acting.begin(leave, plan, &hands, &journal, self.patience)?;
        let names = acting.begun();
        let mut told = 0;
        loop {
            let ended = tokio::time::timeout(TOLD_EVERY, async { while tasks.join_next().await.is_some() {} }).await.is_ok();
            let acts: Vec<ActView> = act::told_of(&journal)?.into_iter().filter(|it| names.contains(&it.plan)).collect();
            let mut steps: Vec<(&ActView, &ActStep)> =
                acts.iter().flat_map(|act| act.steps.iter().map(move |step| (act, step))).collect();
            steps.sort_by_key(|(_, step)| step.at);
            steps.iter().skip(told).for_each(|(act, step)| tell(act, step));
            told = steps.len();
            if ended {
                return Ok(acts);
            }
        }
    }

    /// Plans a deployment or a rolling replacement, from what was read.
    pub async fn plan_rollout(&self, request: &RolloutRequest) -> Result<PlannedRollout, ApiError> {
        let at = Clock::System.now();
        let view = self.fleet();
        let rented = request.rented_before.map(|before| self.rented_before(before).instances).unwrap_or_default();
        let offers = self.offers(&request.market).await?;
        let hands = self.hands();
        // Where it cannot be read the plan says so.
        let credit = hands.credit().await.unwrap_or_default();
        let read_only = !self.may_act()?;
        let planned = rolling::plan(&self.scope, (&view, &rented), &offers, credit, !hands.vast.is_empty(), request, read_only)?;
        Ok(PlannedRollout { planned, at })
    }

    fn hands(&self) -> LiveHands {
        let vast = self.live.vast.as_ref().cloned().unwrap_or_default();
        LiveHands::of(self.scope.clone(), self.live.manager.clone(), vast, Clock::System).lacking(self.lacking.clone())
    }

    fn journal(&self) -> Result<Journal, ApiError> {
        Ok(Arc::new(Mutex::new(History::open(&self.folder.history())?)))
    }

    /// Begins a rollout, once; gives its name. Its steps are taken by [`Look::take_steps`]. The fleet is read anew first: where what is
    /// replaced is not what was shown any more, or the plan is older than two minutes, nothing is begun
    /// ([`is_to_be_planned_again`]).
    pub async fn begin_rollout(&mut self, planned: PlannedRollout, confirmation: Option<&str>) -> Result<String, ApiError> {
        let leave = Leave::of(self.may_act()?)?;
        let now = Clock::System.now();
        let acting = Acting::default();
        let view = acting.keep_rollout(planned.planned, planned.at)?;
        let refused = view.refused.clone().unwrap_or_else(|| "this plan cannot be begun".to_owned());
        let token = view.token.ok_or_else(|| ApiError::new(ErrorCode::CannotBegin, refused))?;
        let request = CarryOut { token, confirmation: confirmation.map(str::to_owned), why: None };
        self.driver.look(None).await?;
        acting.begin_rollout(leave, &self.scope, &request, &self.journal()?, (now, now), &self.fleet())
    }

    /// Takes the steps of a rollout until it has ended or waits for a person; tells how it stands whenever that has changed.
    pub async fn take_steps(self, name: &str, mut tell: impl FnMut(&RolloutView)) -> Result<RolloutView, ApiError> {
        let leave = Leave::of(self.may_act()?)?;
        let (hands, journal) = (self.hands(), self.journal()?);
        let patience = Patience { leaves_open: false, ..self.patience };
        let (folder, fleet) = (self.folder.clone(), self.fleet.clone());
        let may_act = move || match Settings::load(&folder).is_ok_and(|it| it.still(&fleet).is_some_and(|it| it.may_act)) {
            true => Ok(()),
            false => Err("the fleet was made read-only".to_owned()),
        };
        let address = self.driver.view().watching.address;
        let asks = self.driver.begin(Hub::default(), Some(self.patience.between_s.min(READ_EVERY_MOST_S)))?;
        let watching = Watching::of(asks.downgrade());
        let acting = Acting::default();
        let running = acting.run_rollout(leave, name, Renter { hands, watching }, &journal, patience, Arc::new(may_act))?;
        let running = running.ok_or_else(|| ApiError::new(ErrorCode::Bug, "its steps are taken already"))?;
        let mut told: Option<RolloutView> = None;
        // The watch goes on for as long as its steps are taken.
        let _asks = asks;
        loop {
            let ended = running.is_finished();
            let now = rolling::told(&journal, &address)?.rollouts.into_iter().find(|it| it.name == name);
            let now = now.ok_or_else(|| rollout::unknown(name))?;
            if told.as_ref() != Some(&now) {
                tell(&now);
            }
            if ended {
                return Ok(now);
            }
            told = Some(now);
            tokio::time::sleep(TOLD_EVERY).await;
        }
    }

    /// Rules of the fleet. They are followed by the window, while it watches the fleet.
    pub fn rules(&self) -> Result<Rules, ApiError> {
        let rules = Settings::load(&self.folder)?.rules.into_iter().filter(|rule| rule.fleet == self.fleet.name).collect();
        rules::told(rules, &self.journal()?, Clock::System.now())
    }

    /// Keeps a rule, in place of the one of its name.
    pub fn save_rule(&self, rule: Rule) -> Result<Rules, ApiError> {
        Leave::of(self.may_act()?)?;
        let rule = Rule { fleet: self.fleet.name.clone(), ..rule };
        rules::checked(&rule)?;
        Settings::change(&self.folder, |settings| {
            settings.rules.retain(|it| it.name != rule.name || it.fleet != rule.fleet);
            settings.rules.push(rule);
            Ok(())
        })?;
        self.rules()
    }

    /// Removes a rule.
    pub fn remove_rule(&self, name: &str) -> Result<Rules, ApiError> {
        Settings::change(&self.folder, |settings| {
            let before = settings.rules.len();
            settings.rules.retain(|it| it.name != name || it.fleet != self.fleet.name);
            match settings.rules.len() == before {
                true => Err(ApiError::new(ErrorCode::UnknownRule, format!("no rule of this fleet is called {name:?}"))),
                false => Ok(()),
            }
        })?;
        self.rules()
    }

    /// Rollouts of the fleet, and how they stand.
    pub fn rollouts(&self) -> Result<Rollouts, ApiError> {
        rolling::told(&self.journal()?, &self.driver.view().watching.address)
    }

    /// Begins no new step of a rollout.
    pub fn pause_rollout(&self, name: &str) -> Result<(), ApiError> {
        rolling::pause(&self.journal()?, name, self.scope.fleet())
    }

    /// Takes back what a rollout has not begun. How many.
    pub fn take_back(&self, name: &str) -> Result<usize, ApiError> {
        rollout::take_back(&self.journal()?, name, self.scope.fleet(), Clock::System.now())
    }

    /// How long it is waited between two readings that show what came of a deed, seconds.
    #[must_use]
    pub fn with_readings_every(mut self, seconds: f64) -> Self {
        self.patience.between_s = seconds;
        self
    }

    /// After how many readings what is not seen is not waited for any longer.
    #[must_use]
    pub fn with_readings(mut self, readings: usize) -> Self {
        self.patience.readings = readings;
        self
    }

    /// An instance's page.
    pub fn instance(&mut self, id: &str) -> Result<InstancePage, ApiError> {
        self.driver.instance_page(id)
    }

    /// What is thought of an instance, and why.
    pub fn diagnosis(&mut self, id: &str) -> Result<DiagnosisPage, ApiError> {
        self.driver.diagnosis(id)
    }

    /// Makes the looks that are proposed, the most telling first, as far as they can be made from here; gives what is thought
    /// then, and what could not be asked.
    pub async fn look_around(&mut self, id: &str) -> Result<(DiagnosisPage, Vec<String>), ApiError> {
        let mut page = self.driver.diagnosis(id)?;
        let mut tried: Vec<String> = Vec::new();
        let mut failed = Vec::new();
        while tried.len() < LOOKS_MAX {
            let next = page.next_checks.iter().find(|it| {
                let again = it.check.ends_with("-again");
                it.wanting.is_none() && !again && !tried.contains(&it.check)
            });
            let Some(check) = next.and_then(|it| Check::parse(&it.check)) else { break };
            tried.push(check.as_str().to_owned());
            match self.look(id, check).await {
                Ok(after) => page = after,
                Err(error) => failed.push(format!("{}: {}", check.title(), error.message)),
            }
        }
        Ok((page, failed))
    }

    /// Makes one look.
    pub async fn look(&mut self, id: &str, check: Check) -> Result<DiagnosisPage, ApiError> {
        let whom = self.driver.whom(id)?;
        let looked = self.live.look(&whom, check).await?;
        self.driver.looked(&whom.id, check, looked)
    }

    /// Asks an instance's prover, through the manager.
    pub async fn prover(&mut self, id: &str) -> Result<ProverPanel, ApiError> {
        let whom = self.driver.whom(id)?;
        let answer = self.live.prover(&whom).await?;
        self.driver.prover_seen(&whom.id, answer)
    }

    /// Looks at a machine by SSH; gives its page.
    pub async fn probe(&mut self, id: &str) -> Result<InstancePage, ApiError> {
        self.look(id, Check::Ssh).await?;
        self.driver.instance_page(id)
    }

    /// What a look at a machine runs.
    pub fn probe_script(&self, id: &str) -> Result<ProbeScript, ApiError> {
        Ok(live::probe_script(Some(&self.driver.whom(id)?)))
    }

    /// What was answered, as it came.
    pub fn raw_answers(&self, id: &str) -> Result<RawAnswers, ApiError> {
        self.driver.answers(id)
    }

    /// An account's rentals beside the fleet's rows.
    pub async fn rentals(&self, account: &str, client: VastClient) -> Rentals {
        let told = rentals::of_account(Ok(client)).await;
        rentals::joined(vec![(account.to_owned(), told)], Some(&self.fleet()), Clock::System.now())
    }

    /// Everything that is stuck, grouped.
    pub fn incidents(&mut self) -> Incidents {
        self.driver.incidents()
    }

    /// Accounts for rentals that raise an alarm.
    pub fn acknowledge(&mut self, request: &AcknowledgeRequest) -> Result<FleetView, ApiError> {
        self.driver.acknowledge(request)
    }

    /// A report of instances.
    pub fn report(&mut self, request: &ReportRequest) -> Result<Report, ApiError> {
        self.driver.report(request)
    }

    /// Who was rented before a date.
    pub fn rented_before(&self, before: dwell_fleet::Timestamp) -> Rented {
        self.driver.rented_before(before)
    }

    /// Kept log lines.
    pub fn logs(&mut self, request: &LogRequest) -> Result<LogPage, ApiError> {
        self.driver.logs(request)
    }
}
