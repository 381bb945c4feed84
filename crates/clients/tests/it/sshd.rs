//! A real OpenSSH server on loopback, for tests: keys, configuration and port of its own.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub(crate) struct Sshd {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) port: u16,
    child: Option<Child>,
}

fn sshd() -> PathBuf {
    ["/usr/sbin/sshd", "/usr/local/sbin/sshd", "/usr/bin/sshd"]
        .into_iter()
        .map(PathBuf::from)
        .find(|path| path.exists())
        .expect("these tests need OpenSSH's server: install openssh-server (cargo xtask setup says how)")
}

fn keygen(path: &Path) {
    let _ = std::fs::remove_file(path);
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(path).status().unwrap();
    assert!(made.success());
}

/// A port that nobody listens at now.
pub(crate) fn free_port() -> u16 {
    std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

impl Sshd {
    /// Running, with one key that is let in.
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        keygen(&folder.path().join("host"));
        keygen(&folder.path().join("user"));
        keygen(&folder.path().join("stranger"));
        std::fs::copy(folder.path().join("user.pub"), folder.path().join("authorized_keys")).unwrap();
        let mut server = Self { port: free_port(), folder, child: None };
        server.run();
        server.know_host();
        server.configure("user", "known_hosts");
        server
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the server with the host key that is there.
    pub(crate) fn run(&mut self) {
        self.run_with("");
    }

    /// The same with more lines of its configuration.
    pub(crate) fn run_with(&mut self, more: &str) {
        let config = format!(
            "Port {}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nUsePAM no\nPermitRootLogin prohibit-password\nPidFile none\nAllowTcpForwarding yes\n{more}",
            self.port,
            self.path("host").display(),
            self.path("authorized_keys").display(),
        );
        std::fs::write(self.path("sshd_config"), config).unwrap();
        // sshd insists on this folder where it separates privileges; root in a container may lack it.
        let _ = std::fs::create_dir_all("/run/sshd");
        let child = Command::new(sshd())
            .args(["-D", "-e", "-f"])
            .arg(self.path("sshd_config"))
            .stdin(Stdio::null())
            .stderr(std::fs::File::create(self.path("sshd.log")).unwrap())
            .spawn()
            .unwrap();
        self.child = Some(child);
        for _ in 0..200 {
            if std::net::TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(25));
        }
        panic!("sshd did not start: {}", std::fs::read_to_string(self.path("sshd.log")).unwrap_or_default());
    }

    /// Ends the server and every connection to it.
    pub(crate) fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // A connection's own process has been forked off.
            let _ = Command::new("pkill").args(["-P", &child.id().to_string()]).status();
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Another host key, as of a machine that was set up anew, or of somebody in between.
    pub(crate) fn change_host_key(&mut self) {
        self.stop();
        keygen(&self.path("host"));
        self.run();
    }

    fn know_host(&self) {
        let key = std::fs::read_to_string(self.path("host.pub")).unwrap();
        std::fs::write(self.path("known_hosts"), format!("[127.0.0.1]:{} {key}", self.port)).unwrap();
    }

    /// The client's configuration: an entry `controller`.
    pub(crate) fn configure(&self, identity: &str, known_hosts: &str) {
        let user = std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_else(|_| "root".to_owned());
        let config = format!(
            "Host controller\n  HostName 127.0.0.1\n  Port {}\n  User {user}\nHost *\n  IdentityFile {}\n  IdentitiesOnly yes\n  IdentityAgent none\n  UserKnownHostsFile {}\n  GlobalKnownHostsFile /dev/null\n",
            self.port,
            self.path(identity).display(),
            self.path(known_hosts).display(),
        );
        std::fs::write(self.path("ssh_config"), config).unwrap();
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.stop();
    }
}
