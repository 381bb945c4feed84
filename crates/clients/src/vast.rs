//! vast.ai over HTTPS: records, the account, container logs, offers; label, start, stop, reboot, destroy.
//!
//! The key is a secret type: it cannot be printed, and it goes into one header of requests to vast.ai's own address and
//! nowhere else. Each endpoint is asked no more often than vast.ai's documentation allows. Sources: vast.ai's API
//! documentation and its command line client.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use dwell_fleet::look::{ContainerOutput, VastAnswer, VastRecord, VastShown};
use dwell_wire as wire;
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use crate::secret::redact;
use crate::{Code, FetchError, Limits, VastList, VastPages};

/// Where vast.ai answers.
pub const VAST_ADDRESS: &str = "https://console.vast.ai";

/// Longest wait for one answer.
const WITHIN: Duration = Duration::from_secs(30);
/// Pauses after being told that it was too often. vast.ai tells no time to wait.
const AGAIN_AFTER: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(6)];
/// Longest label, characters.
const LABEL_CHARACTERS_MAX: usize = 256;
/// How a rental is reached, as vast.ai's own client asks for it.
const RUN_TYPE: &str = "ssh_direc ssh_proxy";
/// Offers that are read at most.
const OFFERS_MAX: usize = 1_000;
/// Largest answer read, bytes. A page of 25 records is about 100 KiB.
const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Lines of a container's log that are asked for.
const LOG_LINES: u32 = 500;
/// An uploaded log is waited for so long; right after a start half a minute is usual.
const LOG_WITHIN: Duration = Duration::from_secs(60);
const LOG_EVERY: Duration = Duration::from_secs(2);

/// A rental in the account's list.
#[derive(Debug, Clone, PartialEq)]
pub struct VastListed {
    /// vast.ai's number.
    pub id: u64,
    /// Its record.
    pub record: VastRecord,
    /// Card model.
    pub gpu_name: Option<String>,
    /// Image.
    pub image: Option<String>,
    /// Machine.
    pub machine_id: Option<u64>,
}

/// The account behind a key.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VastUser {
    /// Account number.
    pub id: Option<u64>,
    /// Credit left, US dollars.
    pub credit_dollars: Option<f64>,
}

/// An offer to rent. `None`: not told.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VastOffer {
    /// Number to rent it by.
    pub id: u64,
    /// Machine.
    pub machine_id: Option<u64>,
    /// Host.
    pub host_id: Option<u64>,
    /// Card model.
    pub gpu_name: Option<String>,
    /// Cards.
    pub num_gpus: Option<u64>,
    /// Memory of one card, MB as vast.ai counts.
    pub gpu_ram_mb: Option<f64>,
    /// Price with the disk that was asked for, US dollars per hour for all cards.
    pub dollars_per_h: Option<f64>,
    /// Place.
    pub geolocation: Option<String>,
    /// Share of time that it was up, 0 to 1.
    pub reliability: Option<f64>,
    /// Download, Mbit/s.
    pub inet_down_mbps: Option<f64>,
    /// Newest CUDA that its driver supports.
    pub cuda_max: Option<f64>,
    /// Memory of the whole host, MB.
    pub cpu_ram_mb: Option<f64>,
    /// Share of the host that is offered, 0 to 1.
    pub share: Option<f64>,
    /// Hardware threads of the host that are offered.
    pub cpu_threads: Option<f64>,
    /// Copies to the card, GB/s, as vast.ai measured them.
    pub pcie_gb_s: Option<f64>,
    /// Time left for which it is offered, seconds.
    pub lasts_s: Option<f64>,
    /// vast.ai has verified the machine.
    pub verified: Option<bool>,
    /// Compute capability times 100: 860 is sm_86.
    pub compute_cap: Option<u64>,
    /// The driver.
    pub driver_version: Option<String>,
    /// Disk that can be had, GB.
    pub disk_gb: Option<f64>,
}

