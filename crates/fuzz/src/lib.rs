//! Nothing: the harnesses are in `tests/readers.rs`, their inputs in `tests/__fuzz__`.
