//! What people and scripts read is pinned: the help of every command, and the text and the shape of the JSON that commands give of a
//! fleet whose time stands still. `INSTA_UPDATE=always cargo test -p dwell-cli --test cli pinned::` writes them anew.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

use crate::{Sim, json, text};

/// The help of a command, as a pipe gets it.
fn help(path: &[&str]) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_dwellctl")).args(path).arg("--help").env_remove("DWELL_MANAGER").output().unwrap();
    assert!(output.status.success(), "{path:?}: {}", text(&output.stderr));
    text(&output.stdout).lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// Names under `Commands:`, but for `help` itself.
fn commands(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // A name is indented by two; what goes on in the next line, further.
    let name = |line: &str| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')).map(str::to_owned);
    let names = listed.filter_map(|line| name(line)?.split(' ').next().map(str::to_owned));
    names.filter(|name| name != "help").collect()
}

fn helps(path: &[&str], into: &mut String) {
    let its = help(path);
    into.push_str(&format!("$ dwellctl {} --help\n{its}\n", path.join(" ")));
    for name in commands(&its) {
        helps(&[path, &[name.as_str()]].concat(), into);
    }
}

#[test]
fn the_help_of_every_command() {
    let first = help(&[]);
    insta::assert_snapshot!("help", first);
    let commands = commands(&first);
    assert!(commands.len() > 30, "{commands:?}");
    for name in commands {
        let mut all = String::new();
        helps(&[&name], &mut all);
        insta::assert_snapshot!(format!("help-{name}"), all);
    }
}

/// Words that no operator uses so, in the help. Names of options and commands are typed, and are no text.
#[test]
fn the_help_speaks_the_fields_language() {
    let words = r"(?i)\b(nobody|everybody|told|deed|cards?|looks?|so many|taken back|carry out|carried out|kept|dearest|mend|going to be)\b";
    let words = regex::Regex::new(words).unwrap();
    let typed = regex::Regex::new(r"`[^`]*`|--?[a-z][a-z-]*|dwellctl [a-z -]+|\[possible values: .*").unwrap();
    let mut all = help(&[]);
    for name in commands(&all.clone()) {
        helps(&[&name], &mut all);
    }
    let faults: Vec<&str> = all.lines().filter(|line| words.is_match(&typed.replace_all(line, ""))).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Paths of a JSON value with the types that stand there, over all elements of lists.
fn shape(value: &Value, path: &str, into: &mut BTreeMap<String, Vec<&'static str>>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    };
    let kinds = into.entry(path.to_owned()).or_default();
    if !kinds.contains(&kind) {
        kinds.push(kind);
        kinds.sort_unstable();
    }
    match value {
        Value::Array(all) => all.iter().for_each(|it| shape(it, &format!("{path}[]"), into)),
        Value::Object(all) => all.iter().for_each(|(name, it)| shape(it, &format!("{path}.{name}"), into)),
        _ => {}
    }
}

/// Remarks without the time of this machine.
fn untimed(remarks: &str) -> String {
    let rest = |line: &str| line.split_once("HH:MM:SS UTC  ").map_or_else(|| line.to_owned(), |(_, rest)| rest.to_owned()) + "\n";
    remarks.lines().map(rest).collect()
}

/// Reading commands of a fleet, as they are typed after `dwellctl`.
const READING: [(&str, &[&str]); 18] = [
    ("fleet", &["fleet"]),
    ("fleet-wide", &["fleet", "-o", "wide"]),
    ("show", &["show", "d977"]),
    ("diagnose", &["diagnose"]),
    ("diagnose-one", &["diagnose", "d977"]),
    ("logs", &["logs", "d977"]),
    ("manager-logs", &["manager-logs", "--tail", "3"]),
    ("bad-hosts", &["bad-hosts"]),
    ("offers", &["offers", "--limit", "3"]),
    ("kill-dry-run", &["kill", "d977", "--dry-run"]),
    ("journal", &["journal"]),
    ("rollouts", &["rollouts"]),
    ("rules", &["rules"]),
    ("charts", &["chart"]),
    ("explain", &["explain"]),
    ("scenarios", &["sim", "list"]),
    ("fleets", &["fleets"]),
    ("history", &["history", "fleets"]),
];

#[test]
fn what_commands_say_of_a_fleet_that_stands_still() {
    let sim = Sim::serve("params-done-silence", "0");
    let folder = sim.folder.path().to_string_lossy().into_owned();
    // A world begins at the present time; its run and how busy its GPUs are follow from that.
    let of_now = [
        (r"\d{4}[-/]\d\d[-/]\d\d", "YYYY-MM-DD"),
        (r"\d\d:\d\d:\d\d", "HH:MM:SS"),
        (r"\.\d+Z +", "Z  "),
        (r"run=\d+", "run=RUN"),
        (r"-p \d+", "-p PORT"),
        (r"\b[\d.]+ (%|°C) *", "NN $1 "),
        (r"\b[89]\d\b", "NN"),
    ]
    .map(|(pattern, shown)| (regex::Regex::new(pattern).unwrap(), shown));
    let plain = |said: &[u8]| {
        let said =
            text(said).replace(&sim.url, "http://MANAGER").replace(&sim.vast_url, "http://VAST").replace(&folder, "FOLDER");
        let said = of_now.iter().fold(said, |said, (pattern, shown)| pattern.replace_all(&said, *shown).into_owned());
        said.lines().map(|line| line.trim_end().to_owned() + "\n").collect::<String>()
    };
    for (name, arguments) in READING {
        let output = sim.run(arguments);
        let code = output.status.code().unwrap();
        insta::assert_snapshot!(
            format!("text-{name}"),
            format!(
                "$ dwellctl {}  (exit {code})\n{}{}",
                arguments.join(" "),
                plain(&output.stdout),
                untimed(&plain(&output.stderr))
            )
        );
        let output = sim.run(&[arguments, &["--json"]].concat());
        let mut paths = BTreeMap::new();
        shape(&json(&output), "", &mut paths);
        let lines: Vec<String> =
            paths.iter().map(|(path, kinds)| format!("{}: {}", path.trim_start_matches('.'), kinds.join(" | "))).collect();
        insta::assert_snapshot!(format!("json-{name}"), lines.join("\n"));
    }
}
