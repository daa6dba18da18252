//! A field moved through time, by its modes.

use realfft::num_complex::Complex;

use super::ring::{Ring, Room};

/// How a field moves in one frame under a constant force.
#[derive(Clone, Debug)]
pub(super) enum Scheme {
    /// Linear: û ← step·û + push·f̂.
    Exact {
        step: Vec<Complex<f64>>,
        push: Vec<Complex<f64>>,
    },
    /// With −½(u²)ₓ, without dealiasing: the linear part by Crank–Nicolson, the other by Adams–Bashforth, of which the first substep is Euler's:
    /// û ← keep·û + gain·(3/2·N − 1/2·N₀ + f̂), N = i·slope·(u²)^.
    SemiImplicit {
        keep: Vec<f64>,
        gain: Vec<f64>,
        slope: Vec<f64>,
        substeps: usize,
    },
}

impl Scheme {
    /// The scheme for growth rates of the modes, real ones, and a frame in substeps.
    pub fn semi_implicit(ring: &Ring, rates: &[f64], frame: f64, substeps: usize) -> Self {
        let dt = frame / substeps as f64;
        let below = |rate: &f64| 1.0 - 0.5 * dt * rate;
        // What is not known at Nyquist's mode has no derivative there.
        let last = ring.modes() - 1;
        let slope = |k: usize| {
            let wave = if k == last { 0.0 } else { ring.wavenumber(k) };
            -0.5 * wave / (ring.points as f64).powi(2)
        };
        Scheme::SemiImplicit {
            keep: rates
                .iter()
                .map(|rate| (1.0 + 0.5 * dt * rate) / below(rate))
                .collect(),
            gain: rates.iter().map(|rate| dt / below(rate)).collect(),
            slope: (0..ring.modes()).map(slope).collect(),
            substeps,
        }
    }
}

/// A field that can be moved, with its room.
#[derive(Clone, Debug)]
pub(super) struct Solver {
    pub ring: Ring,
    pub scheme: Scheme,
    modes: Vec<Complex<f64>>,
    present: Vec<Complex<f64>>,
    before: Vec<Complex<f64>>,
    room: Room,
}

impl Solver {
    pub fn new(ring: Ring, scheme: Scheme) -> Self {
        let none = vec![Complex::default(); ring.modes()];
        Solver {
            modes: none.clone(),
            present: none.clone(),
            before: none,
            room: ring.room(),
            ring,
            scheme,
        }
    }

    /// The modes of a field.
    pub fn modes_of(&mut self, field: &[f64]) -> Vec<Complex<f64>> {
        let mut modes = vec![Complex::default(); self.ring.modes()];
        self.ring.analyse(field, &mut modes, &mut self.room);
        modes
    }

    /// Moves a field by some frames under a force, given by its modes.
    pub fn advance(&mut self, field: &mut [f64], force: &[Complex<f64>], frames: usize) {
        let Solver {
            ring,
            scheme,
            modes,
            present,
            before,
            room,
        } = self;
        ring.analyse(field, modes, room);
        for _ in 0..frames {
            match scheme {
                Scheme::Exact { step, push } => exact(modes, step, push, force),
                Scheme::SemiImplicit {
                    keep,
                    gain,
                    slope,
                    substeps,
                } => {
                    // Nothing of a field that broke down before may stay.
                    before.fill(Complex::default());
                    for substep in 0..*substeps {
                        ring.square(modes, present, room);
                        let weights = if substep == 0 {
                            (1.0, 0.0)
                        } else {
                            (1.5, -0.5)
                        };
                        semi_implicit(modes, present, before, force, keep, gain, slope, weights);
                    }
                }
            }
        }
        ring.compose(modes, field, room);
    }

    /// The derivative of the same in given directions: a change of the field and one of the force each. The field is moved, and every direction becomes the change of the field that it leads to.
    pub fn tangents(
        &mut self,
        field: &mut [f64],
        force: &[Complex<f64>],
        frames: usize,
        directions: &mut [Vec<f64>],
        pushes: &[Vec<Complex<f64>>],
    ) {
        let none = vec![Complex::<f64>::default(); self.ring.modes()];
        let mut tangents: Vec<Tangent> = directions
            .iter()
            .map(|direction| Tangent {
                modes: self.modes_of(direction),
                before: none.clone(),
            })
            .collect();
        let Solver {
            ring,
            scheme,
            modes,
            present,
            before,
            room,
        } = self;
        ring.analyse(field, modes, room);
        let mut change = none;
        let mut now = vec![0.0; ring.points];
        for _ in 0..frames {
            match scheme {
                Scheme::Exact { step, push } => {
                    exact(modes, step, push, force);
                    for (tangent, f) in tangents.iter_mut().zip(pushes) {
                        exact(&mut tangent.modes, step, push, f);
                    }
                }
                Scheme::SemiImplicit {
                    keep,
                    gain,
                    slope,
                    substeps,
                } => {
                    // d(u²) = 2u·du; `product` has one factor of the number of points less than `square`.
                    let slopes: Vec<f64> =
                        slope.iter().map(|s| 2.0 * ring.points as f64 * s).collect();
                    before.fill(Complex::default());
                    for substep in 0..*substeps {
                        let weights = if substep == 0 {
                            (1.0, 0.0)
                        } else {
                            (1.5, -0.5)
                        };
                        ring.compose(modes, &mut now, room);
                        for (tangent, f) in tangents.iter_mut().zip(pushes) {
                            ring.product(&now, &tangent.modes, &mut change, room);
                            semi_implicit(
                                &mut tangent.modes,
                                &change,
                                &mut tangent.before,
                                f,
                                keep,
                                gain,
                                &slopes,
                                weights,
                            );
                        }
                        ring.square(modes, present, room);
                        semi_implicit(modes, present, before, force, keep, gain, slope, weights);
                    }
                }
            }
        }
        ring.compose(modes, field, room);
        for (direction, tangent) in directions.iter_mut().zip(&tangents) {
            ring.compose(&tangent.modes, direction, room);
        }
    }
}

/// A direction on its way.
struct Tangent {
    modes: Vec<Complex<f64>>,
    before: Vec<Complex<f64>>,
}

fn exact(
    modes: &mut [Complex<f64>],
    step: &[Complex<f64>],
    push: &[Complex<f64>],
    force: &[Complex<f64>],
) {
    for (((mode, step), push), force) in modes.iter_mut().zip(step).zip(push).zip(force) {
        *mode = *mode * step + push * force;
    }
}

#[allow(
    clippy::too_many_arguments,
    reason = "one for each symbol of the formula"
)]
#[inline]
fn semi_implicit(
    modes: &mut [Complex<f64>],
    present: &[Complex<f64>],
    before: &mut [Complex<f64>],
    force: &[Complex<f64>],
    keep: &[f64],
    gain: &[f64],
    slope: &[f64],
    (now, then): (f64, f64),
) {
    let count = modes.len();
    let (present, before, force) = (&present[..count], &mut before[..count], &force[..count]);
    let (keep, gain, slope) = (&keep[..count], &gain[..count], &slope[..count]);
    for k in 0..count {
        let n = Complex::new(-slope[k] * present[k].im, slope[k] * present[k].re);
        modes[k] = modes[k] * keep[k] + (n * now + before[k] * then + force[k]) * gain[k];
        before[k] = n;
    }
}
