//! What leaves an instance for the manager: reports and log pushes, over a line that can fail.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Event, Source, World};
use crate::conditions::Line;

/// The log shipper looks for new lines this often, seconds.
const SHIP_EVERY_S: f64 = 10.0;
/// After a push that was not heard it waits this long, seconds.
const SHIP_RETRY_S: f64 = 30.0;
/// Lines that wait for the shipper; older ones are dropped.
const QUEUE_LINES_MAX: usize = 20_000;
/// Bodies up to this pass a line that drops large ones, bytes.
const SMALL_BYTES: usize = 1_200;
/// The id that a shipper goes on using after its own was replaced.
const STALE_ID: &str = "57a1e000-0000-4000-8000";

/// A report to the manager.
#[derive(Debug)]
pub(super) enum Post<'a> {
    Register { label: &'a str, min_rate: f64, fresh: String },
    ParamDone,
    BenchDone { rate: f64 },
    Running,
}

/// What the sender of a report learns.
#[derive(Debug)]
pub(super) enum Heard {
    Uuid(String),
    Ok,
    /// Of a benchmark: fast enough or not.
    Passed(bool),
    /// Refused, with this status.
    No(u16),
    /// No answer came.
    Nothing,
}

impl World {
    /// The line to the manager as it is now.
    pub(super) fn line_to_manager(&self, index: usize) -> Line {
        let conditions = &self.instances[index].conditions;
        if conditions.host.offline || !conditions.lines.tunnel { Line::Cut } else { conditions.lines.manager }
    }

    /// Posts a report. It can arrive without the sender ever knowing.
    pub(super) fn post(&mut self, index: usize, what: Post<'_>) -> Heard {
        let line = self.line_to_manager(index);
        if matches!(line, Line::Cut | Line::Swallows) || !self.manager.is_up() {
            return Heard::Nothing;
        }
        let uuid = self.instances[index].uuid.clone().unwrap_or_default();
        let heard = self.with_manager(|manager, world, now| match what {
            Post::Register { label, min_rate, fresh } => {
                manager.register(label, min_rate, fresh, now).map(|(uuid, _)| Heard::Uuid(uuid))
            }
            Post::ParamDone => manager.param_done(&uuid, now).map(|()| Heard::Ok),
            Post::BenchDone { rate } => manager.bench_done(&uuid, rate, world, now).map(Heard::Passed),
            Post::Running => manager.running(&uuid, now).map(|()| Heard::Ok),
        });
        if line == Line::DropsReplies {
            return Heard::Nothing;
        }
        heard.unwrap_or_else(|(status, _)| Heard::No(status))
    }

    /// Queues a line for the shipper, if the image has one that reads this source and it runs.
    pub(super) fn queue_line(&mut self, index: usize, source: Source, text: Arc<str>) {
        let instance = &mut self.instances[index];
        let software = &instance.conditions.software;
        let ships = &self.scenario.images[instance.image].ships;
        let shipped = ships.iter().any(|shipped| shipped == source.as_str())
            && !software.ships_nothing
            && !software.unshipped.contains(&source.as_str())
            && software.shipper_runs;
        if !shipped {
            return;
        }
        if instance.unshipped.len() >= QUEUE_LINES_MAX
            && let Some((_, dropped)) = instance.unshipped.pop_front()
        {
            instance.shipped.dropped_from_queue += dropped.len() as u64 + 1;
        }
        instance.unshipped.push_back((source, text));
        if !instance.shipping {
            instance.shipping = true;
            self.push_in(SHIP_EVERY_S, Event::Ship { instance: index });
        }
    }

    /// The shipper pushes what is new, one push a source.
    pub(super) fn ship(&mut self, index: usize) {
        let instance = &mut self.instances[index];
        instance.shipping = false;
        let software = &instance.conditions.software;
        if instance.container.is_none() || !software.shipper_runs || instance.unshipped.is_empty() {
            return;
        }
        let (held, stale, named) = (software.shipper_held, software.shipper_stale_id, software.shipper_names_source);
        let line = self.line_to_manager(index);
        let ready = !held && line != Line::Cut && self.manager.is_up();
        let Some(uuid) = self.instances[index].uuid.clone().filter(|_| ready) else { return self.ship_later(index) };
        let uuid = if stale { format!("{STALE_ID}-{:012x}", self.instances[index].vast_id) } else { uuid };
        let lines = std::mem::take(&mut self.instances[index].unshipped);
        let mut pushes: BTreeMap<Source, String> = BTreeMap::new();
        for (source, text) in &lines {
            let push = pushes.entry(*source).or_default();
            push.push_str(text);
            push.push('\n');
        }
        let mut again = Vec::new();
        for (source, body) in pushes {
            let too_large = line == Line::DropsLarge && body.len() > SMALL_BYTES;
            let shipped = &mut self.instances[index].shipped;
            shipped.pushed += body.len() as u64;
            if line == Line::Swallows || too_large {
                shipped.lost_on_the_line += body.len() as u64;
            } else {
                let named = if named { source.as_str() } else { "" };
                self.with_manager(|manager, _, now| manager.log_push(&uuid, named, body.as_bytes(), now));
            }
            // Without a reply the shipper takes it for lost and sends it again.
            if too_large || line == Line::DropsReplies {
                again.push(source);
            }
        }
        if !again.is_empty() {
            self.instances[index].unshipped.extend(lines.into_iter().filter(|(source, _)| again.contains(source)));
            self.ship_later(index);
        }
    }

    fn ship_later(&mut self, index: usize) {
        self.instances[index].shipping = true;
        self.push_in(SHIP_RETRY_S, Event::Ship { instance: index });
    }

    /// Where the bytes of every instance's pushes went before they reached the manager.
    pub fn shipped_bytes(&self) -> super::ShippedBytes {
        let mut sum = super::ShippedBytes::default();
        for instance in &self.instances {
            sum.pushed += instance.shipped.pushed;
            sum.lost_on_the_line += instance.shipped.lost_on_the_line;
            sum.dropped_from_queue += instance.shipped.dropped_from_queue;
        }
        sum
    }
}
