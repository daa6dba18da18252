//! Fields on a ring: partial differential equations with actuators and sensors.
//!
//! A field u has a value at each of the points. Actuators push it with Gaussian bumps, sensors show it at their points, a reward is −mean(u²) − price·mean(a²) of the state before the action. Parameters of the equation
//! are drawn for each episode and seen. [`Pde`] has the equations, one file each; the rest is the same for all: [`config`] (settings and text), [`ring`] (points and transforms), [`solver`] (steps in time).

mod burgers;
mod config;
mod convection;
mod equation;
mod heat;
mod kuramoto;
mod ring;
mod smooth;
mod solver;

pub use config::FieldConfig;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use ell0::rng::{Generator, Stream};
use realfft::num_complex::Complex;
use serde::{Deserialize, Serialize};

use self::{
    equation::{Equation, EquationParameter},
    ring::Ring,
    solver::{Scheme, Solver},
};
use super::{
    Environment, GridConfig, Maker, Optimum, Situation, SmoothStep, Space, Start, Step, Tied,
    TimeLimit, Values,
};
use crate::error::{Error, Result, require_finite, require_size};

/// The equations that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Pde {
    /// u_t = −½(u²)ₓ − u_xx − u_xxxx + μ·cos(4πx/L) + Σ aᵢφᵢ(x).
    KuramotoSivashinsky,
    /// u_t = ν·u_xx − c·u_x + r·u + control.
    ConvectionDiffusionReaction,
    /// u_t = −½(u²)ₓ + ν·u_xx + force·sin(2πx/L) + Σ aᵢφᵢ(x).
    Burgers,
    /// u_t = κ·u_xx + Σ aᵢφᵢ(x).
    Heat,
}

impl Pde {
    /// All of them.
    pub const ALL: [Pde; 4] = [
        Pde::KuramotoSivashinsky,
        Pde::ConvectionDiffusionReaction,
        Pde::Burgers,
        Pde::Heat,
    ];

    fn equation(self) -> &'static dyn Equation {
        match self {
            Pde::KuramotoSivashinsky => &kuramoto::Kuramoto,
            Pde::ConvectionDiffusionReaction => &convection::Convection,
            Pde::Burgers => &burgers::Burgers,
            Pde::Heat => &heat::Heat,
        }
    }

    /// Its problem as it stands without further words.
    #[must_use]
    pub fn defaults(self) -> FieldConfig {
        self.equation().defaults()
    }

    /// It in the registry.
    pub(super) fn maker(self) -> Maker {
        let equation = self.equation();
        let defaults = equation.defaults();
        let parameters: Vec<String> = equation
            .parameters()
            .iter()
            .zip(&defaults.values)
            .map(|(p, values)| format!("{}={values}", p.name))
            .collect();
        let help = format!(
            "{}({}, noise=0, limit={}): {}",
            equation.name(),
            parameters.join(", "),
            defaults.limit,
            equation.about()
        );
        Maker::new(&[equation.name()], help, move |call| {
            let config = FieldConfig::read(call, equation)?;
            let limit = config.limit;
            Ok(Box::new(TimeLimit::new(Field::new(self, config)?, limit)))
        })
    }
}

/// What all copies of a field share.
struct Shared {
    pde: Pde,
    config: FieldConfig,
    observations: Space,
    actions: Space,
    ring: Ring,
    /// The modes of each actuator's bump.
    bumps: Vec<Vec<Complex<f64>>>,
    /// Points of the sensors.
    sensors: Vec<usize>,
    /// Fields after the time without control, by the bits of the parameters: computed once.
    warm: Mutex<HashMap<Vec<u64>, Arc<[f64]>>>,
}

/// Fields after the time without control that are kept.
const MOST_WARM: usize = 1000;

/// Beyond this a field has broken down.
const LARGEST: f64 = 1e12;

