//! What was asked on purpose, as an operator reads it: the machine, the prover, and a sentence for each answer.

use dwell_diagnosis::Channel;
use dwell_fleet::look::{Asked, HostAnswer, HostSeen, Looks, ProverAnswer, ProverStatus, Smi, VastAnswer, VastShown};
use dwell_fleet::words::duration;
use dwell_fleet::{Timestamp, seconds_between};
use dwell_history::RawAnswer;

use crate::dto::*;

const GIB: f64 = 1_073_741_824.0;

/// The latest answer of each channel, in a sentence.
pub(crate) fn looks(looks: &Looks) -> Vec<LookView> {
    let view = |channel: Channel, at: Timestamp, summary: String| LookView {
        channel: channel.as_str().to_owned(),
        title: channel.title().to_owned(),
        at,
        summary,
    };
    let mut all = Vec::new();
    all.extend(looks.vast.as_ref().map(|it| view(Channel::VastRecord, it.at, vast(&it.answer))));
    all.extend(looks.container.as_ref().map(|it| {
        let lines = it.answer.container.lines().count();
        let words = match lines {
            0 => "nothing was uploaded: that is no proof of silence, the workload writes to files".to_owned(),
            1 => "one line".to_owned(),
            lines => format!("{lines} lines"),
        };
        view(Channel::ContainerLog, it.at, words)
    }));
    all.extend(looks.host.as_ref().map(|it| view(Channel::SshProbe, it.at, reach(&it.answer))));
    all.extend(looks.prover.as_ref().map(|it| view(Channel::ProverStatus, it.at, prover_words(&it.answer))));
    all
}

pub(crate) fn raw_answer(answer: RawAnswer) -> RawAnswerView {
    let channel = Channel::ALL.into_iter().find(|channel| channel.as_str() == answer.channel);
    RawAnswerView {
        title: channel.map_or_else(|| answer.channel.clone(), |channel| channel.title().to_owned()),
        channel: answer.channel,
        at: answer.at,
        text: answer.text,
        cut_bytes: answer.cut_bytes,
    }
}

fn vast(answer: &VastAnswer) -> String {
    let record = match &answer.record {
        VastShown::Record(record) => {
            let status = record.actual_status.as_deref().unwrap_or("no status");
            let wanted = record.intended_status.as_deref().map_or_else(String::new, |wanted| format!(", wanted {wanted}"));
            format!("{status}{wanted}")
        }
        VastShown::Absent => "no rental has this number".to_owned(),
        VastShown::Refused(status) => format!("refused with {status}"),
        VastShown::NoAnswer => "no answer".to_owned(),
    };
    match answer.listed {
        Some(true) => format!("{record}; in the account's list"),
        Some(false) => format!("{record}; not in the account's list"),
        None => format!("{record}; the list was not given"),
    }
}

fn reach(answer: &HostAnswer) -> String {
    let reach = format!("direct port: {}; vast.ai's proxy: {}", answer.direct.as_str(), answer.proxy.as_str());
    match &answer.seen {
        Some(_) => reach,
        None => format!("{reach}; nothing of the machine was seen"),
    }
}

/// What asking the prover came to, and what that does not mean.
fn prover_words(answer: &ProverAnswer) -> String {
    match answer {
        ProverAnswer::Status(status) => match status.completed {
            Some(completed) => format!("it answers: {completed} proofs completed since its start"),
            None => "it answers, and does not tell how much is completed".to_owned(),
        },
        ProverAnswer::Refused => {
            "connection refused: no status is served. It is off by default, so this does not say that the prover is dead"
                .to_owned()
        }
        ProverAnswer::TimedOut => "it is served, and did not answer in time".to_owned(),
        ProverAnswer::NoWay => "nobody got to the machine, so the prover was not asked".to_owned(),
        ProverAnswer::Failed(code) => format!("curl on the machine ended with {code}"),
    }
}

