//! What the manager's own log says of a kill: who, why, and with which rental. Forms: manager source, `handleKill`,
//! `handleBenchDone`, `monitorCycle`, `killTimedOut`, and the captures taken from it.

use dwell_fleet::Timestamp;

/// Length of a line and of a reason that is kept, characters.
const CHARS_MAX: usize = 400;

/// Who had it killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KilledBy {
    /// Somebody, through the manager's page or its route.
    Hand,
    /// The monitor, for a machine on the list of bad hosts.
    BadHost,
    /// The monitor, for not registering in time.
    NotRegistered,
    /// The monitor, when a timer had run out.
    Timer,
    /// The manager, for the rate of its benchmark.
    LowRate,
    /// The monitor, because vast.ai's list did not have it. Nothing is destroyed then.
    Disappeared,
}

impl KilledBy {
    /// A sentence part: who, and for what.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hand => "somebody had it killed by hand",
            Self::BadHost => "the manager killed it for its machine, which is on the list of bad hosts",
            Self::NotRegistered => "the manager killed it for not registering in time",
            Self::Timer => "a timer of the manager ran out",
            Self::LowRate => "the manager killed it for the rate of its benchmark",
            Self::Disappeared => "the manager wrote it off: vast.ai's list did not have it",
        }
    }
}

/// A kill, as the manager's log tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KillTold {
    /// Who.
    pub by: KilledBy,
    /// The rental that the line names, where it names one.
    pub vast_id: Option<u64>,
    /// The manager's id, where the line names one.
    pub uuid: Option<String>,
    /// The label, where the line names one. Hostile text.
    pub label: Option<String>,
    /// Why, in the manager's words; empty where the line gives no reason. Hostile text.
    pub why: String,
    /// When the line was written, on the manager's clock.
    pub at: Timestamp,
    /// The line, cut to 400 characters. Hostile text.
    pub line: String,
}

/// What became of a destroy, by the manager's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DestroyTold {
    /// The rental.
    pub(crate) vast_id: u64,
    /// The client ended with status 0. That is all that the manager knows.
    pub(crate) claimed: bool,
}

/// The line behind its date, `2026/12/01 02:41:36 `: what has none was not written by the manager's logger, but stands in
/// somebody's label or reason.
fn behind_date(line: &str) -> Option<&str> {
    let (date, rest) = line.split_at_checked(20)?;
    let dated = date.bytes().zip(b"0000/00/00 00:00:00 ").all(|(letter, form)| match form {
        b'0' => letter.is_ascii_digit(),
        other => letter == *other,
    });
    dated.then_some(rest)
}

/// A number at the beginning, and what follows it.
fn number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    Some((text.get(..end)?.parse().ok()?, text.get(end..)?))
}

/// A uuid at the beginning, and what follows it.
fn uuid(text: &str) -> Option<(String, &str)> {
    let (word, rest) = text.split_at_checked(36)?;
    let whole = word.matches('-').count() == 4 && word.bytes().all(|letter| letter.is_ascii_hexdigit() || letter == b'-');
    whole.then(|| (word.to_owned(), rest))
}

fn cut(text: &str) -> String {
    text.chars().take(CHARS_MAX).collect()
}

impl KillTold {
    /// The kill that a line of the manager's log tells of, where it tells of one.
    pub fn of_line(line: &str, at: Timestamp) -> Option<Self> {
        let text = behind_date(line)?;
        let told = |by: KilledBy| Self { by, vast_id: None, uuid: None, label: None, why: String::new(), at, line: cut(line) };
        if let Some(rest) = text.strip_prefix("[kill] manually destroying vast instance ") {
            let (vast_id, rest) = number(rest)?;
            let uuid = rest.strip_prefix(" (uuid=").and_then(uuid).map(|(uuid, _)| uuid);
            return Some(Self { vast_id: Some(vast_id), uuid, ..told(KilledBy::Hand) });
        }
        if let Some(rest) = text.strip_prefix("[bench-done] uuid=") {
            let (uuid, rest) = uuid(rest)?;
            let rates = rest.trim().strip_suffix(" passed=false")?;
            return Some(Self { uuid: Some(uuid), why: cut(rates), ..told(KilledBy::LowRate) });
        }
        let text = text.strip_prefix("[monitor] ")?;
        if let Some(rest) = text.strip_prefix("killing unregistered instance ") {
            let (vast_id, rest) = number(rest)?;
            let label = rest.strip_prefix(" (label=").and_then(|rest| rest.rsplit_once(", age=")).map(|(label, _)| cut(label));
            return Some(Self { vast_id: Some(vast_id), label, ..told(KilledBy::NotRegistered) });
        }
        if let Some(rest) = text.strip_prefix("killing instance ") {
            let (vast_id, rest) = number(rest)?;
            let (label, why) = rest.strip_prefix(" (label=")?.split_once(") \u{2014} bad host ")?;
            let label = (!label.is_empty()).then(|| cut(label));
            return Some(Self { vast_id: Some(vast_id), label, why: cut(&format!("bad host {why}")), ..told(KilledBy::BadHost) });
        }
        if let Some(rest) = text.strip_prefix("killing failed benchmark uuid=") {
            let (uuid, rest) = uuid(rest)?;
            return Some(Self { uuid: Some(uuid), why: cut(rest.trim()), ..told(KilledBy::LowRate) });
        }
        if let Some(rest) = text.strip_prefix("killing uuid=") {
            let (uuid, rest) = uuid(rest)?;
            let (_, why) = rest.split_once("): ")?;
            return Some(Self { uuid: Some(uuid), why: cut(why), ..told(KilledBy::Timer) });
        }
        let rest = text.strip_prefix("instance disappeared from vast uuid=")?;
        let (uuid, rest) = uuid(rest)?;
        let label = rest.strip_prefix(" label=").and_then(|rest| rest.rsplit_once(" state=")).map(|(label, _)| cut(label));
        Some(Self { uuid: Some(uuid), label, ..told(KilledBy::Disappeared) })
    }
}

impl DestroyTold {
    /// What a line of the manager's log says of a destroy.
    pub(crate) fn of_line(line: &str) -> Option<Self> {
        let text = behind_date(line)?.strip_prefix("[monitor] ")?;
        if let Some(rest) = text.strip_prefix("destroyed vast instance ") {
            let (vast_id, rest) = number(rest)?;
            return rest.trim().is_empty().then_some(Self { vast_id, claimed: true });
        }
        let (vast_id, _) = number(text.strip_prefix("failed to destroy vast instance ")?)?;
        Some(Self { vast_id, claimed: false })
    }
}
