//! What a machine needs, how to tell that it is there, and how to get it.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::bail;

use crate::{done, root, say};

/// What is going to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Purpose {
    /// Build and run the terminal program.
    Terminal,
    /// Build and run the window.
    Window,
    /// Test everything.
    Tests,
}

/// One thing that must be there.
struct Need {
    what: &'static str,
    from: Purpose,
    found: fn() -> bool,
    /// Debian and Ubuntu package.
    debian: &'static str,
    /// Fedora package.
    fedora: &'static str,
    /// Arch package.
    arch: &'static str,
}

const NEEDS: [Need; 19] = [
    Need {
        what: "a C compiler",
        from: Purpose::Terminal,
        found: || on_path("cc"),
        debian: "build-essential",
        fedora: "gcc",
        arch: "base-devel",
    },
    Need {
        what: "CA certificates",
        from: Purpose::Terminal,
        found: certificates,
        debian: "ca-certificates",
        fedora: "ca-certificates",
        arch: "ca-certificates",
    },
    Need {
        what: "pkg-config",
        from: Purpose::Window,
        found: || on_path("pkg-config"),
        debian: "pkg-config",
        fedora: "pkgconf-pkg-config",
        arch: "pkgconf",
    },
    Need {
        what: "WebKitGTK 4.1 for development",
        from: Purpose::Window,
        found: || library("webkit2gtk-4.1"),
        debian: "libwebkit2gtk-4.1-dev",
        fedora: "webkit2gtk4.1-devel",
        arch: "webkit2gtk-4.1",
    },
    Need {
        what: "D-Bus for development",
        from: Purpose::Window,
        found: || library("dbus-1"),
        debian: "libdbus-1-dev",
        fedora: "dbus-devel",
        arch: "dbus",
    },
    Need {
        what: "WebKitWebDriver",
        from: Purpose::Tests,
        found: || on_path("WebKitWebDriver"),
        debian: "webkit2gtk-driver",
        fedora: "webkit2gtk4.1-devel",
        arch: "webkit2gtk-4.1",
    },
    Need {
        what: "a display for tests (xvfb-run)",
        from: Purpose::Tests,
        found: || on_path("xvfb-run"),
        debian: "xvfb",
        fedora: "xorg-x11-server-Xvfb",
        arch: "xorg-server-xvfb",
    },
    Need {
        what: "a keyboard for tests (xdotool)",
        from: Purpose::Tests,
        found: || on_path("xdotool"),
        debian: "xdotool",
        fedora: "xdotool",
        arch: "xdotool",
    },
    Need {
        what: "xauth",
        from: Purpose::Tests,
        found: || on_path("xauth"),
        debian: "xauth",
        fedora: "xorg-x11-xauth",
        arch: "xorg-xauth",
    },
    Need {
        what: "a session bus for tests (dbus-run-session)",
        from: Purpose::Tests,
        found: || on_path("dbus-run-session"),
        debian: "dbus",
        fedora: "dbus-daemon",
        arch: "dbus",
    },
    Need {
        what: "curl for tests",
        from: Purpose::Tests,
        found: || on_path("curl"),
        debian: "curl",
        fedora: "curl",
        arch: "curl",
    },
    Need {
        what: "a keychain for tests (gnome-keyring-daemon)",
        from: Purpose::Tests,
        found: || on_path("gnome-keyring-daemon"),
        debian: "gnome-keyring",
        fedora: "gnome-keyring",
        arch: "gnome-keyring",
    },
    Need {
        what: "an SSH client (ssh, ssh-keygen)",
        from: Purpose::Tests,
        found: || on_path("ssh") && on_path("ssh-keygen"),
        debian: "openssh-client",
        fedora: "openssh-clients",
        arch: "openssh",
    },
    Need {
        what: "an SSH server for tests (sshd)",
        from: Purpose::Tests,
        found: || on_path("sshd") || Path::new("/usr/sbin/sshd").exists(),
        debian: "openssh-server",
        fedora: "openssh-server",
        arch: "openssh",
    },
    Need {
        what: "ps and pkill (for the tests of the SSH tunnel)",
        from: Purpose::Tests,
        found: || on_path("ps") && on_path("pkill"),
        debian: "procps",
        fedora: "procps-ng",
        arch: "procps-ng",
    },
    Need {
        what: "Python 3 with venv (for vast.ai's own client)",
        from: Purpose::Tests,
        found: has_venv,
        debian: "python3-venv",
        fedora: "python3",
        arch: "python",
    },
    Need {
        what: "promtool (for the metrics and alert rules)",
        from: Purpose::Tests,
        found: || on_path("promtool"),
        debian: "prometheus",
        fedora: "golang-github-prometheus",
        arch: "prometheus",
    },
    Need { what: "rustfmt", from: Purpose::Tests, found: || on_path("cargo-fmt"), debian: "", fedora: "", arch: "" },
    Need { what: "clippy", from: Purpose::Tests, found: || on_path("cargo-clippy"), debian: "", fedora: "", arch: "" },
];

