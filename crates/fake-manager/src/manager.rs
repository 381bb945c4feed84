//! The manager without sockets, processes or a clock: `handle(request, now)`, `tick(now)` and `answered(call, output, now)`.
//!
//! Where the real one runs a program (vast.ai's client, `ssh`), this one gives out a [`Call`] and goes on when its output is
//! handed in. Meanwhile it answers others, as the real one does.

use std::collections::{BTreeMap, HashMap, VecDeque};

use jiff::{Timestamp, tz::TimeZone};

use crate::go_json::{Kind, Struct, Typed, Writer, decode, unmarshal};
use crate::go_text::{atoi, one_decimal, rfc3339, rounded, since, to_the_second};
use crate::http::{Request, Response};
use crate::store::{BadHost, Database, HostPerf, Kept, LogBuffer, Row};
use crate::vast::{INSTANCES, OFFERS, VastInstance, id_in_label};

/// Lines that one instance's buffer holds.
pub const INSTANCE_LINES_MAX: usize = 10_000;
/// Lines that the manager's own log holds.
pub const MANAGER_LINES_MAX: usize = 5_000;
/// Bytes of one push that are read.
pub const PUSH_BYTES_MAX: usize = 256 * 1024;
/// From the start to the first cycle of the monitor, seconds.
pub const FIRST_CYCLE_S: i64 = 10;
/// From the end of a cycle to the next, seconds.
pub const CYCLE_PAUSE_S: i64 = 60;

const UNREGISTERED_MIN: i128 = 15;
const FETCH_MIN: i128 = 90;
const BENCHMARK_MIN: i128 = 45;
const KILLED_KEPT_S: i64 = 7 * 24 * 3_600;
const MINUTE_NS: i128 = 60_000_000_000;
/// Bytes of a client's output that an error repeats.
const OUTPUT_SHOWN: usize = 200;
/// What is searched where no filter is given.
const OFFERS_FILTER: &str = "disk_space>=250 dph<=0.9 gpu_ram>12.5 cpu_ram>=240 cpu_cores>25 inet_down>100 cuda_vers>=13.0";

/// A program that the manager has run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Names it in [`Manager::answered`].
    pub ticket: u64,
    /// `vastai` or `ssh`.
    pub program: &'static str,
    /// Its arguments.
    pub args: Vec<String>,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// With a status.
    Code(i32),
    /// By a signal, as Go names it: `killed`.
    Signal(String),
    /// It is not on the path.
    NotFound,
}

/// What a program left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// How it ended.
    pub exit: Exit,
    /// Its output.
    pub stdout: Vec<u8>,
    /// Its error output.
    pub stderr: Vec<u8>,
}

impl Output {
    /// Ended with a status, having printed this.
    pub fn exited(status: i32, stdout: impl Into<Vec<u8>>, stderr: impl Into<Vec<u8>>) -> Self {
        Self { exit: Exit::Code(status), stdout: stdout.into(), stderr: stderr.into() }
    }

    /// The error that Go's `os/exec` gives, if any.
    fn error(&self, program: &str) -> Option<String> {
        match &self.exit {
            Exit::Code(0) => None,
            Exit::Code(status) => Some(format!("exit status {status}")),
            Exit::Signal(name) => Some(format!("signal: {name}")),
            Exit::NotFound => Some(format!("exec: {program:?}: executable file not found in $PATH")),
        }
    }

    /// Both in one. A Python program's output comes when it ends, behind what it wrote to its error output.
    fn combined(&self) -> String {
        String::from_utf8_lossy(&[&self.stderr[..], &self.stdout[..]].concat()).trim().to_owned()
    }
}

/// What comes of a request or of a program's output.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The answer, and the ticket of the request that it belongs to; the request's own where it is answered at once.
    pub answer: Option<(Option<u64>, Response)>,
    /// The request that waits: the ticket under which its answer comes.
    pub waits: Option<u64>,
    /// Programs to run now, beside each other.
    pub calls: Vec<Call>,
}

impl Outcome {
    fn now(response: Response) -> Self {
        Self { answer: Some((None, response)), ..Self::default() }
    }
}

/// What is done when a program has ended.
#[derive(Debug, Clone)]
enum After {
    Kill { vast_id: i64, uuid: String },
    BenchDestroy { vast_id: i64 },
    Offers,
    Deploy { offer_id: i64 },
    Ssh,
    List,
    CycleDestroy { vast_id: i64 },
}

/// One thing that the monitor does to one instance.
#[derive(Debug, Clone)]
struct Step {
    say: String,
    destroy: Option<i64>,
    kill: Option<(String, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    BadHosts,
    Unregistered,
    SlowFetch,
    SlowBenchmark,
    FailedBenchmark,
    Disappeared,
}

/// A cycle of the monitor under way.
#[derive(Debug, Clone)]
struct Cycle {
    started: Timestamp,
    list: Vec<VastInstance>,
    phase: Phase,
    steps: VecDeque<Step>,
    /// What follows the destroy that is under way.
    then: Option<(String, String)>,
}

/// What is in memory only: a restart loses it.
#[derive(Debug, Clone)]
struct Memory {
    log: LogBuffer,
    instance_logs: HashMap<Vec<u8>, LogBuffer>,
    cache: Vec<VastInstance>,
    cached_at: Option<Timestamp>,
    waiting: BTreeMap<u64, After>,
    cycle: Option<Cycle>,
    next_cycle_at: Option<Timestamp>,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            log: LogBuffer::new(MANAGER_LINES_MAX),
            instance_logs: HashMap::new(),
            cache: Vec::new(),
            cached_at: None,
            waiting: BTreeMap::new(),
            cycle: None,
            next_cycle_at: None,
        }
    }
}

/// The manager.
#[derive(Debug, Clone)]
pub struct Manager {
    /// Its tables, which outlive it.
    pub database: Database,
    /// Every write to its tables fails: `database is locked`.
    pub locked: bool,
    /// From the end of a cycle of its monitor to the next, seconds: 60 in the real one.
    pub cycle_pause_s: i64,
    /// From its start to the first cycle, seconds: 10 in the real one.
    pub first_cycle_s: i64,
    /// The zone of the dates in its log: Go's logger writes local time.
    pub zone: TimeZone,
    listens: [String; 2],
    memory: Memory,
    is_up: bool,
    tickets: u64,
}

