//! SSH by the system's own `ssh`, so that agents, hardware keys, jump hosts and the policy for host keys are those of the
//! operator's terminal. It never asks a question: what would need an answer fails, and says so.
//!
//! Two uses: a tunnel to the manager, which stays ([`crate::Tunnel`]), and the look at a rented machine, which ends
//! ([`Ssh::probe`]). Rented machines are hostile: nothing is forwarded to them, their host keys are kept apart from the
//! operator's own `known_hosts`, and what they print has a limit.

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use dwell_fleet::look::{Reach, SshAddress, is_public};
use dwell_fleet::{redacted, redacted_bytes};
use dwell_wire as wire;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};

use crate::{Code, FetchError};

/// Longest wait for a connection to a rented machine.
const CONNECT_WITHIN_S: u64 = 10;
/// Longest wait for a whole look, beyond which what came is taken.
const PROBE_WITHIN: Duration = Duration::from_secs(75);
/// Longest wait for its version.
const VERSION_WITHIN: Duration = Duration::from_secs(5);
/// What is kept of the words of `ssh` itself, bytes.
const WORDS_BYTES_MAX: usize = 16 * 1024;

/// What of this program's environment an `ssh` to a rented machine gets: where programs, keys and the agent are, and the language. All
/// else could be delivered by a configuration's `SendEnv`, or used by what it runs.
const ENVIRONMENT: [&str; 14] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TMPDIR",
    "SSH_AUTH_SOCK",
    // Windows starts nothing without these.
    "SystemRoot",
    "USERPROFILE",
    "PROGRAMDATA",
    "TEMP",
];
/// Beginnings of names that no `ssh` gets, not even the one to the operator's own controller: keys, and what is meant for Dwell.
const NEVER_GIVEN: [&str; 2] = ["VAST", "DWELL_"];

/// Starts a program and ends it when this one is gone, however it went: the watcher sees its input end. POSIX shell.
#[cfg(unix)]
const KEEPER: &str = r#"exec 3<&0
"$@" </dev/null 3<&- & child=$!
{ cat <&3; kill "$child"; } >/dev/null 2>&1 & watcher=$!
exec 3<&-
wait "$child"; status=$?
kill "$watcher" 2>/dev/null
exit "$status""#;

/// Whom `ssh` connects to: `user@host`, an entry of its configuration, or `ssh://user@host:port`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshTarget(String);

impl SshTarget {
    /// Refuses what `ssh` could take for an option, and what is no name.
    pub fn new(text: &str) -> Result<Self, FetchError> {
        let text = text.trim();
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-@:/[]%+".contains(letter);
        let named = !text.is_empty() && text.len() <= 300 && text.chars().all(plain);
        let option = text.starts_with('-') || text.contains("@-") || text.contains("//-");
        if named && !option {
            Ok(Self(text.to_owned()))
        } else {
            Err(FetchError::new(Code::BadAddress, format!("{text:?} is no user@host and no name of an entry in ~/.ssh/config")))
        }
    }

    /// As it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The system's `ssh`.
#[derive(Debug, Clone)]
pub struct Ssh {
    program: OsString,
    config: Option<PathBuf>,
    /// Rented machines may be told to be in a network of one's own.
    private_machines: bool,
}

impl Default for Ssh {
    fn default() -> Self {
        Self { program: "ssh".into(), config: None, private_machines: false }
    }
}

/// What a look at a machine by SSH came to.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeRun {
    /// By the direct port.
    pub direct: Reach,
    /// Through vast.ai's proxy.
    pub proxy: Reach,
    /// What the machine printed, where one of the two got in. Hostile text.
    pub output: Option<String>,
    /// What `ssh` itself said last.
    pub words: String,
}

/// How a program that was waited for ended.
struct Ended {
    code: Option<i32>,
    output: Vec<u8>,
    words: String,
    in_time: bool,
    /// It printed more than is read.
    too_much: bool,
}

/// Why the output of a program is not read any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Read {
    /// It ended.
    ToEnd,
    /// The script's last line came.
    ToMark,
    /// There is more than is read.
    TooMuch,
}

/// Who an `ssh` goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// The operator's own machine: by their configuration.
    Operators,
    /// A rented one.
    Rented,
}

