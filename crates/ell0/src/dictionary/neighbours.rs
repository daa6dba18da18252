//! Laws that are one change away from another, by least squares on the same rows.

use super::{Problem, Statistics, support::Fitted};
use crate::error::{Error, Result};

/// A law one change away: a term dropped, added, or put in another's place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbour {
    /// The term that goes, if one does.
    pub dropped: Option<usize>,
    /// The term that comes, if one does.
    pub added: Option<usize>,
    /// The mean squared error of the law after it.
    pub error: f64,
}

/// All laws one change away from that with these terms. Terms that say what others say already can neither come nor go.
pub fn neighbours(
    statistics: &Statistics,
    target: usize,
    support: &[usize],
) -> Result<Vec<Neighbour>> {
    let problem = Problem::new(statistics, &[target])?;
    if let Some(j) = support.iter().find(|j| **j >= problem.p) {
        return Err(Error::parameter("support", j, "there are fewer features"));
    }
    problem.require_rows(support.len())?;
    let moves = Fitted::new(&problem, support).moves();
    let neighbours = moves.into_iter().map(|change| Neighbour {
        dropped: change.drop,
        added: change.add,
        error: change.error.max(0.0),
    });
    Ok(neighbours.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        dictionary::{Path, PathConfig},
        rng::Stream,
    };

    /// Every foretold error is that of a fit with those terms.
    #[test]
    fn errors_are_those_of_real_fits() {
        let (rows, terms) = (50, 5);
        let mut rng = Stream::new(3).at(0);
        let phi: Vec<f64> = (0..rows * terms).map(|_| rng.normal()).collect();
        let y: Vec<f64> = (0..rows)
            .map(|k| 2.0 * phi[k] - phi[rows + k] + rng.normal())
            .collect();
        let names = (0..terms).map(|j| format!("f{j}")).collect();
        let mut statistics = Statistics::new(names, vec!["y".into()]).unwrap();
        statistics.push(&phi, &y, rows).unwrap();
        let support = vec![0, 1, 3];
        let found = neighbours(&statistics, 0, &support).unwrap();
        // Three drops, two additions, six exchanges.
        assert_eq!(found.len(), 11);
        for change in found {
            let mut other = support.clone();
            other.retain(|j| Some(*j) != change.dropped);
            other.extend(change.added);
            other.sort_unstable();
            let config = PathConfig::default();
            let path = Path::of_supports(&statistics, &[0], &[], &config, vec![other]).unwrap();
            let error = path.lines().last().unwrap().train_error;
            assert!((error - change.error).abs() < 1e-12 * error, "{change:?}");
        }
        assert!(neighbours(&statistics, 0, &[9]).is_err());
    }
}
