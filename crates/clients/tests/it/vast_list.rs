//! vast.ai's list as it really answers: null, short, doubled, with rows that cannot be read, with wrong totals, and changing while
//! it is read. Whatever comes: what is rented is never absent, and an account that rents is never empty.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use dwell_clients::{Code, Limits, VastClient, VastList};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// What goes wrong with one page.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Wrong {
    Nothing,
    /// `instances: null`, as on a page that could not be made.
    Null,
    /// Its last rows are missing.
    Short(usize),
    /// Its first row stands in it twice.
    Doubled,
    /// The id of a row is text, null, an object or a fraction.
    Id(usize, &'static str),
    /// A row is no object.
    NoObject(usize),
    /// `NaN` in place of a price.
    Nan(usize),
    /// The total is another one.
    Total(i64),
    /// There is no total.
    NoTotal,
    /// It ends here, by its token.
    NoToken,
    /// Its token leads back to where it began.
    Circle,
    /// The next page answers 502.
    Breaks,
    /// Before the next page a rental ends.
    Ends(usize),
    /// Before the next page one is rented.
    Begins,
    /// Both.
    Swaps(usize),
}

impl Wrong {
    /// Costs nothing but itself.
    fn is_harmless(self) -> bool {
        matches!(self, Self::Nothing | Self::Nan(_))
    }
}

#[derive(Debug, Clone)]
struct Account {
    rentals: Vec<u64>,
    page: usize,
    /// By page as it is served.
    wrong: Vec<Wrong>,
    served: usize,
    /// Those that were rented all the while.
    stayed: BTreeSet<u64>,
}

impl Account {
    fn page(&mut self, after: u64) -> (u16, String) {
        let wrong = self.wrong.get(self.served).copied().unwrap_or(Wrong::Nothing);
        let breaks = self.served > 0 && self.wrong.get(self.served - 1) == Some(&Wrong::Breaks);
        self.served += 1;
        if breaks {
            return (502, "<html>".to_owned());
        }
        let left: Vec<u64> = self.rentals.iter().copied().filter(|id| *id > after).collect();
        let mut ids: Vec<u64> = left.iter().copied().take(self.page).collect();
        let mut token = (left.len() > ids.len()).then(|| format!("\"{}\"", ids.last().unwrap()));
        let mut total = self.rentals.len().to_string();
        match wrong {
            Wrong::Short(count) => ids.truncate(ids.len().saturating_sub(count)),
            Wrong::Doubled if !ids.is_empty() => ids.push(ids[0]),
            Wrong::Total(by) => total = (self.rentals.len() as i64 + by).max(0).to_string(),
            Wrong::NoTotal => total = "null".to_owned(),
            Wrong::NoToken => token = None,
            Wrong::Circle => token = Some("\"0\"".to_owned()),
            _ => {}
        }
        let found = ids.len();
        let rows: Vec<String> = ids.iter().enumerate().map(|(nth, id)| row(nth, *id, wrong)).collect();
        let instances = if wrong == Wrong::Null { "null".to_owned() } else { format!("[{}]", rows.join(",")) };
        let found = if wrong == Wrong::Null { 0 } else { found };
        match wrong {
            Wrong::Ends(nth) | Wrong::Swaps(nth) if !self.rentals.is_empty() => {
                let gone = self.rentals.remove(nth % self.rentals.len());
                self.stayed.remove(&gone);
            }
            _ => {}
        }
        if matches!(wrong, Wrong::Begins | Wrong::Swaps(_)) {
            self.rentals.push(self.rentals.last().copied().unwrap_or(0).max(900_000) + 1);
        }
        let token = token.unwrap_or_else(|| "null".to_owned());
        (
            200,
            format!(
                r#"{{"success":true,"total_instances":{total},"instances_found":{found},"instances":{instances},"next_token":{token}}}"#
            ),
        )
    }
}

