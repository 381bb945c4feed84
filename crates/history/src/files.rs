//! Dwell's own files: for the operator alone, never through a link, never by two writers at once.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// Longest wait for another process that is writing.
pub const LOCKED_WITHIN: Duration = Duration::from_secs(10);

/// Makes a folder that nobody else may look into, with those above it. One that is there already is closed to others where it is this
/// user's and holds Dwell's files: what a folder that was given is for else is not known. Unix; elsewhere the profile's own rights serve.
pub fn private_folder(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
        if !folder.exists() {
            return fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        }
        let about = fs::metadata(folder)?;
        let holds_ours = ["history.sqlite3", "settings.toml"].iter().any(|name| folder.join(name).exists());
        let is_shared = about.mode() & 0o1000 != 0;
        if about.mode() & 0o077 != 0 && holds_ours && !is_shared && is_own(&about) {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
        }
        Ok(())
    }
    #[cfg(not(unix))]
    fs::create_dir_all(folder)
}

/// Refuses what is no regular file (a link, a pipe that would be waited for), and closes one that is there to others. Whether there is one.
pub fn private_file(path: &Path) -> io::Result<bool> {
    let about = match fs::symlink_metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    if !about.is_file() {
        let what = if about.is_symlink() { "a link" } else { "no regular file" };
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{} is {what}; Dwell reads and writes its own files alone", path.display()),
        ));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        if about.mode() & 0o077 != 0 && is_own(&about) {
            fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        }
    }
    Ok(true)
}

/// Opens a file for writing, made for this user alone where there is none.
pub fn open_private(path: &Path) -> io::Result<File> {
    private_file(path)?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Keeps every other process out until it is dropped; the file stays. An error where another one has it for longer than `within`.
#[derive(Debug)]
pub struct Locked(#[expect(dead_code, reason = "held, not used")] File);

/// Waits for its turn at a lock file.
pub fn lock(path: &Path, within: Duration) -> io::Result<Locked> {
    let file = open_private(path)?;
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Locked(file)),
            Err(TryLockError::WouldBlock) if began.elapsed() < within => std::thread::sleep(Duration::from_millis(10)),
            Err(TryLockError::WouldBlock) => {
                let text = format!("another Dwell has held {} for {} s", path.display(), within.as_secs());
                return Err(io::Error::new(io::ErrorKind::WouldBlock, text));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

#[cfg(unix)]
fn is_own(about: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    rustix::process::geteuid().as_raw() == about.uid()
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn what_is_made_and_what_was_there_is_for_one_user() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("a/b");
        private_folder(&folder).unwrap();
        assert_eq!((mode(&folder), mode(&outer.path().join("a"))), (0o700, 0o700));
        let file = folder.join("settings.toml");
        drop(open_private(&file).unwrap());
        assert_eq!(mode(&file), 0o600);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        private_folder(&folder).unwrap();
        assert!(private_file(&file).unwrap());
        assert_eq!((mode(&file), mode(&folder)), (0o600, 0o700));
        // Folders that are not Dwell's own stay as they are.
        for (name, open) in [("theirs", 0o755), ("shared", 0o1777)] {
            let other = outer.path().join(name);
            fs::create_dir(&other).unwrap();
            fs::set_permissions(&other, fs::Permissions::from_mode(open)).unwrap();
            if name == "shared" {
                drop(open_private(&other.join("settings.toml")).unwrap());
            }
            private_folder(&other).unwrap();
            assert_eq!(mode(&other), open);
        }
    }

    #[test]
    fn links_and_pipes_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link, pipe) = (folder.path().join("target"), folder.path().join("link"), folder.path().join("pipe"));
        fs::write(&target, "theirs").unwrap();
        symlink(&target, &link).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for path in [&link, &pipe] {
            assert!(open_private(path).is_err() && private_file(path).is_err());
        }
        assert_eq!(fs::read_to_string(&target).unwrap(), "theirs");
    }

    #[test]
    fn one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = lock(&path, LOCKED_WITHIN).unwrap();
        assert_eq!(lock(&path, Duration::from_millis(30)).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(first);
        lock(&path, Duration::from_millis(30)).unwrap();
    }
}
