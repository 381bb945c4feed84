//! `dwellctl`: the commands in a terminal. Parses, calls, prints; decides nothing.

mod acting;
mod args;
mod bench;
mod diagnose;
mod drill;
mod kept;
mod list;
mod machine;
mod offers;
mod print;
mod rollouts;
mod run;
mod vast;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let args = args::Args::parse();
    // Whether it is used or not: it stands in nothing that this process writes.
    dwell_commands::keep_environment_secret();
    dwell_commands::panics_hold_no_secret();
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::try_from_env("DWELL_LOG").unwrap_or_else(|_| "off".into()))
        .with_writer(|| dwell_commands::Redacting(std::io::stderr()))
        .init();
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return print::failure(&anyhow::anyhow!("cannot start: {error}"), args.json),
    };
    match runtime.block_on(run::run(&args)) {
        Ok(code) => code,
        Err(error) => print::failure(&error, args.json),
    }
}
