//! Everything that a card does for one partition of a proof, in the prover's proportions and order: three vectors copied in, seven
//! transforms with what stands between them, one large sum over points that are streamed from pinned memory, and chosen points
//! of the other queries, streamed as well. Source of the order and the amounts: readings of the prover's code, in the project's
//! notes on the benchmark. Left out, and small: the sums of the few scalars that are neither 0 nor 1, and what comes back.
//!
//! The data is a circuit whose witness is right, in closed form, so that the result of any size is checked by one point:
//! a and b are polynomials with coefficients g^i and k^i, and c takes the values of their product on the domain. Then the
//! quotient of a b - c by the domain's vanishing polynomial is the upper half of the product, a difference of two geometric
//! series, and its sum with points (start + i stride) G is a scalar times G that is worked out in a few hundred products.

use dwell_kernels::transform::{self, Powers, Tables};
use dwell_kernels::{
    Affine, FieldOperation, Fr, Kernel, MachineError, Memory, Processor, Sum, arguments, blocks_for, blocks_striding, sum,
};

use crate::clocked::{Clocked, Part, QUEUES, Queue};
use crate::work::{Ready, Run, START, STRIDE, Verify, chosen, fill, number, one, plain, power, times_generator, whole};

/// Points of the other queries against those of the large sum: 34.5 GB against 12.9.
const OTHERS: f64 = 34.5 / 12.9;
/// Points of a buffer at most, as a logarithm: the prover's own batches.
const CHUNK_LOG_MOST: u32 = 24;
/// Blocks of a sum of chosen points at most.
const BLOCKS_MOST: u32 = 1_024;

/// Batches that the points are streamed in, as a logarithm: fewer where a batch would be too small to keep a card busy.
fn chunk_log(log: u32) -> u32 {
    log.saturating_sub(if log < 20 { 1 } else { 2 }).min(CHUNK_LOG_MOST)
}

/// Memory of the card that it takes, bytes.
pub(crate) fn bytes(log: u32) -> f64 {
    let chunk = 1_u64 << chunk_log(log);
    let buffers = QUEUES as u64 * (chunk * size_of::<Affine>() as u64 + sum::Room::bytes(chunk, u64::from(sum::WINDOWS)));
    2_f64.powi(log as i32) * 3.0 * size_of::<Fr>() as f64 + buffers as f64
}

/// Pinned memory of the host that it takes, bytes.
pub(crate) fn pinned_bytes(log: u32) -> f64 {
    2_f64.powi(log as i32) * (3 * size_of::<Fr>() + size_of::<Affine>()) as f64
}

fn field(what: FieldOperation, a: &Fr, b: &Fr) -> Fr {
    Processor.fr(what, a, b)
}

fn times(a: &Fr, b: &Fr) -> Fr {
    field(FieldOperation::Multiply, a, b)
}

fn inverse(a: &Fr) -> Fr {
    field(FieldOperation::Invert, a, a)
}

/// A number in Montgomery form.
fn montgomery(number: u64) -> Fr {
    times(&plain(number), &transform::montgomery_factor())
}

/// The bases of the two polynomials, and the shift of the coset: any three numbers that are no roots of unity.
fn bases() -> [Fr; 3] {
    [5, 11, 7].map(montgomery)
}

/// What stands before and after the transforms.
struct Between {
    forward: Tables,
    backward: Tables,
    /// Powers of the shift, and of its inverse.
    out: Powers,
    back: Powers,
    /// 1/n, and 1/(shift^n - 1).
    one_in_n: Fr,
    z: Fr,
    log: u32,
}

impl Between {
    fn new<M: Clocked>(machine: &M, log: u32) -> Result<Self, MachineError> {
        let [_, _, shift] = bases();
        let unshift = inverse(&shift);
        // The tables' windows have 2^14 powers.
        let powers = |base: Fr| Powers::new(machine, base, power(base, 1 << 14), log);
        let vanishing = field(FieldOperation::Subtract, &power(shift, 1 << log), &one());
        Ok(Self {
            forward: Tables::new(machine, log, false)?,
            backward: Tables::new(machine, log, true)?,
            out: powers(shift)?,
            back: powers(unshift)?,
            one_in_n: inverse(&montgomery(1 << log)),
            z: inverse(&vanishing),
            log,
        })
    }

