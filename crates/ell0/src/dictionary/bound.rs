//! Branch and bound over supports: the optimum, with its proof.

use serde::Serialize;

use super::{
    Problem,
    polish::polish,
    support::{Fitted, refit},
};
use crate::error::{Result, require};

/// The best support that was found and how far the true optimum can be below it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Optimum {
    /// The terms, in increasing order.
    pub support: Vec<usize>,
    /// Error plus price·terms.
    pub objective: f64,
    /// No support has an objective below this.
    pub bound: f64,
    /// Whether the search was complete: the support is optimal.
    pub proved: bool,
    /// Nodes of the search tree.
    pub nodes: u64,
}

impl Optimum {
    /// What the true optimum may be better by.
    pub fn gap(&self) -> f64 {
        (self.objective - self.bound).max(0.0)
    }
}

struct Search<'a> {
    problem: &'a Problem,
    price: f64,
    most: usize,
    support: Vec<usize>,
    objective: f64,
    bound: f64,
    slack: f64,
    nodes: u64,
    limit: u64,
}

/// The support with the smallest error + price·terms among those of at most `most` terms, starting from the local search.
///
/// A node fixes some terms as in and some as out. The error of a least-squares fit on everything not out bounds the error of every support of the node from
/// below; how much the error grows if one more term is left out decides which terms must be in, and which to branch on. After `nodes` nodes the search
/// stops and reports the remaining gap.
pub fn branch_and_bound(problem: &Problem, price: f64, most: usize, nodes: u64) -> Result<Optimum> {
    require(
        price >= 0.0 && price.is_finite(),
        "price",
        price,
        "it must be finite and not negative",
    )?;
    let start = polish(problem, &[], price, most);
    let objective = start.error() + price * start.len() as f64;
    let mut search = Search {
        problem,
        price,
        most,
        support: start.support.clone(),
        objective,
        bound: f64::INFINITY,
        // Differences below this are round-off, not better supports.
        slack: 1e-13 * problem.energy(),
        nodes: 0,
        limit: nodes,
    };
    search.node(Vec::new(), (0..problem.p).collect());
    let proved = search.bound == f64::INFINITY;
    let mut support = search.support;
    support.sort_unstable();
    Ok(Optimum {
        support,
        objective: search.objective,
        bound: if proved {
            search.objective
        } else {
            search.bound.min(search.objective)
        },
        proved,
        nodes: search.nodes,
    })
}

impl Search<'_> {
    fn improve(&mut self, fitted: &Fitted) {
        let objective = fitted.error() + self.price * fitted.len() as f64;
        if fitted.len() <= self.most && objective < self.objective {
            self.objective = objective;
            self.support = fitted.support.clone();
        }
    }

    /// How much the error of the fit on `everything` grows if one of its terms is left out, for every feature.
    fn drop_costs(&self, full: &Fitted, everything: &[usize]) -> Vec<f64> {
        let mut costs = vec![0.0; self.problem.p];
        if full.len() == everything.len() {
            full.support
                .iter()
                .zip(full.drop_costs())
                .for_each(|(&j, cost)| costs[j] = cost);
            return costs;
        }
        // Columns that lie in the span of others have no coefficient, but could stand in for one that is left out.
        let error = full.error();
        for &j in &full.support {
            let others: Vec<usize> = everything.iter().copied().filter(|&i| i != j).collect();
            costs[j] = (refit(self.problem, &others).error - error).max(0.0);
        }
        costs
    }

    /// Searches all supports that contain `inside` and lie in `inside` ∪ `free`.
    fn node(&mut self, mut inside: Vec<usize>, mut free: Vec<usize>) {
        loop {
            let fitted = Fitted::new(self.problem, &inside);
            self.improve(&fitted);
            if inside.len() >= self.most || free.is_empty() {
                return;
            }
            if inside.len() + 1 == self.most {
                // One term is left to choose: the best one is known.
                if let Some(change) = fitted.best_add() {
                    self.improve(&Fitted::new(self.problem, &fitted.moved(change)));
                }
                return;
            }
            let everything: Vec<usize> = inside.iter().chain(&free).copied().collect();
            let full = Fitted::new(self.problem, &everything);
            // Any support other than `inside` itself has at least one term more.
            let paid = self.price * (inside.len() + 1) as f64;
            let bound = full.error() + paid;
            if bound >= self.objective - self.slack {
                return;
            }
            self.nodes += 1;
            if self.nodes > self.limit {
                self.bound = self.bound.min(bound);
                return;
            }
            let costs = self.drop_costs(&full, &everything);
            let cost = |j: usize| costs[j];
            let needed: Vec<usize> = free
                .iter()
                .copied()
                .filter(|&j| bound + cost(j) >= self.objective - self.slack)
                .collect();
            if !needed.is_empty() {
                // Without these no better support exists: they are in, and the node is looked at again.
                free.retain(|j| !needed.contains(j));
                inside.extend(needed);
                if inside.len() > self.most {
                    return;
                }
                continue;
            }
            let Some(&branch) = free.iter().max_by(|&&a, &&b| cost(a).total_cmp(&cost(b))) else {
                return;
            };
            free.retain(|&j| j != branch);
            let mut with = inside.clone();
            with.push(branch);
            self.node(with, free.clone());
            // Without it: go on in this node.
        }
    }
}
