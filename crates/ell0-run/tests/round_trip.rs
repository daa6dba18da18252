//! Reading the folder of a run gives the same value back that the run gave.

use std::path::Path;

use ell0::rng::Stream;
use ell0_control::agent::TrainConfig;
use ell0_data::{derivative::Wanted, frame::Frame};
use ell0_run::{
    AgentSettings, Analysis, AnalyzeSettings, Criterion, DataSettings, Discovery, Error,
    FigureSettings, Figures, FitSettings, Kind, ModelsRun, ModelsSettings, Page, PdeProblem,
    PdeRun, PdeSettings, Place, ProofSettings, Run, Silent, Site, Subject, Task, TrainSettings,
    TrainingRun,
};

/// A damped oscillator.
fn oscillator() -> Frame {
    let t: Vec<f64> = (0..800).map(|k| 0.01 * f64::from(k)).collect();
    let x = t
        .iter()
        .map(|t| (-0.1 * t).exp() * (2.0 * t).cos())
        .collect();
    let v = t
        .iter()
        .map(|t| (-0.1 * t).exp() * (-0.1 * (2.0 * t).cos() - 2.0 * (2.0 * t).sin()))
        .collect();
    Frame::new([("t", t), ("x", x), ("v", v)])
}

fn fit() -> FitSettings {
    FitSettings {
        data: DataSettings {
            states: vec!["x".into(), "v".into()],
            ..DataSettings::default()
        },
        ..FitSettings::default()
    }
}

/// The page of a folder can be made, and made again to the same bytes.
fn has_a_page(folder: &Path) {
    let page = Page::of(folder).expect("a page").html(None);
    assert!(page.starts_with("<!doctype html>") && page.contains("<h2>"));
    assert_eq!(page, Page::of(folder).expect("a page").html(None));
}

#[test]
fn a_fit() {
    let folder = tempfile::tempdir().expect("a folder");
    let found = fit().run_on(&[oscillator()], &Silent).expect("a law");
    assert_eq!(found.model.text(2), "x' = 1*v\nv' = -4*x - 0.2*v");
    let place = Place::new(folder.path().join("fit"));
    let folder = found.write(&fit(), &place, None).expect("written");
    assert_eq!(Discovery::read(&folder).expect("read"), found);
    assert_eq!(
        FitSettings::read(folder.join("config.toml")).expect("read"),
        fit()
    );
    has_a_page(&folder);
    assert!(found.write(&fit(), &place, None).is_err(), "it is there");
}

/// Everything that can be said of single equations, and rates that are columns.
#[test]
fn a_fit_that_was_told_how() {
    let table = oscillator();
    let [_, x, v] = [0, 1, 2].map(|k| table.columns()[k].clone());
    let a = x.iter().zip(&v).map(|(x, v)| -4.01 * x - 0.2 * v).collect();
    let table = Frame::new([("x", x), ("v", v), ("a", a)]);
    let mut settings = fit();
    settings.data.rates = vec!["v".into(), "a".into()];
    let own = "polynomial(1) + fourier(1)".parse().expect("a library");
    settings.data.libraries = [("v".to_string(), own)].into();
    settings.data.library = "polynomial(2)".parse().expect("a library");
    settings.terms = vec![1, 2];
    let found = settings.run_on(&[table], &Silent).expect("a law");
    assert_eq!(found.model.text(3), "x' = 1*v\nv' = -4.01*x - 0.2*v");
    assert_eq!(found.data.derivatives, ["given"]);
    assert_eq!(found.data.noise, None);
    assert_eq!(found.data.fitted_rows, found.data.rows);
    let sizes = ["x", "v"].map(|target| found.path_of(target).count());
    assert_eq!(sizes, [7, 8], "polynomial(2) has 6 terms, the other 7");
    let place = tempfile::tempdir().expect("a folder");
    let place = Place::new(place.path().join("fit"));
    let folder = found.write(&settings, &place, None).expect("written");
    assert_eq!(Discovery::read(&folder).expect("read"), found);
    let read = FitSettings::read(folder.join("config.toml"));
    assert_eq!(read.expect("read"), settings);
    has_a_page(&folder);
    // What contradicts itself is found out before anything is read.
    let wrong = |change: fn(&mut FitSettings), words: &str| {
        let mut settings = settings.clone();
        change(&mut settings);
        let said = settings.check().expect_err(words).to_string();
        assert!(said.contains(words), "{said}");
    };
    wrong(
        |s| s.terms = vec![1, 2, 3],
        "3 numbers of terms for 2 equations (x, v)",
    );
    wrong(|s| s.lambda = vec![1.0], "one of them is enough");
    wrong(|s| s.threshold = Some(0.1), "the method is exact");
    wrong(|s| s.criterion = Some(Criterion::Bic), "not by both");
    let narrow = DataSettings {
        derivative: Wanted::Weak(Some(1)),
        ..fit().data
    };
    let narrow = FitSettings {
        data: narrow,
        ..fit()
    };
    let said = narrow
        .run_on(&[oscillator()], &Silent)
        .expect_err("too narrow");
    assert!(said.to_string().starts_with("weak(1): from 2"), "{said}");
}

