//! Scenario files: what is rented, with which images, which faults strike whom and when, and what there is to find.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use crate::faults::{FaultKind, Given, Value, fault_kind, fault_kinds};
use crate::hardware::{CARDS, Card};

/// A scenario file.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Kebab-case name; the file's name.
    pub name: String,
    /// One line for a list.
    pub title: String,
    /// What an operator sees and learns. A drill does not show it before its end.
    pub summary: String,
    /// Seed of all randomness.
    pub seed: u64,
    /// The moment of the first screen in virtual time, e.g. 2026-03-13T17:00:00Z.
    #[schemars(with = "String")]
    pub start: jiff::Timestamp,
    /// How long it is worth watching, as `3h`, `90m`.
    #[serde(deserialize_with = "span")]
    #[schemars(with = "String")]
    pub duration: f64,
    /// Shown to newcomers.
    #[serde(default)]
    pub featured: bool,
    /// Speed that suits a person watching, simulated seconds per real one.
    #[serde(default = "one")]
    pub speed: f64,
    /// Time between two looks of the watch in virtual time; 10 s where not given.
    #[serde(default, deserialize_with = "optional_span")]
    #[schemars(with = "Option<String>")]
    pub look_every: Option<f64>,
    /// The account at vast.ai.
    #[serde(default)]
    pub account: Account,
    /// Images.
    #[serde(rename = "image")]
    pub images: Vec<Image>,
    /// Groups of rentals.
    #[serde(default, rename = "wave")]
    pub waves: Vec<Wave>,
    /// Faults.
    #[serde(default, rename = "fault")]
    pub faults: Vec<Fault>,
    /// What a perfect diagnosis would say.
    #[serde(default, rename = "diagnosis")]
    pub diagnoses: Vec<Diagnosis>,
}

/// The account at vast.ai.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Account {
    /// Prepaid credit at the first screen, dollars.
    pub credit: f64,
    /// Machines that are free to rent.
    pub offers: usize,
}

impl Default for Account {
    fn default() -> Self {
        Self { credit: 10_000.0, offers: 60 }
    }
}

/// An image with its capabilities. The usual values are those of a current, correct image.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Image {
    /// Name within the scenario.
    pub id: String,
    /// What vast.ai shows, e.g. `magik6k/curio-cuzk:latest`. Different images can share one.
    pub reference: String,
    /// Log sources that it ships to the manager: setup, benchdaemon, benchout, cuzk, curio.
    pub ships: Vec<String>,
    /// When it was built; its version file says so.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub built: Option<jiff::Timestamp>,
    /// Compressed size, GB.
    #[serde(default = "image_gb")]
    pub size_gb: f64,
    /// CUDA version that it requires of the host.
    #[serde(default = "image_cuda")]
    pub cuda: f64,
    /// Parameters are part of it: nothing is fetched.
    #[serde(default)]
    pub has_parameters: bool,
}

/// Rentals made together.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wave {
    /// When, relative to the first screen: `-40m`, `2h`.
    #[serde(deserialize_with = "span")]
    #[schemars(with = "String")]
    pub at: f64,
    /// How many.
    #[serde(default = "one_rental")]
    pub count: usize,
    /// Time between two of them.
    #[serde(default, deserialize_with = "span")]
    #[schemars(with = "String", extend("default" = "0s"))]
    pub every: f64,
    /// Image id.
    #[schemars(with = "String")]
    pub image: Spanned<String>,
    /// Name by which faults aim at it.
    #[serde(default)]
    pub name: Option<String>,
    /// Card model; any where not given.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub gpu: Option<Spanned<String>>,
    /// Cards in each.
    #[serde(default)]
    pub gpus: Option<u64>,
    /// Region; any where not given.
    #[serde(default)]
    pub region: Option<String>,
    /// Host memory, GiB.
    #[serde(default)]
    pub ram_gib: Option<f64>,
    /// Download bandwidth, Mbit/s.
    #[serde(default)]
    pub down_mbps: Option<f64>,
    /// Price, dollars per hour.
    #[serde(default)]
    pub dollars_per_h: Option<f64>,
    /// Exact seconds per proof, without jitter.
    #[serde(default)]
    pub proof_s: Option<f64>,
    /// Proofs per hour below which the manager kills it.
    #[serde(default = "default_min_rate")]
    pub min_rate: f64,
    /// The manager's id for the first of them, instead of a random one.
    #[serde(default)]
    pub uuid: Option<String>,
    /// They carry a label `C.<number>` at vast.ai. The manager's own deployments carry none.
    #[serde(default)]
    pub labelled: bool,
    /// Interruptible, at this bid, dollars per hour.
    #[serde(default)]
    pub bid: Option<f64>,
}

