//! Any one of manager, SSH, vast.ai, machines, keychain is cut or stalls: the others go on, what is shown says what is missing
//! and since when, nothing is claimed that was not seen, and all comes back by itself.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use dwell_commands::dto::*;
use dwell_commands::{App, SecretString, Served, serve};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::sshd::Sshd;
use crate::world;

/// How a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Open,
    /// Connections end, and new ones with them.
    Cut,
    /// Connections stand, and nothing comes through.
    Stalled,
}

/// A proxy in between, in the spirit of Toxiproxy.
#[derive(Debug, Clone)]
struct Between {
    port: u16,
    line: watch::Sender<Line>,
}

impl Between {
    /// In front of a port on loopback. Runs on the present runtime.
    fn new(to: u16) -> Self {
        Self::with(to, watch::Sender::new(Line::Open))
    }

    fn with(to: u16, line: watch::Sender<Line>) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let listener = TcpListener::from_std(listener).unwrap();
        let watched = line.clone();
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(carry(near, to, watched.subscribe()));
            }
        });
        Self { port, line }
    }

    fn set(&self, line: Line) {
        self.line.send_replace(line);
    }
}

async fn carry(mut near: TcpStream, to: u16, mut line: watch::Receiver<Line>) {
    let Ok(mut far) = TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], to))).await else { return };
    let carrying = tokio::io::copy_bidirectional(&mut near, &mut far);
    tokio::pin!(carrying);
    loop {
        let now = *line.borrow_and_update();
        tokio::select! {
            _ = &mut carrying, if now == Line::Open => return,
            changed = line.changed(), if now != Line::Cut => if changed.is_err() { return },
            else => return,
        }
    }
}

struct Rig {
    served: Served,
    app: App,
    manager: Between,
    tunnel: Between,
    vast: Between,
    machines: watch::Sender<Line>,
    _sshd: Sshd,
    _folder: tempfile::TempDir,
}

/// Everything at once: the manager through a tunnel, vast.ai, machines by SSH; a proxy in front of each.
async fn rig() -> Rig {
    let served = serve(world(5, 2, ""), 1.0, 0, 0).await.unwrap();
    let machines = watch::Sender::new(Line::Open);
    let lines = machines.clone();
    served.open_ssh_behind(move |port| Between::with(port, lines.clone()).port);

    let port = |url: &str| url.rsplit(':').next().unwrap().parse::<u16>().unwrap();
    let manager = Between::new(port(&served.url()));
    let vast = Between::new(port(&served.vast_url()));
    let sshd = Sshd::start();
    let tunnel = Between::new(sshd.port);
    // The host is known under its own port; it is reached through the proxy's.
    let config = std::fs::read_to_string(sshd.path("ssh_config")).unwrap();
    let config = config
        .replace(&format!("Port {}\n", sshd.port), &format!("Port {}\n  HostKeyAlias [127.0.0.1]:{}\n", tunnel.port, sshd.port));
    std::fs::write(sshd.path("ssh_config"), config).unwrap();

    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("settings.toml"), "allow_private_machines = true\n").unwrap();
    let app = App::new(Some(folder.path().to_owned())).unwrap();
    app.set_patience(Duration::from_secs(2));
    app.set_vast_address(format!("http://127.0.0.1:{}", vast.port));
    app.set_ssh_config(sshd.path("ssh_config"));
    app.add_key("mine", SecretString::from("any-key-will-do"), true).await.unwrap();
    let request = ConnectRequest {
        address: format!("http://127.0.0.1:{}", manager.port),
        name: Some("mine".into()),
        ssh: Some("controller".into()),
    };
    app.connect(request).await.unwrap();
    app.allow_probe(AllowProbe { name: "mine".into(), allow: true }).await.unwrap();
    Rig { served, app, manager, tunnel, vast, machines, _sshd: sshd, _folder: folder }
}

impl Rig {
    async fn view(&self) -> FleetView {
        self.app.fleet(Nothing {}).await.unwrap()
    }

