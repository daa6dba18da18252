//! Nine systems, four seeds of noise each: how often a law has exactly the right terms, by either criterion.
//!
//! `cargo run --release -p ell0-run --example nine_systems -- 0.01 0.05 0.1`

use std::time::Instant;

use ell0::{
    equation::{Dynamics, Expression, Model},
    rng::Stream,
};
use ell0_data::frame::Frame;
use ell0_run::{Criterion, DataSettings, FitSettings, Silent};

struct System {
    name: &'static str,
    states: &'static [&'static str],
    laws: &'static [&'static str],
    terms: &'static [&'static [&'static str]],
    initial: &'static [f64],
    dt: f64,
    library: &'static str,
}

const SYSTEMS: [System; 9] = [
    System {
        name: "Lorenz",
        states: &["x", "y", "z"],
        laws: &[
            "10*y - 10*x",
            "28*x - x*z - y",
            "x*y - 2.6666666666666665*z",
        ],
        terms: &[&["x", "y"], &["x", "y", "x z"], &["z", "x y"]],
        initial: &[-8.0, 7.0, 27.0],
        dt: 0.01,
        library: "polynomial(2)",
    },
    System {
        name: "Van der Pol",
        states: &["x", "y"],
        laws: &["y", "0.5*y - 0.5*x^2*y - x"],
        terms: &[&["y"], &["x", "y", "x^2 y"]],
        initial: &[2.0, 0.0],
        dt: 0.02,
        library: "polynomial(3)",
    },
    System {
        name: "Duffing",
        states: &["x", "y"],
        laws: &["y", "-0.2*y - 0.05*x - x^3"],
        terms: &[&["y"], &["x", "y", "x^3"]],
        initial: &[-1.5, 1.0],
        dt: 0.01,
        library: "polynomial(3)",
    },
    System {
        name: "Lotka-Volterra",
        states: &["x", "y"],
        laws: &["x - 0.1*x*y", "0.075*x*y - 1.5*y"],
        terms: &[&["x", "x y"], &["y", "x y"]],
        initial: &[10.0, 5.0],
        dt: 0.01,
        library: "polynomial(2)",
    },
    System {
        name: "Roessler",
        states: &["x", "y", "z"],
        laws: &["-y - z", "x + 0.2*y", "0.2 + x*z - 5.7*z"],
        terms: &[&["y", "z"], &["x", "y"], &["1", "z", "x z"]],
        initial: &[3.0, 5.0, 0.0],
        dt: 0.03,
        library: "polynomial(2)",
    },
    System {
        name: "linear oscillator",
        states: &["x", "y"],
        laws: &["-0.1*x + 2*y", "-2*x - 0.1*y"],
        terms: &[&["x", "y"], &["x", "y"]],
        initial: &[2.0, 0.0],
        dt: 0.01,
        library: "polynomial(3)",
    },
    System {
        name: "cubic oscillator",
        states: &["x", "y"],
        laws: &["-0.1*x^3 + 2*y^3", "-2*x^3 - 0.1*y^3"],
        terms: &[&["x^3", "y^3"], &["x^3", "y^3"]],
        initial: &[2.0, 0.0],
        dt: 0.01,
        library: "polynomial(3)",
    },
    System {
        name: "Hopf",
        states: &["x", "y"],
        laws: &["0.2*x + y - x^3 - x*y^2", "-x + 0.2*y - x^2*y - y^3"],
        terms: &[&["x", "y", "x^3", "x y^2"], &["x", "y", "x^2 y", "y^3"]],
        initial: &[1.5, 0.0],
        dt: 0.02,
        library: "polynomial(3)",
    },
    System {
        name: "MHD",
        states: &["a", "b", "c", "d", "e", "f"],
        laws: &[
            "4*b*c - 4*e*f",
            "-7*a*c + 7*d*f",
            "3*a*b - 3*d*e",
            "2*f*b - 2*c*e",
            "5*c*d - 5*f*a",
            "9*a*e - 9*d*b",
        ],
        terms: &[
            &["b c", "e f"],
            &["a c", "d f"],
            &["a b", "d e"],
            &["b f", "c e"],
            &["a f", "c d"],
            &["a e", "b d"],
        ],
        initial: &[0.6, -0.5, 0.7, 0.4, 0.8, -0.6],
        dt: 0.01,
        library: "polynomial(2)",
    },
];

const ROWS: usize = 2000;

fn table(system: &System, noise: f64, seed: u64) -> Frame {
    let names: Vec<String> = system.states.iter().map(ToString::to_string).collect();
    let law = |text: &&str| Expression::parse(text, &names).expect("a law");
    let equations = names.iter().cloned().zip(system.laws.iter().map(law));
    let model =
        Model::new(names.clone(), equations.collect(), Dynamics::Continuous).expect("a model");
    let time: Vec<f64> = (0..ROWS).map(|k| k as f64 * system.dt).collect();
    let run = model
        .simulate(system.initial, &time, |_, _| ())
        .expect("a run");
    let mut columns = vec![("t".to_string(), time)];
    for (k, name) in names.iter().enumerate() {
        let mut rng = Stream::new(seed).split("noise").at(k as u64);
        let clean: Vec<f64> = run.states.iter().map(|s| s[k]).collect();
        let mean = clean.iter().sum::<f64>() / ROWS as f64;
        let deviation =
            (clean.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / ROWS as f64).sqrt();
        let noisy = clean
            .iter()
            .map(|x| x + noise * deviation * rng.normal())
            .collect();
        columns.push((name.clone(), noisy));
    }
    Frame::new(columns)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let levels: Vec<f64> = std::env::args()
        .skip(1)
        .map(|a| a.parse())
        .collect::<Result<_, _>>()?;
    for noise in levels {
        let (mut exact, mut seconds) = ([0; 2], [0.0; 2]);
        for system in &SYSTEMS {
            let mut right = [0; 2];
            let mut wrong = Vec::new();
            for seed in 0..4 {
                let table = table(system, noise, seed);
                for (k, criterion) in [Criterion::Validation, Criterion::Likelihood]
                    .into_iter()
                    .enumerate()
                {
                    let settings = FitSettings {
                        criterion,
                        data: DataSettings {
                            states: system.states.iter().map(ToString::to_string).collect(),
                            library: system.library.parse()?,
                            ..DataSettings::default()
                        },
                        ..FitSettings::default()
                    };
                    let began = Instant::now();
                    let found = settings.run_on(std::slice::from_ref(&table), &Silent)?;
                    seconds[k] += began.elapsed().as_secs_f64();
                    let same = found.equations.iter().zip(system.terms).all(|(e, want)| {
                        let mut names: Vec<&str> =
                            e.terms.iter().map(|t| t.feature.as_str()).collect();
                        let mut want = want.to_vec();
                        names.sort_unstable();
                        want.sort_unstable();
                        names == want
                    });
                    right[k] += usize::from(same);
                    if !same && k == 1 {
                        wrong.push(found.model.text(3));
                    }
                }
            }
            println!(
                "{noise} {:20} validation {} of 4, likelihood {} of 4",
                system.name, right[0], right[1]
            );
            for text in wrong {
                println!("    {}", text.replace('\n', "; "));
            }
            exact.iter_mut().zip(right).for_each(|(e, r)| *e += r);
        }
        println!(
            "{noise}: validation {} of 36 in {:.1} s, likelihood {} of 36 in {:.1} s",
            exact[0], seconds[0], exact[1], seconds[1]
        );
    }
    Ok(())
}
