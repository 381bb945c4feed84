//! Diagnoses as an operator sees them: incidents, the page of one, what is compared, the catalogue explained.

use std::collections::BTreeMap;

use dwell_diagnosis::{
    Act, Attributes, Case, Cause, Check, Comparison, Contribution, Diagnosis, Hypothesis, Lane, Member, NOT_IN_CATALOGUE,
    NOT_STUCK_YET, Standing, Strength, cause_of, causes, compare, findings,
};
use dwell_fleet::{Flag, Fleet, Instance, Presence, State, Timestamp, VastFacts, seconds_between};
use dwell_history::{HeldState, Note, NoteKind, SeenBefore};

use crate::ApiError;
use crate::conditions;
use crate::dto::*;
use crate::live::Means;
use crate::view;
use crate::watch::Watch;

/// Instances that passed the same state within this time of the incident are compared with, seconds.
const COMPARED_WITHIN_S: f64 = 3.0 * 86_400.0;
/// Observations for and against a cause that are written out.
const CONTRIBUTIONS_MAX: usize = 8;
/// A contribution below this is not worth a line, nats.
const CONTRIBUTION_LEAST: f64 = 0.1;
/// Unlikely causes that are written out.
const UNLIKELY_MAX: usize = 12;

/// A cause with less than this is not named in a sentence.
const POSSIBLE_LEAST: f64 = 0.015;

/// Attribute: the hour in which it was rented.
const DEPLOY_HOUR: &str = "deploy hour";

/// What an operator is told of causes that the catalogue does not have.
const UNKNOWN_TITLE: &str = "Something that is not in the catalogue";

pub(crate) fn title_of(id: &str) -> &'static str {
    if id == NOT_IN_CATALOGUE { UNKNOWN_TITLE } else { cause_of(id).map_or("a cause of another version", |cause| cause.title) }
}

fn verdict_of(instance: &Instance, flag: Option<&Flag>) -> &'static str {
    match flag {
        Some(flag) => flag.kind.as_str(),
        None if instance.state == State::Killed => "gone",
        None => "healthy",
    }
}