impl Ssh {
    /// With a configuration file of its own instead of the operator's.
    pub fn with_config(config: Option<PathBuf>) -> Self {
        Self { config, ..Self::default() }
    }

    /// Looks at machines in a network of one's own, and on this machine, as well: for a fleet of one's own, and simulated ones.
    pub fn with_private_machines(self, private_machines: bool) -> Self {
        Self { private_machines, ..self }
    }

    /// `ssh` to a machine of the operator's, with options that hold for every use.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        self.arguments_to(Whose::Operators)
    }

    fn arguments_to(&self, whose: Whose) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec![self.program.clone()];
        match (&self.config, whose) {
            (Some(config), _) => arguments.extend(["-F".into(), config.into()]),
            // The operator's configuration knows names of their own: none of them is a rented machine's.
            (None, Whose::Rented) => arguments.extend(["-F".into(), "none".into()]),
            (None, Whose::Operators) => {}
        }
        for option in [
            // No question is ever asked: a window has nobody at the terminal.
            "BatchMode=yes",
            "ForwardAgent=no",
            "ForwardX11=no",
            "RequestTTY=no",
            // A shared connection would outlive this one, or end with another.
            "ControlMaster=no",
            "ControlPath=none",
        ] {
            arguments.extend(["-o".into(), option.into()]);
        }
        arguments
    }

    /// Starts one to a machine of the operator's, bound to the life of this program.
    pub(crate) fn start(&self, arguments: Vec<OsString>) -> Result<Child, FetchError> {
        self.start_to(Whose::Operators, arguments)
    }

    fn start_to(&self, whose: Whose, arguments: Vec<OsString>) -> Result<Child, FetchError> {
        #[cfg(unix)]
        let mut command = {
            let mut command = Command::new("sh");
            command.args(["-c", KEEPER, "dwell-keeper"]).args(arguments);
            command
        };
        #[cfg(not(unix))]
        let mut command = {
            let mut command = Command::new(&arguments[0]);
            command.args(&arguments[1..]).kill_on_drop(true);
            command
        };
        let given = std::env::vars_os().filter(|(name, _)| is_given(whose, &name.to_string_lossy()));
        command
            .env_clear()
            .envs(given)
            .env("SSH_ASKPASS_REQUIRE", "never")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| FetchError::new(Code::NoSsh, format!("cannot start ssh: {error}")))
    }

    /// Which `ssh` this is, in its own words.
    pub async fn version(&self) -> Result<String, FetchError> {
        let ended = finish(self.start(vec![self.program.clone(), "-V".into()])?, VERSION_WITHIN).await?;
        match ended.code {
            Some(0) => Ok(ended.words.trim().to_owned()),
            _ => Err(no_ssh()),
        }
    }

    /// Runs the look at a machine: by the direct port where there is one, else through the proxy. `id` is vast.ai's number,
    /// under which the host key is remembered in `known_hosts`.
    pub async fn probe(
        &self,
        id: u64,
        direct: Option<&SshAddress>,
        proxy: Option<&SshAddress>,
        known_hosts: &Path,
    ) -> Result<ProbeRun, FetchError> {
        let mut run = ProbeRun { direct: Reach::NoAddress, proxy: Reach::NoAddress, output: None, words: String::new() };
        let (mut refused, mut tried) = (None, false);
        if let Some(folder) = known_hosts.parent() {
            // Where this fails, ssh says that it cannot keep the key, and goes on.
            let _ = std::fs::create_dir_all(folder);
        }
        for (way, address) in [("direct", direct), ("proxy", proxy)] {
            let Some(address) = address else { continue };
            let reach = if run.output.is_some() {
                Reach::NotTried
            } else {
                let leads_to = match self.leads_to(address).await {
                    Leads::To(host) => host,
                    Leads::Nowhere => {
                        tried = true;
                        run.words = format!("{} could not be resolved", address.host());
                        if way == "direct" {
                            run.direct = Reach::NameUnknown
                        } else {
                            run.proxy = Reach::NameUnknown
                        }
                        continue;
                    }
                    // As if none had been told: nothing is connected to.
                    Leads::Inside(why) => {
                        refused = refused.or(Some(why));
                        continue;
                    }
                };
                tried = true;
                let alias = format!("vast-{id}-{way}");
                let mut arguments = self.arguments_to(Whose::Rented);
                arguments.extend(machine_options(&alias, &leads_to, known_hosts));
                arguments.extend(machine_address(address));
                arguments.push(remote_command().into());
                let ended = finish(self.start_to(Whose::Rented, arguments)?, PROBE_WITHIN).await?;
                let output = String::from_utf8_lossy(&ended.output).into_owned();
                let entered = output.contains(&wire::probe_mark("clock"));
                run.words.clone_from(&ended.words);
                if ended.too_much {
                    run.words =
                        format!("{}\ntoo much output: beyond {} KiB nothing was read", run.words, wire::PROBE_BYTES_MAX / 1024);
                }
                if entered {
                    run.output = Some(output);
                    Reach::Connected
                } else if ended.too_much {
                    Reach::TooMuch
                } else if !ended.in_time {
                    Reach::TimedOut
                } else if ended.code == Some(127) && ended.words.contains("not found") {
                    return Err(no_ssh());
                } else if verdict(&ended.words) == Code::SshConfig {
                    return Err(broken_config(&ended.words));
                } else {
                    reach(&ended.words)
                }
            };
            if way == "direct" { run.direct = reach } else { run.proxy = reach }
        }
        match refused {
            Some(why) if !tried => Err(FetchError::new(Code::BadAddress, why)),
            _ => Ok(run),
        }
    }

    /// What is connected to where a machine is told to be at this address: looked up once, so that no name can lead elsewhere the
    /// second time.
    async fn leads_to(&self, address: &SshAddress) -> Leads {
        if self.private_machines {
            return Leads::To(address.host().to_owned());
        }
        if address.is_local_name() {
            return Leads::inside(address, "its name is one of a network of your own");
        }
        let found: Vec<IpAddr> = match address.host().parse() {
            Ok(number) => vec![number],
            Err(_) => {
                let lookup = tokio::net::lookup_host((address.host(), address.port()));
                match tokio::time::timeout(Duration::from_secs(CONNECT_WITHIN_S), lookup).await {
                    Ok(Ok(found)) => found.map(|found| found.ip()).collect(),
                    Ok(Err(_)) | Err(_) => Vec::new(),
                }
            }
        };
        chosen(address, &found)
    }
}

