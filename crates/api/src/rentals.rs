//! Accounts of vast.ai and what they are billed for.

use dwell_fleet::Timestamp;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::ApiError;

dto! {
    /// vast.ai accounts.
    Accounts {
        /// They.
        accounts: Vec<Account>,
    }

    /// What vast.ai bills, joined with what the manager knows.
    Rentals {
        /// When vast.ai was asked, on the operator's clock.
        #[ts(type = "string")]
        at: Timestamp,
        /// The accounts that were asked.
        accounts: Vec<AccountRentals>,
        /// Rentals, those that do not fit together first.
        rentals: Vec<RentalView>,
        /// Name of the fleet that they are joined with; `null` where none is watched.
        joined_with: Option<String>,
        /// Rows that the manager counts as alive and no account lists; empty where not every account's list is whole.
        without_rental: Vec<RowWithoutRental>,
        /// Every account's list is whole: what is not among the rentals is in none of them.
        complete: bool,
    }

    /// An account that was asked.
    AccountRentals {
        /// The operator's name for it.
        name: String,
        /// vast.ai's number of it; `null` where not told.
        number: Option<u64>,
        /// Credit left, US dollars; `null` where not told.
        credit_dollars: Option<f64>,
        /// Rentals listed; `null` where the list was not given, or nothing of it could be read.
        rentals: Option<usize>,
        /// Rows of the list that could not be read: they are billed as well.
        rows_unreadable: usize,
        /// Rentals by vast.ai's own count.
        total: Option<u64>,
        /// Why the list is not known to be all; `null` where it is. Nothing follows from what an incomplete list has not.
        incomplete: Option<String>,
        /// Their prices together, US dollars per hour, as far as told.
        dollars_per_h: Option<f64>,
        /// Rentals and prices are at least that: the list is incomplete, or a price was not told.
        at_least: bool,
        /// Hours that the credit lasts at that price; `null` where the price is not known whole.
        hours_left: Option<f64>,
        /// Why it was not listed.
        error: Option<ApiError>,
    }

    /// A rental.
    RentalView {
        /// vast.ai's number.
        vast_id: u64,
        /// Account.
        account: String,
        /// Status now, in vast.ai's words.
        status: Option<String>,
        /// Status that is wanted.
        wanted: Option<String>,
        /// What vast.ai says of it. Hostile text.
        says: Option<String>,
        /// Card.
        gpu_name: Option<String>,
        /// Image.
        image: Option<String>,
        /// Label at vast.ai.
        label: Option<String>,
        /// Price, US dollars per hour.
        dollars_per_h: Option<f64>,
        /// When it was rented.
        #[ts(type = "string | null")]
        started_at: Option<Timestamp>,
        /// When the rental ends.
        #[ts(type = "string | null")]
        ends_at: Option<Timestamp>,
        /// Load of the card, percent, as vast.ai has it.
        gpu_util_percent: Option<f64>,
        /// The manager's row of it.
        row: Option<RowOfRental>,
        /// What does not fit together.
        odd: Option<String>,
    }

    /// The manager's row of a rental.
    RowOfRental {
        /// Id of the instance.
        id: String,
        /// Its state by the manager.
        state: String,
        /// Its flag.
        flag: Option<String>,
        /// What they were joined by: `number` or `label`.
        by: String,
    }

    /// A row without a rental.
    RowWithoutRental {
        /// Id of the instance.
        id: String,
        /// Its state by the manager.
        state: String,
        /// vast.ai's number, by the manager.
        vast_id: Option<u64>,
    }

    /// Takes over the key of vast.ai's own client, from `VAST_API_KEY` or its file.
    ImportKey {
        /// A name for the account.
        name: String,
        /// Keep it in this process alone instead of the keychain.
        session_only: bool,
    }

    /// A vast.ai account.
    AccountName {
        /// Its name.
        name: String,
    }

    /// A vast.ai account. Its key is never told.
    Account {
        /// The operator's name for it.
        name: String,
        /// Where its key is, or why it cannot be had.
        state: String,
    }

    /// Asks who was rented before a date: a new image reaches only those rented after it.
    RentedBefore {
        /// The date.
        #[ts(type = "string")]
        before: Timestamp,
    }

    /// Who was rented before a date.
    Rented {
        /// They, oldest first.
        instances: Vec<RentedView>,
        /// Alive in all.
        alive: usize,
        /// Of those: it is not told when they were rented.
        not_told: usize,
    }

    /// When an instance was rented.
    RentedView {
        /// Its id.
        id: String,
        /// State.
        state: String,
        /// When.
        #[ts(type = "string")]
        rented_at: Timestamp,
        /// Image, as vast.ai's status names it.
        image: Option<String>,
        /// Flag.
        flag: Option<String>,
    }
}
