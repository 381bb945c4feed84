//! `dwellctl keys` and `dwellctl vast`: accounts of vast.ai, and what vast.ai itself says.

use std::io::{IsTerminal, Read};
use std::process::ExitCode;

use anyhow::Context;
use dwell_commands::benchmark::calibrate::{self, Estimate, Observed};
use dwell_commands::dto::Rentals;
use dwell_commands::{
    App, Described, ErrorCode, Folder, Look, OF_ENVIRONMENT, SecretString, VastAccounts, VastClient, VastListed, forecast,
    observed_rates,
};
use serde_json::json;

use crate::args::{Args, KeysCommand, VastCommand};
use crate::list::{Form, List};
use crate::print::{self, clean, out, remark};

/// A key that is longer than this is none, bytes.
const KEY_BYTES_MAX: u64 = 4_096;

fn app(args: &Args, address: Option<&String>) -> anyhow::Result<App> {
    let app = App::new(args.data_dir.clone())?;
    if let Some(within) = args.within {
        app.set_patience(within);
    }
    if let Some(address) = address {
        app.set_vast_address(address.clone());
    }
    Ok(app)
}

/// The key, from the keyboard without showing it, or from standard input; never from an argument.
fn ask_for_key() -> anyhow::Result<SecretString> {
    if std::io::stdin().is_terminal() {
        let key = rpassword::prompt_password("Key (not shown): ").context("cannot read from this terminal")?;
        return Ok(SecretString::from(key.trim().to_owned()));
    }
    let mut key = String::new();
    std::io::stdin().take(KEY_BYTES_MAX).read_to_string(&mut key).context("cannot read the key from standard input")?;
    Ok(SecretString::from(key.trim().to_owned()))
}

pub(crate) async fn keys(args: &Args, command: &KeysCommand) -> anyhow::Result<ExitCode> {
    let app = app(args, None)?;
    let accounts = match command {
        KeysCommand::List => app.keys(dwell_commands::dto::Nothing {}).await?,
        KeysCommand::SetEnv { name } => {
            app.set_env(name, ask_for_key()?).await?;
            remark(&format!("the value of {} is in the keychain", clean(name)));
            return Ok(ExitCode::SUCCESS);
        }
        KeysCommand::Add { name } => {
            let accounts = app.add_key(name, ask_for_key()?, false).await?;
            remark(&format!("the key of {} is in the keychain", clean(name)));
            accounts
        }
        KeysCommand::Import { name } => {
            let (key, from) = app.key_of_vastai()?;
            let accounts = app.add_key(name, key, false).await?;
            remark(&format!("the key from {} is in the keychain as {}; where it was it still is", clean(&from), clean(name)));
            accounts
        }
        KeysCommand::Remove { name } => {
            let accounts = app.remove_key(name).await?;
            remark(&format!("the key of {} is out of the keychain", clean(name)));
            accounts
        }
    };
    if args.json {
        print::json(&accounts, true)?;
    } else if accounts.accounts.is_empty() {
        out("No account. dwellctl keys add NAME takes a key into the keychain; keys import takes that of vast.ai's own client.");
    } else {
        let mut table = List::new(["Account", "Key"]);
        for account in &accounts.accounts {
            table.add_row([clean(&account.name), clean(&account.state)]);
        }
        table.show(Form::default());
    }
    Ok(ExitCode::SUCCESS)
}

/// Rates of the operator's own machines: those in history, and where a manager is named those that it remembers.
pub(crate) async fn rates(args: &Args) -> anyhow::Result<Vec<Observed>> {
    let folder = Folder::find(args.data_dir.clone())?;
    let manager = match args.manager.as_deref() {
        Some(address) => Some(Look::at(Some(address), args.ssh.as_deref(), args.data_dir.clone(), args.within)?),
        None => None,
    };
    Ok(observed_rates(&folder, manager.as_ref().and_then(Look::manager)).await)
}

