//! Searches against enumeration.

use super::*;

/// Smallest error + price·terms over all supports, by brute force; for more than a dozen terms see [`enumerate_all`].
fn enumerate(problem: &Problem, price: f64) -> f64 {
    let p = problem.features();
    (0..1usize << p)
        .map(|mask| {
            let support: Vec<usize> = (0..p).filter(|j| mask >> j & 1 == 1).collect();
            Fitted::new(problem, &support).error() + price * support.len() as f64
        })
        .fold(f64::INFINITY, f64::min)
}

proptest! {
    #![proptest_config(proptest_config(24))]

    /// Adding, dropping and swapping promise what a fresh fit delivers.
    #[test]
    fn moves_keep_their_promise(seed: u64, p in 3..14usize) {
        let mut rng = Stream::new(seed).at(0);
        let (problem, _) = random_problem(&mut rng, p, 60, 2, 0.3);
        let support: Vec<usize> = (0..p).filter(|_| rng.uniform() < 0.4).collect();
        let fitted = Fitted::new(&problem, &support);
        for change in [fitted.best_add(), fitted.best_drop(), fitted.best_swap()].into_iter().flatten() {
            let after = Fitted::new(&problem, &fitted.moved(change));
            prop_assert!((after.error() - change.error).abs() < 1e-9 * problem.energy(), "{:?}", change);
        }
        // And the coefficients are the least-squares solution: the error agrees.
        prop_assert!((problem.error(&fitted.coefficients()) - fitted.error()).abs() < 1e-9 * problem.energy());
    }

    /// Branch and bound ends at the optimum that enumeration finds, proved.
    #[test]
    fn branch_and_bound_finds_the_optimum(seed: u64, p in 2..12usize, terms in 1..4usize, exponent in -4.0..-0.5f64) {
        let mut rng = Stream::new(seed).at(0);
        let (problem, _) = random_problem(&mut rng, p, 50, terms.min(p), 0.5);
        let price = problem.energy() * 10f64.powf(exponent);
        let best = branch_and_bound(&problem, price, p, 100_000).unwrap();
        prop_assert!(best.proved && best.gap() == 0.0);
        let want = enumerate(&problem, price);
        prop_assert!((best.objective - want).abs() < 1e-10 * problem.energy(), "{} {}", best.objective, want);
        // Polishing only walks downhill: it ends at the optimum or above, and below where it began.
        let polished = polish(&problem, &[], price, p);
        let objective = polished.error() + price * polished.len() as f64;
        let room = 1e-10 * problem.energy();
        prop_assert!(want - room <= objective && objective <= problem.energy() + room, "{} {}", objective, want);
    }

    /// The exact trainer's objective is what the closed form says of its gates and weights, and no worse than the best support's.
    #[test]
    fn exact_ends_at_what_it_says(seed: u64, p in 2..12usize, exponent in -4.0..-0.5f64) {
        let mut rng = Stream::new(seed).at(0);
        let (problem, _) = random_problem(&mut rng, p, 50, 2.min(p), 0.5);
        let price = problem.energy() * 10f64.powf(exponent);
        let gate = HardConcrete::default();
        let gated = train_exact(&problem, &gate, price).unwrap();
        let closed = expected_objective(&problem, &gate, price, &gated.log_alpha, &gated.weights).unwrap();
        prop_assert!((gated.objective - closed).abs() < 1e-9 * problem.energy(), "{} {}", gated.objective, closed);
        // Gates that are nearly open cost next to nothing more than binary ones.
        let polished = polish(&problem, &[], price, p);
        let binary = polished.error() + price * polished.len() as f64;
        prop_assert!(gated.objective <= binary + 1e-5 * problem.energy(), "{} {}", gated.objective, binary);
    }
}

/// Smallest error + price·terms over all supports, by depth-first enumeration with one Gram–Schmidt step a node: independent of the code under test, and fast
/// enough for 2²⁰ supports.
fn enumerate_all(problem: &Problem, price: f64) -> f64 {
    fn descend(columns: &[Vec<f64>], y: &[f64], paid: f64, price: f64, best: &mut f64) {
        *best = best.min(y.iter().map(|y| y * y).sum::<f64>() + paid);
        for j in 0..columns.len() {
            let norm = columns[j].iter().map(|v| v * v).sum::<f64>().sqrt();
            if norm < 1e-9 {
                continue;
            }
            let q: Vec<f64> = columns[j].iter().map(|v| v / norm).collect();
            let project = |c: &[f64]| -> Vec<f64> {
                let along: f64 = c.iter().zip(&q).map(|(c, q)| c * q).sum();
                c.iter().zip(&q).map(|(c, q)| c - along * q).collect()
            };
            let rest: Vec<Vec<f64>> = columns[j + 1..].iter().map(|c| project(c)).collect();
            descend(&rest, &project(y), paid + price, price, best);
        }
    }
    let columns: Vec<Vec<f64>> = (0..problem.p).map(|j| problem.column(j).to_vec()).collect();
    let mut best = f64::INFINITY;
    descend(&columns, &problem.y, problem.rest, price, &mut best);
    best
}

#[test]
fn twenty_collinear_terms_are_searched_to_the_optimum() {
    for (seed, p) in [(1, 20), (2, 17), (3, 14), (4, 13), (5, 15)] {
        let mut rng = Stream::new(seed).split("optimum").at(0);
        let (problem, _) = random_problem(&mut rng, p, 80, 4, 1.0);
        let price = problem.energy() * 3e-3;
        let best = branch_and_bound(&problem, price, p, 1_000_000).unwrap();
        let want = enumerate_all(&problem, price);
        assert!(best.proved);
        assert!(
            (best.objective - want).abs() < 1e-10 * problem.energy(),
            "{} {want}",
            best.objective
        );
    }
}

