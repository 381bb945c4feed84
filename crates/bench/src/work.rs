//! What is measured: each test with its data, how it is run, how its result is checked, and how much work it is.

use dwell_kernels::transform::{self, Tables};
use dwell_kernels::{
    Affine, FieldOperation, Fr, Kernel, MachineError, Memory, Processor, Sum, arguments, blocks_for, blocks_striding, sum,
};
use serde::Serialize;

use crate::clocked::{Clocked, Part, QUEUES};
use crate::partition;
use crate::predict::{PARTITION_LOG, PARTITIONS};

/// Bytes of a quad.
const QUAD: u64 = 16;
/// Products in a chain, and rounds of multiply-adds, of one launch on a whole card.
const CHAIN_ROUNDS: u32 = 4_096;
const ADD_ROUNDS: u32 = 16_384;
/// Results that are checked one by one where all of them would take the processor too long.
const SPOT_CHECKS: usize = 8;
/// Points of the series that sums are made of: (start + i stride) G.
pub(crate) const START: u64 = 0x1234_5678;
pub(crate) const STRIDE: u64 = 0x9e37_79b1;

/// A test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case", tag = "test", content = "size")]
pub enum Test {
    /// Reading the card's memory, bytes.
    MemoryRead(u64),
    /// Writing it.
    MemoryWrite(u64),
    /// Copying within it.
    MemoryCopy(u64),
    /// Copies to the card from pinned memory, bytes.
    CopyIn(u64),
    /// Copies to the card from ordinary memory.
    CopyInPageable(u64),
    /// Copies from the card to pinned memory.
    CopyOut(u64),
    /// Both ways at once, pinned: bytes each way.
    CopyBoth(u64),
    /// 32-bit multiply-adds: blocks.
    MultiplyAdd(u32),
    /// 32-bit multiply-adds into 64 bits: blocks.
    MultiplyAddWide(u32),
    /// Products in the scalar field: blocks.
    ScalarProducts(u32),
    /// Products in the base field: blocks.
    BaseProducts(u32),
    /// A transform of 2^log elements.
    Transform(u32),
    /// A sum of 2^log products.
    Products(u32),
    /// Chosen points streamed from pinned memory: 2^log points.
    Streamed(u32),
    /// All that a card does for a partition of a proof, of a domain of 2^log; the prover's own is 2^27.
    Partition(u32),
}

