//! Asks the channels of a connected fleet that are asked on purpose: vast.ai with the operator's key, the machine by SSH where
//! that is allowed, the prover through the manager. Read-only.

use std::path::PathBuf;

use dwell_clients::{ManagerClient, Ssh, VastClient, probe_by_hand};
use dwell_diagnosis::Check;
use dwell_fleet::look::{ProverAnswer, SshAddress, VastAnswer, VastShown};

use crate::ask::{Answered, Looked, container_looked, host_looked};
use crate::drive::Clock;
use crate::dto::ProbeScript;
use crate::keys;
use crate::{ApiError, ErrorCode};
use dwell_history::files;

/// Host keys of rented machines, apart from the operator's own.
const KNOWN_HOSTS: &str = "known_hosts_of_machines";

/// What can be asked of a connected fleet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Means {
    /// A key of a vast.ai account is known.
    pub(crate) vast: bool,
    /// The operator allows looks at its machines.
    pub(crate) machines: bool,
}

/// Who is asked about one instance.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Whom {
    pub(crate) id: String,
    pub(crate) uuid: Option<String>,
    pub(crate) vast_id: Option<u64>,
    /// By vast.ai's latest record, else by the manager's row.
    pub(crate) direct: Option<SshAddress>,
    /// By vast.ai's latest record.
    pub(crate) proxy: Option<SshAddress>,
}

/// The ways into a connected fleet.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) ssh: Ssh,
    pub(crate) manager: Option<ManagerClient>,
    /// A client for each account: which one has the rental is not known before asking.
    pub(crate) vast: Result<Vec<VastClient>, ApiError>,
    /// The folder in which host keys of machines are kept, where looks at them are allowed.
    pub(crate) machines: Option<PathBuf>,
}

/// The operator's `ssh`, with the configuration in `DWELL_SSH_CONFIG` instead of their own where that is set.
pub(crate) fn ssh() -> Ssh {
    Ssh::with_config(std::env::var_os("DWELL_SSH_CONFIG").filter(|path| !path.is_empty()).map(PathBuf::from))
}

impl Live {
    /// Makes a look. Fails where nobody could be asked, and where whoever was asked did not answer at all; what is refused is
    /// an answer.
    pub(crate) async fn look(&self, whom: &Whom, check: Check) -> Result<Vec<Looked>, ApiError> {
        match check {
            Check::InstanceLog | Check::ManagerLog => Ok(Vec::new()),
            Check::VastRecord => {
                let (answer, raw) = look_in_all(self.vast()?, vast_id(whom)?).await;
                Ok(vec![Looked { answered: Answered::Vast(answer), raw }])
            }
            Check::ContainerLog => {
                let (clients, number) = (self.vast()?, vast_id(whom)?);
                let mut refused = keys::unknown();
                for client in clients {
                    match client.output(number).await {
                        Ok(output) => return Ok(vec![container_looked(output)]),
                        Err(error) => refused = error.into(),
                    }
                }
                Err(refused)
            }
            Check::Prover | Check::ProverAgain => {
                let (answer, raw) = self.prover(whom).await?;
                Ok(vec![Looked { answered: Answered::Prover(answer), raw }])
            }
            Check::Ssh | Check::SshAgain => self.probe(whom).await,
        }
    }

    /// Asks its prover, through the manager; gives the answer as it came as well.
    pub(crate) async fn prover(&self, whom: &Whom) -> Result<(ProverAnswer, String), ApiError> {
        let unknown = || ApiError::new(ErrorCode::CannotLook, "the manager has no row of it to fetch the prover's status by");
        let manager = self.manager.as_ref().ok_or_else(unknown)?;
        Ok(manager.prover(whom.uuid.as_deref().ok_or_else(unknown)?).await?)
    }

    fn vast(&self) -> Result<&[VastClient], ApiError> {
        self.vast.as_deref().map_err(Clone::clone)
    }

    async fn probe(&self, whom: &Whom) -> Result<Vec<Looked>, ApiError> {
        let folder = self.machines.as_ref().ok_or_else(not_allowed)?;
        let number = vast_id(whom)?;
        let (mut direct, mut proxy) = (whom.direct.clone(), whom.proxy.clone());
        let mut looked = Vec::new();
        if proxy.is_none()
            && let Ok(clients) = self.vast()
        {
            // Both addresses stand in vast.ai's record; the manager tells one of them, if any.
            let (answer, raw) = look_in_all(clients, number).await;
            if let VastShown::Record(record) = &answer.record {
                direct = record.ssh_direct.clone().or(direct);
                proxy.clone_from(&record.ssh_proxy);
            }
            looked.push(Looked { answered: Answered::Vast(answer), raw });
        }
        let known_hosts = folder.join(KNOWN_HOSTS);
        // ssh writes it: through no link, and for this user alone.
        let opened = files::private_folder(folder).and_then(|()| files::open_private(&known_hosts));
        opened.map_err(|error| ApiError::new(ErrorCode::NotKept, format!("no host key can be kept: {error}")))?;
        let run = self.ssh.probe(number, direct.as_ref(), proxy.as_ref(), &known_hosts).await?;
        looked.extend(host_looked(run.direct, run.proxy, run.output, &run.words, Clock::System.now()));
        Ok(looked)
    }
}

/// Whether it is in any of two lists; `None` where it is in neither and one of them is not known whole.
fn in_any(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    match (one, other) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    }
}

/// Looks for a rental in every account until one has it. It is absent where all of them say so.
async fn look_in_all(clients: &[VastClient], number: u64) -> (VastAnswer, String) {
    let mut best: Option<(VastAnswer, String)> = None;
    for client in clients {
        let (answer, raw) = client.look(number).await;
        if matches!(answer.record, VastShown::Record(_)) {
            return (answer, raw);
        }
        best = Some(match best {
            None => (answer, raw),
            Some((before, words)) => {
                let silent = answer.record != VastShown::Absent;
                let together = VastAnswer {
                    record: if silent { answer.record } else { before.record },
                    listed: in_any(before.listed, answer.listed),
                    listing_retired: before.listing_retired || answer.listing_retired,
                    // It is not known whose rental it would be.
                    credit_dollars: None,
                    rentals: None,
                };
                (together, format!("{words}\n{raw}"))
            }
        });
    }
    let nobody =
        VastAnswer { record: VastShown::NoAnswer, listed: None, listing_retired: false, credit_dollars: None, rentals: None };
    best.unwrap_or((nobody, String::new()))
}

fn vast_id(whom: &Whom) -> Result<u64, ApiError> {
    whom.vast_id.ok_or_else(|| ApiError::new(ErrorCode::CannotLook, "its vast.ai number is not known"))
}

fn not_allowed() -> ApiError {
    ApiError::new(ErrorCode::NotAllowed, "looking at machines by SSH is not allowed for this fleet").hint(
        "read what it runs (dwellctl probe ID --show), then allow it: dwellctl fleets allow-probe NAME, or --allow for one call",
    )
}

/// What a look at a machine runs.
pub(crate) fn probe_script(whom: Option<&Whom>) -> ProbeScript {
    let address = whom.and_then(|whom| whom.direct.as_ref().or(whom.proxy.as_ref()));
    ProbeScript { script: dwell_clients::probe_script(), by_hand: address.map(probe_by_hand) }
}
