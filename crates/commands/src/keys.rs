//! API keys of vast.ai accounts: in the operating system's keychain, or for this session only; never in a file.
//!
//! Names of accounts are no secret and stand in the settings. A key is a [`SecretString`]: it cannot be printed or
//! serialised, and is wiped when it is dropped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dwell_fleet::{SECRET_BYTES_MIN, keep_secret};
use dwell_history::files;
use secrecy::{ExposeSecret, SecretString};

use crate::dto::{Account, Accounts};
use crate::settings::{Folder, Settings};
use crate::{ApiError, ErrorCode};

/// Under this name the keychain lists what is Dwell's.
const SERVICE: &str = "dwell: vast.ai";
/// Longest key taken, characters; vast.ai's have 64.
const KEY_CHARACTERS_MAX: usize = 512;
/// Longest name of an account.
const NAME_CHARACTERS_MAX: usize = 60;

/// The variable with the key for one call, and what its account is called.
pub const OF_ENVIRONMENT: &str = "VAST_API_KEY";

/// Where a key can be.
pub(crate) const IN_KEYCHAIN: &str = "in the keychain";
pub(crate) const OF_SESSION: &str = "for this session only";

/// Keys that live as long as the process: where there is no keychain.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionKeys(Arc<Mutex<BTreeMap<String, SecretString>>>);

