//! One look at a fleet, for a terminal: read, keep, answer, done. The same loop as the window's, ended when it is settled.

use std::path::PathBuf;
use std::time::Duration;

use dwell_clients::{Limits, ManagerClient, VastClient};
use dwell_diagnosis::Check;
use dwell_history::History;

use crate::ApiError;
use crate::ask::look_at_vast;
use crate::drive::{Clock, Driver};
use crate::dto::*;
use crate::settings::{Folder, Settings};

/// A fleet looked at once (or now and again), without a watcher in the background.
#[derive(Debug)]
pub struct Look {
    driver: Driver,
}

impl Look {
    /// A look at the manager at `manager`: an address, or the name of a saved fleet; the fleet watched last where not given.
    pub fn at(manager: Option<&str>, folder: Option<PathBuf>, within: Option<Duration>) -> Result<Self, ApiError> {
        let folder = Folder::find(folder)?;
        let settings = Settings::load(&folder)?;
        let wanted = manager.map(str::to_owned).or_else(|| settings.watching.clone()).ok_or_else(|| {
            ApiError::new("no-fleet", "no manager is given and none is saved")
                .hint("give --manager URL, or save one: dwellctl fleets add NAME URL")
        })?;
        let (name, address) = match settings.address_of(&wanted) {
            Ok(address) => (wanted.clone(), address.to_owned()),
            Err(_) => (wanted.clone(), wanted.clone()),
        };
        let client = ManagerClient::new(&address, Limits { within_at_most: within, ..Limits::default() })?;
        let history = History::open(&folder.history())?;
        Ok(Self { driver: Driver::new(name, client, history, Clock::System)?.one_look() })
    }

    /// Reads the fleet, with the logs that can tell whether something is stuck, and that of `wanted`.
    pub async fn read(&mut self, wanted: Option<&str>) -> Result<FleetView, ApiError> {
        self.driver.look(wanted).await?;
        Ok(self.driver.view())
    }

    /// What is known, after a [`Look::read`] or from history alone.
    pub fn fleet(&self) -> FleetView {
        self.driver.view()
    }

    /// An instance's page.
    pub fn instance(&mut self, id: &str) -> Result<InstancePage, ApiError> {
        self.driver.instance_page(id)
    }

    /// What is thought of an instance, and why.
    pub fn diagnosis(&mut self, id: &str) -> Result<DiagnosisPage, ApiError> {
        self.driver.diagnosis(id)
    }

    /// Makes the proposed looks at vast.ai, and gives what is thought then.
    pub async fn look_at_vast(&mut self, id: &str, client: &VastClient) -> Result<DiagnosisPage, ApiError> {
        let mut page = self.driver.diagnosis(id)?;
        for check in [Check::VastRecord, Check::ContainerLog] {
            let proposed = page.next_checks.iter().any(|it| it.check == check.as_str());
            if let (true, Some(vast_id)) = (proposed, page.row.vast_id) {
                // What cannot be fetched now leaves its channel unasked, and the page says so.
                match look_at_vast(client, vast_id, check).await {
                    Ok(answered) => page = self.driver.looked(&page.row.id, check, answered)?,
                    Err(error) => tracing::warn!(code = error.code, "{}: {}", check.title(), error.message),
                }
            }
        }
        Ok(page)
    }

    /// Everything that is stuck, grouped.
    pub fn incidents(&mut self) -> Incidents {
        self.driver.incidents()
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
