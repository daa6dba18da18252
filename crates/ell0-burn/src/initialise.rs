//! Initial weights from our own stream.

use burn::{
    module::{Module, ModuleMapper, Param},
    tensor::{Tensor, TensorData},
};
use ell0::rng::{Generator, Stream};

use crate::place::Place;

/// The module with the weights and biases of its linear and convolutional layers drawn anew from the stream, by Burn's own default law U(−1/√n, 1/√n), n being the
/// number of inputs that a unit reads.
///
/// Burn draws them from a state that all of the process shares, and each parameter when it is first looked at: there the seed decides only together with the order in
/// which parameters are touched. Here a parameter's numbers follow from the stream and its path. Other layers stay as they are.
pub fn initialise<M: Module>(module: M, stream: &Stream) -> M {
    module.map(&mut Initialise {
        place: Place::default(),
        containers: Vec::new(),
        fan_in: None,
        stream,
    })
}

struct Initialise<'a> {
    place: Place,
    containers: Vec<String>,
    /// Inputs that a unit of the layer reads, known once its weight was seen: Burn names the bias after it.
    fan_in: Option<usize>,
    stream: &'a Stream,
}

impl Initialise<'_> {
    fn bound(&mut self, rank: usize, shape: &[usize]) -> Option<f64> {
        match (self.containers.last()?.as_str(), rank) {
            ("Struct:Linear", 2) => self.fan_in = Some(shape[0]),
            ("Struct:Conv2d", 4) => self.fan_in = Some(shape[1..].iter().product()),
            ("Struct:Linear" | "Struct:Conv2d", 1) => {}
            _ => return None,
        }
        Some(1.0 / (self.fan_in? as f64).sqrt())
    }
}

fn numbers(n: usize, bound: f64, generator: &mut Generator) -> Vec<f64> {
    (0..n)
        .map(|_| bound * (2.0 * generator.uniform() - 1.0))
        .collect()
}

impl ModuleMapper for Initialise<'_> {
    fn enter_module(&mut self, name: &str, container_type: &str) {
        self.place.enter(name);
        self.containers.push(container_type.to_string());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.place.exit();
        self.containers.pop();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let shape = param.lazy_shape();
        let Some(bound) = self.bound(D, shape.as_slice()) else {
            return param;
        };
        let mut generator = self.stream.split(&self.place.path()).at(0);
        let numbers = numbers(shape.num_elements(), bound, &mut generator);
        let device = param.lazy_device();
        param.map(|old| {
            let value = Tensor::<1>::from_data(
                TensorData::new(numbers, [shape.num_elements()]),
                (&device, old.dtype()),
            );
            value.reshape(shape).set_require_grad(old.is_require_grad())
        })
    }
}
