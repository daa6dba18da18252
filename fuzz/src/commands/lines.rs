//! The commands one by one, with options that are right or wrong.

use super::grammar::Words;

const ENVIRONMENTS: [&str; 8] = [
    "pendulum(limit=10)",
    "pendulum(limit=10)",
    "pendulum(g=9.81, limit=10)",
    "pendulum(g=9.81, limit=12)",
    "pendulm",
    "pendulum(limit=0)",
    "pendulum(g=nan)",
    "",
];

const LIBRARIES: [&str; 13] = [
    "polynomial(1)",
    "polynomial(2)",
    "polynomial(3)",
    "fourier(1, interactions)",
    "polynomial(1) + functions(sin, exp)",
    "polynomial(1)[x]",
    "polynomial(101)",
    "polynomial(",
    "polynomial(2) only {x}",
    "x: polynomial(1)",
    "x,v: polynomial(2) + fourier(1)",
    "q: polynomial(1)",
    ": polynomial(1)",
];

const NUMBERS: [&str; 13] = [
    "0.5", "0", "1", "2", "3", "10", "0.1", "-1", "nan", "inf", "1e999", "x", "",
];

const TERMS: [&str; 9] = ["2", "0", "1", "1,2", "2,2,2", "100", "-1", "x", "1,,2"];

const PRICES: [&str; 8] = ["0.5", "0.1,0.2", "0", "1,2,3", "-1", "nan,1", "inf", "x"];

