//! Whatever watches in a terminal goes on after an outage: `watch`, its metrics, `logs --follow`, a rollout.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::hostile::{dashboard, row, server_of};
use crate::{Sim, json, text};

/// A way to a manager that can be shut. It counts the requests that were let through.
struct Gate {
    url: String,
    is_open: Arc<AtomicBool>,
    requests: Arc<AtomicUsize>,
}

impl Gate {
    fn before(url: &str) -> Self {
        let to = url.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (is_open, requests) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
        let (open, count) = (Arc::clone(&is_open), Arc::clone(&requests));
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                if !open.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(far) = TcpStream::connect(&to) else { continue };
                let _ = (near.set_read_timeout(Some(BEAT)), far.set_read_timeout(Some(BEAT)));
                let (back, forth) = ((far.try_clone().unwrap(), near.try_clone().unwrap()), (near, far));
                for (from, into) in [back, forth] {
                    let (open, count) = (Arc::clone(&open), Arc::clone(&count));
                    std::thread::spawn(move || carry(from, into, &open, &count));
                }
            }
        });
        Self { url, is_open, requests }
    }

    fn set_open(&self, open: bool) {
        self.is_open.store(open, Ordering::SeqCst);
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

/// How often it is looked whether a gate is shut.
const BEAT: Duration = Duration::from_millis(50);

fn carry(mut from: TcpStream, mut into: TcpStream, open: &AtomicBool, requests: &AtomicUsize) {
    let mut bytes = [0; 65536];
    while open.load(Ordering::SeqCst) {
        match from.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => {
                requests.fetch_add(usize::from(bytes.starts_with(b"GET /api")), Ordering::SeqCst);
                if into.write_all(&bytes[..count]).is_err() {
                    break;
                }
            }
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {}
            Err(_) => break,
        }
    }
    let _ = (from.shutdown(std::net::Shutdown::Both), into.shutdown(std::net::Shutdown::Both));
}

/// What a process has said so far.
#[derive(Clone, Default)]
pub(crate) struct Said(Arc<Mutex<String>>);

impl Said {
    fn of(from: impl Read + Send + 'static) -> Self {
        let said = Self::default();
        let into = said.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(from).lines().map_while(Result::ok) {
                into.0.lock().unwrap().push_str(&format!("{line}\n"));
            }
        });
        said
    }

    /// Of a prompt as well, which ends no line.
    pub(crate) fn of_terminal(mut from: impl Read + Send + 'static) -> Self {
        let said = Self::default();
        let into = said.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut bytes) {
                into.0.lock().unwrap().push_str(&text(&bytes[..count]));
            }
        });
        said
    }

    pub(crate) fn so_far(&self) -> String {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn until(&self, what: &str, good: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let said = self.so_far();
            if good(&said) {
                return said;
            }
            assert!(began.elapsed() < Duration::from_secs(90), "never: {what}\n{said}");
            std::thread::sleep(BEAT);
        }
    }
}

/// `dwellctl` in the background, ended with the test.
pub(crate) struct Background {
    process: Child,
    pub(crate) out: Said,
    pub(crate) err: Said,
}

impl Background {
    pub(crate) fn run(folder: &std::path::Path, arguments: &[&str]) -> Self {
        Self::begin(Command::new(env!("CARGO_BIN_EXE_dwellctl")).args(arguments).env("DWELL_DATA_DIR", folder))
    }

