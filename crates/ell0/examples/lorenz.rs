//! The law behind measurements: the Lorenz system from its trajectory and rates of change.

use ell0::{
    dictionary::{Accumulator, Path, PathConfig, Problem, Rule, inclusion_probabilities},
    equation::{DictionaryTarget, Dynamics, Model},
    features::Library,
    rng::Stream,
};

fn main() -> ell0::Result<()> {
    // A trajectory by small Euler steps; rates of change with 1 % noise, as a measurement might give.
    let mut rng = Stream::new(0).at(0);
    let rows = 10_000;
    let (mut x, mut rates) = (vec![0.0; 3 * rows], vec![0.0; 3 * rows]);
    let mut state = [-8.0, 8.0, 27.0f64];
    for row in 0..rows {
        let [a, b, c] = state;
        let rate = [10.0 * (b - a), a * (28.0 - c) - b, a * b - 8.0 / 3.0 * c];
        for k in 0..3 {
            x[k * rows + row] = state[k];
            rates[k * rows + row] = rate[k] + 0.5 * rng.normal();
            state[k] += 0.002 * rate[k];
        }
    }

    let names = ["x", "y", "z"];
    let library: Library = "polynomial(3)".parse()?;
    let features = library.features(&names)?;
    let (train_rows, parts) = (8_000, 4);
    let cut = |all: &[f64], from: usize, to: usize| -> Vec<f64> {
        all.chunks(rows)
            .flat_map(|column| column[from..to].to_vec())
            .collect()
    };
    let statistics = |from: usize, to: usize| {
        let mut accumulator = Accumulator::new(features.clone(), names.map(String::from).to_vec())?;
        accumulator.push(&cut(&x, from, to), &cut(&rates, from, to), None, to - from)?;
        Ok::<_, ell0::Error>(accumulator.finish())
    };
    let train = statistics(0, train_rows)?;
    let size = (rows - train_rows) / parts;
    let validation = (0..parts)
        .map(|k| statistics(train_rows + k * size, train_rows + (k + 1) * size))
        .collect::<Result<Vec<_>, _>>()?;

    let mut targets = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let path = Path::new(&train, &[index], &validation, &PathConfig::default())?;
        let chosen = path.choose(Rule::OneStandardError)?;
        println!(
            "{name}: {} of {} terms, validation error {:.4}",
            chosen.terms,
            features.len(),
            chosen.validation_error.unwrap_or(f64::NAN)
        );
        targets.push(DictionaryTarget {
            target: name.to_string(),
            coefficients: chosen.coefficients.clone(),
            errors: None,
            probabilities: Some(inclusion_probabilities(
                &Problem::new(&train, &[index])?,
                0.1,
                &Stream::new(1),
            )?),
        });
    }
    let model = Model::dictionary(&features, &library, &targets, Dynamics::Continuous)?;
    println!("\n{}\n\n{}", model.text(4), model.pysindy(3));
    Ok(())
}
