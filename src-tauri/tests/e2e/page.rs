//! The front end in the window's engine, against the loopback bridge and real (simulated, misbehaving) managers.

use std::sync::Arc;
use std::time::Duration;

use dwell_commands::dto::{ConnectRequest, LookRequest, SimulateRequest, StartBench};
use dwell_commands::{App, Scenario, Served, World, serve};
use dwell_fake_manager::{Behaviour, FakeManager, Options};
use fantoccini::key::Key;
use serde_json::{Value, json};

use crate::driver::{Browser, Screen, engine, engine_on, repository};

/// Dwell behind the bridge, and a browser that looks at it.
struct Page {
    browser: Browser,
    app: Arc<App>,
    url: String,
    folder: tempfile::TempDir,
}

impl Page {
    fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }
}

async fn page() -> Page {
    page_on(None).await
}

async fn page_on(screen: Option<&Screen>) -> Page {
    let folder = tempfile::tempdir().unwrap();
    let app = Arc::new(App::new(Some(folder.path().to_owned())).unwrap());
    let (address, serving) = dwell_web::serve(Arc::clone(&app), &repository("ui/dist"), "c0ffee", 0).await.unwrap();
    tokio::spawn(serving);
    let browser = engine_on(screen).await;
    let url = format!("http://{address}/#token=c0ffee");
    browser.client.goto(&url).await.unwrap();
    browser.note_violations().await;
    Page { browser, app, url, folder }
}

async fn evening(speed: f64) -> Page {
    let page = page().await;
    let request = SimulateRequest { scenario: "params-done-silence".into(), seed: None, speed: Some(speed) };
    page.app.simulate(request).await.unwrap();
    page.browser.find("[data-state=running]").await;
    page
}

/// A small world of our own, served as a manager at real time.
async fn manager(text: &str, speed: f64) -> Served {
    let scenario = Scenario::parse("test", text).unwrap();
    let seed = scenario.seed;
    serve(World::new(scenario, seed, dwell_commands::now()), speed, 0, 0).await.unwrap()
}

const ONE_RUNNING: &str = r#"
name = "one-running"
title = "One instance that proves"
summary = "-"
seed = 1
start = "2026-03-13T17:00:00Z"
duration = "2h"
[[image]]
id = "new"
reference = "example/curio-cuzk:1"
ships = ["setup", "benchdaemon", "benchout", "cuzk", "curio"]
[[wave]]
at = "-3h"
image = "new"
ram_gib = 256
uuid = "0badcafe-0000-4000-8000-000000000001"
"#;

async fn connected(served: &Served) -> Page {
    let page = page().await;
    page.app.connect(ConnectRequest { address: served.url(), name: Some("under test".into()), ssh: None }).await.unwrap();
    page.browser.find("[data-id]").await;
    page
}

#[tokio::test]
async fn everything_can_be_done_with_the_keyboard() {
    let page = evening(300.0).await;
    let browser = &page.browser;
    browser.until("return document.querySelectorAll('[data-flag=invisible]').length === 4").await;
    browser.press("jj").await.unwrap();
    browser.until("return document.querySelector('[aria-selected=true][data-id]')?.dataset.flag === 'invisible'").await;
    browser.press(&Key::Enter.to_string()).await.unwrap();
    browser.sees("Does not show".to_uppercase().as_str()).await;
    browser.sees("Not one line was ever received from it").await;
    browser.press(&Key::Escape.to_string()).await.unwrap();
    browser.find("[role=grid]").await;

    browser.press("/").await.unwrap();
    browser.press("flag:invisible gpu:5090").await.unwrap();
    browser.until("return document.querySelectorAll('[data-id]').length === 2").await;
    browser.press(" nokey:x").await.unwrap();
    browser.sees("is no key").await;
    browser.press(&Key::Escape.to_string()).await.unwrap();
    browser.press("x").await.unwrap();
    browser.until("return document.querySelectorAll('[data-id]').length === 5").await;

    browser.press("?").await.unwrap();
    browser.sees("Show the manager's own log").await;
    browser.press(&Key::Escape.to_string()).await.unwrap();
    browser.until("return !document.querySelector('[role=dialog]')").await;
    browser.press("gm").await.unwrap();
    browser.sees("[monitor] cached 5 vast instances").await;

    let palette = format!("{}k", char::from(Key::Control));
    browser.press(&palette).await.unwrap();
    browser.find("[role=dialog] input").await.send_keys("d977").await.unwrap();
    browser.until("return document.querySelectorAll('[role=dialog] [data-command-item]').length === 1").await;
    browser.press(&Key::Enter.to_string()).await.unwrap();
    browser.until("return document.querySelector('[data-testid=instance-id]')?.innerText.startsWith('d977dead')").await;
    assert_eq!(browser.violations().await, json!([]), "the content policy refused something");
    page.browser.close().await;
}

#[tokio::test]
async fn a_manager_that_goes_away_leaves_the_last_data_with_its_age_and_a_code() {
    let served = manager(ONE_RUNNING, 1.0).await;
    let page = connected(&served).await;
    page.browser.find("[data-state=running]").await;
    drop(served);
    page.app.refresh(dwell_commands::dto::Nothing {}).await.unwrap();
    page.browser.find("[data-testid=failing]").await;
    page.browser.sees("unreachable").await;
    page.browser.sees("Last reported").await;
    assert_eq!(page.browser.client.find_all(fantoccini::Locator::Css("[data-id]")).await.unwrap().len(), 1, "nothing is lost");
    page.browser.close().await;
}

#[tokio::test]
async fn a_written_off_fleet_is_said_above_every_view_until_it_is_accounted_for() {
    let manager = FakeManager::serve(Options::default());
    (31_000_010..31_000_021).for_each(|number| _ = manager.running(number));
    manager.cycle();
    let page = page().await;
    let browser = &page.browser;
    page.app.connect(ConnectRequest { address: manager.url(), name: Some("under test".into()), ssh: None }).await.unwrap();
    browser.until("return document.querySelectorAll('[data-id]').length === 11").await;
    assert_eq!(browser.run("return document.querySelectorAll('[data-testid=condition]').length").await, json!(0));

    manager.account(|account| account.list = Behaviour::prints("[]"));
    manager.cycle();
    page.app.refresh(dwell_commands::dto::Nothing {}).await.unwrap();
    browser
        .until("return document.querySelector('[data-testid=condition][role=alert]')?.dataset.kind === 'fleet-written-off'")
        .await;
    browser.until("return document.querySelectorAll('[data-flag=written-off]').length === 11").await;
    let sums = browser.run("return document.querySelector('[data-testid=sums]').innerText.replace(/\\s+/g, ' ')").await;
    let sums = sums.as_str().unwrap();
    assert!(sums.contains("$3.41/h billed or not: unknown") && sums.contains("\u{2013}/h leaking"), "{sums}");
    browser.press("gi").await.unwrap();
    browser.sees("11 in killed").await;
    browser.sees("The whole fleet (11 instances) was written off at once").await;
    browser.find("[data-testid=condition] summary").await.click().await.unwrap();
    browser.sees("The manager believes the list that its vast.ai client prints").await;
    assert_eq!(browser.accessibility_faults().await, Vec::<String>::new());

    browser.press("gf").await.unwrap();
    browser.run("[...document.querySelectorAll('[data-testid=condition] button')].find((it) => it.innerText.startsWith('It was meant')).click()").await;
    browser.find("[data-testid=condition] input").await.send_keys("moved away").await.unwrap();
    browser.run("[...document.querySelectorAll('[data-testid=condition] button')].find((it) => it.innerText === 'Acknowledge 11').click()").await;
    browser.until("return document.querySelectorAll('[data-testid=condition]').length === 0").await;
    browser.until("return document.querySelectorAll('[data-flag=written-off]').length === 0").await;

    // What is shown ages while nothing is heard.
    manager.stop();
    page.app.refresh(dwell_commands::dto::Nothing {}).await.unwrap();
    browser.until("return document.querySelector('[data-testid=condition]')?.dataset.kind === 'manager-unreachable'").await;
    browser.until("return document.querySelector('header .mode')?.innerText === 'NO ANSWER'").await;
    page.browser.close().await;
}

