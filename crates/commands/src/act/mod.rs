//! Acting. What is going to be done is a plan first: to whom, what it costs and saves, what is lost. A plan is carried out once, by
//! its token, on a fleet that may be acted on; every step is in the journal before the next one begins.

mod changes;
mod hands;
mod perform;
pub(crate) mod rolling;
pub(crate) mod rollout;
pub(crate) mod rules;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use dwell_fleet::{Instance, Presence, State, Timestamp, seconds_between};
use dwell_history::{ActEntry, History};
use tokio::task::JoinSet;

pub(crate) use changes::{CHANGED, GONE};
use changes::{changed, differences, others, to_be_typed};
pub(crate) use hands::{LiveHands, Renter, Watching};
pub(crate) use perform::Patience;
use perform::{Account, Deed, Hands, Target};
use perform::{Phase, look_after, perform};

use crate::ApiError;
use crate::dto::*;
use crate::keys;
use crate::select::{self, Called, is_in_full, select};
use crate::watch::Watch;

/// A token is good for so long, seconds.
const TOKEN_S: f64 = 120.0;
/// Targets of one plan.
const TARGETS_MAX: usize = 200;
/// Plans that wait to be carried out.
const PLANS_MAX: usize = 64;
/// Letters of an id that have to be typed.
const TYPED: usize = 8;
/// What goes with a rental.
const LOST: &str = "Its log files and its container's output exist only there and at vast.ai, and go with it. What the manager was sent is kept here.";
/// Entries of the journal that are told.
const ENTRIES_MOST: usize = 2_000;

/// One watch over one fleet, from its beginning to its end: what is planned in it is done in it or nowhere. Two watches over the same
/// fleet are two. Only the beginning of a watch makes one; plans and hands are made from it, and copies are the same.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    run: u64,
    fleet: String,
}

impl Scope {
    /// Of a watch over the fleet of this address that begins now.
    pub(crate) fn begin(fleet: &str) -> Self {
        static RUNS: AtomicU64 = AtomicU64::new(0);
        Self { run: RUNS.fetch_add(1, Ordering::Relaxed), fleet: fleet.to_owned() }
    }

    /// Address of its fleet, as history knows it.
    pub(crate) fn fleet(&self) -> &str {
        &self.fleet
    }

    /// Refused where the plan is of another watch.
    pub(crate) fn admits(&self, planned: &Self) -> Result<(), ApiError> {
        if (self.run, &self.fleet) == (planned.run, &planned.fleet) {
            return Ok(());
        }
        let words = format!(
            "this plan is of the fleet at {}, as it was watched then, and this is another watch: nothing was done",
            planned.fleet
        );
        Err(ApiError::new(ErrorCode::OtherFleet, words).hint("make the plan again on the fleet that is shown now"))
    }
}

/// A plan that can be carried out.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) view: PlanView,
    /// What it was made from: it is made again before it is carried out.
    pub(crate) request: PlanRequest,
    /// The manager did not answer when it was made.
    pub(crate) is_blind: bool,
    /// The watch that it was made in.
    scope: Scope,
    deed: Deed,
    targets: Vec<Target>,
    why: String,
    /// The rule that made it.
    rule: Option<String>,
    fleet: String,
    simulated: Option<String>,
}

/// What the manager tells of machines, for a plan that bans one or takes one off its list.
#[derive(Debug, Clone, Default)]
pub(crate) struct Machines {
    /// On its list of bad hosts; `None` before its first answer.
    banned: Option<Vec<String>>,
    /// Instances in its copy of vast.ai's list, killed or not, with their machines; `None` where it has none.
    billed: Option<Vec<(u64, String)>>,
}

impl Machines {
    /// As it is watched.
    pub(crate) fn of(watch: &Watch) -> Self {
        let fleet = watch.fleet();
        let billed = |it: &Instance| {
            let listed = it.presence == Presence::Listed && hands::is_on_its_list(&it.row);
            let killed = if it.state == State::Killed { " (killed, and billed on)" } else { "" };
            Some((it.row.vast.machine_id.filter(|_| listed)?.0, format!("{}{killed}", it.id())))
        };
        Self {
            banned: fleet.as_of().map(|_| watch.bad_hosts().iter().map(|host| host.machine_id.clone()).collect()),
            billed: fleet.vast_cache_age_s().map(|_| fleet.instances().filter_map(billed).collect()),
        }
    }

