//! A training step on one thread allocates nothing: counted by an allocator.

#![allow(unsafe_code, reason = "an allocator cannot be written without")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

use ell0::{
    gates::Penalty,
    network::{Activation, GateSpec, Mlp, MlpConfig, NoisePer, Per},
    rng::Stream,
    training::{Dataset, Trainer, TrainerConfig},
};

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is handed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_step_allocates_nothing() {
    let mut rng = Stream::new(0).at(0);
    let x: Vec<f32> = (0..4000).map(|_| rng.normal() as f32).collect();
    let y: Vec<f32> = (0..3000).map(|_| rng.normal() as f32).collect();
    let data = Dataset::new(&x, 4, &y, 3).unwrap();
    let spec = GateSpec::default();
    for gates in [
        None,
        Some(spec),
        Some(GateSpec {
            noise: NoisePer::Row,
            ..spec
        }),
        Some(GateSpec {
            per: Per::Weight,
            ..spec
        }),
        Some(GateSpec {
            per: Per::Weight,
            noise: NoisePer::Row,
            ..spec
        }),
    ] {
        let config = MlpConfig {
            gates,
            ..MlpConfig::new([4, 32, 32, 3], Activation::Elu)
        };
        let model = Mlp::new(&config, &Stream::new(0)).unwrap();
        let penalty = Penalty::expected_l0(1e-4)
            .unwrap()
            .with_weight_decay(1e-4)
            .and_then(|p| p.with_prior(0.1, 1e-4))
            .and_then(|p| p.with_l1(1e-5))
            .unwrap();
        let config = TrainerConfig {
            batch_size: 300,
            samples: 2,
            penalty,
            clip_norm: Some(1.0),
            average: Some(0.99),
            ..TrainerConfig::default()
        };
        let mut trainer = Trainer::new(model, config, data.clone(), None).unwrap();
        // The matrix products make their packing buffers on first use.
        trainer.step().unwrap();
        let before = COUNT.get();
        for _ in 0..20 {
            trainer.step().unwrap();
        }
        assert_eq!(COUNT.get() - before, 0, "{gates:?}");
    }
}
