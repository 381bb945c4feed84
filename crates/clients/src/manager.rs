//! Sends calls: one connection pool, limits on time and size, one retry where it is safe.

use std::time::Duration;

use dwell_fleet::look::ProverAnswer;
use dwell_fleet::{LogLine, Snapshot, Timestamp};
use dwell_wire as wire;
use reqwest::Url;
use serde::de::DeserializeOwned;

use crate::request::read;
use crate::secret::without_secrets;
use crate::{Call, Code, FetchError, Method, SIMULATED_HEADER, Ssh, SshTarget, Tunnel};

/// Limits of every call.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Longest wait for a connection.
    pub connect_within: Duration,
    /// Largest body read, bytes. A dashboard of 10,000 instances is 9 MB; a full log buffer can reach some tens of MB.
    pub body_bytes_max: usize,
    /// Shortens every call's own time limit, for tests and impatient scripts.
    pub within_at_most: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connect_within: Duration::from_secs(5), body_bytes_max: 64 * 1024 * 1024, within_at_most: None }
    }
}

/// An answer and what is worth knowing of its way here.
#[derive(Debug, Clone)]
pub struct Answered<T> {
    /// The value.
    pub value: T,
    /// What the simulator says of itself; `None` from a real manager.
    pub simulated: Option<String>,
    /// Size of the body, bytes.
    pub bytes: usize,
}

/// Whether a text is an address, and not a word such as the name of a saved fleet: it has a scheme, a dot, a port, or is this
/// machine.
pub fn is_address(text: &str) -> bool {
    let text = text.trim();
    let host = text.split('/').next().unwrap_or_default();
    text.is_empty() || text.contains("://") || host.contains(['.', ':']) || host.eq_ignore_ascii_case("localhost")
}

/// A manager reached by HTTP or HTTPS.
#[derive(Debug, Clone)]
pub struct ManagerClient {
    http: reqwest::Client,
    base: Url,
    tunnel: Option<Tunnel>,
    /// As it is asked for.
    address: String,
    /// As it is shown, and as its history is kept: not by a port that differs from run to run, and this machine under one name.
    shown: String,
    limits: Limits,
}

