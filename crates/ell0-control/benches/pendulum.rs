//! Steps of the pendulum, and steps with observations.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ell0::rng::Stream;
use ell0_control::{
    environment::{Environment, Pendulum, PendulumConfig, TimeLimit},
    episode::Recorder,
    policy::Random,
};

fn pendulum(c: &mut Criterion) {
    let mut group = c.benchmark_group("pendulum");
    let steps = 10_000u64;
    group.throughput(Throughput::Elements(steps));
    let actions: Vec<f64> = {
        let mut rng = Stream::new(1).at(0);
        (0..steps).map(|_| 4.0 * rng.uniform() - 2.0).collect()
    };
    let mut environment = TimeLimit::new(
        Pendulum::new(PendulumConfig::default()).expect("a pendulum"),
        200,
    );
    group.bench_function("steps", |b| {
        b.iter(|| {
            let mut total = 0.0;
            for action in &actions {
                total += environment.step(&[*action]).expect("finite").reward;
            }
            black_box(total)
        });
    });
    let mut observation = [0.0; 3];
    group.bench_function("steps and observations", |b| {
        b.iter(|| {
            let mut total = 0.0;
            for action in &actions {
                total += environment.step(&[*action]).expect("finite").reward;
                environment.observe(&mut observation);
                total += f64::from(observation[0]);
            }
            black_box(total)
        });
    });
    group.throughput(Throughput::Elements(200));
    let random = Random(environment.action_space().clone());
    let mut recorder = Recorder::new(&environment, &random).expect("a recorder");
    group.bench_function("episodes with a random policy, recorded", |b| {
        b.iter(|| {
            recorder.run(&Stream::new(1), 0).expect("finite");
            black_box(recorder.take().rows())
        });
    });
}

criterion_group!(benches, pendulum);
criterion_main!(benches);
