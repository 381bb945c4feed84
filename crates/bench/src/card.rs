//! A card of NVIDIA's, through its driver alone: libcuda is looked for when it is needed, and everything that can be missing is
//! said in a sentence.
#![allow(unsafe_code, reason = "calls into the driver")]

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::sync::Arc;

use cudarc::driver::{CudaContext, DriverError, result, sys};
use dwell_kernels::{Keep, Kernel, Machine, MachineError, Memory, PTX};

use crate::clocked::{Clocked, Part, QUEUES, checked};

/// Oldest driver whose CUDA takes the kernels: 12.0, which came with driver 525.
const CUDA_LEAST: i32 = 12_000;
/// Oldest compute capability that the kernels are compiled for, times ten.
const CAPABILITY_LEAST: i32 = 75;

/// Why there is no card to measure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoCard {
    /// No driver.
    #[error("no NVIDIA driver was found on this machine (libcuda is missing)")]
    NoDriver,
    /// A driver that is too old.
    #[error("the NVIDIA driver supports CUDA {have}, and 12.0 is needed: install driver 525 or newer")]
    OldDriver {
        /// What it supports.
        have: String,
    },
    /// No card of this number.
    #[error("there is no card {wanted}: this machine has {have}")]
    Number {
        /// The number.
        wanted: u32,
        /// Cards.
        have: u32,
    },
    /// A card that is too old.
    #[error("{name} has compute capability {}.{}, and 7.5 is needed: a card of the Turing generation or newer", .capability / 10, .capability % 10)]
    OldCard {
        /// The card.
        name: String,
        /// Its compute capability, times ten.
        capability: i32,
    },
    /// The driver failed.
    #[error("the NVIDIA driver failed: {0}")]
    Failed(String),
    /// No simulated card of this name.
    #[error("no simulated card is called {0:?}; there are: {names}", names = crate::simulated::names().join(", "))]
    Unknown(String),
}

fn failed(error: DriverError) -> MachineError {
    MachineError::Failed(told(&error))
}

/// Only after the driver has been found: the words are the driver's.
fn told(error: &DriverError) -> String {
    let words = error.error_string().map_or_else(|_| "it says no more".to_owned(), |words| words.to_string_lossy().into_owned());
    format!("{words} ({:?})", error.0)
}

/// A card, with the kernels loaded.
#[derive(Debug)]
pub struct Card {
    context: Arc<CudaContext>,
    module: sys::CUmodule,
    functions: HashMap<Kernel, sys::CUfunction>,
    queues: [sys::CUstream; QUEUES],
    name: String,
    uuid: String,
    capability: i32,
    processors: i32,
    memory_bytes: usize,
}

/// How many cards there are.
pub fn cards() -> Result<u32, NoCard> {
    driver()?;
    let count = result::device::get_count().map_err(|error| NoCard::Failed(told(&error)))?;
    Ok(u32::try_from(count).unwrap_or(0))
}

/// Finds the driver, of a version that takes the kernels.
fn driver() -> Result<(), NoCard> {
    // SAFETY: only looks for the library. Every other call panics where it is missing.
    if !unsafe { sys::is_culib_present() } {
        return Err(NoCard::NoDriver);
    }
    result::init().map_err(|error| NoCard::Failed(told(&error)))?;
    let mut version = 0;
    // SAFETY: writes one number.
    unsafe { sys::cuDriverGetVersion(&mut version) }.result().map_err(|error| NoCard::Failed(told(&error)))?;
    if version < CUDA_LEAST {
        return Err(NoCard::OldDriver { have: format!("{}.{}", version / 1000, version % 1000 / 10) });
    }
    Ok(())
}

/// A card's own number, as the driver's tools write it.
fn uuid_of(bytes: [u8; 16]) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let [first, second, third, fourth, last] = [&bytes[..4], &bytes[4..6], &bytes[6..8], &bytes[8..10], &bytes[10..]].map(hex);
    format!("GPU-{first}-{second}-{third}-{fourth}-{last}")
}

