//! The `exact` trainer: the expectation over the gates in closed form, on the statistics.

use super::{
    Problem,
    budget::Budget,
    curve::{GateCurve, Vertex},
    polish::polish,
    qr::{dot, subtract},
    support::{Fitted, refit},
};
use crate::{
    error::{Result, require, require_len},
    gates::HardConcrete,
    simd,
};

/// A trained gated dictionary on scaled features: the objective is
/// E‖Φ(z⊙w) − y‖²/N + price·Σ P(active) = ‖R(m⊙w) − y‖² + rest + Σ v w² + price·Σ P.
#[derive(Clone, Debug)]
pub struct Gated {
    /// Location of each gate.
    pub log_alpha: Vec<f64>,
    /// Weights of the scaled features (p × q).
    pub weights: Vec<f64>,
    /// The objective that was minimised.
    pub objective: f64,
    /// P(active) of each gate.
    pub active: Vec<f64>,
}

impl Gated {
    /// The terms whose gate is open at test time.
    pub fn support(&self, gate: &HardConcrete) -> Vec<usize> {
        (0..self.log_alpha.len())
            .filter(|&j| gate.test_gate(self.log_alpha[j]) > 0.0)
            .collect()
    }

    /// Scaled coefficients at test time: gate × weight (p × q).
    pub fn coefficients(&self, gate: &HardConcrete) -> Vec<f64> {
        let p = self.log_alpha.len();
        let at = |(k, w): (usize, &f64)| gate.test_gate(self.log_alpha[k % p]) * w;
        self.weights.iter().enumerate().map(at).collect()
    }
}

/// E‖Φ(z⊙w) − y‖²/N + price·Σ P(active), summed over the problem's targets, for any gates and weights (of the scaled features).
pub fn expected_objective(
    problem: &Problem,
    gate: &HardConcrete,
    price: f64,
    log_alpha: &[f64],
    weights: &[f64],
) -> Result<f64> {
    let p = problem.p;
    require_len("gates", log_alpha.len(), p)?;
    require_len("weights", weights.len(), p * problem.q)?;
    let moments: Vec<_> = log_alpha.iter().map(|&a| gate.moments(a)).collect();
    let effective: Vec<f64> = weights
        .iter()
        .enumerate()
        .map(|(k, w)| moments[k % p].mean * w)
        .collect();
    let spread: f64 = weights
        .iter()
        .enumerate()
        .filter(|(k, _)| problem.scale[k % p] > 0.0)
        .map(|(k, w)| moments[k % p].variance * w * w)
        .sum();
    let active: f64 = log_alpha.iter().map(|&a| gate.prob_active(a)).sum();
    Ok(problem.error(&effective) + spread + price * active)
}

/// The state of the coordinate descent.
struct Descent<'a> {
    problem: &'a Problem,
    curve: &'a GateCurve,
    price: f64,
    gates: Vec<Vertex>,
    /// Effective coefficients m⊙w (p × q).
    effective: Vec<f64>,
    /// y − R (m⊙w) (p × q).
    residual: Vec<f64>,
    /// Room for a term's correlation with what each target has left.
    correlations: Vec<f64>,
}

/// Sweeps of coordinate descent between two direct solves, and rounds of both.
const SWEEPS: usize = 60;
const ROUNDS: usize = 12;

impl<'a> Descent<'a> {
    fn new(problem: &'a Problem, curve: &'a GateCurve, price: f64) -> Self {
        Descent {
            problem,
            curve,
            price,
            gates: vec![*curve.ends().0; problem.p],
            effective: vec![0.0; problem.p * problem.q],
            residual: problem.y.clone(),
            correlations: vec![0.0; problem.q],
        }
    }

    /// Every term in turn gets its best gate and weight, exactly. Returns the largest change of an effective coefficient.
    fn sweep(&mut self) -> f64 {
        simd::vectorised(
            #[inline(always)]
            || self.sweep_terms(),
        )
    }

    #[inline(always)]
    fn sweep_terms(&mut self) -> f64 {
        let (p, q) = (self.problem.p, self.problem.q);
        let mut largest = 0f64;
        for j in 0..p {
            let column = &self.problem.column(j)[..=j];
            if self.problem.scale[j] == 0.0 {
                continue;
            }
            let mut strength = 0.0;
            for t in 0..q {
                let along = dot(column, &self.residual[t * p..][..=j]);
                let c = self.effective[t * p + j] + along;
                self.correlations[t] = c;
                strength += c * c;
            }
            let vertex = if self.price > 0.0 {
                *self.curve.best(strength / self.price)
            } else {
                *self.curve.ends().1
            };
            self.gates[j] = vertex;
            for t in 0..q {
                let value = self.correlations[t] * vertex.explained;
                let change = value - self.effective[t * p + j];
                if change != 0.0 {
                    self.effective[t * p + j] = value;
                    subtract(&mut self.residual[t * p..][..=j], change, column);
                    largest = largest.max(change.abs());
                }
            }
        }
        largest
    }

    /// The best weights of all terms at once for the gates as they are: ‖R diag(m) w − y‖² + Σ v w², a least-squares problem.
    fn solve(&mut self) {
        let used: Vec<usize> = (0..self.problem.p)
            .filter(|&j| self.gates[j].explained > 1e-6)
            .collect();
        // In effective coefficients e = m w the second part is Σ (√v/m · e)².
        let gates = &self.gates;
        self.effective = self
            .problem
            .ridge(&used, |j| gates[j].variance.sqrt() / gates[j].mean);
        self.residual = self.problem.residual(&self.effective);
    }

