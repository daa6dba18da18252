//! Statistics that were gathered apart and folded say the same as those of all the data at once.

use ell0_data::{evidence::Evidence, frame::Frame};
use ell0_run::{Criterion, DataSettings, FitSettings, Silent, StatsSettings};

/// A damped oscillator from another beginning each time, with a little that no law explains.
fn run(k: usize) -> Frame {
    let t: Vec<f64> = (0..200).map(|n| 0.02 * n as f64).collect();
    let (a, b) = (1.0 + 0.1 * k as f64, (0.37 * k as f64).sin());
    let ripple = |t: f64| 1e-4 * (37.0 * t + k as f64).sin();
    let x = |t: f64| (-0.1 * t).exp() * (a * (2.0 * t).cos() + b * (2.0 * t).sin());
    let v = |t: f64| {
        let turned = (-0.1 * t).exp() * (2.0 * b * (2.0 * t).cos() - 2.0 * a * (2.0 * t).sin());
        turned - 0.1 * x(t)
    };
    let column = |f: &dyn Fn(f64) -> f64| t.iter().map(|t| f(*t) + ripple(*t)).collect();
    let (x, v) = (column(&x), column(&v));
    Frame::new([("t", t), ("x", x), ("v", v)])
}

fn settings() -> FitSettings {
    FitSettings {
        criterion: Some(Criterion::Validation),
        data: DataSettings {
            states: vec!["x".into(), "v".into()],
            library: "polynomial(2)".parse().expect("a library"),
            derivative: "weak(10)".parse().expect("a way"),
            ..DataSettings::default()
        },
        ..FitSettings::default()
    }
}

fn gathered(frames: &[Frame]) -> Evidence {
    let stats = StatsSettings {
        data: settings().data,
        no_samples: false,
    };
    stats.run_on(frames, &Silent).expect("statistics")
}

#[test]
fn many_parts_are_few_and_say_the_same() {
    let frames: Vec<Frame> = (0..60).map(run).collect();
    let whole = settings().run_on(&frames, &Silent).expect("a law");
    // One after the other, as a reader of batches does; and as a tree, as a cluster does.
    let chain = frames.iter().fold(Vec::new(), |mut all, frame| {
        all.push(gathered(std::slice::from_ref(frame)));
        Evidence::folded(all).expect("folded")
    });
    let tree = frames
        .chunks(7)
        .map(|part| {
            let each = part.iter().map(|f| gathered(std::slice::from_ref(f)));
            Evidence::folded(each.collect()).expect("folded")
        })
        .reduce(|mut a, b| {
            a.extend(b);
            Evidence::folded(a).expect("folded")
        })
        .expect("some");
    for parts in [chain, tree] {
        assert_eq!(
            parts.len(),
            1,
            "with so many trajectories one part is enough"
        );
        assert_eq!(parts[0].survey.rows, 60 * 200);
        let text = parts[0].to_json();
        assert_eq!(Evidence::from_json(&text).expect("readable"), parts[0]);
        let found = settings().run_on_statistics(parts, &Silent).expect("a law");
        for (a, b) in found.equations.iter().zip(&whole.equations) {
            let names = |e: &ell0_run::DiscoveredEquation| {
                e.terms
                    .iter()
                    .map(|t| t.feature.clone())
                    .collect::<Vec<_>>()
            };
            assert_eq!(names(a), names(b));
            for (a, b) in a.terms.iter().zip(&b.terms) {
                let off = (a.coefficient - b.coefficient).abs() / b.coefficient.abs();
                assert!(off < 1e-9, "{a:?} {b:?}");
            }
        }
        // Held-out rows are the same, too.
        for (a, b) in found.path.iter().zip(&whole.path) {
            let (a, b) = (
                a.validation_mse.expect("held out"),
                b.validation_mse.expect("held out"),
            );
            assert!((a - b).abs() <= 1e-6 * b.abs(), "{a} {b}");
        }
    }
}

/// What was asked something else is not mixed in.
#[test]
fn parts_that_were_asked_something_else_are_refused() {
    let one = gathered(&[run(0)]);
    let stats = StatsSettings {
        data: DataSettings {
            library: "polynomial(3)".parse().expect("a library"),
            ..settings().data
        },
        no_samples: false,
    };
    let other = stats.run_on(&[run(1)], &Silent).expect("statistics");
    let both = vec![one, other];
    assert_eq!(Evidence::folded(both.clone()).expect("kept apart").len(), 2);
    let error = settings()
        .run_on_statistics(both, &Silent)
        .expect_err("unlike");
    assert!(error.to_string().contains("make them alike"), "{error}");
    assert!(settings().run_on_statistics(vec![], &Silent).is_err());
}
