//! The arithmetic of proving over BLS12-381 as CUDA kernels, and how they are put together to transforms and sums.
//!
//! The sources in `cuda/` are compiled twice: ahead of time to PTX for a card ([`PTX`]), and as C++ for the processor
//! ([`Processor`]), with blocks, threads and barriers emulated. What puts kernels together ([`transform`], [`sum`]) knows only a
//! [`Machine`], so that all of it is compared with another library where there is no card.

mod kernel;
mod machine;
#[allow(unsafe_code, reason = "calls into the C++ that the kernels are")]
mod processor;
pub mod sum;
pub mod transform;
mod types;

pub use kernel::{Kernel, arguments};
pub use machine::{Keep, Machine, MachineError, Memory, blocks_for, blocks_striding};
pub use processor::{FieldOperation, Processor, arguments_bytes};
pub use types::{Affine, Fp, Fr, Sum};

/// The kernels as PTX version 8.0 for compute capability 7.5: for cards from Turing on, with drivers from 525 on, which
/// compile it for the card. Written by `cargo xtask ptx`.
pub const PTX: &str = include_str!("../ptx/kernels.ptx");
