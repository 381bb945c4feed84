//! A machine whose work is timed, and that copies to and from pinned memory while it works.

use std::time::Instant;

use bytemuck::Pod;
use dwell_kernels::{Kernel, Machine, MachineError, Memory, Processor};

/// Queues of work that run beside each other.
pub const QUEUES: usize = 2;

/// A part of memory.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// Of this memory.
    pub memory: &'a Memory,
    /// From this byte on.
    pub from: usize,
}

/// A machine that can be timed.
pub trait Clocked: Machine {
    /// Memory of the host that the machine reads and writes by itself.
    fn pinned(&self, bytes: usize) -> Result<Memory, MachineError>;

    /// Puts a copy from pinned memory into a queue.
    fn copy_in(&self, queue: usize, to: Part<'_>, from: Part<'_>, bytes: usize) -> Result<(), MachineError>;

    /// Puts a copy to pinned memory into a queue.
    fn copy_out(&self, queue: usize, to: Part<'_>, from: Part<'_>, bytes: usize) -> Result<(), MachineError>;

    /// Puts a kernel into a queue.
    fn launch_in(&self, queue: usize, kernel: Kernel, blocks: u32, arguments: &[u8]) -> Result<(), MachineError>;

    /// Puts zeros into memory, in a queue.
    fn clear_in(&self, queue: usize, memory: &Memory) -> Result<(), MachineError>;

    /// What is put into any queue from now on begins after everything that is in them now.
    fn join(&self) -> Result<(), MachineError>;

    /// Seconds that the machine takes for what is put into its queues.
    fn seconds(&self, work: &mut dyn FnMut() -> Result<(), MachineError>) -> Result<f64, MachineError>;

    /// Puts a kernel with its arguments into a queue.
    fn queue<A: Pod>(&self, queue: usize, kernel: Kernel, blocks: u32, arguments: &A) -> Result<(), MachineError>
    where
        Self: Sized,
    {
        self.launch_in(queue, kernel, blocks, bytemuck::bytes_of(arguments))
    }
}

/// One queue of a machine, as a machine of its own: what puts kernels together works in it.
#[derive(Debug)]
pub struct Queue<'m, M> {
    /// The machine.
    pub machine: &'m M,
    /// The queue.
    pub number: usize,
}

impl<M: Clocked> Machine for Queue<'_, M> {
    fn memory(&self, bytes: usize) -> Result<Memory, MachineError> {
        self.machine.memory(bytes)
    }

    fn write(&self, to: &Memory, bytes: &[u8]) -> Result<(), MachineError> {
        self.machine.write(to, bytes)
    }

    fn read(&self, from: &Memory, into: &mut [u8]) -> Result<(), MachineError> {
        self.machine.read(from, into)
    }

    fn clear(&self, memory: &Memory) -> Result<(), MachineError> {
        self.machine.clear_in(self.number, memory)
    }

    fn launch(&self, kernel: Kernel, blocks: u32, arguments: &[u8]) -> Result<(), MachineError> {
        self.machine.launch_in(self.number, kernel, blocks, arguments)
    }
}

/// One thing after another, as soon as it is asked for.
#[allow(unsafe_code, reason = "parts of memory are copied by address")]
impl Clocked for Processor {
    fn pinned(&self, bytes: usize) -> Result<Memory, MachineError> {
        self.memory(bytes)
    }

    fn copy_in(&self, _: usize, to: Part<'_>, from: Part<'_>, bytes: usize) -> Result<(), MachineError> {
        checked(to, bytes)?;
        checked(from, bytes)?;
        let (to, from) =
            ((to.memory.address() as usize + to.from) as *mut u8, (from.memory.address() as usize + from.from) as *const u8);
        // SAFETY: both parts lie in memory that is alive, and two memories do not overlap.
        unsafe { std::ptr::copy(from, to, bytes) };
        Ok(())
    }

    fn copy_out(&self, queue: usize, to: Part<'_>, from: Part<'_>, bytes: usize) -> Result<(), MachineError> {
        self.copy_in(queue, to, from, bytes)
    }

    fn launch_in(&self, _: usize, kernel: Kernel, blocks: u32, arguments: &[u8]) -> Result<(), MachineError> {
        self.launch(kernel, blocks, arguments)
    }

    fn clear_in(&self, _: usize, memory: &Memory) -> Result<(), MachineError> {
        self.clear(memory)
    }

    fn join(&self) -> Result<(), MachineError> {
        Ok(())
    }

    fn seconds(&self, work: &mut dyn FnMut() -> Result<(), MachineError>) -> Result<f64, MachineError> {
        let began = Instant::now();
        work()?;
        Ok(began.elapsed().as_secs_f64())
    }
}

/// A part must lie within its memory.
pub(crate) fn checked(part: Part<'_>, bytes: usize) -> Result<(), MachineError> {
    match part.from.checked_add(bytes) {
        Some(end) if end <= part.memory.bytes() => Ok(()),
        _ => Err(MachineError::Failed(format!("{bytes} bytes from {} are not in {}", part.from, part.memory.bytes()))),
    }
}
