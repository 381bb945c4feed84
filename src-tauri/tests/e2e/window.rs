//! The real window.

use serde_json::Value;

use crate::driver::window;

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