static REGISTER: Struct =
    Struct { type_name: "main.RegisterReq", name: "RegisterReq", fields: &[("label", Kind::String), ("min_rate", Kind::Float)] };
static UUID: Struct = Struct { type_name: "main.UUIDReq", name: "UUIDReq", fields: &[("uuid", Kind::String)] };
static BENCH_DONE: Struct =
    Struct { type_name: "main.BenchDoneReq", name: "BenchDoneReq", fields: &[("uuid", Kind::String), ("rate", Kind::Float)] };
static BAD_HOST: Struct = Struct {
    type_name: "main.BadHostReq",
    name: "BadHostReq",
    fields: &[("machine_id", Kind::String), ("reason", Kind::String)],
};
static KILL: Struct = Struct {
    type_name: r#"struct { VastID int "json:\"vast_id\""; UUID string "json:\"uuid\"" }"#,
    name: "",
    fields: &[("vast_id", Kind::Int), ("uuid", Kind::String)],
};
static DEPLOY: Struct = Struct {
    type_name: "main.DeployRequest",
    name: "DeployRequest",
    fields: &[("offer_id", Kind::Int), ("machine_id", Kind::Int), ("min_rate", Kind::Float), ("disk", Kind::Int)],
};

/// A refusal: status and words.
type Refused = (u16, String);

fn body(request: &Request, of: &'static Struct) -> Result<Typed, Refused> {
    decode(&request.body, Kind::Struct(of)).map_err(|why| (400, format!("bad request: {why}")))
}

fn ok() -> Response {
    Response::json(Writer::object(|to| to.bool("ok", true)))
}

impl Manager {
    /// One that has never run, with empty tables.
    pub fn new() -> Self {
        Self {
            database: Database::default(),
            locked: false,
            cycle_pause_s: CYCLE_PAUSE_S,
            first_cycle_s: FIRST_CYCLE_S,
            zone: TimeZone::UTC,
            listens: ["127.0.0.1:1236".to_owned(), "127.0.0.1:1235".to_owned()],
            memory: Memory::default(),
            is_up: false,
            tickets: 0,
        }
    }

    /// The addresses in its first two log lines.
    pub fn listens_on(&mut self, ui: &str, api: &str) {
        self.listens = [ui.to_owned(), api.to_owned()];
    }

    /// Starts the process: the tables as they were, everything else empty.
    pub fn start(&mut self, now: Timestamp) {
        self.stop();
        self.is_up = true;
        self.memory.next_cycle_at = now.checked_add(jiff::SignedDuration::from_secs(self.first_cycle_s)).ok();
        let [ui, api] = self.listens.clone();
        self.say(now, &format!("Web UI listening on {ui}"));
        self.say(now, &format!("API server listening on {api}"));
    }

    /// Ends the process.
    pub fn stop(&mut self) {
        self.is_up = false;
        self.memory = Memory::default();
    }

    /// Whether it runs.
    pub fn is_up(&self) -> bool {
        self.is_up
    }

    /// When the monitor goes on by itself. `None` while it waits for a program, and while the manager is down.
    pub fn next_cycle_at(&self) -> Option<Timestamp> {
        self.memory.next_cycle_at
    }

    /// The next cycle begins with the next [`Manager::tick`].
    pub fn cycle_now(&mut self, now: Timestamp) {
        if self.is_up && self.memory.next_cycle_at.is_some() {
            self.memory.next_cycle_at = Some(now);
        }
    }

    /// The log of an instance as it stands in memory; `None` where nothing was ever pushed or asked.
    pub fn instance_log(&self, uuid: &str) -> Option<&LogBuffer> {
        self.memory.instance_logs.get(uuid.as_bytes())
    }

    /// Its own log as it stands in memory.
    pub fn own_log(&self) -> &LogBuffer {
        &self.memory.log
    }

    /// `log.Printf`: the date, then the text. A text of several lines becomes several lines, of which the first is dated.
    fn say(&mut self, now: Timestamp, text: &str) {
        let dated = format!("{} {text}", now.to_zoned_datetime(self.zone.clone()).strftime("%Y/%m/%d %H:%M:%S"));
        self.memory.log.append(b"manager", dated.trim_end_matches('\n').as_bytes(), now.as_millisecond());
    }

    /// Answers a request, or says which programs must be run for it.
    pub fn handle(&mut self, request: &Request, now: Timestamp) -> Outcome {
        if !self.is_up {
            return Outcome::default();
        }
        let path = request.path.clone();
        let cleaned = cleaned(&path);
        if cleaned != path && request.method != "CONNECT" {
            return Outcome::now(Response::moved(&cleaned, &request.query));
        }
        let wanted = match path.as_str() {
            "/register" | "/param-done" | "/bench-done" | "/running" | "/api/log-push" | "/api/kill" | "/api/deploy" => "POST",
            "/bad-host" if request.method == "POST" => "POST",
            "/runner-id" | "/status" | "/bad-host" | "/api/dashboard" | "/api/manager-logs" | "/api/offers"
            | "/api/host-perf" => "GET",
            "/" => return Outcome::now(Response::page()),
            _ if path.starts_with("/bad-host/") => "DELETE",
            _ if path.starts_with("/api/instance-logs/") || path.starts_with("/api/cuzk-status/") => "GET",
            _ => return Outcome::now(Response::plain(404, "404 page not found\n")),
        };
        if request.method != wanted {
            return Outcome::now(Response::plain(405, "method not allowed\n"));
        }
        let done = match (path.as_str(), wanted) {
            ("/register", _) => self.register(request, now).map(Outcome::now),
            ("/param-done", _) => self.param_done(request, now).map(Outcome::now),
            ("/bench-done", _) => self.bench_done(request, now),
            ("/running", _) => self.running(request, now).map(Outcome::now),
            ("/runner-id", _) => self.runner_id(request).map(Outcome::now),
            ("/status", _) => Ok(Outcome::now(self.status())),
            ("/bad-host", "POST") => self.add_bad_host(request, now).map(Outcome::now),
            ("/bad-host", _) => Ok(Outcome::now(Response::json(self.bad_hosts()))),
            ("/api/log-push", _) => self.log_push(request, now).map(Outcome::now),
            ("/api/dashboard", _) => Ok(Outcome::now(self.dashboard(now))),
            ("/api/manager-logs", _) => Ok(Outcome::now(self.manager_logs(request))),
            ("/api/host-perf", _) => Ok(Outcome::now(self.host_perf())),
            ("/api/kill", _) => self.kill(request, now),
            ("/api/offers", _) => Ok(self.offers(request)),
            ("/api/deploy", _) => self.deploy(request),
            _ if path.starts_with("/bad-host/") => self.remove_bad_host(&path, now).map(Outcome::now),
            _ if path.starts_with("/api/cuzk-status/") => self.cuzk_status(&path),
            _ => self.instance_logs(request).map(Outcome::now),
        };
        done.unwrap_or_else(|(status, why)| Outcome::now(Response::error(status, &why)))
    }

