//! Nothing is called done that was not seen: kills and destroys against the manager's double and a small vast.ai that misbehave.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dwell_fake_manager::{Behaviour, FakeManager, Options};
use dwell_history::{ActEntry, History};
use serde_json::{Value, json};

use crate::hostile::{answer_on, asked_for, dashboard, request_on, row, server_of};
use crate::{json as parsed, text};

/// How vast.ai gives its list.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    Right,
    /// `instances: null`, whatever is rented.
    Null,
    /// Without its first row, and with the whole number.
    Short,
    /// With the number of its first row as text.
    TextId,
    /// With `NaN` for its first row's price.
    Nan,
    /// Its first page alone: the second one fails.
    Breaks,
}

/// A vast.ai with one account, or two.
#[derive(Debug)]
struct Vast {
    rented: Vec<u64>,
    form: Form,
    /// What is asked for by its number is answered with null, rented or not.
    shows_null: bool,
    /// A destroy is answered with success; it is done as well.
    destroys: bool,
    deleted: Vec<u64>,
    /// From its first destroy on it gives its list so.
    then: Option<Form>,
    /// What the manager has destroyed is gone here as well.
    follows: Option<Arc<FakeManager>>,
    /// Another account, by another key.
    other: Option<Box<Vast>>,
}

/// The key of the other account.
const OTHERS_KEY: &str = "key-of-the-other-account";

fn one(rented: &[u64], form: Form) -> Vast {
    Vast {
        rented: rented.to_vec(),
        form,
        shows_null: true,
        destroys: false,
        deleted: Vec::new(),
        then: None,
        follows: None,
        other: None,
    }
}

fn vast(rented: &[u64], form: Form) -> Arc<Mutex<Vast>> {
    Arc::new(Mutex::new(one(rented, form)))
}

impl Vast {
    fn row(id: u64) -> Value {
        json!({ "id": id, "actual_status": "running", "intended_status": "running", "dph_total": 0.5, "label": format!("C.{id}"),
                "machine_id": 40_000 + id % 1_000, "start_date": 1_796_235_300.0 })
    }

    fn answer(&mut self, method: &str, target: &str) -> (u16, String) {
        if let Some(manager) = &self.follows {
            self.rented.retain(|id| manager.account(|account| account.is_rented(*id)));
        }
        let number = target.trim_matches('/').rsplit('/').next().and_then(|id| id.parse::<u64>().ok());
        match (method, number) {
            ("GET", Some(id)) => {
                let is_rented = self.rented.contains(&id) && !self.shows_null;
                (200, json!({ "instances": is_rented.then(|| Self::row(id)) }).to_string())
            }
            ("DELETE", Some(id)) => {
                self.deleted.push(id);
                self.form = self.then.unwrap_or(self.form);
                if !self.rented.contains(&id) {
                    return (404, r#"{"success":false,"error":"no_such_instance","msg":"error 404"}"#.to_owned());
                }
                if self.destroys {
                    self.rented.retain(|it| *it != id);
                }
                (200, r#"{"success":true}"#.to_owned())
            }
            _ if target.contains("/instances/") => self.list(target),
            _ => (200, json!({ "id": if self.other.is_some() { 1 } else { 2 }, "credit": 12.5 }).to_string()),
        }
    }

    fn list(&self, target: &str) -> (u16, String) {
        if self.form == Form::Breaks && target.contains("after_token") {
            return (502, "<html>".to_owned());
        }
        let mut rows: Vec<Value> = self.rented.iter().map(|id| Self::row(*id)).collect();
        let mut next = Value::Null;
        match self.form {
            Form::Short => drop(rows.drain(..1)),
            Form::TextId => rows[0]["id"] = json!(self.rented[0].to_string()),
            Form::Nan => rows[0]["dph_total"] = json!("@"),
            Form::Breaks => {
                rows.drain(..1);
                next = json!("2");
            }
            _ => {}
        }
        let found = if self.form == Form::Null { 0 } else { rows.len() };
        let instances = if self.form == Form::Null { Value::Null } else { Value::from(rows) };
        let body = json!({ "success": true, "total_instances": self.rented.len(), "instances_found": found, "instances": instances,
                           "next_token": next });
        (200, body.to_string().replace("\"@\"", "NaN"))
    }
}

fn serve(vast: &Arc<Mutex<Vast>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let vast = Arc::clone(vast);
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let vast = Arc::clone(&vast);
            std::thread::spawn(move || answer(socket, &vast));
        }
    });
    url
}