/// Whom a fault strikes: every instance that fits all that is given.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Name of a wave.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub wave: Option<Spanned<String>>,
    /// Image id.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub image: Option<Spanned<String>>,
    /// Card model.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub gpu: Option<Spanned<String>>,
    /// Region.
    #[serde(default)]
    pub region: Option<String>,
    /// Places among those that fit the rest, in the order of renting, from 0.
    #[serde(default)]
    pub index: Option<Vec<usize>>,
    /// Share of those that fit the rest, 0 to 1; which ones depends on the seed.
    #[serde(default)]
    #[schemars(with = "Option<f64>")]
    pub share: Option<Spanned<f64>>,
}

/// Something that breaks.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// What: an id that `dwellctl drill faults` lists.
    #[schemars(schema_with = "kind_schema")]
    pub kind: Spanned<String>,
    /// Whom it strikes; every instance where not given. Not used by faults of the manager and of vast.ai.
    #[serde(default)]
    #[schemars(with = "Option<Target>")]
    pub target: Option<Spanned<Target>>,
    /// When, relative to the first screen. Instances rented later are struck when they are rented.
    #[serde(deserialize_with = "span")]
    #[schemars(with = "String")]
    pub at: f64,
    /// How long; for ever where not given.
    #[serde(default, rename = "for", deserialize_with = "optional_span")]
    #[schemars(with = "Option<String>")]
    pub lasts: Option<f64>,
    /// Its parameters.
    #[serde(default, rename = "with")]
    #[schemars(with = "std::collections::BTreeMap<String, serde_json::Value>")]
    with: std::collections::BTreeMap<Spanned<String>, Spanned<toml::Value>>,
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) given: Given,
}

/// What a perfect diagnosis would say of some instances while the fault can be seen.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Diagnosis {
    /// Of whom; all where not given.
    #[serde(default)]
    #[schemars(with = "Option<Target>")]
    target: Option<Spanned<Target>>,
    /// One of healthy, slow, stalled, invisible, contradicted, gone, leaking, written-off.
    #[schemars(with = "String")]
    verdict: Spanned<String>,
    /// Ids of the causes that cannot be told apart from there, the true one among them. Empty where nothing is wrong.
    pub causes: Vec<String>,
    /// In one or two sentences: what is known, what is not, what to look at next.
    pub says: String,
}

const VERDICTS: [&str; 8] = ["healthy", "slow", "stalled", "invisible", "contradicted", "gone", "leaking", "written-off"];

/// Why a scenario cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// The file's TOML or its contents are wrong.
    #[error("{file}:{line}:{column}: {what}")]
    File {
        /// The file's name.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong there, and what was expected.
        what: String,
    },
    /// The file cannot be read.
    #[error("{file}: {what}")]
    Unreadable {
        /// The file's name.
        file: String,
        /// The system's reason.
        what: String,
    },
    /// No shipped scenario of this name.
    #[error("no scenario is called {name:?}; there are: {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
}

include!(concat!(env!("OUT_DIR"), "/shipped.rs"));

