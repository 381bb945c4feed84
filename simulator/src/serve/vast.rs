//! vast.ai's routes, as its own command line client calls them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use axum::{Json, Router};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{BODY_BYTES_MAX, SIMULATED_HEADER, Stage, market};
use crate::world::ApiAnswer;

/// Results that were asked for and not yet fetched; beyond this the oldest are forgotten.
const RESULTS_MAX: usize = 200;

/// What vast.ai's server keeps between calls.
#[derive(Debug)]
pub(super) struct Desk {
    address: SocketAddr,
    looks: AtomicU64,
    results: Mutex<BTreeMap<u64, (Timestamp, String)>>,
}

impl Desk {
    pub(super) fn at(address: SocketAddr) -> Self {
        Self { address, looks: AtomicU64::new(0), results: Mutex::new(BTreeMap::new()) }
    }

    /// Keeps a result until it is fetched; its address.
    fn keep(&self, ready: Timestamp, text: String) -> String {
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        let number = self.looks.fetch_add(1, Ordering::Relaxed);
        results.insert(number, (ready, text));
        while results.len() > RESULTS_MAX {
            results.pop_first();
        }
        format!("http://{}/sim/result/{number}", self.address)
    }
}

pub(super) fn router(stage: Stage) -> Router {
    Router::new()
        .route("/api/v0/gpu_names/unique/", get(gpu_names))
        .route("/api/v0/users/current", get(user))
        .route("/api/v0/users/current/", get(user))
        .route("/api/v0/instances/", get(retired_list).delete(destroy_many).put(change_many))
        .route("/api/v0/instances/filters/", get(filters))
        .route("/api/v1/instances/", get(list))
        .route("/api/v0/instances/{id}/", get(show).put(change).delete(destroy))
        .route("/api/v0/instances/reboot/{id}/", put(reboot))
        .route("/api/v0/instances/recycle/{id}/", put(recycle))
        .route("/api/v0/instances/request_logs/{id}/", put(request_logs))
        .route("/api/v0/instances/command/{id}/", put(command))
        .route("/api/v0/bundles/", post(search))
        .route("/api/v0/search/asks/", put(search_new))
        .route("/api/v0/asks/{id}/", put(create))
        .route("/sim/result/{number}", get(result))
        .layer(middleware::from_fn_with_state(stage.clone(), as_vast))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(stage)
}

/// Every call but two needs a key: any will do here, for nothing real is behind it. Every answer says SIMULATED.
async fn as_vast(State(stage): State<Stage>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let open = path.starts_with("/sim/") || path == "/api/v0/gpu_names/unique/";
    let bearer = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let has_key = bearer.and_then(|value| value.strip_prefix("Bearer ")).is_some_and(|key| !key.trim().is_empty());
    let mut response = if open || has_key {
        next.run(request).await
    } else {
        answer(ApiAnswer::no(403, "auth_error", "This action requires login."))
    };
    response.headers_mut().insert(SIMULATED_HEADER, stage.header.clone());
    response
}

fn answer(answer: ApiAnswer) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    match answer.body {
        // What is not JSON is a page of a load balancer, or a rate limiter's words.
        Value::String(text) => {
            let kind = if text.starts_with('<') { "text/html" } else { "text/plain" };
            (status, [(header::CONTENT_TYPE, kind)], text).into_response()
        }
        body => (status, Json(body)).into_response(),
    }
}

impl IntoResponse for ApiAnswer {
    fn into_response(self) -> Response {
        answer(self)
    }
}

fn read(body: &Bytes) -> Result<Value, ApiAnswer> {
    serde_json::from_slice(body).map_err(|_| ApiAnswer::no(400, "invalid_args", "Invalid json body"))
}

async fn gpu_names(State(stage): State<Stage>) -> Response {
    let offers = stage.world().offers();
    let mut names: Vec<&str> = offers.iter().filter_map(|offer| offer["gpu_name"].as_str()).collect();
    names.sort_unstable();
    names.dedup();
    answer(ApiAnswer::ok(json!({ "success": true, "gpu_names": names })))
}

async fn user(State(stage): State<Stage>) -> Response {
    answer(stage.world().api_user())
}

async fn retired_list() -> Response {
    let words = "/api/v0/instances/ is deprecated. Use /api/v1/instances/ instead.";
    answer(ApiAnswer::no(410, "deprecated_endpoint", words))
}

async fn filters() -> Response {
    answer(ApiAnswer::ok(json!({ "filters": [] })))
}

#[derive(Deserialize)]
struct Page {
    limit: Option<String>,
    after_token: Option<String>,
}

async fn list(State(stage): State<Stage>, Query(page): Query<Page>) -> Response {
    let limit = page.limit.and_then(|limit| limit.parse::<i64>().ok()).map(|limit| limit.max(0) as usize);
    let listed = stage.world().api_list(limit, page.after_token.as_deref());
    answer(ApiAnswer { body: stage.with_doors_in(listed.body), ..listed })
}

async fn show(State(stage): State<Stage>, Path(id): Path<u64>) -> Response {
    let looks = stage.vast.looks.fetch_add(1, Ordering::Relaxed);
    let shown = stage.world().api_show(id, looks);
    answer(ApiAnswer { body: stage.with_doors_in(shown.body), ..shown })
}

async fn change(State(stage): State<Stage>, Path(id): Path<u64>, body: Bytes) -> Result<Response, ApiAnswer> {
    let body = read(&body)?;
    Ok(answer(stage.world().api_change(id, &body)))
}