/// What is to be rented.
#[derive(Debug, Clone, Default)]
pub struct Create {
    /// Image reference.
    pub image: String,
    /// Label, by which it is found again where the answer is lost.
    pub label: String,
    /// Disk, GB; it cannot be made larger afterwards.
    pub disk_gb: f64,
    /// What the container runs at its start.
    pub onstart: Option<String>,
    /// Secrets in its environment: taken out of everything that is written or shown from then on.
    pub env: Vec<(String, SecretString)>,
    /// The rest of its environment.
    pub plain_env: Vec<(String, String)>,
}

/// What is looked for. Filters that are not given are not sent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OfferQuery {
    /// Card model, as vast.ai spells it, with blanks: `RTX 4090`.
    pub gpu_name: Option<String>,
    /// Exactly so many cards: a whole host is billed.
    pub num_gpus: Option<u64>,
    /// Highest price, US dollars per hour.
    pub dollars_per_h_max: Option<f64>,
    /// Further filters, in the language of vast.ai's own client: `gpu_ram>12.5 cuda_vers>=13.0`.
    pub filter: Option<String>,
    /// Disk, GB: the price includes it.
    pub disk_gb: f64,
    /// At most so many.
    pub limit: usize,
}

/// A client of one account.
#[derive(Clone)]
pub struct VastClient {
    account: Arc<str>,
    http: reqwest::Client,
    base: Url,
    key: SecretString,
    paces: Arc<Paces>,
    within: Duration,
    log_within: Duration,
}

// The key's own type hides it; the rest is of no use in a log either.
impl std::fmt::Debug for VastClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VastClient").field("account", &self.account).field("base", &self.base.as_str()).finish_non_exhaustive()
    }
}

/// Time between two calls of an endpoint, as vast.ai documents it.
struct Paces {
    list: DefaultDirectRateLimiter,
    show: DefaultDirectRateLimiter,
    user: DefaultDirectRateLimiter,
    logs: DefaultDirectRateLimiter,
    offers: DefaultDirectRateLimiter,
    change: DefaultDirectRateLimiter,
    reboot: DefaultDirectRateLimiter,
    destroy: DefaultDirectRateLimiter,
    create: DefaultDirectRateLimiter,
}

/// The paces of every client of one address, however many there are in this process.
fn paces_of(base: &Url) -> Arc<Paces> {
    static PACES: LazyLock<Mutex<HashMap<String, Arc<Paces>>>> = LazyLock::new(Mutex::default);
    let second = Duration::from_secs(1);
    let new = || {
        Arc::new(Paces {
            list: pace(second),
            show: pace(second * 2),
            user: pace(second),
            logs: pace(second),
            offers: pace(second * 6),
            change: pace(second),
            reboot: pace(second),
            destroy: pace(second * 3),
            create: pace(Duration::from_millis(4_500)),
        })
    };
    let mut paces = PACES.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(paces.entry(base.as_str().to_owned()).or_insert_with(new))
}

fn pace(between: Duration) -> DefaultDirectRateLimiter {
    // A period of nothing would be no quota; every one given here is longer.
    RateLimiter::direct(Quota::with_period(between).unwrap_or_else(|| Quota::per_second(std::num::NonZeroU32::MIN)))
}