/// Every shipped scenario, by name.
pub fn shipped() -> Vec<Scenario> {
    SHIPPED.iter().filter_map(|(name, text)| Scenario::parse(&format!("{name}.toml"), text).ok()).collect()
}

/// The JSON Schema of scenario files, for editors.
pub fn scenario_schema() -> String {
    let schema = schemars::schema_for!(Scenario);
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

/// Fault ids, each with what it does.
fn kind_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let kinds: Vec<serde_json::Value> =
        fault_kinds().map(|kind| serde_json::json!({ "const": kind.id, "description": describe(kind) })).collect();
    schemars::json_schema!({ "description": "What: one of these.", "oneOf": kinds })
}

fn describe(kind: &FaultKind) -> String {
    let parameters: Vec<String> = kind
        .parameters
        .iter()
        .map(|parameter| {
            let usual = match parameter.value {
                Value::Number(value) => format!("{value} {}", parameter.unit),
                Value::Flag(value) => value.to_string(),
                Value::Word(words) => words.join(" | "),
            };
            format!("`{}` = {} ({})", parameter.name, usual.trim_end(), parameter.what)
        })
        .collect();
    if parameters.is_empty() { kind.what.to_owned() } else { format!("{} With: {}.", kind.what, parameters.join(", ")) }
}

/// Where in a text, and what is wrong there.
type Mistake = (std::ops::Range<usize>, String);

