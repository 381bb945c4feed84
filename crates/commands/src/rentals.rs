//! What vast.ai bills, by its own list, beside what the manager knows: joined by number, else by label; what is in one and
//! not in the other is said. Without a manager it is still the list of what is rented.

use std::collections::HashMap;

use dwell_clients::{VastClient, VastList, VastListed, VastPages, VastUser};
use dwell_fleet::{Timestamp, seconds_between};
use dwell_simulator::World;

use crate::ApiError;
use crate::dto::*;

/// A rental younger than this may not have reached the manager's copy of the list yet, seconds.
const YOUNG_S: f64 = 600.0;

/// What an account told.
#[derive(Debug, Clone, Default)]
pub(crate) struct Told {
    listed: Option<VastList>,
    user: Option<VastUser>,
    error: Option<ApiError>,
}

/// Asks an account.
pub(crate) async fn of_account(client: Result<VastClient, ApiError>) -> Told {
    let client = match client {
        Ok(client) => client,
        Err(error) => return Told { error: Some(error), ..Told::default() },
    };
    match client.list().await {
        Ok(listed) => Told { listed: Some(listed), user: client.user().await.ok(), error: None },
        Err(error) => Told { error: Some(error.into()), ..Told::default() },
    }
}

/// Asks several, one after the other; beside them those that cannot be asked, with the reason.
pub(crate) async fn of_accounts(clients: &[VastClient], lacking: &[(String, ApiError)]) -> Vec<(String, Told)> {
    let mut told = Vec::new();
    for client in clients {
        told.push((client.account().to_owned(), of_account(Ok(client.clone())).await));
    }
    let refused = |error: &ApiError| Told { error: Some(error.clone()), ..Told::default() };
    told.extend(lacking.iter().map(|(name, error)| (name.clone(), refused(error))));
    told
}

/// The list of a simulated account; the HTTP status where nothing of it could be had.
pub(crate) fn list_of_world(world: &World) -> Result<VastList, u16> {
    let mut pages = VastPages::default();
    let mut after: Option<String> = None;
    loop {
        let page = world.api_list(None, after.as_deref());
        match pages.take(&page.body) {
            Ok(Some(next)) => after = Some(next),
            Ok(None) => return Ok(pages.end()),
            Err(_) if !pages.has_begun() => return Err(page.status),
            Err(error) => {
                pages.broken_off(&error);
                return Ok(pages.end());
            }
        }
    }
}

/// Asks a simulated account.
pub(crate) fn of_world(world: &World) -> Told {
    let listed = match list_of_world(world) {
        Ok(listed) => listed,
        Err(status) => {
            let error = ApiError::new(ErrorCode::Refused, format!("vast.ai answered {status}"));
            return Told { error: Some(error), ..Told::default() };
        }
    };
    let user = world.api_user().body;
    let user = VastUser { id: user["id"].as_u64(), credit_dollars: user["credit"].as_f64() };
    Told { listed: Some(listed), user: Some(user), error: None }
}

