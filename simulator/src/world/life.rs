//! The life of an instance: what its host, its entrypoint, its prover and its benchmark do next.

use std::sync::Arc;

use super::ship::{Heard, Post};
use super::words::{Level, PARAMETERS, SOCKET};
use super::{Container, Source, Stuck, Task, World};
use crate::conditions::{Card, Driver, Gateway, Line, Naming};
use crate::dice::wobble;
use crate::world::instance::{Daemon, Exit};

/// Proof parameters, GiB.
pub(super) const PARAMETERS_GIB: f64 = 100.0;
/// Proofs in a benchmark.
const BENCHMARK_PROOFS: u32 = 12;
/// A report that was not heard is tried again after this, seconds.
const REPORT_RETRY_S: f64 = 30.0;
/// A step that failed is tried again after this, seconds.
const RETRY_S: f64 = 60.0;
/// What one proof needs of the prover's memory budget: parameters 44, circuit 26, working set 14 GiB.
const BUDGET_LEAST_GIB: f64 = 84.0;
/// What the prover uses where its budget allows it, GiB.
const BUDGET_WANTED_GIB: f64 = 165.0;
/// Card memory that a proof needs, MiB.
pub(super) const CARD_MEMORY_MIB: f64 = 10_500.0;
/// What the prover keeps for the system, GiB.
const SYSTEM_GIB: f64 = 5.0;

/// Where parameters are fetched to.
const PARAMETERS_FOLDER: &str = "/var/tmp/filecoin-proof-parameters";
/// The prover's words for parameters that are not there; it names which.
const NO_PARAMETERS: &str = "SRS param file not found for";

/// What a call to the card comes to.
enum Call {
    Returns,
    Fails(&'static str),
    NeverReturns(Stuck),
}

impl World {
    /// The next step of an instance.
    pub(super) fn step(&mut self, index: usize) {
        match self.instances[index].task {
            Task::Waiting => self.pick_up(index),
            Task::Pulling | Task::Refused => self.pull(index),
            Task::Registering => self.register(index),
            Task::Fetching => self.fetch(index),
            Task::ReportingParameters => self.report_parameters(index),
            Task::WarmingUp { beat } => self.warm_up(index, beat),
            Task::Preloading => self.preloaded(index),
            Task::Connecting => self.connect(index),
            Task::Benchmarking { proofs, failed } => self.benchmark_proof(index, proofs, failed),
            Task::ReportingBenchmark { rate } => self.report_benchmark(index, rate),
            Task::Starting => self.start_prover(index),
            Task::ReportingRunning => self.report_running(index),
            Task::Proving => self.prove(index),
            Task::Over | Task::Stopped => {}
        }
    }

    fn retry(&mut self, index: usize, stuck: Stuck) {
        self.instances[index].stuck = Some(stuck);
        self.next_in(index, RETRY_S);
    }

    // The host.

    fn pick_up(&mut self, index: usize) {
        if self.instances[index].conditions.host.offline {
            return self.retry(index, Stuck::Download);
        }
        let instance = &mut self.instances[index];
        let image = &self.scenario.images[instance.image];
        instance.contract.actual = Some("loading");
        instance.contract.cur_state = "loading";
        let repository = image.reference.split(':').next().unwrap_or(&image.reference);
        instance.contract.status_msg = Some(format!("Pulling from {repository}").into());
        // A host that knows the tag does not ask what it means today.
        if let Some(held) = self.machines[instance.machine].images.get(&image.reference) {
            instance.image = *held;
            instance.pulled_gb = self.scenario.images[*held].size_gb;
        }
        self.enter(index, Task::Pulling);
        self.pull(index);
    }

    fn pull(&mut self, index: usize) {
        const BEAT_S: f64 = 20.0;
        let instance = &mut self.instances[index];
        let host = &instance.conditions.host;
        let image = &self.scenario.images[instance.image];
        if host.offline {
            return self.retry(index, Stuck::Download);
        }
        let refusal = host.pull_refusal.filter(|_| instance.pulled_gb < image.size_gb);
        if let Some(words) = refusal {
            instance.contract.status_msg = Some(words.into());
            return self.retry(index, Stuck::Retrying);
        }
        let machine = &self.machines[instance.machine];
        let left_s = (image.size_gb - instance.pulled_gb) * 8_000.0 / (machine.down_mbps * host.pull_share);
        if left_s > 0.0 {
            let beat_s = left_s.min(BEAT_S);
            let passed_s = (self.now.as_millisecond() - instance.task_since.as_millisecond()) as f64 / 1000.0;
            if passed_s >= BEAT_S {
                let layer = (wobble(instance.vast_id, passed_s as u64 / 20) * f64::from(u32::MAX)) as u32;
                let step = if host.pull_share < 0.3 { "Downloading" } else { "Pull complete" };
                instance.contract.status_msg = Some(format!("{layer:08x}: {step}").into());
            }
            let arrived_gb = beat_s * machine.down_mbps * host.pull_share / 8_000.0;
            instance.pulled_gb = if left_s <= BEAT_S { image.size_gb } else { instance.pulled_gb + arrived_gb };
            instance.stuck = None;
            return self.next_in(index, beat_s);
        }
        let requirement = (image.cuda > host.cuda_max).then(|| {
            format!(
                "OCI runtime create failed: nvidia-container-cli: requirement error: unsatisfied condition: cuda>={:.1}, please update your driver",
                image.cuda
            )
        });
        if let Some(words) = host.start_refusal.map(str::to_owned).or(requirement) {
            instance.contract.status_msg = Some(words.into());
            instance.contract.actual = Some("created");
            instance.task = Task::Refused;
            return self.retry(index, Stuck::Retrying);
        }
        let reference = image.reference.clone();
        let held = instance.image;
        self.machines[instance.machine].images.insert(reference, held);
        self.start_container(index);
    }

    // The entrypoint.

