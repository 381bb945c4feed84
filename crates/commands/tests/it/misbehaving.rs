//! A manager that misbehaves, over real sockets: whatever it does, the last data stays, with its age and a code.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dwell_commands::dto::{ConnectRequest, FleetView, Nothing};
use dwell_commands::{App, Start};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const CAPTURE: &[u8] = include_bytes!("../../../wire/tests/captures/dashboard.json");

/// What the manager does now.
#[derive(Clone, Copy, Debug)]
enum Mood {
    Well,
    Slow,
    CutShort,
    Html,
    Fails,
    Gigabyte,
}

const MOODS: [Mood; 6] = [Mood::Well, Mood::Slow, Mood::CutShort, Mood::Html, Mood::Fails, Mood::Gigabyte];

async fn serve(mut socket: TcpStream, mood: Mood) {
    let mut request = vec![0; 8192];
    let Ok(read) = socket.read(&mut request).await else { return };
    let dashboard = String::from_utf8_lossy(&request[..read]).starts_with("GET /api/dashboard");
    let well = |body: &[u8]| {
        [format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes(), body].concat()
    };
    let answer = match mood {
        _ if !dashboard => well(b"[]"),
        Mood::Well => well(CAPTURE),
        Mood::Slow => {
            tokio::time::sleep(Duration::from_secs(3_600)).await;
            return;
        }
        Mood::CutShort => well(CAPTURE)[..4_000].to_vec(),
        Mood::Html => well(b"<!doctype html><h1>It works!</h1>"),
        Mood::Fails => {
            b"HTTP/1.1 500 Internal Server Error\r\nConnection: close\r\nContent-Length: 18\r\n\r\n{\"error\":\"broken\"}"
                .to_vec()
        }
        Mood::Gigabyte => {
            let _ = socket.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n[").await;
            // Unannounced and endless: whoever reads must stop by itself.
            let chunk = vec![b' '; 1 << 20];
            for _ in 0..1_024 {
                if socket.write_all(&chunk).await.is_err() {
                    return;
                }
            }
            return;
        }
    };
    let _ = socket.write_all(&answer).await;
}

async fn until(app: &App, wanted: impl Fn(&FleetView) -> bool) -> FleetView {
    for _ in 0..2_000 {
        let view = app.fleet(Nothing {}).await.unwrap();
        if wanted(&view) {
            return view;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it never came to that: {:?}", app.fleet(Nothing {}).await.unwrap().connection);
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_the_manager_does_the_last_data_stays_with_a_code() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let mood = Arc::new(AtomicUsize::new(0));
    let now = Arc::clone(&mood);
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(serve(socket, MOODS[now.load(Ordering::SeqCst)]));
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let app = App::new(Some(folder.path().to_owned())).unwrap();
    app.set_patience(Duration::from_millis(500));
    app.connect(ConnectRequest { address: address.clone(), name: None, ssh: None }).await.unwrap();
    let well = until(&app, |view| view.connection.state == "ok" && !view.instances.is_empty()).await;
    assert_eq!(well.instances.len(), 11);

    for (index, code) in [(1, "timed-out"), (2, "cut-short"), (3, "not-a-manager"), (4, "manager-failed"), (5, "too-large")] {
        mood.store(index, Ordering::SeqCst);
        app.refresh(Nothing {}).await.unwrap();
        let failing = until(&app, |view| view.connection.error.as_ref().is_some_and(|error| error.code == code)).await;
        assert_eq!((failing.instances.len(), failing.as_of), (11, well.as_of), "{:?}", MOODS[index]);
        assert!(failing.connection.last_ok_at == well.connection.last_ok_at && failing.connection.failing_since.is_some());
        let same = |view: &FleetView| view.instances.iter().map(|row| (row.id.clone(), row.state.clone())).collect::<Vec<_>>();
        assert_eq!(same(&failing), same(&well), "{:?}", MOODS[index]);
    }
    mood.store(0, Ordering::SeqCst);
    app.refresh(Nothing {}).await.unwrap();
    until(&app, |view| view.connection.state == "ok").await;

    // A Dwell that starts while the manager is away shows what the last one knew.
    mood.store(3, Ordering::SeqCst);
    drop(app);
    let app = App::new(Some(folder.path().to_owned())).unwrap();
    app.start(Start::WatchedLast).await.unwrap();
    let restarted = until(&app, |view| view.connection.state == "failing").await;
    assert_eq!(restarted.instances.len(), 11);
    assert!(restarted.as_of.is_none() && restarted.connection.last_ok_at.is_none(), "and claims no answer of its own");
}
