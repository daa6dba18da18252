//! A table in memory → the law behind it, with its path → a simulation → C. `cargo run --release --example fit_in_memory`

use std::path::Path;

use ell0_data::frame::Frame;
use ell0_run::{
    DataSettings, ExportSettings, Exportable, FitSettings, Result, Silent, SimulateSettings,
};

/// Prey and predators (Lotka and Volterra), by small steps of the midpoint rule.
fn measurements() -> Frame {
    let rate = |[x, y]: [f64; 2]| [x * (1.0 - 0.5 * y), y * (0.4 * x - 0.8)];
    let (h, substeps) = (0.05, 50);
    let (mut t, mut prey, mut predators) = (vec![], vec![], vec![]);
    let mut state = [1.0, 1.0];
    for k in 0..600 {
        t.push(h * f64::from(k));
        prey.push(state[0]);
        predators.push(state[1]);
        for _ in 0..substeps {
            let s = h / f64::from(substeps);
            let along =
                |from: [f64; 2], by: [f64; 2], s: f64| [from[0] + s * by[0], from[1] + s * by[1]];
            let middle = along(state, rate(state), 0.5 * s);
            state = along(state, rate(middle), s);
        }
    }
    Frame::new([("t", t), ("prey", prey), ("predators", predators)])
}

/// Fits, prints, simulates, and exports C into a folder.
pub fn run(folder: &Path) -> Result<()> {
    let settings = FitSettings {
        data: DataSettings {
            states: vec!["prey".into(), "predators".into()],
            library: "polynomial(2)".parse()?,
            ..DataSettings::default()
        },
        ..FitSettings::default()
    };
    let found = settings.run_on(&[measurements()], &Silent)?;
    println!("{}\n", found.model.text(3));
    for line in &found.path {
        println!(
            "{:9} {} terms: error {:.1e}{}",
            line.target,
            line.terms,
            line.train_mse,
            if line.chosen { "  ← chosen" } else { "" }
        );
    }
    let simulation = SimulateSettings {
        initial: vec![("prey".into(), 1.0), ("predators".into(), 1.0)],
        duration: Some(30.0),
        dt: 0.05,
        ..SimulateSettings::default()
    };
    let future = simulation.run(&found.model)?;
    let last = future.states.last().expect("a simulation has rows");
    println!("\nafter 30: {:.3} prey, {:.3} predators", last[0], last[1]);
    let exported = ExportSettings::default().run(&Exportable::Equations(found.model), folder)?;
    for file in exported.files {
        println!("{}", file.display());
    }
    Ok(())
}

#[allow(dead_code, reason = "the test calls `run` in a folder of its own")]
fn main() -> Result<()> {
    run(Path::new("runs/fit-in-memory"))
}
