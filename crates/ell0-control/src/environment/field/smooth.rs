//! The step of a field with its derivatives, for analysis: at the middle of the values that its parameters may have.

use ell0::rng::Generator;

use rayon::prelude::*;
use realfft::num_complex::Complex;

use super::{
    super::{Optimum, OptimumMethod, Parameter, Rows, Slopes, SmoothStep, Start, Values},
    Field,
    equation::waves,
};
use crate::{
    analysis::{Move, Regulator},
    error::{Error, Result, require_size},
    evaluation::Return,
};

/// Frames that a random field is left alone for, where episodes all begin alike.
const FRAMES: usize = 300;

impl Field {
    /// The same with its parameters fixed in the middle, and nothing else in its state.
    fn nominal(&self) -> Field {
        let mut field = self.clone();
        let middle: Vec<f64> = self.config().values.iter().map(Values::middle).collect();
        field.enter(&middle);
        field
    }
}

impl Field {
    /// What the linear-quadratic regulator that sees everything reaches from starts, for a linear equation: a regulator for each set of parameters among them.
    pub(super) fn regulated(&self, steps: u32, starts: &[Start]) -> Result<Option<Optimum>> {
        if !self.is_linear() || !matches!(starts.first(), Some(Start::State(_))) {
            return Ok(None);
        }
        let points = self.config().points;
        let mut sets: Vec<(Vec<f64>, Vec<Vec<f64>>)> = Vec::new();
        for start in starts {
            let Start::State(state) = start else {
                return Ok(None);
            };
            require_size("a state of the field", state.len(), self.state.len())?;
            let (field, parameters) = state.split_at(points);
            match sets.iter_mut().find(|s| s.0 == parameters) {
                Some(set) => set.1.push(field.to_vec()),
                None => sets.push((parameters.to_vec(), vec![field.to_vec()])),
            }
        }
        let price = self.config().price;
        let mean_square = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>() / v.len() as f64;
        let reward = |m: Move| -mean_square(m.state) - price * mean_square(m.action);
        let one = |(parameters, fields): &(Vec<f64>, Vec<Vec<f64>>)| {
            let mut config = self.config().clone();
            config.values = parameters.iter().map(|p| (*p).into()).collect();
            let field = Field::new(self.pde(), config)?;
            let Some(regulator) = Regulator::of(&field)? else {
                return Ok(None);
            };
            Ok(Some(regulator.returns(&field, fields, steps, &reward)?))
        };
        let all: Option<Vec<Vec<f64>>> = sets.par_iter().map(one).collect::<Result<_>>()?;
        Ok(all.map(|returns| {
            let returns = returns.concat();
            Optimum {
                worth: Return::of(&returns, u64::from(steps) * returns.len() as u64),
                method: OptimumMethod::Riccati,
            }
        }))
    }
}

impl SmoothStep for Field {
    fn states(&self) -> Vec<String> {
        (0..self.config().points).map(|j| format!("u{j}")).collect()
    }

    fn actions(&self) -> Vec<(String, [f64; 2])> {
        let bound = self.config().bound;
        let names = self.shared.actions.names().iter();
        names.map(|n| (n.clone(), [-bound, bound])).collect()
    }

    fn next(&self, state: &[f64], action: &[f64]) -> Vec<f64> {
        let mut field = self.nominal();
        field.push(action);
        let mut next = state.to_vec();
        let hold = self.config().hold;
        field.solver.advance(&mut next, &field.force, hold);
        next
    }

    fn slopes(&self, state: &[f64], action: &[f64]) -> Slopes {
        let mut field = self.nominal();
        field.push(action);
        let (n, modes) = (self.config().points, self.shared.ring.modes());
        let unit = |k: usize| (0..n).map(|j| f64::from(u8::from(j == k))).collect();
        let bumps = &self.shared.bumps;
        let mut directions: Vec<Vec<f64>> = (0..n).map(unit).collect();
        directions.extend(bumps.iter().map(|_| vec![0.0; n]));
        let mut pushes = vec![vec![Complex::default(); modes]; n];
        pushes.extend(bumps.iter().cloned());
        let (mut now, hold) = (state.to_vec(), self.config().hold);
        let force = field.force.clone();
        field
            .solver
            .tangents(&mut now, &force, hold, &mut directions, &pushes);
        let rows = |columns: &[Vec<f64>]| -> Rows {
            (0..n)
                .map(|i| columns.iter().map(|column| column[i]).collect())
                .collect()
        };
        Slopes {
            state: rows(&directions[..n]),
            action: rows(&directions[n..]),
        }
    }

    fn observations(&self) -> Vec<String> {
        self.shared.observations.names().to_vec()
    }

    fn observe(&self, state: &[f64]) -> Vec<f64> {
        let sensors = self.shared.sensors.iter().map(|&place| state[place]);
        let parameters = super::seen(self.equation(), self.config()).iter();
        let seen = parameters
            .zip(&self.config().values)
            .map(|(p, values)| p.factor * values.middle());
        sensors.chain(seen).collect()
    }

    fn observation_slopes(&self, state: &[f64]) -> Rows {
        let mut rows = vec![vec![0.0; state.len()]; self.shared.observations.len()];
        for (row, &place) in rows.iter_mut().zip(&self.shared.sensors) {
            row[place] = 1.0;
        }
        rows
    }

    fn quadratic_cost(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        let (n, m) = (self.config().points, self.config().actuators);
        Some((
            vec![1.0 / n as f64; n],
            vec![self.config().price / m as f64; m],
        ))
    }

    fn is_linear(&self) -> bool {
        let equation = self.equation();
        !equation.steepens() && equation.force_at(0.0).is_none()
    }

    fn typical_state(&self, rng: &mut Generator) -> Vec<f64> {
        let mut field = self.nominal();
        let config = self.config();
        if self.equation().starts_alike() {
            let mut state = waves(config, rng, false);
            let known = field.known.clone();
            field.solver.advance(&mut state, &known, FRAMES);
            state
        } else {
            let start = self.equation().start(config, Some(rng));
            field.warmed(start)
        }
    }

    fn parameters(&self) -> Vec<Parameter> {
        let parameters = self.equation().parameters().iter();
        parameters
            .zip(&self.config().values)
            .map(|(p, values)| Parameter::new(p.name, values.middle()))
            .collect()
    }

    fn with_parameter(&self, name: &str, value: f64) -> Result<Box<dyn SmoothStep>> {
        let names = self.equation().parameters();
        let Some(place) = names.iter().position(|p| p.name == name) else {
            return Err(Error::Parameter {
                name: name.into(),
                value,
                expected: "this world has no such parameter",
            });
        };
        let mut config = self.config().clone();
        for values in &mut config.values {
            *values = values.middle().into();
        }
        config.values[place] = value.into();
        Ok(Box::new(Field::new(self.pde(), config)?))
    }
}
