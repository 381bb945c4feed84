//! One deed carried out exactly, once, and verified: sent, answered or not, and then looked at until two later readings agree.
//!
//! An answer says that a wish was taken, never that it has come true; no answer says nothing at all. So what decides is what is seen
//! afterwards. A wish that can be said twice without harm is said again only after readings have shown that it did not come true.

use dwell_clients::{Code, FetchError};
use dwell_fleet::words::duration;
use dwell_fleet::{Timestamp, seconds_between, shift};
use serde::{Deserialize, Serialize};

/// What can be done to one instance, rental or machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Deed {
    /// The manager: end it, and have its rental destroyed.
    Kill,
    /// vast.ai: destroy the rental, with its disk.
    Destroy,
    /// vast.ai: stop the container; its disk is billed on.
    Stop,
    /// vast.ai: start a stopped one.
    Start,
    /// vast.ai: stop and start the container.
    Reboot,
    /// vast.ai: label it.
    Label(String),
    /// The manager: no more instances on this machine, and those on it are destroyed.
    Ban(String),
    /// The manager: this machine may be used again.
    Unban,
}

impl Deed {
    /// Its stable word.
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Destroy => "destroy",
            Self::Stop => "stop",
            Self::Start => "start",
            Self::Reboot => "reboot",
            Self::Label(_) => "label",
            Self::Ban(_) => "ban",
            Self::Unban => "unban",
        }
    }

    /// Of a word, with the text that a label or a ban has.
    pub(crate) fn named(word: &str, text: Option<&str>) -> Option<Self> {
        Some(match word {
            "kill" => Self::Kill,
            "destroy" => Self::Destroy,
            "stop" => Self::Stop,
            "start" => Self::Start,
            "reboot" => Self::Reboot,
            "label" => Self::Label(text?.to_owned()),
            "ban" => Self::Ban(text?.to_owned()),
            "unban" => Self::Unban,
            _ => return None,
        })
    }

    /// What is hit is the rental, by vast.ai's number.
    pub(crate) fn is_of_rental(&self) -> bool {
        !matches!(self, Self::Ban(_) | Self::Unban)
    }

    /// What it destroys does not come back.
    pub(crate) fn is_destructive(&self) -> bool {
        matches!(self, Self::Kill | Self::Destroy | Self::Ban(_))
    }
}

/// To whom.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Target {
    /// Address of the fleet whose ids these are: hands of another one, and so of another world, send nothing to it.
    pub(crate) fleet: String,
    /// As people name it.
    pub(crate) id: String,
    /// The manager's id.
    pub(crate) uuid: Option<String>,
    /// vast.ai's number.
    pub(crate) vast_id: Option<u64>,
    /// The machine.
    pub(crate) machine: Option<u64>,
    /// The account that listed its rental before anything was done: it alone can show that the rental is gone.
    pub(crate) account: Option<Account>,
    /// Its price, US dollars per hour.
    pub(crate) dollars_per_h: Option<f64>,
}

/// An account of vast.ai's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Account {
    /// The operator's name for it.
    pub(crate) name: String,
    /// vast.ai's number of it, where that was told. A name can get another key.
    pub(crate) number: Option<u64>,
}

/// Whose a rental is, by the accounts' lists.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Owner {
    /// This account lists it.
    Is(Account),
    /// Every account's list is whole, and none has it.
    Nobody,
    /// That is not known, and why.
    Unknown(String),
}

/// A rental as vast.ai lists it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SeenRental {
    /// vast.ai's number.
    pub(crate) vast_id: u64,
    /// What its container does: `running`, `exited`, `loading`.
    pub(crate) actual: Option<String>,
    /// What is wished of it.
    pub(crate) wished: Option<String>,
    /// Label.
    pub(crate) label: Option<String>,
    /// Machine.
    pub(crate) machine: Option<u64>,
    /// What is billed, US dollars per hour.
    pub(crate) dollars_per_h: Option<f64>,
}

/// What vast.ai tells of one rental, asked for its lists and for this number.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum AtVast {
    /// It has it.
    Rented(SeenRental),
    /// The list of whoever was asked is whole and has it not, and asked for this number vast.ai has none.
    Absent,
    /// That is not known, and why.
    Unknown(String),
}

/// An instance as the manager lists it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct SeenRow {
    /// The manager's id.
    pub(crate) uuid: Option<String>,
    /// vast.ai's number.
    pub(crate) vast_id: Option<u64>,
    /// Killed, by its state.
    pub(crate) is_killed: bool,
    /// Its rental is in the manager's copy of vast.ai's list.
    pub(crate) is_listed: bool,
    /// When the manager gave it up because its copy of that list had it no more.
    pub(crate) disappeared_at: Option<Timestamp>,
}

/// The manager's dashboard, as far as it shows what came of a deed. Times are by the manager's clock.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SeenManager {
    pub(crate) rows: Vec<SeenRow>,
    /// Rows that could not be read.
    pub(crate) rows_unreadable: usize,
    /// When it answered, cut to whole seconds.
    pub(crate) at: Timestamp,
    /// When it read its copy of vast.ai's list; `None`: not since its start.
    pub(crate) list_read_at: Option<Timestamp>,
}

/// What does the deeds and looks afterwards. Times that pass are its own.
#[allow(async_fn_in_trait, reason = "used with known types alone")]
pub(crate) trait Hands {
    /// Carries out.
    async fn send(&self, deed: &Deed, target: &Target) -> Result<(), FetchError>;
    /// vast.ai's list of all accounts, whole; an error where any part of it could not be had.
    async fn rentals(&self) -> Result<Vec<SeenRental>, FetchError>;
    /// What one account is told of a rental now; where none is named, what all of them are told together.
    async fn rental(&self, account: Option<&Account>, vast_id: u64) -> AtVast;
    /// Which account lists a rental.
    async fn owner(&self, vast_id: u64) -> Owner;
    /// Whether vast.ai can be asked at all.
    fn sees_rentals(&self) -> bool;
    /// Whether there is a manager to ask.
    fn has_manager(&self) -> bool;
    /// What the manager shows now.
    async fn manager(&self) -> Result<SeenManager, FetchError>;
    /// The newest lines of the manager's own log, oldest first, with the time of each by its clock.
    async fn manager_log(&self) -> Result<Vec<(Timestamp, String)>, FetchError>;
    /// Machines on the manager's list of bad hosts.
    async fn banned(&self) -> Result<Vec<String>, FetchError>;
    /// Lets so many seconds pass.
    async fn pause(&self, seconds: f64);
    /// The time, for the journal.
    fn now(&self) -> Timestamp;
}

/// A step in the course of a deed, as the journal keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// About to be sent.
    Sent,
    /// Taken, by the answer.
    Answered,
    /// No answer, or one that does not tell whether it was done.
    Unanswered,
    /// Refused, by the answer.
    Refused,
    /// Sent, and what came of it has not been seen yet. Whoever looks later may see it.
    NotVerified,
    /// Taken, and nothing that can be read would show more.
    Taken,
    /// Seen to have come true, twice.
    Verified,
    /// It did not come true, or that is not known; somebody has to look.
    Incident,
}

impl Phase {
    /// Its stable word.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Answered => "answered",
            Self::Unanswered => "unanswered",
            Self::Refused => "refused",
            Self::NotVerified => "not-verified",
            Self::Taken => "taken",
            Self::Verified => "verified",
            Self::Incident => "incident",
        }
    }

    /// Nothing comes after a phase of this word.
    pub(crate) fn ends(word: &str) -> bool {
        word == "dry-run"
            || [Self::Refused, Self::Taken, Self::Verified, Self::Incident].iter().any(|phase| phase.as_str() == word)
    }
}

/// How long is waited, and how often something is tried.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// Seconds between two readings.
    pub(crate) between_s: f64,
    /// Readings after which something that is not seen is not believed any more.
    pub(crate) readings: usize,
    /// How often a wish is said at most, each time after readings that show it did not come true.
    pub(crate) tries: usize,
    /// What is not known by then is left open, for a later process to look after; otherwise it is an incident.
    pub(crate) leaves_open: bool,
}

