//! The world behind the manager's HTTP API, on loopback, in real time or at a speed factor.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, delete, get, post};
use axum::{Json, Router};
use dwell_wire as wire;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

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

/// A served world. Dropping it ends the server.
#[derive(Debug)]
pub struct Served {
    address: SocketAddr,
    stage: Stage,
    _stop: oneshot::Sender<()>,
}

#[derive(Debug, Clone)]
struct Stage {
    world: Arc<Mutex<World>>,
    clock: Arc<Mutex<SimClock>>,
    header: HeaderValue,
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
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The manager's base URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
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

/// Serves a world on `127.0.0.1:port` (0 for any free port), its clock starting now at the world's own time.
pub async fn serve(world: World, speed: f64, port: u16) -> Result<Served, ServeError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(|source| ServeError::Bind { port, source })?;
    let address = listener.local_addr().map_err(|source| ServeError::Bind { port, source })?;
    let run = format!("{} seed={} run={}", world.scenario().name, world.seed(), world.origin().as_millisecond());
    let stage = Stage {
        clock: Arc::new(Mutex::new(SimClock::new(Instant::now(), world.now(), speed))),
        world: Arc::new(Mutex::new(world)),
        header: HeaderValue::from_str(&run).unwrap_or(HeaderValue::from_static("simulated")),
    };
    let (stop, stopped) = oneshot::channel::<()>();
    let app = router(stage.clone());
    tokio::spawn(async move {
        let serving = axum::serve(listener, app).with_graceful_shutdown(async {
            let _ = stopped.await;
        });
        if let Err(error) = serving.await {
            tracing::warn!(%error, "the simulated manager stopped serving");
        }
    });
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
    Ok(Served { address, stage, _stop: stop })
}

fn router(stage: Stage) -> Router {
    Router::new()
        .route("/register", post(register))
        .route("/param-done", post(param_done))
        .route("/bench-done", post(bench_done))
        .route("/running", post(running))
        .route("/runner-id", get(runner_id))
        .route("/status", get(status))
        .route("/bad-host", get(bad_hosts).post(add_bad_host))
        .route("/bad-host/{machine_id}", delete(remove_bad_host))
        .route("/api/dashboard", get(dashboard))
        .route("/api/instance-logs/", any(no_uuid))
        .route("/api/instance-logs/{uuid}", get(instance_logs))
        .route("/api/manager-logs", get(manager_logs))
        .route("/api/kill", post(kill))
        .route("/api/offers", get(offers))
        .route("/api/deploy", post(deploy))
        .route("/api/host-perf", get(host_perf))
        .route("/api/cuzk-status/{uuid}", get(cuzk_status))
        .route("/api/log-push", post(log_push))
        .route("/sim/clock", get(clock).post(set_clock))
        .layer(middleware::from_fn_with_state(stage.clone(), as_the_manager))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(stage)
}

/// A manager that is down answers nothing; here: 503, for a socket cannot be closed and kept. Every answer says SIMULATED.
async fn as_the_manager(State(stage): State<Stage>, request: Request, next: Next) -> Response {
    let down = !request.uri().path().starts_with("/sim/") && !stage.world().manager().is_up();
    let mut response = if down {
        (StatusCode::SERVICE_UNAVAILABLE, "the simulated manager is down\n").into_response()
    } else {
        next.run(request).await
    };
    response.headers_mut().insert(SIMULATED_HEADER, stage.header.clone());
    response
}

fn answer<T: serde::Serialize>(value: &T) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], wire::encode(value)).into_response()
}

fn refuse(status: u16, words: impl Into<String>) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = wire::encode(&wire::ErrorBody { error: Some(words.into()) });
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// The body as an object; the manager's words where it is none.
fn read(body: &Bytes) -> Result<Value, Refused> {
    serde_json::from_slice(body).map_err(|error| Refused(400, format!("bad request: {error}")))
}

/// The manager's no.
struct Refused(u16, String);

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        refuse(self.0, self.1)
    }
}

fn text_of<'a>(body: &'a Value, field: &str) -> &'a str {
    body[field].as_str().unwrap_or("")
}

