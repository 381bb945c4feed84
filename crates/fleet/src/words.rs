//! Words for durations and for what silence means: short, with units, never claiming more than was seen.

use crate::{ChannelHealth, State, WhyBlind, progress_sources};

/// `40 s`, `14 m`, `3 h 05 m`, `2 d 4 h`. Negative spans are written with a minus sign.
pub fn duration(seconds: f64) -> String {
    let sign = if seconds <= -1.0 { "-" } else { "" };
    let total = seconds.abs().floor() as u64;
    let (days, hours, minutes) = (total / 86_400, total / 3600 % 24, total / 60 % 60);
    let text = match total {
        0..60 => format!("{total} s"),
        60..3600 => format!("{minutes} m"),
        3600..86_400 => format!("{hours} h {minutes:02} m"),
        _ => format!("{days} d {hours} h"),
    };
    format!("{sign}{text}")
}

/// `a`, `a and b`, `a, b and c`.
pub fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// What an empty or silent log can mean, and what it cannot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silence {
    /// What was seen.
    pub seen: String,
    /// What it can mean; each would look just the same.
    pub can_mean: Vec<String>,
    /// What it does not show.
    pub cannot_mean: Vec<String>,
}

/// Explains the silence of an instance's log in `state`. `None` where the log is not silent.
pub fn silence(health: &ChannelHealth, state: &State) -> Option<Silence> {
    let wanted = list(&progress_sources(state).iter().map(|source| (*source).to_owned()).collect::<Vec<_>>());
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<String>>();
    let never = owned(&["that the work failed", "that the work has not begun", "that several silent instances share one cause"]);
    let silence = match health {
        // It speaks: what it says is another matter.
        ChannelHealth::Working { .. } | ChannelHealth::Quiet { repeats: Some(_), .. } => return None,
        ChannelHealth::NotAsked => Silence {
            seen: "The manager holds lines that have not been read yet.".to_owned(),
            can_mean: owned(&["anything: they are being read"]),
            cannot_mean: Vec::new(),
        },
        ChannelHealth::Quiet { source, newest, control, .. } => Silence {
            seen: match (newest, control) {
                (Some(_), _) => format!("It wrote {source} before and has stopped."),
                (None, Some(name)) => format!("It never wrote {source}, though {name} does on the same image."),
                (None, None) => format!("It has stopped writing {source}."),
            },
            can_mean: owned(&[
                "the work has stopped",
                "the log shipper has stopped while the work goes on",
                "the instance cannot reach the manager any more",
            ]),
            cannot_mean: owned(&["that its image ships no such log", "that several silent instances share one cause"]),
        },
        ChannelHealth::Blind(WhyBlind::LostAtRestart(_)) => Silence {
            seen: "The manager restarted after this state began: its log buffers are in memory only, and nothing has come since."
                .to_owned(),
            can_mean: owned(&[
                "there were lines, and the restart lost them",
                "its image ships no such log",
                "the instance cannot reach the manager",
            ]),
            cannot_mean: never,
        },
        ChannelHealth::Blind(WhyBlind::OtherSourcesOnly(sources)) => Silence {
            seen: format!("Only {} lines ever came; {wanted} would show progress in {state}.", list(sources)),
            can_mean: owned(&[
                "its image is older than the change that ships those logs",
                "that part of the work writes nothing yet",
            ]),
            cannot_mean: never,
        },
        ChannelHealth::Blind(WhyBlind::OnlyAnnounces(source)) => Silence {
            seen: format!("Its {source} log announced this step and has not gone on speaking during it."),
            can_mean: owned(&[
                "its image prints nothing until the step is over",
                "the step has stopped",
                "the log shipper has stopped while the work goes on",
                "the instance cannot reach the manager any more",
            ]),
            cannot_mean: never,
        },
        ChannelHealth::Blind(WhyBlind::NeverSpoke) => Silence {
            seen: "Not one line was ever received from it. The manager answers the same for an instance it has never heard of."
                .to_owned(),
            can_mean: owned(&[
                "its image ships no logs",
                "the instance cannot reach the manager",
                "nothing has been written yet",
                "the log shipper is not running",
            ]),
            cannot_mean: never,
        },
        ChannelHealth::Blind(WhyBlind::NoSource) => Silence {
            seen: format!("No log is written in {state}."),
            can_mean: owned(&["nothing: nothing of ours runs on it in this state"]),
            cannot_mean: Vec::new(),
        },
    };
    Some(silence)
}
