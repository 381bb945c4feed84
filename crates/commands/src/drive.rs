//! Performs what the watch loop asks for: HTTP, history, time. The only place where they meet.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dwell_clients::{Code, FetchError, ManagerClient, Tunnel, TunnelState};
use dwell_diagnosis::Check;
use dwell_fleet::look::{ProverAnswer, SshAddress, VastShown};
use dwell_fleet::{FlagChange, FlagKind, Fleet, Instance, Key, LogLine, Observed, Presence, Timestamp};
use dwell_history::{
    Answer, Closing, FleetId, Held, HeldState, History, HistoryError, Limits as HistoryLimits, LogOwner, LogQuery, Note, NoteKind,
};
use dwell_simulator::Served;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::ApiError;
use crate::ask::{Answered, Looked, ask};
use crate::dto::*;
use crate::hub::Hub;
use crate::incident::{self, Asker, Kept};
use crate::live::{Means, Whom};
use crate::panels;
use crate::report;
use crate::select::{Called, select, unknown};
use crate::view::{self, Context};
use crate::watch::{Effect, Event, Pace, Watch};

/// Log lines given where a request names no number, and at most.
const LINES_ORDINARY: usize = 1_000;
const LINES_MOST: usize = 10_000;
/// Transitions and gauges on an instance's page at most.
/// Newest lines in which known words are looked for.
const SAID_LINES: usize = 2_000;
const LIFE_MOST: usize = 200;
/// Notes of an instance, closings of others, and instances of one report, at most.
const NOTES_MOST: usize = 200;
const SEEN_BEFORE_MOST: usize = 5;
const REPORT_INSTANCES_MOST: usize = 50;
const GAUGES_MOST: usize = 1_500;
/// Newest entries of the journal in which orders are looked for.
const ACTS_MOST: usize = 2_000;
/// Between two answers of a prover that is followed which are kept, seconds.
const PROVER_KEPT_EVERY_S: f64 = 60.0;
/// Views published at most this often.
const PUBLISH_EVERY: Duration = Duration::from_millis(250);
/// A demonstration goes on this long at its speed after the latest flag, seconds of its own time, and then slows down.
const SLOW_AFTER_FLAG_S: f64 = 300.0;
/// How often it is looked whether history needs upkeep.
const KEEP_UP_EVERY: Duration = Duration::from_secs(60);
/// How often it is tried to write what is held.
const HELD_TRIED_EVERY: Duration = Duration::from_secs(2);
/// Questions that may wait for the watcher.
const ASKS_WAITING_MAX: usize = 64;
/// How often time is looked at.
const TICK_EVERY: Duration = Duration::from_millis(100);

/// The fleet's time: the operator's clock, or a simulation's.
#[derive(Debug, Clone)]
pub(crate) enum Clock {
    System,
    Simulated(Arc<Served>),
}

impl Clock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where the wall clock is read; everything below is given the time"
    )]
    pub(crate) fn now(&self) -> Timestamp {
        match self {
            Self::System => Timestamp::now(),
            Self::Simulated(served) => served.now(),
        }
    }

    pub(crate) fn speed(&self) -> f64 {
        match self {
            Self::System => 1.0,
            Self::Simulated(served) => served.speed(),
        }
    }
}

/// A fleet being watched: the loop, its client, its history.
#[derive(Debug)]
pub(crate) struct Driver {
    watch: Watch,
    client: ManagerClient,
    history: History,
    fleet_id: FleetId,
    simulated: Option<String>,
    clock: Clock,
    pace: Pace,
    name: String,
    under_way: JoinSet<Event>,
    /// What could not be written yet. Every write of the watch goes through it.
    held: Held,
    /// When it was last tried to write that.
    held_tried_at: Option<Instant>,
    /// Why history could not be kept small, where it could not.
    upkeep_error: Option<String>,
    changed: bool,
    /// A simulation is slowed to real time some time after it last had something new to show.
    slow_on_flag: bool,
    slow_at: Option<Timestamp>,
    one_look: bool,
    means: Means,
    /// How the tunnel was when it was last looked at.
    tunnel: Option<TunnelState>,
    history_limits: HistoryLimits,
    /// When history was last found to need nothing.
    kept_up_at: Option<Instant>,
}

impl Driver {
    pub(crate) fn new(name: String, client: ManagerClient, mut history: History, clock: Clock) -> Result<Self, ApiError> {
        let pace = Pace::at_speed(clock.speed());
        let simulated = history.latest_simulated(client.base())?;
        let fleet_id = history.fleet(client.base(), simulated.as_deref())?;
        let watch = watch_of(&mut history, fleet_id, pace, clock.now())?;
        Ok(Self {
            watch,
            client,
            history,
            fleet_id,
            simulated,
            pace,
            name,
            under_way: JoinSet::new(),
            held: Held::default(),
            held_tried_at: None,
            upkeep_error: None,
            changed: true,
            slow_on_flag: false,
            slow_at: None,
            one_look: false,
            means: Means::default(),
            tunnel: None,
            history_limits: HistoryLimits::default(),
            kept_up_at: None,
            clock,
        })
    }