fn answer(mut socket: TcpStream, vast: &Mutex<Vast>) {
    let Some(request) = request_on(&mut socket) else { return };
    let (method, target) = asked_for(&request);
    let mut vast = vast.lock().unwrap();
    let (status, body) = match vast.other.as_mut().filter(|_| request.contains(OTHERS_KEY)) {
        Some(other) => other.answer(method, target),
        None => vast.answer(method, target),
    };
    drop(vast);
    answer_on(&mut socket, status, body.as_bytes());
}

/// A manager with two that prove, as a saved fleet that may be acted on; with a key where there is a vast.ai.
struct Bench {
    manager: Arc<FakeManager>,
    folder: tempfile::TempDir,
    vast_url: Option<String>,
    uuid: String,
}

const ONE: u64 = 31_000_010;
const OTHER: u64 = 31_000_011;

fn bench(cycle_pause: Duration, vast: Option<&Arc<Mutex<Vast>>>) -> Bench {
    let manager = Arc::new(FakeManager::serve(Options { cycle_pause: Some(cycle_pause), ..Options::default() }));
    if let Some(vast) = vast {
        vast.lock().unwrap().follows = Some(Arc::clone(&manager));
    }
    let uuid = manager.running(ONE);
    manager.running(OTHER);
    manager.cycle();
    let bench = Bench { manager, folder: tempfile::tempdir().unwrap(), vast_url: vast.map(serve), uuid };
    assert!(bench.run(&["fleets", "add", "f", &bench.manager.url()]).status.success());
    assert!(bench.run(&["fleets", "allow-acting", "f"]).status.success());
    bench
}

impl Bench {
    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dwellctl"));
        command.args(arguments).env("DWELL_DATA_DIR", self.folder.path()).env_remove("DWELL_MANAGER").env("TZ", "UTC");
        match &self.vast_url {
            Some(url) => command.env("VAST_URL", url).env("VAST_API_KEY", "any-key-will-do"),
            None => command.env_remove("VAST_URL").env_remove("VAST_API_KEY"),
        };
        command
    }

    /// Its exit code, the last step of the deed, and all that its steps say.
    fn act(&self, deed: &str, id: &str) -> (i32, String, String) {
        // vast.ai is asked for a rental every two seconds at most: each reading takes as long.
        self.act_within(deed, id, if self.vast_url.is_some() { "4" } else { "20" })
    }

    fn act_within(&self, deed: &str, id: &str, readings: &str) -> (i32, String, String) {
        let output = self.run(&[deed, id, "--yes", "--every", "200ms", "--readings", readings, "--json"]);
        let told = parsed(&output);
        let act = &told["actions"][0];
        assert!(act.is_object(), "{told} {}", text(&output.stderr));
        let steps = act["steps"].as_array().unwrap().iter();
        let all: Vec<String> =
            steps.map(|it| format!("{}: {}", it["phase"].as_str().unwrap(), it["text"].as_str().unwrap())).collect();
        (output.status.code().unwrap(), act["phase"].as_str().unwrap().to_owned(), all.join("\n"))
    }
}

/// A destroy whose process is killed after so long: how often vast.ai was told to, also by the next process, which looks after it.
pub(crate) fn destroys_of_one_killed_after(wait: Duration) -> usize {
    let account = vast(&[ONE, OTHER], Form::Right);
    let bench = bench(NEVER, Some(&account));
    let mut command = Command::new(env!("CARGO_BIN_EXE_dwellctl"));
    command.args(["destroy", &ONE.to_string(), "--yes", "--every", "200ms", "--readings", "4"]);
    command.env("DWELL_DATA_DIR", bench.folder.path()).env("VAST_API_KEY", "any-key-will-do");
    command.envs(bench.vast_url.iter().map(|url| ("VAST_URL", url)));
    let acting = crate::watching::Background::begin(&mut command);
    std::thread::sleep(wait);
    drop(acting);
    for command in [&["fleet"][..], &["journal"]] {
        let output = bench.run(command);
        assert!(output.status.success(), "{command:?}: {}", text(&output.stderr));
    }
    let account = account.lock().unwrap();
    account.deleted.iter().filter(|id| **id == ONE).count()
}

const NEVER: Duration = Duration::from_secs(3_600);
const OFTEN: Duration = Duration::from_secs(1);

