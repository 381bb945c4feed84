//! The rules that must hold whatever is seen, and each cause by what the catalogue says of it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::collections::BTreeSet;

use dwell_diagnosis::{
    Channel, ChannelState, Check, Diagnosis, Effect, Fact, Health, Member, NOT_IN_CATALOGUE, NOT_STUCK_YET, OBSERVER_FAULT,
    Observation, Phase, Seen, Standing, cause_of, causes, compare, rank,
};
use dwell_fleet::Timestamp;
use proptest::prelude::*;

const PHASES: [Phase; 7] =
    [Phase::Loading, Phase::Registered, Phase::ParamsDone, Phase::BenchDone, Phase::Running, Phase::Killed, Phase::Vanished];

fn now() -> Timestamp {
    Timestamp::from_second(1_796_092_800).unwrap()
}

fn observation(fact: Fact, holds: bool, channel: Channel) -> Observation {
    Observation { fact, holds, channel, at: now(), fresh_for_s: 600.0, reference: "a test".into() }
}

fn state(channel: Channel, health: Health) -> ChannelState {
    ChannelState { channel, health, why: String::new(), at: Some(now()) }
}

/// What was seen: of each channel whether it spoke, and facts of those that did.
fn seen() -> impl Strategy<Value = Seen> {
    let facts: Vec<Fact> = Fact::every().collect();
    let count = facts.len();
    (
        0..PHASES.len(),
        prop::collection::vec(0..5_usize, 7),
        prop::collection::vec((0..count, any::<bool>(), any::<prop::sample::Index>()), 0..60),
    )
        .prop_map(move |(phase, healths, picked)| {
            let healths = healths
                .into_iter()
                .map(|health| [Health::Working, Health::Quiet, Health::Blind, Health::Unreachable, Health::NotAsked][health]);
            let channels: Vec<ChannelState> =
                Channel::ALL.into_iter().zip(healths).map(|(channel, health)| state(channel, health)).collect();
            let counts = |channel: Channel| channels.iter().any(|it| it.channel == channel && it.health.counts());
            let mut observations: Vec<Observation> = Vec::new();
            for (place, holds, by) in picked {
                let fact = facts[place];
                let channel = *by.get(fact.kind().by);
                if counts(channel) && !observations.iter().any(|it| it.fact == fact) {
                    observations.push(observation(fact, holds, channel));
                }
            }
            observations.sort_by_key(|it| it.fact);
            Seen { phase: Some(PHASES[phase]), stay: None, observations, channels }
        })
}

fn without(seen: &Seen, channel: Channel) -> Seen {
    let mut less = seen.clone();
    less.observations.retain(|it| it.channel != channel);
    for it in less.channels.iter_mut().filter(|it| it.channel == channel) {
        it.health = Health::NotAsked;
    }
    less
}

fn confirmed(diagnosis: &Diagnosis) -> BTreeSet<&'static str> {
    diagnosis.hypotheses.iter().filter(|it| it.standing == Standing::Confirmed).map(|it| it.id).collect()
}

fn best_known(diagnosis: &Diagnosis) -> f64 {
    diagnosis.hypotheses.iter().filter(|it| it.id != NOT_IN_CATALOGUE).map(|it| it.probability).fold(0.0, f64::max)
}

