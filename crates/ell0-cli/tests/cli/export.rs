//! `ell0 export`: what it writes is compiled and run with the tools of each language, and compared with the model itself.

mod subjects;

use crate::fixture::{Desk, LAW, model, policy, tool};
use subjects::{SUBJECTS, Subject, numbers, predicted};

/// Exports every subject in double and in single precision, and compares what becomes of its rows.
fn both_precisions(format: &str, compute: impl Fn(&Desk, &Subject, bool) -> Vec<Vec<f64>>) {
    for subject in SUBJECTS.iter() {
        for single in [false, true] {
            let desk =
                subject.exported(&format!("{format}{}", if single { " --float" } else { "" }));
            subject.compare(&compute(&desk, subject, single), single);
        }
    }
}

const STRICT: &str = "-std=c99 -Wall -Wextra -pedantic -Werror -O2";

/// What the exported function makes of the rows, by a C program that reads and prints them.
fn computed_in_c(desk: &Desk, gcc: &str, real: &str, subject: &Subject) -> Vec<Vec<f64>> {
    let program = r#"#include <stdio.h>
#include "law.h"
int main(void) {
  REAL x[LAW_INPUTS], y[LAW_OUTPUTS]; double v;
  for (;;) {
    for (int k = 0; k < COLUMNS; ++k) { if (scanf("%lf", &v) != 1) return 0; x[k] = (REAL)v; }
    if (law(x, y) != 0) return 1;
    for (int k = 0; k < LAW_OUTPUTS; ++k) printf("%.17g ", (double)y[k]);
    printf("\n");
  }
}
"#;
    let columns = subject.rows[0].len().to_string();
    let program = program.replace("REAL", real).replace("COLUMNS", &columns);
    desk.put("run.c", program);
    desk.run(gcc, &format!("{STRICT} run.c law.c -o run -lm"));
    numbers(&desk.run("./run", ""))
}

fn test_itself(desk: &Desk, gcc: &str) {
    desk.run(gcc, &format!("{STRICT} -DLAW_SELF_TEST law.c -o self -lm"));
    assert_eq!(desk.run("./self", ""), "law: 8 pairs, 0 wrong\n");
}

#[test]
fn c_computes_the_same() {
    let Some(gcc) = tool("gcc") else { return };
    both_precisions("c", |desk, subject, single| {
        test_itself(desk, &gcc);
        let real = if single { "float" } else { "double" };
        computed_in_c(desk, &gcc, real, subject)
    });
}

#[test]
fn c_refuses_what_is_not_finite_and_its_self_test_notices() {
    let Some(gcc) = tool("gcc") else { return };
    let root = model("continuous", &["x"], &[("y", "sqrt(x)"), ("z", "x")]);
    let desk = Desk::new().with("root.json", root);
    desk.does("export root.json --to c");
    let program = r#"#include <math.h>
#include <stdio.h>
#include "model.h"
int main(void) {
  const double inputs[4] = {4.0, NAN, -1.0, INFINITY};
  for (int k = 0; k < 4; ++k) { double y[2]; int s = model(&inputs[k], y); printf("%d %g %g\n", s, y[0], y[1]); }
  return 0;
}
"#;
    desk.put("run.c", program);
    desk.run(&gcc, "-std=c99 run.c model.c -o run -lm");
    let want = "0 2 4\n1 0 0\n2 0 0\n1 0 0\n";
    assert_eq!(desk.run("./run", ""), want);
    let source = desk.read("model.c");
    let wrong = source.replace("output[1] = x", "output[1] = x + 1e-9");
    assert_ne!(wrong, source);
    desk.put("model.c", wrong);
    desk.run(&gcc, "-std=c99 -DMODEL_SELF_TEST model.c -o self -lm");
    assert_ne!(desk.program("./self", "").code, Some(0));
}

