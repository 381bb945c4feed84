//! The kernels on the processor: one block after another, one thread after another. For tests, and to check a card by.

use std::ffi::CString;
use std::os::raw::{c_char, c_int, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use crate::machine::Keep;
use crate::{Affine, Fp, Fr, Kernel, Machine, MachineError, Memory, Sum};

unsafe extern "C" {
    fn dw_processor_run(kernel: *const c_char, arguments: *const c_void, blocks: u32, threads: u32) -> c_int;
    fn dw_processor_arguments(kernel: *const c_char) -> u32;
    fn dw_processor_total(sums: *const Sum, count: u64, out: *mut Affine);
    fn dw_processor_windows(windows: *const Sum, count: u64, out: *mut Affine);
    fn dw_processor_fp(what: u32, a: *const Fp, b: *const Fp, out: *mut Fp);
    fn dw_processor_fr(what: u32, a: *const Fr, b: *const Fr, out: *mut Fr);
    fn dw_processor_root(log: u32, out: *mut Fr);
    fn dw_processor_r2(out: *mut Fr);
    fn dw_processor_points(one: *const Affine, other: *const Affine, minus: c_int, out: *mut Affine) -> c_int;
}

/// The processor, as a machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Processor;

/// Memory in units that are aligned as the kernels' types are.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(16))]
struct Unit([u8; 16]);

#[derive(Debug)]
struct Kept(Mutex<Box<[Unit]>>);

impl Keep for Kept {}

impl Machine for Processor {
    fn memory(&self, bytes: usize) -> Result<Memory, MachineError> {
        let units = bytes.div_ceil(size_of::<Unit>());
        let mut room = Vec::new();
        room.try_reserve_exact(units).map_err(|_| MachineError::Memory { bytes })?;
        room.resize(units, Unit([0xcd; 16]));
        let kept = Kept(Mutex::new(room.into_boxed_slice()));
        let address = kept.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut_ptr() as u64;
        Ok(Memory::new(address, bytes, Arc::new(kept)))
    }

    fn write(&self, to: &Memory, bytes: &[u8]) -> Result<(), MachineError> {
        within(to, bytes.len())?;
        // SAFETY: the memory is alive while `to` is, and as large as was just checked; nothing else runs meanwhile.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.address() as *mut u8, bytes.len()) };
        Ok(())
    }

    fn read(&self, from: &Memory, into: &mut [u8]) -> Result<(), MachineError> {
        within(from, into.len())?;
        // SAFETY: as above.
        unsafe { std::ptr::copy_nonoverlapping(from.address() as *const u8, into.as_mut_ptr(), into.len()) };
        Ok(())
    }

    fn clear(&self, memory: &Memory) -> Result<(), MachineError> {
        // SAFETY: the memory is alive and has this size.
        unsafe { std::ptr::write_bytes(memory.address() as *mut u8, 0, memory.bytes()) };
        Ok(())
    }

    fn launch(&self, kernel: Kernel, blocks: u32, arguments: &[u8]) -> Result<(), MachineError> {
        let name = CString::new(kernel.name()).map_err(|error| MachineError::Failed(error.to_string()))?;
        let wanted = arguments_bytes(kernel);
        if wanted != arguments.len() {
            let words = format!("{} takes {wanted} bytes of arguments, and was given {}", kernel.name(), arguments.len());
            return Err(MachineError::Failed(words));
        }
        // SAFETY: the arguments have the size that the kernel reads. That the addresses in them are of memory that is large
        // enough is up to who puts kernels together, as on a card.
        let code = unsafe { dw_processor_run(name.as_ptr(), arguments.as_ptr().cast(), blocks, kernel.threads()) };
        if code == 0 { Ok(()) } else { Err(MachineError::Failed(format!("no kernel is called {}", kernel.name()))) }
    }
}

/// Bytes of arguments that a kernel reads; 0 where the processor does not have it.
pub fn arguments_bytes(kernel: Kernel) -> usize {
    // SAFETY: reads the name alone.
    CString::new(kernel.name()).map_or(0, |name| unsafe { dw_processor_arguments(name.as_ptr()) } as usize)
}

fn within(memory: &Memory, bytes: usize) -> Result<(), MachineError> {
    if bytes <= memory.bytes() {
        Ok(())
    } else {
        Err(MachineError::Failed(format!("{bytes} bytes do not fit into {}", memory.bytes())))
    }
}

/// An operation in a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldOperation {
    /// a + b.
    Add,
    /// a - b.
    Subtract,
    /// a b.
    Multiply,
    /// 1/a; 0 for 0.
    Invert,
    /// -a.
    Negate,
    /// Out of Montgomery form.
    Plain,
}

impl Processor {
    /// The sum of sums.
    pub fn total(&self, sums: &[Sum]) -> Affine {
        let mut out = Affine::default();
        // SAFETY: reads as many sums as there are.
        unsafe { dw_processor_total(sums.as_ptr(), sums.len() as u64, &mut out) };
        out
    }

    /// Windows of 16 bits put together.
    pub fn windows(&self, windows: &[Sum]) -> Affine {
        let mut out = Affine::default();
        // SAFETY: reads as many sums as there are.
        unsafe { dw_processor_windows(windows.as_ptr(), windows.len() as u64, &mut out) };
        out
    }

    /// One operation in the base field, Montgomery form.
    pub fn fp(&self, what: FieldOperation, a: &Fp, b: &Fp) -> Fp {
        let mut out = Fp::default();
        // SAFETY: three elements.
        unsafe { dw_processor_fp(what as u32, a, b, &mut out) };
        out
    }

    /// One operation in the scalar field, Montgomery form.
    pub fn fr(&self, what: FieldOperation, a: &Fr, b: &Fr) -> Fr {
        let mut out = Fr::default();
        // SAFETY: three elements.
        unsafe { dw_processor_fr(what as u32, a, b, &mut out) };
        out
    }

    pub(crate) fn root(&self, log: u32) -> Fr {
        let mut out = Fr::default();
        // SAFETY: one element.
        unsafe { dw_processor_root(log, &mut out) };
        out
    }

    pub(crate) fn montgomery_factor(&self) -> Fr {
        let mut out = Fr::default();
        // SAFETY: one element.
        unsafe { dw_processor_r2(&mut out) };
        out
    }

    /// one + other, or one - other; `None` where the mixed and the general formula differ.
    pub fn points(&self, one: &Affine, other: &Affine, minus: bool) -> Option<Affine> {
        let mut out = Affine::default();
        // SAFETY: three points.
        let agree = unsafe { dw_processor_points(one, other, c_int::from(minus), &mut out) };
        (agree != 0).then_some(out)
    }
}
