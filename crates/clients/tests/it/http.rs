//! The client against managers that misbehave, over real sockets.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dwell_clients::{Call, Code, Create, Limits, ManagerClient, VastClient};
use dwell_fleet::Timestamp;
use dwell_wire::KillRequest;
use secrecy::SecretString;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A server that answers every connection with `answer` and then does as told.
async fn server(answer: Vec<u8>, hang: bool) -> (ManagerClient, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            counter.fetch_add(1, Ordering::SeqCst);
            let answer = answer.clone();
            tokio::spawn(async move {
                let mut request = [0; 4096];
                let _ = socket.read(&mut request).await;
                let _ = socket.write_all(&answer).await;
                if hang {
                    std::future::pending::<()>().await;
                }
            });
        }
    });
    let limits = Limits { body_bytes_max: 1024 * 1024, within_at_most: Some(Duration::from_millis(400)), ..Limits::default() };
    (ManagerClient::new(&address.to_string(), limits).unwrap(), asked)
}

fn http(status: &str, length: usize, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}").into_bytes()
}

async fn code_of(answer: Vec<u8>, hang: bool) -> Code {
    let (client, _) = server(answer, hang).await;
    client.dashboard(|| Timestamp::UNIX_EPOCH).await.unwrap_err().code
}

#[tokio::test]
async fn every_misbehaviour_has_its_code() {
    let dashboard = r#"{"instances":[],"updated_at":"2026-12-01T02:41:48Z"}"#;
    assert_eq!(code_of(http("200 OK", 400, dashboard), false).await, Code::CutShort, "cut in the middle of the body");
    assert_eq!(code_of(http("200 OK", 400, dashboard), true).await, Code::TimedOut, "stops in the middle of the body");
    assert_eq!(code_of(Vec::new(), true).await, Code::TimedOut, "never answers");
    assert_eq!(code_of(Vec::new(), false).await, Code::CutShort, "hangs up");
    assert_eq!(code_of(http("200 OK", 27, "<html><h1>hello</h1></html>"), false).await, Code::NotAManager);
    assert_eq!(code_of(http("500 Oops", 4, "oops"), false).await, Code::ManagerFailed);
    assert_eq!(code_of(http("302 Found", 0, ""), false).await, Code::NotAManager, "redirects are not followed");
    assert_eq!(code_of(http("200 OK", 1 << 30, "[[["), true).await, Code::TooLarge, "1 GiB announced");
    let endless = format!("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}", "x".repeat(2 << 20)).into_bytes();
    assert_eq!(code_of(endless, true).await, Code::TooLarge, "2 MiB unannounced where 1 is the limit");
}

#[tokio::test]
async fn nobody_there_is_unreachable_and_a_wrong_address_says_so() {
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let client = ManagerClient::new(&format!("http://127.0.0.1:{port}"), Limits::default()).unwrap();
    let error = client.manager_logs(10).await.unwrap_err();
    assert_eq!(error.code, Code::Unreachable);
    assert!(error.to_string().starts_with("cannot reach http://127.0.0.1:"), "{error}");
    for wrong in ["ftp://host", "http://", "", "http://[::1", "typo", "typo/path"] {
        assert_eq!(ManagerClient::new(wrong, Limits::default()).unwrap_err().code, Code::BadAddress, "{wrong:?}");
    }
    for (given, name) in [
        ("LOCALHOST", "http://127.0.0.1"),
        ("localhost:1235/", "http://127.0.0.1:1235"),
        ("http://[::1]:1235", "http://127.0.0.1:1235"),
        ("http://localhost:80", "http://127.0.0.1"),
        ("https://localhost:443/x/", "https://127.0.0.1/x"),
        ("HTTP://Host.Example:80/", "http://host.example"),
        ("http://localhost.example:9", "http://localhost.example:9"),
        ("host:1235", "http://host:1235"),
    ] {
        assert_eq!(ManagerClient::new(given, Limits::default()).unwrap().base(), name, "{given:?}");
    }
    let login = ManagerClient::new("http://me:hunter2@host", Limits::default()).unwrap_err();
    assert!(!login.to_string().contains("hunter2"), "{login}");
}

#[tokio::test]
async fn reads_are_tried_twice_and_actions_once() {
    let (client, asked) = server(Vec::new(), false).await;
    assert!(client.host_perf().await.is_err());
    assert_eq!(asked.swap(0, Ordering::SeqCst), 2);
    let kill = Call::kill(&KillRequest { vast_id: 7, uuid: "u".into() });
    assert!(client.send::<serde_json::Value>(&kill).await.is_err());
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn paths_and_queries_are_escaped() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = ManagerClient::new(&format!("http://{}/prefix/", listener.local_addr().unwrap()), Limits::default()).unwrap();
    let asking = tokio::spawn(async move { client.instance_logs("../a b?x=1#y", 5, Some("a&tail=9")).await });
    let (mut socket, _) = listener.accept().await.unwrap();
    let mut request = vec![0; 4096];
    let read = socket.read(&mut request).await.unwrap();
    let line = String::from_utf8_lossy(&request[..read]).lines().next().unwrap().to_owned();
    assert_eq!(line, "GET /prefix/api/instance-logs/..%2Fa%20b%3Fx=1%23y?tail=5&source=a%26tail%3D9 HTTP/1.1");
    socket.write_all(&http("200 OK", 4, "null")).await.unwrap();
    assert_eq!(asking.await.unwrap().unwrap(), []);
}