impl Patience {
    /// A process that ends soon looks a few times and leaves the rest to others.
    pub(crate) const BRIEF: Self = Self { between_s: 1.5, readings: 4, tries: 1, leaves_open: true };
}

impl Default for Patience {
    /// Five minutes for each of three tries: vast.ai lists what it has destroyed for up to a minute, and the manager reads that list
    /// every minute.
    fn default() -> Self {
        Self { between_s: 15.0, readings: 20, tries: 3, leaves_open: false }
    }
}

/// Readings that must agree, one after the other.
const AGREE: usize = 2;
/// How often it is asked whose a rental is, where that could not be read.
const OWNER_ASKED: usize = 3;
/// How often "too often" is waited out: such an answer says that nothing was done.
const TOO_OFTEN_MOST: usize = 6;
/// Lists of the manager this much apart are surely two, seconds: its answer's time is cut to whole ones.
const ANOTHER_LIST_S: f64 = 2.0;
/// Instances that the manager gave up beside the one that was killed, from which on its list is taken for a broken one.
const GIVEN_UP_MANY: usize = 2;
/// What the manager gave up within this is of the same trouble with its list, seconds.
const GIVEN_UP_OF_LATE_S: f64 = 86_400.0;
/// Before the last entry of the journal its deed may have been sent so long ago, seconds: a terminal has waited since.
const SENT_BEFORE_S: f64 = 1_200.0;
/// After the last entry of the journal its deed is done or never will be, seconds: the manager gives its client 60 s for a destroy.
const DONE_WITHIN_S: f64 = 120.0;
/// Longest words of the manager's log that are repeated, characters.
const WORDS_MAX: usize = 400;

/// What one reading says of a wish.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Seen {
    /// It has come true.
    True,
    /// Not yet; and how it is instead.
    Not(String),
    /// The reading failed, or is of a time before the deed.
    Unknown(String),
    /// It was tried and failed, in the words of whoever tried.
    Failed(String),
}

/// Carries out a deed and looks until it is known what came of it. `note` is given every step before the next one begins: what it
/// keeps outlives a crash. Gives the last step.
pub(crate) async fn perform<H: Hands>(
    hands: &H,
    (deed, target): (&Deed, &Target),
    patience: Patience,
    note: &mut impl FnMut(Phase, &str),
) -> (Phase, String) {
    let target = &match whose(hands, deed, target, patience).await {
        Ok(target) => target,
        Err(why) => return end(note, Phase::Refused, why),
    };
    let mut too_often = 0;
    let mut tries = 0;
    loop {
        // What the manager says afterwards is told from what it said before by its own clock.
        let before = if *deed == Deed::Kill { hands.manager().await.ok() } else { None };
        note(Phase::Sent, &format!("{} {}", deed.as_str(), target.id));
        let answer = hands.send(deed, target).await;
        match &answer {
            Ok(()) => note(Phase::Answered, "taken"),
            Err(error) if error.code == Code::TooOften && too_often < TOO_OFTEN_MOST => {
                note(Phase::Unanswered, &format!("not done: {error}"));
                too_often += 1;
                hands.pause(patience.between_s).await;
                continue;
            }
            // Nothing of this number is there: a wish that it be gone may have come true.
            Err(error) if error.code == Code::NoSuchInstance && matches!(deed, Deed::Destroy) => {
                note(Phase::Unanswered, &error.message);
            }
            Err(error) if was_refused(error) => return end(note, Phase::Refused, error.message.clone()),
            Err(error) => note(Phase::Unanswered, &format!("not known whether it was done: {error}")),
        }
        tries += 1;
        if *deed == Deed::Reboot {
            return match answer {
                Ok(()) => {
                    end(note, Phase::Taken, "taken by vast.ai; that a container was started anew is in no record".to_owned())
                }
                Err(error) => end(note, Phase::Incident, format!("not known whether it was rebooted: {error}")),
            };
        }
        let mut eyes = Eyes::new(hands, deed, target);
        eyes.sent_after = before.map(|manager| manager.at);
        match eyes.watch(patience, note).await {
            Watched::True(how) => return end(note, Phase::Verified, how),
            Watched::Not(_) if tries < patience.tries => {}
            Watched::Unknown(how) if patience.leaves_open => {
                return end(note, Phase::NotVerified, format!("not verified: {}", incident(deed, target, &how)));
            }
            // What is not known is not said again: it may have come true.
            Watched::Not(how) | Watched::Unknown(how) | Watched::Failed(how) => {
                return end(note, Phase::Incident, incident(deed, target, &how));
            }
        }
    }
}

/// Only looks: what came of a deed that an earlier process had sent, by its last step in the journal at `at`.
pub(crate) async fn look_after<H: Hands>(
    hands: &H,
    (deed, target): (&Deed, &Target),
    at: Timestamp,
    patience: Patience,
    note: &mut impl FnMut(Phase, &str),
) -> (Phase, String) {
    let mut eyes = Eyes::new(hands, deed, target);
    eyes.journal_at = Some(at);
    // Where it may stay open it stands in the journal as it stood, with the time of the deed: whoever comes next looks again.
    let mut note = |phase: Phase, text: &str| {
        if !(patience.leaves_open && phase == Phase::NotVerified) {
            note(phase, text);
        }
    };
    let note = &mut note;
    match eyes.watch(patience, note).await {
        Watched::True(how) => end(note, Phase::Verified, how),
        Watched::Not(how) | Watched::Unknown(how) if patience.leaves_open => (Phase::NotVerified, how),
        Watched::Not(how) | Watched::Unknown(how) | Watched::Failed(how) => {
            let text =
                format!("Dwell was ended while this was under way; it is not tried again. {}", incident(deed, target, &how));
            end(note, Phase::Incident, text)
        }
    }
}

fn end(note: &mut impl FnMut(Phase, &str), phase: Phase, text: String) -> (Phase, String) {
    note(phase, &text);
    (phase, text)
}

/// The target with the account that lists its rental. Where that is not known nothing is sent to vast.ai; the manager can be told to
/// kill all the same, and then no account's list shows what came of it.
async fn whose<H: Hands>(hands: &H, deed: &Deed, target: &Target, patience: Patience) -> Result<Target, String> {
    if target.account.is_some() || matches!(deed, Deed::Ban(_) | Deed::Unban) {
        return Ok(target.clone());
    }
    let Some(vast_id) = target.vast_id else {
        return if *deed == Deed::Kill { Ok(target.clone()) } else { Err(format!("{NO_NUMBER}: nothing was sent")) };
    };
    let mut owner = Owner::Unknown(String::new());
    for nth in 0..OWNER_ASKED {
        if nth > 0 {
            hands.pause(patience.between_s).await;
        }
        owner = hands.owner(vast_id).await;
        // A kill goes to the manager: it does not wait for a list that cannot be read.
        if *deed == Deed::Kill || !matches!(owner, Owner::Unknown(_)) {
            break;
        }
    }
    match owner {
        Owner::Is(account) => Ok(Target { account: Some(account), ..target.clone() }),
        _ if *deed == Deed::Kill => Ok(target.clone()),
        Owner::Nobody => Err(format!("no account that can be asked lists rental {vast_id}: nothing was sent")),
        Owner::Unknown(why) => Err(format!("it is not known whose rental {vast_id} is ({why}): nothing was sent")),
    }
}

/// The answer says that nothing was done, and that saying it again changes nothing.
fn was_refused(error: &FetchError) -> bool {
    matches!(
        error.code,
        Code::Refused | Code::KeyRefused | Code::Unauthorised | Code::BadAddress | Code::NoSuchInstance | Code::NoCertificates
    )
}