/// Actions of all episodes together that a policy is refined on at a time, if that allows twenty episodes.
const MOST_TRAINING_STEPS: u64 = 12_500;

/// Sets of parameters that policies are compared on, if there are more: the first, the middle and the last value of each parameter.
const MOST_SETS: usize = 100;

/// A field on a ring that is acted on. State: its points, then the parameters of the equation. Rewards are bounded: a field that gets out of hand stays as it is.
///
/// ```
/// use ell0_control::environment::{Environment, Field, Pde};
/// let mut field = Field::new(Pde::Heat, Pde::Heat.defaults())?;
/// let mut warm = vec![1.0; 64];
/// warm.push(0.01);
/// field.reset_to(&warm)?;
/// let step = field.step(&[-1.0; 8])?;
/// assert_eq!(step.reward, -1.1);
/// assert!(field.state()[..64].iter().all(|u| *u < 1.0));
/// # Ok::<(), ell0_control::Error>(())
/// ```
#[derive(Clone)]
pub struct Field {
    shared: Arc<Shared>,
    solver: Solver,
    /// The points, then the parameters.
    state: Vec<f64>,
    /// The modes of the known force at these parameters, and of all forces.
    known: Vec<Complex<f64>>,
    force: Vec<Complex<f64>>,
    /// The last action, in its range.
    acted: Vec<f64>,
    /// Noise on each sensor now, and where more comes from.
    noise: Vec<f64>,
    sensors: Generator,
}

impl std::fmt::Debug for Field {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_tuple("Field").field(&self.text()).finish()
    }
}

impl Field {
    /// A field with the given settings, at its start.
    pub fn new(pde: Pde, config: FieldConfig) -> Result<Self> {
        let equation = pde.equation();
        config.check(equation)?;
        let ring = Ring::new(config.points, config.length);
        let names = |letter: &str, count: usize| -> Vec<String> {
            (1..=count).map(|k| format!("{letter}{k}")).collect()
        };
        let mut observations = Space::default();
        for name in names("m", config.sensors) {
            observations = observations.unbounded(name).sized(config.sensor_size);
        }
        for parameter in seen(equation, &config) {
            observations = observations.unbounded(parameter.seen).sized(parameter.size);
        }
        let mut actions = Space::default();
        for name in names("a", config.actuators) {
            actions = actions.with(name, -config.bound, config.bound);
        }
        let middle: Vec<f64> = config.values.iter().map(Values::middle).collect();
        let mut solver = Solver::new(ring.clone(), scheme(equation, &config, &ring, &middle));
        let bumps = (0..config.actuators)
            .map(|k| {
                let place = ring.place(k, config.actuators, true);
                let bump = ring.bump(place, config.width, config.published);
                solver.modes_of(&bump)
            })
            .collect();
        let sensors = (0..config.sensors)
            .map(|k| ring.place(k, config.sensors, config.sensors_between))
            .collect();
        let mut state = vec![0.0; config.points];
        state.extend(&middle);
        let mut field = Field {
            known: Vec::new(),
            force: vec![Complex::default(); ring.modes()],
            acted: Vec::new(),
            noise: vec![0.0; config.sensors],
            sensors: Stream::new(0).at(0),
            state,
            solver,
            shared: Arc::new(Shared {
                pde,
                observations,
                actions,
                ring,
                bumps,
                sensors,
                warm: Mutex::new(HashMap::new()),
                config,
            }),
        };
        field.enter(&middle);
        Ok(field)
    }

    /// The settings.
    pub fn config(&self) -> &FieldConfig {
        &self.shared.config
    }

    /// The equation.
    pub fn pde(&self) -> Pde {
        self.shared.pde
    }

