//! Sums of products of scalars and points over G1 by buckets, and sums of chosen points.

use crate::machine::{blocks_for, blocks_striding};
use crate::{Affine, Kernel, Machine, MachineError, Memory, Processor, Sum, arguments};

/// Windows of 16 bits in a scalar.
pub const WINDOWS: u32 = 16;
/// Buckets of a window: digits are signed.
const BUCKETS: u32 = 1 << 15;
/// Sums that are put together in one step, as a logarithm.
const GROUP_LOG: u32 = 5;
/// Most points: an index shares its word with a sign.
const POINTS_MOST: u32 = 1 << 30;
/// Blocks of a sum of chosen points at most; each gives one sum.
const SELECTED_BLOCKS_MOST: u32 = 1_024;

/// Distinct points: (start + i stride) G. `step` is stride G.
pub fn make_points<M: Machine>(machine: &M, step: Affine, start: u64, stride: u64, count: u64) -> Result<Memory, MachineError> {
    /// Points that a thread makes at once.
    const TOGETHER: u64 = 8;
    let out = machine.memory(count as usize * size_of::<Affine>())?;
    let arguments = arguments::MakePoints {
        out: out.address(),
        padding: 0,
        generator: Affine::GENERATOR,
        step,
        start,
        stride,
        count,
        end: 0,
    };
    machine.run(Kernel::MakePoints, blocks_striding(Kernel::MakePoints, count.div_ceil(TOGETHER)), &arguments)?;
    Ok(out)
}

/// Room for a sum of products; can be used again and again.
#[derive(Debug, Clone)]
pub struct Room {
    count: u32,
    together: u32,
    counts: Memory,
    starts: Memory,
    entries: Memory,
    buckets: Memory,
    reduced: [Memory; 6],
}

/// Where a sum finds what it sums, and where it goes: addresses on the machine.
#[derive(Debug, Clone, Copy)]
pub struct Places {
    /// Points.
    pub points: u64,
    /// As many scalars, plain.
    pub scalars: u64,
    /// A sum for each window.
    pub out: u64,
}

impl Room {
    /// Room for `count` products, with so many of the 16 windows at a time: fewer take less memory.
    pub fn new<M: Machine>(machine: &M, count: u32, together: u32) -> Result<Self, MachineError> {
        let together = together.clamp(1, WINDOWS);
        if count == 0 || count > POINTS_MOST || !WINDOWS.is_multiple_of(together) {
            return Err(MachineError::Failed(format!("{count} products in {together} windows at a time cannot be summed")));
        }
        let words = |each: u32| machine.memory(together as usize * each as usize * size_of::<u32>());
        let sums = |log: u32| machine.memory(((together as usize) << log) * size_of::<Sum>());
        Ok(Self {
            count,
            together,
            counts: words(BUCKETS)?,
            starts: words(BUCKETS + 1)?,
            entries: words(count)?,
            buckets: sums(15)?,
            reduced: [sums(10)?, sums(10)?, sums(5)?, sums(5)?, sums(0)?, sums(0)?],
        })
    }

    /// Memory that it takes for `count` products, bytes.
    pub fn bytes(count: u64, together: u64) -> u64 {
        let sums = size_of::<Sum>() as u64;
        together * (2 * 4 * (u64::from(BUCKETS) + 1) + 4 * count + sums * ((1 << 15) + 2 * ((1 << 10) + (1 << 5) + 1)))
    }

    /// The sum of scalars[i] points[i], window by window. Scalars are plain.
    pub fn sum<M: Machine>(&self, machine: &M, points: &Memory, scalars: &Memory) -> Result<Vec<Sum>, MachineError> {
        let mut windows = Vec::with_capacity(WINDOWS as usize);
        let places = Places { points: points.address(), scalars: scalars.address(), out: self.reduced[4].address() };
        for first_window in (0..WINDOWS).step_by(self.together as usize) {
            self.some_windows(machine, places, first_window)?;
            windows.extend(machine.items::<Sum>(&self.reduced[4], self.together as usize)?);
        }
        Ok(windows)
    }

    /// Launches a whole sum and does not wait for it: `places.out` gets the sum of each window. Only where all windows are
    /// worked on together.
    pub fn launch<M: Machine>(&self, machine: &M, places: Places) -> Result<(), MachineError> {
        if self.together != WINDOWS {
            return Err(MachineError::Failed("a sum that nobody waits for needs all its windows together".to_owned()));
        }
        self.some_windows(machine, places, 0)
    }

    /// Launches what sums some windows, from one on.
    fn some_windows<M: Machine>(&self, machine: &M, places: Places, first_window: u32) -> Result<(), MachineError> {
        machine.clear(&self.counts)?;
        let buckets = arguments::Buckets {
            scalars: places.scalars,
            counts: self.counts.address(),
            entries: self.entries.address(),
            count: self.count,
            first_window,
            windows: self.together,
            unused: 0,
        };
        let blocks = blocks_striding(Kernel::Count, u64::from(self.count));
        machine.run(Kernel::Count, blocks, &buckets)?;
        let prefix = arguments::Prefix { counts: self.counts.address(), starts: self.starts.address() };
        machine.run(Kernel::Prefix, self.together, &prefix)?;
        machine.run(Kernel::Scatter, blocks, &buckets)?;
        let accumulate = arguments::Accumulate {
            points: places.points,
            starts: self.starts.address(),
            entries: self.entries.address(),
            buckets: self.buckets.address(),
            count: self.count,
            windows: self.together,
        };
        let all = u64::from(self.together) * u64::from(BUCKETS);
        machine.run(Kernel::Accumulate, blocks_for(Kernel::Accumulate, all), &accumulate)?;
        let [s1, t1, s2, t2, _, t3] = self.reduced.each_ref().map(Memory::address);
        let b = self.buckets.address();
        let steps = [(b, b, s1, t1, 10), (s1, t1, s2, t2, 5), (s2, t2, places.out, t3, 0)];
        for (step, (s, t, s_out, t_out, log)) in steps.into_iter().enumerate() {
            let groups = self.together << log;
            let reduce = arguments::Reduce { s, t, s_out, t_out, groups, unit_log: GROUP_LOG * step as u32 };
            machine.run(Kernel::Reduce, blocks_for(Kernel::Reduce, u64::from(groups)), &reduce)?;
        }
        Ok(())
    }
}

/// The sum of scalars[i] points[i]. Scalars are plain.
pub fn products<M: Machine>(
    machine: &M,
    points: &Memory,
    scalars: &Memory,
    count: u32,
    together: u32,
) -> Result<Affine, MachineError> {
    let windows = Room::new(machine, count, together)?.sum(machine, points, scalars)?;
    Ok(Processor.windows(&windows))
}

/// The sum of the points whose bit is set.
pub fn selected<M: Machine>(machine: &M, points: &Memory, bits: &Memory, count: u64) -> Result<Affine, MachineError> {
    let blocks = blocks_for(Kernel::SelectedSum, count).min(SELECTED_BLOCKS_MOST);
    let out = machine.memory(blocks as usize * size_of::<Sum>())?;
    let arguments = arguments::SelectedSum { points: points.address(), bits: bits.address(), out: out.address(), count };
    machine.run(Kernel::SelectedSum, blocks, &arguments)?;
    Ok(Processor.total(&machine.items(&out, blocks as usize)?))
}
