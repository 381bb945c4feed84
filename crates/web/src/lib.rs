//! The window's front end and its commands on loopback, for a browser on this machine: the end-to-end tests drive it, and
//! it serves hosts without a display. Loopback only, a token for every call, `Host` and `Origin` checked: other web pages
//! and other users' browsers get nothing.

mod bounded;
mod metrics;

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, Path as UrlPath, Query, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use dwell_commands::App;
use futures_util::Stream;
use serde::Deserialize;
use tokio::net::TcpListener;
use tower_http::services::ServeDir;

use bounded::Bounds;
pub use metrics::serve_metrics;

/// Requests to a command are small.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// The stream says so often that somebody is there. `ui/src/host/line.ts` misses it after three times as long.
const ALIVE_EVERY: Duration = Duration::from_secs(2);

/// Header that carries the token.
const TOKEN: HeaderName = HeaderName::from_static("x-dwell-token");

/// The window's policy (see `tauri.conf.json`), with this origin in place of Tauri's own protocol.
const CSP: &str = "default-src 'self'; connect-src 'self'; img-src 'self' data:; style-src 'self'; font-src 'self'; \
                   script-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

#[derive(Clone)]
struct Bridge {
    app: Arc<App>,
    token: Arc<str>,
    address: SocketAddr,
}

/// Serves the front end in `ui` and the commands of `app` on `127.0.0.1:port` (0: any free port). Gives the address and
/// the server, which runs as long as it is awaited.
pub async fn serve(
    app: Arc<App>,
    ui: &Path,
    token: &str,
    port: u16,
) -> std::io::Result<(SocketAddr, impl Future<Output = std::io::Result<()>> + use<>)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let address = listener.local_addr()?;
    let bridge = Bridge { app, token: token.into(), address };
    let guarded = Router::new()
        .route("/call/{name}", post(call))
        .route("/stream", get(stream))
        .layer(middleware::from_fn_with_state(bridge.clone(), only_with_token));
    let router = guarded
        .fallback_service(ServeDir::new(ui))
        .layer(middleware::from_fn_with_state(bridge.clone(), only_from_here))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(bridge);
    Ok((address, bounded::serve(listener, router, Bounds::default())))
}

/// A page of another origin that has this address resolve to loopback (DNS rebinding) sends another `Host`.
async fn only_from_here(State(bridge): State<Bridge>, request: Request, next: Next) -> Response {
    let own = [format!("127.0.0.1:{}", bridge.address.port()), format!("localhost:{}", bridge.address.port())];
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("");
    let origin = request.headers().get(header::ORIGIN).and_then(|origin| origin.to_str().ok());
    let foreign = origin.is_some_and(|origin| !own.iter().any(|own| origin == format!("http://{own}")));
    if !own.iter().any(|own| own == host) || foreign {
        return (StatusCode::FORBIDDEN, "only this machine's own page may ask").into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(CSP));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[derive(Deserialize)]
struct Token {
    #[serde(default)]
    token: String,
}

/// The token stands in a header, or for the stream (whose API sends no headers) in the query.
async fn only_with_token(
    State(bridge): State<Bridge>,
    Query(query): Query<Token>,
    headers: HeaderMap,
    request: Request,
    next: Next,
) -> Response {
    let given = headers.get(TOKEN).and_then(|token| token.to_str().ok()).unwrap_or(&query.token);
    let same = given.len() == bridge.token.len()
        && given.bytes().zip(bridge.token.bytes()).fold(0, |differs, (left, right)| differs | (left ^ right)) == 0;
    if same { next.run(request).await } else { (StatusCode::UNAUTHORIZED, "the token is missing or wrong").into_response() }
}

async fn call(State(bridge): State<Bridge>, UrlPath(name): UrlPath<String>, Json(request): Json<serde_json::Value>) -> Response {
    match bridge.app.call(&name, request).await {
        Ok(answer) => Json(answer).into_response(),
        Err(error) => (StatusCode::UNPROCESSABLE_ENTITY, Json(error)).into_response(),
    }
}

/// What is seen, and every few seconds that somebody is there: a page whose backend has died looks as well as before until it
/// misses this.
async fn stream(State(bridge): State<Bridge>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let patches = bridge.app.hub().subscribe();
    let state = (patches, tokio::time::interval(ALIVE_EVERY), bridge.app);
    let events = futures_util::stream::unfold(state, |(mut patches, mut beat, app)| async move {
        let event = tokio::select! {
            // Where both are ready, the whole comes before the word that there is something.
            biased;
            patch = patches.recv() => Event::default().json_data(&patch?).unwrap_or_default(),
            _ = beat.tick() => Event::default().event("alive").data(if app.hub().is_empty() { "nothing" } else { "watching" }),
        };
        Some((Ok(event), (patches, beat, app)))
    });
    Sse::new(events)
}