#[test]
fn a_search_that_is_cut_short_reports_its_gap() {
    let mut rng = Stream::new(8).at(0);
    let (problem, _) = random_problem(&mut rng, 18, 40, 6, 2.0);
    let price = problem.energy() * 1e-3;
    let whole = branch_and_bound(&problem, price, 18, 1_000_000).unwrap();
    let cut = branch_and_bound(&problem, price, 18, 3).unwrap();
    assert!(whole.proved && !cut.proved && cut.gap() > 0.0);
    assert!(cut.bound <= whole.objective && whole.objective <= cut.objective);
}

/// Columns that are exact small-integer combinations of a few others: any of several supports may be best, and a column without a coefficient may stand in for
/// one that has one.
fn combined_problem(rng: &mut Generator, p: usize) -> Problem {
    let (rows, base) = (40, 3 + rng.index(3));
    let names: Vec<String> = (0..p).map(|j| format!("f{j}")).collect();
    let features = "polynomial(1, no-bias)"
        .parse::<Library>()
        .unwrap()
        .features(&names)
        .unwrap();
    let mut x = vec![0.0; rows * p];
    for j in 0..p {
        let mix: Vec<f64> = (0..base).map(|_| rng.index(3) as f64 - 1.0).collect();
        for row in 0..rows {
            x[j * rows + row] = if j < base {
                rng.normal()
            } else {
                (0..base).map(|b| mix[b] * x[b * rows + row]).sum()
            };
        }
    }
    let order: Vec<usize> = (0..3).map(|_| rng.index(p)).collect();
    let y: Vec<f64> = (0..rows)
        .map(|r| order.iter().map(|j| x[j * rows + r]).sum::<f64>() + 0.05 * rng.normal())
        .collect();
    let mut accumulator = Accumulator::new(features, vec!["y".into()]).unwrap();
    accumulator.push(&x, &y, None, rows).unwrap();
    Problem::new(&accumulator.finish(), &[0]).unwrap()
}

#[test]
fn exactly_collinear_terms_are_searched_to_the_optimum() {
    for design in 0..300 {
        let mut rng = Stream::new(21).split("combined").at(design);
        let problem = combined_problem(&mut rng, 9);
        for price in [0.003, 0.1] {
            let price = price * problem.energy().min(1.0);
            let best = branch_and_bound(&problem, price, 9, 100_000).unwrap();
            let want = enumerate_all(&problem, price);
            assert!(
                best.proved && best.objective <= want + 1e-9 * problem.energy(),
                "{design}: {} {want}",
                best.objective
            );
        }
    }
}

proptest! {
    #![proptest_config(proptest_config(48))]

    /// After any moves a fit is what a fresh factorisation of the same terms is: errors, coefficients, and what every further move would do.
    #[test]
    fn updated_fits_are_fresh_fits(seed: u64, p in 2..30usize, moves in 1..120usize) {
        let mut rng = Stream::new(seed).at(0);
        // Half of the designs have columns that are exact combinations of others.
        let problem = match rng.index(2) {
            0 => random_problem(&mut rng, p, 80, 2, 0.3).0,
            _ => combined_problem(&mut rng, p.max(6)),
        };
        let p = problem.features();
        let mut fitted = Fitted::new(&problem, &[]);
        for _ in 0..moves {
            let term = rng.index(p);
            if fitted.support.contains(&term) {
                fitted.drop(term);
            } else {
                fitted.add(term);
            }
        }
        let fresh = Fitted::new(&problem, &fitted.support);
        prop_assert_eq!(&fresh.support, &fitted.support);
        prop_assert_eq!(&fresh.others, &fitted.others);
        let energy = problem.energy();
        prop_assert!((fresh.error() - fitted.error()).abs() < 1e-12 * energy);
        let near = |a: &[f64], b: &[f64], room: f64| a.iter().zip(b).all(|(a, b)| (a - b).abs() < room);
        prop_assert!(near(&fresh.coefficients(), &fitted.coefficients(), 1e-8 * energy.sqrt()));
        prop_assert!(near(&fresh.drop_costs(), &fitted.drop_costs(), 1e-10 * energy));
        for &other in &fresh.others {
            let (a, b) = (fresh.addition(other), fitted.addition(other));
            prop_assert!((a.1 - b.1).abs() < 1e-12, "{:?} {:?}", a, b);
            prop_assert!(a.1 < 1e-6 || (a.0 - b.0).abs() < 1e-8 * energy, "{:?} {:?}", a, b);
        }
        // The same least squares without the other columns, to the last bit.
        let alone = refit(&problem, &fitted.support);
        prop_assert_eq!(alone.error, fresh.error());
        prop_assert_eq!(alone.coefficients, fresh.coefficients());
        // Going elsewhere and back is no change.
        let wanted = fitted.support.clone();
        fitted.go_to(&[0]);
        fitted.go_to(&wanted);
        prop_assert!((fresh.error() - fitted.error()).abs() < 1e-12 * energy);
        if let Some(change) = fitted.best_swap() {
            let before = fitted.error();
            fitted.make(change);
            fitted.take_back(change);
            prop_assert!((before - fitted.error()).abs() < 1e-12 * energy);
        }
    }
}