impl ManagerClient {
    /// A client of the manager at `base`, e.g. `http://127.0.0.1:1235`. No request is made yet.
    pub fn new(base: &str, limits: Limits) -> Result<Self, FetchError> {
        let bad = |why: String| FetchError::new(Code::BadAddress, format!("{base:?} is no address of a manager: {why}"));
        if !is_address(base) {
            return Err(bad("a host's name alone needs a port or http:// before it".to_owned()));
        }
        let with_scheme = if base.contains("://") { base.to_owned() } else { format!("http://{base}") };
        let url = Url::parse(&with_scheme).map_err(|error| bad(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad(format!("{} is neither http nor https", url.scheme())));
        }
        if url.cannot_be_a_base() || url.host().is_none() {
            return Err(bad("it names no host".to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            let message = "the address holds a login, which would be shown and stored in the clear; give it without";
            return Err(FetchError::new(Code::BadAddress, message));
        }
        let http = reqwest::Client::builder()
            .connect_timeout(limits.connect_within)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .user_agent(concat!("dwell/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| {
                FetchError::new(
                    Code::NoCertificates,
                    format!("cannot set up HTTPS on this machine: {error}; on Debian and Ubuntu install ca-certificates"),
                )
            })?;
        let address = url.as_str().trim_end_matches('/').to_owned();
        let shown = dwell_fleet::manager_name(&address);
        Ok(Self { http, base: url, tunnel: None, address, shown, limits })
    }

    /// A client of the manager at `base` as seen from `target`, through an SSH tunnel that opens now and stays. Runs on the
    /// present runtime.
    pub fn through(ssh: Ssh, target: SshTarget, base: &str, limits: Limits) -> Result<Self, FetchError> {
        let mut client = Self::new(base, limits)?;
        if client.base.scheme() != "http" {
            return Err(FetchError::new(Code::BadAddress, "through SSH a manager is asked by plain http: SSH is what encrypts"));
        }
        let host = client.base.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let port = client.base.port_or_known_default().unwrap_or(80);
        client.shown = format!("{} via {}", client.shown, target.as_str());
        client.tunnel = Some(Tunnel::open(ssh, target, (host, port), None));
        Ok(client)
    }

    /// The address that is asked, as seen from where SSH leads.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The address, as it is shown and as history knows it.
    pub fn base(&self) -> &str {
        &self.shown
    }

    /// The address for messages: as it was given, where nothing is in between.
    fn asked(&self) -> &str {
        if self.tunnel.is_some() { &self.shown } else { &self.address }
    }

    /// The tunnel that it goes through.
    pub fn tunnel(&self) -> Option<&Tunnel> {
        self.tunnel.as_ref()
    }

    /// Sends a call and reads its answer.
    pub async fn send<T: DeserializeOwned>(&self, call: &Call) -> Result<Answered<T>, FetchError> {
        match self.send_once(call).await {
            Err(error) if call.is_repeatable() && error.code.is_transient() => {
                tracing::debug!(code = error.code.as_str(), %error, "once more");
                self.send_once(call).await
            }
            outcome => outcome,
        }
    }

    async fn send_once<T: DeserializeOwned>(&self, call: &Call) -> Result<Answered<T>, FetchError> {
        let within = self.limits.within_at_most.map_or(call.within, |most| most.min(call.within));
        let mut base = self.base.clone();
        let refusals = self.tunnel.as_ref().map(Tunnel::refusals);
        if let Some(tunnel) = &self.tunnel {
            let port = tunnel.port().await?;
            // Neither can fail: the host is an address, and http has ports.
            let _ = base.set_host(Some("127.0.0.1"));
            let _ = base.set_port(Some(port));
        }
        let (status, simulated, body) = match tokio::time::timeout(within, self.exchange(base, call)).await {
            Ok(Ok(exchanged)) => exchanged,
            Ok(Err(error)) => {
                if let (Some(tunnel), Some(before)) = (&self.tunnel, refusals)
                    && let Some(refused) = tunnel.has_refused_since(before).await
                {
                    return Err(refused);
                }
                return Err(error);
            }
            Err(_) => return Err(FetchError::timed_out(within)),
        };
        let bytes = body.len();
        Ok(Answered { value: read(status, &without_secrets(body))?, simulated, bytes })
    }

    async fn exchange(&self, mut url: Url, call: &Call) -> Result<(u16, Option<String>, Vec<u8>), FetchError> {
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(&call.path);
        }
        if !call.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&call.query);
        }
        let method = match call.method {
            Method::Get => reqwest::Method::GET,
            Method::Post => reqwest::Method::POST,
            Method::Delete => reqwest::Method::DELETE,
        };
        let mut request = self.http.request(method, url);
        if let Some(body) = &call.body {
            request = request.header("content-type", "application/json").body(body.clone());
        }
        let mut response = request.send().await.map_err(|error| self.failed(&error))?;
        let status = response.status().as_u16();
        let simulated = response.headers().get(SIMULATED_HEADER).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let limit = self.limits.body_bytes_max;
        if response.content_length().is_some_and(|bytes| bytes > limit as u64) {
            return Err(FetchError::too_large(limit));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.failed(&error))? {
            if body.len() + chunk.len() > limit {
                return Err(FetchError::too_large(limit));
            }
            body.extend_from_slice(&chunk);
        }
        Ok((status, simulated, body))
    }

    fn failed(&self, error: &reqwest::Error) -> FetchError {
        let mut cause: &dyn std::error::Error = error;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        if error.is_timeout() {
            FetchError::timed_out(self.limits.connect_within)
        } else if error.is_connect() {
            FetchError::new(Code::Unreachable, format!("cannot reach {}: {cause}", self.asked()))
        } else {
            FetchError::new(Code::CutShort, format!("the connection to {} ended in the middle: {cause}", self.asked()))
        }
    }

    /// The dashboard. Both times of the snapshot are given by `clock`, the operator's.
    pub async fn dashboard(&self, clock: impl Fn() -> Timestamp) -> Result<Answered<Snapshot>, FetchError> {
        let requested_at = clock();
        let answered: Answered<wire::Dashboard> = self.send(&Call::dashboard()).await?;
        Ok(Answered {
            value: wire::snapshot(answered.value, requested_at, clock()),
            simulated: answered.simulated,
            bytes: answered.bytes,
        })
    }

    /// The last `tail` lines of an instance's log, oldest first.
    pub async fn instance_logs(&self, uuid: &str, tail: usize, source: Option<&str>) -> Result<Vec<LogLine>, FetchError> {
        self.lines(&Call::instance_logs(uuid, tail, source)).await
    }

    /// The last `tail` lines of the manager's own log, oldest first.
    pub async fn manager_logs(&self, tail: usize) -> Result<Vec<LogLine>, FetchError> {
        self.lines(&Call::manager_logs(tail)).await
    }

    async fn lines(&self, call: &Call) -> Result<Vec<LogLine>, FetchError> {
        // A manager whose buffer was never made answers `null`.
        let lines: Option<Vec<wire::LogLine>> = self.send(call).await?.value;
        let lines = lines.unwrap_or_default();
        let received = lines.len();
        let read: Vec<LogLine> = lines.into_iter().filter_map(wire::log_line).collect();
        if read.is_empty() && received > 0 {
            return Err(FetchError::new(Code::NotAManager, format!("{received} log lines came, and none could be read")));
        }
        Ok(read)
    }

    /// Machines that the manager destroys instances on.
    pub async fn bad_hosts(&self) -> Result<Vec<wire::BadHostEntry>, FetchError> {
        Ok(self.send(&Call::bad_hosts()).await?.value)
    }

    /// Asks for an instance to be killed, and for its rental to be destroyed. Success says that the manager marked its row; whether
    /// the rental is gone is seen in vast.ai's list alone.
    pub async fn kill(&self, uuid: &str, vast_id: Option<u64>) -> Result<(), FetchError> {
        let body = wire::KillRequest { vast_id: vast_id.unwrap_or(0), uuid: uuid.to_owned() };
        self.send::<serde_json::Value>(&Call::kill(&body)).await.map(drop)
    }

    /// Has the manager rent an offer; vast.ai's number of it, where the answer names one. The manager labels nothing: a new rental on
    /// the same machine tells whether it was rented. The manager answers "ok" as well where vast.ai refused, for its client ends with
    /// status 0 then: the refusal stands in the client's words alone.
    pub async fn deploy(&self, wanted: &wire::DeployRequest) -> Result<Option<u64>, FetchError> {
        let answer: wire::DeployAnswer = self.send(&Call::deploy(wanted)).await?.value;
        match answer.ok {
            Some(false) => {
                let words = answer.message.unwrap_or_else(|| "without a word".to_owned());
                Err(FetchError::new(Code::ManagerFailed, format!("the manager could not rent it: {words:?}")))
            }
            _ => match (answer.instance_id.filter(|id| *id > 0), answer.message.as_deref().and_then(refused_order)) {
                (None, Some(refused)) => Err(refused),
                (id, _) => Ok(id),
            },
        }
    }

    /// Puts a machine on the list of bad hosts: its instances are destroyed within a minute.
    pub async fn ban(&self, machine_id: &str, reason: &str) -> Result<(), FetchError> {
        self.send::<serde_json::Value>(&Call::add_bad_host(machine_id, reason)).await.map(drop)
    }

    /// Takes a machine off the list of bad hosts.
    pub async fn unban(&self, machine_id: &str) -> Result<(), FetchError> {
        self.send::<serde_json::Value>(&Call::remove_bad_host(machine_id)).await.map(drop)
    }

    /// The rows without vast.ai's fields.
    pub async fn status(&self) -> Result<Vec<wire::Instance>, FetchError> {
        Ok(self.send(&Call::status()).await?.value)
    }

    /// Offers, by vast.ai's filter language or the manager's default.
    pub async fn offers(&self, filter: Option<&str>) -> Result<wire::Offers, FetchError> {
        Ok(self.send(&Call::offers(filter)).await?.value)
    }

    /// The best rate ever measured on each machine.
    pub async fn host_perf(&self) -> Result<Vec<wire::HostPerf>, FetchError> {
        Ok(self.send(&Call::host_perf()).await?.value)
    }

    /// The prover's own status, which the manager fetches by SSH, and the answer as it came. That the manager or the prover
    /// could not be reached from there is an answer; that the manager itself failed is an error.
    pub async fn prover(&self, uuid: &str) -> Result<(ProverAnswer, String), FetchError> {
        match self.send::<serde_json::Value>(&Call::cuzk_status(uuid)).await {
            Ok(answered) => {
                let raw = serde_json::to_string_pretty(&answered.value).unwrap_or_default();
                Ok((ProverAnswer::Status(wire::prover_status(&answered.value)), raw))
            }
            Err(error) => {
                let exit = error.message.split("exit status ").nth(1).and_then(|rest| {
                    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
                    digits.parse::<i32>().ok()
                });
                match (error.status, exit) {
                    (Some(502), Some(code)) => Ok((wire::prover_failure(code), error.message)),
                    (Some(404), _) => Ok((ProverAnswer::NoWay, error.message)),
                    _ => Err(error),
                }
            }
        }
    }
}
/// Characters of a client's words that are repeated.
const WORDS_MAX: usize = 200;

