//! Fields and actions over space and time.

use ell0_control::{
    environment::{Environment, Start, make},
    policy::{LawPolicy, Policy},
    rollout::{Trajectory, rollout},
};
use ell0_plot::{Axis, Chart, Field, Figure};

use super::{PdeProblem, PdeRun, measured::by_hand};
use crate::{error::Result, train::TrainedPolicy};

/// Actions of a picture: what comes after is calm, or as before.
const MOST_STEPS: usize = 300;

/// The field without control, with the network, with the law that all actuators share, and what that law does, at parameters that were not trained on.
pub(super) fn figure(run: &PdeRun, problem: PdeProblem) -> Result<Figure> {
    let world = make(&problem.world(&run.settings, false))?;
    let start = start(problem, world.as_ref());
    let (seen, chosen) = (world.observation_space(), world.action_space());
    let still = by_hand(problem, "0*m#", world.as_ref())?;
    let still = LawPolicy::new(&still, seen, chosen)?;
    let trained = |agent: &str| -> Option<&TrainedPolicy> {
        let training = run.trainings.iter().find(|t| t.0 == problem.name())?;
        let begins = format!("{agent}-seed");
        let mut policies = training.1.policies.iter();
        policies.find(|p| p.name.starts_with(&begins))
    };
    let mut shown: Vec<(String, &dyn Policy)> = vec![("without control".into(), &still)];
    for (agent, title) in [("network", "network"), ("tied", "law of all actuators")] {
        if let Some(policy) = trained(agent) {
            shown.push((title.into(), &policy.actor));
        }
    }
    let paths = shown
        .iter()
        .map(|(_, policy)| Ok(rollout(world.as_ref(), *policy, &start)?))
        .collect::<Result<Vec<Trajectory>>>()?;
    let points = points(world.as_ref());
    // The same colours for all fields; what grows without control may leave them.
    let controlled = paths.iter().skip(1).chain(paths.iter().take(1));
    let first = |path: &Trajectory| {
        let steps = path.steps().min(MOST_STEPS);
        let values = path.states[..points].iter().flat_map(|c| &c[..steps]);
        values.fold(0f64, |m, v| m.max(v.abs()))
    };
    let largest = controlled.map(first).next().unwrap_or(1.0).max(1e-9);
    let mut charts = Vec::new();
    let step = problem.step();
    for ((title, _), path) in shown.iter().zip(&paths) {
        let columns = &path.states[..points];
        let title = format!("{title}: return {:.2}", path.total());
        charts.push(picture(&title, columns, step, largest, "u")?);
    }
    if let Some(path) = paths.last() {
        let largest = world.action_space().high(0);
        charts.push(picture("its actions", &path.actions, step, largest, "a")?);
    }
    Ok(Figure::new(charts).with_columns(2).with_size(460.0, 260.0))
}

/// Where the pictures begin: little forcing, which leaves the field chaotic; the published example beyond training.
fn start(problem: PdeProblem, world: &dyn Environment) -> Start {
    let grid = world.evaluation_grid();
    let of = |name: &str| grid.iter().find(|s| s.name == name);
    let found = match problem {
        PdeProblem::Ks => of("interpolation").and_then(|s| s.starts.first()),
        PdeProblem::Cdr => of("extrapolation").and_then(|s| s.starts.first()),
    };
    found.cloned().unwrap_or(Start::Seed(0))
}

/// Points of the field: the states that are no parameters.
fn points(world: &dyn Environment) -> usize {
    let names = world.state_names();
    let is_point = |name: &String| name.starts_with('u') && name[1..].parse::<usize>().is_ok();
    names.iter().take_while(|name| is_point(name)).count()
}

fn picture(
    title: &str,
    columns: &[Vec<f64>],
    step: f64,
    largest: f64,
    label: &str,
) -> Result<Chart> {
    let steps = columns.first().map_or(0, Vec::len).min(MOST_STEPS);
    let rows = columns.len();
    let times = (0.0, step * steps as f64);
    let (places, axis) = match label {
        "u" => ((0.0, 1.0), Axis::linear("place on the ring")),
        _ => ((0.5, rows as f64 + 0.5), Axis::linear("actuator")),
    };
    let field = Field::from_fn((rows, steps), times, places, |row, column| {
        columns[row][column]
    })?
    .with_range(-largest, largest)
    .with_label(label);
    Ok(Chart::new(title, Axis::linear("time"), axis).with_field(field))
}