impl Test {
    /// What is counted.
    pub fn unit(self) -> &'static str {
        match self {
            Self::MemoryRead(_)
            | Self::MemoryWrite(_)
            | Self::MemoryCopy(_)
            | Self::CopyIn(_)
            | Self::CopyInPageable(_)
            | Self::CopyOut(_)
            | Self::CopyBoth(_)
            | Self::Streamed(_) => "B/s",
            Self::MultiplyAdd(_) | Self::MultiplyAddWide(_) | Self::ScalarProducts(_) | Self::BaseProducts(_) => "1/s",
            Self::Transform(_) => "elements/s",
            Self::Products(_) => "points/s",
            Self::Partition(_) => "proofs/h",
        }
    }

    /// Its name for people.
    pub fn title(self) -> String {
        match self {
            Self::MemoryRead(_) => "Card memory, read".to_owned(),
            Self::MemoryWrite(_) => "Card memory, write".to_owned(),
            Self::MemoryCopy(_) => "Card memory, copy".to_owned(),
            Self::CopyIn(_) => "Copy to the card, pinned".to_owned(),
            Self::CopyInPageable(_) => "Copy to the card, pageable".to_owned(),
            Self::CopyOut(_) => "Copy from the card, pinned".to_owned(),
            Self::CopyBoth(_) => "Copies both ways, pinned".to_owned(),
            Self::MultiplyAdd(_) => "Multiply-add, 32 bits".to_owned(),
            Self::MultiplyAddWide(_) => "Multiply-add, wide".to_owned(),
            Self::ScalarProducts(_) => "Products, scalar field".to_owned(),
            Self::BaseProducts(_) => "Products, base field".to_owned(),
            Self::Transform(log) => format!("Transform of 2^{log}"),
            Self::Products(log) => format!("Sum of 2^{log} products"),
            Self::Streamed(log) => format!("Streamed sum of 2^{log} points"),
            Self::Partition(log) => format!("Whole partition of 2^{log}"),
        }
    }

    /// Work of one run: bytes moved, operations, elements or points; of a partition proofs, times the seconds of an hour.
    pub fn amount(self) -> f64 {
        let threads = |kernel: Kernel, blocks: u32| f64::from(kernel.threads()) * f64::from(blocks);
        match self {
            Self::MemoryRead(bytes) | Self::MemoryWrite(bytes) => bytes as f64,
            Self::MemoryCopy(bytes) | Self::CopyBoth(bytes) => 2.0 * bytes as f64,
            Self::CopyIn(bytes) | Self::CopyInPageable(bytes) | Self::CopyOut(bytes) => bytes as f64,
            Self::MultiplyAdd(blocks) | Self::MultiplyAddWide(blocks) => {
                threads(Kernel::MultiplyAdd, blocks) * 16.0 * f64::from(ADD_ROUNDS)
            }
            Self::ScalarProducts(blocks) | Self::BaseProducts(blocks) => {
                threads(Kernel::FrChain, blocks) * f64::from(CHAIN_ROUNDS)
            }
            Self::Transform(log) | Self::Products(log) => 2_f64.powi(log as i32),
            Self::Streamed(log) => 2_f64.powi(log as i32) * size_of::<Affine>() as f64,
            Self::Partition(log) => 3600.0 / PARTITIONS * 2_f64.powi(log as i32 - PARTITION_LOG),
        }
    }
}

/// A rate with a prefix that keeps it readable: `24.9 GB/s`, `138.2 M points/s`, `104 proofs/h`.
pub fn rate(value: f64, unit: &str) -> String {
    if unit == "proofs/h" {
        return format!("{value:.1} {unit}");
    }
    let (factor, prefix) = match value {
        value if value >= 1e12 => (1e12, "T"),
        value if value >= 1e9 => (1e9, "G"),
        value if value >= 1e6 => (1e6, "M"),
        _ => (1e3, "k"),
    };
    let shown = value / factor;
    // Operations have no name: "18.2 G/s".
    match unit {
        "1/s" => format!("{shown:.1} {prefix}/s"),
        "B/s" => format!("{shown:.1} {prefix}B/s"),
        unit => format!("{shown:.1} {prefix} {unit}"),
    }
}

pub(crate) type Run<'m> = Box<dyn FnMut() -> Result<(), MachineError> + 'm>;
pub(crate) type Verify<'m> = Box<dyn FnMut() -> Result<bool, MachineError> + 'm>;

/// A test that is ready to run.
pub struct Ready<'m> {
    /// Puts one run into the machine's queues.
    pub run: Run<'m>,
    /// Whether the result is right. Runs the test once more, on data of its own.
    pub verify: Verify<'m>,
}

/// Numbers that repeat from run to run: splitmix64.
pub(crate) fn number(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A plain scalar below the order of the group: its top bits are left empty.
fn scalar(index: u64) -> Fr {
    let mut limbs = [0; 8];
    for (place, pair) in limbs.chunks_exact_mut(2).enumerate() {
        let word = number(0xd3e11, 4 * index + place as u64);
        (pair[0], pair[1]) = (word as u32, (word >> 32) as u32);
    }
    limbs[7] &= 0x3fff_ffff;
    Fr(limbs)
}

/// Makes a test ready on a machine.
pub fn prepare<M: Clocked>(machine: &M, test: Test) -> Result<Ready<'_>, MachineError> {
    match test {
        Test::MemoryRead(bytes) | Test::MemoryWrite(bytes) | Test::MemoryCopy(bytes) => memory(machine, test, bytes),
        Test::CopyIn(bytes) | Test::CopyInPageable(bytes) | Test::CopyOut(bytes) | Test::CopyBoth(bytes) => {
            copies(machine, test, bytes)
        }
        Test::MultiplyAdd(blocks) => multiply_adds(machine, Kernel::MultiplyAdd, blocks),
        Test::MultiplyAddWide(blocks) => multiply_adds(machine, Kernel::MultiplyAddWide, blocks),
        Test::ScalarProducts(blocks) | Test::BaseProducts(blocks) => chains(machine, test, blocks),
        Test::Transform(log) => transforms(machine, log),
        Test::Products(log) => products(machine, log),
        Test::Streamed(log) => streamed(machine, log),
        Test::Partition(log) => partition::partition(machine, log),
    }
}

