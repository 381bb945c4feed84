//! For the benchmark alone: the last step of an answer's way to the screen, which is otherwise private.

use dwell_diagnosis::Around;
use dwell_fleet::look::{HostAnswer, HostSeen, ProverAnswer, Reach, Smi};
use dwell_fleet::{Fleet, LogLine, Timestamp, shift};

use crate::ask::Answered;
use crate::hub::Hub;
use crate::view::{self, Context};
use crate::watch::{Pace, Watch};

/// A fleet as the watcher holds it, with a window that looks.
#[derive(Debug)]
pub struct Watched {
    watch: Watch,
    around: Option<Around>,
}

impl Watched {
    /// Takes up a fleet.
    pub fn new(fleet: Fleet) -> Self {
        Self { watch: Watch::new(fleet, Pace::default(), Timestamp::UNIX_EPOCH), around: None }
    }

    /// Every instance has written a day's log, and its machine has been looked at.
    pub fn with_logs_and_looks(mut self) -> Self {
        let at = self.watch.fleet().as_of().unwrap_or(Timestamp::UNIX_EPOCH);
        let words = [
            "[#2089b0 12.0GiB/100.0GiB(12%) CN:16 DL:48MiB ETA:31m]",
            "INFO cuzk_core::srs_manager: loading SRS from disk circuit_id=porep-32g",
            "  [3/12] COMPLETED \u{2014} 101.2s (prove=98123 ms, queue=3 ms)",
            "Error: failed to connect to daemon via unix socket",
        ];
        let keys: Vec<_> = self.watch.fleet().instances().map(|instance| instance.key).collect();
        for (number, key) in keys.into_iter().enumerate() {
            let lines: Vec<LogLine> = (0..200)
                .map(|line| LogLine {
                    source: "benchout".to_owned(),
                    text: words[(line + number) % words.len()].to_owned(),
                    at: shift(at, line as f64 - 200.0),
                })
                .collect();
            self.watch.casebook_mut().note_lines(key, &lines);
            let seen = HostSeen { oom_kills: Some(0), smi: Some(Smi::TimedOut), ..HostSeen::default() };
            let answer = HostAnswer { direct: Reach::Connected, proxy: Reach::Connected, seen: Some(Box::new(seen)) };
            self.watch.casebook_mut().note_look(key, at, Answered::Host(answer));
        }
        self
    }

    /// Diagnoses every instance from scratch, with what to look at next; gives how many causes were weighed.
    pub fn diagnose_all(&self) -> usize {
        let around = self.watch.around(Timestamp::UNIX_EPOCH);
        let fleet = self.watch.fleet();
        let all = self.watch.casebook().diagnose_all(fleet.instances().collect(), &around);
        all.iter().map(|(_, diagnosis)| diagnosis.hypotheses.len()).sum()
    }

    /// Takes in one new observation of one instance and diagnoses it again, with what to look at next.
    pub fn diagnose_again(&mut self) -> usize {
        let Some(key) = self.watch.fleet().instances().next().map(|instance| instance.key) else { return 0 };
        let at = self.watch.fleet().as_of().unwrap_or(Timestamp::UNIX_EPOCH);
        self.watch.casebook_mut().note_look(key, at, Answered::Prover(ProverAnswer::TimedOut));
        // The fleet around it has not changed: it is worked out once an answer, not once a look.
        let around = self.around.get_or_insert_with(|| self.watch.around(Timestamp::UNIX_EPOCH));
        let Some(instance) = self.watch.fleet().instance(key) else { return 0 };
        let diagnosis = self.watch.casebook().diagnose(instance, around);
        diagnosis.hypotheses.len() + diagnosis.next_checks().len()
    }

    /// Makes the view, the patch of it, and its JSON; gives the JSON's size.
    pub fn patch_json(&self) -> usize {
        let context = Context {
            name: "bench".into(),
            address: "bench".into(),
            speed: 1.0,
            now: Timestamp::UNIX_EPOCH,
            history_error: None,
            held: dwell_history::HeldState::default(),
            tunnel: None,
        };
        let hub = Hub::default();
        let mut window = hub.subscribe();
        hub.publish(view::fleet_view(&self.watch, &context));
        window.try_recv().ok().and_then(|patch| serde_json::to_vec(&patch).ok()).map_or(0, |json| json.len())
    }
}
