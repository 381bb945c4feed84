//! libnvidia-ml: a card that is warm and does well, as far as `DWELL_DRIVER_DOUBLE` has it so. What it lacks, older drivers and
//! rented machines lack too.

use std::ffi::{CStr, c_char, c_uint, c_ulonglong};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::{UUID, like, put_text};

type Code = c_uint;

const SUCCESS: Code = 0;
const NOT_FOUND: Code = 6;
const DRIVER_NOT_LOADED: Code = 9;
const TIMEOUT: Code = 10;

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> Code {
    if like().nvml { SUCCESS } else { DRIVER_NOT_LOADED }
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlShutdown() -> Code {
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetDriverVersion(version: *mut c_char, room: c_uint) -> Code {
    // SAFETY: the caller's.
    unsafe { put_text("550.54.15", version, room as usize) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByUUID(uuid: *const c_char, device: *mut usize) -> Code {
    let hex: String = UUID.iter().take(14).map(|byte| format!("{byte:02x}")).collect();
    // SAFETY: the caller's.
    let wanted = unsafe { CStr::from_ptr(uuid) }.to_string_lossy().replace("GPU-", "").replace('-', "");
    if !wanted.starts_with(&hex) {
        return NOT_FOUND;
    }
    // SAFETY: the caller's.
    unsafe { device.write(0x2000) };
    SUCCESS
}

/// Calls that write one number.
macro_rules! told {
    ($($name:ident($($argument:ty),*) -> $kind:ty = $value:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(_: usize, $(_: $argument,)* to: *mut $kind) -> Code {
            // SAFETY: the caller's.
            unsafe { to.write($value) };
            SUCCESS
        }
    )*};
}

told! {
    nvmlDeviceGetClockInfo(c_uint) -> c_uint = 2_520;
    nvmlDeviceGetPowerUsage() -> c_uint = 287_500;
    nvmlDeviceGetEnforcedPowerLimit() -> c_uint = 450_000;
    nvmlDeviceGetPowerManagementDefaultLimit() -> c_uint = 450_000;
    nvmlDeviceGetTemperature(c_uint) -> c_uint = 61;
    nvmlDeviceGetCurrentClocksThrottleReasons() -> c_ulonglong = 0;
    nvmlDeviceGetCurrPcieLinkGeneration() -> c_uint = 4;
    nvmlDeviceGetMaxPcieLinkGeneration() -> c_uint = 4;
    nvmlDeviceGetCurrPcieLinkWidth() -> c_uint = 8;
    nvmlDeviceGetMaxPcieLinkWidth() -> c_uint = 16;
    nvmlDeviceGetPcieReplayCounter() -> c_uint = 0;
    nvmlDeviceGetTotalEccErrors(c_uint, c_uint) -> c_ulonglong = 0;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlEventSetCreate(set: *mut usize) -> Code {
    // SAFETY: the caller's.
    unsafe { set.write(0x3000) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceRegisterEvents(_: usize, _: c_ulonglong, _: usize) -> Code {
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlEventSetFree(_: usize) -> Code {
    SUCCESS
}

/// As NVML lays it out.
#[repr(C)]
pub struct EventData {
    device: usize,
    kind: c_ulonglong,
    data: c_ulonglong,
    instance: c_uint,
    compute_instance: c_uint,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlEventSetWait_v2(_: usize, data: *mut EventData, timeout_ms: c_uint) -> Code {
    const XID: c_ulonglong = 8;
    static TOLD: AtomicBool = AtomicBool::new(false);
    match like().xid {
        Some(number) if !TOLD.swap(true, Ordering::SeqCst) => {
            let event = EventData { device: 0x2000, kind: XID, data: number, instance: u32::MAX, compute_instance: u32::MAX };
            // SAFETY: the caller's.
            unsafe { data.write(event) };
            SUCCESS
        }
        _ => {
            std::thread::sleep(Duration::from_millis(u64::from(timeout_ms)));
            TIMEOUT
        }
    }
}
