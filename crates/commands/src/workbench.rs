//! The benchmark in the background: one at a time, on a thread of its own, with records of real cards kept as files.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dwell_bench::batch::{Batch, batch};
use dwell_bench::calibrate::{Estimate, Observed, of_cards};
use dwell_bench::device::{Reading, Which};
use dwell_bench::predict::Prediction;
use dwell_bench::run::{Depth, Progress, Record};
use dwell_bench::simulated::{NAMES, Simulated};
use dwell_bench::verdicts::Gravity;
use dwell_bench::work::{Test, rate};
use dwell_charts::Theme;
use dwell_fleet::Timestamp;

use crate::ApiError;
use crate::bench_export::{BenchForm, bench_file};
use crate::drive::Clock;
use crate::dto::*;
use crate::forecast::this_host;
use crate::settings::Folder;
use dwell_history::files;

/// Readings and windows that are sent on at most: more than a chart has points.
const POINTS_MAX: usize = 600;
/// Longest soak, seconds.
const SOAK_MOST_S: f64 = 24.0 * 3600.0;
/// Cards of one benchmark at most.
const CARDS_MAX: usize = 16;
/// Records that are listed.
const PAST_MAX: usize = 50;
/// A record is smaller than this, bytes.
const RECORD_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The bench.
#[derive(Debug, Clone, Default)]
pub(crate) struct Workbench(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    running: Option<BenchProgress>,
    latest: Option<Latest>,
    problem: Option<ApiError>,
    stop: Arc<AtomicBool>,
}

/// The latest benchmark of this session.
#[derive(Debug)]
struct Latest {
    at: Timestamp,
    batch: Batch,
    observed: Vec<Observed>,
}

impl Latest {
    /// What one's own machines with such cards have proved, one card each.
    fn fleet(&self, record: &Record) -> Option<Estimate> {
        of_cards(&record.card.name, 1, &self.observed)
    }
}

/// Cards that can be measured.
pub(crate) fn cards() -> BenchCards {
    let found = dwell_bench::card::cards();
    BenchCards {
        real: *found.as_ref().unwrap_or(&0),
        problem: found.err().map(|error| error.to_string()),
        simulated: NAMES
            .iter()
            .map(|(name, model, ..)| SimulatedCard {
                name: (*name).to_owned(),
                title: match *name {
                    "throttling" => format!("{model} that becomes too hot"),
                    "wrong" => format!("{model} that computes wrongly"),
                    "narrow-link" => format!("{model} behind four lanes"),
                    "falls-off" => format!("{model} that falls off the bus"),
                    _ => (*model).to_owned(),
                },
            })
            .collect(),
    }
}

impl Workbench {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The benchmark that is running, and what there is.
    pub(crate) fn view(&self, folder: &Folder) -> BenchView {
        let inner = self.inner();
        // Asked for often while one runs, and then nothing of this changes.
        let is_running = inner.running.is_some();
        BenchView {
            running: inner.running.clone(),
            records: inner.latest.iter().filter(|_| !is_running).flat_map(views).collect(),
            together: inner
                .latest
                .as_ref()
                .filter(|it| it.batch.records.len() > 1)
                .and_then(|it| it.batch.prediction.as_ref().map(prediction)),
            problem: inner.problem.clone(),
            past: if is_running { Vec::new() } else { past(&records(folder)) },
        }
    }

    /// Ends the benchmark that is running, at its next step.
    pub(crate) fn stop(&self) {
        self.inner().stop.store(true, Ordering::Relaxed);
    }