    pub(super) fn begin_entrypoint(&mut self, index: usize) {
        const BOOT_S: f64 = 4.0;
        let software = self.instances[index].conditions.software.clone();
        let by_arguments = self.instances[index].contract.runtype == "args";
        if !software.starts || by_arguments && self.instances[index].contract.onstart.is_none() {
            return self.enter(index, Task::Over);
        }
        let death = software.tool_lacking.map(|tool| match tool {
            "ssh" => ("/opt/entrypoint.sh: line 22: ssh: command not found", 127),
            _ => ("/opt/entrypoint.sh: line 18: curl: command not found", 127),
        });
        if let Some((line, code)) = software.entrypoint_death.or(death) {
            self.write(index, Source::Setup, line);
            return self.end_script(index, code);
        }
        self.enter(index, Task::Registering);
        self.next_in(index, BOOT_S);
    }

    fn end_script(&mut self, index: usize, code: i32) {
        self.record_exit(index, "entrypoint.sh", code);
        if let Some(container) = &mut self.instances[index].container {
            container.script_exit = Some(code);
        }
        self.enter(index, Task::Over);
    }

    pub(super) fn record_exit(&mut self, index: usize, program: &'static str, code: i32) {
        let at = self.now;
        if let Some(container) = &mut self.instances[index].container {
            container.exits.push(Exit { at, program, code });
        }
    }

    /// A report was not heard: it is repeated, or given up. What stands in the log is what curl says of it.
    fn unheard(&mut self, index: usize, heard: &Heard) {
        let line = match heard {
            Heard::No(status) => {
                format!("{{\"error\":\"db error: {}\"}}", if *status == 500 { "database is locked" } else { "" })
            }
            _ => match self.line_to_manager(index) {
                Line::Cut => "curl: (7) Failed to connect to 127.0.0.1 port 1235 after 0 ms: Connection refused".to_owned(),
                Line::Swallows | Line::DropsReplies => {
                    "curl: (28) Operation timed out after 30001 milliseconds with 0 bytes received".to_owned()
                }
                _ => "curl: (52) Empty reply from server".to_owned(),
            },
        };
        self.write(index, Source::Setup, &line);
        if self.instances[index].conditions.software.gives_up_reports {
            return self.end_script(index, 28);
        }
        self.instances[index].stuck = Some(Stuck::Report);
        self.next_in(index, REPORT_RETRY_S);
    }

    fn register(&mut self, index: usize) {
        let instance = &mut self.instances[index];
        let label = match instance.conditions.software.naming {
            Naming::ByNumber => instance.fixed.numbered.clone(),
            Naming::Odd => format!("host-{:x}", instance.vast_id % 65_536),
        };
        let drawn = instance.dice.uuid();
        let fresh = match &instance.uuid {
            None => instance.preset_uuid.clone().unwrap_or(drawn),
            Some(_) => drawn,
        };
        let min_rate = instance.conditions.software.min_rate.unwrap_or(instance.min_rate);
        match self.post(index, Post::Register { label: &label, min_rate, fresh }) {
            Heard::Uuid(uuid) => self.instances[index].uuid = Some(uuid),
            Heard::No(404) | Heard::Ok => {}
            heard @ (Heard::No(_) | Heard::Nothing | Heard::Passed(_)) => return self.unheard(index, &heard),
        }
        self.write(index, Source::Setup, "Registered with manager");
        let now = self.now;
        let image = self.instances[index].image;
        let instance = &mut self.instances[index];
        // The advertised bandwidth is reached in part only.
        instance.fetch_share = instance.dice.between(0.55, 0.9);
        if let Some(container) = &mut instance.container {
            container.fetch_started_at = Some(now);
        }
        if self.scenario.images[image].has_parameters {
            instance.parameters_gib = PARAMETERS_GIB;
        }
        self.enter(index, Task::Fetching);
        self.fetch_on(index);
    }

    /// Seconds that the rest of the fetch takes at the present pace; `None` where nothing arrives.
    fn fetch_pace(&self, index: usize) -> Option<f64> {
        let instance = &self.instances[index];
        let machine = &self.machines[instance.machine];
        let share = match instance.conditions.lines.parameters {
            Line::Good | Line::DropsReplies => 1.0,
            Line::Slow(share) => share,
            Line::Cut | Line::Swallows | Line::DropsLarge => return None,
        };
        let network_mb_s = machine.down_mbps / 8.0 * instance.fetch_share * share;
        let disk_mb_s = machine.disk_mb_s * instance.conditions.host.disk_share;
        let left_mb = (PARAMETERS_GIB - instance.parameters_gib) * 1_073.741_824;
        Some(left_mb / network_mb_s.min(disk_mb_s))
    }

    fn fetch_on(&mut self, index: usize) {
        self.instances[index].stuck = None;
        match self.fetch_pace(index) {
            Some(left_s) => self.next_in(index, left_s.clamp(0.001, 60.0)),
            None => self.retry(index, Stuck::Download),
        }
    }

