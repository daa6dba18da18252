//! One update of TD3 beside the bare matrix products in it.
//!
//! With critics and a policy of two hidden layers of 256 and batches of 256, two updates (one of them with the policy's) hold 23 products of 256 × 256 × 256: for each update 1 of the target policy,
//! 2 of the target critics, 6 of the critics, forward and back; for the policy's 1 forward, 2 through a critic and 2 back. A dictionary needs none of its own: the critics' share is 9 of 11.5.
//!
//! The dictionaries of a field have 220 terms for each of eight actions, and the critics see 17 numbers. The products of these first layers and of terms and coefficients are counted among the bare ones: for each update one forward of the target policy, for the policy's one
//! forward and one back.

use std::{hint::black_box, time::Instant};

use criterion::Criterion;
use ell0::{gates::Penalty, network::NoisePer, rng::Stream};
use ell0_control::{
    agent::{Actor, ActorKind, Algorithm, Price, Td3, Td3Config},
    environment::make,
    replay::{Batch, Replay, Transition},
};
use faer::{Accum, Mat, Par, linalg::matmul::matmul};

const N: usize = 256;

/// Random experience of a world.
fn replay(world: &str) -> Replay {
    let mut world = make(world).expect("an environment");
    let space = world.action_space().clone();
    let seen = world.observation_space().len();
    let mut replay = Replay::new(10_000, seen, space.len()).expect("room");
    let (mut now, mut next) = (vec![0f32; seen], vec![0f32; seen]);
    for episode in 0..50 {
        let mut rng = Stream::new(1).at(episode);
        world.reset(&mut rng);
        world.observe(&mut now);
        for _ in 0..200 {
            let action: Vec<f64> = (0..space.len()).map(|k| space.draw(k, &mut rng)).collect();
            let step = world.step(&action).expect("a step");
            world.observe(&mut next);
            let action: Vec<f32> = action.iter().map(|a| *a as f32).collect();
            let transition = Transition {
                observation: &now,
                action: &action,
                reward: step.reward,
                next_observation: &next,
                terminated: step.terminated,
                truncated: step.truncated,
            };
            replay.push(transition).expect("finite");
            now.copy_from_slice(&next);
        }
    }
    replay
}

/// Two updates, batches and random numbers included.
struct Updates<'a> {
    agent: Td3,
    replay: &'a Replay,
    batch: Batch,
    price: Price,
}

impl<'a> Updates<'a> {
    fn new(world: &str, policy: &str, gates: NoisePer, replay: &'a Replay) -> Self {
        let mut kind: ActorKind = policy.parse().expect("a policy");
        if let ActorKind::Dictionary { noise, .. } = &mut kind {
            *noise = gates;
        }
        let world = make(world).expect("an environment");
        let stream = Stream::new(2);
        let actor = Actor::in_world(&kind, world.as_ref(), &stream).expect("an actor");
        Updates {
            agent: Td3::new(Td3Config::default(), actor, &stream).expect("an agent"),
            replay,
            batch: Batch::default(),
            price: Penalty::expected_l0(1e-3).expect("a price").into(),
        }
    }

    fn run(&mut self) {
        for _ in 0..2 {
            let mut rng = Stream::new(3).at(self.agent.updates());
            self.replay
                .sample(N, &mut rng, &mut self.batch)
                .expect("a batch");
            self.agent.draw(&mut rng);
            let record = self.agent.update(&self.batch, &self.price);
            black_box(record.expect("finite"));
        }
    }
}