/// The verdict with what is likely behind it.
pub(crate) fn sentence(verdict: &str, diagnosis: &Diagnosis) -> String {
    let leading = diagnosis.leading();
    let Some(first) = leading.first() else {
        return "The manager calls its state by a name that this version does not know.".to_owned();
    };
    let verdict = capital(verdict);
    let next = diagnosis.next_checks().into_iter().next();
    let ask = next.map_or(String::new(), |proposal| format!(" Next: {}.", lower(proposal.check.title())));
    if let Some(pair) = &diagnosis.pair {
        let [one, other] = pair.causes;
        return format!(
            "{verdict}. Two things at once explain it best: {}, and {}.{ask}",
            lower(title_of(one)),
            lower(title_of(other))
        );
    }
    if first.standing == Standing::Confirmed && leading.len() == 1 {
        return format!("{verdict}. Confirmed: {}.", lower(title_of(first.id)));
    }
    if first.id == NOT_STUCK_YET && first.probability >= 0.5 {
        return format!("{verdict}. By what was seen nothing is wrong with it.{ask}");
    }
    if leading.len() == 1 && first.standing <= Standing::Likely {
        return format!("{verdict}. Likely: {}.{ask}", lower(title_of(first.id)));
    }
    if first.id == NOT_IN_CATALOGUE {
        return format!("{verdict}. Nothing in the catalogue fits what was seen well.{ask}");
    }
    // Whatever was not told apart from the best, then what is possible besides.
    let candidates: Vec<&Hypothesis> =
        diagnosis.hypotheses.iter().filter(|it| it.id != NOT_IN_CATALOGUE && it.probability >= POSSIBLE_LEAST).collect();
    let named: Vec<String> = candidates.iter().take(3).map(|it| lower(title_of(it.id))).collect();
    let more = if candidates.len() > named.len() { ", or others" } else { "" };
    format!("{verdict}. Several causes are possible: {}{more}.{ask}", named.join("; "))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A title within a sentence: its first letter small, unless it is a name.
fn lower(title: &str) -> String {
    let names = ["vast.ai", "Dwell", "CUDA", "SSH"];
    if names.iter().any(|name| title.starts_with(name)) {
        return title.to_owned();
    }
    let mut letters = title.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// Card generation, by the model's name. Source: NVIDIA's list of CUDA GPUs.
fn architecture(gpu: &str) -> Option<&'static str> {
    let gpu = gpu.replace(' ', "");
    let table = [
        ("RTX50", "Blackwell"),
        ("B200", "Blackwell"),
        ("RTX40", "Ada"),
        ("RTX5000Ada", "Ada"),
        ("RTX6000Ada", "Ada"),
        ("L40", "Ada"),
        ("L4", "Ada"),
        ("H100", "Hopper"),
        ("H200", "Hopper"),
        ("RTX30", "Ampere"),
        ("RTXA", "Ampere"),
        ("A100", "Ampere"),
        ("A40", "Ampere"),
        ("RTX20", "Turing"),
        ("GTX16", "Turing"),
        ("T4", "Turing"),
    ];
    // The longest name first: RTX5000Ada begins like a Blackwell card.
    let mut fitting: Vec<_> = table.into_iter().filter(|(name, _)| gpu.starts_with(name)).collect();
    fitting.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    fitting.first().map(|(_, generation)| *generation)
}

/// What an instance is compared by.
fn attributes(instance: &Instance) -> Attributes {
    let vast: &VastFacts = &instance.vast;
    let rented = vast.start_date.unwrap_or(instance.first_seen_at);
    let branch = vast.driver_version.as_deref().and_then(|version| version.split('.').next());
    let told: [(&'static str, Option<String>); 8] = [
        ("image", vast.image().map(str::to_owned)),
        ("card", vast.gpu_kind()),
        ("generation", vast.gpu_name.as_deref().and_then(architecture).map(str::to_owned)),
        ("driver", branch.map(|branch| format!("{branch}.x"))),
        ("host", vast.host_id.map(|id| id.to_string())),
        ("machine", vast.machine_id.map(|id| id.to_string())),
        ("region", vast.geolocation.clone()),
        (DEPLOY_HOUR, Some(rented.to_string().chars().take(13).collect::<String>().replace('T', " ") + "h UTC")),
    ];
    told.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Those who are stuck with the same verdict in a state, against those who have passed it.
fn comparison(fleet: &Fleet, stuck: &[&Instance], state: &State) -> Comparison {
    let from = stuck.iter().map(|instance| instance.entered.at).min();
    let mut members: Vec<Member> =
        stuck.iter().map(|instance| Member { stuck: true, attributes: attributes(instance) }).collect();
    let Some(from) = from else { return compare(&members) };
    for instance in fleet.instances().filter(|instance| !stuck.iter().any(|it| it.key == instance.key)) {
        let entries = instance.ledger.entries();
        let passed = entries.iter().enumerate().any(|(place, entry)| {
            let near = seconds_between(entry.at, from).abs() < COMPARED_WITHIN_S;
            let next = entries.get(place + 1);
            let advanced = next.is_some_and(|next| next.state != State::Killed && next.state.rank() > entry.state.rank());
            entry.state == *state && near && advanced
        });
        // One that works in the state itself is well there.
        let works = instance.state == *state && *state == State::Running && instance.flag.is_none();
        if (passed || works) && instance.flag.is_none() {
            members.push(Member { stuck: false, attributes: attributes(instance) });
        }
    }
    // Who is still in a state is young. Where nobody well was rented in the same hour, the hour says that and nothing more.
    let hour = |member: &Member| member.attributes.iter().find(|(name, _)| *name == DEPLOY_HOUR).map(|(_, hour)| hour.clone());
    let hours: Vec<String> = members.iter().filter(|member| member.stuck).filter_map(hour).collect();
    if !members.iter().filter(|member| !member.stuck).filter_map(hour).any(|hour| hours.contains(&hour)) {
        members.iter_mut().for_each(|member| member.attributes.retain(|(name, _)| *name != DEPLOY_HOUR));
    }
    compare(&members)
}

fn cohort_view(comparison: &Comparison) -> CohortView {
    let best = comparison.shared.iter().find(|it| it.strength >= Strength::Clear && it.effect > 0.0);
    let sentence = match best {
        _ if comparison.stuck == 0 => "It is not stuck: there is nothing to compare.".to_owned(),
        _ if comparison.well == 0 => {
            "No contrast group: nobody has passed this state lately. That all are stuck says nothing of what they share."
                .to_owned()
        }
        Some(it) => {
            let confounded = if it.confounded_with.is_empty() {
                String::new()
            } else {
                format!(" The same instances share {}: which of them it is cannot be told.", it.confounded_with.join(", "))
            };
            format!(
                "{} of {} stuck have {} {}, {} of {} well ones do (p {:.3}, corrected for {} values).{confounded}",
                it.stuck_with,
                it.stuck_with + it.stuck_without,
                it.attribute,
                it.value,
                it.well_with,
                it.well_with + it.well_without,
                it.p_corrected,
                comparison.tried
            )
        }
        None if comparison.shared.iter().all(|it| it.strength == Strength::NoContrast) => {
            format!("What they share, the {} that are well share too: no contrast, and so no finding.", comparison.well)
        }
        None => {
            let least = comparison.shared.iter().map(|it| it.p_least).fold(1.0, f64::min);
            format!(
                "Nothing that they share stands out against {} that are well. With so few the smallest p possible is {least:.3}.",
                comparison.well
            )
        }
    };
    CohortView {
        stuck: comparison.stuck,
        well: comparison.well,
        tried: comparison.tried,
        sentence,
        shared: comparison
            .shared
            .iter()
            .map(|it| SharedView {
                attribute: it.attribute.to_owned(),
                value: it.value.clone(),
                stuck_with: it.stuck_with,
                stuck_without: it.stuck_without,
                well_with: it.well_with,
                well_without: it.well_without,
                p: it.p,
                p_least: it.p_least,
                p_corrected: it.p_corrected,
                effect: it.effect,
                strength: it.strength.as_str().to_owned(),
                confounded_with: it.confounded_with.clone(),
            })
            .collect(),
        differ_in: comparison.differ_in.iter().map(|(attribute, values)| format!("{attribute} ({values} different)")).collect(),
    }
}

/// Everything flagged that asks for a person, grouped by verdict, state and leading causes.
pub(crate) fn incidents(watch: &Watch, held: &HeldState, now: Timestamp, closed: impl Fn(&Instance) -> bool) -> Incidents {
    let fleet = watch.fleet();
    let around = watch.around(now);
    type Group<'a> = Vec<(&'a Instance, Diagnosis)>;
    let mut groups: BTreeMap<(usize, &'static str, String, Vec<&'static str>), Group<'_>> = BTreeMap::new();
    let mut closed_count = 0;
    let mut flagged: Vec<&Instance> =
        fleet.instances().filter(|it| it.flag.as_ref().is_some_and(|flag| flag.kind.needs_a_person())).collect();
    flagged.retain(|instance| {
        let is_closed = closed(instance);
        closed_count += usize::from(is_closed);
        !is_closed
    });
    for (instance, diagnosis) in watch.casebook().diagnose_all(flagged, &around) {
        let Some(flag) = &instance.flag else { continue };
        // What is not even likely yet does not set instances apart that look alike.
        let first = diagnosis.hypotheses.first().filter(|it| it.standing <= Standing::Likely);
        let leading: Vec<&'static str> = first.map(|it| it.id).into_iter().collect();
        let pressing = dwell_fleet::FlagKind::ALL.iter().position(|kind| *kind == flag.kind).unwrap_or(usize::MAX);
        let key = (pressing, flag.kind.as_str(), instance.state.to_string(), leading);
        groups.entry(key).or_default().push((instance, diagnosis));
    }
    let incidents = groups
        .into_iter()
        .filter_map(|((_, verdict, state, _), mut members)| {
            members.sort_by_key(|(instance, _)| (instance.flag.as_ref().map(|flag| flag.since), instance.key));
            let (first, diagnosis) = members.first()?;
            let stuck: Vec<&Instance> = members.iter().map(|(instance, _)| *instance).collect();
            let comparison = comparison(fleet, &stuck, &first.state);
            let clear = comparison.shared.iter().any(|it| it.strength >= Strength::Clear && it.effect > 0.0);
            let prices: Vec<f64> = stuck.iter().filter_map(|instance| instance.row.vast.dollars_per_h).collect();
            Some(IncidentView {
                id: first.id(),
                verdict: verdict.to_owned(),
                state,
                sentence: sentence(verdict, diagnosis),
                since: first.flag.as_ref().map_or(first.entered.at, |flag| flag.since),
                causes: diagnosis.leading().iter().take(4).map(|it| title_of(it.id).to_owned()).collect(),
                dollars_per_h: (!prices.is_empty()).then(|| prices.iter().sum()),
                next_check: diagnosis.next_checks().first().map(|proposal| proposal.check.title().to_owned()),
                shared: clear.then(|| cohort_view(&comparison).sentence),
                instances: members
                    .iter()
                    .map(|(instance, _)| IncidentMember {
                        id: instance.id(),
                        gpu_name: instance.vast.gpu_kind(),
                        reason: instance.flag.as_ref().map(|flag| flag.reason.clone()).unwrap_or_default(),
                        since: instance.flag.as_ref().map_or(instance.entered.at, |flag| flag.since),
                    })
                    .collect(),
            })
        })
        .collect();
    let conditions = conditions::shown(fleet, conditions::of(watch, held, now));
    Incidents { incidents, closed: closed_count, conditions, as_of: fleet.as_of() }
}

/// What else a page needs: what people wrote, what happened before, whether looks can be made.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) notes: Vec<Note>,
    pub(crate) seen_before: Vec<SeenBefore>,
    pub(crate) from: Asker,
}

/// From where looks can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asker {
    /// A simulated world answers everything.
    Simulation,
    /// A connected fleet, asked by these means.
    Live(Means),
}

