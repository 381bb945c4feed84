//! Several cards: in turn, each with the host to itself, or together, as they would prove.

use std::sync::{Condvar, Mutex, PoisonError};

use serde::Serialize;

use crate::card::NoCard;
use crate::device::Which;
use crate::predict::{CardFigures, HostFigures, Prediction, predict_all};
use crate::run::{Depth, Progress, Record, run};

/// Records of several cards.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Batch {
    /// They were measured at the same time.
    pub together: bool,
    /// In the order that was asked for.
    pub records: Vec<Record>,
    /// What they prove together in this host. `None` where one of them cannot prove, or too little was measured.
    pub prediction: Option<Prediction>,
}

/// Cards that begin their steps together, so that a shared link is shared while it is measured.
struct Meeting {
    state: Mutex<State>,
    moved: Condvar,
}

struct State {
    expected: usize,
    arrived: usize,
    round: u64,
}

impl Meeting {
    fn of(cards: usize) -> Self {
        Self { state: Mutex::new(State { expected: cards, arrived: 0, round: 0 }), moved: Condvar::new() }
    }

    /// Waits for the others that are still there.
    fn arrive(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.arrived += 1;
        let round = state.round;
        self.open(&mut state);
        while state.round == round {
            state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn open(&self, state: &mut State) {
        if state.arrived >= state.expected {
            state.arrived = 0;
            state.round += 1;
            self.moved.notify_all();
        }
    }
}

/// Whoever takes part; leaves however it ends.
struct Part<'m>(&'m Meeting);

impl Drop for Part<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.expected -= 1;
        if state.arrived > 0 {
            self.0.open(&mut state);
        }
    }
}

/// Measures cards, each in a thread of its own where it is `together`. `tell` is told which one it is about; false breaks all off.
pub fn batch(
    cards: &[Which],
    together: bool,
    depth: Depth,
    host: &HostFigures,
    tell: &(dyn Fn(usize, &Progress) -> bool + Sync),
) -> Result<Batch, NoCard> {
    let meeting = Meeting::of(cards.len());
    let one = |place: usize| -> Result<Record, NoCard> {
        let _part = Part(&meeting);
        let which = cards.get(place).ok_or(NoCard::Number { wanted: 0, have: 0 })?;
        let mut device = which.open()?;
        // The host of a simulated card is not simulated: the prediction says that it is left out.
        let host = if matches!(which, Which::Simulated(_)) { HostFigures::default() } else { *host };
        Ok(run(device.as_mut(), depth, &host, &mut |progress| {
            if together && progress.begins {
                meeting.arrive();
            }
            tell(place, progress)
        }))
    };
    let records: Vec<Record> = if together {
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..cards.len()).map(|place| scope.spawn(move || one(place))).collect();
            // A driver that lacks a call ends its thread.
            let lost = |_| Err(NoCard::Failed("it failed in the middle of a benchmark".to_owned()));
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(lost)).collect::<Result<_, _>>()
        })?
    } else {
        (0..cards.len()).map(one).collect::<Result<_, _>>()?
    };
    let figures: Option<Vec<CardFigures>> = records.iter().map(|record| record.figures.filter(|_| record.can_prove())).collect();
    let is_real = cards.iter().all(|which| matches!(which, Which::Number(_)));
    let host = if is_real { *host } else { HostFigures::default() };
    Ok(Batch { together, prediction: figures.and_then(|figures| predict_all(&figures, &host)), records })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn cards(names: &[&str]) -> Vec<Which> {
        names.iter().map(|name| Which::Simulated((*name).to_owned())).collect()
    }

    #[test]
    fn cards_together_prove_more_and_one_that_is_lost_keeps_nobody_waiting() {
        let all = |names: &[&str], together| {
            batch(&cards(names), together, Depth::Full, &HostFigures::default(), &|_, _| true).unwrap()
        };
        let (turn, together) = (all(&["rtx-3090", "rtx-4090"], false), all(&["rtx-3090", "rtx-4090"], true));
        let rate = |batch: &Batch| batch.prediction.as_ref().unwrap().proofs_per_h;
        let alone: f64 = turn.records.iter().map(|record| record.prediction.as_ref().unwrap().proofs_per_h).sum();
        assert!((rate(&turn) / alone - 1.0).abs() < 1e-9 && rate(&turn) == rate(&together), "{alone}");
        let lost = all(&["falls-off", "rtx-4090"], true);
        assert_eq!(lost.prediction, None);
        assert!(!lost.records[0].can_prove() && lost.records[1].prediction.is_some());
    }

    #[test]
    fn steps_begin_together() {
        // Between two begins of one card the other begins once.
        let begun = [AtomicUsize::new(0), AtomicUsize::new(0)];
        let names = cards(&["rtx-3090", "rtx-3090"]);
        batch(&names, true, Depth::Quick, &HostFigures::default(), &|place, progress| {
            if progress.begins {
                let mine = begun[place].fetch_add(1, Ordering::SeqCst) + 1;
                let other = begun[1 - place].load(Ordering::SeqCst);
                assert!(mine.abs_diff(other) <= 1, "{mine} {other}");
            }
            true
        })
        .unwrap();
    }

    #[test]
    fn an_unknown_card_is_said_to_be() {
        let error = batch(&cards(&["rtx-4090", "voodoo"]), true, Depth::Quick, &HostFigures::default(), &|_, _| true);
        assert!(error.unwrap_err().to_string().contains("voodoo"));
    }
}