proptest! {
    /// Removing a channel never raises confidence: nothing becomes confirmed by it, the most that a cause can be given does
    /// not rise, and no cause is ever given more than that.
    #[test]
    fn looking_less_never_makes_surer(seen in seen(), channel in 0..7_usize) {
        let channel = Channel::ALL[channel];
        let (more, less) = (rank(seen.clone(), now()), rank(without(&seen, channel), now()));
        prop_assert!(confirmed(&less).is_subset(&confirmed(&more)));
        prop_assert!(less.ceiling <= more.ceiling);
        prop_assert!(less.channels_heard <= more.channels_heard);
        for diagnosis in [&more, &less] {
            prop_assert!(best_known(diagnosis) <= diagnosis.ceiling + 1e-9);
        }
    }

    /// What a blind, unreachable or unasked channel does not say moves nothing: which of the three it is makes no difference
    /// to any cause, and the evidence is that of a fleet without the channel.
    #[test]
    fn silence_of_a_blind_channel_changes_nothing(seen in seen(), channel in 0..7_usize) {
        let bare = without(&seen, Channel::ALL[channel]);
        let first = rank(bare.clone(), now());
        for health in [Health::Blind, Health::Unreachable, Health::NotAsked] {
            let mut blind = bare.clone();
            blind.channels.iter_mut().filter(|it| it.channel == Channel::ALL[channel]).for_each(|it| it.health = health);
            prop_assert_eq!(&rank(blind, now()).hypotheses, &first.hypotheses);
        }
    }

    /// Probabilities are a whole; something outside the catalogue always has its share; the three null causes are always in.
    #[test]
    fn the_unknown_always_has_its_share(seen in seen()) {
        let diagnosis = rank(seen, now());
        let total: f64 = diagnosis.hypotheses.iter().map(|it| it.probability).sum();
        prop_assert!((total - 1.0).abs() < 1e-6, "{}", total);
        let share = |id: &str| diagnosis.hypotheses.iter().find(|it| it.id == id).map(|it| it.probability);
        let least = if diagnosis.channels_heard < 2 { 0.25 } else { 0.10 };
        prop_assert!(share(NOT_IN_CATALOGUE).unwrap() >= least - 1e-9);
        prop_assert!(share(NOT_STUCK_YET).is_some() && share(OBSERVER_FAULT).is_some());
    }

    /// The same observations in another order give the same answer.
    #[test]
    fn order_does_not_matter(seen in seen()) {
        let mut turned = seen.clone();
        turned.observations.reverse();
        let (one, other) = (rank(seen, now()), rank(turned, now()));
        let near = |left: f64, right: f64| (left - right).abs() < 1e-6;
        for it in &one.hypotheses {
            let same = other.hypotheses.iter().find(|known| known.id == it.id).unwrap();
            prop_assert!(near(it.probability, same.probability) && it.standing == same.standing);
        }
    }

    /// A look that is proposed was not made, and is worth something; none is proposed twice.
    #[test]
    fn proposals_are_looks_not_made(seen in seen()) {
        let diagnosis = rank(seen, now());
        let proposals = diagnosis.next_checks();
        let mut known: BTreeSet<Check> = BTreeSet::new();
        for it in &proposals {
            prop_assert!(known.insert(it.check));
            prop_assert!(it.uncertainty > 0.0 && it.regret >= 0.0);
        }
        prop_assert!(proposals.windows(2).all(|pair| pair[0].worth >= pair[1].worth));
    }

    /// No one witness, however many facts it gives, moves a cause by more than its cap.
    #[test]
    fn one_witness_has_one_voice(seen in seen()) {
        let diagnosis = rank(seen, now());
        for it in diagnosis.hypotheses.iter().filter(|it| it.id != NOT_IN_CATALOGUE) {
            let witnesses: BTreeSet<_> = diagnosis.seen.observations.iter().map(|seen| seen.fact.kind().witness).collect();
            // Six is the highest cap; a proof adds four beyond the caps.
            prop_assert!(it.evidence.abs() <= 6.0 * witnesses.len() as f64 + 4.0 + 1e-6, "{} {}", it.id, it.evidence);
        }
    }

    /// A healthy instance never makes a finding stronger for a value that it shares.
    #[test]
    fn a_healthy_instance_never_strengthens_what_it_shares(
        members in prop::collection::vec((any::<bool>(), prop::collection::vec(0..3_u8, 3)), 2..30),
        healthy in prop::collection::vec(0..3_u8, 3),
    ) {
        let attributes = |values: &[u8]| ["image", "card", "host"].into_iter().zip(values).map(|(name, value)| (name, value.to_string())).collect();
        let mut members: Vec<Member> =
            members.iter().map(|(stuck, values)| Member { stuck: *stuck, attributes: attributes(values) }).collect();
        let before = compare(&members);
        let added = Member { stuck: false, attributes: attributes(&healthy) };
        members.push(added.clone());
        let after = compare(&members);
        for (name, value) in &added.attributes {
            let of = |comparison: &dwell_diagnosis::Comparison| {
                comparison.shared.iter().find(|it| it.attribute == *name && it.value == *value).cloned()
            };
            if let (Some(old), Some(new)) = (of(&before), of(&after)) {
                prop_assert!(new.p_corrected >= old.p_corrected - 1e-9, "{} {}: {} then {}", name, value, old.p_corrected, new.p_corrected);
                // No contrast is no finding: to get one is to be able to tell, not to be told more.
                let was_one = old.strength > dwell_diagnosis::Strength::NoContrast;
                prop_assert!(!was_one || new.strength <= old.strength);
            }
        }
    }
}

#[test]
fn fishers_p_is_what_the_failure_catalogue_computed() {
    let member = |stuck, image: &str| Member { stuck, attributes: vec![("image", image.to_owned())] };
    let p = |well: usize| {
        let members: Vec<Member> = (0..4).map(|_| member(true, "old")).chain((0..well).map(|_| member(false, "new"))).collect();
        compare(&members).shared[0].p
    };
    // 4 of 4 against 0 of 1, 0 of 3, 0 of 6.
    for (well, wanted) in [(1, 0.20), (3, 0.029), (6, 0.005)] {
        assert!((p(well) - wanted).abs() < 0.001, "{well}: {}", p(well));
    }
}

#[test]
fn all_four_stuck_is_no_finding_without_anybody_well() {
    let members: Vec<Member> = (0..4).map(|_| Member { stuck: true, attributes: vec![("image", "old".to_owned())] }).collect();
    let comparison = compare(&members);
    assert_eq!(comparison.well, 0);
    assert!(comparison.shared.iter().all(|it| it.strength == dwell_diagnosis::Strength::NoContrast));
}

