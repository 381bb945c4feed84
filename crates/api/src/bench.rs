//! Benchmarks of GPUs.

use dwell_fleet::Timestamp;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::ApiError;

dto! {
    /// Cards that can be measured.
    BenchCards {
        /// Cards of this machine.
        real: u32,
        /// Why there are none, where there are none.
        problem: Option<String>,
        /// Simulated ones.
        simulated: Vec<SimulatedCard>,
    }

    /// A simulated card.
    SimulatedCard {
        /// Its name.
        name: String,
        /// What it is.
        title: String,
    }

    /// Begins a benchmark: of cards of this machine, or of simulated ones.
    StartBench {
        /// Cards of this machine, by their numbers.
        devices: Vec<u32>,
        /// Simulated cards, by their names.
        simulate: Vec<String>,
        /// At the same time instead of in turn.
        together: bool,
        /// `quick`, `full` or `soak`.
        depth: String,
        /// How long it soaks, seconds.
        soak_s: Option<f64>,
    }

    /// The benchmark that is running, and the latest records.
    BenchView {
        /// What is being done.
        running: Option<BenchProgress>,
        /// The latest records of this session, a card each; empty while one is being made.
        records: Vec<BenchRecord>,
        /// What those cards prove together, where there are several.
        together: Option<PredictionView>,
        /// Why the latest one could not begin.
        problem: Option<ApiError>,
        /// Earlier records of cards of this machine, newest first; empty while one is being made.
        past: Vec<PastBench>,
    }

    /// How far a benchmark is.
    BenchProgress {
        /// What is being done.
        what: String,
        /// Steps done.
        done: usize,
        /// Steps in all.
        of: usize,
        /// What the driver has said so far of the card that spoke last.
        readings: Vec<BenchReading>,
    }

    /// An earlier record.
    PastBench {
        /// When, on the operator's clock.
        #[ts(type = "string")]
        at: Timestamp,
        /// The card.
        card: String,
        /// Its own number, where it was told.
        uuid: Option<String>,
        /// Sum over the kernels: other kernels, other figures.
        kernels: String,
        /// Proofs per hour that were predicted.
        proofs_per_h: Option<f64>,
        /// Pinned copies to the card, bytes per second.
        pinned_bytes_s: Option<f64>,
        /// Products in the base field per second.
        products_s: Option<f64>,
        /// Gravest verdict, where there was one.
        verdict: Option<String>,
    }

    /// Asks for a record as a file.
    SaveBench {
        /// Which of the latest records.
        place: usize,
        /// `png`, `svg`, `markdown` or `json`.
        form: String,
        /// `light` or `dark`, for pictures.
        theme: String,
    }

    /// A file that was written.
    SavedFile {
        /// Where.
        path: String,
    }

    /// A benchmark.
    BenchRecord {
        /// When it ended, on the operator's clock.
        #[ts(type = "string")]
        at: Timestamp,
        /// The card.
        card: String,
        /// Its own number, where it was told.
        uuid: Option<String>,
        /// It is simulated.
        simulated: bool,
        /// Version of the driver.
        driver: Option<String>,
        /// It was broken off.
        cancelled: bool,
        /// Sum over the kernels: other kernels, other figures.
        kernels: String,
        /// Proofs per hour.
        prediction: Option<PredictionView>,
        /// What the operator's machines with such cards have proved.
        fleet: Option<EstimateView>,
        /// What is thought of the card, gravest first.
        verdicts: Vec<VerdictView>,
        /// Figures.
        measured: Vec<MeasuredView>,
        /// Published figures of the same model beside its own.
        published: Vec<ComparedView>,
        /// What the driver said meanwhile.
        readings: Vec<BenchReading>,
        /// The soak.
        soak: Vec<SoakPoint>,
        /// All of it as JSON, to keep or to compare.
        json: String,
    }

    /// An estimate of proofs per hour.
    EstimateView {
        /// Best estimate.
        proofs_per_h: f64,
        /// From.
        least: f64,
        /// To.
        most: f64,
        /// What it rests on, in words.
        basis: String,
        /// Benchmarks that it rests on.
        benchmarks: usize,
    }

    /// A figure beside a published one.
    ComparedView {
        /// The test.
        title: String,
        /// Seconds here.
        seconds: f64,
        /// Seconds as published.
        published_s: f64,
        /// How fast this is against it.
        ratio: f64,
        /// By what.
        by: String,
        /// Where it is from.
        source: String,
    }

    /// Proofs per hour, with the basis.
    PredictionView {
        /// Best estimate.
        proofs_per_h: f64,
        /// From.
        least: f64,
        /// To.
        most: f64,
        /// What limits.
        limit: String,
        /// Seconds a proof for each part, slowest first.
        parts: Vec<PredictionPart>,
        /// What was not told, and is not in it.
        left_out: Vec<String>,
    }

    /// A part of a proof.
    PredictionPart {
        /// What.
        what: String,
        /// Seconds a proof, were it alone in the way.
        seconds: f64,
    }

    /// A verdict.
    VerdictView {
        /// A stable word.
        code: String,
        /// `note`, `warning` or `bad`.
        gravity: String,
        /// In a sentence.
        text: String,
    }

    /// A figure.
    MeasuredView {
        /// The test.
        title: String,
        /// Unit of the rates.
        unit: String,
        /// Median rate.
        median: f64,
        /// Median rate with its unit.
        shown: String,
        /// Rates that a tenth of the runs was below, and above, with their unit.
        range: String,
        /// Runs.
        runs: usize,
        /// Standard deviation of a run, percent.
        spread_percent: f64,
        /// Looks at the driver meanwhile.
        looks: usize,
        /// Those that found the clocks held back by heat or by the hardware.
        held_back: usize,
        /// Share of what such a card could do at most at its clock.
        of_most: Option<f64>,
    }

    /// What the driver said at a time.
    BenchReading {
        /// Seconds since the run began.
        at_s: f64,
        /// MHz.
        clock_mhz: Option<f64>,
        /// Degrees Celsius.
        temperature_c: Option<f64>,
        /// W.
        power_w: Option<f64>,
    }

    /// A window of the soak.
    SoakPoint {
        /// Seconds since it began.
        at_s: f64,
        /// Rate against the first window.
        rate: f64,
    }
}
