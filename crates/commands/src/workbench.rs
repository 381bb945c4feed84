//! The benchmark in the background: one at a time, on a thread of its own, with records of real cards kept as files.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dwell_bench::device::{Device, Real};
use dwell_bench::predict::{HostFigures, Prediction};
use dwell_bench::run::{Depth, Gravity, Record, run};
use dwell_bench::simulated::{NAMES, Simulated};
use dwell_fleet::Timestamp;

use crate::ApiError;
use crate::drive::Clock;
use crate::dto::*;
use crate::forecast::this_host;
use crate::settings::Folder;

/// Readings and windows that are sent on at most: more than a chart has points.
const POINTS_MAX: usize = 600;
/// Longest soak, seconds.
const SOAK_MOST_S: f64 = 24.0 * 3600.0;
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
    record: Option<BenchRecord>,
    problem: Option<ApiError>,
    stop: Arc<AtomicBool>,
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
        BenchView {
            running: inner.running.clone(),
            record: inner.record.clone(),
            problem: inner.problem.clone(),
            // Asked for often while one runs, and then nothing in it changes.
            past: if inner.running.is_some() { Vec::new() } else { past(&records(folder)) },
        }
    }

    /// Ends the benchmark that is running, at its next step.
    pub(crate) fn stop(&self) {
        self.inner().stop.store(true, Ordering::Relaxed);
    }

    /// Begins one.
    pub(crate) fn start(&self, folder: &Folder, request: StartBench) -> Result<(), ApiError> {
        let depth = match (request.depth.as_str(), request.soak_s) {
            ("quick", _) => Depth::Quick,
            ("full", _) => Depth::Full,
            ("soak", Some(seconds)) if seconds > 0.0 && seconds <= SOAK_MOST_S => Depth::Soak(seconds),
            _ => return Err(ApiError::new("bad-request", "a benchmark is quick, full, or a soak of up to a day")),
        };
        if let Some(name) = &request.simulate
            && Simulated::named(name).is_none()
        {
            return Err(ApiError::new("unknown-card", format!("no simulated card is called {name:?}")));
        }
        let stop = {
            let mut inner = self.inner();
            if inner.running.is_some() {
                return Err(ApiError::new("busy", "a benchmark is running: two at once would measure each other"));
            }
            inner.running = Some(BenchProgress { what: "Looking for the card".to_owned(), done: 0, of: 1 });
            (inner.problem, inner.stop) = (None, Arc::default());
            Arc::clone(&inner.stop)
        };
        let (bench, kept) = (self.clone(), records(folder));
        let spawned = std::thread::Builder::new().name("dwell-bench".to_owned()).spawn(move || {
            // A driver that lacks a call ends its thread, and not the application.
            let work = std::panic::AssertUnwindSafe(|| bench.measure(&request, depth, &stop));
            let outcome = std::panic::catch_unwind(work)
                .unwrap_or_else(|_| Err(ApiError::new("driver-failed", "the NVIDIA driver failed in the middle of it")));
            let mut inner = bench.inner();
            inner.running = None;
            match outcome {
                Ok(record) => {
                    if !record.simulated
                        && let Err(error) = keep(&kept, &record)
                    {
                        inner.problem = Some(error);
                    }
                    inner.record = Some(record);
                }
                Err(error) => inner.problem = Some(error),
            }
        });
        if let Err(error) = spawned {
            self.inner().running = None;
            return Err(ApiError::new("no-thread", format!("cannot start measuring: {error}")));
        }
        Ok(())
    }

    fn measure(&self, request: &StartBench, depth: Depth, stop: &AtomicBool) -> Result<BenchRecord, ApiError> {
        let no_card = |error: dwell_bench::card::NoCard| {
            ApiError::new("no-card", error.to_string()).hint("measure a simulated card to see what a benchmark tells")
        };
        let (mut device, host): (Box<dyn Device>, HostFigures) = match &request.simulate {
            Some(name) => {
                let simulated = Simulated::named(name).ok_or_else(|| ApiError::new("unknown-card", "no such card"))?;
                (Box::new(simulated), HostFigures::default())
            }
            None => (Box::new(Real::open(request.device.unwrap_or(0)).map_err(no_card)?), this_host()),
        };
        let record = run(device.as_mut(), depth, &host, &mut |progress| {
            self.inner().running = Some(BenchProgress { what: progress.what.clone(), done: progress.done, of: progress.of });
            !stop.load(Ordering::Relaxed)
        });
        Ok(view(&record, Clock::System.now()))
    }
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

fn view(record: &Record, at: Timestamp) -> BenchRecord {
    BenchRecord {
        at,
        card: record.card.name.clone(),
        simulated: record.card.simulated,
        driver: record.card.driver.clone(),
        cancelled: record.cancelled,
        kernels: record.kernels.clone(),
        prediction: record.prediction.as_ref().map(prediction),
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
                p10: it.p10,
                p90: it.p90,
                runs: it.runs,
                spread_percent: it.spread_percent,
                of_most: it.of_most,
            })
            .collect(),
        readings: thinned(record.readings.iter())
            .map(|it| BenchReading {
                at_s: it.at_s,
                clock_mhz: it.clock_mhz,
                temperature_c: it.temperature_c,
                power_w: it.power_w,
            })
            .collect(),
        soak: thinned(record.soak.iter()).map(|(at_s, rate)| SoakPoint { at_s: *at_s, rate: *rate }).collect(),
        json: serde_json::to_string_pretty(record).unwrap_or_default(),
    }
}

/// Keeps a record under its time.
fn keep(folder: &Path, record: &BenchRecord) -> Result<(), ApiError> {
    let path = folder.join(format!("{}.json", record.at.strftime("%Y-%m-%dT%H-%M-%SZ")));
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&path, &record.json))
        .map_err(|error| ApiError::new("not-kept", format!("the record could not be written to {}: {error}", path.display())))
}

/// Records that were kept, newest first. What cannot be read is left out.
fn past(folder: &Path) -> Vec<PastBench> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths.iter().rev().filter_map(|path| past_of(path)).take(PAST_MAX).collect()
}

fn past_of(path: &Path) -> Option<PastBench> {
    let stem = path.file_stem()?.to_str()?;
    let (day, time) = stem.split_once('T')?;
    let at = format!("{day}T{}", time.replace('-', ":")).parse().ok()?;
    if std::fs::metadata(path).ok()?.len() > RECORD_BYTES_MAX {
        return None;
    }
    let record: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()?;
    Some(PastBench {
        at,
        card: record["card"]["name"].as_str()?.to_owned(),
        proofs_per_h: record["prediction"]["proofs_per_h"].as_f64(),
        verdict: record["verdicts"][0]["code"].as_str().map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_kept_and_listed_newest_first() {
        let folder = tempfile::tempdir().unwrap();
        let mut card = Simulated::named("rtx-3090").unwrap();
        let record = run(&mut card, Depth::Quick, &HostFigures::default(), &mut |_| true);
        for at in ["2026-03-01T10:00:00Z", "2026-03-02T09:30:05Z"] {
            keep(folder.path(), &view(&record, at.parse().unwrap())).unwrap();
        }
        std::fs::write(folder.path().join("2026-03-03T00-00-00Z.json"), "no record").unwrap();
        let past = past(folder.path());
        assert_eq!(past.iter().map(|it| it.at.to_string()).collect::<Vec<_>>(), ["2026-03-02T09:30:05Z", "2026-03-01T10:00:00Z"]);
        assert!(past[0].proofs_per_h.is_some() && past[0].card.contains("3090"));
    }
}
