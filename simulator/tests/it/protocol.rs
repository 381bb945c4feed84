//! The served manager against what the real one answered (the captures that `dwell-wire` decodes).

use dwell_simulator::{SIMULATED_HEADER, Scenario, Served, World, serve};
use serde_json::{Value, json};

fn capture(name: &str) -> String {
    std::fs::read_to_string(format!("{}/../crates/wire/tests/captures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// Status and body of a captured answer with its head.
fn captured(name: &str) -> (u16, String) {
    let raw = capture(name).replace("\r\n", "\n");
    let (head, body) = raw.split_once("\n\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

struct Manager {
    served: Served,
    http: reqwest::Client,
}

const SHIPPED_EVENING: &str = include_str!("../../scenarios/params-done-silence.toml");

async fn manager(name: &str) -> Manager {
    serving(Scenario::named(name).unwrap()).await
}

async fn serving(scenario: Scenario) -> Manager {
    let (seed, start) = (scenario.seed, scenario.start);
    Manager { served: serve(World::new(scenario, seed, start), 0.0, 0, 0).await.unwrap(), http: reqwest::Client::new() }
}

impl Manager {
    async fn get(&self, path: &str) -> (u16, String) {
        let response = self.http.get(format!("{}{path}", self.served.url())).send().await.unwrap();
        assert!(response.headers().contains_key(SIMULATED_HEADER), "every answer says that it is simulated");
        (response.status().as_u16(), response.text().await.unwrap())
    }

    async fn post(&self, path: &str, body: Value) -> (u16, String) {
        let response = self.http.post(format!("{}{path}", self.served.url())).body(body.to_string()).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    async fn rows(&self) -> Vec<Value> {
        let (_, body) = self.get("/api/dashboard").await;
        serde_json::from_str::<Value>(&body).unwrap()["instances"].as_array().unwrap().clone()
    }
}

/// Names of the fields of each object, in the order written. Values are compared elsewhere: they differ, being another fleet's.
fn names(object: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut depth = 0;
    let mut text = None::<String>;
    let mut escaped = false;
    for character in object.chars() {
        match (&mut text, character) {
            (Some(_), _) if std::mem::take(&mut escaped) => {}
            (Some(_), '\\') => escaped = true,
            (Some(open), '"') => {
                names.push(format!("{depth} {open}"));
                text = None;
            }
            (Some(open), other) => open.push(other),
            (None, '"') => text = Some(String::new()),
            (None, ':') => {
                let name = names.pop().unwrap();
                names.push(format!("{name}:"));
            }
            (None, '{' | '[') => depth += 1,
            (None, '}' | ']') => depth -= 1,
            _ => {}
        }
    }
    names.retain(|name| name.ends_with(':'));
    names
}

#[tokio::test]
async fn the_dashboard_has_the_real_ones_fields_in_its_order() {
    let manager = manager("params-done-silence").await;
    let (status, ours) = manager.get("/api/dashboard").await;
    assert_eq!(status, 200);
    let running = |body: &str| {
        let at = body.find("\"state\":\"running\"").unwrap();
        let begin = body[..at].rfind("{\"uuid\"").unwrap();
        names(&body[begin..body[at..].find('}').unwrap() + at + 1])
    };
    let theirs = capture("dashboard.json");
    assert_eq!(running(&ours), running(&theirs));
    let tail = |body: &str| names(&body[body.rfind("\"summary\"").unwrap()..]);
    assert_eq!(tail(&ours), tail(&theirs));
    assert!(ours.ends_with("}\n"), "ends with a newline, as Go's encoder writes it");
}

#[tokio::test]
async fn refusals_are_the_real_ones_to_the_letter() {
    let manager = manager("params-done-silence").await;
    assert_eq!(manager.get("/api/instance-logs/").await, captured("instance-logs-no-uuid.txt"));
    assert_eq!(manager.post("/running", json!({"uuid": "nobody"})).await, captured("running-unknown.txt"));
    let running = manager.rows().await.into_iter().find(|row| row["state"] == "running").unwrap();
    let status = format!("/api/cuzk-status/{}", running["uuid"].as_str().unwrap());
    let (code, body) = manager.get(&status).await;
    assert!(code == 200 && body.contains("\"total_completed\""), "{code} {body}");
    // Where SSH does not get there the answer is the captured one.
    let text = SHIPPED_EVENING.replace("[[fault]]", "[[fault]]\nkind = \"probe-auth-failed\"\nat = \"-20h\"\n\n[[fault]]");
    let manager = serving(Scenario::parse("evening", &text).unwrap()).await;
    assert_eq!(manager.get(&status).await, captured("cuzk-status-unreachable.txt"));
    assert_eq!(manager.get("/api/kill").await.0, 405);
    assert_eq!(manager.post("/register", Value::String("not an object".into())).await.0, 400);
}

#[tokio::test]
async fn unknown_and_silent_instances_answer_alike() {
    let manager = manager("params-done-silence").await;
    let silent = manager.get("/api/instance-logs/d977dead-b3a7-4a08-b6df-9e126679078f?tail=10").await;
    assert_eq!(silent, (200, capture("instance-logs-silent.json")));
    assert_eq!(manager.get("/api/instance-logs/nobody").await, (200, capture("instance-logs-unknown-uuid.json")));
}

#[tokio::test]
async fn a_killed_row_that_reports_late_comes_back_with_the_real_answer() {
    let manager = manager("params-done-silence").await;
    let killed = manager.rows().await.into_iter().find(|row| row["state"] == "killed").unwrap();
    let done = manager.post("/bench-done", json!({"uuid": killed["uuid"], "rate": 60})).await;
    assert_eq!(done, captured("bench-done-after-kill.txt"));
    let back = manager.rows().await.into_iter().find(|row| row["uuid"] == killed["uuid"]).unwrap();
    assert!(back["state"] == "bench_done" && back["killed_at"] == killed["killed_at"]);
}

#[tokio::test]
async fn actions_change_the_world() {
    let manager = manager("params-done-silence").await;
    let row = manager.rows().await.into_iter().find(|row| row["state"] == "running").unwrap();
    let killed = manager.post("/api/kill", json!({"vast_id": row["vast_id"], "uuid": row["uuid"]})).await;
    assert_eq!(killed, (200, "{\"ok\":true}\n".to_owned()));
    assert!(!manager.served.with_world(|world| world.is_rented(row["vast_id"].as_u64().unwrap())));
    manager.post("/bad-host", json!({"machine_id": "40999", "reason": "bench 12 p/h, thermal"})).await;
    let listed: Value = serde_json::from_str(&manager.get("/bad-host").await.1).unwrap();
    assert_eq!(listed[0]["machine_id"], "40999");
    assert_eq!(manager.post("/bad-host", json!({"machine_id": 40999})).await.0, 400, "a number is refused, as by the real one");
    assert_eq!(manager.post("/api/deploy", json!({"offer_id": 1, "machine_id": 40999})).await.0, 409);
    let offers: Value = serde_json::from_str(&manager.get("/api/offers").await.1).unwrap();
    let offer = &offers["offers"][0];
    assert!(offer["is_bad_host"] == false && offer["dph_total"].as_f64().unwrap() <= 0.9, "{offer}");
    assert_eq!(offers["filtered"], offers["total"], "both count what the client found");
    let wanted = json!({"offer_id": offer["id"], "machine_id": offer["machine_id"], "min_rate": 30, "disk": 250});
    let (status, body) = manager.post("/api/deploy", wanted.clone()).await;
    let deployed: Value = serde_json::from_str(&body).unwrap();
    assert!(
        status == 200 && deployed["message"].as_str().unwrap().starts_with("Started. {'success': True, 'new_contract': 3100")
    );
    // An offer is good for one rental. The client says so and ends with status 0, so the manager calls that ok as well.
    let (status, body) = manager.post("/api/deploy", wanted).await;
    let refused: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, refused["instance_id"].as_u64()), (200, Some(0)), "{refused}");
    assert!(refused["message"].as_str().unwrap().contains("no_such_ask"), "{refused}");
    // As Go's decoder has it: DeployRequest{OfferID, MachineID int; MinRate float64; Disk int}.
    for (field, value, kind) in
        [("disk", json!(250.0), "number 250.0"), ("offer_id", json!("7"), "string"), ("machine_id", json!(true), "bool")]
    {
        let mut wrong = json!({"offer_id": 7, "machine_id": 1, "min_rate": 30.5, "disk": 250});
        wrong[field] = value;
        let (status, body) = manager.post("/api/deploy", wrong).await;
        let why = format!("json: cannot unmarshal {kind} into Go struct field DeployRequest.{field} of type int");
        assert!(status == 400 && body.contains(&why), "{status} {body}");
    }
    let (status, body) = manager.post("/api/deploy", json!({"disk": 250})).await;
    assert!(status == 400 && body.contains("offer_id required"), "{body}");
}

/// Fields that are `int` in the manager's `VastInstance` and `VastOffer`: its decoder refuses the whole list for one `193344.0`.
#[tokio::test]
async fn what_is_an_int_to_the_manager_is_served_as_one() {
    let manager = manager("params-done-silence").await;
    let listed = manager.served.with_world(|world| world.api_list(None, None).body);
    let rows = listed["instances"].as_array().unwrap();
    assert!(!rows.is_empty());
    let ints = ["id", "machine_id", "host_id", "num_gpus", "cpu_ram", "gpu_totalram"];
    for (row, field) in rows.iter().flat_map(|row| ints.map(|field| (row, field))) {
        assert!(row[field].is_i64() || row[field].is_u64(), "{field}: {}", row[field]);
    }
    let offers: Value = serde_json::from_str(&manager.get("/api/offers").await.1).unwrap();
    let ints = [
        "id",
        "host_id",
        "machine_id",
        "num_gpus",
        "gpu_ram",
        "gpu_total_ram",
        "gpu_lanes",
        "cpu_ram",
        "cpu_cores",
        "compute_cap",
    ];
    let offers = offers["offers"].as_array().unwrap();
    assert!(!offers.is_empty());
    for (row, field) in offers.iter().flat_map(|row| ints.map(|field| (row, field))) {
        assert!(row[field].is_i64() || row[field].is_u64(), "{field}: {}", row[field]);
    }
}

#[tokio::test]
async fn the_managers_own_log_and_the_status_route() {
    let manager = manager("params-done-silence").await;
    let (_, log) = manager.get("/api/manager-logs?tail=3").await;
    let lines: Value = serde_json::from_str(&log).unwrap();
    assert_eq!(lines.as_array().unwrap().len(), 3);
    assert!(lines[2]["text"].as_str().unwrap().ends_with("[monitor] cached 5 vast instances") && lines[2]["src"] == "manager");
    let (_, status) = manager.get("/status").await;
    let rows: Value = serde_json::from_str(&status).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 32);
    assert!(rows[0].get("vast_id").is_none() && rows[0].get("registered_at").is_some());
}

/// Every shipped scenario, served in the middle of its time: both APIs tell what the world holds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_shipped_scenario_is_served() {
    let http = reqwest::Client::new();
    for scenario in dwell_simulator::shipped() {
        let (name, start, middle_s) = (scenario.name.clone(), scenario.start, scenario.duration / 2.0);
        let mut world = World::new(scenario.clone(), scenario.seed, start);
        world.advance_to(start + jiff::SignedDuration::from_secs(middle_s as i64));
        let (dashboard, listed) = (world.dashboard_body(), world.api_list(None, None));
        let served = serve(world, 0.0, 0, 0).await.unwrap();
        let answer = http.get(format!("{}/api/dashboard", served.url())).send().await.unwrap();
        match dashboard {
            Some(body) => assert_eq!(answer.bytes().await.unwrap(), body, "{name}"),
            None => assert_eq!(answer.status(), 503, "{name}: its manager is down"),
        }
        let list = http.get(format!("{}/api/v1/instances/", served.vast_url())).bearer_auth("any").send().await.unwrap();
        assert_eq!(list.status().as_u16(), listed.status, "{name}");
        let text = list.text().await.unwrap();
        if listed.body.is_object() {
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), listed.body, "{name}");
        }
        let refused = http.get(format!("{}/api/v0/users/current", served.vast_url())).send().await.unwrap();
        assert_eq!(refused.status(), 403, "no key, no answer");
    }
}