    /// Whether it is on the list of bad hosts; `None` where that is not known.
    fn is_banned(&self, machine: u64) -> Option<bool> {
        let is_it = |id: &String| id.trim().parse() == Ok(machine);
        self.banned.as_ref().map(|banned| banned.iter().any(is_it))
    }

    /// Who would be destroyed with it, in a sentence.
    fn ends(&self, machine: Option<u64>, view: Option<&FleetView>) -> String {
        let rows = view.map_or(&[][..], |view| &view.instances);
        let is_on_it = |row: &&InstanceRow| row.machine_id.is_some() && row.machine_id == machine && row.state != "killed";
        let mut on_it: Vec<String> = rows.iter().filter(is_on_it).map(|row| row.id.clone()).collect();
        let billed = self.billed.iter().flatten().filter(|(its, _)| Some(*its) == machine).map(|(_, id)| id.clone());
        on_it.extend(billed.filter(|id| !rows.iter().any(|row| is_on_it(&row) && row.id == *id)).collect::<Vec<_>>());
        match (&on_it[..], &self.billed) {
            ([], Some(_)) => "Nobody is on it now.".to_owned(),
            ([], None) => "Who is billed on it is not known: the manager has no list of vast.ai's.".to_owned(),
            (all, _) => format!("The manager destroys every instance on it within a minute: {}.", all.join(", ")),
        }
    }
}

/// What an instance or a rental is now, for a plan.
struct Subject {
    target: Target,
    is_now: String,
    is_killed: bool,
    is_running: bool,
}

fn of_row(row: &InstanceRow) -> Subject {
    let gpu = row.gpu_name.as_deref().unwrap_or("card not told");
    Subject {
        target: Target {
            id: row.id.clone(),
            uuid: row.uuid.clone(),
            vast_id: row.vast_id,
            machine: row.machine_id,
            dollars_per_h: row.dollars_per_h,
            ..Target::default()
        },
        is_now: format!("{}, {gpu}", row.state),
        is_killed: row.state == "killed",
        is_running: row.state == "running",
    }
}

fn called(row: &InstanceRow) -> Called {
    Called {
        id: row.id.clone(),
        vast_id: row.vast_id,
        label: row.label.clone(),
        state: row.state.clone(),
        is_alive: row.state != "killed" && row.listed,
    }
}

/// Finds whom a person means: an instance of the fleet, else a rental of the account.
fn subject(view: Option<&FleetView>, rentals: Option<&Rentals>, wanted: &str) -> Result<Subject, ApiError> {
    let wanted = wanted.trim();
    let rows = view.map_or(&[][..], |view| &view.instances);
    let rental = rentals.and_then(|all| all.rentals.iter().find(|rental| rental.vast_id.to_string() == wanted));
    match select(rows.iter().map(called), wanted) {
        Ok(place) => {
            let row = &rows[place];
            let Some(rental) = rental.filter(|_| !is_in_full(&called(row), wanted)) else { return Ok(of_row(row)) };
            let words = format!("{wanted:?} is a rental's number, and {} begins so: which of the two?", row.id);
            return Err(ApiError::new(ErrorCode::AmbiguousId, words).hint(format!("{} is rental {wanted:?}", rental.vast_id)));
        }
        Err(error) if error.code != ErrorCode::UnknownId || rental.is_none() => return Err(error),
        Err(_) => {}
    }
    rental
        .map(|rental| Subject {
            target: Target {
                id: rental.vast_id.to_string(),
                vast_id: Some(rental.vast_id),
                dollars_per_h: rental.dollars_per_h,
                ..Target::default()
            },
            is_now: format!("{} by vast.ai, no row of the manager", rental.status.as_deref().unwrap_or("not told")),
            is_killed: false,
            is_running: rental.status.as_deref() == Some("running"),
        })
        .ok_or_else(|| select::unknown(wanted))
}

/// The account that lists a rental; else why that is not known.
fn whose(rentals: Option<&Rentals>, vast_id: u64) -> Result<Account, String> {
    let accounts = rentals.map_or(&[][..], |all| &all.accounts);
    if let Some(rental) = rentals.and_then(|all| all.rentals.iter().find(|it| it.vast_id == vast_id)) {
        let number = accounts.iter().find(|it| it.name == rental.account).and_then(|it| it.number);
        return Ok(Account { name: rental.account.clone(), number });
    }
    let unread = accounts.iter().find_map(|it| {
        let why = it.error.as_ref().map(|error| error.message.clone()).or_else(|| it.incomplete.clone())?;
        Some(format!("it is not known whose rental {vast_id} is: the list of account {:?} could not be read ({why})", it.name))
    });
    let names: Vec<String> = accounts.iter().map(|it| format!("{:?}", it.name)).collect();
    Err(match (unread, &names[..]) {
        (Some(why), _) => why,
        (None, []) => "vast.ai cannot be asked: no key of an account is known".to_owned(),
        (None, names) => format!("no account that can be asked lists rental {vast_id} (asked: {})", names.join(", ")),
    })
}

