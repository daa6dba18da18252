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
const ROWS: usize = 8;

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

/// Worlds in the loop that acts, with a random policy.
struct Looped {
    worlds: Vec<Box<dyn Environment>>,
    random: Random,
    rollout: Rollout,
}

impl Looped {
    fn new(text: &str, rows: usize) -> Self {
        let limited = match text.strip_suffix(')') {
            Some(open) => format!("{open}, limit=100)"),
            None => format!("{text}(limit=100)"),
        };
        let world = make(&limited).expect("an environment");
        Looped {
            worlds: (0..rows).map(|_| world.copy()).collect(),
            random: Random(world.action_space().clone()),
            rollout: Rollout::new(world.as_ref(), rows),
        }
    }

    /// An episode of 100 actions in each.
    fn run(&mut self) {
        let rows = self.worlds.len();
        let begin = |(k, world): (usize, &mut Box<dyn Environment>)| {
            Start::Seed(k as u64).begin(world).expect("a start")
        };
        let mut generators: Vec<_> = self.worlds.iter_mut().enumerate().map(begin).collect();
        let mut act = self.random.start(rows).expect("a policy");
        let worlds = &mut self.worlds[..];
        self.rollout
            .run(worlds, act.as_mut(), &mut generators, 0, &mut |_| Ok(()))
            .expect("finite");
    }
}

/// Actions a second: of one world that is only stepped, of one in the loop that acts, and of several in it.
fn rates(text: &str) -> [f64; 3] {
    let mut alone = Stepped::new(text);
    let (mut one, mut several) = (Looped::new(text, 1), Looped::new(text, ROWS));
    // The long runs without control are computed in the first round.
    one.run();
    several.run();
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..15 {
        let mut measure = |k: usize, actions: usize, work: &mut dyn FnMut()| {
            let began = Instant::now();
            work();
            times[k].push(actions as f64 / began.elapsed().as_secs_f64());
        };
        measure(0, 100, &mut || alone.run());
        measure(1, 100, &mut || one.run());
        measure(2, 100 * ROWS, &mut || several.run());
    }
    times.map(|mut rates| {
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    })
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
        "\nActions a second, one thread, medians in turns; of {ROWS} worlds side by side all are counted."
    );
    println!("| world | steps alone | in the loop | {ROWS} in the loop | NumPy |");
    println!("| --- | --- | --- | --- | --- |");
    for text in WORLDS {
        let [alone, one, several] = rates(text);
        let at = ["ks", "cdr"].iter().position(|name| *name == text);
        let other = at.zip(numpy.as_ref()).map(|(k, rates)| rates[k]);
        let other = other.map_or("–".into(), |rate| format!("{rate:.0}"));
        println!("| {text} | {alone:.0} | {one:.0} | {several:.0} | {other} |");
    }
}
