//! The double on a loopback port until it is ended, by hand: `cargo run -p dwell-fake-manager --example serve [vastai]`.
//! With a program as its argument that one is run as vast.ai's client; without, three instances prove in a made-up account.

#![allow(clippy::print_stdout, reason = "it says where it answers")]

use dwell_fake_manager::{Client, FakeManager, Options};

fn main() {
    let program = std::env::args().nth(1);
    let client = program.as_ref().map_or(Client::Account, |program| Client::Program(program.into(), Vec::new()));
    let manager = FakeManager::serve(Options { client, ..Options::default() });
    if program.is_none() {
        for id in 31_000_010..31_000_013 {
            let uuid = manager.running(id);
            manager.push(&uuid, "cuzk", "proof done\n");
        }
    }
    println!("{}", manager.url());
    loop {
        std::thread::park();
    }
}
