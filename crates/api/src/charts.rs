//! Charts and what their numbers rest on.

use dwell_fleet::Timestamp;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

dto! {
    /// The charts there are, and what of the history they can show.
    ChartList {
        /// Charts.
        charts: Vec<ChartInfo>,
        /// When the fleet was first watched, on the manager's clock.
        #[ts(type = "string | null")]
        begins: Option<Timestamp>,
        /// Bytes that history uses.
        history_bytes: f64,
    }

    /// A chart that can be drawn.
    ChartInfo {
        /// Its name.
        name: String,
        /// Its title.
        title: String,
        /// What it shows, and what its numbers rest on.
        about: String,
        /// What it can be split by: `nothing`, `gpu`, `image`, `region`, `machine`; empty where it is not split.
        by: Vec<String>,
        /// It is of one state on the way to `running`.
        of_a_state: bool,
        /// It is of one instance.
        of_an_instance: bool,
    }

    /// Which chart, of which time.
    ChartRequest {
        /// Its name.
        name: String,
        /// Of the last so many seconds.
        #[serde(default)]
        last_s: Option<f64>,
        /// From then on, on the manager's clock; counts before `last_s`. Without either: all there is.
        #[serde(default)]
        #[ts(type = "string | null")]
        since: Option<Timestamp>,
        /// Until then; until now where not given.
        #[serde(default)]
        #[ts(type = "string | null")]
        until: Option<Timestamp>,
        /// What it is split by.
        #[serde(default)]
        by: Option<String>,
        /// The state, for charts of a state; `params_done` where not given.
        #[serde(default)]
        state: Option<String>,
        /// The instance, for charts of one.
        #[serde(default)]
        instance: Option<String>,
        /// Pixels.
        width: u32,
        /// Pixels.
        height: u32,
        /// Light on dark.
        dark: bool,
    }

    /// A chart, drawn.
    ChartView {
        /// Its name.
        name: String,
        /// Its title.
        title: String,
        /// What it shows, in a sentence.
        sentence: String,
        /// What its numbers rest on, and what they leave out.
        notes: Vec<String>,
        /// There is nothing to draw; `sentence` says why.
        empty: bool,
        /// The plot, as SVG.
        svg: String,
        /// Where values are in it, panel by panel.
        plots: Vec<PlotView>,
        /// The x axis: `time` (seconds since the epoch), or a quantity.
        x_kind: String,
        /// Least x.
        x_from: f64,
        /// Greatest x.
        x_to: f64,
        /// The time that is shown.
        #[ts(type = "string")]
        since: Timestamp,
        /// Its end.
        #[ts(type = "string")]
        until: Timestamp,
        /// Names with their colours.
        legend: Vec<LegendEntry>,
        /// Names of the numbers of a reading.
        columns: Vec<String>,
        /// The numbers, in order of x (of y where `readings_down`).
        readings: Vec<Reading>,
        /// Readings are one below the other: rows of a chart of groups.
        readings_down: bool,
        /// A reading can be asked who is behind it.
        has_behind: bool,
    }

    /// Where the values of a panel are, in pixels of its picture.
    PlotView {
        /// Left edge.
        left: f64,
        /// Upper edge.
        top: f64,
        /// Width.
        width: f64,
        /// Height.
        height: f64,
    }

    /// A name and its colour.
    LegendEntry {
        /// Name.
        name: String,
        /// `#rrggbb`.
        colour: String,
    }

    /// The numbers at one place.
    Reading {
        /// Where it begins, on the axis that it is along.
        from: f64,
        /// Where it ends.
        to: f64,
        /// What it is of: a time, a group.
        label: String,
        /// Numbers with their units, as in `columns`; a dash where it is not known.
        cells: Vec<String>,
    }

    /// Asks who is behind a reading.
    ChartBehind {
        /// The chart.
        chart: ChartRequest,
        /// Where the reading begins.
        from: f64,
        /// Where it ends.
        to: f64,
        /// Only this group.
        #[serde(default)]
        group: Option<String>,
    }

    /// Who is behind a reading.
    Behind {
        /// Instances, at most 200.
        instances: Vec<BehindRow>,
        /// How many there are in all.
        all: usize,
    }

    /// An instance behind a reading.
    BehindRow {
        /// Its id.
        id: String,
        /// Card model with its count.
        gpu: Option<String>,
        /// Machine.
        machine: Option<String>,
        /// Place.
        region: Option<String>,
        /// What it was or did then.
        was: String,
    }

    /// Saves a chart as a file.
    SaveChart {
        /// Which.
        chart: ChartRequest,
        /// `svg`, `png`, `csv` or `json`.
        format: String,
    }

    /// A part of history in figures, group by group.
    HistorySummary {
        /// From then on.
        #[ts(type = "string")]
        since: Timestamp,
        /// Until then.
        #[ts(type = "string")]
        until: Timestamp,
        /// Seconds of it in which the fleet was watched and answered; means are over these.
        watched_s: f64,
        /// What it is split by.
        by: String,
        /// Groups, most dollars first.
        groups: Vec<SummaryRow>,
    }

    /// A group in figures.
    SummaryRow {
        /// Its name.
        group: String,
        /// Instances that were there at any time.
        instances: usize,
        /// Mean of what the running ones make by their own benchmarks; `null` where none was told.
        proofs_per_h: Option<f64>,
        /// Mean US dollars per hour; `null` where no price was told.
        dollars_per_h: Option<f64>,
        /// Of these, on the way to running.
        waiting_dollars_per_h: Option<f64>,
        /// All dollars over all proofs.
        dollars_per_proof: Option<f64>,
        /// Half of the rentals that began in this time were running after so many seconds.
        until_running_median_s: Option<f64>,
        /// Rentals that began in this time.
        rented: usize,
        /// Of these, running at any time.
        got_running: usize,
        /// Killed in this time.
        killed: usize,
        /// Instances whose price or benchmark rate was not told: the sums are too low by these.
        not_told: usize,
    }
}
