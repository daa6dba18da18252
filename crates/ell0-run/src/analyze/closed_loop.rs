//! A policy in its loop.

use ell0::equation::Model;
use ell0_control::{
    analysis::{
        Basin, Equilibrium, Matrix, Plant, ProvedRegion, Pulse, Robustness, Stability, TermEffect,
        equilibria, gain_margin, proved_region, tolerated_delay,
    },
    environment::Environment,
    evaluation::{Return, evaluate},
    policy::LawPolicy,
};
use serde::{Deserialize, Serialize};

use super::{
    Analysis, Analyzed, Findings,
    basin::{BasinReport, LimitsReport, ProofSettings, UncertainReport, uncertain_loop},
    portrait,
};
use crate::{
    error::Result,
    observer::{Observer, Task, seconds_since},
};

/// Points of the basin along each state.
const POINTS: usize = 121;

/// Initial states that robustness is measured on, about.
const ROBUSTNESS_STARTS: usize = 500;

/// The share by which the return may change before a parameter is out of its range.
const SHARE: f64 = 0.1;

/// What was found of a policy in its loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoopAnalysis {
    /// The policy, with all digits.
    pub policy: String,
    /// The world; none for a learned transition model.
    pub environment: Option<String>,
    /// Names of the states.
    pub states: Vec<String>,
    /// The equilibria, the stable ones first, the nearest to 0 first.
    pub equilibria: Vec<EquilibriumReport>,
    /// Whether there are more than could be listed: they are not isolated.
    pub more_equilibria: bool,
    /// Factors of the action that keep the first equilibrium stable.
    pub gain_margin: Option<[f64; 2]>,
    /// Steps that actions may come late.
    pub tolerated_delay: Option<usize>,
    /// Mean return, where there is one.
    #[serde(rename = "return")]
    pub worth: Option<ReturnReport>,
    /// Why there is no return, if there should be one.
    pub return_error: Option<String>,
    /// Where stability is proved.
    pub proved_region: Option<RegionReport>,
    /// Why it is not, if it is not.
    pub not_proved: Option<String>,
    /// From where every trajectory is proved to reach that region.
    pub proved_basin: Option<BasinReport>,
    /// Why nothing is, if it was asked for.
    pub no_basin: Option<String>,
    /// What both proofs hold for all values of.
    pub uncertain: Vec<UncertainReport>,
    /// Whether they hold for observations that are rounded to single precision.
    pub rounding: bool,
    /// What trajectories keep to.
    pub limits: Option<LimitsReport>,
    /// How far each parameter of the world may go.
    pub parameters: Option<Vec<ParameterReport>>,
    /// What each term does.
    pub terms: Option<Vec<TermReport>>,
    /// Initial states that parameters and terms were measured on.
    pub robustness_starts: Option<usize>,
    /// How long it took, by the observer's clock.
    pub seconds: f64,
}

impl LoopAnalysis {
    /// Whether proofs are of more than one loop.
    #[must_use]
    pub fn is_uncertain(&self) -> bool {
        self.rounding || !self.uncertain.is_empty()
    }
}

/// A state that the loop does not leave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EquilibriumReport {
    /// Where.
    pub state: Vec<f64>,
    /// Eigenvalues of the linearisation, real and imaginary parts.
    pub eigenvalues: Vec<[f64; 2]>,
    /// Whether what is near comes closer.
    pub stable: bool,
    /// Whether the linearisation tells at all.
    pub decided: bool,
    /// Derivatives of the map there.
    pub jacobian: Matrix,
    /// Share of the grid over all states that ends there, of a stable one.
    pub basin_share: Option<f64>,
}

impl EquilibriumReport {
    /// What the linearisation tells.
    #[must_use]
    pub fn stability(&self) -> Stability {
        match (self.decided, self.stable) {
            (false, _) => Stability::Undecided,
            (true, true) => Stability::Stable,
            (true, false) => Stability::Unstable,
        }
    }
}

/// A mean return with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReturnReport {
    /// Mean over the initial states.
    pub mean: f64,
    /// Half the width of its 95 % interval.
    pub ci95: f64,
    /// Number of initial states.
    pub episodes: usize,
}

impl From<Return> for ReturnReport {
    fn from(r: Return) -> Self {
        ReturnReport {
            mean: r.mean,
            ci95: r.ci95,
            episodes: r.episodes,
        }
    }
}