#[test]
fn rust_computes_the_same() {
    let Some(rustc) = tool("rustc") else { return };
    let strict = "--edition 2021 -O -D warnings --check-cfg cfg(test)";
    let program = r#"#[path = "law.rs"] pub mod law;
fn main() {
    assert_eq!((law::INPUTS.len(), law::OUTPUTS.len()), SIZES);
    for line in std::io::stdin().lines() {
        let x: Vec<REAL> = line.unwrap().split_whitespace().map(|v| v.parse().unwrap()).collect();
        let y = law::law(&x.try_into().unwrap());
        println!("{}", y.map(|v| v.to_string()).join(" "));
    }
}
"#;
    both_precisions("rust", |desk, subject, single| {
        let outputs = subject.want.as_ref().map(|want| want[0].len());
        let outputs = outputs.map_or("law::OUTPUTS.len()".into(), |n| n.to_string());
        let sizes = format!("({}, {outputs})", subject.rows[0].len());
        let real = if single { "f32" } else { "f64" };
        desk.put(
            "run.rs",
            program.replace("SIZES", &sizes).replace("REAL", real),
        );
        desk.run(&rustc, &format!("{strict} run.rs -o run"));
        desk.run(&rustc, &format!("{strict} --test law.rs -o self"));
        assert!(
            desk.run("./self", "").contains("1 passed"),
            "{}",
            subject.name
        );
        numbers(&desk.run("./run", ""))
    });
}

/// Without the standard library: a crate `libm` in its place, here a stand-in with the same functions.
#[test]
fn rust_does_without_its_standard_library() {
    let Some(rustc) = tool("rustc") else { return };
    let law = "tanh(x)^3 + exp(x)*abs(x) + x^2.5 + sign(x) + log(x)";
    let desk = Desk::new().with("law.json", model("continuous", &["x"], &[("y", law)]));
    desk.does("export law.json --to rust --name law");
    let function = |name| format!("pub fn {name}(x: f64) -> f64 {{ x }}\n");
    let functions = ["tanh", "exp", "fabs", "log"].map(function).concat();
    let power = "pub fn pow(x: f64, _: f64) -> f64 { x }\n";
    desk.put("libm.rs", format!("#![no_std]\n{functions}{power}"));
    desk.put("bare.rs", "#![no_std]\npub mod law;\n");
    desk.run(&rustc, "--crate-type lib libm.rs");
    let with = "--cfg 'feature=\"libm\"' --extern libm=liblibm.rlib";
    let line = format!("--edition 2021 --crate-type lib -D warnings {with} bare.rs");
    desk.run(&rustc, &line);
}

/// Compares `y`, which a Python program with a module makes of the rows `x`.
fn computed_in_python(module: &str, formats: &[&str], program: &str) {
    let Some(python) = tool(&format!("python {module}")) else {
        return;
    };
    let begin = "import sys\nsys.path.insert(0, '.')\nimport numpy as np\nx = np.loadtxt('rows.txt', ndmin=2)\n";
    let end = "for row in y: print(*map(repr, map(float, row)))\n";
    // SymPy has equations only.
    for subject in SUBJECTS.iter().filter(|s| !s.network || module != "sympy") {
        for format in formats {
            let desk = subject.exported(format);
            desk.put("run.py", format!("{begin}{program}{end}"));
            let rows = numbers(&desk.run(&python, "run.py"));
            subject.compare(&rows, format.contains("--float"));
        }
    }
}

#[test]
fn python_computes_the_same() {
    let program = r#"import law
y = law.law(x)
assert y.shape == (len(x), len(law.OUTPUTS)) and law.law(x[0]).shape == (len(law.OUTPUTS),)
np.testing.assert_allclose(law.law(x[0]), y[0], rtol=1e-12, atol=1e-12)
try:
    law.law(np.zeros((2, x.shape[1] + 1)))
    sys.exit('a wrong shape passed')
except ValueError:
    pass
"#;
    computed_in_python("numpy", &["python"], program);
}

#[test]
fn sympy_computes_the_same() {
    let program = r#"import sympy as sp
import law_sympy as law
f = sp.lambdify(law.inputs, law.expressions, 'numpy')
y = np.stack([np.broadcast_to(v, len(x)) for v in f(*x.T)], axis=1)
"#;
    computed_in_python("sympy", &["sympy"], program);
}