    fn count(&self) -> u64 {
        1 << self.log
    }

    /// Values on the domain, in the order of the reversed index, to values on the coset.
    fn values_on_coset<M: Clocked>(&self, queue: &Queue<'_, M>, data: &Memory) -> Result<(), MachineError> {
        self.backward.apply(queue, data)?;
        transform::scale(queue, data, &self.out, self.one_in_n, self.count())?;
        self.forward.apply(queue, data)
    }

    /// Values of the quotient on the coset to its coefficients, plain.
    fn coefficients<M: Clocked>(&self, queue: &Queue<'_, M>, data: &Memory) -> Result<(), MachineError> {
        self.backward.apply(queue, data)?;
        transform::scale(queue, data, &self.back, self.one_in_n, self.count())?;
        transform::convert(queue, data, self.count(), true)
    }
}

/// The values of the three polynomials, into pinned memory: a and b in the order of the reversed index, c in the natural one.
fn circuit<M: Clocked>(machine: &M, between: &Between, data: &[Memory; 3]) -> Result<[Memory; 3], MachineError> {
    let [g, k, _] = bases();
    let [a, b, c] = data;
    let count = between.count();
    for (memory, base) in [(a, g), (b, k)] {
        let series =
            arguments::Powers { out: memory.address(), padding: 0, base, count: 1 << between.log, log: 0, inverse: 0, unused: 0 };
        machine.run(Kernel::Powers, blocks_striding(Kernel::Powers, count), &series)?;
        between.forward.apply(machine, memory)?;
    }
    let bytes = a.bytes();
    let pinned = || machine.pinned(bytes);
    let near = [pinned()?, pinned()?, pinned()?];
    fill(machine, &near[0], a, bytes)?;
    fill(machine, &near[1], b, bytes)?;
    machine.clear(c)?;
    transform::quotient(machine, a, b, c, one(), count)?;
    transform::reorder(machine, a, between.log)?;
    fill(machine, &near[2], a, bytes)?;
    Ok(near)
}

/// The factor of G that the large sum comes to, plain.
fn expected(log: u32) -> Fr {
    let n = 1_u64 << log;
    let [g, k, _] = bases();
    let subtract = |a: &Fr, b: &Fr| field(FieldOperation::Subtract, a, b);
    // The coefficient of x^i: (k^n g^(i+1) - g^n k^(i+1)) / (k - g).
    let denominator = inverse(&subtract(&k, &g));
    let part = |x: Fr, other: Fr| {
        let first = times(&times(&power(other, n), &x), &denominator);
        let below = subtract(&x, &one());
        // The sum of x^i, and of i x^i, for i below n.
        let plain_sum = times(&subtract(&power(x, n), &one()), &inverse(&below));
        let last = times(&montgomery(n - 1), &power(x, n));
        let middle = times(&montgomery(n), &power(x, n - 1));
        let bracket = field(FieldOperation::Add, &subtract(&one(), &middle), &last);
        let weighted = times(&times(&x, &bracket), &inverse(&times(&below, &below)));
        let both = field(FieldOperation::Add, &times(&montgomery(START), &plain_sum), &times(&montgomery(STRIDE), &weighted));
        times(&first, &both)
    };
    // Out of Montgomery form.
    times(&subtract(&part(g, k), &part(k, g)), &plain(1))
}