impl Card {
    /// Takes a card, by its number in the driver's order, and has the driver compile the kernels for it.
    pub fn open(number: u32) -> Result<Self, NoCard> {
        let have = cards()?;
        if number >= have {
            return Err(NoCard::Number { wanted: number, have });
        }
        let no = |error: DriverError| NoCard::Failed(told(&error));
        let context = CudaContext::new(number as usize).map_err(no)?;
        let device = context.cu_device();
        let attribute = |which| {
            // SAFETY: the device was given by the driver.
            unsafe { result::device::get_attribute(device, which) }.map_err(no)
        };
        use sys::CUdevice_attribute::{
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
            CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
        };
        let name = result::device::get_name(device).map_err(no)?;
        let uuid = uuid_of(result::device::get_uuid(device).map_err(no)?.bytes.map(|byte| byte as u8));
        let capability = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)? * 10
            + attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        if capability < CAPABILITY_LEAST {
            return Err(NoCard::OldCard { name, capability });
        }
        let processors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        // SAFETY: the device was given by the driver.
        let memory_bytes = unsafe { result::device::total_mem(device) }.map_err(no)?;
        let image = CString::new(PTX).map_err(|error| NoCard::Failed(error.to_string()))?;
        // SAFETY: the context is current on this thread since it was made; the image ends with a zero.
        let module = unsafe { result::module::load_data(image.as_ptr().cast::<c_void>()) }.map_err(no)?;
        let mut functions = HashMap::new();
        for kernel in Kernel::ALL {
            let function = CString::new(kernel.name()).map_err(|error| NoCard::Failed(error.to_string()))?;
            // SAFETY: the module is loaded.
            functions.insert(kernel, unsafe { result::module::get_function(module, function) }.map_err(no)?);
        }
        let queue = || result::stream::create(result::stream::StreamKind::NonBlocking).map_err(no);
        let queues = [queue()?, queue()?];
        Ok(Self { context, module, functions, queues, name, uuid, capability, processors, memory_bytes })
    }

    /// Its name, as the driver gives it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its compute capability, times ten.
    pub fn capability(&self) -> u32 {
        self.capability.unsigned_abs()
    }

    /// Its multiprocessors.
    pub fn processors(&self) -> u32 {
        self.processors.unsigned_abs()
    }

    /// Its memory, bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes as u64
    }

    /// Its own number.
    pub fn uuid(&self) -> &str {
        &self.uuid
    }

    fn wait(&self) -> Result<(), MachineError> {
        for queue in self.queues {
            // SAFETY: the queue lives as long as the card.
            unsafe { result::stream::synchronize(queue) }.map_err(failed)?;
        }
        Ok(())
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        // What fails here fails because the card is gone.
        // SAFETY: nothing uses them any more.
        unsafe {
            let _ = result::module::unload(self.module);
            for queue in self.queues {
                let _ = result::stream::destroy(queue);
            }
        }
    }
}