    fn fetch(&mut self, index: usize) {
        let instance = &mut self.instances[index];
        let (lines, host, software) = (&instance.conditions.lines, &instance.conditions.host, &instance.conditions.software);
        let early = software.reports_params_early && !instance.reported_early;
        let failed = |why: &str| format!("ERROR: fetching file {PARAMETERS_FOLDER}/{PARAMETERS} failed: {why}");
        let get = |why: &str| {
            failed(&format!("Get \"https://proofs.filecoin.io/ipfs/QmVxjFRyhmyQaZEtCh7nk2abc7LhFkzhnRX4rcHqCCpikR\": {why}"))
        };
        let corrupt = software.gateway == Gateway::ErrorPage;
        let trouble = if host.offline {
            Some(String::new())
        } else if !lines.names {
            Some(get("dial tcp: lookup proofs.filecoin.io: Temporary failure in name resolution"))
        } else if host.clock_ahead_s > 86_400.0 {
            Some(get(
                "tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time is after 2030-01-01T00:00:00Z",
            ))
        } else if corrupt {
            Some(String::new())
        } else if lines.parameters == Line::Cut {
            Some(get("dial tcp 203.0.113.80:443: connect: connection refused"))
        } else {
            None
        };
        if early {
            instance.reported_early = true;
            if matches!(self.post(index, Post::ParamDone), Heard::Nothing) {
                self.instances[index].reported_early = false;
            }
        }
        if let Some(line) = trouble {
            if corrupt && self.instances[index].conditions.lines.names && !self.instances[index].conditions.host.offline {
                let words = format!(
                    "sanity checking fetched file failed, removing and retrying: checksum mismatch in param file {PARAMETERS}, \
                     1e0b3a5d7c9f != 7fa8ff5d31b9"
                );
                let place = ("paramfetch", "fastparamfetch/paramfetch.go:163");
                self.curio_says(index, Source::Setup, "ERROR", place, &words, "");
            } else if !line.is_empty() {
                self.write(index, Source::Setup, &line);
            }
            return self.retry(index, Stuck::Download);
        }
        // What has arrived in the step that ends now.
        let was_going = self.instances[index].stuck.is_none();
        if let Some(left_s) = self.fetch_pace(index).filter(|_| was_going) {
            let step_s = left_s.min(60.0);
            let left_gib = PARAMETERS_GIB - self.instances[index].parameters_gib;
            let arrived = if left_s <= step_s { left_gib } else { left_gib * step_s / left_s };
            self.instances[index].parameters_gib += arrived;
        }
        let disk_gb = self.disk_gb(index);
        let instance = &mut self.instances[index];
        if self.scenario.images[instance.image].size_gb * 2.0 + instance.parameters_gib * 1.073_741_824 > disk_gb {
            let fits = (disk_gb - self.scenario.images[instance.image].size_gb * 2.0) / 1.073_741_824;
            instance.parameters_gib = fits.max(0.0);
            let line = format!(
                "ERROR: fetching file {PARAMETERS_FOLDER}/{PARAMETERS} failed: write {PARAMETERS_FOLDER}/{PARAMETERS}: no space left on device"
            );
            self.write(index, Source::Setup, &line);
            return self.retry(index, Stuck::Download);
        }
        if instance.parameters_gib < PARAMETERS_GIB - 1e-9 {
            if !instance.conditions.software.carriage_returns && self.fetch_pace(index).is_some() {
                let line = self.progress_of_fetch(index);
                self.write(index, Source::Setup, &line);
            }
            return self.fetch_on(index);
        }
        if self.instances[index].conditions.software.carriage_returns {
            let bar: Vec<String> =
                (0..=100).map(|percent| format!("[#2089b0 {percent}GiB/100GiB({percent}%) CN:16 DL:48MiB ETA:9m]")).collect();
            self.write(index, Source::Setup, &bar.join("\r"));
        }
        self.enter(index, Task::ReportingParameters);
        self.report_parameters(index);
    }

    fn report_parameters(&mut self, index: usize) {
        if !self.instances[index].reported_early
            && let heard @ (Heard::Nothing | Heard::No(500)) = self.post(index, Post::ParamDone)
        {
            return self.unheard(index, &heard);
        }
        let place = ("paramfetch", "fastparamfetch/paramfetch.go:251");
        self.curio_says(index, Source::Setup, "INFO", place, "parameter and key-fetching complete", "");
        let software = &self.instances[index].conditions.software;
        if !software.benchmark_starts {
            return self.end_script(index, 0);
        }
        if software.skips_benchmark {
            self.enter(index, Task::Starting);
            return self.next_in(index, 20.0);
        }
        self.write(index, Source::Setup, "Starting benchmark");
        self.enter(index, Task::WarmingUp { beat: 0 });
        self.next_in(index, 5.0);
    }

    // The prover daemon.

    /// Starts a prover daemon that writes to `log`. `Err` with its exit code where it does not stay.
    fn start_daemon(&mut self, index: usize, log: Source) -> Result<(), i32> {
        let software = self.instances[index].conditions.software.clone();
        let gpu = self.instances[index].conditions.gpu.clone();
        let adx = self.instances[index].conditions.host.adx;
        let pid = self.instances[index].container.as_ref().map_or(0, |container| container.pids);
        let ended = |world: &mut Self, code: i32| {
            world.record_exit(index, "cuzk-daemon", code);
            Err(code)
        };
        if let Some(library) = software.library_lacking {
            let line = format!(
                "cuzk-daemon: error while loading shared libraries: {library}: cannot open shared object file: No such file or directory"
            );
            self.write(index, log, &line);
            return ended(self, 127);
        }
        if let Some(code) = software.dies_before_main {
            // It dies before it can write, or at the first thing that it does.
            if code == 134 {
                self.daemon_says(index, log, Level::Info, "cuzk_daemon", "cuzk-daemon starting", &[]);
                self.write(index, log, "thread 'main' panicked at cuzk-daemon/src/main.rs:104:14:");
                let words = "failed to configure rayon global thread pool (must be called before any rayon work): ThreadPoolBuildError { kind: IOError(Os { code: 11, kind: WouldBlock, message: \"Resource temporarily unavailable\" }) }";
                self.write(index, log, words);
            }
            return ended(self, code);
        }
        if !adx {
            self.shell_tells_of_end(index, log, pid, 132);
            return ended(self, 132);
        }
        if !software.config_valid {
            let causes = ["TOML parse error at line 3, column 10", "invalid type: integer `9820`, expected a string"];
            self.ends_with(index, log, "failed to load config from \"/etc/cuzk.toml\"", &causes);
            return ended(self, 1);
        }
        let driver = match gpu.driver {
            Driver::Fits => None,
            Driver::TooOld => Some("CUDA driver version is insufficient for CUDA runtime version"),
            Driver::LibraryMismatch => Some("Failed to initialize NVML: Driver/library version mismatch"),
            Driver::DevicesLost => Some("Failed to initialize NVML: Unknown Error"),
            Driver::FabricNotReady => Some("CUDA error 802: system not yet initialized"),
            Driver::Held => Some("all CUDA-capable devices are busy or unavailable"),
        };
        self.daemon_says(index, log, Level::Info, "cuzk_daemon", "cuzk-daemon starting", &[]);
        let listen = format!("unix://{SOCKET}");
        self.daemon_says(index, log, Level::Info, "cuzk_daemon", "configuration loaded", &[("listen", &listen)]);
        if let Some(words) = driver {
            let error = format!("GPU prove start failed: {words}");
            self.daemon_says(index, log, Level::Error, "cuzk_core::engine", "GPU prove start failed", &[("error", &error)]);
            return ended(self, 1);
        }
        self.daemon_says(index, log, Level::Info, "cuzk_daemon", &format!("cuzk-daemon ready, serving on {listen}"), &[]);
        let now = self.now;
        if let Some(container) = &mut self.instances[index].container {
            let pid = container.pid();
            container.daemon =
                Some(Daemon { pid, started_at: now, completed: 0, failed: 0, leaked_mib: 0.0, proof_began: None, wedged: false });
        }
        Ok(())
    }

