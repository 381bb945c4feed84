//! Every rule of the double; the captures of the real manager are answered byte for byte.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod captures;
mod go;
mod rules;
mod served;

use dwell_fake_manager::{Desk, Request, Response};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// Seconds after the start of these tests.
fn at(seconds: i64) -> Timestamp {
    let start: Timestamp = "2026-12-01T02:00:00Z".parse().unwrap();
    start.checked_add(SignedDuration::from_secs(seconds)).unwrap()
}

trait Asks {
    fn get(&mut self, target: &str, now: Timestamp) -> Response;
    fn post(&mut self, target: &str, body: &str, now: Timestamp) -> Response;
    fn push(&mut self, uuid: &str, source: &str, text: &str, now: Timestamp) -> Response;
    fn register(&mut self, label: &str, now: Timestamp) -> String;
    fn log(&self) -> Vec<String>;
    fn rows(&mut self, now: Timestamp) -> Vec<Value>;
}

impl Asks for Desk {
    fn get(&mut self, target: &str, now: Timestamp) -> Response {
        self.ask(&Request::new("GET", target, ""), now).unwrap()
    }

    fn post(&mut self, target: &str, body: &str, now: Timestamp) -> Response {
        self.ask(&Request::new("POST", target, body), now).unwrap()
    }

    fn push(&mut self, uuid: &str, source: &str, text: &str, now: Timestamp) -> Response {
        let request = Request::new("POST", "/api/log-push", text).with("X-Instance-UUID", uuid).with("X-Log-Source", source);
        self.ask(&request, now).unwrap()
    }

    fn register(&mut self, label: &str, now: Timestamp) -> String {
        let answer = self.post("/register", &format!(r#"{{"label":"{label}","min_rate":30}}"#), now);
        answer.value()["uuid"].as_str().unwrap().to_owned()
    }

    /// Its own log without the dates.
    fn log(&self) -> Vec<String> {
        let lines = self.manager.own_log().lines().iter();
        lines
            .map(|line| String::from_utf8_lossy(&line.text).into_owned())
            .map(|line| line[20.min(line.len())..].to_owned())
            .collect()
    }

    fn rows(&mut self, now: Timestamp) -> Vec<Value> {
        self.get("/api/dashboard", now).value()["instances"].as_array().unwrap().clone()
    }
}