/// The coefficients are those of least squares on all rows, held-out ones included; the same data in a file give the same bits.
#[test]
fn a_fit_from_memory_is_that_from_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = oscillator();
    let mut csv = table.names().join(",") + "\n";
    let columns = table.columns();
    for row in 0..columns[0].len() {
        let cells = columns.iter().map(|c| c[row].to_string());
        csv += &(cells.collect::<Vec<_>>().join(",") + "\n");
    }
    let file = folder.path().join("oscillator.csv");
    std::fs::write(&file, csv).expect("written");
    let from_memory = fit().run_on(&[table], &Silent).expect("a law");
    let mut settings = fit();
    settings.data.files = vec![file];
    let from_file = settings.run(&Silent).expect("a law");
    assert_eq!(from_memory, from_file);
    assert!(from_file.data.fitted_rows > 700);
}

/// Data in other units give the same law, or a sentence; never a law that is 0.
#[test]
fn units_do_not_matter_unless_they_are_absurd() {
    let scaled = |factor: f64| {
        let table = oscillator();
        let times = |c: &Vec<f64>, by: f64| c.iter().map(|v| v * by).collect::<Vec<_>>();
        let columns = table.columns();
        Frame::new([
            ("t", columns[0].clone()),
            ("x", times(&columns[1], factor)),
            ("v", times(&columns[2], factor)),
        ])
    };
    for factor in [1e-100, 1e-30, 1.0, 1e30] {
        let law = fit().run_on(&[scaled(factor)], &Silent).expect("a law");
        assert_eq!(law.model.text(2), "x' = 1*v\nv' = -4*x - 0.2*v", "{factor}");
    }
    for factor in [1e-160, 1e-200, 1e-300, 1e120] {
        let error = fit().run_on(&[scaled(factor)], &Silent);
        let error = error.expect_err("no law").to_string();
        let words = ["squares vanish", "at most 1e100"];
        assert!(words.iter().any(|w| error.contains(w)), "{factor}: {error}");
    }
}

/// x = e^(−0.2t)·cos 3t and its rate, with a little noise and 4 of 20 seconds absent: nothing is learned through the hole.
#[test]
fn no_law_goes_through_a_hole() {
    for noise in [0.0, 0.002] {
        let mut rng = Stream::new(3).at(0);
        let t: Vec<f64> = (0..2000).map(|k| 0.01 * f64::from(k)).collect();
        let t: Vec<f64> = t.into_iter().filter(|t| !(7.0..11.0).contains(t)).collect();
        let mut column = |value: &dyn Fn(f64) -> f64| -> Vec<f64> {
            t.iter().map(|t| value(*t) + noise * rng.normal()).collect()
        };
        let x = column(&|t| (-0.2 * t).exp() * (3.0 * t).cos());
        let y = column(&|t| (-0.2 * t).exp() * (3.0 * t).sin());
        let table = Frame::new([("t", t.clone()), ("x", x), ("y", y)]);
        let mut settings = fit();
        settings.data.states = vec!["x".into(), "y".into()];
        let found = settings.run_on(&[table], &Silent).expect("a law");
        assert_eq!(found.data.gaps, 1);
        let law = &found.equations[0].terms;
        let names: Vec<&str> = law.iter().map(|t| t.feature.as_str()).collect();
        assert_eq!(names, ["x", "y"], "{}", found.model.text(4));
        for (term, truth) in law.iter().zip([-0.2, -3.0]) {
            let far = (term.coefficient - truth).abs();
            assert!(far < 0.01, "{}", found.model.text(4));
        }
        // A discrete law makes no pair over the hole.
        settings.data.dynamics = Kind::Discrete;
        let table = Frame::new([
            ("t", t.clone()),
            ("x", t.iter().map(|t| t.cos()).collect()),
            ("y", t.iter().map(|t| t.sin()).collect()),
        ]);
        let found = settings.run_on(&[table], &Silent).expect("a law");
        assert_eq!(
            (found.data.gaps, found.data.fitted_rows),
            (1, t.len() as u64 - 2)
        );
        // Times at random are no steps.
        let mut time = 0.0;
        let random: Vec<f64> = t
            .iter()
            .map(|_| {
                time += -rng.uniform().max(1e-9).ln();
                time
            })
            .collect();
        let table = Frame::new([("t", random), ("x", t.clone()), ("y", t.clone())]);
        let error = settings.run_on(&[table], &Silent);
        assert!(matches!(error, Err(Error::UnevenSteps { .. })), "{error:?}");
    }
}

