//! Steps of fields, one world and several side by side; and the same in NumPy, if there is a Python that has it (ELL0_PYTHON, else python3).

use std::{hint::black_box, process::Command, time::Instant};

use criterion::{Criterion, Throughput};
use ell0::rng::Stream;
use ell0_control::{
    environment::{Environment, Start, make},
    policy::{Policy, Random},
    rollout::Rollout,
};

const WORLDS: [&str; 5] = ["ks", "ks(published=true)", "cdr", "burgers", "heat"];

/// Side by side.
const ROWS: usize = 4;

/// What is stepped without end: episodes of random actions.
struct Stepped {
    world: Box<dyn Environment>,
    actions: Vec<Vec<f64>>,
}

impl Stepped {
    fn new(text: &str) -> Self {
        let mut world = make(text).expect("an environment");
        let mut rng = Stream::new(1).at(0);
        world.reset(&mut rng);
        let space = world.action_space().clone();
        let action = |_| (0..space.len()).map(|k| space.draw(k, &mut rng)).collect();
        Stepped {
            actions: (0..100).map(action).collect(),
            world,
        }
    }

    /// As many actions as there are, each with what is seen after it.
    fn run(&mut self) {
        self.world.reset(&mut Stream::new(1).at(0));
        let mut seen = vec![0f32; self.world.observation_space().len()];
        for action in &self.actions {
            black_box(self.world.step(action).expect("finite"));
            self.world.observe(&mut seen);
            black_box(&seen);
        }
    }
}

/// Actions a second of one world alone, and of several through one loop and one policy.
fn rates(text: &str) -> (f64, f64) {
    let mut alone = Stepped::new(text);
    let limited = match text.strip_suffix(')') {
        Some(open) => format!("{open}, limit=100)"),
        None => format!("{text}(limit=100)"),
    };
    let world = make(&limited).expect("an environment");
    let random = Random(world.action_space().clone());
    let mut worlds: Vec<Box<dyn Environment>> = (0..ROWS).map(|_| world.copy()).collect();
    let mut rollout = Rollout::new(world.as_ref(), ROWS);
    let mut together = || {
        let mut generators = worlds
            .iter_mut()
            .enumerate()
            .map(|(k, world)| Start::Seed(k as u64).begin(world).expect("a start"))
            .collect::<Vec<_>>();
        let mut act = random.start(ROWS).expect("a policy");
        rollout
            .run(&mut worlds, act.as_mut(), &mut generators, 0, &mut |_| {
                Ok(())
            })
            .expect("finite");
    };
    let (mut a, mut b) = (Vec::new(), Vec::new());
    // The long runs without control are computed in the first round.
    together();
    for _ in 0..15 {
        let began = Instant::now();
        alone.run();
        a.push(100.0 / began.elapsed().as_secs_f64());
        let began = Instant::now();
        together();
        b.push((100 * ROWS) as f64 / began.elapsed().as_secs_f64());
    }
    let median = |mut rates: Vec<f64>| {
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    };
    (median(a), median(b))
}

/// Actions a second in NumPy: the same steps, plainly written.
const NUMPY: &str = r#"
import sys, time
import numpy as np
def ks():
    n, l, dt = 64, 22.0, 0.1 / 15
    k = np.fft.fftfreq(n, 1 / n); d = k.copy(); d[n // 2] = 0
    q = 2 * np.pi / l
    rate = (k * q) ** 2 - (k * q) ** 4
    x = np.arange(n) * l / n
    j = np.arange(n)
    apart = lambda c: np.minimum(np.abs(j - c), n - np.abs(j - c))
    bumps = np.array([np.exp(-0.5 * (apart(4 + 8 * i) / 0.8) ** 2) for i in range(8)])
    keep, gain, slope = (1 + dt / 2 * rate) / (1 - dt / 2 * rate), dt / (1 - dt / 2 * rate), -0.5j * d * q
    def step(u, a):
        f = np.fft.fft(0.1 * np.cos(4 * np.pi * x / l) + a @ bumps)
        for _ in range(2):
            h = np.fft.fft(u)
            for s in range(15):
                now = slope * np.fft.fft(np.real(np.fft.ifft(h)) ** 2)
                if s == 0: old = now
                h = keep * h + gain * (1.5 * now - 0.5 * old + f); old = now
            u = np.real(np.fft.ifft(h))
        return u
    return step, 0.5 * np.sin(2 * np.pi * j / n), 1.0
def cdr():
    n = 200
    k = 2 * np.pi * np.fft.fftfreq(n, 1 / n)
    e = np.exp((-0.15j * k - 0.004 * k ** 2 + 0.15) * 0.1)
    j = np.arange(n)
    apart = lambda c: np.minimum(np.abs(j - c), n - np.abs(j - c))
    bumps = np.array([np.exp(-0.5 * (apart(12 + 25 * i) / 2.5) ** 2) for i in range(8)])
    def step(u, a):
        for _ in range(2): u = np.real(np.fft.ifft(e * np.fft.fft(u))) + a @ bumps
        return u
    return step, 1 / np.cosh((j / n - 0.5) / 0.05), 0.25
for make in (ks, cdr):
    step, u, bound = make()
    actions = np.random.default_rng(0).uniform(-bound, bound, (300, 8))
    best = 0
    for _ in range(3):
        v = u; began = time.perf_counter()
        for a in actions: v = step(v, a)
        best = max(best, len(actions) / (time.perf_counter() - began))
    print(best)
"#;

fn numpy() -> Option<Vec<f64>> {
    let python = std::env::var("ELL0_PYTHON").unwrap_or_else(|_| "python3".into());
    let output = Command::new(python)
        .args(["-c", NUMPY])
        .env("OMP_NUM_THREADS", "1")
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let rates: Vec<f64> = text.lines().filter_map(|l| l.parse().ok()).collect();
    (rates.len() == 2).then_some(rates)
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("100 actions on a field");
    group.throughput(Throughput::Elements(100));
    for text in WORLDS {
        let mut stepped = Stepped::new(text);
        group.bench_function(text, |b| b.iter(|| stepped.run()));
    }
    group.finish();

    let numpy = numpy();
    println!(
        "\nActions a second, one thread, medians in turns; {ROWS} worlds side by side count all of theirs."
    );
    println!("| world | alone | side by side | NumPy |");
    println!("| --- | --- | --- | --- |");
    for text in WORLDS {
        let (alone, together) = rates(text);
        let at = ["ks", "cdr"].iter().position(|name| *name == text);
        let other = at.zip(numpy.as_ref()).map(|(k, rates)| rates[k]);
        let other = other.map_or("–".into(), |rate| format!("{rate:.0}"));
        println!("| {text} | {alone:.0} | {together:.0} | {other} |");
    }
}
