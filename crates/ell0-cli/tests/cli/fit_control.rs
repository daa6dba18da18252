//! `ell0 fit` for those who want to say how: widths, rates that are columns, sizes and libraries of single equations, thresholds, BIC.

use std::fmt::Write;

use crate::fixture::{Desk, list, near, number};

/// x' = y − 0.1 x³, y' = −x + 0.05 sin y, at states that have nothing to do with each other: no time, no trajectory. `z` is no state.
fn rates(rows: u32, time: bool) -> String {
    let mut csv = String::from(if time {
        "t,x,y,z,dx,dy\n"
    } else {
        "x,y,z,dx,dy\n"
    });
    for k in 0..rows {
        let k = f64::from(k);
        let (x, y, z) = (
            2.0 * (12.9 * k).sin(),
            2.0 * (7.1 * k * k).cos(),
            (3.3 * k).sin(),
        );
        if time {
            write!(csv, "{},", 0.1 * k).expect("written");
        }
        let (dx, dy) = (y - 0.1 * x.powi(3), -x + 0.05 * y.sin());
        writeln!(csv, "{x},{y},{z},{dx},{dy}").expect("written");
    }
    csv
}

/// A turning point on a circle: x' = 2 y, y' = −2 x.
fn circle(rows: u32) -> String {
    let row = |k: u32| {
        let t = 0.02 * f64::from(k);
        format!("{t},{},{}\n", (2.0 * t).sin(), (2.0 * t).cos())
    };
    String::from("t,x,y\n") + &(0..rows).map(row).collect::<String>()
}

fn laws(desk: &Desk, folder: &str) -> String {
    desk.read(&format!("{folder}/equations.txt"))
}