/// What `WriteMemory` writes at a place.
fn written(place: u32, seed: u32) -> [u32; 4] {
    let x = place.wrapping_mul(2_654_435_761).wrapping_add(seed);
    [x, x ^ 0x9e37_79b9, x.wrapping_add(0x7f4a_7c15), !x]
}

fn memory<M: Clocked>(machine: &M, test: Test, bytes: u64) -> Result<Ready<'_>, MachineError> {
    const SEED: u32 = 0x5eed;
    let count = bytes / QUAD;
    let (one, other) = (machine.memory(bytes as usize)?, machine.memory(bytes as usize)?);
    let blocks = blocks_striding(Kernel::ReadMemory, count);
    let threads = blocks as usize * Kernel::ReadMemory.threads() as usize;
    let out = machine.memory(threads * size_of::<u32>())?;
    let write = arguments::WriteMemory { to: one.address(), count, seed: SEED, unused: 0 };
    let copy = arguments::CopyMemory { to: other.address(), from: one.address(), count };
    machine.run(Kernel::WriteMemory, blocks, &write)?;
    machine.run(Kernel::CopyMemory, blocks, &copy)?;
    let reading = arguments::ReadMemory { from: one.address(), count, out: out.address() };
    let checking =
        if matches!(test, Test::MemoryCopy(_)) { arguments::ReadMemory { from: other.address(), ..reading } } else { reading };
    let alive = (one.clone(), other.clone());
    let step = move || {
        let _alive = &alive;
        match test {
            Test::MemoryWrite(_) => machine.queue(0, Kernel::WriteMemory, blocks, &write),
            Test::MemoryCopy(_) => machine.queue(0, Kernel::CopyMemory, blocks, &copy),
            _ => machine.queue(0, Kernel::ReadMemory, blocks, &reading),
        }
    };
    let run: Run<'_> = Box::new(step.clone());
    let fold = |all: u32, word: u32| all ^ word;
    let expected = (0..count).map(|place| written(place as u32, SEED).into_iter().fold(0, fold)).fold(0, fold);
    // What the test writes is cleared first: a kernel that writes nothing must not pass.
    let verify: Verify<'_> = Box::new(move || {
        match test {
            Test::MemoryWrite(_) => machine.clear(&one)?,
            Test::MemoryCopy(_) => machine.clear(&other)?,
            _ => machine.clear(&out)?,
        }
        machine.seconds(&mut || step())?;
        machine.run(Kernel::ReadMemory, blocks, &checking)?;
        Ok(machine.items::<u32>(&out, threads)?.into_iter().fold(0, fold) == expected)
    });
    Ok(Ready { run, verify })
}