fn row(nth: usize, id: u64, wrong: Wrong) -> String {
    let (mut number, mut price) = (id.to_string(), "0.5");
    match wrong {
        Wrong::NoObject(at) if at == nth => return "null".to_owned(),
        Wrong::Id(at, form) if at == nth => number = form.replace("ID", &number),
        Wrong::Nan(at) if at == nth => price = "NaN",
        _ => {}
    }
    format!(r#"{{"id":{number},"actual_status":"running","dph_total":{price},"label":"NaN, \"Infinity\""}}"#)
}

/// A tiny vast.ai: its list, and one rental by its number.
async fn served(account: Arc<Mutex<Account>>) -> VastClient {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = vec![0; 4096];
            let count = socket.read(&mut request).await.unwrap_or(0);
            let line = String::from_utf8_lossy(&request[..count]).lines().next().unwrap_or_default().to_owned();
            let target = line.split(' ').nth(1).unwrap_or_default();
            let after = target.split_once("after_token=").and_then(|(_, token)| token.parse().ok()).unwrap_or(0);
            let (status, body) = account.lock().unwrap().page(after);
            let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = socket.write_all((head + &body).as_bytes()).await;
        }
    });
    VastClient::new(&url, "any-key".to_owned().into(), Limits::default()).unwrap()
}

async fn read(account: &Account) -> (VastList, Account) {
    let account = Arc::new(Mutex::new(account.clone()));
    let list = served(Arc::clone(&account)).await.list().await.unwrap();
    let account = account.lock().unwrap().clone();
    (list, account)
}

fn account(rentals: usize, page: usize, wrong: Vec<Wrong>) -> Account {
    let rentals: Vec<u64> = (1..=rentals as u64).map(|nth| nth * 7).collect();
    Account { stayed: rentals.iter().copied().collect(), rentals, page, wrong, served: 0 }
}

fn any_wrong() -> impl Strategy<Value = Wrong> {
    prop_oneof![
        3 => Just(Wrong::Nothing),
        1 => Just(Wrong::Null),
        1 => (1usize..3).prop_map(Wrong::Short),
        1 => Just(Wrong::Doubled),
        2 => (0usize..3, prop::sample::select(vec!["\"ID\"", "null", "{}", "ID.5", "-ID", "NaN", "[ID]"]))
            .prop_map(|(nth, form)| Wrong::Id(nth, form)),
        1 => (0usize..3).prop_map(Wrong::NoObject),
        1 => (0usize..3).prop_map(Wrong::Nan),
        1 => (-2i64..3).prop_map(Wrong::Total),
        1 => Just(Wrong::NoTotal),
        1 => Just(Wrong::NoToken),
        1 => Just(Wrong::Circle),
        1 => Just(Wrong::Breaks),
        1 => (0usize..4).prop_map(Wrong::Ends),
        1 => Just(Wrong::Begins),
        1 => (0usize..4).prop_map(Wrong::Swaps),
    ]
}

#[tokio::test]
async fn what_is_rented_is_never_absent_whatever_the_list() {
    // Beside each other: one address is asked for a page a second at most.
    let cases = (0usize..7, 1usize..4, prop::collection::vec(any_wrong(), 0..4));
    let mut runner = TestRunner::deterministic();
    let mut running = tokio::task::JoinSet::new();
    for _ in 0..400 {
        let (rentals, page, wrong) = cases.new_tree(&mut runner).unwrap().current();
        running.spawn(async move {
            let began = account(rentals, page, wrong);
            let (list, ended) = read(&began).await;
            (began, list, ended)
        });
    }
    let (mut whole, mut partial) = (0, 0);
    while let Some(case) = running.join_next().await {
        let (began, list, ended) = case.unwrap();
        for id in &ended.stayed {
            assert_ne!(list.has(*id), Some(false), "{id} is rented: {began:?}\n{list:?}");
        }
        let priced = list.rentals.iter().filter(|it| it.record.dollars_per_h.is_some()).count();
        let least = ended.stayed.len() as f64 * 0.5;
        let (sum, all) = list.dollars_per_h();
        assert!(!all || sum.is_some_and(|sum| sum + 1e-9 >= least), "{sum:?} of {least}: {began:?}\n{list:?}");
        assert!(sum.is_none_or(|sum| (sum - priced as f64 * 0.5).abs() < 1e-9), "{sum:?}: {list:?}");
        if list.incomplete.is_none() {
            whole += 1;
            assert!(ended.stayed.is_empty() || !list.rentals.is_empty(), "{began:?} is not empty");
            assert_eq!((list.rows_unreadable, list.total), (0, Some(list.rentals.len() as u64)), "{began:?}");
        } else {
            partial += 1;
            assert_eq!(list.has(3), None, "nothing is absent from what is not whole: {began:?}");
            assert_eq!(list.clone().whole().unwrap_err().code, Code::ListIncomplete);
        }
        // And what was asked for while nothing went wrong is whole.
        if began.wrong.iter().take(ended.served).all(|wrong| wrong.is_harmless()) {
            assert_eq!((list.incomplete.clone(), list.rentals.len()), (None, began.rentals.len()), "{began:?}");
            assert_eq!(list.has(3), Some(false));
        }
    }
    assert!(whole > 60 && partial > 120, "{whole} and {partial}");
}