/// The machine, of the latest look.
pub(crate) fn machine(looks: &Looks) -> Option<MachinePanel> {
    let Asked { at, answer } = looks.host.as_ref()?;
    let seen = answer.seen.as_deref()?;
    let (smi, cards) = match &seen.smi {
        None => (Some("not shown".to_owned()), Vec::new()),
        Some(Smi::TimedOut) => {
            (Some("nvidia-smi did not come back within its time: that is a sign by itself".to_owned()), Vec::new())
        }
        Some(Smi::Failed(words)) => (Some(format!("nvidia-smi failed: {words}")), Vec::new()),
        Some(Smi::Cards(cards)) => (None, cards.iter().map(card).collect()),
    };
    Some(MachinePanel {
        at: *at,
        reach: reach(answer),
        facts: facts(seen, *at),
        processes: seen.processes.as_ref().map(|processes| {
            processes
                .iter()
                .map(|it| ProcessRow {
                    pid: it.pid,
                    program: it.program.clone(),
                    state: it.state.to_string(),
                    started_at: it.started_at,
                    cpu_percent: it.cpu_percent,
                    memory_gib: it.memory_gib,
                })
                .collect()
        }),
        smi,
        cards,
        files: seen.files.as_ref().map(|files| {
            files
                .iter()
                .map(|it| FileRow {
                    source: it.source.clone(),
                    path: it.path.clone(),
                    bytes: it.bytes,
                    modified_at: it.modified_at,
                    tail: it.tail.clone(),
                })
                .collect()
        }),
        exits: seen
            .exits
            .iter()
            .flatten()
            .rev()
            .map(|it| format!("{} {}: exit code {}", it.at.strftime("%H:%M:%SZ"), it.program, it.code))
            .collect(),
        kernel: seen
            .kernel
            .as_ref()
            .map(|lines| lines.iter().map(|(at, text)| format!("{} {text}", at.strftime("%H:%M:%SZ"))).collect()),
        sockets: seen.sockets.clone(),
    })
}

fn card(card: &dwell_fleet::look::Card) -> CardRow {
    CardRow {
        name: card.name.clone(),
        load_percent: card.load_percent,
        temperature_c: card.temperature_c,
        memory_used_mib: card.memory_used_mib,
        memory_mib: card.memory_mib,
        throttled: card.throttle_reason.clone().filter(|reason| reason != "Not Active"),
        bus_width: card.bus_width,
    }
}

fn facts(seen: &HostSeen, at: Timestamp) -> Vec<Fact> {
    let fact = |name: &str, value: Option<String>, source: &str| Fact { name: name.to_owned(), value, source: source.to_owned() };
    let yes = |value: Option<bool>| value.map(|value| if value { "yes" } else { "no" }.to_owned());
    let of = |used: Option<f64>, all: Option<f64>, unit: &str| match (used, all) {
        (Some(used), Some(all)) => Some(format!("{used:.0} of {all:.0} {unit}")),
        (Some(used), None) => Some(format!("{used:.0} {unit}")),
        (None, Some(all)) => Some(format!("not told, of {all:.0} {unit}")),
        (None, None) => None,
    };
    let age = |since: Option<Timestamp>| {
        since.map(|since| format!("{} (since {since})", duration(seconds_between(since, at).max(0.0))))
    };
    vec![
        fact("Container up", age(seen.container_started_at), "start of process 1"),
        fact("Machine up", seen.up_s.map(duration), "/proc/uptime"),
        fact("Image built", seen.image_built.map(|built| built.to_string()), "the image's version file"),
        fact("Clock", seen.clock_ahead_s.map(|ahead| format!("{ahead:+.0} s against the time of asking")), "date"),
        fact(
            "Memory of the container",
            of(seen.memory_used_gib, seen.memory_limit_gib, "GiB"),
            "cgroup memory.current, memory.max",
        ),
        fact("Processes killed for memory", seen.oom_kills.map(|kills| kills.to_string()), "cgroup memory.events: oom_kill"),
        fact(
            "Periods held back by the CPU quota",
            seen.throttled_periods.map(|count| count.to_string()),
            "cgroup cpu.stat: nr_throttled",
        ),
        fact("Pinned memory limited", yes(seen.locked_memory_limited), "ulimit -l"),
        fact("Processor has ADX", yes(seen.has_adx), "/proc/cpuinfo"),
        fact("Disk used", of(seen.disk_used_gb, seen.disk_gb, "GB"), "df"),
        fact("Disk reads", seen.disk_mb_s.map(|rate| format!("{rate:.0} MB/s")), "64 MiB of the parameters, read past the cache"),
        fact("Parameters on disk", seen.parameter_bytes.map(|bytes| format!("{:.1} GiB", bytes as f64 / GIB)), "du"),
        fact("Resolves names", yes(seen.resolves_names), "getent"),
        fact("Reaches the manager", yes(seen.reaches_manager), "curl"),
    ]
}