    fn call(&mut self, program: &'static str, args: &[&str], after: After) -> Call {
        self.tickets += 1;
        self.memory.waiting.insert(self.tickets, after);
        Call { ticket: self.tickets, program, args: args.iter().map(|arg| (*arg).to_owned()).collect() }
    }

    fn destroy_call(&mut self, vast_id: i64, after: After) -> Call {
        self.call("vastai", &["destroy", "instance", &vast_id.to_string()], after)
    }

    /// `when` is what a failing write is called.
    fn written(&self, when: &str) -> Result<(), Refused> {
        if self.locked { Err((500, format!("{when}: database is locked"))) } else { Ok(()) }
    }

    fn register(&mut self, request: &Request, now: Timestamp) -> Result<Response, Refused> {
        let body = body(request, &REGISTER)?;
        let label = body.string("label").to_owned();
        if label.is_empty() {
            return Err((400, "label is required".to_owned()));
        }
        let min_rate = if body.float("min_rate") <= 0.0 { 50.0 } else { body.float("min_rate") };
        let answer = |uuid: &str, runner_id: i64| {
            Response::json(Writer::object(|to| {
                to.string("uuid", uuid);
                to.int("runner_id", runner_id);
            }))
        };
        let known = self.database.rows.iter().find(|row| row.label == label && row.state != "killed");
        if let Some((uuid, runner_id)) = known.map(|row| (row.uuid.clone(), row.runner_id)) {
            self.say(now, &format!("[register] re-register label={label} uuid={uuid} runner_id={runner_id}"));
            return Ok(answer(&uuid, runner_id));
        }
        self.written("counter error")?;
        self.database.runner_ids += 1;
        let (uuid, runner_id) = (self.database.fresh_uuid(), self.database.runner_ids);
        self.database.rows.push(Row {
            uuid: uuid.clone(),
            label: label.clone(),
            runner_id,
            state: "registered",
            min_rate,
            registered_at: to_the_second(now),
            param_done_at: None,
            bench_done_at: None,
            bench_rate: None,
            killed_at: None,
            kill_reason: None,
            kept: None,
        });
        let min_rate = one_decimal(min_rate);
        self.say(now, &format!("[register] new label={label} uuid={uuid} runner_id={runner_id} min_rate={min_rate}"));
        Ok(answer(&uuid, runner_id))
    }

    fn param_done(&mut self, request: &Request, now: Timestamp) -> Result<Response, Refused> {
        let body = body(request, &UUID)?;
        let (uuid, locked) = (body.string("uuid"), self.written("update error"));
        let row = self.database.by_uuid(uuid).ok_or((404, "instance not found".to_owned()))?;
        if row.state == "registered" {
            locked?;
            row.state = "params_done";
            row.param_done_at = Some(to_the_second(now));
            self.say(now, &format!("[param-done] uuid={uuid}"));
        } else {
            let state = row.state;
            self.say(now, &format!("[param-done] uuid={uuid} already in state={state}, no-op"));
        }
        Ok(ok())
    }

    /// Looks at no state: what was killed comes back.
    fn bench_done(&mut self, request: &Request, now: Timestamp) -> Result<Outcome, Refused> {
        let body = body(request, &BENCH_DONE)?;
        let (uuid, rate, locked) = (body.string("uuid"), body.float("rate"), self.locked);
        let row = self.database.by_uuid(uuid).ok_or((404, "instance not found".to_owned()))?;
        let (label, min_rate) = (row.label.clone(), row.min_rate);
        let passed = rate >= min_rate;
        if !locked {
            row.state = if passed { "bench_done" } else { "killed" };
            row.bench_done_at = Some(to_the_second(now));
            row.bench_rate = Some(rate);
            if !passed {
                row.killed_at = Some(to_the_second(now));
                row.kill_reason = Some(below(rate, min_rate));
            }
        }
        // The rental goes even where the row could not be written.
        let doomed = id_in_label(&label).filter(|_| !passed);
        let calls = doomed.map(|vast_id| self.destroy_call(vast_id, After::BenchDestroy { vast_id })).into_iter().collect();
        if let Err((status, why)) = self.written("update error") {
            return Ok(Outcome { calls, ..Outcome::now(Response::error(status, &why)) });
        }
        let (shown, min) = (one_decimal(rate), one_decimal(min_rate));
        self.say(now, &format!("[bench-done] uuid={uuid} rate={shown} min_rate={min} passed={passed}"));
        if rate > 0.0 && id_in_label(&label).is_some() {
            self.remember_perf(&label, rate, now);
        }
        let answer = Response::json(Writer::object(|to| {
            to.bool("ok", true);
            to.bool("passed", passed);
        }));
        Ok(Outcome { calls, ..Outcome::now(answer) })
    }

    fn remember_perf(&mut self, label: &str, rate: f64, now: Timestamp) {
        let Some(record) = self.memory.cache.iter().find(|record| Some(record.int("id")) == id_in_label(label)) else { return };
        let perf = HostPerf {
            machine_id: record.int("machine_id"),
            gpu_name: record.string("gpu_name").to_owned(),
            num_gpus: record.int("num_gpus"),
            bench_rate: rate,
            cpu_ram_mb: record.int("cpu_ram"),
            measured_at: to_the_second(now),
        };
        let (machine, gpu, gpus) = (perf.machine_id, perf.gpu_name.clone(), perf.num_gpus);
        let same = |known: &&mut HostPerf| {
            (known.machine_id, &known.gpu_name, known.num_gpus) == (perf.machine_id, &perf.gpu_name, perf.num_gpus)
        };
        match self.database.host_perf.iter_mut().find(same) {
            Some(known) => *known = HostPerf { bench_rate: known.bench_rate.max(rate), ..perf },
            None => self.database.host_perf.push(perf),
        }
        self.say(now, &format!("[host-perf] machine={machine} gpu={gpu}×{gpus} rate={}", one_decimal(rate)));
    }

