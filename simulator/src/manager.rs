//! The manager as the real one behaves, its faults included: unguarded transitions, volatile buffers, a stale copy of
//! vast.ai's list, timers. Source of every rule: the manager's source and the captures taken from it.
//!
//! Every `now` here is the manager's own clock, which can be wrong.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use dwell_wire as wire;
use jiff::Timestamp;

use crate::conditions::ManagerTrouble;
use crate::gauges::Reading;

/// Lines that one instance's buffer holds; when full, its oldest tenth is dropped.
pub const BUFFER_LINES_MAX: usize = 10_000;
/// Lines that the manager's own log holds.
pub const MANAGER_LOG_LINES_MAX: usize = 5_000;
/// Bytes of a log push that are read; the rest is dropped in silence.
pub const PUSH_BYTES_MAX: usize = 256 * 1024;

const MINUTE_MS: i64 = 60_000;
/// The first copy of vast.ai's list comes this long after the start, the others every minute.
pub(crate) const FIRST_LISTING_MS: i64 = 10_000;
/// Time between two rounds of the monitor.
pub(crate) const MONITOR_EVERY_MS: i64 = MINUTE_MS;

/// A row of the manager's database: survives a restart.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) uuid: String,
    pub(crate) label: String,
    pub(crate) runner_id: u64,
    pub(crate) state: &'static str,
    pub(crate) min_rate: f64,
    pub(crate) registered_at: Timestamp,
    pub(crate) param_done_at: Option<Timestamp>,
    pub(crate) bench_done_at: Option<Timestamp>,
    pub(crate) bench_rate: Option<f64>,
    pub(crate) killed_at: Option<Timestamp>,
    pub(crate) kill_reason: Option<String>,
}

/// What vast.ai's record says that does not change while an instance is rented.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fixed {
    /// `C.<vast_id>`: what a row without a label at vast.ai is matched by.
    pub(crate) numbered: String,
    /// The record in the dashboard's own fields; what changes is filled in.
    pub(crate) shown: wire::Instance,
}

/// An instance as vast.ai's list shows it.
#[derive(Debug, Clone)]
pub(crate) struct VastRecord {
    pub(crate) vast_id: u64,
    pub(crate) label: Option<Arc<str>>,
    pub(crate) start_date_s: f64,
    pub(crate) reading: Reading,
    pub(crate) status_msg: Option<Arc<str>>,
    /// Ports are mapped: `ssh_cmd` can be made.
    pub(crate) has_ports: bool,
    pub(crate) fixed: Arc<Fixed>,
}

/// The vast.ai command line client as the manager runs it: it looks at the exit status and at nothing else.
pub(crate) trait VastClient {
    /// `show instances --raw`, or the end of the line that the monitor logs.
    fn list(&mut self) -> Result<Vec<VastRecord>, String>;
    /// `destroy instance`: `Ok` for exit status 0, else what the manager logs.
    fn destroy(&mut self, vast_id: u64) -> Result<(), String>;
}

/// An answer with a status: the manager's refusals.
pub(crate) type Refusal = (u16, String);

#[derive(Debug, Clone)]
struct Line {
    src: Cow<'static, str>,
    text: Box<str>,
    at_ms: i64,
}

impl Line {
    fn wire(&self) -> wire::LogLine {
        wire::LogLine {
            src: Some(self.src.clone().into_owned()),
            text: Some(self.text.to_string()),
            ts: u64::try_from(self.at_ms).ok(),
        }
    }
}

/// Where the bytes of every log push went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogBytes {
    /// Arrived in pushes.
    pub arrived: u64,
    /// Text of the lines in the buffers.
    pub kept: u64,
    /// Text of lines dropped because their buffer was full.
    pub evicted: u64,
    /// Beyond the 256 KiB of a push that are read.
    pub truncated: u64,
    /// Text of lines that a restart lost.
    pub lost_at_restart: u64,
    /// Line ends.
    pub line_ends: u64,
}

/// The manager: a database, and what it holds only in memory.
#[derive(Debug, Clone, Default)]
pub struct Manager {
    pub(crate) trouble: ManagerTrouble,
    rows: Vec<Row>,
    bad_hosts: BTreeMap<String, (String, Timestamp)>,
    host_perf: BTreeMap<u64, wire::HostPerf>,
    next_runner_id: u64,
    // In memory only, lost at a restart:
    buffers: HashMap<String, VecDeque<Line>>,
    log: VecDeque<Line>,
    cache: Vec<VastRecord>,
    cached_at: Option<Timestamp>,
    bytes: LogBytes,
    up: bool,
}

impl Manager {
    pub(crate) fn started(now: Timestamp) -> Self {
        let mut manager = Self { next_runner_id: 1, ..Self::default() };
        manager.start(now);
        manager
    }

