//! Sets {c + G·e + r : e ∈ [−1, 1]^p, |rᵢ| ≤ ρᵢ}, cut with a box, and their images under the map.

use ell0::equation::{Arithmetic, Interval};

use crate::{
    certificate::Certificate,
    form::{Form, SYMBOLS, up},
};

/// A set of states.
#[derive(Clone, Debug)]
pub struct Set<const N: usize> {
    pub centre: [f64; N],
    /// G, column by column: those of constant parameters, of the sides of the cell, of errors.
    pub generators: Vec<[f64; N]>,
    pub radius: [f64; N],
    pub hull: [Interval; N],
}

/// A cell by its corners, in the coordinates y = x + E·x.
#[derive(Clone, Copy, Debug)]
pub struct Cell<const N: usize> {
    pub low: [f64; N],
    pub high: [f64; N],
}

impl<const N: usize> Cell<N> {
    /// Where it is divided.
    pub fn middle(&self, axis: usize) -> f64 {
        self.low[axis] + 0.5 * (self.high[axis] - self.low[axis])
    }

    /// The lower or the upper half.
    pub fn half(mut self, axis: usize, upper: bool) -> Self {
        let middle = self.middle(axis);
        if upper {
            self.low[axis] = middle;
        } else {
            self.high[axis] = middle;
        }
        self
    }
}

/// The map on sets.
pub struct Images<'a, const N: usize> {
    certificate: &'a Certificate,
    /// What is uncertain, as forms; parameters that are the same at all times have a symbol of their own.
    inputs: Vec<Form>,
    lasting: usize,
}

/// Room for the values of the map that is used again.
pub struct Room<T> {
    values: Vec<T>,
    steps: Vec<T>,
}

impl<T> Default for Room<T> {
    fn default() -> Self {
        Room {
            values: Vec::new(),
            steps: Vec::new(),
        }
    }
}

/// Σ of x and what rounding may do to it, from parts.
fn sum(parts: impl Iterator<Item = f64>) -> (f64, f64) {
    let (total, size) = parts.fold((0.0, 0.0), |(t, s): (f64, f64), p| (t + p, s + p.abs()));
    (total, up(2e-15 * size))
}

/// (I ± E)·x.
fn turned<const N: usize>(
    e: &[Vec<f64>],
    sign: f64,
    x: &[f64; N],
    error: &mut [f64; N],
) -> [f64; N] {
    std::array::from_fn(|i| {
        let moved = (0..N)
            .filter(|&j| e[i][j] != 0.0)
            .map(|j| sign * e[i][j] * x[j]);
        let (total, off) = sum([x[i]].into_iter().chain(moved));
        error[i] += off;
        total
    })
}

impl<'a, const N: usize> Images<'a, N> {
    pub fn new(certificate: &'a Certificate) -> Self {
        let mut lasting = 0;
        let inputs = certificate.uncertain.iter().map(|u| {
            let mut form = Form::between(u.range.low, u.range.high);
            // Room is left for the cell and for the box.
            if !u.varies && lasting + 2 * N < SYMBOLS {
                let mut slopes = [0.0; SYMBOLS];
                slopes[lasting] = form.error;
                form = Form::new(form.centre, slopes, 0.0, u.range);
                lasting += 1;
            }
            form
        });
        let inputs = inputs.collect();
        Images {
            certificate,
            inputs,
            lasting,
        }
    }

    /// The states of a cell: x = y − E·y.
    pub fn begin(&self, cell: &Cell<N>) -> Set<N> {
        let e = &self.certificate.shear;
        let mut radius = [0.0; N];
        let middle: [f64; N] = std::array::from_fn(|k| cell.middle(k));
        let centre = turned(e, -1.0, &middle, &mut radius);
        let mut generators = vec![[0.0; N]; self.lasting];
        for k in 0..N {
            let mut side = [0.0; N];
            side[k] = up((cell.high[k] - middle[k]).max(middle[k] - cell.low[k]));
            generators.push(turned(e, -1.0, &side, &mut radius));
        }
        let radius = radius.map(up);
        let mut set = Set {
            centre,
            generators,
            radius,
            hull: [Interval::ENTIRE; N],
        };
        set.hull = set.extent();
        // What is not moved is known exactly.
        for i in (0..N).filter(|&i| e[i].iter().all(|e| *e == 0.0)) {
            set.hull[i] = Interval::new(cell.low[i], cell.high[i]);
        }
        set
    }