/// Which of the addresses that were found is connected to. A name that leads inside as well is not what a rented machine's is.
fn chosen(address: &SshAddress, found: &[IpAddr]) -> Leads {
    match found {
        [] => Leads::Nowhere,
        [first, ..] if found.iter().all(|number| is_public(*number)) => Leads::To(first.to_string()),
        _ => Leads::inside(address, "it leads to this machine or into a network of your own"),
    }
}

/// Where an address of a machine leads.
#[derive(Debug, PartialEq)]
enum Leads {
    To(String),
    /// Its name is not known.
    Nowhere,
    /// Not to the public internet, and why that is refused.
    Inside(String),
}

impl Leads {
    fn inside(address: &SshAddress, why: &str) -> Self {
        Self::Inside(format!(
            "a rented machine is told to be at {address}, and is not looked at: {why}, and rented machines are on the public internet. \
             Where that is meant, for a fleet of one's own or a simulated one: allow_private_machines = true, at the top of settings.toml"
        ))
    }
}

/// Whether a variable of this program's environment is given to an `ssh`.
fn is_given(whose: Whose, name: &str) -> bool {
    let allowed = whose == Whose::Operators || ENVIRONMENT.contains(&name);
    allowed && !NEVER_GIVEN.iter().any(|beginning| name.starts_with(beginning))
}

/// What is run on a machine, as it can be pasted into a terminal.
pub fn probe_by_hand(address: &SshAddress) -> String {
    format!(
        "ssh -F none -o ForwardAgent=no -p {} root@{} sh -s <<'DWELL'\n{}DWELL",
        address.port(),
        address.host(),
        wire::probe_script()
    )
}

/// The script holds no single quote.
fn remote_command() -> String {
    format!("exec sh -c '{}'", wire::probe_script())
}

