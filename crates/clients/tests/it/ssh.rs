//! The tunnel and the look at a machine, through a real `ssh` to a real `sshd` on loopback.

use std::process::{Command, Stdio};
use std::time::Duration;

use dwell_clients::{Code, Limits, ManagerClient, Ssh, SshTarget, Tunnel, TunnelState};
use dwell_fleet::Timestamp;
use dwell_fleet::look::{Reach, SshAddress};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::sshd::{Sshd, free_port};

/// A manager that answers an empty dashboard.
async fn manager() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = [0; 4096];
                let body = r#"{"instances":[],"updated_at":"2026-12-01T02:41:48Z"}"#;
                while socket.read(&mut request).await.is_ok_and(|count| count > 0) {
                    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
                    let _ = socket.write_all(answer.as_bytes()).await;
                }
            });
        }
    });
    port
}

fn ssh(server: &Sshd) -> Ssh {
    Ssh::with_config(Some(server.path("ssh_config"))).with_private_machines(true)
}

fn target() -> SshTarget {
    SshTarget::new("controller").unwrap()
}

fn through(ssh: Ssh, port: u16) -> ManagerClient {
    ManagerClient::through(ssh, target(), &format!("127.0.0.1:{port}"), Limits::default()).unwrap()
}

async fn asked(client: &ManagerClient) -> Result<(), Code> {
    client.dashboard(|| Timestamp::UNIX_EPOCH).await.map(|_| ()).map_err(|error| error.code)
}

/// Processes of `ssh` that were given this configuration file.
fn left_behind(server: &Sshd) -> usize {
    let listing = Command::new("ps").args(["-eo", "args"]).output().unwrap();
    let mark = format!("ssh -F {}", server.path("ssh_config").display());
    String::from_utf8_lossy(&listing.stdout).lines().filter(|line| line.starts_with(&mark)).count()
}

