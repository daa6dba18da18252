//! Probabilities of terms against the truth.

use super::*;

/// Reported probability against the share of true terms, over random designs.
pub(super) fn reliability(designs: u64, correlated: bool) -> Vec<(f64, f64, usize)> {
    let edges = [0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0 + 1e-12];
    let mut bins = vec![(0.0, 0.0, 0usize); edges.len() - 1];
    for design in 0..designs {
        let mut rng = Stream::new(77).split("reliability").at(design);
        let p = 20;
        let terms = (0..p).filter(|_| rng.uniform() < 0.2).count();
        let (problem, truth) = if correlated {
            random_problem(&mut rng, p, 100, terms, 1.5)
        } else {
            independent_problem(&mut rng, p, 100, terms, 1.5)
        };
        let probabilities = inclusion_probabilities(&problem, 0.2, &Stream::new(design)).unwrap();
        for (j, &probability) in probabilities.iter().enumerate() {
            let bin = edges[1..].iter().position(|&e| probability < e).unwrap();
            bins[bin].0 += probability;
            bins[bin].1 += f64::from(truth.contains(&j));
            bins[bin].2 += 1;
        }
    }
    bins.iter()
        .map(|&(p, t, n)| (p / n.max(1) as f64, t / n.max(1) as f64, n))
        .collect()
}

fn independent_problem(
    rng: &mut Generator,
    p: usize,
    rows: usize,
    terms: usize,
    noise: f64,
) -> (Problem, Vec<usize>) {
    let names: Vec<String> = (0..p).map(|j| format!("f{j}")).collect();
    let features = "polynomial(1, no-bias)"
        .parse::<Library>()
        .unwrap()
        .features(&names)
        .unwrap();
    let x: Vec<f64> = (0..rows * p).map(|_| rng.normal()).collect();
    let mut order: Vec<usize> = (0..p).collect();
    (0..terms).for_each(|k| order.swap(k, k + rng.index(p - k)));
    let mut truth = order[..terms].to_vec();
    truth.sort_unstable();
    let w: Vec<f64> = truth.iter().map(|_| rng.normal()).collect();
    let y: Vec<f64> = (0..rows)
        .map(|r| {
            truth
                .iter()
                .zip(&w)
                .map(|(j, w)| w * x[j * rows + r])
                .sum::<f64>()
                + noise * rng.normal()
        })
        .collect();
    let mut accumulator = Accumulator::new(features, vec!["y".into()]).unwrap();
    accumulator.push(&x, &y, None, rows).unwrap();
    (Problem::new(&accumulator.finish(), &[0]).unwrap(), truth)
}

/// In every bin the share of true terms is within three standard errors, and three hundredths, of the reported probability; for independent
/// columns and for near-copies. `cargo test -p ell0 calibrated -- --nocapture` prints the table of the documentation.
#[test]
fn inclusion_probabilities_are_calibrated() {
    for correlated in [false, true] {
        println!("correlated: {correlated}\n| reported | true | terms |\n| --- | --- | --- |");
        for (reported, share, count) in reliability(200, correlated) {
            println!("| {reported:.3} | {share:.3} | {count} |");
            let error = (reported * (1.0 - reported) / count.max(1) as f64).sqrt();
            assert!(
                (share - reported).abs() < 3.0 * error + 0.03,
                "{reported} {share} {count}"
            );
        }
    }
}

#[test]
fn the_scale_of_weights_does_not_matter() {
    let mut rng = Stream::new(5).at(0);
    let rows = 60;
    let x: Vec<f64> = (0..3 * rows).map(|_| rng.normal()).collect();
    let y: Vec<f64> = (0..rows).map(|r| x[r] + rng.normal()).collect();
    let probabilities = |weight: f64| {
        let features = "polynomial(1, no-bias)"
            .parse::<Library>()
            .unwrap()
            .features(&["a", "b", "c"])
            .unwrap();
        let mut accumulator = Accumulator::new(features, vec!["y".into()]).unwrap();
        accumulator
            .push(&x, &y, Some(&vec![weight; rows]), rows)
            .unwrap();
        let stats = accumulator.finish();
        assert!((stats.effective_rows() - rows as f64).abs() < 1e-9);
        let bic = Path::new(&stats, &[0], &[], &PathConfig::default())
            .unwrap()
            .choose(Rule::Bic)
            .unwrap()
            .terms;
        (
            inclusion_probabilities(&Problem::new(&stats, &[0]).unwrap(), 0.1, &Stream::new(0))
                .unwrap(),
            bic,
        )
    };
    let (one, hundred, little) = (
        probabilities(1.0),
        probabilities(100.0),
        probabilities(1.0 / 60.0),
    );
    for other in [hundred, little] {
        assert_eq!(one.1, other.1);
        assert!(
            one.0
                .iter()
                .zip(&other.0)
                .all(|(a, b)| (a - b).abs() < 1e-6),
            "{:?} {:?}",
            one.0,
            other.0
        );
    }
}
