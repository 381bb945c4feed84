//! Metrics at an address of their own, for Prometheus.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use dwell_commands::Metrics;
use tokio::net::TcpListener;

use crate::bounded::{self, Bounds};

const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Serves metrics at `/metrics` of an address (port 0: any free one): on loopback to who asks by this machine's own name, elsewhere to
/// whoever reaches it. Gives the address and the server, which runs as long as it is
/// awaited.
pub async fn serve_metrics(
    address: SocketAddr,
    metrics: Arc<Metrics>,
) -> std::io::Result<(SocketAddr, impl Future<Output = std::io::Result<()>> + Send + use<>)> {
    let listener = TcpListener::bind(address).await?;
    let bound = listener.local_addr()?;
    let mut router = Router::new()
        .route("/metrics", get(answer))
        .route("/", get(async || "Dwell's metrics are at /metrics\n"))
        .with_state(metrics);
    if bound.ip().is_loopback() {
        router = router.layer(middleware::from_fn(only_by_this_machines_name));
    }
    Ok((bound, bounded::serve(listener, router, Bounds { answer: Duration::from_secs(30), ..Bounds::default() })))
}

/// What is served on loopback is for this machine: a web page whose name is made to resolve to it (DNS rebinding) asks by that name.
async fn only_by_this_machines_name(request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("");
    let is_here = host.parse::<Authority>().is_ok_and(|asked| {
        let name = asked.host().trim_start_matches('[').trim_end_matches(']');
        name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
    });
    match is_here {
        true => next.run(request).await,
        false => (StatusCode::FORBIDDEN, "these metrics are served to this machine, by the name localhost or its address\n")
            .into_response(),
    }
}

async fn answer(State(metrics): State<Arc<Metrics>>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], metrics.text())
}