    fn runner_id(&mut self, request: &Request) -> Result<Response, Refused> {
        let uuid = request.query("uuid").filter(|uuid| !uuid.is_empty());
        let uuid = uuid.ok_or((400, "uuid query param required".to_owned()))?;
        let row = self.database.by_uuid(&uuid).ok_or((404, "instance not found".to_owned()))?;
        Ok(Response::json(Writer::object(|to| to.int("runner_id", row.runner_id))))
    }

    fn running(&mut self, request: &Request, now: Timestamp) -> Result<Response, Refused> {
        let body = body(request, &UUID)?;
        self.written("update error")?;
        let uuid = body.string("uuid");
        let row = self.database.by_uuid(uuid).filter(|row| row.state != "killed");
        row.ok_or((404, "instance not found or already killed".to_owned()))?.state = "running";
        self.say(now, &format!("[running] uuid={uuid}"));
        Ok(ok())
    }

    fn status(&self) -> Response {
        Response::json(Writer::array(self.database.newest_first().map(|row| Writer::object(|to| row.write(to)))))
    }

    fn add_bad_host(&mut self, request: &Request, now: Timestamp) -> Result<Response, Refused> {
        let body = body(request, &BAD_HOST)?;
        let (machine_id, reason) = (body.string("machine_id"), body.string("reason"));
        if machine_id.is_empty() {
            return Err((400, "machine_id required".to_owned()));
        }
        self.written("db error")?;
        self.database.bad_hosts.retain(|host| host.machine_id != machine_id);
        let host = BadHost { machine_id: machine_id.to_owned(), reason: reason.to_owned(), added_at: to_the_second(now) };
        self.database.bad_hosts.push(host);
        self.say(now, &format!("[bad-host] added machine_id={machine_id} reason={reason}"));
        Ok(ok())
    }

    fn remove_bad_host(&mut self, path: &str, now: Timestamp) -> Result<Response, Refused> {
        let machine_id = after(path, "bad-host").ok_or((400, "machine_id required in path".to_owned()))?;
        self.written("db error")?;
        self.database.bad_hosts.retain(|host| host.machine_id != machine_id);
        // It says so too where there was nothing to remove.
        self.say(now, &format!("[bad-host] removed machine_id={machine_id}"));
        Ok(ok())
    }

    fn bad_hosts(&self) -> Writer {
        let mut hosts: Vec<&BadHost> = self.database.bad_hosts.iter().collect();
        hosts.sort_by_key(|host| std::cmp::Reverse(host.added_at));
        Writer::array(hosts.into_iter().map(|host| {
            Writer::object(|to| {
                to.string("machine_id", &host.machine_id);
                to.string("reason", &host.reason);
                to.string("added_at", &rfc3339(host.added_at));
            })
        }))
    }

    fn log_push(&mut self, request: &Request, now: Timestamp) -> Result<Response, Refused> {
        let header = |name: &str| request.header(name).filter(|value| !value.is_empty());
        let uuid = header("x-instance-uuid").ok_or((400, "X-Instance-UUID header required".to_owned()))?;
        let source = header("x-log-source").unwrap_or(b"unknown");
        let text = &request.body[..request.body.len().min(PUSH_BYTES_MAX)];
        if !text.is_empty() {
            self.buffer(uuid).append(source, text, now.as_millisecond());
        }
        Ok(Response::nothing(204))
    }

    fn buffer(&mut self, uuid: &[u8]) -> &mut LogBuffer {
        self.memory.instance_logs.entry(uuid.to_vec()).or_insert_with(|| LogBuffer::new(INSTANCE_LINES_MAX))
    }

    fn manager_logs(&self, request: &Request) -> Response {
        Response::json(self.memory.log.written(b"", tail(request, 500)))
    }

    /// Asking for a log makes its buffer: what is unknown and what is silent answer the same.
    fn instance_logs(&mut self, request: &Request) -> Result<Response, Refused> {
        let uuid = after(&request.path, "instance-logs").ok_or((400, "uuid required in path".to_owned()))?;
        let source = request.query("source").unwrap_or_default();
        Ok(Response::json(self.buffer(uuid.as_bytes()).written(source.as_bytes(), tail(request, 1_000))))
    }

    fn kill(&mut self, request: &Request, now: Timestamp) -> Result<Outcome, Refused> {
        let body = body(request, &KILL)?;
        let (vast_id, uuid) = (body.int("vast_id"), body.string("uuid").to_owned());
        if vast_id <= 0 {
            self.kill_row(&uuid, now);
            return Ok(Outcome::now(ok()));
        }
        self.say(now, &format!("[kill] manually destroying vast instance {vast_id} (uuid={uuid})"));
        let call = self.destroy_call(vast_id, After::Kill { vast_id, uuid });
        Ok(Outcome { waits: Some(call.ticket), calls: vec![call], answer: None })
    }

    /// Whatever became of the rental, and whether or not the row could be written: the answer is ok.
    fn kill_row(&mut self, uuid: &str, now: Timestamp) {
        let locked = self.locked;
        if let Some(row) = self.database.by_uuid(uuid).filter(|row| row.state != "killed" && !locked && !uuid.is_empty()) {
            row.state = "killed";
            row.killed_at = Some(to_the_second(now));
            row.kill_reason = Some("manually killed via UI".to_owned());
        }
    }

    fn kill_label(&mut self, label: &str, reason: &str, now: Timestamp) {
        if self.locked {
            return;
        }
        for row in self.database.rows.iter_mut().filter(|row| row.label == label && row.state != "killed") {
            row.state = "killed";
            row.killed_at = Some(to_the_second(now));
            row.kill_reason = Some(reason.to_owned());
        }
    }

