//! What runs kernels: a card, or the processor in its place.

use std::sync::Arc;

use bytemuck::Pod;

use crate::Kernel;

/// Why a machine did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MachineError {
    /// There is not so much memory.
    #[error("there is no room for {bytes} more bytes")]
    Memory {
        /// Bytes asked for.
        bytes: usize,
    },
    /// The size cannot be worked on.
    #[error("a size of 2^{log} cannot be worked on")]
    Size {
        /// Its logarithm.
        log: u32,
    },
    /// The machine failed.
    #[error("{0}")]
    Failed(String),
}

/// Memory of a machine; given back when the last copy is dropped.
#[derive(Debug, Clone)]
pub struct Memory {
    address: u64,
    bytes: usize,
    _keeper: Arc<dyn Keep>,
}

/// What keeps memory until it is dropped.
pub trait Keep: std::fmt::Debug + Send + Sync {}

impl Memory {
    /// Memory at an address, which ends with its keeper.
    pub fn new(address: u64, bytes: usize, keeper: Arc<dyn Keep>) -> Self {
        Self { address, bytes, _keeper: keeper }
    }

    /// Its address, for kernels.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Its size.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// A machine. Calls come one after another; a launch may still be under way when it returns, and reading waits for it.
pub trait Machine {
    /// Memory, its content undefined.
    fn memory(&self, bytes: usize) -> Result<Memory, MachineError>;

    /// Copies to the machine.
    fn write(&self, to: &Memory, bytes: &[u8]) -> Result<(), MachineError>;

    /// Copies from the machine.
    fn read(&self, from: &Memory, into: &mut [u8]) -> Result<(), MachineError>;

    /// Fills memory with zeros.
    fn clear(&self, memory: &Memory) -> Result<(), MachineError>;

    /// Runs a kernel on so many blocks.
    fn launch(&self, kernel: Kernel, blocks: u32, arguments: &[u8]) -> Result<(), MachineError>;

    /// Memory that holds this.
    fn holding<T: Pod>(&self, items: &[T]) -> Result<Memory, MachineError>
    where
        Self: Sized,
    {
        let bytes: &[u8] = bytemuck::cast_slice(items);
        let memory = self.memory(bytes.len())?;
        self.write(&memory, bytes)?;
        Ok(memory)
    }

    /// What is in memory.
    fn items<T: Pod>(&self, from: &Memory, count: usize) -> Result<Vec<T>, MachineError>
    where
        Self: Sized,
    {
        let mut items = vec![T::zeroed(); count];
        self.read(from, bytemuck::cast_slice_mut(&mut items))?;
        Ok(items)
    }

    /// Runs a kernel with its arguments.
    fn run<A: Pod>(&self, kernel: Kernel, blocks: u32, arguments: &A) -> Result<(), MachineError>
    where
        Self: Sized,
    {
        self.launch(kernel, blocks, bytemuck::bytes_of(arguments))
    }
}

/// Blocks for so many things, a thread each; never none.
pub fn blocks_for(kernel: Kernel, things: u64) -> u32 {
    u32::try_from(things.div_ceil(u64::from(kernel.threads())).max(1)).unwrap_or(u32::MAX)
}

/// Blocks for a kernel whose threads go on with the next thing: enough for any card, and not more than there is work.
pub fn blocks_striding(kernel: Kernel, things: u64) -> u32 {
    const MANY: u32 = 4_096;
    blocks_for(kernel, things).min(MANY)
}
