//! The prover's status.

use dwell_fleet::look::{Asked, ProverAnswer, ProverStatus};
use dwell_fleet::{Timestamp, seconds_between};

use super::{FRESH_HOST_S, Gather};
use crate::channel::{Channel, Health};
use crate::fact::{self};

impl Gather<'_> {
    pub(super) fn prover(&mut self) {
        let channel = Channel::ProverStatus;
        let Some(Asked { at, answer }) = self.case.looks.prover.clone() else {
            return self.channel(channel, Health::NotAsked, "nobody asked it", None);
        };
        if !self.counts(channel, at, FRESH_HOST_S) {
            return;
        }
        if !self.works_on_card() {
            return self.channel(channel, Health::Blind, "no prover runs in this state", Some(at));
        }
        let fresh = FRESH_HOST_S;
        match &answer {
            ProverAnswer::NoWay | ProverAnswer::Failed(_) => {
                self.channel(channel, Health::Unreachable, "there is no way to the machine", Some(at));
            }
            ProverAnswer::Refused => {
                self.channel(channel, Health::Blind, "nothing serves it (it is off by default)", Some(at));
                self.note(fact::STATUS_REFUSED, true, channel, at, fresh, "curl: 7");
            }
            ProverAnswer::TimedOut => {
                self.channel(channel, Health::Quiet, "it is served and not answered in time", Some(at));
                self.note(fact::STATUS_REFUSED, false, channel, at, fresh, "curl: 28");
                self.note(fact::STATUS_HANGS, true, channel, at, fresh, "curl: 28");
            }
            ProverAnswer::Status(status) => {
                self.channel(
                    channel,
                    Health::Working,
                    match status.completed {
                        Some(completed) => format!("{completed} proofs completed"),
                        None => "it answers, and does not tell how much is completed".to_owned(),
                    },
                    Some(at),
                );
                self.note(fact::STATUS_REFUSED, false, channel, at, fresh, "its answer");
                self.note(fact::STATUS_HANGS, false, channel, at, fresh, "its answer");
                self.counters(status, at);
            }
        }
    }

    pub(super) fn counters(&mut self, status: &ProverStatus, at: Timestamp) {
        let channel = Channel::ProverStatus;
        let fresh = FRESH_HOST_S;
        let told = |count: Option<u64>| count.map_or_else(|| "not told".to_owned(), |count| count.to_string());
        let text = format!(
            "completed {}, failed {}, in work {}, queue {}, busiest {:.0} s",
            told(status.completed),
            told(status.failed),
            status.proofs.len(),
            told(status.queue_depth),
            status.busiest_s()
        );
        if let Some(failed) = status.failed {
            self.note(fact::PROOFS_FAIL, failed > 0, channel, at, fresh, text.clone());
        }
        if let Some(completed) = status.completed {
            self.note(fact::MANY_COMPLETED, completed >= 20, channel, at, fresh, text.clone());
        }
        let pending = status.proofs.iter().any(|proof| proof.all_pending() && proof.done == 0);
        self.note(fact::PROOF_PENDING, pending, channel, at, fresh, text.clone());
        let idle = status.proofs.is_empty() && status.queue_depth == Some(0);
        if status.queue_depth.is_some() {
            self.note(fact::PROVER_IDLE, idle, channel, at, fresh, text.clone());
        }
        let stands = !status.proofs.is_empty() && status.busiest_s() >= 600.0;
        self.note(fact::PROOF_STANDS, stands, channel, at, fresh, text.clone());
        let before = self.case.looks.prover_before.clone();
        if let Some(Asked { at: then, answer: ProverAnswer::Status(before) }) = before
            && seconds_between(then, at) >= 45.0
        {
            let passed_s = seconds_between(then, at);
            let moved = status.completed > before.completed || status.proofs != before.proofs;
            // An idle prover proves nothing either way.
            if moved || !idle {
                self.note(
                    fact::WORK_GOES_ON,
                    moved,
                    channel,
                    at,
                    fresh,
                    format!("{text}; {passed_s:.0} s before: completed {}", told(before.completed)),
                );
            }
        }
    }
}
