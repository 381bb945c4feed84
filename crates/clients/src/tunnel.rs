//! A way to a manager that listens on its own machine only: `ssh -L`, kept open.
//!
//! It is opened again after a pause that grows, for as long as it is wanted. Nothing is left behind: the `ssh` ends with the
//! tunnel, and with this program however that ends.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use backon::BackoffBuilder;
use dwell_fleet::shown;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::TcpListener;
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::{Notify, watch};

use crate::ssh::{Ssh, SshTarget, broken_config, meaning, no_ssh};
use crate::{Code, FetchError};

/// Longest wait for a tunnel to open. A hardware key may want to be touched.
const OPEN_WITHIN: Duration = Duration::from_secs(45);
/// Pauses between tries: the first, the longest.
const AGAIN_AFTER: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// A tunnel that has stood so long starts again without a pause.
const STOOD: Duration = Duration::from_secs(30);
/// Other ports that are tried where the chosen one was taken.
const OTHER_PORTS: usize = 3;
/// What `ssh` says of a refused connection comes so much later than its end, at most.
const SAID_WITHIN: Duration = Duration::from_millis(400);
/// What it says once the way is open, and the command that makes it say so.
const OPEN: &str = "dwell-tunnel-open";
/// Lines of `ssh` that are kept.
const WORDS_MAX: usize = 40;
/// Longest line of it that is read, bytes.
const LINE_BYTES_MAX: u64 = 4096;

/// How a tunnel is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TunnelState {
    /// On its way.
    Opening,
    /// Open, at this port on 127.0.0.1.
    Up(u16),
    /// Not open; tried again by itself.
    Down(FetchError),
}

/// A tunnel. The last copy closes it.
#[derive(Debug, Clone)]
pub struct Tunnel {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    target: SshTarget,
    there: (String, u16),
    state: watch::Receiver<TunnelState>,
    shared: Arc<Shared>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What the task and its users share.
#[derive(Debug, Default)]
struct Shared {
    now: Notify,
    /// Connections that the other side could not make.
    refused: watch::Sender<u64>,
    words: Mutex<VecDeque<String>>,
}

impl Tunnel {
    /// Begins to open a tunnel to `host:port` as seen from `target`. `local_port` where it must be that one; else any free
    /// one is taken. Runs on the present runtime.
    pub fn open(ssh: Ssh, target: SshTarget, there: (String, u16), local_port: Option<u16>) -> Self {
        let (sender, state) = watch::channel(TunnelState::Opening);
        let shared = Arc::new(Shared::default());
        let task = tokio::spawn(keep_open(ssh, target.clone(), there.clone(), local_port, sender, Arc::clone(&shared)));
        Self { inner: Arc::new(Inner { target, there, state, shared, task }) }
    }

    /// How it is now.
    pub fn state(&self) -> TunnelState {
        self.inner.state.borrow().clone()
    }

    /// Waits for a change from `state`.
    pub async fn changed_from(&self, state: &TunnelState) -> TunnelState {
        let mut watched = self.inner.state.clone();
        match watched.wait_for(|now| now != state).await {
            Ok(now) => now.clone(),
            Err(_) => self.state(),
        }
    }

    /// Whom it goes through.
    pub fn target(&self) -> &SshTarget {
        &self.inner.target
    }

    /// Tries again now rather than after the pause.
    pub fn try_now(&self) {
        self.inner.shared.now.notify_one();
    }

    /// The port on 127.0.0.1, once it is open.
    pub(crate) async fn port(&self) -> Result<u16, FetchError> {
        let mut watched = self.inner.state.clone();
        let settled = watched.wait_for(|state| *state != TunnelState::Opening);
        match tokio::time::timeout(OPEN_WITHIN, settled).await {
            Ok(Ok(state)) => match &*state {
                TunnelState::Up(port) => Ok(*port),
                TunnelState::Down(error) => Err(error.clone()),
                TunnelState::Opening => Err(FetchError::timed_out(OPEN_WITHIN)),
            },
            _ => Err(FetchError::timed_out(OPEN_WITHIN)),
        }
    }