/// Puts the accounts' rentals beside the fleet's rows.
pub(crate) fn joined(told: Vec<(String, Told)>, fleet: Option<&FleetView>, at: Timestamp) -> Rentals {
    let rows: &[InstanceRow] = fleet.map_or(&[], |fleet| &fleet.instances);
    // A killed row and its successor can share a number: the one that is alive is meant.
    let mut by_number: HashMap<u64, &InstanceRow> = HashMap::new();
    let mut by_label: HashMap<&str, Vec<&InstanceRow>> = HashMap::new();
    for row in rows {
        if let Some(number) = row.vast_id {
            let known = by_number.entry(number).or_insert(row);
            if known.state == "killed" && row.state != "killed" {
                *known = row;
            }
        }
        if let Some(label) = row.label.as_deref().filter(|label| !label.is_empty()) {
            by_label.entry(label).or_default().push(row);
        }
    }
    let is_whole = |told: &Told| told.listed.as_ref().is_some_and(|list| list.incomplete.is_none());
    let complete = !told.is_empty() && told.iter().all(|(_, it)| is_whole(it));
    let mut rentals = Vec::new();
    let mut accounts = Vec::new();
    for (account, it) in told {
        let list = it.listed.unwrap_or_default();
        let (sum, all_told) = list.dollars_per_h();
        let dollars_per_h = sum.filter(|_| it.error.is_none() && !list.rentals.is_empty());
        let number = it.user.as_ref().and_then(|user| user.id);
        let credit_dollars = it.user.and_then(|user| user.credit_dollars);
        // What is not known to be all lasts shorter than it seems.
        let spends = dollars_per_h.filter(|price| all_told && *price > 0.0);
        accounts.push(AccountRentals {
            name: account.clone(),
            number,
            credit_dollars,
            rentals: (it.error.is_none() && !(list.incomplete.is_some() && list.rentals.is_empty()))
                .then_some(list.rentals.len()),
            rows_unreadable: list.rows_unreadable,
            total: list.total,
            incomplete: list.incomplete,
            dollars_per_h,
            at_least: it.error.is_none() && !all_told,
            // A debt lasts for nothing.
            hours_left: credit_dollars.zip(spends).map(|(credit, price)| (credit / price).max(0.0)),
            error: it.error,
        });
        rentals.extend(list.rentals.into_iter().map(|rental| {
            let row = row_of(&rental, &by_number, &by_label);
            view(&account, rental, row, fleet.is_some(), at)
        }));
    }
    rentals.sort_by(|one, other| {
        one.odd
            .is_none()
            .cmp(&other.odd.is_none())
            .then(other.started_at.cmp(&one.started_at))
            .then(one.vast_id.cmp(&other.vast_id))
    });
    let joined: Vec<&str> = rentals.iter().filter_map(|rental| rental.row.as_ref()).map(|row| row.id.as_str()).collect();
    let without_rental = rows
        .iter()
        .filter(|row| complete && row.listed && row.state != "killed" && !joined.contains(&row.id.as_str()))
        .map(|row| RowWithoutRental { id: row.id.clone(), state: row.state.clone(), vast_id: row.vast_id })
        .collect();
    Rentals { at, accounts, rentals, joined_with: fleet.map(|fleet| fleet.watching.name.clone()), without_rental, complete }
}

/// The manager's row of a rental: by number, else by a label that one row alone has.
fn row_of<'a>(
    rental: &VastListed,
    by_number: &HashMap<u64, &'a InstanceRow>,
    by_label: &HashMap<&str, Vec<&'a InstanceRow>>,
) -> Option<(&'a InstanceRow, &'static str)> {
    if let Some(row) = by_number.get(&rental.id) {
        return Some((row, "number"));
    }
    // vast.ai names a container `C.` and its number; the operator's own label is the other.
    let name = format!("C.{}", rental.id);
    let labels = [Some(name.as_str()), rental.record.label.as_deref()];
    labels.into_iter().flatten().find_map(|label| match by_label.get(label).map(Vec::as_slice) {
        Some([only]) => Some((*only, "label")),
        _ => None,
    })
}

fn view(account: &str, rental: VastListed, row: Option<(&InstanceRow, &str)>, fleet: bool, at: Timestamp) -> RentalView {
    let record = rental.record;
    let age_s = record.start_date.map(|started| seconds_between(started, at));
    let status = record.actual_status.as_deref();
    let wanted = record.intended_status.as_deref();
    let odd = match row {
        Some((row, _)) if row.state == "killed" => Some("the manager calls it killed, and vast.ai bills it".to_owned()),
        None if fleet && age_s.is_some_and(|age_s| age_s > YOUNG_S) => {
            Some("vast.ai bills it, and the manager that is watched has no row of it".to_owned())
        }
        _ => match (status, wanted) {
            (Some(status @ ("stopped" | "exited" | "offline")), Some("running")) => {
                Some(format!("it is wanted running, and it is {status}"))
            }
            _ => None,
        },
    };
    RentalView {
        vast_id: rental.id,
        account: account.to_owned(),
        status: record.actual_status,
        wanted: record.intended_status,
        says: record.status_msg,
        gpu_name: rental.gpu_name,
        image: rental.image,
        label: record.label,
        dollars_per_h: record.dollars_per_h,
        started_at: record.start_date,
        ends_at: record.end_date,
        gpu_util_percent: record.gpu_util_percent,
        row: row.map(|(row, by)| RowOfRental {
            id: row.id.clone(),
            state: row.state.clone(),
            flag: row.flag.as_ref().map(|flag| flag.kind.clone()),
            by: by.to_owned(),
        }),
        odd,
    }
}

#[cfg(test)]
mod tests {
    use dwell_simulator::Scenario;
    use serde_json::json;

    use super::*;
    use crate::virtual_time::VirtualFleet;
    use crate::watch::Pace;

    fn listed(id: u64, started: &str, more: serde_json::Value) -> VastListed {
        let started: Timestamp = started.parse().unwrap();
        let mut record = json!({ "id": id, "start_date": started.as_second(), "actual_status": "running", "dph_total": 0.5 });
        for (name, value) in more.as_object().unwrap() {
            record[name] = value.clone();
        }
        VastListed::read(&record).unwrap()
    }

