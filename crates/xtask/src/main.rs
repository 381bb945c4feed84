//! Developer tasks. `cargo xtask run` and `cargo xtask test` are the two to know; the others are their parts.

mod coverage;
mod deny;
mod fuzz;
mod ptx;
mod setup;
mod tidy;
mod ui;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};
use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "Developer tasks: run and test are the two to know")]
struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Install what is missing, build, and open the window on a simulated fleet (in the terminal where there is no display).
    Run {
        /// Handed on to the window, e.g. --manager http://127.0.0.1:1235 instead of the simulated fleet.
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// Install what is missing and run every test.
    Test {
        /// Only the tests that need no window, no browser and no lints.
        #[arg(long)]
        quick: bool,
    },
    /// Install what is missing to build the window, and with --tests to test it.
    Setup {
        /// For the tests as well.
        #[arg(long)]
        tests: bool,
    },
    /// Fetch and build the front end.
    Ui,
    /// Write the front end's client anew from the command table.
    Bindings,
    /// Compile the kernels to PTX, and tell what each takes on each kind of card. Needs no card.
    Ptx {
        /// Write nothing: fail where what is there is not what the sources give.
        #[arg(long)]
        check: bool,
    },
    /// Tell which lines of the kernels run in their tests on the processor.
    Coverage,
    /// Check the crates that are used: licences, sources, bans, and known vulnerabilities where their database can be reached.
    Deny,
    /// Fuzz the readers of what comes from outside, with coverage guiding it. Inputs that reach something new are kept in the repository.
    Fuzz {
        /// Together, shared equally by the readers.
        #[arg(long, default_value_t = 5)]
        minutes: u32,
        /// This reader alone.
        #[arg(long)]
        reader: Option<String>,
    },
    /// Kill watches and acting commands, fill the disk, freeze the keychain, let several write at once, set clocks wrong: for so long, against
    /// the doubles. Ends at the first promise that is broken.
    Torture {
        /// All kinds together; each is tried once at least.
        #[arg(long, default_value_t = 10)]
        minutes: u32,
        /// The same seed takes the same moments.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Check the structure: who depends on whom, who imports what.
    Tidy,
}

fn main() -> anyhow::Result<()> {
    match Args::parse().task {
        Task::Run { arguments } => run(&arguments),
        Task::Test { quick } => test(quick),
        Task::Setup { tests } => setup::ensure(if tests { setup::Purpose::Tests } else { setup::Purpose::Window }),
        Task::Ui => ui::build(),
        Task::Bindings => bindings(),
        Task::Ptx { check } => ptx::make(check),
        Task::Coverage => coverage::report(),
        Task::Deny => deny::check(),
        Task::Fuzz { minutes, reader } => fuzz::run(minutes, reader.as_deref()),
        Task::Torture { minutes, seed } => torture(minutes, seed),
        Task::Tidy => tidy::check(),
    }
}

/// The repository.
fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).map_or(here.clone(), PathBuf::from)
}

fn has_display() -> bool {
    !cfg!(target_os = "linux")
        || ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

fn run(arguments: &[String]) -> anyhow::Result<()> {
    if !has_display() {
        say("There is no display (neither DISPLAY nor WAYLAND_DISPLAY is set): the same in the terminal.");
        setup::ensure(setup::Purpose::Terminal)?;
        let mut command = cargo(&["run", "--package", "dwell-cli", "--"]);
        if arguments.is_empty() {
            command.args(["sim", "run", "params-done-silence", "--for", "30m", "--until-flagged", "4"]);
        } else {
            command.args(arguments).arg("fleet");
        }
        return done(&mut command);
    }
    setup::ensure(setup::Purpose::Window)?;
    ui::build()?;
    // The whole workspace's programs, as the tests build them: one package alone would unify its features differently and
    // build the window's chain again.
    done(&mut cargo(&["build", "--workspace", "--bins"]))?;
    let mut command = Command::new(target()?.join("debug").join(format!("dwell-desktop{}", std::env::consts::EXE_SUFFIX)));
    if arguments.is_empty() {
        say("Opening the window on a simulated fleet. No account, no GPU, no network.");
        command.arg("--simulate");
    } else {
        command.args(arguments);
    }
    done(&mut command)
}

fn test(quick: bool) -> anyhow::Result<()> {
    if quick {
        setup::ensure(setup::Purpose::Terminal)?;
        return done(&mut cargo(&["test"]));
    }
    setup::ensure(setup::Purpose::Tests)?;
    ui::check()?;
    ui::build()?;
    tidy::check()?;
    deny::check()?;
    ptx::make(true)?;
    done(&mut cargo(&["fmt", "--all", "--check"]))?;
    done(&mut cargo(&["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]))?;
    // One selection of packages and features for building and for testing: another would build the window's chain again.
    done(&mut cargo(&["test", "--workspace", "--no-run"]))?;
    let mut tests = Command::new("xvfb-run");
    tests.args(["--auto-servernum", "--server-args", "-screen 0 1280x800x24", "dbus-run-session", "--"]);
    tests.args([&cargo_path(), "test", "--workspace"]).current_dir(root());
    done(&mut tests)?;
    say("Every test has passed.");
    Ok(())
}

fn torture(minutes: u32, seed: u64) -> anyhow::Result<()> {
    setup::ensure(setup::Purpose::Terminal)?;
    // A bus of its own: no keychain of the person's is asked.
    let test = ["test", "--package", "dwell-cli", "--test", "cli", "torture::a_long", "--", "--ignored", "--nocapture"];
    let mut command = Command::new("dbus-run-session");
    command.args(["--", &cargo_path()]).args(test).current_dir(root());
    done(command.env("DWELL_TORTURE_MINUTES", minutes.to_string()).env("DWELL_TORTURE_SEED", seed.to_string()))
        .with_context(|| format!("again: cargo xtask torture --minutes {minutes} --seed {seed}"))
}

fn bindings() -> anyhow::Result<()> {
    let update = |arguments: &[&str]| done(cargo(arguments).env("DWELL_UPDATE_BINDINGS", "1"));
    update(&["test", "--package", "dwell-commands", "--test", "it", "table::"])?;
    update(&["test", "--package", "dwell-simulator", "--lib", "the_schema_for_editors_is_current"])
}

/// Where Cargo builds.
fn target() -> anyhow::Result<PathBuf> {
    let output = cargo(&["metadata", "--format-version", "1", "--no-deps"]).output()?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
    Ok(PathBuf::from(metadata["target_directory"].as_str().context("cargo metadata names no target directory")?))
}

fn cargo_path() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(cargo_path());
    command.args(arguments).current_dir(root());
    command
}

/// Runs a command to its end; its failure is ours.
fn done(command: &mut Command) -> anyhow::Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let arguments: Vec<String> = command.get_args().map(|argument| argument.to_string_lossy().into_owned()).collect();
    say(&format!("$ {program} {}", arguments.join(" ")));
    let status = command.status().with_context(|| format!("cannot start {program}"))?;
    if !status.success() {
        bail!("{program} {} failed: {status}", arguments.join(" "));
    }
    Ok(())
}

#[expect(
    clippy::print_stderr,
    reason = "this is a developer's task runner: what it does is said beside the output of what it runs"
)]
fn say(text: &str) {
    eprintln!("{text}");
}
