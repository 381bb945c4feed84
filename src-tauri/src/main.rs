//! The window: hosts the commands of `dwell-commands`, nothing else. No logic lives here.

#![cfg_attr(not(debug_assertions), windows_subsystem = "windows")]

mod boot;

use std::path::PathBuf;

use clap::Parser;
use dwell_commands::dto::*;
use dwell_commands::{ApiError, App, Start};
use tauri::Manager;
use tauri::ipc::Channel;

/// Dwell: watch a fleet of rented GPU instances.
#[derive(Debug, Parser)]
#[command(name = "dwell", version)]
struct Args {
    /// Watch a simulated fleet: the name of a scenario.
    #[arg(long, value_name = "SCENARIO", num_args = 0..=1, default_missing_value = "params-done-silence")]
    simulate: Option<String>,

    /// Simulated seconds in a real one; the scenario's own where not given.
    #[arg(long, requires = "simulate")]
    speed: Option<f64>,

    /// Watch this manager.
    #[arg(long, value_name = "URL", conflicts_with = "simulate")]
    manager: Option<String>,
    /// Reach the manager through SSH: user@host, or an entry of ~/.ssh/config. Its address is then as seen from there.
    #[arg(long, value_name = "TARGET", requires = "manager")]
    ssh: Option<String>,

    /// Folder for history, settings and logs.
    #[arg(long, env = "DWELL_DATA_DIR", value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
}

macro_rules! handlers {
    ($($name:ident($request:ident) -> $response:ident, $risk:ident, $title:literal, $keys:literal;)*) => {
        mod handlers {
            use super::*;

            $(
                #[tauri::command]
                pub(crate) async fn $name(app: tauri::State<'_, App>, request: $request) -> Result<$response, ApiError> {
                    app.$name(request).await
                }
            )*

            /// What is seen, as a stream: one for each window, numbered patches.
            #[tauri::command]
            pub(crate) async fn subscribe(app: tauri::State<'_, App>, patches: Channel<Patch>) -> Result<(), ApiError> {
                let mut stream = app.hub().subscribe();
                tauri::async_runtime::spawn(async move {
                    while let Some(patch) = stream.recv().await {
                        if patches.send(patch).is_err() {
                            break;
                        }
                    }
                });
                Ok(())
            }
        }

        fn invoke_handler() -> impl Fn(tauri::ipc::Invoke<tauri::Wry>) -> bool + Send + Sync + 'static {
            tauri::generate_handler![$(handlers::$name,)* handlers::subscribe]
        }
    };
}
dwell_commands::for_each_command!(handlers);

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    dwell_commands::keep_environment_secret();
    dwell_commands::panics_hold_no_secret();
    boot::prepare_webview()?;
    let app = App::new(args.data_dir.clone())?;
    let _log = boot::start_log(&app)?;

    let start = Start::from_arguments(args.simulate, args.speed, args.manager, args.ssh);
    let mut builder = tauri::Builder::default();
    // A second start shows the first window. With a folder of its own it is a Dwell of its own.
    if args.data_dir.is_none() {
        builder = builder.plugin(tauri_plugin_single_instance::init(|app, _, _| {
            if let Some(window) = app.get_webview_window("main") {
                let _ = window.unminimize();
                let _ = window.set_focus();
            }
        }));
    }
    builder
        .plugin(tauri_plugin_window_state::Builder::new().build())
        .manage(app)
        .invoke_handler(invoke_handler())
        .setup(move |handle| {
            let handle = handle.handle().clone();
            tauri::async_runtime::spawn(async move {
                let app = handle.state::<App>();
                // The window says what is missing; it opens in any case.
                if let Err(error) = app.start(start).await {
                    tracing::error!(code = error.code.as_str(), %error, "nothing is being watched");
                }
            });
            Ok(())
        })
        .run(tauri::generate_context!())?;
    Ok(())
}