#[test]
fn what_divides_the_same_instances_is_named() {
    let member = |stuck, value: &str| Member {
        stuck,
        attributes: vec![("image", value.to_owned()), ("deploy hour", format!("{value}h"))],
    };
    let members: Vec<Member> = (0..4).map(|_| member(true, "old")).chain((0..9).map(|_| member(false, "new"))).collect();
    let shared = compare(&members).shared;
    assert!(shared[0].strength >= dwell_diagnosis::Strength::Strong);
    assert_eq!(shared[0].confounded_with.len(), 1, "{shared:?}");
}

#[test]
fn ids_are_unique_and_every_entry_is_whole() {
    let mut known = BTreeSet::new();
    for cause in causes() {
        assert!(known.insert(cause.id), "{} twice", cause.id);
        assert!(cause.id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'), "{}", cause.id);
        for text in [cause.title, cause.what, cause.remedy, cause.source] {
            assert!(!text.is_empty(), "{} lacks a text", cause.id);
        }
        assert!(cause.what.ends_with('.') && cause.remedy.ends_with('.'), "{}", cause.id);
        for (fact, often) in cause.shows {
            assert!((0.0005..=0.99).contains(often), "{} {}", cause.id, fact.kind().id);
            let times = cause.shows.iter().filter(|(other, _)| other == fact).count();
            assert_eq!(times, 1, "{} says {} twice", cause.id, fact.kind().id);
        }
        for set in cause.confirmed_by {
            for fact in *set {
                assert!(cause.likelihood(*fact) > fact.kind().usual, "{} is confirmed by {}", cause.id, fact.kind().id);
            }
        }
    }
    let mut ids = BTreeSet::new();
    for fact in Fact::every() {
        let kind = fact.kind();
        assert!(ids.insert(kind.id), "{} twice", kind.id);
        assert!(!kind.by.is_empty() && (0.0..1.0).contains(&kind.usual), "{}", kind.id);
        assert_eq!(Fact::named(kind.id), Some(fact));
    }
}

#[test]
fn signatures_name_causes_that_there_are() {
    for signature in dwell_diagnosis::SIGNATURES {
        for cause in signature.causes {
            assert!(cause_of(cause).is_some(), "{} names {cause}", signature.id);
        }
    }
}

/// No other cause shows a whole set of proof as a matter of course: else it would prove nothing.
#[test]
fn proof_belongs_to_one_cause() {
    let meet = |one: &dwell_diagnosis::Cause, other: &dwell_diagnosis::Cause| {
        PHASES.into_iter().any(|phase| one.fits(phase) && other.fits(phase))
    };
    let mut shared = Vec::new();
    for cause in causes().iter().filter(|cause| cause.ranked) {
        for set in cause.confirmed_by {
            for other in causes().iter().filter(|other| other.ranked && other.id != cause.id && meet(cause, other)) {
                let all: f32 = set.iter().map(|fact| other.likelihood(*fact)).product();
                let own: f32 = set.iter().map(|fact| cause.likelihood(*fact)).product();
                if all * 4.0 >= own {
                    shared.push(format!("{} would be confirmed by what {} shows ({all:.3} of {own:.3})", cause.id, other.id));
                }
            }
        }
    }
    assert!(shared.is_empty(), "{}", shared.join("\n"));
}

/// Every ranked cause is in the first group when what it shows is seen and nothing else is.
#[test]
fn each_cause_is_found_by_what_it_shows() {
    let mut lost = Vec::new();
    for cause in causes().iter().filter(|cause| cause.ranked && cause.id != NOT_STUCK_YET) {
        let phase = cause.states.first().copied().unwrap_or(Phase::Running);
        let observations: Vec<Observation> = Fact::every()
            .filter_map(|fact| {
                let (often, kind) = (cause.likelihood(fact), fact.kind());
                let holds = often > 0.5;
                // What is as likely as not says nothing; what is usual for all is not looked at.
                let told = holds && often > kind.usual || often < 0.1 && kind.usual < 0.1;
                told.then(|| observation(fact, holds, kind.by[0]))
            })
            .collect();
        let channels = Channel::ALL.into_iter().map(|channel| state(channel, Health::Working)).collect();
        let diagnosis = rank(Seen { phase: Some(phase), stay: None, observations, channels }, now());
        let group: Vec<&str> = diagnosis.leading().iter().map(|it| it.id).collect();
        // What shows nothing of its own is "nothing wrong" to everybody.
        let nothing = cause.effect == Effect::Harmless && group.contains(&NOT_STUCK_YET);
        if !group.contains(&cause.id) && !nothing {
            let top: Vec<String> = diagnosis
                .hypotheses
                .iter()
                .take(4)
                .map(|it| format!("{} {:.2} {:.1}", it.id, it.probability, it.evidence))
                .collect();
            lost.push(format!("{}: {}", cause.id, top.join(", ")));
        }
    }
    assert!(lost.is_empty(), "{}", lost.join("\n"));
}
