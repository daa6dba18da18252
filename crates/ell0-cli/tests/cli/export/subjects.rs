//! Models, policies and networks to be exported, with random rows and what becomes of them.

use std::sync::LazyLock;

use crate::fixture::{Desk, LAW, model, policy, tool};

pub struct Subject {
    /// The file's name.
    pub name: &'static str,
    content: Vec<u8>,
    /// The names of its columns, if it knows them, as in a table.
    header: String,
    pub rows: Vec<Vec<f64>>,
    /// What becomes of the rows; None if nothing here can tell.
    pub want: Option<Vec<Vec<f64>>>,
    /// Relative to 1 + |output|.
    pub tolerance: f64,
    pub network: bool,
}

const PENDULUM: [&str; 3] = ["cos_theta", "sin_theta", "theta_dot"];

const LORENZ: [(&str, &str); 3] = [
    ("x", "-9.999812345678901*x + 10.000123*y"),
    ("y", "28.00001*x - y - x*z"),
    ("z", "x*y - 2.6666666666666665*z"),
];

const FUNCTIONS: [(&str, &str); 5] = [
    (
        "all",
        "exp(-a)*log(b) + sqrt(a*b) - abs(a - b)*sign(b - 1) + cos(3*a)*sin(b)",
    ),
    (
        "powers",
        "a^7 - 0.5*b^-3 + 1.25*(a + b)^2.5 - (a*b)^-0.75 + a^2*b^3 + 1e-3*(1 + a)^-1",
    ),
    ("nested", "-(-(a - 2*(b - 3*(a*b - 1))))*(a + b) - 1.5"),
    ("constant", "-2.5"),
    ("zero", "0"),
];

/// Names that no language takes as they are.
const NAMES: [&str; 12] = [
    "x 1", "θ", "int", "sin", "a\"b", "x_1", "*/", "power_2", "np", "input", "law", "y\\\n1",
];

const NAMED: [(&str, &str); 3] = [
    (
        "out put",
        "`x 1` + 2*θ^2 - sin(int)*`sin` + 0.5*`a\"b`*x_1 - `*/` + power_2 - np*input + law*`y\\\n1`",
    ),
    ("int", "cos(`sin`)"),
    ("\"", "θ"),
];

/// They are made once: networks are trained.
pub static SUBJECTS: LazyLock<Vec<Subject>> = LazyLock::new(|| {
    let continuous = |name, inputs: &[&str], equations: &[(&str, &str)]| {
        Subject::of_model(name, inputs, model("continuous", inputs, equations))
    };
    let desk = Desk::new();
    let train = "train --env pendulum(g=9.81,limit=20)";
    desk.does(&format!("{train} --episodes 52 --updates 2 --out formula"));
    desk.does(&format!(
        "{train} --episodes 52 --updates 2 --policy 'network(16, 16)' --out actor"
    ));
    // Long enough for gates to close.
    desk.does(&format!(
        "{train} --episodes 150 --updates 20 --policy 'sparse-network(16, 8)' --out gated"
    ));
    desk.does("tutorial dynamics --epochs 1 --out tutorial");
    let tutorial = "tutorial/models/sparse-network.safetensors";
    let trained = "policies/seed0.safetensors";
    // A checkpoint that holds a formula: the one that is written beside it, but for rounding.
    let checkpoint = format!("formula/{trained}");
    desk.does(&format!("export {checkpoint} --to json --name formula"));
    let model = desk.read("formula.json");
    let mut formula = Subject::of_model("formula.json", &PENDULUM, model);
    let place = formula.desk();
    place.put("beside.json", desk.read("formula/policies/seed0.json"));
    formula.compare(&predicted(&place, "beside.json"), true);
    (formula.name, formula.content) = ("formula.safetensors", desk.bytes(&checkpoint));
    let network = |name, inputs, file: &str| Subject::of_network(name, inputs, desk.bytes(file));
    vec![
        Subject::of_model("policy.json", &PENDULUM, policy(LAW)),
        continuous("lorenz.json", &["x", "y", "z"], &LORENZ),
        continuous("functions.json", &["a", "b", "unused"], &FUNCTIONS),
        continuous("names.json", &NAMES, &NAMED),
        formula,
        network("actor.safetensors", 3, &format!("actor/{trained}")),
        network("gated.safetensors", 3, &format!("gated/{trained}")),
        network("tutorial.safetensors", 4, tutorial),
    ]
});

