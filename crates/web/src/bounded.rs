//! An HTTP server that nobody on the other side can hold up: connections, headers, bodies and slow readers have limits.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_io_timeout::TimeoutStream;
use tower_http::timeout::{RequestBodyTimeoutLayer, TimeoutLayer};

/// What the other side is given.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Connections at once; the next waits until one ends.
    pub(crate) connections: usize,
    /// A request's first line and headers have to come within this.
    pub(crate) headers: Duration,
    /// Longest wait for the next part of a request's body.
    pub(crate) body: Duration,
    /// Longest until an answer begins. One that goes on (a stream) may go on.
    pub(crate) answer: Duration,
    /// Longest that a reader may take nothing of what is sent.
    pub(crate) reader: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        let [headers, body, reader] = [10, 10, 30].map(Duration::from_secs);
        // A command of the bridge may ask machines and vast.ai, each with a limit of its own.
        Self { connections: 64, headers, body, answer: Duration::from_secs(600), reader }
    }
}

/// Serves until it is dropped; its connections end with it.
pub(crate) async fn serve(listener: TcpListener, router: Router, bounds: Bounds) -> std::io::Result<()> {
    let router = router
        .layer(RequestBodyTimeoutLayer::new(bounds.body))
        .layer(TimeoutLayer::with_status_code(StatusCode::SERVICE_UNAVAILABLE, bounds.answer));
    let places = Arc::new(Semaphore::new(bounds.connections));
    let mut connections = JoinSet::new();
    loop {
        let place = Arc::clone(&places).acquire_owned().await.map_err(std::io::Error::other)?;
        while connections.try_join_next().is_some() {}
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            // It was gone before it was taken, or there are no files left: neither is a reason to end.
            Err(error) => {
                tracing::debug!("a connection could not be taken: {error}");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(bounds.reader));
        let service = TowerToHyperService::new(router.clone());
        connections.spawn(async move {
            let _place = place;
            let connection = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(bounds.headers)
                .serve_connection(TokioIo::new(Box::pin(stream)), service);
            if let Err(error) = connection.await {
                tracing::debug!("a connection ended: {error}");
            }
        });
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]
mod tests {
    use axum::routing::{get, post};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;

    async fn server(bounds: Bounds) -> std::net::SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new()
            .route("/", get(async || "here"))
            .route("/much", get(async || "x".repeat(64 << 20)))
            .route("/echo", post(async |body: String| body));
        tokio::spawn(serve(listener, router, bounds));
        address
    }

    async fn said(stream: &mut TcpStream) -> String {
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Slow headers, bodies that never end and readers that read nothing hold the only place; the next one is served all the same.
    #[tokio::test]
    async fn whoever_holds_a_place_and_says_nothing_loses_it() {
        let brief = Duration::from_millis(300);
        let bounds = Bounds { connections: 1, headers: brief, body: brief, answer: brief, reader: brief };
        let address = server(bounds).await;
        let begins = [
            "GET / HTTP/1.1\r\nHost: a\r\nX-",
            "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab",
            "GET /much HTTP/1.1\r\nHost: a\r\n\r\n",
            "",
        ];
        for begin in begins {
            let mut holds = TcpStream::connect(address).await.unwrap();
            holds.write_all(begin.as_bytes()).await.unwrap();
            let mut asks = TcpStream::connect(address).await.unwrap();
            asks.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await.unwrap();
            let answer = said(&mut asks).await;
            assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("here"), "{begin:?}: {answer:?}");
            drop(holds);
        }
    }
}