    /// What the first proof or any later one comes to when it calls the card.
    fn call(&self, index: usize) -> Call {
        let instance = &self.instances[index];
        let conditions = &instance.conditions;
        let Some(daemon) = instance.container.as_ref().and_then(|container| container.daemon.as_ref()) else {
            return Call::NeverReturns(Stuck::NoDaemon);
        };
        if conditions.gpu.card != Card::Works {
            return Call::NeverReturns(Stuck::Driver);
        }
        if conditions.gpu.driver == Driver::DevicesLost {
            return Call::Fails("no CUDA-capable device is detected");
        }
        if conditions.software.kernels_missing {
            return Call::Fails("no kernel image is available for execution on the device");
        }
        if conditions.software.params_elsewhere || instance.parameters_gib < PARAMETERS_GIB - 1e-9 {
            return Call::Fails(NO_PARAMETERS);
        }
        if self.budget_gib(index) < BUDGET_LEAST_GIB {
            return Call::NeverReturns(Stuck::Budget);
        }
        let card_mib = self.machines[instance.machine].card.memory_mib as f64;
        if conditions.gpu.memory_taken_mib + daemon.leaked_mib + CARD_MEMORY_MIB > card_mib {
            return Call::Fails("out of memory");
        }
        if conditions.gpu.faults_every.is_some_and(|every| (daemon.completed + daemon.failed + 1) % u64::from(every) == 0) {
            return Call::Fails("an illegal memory access was encountered");
        }
        Call::Returns
    }

    /// The prover's memory budget, GiB: set by hand, or from the memory of the whole host, whatever the container may use.
    fn budget_gib(&self, index: usize) -> f64 {
        let instance = &self.instances[index];
        let host_gib = self.machines[instance.machine].ram_mib / 1024.0;
        instance.conditions.software.budget_gib.unwrap_or(host_gib - SYSTEM_GIB)
    }

    /// Memory that the container may use, GiB.
    pub(super) fn memory_limit_gib(&self, index: usize) -> f64 {
        let instance = &self.instances[index];
        self.machines[instance.machine].ram_mib / 1024.0 * instance.conditions.host.memory_share
    }

    pub(super) fn memory_wanted_gib(&self, index: usize) -> f64 {
        self.budget_gib(index).min(BUDGET_WANTED_GIB)
    }

    /// The daemon has grown to its budget: the kernel ends it if that is more than the container may use, or the host has.
    fn grows_too_large(&mut self, index: usize) -> bool {
        if self.instances[index].conditions.host.memory_exhausted {
            self.global_oom(index);
            return true;
        }
        let (wanted, limit) = (self.memory_wanted_gib(index), self.memory_limit_gib(index));
        if wanted <= limit {
            return false;
        }
        let now = self.now;
        let line = format!(
            "Memory cgroup out of memory: Killed process 311 (cuzk-daemon) total-vm:{:.0}kB, anon-rss:{:.0}kB, file-rss:1400kB, shmem-rss:0kB, UID:0 pgtables:272948kB oom_score_adj:0",
            wanted * 1_048_576.0,
            limit * 1_048_576.0
        );
        self.instances[index].kernel.push((now, line));
        if let Some(container) = &mut self.instances[index].container {
            container.oom_kills += 1;
        }
        self.end_daemon(index, 137);
        true
    }

    /// Seconds that a proof takes now.
    fn proof_s(&mut self, index: usize) -> f64 {
        let gib = self.memory_limit_gib(index);
        let now = self.now;
        let instance = &mut self.instances[index];
        let machine = &self.machines[instance.machine];
        let jitter = if instance.exact_proof_s.is_some() { 1.0 } else { instance.dice.between(0.95, 1.05) };
        let base = instance.exact_proof_s.unwrap_or_else(|| machine.proof_s(gib));
        let (host, gpu, software) = (&instance.conditions.host, &instance.conditions.gpu, &instance.conditions.software);
        // A share of each proof is the card's, one the processors', one the bus's.
        let card = 0.45 / gpu.clock_share.max(0.05);
        let processors = 0.30 * (0.35 / host.cpu_share.clamp(0.02, 1.0)).max(1.0);
        let bus_share = if host.pins_memory { gpu.bus_share } else { gpu.bus_share * 0.15 };
        let bus = 0.25 / bus_share.max(0.05);
        let cards = gpu.cards_working.map_or(1.0, |working| machine.cards as f64 / (working.max(1)) as f64);
        let daemon_since =
            instance.container.as_ref().and_then(|container| container.daemon.as_ref()).map(|daemon| daemon.started_at);
        let age_h = daemon_since.map_or(0.0, |since| (now.as_millisecond() - since.as_millisecond()) as f64 / 3_600_000.0);
        let aging = 1.0 + software.aging_per_h * age_h;
        base * jitter * software.proof_factor * (card + processors + bus) * cards.max(1.0) * aging
    }

