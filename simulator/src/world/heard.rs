//! Every line that anything in the simulated world writes, held against the list of texts of the real programs.

use std::cell::RefCell;
use std::collections::BTreeMap;

use dwell_real_texts::{Place, matching};

use super::World;
use super::probe::Smi;

thread_local! {
    /// What was written in this thread's worlds: one line of each, numbers left aside.
    static HEARD: RefCell<BTreeMap<(Place, String), String>> = const { RefCell::new(BTreeMap::new()) };
}

/// Takes note of a line.
pub(crate) fn hear(place: Place, line: &str) {
    let masked = line.replace(|letter: char| letter.is_ascii_digit(), "0");
    HEARD.with_borrow_mut(|heard| {
        heard.entry((place, masked)).or_insert_with(|| line.to_owned());
    });
}

fn look_around(world: &World) {
    for truth in world.truth() {
        let record = world.vast_record(truth.vast_id);
        if let Some(text) = record.as_ref().and_then(|record| record["status_msg"].as_str()) {
            hear(Place::Status, text);
        }
        let Some(view) = world.host_view(truth.vast_id) else { continue };
        view.processes.iter().for_each(|process| hear(Place::Program, &process.program));
        view.kernel.iter().flatten().for_each(|(_, line)| hear(Place::Kernel, line));
        if let Some(Smi::Failed(words)) = &view.smi {
            hear(Place::NvidiaSmi, words);
        }
    }
}

#[test]
fn nothing_is_written_that_the_real_programs_do_not_write() {
    for scenario in crate::scenario::shipped() {
        let (seed, end_s) = (scenario.seed, scenario.duration);
        let origin = scenario.start;
        let mut world = World::new(scenario, seed, origin);
        let mut passed_s = 0.0;
        while passed_s < end_s {
            look_around(&world);
            passed_s += 300.0;
            world.advance_to(crate::manager::plus_ms(origin, (passed_s * 1000.0) as i64));
        }
    }
    let heard = HEARD.with_borrow(Clone::clone);
    assert!(heard.len() > 150, "a sweep hears more than {} lines", heard.len());
    let unlisted: Vec<String> = heard
        .iter()
        .filter(|((place, _), line)| matching(*place, line).is_empty())
        .map(|((place, _), line)| format!("{place:?}: {line:?}"))
        .collect();
    assert!(unlisted.is_empty(), "{} lines are in no list:\n{}", unlisted.len(), unlisted.join("\n"));
}