impl Default for Asker {
    fn default() -> Self {
        Self::Live(Means::default())
    }
}

impl Asker {
    /// Why a look cannot be made from here, where it cannot.
    fn wanting(self, check: Check, instance: &Instance) -> Option<String> {
        let means = match self {
            _ if matches!(check, Check::InstanceLog | Check::ManagerLog) => return None,
            Self::Simulation if instance.vast_id.is_some() => return None,
            Self::Simulation => return Some("its vast.ai number is not known".to_owned()),
            Self::Live(means) => means,
        };
        let why = match check {
            Check::Prover | Check::ProverAgain if instance.uuid.is_none() => "the manager has no row of it to ask by",
            Check::Prover | Check::ProverAgain => return None,
            _ if instance.vast_id.is_none() => "its vast.ai number is not known",
            Check::Ssh | Check::SshAgain if !means.machines => {
                "looking at machines by SSH is not allowed for this fleet (Fleets, or dwellctl fleets allow-probe NAME)"
            }
            Check::Ssh | Check::SshAgain if !means.vast && instance.vast.ssh_command.is_none() => {
                "no address of it is known: the manager tells none, and there is no key to ask vast.ai with"
            }
            Check::VastRecord | Check::ContainerLog if !means.vast => "no key of a vast.ai account is known (dwellctl keys add)",
            _ => return None,
        };
        Some(why.to_owned())
    }
}