    fn equation(&self) -> &'static dyn Equation {
        self.shared.pde.equation()
    }

    /// The values of the parameters now.
    fn parameters(&self) -> &[f64] {
        &self.state[self.shared.config.points..]
    }

    /// Takes parameters over, and whatever follows from them.
    fn enter(&mut self, parameters: &[f64]) {
        let (equation, points) = (self.equation(), self.shared.config.points);
        self.state[points..].copy_from_slice(parameters);
        let config = &self.shared.config;
        self.solver.scheme = scheme(equation, config, &self.shared.ring, parameters);
        let known: Vec<f64> = (0..points)
            .map(|j| equation.force(grid(config, j), parameters))
            .collect();
        self.known = self.solver.modes_of(&known);
    }

    /// The field after the time without control.
    fn warmed(&mut self, mut field: Vec<f64>) -> Vec<f64> {
        let frames = self.shared.config.warmup;
        self.solver.advance(&mut field, &self.known, frames);
        field
    }

    /// Where an episode begins with these parameters; without a generator, as policies are compared on it.
    fn begin(&mut self, parameters: &[f64], rng: Option<&mut Generator>) {
        self.enter(parameters);
        let equation = self.equation();
        let shared = Arc::clone(&self.shared);
        let field: Arc<[f64]> = if equation.starts_alike() {
            let key: Vec<u64> = parameters.iter().map(|p| p.to_bits()).collect();
            let kept = || shared.warm.lock().unwrap_or_else(PoisonError::into_inner);
            let known = kept().get(&key).cloned();
            known.unwrap_or_else(|| {
                let start = equation.start(&shared.config, None);
                let field: Arc<[f64]> = self.warmed(start).into();
                let mut kept = kept();
                if kept.len() < MOST_WARM {
                    kept.insert(key, Arc::clone(&field));
                }
                field
            })
        } else {
            let start = equation.start(&shared.config, rng);
            self.warmed(start).into()
        };
        self.state[..shared.config.points].copy_from_slice(&field);
    }

    /// Noise of the sensors from here on.
    fn listen(&mut self, sensors: Generator) {
        self.sensors = sensors;
        self.hiss();
    }

    fn hiss(&mut self) {
        let deviation = self.shared.config.noise;
        if deviation > 0.0 {
            for noise in &mut self.noise {
                *noise = deviation * self.sensors.normal();
            }
        }
    }

    /// The modes of all forces for an action that lies in its range.
    fn push(&mut self, action: &[f64]) {
        self.force.copy_from_slice(&self.known);
        for (a, bump) in action.iter().zip(&self.shared.bumps) {
            let pairs = self.force.iter_mut().zip(bump);
            pairs.for_each(|(force, bump)| *force += bump * *a);
        }
    }

    /// A state that an episode begins in with these parameters, the k-th of those that policies are compared on.
    fn evaluation_start(&self, parameters: &[f64], k: u64) -> Vec<f64> {
        let mut field = self.clone();
        let mut rng = Stream::new(0).split("fields").at(k);
        let drawn = self.equation().draws() > 0;
        field.begin(parameters, drawn.then_some(&mut rng));
        field.state
    }

    /// Starts with each of some sets of parameters.
    fn starts(&self, sets: &[Vec<f64>]) -> Vec<Start> {
        let draws = self.equation().draws().max(1);
        let states = sets
            .iter()
            .flat_map(|set| (0..draws).map(|k| self.evaluation_start(set, k)));
        Start::states(states)
    }

    /// The sets of parameters that policies are compared on.
    fn sets(&self) -> Vec<Vec<f64>> {
        let mut values: Vec<Vec<f64>> = self.config().values.iter().map(Values::all).collect();
        let count: usize = values.iter().map(Vec::len).product();
        if count > MOST_SETS && values.len() > 1 {
            for v in &mut values {
                *v = vec![v[0], v[v.len() / 2], v[v.len() - 1]];
                v.dedup();
            }
        }
        products(&values)
    }

    /// All sets of parameters.
    fn all_sets(&self) -> Vec<Vec<f64>> {
        let values: Vec<Vec<f64>> = self.config().values.iter().map(Values::all).collect();
        products(&values)
    }
}

