//! The look at a machine by SSH: one read-only script, and what its output says.
//!
//! The script is a fixed list of commands in POSIX shell, each announced by a line `#dwell:NAME`. What is harmless and quick
//! stands first; what can hang on a machine that is unwell (`nvidia-smi`, a read of the disk) last, so that an output that
//! breaks off still tells most. It holds no single quote, so that it can be given whole in a pair of them.
//!
//! What a machine prints is hostile text. A section that is missing, or says that its tool is, is not told.

use std::collections::BTreeMap;

use dwell_fleet::look::{Card, Exit, HostSeen, LogFile, Process, ProverAnswer, Smi};
use dwell_fleet::{Timestamp, shift};
use serde_json::Value;

use crate::prover_status;

/// Largest output that is read, bytes.
pub const PROBE_BYTES_MAX: usize = 512 * 1024;
/// Processes, lines of a log file, and log files that are kept at most.
const PROCESSES_MAX: usize = 300;
const TAIL_LINES_MAX: usize = 40;
const FILES_MAX: usize = 24;
const KERNEL_LINES_MAX: usize = 80;
const EXITS_MAX: usize = 60;
const SOCKETS_MAX: usize = 60;
const CARDS_MAX: usize = 16;

/// In the script's first words, so that its own processes are told from the instance's.
const OWN: &str = "dwell-probe";
/// Begins the line that announces a section.
const MARK: &str = "#dwell:";
/// The last line.
pub const PROBE_END: &str = "#dwell:end";

/// What is asked: a name, what it is for, the command.
pub const PROBE_SECTIONS: [(&str, &str, &str); 18] = [
    ("clock", "clock of the machine", "date -u +%s"),
    (
        "ps",
        "processes with their ages",
        "timeout 5 ps -eo pid=,stat=,etimes=,pcpu=,rss=,args= | cut -c1-200 | head -n 300; echo \"exit $?\"",
    ),
    (
        "image",
        "version file of the image, else the age of its entrypoint",
        "head -c 400 /etc/image-version 2>/dev/null; for f in /opt/entrypoint.sh /usr/local/bin/entrypoint.sh /entrypoint.sh; do stat -c \"script %Y %n\" \"$f\" 2>/dev/null; done",
    ),
    (
        "cgroup",
        "limits of memory and processor, and how often they were hit",
        "cd /sys/fs/cgroup 2>/dev/null && for f in memory.max memory.current memory.events cpu.stat memory/memory.limit_in_bytes memory/memory.usage_in_bytes memory/memory.oom_control cpu/cpu.stat; do [ -r \"$f\" ] && sed \"s|^|$f |\" \"$f\"; done; cd /",
    ),
    ("memlock", "how much memory may be pinned", "ulimit -l"),
    ("adx", "whether the processor has ADX", "grep -c -m1 -w adx /proc/cpuinfo"),
    (
        "files",
        "ages and newest lines of the log files",
        "for f in /var/log/entrypoint.log /var/log/onstart.log /var/log/cuzk*.log /var/log/curio*.log; do [ -f \"$f\" ] && stat -c \"file %s %Y %n\" \"$f\" && tail -n 30 \"$f\" | cut -c1-500 | sed \"s/^/> /\"; done; echo \"exit 0\"",
    ),
    (
        "exits",
        "what has ended, by the log of the supervisor",
        "grep -hE \"exited:|terminated by\" /var/log/supervisor/supervisord.log /var/log/supervisord.log 2>/dev/null | tail -n 40 | cut -c1-300; ls /var/log/supervisor/supervisord.log /var/log/supervisord.log >/dev/null 2>&1; echo \"exit $?\"",
    ),
    (
        "kernel",
        "lines of the kernel about cards and memory, where they may be read",
        "k=$(timeout 5 dmesg --time-format iso 2>&1); c=$?; printf \"%s\\n\" \"$k\" | grep -iE \"xid|nvrm|oom|out of memory|killed process|gsp|fallen off|gpu is lost\" | tail -n 80 | cut -c1-400; echo \"exit $c\"",
    ),
    (
        "parameters",
        "bytes of proof parameters on disk",
        "timeout 10 du -sb /var/tmp/filecoin-proof-parameters /data/zk/params 2>/dev/null",
    ),
    ("sockets", "what listens", "timeout 5 ss -Hltnp 2>/dev/null | head -n 60; echo \"exit $?\""),
    ("names", "whether names are resolved", "timeout 5 getent hosts console.vast.ai >/dev/null; echo \"exit $?\""),
    (
        "manager",
        "whether the manager answers from there",
        "timeout 6 curl -sm 5 -o /dev/null http://127.0.0.1:1235/status; echo \"exit $?\"",
    ),
    (
        "prover",
        "status of the prover, by itself",
        "p=$(timeout 8 curl -sm 5 http://127.0.0.1:9821/status); c=$?; printf \"%s\" \"$p\" | head -c 131072; echo; echo \"exit $c\"",
    ),
    ("disk", "size and use of the disk", "timeout 5 df -B1 -P / | tail -n 1"),
    (
        "smi",
        "the cards; left behind where it does not come back in ten seconds",
        "( timeout -k 1 10 nvidia-smi --query-gpu=name,utilization.gpu,temperature.gpu,memory.used,memory.total,pcie.link.width.current,clocks_throttle_reasons.active --format=csv,noheader,nounits 2>&1; echo \"exit $?\" ) & p=$!; i=0; while [ $i -lt 11 ] && kill -0 $p 2>/dev/null; do sleep 1; i=$((i+1)); done; kill -0 $p 2>/dev/null && echo \"exit 124\"",
    ),
    (
        "read",
        "speed of the disk: 64 MiB of the parameters are read",
        "f=$(ls -S /var/tmp/filecoin-proof-parameters/* /data/zk/params/* 2>/dev/null | head -n 1); [ -n \"$f\" ] && timeout 8 dd if=\"$f\" of=/dev/null bs=1M count=64 iflag=direct 2>&1 | tail -n 1",
    ),
    ("uptime", "how long the machine has been up", "cut -d. -f1 /proc/uptime"),
];