    pub(crate) fn slow_on_flag(mut self) -> Self {
        self.slow_on_flag = true;
        self
    }

    /// What can be asked besides the manager.
    pub(crate) fn with_means(mut self, means: Means) -> Self {
        self.means = means;
        self
    }

    pub(crate) fn means(&self) -> Means {
        self.means
    }

    pub(crate) fn set_means(&mut self, means: Means) {
        self.means = means;
    }

    /// For one look instead of a watch: not everybody's whole log is read.
    pub(crate) fn one_look(mut self) -> Self {
        self.one_look = true;
        self.watch.read_only_telling_logs(true);
        self
    }

    /// Watches from now on, on a thread of its own: SQLite blocks, and must not hold up who asks. What is seen is shared by `hub`; the
    /// watch ends when nobody can ask it any more. `every`: between two dashboards, seconds, where it is not the ordinary pace.
    pub(crate) fn begin(mut self, hub: Hub, every: Option<f64>) -> Result<mpsc::Sender<Ask>, ApiError> {
        self.one_look = false;
        self.watch.read_only_telling_logs(false);
        if let Some(every_s) = every {
            self.pace = Pace::every(every_s);
            self.watch.set_pace(self.pace, self.clock.now());
        }
        let (asks, asked) = mpsc::channel(ASKS_WAITING_MAX);
        std::thread::Builder::new()
            .name("dwell-watch".to_owned())
            .spawn(move || match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime.block_on(self.run(hub, asked)),
                Err(error) => tracing::error!(%error, "cannot start watching"),
            })
            .map_err(|error| ApiError::new(ErrorCode::NoThread, format!("cannot start watching: {error}")))?;
        Ok(asks)
    }

    /// One complete look: dashboard, manager's log, the logs that can tell something, and that of `wanted`. Fails only
    /// where the dashboard does, or where nobody is `wanted`.
    pub(crate) async fn look(&mut self, wanted: Option<&str>) -> Result<(), ApiError> {
        let failures = self.watch.connection().failures;
        self.step(Event::Refresh);
        self.settle(failures).await?;
        if let Some(wanted) = wanted {
            let key = resolve(self.watch.fleet(), wanted)?;
            self.step(Event::LookAt(Some(key)));
            self.settle(0).await?;
        }
        Ok(())
    }

    /// Waits until nothing is under way. `failures` in a row were known before: only a new one is an answer.
    async fn settle(&mut self, failures: u32) -> Result<(), ApiError> {
        loop {
            let connection = self.watch.connection();
            if let Some(failure) = connection.failure.clone().filter(|_| connection.failures != failures) {
                return Err(failure.into());
            }
            if self.watch.is_settled() && self.under_way.is_empty() {
                return Ok(());
            }
            match self.under_way.join_next().await {
                Some(event) => self.take(event),
                None => self.step(Event::Tick),
            }
        }
    }

    /// Watches until nobody asks any more.
    pub(crate) async fn run(mut self, hub: Hub, mut asked: mpsc::Receiver<Ask>) {
        let mut tick = tokio::time::interval(TICK_EVERY);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut published_at: Option<Instant> = None;
        loop {
            tokio::select! {
                Some(event) = self.under_way.join_next(), if !self.under_way.is_empty() => self.take(event),
                ask = asked.recv() => match ask {
                    Some(ask) => self.answer(ask),
                    None => return,
                },
                _ = tick.tick() => {
                    if self.slow_at.is_some_and(|at| self.clock.now() >= at) {
                        (self.slow_at, self.slow_on_flag) = (None, false);
                        self.set_speed(1.0);
                    }
                    self.look_at_tunnel();
                    self.write_held();
                    self.step(Event::Tick);
                }
            }
            if self.changed && published_at.is_none_or(|at| at.elapsed() >= PUBLISH_EVERY) {
                self.changed = false;
                published_at = Some(Instant::now());
                hub.publish(self.view());
            }
        }
    }

    /// Shows a change of the tunnel, and asks as soon as it is open again.
    fn look_at_tunnel(&mut self) {
        let now = self.client.tunnel().map(Tunnel::state);
        if now == self.tunnel {
            return;
        }
        let was_down = matches!(self.tunnel, Some(TunnelState::Down(_)));
        let is_up = matches!(now, Some(TunnelState::Up(_)));
        self.tunnel = now;
        self.changed = true;
        if is_up && (was_down || self.watch.connection().failure.is_some()) {
            self.step(Event::Refresh);
        }
    }

    fn refresh(&mut self) {
        if let Some(tunnel) = self.client.tunnel()
            && matches!(tunnel.state(), TunnelState::Down(_))
        {
            tunnel.try_now();
        }
        self.step(Event::Refresh);
    }

    fn take(&mut self, event: Result<Event, tokio::task::JoinError>) {
        match event {
            Ok(event) => self.step(event),
            Err(error) => tracing::error!(%error, "a reading ended without an answer"),
        }
    }

    fn step(&mut self, mut event: Event) {
        if let Event::Dashboard(Ok((_, simulated))) = &event
            && *simulated != self.simulated
            && let Err(error) = self.change_identity(simulated.clone())
        {
            // What another fleet says is never stored under this one's name.
            let message = format!("another run answers at this address, and its history cannot be begun: {error}");
            event = Event::Dashboard(Err(FetchError { code: Code::HistoryFailed, message, status: None }));
        }
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            let now = self.clock.now();
            for effect in self.watch.step(event, now) {
                self.perform(effect, &mut events);
            }
        }
    }

    /// Another run of a simulator, or a real manager where a simulated one was: another fleet, with a history of its own.
    fn change_identity(&mut self, simulated: Option<String>) -> Result<(), ApiError> {
        let fleet_id = self.history.fleet(self.client.base(), simulated.as_deref())?;
        self.watch = watch_of(&mut self.history, fleet_id, self.pace, self.clock.now())?;
        self.watch.read_only_telling_logs(self.one_look);
        self.fleet_id = fleet_id;
        self.simulated = simulated;
        Ok(())
    }

    fn perform(&mut self, effect: Effect, events: &mut Vec<Event>) {
        let client = self.client.clone();
        match effect {
            Effect::FetchDashboard => {
                let clock = self.clock.clone();
                self.under_way.spawn(async move {
                    let answered = client.dashboard(|| clock.now()).await;
                    Event::Dashboard(answered.map(|answered| (answered.value, answered.simulated)))
                });
            }
            Effect::FetchInstanceLines { key, uuid, tail } => {
                self.under_way.spawn(async move {
                    Event::InstanceLines { key, tail, result: client.instance_logs(&uuid, tail, None).await }
                });
            }
            Effect::FetchManagerLines { tail } => {
                self.under_way.spawn(async move { Event::ManagerLines(client.manager_logs(tail).await) });
            }
            Effect::Record { observed, flags } => {
                if self.slow_on_flag
                    && flags.iter().any(|change| change.to.as_ref().is_some_and(|flag| flag.kind.needs_a_person()))
                {
                    self.slow_at = Some(dwell_fleet::shift(self.clock.now(), SLOW_AFTER_FLAG_S));
                }
                let fleet = self.watch.fleet();
                let Some(as_of) = fleet.as_of() else { return };
                self.held.record(&mut self.history, self.fleet_id, &answer_of(&self.watch, as_of, &observed, &flags));
                self.keep_up(as_of);
                events.extend(self.accounted());
            }
            Effect::KeepLines { key, lines, whole_buffer, part } => {
                let owner = key.map_or(LogOwner::Manager, LogOwner::Instance);
                let run = self.watch.fleet().manager_run().started_at;
                let kept = self.held.append(&mut self.history, self.fleet_id, owner, &lines, (whole_buffer, part), run);
                if part && kept.gap {
                    events.push(Event::Unjoined { key });
                    return;
                }
                let new = kept.lines;
                if let Some(key) = key {
                    events.push(Event::LinesKept { key, lines: new });
                }
            }
            Effect::Publish => self.changed = true,
        }
    }

    /// What is kept that may explain kills: asked for only while there are some to explain.
    fn accounted(&self) -> Option<Event> {
        let fleet = self.watch.fleet();
        let leaks = |instance: &Instance| instance.flag.as_ref().is_some_and(|flag| flag.kind == FlagKind::Leaking);
        if fleet.written_off().is_empty() && !fleet.instances().any(leaks) {
            return None;
        }
        let skew_s = self.watch.connection().clock_skew_s.unwrap_or(0.0);
        let (mut commands, mut ended) = (Vec::new(), Vec::new());
        let acts = self.history.acts(ACTS_MOST).unwrap_or_default();
        let done = acts.into_iter().filter(|act| {
            act.fleet == self.client.base()
                && act.simulated == self.simulated
                && matches!(act.deed.as_str(), "kill" | "destroy")
                && !matches!(act.phase.as_str(), "planned" | "dry-run" | "refused")
        });
        for act in done {
            let at = dwell_fleet::shift(act.at, skew_s);
            commands.extend(act.uuid.map(|uuid| (uuid, at)));
            commands.extend(act.vast_id.map(|id| (id.to_string(), at)));
            if act.deed == "destroy" && act.phase == "verified" {
                let of = |instance: &&Instance| instance.vast_id.is_some_and(|id| Some(id.0) == act.vast_id);
                ended.extend(fleet.instances().filter(of).map(|instance| (instance.key, at)));
            }
        }
        let acknowledged = self.history.acknowledged(self.fleet_id).unwrap_or_default();
        Some(Event::Accounted { commands, acknowledged, ended })
    }

    /// A person has accounted for rentals that raise an alarm: all that were written off together, or these.
    pub(crate) fn acknowledge(&mut self, request: &AcknowledgeRequest) -> Result<FleetView, ApiError> {
        let fleet = self.watch.fleet();
        let keys: Vec<Key> = if request.ids.is_empty() {
            fleet.written_off().iter().flat_map(|group| group.keys.iter().copied()).collect()
        } else {
            request.ids.iter().map(|id| resolve(fleet, id)).collect::<Result<_, _>>()?
        };
        if keys.is_empty() {
            return Err(ApiError::new(ErrorCode::NothingToAcknowledge, "no instance was written off that is not accounted for"));
        }
        let at = fleet.manager_time_at(self.clock.now());
        let text = request.text.trim();
        for key in &keys {
            let note = Note { at, kind: NoteKind::Acknowledge, text: text.to_owned(), closing: None };
            if !self.history.add_note(self.fleet_id, *key, &note)? {
                return Err(
                    ApiError::new(ErrorCode::NotKept, "this instance is not in the history yet").hint("try again in a moment")
                );
            }
        }
        let acknowledged = keys.into_iter().map(|key| (key, at)).collect();
        self.step(Event::Accounted { commands: Vec::new(), acknowledged, ended: Vec::new() });
        Ok(self.view())
    }

    /// Thins old gauges and makes room, a part at a time.
    fn keep_up(&mut self, as_of: Timestamp) {
        if self.held.is_waiting() || self.kept_up_at.is_some_and(|at| at.elapsed() < KEEP_UP_EVERY) {
            return;
        }
        match self.history.upkeep(as_of, self.history_limits) {
            Ok(done) => (self.kept_up_at, self.upkeep_error) = ((!done.more).then(Instant::now), None),
            Err(error) => {
                self.kept_up_at = Some(Instant::now());
                self.upkeep_error = Some(format!("it cannot be kept small: {error}"));
            }
        }
    }

    pub(crate) fn with_history_limits(mut self, limits: HistoryLimits) -> Self {
        self.history_limits = limits;
        self
    }

    pub(crate) fn history(&self) -> &History {
        &self.history
    }

    pub(crate) fn fleet(&self) -> &Fleet {
        self.watch.fleet()
    }

    pub(crate) fn fleet_id(&self) -> FleetId {
        self.fleet_id
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Tries to write what is held, at most every so often.
    fn write_held(&mut self) {
        if !self.held.is_waiting() || self.held_tried_at.is_some_and(|at| at.elapsed() < HELD_TRIED_EVERY) {
            return;
        }
        self.held_tried_at = Some(Instant::now());
        self.write_held_now();
    }

    fn write_held_now(&mut self) {
        let before = self.held.state().clone();
        for owner in self.held.retry(&mut self.history) {
            let key = match owner {
                LogOwner::Manager => None,
                LogOwner::Instance(key) => Some(key),
            };
            self.step(Event::Unjoined { key });
        }
        self.changed |= before != *self.held.state();
    }

    /// Writes what is held as far as that is possible now, and says what is left and what was lost.
    fn settle_up(&mut self) -> HeldState {
        self.write_held_now();
        self.held.state().clone()
    }

    fn set_speed(&mut self, speed: f64) {
        if let Clock::Simulated(served) = &self.clock {
            served.set_speed(speed);
            self.pace = Pace::at_speed(speed);
            self.watch.set_pace(self.pace, served.now());
            self.changed = true;
        }
    }

    pub(crate) fn view(&self) -> FleetView {
        view::fleet_view(
            &self.watch,
            &Context {
                name: self.name.clone(),
                address: self.client.base().to_owned(),
                speed: self.clock.speed(),
                now: self.clock.now(),
                history_error: self.held.state().error.clone().or_else(|| self.upkeep_error.clone()),
                held: self.held.state().clone(),
                tunnel: self.client.tunnel().map(view::tunnel),
            },
        )
    }

    fn answer(&mut self, ask: Ask) {
        // Whoever asked may have gone away; then nobody misses the answer.
        match ask {
            Ask::Fleet(reply) => drop(reply.send(self.view())),
            Ask::Seen(reply) => drop(reply.send((self.view(), self.watch.is_settled()))),
            Ask::Fresh(reply) => drop(reply.send(self.fresh())),
            Ask::Instance(request, reply) => drop(reply.send(self.instance_page(&request.id))),
            Ask::Logs(request, reply) => drop(reply.send(self.logs(&request))),
            Ask::Incidents(reply) => drop(reply.send(self.incidents())),
            Ask::Diagnosis(id, reply) => drop(reply.send(self.diagnosis(&id))),
            Ask::Looked(id, check, looked, reply) => drop(reply.send(self.looked(&id, check, looked))),
            Ask::Whom(id, reply) => drop(reply.send(self.whom(&id))),
            Ask::Answers(id, reply) => drop(reply.send(self.answers(&id))),
            Ask::Prover(id, reply) => drop(reply.send(self.ask_prover(&id))),
            Ask::ProverSeen(id, answer, reply) => drop(reply.send(self.prover_seen(&id, answer))),
            Ask::Means(means) => self.set_means(means),
            Ask::Look(request, reply) => drop(reply.send(self.look_at(&request))),
            Ask::Note(id, note, reply) => drop(reply.send(self.add_note(&id, note))),
            Ask::Acknowledge(request, reply) => drop(reply.send(self.acknowledge(&request))),
            Ask::Report(request, reply) => drop(reply.send(self.report(&request))),
            Ask::Rented(before, reply) => drop(reply.send(self.rented_before(before))),
            Ask::Refresh => self.refresh(),
            Ask::SettleUp(reply) => drop(reply.send(self.settle_up())),
            Ask::Kept(KeptDeed(deed)) => deed(self),
            Ask::Speed(speed) => {
                (self.slow_at, self.slow_on_flag) = (None, false);
                self.set_speed(speed);
            }
        }
    }

    /// What is watched.
    pub(crate) fn watch(&self) -> &Watch {
        &self.watch
    }

    /// What is seen, where the manager answers: what stands since an outage says nothing of now.
    fn fresh(&self) -> Result<FleetView, ApiError> {
        let connection = self.watch.connection();
        match (&connection.failure, connection.last_ok_at) {
            (Some(failure), _) => Err(failure.clone().into()),
            (None, None) => Err(ApiError::new(ErrorCode::NotReadYet, "the manager has not answered yet")),
            (None, Some(_)) => Ok(self.view()),
        }
    }

    pub(crate) fn instance_page(&mut self, id: &str) -> Result<InstancePage, ApiError> {
        let key = resolve(self.watch.fleet(), id)?;
        self.step(Event::LookAt(Some(key)));
        let fleet = self.watch.fleet();
        let Some(instance) = fleet.instance(key) else { return Err(unknown(id)) };
        let since = dwell_fleet::shift(instance.last_listed_at, -86_400.0);
        let looks = self.watch.casebook().looks(key);
        Ok(InstancePage {
            row: view::row(instance, fleet),
            facts: view::facts(instance),
            life: view::life(&self.history.transitions(self.fleet_id, key, LIFE_MOST)?),
            gauges: self
                .history
                .gauges(self.fleet_id, key, since, GAUGES_MOST)?
                .into_iter()
                .map(|point| GaugeView {
                    at: point.at,
                    gpu_util_percent: point.gpu_util_percent,
                    gpu_temp_c: point.gpu_temp_c,
                    log_lines: point.log_lines,
                })
                .collect(),
            flags: self
                .history
                .flags(self.fleet_id, key, LIFE_MOST)?
                .into_iter()
                .map(|record| PastFlag {
                    kind: record.kind.as_str().to_owned(),
                    since: record.since,
                    raised_at: record.raised_at,
                    cleared_at: record.cleared_at,
                    reason: record.reason,
                })
                .collect(),
            evidence: view::evidence(instance),
            said: view::said(instance, &self.history.lines(self.fleet_id, LogOwner::Instance(key), &newest_lines())?),
            silence: view::silence(instance),
            gaps: self.history.gaps(self.fleet_id, since)?.into_iter().map(|(from, to)| GapView { from, to }).collect(),
            first_seen_at: instance.first_seen_at,
            looks: panels::looks(looks),
            machine: panels::machine(looks),
            prover: panels::prover(looks),
        })
    }

    pub(crate) fn incidents(&mut self) -> Incidents {
        let (fleet_id, history) = (self.fleet_id, &self.history);
        let closed = |instance: &Instance| {
            history.notes(fleet_id, instance.key, NOTES_MOST).is_ok_and(|notes| incident::is_closed(instance, &notes))
        };
        incident::incidents(&self.watch, self.held.state(), self.clock.now(), closed)
    }

    /// The diagnosis of an instance.
    pub(crate) fn diagnosis(&mut self, id: &str) -> Result<DiagnosisPage, ApiError> {
        let key = resolve(self.watch.fleet(), id)?;
        self.step(Event::LookAt(Some(key)));
        let now = self.clock.now();
        let Some(instance) = self.watch.fleet().instance(key) else { return Err(unknown(id)) };
        let around = self.watch.around(now);
        let leading = incident::leading_ids(&self.watch.casebook().diagnose(instance, &around));
        let kept = Kept {
            notes: self.history.notes(self.fleet_id, key, NOTES_MOST)?,
            seen_before: self.history.seen_before(self.fleet_id, &leading, key, SEEN_BEFORE_MOST)?,
            from: match &self.clock {
                Clock::Simulated(_) => Asker::Simulation,
                Clock::System => Asker::Live(self.means),
            },
        };
        Ok(incident::page(&self.watch, instance, now, kept))
    }

    /// Makes a look, where one can be made.
    pub(crate) fn look_at(&mut self, request: &LookRequest) -> Result<DiagnosisPage, ApiError> {
        let check = Check::parse(&request.check)
            .ok_or_else(|| ApiError::new(ErrorCode::BadRequest, format!("no look is called {:?}", request.check)))?;
        let key = resolve(self.watch.fleet(), &request.id)?;
        let vast_id = self.watch.fleet().instance(key).and_then(|instance| instance.vast_id);
        if matches!(check, Check::InstanceLog | Check::ManagerLog) {
            self.refresh();
            return self.diagnosis(&request.id);
        }
        let (Clock::Simulated(served), Some(vast_id)) = (&self.clock, vast_id) else {
            return Err(ApiError::new(ErrorCode::CannotLook, "this look cannot be made from here yet")
                .hint("make it by hand: the page says how"));
        };
        let looked = served.with_world(|world| ask(world, vast_id.0, check));
        self.looked(&request.id, check, looked)
    }

    /// Who is asked about an instance.
    pub(crate) fn whom(&self, id: &str) -> Result<Whom, ApiError> {
        let key = resolve(self.watch.fleet(), id)?;
        let Some(instance) = self.watch.fleet().instance(key) else { return Err(unknown(id)) };
        let record = match self.watch.casebook().looks(key).vast.as_ref().map(|asked| &asked.answer.record) {
            Some(VastShown::Record(record)) => Some(record),
            _ => None,
        };
        Ok(Whom {
            id: instance.id(),
            uuid: instance.uuid.as_ref().map(ToString::to_string),
            vast_id: instance.vast_id.map(|id| id.0),
            direct: record
                .and_then(|record| record.ssh_direct.clone())
                .or_else(|| instance.vast.ssh_command.as_deref().and_then(SshAddress::of_command)),
            proxy: record.and_then(|record| record.ssh_proxy.clone()),
        })
    }

    /// What the channels that are asked on purpose have answered, as it came.
    pub(crate) fn answers(&self, id: &str) -> Result<RawAnswers, ApiError> {
        let key = resolve(self.watch.fleet(), id)?;
        let answers = self.history.answers(self.fleet_id, key)?.into_iter().map(panels::raw_answer).collect();
        Ok(RawAnswers { answers })
    }

    /// Takes in what a look brought.
    pub(crate) fn looked(&mut self, id: &str, check: Check, looked: Vec<Looked>) -> Result<DiagnosisPage, ApiError> {
        let key = resolve(self.watch.fleet(), id)?;
        let at = self.watch.fleet().manager_time_at(self.clock.now());
        if looked.is_empty() {
            return self.diagnosis(id);
        }
        for it in looked {
            self.history.add_answer(self.fleet_id, key, it.answered.channel().as_str(), at, &it.raw)?;
            self.watch.casebook_mut().note_look(key, at, it.answered);
        }
        let page = self.diagnosis(id)?;
        self.history.add_note(self.fleet_id, key, &incident::look_note(check, at, &page))?;
        self.changed = true;
        self.diagnosis(id)
    }

    /// Takes in an answer of a prover that is followed. One a minute is kept, and one where it begins or ends to answer: more would
    /// tell a diagnosis nothing, and fill history.
    pub(crate) fn prover_seen(&mut self, id: &str, (answer, raw): (ProverAnswer, String)) -> Result<ProverPanel, ApiError> {
        let key = resolve(self.watch.fleet(), id)?;
        let at = self.watch.fleet().manager_time_at(self.clock.now());
        let looks = self.watch.casebook().looks(key);
        let panel = panels::prover_now(at, &answer, looks.prover.as_ref());
        let is_kept = looks.prover.as_ref().is_some_and(|kept| {
            let is_same = std::mem::discriminant(&kept.answer) == std::mem::discriminant(&answer);
            is_same && (0.0..PROVER_KEPT_EVERY_S).contains(&dwell_fleet::seconds_between(kept.at, at))
        });
        if !is_kept {
            let answered = Answered::Prover(answer);
            self.history.add_answer(self.fleet_id, key, answered.channel().as_str(), at, &raw)?;
            self.watch.casebook_mut().note_look(key, at, answered);
            self.changed = true;
        }
        Ok(panel)
    }

    /// Asks the prover of a simulated instance.
    pub(crate) fn ask_prover(&mut self, id: &str) -> Result<ProverPanel, ApiError> {
        let key = resolve(self.watch.fleet(), id)?;
        let vast_id = self.watch.fleet().instance(key).and_then(|instance| instance.vast_id);
        let (Clock::Simulated(served), Some(vast_id)) = (&self.clock, vast_id) else {
            return Err(ApiError::new(ErrorCode::CannotLook, "its vast.ai number is not known"));
        };
        let looked = served.with_world(|world| ask(world, vast_id.0, Check::Prover));
        match looked.into_iter().next() {
            Some(Looked { answered: Answered::Prover(answer), raw }) => self.prover_seen(id, (answer, raw)),
            _ => Err(ApiError::new(ErrorCode::Bug, "the prover was asked, and something else answered")),
        }
    }

    /// Keeps a note.
    pub(crate) fn add_note(&mut self, id: &str, note: NewNote) -> Result<DiagnosisPage, ApiError> {
        let key = resolve(self.watch.fleet(), id)?;
        let Some(instance) = self.watch.fleet().instance(key) else { return Err(unknown(id)) };
        let closing = note.cause.map(|cause| Closing {
            cause,
            verdict: instance.flag.as_ref().map(|flag| flag.kind.as_str().to_owned()),
            state: Some(instance.state.to_string()),
            gpu: instance.vast.gpu_kind(),
            image: instance.vast.image().map(str::to_owned),
            machine: instance.vast.machine_id.map(|id| id.0),
        });
        let kind = if closing.is_some() { NoteKind::Close } else { NoteKind::Note };
        let at = self.watch.fleet().manager_time_at(self.clock.now());
        let kept = self.history.add_note(self.fleet_id, key, &Note { at, kind, text: note.text, closing })?;
        if !kept {
            return Err(
                ApiError::new(ErrorCode::NotKept, "this instance is not in the history yet").hint("try again in a moment")
            );
        }
        self.diagnosis(id)
    }

    /// Who was rented before a date.
    pub(crate) fn rented_before(&self, before: Timestamp) -> Rented {
        incident::rented_before(self.watch.fleet(), before)
    }

    /// A report.
    pub(crate) fn report(&mut self, request: &ReportRequest) -> Result<Report, ApiError> {
        let mut pages = Vec::new();
        for id in request.ids.iter().take(REPORT_INSTANCES_MOST) {
            pages.push((self.diagnosis(id)?, self.instance_page(id)?));
        }
        let watching = self.view().watching;
        let now = self.watch.fleet().manager_time_at(self.clock.now());
        Ok(report::report(&pages, &watching, now, request))
    }

    pub(crate) fn logs(&mut self, request: &LogRequest) -> Result<LogPage, ApiError> {
        let key = request.id.as_deref().map(|id| resolve(self.watch.fleet(), id)).transpose()?;
        let owner = key.map_or(LogOwner::Manager, LogOwner::Instance);
        if key.is_some() {
            self.step(Event::LookAt(key));
        }
        let query = LogQuery {
            source: request.source.clone(),
            after_id: request.after,
            before_id: request.before,
            contains: request.contains.clone().filter(|text| !text.is_empty()),
            limit: request.limit.unwrap_or(LINES_ORDINARY).min(LINES_MOST),
        };
        let started = self.watch.fleet().manager_run().started_at;
        let lines = self.history.lines(self.fleet_id, owner, &query)?;
        let instance = key.and_then(|key| self.watch.fleet().instance(key));
        let said = if key.is_none() { view::said_by_manager(&lines) } else { Vec::new() };
        Ok(LogPage {
            said,
            lines: lines.into_iter().map(|stored| view::line(stored, started)).collect(),
            sources: self
                .history
                .sources(self.fleet_id, owner)?
                .into_iter()
                .map(|(source, lines)| SourceCount { source, lines })
                .collect(),
            manager_started_at: started,
            silence: instance.and_then(view::silence),
            read_at: instance.and_then(|instance| instance.log.read_at),
        })
    }
}