    fn begin_proof(&mut self, index: usize) {
        let now = self.now;
        if let Some(daemon) = self.daemon(index) {
            daemon.proof_began = Some(now);
        }
        let seconds = self.proof_s(index);
        self.next_in(index, seconds);
    }

    fn daemon(&mut self, index: usize) -> Option<&mut Daemon> {
        self.instances[index].container.as_mut().and_then(|container| container.daemon.as_mut())
    }

    /// Warm-up of 5-7 min in beats of about 20 s: the daemon starts, extracts the circuit, proves once.
    fn warm_up(&mut self, index: usize, beat: u32) {
        if beat == 0
            && let Err(code) = self.start_daemon(index, Source::BenchDaemon)
        {
            return self.no_daemon(index, code);
        }
        let vast_id = self.instances[index].vast_id;
        let beats = 15 + (wobble(vast_id, 1) * 6.0) as u32;
        let software = &self.instances[index].conditions.software;
        if beat == 2 && software.translation_s + software.extraction_s > 0.0 {
            let (translation_s, extraction_s) = (software.translation_s, software.extraction_s);
            if extraction_s > 0.0 {
                let words = "background PCE extraction starting for PoRep 32G";
                self.daemon_says(index, Source::BenchDaemon, Level::Info, "cuzk_core::engine", words, &[]);
            }
            self.instances[index].task = Task::WarmingUp { beat: 3 };
            return self.next_in(index, translation_s + extraction_s + 20.0);
        }
        if beat < beats {
            let (job, partition) = (self.job_id(index, 0), u64::from(beat) % 10);
            let synth_ms = 8_000 + (wobble(vast_id, 40 + u64::from(beat)) * 1_000.0) as u64;
            self.daemon_says(
                index,
                Source::BenchDaemon,
                Level::Info,
                "cuzk_core::engine",
                "partition synthesis complete, pushing to GPU queue",
                &[("job_id", &job), ("partition", &partition), ("synth_ms", &synth_ms)],
            );
            self.instances[index].task = Task::WarmingUp { beat: beat + 1 };
            return self.next_in(index, 20.0);
        }
        match self.call(index) {
            Call::Returns => {}
            Call::Fails(words) => {
                self.fail_proof(index, words, Source::BenchDaemon);
                self.write(index, Source::BenchOut, "  [1/1] FAILED \u{2014} 2.4s (prove=0 ms, queue=3 ms)");
                return self.retry(index, Stuck::Retrying);
            }
            Call::NeverReturns(stuck) => {
                if stuck == Stuck::Budget && self.instances[index].stuck.is_none() {
                    let (amount, total) = (BUDGET_LEAST_GIB as u64, self.budget_gib(index).max(0.0) as u64);
                    self.daemon_says(
                        index,
                        Source::BenchDaemon,
                        Level::Warn,
                        "cuzk_core::memory",
                        "acquire request exceeds total budget \u{2014} will block until possible",
                        &[("amount_gib", &amount), ("total_gib", &total)],
                    );
                }
                return self.retry(index, stuck);
            }
        }
        self.restart_for_benchmark(index);
    }

    fn fail_proof(&mut self, index: usize, words: &str, log: Source) {
        let now = self.now;
        if words.contains("illegal") {
            let line = "NVRM: Xid (PCI:0000:01:00): 31, pid=311, name=cuzk-daemon, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_8 faulted @ 0x73ac_1c000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_WRITE";
            self.instances[index].kernel.push((now, line.to_owned()));
        }
        let number = self.daemon(index).map_or(0, |daemon| {
            daemon.failed += 1;
            daemon.proof_began = None;
            daemon.completed + daemon.failed
        });
        let job = self.job_id(index, number);
        if words == NO_PARAMETERS {
            let error = format!("{words} Porep32G: /data/zk/params/{PARAMETERS}");
            let message = "Phase 7: C1 parse/SRS load failed";
            self.daemon_says(index, log, Level::Error, "cuzk_core::engine", message, &[("error", &error)]);
            return;
        }
        let error = format!("GPU prove failed: {words}");
        self.daemon_says(
            index,
            log,
            Level::Error,
            "cuzk_core::engine",
            "partition GPU proving failed",
            &[("error", &error), ("job_id", &job), ("partition", &0)],
        );
    }

    fn restart_for_benchmark(&mut self, index: usize) {
        let old = self.daemon(index).map(|daemon| daemon.pid);
        if self.instances[index].conditions.software.port_taken {
            if let Some(container) = &mut self.instances[index].container {
                container.leftover_pid = old;
            }
            let log = Source::BenchDaemon;
            self.daemon_says(index, log, Level::Info, "cuzk_daemon", "cuzk-daemon starting", &[]);
            self.daemon_says(index, log, Level::Info, "cuzk_daemon", "cuzk-daemon ready, serving on 0.0.0.0:9820", &[]);
            self.ends_with(index, log, "gRPC server error", &["transport error", "Address already in use (os error 98)"]);
            return self.no_daemon(index, 1);
        }
        if let Err(code) = self.start_daemon(index, Source::BenchDaemon) {
            return self.no_daemon(index, code);
        }
        let path = format!("/data/zk/params/{PARAMETERS}");
        self.daemon_says(
            index,
            Source::BenchDaemon,
            Level::Info,
            "cuzk_core::srs_manager",
            "loading SRS from disk",
            &[("circuit_id", &"porep-32g"), ("path", &path), ("file_size_gib", &44)],
        );
        self.enter(index, Task::Preloading);
        let usual_s = self.instances[index].dice.between(60.0, 120.0);
        let disk_share = self.instances[index].conditions.host.disk_share;
        self.next_in(index, usual_s / disk_share.clamp(0.001, 1.0));
    }