#[test]
fn onnx_computes_the_same() {
    let program = r#"import json, onnxruntime as ort
s = ort.InferenceSession('law.onnx', providers=['CPUExecutionProvider'])
i = s.get_inputs()[0]
kind = {'tensor(double)': np.float64, 'tensor(float)': np.float32}[i.type]
y = s.run(None, {i.name: x.astype(kind)})[0]
names = s.get_modelmeta().custom_metadata_map
assert len(json.loads(names['inputs'])) == x.shape[1]
assert y.shape == (len(x), len(json.loads(names['outputs'])))
assert s.run(None, {i.name: x[:1].astype(kind)})[0].shape[0] == 1
"#;
    computed_in_python("onnxruntime", &["onnx", "onnx --float"], program);
}

#[test]
fn matlab_computes_the_same() {
    let Some(octave) = tool("octave-cli") else {
        return;
    };
    let program =
        "x = load('rows.txt'); y = law(x); printf([repmat('%.17g ', 1, columns(y)) '\\n'], y');";
    for subject in SUBJECTS.iter() {
        let line = format!("--norc --eval \"{program}\"");
        let rows = subject.exported("matlab").run(&octave, &line);
        subject.compare(&numbers(&rows), false);
    }
}

#[test]
fn json_and_latex_hold_the_equations() {
    for subject in SUBJECTS.iter().filter(|s| !s.network) {
        let desk = subject.exported("json");
        let want = subject.want.as_ref().expect("predicted");
        assert_eq!(&predicted(&desk, "law.json"), want, "{}", subject.name);
        let text = subject.exported("latex").read("law.tex");
        assert!(text.starts_with("\\begin{align*}\n") && text.ends_with("\\end{align*}\n"));
        assert_eq!(text.matches("&=").count(), want[0].len());
    }
}

/// Letters beyond ASCII need an engine that knows them.
#[test]
fn latex_can_be_set() {
    let Some(latex) = tool("lualatex") else {
        return;
    };
    for subject in SUBJECTS.iter().filter(|s| !s.network) {
        let desk = subject.exported("latex");
        let begin = "\\documentclass{article}\\usepackage{amsmath}\\begin{document}";
        let document = format!("{begin}\n{}\\end{{document}}\n", desk.read("law.tex"));
        desk.put("document.tex", document);
        desk.run(
            &latex,
            "-interaction=nonstopmode -halt-on-error document.tex",
        );
    }
}

#[test]
fn closed_gates_are_not_exported() {
    let gated = SUBJECTS.iter().find(|s| s.name == "gated.safetensors");
    let source = gated.expect("a gated policy").exported("c").read("law.c");
    let widths = source.split_once("network of widths ").expect("widths").1;
    assert!(!widths.starts_with("3, 16, 8, 1"), "no gate is closed");
}

#[test]
fn the_command_says_what_it_did_and_refuses_what_it_cannot() {
    let desk = Desk::new().with("policy.json", policy(LAW));
    let line = "export policy.json --to c --out made/here";
    assert_eq!(
        desk.ell0(line).out(),
        "made/here/policy.h\nmade/here/policy.c\nSelf-test: cc -std=c99 -O2 -DPOLICY_SELF_TEST made/here/policy.c -o made/here/policy_test -lm && ./made/here/policy_test\n"
    );
    desk.all_fail(&format!("{line} | --force"));
    desk.does(&format!("{line} --force"));
    desk.put("broken.safetensors", "not this");
    desk.all_misused("export policy.json --to fortran | latex");
    desk.all_fail(
        "
        export policy.json --to c --name double | `double_model`
        export policy.json --to sympy --float | c, rust and onnx
        export nothing.json --to c | nothing.json
        export broken.safetensors --to c | broken.safetensors
    ",
    );
    let network = SUBJECTS.iter().find(|s| s.network).expect("a network");
    for format in ["sympy", "latex", "json"] {
        let line = format!("export {} --to {format}", network.name);
        let words = "c, rust, python, matlab and onnx";
        network.desk().all_fail(&format!("{line} | {words}"));
    }
}