    #[test]
    fn rows_are_joined_by_number_then_by_label_and_what_does_not_fit_is_said() {
        let mut fleet = VirtualFleet::new(Scenario::named("params-done-silence").unwrap(), None, Pace::default());
        fleet.run(30.0, |_| {});
        let mut view = fleet.view();
        let at = fleet.world().now();
        let alive: Vec<usize> = (0..view.instances.len()).filter(|nth| view.instances[*nth].state != "killed").collect();
        let killed = view.instances.iter().find(|row| row.state == "killed").unwrap().clone();
        let [one, two, three] = [alive[0], alive[1], alive[2]];
        let number = view.instances[one].vast_id.unwrap();
        (view.instances[two].vast_id, view.instances[two].label) = (None, Some("C.77".into()));
        (view.instances[three].vast_id, view.instances[three].label) = (None, Some("mine".into()));
        let old = "2026-01-01T00:00:00Z";
        let whole = |rentals| VastList { rentals, ..VastList::default() };
        let told = Told {
            listed: Some(whole(vec![
                listed(number, old, json!({})),
                listed(77, old, json!({})),
                listed(78, old, json!({ "label": "mine" })),
                listed(killed.vast_id.unwrap(), old, json!({})),
                listed(5, old, json!({})),
                listed(6, &at.to_string(), json!({})),
            ])),
            user: Some(VastUser { id: None, credit_dollars: Some(6.0) }),
            error: None,
        };
        let rentals = joined(vec![("a".into(), told.clone())], Some(&view), at);
        let of = |id: u64| rentals.rentals.iter().find(|it| it.vast_id == id).unwrap();
        let by = |id: u64| of(id).row.as_ref().map(|row| (row.id.clone(), row.by.clone()));
        assert_eq!(by(number), Some((view.instances[one].id.clone(), "number".into())));
        assert_eq!(by(77), Some((view.instances[two].id.clone(), "label".into())));
        assert_eq!(by(78), Some((view.instances[three].id.clone(), "label".into())));
        assert!(of(killed.vast_id.unwrap()).odd.as_ref().is_some_and(|why| why.contains("killed")));
        assert!(of(5).odd.as_ref().is_some_and(|why| why.contains("no row")), "{:?}", of(5));
        assert_eq!(of(6).odd, None, "it is too young to be missed");
        assert!(rentals.rentals[0].odd.is_some() && rentals.rentals.last().unwrap().odd.is_none(), "the odd ones come first");
        assert_eq!(rentals.accounts[0].hours_left, Some(2.0));
        // Rows of those alive that no account lists; nothing is said of them once an account could not be listed.
        assert_eq!(rentals.without_rental.len(), alive.len() - 3);
        let refused = Told { error: Some(ApiError::new(ErrorCode::KeyRefused, "no")), ..Told::default() };
        let partly = joined(vec![("a".into(), told.clone()), ("b".into(), refused)], Some(&view), at);
        assert!(!partly.complete && partly.without_rental.is_empty());
        assert_eq!(partly.accounts[1].rentals, None, "not told is not none");
        // So it is where a list is not whole: what it has is shown, and nothing follows from what it has not.
        let mut short = told;
        if let Some(list) = &mut short.listed {
            (list.incomplete, list.rows_unreadable) = (Some("1 row could not be read".into()), 1);
        }
        let short = joined(vec![("a".into(), short)], Some(&view), at);
        assert!(!short.complete && short.without_rental.is_empty(), "{:?}", short.without_rental);
        let account = &short.accounts[0];
        assert_eq!((account.rentals, account.rows_unreadable, account.at_least), (Some(6), 1, true));
        assert_eq!((account.dollars_per_h, account.hours_left), (Some(3.0), None));
        let nothing = Told {
            listed: Some(VastList { total: Some(2), incomplete: Some("a page of it is null".into()), ..VastList::default() }),
            ..Told::default()
        };
        let nothing = joined(vec![("a".into(), nothing)], Some(&view), at);
        let account = &nothing.accounts[0];
        assert_eq!(
            (account.rentals, account.dollars_per_h, account.at_least),
            (None, None, true),
            "not none, and not for nothing"
        );
        let none = joined(vec![("a".into(), Told { listed: Some(VastList::default()), ..Told::default() })], Some(&view), at);
        assert!(none.complete && none.accounts[0].rentals == Some(0) && !none.accounts[0].at_least);
    }
}