/// vast.ai's refusal in what its client printed of an order: `Failed with error 404: …` (client 1.9.1, `create instance`). `None`
/// where the words name none, or a failure of vast.ai's own (5xx), which leaves open whether it rented.
fn refused_order(printed: &str) -> Option<FetchError> {
    let line = printed.lines().find_map(|line| line.trim_start().strip_prefix("Failed with error "))?;
    let digits = line.split(|letter: char| !letter.is_ascii_digit()).next()?;
    let code = match digits.parse::<u16>().ok()? {
        401 | 403 => Code::KeyRefused,
        408 => return None,
        429 => Code::TooOften,
        400..=499 => Code::Refused,
        _ => return None,
    };
    let words: String = line.chars().take(WORDS_MAX).collect();
    Some(FetchError::new(code, format!("vast.ai refused the manager's order: {:?}", words.trim_end())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_that_vast_ai_refused_is_read_from_its_clients_words() {
        let code = |printed: &str| refused_order(printed).map(|error| error.code);
        assert_eq!(
            code("Failed with error 404: error 404/3603: no_such_ask Instance type by id 7 is not available.\n"),
            Some(Code::Refused)
        );
        assert_eq!(code("A new version is available\nFailed with error 400: insufficient credit"), Some(Code::Refused));
        assert_eq!(code("Failed with error 429: API requests too frequent"), Some(Code::TooOften));
        assert_eq!(code("Failed with error 403: no"), Some(Code::KeyRefused));
        for open in [
            "Failed with error 502: bad gateway",
            "Failed with error 408: ",
            "Failed with error",
            "Started. {'success': True}",
            "",
        ] {
            assert_eq!(code(open), None, "{open}");
        }
    }
}