/// Copies between host and card. What arrives is compared with what was sent, at the start and at the end.
fn copies<M: Clocked>(machine: &M, test: Test, bytes: u64) -> Result<Ready<'_>, MachineError> {
    let bytes = bytes as usize;
    let pattern: Vec<u8> = (0..bytes.div_ceil(8) as u64).flat_map(|place| number(7, place).to_le_bytes()).take(bytes).collect();
    let there = machine.memory(bytes)?;
    machine.write(&there, &pattern)?;
    let near = machine.pinned(bytes)?;
    fill(machine, &near, &there, bytes)?;
    // Both ways at once: what goes out has a place of its own.
    let (there_too, near_too) = match test {
        Test::CopyBoth(_) => (machine.memory(bytes)?, machine.pinned(bytes)?),
        _ => (there.clone(), near.clone()),
    };
    let ordinary = pattern.clone();
    let (to, from, out_from, out_to) = (there.clone(), near, there_too.clone(), near_too.clone());
    let step = move || match test {
        Test::CopyInPageable(_) => machine.write(&to, &ordinary),
        Test::CopyOut(_) => machine.copy_out(0, whole(&out_to), whole(&out_from), bytes),
        Test::CopyBoth(_) => {
            machine.copy_in(0, whole(&to), whole(&from), bytes)?;
            machine.copy_out(1, whole(&out_to), whole(&out_from), bytes)
        }
        _ => machine.copy_in(0, whole(&to), whole(&from), bytes),
    };
    let run: Run<'_> = Box::new(step.clone());
    // Where the copies go is cleared first: a copy that moves nothing must not pass.
    let verify: Verify<'_> = Box::new(move || {
        let (comes_in, goes_out) = match test {
            Test::CopyBoth(_) => (true, true),
            Test::CopyOut(_) => (false, true),
            _ => (true, false),
        };
        if goes_out {
            machine.clear(&there_too)?;
            fill(machine, &near_too, &there_too, bytes)?;
            machine.write(&there_too, &pattern)?;
        }
        if comes_in {
            machine.clear(&there)?;
        }
        machine.seconds(&mut || step())?;
        let mut back = vec![0_u8; bytes];
        machine.read(&there, &mut back)?;
        let arrived = back == pattern;
        if !goes_out {
            return Ok(arrived);
        }
        // Over the card once more: what is in the host's pinned memory now.
        machine.clear(&there_too)?;
        machine.seconds(&mut || machine.copy_in(0, whole(&there_too), whole(&near_too), bytes))?;
        machine.read(&there_too, &mut back)?;
        Ok(arrived && back == pattern)
    });
    Ok(Ready { run, verify })
}

pub(crate) fn whole(memory: &Memory) -> Part<'_> {
    Part { memory, from: 0 }
}

/// Fills pinned memory from memory of the machine.
pub(crate) fn fill<M: Clocked>(machine: &M, near: &Memory, there: &Memory, bytes: usize) -> Result<(), MachineError> {
    machine.seconds(&mut || machine.copy_out(0, whole(near), whole(there), bytes)).map(drop)
}

fn multiply_adds<M: Clocked>(machine: &M, kernel: Kernel, blocks: u32) -> Result<Ready<'_>, MachineError> {
    const SEED: u32 = 0x0bad_cafe;
    let wide = kernel == Kernel::MultiplyAddWide;
    let threads = blocks as usize * kernel.threads() as usize;
    let out = machine.memory(threads * if wide { 8 } else { 4 })?;
    let adds = arguments::MultiplyAdd { out: out.address(), rounds: ADD_ROUNDS, seed: SEED };
    let alive = out.clone();
    let run: Run<'_> = Box::new(move || {
        let _alive = &alive;
        machine.queue(0, kernel, blocks, &adds)
    });
    let verify: Verify<'_> = Box::new(move || {
        machine.run(kernel, blocks, &adds)?;
        let got: Vec<u64> = if wide {
            machine.items(&out, threads)?
        } else {
            machine.items::<u32>(&out, threads)?.into_iter().map(u64::from).collect()
        };
        Ok(spots(threads).all(|thread| got[thread] == added(thread as u32, SEED, wide)))
    });
    Ok(Ready { run, verify })
}