/// What would be done. Nothing is done, and nothing is asked of anybody but what is known already: `rentals` of the accounts that can
/// be asked, `None` where there are none or none is needed.
pub(crate) fn plan(
    scope: &Scope,
    view: Option<&FleetView>,
    rentals: Option<&Rentals>,
    machines: &Machines,
    request: &PlanRequest,
    read_only: bool,
) -> Result<Plan, ApiError> {
    let bad = |message: String| ApiError::new(ErrorCode::BadRequest, message);
    let text = request.text.as_deref().map(str::trim).filter(|text| !text.is_empty());
    let deed = Deed::named(&request.deed, text).ok_or_else(|| match request.deed.as_str() {
        "label" | "ban" => bad(format!("{} needs a text: the label, the reason", request.deed)),
        other => bad(format!("{other:?} is nothing that can be done"))
            .hint("there are: kill, destroy, stop, start, reboot, label, ban, unban"),
    })?;
    if request.ids.is_empty() || request.ids.len() > TARGETS_MAX {
        return Err(bad(format!("a plan has 1 to {TARGETS_MAX} targets; these are {}", request.ids.len())));
    }
    let mut seen: HashSet<String> = HashSet::new();
    let (mut steps, mut targets) = (Vec::new(), Vec::new());
    for wanted in &request.ids {
        // Where machines are meant, digits that are no instance's in full are a machine's, and no beginning of an id.
        let of_machine = matches!(deed, Deed::Ban(_) | Deed::Unban) && !view.is_some_and(|view| is_known(view, wanted));
        let subject = match wanted.trim().parse::<u64>() {
            Ok(machine) if of_machine => Subject {
                target: Target { id: format!("machine {machine}"), machine: Some(machine), ..Target::default() },
                is_now: "a machine".to_owned(),
                is_killed: false,
                is_running: false,
            },
            _ => subject(view, rentals, wanted)?,
        };
        if !seen.insert(subject.target.id.clone()) {
            continue;
        }
        let mut subject = subject;
        let owner = match subject.target.vast_id {
            Some(vast_id) if deed.is_of_rental() => Some(whose(rentals, vast_id)),
            _ => None,
        };
        scope.fleet().clone_into(&mut subject.target.fleet);
        subject.target.account = owner.as_ref().and_then(|it| it.as_ref().ok().cloned());
        let step = step(&deed, &subject, owner.and_then(Result::err), (view, request.ids.len()), machines);
        if step.refused.is_none() {
            targets.push(subject.target);
        }
        steps.push(step);
    }
    // In read-only mode that comes first.
    if deed == Deed::Unban && !read_only && targets.is_empty() && steps.iter().all(|it| it.refused.is_some()) {
        let why = steps.first().and_then(|it| it.refused.clone()).unwrap_or_default();
        return Err(ApiError::new(ErrorCode::NotBanned, why).hint("dwellctl bad-hosts shows the list"));
    }
    let prices: Vec<f64> = targets.iter().filter_map(|target| target.dollars_per_h).collect();
    let saves = match deed {
        Deed::Kill | Deed::Destroy | Deed::Stop if !prices.is_empty() => Some(prices.iter().fold(0.0, |sum, price| sum + price)),
        Deed::Start if !prices.is_empty() => Some(-prices.iter().fold(0.0, |sum, price| sum + price)),
        _ => None,
    };
    let confirm_with = match (&targets[..], deed.is_destructive()) {
        (_, false) | ([], _) => None,
        ([only], true) => {
            let id = if deed.is_of_rental() { to_be_typed(only, view) } else { only.id.clone() };
            Some(id.chars().take(if id.starts_with("machine") { 40 } else { TYPED }).collect())
        }
        (several, true) => Some(format!("{} {}", deed.as_str(), several.len())),
    };
    let watching = view.map(|view| &view.watching);
    let is_blind = view.is_some_and(|view| view.connection.state != "ok");
    let mut sentence = sentence(&deed, targets.len(), steps.len(), saves);
    if is_blind {
        sentence.push_str(" The manager does not answer: this is by what was seen last.");
    }
    let view = PlanView {
        token: None,
        deed: deed.as_str().to_owned(),
        sentence,
        steps,
        saves_dollars_per_h: saves,
        destructive: deed.is_destructive(),
        confirm_with,
        read_only,
    };
    Ok(Plan {
        view,
        request: request.clone(),
        is_blind,
        scope: scope.clone(),
        deed,
        targets,
        why: request.why.clone().unwrap_or_default(),
        rule: None,
        fleet: watching.map_or_else(|| "vast.ai".to_owned(), |it| it.address.clone()),
        simulated: watching.and_then(|it| it.simulated.clone()),
    })
}