/// Makes a partition ready.
pub(crate) fn partition<M: Clocked>(machine: &M, log: u32) -> Result<Ready<'_>, MachineError> {
    let between = Between::new(machine, log)?;
    let count = between.count();
    let element_bytes = size_of::<Fr>() << log;
    let vector = || machine.memory(element_bytes);
    let data = [vector()?, vector()?, vector()?];
    let vectors = circuit(machine, &between, &data)?;

    let chunk_log = chunk_log(log);
    let (chunk, chunks) = (1_u64 << chunk_log, 1_usize << (log - chunk_log));
    let each = chunk as usize * size_of::<Affine>();
    let near = machine.pinned(each * chunks)?;
    let buffers = [machine.memory(each)?, machine.memory(each)?];
    for place in 0..chunks as u64 {
        let start = START + place * chunk * STRIDE;
        let points = sum::make_points(machine, times_generator(plain(STRIDE))?, start, STRIDE, chunk)?;
        let to = Part { memory: &near, from: place as usize * each };
        machine.seconds(&mut || machine.copy_out(0, to, whole(&points), each))?;
    }

    let room = || sum::Room::new(machine, 1 << chunk_log, sum::WINDOWS);
    let rooms = [room()?, room()?];
    let windows = chunks * sum::WINDOWS as usize;
    let products = machine.memory(windows * size_of::<Sum>())?;
    // One of four is chosen: about 1e8 scalars of 3.6e8 are thought to be 1.
    let streams = (chunks as f64 * OTHERS).round() as usize;
    let words: Vec<u32> = (0..streams as u64 * chunk / 32).map(|place| (number(9, place) & number(10, place)) as u32).collect();
    let bits = machine.holding(&words)?;
    let blocks = blocks_for(Kernel::SelectedSum, chunk).min(BLOCKS_MOST);
    let sums = streams * blocks as usize;
    let selected = machine.memory(sums * size_of::<Sum>())?;

    let (out_products, out_selected) = (products.clone(), selected.clone());
    let queues = [Queue { machine, number: 0 }, Queue { machine, number: 1 }];
    let prove = move || -> Result<(), MachineError> {
        let [first, second] = &queues;
        let [a, b, c] = &data;
        let put = |queue: &Queue<'_, M>, to: &Memory, from: &Memory| {
            machine.copy_in(queue.number, whole(to), whole(from), element_bytes)
        };
        put(first, a, &vectors[0])?;
        between.values_on_coset(first, a)?;
        put(second, b, &vectors[1])?;
        between.values_on_coset(second, b)?;
        put(first, c, &vectors[2])?;
        transform::reorder(first, c, log)?;
        between.values_on_coset(first, c)?;
        machine.join()?;
        transform::quotient(first, a, b, c, between.z, count)?;
        between.coefficients(first, a)?;
        machine.join()?;
        let stream = |queue: usize, place: usize| {
            let from = Part { memory: &near, from: place % chunks * each };
            machine.copy_in(queue, whole(&buffers[queue]), from, each)
        };
        for place in 0..chunks {
            let queue = place % QUEUES;
            stream(queue, place)?;
            let places = sum::Places {
                points: buffers[queue].address(),
                scalars: a.address() + place as u64 * chunk * size_of::<Fr>() as u64,
                out: out_products.address() + (place * sum::WINDOWS as usize * size_of::<Sum>()) as u64,
            };
            rooms[queue].launch(&queues[queue], places)?;
        }
        for place in 0..streams {
            let queue = place % QUEUES;
            stream(queue, place)?;
            let arguments = arguments::SelectedSum {
                points: buffers[queue].address(),
                bits: bits.address() + place as u64 * chunk / 8,
                out: out_selected.address() + (place * blocks as usize * size_of::<Sum>()) as u64,
                count: chunk,
            };
            machine.queue(queue, Kernel::SelectedSum, blocks, &arguments)?;
        }
        Ok(())
    };
    let prove = std::rc::Rc::new(prove);
    let again = std::rc::Rc::clone(&prove);
    let run: Run<'_> = Box::new(move || prove());
    let verify: Verify<'_> = Box::new(move || {
        machine.clear(&products)?;
        machine.clear(&selected)?;
        machine.seconds(&mut || again())?;
        let got: Vec<Sum> = machine.items(&products, windows)?;
        let mut parts = got.chunks(sum::WINDOWS as usize).map(|part| Processor.windows(part));
        let whole = parts.try_fold(Affine::default(), |all, part| Processor.points(&all, &part, false));
        let streamed = Processor.total(&machine.items::<Sum>(&selected, sums)?);
        let others = times_generator(chosen(&words, streams as u64 * chunk, count))?;
        Ok(whole == Some(times_generator(expected(log))?) && streamed == others)
    });
    Ok(Ready { run, verify })
}
