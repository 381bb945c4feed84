//! Declares every command of the table to Tauri, so that each is a permission of its own and a window may call only what
//! its capability lists.

include!("../crates/api/src/table.rs");

macro_rules! names {
    ($($name:ident($request:ident) -> $response:ident, $risk:ident, $title:literal, $keys:literal;)*) => {
        &["subscribe", $(stringify!($name)),*]
    };
}

fn main() {
    println!("cargo:rerun-if-changed=../crates/api/src/table.rs");
    const COMMANDS: &[&str] = for_each_command!(names);
    let attributes = tauri_build::Attributes::new().app_manifest(tauri_build::AppManifest::new().commands(COMMANDS));
    if let Err(error) = tauri_build::try_build(attributes) {
        println!("cargo:warning={error:#}");
        std::process::exit(1);
    }
}
