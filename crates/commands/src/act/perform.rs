//! One deed carried out exactly, once, and verified: sent, answered or not, and then looked at until two later readings agree.
//!
//! An answer says that a wish was taken, never that it has come true; no answer says nothing at all. So what decides is what is seen
//! afterwards. A wish that can be said twice without harm is said again only after readings have shown that it did not come true.

use dwell_clients::{Code, FetchError};
use dwell_fleet::Timestamp;

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

    /// What it destroys does not come back.
    pub(crate) fn is_destructive(&self) -> bool {
        matches!(self, Self::Kill | Self::Destroy | Self::Ban(_))
    }
}

/// To whom.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Target {
    /// As people name it.
    pub(crate) id: String,
    /// The manager's id.
    pub(crate) uuid: Option<String>,
    /// vast.ai's number.
    pub(crate) vast_id: Option<u64>,
    /// The machine.
    pub(crate) machine: Option<u64>,
    /// Its price, US dollars per hour.
    pub(crate) dollars_per_h: Option<f64>,
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
}

/// An instance as the manager lists it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SeenRow {
    /// The manager's id.
    pub(crate) uuid: Option<String>,
    /// vast.ai's number.
    pub(crate) vast_id: Option<u64>,
    /// Killed, by its state.
    pub(crate) is_killed: bool,
}

/// What does the deeds and looks afterwards. Times that pass are its own.
#[allow(async_fn_in_trait, reason = "used with known types alone")]
pub(crate) trait Hands {
    /// Carries out.
    async fn send(&self, deed: &Deed, target: &Target) -> Result<(), FetchError>;
    /// vast.ai's list of all accounts, whole; an error where any part of it could not be had.
    async fn rentals(&self) -> Result<Vec<SeenRental>, FetchError>;
    /// Whether vast.ai can be asked at all.
    fn sees_rentals(&self) -> bool;
    /// The manager's rows.
    async fn rows(&self) -> Result<Vec<SeenRow>, FetchError>;
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
}

impl Default for Patience {
    /// Five minutes for each of three tries: vast.ai lists what it has destroyed for up to a minute.
    fn default() -> Self {
        Self { between_s: 15.0, readings: 20, tries: 3 }
    }
}

/// Readings that must agree, one after the other.
const AGREE: usize = 2;
/// How often "too often" is waited out: such an answer says that nothing was done.
const TOO_OFTEN_MOST: usize = 6;

/// What one reading says of a wish.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Seen {
    /// It has come true.
    True,
    /// Not yet; and how it is instead.
    Not(String),
    /// The reading failed.
    Unknown(String),
}

/// Carries out a deed and looks until it is known what came of it. `note` is given every step before the next one begins: what it
/// keeps outlives a crash. Gives the last step.
pub(crate) async fn perform<H: Hands>(
    hands: &H,
    (deed, target): (&Deed, &Target),
    patience: Patience,
    note: &mut impl FnMut(Phase, &str),
) -> (Phase, String) {
    let mut too_often = 0;
    let mut tries = 0;
    loop {
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
        match watch(hands, (deed, target), patience).await {
            Watched::True(how) => return end(note, Phase::Verified, how),
            Watched::Not(_) if tries < patience.tries => {}
            // What is not known is not said again: it may have come true.
            Watched::Not(how) | Watched::Unknown(how) => return end(note, Phase::Incident, incident(deed, target, &how)),
        }
    }
}

