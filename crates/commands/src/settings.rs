//! What the operator has set, in one readable file: saved fleets and which one to watch. No secrets: those live in the
//! OS keychain and nowhere else.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use dwell_history::{Limits as HistoryLimits, files};
use serde::{Deserialize, Serialize};
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table};

use crate::dto::{Rule, SavedFleet};
use crate::{ApiError, ErrorCode};

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
            ApiError::new(ErrorCode::NoHome, "this user has no home folder to keep data in")
                .hint("set DWELL_DATA_DIR to a folder")
        })?;
        let downloads = directories::UserDirs::new().and_then(|user| user.download_dir().map(Path::to_owned));
        let data = dirs.data_dir().to_owned();
        Ok(Self { exports: downloads.unwrap_or_else(|| data.join("exports")), data })
    }

    /// Writes a file that the operator asked for: among the downloads, or in `exports` of a folder that was given. Never over
    /// another one.
    pub(crate) fn export(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, ApiError> {
        let (mut file, path) = self.create_export(name)?;
        file.write_all(&dwell_fleet::redacted_bytes(bytes)).map(|()| path).map_err(|error| self.unwritten(&error))
    }

    /// The same file, to be written by somebody else.
    pub(crate) fn create_export(&self, name: &str) -> Result<(std::fs::File, PathBuf), ApiError> {
        /// Names that are tried.
        const NAMES_MAX: usize = 1_000;
        let (stem, ending) = name.rsplit_once('.').unwrap_or((name, "txt"));
        // Downloads are the operator's, and as open as they are; the file is not.
        let made = match self.exports.starts_with(&self.data) {
            true => files::own_folder(&self.exports),
            false => std::fs::create_dir_all(&self.exports),
        };
        made.map_err(|error| self.unwritten(&error))?;
        for place in 1..=NAMES_MAX {
            let name = if place == 1 { format!("{stem}.{ending}") } else { format!("{stem}-{place}.{ending}") };
            let path = self.exports.join(name);
            match files::create_new_output(&path) {
                Ok(file) => return Ok((file, path)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(self.unwritten(&error)),
            }
        }
        Err(ApiError::new(ErrorCode::NotSaved, format!("{} has too many files of this name", self.exports.display())))
    }

    fn unwritten(&self, error: &std::io::Error) -> ApiError {
        ApiError::new(ErrorCode::NotSaved, format!("cannot write to {}: {error}", self.exports.display()))
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

/// More is no settings file, bytes.
const SETTINGS_BYTES_MAX: u64 = 1024 * 1024;

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
    /// Machines that are told to be in a network of one's own, or on this machine, are looked at as well: a rented one is not there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) allow_private_machines: bool,
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
        Self::of(&written(folder)?).map_err(|error| unreadable(&folder.settings(), &error))
    }

    fn of(text: &str) -> Result<Self, String> {
        toml_edit::de::from_str(text).map_err(|error| error.to_string())
    }

    /// Changes the file: what it says at that moment is read, changed and written while every other process waits. Nothing is written
    /// where the change is refused. Keys that this version does not know stay, as do comments.
    pub(crate) fn change<T>(folder: &Folder, how: impl FnOnce(&mut Self) -> Result<T, ApiError>) -> Result<T, ApiError> {
        let path = folder.settings();
        let unwritable = |error: std::io::Error| {
            ApiError::new(ErrorCode::SettingsUnwritable, format!("cannot write {}: {error}", path.display()))
        };
        files::private_folder(folder.path()).map_err(unwritable)?;
        let _locked = files::lock(&path.with_extension("toml.lock"), files::LOCKED_WITHIN).map_err(unwritable)?;
        let before = written(folder)?;
        let mut settings = Self::load(folder)?;
        let done = how(&mut settings)?;
        let text = settings.over(&before).map_err(|why| unreadable(&path, &why))?;
        let write = || -> std::io::Result<()> {
            // Made for this user alone, under a name that nobody else has.
            let mut file = tempfile::NamedTempFile::new_in(folder.path())?;
            file.write_all(text.as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(&path)?;
            // The new name is on disk as well once its folder is; not every file system has that.
            let _ = std::fs::File::open(folder.path()).and_then(|folder| folder.sync_all());
            Ok(())
        };
        write().map(|()| done).map_err(unwritable)
    }

    /// The file's text with these settings in it.
    fn over(&self, before: &str) -> Result<String, String> {
        let mut document: DocumentMut = before.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
        let new = toml_edit::ser::to_document(self).map_err(|error| error.to_string())?;
        put(document.as_table_mut(), new.as_table(), &["watching", "vast_accounts", "history_gib_max", "allow_private_machines"]);
        for (name, knows, is_told_by) in [("fleet", FLEET_KEYS, &["name"][..]), ("rule", RULE_KEYS, &["name", "fleet"])] {
            let before = document.remove(name).and_then(|it| it.into_array_of_tables().ok()).unwrap_or_default();
            let mut after = ArrayOfTables::new();
            // A person may have given two the same name: each stays itself.
            let mut taken = BTreeSet::new();
            for new in tables(new.get(name)) {
                let same = |old: &&Table| {
                    is_told_by.iter().all(|key| old.get(key).and_then(Item::as_str) == new.get(key).and_then(Item::as_str))
                };
                let old = before.iter().enumerate().find(|(place, old)| !taken.contains(place) && same(old));
                taken.extend(old.map(|(place, _)| place));
                let mut table = old.map(|(_, old)| old.clone()).unwrap_or_default();
                // Places are the file's; those of taken and of new tables would mix.
                table.set_position(None);
                put(&mut table, &new, knows);
                after.push(table);
            }
            if !after.is_empty() {
                document.insert(name, Item::ArrayOfTables(after));
            }
        }
        Ok(document.to_string())
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

    /// A saved fleet as it stands now; `None` where its name has come to mean another manager, or none. What is allowed for that one is
    /// not allowed for this.
    pub(crate) fn still(&self, fleet: &SavedFleet) -> Option<&SavedFleet> {
        self.fleets.iter().find(|now| (&now.name, &now.address, &now.ssh) == (&fleet.name, &fleet.address, &fleet.ssh))
    }

    pub(crate) fn named(&self, name: &str) -> Result<&SavedFleet, ApiError> {
        self.fleets.iter().find(|fleet| fleet.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.fleets.iter().map(|fleet| fleet.name.as_str()).collect();
            let hint = if known.is_empty() { "no fleet is saved yet".to_owned() } else { format!("saved: {}", known.join(", ")) };
            ApiError::new(ErrorCode::UnknownFleet, format!("no saved fleet is called {name:?}")).hint(hint)
        })
    }
}

/// Keys of a saved fleet, and of a rule, that this version writes.
const FLEET_KEYS: &[&str] = &["name", "address", "ssh", "allow_probe", "may_act"];
const RULE_KEYS: &[&str] =
    &["name", "fleet", "verdict", "cause", "for_s", "deed", "on", "dry_run", "per_day", "dollars_per_h_a_day"];

/// The text of the file; empty where there is none.
fn written(folder: &Folder) -> Result<String, ApiError> {
    let path = folder.settings();
    let read = || -> std::io::Result<String> {
        if !files::private_file(&path)? {
            return Ok(String::new());
        }
        let mut text = String::new();
        std::fs::File::open(&path)?.take(SETTINGS_BYTES_MAX).read_to_string(&mut text)?;
        Ok(text)
    };
    read().map_err(|error| unreadable(&path, &error.to_string()))
}

/// The tables of a list of tables, however it is written.
fn tables(list: Option<&Item>) -> Vec<Table> {
    match list {
        Some(Item::ArrayOfTables(tables)) => tables.iter().cloned().collect(),
        Some(Item::Value(toml_edit::Value::Array(values))) => {
            values.iter().filter_map(|value| Some(value.as_inline_table()?.clone().into_table())).collect()
        }
        _ => Vec::new(),
    }
}

/// A value without what stands around it.
fn bare(item: &Item) -> Option<String> {
    Some(item.as_value()?.clone().decorated("", "").to_string())
}

/// Takes the values of known keys over: changed ones alone, so that what stands around the others stays.
fn put(into: &mut Table, new: &Table, known: &[&str]) {
    for key in known {
        match new.get(key) {
            Some(item) if into.get(key).is_some_and(|old| bare(old) == bare(item)) => {}
            Some(item) => drop(into.insert(key, item.clone())),
            None => drop(into.remove(key)),
        }
    }
}

/// The text of a settings file, read and changed without a file: for fuzzing.
#[doc(hidden)]
pub mod text {
    use super::{SavedFleet, Settings};

    /// Saved fleets, where the text is readable: names, and whether acting on them is allowed.
    pub fn fleets(text: &str) -> Option<Vec<(String, bool)>> {
        Some(Settings::of(text).ok()?.fleets.into_iter().map(|fleet| (fleet.name, fleet.may_act)).collect())
    }

    /// The text with one more fleet, and the one at `place` made read-only.
    pub fn changed(text: &str, added: &str, place: usize) -> Result<String, String> {
        let mut settings = Settings::of(text)?;
        if let Some(fleet) = settings.fleets.get_mut(place) {
            fleet.may_act = false;
        }
        let address = "http://127.0.0.1:1235".to_owned();
        settings.fleets.push(SavedFleet { name: added.to_owned(), address, ssh: None, allow_probe: false, may_act: false });
        settings.over(text)
    }
}

fn unreadable(path: &Path, why: &str) -> ApiError {
    ApiError::new(ErrorCode::SettingsUnreadable, format!("cannot read {}: {why}", path.display()))
        .hint("mend the file, or move it away to start anew")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, Folder) {
        let outer = tempfile::tempdir().unwrap();
        let folder = Folder::find(Some(outer.path().join("dwell"))).unwrap();
        (outer, folder)
    }

    fn set(folder: &Folder, how: impl FnOnce(&mut Settings)) {
        let change = |settings: &mut Settings| {
            how(settings);
            Ok(())
        };
        Settings::change(folder, change).unwrap();
    }

    fn fleet(name: &str) -> SavedFleet {
        let (name, address) = (name.to_owned(), "http://127.0.0.1:1235".to_owned());
        SavedFleet { name, address, ssh: Some("you@controller".into()), allow_probe: true, may_act: true }
    }

    fn rule(name: &str) -> Rule {
        let [name, fleet, verdict, cause, deed] = [name, "main", "stalled", "gpu-fell-off-bus", "kill"].map(str::to_owned);
        Rule { name, fleet, verdict, cause, for_s: 600.0, deed, on: true, dry_run: true, per_day: 3, dollars_per_h_a_day: 1.5 }
    }

    #[test]
    fn what_is_written_is_read_and_keys_are_all_known() {
        let (_outer, folder) = folder();
        let all = Settings {
            watching: Some("main".into()),
            vast_accounts: vec!["one".into()],
            history_gib_max: Some(3),
            allow_private_machines: true,
            fleets: vec![fleet("main"), fleet("other")],
            rules: vec![rule("a"), rule("b")],
        };
        set(&folder, |settings| settings.clone_from(&all));
        assert_eq!(Settings::load(&folder).unwrap(), all);
        // A key that a new version writes and does not name would be lost here.
        set(&folder, |settings| settings.watching = None);
        assert_eq!(Settings::load(&folder).unwrap(), Settings { watching: None, ..all });
    }

    #[test]
    fn what_another_version_or_a_person_wrote_stays() {
        let (_outer, folder) = folder();
        std::fs::create_dir_all(folder.path()).unwrap();
        let text = "# mine\nwatching = \"main\"\nnewer = [1, 2]\n\n# the big one\n[[fleet]]\nname = \"main\"\naddress = \"http://127.0.0.1:1\" # a tunnel\nmay_act = true\ncolour = \"red\"\n\n[palette]\nx = 1\n";
        std::fs::write(folder.settings(), text).unwrap();
        Settings::change(&folder, |settings| {
            settings.fleets[0].may_act = false;
            settings.fleets.push(fleet("second"));
            Ok(())
        })
        .unwrap();
        let after = std::fs::read_to_string(folder.settings()).unwrap();
        for kept in ["# mine", "newer = [1, 2]", "# the big one", "# a tunnel", "colour = \"red\"", "[palette]\nx = 1"] {
            assert!(after.contains(kept), "{kept}: {after}");
        }
        let read = Settings::load(&folder).unwrap();
        assert_eq!((read.fleets.len(), read.fleets[0].may_act, read.fleets[1].clone()), (2, false, fleet("second")), "{after}");
    }

    /// Each of eight writers adds a fleet, and one of them ends write access: nothing is lost, and no reader ever finds half a file.
    #[test]
    fn writers_wait_for_each_other() {
        let (_outer, folder) = folder();
        for round in 0..10 {
            set(&folder, |settings| *settings = Settings { fleets: vec![fleet("main")], ..Settings::default() });
            std::thread::scope(|scope| {
                for writer in 0..8 {
                    let folder = &folder;
                    scope.spawn(move || {
                        set(folder, |settings| {
                            if writer == 0 {
                                settings.fleets[0].may_act = false;
                            }
                            settings.fleets.push(fleet(&format!("{writer}")));
                        });
                        Settings::load(folder).unwrap();
                    });
                }
            });
            let after = Settings::load(&folder).unwrap();
            assert_eq!((after.fleets.len(), after.fleets[0].may_act), (9, false), "round {round}");
        }
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "the settings and their lock: {left:?}");
    }

    #[test]
    fn a_name_that_came_to_mean_another_manager_is_another_fleet() {
        let settings = Settings { fleets: vec![fleet("main")], ..Settings::default() };
        assert_eq!(settings.still(&fleet("main")), Some(&fleet("main")));
        // What is allowed may change; which one it is may not.
        assert!(settings.still(&SavedFleet { may_act: false, ..fleet("main") }).is_some_and(|now| now.may_act));
        assert_eq!(settings.still(&SavedFleet { address: "http://127.0.0.1:1236".into(), ..fleet("main") }), None);
        assert_eq!(settings.still(&SavedFleet { ssh: None, ..fleet("main") }), None);
        assert_eq!(settings.still(&fleet("other")), None);
    }

    #[test]
    fn a_change_that_is_refused_changes_nothing() {
        let (_outer, folder) = folder();
        set(&folder, |settings| settings.fleets.push(fleet("main")));
        let refused = Settings::change(&folder, |settings| {
            settings.fleets.clear();
            settings.named("main").map(drop)
        });
        assert!(refused.is_err());
        assert_eq!(Settings::load(&folder).unwrap().fleets.len(), 1);
    }
}
