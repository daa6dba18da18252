//! The best gate for one term, everything else fixed.

use std::sync::{Arc, Mutex, PoisonError};

use crate::gates::{GatePrior, HardConcrete};

/// With other terms fixed, a term of unit size whose correlation with what is left is c has the expected error −c²·ρ(log α) at its best weight
/// c·E\[z\]/E\[z²\], where ρ = E\[z\]²/E\[z²\], and costs price·P(active). So the best gate depends on c²/price alone, and the best ones for all ratios are the vertices of the lower
/// convex hull of the curve (ρ, cost).
#[derive(Clone, Debug)]
pub(super) struct GateCurve {
    /// Vertices of the hull, by increasing ρ.
    vertices: Vec<Vertex>,
}

/// One setting of a gate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vertex {
    pub log_alpha: f64,
    pub mean: f64,
    pub variance: f64,
    /// E\[z\]²/E\[z²\].
    pub explained: f64,
    /// Cost in units of the price.
    pub cost: f64,
    pub active: f64,
}

/// Beyond this a gate is closed or open to all purposes.
const FAR: f64 = 20.0;
const STEPS: usize = 2000;

/// Gates whose settings are kept: a fit needs two of them at most.
const KEPT: usize = 4;

/// The settings of a gate from closed to open, without their costs. They take thousands of quadratures, more than all the rest of a path on few terms, and path after path asks for the same:
/// those of the last few gates are kept.
fn settings(gate: &HardConcrete) -> Arc<[Vertex]> {
    static KNOWN: Mutex<Vec<(HardConcrete, Arc<[Vertex]>)>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, settings)) = known.iter().find(|(other, _)| other == gate) {
        return settings.clone();
    }
    let setting = |step: usize| {
        let log_alpha = -FAR + 2.0 * FAR * step as f64 / STEPS as f64;
        let moments = gate.moments(log_alpha);
        let square = moments.mean.powi(2);
        Vertex {
            log_alpha,
            mean: moments.mean,
            variance: moments.variance,
            explained: square / (square + moments.variance),
            cost: 0.0,
            active: gate.prob_active(log_alpha),
        }
    };
    let settings: Arc<[Vertex]> = (0..=STEPS).map(setting).collect();
    if known.len() == KEPT {
        known.remove(0);
    }
    known.push((*gate, settings.clone()));
    settings
}

impl GateCurve {
    /// The curve for the expected L0: cost = P(active).
    pub fn expected_l0(gate: &HardConcrete) -> Self {
        GateCurve::new(gate, |active, _| active)
    }

    /// The curve for the free energy: cost = λ·P(active) + KL(Bern(P) ‖ Bern(π₀)), in nats.
    pub fn free_energy(gate: &HardConcrete, lambda: f64, prior: f64) -> Self {
        let prior = GatePrior {
            prob: prior,
            scale: 1.0,
        };
        GateCurve::new(gate, |active, logit| {
            lambda * active + prior.divergence(logit).0
        })
    }

    fn new(gate: &HardConcrete, cost: impl Fn(f64, f64) -> f64) -> Self {
        let mut vertices: Vec<Vertex> = Vec::new();
        for setting in settings(gate).iter() {
            let logit = setting.log_alpha + gate.active_shift();
            let next = Vertex {
                cost: cost(setting.active, logit),
                ..*setting
            };
            // Keep the hull convex: slopes increase.
            while let [.., a, b] = vertices[..]
                && (b.cost - a.cost) * (next.explained - b.explained)
                    >= (next.cost - b.cost) * (b.explained - a.explained)
            {
                vertices.pop();
            }
            vertices.push(next);
        }
        GateCurve { vertices }
    }

    /// The setting that minimises cost − strength·ρ.
    pub fn best(&self, strength: f64) -> &Vertex {
        // The slopes between vertices increase: the first one above the strength ends the climb.
        let steeper = |pair: &[Vertex]| {
            (pair[1].cost - pair[0].cost) > strength * (pair[1].explained - pair[0].explained)
        };
        let mut low = 0;
        let mut high = self.vertices.len() - 1;
        while low < high {
            let middle = (low + high) / 2;
            if steeper(&self.vertices[middle..middle + 2]) {
                high = middle
            } else {
                low = middle + 1
            }
        }
        &self.vertices[low]
    }

    /// The most closed and the most open setting.
    pub fn ends(&self) -> (&Vertex, &Vertex) {
        (&self.vertices[0], &self.vertices[self.vertices.len() - 1])
    }
}