    /// The daemon did not stay: it is started again, or the script waits for its socket.
    fn no_daemon(&mut self, index: usize, code: i32) {
        let pid = self.instances[index].container.as_ref().map_or(0, |container| container.pids);
        if let Some(container) = &mut self.instances[index].container {
            container.daemon = None;
        }
        if self.instances[index].conditions.software.supervised {
            self.shell_tells_of_end(index, Source::Setup, pid, code);
            self.enter(index, Task::WarmingUp { beat: 0 });
            self.instances[index].stuck = Some(Stuck::NoDaemon);
            return self.next_in(index, 15.0);
        }
        self.enter(index, Task::Connecting);
        self.connect(index);
    }

    fn preloaded(&mut self, index: usize) {
        if self.wedges(index, 0) {
            return;
        }
        if self.grows_too_large(index) {
            self.enter(index, Task::Connecting);
            return self.connect(index);
        }
        if !self.instances[index].conditions.host.pins_memory {
            self.daemon_says(
                index,
                Source::BenchDaemon,
                Level::Warn,
                "cuzk_core::pinned_pool",
                "cudaHostAlloc failed",
                &[("size_gib", &4.0), ("cuda_err", &2)],
            );
        }
        let elapsed_ms = (self.seconds_since(self.instances[index].task_since) * 1000.0) as u64;
        self.daemon_says(
            index,
            Source::BenchDaemon,
            Level::Info,
            "cuzk_core::srs_manager",
            "SRS loaded successfully",
            &[
                ("circuit_id", &"porep-32g"),
                ("elapsed_ms", &elapsed_ms),
                ("budget_used_gib", &44),
                ("budget_available_gib", &121),
            ],
        );
        self.enter(index, Task::Connecting);
        self.connect(index);
    }

    // The benchmark.

    fn connect(&mut self, index: usize) {
        let software = &self.instances[index].conditions.software;
        if self.daemon_missing(index) {
            let causes = ["transport error", "No such file or directory (os error 2)"];
            self.ends_with(index, Source::BenchOut, "failed to connect to daemon via unix socket", &causes);
            return self.retry(index, Stuck::NoDaemon);
        }
        if !software.addresses_agree {
            let causes = ["transport error", "tcp connect error", "Connection refused (os error 111)"];
            self.ends_with(index, Source::BenchOut, "failed to connect to daemon at http://127.0.0.1:9820", &causes);
            return self.retry(index, Stuck::Retrying);
        }
        if !software.benchmark_input {
            let causes = ["No such file or directory (os error 2)"];
            self.ends_with(index, Source::BenchOut, "failed to read /opt/bench/c1.json", &causes);
            return self.benchmark_over(index, 0.0);
        }
        self.write(index, Source::BenchOut, "=== Batch Benchmark ===");
        self.write(index, Source::BenchOut, "proof type:  porep");
        self.write(index, Source::BenchOut, &format!("count:       {BENCHMARK_PROOFS}"));
        self.write(index, Source::BenchOut, "concurrency: 1");
        let now = self.now;
        if let Some(container) = &mut self.instances[index].container {
            container.bench_started_at = Some(now);
        }
        self.enter(index, Task::Benchmarking { proofs: 0, failed: 0 });
        self.begin_proof(index);
    }

    fn daemon_missing(&self, index: usize) -> bool {
        self.instances[index].container.as_ref().is_none_or(|container| container.daemon.is_none())
    }

    /// Whether the prover or its client hangs from here on.
    fn wedges(&mut self, index: usize, proofs: u32) -> bool {
        let Some(wedge) = self.instances[index].conditions.software.wedge else { return false };
        if proofs < wedge.after_proofs {
            return false;
        }
        if let Some(daemon) = self.daemon(index) {
            daemon.wedged = !wedge.client_only;
        }
        self.retry(index, Stuck::Call { spinning: wedge.spinning });
        true
    }

    fn benchmark_proof(&mut self, index: usize, proofs: u32, failed: u32) {
        if self.wedges(index, proofs) {
            return;
        }
        let began = self.daemon(index).and_then(|daemon| daemon.proof_began).unwrap_or(self.now);
        let mut failed_by_card = false;
        let abort = match self.call(index) {
            Call::Returns => None,
            Call::NeverReturns(Stuck::NoDaemon) => Some("transport error: connection reset by peer"),
            Call::NeverReturns(stuck) => return self.retry(index, stuck),
            // A job that fails is answered as such, and the batch goes on.
            Call::Fails(words) => {
                self.fail_proof(index, words, Source::BenchDaemon);
                failed_by_card = true;
                None
            }
        };
        let software = &self.instances[index].conditions.software;
        let abort =
            abort.or(software.call_fails_after.filter(|after| proofs >= *after).map(|_| "transport error: h2 protocol error"));
        if let Some(words) = abort {
            let status =
                format!("status: Unavailable, message: \"{words}\", details: [], metadata: MetadataMap {{ headers: {{}} }}");
            self.ends_with(index, Source::BenchOut, "Prove RPC failed", &[&status]);
            return self.benchmark_over(index, 0.0);
        }
        self.instances[index].stuck = None;
        let seconds = self.seconds_since(began);
        let wrong = !failed_by_card && self.comes_out_wrong(index);
        let proofs = proofs + 1;
        if let Some(daemon) = self.daemon(index).filter(|_| !failed_by_card) {
            daemon.completed += u64::from(!wrong);
            daemon.failed += u64::from(wrong);
        }
        if !failed_by_card {
            self.proof_assembled(index, Source::BenchDaemon, u64::from(proofs), seconds, wrong);
        }
        let lost = wrong || failed_by_card;
        let (failed, status) = if lost { (failed + 1, "FAILED") } else { (failed, "COMPLETED") };
        let prove_ms = if lost { 0.0 } else { seconds * 968.0 };
        let line =
            format!("  [{proofs}/{BENCHMARK_PROOFS}] {status} \u{2014} {seconds:.1}s (prove={prove_ms:.0} ms, queue=3 ms)");
        self.write(index, Source::BenchOut, &line);
        self.leak_and_chatter(index, Source::BenchDaemon);
        if self.instances[index].conditions.software.wedge.is_some_and(|wedge| proofs >= wedge.after_proofs) {
            self.instances[index].task = Task::Benchmarking { proofs, failed };
            self.wedges(index, proofs);
            return;
        }
        if proofs < BENCHMARK_PROOFS {
            self.instances[index].task = Task::Benchmarking { proofs, failed };
            return self.begin_proof(index);
        }
        let started =
            self.instances[index].container.as_ref().and_then(|container| container.bench_started_at).unwrap_or(self.now);
        let elapsed_s = self.seconds_since(started).max(1.0);
        let completed = f64::from(BENCHMARK_PROOFS - failed);
        let rate = (completed * 3600.0 / elapsed_s * 100.0).round() / 100.0;
        let software = &self.instances[index].conditions.software;
        let (unread, per_minute) = (software.result_unread, software.rate_per_minute);
        let mut summary = vec![
            "=== Batch Summary ===".to_owned(),
            format!("total time:    {elapsed_s:.1}s"),
            format!("completed:     {completed:.0}"),
            format!("failed:        {failed}"),
        ];
        if completed > 0.0 {
            let each = elapsed_s / completed;
            summary.push(format!("wall time:     avg={each:.1}s min={:.1}s max={:.1}s", each * 0.97, each * 1.04));
            summary.push(format!("prove time:    avg={:.1}s min={:.1}s max={:.1}s", each * 0.96, each * 0.94, each * 1.01));
            summary.push(format!("throughput:    {:.3} proofs/min ({each:.1}s/proof)", completed / elapsed_s * 60.0));
        }
        for line in summary {
            self.write(index, Source::BenchOut, &line);
        }
        // The client prints it per minute; the script has to make it a rate per hour.
        let rate = if per_minute { (rate / 60.0 * 100.0).round() / 100.0 } else { rate };
        self.benchmark_over(index, if unread { 0.0 } else { rate });
    }

