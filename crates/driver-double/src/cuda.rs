//! libcuda: memory is the host's, kernels run on the processor, queues do as late as possible what they are given.

use std::collections::{HashMap, VecDeque};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use dwell_kernels::{Kernel, Machine, Processor, arguments_bytes};

use crate::{UUID, like, put_text};

type Code = c_int;

const SUCCESS: Code = 0;
const INVALID_VALUE: Code = 1;
const OUT_OF_MEMORY: Code = 2;
const INVALID_DEVICE: Code = 101;
const INVALID_HANDLE: Code = 400;
const NOT_FOUND: Code = 500;
const NOT_READY: Code = 600;
const LAUNCH_FAILED: Code = 719;
/// A queue that is not one: the default queue, which nothing here uses.
const DEFAULT: usize = 0;

/// What is in a queue.
enum Order {
    Run { kernel: Kernel, blocks: u32, arguments: Vec<u8> },
    Copy { to: u64, from: u64, bytes: usize },
    Fill { to: u64, bytes: usize, with: u8 },
    Mark { event: usize, round: u64 },
    Wait { event: usize, round: u64 },
}

/// An event: how often it was put into a queue, how often it was reached, and when last.
#[derive(Default)]
struct Event {
    put: u64,
    reached: u64,
    at: Option<Instant>,
    timed: bool,
}

#[derive(Default)]
struct Driver {
    queues: HashMap<usize, VecDeque<Order>>,
    events: HashMap<usize, Event>,
    memory: HashMap<u64, (usize, Box<[u128]>)>,
    used: u64,
    handles: usize,
    launches: u64,
    lost: bool,
}

static DRIVER: Mutex<Option<Driver>> = Mutex::new(None);

