//! Asks a simulated world on the channels that are asked on purpose, and gives what it answers in the domain's terms: as the
//! clients of a connected fleet do ([`crate::live`]). Read-only.

use dwell_clients::VastListed;
use dwell_diagnosis::{Channel, Check};
use dwell_fleet::Timestamp;
use dwell_fleet::look::{ContainerOutput, HostAnswer, ProverAnswer, Reach, VastAnswer, VastShown};
use dwell_fleet::seconds_between;
use dwell_simulator::{ProverStatus, SshReach, World};
use dwell_wire as wire;

use crate::rentals;

/// What a look brought.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answered {
    Vast(VastAnswer),
    Container(ContainerOutput),
    Host(HostAnswer),
    Prover(ProverAnswer),
}

impl Answered {
    /// The channel that spoke.
    pub(crate) fn channel(&self) -> Channel {
        match self {
            Self::Vast(_) => Channel::VastRecord,
            Self::Container(_) => Channel::ContainerLog,
            Self::Host(_) => Channel::SshProbe,
            Self::Prover(_) => Channel::ProverStatus,
        }
    }
}

/// An answer as it was read, and as it came. The text is hostile; keys of accounts are not in it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Looked {
    pub(crate) answered: Answered,
    pub(crate) raw: String,
}

/// Makes a look. Nothing comes of those that the watch makes by itself.
pub(crate) fn ask(world: &World, vast_id: u64, check: Check) -> Vec<Looked> {
    match check {
        Check::VastRecord => vec![vast(world, vast_id)],
        Check::ContainerLog => vec![container(world, vast_id)],
        Check::Ssh | Check::SshAgain => host(world, vast_id),
        Check::Prover | Check::ProverAgain => vec![prover(world, vast_id)],
        Check::InstanceLog | Check::ManagerLog => Vec::new(),
    }
}

fn vast(world: &World, vast_id: u64) -> Looked {
    // One look in so many is answered with null where vast.ai does that: which one depends on when it is asked.
    let shown = world.api_show(vast_id, world.now().as_second() as u64 / 7);
    let record = match shown.status {
        200 => match &shown.body["instances"] {
            record if record.is_object() => VastShown::Record(Box::new(wire::vast_record(record))),
            _ => VastShown::Absent,
        },
        404 if shown.body["error"] == "no_such_instance" => VastShown::Absent,
        status => VastShown::Refused(status),
    };
    let list = rentals::list_of_world(world);
    let whole = list.as_ref().ok().filter(|list| list.incomplete.is_none()).map(|list| &list.rentals);
    let is_stopped = |rental: &&VastListed| matches!(rental.record.actual_status.as_deref(), Some("stopped" | "exited"));
    let user = world.api_user();
    let raw = wire::vast_answer_shown(&shown.body);
    let answered = Answered::Vast(VastAnswer {
        record,
        listed: list.as_ref().ok().and_then(|list| list.has(vast_id)),
        listing_retired: list.as_ref().is_err_and(|status| *status == 410),
        credit_dollars: user.body["credit"].as_f64(),
        rentals: whole.map(|rentals| (rentals.len(), rentals.iter().filter(is_stopped).count())),
    });
    Looked { answered, raw }
}

fn container(world: &World, vast_id: u64) -> Looked {
    container_looked(match (world.container_log(vast_id, false), world.container_log(vast_id, true)) {
        (Some((ready, container)), Some((_, daemon))) => {
            ContainerOutput { container, daemon, uploaded_after_s: seconds_between(world.now(), ready) }
        }
        _ => ContainerOutput::default(),
    })
}

/// The container's output, and the daemon's below it.
pub(crate) fn container_looked(output: ContainerOutput) -> Looked {
    let raw =
        format!("== the container ==\n{}\n== the host's daemon ==\n{}\n", output.container.trim_end(), output.daemon.trim_end());
    Looked { answered: Answered::Container(output), raw }
}

fn reach(reach: SshReach) -> Reach {
    match reach {
        SshReach::Connected => Reach::Connected,
        SshReach::TimedOut => Reach::TimedOut,
        SshReach::Refused => Reach::Refused,
        SshReach::KeyRefused => Reach::KeyRefused,
        SshReach::NoAddress => Reach::NoAddress,
    }
}

/// By the same words as over a socket.
fn host(world: &World, vast_id: u64) -> Vec<Looked> {
    let (direct, proxy) = match world.host_view(vast_id) {
        None => (Reach::NoAddress, Reach::NoAddress),
        Some(view) => (reach(view.direct), reach(view.proxy)),
    };
    host_looked(direct, proxy, world.probe_output(vast_id), "", world.now())
}

/// What a look at a machine came to: how far it got, what it printed, and what its prover said on the way.
pub(crate) fn host_looked(direct: Reach, proxy: Reach, output: Option<String>, words: &str, at: Timestamp) -> Vec<Looked> {
    let probed = output.as_deref().and_then(|output| wire::probed(output, at));
    let mut raw = format!("direct port: {}\nvast.ai's proxy: {}\n", direct.as_str(), proxy.as_str());
    for text in [words, output.as_deref().unwrap_or_default()] {
        if !text.trim().is_empty() {
            raw.push_str(text.trim_end());
            raw.push('\n');
        }
    }
    let mut prover = None;
    let seen = probed.map(|probed| {
        prover = probed.prover;
        Box::new(probed.seen)
    });
    let prover_raw = wire::probe_section(output.as_deref().unwrap_or_default(), "prover").unwrap_or_default();
    let host = Looked { answered: Answered::Host(HostAnswer { direct, proxy, seen }), raw };
    let prover = prover.map(|answer| Looked { answered: Answered::Prover(answer), raw: prover_raw });
    std::iter::once(host).chain(prover).collect()
}

fn prover(world: &World, vast_id: u64) -> Looked {
    let (answer, raw) = match world.prover_status(vast_id) {
        None | Some(ProverStatus::NoSsh) => (ProverAnswer::NoWay, "the manager did not get there by SSH".to_owned()),
        Some(ProverStatus::Failed(code)) => (wire::prover_failure(code), format!("ssh exec failed: exit status {code}")),
        Some(ProverStatus::Answer(status)) => {
            (ProverAnswer::Status(wire::prover_status(&status)), serde_json::to_string_pretty(&status).unwrap_or_default())
        }
    };
    Looked { answered: Answered::Prover(answer), raw }
}
