//! The manager on a loopback port, with a thread of its own.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::oneshot;

use crate::account::Account;
use crate::http::{Request, Response};
use crate::manager::{Call, Exit, Manager, Outcome, Output};

/// Bytes of a request that are read.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// How often the monitor's time is looked at.
const TICK_EVERY: Duration = Duration::from_millis(10);

/// What runs when the manager runs `vastai`.
#[derive(Debug, Clone, Default)]
pub enum Client {
    /// [`Account::run`].
    #[default]
    Account,
    /// A real program, with these added to its environment.
    Program(PathBuf, Vec<(String, String)>),
}

/// How it is served.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// What runs when it runs `vastai`.
    pub client: Client,
    /// Its clock at the start; this machine's where not given.
    pub start: Option<Timestamp>,
    /// Its seconds in one of ours; 0 means 1.
    pub speed: f64,
    /// Between two cycles of its monitor; 60 s where not given, as in the real one.
    pub cycle_pause: Option<Duration>,
    /// From its start to its first cycle; 10 s where not given, as in the real one.
    pub first_cycle: Option<Duration>,
}

/// A request that came over the socket.
#[derive(Debug, Clone)]
pub struct Seen {
    /// GET, POST, DELETE.
    pub method: String,
    /// Path with its query.
    pub target: String,
    /// As text.
    pub body: String,
    /// What it was answered with; 0 while it waits.
    pub status: u16,
    /// When it came, by this machine.
    pub at: Instant,
}

#[derive(Debug)]
struct Inner {
    manager: Manager,
    account: Account,
    client: Client,
    started: Instant,
    start: Timestamp,
    speed: f64,
    skipped: Duration,
    answer_after: Duration,
    seen: Vec<Seen>,
    waiting: Vec<(u64, oneshot::Sender<Response>)>,
}

impl Inner {
    fn now(&self) -> Timestamp {
        let passed = self.started.elapsed().mul_f64(self.speed) + self.skipped;
        let passed = SignedDuration::try_from(passed).unwrap_or_default();
        self.start.checked_add(passed).unwrap_or(self.start)
    }

    /// Answers those who wait.
    fn settle(&mut self, outcome: Outcome) -> Vec<Call> {
        if let Some((Some(ticket), response)) = outcome.answer
            && let Some(at) = self.waiting.iter().position(|(known, _)| *known == ticket)
        {
            // Whoever asked may have gone away.
            let _ = self.waiting.swap_remove(at).1.send(response);
        }
        outcome.calls
    }
}

type Shared = Arc<Mutex<Inner>>;

fn locked(shared: &Shared) -> MutexGuard<'_, Inner> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A served manager. It ends when it is dropped.
#[derive(Debug)]
pub struct FakeManager {
    shared: Shared,
    address: SocketAddr,
    run: Mutex<Option<(oneshot::Sender<()>, JoinHandle<()>)>>,
}