/// Makes sure that everything is there. Debian and Ubuntu: installs what is missing, after saying so. Elsewhere: says
/// exactly what to install.
pub(crate) fn ensure(purpose: Purpose) -> anyhow::Result<()> {
    if purpose >= Purpose::Window {
        node()?;
    }
    if cfg!(target_os = "linux") {
        system_packages(purpose)?;
    }
    if purpose == Purpose::Tests {
        webdriver()?;
        vast_client()?;
    }
    Ok(())
}

fn missing(purpose: Purpose) -> Vec<&'static Need> {
    NEEDS.iter().filter(|need| need.from <= purpose && !(need.found)()).collect()
}

fn system_packages(purpose: Purpose) -> anyhow::Result<()> {
    let lacking = missing(purpose);
    if lacking.is_empty() {
        return Ok(());
    }
    let toolchain: Vec<&str> = lacking.iter().filter(|need| need.debian.is_empty()).map(|need| need.what).collect();
    if !toolchain.is_empty() {
        bail!("missing: {}. Install with: rustup component add {}", toolchain.join(", "), toolchain.join(" "));
    }
    let what: Vec<&str> = lacking.iter().map(|need| need.what).collect();
    say(&format!("Missing: {}.", what.join(", ")));
    let packages = |pick: fn(&Need) -> &'static str| {
        let mut names: Vec<&str> = lacking.iter().map(|need| pick(need)).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    if !is_debian() {
        bail!(
            "install what is missing, then run this again:\n  Fedora:  sudo dnf install {}\n  Arch:    sudo pacman -S {}\n  other:   {}",
            packages(|need| need.fedora).join(" "),
            packages(|need| need.arch).join(" "),
            what.join(", ")
        );
    }
    let names = packages(|need| need.debian);
    say(&format!("Installing with apt-get: {}", names.join(" ")));
    let mut install = vec!["install", "--yes", "--no-install-recommends"];
    install.extend(&names);
    apt(&["update"])?;
    apt(&install)?;
    let still: Vec<&str> = missing(purpose).iter().map(|need| need.what).collect();
    if !still.is_empty() {
        bail!("still missing after installing: {}", still.join(", "));
    }
    Ok(())
}

fn apt(arguments: &[&str]) -> anyhow::Result<()> {
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.starts_with(b"0\n"));
    let mut command = if is_root { Command::new("apt-get") } else { Command::new("sudo") };
    if !is_root {
        command.arg("apt-get");
    }
    done(command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
}

fn is_debian() -> bool {
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    release
        .lines()
        .filter(|line| line.starts_with("ID=") || line.starts_with("ID_LIKE="))
        .any(|line| line.contains("debian") || line.contains("ubuntu"))
}

