//! Cause by channel: every shipped scenario of a single fault, looked at through every channel at one moment.
//!
//! The table says what the failure catalogue says the cause shows. Its language, one check a string:
//! `D` the manager's dashboard row (`state X`, `reason TEXT`, `field=VALUE`, `absent`), `L` its log buffer (`empty`,
//! `has TEXT`, `lacks TEXT`, `silent N` for no line within N minutes), `M` the manager's own log (`has`, `lacks`), `V`
//! vast.ai's record (`field=VALUE`, `msg TEXT`, `absent`), `C` the container's own output, `X` the host daemon's (`has`,
//! `lacks`), `S` a look by SSH (`in`, `out REACH`, `runs P`, `no P`, `state P S`, `exit P CODE`, `oom N`, `smi ok|failed|late`,
//! `smi has TEXT`, `kernel TEXT`, `resolves no`, `manager no`, `throttled`), `F` the log files (`has`, `lacks`, `none`), `Q` the
//! prover's status (`refused`, `late`, `no-ssh`, `completed N`, `stuck`).

use dwell_simulator::{HostView, ProverStatus, Scenario, Smi, World};
use serde_json::Value;

struct Seen {
    row: Option<Value>,
    lines: Vec<(i64, String)>,
    manager: String,
    record: Option<Value>,
    container: String,
    daemon: String,
    host: HostView,
    status: ProverStatus,
    now_ms: i64,
}

