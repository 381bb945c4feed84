//! `dwellctl deploy`, `replace` and `rollouts`: shown first, confirmed, begun once, followed until all of it runs.

use std::process::ExitCode;

use anyhow::bail;
use dwell_commands::dto::{EnvVar, RolloutItemView, RolloutPlan, RolloutRequest, RolloutView, Rule};
use dwell_commands::words::duration;
use dwell_commands::{Look, is_to_be_planned_again};
use serde_json::json;

use crate::acting::asked;
use crate::args::{Args, MarketArgs, RolloutsCommand, RulesCommand, TermsArgs};
use crate::list::Form;
use crate::offers;
use crate::print::{self, clean, local, out, remark};
use crate::vast;

/// For whom new ones are rented.
pub(crate) struct Whom<'a> {
    /// So many, in place of nobody.
    pub(crate) count: u32,
    /// In place of these.
    pub(crate) ids: &'a [String],
    /// In place of everybody who was rented before then.
    pub(crate) rented_before: Option<jiff::Timestamp>,
}

fn variable(text: &str) -> EnvVar {
    match text.split_once('=') {
        Some((name, value)) => EnvVar { name: name.to_owned(), value: Some(value.to_owned()) },
        None => EnvVar { name: text.to_owned(), value: None },
    }
}

async fn look(args: &Args, account: Option<&str>, address: Option<&String>, every: f64) -> anyhow::Result<Look> {
    let look =
        Look::at(args.manager.as_deref(), args.ssh.as_deref(), args.data_dir.clone(), args.within)?.with_readings_every(every);
    Ok(match vast::accounts_if_any(args, account, address).await? {
        Some(accounts) => look.with_accounts(accounts),
        None => {
            remark("vast.ai is not asked: no key is known");
            look
        }
    })
}

pub(crate) async fn begin(args: &Args, whom: Whom<'_>, terms: &TermsArgs, market: &MarketArgs) -> anyhow::Result<ExitCode> {
    let every = terms.every.as_secs_f64();
    let mut look = look(args, market.account.as_deref(), market.vast_url.as_ref(), every).await?;
    look.read(None).await?;
    let request = RolloutRequest {
        count: whom.count,
        ids: whom.ids.to_vec(),
        rented_before: whom.rented_before,
        market: offers::request(market, false),
        offer_ids: terms.offers.clone(),
        image: terms.image.clone(),
        onstart: terms.onstart.clone(),
        env: terms.env.iter().map(|text| variable(text)).collect(),
        min_rate: terms.min_rate,
        dollars_per_proof_max: terms.per_proof,
        at_once: Some(terms.at_once),
        extra_dollars_per_h: terms.budget,
        running_within_s: Some(terms.running_within.as_secs_f64()),
        credit_lasts_h: Some(terms.credit_lasts),
        why: Some(terms.why.clone()),
    };
    let mut planned = look.plan_rollout(&request).await?;
    let mut view = planned.view().clone();
    if !args.json {
        tell_plan(&view);
    }
    if terms.dry_run {
        if args.json {
            print::json(&view, true)?;
        } else {
            out(if view.read_only { "The fleet is read-only. Nothing was done." } else { "Nothing was done." });
        }
        return Ok(ExitCode::SUCCESS);
    }
    let name = loop {
        let confirmation = match (&view.confirm_with, terms.yes) {
            // Refused there, with what to do: nobody is asked for nothing.
            _ if view.read_only || view.refused.is_some() => None,
            (Some(words), true) => Some(words.clone()),
            (Some(words), false) => Some(asked(words, "this rents what is billed")?),
            (None, _) => None,
        };
        match look.begin_rollout(planned, confirmation.as_deref()).await {
            Ok(name) => break name,
            // A person looks at what it is now, and confirms that. A script has confirmed what it was.
            Err(error) if is_to_be_planned_again(&error) && confirmation.is_some() && !terms.yes => {
                remark(&clean(&error.message));
                planned = look.plan_rollout(&request).await?;
                view = planned.view().clone();
                tell_plan(&view);
            }
            Err(error) => return Err(error.into()),
        }
    };
    remark(&format!("{name}: dwellctl rollouts pause {name} pauses it"));
    follow(args, look, &name).await
}