/// Where stability is proved: no trajectory from within dᵀPd ≤ level leaves it, and where they [end](Self::ending).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegionReport {
    /// The equilibrium.
    pub equilibrium: Vec<f64>,
    /// The matrix P.
    pub p: Matrix,
    /// The level.
    pub level: f64,
    /// With disturbances: the level that trajectories come to, and stay below; 0 if they go to the equilibrium.
    pub inner_level: f64,
    /// How far the set reaches in each state.
    pub reach: Vec<f64>,
    /// Its volume.
    pub volume: f64,
    /// Boxes of the proof.
    pub boxes: u64,
    /// Half the width of the smallest, relative to the whole set.
    pub smallest_box: f64,
    /// Distance from the equilibrium within which its rounding, and what is uncertain, leave the question open.
    pub inner_radius: f64,
    /// The level that samples would have allowed.
    pub sampled_level: f64,
}

/// Where trajectories from a proved region end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegionEnding {
    /// In the equilibrium; at most its rounding leaves open how near.
    There,
    /// Within the inner radius: what is uncertain moves the equilibrium.
    Near,
    /// In the inner level.
    Inner,
}

impl RegionReport {
    /// Where trajectories end, of a loop with something uncertain or not.
    #[must_use]
    pub fn ending(&self, uncertain: bool) -> RegionEnding {
        if self.inner_level > 0.0 {
            RegionEnding::Inner
        } else if uncertain && self.inner_radius > 0.0 {
            RegionEnding::Near
        } else {
            RegionEnding::There
        }
    }
}

impl From<&ProvedRegion> for RegionReport {
    fn from(r: &ProvedRegion) -> Self {
        RegionReport {
            equilibrium: r.claim.centre.clone(),
            p: r.claim.p.clone(),
            level: r.claim.level,
            inner_level: r.claim.inner,
            reach: r.reach.clone(),
            volume: r.volume,
            boxes: r.boxes,
            smallest_box: r.smallest,
            inner_radius: r.inner_radius,
            sampled_level: r.sampled_level,
        }
    }
}

/// How far a parameter may go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParameterReport {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// The least that it may be.
    pub low: f64,
    /// The most.
    pub high: f64,
}

/// What a term of a policy does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TermReport {
    /// The action whose law it is in.
    pub action: String,
    /// The term, with its coefficient.
    pub term: String,
    /// Change of the mean return for a coefficient larger by 1 %.
    pub return_per_percent: f64,
    /// Mean return without it.
    pub return_without: f64,
}

impl From<TermEffect> for TermReport {
    fn from(t: TermEffect) -> Self {
        TermReport {
            action: t.action,
            term: t.term,
            return_per_percent: t.per_percent,
            return_without: t.dropped,
        }
    }
}

/// What the return tells, where there is one.
struct Worth {
    all: Return,
    starts: usize,
    parameters: Vec<ParameterReport>,
    terms: Vec<TermReport>,
}

fn worth(
    policy: &Model,
    world: &dyn Environment,
    main: Option<&Equilibrium>,
    pulse: Pulse,
) -> Result<Worth> {
    let (observation, action) = (world.observation_space(), world.action_space());
    let law = LawPolicy::new(policy, observation, action)?;
    let all = evaluate(world, &law, &world.evaluation_starts())?;
    let robustness = Robustness::spread(world, ROBUSTNESS_STARTS);
    let terms = robustness.terms(policy, pulse)?;
    let parameters = match main {
        Some(main) => robustness.ranges(policy, &main.state, SHARE, pulse)?,
        None => Vec::new(),
    };
    Ok(Worth {
        all,
        starts: robustness.starts(),
        parameters: parameters
            .into_iter()
            .map(|p| ParameterReport {
                name: p.name,
                value: p.value,
                low: p.range.low,
                high: p.range.high,
            })
            .collect(),
        terms: terms.into_iter().map(TermReport::from).collect(),
    })
}

