//! vast.ai's own answers over HTTP, from a simulated vast.ai: records, the account, logs, and each way of refusing.

use dwell_commands::{Limits, OfferQuery, SecretString, Served, VastClient, serve};

use crate::world;

async fn served(fault: &str) -> Served {
    serve(world(1, 30, fault), 0.0, 0, 0).await.unwrap()
}

fn client(served: &Served) -> VastClient {
    VastClient::new(&served.vast_url(), SecretString::from("any-key-will-do"), Default::default()).unwrap()
}

fn first(served: &Served) -> u64 {
    served.with_world(|world| world.truth()[0].vast_id)
}

#[tokio::test]
async fn records_account_and_logs() {
    let served = served("").await;
    let client = client(&served);
    let id = first(&served);
    let list = client.list().await.unwrap();
    assert_eq!((list.rentals.len(), list.total, list.incomplete), (30, Some(30), None), "every page is read");
    let record = client.show(id).await.unwrap().unwrap();
    assert_eq!(record.actual_status.as_deref(), Some("running"));
    assert!(record.start_date.is_some() && record.label.is_none() && record.dollars_per_h.is_some(), "{record:?}");
    assert_eq!(client.show(1).await.unwrap(), None, "nobody's number is no error");
    assert!(client.user().await.unwrap().credit_dollars.is_some_and(|credit| credit > 0.0));
    let (text, _) = client.logs(id, false).await.unwrap();
    assert!(text.contains("sshd"), "{text}");
    let (look, raw) = client.look(id).await;
    assert!(raw.contains("actual_status") && raw.contains("(not shown)"), "{raw}");
    assert_eq!((look.listed, look.listing_retired, look.rentals), (Some(true), false, Some((30, 0))));
}

#[tokio::test]
async fn a_rental_is_labelled_stopped_started_rebooted_and_destroyed() {
    let served = served("").await;
    let client = client(&served);
    let id = first(&served);
    client.label(id, "mine").await.unwrap();
    client.stop(id).await.unwrap();
    let record = client.show(id).await.unwrap().unwrap();
    assert_eq!((record.label.as_deref(), record.intended_status.as_deref()), (Some("mine"), Some("stopped")));
    client.start(id).await.unwrap();
    client.reboot(id).await.unwrap();
    assert_eq!(client.show(id).await.unwrap().unwrap().intended_status.as_deref(), Some("running"));
    client.destroy(id).await.unwrap();
    // That the wish was taken is not that it is gone: the world stands still.
    served.set_speed(600.0);
    for tries in 0.. {
        if client.list().await.unwrap().has(id) == Some(false) {
            break;
        }
        assert!(tries < 30, "it is still listed");
    }
    assert_eq!(client.label(id, "gone").await.unwrap_err().code.as_str(), "no-such-instance");
    assert_eq!(client.label(id, &"x".repeat(300)).await.unwrap_err().code.as_str(), "refused");
}

#[tokio::test]
async fn offers_are_cheapest_first_and_fit_what_was_asked() {
    let served = served("").await;
    let client = client(&served);
    let query = OfferQuery { disk_gb: 200.0, limit: 20, ..OfferQuery::default() };
    let all = client.offers(&query).await.unwrap();
    assert!(all.len() > 3 && all.len() <= 20, "{}", all.len());
    assert!(all.is_sorted_by(|one, other| one.dollars_per_h <= other.dollars_per_h), "{all:?}");
    let name = all[0].gpu_name.clone().unwrap();
    let most = all[all.len() / 2].dollars_per_h.unwrap();
    let query = OfferQuery { gpu_name: Some(name.replace(' ', "_")), dollars_per_h_max: Some(most), ..query };
    let some = client.offers(&query).await.unwrap();
    assert!(!some.is_empty());
    assert!(
        some.iter().all(|it| it.gpu_name.as_ref() == Some(&name) && it.dollars_per_h.is_some_and(|it| it <= most)),
        "{some:?}"
    );
}

