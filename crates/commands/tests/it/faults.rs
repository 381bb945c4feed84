//! Acting on a served simulation while calls go wrong on the way: answers lost after the deed, requests lost before it, 429, 500,
//! time-outs, an ok that means nothing, a manager that is away for a while. Each deed ends as it was meant, or says that it did not.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dwell_commands::dto::*;
use dwell_commands::{App, Limits, Look, SecretString, Served, VastClient, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::world;

/// What happens to a call that changes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Done, and the answer is lost.
    AnswerLost,
    /// The request is lost.
    RequestLost,
    TooOften,
    /// A server's failure, and nothing done.
    Failed,
    /// A server's failure, and done.
    FailedAndDone,
    /// Said to be done, and not.
    Lied,
    /// Done, and no answer in time.
    TimedOut,
    /// Done, and then nobody answers for a while.
    Away,
}

const FAULTS: [Fault; 8] = [
    Fault::AnswerLost,
    Fault::RequestLost,
    Fault::TooOften,
    Fault::Failed,
    Fault::FailedAndDone,
    Fault::Lied,
    Fault::TimedOut,
    Fault::Away,
];

/// Longest wait for an answer.
const WITHIN: Duration = Duration::from_secs(5);

/// Cases that run beside each other: with all at once a busy machine answers none of them in time.
const AT_ONCE: usize = 8;

/// Stands in front of a server; the faults are for the next calls that change something, one each.
#[derive(Debug, Clone)]
struct Between {
    port: u16,
    /// Calls that change something and came through.
    passed: Arc<AtomicUsize>,
}

impl Between {
    fn new(to: u16, faults: Arc<Mutex<Vec<Fault>>>, away: Arc<AtomicBool>) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let listener = TcpListener::from_std(listener).unwrap();
        let passed = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&passed);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(carry(near, to, Arc::clone(&faults), Arc::clone(&away), Arc::clone(&counted)));
            }
        });
        Self { port, passed }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