/// Its trouble was closed after it was flagged as it is.
pub(crate) fn is_closed(instance: &Instance, notes: &[Note]) -> bool {
    let since = instance.flag.as_ref().map_or(instance.entered.at, |flag| flag.since);
    notes.iter().any(|note| note.kind == NoteKind::Close && note.at >= since)
}

/// Leading causes, for looking up what was seen before.
pub(crate) fn leading_ids(diagnosis: &Diagnosis) -> Vec<&'static str> {
    diagnosis.leading().iter().map(|it| it.id).filter(|id| *id != NOT_IN_CATALOGUE && *id != NOT_STUCK_YET).collect()
}

/// The page of one instance.
pub(crate) fn page(watch: &Watch, instance: &Instance, now: Timestamp, kept: Kept) -> DiagnosisPage {
    let fleet = watch.fleet();
    let around = watch.around(now);
    let casebook = watch.casebook();
    let diagnosis = casebook.diagnose(instance, &around);
    let case = Case { instance, signals: casebook.signals(instance.key), looks: casebook.looks(instance.key), around: &around };
    let verdict = verdict_of(instance, instance.flag.as_ref());
    let alike = |other: &&Instance| {
        other.state == instance.state
            && other.flag.as_ref().map(|flag| flag.kind) == instance.flag.as_ref().map(|flag| flag.kind)
            && other.presence == Presence::Listed
    };
    let stuck: Vec<&Instance> = if instance.flag.is_some() { fleet.instances().filter(alike).collect() } else { Vec::new() };
    let proposals = diagnosis.next_checks();
    let mut groups: Vec<CauseGroup> = Vec::new();
    let mut unlikely = Vec::new();
    let groups_count = diagnosis.hypotheses.iter().map(|it| it.group).max().map_or(0, |most| most + 1);
    for group in 0..groups_count {
        let (shown, rest): (Vec<&Hypothesis>, Vec<&Hypothesis>) = diagnosis
            .group_of(group)
            .into_iter()
            .partition(|it| it.standing <= Standing::Possible || (group == 0 && it.probability >= 0.01));
        unlikely.extend(rest.into_iter().map(|it| rank(&diagnosis, it)));
        if shown.is_empty() {
            continue;
        }
        let ids: Vec<&str> = shown.iter().map(|it| it.id).collect();
        let told_apart_by = proposals
            .iter()
            .filter(|proposal| {
                ids.len() > 1 && proposal.separates.iter().filter(|part| part.iter().any(|id| ids.contains(id))).count() > 1
            })
            .map(|proposal| proposal.check.title().to_owned())
            .collect();
        groups.push(CauseGroup { causes: shown.into_iter().map(|it| rank(&diagnosis, it)).collect(), told_apart_by });
    }
    unlikely.truncate(UNLIKELY_MAX);
    let closed = is_closed(instance, &kept.notes);
    DiagnosisPage {
        row: view::row(instance, fleet),
        verdict: verdict.to_owned(),
        sentence: sentence(verdict, &diagnosis),
        at: diagnosis.at,
        findings: findings(case, &diagnosis)
            .into_iter()
            .map(|it| FindingView {
                id: it.id.to_owned(),
                lane: it.lane.as_str().to_owned(),
                text: it.text,
                dollars_per_h: it.dollars_per_h,
                at: it.at,
                reference: it.reference,
            })
            .collect(),
        groups,
        unlikely,
        pair: diagnosis.pair.as_ref().map(|pair| PairView {
            ids: pair.causes.iter().map(|id| (*id).to_owned()).collect(),
            titles: pair.causes.iter().map(|id| title_of(id).to_owned()).collect(),
            gain: pair.gain,
        }),
        channels_heard: diagnosis.channels_heard,
        ceiling: diagnosis.ceiling,
        observations: diagnosis
            .seen
            .observations
            .iter()
            .map(|it| {
                let kind = it.fact.kind();
                ObservationView {
                    fact: kind.id.to_owned(),
                    holds: it.holds,
                    text: if it.holds { kind.holds } else { kind.fails }.to_owned(),
                    channel: it.channel.as_str().to_owned(),
                    at: it.at,
                    fresh_for_s: (it.fresh_for_s < 1e9).then_some(it.fresh_for_s),
                    reference: it.reference.clone().into_owned(),
                    odd: it.holds && kind.usual < 0.1,
                }
            })
            .collect(),
        channels: diagnosis
            .seen
            .channels
            .iter()
            .map(|it| ChannelView {
                channel: it.channel.as_str().to_owned(),
                title: it.channel.title().to_owned(),
                health: it.health.as_str().to_owned(),
                why: it.why.clone(),
                at: it.at,
                facts: diagnosis.seen.observations.iter().filter(|seen| seen.channel == it.channel).count(),
                watched: it.channel.is_watched(),
            })
            .collect(),
        next_checks: proposals
            .iter()
            .map(|it| CheckView {
                check: it.check.as_str().to_owned(),
                title: it.check.title().to_owned(),
                seconds: it.check.seconds(),
                uncertainty: it.uncertainty,
                separates: it
                    .separates
                    .iter()
                    .take(6)
                    .map(|ids| ids.iter().take(6).map(|id| title_of(id).to_owned()).collect())
                    .collect(),
                wanting: kept.from.wanting(it.check, instance),
                by_hand: by_hand(it.check, instance),
            })
            .collect(),
        act: act(&diagnosis),
        cohort: cohort_view(&comparison(fleet, &stuck, &instance.state)),
        notes: kept.notes.into_iter().map(note_view).collect(),
        seen_before: kept
            .seen_before
            .into_iter()
            .filter_map(|it| {
                let closing = it.note.closing?;
                Some(SeenBeforeView {
                    id: it.id,
                    at: it.note.at,
                    cause: closing.cause,
                    text: it.note.text,
                    gpu: closing.gpu,
                    machine: closing.machine,
                })
            })
            .collect(),
        closed,
    }
}

