//! Requests and answers of every operator-facing route, without any I/O.

use std::time::Duration;

use dwell_wire as wire;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Code, FetchError};

/// Header that Dwell's simulator sets on every answer; the real manager has no such header.
pub const SIMULATED_HEADER: &str = "x-dwell-simulated";

/// HTTP methods in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    Get,
    /// Changes something.
    Post,
    /// Removes something.
    Delete,
}

/// One call to the manager.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Method.
    pub method: Method,
    /// Path segments after the base URL, escaped when sent.
    pub path: Vec<String>,
    /// Query, escaped when sent.
    pub query: Vec<(&'static str, String)>,
    /// JSON body.
    pub body: Option<Vec<u8>>,
    /// Longest that the whole answer may take.
    pub within: Duration,
}

const READ_WITHIN: Duration = Duration::from_secs(15);
/// Routes behind which the manager runs the vast.ai command line client or ssh.
const SLOW_WITHIN: Duration = Duration::from_secs(60);

impl Call {
    fn get(path: &[&str]) -> Self {
        Self {
            method: Method::Get,
            path: path.iter().map(|segment| (*segment).to_owned()).collect(),
            query: Vec::new(),
            body: None,
            within: READ_WITHIN,
        }
    }

    fn post<T: Serialize>(path: &[&str], body: &T) -> Self {
        Self { method: Method::Post, body: Some(wire::encode(body)), within: SLOW_WITHIN, ..Self::get(path) }
    }

    /// Whether sending it twice does the same as sending it once.
    pub fn is_repeatable(&self) -> bool {
        self.method == Method::Get
    }

    /// `GET /api/dashboard`.
    pub fn dashboard() -> Self {
        Self::get(&["api", "dashboard"])
    }

    /// `GET /status`.
    pub fn status() -> Self {
        Self::get(&["status"])
    }

    /// `GET /api/instance-logs/{uuid}`: the last `tail` lines, of one source if given.
    pub fn instance_logs(uuid: &str, tail: usize, source: Option<&str>) -> Self {
        let mut call = Self::get(&["api", "instance-logs", uuid]);
        call.query.push(("tail", tail.to_string()));
        call.query.extend(source.map(|source| ("source", source.to_owned())));
        call
    }

    /// `GET /api/manager-logs`.
    pub fn manager_logs(tail: usize) -> Self {
        let mut call = Self::get(&["api", "manager-logs"]);
        call.query.push(("tail", tail.to_string()));
        call
    }

    /// `POST /api/kill`.
    pub fn kill(body: &wire::KillRequest) -> Self {
        Self::post(&["api", "kill"], body)
    }

    /// `GET /bad-host`.
    pub fn bad_hosts() -> Self {
        Self::get(&["bad-host"])
    }

    /// `POST /bad-host`. The machine goes as text: the manager refuses a number.
    pub fn add_bad_host(machine_id: &str, reason: &str) -> Self {
        #[derive(Serialize)]
        struct Body<'a> {
            machine_id: &'a str,
            reason: &'a str,
        }
        Self::post(&["bad-host"], &Body { machine_id, reason })
    }

    /// `DELETE /bad-host/{machine_id}`.
    pub fn remove_bad_host(machine_id: &str) -> Self {
        Self { method: Method::Delete, ..Self::get(&["bad-host", machine_id]) }
    }

    /// `GET /api/offers`, with vast.ai's own filter language or the manager's default.
    pub fn offers(filter: Option<&str>) -> Self {
        let mut call = Self::get(&["api", "offers"]);
        call.query.extend(filter.map(|filter| ("filter", filter.to_owned())));
        call.within = SLOW_WITHIN;
        call
    }

    /// `POST /api/deploy`.
    pub fn deploy(body: &wire::DeployRequest) -> Self {
        Self::post(&["api", "deploy"], body)
    }

    /// `GET /api/host-perf`.
    pub fn host_perf() -> Self {
        Self::get(&["api", "host-perf"])
    }

    /// `GET /api/cuzk-status/{uuid}`: the prover's own status, fetched over SSH by the manager.
    pub fn cuzk_status(uuid: &str) -> Self {
        Self { within: SLOW_WITHIN, ..Self::get(&["api", "cuzk-status", uuid]) }
    }
}

