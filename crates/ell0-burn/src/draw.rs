//! Noise for the gates of a module.

use burn::{
    module::{Flag, Module, ModuleMapper, Param},
    tensor::{Int, Tensor},
};
use ell0::rng::Stream;

use crate::{gates::noise, place::Place};

/// The module with all its gates drawn for this step, and sampled from now on.
///
/// The noise of a parameter is a function of the stream, its path and the step, and of nothing else: neither of Burn's own random state nor of the order in
/// which layers are computed. A layer that is computed twice in a step has the same gates both times. One draw serves a whole batch, as published.
pub fn draw<M: Module>(module: M, stream: &Stream, step: u64) -> M {
    module.map(&mut Draw {
        place: Place::default(),
        stream,
        step,
    })
}

struct Draw<'a> {
    place: Place,
    stream: &'a Stream,
    step: u64,
}

impl ModuleMapper for Draw<'_> {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.place.enter(name);
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.place.exit();
    }

    fn map_int<const D: usize>(&mut self, param: Param<Tensor<D, Int>>) -> Param<Tensor<D, Int>> {
        let Some(path) = self.place.gated("noise") else {
            return param;
        };
        let shape = param.lazy_shape();
        let mut generator = self.stream.split(&path).at(self.step);
        let noise = noise(shape.num_elements(), &mut generator, &param.lazy_device());
        param.map(|_| noise.reshape(shape))
    }

    fn map_flag(&mut self, flag: Param<Flag>) -> Param<Flag> {
        match self.place.gated("sampling") {
            Some(_) => flag.with_value(true),
            None => flag,
        }
    }
}