/// Only looks: what came of a deed that an earlier process had sent.
pub(crate) async fn look_after<H: Hands>(
    hands: &H,
    (deed, target): (&Deed, &Target),
    patience: Patience,
    note: &mut impl FnMut(Phase, &str),
) -> (Phase, String) {
    match watch(hands, (deed, target), patience).await {
        Watched::True(how) => end(note, Phase::Verified, how),
        Watched::Not(how) | Watched::Unknown(how) => {
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
    /// The last readings failed, or did not agree.
    Unknown(String),
}

/// Reads until two readings one after the other show that the wish has come true.
async fn watch<H: Hands>(hands: &H, (deed, target): (&Deed, &Target), patience: Patience) -> Watched {
    let (mut agreed, mut against, mut how) = (0, 0, String::new());
    for _ in 0..patience.readings.max(AGREE) {
        hands.pause(patience.between_s).await;
        match seen(hands, deed, target).await {
            Seen::True => {
                (agreed, against) = (agreed + 1, 0);
                how = "it was seen so once, and not again".to_owned();
                if agreed == AGREE {
                    return Watched::True(came_true(hands, deed));
                }
            }
            Seen::Not(state) => (agreed, against, how) = (0, against + 1, state),
            Seen::Unknown(why) => (agreed, against, how) = (0, 0, format!("the last reading failed: {why}")),
        }
    }
    if against >= AGREE { Watched::Not(how) } else { Watched::Unknown(how) }
}

fn came_true<H: Hands>(hands: &H, deed: &Deed) -> String {
    match deed {
        Deed::Kill if !hands.sees_rentals() => {
            "killed by the manager's own list; whether vast.ai bills on is not known without a key of the account".to_owned()
        }
        Deed::Kill => "killed by the manager's list, and not on vast.ai's in two readings".to_owned(),
        Deed::Destroy => "not on vast.ai's list in two readings".to_owned(),
        Deed::Ban(_) => "on the manager's list of bad hosts in two readings".to_owned(),
        Deed::Unban => "not on the manager's list of bad hosts in two readings".to_owned(),
        _ => "seen in vast.ai's record in two readings".to_owned(),
    }
}

async fn seen<H: Hands>(hands: &H, deed: &Deed, target: &Target) -> Seen {
    match deed {
        Deed::Kill => {
            let rows = match hands.rows().await {
                Ok(rows) => rows,
                Err(error) => return Seen::Unknown(error.message),
            };
            let row = rows.iter().find(|row| row.uuid.is_some() && row.uuid == target.uuid);
            if row.is_some_and(|row| !row.is_killed) {
                return Seen::Not("the manager does not list it as killed".to_owned());
            }
            if hands.sees_rentals() { is_gone(hands, target).await } else { Seen::True }
        }
        Deed::Destroy => is_gone(hands, target).await,
        Deed::Ban(_) | Deed::Unban => match hands.banned().await {
            Ok(banned) => {
                let is_banned = target.machine.is_some_and(|machine| banned.contains(&machine.to_string()));
                match (is_banned, *deed == Deed::Unban) {
                    (true, false) | (false, true) => Seen::True,
                    (false, _) => Seen::Not("the manager's list of bad hosts does not have it".to_owned()),
                    (true, _) => Seen::Not("the manager's list of bad hosts still has it".to_owned()),
                }
            }
            Err(error) => Seen::Unknown(error.message),
        },
        Deed::Stop | Deed::Start | Deed::Label(_) | Deed::Reboot => {
            let rentals = match hands.rentals().await {
                Ok(rentals) => rentals,
                Err(error) => return Seen::Unknown(error.message),
            };
            let Some(rental) = rentals.into_iter().find(|rental| Some(rental.vast_id) == target.vast_id) else {
                return Seen::Not("vast.ai does not list it".to_owned());
            };
            let actual = rental.actual.as_deref().unwrap_or("not told");
            let is_so = match deed {
                Deed::Label(label) => rental.label.as_deref() == Some(label),
                Deed::Stop => matches!(actual, "stopped" | "exited"),
                // A card may have gone to somebody else meanwhile: wished is not running.
                _ => actual == "running",
            };
            if is_so {
                Seen::True
            } else {
                Seen::Not(format!("vast.ai tells {actual}, labelled {:?}", rental.label.unwrap_or_default()))
            }
        }
    }
}

async fn is_gone<H: Hands>(hands: &H, target: &Target) -> Seen {
    match hands.rentals().await {
        Ok(rentals) if rentals.iter().any(|rental| Some(rental.vast_id) == target.vast_id) => {
            Seen::Not("vast.ai still lists it".to_owned())
        }
        Ok(_) => Seen::True,
        Err(error) => Seen::Unknown(error.message),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]
mod tests {
    use std::cell::RefCell;

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
    }

    const FAULTS: [Fault; 7] =
        [Fault::None, Fault::Lost, Fault::Swallowed, Fault::Lied, Fault::TooOften, Fault::FailedAndDone, Fault::Failed];

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
        /// Readings that fail or tell what was before: 0 right, 1 fails, 2 old.
        readings: RefCell<Vec<u8>>,
        before: RefCell<World>,
        done: RefCell<usize>,
    }

    fn world() -> World {
        let rental = |id: u64| (id, "running".to_owned(), "C".to_owned());
        World { rentals: vec![rental(1), rental(2), rental(3)], killed: vec![], banned: vec!["99".into()] }
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
            }
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
                1 => Err(error(Code::TimedOut)),
                2 => Ok(self.before.borrow().clone()),
                _ => Ok(self.world.borrow().clone()),
            }
        }
    }

    impl Hands for Double {
        async fn send(&self, deed: &Deed, target: &Target) -> Result<(), FetchError> {
            let fault = self.faults.borrow_mut().pop().unwrap_or(Fault::None);
            if matches!(fault, Fault::None | Fault::Lost | Fault::FailedAndDone) {
                let listed = self.world.borrow().rentals.iter().any(|rental| Some(rental.0) == target.vast_id);
                if *deed == Deed::Destroy && !listed {
                    return Err(error(Code::NoSuchInstance));
                }
                self.act(deed, target);
            }
            match fault {
                Fault::None | Fault::Lied => Ok(()),
                Fault::Lost | Fault::Swallowed => Err(error(Code::VastSilent)),
                Fault::TooOften => Err(error(Code::TooOften)),
                Fault::FailedAndDone | Fault::Failed => Err(error(Code::VastFailed)),
            }
        }

        async fn rentals(&self) -> Result<Vec<SeenRental>, FetchError> {
            let seen = self.seen()?.rentals.into_iter();
            Ok(seen
                .map(|(vast_id, actual, label)| SeenRental {
                    vast_id,
                    actual: Some(actual),
                    wished: None,
                    label: Some(label),
                    machine: None,
                })
                .collect())
        }

        fn sees_rentals(&self) -> bool {
            true
        }

        async fn rows(&self) -> Result<Vec<SeenRow>, FetchError> {
            let killed = self.world.borrow().killed.clone();
            Ok((1..=3)
                .map(|id| SeenRow { uuid: Some(format!("u{id}")), vast_id: Some(id), is_killed: killed.contains(&id) })
                .collect())
        }

        async fn banned(&self) -> Result<Vec<String>, FetchError> {
            Ok(self.seen()?.banned)
        }

        async fn pause(&self, _: f64) {}

        fn now(&self) -> Timestamp {
            Timestamp::UNIX_EPOCH
        }
    }

    fn target(deed: &Deed) -> Target {
        let machine = if *deed == Deed::Unban { 99 } else { 40_001 };
        Target { id: "u1".into(), uuid: Some("u1".into()), vast_id: Some(1), machine: Some(machine), dollars_per_h: Some(0.38) }
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
            assert_eq!((phase, phases), (Phase::Verified, vec![Phase::Sent, Phase::Answered, Phase::Verified]), "{deed:?}");
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
        assert!(text.contains("vast.ai still lists it") && text.contains("0.38 dollars an hour"), "{text}");
    }

    #[test]
    fn an_answer_that_was_lost_is_not_said_again_where_it_was_done() {
        for deed in deeds() {
            let double = Double::new(vec![Fault::Lost], vec![]);
            let (phase, _, phases) = run(&double, &deed);
            assert_eq!((phase, double.done.take()), (Phase::Verified, 1), "{deed:?}");
            assert_eq!(phases, [Phase::Sent, Phase::Unanswered, Phase::Verified]);
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
            fn sees_rentals(&self) -> bool {
                true
            }
            async fn rows(&self) -> Result<Vec<SeenRow>, FetchError> {
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
            readings in prop::collection::vec(0u8..3, 0..30),
        ) {
            let deed = deeds()[which].clone();
            let double = Double::new(faults.into_iter().map(|it| FAULTS[it]).collect(), readings);
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
}