    /// The view, once it is as wanted.
    async fn until(&self, what: &str, wanted: impl Fn(&FleetView) -> bool) -> FleetView {
        let began = Instant::now();
        loop {
            let view = self.view().await;
            if wanted(&view) {
                return view;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "never: {what}: {:?}", view.connection);
            // A person would wait; a test asks again.
            self.app.refresh(Nothing {}).await.unwrap();
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    async fn id(&self) -> String {
        self.until("the first answer", |view| !view.instances.is_empty()).await.instances[0].id.clone()
    }

    async fn look(&self, check: &str) -> Result<DiagnosisPage, ApiErrorCode> {
        let id = self.id().await;
        self.app.make_look(LookRequest { id, check: check.into() }).await.map_err(|error| error.code.as_str().to_owned())
    }

    async fn summary(&self, channel: &str) -> Option<String> {
        let id = self.id().await;
        let page = self.app.instance(InstanceRequest { id }).await.unwrap();
        page.looks.into_iter().find(|it| it.channel == channel).map(|it| it.summary)
    }

    async fn manager_answers(&self) {
        let before = self.view().await.connection.last_ok_at;
        self.until("the manager answers", |view| view.connection.state == "ok" && view.connection.last_ok_at > before).await;
    }

    async fn vast_answers(&self) {
        self.look("ask-vast").await.unwrap();
        assert!(self.summary("vast-record").await.unwrap().starts_with("running"), "{:?}", self.summary("vast-record").await);
    }

    async fn machine_answers(&self) {
        self.look("ssh-probe").await.unwrap();
        let summary = self.summary("ssh-probe").await.unwrap();
        assert!(summary.contains("connected"), "{summary}");
    }

    async fn all_answer(&self) {
        self.manager_answers().await;
        self.vast_answers().await;
        self.machine_answers().await;
        assert_eq!(self.app.keys(Nothing {}).await.unwrap().accounts.len(), 1);
    }
}

type ApiErrorCode = String;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whatever_is_cut_the_others_go_on_and_the_screen_says_so() {
    let rig = rig().await;
    rig.all_answer().await;
    assert_eq!(rig.view().await.connection.tunnel.unwrap().state, "up");

    for line in [Line::Cut, Line::Stalled] {
        // The manager, behind a tunnel that stands.
        rig.manager.set(line);
        let view = rig.until("the manager is failing", |view| view.connection.state == "failing").await;
        let error = view.connection.error.unwrap();
        assert!(["cut-short", "timed-out", "unreachable"].contains(&error.code.as_str()), "{line:?}: {error:?}");
        assert!(
            view.connection.last_ok_at.is_some() && view.instances.len() == 2,
            "{line:?}: the last answer stands, with its age"
        );
        assert_eq!(view.connection.tunnel.unwrap().state, "up", "{line:?}: the tunnel is not to blame");
        rig.vast_answers().await;
        rig.machine_answers().await;
        let refused = rig.look("prover-status").await.unwrap_err();
        assert!(["cut-short", "timed-out", "unreachable"].contains(&refused.as_str()), "{line:?}: {refused}");
        rig.manager.set(Line::Open);
        rig.all_answer().await;

        // vast.ai.
        rig.vast.set(line);
        rig.look("ask-vast").await.unwrap();
        let summary = rig.summary("vast-record").await.unwrap();
        assert!(summary.starts_with("no answer"), "{line:?}: {summary}");
        assert_eq!(rig.look("container-log").await.unwrap_err(), "vast-silent", "{line:?}");
        rig.manager_answers().await;
        rig.machine_answers().await;
        rig.vast.set(Line::Open);
        rig.all_answer().await;

        // The machines.
        rig.machines.send_replace(line);
        rig.look("ssh-probe").await.unwrap();
        let summary = rig.summary("ssh-probe").await.unwrap();
        assert!(!summary.contains("connected") && summary.contains("nothing of the machine was seen"), "{line:?}: {summary}");
        rig.manager_answers().await;
        rig.vast_answers().await;
        rig.machines.send_replace(Line::Open);
        rig.all_answer().await;
    }

    // The tunnel itself.
    rig.tunnel.set(Line::Cut);
    let view = rig.until("the tunnel is down", |view| view.connection.tunnel.as_ref().is_some_and(|it| it.state == "down")).await;
    let tunnel = view.connection.tunnel.unwrap();
    assert!(tunnel.error.is_some(), "{tunnel:?}");
    assert!(view.instances.len() == 2, "the last answer stands");
    rig.until("the manager is failing", |view| view.connection.state == "failing").await;
    rig.vast_answers().await;
    rig.machine_answers().await;
    rig.tunnel.set(Line::Open);
    rig.all_answer().await;

    // A machine that goes away in the middle of it all is still one of the fleet.
    assert_eq!(rig.served.with_world(|world| world.truth().len()), rig.view().await.instances.len());
}

/// On a bus of its own, with a real keyring that is not there, there, killed, and there again, all in one process.
#[test]
fn the_keychain_comes_and_goes() {
    let home = tempfile::tempdir().unwrap();
    let output = std::process::Command::new("dbus-run-session")
        .arg("--")
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "cuts::on_a_bus_of_its_own", "--ignored", "--nocapture"])
        .env("XDG_DATA_HOME", home.path())
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
}