fn see(world: &mut World, vast_id: u64) -> Seen {
    let truth = world.truth().into_iter().find(|truth| truth.vast_id == vast_id).unwrap();
    let dashboard: Value = world.dashboard_body().map_or(Value::Null, |body| serde_json::from_slice(&body).unwrap());
    let rows = dashboard["instances"].as_array().cloned().unwrap_or_default();
    let uuid = truth.uuid.unwrap_or_default();
    let row = rows.iter().rev().find(|row| !uuid.is_empty() && row["uuid"] == uuid.as_str());
    let row = row.or_else(|| rows.iter().find(|row| row["vast_id"] == vast_id)).cloned();
    let lines: Vec<Value> =
        world.instance_logs_body(&uuid, 10_000).map_or(Vec::new(), |body| serde_json::from_slice(&body).unwrap());
    let manager: Vec<Value> = world.manager_logs_body(5_000).map_or(Vec::new(), |body| serde_json::from_slice(&body).unwrap());
    let text = |line: &Value| line["text"].as_str().unwrap_or("").to_owned();
    Seen {
        row,
        lines: lines.iter().map(|line| (line["ts"].as_i64().unwrap_or(0), text(line))).collect(),
        manager: manager.iter().map(text).collect::<Vec<_>>().join("\n"),
        record: world.vast_record(vast_id),
        container: world.container_log(vast_id, false).map(|(_, text)| text).unwrap_or_default(),
        daemon: world.container_log(vast_id, true).map(|(_, text)| text).unwrap_or_default(),
        host: world.host_view(vast_id).unwrap(),
        status: world.prover_status(vast_id).unwrap(),
        now_ms: world.now().as_millisecond(),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl Seen {
    fn files(&self) -> String {
        self.host.files.iter().flat_map(|file| file.tail.iter()).map(|line| format!("{line}\n")).collect()
    }

    fn holds(&self, check: &str) -> bool {
        let (channel, rest) = check.split_once(' ').unwrap();
        let (word, argument) = rest.split_once(' ').unwrap_or((rest, ""));
        let text = |text: &str| match word {
            "has" => text.contains(argument),
            "lacks" => !text.contains(argument),
            other => panic!("{other} in {check:?}"),
        };
        let field = |of: &Option<Value>| {
            let (name, wanted) = rest.split_once('=').unwrap_or_else(|| panic!("{check:?}"));
            of.as_ref().is_some_and(|of| plain(&of[name]) == wanted)
        };
        match (channel, word) {
            ("D" | "V", "absent") => {
                if channel == "D" {
                    self.row.is_none()
                } else {
                    self.record.is_none()
                }
            }
            ("D", "state") => self.row.as_ref().is_some_and(|row| row["state"] == argument),
            ("D", "reason") => self.row.as_ref().is_some_and(|row| plain(&row["kill_reason"]).contains(argument)),
            ("D", _) => field(&self.row),
            ("L", "empty") => self.lines.is_empty(),
            ("L", "silent") => {
                let minutes: i64 = argument.parse().unwrap();
                self.lines.last().is_none_or(|(ts, _)| self.now_ms - ts > minutes * 60_000)
            }
            ("L", "flows") => self.lines.last().is_some_and(|(ts, _)| self.now_ms - ts < 200_000),
            ("L", _) => text(&self.lines.iter().map(|(_, line)| format!("{line}\n")).collect::<String>()),
            ("M", _) => text(&self.manager),
            ("V", "msg") => self.record.as_ref().is_some_and(|record| plain(&record["status_msg"]).contains(argument)),
            ("V", _) => field(&self.record),
            ("C", _) => text(&self.container),
            ("X", _) => text(&self.daemon),
            ("S", _) => self.host_holds(word, argument),
            ("F", "none") => self.host.files.is_empty(),
            ("F", _) => text(&self.files()),
            ("Q", "refused") => self.status == ProverStatus::Failed(7),
            ("Q", "late") => self.status == ProverStatus::Failed(28),
            ("Q", "no-ssh") => self.status == ProverStatus::NoSsh,
            ("Q", "completed") => {
                self.answer().is_some_and(|status| status["counters"]["total_completed"].as_u64() >= argument.parse().ok())
            }
            ("Q", "failed") => {
                self.answer().is_some_and(|status| status["counters"]["total_failed"].as_u64() >= argument.parse().ok())
            }
            ("Q", "stuck") => self
                .answer()
                .is_some_and(|status| status["pipelines"][0]["partitions_done"].as_u64().is_some_and(|done| done < 10)),
            ("Q", "idle") => self.answer().is_some_and(|status| status["pipelines"].as_array().is_some_and(Vec::is_empty)),
            _ => panic!("{check:?} is no check"),
        }
    }

    fn answer(&self) -> Option<&Value> {
        if let ProverStatus::Answer(status) = &self.status { Some(status) } else { None }
    }

    fn host_holds(&self, word: &str, argument: &str) -> bool {
        let host = &self.host;
        let process = |program: &str| host.processes.iter().find(|process| process.program == program);
        let (first, second) = argument.rsplit_once(' ').unwrap_or((argument, ""));
        match word {
            "in" => host.clock.is_some(),
            "out" => host.clock.is_none() && format!("{:?}", host.proxy) == argument,
            "direct" => format!("{:?}", host.direct) == argument,
            "runs" => process(argument).is_some(),
            "no" => host.clock.is_some() && process(argument).is_none(),
            "state" => process(first).is_some_and(|process| process.state.to_string() == second),
            "exit" => host.exits.iter().any(|(program, code, _)| program == first && code.to_string() == second),
            "oom" => host.oom_kills.to_string() == argument,
            "smi" => match (&host.smi, argument) {
                (Some(Smi::Cards(_)), "ok") | (Some(Smi::Failed(_)), "failed") | (Some(Smi::TimedOut), "late") => true,
                (Some(smi), _) => format!("{smi:?}").contains(argument.trim_start_matches("has ")),
                (None, _) => false,
            },
            "kernel" => host.kernel.as_ref().is_some_and(|lines| lines.iter().any(|(_, line)| line.contains(argument))),
            "resolves" => host.clock.is_some() && !host.resolves_names,
            "manager" => host.clock.is_some() && !host.reaches_manager,
            "throttled" => host.throttled_periods > 0,
            "locked" => host.locked_memory_limited,
            "noadx" => !host.has_adx,
            "restarted" => host.container_started_at.is_some_and(|at| {
                let since = self.row.as_ref().map(|row| plain(&row["param_done_at"])).and_then(|text| text.parse().ok());
                since.is_some_and(|since: jiff::Timestamp| at > since)
            }),
            _ => panic!("{word:?} is no check"),
        }
    }
}

include!("table.rs");

/// Runs a shipped scenario to a moment (minutes after its first screen) and looks at the first instance that its fault
/// struck; where the kernel log is asked for, at the first that lets it be read: a third of the machines does not.
fn look(name: &str, minutes: f64, kernel: bool) -> (Seen, Scenario) {
    let scenario = Scenario::named(name).unwrap();
    let (seed, start) = (scenario.seed, scenario.start);
    let mut world = World::new(scenario.clone(), seed, start);
    world.advance_to(start + jiff::SignedDuration::from_secs((minutes * 60.0) as i64));
    let aimed = scenario.diagnoses[0].target();
    let readable = |world: &World, vast_id: u64| world.host_view(vast_id).is_some_and(|host| host.kernel.is_some());
    let struck = aimed.map(|target| world.selected(Some(target))).unwrap_or_default();
    let struck = struck.into_iter().find(|vast_id| !kernel || readable(&world, *vast_id));
    let by_fault = |world: &World| {
        let truths = world.truth();
        truths.iter().find(|truth| truth.causes.iter().any(|cause| cause == scenario.faults[0].id())).map(|truth| truth.vast_id)
    };
    let vast_id = struck.or_else(|| by_fault(&world)).unwrap_or_else(|| panic!("{name}: its fault strikes nobody by then"));
    (see(&mut world, vast_id), scenario)
}

#[test]
fn every_cause_shows_what_the_catalogue_says() {
    let mut wrong = Vec::new();
    for (name, minutes, checks) in TABLE {
        let (seen, _) = look(name, *minutes, checks.iter().any(|check| check.starts_with("S kernel")));
        for check in checks.iter().filter(|check| !seen.holds(check)) {
            wrong.push(format!("{name} at {minutes} min: not {check:?}"));
        }
        if std::env::var("DWELL_SHOW").is_ok_and(|wanted| wanted == *name) {
            let row = seen.row.as_ref().map(|row| format!("{} {}", row["state"], row["kill_reason"]));
            let tail: Vec<_> = seen.lines.iter().rev().take(8).rev().collect();
            let programs: Vec<_> = seen.host.processes.iter().map(|process| (&process.program, process.state)).collect();
            let record = seen.record.as_ref().map(|record| (record["actual_status"].clone(), record["status_msg"].clone()));
            wrong.push(format!(
                "{name}\n D {row:?}\n L {tail:#?}\n V {record:?}\n S {programs:?} {:?} {:?}\n Q {:?}\n F {}\n M {}",
                seen.host.exits,
                seen.host.smi,
                seen.status,
                seen.files(),
                seen.manager.lines().rev().take(6).collect::<Vec<_>>().join("\n   ")
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The seed article's evening with four truths: what the manager shows of the four is the same.
#[test]
fn the_evenings_share_their_first_screen() {
    let screen = |name: &str| {
        let scenario = Scenario::named(name).unwrap();
        let (seed, start) = (scenario.seed, scenario.start);
        let world = World::new(scenario, seed, start);
        let dashboard: Value = serde_json::from_slice(&world.dashboard_body().unwrap()).unwrap();
        let rows = dashboard["instances"].as_array().unwrap().clone();
        assert_eq!(rows.len(), 32, "{name}");
        let silent = rows.iter().filter(|row| row["state"] == "params_done");
        let shown = |row: &Value| {
            let told = ["uuid", "label", "param_done_at", "gpu_name", "log_lines", "has_logs", "killed_at"];
            told.map(|field| plain(&row[field])).join(" ")
        };
        silent.map(shown).collect::<Vec<String>>()
    };
    let first = screen("evening-nothing-wrong");
    assert_eq!(first.len(), 4);
    assert!(first.iter().all(|row| row.contains(" 0 false ")), "empty logs: {first:#?}");
    for name in ["evening-restart", "evening-half-open", "evening-four-truths"] {
        assert_eq!(screen(name), first, "{name}");
    }
}

/// Every shipped scenario runs to its end in virtual time, and what it expects is said of somebody.
#[test]
fn every_shipped_scenario_runs() {
    let scenarios = dwell_simulator::shipped();
    assert!(scenarios.len() > 140, "{}", scenarios.len());
    for scenario in scenarios {
        let (name, start, duration) = (scenario.name.clone(), scenario.start, scenario.duration);
        let mut world = World::new(scenario.clone(), scenario.seed, start);
        world.advance_to(start + jiff::SignedDuration::from_secs(duration as i64));
        for diagnosis in &scenario.diagnoses {
            assert!(!world.selected(diagnosis.target()).is_empty(), "{name}: nobody is what {} is said of", diagnosis.verdict());
        }
        for fault in &scenario.faults {
            let struck = world.truth().iter().any(|truth| truth.causes.iter().any(|cause| cause == fault.id()));
            assert!(struck, "{name}: {} strikes nobody", fault.id());
        }
    }
}