    pub(crate) fn refusals(&self) -> u64 {
        *self.inner.shared.refused.borrow()
    }

    /// Whether the other side has refused a connection since `before`: what `ssh` says of it can come a little later.
    pub(crate) async fn has_refused_since(&self, before: u64) -> Option<FetchError> {
        let mut refused = self.inner.shared.refused.subscribe();
        let said = tokio::time::timeout(SAID_WITHIN, refused.wait_for(|count| *count > before)).await.is_ok();
        said.then(|| {
            let (host, port) = &self.inner.there;
            let message = format!("SSH to {} works, and nothing listens at {host}:{port} there", self.inner.target.as_str());
            FetchError::new(Code::Unreachable, message)
        })
    }
}

async fn keep_open(
    ssh: Ssh,
    target: SshTarget,
    there: (String, u16),
    local_port: Option<u16>,
    state: watch::Sender<TunnelState>,
    shared: Arc<Shared>,
) {
    let pauses = backon::ExponentialBuilder::default()
        .with_min_delay(AGAIN_AFTER.0)
        .with_max_delay(AGAIN_AFTER.1)
        .with_factor(2.0)
        .without_max_times()
        .with_jitter();
    let mut pause = pauses.build();
    loop {
        state.send_replace(TunnelState::Opening);
        let began = tokio::time::Instant::now();
        let mut error = ended(&ssh, &target, &there, local_port, &state, &shared).await;
        // A port that was free when it was chosen can be taken a moment later: then another one will do.
        for _ in 0..OTHER_PORTS {
            if error.code != Code::PortInUse || local_port.is_some() {
                break;
            }
            error = ended(&ssh, &target, &there, local_port, &state, &shared).await;
        }
        tracing::info!(code = error.code.as_str(), %error, "the tunnel is down");
        state.send_replace(TunnelState::Down(error));
        if began.elapsed() >= STOOD {
            pause = pauses.build();
        }
        let wait = pause.next().unwrap_or(AGAIN_AFTER.1);
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = shared.now.notified() => {}
        }
    }
}

/// Opens it and stays until it ends; why it is not open any more.
async fn ended(
    ssh: &Ssh,
    target: &SshTarget,
    there: &(String, u16),
    local_port: Option<u16>,
    state: &watch::Sender<TunnelState>,
    shared: &Shared,
) -> FetchError {
    match open_once(ssh, target, there, local_port, state, shared).await {
        Ok(error) | Err(error) => error,
    }
}

/// Opens it and stays until it ends; why it ended, or why it was not opened.
async fn open_once(
    ssh: &Ssh,
    target: &SshTarget,
    there: &(String, u16),
    local_port: Option<u16>,
    state: &watch::Sender<TunnelState>,
    shared: &Shared,
) -> Result<FetchError, FetchError> {
    let port = match local_port {
        Some(port) => port,
        None => free_port().await?,
    };
    shared.words.lock().unwrap_or_else(PoisonError::into_inner).clear();
    let mut arguments = ssh.arguments();
    for option in [
        "ExitOnForwardFailure=yes",
        "ConnectTimeout=15",
        "ServerAliveInterval=10",
        "ServerAliveCountMax=3",
        "LogLevel=INFO",
        "GatewayPorts=no",
        "Tunnel=no",
        // Run on this machine once forwarding is set up, and not where that failed.
        "PermitLocalCommand=yes",
        &format!("LocalCommand=echo {OPEN}"),
    ] {
        arguments.extend(["-o".into(), option.into()]);
    }
    let host = if there.0.contains(':') { format!("[{}]", there.0) } else { there.0.clone() };
    let forward = format!("127.0.0.1:{port}:{host}:{}", there.1);
    arguments.extend(["-N", "-T", "-L", &forward, "--", target.as_str()].map(Into::into));
    let mut child = ssh.start(arguments)?;
    let stderr = child.stderr.take();
    let listen = async {
        if let Some(stderr) = stderr {
            listen_to(stderr, shared).await;
        }
    };
    // It ends when its input does: waiting for it would close that, so it is held here.
    let input = child.stdin.take();
    let stdout = child.stdout.take();
    let stand = async move {
        let _input = input;
        let opened = tokio::select! {
            opened = tokio::time::timeout(OPEN_WITHIN, says_open(stdout)) => opened == Ok(true),
            status = child.wait() => return Some(status.ok().and_then(|status| status.code())),
        };
        if !opened {
            return None;
        }
        state.send_replace(TunnelState::Up(port));
        Some(child.wait().await.ok().and_then(|status| status.code()))
    };
    let (ended, ()) = tokio::join!(stand, listen);
    let words = shared.words.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect::<Vec<_>>().join("\n");
    Ok(match ended {
        None => FetchError::new(Code::TimedOut, format!("ssh to {} did not open the way in time", target.as_str())),
        Some(Some(127)) if words.contains("not found") => no_ssh(),
        Some(_) => why(target, port, &words),
    })
}

