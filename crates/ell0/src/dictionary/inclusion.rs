//! Inclusion probabilities: how sure the data are that a term belongs.

use super::{
    Problem,
    curve::GateCurve,
    exact,
    polish::polish,
    support::{Fitted, refit},
};
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
    let fitted = likely_support(problem, prior)?;
    Ok(gibbs(problem, prior, fitted, stream))
}

/// Smallest noise variance that is not round-off.
fn floor(problem: &Problem) -> f64 {
    1e-15 * problem.energy()
}

/// Noise variance by what so many terms leave.
fn noise(problem: &Problem, terms: usize, error: f64) -> f64 {
    let freedom = (problem.n - terms as f64).max(1.0);
    (error / problem.q as f64 * problem.n / freedom).max(floor(problem))
}

/// Mean square of the active coefficients.
fn signal(problem: &Problem, fitted: &Fitted) -> f64 {
    let count = (fitted.len().max(1) * problem.q) as f64;
    (fitted.solution().iter().map(|a| a * a).sum::<f64>() / count).max(floor(problem))
}

/// The terms that gates trained on the free energy find more likely in than out, or those that the training began with where they are likelier: among hundreds of collinear terms independent
/// gates may lose their way, and a sampler that starts far from all likely sets of terms may take more sweeps than it has to find one.
fn likely_support(problem: &Problem, prior: f64) -> Result<Fitted> {
    let gate = HardConcrete::new(BETA, -0.1, 1.1)?;
    let (n, q) = (problem.n, problem.q as f64);
    // A support to start from: BIC's price at the noise of the full fit.
    let everything: Vec<usize> = (0..problem.p).collect();
    let full = refit(problem, &everything);
    let mut variance = noise(problem, full.support.len(), full.error);
    let mut fitted = polish(problem, &[], q * variance * n.ln() / n, problem.p);
    // −log of the probability of a set of terms, up to a constant: that of the data, and what each term costs by the prior of its coefficient and its own.
    let energy = |fitted: &Fitted| {
        let error = (fitted.error() / q).max(floor(problem));
        let variance = noise(problem, fitted.len(), fitted.error());
        let lambda = 0.5 * q * (1.0 + n * signal(problem, fitted) / variance).ln();
        0.5 * q * n * error.ln() + fitted.len() as f64 * (lambda - logit(prior))
    };
    let (polished, least) = (fitted.support.clone(), energy(&fitted));
    for _ in 0..6 {
        let lambda = 0.5 * q * (1.0 + n * signal(problem, &fitted) / variance).ln();
        let curve = GateCurve::free_energy(&gate, lambda, prior);
        // The descent minimises error + price·cost: nats become errors by 2σ²/N.
        let gated = exact::free_energy_gates(problem, &curve, 2.0 * variance / n, &fitted.support);
        let support: Vec<usize> = (0..problem.p).filter(|&j| gated.active[j] > 0.5).collect();
        fitted = Fitted::new(problem, &support);
        let next = noise(problem, fitted.len(), fitted.error());
        let settled = (next / variance - 1.0).abs() < 1e-3;
        variance = next;
        if settled {
            break;
        }
    }
    if least < energy(&fitted) {
        fitted = Fitted::new(problem, &polished);
    }
    Ok(fitted)
}

/// Averages of P(gate_j = 1 | all other gates) over a Gibbs sampler.
fn gibbs(problem: &Problem, prior: f64, mut fitted: Fitted, stream: &Stream) -> Vec<f64> {
    let odds = Odds {
        prior: logit(prior),
        n: problem.n,
        q: problem.q as f64,
        tau2: signal(problem, &fitted),
        floor: floor(problem),
    };
    let mut rng = stream.split("inclusion").at(0);
    let mut totals = vec![0.0; problem.p];
    let mut inside = vec![false; problem.p];
    fitted.support.iter().for_each(|&j| inside[j] = true);
    // What the error would grow by without each term that is in; those of the others follow from the fit at once.
    let mut removals = vec![(0.0, 0.0); problem.p];
    let mut error = 0.0;
    let mut changed = true;
    for sweep in 0..SWEEPS {
        for j in 0..problem.p {
            if changed {
                error = fitted.error();
                let terms = fitted.support.iter().zip(fitted.removals());
                terms.for_each(|(&i, removal)| removals[i] = removal);
                changed = false;
            }
            let odds = if inside[j] {
                odds.of(
                    removals[j],
                    (error + removals[j].0, error),
                    fitted.len() - 1,
                )
            } else {
                let addition = fitted.addition(j);
                odds.of(addition, (error, error - addition.0), fitted.len())
            };
            let probability = sigmoid(odds);
            if sweep >= BURN_IN {
                totals[j] += probability;
            }
            let wanted = rng.uniform() < probability;
            if wanted != inside[j] {
                if wanted {
                    // What lies in the span of the others stays out.
                    inside[j] = fitted.add(j);
                } else {
                    fitted.drop(j);
                    inside[j] = false;
                }
                changed = true;
            }
        }
    }
    totals
        .iter()
        .map(|t| t / (SWEEPS - BURN_IN) as f64)
        .collect()
}

/// What the odds of a gate depend on beside the fit.
struct Odds {
    /// Logit of the probability before the data are seen.
    prior: f64,
    n: f64,
    q: f64,
    tau2: f64,
    floor: f64,
}

impl Odds {
    /// log P(in | the others) − log P(out | the others) of a term, from what it gains, its squared distance from the span of the k others, and the errors without and with it.
    ///
    /// With a coefficient of prior variance τ², d the squared distance, and the noise variance integrated out, being in is worth
    /// −½(N − k) ln(1 − gain·κ/(1+κ)/E₀) − ½ ln(1 + κ) nats, where E₀ is the error without the term and κ = N τ² d/σ² with σ² from the error with it. So it is the same
    /// number whether the term is in at present or not.
    fn of(&self, (gain, distance): (f64, f64), (without, with): (f64, f64), others: usize) -> f64 {
        let (n, q, k) = (self.n, self.q, others as f64);
        let freedom = (n - k - 1.0).max(1.0);
        let variance = (with / q * n / freedom).max(self.floor);
        let kappa = n * self.tau2 * distance / variance;
        let share = (gain * kappa / (1.0 + kappa) / without.max(self.floor)).min(1.0 - 1e-15);
        let worth = -0.5 * q * (n - k).max(1.0) * (-share).ln_1p() - 0.5 * q * kappa.ln_1p();
        self.prior + worth
    }
}
