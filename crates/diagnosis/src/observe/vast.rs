//! vast.ai's record and account, and the container's output that it uploads.

use dwell_fleet::look::{Asked, ContainerOutput, VastAnswer, VastRecord, VastShown};
use dwell_fleet::{GPU_BUSY_PERCENT, Timestamp, seconds_between};

use super::{FRESH_HOST_S, FRESH_VAST_S, FRESH_WORDS_S, Gather, cut, shown};
use crate::channel::{Channel, Health};
use crate::fact::{self, Fact};
use crate::signature::{Written, matches};

impl Gather<'_> {
    pub(super) fn vast(&mut self) {
        let channel = Channel::VastRecord;
        let Some(Asked { at, answer }) = self.case.looks.vast.clone() else {
            return self.channel(channel, Health::NotAsked, "nobody asked vast.ai", None);
        };
        if !self.counts(channel, at, FRESH_VAST_S) {
            return;
        }
        let refused = match answer.record {
            VastShown::NoAnswer => {
                return self.channel(channel, Health::Unreachable, "vast.ai does not answer", Some(at));
            }
            VastShown::Refused(status) => Some(status),
            _ => None,
        };
        let text = refused.map_or_else(|| "its answer".to_owned(), |status| format!("HTTP {status}"));
        self.note(fact::VAST_REFUSES, refused.is_some(), channel, at, FRESH_VAST_S, text.clone());
        self.note(fact::LISTING_RETIRED, answer.listing_retired, channel, at, FRESH_VAST_S, "the listing without a page token");
        if let Some(status) = refused {
            return self.channel(channel, Health::Unreachable, format!("vast.ai refuses: HTTP {status}"), Some(at));
        }
        self.account(&answer, at);
        match &answer.record {
            VastShown::Record(record) => {
                self.channel(channel, Health::Working, "vast.ai has the rental", Some(at));
                self.note(fact::RECORD_ABSENT, false, channel, at, FRESH_VAST_S, "the record");
                self.note(fact::RECORD_FLICKERS, false, channel, at, FRESH_VAST_S, "record and list");
                if self.ended_at.is_some_and(|ended| seconds_between(ended, at) > 180.0) {
                    self.note(fact::KILLED_STILL_LISTED, true, channel, at, FRESH_VAST_S, "the record");
                }
                self.record(record, at);
            }
            // A null can be a hiccup: only a list that is whole, and has not got it, says that there is none.
            _ if answer.listed.is_none() => {
                self.channel(channel, Health::Working, "vast.ai answers null, and its list is not known whole", Some(at));
            }
            _ => {
                let listed = answer.listed == Some(true);
                let why = if listed { "vast.ai lists it and answers null" } else { "vast.ai has no such rental" };
                self.channel(channel, Health::Working, why, Some(at));
                self.note(fact::RECORD_FLICKERS, listed, channel, at, FRESH_VAST_S, "record and list");
                self.note(fact::RECORD_ABSENT, !listed, channel, at, FRESH_VAST_S, "record and list");
                if !listed && self.ended_at.is_some() {
                    self.note(fact::KILLED_STILL_LISTED, false, channel, at, FRESH_VAST_S, "record and list");
                }
            }
        }
    }

    pub(super) fn account(&mut self, answer: &VastAnswer, at: Timestamp) {
        let channel = Channel::VastRecord;
        if let Some(credit) = answer.credit_dollars {
            self.note(fact::CREDIT_GONE, credit <= 0.0, channel, at, FRESH_VAST_S, format!("credit: ${credit:.2}"));
        }
        // Two readings of the list at nearly the same time: the manager's and this one.
        if let (Some((all, _)), Some((listed_at, count))) = (answer.rentals, self.case.around.manager.listed)
            && seconds_between(listed_at, at).abs() < 180.0
        {
            let text = format!("{all} rentals in the account; [monitor] cached {count} vast instances");
            self.note(fact::LISTED_SHORT, all as u64 > count, channel, at, FRESH_VAST_S, text);
        }
        if let Some((all, stopped)) = answer.rentals.filter(|(all, _)| *all >= 2) {
            let text = format!("{stopped} of {all} rentals are stopped");
            self.note(fact::STOPPED_TOGETHER, stopped * 2 > all, channel, at, FRESH_VAST_S, text);
        }
    }

    pub(super) fn record(&mut self, record: &VastRecord, at: Timestamp) {
        let channel = Channel::VastRecord;
        let actual = record.actual_status.as_deref();
        let running = actual == Some("running");
        let stopped = matches!(actual, Some("stopped" | "exited"));
        let meant_to_run = record.intended_status.as_deref() == Some("running");
        let status = format!(
            "actual_status: {}, intended_status: {}, cur_state: {}",
            actual.unwrap_or("null"),
            record.intended_status.as_deref().unwrap_or("null"),
            record.cur_state.as_deref().unwrap_or("null")
        );
        let ended = record.end_date.is_some_and(|end| end <= at);
        let facts = [
            (fact::NOT_RUNNING, !running),
            (fact::PULLING, actual == Some("loading")),
            (fact::CREATED_ONLY, actual == Some("created")),
            (fact::OFFLINE, matches!(actual, Some("offline" | "unknown"))),
            (fact::STOPPED_AS_MEANT, stopped && !meant_to_run),
            (fact::STOPPED_AGAINST_WILL, stopped && meant_to_run),
            (fact::WAITS_FOR_CARD, record.cur_state.as_deref() == Some("scheduling")),
        ];
        for (fact, holds) in facts {
            self.note(fact, holds, channel, at, FRESH_VAST_S, cut(&status));
        }
        if let Some(bid) = record.is_bid {
            self.note(fact::IS_BID, bid, channel, at, FRESH_VAST_S, format!("is_bid: {bid}"));
        }
        if let Some(end) = record.end_date {
            self.note(fact::END_PASSED, ended, channel, at, FRESH_VAST_S, format!("end_date: {end}"));
        }
        if let (Some(mapped), true) = (record.ssh_mapped, running) {
            self.note(
                fact::NO_PORTS,
                !mapped,
                channel,
                at,
                FRESH_VAST_S,
                format!("ports: 22/tcp {}", if mapped { "mapped" } else { "absent" }),
            );
        }
        self.note(
            fact::LABELLED,
            record.label.is_some(),
            channel,
            at,
            FRESH_VAST_S,
            format!("label: {}", shown(record.label.as_deref().map(cut))),
        );
        self.note(
            fact::START_DATE_MISSING,
            record.start_date.is_none(),
            channel,
            at,
            FRESH_VAST_S,
            format!("start_date: {}", shown(record.start_date)),
        );
        self.record_texts(record.status_msg.as_deref(), channel, at);
        if let Some(version) = &record.driver_version {
            self.driver(version, channel, at);
        }
        if let (Some(cores), Some(effective)) = (record.cpu_cores, record.cpu_cores_effective) {
            let text = format!("cpu_cores_effective: {effective} of {cores}");
            self.note(fact::FEW_CORES, effective < cores * 0.55, channel, at, FRESH_VAST_S, text);
        }
        let told = record.gpu_temp_c.is_some_and(|degrees| degrees > 0.0);
        if running && told && self.works_on_card() {
            if let Some(load) = record.cpu_util_percent {
                self.note(fact::CPU_FULL, load >= 90.0, channel, at, FRESH_VAST_S, format!("cpu_util: {load}"));
            }
            if let Some(load) = record.gpu_util_percent.filter(|load| *load >= GPU_BUSY_PERCENT) {
                self.note(fact::GPU_IDLE, false, channel, at, FRESH_VAST_S, format!("gpu_util: {load}"));
            }
        }
        if let (Some(limit), Some(ram)) = (record.mem_limit_gb, record.cpu_ram_mib) {
            self.memory(limit, ram, channel, at);
        }
        if let (Some(space), Some(used)) = (record.disk_space_gb, record.disk_usage_gb.filter(|used| *used >= 0.0)) {
            self.note(
                fact::DISK_FULL,
                used >= space * 0.98,
                channel,
                at,
                FRESH_VAST_S,
                format!("disk_usage: {used} of {space} GB"),
            );
        }
    }

    pub(super) fn container(&mut self) {
        let channel = Channel::ContainerLog;
        let Some(Asked { at, answer }) = self.case.looks.container.clone() else {
            return self.channel(channel, Health::NotAsked, "nobody asked vast.ai for it", None);
        };
        if !self.counts(channel, at, FRESH_HOST_S) {
            return;
        }
        let ContainerOutput { container, daemon, uploaded_after_s } = &answer;
        self.note(
            fact::LOG_UPLOAD_LATE,
            *uploaded_after_s > 20.0,
            channel,
            at,
            FRESH_WORDS_S,
            format!("uploaded after {uploaded_after_s:.0} s"),
        );
        if container.is_empty() && daemon.is_empty() {
            return self.channel(channel, Health::Blind, "vast.ai uploaded nothing", Some(at));
        }
        self.channel(channel, Health::Working, "vast.ai uploaded it; the workload writes to files, not here", Some(at));
        let none = container.contains("No such container");
        self.note(fact::NO_CONTAINER, none, channel, at, FRESH_HOST_S, cut(container.lines().last().unwrap_or_default()));
        for signature in matches(Written::InVastStatus, daemon) {
            let line = daemon.lines().find(|line| matches(Written::InVastStatus, line).iter().any(|it| it.id == signature.id));
            self.note(Fact::said(signature.id), true, channel, at, FRESH_HOST_S, cut(line.unwrap_or_default()));
        }
    }
}