#[test]
fn the_way_that_is_printed_can_be_asked_for() {
    let desk = Desk::new()
        .with("data.csv", circle(400))
        .with("few.csv", circle(15));
    for (way, printed) in [("weak(10)", "weak(10)"), ("savgol(7)", "savgol(7)")] {
        let line = format!("fit data.csv --states x,y --derivative {way} --out {way}");
        desk.ell0(&line)
            .shows(&format!("rates of change by {printed}"));
        let config = desk.read(&format!("{way}/config.toml"));
        assert!(config.contains(&format!("derivative = \"{way}\"")));
        let again = format!("fit --config {way}/config.toml --out {way}-again");
        desk.ell0(&again)
            .shows(&format!("rates of change by {printed}"));
        desk.ell0(&format!("score {way} data.csv --derivative {way}"))
            .shows(&format!("rates of change by {printed}"));
    }
    desk.all_fail("
        fit few.csv --states x,y --derivative weak(10) | its trajectory, lines 2 to 16, has only 15 rows; --derivative weak(10) needs 21 (one, and 10 on either side): take a longer one, or choose another way: --derivative weak(2) needs 5 rows, --derivative fd2 needs 3
        fit few.csv --states x,y --derivative savgol(8) | --derivative savgol(8) needs 17
    ");
    desk.all_misused("
        fit data.csv --states x --derivative weak(0) | weak(0): from 2 to 10000 points on either side are possible
        fit data.csv --states x --derivative savgol(1) | savgol(1): from 2 to 10000 points
        fit data.csv --states x --derivative weak(1e3) | `1e3` is no number of points on either side
        fit data.csv --states x --derivative weak(3 | unknown derivative `weak(3`
        fit data.csv --states x --derivative fd4(2) | unknown derivative `fd4(2)`
        fit data.csv --states x --derivative given | unknown derivative `given`
        stats data.csv --states x --derivative weak(99999) --out s | weak(99999): from 2 to 10000
        score m.json data.csv --derivative weak(1) | weak(1): from 2
    ");
}

#[test]
fn rates_may_be_columns() {
    let desk = Desk::new()
        .with("rates.csv", rates(200, false))
        .with("timed.csv", rates(200, true))
        .with("circle.csv", circle(300));
    let fit = "--states x,y --rates dx,dy --library 'polynomial(3) + fourier(1)'";
    let shown = desk.ell0(&format!("fit rates.csv {fit} --out plain"));
    shown.shows("200 rows in 1 trajectory; rates of change given | x' = 1*y - 0.1*x^3 | y' = -1*x + 0.05*sin(y)");
    let found = desk.json("plain/discovery.json");
    assert_eq!(found["data"]["derivatives"][0], "given");
    // Every row counts: there are no neighbours to be left out.
    assert_eq!(found["data"]["fitted_rows"], 200);
    assert!(found["data"]["noise"].is_null());
    desk.does("fit --config plain/config.toml --out again");
    assert_eq!(laws(&desk, "plain"), laws(&desk, "again"));
    // Time is used if it is there.
    desk.does(&format!("fit timed.csv {fit} --out timed"));
    assert_eq!(laws(&desk, "plain"), laws(&desk, "timed"));
    let timed = &desk.json("timed/discovery.json")["data"];
    assert!(timed["noise"].is_number());
    assert_eq!(list(&timed["noise_of_states"]).len(), 2);
    // Statistics hold them, too.
    desk.does(&format!("stats rates.csv {fit} --out part.stats"));
    desk.ell0("fit part.stats --out parts")
        .shows("rates of change given");
    assert_eq!(laws(&desk, "plain"), laws(&desk, "parts"));
    // The law is one of rates of change like any other.
    desk.does("simulate plain --initial x=1,y=0 --duration 1 --dt 0.1 --out s.csv");
    desk.ell0("score plain rates.csv --rates dx,dy")
        .shows("rates of change given | y: mean squared error");
    desk.does("export plain --to python --out plain.py");
    // The rate of one state may be another state.
    let acceleration = "v,x,a\n".to_string()
        + &(0..200)
            .map(|k| {
                let (v, x) = ((0.3 * f64::from(k)).sin(), (0.7 * f64::from(k)).cos());
                format!("{v},{x},{}\n", -4.0 * x - 0.5 * v)
            })
            .collect::<String>();
    desk.put("second.csv", acceleration);
    desk.ell0("fit second.csv --states x,v --rates v,a")
        .shows("x' = 1*v | v' = -4*x - 0.5*v");
    desk.all_fail("
        fit rates.csv --states x,y --rates dx | 1 rate (dx) for 2 states (x, y): name one column of rates for each state
        fit rates.csv --states x --rates dx,dy | 2 rates (dx, dy) for 1 state (x)
        fit rates.csv --states x,y --rates dx,dx | column `dx` is named twice among the rates
        fit rates.csv --states x,y --rates dx,dq | there is no column `dq`; the columns are x, y, z, dx, dy
        fit rates.csv --states x,y --controls x --rates dx,dy | column `x` is named twice
        score plain rates.csv --rates dx | 1 rate (dx) for 2 states (x, y)
        fit part.stats --rates dx,dy | leave out --states
    ");
    desk.all_misused("
        fit rates.csv --states x,y --rates dx,dy --derivative fd2 | cannot be used with
        fit rates.csv --states x,y --rates dx,dy --dynamics discrete | --rates names columns of rates of change
        fit rates.csv --inputs x --targets y --rates dx | cannot be used with
        score plain rates.csv --rates dx,dy --derivative fd2 | cannot be used with
    ");
    desk.does("fit circle.csv --inputs x --targets y --library polynomial(1) --out regression");
    desk.all_fail("score regression circle.csv --rates x | --rates was given, but this is no law of rates of change");
}

#[test]
fn each_equation_has_its_size_and_its_price() {
    let desk = Desk::new().with("rates.csv", rates(300, false));
    let fit = "fit rates.csv --states x,y --rates dx,dy";
    let terms = |line: &str| -> Vec<usize> {
        let object = desk
            .ell0(&format!("{fit} {line} --json --force --out run"))
            .json();
        let sizes = list(&object["equations"]).iter();
        sizes.map(|e| list(&e["terms"]).len()).collect()
    };
    assert_eq!(terms("--terms 2,3"), [2, 3]);
    assert_eq!(terms("--terms 1"), [1, 1]);
    assert_eq!(terms("--terms 0,5"), [0, 5]);
    assert_eq!(terms("--lambda 1000,0.1"), [0, 1]);
    assert_eq!(terms("--lambda 1000"), [0, 0]);
    desk.ell0(&format!("{fit} --terms 2,3"))
        .shows("Choice: 2, 3 terms were asked for");
    desk.ell0(&format!("{fit} --terms 2"))
        .shows("Choice: 2 terms were asked for");
    desk.ell0(&format!("{fit} --lambda 0.1,0.2"))
        .shows("the least error + λ × terms, with λ = 0.1, 0.2");
    // Settings repeat it.
    desk.does(&format!("{fit} --terms 2,3 --out sizes"));
    desk.does("fit --config sizes/config.toml --out again");
    assert_eq!(laws(&desk, "sizes"), laws(&desk, "again"));
    desk.does("stats rates.csv --states x,y --rates dx,dy --out s.stats");
    desk.all_fail(&format!(
        "{fit} --terms 1,2,3 | 3 numbers of terms for 2 equations (x, y): give one for each, or one for all
         {fit} --lambda 1,2,3 | 3 prices of a term for 2 equations (x, y)
         fit s.stats --terms 1,2,3 | 3 numbers of terms for 2 equations (x, y)
         {fit} --lambda 0.1,-1 | lambda = -1
         {fit} --terms 2,99 | no law for `y`: terms = 99 is not allowed: the path has models of 0, 1, 2
         fit no.csv --states x,y --terms 1,2,3 | 3 numbers of terms for 2 equations"
    ));
    desk.all_misused(&format!(
        "{fit} --terms 2,x | expected a whole number, at least 0
         {fit} --terms 2, | expected a whole number
         {fit} --lambda 0.1,x | invalid
         {fit} --terms 2,3 --lambda 1 | cannot be used with"
    ));
}

#[test]
fn equations_may_have_their_own_libraries() {
    let desk = Desk::new().with("rates.csv", rates(300, false));
    let columns = "rates.csv --states x,y --rates dx,dy";
    let own = "--library 'x: polynomial(3)' --library 'y: polynomial(1) + fourier(1)'";
    desk.ell0(&format!("fit {columns} {own} --out own"))
        .shows("x' = 1*y - 0.1*x^3 | y' = -1*x + 0.05*sin(y)");
    let found = desk.json("own/discovery.json");
    // No law of a path has a term of the other's library.
    for line in list(&found["path"]) {
        let features = list(&line["features"]).iter();
        let features: Vec<&str> = features.filter_map(|f| f.as_str()).collect();
        let foreign = match line["target"].as_str() {
            Some("x") => features
                .iter()
                .any(|f| f.contains("sin") || f.contains("cos")),
            _ => features.iter().any(|f| f.contains('^') || *f == "x y"),
        };
        assert!(!foreign, "{line}");
    }
    let candidates = list(&found["equations"]).iter().map(|e| &e["candidates"]);
    assert!(candidates.eq([10, 7]), "{found}");
    assert_eq!(
        found["model"]["library"],
        "polynomial(3) + polynomial(1) + fourier(1)"
    );
    // Each law is that of its library alone.
    for (library, k) in [("polynomial(3)", 0), ("polynomial(1) + fourier(1)", 1)] {
        let alone = desk.ell0(&format!(
            "fit {columns} --library '{library}' --json --force --out alone"
        ));
        let alone = alone.json();
        let (alone, own) = (
            &alone["equations"][k]["terms"],
            &found["equations"][k]["terms"],
        );
        assert_eq!(list(alone).len(), list(own).len());
        for (alone, own) in list(alone).iter().zip(list(own)) {
            assert_eq!(alone["feature"], own["feature"]);
            near(
                number(&alone["coefficient"]),
                number(&own["coefficient"]),
                1e-9,
            );
            near(
                number(&alone["probability"]),
                number(&own["probability"]),
                0.01,
            );
        }
    }
    // Settings and statistics keep them; exports have nothing to do with them.
    desk.does("fit --config own/config.toml --out again");
    assert_eq!(laws(&desk, "own"), laws(&desk, "again"));
    desk.does(&format!("stats {columns} {own} --out part.stats"));
    desk.does("fit part.stats --out parts");
    assert_eq!(laws(&desk, "own"), laws(&desk, "parts"));
    desk.does("export own --to c --out own_c");
    desk.does("report own");
    // A library without a name is for the others; a name may stand for several.
    desk.does(&format!(
        "fit {columns} --library 'polynomial(1) + fourier(1)' --library 'x: polynomial(3)' --out others"
    ));
    assert_eq!(laws(&desk, "own"), laws(&desk, "others"));
    desk.ell0(&format!("fit {columns} --library 'x,y: polynomial(1)'"))
        .shows("y' = ");
    // Every method respects them.
    for method in ["stlsq", "lasso", "ols"] {
        let line = format!("fit {columns} {own} --method {method} --json --force --out run");
        let object = desk.ell0(&line).json();
        let shown = object["equations"][0]["text"].as_str().map(String::from);
        assert!(shown.is_some_and(|s| !s.contains("sin")), "{method}");
    }
    // States over time, too; the next row of discrete laws, and targets of a regression.
    desk.put("circle.csv", circle(400));
    let circle =
        "fit circle.csv --states x,y --library 'x: polynomial(1)' --library 'y: polynomial(2)'";
    let shown = desk.ell0(circle).out();
    assert!(
        shown.contains("x' = ") && shown.contains("y' = "),
        "{shown}"
    );
    let object = desk.ell0(&format!("{circle} --dynamics discrete --json --out map"));
    let object = object.json();
    let sizes = |target: &str| {
        let path = list(&object["path"]).iter();
        path.filter(|l| l["target"] == target).count()
    };
    assert_eq!((sizes("x"), sizes("y") > 4), (4, true));
    desk.does("fit rates.csv --inputs x,y --targets dx,dy --library 'dx: polynomial(3)'");
    desk.ell0(&format!("{circle} --criterion likelihood"))
        .shows("explained");
    desk.does(&format!("stats {columns} --out other.stats"));
    desk.all_fail(&format!(
        "fit {columns} --library 'q: polynomial(1)' | a library is for the equation of `q`, and there is none; the equations are x, y
         fit {columns} --library 'x: polynomial(1)[w]' | the library of `x`: input = `w`
         fit part.stats other.stats | make them alike
         fit part.stats --library 'x: polynomial(1)' | leave out --states, --inputs, --library"
    ));
    desk.all_misused(&format!(
        "fit {columns} --library polynomial(1) --library polynomial(2) | --library is given twice for all equations
         fit {columns} --library 'x: polynomial(1)' --library 'x,y: polynomial(2)' | --library is given twice for the equation of `x`
         fit {columns} --library 'x: polynom(1)' | `polynomial(…)`
         fit {columns} --library ': polynomial(1)' | a name is missing"
    ));
}

#[test]
fn a_threshold_leaves_one_law() {
    let desk = Desk::new().with("rates.csv", rates(300, false));
    let fit = "fit rates.csv --states x,y --rates dx,dy --library polynomial(3)";
    let stlsq = |threshold: &str| {
        let line = format!("{fit} --method stlsq --threshold {threshold}");
        desk.ell0(&format!("{line} --json --force --out run"))
            .json()
    };
    let found = stlsq("0.02");
    assert_eq!(list(&found["path"]).len(), 2, "one law for each equation");
    assert_eq!(found["rules"][0], "only");
    near(number(&found["threshold"]), 0.02, 1e-15);
    assert_eq!(found["equations"][0]["text"], "x' = 1*y - 0.1*x^3");
    // Terms that are there but below the threshold are cut.
    let found = stlsq("0.5");
    assert_eq!(found["selected"]["terms"], 2);
    desk.ell0(&format!("{fit} --method stlsq --threshold 0.5"))
        .shows("the law that the threshold leaves | with a threshold of 0.5");
    desk.does("fit --config run/config.toml --out again");
    assert_eq!(laws(&desk, "run"), laws(&desk, "again"));
    desk.does("report run");
    desk.all_fail(&format!(
        "{fit} --threshold 0.1 | --threshold 0.1 is not allowed: a threshold is for --method stlsq, and the method is exact
         {fit} --threshold 0.1 --method lasso | the method is lasso
         {fit} --threshold -1 --method stlsq | --threshold -1 is not allowed: it must be finite and not negative
         {fit} --threshold nan --method stlsq | --threshold NaN is not allowed"
    ));
    desk.all_misused(&format!(
        "{fit} --threshold 0.1 --method stlsq --terms 2 | cannot be used with
         {fit} --threshold 0.1 --method stlsq --criterion bic | cannot be used with
         {fit} --threshold x --method stlsq | invalid"
    ));
}

#[test]
fn bic_chooses_on_all_rows() {
    let desk = Desk::new().with("rates.csv", rates(300, false));
    let fit = "fit rates.csv --states x,y --rates dx,dy --library 'polynomial(3) + fourier(1)'";
    let found = desk.ell0(&format!("{fit} --criterion bic --json --out run"));
    let found = found.json();
    assert_eq!(found["rules"][1], "bic");
    for target in ["x", "y"] {
        let own = list(&found["path"])
            .iter()
            .filter(|l| l["target"] == target);
        let own: Vec<_> = own.collect();
        assert!(own.iter().all(|l| l["validation_mse"].is_null()));
        let least = own
            .iter()
            .map(|l| number(&l["bic"]))
            .fold(f64::INFINITY, f64::min);
        let chosen: Vec<_> = own.iter().filter(|l| l["chosen"] == true).collect();
        assert_eq!(chosen.len(), 1);
        near(number(&chosen[0]["bic"]), least, 1e-9);
        // The line of the path is the law: nothing was held out.
        let law = list(&found["equations"])
            .iter()
            .find(|e| e["target"] == target);
        let law = list(&law.expect("a law")["terms"]).iter();
        for (term, c) in law.zip(list(&chosen[0]["coefficients"])) {
            near(number(&term["coefficient"]), number(c), 1e-9);
        }
    }
    desk.ell0(&format!("{fit} --criterion bic"))
        .shows("Choice: the least BIC on the path of all rows");
    desk.does("report run");
    desk.all_fail(&format!(
        "{fit} --criterion bic --terms 2 | chosen by BIC, or by a number or a price of terms: not by both"
    ));
    desk.all_misused(&format!(
        "{fit} --criterion aic | there is no criterion `aic`; there are likelihood, validation or bic"
    ));
}

/// Every line of the path says what its law is; the seed reaches all that is drawn.
#[test]
fn paths_have_terms_and_seeds_reach_everything() {
    let desk = Desk::new().with("rates.csv", rates(300, false));
    let fit = "fit rates.csv --states x,y --rates dx,dy --library polynomial(2)";
    let found = desk.ell0(&format!("{fit} --json --out run")).json();
    for line in list(&found["path"]) {
        let (names, numbers) = (list(&line["features"]), list(&line["coefficients"]));
        assert_eq!(line["terms"], names.len());
        assert_eq!(names.len(), numbers.len());
    }
    let csv = desk.read("run/path.csv");
    let mut lines = csv.lines();
    assert!(
        lines
            .next()
            .is_some_and(|l| l.ends_with("chosen,features,coefficients"))
    );
    let one = lines.find(|l| l.starts_with("x,2,")).expect("two terms");
    let cells: Vec<&str> = one.split(',').collect();
    assert_eq!(cells[9].split(';').count(), 2, "{one}");
    assert!(
        cells[10].split(';').all(|c| c.parse::<f64>().is_ok()),
        "{one}"
    );
    // Held-out rows choose; the probabilities beside them are drawn.
    let probabilities = |line: &str| {
        let line = format!("--criterion validation {line}");
        let found = desk
            .ell0(&format!("{fit} --json --force --out drawn {line}"))
            .json();
        found["equations"].to_string()
    };
    assert_eq!(
        probabilities("--seed 1 --terms 3"),
        probabilities("--seed 1 --terms 3")
    );
    assert_ne!(
        probabilities("--seed 1 --terms 3"),
        probabilities("--seed 2 --terms 3")
    );
}

#[test]
fn rows_that_are_astray_are_told_on_the_screen_and_on_the_page() {
    let csv = rates(400, false);
    let spoilt: String = csv
        .lines()
        .enumerate()
        .map(|(line, row)| match (line, row.rsplit_once(',')) {
            (200, Some((before, _))) => format!("{before},-999\n"),
            _ => format!("{row}\n"),
        })
        .collect();
    let desk = Desk::new().with("data.csv", spoilt).with("good.csv", csv);
    let library = r#"--library "polynomial(3) + fourier(1)""#;
    let told = "1 value is so far off the other rows that it was left out: y = -999 in line 201 of data.csv";
    desk.ell0(&format!(
        "fit data.csv --states x,y --rates dx,dy {library} --out spoilt"
    ))
    .shows(told);
    assert!(desk.read("spoilt/report.html").contains(told));
    desk.does(&format!(
        "fit good.csv --states x,y --rates dx,dy {library} --out good"
    ));
    // A factor of 1 is written only if it is one up to rounding.
    let law = |folder: &str| laws(&desk, folder).replace("1*", "");
    assert_eq!(law("spoilt"), law("good"));
    // Statistics that were made elsewhere leave it out as well.
    desk.does(&format!(
        "stats data.csv --states x,y --rates dx,dy {library} --out part.stats"
    ));
    desk.ell0("fit part.stats --out parts").shows(told);
    assert_eq!(law("parts"), law("good"));
}