/// The form saves what answers. What does not is saved when a person says so.
#[tokio::test]
async fn what_does_not_answer_is_not_saved_unless_that_is_wished() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let page = page().await;
    let browser = &page.browser;
    let address = format!("http://127.0.0.1:{port}");
    browser.find("input[name=address]").await.send_keys(&address).await.unwrap();
    browser.find("form button.primary").await.click().await.unwrap();
    browser.until("return document.querySelector('[data-testid=not-connected]')?.innerText.includes('Nothing was saved')").await;
    let saved = page.app.fleets(dwell_commands::dto::Nothing {}).await.unwrap();
    assert!(saved.saved.is_empty() && saved.watching.is_none(), "{saved:?}");
    browser.find("[data-testid=not-connected] button").await.click().await.unwrap();
    browser.until("return document.querySelector('[data-testid=condition]')?.dataset.kind === 'manager-never-reached'").await;
    assert_eq!(page.app.fleets(dwell_commands::dto::Nothing {}).await.unwrap().saved.len(), 1);
    page.browser.close().await;
}

/// A prover is followed from the instance's page: asked again and again, until that is ended.
#[tokio::test]
async fn a_prover_is_followed_on_its_page() {
    let page = page().await;
    page.app.simulate(SimulateRequest { scenario: "healthy-fleet".into(), seed: Some(1), speed: Some(20.0) }).await.unwrap();
    let browser = &page.browser;
    browser.find("[data-state=running]").await;
    let fleet = page.app.fleet(dwell_commands::dto::Nothing {}).await.unwrap();
    let id = &fleet.instances.iter().find(|row| row.state == "running").unwrap().id;
    browser.run(&format!("location.hash = '#/instance/{id}'")).await;
    browser.find("[data-testid=follow-prover]").await.click().await.unwrap();
    browser.until("return document.querySelector('[data-testid=prover]')?.innerText.includes('Proofs completed')").await;
    // What it shows goes on by itself: its time up grows.
    browser.run("window.was = document.querySelector('[data-testid=prover] table').innerText").await;
    browser.until("return document.querySelector('[data-testid=prover] table').innerText !== window.was").await;
    browser.find("[data-testid=follow-prover]").await.click().await.unwrap();
    browser.until("return document.querySelector('[data-testid=follow-prover]').ariaPressed === 'false'").await;
    assert_eq!(browser.violations().await, json!([]));
    page.browser.close().await;
}

#[tokio::test]
async fn a_manager_that_was_never_reached_is_unknown_and_not_zero() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let page = page().await;
    let browser = &page.browser;
    let address = format!("http://127.0.0.1:{port}");
    page.app.connect(ConnectRequest { address, name: Some("nobody".into()), ssh: None }).await.unwrap();
    browser.until("return document.querySelector('[data-testid=condition]')?.dataset.kind === 'manager-never-reached'").await;
    browser.until("return document.querySelector('header .mode')?.innerText === 'NO ANSWER'").await;
    let shown = browser.run("return document.querySelector('section.left').innerText").await;
    let shown = shown.as_str().unwrap();
    assert!(!shown.contains("0.00") && !shown.contains("running") && shown.contains("\u{2013}/h"), "{shown}");
    browser.press("gi").await.unwrap();
    browser.sees("Whether anything is stuck is unknown").await;
    page.browser.close().await;
}

#[tokio::test]
async fn hostile_log_lines_are_text() {
    let served = manager(ONE_RUNNING, 1.0).await;
    let page = connected(&served).await;
    let uuid = "0badcafe-0000-4000-8000-000000000001";
    let hostile = format!(
        "<script>window.hacked = 1</script><img src=x onerror=\"window.hacked=2\">\n\u{1b}]0;title\u{7}\u{1b}[2J\u{1b}[31mred\u{1b}[0m \u{9b}31m \u{202e}gnp\n{}\nlast word\n",
        "x".repeat(1 << 20)
    );
    let pushed = reqwest::Client::new()
        .post(format!("{}/api/log-push", served.url()))
        .header("x-instance-uuid", uuid)
        .header("x-log-source", "<b>evil</b>")
        .body(hostile)
        .send()
        .await
        .unwrap();
    assert_eq!(pushed.status(), 204);
    page.app.refresh(dwell_commands::dto::Nothing {}).await.unwrap();
    let browser = &page.browser;
    browser.run(&format!("location.hash = '#/instance/{uuid}'")).await;
    browser.sees("<script>window.hacked = 1</script>").await;
    browser.sees("<b>evil</b>").await;
    assert_eq!(browser.run("return window.hacked ?? null").await, Value::Null);
    assert_eq!(browser.run("return document.querySelectorAll('.log script, .log img, .log b').length").await, json!(0));
    // Colours become classes, everything else that controls a terminal is gone; the megabyte (cut to 256 KiB by the
    // manager, to 16 KiB for the window) is there and says how much was cut.
    assert_eq!(
        browser.run("return [...document.querySelectorAll('.log .ansi-red')].map((e) => e.innerText).join('')").await,
        json!("red \u{fffd}gnp")
    );
    browser.sees("more bytes").await;
    let controls = browser
        .run(
            r"return /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/.test(document.querySelector('.lines').textContent)",
        )
        .await;
    assert_eq!(controls, json!(false));
    assert_eq!(browser.violations().await, json!([]));
    page.browser.close().await;
}

