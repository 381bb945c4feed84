//! Saved fleets, scenarios, the doctor.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::ApiError;

dto! {
    /// Saves a fleet and watches it.
    ConnectRequest {
        /// The manager's address.
        address: String,
        /// A name for it; the address where not given.
        name: Option<String>,
        /// Reached through SSH: `user@host`, or an entry of the SSH configuration. The address is then as seen from there.
        ssh: Option<String>,
    }

    /// Allows Dwell to look at a fleet's machines by SSH, or forbids it.
    AllowProbe {
        /// Name of the saved fleet.
        name: String,
        /// Allowed.
        allow: bool,
    }

    /// Asks what a look at a machine runs.
    ProbeScriptRequest {
        /// On which instance; `null` for the script alone.
        id: Option<String>,
    }

    /// What a look at a machine runs.
    ProbeScript {
        /// The script. It reads and writes nothing.
        script: String,
        /// How it is run on one instance, as it can be pasted into a terminal; `null` where no address is known.
        by_hand: Option<String>,
    }

    /// Watches a simulated fleet.
    SimulateRequest {
        /// Scenario.
        scenario: String,
        /// Seed; the scenario's own where not given.
        seed: Option<u64>,
        /// Speed; the scenario's own where not given.
        speed: Option<f64>,
    }

    /// Names a saved fleet.
    FleetName {
        /// Its name.
        name: String,
    }

    /// The saved fleets.
    Fleets {
        /// They.
        saved: Vec<SavedFleet>,
        /// Name of the one that is watched.
        watching: Option<String>,
        /// Name of the saved one that was chosen last: a terminal looks at it where none is named.
        last: Option<String>,
        /// Why the one that was asked for at the start is not.
        problem: Option<ApiError>,
    }

    /// A saved fleet.
    SavedFleet {
        /// Name.
        name: String,
        /// The manager's address.
        address: String,
        /// Whom SSH goes through; the address is as seen from there.
        #[serde(default)]
        ssh: Option<String>,
        /// Its machines may be looked at by SSH.
        #[serde(default)]
        allow_probe: bool,
        /// Rules and `dwellctl` may act on it at any time. A window has write access for a time besides, kept nowhere.
        #[serde(default)]
        may_act: bool,
    }

    /// Changes the speed of a simulation.
    SpeedRequest {
        /// Simulated seconds in a real one; 0 pauses.
        speed: f64,
    }

    /// A scenario that can be simulated.
    ScenarioInfo {
        /// Its name.
        name: String,
        /// One line.
        title: String,
        /// What it shows.
        summary: String,
        /// Speed that suits a person.
        speed: f64,
        /// Meant for newcomers.
        featured: bool,
    }

    /// The scenarios.
    Scenarios {
        /// They.
        scenarios: Vec<ScenarioInfo>,
    }

    /// Whether everything is in order.
    Doctor {
        /// One by one.
        checks: Vec<Check>,
    }

    /// One check.
    Check {
        /// What was checked.
        name: String,
        /// In order.
        ok: bool,
        /// What was found.
        detail: String,
    }
}
