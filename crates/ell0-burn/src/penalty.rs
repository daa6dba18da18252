//! What a gated module pays, as a tensor to be differentiated.

use burn::{
    module::{Module, ModuleVisitor, Param},
    tensor::{Tensor, TensorCreationOptions},
};

use crate::{
    Gating,
    attach::{missing, options},
    distribution,
    error::{Error, Result},
    gating::Rule,
    place::Place,
};

/// What one parameter pays.
#[derive(Clone, Debug)]
pub struct Price {
    /// Path of the parameter.
    pub path: String,
    /// The price, a single number, differentiable.
    pub value: Tensor<1>,
}

impl Gating {
    /// The complexity loss of the module, differentiable by weights and log α:
    ///
    /// ```text
    /// Σ over the parameters named here of   λ Σ_j P(gate_j active)·n_j             expected L0; n_j elements stand behind gate j
    ///                                     + scale·Σ_j KL(Bern(P_j) ‖ Bern(π₀))     with a prior: error plus this is the free energy
    ///                                     + Σ_j P_j·½ decay·Σ_{w behind j} w²      weight decay inside the gate
    ///                                     + l1 Σ|w| + ½ l2 Σ w²
    /// ```
    ///
    /// each with the coefficients of its own [`Penalty`](ell0::gates::Penalty).
    pub fn penalty<M: Module>(&self, module: &M) -> Result<Tensor<1>> {
        let prices = self.prices(module)?;
        Ok(total(module, prices.into_iter().map(|price| price.value)))
    }

    /// The [`penalty`](Self::penalty) of each parameter, in the order in which they were named.
    pub fn prices<M: Module>(&self, module: &M) -> Result<Vec<Price>> {
        self.found(module)?
            .into_iter()
            .map(|found| {
                Ok(Price {
                    path: found.rule.path.clone(),
                    value: found.price(),
                })
            })
            .collect()
    }

    /// The expected number of elements in use, Σ_j P(gate_j active)·n_j, differentiable by log α. Elements of plain parameters count in full.
    pub fn expected_l0<M: Module>(&self, module: &M) -> Result<Tensor<1>> {
        let found = self.found(module)?;
        Ok(total(module, found.iter().map(Found::expected_l0)))
    }

    /// The parameters named here, in that order.
    pub(crate) fn found<M: Module>(&self, module: &M) -> Result<Vec<Found<'_>>> {
        let mut walk = Walk {
            place: Place::default(),
            found: self.rules.iter().map(Found::new).collect(),
        };
        module.visit(&mut walk);
        if let Some(found) = walk.found.iter().find(|found| found.elements.is_none()) {
            return Err(missing(module, &found.rule.path));
        }
        walk.found.iter().try_for_each(Found::check)?;
        Ok(walk.found)
    }
}

fn total<M: Module>(module: &M, values: impl Iterator<Item = Tensor<1>>) -> Tensor<1> {
    let sum = values.reduce(|sum, value| {
        // Parameters may have precisions of their own.
        let value = value.cast(sum.dtype());
        sum + value
    });
    sum.unwrap_or_else(|| {
        let device = module.devices().into_iter().next().unwrap_or_default();
        Tensor::zeros([1], &device)
    })
}

/// A parameter that a rule names, as far as prices need it.
pub(crate) struct Found<'a> {
    pub(crate) rule: &'a Rule,
    /// Number of elements, and the gates that they should have.
    pub(crate) elements: Option<usize>,
    pub(crate) expected: usize,
    pub(crate) log_alpha: Option<Tensor<1>>,
    options: TensorCreationOptions,
    /// Σ w² and Σ |w| behind each gate (of everything, without gates), where they are paid for.
    squares: Option<Tensor<1>>,
    magnitudes: Option<Tensor<1>>,
}