fn note_view(note: Note) -> NoteView {
    NoteView { at: note.at, kind: note.kind.as_str().to_owned(), text: note.text, cause: note.closing.map(|it| it.cause) }
}

/// What to do, as far as what is known supports doing anything.
fn act(diagnosis: &Diagnosis) -> Option<String> {
    let first = diagnosis.hypotheses.first()?;
    let (best, share) = diagnosis.best_act()?;
    let remedy = cause_of(first.id).map(|cause| cause.remedy);
    Some(match first.standing {
        Standing::Confirmed | Standing::Likely if first.id != NOT_IN_CATALOGUE => remedy?.to_owned(),
        _ if share >= 0.6 && best != Act::Wait => {
            format!(
                "Whichever of them it is, the remedy is likely the same: {}. Look first; nothing here is confirmed.",
                best.as_str()
            )
        }
        _ => "Do not act on this yet: look first. Destroying it destroys what would tell.".to_owned(),
    })
}

fn rank(diagnosis: &Diagnosis, hypothesis: &Hypothesis) -> CauseRank {
    let cause = cause_of(hypothesis.id);
    let contributions = diagnosis.contributions(hypothesis.id);
    let told = |wanted: fn(f64) -> bool| {
        contributions
            .iter()
            .filter(|it| wanted(it.log_odds))
            .take(CONTRIBUTIONS_MAX)
            .filter_map(|it| contribution(diagnosis, it))
            .collect()
    };
    let holds = |fact| diagnosis.seen.observations.iter().any(|it| it.fact == fact && it.holds);
    CauseRank {
        id: hypothesis.id.to_owned(),
        title: title_of(hypothesis.id).to_owned(),
        standing: hypothesis.standing.as_str().to_owned(),
        probability: hypothesis.probability,
        evidence: hypothesis.evidence,
        common: cause.map_or("unknown", |cause| cause.common.as_str()).to_owned(),
        for_it: told(|log_odds| log_odds > CONTRIBUTION_LEAST),
        against_it: told(|log_odds| log_odds < -CONTRIBUTION_LEAST),
        would_confirm: cause
            .and_then(|cause| cause.confirmed_by.iter().min_by_key(|set| set.iter().filter(|fact| !holds(**fact)).count()))
            .map(|set| set.iter().filter(|fact| !holds(**fact)).map(|fact| fact.kind().holds.to_owned()).collect())
            .unwrap_or_default(),
        remedy: cause.map_or("Gather what was seen and ask somebody.", |cause| cause.remedy).to_owned(),
    }
}