/// A request that the real manager's types refuse is refused here, in the same words: compared with the manager's strict double.
#[tokio::test]
async fn a_field_of_another_type_is_refused_as_the_real_one_refuses_it() {
    let simulated = manager("params-done-silence").await;
    let double = dwell_fake_manager::FakeManager::serve(dwell_fake_manager::Options::default());
    let routes: [(&str, Value); 7] = [
        ("/register", json!({"label": "C.1", "min_rate": 30})),
        ("/param-done", json!({"uuid": "nobody"})),
        ("/bench-done", json!({"uuid": "nobody", "rate": 41.5})),
        ("/running", json!({"uuid": "nobody"})),
        ("/bad-host", json!({"machine_id": "40999", "reason": "slow"})),
        ("/api/kill", json!({"vast_id": 7, "uuid": "nobody"})),
        ("/api/deploy", json!({"offer_id": 0, "machine_id": 5, "min_rate": 30.0, "disk": 250})),
    ];
    let others = [
        Value::Null,
        json!(true),
        json!("250"),
        json!(""),
        json!(250),
        json!(-1),
        json!(250.0),
        json!(1.5),
        json!([]),
        json!({"a": 1}),
    ];
    let mut refused = 0;
    for (route, good) in routes {
        let mut bodies = vec![good.clone(), json!({}), json!([]), json!("text"), json!(7), Value::Null];
        for field in good.as_object().unwrap().keys() {
            for other in &others {
                let mut body = good.clone();
                body[field] = other.clone();
                bodies.push(body);
            }
            // Go compares names without their case.
            let mut body = good.clone();
            body.as_object_mut().unwrap().remove(field);
            body[field.to_uppercase()] = json!({});
            bodies.push(body);
        }
        for body in bodies {
            let theirs = double.call("POST", route, &body.to_string());
            let (status, text) = simulated.post(route, body.clone()).await;
            assert_eq!(status, theirs.status, "{route} {body}: {text} / {}", theirs.text());
            // The struct of a kill has no name, and a long type in Go's words for a body that is no object.
            if status == 400 && (route != "/api/kill" || body.is_object()) {
                assert_eq!(text, theirs.text(), "{route} {body}");
            }
            refused += usize::from(status == 400);
        }
    }
    assert!(refused > 80, "{refused}");
}
