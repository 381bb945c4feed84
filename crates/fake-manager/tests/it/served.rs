//! On its port.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use dwell_fake_manager::{Behaviour, FakeManager, Options};

fn get(manager: &FakeManager, target: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(manager.address())?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    write!(stream, "GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

#[test]
fn it_stops_and_starts_again_at_its_address() {
    let manager = FakeManager::serve(Options::default());
    let uuid = manager.running(31_000_010);
    manager.push(&uuid, "cuzk", "one\ntwo\n");
    manager.cycle();
    let answer = get(&manager, "/api/dashboard").unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 200 OK") && answer.contains("\"log_lines\":2") && answer.contains("\"vast_id\":31000010")
    );
    manager.stop();
    assert!(get(&manager, "/api/dashboard").is_err(), "nobody answers");
    manager.start_again();
    let answer = get(&manager, "/api/dashboard").unwrap();
    assert!(answer.contains("\"state\":\"running\"") && answer.contains("\"log_lines\":0"), "{answer}");
    assert_eq!(manager.requests().iter().filter(|seen| seen.status == 200).count(), 2);
}

#[test]
fn others_are_answered_while_its_client_hangs() {
    let manager = FakeManager::serve(Options::default());
    manager.running(31_000_010);
    manager.cycle();
    manager.account(|account| account.search = Behaviour::Hangs);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| get(&manager, "/api/offers"));
        while manager.requests().is_empty() {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(get(&manager, "/api/dashboard").unwrap().starts_with("HTTP/1.1 200 OK"));
        manager.stop();
        assert!(waiting.join().unwrap().is_ok_and(|answer| answer.is_empty()), "cut with the process");
    });
}

#[test]
fn the_monitor_runs_by_its_clock() {
    let manager = FakeManager::serve(Options { speed: 120.0, ..Options::default() });
    for _ in 0..400 {
        if manager.log().iter().filter(|line| line.contains("[monitor] cached 0")).count() == 2 {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{:?}", manager.log());
}