    /// The prover has put a proof together, and checks it.
    fn proof_assembled(&mut self, index: usize, log: Source, number: u64, seconds: f64, wrong: bool) {
        let job = self.job_id(index, number);
        let (total_ms, synth_ms, gpu_ms) = ((seconds * 1000.0) as u64, (seconds * 410.0) as u64, (seconds * 560.0) as u64);
        self.daemon_says(
            index,
            log,
            Level::Info,
            "cuzk_core::engine",
            "Phase 7: all partitions complete, proof assembled",
            &[("job_id", &job), ("proof_len", &1_920), ("total_ms", &total_ms), ("synth_ms", &synth_ms), ("gpu_ms", &gpu_ms)],
        );
        let (level, words) = match wrong {
            true => (Level::Error, "Phase 7: PoRep proof self-check FAILED \u{2014} proof will NOT be returned to caller"),
            false => (Level::Info, "Phase 7: PoRep proof self-check PASSED"),
        };
        self.daemon_says(index, log, level, "cuzk_core::engine", words, &[("job_id", &job)]);
    }

    /// aria2's summary of a download, which it prints every minute.
    fn progress_of_fetch(&self, index: usize) -> String {
        let gib = self.instances[index].parameters_gib;
        let left_s = self.fetch_pace(index).unwrap_or(0.0);
        let mib_s = (PARAMETERS_GIB - gib) * 1024.0 / left_s.max(1.0);
        format!("[#2089b0 {gib:.1}GiB/100.0GiB({gib:.0}%) CN:16 DL:{mib_s:.0}MiB ETA:{:.0}m]", left_s / 60.0)
    }

    /// Whether the proof that ends now is wrong.
    fn comes_out_wrong(&mut self, index: usize) -> bool {
        let share = self.instances[index].conditions.gpu.wrong_share;
        share > 0.0 && self.instances[index].dice.between(0.0, 1.0) < share
    }

    /// What every proof leaves behind: card memory that is not given back, debugging output.
    fn leak_and_chatter(&mut self, index: usize, log: Source) {
        let software = &self.instances[index].conditions.software;
        let (leak_mib, lines) = (software.leak_mib, software.debug_lines);
        if let Some(daemon) = self.daemon(index) {
            daemon.leaked_mib += leak_mib;
        }
        for line in 0..lines {
            let used = 94 + line % 10;
            self.daemon_says(
                index,
                log,
                Level::Debug,
                "cuzk_core::memory",
                "budget acquired",
                &[("amount_gib", &4), ("used_gib", &used), ("total_gib", &165)],
            );
        }
    }

    fn benchmark_over(&mut self, index: usize, rate: f64) {
        self.enter(index, Task::ReportingBenchmark { rate });
        self.report_benchmark(index, rate);
    }

    fn report_benchmark(&mut self, index: usize, rate: f64) {
        let instance = &mut self.instances[index];
        if instance.conditions.software.loses_benchmark_report && !instance.benchmark_report_lost {
            instance.benchmark_report_lost = true;
            return self.unheard(index, &Heard::Nothing);
        }
        match self.post(index, Post::BenchDone { rate }) {
            Heard::Passed(true) | Heard::Ok | Heard::Uuid(_) => {
                self.enter(index, Task::Starting);
                let start_s = self.instances[index].dice.between(15.0, 45.0);
                self.next_in(index, start_s);
            }
            Heard::Passed(false) => self.end_script(index, 0),
            Heard::No(404) => self.end_script(index, 22),
            heard @ (Heard::No(_) | Heard::Nothing) => self.unheard(index, &heard),
        }
    }

    // The prover at work.

    fn start_prover(&mut self, index: usize) {
        if self.instances[index].conditions.software.never_reports_running {
            return self.end_script(index, 1);
        }
        if self.start_daemon(index, Source::Cuzk).is_err() {
            if let Some(container) = &mut self.instances[index].container {
                container.daemon = None;
            }
            return self.retry(index, Stuck::NoDaemon);
        }
        if self.grows_too_large(index) {
            return self.retry(index, Stuck::NoDaemon);
        }
        self.enter(index, Task::ReportingRunning);
        self.report_running(index);
    }

