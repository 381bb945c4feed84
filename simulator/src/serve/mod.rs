//! The world behind the manager's and vast.ai's HTTP APIs, on loopback, in real time or at a speed factor.

mod manager;
mod market;
mod ssh;
mod vast;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::http::HeaderValue;
use jiff::Timestamp;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::{SimClock, World};

/// Header on every answer, so that a client can say SIMULATED and keep this history apart: `NAME seed=N run=MS`. The real
/// manager has no such header.
pub const SIMULATED_HEADER: &str = "x-dwell-simulated";

/// Request bodies beyond this are refused; a log push is cut at 256 KiB by the manager itself.
const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Why the simulator could not be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address could not be bound.
    #[error("cannot listen on 127.0.0.1:{port}: {source}")]
    Bind {
        /// The port asked for; 0 for any.
        port: u16,
        /// The system's reason.
        source: std::io::Error,
    },
}

/// A served world. Dropping it ends the servers.
#[derive(Debug)]
pub struct Served {
    manager: SocketAddr,
    vast: SocketAddr,
    stage: Stage,
    _stop: watch::Sender<()>,
}

#[derive(Debug, Clone)]
struct Stage {
    world: Arc<Mutex<World>>,
    clock: Arc<Mutex<SimClock>>,
    header: HeaderValue,
    vast: Arc<vast::Desk>,
    doors: Arc<OnceLock<ssh::Doors>>,
}

impl Stage {
    fn clock(&self) -> MutexGuard<'_, SimClock> {
        self.clock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The world as of now.
    fn world(&self) -> MutexGuard<'_, World> {
        let now = self.clock().at(Instant::now());
        let mut world = self.world.lock().unwrap_or_else(PoisonError::into_inner);
        world.advance_to(now);
        world
    }
}

impl Served {
    /// Where the manager listens.
    pub fn address(&self) -> SocketAddr {
        self.manager
    }

    /// The manager's base URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.manager)
    }

    /// vast.ai's base URL: what its own client takes as `VAST_URL`.
    pub fn vast_url(&self) -> String {
        format!("http://{}", self.vast)
    }

    /// Gives the machines a real SSH server on loopback: from now on the manager and vast.ai tell ports at which they answer
    /// the look at a machine. Must be called on the runtime that serves.
    pub fn open_ssh(&self) {
        self.open_ssh_behind(|port| port);
    }

    /// The same, with other ports told than those listened at: for proxies in between, that cut and stall.
    pub fn open_ssh_behind(&self, told: impl Fn(u16) -> u16 + Send + Sync + 'static) {
        let _ = self.stage.doors.set(ssh::Doors::new(self._stop.subscribe(), Box::new(told)));
    }

    /// Simulated time now.
    pub fn now(&self) -> Timestamp {
        self.stage.clock().at(Instant::now())
    }

    /// Simulated seconds per real second.
    pub fn speed(&self) -> f64 {
        self.stage.clock().speed()
    }

    /// Changes the speed; 0 pauses.
    pub fn set_speed(&self, speed: f64) {
        self.stage.clock().set_speed(Instant::now(), speed);
    }

    /// Looks at the world as of now.
    pub fn with_world<T>(&self, look: impl FnOnce(&mut World) -> T) -> T {
        look(&mut self.stage.world())
    }
}

async fn listen(port: u16) -> Result<(TcpListener, SocketAddr), ServeError> {
    let bind = |source| ServeError::Bind { port, source };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(bind)?;
    let address = listener.local_addr().map_err(bind)?;
    Ok((listener, address))
}

fn spawn(listener: TcpListener, app: Router, mut stopped: watch::Receiver<()>) {
    tokio::spawn(async move {
        let serving = axum::serve(listener, app).with_graceful_shutdown(async move {
            // Ends when the sender is dropped.
            while stopped.changed().await.is_ok() {}
        });
        if let Err(error) = serving.await {
            tracing::warn!(%error, "the simulator stopped serving");
        }
    });
}

/// Serves a world on 127.0.0.1, the manager at `port` and vast.ai at `vast_port` (0 for any free one), its clock starting
/// now at the world's own time.
pub async fn serve(world: World, speed: f64, port: u16, vast_port: u16) -> Result<Served, ServeError> {
    let (manager_listener, manager) = listen(port).await?;
    let (vast_listener, vast) = listen(vast_port).await?;
    let run = format!("{} seed={} run={}", world.scenario().name, world.seed(), world.origin().as_millisecond());
    let stage = Stage {
        clock: Arc::new(Mutex::new(SimClock::new(Instant::now(), world.now(), speed))),
        world: Arc::new(Mutex::new(world)),
        header: HeaderValue::from_str(&run).unwrap_or(HeaderValue::from_static("simulated")),
        vast: Arc::new(vast::Desk::at(vast)),
        doors: Arc::default(),
    };
    let (stop, stopped) = watch::channel(());
    spawn(manager_listener, manager::router(stage.clone()), stopped.clone());
    spawn(vast_listener, vast::router(stage.clone()), stopped);
    // Moves the world along between requests, so that no request has hours to catch up on.
    let ticking = Arc::downgrade(&stage.world);
    let clock = Arc::clone(&stage.clock);
    tokio::spawn(async move {
        let mut beat = tokio::time::interval(Duration::from_millis(200));
        loop {
            beat.tick().await;
            let Some(world) = ticking.upgrade() else { break };
            let now = clock.lock().unwrap_or_else(PoisonError::into_inner).at(Instant::now());
            world.lock().unwrap_or_else(PoisonError::into_inner).advance_to(now);
        }
    });
    Ok(Served { manager, vast, stage, _stop: stop })
}
