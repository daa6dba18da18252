//! Methods: one step of a law.

/// A way to take one step of a law.
pub trait Method {
    /// The state after a step of length `h` from the state `x` at time `t`, into `next`.
    fn step(
        &mut self,
        law: &mut impl FnMut(&[f64], f64, &mut [f64]),
        x: &[f64],
        t: f64,
        h: f64,
        next: &mut [f64],
    );
}

/// A method that estimates the error of its last step.
pub trait Embedded: Method {
    /// The order in which the error of a step falls with its length.
    const ORDER: f64;

    /// The estimated error of each state in the last step.
    fn error(&self) -> &[f64];
}

/// Dormand and Prince's fifth-order method, with an error of fourth order.
#[derive(Clone, Debug)]
pub struct DormandPrince {
    /// The rates of the seven stages, one after the other.
    stages: Vec<f64>,
    at: Vec<f64>,
    error: Vec<f64>,
    /// Whether the first rates of the next step are there already.
    known: bool,
}

const NODES: [f64; 7] = [0.0, 0.2, 0.3, 0.8, 8.0 / 9.0, 1.0, 1.0];
const STAGES: [&[f64]; 7] = [
    &[],
    &[0.2],
    &[3.0 / 40.0, 9.0 / 40.0],
    &[44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0],
    &[
        19372.0 / 6561.0,
        -25360.0 / 2187.0,
        64448.0 / 6561.0,
        -212.0 / 729.0,
    ],
    &[
        9017.0 / 3168.0,
        -355.0 / 33.0,
        46732.0 / 5247.0,
        49.0 / 176.0,
        -5103.0 / 18656.0,
    ],
    &[
        35.0 / 384.0,
        0.0,
        500.0 / 1113.0,
        125.0 / 192.0,
        -2187.0 / 6784.0,
        11.0 / 84.0,
    ],
];
/// Fifth-order minus fourth-order weights: the error of a step.
const ERROR: [f64; 7] = [
    71.0 / 57600.0,
    0.0,
    -71.0 / 16695.0,
    71.0 / 1920.0,
    -17253.0 / 339_200.0,
    22.0 / 525.0,
    -1.0 / 40.0,
];

impl DormandPrince {
    /// Room for so many states.
    #[must_use]
    pub fn new(states: usize) -> Self {
        DormandPrince {
            stages: vec![0.0; 7 * states],
            at: vec![0.0; states],
            error: vec![0.0; states],
            known: false,
        }
    }

    /// The next step begins where the last one ended, and the law does not jump there: its first rates are the last ones of that step.
    pub fn go_on(&mut self) {
        self.stages.copy_within(6 * self.at.len().., 0);
        self.known = true;
    }

    /// The next step begins where the last one began.
    pub fn again(&mut self) {
        self.known = true;
    }
}

/// Σ weight · rate over the stages so far, for every state.
fn combine(weights: &[f64], stages: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for (w, rates) in weights.iter().zip(stages.chunks_exact(out.len())) {
        for (out, rate) in out.iter_mut().zip(rates) {
            *out += w * rate;
        }
    }
}

impl Method for DormandPrince {
    fn step(
        &mut self,
        law: &mut impl FnMut(&[f64], f64, &mut [f64]),
        x: &[f64],
        t: f64,
        h: f64,
        next: &mut [f64],
    ) {
        let n = x.len();
        if n == 0 {
            return;
        }
        let known = std::mem::take(&mut self.known);
        for (stage, (node, weights)) in NODES.iter().zip(STAGES).enumerate() {
            if stage == 0 && known {
                continue;
            }
            let (done, rest) = self.stages.split_at_mut(stage * n);
            combine(weights, done, &mut self.at);
            for (at, x) in self.at.iter_mut().zip(x) {
                *at = x + h * *at;
            }
            law(&self.at, t + node * h, &mut rest[..n]);
        }
        // The last stage stands at the end of the step.
        next.copy_from_slice(&self.at);
        combine(&ERROR, &self.stages, &mut self.error);
        self.error.iter_mut().for_each(|error| *error *= h);
    }
}

impl Embedded for DormandPrince {
    const ORDER: f64 = 5.0;

    fn error(&self) -> &[f64] {
        &self.error
    }
}

/// Runge and Kutta's classical fourth-order method.
#[derive(Clone, Debug)]
pub struct RungeKutta4 {
    /// The rates of the four stages, one after the other.
    stages: Vec<f64>,
    at: Vec<f64>,
}

impl RungeKutta4 {
    /// Room for so many states.
    #[must_use]
    pub fn new(states: usize) -> Self {
        RungeKutta4 {
            stages: vec![0.0; 4 * states],
            at: vec![0.0; states],
        }
    }
}

impl Method for RungeKutta4 {
    fn step(
        &mut self,
        law: &mut impl FnMut(&[f64], f64, &mut [f64]),
        x: &[f64],
        t: f64,
        h: f64,
        next: &mut [f64],
    ) {
        let n = x.len();
        for (stage, share) in [0.0, 0.5, 0.5, 1.0].into_iter().enumerate() {
            let (done, rest) = self.stages.split_at_mut(stage * n);
            let ahead = share * h;
            match stage {
                0 => self.at.copy_from_slice(x),
                _ => {
                    let rates = &done[(stage - 1) * n..];
                    for ((at, x), k) in self.at.iter_mut().zip(x).zip(rates) {
                        *at = x + ahead * k;
                    }
                }
            }
            law(&self.at, t + ahead, &mut rest[..n]);
        }
        let k = |stage: usize, i: usize| self.stages[stage * n + i];
        for (i, next) in next.iter_mut().enumerate() {
            *next = x[i] + h / 6.0 * (k(0, i) + 2.0 * k(1, i) + 2.0 * k(2, i) + k(3, i));
        }
    }
}