/// One value of each.
fn products(values: &[Vec<f64>]) -> Vec<Vec<f64>> {
    values.iter().fold(vec![vec![]], |sets, values| {
        let with = |set: &Vec<f64>| {
            let set = set.clone();
            let one = move |v: &f64| set.iter().copied().chain([*v]).collect::<Vec<f64>>();
            values.iter().map(one).collect::<Vec<_>>()
        };
        sets.iter().flat_map(with).collect()
    })
}

/// The parameters that are seen.
fn seen(equation: &dyn Equation, config: &FieldConfig) -> &'static [EquationParameter] {
    if config.hidden {
        &[]
    } else {
        equation.parameters()
    }
}

/// The place of a point, from 0 to 1 around the ring; the published code counts the first point twice.
fn grid(config: &FieldConfig, point: usize) -> f64 {
    let last = usize::from(config.published);
    point as f64 / (config.points - last) as f64
}

/// How the field moves with these parameters.
fn scheme(
    equation: &dyn Equation,
    config: &FieldConfig,
    ring: &Ring,
    parameters: &[f64],
) -> Scheme {
    let rate = |mode: usize| {
        // The published code takes Nyquist's wavenumber for 0: that mode is not damped.
        let lost = config.published && mode == ring.modes() - 1;
        let wavenumber = if lost { 0.0 } else { ring.wavenumber(mode) };
        equation.rate(wavenumber, parameters)
    };
    let rates = (0..ring.modes()).map(rate);
    if equation.steepens() {
        let rates: Vec<f64> = rates.map(|r| r.re).collect();
        return Scheme::semi_implicit(ring, &rates, config.frame, config.substeps);
    }
    let frame = config.frame;
    let step = |rate: &Complex<f64>| (rate * frame).exp();
    let push = |rate: &Complex<f64>| {
        if equation.kicks() {
            Complex::from(1.0)
        } else if rate.norm() * frame < 1e-8 {
            Complex::from(frame)
        } else {
            (step(rate) - 1.0) / rate
        }
    };
    let rates: Vec<Complex<f64>> = rates.collect();
    let real = |mode: usize, value: Complex<f64>| {
        // Nyquist's mode of a real field is real.
        if mode == ring.modes() - 1 {
            Complex::from(value.re)
        } else {
            value
        }
    };
    Scheme::Exact {
        step: rates
            .iter()
            .map(step)
            .enumerate()
            .map(|(k, v)| real(k, v))
            .collect(),
        push: rates
            .iter()
            .map(push)
            .enumerate()
            .map(|(k, v)| real(k, v))
            .collect(),
    }
}

impl Environment for Field {
    fn text(&self) -> String {
        self.config().text(self.equation())
    }

    fn observation_space(&self) -> &Space {
        &self.shared.observations
    }

    fn action_space(&self) -> &Space {
        &self.shared.actions
    }

    fn state_names(&self) -> Vec<String> {
        let points = (0..self.config().points).map(|j| format!("u{j}"));
        let parameters = self.equation().parameters().iter();
        points.chain(parameters.map(|p| p.name.into())).collect()
    }

    fn state(&self) -> &[f64] {
        &self.state
    }

    fn copy(&self) -> Box<dyn Environment> {
        Box::new(self.clone())
    }

    /// Parameters and start at random; the time without control, which is the same for the same parameters if starts are, is computed once.
    fn reset(&mut self, rng: &mut Generator) {
        let values = &self.shared.config.values;
        let parameters: Vec<f64> = values.iter().map(|v| v.draw(rng)).collect();
        self.begin(&parameters, Some(rng));
        let key = (rng.uniform() * (1u64 << 53) as f64) as u64;
        self.listen(Stream::new(key).split("sensors").at(0));
    }