/// The whole script.
pub fn probe_script() -> String {
    let mut script = format!(": {OWN}; export LC_ALL=C TZ=UTC PATH=\"$PATH:/usr/local/sbin:/usr/sbin:/sbin\"\n");
    for (name, what, command) in PROBE_SECTIONS {
        script.push_str(&format!("# {what}\necho \"{MARK}{name}\"\n{command}\n"));
    }
    script.push_str(&format!("echo \"{PROBE_END}\"\n"));
    script
}

/// The line that announces a section, for who answers the script.
pub fn probe_mark(name: &str) -> String {
    format!("{MARK}{name}")
}

/// What an output says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Probed {
    /// Of the machine.
    pub seen: HostSeen,
    /// Of the prover; `None` where it was not asked.
    pub prover: Option<ProverAnswer>,
    /// Every command was come to.
    pub complete: bool,
}

/// The output taken apart: what stands in each section, whether the end was reached, and where it broke off if not.
struct Sections<'a> {
    lines: BTreeMap<&'a str, Vec<&'a str>>,
    broken_off: Option<&'a str>,
}

fn sections(output: &str) -> Sections<'_> {
    let mut lines: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut current = None;
    for line in output.lines() {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line == PROBE_END {
            return Sections { lines, broken_off: None };
        }
        match line.strip_prefix(MARK).filter(|name| PROBE_SECTIONS.iter().any(|(known, ..)| known == name)) {
            Some(name) => {
                lines.entry(name).or_default();
                current = Some(name);
            }
            None => {
                if let Some(lines) = current.and_then(|name| lines.get_mut(name)) {
                    lines.push(line);
                }
            }
        }
    }
    Sections { lines, broken_off: current }
}

/// One section of the output of [`probe_script`], as it came.
pub fn probe_section(output: &str, name: &str) -> Option<String> {
    sections(output).lines.get(name).map(|lines| lines.join("\n"))
}

