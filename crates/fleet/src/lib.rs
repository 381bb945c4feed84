//! The domain: what a manager said over time, how long each instance has dwelt in each state, how long is usual for its
//! kind, and which instances deserve a look.
//!
//! Everything here is a plain function of its arguments, time included: no I/O, no clock, no randomness, no JSON. It
//! cannot fail and it cannot wait. All times in this crate are on the **manager's clock** unless a name says otherwise,
//! so a wrong clock on the operator's machine changes no dwell.

mod condition;
mod cost;
mod expect;
mod flag;
mod id;
mod kaplan_meier;
mod ledger;
mod life;
mod lifecycle;
mod logs;
pub mod look;
pub mod over_time;
mod plausible;
mod progress;
mod rental;
mod secret;
mod shown;
mod snapshot;
mod survival;
mod track;
pub mod words;

pub use condition::{Condition, ConditionKind, ListNews, NotStored, Outlook, Severity, conditions};
pub use cost::{Money, Part, StateCounts, money, state_counts};
pub use expect::{Expectation, ExpectationBase, Expectations, Kind, MINIMUM_ADVANCES, prior};
pub use flag::{Assessment, Countdown, Evidence, Flag, FlagKind, countdown};
pub use id::{HostId, InstanceUuid, Key, MachineId, VastId, manager_name};
pub use kaplan_meier::{LogRank, Survival, SurvivalStep, log_rank};
pub use ledger::{Basis, Entry, Ledger, Redated, Transition, TransitionKind};
pub use life::{Life, Span};
pub use lifecycle::State;
pub use logs::{LINE_BYTES_MAX, LogLine, MergeOutcome, merge_tail};
pub use plausible::{CLOCK_WRONG_MAX_S, Implausible, is_plausible, latest_plausible};
pub use progress::{
    ChannelHealth, GPU_BUSY_PERCENT, GpuActivity, Heard, LogChannel, ONE_READING_S, PACE_ARRIVALS, WhyBlind, line_hash,
    progress_sources, silence_limit,
};
pub use rental::{LIST_FRESH_S, Rental, WrittenOff};
pub use secret::{REDACTED, SECRET_BYTES_MIN, any_secret, keep_secret, redacted, redacted_bytes};
pub use shown::{NAME_LETTERS_MAX, WORDS_LETTERS_MAX, is_plain, plain_letter, shown};
pub use snapshot::{BadHost, Row, Snapshot, VastFacts};
pub use survival::{Curve, Outcome, Stay};
pub use track::{FlagChange, Fleet, Gap, Instance, ManagerRun, Observed, Presence, Rejected, STATUS_CHARACTERS_MAX, StatusText};

/// A point in time. Re-exported so that the crates above speak of one type.
pub use jiff::Timestamp;

/// Seconds from `from` to `to`; negative when `to` is earlier.
pub fn seconds_between(from: Timestamp, to: Timestamp) -> f64 {
    (to.as_millisecond() - from.as_millisecond()) as f64 / 1000.0
}

/// `at` moved by `seconds` (may be negative), held within the range that a timestamp can express.
pub fn shift(at: Timestamp, seconds: f64) -> Timestamp {
    let ms = at.as_millisecond() as f64 + seconds * 1000.0;
    let (lowest, highest) = (Timestamp::MIN.as_millisecond() as f64, Timestamp::MAX.as_millisecond() as f64);
    Timestamp::from_millisecond(ms.clamp(lowest, highest) as i64).unwrap_or(at)
}
