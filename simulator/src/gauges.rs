//! What vast.ai's host agent reads off a machine.

/// One reading.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Reading {
    /// Card load, percent.
    pub(crate) gpu_util: f64,
    /// Card temperature, C.
    pub(crate) gpu_temp: f64,
    /// Processor load, percent.
    pub(crate) cpu_util: f64,
    /// Memory used by the container, GB.
    pub(crate) memory_gb: f64,
    /// Card memory used, GB.
    pub(crate) card_memory_gb: f64,
    /// Disk used, GB.
    pub(crate) disk_gb: f64,
}