fn contribution(diagnosis: &Diagnosis, it: &Contribution) -> Option<ContributionView> {
    let observation = diagnosis.observation(it.observation)?;
    let kind = observation.fact.kind();
    Some(ContributionView {
        observation: it.observation,
        text: if observation.holds { kind.holds } else { kind.fails }.to_owned(),
        log_odds: it.log_odds,
    })
}

/// How a look is made by hand. Nothing from an instance is put into a command: only its number.
fn by_hand(check: Check, instance: &Instance) -> String {
    let number = instance.vast_id.map_or_else(|| "NUMBER".to_owned(), |id| id.to_string());
    match check {
        Check::InstanceLog => "Refresh (r): the manager's buffer is read.".to_owned(),
        Check::ManagerLog => "Open the manager's log (g m).".to_owned(),
        Check::VastRecord => format!("vastai show instance {number} --raw"),
        Check::ContainerLog => format!("vastai logs {number} ; vastai logs {number} --daemon-logs"),
        Check::Ssh => format!("dwellctl probe {number} --show prints the command: read-only, one connection"),
        Check::SshAgain => "The same again a minute later: what has moved?".to_owned(),
        Check::Prover | Check::ProverAgain => {
            format!("ssh $(vastai ssh-url {number}) 'curl -sm 5 http://127.0.0.1:9821/status; echo exit $?'")
        }
    }
}

fn often(share: f32) -> &'static str {
    match share {
        share if share >= 0.94 => "always",
        share if share >= 0.75 => "usually",
        share if share >= 0.4 => "often",
        share if share >= 0.12 => "sometimes",
        _ => "seldom",
    }
}