impl VastClient {
    /// A client of vast.ai at `base` with this key. No request is made yet.
    pub fn new(base: &str, key: SecretString, limits: Limits) -> Result<Self, FetchError> {
        let bad = |why: &str| FetchError::new(Code::BadAddress, format!("{base:?} cannot be vast.ai: {why}"));
        let url = Url::parse(base).map_err(|error| bad(&error.to_string()))?;
        let loopback = matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
        if url.scheme() != "https" && !(url.scheme() == "http" && loopback) {
            return Err(bad("a key is sent over https only, or to this machine itself"));
        }
        let mut builder = reqwest::Client::builder();
        if loopback || url.scheme() == "http" {
            // A proxy would read the key. Over https it sees no more than whom it connects to.
            builder = builder.no_proxy();
        }
        let http = builder
            .connect_timeout(limits.connect_within)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("dwell/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| FetchError::new(Code::NoCertificates, format!("cannot set up HTTPS on this machine: {error}")))?;
        dwell_fleet::keep_secret(key.expose_secret());
        let at_most = |usual: Duration| limits.within_at_most.map_or(usual, |most| most.min(usual));
        let paces = paces_of(&url);
        Ok(Self { account: Arc::from(""), http, base: url, key, paces, within: at_most(WITHIN), log_within: at_most(LOG_WITHIN) })
    }

    /// The same under the operator's name for its account.
    #[must_use]
    pub fn named(self, account: &str) -> Self {
        Self { account: Arc::from(account), ..self }
    }

    /// The operator's name for its account; empty where it was given none.
    pub fn account(&self) -> &str {
        &self.account
    }

    /// Sends a request. What only reads is sent again after a pause where vast.ai says that it was asked too often.
    async fn send(
        &self,
        method: reqwest::Method,
        path: &str,
        query: &[(&str, &str)],
        body: Option<Value>,
    ) -> Result<Value, FetchError> {
        let mut pauses = AGAIN_AFTER.iter().filter(|pause| **pause <= self.within);
        loop {
            match self.send_once(method.clone(), path, query, body.clone()).await {
                Err(error) if error.code == Code::TooOften && method == reqwest::Method::GET => match pauses.next() {
                    Some(pause) => tokio::time::sleep(*pause).await,
                    None => return Err(error),
                },
                outcome => return outcome,
            }
        }
    }

    async fn send_once(
        &self,
        method: reqwest::Method,
        path: &str,
        query: &[(&str, &str)],
        body: Option<Value>,
    ) -> Result<Value, FetchError> {
        let mut url = self.base.clone();
        url.set_path(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let mut request = self.http.request(method, url).bearer_auth(self.key.expose_secret());
        if let Some(body) = &body {
            request = request.json(body);
        }
        let (status, answer) = self.exchange(request).await?;
        // What the other side says again of the key and of what rentals get is in no answer that is used, shown or kept.
        let mut value = wire::vast_json(&answer).unwrap_or(Value::Null);
        redact(&mut value);
        let body = dwell_fleet::redacted_bytes(&answer);
        if let Some(error) = refusal(status, &value, &body) {
            return Err(error);
        }
        if !value.is_object() && !value.is_array() {
            return Err(FetchError::new(Code::NotVast, "vast.ai's answer is no JSON: something stands in between"));
        }
        Ok(value)
    }

    async fn exchange(&self, request: reqwest::RequestBuilder) -> Result<(u16, Vec<u8>), FetchError> {
        // Without the address: a signed one is a secret of its own.
        let failed = |error: &reqwest::Error| {
            let words = if error.is_timeout() {
                format!("vast.ai gave no complete answer within {} s", self.within.as_secs())
            } else if error.is_connect() {
                "vast.ai cannot be reached".to_owned()
            } else {
                "the connection to vast.ai ended in the middle".to_owned()
            };
            FetchError::new(Code::VastSilent, words)
        };
        let mut response = request.timeout(self.within).send().await.map_err(|error| failed(&error))?;
        let status = response.status().as_u16();
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| failed(&error))? {
            if body.len() + chunk.len() > BODY_BYTES_MAX {
                return Err(FetchError::too_large(BODY_BYTES_MAX));
            }
            body.extend_from_slice(&chunk);
        }
        Ok((status, body))
    }

    /// The account's rentals, as far as the list could be read, and whether that is all. An error where nothing of it could be had.
    pub async fn list(&self) -> Result<VastList, FetchError> {
        let mut pages = VastPages::default();
        let mut after: Option<String> = None;
        loop {
            self.paces.list.until_ready().await;
            let query: &[(&str, &str)] = match &after {
                None => &[],
                Some(token) => &[("after_token", token)],
            };
            let page = self.send(reqwest::Method::GET, "/api/v1/instances/", query, None).await;
            match page.and_then(|page| pages.take(&page)) {
                Ok(Some(next)) => after = Some(next),
                Ok(None) => return Ok(pages.end()),
                Err(error) if pages.has_begun() => {
                    pages.broken_off(&error);
                    return Ok(pages.end());
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// One rental's record; `None` where vast.ai has none of this number.
    pub async fn show(&self, id: u64) -> Result<Option<VastRecord>, FetchError> {
        Ok(self.shown(id).await?.map(|answer| wire::vast_record(&answer["instances"])))
    }

    async fn shown(&self, id: u64) -> Result<Option<Value>, FetchError> {
        self.paces.show.until_ready().await;
        let answer = match self.send(reqwest::Method::GET, &format!("/api/v0/instances/{id}/"), &[], None).await {
            Ok(answer) => answer,
            Err(error) if error.code == Code::NoSuchInstance => return Ok(None),
            Err(error) => return Err(error),
        };
        // An answer about another rental, or about none, does not say that this one is gone.
        let is_of_it = |record: &Value| record["id"].is_null() || record["id"].as_u64() == Some(id);
        match answer.get("instances") {
            Some(Value::Null) => Ok(None),
            Some(record @ Value::Object(_)) if is_of_it(record) => Ok(Some(answer)),
            _ => Err(FetchError::new(Code::NotVast, format!("vast.ai's answer does not tell whether it has a rental {id}"))),
        }
    }

    /// The account. The answer holds keys of its own: only what is named here is taken out of it.
    pub async fn user(&self) -> Result<VastUser, FetchError> {
        self.paces.user.until_ready().await;
        let user = self.send(reqwest::Method::GET, "/api/v0/users/current", &[], None).await?;
        Ok(VastUser { id: user["id"].as_u64(), credit_dollars: user["credit"].as_f64() })
    }

    /// The newest lines of a container's output, or of the host's daemon, and how long they took to be uploaded, seconds.
    pub async fn logs(&self, id: u64, daemon: bool) -> Result<(String, f64), FetchError> {
        self.paces.logs.until_ready().await;
        let mut body = json!({ "tail": LOG_LINES.to_string() });
        if daemon {
            body["daemon_logs"] = json!("true");
        }
        let path = format!("/api/v0/instances/request_logs/{id}/");
        let answer = self.send(reqwest::Method::PUT, &path, &[], Some(body)).await?;
        let address = answer["result_url"].as_str().and_then(|url| Url::parse(url).ok());
        let address = address.ok_or_else(|| FetchError::new(Code::NotVast, "vast.ai named no address for the log"))?;
        let began = tokio::time::Instant::now();
        loop {
            // The address is signed, and not vast.ai's: the key stays out of it.
            let (status, text) = self.exchange(self.http.get(address.clone())).await?;
            let passed = began.elapsed();
            let text = String::from_utf8_lossy(&text).into_owned();
            let ready = status == 200 && !text.trim().is_empty() && !text.starts_with("waiting on logs");
            if ready {
                return Ok((text, passed.as_secs_f64()));
            }
            if passed + LOG_EVERY > self.log_within {
                return match status {
                    200 => Ok((String::new(), passed.as_secs_f64())),
                    _ => {
                        let words = format!("the log was not uploaded to vast.ai within {} s", self.log_within.as_secs());
                        Err(FetchError::new(Code::VastSilent, words))
                    }
                };
            }
            tokio::time::sleep(LOG_EVERY).await;
        }
    }

    /// Offers that can be rented on demand, cheapest first.
    pub async fn offers(&self, query: &OfferQuery) -> Result<Vec<VastOffer>, FetchError> {
        self.paces.offers.until_ready().await;
        let limit = query.limit.clamp(1, OFFERS_MAX);
        // A machine that is rented already is of no use, whatever vast.ai's own client takes for rentable.
        let mut defaults = wire::offer_defaults();
        defaults.insert("rented".to_owned(), json!({ "eq": false }));
        let read = wire::offer_filters(query.filter.as_deref().unwrap_or(""), defaults);
        let mut body = Value::Object(read.map_err(|why| FetchError::new(Code::Refused, why))?.filters);
        body["type"] = json!("on-demand");
        body["order"] = json!([["dph_total", "asc"]]);
        body["allocated_storage"] = json!(query.disk_gb);
        body["limit"] = json!(limit);
        if let Some(name) = &query.gpu_name {
            // An underscore matches nothing here; it is how people write the name.
            body["gpu_name"] = json!({ "eq": name.replace('_', " ") });
        }
        if let Some(cards) = query.num_gpus {
            body["num_gpus"] = json!({ "eq": cards });
        }
        if let Some(dollars) = query.dollars_per_h_max {
            body["dph_total"] = json!({ "lte": dollars });
        }
        let answer = self.send(reqwest::Method::POST, "/api/v0/bundles/", &[], Some(body)).await?;
        let offers =
            answer["offers"].as_array().ok_or_else(|| FetchError::new(Code::NotVast, "vast.ai's answer has no offers"))?;
        Ok(offers.iter().take(limit).filter_map(offer).collect())
    }

    /// Rents an offer; vast.ai's number of it, where the answer names one. An answer that is lost says nothing: the list, by the
    /// label, tells whether it was rented. Never sent again by itself.
    pub async fn create(&self, offer_id: u64, wanted: &Create) -> Result<Option<u64>, FetchError> {
        if wanted.label.chars().count() > LABEL_CHARACTERS_MAX {
            return Err(FetchError::new(Code::Refused, format!("a label has {LABEL_CHARACTERS_MAX} characters at most")));
        }
        self.paces.create.until_ready().await;
        let secrets = wanted.env.iter().map(|(name, value)| (name, value.expose_secret()));
        for (_, value) in secrets.clone() {
            dwell_fleet::keep_secret(value);
        }
        let plain = wanted.plain_env.iter().map(|(name, value)| (name, value.as_str()));
        let env: serde_json::Map<String, Value> =
            plain.chain(secrets).map(|(name, value)| (name.clone(), Value::from(value))).collect();
        let mut body = json!({
            "client_id": "me",
            "image": wanted.image,
            "label": wanted.label,
            // Whole, as everything that counts: nothing on the wire is 250.0.
            "disk": wanted.disk_gb.ceil().max(0.0) as u64,
            "runtype": RUN_TYPE,
            "env": env,
            // Otherwise a machine that is gone meanwhile gives a stopped rental whose disk is billed.
            "cancel_unavail": true,
        });
        if let Some(script) = &wanted.onstart {
            body["onstart"] = Value::from(script.as_str());
        }
        let answer = self.send(reqwest::Method::PUT, &format!("/api/v0/asks/{offer_id}/"), &[], Some(body)).await?;
        Ok(answer["new_contract"].as_u64())
    }

    /// Labels a rental.
    pub async fn label(&self, id: u64, label: &str) -> Result<(), FetchError> {
        if label.chars().count() > LABEL_CHARACTERS_MAX {
            return Err(FetchError::new(Code::Refused, format!("a label has {LABEL_CHARACTERS_MAX} characters at most")));
        }
        self.change(id, json!({ "label": label })).await
    }

    /// Asks for a stopped rental to be started. Success says that vast.ai took the wish: it may wait for a free card.
    pub async fn start(&self, id: u64) -> Result<(), FetchError> {
        self.change(id, json!({ "state": "running" })).await
    }

    /// Asks for a rental to be stopped. Its disk is billed on, and its card can go to somebody else.
    pub async fn stop(&self, id: u64) -> Result<(), FetchError> {
        self.change(id, json!({ "state": "stopped" })).await
    }

    async fn change(&self, id: u64, body: Value) -> Result<(), FetchError> {
        self.paces.change.until_ready().await;
        self.send(reqwest::Method::PUT, &format!("/api/v0/instances/{id}/"), &[], Some(body)).await.map(drop)
    }

    /// Stops and starts a rental's container. The image is not fetched anew.
    pub async fn reboot(&self, id: u64) -> Result<(), FetchError> {
        self.paces.reboot.until_ready().await;
        self.send(reqwest::Method::PUT, &format!("/api/v0/instances/reboot/{id}/"), &[], Some(json!({}))).await.map(drop)
    }

    /// Asks for a rental to be destroyed, with its disk. Success says that vast.ai took the wish: whether it is gone, and not
    /// billed any more, is seen in the list alone.
    pub async fn destroy(&self, id: u64) -> Result<(), FetchError> {
        self.paces.destroy.until_ready().await;
        self.send(reqwest::Method::DELETE, &format!("/api/v0/instances/{id}/"), &[], Some(json!({}))).await.map(drop)
    }

    /// What a look at vast.ai shows of a rental: its record, whether it is listed, the account; and the record as it came,
    /// without what can hold a secret.
    pub async fn look(&self, id: u64) -> (VastAnswer, String) {
        let shown = self.shown(id).await;
        // Who does not answer at all is not asked twice more.
        let (list, user) = match &shown {
            Err(error) if error.status.is_none() => (Err(error.clone()), Err(error.clone())),
            _ => (self.list().await, self.user().await),
        };
        let listed = list.as_ref().ok().and_then(|list| list.has(id));
        let whole = list.as_ref().ok().filter(|list| list.incomplete.is_none()).map(|list| &list.rentals);
        let is_stopped = |rental: &&VastListed| matches!(rental.record.actual_status.as_deref(), Some("stopped" | "exited"));
        let raw = match &shown {
            Ok(Some(answer)) => wire::vast_answer_shown(answer),
            Ok(None) => format!("vast.ai has no rental {id}"),
            Err(error) => error.message.clone(),
        };
        let answer = VastAnswer {
            record: match shown {
                Ok(Some(answer)) => VastShown::Record(Box::new(wire::vast_record(&answer["instances"]))),
                Ok(None) => VastShown::Absent,
                Err(error) => error.status.map_or(VastShown::NoAnswer, VastShown::Refused),
            },
            listed,
            listing_retired: list.as_ref().is_err_and(|error| error.status == Some(410)),
            credit_dollars: user.ok().and_then(|user| user.credit_dollars),
            rentals: whole.map(|rentals| (rentals.len(), rentals.iter().filter(is_stopped).count())),
        };
        (answer, raw)
    }

    /// What the container and the host's daemon put out. Where nothing could be fetched, nothing is in it.
    pub async fn output(&self, id: u64) -> Result<ContainerOutput, FetchError> {
        let (container, uploaded_after_s) = self.logs(id, false).await?;
        // The daemon's log is a help where there is no container; its failure does not spoil the other.
        let daemon = self.logs(id, true).await.map(|(text, _)| text).unwrap_or_default();
        Ok(ContainerOutput { container, daemon, uploaded_after_s })
    }
}

impl VastOffer {
    /// An offer as vast.ai or the manager gives it; `None` where it has no number.
    pub fn read(record: &Value) -> Option<Self> {
        offer(record)
    }
}

impl VastListed {
    /// A row of the list; `None` where it has no number that can be read.
    pub fn read(record: &Value) -> Option<Self> {
        listed(record)
    }
}

fn offer(offer: &Value) -> Option<VastOffer> {
    let number = |name: &str| offer[name].as_f64().filter(|number| number.is_finite());
    let text = |name: &str| offer[name].as_str().map(str::to_owned);
    Some(VastOffer {
        id: offer["ask_contract_id"].as_u64().or_else(|| offer["id"].as_u64())?,
        machine_id: offer["machine_id"].as_u64(),
        host_id: offer["host_id"].as_u64(),
        gpu_name: text("gpu_name"),
        num_gpus: offer["num_gpus"].as_u64(),
        gpu_ram_mb: number("gpu_ram"),
        dollars_per_h: number("dph_total"),
        geolocation: text("geolocation"),
        reliability: number("reliability2").or_else(|| number("reliability")),
        inet_down_mbps: number("inet_down"),
        cuda_max: number("cuda_max_good"),
        cpu_ram_mb: number("cpu_ram"),
        share: number("gpu_frac").filter(|share| *share > 0.0 && *share <= 1.0),
        cpu_threads: number("cpu_cores_effective").or_else(|| number("cpu_cores")),
        pcie_gb_s: number("pcie_bw").filter(|rate| *rate > 0.0),
        lasts_s: number("duration"),
        verified: offer["verification"].as_str().map(|word| word == "verified"),
        compute_cap: offer["compute_cap"].as_u64(),
        driver_version: text("driver_version"),
        disk_gb: number("disk_space"),
    })
}

fn listed(record: &Value) -> Option<VastListed> {
    Some(VastListed {
        id: record["id"].as_u64()?,
        record: wire::vast_record(record),
        gpu_name: record["gpu_name"].as_str().map(str::to_owned),
        image: record["image_uuid"].as_str().map(str::to_owned),
        machine_id: record["machine_id"].as_u64(),
    })
}

/// What a refusal means. Codes are not uniform: a 404 can be a wrong key, and a 200 can be a refusal.
fn refusal(status: u16, value: &Value, body: &[u8]) -> Option<FetchError> {
    let refused = !(200..300).contains(&status) || value["success"] == false;
    if !refused {
        return None;
    }
    let error = value["error"].as_str().unwrap_or_default();
    let words = ["msg", "message", "detail", "error_msg"].into_iter().find_map(|name| value[name].as_str());
    let words = words.map_or_else(
        || String::from_utf8_lossy(&body[..body.len().min(120)]).into_owned(),
        |words| words.chars().take(160).collect(),
    );
    let code = match (status, error) {
        (_, "auth_error" | "not_authorized") | (401 | 403, _) => Code::KeyRefused,
        (429, _) | (_, "rate_limit_exceeded") => Code::TooOften,
        (404, "no_such_instance" | "invalid_id" | "not_found") => Code::NoSuchInstance,
        (500.., _) => Code::VastFailed,
        _ => Code::Refused,
    };
    let told = match code {
        Code::KeyRefused => "vast.ai does not accept the key".to_owned(),
        Code::TooOften => "vast.ai says that it was asked too often".to_owned(),
        _ => format!("vast.ai answered {status}"),
    };
    Some(FetchError { status: Some(status), ..FetchError::new(code, format!("{told}: {words:?}")) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_read_by_what_they_say_and_not_by_their_status() {
        let code = |status, body: &str| {
            refusal(status, &serde_json::from_str(body).unwrap_or(Value::Null), body.as_bytes()).map(|error| error.code)
        };
        assert_eq!(code(404, r#"{"success":false,"error":"auth_error","msg":"Invalid user key"}"#), Some(Code::KeyRefused));
        assert_eq!(
            code(404, r#"{"success":false,"error":"no_such_instance","msg":"error 404/3602"}"#),
            Some(Code::NoSuchInstance)
        );
        assert_eq!(code(429, "API requests too frequent: endpoint threshold=2.0"), Some(Code::TooOften));
        assert_eq!(code(200, r#"{"success":false,"error":"invalid_args","msg":"no"}"#), Some(Code::Refused));
        assert_eq!(code(502, "<html>"), Some(Code::VastFailed));
        assert_eq!(code(200, r#"{"success":true}"#), None);
        assert_eq!(code(200, r#"{"instances":null}"#), None);
    }

    #[test]
    fn a_key_is_not_sent_in_the_clear_and_not_printed() {
        let key = || SecretString::from("sk-very-secret");
        let plain = VastClient::new("http://console.vast.ai", key(), Limits::default()).map(|_| ()).map_err(|error| error.code);
        assert_eq!(plain, Err(Code::BadAddress));
        let client = VastClient::new("http://127.0.0.1:1", key(), Limits::default());
        assert!(!format!("{client:?}").contains("very-secret"), "{client:?}");
    }
}