    fn say_destroyed(&mut self, vast_id: i64, output: &Output, now: Timestamp) {
        match output.error("vastai") {
            None => self.say(now, &format!("[monitor] destroyed vast instance {vast_id}")),
            Some(error) => {
                let said = output.combined();
                self.say(now, &format!("[monitor] failed to destroy vast instance {vast_id}: {error} ({said})"));
            }
        }
    }

    fn offers(&mut self, request: &Request) -> Outcome {
        let filter = request.query("filter").filter(|filter| !filter.is_empty()).unwrap_or_else(|| OFFERS_FILTER.to_owned());
        let call = self.call("vastai", &["search", "offers", &filter, "--raw"], After::Offers);
        Outcome { waits: Some(call.ticket), calls: vec![call], answer: None }
    }

    fn offers_found(&self, output: &Output) -> Response {
        let failed = |why: String| Response::error(500, &format!("search failed: {why}"));
        if let Some(error) = output.error("vastai") {
            return failed(format!("vastai search offers: {error}"));
        }
        let offers = match unmarshal(&output.stdout, OFFERS) {
            Ok(offers) => offers,
            Err(why) => return failed(format!("parse vast offers: {why} (output: {})", shown(&output.stdout))),
        };
        let perfs = self.database.best_by_machine();
        let written = offers.elements().iter().map(|offer| {
            let machine = offer.int("machine_id");
            // The numbers of the list are texts, read as numbers here.
            let is_it = |host: &&BadHost| atoi(&host.machine_id) == Some(machine);
            let bad = self.database.bad_hosts.iter().rev().find(is_it).map(|host| host.reason.as_str());
            Writer::object(|to| {
                offer.write_fields(to);
                perfs.get(&machine).into_iter().for_each(|perf| to.value("known_perf", &perf.written()));
                to.bool("is_bad_host", bad.is_some());
                bad.filter(|reason| !reason.is_empty()).into_iter().for_each(|reason| to.string("bad_reason", reason));
            })
        });
        let count = offers.elements().len() as i64;
        let offers = Writer::array(written);
        Response::json(Writer::object(|to| {
            to.value("offers", &offers);
            to.int("total", count);
            to.int("filtered", count);
        }))
    }

    fn deploy(&mut self, request: &Request) -> Result<Outcome, Refused> {
        let body = body(request, &DEPLOY)?;
        let (offer_id, machine_id) = (body.int("offer_id"), body.int("machine_id"));
        if offer_id <= 0 {
            return Err((400, "offer_id required".to_owned()));
        }
        let disk = if body.int("disk") <= 0 { 250 } else { body.int("disk") };
        let min_rate = if body.float("min_rate") <= 0.0 { 30.0 } else { body.float("min_rate") };
        if machine_id > 0
            && let Some(host) = self.database.bad_host(&machine_id.to_string())
        {
            return Err((409, format!("machine {machine_id} is on bad hosts list: {}", host.reason)));
        }
        // The real one hands its tunnel's credential and server to the instance here, in two more environment arguments.
        let environment = format!("-e MIN_RATE={}", one_decimal(min_rate));
        let args = [
            "create",
            "instance",
            &offer_id.to_string(),
            "--image",
            "magik6k/curio-cuzk:latest",
            "--disk",
            &disk.to_string(),
            "--env",
            &environment,
            "--ssh",
            "--direct",
            "--onstart-cmd",
            "nohup /usr/local/bin/entrypoint.sh > /var/log/entrypoint.log 2>&1 &",
        ];
        let call = self.call("vastai", &args, After::Deploy { offer_id });
        Ok(Outcome { waits: Some(call.ticket), calls: vec![call], answer: None })
    }