    /// Starts the process: empty buffers, no copy of vast.ai's list.
    pub(crate) fn start(&mut self, now: Timestamp) {
        self.stop();
        self.up = true;
        self.say(now, "Web UI listening on 127.0.0.1:1236");
        self.say(now, "API server listening on 127.0.0.1:1235");
    }

    /// Ends the process.
    pub(crate) fn stop(&mut self) {
        self.up = false;
        self.buffers.clear();
        self.bytes.lost_at_restart += self.bytes.kept;
        self.bytes.kept = 0;
        self.log.clear();
        self.cache.clear();
        self.cached_at = None;
    }

    /// Whether the process runs.
    pub fn is_up(&self) -> bool {
        self.up
    }

    /// Where the bytes of every push went. `arrived` is the sum of the rest.
    pub fn log_bytes(&self) -> LogBytes {
        self.bytes
    }

    fn say(&mut self, now: Timestamp, text: impl AsRef<str>) {
        if self.log.len() >= MANAGER_LOG_LINES_MAX {
            self.log.drain(..MANAGER_LOG_LINES_MAX / 10);
        }
        let text = format!("{} {}", now.strftime("%Y/%m/%d %H:%M:%S"), text.as_ref());
        #[cfg(test)]
        crate::world::heard::hear(dwell_real_texts::Place::Manager, &text);
        self.log.push_back(Line { src: Cow::Borrowed("manager"), text: text.into(), at_ms: now.as_millisecond() });
    }

    fn row(&mut self, uuid: &str) -> Option<&mut Row> {
        self.rows.iter_mut().rev().find(|row| row.uuid == uuid)
    }

    fn written(&self) -> Result<(), Refusal> {
        if self.trouble.database_locked { Err((500, "database is locked".to_owned())) } else { Ok(()) }
    }

    /// `POST /register`. `fresh_uuid` is used only for a label that has no live row.
    pub(crate) fn register(
        &mut self,
        label: &str,
        min_rate: f64,
        fresh_uuid: String,
        now: Timestamp,
    ) -> Result<(String, u64), Refusal> {
        self.written()?;
        let min_rate = if min_rate <= 0.0 { 50.0 } else { min_rate };
        let known = self.rows.iter().rev().find(|row| row.label == label && row.state != "killed");
        if let Some(row) = known.filter(|_| !self.trouble.lookup_fails) {
            let (uuid, runner_id) = (row.uuid.clone(), row.runner_id);
            self.say(now, format!("[register] re-register label={label} uuid={uuid} runner_id={runner_id}"));
            return Ok((uuid, runner_id));
        }
        let runner_id = self.next_runner_id;
        self.next_runner_id += 1;
        self.say(now, format!("[register] new label={label} uuid={fresh_uuid} runner_id={runner_id} min_rate={min_rate:.1}"));
        self.rows.push(Row {
            uuid: fresh_uuid.clone(),
            label: label.to_owned(),
            runner_id,
            state: "registered",
            min_rate,
            registered_at: whole_second(now),
            param_done_at: None,
            bench_done_at: None,
            bench_rate: None,
            killed_at: None,
            kill_reason: None,
        });
        Ok((fresh_uuid, runner_id))
    }

    /// `POST /param-done`: acts only in `registered`, answers ok in any other state of an instance that it knows.
    pub(crate) fn param_done(&mut self, uuid: &str, now: Timestamp) -> Result<(), Refusal> {
        self.written()?;
        let time_lost = self.trouble.param_time_lost;
        let Some(row) = self.row(uuid) else {
            return Err((404, "instance not found".to_owned()));
        };
        if row.state == "registered" {
            row.state = "params_done";
            row.param_done_at = Some(whole_second(now)).filter(|_| !time_lost);
            self.say(now, format!("[param-done] uuid={uuid}"));
        } else {
            let state = row.state;
            self.say(now, format!("[param-done] uuid={uuid} already in state={state}, no-op"));
        }
        Ok(())
    }

    /// `POST /bench-done`: does not look at the state, so a killed row comes back with `killed_at` still set. Below the
    /// minimum rate the row is killed and the rental destroyed.
    pub(crate) fn bench_done(
        &mut self,
        uuid: &str,
        rate: f64,
        client: &mut dyn VastClient,
        now: Timestamp,
    ) -> Result<bool, Refusal> {
        self.written()?;
        let Some(row) = self.row(uuid) else {
            return Err((404, "instance not found".to_owned()));
        };
        let (min_rate, label) = (row.min_rate, row.label.clone());
        let passed = rate >= min_rate;
        row.bench_done_at = Some(whole_second(now));
        row.bench_rate = Some(rate);
        if passed {
            row.state = "bench_done";
        } else {
            row.state = "killed";
            row.killed_at = Some(whole_second(now));
            row.kill_reason = Some(format!("bench_rate {rate:.1} below min_rate {min_rate:.1}"));
        }
        self.say(now, format!("[bench-done] uuid={uuid} rate={rate:.1} min_rate={min_rate:.1} passed={passed}"));
        let record = self.cache.iter().find(|record| record.matches(&label)).cloned();
        if let Some(record) = &record {
            self.remember_perf(record, rate, now);
        }
        // It knows the rental by the number in the label, listed or not.
        let numbered = || label.strip_prefix("C.").and_then(|number| number.parse().ok());
        if let Some(vast_id) = record.map(|record| record.vast_id).or_else(numbered).filter(|_| !passed) {
            self.destroy(vast_id, client, now);
        }
        Ok(passed)
    }

