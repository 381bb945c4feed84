//! One test a rule; `RULES` names them.

use dwell_fake_manager::rules::RULES;
use dwell_fake_manager::{Behaviour, Desk, INSTANCE_LINES_MAX, MANAGER_LINES_MAX, PUSH_BYTES_MAX, Request};
use serde_json::{Value, json};

use super::{Asks, at};

/// An account with these rentals, an hour old.
fn desk(rented: &[u64]) -> Desk {
    let mut desk = Desk::started(at(0));
    for id in rented {
        desk.account.rent(*id, (at(0).as_second() - 3_600) as f64);
    }
    desk
}

fn error(why: &str) -> String {
    format!("{}\n", json!({ "error": why }))
}

#[test]
fn every_rule_has_its_test() {
    let tests = [include_str!("rules.rs"), include_str!("go.rs"), include_str!("captures.rs")].concat();
    for rule in RULES {
        assert!(tests.contains(&format!("fn {}()", rule.test)), "{}: no test {}", rule.rule, rule.test);
        assert!(!rule.function.is_empty() && rule.lines.starts_with(|c: char| c.is_ascii_digit()), "{rule:?}");
    }
}

#[test]
fn empty_lines_are_dropped_and_time_is_arrival() {
    let mut desk = desk(&[]);
    assert_eq!(desk.push("u", "cuzk", "one\n\n\ntwo", at(7)).status, 204);
    let lines = desk.get("/api/instance-logs/u", at(8)).text();
    let ts = at(7).as_millisecond();
    assert_eq!(
        lines,
        format!("[{{\"src\":\"cuzk\",\"text\":\"one\",\"ts\":{ts}}},{{\"src\":\"cuzk\",\"text\":\"two\",\"ts\":{ts}}}]\n")
    );
}

#[test]
fn a_full_buffer_drops_its_oldest_tenth() {
    let mut desk = desk(&[]);
    let lines: String = (0..=INSTANCE_LINES_MAX).map(|n| format!("{n}\n")).collect();
    desk.push("u", "a", &lines, at(1));
    let held = desk.manager.instance_log("u").unwrap().lines();
    assert_eq!((held.len(), &held[0].text[..]), (9_001, &b"1000"[..]));
    for n in 0..MANAGER_LINES_MAX - 2 {
        desk.ask(&Request::new("DELETE", &format!("/bad-host/{n}"), ""), at(2)).unwrap();
    }
    assert_eq!(desk.log().len(), MANAGER_LINES_MAX);
    desk.ask(&Request::new("DELETE", "/bad-host/x", ""), at(2)).unwrap();
    assert_eq!(desk.log().len(), 4_501);
}

#[test]
fn logs_are_asked_by_source_and_tail() {
    let mut desk = desk(&[]);
    for n in 0..1_200 {
        desk.push("u", if n % 2 == 0 { "cuzk" } else { "setup" }, &n.to_string(), at(n));
    }
    let mut count = |target: &str| desk.get(target, at(2_000)).value().as_array().unwrap().len();
    assert_eq!(count("/api/instance-logs/u"), 1_000);
    assert_eq!(count("/api/instance-logs/u?tail=9999"), 1_200);
    assert_eq!(count("/api/instance-logs/u?tail=9999&source=cuzk"), 600);
    assert_eq!(count("/api/instance-logs/u?tail=9999&source=all"), 1_200);
    assert_eq!(count("/api/instance-logs/u?tail=9999&source=CUZK"), 0);
    for odd in ["-3", "0", "5.0", "x", "%zz"] {
        assert_eq!(count(&format!("/api/instance-logs/u?tail={odd}")), 1_000, "{odd}");
    }
    assert_eq!(count("/api/instance-logs/u?tail=%2B4"), 4);
    assert_eq!(count("/api/manager-logs?tail=1"), 1);
    for n in 0..600 {
        desk.register(&format!("label {n}"), at(1));
    }
    assert_eq!(desk.get("/api/manager-logs", at(2)).value().as_array().unwrap().len(), 500);
}

#[test]
fn a_log_text_of_several_lines_is_dated_once() {
    let mut desk = desk(&[]);
    desk.account.list = Behaviour::prints("[\n {\n  \"id\": \"x\"\n }\n]\n");
    desk.advance_to(at(10));
    let lines: Vec<String> =
        desk.manager.own_log().lines().iter().map(|line| String::from_utf8_lossy(&line.text).into_owned()).collect();
    assert_eq!(
        lines[2..],
        [
            "2026/12/01 02:00:10 [monitor] error: enumerate vast instances: parse vast output: json: cannot unmarshal string \
             into Go struct field VastInstance.id of type int (output: [",
            " {",
            "  \"id\": \"x\"",
            " }",
            "]",
            ") (will retry next cycle)",
        ]
    );
    desk.manager.zone = jiff::tz::TimeZone::fixed(jiff::tz::offset(5));
    desk.register("a", at(20));
    let last = &desk.manager.own_log().lines().last().unwrap().text;
    assert!(last.starts_with(b"2026/12/01 07:00:20 [register] new"), "Go's logger writes local time");
}

