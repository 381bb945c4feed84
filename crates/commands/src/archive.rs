//! What is kept of a fleet, read beside the watch over it: a connection of its own, so that a long reading holds up nothing.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use dwell_clients::{Limits, ManagerClient};
use dwell_fleet::{Key, Timestamp};
use dwell_history::{ExportTable, FleetId, History, Imported, Search};
use dwell_simulator::Scenario;
use jiff::tz::TimeZone;

use crate::act;
use crate::charts::{self, ChartForm, Source};
use crate::drive::Clock;
use crate::dto::*;
use crate::select::{Called, select};
use crate::settings::{Folder, Settings};
use crate::tables::{self, TableForm};
use crate::virtual_time::VirtualFleet;
use crate::watch::Pace;
use crate::{ApiError, drive};

/// Lines of one search where it names no number, and at most.
const FOUND_ORDINARY: usize = 200;
const FOUND_MOST: usize = 5_000;

/// An open archive.
#[derive(Debug)]
pub struct Archive {
    history: History,
    fleet: FleetId,
    name: String,
    simulated: bool,
    /// The present of an archive that does not go on.
    stands_at: Option<Timestamp>,
    /// In which times are told.
    zone: TimeZone,
}

impl Archive {
    /// Opens what is kept of a fleet: of the saved one or the address that is named, else of the one watched last, else of the
    /// one that was watched latest of all.
    pub fn open(folder: &Folder, wanted: Option<&str>) -> Result<Self, ApiError> {
        let settings = Settings::load(folder)?;
        let named = wanted.or(settings.watching.as_deref());
        let saved = named.and_then(|name| settings.named(name).ok());
        let meant = wanted.map(|wanted| settings.meant(wanted)).transpose()?;
        let path = folder.history();
        if !path.exists() {
            return Err(ApiError::new(
                ErrorCode::NoHistory,
                format!("nothing has been kept yet: there is no {}", path.display()),
            )
            .hint("history begins when a fleet is watched: dwellctl watch, or the window"));
        }
        let meant = meant.as_ref().or(saved);
        let address = meant.map(|fleet| fleet.address.as_str());
        let names = meant.map(names_of);
        let history = History::open(&path)?;
        let fleets = history.fleets()?;
        let mut kept = fleets.into_iter().map(|fleet| fleet.address);
        let found = match names {
            None => kept.next(),
            Some(names) => {
                let kept: Vec<String> = kept.collect();
                names.into_iter().find(|name| kept.contains(name))
            }
        };
        let Some(found) = found else {
            return Err(ApiError::new(
                ErrorCode::NoHistory,
                format!("nothing has been kept of {}", address.unwrap_or("any fleet")),
            )
            .hint("dwellctl history fleets lists what is kept"));
        };
        drop(history);
        let name = saved.map_or_else(|| found.clone(), |fleet| fleet.name.clone());
        Self::of_watched(folder, &found, name)
    }

    /// Opens what is kept of the fleet that is watched now, by its manager's address.
    pub(crate) fn of_watched(folder: &Folder, address: &str, name: String) -> Result<Self, ApiError> {
        let mut history = History::open(&folder.history())?;
        let simulated = history.latest_simulated(address)?;
        let fleet = history.fleet(address, simulated.as_deref())?;
        let stands_at = if simulated.is_some() { history.watched_until(fleet)? } else { None };
        Ok(Self {
            history: history.keyed_by_rows()?,
            fleet,
            name,
            simulated: simulated.is_some(),
            stands_at,
            zone: TimeZone::system(),
        })
    }

    /// The archive of a simulated fleet after a time in virtual time, in memory alone.
    pub fn simulated(scenario: Scenario, seed: Option<u64>, lasts: Duration) -> Result<Self, ApiError> {
        let mut history = History::in_memory()?;
        let (name, fleet) = (scenario.title.clone(), history.fleet("in process", Some(&scenario.name))?);
        // A reading every half minute tells as much of hours, in a third of the time.
        let mut world = VirtualFleet::new(scenario, seed, Pace { dashboard_s: 30.0, ..Pace::default() });
        world.keep_in(history, fleet);
        world.run(lasts.as_secs_f64(), |_| {});
        let now = world.watch().fleet().manager_time_at(world.world().now());
        let history = world.into_history().ok_or_else(|| ApiError::new(ErrorCode::Bug, "a simulated history was not kept"))??;
        Ok(Self {
            history: history.keyed_by_rows()?,
            fleet,
            name,
            simulated: true,
            stands_at: Some(now),
            zone: TimeZone::system(),
        })
    }

    /// Tells times in another zone than the operator's.
    #[must_use]
    pub fn in_zone(self, zone: TimeZone) -> Self {
        Self { zone, ..self }
    }

    fn now(&self) -> Timestamp {
        self.stands_at.unwrap_or_else(|| Clock::System.now())
    }

