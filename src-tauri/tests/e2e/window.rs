//! The real window.

use serde_json::{Value, json};

use crate::driver::{Screen, window, window_on};

/// The main job: started on the simulated fleet, four of it flagged with reasons, their empty logs explained.
#[tokio::test]
async fn the_window_shows_the_four_flagged() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().display().to_string();
    let browser = window(&["--data-dir", &data, "--simulate", "--speed", "300"]).await;
    browser.note_violations().await;
    browser.until("return document.querySelectorAll('[data-flag=invisible]').length === 4").await;
    browser.sees("SIMULATED").await;
    let text = browser.text().await;
    assert!(text.contains("35.57 proofs/h") && text.contains("nothing that could show progress is working"), "{text}");

    browser.find("[data-id^=d977dead]").await.click().await.unwrap();
    browser.find("[data-testid=inspector] [data-testid=flag]").await;
    browser.sees("Would show progress").await;
    browser.sees("its image ships no logs").await;
    assert_eq!(browser.violations().await, Value::Array(vec![]));

    // The window may call what its capability lists and nothing else.
    let refused = browser
        .run_async(
            "const done = arguments[arguments.length - 1];
             window.__TAURI_INTERNALS__.invoke('plugin:window|set_title', { value: 'x' }).then(() => done('allowed'), (error) => done(String(error)));",
        )
        .await;
    assert!(refused.as_str().is_some_and(|text| text.contains("not allowed")), "{refused}");
    let frozen = browser.run("try { Object.prototype.polluted = 1 } catch (error) {} return ({}).polluted === undefined").await;
    assert_eq!(frozen, Value::Bool(true));
    browser.close().await;
}

/// First run: nothing is watched, two ways on, and one click starts the simulated fleet.
#[tokio::test]
async fn the_first_run_offers_both_ways() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().display().to_string();
    let browser = window(&["--data-dir", &data]).await;
    browser.sees("Try it with a simulated fleet".to_uppercase().as_str()).await;
    browser.find("input[name=address]").await;
    browser.find("[data-scenario=params-done-silence]").await.click().await.unwrap();
    browser.find("[data-state=running]").await;
    browser.sees("SIMULATED").await;
    browser.close().await;
    let log = std::fs::read_dir(folder.path().join("logs")).unwrap().count();
    assert_eq!(log, 1, "Dwell's own log is in its folder");
}

/// A real keyboard: each key and each modifier is an event of its own, a tenth of a second apart, on the way that a keyboard's take.
#[tokio::test]
async fn a_real_keyboard_reaches_every_key() {
    let screen = Screen::open(1280, 800);
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().display().to_string();
    let browser = window_on(Some(&screen), &["--data-dir", &data, "--simulate", "--speed", "300"]).await;
    browser.until("return document.querySelectorAll('[data-flag=invisible]').length === 4").await;
    screen.xdotool(&["search", "--sync", "--onlyvisible", "--name", "^Dwell$", "windowfocus", "--sync"]);
    browser.until("return document.hasFocus()").await;
    browser.run("window.places = []; addEventListener('hashchange', () => window.places.push(location.hash))").await;
    let places = "return window.places.splice(0)";
    let no_dialog = "return !document.querySelector('[role=dialog]')";

    // `?` as it is on a keyboard: with Shift held.
    for keys in [&["keydown", "Shift_L", "key", "slash", "keyup", "Shift_L"][..], &["key", "question"]] {
        screen.xdotool(keys);
        browser.until("return document.querySelector('[role=dialog]')?.innerText.includes('Show the manager')").await;
        screen.types(&["Escape"]);
        browser.until(no_dialog).await;
    }

    // A chord whose second key is a key of its own as well; then that key.
    screen.types(&["j", "g", "d"]);
    browser.sees("HTTPS certificates").await;
    assert_eq!(browser.run(places).await, json!(["#/doctor"]));
    screen.types(&["g", "i", "g", "f"]);
    browser.until("return document.querySelector('[role=grid]') && window.places.length === 2").await;
    assert_eq!(browser.run(places).await, json!(["#/incidents", "#/fleet"]), "both, one right after the other");
    let shown = browser.run("return document.querySelector('[aria-selected=true]').dataset.id").await;
    screen.types(&["d"]);
    browser.find("[data-testid=diagnosis]").await;
    assert_eq!(browser.run("return document.querySelector('[data-testid=diagnosis-id]').innerText").await, shown);
    browser.run(places).await;

    // Every place that has a chord, one right after the other.
    let chords = "return [...document.querySelectorAll('nav button[title]')].map((it) => / \\((g .)\\)$/.exec(it.title)?.[1]).filter(Boolean)";
    let mut chords: Vec<String> = serde_json::from_value(browser.run(chords).await).unwrap();
    assert!(chords.len() > 10, "{chords:?}");
    // The search puts the keys into its field: it comes last.
    chords.sort_by_key(|chord| chord == "g l");
    let keys: Vec<&str> = chords.iter().flat_map(|chord| chord.split(' ')).collect();
    screen.types(&keys);
    browser.until(&format!("return window.places.length === {}", chords.len())).await;

    screen.types(&["ctrl+k"]);
    browser.find("[role=dialog] input").await;
    screen.types(&["d", "9", "7", "7"]);
    browser.until("return document.querySelectorAll('[role=dialog] [data-command-item]').length === 1").await;
    screen.types(&["Return"]);
    browser.until("return document.querySelector('[data-testid=instance-id]')?.innerText.startsWith('d977dead')").await;
    browser.close().await;
}