/// What an answer brought, for history.
pub(crate) fn answer_of<'a>(watch: &'a Watch, as_of: Timestamp, observed: &'a Observed, flags: &'a [FlagChange]) -> Answer<'a> {
    let fleet = watch.fleet();
    Answer {
        as_of,
        instances: fleet.instances().collect(),
        transitions: &observed.transitions,
        redated: &observed.redated,
        merged: &observed.merged,
        gap: observed.gap,
        run: fleet.manager_run(),
        vast_cache_age_s: fleet.vast_cache_age_s(),
        clock_skew_s: watch.connection().clock_skew_s,
        flags,
    }
}

/// A watch that goes on where the last one over this history stopped.
pub(crate) fn watch_of(history: &mut History, fleet_id: FleetId, pace: Pace, now: Timestamp) -> Result<Watch, HistoryError> {
    let mut remembered = history.remembered(fleet_id, now)?;
    for instance in &mut remembered.instances {
        let leak = instance.flag.as_ref().filter(|flag| flag.kind == FlagKind::Leaking);
        let Some(since) = leak.map(|flag| flag.since).filter(|_| instance.rental.listed_at.is_none()) else { continue };
        // Kept by a version that did not keep when it was last listed: a reading of its gauges is a sighting on vast.ai's list.
        let newest = history.gauges(fleet_id, instance.key, since, 1)?.last().map(|point| point.at);
        instance.rental.listed_at = newest.max(Some(since));
    }
    let mut fleet = Fleet::new(pace.gap_after_s());
    fleet.remember(remembered.instances, remembered.past_stays, remembered.highest_key);
    // Kept by a version that did not keep the rest.
    if let (None, true, Some(started)) = (remembered.answered_at, remembered.run.from_its_log, remembered.run.started_at) {
        fleet.note_manager_start(started);
    }
    for (key, at) in history.acknowledged(fleet_id)? {
        fleet.acknowledge(key, at);
    }
    let mut watch = Watch::new(fleet, pace, now);
    watch.casebook_mut().resume(remembered.first_skew_s);
    // What logs said before this process.
    let keys: Vec<Key> = watch.fleet().instances().map(|instance| instance.key).collect();
    for key in keys {
        let lines = history.lines(fleet_id, LogOwner::Instance(key), &newest_lines())?;
        let lines: Vec<LogLine> = lines.into_iter().map(|stored| stored.line).collect();
        watch.casebook_mut().note_lines(key, &lines);
    }
    let lines = history.lines(fleet_id, LogOwner::Manager, &newest_lines())?;
    let lines: Vec<LogLine> = lines.into_iter().map(|stored| stored.line).collect();
    if let Some(last) = lines.last().map(|line| line.at) {
        watch.note_kept_manager_lines(&lines, last);
    }
    if let Some(answered_at) = remembered.answered_at {
        watch.resume(answered_at, remembered.run, remembered.vast_cache_age_s);
    }
    Ok(watch)
}