    fn objective(&self) -> f64 {
        let p = self.problem.p;
        let error: f64 = self.residual.iter().map(|r| r * r).sum();
        let spread: f64 = self
            .effective
            .iter()
            .enumerate()
            .map(|(k, e)| e * e * self.gates[k % p].variance / self.gates[k % p].mean.powi(2))
            .sum();
        let cost: f64 = self.gates.iter().map(|g| g.cost).sum();
        error + self.problem.rest + spread + self.price * cost
    }

    /// Sweeps and direct solves in turns until the objective stands still.
    fn run(&mut self) {
        self.run_within(&Budget::endless());
    }

    /// The same as long as the budget lasts.
    fn run_within(&mut self, budget: &Budget) {
        let (p, q) = (self.problem.p, self.problem.q);
        let tolerance = 1e-9 * self.problem.energy().sqrt();
        let mut last = f64::INFINITY;
        for _ in 0..ROUNDS {
            for _ in 0..SWEEPS {
                budget.spend(2 * p * p * q);
                if self.sweep() <= tolerance || budget.is_spent() {
                    break;
                }
            }
            let before = (
                self.effective.clone(),
                self.residual.clone(),
                self.objective(),
            );
            let used = self.gates.iter().filter(|g| g.explained > 1e-6).count();
            budget.spend(2 * p * used * (used + q));
            self.solve();
            if self.objective() > before.2 {
                // Terms with nearly closed gates were left out of the solve; if that costs more than it gains, stay.
                (self.effective, self.residual) = (before.0, before.1);
            }
            let now = self.objective();
            if last - now <= 1e-10 * self.problem.energy() || budget.is_spent() {
                break;
            }
            last = now;
        }
    }

    fn finish(&self) -> Gated {
        let p = self.problem.p;
        let weights = self
            .effective
            .iter()
            .enumerate()
            .map(|(k, e)| e / self.gates[k % p].mean)
            .collect();
        Gated {
            log_alpha: self.gates.iter().map(|g| g.log_alpha).collect(),
            weights,
            objective: self.objective(),
            active: self.gates.iter().map(|g| g.active).collect(),
        }
    }
}

/// Minimises the expected objective at one price of a term ([`Problem::price`] makes it from λ), from several starts: all gates closed with the price falling to its value, all gates
/// open, and the supports that local search finds from these and from nothing. The best end is returned.
pub fn train_exact(problem: &Problem, gate: &HardConcrete, price: f64) -> Result<Gated> {
    require(
        price >= 0.0 && price.is_finite(),
        "lambda",
        price,
        "it must be finite and not negative",
    )?;
    let curve = GateCurve::expected_l0(gate);
    let mut ends = Vec::new();

    let mut descent = Descent::new(problem, &curve, price);
    let highest = problem.energy().max(price);
    for step in 0..=8 {
        descent.price = highest * (price / highest).max(1e-15).powf(f64::from(step) / 8.0);
        descent.run();
    }
    descent.price = price;
    descent.run();
    ends.push(descent.finish());

    let mut descent = Descent::new(problem, &curve, price);
    descent.gates.fill(*curve.ends().1);
    descent.solve();
    descent.run();
    ends.push(descent.finish());

    for start in [ends[0].support(gate), ends[1].support(gate), Vec::new()] {
        let polished = polish(problem, &start, price, problem.p);
        ends.push(from_support(problem, &curve, price, &polished));
    }

    Ok(ends
        .into_iter()
        .min_by(|a, b| a.objective.total_cmp(&b.objective))
        .expect("there are several ends"))
}

/// Descent from gates that are open on a support and closed elsewhere.
fn from_support(problem: &Problem, curve: &GateCurve, price: f64, fitted: &Fitted) -> Gated {
    let mut descent = Descent::new(problem, curve, price);
    for &j in &fitted.support {
        descent.gates[j] = *curve.ends().1;
    }
    descent.effective = fitted.coefficients();
    descent.residual = problem.residual(&descent.effective);
    let start = descent.finish();
    descent.run();
    let end = descent.finish();
    if end.objective <= start.objective {
        end
    } else {
        start
    }
}

/// Supports along a falling price, each found from the one before, as long as the budget lasts: the skeleton of a path.
pub(super) fn supports_along<'a>(
    problem: &'a Problem,
    gate: &'a HardConcrete,
    curve: &'a GateCurve,
    prices: &'a [f64],
    budget: &'a Budget,
) -> impl Iterator<Item = Vec<usize>> + 'a {
    let mut descent = Descent::new(problem, curve, 0.0);
    prices.iter().map(move |&price| {
        descent.price = price;
        descent.run_within(budget);
        (0..problem.p)
            .filter(|&j| gate.test_gate(descent.gates[j].log_alpha) > 0.0)
            .collect()
    })
}

/// Inclusion probabilities by the free energy; see [`inclusion`](super::inclusion).
pub(super) fn free_energy_gates(
    problem: &Problem,
    curve: &GateCurve,
    price: f64,
    start: &[usize],
) -> Gated {
    let mut descent = Descent::new(problem, curve, price);
    let fit = refit(problem, start);
    for &j in &fit.support {
        descent.gates[j] = *curve.ends().1;
    }
    descent.effective = fit.coefficients;
    descent.residual = problem.residual(&descent.effective);
    descent.run();
    descent.finish()
}
