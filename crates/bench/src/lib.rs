//! What a card would prove per hour: by its model before it is rented, by its figures once they are measured.

pub mod cards;
pub mod predict;
