//! Charts for `ell0`: a few kinds, drawn the same as SVG and as PNG, without fonts or libraries of the system.
//!
//! ```
//! use ell0_plot::{Axis, Chart, Figure, Series};
//!
//! let squares = (0..10).map(|k| (f64::from(k), f64::from(k * k)));
//! let chart = Chart::new("Squares", Axis::linear("k"), Axis::linear("k²")).with(Series::line("k²", squares));
//! let figure = Figure::new(vec![chart]);
//! assert!(figure.svg().starts_with("<svg"));
//! assert!(figure.png(1.0)?.starts_with(b"\x89PNG"));
//! # Ok::<(), ell0_plot::Error>(())
//! ```

mod axis;
mod base64;
mod chart;
mod colour_bar;
mod draw;
mod element;
mod field;
mod figure;
mod frame;
mod letters;
mod paint;
mod palette;
mod picture;
mod series;
mod svg;

pub use axis::{Axis, Scale};
pub use chart::{Chart, Mark};
pub use field::Field;
pub use figure::{Error, Figure};
pub use palette::Palette;
pub use series::{Series, Shape};
pub use svg::escaped;