/// A destroy that is answered with success and not done, beside each list that lacks the rental without saying that it is gone.
#[test]
fn a_destroy_that_did_not_happen_is_verified_by_no_list_that_is_not_whole() {
    let forms = [Form::Null, Form::Short, Form::TextId, Form::Breaks].map(|form| {
        std::thread::spawn(move || {
            let account = vast(&[ONE, OTHER], Form::Right);
            account.lock().unwrap().then = Some(form);
            let bench = bench(NEVER, Some(&account));
            let (code, phase, told) = bench.act("destroy", &bench.uuid);
            assert_eq!((code, phase.as_str()), (5, "not-verified"), "{form:?}: {told}");
            assert!(
                told.contains("not verified yet: vast.ai's list is incomplete") && !told.contains("verified: not on"),
                "{told}"
            );
            assert_eq!(account.lock().unwrap().deleted, [ONE], "{form:?}: it is sent once");
            let journal = parsed(&bench.run(&["journal", "--json"]));
            assert_eq!(
                (&journal["actions"][0]["phase"], &journal["actions"][0]["done"]),
                (&json!("not-verified"), &json!(false))
            );
        })
    });
    forms.into_iter().for_each(|form| form.join().unwrap());
}

#[test]
fn a_list_that_is_not_whole_is_shown_as_what_it_is() {
    for (form, rentals, says) in [
        (Form::Null, 0, "2 rentals by vast.ai's count, and none of them could be read"),
        (Form::Short, 1, "at least 1 rental, at least $0.50/h"),
        (Form::TextId, 1, "The list is incomplete: 1 row could not be read."),
        (Form::Breaks, 1, "its page 2 could not be had"),
    ] {
        let account = vast(&[ONE, OTHER], form);
        let bench = bench(NEVER, Some(&account));
        for with in [&["vast", "instances"][..], &["vast", "instances", "--with-manager"]] {
            let output = bench.run(with);
            let told = text(&output.stdout);
            assert!(told.contains(says) && !told.contains("0 rentals") && !told.contains("does not list"), "{form:?}: {told}");
            assert_eq!(output.status.code(), Some(3), "{form:?}: {}", text(&output.stderr));
        }
        let listed = parsed(&bench.run(&["vast", "instances", "--json"]));
        assert_eq!((listed["complete"].as_bool(), listed["total"].as_u64()), (Some(false), Some(2)), "{listed}");
        assert_eq!(listed["rentals"].as_array().unwrap().len(), rentals);
    }
    // One NaN costs its own field.
    let output = bench(NEVER, Some(&vast(&[ONE, OTHER], Form::Nan))).run(&["vast", "instances"]);
    assert!(output.status.success() && text(&output.stdout).contains("2 rentals, at least $0.50/h"), "{}", text(&output.stdout));
    // Who rents nothing rents nothing.
    let output = bench(NEVER, Some(&vast(&[], Form::Right))).run(&["vast", "instances"]);
    assert!(output.status.success() && text(&output.stdout).contains("0 rentals, $0.00/h"), "{}", text(&output.stdout));
}

#[test]
fn the_last_rental_that_is_destroyed_is_verified_by_an_empty_list() {
    let account = vast(&[ONE], Form::Right);
    account.lock().unwrap().destroys = true;
    let bench = bench(NEVER, Some(&account));
    let (code, phase, told) = bench.act("destroy", &bench.uuid);
    assert_eq!((code, phase.as_str()), (0, "verified"), "{told}");
    assert!(told.contains("not on vast.ai's list in two readings, nor by its number"), "{told}");
}

/// Not on a list that is whole, and there all the same by its number.
#[test]
fn what_vast_ai_has_by_its_number_is_not_gone() {
    let account = vast(&[ONE, OTHER], Form::Right);
    (account.lock().unwrap().shows_null, account.lock().unwrap().then) = (false, Some(Form::Null));
    let bench = bench(NEVER, Some(&account));
    let (code, phase, told) = bench.act("destroy", &bench.uuid);
    assert_eq!((code, phase.as_str()), (1, "incident"), "{told}");
    assert!(told.contains("vast.ai still has it (running)"), "{told}");
}