#[test]
fn ssh_needs_an_address_and_a_port() {
    let mut desk = desk(&[1, 2, 3]);
    desk.account.row(2).unwrap().insert("ports".into(), Value::Null);
    desk.account.row(3).unwrap().insert("public_ipaddr".into(), Value::Null);
    desk.advance_to(at(10));
    let shown: Vec<Value> = desk.rows(at(11)).into_iter().map(|row| row["ssh_cmd"].clone()).collect();
    assert_eq!(shown, ["ssh -p 40001 root@198.51.100.1", "", ""]);
}

#[test]
fn a_restart_keeps_the_tables_alone() {
    let mut desk = desk(&[1]);
    let uuid = desk.register("C.1", at(1));
    desk.push(&uuid, "setup", "a line", at(2));
    desk.advance_to(at(10));
    assert_eq!(desk.rows(at(11))[0]["log_lines"], 1);
    desk.manager.stop();
    assert!(desk.ask(&Request::new("GET", "/status", ""), at(12)).is_none());
    desk.manager.start(at(60));
    let dashboard = desk.get("/api/dashboard", at(61)).value();
    let row = &dashboard["instances"][0];
    assert_eq!(
        (&row["uuid"], &row["has_logs"], &row["vast_id"]),
        (&json!(uuid), &json!(false), &json!(1)),
        "what was kept stays"
    );
    assert_eq!(dashboard["vast_cache_age_s"], 9_223_372_036.854_776);
    assert!(desk.log()[0].starts_with("Web UI listening on") && desk.log()[1].starts_with("API server listening on"));
    desk.advance_to(at(69));
    assert_eq!(desk.log().len(), 2);
    desk.advance_to(at(70));
    assert_eq!(desk.log()[2], "[monitor] cached 1 vast instances");
}

