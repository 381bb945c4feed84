//! Write access to the fleet that is watched: a person gives it for a time, it is shown, and it ends by itself.
//!
//! It belongs to one session: another fleet, or the same one watched anew, begins read-only. What a person confirmed while it was
//! there (a rollout of hours) goes on when its time is over, and stops when it is given back.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dwell_fleet::{Timestamp, seconds_between};

use crate::{ApiError, ErrorCode};

/// How long it lasts where nothing else is said, seconds.
pub(crate) const ORDINARY_S: f64 = 900.0;
/// How short and how long it may be, seconds.
pub(crate) const AT_LEAST_S: f64 = 60.0;
pub(crate) const AT_MOST_S: f64 = 4.0 * 3600.0;

/// The write access of one session.
#[derive(Debug, Clone, Default)]
pub(crate) struct WriteAccess(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// Since when, and for how many seconds.
    given: Option<(Timestamp, f64)>,
    /// How often it was given back.
    given_back: u64,
}

impl WriteAccess {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives it from now on for so many seconds, in place of what is left. Refused where that is no sensible time.
    pub(crate) fn give(&self, now: Timestamp, for_s: Option<f64>) -> Result<(), ApiError> {
        let for_s = for_s.unwrap_or(ORDINARY_S);
        if !(AT_LEAST_S..=AT_MOST_S).contains(&for_s) {
            return Err(ApiError::new(
                ErrorCode::BadRequest,
                format!("write access lasts {AT_LEAST_S:.0} to {AT_MOST_S:.0} seconds"),
            ));
        }
        self.state().given = Some((now, for_s));
        Ok(())
    }

    /// Ends it, and what was begun under it.
    pub(crate) fn give_back(&self) {
        let mut state = self.state();
        state.given = None;
        state.given_back += 1;
    }

    /// Seconds that are left; `None` where the fleet is read-only. A clock that was set back ends it as well.
    pub(crate) fn left_s(&self, now: Timestamp) -> Option<f64> {
        let (since, for_s) = self.state().given?;
        let passed = seconds_between(since, now);
        (0.0..for_s).contains(&passed).then_some(for_s - passed)
    }

    /// For what is begun now and takes longer: says at any later time whether it was given back meanwhile.
    pub(crate) fn begun(&self) -> impl Fn() -> bool + Send + Sync + 'static {
        let (access, then) = (self.clone(), self.state().given_back);
        move || access.state().given_back != then
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + second).unwrap()
    }

    #[test]
    fn it_ends_by_itself() {
        let access = WriteAccess::default();
        assert_eq!(access.left_s(at(0)), None, "read-only at first");
        access.give(at(0), None).unwrap();
        assert_eq!(access.left_s(at(0)), Some(900.0));
        assert_eq!(access.left_s(at(899)), Some(1.0));
        assert_eq!(access.left_s(at(900)), None);
        assert_eq!(access.left_s(at(90_000)), None);
        assert_eq!(access.left_s(at(-1)), None, "a clock that is set back prolongs nothing");
        access.give(at(1_000), Some(60.0)).unwrap();
        assert_eq!((access.left_s(at(1_059)), access.left_s(at(1_060))), (Some(1.0), None));
    }

    #[test]
    fn it_is_given_for_a_sensible_time_alone() {
        let access = WriteAccess::default();
        for wrong in [0.0, -1.0, 59.0, 4.0 * 3600.0 + 1.0, f64::INFINITY, f64::NAN] {
            assert_eq!(access.give(at(0), Some(wrong)).unwrap_err().code, "bad-request", "{wrong}");
        }
        assert_eq!(access.left_s(at(0)), None);
    }

    #[test]
    fn what_was_begun_goes_on_after_its_time_and_stops_when_it_is_given_back() {
        let access = WriteAccess::default();
        access.give(at(0), Some(60.0)).unwrap();
        let ended = access.begun();
        assert_eq!((access.left_s(at(61)), ended()), (None, false));
        access.give(at(70), None).unwrap();
        assert!(!ended());
        access.give_back();
        assert!(access.left_s(at(71)).is_none() && ended());
        assert!(!access.begun()(), "what begins later is not ended by it");
    }
}