impl<'a> Found<'a> {
    fn new(rule: &'a Rule) -> Self {
        Found {
            rule,
            elements: None,
            expected: 0,
            log_alpha: None,
            options: TensorCreationOptions::default(),
            squares: None,
            magnitudes: None,
        }
    }

    fn check(&self) -> Result<()> {
        let path = || self.rule.path.clone();
        match (&self.rule.gates, &self.log_alpha) {
            (Some(_), None) => Err(Error::NoGates { path: path() }),
            (Some(_), Some(log_alpha)) if log_alpha.dims() != [self.expected] => {
                Err(Error::Gates {
                    path: path(),
                    got: log_alpha.dims()[0],
                    expected: self.expected,
                })
            }
            _ => Ok(()),
        }
    }

    fn elements(&self) -> usize {
        self.elements.unwrap_or(0)
    }

    /// P(active) of the gates, if there are any.
    pub(crate) fn prob_active(&self) -> Option<Tensor<1>> {
        let spec = self.rule.gates.as_ref()?;
        let log_alpha = self.log_alpha.clone()?;
        Some(distribution::prob_active(&spec.distribution, log_alpha))
    }

    fn constant(&self, value: f64) -> Tensor<1> {
        Tensor::full([1], value, self.options.clone())
    }

    fn expected_l0(&self) -> Tensor<1> {
        let elements = self.elements() as f64;
        match self.prob_active() {
            Some(prob) => prob.sum() * (elements / self.expected as f64),
            None => self.constant(elements),
        }
    }

    fn price(&self) -> Tensor<1> {
        let penalty = &self.rule.penalty;
        let mut price = match penalty.lambda() {
            0.0 => self.constant(0.0),
            lambda => self.expected_l0() * lambda,
        };
        if let (Some(prior), Some(spec), Some(log_alpha)) =
            (penalty.prior(), &self.rule.gates, &self.log_alpha)
        {
            let divergence = distribution::divergence(&spec.distribution, log_alpha.clone(), prior);
            price = price + divergence.sum();
        }
        if let Some(squares) = &self.squares {
            let decay = penalty.weight_decay();
            if decay > 0.0 {
                let inside = match self.prob_active() {
                    Some(prob) => prob * squares.clone(),
                    None => squares.clone(),
                };
                price = price + inside.sum() * (0.5 * decay);
            }
            if penalty.l2() > 0.0 {
                price = price + squares.clone().sum() * (0.5 * penalty.l2());
            }
        }
        if let Some(magnitudes) = &self.magnitudes {
            price = price + magnitudes.clone().sum() * penalty.l1();
        }
        price
    }
}

struct Walk<'a> {
    place: Place,
    found: Vec<Found<'a>>,
}

impl ModuleVisitor for Walk<'_> {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.place.enter(name);
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.place.exit();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(path) = self.place.gated("log_alpha") {
            if let Some(found) = self.found.iter_mut().find(|found| found.rule.path == path) {
                let log_alpha = param.val();
                let n = log_alpha.shape().num_elements();
                found.log_alpha = Some(log_alpha.reshape([n]));
            }
            return;
        }
        let path = self.place.path();
        let Some(found) = self.found.iter_mut().find(|found| found.rule.path == path) else {
            return;
        };
        let shape = param.lazy_shape();
        found.elements = Some(shape.num_elements());
        found.options = options(param);
        let gather = |values: Tensor<D>| match &found.rule.gates {
            Some(spec) => spec.per.gather(values),
            None => values.sum(),
        };
        let penalty = &found.rule.penalty;
        if penalty.weight_decay() > 0.0 || penalty.l2() > 0.0 {
            let w = param.base();
            found.squares = Some(gather(w.clone() * w));
        }
        if penalty.l1() > 0.0 {
            found.magnitudes = Some(gather(param.base().abs()));
        }
        found.expected = match &found.rule.gates {
            Some(spec) => spec.per.gates(shape.as_slice()).unwrap_or(0),
            None => 0,
        };
    }
}