impl Scenario {
    /// A shipped scenario by name.
    pub fn named(name: &str) -> Result<Self, ScenarioError> {
        match SHIPPED.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => Self::parse(&format!("{name}.toml"), text),
            None => Err(ScenarioError::Unknown { name: name.to_owned(), known: SHIPPED.map(|(known, _)| known).join(", ") }),
        }
    }

    /// Reads a scenario file.
    pub fn read(path: &Path) -> Result<Self, ScenarioError> {
        /// Larger files are no scenarios.
        const BYTES_MAX: u64 = 1024 * 1024;
        let file = path.display().to_string();
        let unreadable = |what: String| ScenarioError::Unreadable { file: file.clone(), what };
        let size = std::fs::metadata(path).map_err(|error| unreadable(error.to_string()))?.len();
        if size > BYTES_MAX {
            return Err(unreadable(format!("{size} bytes; a scenario has {BYTES_MAX} at most")));
        }
        Self::parse(&file, &std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?)
    }

    /// Reads a scenario's text. `file` is named in mistakes.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScenarioError> {
        let wrong = |(span, what): Mistake| {
            let before = text.get(..span.start).unwrap_or(text);
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
            ScenarioError::File { file: file.to_owned(), line, column, what }
        };
        let mut scenario: Self = toml::from_str(text)
            .map_err(|error: toml::de::Error| wrong((error.span().unwrap_or(0..0), error.message().trim_end().to_owned())))?;
        scenario.check().map_err(wrong)?;
        Ok(scenario)
    }

    /// The image with this id.
    pub(crate) fn image(&self, id: &str) -> Option<usize> {
        self.images.iter().position(|image| image.id == id)
    }

    fn check(&mut self) -> Result<(), Mistake> {
        let rentals: usize = self.waves.iter().map(|wave| wave.count).sum();
        if rentals > 20_000 {
            return Err((0..0, format!("{rentals} rentals in all; 20000 is the most")));
        }
        for wave in &self.waves {
            self.check_image(&wave.image)?;
            if let Some(gpu) = &wave.gpu {
                check_gpu(gpu)?;
            }
        }
        for index in 0..self.faults.len() {
            let given = self.check_fault(&self.faults[index])?;
            self.faults[index].given = given;
        }
        for diagnosis in &self.diagnoses {
            if let Some(target) = &diagnosis.target {
                self.check_target(target.get_ref())?;
            }
            one_of("verdict", &diagnosis.verdict, VERDICTS.into_iter())?;
        }
        Ok(())
    }

    fn check_image(&self, id: &Spanned<String>) -> Result<(), Mistake> {
        one_of("image", id, self.images.iter().map(|image| image.id.as_str()))
    }

    fn check_target(&self, target: &Target) -> Result<(), Mistake> {
        if let Some(wave) = &target.wave {
            one_of("wave", wave, self.waves.iter().filter_map(|wave| wave.name.as_deref()))?;
        }
        if let Some(image) = &target.image {
            self.check_image(image)?;
        }
        if let Some(gpu) = &target.gpu {
            check_gpu(gpu)?;
        }
        match &target.share {
            Some(share) if !(0.0..=1.0).contains(share.get_ref()) => {
                Err((share.span(), format!("share {} is not between 0 and 1", share.get_ref())))
            }
            _ => Ok(()),
        }
    }

    fn check_fault(&self, fault: &Fault) -> Result<Given, Mistake> {
        one_of("fault", &fault.kind, fault_kinds().map(|kind| kind.id))?;
        let Some(kind) = fault_kind(fault.kind.get_ref()) else { return Ok(Given::default()) };
        if let Some(target) = &fault.target {
            if !kind.place.is_aimed() && kind.id != "destroyed-outside" {
                return Err((
                    target.span(),
                    format!("{} strikes {} as a whole and takes no target", kind.id, kind.place.as_str()),
                ));
            }
            self.check_target(target.get_ref())?;
        }
        let mut given = kind.usual();
        for (name, value) in &fault.with {
            one_of("parameter", name, kind.parameters.iter().map(|parameter| parameter.name))?;
            let Some(parameter) = kind.parameters.iter().find(|parameter| parameter.name == name.get_ref()) else { continue };
            let expected = |what: &str| (value.span(), format!("{} expects {what}", parameter.name));
            match (parameter.value, value.get_ref()) {
                (Value::Number(_), toml::Value::Float(number)) if number.is_finite() => {
                    given.numbers.insert(parameter.name, *number);
                }
                (Value::Number(_), toml::Value::Integer(number)) => {
                    given.numbers.insert(parameter.name, *number as f64);
                }
                (Value::Number(_), _) => return Err(expected(&format!("a number ({})", parameter.unit))),
                (Value::Flag(_), toml::Value::Boolean(value)) => {
                    given.flags.insert(parameter.name, *value);
                }
                (Value::Flag(_), _) => return Err(expected("true or false")),
                (Value::Word(words), other) => {
                    let word = words.iter().find(|word| other.as_str() == Some(**word));
                    let word = word.ok_or_else(|| expected(&format!("one of: {}", words.join(", "))))?;
                    given.words.insert(parameter.name, word);
                }
            }
        }
        Ok(given)
    }
}

impl Diagnosis {
    /// Of whom; all where `None`.
    pub fn target(&self) -> Option<&Target> {
        self.target.as_ref().map(Spanned::get_ref)
    }

    /// The verdict.
    pub fn verdict(&self) -> &str {
        self.verdict.get_ref()
    }
}

impl Fault {
    /// Its kind's id.
    pub fn id(&self) -> &str {
        self.kind.get_ref()
    }
}

fn one_of<'a>(what: &str, given: &Spanned<String>, known: impl Iterator<Item = &'a str> + Clone) -> Result<(), Mistake> {
    if known.clone().any(|known| known == given.get_ref()) {
        return Ok(());
    }
    /// Longer lists are not read: the nearest name helps more.
    const LISTED_MOST: usize = 20;
    let list: Vec<&str> = known.collect();
    let nearest = || list.iter().max_by(|one, other| near(one, given.get_ref()).total_cmp(&near(other, given.get_ref())));
    let expected = match list.len() {
        0 => "there is none".to_owned(),
        1..=LISTED_MOST => format!("expected one of: {}", list.join(", ")),
        all => format!(
            "expected one of {all}, of which {:?} is the nearest; `dwellctl drill faults` lists them",
            nearest().copied().unwrap_or_default()
        ),
    };
    Err((given.span(), format!("unknown {what} {:?}; {expected}", given.get_ref())))
}

