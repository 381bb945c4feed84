//! Answers that no manager gives, and that somebody in its place can: they cost themselves, are shown as what they are, and end soon.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Output;
use std::sync::{Arc, Mutex};

use crate::{dwellctl, json, text};

/// Answers every request with this body, until the test ends.
fn server(body: impl Into<Vec<u8>>) -> SocketAddr {
    server_of(&Arc::new(Mutex::new(body.into())))
}

/// Answers every request with what this body is then, until the test ends.
pub(crate) fn server_of(body: &Arc<Mutex<Vec<u8>>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let body = Arc::clone(body);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (Ok(mut stream), body) = (stream, body.lock().unwrap().clone()) else { continue };
            std::thread::spawn(move || {
                // What is asked for does not matter.
                if request_on(&mut stream).is_some() {
                    answer_on(&mut stream, 200, &body);
                }
            });
        }
    });
    address
}

/// The head of a request; `None` where it breaks off before its end.
pub(crate) fn request_on(socket: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    let mut part = [0; 8192];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        match socket.read(&mut part) {
            Ok(count @ 1..) => request.extend_from_slice(&part[..count]),
            _ => return None,
        }
    }
    Some(text(&request))
}

/// Its method and what it asks for.
pub(crate) fn asked_for(request: &str) -> (&str, &str) {
    let mut words = request.split(' ');
    (words.next().unwrap_or_default(), words.next().unwrap_or_default())
}

pub(crate) fn answer_on(socket: &mut TcpStream, status: u16, body: &[u8]) {
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    // Who asked may have gone.
    let _ = socket.write_all(head.as_bytes()).and_then(|()| socket.write_all(body));
}

pub(crate) fn dashboard(rows: &str) -> Vec<u8> {
    format!(r#"{{"instances":[{rows}],"bad_hosts":[],"summary":{{}},"updated_at":"2026-12-01T02:41:48Z","vast_cache_age_s":3}}"#)
        .into()
}

pub(crate) fn row(number: usize, more: &str) -> String {
    format!(
        r#"{{"uuid":"aaaaaaaa-0000-4000-8000-{number:012}","label":"l","runner_id":1,"state":"running","min_rate":30,"registered_at":"2026-12-01T01:41:48Z","vast_id":{},"gpu_name":"RTX 4090","dph_total":0.3{more}}}"#,
        31_000_000 + number
    )
}

fn asked(body: impl Into<Vec<u8>>, arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("http://{}", server(body));
    dwellctl(folder.path(), &[&["--manager", &url], arguments].concat())
}

#[test]
fn a_value_that_is_no_json_costs_itself_alone() {
    let hurt = [
        r#","gpu_util":NaN"#,
        r#","mem_limit_gb":-Infinity,"mem_usage_gb":1e999"#,
        r#","geolocation":"half \ud83d""#,
        ",\"status_msg\":\"a\tb\u{1}c\"",
    ];
    let rows: Vec<String> = hurt.iter().enumerate().map(|(number, more)| row(number, more)).collect();
    let mut body = dashboard(&rows.join(","));
    // A byte that is no text, in the label of the first.
    let at = body.windows(11).position(|part| part == br#""label":"l""#).unwrap();
    body[at + 9] = 0xff;
    let output = asked(body, &["fleet", "--json"]);
    let fleet = json(&output);
    let shown = fleet["instances"].as_array().unwrap();
    assert_eq!(shown.len(), hurt.len(), "{fleet}");
    assert!(shown.iter().all(|it| it["dollars_per_h"] == 0.3 && it["gpu_name"] == "RTX 4090"), "{fleet}");
}

#[test]
fn what_steers_or_hides_text_is_in_no_output() {
    let names = ["\\u202eevil", "a\\u061cb", "a\\u200bb", "a\\u2028b", "\\u001b[31mred", "nul\\u0000", "tag\\udb40\\udc41"];
    let rows: Vec<String> = names
        .iter()
        .enumerate()
        .map(|(number, name)| {
            row(number, &format!(r#","status_msg":"{name}","geolocation":"{name}""#))
                .replace(r#""RTX 4090""#, &format!(r#""{name}""#))
        })
        .collect();
    for arguments in [
        &["fleet", "--output", "wide"][..],
        &["fleet", "--json"],
        &["diagnose", "--report", "markdown"],
        &["diagnose", "--report", "html"],
    ] {
        let output = asked(dashboard(&rows.join(",")), arguments);
        let said = text(&output.stdout) + &text(&output.stderr);
        let hidden = |letter: char| "\u{202e}\u{61c}\u{200b}\u{2028}\u{1b}\u{0}\u{e0041}".contains(letter);
        assert!(!said.contains(hidden), "{arguments:?}: {said:?}");
    }
}

/// An id stands in paths, in labels of metrics and in commands to paste: one that would mean something there is none.
#[test]
fn an_id_that_is_a_command_is_none() {
    for id in ["$(reboot)", "a b", "a;b", "-rf", "a'b", "../../x", "\\u001b[2J"] {
        let one = row(7, "").replace("aaaaaaaa-0000-4000-8000-000000000007", id);
        let output = asked(dashboard(&one), &["fleet", "--json"]);
        assert_eq!(json(&output)["instances"][0]["id"], "vast-31000007", "{id}");
    }
}

#[test]
fn endless_texts_and_lists_end() {
    let long = "x".repeat(20_000_000);
    let rows = [
        row(1, "").replace("RTX 4090", &long),
        row(2, "").replace("aaaaaaaa", &long),
        row(3, &format!(r#","status_msg":"{long}""#)),
    ]
    .join(",");
    // More than a whole answer may have: it is refused, and that is said.
    let output = asked(dashboard(&rows), &["fleet"]);
    assert!(!output.status.success() || text(&output.stdout).len() < 100_000, "{}", text(&output.stdout).len());
    let long = "x".repeat(2_000_000);
    let rows = [
        row(1, "").replace("RTX 4090", &long),
        row(2, "").replace("aaaaaaaa", &long),
        row(3, &format!(r#","status_msg":"{long}""#)),
    ]
    .join(",");
    for arguments in [&["fleet", "--json"][..], &["fleet", "--output", "wide"]] {
        let output = asked(dashboard(&rows), arguments);
        assert!(text(&output.stdout).len() < 100_000, "{}", text(&output.stdout).len());
        assert!(text(&output.stdout).contains("vast-31000002"), "{}", text(&output.stdout));
    }
    let rows: Vec<String> = (0..21_000).map(|number| row(number, "")).collect();
    let fleet = json(&asked(dashboard(&rows.join(",")), &["fleet", "--json"]));
    assert_eq!(fleet["instances"].as_array().unwrap().len(), 20_000);
    assert!(fleet["conditions"].to_string().contains("1000"), "{}", fleet["conditions"]);
}