/// Reads an answer: the value, or why there is none.
pub(crate) fn read<T: DeserializeOwned>(status: u16, body: &[u8]) -> Result<T, FetchError> {
    if !(200..300).contains(&status) {
        return Err(refusal(status, body));
    }
    wire::decode(body).map_err(|error| {
        let code = if matches!(error, wire::DecodeError::CutShort { .. }) { Code::CutShort } else { Code::NotAManager };
        FetchError { status: Some(status), ..FetchError::new(code, error.to_string()) }
    })
}

fn refusal(status: u16, body: &[u8]) -> FetchError {
    let code = match status {
        401 | 403 => Code::Unauthorised,
        // Of what stands before the manager: nothing was done.
        429 => Code::TooOften,
        300..=399 => Code::NotAManager,
        400..=499 => Code::Refused,
        _ => Code::ManagerFailed,
    };
    let words = match wire::decode::<wire::ErrorBody>(body) {
        Ok(wire::ErrorBody { error: Some(words) }) => words,
        // Plain text, or a proxy's HTML: its beginning tells a person what answered.
        _ => String::from_utf8_lossy(&body[..body.len().min(200)]).trim().chars().take(120).collect(),
    };
    let said = if words.is_empty() { "without a word".to_owned() } else { format!("{words:?}") };
    FetchError { status: Some(status), ..FetchError::new(code, format!("the manager answered {status}: {said}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_reads_are_repeatable() {
        let kill = Call::kill(&wire::KillRequest { vast_id: 1, uuid: "u".into() });
        assert!(Call::dashboard().is_repeatable() && Call::cuzk_status("u").is_repeatable());
        assert!(!kill.is_repeatable() && !Call::remove_bad_host("1").is_repeatable());
        assert_eq!(kill.body.unwrap(), b"{\"vast_id\":1,\"uuid\":\"u\"}\n");
        assert_eq!(Call::add_bad_host("40999", "x").body.unwrap(), b"{\"machine_id\":\"40999\",\"reason\":\"x\"}\n");
    }

    /// The manager's source: `DeployRequest{OfferID, MachineID int; MinRate float64; Disk int}`. Its decoder takes no 250.0 for an int.
    #[test]
    fn a_deploy_has_integers_where_the_manager_has_them() {
        let wanted = wire::DeployRequest { offer_id: 7, machine_id: 40, min_rate: 30.0, disk: 250 };
        let body: serde_json::Value = serde_json::from_slice(&Call::deploy(&wanted).body.unwrap()).unwrap();
        for (field, is_int) in [("offer_id", true), ("machine_id", true), ("min_rate", false), ("disk", true)] {
            assert!(body[field].is_number() && (!is_int || body[field].is_i64() || body[field].is_u64()), "{field}: {body}");
        }
    }

    #[test]
    fn refusals_carry_the_managers_words_and_a_code() {
        let of = |status, body: &str| read::<serde_json::Value>(status, body.as_bytes()).unwrap_err();
        assert_eq!(of(409, r#"{"error":"machine 1 is bad"}"#).to_string(), r#"the manager answered 409: "machine 1 is bad""#);
        assert_eq!(of(502, r#"{"error":"ssh exec failed: exit status 255"}"#).code, Code::ManagerFailed);
        assert_eq!(of(429, "slow down").code, Code::TooOften);
        assert_eq!(of(403, "<html>login</html>").code, Code::Unauthorised);
        assert_eq!(of(405, "Method Not Allowed\n").to_string(), r#"the manager answered 405: "Method Not Allowed""#);
        assert_eq!(of(200, "<html>").code, Code::NotAManager);
        assert_eq!(of(200, "[1,").code, Code::CutShort);
    }
}