fn node() -> anyhow::Result<()> {
    const LEAST: u32 = 20;
    let version = Command::new("node")
        .arg("--version")
        .output()
        .ok()
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let major = version.as_ref().and_then(|version| version.trim_start_matches('v').split('.').next()?.parse::<u32>().ok());
    match major {
        Some(major) if major >= LEAST => {}
        Some(_) => bail!("Node {LEAST} or newer is needed to build the front end; this is {}", version.unwrap_or_default()),
        None => bail!("Node {LEAST} or newer is needed to build the front end, and none was found: https://nodejs.org"),
    }
    if !on_path("npm") {
        bail!("npm is needed to build the front end; it comes with Node from https://nodejs.org");
    }
    Ok(())
}

/// tauri-driver, the WebDriver front of the window: from crates.io, into the repository's own `tools`.
fn webdriver() -> anyhow::Result<()> {
    if root().join("tools/bin/tauri-driver").exists() || on_path("tauri-driver") {
        return Ok(());
    }
    say("Installing tauri-driver into tools/ (for the window's tests).");
    let tools = root().join("tools").display().to_string();
    done(&mut crate::cargo(&["install", "--root", &tools, "tauri-driver", "--version", "^2", "--locked"]))
}

/// cargo-deny, which checks the crates that are used. Gives the program.
pub(crate) fn cargo_deny() -> anyhow::Result<std::path::PathBuf> {
    cargo_tool("cargo-deny", "=0.20.2", "for the check of crates")
}

/// cargo-bolero, which fuzzes with coverage guiding it. Gives the program.
pub(crate) fn cargo_bolero() -> anyhow::Result<std::path::PathBuf> {
    cargo_tool("cargo-bolero", "=0.13.5", "for fuzzing")
}

/// A tool from crates.io, in the repository's own `tools`. Built without optimisation: it runs for seconds and would compile for minutes.
fn cargo_tool(name: &str, version: &str, what_for: &str) -> anyhow::Result<std::path::PathBuf> {
    let tools = root().join("tools");
    let program = tools.join("bin").join(name);
    if !program.exists() {
        say(&format!("Installing {name} into tools/ ({what_for})."));
        let into = tools.display().to_string();
        done(&mut crate::cargo(&["install", "--root", &into, name, "--version", version, "--locked", "--debug"]))?;
    }
    Ok(program)
}

/// vast.ai's own command line client, which the simulator must serve: from PyPI, into the repository's own `tools`.
fn vast_client() -> anyhow::Result<()> {
    let what = "vast.ai's command line client into tools/ (for the simulator's tests)";
    python_packages("vastai", "simulator/tests/requirements.txt", what).map(drop)
}

/// NVIDIA's compiler and assembler for kernels, which need no card: from PyPI, into the repository's own `tools`. Gives the
/// folder of the Python environment.
pub(crate) fn cuda_compilers() -> anyhow::Result<std::path::PathBuf> {
    python_packages("cuda", "kernels/requirements.txt", "NVIDIA's kernel compiler and assembler into tools/ (about 130 MB)")
}

/// A Python environment in `tools` with these packages.
fn python_packages(name: &str, requirements: &str, what: &str) -> anyhow::Result<std::path::PathBuf> {
    let requirements = root().join(requirements);
    let folder = root().join("tools").join(name);
    let installed = folder.join("installed.txt");
    let wanted = std::fs::read(&requirements)?;
    if std::fs::read(&installed).is_ok_and(|had| had == wanted) {
        return Ok(folder);
    }
    say(&format!("Installing {what}."));
    done(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    let mut pip = Command::new(folder.join("bin/pip"));
    done(pip.args(["install", "--quiet", "--disable-pip-version-check", "--requirement"]).arg(&requirements))?;
    std::fs::write(installed, wanted)?;
    Ok(folder)
}

fn has_venv() -> bool {
    let mut python = Command::new("python3");
    python.args(["-c", "import venv, ensurepip"]).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn on_path(program: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}

fn library(name: &str) -> bool {
    Command::new("pkg-config").args(["--exists", name]).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn certificates() -> bool {
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem"]
        .iter()
        .any(|path| Path::new(path).exists())
}
