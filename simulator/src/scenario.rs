//! Scenario files: what is rented, with which images, and which faults strike whom and when.

use serde::Deserialize;

use crate::hardware::{CARDS, Card};

/// A scenario, as its TOML file says.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Kebab-case name; the file's name.
    pub name: String,
    /// One line for a list.
    pub title: String,
    /// What an operator sees and learns.
    pub summary: String,
    /// Seed of all randomness.
    pub seed: u64,
    /// The moment of the first screen in virtual time.
    pub start: jiff::Timestamp,
    /// How long it is worth watching, as `3h`, `90m`.
    #[serde(deserialize_with = "span")]
    pub duration: f64,
    /// Speed that suits a person watching, simulated seconds per real one.
    #[serde(default = "one")]
    pub speed: f64,
    /// Images.
    #[serde(rename = "image")]
    pub images: Vec<Image>,
    /// Groups of rentals.
    #[serde(default, rename = "wave")]
    pub waves: Vec<Wave>,
    /// Faults.
    #[serde(default, rename = "fault")]
    pub faults: Vec<Fault>,
}

/// An image with its capabilities.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Image {
    /// Name within the scenario.
    pub id: String,
    /// What vast.ai shows, e.g. `magik6k/curio-cuzk:latest`. Different images can share one.
    pub reference: String,
    /// Log sources that it ships to the manager.
    pub ships: Vec<String>,
}

/// Rentals made together.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wave {
    /// When, relative to the first screen: `-40m`, `2h`.
    #[serde(deserialize_with = "span")]
    pub at: f64,
    /// How many.
    #[serde(default = "one_rental")]
    pub count: usize,
    /// Time between two of them.
    #[serde(default, deserialize_with = "span")]
    pub every: f64,
    /// Image id.
    pub image: String,
    /// Name by which faults aim at it.
    #[serde(default)]
    pub name: Option<String>,
    /// Card model; any where not given.
    #[serde(default)]
    pub gpu: Option<String>,
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
}

/// Something that breaks.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// What.
    pub kind: FaultKind,
    /// Name of the waves it strikes; every instance where not given. Not used by faults of the manager.
    #[serde(default)]
    pub wave: Option<String>,
    /// When, relative to the first screen. Instances rented later are struck when they are rented.
    #[serde(deserialize_with = "span")]
    pub at: f64,
    /// How long; for ever where not given.
    #[serde(default, rename = "for", deserialize_with = "optional_span")]
    pub lasts: Option<f64>,
    /// `prover-wedge`: proofs of the benchmark done before it wedges.
    #[serde(default)]
    pub after_proofs: u32,
    /// `prover-wedge`: the GPU spins at full load instead of idling.
    #[serde(default)]
    pub spinning: bool,
    /// `slow-download`: share of the bandwidth that is left.
    #[serde(default)]
    pub share: Option<f64>,
}

/// The mechanisms that can break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// The prover daemon stops answering; its client waits for ever, for it sets no deadline.
    ProverWedge,
    /// The instance cannot reach the manager: no reports, no logs. Its work goes on.
    UplinkCut,
    /// The machine leaves vast.ai.
    HostLost,
    /// The parameter source gives a fraction of the bandwidth.
    SlowDownload,
    /// The manager process restarts (`for` is its down time): its log buffers and its copy of vast.ai's list are lost.
    ManagerRestart,
}

/// Why a scenario cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// The file's TOML or its fields are wrong; the text names line and column.
    #[error("{0}")]
    File(String),
    /// No shipped scenario of this name.
    #[error("no scenario is called {name:?}; there are: {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
}

const SHIPPED: [(&str, &str); 3] = [
    ("params-done-silence", include_str!("../scenarios/params-done-silence.toml")),
    ("healthy-fleet", include_str!("../scenarios/healthy-fleet.toml")),
    ("manager-restart", include_str!("../scenarios/manager-restart.toml")),
];

/// Every shipped scenario.
pub fn shipped() -> Vec<Scenario> {
    SHIPPED.iter().filter_map(|(_, text)| Scenario::parse(text).ok()).collect()
}

impl Scenario {
    /// A shipped scenario by name.
    pub fn named(name: &str) -> Result<Self, ScenarioError> {
        match SHIPPED.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => Self::parse(text),
            None => Err(ScenarioError::Unknown { name: name.to_owned(), known: SHIPPED.map(|(known, _)| known).join(", ") }),
        }
    }

    /// Reads a scenario file's text.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let scenario: Self = toml::from_str(text).map_err(|error| ScenarioError::File(error.to_string()))?;
        scenario.check()?;
        Ok(scenario)
    }

    /// The image with this id.
    pub(crate) fn image(&self, id: &str) -> Option<usize> {
        self.images.iter().position(|image| image.id == id)
    }

    fn check(&self) -> Result<(), ScenarioError> {
        let wrong = |text: String| Err(ScenarioError::File(text));
        let rentals: usize = self.waves.iter().map(|wave| wave.count).sum();
        if rentals > 20_000 {
            return wrong(format!("{rentals} rentals in all; 20000 is the most"));
        }
        for (index, wave) in self.waves.iter().enumerate() {
            if self.image(&wave.image).is_none() {
                return wrong(format!("wave {}: no image has the id {:?}", index + 1, wave.image));
            }
            if let Some(gpu) = &wave.gpu
                && card(gpu).is_none()
            {
                let known = CARDS.map(|card| card.name).join(", ");
                return wrong(format!("wave {}: no card is called {gpu:?}; there are: {known}", index + 1));
            }
        }
        for (index, fault) in self.faults.iter().enumerate() {
            if let Some(name) = &fault.wave
                && !self.waves.iter().any(|wave| wave.name.as_ref() == Some(name))
            {
                return wrong(format!("fault {}: no wave is called {name:?}", index + 1));
            }
        }
        Ok(())
    }
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
            let scenario = Scenario::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(scenario.name, name);
        }
    }

    #[test]
    fn mistakes_say_where_and_what() {
        let text = SHIPPED[0].1.replace("seed = ", "sede = ");
        let error = Scenario::parse(&text).unwrap_err().to_string();
        assert!(error.contains("line ") && error.contains("sede"), "{error}");
        let error = Scenario::parse(&SHIPPED[1].1.replace("image = \"new\"", "image = \"newer\"")).unwrap_err().to_string();
        assert!(error.contains("no image has the id \"newer\""), "{error}");
        assert!(Scenario::named("nothing").unwrap_err().to_string().contains("params-done-silence"));
    }
}