/// A note to be kept; with a cause it closes.
#[derive(Debug)]
pub(crate) struct NewNote {
    pub(crate) text: String,
    pub(crate) cause: Option<String>,
}

/// What the driver can be asked for.
#[derive(Debug)]
pub(crate) enum Ask {
    Fleet(oneshot::Sender<FleetView>),
    /// With whether all that is to be read has been read.
    Seen(oneshot::Sender<(FleetView, bool)>),
    Fresh(oneshot::Sender<Result<FleetView, ApiError>>),
    Instance(InstanceRequest, oneshot::Sender<Result<InstancePage, ApiError>>),
    Logs(LogRequest, oneshot::Sender<Result<LogPage, ApiError>>),
    Incidents(oneshot::Sender<Incidents>),
    Diagnosis(String, oneshot::Sender<Result<DiagnosisPage, ApiError>>),
    Look(LookRequest, oneshot::Sender<Result<DiagnosisPage, ApiError>>),
    /// The prover of a simulated instance.
    Prover(String, oneshot::Sender<Result<ProverPanel, ApiError>>),
    /// A prover has answered, with the answer as it came.
    ProverSeen(String, (ProverAnswer, String), oneshot::Sender<Result<ProverPanel, ApiError>>),
    Looked(String, Check, Vec<Looked>, oneshot::Sender<Result<DiagnosisPage, ApiError>>),
    Whom(String, oneshot::Sender<Result<Whom, ApiError>>),
    Answers(String, oneshot::Sender<Result<RawAnswers, ApiError>>),
    Means(Means),
    Note(String, NewNote, oneshot::Sender<Result<DiagnosisPage, ApiError>>),
    Acknowledge(AcknowledgeRequest, oneshot::Sender<Result<FleetView, ApiError>>),
    Report(ReportRequest, oneshot::Sender<Result<Report, ApiError>>),
    Rented(Timestamp, oneshot::Sender<Rented>),
    Refresh,
    /// What is held is written, as far as it can be.
    SettleUp(oneshot::Sender<HeldState>),
    Speed(f64),
    Kept(KeptDeed),
}