/// What is sent to vast.ai for a query: the filters that its own client sends, and what is asked for here whatever the query.
#[tokio::test]
async fn a_search_for_offers_is_what_vast_ais_client_sends() {
    use dwell_clients::{OfferQuery, VastClient};
    use serde_json::{Value, json};

    let table: Vec<Value> = serde_json::from_str(include_str!("../../../wire/tests/offer-queries.json")).unwrap();
    for row in table {
        let query = row["query"].as_str().unwrap();
        // Each at an address of its own: one address is asked ten times a minute at most.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let sent = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            loop {
                let mut part = [0; 4096];
                let count = socket.read(&mut part).await.unwrap();
                request.extend_from_slice(&part[..count]);
                let text = String::from_utf8_lossy(&request);
                let body = text.split_once("\r\n\r\n").and_then(|(_, body)| serde_json::from_str::<Value>(body).ok());
                if let Some(body) = body {
                    socket.write_all(&http("200 OK", 13, r#"{"offers":[]}"#)).await.unwrap();
                    return body;
                }
                assert!(count > 0, "no body: {text}");
            }
        });
        let client = VastClient::new(&url, "any-key".to_owned().into(), Limits::default()).unwrap();
        let wanted = OfferQuery { filter: Some(query.to_owned()), disk_gb: 250.0, limit: 40, ..OfferQuery::default() };
        let answer = client.offers(&wanted).await;
        let Some(filters) = row["filters"].as_object() else {
            assert_eq!(answer.unwrap_err().code, Code::Refused, "{query}");
            continue;
        };
        let mut expected = Value::Object(filters.clone());
        for (key, value) in [
            ("rented", json!({ "eq": false })),
            ("type", json!("on-demand")),
            ("order", json!([["dph_total", "asc"]])),
            ("allocated_storage", json!(250.0)),
            ("limit", json!(40)),
        ] {
            expected[key] = value;
        }
        answer.unwrap();
        assert_eq!(sent.await.unwrap(), expected, "{query}");
    }
}

/// A vast.ai that says again whatever it was sent, escaped as JSON may be.
async fn parrot() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = vec![0; 16 * 1024];
                let read = socket.read(&mut request).await.unwrap_or(0);
                let sent = String::from_utf8_lossy(&request[..read]).into_owned();
                let key = sent.split("earer ").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap_or("none");
                let value = sent.split("\"TOKEN\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
                let said = format!("{key} {value}");
                let escaped = said.replace('-', "\\u002d");
                let body = format!("{{\"success\":false,\"error\":\"invalid_args\",\"msg\":\"{escaped}\"}}");
                let plain = [body, format!("no: {said}")];
                let _ = socket.write_all(&http("400 Bad", plain[read % 2].len(), &plain[read % 2])).await;
            });
        }
    });
    port
}

#[tokio::test]
async fn what_vast_says_again_holds_no_secret() {
    let base = format!("http://127.0.0.1:{}", parrot().await);
    for more in ["", "x", "xx", "xxx"] {
        let key = format!("vk-5ec7e7-key-{more}");
        let client = VastClient::new(&base, SecretString::from(key), Limits::default()).unwrap();
        let error = client.user().await.unwrap_err();
        assert!(!format!("{error:?}").contains("5ec7e7"), "{error:?}");
        let env = vec![("TOKEN".to_owned(), SecretString::from(format!("hf-5ec7e7-token{more}")))];
        let wanted = Create { image: "i".into(), label: "l".into(), disk_gb: 10.0, env, ..Create::default() };
        let error = client.create(7, &wanted).await.unwrap_err();
        assert!(!format!("{error:?}").contains("5ec7e7"), "{error:?}");
    }
}

#[tokio::test]
#[ignore = "started by another test, with an environment of its own"]
async fn asks_with_a_proxy_in_its_environment() {
    let base = std::env::var("DWELL_TEST_VAST").unwrap();
    let client = VastClient::new(&base, SecretString::from("vk-5ec7e7-0123"), Limits::default()).unwrap();
    let _ = client.user().await;
}

#[tokio::test]
async fn no_proxy_gets_the_key() {
    let proxy = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", proxy.local_addr().unwrap());
    let base = format!("http://127.0.0.1:{}", parrot().await);
    let mut child = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "http::asks_with_a_proxy_in_its_environment", "--ignored"])
        .env("DWELL_TEST_VAST", &base)
        .envs(["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"].map(|name| (name, address.clone())))
        .env_remove("NO_PROXY")
        .env_remove("no_proxy")
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    tokio::select! {
        biased;
        connected = proxy.accept() => panic!("the proxy is asked: {connected:?}"),
        status = child.wait() => assert!(status.unwrap().success()),
    }
}