/// Reads the output of [`probe_script`] that was asked for at `at`, on the asker's clock. `None` where the machine ran nothing of it.
pub fn probed(output: &str, at: Timestamp) -> Option<Probed> {
    let Sections { lines: sections, broken_off } = sections(output);
    if sections.is_empty() {
        return None;
    }
    let complete = broken_off.is_none();
    // The section that it broke off in is no whole answer.
    let section = |name: &str| sections.get(name).map(Vec::as_slice).filter(|_| broken_off != Some(name));
    let clock = section("clock").and_then(|lines| whole(lines.first()?)).and_then(|s| Timestamp::from_second(s).ok());
    // Ages are counted from the machine's own clock, as its times are.
    let there = clock.unwrap_or(at);
    let processes = section("ps").and_then(|lines| processes(lines, there));
    let cgroup = section("cgroup").unwrap_or_default();
    let disk = section("disk").and_then(|lines| {
        let mut fields = lines.first()?.split_whitespace();
        Some((real(fields.nth(1)?)? / 1e9, real(fields.next()?)? / 1e9))
    });
    let seen = HostSeen {
        clock_ahead_s: clock.map(|clock| dwell_fleet::seconds_between(at, clock)),
        container_started_at: processes.as_ref().and_then(|list| list.iter().find(|it| it.pid == 1)).and_then(|it| it.started_at),
        image_built: section("image").and_then(image_built),
        processes,
        exits: section("exits").filter(|lines| exit(lines) == Some(0)).map(exits),
        smi: match section("smi") {
            Some(lines) => smi(lines),
            None => (broken_off == Some("smi")).then_some(Smi::TimedOut),
        },
        kernel: section("kernel").filter(|lines| exit(lines) == Some(0)).map(kernel),
        oom_kills: keyed(cgroup, "memory.events oom_kill")
            .or_else(|| keyed(cgroup, "memory/memory.oom_control oom_kill"))
            .and_then(|kills| u32::try_from(kills).ok()),
        throttled_periods: keyed(cgroup, "cpu.stat nr_throttled").or_else(|| keyed(cgroup, "cpu/cpu.stat nr_throttled")),
        // A limit beyond any machine's memory is none.
        memory_limit_gib: keyed(cgroup, "memory.max")
            .or_else(|| keyed(cgroup, "memory/memory.limit_in_bytes"))
            .map(gib)
            .filter(|limit| *limit < 65_536.0),
        memory_used_gib: keyed(cgroup, "memory.current").or_else(|| keyed(cgroup, "memory/memory.usage_in_bytes")).map(gib),
        locked_memory_limited: section("memlock").and_then(|lines| match *lines.first()? {
            "unlimited" => Some(false),
            // KiB; a prover pins some hundred GiB.
            kib => whole(kib).map(|kib| kib < 64 * 1024 * 1024),
        }),
        has_adx: section("adx").and_then(|lines| whole(lines.first()?)).map(|count| count > 0),
        disk_gb: disk.map(|(size, _)| size),
        disk_used_gb: disk.map(|(_, used)| used),
        disk_mb_s: section("read").and_then(|lines| read_speed(lines.first()?)),
        parameter_bytes: section("parameters").and_then(|lines| {
            let sizes: Vec<u64> = lines.iter().filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect();
            (!sizes.is_empty()).then(|| sizes.iter().fold(0_u64, |sum, size| sum.saturating_add(*size)))
        }),
        files: section("files").filter(|lines| exit(lines).is_some()).map(files),
        sockets: section("sockets").filter(|lines| exit(lines) == Some(0)).map(|lines| {
            lines.iter().filter(|line| !line.starts_with("exit ")).take(SOCKETS_MAX).map(|line| (*line).to_owned()).collect()
        }),
        resolves_names: section("names").and_then(exit).filter(|code| *code != 127).map(|code| code == 0),
        reaches_manager: section("manager").and_then(exit).filter(|code| *code != 127).map(|code| code == 0),
        up_s: section("uptime").and_then(|lines| real(lines.first()?)).filter(|up_s| *up_s < UP_MAX_S),
    };
    Some(Probed { seen, prover: section("prover").and_then(prover), complete })
}

/// What the manager's `cuzk-status` route, or a curl on the machine, ended with: curl's exit code.
pub fn prover_failure(code: i32) -> ProverAnswer {
    match code {
        7 => ProverAnswer::Refused,
        28 | 124 => ProverAnswer::TimedOut,
        255 => ProverAnswer::NoWay,
        code => ProverAnswer::Failed(code),
    }
}

fn whole(text: &str) -> Option<i64> {
    text.trim().parse().ok()
}