/// A keyring, unlocked, that ends with this value.
struct Keyring(std::process::Child);

impl Keyring {
    fn start() -> Self {
        use std::io::Write;
        let mut child = std::process::Command::new("gnome-keyring-daemon")
            .args(["--foreground", "--unlock", "--replace", "--components=secrets"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"testpw").unwrap();
        Self(child)
    }
}

impl Drop for Keyring {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by the test above, on a bus of its own"]
async fn on_a_bus_of_its_own() {
    let served = serve(world(5, 2, ""), 1.0, 0, 0).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let app = App::new(Some(folder.path().to_owned())).unwrap();
    app.set_vast_address(served.vast_url());
    app.connect(ConnectRequest { address: served.url(), name: None, ssh: None }).await.unwrap();
    let key = || SecretString::from("vk-0123456789abcdef");

    // Nobody has unlocked one.
    let refused = app.add_key("mine", key(), false).await.unwrap_err();
    assert_eq!(refused.code, "no-keychain", "{refused}");
    assert!(app.keys(Nothing {}).await.unwrap().accounts.is_empty(), "what could not be kept is not listed");

    // Whoever asks while one daemon takes over from another starts a third: it is given time before it is asked, and more tries.
    let mut keyring = None;
    let mut accounts = Vec::new();
    for _ in 0..5 {
        drop(keyring.take());
        keyring = Some(Keyring::start());
        tokio::time::sleep(Duration::from_secs(2)).await;
        if let Ok(added) = app.add_key("mine", key(), false).await {
            accounts = added.accounts;
            break;
        }
    }
    assert_eq!(accounts.first().map(|it| it.state.as_str()), Some("in the keychain"), "an unlocked keyring was not found");
    let id = loop {
        let rows = app.fleet(Nothing {}).await.unwrap().instances;
        if let Some(row) = rows.first() {
            break row.id.clone();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let look = || app.make_look(LookRequest { id: id.clone(), check: "ask-vast".into() });
    look().await.unwrap();

    drop(keyring.take());
    let refused = look().await.unwrap_err();
    assert_eq!(refused.code, "no-keychain", "{refused}");
    let state = app.keys(Nothing {}).await.unwrap().accounts.remove(0).state;
    assert_ne!(state, "in the keychain");
    assert_eq!(app.fleet(Nothing {}).await.unwrap().connection.state, "ok", "the manager needs no key");
    app.make_look(LookRequest { id: id.clone(), check: "prover-status".into() }).await.unwrap();

    let mut found = false;
    for _ in 0..5 {
        drop(keyring.take());
        keyring = Some(Keyring::start());
        tokio::time::sleep(Duration::from_secs(2)).await;
        found = look().await.is_ok();
        if found {
            break;
        }
    }
    assert!(found, "the keyring that came back was not found: {:?}", look().await.map(|_| ()));
}
