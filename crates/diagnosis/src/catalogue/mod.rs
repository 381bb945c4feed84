//! The catalogue: one entry a cause, with what it makes each channel show.
//!
//! Adding a cause is adding one entry. Its figures are judgements, to be replaced by counts: how common a cause is (C, O, R of
//! the failure catalogue) and how often it shows a fact. `source` says where the cause is known from.

mod bench;
mod boot;
mod daemon;
mod gpu;
mod host;
mod image;
mod manager;
mod network;
mod params;
mod resources;
mod run;
mod silence;
mod status;
mod vast;

use std::collections::HashMap;
use std::sync::OnceLock;

use dwell_fleet::State;

use crate::fact::{self, Fact};

/// In every state.
const ANY: &[Phase] = &[];
/// It always shows.
const A: f32 = 0.97;
/// A fact that a cause shows so many times as often as others do is its own.
const OWN_TIMES: f32 = 4.0;

/// It usually shows.
const U: f32 = 0.85;
/// It shows about half of the time.
const O: f32 = 0.5;
/// It shows now and then.
const S: f32 = 0.2;
/// It never shows.
const N: f32 = 0.001;

/// States as the catalogue speaks of them: `Vanished` is a row that the manager stopped listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Rented, not registered.
    Loading,
    /// Fetching parameters.
    Registered,
    /// Benchmarking.
    ParamsDone,
    /// Benchmarked, not running.
    BenchDone,
    /// Proving.
    Running,
    /// Killed by the manager.
    Killed,
    /// Not listed any more, without having been killed.
    Vanished,
}

use Phase::{BenchDone, Killed, Loading, ParamsDone, Registered, Running, Vanished};

impl Phase {
    /// The stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Loading => "loading",
            Self::Registered => "registered",
            Self::ParamsDone => "params_done",
            Self::BenchDone => "bench_done",
            Self::Running => "running",
            Self::Killed => "killed",
            Self::Vanished => "vanished",
        }
    }

    /// The state that it is, where it is one.
    pub fn state(self) -> Option<State> {
        Some(match self {
            Self::Loading => State::Loading,
            Self::Registered => State::Registered,
            Self::ParamsDone => State::ParamsDone,
            Self::BenchDone => State::BenchDone,
            Self::Running => State::Running,
            Self::Killed => State::Killed,
            Self::Vanished => return None,
        })
    }

    /// The phase of an instance.
    pub fn of(state: &State, listed: bool) -> Option<Self> {
        Some(match state {
            State::Killed => Killed,
            _ if !listed => Vanished,
            State::Loading => Loading,
            State::Registered => Registered,
            State::ParamsDone => ParamsDone,
            State::BenchDone => BenchDone,
            State::Running => Running,
            State::Unknown(_) => return None,
        })
    }
}

/// How common a cause is on cheap rented hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Common {
    /// Often met.
    Common,
    /// Met now and then.
    Occasional,
    /// Seldom met.
    Rare,
}

impl Common {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Common => "common",
            Self::Occasional => "occasional",
            Self::Rare => "rare",
        }
    }

    /// Weight in the prior.
    pub(crate) fn weight(self) -> f64 {
        match self {
            Self::Common => 1.0,
            Self::Occasional => 0.35,
            Self::Rare => 0.12,
        }
    }
}

/// What a cause does to the work, and so to the signs that any trouble has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The work stops.
    Stops,
    /// The work is slower.
    Slows,
    /// The work goes on and cannot be seen.
    Hides,
    /// Nothing is wrong with the work.
    Harmless,
    /// The instance has been ended.
    Ends,
}

