//! The commands as a user runs them: one program of tests, so that it is linked once.

mod analyze;
mod docs;
mod export;
mod fit;
mod gates;
mod model;
mod readme;
mod report;
mod train;
mod tutorial;
mod tutorial_figures;

use std::{
    io::Read,
    path::Path,
    process::{Child, Command, Output},
    time::{Duration, Instant},
};

use serde_json::Value;

/// The repository's folder.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The binary with arguments, to be run in a folder.
fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ell0"));
    command.args(arguments).current_dir(folder);
    command
}

fn ell0(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments)
        .output()
        .expect("the binary runs")
}

/// A process that ends with its test, however that ends.
struct Running(Child);

impl Running {
    fn new(command: &mut Command) -> Self {
        Running(command.spawn().expect("the binary runs"))
    }

    /// Waits until the process has made a file.
    fn wait_for(&mut self, file: &Path) {
        let began = Instant::now();
        while !file.exists() {
            let ended = self.0.try_wait().expect("a status");
            assert!(ended.is_none(), "{ended:?} without {}", file.display());
            // A busy machine may be slow to begin.
            let waited = began.elapsed() < Duration::from_secs(120);
            assert!(waited, "there is no {}", file.display());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for its end: the exit code, and what it wrote on the standard error, if that is a pipe.
    fn end(mut self) -> (Option<i32>, String) {
        let mut errors = String::new();
        if let Some(mut pipe) = self.0.stderr.take() {
            pipe.read_to_string(&mut errors).expect("UTF-8");
        }
        (self.0.wait().expect("a status").code(), errors)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// A law of the pendulum whose return (−148.94) and eigenvalues (0.8390, −0.3528) are known from elsewhere.
const LAW: &str = "2*tanh(-4.66*sin_theta - 0.5*theta_dot - 3.82*cos_theta*theta_dot - 12.31*cos_theta*sin_theta)";

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn numbers(value: &Value) -> Vec<f64> {
    let values = value.as_array().expect("an array");
    values.iter().map(number).collect()
}