fn step(
    deed: &Deed,
    subject: &Subject,
    is_nobodys: Option<String>,
    (view, together): (Option<&FleetView>, usize),
    machines: &Machines,
) -> PlanStep {
    let target = &subject.target;
    let price = target.dollars_per_h.map(|dollars| format!(" ({dollars:.2} dollars an hour)")).unwrap_or_default();
    let needs_rental = || match target.vast_id {
        None => Some("vast.ai's number of it is not known".to_owned()),
        Some(_) => is_nobodys.clone(),
    };
    let (what, refused) = match deed {
        Deed::Kill => (
            format!(
                "The manager marks it killed and has its rental destroyed{price}. Whether that happens is looked at afterwards{}.",
                match (&is_nobodys, target.vast_id) {
                    (Some(why), _) => format!(", by the manager's own lists alone: {why}"),
                    (None, None) => format!(", by the manager's own lists alone: {}", perform::NO_NUMBER),
                    (None, Some(_)) => String::new(),
                }
            ),
            match (&target.uuid, subject.is_killed) {
                (None, _) => Some("the manager has given it no id yet: destroy its rental instead".to_owned()),
                (_, true) => Some("it is killed already; if it is still billed, destroy its rental".to_owned()),
                _ => None,
            },
        ),
        Deed::Destroy => (
            format!("vast.ai destroys its rental with its disk{price}. The manager finds it gone within a minute."),
            needs_rental(),
        ),
        Deed::Stop => (
            "Its container stops. Its disk is billed on, and its card can go to somebody else: it may not start again."
                .to_owned(),
            needs_rental(),
        ),
        Deed::Start => ("Its container is started, as soon as its card is free.".to_owned(), needs_rental()),
        Deed::Reboot => (
            format!(
                "Its container is stopped and started{}. The image is not fetched anew: a fix to it does not reach it so.",
                if subject.is_running { "; the proof that it computes is lost" } else { "" }
            ),
            needs_rental(),
        ),
        Deed::Label(label) => (
            format!("vast.ai labels it {label:?}. The manager finds its row by the label: another one than its own cuts it off."),
            needs_rental(),
        ),
        Deed::Ban(reason) => {
            let ends = machines.ends(target.machine, view);
            let machine = target.machine.map(|id| id.to_string()).unwrap_or_default();
            let refused = target.machine.is_none().then(|| "its machine is not known".to_owned());
            (format!("Machine {machine} goes on the manager's list of bad hosts ({reason}). {ends}"), refused)
        }
        Deed::Unban => {
            let machine = target.machine.map(|id| id.to_string()).unwrap_or_default();
            let refused = match target.machine.map(|machine| machines.is_banned(machine)) {
                None => Some("its machine is not known".to_owned()),
                Some(Some(false)) => Some(not_banned(&machine)),
                Some(_) => None,
            };
            (format!("Machine {machine} goes off the manager's list of bad hosts: it can be rented again."), refused)
        }
    };
    let goes = deed.is_destructive() && !subject.is_killed && target.vast_id.is_some();
    let others = if deed.is_of_rental() { others(target, view) } else { Vec::new() };
    let named = || {
        let named: Vec<String> = others.iter().map(|row| format!("{} ({})", row.id, row.state)).collect();
        named.join(", ")
    };
    let shared = !others.is_empty();
    let warning = shared.then(|| {
        format!(
            "The manager lists rental {} also as {}: it is one machine, and this hits it whichever row is meant.",
            target.vast_id.unwrap_or_default(),
            named()
        )
    });
    // Among several nobody would read it.
    let together = (shared && deed.is_destructive() && together > 1)
        .then(|| format!("its rental is also that of {}: do it alone, where it is confirmed with the living one's id", named()));
    let refused = refused.or(together);
    PlanStep {
        warning,
        id: target.id.clone(),
        is_now: subject.is_now.clone(),
        what,
        lost: goes.then(|| LOST.to_owned()),
        refused,
        dollars_per_h: target.dollars_per_h,
        account: target.account.as_ref().map(|it| it.name.clone()),
    }
}

