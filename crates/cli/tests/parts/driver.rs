//! A benchmark through NVIDIA's driver, with a double of the driver in its place: see `crates/driver-double`.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

/// A folder in which the double is what is found for the driver.
struct Driver(tempfile::TempDir);

impl Driver {
    fn new() -> Self {
        let double = PathBuf::from(env!("CARGO_BIN_EXE_dwellctl")).with_file_name("deps").join("libdwell_driver_double.so");
        let folder = tempfile::tempdir().unwrap();
        for name in ["libcuda.so.1", "libnvidia-ml.so.1"] {
            std::fs::copy(&double, folder.path().join(name)).unwrap();
        }
        Self(folder)
    }

    fn run(&self, like: &str, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_dwellctl"))
            .args(arguments)
            .env("LD_LIBRARY_PATH", self.0.path())
            .env("DWELL_DRIVER_DOUBLE", like)
            .env("DWELL_DATA_DIR", self.0.path().join("data"))
            .output()
            .unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn every_kernel_is_right_through_the_driver_whichever_queue_goes_first() {
    let driver = Driver::new();
    std::thread::scope(|scope| {
        for like in ["", "last"] {
            let driver = &driver;
            scope.spawn(move || {
                let told = driver.run(like, &["bench", "check", "--json"]);
                let checks = json(&told)["cards"][0]["checks"].as_array().unwrap().clone();
                assert!(told.status.success() && checks.len() == 15, "{like:?}: {told:?}");
                assert!(checks.iter().all(|check| check["fault"].is_null()), "{like:?}: {checks:?}");
            });
        }
    });
}

#[test]
fn what_is_missing_or_too_old_is_said_in_a_sentence() {
    let driver = Driver::new();
    for (like, words) in [
        ("cuda=11040", "supports CUDA 11.4, and 12.0 is needed: install driver 525 or newer"),
        ("capability=61", "RTX 4090 has compute capability 6.1, and 7.5 is needed"),
        ("cards=0", "there is no card 0"),
    ] {
        let told = driver.run(like, &["bench", "check"]);
        assert!(!told.status.success() && text(&told.stderr).contains(words), "{like}: {}", text(&told.stderr));
        assert!(!text(&told.stderr).contains("panicked"), "{}", text(&told.stderr));
    }
}

#[test]
fn a_card_that_goes_away_or_computes_wrongly_is_found_out() {
    let driver = Driver::new();
    let lost = driver.run("lost=6", &["bench", "check", "--json"]);
    let faults: Vec<Value> =
        json(&lost)["cards"][0]["checks"].as_array().unwrap().iter().map(|check| check["fault"].clone()).collect();
    let words = faults.last().unwrap().as_str().unwrap();
    assert!(lost.status.code() == Some(1) && faults.len() < 15, "after it is gone nothing more is tried: {faults:?}");
    assert!(words.contains("does not answer any more: unspecified launch failure"), "{words}");
    let small = driver.run("memory=1048576", &["bench", "check", "--json"]);
    assert!(text(&small.stdout).contains("there is no room for it"), "{}", text(&small.stdout));
    // A bit that turns over in the middle of it.
    let wrong = driver.run("wrong=3,lost=12", &["bench", "check"]);
    assert!(text(&wrong.stdout).contains("LOOK Card memory, read: a result was wrong"), "{}", text(&wrong.stdout));
}

#[test]
fn what_the_driver_says_of_a_card_is_told_and_what_it_does_not_say_is_not() {
    let driver = Driver::new();
    let told = json(&driver.run("", &["bench", "cards", "--json"]));
    let (card, now) = (&told["cards"][0]["card"], &told["cards"][0]["now"]);
    assert_eq!((&card["driver"], &card["uuid"]), (&"550.54.15".into(), &"GPU-d00b1e00-0000-4000-8000-000000000001".into()));
    assert_eq!((&now["temperature_c"], &now["power_w"], &now["link_width"]), (&61.0.into(), &287.5.into(), &vec![8, 16].into()));
    assert_eq!((&now["fan_percent"], &now["others"]), (&Value::Null, &Value::Null), "what it lacks is not told");
    let words = text(&driver.run("cards=2", &["bench", "cards"]).stdout);
    assert!(words.contains("cards in this machine: 2") && words.contains("8 of 16 lanes"), "{words}");
    // The second card has a number of its own, which this driver's other half knows as well.
    assert!(words.contains("GPU-d00b1e00-0000-4000-8000-000000000101"), "{words}");
    let without = json(&driver.run("nvml=none", &["bench", "cards", "--json"]));
    assert_eq!((&without["cards"][0]["card"]["driver"], &without["cards"][0]["now"]["clock_mhz"]), (&Value::Null, &Value::Null));
}