fn near(known: &str, given: &str) -> f64 {
    strsim::jaro_winkler(known, given)
}

fn check_gpu(gpu: &Spanned<String>) -> Result<(), Mistake> {
    one_of("card", gpu, CARDS.iter().map(|card| card.name))
}

pub(crate) fn card(name: &str) -> Option<Card> {
    CARDS.into_iter().find(|card| card.name == name)
}

fn one() -> f64 {
    1.0
}

fn one_rental() -> usize {
    1
}

fn image_gb() -> f64 {
    14.0
}

fn image_cuda() -> f64 {
    12.8
}

fn default_min_rate() -> f64 {
    20.0
}

/// `-1h 30m`, `90m`, `2d` as seconds. A day is 24 hours.
fn span<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let text = String::deserialize(deserializer)?;
    let span: jiff::Span =
        text.parse().map_err(|error| serde::de::Error::custom(format!("{text:?} is no time span: {error}")))?;
    span.total((jiff::Unit::Second, jiff::SpanRelativeTo::days_are_24_hours())).map_err(serde::de::Error::custom)
}

fn optional_span<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    span(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_scenario_is_readable_and_named_after_its_file() {
        for (name, text) in SHIPPED {
            let scenario = Scenario::parse(&format!("{name}.toml"), text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(scenario.name, name);
            assert!(!scenario.diagnoses.is_empty(), "{name} says what a perfect diagnosis would say");
        }
    }

    fn mistake(change: impl Fn(&str) -> String) -> String {
        Scenario::parse("mine.toml", &change(SHIPPED.iter().find(|(name, _)| *name == "params-done-silence").unwrap().1))
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn mistakes_say_where_and_what_was_expected() {
        let error = mistake(|text| text.replace("seed = ", "sede = "));
        assert!(error.starts_with("mine.toml:") && error.contains("sede") && error.contains("expected one of"), "{error}");
        let error = mistake(|text| text.replacen("image = \"oldest\"", "image = \"elder\"", 1));
        assert!(error.contains("unknown image \"elder\"; expected one of: oldest, old"), "{error}");
        let error = mistake(|text| format!("{text}\n[[fault]]\nkind = \"host-oom\"\nat = \"0s\"\n"));
        assert!(error.contains("unknown fault \"host-oom\"") && error.contains("\"host-oom-global\" is the nearest"), "{error}");
        let error =
            mistake(|text| format!("{text}\n[[fault]]\nkind = \"params-slow\"\nat = \"0s\"\nwith = {{ share = \"half\" }}\n"));
        assert!(error.ends_with("share expects a number (of the bandwidth)"), "{error}");
        let line: usize = error.split(':').nth(1).unwrap().parse().unwrap();
        let length = SHIPPED.iter().find(|(name, _)| *name == "params-done-silence").unwrap().1.lines().count();
        assert_eq!(line, length + 5, "{error}");
        let error = mistake(|text| format!("{text}\n[[fault]]\nkind = \"vast-cli-hang\"\nat = \"0s\"\ntarget = {{}}\n"));
        assert!(error.contains("takes no target"), "{error}");
        let error = mistake(|text| text.replacen("at = \"-9h\"", "at = \"soon\"", 1));
        assert!(error.contains("\"soon\" is no time span"), "{error}");
        assert!(Scenario::named("nothing").unwrap_err().to_string().contains("params-done-silence"));
    }

    #[test]
    fn the_schema_for_editors_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/schema.json");
        let fresh = scenario_schema();
        if std::env::var_os("DWELL_UPDATE_BINDINGS").is_some() {
            std::fs::write(path, &fresh).unwrap();
        }
        let kept = std::fs::read_to_string(path).unwrap();
        assert!(kept == fresh, "scenarios/schema.json is out of date: cargo xtask bindings writes it anew");
    }
}