async fn follow(args: &Args, look: Look, name: &str) -> anyhow::Result<ExitCode> {
    let mut said: Vec<String> = Vec::new();
    let ended = look
        .take_steps(name, |rollout| {
            for (place, item) in rollout.items.iter().enumerate() {
                let words = format!("{}  {}: {}", place + 1, item.state, clean(&item.text));
                if said.get(place) != Some(&words) {
                    let line = format!("{}  {words}", local(item.at));
                    // With JSON the end alone goes to standard output.
                    if args.json { remark(&line) } else { out(&line) }
                }
                match said.get_mut(place) {
                    Some(known) => *known = words,
                    None => said.push(words),
                }
            }
        })
        .await?;
    if args.json {
        print::json(&ended, true)?;
    } else {
        out(&format!("{}: {}", ended.state, clean(&ended.says)));
        if ended.state == "paused" {
            remark(&format!("dwellctl rollouts resume {name} goes on with it, cancel {name} cancels its pending items"));
        }
    }
    let well = ended.state == "ended" && ended.items.iter().all(|item| matches!(item.state.as_str(), "done" | "left"));
    Ok(ExitCode::from(u8::from(!well)))
}

fn tell_plan(view: &RolloutPlan) {
    out(&clean(&view.sentence));
    for step in &view.replaces {
        out(&format!("  {}  {}", clean(&step.id), clean(&step.is_now)));
    }
    if let Some(step) = view.replaces.first() {
        step.lost.iter().for_each(|lost| out(&format!("    lost with each: {}", clean(lost))));
    }
    if !view.offers.is_empty() {
        out("Offers that would be taken now:");
        offers::list(&view.offers.iter().collect::<Vec<_>>(), (Form::default(), &[])).show(Form::default());
    }
    view.notes.iter().for_each(|note| out(&format!("  {}", clean(note))));
    if let Some(why) = &view.refused {
        out(&format!("It cannot be begun: {}", clean(why)));
    }
}

pub(crate) async fn run(args: &Args, command: Option<&RolloutsCommand>) -> anyhow::Result<ExitCode> {
    if let Some(RolloutsCommand::Resume { name, account, vast_url, every }) = command {
        let mut look = look(args, account.as_deref(), vast_url.as_ref(), every.as_secs_f64()).await?;
        look.read(None).await?;
        return follow(args, look, name).await;
    }
    let look = Look::at(args.manager.as_deref(), args.ssh.as_deref(), args.data_dir.clone(), args.within)?;
    match command {
        Some(RolloutsCommand::Pause { name }) => {
            look.pause_rollout(name)?;
            remark("it begins no new step; what is under way is followed by whoever takes its steps");
        }
        Some(RolloutsCommand::TakeBack { name }) => {
            let count = look.take_back(name)?;
            remark(&format!("{count} taken back"));
        }
        _ => {}
    }
    let wanted = match command {
        Some(
            RolloutsCommand::Show { name }
            | RolloutsCommand::Pause { name }
            | RolloutsCommand::TakeBack { name }
            | RolloutsCommand::Resume { name, .. },
        ) => Some(name),
        Some(RolloutsCommand::List) | None => None,
    };
    let rollouts: Vec<RolloutView> =
        look.rollouts()?.rollouts.into_iter().filter(|it| wanted.is_none_or(|name| it.name == *name)).collect();
    if let (Some(name), true) = (wanted, rollouts.is_empty()) {
        bail!("no rollout of this fleet is called {name:?}");
    }
    if args.json {
        print::json(&json!({ "rollouts": rollouts }), true)?;
    } else if rollouts.is_empty() {
        out("Nothing was deployed or replaced yet.");
    } else {
        rollouts.iter().for_each(|rollout| tell(rollout, wanted.is_some()));
    }
    Ok(ExitCode::SUCCESS)
}

