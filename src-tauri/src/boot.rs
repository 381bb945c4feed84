//! What has to happen before there is a window: the log, and the web view's known troubles on Linux.

use dwell_commands::App;
use tracing_subscriber::EnvFilter;

/// Starts Dwell's own log: a file a day in the data folder, seven of them kept. Ends when the guard is dropped.
pub(crate) fn start_log(app: &App) -> anyhow::Result<tracing_appender::non_blocking::WorkerGuard> {
    let folder = app.folder().path().join("logs");
    dwell_commands::files::own_folder(&folder)?;
    let files = tracing_appender::rolling::Builder::new()
        .rotation(tracing_appender::rolling::Rotation::DAILY)
        .filename_prefix("dwell")
        .filename_suffix("log")
        .max_log_files(7)
        .build(folder)?;
    let (writer, guard) = tracing_appender::non_blocking(files);
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::try_from_env("DWELL_LOG").unwrap_or_else(|_| EnvFilter::new("warn,dwell=info")))
        .with_writer(move || dwell_commands::Redacting(writer.clone()))
        .with_ansi(false)
        .init();
    Ok(guard)
}

/// What the web view needs of its environment on this machine. It must be there before the first thread: where something
/// is missing, this program starts itself again with it. What the operator has set stays as it is.
#[cfg(target_os = "linux")]
pub(crate) fn prepare_webview() -> anyhow::Result<()> {
    use std::os::unix::process::CommandExt;

    let lacking: Vec<&str> = wanted_environment().into_iter().filter(|name| std::env::var_os(name).is_none()).collect();
    if lacking.is_empty() {
        return Ok(());
    }
    let mut again = std::process::Command::new(std::env::current_exe()?);
    again.args(std::env::args_os().skip(1)).envs(lacking.into_iter().map(|name| (name, "1")));
    Err(again.exec().into())
}

#[cfg(target_os = "linux")]
fn wanted_environment() -> Vec<&'static str> {
    let mut wanted = Vec::new();
    // With NVIDIA's driver on Wayland the web view dies with a protocol error unless explicit sync is off (tauri#10702).
    if std::env::var_os("WAYLAND_DISPLAY").is_some() && std::path::Path::new("/sys/module/nvidia").exists() {
        wanted.push("__NV_DISABLE_EXPLICIT_SYNC");
    }
    // Without a GPU to draw on (virtual machines, remote desktops) compositing is done by the CPU and costs more than it
    // saves: the fleet's table scrolls at about 20 frames a second with it and at 60 without (measured, 10,000 rows).
    if !has_render_node() {
        wanted.push("WEBKIT_DISABLE_COMPOSITING_MODE");
    }
    wanted
}

#[cfg(target_os = "linux")]
fn has_render_node() -> bool {
    let devices = std::fs::read_dir("/dev/dri").into_iter().flatten().flatten();
    devices.map(|device| device.file_name()).any(|name| name.to_string_lossy().starts_with("renderD"))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn prepare_webview() -> anyhow::Result<()> {
    Ok(())
}