#[tokio::test]
async fn lines_lost_by_a_restart_are_still_shown_and_marked() {
    let text = format!("{ONE_RUNNING}\n[[fault]]\nkind = \"mgr-restart-lost-logs\"\nat = \"10m\"\nfor = \"30s\"\n");
    let served = manager(&text, 0.0).await;
    let page = connected(&served).await;
    let browser = &page.browser;
    browser.run("location.hash = '#/instance/0badcafe-0000-4000-8000-000000000001'").await;
    browser.sees("proof assembled").await;
    let at_end = "const list = document.querySelector('.log [role=log]');
        return list.scrollHeight > list.clientHeight && list.scrollTop + list.clientHeight >= list.scrollHeight - 30";
    browser.until(at_end).await;
    let before = browser.run("return document.querySelectorAll('.log .line').length").await;
    assert!(before.as_u64().is_some_and(|lines| lines > 3), "{before}");
    // Ten minutes and a restart later; the instance has written since.
    served.set_speed(900.0);
    tokio::time::timeout(Duration::from_secs(30), async {
        while !served.with_world(|world| world.manager().is_up() && world.now() > dwell_commands::later(world.origin(), 900.0)) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await
    .unwrap();
    served.set_speed(0.0);
    page.app.refresh(dwell_commands::dto::Nothing {}).await.unwrap();
    let restart =
        "return [...document.querySelectorAll('.log .divider')].some((line) => line.innerText.includes('the manager restarted'))";
    // The place of the restart may be above what is in sight: look for it upwards from the end, and over again while lines
    // still come in.
    let scroll = "const list = document.querySelector('.log [role=log]');
        window.at = window.at > 0 ? window.at - 200 : list.scrollHeight;
        list.scrollTop = Math.max(0, window.at);";
    let began = std::time::Instant::now();
    while browser.run(restart).await != json!(true) {
        assert!(began.elapsed() < Duration::from_secs(60), "no restart shown: {}", browser.state().await);
        browser.run(scroll).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(browser.run("return document.querySelectorAll('.log .line.kept').length > 0").await == json!(true));
    page.browser.close().await;
}

/// A dashboard of ten thousand rows: few of them are in the document, the last can be reached, and sorting works.
#[tokio::test]
async fn ten_thousand_instances_scroll() {
    let served = plain_manager(10_000).await;
    let page = page().await;
    page.app.connect(ConnectRequest { address: served, name: None, ssh: None }).await.unwrap();
    let browser = &page.browser;
    browser.sees("10000 of 10000").await;
    browser.find("[data-id]").await;
    let rows = browser.run("return document.querySelectorAll('[data-id]').length").await;
    assert!(rows.as_u64().is_some_and(|rows| (10..200).contains(&rows)), "{rows} rows in the document");
    // How smooth that is depends on the machine: told, not judged.
    for (what, step) in [("at rest", 0), ("a pixel at a time", 1), ("a row at a time", 30), ("five rows at a time", 150)] {
        let frames = browser
            .run_async(&format!(
                "const done = arguments[arguments.length - 1];
                 const list = document.querySelector('.body > div');
                 const times = [];
                 let last = performance.now();
                 const frame = (now) => {{
                   times.push(now - last); last = now;
                   list.scrollTop += {step};
                   if (times.length < 40) requestAnimationFrame(frame);
                   else {{ times.sort((a, b) => a - b); done([times[20], times[38], times[39]].map(Math.round)); }}
                 }};
                 requestAnimationFrame(frame);"
            ))
            .await;
        println!("10,000 rows, ms a frame {what} (median, 95 %, longest): {frames}");
    }
    browser.press(&Key::End.to_string()).await.unwrap();
    browser.until("return [...document.querySelectorAll('[role=row]')].some((row) => row.ariaRowIndex === '10001')").await;
    browser.press(&Key::Escape.to_string()).await.unwrap();
    // The inspector gives its room back, and with it the column.
    browser.until("return document.querySelector('[role=columnheader].price').offsetWidth > 0").await;
    browser.find("[role=columnheader].price button").await.click().await.unwrap();
    browser.find("[role=columnheader].price[aria-sort]").await;
    page.browser.close().await;
}

/// A manager with so many instances and nothing else: its address.
async fn plain_manager(count: u64) -> String {
    let body = Arc::new(many(count));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let dashboard = axum::routing::get(move || {
        let body = Arc::clone(&body);
        async move { body.as_ref().clone() }
    });
    let logs = axum::routing::get(|| async { "[]" });
    let router = axum::Router::new().route("/api/dashboard", dashboard).route("/api/manager-logs", logs);
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

fn many(count: u64) -> Vec<u8> {
    let now = dwell_commands::now();
    let instances = (0..count)
        .map(|index| dwell_wire::Instance {
            uuid: Some(format!("{index:08x}-0000-4000-8000-000000000000")),
            label: Some(format!("C.{}", 31_000_000 + index)),
            state: Some(["registered", "params_done", "running"][(index % 3) as usize].to_owned()),
            registered_at: Some(now),
            param_done_at: (index % 3 > 0).then_some(now),
            bench_done_at: (index % 3 > 1).then_some(now),
            bench_rate: (index % 3 > 1).then_some(30.0 + (index % 17) as f64),
            vast_id: Some(31_000_000 + index),
            gpu_name: Some("RTX 4090".to_owned()),
            num_gpus: Some(1),
            dph_total: Some(0.2 + (index % 40) as f64 / 100.0),
            gpu_util: Some(90.0),
            gpu_temp: Some(60.0),
            ..Default::default()
        })
        .collect();
    dwell_wire::encode(&dwell_wire::Dashboard {
        instances,
        updated_at: Some(now),
        vast_cache_age_s: Some(5.0),
        ..Default::default()
    })
}

#[tokio::test]
async fn every_view_is_accessible_in_both_themes() {
    let page = evening(300.0).await;
    let browser = &page.browser;
    browser.until("return document.querySelectorAll('[data-flag=invisible]').length === 4").await;
    browser.press("j").await.unwrap();
    browser.find("[data-testid=inspector] [data-testid=flag]").await;
    let id = "416e859e-9f67-4077-88cf-cdef07154096";
    for check in ["ask-vast", "ssh-probe"] {
        page.app.make_look(LookRequest { id: id.into(), check: check.into() }).await.unwrap();
    }
    let cards = vec!["throttling".into(), "rtx-3090".into()];
    let simulated = StartBench { devices: vec![], simulate: cards, together: true, depth: "soak".into(), soak_s: Some(90.0) };
    page.app.start_bench(simulated).await.unwrap();
    let mut faults = Vec::new();
    for theme in ["light", "dark"] {
        browser.run(&format!("document.documentElement.dataset.theme = '{theme}'")).await;
        for (place, sign) in [
            ("#/fleet".to_owned(), "[role=grid]"),
            (format!("#/instance/{id}"), "[data-testid=machine]"),
            (format!("#/incidents/{id}"), "[data-testid=diagnosis]"),
            ("#/manager-log".to_owned(), "[role=log]"),
            ("#/charts".to_owned(), "[data-testid=chart-states] img"),
            ("#/search".to_owned(), "input[aria-label=Words]"),
            ("#/offers".to_owned(), "[data-testid=offers]"),
            ("#/rollouts".to_owned(), ".page h1"),
            ("#/journal".to_owned(), "main h1"),
            ("#/rentals".to_owned(), "[data-testid=rentals] tbody tr"),
            ("#/fleets".to_owned(), "[data-scenario]"),
            ("#/bench".to_owned(), "[data-testid=bench-record]"),
            ("#/drills".to_owned(), "[data-drill]"),
            ("#/doctor".to_owned(), "tbody tr"),
        ] {
            browser.run(&format!("location.hash = '{place}'")).await;
            browser.find(sign).await;
            // Toasts come and go by themselves; they are the library's.
            browser.run("document.querySelectorAll('[data-sonner-toast]').forEach((toast) => toast.remove())").await;
            faults.extend(browser.accessibility_faults().await.into_iter().map(|fault| format!("{theme} {place}: {fault}")));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
    page.browser.close().await;
}

/// A kill: planned, refused while the fleet is read-only, confirmed by typing, seen to have come true, written down.
#[tokio::test]
async fn an_instance_is_killed_once_it_is_allowed_and_meant() {
    let page = evening(300.0).await;
    let browser = &page.browser;
    browser.until("return document.querySelectorAll('[data-flag=invisible]').length === 4").await;
    browser.run("location.hash = '#/instance/d977dead-b3a7-4a08-b6df-9e126679078f'").await;
    browser.find(".deeds button").await;
    browser.run("document.querySelector('.deeds button').click()").await;
    browser.find("[data-testid=act]").await;
    browser.sees("Kill 1 instance; saves 0.38 dollars an hour.").await;
    browser.sees("This fleet is read-only.").await;
    assert_eq!(browser.accessibility_faults().await, [""; 0]);
    let enabled = "return !document.querySelector('[data-testid=act] footer button:last-child').disabled";
    assert_eq!(browser.run(enabled).await, json!(false));
    browser.run("document.querySelector('[data-testid=act] .warn button').click()").await;
    browser.find("[data-testid=access]").await;
    assert_eq!(browser.accessibility_faults().await, [""; 0]);
    browser.run("document.querySelector('[data-testid=access] .allow').click()").await;
    browser.until("return !!document.querySelector('[data-testid=act] input[autocomplete=off]')").await;
    assert_eq!(browser.run(enabled).await, json!(false), "not before it is confirmed");
    browser.find("[data-testid=act] input[autocomplete=off]").await.send_keys("d977dead").await.unwrap();
    browser.until(enabled).await;
    browser.run("document.querySelector('[data-testid=act] footer button:last-child').click()").await;
    browser.until("return !document.querySelector('[data-testid=act]')").await;
    // The flag has slowed the simulation down; what verifies the kill is read in the minutes after it.
    page.app.set_speed(dwell_commands::dto::SpeedRequest { speed: 20.0 }).await.unwrap();
    browser.run("location.hash = '#/journal'").await;
    browser.until("return document.querySelector('[data-testid=journal] article')?.classList.contains('verified')").await;
    browser.sees("killed by the manager's list, and not on vast.ai's in two readings").await;
    assert_eq!(browser.run("return document.querySelectorAll('[data-testid=journal] article').length").await, json!(1));
    browser.until("return /^write access 1[0-5]:[0-9][0-9] · end$/.test(document.querySelector('[data-testid=access-left]')?.innerText)").await;
    page.browser.close().await;
}

/// Every dialog that acts begins on Cancel, and write access is a question of its own: Enter, Enter, Enter unlocks nothing.
#[tokio::test]
async fn write_access_is_asked_for_told_and_given_back() {
    let page = evening(300.0).await;
    let browser = &page.browser;
    let (enter, escape) = (Key::Enter.to_string(), Key::Escape.to_string());
    let focus = "return document.activeElement?.innerText === 'Cancel'";
    let may_act = async || page.app.acts(dwell_commands::dto::Nothing {}).await.unwrap().may_act;
    browser.until("return document.querySelectorAll('[data-flag=invisible]').length === 4").await;
    page.app.set_speed(dwell_commands::dto::SpeedRequest { speed: 0.0 }).await.unwrap();
    browser.run("location.hash = '#/instance/d977dead-b3a7-4a08-b6df-9e126679078f'").await;
    for deed in ["kill", "destroy", "reboot", "stop", "ban", "replace"] {
        let dialog = if deed == "replace" { "rollout" } else { "act" };
        browser.find(&format!("[data-deed={deed}]")).await;
        browser.run(&format!("document.querySelector('[data-deed={deed}]').click()")).await;
        browser.find(&format!("[data-testid={dialog}]")).await;
        browser.until(focus).await;
        browser.press(&enter).await.unwrap();
        browser.until("return !document.querySelector('[role=dialog]')").await;
    }
    assert!(!may_act().await);

    // In the dialog: asked for above it, on Cancel as well; Esc closes the question alone and leaves the fleet as it was.
    browser.run("document.querySelector('[data-deed=kill]').click()").await;
    browser.find("[data-testid=act] .warn button").await;
    browser.run("document.querySelector('[data-testid=act] .warn button').click()").await;
    browser.find("[data-testid=access]").await;
    browser.until(focus).await;
    browser.sees("The evening of the four").await;
    browser.press(&escape).await.unwrap();
    browser
        .until("return !document.querySelector('[data-testid=access]') && !!document.querySelector('[data-testid=act]')")
        .await;
    assert!(!may_act().await);
    browser.press(&escape).await.unwrap();
    browser.until("return !document.querySelector('[role=dialog]')").await;

    // From the status line the same; Enter on what has the focus changes nothing.
    let switch = "const it = document.querySelector('footer button.mode'); it.click(); return it.innerText === 'read-only'";
    assert_eq!(browser.run(switch).await, json!(true));
    browser.find("[data-testid=access]").await;
    browser.until(focus).await;
    browser.press(&enter).await.unwrap();
    browser.until("return !document.querySelector('[role=dialog]')").await;
    assert!(!may_act().await);
    browser.run(switch).await;
    browser.find("[data-testid=access] input[value='300']").await;
    browser.run("document.querySelector(\"[data-testid=access] input[value='300']\").click()").await;
    browser.until("const it = document.querySelector('[data-testid=access] .allow'); if (it.innerText !== 'Allow for 5 min') return false; it.click(); return true").await;
    browser
        .until(
            "return /^write access [45]:[0-9][0-9] · end$/.test(document.querySelector('[data-testid=access-left]')?.innerText)",
        )
        .await;
    let acts = page.app.acts(dwell_commands::dto::Nothing {}).await.unwrap();
    assert!(acts.may_act && acts.write_access_left_s.is_some_and(|left| left <= 300.0), "{acts:?}");
    let left = "return document.querySelector('[data-testid=access-left] b')?.innerText ?? ''";
    let before = browser.run(left).await;
    browser.until(&format!("{} !== {before}", left.replace("return ", "return (") + ")")).await;
    browser.run("document.querySelector('[data-testid=access-left]').click()").await;
    browser.until("return document.querySelector('footer button.mode')?.innerText === 'read-only'").await;
    assert!(!may_act().await);
    page.browser.close().await;
}

/// The rail and the status line are in the window whatever its size: at the least, at twice the text, and on a wide screen.
#[tokio::test]
async fn rail_and_status_line_are_inside_at_every_size() {
    let screen = Screen::open(2700, 1700);
    let page = page_on(Some(&screen)).await;
    let browser = &page.browser;
    let request = SimulateRequest { scenario: "params-done-silence".into(), seed: None, speed: Some(300.0) };
    page.app.simulate(request).await.unwrap();
    browser.until("return document.querySelectorAll('[data-flag=invisible]').length === 4").await;
    page.app.set_speed(dwell_commands::dto::SpeedRequest { speed: 0.0 }).await.unwrap();
    page.app.allow_acting(dwell_commands::dto::AllowActing { allow: true, for_s: None, standing: false }).await.unwrap();
    // Everything that is outside, by its words.
    let outside = "const within = (box) => box.width > 0 && box.left >= -0.5 && box.top >= -0.5 && box.right <= innerWidth + 0.5 && box.bottom <= innerHeight + 0.5;
        const out = [];
        const note = (it) => { if (!within(it.getBoundingClientRect())) out.push(`${it.tagName} ${it.getAttribute('aria-label') ?? it.innerText}`); };
        note(document.querySelector('nav')); note(document.querySelector('body > #app footer')); note(document.querySelector('.search'));
        for (const it of document.querySelectorAll('footer > :not(.space)')) {
          note(it);
          if (it.scrollWidth > it.clientWidth + 1 && !it.classList.contains('ellipsis')) out.push(`cut: ${it.innerText}`);
        }
        const nav = document.querySelector('nav');
        for (const it of nav.querySelectorAll('button')) { it.scrollIntoView({ block: 'nearest' }); note(it); }
        nav.scrollTop = 0;
        if (nav.scrollHeight > nav.clientHeight + 1 && innerHeight >= 400) out.push('the rail scrolls at ' + innerHeight);
        if (document.documentElement.scrollHeight > innerHeight || document.documentElement.scrollWidth > innerWidth) out.push(`the page is larger than the window: ${document.documentElement.scrollWidth}x${document.documentElement.scrollHeight}`);
        for (const word of ['read', 'keys', 'write access']) if (!document.querySelector('footer').innerText.includes(word)) out.push('no ' + word);
        if (innerHeight >= 480 && document.querySelector('main').clientHeight < innerHeight / 2) out.push('no room for what is shown');
        return out";
    // For a person to look at: DWELL_PICTURES=FOLDER keeps what is seen, in both themes.
    let pictures = std::env::var_os("DWELL_PICTURES").map(std::path::PathBuf::from);
    for (width, height) in [(640, 480), (640, 400), (450, 240), (800, 600), (1280, 645), (1280, 800), (2560, 1440)] {
        browser.resize(width, height).await;
        for place in ["fleet", "incidents", "journal", "instance/d977dead-b3a7-4a08-b6df-9e126679078f"] {
            browser.run(&format!("location.hash = '#/{place}'")).await;
            browser.until(&format!("return location.hash === '#/{place}' && document.querySelector('main h1') !== null")).await;
            browser.until("return !!document.querySelector('[data-testid=access-left]')").await;
            assert_eq!(browser.run(outside).await, json!([]), "{width}x{height} {place}: {}", browser.state().await);
            for theme in ["light", "dark"].into_iter().filter(|_| pictures.is_some()) {
                browser.run(&format!("document.documentElement.dataset.theme = '{theme}'")).await;
                browser.run("document.querySelectorAll('[data-sonner-toast]').forEach((toast) => toast.remove())").await;
                let name = format!("{}-{width}x{height}-{theme}.png", place.split('/').next().unwrap());
                std::fs::write(pictures.as_ref().unwrap().join(name), browser.client.screenshot().await.unwrap()).unwrap();
            }
        }
    }
    page.browser.close().await;
}

/// The bridge's process ends: the page says so and since when, shows the fleet as old, lets nobody act; and is well again by itself
/// when the bridge is back.
#[tokio::test]
async fn a_backend_that_dies_is_missed_and_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let app = Arc::new(App::new(Some(folder.path().to_owned())).unwrap());
    // A runtime of its own: its end is the end of every connection, as with a process.
    let bridge = |port: u16| {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let app = Arc::clone(&app);
        let served = runtime.spawn(async move {
            let (address, serving) = dwell_web::serve(app, &repository("ui/dist"), "c0ffee", port).await?;
            tokio::spawn(serving);
            std::io::Result::Ok(address)
        });
        (runtime, served)
    };
    let (runtime, served) = bridge(0);
    let address = served.await.unwrap().unwrap();
    let browser = engine().await;
    browser.client.goto(&format!("http://{address}/#token=c0ffee")).await.unwrap();
    let request = SimulateRequest { scenario: "params-done-silence".into(), seed: None, speed: Some(20.0) };
    app.simulate(request).await.unwrap();
    browser.find("[data-state=running]").await;
    let id = "d977dead-b3a7-4a08-b6df-9e126679078f";
    browser.run(&format!("location.hash = '#/instance/{id}'")).await;
    browser.find("[data-deed=kill]:not(:disabled)").await;
    assert_eq!(browser.run("return document.querySelector('[data-testid=backend-gone]')").await, Value::Null);

    runtime.shutdown_background();
    browser.find("[data-testid=backend-gone]").await;
    browser.sees("backend is gone since").await;
    browser.sees("GONE").await;
    browser.find("[data-deed=kill]:disabled").await;
    browser.find("main.lost").await;
    assert_eq!(browser.accessibility_faults().await, [""; 0]);
    let palette = format!("{}k", char::from(Key::Control));
    browser.press(&palette).await.unwrap();
    browser.find("[role=dialog] input").await.send_keys("kill the").await.unwrap();
    browser.sees("Dwell's backend is gone").await;
    browser.press(&Key::Escape.to_string()).await.unwrap();

    // The port may be held for a moment by what is being closed.
    let again = async {
        loop {
            let (runtime, served) = bridge(address.port());
            match served.await.unwrap() {
                Ok(_) => break runtime,
                Err(_) => runtime.shutdown_background(),
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let runtime = tokio::time::timeout(Duration::from_secs(60), again).await.unwrap();
    browser.until("return !document.querySelector('[data-testid=backend-gone]')").await;
    browser.find("[data-deed=kill]:not(:disabled)").await;
    browser.until("return !document.querySelector('main.lost')").await;
    browser.close().await;
    runtime.shutdown_background();
}

/// A live fleet is not dropped by two keys: what stops is said first, and Cancel has the focus.
#[tokio::test]
async fn a_live_fleet_is_left_only_when_it_is_meant() {
    // A manager that does not say that it is a simulated one.
    let page = page().await;
    let request = ConnectRequest { address: plain_manager(3).await, name: Some("under test".into()), ssh: None };
    page.app.connect(request).await.unwrap();
    page.browser.find("[data-id]").await;
    let browser = &page.browser;
    let watched = async || page.app.fleet(dwell_commands::dto::Nothing {}).await.unwrap().watching.mode;
    page.app.allow_acting(dwell_commands::dto::AllowActing { allow: true, for_s: None, standing: false }).await.unwrap();
    let rule = json!({ "name": "night watch", "fleet": "", "verdict": "stalled", "cause": "host-oom-cgroup", "for_s": 900.0, "deed": "kill",
        "on": true, "dry_run": true, "per_day": 1, "dollars_per_h_a_day": 1.0 });
    page.app.save_rule(serde_json::from_value(rule).unwrap()).await.unwrap();
    browser.press("gs").await.unwrap();
    browser.find("[data-testid=leave]").await;
    browser.sees("under test is live").await;
    browser.sees("night watch").await;
    browser.until("return document.activeElement?.innerText === 'Cancel'").await;
    assert_eq!(browser.accessibility_faults().await, [""; 0]);
    browser.press(&Key::Enter.to_string()).await.unwrap();
    browser.until("return !document.querySelector('[role=dialog]')").await;
    assert_eq!(watched().await, "live");

    // By the list of fleets and by a drill as well.
    browser.run("location.hash = '#/fleets'").await;
    browser.find("[data-scenario=params-done-silence]").await;
    browser.run("document.querySelector('[data-scenario=params-done-silence]').click()").await;
    browser.find("[data-testid=leave]").await;
    browser.press(&Key::Escape.to_string()).await.unwrap();
    browser.until("return !document.querySelector('[role=dialog]')").await;
    browser.run("location.hash = '#/drills'").await;
    browser.find("[data-testid=surprise]").await;
    browser.run("document.querySelector('[data-testid=surprise]').click()").await;
    browser.find("[data-testid=leave]").await;
    browser.press(&Key::Escape.to_string()).await.unwrap();
    browser.until("return !document.querySelector('[role=dialog]')").await;
    assert_eq!(watched().await, "live");

    browser.press("gs").await.unwrap();
    browser.find("[data-testid=leave]").await;
    browser.run("document.querySelector('[data-testid=leave] footer button:last-child').click()").await;
    browser.sees("SIMULATED").await;
    // A simulation that nobody works with is left without a question.
    browser.press("gs").await.unwrap();
    browser.find("[data-id]").await;
    assert_eq!(browser.run("return document.querySelector('[data-testid=leave]')").await, Value::Null);
    page.browser.close().await;
}

/// What a command acts on is what the screen shows, and it says so: not what another view had selected, not what is hidden.
#[tokio::test]
async fn a_command_acts_on_what_is_on_the_screen() {
    let page = evening(300.0).await;
    let browser = &page.browser;
    let (enter, palette) = (Key::Enter.to_string(), format!("{}k", char::from(Key::Control)));
    browser.until("return document.querySelectorAll('[data-flag=invisible]').length === 4").await;
    page.app.set_speed(dwell_commands::dto::SpeedRequest { speed: 0.0 }).await.unwrap();
    browser.press("j").await.unwrap();
    browser.until("return document.querySelector('[aria-selected=true][data-id]') !== null").await;
    let selected = browser.run("return document.querySelector('[aria-selected=true][data-id]').dataset.id").await;
    browser.press(&enter).await.unwrap();
    browser.find("[data-testid=instance-id]").await;
    browser.press("d").await.unwrap();
    browser.until(&format!("return document.querySelector('[data-testid=diagnosis-id]')?.innerText === {selected}")).await;
    browser.press("j").await.unwrap();
    browser
        .until(&format!(
            "const id = document.querySelector('[data-testid=diagnosis-id]')?.innerText; return !!id && id !== {selected}"
        ))
        .await;
    let shown = browser.run("return document.querySelector('[data-testid=diagnosis-id]').innerText").await;
    let shown = shown.as_str().unwrap().to_owned();

    browser.press(&palette).await.unwrap();
    browser.find("[role=dialog] input").await.send_keys("kill the").await.unwrap();
    let first = format!(
        "return document.querySelector('[role=dialog] [data-command-item]')?.innerText.startsWith('Kill {}, ') === true",
        &shown[..8]
    );
    browser.until(&first).await;
    browser.press(&enter).await.unwrap();
    browser.find("[data-testid=act]").await;
    let title = browser.run("return document.querySelector('[data-testid=act] [data-dialog-title]').innerText").await;
    assert!(title.as_str().is_some_and(|title| title.starts_with(&format!("Kill {}, ", &shown[..8]))), "{title}");
    let targets = browser.run("return [...document.querySelectorAll('[data-testid=act] li b')].map((it) => it.innerText)").await;
    assert_eq!(targets, json!([shown]));
    assert_eq!(browser.accessibility_faults().await, [""; 0]);
    browser.press(&Key::Escape.to_string()).await.unwrap();
    browser.until("return !document.querySelector('[role=dialog]')").await;

    // Hidden by the filter, it is nobody's target.
    browser.press("gf").await.unwrap();
    browser.find("[aria-selected=true][data-id]").await;
    browser.press("/").await.unwrap();
    browser.press("state:running").await.unwrap();
    browser
        .until("return document.querySelectorAll('[data-id]').length === 1 && !document.querySelector('[aria-selected=true]')")
        .await;
    browser.press(&palette).await.unwrap();
    browser.find("[role=dialog] input").await.send_keys("kill the").await.unwrap();
    browser.sees("no instance is in view").await;
    browser.press(&enter).await.unwrap();
    assert_eq!(browser.run("return document.querySelector('[data-testid=act]')").await, Value::Null);
    assert!(page.app.acts(dwell_commands::dto::Nothing {}).await.unwrap().acts.is_empty());
    page.browser.close().await;
}

/// Charts are read by keys and pointer, zoomed, shown as numbers and saved; what is set lasts; logs are searched.
#[tokio::test]
async fn charts_are_read_zoomed_saved_and_remembered() {
    let page = evening(300.0).await;
    let browser = &page.browser;
    browser.until("return document.querySelectorAll('[data-flag=invisible]').length === 4").await;
    // Slower from here: the four are killed 45 minutes after they became silent, however slow this machine is.
    page.app.set_speed(dwell_commands::dto::SpeedRequest { speed: 10.0 }).await.unwrap();
    browser.press("gh").await.unwrap();
    browser.find("[data-testid=chart-states] img").await;
    // One time and one split for all of them, and the picture stays until the next one is there.
    browser.choose("header label:first-of-type select", "nothing").await;
    browser.until("return document.querySelector('[data-testid=chart-cost] .legend')?.textContent.includes('waiting')").await;
    browser.run("document.querySelector('[data-testid=chart-states] .plot').focus()").await;
    // The newest moment of a picture may be one that was not watched, where the simulation has just been fast: the next picture's is.
    let newest = "const plot = document.querySelector('[data-testid=chart-states] .plot');
        plot.dispatchEvent(new KeyboardEvent('keydown', { key: 'End', bubbles: true, cancelable: true }));
        return document.querySelector('[data-testid=chart-states] .tip')?.textContent.includes('params_done4.00') === true";
    browser.until(newest).await;
    // The page moves below a pointer that rests: what the keys chose stays.
    let leave = "document.querySelector('[data-testid=chart-states] .plot').dispatchEvent(new PointerEvent('pointerleave'))";
    browser.run(leave).await;
    browser
        .until("return document.querySelector('[data-testid=chart-states] .tip')?.textContent.includes('params_done4.00')")
        .await;
    browser.press(&Key::Enter.to_string()).await.unwrap();
    browser.until("return document.querySelectorAll('[data-testid=chart-states] .behind li').length === 5").await;
    browser.press(&Key::Escape.to_string()).await.unwrap();
    browser.press("t").await.unwrap();
    browser.until("return document.querySelectorAll('[data-testid=chart-states] tbody tr').length > 5").await;

    // A drag across a chart shows that part in all of them; Esc goes back.
    let drag = "const plot = document.querySelector('[data-testid=chart-cost] .plot'), box = plot.getBoundingClientRect();
        const at = (share) => ({ bubbles: true, button: 0, pointerId: 1, clientX: box.left + box.width * share, clientY: box.top + 60 });
        plot.setPointerCapture = () => {};
        plot.dispatchEvent(new PointerEvent('pointerdown', at(0.4)));
        plot.dispatchEvent(new PointerEvent('pointermove', at(0.8)));
        plot.dispatchEvent(new PointerEvent('pointerup', at(0.8)));";
    let width = "return (document.querySelector('[data-testid=chart-endings] .sentence')?.textContent ?? '')";
    let before = browser.run(width).await;
    browser.run(drag).await;
    browser.find("header .chip").await;
    browser.run("document.querySelector('header .chip').click()").await;
    browser.until("return !document.querySelector('header .chip')").await;
    assert!(before.is_string());

    let saved = "const save = document.querySelector('[data-testid=chart-cost] .save'); save.querySelector('button').click();
        setTimeout(() => [...save.querySelectorAll('.menu button')].find((it) => it.textContent === 'CSV').click(), 50);";
    browser.run(saved).await;
    browser.sees("dwell-cost-").await;
    let exports = page.folder().join("exports");
    let file = std::fs::read_dir(exports).unwrap().next().unwrap().unwrap();
    assert!(std::fs::read_to_string(file.path()).unwrap().starts_with("at,from,to,"));

    // What was set is there after a restart of the page.
    browser.run("location.reload()").await;
    browser.until("return document.querySelectorAll('[data-testid=chart-states] tbody tr').length > 5").await;
    browser.until("return document.querySelector('header label:first-of-type select')?.value === 'nothing'").await;

    browser.press("gl").await.unwrap();
    browser.find("input[aria-label=Words]").await;
    browser.press("registered").await.unwrap();
    browser.press(&Key::Enter.to_string()).await.unwrap();
    browser.until("return document.querySelectorAll('[data-testid=found] .line').length > 0").await;
    page.browser.close().await;
}

/// A connected fleet: leave is given where what is run can be read, then a machine is looked at from its page, over a real
/// SSH connection, and its words are shown as they came.
#[tokio::test]
async fn a_machine_is_looked_at_once_there_is_leave() {
    let served = manager(ONE_RUNNING, 1.0).await;
    served.open_ssh();
    let page = connected(&served).await;
    // Simulated machines answer on this machine.
    let settings = page.folder.path().join("settings.toml");
    let written = std::fs::read_to_string(&settings).unwrap();
    std::fs::write(&settings, format!("allow_private_machines = true\n{written}")).unwrap();
    let browser = &page.browser;
    browser.run("location.hash = '#/fleets'").await;
    browser.find("[data-testid=ask-allow]").await;
    browser.run("document.querySelector('[data-testid=ask-allow]').click()").await;
    browser.sees("nvidia-smi").await;
    let id = "0badcafe-0000-4000-8000-000000000001";
    // Not before.
    let look = || page.app.make_look(LookRequest { id: id.into(), check: "ssh-probe".into() });
    assert_eq!(look().await.unwrap_err().code, "not-allowed");
    browser.run("document.querySelector('[data-testid=allow]').click()").await;
    browser.sees("Forbid").await;

    browser.run(&format!("location.hash = '#/instance/{id}'")).await;
    browser.find("[data-look=ssh-probe]").await;
    browser.run("document.querySelector('[data-look=ssh-probe]').focus()").await;
    browser.press(&Key::Enter.to_string()).await.unwrap();
    browser.find("[data-testid=machine]").await;
    browser.find("[data-testid=prover]").await;
    browser.sees("cuzk-daemon").await;
    browser.run("document.querySelector('[data-testid=answers] [aria-expanded]').click()").await;
    browser.sees("uptime_secs").await;
    assert_eq!(browser.violations().await, json!([]));
    page.browser.close().await;
}

/// From the list of incidents to a confirmed cause by one look, a note and a closing, with keys and buttons.
#[tokio::test]
async fn an_incident_is_looked_at_and_closed() {
    let page = page().await;
    let browser = &page.browser;
    browser.find("[data-scenario]").await;
    let request = SimulateRequest { scenario: "evening-four-truths".into(), seed: None, speed: Some(60.0) };
    page.app.simulate(request).await.unwrap();
    browser.until("return document.querySelectorAll('[data-flag=invisible]').length === 4").await;
    page.app.set_speed(dwell_commands::dto::SpeedRequest { speed: 0.0 }).await.unwrap();
    browser.press("g").await.unwrap();
    browser.press("i").await.unwrap();
    browser.find("[data-testid=diagnosis]").await;
    browser.sees("Several causes are possible").await;
    browser.sees("4 in params_done").await;

    // The one whose prover was ended for memory.
    let id = "7bec818c-9e52-422b-bb31-52baefcaa6ef";
    browser.run(&format!("location.hash = '#/incidents/{id}'")).await;
    browser.until(&format!("return document.querySelector('[data-testid=diagnosis-id]')?.innerText === '{id}'")).await;
    browser.run("document.querySelector('[data-testid=look-ssh-probe]').focus()").await;
    browser.press(&Key::Enter.to_string()).await.unwrap();
    browser.until("return document.querySelector('[data-testid=sentence]')?.innerText.includes('Confirmed')").await;
    // A number opens the observation behind it, with its field.
    browser.run("document.querySelector('.why button').click()").await;
    browser.until("return document.querySelector('tr.marked .reference')?.innerText.length > 0").await;

    browser.choose("[data-testid=close-cause]", "host-oom-cgroup").await;
    browser.run("[...document.querySelectorAll('form button')].find((button) => button.innerText === 'Close').click()").await;
    browser.sees("Closed by a person").await;
    browser.sees("1 more was closed by a person").await;
    assert_eq!(browser.violations().await, serde_json::json!([]));
    page.browser.close().await;
}

/// A drill from the list to the debrief: it is marked as one, answers are taken, the truth comes at the end and is kept.
#[tokio::test]
async fn a_drill_is_played_and_debriefed() {
    let page = page().await;
    let browser = &page.browser;
    // The first page is there: a place named while it still loads can leave the driver waiting for both.
    browser.find("[data-scenario]").await;
    browser.run("location.hash = '#/drills'").await;
    // By keyboard: a click on an element far down a long page does not always come back from the driver.
    browser.find("[data-drill=bench-report-lost]").await;
    browser.run("document.querySelector('[data-drill=bench-report-lost]').focus()").await;
    browser.press(&Key::Enter.to_string()).await.unwrap();
    browser.find("[data-testid=drill-banner]").await;
    browser.sees("Nothing here is real").await;
    assert!(!browser.text().await.contains("bench-report-lost"), "the truth is not told before the end");
    let simulated = browser.run("return document.querySelector('.mode').title").await;
    assert!(simulated.as_str().is_some_and(|said| said.starts_with("drill ") && !said.contains("lost")), "{simulated}");
    page.app.set_speed(dwell_commands::dto::SpeedRequest { speed: 2_000.0 }).await.unwrap();
    browser.until("return document.querySelectorAll('[data-id]').length === 6").await;
    let far =
        "return [...document.querySelectorAll('[role=row]')].filter((row) => row.innerText.includes('params_done')).length === 2";
    browser.until(far).await;
    page.app.set_speed(dwell_commands::dto::SpeedRequest { speed: 0.0 }).await.unwrap();
    let fleet = page.app.fleet(dwell_commands::dto::Nothing {}).await.unwrap();
    let stuck: Vec<_> = fleet.instances.iter().filter(|row| row.state == "params_done").collect();
    assert_eq!(stuck.len(), 2);
    for (row, answer) in stuck.iter().zip(["bench-report-lost", "params-slow"]) {
        browser.run(&format!("location.hash = '#/instance/{}'", row.id)).await;
        browser.until(&format!("return document.querySelector('[data-testid=instance-id]')?.innerText === '{}'", row.id)).await;
        browser.choose("[data-testid=drill-answer] select", answer).await;
        browser.until(&format!("return document.querySelector('[data-testid=drill-answer] select').value === '{answer}'")).await;
    }
    browser.run("[...document.querySelectorAll('[data-testid=drill-banner] button')].at(-1).click()").await;
    browser.find("[data-testid=debrief]").await;
    let text = browser.text().await;
    for word in ["bench-report-lost", "params-slow", "right", "wrong", "WHAT COULD BE KNOWN"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let mut faults = browser.accessibility_faults().await;
    browser.run("document.documentElement.dataset.theme = 'dark'").await;
    faults.extend(browser.accessibility_faults().await);
    assert!(faults.is_empty(), "{faults:#?}");
    let past = page.app.drills(dwell_commands::dto::Nothing {}).await.unwrap().past;
    assert!(past.len() == 1 && past[0].scenario == "bench-report-lost" && past[0].right == 1 && past[0].to_name == 2, "{past:?}");
    assert!(
        page.app
            .answer_drill(dwell_commands::dto::AnswerDrill { id: stuck[0].id.clone(), cause: "params-slow".into() })
            .await
            .is_err()
    );
    page.browser.close().await;
}

/// The drill of a stuck wave, from its beginning to its end: diagnosed, what it can tell saved, replaced, seen to run, debriefed.
#[tokio::test]
async fn a_stuck_wave_is_diagnosed_saved_and_replaced() {
    let page = page().await;
    let browser = &page.browser;
    let speed = async |speed: f64| page.app.set_speed(dwell_commands::dto::SpeedRequest { speed }).await.unwrap();
    browser.find("[data-scenario]").await;
    browser.run("location.hash = '#/drills'").await;
    browser.find("[data-drill=stuck-wave-rollout]").await;
    browser.run("document.querySelector('[data-drill=stuck-wave-rollout]').focus()").await;
    browser.press(&Key::Enter.to_string()).await.unwrap();
    browser.find("[data-testid=drill-banner]").await;
    speed(300.0).await;
    browser.until("return document.querySelectorAll('[data-flag=stalled]').length >= 3").await;
    speed(20.0).await;

    // Diagnosed: a look at a machine tells that its prover is gone.
    browser.press("gi").await.unwrap();
    browser.find("[data-testid=diagnosis]").await;
    browser.find("[data-testid=look-ssh-probe]").await;
    browser.run("document.querySelector('[data-testid=look-ssh-probe]').focus()").await;
    browser.press(&Key::Enter.to_string()).await.unwrap();
    browser
        .until("return document.querySelector('[data-testid=diagnosis]').innerText.includes('the prover daemon is not running')")
        .await;
    let fleet = page.app.fleet(dwell_commands::dto::Nothing {}).await.unwrap();
    let stuck: Vec<String> = fleet
        .instances
        .iter()
        .filter(|row| row.flag.as_ref().is_some_and(|it| it.kind == "stalled"))
        .map(|row| row.id.clone())
        .collect();
    assert_eq!(stuck.len(), 3);
    for id in &stuck {
        browser.run(&format!("location.hash = '#/instance/{id}'")).await;
        browser.until(&format!("return document.querySelector('[data-testid=instance-id]')?.innerText === '{id}'")).await;
        browser.choose("[data-testid=drill-answer] select", "daemon-died-after-running").await;
    }

    // Replaced: shown first, what it can tell saved, allowed, confirmed.
    browser.press("gi").await.unwrap();
    let press = |words: &str| {
        format!(
            "const it = [...document.querySelectorAll('button')].find((one) => one.innerText.startsWith('{words}') && !one.disabled); it?.click(); return !!it"
        )
    };
    browser.until(&press("Replace all 3")).await;
    browser.find("[data-testid=rollout]").await;
    browser.until(&press("What would it do?")).await;
    browser.sees("Replace 3 instances").await;
    assert_eq!(browser.accessibility_faults().await, [""; 0]);
    browser.until(&press("Save their output first")).await;
    browser.sees("could tell is kept").await;
    let kept = page.app.raw_answers(dwell_commands::dto::InstanceRequest { id: stuck[2].clone() }).await.unwrap();
    assert!(kept.answers.iter().any(|it| it.text.contains("== the container ==")), "{kept:?}");
    browser.sees("This fleet is read-only.").await;
    browser.until(&press("Allow acting on it")).await;
    browser.until(&press("Allow for 15 min")).await;
    browser.find("[data-testid=rollout] input[autocomplete=off]").await.send_keys("replace 3").await.unwrap();
    browser.until("const go = document.querySelector('[data-testid=rollout] .go'); if (!go || go.disabled) return false; go.click(); return true").await;
    browser.find("[data-rollout=going]").await;
    speed(150.0).await;
    let begun = "[data-item=coming], [data-item=retiring], [data-item=done]";
    browser.until(&format!("return document.querySelectorAll('{begun}').length === 3")).await;
    browser.until("return document.querySelectorAll('[data-item=retiring], [data-item=done]').length === 3").await;
    browser.until("return document.querySelectorAll('[data-rollout=ended] [data-item=done]').length === 3").await;
    browser.sees("3 of 3 done").await;
    assert_eq!(browser.accessibility_faults().await, [""; 0]);
    let fleet = page.app.fleet(dwell_commands::dto::Nothing {}).await.unwrap();
    let running = fleet.instances.iter().filter(|row| row.state == "running" && row.listed && !stuck.contains(&row.id)).count();
    assert_eq!(running, 7, "four that were well, three that came");

    browser.run("[...document.querySelectorAll('[data-testid=drill-banner] button')].at(-1).click()").await;
    browser.find("[data-testid=debrief]").await;
    let past = page.app.drills(dwell_commands::dto::Nothing {}).await.unwrap().past;
    assert_eq!((past[0].right, past[0].to_name), (3, 3), "{past:?}");
    let drill = page.app.drill(dwell_commands::dto::Nothing {}).await.unwrap();
    assert_eq!(drill.deeds.iter().filter(|deed| deed.deed == "destroy" && stuck.contains(&deed.id)).count(), 3);
    assert!(past[0].score > 70.0, "who was sick was ended, and nobody else: {past:?}");
    page.browser.close().await;
}

#[tokio::test]
async fn the_bridge_answers_only_its_own_page() {
    let page = page().await;
    let base = page.url.split("/#").next().unwrap().to_owned();
    let http = reqwest::Client::new();
    let call = |headers: &[(&'static str, &'static str)]| {
        let mut request = http.post(format!("{base}/call/fleets")).json(&json!({}));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        async move { request.send().await.unwrap().status().as_u16() }
    };
    assert_eq!(call(&[]).await, 401);
    assert_eq!(call(&[("x-dwell-token", "c0ffef")]).await, 401);
    assert_eq!(call(&[("x-dwell-token", "c0ffee")]).await, 200);
    assert_eq!(call(&[("x-dwell-token", "c0ffee"), ("origin", "http://evil.example")]).await, 403);
    assert_eq!(call(&[("x-dwell-token", "c0ffee"), ("host", "evil.example")]).await, 403);

    // The stream says that somebody is there, over and over, and whether there is anything to see.
    let heard = async |times: usize| {
        let mut stream = http.get(format!("{base}/stream?token=c0ffee")).send().await.unwrap();
        let mut text = String::new();
        while text.matches("event: alive").count() < times {
            text.push_str(std::str::from_utf8(&stream.chunk().await.unwrap().expect("it ended")).unwrap());
        }
        text
    };
    let nothing = heard(3).await;
    assert_eq!(nothing.matches("data: nothing").count(), 3, "{nothing}");
    let request = SimulateRequest { scenario: "params-done-silence".into(), seed: None, speed: Some(1.0) };
    page.app.simulate(request).await.unwrap();
    page.browser.find("[data-id]").await;
    let something = heard(1).await;
    assert!(something.starts_with("data: {") && something.contains("data: watching"), "the whole comes first: {something}");
    page.browser.close().await;
}