impl FakeManager {
    /// Starts on a free loopback port. Needs no runtime of the caller's, and may be called within one.
    #[expect(clippy::disallowed_methods, reason = "the clock of a server for tests starts with the machine's")]
    pub fn serve(options: Options) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap_or_else(|error| panic!("no port on loopback: {error}"));
        let address = listener.local_addr().unwrap_or_else(|error| panic!("a port without an address: {error}"));
        let start = options.start.unwrap_or_else(Timestamp::now);
        let mut manager = Manager::new();
        manager.listens_on(&format!("127.0.0.1:{}", address.port() + 1), &address.to_string());
        let seconds = |wanted: Option<Duration>, ordinary: i64| {
            // Whole seconds upwards, so that a short one is not none.
            wanted.map_or(ordinary, |wanted| wanted.as_secs_f64().ceil() as i64)
        };
        manager.cycle_pause_s = seconds(options.cycle_pause, manager.cycle_pause_s);
        manager.first_cycle_s = seconds(options.first_cycle, manager.first_cycle_s);
        let inner = Inner {
            manager,
            account: Account::default(),
            client: options.client,
            started: Instant::now(),
            start,
            speed: if options.speed == 0.0 { 1.0 } else { options.speed },
            skipped: Duration::ZERO,
            answer_after: Duration::ZERO,
            seen: Vec::new(),
            waiting: Vec::new(),
        };
        let this = Self { shared: Arc::new(Mutex::new(inner)), address, run: Mutex::new(None) };
        this.begin(listener);
        this
    }

    fn begin(&self, listener: TcpListener) {
        {
            let mut inner = locked(&self.shared);
            let now = inner.now();
            inner.manager.start(now);
        }
        let (stop, stopped) = oneshot::channel();
        let shared = self.shared.clone();
        let thread = std::thread::spawn(move || serve_until(listener, shared, stopped));
        *self.run.lock().unwrap_or_else(PoisonError::into_inner) = Some((stop, thread));
    }

    /// Ends the process: its port is closed, every connection is cut, its buffers are lost.
    pub fn stop(&self) {
        let run = self.run.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((stop, thread)) = run {
            let _ = stop.send(());
            let _ = thread.join();
        }
        let mut inner = locked(&self.shared);
        inner.manager.stop();
        inner.waiting.clear();
    }

    /// Starts it again at the same address, with the tables that it had.
    pub fn start_again(&self) {
        self.stop();
        let mut tries = 0;
        let listener = loop {
            match TcpListener::bind(self.address) {
                Ok(listener) => break listener,
                Err(error) if tries == 50 => panic!("{} is taken: {error}", self.address),
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
            tries += 1;
        };
        self.begin(listener);
    }

    /// Where it answers: `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its clock.
    pub fn now(&self) -> Timestamp {
        locked(&self.shared).now()
    }

    /// Lets this much time pass at once, by its clock. The monitor follows at its own pace, one cycle after another.
    pub fn advance(&self, by: Duration) {
        locked(&self.shared).skipped += by;
    }

    /// From now on every answer comes this much later.
    pub fn answer_after(&self, delay: Duration) {
        locked(&self.shared).answer_after = delay;
    }

    /// Reads or changes the account behind its client.
    pub fn account<T>(&self, f: impl FnOnce(&mut Account) -> T) -> T {
        f(&mut locked(&self.shared).account)
    }

    /// Reads or changes the manager itself.
    pub fn manager<T>(&self, f: impl FnOnce(&mut Manager) -> T) -> T {
        f(&mut locked(&self.shared).manager)
    }

    /// Runs a cycle of the monitor and waits until it is over; at most 10 s, for its client may hang.
    pub fn cycle(&self) {
        let at = {
            let mut inner = locked(&self.shared);
            let now = inner.now();
            inner.manager.cycle_now(now);
            now
        };
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(TICK_EVERY);
            if locked(&self.shared).manager.next_cycle_at().is_some_and(|next| next > at) {
                return;
            }
        }
    }

    /// Every request that came over the socket, in order.
    pub fn requests(&self) -> Vec<Seen> {
        locked(&self.shared).seen.clone()
    }

    /// The lines of its own log.
    pub fn log(&self) -> Vec<String> {
        let inner = locked(&self.shared);
        inner.manager.own_log().lines().iter().map(|line| String::from_utf8_lossy(&line.text).into_owned()).collect()
    }

    /// A request without the socket, as an instance makes it. Those that need a program wait for it where the account
    /// answers at once, and are answered with status 0 where it hangs or is a real program.
    pub fn call(&self, method: &str, target: &str, body: &str) -> Response {
        self.request(&Request::new(method, target, body))
    }

    fn request(&self, request: &Request) -> Response {
        let mut inner = locked(&self.shared);
        let inner = &mut *inner;
        let outcome = inner.manager.handle(request, inner.now());
        let mut answer = outcome.answer.as_ref().map(|(_, response)| response.clone());
        let (mut calls, waits) = (outcome.calls, outcome.waits);
        while let Some(call) = calls.pop() {
            let now = inner.now();
            if call.program == "vastai" && matches!(inner.client, Client::Program(..)) {
                continue;
            }
            let Some(output) = inner.account.run(&call, now.as_second() as f64) else { continue };
            let next = inner.manager.answered(call.ticket, &output, now);
            if let Some((ticket, response)) = next.answer.clone()
                && ticket == waits
            {
                answer = Some(response);
            }
            calls.extend(inner.settle(next));
        }
        answer.unwrap_or_else(|| Response { status: 0, headers: Vec::new(), body: Vec::new() })
    }

    /// Lines that an instance ships.
    pub fn push(&self, uuid: &str, source: &str, text: &str) {
        let request = Request::new("POST", "/api/log-push", text);
        self.request(&request.with("X-Instance-UUID", uuid).with("X-Log-Source", source));
    }

    /// Rents `vast_id`, and lets it register: its uuid.
    pub fn registered(&self, vast_id: u64) -> String {
        let started = self.now().as_second() as f64 - 600.0;
        self.account(|account| account.rent(vast_id, started).len());
        self.register(vast_id)
    }

    /// Lets a rented instance register: its uuid.
    pub fn register(&self, vast_id: u64) -> String {
        let answer = self.call("POST", "/register", &format!(r#"{{"label":"C.{vast_id}","min_rate":30}}"#)).value();
        answer["uuid"].as_str().unwrap_or_default().to_owned()
    }

    /// Rents `vast_id`, and lets it go through its life until it proves: its uuid.
    pub fn running(&self, vast_id: u64) -> String {
        let uuid = self.registered(vast_id);
        self.call("POST", "/param-done", &format!(r#"{{"uuid":"{uuid}"}}"#));
        self.call("POST", "/bench-done", &format!(r#"{{"uuid":"{uuid}","rate":41.5}}"#));
        self.call("POST", "/running", &format!(r#"{{"uuid":"{uuid}"}}"#));
        uuid
    }
}

impl Drop for FakeManager {
    fn drop(&mut self) {
        self.stop();
    }
}

fn serve_until(listener: TcpListener, shared: Shared, stopped: oneshot::Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.unwrap_or_else(|error| panic!("no runtime: {error}"));
    runtime.block_on(async move {
        if let Err(error) = listener.set_nonblocking(true) {
            panic!("a port that blocks: {error}");
        }
        let listener = tokio::net::TcpListener::from_std(listener).unwrap_or_else(|error| panic!("no listener: {error}"));
        let router = axum::Router::new().fallback(answer).with_state(shared.clone());
        tokio::select! {
            _ = stopped => {}
            result = async { axum::serve(listener, router).await } => panic!("serving ended: {result:?}"),
            () = monitor(shared) => {}
        }
    });
    // What is still under way ends here, connections included.
}

async fn monitor(shared: Shared) {
    let mut tick = tokio::time::interval(TICK_EVERY);
    loop {
        tick.tick().await;
        let calls = {
            let mut inner = locked(&shared);
            let now = inner.now();
            inner.manager.tick(now)
        };
        start(&shared, calls);
    }
}

/// Runs programs beside each other; each goes on with what follows from it.
fn start(shared: &Shared, calls: Vec<Call>) {
    for call in calls {
        let shared = shared.clone();
        tokio::spawn(async move {
            let Some(output) = run(&shared, &call).await else { return };
            let calls = {
                let mut inner = locked(&shared);
                let now = inner.now();
                let outcome = inner.manager.answered(call.ticket, &output, now);
                inner.settle(outcome)
            };
            start(&shared, calls);
        });
    }
}

async fn run(shared: &Shared, call: &Call) -> Option<Output> {
    let client = locked(shared).client.clone();
    match client {
        Client::Program(program, environment) if call.program == "vastai" => Some(run_program(call, program, environment).await),
        _ => {
            let takes = locked(shared).account.takes;
            tokio::time::sleep(takes).await;
            let mut inner = locked(shared);
            let unix_s = inner.now().as_second() as f64;
            inner.account.run(call, unix_s)
        }
    }
}

async fn run_program(call: &Call, program: PathBuf, environment: Vec<(String, String)>) -> Output {
    let mut command = tokio::process::Command::new(program);
    command.args(&call.args).envs(environment).stdin(Stdio::null()).kill_on_drop(true);
    match command.output().await {
        Ok(output) => {
            let exit = output.status.code().map_or_else(|| Exit::Signal("killed".to_owned()), Exit::Code);
            Output { exit, stdout: output.stdout, stderr: output.stderr }
        }
        Err(_) => Output { exit: Exit::NotFound, stdout: Vec::new(), stderr: Vec::new() },
    }
}

async fn answer(State(shared): State<Shared>, request: axum::extract::Request) -> axum::response::Response {
    let at = Instant::now();
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, BODY_BYTES_MAX).await.unwrap_or_default();
    let target = parts.uri.path_and_query().map_or("/", |target| target.as_str()).to_owned();
    let mut asked = Request::new(parts.method.as_str(), &target, body.to_vec());
    for (name, value) in &parts.headers {
        asked.headers.push((name.as_str().to_owned(), value.as_bytes().to_vec()));
    }
    let (mut response, waiting, delay, number) = {
        let mut inner = locked(&shared);
        let inner = &mut *inner;
        let seen =
            Seen { method: asked.method.clone(), target, body: String::from_utf8_lossy(&body).into_owned(), status: 0, at };
        inner.seen.push(seen);
        let outcome = inner.manager.handle(&asked, inner.now());
        let waiting = outcome.waits.map(|ticket| {
            let (sender, receiver) = oneshot::channel();
            inner.waiting.push((ticket, sender));
            receiver
        });
        let response = outcome.answer.map(|(_, response)| response);
        start(&shared, outcome.calls);
        (response, waiting, inner.answer_after, inner.seen.len() - 1)
    };
    if let Some(waiting) = waiting {
        response = waiting.await.ok();
    }
    tokio::time::sleep(delay).await;
    // It ended while it was asked: the connection is cut with it.
    let Some(response) = response else { return std::future::pending().await };
    if let Some(seen) = locked(&shared).seen.get_mut(number) {
        seen.status = response.status;
    }
    let mut answer = axum::response::Response::new(Body::from(response.body));
    *answer.status_mut() = StatusCode::from_u16(response.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in response.headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            answer.headers_mut().insert(name, value);
        }
    }
    answer
}