fn not_banned(machine: &str) -> String {
    format!("machine {machine} is not on the manager's list of bad hosts: there is nothing to take off")
}

fn sentence(deed: &Deed, targets: usize, steps: usize, saves: Option<f64>) -> String {
    let what = match deed {
        Deed::Kill => "Kill",
        Deed::Destroy => "Destroy the rental of",
        Deed::Stop => "Stop",
        Deed::Start => "Start",
        Deed::Reboot => "Reboot",
        Deed::Label(_) => "Label",
        Deed::Ban(_) => "Ban the machine of",
        Deed::Unban => "Unban the machine of",
    };
    let mut words = format!("{what} {targets} {}", if targets == 1 { "instance" } else { "instances" });
    if steps > targets {
        words.push_str(&format!(", {} left out", steps - targets));
    }
    match saves {
        Some(saves) if saves >= 0.0 => words.push_str(&format!("; saves {saves:.2} dollars an hour")),
        Some(costs) => words.push_str(&format!("; costs {:.2} dollars an hour", -costs)),
        None => {}
    }
    words.push('.');
    words
}

/// Whether a fleet may be acted on, asked of what was set: the one way to get it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leave(());

impl Leave {
    /// Refused where the fleet is read-only.
    pub(crate) fn of(may_act: bool) -> Result<Self, ApiError> {
        if may_act {
            return Ok(Self(()));
        }
        Err(ApiError::new(ErrorCode::ReadOnly, "this fleet is read-only: nothing is done to it")
            .hint("switch it off in the window's status line, or: dwellctl fleets allow-acting NAME"))
    }
}

/// The journal, in a file or in memory.
pub(crate) type Journal = Arc<Mutex<History>>;

/// Plans that wait, and what is under way in this process.
#[derive(Debug, Default)]
pub(crate) struct Acting {
    waiting: Mutex<HashMap<String, (Timestamp, Plan)>>,
    begun: Mutex<Vec<String>>,
    rollouts: Mutex<HashMap<String, (Timestamp, rolling::Planned)>>,
    /// Rollouts whose steps are taken here.
    running: Arc<Mutex<HashSet<String>>>,
}

