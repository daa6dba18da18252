//! A folder to run commands in, what they did there, and what several tests know.

use std::{
    collections::BTreeMap,
    env, fs,
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;

/// The repository's folder.
pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A law of the pendulum whose return (−148.94) and eigenvalues (0.8390, −0.3528) are known from elsewhere.
pub const LAW: &str = "2*tanh(-4.66*sin_theta - 0.5*theta_dot - 3.82*cos_theta*theta_dot - 12.31*cos_theta*sin_theta)";

/// A file of the repository.
pub fn of_the_repository(name: &str) -> String {
    let path = Path::new(ROOT).join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn lorenz() -> String {
    of_the_repository("examples/lorenz.csv")
}

/// A model file.
pub fn model(dynamics: &str, inputs: &[&str], equations: &[(&str, &str)]) -> String {
    let equation = |(target, text): &(&str, &str)| json!({ "target": target, "expression": text });
    let equations: Vec<Value> = equations.iter().map(equation).collect();
    json!({ "format": "ell0-model", "version": 1, "inputs": inputs, "dynamics": dynamics, "equations": equations })
        .to_string()
}

/// A policy of the pendulum as a model file.
pub fn policy(expression: &str) -> String {
    let inputs = ["cos_theta", "sin_theta", "theta_dot"];
    model("regression", &inputs, &[("torque", expression)])
}

/// P(z > t) of a hard-concrete gate: σ(log α − β log((t − γ) / (ζ − t))).
pub fn prob_above(t: f64, log_alpha: f64, [beta, gamma, zeta]: [f64; 3]) -> f64 {
    1.0 / (1.0 + (beta * ((t - gamma) / (zeta - t)).ln() - log_alpha).exp())
}

/// All files and folders under a folder, in their order.
pub fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    let inside = paths.iter().filter(|p| p.is_dir()).flat_map(|p| walk(p));
    paths.extend(inside.collect::<Vec<_>>());
    paths.sort();
    paths
}

/// A temporary folder in which commands are run.
pub struct Desk(TempDir);

impl Desk {
    pub fn new() -> Self {
        Desk(tempfile::tempdir().expect("a folder"))
    }

    /// The same desk with one more file on it.
    pub fn with(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        self.put(name, content);
        self
    }

    /// Writes a file, and makes the folders that it needs.
    pub fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, content).expect("written");
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    #[track_caller]
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    #[track_caller]
    pub fn read(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).expect("UTF-8")
    }

    #[track_caller]
    pub fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The names of all files and folders inside, in their order.
    pub fn files(&self) -> Vec<String> {
        let name = |path: PathBuf| {
            let inside = path.strip_prefix(&self.0).expect("inside");
            inside.display().to_string()
        };
        walk(self.0.path()).into_iter().map(name).collect()
    }

    /// Runs `ell0` with the words of a line.
    pub fn ell0(&self, line: &str) -> Done {
        let done = Done::new(line, &mut self.command(line));
        assert!(!done.stdout.contains('\u{fffd}'), "{line}: no UTF-8");
        done
    }

    /// Runs `ell0` in a folder of the desk.
    pub fn within(&self, folder: &str, line: &str) -> Done {
        let mut command = self.command(line);
        Done::new(line, command.current_dir(self.path(folder)))
    }

    /// Runs `ell0`, which must succeed, for what it leaves behind.
    #[track_caller]
    pub fn does(&self, line: &str) {
        let _ = self.ell0(line).ok();
    }

    /// Starts `ell0` with the words of a line; what it prints is in pipes.
    pub fn start(&self, line: &str) -> Running {
        let mut command = self.command(line);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Running(child.spawn().expect("the binary runs"))
    }

    /// Runs another program, which must succeed; `rows.txt`, if there is one, is its input.
    #[track_caller]
    pub fn run(&self, program: &str, arguments: &str) -> String {
        self.program(program, arguments).out()
    }

    /// Runs another program.
    pub fn program(&self, program: &str, arguments: &str) -> Done {
        // A program of the folder itself is looked for there, on every system.
        let place = match program.strip_prefix("./") {
            Some(name) => self.path(name),
            None => program.into(),
        };
        let input = match fs::File::open(self.path("rows.txt")) {
            Ok(file) => file.into(),
            Err(_) => Stdio::null(),
        };
        let mut command = Command::new(place);
        command.args(words(arguments)).current_dir(&self.0);
        Done::new(&format!("{program} {arguments}"), command.stdin(input))
    }

    /// Checks of each `command line | words` that the line fails (1), says the words, prints nothing else and leaves the files as they are.
    #[track_caller]
    pub fn all_fail(&self, cases: &str) {
        self.fail_with(1, cases);
    }

    /// The same of lines that are wrong in themselves (2).
    #[track_caller]
    pub fn all_misused(&self, cases: &str) {
        self.fail_with(2, cases);
    }

    #[track_caller]
    fn fail_with(&self, code: i32, cases: &str) {
        let state = || -> BTreeMap<String, Option<Vec<u8>>> {
            // The place for runs may be there; a run may not.
            let names = self.files().into_iter().filter(|name| name != "runs");
            names
                .map(|name| (name.clone(), fs::read(self.path(&name)).ok()))
                .collect()
        };
        let before = state();
        for case in cases.trim().lines() {
            let (line, words) = case.split_once('|').expect("a line | words");
            let shown = self.ell0(line).fails(code, words.trim());
            assert_eq!(shown, "", "{line} prints");
            let after = state();
            assert!(
                after.keys().eq(before.keys()),
                "{line} leaves {:?}",
                after.keys()
            );
            let changed = after.keys().find(|name| after[*name] != before[*name]);
            assert_eq!(changed, None, "{line} changes a file");
        }
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ell0"));
        command.args(words(line)).current_dir(&self.0);
        command
    }
}

