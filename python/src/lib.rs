//! The Python package `ell0`: what is compiled of it. Every call is one of `ell0-run`; there is no method of its own here.

mod error;
mod export;
mod law;
mod long;
mod network;
mod outside;
mod policy;
mod save;
mod statistics;
mod tables;
mod world;

use pyo3::prelude::*;

/// Every call is a thread of its own, and a fit makes and drops tables of megabytes: the system's allocator would ask the kernel for them again each time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What the package calls.
#[pymodule]
fn _ell0(module: &Bound<PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    law::register(module)?;
    world::register(module)?;
    policy::register(module)?;
    network::register(module)?;
    statistics::register(module)?;
    save::register(module)
}