/// The prover, of the latest answer.
pub(crate) fn prover(looks: &Looks) -> Option<ProverPanel> {
    let Asked { at, answer } = looks.prover.as_ref()?;
    Some(prover_now(*at, answer, looks.prover_before.as_ref()))
}

/// The prover, of an answer at a time, beside an earlier one.
pub(crate) fn prover_now(at: Timestamp, answer: &ProverAnswer, before: Option<&Asked<ProverAnswer>>) -> ProverPanel {
    let status = match answer {
        ProverAnswer::Status(status) => Some(status),
        _ => None,
    };
    let before = match before {
        Some(Asked { at, answer: ProverAnswer::Status(before) }) => Some((*at, before)),
        _ => None,
    };
    ProverPanel {
        at,
        answered: status.is_some(),
        answer: prover_words(answer),
        completed: status.and_then(|it| it.completed),
        failed: status.and_then(|it| it.failed),
        waiting: status.and_then(|it| it.queue_depth),
        rows: status.map(|status| rows(status, at, before)).unwrap_or_default(),
        proofs: status
            .iter()
            .flat_map(|status| &status.proofs)
            .map(|it| ProofRow {
                job: it.job.clone(),
                kind: it.kind.clone(),
                done: it.done,
                of: it.of,
                states: it.states.iter().map(|(state, count)| format!("{count} {state}")).collect::<Vec<_>>().join(", "),
            })
            .collect(),
        workers: status
            .iter()
            .flat_map(|status| &status.workers)
            .map(|it| WorkerRow { card: it.card, state: it.state.clone(), busy_s: it.busy_s })
            .collect(),
    }
}

/// Each number with what it does not mean. Source: reading of the prover's code, in the project's failure catalogue.
fn rows(status: &ProverStatus, at: Timestamp, before: Option<(Timestamp, &ProverStatus)>) -> Vec<ProverRow> {
    let row = |name: &str, value: Option<String>, misleads: &str| ProverRow {
        name: name.to_owned(),
        value,
        misleads: misleads.to_owned(),
    };
    let memory = status.memory_total.map(|total| {
        let used = status.memory_used.map_or_else(|| "not told".to_owned(), |used| format!("{:.0}", used / GIB));
        format!("{used} of {:.0} GiB", total / GIB)
    });
    let since = |now: Option<u64>, of: fn(&ProverStatus) -> Option<u64>| {
        let now = now?;
        let change = before.and_then(|(then, before)| {
            let grown = i128::from(now) - i128::from(of(before)?);
            Some(format!(" ({grown:+} in {})", duration(seconds_between(then, at).max(0.0))))
        });
        Some(format!("{now}{}", change.unwrap_or_default()))
    };
    vec![
        row(
            "Proofs completed",
            since(status.completed, |it| it.completed),
            "Since the prover's start, not since the rental. What it does between two looks tells more than the number.",
        ),
        row(
            "Proofs failed",
            since(status.failed, |it| it.failed),
            "Counts only proofs that failed once assembled. 0 does not say that none failed: failed partitions, card errors and panics are not in it. Failed proofs stay below for ever.",
        ),
        row(
            "Waiting requests",
            status.queue_depth.map(|depth| depth.to_string()),
            "0 with no proof in work is an idle prover: nobody asks it for proofs.",
        ),
        row(
            "Memory budget",
            memory,
            "Where it is set by itself it is the host's memory, not the container's limit: more than the container may use ends with a kill. A request larger than the budget waits without a word.",
        ),
        row(
            "Circuits in synthesis",
            status.synthesis.map(|(active, most)| match most {
                Some(most) => format!("{active} of {most}"),
                None => active.to_string(),
            }),
            "0 while the first parameters are loaded is normal: 30 to 90 s.",
        ),
        row(
            "Parameters in memory",
            status.parameters_loaded.as_ref().map(|names| if names.is_empty() { "none".to_owned() } else { names.join(", ") }),
            "None means none, or being loaded now: the list cannot be read during loading.",
        ),
        row("Up", status.up_s.map(duration), "Ticks by itself, also while proving stands still: no sign of work."),
    ]
}
