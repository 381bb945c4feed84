//! `watch --metrics` against Prometheus itself: its linter, its rules, and a real server that reads them.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{Sim, text};

fn monitoring() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../commands/monitoring")
}

fn promtool(arguments: &[&str], input: &str) -> String {
    let mut process = Command::new("promtool")
        .args(arguments)
        .current_dir(monitoring())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    process.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = process.wait_with_output().unwrap();
    let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "promtool {arguments:?}: {said}");
    said
}

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn get(url: &str) -> Option<String> {
    let output = Command::new("curl").args(["--silent", "--fail", "--max-time", "5", url]).output().unwrap();
    output.status.success().then(|| text(&output.stdout))
}

/// Asks again until there is an answer that will do.
pub(crate) fn wait_for(url: &str, good: impl Fn(&str) -> bool) -> String {
    let began = Instant::now();
    loop {
        let answer = get(url);
        if let Some(answer) = answer.as_ref().filter(|answer| good(answer)) {
            return answer.clone();
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{url}: {answer:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn watch(sim: &Sim) -> (Running, String) {
    let mut process = Command::new(env!("CARGO_BIN_EXE_dwellctl"))
        .args(["--manager", &sim.url, "watch", "--every", "1s", "--metrics", "127.0.0.1:0"])
        .env("DWELL_DATA_DIR", sim.folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(process.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.trim().split_once("metrics at ").unwrap_or_else(|| panic!("{line}")).1.to_owned();
    (Running(process), url)
}

/// A real Prometheus that reads one address every second, with the shipped rules. It ends with the test.
pub(crate) struct Prometheus {
    _process: Running,
    port: u16,
}

impl Prometheus {
    /// Where a query is answered.
    pub(crate) fn query(&self, query: &str) -> String {
        format!("http://127.0.0.1:{}/api/v1/query?query={query}", self.port)
    }

    /// Where it lists its rules.
    fn rules(&self) -> String {
        format!("http://127.0.0.1:{}/api/v1/rules", self.port)
    }
}

/// Starts one that reads the metrics at `url`; what it keeps is in `folder`.
pub(crate) fn prometheus(folder: &Path, url: &str) -> Prometheus {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let target = url.trim_start_matches("http://").trim_end_matches("/metrics");
    let config = folder.join("prometheus.yml");
    let rules = monitoring().join("alerts.yml").canonicalize().unwrap();
    let written = format!(
        "global: {{ scrape_interval: 1s, evaluation_interval: 1s }}\nrule_files: ['{}']\nscrape_configs:\n  - job_name: dwell\n    static_configs: [{{ targets: ['{target}'] }}]\n",
        rules.display()
    );
    std::fs::write(&config, written).unwrap();
    let process = Command::new("prometheus")
        .arg(format!("--config.file={}", config.display()))
        .arg(format!("--storage.tsdb.path={}", folder.join("tsdb").display()))
        .arg(format!("--web.listen-address=127.0.0.1:{port}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    Prometheus { _process: Running(process), port }
}

#[test]
fn metrics_are_what_prometheus_takes_and_rules_fire_when_they_should() {
    promtool(&["check", "rules", "alerts.yml"], "");
    promtool(&["test", "rules", "alerts_test.yml"], "");

    let sim = Sim::serve("params-done-silence", "60");
    let (_watching, url) = watch(&sim);
    // Twenty simulated minutes until the four are flagged.
    let metrics = wait_for(&url, |metrics| metrics.contains("dwell_flagged{flag=\"invisible\"} 4"));
    assert!(metrics.ends_with("# EOF\n"), "{metrics}");
    // The linter knows the older format, in which a counter's help bears its whole name.
    let older: String = metrics
        .lines()
        .map(|line| match line.strip_prefix("# HELP dwell_").and_then(|rest| rest.split_once(' ')) {
            Some((name, help)) if ["reads", "entered", "raised", "history_lost_entries"].contains(&name) => {
                format!("# HELP dwell_{name}_total {help}\n")
            }
            _ => format!("{line}\n"),
        })
        .collect();
    assert_eq!(promtool(&["check", "metrics"], &older), "");

    // Every metric that a rule or the dashboard names is one that is served, or has been: what counts nothing yet is told in its type.
    let named = |text: &str| -> Vec<String> {
        let words = text.split(|letter: char| !letter.is_ascii_lowercase() && letter != '_');
        words.filter(|word| word.starts_with("dwell_") && word.len() > 6).map(str::to_owned).collect()
    };
    for file in ["alerts.yml", "dashboard.json"] {
        for name in named(&std::fs::read_to_string(monitoring().join(file)).unwrap()) {
            let plain = name.trim_end_matches("_total");
            assert!(metrics.contains(&format!("# TYPE {plain} ")), "{file} names {name}");
        }
    }
    let dashboard: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(monitoring().join("dashboard.json")).unwrap()).unwrap();
    assert_eq!(dashboard["panels"].as_array().unwrap().len(), 12);

    let prometheus = prometheus(sim.folder.path(), &url);
    wait_for(&prometheus.query("dwell_flagged"), |answer| answer.contains("\"invisible\"") && answer.contains("\"4\""));
    let rules = wait_for(&prometheus.rules(), |answer| answer.contains("DwellFlagged"));
    assert!(!rules.contains("\"health\":\"err\""), "{rules}");
}

#[test]
fn a_manager_that_is_gone_is_seen_in_the_metrics() {
    let mut sim = Sim::serve("params-done-silence", "1");
    let (_watching, url) = watch(&sim);
    wait_for(&url, |metrics| metrics.contains("\ndwell_manager_up 1\n"));
    sim.process.kill().unwrap();
    sim.process.wait().unwrap();
    let metrics = wait_for(&url, |metrics| metrics.contains("\ndwell_manager_up 0\n"));
    assert!(metrics.contains("dwell_instances{state=\"running\"} 1"), "what was seen last stands: {metrics}");
    assert!(metrics.contains("dwell_reads_total{result=\"failed\"}"));
}
