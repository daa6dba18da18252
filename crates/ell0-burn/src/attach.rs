//! Gates attached to the parameters of a module.

use std::collections::BTreeMap;

use burn::{
    module::{Module, ModuleVisitor, Param, Reparameterizer},
    tensor::{Tensor, TensorCreationOptions, TensorData},
};
use ell0::rng::Stream;

use crate::{
    Gates, Per,
    error::{Error, Result},
    gating::Rule,
    place::Place,
};

/// The module with gates attached. Burn's own traversal cannot fail, so everything is checked before it begins.
pub(crate) fn attach<M: Module>(rules: &[Rule], module: M, stream: &Stream) -> Result<M> {
    let mut parameters = Parameters::default();
    module.visit(&mut parameters);
    for (index, rule) in rules.iter().enumerate() {
        if rules[..index].iter().any(|other| other.path == rule.path) {
            return Err(Error::Twice {
                path: rule.path.clone(),
            });
        }
        let shape = parameters
            .shapes
            .get(&rule.path)
            .ok_or_else(|| parameters.missing(&rule.path))?;
        let Some(spec) = &rule.gates else { continue };
        spec.check()?;
        match spec.per.gates(shape) {
            None => {
                return Err(Error::Axis {
                    path: rule.path.clone(),
                    axis: match spec.per {
                        Per::Axis(axis) => axis,
                        Per::Element => 0,
                    },
                    rank: shape.len(),
                });
            }
            Some(_) if shape.contains(&0) => {
                return Err(Error::Empty {
                    path: rule.path.clone(),
                });
            }
            Some(_) => {}
        }
        if let Some(by) = parameters.occupied.get(&rule.path) {
            return Err(Error::Occupied {
                path: rule.path.clone(),
                by: by.clone(),
            });
        }
    }
    Ok(module.apply_reparameterization(Attach { rules, stream }))
}

/// The floating-point parameters of a module.
#[derive(Default)]
struct Parameters {
    place: Place,
    shapes: BTreeMap<String, Vec<usize>>,
    /// What reparameterisation a parameter has.
    occupied: BTreeMap<String, String>,
}

impl Parameters {
    /// The sentence about a path that names nothing: it has the paths that exist, the first few of many.
    fn missing(&self, path: &str) -> Error {
        const SHOWN: usize = 12;
        let paths = self.shapes.keys().take(SHOWN);
        let mut names: Vec<String> = paths.map(|path| format!("`{path}`")).collect();
        match self.shapes.len() {
            0 => names.push("none".into()),
            n if n > SHOWN => names.push(format!("{} more", n - SHOWN)),
            _ => {}
        }
        Error::NoParameter {
            path: path.into(),
            known: names.join(", "),
        }
    }
}

/// The sentence about a path that names no parameter of the module.
pub(crate) fn missing<M: Module>(module: &M, path: &str) -> Error {
    let mut parameters = Parameters::default();
    module.visit(&mut parameters);
    parameters.missing(path)
}

impl ModuleVisitor for Parameters {
    fn enter_module(&mut self, name: &str, container_type: &str) {
        if container_type == "Reparameterization" {
            self.occupied.insert(self.place.path(), name.to_string());
        }
        self.place.enter(name);
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.place.exit();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        // Lazily: the weights need not exist for this.
        self.shapes
            .insert(self.place.path(), param.lazy_shape().as_slice().to_vec());
    }
}

struct Attach<'a> {
    rules: &'a [Rule],
    stream: &'a Stream,
}

impl Reparameterizer for Attach<'_> {
    type Reparam = Gates;

    fn reparameterize<const D: usize>(
        &mut self,
        path: &str,
        param: Param<Tensor<D>>,
    ) -> (Param<Tensor<D>>, Option<Gates>) {
        let rule = self.rules.iter().find(|rule| rule.path == path);
        let Some(spec) = rule.and_then(|rule| rule.gates) else {
            return (param, None);
        };
        let Some(n) = spec.per.gates(param.lazy_shape().as_slice()) else {
            return (param, None);
        };
        let mut generator = self.stream.split(path).at(0);
        let log_alpha: Vec<f64> = (0..n)
            .map(|_| spec.initial() + 0.01 * generator.normal())
            .collect();
        let log_alpha = Tensor::from_data(TensorData::new(log_alpha, [n]), options(&param));
        let gates = Gates::new(spec.distribution, spec.per, log_alpha);
        (param, Some(gates))
    }
}

/// The device and precision of a parameter; one that is not made yet will have the precision of its device.
pub(crate) fn options<const D: usize>(param: &Param<Tensor<D>>) -> TensorCreationOptions {
    let device = param.lazy_device();
    match param.is_initialized() {
        true => (&device, param.base().dtype()).into(),
        false => TensorCreationOptions::from(&device),
    }
}