/// One request and its answer.
async fn carry(
    mut near: TcpStream,
    to: u16,
    faults: Arc<Mutex<Vec<Fault>>>,
    away: Arc<AtomicBool>,
    passed: Arc<AtomicUsize>,
) -> Option<()> {
    let mut request = Vec::new();
    let mut chunk = [0; 16_384];
    let head = loop {
        let read = near.read(&mut chunk).await.ok().filter(|read| *read > 0)?;
        request.extend_from_slice(&chunk[..read]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let Some(end) = text.find("\r\n\r\n") else { continue };
        let length = text.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
        if request.len() >= end + 4 + length.unwrap_or(0usize) {
            break text;
        }
    };
    if away.load(Ordering::Relaxed) {
        return None;
    }
    let reads = head.starts_with("GET ")
        || head.starts_with("POST /api/v0/bundles")
        || head.starts_with("PUT /api/v0/instances/request_logs");
    let fault = if reads { None } else { faults.lock().unwrap().pop() };
    let said = |status: &str, body: &str| {
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let at_once = match fault {
        Some(Fault::RequestLost) => return None,
        Some(Fault::TooOften) => Some(said("429 Too Many Requests", "API requests too frequent: endpoint threshold=3.0")),
        Some(Fault::Failed) => Some(said("500 Internal Server Error", r#"{"error":"broken"}"#)),
        Some(Fault::Lied) => Some(said("200 OK", r#"{"success":true,"ok":true}"#)),
        _ => None,
    };
    if let Some(answer) = at_once {
        near.write_all(answer.as_bytes()).await.ok()?;
        return near.shutdown().await.ok();
    }
    passed.fetch_add(usize::from(!reads), Ordering::Relaxed);
    let mut far = TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], to))).await.ok()?;
    let closing = head.replacen("\r\n", "\r\nConnection: close\r\n", 1);
    far.write_all(closing.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    far.read_to_end(&mut answer).await.ok()?;
    match fault {
        Some(Fault::AnswerLost) => return None,
        Some(Fault::FailedAndDone) => answer = said("502 Bad Gateway", "<html>").into_bytes(),
        Some(Fault::TimedOut) => tokio::time::sleep(WITHIN + Duration::from_secs(1)).await,
        Some(Fault::Away) => {
            away.store(true, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(1_500)).await;
            away.store(false, Ordering::Relaxed);
        }
        _ => {}
    }
    near.write_all(&answer).await.ok()?;
    near.shutdown().await.ok()
}

struct Rig {
    served: Served,
    look: Look,
    manager: Between,
    vast: Between,
    _folder: tempfile::TempDir,
}

/// A served world that may be acted on, with what stands between.
async fn rig(faults: Vec<Fault>) -> Rig {
    let served = serve(world(1, 3, ""), 300.0, 0, 0).await.unwrap();
    let (faults, away) = (Arc::new(Mutex::new(faults)), Arc::new(AtomicBool::new(false)));
    let port = |url: String| url.rsplit(':').next().unwrap().parse::<u16>().unwrap();
    let manager = Between::new(port(served.url()), Arc::clone(&faults), Arc::clone(&away));
    let vast = Between::new(port(served.vast_url()), faults, away);
    let folder = tempfile::tempdir().unwrap();
    let app = App::new(Some(folder.path().to_owned())).unwrap();
    app.connect(ConnectRequest { address: manager.url(), name: Some("sim".into()), ssh: None }).await.unwrap();
    app.set_may_act("sim", true).await.unwrap();
    drop(app);
    let limits = Limits { within_at_most: Some(WITHIN), ..Limits::default() };
    let client = VastClient::new(&vast.url(), SecretString::from("any-key-will-do"), limits).unwrap();
    let look = Look::at(Some("sim"), None, Some(folder.path().to_owned()), Some(WITHIN)).unwrap();
    let look = look.with_vast(client).with_readings_every(0.05).with_readings(6);
    Rig { served, look, manager, vast, _folder: folder }
}

/// Numbers of what is rented.
fn rented(served: &Served) -> Vec<u64> {
    served.with_world(|world| {
        world.truth().into_iter().filter(|it| it.rented && it.gone_at.is_none()).map(|it| it.vast_id).collect()
    })
}

async fn deed(deed: &'static str, faults: Vec<Fault>) {
    let told = format!("{deed} {faults:?}");
    let once = faults.first().copied().filter(|_| faults.len() == 1);
    let mut rig = rig(faults).await;
    let view = rig.look.read(None).await.unwrap();
    let row = view.instances.iter().find(|row| row.uuid.is_some() && row.vast_id.is_some()).unwrap().clone();
    let others: Vec<u64> = rented(&rig.served).into_iter().filter(|id| Some(*id) != row.vast_id).collect();
    let text = matches!(deed, "label" | "ban").then(|| "a reason".to_owned());
    let request = PlanRequest { deed: deed.into(), ids: vec![row.id.clone()], text, why: None };
    // On a busy machine the account's list may come too late: nothing is sent then, and it is planned again.
    let mut tries = 0;
    let acts = loop {
        let planned = rig.look.plan(&request).await.unwrap();
        let plan = format!("{:?}", planned.view());
        let confirmation = planned.view().confirm_with.clone();
        match rig.look.carry_out(planned, confirmation.as_deref(), |_, _| {}).await {
            Ok(acts) => break acts,
            Err(error) => {
                let again = error.code == "nothing-to-do" || dwell_commands::is_to_be_planned_again(&error);
                assert!(again && tries < 20, "{told}: {error:?}: {plan}");
            }
        }
        tries += 1;
    };
    let [act] = &acts[..] else { panic!("{told}: {acts:?}") };
    assert!(act.done, "{told}: {act:?}");
    // What goes wrong once is mended; nobody can look while all are away.
    if let Some(fault) = once.filter(|fault| *fault != Fault::Away) {
        assert_eq!(act.phase, "verified", "{told} {fault:?}: {act:?}");
    }
    let id = row.vast_id.unwrap();
    let is_rented = rented(&rig.served).contains(&id);
    let passed = rig.manager.passed.load(Ordering::Relaxed) + rig.vast.passed.load(Ordering::Relaxed);
    match (deed, act.phase.as_str()) {
        ("kill" | "destroy", "verified") => assert!(!is_rented && passed >= 1, "{told}: {act:?}"),
        (_, "verified") => assert!(passed >= 1, "{told}: {act:?}"),
        // Nothing was said to have come true: what is not known is named.
        (_, "incident" | "refused") => assert!(!act.text.is_empty(), "{told}"),
        (_, other) => panic!("{told}: {other}"),
    }
    if deed != "ban" {
        let left = rented(&rig.served);
        assert!(others.iter().all(|other| left.contains(other)), "{told}: somebody else was touched");
    }
}

/// All of them, [`AT_ONCE`] at a time.
async fn beside_each_other(cases: Vec<impl Future<Output = ()> + 'static>) {
    let places = Arc::new(tokio::sync::Semaphore::new(AT_ONCE));
    let mut running = tokio::task::JoinSet::new();
    for case in cases {
        let places = Arc::clone(&places);
        running.spawn_local(async move {
            let _place = places.acquire().await.unwrap();
            case.await;
        });
    }
    while let Some(case) = running.join_next().await {
        case.unwrap();
    }
}

/// Each deed under each fault, alone and twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_deed_ends_as_meant_or_in_a_named_incident() {
    tokio::task::LocalSet::new().run_until(every_deed()).await;
}

async fn every_deed() {
    let mut cases = Vec::new();
    for fault in FAULTS {
        cases.extend(["kill", "destroy", "stop", "label", "ban"].map(|name| deed(name, vec![fault])));
        cases.extend([deed("destroy", vec![fault, Fault::Lied]), deed("kill", vec![Fault::TooOften, fault])]);
    }
    assert_eq!(cases.len(), 56);
    beside_each_other(cases).await;
}

async fn deploy(image: Option<&'static str>, fault: Fault) {
    let told = format!("{image:?} {fault:?}");
    let mut rig = rig(vec![fault]).await;
    rig.look.read(None).await.unwrap();
    let before = rented(&rig.served);
    let request: RolloutRequest = serde_json::from_value(serde_json::json!({
        "count": 1, "market": {}, "extra_dollars_per_h": 3.0, "image": image, "credit_lasts_h": 0.0, "running_within_s": 0.5,
    }))
    .unwrap();
    let planned = rig.look.plan_rollout(&request).await.unwrap();
    assert_eq!(planned.view().refused, None, "{told}");
    let name = rig.look.begin_rollout(planned, Some("deploy 1")).await.unwrap();
    let ended = rig.look.take_steps(&name, |_| {}).await.unwrap();
    let new: Vec<u64> = rented(&rig.served).into_iter().filter(|id| !before.contains(id)).collect();
    assert!(new.len() <= 1, "{told}: deployed twice: {new:?} {ended:?}");
    // Half a second is too short for anybody to run: what was rented is named as what did not.
    match new[..] {
        [id] => assert_eq!(ended.items[0].vast_id, Some(id), "{told}: {ended:?}"),
        _ => assert!(matches!(ended.state.as_str(), "paused" | "ended") && !ended.says.is_empty(), "{told}: {ended:?}"),
    }
}

/// An order under each fault, through the manager and straight from vast.ai: rented once, or not at all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_is_taken_once_whatever_happens_to_its_answer() {
    tokio::task::LocalSet::new().run_until(every_order()).await;
}

async fn every_order() {
    beside_each_other(
        FAULTS.into_iter().flat_map(|fault| [deploy(None, fault), deploy(Some("example/curio-cuzk:2"), fault)]).collect(),
    )
    .await;
}

/// Another fleet is watched while a rollout is under way: the first one is not watched any more, and does not tell into the second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rollout_does_not_keep_a_fleet_watched() {
    let folder = tempfile::tempdir().unwrap();
    let app = App::new(Some(folder.path().to_owned())).unwrap();
    let simulate = |scenario: &str| SimulateRequest { scenario: scenario.into(), seed: None, speed: Some(60.0) };
    app.simulate(simulate("stuck-wave-rollout")).await.unwrap();
    app.allow_acting(AllowActing { allow: true, for_s: None, standing: false }).await.unwrap();
    app.refresh(Nothing {}).await.unwrap();
    while app.fleet(Nothing {}).await.unwrap().instances.is_empty() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let request: RolloutRequest =
        serde_json::from_value(serde_json::json!({ "count": 1, "market": {}, "extra_dollars_per_h": 3.0 })).unwrap();
    let plan = app.plan_rollout(request).await.unwrap();
    let begun =
        app.begin_rollout(CarryOut { token: plan.token.unwrap(), confirmation: plan.confirm_with, why: None }).await.unwrap();
    assert!(begun.rollouts[0].alive && begun.rollouts[0].state == "going", "{begun:?}");

    app.simulate(simulate("healthy-fleet")).await.unwrap();
    let name = app.fleet(Nothing {}).await.unwrap().watching.name;
    let mut patches = app.hub().subscribe();
    let told = tokio::time::timeout(Duration::from_secs(4), async {
        let mut names = Vec::new();
        while let Some(patch) = patches.recv().await {
            names.push(patch.head.watching.name);
            if names.len() > 12 {
                break;
            }
        }
        names
    });
    let told = told.await.unwrap_or_default();
    assert!(told.iter().all(|it| *it == name), "{told:?}");
    assert!(app.rollouts(Nothing {}).await.unwrap().rollouts.is_empty(), "it is of another fleet");
}