    fn report_running(&mut self, index: usize) {
        match self.post(index, Post::Running) {
            Heard::No(404) => {
                self.write(index, Source::Setup, "{\"error\":\"instance not found or already killed\"}");
                return self.end_script(index, 22);
            }
            heard @ (Heard::No(_) | Heard::Nothing) => return self.unheard(index, &heard),
            Heard::Ok | Heard::Passed(_) | Heard::Uuid(_) => {}
        }
        let address = format!("\"addr\": \"unix://{SOCKET}\"");
        self.curio_says(index, Source::Curio, "INFO", ("cuzk", "cuzk/client.go:92"), "connected to cuzk daemon", &address);
        self.enter(index, Task::Proving);
        self.begin_proof(index);
    }

    fn prove(&mut self, index: usize) {
        /// curio tells of a prover that it cannot reach, and of an empty queue, this often.
        const TOLD_EVERY_S: f64 = 600.0;
        let software = &self.instances[index].conditions.software;
        if !software.has_work {
            if let Some(daemon) = self.daemon(index) {
                daemon.proof_began = None;
            }
            let place = ("proofshare", "proofshare/task_request.go:264");
            let fields = "\"requests\": 0, \"activeAsks\": 4";
            self.curio_says(index, Source::Curio, "INFO", place, "polled work from service", fields);
            return self.next_in(index, TOLD_EVERY_S);
        }
        if self.daemon_missing(index) {
            self.instances[index].stuck = Some(Stuck::NoDaemon);
            let error = format!(
                "failed to compute proof: cuzk porep prove failed: cuzk Prove RPC: rpc error: code = Unavailable desc = connection error: desc = \\\"transport: Error while dialing: dial unix {SOCKET}: connect: connection refused\\\""
            );
            self.task_failed(index, "PSProve", &error);
            return self.next_in(index, TOLD_EVERY_S);
        }
        if software.worker_dead {
            return self.retry(index, Stuck::NoWorker);
        }
        if software.wedge.is_some() {
            self.wedges(index, u32::MAX);
            return;
        }
        match self.call(index) {
            Call::Returns => {}
            Call::NeverReturns(stuck) => return self.retry(index, stuck),
            Call::Fails(words) => {
                self.fail_proof(index, words, Source::Cuzk);
                self.instances[index].stuck = Some(Stuck::Retrying);
                return self.begin_proof(index);
            }
        }
        let began = self.daemon(index).and_then(|daemon| daemon.proof_began);
        let was_stuck = self.instances[index].stuck.take().is_some();
        let Some(began) = began.filter(|_| !was_stuck) else { return self.begin_proof(index) };
        let seconds = self.seconds_since(began);
        if self.comes_out_wrong(index) {
            let number = self.daemon(index).map_or(0, |daemon| {
                daemon.failed += 1;
                daemon.completed + daemon.failed
            });
            self.proof_assembled(index, Source::Cuzk, number, seconds, true);
            return self.begin_proof(index);
        }
        self.instances[index].proofs += 1;
        let count = self.instances[index].proofs;
        if let Some(daemon) = self.daemon(index) {
            daemon.completed += 1;
        }
        self.proof_assembled(index, Source::Cuzk, count, seconds, false);
        let service = 48_000 + count;
        if self.instances[index].conditions.software.proofs_accepted {
            let words = format!("successfully submitted proof for service_id={service}");
            let place = ("proofshare", "proofshare/task_submit.go:198");
            self.curio_says(index, Source::Curio, "INFO", place, &words, "");
        } else {
            self.task_failed(index, "PSSubmit", "failed to respond to work (gone=false): failed to respond to work: 400");
        }
        self.leak_and_chatter(index, Source::Cuzk);
        self.begin_proof(index);
    }

    /// curio tells of a task that failed.
    fn task_failed(&mut self, index: usize, kind: &str, error: &str) {
        let fields =
            format!("\"type\": \"{kind}\", \"id\": \"{}\", \"error\": \"{error}\"", 48_000 + self.instances[index].proofs);
        let place = ("harmonytask", "harmonytask/task_type_handler.go:292");
        self.curio_says(index, Source::Curio, "ERROR", place, "Do() returned error", &fields);
    }

    // Disk.

    /// Disk of the container, GB.
    pub(super) fn disk_gb(&self, index: usize) -> f64 {
        let instance = &self.instances[index];
        instance.conditions.host.disk_gb.unwrap_or(instance.contract.disk_gb)
    }

    /// Disk used, GB: image, parameters, logs, and what fills it.
    pub(super) fn disk_used_gb(&self, index: usize) -> f64 {
        let instance = &self.instances[index];
        let Some(container) = &instance.container else { return 0.0 };
        let logs: u64 = instance.files.iter().map(|file| file.bytes).sum();
        let hours = self.seconds_since(container.started_at) / 3600.0;
        let used = self.scenario.images[instance.image].size_gb * 2.0
            + instance.parameters_gib * 1.073_741_824
            + logs as f64 / 1e9
            + instance.conditions.host.disk_fill_gb_h * hours;
        used.min(self.disk_gb(index))
    }

    pub(super) fn container(&self, index: usize) -> Option<&Container> {
        self.instances[index].container.as_ref()
    }

    /// A line written on the instance: to its file where the disk has room, and to the shipper's queue where one reads it.
    pub(super) fn write(&mut self, index: usize, source: Source, text: &str) {
        let full =
            self.instances[index].conditions.host.disk_fill_gb_h > 0.0 && self.disk_used_gb(index) >= self.disk_gb(index) - 0.01;
        if full || self.instances[index].container.is_none() {
            return;
        }
        #[cfg(test)]
        super::heard::hear(dwell_real_texts::Place::Log, text);
        let text: Arc<str> = text.into();
        let now = self.now;
        self.instances[index].files[source as usize].append(&text, now);
        self.queue_line(index, source, text);
    }
}
