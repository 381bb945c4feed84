//! Number-theoretic transforms over the scalar field, put together from passes of at most nine levels.

use crate::machine::blocks_striding;
use crate::{Fr, Kernel, Machine, MachineError, Memory, Processor, arguments};

/// Smallest and largest transform, as logarithms. A block works on 2^10 elements; the field has roots of order 2^32.
pub const LOG_LEAST: u32 = 10;
/// The prover's own size is 2^27.
pub const LOG_MOST: u32 = 28;

/// Levels that a block does in one pass, at most.
const LEVELS_MOST: u32 = 9;
/// Elements that a block works on.
const TILE_LOG: u32 = 10;
/// Powers in the nearer of the two tables.
const WINDOW_LOG: u32 = 14;

/// Powers of roots of unity for one size and direction.
#[derive(Debug, Clone)]
pub struct Tables {
    log: u32,
    backward: bool,
    inner: Memory,
    near: Memory,
    far: Memory,
}

/// Powers of one base: the first 2^14, and every 2^14th of the first `count`.
#[derive(Debug, Clone)]
pub struct Powers {
    near: Memory,
    far: Memory,
}

fn powers<M: Machine>(machine: &M, count: u32, what: (Fr, u32, bool)) -> Result<Memory, MachineError> {
    let (base, log, inverse) = what;
    let memory = machine.memory(count as usize * size_of::<Fr>())?;
    let arguments =
        arguments::Powers { out: memory.address(), padding: 0, base, count, log, inverse: u32::from(inverse), unused: 0 };
    machine.run(Kernel::Powers, blocks_striding(Kernel::Powers, u64::from(count)), &arguments)?;
    Ok(memory)
}

impl Powers {
    /// Powers of `base`, enough for 2^log elements. `far` is base^(2^14). Both in Montgomery form.
    pub fn new<M: Machine>(machine: &M, base: Fr, far: Fr, log: u32) -> Result<Self, MachineError> {
        Ok(Self {
            near: powers(machine, 1 << WINDOW_LOG.min(log), (base, 0, false))?,
            far: powers(machine, 1 << log.saturating_sub(WINDOW_LOG), (far, 0, false))?,
        })
    }
}

impl Tables {
    /// Tables for transforms of 2^log elements: forward, or to undo them.
    pub fn new<M: Machine>(machine: &M, log: u32, backward: bool) -> Result<Self, MachineError> {
        if !(LOG_LEAST..=LOG_MOST).contains(&log) {
            return Err(MachineError::Size { log });
        }
        let root = |log: u32| (Fr::default(), log, backward);
        Ok(Self {
            log,
            backward,
            inner: powers(machine, 1 << (TILE_LOG - 1), root(TILE_LOG))?,
            near: powers(machine, 1 << WINDOW_LOG.min(log), root(log))?,
            far: powers(machine, 1 << log.saturating_sub(WINDOW_LOG), root(log.saturating_sub(WINDOW_LOG)))?,
        })
    }

    /// Transforms 2^log elements where they are. Forward: natural order in, order of the reversed index out. Backward: that
    /// undone, up to a factor of 2^log.
    pub fn apply<M: Machine>(&self, machine: &M, data: &Memory) -> Result<(), MachineError> {
        let mut passes = passes(self.log);
        if self.backward {
            passes.reverse();
        }
        for (lo, levels) in passes {
            let arguments = arguments::Transform {
                data: data.address(),
                inner: self.inner.address(),
                near: self.near.address(),
                far: self.far.address(),
                log: self.log,
                lo,
                levels,
                backward: u32::from(self.backward),
            };
            machine.run(Kernel::Transform, 1 << (self.log - TILE_LOG), &arguments)?;
        }
        Ok(())
    }
}

/// A root of unity of order 2^log, in Montgomery form, by the processor: 7^((r-1)/2^log). One for 0.
pub fn root(log: u32) -> Fr {
    Processor.root(log)
}

/// 2^512 modulo r: a product with it takes a plain number into Montgomery form.
pub fn montgomery_factor() -> Fr {
    Processor.montgomery_factor()
}

/// The passes of a forward transform: lowest level, levels.
fn passes(log: u32) -> Vec<(u32, u32)> {
    let count = log.div_ceil(LEVELS_MOST).max(2);
    let mut top = log;
    (0..count)
        .map(|pass| {
            let levels = log / count + u32::from(pass < log % count);
            top -= levels;
            (top, levels)
        })
        .collect()
}

/// Elements times `scale` times the powers of a base.
pub fn scale<M: Machine>(machine: &M, data: &Memory, powers: &Powers, scale: Fr, count: u64) -> Result<(), MachineError> {
    let arguments = arguments::Scale {
        data: data.address(),
        near: powers.near.address(),
        far: powers.far.address(),
        padding: 0,
        scale,
        count,
        end: 0,
    };
    machine.run(Kernel::Scale, blocks_striding(Kernel::Scale, count), &arguments)
}

/// `a` becomes (a b - c) z, element by element.
pub fn quotient<M: Machine>(machine: &M, a: &Memory, b: &Memory, c: &Memory, z: Fr, count: u64) -> Result<(), MachineError> {
    let arguments = arguments::Quotient { a: a.address(), b: b.address(), c: c.address(), padding: 0, z, count, end: 0 };
    machine.run(Kernel::Quotient, blocks_striding(Kernel::Quotient, count), &arguments)
}

/// Elements into the order of their reversed index, or back.
pub fn reorder<M: Machine>(machine: &M, data: &Memory, log: u32) -> Result<(), MachineError> {
    let arguments = arguments::Reorder { data: data.address(), log, unused: 0 };
    machine.run(Kernel::Reorder, blocks_striding(Kernel::Reorder, 1 << log), &arguments)
}

/// Into Montgomery form, or out of it.
pub fn convert<M: Machine>(machine: &M, data: &Memory, count: u64, to_plain: bool) -> Result<(), MachineError> {
    let arguments = arguments::Convert { data: data.address(), count, to_plain: u32::from(to_plain), unused: 0 };
    machine.run(Kernel::Convert, blocks_striding(Kernel::Convert, count), &arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_cover_every_level_once_and_leave_room_for_whole_tiles() {
        for log in LOG_LEAST..=LOG_MOST {
            let passes = passes(log);
            assert_eq!(passes.iter().map(|(_, levels)| levels).sum::<u32>(), log);
            assert_eq!(passes.last().map(|(lo, _)| *lo), Some(0));
            for (lo, levels) in passes {
                assert!(levels <= LEVELS_MOST && (lo == 0 || lo + levels >= TILE_LOG), "2^{log}: {levels} levels from {lo}");
            }
        }
    }
}
