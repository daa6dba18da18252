//! `ell0 tutorial`: the experiments of the paper, one after the other.

mod figures;
mod models;
mod pde;
mod policy;
mod whole;

use clap::{Args, Subcommand};
use ell0_run::Task;

use self::{figures::Figures, models::Options, pde::PdeOptions, policy::Policy, whole::Whole};

/// Everything that the method does, on one page: figures, models, policies, analysis
///
/// Without a further word, all stages one after the other, with a plan first; what is finished is not done again. Each stage is also a command of its own.
///
/// The models are those of section 4.1 of Botteghi and Fasel, "Sparsifying parametric models with L0 regularization": a network, a network with gates, and dictionaries of polynomial and Fourier terms, trained on 1000 episodes of a random
/// policy and tested on 100 others; beside them the same dictionaries by the exact method.
#[derive(Args)]
pub struct Tutorial {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    whole: Whole,
}

#[derive(Subcommand)]
enum What {
    /// The observation after a step
    Dynamics(Options),
    /// The reward of a step
    Reward(Options),
    /// Control: a network and three dictionaries learn to swing the pendulum up
    Policy(Policy),
    /// Laws that control fields: the Kuramoto–Sivashinsky equation, and convection with diffusion and reaction
    Pde(PdeOptions),
    /// The explanatory figures: penalties, gates, their densities and gradients, and gates that close
    Figures(Figures),
}

impl What {
    fn name(&self) -> &'static str {
        match self {
            What::Dynamics(_) => "dynamics",
            What::Reward(_) => "reward",
            What::Policy(_) => "policy",
            What::Pde(_) => "pde",
            What::Figures(_) => "figures",
        }
    }
}

impl Tutorial {
    pub fn run(&self) -> anyhow::Result<()> {
        match &self.what {
            None => self.whole.run(),
            Some(what) if self.whole.is_given() => Err(clap::Error::raw(
                clap::error::ErrorKind::ArgumentConflict,
                format!(
                    "options stand after the stage: `ell0 tutorial {} --quick`\n",
                    what.name()
                ),
            )
            .into()),
            Some(What::Dynamics(options)) => options.run(Task::Dynamics),
            Some(What::Reward(options)) => options.run(Task::Reward),
            Some(What::Policy(policy)) => policy.run(),
            Some(What::Pde(pde)) => pde.run(),
            Some(What::Figures(figures)) => figures.run(),
        }
    }
}
