//! Asks a simulated world, or vast.ai, on the channels that are asked on purpose, and gives what it answers in the domain's terms: as the
//! clients of a real fleet do. Read-only.

use dwell_clients::VastClient;
use dwell_diagnosis::Check;
use dwell_fleet::look::{ContainerOutput, HostAnswer, ProverAnswer, Reach, VastAnswer, VastShown};
use dwell_fleet::seconds_between;
use dwell_simulator::{ProverStatus, SshReach, World};
use dwell_wire as wire;

use crate::ApiError;

/// Pages of the list that are read, 25 rentals each.
const PAGES_MAX: usize = 400;

/// What a look brought.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answered {
    Vast(VastAnswer),
    Container(ContainerOutput),
    Host(HostAnswer),
    Prover(ProverAnswer),
}

/// Makes a look. `None` for those that the watch makes by itself.
pub(crate) fn ask(world: &World, vast_id: u64, check: Check) -> Option<Answered> {
    Some(match check {
        Check::VastRecord => Answered::Vast(vast(world, vast_id)),
        Check::ContainerLog => Answered::Container(container(world, vast_id)),
        Check::Ssh | Check::SshAgain => Answered::Host(host(world, vast_id)),
        Check::Prover | Check::ProverAgain => Answered::Prover(prover(world, vast_id)),
        Check::InstanceLog | Check::ManagerLog => return None,
    })
}

/// Makes a look at vast.ai itself. Fails where it does not answer at all; what it refuses is an answer.
pub(crate) async fn look_at_vast(client: &VastClient, vast_id: u64, check: Check) -> Result<Answered, ApiError> {
    Ok(match check {
        Check::ContainerLog => Answered::Container(client.output(vast_id).await?),
        _ => Answered::Vast(client.look(vast_id).await),
    })
}

fn vast(world: &World, vast_id: u64) -> VastAnswer {
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
    let mut rentals = Vec::new();
    let mut after: Option<String> = None;
    let (mut listing_retired, mut listed) = (false, None);
    for _ in 0..PAGES_MAX {
        let page = world.api_list(None, after.as_deref());
        listing_retired |= page.status == 410;
        let Some(records) = page.body["instances"].as_array() else { break };
        rentals.extend(records.iter().map(|record| {
            let stopped = matches!(record["actual_status"].as_str(), Some("stopped" | "exited"));
            (record["id"].as_u64(), stopped)
        }));
        listed = Some(rentals.iter().any(|(id, _)| *id == Some(vast_id)));
        after = page.body["next_token"].as_str().map(str::to_owned);
        if after.is_none() {
            break;
        }
    }
    let user = world.api_user();
    VastAnswer {
        record,
        listed,
        listing_retired,
        credit_dollars: user.body["credit"].as_f64(),
        rentals: listed.map(|_| (rentals.len(), rentals.iter().filter(|(_, stopped)| *stopped).count())),
    }
}

fn container(world: &World, vast_id: u64) -> ContainerOutput {
    let (Some((ready, container)), Some((_, daemon))) = (world.container_log(vast_id, false), world.container_log(vast_id, true))
    else {
        return ContainerOutput::default();
    };
    ContainerOutput { container, daemon, uploaded_after_s: seconds_between(world.now(), ready) }
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
fn host(world: &World, vast_id: u64) -> HostAnswer {
    match world.host_view(vast_id) {
        None => HostAnswer { direct: Reach::NoAddress, proxy: Reach::NoAddress, seen: None },
        Some(view) => HostAnswer {
            direct: reach(view.direct),
            proxy: reach(view.proxy),
            seen: world
                .probe_output(vast_id)
                .and_then(|output| wire::probed(&output, world.now()))
                .map(|probed| Box::new(probed.seen)),
        },
    }
}

fn prover(world: &World, vast_id: u64) -> ProverAnswer {
    match world.prover_status(vast_id) {
        None | Some(ProverStatus::NoSsh) => ProverAnswer::NoWay,
        Some(ProverStatus::Failed(code)) => wire::prover_failure(code),
        Some(ProverStatus::Answer(status)) => ProverAnswer::Status(wire::prover_status(&status)),
    }
}