#[test]
fn a_training() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = TrainConfig {
        environment: "pendulum(g=9.81, limit=50)".into(),
        episodes: 12,
        random_episodes: 3,
        updates_after: 4,
        updates: 5,
        ..TrainConfig::default()
    };
    let agent = |name: &str, policy: &str| AgentSettings {
        name: name.into(),
        tuned: true,
        training: TrainConfig {
            policy: policy.into(),
            ..config.clone()
        },
    };
    let settings = TrainSettings {
        seeds: 2,
        fine_tune: false,
        optimum: true,
        agents: vec![
            agent("law", "polynomial(2)"),
            agent("net", "sparse-network(8, 8)"),
        ],
        ..TrainSettings::default()
    };
    let site = Site::new(folder.path().join("train"));
    let run = settings.run(Some(&site), &Silent).expect("trained");
    assert_eq!(run.rows().len(), 4);
    assert!(run.rows().iter().all(|r| r.gap.is_some_and(|g| g > 0.0)));
    assert_eq!(TrainingRun::read(&site.folder).expect("read"), run);
    has_a_page(&site.folder);
    // What is finished is not done again: the same bits.
    let again = TrainSettings::resume(&site, "train", None, &Silent).expect("resumed");
    assert_eq!(again, run);
    // Without a folder the same comes out.
    assert_eq!(settings.run(None, &Silent).expect("trained"), run);
}

#[test]
fn an_analysis_of_a_loop_and_of_a_law() {
    let folder = tempfile::tempdir().expect("a folder");
    let law = fit().run_on(&[oscillator()], &Silent).expect("a law").model;
    let file = folder.path().join("model.json");
    std::fs::write(&file, law.to_json()).expect("written");
    let policy = Subject::Policy("2*tanh(-8*sin_theta - 2*theta_dot)".into());
    for (name, settings) in [
        ("law", AnalyzeSettings::new(Subject::File(file))),
        (
            "loop",
            AnalyzeSettings {
                environment: Some("pendulum(g=9.81)".into()),
                proof: ProofSettings {
                    seconds: 0.3,
                    ..ProofSettings::default()
                },
                ..AnalyzeSettings::new(policy)
            },
        ),
    ] {
        let analyzed = settings.run(&Silent).expect("analysed");
        let place = Place::new(folder.path().join(name));
        let folder = analyzed.write(&place, None).expect("written");
        assert_eq!(Analysis::read(&folder).expect("read"), analyzed.analysis);
        has_a_page(&folder);
    }
}

#[test]
fn the_models_and_the_figures_of_the_tutorial() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = ModelsSettings {
        epochs: 1,
        ..ModelsSettings::new(Task::Reward)
    };
    let site = Site::new(folder.path().join("reward"));
    let run = settings.run(&site, &Silent).expect("trained");
    assert_eq!(ModelsRun::read(&site.folder).expect("read"), run);
    has_a_page(&site.folder);
    let drawn = FigureSettings {
        seed: 0,
        quick: true,
    };
    let drawn = drawn.run(&Silent).expect("drawn");
    let place = Place::new(folder.path().join("figures"));
    let folder = drawn.write(&place, None).expect("written");
    assert_eq!(Figures::read(&folder).expect("read"), drawn.results);
    assert!(matches!(Run::read(&folder), Ok(Run::Figures(_))));
    has_a_page(&folder);
}

/// Both problems with all of their agents, as far as seconds allow; gone on with, nothing is done again.
#[test]
fn laws_that_control_fields() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join("pde");
    let settings = PdeSettings {
        trial: true,
        seeds: 1,
        seed: 4,
        ..PdeSettings::default()
    };
    let site = Site::new(&folder);
    let run = settings.run(&site, &Silent).expect("a run");
    assert_eq!(PdeRun::read(&folder).expect("read"), run);
    assert!(matches!(Run::read(&folder), Ok(Run::Pde(_))));
    has_a_page(&folder);
    let again = PdeSettings::resume(&site, &Silent).expect("the same");
    assert_eq!(again, run);
    for problem in PdeProblem::ALL {
        let rows: Vec<_> = run.of(problem).collect();
        let agents: Vec<&str> = rows
            .iter()
            .filter(|r| r.seed == Some(4))
            .map(|r| r.agent.as_str())
            .collect();
        assert_eq!(agents, ["tied", "l0", "l1", "network", "network-hidden"]);
        for row in &rows {
            assert_eq!(row.measured.len(), 6, "{}", row.agent);
            assert_eq!(row.header().len(), row.cells().len());
            for m in &row.measured {
                assert!(m.worth.is_finite() && m.worth < 0.0);
                if let (Some(state), Some(control)) = (m.state_cost, m.control_cost) {
                    assert!((state + control + m.worth).abs() < 1e-9);
                }
            }
        }
        let worth = |agent: &str| {
            let row = rows.iter().find(|r| r.agent == agent).expect("a row");
            row.worth("training", false).expect("a return")
        };
        let (still, best) = match problem {
            PdeProblem::Ks => (worth("no control"), worth("tanh(−8u − 0.7 f)")),
            PdeProblem::Cdr => (worth("no control"), worth("regulator that sees everything")),
        };
        assert!(best > still, "{best} {still}");
        for end in ["svg", "png"] {
            assert!(folder.join(format!("{}.{end}", problem.name())).exists());
        }
    }
    // Another run is not begun where one is, and what replaces it replaces all of it.
    assert!(settings.run(&site, &Silent).is_err());
    std::fs::write(folder.join("mine.txt"), "mine").expect("written");
    let replacing = Site {
        replace: true,
        ..site
    };
    assert!(settings.run(&replacing, &Silent).is_err());
}
