//! `dwell-web`: Dwell in a browser on this machine.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use clap::Parser;
use dwell_commands::{App, Start};

/// Dwell in a browser on this machine: for hosts without a display (with an SSH port forward) and for tests.
#[derive(Debug, Parser)]
#[command(name = "dwell-web", version)]
struct Args {
    /// Folder with the built front end.
    #[arg(long, default_value = "ui/dist")]
    ui: PathBuf,
    /// Port on 127.0.0.1; 0 for any free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Watch a simulated fleet: the name of a scenario.
    #[arg(long, value_name = "SCENARIO", num_args = 0..=1, default_missing_value = "params-done-silence")]
    simulate: Option<String>,
    /// Simulated seconds in a real one.
    #[arg(long, requires = "simulate")]
    speed: Option<f64>,
    /// Watch this manager.
    #[arg(long, value_name = "URL", conflicts_with = "simulate")]
    manager: Option<String>,
    /// Reach the manager through SSH: user@host, or an entry of ~/.ssh/config. Its address is then as seen from there.
    #[arg(long, value_name = "TARGET", requires = "manager")]
    ssh: Option<String>,
    /// Folder for history and settings.
    #[arg(long, env = "DWELL_DATA_DIR", value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the one line that a person needs: where to look")]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    dwell_commands::keep_environment_secret();
    dwell_commands::panics_hold_no_secret();
    let app = Arc::new(App::new(args.data_dir)?);
    anyhow::ensure!(args.ui.join("index.html").exists(), "no front end in {}; build it: cargo xtask ui", args.ui.display());
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| anyhow::anyhow!("no randomness for a token: {error}"))?;
    let token: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    dwell_commands::keep_secret(&token);
    let (address, serving) = dwell_web::serve(Arc::clone(&app), &args.ui, &token, args.port).await.context("cannot listen")?;
    app.start(Start::from_arguments(args.simulate, args.speed, args.manager, args.ssh)).await?;
    println!("Dwell at http://{address}/#token={token}");
    serving.await?;
    Ok(())
}