impl Words<'_> {
    /// One of the commands, with its arguments.
    pub(super) fn command(&mut self) {
        match self.dice.below(17) {
            0 | 1 => self.fit(),
            2 => self.stats(),
            3 => self.fit_statistics(),
            4 => {
                self.say(&["predict"]);
                self.path(&[".json", "model.json"]);
                self.path(&[".csv", ".parquet"]);
                let ending = *self
                    .dice
                    .pick(&[".csv", ".csv", ".parquet", ".parquet", ".npz"]);
                self.out(ending, 2);
            }
            5 => self.score(),
            6 => self.simulate(),
            7 | 8 => self.export(),
            9 => self.analyze(),
            10 => self.train(),
            11 => {
                self.say(&["rollout"]);
                self.path(&["policy.json", "seed0.json"]);
                self.environment();
                self.maybe("--state", &["3.14,0", "0", "nan,0", "1,2,3", "x"]);
                let ending = *self.dice.pick(&[".csv", ".parquet"]);
                self.out(ending, 1);
            }
            12 => {
                self.say(&["evaluate"]);
                self.path(&["policy.json", "seed0.json"]);
                self.environment();
                self.flag("--json", 2);
            }
            13 => {
                self.say(&["collect"]);
                self.environment();
                let episodes = self.one_of(&["2", "0", "1", "5", "-1", "x"]);
                self.say(&["--episodes", episodes]);
                let ending = *self
                    .dice
                    .pick(&[".csv", ".csv", ".parquet", ".parquet", ".npz"]);
                self.out(ending, 1);
            }
            14 => {
                self.say(&["report"]);
                for _ in 0..self.dice.between(1, 2) {
                    self.path(&["out0", "out1", "out2", "runs"]);
                }
                self.out(".html", 3);
            }
            15 => {
                self.say(&["show"]);
                self.path(&[".json", "out0", "out1"]);
                let how = *self.dice.pick(&["--pysindy", "--latex", "--json"]);
                self.flag(how, 2);
            }
            _ => self.small(),
        }
    }

    fn data(&mut self) {
        for _ in 0..self.dice.size(2) {
            self.path(&["data.csv", "more.csv", ".parquet"]);
        }
    }

    fn roles(&mut self) {
        match self.dice.below(6) {
            0 => {
                let inputs = self.one_of(&["a,b", "a", "a,a", "q", "x"]);
                let targets = self.one_of(&["y", "y,b", "name", ""]);
                self.say(&["--inputs", inputs, "--targets", targets]);
            }
            1 => self.say(&["--states", "x", "--controls", "v"]),
            2 => {
                let states = *self.dice.pick(&["x,q", "x,x", "", "t", "x,,v"]);
                self.say(&["--states", states]);
            }
            _ => self.say(&["--states", "x,v"]),
        }
        self.maybe("--library", &LIBRARIES);
        if self.dice.one_in(6) {
            let library = *self.dice.pick(&LIBRARIES);
            self.say(&["--library", library]);
        }
        if self.dice.one_in(4) {
            self.maybe("--time", &["t", "x", "none"]);
            self.maybe("--dt", &["0.05", "0", "-1", "nan", "inf", "1e999", "x", ""]);
            self.maybe("--trajectory", &["name", "t", "none"]);
        }
        self.maybe("--dynamics", &["discrete", "continuous", "other"]);
        let derivatives = [
            "auto",
            "fd2",
            "fd4",
            "savgol",
            "weak",
            "weak(3)",
            "savgol(7)",
            "weak(0)",
            "savgol(1000)",
            "weak(18446744073709551615)",
            "weak(",
            "given",
            "none",
        ];
        self.maybe("--derivative", &derivatives);
        if self.dice.one_in(6) {
            let rates = self.one_of(&["v,x", "v", "x,v", "v,v", "t,x", "q,x", "", "v,x,t"]);
            self.say(&["--rates", rates]);
        }
        self.flag("--drop-missing", 4);
    }

    fn fit(&mut self) {
        self.say(&["fit"]);
        if self.dice.one_in(8) {
            self.say(&["--config"]);
            self.path(&["config.toml"]);
        } else {
            self.data();
            self.roles();
            let methods = ["exact", "stlsq", "lasso", "ols", "none"];
            if self.dice.one_in(6) {
                self.say(&["--method", "stlsq"]);
            } else {
                self.maybe("--method", &methods);
            }
            if self.dice.one_in(6) {
                self.maybe("--threshold", &NUMBERS);
            }
            if self.dice.one_in(3) {
                self.maybe("--terms", &TERMS);
                self.maybe("--lambda", &PRICES);
                self.maybe("--prior", &NUMBERS);
                self.maybe(
                    "--criterion",
                    &["bic", "validation", "likelihood", "aic", ""],
                );
            }
        }
        self.out("", 2);
        self.flag("--json", 3);
    }

    fn fit_statistics(&mut self) {
        self.say(&["fit"]);
        for _ in 0..self.dice.size(2) {
            self.path(&[".stats"]);
        }
        self.maybe("--terms", &TERMS);
        self.maybe("--criterion", &["bic", "validation", "likelihood"]);
        self.out("", 2);
        self.flag("--json", 3);
    }

    fn stats(&mut self) {
        self.say(&["stats"]);
        self.data();
        self.roles();
        self.out(".stats", 1);
    }

    fn score(&mut self) {
        self.say(&["score"]);
        self.path(&["law.json", "map.json", "model.json", "out0"]);
        self.data();
        self.maybe("--dt", &["0.05", "0", "-1", "nan", "inf", "1e999", "x", ""]);
        if self.dice.one_in(4) {
            self.maybe(
                "--derivative",
                &["fd4", "weak(3)", "savgol(5)", "weak(1)", "weak(99)"],
            );
        } else if self.dice.one_in(4) {
            self.maybe("--rates", &["v,x", "v", "q,x", ""]);
        }
        self.flag("--drop-missing", 4);
        self.flag("--json", 2);
    }

    fn simulate(&mut self) {
        self.say(&["simulate"]);
        self.path(&["law.json", "map.json", "pushed.json", "model.json"]);
        let initial = [
            "x=1,v=0",
            "x=1",
            "x=1,v=nan",
            "x=1,v=1e308",
            "x=,v",
            "v=0,x=2",
        ];
        let initial = self.one_of(&initial);
        self.say(&["--initial", initial]);
        self.maybe("--duration", &["0.5", "1", "1e308", "-1", "0", "nan"]);
        self.maybe("--dt", &["0.1", "0.01", "1e-300", "0", "-1", "10"]);
        self.maybe("--steps", &["5", "0", "18446744073709551615", "-1"]);
        if self.dice.one_in(4) {
            self.say(&["--controls-from"]);
            self.path(&["data.csv"]);
        }
        self.out(".csv", 2);
    }

    fn export(&mut self) {
        self.say(&["export"]);
        self.path(&[".json", ".safetensors", "out0", "out1"]);
        let formats = [
            "c", "rust", "python", "sympy", "latex", "matlab", "onnx", "json", "fortran",
        ];
        let format = *self.dice.pick(&formats);
        self.say(&["--to", format]);
        self.maybe("--name", &["f", "int", "a b", "../x", "", "model"]);
        self.flag("--float", 4);
        self.out("", 2);
    }

    fn analyze(&mut self) {
        self.say(&["analyze"]);
        let seconds = self.one_of(&["0", "0.2", "0.2", "-1", "nan", "1e9", "x"]);
        self.say(&["--prove-seconds", seconds]);
        for (option, values) in [
            ("--uncertain", ["g=9.7:9.9", "mass=-1:1", "q=0:1"]),
            (
                "--disturb",
                ["torque=-0.1:0.1", "theta_dot=0:1", "nothing=0:1"],
            ),
            ("--stay", ["theta_dot=-6:6", "theta_dot=6:-6", "q=0:1"]),
            (
                "--avoid",
                ["theta=1:1.2,theta_dot=0:1", "theta=-9:9", "theta"],
            ),
        ] {
            if self.dice.one_in(6) {
                let value = self.one_of(&values);
                self.say(&[option, value]);
            }
        }
        // A loop takes seconds, a law does not.
        match self.dice.below(8) {
            0 => {
                let texts = [
                    "2*tanh(-8*sin_theta - 2*theta_dot)",
                    "0",
                    "sin_theta/0",
                    "q",
                    "torque = 0",
                    "",
                ];
                let text = self.one_of(&texts);
                self.say(&["--policy", text]);
                self.environment();
            }
            1..=6 => {
                self.path(&["law.json", "map.json", "model.json", "out0"]);
                if self.dice.one_in(2) {
                    self.say(&["--data"]);
                    self.path(&["data.csv"]);
                }
            }
            _ => {
                self.path(&["policy.json", "seed0.json"]);
                if self.dice.one_in(2) {
                    self.environment();
                }
            }
        }
        self.maybe("--bounds", &["x=-1:1,v=-2:2", "x=1:-1", "x", "q=0:1"]);
        self.out("", 2);
        self.flag("--json", 2);
    }

    fn train(&mut self) {
        self.say(&["train"]);
        if self.dice.one_in(4) {
            self.say(&["--resume", "--out"]);
            self.path(&["out0", "out1", "out2"]);
            return;
        }
        self.environment();
        let policies = [
            "polynomial(1)",
            "polynomial(2)",
            "network(4)",
            "sparse-network(4)",
            "network(0)",
            "network(",
        ];
        self.maybe("--policy", &policies);
        let episodes = self.one_of(&["3", "1", "0", "-1", "x"]);
        self.say(&["--episodes", episodes, "--updates", "3"]);
        self.maybe("--seeds", &["1", "2", "0", "1001", "x"]);
        self.maybe("--lambda", &["0.1", "0.1,0.2", "-1", "nan", "0.1,0.1"]);
        self.flag("--json", 3);
        self.out("", 1);
    }

    fn environment(&mut self) {
        let name = self.one_of(&ENVIRONMENTS);
        self.say(&["--env", name]);
    }

    fn small(&mut self) {
        match self.dice.below(3) {
            0 => {
                self.say(&["gates", "--repeats", "20"]);
                self.maybe("--log-alpha", &NUMBERS);
                self.maybe("--beta", &NUMBERS);
                self.maybe("--gamma", &["-0.2", "0", "1", "nan", "-1e308"]);
                self.maybe("--zeta", &["1.2", "1", "0", "nan", "1e308"]);
                self.maybe("--samples", &["4", "0", "1", "-1", "x"]);
                self.flag("--json", 2);
            }
            1 => {
                self.say(&["optimum"]);
                self.environment();
                let points = self.one_of(&["21", "3", "11", "1", "0", "x"]);
                self.say(&["--points", points]);
                self.maybe("--actions", &["2", "3", "1", "0"]);
                self.flag("--json", 2);
            }
            _ => {
                let shells = ["bash", "zsh", "fish", "none"];
                let shell = *self.dice.pick(&shells);
                self.say(&["completions", shell]);
            }
        }
    }
}