#[tokio::test]
async fn each_refusal_is_told_for_what_it_is() {
    for (answer, code) in [
        ("rate-limited", "too-often"),
        ("unavailable", "vast-failed"),
        ("html", "vast-failed"),
        ("auth", "key-refused"),
        ("session", "key-refused"),
    ] {
        let fault = format!("\n[[fault]]\nkind = \"vast-http-error-exit0\"\nat = \"0s\"\nwith = {{ answer = \"{answer}\" }}\n");
        let served = served(&fault).await;
        // Short of patience: being told "too often" is not waited out.
        let client = |served: &Served| {
            let limits = Limits { within_at_most: Some(std::time::Duration::from_secs(1)), ..Limits::default() };
            VastClient::new(&served.vast_url(), SecretString::from("any-key-will-do"), limits).unwrap()
        };
        let error = client(&served).user().await.unwrap_err();
        assert_eq!(error.code.as_str(), code, "{answer}: {error}");
        let (look, _) = client(&served).look(first(&served)).await;
        assert!(matches!(look.record, dwell_fleet::look::VastShown::Refused(_)) && look.listed.is_none(), "{answer}: {look:?}");
    }
}

#[tokio::test]
async fn a_retired_listing_is_not_an_empty_account() {
    let served = served("\n[[fault]]\nkind = \"vast-list-retired\"\nat = \"0s\"\n").await;
    let client = client(&served);
    assert!(client.list().await.is_err());
    let (look, _) = client.look(first(&served)).await;
    assert!(look.listing_retired && look.listed.is_none() && look.rentals.is_none(), "{look:?}");
}

