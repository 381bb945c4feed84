//! Readers of what comes from outside, fuzzed: whatever the bytes, no panic, and what was read keeps its promises.
//!
//! Under `cargo test` each harness runs its corpus (`__fuzz__/*/corpus`) and some thousand random inputs. With coverage guiding it, for as
//! long as one likes: `cargo xtask fuzz --minutes 60`.

#[cfg(test)]
mod readers;
