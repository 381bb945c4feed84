//! From one watcher to any number of windows: whole first, then what changed, numbered.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;

use crate::dto::{FleetView, InstanceRow, Patch};

/// Patches waiting for one window at most; one that falls behind sees a hole in the numbers and asks anew.
const WAITING_MAX: usize = 32;

/// Shares what is seen.
#[derive(Debug, Clone, Default)]
pub struct Hub(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    seq: u64,
    /// Of the watch that is seen.
    run: u64,
    head: Option<FleetView>,
    rows: HashMap<String, InstanceRow>,
    windows: Vec<mpsc::Sender<Patch>>,
}

impl Hub {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new stream, beginning with the whole.
    pub fn subscribe(&self) -> mpsc::Receiver<Patch> {
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        let mut inner = self.inner();
        if let Some(head) = inner.head.clone() {
            let whole = Patch {
                seq: inner.seq,
                run: inner.run.to_string(),
                head,
                upsert: inner.rows.values().cloned().collect(),
                removed: Vec::new(),
                whole: true,
            };
            let _ = sender.try_send(whole);
        }
        inner.windows.push(sender);
        receiver
    }

    /// Nothing has been seen: nothing is watched, or not yet.
    pub fn is_empty(&self) -> bool {
        self.inner().head.is_none()
    }

    /// Another fleet is watched from now on, or the same one anew: the next view is sent whole, and what was planned before is void.
    pub(crate) fn reset(&self) {
        let mut inner = self.inner();
        // Another backend in this one's place has other names for its watches.
        inner.run = getrandom::u64().unwrap_or(inner.run + 1);
        inner.head = None;
        inner.rows.clear();
    }

    /// Sends what has changed.
    pub(crate) fn publish(&self, mut view: FleetView) {
        let mut inner = self.inner();
        let whole = inner.head.is_none();
        let mut left: HashMap<String, InstanceRow> = std::mem::take(&mut inner.rows);
        let mut upsert = Vec::new();
        for row in std::mem::take(&mut view.instances) {
            if left.remove(&row.id).as_ref() != Some(&row) {
                upsert.push(row.clone());
            }
            inner.rows.insert(row.id.clone(), row);
        }
        inner.seq += 1;
        inner.head = Some(view.clone());
        let patch =
            Patch { seq: inner.seq, run: inner.run.to_string(), head: view, upsert, removed: left.into_keys().collect(), whole };
        inner.windows.retain(|window| !window.is_closed());
        for window in &inner.windows {
            let _ = window.try_send(patch.clone());
        }
    }
}