fn machine_options(alias: &str, leads_to: &str, known_hosts: &Path) -> Vec<OsString> {
    // Of a path, ssh reads quotes and percent signs.
    let file = known_hosts.display().to_string().replace('%', "%%").replace('"', "");
    [
        // What is connected to is the address that was given, directly, whatever a configuration makes of such a name.
        format!("HostName={leads_to}"),
        "ProxyCommand=none".to_owned(),
        "CanonicalizeHostname=no".to_owned(),
        "KnownHostsCommand=none".to_owned(),
        "GSSAPIAuthentication=no".to_owned(),
        "HostbasedAuthentication=no".to_owned(),
        "Tunnel=no".to_owned(),
        // Banners are not printed: every word up to the login is that of `ssh` itself.
        "LogLevel=ERROR".to_owned(),
        "ClearAllForwardings=yes".to_owned(),
        "PermitLocalCommand=no".to_owned(),
        "NumberOfPasswordPrompts=0".to_owned(),
        format!("ConnectTimeout={CONNECT_WITHIN_S}"),
        "ConnectionAttempts=1".to_owned(),
        "ServerAliveInterval=5".to_owned(),
        "ServerAliveCountMax=3".to_owned(),
        "EscapeChar=none".to_owned(),
        // Their keys are remembered at first sight and compared ever after, apart from the operator's own.
        "StrictHostKeyChecking=accept-new".to_owned(),
        "GlobalKnownHostsFile=/dev/null".to_owned(),
        format!("UserKnownHostsFile=\"{file}\""),
        "UpdateHostKeys=no".to_owned(),
        "CheckHostIP=no".to_owned(),
        format!("HostKeyAlias={alias}"),
    ]
    .into_iter()
    .flat_map(|option| [OsString::from("-o"), OsString::from(option)])
    .collect()
}

fn machine_address(address: &SshAddress) -> Vec<OsString> {
    ["-T", "-l", "root", "-p", &address.port().to_string(), "--", address.host()].into_iter().map(OsString::from).collect()
}

/// Reads a program to its end, its last line, its limits or its time, whichever comes first.
async fn finish(mut child: Child, within: Duration) -> Result<Ended, FetchError> {
    let (Some(mut stdout), Some(mut stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(FetchError::new(Code::SshFailed, "ssh was started without its output"));
    };
    let mut input = child.stdin.take();
    let mut output = Vec::new();
    let mut words = Vec::new();
    let mut read = None;
    let look = async {
        let why = read_to_end_mark(&mut stdout, &mut output).await;
        read = Some(why);
        if why != Read::ToEnd {
            // What is wanted is here, or more than that: nothing else is waited for. Its input ends, so it is ended.
            drop(input.take());
            #[cfg(not(unix))]
            let _ = child.start_kill();
        }
    };
    let both = async { tokio::join!(look, read_limited(&mut stderr, &mut words)) };
    let mut in_time = tokio::time::timeout(within, both).await.is_ok();
    drop(input.take());
    let code = match tokio::time::timeout(Duration::from_secs(5), child.wait()).await {
        Ok(Ok(status)) => status.code(),
        Ok(Err(_)) | Err(_) => {
            in_time = false;
            None
        }
    };
    let words = redacted(String::from_utf8_lossy(&words).trim()).into_owned();
    let output = redacted_bytes(&output).into_owned();
    Ok(Ended { code, output, words, in_time, too_much: read == Some(Read::TooMuch) })
}

/// A machine's stuck process may hold the output open after the script's last line, or print on: then the end is not waited for.
async fn read_to_end_mark(from: &mut (impl AsyncRead + Unpin), into: &mut Vec<u8>) -> Read {
    let end = format!("\n{}\n", wire::PROBE_END);
    let mut buffer = vec![0; 16 * 1024];
    while into.len() < wire::PROBE_BYTES_MAX {
        let before = into.len().saturating_sub(end.len());
        match from.read(&mut buffer).await {
            Ok(0) | Err(_) => return Read::ToEnd,
            Ok(count) => into.extend_from_slice(&buffer[..count]),
        }
        if into[before..].windows(end.len()).any(|part| part == end.as_bytes()) {
            return Read::ToMark;
        }
    }
    into.truncate(wire::PROBE_BYTES_MAX);
    Read::TooMuch
}

async fn read_limited(from: &mut (impl AsyncRead + Unpin), into: &mut Vec<u8>) {
    let mut buffer = vec![0; 4096];
    loop {
        match from.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            // What is beyond the limit is read and dropped, so that nobody waits for it to be read.
            Ok(count) => into.extend_from_slice(&buffer[..count.min(WORDS_BYTES_MAX.saturating_sub(into.len()))]),
        }
    }
}

