//! The watch loop over a simulated world in virtual time: as fast as the CPU allows, the same result for the same seed.

use dwell_diagnosis::{Around, Check, Diagnosis};
use dwell_fleet::{Fleet, Key, LogLine, State, Timestamp, shift};
use dwell_history::{Appended, FleetId, History, HistoryError, LogOwner};
use dwell_simulator::{Scenario, World};
use dwell_wire as wire;

use crate::ask::ask;
use crate::drive::answer_of;
use crate::dto::{FleetView, SilenceView};
use crate::view::{self, Context};
use crate::watch::{Effect, Event, Pace, Watch};

/// A simulated fleet under watch in virtual time. Nothing is written to a disk.
#[derive(Debug)]
pub struct VirtualFleet {
    world: World,
    watch: Watch,
    pace: Pace,
    /// Where it is kept, if anywhere; and the first thing that went wrong with it.
    kept: Option<(History, FleetId)>,
    unkept: Option<HistoryError>,
    /// What the manager's clock and this machine's show beyond the world's, seconds.
    ahead_s: (f64, f64),
}

/// A change worth telling.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// An instance entered a state.
    State {
        /// Which.
        id: String,
        /// The state.
        state: String,
        /// When.
        at: Timestamp,
    },
    /// A flag was raised, changed or cleared.
    Flag {
        /// Which.
        id: String,
        /// The kind now.
        kind: Option<String>,
        /// Why, or what it was.
        reason: String,
        /// When Dwell knew.
        at: Timestamp,
    },
}

impl VirtualFleet {
    /// A scenario at its first screen, with the scenario's own start time and seed unless given.
    pub fn new(scenario: Scenario, seed: Option<u64>, pace: Pace) -> Self {
        let (seed, start) = (seed.unwrap_or(scenario.seed), scenario.start);
        let world = World::new(scenario, seed, start);
        let watch = Watch::new(Fleet::new(pace.gap_after_s()), pace, start);
        Self { world, watch, pace, kept: None, unkept: None, ahead_s: (0.0, 0.0) }
    }

    /// From now on everything that is seen is kept, as a watch over a real fleet keeps it.
    pub(crate) fn keep_in(&mut self, history: History, fleet: FleetId) {
        self.kept = Some((history, fleet));
    }

    /// The process ends, whatever it was doing, and another one goes on with what was kept.
    #[cfg(test)]
    pub(crate) fn begin_again(&mut self, mut history: History, fleet: FleetId) -> Result<(), HistoryError> {
        // Its first question comes when the next one of the process before it would have come.
        let next = shift(self.world.now(), self.pace.dashboard_s);
        self.watch = crate::drive::watch_of(&mut history, fleet, self.pace, next)?;
        self.kept = Some((history, fleet));
        Ok(())
    }

    /// What was kept; an error where something could not be. `None` where nothing was to be kept.
    pub(crate) fn into_history(self) -> Option<Result<History, HistoryError>> {
        let (history, _) = self.kept?;
        Some(self.unkept.map_or(Ok(history), Err))
    }

    /// The world, for scoring.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The watch.
    pub fn watch(&self) -> &Watch {
        &self.watch
    }

    /// The fleet around its instances, for diagnoses.
    pub(crate) fn around(&self) -> Around {
        self.watch.around(self.world.now())
    }

    /// Diagnoses an instance from what was seen of it so far.
    pub(crate) fn diagnose(&self, key: Key, around: &Around) -> Option<Diagnosis> {
        let instance = self.watch.fleet().instance(key)?;
        Some(self.watch.casebook().diagnose(instance, around))
    }

    /// Makes a look that is not made by itself. False where there is nobody to look at.
    pub(crate) fn ask(&mut self, key: Key, check: Check) -> bool {
        let Some(vast_id) = self.watch.fleet().instance(key).and_then(|instance| instance.vast_id) else { return false };
        let looked = ask(&self.world, vast_id.0, check);
        let at = self.watch.fleet().manager_time_at(self.world.now());
        let asked = !looked.is_empty();
        looked.into_iter().for_each(|it| self.watch.casebook_mut().note_look(key, at, it.answered));
        asked
    }

    /// Looks at the machine of one that runs and is not flagged, one that ships its log if there is one: what a sick machine
    /// lacks shows beside a well one. False where there is none.
    pub(crate) fn look_at_a_well_one(&mut self) -> bool {
        let well = self.watch.fleet().instances().filter(|instance| {
            let assessment = instance.assessment.as_ref();
            instance.state == State::Running && assessment.is_some_and(|assessment| assessment.flag.is_none())
        });
        let key = well.max_by_key(|instance| (instance.log.newest.len(), instance.key)).map(|instance| instance.key);
        key.is_some_and(|key| self.ask(key, Check::Ssh))
    }

    /// What an operator would see now.
    pub fn view(&self) -> FleetView {
        let scenario = self.world.scenario();
        view::fleet_view(
            &self.watch,
            &Context {
                name: scenario.title.clone(),
                address: "in process".to_owned(),
                speed: 0.0,
                now: self.world.now(),
                history_error: None,
                held: dwell_history::HeldState::default(),
                tunnel: None,
            },
        )
    }

    /// What the silence of an instance's log means, where it is silent.
    pub fn silence(&self, id: &str) -> Option<SilenceView> {
        self.watch.fleet().instances().find(|instance| instance.id() == id).and_then(view::silence)
    }