    fn deployed(&mut self, offer_id: i64, output: &Output, now: Timestamp) -> Response {
        let said = output.combined();
        if let Some(error) = output.error("vastai") {
            return Response::error(500, &format!("deploy failed: {error} output: {said}"));
        }
        self.say(now, &format!("[deploy] offer={offer_id} output: {said}"));
        // Python's spelling of the answer; anything else leaves the number at 0.
        let rest = said.split_once("'new_contract':").map_or("", |(_, rest)| rest.trim());
        let digits = &rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())];
        Response::json(Writer::object(|to| {
            to.bool("ok", true);
            to.int("instance_id", atoi(digits).unwrap_or(0));
            if !said.is_empty() {
                to.string("message", &said);
            }
        }))
    }

    fn host_perf(&self) -> Response {
        // The real one's order is that of a Go map: any. Here it is by machine.
        Response::json(Writer::array(self.database.best_by_machine().values().map(|perf| perf.written())))
    }

    fn cuzk_status(&mut self, path: &str) -> Result<Outcome, Refused> {
        let uuid = after(path, "cuzk-status").ok_or((400, "uuid required in path".to_owned()))?;
        // A record whose label is the uuid comes first; there is none in ordinary life.
        let listed = self.memory.cache.iter().find(|record| record.string("label") == uuid && !record.ssh_cmd().is_empty());
        let listed = listed.map(VastInstance::ssh_cmd);
        let kept = || self.database.rows.iter().find(|row| row.uuid == uuid)?.kept.as_ref().map(|kept| kept.ssh_cmd.clone());
        let ssh = listed.or_else(kept).filter(|ssh| !ssh.is_empty());
        let ssh = ssh.ok_or((404, "no SSH info for instance".to_owned()))?;
        let words: Vec<&str> = ssh.split_whitespace().collect();
        let host = words.iter().rev().find_map(|word| word.strip_prefix("root@")).filter(|host| !host.is_empty());
        let host = host.ok_or((500, format!("cannot parse SSH command: {ssh}")))?;
        let port = words.iter().rposition(|word| *word == "-p").and_then(|at| words.get(at + 1)).unwrap_or(&"22");
        let mut args = vec!["-p", *port];
        for option in [
            "StrictHostKeyChecking=no",
            "UserKnownHostsFile=/dev/null",
            "ConnectTimeout=5",
            "ControlMaster=auto",
            "ControlPath=/tmp/vast-ssh-%r@%h:%p",
            "ControlPersist=120",
            "LogLevel=ERROR",
        ] {
            args.extend(["-o", option]);
        }
        let target = format!("root@{host}");
        args.extend([target.as_str(), "curl", "-sf", "--max-time", "3", "http://localhost:9821/status"]);
        let call = self.call("ssh", &args, After::Ssh);
        Ok(Outcome { waits: Some(call.ticket), calls: vec![call], answer: None })
    }

    /// A program has ended. What is not known (it was started before a restart) is passed over.
    pub fn answered(&mut self, ticket: u64, output: &Output, now: Timestamp) -> Outcome {
        let Some(after) = self.memory.waiting.remove(&ticket) else { return Outcome::default() };
        let answer = |response| Outcome { answer: Some((Some(ticket), response)), ..Outcome::default() };
        match after {
            After::Kill { vast_id, uuid } => {
                self.say_destroyed(vast_id, output, now);
                self.kill_row(&uuid, now);
                answer(ok())
            }
            After::BenchDestroy { vast_id } => {
                self.say_destroyed(vast_id, output, now);
                Outcome::default()
            }
            After::Offers => answer(self.offers_found(output)),
            After::Deploy { offer_id } => answer(self.deployed(offer_id, output, now)),
            After::Ssh => answer(match output.error("ssh") {
                Some(error) => Response::error(502, &format!("ssh exec failed: {error}")).open_to_all(),
                None => Response::raw_json(output.stdout.clone()).open_to_all(),
            }),
            After::List => {
                self.listed(output, now);
                Outcome { calls: self.go_on(now), ..Outcome::default() }
            }
            After::CycleDestroy { vast_id } => {
                self.say_destroyed(vast_id, output, now);
                if let Some((label, reason)) = self.memory.cycle.as_mut().and_then(|cycle| cycle.then.take()) {
                    self.kill_label(&label, &reason, now);
                }
                Outcome { calls: self.go_on(now), ..Outcome::default() }
            }
        }
    }

    /// Time has passed: begins a cycle of the monitor where one is due.
    pub fn tick(&mut self, now: Timestamp) -> Vec<Call> {
        if self.memory.next_cycle_at.is_none_or(|at| now < at) {
            return Vec::new();
        }
        self.memory.next_cycle_at = None;
        vec![self.call("vastai", &["show", "instances", "--raw"], After::List)]
    }

    fn pause(&mut self, now: Timestamp) {
        self.memory.next_cycle_at = now.checked_add(jiff::SignedDuration::from_secs(self.cycle_pause_s)).ok();
    }

    fn listed(&mut self, output: &Output, now: Timestamp) {
        let list = match output.error("vastai") {
            Some(error) => Err(format!("vastai show instances: {error}")),
            None => unmarshal(&output.stdout, INSTANCES)
                .map_err(|why| format!("parse vast output: {why} (output: {})", shown(&output.stdout))),
        };
        let list: Vec<VastInstance> = match list {
            Ok(list) => list.elements().iter().cloned().map(VastInstance).collect(),
            Err(why) => {
                self.say(now, &format!("[monitor] error: enumerate vast instances: {why} (will retry next cycle)"));
                self.pause(now);
                return;
            }
        };
        self.memory.cache.clone_from(&list);
        self.memory.cached_at = Some(now);
        self.say(now, &format!("[monitor] cached {} vast instances", list.len()));
        let mut cycle = Cycle { started: now, list, phase: Phase::BadHosts, steps: VecDeque::new(), then: None };
        cycle.steps = self.steps(&cycle, now);
        self.memory.cycle = Some(cycle);
    }

    /// Goes on with the cycle until it needs a program or is at its end.
    fn go_on(&mut self, now: Timestamp) -> Vec<Call> {
        while let Some(mut cycle) = self.memory.cycle.take() {
            if let Some(step) = cycle.steps.pop_front() {
                self.say(now, &step.say);
                let call = step.destroy.map(|vast_id| self.destroy_call(vast_id, After::CycleDestroy { vast_id }));
                match (&call, step.kill) {
                    (Some(_), then) => cycle.then = then,
                    (None, Some((label, reason))) => self.kill_label(&label, &reason, now),
                    (None, None) => {}
                }
                self.memory.cycle = Some(cycle);
                if let Some(call) = call {
                    return vec![call];
                }
                continue;
            }
            let next = match cycle.phase {
                Phase::BadHosts => {
                    self.keep_records(&cycle.list);
                    Phase::Unregistered
                }
                Phase::Unregistered => Phase::SlowFetch,
                Phase::SlowFetch => Phase::SlowBenchmark,
                Phase::SlowBenchmark => Phase::FailedBenchmark,
                Phase::FailedBenchmark => {
                    self.clean_up(now);
                    Phase::Disappeared
                }
                Phase::Disappeared => {
                    self.pause(now);
                    return Vec::new();
                }
            };
            cycle.phase = next;
            cycle.steps = self.steps(&cycle, now);
            self.memory.cycle = Some(cycle);
        }
        Vec::new()
    }

    /// Everything that a part of the cycle is going to do, as it stands at that part's beginning.
    fn steps(&self, cycle: &Cycle, now: Timestamp) -> VecDeque<Step> {
        let rows = || self.database.rows.iter();
        match cycle.phase {
            Phase::BadHosts => {
                let doomed = cycle.list.iter().filter_map(|record| {
                    let host = record.int("machine_id").to_string();
                    let reason = &self.database.bad_host(&host)?.reason;
                    let (vast_id, label) = (record.int("id"), record.string("label"));
                    let row = if label.is_empty() { format!("C.{vast_id}") } else { label.to_owned() };
                    Some(Step {
                        say: format!("[monitor] killing instance {vast_id} (label={label}) — bad host {host}: {reason}"),
                        destroy: Some(vast_id),
                        kill: Some((row, format!("bad host {host}: {reason}"))),
                    })
                });
                doomed.collect()
            }
            Phase::Unregistered => {
                let registered = |record: &&VastInstance| {
                    let (label, id) = (record.string("label"), record.int("id"));
                    let mut alive = rows().filter(|row| row.state != "killed");
                    label.is_empty() || alive.any(|row| row.label == label || id_in_label(&row.label) == Some(id))
                };
                let strangers = cycle.list.iter().filter(|record| !registered(record)).map(|record| {
                    let (vast_id, label) = (record.int("id"), record.string("label"));
                    let started = Timestamp::from_second(record.float("start_date") as i64).unwrap_or(Timestamp::MIN);
                    let age_ns = since(started, cycle.started);
                    let age = rounded(age_ns);
                    let old = age_ns > UNREGISTERED_MIN * MINUTE_NS;
                    let say = if old {
                        format!("[monitor] killing unregistered instance {vast_id} (label={label}, age={age})")
                    } else {
                        format!("[monitor] unregistered instance {vast_id} (label={label}, age={age}) — within grace period")
                    };
                    Step { say, destroy: Some(vast_id).filter(|_| old), kill: None }
                });
                strangers.collect()
            }
            Phase::SlowFetch => {
                let since_when = |row: &Row| Some(row.registered_at);
                self.timed_out(cycle, "registered", since_when, FETCH_MIN, "param fetch timeout (90min)", now)
            }
            Phase::SlowBenchmark => {
                let since_when = |row: &Row| row.param_done_at;
                self.timed_out(cycle, "params_done", since_when, BENCHMARK_MIN, "benchmark timeout (45min)", now)
            }
            Phase::FailedBenchmark => {
                let failed = rows().filter_map(|row| {
                    let rate = row.bench_rate.filter(|rate| row.state == "bench_done" && *rate < row.min_rate)?;
                    let (uuid, shown, min) = (&row.uuid, one_decimal(rate), one_decimal(row.min_rate));
                    Some(Step {
                        say: format!("[monitor] killing failed benchmark uuid={uuid} rate={shown} < min={min}"),
                        destroy: looked_up(&cycle.list, &row.label),
                        kill: Some((row.label.clone(), below(rate, row.min_rate))),
                    })
                });
                failed.collect()
            }
            Phase::Disappeared => {
                let gone = rows().filter(|row| row.state != "killed" && looked_up(&cycle.list, &row.label).is_none());
                let step = |row: &Row| {
                    let (uuid, label, state) = (&row.uuid, &row.label, row.state);
                    Step {
                        say: format!("[monitor] instance disappeared from vast uuid={uuid} label={label} state={state}"),
                        destroy: None,
                        kill: Some((row.label.clone(), "instance disappeared from vast".to_owned())),
                    }
                };
                gone.map(step).collect()
            }
        }
    }

    fn timed_out(
        &self,
        cycle: &Cycle,
        state: &str,
        since_when: impl Fn(&Row) -> Option<Timestamp>,
        minutes: i128,
        reason: &str,
        now: Timestamp,
    ) -> VecDeque<Step> {
        let late = self.database.rows.iter().filter(|row| row.state == state).filter_map(|row| {
            let age_ns = since(since_when(row)?, now);
            (age_ns > minutes * MINUTE_NS).then(|| Step {
                say: format!("[monitor] killing uuid={} (state={state}, age={}): {reason}", row.uuid, rounded(age_ns)),
                destroy: looked_up(&cycle.list, &row.label),
                kill: Some((row.label.clone(), reason.to_owned())),
            })
        });
        late.collect()
    }

    fn keep_records(&mut self, list: &[VastInstance]) {
        if self.locked {
            return;
        }
        for row in self.database.rows.iter_mut().filter(|row| row.state != "killed") {
            if let Some(record) = found(list, &row.label) {
                row.kept = Some(Kept::of(record));
            }
        }
    }

    fn clean_up(&mut self, now: Timestamp) {
        if self.locked {
            return;
        }
        let old = |at: Timestamp| now.as_second() - at.as_second() > KILLED_KEPT_S;
        self.database.rows.retain(|row| !(row.state == "killed" && row.killed_at.is_some_and(old)));
    }

    fn dashboard(&self, now: Timestamp) -> Response {
        let list = &self.memory.cache;
        let mut matched = Vec::new();
        let mut summary = Summary::default();
        let mut rows = Vec::new();
        for row in self.database.newest_first() {
            let record = found(list, &row.label);
            matched.extend(record.map(|record| record.int("id")));
            let lines = self.memory.instance_logs.get(row.uuid.as_bytes()).map_or(0, |log| log.lines().len());
            summary.count(row, record);
            rows.push(Writer::object(|to| {
                row.write(to);
                let price = |dph: f64| row.bench_rate.filter(|rate| *rate > 0.0).map_or(0.0, |rate| dph / rate);
                match (record, &row.kept) {
                    (Some(record), _) => write_record(to, record, price(record.float("dph_total"))),
                    (None, kept) => write_kept(to, kept.as_ref(), kept.as_ref().map_or(0.0, |kept| price(kept.dph_total))),
                }
                write_logs(to, lines);
            }));
        }
        for record in list.iter().filter(|record| !matched.contains(&record.int("id"))) {
            summary.total += 1;
            summary.loading += 1;
            rows.push(Writer::object(|to| {
                to.string("uuid", "");
                to.string("label", record.string("label"));
                to.int("runner_id", 0);
                to.string("state", "loading");
                to.float("min_rate", 0.0);
                to.string("registered_at", "");
                write_record(to, record, 0.0);
                write_logs(to, 0);
            }));
        }
        // Never listed: Go's longest duration.
        let age_ns = self.memory.cached_at.map_or(i128::from(i64::MAX), |at| since(at, now));
        let age_s = (age_ns / 1_000_000_000) as f64 + (age_ns % 1_000_000_000) as f64 / 1e9;
        Response::json(Writer::object(|to| {
            to.value("instances", &Writer::array(rows));
            to.value("bad_hosts", &self.bad_hosts());
            to.value("summary", &summary.written());
            to.string("updated_at", &rfc3339(now));
            to.float("vast_cache_age_s", age_s);
        }))
    }
}

