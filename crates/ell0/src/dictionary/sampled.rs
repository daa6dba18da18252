//! The `sampled` trainer: minibatches and sampled gates, as in the published method.

use super::{Problem, Statistics};
use crate::{
    error::{Error, Result, require_len},
    features::Features,
    network::{Activation, Architecture, Dense, GateSpec, Gating, Init, Mlp, Per},
    rng::Stream,
    training::{Dataset, FitConfig, Trainer},
};

/// A gated dictionary as a network of a single layer without bias, on features scaled to unit RMS.
#[derive(Clone, Debug)]
pub struct Sampled {
    scales: Vec<f64>,
    outputs: usize,
}

impl Sampled {
    /// The parts that training needs: the network with random weights, and how to scale the features. Gates are per (feature, target), or shared by all
    /// targets, as `gates.per` says. The scales are those of the statistics.
    pub fn new(statistics: &Statistics, gates: GateSpec, stream: &Stream) -> Result<(Self, Mlp)> {
        let outputs = statistics.targets().len();
        let problem = Problem::new(statistics, &(0..outputs).collect::<Vec<_>>())?;
        // A feature that is always zero stays so, whatever it is divided by.
        let scales: Vec<f64> = problem
            .scale
            .iter()
            .map(|&s| if s > 0.0 { s } else { 1.0 })
            .collect();
        let layer = Dense {
            inputs: scales.len(),
            outputs,
            activation: Activation::Identity,
            gating: Gating::Gated(gates),
            bias: false,
        };
        let model = Mlp::random(Architecture::new(vec![layer])?, Init::He, stream)?;
        Ok((Sampled { scales, outputs }, model))
    }

    /// RMS of each feature.
    pub fn scales(&self) -> &[f64] {
        &self.scales
    }

    /// Gates (p × targets, or p if shared) and weights of the scaled features (p × targets) of a trained network, target after target.
    pub fn gates_and_weights(&self, model: &Mlp) -> Result<(Vec<f64>, Vec<f64>)> {
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
        Ok((
            by_target(log_alphas, width),
            by_target(&model.parameters()[architecture.weights(0)], q),
        ))
    }

    /// Coefficients in the user's units (p × targets, target after target): gate at test time × weight / scale.
    pub fn coefficients(&self, model: &Mlp) -> Result<Vec<f64>> {
        let p = self.scales.len();
        let (log_alphas, weights) = self.gates_and_weights(model)?;
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

/// A trainer of a gated dictionary on lifted data ([`Dataset::lifted`] with the scales of [`Sampled::scales`]); everything that [`Trainer`] offers holds, checkpoints included.
pub fn sampled_trainer<'a>(
    statistics: &Statistics,
    gates: GateSpec,
    config: FitConfig,
    train: &'a Dataset,
    test: Option<&'a Dataset>,
) -> Result<(Sampled, Trainer<'a>)> {
    let stream = Stream::new(config.seed).split("dictionary");
    let (sampled, model) = Sampled::new(statistics, gates, &stream)?;
    let trainer = Trainer::new(model, config, train, test)?;
    Ok((sampled, trainer))
}

impl Dataset {
    /// The rows as a dictionary sees them: features of the inputs, scaled to unit RMS as the statistics say.
    pub fn for_dictionary(self, features: &Features, statistics: &Statistics) -> Result<Self> {
        let (sampled, _) = Sampled::new(statistics, GateSpec::default(), &Stream::new(0))?;
        self.lifted(features.clone(), sampled.scales())
    }
}
