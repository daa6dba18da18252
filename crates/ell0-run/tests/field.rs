//! Worlds of many states, analysed from the outside as a caller would.

use std::ops::ControlFlow;

use ell0::rng::Generator;
use ell0_control::{
    analysis::{Behaviour, Stability},
    environment::{Environment, Parameter, Rows, Slopes, SmoothStep, Space, Step},
};
use ell0_run::{
    Analysis, AnalyzeSettings, Error, Event, FieldAnalysis, Findings, Page, Place, Silent, Subject,
};

const POINTS: usize = 24;

/// Something on a ring that spreads, is carried along and grows, y⁺ = A·y + B·a; with `cubic`, y³ holds it back. Two actuators, and a sensor in the middle of each.
#[derive(Clone)]
struct Ring {
    growth: f64,
    cubic: f64,
    state: Vec<f64>,
    steps: u32,
    seen: Space,
    chosen: Space,
}

impl Ring {
    fn new(growth: f64, cubic: f64) -> Self {
        Ring {
            growth,
            cubic,
            state: vec![0.0; POINTS],
            steps: 0,
            seen: Space::default().unbounded("m0").unbounded("m1"),
            chosen: Space::default().with("a0", -0.5, 0.5).with("a1", -0.5, 0.5),
        }
    }

    fn bump(i: usize, k: usize) -> f64 {
        let away = (i as f64 - Self::sensor(k) as f64).abs();
        let away = away.min(POINTS as f64 - away);
        0.3 * (-(away / 4.0).powi(2)).exp()
    }

    fn sensor(k: usize) -> usize {
        POINTS / 4 + k * POINTS / 2
    }
}

impl SmoothStep for Ring {
    fn states(&self) -> Vec<String> {
        (0..POINTS).map(|k| format!("y{k}")).collect()
    }

    fn actions(&self) -> Vec<(String, [f64; 2])> {
        let ranges = self.chosen.components().iter();
        ranges.map(|c| (c.name.clone(), [c.low, c.high])).collect()
    }

    fn next(&self, y: &[f64], action: &[f64]) -> Vec<f64> {
        let cell = |i: usize| {
            let (left, right) = (y[(i + POINTS - 1) % POINTS], y[(i + 1) % POINTS]);
            let pushed: f64 = (0..2).map(|k| Ring::bump(i, k) * action[k]).sum();
            (0.5 + self.growth) * y[i] + 0.3 * left + 0.2 * right - self.cubic * y[i].powi(3)
                + pushed
        };
        (0..POINTS).map(cell).collect()
    }

    fn slopes(&self, y: &[f64], _: &[f64]) -> Slopes {
        let mut state = vec![vec![0.0; POINTS]; POINTS];
        for i in 0..POINTS {
            state[i][i] = 0.5 + self.growth - 3.0 * self.cubic * y[i].powi(2);
            state[i][(i + POINTS - 1) % POINTS] += 0.3;
            state[i][(i + 1) % POINTS] += 0.2;
        }
        let by = |i: usize| (0..2).map(|k| Ring::bump(i, k)).collect();
        Slopes {
            state,
            action: (0..POINTS).map(by).collect(),
        }
    }

    fn observations(&self) -> Vec<String> {
        self.seen.names().to_vec()
    }

    fn observe(&self, y: &[f64]) -> Vec<f64> {
        (0..2).map(|k| y[Ring::sensor(k)]).collect()
    }

    fn observation_slopes(&self, _: &[f64]) -> Rows {
        let row = |k: usize| {
            let mut row = vec![0.0; POINTS];
            row[Ring::sensor(k)] = 1.0;
            row
        };
        (0..2).map(row).collect()
    }

    fn is_linear(&self) -> bool {
        self.cubic == 0.0
    }

    fn typical_state(&self, rng: &mut Generator) -> Vec<f64> {
        (0..POINTS).map(|_| 0.1 * rng.normal()).collect()
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter::new("growth", self.growth)]
    }

    fn with_parameter(&self, _: &str, value: f64) -> ell0_control::Result<Box<dyn SmoothStep>> {
        Ok(Box::new(Ring::new(value, self.cubic)))
    }
}

impl Environment for Ring {
    fn text(&self) -> String {
        "ring".into()
    }

    fn observation_space(&self) -> &Space {
        &self.seen
    }

    fn action_space(&self) -> &Space {
        &self.chosen
    }

    fn reset(&mut self, rng: &mut Generator) {
        self.state = self.typical_state(rng);
        self.steps = 0;
    }

    fn observe(&self, observation: &mut [f32]) {
        let seen = SmoothStep::observe(self, &self.state);
        let pairs = observation.iter_mut().zip(seen);
        pairs.for_each(|(o, s)| *o = s as f32);
    }

    fn step(&mut self, action: &[f64]) -> ell0_control::Result<Step> {
        let action: Vec<f64> = (0..2).map(|k| self.chosen.clamp(k, action[k])).collect();
        self.state = self.next(&self.state, &action);
        self.steps += 1;
        let cost = self.state.iter().map(|y| y * y).sum::<f64>();
        Ok(Step {
            truncated: self.steps >= 50,
            ..Step::goes_on(-cost)
        })
    }