    fn remember_perf(&mut self, record: &VastRecord, rate: f64, now: Timestamp) {
        let shown = &record.fixed.shown;
        let Some(machine_id) = shown.machine_id else { return };
        let best = self.host_perf.entry(machine_id).or_default();
        if best.bench_rate.is_none_or(|known| rate > known) {
            *best = wire::HostPerf {
                machine_id: Some(machine_id),
                gpu_name: shown.gpu_name.clone(),
                num_gpus: shown.num_gpus,
                bench_rate: Some(rate),
                cpu_ram_mb: shown.cpu_ram_mb,
                measured_at: Some(whole_second(now)),
            };
        }
    }

    /// Has the client destroy a rental, and believes its exit status.
    fn destroy(&mut self, vast_id: u64, client: &mut dyn VastClient, now: Timestamp) {
        match client.destroy(vast_id) {
            Ok(()) => self.say(now, format!("[monitor] destroyed vast instance {vast_id}")),
            Err(why) => self.say(now, format!("[monitor] failed to destroy vast instance {vast_id}: {why}")),
        }
    }

    /// `POST /running`: from any state but killed, so `bench_done` can be skipped.
    pub(crate) fn running(&mut self, uuid: &str, now: Timestamp) -> Result<(), Refusal> {
        self.written()?;
        match self.row(uuid).filter(|row| row.state != "killed") {
            Some(row) => row.state = "running",
            None => return Err((404, "instance not found or already killed".to_owned())),
        }
        self.say(now, format!("[running] uuid={uuid}"));
        Ok(())
    }

    /// `GET /runner-id`.
    pub(crate) fn runner_id(&self, uuid: &str) -> Option<u64> {
        self.rows.iter().find(|row| row.uuid == uuid).map(|row| row.runner_id)
    }

    /// `POST /api/log-push`: cut at 256 KiB in silence, any uuid accepted, empty lines dropped, every line stamped with
    /// its arrival.
    pub(crate) fn log_push(&mut self, uuid: &str, source: &str, body: &[u8], now: Timestamp) {
        let read = String::from_utf8_lossy(&body[..body.len().min(PUSH_BYTES_MAX)]);
        let truncated = body.len().saturating_sub(PUSH_BYTES_MAX) as u64;
        self.bytes.arrived += read.len() as u64 + truncated;
        self.bytes.truncated += truncated;
        if !self.buffers.contains_key(uuid) {
            self.buffers.insert(uuid.to_owned(), VecDeque::new());
        }
        let Some(buffer) = self.buffers.get_mut(uuid) else { return };
        let src = known_source(source);
        let mut text_bytes = 0;
        for line in read.split('\n').filter(|line| !line.is_empty()) {
            if buffer.len() >= BUFFER_LINES_MAX {
                let evicted: u64 = buffer.drain(..BUFFER_LINES_MAX / 10).map(|line| line.text.len() as u64).sum();
                self.bytes.evicted += evicted;
                self.bytes.kept -= evicted;
            }
            buffer.push_back(Line { src: src.clone(), text: line.into(), at_ms: now.as_millisecond() });
            self.bytes.kept += line.len() as u64;
            text_bytes += line.len() as u64;
        }
        self.bytes.line_ends += read.len() as u64 - text_bytes;
    }

    /// `GET /api/instance-logs/{uuid}`: an unknown uuid answers like a silent instance, and gets a buffer.
    pub(crate) fn instance_logs(&mut self, uuid: &str, tail: usize, source: Option<&str>) -> Vec<wire::LogLine> {
        let buffer = self.buffers.entry(uuid.to_owned()).or_default();
        let of_source = |line: &&Line| source.is_none_or(|source| line.src == source);
        let mut newest: Vec<wire::LogLine> = buffer.iter().rev().filter(of_source).take(tail).map(Line::wire).collect();
        newest.reverse();
        newest
    }

    /// `GET /api/manager-logs`.
    pub(crate) fn manager_logs(&self, tail: usize) -> Vec<wire::LogLine> {
        self.log.iter().skip(self.log.len().saturating_sub(tail)).map(Line::wire).collect()
    }

