//! The `sampled` trainer: minibatches and sampled gates, as in the published method.

use std::sync::Arc;

use super::{Problem, Statistics};
use crate::{
    error::{Error, Result, require_len},
    features::Features,
    gates::Penalty,
    network::{Activation, Architecture, Dense, GateSpec, Gating, Init, Mlp, Per},
    rng::Stream,
    training::{Dataset, Schedule, Trainer, TrainerConfig},
};

/// A gated dictionary as a network of a single layer without bias, on features scaled to unit RMS.
#[derive(Clone, Debug)]
pub struct Sampled {
    scales: Vec<f64>,
    outputs: usize,
}

impl Sampled {
    /// A dictionary whose features are scaled as the statistics say.
    pub fn new(statistics: &Statistics) -> Result<Self> {
        let outputs = statistics.targets().len();
        let problem = Problem::new(statistics, &(0..outputs).collect::<Vec<_>>())?;
        // A feature that is always zero stays so, whatever it is divided by.
        let scales: Vec<f64> = problem
            .scale
            .iter()
            .map(|&s| if s > 0.0 { s } else { 1.0 })
            .collect();
        Ok(Sampled { scales, outputs })
    }

    /// The network with random weights. Gates are per (feature, target), or shared by all targets, as `gates.per` says.
    pub fn network(&self, gates: GateSpec, stream: &Stream) -> Result<Mlp> {
        let layer = Dense {
            inputs: self.scales.len(),
            outputs: self.outputs,
            activation: Activation::Identity,
            gating: Gating::Gated(gates),
            bias: false,
        };
        Mlp::random(Architecture::new(vec![layer])?, Init::He, stream)
    }

    /// RMS of each feature.
    pub fn scales(&self) -> &[f64] {
        &self.scales
    }

    /// Gates and weights of a trained network.
    pub fn gates_and_weights(&self, model: &Mlp) -> Result<GatesAndWeights> {
        let (p, q) = (self.scales.len(), self.outputs);
        let architecture = model.architecture();
        require_len("layers of a dictionary", architecture.layers().len(), 1)?;
        require_len(
            "weights of the dictionary",
            architecture.weights(0).len(),
            p * q,
        )?;
        let by_target = |values: &[f32], width: usize| -> Vec<f64> {
            (0..width)
                .flat_map(|t| (0..p).map(move |j| f64::from(values[j * width + t])))
                .collect()
        };
        let log_alphas = &model.parameters()[architecture.log_alphas(0)];
        let width = log_alphas.len() / p.max(1);
        Ok(GatesAndWeights {
            log_alphas: by_target(log_alphas, width),
            weights: by_target(&model.parameters()[architecture.weights(0)], q),
        })
    }

    /// Coefficients in the user's units (p × targets, target after target): gate at test time × weight / scale.
    pub fn coefficients(&self, model: &Mlp) -> Result<Vec<f64>> {
        let p = self.scales.len();
        let GatesAndWeights {
            log_alphas,
            weights,
        } = self.gates_and_weights(model)?;
        let Gating::Gated(spec) = model.architecture().layers()[0].gating else {
            return Err(Error::parameter(
                "network",
                "plain",
                "a dictionary has gates",
            ));
        };
        let shared = spec.per == Per::Unit;
        let at = |(k, w): (usize, &f64)| {
            let gate = log_alphas[if shared { k % p } else { k }];
            spec.distribution.test_gate(gate) * w / self.scales[k % p]
        };
        Ok(weights.iter().enumerate().map(at).collect())
    }
}

/// Gates and weights of a dictionary of p features, target after target.
#[derive(Clone, Debug, PartialEq)]
pub struct GatesAndWeights {
    /// log α of each gate: p × targets, or p if the targets share them.
    pub log_alphas: Vec<f64>,
    /// Weights of the scaled features, p × targets.
    pub weights: Vec<f64>,
}

