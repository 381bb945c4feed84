//! Compiles the kernels for the processor: the same sources that a card runs.

fn main() {
    println!("cargo:rerun-if-changed=cuda");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .file("cuda/processor.cpp")
        // Arithmetic of 400 bits without optimisation is too slow even for tests.
        .opt_level(2)
        .flag_if_supported("-Wno-unknown-pragmas")
        .compile("dwell_kernels");
}
