//! The pendulum's swing-up, proved: the share of the state space against time, the certificate checked, and sampled trajectories.
//!
//!     cargo run --release -p ell0-reach --example swing_up -- [seconds] [samples] [plain|uncertain] [law]

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use ell0::rng::Stream;
use ell0_control::{
    analysis::{Disturbance, Map, Range, Uncertain, Values, equilibria, on, proved_region},
    environment::make,
    policy::policy_from_text,
};
use ell0_reach::{Basin, Budget, Question};
use rayon::prelude::*;

/// The law of the README.
const LAW: &str = "2*tanh(-4.66*sin_theta - 0.5*theta_dot - 3.82*cos_theta*theta_dot - 12.31*cos_theta*sin_theta)";

/// Starts in proved cells, as many in each, that are not in the target within the steps that the cell names.
fn late(basin: &Basin, map: &Map, samples: u64) -> (u64, u64) {
    let mut cells = Vec::new();
    basin.for_each_proved(|corners, steps| cells.push((corners.to_vec(), steps)));
    let each = samples.div_ceil(cells.len().max(1) as u64);
    let late = AtomicU64::new(0);
    let stream = Stream::new(1).split("starts");
    cells
        .par_iter()
        .enumerate()
        .for_each(|(k, (corners, steps))| {
            let mut rng = stream.at(k as u64);
            for _ in 0..each {
                // A cell is a parallelogram.
                let share = [rng.uniform(), rng.uniform()];
                let side = |i: usize, j: usize| corners[1 << j][i] - corners[0][i];
                let at = |i: usize| corners[0][i] + share[0] * side(i, 0) + share[1] * side(i, 1);
                let mut x = [at(0), at(1)];
                let mut room = Values::default();
                // Parameters are somewhere, or at an end; disturbances somewhere else at every step.
                let ends = rng.uniform() < 0.5;
                let mut anywhere = |u: &Uncertain| {
                    let share = rng.uniform();
                    u.range.at(if ends { share.round() } else { share })
                };
                let mut uncertain: Vec<f64> = map.uncertain().iter().map(&mut anywhere).collect();
                let mut arrived = false;
                for _ in 0..=*steps {
                    if basin.steps_at(&x) == Some(0) {
                        arrived = true;
                        break;
                    }
                    let inputs = map.uncertain().iter().zip(&mut uncertain);
                    for (u, value) in inputs.filter(|(u, _)| u.varies) {
                        *value = anywhere(u);
                    }
                    map.image(&x, &uncertain, &mut room);
                    x = [room.next[0], room.next[1]];
                }
                if !arrived {
                    late.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
    (late.into_inner(), each * cells.len() as u64)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let get = |k: usize, default: &str| arguments.get(k).map_or(default, |a| a).to_string();
    let seconds: f64 = get(0, "20").parse().expect("seconds");
    let samples: u64 = get(1, "1000000").parse().expect("samples");
    let uncertain = get(2, "plain") == "uncertain";
    let law = get(3, LAW);
    let world = make("pendulum(g=9.81)").expect("a world");
    let form = world.closed_form().expect("a closed form");
    let nominal = form.plant().expect("a plant");
    let plant = if uncertain {
        let ranges = [("g".to_string(), Range::new(9.7, 9.9))];
        let plant = form.plant_within(&ranges).expect("a plant");
        plant.disturbed(&[Disturbance::Rounding]).expect("a plant")
    } else {
        nominal.clone()
    };
    let policy = policy_from_text(&law, &plant.observation_names(), &plant.action_names());
    let policy = policy.expect("a policy");
    let map = plant.closed(&policy, 1.0).expect("a loop");
    let found = equilibria(
        &nominal,
        &nominal.closed(&policy, 1.0).expect("a loop"),
        &on,
    );
    let began = Instant::now();
    let region = proved_region(&nominal, &map, &found[0], &on).expect("a region");
    println!(
        "ellipse: {:.2} % of the box, {} boxes, inner radius {:.1e}, {:.1} s",
        100.0 * region.volume / (32.0 * std::f64::consts::PI),
        region.boxes,
        region.inner_radius,
        began.elapsed().as_secs_f64()
    );
    let question = Question::new(&plant, &map, &region.claim);
    let began = Instant::now();
    let mut next = 0.25;
    let pulse = || began.elapsed().as_secs_f64() < seconds;
    let basin = question
        .prove(Budget::default(), &pulse, |p| {
            let t = began.elapsed().as_secs_f64();
            if t >= next {
                println!(
                    "{t:7.1} s  {:6.2} %  {:8} cells  {:9} attempts  {:10} images  {:4} steps",
                    100.0 * p.share,
                    p.cells,
                    p.attempts,
                    p.enclosed,
                    p.steps
                );
                next = t * 1.3;
            }
        })
        .expect("a basin");
    println!(
        "{:7.1} s  {:.3} % within {} steps, odd: {}",
        began.elapsed().as_secs_f64(),
        100.0 * basin.share,
        basin.steps,
        basin.odd
    );
    let text = basin
        .certificate(plant.states(), &map)
        .expect("a certificate");
    let began = Instant::now();
    println!("certificate of {} bytes", text.len());
    println!(
        "{:?}, {:.1} s",
        ell0_check::check(&text),
        began.elapsed().as_secs_f64()
    );
    if let Ok(file) = std::env::var("CERTIFICATE") {
        std::fs::write(file, &text).expect("a file");
    }
    let began = Instant::now();
    let (late, of) = late(&basin, &map, samples);
    println!(
        "{late} of {of} late, {:.1} s",
        began.elapsed().as_secs_f64()
    );
}