/// A port that is free now.
async fn free_port() -> Result<u16, FetchError> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await;
    let port = listener.and_then(|listener| listener.local_addr()).map(|address| address.port());
    port.map_err(|error| FetchError::new(Code::PortInUse, format!("no port is free on 127.0.0.1: {error}")))
}

/// Waits until `ssh` says that the way is open.
async fn says_open(stdout: Option<ChildStdout>) -> bool {
    let Some(stdout) = stdout else { return false };
    let mut line = Vec::new();
    let mut lines = BufReader::new(stdout);
    while (&mut lines).take(LINE_BYTES_MAX).read_until(b'\n', &mut line).await.is_ok_and(|count| count > 0) {
        if line.trim_ascii() == OPEN.as_bytes() {
            return true;
        }
        line.clear();
    }
    // It is ending: that is told by its status.
    std::future::pending().await
}

/// Keeps what `ssh` says, and counts what the other side refuses.
async fn listen_to(stderr: ChildStderr, shared: &Shared) {
    let mut lines = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut lines).take(LINE_BYTES_MAX).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = dwell_fleet::redacted(String::from_utf8_lossy(&line).trim()).into_owned();
        if text.contains("open failed") {
            shared.refused.send_modify(|count| *count += 1);
            continue;
        }
        let mut words = shared.words.lock().unwrap_or_else(PoisonError::into_inner);
        if !text.is_empty() {
            words.push_back(text);
        }
        if words.len() > WORDS_MAX {
            words.pop_front();
        }
    }
}

fn why(target: &SshTarget, port: u16, words: &str) -> FetchError {
    let target = target.as_str();
    if meaning(words) == Code::SshConfig {
        return broken_config(words);
    }
    // It is the host that did not answer, whatever the manager behind it does.
    let code = match meaning(words) {
        Code::Unreachable => Code::SshRefused,
        Code::TimedOut => Code::SshUnanswered,
        code => code,
    };
    let last = words.lines().rev().find(|line| !line.is_empty()).unwrap_or("without a word");
    let last = shown(last, 200);
    let message = match code {
        Code::SshKeyRefused => format!("{target} accepts none of your SSH keys"),
        Code::HostKeyUnknown => format!("the host key of {target} is not known on this machine"),
        Code::HostKeyChanged => format!("{target} shows another host key than the one that is known"),
        Code::PortInUse => format!("port {port} on 127.0.0.1 is in use"),
        Code::NameUnknown => format!("the name of {target} is not found"),
        Code::SshRefused => format!("{target} refuses SSH"),
        Code::SshUnanswered => format!("{target} does not answer to SSH"),
        Code::CutShort => format!("the SSH connection to {target} ended"),
        _ => format!("ssh to {target} failed"),
    };
    FetchError::new(code, format!("{message} ({last})"))
}
