//! What a simulated machine prints when the look at a machine is run on it: the same view as [`World::host_view`], in the
//! words of the real commands. Over a socket or without one, whoever looks reads the same text.

use std::fmt::Write as _;

use dwell_wire as wire;
use jiff::Timestamp;

use super::{HostView, ProverStatus, Smi, World};
use crate::manager::plus_ms;

const GIB: f64 = 1_073_741_824.0;

impl World {
    /// The output of [`wire::probe_script`]; `None` where nobody gets in.
    pub fn probe_output(&self, vast_id: u64) -> Option<String> {
        let view = self.host_view(vast_id)?;
        let clock = view.clock?;
        let prover = self.prover_status(vast_id)?;
        // A machine writes its own clock's times.
        let ahead_ms = clock.as_millisecond() - self.now().as_millisecond();
        let mut out = String::new();
        for (name, ..) in wire::PROBE_SECTIONS {
            let _ = writeln!(out, "{}", wire::probe_mark(name));
            out.push_str(&section(name, &view, ahead_ms, clock, &prover));
        }
        let _ = writeln!(out, "{}", wire::PROBE_END);
        Some(out)
    }

    /// What a machine prints for a command, and its exit code: the look at a machine, the prover's status, and nothing else.
    pub fn run_command(&self, vast_id: u64, command: &str) -> Option<(String, u32)> {
        let asked_prover = command.contains("127.0.0.1:9821");
        if command.contains(&wire::probe_mark("clock")) {
            return self.probe_output(vast_id).map(|output| (output, 0));
        }
        if asked_prover {
            return Some(match self.prover_status(vast_id)? {
                ProverStatus::Answer(status) => (format!("{status}\n"), 0),
                ProverStatus::Failed(code) => (String::new(), code as u32),
                ProverStatus::NoSsh => return None,
            });
        }
        let word = command.split_whitespace().next().unwrap_or_default();
        Some((format!("sh: 1: {word}: this simulated machine knows the look at a machine and nothing else\n"), 127))
    }
}

fn section(name: &str, view: &HostView, ahead_ms: i64, clock: Timestamp, prover: &ProverStatus) -> String {
    let there = |at: Timestamp| plus_ms(at, ahead_ms);
    let mut out = String::new();
    match name {
        "clock" => line(&mut out, clock.as_second()),
        "ps" => {
            for it in &view.processes {
                let age_s = (clock.as_second() - there(it.started_at).as_second()).max(0);
                let kib = (it.memory_gib * 1_048_576.0) as u64;
                line(&mut out, format_args!("{:>6} {:<4} {age_s} {:.1} {kib} {}", it.pid, it.state, it.cpu_percent, it.program));
            }
            line(&mut out, "exit 0");
        }
        "image" => {
            if let Some(built) = view.image_built {
                line(&mut out, format_args!("built={built}"));
            }
        }
        "cgroup" => {
            line(&mut out, format_args!("memory.max {}", (view.memory_limit_gib * GIB) as u64));
            line(&mut out, format_args!("memory.current {}", (view.memory_used_gib * GIB) as u64));
            line(&mut out, format_args!("memory.events oom {0}\nmemory.events oom_kill {0}", view.oom_kills));
            line(&mut out, format_args!("cpu.stat nr_throttled {}", view.throttled_periods));
        }
        "memlock" => line(&mut out, if view.locked_memory_limited { "8192" } else { "unlimited" }),
        "adx" => line(&mut out, u8::from(view.has_adx)),
        "files" => {
            for file in &view.files {
                let modified = file.modified_at.map_or(0, |at| there(at).as_second());
                line(&mut out, format_args!("file {} {modified} {}", file.bytes, file.path));
                // As many as the script asks `tail` for.
                let skip = file.tail.len().saturating_sub(30);
                file.tail.iter().skip(skip).for_each(|text| line(&mut out, format_args!("> {text}")));
            }
            line(&mut out, "exit 0");
        }
        "exits" => {
            for (program, code, at) in &view.exits {
                let time = there(*at).strftime("%Y-%m-%d %H:%M:%S");
                let how = match signal(*code) {
                    Some(name) => format!("terminated by {name}"),
                    None => format!("exit status {code}"),
                };
                line(&mut out, format_args!("{time},000 INFO exited: {program} ({how}; not expected)"));
            }
            line(&mut out, "exit 0");
        }
        "kernel" => match &view.kernel {
            Some(lines) => {
                for (at, text) in lines {
                    let time = there(*at).strftime("%Y-%m-%dT%H:%M:%S");
                    line(&mut out, format_args!("{time},000000+00:00 {text}"));
                }
                line(&mut out, "exit 0");
            }
            None => line(&mut out, "exit 1"),
        },
        "parameters" => line(&mut out, format_args!("{}\t/var/tmp/filecoin-proof-parameters", view.parameter_bytes)),
        "sockets" => {
            view.listening.iter().for_each(|socket| line(&mut out, socket));
            line(&mut out, "exit 0");
        }
        "names" => line(&mut out, if view.resolves_names { "exit 0" } else { "exit 2" }),
        "manager" => line(&mut out, if view.reaches_manager { "exit 0" } else { "exit 28" }),
        "prover" => match prover {
            ProverStatus::Answer(status) => line(&mut out, format_args!("{status}\nexit 0")),
            ProverStatus::Failed(code) => line(&mut out, format_args!("\nexit {code}")),
            ProverStatus::NoSsh => {}
        },
        "disk" => {
            let (size, used) = ((view.disk_gb * 1e9) as u64, (view.disk_used_gb * 1e9) as u64);
            line(&mut out, format_args!("overlay {size} {used} {} 50% /", size.saturating_sub(used)));
        }
        "smi" => match &view.smi {
            Some(Smi::Cards(cards)) => {
                for card in cards {
                    let bits = wire::THROTTLE_REASONS.iter().find(|(_, name)| *name == card.throttle_reason).map_or(0, |it| it.0);
                    line(
                        &mut out,
                        format_args!(
                            "{}, {:.0}, {:.0}, {:.0}, {:.0}, {}, 0x{bits:016x}",
                            card.name,
                            card.load_percent,
                            card.temperature_c,
                            card.memory_used_mib,
                            card.memory_mib,
                            card.bus_width
                        ),
                    );
                }
                line(&mut out, "exit 0");
            }
            Some(Smi::Failed(words)) => line(&mut out, format_args!("{words}\nexit 255")),
            Some(Smi::TimedOut) => line(&mut out, "exit 124"),
            None => {}
        },
        "read" if view.disk_mb_s > 0.0 && view.parameter_bytes >= 67_108_864 => {
            let seconds = 67.108_864 / view.disk_mb_s;
            line(&mut out, format_args!("67108864 bytes (67 MB, 64 MiB) copied, {seconds:.6} s, {:.0} MB/s", view.disk_mb_s));
        }
        "uptime" => line(&mut out, 864_000),
        _ => {}
    }
    out
}

fn line(out: &mut String, text: impl std::fmt::Display) {
    let _ = writeln!(out, "{text}");
}

/// The signal behind an exit code of a shell.
fn signal(code: i32) -> Option<&'static str> {
    Some(match code {
        132 => "SIGILL",
        134 => "SIGABRT",
        136 => "SIGFPE",
        137 => "SIGKILL",
        139 => "SIGSEGV",
        143 => "SIGTERM",
        _ => return None,
    })
}