fn incident(deed: &Deed, target: &Target, how: &str) -> String {
    let price = target.dollars_per_h.map(|dollars| format!(", {dollars:.2} dollars an hour")).unwrap_or_default();
    match deed {
        Deed::Kill | Deed::Destroy => format!("{} was not seen to go: {how}. It may be billed on{price}", target.id),
        _ => format!("{} of {} was not seen to come true: {how}", deed.as_str(), target.id),
    }
}

/// What the readings after a deed say together.
enum Watched {
    /// It has come true, twice in a row.
    True(String),
    /// It has not, by the last readings; and how it is instead.
    Not(String),
    /// The last readings failed, did not agree, or were of a time before the deed.
    Unknown(String),
    /// It failed, in the words of whoever tried.
    Failed(String),
}

/// Looks what came of a deed.
struct Eyes<'a, H> {
    hands: &'a H,
    deed: &'a Deed,
    target: &'a Target,
    /// It was sent after this, by the manager's clock.
    sent_after: Option<Timestamp>,
    /// The last step of the process that sent it, by our clock.
    journal_at: Option<Timestamp>,
    /// It was answered before this, by the manager's clock: what it has read from here on is newer than the deed.
    done_by: Option<Timestamp>,
    /// When the manager read lists that are newer than the deed and have the rental no more.
    without: Vec<Timestamp>,
    /// What the manager's log said last of the rental.
    words: Option<String>,
}

impl<'a, H: Hands> Eyes<'a, H> {
    fn new(hands: &'a H, deed: &'a Deed, target: &'a Target) -> Self {
        Self { hands, deed, target, sent_after: None, journal_at: None, done_by: None, without: Vec::new(), words: None }
    }

    /// Reads until two readings one after the other show that the wish has come true.
    async fn watch(&mut self, patience: Patience, note: &mut impl FnMut(Phase, &str)) -> Watched {
        let (mut agreed, mut against, mut how) = (0, 0, String::new());
        let mut told = false;
        for _ in 0..patience.readings.max(AGREE) {
            self.hands.pause(patience.between_s).await;
            let seen = self.seen().await;
            if let (Seen::Not(why) | Seen::Unknown(why), false) = (&seen, told) {
                note(Phase::NotVerified, &format!("not verified yet: {}", self.with_words(why)));
                told = true;
            }
            match seen {
                Seen::True => {
                    (agreed, against) = (agreed + 1, 0);
                    how = "it was seen so once, and not again".to_owned();
                    if agreed == AGREE {
                        return Watched::True(self.came_true());
                    }
                }
                Seen::Not(state) => (agreed, against, how) = (0, against + 1, state),
                Seen::Unknown(why) => (agreed, against, how) = (0, 0, why),
                Seen::Failed(words) => return Watched::Failed(words),
            }
        }
        let how = self.with_words(&how);
        if against >= AGREE { Watched::Not(how) } else { Watched::Unknown(how) }
    }

    fn with_words(&self, how: &str) -> String {
        match &self.words {
            Some(words) => format!("{how}; the manager's log says of it: {words:?}"),
            None => how.to_owned(),
        }
    }

    fn came_true(&self) -> String {
        match self.deed {
            Deed::Kill if self.target.account.is_none() => {
                "killed by the manager, and not on two lists of vast.ai's that it has read since; that vast.ai itself does not bill \
                 it on is not known without a key of the account"
                    .to_owned()
            }
            Deed::Kill => {
                let words = match &self.words {
                    Some(words) if is_failure(words) => format!("; the manager's log says otherwise: {words:?}"),
                    _ => String::new(),
                };
                format!(
                    "killed by the manager's list, and not on vast.ai's in two readings, nor by its number{}; the manager has read that \
                     list anew since and has it no more{words}",
                    self.by_whom()
                )
            }
            Deed::Destroy if self.target.account.is_none() => {
                "not on two lists of vast.ai's that the manager has read since; vast.ai itself is not asked without a key of its account"
                    .to_owned()
            }
            Deed::Destroy => format!("not on vast.ai's list in two readings, nor by its number{}", self.by_whom()),
            Deed::Ban(_) => "on the manager's list of bad hosts in two readings".to_owned(),
            Deed::Unban => "not on the manager's list of bad hosts in two readings".to_owned(),
            _ => "seen in vast.ai's record in two readings".to_owned(),
        }
    }

    fn by_whom(&self) -> String {
        self.target.account.as_ref().map(|it| format!(" (account {:?})", it.name)).unwrap_or_default()
    }

    async fn seen(&mut self) -> Seen {
        match self.deed {
            Deed::Kill | Deed::Destroy => self.is_gone().await,
            Deed::Ban(_) | Deed::Unban => match self.hands.banned().await {
                Ok(banned) => {
                    let is_banned = self.target.machine.is_some_and(|machine| banned.contains(&machine.to_string()));
                    match (is_banned, *self.deed == Deed::Unban) {
                        (true, false) | (false, true) => Seen::True,
                        (false, _) => Seen::Not("the manager's list of bad hosts does not have it".to_owned()),
                        (true, _) => Seen::Not("the manager's list of bad hosts still has it".to_owned()),
                    }
                }
                Err(error) => last_failed(&error),
            },
            Deed::Stop | Deed::Start | Deed::Label(_) | Deed::Reboot => {
                let Some(vast_id) = self.target.vast_id else { return Seen::Unknown(NO_NUMBER.to_owned()) };
                match self.hands.rental(self.target.account.as_ref(), vast_id).await {
                    AtVast::Rented(rental) => self.is_so(rental),
                    AtVast::Absent => Seen::Not("vast.ai has no such rental".to_owned()),
                    AtVast::Unknown(why) => Seen::Unknown(why),
                }
            }
        }
    }

    fn is_so(&self, rental: SeenRental) -> Seen {
        let actual = rental.actual.as_deref().unwrap_or("not told");
        let is_so = match self.deed {
            Deed::Label(label) => rental.label.as_deref() == Some(label),
            Deed::Stop => matches!(actual, "stopped" | "exited"),
            // A card may have gone to somebody else meanwhile: wished is not running.
            _ => actual == "running",
        };
        if is_so {
            return Seen::True;
        }
        Seen::Not(format!("vast.ai tells {actual}, labelled {:?}", rental.label.unwrap_or_default()))
    }

    /// Whether the rental is gone: by the account that had listed it before, and by the manager where that is who ended it. An account
    /// that had not listed it shows nothing by not listing it: then two of the manager's lists have to agree.
    async fn is_gone(&mut self) -> Seen {
        let is_owned = self.target.account.is_some();
        let by_manager = *self.deed == Deed::Kill || !is_owned;
        if by_manager && !self.hands.has_manager() {
            return Seen::Unknown("no account that had listed it can be asked, and there is no manager to ask".to_owned());
        }
        let manager = match by_manager {
            false => None,
            true => match self.hands.manager().await {
                Ok(manager) => Some(manager),
                Err(error) => return last_failed(&error),
            },
        };
        if let Some(manager) = &manager {
            self.date(manager);
            if *self.deed == Deed::Kill
                && let Some(seen) = self.is_not_killed(manager)
            {
                return seen;
            }
        }
        let row = |manager: &SeenManager| manager.rows.iter().find(|row| self.is_its(row))?.vast_id;
        let Some(vast_id) = self.target.vast_id.or_else(|| manager.as_ref().and_then(row)) else {
            return Seen::Unknown(format!("{NO_NUMBER}: nothing of it can be looked for"));
        };
        if *self.deed == Deed::Kill {
            self.read_log(vast_id).await;
        }
        let failure = self.words.clone().filter(|words| is_failure(words));
        let at_vast = match &self.target.account {
            None if !self.hands.sees_rentals() => None,
            account => Some(self.hands.rental(account.as_ref(), vast_id).await),
        };
        match at_vast {
            Some(AtVast::Rented(rental)) => {
                let actual = rental.actual.unwrap_or_else(|| "not told".to_owned());
                return match failure {
                    Some(words) => Seen::Failed(format!("the manager's log says {words:?}, and vast.ai has it ({actual})")),
                    None => Seen::Not(format!("vast.ai still has it ({actual})")),
                };
            }
            Some(AtVast::Unknown(why)) if is_owned => {
                return match failure {
                    Some(words) => Seen::Failed(format!("the manager's log says {words:?}; {why}")),
                    None => Seen::Unknown(why),
                };
            }
            Some(AtVast::Absent) if is_owned => {}
            // An account that it is not of has no such rental, whatever became of it.
            _ => {
                if let Some(words) = failure {
                    return Seen::Failed(format!("the manager's log says {words:?}"));
                }
            }
        }
        match manager.map(|manager| self.is_off_its_list(&manager, vast_id)) {
            None => Seen::True,
            Some(Seen::Unknown(why)) if is_owned => Seen::Unknown(format!("vast.ai has it no more, but {why}")),
            Some(seen) => seen,
        }
    }