impl Default for Manager {
    fn default() -> Self {
        Self::new()
    }
}

#[derive(Default)]
struct Summary {
    total: i64,
    running: i64,
    benching: i64,
    fetching: i64,
    loading: i64,
    killed: i64,
    dph: f64,
    proofs_per_h: f64,
    gpus: i64,
}

impl Summary {
    /// Money, rate and cards of `running` rows alone.
    fn count(&mut self, row: &Row, record: Option<&VastInstance>) {
        self.total += 1;
        match row.state {
            "running" => {
                self.running += 1;
                let kept = row.kept.as_ref();
                self.dph += record.map_or_else(|| kept.map_or(0.0, |kept| kept.dph_total), |record| record.float("dph_total"));
                self.gpus += record.map_or_else(|| kept.map_or(0, |kept| kept.num_gpus), |record| record.int("num_gpus"));
                self.proofs_per_h += row.bench_rate.unwrap_or(0.0);
            }
            "bench_done" | "params_done" => self.benching += 1,
            "registered" => self.fetching += 1,
            _ => self.killed += 1,
        }
    }

    fn written(&self) -> Writer {
        let price = if self.proofs_per_h > 0.0 { self.dph / self.proofs_per_h } else { 0.0 };
        Writer::object(|to| {
            to.int("total", self.total);
            to.int("running", self.running);
            to.int("benching", self.benching);
            to.int("fetching", self.fetching);
            to.int("loading", self.loading);
            to.int("killed", self.killed);
            to.float("total_dph", self.dph);
            to.float("total_proofs_hour", self.proofs_per_h);
            to.float("avg_price_per_proof", price);
            to.int("total_gpus", self.gpus);
        })
    }
}