/// Something to be done with what is kept of the fleet that is watched.
pub(crate) struct KeptDeed(pub(crate) Box<dyn FnOnce(&Driver) + Send>);

impl std::fmt::Debug for KeptDeed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeptDeed")
    }
}

/// Asks a watch, and waits for its answer.
pub(crate) async fn ask_watch<T>(asks: &mpsc::Sender<Ask>, make: impl FnOnce(oneshot::Sender<T>) -> Ask) -> Result<T, ApiError> {
    let (reply, answer) = oneshot::channel();
    asks.send(make(reply)).await.map_err(|_| watch_ended())?;
    answer.await.map_err(|_| watch_ended())
}

pub(crate) fn watch_ended() -> ApiError {
    ApiError::new(ErrorCode::WatchEnded, "the watch over this fleet has ended").hint("choose the fleet again")
}

/// The lines in which known words are looked for.
fn newest_lines() -> LogQuery {
    LogQuery { limit: SAID_LINES, ..LogQuery::default() }
}

/// The instance that a person means.
pub(crate) fn resolve(fleet: &Fleet, wanted: &str) -> Result<Key, ApiError> {
    let all: Vec<&Instance> = fleet.instances().collect();
    let called = |it: &&Instance| Called {
        id: it.id(),
        vast_id: it.vast_id.map(|id| id.0),
        label: it.row.label.clone(),
        state: it.state.to_string(),
        is_alive: it.state != dwell_fleet::State::Killed && it.presence == Presence::Listed,
    };
    select(all.iter().map(called), wanted).map(|place| all[place].key)
}
