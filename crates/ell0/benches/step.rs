//! A training step, plain and gated, against the bare matrix products of the plain step.
//!
//! `cargo bench --bench step` prints criterion's figures for each, then a table of ratios measured turn by turn, which a busy machine disturbs less.

use std::{hint::black_box, sync::Arc, time::Instant};

use criterion::Criterion;
use ell0::{
    gates::{HardConcrete, Penalty},
    network::{Activation, GateSpec, Mlp, MlpConfig},
    rng::Stream,
    training::{Dataset, Trainer, TrainerConfig},
};
use faer::{Accum, Mat, Par, linalg::matmul::matmul};

const ROWS: usize = 200_000;
const BATCH: usize = 256;
const WIDTHS: [usize; 2] = [128, 256];
const CLOSED: [f64; 3] = [0.17, 0.5, 0.9];

fn data() -> Arc<Dataset> {
    let mut rng = Stream::new(0).at(0);
    let mut values = |n: usize| -> Vec<f32> { (0..n).map(|_| rng.normal() as f32).collect() };
    Dataset::new(&values(ROWS * 4), 4, &values(ROWS * 3), 3)
        .expect("shapes agree")
        .into()
}

/// A trainer whose gates, if any, are closed `closed` of the time and stay so: the learning rate is next to nothing.
fn trainer(data: &Arc<Dataset>, width: usize, closed: Option<f64>) -> Trainer {
    let mut config = MlpConfig::new([4, width, width, 3], Activation::Elu);
    config.gates = closed.map(|_| GateSpec::default());
    let mut model = Mlp::new(&config, &Stream::new(1)).expect("a valid network");
    if let Some(closed) = closed {
        let location = HardConcrete::default().log_alpha_of_prob_active(1.0 - closed) as f32;
        let range = model.architecture().all_log_alphas();
        model.parameters_mut()[range].fill(location);
    }
    let config = TrainerConfig {
        batch_size: BATCH,
        learning_rate: 1e-12,
        penalty: Penalty::expected_l0(5e-6).expect("a valid penalty"),
        ..TrainerConfig::default()
    };
    Trainer::new(model, config, data.clone(), None).expect("a valid configuration")
}

/// The matrix products of a plain step, and nothing else.
struct Products {
    x: Mat<f32>,
    h1: Mat<f32>,
    h2: Mat<f32>,
    y: Mat<f32>,
    w: [Mat<f32>; 3],
    dw: [Mat<f32>; 3],
}

impl Products {
    fn new(width: usize) -> Self {
        let filled = |r, c| Mat::from_fn(r, c, |i, j| ((i * 7 + j * 3) % 11) as f32 * 0.01);
        let weights = || [filled(4, width), filled(width, width), filled(width, 3)];
        Products {
            x: filled(BATCH, 4),
            h1: filled(BATCH, width),
            h2: filled(BATCH, width),
            y: filled(BATCH, 3),
            w: weights(),
            dw: weights(),
        }
    }

    fn run(&mut self) {
        let Products {
            x,
            h1,
            h2,
            y,
            w,
            dw,
        } = self;
        let product = |to: &mut Mat<f32>, a: faer::MatRef<f32>, b: faer::MatRef<f32>| {
            matmul(to.as_mut(), Accum::Replace, a, b, 1.0, Par::Seq);
        };
        product(h1, x.as_ref(), w[0].as_ref());
        product(h2, h1.as_ref(), w[1].as_ref());
        product(y, h2.as_ref(), w[2].as_ref());
        product(&mut dw[2], h2.transpose(), y.as_ref());
        product(h2, y.as_ref(), w[2].transpose());
        product(&mut dw[1], h1.transpose(), h2.as_ref());
        product(h1, h2.as_ref(), w[1].transpose());
        product(&mut dw[0], x.transpose(), h1.as_ref());
        black_box(&self.dw);
    }
}

/// Median seconds of one call of each contender, the contenders taking turns.
fn in_turns(contenders: &mut [Box<dyn FnMut() + '_>]) -> Vec<f64> {
    let (rounds, calls) = (101, 20);
    let mut times = vec![Vec::with_capacity(rounds); contenders.len()];
    for _ in 0..rounds {
        for (contender, times) in contenders.iter_mut().zip(&mut times) {
            let start = Instant::now();
            (0..calls).for_each(|_| contender());
            times.push(start.elapsed().as_secs_f64() / f64::from(calls));
        }
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[rounds / 2]
    };
    times.iter_mut().map(median).collect()
}

fn main() {
    let data = data();
    let mut criterion = Criterion::default().configure_from_args();
    for width in WIDTHS {
        let mut group = criterion.benchmark_group(format!("4→{width}→{width}→3, batch {BATCH}"));
        let mut products = Products::new(width);
        group.bench_function("bare matmuls", |b| b.iter(|| products.run()));
        for closed in [None].into_iter().chain(CLOSED.map(Some)) {
            let name = closed.map_or("plain step".into(), |c| {
                format!("gated step, {:.0} % closed", c * 100.0)
            });
            let mut trainer = trainer(&data, width, closed);
            group.bench_function(name, |b| b.iter(|| trainer.step().expect("a finite loss")));
        }
        group.finish();
    }

    println!("\nIn turns, medians; one thread.");
    println!("| width | bare matmuls | plain step | gated, 17 % closed | 50 % | 90 % |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for width in WIDTHS {
        let mut products = Products::new(width);
        let mut trainers: Vec<Trainer> = [None]
            .into_iter()
            .chain(CLOSED.map(Some))
            .map(|c| trainer(&data, width, c))
            .collect();
        let mut contenders: Vec<Box<dyn FnMut() + '_>> = vec![Box::new(|| products.run())];
        contenders.extend(trainers.iter_mut().map(|trainer| {
            Box::new(|| {
                trainer.step().expect("a finite loss");
            }) as Box<dyn FnMut() + '_>
        }));
        let times = in_turns(&mut contenders);
        print!(
            "| {width} | {:.3} ms | {:.3} ms = {:.2}× matmuls |",
            times[0] * 1e3,
            times[1] * 1e3,
            times[1] / times[0]
        );
        for time in &times[2..] {
            print!(" {:.3} ms = {:.2}× plain |", time * 1e3, time / times[1]);
        }
        println!();
    }
}
