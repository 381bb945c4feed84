//! NVIDIA's driver as far as the benchmark calls it, with the processor for a card: a test puts this library where libcuda and
//! libnvidia-ml are looked for, so that all of what talks to a driver is tested on machines that have none.
//!
//! Its queues are as unkind as a card's may be: nothing is done when it is put into a queue, and a queue that is waited for is
//! done either before everything else or after everything else, as far as events allow. What forgets to wait gets wrong results.
//!
//! What it is like is set by `DWELL_DRIVER_DOUBLE`, words with commas between: `cuda=11040` (the CUDA that it supports), `cards=2`,
//! `capability=61`, `memory=268435456` (bytes of the card), `lost=100` (the card is gone after so many launches), `wrong=100` (the
//! launch of that number computes wrongly), `last` (queues that are waited for come last), `xid=48`, `nvml=none`.
#![allow(unsafe_code, reason = "it is called as a C library")]
#![allow(non_snake_case, reason = "names of NVIDIA's")]
#![allow(missing_docs, clippy::missing_safety_doc, reason = "NVIDIA's own documentation is of these calls")]

use std::sync::OnceLock;

pub mod cuda;
pub mod nvml;

/// The card's own number.
const UUID: [u8; 16] = [0xd0, 0x0b, 0x1e, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 1];

/// What the double is like.
struct Like {
    cuda: i32,
    cards: i32,
    capability: i32,
    memory: u64,
    lost: Option<u64>,
    wrong: Option<u64>,
    last: bool,
    xid: Option<u64>,
    nvml: bool,
}

fn like() -> &'static Like {
    static LIKE: OnceLock<Like> = OnceLock::new();
    LIKE.get_or_init(|| {
        let words = std::env::var("DWELL_DRIVER_DOUBLE").unwrap_or_default();
        let all: Vec<(&str, &str)> = words.split(',').map(|word| word.split_once('=').unwrap_or((word, ""))).collect();
        let word = |name: &str| all.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
        let number = |name: &str| word(name).and_then(|value| value.parse::<u64>().ok());
        let small = |name: &str, usual: i32| number(name).and_then(|value| i32::try_from(value).ok()).unwrap_or(usual);
        Like {
            cuda: small("cuda", 12_040),
            cards: small("cards", 1),
            capability: small("capability", 89),
            memory: number("memory").unwrap_or(4 << 30),
            lost: number("lost"),
            wrong: number("wrong"),
            last: word("last").is_some(),
            xid: number("xid"),
            nvml: word("nvml") != Some("none"),
        }
    })
}

/// Writes a text with its end, cut to the room that there is.
///
/// # Safety
///
/// `room` bytes may be written.
unsafe fn put_text(text: &str, to: *mut std::ffi::c_char, room: usize) {
    let bytes = text.as_bytes();
    let length = bytes.len().min(room.saturating_sub(1));
    // SAFETY: as the caller says.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast::<u8>(), length);
        to.add(length).write(0);
    }
}
