//! The simulated machines' SSH: a real server on loopback, one port for each way into each machine, which answers the look
//! at a machine from the state of the world. Only the first machines that are asked about get ports.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use russh::keys::PrivateKey;
use russh::keys::ssh_key::private::Ed25519Keypair;
use russh::server::{Auth, ChannelOpenHandle, Config, Handler, Msg, Session, VerifiedPublicKey};
use russh::{Channel, ChannelId};
use serde_json::{Value, json};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::watch;

use super::Stage;
use crate::SshReach;

/// Machines that get ports: two sockets each.
const MACHINES_MAX: usize = 200;
/// Whether a door should be open is looked at so often.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A connection that is not answered is held so long.
const HELD: Duration = Duration::from_secs(120);
/// A connection that nothing comes from ends.
const INACTIVE: Duration = Duration::from_secs(120);
/// A command longer than this is refused, bytes. The look at a machine has some 3 KiB.
const COMMAND_BYTES_MAX: usize = 64 * 1024;

/// A way into a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Direct,
    Proxy,
}

/// The doors of all machines.
pub(super) struct Doors {
    ports: Mutex<BTreeMap<u64, (u16, u16)>>,
    stopped: watch::Receiver<()>,
    /// Which port is told for one that is listened at.
    told: Box<dyn Fn(u16) -> u16 + Send + Sync>,
}

impl std::fmt::Debug for Doors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Doors").field("ports", &self.ports).finish_non_exhaustive()
    }
}

impl Doors {
    pub(super) fn new(stopped: watch::Receiver<()>, told: Box<dyn Fn(u16) -> u16 + Send + Sync>) -> Self {
        Self { ports: Mutex::default(), stopped, told }
    }

    /// The ports of a machine, made at the first time of asking: direct, proxy.
    fn of(&self, stage: &Stage, vast_id: u64) -> Option<(u16, u16)> {
        let mut ports = self.ports.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = ports.get(&vast_id) {
            return Some(*known);
        }
        if ports.len() >= MACHINES_MAX {
            return None;
        }
        let direct = bound(0).ok()?;
        let proxy = bound(0).ok()?;
        let made = ((self.told)(direct.local_addr().ok()?.port()), (self.told)(proxy.local_addr().ok()?.port()));
        ports.insert(vast_id, made);
        for (way, socket) in [(Way::Direct, direct), (Way::Proxy, proxy)] {
            let door = Door { stage: stage.clone(), vast_id, way };
            let mut stopped = self.stopped.clone();
            tokio::spawn(async move {
                tokio::select! {
                    () = door.keep(socket) => {}
                    // Ends when the sender is dropped.
                    () = async { while stopped.changed().await.is_ok() {} } => {}
                }
            });
        }
        Some(made)
    }
}

/// A port that is taken, and at which nobody listens: whoever connects is refused.
fn bound(port: u16) -> std::io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(port != 0)?;
    socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
    Ok(socket)
}

impl Stage {
    /// The manager's words for how a machine is reached, with the served port in them.
    pub(super) fn ssh_command(&self, vast_id: u64) -> Option<String> {
        let (direct, _) = self.doors.get()?.of(self, vast_id)?;
        Some(format!("ssh -p {direct} root@{}", Ipv4Addr::LOCALHOST))
    }

    /// A record of vast.ai with the served ports in it, where it tells of any.
    pub(super) fn with_doors(&self, mut record: Value) -> Value {
        let ports = record["id"].as_u64().and_then(|vast_id| self.doors.get()?.of(self, vast_id));
        let Some((direct, proxy)) = ports else { return record };
        if record["ssh_host"].is_string() {
            record["ssh_host"] = json!(Ipv4Addr::LOCALHOST);
            record["ssh_port"] = json!(proxy);
        }
        if record["public_ipaddr"].is_string() && record["ports"]["22/tcp"].is_array() {
            record["public_ipaddr"] = json!(format!("{} ", Ipv4Addr::LOCALHOST));
            record["ports"]["22/tcp"] = json!([{ "HostIp": "0.0.0.0", "HostPort": direct.to_string() }]);
            record["machine_dir_ssh_port"] = json!(direct);
        }
        record
    }

    /// An answer of vast.ai with the served ports in its records.
    pub(super) fn with_doors_in(&self, mut body: Value) -> Value {
        if self.doors.get().is_none() {
            return body;
        }
        match body.get_mut("instances") {
            Some(Value::Array(records)) => records.iter_mut().for_each(|it| *it = self.with_doors(it.take())),
            Some(record @ Value::Object(_)) => *record = self.with_doors(record.take()),
            _ => {}
        }
        body
    }
}

#[derive(Debug, Clone)]
struct Door {
    stage: Stage,
    vast_id: u64,
    way: Way,
}