#[test]
fn register_needs_a_label_and_defaults_the_rate() {
    let mut desk = desk(&[]);
    assert_eq!(desk.post("/register", "{}", at(1)).text(), error("label is required"));
    for rate in ["0", "-3", "null"] {
        desk.post("/register", &format!(r#"{{"label":"rate {rate}","min_rate":{rate}}}"#), at(1));
    }
    assert!(desk.rows(at(2)).iter().all(|row| row["min_rate"] == 50));
    let bad = desk.post("/register", "{b}", at(1));
    assert_eq!(
        (bad.status, bad.text()),
        (400, error("bad request: invalid character 'b' looking for beginning of object key string"))
    );
}

#[test]
fn a_label_that_is_alive_registers_again() {
    let mut desk = desk(&[]);
    let first = desk.post("/register", r#"{"label":"C.1","min_rate":9}"#, at(1));
    let again = desk.post("/register", r#"{"label":"C.1","min_rate":99}"#, at(5));
    assert_eq!(first.text(), again.text());
    let row = &desk.rows(at(6))[0];
    assert_eq!((&row["min_rate"], &row["registered_at"]), (&json!(9), &json!("2026-12-01T02:00:01Z")));
    assert!(desk.log().last().unwrap().starts_with("[register] re-register label=C.1 uuid="));
}

#[test]
fn a_killed_label_registers_anew() {
    let mut desk = desk(&[]);
    let first = desk.register("C.1", at(1));
    desk.post("/api/kill", &format!(r#"{{"uuid":"{first}"}}"#), at(2));
    let second = desk.post("/register", r#"{"label":"C.1"}"#, at(3)).value();
    assert!(second["uuid"] != first.as_str() && second["runner_id"] == 2);
    assert_eq!(second["uuid"].as_str().unwrap().as_bytes()[14], b'4', "a uuid of version 4");
}

#[test]
fn param_done_acts_in_registered_alone() {
    let mut desk = desk(&[]);
    let uuid = desk.register("C.1", at(1));
    let body = format!(r#"{{"uuid":"{uuid}"}}"#);
    assert_eq!(desk.post("/param-done", &body, at(2)).text(), "{\"ok\":true}\n");
    assert_eq!(desk.post("/param-done", &body, at(9)).text(), "{\"ok\":true}\n");
    assert_eq!(desk.rows(at(10))[0]["param_done_at"], "2026-12-01T02:00:02Z");
    assert_eq!(desk.log().last().unwrap(), &format!("[param-done] uuid={uuid} already in state=params_done, no-op"));
    let unknown = desk.post("/param-done", "{}", at(11));
    assert_eq!((unknown.status, unknown.text()), (404, error("instance not found")));
}

#[test]
fn bench_done_looks_at_no_state() {
    let mut desk = desk(&[1]);
    let uuid = desk.register("C.1", at(1));
    desk.post("/api/kill", &format!(r#"{{"uuid":"{uuid}"}}"#), at(2));
    let late = desk.post("/bench-done", &format!(r#"{{"uuid":"{uuid}","rate":41.55}}"#), at(3));
    assert_eq!(late.text(), "{\"ok\":true,\"passed\":true}\n");
    let row = &desk.rows(at(4))[0];
    assert_eq!(
        (&row["state"], &row["killed_at"], &row["kill_reason"]),
        (&json!("bench_done"), &json!("2026-12-01T02:00:02Z"), &json!("manually killed via UI"))
    );
    assert_eq!(desk.log().last().unwrap(), &format!("[bench-done] uuid={uuid} rate=41.5 min_rate=30.0 passed=true"));
}

#[test]
fn a_slow_benchmark_is_killed_and_destroyed() {
    let mut desk = desk(&[1]);
    let uuid = desk.register("C.1", at(1));
    let slow = desk.post("/bench-done", &format!(r#"{{"uuid":"{uuid}","rate":0}}"#), at(3));
    assert_eq!(slow.text(), "{\"ok\":true,\"passed\":false}\n");
    let row = &desk.rows(at(4))[0];
    assert_eq!((&row["state"], &row["kill_reason"]), (&json!("killed"), &json!("bench_rate 0.0 below min_rate 30.0")));
    assert!(!desk.account.is_rented(1), "by the number in its label, never listed");
    assert_eq!(desk.log().last().unwrap(), "[monitor] destroyed vast instance 1");
    // A table that cannot be written: the rental goes all the same.
    let mut desk = self::desk(&[2]);
    let uuid = desk.register("C.2", at(1));
    desk.manager.locked = true;
    let locked = desk.post("/bench-done", &format!(r#"{{"uuid":"{uuid}","rate":1}}"#), at(2));
    assert_eq!((locked.status, locked.text()), (500, error("update error: database is locked")));
    assert!(!desk.account.is_rented(2));
    assert_eq!(desk.rows(at(3))[0]["state"], "registered");
}

#[test]
fn the_best_rate_of_a_machine_is_kept() {
    let mut desk = desk(&[1]);
    let uuid = desk.register("C.1", at(1));
    let bench = |desk: &mut Desk, rate: f64, now: i64| {
        desk.post("/bench-done", &format!(r#"{{"uuid":"{uuid}","rate":{rate}}}"#), at(now))
    };
    bench(&mut desk, 50.0, 5);
    assert_eq!(desk.get("/api/host-perf", at(6)).text(), "[]\n", "nothing is listed yet");
    desk.advance_to(at(10));
    bench(&mut desk, 45.5, 11);
    bench(&mut desk, 41.0, 12);
    let perf = "[{\"machine_id\":40001,\"gpu_name\":\"RTX 4090\",\"num_gpus\":1,\"bench_rate\":45.5,\"cpu_ram_mb\":257604,\
                \"measured_at\":\"2026-12-01T02:00:12Z\"}]\n";
    assert_eq!(desk.get("/api/host-perf", at(13)).text(), perf);
    assert!(desk.log().contains(&"[host-perf] machine=40001 gpu=RTX 4090×1 rate=41.0".to_owned()));
}

#[test]
fn runner_id_is_asked_by_uuid() {
    let mut desk = desk(&[]);
    let uuid = desk.register("C.1", at(1));
    assert_eq!(desk.get(&format!("/runner-id?uuid={uuid}"), at(2)).text(), "{\"runner_id\":1}\n");
    assert_eq!(desk.get("/runner-id", at(2)).text(), error("uuid query param required"));
    assert_eq!(desk.get("/runner-id?uuid=x", at(2)).status, 404);
}

#[test]
fn running_from_any_state_but_killed() {
    let mut desk = desk(&[]);
    let uuid = desk.register("C.1", at(1));
    let body = format!(r#"{{"uuid":"{uuid}"}}"#);
    assert_eq!(desk.post("/running", &body, at(2)).text(), "{\"ok\":true}\n");
    assert_eq!(desk.rows(at(3))[0]["state"], "running");
    assert_eq!(desk.log().last().unwrap(), &format!("[running] uuid={uuid}"));
    desk.post("/api/kill", &body, at(4));
    let killed = desk.post("/running", &body, at(5));
    assert_eq!((killed.status, killed.text()), (404, error("instance not found or already killed")));
}

#[test]
fn status_leaves_out_what_is_null() {
    let mut desk = desk(&[]);
    let first = desk.register("C.1", at(1));
    desk.register("C.2", at(2));
    assert_eq!(
        desk.get("/status", at(3)).text().split_once("},").unwrap().1,
        format!(
            "{{\"uuid\":\"{first}\",\"label\":\"C.1\",\"runner_id\":1,\"state\":\"registered\",\"min_rate\":30,\"registered_at\":\"2026-12-01T02:00:01Z\"}}]\n"
        )
    );
    assert_eq!(self::desk(&[]).get("/status", at(1)).text(), "[]\n");
}

#[test]
fn bad_hosts_are_texts_and_replaced() {
    let mut desk = desk(&[]);
    let number = desk.post("/bad-host", r#"{"machine_id":7}"#, at(1));
    assert_eq!(
        number.text(),
        error("bad request: json: cannot unmarshal number into Go struct field BadHostReq.machine_id of type string")
    );
    assert_eq!(desk.post("/bad-host", r#"{"reason":"x"}"#, at(1)).text(), error("machine_id required"));
    desk.post("/bad-host", r#"{"machine_id":"7","reason":"one"}"#, at(1));
    desk.post("/bad-host", r#"{"machine_id":"8"}"#, at(2));
    desk.post("/bad-host", r#"{"machine_id":"7","reason":"two"}"#, at(3));
    let list = "[{\"machine_id\":\"7\",\"reason\":\"two\",\"added_at\":\"2026-12-01T02:00:03Z\"},\
                {\"machine_id\":\"8\",\"reason\":\"\",\"added_at\":\"2026-12-01T02:00:02Z\"}]\n";
    assert_eq!(desk.get("/bad-host", at(4)).text(), list);
    assert_eq!(desk.log().last().unwrap(), "[bad-host] added machine_id=7 reason=two");
}

#[test]
fn a_bad_host_is_removed_listed_or_not() {
    let mut desk = desk(&[]);
    desk.post("/bad-host", r#"{"machine_id":"7"}"#, at(1));
    for machine in ["7", "9"] {
        let answer = desk.ask(&Request::new("DELETE", &format!("/bad-host/{machine}"), ""), at(2)).unwrap();
        assert_eq!(answer.text(), "{\"ok\":true}\n");
        assert_eq!(desk.log().last().unwrap(), &format!("[bad-host] removed machine_id={machine}"));
    }
    assert_eq!(desk.get("/bad-host", at(3)).text(), "[]\n");
    let none = desk.ask(&Request::new("DELETE", "/bad-host/", ""), at(4)).unwrap();
    assert_eq!((none.status, none.text()), (400, error("machine_id required in path")));
}

#[test]
fn unknown_paths_and_wrong_methods() {
    let mut desk = desk(&[]);
    let mut ask = |method: &str, target: &str| desk.ask(&Request::new(method, target, ""), at(1)).unwrap();
    for (method, target) in [
        ("GET", "/register"),
        ("POST", "/status"),
        ("PUT", "/bad-host"),
        ("GET", "/bad-host/7"),
        ("HEAD", "/api/dashboard"),
        ("GET", "/api/kill"),
        ("POST", "/api/instance-logs/x"),
    ] {
        let answer = ask(method, target);
        assert_eq!((answer.status, answer.text().as_str()), (405, "method not allowed\n"), "{method} {target}");
        assert!(answer.headers.contains(&("content-type", "text/plain; charset=utf-8".to_owned())));
    }
    for target in ["/nope", "/register/", "/api", "/api/dashboard/"] {
        assert_eq!((ask("GET", target).status, ask("GET", target).text().as_str()), (404, "404 page not found\n"), "{target}");
    }
    let moved = ask("GET", "//api/../status?x=1");
    assert_eq!((moved.status, moved.headers[1].1.as_str()), (301, "/status?x=1"));
    assert_eq!(ask("GET", "/").status, 200);
}

#[test]
fn the_dashboard_joins_rows_and_records() {
    let mut desk = desk(&[1, 2, 3]);
    desk.account.row(2).unwrap().insert("label".into(), json!("my own"));
    desk.account.row(3).unwrap().insert("label".into(), Value::Null);
    for label in ["C.1", "my own", "C.3", "unmatched"] {
        desk.register(label, at(1));
    }
    desk.advance_to(at(10));
    let ids = |desk: &mut Desk, now: i64| -> Vec<(String, i64)> {
        let rows = desk.rows(at(now)).into_iter();
        rows.map(|row| (row["label"].as_str().unwrap().to_owned(), row["vast_id"].as_i64().unwrap())).collect()
    };
    let joined = [("unmatched".to_owned(), 0), ("C.3".to_owned(), 3), ("my own".to_owned(), 2), ("C.1".to_owned(), 1)];
    assert_eq!(ids(&mut desk, 11), joined);
    // What the list no longer has is shown from what was kept.
    desk.account.end(1);
    desk.advance_to(at(70));
    let row = desk.rows(at(71)).pop().unwrap();
    assert_eq!(
        (&row["state"], &row["vast_id"], &row["dph_total"], &row["gpu_util"]),
        (&json!("killed"), &json!(1), &json!(0.31), &json!(0))
    );
}

#[test]
fn a_record_without_a_row_is_loading() {
    let mut desk = desk(&[1]);
    desk.account.row(1).unwrap().insert("label".into(), Value::Null);
    desk.advance_to(at(10));
    let row = &desk.rows(at(11))[0];
    assert_eq!(
        (&row["uuid"], &row["runner_id"], &row["state"], &row["registered_at"], &row["vast_id"]),
        (&json!(""), &json!(0), &json!("loading"), &json!(""), &json!(1))
    );
}

#[test]
fn the_summary_counts_money_of_running_alone() {
    let mut desk = desk(&[1, 2, 3]);
    let uuids: Vec<String> = (1..=3).map(|id| desk.register(&format!("C.{id}"), at(1))).collect();
    desk.post("/param-done", &format!(r#"{{"uuid":"{}"}}"#, uuids[0]), at(2));
    for uuid in &uuids[1..] {
        desk.post("/bench-done", &format!(r#"{{"uuid":"{uuid}","rate":62}}"#), at(3));
    }
    desk.post("/running", &format!(r#"{{"uuid":"{}"}}"#, uuids[2]), at(4));
    desk.advance_to(at(10));
    let summary = "\"summary\":{\"total\":3,\"running\":1,\"benching\":2,\"fetching\":0,\"loading\":0,\"killed\":0,\"total_dph\":0.31,\
                   \"total_proofs_hour\":62,\"avg_price_per_proof\":0.005,\"total_gpus\":1}";
    let text = desk.get("/api/dashboard", at(11)).text();
    assert!(text.contains(summary), "{text}");
}

#[test]
fn the_age_of_a_list_never_read_is_enormous() {
    let mut desk = desk(&[]);
    assert!(desk.get("/api/dashboard", at(1)).text().ends_with("\"vast_cache_age_s\":9223372036.854776}\n"));
    desk.advance_to(at(10));
    assert!(
        desk.get("/api/dashboard", at(27)).text().ends_with("\"updated_at\":\"2026-12-01T02:00:27Z\",\"vast_cache_age_s\":17}\n")
    );
}

#[test]
fn an_unknown_log_is_empty() {
    let mut desk = desk(&[]);
    assert_eq!(desk.get("/api/instance-logs/nobody", at(1)).text(), "[]\n");
    let none = desk.get("/api/instance-logs/", at(1));
    assert_eq!((none.status, none.text()), (400, error("uuid required in path")));
}

#[test]
fn a_push_is_cut_at_256_kib() {
    let mut desk = desk(&[]);
    desk.push("any", "", &"y".repeat(300 * 1024), at(1));
    let line = &desk.manager.instance_log("any").unwrap().lines()[0];
    assert_eq!((line.text.len(), &line.source[..]), (PUSH_BYTES_MAX, &b"unknown"[..]));
    let none = desk.post("/api/log-push", "x", at(1));
    assert_eq!((none.status, none.text()), (400, error("X-Instance-UUID header required")));
}

#[test]
fn kill_says_ok_whatever_came_of_it() {
    let mut desk = desk(&[1]);
    let uuid = desk.register("C.1", at(1));
    desk.account.destroy = Behaviour::fails("failed with error 500: try later\n");
    let body = format!(r#"{{"vast_id":1,"uuid":"{uuid}"}}"#);
    assert_eq!(desk.post("/api/kill", &body, at(2)).text(), "{\"ok\":true}\n");
    assert!(desk.account.is_rented(1) && desk.rows(at(3))[0]["state"] == "killed");
    assert_eq!(
        desk.log()[3..],
        [
            format!("[kill] manually destroying vast instance 1 (uuid={uuid})"),
            "[monitor] failed to destroy vast instance 1: exit status 1 (failed with error 500: try later)".to_owned(),
        ]
    );
    desk.account.destroy = Behaviour::Hangs;
    assert!(desk.ask(&Request::new("POST", "/api/kill", body.as_bytes()), at(4)).is_none(), "it waits for its client");
    desk.account.destroy = Behaviour::Missing;
    desk.post("/api/kill", &body, at(5));
    assert!(desk.log().last().unwrap().contains("exec: \"vastai\": executable file not found in $PATH ()"));
    desk.manager.locked = true;
    let locked = desk.post("/register", r#"{"label":"C.1"}"#, at(6));
    assert_eq!((locked.status, locked.text()), (500, error("counter error: database is locked")));
    assert_eq!(desk.post("/api/kill", &format!(r#"{{"uuid":"{uuid}"}}"#), at(7)).text(), "{\"ok\":true}\n", "ok all the same");
}

#[test]
fn offers_are_typed_and_joined() {
    let mut desk = desk(&[]);
    desk.account.offer(5, 40_100, 0.29);
    desk.account.offer(6, 40_200, 0.31).insert("unknown".into(), json!("x"));
    desk.post("/bad-host", r#"{"machine_id":"40200","reason":"slow"}"#, at(1));
    let found = desk.get("/api/offers", at(2)).value();
    assert_eq!((&found["total"], &found["filtered"], found["offers"].as_array().unwrap().len()), (&json!(2), &json!(2), 2));
    let (good, bad) = (&found["offers"][0], &found["offers"][1]);
    assert_eq!((&good["is_bad_host"], good.get("bad_reason"), good.get("known_perf")), (&json!(false), None, None));
    assert_eq!((&bad["is_bad_host"], &bad["bad_reason"], bad.get("unknown")), (&json!(true), &json!("slow"), None));
    let ordinary = "disk_space>=250 dph<=0.9 gpu_ram>12.5 cpu_ram>=240 cpu_cores>25 inet_down>100 cuda_vers>=13.0";
    assert_eq!(desk.account.calls.last().unwrap()[3], ordinary);
    desk.get("/api/offers?filter=gpu_name%3DRTX_4090+num_gpus%3D1", at(3));
    assert_eq!(desk.account.calls.last().unwrap()[3], "gpu_name=RTX_4090 num_gpus=1");
}

#[test]
fn offers_that_do_not_decode_are_500() {
    let mut desk = desk(&[]);
    for (behaviour, why) in [
        (Behaviour::fails("x"), "search failed: vastai search offers: exit status 1"),
        (Behaviour::refused(429, "slow down"), "search failed: parse vast offers: unexpected end of JSON input (output: )"),
        (
            Behaviour::prints("[{\"cpu_ram\": 193344.0}]"),
            "search failed: parse vast offers: json: cannot unmarshal number 193344.0 into Go struct field VastOffer.cpu_ram of type \
             int (output: [{\"cpu_ram\": 193344.0}])",
        ),
    ] {
        desk.account.search = behaviour;
        let answer = desk.get("/api/offers", at(1));
        assert_eq!((answer.status, answer.text()), (500, error(why)));
    }
}

#[test]
fn deploy_refuses_what_go_refuses() {
    let mut desk = desk(&[]);
    let mut refused = |body: &str| {
        let answer = desk.post("/api/deploy", body, at(1));
        (answer.status, answer.value()["error"].as_str().unwrap_or_default().to_owned())
    };
    let of_int = "bad request: json: cannot unmarshal number 250.0 into Go struct field DeployRequest.disk of type int";
    assert_eq!(refused(r#"{"offer_id":5,"disk":250.0}"#), (400, of_int.to_owned()));
    assert_eq!(refused(r#"{"disk":250}"#), (400, "offer_id required".to_owned()));
    desk.post("/bad-host", r#"{"machine_id":"7","reason":"slow"}"#, at(1));
    let banned = desk.post("/api/deploy", r#"{"offer_id":5,"machine_id":7}"#, at(2));
    assert_eq!((banned.status, banned.text()), (409, error("machine 7 is on bad hosts list: slow")));
    assert!(desk.account.calls.is_empty());
    desk.account.offer(5, 40_100, 0.29);
    desk.post("/api/deploy", r#"{"offer_id":5,"machine_id":8}"#, at(3));
    let call = desk.account.calls.last().unwrap();
    assert_eq!(call[..8], ["vastai", "create", "instance", "5", "--image", "magik6k/curio-cuzk:latest", "--disk", "250"]);
    assert!(call[9].ends_with("MIN_RATE=30.0"), "{call:?}");
}

#[test]
fn deploy_reads_the_number_from_pythons_text() {
    let mut desk = desk(&[]);
    desk.account.offer(5, 40_100, 0.29);
    let taken = desk.post("/api/deploy", r#"{"offer_id":5}"#, at(1)).value();
    assert_eq!((&taken["ok"], &taken["instance_id"]), (&json!(true), &json!(31_900_000)));
    // 1.9.1 exits with 0 where the offer is gone: the manager calls that ok.
    let gone = desk.post("/api/deploy", r#"{"offer_id":5}"#, at(2)).value();
    assert_eq!((&gone["ok"], &gone["instance_id"]), (&json!(true), &json!(0)));
    assert!(gone["message"].as_str().unwrap().contains("no_such_ask"));
    desk.account.create = Behaviour::prints("");
    assert_eq!(desk.post("/api/deploy", r#"{"offer_id":5}"#, at(3)).text(), "{\"ok\":true,\"instance_id\":0}\n");
    desk.account.create = Behaviour::fails("Traceback\n");
    let failed = desk.post("/api/deploy", r#"{"offer_id":5}"#, at(4));
    assert_eq!((failed.status, failed.text()), (500, error("deploy failed: exit status 1 output: Traceback")));
}

#[test]
fn the_monitor_keeps_its_times() {
    let mut desk = desk(&[]);
    let listed = |desk: &Desk| desk.account.calls.len();
    for (now, count) in [(9, 0), (10, 1), (69, 1), (70, 2), (131, 3)] {
        desk.advance_to(at(now));
        assert_eq!(listed(&desk), count, "{now}");
    }
    // The pause begins when the cycle ends: a slow client makes the whole slower.
    let mut manager = dwell_fake_manager::Manager::new();
    manager.start(at(0));
    let call = manager.tick(at(10)).pop().unwrap();
    assert!(manager.tick(at(300)).is_empty(), "one cycle at a time");
    manager.answered(call.ticket, &dwell_fake_manager::Output::exited(0, "[]", ""), at(300));
    assert_eq!(manager.next_cycle_at(), Some(at(360)));
}

#[test]
fn a_failed_list_is_logged_and_the_old_one_kept() {
    let mut desk = desk(&[1]);
    desk.register("C.1", at(1));
    desk.advance_to(at(10));
    desk.account.list = Behaviour::fails("no route to host");
    desk.advance_to(at(70));
    assert_eq!(
        desk.log().last().unwrap(),
        "[monitor] error: enumerate vast instances: vastai show instances: exit status 1 (will retry next cycle)"
    );
    let dashboard = desk.get("/api/dashboard", at(80)).value();
    assert_eq!((&dashboard["vast_cache_age_s"], &dashboard["instances"][0]["vast_id"]), (&json!(70), &json!(1)));
    for (behaviour, words) in [
        (Behaviour::rate_limited(), "parse vast output: unexpected end of JSON input (output: )"),
        (Behaviour::Killed("killed".into()), "vastai show instances: signal: killed"),
        (Behaviour::Missing, "vastai show instances: exec: \"vastai\": executable file not found in $PATH"),
    ] {
        desk.account.list = behaviour;
        let next = desk.manager.next_cycle_at().unwrap();
        desk.advance_to(next);
        assert!(desk.log().last().unwrap().contains(words), "{:?}", desk.log().last());
    }
}

#[test]
fn a_list_that_does_not_decode_is_quoted() {
    let mut desk = desk(&[1]);
    desk.account.row(1).unwrap().insert("cpu_ram".into(), json!(193_344.0));
    desk.advance_to(at(10));
    let said = desk.log()[2].clone();
    let whose = "json: cannot unmarshal number 193344.0 into Go struct field VastInstance.cpu_ram of type int (output: [";
    assert!(said.ends_with(whose), "{said}");
    assert!(desk.log().last().unwrap().ends_with("(will retry next cycle)"));
    assert!(desk.rows(at(11)).is_empty(), "nothing of it is taken");
    desk.account.list = Behaviour::prints("[{\"id\": 1, \"dph_total\": NaN}]");
    desk.advance_to(at(70));
    assert!(desk.log().last().unwrap().contains("parse vast output: invalid character 'N' looking for beginning of value"));
    desk.account.list = Behaviour::prints("[{\"ports\": {\"22/tcp\": [{\"HostPort\": 22}]}}]");
    desk.advance_to(at(130));
    let nested = "json: cannot unmarshal number into Go struct field PortBinding.ports.HostPort of type string";
    assert!(desk.log().last().unwrap().contains(nested), "{:?}", desk.log().last());
}

#[test]
fn instances_on_bad_hosts_are_destroyed() {
    let mut desk = desk(&[1, 2]);
    desk.account.row(2).unwrap().insert("label".into(), Value::Null);
    desk.register("C.1", at(1));
    desk.register("C.2", at(1));
    for machine in ["40001", "40002"] {
        desk.post("/bad-host", &format!(r#"{{"machine_id":"{machine}","reason":"slow"}}"#), at(2));
    }
    desk.advance_to(at(10));
    assert!(desk.account.rows.is_empty());
    assert!(desk.rows(at(11)).iter().take(2).all(|row| row["kill_reason"].as_str().unwrap().starts_with("bad host 4000")));
    let log = desk.log();
    assert!(log.contains(&"[monitor] killing instance 1 (label=C.1) — bad host 40001: slow".to_owned()), "{log:?}");
    assert!(log.contains(&"[monitor] killing instance 2 (label=) — bad host 40002: slow".to_owned()));
}

#[test]
fn strangers_are_destroyed_after_fifteen_minutes() {
    let mut desk = desk(&[1, 2, 3]);
    let new = at(0).as_second() as f64 - 60.0;
    desk.account.row(2).unwrap().insert("start_date".into(), json!(new));
    desk.account.row(3).unwrap().insert("label".into(), Value::Null);
    desk.advance_to(at(10));
    assert_eq!(
        desk.log()[3..],
        [
            "[monitor] killing unregistered instance 1 (label=C.1, age=1h0m10s)",
            "[monitor] destroyed vast instance 1",
            "[monitor] unregistered instance 2 (label=C.2, age=1m10s) — within grace period",
        ]
    );
    desk.advance_to(at(14 * 60));
    assert!(desk.account.is_rented(2));
    desk.advance_to(at(16 * 60));
    assert!(!desk.account.is_rented(2) && desk.account.is_rented(3), "without a label it is nobody's business");
    assert_eq!(desk.rows(at(16 * 60)).len(), 1);
}

#[test]
fn timers_kill_after_90_and_45_minutes() {
    let mut desk = desk(&[1, 2]);
    let benching = desk.register("C.2", at(0));
    let fetching = desk.register("C.1", at(0));
    desk.post("/param-done", &format!(r#"{{"uuid":"{benching}"}}"#), at(0));
    desk.advance_to(at(45 * 60));
    assert!(desk.account.is_rented(2));
    desk.advance_to(at(46 * 60));
    assert!(!desk.account.is_rented(2));
    let line = format!("[monitor] killing uuid={benching} (state=params_done, age=45m10s): benchmark timeout (45min)");
    assert!(desk.log().contains(&line), "{:?}", desk.log().last());
    desk.advance_to(at(90 * 60));
    assert!(desk.account.is_rented(1));
    desk.advance_to(at(91 * 60));
    let line = format!("[monitor] killing uuid={fetching} (state=registered, age=1h30m10s): param fetch timeout (90min)");
    assert!(desk.log().contains(&line) && !desk.account.is_rented(1));
    let reasons: Vec<Value> = desk.rows(at(92 * 60)).into_iter().map(|row| row["kill_reason"].clone()).collect();
    assert_eq!(reasons, ["param fetch timeout (90min)", "benchmark timeout (45min)"]);
}

#[test]
fn a_benchmark_below_the_minimum_is_killed_by_the_monitor() {
    let mut desk = desk(&[1]);
    let uuid = desk.register("C.1", at(1));
    desk.post("/bench-done", &format!(r#"{{"uuid":"{uuid}","rate":31}}"#), at(2));
    desk.manager.database.rows[0].min_rate = 40.0;
    desk.advance_to(at(10));
    assert_eq!(
        desk.log()[5..7],
        [
            format!("[monitor] killing failed benchmark uuid={uuid} rate=31.0 < min=40.0"),
            "[monitor] destroyed vast instance 1".to_owned()
        ]
    );
    assert_eq!(desk.rows(at(11))[0]["kill_reason"], "bench_rate 31.0 below min_rate 40.0");
}

#[test]
fn killed_rows_go_after_seven_days() {
    let mut desk = desk(&[]);
    desk.register("C.1", at(1));
    desk.advance_to(at(10));
    desk.advance_to(at(7 * 24 * 3_600 + 9));
    assert_eq!(desk.manager.database.rows.len(), 1);
    desk.advance_to(at(7 * 24 * 3_600 + 80));
    assert_eq!(desk.manager.database.rows.len(), 0);
}

#[test]
fn an_empty_list_kills_every_row() {
    let mut desk = desk(&[1, 2]);
    let uuids = [desk.register("C.1", at(1)), desk.register("C.2", at(1))];
    desk.post("/running", &format!(r#"{{"uuid":"{}"}}"#, uuids[0]), at(2));
    desk.account.list = Behaviour::prints("[]");
    desk.advance_to(at(10));
    assert_eq!(
        desk.log()[5..],
        [
            "[monitor] cached 0 vast instances".to_owned(),
            format!("[monitor] instance disappeared from vast uuid={} label=C.1 state=running", uuids[0]),
            format!("[monitor] instance disappeared from vast uuid={} label=C.2 state=registered", uuids[1]),
        ]
    );
    assert!(desk.account.is_rented(1) && desk.account.is_rented(2), "still billed");
    assert!(desk.rows(at(11)).iter().all(|row| row["kill_reason"] == "instance disappeared from vast"));
}

#[test]
fn the_exit_status_is_believed() {
    let mut desk = desk(&[1]);
    let uuid = desk.register("C.1", at(1));
    desk.account.destroy = Behaviour::Aborts;
    desk.post("/api/kill", &format!(r#"{{"vast_id":1,"uuid":"{uuid}"}}"#), at(2));
    assert_eq!(desk.log().last().unwrap(), "[monitor] destroyed vast instance 1");
    desk.advance_to(at(10));
    let row = &desk.rows(at(11))[0];
    assert!(row["state"] == "killed" && row["gpu_util"] == 87 && desk.account.is_rented(1), "killed, listed, billed");
    assert!(desk.log().iter().any(|line| line.starts_with("[monitor] killing unregistered instance 1")), "and destroyed again");
}

#[test]
fn the_provers_status_comes_over_ssh() {
    let mut desk = desk(&[1]);
    let uuid = desk.register("C.1", at(1));
    assert_eq!(desk.get(&format!("/api/cuzk-status/{uuid}"), at(2)).text(), error("no SSH info for instance"));
    assert_eq!(desk.get("/api/cuzk-status/", at(2)).text(), error("uuid required in path"));
    desk.advance_to(at(10));
    let failed = desk.get(&format!("/api/cuzk-status/{uuid}"), at(11));
    assert_eq!((failed.status, failed.text()), (502, error("ssh exec failed: exit status 255")));
    assert!(failed.headers.contains(&("access-control-allow-origin", "*".to_owned())));
    desk.account.provers.push(("198.51.100.1".into(), "{\"uptime_secs\": 5}".into()));
    assert_eq!(desk.get(&format!("/api/cuzk-status/{uuid}"), at(12)).text(), "{\"uptime_secs\": 5}");
    let ssh = desk.account.calls.last().unwrap();
    assert_eq!(
        (ssh[0].as_str(), ssh[2].as_str(), ssh.last().unwrap().as_str()),
        ("ssh", "40001", "http://localhost:9821/status")
    );
}