/// A client with the key of this account; else with `VAST_API_KEY`, else with that of the first account.
pub(crate) async fn client(args: &Args, account: Option<&str>, address: Option<&String>) -> anyhow::Result<VastClient> {
    let app = app(args, address)?;
    if account.is_none() {
        match app.key_of_environment() {
            Ok((key, _)) => _ = app.add_key(OF_ENVIRONMENT, key, true).await?,
            Err(error) if error.code == ErrorCode::NoKey => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(app.vast(account).await?)
}

/// The account of this name; else that of `VAST_API_KEY`, else every saved one, with a word of each that cannot be asked.
pub(crate) async fn accounts(args: &Args, account: Option<&str>, address: Option<&String>) -> anyhow::Result<VastAccounts> {
    let app = app(args, address)?;
    let mut account = account;
    if account.is_none() {
        match app.key_of_environment() {
            Ok((key, _)) => {
                app.add_key(OF_ENVIRONMENT, key, true).await?;
                account = Some(OF_ENVIRONMENT);
            }
            Err(error) if error.code == ErrorCode::NoKey => {}
            Err(error) => return Err(error.into()),
        }
    }
    let accounts = app.vast_accounts(account).await?;
    for (name, error) in accounts.lacking() {
        remark(&format!("account {} is not asked: {}", clean(name), clean(&error.message)));
    }
    Ok(accounts)
}

fn code_of(error: &anyhow::Error) -> &str {
    error.downcast_ref::<dwell_commands::ApiError>().map_or("failed", |error| error.code.as_str())
}

/// Whether a key, an account or an address was named that is none.
pub(crate) fn is_named_wrongly(error: &anyhow::Error) -> bool {
    matches!(code_of(error), "bad-key" | "bad-address" | "unknown-account")
}

/// Where it goes on without vast.ai: `None`, with why on standard error where there is more to it than that no key is known. A key or
/// an account that was named wrongly is an error: whoever named it means it.
fn if_any<T>(asked: anyhow::Result<T>, account: Option<&str>) -> anyhow::Result<Option<T>> {
    let error = match asked {
        Ok(asked) => return Ok(Some(asked)),
        Err(error) => error,
    };
    if account.is_some() || is_named_wrongly(&error) {
        return Err(error);
    }
    if code_of(&error) != "no-key" {
        remark(&format!("vast.ai is not asked: {}", clean(&error.to_string())));
    }
    Ok(None)
}

/// A client of one account, where there is any.
pub(crate) async fn client_if_any(
    args: &Args,
    account: Option<&str>,
    address: Option<&String>,
) -> anyhow::Result<Option<VastClient>> {
    if_any(client(args, account, address).await, account)
}

/// Every account, where there is any.
pub(crate) async fn accounts_if_any(
    args: &Args,
    account: Option<&str>,
    address: Option<&String>,
) -> anyhow::Result<Option<VastAccounts>> {
    if_any(accounts(args, account, address).await, account)
}

pub(crate) async fn vast(
    args: &Args,
    account: Option<&str>,
    address: Option<&String>,
    command: &VastCommand,
) -> anyhow::Result<ExitCode> {
    let client = client(args, account, address).await?;
    match command {
        VastCommand::Instances { with_manager: true } => {
            let mut look = Look::at(args.manager.as_deref(), args.ssh.as_deref(), args.data_dir.clone(), args.within)?;
            look.read(None).await?;
            let rentals = look.rentals(account.unwrap_or("account"), client).await;
            if let Some(error) = rentals.accounts.iter().find_map(|it| it.error.clone()) {
                return Err(error.into());
            }
            if args.json {
                print::json(&rentals, true)?;
            } else {
                tell_joined(&rentals);
            }
            return Ok(of_list(rentals.complete));
        }
        VastCommand::Instances { with_manager: false } => {
            let list = client.list().await.map_err(dwell_commands::ApiError::from)?;
            let (dollars_per_h, all_told) = list.dollars_per_h();
            let counted = Counted {
                rentals: list.rentals.len(),
                total: list.total,
                incomplete: list.incomplete.as_deref(),
                dollars_per_h,
                at_least: !all_told,
            };
            if args.json {
                let told = json!({
                    "rentals": list.rentals.iter().map(told).collect::<Vec<_>>(),
                    "complete": list.incomplete.is_none(),
                    "incomplete": list.incomplete,
                    "rows_unreadable": list.rows_unreadable,
                    "total": list.total,
                    "dollars_per_h": dollars_per_h,
                    "at_least": !all_told,
                });
                print::json(&told, true)?;
            } else {
                let mut table = List::new(["Number", "Status", "Wanted", "GPU", "$/h", "Label", "vast.ai says"]);
                for it in &list.rentals {
                    let record = &it.record;
                    let text = |value: &Option<String>| clean(value.as_deref().unwrap_or("\u{2013}"));
                    table.add_row([
                        it.id.to_string(),
                        text(&record.actual_status),
                        text(&record.intended_status),
                        text(&it.gpu_name),
                        record.dollars_per_h.map_or_else(|| "\u{2013}".to_owned(), |dollars| format!("{dollars:.3}")),
                        text(&record.label),
                        text(&record.status_msg).chars().take(60).collect(),
                    ]);
                }
                table.show(Form::default());
                counted.tell("");
            }
            return Ok(of_list(list.incomplete.is_none()));
        }
        VastCommand::User => {
            let user = client.user().await.map_err(dwell_commands::ApiError::from)?;
            if args.json {
                print::json(&json!({ "id": user.id, "credit_dollars": user.credit_dollars }), true)?;
            } else {
                let credit = user.credit_dollars.map_or_else(|| "not told".to_owned(), |dollars| format!("${dollars:.2}"));
                out(&format!("account {}, credit {credit}", user.id.map_or_else(|| "?".to_owned(), |id| id.to_string())));
            }
        }
        VastCommand::Logs { id, daemon } => {
            let (text, after_s) = client.logs(*id, *daemon).await.map_err(dwell_commands::ApiError::from)?;
            if args.json {
                print::json(&json!({ "text": text, "uploaded_after_s": after_s }), true)?;
            } else if text.is_empty() {
                remark("vast.ai uploaded nothing: that is no proof of silence, the workload writes to files");
            } else {
                text.lines().for_each(|line| out(&clean(line)));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Of a list that is not whole: what was read was printed, and whoever goes by the exit status must not take it for all.
fn of_list(complete: bool) -> ExitCode {
    if complete { ExitCode::SUCCESS } else { ExitCode::from(print::INCOMPLETE) }
}

/// What a list adds up to.
struct Counted<'a> {
    rentals: usize,
    total: Option<u64>,
    incomplete: Option<&'a str>,
    dollars_per_h: Option<f64>,
    at_least: bool,
}

impl Counted<'_> {
    fn tell(&self, more: &str) {
        out(&format!("{}{more}", self.sum()));
        if let Some(why) = self.incomplete {
            out(&format!("The list is incomplete: {}. What is not in it may be rented and billed all the same.", clean(why)));
        }
    }

    /// Nothing that is not known is counted as none, or as free.
    fn sum(&self) -> String {
        let rentals = |count: u64| if count == 1 { "1 rental".to_owned() } else { format!("{count} rentals") };
        if self.incomplete.is_some() && self.rentals == 0 {
            return match self.total {
                Some(total) if total > 0 => format!("{} by vast.ai's count, and none of them could be read", rentals(total)),
                _ => "what is rented is not known".to_owned(),
            };
        }
        let least = |is_so: bool| if is_so { "at least " } else { "" };
        let price = match self.dollars_per_h {
            Some(dollars) => format!("{}${dollars:.2}/h", least(self.at_least)),
            None if self.rentals == 0 => "$0.00/h".to_owned(),
            None => "at a price that is not told".to_owned(),
        };
        format!("{}{}, {price}", least(self.incomplete.is_some()), rentals(self.rentals as u64))
    }
}

fn told(it: &VastListed) -> serde_json::Value {
    let record = &it.record;
    json!({
        "id": it.id,
        "actual_status": record.actual_status,
        "intended_status": record.intended_status,
        "cur_state": record.cur_state,
        "status_msg": record.status_msg,
        "label": record.label,
        "gpu_name": it.gpu_name,
        "image": it.image,
        "dollars_per_h": record.dollars_per_h,
        "is_bid": record.is_bid,
        "start_date": record.start_date,
        "end_date": record.end_date,
        "gpu_util_percent": record.gpu_util_percent,
        "gpu_temp_c": record.gpu_temp_c,
        "disk_space_gb": record.disk_space_gb,
        "disk_usage_gb": record.disk_usage_gb,
    })
}

fn tell_joined(rentals: &Rentals) {
    let dash = || "\u{2013}".to_owned();
    let text = |value: &Option<String>| value.as_deref().map_or_else(dash, clean);
    let mut table = List::new(["Number", "vast.ai", "Manager", "Joined by", "GPU", "$/h", "What does not fit"]);
    for it in &rentals.rentals {
        table.add_row([
            it.vast_id.to_string(),
            text(&it.status),
            it.row.as_ref().map_or_else(|| "no row".to_owned(), |row| clean(&row.state)),
            it.row.as_ref().map_or_else(dash, |row| row.by.clone()),
            text(&it.gpu_name),
            it.dollars_per_h.map_or_else(dash, |dollars| format!("{dollars:.3}")),
            text(&it.odd),
        ]);
    }
    table.show(Form::default());
    for account in &rentals.accounts {
        let hours = account.hours_left.map_or_else(String::new, |hours| format!("; the credit lasts {hours:.0} h"));
        Counted {
            rentals: account.rentals.unwrap_or_default(),
            total: account.total,
            incomplete: account.incomplete.as_deref(),
            dollars_per_h: account.dollars_per_h,
            at_least: account.at_least,
        }
        .tell(&hours);
    }
    for row in &rentals.without_rental {
        out(&format!("the manager has {} as {}, and this account does not list it", clean(&row.id), clean(&row.state)));
    }
}

/// `dwellctl predict`.
pub(crate) async fn tell_prediction(args: &Args, machine: &Described, price: Option<f64>) -> anyhow::Result<ExitCode> {
    let told = forecast(machine)?;
    let fleet = calibrate::of_cards(&machine.gpu, machine.cards, &rates(args).await?);
    let dollars = price.map(|price| price / told.proofs_per_h);
    if args.json {
        print::json(&json!({ "prediction": told, "fleet": fleet, "dollars_per_proof": dollars }), true)?;
        return Ok(ExitCode::SUCCESS);
    }
    out(&format!(
        "{:.0} proofs/h, from {:.0} to {:.0}; limited by {}",
        told.proofs_per_h,
        told.least,
        told.most,
        told.limit.as_str()
    ));
    if let (Some(dollars), Some(price)) = (dollars, price) {
        out(&format!("${dollars:.4} a proof, from ${:.4} to ${:.4}", price / told.most, price / told.least));
    }
    if let Some(fleet) = &fleet {
        tell_fleet(fleet);
    }
    out("\nSeconds a proof, if it were alone in the way");
    for (limit, seconds) in &told.parts {
        out(&format!("  {:>6.0} s  {}", seconds, limit.as_str()));
    }
    if !told.left_out.is_empty() {
        out(&format!("\nNot told, and so not in it: {}.", told.left_out.join(", ")));
    }
    remark("by the card's model and not calibrated; a proof of 32 GiB moves about 600 GB to the card, whatever the card");
    Ok(ExitCode::SUCCESS)
}

/// What the operator's own machines with the same cards have proved.
pub(crate) fn tell_fleet(fleet: &Estimate) {
    out(&format!(
        "your machines: {:.0} proofs/h, from {:.0} to {:.0} ({})",
        fleet.proofs_per_h,
        fleet.least,
        fleet.most,
        fleet.words()
    ));
}
