//! Everything that hurts, one after another, for as long as is asked: `cargo xtask torture`. A promise that is broken ends it, with the seed
//! that repeats it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use dwell_fake_manager::FakeManager;

use crate::full::{self, Watch, say};
use crate::watching::Background;
use crate::{dwellctl, keychain, text, verified};

/// Processes killed in one round, and of those that act.
const KILLS: usize = 13;
const ACTS_KILLED: usize = 2;
/// What a kind took, in words and numbers.
type Figures = BTreeMap<&'static str, u64>;

/// A seeded run: the same seed takes the same moments.
struct Torture {
    seed: u64,
    state: u64,
    figures: Figures,
}

impl Torture {
    fn new(seed: u64) -> Self {
        Self { seed, state: seed ^ 0x9e37_79b9_7f4a_7c15, figures: Figures::new() }
    }

    /// xorshift64*: the moments need no better one.
    fn below(&mut self, limit: u64) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) % limit
    }

    fn count(&mut self, what: &'static str, more: usize) {
        *self.figures.entry(what).or_default() += more as u64;
    }

    /// `kill -9` of a watch at any moment, while lines and changes come: each is stored once in the end.
    fn kills(&mut self) {
        let (manager, uuid) = full::manager();
        let (folder, url) = (tempfile::tempdir().unwrap(), manager.url());
        let mut lines = vec!["one".to_owned()];
        for kill in 0..KILLS {
            let watch = Background::run(folder.path(), &["--manager", &url, "watch", "--every", "200ms"]);
            for part in 0..3 {
                std::thread::sleep(Duration::from_millis(self.below(400)));
                lines.push(format!("line {kill}-{part}"));
                manager.push(&uuid, "setup", &format!("{}\n", lines[lines.len() - 1]));
            }
            if kill == KILLS / 2 {
                say(&manager, "/param-done", &uuid, "");
            }
            std::thread::sleep(Duration::from_millis(self.below(700)));
            drop(watch);
        }
        self.count("watches killed", KILLS);
        self.count("lines served", lines.len());
        self.is_stored(folder.path(), &manager, &lines, &["loading", "registered", "params_done"]);
    }

    /// A watch that is left alone stores what is missing, and then all is there once.
    fn is_stored(&self, folder: &Path, manager: &FakeManager, lines: &[String], states: &[&str]) {
        let watch = Watch::begin(folder, &manager.url(), &[]);
        // Before it watches nobody has told it what an interrupt means.
        watch.out().until("the head", |said| said.contains("proofs/h"));
        let began = Instant::now();
        while full::stored(folder, &manager.url()).1.len() < lines.len() && began.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(200));
        }
        assert_eq!(watch.interrupt(), Some(0), "seed {}", self.seed);
        let (kept_states, kept) = full::stored(folder, &manager.url());
        assert_eq!(kept, lines, "each line once and in order; seed {}", self.seed);
        assert_eq!(kept_states, states, "each state once; seed {}", self.seed);
    }

    /// A destroy that is killed at any moment is sent once at most, whoever looks after it.
    fn acts_killed(&mut self) {
        for _ in 0..ACTS_KILLED {
            let wait = Duration::from_millis(self.below(3_000));
            let sent = verified::destroys_of_one_killed_after(wait);
            assert!(sent <= 1, "DELETE was sent {sent} times, killed after {wait:?}; seed {}", self.seed);
            self.count("destroys sent", sent);
        }
        self.count("acting commands killed", ACTS_KILLED);
    }

    /// Files that may not grow, and then may.
    fn full_disk(&mut self) {
        let (manager, uuid) = full::manager();
        let folder = tempfile::tempdir().unwrap();
        let watch = Watch::begin(folder.path(), &manager.url(), &[]);
        watch.out().until("the head", |said| said.contains("proofs/h"));
        watch.limit(Some(self.below(40_000)));
        let mut lines = vec!["one".to_owned()];
        for place in 0..20 {
            lines.push(format!("{place} {}", "x".repeat(4_000)));
            manager.push(&uuid, "setup", &format!("{}\n", lines[lines.len() - 1]));
            std::thread::sleep(Duration::from_millis(self.below(150)));
        }
        say(&manager, "/param-done", &uuid, "");
        watch.err().until("that it is not stored", |said| said.contains("history cannot be written"));
        watch.limit(None);
        watch.err().until("that it is", |said| said.contains("history is written again"));
        assert_eq!(watch.interrupt(), Some(0), "nothing is lost; seed {}", self.seed);
        self.count("disks full and not", 1);
        self.is_stored(folder.path(), &manager, &lines, &["loading", "registered", "params_done"]);
    }

    fn frozen_keychain(&mut self) {
        keychain::a_keychain_that_never_answers_ends_a_command_with_the_reason();
        self.count("frozen keychains", 1);
    }

    /// Writers of one settings file, and watches over one history, at once.
    fn two_of_each(&mut self) {
        let (manager, uuid) = full::manager();
        let (folder, url) = (tempfile::tempdir().unwrap(), manager.url());
        let seed = self.seed;
        let fleets = |arguments: &[&str]| {
            let output = dwellctl(folder.path(), arguments);
            assert!(output.status.success(), "{arguments:?}: {}; seed {seed}", text(&output.stderr));
            text(&output.stdout)
        };
        fleets(&["fleets", "add", "locked", &url]);
        fleets(&["fleets", "read-only", "locked"]);
        let _watches = [(); 2].map(|()| Background::run(folder.path(), &["--manager", &url, "watch", "--every", "200ms"]));
        std::thread::scope(|scope| {
            for writer in 0..2 {
                let (fleets, url) = (&fleets, &url);
                scope.spawn(move || {
                    for place in 0..6 {
                        fleets(&["fleets", "add", &format!("w{writer}-{place}"), url, "--force"]);
                    }
                });
            }
        });
        let lines: Vec<String> = ["one".to_owned()].into_iter().chain((0..30).map(|place| format!("line {place}"))).collect();
        for line in &lines[1..] {
            manager.push(&uuid, "setup", &format!("{line}\n"));
            std::thread::sleep(Duration::from_millis(self.below(60)));
        }
        let listed = fleets(&["fleets", "list"]);
        let saved = (0..2).flat_map(|writer| (0..6).map(move |place| format!("w{writer}-{place}  ")));
        assert!(saved.into_iter().all(|name| listed.contains(&name)), "a saved fleet is lost; seed {}: {listed}", self.seed);
        assert!(
            listed.lines().any(|line| line.starts_with("locked") && line.contains("read-only")),
            "seed {}: {listed}",
            self.seed
        );
        self.count("settings written by two", 12);
        self.is_stored(folder.path(), &manager, &lines, &["loading", "registered"]);
    }

    /// The manager's clock leaps days to decades ahead while it is watched: nothing of that stays.
    fn clock_leaps(&mut self) {
        let (manager, _) = full::manager();
        let folder = tempfile::tempdir().unwrap();
        let leap = Duration::from_secs(86_400 * (2 + self.below(20_000)));
        let watch = Watch::begin(folder.path(), &manager.url(), &[]);
        watch.out().until("the head", |said| said.contains("proofs/h"));
        manager.advance(leap);
        watch.out().until("the condition", |said| said.contains("times-implausible"));
        // By the clock that leapt its time for the parameters is over.
        watch.out().until("the change", |said| said.contains("\u{2192} killed"));
        assert_eq!(watch.interrupt(), Some(0), "seed {}", self.seed);
        let latest = full::latest(folder.path(), &manager.url());
        let now = dwell_commands::now();
        assert!(
            latest <= now.checked_add(Duration::from_secs(60)).unwrap_or(now),
            "{leap:?} ahead: {latest}; seed {}",
            self.seed
        );
        self.count("clocks that leapt", 1);
    }

    /// All of them until the time is over, each once at least. What came of it, a line a kind.
    fn run(mut self, lasts: Duration) -> String {
        let began = Instant::now();
        let kinds: [fn(&mut Self); 6] =
            [Self::kills, Self::full_disk, Self::acts_killed, Self::frozen_keychain, Self::two_of_each, Self::clock_leaps];
        for (place, kind) in kinds.iter().cycle().enumerate() {
            if place >= kinds.len() && began.elapsed() >= lasts {
                break;
            }
            kind(&mut self);
        }
        let figures: Vec<String> = self.figures.iter().map(|(what, count)| format!("{count} {what}")).collect();
        format!("{} s, seed {}:\n{}", began.elapsed().as_secs(), self.seed, figures.join("\n"))
    }
}

#[test]
fn a_short_torture_breaks_no_promise() {
    Torture::new(1).run(Duration::ZERO);
}

/// `cargo xtask torture` sets for how long, and the seed.
#[test]
#[ignore = "takes as long as is asked"]
fn a_long_torture_breaks_no_promise() {
    let number = |name: &str, ordinary: u64| std::env::var(name).ok().and_then(|it| it.parse().ok()).unwrap_or(ordinary);
    let (minutes, seed) = (number("DWELL_TORTURE_MINUTES", 10), number("DWELL_TORTURE_SEED", 1));
    let came = Torture::new(seed).run(Duration::from_secs(minutes * 60));
    // Past the harness, which keeps what a test prints.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("\n{came}\n").as_bytes());
}