struct Held(MutexGuard<'static, Option<Driver>>);

impl Held {
    fn driver(&mut self) -> &mut Driver {
        self.0.get_or_insert_with(Driver::default)
    }
}

fn held() -> Held {
    Held(DRIVER.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Driver {
    fn handle(&mut self) -> usize {
        self.handles += 1;
        self.handles
    }

    /// Memory of the host, aligned as a driver's is.
    fn allocate(&mut self, bytes: usize, on_card: bool) -> Option<u64> {
        if on_card && self.used + bytes as u64 > like().memory {
            return None;
        }
        let room = vec![u128::from_ne_bytes([0xcd; 16]); bytes.div_ceil(16) + 1].into_boxed_slice();
        let address = room.as_ptr() as u64;
        self.used += if on_card { bytes as u64 } else { 0 };
        self.memory.insert(address, (if on_card { bytes } else { 0 }, room));
        Some(address)
    }

    fn free(&mut self, address: u64) -> Code {
        // A driver waits for what uses it.
        self.everything();
        match self.memory.remove(&address) {
            Some((bytes, _)) => {
                self.used -= bytes as u64;
                SUCCESS
            }
            None => INVALID_VALUE,
        }
    }

    /// Whether all of this is memory that was given, which the real driver would notice late or never.
    fn is_given(&self, address: u64, bytes: usize) -> bool {
        self.memory
            .iter()
            .any(|(start, (_, room))| address >= *start && address + bytes as u64 <= *start + (room.len() * 16) as u64)
    }

    /// Does the next thing of a queue. False: it waits for an event, or is empty.
    fn step(&mut self, queue: usize) -> bool {
        let Some(orders) = self.queues.get_mut(&queue) else { return false };
        if let Some(Order::Wait { event, round }) = orders.front()
            && self.events.get(event).is_some_and(|event| event.reached < *round)
        {
            return false;
        }
        let Some(order) = orders.pop_front() else { return false };
        match order {
            Order::Run { kernel, blocks, arguments } => self.run(kernel, blocks, &arguments),
            // SAFETY: both were given when the order was put in, and memory is freed only after everything is done.
            Order::Copy { to, from, bytes } => unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes) },
            // SAFETY: as above.
            Order::Fill { to, bytes, with } => unsafe { std::ptr::write_bytes(to as *mut u8, with, bytes) },
            Order::Mark { event, round } => {
                if let Some(event) = self.events.get_mut(&event) {
                    (event.reached, event.at) = (event.reached.max(round), Some(Instant::now()));
                }
            }
            Order::Wait { .. } => {}
        }
        true
    }

    fn run(&mut self, kernel: Kernel, blocks: u32, arguments: &[u8]) {
        self.launches += 1;
        if like().lost.is_some_and(|launches| self.launches > launches) {
            self.lost = true;
        }
        if self.lost || Processor.launch(kernel, blocks, arguments).is_err() {
            self.lost = true;
            return;
        }
        if like().wrong == Some(self.launches) {
            // One bit in each memory that the card has: one of them is a result.
            for (bytes, room) in self.memory.values_mut() {
                if let (true, Some(first)) = (*bytes > 0, room.first_mut()) {
                    *first ^= 1 << 21;
                }
            }
        }
    }

    /// Does what must be done for a queue to be empty: that alone, or everything else before it.
    fn finish(&mut self, wanted: usize) {
        let others: Vec<usize> = self.queues.keys().copied().filter(|queue| *queue != wanted).collect();
        let mut order = others;
        if like().last {
            order.push(wanted);
        } else {
            order.insert(0, wanted);
        }
        while self.queues.get(&wanted).is_some_and(|orders| !orders.is_empty()) {
            if !order.iter().any(|queue| self.step(*queue)) {
                self.lost = true;
                return;
            }
        }
    }

    fn everything(&mut self) {
        let queues: Vec<usize> = self.queues.keys().copied().collect();
        for queue in queues {
            self.finish(queue);
        }
    }

    fn code(&self) -> Code {
        if self.lost { LAUNCH_FAILED } else { SUCCESS }
    }

    fn put(&mut self, queue: usize, order: Order) -> Code {
        if self.lost {
            return LAUNCH_FAILED;
        }
        match self.queues.get_mut(&queue) {
            Some(orders) => {
                orders.push_back(order);
                SUCCESS
            }
            None => INVALID_HANDLE,
        }
    }

    fn copy(&mut self, queue: usize, (to, from, bytes): (u64, u64, usize)) -> Code {
        if !self.is_given(to, bytes) || !self.is_given(from, bytes) {
            return INVALID_VALUE;
        }
        self.put(queue, Order::Copy { to, from, bytes })
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuInit(_: c_uint) -> Code {
    SUCCESS
}

/// The words of an error.
fn words(code: Code) -> &'static CStr {
    match code {
        INVALID_VALUE => c"invalid argument",
        OUT_OF_MEMORY => c"out of memory",
        INVALID_DEVICE => c"invalid device ordinal",
        INVALID_HANDLE => c"invalid resource handle",
        NOT_FOUND => c"named symbol not found",
        NOT_READY => c"device not ready",
        LAUNCH_FAILED => c"unspecified launch failure",
        _ => c"no error",
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorString(code: Code, text: *mut *const c_char) -> Code {
    // SAFETY: the caller's.
    unsafe { text.write(words(code).as_ptr()) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorName(code: Code, text: *mut *const c_char) -> Code {
    // SAFETY: the caller's.
    unsafe { cuGetErrorString(code, text) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> Code {
    // SAFETY: the caller's.
    unsafe { version.write(like().cuda) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> Code {
    // SAFETY: the caller's.
    unsafe { count.write(like().cards) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGet(device: *mut c_int, number: c_int) -> Code {
    if number >= like().cards {
        return INVALID_DEVICE;
    }
    // SAFETY: the caller's.
    unsafe { device.write(number) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, room: c_int, _: c_int) -> Code {
    // SAFETY: the caller's.
    unsafe { put_text("NVIDIA GeForce RTX 4090", name, usize::try_from(room).unwrap_or(0)) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetUuid(uuid: *mut [u8; 16], device: c_int) -> Code {
    let mut own = UUID;
    own[14] = device as u8;
    // SAFETY: the caller's.
    unsafe { uuid.write(own) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, _: c_int) -> Code {
    // SAFETY: the caller's.
    unsafe { bytes.write(like().memory as usize) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetAttribute(value: *mut c_int, what: c_uint, _: c_int) -> Code {
    // Numbers of CUdevice_attribute: multiprocessors, capability, memory pools.
    let told = match what {
        // One, as this card is slow.
        16 => 1,
        75 => like().capability / 10,
        76 => like().capability % 10,
        115 => 0,
        _ => return INVALID_VALUE,
    };
    // SAFETY: the caller's.
    unsafe { value.write(told) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxRetain(context: *mut usize, device: c_int) -> Code {
    // SAFETY: the caller's.
    unsafe { context.write(0x1000 + device as usize) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRelease_v2(_: c_int) -> Code {
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetCurrent(_: usize) -> Code {
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetCurrent(context: *mut usize) -> Code {
    // SAFETY: the caller's.
    unsafe { context.write(0) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadData(module: *mut usize, image: *const c_char) -> Code {
    // SAFETY: PTX ends with a zero.
    let text = unsafe { CStr::from_ptr(image) };
    if !text.to_bytes().windows(8).any(|window| window == b".version") {
        return INVALID_VALUE;
    }
    // SAFETY: the caller's.
    unsafe { module.write(1) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleUnload(_: usize) -> Code {
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetFunction(function: *mut usize, _: usize, name: *const c_char) -> Code {
    // SAFETY: the caller's.
    let name = unsafe { CStr::from_ptr(name) };
    let Some(place) = Kernel::ALL.iter().position(|kernel| kernel.name().as_bytes() == name.to_bytes()) else { return NOT_FOUND };
    // SAFETY: the caller's.
    unsafe { function.write(place + 1) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamCreate(queue: *mut usize, _: c_uint) -> Code {
    let mut held = held();
    let handle = held.driver().handle();
    held.driver().queues.insert(handle, VecDeque::new());
    // SAFETY: the caller's.
    unsafe { queue.write(handle) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamDestroy_v2(queue: usize) -> Code {
    let mut held = held();
    held.driver().finish(queue);
    held.driver().queues.remove(&queue);
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamSynchronize(queue: usize) -> Code {
    let mut held = held();
    held.driver().finish(queue);
    held.driver().code()
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamWaitEvent(queue: usize, event: usize, _: c_uint) -> Code {
    let mut held = held();
    let Some(round) = held.driver().events.get(&event).map(|event| event.put) else { return INVALID_HANDLE };
    held.driver().put(queue, Order::Wait { event, round })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventCreate(event: *mut usize, flags: c_uint) -> Code {
    const WITHOUT_TIME: c_uint = 2;
    let mut held = held();
    let handle = held.driver().handle();
    held.driver().events.insert(handle, Event { timed: flags & WITHOUT_TIME == 0, ..Event::default() });
    // SAFETY: the caller's.
    unsafe { event.write(handle) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventDestroy_v2(_: usize) -> Code {
    // What waits for it still does.
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventRecord(event: usize, queue: usize) -> Code {
    let mut held = held();
    let Some(known) = held.driver().events.get_mut(&event) else { return INVALID_HANDLE };
    known.put += 1;
    let round = known.put;
    held.driver().put(queue, Order::Mark { event, round })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventSynchronize(event: usize) -> Code {
    let mut held = held();
    let driver = held.driver();
    let queues: Vec<usize> = driver.queues.keys().copied().collect();
    while driver.events.get(&event).is_some_and(|event| event.reached < event.put) {
        if !queues.iter().any(|queue| driver.step(*queue)) {
            return NOT_READY;
        }
    }
    driver.code()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventElapsedTime(milliseconds: *mut f32, start: usize, end: usize) -> Code {
    let mut held = held();
    let timed = |event: usize, driver: &Driver| driver.events.get(&event).filter(|event| event.timed).and_then(|event| event.at);
    let (Some(start), Some(end)) = (timed(start, held.driver()), timed(end, held.driver())) else { return INVALID_HANDLE };
    // SAFETY: the caller's.
    unsafe { milliseconds.write(end.duration_since(start).as_secs_f32() * 1000.0) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAlloc_v2(address: *mut u64, bytes: usize) -> Code {
    let mut held = held();
    let Some(given) = held.driver().allocate(bytes, true) else { return OUT_OF_MEMORY };
    // SAFETY: the caller's.
    unsafe { address.write(given) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFree_v2(address: u64) -> Code {
    held().driver().free(address)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostAlloc(address: *mut u64, bytes: usize, _: c_uint) -> Code {
    let mut held = held();
    let Some(given) = held.driver().allocate(bytes, false) else { return OUT_OF_MEMORY };
    // SAFETY: the caller's.
    unsafe { address.write(given) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFreeHost(address: u64) -> Code {
    held().driver().free(address)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoD_v2(to: u64, from: *const c_void, bytes: usize) -> Code {
    let mut held = held();
    if !held.driver().is_given(to, bytes) {
        return INVALID_VALUE;
    }
    // Not in the queues: whoever wants to wait for them has to.
    // SAFETY: the caller's memory, and ours as was just checked.
    unsafe { std::ptr::copy(from.cast::<u8>(), to as *mut u8, bytes) };
    held.driver().code()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, bytes: usize) -> Code {
    let mut held = held();
    if !held.driver().is_given(from, bytes) {
        return INVALID_VALUE;
    }
    // SAFETY: as above.
    unsafe { std::ptr::copy(from as *const u8, to.cast::<u8>(), bytes) };
    held.driver().code()
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyHtoDAsync_v2(to: u64, from: u64, bytes: usize, queue: usize) -> Code {
    held().driver().copy(queue, (to, from, bytes))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyDtoHAsync_v2(to: u64, from: u64, bytes: usize, queue: usize) -> Code {
    held().driver().copy(queue, (to, from, bytes))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD8Async(to: u64, with: u8, bytes: usize, queue: usize) -> Code {
    let mut held = held();
    if !held.driver().is_given(to, bytes) {
        return INVALID_VALUE;
    }
    held.driver().put(queue, Order::Fill { to, bytes, with })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchKernel(
    function: usize,
    blocks: c_uint,
    _: c_uint,
    _: c_uint,
    threads: c_uint,
    _: c_uint,
    _: c_uint,
    _: c_uint,
    queue: usize,
    parameters: *const *const u8,
    _: *const c_void,
) -> Code {
    let Some(kernel) = function.checked_sub(1).and_then(|place| Kernel::ALL.get(place)).copied() else { return INVALID_HANDLE };
    if queue == DEFAULT || threads != kernel.threads() || blocks == 0 {
        return INVALID_VALUE;
    }
    // SAFETY: one parameter, as large as the kernel's arguments: as a card reads it.
    let arguments = unsafe { std::slice::from_raw_parts(*parameters, arguments_bytes(kernel)).to_vec() };
    held().driver().put(queue, Order::Run { kernel, blocks, arguments })
}