/// A rule says first what it would do, then does it once, to the one whose cause is confirmed; not while the fleet is read-only.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_acts_on_a_confirmed_cause_once_and_dry_first() {
    let folder = tempfile::tempdir().unwrap();
    let app = App::new(Some(folder.path().to_owned())).unwrap();
    let request = SimulateRequest { scenario: "evening-four-truths".into(), seed: None, speed: Some(300.0) };
    app.simulate(request).await.unwrap();
    let flagged = || async {
        let view = app.fleet(Nothing {}).await.unwrap();
        view.instances.iter().filter(|row| row.flag.as_ref().is_some_and(|it| it.kind == "invisible")).count()
    };
    while flagged().await < 4 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    app.set_speed(SpeedRequest { speed: 20.0 }).await.unwrap();
    let id = "7bec818c-9e52-422b-bb31-52baefcaa6ef";
    app.make_look(LookRequest { id: id.into(), check: "ssh-probe".into() }).await.unwrap();
    let rule = Rule {
        name: "out of memory".into(),
        fleet: String::new(),
        verdict: "invisible".into(),
        cause: "host-oom-cgroup".into(),
        for_s: 60.0,
        deed: "kill".into(),
        on: true,
        dry_run: true,
        per_day: 1,
        dollars_per_h_a_day: 5.0,
    };
    assert_eq!(app.save_rule(rule.clone()).await.unwrap_err().code, "read-only");
    app.allow_acting(AllowActing { allow: true, for_s: None, standing: false }).await.unwrap();
    app.save_rule(rule.clone()).await.unwrap();
    let done = |phase: &'static str| {
        let app = &app;
        async move {
            for _ in 0..400 {
                let acts = app.acts(Nothing {}).await.unwrap().acts;
                if let Some(act) = acts.into_iter().find(|act| act.phase == phase) {
                    return act;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            panic!("never {phase}: {:?}", app.acts(Nothing {}).await.unwrap().acts)
        }
    };
    let dry = done("dry-run").await;
    assert!(dry.target == id && dry.done && dry.why.contains("rule out of memory: invisible"), "{dry:?}");
    assert_eq!(app.rules(Nothing {}).await.unwrap().rules[0].today, 1);
    app.save_rule(Rule { dry_run: false, per_day: 2, ..rule.clone() }).await.unwrap();
    let real = done("verified").await;
    assert!(real.target == id && real.deed == "kill" && real.why.contains("host-oom-cgroup confirmed"), "{real:?}");
    let acts = app.acts(Nothing {}).await.unwrap().acts;
    assert!(acts.iter().all(|act| act.target == id) && acts.len() == 2, "nobody else, and once: {acts:?}");
    let rules = app.remove_rule(RuleName { name: rule.name }).await.unwrap();
    assert!(rules.rules.is_empty());
}