impl Effect {
    fn shows(self) -> &'static [(Fact, f32)] {
        use fact::{
            GPU_IDLE, KILLED_BENCHMARK_TIMEOUT, KILLED_PARAMS_TIMEOUT, KILLED_RATE_LOW, LATE, LOG_SILENT, PROOFS_SLOW,
            STANDS_LONG, WORK_GOES_ON,
        };
        match self {
            Self::Stops => &[
                (LATE, 0.5),
                (LOG_SILENT, 0.88),
                (WORK_GOES_ON, 0.02),
                (GPU_IDLE, 0.85),
                (STANDS_LONG, 0.75),
                (KILLED_BENCHMARK_TIMEOUT, 0.6),
                (KILLED_PARAMS_TIMEOUT, 0.6),
            ],
            Self::Slows => &[
                (LATE, 0.6),
                (LOG_SILENT, 0.05),
                (WORK_GOES_ON, 0.97),
                (GPU_IDLE, 0.1),
                (PROOFS_SLOW, 0.7),
                (STANDS_LONG, 0.03),
                (KILLED_BENCHMARK_TIMEOUT, 0.5),
                (KILLED_PARAMS_TIMEOUT, 0.5),
            ],
            Self::Hides => &[
                (LATE, 0.15),
                (LOG_SILENT, 0.95),
                (WORK_GOES_ON, 0.97),
                (GPU_IDLE, 0.08),
                (STANDS_LONG, 0.03),
                (KILLED_BENCHMARK_TIMEOUT, 0.1),
                (KILLED_PARAMS_TIMEOUT, 0.1),
                (KILLED_RATE_LOW, 0.002),
            ],
            Self::Harmless => &[
                (LATE, 0.1),
                (LOG_SILENT, 0.04),
                (WORK_GOES_ON, 0.96),
                (GPU_IDLE, 0.08),
                (STANDS_LONG, 0.03),
                (KILLED_BENCHMARK_TIMEOUT, 0.08),
                (KILLED_PARAMS_TIMEOUT, 0.08),
                (KILLED_RATE_LOW, 0.002),
            ],
            Self::Ends => &[],
        }
    }
}

/// What to do about a cause, in kinds: causes with the same remedy need not be told apart before acting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Act {
    /// Nothing, or wait.
    Wait,
    /// Destroy it and rent another machine.
    Replace,
    /// Mend the image, then replace.
    MendImage,
    /// Mend something inside the instance.
    MendInstance,
    /// Mend the manager or what it runs.
    MendManager,
    /// See to the account at vast.ai.
    MendAccount,
    /// Destroy by vast.ai's own interface: it costs money.
    Destroy,
    /// Mend Dwell's own way of looking.
    MendObserver,
}

impl Act {
    /// A word or two.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Replace => "replace",
            Self::MendImage => "mend the image",
            Self::MendInstance => "mend the instance",
            Self::MendManager => "mend the manager",
            Self::MendAccount => "see to the account",
            Self::Destroy => "destroy at vast.ai",
            Self::MendObserver => "mend the way of looking",
        }
    }
}

/// An entry of the catalogue.
#[derive(Debug, Clone, Copy)]
pub struct Cause {
    /// Stable kebab-case id.
    pub id: &'static str,
    /// What is the matter, in a few words.
    pub title: &'static str,
    /// States it can hold an instance in; every state where empty.
    pub states: &'static [Phase],
    /// How common.
    pub common: Common,
    /// What it does to the work.
    pub effect: Effect,
    /// How often it shows a fact. What is not listed is as frequent as anywhere.
    pub shows: &'static [(Fact, f32)],
    /// Sets of facts of which any one, seen whole, proves it: nothing else in the catalogue shows them together.
    pub confirmed_by: &'static [&'static [Fact]],
    /// What happens, in a sentence or two.
    pub what: &'static str,
    /// Kind of remedy.
    pub act: Act,
    /// The remedy.
    pub remedy: &'static str,
    /// Where it is known from.
    pub source: &'static str,
    /// It explains something that Dwell watches. The others explain what the manager's own page shows.
    pub ranked: bool,
}

const fn cause(id: &'static str, title: &'static str, states: &'static [Phase], common: Common, effect: Effect) -> Cause {
    Cause {
        id,
        title,
        states,
        common,
        effect,
        shows: &[],
        confirmed_by: &[],
        what: "",
        act: Act::Wait,
        remedy: "",
        source: "",
        ranked: true,
    }
}

impl Cause {
    const fn shows(mut self, shows: &'static [(Fact, f32)]) -> Self {
        self.shows = shows;
        self
    }