/// Analyses a policy in the loop with a plant; with the world that the plant is of, the return and what it bears, too.
pub fn analyze_loop(
    policy: &Model,
    plant: &Plant,
    world: Option<&dyn Environment>,
    proof: &ProofSettings,
    observer: &dyn Observer,
) -> Result<Analyzed> {
    let began = observer.now();
    proof.check()?;
    let map = plant.closed(policy, 1.0)?;
    // Equilibria and margins are those of the plant as it is thought to be, proofs those of all that it may be.
    let (proved_plant, proved_map) = uncertain_loop(policy, plant, world, proof)?;
    let limits = proof.limits(&proved_plant, &proved_map, observer)?;
    let searching = Task::begin(observer, "equilibria", None);
    let found = equilibria(plant, &map, &|| searching.beat());
    searching.end()?;
    // What the loop is for: the stable equilibrium nearest to 0.
    let main = found.first().filter(|e| e.is_stable());
    let (mut margin, mut delay) = (None, None);
    let mut region = Err("there is no stable equilibrium".to_string());
    if let Some(main) = main {
        margin = gain_margin(plant, policy, main)?;
        delay = tolerated_delay(plant, policy, main)?;
        let proving = Task::begin(observer, "proving: boxes", None);
        let proved = proved_region(plant, &proved_map, main, &|| proving.beat());
        proving.end()?;
        region = proved.map_err(|reason| reason.to_string());
    }
    let arrival = match &region {
        Ok(region) if proof.seconds > 0.0 => {
            let claim = &region.claim;
            Some(proof.arrival(&proved_plant, &proved_map, claim, observer)?)
        }
        _ => None,
    };
    let (arrival, no_basin) = match arrival {
        None => (None, None),
        Some(Ok(arrival)) => (Some(arrival), None),
        Some(Err(reason)) => (None, Some(reason)),
    };
    let cells = (POINTS * POINTS) as u64;
    let following = Task::begin(observer, "basins: starts", Some(cells));
    let basin = Basin::new(plant, &map, &found, POINTS, &|| following.beat());
    following.end()?;
    let measuring = Task::begin(observer, "robustness: policies", None);
    // A policy that fails somewhere still has equilibria.
    let worth = world.map(|world| {
        worth(policy, world, main, &|| measuring.beat())
            .map_err(|e| format!("the policy fails in the environment: {e}"))
    });
    measuring.end()?;
    let (worth, return_error) = match worth {
        None => (None, None),
        Some(Ok(worth)) => (Some(worth), None),
        Some(Err(error)) => (None, Some(error)),
    };
    let proved = portrait::Proved {
        region: region.as_ref().ok(),
        basin: arrival.as_ref().map(|a| &a.basin),
    };
    let portrait = portrait::figure(plant, &map, &found, &basin, &proved);
    let report = |(k, e): (usize, &Equilibrium)| EquilibriumReport {
        state: e.state.clone(),
        eigenvalues: e.eigenvalues.iter().map(|z| [z.re, z.im]).collect(),
        stable: e.is_stable(),
        decided: e.stability != Stability::Undecided,
        jacobian: e.jacobian.clone(),
        basin_share: e.is_stable().then(|| basin.share(k)),
    };
    // The rounding of each observation comes last, and is said in other words.
    let rounded = usize::from(proof.rounding) * plant.observations().len();
    let named = proved_map.uncertain();
    let named = &named[..named.len() - rounded];
    let findings = LoopAnalysis {
        policy: policy.text(17),
        environment: world.map(|w| w.text()),
        states: plant.states().iter().map(|s| s.name.clone()).collect(),
        equilibria: found.iter().enumerate().map(report).collect(),
        more_equilibria: found.len() >= ell0_control::analysis::MOST_EQUILIBRIA,
        gain_margin: margin.map(|m| [m.low, m.high]),
        tolerated_delay: delay,
        worth: worth.as_ref().map(|w| w.all.into()),
        return_error,
        proved_region: region.as_ref().ok().map(RegionReport::from),
        not_proved: region.as_ref().err().cloned(),
        proved_basin: arrival.as_ref().map(|a| a.report.clone()),
        no_basin,
        uncertain: named.iter().map(Into::into).collect(),
        rounding: proof.rounding,
        limits,
        robustness_starts: worth.as_ref().map(|w| w.starts),
        parameters: worth.as_ref().map(|w| w.parameters.clone()),
        terms: worth.map(|w| w.terms),
        seconds: seconds_since(observer, began),
    };
    Ok(Analyzed {
        analysis: Analysis {
            model: policy.clone(),
            findings: Findings::Loop(findings),
        },
        portrait: Some(portrait),
        certificate: arrival.map(|a| a.certificate),
    })
}
