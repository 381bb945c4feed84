//! Queries for offers: what vast.ai's own client sends for each, beside what is made of it here, and what the simulated market finds.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use axum::routing::{get, post};
use axum::{Json, Router};
use dwell_simulator::{Scenario, Served, World, serve};
use dwell_wire::{OFFER_FIELDS, offer_defaults, offer_filters};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};

/// What vast.ai's client 1.9.1 sent for each query; `null` where it ended without sending.
const CAPTURED: &str = include_str!("../../../crates/wire/tests/offer-queries.json");

fn captured() -> Vec<(String, Option<Map<String, Value>>)> {
    let table: Vec<Value> = serde_json::from_str(CAPTURED).unwrap();
    table.iter().map(|row| (row["query"].as_str().unwrap().to_owned(), row["filters"].as_object().cloned())).collect()
}

fn ours(query: &str) -> Option<Map<String, Value>> {
    offer_filters(query, offer_defaults()).ok().map(|read| read.filters)
}

/// What the installed client sends for each query, to a server that writes it down.
async fn sent(queries: &[String]) -> Vec<Option<Map<String, Value>>> {
    let bodies: Arc<Mutex<BTreeMap<u64, Map<String, Value>>>> = Arc::default();
    let keep = Arc::clone(&bodies);
    let record = move |Json(mut body): Json<Map<String, Value>>| async move {
        for key in ["order", "type", "allocated_storage"] {
            body.remove(key);
        }
        let number = body.remove("limit").and_then(|limit| limit.as_u64()).unwrap();
        keep.lock().unwrap().insert(number, body);
        Json(json!({ "offers": [] }))
    };
    let router = Router::new()
        .route("/api/v0/bundles/", post(record))
        .route("/api/v0/gpu_names/unique/", get(|| async { Json(json!({ "gpu_names": [] })) }))
        .route("/api/v0/users/current", get(|| async { Json(json!({ "host_agreement_accepted": null })) }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });

    let lines: String = queries.iter().map(|query| format!("{}\n", Value::from(query.as_str()))).collect();
    let output = tokio::task::spawn_blocking(move || {
        let home = tempfile::tempdir().unwrap();
        let mut child = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../tools/vastai/bin/python"))
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/offer_queries.py"))
            .env("VAST_URL", url)
            .env("VAST_API_KEY", "a-key-of-nobody")
            .env("VASTAI_NO_UPDATE_CHECK", "1")
            .env("HOME", home.path())
            .env("XDG_CONFIG_HOME", home.path().join("config"))
            .env("XDG_CACHE_HOME", home.path().join("cache"))
            .env("XDG_STATE_HOME", home.path().join("state"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("vast.ai's client: {error}; `cargo xtask test` installs it"));
        let mut input = child.stdin.take().unwrap();
        let writing = std::thread::spawn(move || input.write_all(lines.as_bytes()).unwrap());
        let output = child.wait_with_output().unwrap();
        writing.join().unwrap();
        output
    })
    .await
    .unwrap();
    assert!(output.status.success(), "{output:?}");
    let searched: Vec<bool> =
        String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(searched.len(), queries.len());
    let mut bodies = bodies.lock().unwrap();
    let sent: Vec<_> = (1..=queries.len() as u64).map(|number| bodies.remove(&number)).collect();
    assert_eq!(sent.iter().map(Option::is_some).collect::<Vec<_>>(), searched, "a search is what was sent and answered");
    sent
}

/// Queries of words that mean something, in any order and number.
fn made_up(count: usize) -> Vec<String> {
    let any_of = |words: &[&'static str]| prop::sample::select(words.to_vec());
    let field = any_of(&[
        "gpu_ram",
        "cpu_ram",
        "duration",
        "dph",
        "dph_total",
        "verified",
        "rentable",
        "geolocation",
        "gpu_name",
        "driver_version",
        "cuda_vers",
        "num_gpus",
        "flops_usd",
        "machine_id",
        "price",
        "not",
        "in",
        "any",
    ]);
    let operator = any_of(&[
        "=", "==", "!=", ">", ">=", "<", "<=", " = ", " >=", "< ", " in ", " not in ", " notin ", " nin ", " eq ", " not eq ",
        " neq ", " gt ", " lte ", "=>", "!", "", " ", " in", "in ",
    ]);
    let value = any_of(&[
        "24",
        "0.5",
        "-3",
        "1e3",
        "any",
        "*",
        "?",
        "true",
        "False",
        "None",
        "RTX_4090",
        "\"RTX 4090\"",
        "[NO,SE]",
        "[NO, SE]",
        "NO",
        "[\"RTX 4090\", RTX_3090]",
        "570.133.20",
        "570.133",
        "580",
        "[570.133.20]",
        "[24]",
        "[]",
        "",
        "24,",
        "[24",
        "\"\"",
        "a;b",
    ]);
    let between = any_of(&[" ", "  ", "", ","]);
    let term = (field, operator, value, between)
        .prop_map(|(field, operator, value, between)| format!("{field}{operator}{value}{between}"));
    let query = prop::collection::vec(term, 1..4).prop_map(|terms| terms.concat());
    let mut runner = TestRunner::deterministic();
    (0..count).map(|_| query.new_tree(&mut runner).unwrap().current()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_means_what_it_means_to_vast_ais_own_client() {
    let captured = captured();
    let mut queries: Vec<String> = captured.iter().map(|(query, _)| query.clone()).collect();
    queries.extend(made_up(300));
    let sent = sent(&queries).await;
    for ((query, filters), sent) in captured.iter().zip(&sent) {
        assert_eq!(sent, filters, "the client sends something else than was captured: {query}");
    }
    let wrong: Vec<String> = queries
        .iter()
        .zip(&sent)
        .filter(|(query, sent)| ours(query) != **sent)
        .map(|(query, sent)| format!("{query:?}: sent {sent:?}, here {:?}", ours(query)))
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), queries.len(), wrong.join("\n"));
    assert!(sent.iter().filter(|sent| sent.is_some()).count() > 100, "most of what is made up is no query");
}

async fn served() -> Served {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/healthy-fleet.toml")).unwrap();
    let scenario = Scenario::parse("healthy-fleet", &text).unwrap();
    let (seed, start) = (scenario.seed, scenario.start);
    serve(World::new(scenario, seed, start), 0.0, 0, 0).await.unwrap()
}

/// The simulated market, asked directly and through its manager, finds what a query names.
#[tokio::test]
async fn the_simulated_market_finds_what_a_query_names() {
    let served = served().await;
    let http = reqwest::Client::new();
    let found = async |query: &str| {
        let body = Value::Object(ours(query).unwrap());
        let request = http.post(format!("{}/api/v0/bundles/", served.vast_url())).bearer_auth("any").json(&body);
        let direct: Value = request.send().await.unwrap().json().await.unwrap();
        let request = http.get(format!("{}/api/offers", served.url())).query(&[("filter", query)]);
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 200, "{query}");
        let through: Value = answer.json().await.unwrap();
        let ids = |answer: &Value| {
            let mut ids: Vec<u64> = answer["offers"].as_array().unwrap().iter().map(|it| it["id"].as_u64().unwrap()).collect();
            ids.sort_unstable();
            ids
        };
        assert_eq!(ids(&direct), ids(&through), "{query}");
        direct["offers"].as_array().unwrap().clone()
    };
    let all = found("dph>0").await;
    assert!(all.len() > 20);
    let country = all[0]["geolocation"].as_str().unwrap().rsplit(' ').next().unwrap().to_owned();
    let there = found(&format!("geolocation in [{country},XX]")).await;
    let elsewhere = found(&format!("geolocation notin [{country}]")).await;
    assert!(!there.is_empty() && there.len() + elsewhere.len() == all.len());
    assert!(there.iter().all(|it| it["geolocation"].as_str().unwrap().ends_with(&country)), "{there:?}");
    assert_eq!(found("driver_version>=535.86.05").await.len(), all.len());
    assert_eq!(found("driver_version>=999.0.0").await.len(), 0);
    assert_eq!(found("verified=any external=any datacenter=false has_avx=true static_ip=true").await.len(), all.len());
    let two = found("gpu_name in [RTX_3090,\"RTX 4090\"] gpu_ram>=24").await;
    assert!(!two.is_empty() && two.iter().all(|it| it["gpu_ram"].as_f64().unwrap() >= 24_000.0), "{two:?}");
}

/// Whatever field of the language is asked for: an offer says it, so a filter by it can find something.
#[tokio::test]
async fn every_field_of_the_language_is_known_to_the_simulated_market() {
    let served = served().await;
    let http = reqwest::Client::new();
    for field in OFFER_FIELDS {
        let body = json!({ field: { "neq": "no value of it" } });
        let request = http.post(format!("{}/api/v0/bundles/", served.vast_url())).bearer_auth("any").json(&body);
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        let empty = answer["offers"].as_array().unwrap().is_empty();
        assert_eq!(empty, field == "cluster_id", "{field}: only machines of a cluster have one");
    }
}
