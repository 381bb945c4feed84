//! The output of the look at a machine: what is read of it, and what is not made of what is missing, damaged or forged.

use dwell_fleet::Timestamp;
use dwell_fleet::look::{ProverAnswer, Smi};
use dwell_wire::{PROBE_END, PROBE_SECTIONS, Probed, probe_mark, probe_script, probed};
use proptest::prelude::*;

fn at() -> Timestamp {
    "2026-12-01T02:41:40Z".parse().unwrap()
}

fn output(sections: &[(&str, &str)]) -> String {
    let mut text: String = sections.iter().map(|(name, body)| format!("{}\n{body}\n", probe_mark(name))).collect();
    text.push_str(PROBE_END);
    text
}

fn read(sections: &[(&str, &str)]) -> Probed {
    probed(&output(sections), at()).unwrap()
}

/// procps in a container whose uptime is not its host's: a start that lies ahead is printed as an age near 2^32 seconds.
#[test]
fn an_age_that_no_process_has_is_not_told() {
    let of = |age: &str| {
        let it = read(&[("clock", "1796092900"), ("ps", &format!("1 Ss {age} 0.0 3040 /bin/bash /.launch\nexit 0"))]).seen;
        (it.processes.map(|list| list.into_iter().map(|process| process.started_at).collect::<Vec<_>>()), it.container_started_at)
    };
    assert_eq!(of("4123094400"), (Some(vec![None]), None));
    assert_eq!(of("-12"), (Some(vec![None]), None));
    let started = Timestamp::from_second(1_796_092_300).unwrap();
    assert_eq!(of("600"), (Some(vec![Some(started)]), Some(started)));
}

/// As Debian 12 with procps, util-linux, coreutils and an NVIDIA driver prints it.
#[test]
fn a_whole_output_is_read() {
    let it = read(&[
        ("clock", "1796092900"),
        (
            "ps",
            "      1 Ss     600  0.0   3040 /bin/bash /.launch\n     31 S      598  0.0   3100 /bin/bash /opt/entrypoint.sh\n    140 Rl     300 98.5 88080384 /usr/local/bin/cuzk-daemon --config /etc/cuzk.toml\n    200 S        0  0.0   1000 sh -c : dwell-probe; export LC_ALL=C\nexit 0",
        ),
        ("image", "version=1.4.2\nbuilt=2026-11-30T10:00:00Z\nscript 1764500000 /opt/entrypoint.sh"),
        (
            "cgroup",
            "memory.max 137438953472\nmemory.current 94489280512\nmemory.events low 0\nmemory.events oom_kill 2\ncpu.stat usage_usec 5\ncpu.stat nr_throttled 4200",
        ),
        ("memlock", "8192"),
        ("adx", "1"),
        (
            "files",
            "file 1234 1796092860 /var/log/cuzk-bench.log\n> proof 3 of 12\n> #dwell:end\n> file 1 2 /etc/forged\nfile 10 1796092000 /var/log/other name.log\nexit 0",
        ),
        (
            "exits",
            "2026-12-01 02:30:00,123 INFO exited: cuzk-daemon (terminated by SIGKILL; not expected)\n2026-12-01 02:31:00,000 INFO exited: entrypoint.sh (exit status 28; not expected)\nnonsense\nexit 0",
        ),
        ("kernel", "2026-12-01T02:29:59,500000+00:00 Memory cgroup out of memory: Killed process 140\nexit 0"),
        ("parameters", "53687091200\t/var/tmp/filecoin-proof-parameters"),
        ("names", "exit 0"),
        ("manager", "exit 28"),
        ("prover", "{\"counters\":{\"total_completed\":3},\"gpu_workers\":[{\"state\":\"proving\",\"busy_secs\":9}]}\nexit 0"),
        ("disk", "overlay 250000000000 60000000000 190000000000 25% /"),
        (
            "smi",
            "NVIDIA GeForce RTX 4090, 97, 71, 11264, 24564, 16, 0x0000000000000004\nNVIDIA GeForce RTX 4090, [N/A], 40, 10, 24564, 4, 0x0000000000000041\nexit 0",
        ),
        ("read", "67108864 bytes (67 MB, 64 MiB) copied, 0.0305 s, 2.2 GB/s"),
        ("uptime", "864000"),
    ]);
    let seen = it.seen;
    assert!(it.complete);
    assert_eq!(seen.clock_ahead_s.map(|s| s as i64), Some(1_796_092_900 - at().as_second()));
    let clock = Timestamp::from_second(1_796_092_900).unwrap();
    assert_eq!(seen.container_started_at, Some(dwell_fleet::shift(clock, -600.0)));
    let processes = seen.processes.unwrap();
    assert_eq!(processes.len(), 3, "the look's own processes are not the instance's");
    assert_eq!((processes[2].state, processes[2].memory_gib), ('R', Some(84.0)));
    assert_eq!(seen.image_built, Some("2026-11-30T10:00:00Z".parse().unwrap()));
    assert_eq!((seen.memory_limit_gib, seen.memory_used_gib), (Some(128.0), Some(88.0)));
    assert_eq!((seen.oom_kills, seen.throttled_periods), (Some(2), Some(4200)));
    assert_eq!((seen.locked_memory_limited, seen.has_adx), (Some(true), Some(true)));
    let files = seen.files.unwrap();
    assert_eq!(files.len(), 2, "a line of a log is no file: {files:?}");
    assert_eq!((files[0].source.as_str(), files[0].tail.len()), ("benchout", 3));
    assert_eq!(files[1].path, "/var/log/other name.log");
    let exits: Vec<_> = seen.exits.unwrap().into_iter().map(|exit| (exit.program, exit.code)).collect();
    assert_eq!(exits, [("cuzk-daemon".to_owned(), 137), ("entrypoint.sh".to_owned(), 28)]);
    assert_eq!(seen.kernel.unwrap().len(), 1);
    assert_eq!((seen.resolves_names, seen.reaches_manager), (Some(true), Some(false)));
    assert_eq!((seen.disk_gb, seen.disk_used_gb, seen.disk_mb_s), (Some(250.0), Some(60.0), Some(2200.0)));
    let Some(Smi::Cards(cards)) = seen.smi else { panic!("{:?}", seen.smi) };
    assert_eq!(cards[0].throttle_reason.as_deref(), Some("SW Power Cap"));
    assert_eq!((cards[1].load_percent, cards[1].throttle_reason.as_deref()), (None, Some("HW Thermal Slowdown")));
    let Some(ProverAnswer::Status(status)) = it.prover else { panic!("{:?}", it.prover) };
    assert_eq!((status.completed, status.failed, status.busiest_s()), (Some(3), None, 9.0));
}