async fn register(State(stage): State<Stage>, body: Bytes) -> Result<Response, Refused> {
    let body = read(&body)?;
    let label = text_of(&body, "label");
    if label.is_empty() {
        return Ok(refuse(400, "label required"));
    }
    let mut world = stage.world();
    let now = world.now();
    let fresh = format!("5eed0000-0000-4000-8000-{:012x}", now.as_millisecond());
    let (uuid, runner_id) = world.manager_mut().register(label, body["min_rate"].as_f64().unwrap_or(0.0), fresh, now);
    Ok(answer(&json!({"uuid": uuid, "runner_id": runner_id})))
}

async fn param_done(State(stage): State<Stage>, body: Bytes) -> Result<Response, Refused> {
    let body = read(&body)?;
    let mut world = stage.world();
    let now = world.now();
    world.manager_mut().param_done(text_of(&body, "uuid"), now);
    Ok(answer(&json!({"ok": true})))
}

async fn bench_done(State(stage): State<Stage>, body: Bytes) -> Result<Response, Refused> {
    let body = read(&body)?;
    let mut world = stage.world();
    let now = world.now();
    let done = world.manager_mut().bench_done(text_of(&body, "uuid"), body["rate"].as_f64().unwrap_or(0.0), now);
    Ok(match done {
        Ok((passed, destroy)) => {
            destroy.into_iter().for_each(|destroy| world.destroy(destroy));
            answer(&json!({"ok": true, "passed": passed}))
        }
        Err((status, words)) => refuse(status, words),
    })
}

async fn running(State(stage): State<Stage>, body: Bytes) -> Result<Response, Refused> {
    let body = read(&body)?;
    let mut world = stage.world();
    let now = world.now();
    Ok(match world.manager_mut().running(text_of(&body, "uuid"), now) {
        Ok(()) => answer(&json!({"ok": true})),
        Err((status, words)) => refuse(status, words),
    })
}

#[derive(Deserialize)]
struct ByUuid {
    #[serde(default)]
    uuid: String,
}

async fn runner_id(State(stage): State<Stage>, Query(query): Query<ByUuid>) -> Response {
    match stage.world().manager().runner_id(&query.uuid) {
        Some(runner_id) => answer(&json!({"runner_id": runner_id})),
        None => refuse(404, "instance not found"),
    }
}

/// Rows as `/status` writes them: the life alone, no vast.ai fields.
async fn status(State(stage): State<Stage>) -> Response {
    const LIFE: [&str; 11] = [
        "uuid",
        "label",
        "runner_id",
        "state",
        "min_rate",
        "registered_at",
        "param_done_at",
        "bench_done_at",
        "bench_rate",
        "killed_at",
        "kill_reason",
    ];
    let rows: Vec<Value> = stage
        .world()
        .manager()
        .status()
        .iter()
        .filter_map(|row| serde_json::to_value(row).ok())
        .map(|mut row| {
            if let Some(fields) = row.as_object_mut() {
                fields.retain(|field, _| LIFE.contains(&field.as_str()));
            }
            row
        })
        .collect();
    answer(&rows)
}

async fn dashboard(State(stage): State<Stage>) -> Response {
    let world = stage.world();
    answer(&world.manager().dashboard(world.now()))
}

#[derive(Deserialize)]
struct LogQuery {
    tail: Option<String>,
    source: Option<String>,
}

impl LogQuery {
    /// The manager's default for a missing or unreadable number.
    fn tail(&self) -> usize {
        self.tail.as_deref().and_then(|text| text.parse().ok()).filter(|tail| *tail > 0).unwrap_or(1000)
    }
}

async fn no_uuid() -> Response {
    refuse(400, "uuid required in path")
}

async fn instance_logs(State(stage): State<Stage>, Path(uuid): Path<String>, Query(query): Query<LogQuery>) -> Response {
    let source = query.source.as_deref().filter(|source| !source.is_empty());
    answer(&stage.world().manager_mut().instance_logs(&uuid, query.tail(), source))
}

async fn manager_logs(State(stage): State<Stage>, Query(query): Query<LogQuery>) -> Response {
    answer(&stage.world().manager().manager_logs(query.tail()))
}