pub(crate) fn no_ssh() -> FetchError {
    FetchError::new(Code::NoSsh, "there is no ssh on this machine")
}

/// What a failure of `ssh` means, by its words: its exit code is 255 for all of them. Source: OpenSSH's messages.
pub(crate) fn meaning(words: &str) -> Code {
    let has = |needle: &str| words.contains(needle);
    if has("terminating, ") && has("bad configuration option") || words.lines().next().is_some_and(is_of_config) {
        Code::SshConfig
    } else if has("REMOTE HOST IDENTIFICATION HAS CHANGED") {
        Code::HostKeyChanged
    } else if has("Host key verification failed") || has("host key is known for") {
        Code::HostKeyUnknown
    } else if has("Permission denied") || has("Too many authentication failures") || has("No more authentication methods") {
        Code::SshKeyRefused
    } else if has("Address already in use") || has("cannot listen to port") || has("Could not request local forwarding") {
        Code::PortInUse
    } else if has("Could not resolve hostname") {
        Code::NameUnknown
    } else if has("Connection refused") {
        Code::Unreachable
    } else if has("timed out") || has("No route to host") || has("Network is unreachable") || has("Host is down") {
        Code::TimedOut
    } else if [
        "Connection closed",
        "Connection reset",
        "reset by peer",
        "kex_exchange",
        "Broken pipe",
        "not responding",
        "closed by remote",
    ]
    .iter()
    .any(|it| has(it))
    {
        Code::CutShort
    } else {
        Code::SshFailed
    }
}

/// The same for a rented machine, which may put any words behind those of `ssh`: a message with which it disconnects is printed as it
/// came. What is told of host keys and of this machine counts only where it comes first; banners are not printed at all.
fn verdict(words: &str) -> Code {
    /// How `ssh` begins where a host key is another one. Source: `warn_changed_key` in OpenSSH's `sshconnect.c`.
    const CHANGED: &str = "@@@@@@@@@@";
    let own = words.split("Received disconnect from").next().unwrap_or_default();
    let first = own.lines().next().unwrap_or_default();
    match meaning(own) {
        Code::HostKeyChanged if !first.starts_with(CHANGED) => Code::CutShort,
        Code::HostKeyUnknown if !(first.starts_with("No ") || first.starts_with("Host key verification failed")) => {
            Code::CutShort
        }
        Code::SshConfig if !is_of_config(first) => Code::CutShort,
        // Nothing but what the other side said last.
        Code::SshFailed if own.len() < words.len() => match meaning(words.lines().next().unwrap_or_default()) {
            Code::SshKeyRefused => Code::SshKeyRefused,
            _ => Code::CutShort,
        },
        code => code,
    }
}

/// Whether a line of `ssh` says that a configuration or a key file on this machine is broken. Source: OpenSSH's `readconf.c`.
fn is_of_config(line: &str) -> bool {
    [
        "Bad configuration option",
        "Bad owner or permissions on",
        "Can't open user config file",
        "extra arguments at end of line",
        "no argument after keyword",
    ]
    .iter()
    .any(|it| line.contains(it))
}

pub(crate) fn broken_config(words: &str) -> FetchError {
    let first: String =
        words.lines().next().unwrap_or_default().chars().filter(|letter| !letter.is_control()).take(200).collect();
    FetchError::new(Code::SshConfig, format!("ssh on this machine does not start: its configuration is broken ({first})"))
}

