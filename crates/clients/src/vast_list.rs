//! vast.ai's list of an account's rentals, page by page: what could be read of it, and whether that is all.
//!
//! What is not in a list is gone only where the list is whole. Seen in public reports: `instances: null` on the only page or on one in
//! the middle, short pages, numbers as text, pages of which one could not be had, and rentals that come and go while pages are read.

use std::collections::HashSet;

use serde_json::Value;

use crate::vast::VastListed;
use crate::{Code, FetchError};

/// Pages of 25 that are read at most.
const VAST_PAGES_MAX: usize = 400;
/// Things wrong with a list that are told.
const WRONG_MAX: usize = 4;

/// What an account rents, as far as its list could be read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VastList {
    /// Rentals of the rows that could be read, each once.
    pub rentals: Vec<VastListed>,
    /// Rows that could not be read: rentals that are billed, and of which no number is known here.
    pub rows_unreadable: usize,
    /// How many rentals there are, by vast.ai's own count.
    pub total: Option<u64>,
    /// Why this is not known to be all; `None` where it is. In a few words, to stand behind "the list is incomplete".
    pub incomplete: Option<String>,
}

impl VastList {
    /// Whether a rental is listed; `None` where it is not and the list is not whole.
    pub fn has(&self, id: u64) -> Option<bool> {
        match self.rentals.iter().any(|rental| rental.id == id) {
            true => Some(true),
            false => self.incomplete.is_none().then_some(false),
        }
    }

    /// Prices of the rentals together, US dollars per hour, and whether that is all: a row that could not be read and a price that
    /// was not told count for nothing. `None` where no price is known of a list that is not empty.
    pub fn dollars_per_h(&self) -> (Option<f64>, bool) {
        let prices: Vec<f64> = self.rentals.iter().filter_map(|rental| rental.record.dollars_per_h).collect();
        let all = self.incomplete.is_none() && prices.len() == self.rentals.len();
        // Without this an empty sum is -0.0.
        let sum = prices.iter().fold(0.0, |sum, price| sum + price);
        ((all || !prices.is_empty()).then_some(sum), all)
    }

    /// The rentals, where these are all.
    pub fn whole(self) -> Result<Vec<VastListed>, FetchError> {
        match self.incomplete {
            None => Ok(self.rentals),
            Some(why) => Err(FetchError::new(Code::ListIncomplete, format!("vast.ai's list is incomplete: {why}"))),
        }
    }
}

/// Whether a page says that there are no rentals, on it and in all, and that no other follows.
fn says_none(page: &Value) -> bool {
    let is_last = matches!(&page["next_token"], Value::Null) || page["next_token"].as_str().is_some_and(str::is_empty);
    is_last && page["total_instances"].as_u64() == Some(0) && page["instances_found"].as_u64() == Some(0)
}

/// A list that is being read.
#[derive(Debug, Default)]
pub struct VastPages {
    list: VastList,
    known: HashSet<u64>,
    tokens: HashSet<String>,
    rows: u64,
    pages: usize,
    /// What is wrong with it, each once.
    wrong: Vec<String>,
}

impl VastPages {
    /// Takes a page, and gives the token of the next one where there is one to be read. An error where this is no page of a list.
    pub fn take(&mut self, page: &Value) -> Result<Option<String>, FetchError> {
        let rows = match page.get("instances") {
            Some(Value::Array(rows)) => rows.as_slice(),
            // Of an account without rentals the only page may be null: then it says twice that there are none.
            Some(Value::Null) if self.pages == 0 && says_none(page) => &[],
            Some(Value::Null) => {
                self.is_wrong("a page of it is null");
                &[]
            }
            _ => return Err(FetchError::new(Code::NotVast, "vast.ai's list has no instances in it")),
        };
        self.pages += 1;
        self.rows += rows.len() as u64;
        if page["instances_found"].as_u64().is_some_and(|found| found != rows.len() as u64) {
            self.is_wrong("a page of it has another number of rentals than it says");
        }
        for row in rows {
            match VastListed::read(row) {
                None => self.list.rows_unreadable += 1,
                Some(rental) if self.known.insert(rental.id) => self.list.rentals.push(rental),
                Some(rental) => self.is_wrong(format!("{} stands in it twice", rental.id)),
            }
        }
        match (self.list.total, page["total_instances"].as_u64()) {
            (_, None) => self.is_wrong("it does not tell how many rentals there are"),
            (Some(before), Some(now)) if before != now => {
                self.is_wrong(format!("there were {before} rentals and then {now}: it changed while it was read"));
                self.list.total = Some(now);
            }
            (_, total) => self.list.total = total,
        }
        let next = match &page["next_token"] {
            Value::Null => return Ok(None),
            Value::String(token) if token.is_empty() => return Ok(None),
            Value::String(token) => token.clone(),
            _ => {
                self.is_wrong("its next page cannot be asked for");
                return Ok(None);
            }
        };
        if !self.tokens.insert(next.clone()) {
            self.is_wrong("it comes back to a page that was read");
            return Ok(None);
        }
        if self.pages >= VAST_PAGES_MAX {
            self.is_wrong(format!("it has more than {VAST_PAGES_MAX} pages"));
            return Ok(None);
        }
        Ok(Some(next))
    }

    /// Whether any page was taken.
    pub fn has_begun(&self) -> bool {
        self.pages > 0
    }

    /// The page after those taken could not be had.
    pub fn broken_off(&mut self, error: &FetchError) {
        self.is_wrong(format!("its page {} could not be had ({error})", self.pages + 1));
    }

    fn is_wrong(&mut self, why: impl Into<String>) {
        let why = why.into();
        if self.wrong.len() < WRONG_MAX && !self.wrong.contains(&why) {
            self.wrong.push(why);
        }
    }

    /// What was read.
    pub fn end(mut self) -> VastList {
        match self.list.total {
            Some(total) if total != self.rows => self.is_wrong(format!("it counts {total} rentals and has {}", self.rows)),
            None if self.pages == 0 => self.is_wrong("no page of it was read"),
            _ => {}
        }
        match self.list.rows_unreadable {
            0 => {}
            1 => self.wrong.insert(0, "1 row could not be read".to_owned()),
            several => self.wrong.insert(0, format!("{several} rows could not be read")),
        }
        self.list.incomplete = (!self.wrong.is_empty()).then(|| self.wrong.join("; "));
        self.list
    }
}