    const fn proof(mut self, sets: &'static [&'static [Fact]]) -> Self {
        self.confirmed_by = sets;
        self
    }

    const fn what(mut self, what: &'static str) -> Self {
        self.what = what;
        self
    }

    const fn remedy(mut self, act: Act, remedy: &'static str) -> Self {
        self.act = act;
        self.remedy = remedy;
        self
    }

    const fn source(mut self, source: &'static str) -> Self {
        self.source = source;
        self
    }

    const fn unranked(mut self) -> Self {
        self.ranked = false;
        self
    }

    /// It can hold an instance in this phase.
    pub fn fits(&self, phase: Phase) -> bool {
        self.states.is_empty() || self.states.contains(&phase)
    }

    /// How often it shows each fact that it says something of: its own entries first, then those of its effect.
    pub fn all_shown(&self) -> impl Iterator<Item = (Fact, f32)> {
        let own = self.shows;
        let of_effect = self.effect.shows().iter().filter(move |(fact, _)| !own.iter().any(|(known, _)| known == fact));
        own.iter().chain(of_effect).copied()
    }

    /// Something is seen that it shows much more often than others do.
    pub fn shows_itself(&self, holds: impl Fn(Fact) -> bool) -> bool {
        self.shows.iter().any(|(fact, often)| *often >= OWN_TIMES * fact.kind().usual && holds(*fact))
    }

    /// How often it shows this fact.
    pub fn likelihood(&self, fact: Fact) -> f32 {
        self.all_shown().find(|(known, _)| *known == fact).map_or(fact.kind().usual, |(_, often)| often)
    }
}

/// Still within what is normal.
pub const NOT_STUCK_YET: &str = "not-stuck-yet";
/// Nothing in the catalogue.
pub const NOT_IN_CATALOGUE: &str = "not-in-the-catalogue";
/// Dwell's own link, clock or parser.
pub const OBSERVER_FAULT: &str = "observer-fault";

const NULL: &[Cause] = &[
    cause(
        NOT_STUCK_YET,
        "Nothing is wrong (yet)",
        &[Loading, Registered, ParamsDone, BenchDone, Running],
        Common::Common,
        Effect::Harmless,
    )
    .shows(&[(fact::PROOFS_SLOW, 0.03), (fact::LOG_SILENT, 0.02)])
    .what("Its dwell and its signs are within what is normal. A benchmark takes 26 to 39 minutes by the manager's own comment.")
    .remedy(Act::Wait, "Wait until it is late, and look again then.")
    .source("manager source: comment above the 45-minute timer"),
    cause(OBSERVER_FAULT, "Dwell cannot see, not the instance cannot speak", ANY, Common::Rare, Effect::Harmless)
        .shows(&[(fact::MANAGER_UNREACHABLE, 0.9)])
        .what("Dwell's own line to the manager, its clock or its reading is at fault. Everything behind it may be well.")
        .remedy(Act::MendObserver, "Look at the connection first (dwellctl doctor): what is shown is as old as it says.")
        .source("failure catalogue 2.A; vast-ai/vast-cli#405"),
];

/// Every cause, by place and then as the failure catalogue lists them.
pub fn causes() -> &'static [Cause] {
    static ALL: OnceLock<Vec<Cause>> = OnceLock::new();
    ALL.get_or_init(|| {
        [
            NULL,
            host::CAUSES,
            image::CAUSES,
            boot::CAUSES,
            network::CAUSES,
            params::CAUSES,
            daemon::CAUSES,
            gpu::CAUSES,
            resources::CAUSES,
            bench::CAUSES,
            run::CAUSES,
            silence::CAUSES,
            manager::CAUSES,
            vast::CAUSES,
            status::CAUSES,
        ]
        .concat()
    })
}

/// The cause with this id. `not-in-the-catalogue` has none: it is what is left over.
pub fn cause_of(id: &str) -> Option<&'static Cause> {
    static BY_ID: OnceLock<HashMap<&'static str, usize>> = OnceLock::new();
    let by_id = BY_ID.get_or_init(|| causes().iter().enumerate().map(|(place, cause)| (cause.id, place)).collect());
    by_id.get(id).and_then(|place| causes().get(*place))
}
