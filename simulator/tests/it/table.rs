/// Scenario, minutes after its first screen, what every channel shows then of an instance that is struck.
#[rustfmt::skip]
const TABLE: &[(&str, f64, &[&str])] = &[
    ("host-gpu-refuses-start", 30.0, &[
        "D state loading", "L empty", "Q no-ssh", "V actual_status=created", "V msg GPU error", "S out NoAddress", "F none",
        "C has No such container",
    ]),
    ("image-pull-slow", 20.0, &[
        "D state loading", "L empty", "Q no-ssh", "V actual_status=loading", "V msg Downloading", "S out NoAddress",
    ]),
    ("image-pull-refused", 20.0, &[
        "D state loading", "L empty", "Q no-ssh", "V actual_status=loading", "V msg toomanyrequests", "X has toomanyrequests",
    ]),
    ("container-create-failed", 20.0, &[
        "D state loading", "L empty", "Q no-ssh", "V actual_status=created", "V msg OCI runtime create failed", "X has CDI",
    ]),
    ("driver-too-old-at-create", 20.0, &[
        "D state loading", "L empty", "Q no-ssh", "V actual_status=created", "V msg unsatisfied condition: cuda",
        "V cuda_max_good=12.2", "V driver_version=535.183.01",
    ]),
    ("scheduling-gpu-taken", 60.0, &[
        "D state running", "V actual_status=stopped", "V intended_status=running", "V cur_state=scheduling", "L silent 30",
        "S out NoAddress", "Q no-ssh",
    ]),
    ("host-offline", 60.0, &[
        "D state running", "V actual_status=offline", "L silent 30", "S out TimedOut", "Q no-ssh",
    ]),
    ("outbid-preempted", 60.0, &[
        "D state running", "V is_bid=true", "V actual_status=stopped", "V intended_status=running", "L silent 30",
    ]),
    ("rental-expired", 60.0, &[
        "D state running", "V actual_status=stopped", "V intended_status=stopped", "L silent 30",
    ]),
    ("destroyed-outside", 60.0, &[
        "D state killed", "D reason disappeared from vast", "V absent", "M has disappeared", "L silent 30",
    ]),
    ("host-lost", 60.0, &[
        "D state killed", "D reason disappeared from vast", "V absent", "M has disappeared",
    ]),
    ("direct-port-broken", 60.0, &[
        "D state running", "D ssh_cmd=", "V ports=null", "S direct NoAddress", "S in", "L flows", "Q completed 1",
    ]),
    ("image-lacks-feature", 100.0, &[
        "D state running", "L empty", "F has proof assembled", "S no logship.sh", "S runs cuzk-daemon", "Q completed 1",
    ]),
    ("stale-cached-latest", 33.0, &[
        "D state params_done", "L empty", "S no logship.sh", "F has key-fetching complete",
    ]),
    ("missing-shared-library", 45.0, &[
        "D state params_done", "V actual_status=running", "S in", "L has error while loading shared libraries",
        "L has failed to connect to daemon via unix socket", "S exit cuzk-daemon 127", "S no cuzk-daemon", "Q refused",
    ]),
    ("cpu-isa-sigill", 45.0, &[
        "D state params_done", "V actual_status=running", "S in", "S exit cuzk-daemon 132", "S noadx", "S no cuzk-daemon",
        "Q refused", "L has Illegal instruction",
    ]),
    ("gpu-arch-crash-before-main", 45.0, &[
        "D state params_done", "V actual_status=running", "S in", "S exit cuzk-daemon 139", "S no cuzk-daemon",
        "L lacks cuzk: daemon", "L has failed to connect to daemon via unix socket", "S smi ok",
    ]),
    ("init-lib-crash-on-some-gpus", 45.0, &[
        "D state params_done", "V actual_status=running", "S in", "S exit cuzk-daemon 136", "L lacks cuzk: daemon",
        "Q refused",
    ]),
    ("image-missing-tool", 30.0, &[
        "D state loading", "V actual_status=running", "L empty", "F has curl: command not found", "S no entrypoint.sh",
        "S exit entrypoint.sh 127",
    ]),
    ("onstart-not-run", 60.0, &[
        "D state loading", "V actual_status=running", "V label=null", "L empty", "F none", "S in", "S no entrypoint.sh",
        "Q refused",
    ]),
    ("entrypoint-died-early", 30.0, &[
        "D state loading", "V actual_status=running", "L empty", "F has unbound variable", "S exit entrypoint.sh 1",
        "C lacks unbound",
    ]),
    ("env-missing", 12.0, &[
        "D state killed", "D reason disappeared from vast", "V actual_status=running", "S runs entrypoint.sh",
        "M has label=host-", "L has GiB/100.0GiB",
    ]),
    ("register-unreachable", 30.0, &[
        "D state loading", "V actual_status=running", "L empty", "F has 127.0.0.1 port 1235", "S manager no", "S runs portavail",
    ]),
    ("container-restarted-midway", 55.0, &[
        "D state params_done", "M has re-register", "S restarted", "S runs curio fetch-params", "L flows",
    ]),
    ("container-flapping", 30.0, &[
        "D state registered", "M has re-register", "L has Registered with manager",
    ]),
    ("tunnel-never-up", 30.0, &[
        "D state loading", "V actual_status=running", "L empty", "F has 127.0.0.1 port 1235", "S no portavail", "S manager no",
    ]),
    ("tunnel-half-open", 80.0, &[
        "D state running", "L silent 40", "V actual_status=running", "S manager no", "S runs cuzk-daemon",
        "F has proof assembled", "Q completed 1",
    ]),
    ("log-shipper-dead", 80.0, &[
        "D state running", "L silent 40", "S no logship.sh", "S runs cuzk-daemon", "F has proof assembled", "Q completed 1",
    ]),
    ("partition-transient", 75.0, &[
        "D state running", "L flows", "S runs cuzk-daemon", "Q completed 1",
    ]),
    ("dns-broken", 50.0, &[
        "D state registered", "V actual_status=running", "S in", "L has Temporary failure in name resolution", "L flows",
        "S resolves no",
    ]),
    ("mtu-blackhole", 50.0, &[
        "D state registered", "V actual_status=running", "S in", "L silent 20", "S runs curio fetch-params",
    ]),
    ("probe-auth-failed", 60.0, &[
        "D state running", "L flows", "S out KeyRefused", "Q no-ssh", "V actual_status=running",
    ]),
    ("log-push-truncated", 70.0, &[
        "D state running", "L flows", "L has DEBUG",
    ]),
    ("log-source-evicted", 100.0, &[
        "D state running", "L has DEBUG", "L lacks GiB/100GiB", "F has successfully submitted proof",
    ]),
    ("log-misattributed-uuid", 100.0, &[
        "D state running", "L empty", "S runs logship.sh", "F has proof assembled",
    ]),
    ("log-source-unknown", 100.0, &[
        "D state running", "L has proof assembled", "L flows",
    ]),
    ("log-cr-no-newline", 18.0, &[
        "D state registered", "V actual_status=running", "S in", "L lacks GiB/100GiB", "S runs curio fetch-params",
    ]),
    ("params-slow", 60.0, &[
        "D state registered", "V actual_status=running", "S in", "L has GiB/100.0GiB", "L flows", "S runs curio fetch-params",
        "S state curio fetch-params R",
    ]),
    ("params-gateway-stall", 50.0, &[
        "D state registered", "V actual_status=running", "S in", "L has GiB/100.0GiB", "L silent 20",
        "S state curio fetch-params S", "S runs curio fetch-params",
    ]),
    ("params-checksum-mismatch", 50.0, &[
        "D state registered", "V actual_status=running", "S in", "L has checksum mismatch", "L flows",
    ]),
    ("params-disk-full", 50.0, &[
        "D state registered", "V actual_status=running", "S in", "L has no space left on device", "L flows",
    ]),
    ("params-done-premature", 10.0, &[
        "D state params_done", "S runs curio fetch-params", "S no cuzk-daemon", "L has GiB/100.0GiB",
    ]),
    ("params-wrong-dir", 48.0, &[
        "D state params_done", "V actual_status=running", "S in", "L has SRS param file not found", "L flows",
        "S runs cuzk-daemon", "Q failed 1",
    ]),
    ("clock-skew-tls", 50.0, &[
        "D state registered", "V actual_status=running", "S in", "L has certificate has expired", "L flows",
    ]),
    ("daemon-config-invalid", 45.0, &[
        "D state params_done", "V actual_status=running", "S in", "L has failed to load config",
        "L has failed to connect to daemon via unix socket", "S exit cuzk-daemon 1", "Q refused",
    ]),
    ("daemon-address-mismatch", 48.0, &[
        "D state params_done", "V actual_status=running", "S in", "L has failed to connect to daemon", "S runs cuzk-daemon",
        "Q idle", "D gpu_util=0",
    ]),
    ("daemon-port-in-use", 48.0, &[
        "D state params_done", "V actual_status=running", "S in", "L has Address already in use", "L has ready, serving",
        "S runs cuzk-daemon", "Q refused",
    ]),
    ("daemon-crash-loop", 45.0, &[
        "D state params_done", "V actual_status=running", "S in", "L has cuzk-daemon starting",
        "S exit cuzk-daemon 134", "L flows",
    ]),
    ("srs-load-slow", 46.0, &[
        "D state params_done", "V actual_status=running", "S in", "L has loading SRS", "S runs cuzk-daemon", "Q refused",
        "S smi ok",
    ]),
    ("pce-extraction-first-proof", 36.0, &[
        "D state params_done", "V actual_status=running", "S in", "L has background PCE extraction starting", "S runs cuzk-daemon",
    ]),
    ("cuda-jit-first-launch", 36.0, &[
        "D state params_done", "V actual_status=running", "S in", "L silent 3", "S runs cuzk-daemon", "S state cuzk-daemon R",
    ]),
    ("no-kernel-image", 45.0, &[
        "D state params_done", "V actual_status=running", "S in", "L has no kernel image is available", "S smi ok",
        "Q failed 1",
    ]),
    ("driver-too-old", 45.0, &[
        "D state params_done", "V actual_status=running", "S in", "L has CUDA driver version is insufficient",
        "V driver_version=525.147.05", "S exit cuzk-daemon 1",
    ]),
    ("driver-lib-mismatch", 48.0, &[
        "D state params_done", "V actual_status=running", "S in", "L has Driver/library version mismatch", "S smi failed",
        "S smi has mismatch", "L has partition synthesis complete", "Q refused",
    ]),
    ("nvml-lost-in-container", 48.0, &[
        "D state params_done", "V actual_status=running", "S in", "S smi has Unknown Error",
        "L has Failed to initialize NVML",
    ]),
    ("gpu-fell-off-bus", 80.0, &[
        "D state running", "L silent 40", "S smi failed", "S smi has GPU is lost", "S state cuzk-daemon D", "S kernel Xid",
        "Q stuck", "D gpu_util=0",
    ]),
    ("gpu-lost-without-xid", 80.0, &[
        "D state running", "L silent 40", "S smi has GPU is lost", "S kernel fallen off the bus", "S state cuzk-daemon D",
    ]),
    ("gsp-timeout", 80.0, &[
        "D state running", "L silent 40", "S smi late", "S kernel GSP", "S state cuzk-daemon D",
    ]),
    ("ecc-uncorrectable", 80.0, &[
        "D state running", "S kernel 48", "S exit cuzk-daemon 134", "S no cuzk-daemon", "L has connection refused",
    ]),
    ("cuda-app-fault", 80.0, &[
        "D state running", "L has illegal memory access", "S kernel Xid", "Q failed 1", "L flows",
    ]),
    ("gpu-vram-oom", 45.0, &[
        "D state params_done", "V actual_status=running", "S in", "L has out of memory", "Q failed 1",
    ]),
    ("gpu-mem-leak-sppark", 230.0, &[
        "D state running", "L has out of memory", "Q completed 20", "Q failed 1",
    ]),
    ("gpu-held-by-other", 45.0, &[
        "D state params_done", "V actual_status=running", "S in", "L has busy or unavailable", "S exit cuzk-daemon 1",
        "Q refused",
    ]),
    ("gpu-throttled", 50.0, &[
        "D state params_done", "L flows", "S smi has HW Thermal Slowdown", "S runs cuzk-bench", "Q completed 3",
    ]),
    ("pcie-degraded", 50.0, &[
        "D state params_done", "L flows", "S smi has bus_width: 4", "Q completed 2",
    ]),
    ("fabric-not-ready", 45.0, &[
        "D state params_done", "V actual_status=running", "S in", "L has 802", "S smi ok", "Q refused",
    ]),
    ("multi-gpu-partial", 44.0, &[
        "D state params_done", "D num_gpus=4", "S smi has load_percent: 0.0", "Q completed 1",
    ]),
    ("silent-corruption", 120.0, &[
        "D state running", "L has self-check FAILED", "L has self-check PASSED", "Q failed 1", "S smi ok",
    ]),
    ("gpu-probe-wedged", 48.0, &[
        "D state params_done", "V actual_status=running", "S in", "S smi late", "S state cuzk-daemon D",
    ]),
    ("driver-lockup-transient", 50.0, &[
        "D state running", "L silent 20", "S smi late", "S state cuzk-daemon D",
    ]),
    ("host-oom-cgroup", 48.0, &[
        "D state params_done", "V actual_status=running", "S in", "S oom 1", "S exit cuzk-daemon 137", "S no cuzk-daemon",
        "S kernel Memory cgroup out of memory", "L has failed to connect to daemon via unix socket", "Q refused",
    ]),
    ("host-oom-global", 80.0, &[
        "D state running", "S oom 0", "S exit cuzk-daemon 137", "S kernel CONSTRAINT_NONE", "L has connection refused",
        "Q refused",
    ]),
    ("budget-starved-wait", 48.0, &[
        "D state params_done", "V actual_status=running", "S in", "L has exceeds total budget", "S runs cuzk-daemon",
        "S oom 0", "Q failed 0",
    ]),
    ("pinned-alloc-failed", 50.0, &[
        "D state params_done", "L has cudaHostAlloc failed", "S locked", "Q completed 1",
    ]),
    ("cpu-starved", 44.0, &[
        "D state params_done", "L flows", "V cpu_util=98.0", "Q completed 2",
    ]),
    ("cpu-quota-throttled", 44.0, &[
        "D state params_done", "L flows", "S throttled",
    ]),
    ("disk-slow", 60.0, &[
        "D state registered", "V actual_status=running", "S in", "L has GiB/100.0GiB", "L flows",
        "S state curio fetch-params R",
    ]),
    ("disk-full-runtime", 110.0, &[
        "D state running", "L silent 20", "S runs cuzk-daemon", "Q completed 1",
    ]),
    ("noisy-neighbour-pcie", 50.0, &[
        "D state params_done", "L flows", "S smi has bus_width: 16", "Q completed 2",
    ]),
    ("noisy-neighbour-cpu", 44.0, &[
        "D state params_done", "L flows", "Q completed 2",
    ]),
    ("bench-not-started", 50.0, &[
        "D state params_done", "V actual_status=running", "S in", "S no cuzk-daemon", "S no entrypoint.sh",
        "S exit entrypoint.sh 0", "Q refused", "L has key-fetching complete", "L lacks Starting benchmark",
    ]),
    ("bench-waits-for-daemon", 48.0, &[
        "D state params_done", "V actual_status=running", "S in", "L has failed to connect to daemon via unix socket", "L has panicked",
        "S no cuzk-daemon", "S runs benchmark.sh", "S no cuzk-bench", "S exit cuzk-daemon 134", "Q refused",
    ]),
    ("bench-client-hang", 64.0, &[
        "D state params_done", "V actual_status=running", "S in", "L has [3/12] COMPLETED", "L silent 10", "S runs cuzk-bench",
        "S runs cuzk-daemon", "D gpu_util=0", "Q completed 3",
    ]),
    ("pipeline-deadlock", 58.0, &[
        "D state params_done", "V actual_status=running", "S in", "L has loading SRS", "L silent 5", "S runs cuzk-daemon",
        "D gpu_util=0",
    ]),
    ("bench-input-missing", 50.0, &[
        "D state killed", "D reason bench_rate 0.0 below", "V absent", "M has passed=false",
    ]),
    ("bench-rpc-abort", 62.0, &[
        "D state killed", "D reason bench_rate 0.0 below", "V absent", "L has [4/12] COMPLETED",
    ]),
    ("bench-report-lost", 64.0, &[
        "D state params_done", "V actual_status=running", "S in", "L has Batch Summary", "S no entrypoint.sh",
        "S exit entrypoint.sh 28", "F has throughput",
    ]),
    ("bench-rate-zero", 64.0, &[
        "D state killed", "D reason bench_rate 0.0 below", "L has [10/12]", "L lacks throughput", "M has rate=0.0",
    ]),
    ("rate-unit-mismatch", 64.0, &[
        "D state killed", "D reason below min_rate", "L has [10/12]", "M has rate=0.",
    ]),
    ("rate-below-min-genuine", 85.0, &[
        "D state killed", "D reason below min_rate", "L has [10/12]",
    ]),
    ("min-rate-misset", 64.0, &[
        "D state killed", "D reason below min_rate 90.0", "L has [10/12]",
    ]),
    ("bench-slow-timeout", 95.0, &[
        "D state killed", "D reason benchmark timeout (45min)", "L has [6/12] COMPLETED", "M has benchmark timeout",
    ]),
    ("running-call-failed", 85.0, &[
        "D state bench_done", "S no entrypoint.sh", "S exit entrypoint.sh 1", "L silent 5",
    ]),
    ("daemon-died-after-running", 80.0, &[
        "D state running", "S no cuzk-daemon", "S exit cuzk-daemon 134", "L has connection refused", "Q refused",
        "D gpu_util=0",
    ]),
    ("worker-panicked-process-alive", 80.0, &[
        "D state running", "L silent 40", "S runs cuzk-daemon", "D gpu_util=0",
    ]),
    ("upstream-no-work", 80.0, &[
        "D state running", "L has polled work from service", "S runs cuzk-daemon", "Q idle", "D gpu_util=0",
    ]),
    ("age-degradation", 200.0, &[
        "D state running", "L flows", "Q completed 10",
    ]),
    ("post-proof-submit-failed", 80.0, &[
        "D state running", "L has failed to respond to work", "L has proof assembled", "Q completed 1",
    ]),
    ("bad-host-reaped", 10.0, &[
        "D state killed", "D reason bad host", "M has \u{2014} bad host", "V absent",
    ]),
    ("bad-host-meaning-shift", 10.0, &[
        "M has host of 2024", "V absent",
    ]),
    ("kill-before-destroy-ordering", 60.0, &[
        "D state killed", "D reason manually killed", "V actual_status=running", "S runs cuzk-daemon",
        "M lacks manually destroying",
    ]),
    ("unauthenticated-report", 36.0, &[
        "D state bench_done", "D bench_rate=999", "L lacks Batch Summary",
    ]),
    ("state-skipped", 45.0, &[
        "D state running", "L lacks Starting benchmark", "L has connected to cuzk daemon",
    ]),
    ("labelled-slow-pull-killed", 25.0, &[
        "D absent", "M has killing unregistered instance", "V absent",
    ]),
    ("mgr-restart-lost-logs", 21.9, &[
        "D state running", "M lacks [register]", "S runs cuzk-daemon", "Q completed 1", "V actual_status=running",
    ]),
    ("vast-cache-frozen-error", 50.0, &[
        "D state running", "M has vastai show instances: exit status 1", "V actual_status=running", "L flows",
    ]),
    ("vast-cli-hang", 50.0, &[
        "D state running", "M lacks error", "V actual_status=running", "L flows",
    ]),
    ("vast-empty-list", 50.0, &[
        "D state killed", "D reason disappeared from vast", "V actual_status=running", "M has cached 0 vast instances",
        "S runs cuzk-daemon",
    ]),
    ("vast-partial-list", 50.0, &[
        "M has cached 25 vast instances",
    ]),
    ("destroy-false-success", 75.0, &[
        "D state killed", "D reason below min_rate", "V actual_status=running", "M has destroyed vast instance", "S in",
    ]),
    ("destroy-failed-logged", 75.0, &[
        "D state killed", "V actual_status=running", "M has failed to destroy",
    ]),
    ("sqlite-busy", 60.0, &[
        "D state registered", "L has database is locked", "S in",
    ]),
    ("register-falls-through", 60.0, &[
        "M lacks re-register", "V actual_status=running",
    ]),
    ("rows-dropped-on-scan", 50.0, &[
        "D state loading", "V actual_status=running", "S runs cuzk-daemon",
    ]),
    ("bad-timestamp", 60.0, &[
        "D state params_done", "M has bad timestamp",
    ]),
    ("clock-step", 45.0, &[
        "D state killed", "D reason timeout", "M has timeout",
    ]),
    ("credit-exhausted-stopped", 50.0, &[
        "D state running", "V actual_status=stopped", "V intended_status=stopped", "L silent 20", "M lacks disappeared",
    ]),
    ("vast-http-error-exit0", 50.0, &[
        "D state running", "M has unexpected end of JSON input", "L flows",
    ]),
    ("vast-list-retired", 50.0, &[
        "D state running", "M has unexpected end of JSON input", "L flows",
    ]),
    ("vast-poison-row", 50.0, &[
        "D state running", "M has cannot unmarshal", "L flows",
    ]),
    ("vast-cli-null-start-date", 10.0, &[
        "M has exit status 1", "V start_date=null",
    ]),
    ("vast-telemetry-zeros", 50.0, &[
        "D state running", "L flows", "S runs cuzk-daemon", "V gpu_temp=0.0",
    ]),
    ("vast-telemetry-frozen", 50.0, &[
        "D state running", "L flows", "V actual_status=running",
    ]),
    ("vast-null-record", 50.0, &[
        "D state running", "L flows",
    ]),
    ("vast-logs-late", 50.0, &[
        "D state running", "C has OpenSSH",
    ]),
    ("vast-destroy-refused", 75.0, &[
        "D state killed", "V actual_status=running", "M has destroyed vast instance",
    ]),
    ("observer-fault", 60.0, &[
        "D state running", "L flows", "S runs cuzk-daemon",
    ]),
    ("status-disabled-by-default", 60.0, &[
        "D state running", "L flows", "S runs cuzk-daemon", "Q refused",
    ]),
];