    fn is_its(&self, row: &SeenRow) -> bool {
        row.uuid.is_some() && row.uuid == self.target.uuid
    }

    /// Takes the time of the deed by the manager's clock from its first answer since.
    fn date(&mut self, manager: &SeenManager) {
        if self.done_by.is_none() {
            // The answer's time is cut to whole seconds.
            self.done_by = Some(shift(manager.at, 1.0));
        }
        if let Some(at) = self.journal_at.take() {
            let ahead_s = seconds_between(self.hands.now(), manager.at);
            self.sent_after = Some(shift(at, ahead_s - SENT_BEFORE_S));
            // Long after, a list from between is newer than the deed as well.
            self.done_by = self.done_by.min(Some(shift(at, ahead_s + DONE_WITHIN_S)));
        }
    }

    fn is_not_killed(&self, manager: &SeenManager) -> Option<Seen> {
        match manager.rows.iter().find(|row| self.is_its(row)) {
            Some(row) if row.is_killed => None,
            Some(_) => Some(Seen::Not("the manager does not list it as killed".to_owned())),
            None => Some(Seen::Unknown("the manager does not list it at all, not as killed either".to_owned())),
        }
    }

    /// Whether the manager has it on no list that it has read since. Its client can give a short list as a whole one: without vast.ai's
    /// own word two lists have to agree.
    fn is_off_its_list(&mut self, manager: &SeenManager, vast_id: u64) -> Seen {
        let (Some(read_at), Some(done_by)) = (manager.list_read_at, self.done_by) else {
            return Seen::Unknown("the manager has not read vast.ai's list since its start".to_owned());
        };
        if read_at < done_by {
            let age = duration(seconds_between(read_at, manager.at).max(0.0));
            return Seen::Unknown(format!(
                "the manager's list of what vast.ai bills is {age} old, from before this was done; it reads it every minute"
            ));
        }
        if manager.rows.iter().any(|row| row.is_listed && (row.vast_id == Some(vast_id) || self.is_its(row))) {
            // Lists that agree are such as follow each other.
            self.without.clear();
            return Seen::Not("the manager has read vast.ai's list since, and it is still on it".to_owned());
        }
        if manager.rows_unreadable > 0 {
            return Seen::Unknown(format!("{} rows of the manager's could not be read", manager.rows_unreadable));
        }
        if self.is_broken(manager) {
            return Seen::Unknown(
                "the manager's list of vast.ai lacks others as well that nobody has ended: it may be short".to_owned(),
            );
        }
        if self.without.iter().all(|before| seconds_between(*before, read_at).abs() >= ANOTHER_LIST_S) {
            self.without.push(read_at);
        }
        if self.target.account.is_none() && self.without.len() < AGREE {
            return Seen::Unknown("one list of the manager's, read since, has it no more; another one has to agree".to_owned());
        }
        Seen::True
    }

    /// Whether the manager's list looks as if it had been cut short: others went with this one.
    fn is_broken(&self, manager: &SeenManager) -> bool {
        let others = || manager.rows.iter().filter(|row| !self.is_its(row));
        let is_recent = |at: Timestamp| self.sent_after.is_none_or(|sent| at >= sent);
        let given_up = others().filter(|row| row.disappeared_at.is_some_and(is_recent)).count();
        let is_empty = !manager.rows.iter().any(|row| row.is_listed);
        // An empty list that has cost it or others their rows already, before this deed as well, is the same failure still, or again.
        let is_of_late = |at: Timestamp| seconds_between(at, manager.at) < GIVEN_UP_OF_LATE_S;
        let went = manager.rows.iter().any(|row| row.disappeared_at.is_some_and(is_of_late));
        given_up >= GIVEN_UP_MANY || (is_empty && (went || others().any(|row| !row.is_killed)))
    }

    /// Reads what the manager's log says of the rental since the deed. That it could not be read says nothing.
    async fn read_log(&mut self, vast_id: u64) {
        let Ok(lines) = self.hands.manager_log().await else { return };
        let asked = format!("manually destroying vast instance {vast_id} ");
        // Where the time of the deed is not known, its own line in the log tells it.
        let from = match self.sent_after {
            Some(sent) => lines.iter().position(|(at, _)| *at >= sent),
            None => lines.iter().rposition(|(_, text)| text.contains(&asked)),
        };
        let Some(from) = from else { return };
        self.words = words_of(&lines[from..], vast_id).or(self.words.take());
    }
}

/// Why a reading without vast.ai's number is none.
pub(super) const NO_NUMBER: &str = "vast.ai's number of it is not known";

fn last_failed(error: &FetchError) -> Seen {
    Seen::Unknown(format!("the last reading failed: {}", error.message))
}

/// The last that a log says of a rental's destroy, else of the rental. A line is dated; what follows without a date belongs to it.
fn words_of(lines: &[(Timestamp, String)], vast_id: u64) -> Option<String> {
    let mut told: Vec<String> = Vec::new();
    for (_, text) in lines {
        match told.last_mut() {
            Some(last) if !is_dated(text) => last.push_str(&format!(" {}", text.trim())),
            _ => told.push(text.clone()),
        }
    }
    let number = vast_id.to_string();
    let names = |text: &&String| text.split(|it: char| !it.is_ascii_alphanumeric()).any(|word| word == number);
    let of_it: Vec<&String> = told.iter().filter(names).collect();
    let is_outcome = |text: &&&String| is_failure(text) || text.contains("destroyed vast instance");
    let said = of_it.iter().rev().find(is_outcome).or(of_it.last())?;
    Some(said.chars().take(WORDS_MAX).collect())
}

/// Whether a line of the log begins with a date, as Go's logger writes it.
fn is_dated(text: &str) -> bool {
    let form = "0000/00/00 00:00:00";
    let fits = |(it, form): (char, char)| if form == '0' { it.is_ascii_digit() } else { it == form };
    text.len() >= form.len() && text.chars().zip(form.chars()).all(fits)
}

/// Whether a line of the manager's log says that a destroy failed, or was not done.
fn is_failure(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    text.contains("failed to destroy") || text.contains("aborted")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]
mod tests {
    use std::cell::{Cell, RefCell};

    use proptest::prelude::*;

    use super::*;