async fn none_left(server: &Sshd) -> bool {
    for _ in 0..100 {
        if left_behind(server) == 0 {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    false
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manager_is_reached_through_ssh_and_nothing_is_left_behind() {
    let server = Sshd::start();
    let port = manager().await;
    let client = through(ssh(&server), port);
    assert_eq!(asked(&client).await, Ok(()));
    assert_eq!(client.base(), format!("http://127.0.0.1:{port} via controller"), "named by where it is, not by a local port");
    assert_eq!(left_behind(&server), 1);
    drop(client);
    assert!(none_left(&server).await, "ssh outlives its tunnel");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manager_that_is_down_is_told_from_a_way_that_is_closed() {
    let mut server = Sshd::start();
    let client = through(ssh(&server), free_port());
    let error = client.dashboard(|| Timestamp::UNIX_EPOCH).await.unwrap_err();
    assert_eq!(error.code, Code::Unreachable);
    assert!(error.message.contains("SSH to controller works, and nothing listens"), "{error}");
    let up = client.tunnel().unwrap().state();
    server.stop();
    let down = client.tunnel().unwrap().changed_from(&up).await;
    assert!(matches!(down, TunnelState::Down(_)), "{down:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_failure_has_its_code_and_asks_no_question() {
    let mut server = Sshd::start();
    let port = manager().await;
    server.configure("stranger", "known_hosts");
    assert_eq!(asked(&through(ssh(&server), port)).await, Err(Code::SshKeyRefused));
    server.configure("user", "nobody_known");
    assert_eq!(asked(&through(ssh(&server), port)).await, Err(Code::HostKeyUnknown), "not accepted behind anybody's back");
    server.configure("user", "known_hosts");
    server.change_host_key();
    assert_eq!(asked(&through(ssh(&server), port)).await, Err(Code::HostKeyChanged));
    server.stop();
    assert_eq!(asked(&through(ssh(&server), port)).await, Err(Code::SshRefused), "the host refuses, whatever the manager does");
    let nowhere = SshTarget::new("no-such-host.invalid").unwrap();
    let client = ManagerClient::through(ssh(&server), nowhere, "127.0.0.1:1", Limits::default()).unwrap();
    assert_eq!(asked(&client).await, Err(Code::NameUnknown));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_in_use_is_said_and_another_is_taken_where_any_will_do() {
    let server = Sshd::start();
    let there = manager().await;
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = taken.local_addr().unwrap().port();
    let tunnel = Tunnel::open(ssh(&server), target(), ("127.0.0.1".to_owned(), there), Some(port));
    let TunnelState::Down(error) = tunnel.changed_from(&TunnelState::Opening).await else { panic!("{:?}", tunnel.state()) };
    assert_eq!(error.code, Code::PortInUse, "{error}");
    drop(taken);
    tunnel.try_now();
    // How long it is opening, and whether that is seen, is the machine's affair.
    let mut state = tunnel.changed_from(&TunnelState::Down(error)).await;
    if state == TunnelState::Opening {
        state = tunnel.changed_from(&state).await;
    }
    assert_eq!(state, TunnelState::Up(port), "opened again by itself");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_connection_is_opened_again() {
    let mut server = Sshd::start();
    let port = manager().await;
    let client = through(ssh(&server), port);
    assert_eq!(asked(&client).await, Ok(()));
    let up = client.tunnel().unwrap().state();
    server.stop();
    let down = client.tunnel().unwrap().changed_from(&up).await;
    assert!(matches!(&down, TunnelState::Down(error) if error.code == Code::CutShort), "{down:?}");
    assert!(asked(&client).await.is_err(), "said at once, not after a wait");
    server.run();
    client.tunnel().unwrap().try_now();
    for _ in 0..40 {
        if asked(&client).await.is_ok() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    panic!("not opened again: {:?}", client.tunnel().unwrap().state());
}

/// The test program is started anew, opens a tunnel, and is killed in the hardest way.
#[tokio::test(flavor = "multi_thread")]
async fn no_ssh_outlives_a_program_that_is_killed() {
    const HELPER: &str = "DWELL_TEST_TUNNEL";
    if let Ok(config) = std::env::var(HELPER) {
        let (config, port) = config.rsplit_once(':').unwrap();
        let client = through(Ssh::with_config(Some(config.into())), port.parse().unwrap());
        assert_eq!(asked(&client).await, Ok(()));
        println!("open");
        std::future::pending::<()>().await;
    }
    let server = Sshd::start();
    let port = manager().await;
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["no_ssh_outlives_a_program_that_is_killed", "--nocapture"])
        .env(HELPER, format!("{}:{port}", server.path("ssh_config").display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    for _ in 0..200 {
        if left_behind(&server) == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(left_behind(&server), 1, "the helper has no tunnel");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(none_left(&server).await, "ssh is left behind");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_is_looked_at_with_what_it_has() {
    let mut server = Sshd::start();
    let known = server.path("rented/known_hosts");
    let address = SshAddress::new("127.0.0.1", u64::from(server.port));
    let nobody = SshAddress::new("127.0.0.1", u64::from(free_port()));
    let ssh = ssh(&server);
    let run = ssh.probe(7, address.as_ref(), nobody.as_ref(), &known).await.unwrap();
    assert_eq!((run.direct, run.proxy), (Reach::Connected, Reach::NotTried), "{}", run.words);
    let at = Timestamp::from_second(std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs() as i64).unwrap();
    let probed = dwell_wire::probed(&run.output.unwrap(), at).unwrap();
    let seen = probed.seen;
    assert!(probed.complete);
    assert!(seen.clock_ahead_s.unwrap().abs() < 60.0);
    let processes = seen.processes.unwrap();
    assert!(processes.iter().any(|process| process.program.contains("sshd")), "{processes:?}");
    assert!(processes.iter().all(|process| !process.program.contains("dwell-probe")), "the look sees itself: {processes:?}");
    assert!(seen.disk_gb.unwrap() > 0.0 && seen.has_adx.is_some() && seen.files.is_some());
    assert_eq!(probed.prover, Some(dwell_fleet::look::ProverAnswer::Refused), "nothing serves a prover's status here");
    // Its key is remembered, in Dwell's own file; another key is noticed, and nobody is let in.
    assert!(std::fs::read_to_string(&known).unwrap().contains("vast-7-direct"));
    assert!(!std::fs::read_to_string(server.path("known_hosts")).unwrap().contains("vast-7"));
    server.change_host_key();
    let changed = ssh.probe(7, address.as_ref(), None, &known).await.unwrap();
    assert_eq!((changed.direct, changed.output), (Reach::HostKeyChanged, None));
    // The direct way fails, the proxy's does not.
    let run = ssh.probe(8, nobody.as_ref(), address.as_ref(), &known).await.unwrap();
    assert_eq!((run.direct, run.proxy), (Reach::Refused, Reach::Connected), "{}", run.words);
    server.configure("stranger", "known_hosts");
    let run = ssh.probe(9, address.as_ref(), None, &known).await.unwrap();
    assert_eq!((run.direct, run.proxy, run.output), (Reach::KeyRefused, Reach::NoAddress, None));
    assert!(none_left(&server).await);
}

/// What the manager tells of a rented machine leads to the public internet or nowhere: no connection is made to this machine, whatever
/// its address is called.
#[tokio::test(flavor = "multi_thread")]
async fn a_rented_machine_is_never_this_one_or_in_ones_own_network() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = u64::from(listener.local_addr().unwrap().port());
    let folder = tempfile::tempdir().unwrap();
    let known = folder.path().join("known_hosts");
    for host in [
        "127.0.0.1",
        "::1",
        "::ffff:127.0.0.1",
        "0.0.0.0",
        "10.0.0.1",
        "169.254.169.254",
        "a.localhost",
        "db.internal",
        "printer.local",
    ] {
        let address = SshAddress::new(host, port);
        for (direct, proxy) in [(address.as_ref(), None), (None, address.as_ref()), (address.as_ref(), address.as_ref())] {
            let error = Ssh::default().probe(7, direct, proxy, &known).await.unwrap_err();
            assert_eq!(error.code, Code::BadAddress, "{host}: {error}");
            assert!(error.message.contains("rented machines are on the public internet"), "{host}: {error}");
        }
    }
    assert!(listener.accept().is_err(), "connected to");
    // An address that leads nowhere does not stand in the way of one that does; a name that nobody knows is told as that.
    let (inside, unknown) = (SshAddress::new("127.0.0.1", port), SshAddress::new("no-such-name.vast-ai.example", port));
    let run = Ssh::default().probe(7, inside.as_ref(), unknown.as_ref(), &known).await.unwrap();
    assert_eq!((run.direct, run.proxy, run.output), (Reach::NoAddress, Reach::NameUnknown, None));
}

/// A look at what this server has, with its end: a look that is complete ends at once, and a minute is far beyond that.
async fn looked(ssh: &Ssh, address: Option<&SshAddress>, known: &std::path::Path) -> dwell_clients::ProbeRun {
    tokio::time::timeout(Duration::from_secs(60), ssh.probe(7, address, None, known)).await.expect("waits").unwrap()
}

/// Configured with everything that must not be used for a machine: another host under its address, a command in between, variables.
#[tokio::test(flavor = "multi_thread")]
async fn a_machine_is_an_address_and_gets_nothing_of_the_environment() {
    let mut server = Sshd::start();
    let (ran, sent) = (server.path("ran"), server.path("sent"));
    let text = std::fs::read_to_string(server.path("ssh_config")).unwrap();
    let aimed = format!(
        "Host 127.0.0.1\n  HostName no-such-host.invalid\n  ProxyCommand touch {}; exit 1\n  ForwardAgent yes\n  SendEnv *\n{text}",
        ran.display()
    );
    std::fs::write(server.path("ssh_config"), aimed).unwrap();
    // Whatever a client sends is taken, and what came is written down.
    server.stop();
    server.run_with(&format!("AcceptEnv *\nForceCommand env > {}; eval \"$SSH_ORIGINAL_COMMAND\"\n", sent.display()));
    const HELPER: &str = "DWELL_TEST_LOOK";
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "ssh::a_look_of_its_own", "--nocapture", "--ignored"])
        .env(HELPER, format!("{}:{}", server.path("ssh_config").display(), server.port))
        .env("VAST_API_KEY", "vk-5ec7e7")
        .env("HF_TOKEN", "hf-5ec7e7")
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    assert!(!ran.exists(), "a command of the configuration ran");
    let sent = std::fs::read_to_string(&sent).unwrap();
    assert!(sent.contains("SSH_CONNECTION") && !sent.contains("5ec7e7"), "{sent}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "started by another test, with an environment of its own"]
async fn a_look_of_its_own() {
    let (config, port) =
        std::env::var("DWELL_TEST_LOOK").unwrap().rsplit_once(':').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let ssh = Ssh::with_config(Some(config.into())).with_private_machines(true);
    let folder = tempfile::tempdir().unwrap();
    let run = looked(&ssh, SshAddress::new("127.0.0.1", port.parse().unwrap()).as_ref(), &folder.path().join("known")).await;
    assert_eq!(run.direct, Reach::Connected, "{}", run.words);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_ends_with_its_answer_and_a_flood_at_the_limit() {
    let mut server = Sshd::start();
    let address = SshAddress::new("127.0.0.1", u64::from(server.port));
    let (ssh, known) = (ssh(&server), server.path("rented/known_hosts"));
    // What is left behind holds the connection open and prints on.
    server.stop();
    server.run_with("ForceCommand eval \"$SSH_ORIGINAL_COMMAND\"; echo more; sleep 300\n");
    let run = looked(&ssh, address.as_ref(), &known).await;
    assert_eq!(run.direct, Reach::Connected, "{}", run.words);
    assert!(dwell_wire::probed(&run.output.unwrap(), Timestamp::UNIX_EPOCH).unwrap().complete);
    server.stop();
    server.run_with("ForceCommand yes flood; sleep 300\n");
    let run = looked(&ssh, address.as_ref(), &known).await;
    assert_eq!((run.direct, run.output), (Reach::TooMuch, None), "{}", run.words);
    assert!(run.words.contains("too much output"), "{}", run.words);
    assert!(none_left(&server).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_banner_forges_nothing_and_a_broken_configuration_is_ones_own() {
    let mut server = Sshd::start();
    let address = SshAddress::new("127.0.0.1", u64::from(server.port));
    let known = server.path("rented/known_hosts");
    let banner = "@@@@@@@@@@@@@@@@@@@@@@\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.\n";
    std::fs::write(server.path("banner"), banner).unwrap();
    server.configure("stranger", "known_hosts");
    server.stop();
    server.run_with(&format!("Banner {}\n", server.path("banner").display()));
    let run = looked(&ssh(&server), address.as_ref(), &known).await;
    assert_eq!(run.direct, Reach::KeyRefused, "{}", run.words);
    std::fs::write(server.path("ssh_config"), "Host *\n  NoSuchOption yes\n").unwrap();
    let error = ssh(&server).probe(7, address.as_ref(), None, &known).await.unwrap_err();
    assert_eq!(error.code, Code::SshConfig, "{error}");
    assert_eq!(asked(&through(ssh(&server), 1)).await, Err(Code::SshConfig));
}
