//! What a card would prove per hour: by its model before it is rented, by its figures once they are measured.

pub mod batch;
pub mod calibrate;
pub mod card;
pub mod cards;
pub mod clocked;
pub mod device;
pub mod external;
mod partition;
pub mod predict;
pub mod published;
pub mod run;
pub mod simulated;
pub mod verdicts;
pub mod work;
mod xid;
