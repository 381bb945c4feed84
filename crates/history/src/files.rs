//! Dwell's own files: for the operator alone, never through a link, never by two writers at once.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Longest wait for another process that is writing.
pub const LOCKED_WITHIN: Duration = Duration::from_secs(10);

/// What Dwell keeps in its folder: where one of them is, the folder is Dwell's.
const OURS: [&str; 4] = ["history.sqlite3", "settings.toml", "drills.json", "known_hosts_of_machines"];

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
        let holds_ours = OURS.iter().any(|name| folder.join(name).exists());
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
        return Err(refused(path, what, "Dwell reads and writes its own files alone"));
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
    opened(path, OpenOptions::new().write(true).create(true).truncate(false))
}

/// Makes one of Dwell's own folders within its data folder, for this user alone; one that is there is closed to others. A link in its
/// place is refused.
pub fn own_folder(folder: &Path) -> io::Result<()> {
    if let Some(above) = folder.parent().filter(|above| !above.as_os_str().is_empty()) {
        private_folder(above)?;
    }
    match fs::symlink_metadata(folder) {
        Ok(about) if about.is_dir() => {
            #[cfg(unix)]
            {
                use std::os::unix::fs::{MetadataExt, PermissionsExt};
                if about.mode() & 0o077 != 0 && is_own(&about) {
                    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
                }
            }
            Ok(())
        }
        Ok(about) => {
            let what = if about.is_symlink() { "a link" } else { "no folder" };
            Err(refused(folder, what, "Dwell keeps its own files in its own folder alone"))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => private_folder(folder),
        Err(error) => Err(error),
    }
}

/// Writes one of Dwell's own files anew, for this user alone and without any secret that is known: beside it and then over it, so that a
/// crash leaves the old or the new, never half of it.
pub fn replace_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    private_file(path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(&dwell_fleet::redacted_bytes(bytes))?;
    new.as_file().sync_all()?;
    new.persist(path)?;
    Ok(())
}

/// Reads a regular file of so many bytes at most; `None` where there is none. Nothing waits for a pipe. A link is followed where it leads
/// to such a file: use it for files that are not Dwell's, or after [`private_file`].
pub fn read_regular(path: &Path, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let file = match options.open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() {
        return Err(refused(path, "no regular file", "it is not read"));
    }
    let mut bytes = Vec::new();
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {bytes_max} bytes")));
    }
    Ok(Some(bytes))
}

/// A file that the operator names for what is exported: for this user alone where it is new. One that is there is written over and keeps
/// its rights, which are the operator's; a link or a pipe is refused, for who made it is not known, and where it leads neither.
pub fn create_output(path: &Path) -> io::Result<File> {
    match fs::symlink_metadata(path) {
        Ok(about) if !about.is_file() => {
            let what = if about.is_symlink() { "a link" } else { "no regular file" };
            return Err(refused(path, what, "give the name of a file"));
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let file = opened(path, OpenOptions::new().write(true).create(true).truncate(false))?;
    file.set_len(0)?;
    Ok(file)
}

/// The same, where there must be none of that name.
pub fn create_new_output(path: &Path) -> io::Result<File> {
    opened(path, OpenOptions::new().write(true).create_new(true))
}

/// The same as [`create_output`], written at once and without any secret that is known.
pub fn write_output(path: &Path, bytes: &[u8]) -> io::Result<()> {
    create_output(path)?.write_all(&dwell_fleet::redacted_bytes(bytes))
}

/// Opens it without following a link and without waiting for a pipe, whatever has come into its place meanwhile.
fn opened(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(refused(path, "no regular file", "nothing is written to it"));
    }
    Ok(file)
}

fn refused(path: &Path, what: &str, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{} is {what}; {why}", path.display()))
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
            assert!(replace_private(path, b"ours").is_err() && own_folder(path).is_err());
            assert!(create_output(path).is_err() && create_new_output(path).is_err() && write_output(path, b"ours").is_err());
            // What came into its place after it was looked at.
            assert!(opened(path, OpenOptions::new().write(true).create(true).truncate(false)).is_err());
        }
        assert!(read_regular(&pipe, 10).is_err(), "and does not wait");
        assert_eq!(fs::read_to_string(&target).unwrap(), "theirs");
        // What others keep can be a link: vast.ai's client does not mind.
        assert_eq!(read_regular(&link, 10).unwrap(), Some(b"theirs".to_vec()));
        assert_eq!(read_regular(&link, 5).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read_regular(&folder.path().join("none"), 5).unwrap(), None);
    }

    #[test]
    fn what_is_written_for_a_person_is_for_that_one_alone() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("dwell/exports");
        own_folder(&folder).unwrap();
        assert_eq!((mode(&folder), mode(folder.parent().unwrap())), (0o700, 0o700));
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        own_folder(&folder).unwrap();
        assert_eq!(mode(&folder), 0o700);
        let (replaced, output, new) = (folder.join("a"), folder.join("b"), folder.join("c"));
        replace_private(&replaced, b"one").unwrap();
        fs::set_permissions(&replaced, fs::Permissions::from_mode(0o644)).unwrap();
        replace_private(&replaced, b"two").unwrap();
        write_output(&output, b"first and longer").unwrap();
        create_new_output(&new).unwrap();
        assert_eq!([mode(&replaced), mode(&output), mode(&new)], [0o600; 3]);
        assert_eq!(create_new_output(&new).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        // The operator's own rights on the operator's own file.
        fs::set_permissions(&output, fs::Permissions::from_mode(0o644)).unwrap();
        write_output(&output, b"second").unwrap();
        assert_eq!((mode(&output), fs::read_to_string(&output).unwrap()), (0o644, "second".to_owned()));
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