    /// `POST /api/kill`: the row becomes killed even where destroying fails.
    pub(crate) fn kill(&mut self, vast_id: u64, uuid: &str, client: &mut dyn VastClient, now: Timestamp) {
        let locked = self.trouble.database_locked;
        if vast_id != 0 {
            self.say(now, format!("[kill] manually destroying vast instance {vast_id} (uuid={uuid})"));
            self.destroy(vast_id, client, now);
        }
        if let Some(row) = self.row(uuid).filter(|row| !locked && row.state != "killed") {
            row.state = "killed";
            row.killed_at = Some(whole_second(now));
            row.kill_reason = Some("manually killed via UI".to_owned());
        }
    }

    /// `POST /bad-host`.
    pub(crate) fn add_bad_host(&mut self, machine_id: &str, reason: &str, now: Timestamp) {
        self.say(now, format!("[bad-host] added machine_id={machine_id} reason={reason}"));
        self.bad_hosts.insert(machine_id.to_owned(), (reason.to_owned(), whole_second(now)));
    }

    /// `DELETE /bad-host/{machine_id}`.
    pub(crate) fn remove_bad_host(&mut self, machine_id: &str, now: Timestamp) -> bool {
        let removed = self.bad_hosts.remove(machine_id).is_some();
        if removed {
            self.say(now, format!("[bad-host] removed machine_id={machine_id}"));
        }
        removed
    }

    /// `GET /bad-host`.
    pub(crate) fn bad_hosts(&self) -> Vec<wire::BadHostEntry> {
        self.bad_hosts
            .iter()
            .map(|(machine_id, (reason, added_at))| wire::BadHostEntry {
                machine_id: Some(machine_id.clone()),
                reason: Some(reason.clone()),
                added_at: Some(*added_at),
            })
            .collect()
    }

    pub(crate) fn bad_host(&self, machine_id: u64) -> Option<&str> {
        self.bad_hosts.get(&machine_id.to_string()).map(|(reason, _)| reason.as_str())
    }

    pub(crate) fn best_rate(&self, machine_id: u64) -> Option<f64> {
        self.host_perf.get(&machine_id)?.bench_rate
    }

    /// `GET /api/host-perf`: the best rate ever of each machine.
    pub(crate) fn host_perf(&self) -> Vec<wire::HostPerf> {
        self.host_perf.values().cloned().collect()
    }

    /// Says that a deployment was asked for.
    pub(crate) fn say_deploy(&mut self, offer_id: u64, output: &str, now: Timestamp) {
        self.say(now, format!("[deploy] offer={offer_id} output: {output}"));
    }

    /// One round of the monitor: copies vast.ai's list, then destroys, kills and deletes by its rules. Where the list
    /// cannot be had, the old copy is kept and nothing else is done.
    pub(crate) fn monitor(&mut self, client: &mut dyn VastClient, now: Timestamp) {
        match client.list() {
            Ok(listing) => self.cache = listing,
            Err(why) => {
                return self.say(now, format!("[monitor] error: enumerate vast instances: {why} (will retry next cycle)"));
            }
        }
        self.cached_at = Some(now);
        self.say(now, format!("[monitor] cached {} vast instances", self.cache.len()));
        let cache = std::mem::take(&mut self.cache);
        self.reap(&cache, client, now);
        self.time_out(&cache, client, now);
        self.cache = cache;
        let week_ago = plus_ms(now, -7 * 24 * 60 * MINUTE_MS);
        self.rows.retain(|row| row.state != "killed" || row.killed_at.is_none_or(|at| at > week_ago));
    }

    /// Destroys what is on a bad host, and what carries a label and has not registered within 15 minutes.
    fn reap(&mut self, cache: &[VastRecord], client: &mut dyn VastClient, now: Timestamp) {
        let any_labelled = cache.iter().any(|record| record.label.is_some());
        let registered: BTreeSet<&str> =
            if any_labelled { self.rows.iter().map(|row| row.label.as_str()).collect() } else { BTreeSet::new() };
        let mut doomed = Vec::new();
        for record in cache {
            // Whole seconds of the start, as the captured ages tell.
            let age_s = now.as_millisecond() as f64 / 1000.0 - record.start_date_s.trunc();
            let machine = record.fixed.shown.machine_id.unwrap_or(0);
            if !self.bad_hosts.is_empty()
                && let Some(reason) = self.bad_host(machine)
            {
                let label = record.label.as_deref().unwrap_or_default();
                let line = format!(
                    "[monitor] killing instance {} (label={label}) \u{2014} bad host {machine}: {reason}",
                    record.vast_id
                );
                let label = record.label.as_deref().unwrap_or(&record.fixed.numbered).to_owned();
                doomed.push((record.vast_id, line, Some((label, format!("bad host {machine}: {reason}")))));
            } else if let Some(label) = &record.label
                && age_s > 15.0 * 60.0
                && !record.labels().any(|label| registered.contains(label))
            {
                let age = go_duration(age_s);
                let line = format!("[monitor] killing unregistered instance {} (label={label}, age={age})", record.vast_id);
                doomed.push((record.vast_id, line, None));
            }
        }
        let locked = self.trouble.database_locked;
        for (vast_id, line, row) in doomed {
            self.say(now, line);
            self.destroy(vast_id, client, now);
            let Some((label, reason)) = row.filter(|_| !locked) else { continue };
            for row in self.rows.iter_mut().filter(|row| row.label == label && row.state != "killed") {
                row.state = "killed";
                row.killed_at = Some(whole_second(now));
                row.kill_reason = Some(reason.clone());
            }
        }
    }