    /// What goes wrong with one call.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Fault {
        /// Nothing.
        None,
        /// It is done, and the answer is lost.
        Lost,
        /// It is not done, and no answer comes.
        Swallowed,
        /// It is said to be done and is not.
        Lied,
        /// Too often: not done.
        TooOften,
        /// 500, done.
        FailedAndDone,
        /// 500, not done.
        Failed,
        /// Of a kill: the manager marks its row, and its client destroys nothing and says that it failed.
        DestroyFails,
        /// Of a kill: the manager marks its row, and its client destroys nothing and exits with 0.
        Aborted,
        /// Of a kill: it is done, and the manager's client says that it failed.
        CalledFailed,
    }

    const FAULTS: [Fault; 10] = [
        Fault::None,
        Fault::Lost,
        Fault::Swallowed,
        Fault::Lied,
        Fault::TooOften,
        Fault::FailedAndDone,
        Fault::Failed,
        Fault::DestroyFails,
        Fault::Aborted,
        Fault::CalledFailed,
    ];

    #[derive(Debug, Clone, PartialEq)]
    struct World {
        /// vast.ai number, actual status, label; the first is the target.
        rentals: Vec<(u64, String, String)>,
        killed: Vec<u64>,
        banned: Vec<String>,
    }

    /// A world of three instances, in which the target is the first.
    struct Double {
        world: RefCell<World>,
        faults: RefCell<Vec<Fault>>,
        /// Readings that fail or tell what was before: 0 right, 1 fails, 2 old, 3 of a list that is not whole and lacks the target.
        readings: RefCell<Vec<u8>>,
        before: RefCell<World>,
        done: RefCell<usize>,
        /// vast.ai can be asked.
        has_key: bool,
        /// Whether the account whose key is known has the rentals; `None` where its list cannot be read.
        lists: Option<bool>,
        /// The manager cannot read vast.ai's list.
        is_blind: bool,
        /// What the manager's next lists are: short by all that is in them.
        emptied: RefCell<Vec<bool>>,
        /// The manager's copy of vast.ai's list, when it was read, and whom it gave up since.
        copy: RefCell<(f64, Vec<u64>)>,
        given_up: RefCell<Vec<(u64, f64)>>,
        now_s: Cell<f64>,
        log: RefCell<Vec<(Timestamp, String)>>,
    }

    fn world() -> World {
        let rental = |id: u64| (id, "running".to_owned(), "C".to_owned());
        World { rentals: vec![rental(1), rental(2), rental(3)], killed: vec![], banned: vec!["99".into()] }
    }

    fn account() -> Account {
        Account { name: "main".into(), number: Some(1) }
    }

    /// A world whose vast.ai cannot be asked.
    fn keyless(double: Double) -> Double {
        Double { has_key: false, lists: Some(false), ..double }
    }

    fn error(code: Code) -> FetchError {
        FetchError { code, message: code.as_str().to_owned(), status: None }
    }

    impl Double {
        fn new(faults: Vec<Fault>, readings: Vec<u8>) -> Self {
            Self {
                world: RefCell::new(world()),
                before: RefCell::new(world()),
                faults: RefCell::new(faults),
                readings: RefCell::new(readings),
                done: RefCell::default(),
                has_key: true,
                lists: Some(true),
                is_blind: false,
                emptied: RefCell::default(),
                copy: RefCell::new((-30.0, vec![1, 2, 3])),
                given_up: RefCell::default(),
                now_s: Cell::new(0.0),
                log: RefCell::default(),
            }
        }

        fn say(&self, text: &str) {
            self.log.borrow_mut().push((self.now(), format!("2026/12/01 02:41:33 {text}")));
        }

        /// The manager marks its row and says what it does, and its client destroys nothing.
        fn only_marks(&self, target: &Target, says: &str) {
            let id = target.vast_id.unwrap();
            self.world.borrow_mut().killed = vec![id];
            self.say(&format!("[kill] manually destroying vast instance {id} (uuid=u{id})"));
            self.say(says);
        }

        /// The manager reads vast.ai's list again; what it lacks it gives up.
        fn reads_its_list(&self) {
            let emptied = self.emptied.borrow_mut().pop().unwrap_or(false);
            let rented: Vec<u64> = self.world.borrow().rentals.iter().map(|it| it.0).filter(|_| !emptied).collect();
            for id in (1..=3).filter(|id| !rented.contains(id) && !self.world.borrow().killed.contains(id)) {
                self.given_up.borrow_mut().push((id, self.now_s.get()));
            }
            *self.copy.borrow_mut() = (self.now_s.get(), rented);
        }

        fn act(&self, deed: &Deed, target: &Target) {
            *self.before.borrow_mut() = self.world.borrow().clone();
            let mut world = self.world.borrow_mut();
            let id = target.vast_id.unwrap();
            let set = |world: &mut World, status: &str| {
                world.rentals.iter_mut().filter(|rental| rental.0 == id).for_each(|rental| rental.1 = status.to_owned());
            };
            match deed {
                Deed::Kill => {
                    world.killed = vec![id];
                    world.rentals.retain(|rental| rental.0 != id);
                    self.say(&format!("[monitor] destroyed vast instance {id}"));
                }
                Deed::Destroy => world.rentals.retain(|rental| rental.0 != id),
                Deed::Stop => set(&mut world, "exited"),
                Deed::Start => set(&mut world, "running"),
                Deed::Label(label) => world.rentals.iter_mut().filter(|it| it.0 == id).for_each(|it| it.2.clone_from(label)),
                // As the manager has it: a second time changes nothing.
                Deed::Ban(_) if world.banned.len() == 1 => world.banned.push(target.machine.unwrap().to_string()),
                Deed::Ban(_) => {}
                Deed::Unban => world.banned.retain(|it| *it != target.machine.unwrap().to_string()),
                Deed::Reboot => {}
            }
            *self.done.borrow_mut() += 1;
        }

        fn seen(&self) -> Result<World, FetchError> {
            match self.readings.borrow_mut().pop().unwrap_or(0) {
                1 | 3 => Err(error(Code::TimedOut)),
                2 => Ok(self.before.borrow().clone()),
                _ => Ok(self.world.borrow().clone()),
            }
        }
    }

    impl Hands for Double {
        async fn send(&self, deed: &Deed, target: &Target) -> Result<(), FetchError> {
            let fault = self.faults.borrow_mut().pop().unwrap_or(Fault::None);
            if matches!(fault, Fault::None | Fault::Lost | Fault::FailedAndDone | Fault::CalledFailed) {
                let listed = self.world.borrow().rentals.iter().any(|rental| Some(rental.0) == target.vast_id);
                if *deed == Deed::Destroy && !listed {
                    return Err(error(Code::NoSuchInstance));
                }
                self.act(deed, target);
            }
            match (fault, deed) {
                (Fault::DestroyFails, Deed::Kill) => {
                    self.only_marks(target, "[monitor] failed to destroy vast instance 1: exit status 1 (no route)");
                }
                (Fault::CalledFailed, Deed::Kill) => self.say("[monitor] failed to destroy vast instance 1: timeout"),
                (Fault::Aborted, Deed::Kill) => self.only_marks(target, "[monitor] destroyed vast instance 1"),
                _ => {}
            }
            match fault {
                Fault::None | Fault::Lied | Fault::DestroyFails | Fault::Aborted | Fault::CalledFailed => Ok(()),
                Fault::Lost | Fault::Swallowed => Err(error(Code::VastSilent)),
                Fault::TooOften => Err(error(Code::TooOften)),
                Fault::FailedAndDone | Fault::Failed => Err(error(Code::VastFailed)),
            }
        }

        async fn rentals(&self) -> Result<Vec<SeenRental>, FetchError> {
            unreachable!("a deed asks for its own rental")
        }

        async fn owner(&self, vast_id: u64) -> Owner {
            match self.lists {
                None => Owner::Unknown("its list is incomplete".into()),
                Some(true) if self.world.borrow().rentals.iter().any(|it| it.0 == vast_id) => Owner::Is(account()),
                Some(_) => Owner::Nobody,
            }
        }

        async fn rental(&self, asked: Option<&Account>, vast_id: u64) -> AtVast {
            assert!(self.has_key, "vast.ai is asked without a key");
            if self.lists != Some(true) {
                assert_eq!(asked, None, "no account had listed it");
                return AtVast::Absent;
            }
            let reading = self.readings.borrow().last().copied();
            let seen = match self.seen() {
                Ok(seen) => seen,
                Err(_) if reading == Some(3) => return AtVast::Unknown("vast.ai's list is incomplete".into()),
                Err(error) => return AtVast::Unknown(format!("the last reading failed: {error}")),
            };
            match seen.rentals.into_iter().find(|rental| rental.0 == vast_id) {
                Some((vast_id, actual, label)) => AtVast::Rented(SeenRental {
                    vast_id,
                    actual: Some(actual),
                    wished: None,
                    label: Some(label),
                    machine: None,
                    dollars_per_h: None,
                }),
                None => AtVast::Absent,
            }
        }

        fn sees_rentals(&self) -> bool {
            self.has_key
        }

        fn has_manager(&self) -> bool {
            true
        }

        async fn manager(&self) -> Result<SeenManager, FetchError> {
            let killed = self.world.borrow().killed.clone();
            let (read_at_s, copy) = self.copy.borrow().clone();
            let given_up = self.given_up.borrow().clone();
            let at = |seconds: f64| shift(Timestamp::UNIX_EPOCH, seconds);
            let row = |id: u64| SeenRow {
                uuid: Some(format!("u{id}")),
                vast_id: Some(id),
                is_killed: killed.contains(&id) || given_up.iter().any(|it| it.0 == id),
                is_listed: copy.contains(&id),
                disappeared_at: given_up.iter().find(|it| it.0 == id).map(|it| at(it.1)),
            };
            Ok(SeenManager {
                rows: (1..=3).map(row).collect(),
                rows_unreadable: 0,
                at: self.now(),
                list_read_at: Some(at(read_at_s)),
            })
        }

        async fn manager_log(&self) -> Result<Vec<(Timestamp, String)>, FetchError> {
            Ok(self.log.borrow().clone())
        }

        async fn banned(&self) -> Result<Vec<String>, FetchError> {
            Ok(self.seen()?.banned)
        }

        async fn pause(&self, seconds: f64) {
            self.now_s.set(self.now_s.get() + seconds);
            if !self.is_blind && self.now_s.get() - self.copy.borrow().0 >= 60.0 {
                self.reads_its_list();
            }
        }

        fn now(&self) -> Timestamp {
            shift(Timestamp::UNIX_EPOCH, self.now_s.get())
        }
    }

    fn target(deed: &Deed) -> Target {
        let machine = if *deed == Deed::Unban { 99 } else { 40_001 };
        Target {
            fleet: String::new(),
            id: "u1".into(),
            uuid: Some("u1".into()),
            vast_id: Some(1),
            machine: Some(machine),
            account: None,
            dollars_per_h: Some(0.38),
        }
    }

    fn run(double: &Double, deed: &Deed) -> (Phase, String, Vec<Phase>) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut phases = Vec::new();
        let (phase, text) =
            runtime.block_on(perform(double, (deed, &target(deed)), Patience::default(), &mut |phase, _| phases.push(phase)));
        (phase, text, phases)
    }

    fn deeds() -> Vec<Deed> {
        vec![Deed::Kill, Deed::Destroy, Deed::Stop, Deed::Label("new".into()), Deed::Ban("slow".into()), Deed::Unban]
    }

    /// How the world must be in the end.
    fn wished(deed: &Deed) -> World {
        let double = Double::new(vec![], vec![]);
        double.act(deed, &target(deed));
        double.world.into_inner()
    }

    #[test]
    fn without_faults_each_is_sent_once_and_seen_twice() {
        for deed in deeds() {
            let double = Double::new(vec![], vec![]);
            let (phase, _, phases) = run(&double, &deed);
            // What the manager ended is on its list until it reads that again: until then it is not verified.
            let not_yet = (deed == Deed::Kill).then_some(Phase::NotVerified);
            let expected: Vec<Phase> =
                [Phase::Sent, Phase::Answered].into_iter().chain(not_yet).chain([Phase::Verified]).collect();
            assert_eq!((phase, phases), (Phase::Verified, expected), "{deed:?}");
            assert_eq!((double.done.take(), double.world.borrow().clone()), (1, wished(&deed)));
        }
    }

    #[test]
    fn a_destroy_that_says_ok_and_did_nothing_is_said_again_and_then_told() {
        let double = Double::new(vec![Fault::None, Fault::Lied], vec![]);
        assert_eq!(run(&double, &Deed::Destroy).0, Phase::Verified, "the second time it was done");
        let lies = Double::new(vec![Fault::Lied; 9], vec![]);
        let (phase, text, phases) = run(&lies, &Deed::Destroy);
        assert_eq!((phase, phases.iter().filter(|it| **it == Phase::Sent).count()), (Phase::Incident, 3));
        assert!(text.contains("vast.ai still has it") && text.contains("0.38 dollars an hour"), "{text}");
    }

    #[test]
    fn a_kill_is_verified_by_what_is_newer_than_it_alone() {
        // The manager's list, 30 s old, gets newer at the fourth reading: with a key that and vast.ai's own suffice.
        let double = Double::new(vec![], vec![]);
        let mut told = Vec::new();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let deed = Deed::Kill;
        let mut note = |phase: Phase, text: &str| told.push((double.now_s.get(), phase, text.to_owned()));
        let (phase, text) = runtime.block_on(perform(&double, (&deed, &target(&deed)), Patience::default(), &mut note));
        assert_eq!(phase, Phase::Verified);
        assert!(text.contains("nor by its number") && text.contains("read that list anew"), "{text}");
        assert_eq!((told[2].0, told[2].1, told.last().unwrap().0), (15.0, Phase::NotVerified, 45.0), "{told:?}");
        assert!(told[2].2.starts_with("not verified yet") && told[2].2.contains("from before this was done"), "{told:?}");

        // Without a key two of the manager's lists have to agree, and what that is worth is said.
        let without = keyless(Double::new(vec![], vec![]));
        let (phase, text, _) = run(&without, &Deed::Kill);
        assert_eq!(phase, Phase::Verified);
        assert!(text.contains("two lists") && text.contains("not known without a key"), "{text}");
        assert!(without.now_s.get() >= 90.0, "{}", without.now_s.get());

        // A manager that cannot read the list shows nothing, with a key or without.
        for has_key in [true, false] {
            let blind = Double { has_key, lists: Some(has_key), is_blind: true, ..Double::new(vec![], vec![]) };
            let (phase, text, phases) = run(&blind, &Deed::Kill);
            assert_eq!((phase, phases.iter().filter(|it| **it == Phase::Sent).count()), (Phase::Incident, 1));
            assert!(text.contains("from before this was done"), "{text}");
            let terminal = Patience { leaves_open: true, ..Patience::default() };
            let blind = Double { has_key, lists: Some(has_key), is_blind: true, ..Double::new(vec![], vec![]) };
            let (phase, text) = runtime.block_on(perform(&blind, (&deed, &target(&deed)), terminal, &mut |_, _| {}));
            assert_eq!((phase, Phase::ends(phase.as_str())), (Phase::NotVerified, false));
            assert!(text.starts_with("not verified:"), "{text}");
        }
    }

    #[test]
    fn a_destroy_that_the_managers_log_calls_failed_is_an_incident_at_once_in_its_words() {
        for has_key in [true, false] {
            let double = Double { has_key, lists: Some(has_key), ..Double::new(vec![Fault::DestroyFails], vec![]) };
            let (phase, text, phases) = run(&double, &Deed::Kill);
            assert_eq!((phase, phases), (Phase::Incident, vec![Phase::Sent, Phase::Answered, Phase::Incident]));
            assert!(text.contains("failed to destroy vast instance 1: exit status 1 (no route)"), "{text}");
            assert!(double.now_s.get() <= 15.0);
            // The same words of an earlier deed, or of another rental, are no sign.
            let double = Double { has_key, lists: Some(has_key), ..Double::new(vec![], vec![]) };
            double.log.borrow_mut().push((shift(Timestamp::UNIX_EPOCH, -5.0), "failed to destroy vast instance 1: x".into()));
            double.log.borrow_mut().push((shift(Timestamp::UNIX_EPOCH, 5.0), "failed to destroy vast instance 11: x".into()));
            assert_eq!(run(&double, &Deed::Kill).0, Phase::Verified);
        }
        // What was done though it was called failed is not there any more.
        let done = Double::new(vec![Fault::CalledFailed], vec![]);
        let (phase, text, _) = run(&done, &Deed::Kill);
        assert_eq!(phase, Phase::Verified);
        assert!(text.contains("says otherwise"), "{text}");
    }

    #[test]
    fn a_destroy_that_was_aborted_is_seen_in_the_managers_next_list() {
        for has_key in [true, false] {
            let double = Double { has_key, lists: Some(has_key), ..Double::new(vec![Fault::Aborted; 9], vec![]) };
            let (phase, text, phases) = run(&double, &Deed::Kill);
            assert_eq!((phase, phases.iter().filter(|it| **it == Phase::Sent).count()), (Phase::Incident, 3));
            assert!(text.contains("the manager's log says of it") && text.contains("destroyed vast instance 1"), "{text}");
        }
    }

    #[test]
    fn a_managers_list_that_lost_all_at_once_says_nothing_of_one() {
        let emptied = RefCell::new(vec![true; 99]);
        let double = Double { has_key: false, lists: Some(false), emptied, ..Double::new(vec![Fault::Aborted; 9], vec![]) };
        let (phase, text, _) = run(&double, &Deed::Kill);
        assert_eq!(phase, Phase::Incident);
        assert!(text.contains("it may be short"), "{text}");
    }

    #[test]
    fn what_no_account_lists_is_not_destroyed() {
        let gone = Double::new(vec![], vec![]);
        gone.act(&Deed::Destroy, &target(&Deed::Destroy));
        let others = Double { lists: Some(false), ..Double::new(vec![], vec![]) };
        let unread = Double { lists: None, ..Double::new(vec![], vec![]) };
        for (double, says) in [(gone, "no account"), (others, "no account"), (unread, "its list is incomplete")] {
            let before = double.done.take();
            let (phase, text, phases) = run(&double, &Deed::Destroy);
            assert_eq!((phase, phases), (Phase::Refused, vec![Phase::Refused]), "{text}");
            assert!(text.contains(says) && text.ends_with("nothing was sent") && before <= 1, "{text}");
            assert_eq!(double.done.take(), 0);
        }
    }

    /// The key is of another account: that it lists nothing of the kind shows nothing, though the manager says that it is done.
    #[test]
    fn another_accounts_list_shows_nothing_of_a_kill() {
        for lists in [Some(false), None] {
            let double = Double { lists, is_blind: true, ..Double::new(vec![Fault::Aborted; 9], vec![]) };
            let terminal = Patience { leaves_open: true, ..Patience::default() };
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let kill = (&Deed::Kill, &target(&Deed::Kill));
            let (phase, text) = runtime.block_on(perform(&double, kill, terminal, &mut |_, _| {}));
            assert_eq!(phase, Phase::NotVerified, "{text}");
            // Where the manager's lists agree it is by them alone, and that is said.
            let double = Double { lists, ..Double::new(vec![], vec![]) };
            let (phase, text, _) = run(&double, &Deed::Kill);
            assert_eq!(phase, Phase::Verified);
            assert!(text.contains("not known without a key of the account") && double.now_s.get() >= 90.0, "{text}");
        }
    }

    #[test]
    fn a_list_that_is_not_whole_verifies_nothing() {
        let double = Double::new(vec![Fault::Lied], vec![3; 99]);
        let (phase, text, phases) = run(&double, &Deed::Destroy);
        assert_eq!((phase, phases), (Phase::Incident, vec![Phase::Sent, Phase::Answered, Phase::NotVerified, Phase::Incident]));
        assert!(text.contains("incomplete"), "{text}");
    }

    #[test]
    fn what_a_log_says_of_a_rental_is_read_with_the_lines_that_belong_to_it() {
        let at = Timestamp::UNIX_EPOCH;
        let line = |text: &str| (at, text.to_owned());
        let log = [
            line("2026/12/01 02:41:33 [kill] manually destroying vast instance 31 (uuid=u)"),
            line("2026/12/01 02:41:34 [monitor] failed to destroy vast instance 31: exit status 1 (Traceback"),
            line("KeyError: 31)"),
            line("2026/12/01 02:41:35 [monitor] destroyed vast instance 310"),
            line("2026/12/01 02:42:35 [monitor] unregistered instance 31 (label=, age=1m)"),
        ];
        let words = words_of(&log, 31).unwrap();
        assert!(words.ends_with("(Traceback KeyError: 31)") && is_failure(&words), "{words}");
        assert!(words_of(&log, 310).unwrap().ends_with("destroyed vast instance 310"));
        assert_eq!(words_of(&log, 3), None);
        // A later try went well.
        let later = [&log[..], &[line("2026/12/01 02:43:00 [monitor] destroyed vast instance 31")]].concat();
        assert!(!is_failure(&words_of(&later, 31).unwrap()));
    }

    #[test]
    fn an_answer_that_was_lost_is_not_said_again_where_it_was_done() {
        for deed in deeds() {
            let double = Double::new(vec![Fault::Lost], vec![]);
            let (phase, _, phases) = run(&double, &deed);
            assert_eq!((phase, double.done.take()), (Phase::Verified, 1), "{deed:?}");
            let told: Vec<Phase> = phases.into_iter().filter(|it| *it != Phase::NotVerified).collect();
            assert_eq!(told, [Phase::Sent, Phase::Unanswered, Phase::Verified]);
        }
    }

    #[test]
    fn what_is_not_known_is_not_said_again() {
        let blind = Double::new(vec![Fault::Swallowed], vec![1; 99]);
        let (phase, text, phases) = run(&blind, &Deed::Destroy);
        assert_eq!((phase, phases.iter().filter(|it| **it == Phase::Sent).count()), (Phase::Incident, 1));
        assert!(text.contains("the last reading failed"), "{text}");
    }

    #[test]
    fn a_reboot_is_sent_once_whatever_happens() {
        for fault in FAULTS {
            let double = Double::new(vec![fault], vec![]);
            run(&double, &Deed::Reboot);
            assert!(*double.done.borrow() <= 1, "{fault:?}");
        }
        let lost = Double::new(vec![Fault::Lost], vec![]);
        assert_eq!(run(&lost, &Deed::Reboot).0, Phase::Incident);
    }

    /// Found by the property below: the manager's list was empty, came back, and was empty again; the kill never happened.
    #[test]
    fn an_empty_list_that_came_and_went_verifies_no_kill() {
        let double = Double::new(vec![Fault::Swallowed, Fault::Failed], vec![]);
        let emptied = RefCell::new(vec![true, true, false, false, false, false, true]);
        let double = Double { has_key: false, lists: Some(false), emptied, ..double };
        let (phase, text, _) = run(&double, &Deed::Kill);
        assert!(phase != Phase::Verified || *double.world.borrow() == wished(&Deed::Kill), "{text}");
    }

    #[test]
    fn what_is_refused_is_left() {
        struct Refusing;
        impl Hands for Refusing {
            async fn send(&self, _: &Deed, _: &Target) -> Result<(), FetchError> {
                Err(error(Code::KeyRefused))
            }
            async fn rentals(&self) -> Result<Vec<SeenRental>, FetchError> {
                unreachable!("nobody looks after what was refused")
            }
            async fn rental(&self, _: Option<&Account>, _: u64) -> AtVast {
                unreachable!()
            }
            async fn owner(&self, _: u64) -> Owner {
                Owner::Is(account())
            }
            fn sees_rentals(&self) -> bool {
                true
            }
            fn has_manager(&self) -> bool {
                true
            }
            async fn manager(&self) -> Result<SeenManager, FetchError> {
                unreachable!()
            }
            async fn manager_log(&self) -> Result<Vec<(Timestamp, String)>, FetchError> {
                unreachable!()
            }
            async fn banned(&self) -> Result<Vec<String>, FetchError> {
                unreachable!()
            }
            async fn pause(&self, _: f64) {}
            fn now(&self) -> Timestamp {
                Timestamp::UNIX_EPOCH
            }
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let done = runtime.block_on(perform(&Refusing, (&Deed::Stop, &target(&Deed::Stop)), Patience::default(), &mut |_, _| {}));
        assert_eq!(done.0, Phase::Refused);
    }

    proptest! {
        /// Whatever goes wrong with calls and readings: it ends in the state that was wished, or in an incident that says so; nobody
        /// else is touched, and what is not said to be verified is never more than was done.
        #[test]
        fn it_ends_right_or_in_an_incident(
            which in 0usize..6,
            faults in prop::collection::vec(0usize..FAULTS.len(), 0..8),
            readings in prop::collection::vec(0u8..4, 0..30),
            emptied in prop::collection::vec(any::<bool>(), 0..12),
            has_key in any::<bool>(),
            lists in prop::option::of(any::<bool>()),
            is_blind in any::<bool>(),
        ) {
            let deed = deeds()[which].clone();
            let has_key = has_key || !matches!(deed, Deed::Kill);
            // The manager alone cannot tell a list that was cut short from one that is whole.
            let lists = if has_key && deed != Deed::Kill { lists } else { Some(has_key) };
            let double = Double::new(faults.into_iter().map(|it| FAULTS[it]).collect(), readings);
            let double = Double { has_key, lists, is_blind, emptied: RefCell::new(emptied), ..double };
            let (phase, text, phases) = run(&double, &deed);
            prop_assert!(Phase::ends(phase.as_str()) && phases.last() == Some(&phase));
            let world = double.world.borrow().clone();
            if phase == Phase::Verified {
                prop_assert_eq!(&world, &wished(&deed));
            } else {
                prop_assert!(!text.is_empty());
            }
            let others: Vec<_> = world.rentals.iter().filter(|it| it.0 != 1).cloned().collect();
            prop_assert_eq!(others, super::tests::world().rentals[1..].to_vec());
            prop_assert!(phases.iter().filter(|it| **it == Phase::Sent).count() <= Patience::default().tries + TOO_OFTEN_MOST);
        }
    }

    /// A list of an account's, before the deed or after it.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum List {
        /// With it.
        Has,
        /// Whole, and without it.
        Lacks,
        /// Not whole, or not to be had.
        Broken,
    }

    /// Several accounts, with a list each before anything is sent and after it, and a manager that calls everything done and reads no
    /// list: what it says is no sight.
    struct Accounts {
        lists: Vec<(List, List)>,
        /// Accounts that have it by its number, whatever they list.
        shows: Vec<bool>,
        sent: RefCell<Vec<Option<String>>>,
        /// Accounts that were asked whether it is gone.
        asked: RefCell<Vec<Option<String>>>,
        now_s: Cell<f64>,
    }

    impl Accounts {
        fn list(&self, nth: usize) -> List {
            if self.sent.borrow().is_empty() { self.lists[nth].0 } else { self.lists[nth].1 }
        }
    }

    impl Hands for Accounts {
        async fn send(&self, _: &Deed, target: &Target) -> Result<(), FetchError> {
            self.sent.borrow_mut().push(target.account.as_ref().map(|it| it.name.clone()));
            Ok(())
        }

        async fn rentals(&self) -> Result<Vec<SeenRental>, FetchError> {
            unreachable!("a deed asks for its own rental")
        }

        async fn owner(&self, _: u64) -> Owner {
            let all = || 0..self.lists.len();
            match all().find(|nth| self.list(*nth) == List::Has) {
                Some(nth) => Owner::Is(Account { name: nth.to_string(), number: None }),
                None if all().any(|nth| self.list(nth) == List::Broken) => Owner::Unknown("a list is broken".into()),
                None => Owner::Nobody,
            }
        }

        async fn rental(&self, account: Option<&Account>, vast_id: u64) -> AtVast {
            self.asked.borrow_mut().push(account.map(|it| it.name.clone()));
            let of: Vec<usize> = match account {
                Some(account) => vec![account.name.parse().unwrap()],
                None => (0..self.lists.len()).collect(),
            };
            let rental = SeenRental {
                vast_id,
                actual: Some("running".into()),
                wished: None,
                label: None,
                machine: None,
                dollars_per_h: None,
            };
            if of.iter().any(|nth| self.list(*nth) == List::Has) {
                return AtVast::Rented(rental);
            }
            if of.iter().any(|nth| self.list(*nth) == List::Broken) {
                return AtVast::Unknown("a list is broken".into());
            }
            if of.iter().any(|nth| self.shows[*nth]) { AtVast::Rented(rental) } else { AtVast::Absent }
        }

        fn sees_rentals(&self) -> bool {
            !self.lists.is_empty()
        }

        fn has_manager(&self) -> bool {
            true
        }

        async fn manager(&self) -> Result<SeenManager, FetchError> {
            let row =
                SeenRow { uuid: Some("u1".into()), vast_id: Some(1), is_killed: true, is_listed: false, disappeared_at: None };
            Ok(SeenManager { rows: vec![row], rows_unreadable: 0, at: self.now(), list_read_at: None })
        }

        async fn manager_log(&self) -> Result<Vec<(Timestamp, String)>, FetchError> {
            Ok(Vec::new())
        }

        async fn banned(&self) -> Result<Vec<String>, FetchError> {
            Ok(Vec::new())
        }

        async fn pause(&self, seconds: f64) {
            self.now_s.set(self.now_s.get() + seconds);
        }

        fn now(&self) -> Timestamp {
            shift(Timestamp::UNIX_EPOCH, self.now_s.get())
        }
    }

    proptest! {
        /// Whatever the accounts list before and after: a destroy goes to the account that lists the rental and to no other, to nobody
        /// where none does, and again only while that account has it; a deed is verified only where that account had it, has it no more
        /// on a whole list, and not by its number.
        #[test]
        fn the_account_that_lists_a_rental_is_sent_to_and_believed_and_no_other(
            lists in prop::collection::vec((0usize..3, 0usize..3, any::<bool>()), 0..4),
            kills in any::<bool>(),
            is_planned in any::<bool>(),
            leaves_open in any::<bool>(),
        ) {
            let list = |nth: usize| [List::Has, List::Lacks, List::Broken][nth];
            let accounts = Accounts {
                lists: lists.iter().map(|it| (list(it.0), list(it.1))).collect(),
                shows: lists.iter().map(|it| it.2).collect(),
                sent: RefCell::default(),
                asked: RefCell::default(),
                now_s: Cell::new(0.0),
            };
            let owner = accounts.lists.iter().position(|it| it.0 == List::Has);
            let deed = if kills { Deed::Kill } else { Deed::Destroy };
            let planned = owner.filter(|_| is_planned).map(|nth| Account { name: nth.to_string(), number: None });
            let target = Target { account: planned, ..target(&deed) };
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let patience = Patience { leaves_open, ..Patience::default() };
            let (phase, text) = runtime.block_on(perform(&accounts, (&deed, &target), patience, &mut |_, _| {}));
            let name = owner.map(|nth| nth.to_string());
            let sent = accounts.sent.take();
            prop_assert!(sent.iter().all(|it| *it == name), "{sent:?} of {name:?}");
            prop_assert!(accounts.asked.take().iter().all(|it| *it == name), "asked of {name:?}");
            let Some(nth) = owner else {
                prop_assert!(phase != Phase::Verified, "{}", text);
                if !kills {
                    prop_assert_eq!((phase, sent.len()), (Phase::Refused, 0), "{}", text);
                }
                return Ok(());
            };
            let has_it = match accounts.lists[nth].1 {
                List::Has => Some(true),
                List::Lacks => Some(accounts.shows[nth]),
                List::Broken => None,
            };
            // Said again only where it was seen that it is still there.
            prop_assert_eq!(sent.len() > 1, has_it == Some(true));
            // A kill needs the manager's newer list as well, and this one reads none.
            prop_assert_eq!(phase == Phase::Verified, has_it == Some(false) && !kills, "{}", text);
        }
    }
}
