//! Errors that the driver reports of a card while it is measured: NVIDIA calls them Xid. They come as events, on a thread that
//! waits for them. On machines whose driver does not tell events there are none, which is not the same as none having happened.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Errors that are kept at most.
const MOST: usize = 100;

/// Errors of one card.
#[derive(Debug)]
pub(crate) struct Xids {
    seen: Arc<Mutex<Vec<u64>>>,
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux tells events"))]
    end: Arc<AtomicBool>,
}

impl Xids {
    /// Watches the card of this number of its own.
    pub(crate) fn watch(uuid: &str) -> Self {
        let xids = Self { seen: Arc::default(), end: Arc::default() };
        #[cfg(target_os = "linux")]
        {
            let (uuid, seen, end) = (uuid.to_owned(), Arc::clone(&xids.seen), Arc::clone(&xids.end));
            // Without the thread nothing is told, as where the driver tells nothing.
            let _ = std::thread::Builder::new().name("dwell-xid".to_owned()).spawn(move || {
                let _ = wait(&uuid, &seen, &end);
            });
        }
        #[cfg(not(target_os = "linux"))]
        let _ = uuid;
        xids
    }

    /// Those that came until now, each as often as it came.
    pub(crate) fn seen(&self) -> Vec<u64> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Xids {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
    }
}

#[cfg(target_os = "linux")]
fn wait(uuid: &str, seen: &Mutex<Vec<u64>>, end: &AtomicBool) -> Result<(), nvml_wrapper::error::NvmlError> {
    use nvml_wrapper::Nvml;
    use nvml_wrapper::bitmasks::event::EventTypes;
    use nvml_wrapper::enums::event::XidError;
    use nvml_wrapper::error::NvmlError;

    /// The end is looked for as often, ms.
    const EVERY_MS: u32 = 250;
    let nvml = Nvml::init()?;
    let device = nvml.device_by_uuid(uuid)?;
    let set = nvml.create_event_set()?;
    let set = device.register_events(EventTypes::CRITICAL_XID_ERROR, set).map_err(|error| error.error)?;
    while !end.load(Ordering::Relaxed) {
        match set.wait(EVERY_MS) {
            Ok(event) => {
                if let Some(XidError::Value(number)) = event.event_data {
                    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                    if seen.len() < MOST {
                        seen.push(number);
                    }
                }
            }
            Err(NvmlError::Timeout) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// What an error means for whoever runs the card; `None` where NVIDIA's catalogue has more than one meaning for it. Source: NVIDIA,
/// "Xid Errors".
pub(crate) fn meaning(number: u64) -> Option<&'static str> {
    Some(match number {
        48 => "memory errors that could not be corrected",
        63 | 64 => "memory was taken out of use because of errors",
        74 => "the connection between cards failed",
        79 => "the card fell off the bus",
        92 => "many memory errors were corrected",
        94 | 95 => "memory errors that could not be corrected",
        _ => return None,
    })
}
