//! Clean samples that are far apart.

use ell0_data::frame::Frame;
use ell0_run::{DataSettings, FitSettings, Silent, Verdict};

/// Lorenz's system, by Runge and Kutta's method in steps far shorter than those between rows.
fn lorenz(rows: usize, dt: f64) -> Frame {
    const WITHIN: usize = 400;
    let rates = |[x, y, z]: [f64; 3]| [10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z];
    let along = |x: [f64; 3], k: [f64; 3], h: f64| [0, 1, 2].map(|i| x[i] + h * k[i]);
    let (mut x, h) = ([-8.0, 8.0, 27.0], dt / WITHIN as f64);
    let mut columns = vec![Vec::new(); 4];
    for row in 0..rows {
        columns[0].push(row as f64 * dt);
        (0..3).for_each(|i| columns[1 + i].push(x[i]));
        for _ in 0..WITHIN {
            let a = rates(x);
            let b = rates(along(x, a, h / 2.0));
            let c = rates(along(x, b, h / 2.0));
            let d = rates(along(x, c, h));
            x = [0, 1, 2].map(|i| x[i] + h / 6.0 * (a[i] + 2.0 * (b[i] + c[i]) + d[i]));
        }
    }
    Frame::new(["t", "x", "y", "z"].into_iter().zip(columns))
}

/// Coarse sampling is no noise: the law is exact, and said to be.
#[test]
fn coarse_samples_are_not_taken_for_noise() {
    let data = DataSettings {
        states: ["x", "y", "z"].map(String::from).to_vec(),
        library: "polynomial(2)".parse().expect("a library"),
        ..DataSettings::default()
    };
    let settings = FitSettings {
        data,
        ..FitSettings::default()
    };
    for dt in [0.05, 0.1] {
        let found = settings.run_on(&[lorenz(500, dt)], &Silent).expect("a law");
        let sizes: Vec<usize> = found.equations.iter().map(|e| e.terms.len()).collect();
        assert_eq!(sizes, [2, 3, 2], "{dt}");
        let judgement = found.judgement.expect("a judgement");
        for judged in &judgement.equations {
            assert_eq!(
                judged.verdict,
                Verdict::Explained,
                "{dt}: {}",
                judged.words()
            );
        }
        let noise = found.data.noise.expect("a noise");
        assert!(noise < 1e-6, "{dt}: noise {noise}");
    }
}
