//! What the operator has set, in one readable file: saved fleets and which one to watch. No secrets: those live in the
//! OS keychain and nowhere else.

use std::io::Write;
use std::path::{Path, PathBuf};

use dwell_history::Limits as HistoryLimits;
use serde::{Deserialize, Serialize};

use crate::ApiError;
use crate::dto::{Rule, SavedFleet};

/// Where Dwell keeps its files, and where it puts those that an operator asks for.
#[derive(Debug, Clone)]
pub struct Folder {
    data: PathBuf,
    exports: PathBuf,
}

impl Folder {
    /// The folder given, or `$DWELL_DATA_DIR`, or the platform's place for application data.
    pub fn find(given: Option<PathBuf>) -> Result<Self, ApiError> {
        if let Some(path) = given.or_else(|| std::env::var_os("DWELL_DATA_DIR").map(PathBuf::from)) {
            return Ok(Self { exports: path.join("exports"), data: path });
        }
        let dirs = directories::ProjectDirs::from("", "", "dwell").ok_or_else(|| {
            ApiError::new("no-home", "this user has no home folder to keep data in").hint("set DWELL_DATA_DIR to a folder")
        })?;
        let downloads = directories::UserDirs::new().and_then(|user| user.download_dir().map(Path::to_owned));
        let data = dirs.data_dir().to_owned();
        Ok(Self { exports: downloads.unwrap_or_else(|| data.join("exports")), data })
    }

    /// Writes a file that the operator asked for: among the downloads, or in `exports` of a folder that was given. Never over
    /// another one.
    pub(crate) fn export(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, ApiError> {
        let (mut file, path) = self.create_export(name)?;
        file.write_all(bytes).map(|()| path).map_err(|error| self.unwritten(&error))
    }

    /// The same file, to be written by somebody else.
    pub(crate) fn create_export(&self, name: &str) -> Result<(std::fs::File, PathBuf), ApiError> {
        /// Names that are tried.
        const NAMES_MAX: usize = 1_000;
        let (stem, ending) = name.rsplit_once('.').unwrap_or((name, "txt"));
        std::fs::create_dir_all(&self.exports).map_err(|error| self.unwritten(&error))?;
        for place in 1..=NAMES_MAX {
            let name = if place == 1 { format!("{stem}.{ending}") } else { format!("{stem}-{place}.{ending}") };
            let path = self.exports.join(name);
            match std::fs::File::create_new(&path) {
                Ok(file) => return Ok((file, path)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(self.unwritten(&error)),
            }
        }
        Err(ApiError::new("not-saved", format!("{} has too many files of this name", self.exports.display())))
    }

    fn unwritten(&self, error: &std::io::Error) -> ApiError {
        ApiError::new("not-saved", format!("cannot write to {}: {error}", self.exports.display()))
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.data
    }

    pub(crate) fn history(&self) -> PathBuf {
        self.data.join("history.sqlite3")
    }

    fn settings(&self) -> PathBuf {
        self.data.join("settings.toml")
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
    /// How large history may become, GiB; beyond it the oldest log lines go. 16 where not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) history_gib_max: Option<u32>,
    /// Saved fleets.
    #[serde(default, rename = "fleet")]
    pub(crate) fleets: Vec<SavedFleet>,
    /// What is done by itself.
    #[serde(default, rename = "rule", skip_serializing_if = "Vec::is_empty")]
    pub(crate) rules: Vec<Rule>,
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

    pub(crate) fn history_limits(&self) -> HistoryLimits {
        self.history_gib_max.map_or_else(HistoryLimits::default, |gib| HistoryLimits { bytes_max: u64::from(gib.max(1)) << 30 })
    }

    /// The fleet that a person means: a saved one by its name, or whatever manager is at an address.
    pub(crate) fn meant(&self, wanted: &str) -> Result<SavedFleet, ApiError> {
        match self.named(wanted) {
            Ok(saved) => Ok(saved.clone()),
            Err(_) if dwell_clients::is_address(wanted) => Ok(SavedFleet {
                name: wanted.to_owned(),
                address: wanted.to_owned(),
                ssh: None,
                allow_probe: false,
                may_act: false,
            }),
            Err(error) => {
                let hint = error.hint.as_deref().unwrap_or_default();
                let hint = format!("{hint}; an address has a port, a dot or http:// before it: http://{wanted}");
                Err(ApiError { hint: Some(hint), ..error })
            }
        }
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
