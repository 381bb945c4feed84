//! What a card would prove per hour: by its model before it is rented, by its figures once they are measured.

pub mod card;
pub mod cards;
pub mod clocked;
pub mod device;
mod partition;
pub mod predict;
pub mod run;
pub mod simulated;
pub mod work;