/// A gated dictionary and what trains it.
#[derive(Debug)]
pub struct SampledTrainer {
    /// How features are scaled, and how coefficients are read from a network.
    pub dictionary: Sampled,
    /// Trains its network.
    pub trainer: Trainer,
}

/// A trainer of a gated dictionary on lifted data ([`Dataset::lifted`] with the scales of [`Sampled::scales`]); everything that [`Trainer`] offers holds, checkpoints included.
pub fn sampled_trainer(
    statistics: &Statistics,
    gates: GateSpec,
    config: TrainerConfig,
    train: impl Into<Arc<Dataset>>,
    test: Option<Arc<Dataset>>,
) -> Result<SampledTrainer> {
    let stream = Stream::new(config.seed).split("dictionary");
    let dictionary = Sampled::new(statistics)?;
    let model = dictionary.network(gates, &stream)?;
    let trainer = Trainer::new(model, config, train, test)?;
    Ok(SampledTrainer {
        dictionary,
        trainer,
    })
}

/// Supports of each target along a falling price, by sampled gates and minibatches: `phi` and `y` are rows of features and targets. Targets are brought to unit RMS, so
/// that the prices mean the same for all. `progress` hears of every price that is done.
pub fn sampled_supports(
    train: &Statistics,
    phi: &[f64],
    y: &[f64],
    seed: u64,
    mut progress: impl FnMut(usize, usize),
) -> Result<Vec<Vec<Vec<usize>>>> {
    let (p, q) = (train.features().len(), train.targets().len());
    let spec = GateSpec {
        per: Per::Weight,
        ..GateSpec::default()
    };
    let sampled = Sampled::new(train)?;
    let rows = y.len() / q;
    let rms = |k: usize| {
        let squares = y.iter().skip(k).step_by(q).map(|v| v * v).sum::<f64>();
        (squares / rows.max(1) as f64).sqrt()
    };
    let sizes: Vec<f64> = (0..q)
        .map(|k| if rms(k) > 0.0 { rms(k) } else { 1.0 })
        .collect();
    let scaled = |values: &[f64], by: &[f64]| -> Vec<f32> {
        let divide = |(k, v): (usize, &f64)| (v / by[k % by.len()]) as f32;
        values.iter().enumerate().map(divide).collect()
    };
    let data = Dataset::new(&scaled(phi, sampled.scales()), p, &scaled(y, &sizes), q)?;
    let data = Arc::new(data);
    let mut supports = vec![Vec::new(); q];
    for k in 0..SAMPLED_PRICES {
        let price = 0.3 * 10f64.powf(-6.0 * k as f64 / (SAMPLED_PRICES - 1) as f64);
        let config = TrainerConfig {
            // The loss is a mean over the targets; the price is per target.
            penalty: Penalty::expected_l0(price / q as f64)?,
            steps_per_epoch: Some(SAMPLED_STEPS),
            learning_rate: 1e-2,
            schedule: Schedule::Cosine {
                steps: SAMPLED_STEPS,
                last: 0.01,
            },
            seed,
            ..TrainerConfig::default()
        };
        let SampledTrainer {
            dictionary,
            mut trainer,
        } = sampled_trainer(train, spec, config, data.clone(), None)?;
        for _ in 0..SAMPLED_STEPS {
            trainer.step()?;
        }
        let coefficients = dictionary.coefficients(trainer.model())?;
        for (target, column) in coefficients.chunks_exact(p).enumerate() {
            supports[target].push((0..p).filter(|&j| column[j] != 0.0).collect());
        }
        progress(k + 1, SAMPLED_PRICES);
    }
    Ok(supports)
}

/// Prices that gates are trained at, and steps at each.
const SAMPLED_PRICES: usize = 13;
const SAMPLED_STEPS: u64 = 6000;

impl Dataset {
    /// The rows as a dictionary sees them: features of the inputs, scaled to unit RMS as the statistics say.
    pub fn for_dictionary(self, features: &Features, statistics: &Statistics) -> Result<Self> {
        self.lifted(features.clone(), Sampled::new(statistics)?.scales())
    }
}
