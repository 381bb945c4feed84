//! Incidents as an operator meets them, over HTTP on a simulated evening: grouped, looked at, noted, closed, reported.

use std::time::Duration;

use dwell_commands::dto::*;
use dwell_commands::{App, Start};

async fn evening(folder: &std::path::Path) -> App {
    let app = App::new(Some(folder.to_path_buf())).unwrap();
    app.start(Start::Simulated { scenario: "evening-four-truths".into(), speed: Some(60.0) }).await.unwrap();
    for _ in 0..200 {
        let incidents = app.incidents(Nothing {}).await;
        if incidents.is_ok_and(|it| it.incidents.iter().map(|it| it.instances.len()).sum::<usize>() >= 4) {
            app.set_speed(SpeedRequest { speed: 0.0 }).await.unwrap();
            return app;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("nobody was flagged within twenty seconds");
}

const RAM: &str = "7bec818c-9e52-422b-bb31-52baefcaa6ef";
const CARD: &str = "d3e996ae-f69b-4b16-9b60-0d38e068533a";

#[tokio::test]
async fn one_incident_of_four_and_a_look_tells_them_apart() {
    let folder = tempfile::tempdir().unwrap();
    let app = evening(folder.path()).await;

    let incidents = app.incidents(Nothing {}).await.unwrap().incidents;
    let silent = incidents.iter().find(|it| it.verdict == "invisible").unwrap();
    assert_eq!((silent.instances.len(), silent.state.as_str()), (4, "params_done"), "{silent:?}");
    assert!(silent.sentence.starts_with("Invisible. Several causes are possible: "), "{}", silent.sentence);
    assert!(silent.next_check.is_some());

    let page = app.diagnosis(InstanceRequest { id: RAM.into() }).await.unwrap();
    assert!(page.groups.iter().flat_map(|group| &group.causes).all(|cause| cause.standing != "confirmed"));
    assert_eq!(page.channels.len(), 7);
    let health =
        |page: &DiagnosisPage, channel: &str| page.channels.iter().find(|it| it.channel == channel).unwrap().health.clone();
    assert_eq!(health(&page, "manager-instance-log"), "blind");
    assert_eq!(health(&page, "ssh-probe"), "not-asked");
    // A blind channel gives no observation, for or against.
    assert!(page.observations.iter().all(|seen| seen.channel != "manager-instance-log"), "{:?}", page.observations);
    assert!(page.act.as_deref().is_some_and(|act| act.contains("Do not act")), "{:?}", page.act);

    let page = app.make_look(LookRequest { id: RAM.into(), check: "ssh-probe".into() }).await.unwrap();
    assert_eq!(health(&page, "ssh-probe"), "working");
    let first = &page.groups[0].causes[0];
    assert_eq!((first.id.as_str(), first.standing.as_str()), ("host-oom-cgroup", "confirmed"), "{}", page.sentence);
    // Every number opens into an observation, and that into its field or line.
    for it in &first.for_it {
        assert!(!page.observations[it.observation].reference.is_empty());
    }
    assert!(page.notes.iter().any(|note| note.kind == "look"));

    let card = app.make_look(LookRequest { id: CARD.into(), check: "ssh-probe".into() }).await.unwrap();
    let causes: Vec<&str> = card.groups[0].causes.iter().map(|cause| cause.id.as_str()).collect();
    assert!(causes.iter().any(|id| id.starts_with("gpu-")), "{causes:?}");
    let after = app.incidents(Nothing {}).await.unwrap().incidents;
    assert!(after.len() > incidents.len(), "{after:?}");
}

#[tokio::test]
async fn notes_closings_and_what_was_seen_before() {
    let folder = tempfile::tempdir().unwrap();
    let app = evening(folder.path()).await;
    let before = app.incidents(Nothing {}).await.unwrap();
    let count = |it: &Incidents| it.incidents.iter().map(|it| it.instances.len()).sum::<usize>();

    app.make_look(LookRequest { id: RAM.into(), check: "ssh-probe".into() }).await.unwrap();
    let page = app.note(NoteRequest { id: RAM.into(), text: "asked the host's owner".into() }).await.unwrap();
    assert!(page.notes.iter().any(|note| note.text == "asked the host's owner"));
    let empty = app.note(NoteRequest { id: RAM.into(), text: "  ".into() }).await.unwrap_err();
    assert_eq!(empty.code, "bad-request");
    let wrong =
        app.close(CloseRequest { id: RAM.into(), cause: "host-oom-cgrup".into(), text: String::new() }).await.unwrap_err();
    assert!(wrong.hint.is_some_and(|hint| hint.contains("host-oom-cgroup")));

    let page = app
        .close(CloseRequest { id: RAM.into(), cause: "host-oom-cgroup".into(), text: "limit half of its memory".into() })
        .await
        .unwrap();
    assert!(page.closed);
    let after = app.incidents(Nothing {}).await.unwrap();
    assert_eq!((count(&after), after.closed), (count(&before) - 1, before.closed + 1));

    // Another one with the same cause in its lead is shown it.
    let other =
        app.close(CloseRequest { id: CARD.into(), cause: "host-oom-cgroup".into(), text: "wrongly".into() }).await.unwrap();
    assert!(other.closed);
    let page = app.diagnosis(InstanceRequest { id: RAM.into() }).await.unwrap();
    assert!(page.seen_before.iter().any(|it| it.id == CARD && it.text == "wrongly"), "{:?}", page.seen_before);
}

#[tokio::test]
async fn a_report_tells_what_was_seen_and_leaves_addresses_out() {
    let folder = tempfile::tempdir().unwrap();
    let app = evening(folder.path()).await;
    app.make_look(LookRequest { id: RAM.into(), check: "ssh-probe".into() }).await.unwrap();
    app.note(NoteRequest {
        id: RAM.into(),
        text: "<script>alert(1)</script> from 203.0.113.7, key sk-0123456789abcdef0123456789abcdef0123456789abcdef".into(),
    })
    .await
    .unwrap();
    let ask = |format: &str, with_addresses| ReportRequest {
        ids: vec![RAM.into(), CARD.into()],
        format: format.into(),
        with_addresses,
    };
    let text = app.report(ask("markdown", false)).await.unwrap().text;
    for wanted in [RAM, CARD, "## ", "Evidence sources", "Checks not made yet", "Look at the machine by SSH", "memory limit"] {
        assert!(text.contains(wanted), "{wanted} is not in\n{text}");
    }
    assert!(!text.contains("203.0.113.7") && !text.contains("sk-0123"), "{text}");
    let html = app.report(ask("html", false)).await.unwrap();
    assert!(html.file_name.ends_with(".html") && !html.text.contains("<script>"), "{}", html.text);
    assert!(html.text.contains("default-src 'none'") && html.text.contains("<table>"));
    let open = app.report(ask("markdown", true)).await.unwrap().text;
    assert!(open.contains("203.0.113.7") && !open.contains("sk-0123"));
    assert_eq!(app.report(ask("word", false)).await.unwrap_err().code, "bad-request");
}

#[tokio::test]
async fn who_was_rented_before_a_new_image() {
    let folder = tempfile::tempdir().unwrap();
    let app = evening(folder.path()).await;
    let fleet = app.fleet(Nothing {}).await.unwrap();
    let now = fleet.as_of.unwrap();
    let all = app.rented_before(RentedBefore { before: now }).await.unwrap();
    // The one that proves, and the four.
    assert_eq!((all.instances.len(), all.alive, all.not_told), (5, 5, 0));
    let old = app.rented_before(RentedBefore { before: dwell_commands::later(now, -2.0 * 3600.0) }).await.unwrap();
    assert_eq!(old.instances.iter().map(|it| it.state.as_str()).collect::<Vec<_>>(), ["running"]);
}
