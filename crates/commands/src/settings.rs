//! What the operator has set, in one readable file: saved fleets and which one to watch. No secrets: those live in the
//! OS keychain and nowhere else.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::ApiError;
use crate::dto::SavedFleet;

/// Where Dwell keeps its files.
#[derive(Debug, Clone)]
pub struct Folder(PathBuf);

impl Folder {
    /// The folder given, or `$DWELL_DATA_DIR`, or the platform's place for application data.
    pub fn find(given: Option<PathBuf>) -> Result<Self, ApiError> {
        if let Some(path) = given.or_else(|| std::env::var_os("DWELL_DATA_DIR").map(PathBuf::from)) {
            return Ok(Self(path));
        }
        directories::ProjectDirs::from("", "", "dwell").map(|dirs| Self(dirs.data_dir().to_owned())).ok_or_else(|| {
            ApiError::new("no-home", "this user has no home folder to keep data in").hint("set DWELL_DATA_DIR to a folder")
        })
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn history(&self) -> PathBuf {
        self.0.join("history.sqlite3")
    }

    fn settings(&self) -> PathBuf {
        self.0.join("settings.toml")
    }
}

/// The settings file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Settings {
    /// Name of the fleet that was watched last.
    #[serde(default)]
    pub(crate) watching: Option<String>,
    /// Names of vast.ai accounts; their keys are in the keychain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) vast_accounts: Vec<String>,
    /// Saved fleets.
    #[serde(default, rename = "fleet")]
    pub(crate) fleets: Vec<SavedFleet>,
}

impl Settings {
    /// Reads the file; nothing there is nothing set.
    pub(crate) fn load(folder: &Folder) -> Result<Self, ApiError> {
        let path = folder.settings();
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(unreadable(&path, &error.to_string())),
        };
        toml::from_str(&text).map_err(|error| unreadable(&path, &error.to_string()))
    }

    /// Writes the file whole or not at all.
    pub(crate) fn save(&self, folder: &Folder) -> Result<(), ApiError> {
        let path = folder.settings();
        let written = || -> std::io::Result<()> {
            std::fs::create_dir_all(folder.path())?;
            let beside = path.with_extension("toml.new");
            let mut file = std::fs::File::create(&beside)?;
            file.write_all(toml::to_string_pretty(self).map_err(std::io::Error::other)?.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&beside, &path)
        };
        written().map_err(|error| ApiError::new("settings-unwritable", format!("cannot write {}: {error}", path.display())))
    }

    pub(crate) fn named(&self, name: &str) -> Result<&SavedFleet, ApiError> {
        self.fleets.iter().find(|fleet| fleet.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.fleets.iter().map(|fleet| fleet.name.as_str()).collect();
            let hint = if known.is_empty() { "no fleet is saved yet".to_owned() } else { format!("saved: {}", known.join(", ")) };
            ApiError::new("unknown-fleet", format!("no saved fleet is called {name:?}")).hint(hint)
        })
    }
}

fn unreadable(path: &Path, why: &str) -> ApiError {
    ApiError::new("settings-unreadable", format!("cannot read {}: {why}", path.display()))
        .hint("mend the file, or move it away to start anew")
}