async fn log_push(State(stage): State<Stage>, headers: HeaderMap, body: Bytes) -> Response {
    let named = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("").to_owned();
    let uuid = named("x-instance-uuid");
    if uuid.is_empty() {
        return refuse(400, "X-Instance-UUID required");
    }
    let mut world = stage.world();
    let now = world.now();
    world.manager_mut().log_push(&uuid, &named("x-log-source"), &body, now);
    StatusCode::NO_CONTENT.into_response()
}

async fn bad_hosts(State(stage): State<Stage>) -> Response {
    answer(&stage.world().manager().bad_hosts())
}

async fn add_bad_host(State(stage): State<Stage>, body: Bytes) -> Result<Response, Refused> {
    let body = read(&body)?;
    let Some(machine_id) = body["machine_id"].as_str().filter(|id| !id.is_empty()) else {
        return Ok(refuse(400, "bad request: machine_id must be a string"));
    };
    let mut world = stage.world();
    let now = world.now();
    world.manager_mut().add_bad_host(machine_id, text_of(&body, "reason"), now);
    Ok(answer(&json!({"ok": true})))
}

async fn remove_bad_host(State(stage): State<Stage>, Path(machine_id): Path<String>) -> Response {
    let mut world = stage.world();
    let now = world.now();
    if world.manager_mut().remove_bad_host(&machine_id, now) { answer(&json!({"ok": true})) } else { refuse(404, "not found") }
}

async fn kill(State(stage): State<Stage>, body: Bytes) -> Result<Response, Refused> {
    let body = read(&body)?;
    let vast_id = body["vast_id"].as_u64().unwrap_or(0);
    let mut world = stage.world();
    let (now, exists) = (world.now(), world.is_rented(vast_id));
    let destroy = world.manager_mut().kill(vast_id, text_of(&body, "uuid"), exists, now);
    destroy.into_iter().for_each(|destroy| world.destroy(destroy));
    Ok(answer(&json!({"ok": true})))
}

/// This part of the simulator has no market yet: it offers nothing, and says so in the words that vast.ai's absence has.
async fn offers() -> Response {
    answer(&wire::Offers { total: Some(0), filtered: Some(0), ..wire::Offers::default() })
}

async fn deploy(State(stage): State<Stage>, body: Bytes) -> Result<Response, Refused> {
    let body = read(&body)?;
    let mut world = stage.world();
    let machine = body["machine_id"].as_u64().unwrap_or(0).to_string();
    if world.manager().bad_hosts().iter().any(|entry| entry.machine_id.as_deref() == Some(machine.as_str())) {
        return Ok(refuse(409, format!("machine {machine} is on the bad host list")));
    }
    Ok(match world.deploy(body["min_rate"].as_f64().unwrap_or(0.0)) {
        Some(vast_id) => answer(&json!({
            "ok": true,
            "instance_id": vast_id,
            "message": format!("Started. {{'success': True, 'new_contract': {vast_id}, 'instance_api_key': 'x'}}"),
        })),
        None => refuse(500, "no offer"),
    })
}

async fn host_perf(State(stage): State<Stage>) -> Response {
    answer(&stage.world().manager().host_perf())
}

/// Nothing can be reached by SSH in this part of the simulator.
async fn cuzk_status(State(stage): State<Stage>, Path(uuid): Path<String>) -> Response {
    let world = stage.world();
    let dashboard = world.manager().dashboard(world.now());
    let row = dashboard.instances.iter().find(|row| row.uuid.as_deref() == Some(uuid.as_str()));
    let mut response = match row.and_then(|row| row.ssh_cmd.as_deref()).filter(|ssh| !ssh.is_empty()) {
        Some(_) => refuse(502, "ssh exec failed: exit status 255"),
        None => refuse(404, "no SSH info for this instance"),
    };
    response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}

async fn clock(State(stage): State<Stage>) -> Json<Value> {
    let clock = *stage.clock();
    Json(json!({"now": clock.at(Instant::now()).to_string(), "speed": clock.speed()}))
}

async fn set_clock(State(stage): State<Stage>, body: Bytes) -> Result<Json<Value>, Refused> {
    let body = read(&body)?;
    if let Some(speed) = body["speed"].as_f64() {
        stage.clock().set_speed(Instant::now(), speed);
    }
    Ok(clock(State(stage)).await)
}