    fn copy(&self) -> Box<dyn Environment> {
        Box::new(self.clone())
    }

    fn time_limit(&self) -> Option<u32> {
        Some(50)
    }

    fn smooth(&self) -> Option<&dyn SmoothStep> {
        Some(self)
    }
}

const LAW: &str = "a0 = 0.5*tanh(-0.5*m0 - 0.05*m1); a1 = 0.5*tanh(-0.5*m1)";

fn settings(law: &str) -> AnalyzeSettings {
    AnalyzeSettings::new(Subject::Policy(law.into()))
}

/// Analyses, writes, reads back, makes the page.
fn analysed(world: &Ring, law: &str) -> FieldAnalysis {
    let analyzed = settings(law).run_in(world, &Silent).expect("analysed");
    let folder = tempfile::tempdir().expect("a folder");
    let place = Place::new(folder.path().join("field"));
    let folder = analyzed.write(&place, None).expect("written");
    assert_eq!(Analysis::read(&folder).expect("read"), analyzed.analysis);
    let page = Page::of(&folder).expect("a page").html(None);
    let drawn = analyzed.analysis.findings.clone();
    let Findings::Field(found) = drawn else {
        panic!("a loop of many states");
    };
    assert!(page.contains("A policy in ring"), "{page}");
    assert_eq!(
        page.contains("unit circle"),
        found.equilibrium.is_some(),
        "eigenvalues are drawn"
    );
    assert_eq!(
        folder.join("eigenvalues.png").exists(),
        found.equilibrium.is_some()
    );
    found
}

#[test]
fn a_linear_field_is_analysed_and_proved() {
    let found = analysed(&Ring::new(0.01, 0.0), LAW);
    assert_eq!(found.behaviour, Behaviour::Settles);
    let rest = found.equilibrium.expect("an equilibrium");
    assert_eq!((rest.stability, rest.amplitude()), (Stability::Stable, 0.0));
    assert_eq!(rest.eigenvalues.len(), POINTS);
    let gain = found.gain_margin.expect("a margin");
    assert!(gain.low.value > 0.0 && gain.low.value < 1.0 && gain.high.value > 1.0);
    assert!(found.delay.is_some());
    let growth = &found.parameters.expect("parameters")[0];
    assert!(growth.low.value < 0.01 && growth.high.value > 0.02);
    let starts = found.starts.expect("starts");
    assert_eq!((starts.reached, starts.starts), (100, 100));
    let set = found.proved_set.expect("a proof");
    // A uniform field that both actions at their ends cannot make smaller lies outside.
    assert!(set.level.is_some() && set.typical_inside > 0);
    assert!(set.uniform.is_some_and(|u| u > 0.1 && u < 9.0), "{set:?}");
    assert_eq!(found.not_proved, None);
    let terms = found.terms.expect("terms");
    assert_eq!(terms.len(), 3);
    assert!(found.worth.expect("a return").mean < 0.0);
    let without = |term: &str| {
        let found = terms.iter().find(|t| t.term.contains(term));
        found.expect("a term").return_without
    };
    assert!(without("0.5*m0") < without("0.05*m1"), "{terms:?}");
}

#[test]
fn a_field_that_is_not_linear_is_not_proved() {
    let found = analysed(&Ring::new(0.05, 0.1), LAW);
    assert!(found.proved_set.is_none());
    let reason = found.not_proved.expect("a reason");
    assert!(reason.contains("out of reach in 24 dimensions"), "{reason}");
    assert!(
        found
            .equilibrium
            .is_some_and(|e| e.stability == Stability::Stable)
    );
    // Without control it grows until y³ stops it: another equilibrium, which is not 0.
    let found = analysed(&Ring::new(0.05, 0.1), "a0 = 0*m0; a1 = 0*m1");
    let rest = found.equilibrium.expect("an equilibrium");
    assert!((rest.amplitude() - 0.5f64.sqrt()).abs() < 1e-9);
    assert_eq!(rest.stability, Stability::Stable);
}

#[test]
fn a_field_that_diverges_is_said_to() {
    let found = analysed(&Ring::new(0.2, 0.0), LAW);
    assert!(matches!(found.behaviour, Behaviour::Diverges { .. }));
    assert_eq!(found.gain_margin, None);
    let rest = found.equilibrium.expect("0 stays an equilibrium");
    assert_eq!(rest.stability, Stability::Unstable);
    assert!(found.not_proved.is_some_and(|r| r.contains("not stable")));
}

/// Every part can be stopped.
#[test]
fn every_part_can_be_stopped() {
    for part in [
        "settling: actions",
        "gain margin: gains",
        "delay: steps",
        "parameters: values",
        "random starts",
        "proving: matrices",
        "robustness: policies",
    ] {
        let observer = |event: Event| match event {
            Event::Began { task, .. } if task == part => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        let stopped = settings(LAW).run_in(&Ring::new(0.01, 0.0), &observer);
        assert!(matches!(stopped, Err(Error::Stopped { .. })), "{part}");
    }
}