/// What a thread of the multiply-adds comes to.
fn added(thread: u32, seed: u32, wide: bool) -> u64 {
    let factor = thread.wrapping_mul(2).wrapping_add(seed);
    (1..=16_u64).fold(0, |all, first| {
        let sum = (0..ADD_ROUNDS).fold(first, |sum, _| {
            if wide {
                sum.wrapping_add(u64::from(sum as u32).wrapping_mul(u64::from(factor)))
            } else {
                u64::from((sum as u32).wrapping_add((sum as u32).wrapping_mul(factor)))
            }
        });
        all ^ sum
    })
}

/// Some places of many, the first and the last among them.
fn spots(of: usize) -> impl Iterator<Item = usize> {
    let step = (of / SPOT_CHECKS).max(1);
    (0..of).step_by(step).chain(std::iter::once(of - 1))
}

fn chains<M: Clocked>(machine: &M, test: Test, blocks: u32) -> Result<Ready<'_>, MachineError> {
    let base = matches!(test, Test::BaseProducts(_));
    let kernel = if base { Kernel::FpChain } else { Kernel::FrChain };
    let threads = blocks as usize * kernel.threads() as usize;
    // Any number below the modulus is the Montgomery form of some other.
    let limbs = if base { 12 } else { 8 };
    let operand = |seed: u64| -> Vec<u32> {
        let of = |place: usize| {
            if place % limbs == limbs - 1 {
                number(seed, place as u64) as u32 & 0x0fff_ffff
            } else {
                number(seed, place as u64) as u32
            }
        };
        (0..threads * limbs).map(of).collect()
    };
    let (first, factors) = (operand(1), operand(2));
    let (x, y) = (machine.holding(&first)?, machine.holding(&factors)?);
    let chain = arguments::Chain { x: x.address(), y: y.address(), rounds: CHAIN_ROUNDS, unused: 0 };
    let alive = (x.clone(), y);
    let run: Run<'_> = Box::new(move || {
        let _alive = &alive;
        machine.queue(0, kernel, blocks, &chain)
    });
    let verify: Verify<'_> = Box::new(move || {
        machine.write(&x, bytemuck::cast_slice(&first))?;
        machine.run(kernel, blocks, &chain)?;
        let got: Vec<u32> = machine.items(&x, threads * limbs)?;
        Ok(spots(threads).all(|thread| {
            let of = |all: &[u32]| all[thread * limbs..(thread + 1) * limbs].to_vec();
            chained(&of(&first), &of(&factors)) == of(&got)
        }))
    });
    Ok(Ready { run, verify })
}

/// x y^rounds, product by product, on the processor.
fn chained(x: &[u32], y: &[u32]) -> Vec<u32> {
    let multiply = FieldOperation::Multiply;
    if x.len() == 12 {
        let of = |limbs: &[u32]| dwell_kernels::Fp(std::array::from_fn(|i| limbs[i]));
        let (x, y) = (of(x), of(y));
        (0..CHAIN_ROUNDS).fold(x, |x, _| Processor.fp(multiply, &x, &y)).0.to_vec()
    } else {
        let of = |limbs: &[u32]| Fr(std::array::from_fn(|i| limbs[i]));
        let (x, y) = (of(x), of(y));
        (0..CHAIN_ROUNDS).fold(x, |x, _| Processor.fr(multiply, &x, &y)).0.to_vec()
    }
}

