//! Metrics at an address of their own, for Prometheus.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use dwell_commands::Metrics;
use tokio::net::TcpListener;

const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Serves metrics at `/metrics` of an address (port 0: any free one). Gives the address and the server, which runs as long as it is
/// awaited.
pub async fn serve_metrics(
    address: SocketAddr,
    metrics: Arc<Metrics>,
) -> std::io::Result<(SocketAddr, impl Future<Output = std::io::Result<()>> + Send + use<>)> {
    let listener = TcpListener::bind(address).await?;
    let bound = listener.local_addr()?;
    let router = Router::new()
        .route("/metrics", get(answer))
        .route("/", get(async || "Dwell's metrics are at /metrics\n"))
        .with_state(metrics);
    Ok((bound, async move { axum::serve(listener, router).await }))
}

async fn answer(State(metrics): State<Arc<Metrics>>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], metrics.text())
}