/// A real fleet, as far as Dwell can tell: connected by address. vast.ai is asked with the operator's key; the machine is not.
#[tokio::test]
async fn on_a_connected_fleet_vast_is_asked_with_the_operators_key() {
    use dwell_commands::App;
    use dwell_commands::dto::*;

    let served = served("").await;
    let folder = tempfile::tempdir().unwrap();
    let app = App::new(Some(folder.path().to_owned())).unwrap();
    app.set_vast_address(served.vast_url());
    app.connect(ConnectRequest { address: served.url(), name: None, ssh: None }).await.unwrap();
    let id = loop {
        if let Some(row) = app.fleet(Nothing {}).await.ok().and_then(|view| view.instances.first().cloned()) {
            break row.id;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    };
    let wanting =
        |page: &DiagnosisPage, check: &str| page.next_checks.iter().find(|it| it.check == check).map(|it| it.wanting.clone());
    let page = app.diagnosis(InstanceRequest { id: id.clone() }).await.unwrap();
    let without = wanting(&page, "ask-vast").expect("vast.ai is worth asking");
    assert!(without.is_some_and(|why| why.contains("key")), "{:?}", page.next_checks);
    let refused = app.make_look(LookRequest { id: id.clone(), check: "ask-vast".into() }).await.unwrap_err();
    assert_eq!(refused.code, "no-key");

    app.add_key("mine", SecretString::from("any-key-will-do"), true).await.unwrap();
    let page = app.diagnosis(InstanceRequest { id: id.clone() }).await.unwrap();
    assert_eq!(wanting(&page, "ask-vast"), Some(None));
    assert!(wanting(&page, "ssh-probe").is_none_or(|why| why.is_some()), "machines are not looked at unless allowed");
    let page = app.make_look(LookRequest { id: id.clone(), check: "ask-vast".into() }).await.unwrap();
    let vast = page.channels.iter().find(|it| it.channel == "vast-record").unwrap();
    assert_eq!((vast.health.as_str(), vast.facts > 10), ("working", true), "{vast:?}");
    let page = app.make_look(LookRequest { id: id.clone(), check: "container-log".into() }).await.unwrap();
    assert!(page.notes.iter().filter(|note| note.kind == "look").count() == 2, "{:?}", page.notes);
    assert_eq!(app.make_look(LookRequest { id, check: "ssh-probe".into() }).await.unwrap_err().code, "not-allowed");
    // The key is in nothing that was written.
    let settings = std::fs::read_to_string(folder.path().join("settings.toml")).unwrap();
    assert!(!settings.contains("any-key"), "{settings}");
}

/// vast.ai alone is a list; with a manager its rows stand beside it, and what is in one and not in the other is said.
#[tokio::test]
async fn rentals_are_joined_with_rows_and_stand_alone_without() {
    use dwell_commands::App;
    use dwell_commands::dto::*;

    let served = served("").await;
    let folder = tempfile::tempdir().unwrap();
    let app = App::new(Some(folder.path().to_owned())).unwrap();
    app.set_vast_address(served.vast_url());
    assert_eq!(app.rentals(Nothing {}).await.unwrap_err().code, "no-key");
    app.add_key("one", SecretString::from("any-key-will-do"), true).await.unwrap();
    let alone = app.rentals(Nothing {}).await.unwrap();
    assert_eq!((alone.rentals.len(), alone.joined_with.clone(), alone.complete), (30, None, true));
    assert!(alone.rentals.iter().all(|it| it.row.is_none() && it.odd.is_none()), "without a manager nothing is missing");
    let account = &alone.accounts[0];
    assert!(account.credit_dollars.is_some() && account.hours_left.is_some_and(|hours| hours > 0.0), "{account:?}");

    app.connect(ConnectRequest { address: served.url(), name: Some("fleet".into()), ssh: None }).await.unwrap();
    let mut rentals = app.rentals(Nothing {}).await.unwrap();
    for _ in 0..100 {
        if rentals.rentals.iter().any(|it| it.row.is_some()) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        rentals = app.rentals(Nothing {}).await.unwrap();
    }
    assert_eq!(rentals.joined_with.as_deref(), Some("fleet"));
    let by_number = rentals.rentals.iter().filter(|it| it.row.as_ref().is_some_and(|row| row.by == "number")).count();
    assert_eq!(by_number, 30, "{:?}", rentals.rentals.iter().map(|it| &it.row).collect::<Vec<_>>());
    assert!(rentals.without_rental.is_empty(), "{:?}", rentals.without_rental);

    // Two accounts are asked for themselves.
    app.add_key("two", SecretString::from("another-key"), true).await.unwrap();
    let both = app.rentals(Nothing {}).await.unwrap();
    assert_eq!(both.accounts.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["one", "two"]);
}

/// What is predicted of an offer follows from its card, its link and its host, and says what limits.
#[tokio::test]
async fn offers_are_predicted_where_they_tell_enough() {
    use dwell_commands::{Limit, forecast_offer};

    let served = served("").await;
    let offers = client(&served).offers(&OfferQuery { disk_gb: 200.0, limit: 40, ..OfferQuery::default() }).await.unwrap();
    let predicted: Vec<_> = offers.iter().filter_map(|offer| Some((offer, forecast_offer(offer)?))).collect();
    assert!(predicted.len() * 2 > offers.len(), "{} of {}", predicted.len(), offers.len());
    for (offer, told) in &predicted {
        assert!(told.least < told.proofs_per_h && told.proofs_per_h < told.most && told.least > 0.0, "{told:?}");
        // A narrower link never proves more, and at 3 GB/s it is what limits a single card in a large host.
        let narrow =
            dwell_commands::VastOffer { pcie_gb_s: Some(3.0), cpu_ram_mb: Some(1e6), share: Some(1.0), ..(*offer).clone() };
        let narrow = forecast_offer(&narrow).unwrap();
        assert!(offer.num_gpus != Some(1) || narrow.limit == Limit::Copies, "{narrow:?}");
    }
    let silent = dwell_commands::VastOffer { pcie_gb_s: None, ..offers[0].clone() };
    assert_eq!(forecast_offer(&silent), None, "an offer that does not tell its link is not predicted");
}
