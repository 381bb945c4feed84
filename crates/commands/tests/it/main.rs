//! The main job, end to end without a window: simulated fleets in virtual time, and over HTTP.

mod evening;
mod table;