    /// Kills rows whose rental is gone or whose timer has run out.
    fn time_out(&mut self, cache: &[VastRecord], client: &mut dyn VastClient, now: Timestamp) {
        let by_label = ByLabel::of(cache);
        let locked = self.trouble.database_locked;
        let mut events = Vec::new();
        for row in self.rows.iter_mut().filter(|row| row.state != "killed") {
            let vast_id = by_label.find(&row.label).map(|record| record.vast_id);
            let passed = |at: Timestamp| now.as_millisecond() - at.as_millisecond();
            let mut age_ms = 0;
            let reason = if vast_id.is_none() {
                "instance disappeared from vast"
            } else if row.state == "registered" && passed(row.registered_at) > 90 * MINUTE_MS {
                age_ms = passed(row.registered_at);
                "param fetch timeout (90min)"
            } else if row.state == "params_done" {
                match row.param_done_at {
                    Some(at) if passed(at) > 45 * MINUTE_MS => {
                        age_ms = passed(at);
                        "benchmark timeout (45min)"
                    }
                    Some(_) => continue,
                    None => {
                        events.push((None, format!("[monitor] bad timestamp for uuid={}: ", row.uuid)));
                        continue;
                    }
                }
            } else {
                continue;
            };
            events.push(match vast_id {
                Some(vast_id) => {
                    let age = go_duration(age_ms as f64 / 1000.0);
                    (Some(vast_id), format!("[monitor] killing uuid={} (state={}, age={age}): {reason}", row.uuid, row.state))
                }
                None => {
                    let (uuid, label, state) = (&row.uuid, &row.label, row.state);
                    (None, format!("[monitor] {reason} uuid={uuid} label={label} state={state}"))
                }
            });
            if !locked {
                row.state = "killed";
                row.killed_at = Some(whole_second(now));
                row.kill_reason = Some(reason.to_owned());
            }
        }
        for (vast_id, line) in events {
            self.say(now, line);
            if let Some(vast_id) = vast_id {
                self.destroy(vast_id, client, now);
            }
        }
    }

    /// `GET /api/dashboard`.
    pub(crate) fn dashboard(&self, now: Timestamp) -> wire::Dashboard {
        let by_label = ByLabel::of(&self.cache);
        let mut instances = Vec::with_capacity(self.rows.len() + 8);
        let mut matched = BTreeSet::new();
        let unreadable = |row: &Row| self.trouble.drops_every.is_some_and(|every| row.runner_id.is_multiple_of(every));
        for row in self.rows.iter().rev().filter(|row| !unreadable(row)) {
            let record = by_label.find(&row.label);
            matched.extend(record.map(|record| record.vast_id));
            instances.push(self.shown_row(row, record));
        }
        for record in self.cache.iter().filter(|record| !matched.contains(&record.vast_id)) {
            instances.push(wire::Instance { state: Some("loading".to_owned()), ..record.shown() });
        }
        let cache_age_s = match self.cached_at {
            Some(at) => (now.as_millisecond() - at.as_millisecond()) as f64 / 1000.0,
            // The real one subtracts a zero time and saturates: about 292 years.
            None => 9_223_372_036.854_776,
        };
        wire::Dashboard {
            summary: summary(&instances),
            instances,
            bad_hosts: self.bad_hosts(),
            updated_at: Some(now),
            vast_cache_age_s: Some(cache_age_s),
            instances_unreadable: 0,
        }
    }

    /// `GET /status`.
    pub(crate) fn status(&self) -> Vec<wire::Instance> {
        self.rows.iter().rev().map(life_of).collect()
    }