    fn reset_to(&mut self, state: &[f64]) -> Result<()> {
        require_size("a state of the field", state.len(), self.state.len())?;
        require_finite("the state", state)?;
        let (field, parameters) = state.split_at(self.shared.config.points);
        for (parameter, value) in self.equation().parameters().iter().zip(parameters) {
            if *value < parameter.least {
                return Err(Error::Parameter {
                    name: parameter.name.into(),
                    value: *value,
                    expected: "it must not be negative",
                });
            }
        }
        if let Some(&value) = field.iter().find(|u| u.abs() > LARGEST) {
            return Err(Error::NotFinite {
                what: "a point of the field",
                value,
            });
        }
        self.enter(parameters);
        self.state[..field.len()].copy_from_slice(field);
        // The same noise whenever it begins there, another one for other parameters.
        let key = parameters.iter().fold(0u64, |key, p| {
            key.rotate_left(17).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ p.to_bits()
        });
        self.listen(Stream::new(key).split("sensors").at(1));
        Ok(())
    }

    fn observe(&self, observation: &mut [f32]) {
        let sensors = self.shared.sensors.iter().zip(&self.noise);
        let sensors = sensors.map(|(&place, noise)| self.state[place] + noise);
        let parameters = seen(self.equation(), self.config()).iter();
        let parameters = parameters.zip(self.parameters());
        let parameters = parameters.map(|(p, value)| p.factor * value);
        let values = sensors.chain(parameters);
        observation
            .iter_mut()
            .zip(values)
            .for_each(|(o, v)| *o = v as f32);
    }

    fn step(&mut self, action: &[f64]) -> Result<Step> {
        let shared = Arc::clone(&self.shared);
        let config = &shared.config;
        require_size("an action on the field", action.len(), config.actuators)?;
        require_finite("the action", action)?;
        let bound = config.bound;
        let mut acted = std::mem::take(&mut self.acted);
        acted.clear();
        acted.extend(action.iter().map(|a| a.clamp(-bound, bound)));
        let mean_square = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>() / v.len() as f64;
        let field = &self.state[..config.points];
        let (cost, effort) = (mean_square(field), config.price * mean_square(&acted));
        // Out of hand: no law brings it back in time, and further steps would only grow beyond what can be computed.
        if cost > config.ceiling {
            self.acted = acted;
            self.hiss();
            return Ok(Step::goes_on(-config.ceiling - effort));
        }
        let reward = -cost - effort;
        self.push(&acted);
        self.acted = acted;
        let field = &mut self.state[..config.points];
        self.solver.advance(field, &self.force, config.hold);
        // Comparisons with NaN are false.
        if !field.iter().all(|u| u.abs() <= LARGEST) {
            return Err(Error::Diverged {
                environment: self.text(),
            });
        }
        self.hiss();
        Ok(Step::goes_on(reward))
    }

    /// Every set of parameters of training, from the start that is not drawn.
    fn evaluation_starts(&self) -> Vec<Start> {
        self.starts(&self.sets())
    }

    /// With the middle one of the values of each parameter, after the time without control.
    fn usual_start(&self) -> Start {
        let middle: Vec<f64> = self.config().values.iter().map(Values::middle).collect();
        Start::State(self.evaluation_start(&middle, 0))
    }

    /// All sets of parameters in turn, from random starts; where episodes begin alike and nothing is random, each of them once.
    fn training_starts(&self, stream: &Stream, count: u64) -> Vec<Start> {
        let config = self.config();
        let fixed = |v: &Values| matches!(v, Values::List(_));
        if !config.values.iter().all(fixed) {
            return Start::drawn(stream, count);
        }
        let steps = u64::from(config.limit);
        let most = count.min((MOST_TRAINING_STEPS / steps).max(20));
        if self.equation().starts_alike() && config.noise > 0.0 {
            return Start::drawn(stream, most);
        }
        let sets = self.all_sets();
        let most = if self.equation().starts_alike() {
            most.min(sets.len() as u64)
        } else {
            most
        };
        let start = |k: u64| {
            let mut field = self.clone();
            let set = &sets[(k % sets.len() as u64) as usize];
            field.begin(set, Some(&mut stream.at(k)));
            field.state
        };
        Start::states((0..most).map(start))
    }

