//! A look at the machine itself.

use dwell_fleet::look::{Asked, HostAnswer, HostSeen, LogFile, Reach, Smi};
use dwell_fleet::{GPU_BUSY_PERCENT, Timestamp, line_hash, seconds_between, shift};

use super::{FRESH_HOST_S, FRESH_WORDS_S, Gather, MINUTE, cut, shown};
use crate::catalogue::Phase;
use crate::channel::{Channel, Health};
use crate::fact::{self, Fact};
use crate::observe::log::{DAEMON_STARTS as MANY_STARTS, DAEMON_STARTS_WITHIN_S, REPORT_HEARD_WITHIN_S};
use crate::programs::Role;
use crate::signals::{DAEMON_STARTS, date_of};
use crate::signature::{Written, matches};

impl Gather<'_> {
    pub(super) fn host(&mut self) {
        let channel = Channel::SshProbe;
        let Some(Asked { at, answer }) = self.case.looks.host.clone() else {
            return self.channel(channel, Health::NotAsked, "nobody looked", None);
        };
        if !self.counts(channel, at, FRESH_HOST_S) {
            return;
        }
        let HostAnswer { direct, proxy, seen } = &answer;
        let inside = seen.is_some();
        let way = format!("direct: {}, proxy: {}", direct.as_str(), proxy.as_str());
        let facts = [
            (fact::SSH_TIMES_OUT, *direct == Reach::TimedOut && *proxy == Reach::TimedOut),
            (fact::SSH_REFUSED, *direct == Reach::Refused || (*proxy == Reach::Refused && *direct == Reach::NoAddress)),
            (fact::KEY_REFUSED, !inside && (*direct == Reach::KeyRefused || *proxy == Reach::KeyRefused)),
            (fact::NO_ADDRESS, *direct == Reach::NoAddress && *proxy == Reach::NoAddress),
            (fact::ONLY_BY_PROXY, inside && *direct != Reach::Connected),
        ];
        for (fact, holds) in facts {
            self.note(fact, holds, channel, at, FRESH_HOST_S, way.clone());
        }
        match seen {
            None => self.channel(channel, Health::Unreachable, format!("no way in: {way}"), Some(at)),
            Some(seen) => {
                let seen = &self.on_our_clock(seen);
                self.channel(channel, Health::Working, "the machine was looked at", Some(at));
                self.processes(seen, at);
                self.exits(seen, at);
                self.starts(seen, at);
                self.cards(seen, at);
                self.machine(seen, at);
                self.files(seen, at);
            }
        }
    }

    /// The machine's times on the manager's clock.
    pub(super) fn on_our_clock(&self, seen: &HostSeen) -> HostSeen {
        let skew_s = self.case.around.clock_skew_s.unwrap_or(0.0);
        let by_s = skew_s - seen.clock_ahead_s.unwrap_or(0.0);
        let mut seen = seen.clone();
        if by_s.abs() < 5.0 {
            return seen;
        }
        let moved = |at: &mut Timestamp| *at = shift(*at, by_s);
        seen.container_started_at.iter_mut().for_each(moved);
        seen.processes.iter_mut().flatten().filter_map(|it| it.started_at.as_mut()).for_each(moved);
        seen.exits.iter_mut().flatten().map(|it| &mut it.at).for_each(moved);
        seen.kernel.iter_mut().flatten().map(|(at, _)| at).for_each(moved);
        seen.files.iter_mut().flatten().filter_map(|it| it.modified_at.as_mut()).for_each(moved);
        seen
    }

    pub(super) fn processes(&mut self, seen: &HostSeen, at: Timestamp) {
        let Some(processes) = &seen.processes else { return };
        let channel = Channel::SshProbe;
        let listing: Vec<String> = processes.iter().map(|it| format!("{} {} {}", it.pid, it.state, it.program)).collect();
        let listing = cut(&format!("ps: {}", listing.join(", ")));
        let find = |role: Role| processes.iter().filter(|it| role.is(&it.program)).collect::<Vec<_>>();
        let around = self.case.around;
        let roles_seen = &around.roles_seen;
        // A name that was never seen running proves nothing by its absence: another image calls its own otherwise.
        let told = |role: Role| !role.is_named_by_image() || roles_seen.contains(&role);
        let fresh = FRESH_HOST_S;
        if !matches!(self.phase, Phase::Running) {
            self.note(fact::SCRIPT_GONE, find(Role::Entrypoint).is_empty(), channel, at, fresh, listing.clone());
        }
        if started_long_before(seen, at) {
            for (fact, role) in [(fact::TUNNEL_GONE, Role::Tunnel), (fact::SHIPPER_GONE, Role::Shipper)] {
                let gone = find(role).is_empty();
                if !gone || told(role) {
                    self.note(fact, gone, channel, at, fresh, listing.clone());
                }
            }
        }
        let fetch = find(Role::Fetcher);
        if self.phase == Phase::Registered {
            self.note(fact::FETCH_GONE, fetch.is_empty(), channel, at, fresh, listing.clone());
            if let Some(fetch) = fetch.first() {
                self.note(fact::FETCH_SLEEPS, fetch.state == 'S', channel, at, fresh, listing.clone());
            }
        }
        if self.works_on_card() {
            self.note(fact::FETCH_STILL_RUNS, !fetch.is_empty(), channel, at, fresh, listing.clone());
            let daemons = find(Role::Daemon);
            self.note(fact::DAEMON_GONE, daemons.is_empty(), channel, at, fresh, listing.clone());
            self.note(fact::TWO_DAEMONS, daemons.len() > 1, channel, at, fresh, listing.clone());
            if !daemons.is_empty() {
                let hangs = daemons.iter().any(|it| it.state == 'D');
                self.note(fact::DAEMON_HANGS_IN_DRIVER, hangs, channel, at, fresh, listing.clone());
            }
        }
        if self.phase == Phase::ParamsDone {
            let client = find(Role::BenchmarkClient);
            self.note(fact::BENCH_GONE, client.is_empty(), channel, at, fresh, listing.clone());
            // A script whose client runs is at work.
            let waits = client.is_empty() && !find(Role::BenchmarkScript).is_empty();
            self.note(fact::BENCH_WAITS, waits, channel, at, fresh, listing);
        }
    }

    /// What has ended, and how.
    pub(super) fn exits(&mut self, seen: &HostSeen, at: Timestamp) {
        let Some(exits) = &seen.exits else { return };
        let (channel, fresh) = (Channel::SshProbe, FRESH_HOST_S);
        let script = exits.iter().rev().find(|exit| exit.program.contains("entrypoint"));
        let code = script.map(|exit| exit.code);
        let text = script.map_or_else(
            || "no exit of the entrypoint".to_owned(),
            |exit| format!("entrypoint.sh: {} at {}", exit.code, exit.at),
        );
        for (fact, holds) in [
            (fact::SCRIPT_ENDED_WELL, code == Some(0)),
            (fact::SCRIPT_FAILED, code.is_some_and(|code| code != 0)),
            (fact::SCRIPT_LACKED_TOOL, code == Some(127)),
            (fact::SCRIPT_TIMED_OUT, code == Some(28)),
        ] {
            self.note(fact, holds, channel, at, fresh, text.clone());
        }
        if !self.works_on_card() {
            return;
        }
        let ended: Vec<_> =
            exits.iter().filter(|exit| exit.program.contains("cuzk-daemon") && exit.at >= shift(self.since, -30.0)).collect();
        let text = ended.last().map_or_else(
            || "no exit of the prover daemon".to_owned(),
            |exit| format!("cuzk-daemon: {} at {}", exit.code, exit.at),
        );
        for (fact, code) in [
            (fact::DAEMON_ENDED_1, 1),
            (fact::DAEMON_ENDED_127, 127),
            (fact::DAEMON_ENDED_132, 132),
            (fact::DAEMON_ENDED_134, 134),
            (fact::DAEMON_ENDED_136, 136),
            (fact::DAEMON_ENDED_137, 137),
            (fact::DAEMON_ENDED_139, 139),
        ] {
            self.note(fact, ended.last().is_some_and(|exit| exit.code == code), channel, at, fresh, text.clone());
        }
        let again = ended.iter().filter(|exit| exit.code != 0).count() >= 3;
        self.note(fact::DAEMON_ENDS_AGAIN, again, channel, at, fresh, text);
    }

    /// When the container started.
    pub(super) fn starts(&mut self, seen: &HostSeen, at: Timestamp) {
        if let Some(started) = seen.container_started_at {
            let over = seconds_between(self.since, started) > 60.0 && self.phase != Phase::Loading;
            let text = format!("the container started at {started}");
            self.note(fact::STARTED_OVER, over, Channel::SshProbe, at, FRESH_WORDS_S, text);
        }
    }

    pub(super) fn cards(&mut self, seen: &HostSeen, at: Timestamp) {
        let channel = Channel::SshProbe;
        let fresh = FRESH_HOST_S;
        if let Some(smi) = &seen.smi {
            let text = match smi {
                Smi::Failed(words) => cut(words),
                Smi::TimedOut => "nvidia-smi did not come back within ten seconds".to_owned(),
                Smi::Cards(cards) => format!("nvidia-smi: {} cards", cards.len()),
            };
            let failed = |needle: &str| matches!(smi, Smi::Failed(words) if words.contains(needle));
            for (fact, holds) in [
                (fact::CARD_LOST, failed("GPU is lost") || failed("device handle") || failed("fallen off")),
                (fact::SMI_TIMES_OUT, *smi == Smi::TimedOut),
                (fact::DRIVER_MISMATCH, failed("mismatch")),
                (fact::DEVICES_LOST, failed("Unknown Error") && !failed("device handle")),
            ] {
                self.note(fact, holds, channel, at, fresh, text.clone());
            }
            if let Smi::Cards(cards) = smi
                && self.works_on_card()
            {
                let loads: Vec<f64> = cards.iter().filter_map(|card| card.load_percent).collect();
                let busy = loads.iter().filter(|load| **load >= GPU_BUSY_PERCENT).count();
                let told = loads.len();
                let loads: Vec<String> = loads.iter().map(|load| format!("{load:.0} %")).collect();
                let text = cut(&format!("load {}", loads.join(", ")));
                if busy > 0 {
                    self.note(fact::GPU_IDLE, false, channel, at, fresh, text.clone());
                    self.note(fact::CARDS_IDLE, told > 1 && busy < told, channel, at, fresh, text);
                    // A power cap, low clocks while idle and clocks that somebody set are ordinary.
                    let why =
                        cards.iter().filter_map(|card| card.throttle_reason.as_deref()).find(|why| why.contains("Slowdown"));
                    self.note(fact::THROTTLED, why.is_some(), channel, at, fresh, cut(why.unwrap_or("Not Active")));
                }
                if let Some(width) = cards.iter().filter_map(|card| card.bus_width).min() {
                    self.note(fact::BUS_NARROW, width < 8, channel, at, fresh, format!("bus_width: {width}"));
                }
                if let Some(used) = cards.iter().filter_map(|card| card.memory_used_mib).max_by(f64::total_cmp) {
                    // One proof takes 10.5 GiB of the card; a fifth more is somebody else's, or lost.
                    let text = format!("memory.used {used:.0} MiB");
                    self.note(fact::CARD_MEMORY_TAKEN, used > 12_600.0, channel, at, fresh, text);
                }
            }
        }
        if let Some(kernel) = &seen.kernel {
            let lines: Vec<&(Timestamp, String)> =
                kernel.iter().filter(|(said, _)| *said >= shift(self.since, -30.0) || self.age_s(*said) < 6.0 * 3600.0).collect();
            let find = |needles: &[&str]| lines.iter().rev().find(|(_, line)| needles.iter().any(|needle| line.contains(needle)));
            let numbered = |number: &str| {
                lines.iter().rev().find(|(_, line)| line.contains("Xid") && line.contains(&format!(": {number},")))
            };
            let any_of = |numbers: &[&str]| numbers.iter().find_map(|number| numbered(number));
            let off = find(&["fallen off the bus", "GPU is lost"]);
            for (fact, found) in [
                (fact::XID_79, numbered("79")),
                (fact::OFF_BUS_UNNUMBERED, off.filter(|(_, line)| !line.contains("Xid")).filter(|_| numbered("79").is_none())),
                (fact::XID_GSP, any_of(&["119", "120"]).or_else(|| find(&["GSP"]))),
                (fact::XID_ECC, any_of(&["48", "63", "64", "94", "95", "140"])),
                (fact::XID_FAULT, any_of(&["31", "13", "32", "43", "69"])),
                (fact::OOM_GLOBAL, find(&["CONSTRAINT_NONE", "global_oom"])),
            ] {
                let text = found.map_or_else(|| "kernel log".to_owned(), |(_, line)| cut(line));
                self.note(fact, found.is_some(), channel, at, fresh, text);
            }
        }
    }

    pub(super) fn machine(&mut self, seen: &HostSeen, at: Timestamp) {
        let channel = Channel::SshProbe;
        let fresh = FRESH_HOST_S;
        let rented_gb = self.case.instance.vast.disk_space_gb;
        let mut told = |fact: Fact, holds: Option<bool>, text: String| {
            if let Some(holds) = holds {
                self.note(fact, holds, channel, at, fresh, text);
            }
        };
        told(
            fact::OOM_KILLS,
            seen.oom_kills.map(|kills| kills > 0),
            format!("memory.events: oom_kill {}", shown(seen.oom_kills)),
        );
        told(
            fact::QUOTA,
            seen.throttled_periods.map(|periods| periods > 100),
            format!("cpu.stat: nr_throttled {}", shown(seen.throttled_periods)),
        );
        told(fact::PINNING_LIMITED, seen.locked_memory_limited, "ulimit -l".to_owned());
        told(fact::NO_ADX, seen.has_adx.map(|has| !has), "/proc/cpuinfo flags".to_owned());
        let disk = seen.disk_gb.zip(seen.disk_used_gb).filter(|(size, _)| *size > 0.0);
        told(
            fact::DISK_FULL,
            disk.map(|(size, used)| used >= size * 0.98),
            format!("df: {} of {} GB", shown(seen.disk_used_gb), shown(seen.disk_gb)),
        );
        told(
            fact::DISK_SMALLER,
            seen.disk_gb.zip(rented_gb).map(|(size, rented)| size < rented * 0.8),
            format!("df: {} of {} GB rented", shown(seen.disk_gb), shown(rented_gb)),
        );
        told(fact::DISK_SLOW, seen.disk_mb_s.map(|speed| speed < 200.0), format!("read test: {} MB/s", shown(seen.disk_mb_s)));
        told(
            fact::CLOCK_OFF,
            seen.clock_ahead_s.map(|ahead| ahead.abs() > 3600.0),
            format!("date is {} s ahead", shown(seen.clock_ahead_s)),
        );
        told(fact::NAMES_FAIL, seen.resolves_names.map(|can| !can), "getent hosts".to_owned());
        told(
            fact::MANAGER_OUT_OF_REACH,
            seen.reaches_manager.map(|can| !can),
            "the manager's status route, from there".to_owned(),
        );
        if self.phase == Phase::Registered {
            let old = seconds_between(self.since, at) > 10.0 * MINUTE;
            let tiny = seen.parameter_bytes.filter(|_| old).map(|bytes| bytes < 1_048_576);
            let text = format!("{} bytes of parameters", shown(seen.parameter_bytes));
            if let Some(tiny) = tiny {
                self.note(fact::PARAMETERS_TINY, tiny, channel, at, fresh, text);
            }
        }
        if let (Some(built), Some((newest, machines))) = (seen.image_built, self.case.around.newest_image) {
            let text = format!("built {built}; newest that was seen on {machines} machines {newest}");
            let old = seconds_between(built, newest) > 3600.0;
            // That it is the newest of those seen does not say that it is new.
            if old {
                self.note(fact::IMAGE_OLD, true, channel, at, fresh, text);
            }
        }
    }

    pub(super) fn files(&mut self, seen: &HostSeen, at: Timestamp) {
        self.work_by_bytes(seen, at);
        let Some(files) = &seen.files else { return };
        let channel = Channel::SshProbe;
        if started_long_before(seen, at) {
            let text = "/var/log/entrypoint.log";
            self.note(fact::NO_ENTRYPOINT_LOG, files.is_empty(), channel, at, FRESH_HOST_S, text);
        }
        let mut found: Vec<(&'static str, String)> = Vec::new();
        for file in files {
            for line in &file.tail {
                for signature in matches(Written::InInstanceLog, line) {
                    found.push((signature.id, cut(&format!("{}: {line}", file.path))));
                }
            }
        }
        for (id, text) in &found {
            self.note(Fact::said(id), true, channel, at, FRESH_HOST_S, text.clone());
        }
        if !files.is_empty() && self.phase != Phase::Running {
            for (fact, signature) in Fact::of_signatures(Written::InInstanceLog) {
                if !found.iter().any(|(id, _)| *id == signature.id) {
                    self.note(fact, false, channel, at, FRESH_HOST_S, "the ends of its log files");
                }
            }
        }
        let (benchmarks, works) = (self.phase == Phase::ParamsDone, self.works_on_card());
        for file in files.iter().filter(|file| benchmarks && file.source == "benchout") {
            let summary = file.tail.iter().find(|line| line.contains("=== Batch Summary ==="));
            if let (Some(summary), Some(modified)) = (summary, file.modified_at.filter(|modified| *modified >= self.since)) {
                let waited_s = seconds_between(modified, at);
                let text = cut(&format!("{} {waited_s:.0} s before: {summary}", file.path));
                self.note(fact::DONE_UNHEARD, waited_s > REPORT_HEARD_WITHIN_S, channel, at, FRESH_HOST_S, text);
            }
        }
        for file in files.iter().filter(|file| works && matches!(file.source.as_str(), "benchdaemon" | "cuzk")) {
            let starts: Vec<Timestamp> =
                file.tail.iter().filter(|line| line.contains(DAEMON_STARTS)).filter_map(|line| date_of(line)).collect();
            let Some(newest) = starts.iter().max() else { continue };
            let count = starts.iter().filter(|start| seconds_between(**start, *newest) <= DAEMON_STARTS_WITHIN_S).count();
            if count >= MANY_STARTS {
                let text = format!("{}: {count} starts within half an hour", file.path);
                self.note(fact::DAEMON_STARTS_AGAIN, true, channel, at, FRESH_HOST_S, text);
            }
        }
        if self.phase == Phase::Loading {
            let line = files.iter().flat_map(|file| &file.tail).find(|line| line.contains("Registered with manager"));
            self.note(
                fact::REGISTERED_UNHEARD,
                line.is_some(),
                channel,
                at,
                FRESH_HOST_S,
                cut(line.map_or("the end of its entrypoint's log", String::as_str)),
            );
        }
        let newest = files.iter().filter_map(|file| file.modified_at).max();
        if let Some(newest) = newest.filter(|_| self.phase != Phase::Loading) {
            let still_s = seconds_between(newest, at);
            // Between five and fifteen minutes it says neither.
            if !(300.0..=900.0).contains(&still_s) {
                self.note(
                    fact::STANDS_LONG,
                    still_s > 900.0,
                    channel,
                    at,
                    FRESH_HOST_S,
                    format!("newest line of all files {still_s:.0} s before"),
                );
            }
        }
        self.work_by_files(seen, files, at);
    }

    /// Whether work goes on, by bytes that arrive.
    fn work_by_bytes(&mut self, seen: &HostSeen, at: Timestamp) {
        if self.phase != Phase::Registered {
            return;
        }
        let before =
            self.case.looks.host_before.as_ref().and_then(|look| Some((look.at, look.answer.seen.as_ref()?.parameter_bytes?)));
        if let (Some((then, old)), Some(new)) = (before, seen.parameter_bytes)
            && seconds_between(then, at) >= 45.0
        {
            let text = format!("{} bytes of parameters in {:.0} s", new.saturating_sub(old), seconds_between(then, at));
            self.note(fact::WORK_GOES_ON, new > old + 1_048_576, Channel::SshProbe, at, FRESH_HOST_S, text);
        }
    }

    /// Whether work goes on, by what is written on the machine itself.
    fn work_by_files(&mut self, seen: &HostSeen, files: &[LogFile], at: Timestamp) {
        let channel = Channel::SshProbe;
        if !self.works_on_card() {
            return;
        }
        let sources: &[&str] = if self.phase == Phase::ParamsDone { &["benchout", "benchdaemon"] } else { &["cuzk"] };
        let newest = files
            .iter()
            .filter(|file| sources.contains(&file.source.as_str()))
            .filter_map(|file| Some((file.modified_at?, file)))
            .max_by_key(|(modified, _)| *modified);
        let Some((modified, file)) = newest else { return };
        let still_s = seconds_between(modified, at);
        let repeats = file.tail.split_last().is_some_and(|(last, before)| {
            let last = line_hash(last);
            before.iter().any(|line| line_hash(line) == last)
        });
        let last = file.tail.last().cloned().unwrap_or_default();
        let text = cut(&format!("{} written {:.0} s before: {last}", file.path, still_s));
        if still_s < 240.0 && !repeats {
            self.note(fact::WORK_GOES_ON, true, channel, at, FRESH_HOST_S, text);
        } else if still_s > 600.0 || (repeats && still_s < 600.0) {
            // A disk that is full keeps the files as they are: then they say nothing of the work.
            let full = seen.disk_gb.zip(seen.disk_used_gb).is_some_and(|(size, used)| used >= size * 0.98);
            if !full {
                self.note(fact::WORK_GOES_ON, false, channel, at, FRESH_HOST_S, text);
            }
        }
    }
}

/// The container has run for a minute: what it starts should be there.
fn started_long_before(seen: &HostSeen, at: Timestamp) -> bool {
    seen.container_started_at.is_some_and(|started| seconds_between(started, at) > 60.0)
}