impl Door {
    fn reach(&self) -> SshReach {
        let (direct, proxy) = self.stage.world().ssh_reach(self.vast_id).unwrap_or((SshReach::NoAddress, SshReach::NoAddress));
        if self.way == Way::Direct { direct } else { proxy }
    }

    fn is_shut(&self) -> bool {
        matches!(self.reach(), SshReach::Refused | SshReach::NoAddress)
    }

    /// Listens while the machine does, and lets connections find it as the world has it.
    async fn keep(self, mut socket: TcpSocket) {
        let config = Arc::new(self.config());
        loop {
            while self.is_shut() {
                tokio::time::sleep(LOOK_EVERY).await;
            }
            let Ok(port) = socket.local_addr().map(|address| address.port()) else { return };
            let Ok(listener) = socket.listen(16) else { return };
            while !self.is_shut() {
                if let Ok(Ok((stream, _))) = tokio::time::timeout(LOOK_EVERY, listener.accept()).await {
                    tokio::spawn(self.clone().meet(stream, Arc::clone(&config)));
                }
            }
            drop(listener);
            match bound(port) {
                Ok(again) => socket = again,
                Err(error) => return tracing::warn!(%error, port, "the door of a simulated machine stays shut"),
            }
        }
    }

    async fn meet(self, stream: TcpStream, config: Arc<Config>) {
        match self.reach() {
            SshReach::TimedOut => {
                tokio::time::sleep(HELD).await;
                drop(stream);
            }
            SshReach::Refused | SshReach::NoAddress => drop(stream),
            SshReach::Connected | SshReach::KeyRefused => {
                let visit = Visit { door: self, typed: Vec::new() };
                match russh::server::run_stream(config, stream, visit).await {
                    Ok(running) => drop(running.await),
                    Err(error) => tracing::debug!(%error, "a connection to a simulated machine ended early"),
                }
            }
        }
    }

    /// Each way has a host key of its own, the same in every run: nothing secret is behind it.
    fn config(&self) -> Config {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&self.vast_id.to_be_bytes());
        seed[8] = u8::from(self.way == Way::Proxy);
        Config {
            keys: vec![PrivateKey::from(Ed25519Keypair::from_seed(&seed))],
            auth_rejection_time: Duration::ZERO,
            inactivity_timeout: Some(INACTIVE),
            nodelay: true,
            ..Config::default()
        }
    }
}

/// One connection to a machine. No shell, no forwarding, no files: commands alone.
struct Visit {
    door: Door,
    /// What `sh -s` was given so far.
    typed: Vec<u8>,
}

impl Visit {
    fn auth(&self) -> Auth {
        if self.door.reach() == SshReach::Connected { Auth::Accept } else { Auth::reject() }
    }

    fn run(&self, channel: ChannelId, command: &str, session: &mut Session) -> Result<(), russh::Error> {
        let answer = self.door.stage.world().run_command(self.door.vast_id, command);
        let (text, code) = answer.unwrap_or_else(|| (String::new(), 255));
        session.data(channel, text.into_bytes())?;
        session.exit_status_request(channel, code)?;
        session.eof(channel)?;
        session.close(channel)
    }
}

impl Handler for Visit {
    type Error = russh::Error;

    /// Whoever has no key at all is let in as well: nothing real is behind it.
    async fn auth_none(&mut self, _: &str) -> Result<Auth, Self::Error> {
        Ok(self.auth())
    }

    async fn auth_publickey(&mut self, _: &str, _: VerifiedPublicKey<'_>) -> Result<Auth, Self::Error> {
        Ok(self.auth())
    }

    async fn channel_open_session(
        &mut self,
        _: Channel<Msg>,
        reply: ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<(), Self::Error> {
        reply.accept().await;
        Ok(())
    }

    async fn exec_request(&mut self, channel: ChannelId, data: &[u8], session: &mut Session) -> Result<(), Self::Error> {
        session.channel_success(channel)?;
        match String::from_utf8_lossy(data).trim() {
            // The script follows on the input.
            "sh -s" => Ok(()),
            command => self.run(channel, command, session),
        }
    }

    async fn data(&mut self, _: ChannelId, data: &[u8], _: &mut Session) -> Result<(), Self::Error> {
        if self.typed.len() + data.len() > COMMAND_BYTES_MAX {
            return Err(russh::Error::Disconnect);
        }
        self.typed.extend_from_slice(data);
        Ok(())
    }

    async fn channel_eof(&mut self, channel: ChannelId, session: &mut Session) -> Result<(), Self::Error> {
        let script = std::mem::take(&mut self.typed);
        if script.is_empty() {
            return Ok(());
        }
        self.run(channel, &String::from_utf8_lossy(&script), session)
    }

    async fn shell_request(&mut self, channel: ChannelId, session: &mut Session) -> Result<(), Self::Error> {
        session.channel_success(channel)?;
        self.run(channel, "shell", session)
    }
}