/// What a command did.
#[must_use]
pub struct Done {
    line: String,
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Done {
    fn new(line: &str, command: &mut Command) -> Self {
        let output = command
            .output()
            .unwrap_or_else(|error| panic!("{line}: {error}"));
        // Other programs may cut a letter in two.
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Done {
            line: line.into(),
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    #[track_caller]
    pub fn ok(self) -> Self {
        let Done { line, stdout, .. } = &self;
        assert_eq!(self.code, Some(0), "{line}: {stdout}{}", self.stderr);
        self
    }

    /// What a command that succeeded printed.
    #[track_caller]
    pub fn out(self) -> String {
        self.ok().stdout
    }

    /// The one JSON value that a command that succeeded printed.
    #[track_caller]
    pub fn json(self) -> Value {
        let out = self.out();
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error} in {out}"))
    }

    /// What a command that succeeded printed, all of `words | words` among it.
    #[track_caller]
    pub fn shows(self, all: &str) -> String {
        let shown = self.out();
        for words in all.split(" | ") {
            assert!(shown.contains(words), "no `{words}` in\n{shown}");
        }
        shown
    }

    /// What a command printed that failed with the code and said the words.
    #[track_caller]
    pub fn fails(self, code: i32, words: &str) -> String {
        let Done { line, stderr, .. } = &self;
        assert_eq!(self.code, Some(code), "{line}: {stderr}");
        assert!(stderr.contains(words), "{line}: no `{words}` in\n{stderr}");
        self.stdout
    }
}

/// A process that ends with its test, however that ends.
pub struct Running(pub Child);

impl Running {
    /// Waits until the process has made a file.
    pub fn wait_for(&mut self, file: &Path) {
        let began = Instant::now();
        while !file.exists() {
            let ended = self.0.try_wait().expect("a status");
            assert!(ended.is_none(), "{ended:?} without {}", file.display());
            // A busy machine may be slow to begin.
            let waited = began.elapsed() < Duration::from_secs(120);
            assert!(waited, "there is no {}", file.display());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for its end: the exit code, and what it wrote on the standard error.
    pub fn end(mut self) -> (Option<i32>, String) {
        let mut errors = String::new();
        let pipe = self.0.stderr.as_mut().expect("a pipe");
        pipe.read_to_string(&mut errors).expect("UTF-8");
        (self.0.wait().expect("a status").code(), errors)
    }

    /// Kills it in the middle of its work; false if it had ended before.
    pub fn kill_after(mut self, milliseconds: u64) -> bool {
        std::thread::sleep(Duration::from_millis(milliseconds));
        self.0.try_wait().expect("a status").is_none()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Words of a command line; single or double quotes hold words together.
pub fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (None, ' ') => words.extend(word.take()),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some(open), c) if c == open => quote = None,
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    assert!(quote.is_none(), "an open quote in {line}");
    words.extend(word);
    words
}

#[test]
fn a_line_is_split_as_a_shell_would() {
    let line = r#"fit  a.csv --out '' --library "polynomial(2, 'x')" x="1 2" "#;
    let want = ["fit", "a.csv", "--out", "", "--library"];
    assert_eq!(words(line)[..5], want);
    assert_eq!(words(line)[5..], ["polynomial(2, 'x')", "x=1 2"]);
}

/// The program that is a tool: `gcc`, `chromium`, or a Python (`$ELL0_PYTHON`, else `python3`) as `python` with the module that it must have.
///
/// A tool that is not there is printed and skipped, but where CI is set: there it should be.
pub fn tool(name: &str) -> Option<String> {
    let python = env::var("ELL0_PYTHON").unwrap_or_else(|_| "python3".into());
    let (programs, probe) = match name.strip_prefix("python ") {
        Some(module) => (vec![&*python], format!("-c 'import numpy, {module}'")),
        None if name == "chromium" => (
            vec!["chromium", "chromium-browser", "google-chrome", "chrome"],
            "--version".into(),
        ),
        None => (vec![name], "--version".into()),
    };
    let works = |program: &&str| {
        let output = Command::new(program).args(words(&probe)).output();
        output.is_ok_and(|output| output.status.success())
    };
    let found = programs.into_iter().find(works).map(String::from);
    if found.is_none() {
        let ci = env::var("CI").unwrap_or_default();
        missing(name, !["", "false"].contains(&&*ci));
    }
    found
}

fn missing(name: &str, in_ci: bool) {
    assert!(!in_ci, "{name} is missing, and CI skips nothing");
    println!("skipped: {name} is missing");
}

#[test]
fn a_missing_tool_fails_in_ci_only() {
    missing("teleprinter", false);
    let panic = std::panic::catch_unwind(|| missing("teleprinter", true)).expect_err("a failure");
    let said = panic.downcast_ref::<String>().expect("a text");
    assert!(said.contains("teleprinter"), "{said}");
}

#[track_caller]
pub fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("no number: {value}"))
}

#[track_caller]
pub fn list(value: &Value) -> &Vec<Value> {
    value
        .as_array()
        .unwrap_or_else(|| panic!("no list: {value}"))
}

#[track_caller]
pub fn numbers(value: &Value) -> Vec<f64> {
    list(value).iter().map(number).collect()
}

#[track_caller]
pub fn near(got: f64, want: f64, tolerance: f64) {
    assert!((got - want).abs() < tolerance, "{got} instead of {want}");
}