    /// A command that becomes `dwellctl`.
    pub(crate) fn begin(command: &mut Command) -> Self {
        let command = command.env_remove("DWELL_MANAGER").env("TZ", "UTC");
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = Said::of(process.stdout.take().unwrap());
        let err = Said::of(process.stderr.take().unwrap());
        Self { process, out, err }
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Waits until it has ended by itself. Its exit code.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        self.process.wait().unwrap().code()
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Every outage is told once, and its end once.
fn told(said: &str) -> (usize, usize) {
    (said.matches("the manager cannot be reached").count(), said.matches("the manager answers again").count())
}

#[test]
fn a_watch_goes_on_after_an_outage_and_says_so_once() {
    let sim = Sim::serve("params-done-silence", "60");
    let gate = Gate::before(&sim.url);
    let watch = Background::run(sim.folder.path(), &["--manager", &gate.url, "watch", "--every", "500ms"]);
    watch.out.until("the head", |said| said.contains("proofs/h"));
    for outage in 1..=2 {
        gate.set_open(false);
        watch.err.until("the outage", |said| told(said) == (outage, outage - 1));
        std::thread::sleep(Duration::from_secs(4));
        let before = gate.requests();
        gate.set_open(true);
        let said = watch.err.until("its end", |said| told(said) == (outage, outage));
        assert!(said.lines().last().unwrap().contains("UTC  the manager answers again, after "), "{said}");
        let asked_again = Instant::now();
        while gate.requests() < before + 3 {
            assert!(asked_again.elapsed() < Duration::from_secs(30), "it is asked again and again");
            std::thread::sleep(BEAT);
        }
    }
    let changes = watch.out.so_far().lines().count();
    watch.out.until("changes after the outages", |said| said.lines().count() > changes);
    assert_eq!(told(&watch.err.so_far()), (2, 2));
}

/// Who reads the events alone knows of an outage, and who has left and come back.
#[test]
fn events_tell_outages_and_who_leaves_and_returns() {
    let both = dashboard(&[row(1, ""), row(2, "")].join(","));
    let body = Arc::new(Mutex::new(both.clone()));
    let gate = Gate::before(&format!("http://{}", server_of(&body)));
    let folder = tempfile::tempdir().unwrap();
    let watch = Background::run(folder.path(), &["--manager", &gate.url, "watch", "--json", "--every", "500ms"]);
    let events = |said: &str, what: &str| -> Vec<serde_json::Value> {
        let events = said.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        events.filter(|event| event["what"] == what).collect()
    };
    watch.out.until("both", |said| events(said, "seen").len() == 2);
    gate.set_open(false);
    let said = watch.out.until("the outage", |said| events(said, "outage").len() == 1);
    let outage = &events(&said, "outage")[0];
    assert_eq!((outage["from"].is_null(), &outage["to"]), (true, &"outage".into()), "{outage}");
    assert!(outage["at"].is_string() && outage["why"].is_string(), "{outage}");
    gate.set_open(true);
    let said = watch.out.until("its end", |said| events(said, "outage").len() == 2);
    let over = &events(&said, "outage")[1];
    assert_eq!((&over["from"], over["to"].is_null()), (&"outage".into(), true), "{over}");

    *body.lock().unwrap() = dashboard(&row(1, ""));
    let said = watch.out.until("that one leaves", |said| !events(said, "left").is_empty());
    let left = &events(&said, "left")[0];
    assert!(left["id"].as_str().unwrap().ends_with('2'), "{left}");
    assert_eq!((&left["from"], left["to"].is_null()), (&"running".into(), true), "{left}");
    *body.lock().unwrap() = both;
    let said = watch.out.until("that it returns", |said| !events(said, "returned").is_empty());
    assert_eq!((events(&said, "left").len(), events(&said, "seen").len()), (1, 2), "{said}");
}

#[test]
fn a_prover_is_followed_as_it_works_and_one_that_does_not_answer_is_no_failure_of_the_command() {
    let sim = Sim::serve("healthy-fleet", "60");
    let fleet = json(&sim.run(&["fleet", "--json"]));
    let running = fleet["instances"].as_array().unwrap().iter().find(|row| row["state"] == "running").unwrap();
    let id = running["id"].as_str().unwrap().to_owned();
    let once = sim.run(&["prover", &id, "--json"]);
    let panel = json(&once);
    assert_eq!((once.status.code(), &panel["answered"]), (Some(0), &true.into()), "{panel}");
    assert!(panel["completed"].is_number() && panel["workers"].is_array(), "{panel}");

    let follow = Background::run(sim.folder.path(), &["--manager", &sim.url, "prover", &id, "--follow", "--every", "1s"]);
    let said = follow.out.until("that its work goes on", |said| said.lines().count() >= 4);
    assert!(said.lines().all(|line| line.contains("UTC  ") && line.contains("completed ")), "{said}");
    drop(follow);

    // Of many answers history keeps one a minute of the manager's time: here hardly any passes.
    let slow = Sim::serve("healthy-fleet", "1");
    let follow = ["prover", &id, "--follow", "--every", "1s", "--for", "6s", "--json"];
    let answers = text(&slow.run(&follow).stdout).lines().count();
    assert!(answers >= 3, "{answers}");
    let kept = json(&slow.run(&["show", &id, "--answers", "--json"]));
    let kept = kept["answers"].as_array().unwrap().iter().filter(|it| it["channel"] == "prover-status").count();
    assert_eq!(kept, 1, "of {answers}");

    // A prover that serves none yet: that is said, and is no sign that it is dead.
    let early = Sim::serve("params-done-silence", "0");
    let output = early.run(&["prover", "d977"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.contains("Prover: connection refused") && said.contains("does not say that the prover is dead"), "{said}");
}

#[test]
fn a_watch_may_begin_before_its_manager() {
    let folder = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}");
    let watch = Background::run(folder.path(), &["--manager", &url, "watch", "--every", "500ms"]);
    watch.err.until("that nobody answers", |said| told(said) == (1, 0) && said.contains("nothing has been seen of it yet"));
    std::thread::sleep(Duration::from_secs(2));
    let port = port.to_string();
    let _manager = Background::run(folder.path(), &["sim", "serve", "params-done-silence", "--speed", "60", "--port", &port]);
    watch.err.until("that it answers", |said| told(said) == (1, 1));
    watch.out.until("the head", |said| said.contains("proofs/h"));
}

#[test]
fn metrics_say_down_and_up_again() {
    let sim = Sim::serve("params-done-silence", "1");
    let gate = Gate::before(&sim.url);
    let arguments = ["--manager", &gate.url, "watch", "--every", "500ms", "--metrics", "127.0.0.1:0"];
    let watch = Background::run(sim.folder.path(), &arguments);
    let said = watch.err.until("the address", |said| said.contains("metrics at "));
    let url = said.lines().find_map(|line| line.split_once("metrics at ").map(|(_, url)| url)).unwrap().to_owned();
    let until = |good: &str| crate::metrics::wait_for(&url, |metrics| metrics.contains(good));
    until("\ndwell_manager_up 1\n");
    gate.set_open(false);
    let down = until("\ndwell_manager_up 0\n");
    assert!(down.contains("dwell_reads_total{result=\"failed\"}"), "{down}");
    gate.set_open(true);
    until("\ndwell_manager_up 1\n");
}

#[test]
fn a_followed_log_goes_on_after_an_outage() {
    let sim = Sim::serve("params-done-silence", "60");
    let gate = Gate::before(&sim.url);
    let fleet = json(&sim.run(&["fleet", "--json"]));
    let running = fleet["instances"].as_array().unwrap().iter().find(|row| row["state"] == "running").unwrap();
    let id = running["id"].as_str().unwrap().to_owned();
    let follow = Background::run(sim.folder.path(), &["--manager", &gate.url, "logs", &id, "--follow", "-n", "5"]);
    follow.out.until("its newest lines", |said| said.lines().count() >= 5);
    gate.set_open(false);
    follow.err.until("the outage", |said| told(said) == (1, 0));
    let before = follow.out.so_far().lines().count();
    gate.set_open(true);
    follow.err.until("its end", |said| told(said) == (1, 1));
    follow.out.until("newer lines", |said| said.lines().count() > before);
}

#[test]
fn a_deployment_goes_on_after_an_outage() {
    let sim = Sim::serve("stuck-wave-rollout", "60");
    let gate = Gate::before(&sim.url);
    let folder = sim.folder.path();
    let run = |arguments: &[&str]| {
        let output = crate::dwellctl(folder, arguments);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        output
    };
    run(&["fleets", "add", "sim", &gate.url]);
    run(&["fleets", "allow-acting", "sim"]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_dwellctl"));
    let arguments = [
        "deploy",
        "1",
        "--gpu",
        "RTX 4090",
        "--budget",
        "2",
        "--every",
        "500ms",
        "--running-within",
        "12h",
        "--why",
        "more",
        "--yes",
    ];
    let mut deploy = command
        .args(arguments)
        .env("DWELL_DATA_DIR", folder)
        .env("VAST_URL", &sim.vast_url)
        .env("VAST_API_KEY", "any-key-will-do")
        .env_remove("DWELL_MANAGER")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (out, err) = (Said::of(deploy.stdout.take().unwrap()), Said::of(deploy.stderr.take().unwrap()));
    let deploy = Background { process: deploy, out, err };
    deploy.out.until("that it is on its way", |said| said.contains("coming"));
    gate.set_open(false);
    std::thread::sleep(Duration::from_secs(5));
    let before = gate.requests();
    gate.set_open(true);
    deploy.out.until("its end", |said| said.contains("ended: 1 of 1 done"));
    assert!(gate.requests() > before + 3, "{} {}", deploy.out.so_far(), deploy.err.so_far());
}