    /// Lets `seconds` pass, dashboard by dashboard, and tells every change as it is seen.
    pub fn run(&mut self, seconds: f64, mut tell: impl FnMut(&Change)) {
        let end = shift(self.world.now(), seconds);
        loop {
            self.pump(&mut tell);
            let next = shift(self.world.now(), self.pace.dashboard_s);
            if next > end {
                break;
            }
            self.world.advance_to(next);
        }
        self.world.advance_to(end);
    }

    /// Sets the manager's clock and this machine's wrong by so many seconds.
    #[cfg(test)]
    pub(crate) fn set_clocks(&mut self, manager_ahead_s: f64, own_ahead_s: f64) {
        self.ahead_s = (manager_ahead_s, own_ahead_s);
    }

    fn pump(&mut self, tell: &mut impl FnMut(&Change)) {
        let now = shift(self.world.now(), self.ahead_s.1);
        let mut events = vec![Event::Tick];
        while let Some(event) = events.pop() {
            for effect in self.watch.step(event, now) {
                match effect {
                    Effect::FetchDashboard => events.push(Event::Dashboard(self.dashboard())),
                    Effect::FetchInstanceLines { key, uuid, tail } => {
                        let lines = self.world.instance_logs_body(&uuid, tail);
                        events.push(Event::InstanceLines { key, tail, result: read_lines(lines) });
                    }
                    Effect::FetchManagerLines { tail } => {
                        events.push(Event::ManagerLines(read_lines(self.world.manager_logs_body(tail))));
                    }
                    Effect::KeepLines { key, mut lines, whole_buffer, part } => {
                        if let Some((history, fleet)) = &mut self.kept {
                            match keep_lines(history, &self.watch, *fleet, key, &lines, (whole_buffer, part)) {
                                Ok(appended) if part && appended.gap => {
                                    events.push(Event::Unjoined { key });
                                    continue;
                                }
                                Ok(appended) => lines = appended.lines,
                                Err(error) => self.unkept = Some(error),
                            }
                        }
                        if let Some(key) = key {
                            events.push(Event::LinesKept { key, lines });
                        }
                    }
                    Effect::Record { observed, flags } => {
                        if let (Some((history, fleet)), Some(as_of)) = (&mut self.kept, self.watch.fleet().as_of())
                            && let Err(error) = history.record(*fleet, &answer_of(&self.watch, as_of, &observed, &flags))
                        {
                            self.unkept = Some(error);
                        }
                        let id = |key| self.watch.fleet().instance(key).map(dwell_fleet::Instance::id).unwrap_or_default();
                        for transition in &observed.transitions {
                            if transition.kind != dwell_fleet::TransitionKind::Told {
                                tell(&Change::State {
                                    id: id(transition.key),
                                    state: transition.entry.state.to_string(),
                                    at: transition.entry.at,
                                });
                            }
                        }
                        for change in &flags {
                            let (kind, reason) = match (&change.to, change.from) {
                                (Some(flag), _) => (Some(flag.kind.as_str().to_owned()), flag.reason.clone()),
                                (None, Some(before)) => (None, format!("no longer {}", before.as_str())),
                                (None, None) => continue,
                            };
                            tell(&Change::Flag { id: id(change.key), kind, reason, at: now });
                        }
                    }
                    Effect::Publish => {}
                }
            }
        }
    }

    fn dashboard(&self) -> Result<(dwell_fleet::Snapshot, Option<String>), dwell_clients::FetchError> {
        let now = shift(self.world.now(), self.ahead_s.1);
        let body = self.world.dashboard_body().ok_or_else(down)?;
        let mut dashboard: wire::Dashboard = wire::decode(&body).map_err(|_| down())?;
        dashboard.updated_at = dashboard.updated_at.map(|at| shift(at, self.ahead_s.0));
        if self.ahead_s.0 != 0.0 {
            // What it dates while its clock is wrong; the table has the right dates afterwards.
            for row in &mut dashboard.instances {
                row.registered_at = row.registered_at.map(|at| shift(at, self.ahead_s.0));
            }
        }
        Ok((wire::snapshot(dashboard, now, now), Some(self.world.scenario().name.clone())))
    }
}

fn read_lines(body: Option<Vec<u8>>) -> Result<Vec<dwell_fleet::LogLine>, dwell_clients::FetchError> {
    let lines: Vec<wire::LogLine> = wire::decode(&body.ok_or_else(down)?).map_err(|_| down())?;
    Ok(lines.into_iter().filter_map(wire::log_line).collect())
}

fn down() -> dwell_clients::FetchError {
    dwell_clients::FetchError {
        code: dwell_clients::Code::Unreachable,
        message: "the simulated manager is down".to_owned(),
        status: None,
    }
}

/// Keeps a reading of a log, the manager's own where there is no key.
fn keep_lines(
    history: &mut History,
    watch: &Watch,
    fleet_id: FleetId,
    key: Option<Key>,
    lines: &[LogLine],
    (whole_buffer, part): (bool, bool),
) -> Result<Appended, HistoryError> {
    let owner = key.map_or(LogOwner::Manager, LogOwner::Instance);
    let run = watch.fleet().manager_run().started_at;
    match part {
        true => history.append_part(fleet_id, owner, lines, run),
        false => history.append_lines(fleet_id, owner, lines, whole_buffer, run),
    }
}