    /// Begins one.
    pub(crate) fn start(&self, folder: &Folder, request: StartBench, observed: Vec<Observed>) -> Result<(), ApiError> {
        let depth = match (request.depth.as_str(), request.soak_s) {
            ("quick", _) => Depth::Quick,
            ("full", _) => Depth::Full,
            ("soak", Some(seconds)) if seconds > 0.0 && seconds <= SOAK_MOST_S => Depth::Soak(seconds),
            _ => return Err(ApiError::new(ErrorCode::BadRequest, "a benchmark is quick, full, or a soak of up to a day")),
        };
        if let Some(name) = request.simulate.iter().find(|name| Simulated::named(name).is_none()) {
            return Err(ApiError::new(ErrorCode::UnknownCard, format!("no simulated card is called {name:?}")));
        }
        let cards: Vec<Which> = request
            .devices
            .iter()
            .map(|number| Which::Number(*number))
            .chain(request.simulate.iter().map(|name| Which::Simulated(name.clone())))
            .collect();
        if cards.is_empty() || cards.len() > CARDS_MAX {
            return Err(ApiError::new(ErrorCode::BadRequest, format!("name a card to measure, and {CARDS_MAX} at most")));
        }
        let stop = {
            let mut inner = self.inner();
            if inner.running.is_some() {
                return Err(ApiError::new(ErrorCode::Busy, "a benchmark is running: two at once would measure each other"));
            }
            let what = "Looking for the card".to_owned();
            inner.running = Some(BenchProgress { what, done: 0, of: 1, readings: Vec::new() });
            (inner.problem, inner.stop) = (None, Arc::default());
            Arc::clone(&inner.stop)
        };
        let (bench, kept) = (self.clone(), records(folder));
        let spawned = std::thread::Builder::new().name("dwell-bench".to_owned()).spawn(move || {
            // A driver that lacks a call ends its thread, and not the application.
            let work = std::panic::AssertUnwindSafe(|| bench.measure(&cards, request.together, depth, &stop));
            let outcome = std::panic::catch_unwind(work)
                .unwrap_or_else(|_| Err(ApiError::new(ErrorCode::DriverFailed, "the NVIDIA driver failed in the middle of it")));
            let mut inner = bench.inner();
            inner.running = None;
            match outcome {
                Ok(batch) => {
                    let latest = Latest { at: Clock::System.now(), batch, observed };
                    let real = latest.batch.records.iter().filter(|record| !record.card.simulated);
                    inner.problem = real.enumerate().find_map(|(place, record)| keep(&kept, latest.at, place, record).err());
                    inner.latest = Some(latest);
                }
                Err(error) => inner.problem = Some(error),
            }
        });
        if let Err(error) = spawned {
            self.inner().running = None;
            return Err(ApiError::new(ErrorCode::NoThread, format!("cannot start measuring: {error}")));
        }
        Ok(())
    }

    fn measure(&self, cards: &[Which], together: bool, depth: Depth, stop: &AtomicBool) -> Result<Batch, ApiError> {
        let tell = |place: usize, progress: &Progress| {
            let mut inner = self.inner();
            let before = inner.running.take();
            let which = if cards.len() > 1 { format!("Card {} of {}: ", place + 1, cards.len()) } else { String::new() };
            // In turn the steps of those before it are done.
            let past = if together { 0 } else { place * progress.of };
            let mut readings = before.map(|it| it.readings).unwrap_or_default();
            if progress.begins && progress.done == 0 && !together {
                readings.clear();
            }
            readings.extend(
                progress.reading.as_ref().filter(|now| readings.last().is_none_or(|last| last.at_s < now.at_s)).map(reading),
            );
            if readings.len() > POINTS_MAX {
                readings.remove(0);
            }
            inner.running = Some(BenchProgress {
                what: which + &progress.what,
                done: past + progress.done,
                of: progress.of * if together { 1 } else { cards.len() },
                readings,
            });
            !stop.load(Ordering::Relaxed)
        };
        batch(cards, together, depth, &this_host(), &tell).map_err(|error| {
            ApiError::new(ErrorCode::NoCard, error.to_string()).hint("measure a simulated card to see what a benchmark tells")
        })
    }

    /// One of the latest records as a file: its name, and what is in it.
    pub(crate) fn file(&self, wanted: &SaveBench) -> Result<(String, Vec<u8>), ApiError> {
        let form = BenchForm::named(&wanted.form)
            .ok_or_else(|| ApiError::new(ErrorCode::BadRequest, "a benchmark is saved as png, svg, markdown or json"))?;
        let theme = if wanted.theme == "dark" { Theme::Dark } else { Theme::Light };
        let inner = self.inner();
        let latest = inner.latest.as_ref().ok_or_else(|| ApiError::new(ErrorCode::NoRecord, "nothing was measured yet"))?;
        let record = latest
            .batch
            .records
            .get(wanted.place)
            .ok_or_else(|| ApiError::new(ErrorCode::NoRecord, "there is no such record"))?;
        let card: String =
            record.card.name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).take(40).collect();
        let name = format!("dwell-bench-{}-{}.{}", card.trim_matches('-'), stamp(latest.at), form.ending());
        Ok((name, bench_file(record, latest.fleet(record).as_ref(), latest.at, form, theme)?))
    }
}