/// A transform of a geometric series has a closed form: X_j = (g^n - 1) / (g w^j - 1).
fn transforms<M: Clocked>(machine: &M, log: u32) -> Result<Ready<'_>, MachineError> {
    let tables = Tables::new(machine, log, false)?;
    let data = machine.memory((size_of::<Fr>()) << log)?;
    machine.clear(&data)?;
    let (own_tables, own_data) = (tables.clone(), data.clone());
    let run: Run<'_> = Box::new(move || own_tables.apply(machine, &own_data));
    let verify: Verify<'_> = Box::new(move || {
        let field = |what, a: &Fr, b: &Fr| Processor.fr(what, a, b);
        let one = one();
        // g = 7.
        let g = (0..6).fold(one, |sum, _| field(FieldOperation::Add, &sum, &one));
        let series =
            arguments::Powers { out: data.address(), padding: 0, base: g, count: 1 << log, log: 0, inverse: 0, unused: 0 };
        machine.run(Kernel::Powers, blocks_striding(Kernel::Powers, 1 << log), &series)?;
        tables.apply(machine, &data)?;
        // The first results in memory are those whose index is small when its bits are reversed.
        let got: Vec<Fr> = machine.items(&data, 64)?;
        let (root, whole) = (transform::root(log), power(g, 1 << log));
        let above = field(FieldOperation::Subtract, &whole, &one);
        Ok((0..64_u64).all(|place| {
            let index = place.reverse_bits() >> (64 - log);
            let term = field(FieldOperation::Multiply, &g, &power(root, index));
            let below = field(FieldOperation::Subtract, &term, &one);
            let inverse = field(FieldOperation::Invert, &below, &below);
            field(FieldOperation::Multiply, &above, &inverse) == got[place as usize]
        }))
    });
    Ok(Ready { run, verify })
}

/// One, in Montgomery form.
pub(crate) fn one() -> Fr {
    transform::root(0)
}

pub(crate) fn power(mut x: Fr, mut exponent: u64) -> Fr {
    let mut result = one();
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = Processor.fr(FieldOperation::Multiply, &result, &x);
        }
        x = Processor.fr(FieldOperation::Multiply, &x, &x);
        exponent >>= 1;
    }
    result
}

/// A plain scalar times G, on the processor.
pub(crate) fn times_generator(scalar: Fr) -> Result<Affine, MachineError> {
    let (point, scalar) = (
        dwell_kernels::Machine::holding(&Processor, &[Affine::GENERATOR])?,
        dwell_kernels::Machine::holding(&Processor, &[scalar])?,
    );
    sum::products(&Processor, &point, &scalar, 1, sum::WINDOWS)
}

pub(crate) fn plain(number: u64) -> Fr {
    let mut limbs = [0; 8];
    (limbs[0], limbs[1]) = (number as u32, (number >> 32) as u32);
    Fr(limbs)
}

/// The factor of the point of the series at a place.
pub(crate) fn factor(place: u64) -> u64 {
    START + place * STRIDE
}

/// The plain sum of the factors of chosen points: as many as there are bits, over points that begin again after `period`.
pub(crate) fn chosen(bits: &[u32], count: u64, period: u64) -> Fr {
    let is_chosen = |place: &u64| (bits[(place / 32) as usize] >> (place % 32)) & 1 == 1;
    // Below 2^127: fewer than 2^40 factors of 64 bits.
    let sum: u128 = (0..count).filter(is_chosen).map(|place| u128::from(factor(place % period))).sum();
    let mut limbs = [0; 8];
    for (place, limb) in limbs.iter_mut().take(4).enumerate() {
        *limb = (sum >> (32 * place)) as u32;
    }
    Fr(limbs)
}

/// The plain sum of terms a[i] b[i], from Montgomery products: a b is (a b R) / R, with R squared put in by a first product.
fn dot(terms: impl Iterator<Item = (Fr, u64)>) -> Fr {
    let zero = Fr::default();
    let into = transform::montgomery_factor();
    terms.fold(zero, |sum, (scalar, factor)| {
        let lifted = Processor.fr(FieldOperation::Multiply, &scalar, &into);
        let product = Processor.fr(FieldOperation::Multiply, &lifted, &plain(factor));
        Processor.fr(FieldOperation::Add, &sum, &product)
    })
}