/// Median seconds of one call of each contender, the contenders taking turns.
fn in_turns(contenders: &mut [Box<dyn FnMut() + '_>]) -> Vec<f64> {
    let rounds = 201;
    let mut times = vec![Vec::with_capacity(rounds); contenders.len()];
    for _ in 0..rounds {
        for (contender, times) in contenders.iter_mut().zip(&mut times) {
            let start = Instant::now();
            contender();
            times.push(start.elapsed().as_secs_f64());
        }
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[rounds / 2]
    };
    times.iter_mut().map(median).collect()
}

fn main() {
    let pendulum = replay("pendulum");
    let (a, b) = (
        Mat::<f32>::from_fn(N, N, |i, j| ((i * 7 + j) % 13) as f32 - 6.0),
        Mat::<f32>::from_fn(N, N, |i, j| ((i * 3 + j) % 11) as f32 - 5.0),
    );
    let mut c = Mat::<f32>::zeros(N, N);
    let mut products = |count: usize| {
        for _ in 0..count {
            matmul(c.as_mut(), Accum::Replace, &a, &b, 1.0, Par::Seq);
        }
        black_box(&c);
    };
    let policies = [
        "network(256, 256)",
        "sparse-network(256, 256)",
        "polynomial(3)",
        "polynomial(3) + fourier(1, interactions)",
    ];
    let mut agents: Vec<Updates> = policies
        .iter()
        .map(|p| Updates::new("pendulum", p, NoisePer::Row, &pendulum))
        .collect();

    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("two updates of TD3, width and batch 256");
    group.bench_function("bare matmuls", |b| b.iter(|| products(23)));
    for (policy, agent) in policies.iter().zip(&mut agents) {
        group.bench_function(*policy, |b| b.iter(|| agent.run()));
    }
    group.finish();

    let mut contenders: Vec<Box<dyn FnMut() + '_>> = vec![Box::new(|| products(23))];
    contenders.extend(
        agents
            .iter_mut()
            .map(|agent| Box::new(|| agent.run()) as Box<dyn FnMut() + '_>),
    );
    let times = in_turns(&mut contenders);
    println!("\nOne update, in turns, medians; one thread.");
    println!("| policy | update | of 11.5 bare matmuls | of the critics' 9 |");
    println!("| --- | --- | --- | --- |");
    let bare = times[0] / 2.0;
    println!("| bare matmuls | {:.2} ms | 1 | – |", bare * 1e3);
    for (policy, time) in policies.iter().zip(&times[1..]) {
        let time = time / 2.0;
        let share = time / (bare * 9.0 / 11.5);
        println!(
            "| {policy} | {:.2} ms | {:.2} | {share:.2} |",
            time * 1e3,
            time / bare
        );
    }
    drop(contenders);
    fields();
}

/// Updates with the dictionaries of the Kuramoto–Sivashinsky equation.
fn fields() {
    let replay = replay("ks");
    let matrix = |rows: usize, columns: usize| {
        Mat::<f32>::from_fn(rows, columns, |i, j| ((i * 7 + j) % 13) as f32 - 6.0)
    };
    let square = [matrix(N, N), matrix(N, N)];
    // The first layers of the critics see nine observations and eight actions.
    let first = [matrix(N, 17), matrix(17, N)];
    // Rows, terms, laws.
    let shapes = [
        ("polynomial(3)", N, 220, 8),
        ("tied(polynomial(3))", 8 * N, 220, 1),
    ];
    println!("\nOne update in ks, in turns, medians; one thread; gates drawn for the batch.");
    println!("| policy | update | bare matmuls | of the bare matmuls |");
    println!("| --- | --- | --- | --- |");
    for (policy, rows, terms, laws) in shapes {
        let (seen, weights, d) = (matrix(rows, terms), matrix(terms, laws), matrix(rows, laws));
        let (mut c, mut y, mut g) = (
            Mat::<f32>::zeros(N, N),
            Mat::<f32>::zeros(rows, laws),
            Mat::<f32>::zeros(terms, laws),
        );
        let mut agent = Updates::new("ks", policy, NoisePer::Batch, &replay);
        let bare = || {
            for _ in 0..18 {
                matmul(
                    c.as_mut(),
                    Accum::Replace,
                    &square[0],
                    &square[1],
                    1.0,
                    Par::Seq,
                );
                matmul(
                    c.as_mut(),
                    Accum::Replace,
                    &first[0],
                    &first[1],
                    1.0,
                    Par::Seq,
                );
            }
            for _ in 0..3 {
                matmul(y.as_mut(), Accum::Replace, &seen, &weights, 1.0, Par::Seq);
            }
            matmul(
                g.as_mut(),
                Accum::Replace,
                seen.transpose(),
                &d,
                1.0,
                Par::Seq,
            );
            black_box((&c, &y, &g));
        };
        let times = in_turns(&mut [Box::new(bare), Box::new(|| agent.run())]);
        println!(
            "| {policy} | {:.2} ms | {:.2} ms | {:.2} |",
            times[1] / 2.0 * 1e3,
            times[0] / 2.0 * 1e3,
            times[1] / times[0]
        );
    }
}