/// A time as the names of files have it.
fn stamp(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H-%M-%SZ").to_string()
}

fn records(folder: &Folder) -> PathBuf {
    folder.path().join("benchmarks")
}

fn gravity(gravity: Gravity) -> &'static str {
    match gravity {
        Gravity::Note => "note",
        Gravity::Warning => "warning",
        Gravity::Bad => "bad",
    }
}

/// One in so many, so that no more are left than a chart has points.
fn thinned<T>(all: impl ExactSizeIterator<Item = T>) -> impl Iterator<Item = T> {
    let step = all.len().div_ceil(POINTS_MAX).max(1);
    all.step_by(step)
}

fn prediction(told: &Prediction) -> PredictionView {
    PredictionView {
        proofs_per_h: told.proofs_per_h,
        least: told.least,
        most: told.most,
        limit: told.limit.as_str().to_owned(),
        parts: told
            .parts
            .iter()
            .map(|(limit, seconds)| PredictionPart { what: limit.as_str().to_owned(), seconds: *seconds })
            .collect(),
        left_out: told.left_out.iter().map(|what| (*what).to_owned()).collect(),
    }
}

fn reading(it: &Reading) -> BenchReading {
    BenchReading { at_s: it.at_s, clock_mhz: it.clock_mhz, temperature_c: it.temperature_c, power_w: it.power_w }
}

fn views(latest: &Latest) -> Vec<BenchRecord> {
    latest.batch.records.iter().map(|record| view(record, latest.fleet(record), latest.at)).collect()
}

fn view(record: &Record, fleet: Option<Estimate>, at: Timestamp) -> BenchRecord {
    BenchRecord {
        at,
        card: record.card.name.clone(),
        uuid: record.card.uuid.clone(),
        simulated: record.card.simulated,
        driver: record.card.driver.clone(),
        cancelled: record.cancelled,
        kernels: record.kernels.clone(),
        prediction: record.prediction.as_ref().map(prediction),
        fleet: fleet.map(|it| EstimateView {
            proofs_per_h: it.proofs_per_h,
            least: it.least,
            most: it.most,
            basis: it.words(),
            benchmarks: it.benchmarks,
        }),
        verdicts: record
            .verdicts
            .iter()
            .map(|it| VerdictView { code: it.code.to_owned(), gravity: gravity(it.gravity).to_owned(), text: it.text.clone() })
            .collect(),
        measured: record
            .measured
            .iter()
            .map(|it| MeasuredView {
                title: it.title.clone(),
                unit: it.unit.to_owned(),
                median: it.median,
                shown: rate(it.median, it.unit),
                range: format!("{} to {}", rate(it.p10, it.unit), rate(it.p90, it.unit)),
                runs: it.runs,
                spread_percent: it.spread_percent,
                looks: it.looks,
                held_back: it.held_back,
                of_most: it.of_most,
            })
            .collect(),
        published: record
            .published
            .iter()
            .map(|it| ComparedView {
                title: it.title.clone(),
                seconds: it.seconds,
                published_s: it.published_s,
                ratio: it.ratio,
                by: it.by.to_owned(),
                source: it.source.to_owned(),
            })
            .collect(),
        readings: thinned(record.readings.iter()).map(reading).collect(),
        soak: thinned(record.soak.iter()).map(|(at_s, rate)| SoakPoint { at_s: *at_s, rate: *rate }).collect(),
        json: serde_json::to_string_pretty(record).unwrap_or_default(),
    }
}