    fn shown_row(&self, row: &Row, record: Option<&VastRecord>) -> wire::Instance {
        let life = life_of(row);
        let lines = self.buffers.get(&row.uuid).map_or(0, VecDeque::len) as u64;
        let vast = record.map(VastRecord::shown).unwrap_or_default();
        wire::Instance {
            price_per_proof: vast
                .dph_total
                .zip(row.bench_rate)
                .filter(|(_, rate)| *rate > 0.0)
                .map(|(dollars, rate)| dollars / rate),
            has_logs: Some(lines > 0),
            log_lines: Some(lines),
            uuid: life.uuid,
            label: life.label,
            runner_id: life.runner_id,
            state: life.state,
            min_rate: life.min_rate,
            registered_at: life.registered_at,
            param_done_at: life.param_done_at,
            bench_done_at: life.bench_done_at,
            bench_rate: life.bench_rate,
            killed_at: life.killed_at,
            kill_reason: life.kill_reason,
            ..vast
        }
    }
}

/// Looks records up by a row's label: by number for `C.<vast_id>`, by vast.ai's label otherwise.
struct ByLabel<'a> {
    records: &'a [VastRecord],
    /// Only those that carry a label at vast.ai.
    labelled: HashMap<&'a str, &'a VastRecord>,
}

impl<'a> ByLabel<'a> {
    /// Of records in the order of their numbers, as vast.ai lists them.
    fn of(records: &'a [VastRecord]) -> Self {
        let labelled = records.iter().filter_map(|record| Some((record.label.as_deref()?, record))).collect();
        Self { records, labelled }
    }

    fn find(&self, label: &str) -> Option<&'a VastRecord> {
        let by_number = || {
            let number: u64 = label.strip_prefix("C.")?.parse().ok()?;
            let place = self.records.binary_search_by_key(&number, |record| record.vast_id).ok()?;
            self.records.get(place).filter(|record| record.fixed.numbered == label)
        };
        self.labelled.get(label).copied().or_else(by_number)
    }
}

impl VastRecord {
    /// Matched by its label, or by its number in a label `C.<vast_id>`.
    fn matches(&self, label: &str) -> bool {
        self.labels().any(|own| own == label)
    }

    fn labels(&self) -> impl Iterator<Item = &str> {
        self.label.as_deref().into_iter().chain([self.fixed.numbered.as_str()])
    }

    /// As the dashboard shows it: the record joined blindly, whatever state vast.ai says it is in.
    fn shown(&self) -> wire::Instance {
        let fixed = &self.fixed.shown;
        let ssh = self.has_ports.then(|| fixed.ssh_cmd.clone()).flatten();
        wire::Instance {
            vast_id: Some(self.vast_id),
            label: self.label.as_deref().map(str::to_owned),
            start_date: Some(self.start_date_s),
            ssh_cmd: ssh,
            public_ip: fixed.public_ip.clone().filter(|_| self.has_ports),
            gpu_util: Some(self.reading.gpu_util),
            gpu_temp: Some(self.reading.gpu_temp),
            cpu_util: Some(self.reading.cpu_util),
            mem_usage_gb: Some(self.reading.memory_gb),
            status_msg: self.status_msg.as_deref().map(str::to_owned),
            ..fixed.clone()
        }
    }
}

/// The usual sources without an allocation each.
fn known_source(source: &str) -> Cow<'static, str> {
    let usual = ["setup", "benchdaemon", "benchout", "cuzk", "curio"].into_iter().find(|usual| *usual == source);
    match usual {
        Some(usual) => Cow::Borrowed(usual),
        None if source.is_empty() => Cow::Borrowed("unknown"),
        None => Cow::Owned(source.to_owned()),
    }
}

fn life_of(row: &Row) -> wire::Instance {
    wire::Instance {
        uuid: Some(row.uuid.clone()),
        label: Some(row.label.clone()),
        runner_id: Some(row.runner_id),
        state: Some(row.state.to_owned()),
        min_rate: Some(row.min_rate),
        registered_at: Some(row.registered_at),
        param_done_at: row.param_done_at,
        bench_done_at: row.bench_done_at,
        bench_rate: row.bench_rate,
        killed_at: row.killed_at,
        kill_reason: row.kill_reason.clone(),
        ..wire::Instance::default()
    }
}

/// The manager's own counts, misleading as they are.
fn summary(instances: &[wire::Instance]) -> wire::Summary {
    let count = |states: &[&str]| {
        Some(instances.iter().filter(|row| row.state.as_deref().is_some_and(|state| states.contains(&state))).count() as u64)
    };
    let running = || instances.iter().filter(|row| row.state.as_deref() == Some("running"));
    let dollars: f64 = running().filter_map(|row| row.dph_total).sum();
    let proofs: f64 = running().filter_map(|row| row.bench_rate).sum();
    wire::Summary {
        total: Some(instances.len() as u64),
        running: count(&["running"]),
        benching: count(&["params_done", "bench_done"]),
        fetching: count(&["registered"]),
        loading: count(&["loading"]),
        killed: count(&["killed"]),
        total_dph: Some(dollars),
        total_proofs_hour: Some(proofs),
        avg_price_per_proof: Some(if proofs > 0.0 { dollars / proofs } else { 0.0 }),
        total_gpus: Some(running().filter_map(|row| row.num_gpus).sum()),
    }
}

