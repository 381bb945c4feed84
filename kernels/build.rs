//! Compiles the kernels for the processor: the same sources that a card runs.

/// Set by `cargo xtask coverage`: count which lines of the sources run.
const COVERAGE: &str = "DWELL_KERNEL_COVERAGE";

fn main() {
    println!("cargo:rerun-if-changed=cuda");
    println!("cargo:rerun-if-env-changed={COVERAGE}");
    let counted = std::env::var_os(COVERAGE).is_some();
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std("c++17")
        .file("cuda/processor.cpp")
        // Arithmetic of 400 bits without optimisation is too slow even for tests.
        .opt_level(2)
        .flag_if_supported("-Wno-unknown-pragmas");
    if counted {
        build.flag("--coverage").flag("-fprofile-abs-path");
    }
    build.compile("dwell_kernels");
    if counted {
        println!("cargo:rustc-link-lib=gcov");
    }
}