/// A number from 0 up. What Rust reads as one and no program here writes (`inf`, `NaN`, 1e999) is not told.
fn real(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

fn gib(bytes: u64) -> f64 {
    bytes as f64 / 1_073_741_824.0
}

/// The exit code that a section ends with.
fn exit(lines: &[&str]) -> Option<i32> {
    lines.iter().rev().find_map(|line| line.strip_prefix("exit ")?.trim().parse().ok())
}

fn keyed(lines: &[&str], key: &str) -> Option<u64> {
    lines.iter().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
}

/// No machine is up for longer, seconds (a hundred years).
pub(crate) const UP_MAX_S: f64 = 100.0 * 365.25 * 86_400.0;

/// No process is older than this, seconds (ten years). In a container whose uptime is not its host's, `ps` subtracts a start that lies
/// in the future and prints the negative age as a number near 2^32: it is not told.
const PROCESS_AGE_MAX_S: f64 = 10.0 * 365.25 * 86_400.0;

fn processes(lines: &[&str], now: Timestamp) -> Option<Vec<Process>> {
    let read = |line: &&str| {
        let mut fields = line.split_whitespace();
        let pid = fields.next()?.parse().ok()?;
        let state = fields.next()?.chars().next()?;
        let age_s: f64 = fields.next()?.parse().ok()?;
        let age_s = Some(age_s).filter(|age_s| (0.0..PROCESS_AGE_MAX_S).contains(age_s));
        let cpu_percent = fields.next().and_then(real);
        let memory_gib = fields.next()?.parse::<u64>().ok().map(|kib| gib(kib.saturating_mul(1024)));
        let program = fields.collect::<Vec<_>>().join(" ");
        Some(Process { pid, program, state, started_at: age_s.map(|age_s| shift(now, -age_s)), cpu_percent, memory_gib })
    };
    let list: Vec<Process> =
        lines.iter().filter_map(read).filter(|process| !process.program.contains(OWN)).take(PROCESSES_MAX).collect();
    // A machine without any process does not answer: `ps` is missing, or of another make.
    (!list.is_empty()).then_some(list)
}

/// The first time in the version file, else the newest change of the entrypoint.
fn image_built(lines: &[&str]) -> Option<Timestamp> {
    let told = lines.iter().find_map(|line| line.split(['=', ' ', '"']).find_map(|word| word.parse::<Timestamp>().ok()));
    let script = lines.iter().filter_map(|line| {
        let mut fields = line.strip_prefix("script ")?.split_whitespace();
        Timestamp::from_second(fields.next()?.parse().ok()?).ok()
    });
    told.or_else(|| script.max())
}

/// `2026-12-01 02:41:34,123 INFO exited: cuzk-daemon (exit status 137; not expected)`, UTC; or `(terminated by SIGKILL; ...)`.
fn exits(lines: &[&str]) -> Vec<Exit> {
    let read = |line: &&str| {
        let (time, rest) = line.split_at_checked(19)?;
        let at: Timestamp = format!("{}Z", time.replacen(' ', "T", 1)).parse().ok()?;
        let (program, how) = rest.split_once("exited: ")?.1.split_once(" (")?;
        let code = match how.strip_prefix("exit status ") {
            Some(status) => status.split([';', ')']).next()?.parse().ok()?,
            None => 128 + signal(how.strip_prefix("terminated by ")?.split([';', ')']).next()?)?,
        };
        Some(Exit { program: program.to_owned(), code, at })
    };
    lines.iter().filter_map(read).take(EXITS_MAX).collect()
}

fn signal(name: &str) -> Option<i32> {
    Some(match name {
        "SIGHUP" => 1,
        "SIGINT" => 2,
        "SIGILL" => 4,
        "SIGABRT" => 6,
        "SIGBUS" => 7,
        "SIGFPE" => 8,
        "SIGKILL" => 9,
        "SIGSEGV" => 11,
        "SIGTERM" => 15,
        _ => return None,
    })
}

/// `2026-12-01T02:41:34,123456+00:00 NVRM: Xid ...`.
fn kernel(lines: &[&str]) -> Vec<(Timestamp, String)> {
    let read = |line: &&str| {
        let (time, text) = line.split_once(' ')?;
        Some((time.replacen(',', ".", 1).parse().ok()?, text.to_owned()))
    };
    lines.iter().filter_map(read).take(KERNEL_LINES_MAX).collect()
}

/// `67108864 bytes (67 MB, 64 MiB) copied, 0.0305 s, 2.2 GB/s`, in MB/s.
fn read_speed(line: &str) -> Option<f64> {
    let bytes = real(line.split_whitespace().next()?)?;
    let seconds = real(line.split_once("copied, ")?.1.split_whitespace().next()?)?;
    // Less than a part of what was asked for tells of the file, not of the disk.
    (seconds > 0.0 && bytes >= 4.0 * 1_048_576.0).then(|| (bytes / seconds / 1e6).round())
}

fn files(lines: &[&str]) -> Vec<LogFile> {
    let mut files: Vec<LogFile> = Vec::new();
    for line in lines {
        if let Some(text) = line.strip_prefix("> ") {
            if let Some(file) = files.last_mut() {
                // The newest are at the end.
                if file.tail.len() == TAIL_LINES_MAX {
                    file.tail.remove(0);
                }
                file.tail.push(text.to_owned());
            }
            continue;
        }
        let Some(told) = line.strip_prefix("file ") else { continue };
        let mut fields = told.splitn(3, ' ');
        let (Some(bytes), Some(modified), Some(path)) = (fields.next(), fields.next(), fields.next()) else { continue };
        if files.len() == FILES_MAX {
            break;
        }
        files.push(LogFile {
            source: source(path).to_owned(),
            path: path.to_owned(),
            bytes: bytes.parse().ok(),
            modified_at: whole(modified).and_then(|s| Timestamp::from_second(s).ok()),
            tail: Vec::new(),
        });
    }
    files
}

/// The source under which the shipper of the manager's log sends a file.
fn source(path: &str) -> &'static str {
    match path.rsplit('/').next() {
        Some("entrypoint.log") => "setup",
        Some("cuzk-bench-daemon.log") => "benchdaemon",
        Some("cuzk-bench.log") => "benchout",
        Some("cuzk.log") => "cuzk",
        Some("curio.log") => "curio",
        _ => "unknown",
    }
}