impl SessionKeys {
    fn with<T>(&self, act: impl FnOnce(&mut BTreeMap<String, SecretString>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What the keychain said, without a word of what was in it.
fn unavailable(error: &keyring::Error) -> ApiError {
    let why = match error {
        keyring::Error::NoStorageAccess(_) => "the keychain is locked, or refused".to_owned(),
        keyring::Error::NoDefaultStore => "no keychain is running".to_owned(),
        keyring::Error::PlatformFailure(_) => "the keychain failed".to_owned(),
        keyring::Error::BadEncoding(_) => "what the keychain has under this name is no key".to_owned(),
        _ => "the keychain cannot be used".to_owned(),
    };
    ApiError::new(ErrorCode::NoKeychain, why)
        .hint("start and unlock one (on Linux: GNOME Keyring or KWallet), or use the key for one call only: VAST_API_KEY")
}

/// Does something with an account's entry. A keychain that was started or restarted after Dwell is found again.
fn with_entry<T>(account: &str, act: impl Fn(&keyring_core::Entry) -> keyring::Result<T>) -> keyring::Result<T> {
    let first = keyring::Entry::new(SERVICE, account).and_then(|entry| act(&entry.inner));
    match first {
        Err(keyring::Error::NoDefaultStore | keyring::Error::PlatformFailure(_) | keyring::Error::NoStorageAccess(_))
            if find_again() =>
        {
            act(&keyring_core::Entry::new(SERVICE, account)?)
        }
        outcome => outcome,
    }
}

/// The Secret Service is looked for anew: `keyring` itself looks once in a process.
#[cfg(all(unix, not(target_os = "macos")))]
fn find_again() -> bool {
    match zbus_secret_service_keyring_store::Store::new() {
        Ok(store) => {
            keyring_core::set_default_store(store);
            true
        }
        Err(_) => false,
    }
}

/// The keychains of other systems do not come and go.
#[cfg(not(all(unix, not(target_os = "macos"))))]
fn find_again() -> bool {
    false
}

/// Calls that may wait for the keychain at once. One that does not answer holds them; further ones are refused at once.
const WAITING_MAX: usize = 8;

static WAITING: AtomicUsize = AtomicUsize::new(0);

/// A place among the calls that wait, given back however the call ends.
struct Place;

impl Place {
    fn take() -> Option<Self> {
        let taken = WAITING.try_update(Ordering::AcqRel, Ordering::Acquire, |count| (count < WAITING_MAX).then_some(count + 1));
        taken.is_ok().then(|| Self)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        WAITING.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Runs what may wait for the keychain, and for a person who unlocks it, away from everything else. A wait without end ends.
///
/// On a thread of its own, which nothing waits for: a keychain that never answers holds up neither the runtime nor the program's end.
pub(crate) async fn patiently<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
    within: Duration,
) -> Result<T, ApiError> {
    let unanswered = |why: String| {
        ApiError::new(ErrorCode::NoKeychain, why).hint("it may be waiting for you to unlock it, or hang: start it anew")
    };
    let place =
        Place::take().ok_or_else(|| unanswered(format!("the keychain has left {WAITING_MAX} questions without an answer")))?;
    let (reply, answer) = tokio::sync::oneshot::channel();
    let asked = std::thread::Builder::new().name("keychain".to_owned()).spawn(move || {
        let _place = place;
        let _ = reply.send(work());
    });
    asked.map_err(|error| ApiError::new(ErrorCode::NoKeychain, format!("the keychain cannot be asked: {error}")))?;
    match tokio::time::timeout(within, answer).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => Err(ApiError::new(ErrorCode::Bug, "asking the keychain ended without an answer")),
        Err(_) => Err(unanswered(format!("the keychain did not answer within {} s", within.as_secs_f64()))),
    }
}

fn checked(account: &str, key: &SecretString) -> Result<(), ApiError> {
    let named = !account.trim().is_empty()
        && account.chars().count() <= NAME_CHARACTERS_MAX
        && account.chars().all(dwell_fleet::is_plain);
    if !named {
        return Err(ApiError::new(
            ErrorCode::BadRequest,
            format!("a name for the account has 1 to {NAME_CHARACTERS_MAX} characters"),
        ));
    }
    let key = key.expose_secret();
    let plausible =
        (SECRET_BYTES_MIN..=KEY_CHARACTERS_MAX).contains(&key.len()) && key.chars().all(|letter| letter.is_ascii_graphic());
    if plausible {
        keep_secret(key);
        Ok(())
    } else {
        Err(ApiError::new(ErrorCode::BadKey, "that is no API key: it is too short, too long, or has spaces in it"))
    }
}

/// Keeps a key; `session_only` keeps it in this process alone.
pub(crate) fn add(
    folder: &Folder,
    session: &SessionKeys,
    account: &str,
    key: SecretString,
    session_only: bool,
) -> Result<(), ApiError> {
    checked(account, &key)?;
    if session_only {
        session.with(|keys| keys.insert(account.to_owned(), key));
        return Ok(());
    }
    with_entry(account, |entry| entry.set_password(key.expose_secret())).map_err(|error| unavailable(&error))?;
    Settings::change(folder, |settings| {
        if !settings.vast_accounts.iter().any(|known| known == account) {
            settings.vast_accounts.push(account.to_owned());
        }
        Ok(())
    })
}

/// Removes a key from the keychain and its account from the settings.
pub(crate) fn remove(folder: &Folder, session: &SessionKeys, account: &str) -> Result<(), ApiError> {
    let of_session = session.with(|keys| keys.remove(account)).is_some();
    let known = Settings::load(folder)?.vast_accounts.iter().any(|name| name == account);
    if !known && !of_session {
        return Err(ApiError::new(ErrorCode::UnknownAccount, format!("no account is called {account:?}")));
    }
    if known {
        match with_entry(account, keyring_core::Entry::delete_credential) {
            Ok(()) | Err(keyring::Error::NoEntry) => {}
            Err(error) => return Err(unavailable(&error)),
        }
        Settings::change(folder, |settings| {
            settings.vast_accounts.retain(|name| name != account);
            Ok(())
        })?;
    }
    Ok(())
}

/// Names of the accounts. Does not ask the keychain.
pub(crate) fn names(folder: &Folder, session: &SessionKeys) -> Result<Vec<String>, ApiError> {
    let mut names = Settings::load(folder)?.vast_accounts;
    let of_session = session.with(|keys| keys.keys().cloned().collect::<Vec<_>>());
    names.extend(of_session.into_iter().filter(|name| !names.contains(name)).collect::<Vec<_>>());
    Ok(names)
}

/// The accounts, and whether each one's key can be had.
pub(crate) fn list(folder: &Folder, session: &SessionKeys) -> Result<Accounts, ApiError> {
    let mut accounts: Vec<Account> = Vec::new();
    for name in Settings::load(folder)?.vast_accounts {
        let state = match with_entry(&name, |entry| entry.get_password().map(drop)) {
            Ok(()) => IN_KEYCHAIN.to_owned(),
            Err(keyring::Error::NoEntry) => "not in the keychain any more".to_owned(),
            Err(error) => unavailable(&error).message,
        };
        accounts.push(Account { name, state });
    }
    let of_session = session.with(|keys| keys.keys().cloned().collect::<Vec<_>>());
    accounts.extend(of_session.into_iter().map(|name| Account { name, state: OF_SESSION.to_owned() }));
    Ok(Accounts { accounts })
}

/// No account is known at all.
pub(crate) fn unknown() -> ApiError {
    ApiError::new(ErrorCode::NoKey, "no key of a vast.ai account is known").hint("dwellctl keys add NAME, or keys import")
}

/// Whether there is an account at all. Does not ask the keychain: that may want a person.
pub(crate) fn any(folder: &Folder, session: &SessionKeys) -> Result<bool, ApiError> {
    Ok(!names(folder, session)?.is_empty())
}

/// The key of an account; of the only or first one where none is named. `None` where there is no account at all.
pub(crate) fn key(folder: &Folder, session: &SessionKeys, account: Option<&str>) -> Result<Option<SecretString>, ApiError> {
    let of_session = session.with(|keys| match account {
        Some(account) => keys.get(account).cloned(),
        None => keys.values().next().cloned(),
    });
    if of_session.is_some() {
        return Ok(of_session);
    }
    let accounts = Settings::load(folder)?.vast_accounts;
    let name = match account {
        Some(account) => accounts.into_iter().find(|known| known == account).ok_or_else(|| {
            ApiError::new(ErrorCode::UnknownAccount, format!("no account is called {account:?}"))
                .hint("`dwellctl keys list` lists them")
        })?,
        None => match accounts.into_iter().next() {
            Some(first) => first,
            None => return Ok(None),
        },
    };
    match with_entry(&name, keyring_core::Entry::get_password) {
        Ok(key) => {
            keep_secret(&key);
            Ok(Some(SecretString::from(key)))
        }
        Err(keyring::Error::NoEntry) => {
            Err(ApiError::new(ErrorCode::NoKey, format!("the keychain has no key of {name:?} any more"))
                .hint("add it again: dwellctl keys add"))
        }
        Err(error) => Err(unavailable(&error)),
    }
}

/// The entry in the keychain of a variable that rentals get.
fn entry_of(variable: &str) -> String {
    format!("env:{variable}")
}

/// Keeps the value of a variable that rentals get; the keychain alone has it.
pub(crate) fn set_variable(name: &str, value: &SecretString) -> Result<(), ApiError> {
    let named = !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if !named || value.expose_secret().is_empty() {
        return Err(ApiError::new(ErrorCode::BadRequest, "a variable has letters, digits and _ in its name, and a value"));
    }
    if !keep_secret(value.expose_secret()) {
        return Err(too_short(name));
    }
    with_entry(&entry_of(name), |entry| entry.set_password(value.expose_secret())).map_err(|error| unavailable(&error))
}

/// What is taken out of everything that is written has to be longer than a word.
fn too_short(name: &str) -> ApiError {
    ApiError::new(ErrorCode::BadRequest, format!("the value of {name} is shorter than {SECRET_BYTES_MIN} bytes: it cannot be kept secret"))
        .hint(format!(
            "Dwell takes secrets out of all that it writes, and so short a one stands in many a word: choose a longer one, or give it in the clear where it is no secret (--env {name}=VALUE)"
        ))
}

/// Words of a variable's name that say that its value is a secret.
const SECRET_WORDS: [&str; 17] = [
    "TOKEN",
    "KEY",
    "APIKEY",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWORDS",
    "PASSWD",
    "PASSPHRASE",
    "PASS",
    "CREDENTIAL",
    "CREDENTIALS",
    "CRED",
    "CREDS",
    "AUTH",
    "PRIVATE",
    "MNEMONIC",
];

/// Whether a variable's name says that its value is a secret: by its words, or by how one of them ends (`GITHUBTOKEN`).
pub(crate) fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let is_secret = |word: &str| {
        SECRET_WORDS.contains(&word) || ["TOKEN", "SECRET", "PASSWORD", "APIKEY"].iter().any(|end| word.ends_with(end))
    };
    name.split(|letter: char| !letter.is_ascii_alphanumeric()).any(is_secret)
}

/// The value of such a variable.
pub(crate) fn variable(name: &str) -> Result<SecretString, ApiError> {
    match with_entry(&entry_of(name), keyring_core::Entry::get_password) {
        Ok(value) if keep_secret(&value) => Ok(SecretString::from(value)),
        Ok(_) => Err(too_short(name)),
        Err(keyring::Error::NoEntry) => Err(ApiError::new(ErrorCode::NoKey, format!("the keychain has no value of {name}"))
            .hint(format!("keep one: dwellctl keys set-env {name}"))),
        Err(error) => Err(unavailable(&error)),
    }
}

/// Takes what `VAST_API_KEY` holds for a secret, whether it will be used or not.
pub fn keep_environment_secret() {
    if let Some(key) = std::env::var_os("VAST_API_KEY") {
        keep_secret(key.to_string_lossy().trim());
    }
}

/// The key in `VAST_API_KEY`.
pub(crate) fn of_environment() -> Result<(SecretString, String), ApiError> {
    let Some(key) = std::env::var_os("VAST_API_KEY").filter(|key| !key.is_empty()) else {
        return Err(ApiError::new(ErrorCode::NoKey, "VAST_API_KEY is not set"));
    };
    // Set and useless is not the same as not set: whoever set it means that account.
    let key = key.to_str().map(|key| SecretString::from(key.trim().to_owned()));
    let key = key.filter(|key| checked("VAST_API_KEY", key).is_ok());
    let bad = || {
        ApiError::new(ErrorCode::BadKey, "what VAST_API_KEY holds is no API key: it is too short, too long, or has spaces in it")
    };
    Ok((key.ok_or_else(|| bad().hint("set it right, or unset it to go without"))?, "VAST_API_KEY".to_owned()))
}

/// Where vast.ai's own client keeps its key: `$XDG_CONFIG_HOME/vastai/vast_api_key`, and of old `~/.vast_api_key`.
fn files_of_vastai() -> Vec<PathBuf> {
    let home = directories::BaseDirs::new();
    let Some(home) = home else { return Vec::new() };
    vec![home.config_dir().join("vastai/vast_api_key"), home.home_dir().join(".vast_api_key")]
}

/// Whether other users of this machine can read a file; not known is no.
fn others_can_read(path: &Path) -> bool {
    #[cfg(unix)]
    return std::fs::metadata(path).is_ok_and(|about| std::os::unix::fs::MetadataExt::mode(&about) & 0o077 != 0);
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// The key of vast.ai's own client, on request only: from `VAST_API_KEY`, else from its file.
pub(crate) fn of_vastai() -> Result<(SecretString, String), ApiError> {
    match of_environment() {
        Err(error) if error.code == ErrorCode::NoKey => {}
        told => return told,
    }
    for path in files_of_vastai() {
        // It is that client's file, and can be a link; nothing waits for what is no file.
        let Ok(Some(bytes)) = files::read_regular(&path, KEY_CHARACTERS_MAX as u64) else { continue };
        let Ok(key) = String::from_utf8(bytes) else { continue };
        keep_secret(key.trim());
        let open = if others_can_read(&path) { ": others can read it (close it: chmod 600)" } else { "" };
        return Ok((SecretString::from(key.trim().to_owned()), format!("{}{open}", path.display())));
    }
    Err(ApiError::new(ErrorCode::NoKey, "neither VAST_API_KEY nor a key file of vast.ai's client was found"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]
mod tests {
    use super::*;

    /// The runtime ends although the keychain never answers, further questions are refused, and places are given back.
    #[test]
    fn a_keychain_that_never_answers_holds_up_nothing() {
        let (let_go, held) = std::sync::mpsc::channel::<()>();
        let held = Arc::new(Mutex::new(held));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let soon = Duration::from_millis(20);
        runtime.block_on(async {
            for place in 0..=WAITING_MAX {
                let held = Arc::clone(&held);
                let wait = move || held.lock().unwrap_or_else(PoisonError::into_inner).recv().map_err(|_| unknown());
                let error = patiently(wait, soon).await.unwrap_err();
                assert_eq!(error.code, "no-keychain");
                assert_eq!(error.message.contains("within 0.02 s"), place < WAITING_MAX, "{}", error.message);
            }
        });
        drop(runtime);
        drop(let_go);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            while WAITING.load(Ordering::Acquire) > 0 {
                tokio::time::sleep(soon).await;
            }
            assert_eq!(patiently(|| Ok(1), KEPT_WITHIN).await.unwrap(), 1);
        });
    }

    #[test]
    fn names_of_secrets_are_known_by_their_words() {
        for name in ["TOKEN", "HF_TOKEN", "aws_secret_access_key", "PGPASSWORD", "DB_PASS", "MY-AUTH", "GITHUBTOKEN", "Api.Key"] {
            assert!(looks_secret(name), "{name}");
        }
        for name in ["MONKEY", "BYPASS", "AUTHOR", "KEYBOARD", "MIN_RATE", "PATH", "MAX_TOKENS", "COMPASS_URL", ""] {
            assert!(!looks_secret(name), "{name}");
        }
    }

    #[test]
    fn a_short_value_is_no_secret_and_says_so() {
        let error = set_variable("PIN", &SecretString::from("1234567")).unwrap_err();
        assert!(error.message.contains("the value of PIN is shorter than 8 bytes"), "{error}");
        assert!(error.hint.unwrap().contains("--env PIN=VALUE"));
    }

    const KEPT_WITHIN: Duration = Duration::from_secs(60);
}
