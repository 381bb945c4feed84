//! Acting from a terminal: what will be done is shown first, confirmed, carried out once, and told until it is known what came of it.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use anyhow::bail;
use dwell_commands::dto::{ActStep, ActView, PlanRequest, PlanView};
use dwell_commands::{Archive, Folder, Look, is_to_be_planned_again};
use serde_json::json;

use crate::args::{Act, Args};
use crate::print::{self, clean, local, out, remark};
use crate::vast;

pub(crate) async fn act(args: &Args, deed: &str, text: Option<&String>, wanted: &Act) -> anyhow::Result<ExitCode> {
    let mut look = Look::at(args.manager.as_deref(), args.ssh.as_deref(), args.data_dir.clone(), args.within)?
        .with_readings_every(wanted.every.as_secs_f64())
        .with_readings(usize::from(wanted.readings));
    let account = wanted.account.as_deref();
    match vast::accounts(args, account, wanted.vast_url.as_ref()).await {
        Ok(accounts) => look = look.with_accounts(accounts),
        // The manager's own deeds go without; what cannot be seen afterwards is said.
        Err(error) if matches!(deed, "kill" | "ban" | "unban") && !vast::is_named_wrongly(&error) => {
            remark(&format!("vast.ai is not asked: {}", clean(&error.to_string())))
        }
        Err(error) => return Err(error),
    }
    match look.read(None).await {
        Ok(_) => {}
        // vast.ai's own deeds go without the manager, by what was seen last.
        Err(error) if !matches!(deed, "kill" | "ban" | "unban") => {
            remark(&format!("the manager does not answer ({}): this is by what was seen last", clean(&error.message)));
        }
        Err(error) => return Err(error.into()),
    }
    let request =
        PlanRequest { deed: deed.to_owned(), ids: wanted.ids.clone(), text: text.cloned(), why: Some(wanted.why.clone()) };
    let mut planned = look.plan(&request).await?;
    let mut view = planned.view().clone();
    if wanted.dry_run {
        if args.json {
            print::json(&view, true)?;
        } else {
            tell_plan(&view);
            out(if view.read_only { "The fleet is read-only. Nothing was done." } else { "Nothing was done." });
        }
        return Ok(ExitCode::SUCCESS);
    }
    if !args.json {
        tell_plan(&view);
    }
    let mut failed = None;
    let acts = loop {
        let confirmation = match (&view.confirm_with, wanted.yes) {
            // Refused there, with what to do: nobody is asked for nothing.
            _ if view.read_only => None,
            (Some(words), true) => Some(words.clone()),
            (None, _) => None,
            (Some(words), false) => Some(asked(words, "this destroys what does not come back")?),
        };
        let carried = look.carry_out(planned, confirmation.as_deref(), |act, step| {
            if let Err(error) = tell(args, act, step) {
                failed = Some(error);
            }
        });
        match carried.await {
            Ok(acts) => break acts,
            // A person looks at what it is now, and confirms that. A script has confirmed what it was.
            Err(error) if is_to_be_planned_again(&error) && confirmation.is_some() && !wanted.yes => {
                remark(&clean(&error.message));
                planned = look.plan(&request).await?;
                view = planned.view().clone();
                tell_plan(&view);
            }
            Err(error) => return Err(error.into()),
        }
    };
    if let Err(error) = look.look_after_left().await {
        remark(&format!("what was left under way is not looked after: {}", clean(&error.message)));
    }
    if let Some(error) = failed {
        return Err(error);
    }
    if args.json {
        print::json(&json!({ "actions": acts }), true)?;
    }
    Ok(outcome(&acts))
}

/// 0 only where all of it was seen to come true, or was taken and nothing shows more.
fn outcome(acts: &[ActView]) -> ExitCode {
    let is = |act: &ActView, phases: &[&str]| phases.contains(&act.phase.as_str());
    if acts.iter().all(|act| is(act, &["verified", "taken"])) {
        return ExitCode::SUCCESS;
    }
    if acts.iter().all(|act| is(act, &["verified", "taken", "not-verified"])) {
        remark(
            "not verified: it was sent, and what came of it is not known yet. Ask again later (dwellctl vast instances, dwellctl fleet); the window looks after it when it is opened",
        );
        return ExitCode::from(print::NOT_VERIFIED);
    }
    ExitCode::FAILURE
}

pub(crate) fn asked(words: &str, what: &str) -> anyhow::Result<String> {
    if !std::io::stdin().is_terminal() {
        bail!("{what}: give --yes where it is meant so");
    }
    let mut terminal = std::io::stderr().lock();
    write!(terminal, "Type {} to do it: ", dwell_commands::redacted(words))?;
    terminal.flush()?;
    let mut typed = String::new();
    std::io::stdin().read_line(&mut typed)?;
    Ok(typed.trim().to_owned())
}

fn tell_plan(view: &PlanView) {
    out(&clean(&view.sentence));
    for step in &view.steps {
        let account = step.account.as_ref().map_or_else(String::new, |name| format!(", of account {}", clean(name)));
        out(&format!("  {}  {}{account}", clean(&step.id), clean(&step.is_now)));
        match &step.refused {
            Some(why) => out(&format!("    left out: {}", clean(why))),
            None => {
                out(&format!("    {}", clean(&step.what)));
                step.warning.iter().for_each(|warning| out(&format!("    careful: {}", clean(warning))));
                step.lost.iter().for_each(|lost| out(&format!("    lost: {}", clean(lost))));
            }
        }
    }
}

fn tell(args: &Args, act: &ActView, step: &ActStep) -> anyhow::Result<()> {
    let words = format!("{}  {}  {}: {}", local(step.at), clean(&act.target), step.phase, clean(&step.text));
    if args.json {
        remark(&words)
    } else {
        out(&words)
    }
    Ok(())
}

pub(crate) fn journal(args: &Args, limit: usize) -> anyhow::Result<ExitCode> {
    let acts: Vec<ActView> = Archive::journal(&Folder::find(args.data_dir.clone())?)?.into_iter().take(limit).collect();
    if args.json {
        print::json(&json!({ "actions": acts }), true)?;
    } else if acts.is_empty() {
        out("Nothing was done yet.");
    }
    if !args.json {
        for act in &acts {
            let why = if act.why.is_empty() { String::new() } else { format!(" ({})", clean(&act.why)) };
            let simulated = if act.simulated { "  SIMULATED" } else { "" };
            let account = act.account.as_ref().map_or_else(String::new, |name| format!(" of account {}", clean(name)));
            out(&format!(
                "{}  {} {}{account}  by {}{why}, {}{simulated}",
                local(act.planned_at),
                act.deed,
                clean(&act.target),
                clean(&act.who),
                clean(&act.fleet)
            ));
            for step in &act.steps {
                out(&format!("    {}  {}: {}", local(step.at), step.phase, clean(&step.text)));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