/// Keeps a record under its time; several of one time under their places.
fn keep(folder: &Path, at: Timestamp, place: usize, record: &Record) -> Result<(), ApiError> {
    let path = folder.join(format!("{}-{place}.json", stamp(at)));
    let json = serde_json::to_vec_pretty(record).map_err(|error| ApiError::new(ErrorCode::Bug, error.to_string()))?;
    files::own_folder(folder).and_then(|()| files::replace_private(&path, &json)).map_err(|error| {
        ApiError::new(ErrorCode::NotKept, format!("the record could not be written to {}: {error}", path.display()))
    })
}

/// Records that were kept, newest first. What cannot be read is left out.
fn past(folder: &Path) -> Vec<PastBench> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths.iter().rev().filter_map(|path| past_of(path)).take(PAST_MAX).collect()
}

fn past_of(path: &Path) -> Option<PastBench> {
    let (stamp, _) = path.file_stem()?.to_str()?.split_once('Z')?;
    let (day, time) = stamp.split_once('T')?;
    let at = format!("{day}T{}Z", time.replace('-', ":")).parse().ok()?;
    files::private_file(path).ok()?;
    let record: serde_json::Value = serde_json::from_slice(&files::read_regular(path, RECORD_BYTES_MAX).ok()??).ok()?;
    let median =
        |title: &str| record["measured"].as_array()?.iter().find(|it| it["title"] == title).and_then(|it| it["median"].as_f64());
    Some(PastBench {
        at,
        card: record["card"]["name"].as_str()?.to_owned(),
        uuid: record["card"]["uuid"].as_str().map(str::to_owned),
        kernels: record["kernels"].as_str().unwrap_or_default().to_owned(),
        proofs_per_h: record["prediction"]["proofs_per_h"].as_f64(),
        pinned_bytes_s: median(&Test::CopyIn(0).title()),
        products_s: median(&Test::BaseProducts(0).title()),
        verdict: record["verdicts"][0]["code"].as_str().map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_bench::predict::HostFigures;
    use dwell_bench::run::run;

    fn measured(name: &str) -> Record {
        run(&mut Simulated::named(name).unwrap(), Depth::Quick, &HostFigures::default(), &mut |_| true)
    }

    #[test]
    fn records_are_kept_and_listed_newest_first() {
        let folder = tempfile::tempdir().unwrap();
        let record = measured("rtx-3090");
        for (at, place) in [("2026-03-01T10:00:00Z", 0), ("2026-03-02T09:30:05Z", 0), ("2026-03-02T09:30:05Z", 1)] {
            keep(folder.path(), at.parse().unwrap(), place, &record).unwrap();
        }
        std::fs::write(folder.path().join("2026-03-03T00-00-00Z.json"), "no record").unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(&folder.path().join("2026-03-02T09-30-05Z-1.json")), 0o600);
            // One that is waited for would never be read.
            let pipe = folder.path().join("2026-03-04T00-00-00Z-0.json");
            assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
            // Those of before are closed when they are read.
            let old = folder.path().join("2026-03-01T10-00-00Z-0.json");
            std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o644)).unwrap();
            past(folder.path());
            assert_eq!(mode(&old), 0o600);
        }
        let past = past(folder.path());
        let times: Vec<String> = past.iter().map(|it| it.at.to_string()).collect();
        assert_eq!(times, ["2026-03-02T09:30:05Z", "2026-03-02T09:30:05Z", "2026-03-01T10:00:00Z"]);
        assert!(past[0].proofs_per_h.is_some() && past[0].card.contains("3090"));
        assert!(past[0].pinned_bytes_s.is_some_and(|rate| rate > 1e9) && past[0].products_s.is_some_and(|rate| rate > 1e9));
    }

    #[test]
    fn what_ones_own_machines_proved_stands_beside_it() {
        let observed =
            [31.0, 35.0, 39.0].map(|proofs_per_h| Observed { machine: None, gpu: "RTX 3090".to_owned(), cards: 1, proofs_per_h });
        let batch = Batch { together: false, records: vec![measured("rtx-3090"), measured("a100")], prediction: None };
        let latest = Latest { at: "2026-03-01T10:00:00Z".parse().unwrap(), batch, observed: observed.to_vec() };
        let views = views(&latest);
        let fleet = views[0].fleet.as_ref().unwrap();
        assert!(fleet.proofs_per_h == 35.0 && fleet.benchmarks == 3 && views[1].fleet.is_none());
    }
}