/// The client asks, nobody answers, it prints "Aborted." and exits with 0: the manager believes that it was done.
#[test]
fn a_kill_whose_destroy_was_aborted_is_not_verified() {
    let bench = bench(OFTEN, None);
    bench.manager.account(|account| account.destroy = Behaviour::Aborts);
    let (code, phase, told) = bench.act("kill", &bench.uuid);
    assert_eq!((code, phase.as_str()), (1, "incident"), "{told}");
    assert!(told.contains("the manager has read vast.ai's list since, and it is still on it"), "{told}");
    assert!(told.contains(&format!("[monitor] destroyed vast instance {ONE}")), "the manager's own words: {told}");
    assert!(bench.manager.account(|account| account.is_rented(ONE)));
}

#[test]
fn a_kill_whose_destroy_failed_is_an_incident_in_the_managers_words() {
    for (destroy, words) in [
        (Behaviour::fails("Aborted!"), "exit status 1 (Aborted!)"),
        (Behaviour::fails("Traceback (most recent call last):\nKeyError: 'x'"), "KeyError: 'x'"),
        (Behaviour::Missing, "executable file not found"),
    ] {
        let account = vast(&[ONE, OTHER], Form::Right);
        for key in [None, Some(&account)] {
            let bench = bench(NEVER, key);
            bench.manager.account(|account| account.destroy = destroy.clone());
            let (code, phase, told) = bench.act("kill", &bench.uuid);
            assert_eq!((code, phase.as_str()), (1, "incident"), "{told}");
            assert!(told.contains(&format!("failed to destroy vast instance {ONE}")) && told.contains(words), "{told}");
            assert_eq!(told.matches("sent: ").count(), 1, "it is known, and not tried again: {told}");
        }
    }
}

/// The real pace: the manager's list is from before the kill for up to a minute.
#[test]
fn a_kill_is_not_verified_by_a_list_from_before_it() {
    let account = vast(&[ONE, OTHER], Form::Right);
    for (key, says) in
        [(None, "not verified yet: the manager's list"), (Some(&account), "vast.ai has it no more, but the manager's list")]
    {
        let bench = bench(NEVER, key);
        let (code, phase, told) = bench.act("kill", &bench.uuid);
        assert_eq!((code, phase.as_str()), (5, "not-verified"), "{told}");
        assert!(told.contains(says) && told.contains("from before this was done"), "{told}");
        assert!(!bench.manager.account(|account| account.is_rented(ONE)), "it was done, and that was not seen");
    }
    for deed in ["kill", "destroy"] {
        let help = text(&bench(NEVER, None).run(&[deed, "--help"]).stdout);
        let words: Vec<&str> = help.split_whitespace().collect();
        assert!(words.join(" ").contains("5 sent, and not verified yet"), "{help}");
    }
}

#[test]
fn a_kill_that_was_done_is_verified_by_what_was_read_since() {
    let keyless = bench(OFTEN, None);
    let (code, phase, told) = keyless.act_within("kill", &keyless.uuid, "300");
    assert_eq!((code, phase.as_str()), (0, "verified"), "{told}");
    assert!(told.contains("not known without a key of the account"), "{told}");
    let account = vast(&[ONE, OTHER], Form::Right);
    let bench = bench(OFTEN, Some(&account));
    let (code, phase, told) = bench.act_within("kill", &bench.uuid, "60");
    assert_eq!((code, phase.as_str()), (0, "verified"), "{told}");
    assert!(told.contains("has read that list anew since"), "{told}");
}

/// A key of another account lists nothing of the manager's: what it lacks is not gone for it.
#[test]
fn another_accounts_list_verifies_nothing() {
    let account = vast(&[], Form::Right);
    let bench = bench(OFTEN, Some(&account));
    bench.manager.account(|account| account.destroy = Behaviour::Aborts);
    let (code, phase, told) = bench.act("kill", &bench.uuid);
    assert_eq!((code, phase.as_str()), (1, "incident"), "{told}");
    refused(&bench, &["destroy", &bench.uuid], "no account that can be asked lists rental 31000010");
    assert!(account.lock().unwrap().deleted.is_empty());
}

/// Nothing is sent to any account, and it is said why.
fn refused(bench: &Bench, arguments: &[&str], why: &str) {
    let output = bench.run(&[arguments, &["--yes", "--every", "200ms", "--readings", "2"]].concat());
    let told = text(&output.stdout) + &text(&output.stderr);
    assert!(!output.status.success() && told.contains(why), "{arguments:?}: {told}");
}

