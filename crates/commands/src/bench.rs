//! For the benchmark alone: the last step of an answer's way to the screen, which is otherwise private.

use dwell_fleet::{Fleet, Timestamp};

use crate::hub::Hub;
use crate::view::{self, Context};
use crate::watch::{Pace, Watch};

/// A fleet as the watcher holds it, with a window that looks.
#[derive(Debug)]
pub struct Watched(Watch);

impl Watched {
    /// Takes up a fleet.
    pub fn new(fleet: Fleet) -> Self {
        Self(Watch::new(fleet, Pace::default(), Timestamp::UNIX_EPOCH))
    }

    /// Makes the view, the patch of it, and its JSON; gives the JSON's size.
    pub fn patch_json(&self) -> usize {
        let context = Context {
            name: "bench".into(),
            address: "bench".into(),
            speed: 1.0,
            now: Timestamp::UNIX_EPOCH,
            history_error: None,
        };
        let hub = Hub::default();
        let mut window = hub.subscribe();
        hub.publish(view::fleet_view(&self.0, &context));
        window.try_recv().ok().and_then(|patch| serde_json::to_vec(&patch).ok()).map_or(0, |json| json.len())
    }
}