async fn change_many(State(stage): State<Stage>, body: Bytes) -> Result<Response, ApiAnswer> {
    let body = read(&body)?;
    let ids: Vec<u64> = body["ids"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
    let mut world = stage.world();
    let failed = ids.iter().map(|id| world.api_change(*id, &body)).find(|answer| answer.status != 200);
    Ok(answer(failed.unwrap_or_else(|| ApiAnswer::ok(json!({ "success": true })))))
}

async fn destroy(State(stage): State<Stage>, Path(id): Path<u64>) -> Response {
    answer(stage.world().api_destroy(id))
}

async fn destroy_many(State(stage): State<Stage>, body: Bytes) -> Result<Response, ApiAnswer> {
    let body = read(&body)?;
    let ids: Vec<u64> = body["instance_ids"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
    let mut world = stage.world();
    let failed = ids.iter().map(|id| world.api_destroy(*id)).find(|answer| answer.status != 200);
    Ok(answer(failed.unwrap_or_else(|| ApiAnswer::ok(json!({ "success": true })))))
}

async fn reboot(State(stage): State<Stage>, Path(id): Path<u64>) -> Response {
    answer(stage.world().api_reboot(id, false))
}

async fn recycle(State(stage): State<Stage>, Path(id): Path<u64>) -> Response {
    answer(stage.world().api_reboot(id, true))
}

async fn request_logs(State(stage): State<Stage>, Path(id): Path<u64>, body: Bytes) -> Result<Response, ApiAnswer> {
    let body = read(&body)?;
    let world = stage.world();
    let daemon = body["daemon_logs"].as_bool().unwrap_or(body["daemon_logs"] == "true");
    let Some((ready, text)) = world.container_log(id, daemon) else {
        return Ok(answer(ApiAnswer::no(404, "invalid_id", &format!("error 404: no instance {id}"))));
    };
    let wanted = body["filter"].as_str().unwrap_or("");
    let tail = body["tail"].as_str().and_then(|tail| tail.parse().ok()).or(body["tail"].as_u64()).unwrap_or(1000) as usize;
    let lines: Vec<&str> = text.lines().filter(|line| line.contains(wanted)).collect();
    let text: String = lines[lines.len().saturating_sub(tail)..].iter().flat_map(|line| [*line, "\n"]).collect();
    let url = stage.vast.keep(ready, text);
    Ok(answer(ApiAnswer::ok(json!({ "success": true, "result_url": url, "msg": "log upload requested" }))))
}

/// Only `ls`, `rm` and `du` are allowed, as at vast.ai; here they see the log files.
async fn command(State(stage): State<Stage>, Path(id): Path<u64>, body: Bytes) -> Result<Response, ApiAnswer> {
    let body = read(&body)?;
    let command = body["command"].as_str().unwrap_or("");
    let program = command.split_whitespace().next().unwrap_or("");
    let world = stage.world();
    let Some(view) = world.host_view(id) else {
        return Ok(answer(ApiAnswer::no(404, "invalid_id", &format!("error 404: no instance {id}"))));
    };
    let line = |file: &crate::FileView| match program {
        "du" => format!("{}\t{}\n", file.bytes.div_ceil(1024), file.path),
        _ => format!("-rw-r--r-- 1 root root {} {}\n", file.bytes, file.path),
    };
    let text: String = match program {
        "ls" | "du" => view.files.iter().map(line).collect(),
        "rm" => String::new(),
        _ => return Ok(answer(ApiAnswer::no(400, "invalid_args", "Only ls, rm and du are allowed."))),
    };
    let now = world.now();
    let url = stage.vast.keep(now, text);
    Ok(answer(ApiAnswer::ok(json!({ "success": true, "result_url": url, "writeable_path": "/var/lib/vast/", "msg": "" }))))
}

/// A result, without a key. Not ready: refused as by a store that has no such object yet.
async fn result(State(stage): State<Stage>, Path(number): Path<u64>) -> Response {
    let now = stage.world().now();
    let results = stage.vast.results.lock().unwrap_or_else(PoisonError::into_inner);
    match results.get(&number).filter(|(ready, _)| *ready <= now) {
        Some((_, text)) => ([(header::CONTENT_TYPE, "text/plain")], text.clone()).into_response(),
        None => (StatusCode::FORBIDDEN, "<Error><Code>AccessDenied</Code></Error>").into_response(),
    }
}

async fn search(State(stage): State<Stage>, body: Bytes) -> Result<Response, ApiAnswer> {
    let body = read(&body)?;
    Ok(found(&stage, &body))
}

async fn search_new(State(stage): State<Stage>, body: Bytes) -> Result<Response, ApiAnswer> {
    let body = read(&body)?;
    Ok(found(&stage, &body["q"]))
}

fn found(stage: &Stage, query: &Value) -> Response {
    match market::by_body(stage.world().offers(), query) {
        Ok(offers) => answer(ApiAnswer::ok(json!({ "success": true, "offers": offers }))),
        Err(why) => answer(ApiAnswer::no(400, "invalid_args", &why)),
    }
}

async fn create(State(stage): State<Stage>, Path(id): Path<u64>, body: Bytes) -> Result<Response, ApiAnswer> {
    let body = read(&body)?;
    Ok(answer(stage.world().api_create(id, &body)))
}