/// Memory of a card, and of the host where it is pinned. The context lives as long as they do.
#[derive(Debug)]
enum Kept {
    Card(sys::CUdeviceptr, #[expect(dead_code, reason = "kept alive")] Arc<CudaContext>),
    Pinned(usize, #[expect(dead_code, reason = "kept alive")] Arc<CudaContext>),
}

impl Keep for Kept {}

impl Drop for Kept {
    fn drop(&mut self) {
        // SAFETY: each was given by the driver, and is given back once.
        let _ = match self {
            Self::Card(address, _) => unsafe { result::free_sync(*address) },
            Self::Pinned(address, _) => unsafe { result::free_host(*address as *mut c_void) },
        };
    }
}

impl Machine for Card {
    fn memory(&self, bytes: usize) -> Result<Memory, MachineError> {
        // SAFETY: plain memory.
        let address = unsafe { result::malloc_sync(bytes.max(1)) }.map_err(|_| MachineError::Memory { bytes })?;
        Ok(Memory::new(address, bytes, Arc::new(Kept::Card(address, Arc::clone(&self.context)))))
    }

    fn write(&self, to: &Memory, bytes: &[u8]) -> Result<(), MachineError> {
        checked(Part { memory: to, from: 0 }, bytes.len())?;
        self.wait()?;
        // SAFETY: the memory is as large as was just checked.
        unsafe { result::memcpy_htod_sync(to.address(), bytes) }.map_err(failed)
    }

    fn read(&self, from: &Memory, into: &mut [u8]) -> Result<(), MachineError> {
        checked(Part { memory: from, from: 0 }, into.len())?;
        self.wait()?;
        // SAFETY: the memory is as large as was just checked.
        unsafe { result::memcpy_dtoh_sync(into, from.address()) }.map_err(failed)
    }

    fn clear(&self, memory: &Memory) -> Result<(), MachineError> {
        self.clear_in(0, memory)
    }

    fn launch(&self, kernel: Kernel, blocks: u32, arguments: &[u8]) -> Result<(), MachineError> {
        self.launch_in(0, kernel, blocks, arguments)
    }
}

impl Clocked for Card {
    fn pinned(&self, bytes: usize) -> Result<Memory, MachineError> {
        /// As the prover has it: for every context, and cached for the processor.
        const PORTABLE: u32 = 1;
        // SAFETY: plain memory.
        let address = unsafe { result::malloc_host(bytes.max(1), PORTABLE) }.map_err(|_| MachineError::Memory { bytes })?;
        let address = address as usize;
        Ok(Memory::new(address as u64, bytes, Arc::new(Kept::Pinned(address, Arc::clone(&self.context)))))
    }

    fn copy_in(&self, queue: usize, to: Part<'_>, from: Part<'_>, bytes: usize) -> Result<(), MachineError> {
        checked(to, bytes)?;
        checked(from, bytes)?;
        // SAFETY: both parts lie in their memory, which whoever prepared the work keeps until the queue has been waited for.
        unsafe {
            let host = std::slice::from_raw_parts((from.memory.address() as usize + from.from) as *const u8, bytes);
            result::memcpy_htod_async(to.memory.address() + to.from as u64, host, self.queues[queue % QUEUES]).map_err(failed)
        }
    }

    fn copy_out(&self, queue: usize, to: Part<'_>, from: Part<'_>, bytes: usize) -> Result<(), MachineError> {
        checked(to, bytes)?;
        checked(from, bytes)?;
        // SAFETY: as above.
        unsafe {
            let host = std::slice::from_raw_parts_mut((to.memory.address() as usize + to.from) as *mut u8, bytes);
            result::memcpy_dtoh_async(host, from.memory.address() + from.from as u64, self.queues[queue % QUEUES]).map_err(failed)
        }
    }

    fn launch_in(&self, queue: usize, kernel: Kernel, blocks: u32, arguments: &[u8]) -> Result<(), MachineError> {
        let function =
            self.functions.get(&kernel).ok_or_else(|| MachineError::Failed(format!("{} is not loaded", kernel.name())))?;
        // The driver copies the arguments before it returns; it wants them where they are aligned.
        let mut aligned = vec![0_u128; arguments.len().div_ceil(16)];
        bytemuck::cast_slice_mut::<u128, u8>(&mut aligned)[..arguments.len()].copy_from_slice(arguments);
        let mut parameters = [aligned.as_mut_ptr().cast::<c_void>()];
        // SAFETY: the arguments are laid out as the kernel has them (the same structures as on the processor, where their size is
        // checked); addresses in them are of memory that is kept.
        unsafe {
            let threads = (kernel.threads(), 1, 1);
            result::launch_kernel(*function, (blocks, 1, 1), threads, 0, self.queues[queue % QUEUES], &mut parameters)
        }
        .map_err(failed)
    }

    fn clear_in(&self, queue: usize, memory: &Memory) -> Result<(), MachineError> {
        // SAFETY: within the memory.
        unsafe { result::memset_d8_async(memory.address(), 0, memory.bytes(), self.queues[queue % QUEUES]) }.map_err(failed)
    }

    fn join(&self) -> Result<(), MachineError> {
        let [first, second] = self.queues;
        for (before, after) in [(second, first), (first, second)] {
            let event = result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING).map_err(failed)?;
            // SAFETY: the driver keeps a destroyed event until what waits for it has seen it.
            let outcome = unsafe {
                let recorded = result::event::record(event, before).map_err(failed);
                let waiting = recorded.and_then(|()| wait_for(after, event));
                let _ = result::event::destroy(event);
                waiting
            };
            outcome?;
        }
        Ok(())
    }

    fn seconds(&self, work: &mut dyn FnMut() -> Result<(), MachineError>) -> Result<f64, MachineError> {
        let event = || result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT).map_err(failed);
        let (start, joined, end) = (event()?, event()?, event()?);
        let [first, second] = self.queues;
        let mut timed = || -> Result<f64, MachineError> {
            self.wait()?;
            // SAFETY: events and queues were made by the driver and live until the end of this function. The second queue begins
            // after the start, and the end comes after both.
            unsafe {
                result::event::record(start, first).map_err(failed)?;
                wait_for(second, start)?;
                work()?;
                result::event::record(joined, second).map_err(failed)?;
                wait_for(first, joined)?;
                result::event::record(end, first).map_err(failed)?;
                result::event::synchronize(end).map_err(failed)?;
                let milliseconds = result::event::elapsed(start, end).map_err(failed)?;
                Ok(f64::from(milliseconds) / 1000.0)
            }
        };
        let outcome = timed();
        for event in [start, joined, end] {
            // SAFETY: each once.
            let _ = unsafe { result::event::destroy(event) };
        }
        outcome
    }
}

/// A queue goes on only after an event.
unsafe fn wait_for(queue: sys::CUstream, event: sys::CUevent) -> Result<(), MachineError> {
    // SAFETY: as the caller says.
    unsafe { sys::cuStreamWaitEvent(queue, event, 0) }.result().map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_and_nothing_panics() {
        match cards() {
            // Without a driver, as on most machines that test this.
            Err(error) => {
                assert!(matches!(error, NoCard::NoDriver | NoCard::Failed(_) | NoCard::OldDriver { .. }), "{error}");
                assert_eq!(Card::open(0).err(), Some(error));
            }
            Ok(count) => assert!(matches!(Card::open(count), Err(NoCard::Number { .. }))),
        }
        let words = NoCard::OldCard { name: "GTX 1080".into(), capability: 61 }.to_string();
        assert!(words.contains("6.1") && words.contains("7.5"), "{words}");
    }
}