/// A manager that lies has a key of another account beside it: neither of them has seen the rental go.
#[test]
fn a_manager_that_lies_beside_another_accounts_key_is_not_believed() {
    let account = vast(&[], Form::Right);
    let bench = bench(NEVER, Some(&account));
    bench.manager.account(|account| account.destroy = Behaviour::Aborts);
    let (code, phase, told) = bench.act("kill", &bench.uuid);
    assert_eq!((code, phase.as_str()), (5, "not-verified"), "{told}");
    let plan = parsed(&bench.run(&["kill", &bench.uuid, "--dry-run", "--json"]));
    assert!(plan["steps"][0]["account"].is_null(), "{plan}");
}

/// What is not known to be anybody's is destroyed for nobody.
#[test]
fn what_no_whole_list_has_is_not_destroyed() {
    for form in [Form::Null, Form::Short, Form::TextId] {
        let account = vast(&[ONE, OTHER], form);
        let bench = bench(NEVER, Some(&account));
        for deed in [&["destroy"][..], &["stop"], &["start"], &["reboot"], &["label", "--as", "x"]] {
            let mut arguments = vec![deed[0], &bench.uuid];
            arguments.extend(&deed[1..]);
            refused(&bench, &arguments, "it is not known whose rental 31000010 is");
        }
        assert!(account.lock().unwrap().deleted.is_empty(), "{form:?}");
    }
}

