//! Charts, drawn with plotters as SVG and PNG in a light and a dark theme. Everything that is drawn is given: no clock, no files,
//! no JSON.

mod canvas;
mod card;
mod chart;
mod theme;

pub use canvas::DrawError;
pub use card::{Bar, Card, Line, Mark, Trace};
pub use chart::{Axis, Chart, Form, Panel, Plot, Quantiles, Series, Step, number_axis};
pub use theme::{Theme, Tint};
