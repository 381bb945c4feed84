//! Manager and account in virtual time: every program ends in the moment in which it is run, unless it hangs.

use jiff::Timestamp;

use crate::account::Account;
use crate::http::{Request, Response};
use crate::manager::{Call, Manager, Outcome};

/// A manager with its account, without sockets, threads or a clock.
#[derive(Debug, Clone, Default)]
pub struct Desk {
    /// The manager.
    pub manager: Manager,
    /// What its client sees.
    pub account: Account,
}

impl Desk {
    /// A manager that starts now.
    pub fn started(now: Timestamp) -> Self {
        let mut desk = Self::default();
        desk.manager.start(now);
        desk
    }

    /// Lets the time come: the cycles of the monitor that are due by then, each at its own time.
    pub fn advance_to(&mut self, now: Timestamp) {
        while let Some(at) = self.manager.next_cycle_at().filter(|at| *at <= now) {
            let calls = self.manager.tick(at);
            self.perform(calls, at);
        }
    }

    /// Answers a request. `None` where nobody answers: the manager is down, or its client hangs.
    pub fn ask(&mut self, request: &Request, now: Timestamp) -> Option<Response> {
        let Outcome { answer, waits, calls } = self.manager.handle(request, now);
        let later = self.perform(calls, now).into_iter().find(|(ticket, _)| Some(*ticket) == waits);
        answer.map(|(_, response)| response).or(later.map(|(_, response)| response))
    }

    fn perform(&mut self, calls: Vec<Call>, now: Timestamp) -> Vec<(u64, Response)> {
        let mut answers = Vec::new();
        let mut calls = calls;
        while let Some(call) = calls.pop() {
            let Some(output) = self.account.run(&call, now.as_second() as f64) else { continue };
            let outcome = self.manager.answered(call.ticket, &output, now);
            answers.extend(outcome.answer.and_then(|(ticket, response)| Some((ticket?, response))));
            calls.extend(outcome.calls);
        }
        answers
    }
}