/// A cause, explained.
pub fn explain(id: &str) -> Result<CauseView, ApiError> {
    if id == NOT_IN_CATALOGUE {
        return Ok(CauseView {
            id: id.to_owned(),
            title: UNKNOWN_TITLE.to_owned(),
            what: "What is left over: at least a tenth is always kept for it, a quarter while fewer than two independent channels have \
                   spoken. It gains where odd things were seen that no cause explains."
                .to_owned(),
            states: Vec::new(),
            common: "unknown".to_owned(),
            shows: Vec::new(),
            never_shows: Vec::new(),
            confirmed_by: Vec::new(),
            excluded_by: Vec::new(),
            act: Act::Wait.as_str().to_owned(),
            remedy: "Gather what was seen (dwellctl diagnose ID --report markdown) and ask somebody.".to_owned(),
            source: "design of this program".to_owned(),
            ranked: true,
        });
    }
    let cause: &Cause = cause_of(id).ok_or_else(|| {
        let near = causes().iter().map(|cause| cause.id).min_by_key(|known| strsim::damerau_levenshtein(known, id));
        let hint = near.map_or_else(String::new, |near| format!("did you mean {near}? `dwellctl explain` lists them all"));
        ApiError::new(ErrorCode::UnknownCause, format!("no cause is called {id:?}")).hint(hint)
    })?;
    let channels = |fact: dwell_diagnosis::Fact| fact.kind().by.iter().map(|channel| channel.as_str().to_owned()).collect();
    let mut shows: Vec<ShownView> = cause
        .all_shown()
        .filter(|(fact, share)| *share > fact.kind().usual * 1.2)
        .map(|(fact, share)| ShownView {
            text: fact.kind().holds.to_owned(),
            channels: channels(fact),
            often: often(share).to_owned(),
            share: f64::from(share),
            usual: f64::from(fact.kind().usual),
        })
        .collect();
    shows.sort_by(|one, other| (other.share / other.usual).total_cmp(&(one.share / one.usual)));
    Ok(CauseView {
        id: cause.id.to_owned(),
        title: cause.title.to_owned(),
        what: cause.what.to_owned(),
        states: cause.states.iter().map(|phase| phase.as_str().to_owned()).collect(),
        common: cause.common.as_str().to_owned(),
        shows,
        never_shows: cause
            .all_shown()
            .filter(|(fact, share)| *share < fact.kind().usual * 0.5)
            .map(|(fact, _)| fact.kind().holds.to_owned())
            .collect(),
        confirmed_by: cause
            .confirmed_by
            .iter()
            .map(|set| set.iter().map(|fact| fact.kind().holds.to_owned()).collect())
            .collect(),
        excluded_by: cause.all_shown().filter(|(_, share)| *share > 0.94).map(|(fact, _)| fact.kind().fails.to_owned()).collect(),
        act: cause.act.as_str().to_owned(),
        remedy: cause.remedy.to_owned(),
        source: cause.source.to_owned(),
        ranked: cause.ranked,
    })
}

/// Every cause.
pub fn catalogue() -> Causes {
    Causes {
        causes: causes()
            .iter()
            .map(|cause| CauseInfo { id: cause.id.to_owned(), title: cause.title.to_owned(), ranked: cause.ranked })
            .collect(),
    }
}

/// Who is alive and was rented before a date.
pub(crate) fn rented_before(fleet: &Fleet, before: Timestamp) -> Rented {
    let alive = |instance: &&Instance| instance.state != State::Killed && instance.presence == Presence::Listed;
    let all: Vec<&Instance> = fleet.instances().filter(alive).collect();
    let rented_at = |instance: &Instance| instance.vast.start_date.or(instance.row.registered_at);
    let mut rented: Vec<(Timestamp, &Instance)> =
        all.iter().filter_map(|instance| Some((rented_at(instance)?, *instance))).collect();
    let not_told = all.len() - rented.len();
    rented.retain(|(at, _)| *at < before);
    rented.sort_by_key(|(at, instance)| (*at, instance.key));
    Rented {
        alive: all.len(),
        not_told,
        instances: rented
            .into_iter()
            .map(|(at, instance)| RentedView {
                id: instance.id(),
                state: instance.state.to_string(),
                rented_at: at,
                image: instance.vast.image().map(str::to_owned),
                flag: instance.flag.as_ref().map(|flag| flag.kind.as_str().to_owned()),
            })
            .collect(),
    }
}

/// A look, for the notes.
pub(crate) fn look_note(check: Check, at: Timestamp, page: &DiagnosisPage) -> Note {
    let channel = page.channels.iter().find(|it| it.channel == check.channel().as_str());
    let said = channel.map_or_else(String::new, |it| format!(": {} ({})", it.health, it.why));
    Note { at, kind: NoteKind::Look, text: format!("{}{said}", check.title()), closing: None }
}

/// The lanes, most pressing first.
pub(crate) const LANES: [Lane; 2] = [Lane::Stop, Lane::FindOut];
