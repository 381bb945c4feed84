//! Looks at machines of a connected fleet, through the system's own `ssh`: the simulated machines answer over real sockets.

use std::time::Duration;

use dwell_commands::dto::*;
use dwell_commands::{App, SecretString, Served, serve};

use crate::world;

struct Fleet {
    served: Served,
    app: App,
    folder: tempfile::TempDir,
}

async fn fleet(faults: &str) -> Fleet {
    let served = serve(world(3, 6, faults), 0.0, 0, 0).await.unwrap();
    served.open_ssh();
    let folder = tempfile::tempdir().unwrap();
    let app = App::new(Some(folder.path().to_owned())).unwrap();
    app.set_vast_address(served.vast_url());
    app.connect(ConnectRequest { address: served.url(), name: Some("mine".into()), ssh: None }).await.unwrap();
    Fleet { served, app, folder }
}

impl Fleet {
    /// Simulated machines answer on this machine.
    fn allow_private_machines(&self) {
        let path = self.folder.path().join("settings.toml");
        let written = std::fs::read_to_string(&path).unwrap();
        std::fs::write(path, format!("allow_private_machines = true\n{written}")).unwrap();
    }

    /// The instances, once the first answer is there.
    async fn rows(&self) -> Vec<InstanceRow> {
        for _ in 0..400 {
            let rows = self.app.fleet(Nothing {}).await.map(|view| view.instances).unwrap_or_default();
            if !rows.is_empty() {
                return rows;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("the manager was not read");
    }

    async fn look(&self, id: &str, check: &str) -> Result<DiagnosisPage, String> {
        self.app
            .make_look(LookRequest { id: id.to_owned(), check: check.to_owned() })
            .await
            .map_err(|error| error.code.as_str().to_owned())
    }

    async fn page(&self, id: &str) -> InstancePage {
        self.app.instance(InstanceRequest { id: id.to_owned() }).await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_is_looked_at_once_that_is_allowed_and_its_words_are_kept() {
    let fleet = fleet("").await;
    let row = fleet.rows().await.into_iter().find(|row| row.state == "running").expect("one runs");
    assert_eq!(fleet.look(&row.id, "ssh-probe").await.unwrap_err(), "not-allowed");
    let script = fleet.app.probe_script(ProbeScriptRequest { id: Some(row.id.clone()) }).await.unwrap();
    let by_hand = script.by_hand.expect("the manager tells an address");
    assert!(by_hand.contains("127.0.0.1") && by_hand.contains(&script.script), "{by_hand}");

    let fleets = fleet.app.allow_probe(AllowProbe { name: "mine".into(), allow: true }).await.unwrap();
    assert!(fleets.saved[0].allow_probe);
    // It is told to be on this machine, where nothing is rented.
    let error = fleet.app.make_look(LookRequest { id: row.id.clone(), check: "ssh-probe".into() }).await.unwrap_err();
    assert!(error.code == "bad-address" && error.message.contains("this machine or into a network of your own"), "{error}");
    fleet.allow_private_machines();
    let page = fleet.look(&row.id, "ssh-probe").await.unwrap();
    let health = |page: &DiagnosisPage, wanted: &str| {
        page.channels.iter().find(|it| it.channel == wanted).map(|it| it.health.clone()).unwrap_or_default()
    };
    assert_eq!(health(&page, "ssh-probe"), "working", "{:?}", page.channels);
    assert_eq!(health(&page, "prover-status"), "working", "the same connection asked the prover: {:?}", page.channels);

    let page = fleet.page(&row.id).await;
    let machine = page.machine.expect("the machine was seen");
    let processes = machine.processes.expect("processes were shown");
    assert!(processes.iter().any(|it| it.program.contains("cuzk")), "{processes:?}");
    assert!(machine.cards.iter().any(|it| it.memory_mib.is_some_and(|mib| mib > 1_000.0)), "{:?}", machine.cards);
    let prover = page.prover.expect("the prover was asked");
    assert!(prover.rows.iter().any(|it| it.name == "Proofs completed" && it.value.is_some()), "{prover:?}");
    let answers = fleet.app.raw_answers(InstanceRequest { id: row.id.clone() }).await.unwrap().answers;
    let of = |channel: &str| answers.iter().find(|it| it.channel == channel).map(|it| it.text.as_str()).unwrap_or_default();
    assert!(of("ssh-probe").contains("memory.max"), "{}", of("ssh-probe"));
    assert!(of("prover-status").contains("uptime_secs"), "{answers:?}");

    // What the manager fetches by itself needs no leave.
    let page = fleet.look(&row.id, "prover-status").await.unwrap();
    assert_eq!(health(&page, "prover-status"), "working");
    // Forbidden again, it is not done.
    fleet.app.allow_probe(AllowProbe { name: "mine".into(), allow: false }).await.unwrap();
    assert_eq!(fleet.look(&row.id, "ssh-probe").await.unwrap_err(), "not-allowed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn how_far_a_connection_gets_is_told_for_each_way() {
    for (fault, direct, proxy) in [
        ("kind = \"direct-port-broken\"", "no address", "connected"),
        ("kind = \"probe-auth-failed\"", "key not accepted", "key not accepted"),
        ("kind = \"image-missing-tool\"\nwith = { tool = \"ssh\" }", "refused", "refused"),
    ] {
        let fleet = fleet(&format!("\n[[fault]]\n{fault}\nat = \"-4h\"\n")).await;
        fleet.app.add_key("mine", SecretString::from("any-key-will-do"), true).await.unwrap();
        fleet.app.allow_probe(AllowProbe { name: "mine".into(), allow: true }).await.unwrap();
        fleet.allow_private_machines();
        let row = fleet.rows().await.remove(0);
        fleet.look(&row.id, "ssh-probe").await.unwrap();
        let page = fleet.page(&row.id).await;
        let summary = page.looks.iter().find(|it| it.channel == "ssh-probe").map(|it| it.summary.clone()).unwrap();
        assert!(
            summary.contains(&format!("direct port: {direct}")) && summary.contains(&format!("proxy: {proxy}")),
            "{fault}: {summary}; {:?}",
            fleet.served.with_world(|world| world.ssh_reach(row.vast_id.unwrap()))
        );
        assert_eq!(page.machine.is_some(), summary.contains("connected"), "{fault}");
    }
}
