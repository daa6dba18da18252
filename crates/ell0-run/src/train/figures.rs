//! The figures of a training: returns over the episodes, and return against terms.

use ell0_control::agent::EpisodeRecord;
use ell0_plot::{Axis, Chart, Figure, Series};

use super::{AgentResult, MetricLine, TrainingRun};

/// The result of a job and its episodes.
struct Curve<'a> {
    row: &'a AgentResult,
    episodes: Vec<&'a EpisodeRecord>,
}

impl TrainingRun {
    fn curves(&self) -> Vec<Curve<'_>> {
        let rows = self.results.iter().flatten().zip(&self.policies);
        rows.map(|(row, policy)| {
            let lines = self.metrics.iter().filter(|line| line.run == policy.name);
            Curve {
                row,
                episodes: lines.map(|line: &MetricLine| &line.record).collect(),
            }
        })
        .collect()
    }

    /// What the agents have in common: their policy, if it is the same, or that they are policies.
    fn title(&self) -> &str {
        let mut policies = self.settings.agents.iter().map(|a| &a.training.policy);
        match policies.next() {
            Some(first) if policies.all(|p| p == first) => first,
            _ if self.settings.command == "train" => "policies",
            _ => "Policies",
        }
    }

    /// Training and evaluation return over the episodes: a line for each seed of one agent, the mean over the seeds of several.
    #[must_use]
    pub fn returns_figure(&self) -> Figure {
        figure(self.title(), &self.curves())
    }

    /// Return against the number of terms.
    #[must_use]
    pub fn frontier_figure(&self) -> Figure {
        frontier(&self.curves())
    }
}

/// Mean over the jobs of each agent: what to call it, and its jobs.
fn by_agent<'a>(done: &'a [Curve<'a>]) -> Vec<(String, Vec<&'a Curve<'a>>)> {
    let mut agents: Vec<(String, Vec<&Curve>)> = Vec::new();
    for d in done {
        match agents.iter_mut().find(|a| a.0 == d.row.agent) {
            Some(agent) => agent.1.push(d),
            None => agents.push((d.row.agent.clone(), vec![d])),
        }
    }
    agents
}

/// Training and evaluation return over the episodes: a line for each seed of one agent, the mean over the seeds of several.
fn figure(title: &str, done: &[Curve]) -> Figure {
    let agents = by_agent(done);
    let curve = |jobs: &[&Curve], value: &dyn Fn(&EpisodeRecord) -> Option<f64>| {
        let longest = jobs.iter().map(|d| d.episodes.len()).max().unwrap_or(0);
        let mean = |k: usize| {
            let values: Vec<f64> = jobs
                .iter()
                .filter_map(|d| value(d.episodes.get(k)?))
                .collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        (0..longest)
            .filter_map(|k| Some((k as f64 + 1.0, mean(k)?)))
            .collect::<Vec<_>>()
    };
    let lines: Vec<(String, Vec<&Curve>)> = if agents.len() > 1 {
        agents
    } else {
        done.iter()
            .map(|d| (format!("seed {}", d.row.seed), vec![d]))
            .collect()
    };
    let chart = |name: &str| Chart::new(name, Axis::linear("episode"), Axis::linear("return"));
    let mut training = chart(&format!("{title}: training, mean of ten episodes"));
    let mut evaluation = chart(&format!("{title}: evaluation"));
    for (name, jobs) in &lines {
        let points = curve(jobs, &|e| Some(e.training_return));
        let smooth = points.iter().enumerate().map(|(k, point)| {
            let window = &points[(k + 1).saturating_sub(10)..=k];
            let mean = window.iter().map(|p| p.1).sum::<f64>() / window.len() as f64;
            (point.0, mean)
        });
        training = training.with(Series::line(name, smooth));
        evaluation = evaluation.with(Series::dotted(name, curve(jobs, &|e| e.evaluation_return)));
    }
    Figure::new(vec![training, evaluation])
        .with_columns(1)
        .with_size(720.0, 320.0)
}

/// Return against the number of terms.
fn frontier(done: &[Curve]) -> Figure {
    let mut chart = Chart::new(
        "Return against number of terms",
        Axis::linear("terms"),
        Axis::linear("mean return"),
    );
    let mut policies: Vec<&str> = done.iter().map(|d| d.row.policy.as_str()).collect();
    policies.dedup();
    for policy in policies {
        let of = done.iter().filter(|d| d.row.policy == policy);
        let points = of.filter_map(|d| Some((d.row.terms? as f64, d.row.return_mean)));
        chart = chart.with(Series::dots(policy, points));
    }
    Figure::new(vec![chart]).with_size(720.0, 380.0)
}