fn locked<T>(it: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

fn token() -> Result<String, ApiError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| ApiError::new(ErrorCode::NoRandomness, format!("the system gives no random numbers: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

impl Acting {
    /// Keeps a plan until it is carried out, and gives it with its token.
    pub(crate) fn keep(&self, plan: Plan, now: Timestamp) -> Result<PlanView, ApiError> {
        if plan.view.read_only || plan.targets.is_empty() {
            return Ok(plan.view);
        }
        let token = token()?;
        let mut waiting = locked(&self.waiting);
        waiting.retain(|_, (at, _)| seconds_between(*at, now) < TOKEN_S);
        if waiting.len() >= PLANS_MAX {
            return Err(
                ApiError::new(ErrorCode::TooManyPlans, "too many plans wait to be carried out").hint("try again in two minutes")
            );
        }
        let view = PlanView { token: Some(token.clone()), ..plan.view.clone() };
        waiting.insert(token, (now, plan));
        Ok(view)
    }

    /// Ends what waits: the watch that it was planned in has ended.
    pub(crate) fn end_waiting(&self) {
        locked(&self.waiting).clear();
        locked(&self.rollouts).clear();
    }

    /// Takes a plan out by its token: nobody gets it a second time.
    pub(crate) fn take(&self, request: &CarryOut, now: Timestamp) -> Result<Plan, ApiError> {
        let mut waiting = locked(&self.waiting);
        let gone = || {
            ApiError::new(
                GONE,
                "this plan was carried out already, is older than two minutes, or is of a fleet that was watched before",
            )
            .hint("make it again: the fleet may have changed")
        };
        let (at, plan) = waiting.get(&request.token).ok_or_else(gone)?;
        if seconds_between(*at, now) >= TOKEN_S {
            waiting.remove(&request.token);
            return Err(gone());
        }
        let typed = request.confirmation.as_deref().map(str::trim);
        if plan.view.confirm_with.as_deref().is_some_and(|wanted| typed != Some(wanted)) {
            let wanted = plan.view.confirm_with.clone().unwrap_or_default();
            return Err(ApiError::new(ErrorCode::NotConfirmed, format!("to confirm this, type {wanted:?}")));
        }
        let (_, plan) = waiting.remove(&request.token).ok_or_else(gone)?;
        // A reason goes into the journal with it; what is done to whom is what was shown.
        let why = request.why.as_deref().map(str::trim).filter(|why| !why.is_empty()).map(str::to_owned);
        Ok(Plan { why: why.unwrap_or_else(|| plan.why.clone()), ..plan })
    }

    /// Begins to carry out a plan; gives what is under way. What somebody does anything to already is left out.
    pub(crate) fn begin(
        &self,
        _leave: Leave,
        plan: Plan,
        hands: &LiveHands,
        journal: &Journal,
        patience: Patience,
    ) -> Result<JoinSet<()>, ApiError> {
        hands.scope().admits(&plan.scope)?;
        let (name, who, process) = (token()?, who(), this_process());
        locked(&self.begun).push(name.clone());
        let mut tasks = JoinSet::new();
        for target in plan.targets {
            let entry = ActEntry {
                id: 0,
                plan: name.clone(),
                at: hands.now(),
                who: who.clone(),
                process: process.clone(),
                why: plan.why.clone(),
                rule: plan.rule.clone(),
                fleet: plan.fleet.clone(),
                simulated: plan.simulated.clone(),
                deed: plan.deed.as_str().to_owned(),
                deed_text: match &plan.deed {
                    Deed::Label(text) | Deed::Ban(text) => Some(text.clone()),
                    _ => None,
                },
                target: target.id.clone(),
                uuid: target.uuid.clone(),
                vast_id: target.vast_id,
                machine: target.machine,
                account: target.account.as_ref().map(|it| it.name.clone()),
                account_number: target.account.as_ref().and_then(|it| it.number),
                dollars_per_h: target.dollars_per_h,
                phase: "planned".to_owned(),
                text: plan.view.sentence.clone(),
            };
            // What cannot be written down is not done, nor what is done to it already: here or by another process.
            if !locked(journal).begin_act(&entry, goes_on)? {
                continue;
            }
            let (hands, deed, journal) = (hands.clone(), plan.deed.clone(), Arc::clone(journal));
            tasks.spawn(async move {
                let clock = hands.clock.clone();
                perform(&hands, (&deed, &target), patience, &mut writer(&entry, &journal, move || clock.now())).await;
            });
        }
        if tasks.is_empty() {
            return Err(ApiError::new(ErrorCode::UnderWay, "something is being done to all of this already")
                .hint("the journal shows what, and how far it is"));
        }
        Ok(tasks)
    }
}

impl Acting {
    /// Names of the plans that were begun here.
    pub(crate) fn begun(&self) -> Vec<String> {
        locked(&self.begun).clone()
    }
}

/// This process, as others can find it: its number and when it began, seconds since the epoch.
fn this_process() -> String {
    let number = std::process::id();
    let began = began(number).unwrap_or(0);
    format!("{number} {began}")
}

fn began(number: u32) -> Option<u64> {
    let number = sysinfo::Pid::from_u32(number);
    let mut system = sysinfo::System::new();
    system.refresh_processes(sysinfo::ProcessesToUpdate::Some(&[number]), true);
    // One that has ended and that nobody has asked after is still listed.
    let ended = |it: &&sysinfo::Process| matches!(it.status(), sysinfo::ProcessStatus::Zombie | sysinfo::ProcessStatus::Dead);
    system.process(number).filter(|it| !ended(it)).map(sysinfo::Process::start_time)
}

/// Whether a process of the journal is still there; another one of its number is another one.
fn goes_on(process: &str) -> bool {
    let mut parts = process.split(' ');
    let number = parts.next().and_then(|number| number.parse().ok());
    let then = parts.next().and_then(|then| then.parse::<u64>().ok());
    // The clock that both are read from may be off by one.
    number.and_then(began).zip(then).is_some_and(|(now, then)| now.abs_diff(then) <= 1)
}

/// Writes each step of a deed into the journal.
fn writer<'a>(entry: &'a ActEntry, journal: &'a Journal, now: impl Fn() -> Timestamp + 'a) -> impl FnMut(Phase, &str) + 'a {
    move |phase, text| {
        let step = ActEntry { at: now(), phase: phase.as_str().to_owned(), text: text.to_owned(), ..entry.clone() };
        if let Err(error) = locked(journal).add_act(&step) {
            tracing::error!(%error, "a step is not in the journal: {} {}: {text}", entry.deed, entry.target);
        }
    }
}

/// Before the process of a deed that is only looked after: it can be wished for again.
const LOOKED_AFTER_BY: &str = "looks ";

/// Whether nobody is at a deed of the journal, or looks after it.
fn is_left(entry: &ActEntry) -> bool {
    !goes_on(entry.process.strip_prefix(LOOKED_AFTER_BY).unwrap_or(&entry.process))
}

/// Whether a process has left something under way on this fleet that nobody looks after.
pub(crate) fn has_left(journal: &Journal, fleet: &str) -> Result<bool, ApiError> {
    Ok(locked(journal).open_acts()?.iter().any(|entry| entry.fleet == fleet && is_left(entry)))
}

/// Looks after what an earlier process left under way on this fleet: it is not sent again, but what came of it is told. One process
/// does so, until it ends. What it cannot see come true is left to another one.
pub(crate) async fn resume(hands: LiveHands, journal: Journal, fleet: &str, patience: Patience) {
    let process = format!("{LOOKED_AFTER_BY}{}", this_process());
    let asks_vast = !hands.vast.is_empty();
    // Asked of the accounts only where something was left.
    let accounts = match has_left(&journal, fleet) {
        Ok(true) => hands.accounts().await,
        _ => Vec::new(),
    };
    let can_tell = |entry: &ActEntry| match entry.deed.as_str() {
        "ban" | "unban" => true,
        // The account that had listed the rental shows that it is gone, and no other.
        _ if entry.account.is_some() => account_of(entry, &accounts).is_some(),
        // Without vast.ai's word two lists of the manager's have to agree, which come a minute apart.
        "kill" => asks_vast || !patience.leaves_open,
        _ => asks_vast,
    };
    let left = match locked(&journal).take_over_acts(fleet, &process, |entry| can_tell(entry) && is_left(entry)) {
        Ok(left) => left,
        Err(error) => {
            tracing::error!(%error, "the journal cannot be read");
            return;
        }
    };
    // One that cannot be seen to end does not hold up the others.
    let mut tasks = JoinSet::new();
    for entry in left {
        let account = account_of(&entry, &accounts);
        tasks.spawn(one_left(hands.clone(), Arc::clone(&journal), (entry, account), patience));
    }
    while tasks.join_next().await.is_some() {}
}

/// The account of a deed among those that can be asked: by vast.ai's number, for names get other keys. A key of the environment's has
/// no name of its own.
fn account_of(entry: &ActEntry, accounts: &[Account]) -> Option<Account> {
    let name = entry.account.as_deref()?;
    let is_it = |it: &&Account| match entry.account_number {
        Some(number) => it.number == Some(number),
        None => it.name == name && name != keys::OF_ENVIRONMENT,
    };
    accounts.iter().find(is_it).cloned()
}

async fn one_left(hands: LiveHands, journal: Journal, (entry, account): (ActEntry, Option<Account>), patience: Patience) {
    let Some(deed) = Deed::named(&entry.deed, entry.deed_text.as_deref()) else { return };
    let target = Target {
        fleet: entry.fleet.clone(),
        id: entry.target.clone(),
        uuid: entry.uuid.clone(),
        vast_id: entry.vast_id,
        machine: entry.machine,
        account,
        dollars_per_h: entry.dollars_per_h,
    };
    let clock = hands.clock.clone();
    look_after(&hands, (&deed, &target), entry.at, patience, &mut writer(&entry, &journal, move || clock.now())).await;
}

/// The user's name on this machine, for the journal.
fn who() -> String {
    ["USER", "LOGNAME", "USERNAME"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|name| !name.is_empty()))
        .unwrap_or_else(|| "not told".to_owned())
}