pub(crate) fn plus_ms(at: Timestamp, ms: i64) -> Timestamp {
    Timestamp::from_millisecond(at.as_millisecond().saturating_add(ms)).unwrap_or(at)
}

fn whole_second(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

/// As Go prints a duration rounded to seconds: `1h32m48s`.
fn go_duration(seconds: f64) -> String {
    let total = seconds.max(0.0).round() as u64;
    match total {
        0..60 => format!("{total}s"),
        60..3600 => format!("{}m{}s", total / 60, total % 60),
        _ => format!("{}h{}m{}s", total / 3600, total / 60 % 60, total % 60),
    }
}

#[cfg(test)]
#[path = "manager/replay.rs"]
mod replay;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millisecond(1_796_092_892_896 + ms).unwrap()
    }

    fn record(vast_id: u64) -> VastRecord {
        VastRecord {
            vast_id,
            label: Some(format!("C.{vast_id}").into()),
            start_date_s: 1_796_092_000.0,
            reading: Reading::default(),
            status_msg: None,
            has_ports: true,
            fixed: Arc::new(Fixed {
                numbered: format!("C.{vast_id}"),
                shown: wire::Instance {
                    dph_total: Some(0.31),
                    num_gpus: Some(1),
                    machine_id: Some(40_100),
                    ..Default::default()
                },
            }),
        }
    }

    /// A client that lists what it is told to, and notes what it is asked to destroy.
    #[derive(Default)]
    struct Client {
        lists: Vec<u64>,
        destroyed: Vec<u64>,
    }

    impl VastClient for Client {
        fn list(&mut self) -> Result<Vec<VastRecord>, String> {
            Ok(self.lists.iter().copied().map(record).collect())
        }

        fn destroy(&mut self, vast_id: u64) -> Result<(), String> {
            self.destroyed.push(vast_id);
            Ok(())
        }
    }

    fn listing(lists: &[u64]) -> Client {
        Client { lists: lists.to_vec(), destroyed: Vec::new() }
    }

    /// The life that the captures show: registered twice under one label, benchmarked, killed, back from the dead.
    #[test]
    fn a_killed_row_that_reports_late_comes_back() {
        let mut manager = Manager::started(at(0));
        let mut client = Client::default();
        let (uuid, _) = manager.register("C.31000020", 0.0, "u1".into(), at(1)).unwrap();
        let again = manager.register("C.31000020", 9.0, "u2".into(), at(2)).unwrap();
        assert_eq!(again.0, uuid, "same label, not killed: same uuid");
        assert_eq!(manager.bench_done(&uuid, 0.0, &mut client, at(3)), Ok(false));
        let row = &manager.dashboard(at(4)).instances[0];
        assert_eq!(
            (row.state.as_deref(), row.kill_reason.as_deref()),
            (Some("killed"), Some("bench_rate 0.0 below min_rate 50.0"))
        );
        assert!(manager.running(&uuid, at(5)).is_err());
        assert_eq!(manager.bench_done(&uuid, 60.0, &mut client, at(6)), Ok(true));
        let row = &manager.dashboard(at(7)).instances[0];
        assert!(row.state.as_deref() == Some("bench_done") && row.killed_at.is_some());
        assert_eq!(client.destroyed, [31_000_020], "by the number in its label");
    }

    #[test]
    fn a_restart_empties_buffers_and_list_but_not_the_rows() {
        let mut manager = Manager::started(at(0));
        let (uuid, _) = manager.register("C.31000010", 30.0, "u1".into(), at(1)).unwrap();
        manager.monitor(&mut listing(&[31_000_010, 31_000_016]), at(2));
        manager.log_push(&uuid, "setup", b"one\n\ntwo\n", at(3));
        let before = manager.dashboard(at(4));
        assert_eq!((before.instances.len(), before.instances[0].log_lines), (2, Some(2)));
        manager.start(at(5));
        let after = manager.dashboard(at(6));
        assert_eq!((after.instances.len(), after.instances[0].log_lines, after.instances[0].vast_id), (1, Some(0), None));
        assert!(after.vast_cache_age_s.unwrap() > 9.0e9);
        assert!(manager.manager_logs(1)[0].text.as_deref().unwrap().ends_with("API server listening on 127.0.0.1:1235"));
        let bytes = manager.log_bytes();
        assert_eq!((bytes.arrived, bytes.kept, bytes.lost_at_restart, bytes.line_ends), (9, 0, 6, 3));
    }

    #[test]
    fn an_unknown_uuid_answers_like_a_silent_instance() {
        let mut manager = Manager::started(at(0));
        assert!(manager.instance_logs("nobody", 10, None).is_empty());
        manager.log_push("stranger", "setup", b"hello", at(1));
        assert_eq!(manager.instance_logs("stranger", 10, None).len(), 1);
        assert!(manager.instance_logs("stranger", 10, Some("cuzk")).is_empty());
    }

    #[test]
    fn a_full_buffer_drops_its_oldest_tenth_and_a_long_push_its_end() {
        let mut manager = Manager::started(at(0));
        let push: String = (0..5_000).map(|n| format!("line {n}\n")).collect();
        manager.log_push("u", "setup", push.as_bytes(), at(1));
        manager.log_push("u", "setup", push.as_bytes(), at(2));
        manager.log_push("u", "setup", b"one more", at(3));
        let lines = manager.instance_logs("u", 20_000, None);
        assert_eq!((lines.len(), lines[0].text.as_deref()), (9_001, Some("line 1000")));
        manager.log_push("v", "setup", &vec![b'x'; 1 << 20], at(4));
        assert_eq!(manager.instance_logs("v", 1, None)[0].text.as_ref().unwrap().len(), 256 * 1024);
        let bytes = manager.log_bytes();
        assert_eq!(bytes.truncated, (1 << 20) - 256 * 1024);
        assert_eq!(bytes.arrived, bytes.kept + bytes.evicted + bytes.truncated + bytes.line_ends);
    }

    #[test]
    fn the_monitor_kills_by_its_timers() {
        let minutes = |m: i64| at(m * MINUTE_MS + 1_000);
        let mut manager = Manager::started(at(0));
        for (label, uuid) in [("C.1", "fetching"), ("C.2", "benching"), ("C.3", "gone")] {
            manager.register(label, 30.0, uuid.into(), at(0)).unwrap();
        }
        manager.param_done("benching", at(0)).unwrap();
        let mut client = listing(&[1, 2, 4]);
        manager.monitor(&mut client, minutes(1));
        assert_eq!(client.destroyed, [4], "unregistered, labelled, older than 15 min");
        manager.monitor(&mut client, minutes(44));
        assert_eq!(client.destroyed, [4, 4], "still listed, still destroyed; the timers not yet");
        manager.monitor(&mut client, minutes(46));
        assert_eq!(client.destroyed, [4, 4, 4, 2]);
        manager.monitor(&mut client, minutes(91));
        assert_eq!(client.destroyed, [4, 4, 4, 2, 4, 1]);
        let reasons: Vec<_> = manager.status().into_iter().map(|row| row.kill_reason.unwrap()).collect();
        assert_eq!(reasons, ["instance disappeared from vast", "benchmark timeout (45min)", "param fetch timeout (90min)"]);
        manager.monitor(&mut listing(&[]), minutes(8 * 24 * 60));
        assert!(manager.status().is_empty(), "killed rows are deleted after a week");
    }

    /// The row is killed and the log says destroyed, whatever became of the rental: the exit status is all that is read.
    #[test]
    fn the_exit_status_is_believed() {
        struct Aborts;
        impl VastClient for Aborts {
            fn list(&mut self) -> Result<Vec<VastRecord>, String> {
                Ok(vec![record(2)])
            }
            fn destroy(&mut self, _: u64) -> Result<(), String> {
                Ok(())
            }
        }
        let mut manager = Manager::started(at(0));
        manager.register("C.2", 30.0, "u".into(), at(0)).unwrap();
        manager.monitor(&mut Aborts, at(1));
        manager.kill(2, "u", &mut Aborts, at(2));
        manager.monitor(&mut Aborts, at(MINUTE_MS));
        let row = &manager.dashboard(at(MINUTE_MS)).instances[0];
        assert_eq!((row.state.as_deref(), row.vast_id, row.dph_total), (Some("killed"), Some(2), Some(0.31)), "still billed");
        let log: Vec<String> = manager.manager_logs(10).into_iter().filter_map(|line| line.text).collect();
        assert!(log.iter().any(|line| line.ends_with("[monitor] destroyed vast instance 2")), "{log:?}");
    }

    #[test]
    fn money_spent_on_stuck_instances_is_not_in_the_summary() {
        let mut manager = Manager::started(at(0));
        let (uuid, _) = manager.register("C.1", 30.0, "u".into(), at(0)).unwrap();
        manager.param_done(&uuid, at(1)).unwrap();
        manager.monitor(&mut listing(&[1]), at(2));
        let summary = manager.dashboard(at(3)).summary;
        assert_eq!((summary.benching, summary.total_dph, summary.total_gpus), (Some(1), Some(0.0), Some(0)));
    }
}
