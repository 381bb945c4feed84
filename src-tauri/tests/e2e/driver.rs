//! WebDriver processes and sessions, ended whatever happens.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fantoccini::error::CmdError;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};

/// Longest wait for any one call to the driver.
const CALL_WITHIN: Duration = Duration::from_secs(60);
/// Longest wait for a session: a browser starts within a few seconds.
const SESSION_WITHIN: Duration = Duration::from_secs(30);
/// Longest wait for anything on the screen. Generous: the machine may be busy; nothing waits longer than it must.
const WITHIN: Duration = Duration::from_secs(60);

/// Where the WebKitGTK browser for tests lies on Debian and Ubuntu, by architecture.
const MINI_BROWSER: [&str; 2] =
    ["/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser", "/usr/lib/aarch64-linux-gnu/webkit2gtk-4.1/MiniBrowser"];

/// A session with its driver process.
pub(crate) struct Browser {
    pub(crate) client: Client,
    driver: Driver,
    _folder: tempfile::TempDir,
}

/// An X server of its own: nobody else on it takes the keyboard's focus, and it is as large as it has to be.
pub(crate) struct Screen {
    display: String,
    server: Child,
}

impl Screen {
    pub(crate) fn open(width: u32, height: u32) -> Self {
        let size = format!("{width}x{height}x24");
        let mut server = Command::new("Xvfb")
            .args(["-displayfd", "1", "-screen", "0", &size, "-nolisten", "tcp"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start Xvfb: {error}; `cargo xtask test` installs it"));
        // It writes its number once it can be used.
        let mut number = String::new();
        std::io::BufReader::new(server.stdout.take().unwrap()).read_line(&mut number).unwrap();
        assert!(!number.trim().is_empty(), "Xvfb ended without a display");
        Self { display: format!(":{}", number.trim()), server }
    }

    /// Runs xdotool on it: keys that it presses come through XTEST, as those of a keyboard do.
    pub(crate) fn xdotool(&self, arguments: &[&str]) {
        let status = Command::new("xdotool").args(arguments).env("DISPLAY", &self.display).stdout(Stdio::null()).status();
        let status = status.unwrap_or_else(|error| panic!("cannot start xdotool: {error}; `cargo xtask test` installs it"));
        assert!(status.success(), "xdotool {arguments:?}: {status}");
    }

    /// Presses keys one after the other, about as fast as a person does.
    pub(crate) fn types(&self, keys: &[&str]) {
        let mut arguments = vec!["key", "--delay", "70"];
        arguments.extend(keys);
        self.xdotool(&arguments);
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.server.id().to_string()).status();
        let _ = self.server.wait();
    }
}

/// Asked to end, not killed: a killed driver leaves its browser behind, holding the test's output open.
struct Driver(Child);

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A session with a driver that `program` becomes when it is given the arguments for a port. Now and then a browser does
/// not come up and its driver waits for it without end: then another one is tried.
async fn session(program: &str, arguments: impl Fn(u16) -> Vec<String>, capabilities: Value, screen: Option<&Screen>) -> Browser {
    const TRIES: usize = 4;
    let display = screen.map(|screen| screen.display.clone()).or_else(|| std::env::var("DISPLAY").ok());
    let display = display.expect("no display: run these tests with `cargo xtask test`");
    let Value::Object(capabilities) = capabilities else { panic!("capabilities are an object") };
    for _ in 0..TRIES {
        let port = free_port();
        let folder = tempfile::tempdir().unwrap();
        let process = Command::new(program)
            .args(arguments(port))
            .env("XDG_DATA_HOME", folder.path().join("data"))
            .env("XDG_CACHE_HOME", folder.path().join("cache"))
            .env("XDG_CONFIG_HOME", folder.path().join("config"))
            // As the window does for itself where there is no GPU to draw on (`boot.rs`).
            .env("DISPLAY", &display)
            .envs((!Path::new("/dev/dri/renderD128").exists()).then_some(("WEBKIT_DISABLE_COMPOSITING_MODE", "1")))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {program}: {error}; `cargo xtask test` installs it"));
        let driver = Driver(process);
        let connecting = async {
            loop {
                let connected = ClientBuilder::new(HttpConnector::new())
                    .capabilities(capabilities.clone())
                    .connect(&format!("http://127.0.0.1:{port}"))
                    .await;
                if let Ok(client) = connected {
                    break client;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        if let Ok(client) = tokio::time::timeout(SESSION_WITHIN, connecting).await {
            return Browser { client, driver, _folder: folder };
        }
    }
    panic!("{program} gave no session in {TRIES} tries of {SESSION_WITHIN:?}");
}

/// A plain WebKitGTK browser: the engine of the window, without the window.
pub(crate) async fn engine() -> Browser {
    engine_on(None).await
}

/// The same on a screen of its own.
pub(crate) async fn engine_on(screen: Option<&Screen>) -> Browser {
    let binary = MINI_BROWSER.iter().find(|path| Path::new(path).exists()).expect("MiniBrowser of webkit2gtk-driver");
    let options = json!({ "webkitgtk:browserOptions": { "binary": binary, "args": ["--automation"] } });
    let arguments = |port| vec![format!("--port={port}"), "--host=127.0.0.1".to_owned()];
    let browser = session("WebKitWebDriver", arguments, options, screen).await;
    within("window size", browser.client.set_window_rect(0, 0, 1280, 800)).await.unwrap();
    browser
}

/// The real window, started with these arguments.
pub(crate) async fn window(arguments: &[&str]) -> Browser {
    window_on(None, arguments).await
}

/// The same on a screen of its own.
pub(crate) async fn window_on(screen: Option<&Screen>, arguments: &[&str]) -> Browser {
    let installed = repository("tools/bin/tauri-driver");
    let program = if installed.exists() { installed.display().to_string() } else { "tauri-driver".to_owned() };
    let options = json!({
        "browserName": "wry",
        "tauri:options": { "application": env!("CARGO_BIN_EXE_dwell-desktop"), "args": arguments },
    });
    let arguments =
        |port: u16| ["--port", &port.to_string(), "--native-port", &free_port().to_string()].map(str::to_owned).to_vec();
    session(&program, arguments, options, screen).await
}

/// A call to the driver that does not come back is a failure with a name, not a test that never ends.
async fn within<T>(what: &str, call: impl Future<Output = T>) -> T {
    tokio::time::timeout(CALL_WITHIN, call)
        .await
        .unwrap_or_else(|_| panic!("the driver did not answer in {CALL_WITHIN:?}: {what}"))
}

impl Browser {
    /// Waits for an element.
    pub(crate) async fn find(&self, css: &str) -> fantoccini::elements::Element {
        match self.client.wait().at_most(WITHIN).for_element(Locator::Css(css)).await {
            Ok(element) => element,
            Err(error) => panic!("{css} did not appear: {error}\n{}", self.state().await),
        }
    }

    /// Chooses an option of a select as its own menu would: that menu is the system's, beyond a driver's reach.
    pub(crate) async fn choose(&self, css: &str, value: &str) {
        self.find(css).await;
        let script = "const select = document.querySelector(arguments[0]); select.value = arguments[1];
            select.dispatchEvent(new Event('change', { bubbles: true })); return select.value === arguments[1]";
        let chosen = within(css, self.client.execute(script, vec![json!(css), json!(value)])).await;
        assert_eq!(chosen.unwrap_or_default(), json!(true), "{css} has no option {value}");
    }

    /// Gives the page itself this size, whatever the browser has around it.
    pub(crate) async fn resize(&self, width: u32, height: u32) {
        let (mut outer_width, mut outer_height) = (width, height);
        for _ in 0..20 {
            within("window size", self.client.set_window_rect(0, 0, outer_width, outer_height)).await.unwrap();
            tokio::time::sleep(Duration::from_millis(100)).await;
            let root = "document.documentElement";
            let inner = self.run(&format!("return [innerWidth, innerHeight, {root}.clientWidth, {root}.clientHeight]")).await;
            let Ok([inner_width, inner_height, laid_width, laid_height]) = serde_json::from_value::<[u32; 4]>(inner) else {
                continue;
            };
            if (inner_width, inner_height) == (width, height) {
                if (laid_width, laid_height) == (width, height) {
                    return;
                }
                // What is on the page follows within a frame or two.
                continue;
            }
            outer_width = (outer_width + width).saturating_sub(inner_width);
            outer_height = (outer_height + height).saturating_sub(inner_height);
        }
        panic!("the page does not become {width}x{height}: {}", self.run("return [innerWidth, innerHeight]").await);
    }

    /// Waits until the page shows a text.
    pub(crate) async fn sees(&self, text: &str) {
        self.until(&format!("return document.body.innerText.includes({})", json!(text))).await;
    }

    /// Waits until a script gives true.
    pub(crate) async fn until(&self, script: &str) {
        let began = std::time::Instant::now();
        loop {
            if self.run(script).await == Value::Bool(true) {
                return;
            }
            assert!(began.elapsed() < WITHIN, "never true: {script}\n{}", self.state().await);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Runs a script in the page.
    pub(crate) async fn run(&self, script: &str) -> Value {
        within(script, self.client.execute(script, vec![])).await.unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    /// Runs a script that gives its result to a callback.
    pub(crate) async fn run_async(&self, script: &str) -> Value {
        within(script, self.client.execute_async(script, vec![])).await.unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    /// Everything readable on the page.
    pub(crate) async fn text(&self) -> String {
        self.run("return document.body.innerText").await.as_str().unwrap_or("").to_owned()
    }

    /// For a failed test: what the page says, and a picture of it in the target folder.
    pub(crate) async fn state(&self) -> String {
        let picture = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("e2e-{}.png", free_port()));
        if let Ok(png) = self.client.screenshot().await {
            let _ = std::fs::write(&picture, png);
        }
        format!("{}\npicture: {}", self.text().await, picture.display())
    }

    /// Presses keys, as a person would who has nothing in focus.
    pub(crate) async fn press(&self, keys: &str) -> Result<(), CmdError> {
        within(keys, async { self.client.active_element().await?.send_keys(keys).await }).await
    }

    /// Begins to note what the content policy refuses.
    pub(crate) async fn note_violations(&self) {
        self.run("window.refused = []; document.addEventListener('securitypolicyviolation', (event) => window.refused.push(event.violatedDirective + ' ' + event.blockedURI))").await;
    }

    /// What the content policy has refused since.
    pub(crate) async fn violations(&self) -> Value {
        self.run("return window.refused").await
    }

    /// Accessibility faults of the page as it is, by axe-core: rule and place.
    pub(crate) async fn accessibility_faults(&self) -> Vec<String> {
        let axe = std::fs::read_to_string(repository("ui/node_modules/axe-core/axe.min.js")).expect("axe-core: npm ci in ui");
        self.run(&axe).await;
        // What fades in has no contrast yet: what ends by itself ends first.
        self.until("return !document.getAnimations().some((it) => it.playState === 'running' && it.effect.getComputedTiming().endTime < 10_000)")
            .await;
        let found = self
            .run_async(
                "const done = arguments[arguments.length - 1];
                 axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] })
                    .then((result) => done(result.violations.map((rule) => rule.id + ': ' + rule.nodes.map((node) => node.html.slice(0, 160)).slice(0, 3).join(' | '))),
                          (error) => done(['axe failed: ' + error]));",
            )
            .await;
        found.as_array().into_iter().flatten().filter_map(|fault| fault.as_str().map(str::to_owned)).collect()
    }

    pub(crate) async fn close(self) {
        let _ = tokio::time::timeout(CALL_WITHIN, self.client.close()).await;
        drop(self.driver);
    }
}