/// Whether a person's word is of an instance of the fleet. What only begins so could be a rental's number in full.
pub(crate) fn is_known(view: &FleetView, wanted: &str) -> bool {
    let is_number = wanted.trim().parse::<u64>().is_ok();
    select(view.instances.iter().map(called), wanted)
        .is_ok_and(|place| !is_number || is_in_full(&called(&view.instances[place]), wanted))
}

/// What a journal tells.
pub(crate) fn told_of(journal: &Journal) -> Result<Vec<ActView>, ApiError> {
    told(&locked(journal))
}

/// What the journal tells, deed by deed, the newest first.
pub(crate) fn told(journal: &History) -> Result<Vec<ActView>, ApiError> {
    let mut order: Vec<(String, String)> = Vec::new();
    let mut by_deed: HashMap<(String, String), Vec<ActEntry>> = HashMap::new();
    for entry in journal.acts(ENTRIES_MOST)? {
        let key = (entry.plan.clone(), entry.target.clone());
        if !by_deed.contains_key(&key) {
            order.push(key.clone());
        }
        by_deed.entry(key).or_default().push(entry);
    }
    let view = |entries: Vec<ActEntry>| {
        let (first, last) = (entries.first()?, entries.last()?);
        Some(ActView {
            plan: first.plan.clone(),
            deed: first.deed.clone(),
            deed_text: first.deed_text.clone(),
            target: first.target.clone(),
            account: first.account.clone(),
            who: first.who.clone(),
            why: first.why.clone(),
            fleet: first.fleet.clone(),
            simulated: first.simulated.is_some(),
            phase: last.phase.clone(),
            done: Phase::ends(&last.phase),
            text: last.text.clone(),
            planned_at: first.at,
            at: last.at,
            steps: entries.iter().map(|it| ActStep { at: it.at, phase: it.phase.clone(), text: it.text.clone() }).collect(),
        })
    };
    Ok(order.into_iter().rev().filter_map(|key| view(by_deed.remove(&key)?)).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::drive::Clock;

    fn hands(scope: &Scope) -> LiveHands {
        LiveHands::of(scope.clone(), None, Vec::new(), Clock::System)
    }

    fn ban(scope: &Scope, machine: u64) -> Plan {
        let request = PlanRequest { deed: "ban".into(), ids: vec![machine.to_string()], text: Some("slow".into()), why: None };
        plan(scope, None, None, &Machines::default(), &request, false).unwrap()
    }

    proptest! {
        /// Whatever is watched, planned and carried out in whatever order: only the plan of the watch that acts is begun, and where its
        /// address is the same as an earlier watch's, not that one's.
        #[test]
        fn a_plan_is_carried_out_in_its_own_watch_or_nowhere(
            steps in prop::collection::vec((0u8..3, 0usize..8), 1..24),
            are_ended in any::<bool>(),
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let _runtime = runtime.enter();
            let acting = Acting::default();
            let journal: Journal = Arc::new(Mutex::new(History::in_memory().unwrap()));
            let fleets = ["http://a", "http://b"];
            let now = Timestamp::UNIX_EPOCH;
            let (mut watch, mut which) = (0, Scope::begin(fleets[0]));
            let mut planned: Vec<(usize, PlanView, u64)> = Vec::new();
            let mut begun = HashSet::new();
            for (nth, (step, pick)) in steps.into_iter().enumerate() {
                let machine = nth as u64 + 1;
                match step {
                    0 => {
                        (watch, which) = (watch + 1, Scope::begin(fleets[pick % 2]));
                        if are_ended {
                            acting.end_waiting();
                        }
                    }
                    1 => planned.push((watch, acting.keep(ban(&which, machine), now).unwrap(), machine)),
                    _ if planned.is_empty() => {}
                    _ => {
                        let (its, view, machine) = planned[pick % planned.len()].clone();
                        let request = CarryOut { token: view.token.unwrap(), confirmation: view.confirm_with, why: None };
                        let took = acting.take(&request, now).and_then(|plan| {
                            acting.begin(Leave::of(true).unwrap(), plan, &hands(&which), &journal, Patience::default())
                        });
                        match took {
                            Ok(_) => {
                                prop_assert_eq!(its, watch);
                                prop_assert!(begun.insert(machine), "once");
                            }
                            Err(error) if its != watch => {
                                prop_assert!(error.code == ErrorCode::OtherFleet || error.code == ErrorCode::PlanGone, "{}", error);
                            }
                            Err(error) => prop_assert!(error.code == ErrorCode::PlanGone && begun.contains(&machine), "{}", error),
                        }
                    }
                }
            }
            let written: HashSet<u64> = locked(&journal).acts(1_000).unwrap().into_iter().filter_map(|it| it.machine).collect();
            prop_assert_eq!(written, begun);
        }
    }
}
