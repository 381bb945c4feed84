//! Two days of a watch over the manager's strict double, with outages of manager, vast.ai and tunnel at random: every outage
//! ends in recovery within two polls, and the lines kept are the lines that could be read.

use std::collections::{BTreeMap, BTreeSet};

use dwell_clients::{Code, FetchError};
use dwell_commands::{Effect, Event, Pace, Watch};
use dwell_fake_manager::{Behaviour, Desk, Request};
use dwell_fleet::{FlagChange, Fleet, LogLine, Observed, Timestamp};
use dwell_history::{Answer, FleetId, History, LogOwner, LogQuery};
use dwell_wire as wire;

const DAY_S: i64 = 24 * 3_600;
const STEP_S: i64 = 5;

/// A linear congruential generator (Knuth's MMIX): the same outages for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % end.unsigned_abs()).cast_signed()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outage {
    Manager,
    Vast,
    Tunnel,
}

struct Soak {
    desk: Desk,
    watch: Watch,
    history: History,
    fleet: FleetId,
    outage: Option<Outage>,
    /// Dashboards asked for since the latest outage ended.
    polls_since: u32,
    /// Age of vast.ai's list by the latest answer.
    list_age_s: Option<f64>,
    /// Lines that stood in a buffer when a dashboard was answered, by instance.
    readable: BTreeMap<String, BTreeSet<String>>,
    uuids: Vec<String>,
}

/// What an answer brought, as a watch keeps it.
fn answer_of<'a>(fleet: &'a Fleet, as_of: Timestamp, observed: &'a Observed, flags: &'a [FlagChange]) -> Answer<'a> {
    Answer {
        vast_cache_age_s: fleet.vast_cache_age_s(),
        clock_skew_s: None,
        as_of,
        instances: fleet.instances().collect(),
        transitions: &observed.transitions,
        redated: &observed.redated,
        merged: &observed.merged,
        gap: observed.gap,
        run: fleet.manager_run(),
        flags,
    }
}

fn unreachable() -> FetchError {
    FetchError { code: Code::Unreachable, message: "nobody answers".to_owned(), status: None }
}