impl Subject {
    fn new(name: &'static str, content: impl Into<Vec<u8>>, rows: Vec<Vec<f64>>) -> Self {
        Subject {
            name,
            content: content.into(),
            header: String::new(),
            rows,
            want: None,
            tolerance: 1e-12,
            network: false,
        }
    }

    /// A model, whose outputs `ell0 predict` tells.
    fn of_model(name: &'static str, inputs: &[&str], content: String) -> Self {
        // Logarithms and roots take positive numbers.
        let rows = random(inputs.len(), name == "functions.json");
        let mut subject = Subject::new(name, content, rows);
        let quoted = |name: &&str| format!("\"{}\"", name.replace('"', "\"\""));
        subject.header = inputs.iter().map(quoted).collect::<Vec<_>>().join(",");
        subject.want = Some(predicted(&subject.desk(), name));
        subject
    }

    /// A network. No command tells its outputs, but the exported C does, which has passed its self-test: pairs that the network itself has made.
    fn of_network(name: &'static str, inputs: usize, content: Vec<u8>) -> Self {
        let mut subject = Subject::new(name, content, random(inputs, false));
        (subject.network, subject.tolerance) = (true, 1e-5);
        if let Some(gcc) = tool("gcc") {
            let desk = subject.exported("c");
            super::test_itself(&desk, &gcc);
            subject.want = Some(super::computed_in_c(&desk, &gcc, "double", &subject));
        }
        subject
    }

    /// A desk with the subject and its rows.
    pub fn desk(&self) -> Desk {
        let table = |header: &str, between: &str| {
            let row = |row: &Vec<f64>| {
                let cells: Vec<String> = row.iter().map(f64::to_string).collect();
                cells.join(between) + "\n"
            };
            header.to_string() + &self.rows.iter().map(row).collect::<String>()
        };
        Desk::new()
            .with(self.name, &self.content)
            .with("rows.txt", table("", " "))
            .with("rows.csv", table(&format!("{}\n", self.header), ","))
    }

    /// A desk on which the subject is exported, with options.
    pub fn exported(&self, options: &str) -> Desk {
        let desk = self.desk();
        let line = format!("export {} --name law --to {options}", self.name);
        desk.does(&line);
        desk
    }

    /// Checks that |got − want| ≤ tolerance · (1 + |want|) throughout, with another tolerance in single precision.
    #[track_caller]
    pub fn compare(&self, got: &[Vec<f64>], single: bool) {
        let Some(want) = &self.want else { return };
        let tolerance = if single { 1e-5 } else { self.tolerance };
        assert_eq!(want.len(), got.len(), "{}: rows", self.name);
        for (row, (want, got)) in want.iter().zip(got).enumerate() {
            assert_eq!(want.len(), got.len(), "{}: row {row}", self.name);
            for (want, got) in want.iter().zip(got) {
                let close = (want - got).abs() <= tolerance * (1.0 + want.abs());
                assert!(close, "{}, row {row}: {got} instead of {want}", self.name);
            }
        }
    }
}

/// Rows of about normal numbers, or of positive ones, exact in single precision: then the same rows go to all.
fn random(columns: usize, positive: bool) -> Vec<Vec<f64>> {
    let mut state = 7u64;
    let mut uniform = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 40) as f64 / (1u64 << 24) as f64
    };
    let mut number = || {
        // The sum of twelve uniform numbers has variance 1.
        let value = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        f64::from(if positive { value.abs() + 0.125 } else { value } as f32)
    };
    let mut row = || (0..columns).map(|_| number()).collect();
    (0..256).map(|_| row()).collect()
}

/// What a model on the desk makes of the rows.
pub fn predicted(desk: &Desk, model: &str) -> Vec<Vec<f64>> {
    let table = desk.ell0(&format!("predict {model} rows.csv")).out();
    numbers(table.split_once('\n').expect("a header").1)
}

/// Text as rows.
pub fn numbers(text: &str) -> Vec<Vec<f64>> {
    let number = |v: &str| v.parse().unwrap_or_else(|_| panic!("no number: {v}"));
    let cells = |line: &str| {
        let cells = line.split([',', ' ']).filter(|c| !c.is_empty());
        cells.map(number).collect()
    };
    text.lines().map(cells).collect()
}