    fn key_of(&self, wanted: &str) -> Result<Key, ApiError> {
        let kept = self.history.called(self.fleet, wanted.trim())?;
        let called = kept.iter().map(|it| Called {
            id: match (&it.uuid, it.vast_id) {
                (Some(uuid), _) => uuid.clone(),
                (None, Some(number)) => format!("vast-{number}"),
                (None, None) => it.label.clone().unwrap_or_default(),
            },
            vast_id: it.vast_id,
            label: it.label.clone(),
            state: it.state.clone(),
            is_alive: it.state != "killed",
        });
        match select(called, wanted) {
            Ok(place) => Ok(kept[place].key),
            Err(error) if error.code == ErrorCode::UnknownId => {
                Err(ApiError { message: format!("nothing has been kept of an instance that is called {wanted:?}"), ..error })
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) fn with<T>(&self, read: impl FnOnce(&Source<'_>) -> T) -> T {
        read(&Source {
            history: &self.history,
            fleet: self.fleet,
            now: self.now(),
            name: self.name.clone(),
            simulated: self.simulated,
            zone: self.zone.clone(),
            key_of: &|wanted| self.key_of(wanted),
        })
    }

    /// The charts there are.
    pub fn charts(&self) -> Result<ChartList, ApiError> {
        self.with(charts::list)
    }

    /// A chart, drawn, with its numbers.
    pub fn chart(&self, request: &ChartRequest) -> Result<ChartView, ApiError> {
        self.with(|source| charts::view(source, request))
    }

    /// A chart as a file.
    pub fn chart_file(&self, request: &ChartRequest, form: ChartForm) -> Result<Vec<u8>, ApiError> {
        self.with(|source| charts::file(source, request, form))
    }

    /// Who is behind a reading of a chart.
    pub fn behind(&self, request: &ChartBehind) -> Result<Behind, ApiError> {
        self.with(|source| charts::behind(source, request))
    }

    /// A part of history in figures; all there is where no time is given.
    pub fn summary(&self, during: (Option<Timestamp>, Option<Timestamp>), by: &str) -> Result<HistorySummary, ApiError> {
        self.with(|source| charts::summary(source, during, by))
    }

    /// Searches kept log lines.
    pub fn search(&self, request: &SearchLogs) -> Result<FoundLogs, ApiError> {
        self.with(|source| search(source, request))
    }

    /// Writes a part of history to a file that was opened for it; gives how many rows there are.
    pub fn export(
        &self,
        table: ExportTable,
        during: (Option<Timestamp>, Option<Timestamp>),
        form: TableForm,
        file: File,
    ) -> Result<usize, ApiError> {
        self.with(|source| export(source, table, during, form, file))
    }

    /// Joins another workstation's history to this one.
    pub fn import(folder: &Folder, path: &Path) -> Result<Imported, ApiError> {
        Ok(History::open(&folder.history())?.import(path)?)
    }

    /// The journal of what was done, the newest deed first.
    pub fn journal(folder: &Folder) -> Result<Vec<ActView>, ApiError> {
        act::told(&History::open(&folder.history())?)
    }

    /// Whether any instance has ever written to a source of this name.
    pub fn has_source(&self, source: &str) -> Result<bool, ApiError> {
        Ok(self.history.has_source(self.fleet, source)?)
    }

    /// Fleets that are kept: address, whether simulated, and when each was last watched.
    pub fn fleets(folder: &Folder) -> Result<Vec<(String, bool, Option<Timestamp>)>, ApiError> {
        let fleets = History::open(&folder.history())?.fleets()?;
        // Of a manager that never answered nothing is kept.
        let kept = fleets.into_iter().filter(|it| it.last_watched.is_some());
        Ok(kept.map(|it| (it.address, it.simulated.is_some(), it.last_watched)).collect())
    }
}

/// Names under which a fleet may have been kept: as it was given, as it is asked, and this machine under one name.
fn names_of(fleet: &SavedFleet) -> Vec<String> {
    let mut names = vec![fleet.address.trim_end_matches('/').to_owned()];
    if let Ok(client) = ManagerClient::new(&fleet.address, Limits::default()) {
        names.extend([client.address().to_owned(), client.base().to_owned()]);
    }
    match &fleet.ssh {
        Some(target) => names.iter().map(|name| format!("{name} via {target}")).collect(),
        None => names,
    }
}

/// Searches the kept log lines of a fleet.
pub(crate) fn search(source: &Source<'_>, request: &SearchLogs) -> Result<FoundLogs, ApiError> {
    let search = Search {
        words: request.words.clone(),
        instance: request.instance.as_deref().map(|id| (source.key_of)(id)).transpose()?,
        source: request.source.clone().filter(|source| !source.is_empty()),
        since: request.since,
        until: request.until,
        before_id: request.before,
        limit: request.limit.unwrap_or(FOUND_ORDINARY).min(FOUND_MOST),
    };
    let found = source.history.search(source.fleet, &search)?;
    let lines = found
        .lines
        .into_iter()
        .map(|it| FoundLog { id: it.id, instance: it.instance, source: it.line.source, at: it.line.at, text: it.line.text })
        .collect();
    Ok(FoundLogs { lines, go_on_before: found.go_on_before })
}

/// Writes a part of a fleet's history to a file.
pub(crate) fn export(
    source: &Source<'_>,
    table: ExportTable,
    (since, until): (Option<Timestamp>, Option<Timestamp>),
    form: TableForm,
    file: File,
) -> Result<usize, ApiError> {
    let during = (since.unwrap_or(Timestamp::UNIX_EPOCH), until.unwrap_or(Timestamp::MAX));
    tables::write(source.history, (source.fleet, table), during, form, file)
}

impl drive::Driver {
    /// What is kept of the fleet that is watched.
    pub(crate) fn with_kept<T>(&self, read: impl FnOnce(&Source<'_>) -> T) -> T {
        let fleet = self.fleet();
        read(&Source {
            history: self.history(),
            fleet: self.fleet_id(),
            now: fleet.manager_time_at(self.now()),
            name: self.name().to_owned(),
            simulated: true,
            zone: TimeZone::system(),
            key_of: &|wanted| drive::resolve(fleet, wanted),
        })
    }
}