/// Points of a series: a sum of products over them is one scalar times G.
fn products<M: Clocked>(machine: &M, log: u32) -> Result<Ready<'_>, MachineError> {
    let count = 1_u32 << log;
    let points = sum::make_points(machine, times_generator(plain(STRIDE))?, START, STRIDE, u64::from(count))?;
    let scalars: Vec<Fr> = (0..u64::from(count)).map(scalar).collect();
    let there = machine.holding(&scalars)?;
    // All windows at once where they take no more than the points and scalars themselves do several times over.
    let room = [16, 4, 1].into_iter().find_map(|together| sum::Room::new(machine, count, together).ok());
    let room = room.ok_or(MachineError::Memory { bytes: sum::Room::bytes(u64::from(count), 1) as usize })?;
    let (own_room, own_points, own_scalars) = (room.clone(), points.clone(), there.clone());
    let run: Run<'_> = Box::new(move || own_room.sum(machine, &own_points, &own_scalars).map(drop));
    let verify: Verify<'_> = Box::new(move || {
        let got = Processor.windows(&room.sum(machine, &points, &there)?);
        let whole = dot(scalars.iter().enumerate().map(|(place, scalar)| (*scalar, factor(place as u64))));
        Ok(got == times_generator(whole)?)
    });
    Ok(Ready { run, verify })
}

