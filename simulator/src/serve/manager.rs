//! The manager's routes.

use std::borrow::Cow;
use std::time::Instant;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, delete, get, post};
use axum::{Json, Router};
use dwell_wire as wire;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{BODY_BYTES_MAX, SIMULATED_HEADER, Stage, market};
use crate::ProverStatus;
use crate::conditions::Line;

pub(super) fn router(stage: Stage) -> Router {
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

/// A manager that is down, or behind a cut line, answers nothing; here: 503, for a socket cannot be closed and kept. Behind
/// a line that swallows the client waits for ever. Every answer says SIMULATED.
async fn as_the_manager(State(stage): State<Stage>, request: Request, next: Next) -> Response {
    let trouble = if request.uri().path().starts_with("/sim/") {
        None
    } else {
        let world = stage.world();
        match (world.manager().is_up(), world.operator_line()) {
            (true, Line::Good) => None,
            (false, Line::Good) => Some("the simulated manager is down\n"),
            (_, Line::Swallows) => Some(""),
            (..) => Some("the simulated line to the manager is cut\n"),
        }
    };
    let mut response = match trouble {
        None => next.run(request).await,
        Some("") => std::future::pending().await,
        Some(words) => (StatusCode::SERVICE_UNAVAILABLE, words).into_response(),
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

/// The body as JSON; the manager's word where it is none.
fn read(body: &Bytes) -> Result<Value, Refused> {
    serde_json::from_slice(body).map_err(|error| Refused(400, format!("bad request: {error}")))
}

/// The type of a field in the manager's request structs.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Int,
    Float,
    Text,
}

/// A request as the manager decodes it: a missing or null field is Go's zero value, one of another type is refused in the
/// words of Go's decoder (`encoding/json`, `UnmarshalTypeError`). Names are compared without regard to case, as there.
struct Fields(Vec<(&'static str, Value)>);

impl Fields {
    fn of(body: &Bytes, name: &str, fields: &[(&'static str, Kind)]) -> Result<Self, Refused> {
        let bad = |what: &str, field: &str, kind: &str| {
            let place = if field.is_empty() {
                format!("Go value of type main.{name}")
            } else {
                format!("Go struct field {name}.{field} of type {kind}")
            };
            Refused(400, format!("bad request: json: cannot unmarshal {what} into {place}"))
        };
        let given = match read(body)? {
            Value::Object(given) => given,
            Value::Null => serde_json::Map::new(),
            other => return Err(bad(&go_kind(&other), "", "")),
        };
        let mut values: Vec<(&'static str, Value)> = fields.iter().map(|(field, _)| (*field, Value::Null)).collect();
        for (key, value) in given {
            let Some(at) = fields.iter().position(|(field, _)| field.eq_ignore_ascii_case(&key)) else { continue };
            let (field, kind) = fields[at];
            let (fits, type_name) = match kind {
                Kind::Int => (value.is_i64(), "int"),
                Kind::Float => (value.is_number(), "float64"),
                Kind::Text => (value.is_string(), "string"),
            };
            if value.is_null() {
                continue;
            }
            if !fits {
                let what =
                    if value.is_number() && kind == Kind::Int { format!("number {value}") } else { go_kind(&value).into_owned() };
                return Err(bad(&what, field, type_name));
            }
            values[at].1 = value;
        }
        Ok(Self(values))
    }

    fn value(&self, field: &str) -> &Value {
        self.0.iter().find(|(name, _)| *name == field).map_or(&Value::Null, |(_, value)| value)
    }

    fn text(&self, field: &str) -> &str {
        self.value(field).as_str().unwrap_or_default()
    }

    fn int(&self, field: &str) -> i64 {
        self.value(field).as_i64().unwrap_or_default()
    }

    fn float(&self, field: &str) -> f64 {
        self.value(field).as_f64().unwrap_or_default()
    }
}

/// The manager's no.
struct Refused(u16, String);

impl From<(u16, String)> for Refused {
    fn from((status, words): (u16, String)) -> Self {
        Self(status, words)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        refuse(self.0, self.1)
    }
}

async fn register(State(stage): State<Stage>, body: Bytes) -> Result<Response, Refused> {
    let body = Fields::of(&body, "RegisterReq", &[("label", Kind::Text), ("min_rate", Kind::Float)])?;
    let label = body.text("label");
    if label.is_empty() {
        return Ok(refuse(400, "label is required"));
    }
    let min_rate = body.float("min_rate");
    let (uuid, runner_id) = stage.world().with_manager(|manager, _, now| {
        let fresh = format!("5eed0000-0000-4000-8000-{:012x}", now.as_millisecond() + label.len() as i64);
        manager.register(label, min_rate, fresh, now)
    })?;
    Ok(answer(&json!({"uuid": uuid, "runner_id": runner_id})))
}

async fn param_done(State(stage): State<Stage>, body: Bytes) -> Result<Response, Refused> {
    let body = Fields::of(&body, "UUIDReq", &[("uuid", Kind::Text)])?;
    stage.world().with_manager(|manager, _, now| manager.param_done(body.text("uuid"), now))?;
    Ok(answer(&json!({"ok": true})))
}

async fn bench_done(State(stage): State<Stage>, body: Bytes) -> Result<Response, Refused> {
    let body = Fields::of(&body, "BenchDoneReq", &[("uuid", Kind::Text), ("rate", Kind::Float)])?;
    let rate = body.float("rate");
    let passed = stage.world().with_manager(|manager, world, now| manager.bench_done(body.text("uuid"), rate, world, now))?;
    Ok(answer(&json!({"ok": true, "passed": passed})))
}

async fn running(State(stage): State<Stage>, body: Bytes) -> Result<Response, Refused> {
    let body = Fields::of(&body, "UUIDReq", &[("uuid", Kind::Text)])?;
    stage.world().with_manager(|manager, _, now| manager.running(body.text("uuid"), now))?;
    Ok(answer(&json!({"ok": true})))
}

#[derive(Deserialize)]
struct ByUuid {
    #[serde(default)]
    uuid: String,
}

async fn runner_id(State(stage): State<Stage>, Query(query): Query<ByUuid>) -> Response {
    if query.uuid.is_empty() {
        return refuse(400, "uuid query param required");
    }
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
    let mut dashboard = {
        let world = stage.world();
        world.manager().dashboard(world.manager_now())
    };
    for row in &mut dashboard.instances {
        // Where none is told, none is made up.
        let told = row.ssh_cmd.as_deref().is_some_and(|command| !command.is_empty());
        if let Some(command) = row.vast_id.filter(|_| told).and_then(|vast_id| stage.ssh_command(vast_id)) {
            row.ssh_cmd = Some(command);
        }
    }
    answer(&dashboard)
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
    let lines = stage.world().with_manager(|manager, _, _| manager.instance_logs(&uuid, query.tail(), source));
    answer(&lines)
}

async fn manager_logs(State(stage): State<Stage>, Query(query): Query<LogQuery>) -> Response {
    answer(&stage.world().manager().manager_logs(query.tail()))
}

async fn log_push(State(stage): State<Stage>, headers: HeaderMap, body: Bytes) -> Response {
    let named = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("").to_owned();
    let uuid = named("x-instance-uuid");
    if uuid.is_empty() {
        return refuse(400, "X-Instance-UUID header required");
    }
    stage.world().with_manager(|manager, _, now| manager.log_push(&uuid, &named("x-log-source"), &body, now));
    StatusCode::NO_CONTENT.into_response()
}

async fn bad_hosts(State(stage): State<Stage>) -> Response {
    answer(&stage.world().manager().bad_hosts())
}

async fn add_bad_host(State(stage): State<Stage>, body: Bytes) -> Result<Response, Refused> {
    let body = Fields::of(&body, "BadHostReq", &[("machine_id", Kind::Text), ("reason", Kind::Text)])?;
    let machine_id = body.text("machine_id");
    if machine_id.is_empty() {
        return Ok(refuse(400, "machine_id required"));
    }
    stage.world().with_manager(|manager, _, now| manager.add_bad_host(machine_id, body.text("reason"), now));
    Ok(answer(&json!({"ok": true})))
}

async fn remove_bad_host(State(stage): State<Stage>, Path(machine_id): Path<String>) -> Response {
    let removed = stage.world().with_manager(|manager, _, now| manager.remove_bad_host(&machine_id, now));
    if removed { answer(&json!({"ok": true})) } else { refuse(404, "not found") }
}

async fn kill(State(stage): State<Stage>, body: Bytes) -> Result<Response, Refused> {
    let body = Fields::of(&body, "", &[("vast_id", Kind::Int), ("uuid", Kind::Text)])?;
    let vast_id = u64::try_from(body.int("vast_id")).unwrap_or(0);
    stage.world().with_manager(|manager, world, now| manager.kill(vast_id, body.text("uuid"), world, now));
    Ok(answer(&json!({"ok": true})))
}

/// What the real one asks vast.ai for where no filter is given.
const OFFERS_FILTER: &str = "disk_space>=250 dph<=0.9 gpu_ram>12.5 cpu_ram>=240 cpu_cores>25 inet_down>100 cuda_vers>=13.0";

#[derive(Deserialize)]
struct OffersQuery {
    filter: Option<String>,
}

/// The market through vast.ai's client, each offer with what the manager knows of its machine.
async fn offers(State(stage): State<Stage>, Query(query): Query<OffersQuery>) -> Response {
    let filter = query.filter.filter(|text| !text.trim().is_empty());
    let world = stage.world();
    let all = world.offers();
    let kept = match market::by_text(all, filter.as_deref().unwrap_or(OFFERS_FILTER)) {
        Ok(kept) => kept,
        // The client prints why and ends with status 0: what it printed is no list (`searchVastOffers`).
        Err(why) => {
            let why =
                format!("parse vast offers: invalid character 'E' looking for beginning of value (output: Error:  {why}\n1\n)");
            return refuse(500, format!("search failed: {why}"));
        }
    };
    // Both counts are of what the client found (`handleOffers`).
    let total = kept.len();
    let offers: Vec<Value> = kept
        .into_iter()
        .map(|mut offer| {
            let machine = offer["machine_id"].as_u64().unwrap_or(0);
            if let Some(rate) = world.manager().best_rate(machine) {
                offer["known_perf"] = json!(rate);
            }
            let banned = world.manager().bad_host(machine);
            offer["is_bad_host"] = json!(banned.is_some());
            if let Some(reason) = banned {
                offer["bad_reason"] = json!(reason);
            }
            offer
        })
        .collect();
    let body = json!({ "filtered": offers.len(), "offers": offers, "total": total }).to_string();
    match wire::decode::<wire::Offers>(body.as_bytes()) {
        Ok(offers) => answer(&offers),
        Err(error) => refuse(500, error.to_string()),
    }
}

async fn deploy(State(stage): State<Stage>, body: Bytes) -> Result<Response, Refused> {
    let fields = [("offer_id", Kind::Int), ("machine_id", Kind::Int), ("min_rate", Kind::Float), ("disk", Kind::Int)];
    let body = Fields::of(&body, "DeployRequest", &fields)?;
    let (offer, machine, disk, min_rate) =
        (body.int("offer_id"), body.int("machine_id"), body.int("disk"), body.float("min_rate"));
    let Some(offer) = u64::try_from(offer).ok().filter(|offer| *offer > 0) else {
        return Ok(refuse(400, "offer_id required"));
    };
    let mut world = stage.world();
    let machine = u64::try_from(machine).unwrap_or(0);
    if let Some(reason) = world.manager().bad_host(machine) {
        return Ok(refuse(409, format!("machine {machine} is on bad hosts list: {reason}")));
    }
    // Its own defaults.
    let disk = if disk > 0 { disk as f64 } else { 250.0 };
    let min_rate = if min_rate > 0.0 { min_rate } else { 30.0 };
    let (vast_id, message) = world.deploy(offer, min_rate, disk);
    world.with_manager(|manager, _, now| manager.say_deploy(offer, &message, now));
    Ok(answer(&json!({"ok": true, "instance_id": vast_id, "message": message})))
}

/// A JSON value's kind, in the words of Go's decoder.
fn go_kind(value: &Value) -> Cow<'static, str> {
    Cow::Borrowed(match value {
        Value::String(_) => "string",
        Value::Bool(_) => "bool",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        Value::Number(_) => "number",
        Value::Null => "null",
    })
}

async fn host_perf(State(stage): State<Stage>) -> Response {
    answer(&stage.world().manager().host_perf())
}

/// The prover's status, fetched over SSH from the manager: curl's exit code is all that is told of a failure.
async fn cuzk_status(State(stage): State<Stage>, Path(uuid): Path<String>) -> Response {
    let world = stage.world();
    let dashboard = world.manager().dashboard(world.manager_now());
    let row = dashboard.instances.iter().find(|row| row.uuid.as_deref() == Some(uuid.as_str()));
    let reachable = row.filter(|row| row.ssh_cmd.as_deref().is_some_and(|ssh| !ssh.is_empty()));
    let status = reachable.and_then(|row| row.vast_id).and_then(|vast_id| world.prover_status(vast_id));
    let mut response = match status {
        Some(ProverStatus::Answer(status)) => answer(&status),
        Some(ProverStatus::Failed(code)) => refuse(502, format!("ssh exec failed: exit status {code}")),
        Some(ProverStatus::NoSsh) => refuse(502, "ssh exec failed: exit status 255"),
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
