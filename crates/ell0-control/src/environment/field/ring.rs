//! Points on a ring: distances, bumps, transforms.

use std::{fmt, sync::Arc};

use realfft::{ComplexToReal, RealFftPlanner, RealToComplex, num_complex::Complex};

/// An even number of points on a ring, and the transforms of real fields on them: only half of the modes, from 0 to Nyquist's.
#[derive(Clone)]
pub(super) struct Ring {
    pub points: usize,
    pub length: f64,
    forward: Arc<dyn RealToComplex<f64>>,
    back: Arc<dyn ComplexToReal<f64>>,
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Ring({} points, {})", self.points, self.length)
    }
}

/// Room for transforms.
#[derive(Clone, Debug, Default)]
pub(super) struct Room {
    values: Vec<f64>,
    modes: Vec<Complex<f64>>,
    scratch: Vec<Complex<f64>>,
}

impl Ring {
    pub fn new(points: usize, length: f64) -> Self {
        let mut planner = RealFftPlanner::new();
        Ring {
            points,
            length,
            forward: planner.plan_fft_forward(points),
            back: planner.plan_fft_inverse(points),
        }
    }

    /// Number of modes.
    pub fn modes(&self) -> usize {
        self.points / 2 + 1
    }

    /// The wavenumber of a mode, in radians per unit of length.
    pub fn wavenumber(&self, mode: usize) -> f64 {
        mode as f64 * std::f64::consts::TAU / self.length
    }

    /// The place of the k-th of so many things that are spread evenly, in points; the first stands at 0, or half a distance from it.
    pub fn place(&self, k: usize, count: usize, half: bool) -> usize {
        let offset = if half { self.points / (2 * count) } else { 0 };
        offset + k * self.points / count
    }

    /// A Gaussian around a point, its deviation in points; `open`: it is cut off at the ends instead of going around.
    pub fn bump(&self, centre: usize, deviation: f64, open: bool) -> Vec<f64> {
        let value = |j: usize| {
            let apart = j.abs_diff(centre);
            let apart = if open {
                apart
            } else {
                apart.min(self.points - apart)
            };
            (-0.5 * (apart as f64 / deviation).powi(2)).exp()
        };
        (0..self.points).map(value).collect()
    }

    /// Room for its transforms.
    pub fn room(&self) -> Room {
        let scratch = self
            .forward
            .get_scratch_len()
            .max(self.back.get_scratch_len());
        Room {
            values: vec![0.0; self.points],
            modes: vec![Complex::default(); self.modes()],
            scratch: vec![Complex::default(); scratch],
        }
    }

    /// The modes of a field, unscaled.
    pub fn analyse(&self, field: &[f64], modes: &mut [Complex<f64>], room: &mut Room) {
        room.values.copy_from_slice(field);
        self.analyse_in_place(modes, room);
    }

    /// The modes of the field in the room.
    fn analyse_in_place(&self, modes: &mut [Complex<f64>], room: &mut Room) {
        let done = self
            .forward
            .process_with_scratch(&mut room.values, modes, &mut room.scratch);
        debug_assert!(done.is_ok(), "sizes are those of the ring");
    }

    /// The field of modes into the room, times the number of points.
    fn compose_in_place(&self, modes: &[Complex<f64>], room: &mut Room) {
        room.modes.copy_from_slice(modes);
        // A real field has real first and last modes; rounding may have left something.
        room.modes[0].im = 0.0;
        room.modes[self.points / 2].im = 0.0;
        let done =
            self.back
                .process_with_scratch(&mut room.modes, &mut room.values, &mut room.scratch);
        debug_assert!(done.is_ok(), "sizes are those of the ring");
    }

    /// The field of modes.
    pub fn compose(&self, modes: &[Complex<f64>], field: &mut [f64], room: &mut Room) {
        self.compose_in_place(modes, room);
        let scale = 1.0 / self.points as f64;
        for (to, from) in field.iter_mut().zip(&room.values) {
            *to = scale * from;
        }
    }

    /// The modes of the square of a field that is given by its modes, times the square of the number of points.
    #[inline]
    pub fn square(&self, modes: &[Complex<f64>], squared: &mut [Complex<f64>], room: &mut Room) {
        self.compose_in_place(modes, room);
        room.values.iter_mut().for_each(|v| *v *= *v);
        self.analyse_in_place(squared, room);
    }

    /// The modes of a product of two fields, the first on the points, the second by its modes; times the number of points.
    pub fn product(
        &self,
        field: &[f64],
        modes: &[Complex<f64>],
        product: &mut [Complex<f64>],
        room: &mut Room,
    ) {
        self.compose_in_place(modes, room);
        room.values.iter_mut().zip(field).for_each(|(v, f)| *v *= f);
        self.analyse_in_place(product, room);
    }
}