impl Soak {
    fn started(now: Timestamp) -> Self {
        let mut desk = Desk::started(now);
        let uuids = (31_000_010..31_000_016).map(|id| {
            desk.account.rent(id, (now.as_second() - 3_600) as f64);
            let post =
                |desk: &mut Desk, path: &str, body: String| desk.ask(&Request::new("POST", path, body), now).unwrap().value();
            let uuid = post(&mut desk, "/register", format!(r#"{{"label":"C.{id}","min_rate":30}}"#))["uuid"]
                .as_str()
                .unwrap()
                .to_owned();
            post(&mut desk, "/bench-done", format!(r#"{{"uuid":"{uuid}","rate":41}}"#));
            post(&mut desk, "/running", format!(r#"{{"uuid":"{uuid}"}}"#));
            uuid
        });
        let uuids: Vec<String> = uuids.collect();
        let pace = Pace::default();
        let mut history = History::in_memory().unwrap();
        let fleet = history.fleet("http://127.0.0.1:1235", None).unwrap();
        let watch = Watch::new(Fleet::new(pace.gap_after_s()), pace, now);
        Self { desk, watch, history, fleet, outage: None, polls_since: 0, list_age_s: None, readable: BTreeMap::new(), uuids }
    }

    fn get(&mut self, target: &str, now: Timestamp) -> Result<Vec<u8>, FetchError> {
        if self.outage == Some(Outage::Tunnel) {
            return Err(unreachable());
        }
        self.desk.ask(&Request::new("GET", target, ""), now).map(|answer| answer.body).ok_or_else(unreachable)
    }

    fn dashboard(&mut self, now: Timestamp) -> Event {
        self.polls_since += 1;
        let body = self.get("/api/dashboard", now);
        if body.is_ok() {
            for uuid in &self.uuids {
                let lines = self.desk.manager.instance_log(uuid).into_iter().flat_map(|log| log.lines());
                let known = self.readable.entry(uuid.clone()).or_default();
                // What is known need not be looked at again: texts are unique and in order.
                let new = lines.rev().map(|line| String::from_utf8_lossy(&line.text).into_owned());
                let new: Vec<String> = new.take_while(|text| !known.contains(text)).collect();
                known.extend(new);
            }
        }
        Event::Dashboard(body.map(|body| {
            let snapshot = wire::snapshot(wire::decode(&body).unwrap(), now, now);
            self.list_age_s = snapshot.vast_cache_age_s;
            (snapshot, None)
        }))
    }

    fn lines(&mut self, target: &str, now: Timestamp) -> Result<Vec<LogLine>, FetchError> {
        let lines: Vec<wire::LogLine> = wire::decode(&self.get(target, now)?).unwrap();
        Ok(lines.into_iter().filter_map(wire::log_line).collect())
    }

    fn tick(&mut self, now: Timestamp) {
        self.desk.advance_to(now);
        let mut events = vec![Event::Tick];
        while let Some(event) = events.pop() {
            for effect in self.watch.step(event, now) {
                match effect {
                    Effect::FetchDashboard => events.push(self.dashboard(now)),
                    Effect::FetchInstanceLines { key, uuid, tail } => {
                        let result = self.lines(&format!("/api/instance-logs/{uuid}?tail={tail}"), now);
                        events.push(Event::InstanceLines { key, tail, result });
                    }
                    Effect::FetchManagerLines { tail } => {
                        let lines = self.lines(&format!("/api/manager-logs?tail={tail}"), now);
                        events.push(Event::ManagerLines(lines));
                    }
                    Effect::Record { observed, flags } => {
                        let fleet = self.watch.fleet();
                        let Some(as_of) = fleet.as_of() else { continue };
                        self.history.record(self.fleet, &answer_of(fleet, as_of, &observed, &flags)).unwrap();
                    }
                    Effect::KeepLines { key, lines, whole_buffer, part } => {
                        let owner = key.map_or(LogOwner::Manager, LogOwner::Instance);
                        let run = self.watch.fleet().manager_run().started_at;
                        let kept = match part {
                            true => self.history.append_part(self.fleet, owner, &lines, run).unwrap(),
                            false => self.history.append_lines(self.fleet, owner, &lines, whole_buffer, run).unwrap(),
                        };
                        if part && kept.gap {
                            events.push(Event::Unjoined { key });
                            continue;
                        }
                        events.extend(key.map(|key| Event::LinesKept { key, lines: kept.lines }));
                    }
                    Effect::Publish => {}
                }
            }
        }
    }

    fn begin(&mut self, outage: Outage) {
        match outage {
            Outage::Manager => self.desk.manager.stop(),
            Outage::Vast => self.desk.account.list = Behaviour::fails("no route to host"),
            Outage::Tunnel => {}
        }
        self.outage = Some(outage);
    }

    fn end(&mut self, outage: Outage, now: Timestamp) {
        match outage {
            Outage::Manager => self.desk.manager.start(now),
            Outage::Vast => self.desk.account.list = Behaviour::Works,
            Outage::Tunnel => {}
        }
        self.outage = None;
        self.polls_since = 0;
    }

    /// Each instance prints now and then; the first one so much that a long cut fills its buffer.
    fn print(&mut self, now: Timestamp, random: &mut Random, printed: &mut u64) {
        for (at, uuid) in self.uuids.clone().iter().enumerate() {
            let count = if at == 0 { STEP_S } else { i64::from(random.below(6) == 0) };
            let text: String = (0..count)
                .map(|_| {
                    *printed += 1;
                    format!("line {printed}\n")
                })
                .collect();
            let request = Request::new("POST", "/api/log-push", text).with("X-Instance-UUID", uuid).with("X-Log-Source", "cuzk");
            // Nobody answers while the manager is down: the lines are lost.
            let _ = self.desk.ask(&request, now);
        }
    }

    fn kept(&self) -> BTreeMap<String, BTreeSet<String>> {
        let instances = self.watch.fleet().instances();
        let by_uuid = instances.filter_map(|instance| Some((instance.uuid.as_ref()?.to_string(), instance.key)));
        by_uuid
            .map(|(uuid, key)| {
                let query = LogQuery { limit: 1_000_000, ..LogQuery::default() };
                let lines = self.history.lines(self.fleet, LogOwner::Instance(key), &query).unwrap();
                let count = lines.len();
                let texts: BTreeSet<String> = lines.into_iter().map(|line| line.line.text.to_string()).collect();
                assert_eq!(texts.len(), count, "a line was kept twice");
                (uuid, texts)
            })
            .collect()
    }
}

#[test]
fn two_days_of_outages_lose_no_line_that_could_be_read() {
    let start: Timestamp = "2026-12-01T00:00:00Z".parse().unwrap();
    let at = |seconds: i64| dwell_commands::later(start, seconds as f64);
    let (mut random, mut printed) = (Random(14), 0);
    let mut soak = Soak::started(start);
    let mut seen: BTreeMap<Outage, u32> = BTreeMap::new();
    let (mut change_at, mut recovering) = (1_200, None);
    for second in (0..2 * DAY_S).step_by(STEP_S as usize) {
        let now = at(second);
        soak.desk.advance_to(now);
        if second >= change_at {
            if let Some(outage) = soak.outage {
                soak.end(outage, now);
                recovering = Some((outage, second));
                change_at = second + 600 + random.below(3_600);
            } else {
                assert_eq!(recovering, None, "the outage before has not ended in recovery");
                let outage = [Outage::Manager, Outage::Vast, Outage::Tunnel][random.below(3) as usize];
                soak.begin(outage);
                *seen.entry(outage).or_default() += 1;
                // Now and then a tunnel is cut for hours: more lines than a buffer holds.
                let long = outage == Outage::Tunnel && random.below(4) == 0;
                change_at = second + if long { 11_000 + random.below(3_000) } else { 20 + random.below(1_200) };
            }
        }
        soak.print(now, &mut random, &mut printed);
        soak.tick(now);
        let Some((outage, ended)) = recovering else { continue };
        let connection = soak.watch.connection();
        let fresh_s = soak.list_age_s.unwrap_or(f64::MAX);
        let recovered = connection.failure.is_none() && (outage == Outage::Tunnel || fresh_s <= 90.0);
        if recovered && connection.last_ok_at.is_some_and(|ok| ok >= at(ended)) {
            recovering = None;
        } else if outage == Outage::Tunnel {
            assert!(soak.polls_since < 2, "{outage:?} ended at {ended} s, now {second} s: {connection:?}");
        } else {
            // The list is read every 60 s; the poll after that shows it.
            assert!(second - ended <= 60 + 60 + 2 * 10, "{outage:?} ended at {ended} s, now {second} s: {connection:?}");
        }
    }
    assert!(seen.len() == 3 && seen.values().all(|count| *count >= 5), "{seen:?}");
    let kept = soak.kept();
    let mut lines = 0;
    for (uuid, readable) in &soak.readable {
        let missing: Vec<&String> = readable.difference(&kept[uuid]).take(5).collect();
        assert!(
            missing.is_empty(),
            "{uuid}: {} could be read and {} are kept; missing: {missing:?}",
            readable.len(),
            kept[uuid].len()
        );
        lines += readable.len();
        assert_eq!(kept[uuid].len(), readable.len(), "{uuid}");
    }
    assert!(lines > 150_000 && (lines as u64) < printed, "{lines} of {printed}");
}