    /// The set in the coordinates y = x + E·x.
    pub fn turn(&self, set: &Set<N>) -> Set<N> {
        let e = &self.certificate.shear;
        let mut error = [0.0; N];
        let centre = turned(e, 1.0, &set.centre, &mut error);
        let generators = set
            .generators
            .iter()
            .map(|g| turned(e, 1.0, g, &mut error))
            .collect();
        let radius = std::array::from_fn(|i| {
            let moved: f64 = (0..N).map(|j| e[i][j].abs() * set.radius[j]).sum();
            up(set.radius[i] + moved + error[i])
        });
        let mut turned = Set {
            centre,
            generators,
            radius,
            hull: set.hull,
        };
        let extent = turned.extent();
        for i in 0..N {
            let mut side = set.hull[i];
            for j in (0..N).filter(|&j| e[i][j] != 0.0) {
                side = side.add(Interval::point(e[i][j]).multiply(set.hull[j]));
            }
            turned.hull[i] = Interval {
                low: side.low.max(extent[i].low),
                high: side.high.min(extent[i].high),
            };
        }
        turned
    }

    /// The images of a set; none if one of its states may have no image, or nothing is known of it any more.
    pub fn step(&self, set: &Set<N>, room: &mut Room<Form>) -> Option<Set<N>> {
        let used = set.generators.len();
        let states: [Form; N] = std::array::from_fn(|i| {
            let mut slopes = [0.0; SYMBOLS];
            for (slope, g) in slopes.iter_mut().zip(&set.generators) {
                *slope = g[i];
            }
            slopes[used + i] = set.radius[i];
            Form::new(set.centre[i], slopes, 0.0, set.hull[i])
        });
        let next = next_of(self.certificate, &states, &self.inputs, room);
        let mut image = Set {
            centre: [0.0; N],
            generators: vec![[0.0; N]; used + N],
            radius: [0.0; N],
            hull: [Interval::ENTIRE; N],
        };
        for (i, form) in next.enumerate() {
            let known = form.centre.is_finite()
                && form.error.is_finite()
                && form.slopes.iter().all(|s| s.is_finite())
                && form.range.low <= form.range.high;
            if !known {
                return None;
            }
            (image.centre[i], image.radius[i], image.hull[i]) =
                (form.centre, form.error, form.range);
            for (g, slope) in image.generators.iter_mut().zip(&form.slopes) {
                g[i] = *slope;
            }
        }
        self.gather(&mut image);
        Some(image)
    }

    /// Puts the shortest generators of errors into the box until there are few enough, measured by the box of the certificate.
    fn gather(&self, set: &mut Set<N>) {
        let length = |g: &[f64; N]| -> f64 {
            let states = self.certificate.states.iter();
            states.zip(g).map(|(s, g)| g.abs() / (s.high - s.low)).sum()
        };
        while set.generators.len() > SYMBOLS - N {
            let lengths = set.generators.iter().enumerate().skip(self.lasting + N);
            let shortest = lengths.min_by(|a, b| length(a.1).total_cmp(&length(b.1)));
            let g = set
                .generators
                .swap_remove(shortest.map_or(self.lasting + N, |s| s.0));
            for i in 0..N {
                set.radius[i] = up(set.radius[i] + g[i].abs());
            }
        }
    }
}

/// The next state, in any arithmetic.
pub fn next_of<'r, T: Arithmetic + 'r>(
    certificate: &'r Certificate,
    states: &[T],
    uncertain: &[T],
    room: &'r mut Room<T>,
) -> impl Iterator<Item = T> + 'r {
    let Room { values, steps } = room;
    values.clear();
    values.extend_from_slice(states);
    values.extend_from_slice(uncertain);
    for value in &certificate.values {
        let mut result = value.program.first(values, steps);
        if let Some((low, high)) = value.range {
            result = result.clamp(low, high);
        }
        values.push(result);
    }
    let values = &*values;
    certificate.next.iter().map(move |&k| values[k])
}

impl<const N: usize> Set<N> {
    /// A box around all of it.
    fn extent(&self) -> [Interval; N] {
        std::array::from_fn(|i| {
            let half: f64 = self.generators.iter().map(|g| g[i].abs()).sum();
            let half = up(half + self.radius[i]);
            Interval::new(
                (self.centre[i] - half).next_down(),
                (self.centre[i] + half).next_up(),
            )
        })
    }
}
