//! The commands as a user runs them: one program of tests, so that it is linked once.

#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "what a test prints is for whoever runs it"
)]

mod analyze;
#[cfg(target_os = "linux")]
mod data_limits;
mod docs;
mod edges;
mod export;
mod export_loop;
mod fit;
mod fit_control;
mod fixture;
mod floors;
mod gates;
mod keeps;
mod limits;
mod model;
mod network;
mod out;
mod readme;
mod report;
mod threads;
mod train;
mod tutorial;
mod tutorial_figures;
mod words;
