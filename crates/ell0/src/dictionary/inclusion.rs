//! Inclusion probabilities: how sure the data are that a term belongs.

use super::{Problem, curve::GateCurve, exact, polish::polish, support::Fitted};
use crate::{
    error::{Result, require},
    gates::{HardConcrete, logit, sigmoid},
    rng::Stream,
};

/// Nearly binary gates: the probability that a term is in, rather than how far its gate is open.
const BETA: f64 = 0.1;

/// Sweeps over all gates, the first of which are not counted.
const SWEEPS: usize = 220;
const BURN_IN: usize = 20;

/// The probability of each term, from gates trained on the free energy
/// N/(2σ²)·E‖Φ(z⊙w) − y‖²/N + Σ_j (λ P_j + KL(P_j ‖ π₀)).
///
/// `prior` is π₀, the probability that a term is active before the data are seen. Noise variance and λ, the nats that a coefficient's value is worth, are taken from the data
/// (empirical Bayes): λ = ½ ln(1 + N·τ²/σ²) with τ² the mean square of the active coefficients.
///
/// Independent gates cannot say "one of these two": on correlated terms they are too sure. So the trained gates only start a Gibbs sampler over binary gates with
/// the same energy, in which each gate is drawn given the others; the average of the probabilities it draws by is what is reported.
pub fn inclusion_probabilities(problem: &Problem, prior: f64, stream: &Stream) -> Result<Vec<f64>> {
    require(
        prior > 0.0 && prior < 1.0,
        "prior",
        prior,
        "it must lie strictly between 0 and 1, for example 0.1",
    )?;
    problem.require_rows(problem.p)?;
    if problem.energy() == 0.0 {
        // A target that is zero everywhere says nothing of any term.
        return Ok(vec![prior; problem.p]);
    }
    let fitted = free_energy_support(problem, prior)?;
    Ok(gibbs(problem, prior, fitted, stream))
}

/// Smallest noise variance that is not round-off.
fn floor(problem: &Problem) -> f64 {
    1e-15 * problem.energy()
}

fn noise(problem: &Problem, fitted: &Fitted) -> f64 {
    let freedom = (problem.n - fitted.len() as f64).max(1.0);
    (fitted.error() / problem.q as f64 * problem.n / freedom).max(floor(problem))
}

/// Mean square of the active coefficients.
fn signal(problem: &Problem, fitted: &Fitted) -> f64 {
    let count = (fitted.len().max(1) * problem.q) as f64;
    (fitted.solution().iter().map(|a| a * a).sum::<f64>() / count).max(floor(problem))
}

/// The terms that gates trained on the free energy find more likely in than out.
fn free_energy_support(problem: &Problem, prior: f64) -> Result<Fitted> {
    let gate = HardConcrete::new(BETA, -0.1, 1.1)?;
    let (n, q) = (problem.n, problem.q as f64);
    // A support to start from: BIC's price at the noise of the full fit.
    let everything: Vec<usize> = (0..problem.p).collect();
    let mut variance = noise(problem, &Fitted::new(problem, &everything));
    let mut fitted = polish(problem, &[], q * variance * n.ln() / n, problem.p);
    for _ in 0..6 {
        let lambda = 0.5 * q * (1.0 + n * signal(problem, &fitted) / variance).ln();
        let curve = GateCurve::free_energy(&gate, lambda, prior);
        // The descent minimises error + price·cost: nats become errors by 2σ²/N.
        let gated = exact::free_energy_gates(problem, &curve, 2.0 * variance / n, &fitted.support);
        let support: Vec<usize> = (0..problem.p).filter(|&j| gated.active[j] > 0.5).collect();
        fitted = Fitted::new(problem, &support);
        let next = noise(problem, &fitted);
        let settled = (next / variance - 1.0).abs() < 1e-3;
        variance = next;
        if settled {
            break;
        }
    }
    Ok(fitted)
}

/// Averages of P(gate_j = 1 | all other gates) over a Gibbs sampler.
fn gibbs(problem: &Problem, prior: f64, mut fitted: Fitted, stream: &Stream) -> Vec<f64> {
    let (n, q) = (problem.n, problem.q as f64);
    let mut rng = stream.split("inclusion").at(0);
    let tau2 = signal(problem, &fitted);
    let mut totals = vec![0.0; problem.p];
    let mut odds = log_odds(problem, &fitted, logit(prior), n, q, tau2);
    for sweep in 0..SWEEPS {
        for j in 0..problem.p {
            let probability = sigmoid(odds[j]);
            if sweep >= BURN_IN {
                totals[j] += probability;
            }
            let inside = fitted.support.contains(&j);
            let wanted = rng.uniform() < probability;
            if wanted != inside {
                let mut support: Vec<usize> =
                    fitted.support.iter().copied().filter(|&i| i != j).collect();
                if wanted {
                    support.push(j);
                }
                fitted = Fitted::new(problem, &support);
                odds = log_odds(problem, &fitted, logit(prior), n, q, tau2);
            }
        }
    }
    totals
        .iter()
        .map(|t| t / (SWEEPS - BURN_IN) as f64)
        .collect()
}

/// For each term, log P(in | the others) − log P(out | the others).
///
/// With a coefficient of prior variance τ², d the squared distance of the term from the span of the k others, and the noise variance integrated out, being in is worth
/// −½(N − k) ln(1 − gain·κ/(1+κ)/E₀) − ½ ln(1 + κ) nats, where E₀ is the error without the term and κ = N τ² d/σ² with σ² from the error with it. So it is the same
/// number whether the term is in at present or not.
fn log_odds(problem: &Problem, fitted: &Fitted, prior: f64, n: f64, q: f64, tau2: f64) -> Vec<f64> {
    let error = fitted.error();
    let worth = |(gain, distance): (f64, f64), inside: bool| {
        let (without, with) = if inside {
            (error + gain, error)
        } else {
            (error, error - gain)
        };
        let k = (fitted.len() - usize::from(inside)) as f64;
        let freedom = (n - k - 1.0).max(1.0);
        let variance = (with / q * n / freedom).max(floor(problem));
        let kappa = n * tau2 * distance / variance;
        let share = (gain * kappa / (1.0 + kappa) / without.max(floor(problem))).min(1.0 - 1e-15);
        -0.5 * q * (n - k).max(1.0) * (-share).ln_1p() - 0.5 * q * kappa.ln_1p()
    };
    let mut odds = vec![prior; problem.p];
    for (&j, removal) in fitted.support.iter().zip(fitted.removals()) {
        odds[j] += worth(removal, true);
    }
    for (&j, addition) in fitted.others.iter().zip(fitted.additions()) {
        odds[j] += worth(addition, false);
    }
    odds
}