/// What could not be looked at is unknown, not well and not ill.
#[test]
fn what_a_machine_cannot_tell_is_not_told() {
    let bare = read(&[
        ("clock", "soon"),
        ("ps", "sh: 1: ps: not found\nexit 127"),
        ("cgroup", ""),
        ("kernel", "exit 1"),
        ("exits", "exit 2"),
        ("sockets", "exit 127"),
        ("names", "exit 127"),
        ("manager", "exit 127"),
        ("prover", "\nexit 127"),
        ("parameters", ""),
        ("smi", "sh: 1: nvidia-smi: not found\nexit 127"),
        ("read", "dd: failed to open"),
        ("disk", ""),
    ]);
    assert_eq!(bare, Probed { complete: true, ..Probed::default() });
    // Some memory limits are no limits; a refused kernel log is no log without errors.
    assert_eq!(read(&[("cgroup", "memory.max max")]).seen.memory_limit_gib, None);
    assert_eq!(read(&[("cgroup", "memory/memory.limit_in_bytes 9223372036854771712")]).seen.memory_limit_gib, None);
    assert_eq!(read(&[("kernel", "exit 0")]).seen.kernel, Some(Vec::new()));
    assert_eq!(probed("bash: line 1: exec: sh: not found", at()), None);
    assert_eq!(probed("", at()), None);
}

/// `nvidia-smi` that never comes back is the finding; what would have come after it is not told.
#[test]
fn an_output_that_breaks_off_tells_what_came_before() {
    let whole = output(&[("clock", "1796092900"), ("memlock", "unlimited"), ("smi", ""), ("read", "")]);
    let cut = &whole[..whole.find(&probe_mark("read")).unwrap()];
    let it = probed(cut, at()).unwrap();
    assert!(!it.complete);
    assert_eq!((it.seen.locked_memory_limited, it.seen.smi), (Some(false), Some(Smi::TimedOut)));
    assert_eq!(read(&[("smi", "exit 124")]).seen.smi, Some(Smi::TimedOut));
    assert_eq!(
        read(&[("smi", "Unable to determine the device handle: GPU is lost.\nexit 15")]).seen.smi,
        Some(Smi::Failed("Unable to determine the device handle: GPU is lost.".into()))
    );
}

/// The shell agrees that the script is one, and each command in it only reads.
#[test]
fn the_script_is_shell_and_changes_nothing() {
    let checked = std::process::Command::new("sh").args(["-n", "-c", &probe_script()]).status().unwrap();
    assert!(checked.success());
    for word in [" rm ", " mv ", " tee ", " kill -9", "sudo", "apt", " > /", ">> ", "--gpu-reset", "environ", "KEY", "TOKEN"] {
        assert!(!probe_script().contains(word), "{word:?} in the script");
    }
}

proptest! {
    #[test]
    fn any_output_is_read_without_a_panic_and_within_limits(
        parts in prop::collection::vec((prop::sample::select(PROBE_SECTIONS.map(|it| it.0).to_vec()), "[ -~\n]{0,120}|(exit -?[0-9]{1,12}\n){0,2}|(> .{0,20}\n){0,60}|[0-9]{1,30}( [0-9a-zA-Z:.,-]{1,30}){0,8}"), 0..24),
        end in any::<bool>(),
    ) {
        let mut text: String = parts.iter().map(|(name, body)| format!("{}\n{body}\n", probe_mark(name))).collect();
        if end {
            text.push_str(PROBE_END);
        }
        if let Some(it) = probed(&text, at()) {
            prop_assert_eq!(it.complete, end);
            prop_assert!(it.seen.processes.is_none_or(|list| list.len() <= 300));
            prop_assert!(it.seen.files.is_none_or(|list| list.len() <= 24 && list.iter().all(|file| file.tail.len() <= 40)));
        }
    }
}