/// vast.ai's fields of a row that its list has.
fn write_record(to: &mut Writer, record: &VastInstance, price_per_proof: f64) {
    to.int("vast_id", record.int("id"));
    to.string("gpu_name", record.string("gpu_name"));
    to.int("num_gpus", record.int("num_gpus"));
    to.float("dph_total", record.float("dph_total"));
    to.float("price_per_proof", price_per_proof);
    to.string("ssh_cmd", &record.ssh_cmd());
    to.int("host_id", record.int("host_id"));
    to.int("machine_id", record.int("machine_id"));
    to.string("geolocation", record.string("geolocation"));
    to.int("cpu_ram_mb", record.int("cpu_ram"));
    to.float("gpu_util", record.float("gpu_util"));
    to.float("gpu_temp", record.float("gpu_temp"));
    to.int("gpu_ram_mb", record.int("gpu_totalram"));
    for (name, field) in [
        ("cuda_version", "cuda_max_good"),
        ("inet_down_mbps", "inet_down"),
        ("inet_up_mbps", "inet_up"),
        ("cpu_util", "cpu_util"),
        ("mem_usage_gb", "mem_usage"),
        ("mem_limit_gb", "mem_limit"),
        ("disk_space_gb", "disk_space"),
        ("gpu_mem_bw", "gpu_mem_bw"),
    ] {
        to.float(name, record.float(field));
    }
    to.string("driver_version", record.string("driver_version"));
    to.float("reliability", record.float("reliability2"));
    to.float("start_date", record.float("start_date"));
    to.float("gpu_frac", record.float("gpu_frac"));
    to.string("status_msg", record.string("status_msg"));
    to.string("public_ip", record.string("public_ipaddr"));
}

/// The same fields of a row that the list has not: what was kept, and zeros.
fn write_kept(to: &mut Writer, kept: Option<&Kept>, price_per_proof: f64) {
    let int = |field: fn(&Kept) -> i64| kept.map_or(0, field);
    let text = |field: fn(&Kept) -> &String| kept.map_or("", |kept| field(kept));
    to.int("vast_id", int(|kept| kept.vast_id));
    to.string("gpu_name", text(|kept| &kept.gpu_name));
    to.int("num_gpus", int(|kept| kept.num_gpus));
    to.float("dph_total", kept.map_or(0.0, |kept| kept.dph_total));
    to.float("price_per_proof", price_per_proof);
    to.string("ssh_cmd", text(|kept| &kept.ssh_cmd));
    to.int("host_id", int(|kept| kept.host_id));
    to.int("machine_id", int(|kept| kept.machine_id));
    to.string("geolocation", text(|kept| &kept.geolocation));
    to.int("cpu_ram_mb", int(|kept| kept.cpu_ram_mb));
    to.float("gpu_util", 0.0);
    to.float("gpu_temp", 0.0);
    to.int("gpu_ram_mb", int(|kept| kept.gpu_ram_mb));
    for name in [
        "cuda_version",
        "inet_down_mbps",
        "inet_up_mbps",
        "cpu_util",
        "mem_usage_gb",
        "mem_limit_gb",
        "disk_space_gb",
        "gpu_mem_bw",
    ] {
        to.float(name, 0.0);
    }
    to.string("driver_version", "");
    to.float("reliability", 0.0);
    to.float("start_date", 0.0);
    to.float("gpu_frac", 0.0);
    to.string("status_msg", "");
    to.string("public_ip", text(|kept| &kept.public_ip));
}

fn write_logs(to: &mut Writer, lines: usize) {
    to.bool("has_logs", lines > 0);
    to.int("log_lines", lines as i64);
}

fn below(rate: f64, min_rate: f64) -> String {
    format!("bench_rate {} below min_rate {}", one_decimal(rate), one_decimal(min_rate))
}

/// A row's record: by its label, else by the number in it. The last of several wins.
fn found<'a>(list: &'a [VastInstance], label: &str) -> Option<&'a VastInstance> {
    let by_label = || list.iter().rev().find(|record| !record.string("label").is_empty() && record.string("label") == label);
    let by_number = || id_in_label(label).and_then(|id| list.iter().rev().find(|record| record.int("id") == id));
    by_label().or_else(by_number)
}

fn looked_up(list: &[VastInstance], label: &str) -> Option<i64> {
    found(list, label).map(|record| record.int("id"))
}

fn shown(output: &[u8]) -> String {
    String::from_utf8_lossy(&output[..output.len().min(OUTPUT_SHOWN)]).into_owned()
}

fn tail(request: &Request, ordinary: usize) -> usize {
    let asked = request.query("tail").and_then(|text| atoi(&text)).filter(|lines| *lines > 0);
    asked.map_or(ordinary, |lines| usize::try_from(lines).unwrap_or(usize::MAX))
}

/// The part of a path behind the part with this name.
fn after(path: &str, name: &str) -> Option<String> {
    let parts: Vec<&str> = path.strip_prefix('/').unwrap_or(path).split('/').collect();
    let at = parts.iter().position(|part| *part == name)?;
    parts.get(at + 1).filter(|part| !part.is_empty()).map(|part| (*part).to_owned())
}

/// A path as Go's `ServeMux` wants it: no empty part, no `.` and no `..`.
fn cleaned(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    let end = if path.ends_with('/') && !parts.is_empty() { "/" } else { "" };
    format!("/{}{end}", parts.join("/"))
}