    /// Parameters of training, between them and beyond them, each without and with noise on the sensors.
    fn evaluation_grid(&self) -> Vec<Situation> {
        let equation = self.equation();
        let mut sets = vec![("training", self.sets())];
        if self.config().values == equation.defaults().values {
            let unseen = equation.unseen();
            sets.push(("interpolation", unseen.inside));
            sets.push(("extrapolation", unseen.outside));
        }
        let noise = self.config().noise;
        let loud = if noise > 0.0 {
            noise
        } else {
            self.config().test_noise
        };
        let mut situations = Vec::new();
        for noise in [0.0, loud] {
            for (name, sets) in &sets {
                let mut field = self.clone();
                field.shared = Arc::new(self.shared.with_noise(noise));
                situations.push(Situation {
                    name: (*name).into(),
                    noise,
                    starts: field.starts(sets),
                    world: Box::new(field),
                });
            }
        }
        situations
    }

    /// The same law at each actuator, of sensors counted from it, of the known force where it stands, and of the parameters that are not in that force.
    fn tied(&self) -> Option<Tied> {
        let config = self.config();
        let (a, s) = (config.actuators, config.sensors);
        if !s.is_multiple_of(a) {
            return None;
        }
        let coincide = config.sensors_between && a == s;
        // Sensors by how far they are to the right of an actuator, from the left half to the right half.
        let first = -((s as isize - 1) / 2);
        let name = |d: isize| match d {
            0 if coincide => "here".to_string(),
            d if d > 0 => format!("right{d}"),
            d if coincide => format!("left{}", -d),
            d => format!("left{}", 1 - d),
        };
        let offsets: Vec<isize> = (0..s as isize).map(|k| first + k).collect();
        let equation = self.equation();
        let mut names: Vec<String> = offsets.iter().map(|d| name(*d)).collect();
        let forced = equation.force_at(0.0).map(|(parameter, _)| parameter);
        let seen = seen(equation, config);
        for (k, parameter) in seen.iter().enumerate() {
            let name = if forced == Some(k) {
                "forcing"
            } else {
                parameter.seen
            };
            names.push(name.into());
        }
        let inputs = (0..a)
            .map(|i| {
                let own = (i * s / a) as isize;
                let sensor = |d: &isize| ((own + d).rem_euclid(s as isize) as usize, 1.0);
                let mut inputs: Vec<(usize, f64)> = offsets.iter().map(sensor).collect();
                let place = grid(config, self.shared.ring.place(i, a, true));
                let force = equation.force_at(place);
                for k in 0..seen.len() {
                    let weight = force.filter(|f| f.0 == k).map_or(1.0, |f| f.1);
                    inputs.push((s + k, weight));
                }
                inputs
            })
            .collect();
        Some(Tied { names, inputs })
    }

    fn smooth(&self) -> Option<&dyn SmoothStep> {
        Some(self)
    }

    /// Of linear equations, by the Riccati equation.
    fn optimum(&self, steps: u32, starts: &[Start], _: GridConfig) -> Result<Option<Optimum>> {
        self.regulated(steps, starts)
    }
}

impl Shared {
    /// The same with another noise; what was computed for the time without control stays.
    fn with_noise(&self, noise: f64) -> Shared {
        let warm = self.warm.lock().unwrap_or_else(PoisonError::into_inner);
        Shared {
            pde: self.pde,
            config: FieldConfig {
                noise,
                ..self.config.clone()
            },
            observations: self.observations.clone(),
            actions: self.actions.clone(),
            ring: self.ring.clone(),
            bumps: self.bumps.clone(),
            sensors: self.sensors.clone(),
            warm: Mutex::new(warm.clone()),
        }
    }
}

#[cfg(test)]
mod tests;