fn reach(words: &str) -> Reach {
    match verdict(words) {
        Code::HostKeyChanged | Code::HostKeyUnknown => Reach::HostKeyChanged,
        Code::SshKeyRefused => Reach::KeyRefused,
        Code::NameUnknown => Reach::NameUnknown,
        Code::Unreachable => Reach::Refused,
        Code::TimedOut => Reach::TimedOut,
        _ => Reach::Cut,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ssh_could_take_for_an_option_is_no_target() {
        for bad in ["", "-oProxyCommand=x", "user@-oProxyCommand=x", "ssh://-x", "a b", "a;b", "$(x)", "a\nb", "a`b`"] {
            assert_eq!(SshTarget::new(bad).unwrap_err().code, Code::BadAddress, "{bad:?}");
        }
        for good in ["controller", "ops@controller.example", "ssh://ops@controller:2222", "ops@[2001:db8::1]", " padded "] {
            assert!(SshTarget::new(good).is_ok(), "{good:?}");
        }
    }

    #[test]
    fn a_name_leads_where_it_was_found_to_lead_and_never_inside() {
        let Some(address) = SshAddress::new("ssh4.vast.ai", 12_345) else { panic!() };
        let found = |numbers: &[&str]| chosen(&address, &numbers.iter().filter_map(|it| it.parse().ok()).collect::<Vec<_>>());
        assert_eq!(found(&["192.0.2.7", "2001:db8::7"]), Leads::To("192.0.2.7".to_owned()));
        assert_eq!(found(&[]), Leads::Nowhere);
        for inside in [&["127.0.0.1"][..], &["192.0.2.7", "10.0.0.1"], &["::1", "192.0.2.7"], &["169.254.169.254"]] {
            let Leads::Inside(why) = found(inside) else { panic!("{inside:?}") };
            assert!(why.contains("ssh4.vast.ai:12345") && why.contains("allow_private_machines = true"), "{why}");
        }
    }

    #[test]
    fn what_a_machine_says_is_no_verdict_of_ssh() {
        let changed =
            "@@@@@@@@@@@@@@@@@@@@@@@\r\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\r\nHost key verification failed.";
        assert_eq!(reach(changed), Reach::HostKeyChanged);
        for forged in [
            format!("Received disconnect from 192.0.2.1 port 22:2: no\n{changed}\nDisconnected from 192.0.2.1 port 22"),
            format!("Unable to negotiate with 192.0.2.1 port 22: no matching cipher found. Their offer: x\n{changed}"),
            "Received disconnect from 192.0.2.1 port 22:2: x: line 1: Bad configuration option: y\nterminating, 1 bad configuration option"
                .to_owned(),
        ] {
            assert_eq!(reach(&forged), Reach::Cut, "{forged}");
        }
        assert_eq!(reach("Received disconnect from 192.0.2.1 port 22:2: Too many authentication failures"), Reach::KeyRefused);
    }

    #[test]
    fn no_key_is_in_the_environment_of_ssh() {
        for whose in [Whose::Operators, Whose::Rented] {
            for name in ["VAST_API_KEY", "VAST_URL", "VASTAI_KEY", "DWELL_DATA_DIR"] {
                assert!(!is_given(whose, name), "{name}");
            }
            assert!(["PATH", "HOME", "SSH_AUTH_SOCK"].iter().all(|name| is_given(whose, name)));
        }
        assert!(is_given(Whose::Operators, "KRB5CCNAME") && !is_given(Whose::Rented, "HF_TOKEN"));
    }

    #[test]
    fn the_script_can_stand_in_single_quotes() {
        assert!(!wire::probe_script().contains('\''));
        assert!(!wire::probe_script().lines().any(|line| line == "DWELL"));
    }

    #[test]
    fn the_words_of_ssh_are_understood() {
        for (words, code) in [
            ("ops@h: Permission denied (publickey).", Code::SshKeyRefused),
            ("Received disconnect from 1.2.3.4 port 22:2: Too many authentication failures", Code::SshKeyRefused),
            ("@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.", Code::HostKeyChanged),
            (
                "No ED25519 host key is known for h and you have requested strict checking.\nHost key verification failed.",
                Code::HostKeyUnknown,
            ),
            ("ssh: connect to host h port 22: Connection refused", Code::Unreachable),
            ("ssh: connect to host h port 22: Connection timed out", Code::TimedOut),
            ("ssh: Could not resolve hostname h: Name or service not known", Code::NameUnknown),
            ("kex_exchange_identification: Connection closed by remote host", Code::CutShort),
            (
                "bind [127.0.0.1]:1: Address already in use\nchannel_setup_fwd_listener_tcpip: cannot listen to port: 1",
                Code::PortInUse,
            ),
            ("Timeout, server h not responding.", Code::CutShort),
            (
                "/h/.ssh/config: line 1: Bad configuration option: foo\r\n/h/.ssh/config: terminating, 1 bad configuration options",
                Code::SshConfig,
            ),
            ("Bad owner or permissions on /h/.ssh/config", Code::SshConfig),
            ("something else", Code::SshFailed),
        ] {
            assert_eq!(meaning(words), code, "{words}");
        }
    }
}
