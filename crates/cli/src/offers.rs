//! `dwellctl offers`: what could be rented, and what it would prove.

use std::process::ExitCode;

use dwell_commands::dto::{Needs, OfferView, OffersRequest, OffersView};
use dwell_commands::words::duration;
use dwell_commands::{ErrorCode, Folder, Look, offers_of_account};

use crate::args::{Args, MarketArgs};
use crate::list::{Form, List};
use crate::print::{self, clean, out, remark};
use crate::vast;

/// What is asked for, from what was typed.
pub(crate) fn request(market: &MarketArgs, all: bool) -> OffersRequest {
    OffersRequest {
        filter: market.filter.clone(),
        gpu: market.gpu.clone(),
        cards: market.cards,
        dollars_per_h_max: market.at_most,
        disk_gb: Some(market.disk),
        needs: Some(Needs {
            ram_gb: Some(market.ram),
            cuda: Some(market.cuda),
            driver: market.driver.clone(),
            compute_caps: market.compute_cap.clone(),
            ..dwell_commands::managers_needs()
        }),
        all,
        limit: Some(market.limit),
    }
}

pub(crate) async fn offers(args: &Args, market: &MarketArgs, all: bool, how: (Form, &[String])) -> anyhow::Result<ExitCode> {
    let request = request(market, all);
    let client = vast::client_if_any(args, market.account.as_deref(), market.vast_url.as_ref()).await?;
    let look = Look::at(args.manager.as_deref(), args.ssh.as_deref(), args.data_dir.clone(), args.within);
    let view = match (look, client) {
        (Ok(look), Some(client)) => look.with_vast(client).offers(&request).await?,
        (Ok(look), None) => look.offers(&request).await?,
        // Nobody runs a manager yet: vast.ai alone is asked.
        (Err(error), Some(client)) if error.code == ErrorCode::NoFleet => {
            offers_of_account(&Folder::find(args.data_dir.clone())?, &client, &request).await?
        }
        (Err(error), _) => return Err(error.into()),
    };
    if args.json || how.0 == Form::Json {
        print::json(&view, true)?;
    } else {
        tell(&view, all, how);
    }
    Ok(ExitCode::SUCCESS)
}

fn tell(view: &OffersView, all: bool, how: (Form, &[String])) {
    view.notes.iter().for_each(|note| remark(&clean(note)));
    let (fit, others): (Vec<&OfferView>, Vec<&OfferView>) = view.offers.iter().partition(|it| it.why_not.is_empty());
    if fit.is_empty() {
        remark(&format!("no offer fits \u{201c}{}\u{201d}", clean(&view.filter)));
    } else {
        list(&fit, how).show(how.0);
    }
    if !others.is_empty() && !all {
        let mut why: Vec<(String, usize)> = Vec::new();
        for reason in others.iter().filter_map(|it| it.why_not.first()) {
            let kind = reason.split([':', ',']).next().unwrap_or(reason).to_owned();
            match why.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, count)) => *count += 1,
                None => why.push((kind, 1)),
            }
        }
        let why: Vec<String> = why.into_iter().map(|(kind, count)| format!("{count} by {}", clean(&kind))).collect();
        remark(&format!("{} more cannot work: {} (--all tells them)", others.len(), why.join("; ")));
    }
    if all {
        for it in others {
            out(&format!("{}  {}  machine {}", it.id, text(&it.gpu_name), whole(it.machine_id)));
            it.why_not.iter().for_each(|why| out(&format!("    {}", clean(why))));
        }
    }
    if fit.iter().any(|it| it.basis.as_deref() == Some("model")) {
        remark("\"model\": by card, link and host, and not calibrated: compare offers by it, do not count on it");
    }
}

fn dash() -> String {
    "\u{2013}".to_owned()
}

fn text(value: &Option<String>) -> String {
    value.as_deref().map_or_else(dash, clean)
}

fn whole(value: Option<u64>) -> String {
    value.map_or_else(dash, |value| value.to_string())
}

fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(dash, |value| format!("{value:.decimals$}"))
}

/// Columns of the list of offers by the names that `--columns` takes, with their heads.
const COLUMNS: [(&str, &str); 13] = [
    ("offer", "OFFER"),
    ("gpu", "GPU"),
    ("cards", "GPUS"),
    ("price", "$/H"),
    ("proofs", "PROOFS/H"),
    ("per-proof", "$/PROOF"),
    ("by", "BY"),
    ("until-running", "TO RUNNING"),
    ("before", "BEFORE"),
    ("ram", "RAM GB"),
    ("reliability", "RELIABLE %"),
    ("machine", "MACHINE"),
    ("place", "PLACE"),
];

/// Names of the columns.
pub(crate) fn columns() -> Vec<&'static str> {
    COLUMNS.iter().map(|(name, _)| *name).collect()
}

pub(crate) fn list(offers: &[&OfferView], (_, wanted): (Form, &[String])) -> List {
    let all = columns();
    let named: Vec<&str> = wanted.iter().map(String::as_str).collect();
    let shown = if named.is_empty() { &all } else { &named };
    let heads = shown.iter().map(|name| COLUMNS.iter().find(|(known, _)| known == name).map_or("", |(_, head)| *head));
    let mut list = List::new(heads).right(&["GPUS", "$/H", "$/PROOF", "RAM GB", "RELIABLE %"]);
    if named.is_empty() {
        list = list.leaving_out(&["RELIABLE %", "BEFORE", "TO RUNNING", "BY", "PLACE", "RAM GB"]);
    }
    for offer in offers {
        list.add_row(shown.iter().map(|column| cell(offer, column)));
    }
    list
}

fn cell(it: &OfferView, column: &str) -> String {
    match column {
        "offer" => it.id.to_string(),
        "gpu" => text(&it.gpu_name),
        "cards" => whole(it.num_gpus),
        "price" => number(it.dollars_per_h, 3),
        "proofs" => {
            let range = it.proofs_per_h_least.zip(it.proofs_per_h_most);
            range.map_or_else(|| "not predicted".to_owned(), |(least, most)| format!("{least:.0} to {most:.0}"))
        }
        "per-proof" => number(it.dollars_per_proof, 4),
        "by" => text(&it.basis),
        "until-running" => it.until_running_s.map_or_else(dash, duration),
        "before" => match it.rented_before {
            0 => dash(),
            all => format!("{} of {all} proved", it.proved_before),
        },
        "ram" => number(it.ram_gb, 0),
        "reliability" => number(it.reliability.map(|share| share * 100.0), 1),
        "machine" => whole(it.machine_id),
        _ => text(&it.geolocation),
    }
}