fn smi(lines: &[&str]) -> Option<Smi> {
    let code = exit(lines)?;
    let said: Vec<&str> = lines.iter().copied().filter(|line| !line.starts_with("exit ") && !line.trim().is_empty()).collect();
    match code {
        124 | 137 => Some(Smi::TimedOut),
        // There is no such program: it says nothing of the cards.
        127 => None,
        0 => {
            let cards: Vec<Card> = said.iter().filter_map(|line| card(line)).take(CARDS_MAX).collect();
            if cards.is_empty() { Some(Smi::Failed(said.join(" "))) } else { Some(Smi::Cards(cards)) }
        }
        _ => Some(Smi::Failed(said.join(" "))),
    }
}

fn card(line: &str) -> Option<Card> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let [name, load, temperature, used, total, width, reasons] = fields[..] else { return None };
    Some(Card {
        name: name.to_owned(),
        load_percent: real(load),
        temperature_c: real(temperature),
        memory_used_mib: real(used),
        memory_mib: real(total),
        throttle_reason: throttle_reason(reasons),
        bus_width: width.parse().ok(),
    })
}

/// Bits of `clocks_throttle_reasons.active`, the gravest first. Source: `nvmlClocksThrottleReasons` of NVIDIA's NVML.
pub const THROTTLE_REASONS: [(u64, &str); 9] = [
    (0x80, "HW Power Brake Slowdown"),
    (0x40, "HW Thermal Slowdown"),
    (0x08, "HW Slowdown"),
    (0x20, "SW Thermal Slowdown"),
    (0x10, "Sync Boost"),
    (0x04, "SW Power Cap"),
    (0x02, "Applications Clocks Setting"),
    (0x100, "Display Clock Setting"),
    (0x01, "Idle"),
];

fn throttle_reason(mask: &str) -> Option<String> {
    let bits = u64::from_str_radix(mask.trim_start_matches("0x"), 16).ok()?;
    let gravest = THROTTLE_REASONS.iter().find(|(bit, _)| bits & bit != 0).map_or("Not Active", |(_, name)| name);
    Some(gravest.to_owned())
}

fn prover(lines: &[&str]) -> Option<ProverAnswer> {
    match exit(lines)? {
        // No curl there: it was not asked.
        127 => None,
        0 => {
            let body: String = lines.iter().filter(|line| !line.starts_with("exit ")).copied().collect();
            match serde_json::from_str::<Value>(&body) {
                Ok(status) if status.is_object() => Some(ProverAnswer::Status(prover_status(&status))),
                _ => Some(ProverAnswer::Failed(0)),
            }
        }
        code => Some(prover_failure(code)),
    }
}
