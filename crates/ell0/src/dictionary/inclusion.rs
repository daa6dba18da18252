//! Inclusion probabilities: how sure the data are that a term belongs.

use super::{Problem, curve::GateCurve, exact, polish::polish};
use crate::{
    error::{Result, require},
    gates::HardConcrete,
};

/// Nearly binary gates: the probability that a term is in, rather than how far its gate is open.
const BETA: f64 = 0.1;

/// The probability of each term, from gates trained on the free energy
/// N/(2σ²)·E‖Φ(z⊙w) − y‖²/N + Σ_j (λ P_j + KL(P_j ‖ π₀)).
///
/// `prior` is π₀, the probability that a term is active before the data are seen. Noise variance and λ, the nats that a coefficient's value is worth, are taken from the data
/// (empirical Bayes): λ = ½ ln(1 + N·τ²/σ²) with τ² the mean square of the active coefficients.
pub fn inclusion_probabilities(problem: &Problem, prior: f64) -> Result<Vec<f64>> {
    require(
        prior > 0.0 && prior < 1.0,
        "prior",
        prior,
        "it must lie strictly between 0 and 1, for example 0.1",
    )?;
    let gate = HardConcrete::new(BETA, -0.1, 1.1)?;
    let (n, q) = (problem.n, problem.q as f64);
    // A support to start from: BIC's price at the noise of the full fit.
    let everything: Vec<usize> = (0..problem.p).collect();
    let full = super::support::Fitted::new(problem, &everything);
    let freedom = (n - full.len() as f64).max(1.0);
    let floor = 1e-15 * problem.energy();
    let mut noise = (full.error() / q * n / freedom).max(floor);
    let mut fitted = polish(problem, &[], q * noise * n.ln() / n, problem.p);
    let mut probabilities = vec![0.0; problem.p];
    for _ in 0..6 {
        let k = fitted.len().max(1) as f64;
        let signal = fitted.coefficients().iter().map(|a| a * a).sum::<f64>() / (k * q);
        let lambda = 0.5 * q * (1.0 + n * signal / noise).ln();
        let curve = GateCurve::free_energy(&gate, lambda, prior);
        // The descent minimises error + price·cost: nats become errors by 2σ²/N.
        let gated = exact::free_energy_gates(problem, &curve, 2.0 * noise / n, &fitted.support);
        probabilities = gated.active.clone();
        let support: Vec<usize> = (0..problem.p).filter(|&j| probabilities[j] > 0.5).collect();
        fitted = super::support::Fitted::new(problem, &support);
        let freedom = (n - fitted.len() as f64).max(1.0);
        let next = (fitted.error() / q * n / freedom).max(floor);
        let settled = (next / noise - 1.0).abs() < 1e-3;
        noise = next;
        if settled {
            break;
        }
    }
    Ok(probabilities)
}
