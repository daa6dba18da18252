//! Rows of a regression that are far off all others.

use ell0::rng::Stream;
use ell0_data::frame::Frame;
use ell0_run::{DataSettings, Discovery, FitSettings, Silent};

const ROWS: usize = 1500;

/// y = 1.5 + 2ab − 0.7b³ with some noise, and what is done to it.
fn fit(rows: usize, spoil: impl Fn(usize, f64) -> f64) -> Discovery {
    let mut rng = Stream::new(7).at(0);
    let mut column = |f: &mut dyn FnMut(usize, f64) -> f64| -> Vec<f64> {
        (0..rows).map(|k| f(k, rng.normal())).collect()
    };
    let a = column(&mut |_, n| n);
    let b = column(&mut |_, n| n);
    let y = column(&mut |k, n| {
        let y = 1.5 + 2.0 * a[k] * b[k] - 0.7 * b[k].powi(3) + 0.05 * n;
        spoil(k, y)
    });
    law_of_y(vec![("a", a), ("b", b), ("y", y)])
}

/// The last column by polynomials of the others.
fn law_of_y(columns: Vec<(&str, Vec<f64>)>) -> Discovery {
    let names = columns.iter().map(|(name, _)| name.to_string());
    let mut inputs: Vec<String> = names.collect();
    let targets = inputs.pop().into_iter().collect();
    let data = DataSettings {
        inputs,
        targets,
        library: "polynomial(3)".parse().expect("a library"),
        ..DataSettings::default()
    };
    let settings = FitSettings {
        data,
        ..FitSettings::default()
    };
    let table = Frame::new(columns);
    settings.run_on(&[table], &Silent).expect("a law")
}

/// Rows that were left out, by their number, counted from 1.
fn left_out(found: &Discovery) -> Vec<usize> {
    let astray = found.data.blemishes.iter().flat_map(|b| &b.astray);
    let number = |place: &str| place.split(' ').nth(1).and_then(|n| n.parse().ok());
    astray.filter_map(|spike| number(&spike.place)).collect()
}

fn assert_law(found: &Discovery) {
    let terms = found.equations[0].terms.iter();
    let terms: Vec<(&str, f64)> = terms.map(|t| (&*t.feature, t.coefficient)).collect();
    let names: Vec<&str> = terms.iter().map(|t| t.0).collect();
    assert_eq!(names, ["1", "a b", "b^3"]);
    for (term, truth) in terms.iter().zip([1.5, 2.0, -0.7]) {
        assert!((term.1 - truth).abs() < 0.01, "{terms:?}");
    }
}

#[test]
fn one_row_far_off_is_left_out_and_named() {
    let found = fit(ROWS, |k, y| if k == 700 { -999.0 } else { y });
    assert_eq!(left_out(&found), [701]);
    assert_law(&found);
    // The same law as without that row.
    assert_eq!(found.data.rows, ROWS as u64 - 1);
}

#[test]
fn one_in_a_hundred_is_left_out() {
    let found = fit(ROWS, |k, y| if k % 100 == 50 { y + 20.0 } else { y });
    let spoilt: Vec<usize> = (0..ROWS).filter(|k| k % 100 == 50).map(|k| k + 1).collect();
    assert_eq!(left_out(&found), spoilt);
    assert_law(&found);
}

#[test]
fn one_beyond_the_sample_is_found_by_what_all_rows_leave() {
    let rows = 30_000;
    // Samples are drawn in pieces; most rows are in none of them.
    for spoilt in [9_000, 20_001, 29_999] {
        let found = fit(rows, |k, y| if k == spoilt { 9999.0 } else { y });
        assert_eq!(left_out(&found), [spoilt + 1]);
        assert_law(&found);
    }
}

#[test]
fn what_is_no_accident_stays() {
    // Noise alone.
    assert_eq!(left_out(&fit(ROWS, |_, y| y)), Vec::<usize>::new());
    // One row in ten.
    let many = fit(ROWS, |k, y| if k % 10 == 0 { y + 20.0 } else { y });
    assert_eq!(left_out(&many), Vec::<usize>::new());
    // What the library lacks is large where rows are alike.
    let x: Vec<f64> = (0..ROWS).map(|k| 0.02 + 0.001 * k as f64).collect();
    let y: Vec<f64> = x.iter().map(|x| 1.0 / x).collect();
    let found = law_of_y(vec![("x", x), ("y", y)]);
    assert_eq!(left_out(&found), Vec::<usize>::new());
}