fn tell(rollout: &RolloutView, whole: bool) {
    let done = rollout.items.iter().filter(|item| item.state == "done").count();
    let left = if rollout.state != "ended" && !rollout.alive { "; nobody takes its steps: resume it" } else { "" };
    let simulated = if rollout.simulated { "  SIMULATED" } else { "" };
    out(&format!(
        "{}  {}  {} of {} {}, {}{left}  since {}{simulated}",
        rollout.name,
        rollout.kind,
        done,
        rollout.items.len(),
        "done",
        rollout.state,
        local(rollout.at),
    ));
    if whole {
        out(&format!("    ${:.2} of ${:.2}/h", rollout.extra_dollars_per_h, rollout.extra_dollars_per_h_max));
    }
    if !rollout.says.is_empty() {
        out(&format!("    {}", clean(&rollout.says)));
    }
    for item in rollout.items.iter().filter(|_| whole) {
        let old = item.old.as_deref().map_or_else(String::new, |old| format!("{} -> ", clean(old)));
        let new = item.vast_id.map_or_else(|| "\u{2013}".to_owned(), |id| id.to_string());
        out(&format!("    {old}{new}  {}: {}{}", item.state, clean(&item.text), price(item)));
    }
}

/// What is billed for it, and what was offered.
fn price(item: &RolloutItemView) -> String {
    match (item.vast_id.and(item.dollars_per_h), item.billed_dollars_per_h) {
        (Some(offered), Some(billed)) => format!("; ${billed:.2}/h billed, ${offered:.2} offered"),
        (Some(offered), None) => format!("; ${offered:.2}/h offered, not known yet what is billed"),
        (None, _) => String::new(),
    }
}

/// `dwellctl rules`.
pub(crate) fn rules(args: &Args, command: Option<&RulesCommand>) -> anyhow::Result<ExitCode> {
    let look = Look::at(args.manager.as_deref(), args.ssh.as_deref(), args.data_dir.clone(), args.within)?;
    let rules = match command {
        None | Some(RulesCommand::List) => look.rules()?,
        Some(RulesCommand::Remove { name }) => look.remove_rule(name)?,
        Some(RulesCommand::Add { name, verdict, cause, lasts, deed, per_day, dollars_per_day, on, really }) => {
            look.save_rule(Rule {
                name: name.clone(),
                fleet: String::new(),
                verdict: verdict.clone(),
                cause: cause.clone(),
                for_s: lasts.as_secs_f64(),
                deed: deed.clone(),
                on: *on,
                dry_run: !really,
                per_day: *per_day,
                dollars_per_h_a_day: *dollars_per_day,
            })?
        }
    };
    if args.json {
        print::json(&rules, true)?;
    } else if rules.rules.is_empty() {
        out("There are no rules: nothing is done by itself.");
    } else {
        for it in &rules.rules {
            let rule = &it.rule;
            let mode = match (rule.on, rule.dry_run) {
                (false, _) => "off",
                (true, true) => "on, dry: the journal says what it would do",
                (true, false) => "on",
            };
            out(&format!(
                "{}  {mode}\n    when {} for {} with {} confirmed: {}, {} of {} today, ${:.2} of ${:.2}/h",
                clean(&rule.name),
                clean(&rule.verdict),
                duration(rule.for_s),
                clean(&rule.cause),
                clean(&rule.deed),
                it.today,
                rule.per_day,
                it.dollars_per_h_today,
                rule.dollars_per_h_a_day
            ));
        }
        remark("rules are followed by the window, while it watches the fleet");
    }
    Ok(ExitCode::SUCCESS)
}