/// Points in pinned memory of the host, streamed through two buffers while the chosen ones are summed.
fn streamed<M: Clocked>(machine: &M, log: u32) -> Result<Ready<'_>, MachineError> {
    /// Points of a buffer, as a logarithm.
    const CHUNK_LOG: u32 = 20;
    let (count, chunk) = (1_usize << log, 1_usize << CHUNK_LOG.min(log));
    let bytes = count * size_of::<Affine>();
    let points = sum::make_points(machine, times_generator(plain(STRIDE))?, START, STRIDE, count as u64)?;
    let near = machine.pinned(bytes)?;
    fill(machine, &near, &points, bytes)?;
    drop(points);
    let words: Vec<u32> = (0..count.div_ceil(32) as u64).map(|place| number(9, place) as u32).collect();
    let bits = machine.holding(&words)?;
    let blocks = blocks_for(Kernel::SelectedSum, chunk as u64).min(1_024);
    let chunks = count / chunk;
    let each = chunk * size_of::<Affine>();
    let buffers = [machine.memory(each)?, machine.memory(each)?];
    let sums = chunks * blocks as usize;
    let out = machine.memory(sums * size_of::<Sum>())?;
    let kept = out.clone();
    let stream = move || -> Result<(), MachineError> {
        for place in 0..chunks {
            let queue = place % QUEUES;
            let buffer = &buffers[queue];
            machine.copy_in(queue, whole(buffer), Part { memory: &near, from: place * each }, each)?;
            let arguments = arguments::SelectedSum {
                points: buffer.address(),
                bits: bits.address() + (place * chunk / 8) as u64,
                out: kept.address() + (place * blocks as usize * size_of::<Sum>()) as u64,
                count: chunk as u64,
            };
            machine.queue(queue, Kernel::SelectedSum, blocks, &arguments)?;
        }
        Ok(())
    };
    let stream = std::rc::Rc::new(stream);
    let again = std::rc::Rc::clone(&stream);
    let run: Run<'_> = Box::new(move || stream());
    let verify: Verify<'_> = Box::new(move || {
        machine.seconds(&mut || again())?;
        let got = Processor.total(&machine.items::<Sum>(&out, sums)?);
        Ok(got == times_generator(chosen(&words, count as u64, count as u64))?)
    });
    Ok(Ready { run, verify })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use dwell_kernels::Machine;

    use super::*;

    /// Every test at a size that the processor can do.
    const SMALL: [Test; 15] = [
        Test::MemoryRead(1 << 16),
        Test::MemoryWrite(1 << 16),
        Test::MemoryCopy(1 << 16),
        Test::CopyIn(1 << 16),
        Test::CopyInPageable(1 << 16),
        Test::CopyOut(1 << 16),
        Test::CopyBoth(1 << 16),
        Test::MultiplyAdd(1),
        Test::MultiplyAddWide(1),
        Test::ScalarProducts(1),
        Test::BaseProducts(1),
        Test::Transform(12),
        Test::Products(10),
        Test::Streamed(10),
        Test::Partition(10),
    ];

    /// A machine of which one bit in what is read from it is wrong, or which takes orders and does nothing.
    #[derive(Default)]
    struct Faulty {
        wrong: u8,
        idle: AtomicBool,
    }

    impl Faulty {
        fn unless_idle(&self, order: impl FnOnce() -> Result<(), MachineError>) -> Result<(), MachineError> {
            if self.idle.load(Ordering::Relaxed) { Ok(()) } else { order() }
        }
    }

    impl Machine for Faulty {
        fn memory(&self, bytes: usize) -> Result<Memory, MachineError> {
            Processor.memory(bytes)
        }

        fn write(&self, to: &Memory, bytes: &[u8]) -> Result<(), MachineError> {
            Processor.write(to, bytes)
        }

        fn read(&self, from: &Memory, into: &mut [u8]) -> Result<(), MachineError> {
            Processor.read(from, into)?;
            into[0] ^= self.wrong;
            Ok(())
        }

        fn clear(&self, memory: &Memory) -> Result<(), MachineError> {
            Processor.clear(memory)
        }

        fn launch(&self, kernel: Kernel, blocks: u32, arguments: &[u8]) -> Result<(), MachineError> {
            Processor.launch(kernel, blocks, arguments)
        }
    }

    impl Clocked for Faulty {
        fn pinned(&self, bytes: usize) -> Result<Memory, MachineError> {
            Processor.pinned(bytes)
        }

        fn copy_in(&self, queue: usize, to: Part<'_>, from: Part<'_>, bytes: usize) -> Result<(), MachineError> {
            self.unless_idle(|| Processor.copy_in(queue, to, from, bytes))
        }

        fn copy_out(&self, queue: usize, to: Part<'_>, from: Part<'_>, bytes: usize) -> Result<(), MachineError> {
            self.unless_idle(|| Processor.copy_out(queue, to, from, bytes))
        }

        fn launch_in(&self, queue: usize, kernel: Kernel, blocks: u32, arguments: &[u8]) -> Result<(), MachineError> {
            self.unless_idle(|| Processor.launch_in(queue, kernel, blocks, arguments))
        }

        fn clear_in(&self, _: usize, memory: &Memory) -> Result<(), MachineError> {
            Processor.clear(memory)
        }

        fn join(&self) -> Result<(), MachineError> {
            Processor.join()
        }

        fn seconds(&self, work: &mut dyn FnMut() -> Result<(), MachineError>) -> Result<f64, MachineError> {
            Processor.seconds(work)
        }
    }

    #[test]
    fn one_wrong_bit_is_seen_by_every_test() {
        let faulty = Faulty { wrong: 0x10, ..Faulty::default() };
        for test in SMALL {
            let mut ready = prepare(&faulty, test).unwrap();
            faulty.seconds(&mut ready.run).unwrap();
            assert!(!(ready.verify)().unwrap(), "{test:?}");
        }
    }

    #[test]
    fn what_moves_nothing_does_not_pass() {
        use Test::{CopyBoth, CopyIn, CopyOut, MemoryCopy, MemoryWrite};
        for test in [MemoryWrite(1 << 16), MemoryCopy(1 << 16), CopyIn(1 << 16), CopyOut(1 << 16), CopyBoth(1 << 16)] {
            let faulty = Faulty::default();
            let mut ready = prepare(&faulty, test).unwrap();
            assert!((ready.verify)().unwrap(), "{test:?}");
            faulty.idle.store(true, Ordering::Relaxed);
            assert!(!(ready.verify)().unwrap(), "{test:?}");
        }
    }

    #[test]
    fn every_test_runs_and_its_result_is_right() {
        for test in SMALL {
            let mut ready = prepare(&Processor, test).unwrap();
            let seconds = Processor.seconds(&mut ready.run).unwrap();
            assert!(seconds > 0.0 && test.amount() > 0.0, "{test:?}");
            assert!((ready.verify)().unwrap(), "{test:?}");
        }
    }
}