/// The rental is the second account's: a destroy goes to it and to no other, and it alone shows what came of it.
#[test]
fn of_two_saved_accounts_the_one_that_lists_a_rental_is_asked() {
    let account = vast(&[], Form::Right);
    account.lock().unwrap().other = Some(Box::new(one(&[ONE, OTHER], Form::Right)));
    let bench = bench(NEVER, Some(&account));
    let deleted = || {
        let vast = account.lock().unwrap();
        (vast.deleted.clone(), vast.other.as_ref().unwrap().deleted.clone())
    };
    let script = r#"
printf testpw | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1
printf %s key-of-the-first-account | "$PROGRAM" keys add first >&2 || exit 70
printf %s "$OTHERS_KEY" | "$PROGRAM" keys add second >&2 || exit 71
exec "$PROGRAM" "$@"
"#;
    let home = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new("dbus-run-session");
        command.args(["--", "bash", "-c", script, "dwellctl"]).args(arguments);
        command.env("PROGRAM", env!("CARGO_BIN_EXE_dwellctl")).env("OTHERS_KEY", OTHERS_KEY);
        command.env("XDG_DATA_HOME", home.path()).env("DWELL_DATA_DIR", bench.folder.path()).env("TZ", "UTC");
        command.env("VAST_URL", bench.vast_url.as_ref().unwrap()).env_remove("VAST_API_KEY").env_remove("DWELL_MANAGER");
        command.output().unwrap()
    };
    let act = |arguments: &[&str]| {
        let output = run(&[arguments, &["--yes", "--every", "200ms", "--readings", "4", "--json"]].concat());
        let told = parsed(&output)["actions"][0].take();
        (output.status.code().unwrap(), told["phase"].as_str().unwrap_or_default().to_owned(), told)
    };
    // It answers with success and does nothing: the first account's 404 shows nothing.
    let (code, phase, told) = act(&["destroy", &bench.uuid]);
    assert_eq!((code, phase.as_str(), told["account"].as_str()), (1, "incident", Some("second")), "{told}");
    assert!(deleted().0.is_empty() && deleted().1.iter().all(|id| *id == ONE), "{:?}", deleted());
    let plan = parsed(&run(&["destroy", &bench.uuid, "--dry-run", "--json"]));
    assert_eq!(plan["steps"][0]["account"], json!("second"), "{plan}");
    // Narrowed to the account that does not have it nothing is sent.
    let before = deleted();
    let output = run(&["destroy", &bench.uuid, "--account", "first", "--yes"]);
    let says = text(&output.stdout);
    assert!(
        !output.status.success() && says.contains("no account that can be asked lists") && says.contains(r#""first""#),
        "{says}"
    );
    assert_eq!(deleted(), before);
    account.lock().unwrap().other.as_mut().unwrap().destroys = true;
    let (code, phase, told) = act(&["destroy", &bench.uuid, "--account", "second"]);
    assert_eq!((code, phase.as_str()), (0, "verified"), "{told}");
    assert!(told["text"].as_str().unwrap().contains(r#"(account "second")"#), "{told}");
    assert!(deleted().0.is_empty(), "{:?}", deleted());
}

/// Whoever wishes for what at once: one deed is sent to one rental.
#[test]
fn of_deeds_at_once_on_one_rental_one_is_sent() {
    for deeds in [
        [["destroy", "uuid"], ["destroy", "number"], ["destroy", "uuid"]],
        [["kill", "uuid"], ["destroy", "number"], ["kill", "number"]],
    ] {
        let account = vast(&[ONE, OTHER], Form::Right);
        // Once it was destroyed nothing can be seen of it: it is not sent again by the same process either.
        account.lock().unwrap().then = Some(Form::Null);
        let bench = bench(NEVER, Some(&account));
        bench.manager.account(|account| account.destroy = Behaviour::Aborts);
        let processes: Vec<_> = deeds
            .iter()
            .map(|[deed, by]| {
                let id = if *by == "uuid" { bench.uuid.clone() } else { ONE.to_string() };
                let mut command = bench.command(&[deed, &id, "--yes", "--every", "2s", "--readings", "3"]);
                command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap()
            })
            .collect();
        for mut process in processes {
            process.wait().unwrap();
        }
        let kills = bench.manager.requests().iter().filter(|seen| seen.target.contains("/api/kill")).count();
        let deleted = account.lock().unwrap().deleted.clone();
        let journal = parsed(&bench.run(&["journal", "--json"]))["actions"].take();
        assert_eq!(kills + deleted.len(), journal.to_string().matches("\"phase\":\"sent\"").count(), "{deleted:?} {journal}");
        assert_eq!(journal.as_array().unwrap().len(), 1, "{journal}");
    }
}

/// Killed at whatever moment: no process after it sends it again by itself, and one sees what came of it.
#[test]
fn what_a_process_left_that_was_killed_is_looked_after_and_not_sent_again() {
    let account = vast(&[ONE, OTHER], Form::Right);
    let bench = bench(NEVER, Some(&account));
    let sent = || account.lock().unwrap().deleted.len();
    for lived in [400, 1_500, 2_600, 3_700, 5_000] {
        let before = sent();
        let mut command = bench.command(&["destroy", &bench.uuid, "--yes", "--every", "10m"]);
        let mut process = command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(lived));
        process.kill().unwrap();
        process.wait().unwrap();
        let after = sent();
        assert!(after <= before + 1, "{before} {after}");
        bench.run(&["fleet"]);
        assert_eq!(sent(), after, "it is only looked after");
    }
    assert!(sent() > 0, "it lived long enough to send at least once");
    account.lock().unwrap().rented.retain(|id| *id != ONE);
    let is_open = |act: &Value| !act["done"].as_bool().unwrap() && act["phase"] != "planned";
    let mut looks = 0;
    loop {
        let journal = parsed(&bench.run(&["journal", "--json"]))["actions"].take();
        if !journal.as_array().unwrap().iter().any(is_open) {
            assert!(journal.as_array().unwrap().iter().any(|act| act["phase"] == "verified"), "{journal}");
            break;
        }
        looks += 1;
        assert!(looks < 10, "{journal}");
        bench.run(&["fleet"]);
    }
}

/// One word means one instance, whatever is asked of it; what fits several is named and left alone.
#[test]
fn show_and_kill_mean_the_same_instance() {
    let account = vast(&[ONE, OTHER], Form::Right);
    let bench = bench(NEVER, Some(&account));
    let other = parsed(&bench.run(&["fleet", "--json"]))["instances"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["vast_id"] == json!(OTHER))
        .map(|row| row["id"].as_str().unwrap().to_owned())
        .unwrap();
    let number = ONE.to_string();
    let own: String = {
        let shared = bench.uuid.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
        bench.uuid.chars().take(shared + 1).collect()
    };
    let mut words = vec![bench.uuid.clone(), number.clone(), format!("C.{ONE}"), own, "7".to_owned(), "31".to_owned()];
    words.extend([number[..7].to_owned(), "nobody".to_owned(), "C.3100001".to_owned()]);
    words.extend(bench.uuid.chars().take(1).map(String::from));
    for word in words {
        let of_show = {
            let output = bench.run(&["show", &word, "--json"]);
            let told = parsed(&output);
            let id = told["row"]["id"].as_str().or(told["instance"]["id"].as_str()).or(told["id"].as_str()).map(str::to_owned);
            (output.status.code(), told["error"]["code"].as_str().map(str::to_owned), id)
        };
        for deed in [&["kill"][..], &["destroy"], &["stop"], &["label", "--as", "x"], &["ban", "--reason", "x"]] {
            if deed[0] == "ban" && word.parse::<u64>().is_ok() {
                continue;
            }
            let mut arguments = vec![deed[0], &word];
            arguments.extend(&deed[1..]);
            arguments.extend(["--dry-run", "--json"]);
            let output = bench.run(&arguments);
            let told = parsed(&output);
            let id = told["steps"][0]["id"].as_str().map(str::to_owned);
            let of_deed = (output.status.code(), told["error"]["code"].as_str().map(str::to_owned), id);
            assert_eq!(of_deed, of_show, "{word} of {deed:?}: {told}");
        }
    }
    // A beginning that is too short names whom it could mean.
    let output = bench.run(&["kill", &number[..6], "--dry-run"]);
    let told = text(&output.stderr);
    assert!(output.status.code() == Some(4) && told.contains(&bench.uuid) && told.contains(&other), "{told}");
}

/// What a rule did is found by the rule and not by what its reason begins with, in a journal of an earlier version as well.
#[test]
#[expect(clippy::disallowed_methods, reason = "the journal's rows are of the day of the program under test")]
fn a_rules_daily_limit_is_counted_in_a_journal_of_any_length() {
    let bench = bench(NEVER, None);
    let add = ["rules", "add", "wedged", "--verdict", "invisible", "--cause", "pipeline-deadlock", "--do", "kill"];
    assert!(bench.run(&add).status.success());
    let today = || parsed(&bench.run(&["rules", "--json"]))["rules"][0]["today"].as_u64().unwrap();
    assert_eq!(today(), 0);
    let journal = History::open(&bench.folder.path().join("history.sqlite3")).unwrap();
    let row = |plan: &str, phase: &str, rule: Option<&str>| {
        let entry = ActEntry {
            id: 0,
            plan: plan.into(),
            at: jiff::Timestamp::now(),
            who: "o".into(),
            process: "1 1".into(),
            why: "rule wedged: typed by hand".into(),
            rule: rule.map(str::to_owned),
            fleet: "f".into(),
            simulated: None,
            deed: "kill".into(),
            deed_text: None,
            target: plan.into(),
            uuid: None,
            vast_id: None,
            machine: None,
            account: None,
            account_number: None,
            dollars_per_h: Some(0.4),
            phase: phase.into(),
            text: String::new(),
        };
        journal.add_act(&entry).unwrap();
    };
    row("one", "planned", Some("wedged"));
    row("two", "planned", Some("wedged"));
    row("of-a-person", "planned", None);
    (0..2_050).for_each(|nth| row(&format!("p{nth}"), "verified", None));
    assert_eq!(today(), 2, "the newest 2,000 rows have neither of them");
}

/// A killed one that vast.ai bills on goes with its machine as well, and what is not on the list is not taken off it.
#[test]
fn a_ban_names_everything_that_is_billed_and_an_unban_only_what_is_listed() {
    let bench = bench(OFTEN, None);
    bench.manager.account(|account| account.destroy = Behaviour::Aborts);
    let killed = bench.manager.call("POST", "/api/kill", &format!(r#"{{"vast_id":{ONE},"uuid":"{}"}}"#, bench.uuid));
    assert_eq!(killed.status, 200);
    bench.manager.cycle();
    let machine = (40_000 + ONE % 1_000).to_string();
    let told = text(&bench.run(&["ban", &machine, "--reason", "slow", "--dry-run"]).stdout);
    assert!(told.contains(&format!("{} (killed, and billed on)", bench.uuid)) && !told.contains("Nobody is on it"), "{told}");
    let other = (40_000 + OTHER % 1_000).to_string();
    let told = text(&bench.run(&["ban", &other, "--reason", "slow", "--dry-run"]).stdout);
    assert!(told.contains("destroys every instance on it") && !told.contains("killed, and"), "{told}");
    assert!(text(&bench.run(&["ban", "40999", "--reason", "slow", "--dry-run"]).stdout).contains("Nobody is on it now"));

    for arguments in [&["unban", &machine, "--json"][..], &["unban", &machine, "--dry-run", "--json"]] {
        let output = bench.run(arguments);
        let error = &parsed(&output)["error"];
        assert_eq!((output.status.code(), &error["code"]), (Some(4), &json!("not-banned")), "{error}");
        assert!(error["message"].as_str().unwrap().contains("is not on the manager's list of bad hosts"), "{error}");
    }
    assert_eq!(bench.manager.call("POST", "/bad-host", &format!(r#"{{"machine_id":"{machine}","reason":"slow"}}"#)).status, 200);
    let told = text(&bench.run(&["unban", &machine, "--dry-run"]).stdout);
    assert!(told.contains("goes off the manager's list"), "{told}");
    // One of two is left out, and the other one done.
    let output = bench.run(&["unban", &machine, &other, "--every", "100ms"]);
    assert!(output.status.success() && text(&output.stdout).contains("left out: machine"), "{}", text(&output.stdout));
    assert!(!text(&bench.run(&["bad-hosts"]).stdout).contains(&machine));
}

/// A terminal in which a person types: what it shows so far, and what is typed next.
struct Terminal {
    process: std::process::Child,
    shown: crate::watching::Said,
}

impl Bench {
    fn terminal(&self, arguments: &str) -> Terminal {
        let mut command = Command::new("script");
        command
            .args(["--quiet", "--return", "--command", &format!("{} {arguments}", env!("CARGO_BIN_EXE_dwellctl")), "/dev/null"])
            .env("DWELL_DATA_DIR", self.folder.path())
            .env_remove("DWELL_MANAGER")
            .env_remove("VAST_URL")
            .env_remove("VAST_API_KEY")
            .env("TZ", "UTC")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped());
        let mut process = command.spawn().unwrap();
        let shown = crate::watching::Said::of_terminal(process.stdout.take().unwrap());
        Terminal { process, shown }
    }
}

impl Terminal {
    fn types(&mut self, words: &str) {
        self.process.stdin.as_mut().unwrap().write_all(format!("{words}\n").as_bytes()).unwrap();
    }
}

/// The prompt stays open while the machine goes on: what is typed then is for what was shown, and kills nothing.
#[test]
fn what_changed_at_the_prompt_is_shown_and_confirmed_anew() {
    let bench = bench(NEVER, None);
    let third = 31_000_012;
    let uuid = bench.manager.registered(third);
    bench.manager.cycle();
    let mut terminal = bench.terminal(&format!("kill {uuid} --every 200ms --readings 2"));
    let typed = format!("Type {} to do it", &uuid[..8]);
    terminal.shown.until("the prompt", |shown| shown.contains("registered, ") && shown.contains(&typed));
    bench.manager.call("POST", "/param-done", &format!(r#"{{"uuid":"{uuid}"}}"#));
    bench.manager.call("POST", "/bench-done", &format!(r#"{{"uuid":"{uuid}","rate":41.5}}"#));
    bench.manager.call("POST", "/running", &format!(r#"{{"uuid":"{uuid}"}}"#));
    terminal.types(&uuid[..8]);
    let shown = terminal.shown.until("that it has changed", |shown| shown.matches("to do it").count() == 2);
    assert!(shown.contains(&format!("{uuid} was registered, ")) && shown.contains("and is running, "), "{shown}");
    assert!(shown.contains("Nothing was done"), "{shown}");
    let kills = || bench.manager.requests().iter().filter(|seen| seen.target.contains("/api/kill")).count();
    assert_eq!(kills(), 0);
    // It is killed where that is confirmed anew.
    terminal.types(&uuid[..8]);
    terminal.shown.until("that it was sent", |shown| shown.contains("sent: kill"));
    let _ = terminal.process.wait();
    assert_eq!(kills(), 1);
}

/// A stale row and the machine that registered again share a rental: the stale one's id destroys the healthy one, and is not enough.
#[test]
fn a_stale_row_is_not_killed_by_its_own_id() {
    let healthy = row(1, "");
    let stale = healthy.replace("aaaaaaaa", "bbbbbbbb").replace("\"running\"", "\"params_done\"");
    let body = Arc::new(Mutex::new(dashboard(&[healthy, stale].join(","))));
    let url = format!("http://{}", server_of(&body));
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| crate::dwellctl(folder.path(), &[&["--manager", &url], arguments].concat());
    let plan = parsed(&run(&["kill", "bbbbbbbb", "--dry-run", "--json"]));
    assert_eq!(plan["confirm_with"], "aaaaaaaa", "the one that proves is destroyed: {plan}");
    assert!(plan["steps"][0]["warning"].as_str().unwrap().contains("aaaaaaaa-0000-4000-8000-000000000001 (running)"), "{plan}");
    let said = text(&run(&["kill", "bbbbbbbb", "--dry-run"]).stdout);
    assert!(said.contains("careful: ") && said.contains("one machine"), "{said}");
}
