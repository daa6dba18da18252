//! Sets that are certain to hold every image of a cell: zonotopes, carried from step to step by affine arithmetic.
//!
//! A set is {c + G·e + r : e ∈ [−1, 1]^p, |rᵢ| ≤ ρᵢ}, cut with a box. The map is computed on [affine forms](crate::affine) whose symbols are the generators and the sides of ρ: the coefficients of what comes out are the generators of the image, which keeps its shape and how it depends on the
//! cell, and only what bends, of second order in the size, becomes the box ρ of the next step. When there are too many generators, the shortest are gathered in the box. Parameters that are the same at all times have a generator of their own.

use ell0::equation::Interval;
use ell0_control::analysis::{Map, Uncertain, Values};

use crate::{
    affine::{Affine, SYMBOLS},
    rounding::{middle_and_radius, upwards},
    shear::Shear,
    tree::Cell,
};

/// The map, as sets go through it.
#[derive(Debug)]
pub struct Flow<'a, const N: usize> {
    map: &'a Map,
    /// What is uncertain, as forms.
    inputs: Vec<Affine>,
    /// Generators that belong to the sides of the cell and to constant parameters.
    lasting: usize,
    /// What lengths are measured by.
    scale: [f64; N],
}

/// A set that holds every image of a cell.
#[derive(Clone, Debug)]
pub struct Enclosure<const N: usize> {
    /// c.
    pub centre: [f64; N],
    /// G, column by column: the first N belong to the sides of the cell, those after them to constant parameters, the rest to errors.
    pub generators: Vec<[f64; N]>,
    /// ρ.
    pub radius: [f64; N],
    /// A box that holds the set as well.
    pub hull: [Interval; N],
}

/// Room that is used again.
#[derive(Clone, Debug, Default)]
pub struct Room<const N: usize> {
    /// The set that is followed, and it in the coordinates of the cells.
    pub set: Enclosure<N>,
    /// It in the coordinates of the cells.
    pub sheared: Enclosure<N>,
    /// For the map on sets, and on points.
    pub steps: Steps,
}

/// Room of the map.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    forms: Values<Affine>,
    numbers: Values<f64>,
}

impl<'a, const N: usize> Flow<'a, N> {
    /// A closed loop whose lengths are measured by the scale. Parameters for which there is no symbol may be another at every step.
    #[must_use]
    pub fn new(map: &'a Map, scale: [f64; N]) -> Self {
        let mut lasting = N;
        let form = |uncertain: &Uncertain| {
            let (low, high) = (uncertain.range.low, uncertain.range.high);
            if uncertain.varies || lasting + N >= SYMBOLS {
                return Affine::anything(low, high);
            }
            let (middle, radius) = middle_and_radius(low, high);
            let mut slopes = [0.0; SYMBOLS];
            slopes[lasting] = radius;
            lasting += 1;
            Affine::new(middle, slopes, 0.0, Interval::new(low, high))
        };
        let inputs = map.uncertain().iter().map(form).collect();
        Flow {
            map,
            inputs,
            lasting,
            scale,
        }
    }

    /// The set that is a cell.
    pub fn begin(&self, cell: &Cell<N>, shear: &Shear<N>, set: &mut Enclosure<N>) {
        set.generators.clear();
        set.generators.resize(self.lasting, [0.0; N]);
        shear.set_of(cell, set);
    }

    /// The next point, in plain numbers: a guess.
    pub fn guess(&self, point: &mut [f64; N], room: &mut Steps) {
        self.map.step(point, &mut room.numbers);
    }

    /// The images of a set; `false` if it may have a state without an image, or nothing is known of it any more.
    pub fn step(&self, set: &mut Enclosure<N>, room: &mut Steps) -> bool {
        let used = set.generators.len();
        let states: [Affine; N] = std::array::from_fn(|i| {
            let mut slopes = [0.0; SYMBOLS];
            for (slope, g) in slopes.iter_mut().zip(&set.generators) {
                *slope = g[i];
            }
            slopes[used + i] = set.radius[i];
            Affine::new(set.centre[i], slopes, 0.0, set.hull[i])
        });
        let room = &mut room.forms;
        self.map.image(&states, &self.inputs, room);
        set.generators.resize(used + N, [0.0; N]);
        for (i, form) in room.next.iter().enumerate() {
            let Affine { centre, error, .. } = *form;
            // Undefined, or beyond all numbers.
            if !(centre.is_finite() && error.is_finite()) {
                return false;
            }
            set.centre[i] = centre;
            set.radius[i] = error;
            set.hull[i] = form.range;
            for (g, slope) in set.generators.iter_mut().zip(&form.slopes) {
                g[i] = *slope;
            }
        }
        self.gather(set);
        set.hull.iter().all(|h| h.low <= h.high)
            && set.generators.iter().flatten().all(|g| g.is_finite())
    }

    /// Puts the shortest generators of errors into the box until there are few enough.
    fn gather(&self, set: &mut Enclosure<N>) {
        let first = self.lasting;
        let most = SYMBOLS - N;
        let length = |g: &[f64; N]| (0..N).map(|i| g[i].abs() / self.scale[i]).sum::<f64>();
        while set.generators.len() > most {
            let mut shortest = (first, f64::INFINITY);
            for (k, g) in set.generators.iter().enumerate().skip(first) {
                let length = length(g);
                if length < shortest.1 {
                    shortest = (k, length);
                }
            }
            let g = set.generators.swap_remove(shortest.0);
            for i in 0..N {
                set.radius[i] = upwards(set.radius[i] + g[i].abs());
            }
        }
    }

    /// How far two points are apart.
    #[must_use]
    pub fn distance(&self, a: &[f64; N], b: &[f64; N]) -> f64 {
        (0..N).map(|i| (a[i] - b[i]).abs() / self.scale[i]).sum()
    }

    /// The side of the cell that has become longest.
    #[must_use]
    pub fn longest_side(&self, set: &Enclosure<N>) -> usize {
        let length = |k: usize| -> f64 {
            (0..N)
                .map(|i| set.generators[k][i].abs() / self.scale[i])
                .sum()
        };
        let longer = |a: usize, b: usize| if length(b) > length(a) { b } else { a };
        (0..N).fold(0, longer)
    }
}

impl<const N: usize> Enclosure<N> {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Enclosure {
            centre: [0.0; N],
            generators: Vec::new(),
            radius: [0.0; N],
            hull: [Interval::point(0.0); N],
        }
    }

    /// Half the widths of the zonotope, at least.
    #[must_use]
    pub fn half_widths(&self) -> [f64; N] {
        std::array::from_fn(|i| {
            let sum: f64 = self.generators.iter().map(|g| g[i].abs()).sum();
            upwards(sum + self.radius[i])
        })
    }
}

impl<const N: usize> Default for Enclosure<N> {
    fn default() -> Self {
        Enclosure::new()
    }
}
