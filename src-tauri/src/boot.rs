//! What has to happen before there is a window: the log, and the web view's known troubles on Linux.

use dwell_commands::App;
use tracing_subscriber::EnvFilter;

/// Starts Dwell's own log: a file a day in the data folder, seven of them kept. Ends when the guard is dropped.
pub(crate) fn start_log(app: &App) -> anyhow::Result<tracing_appender::non_blocking::WorkerGuard> {
    let files = tracing_appender::rolling::Builder::new()
        .rotation(tracing_appender::rolling::Rotation::DAILY)
        .filename_prefix("dwell")
        .filename_suffix("log")
        .max_log_files(7)
        .build(app.folder().path().join("logs"))?;
    let (writer, guard) = tracing_appender::non_blocking(files);
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::try_from_env("DWELL_LOG").unwrap_or_else(|_| EnvFilter::new("warn,dwell=info")))
        .with_writer(writer)
        .with_ansi(false)
        .init();
    Ok(guard)
}

/// On Wayland with NVIDIA's driver the web view dies with a protocol error unless explicit sync is off (tauri#10702).
/// The variable must be there before the first thread: so this program starts itself again with it.
#[cfg(target_os = "linux")]
pub(crate) fn prepare_webview() -> anyhow::Result<()> {
    use std::os::unix::process::CommandExt;

    const VARIABLE: &str = "__NV_DISABLE_EXPLICIT_SYNC";
    let wayland = std::env::var_os("WAYLAND_DISPLAY").is_some();
    let nvidia = std::path::Path::new("/sys/module/nvidia").exists();
    if !wayland || !nvidia || std::env::var_os(VARIABLE).is_some() {
        return Ok(());
    }
    let error = std::process::Command::new(std::env::current_exe()?).args(std::env::args_os().skip(1)).env(VARIABLE, "1").exec();
    Err(error.into())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn prepare_webview() -> anyhow::Result<()> {
    Ok(())
}
