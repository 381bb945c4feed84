//! The TypeScript side of the command table: types, and one function for each command. Written by `cargo xtask bindings`;
//! a test fails when the committed file differs.

use ts_rs::TS;

use crate::{ApiError, COMMANDS, ErrorCode, declarations};

/// The text of `ui/src/api/generated.ts`.
pub fn typescript() -> String {
    let config = ts_rs::Config::default().with_large_int("number");
    let mut text = String::from(
        "// Made from crates/api by `cargo xtask bindings`. Not edited by hand.\n\nimport { call } from \"../host\";\n\n",
    );
    for declaration in
        declarations(&config).into_iter().chain([<ErrorCode as TS>::decl(&config), <ApiError as TS>::decl(&config)])
    {
        text.push_str("export ");
        text.push_str(&declaration);
        text.push('\n');
    }
    text.push_str("\nexport const api = {\n");
    for command in COMMANDS {
        let (name, request, response) = (command.name, command.request, command.response);
        let parameter = if request == "Nothing" { String::new() } else { format!("request: {request}") };
        let argument = if request == "Nothing" { "{}" } else { "request" };
        text.push_str(&format!("  /** {} */\n", command.title));
        text.push_str(&format!("  {name}: ({parameter}): Promise<{response}> => call(\"{name}\", {argument}),\n"));
    }
    text.push_str("};\n\nexport const commands = [\n");
    for command in COMMANDS {
        text.push_str(&format!(
            "  {{ name: \"{}\", risk: \"{}\", title: \"{}\", keys: \"{}\" }},\n",
            command.name, command.risk, command.title, command.keys
        ));
    }
    text.push_str("] as const;\n");
    text
}