#[tokio::test]
async fn what_is_wrong_with_a_list_is_told_and_what_it_has_is_kept() {
    let why = async |rentals, page, wrong: &[Wrong]| {
        let (list, _) = read(&account(rentals, page, wrong.to_vec())).await;
        (list.rentals.len(), list.incomplete.unwrap_or_default())
    };
    for (rentals, page, wrong, has, says) in [
        (2, 25, Wrong::Null, 0, "a page of it is null; it counts 2 rentals and has 0"),
        (2, 25, Wrong::Id(0, "\"ID\""), 1, "1 row could not be read"),
        (3, 25, Wrong::Short(1), 2, "it counts 3 rentals and has 2"),
        (3, 2, Wrong::Breaks, 2, "its page 2 could not be had"),
        (3, 2, Wrong::Begins, 4, "there were 3 rentals and then 4"),
        (1, 25, Wrong::NoTotal, 1, "it does not tell how many rentals there are"),
        (0, 25, Wrong::Null, 0, ""),
        (0, 25, Wrong::Nothing, 0, ""),
        (2, 25, Wrong::Nan(1), 2, ""),
    ] {
        let (had, told) = why(rentals, page, &[wrong]).await;
        assert!(had == has && told.starts_with(says) && told.is_empty() == says.is_empty(), "{wrong:?}: {had}, {told:?}");
    }
    // The reports, word for word.
    for (answer, has, says) in [
        (include_str!("../vast-list-null-page.json"), 0, "a page of it is null"),
        (include_str!("../vast-list-unreadable-row.json"), 1, "1 row could not be read"),
    ] {
        let mut pages = dwell_clients::VastPages::default();
        assert_eq!(pages.take(&serde_json::from_str(answer).unwrap()).unwrap(), None);
        let list = pages.end();
        assert_eq!((list.rentals.len(), list.total, list.has(31_000_001)), (has, Some(2), None));
        assert!(list.incomplete.as_ref().is_some_and(|why| why.starts_with(says)), "{list:?}");
    }
    // Null is none only where the page says so twice, and that no other follows.
    for (answer, is_whole) in [
        (r#"{"instances":null,"total_instances":0,"instances_found":0,"next_token":null}"#, true),
        (r#"{"instances":null,"total_instances":0,"instances_found":0}"#, true),
        (r#"{"instances":null,"total_instances":0,"next_token":null}"#, false),
        (r#"{"instances":null,"instances_found":0,"next_token":null}"#, false),
        (r#"{"instances":null,"total_instances":0,"instances_found":0,"next_token":"2"}"#, false),
    ] {
        let mut pages = dwell_clients::VastPages::default();
        pages.take(&serde_json::from_str(answer).unwrap()).unwrap();
        assert_eq!(pages.end().incomplete.is_none(), is_whole, "{answer}");
    }
    let (list, _) = read(&account(2, 25, vec![Wrong::Nan(1)])).await;
    assert_eq!(list.dollars_per_h(), (Some(0.5), false), "a price that is not told is not nothing");
}

/// By its number: null is no such rental, and what tells nothing of it is no answer.
#[tokio::test]
async fn only_an_answer_about_a_rental_says_that_there_is_none() {
    for (answer, expected) in [
        (r#"{"instances":null}"#, Ok(false)),
        (r#"{"instances":{"id":7,"gpu_temp":NaN}}"#, Ok(true)),
        (r#"{"instances":{"actual_status":"running"}}"#, Ok(true)),
        (r#"{"instances":{"id":8}}"#, Err(Code::NotVast)),
        (r#"{"instances":[]}"#, Err(Code::NotVast)),
        (r#"{"success":true}"#, Err(Code::NotVast)),
        ("[]", Err(Code::NotVast)),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let _ = socket.read(&mut [0; 4096]).await;
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", answer.len());
            let _ = socket.write_all((head + answer).as_bytes()).await;
        });
        let client = VastClient::new(&url, "any-key".to_owned().into(), Limits::default()).unwrap();
        let shown = client.show(7).await.map(|record| record.is_some()).map_err(|error| error.code);
        assert_eq!(shown, expected, "{answer}");
    }
}
