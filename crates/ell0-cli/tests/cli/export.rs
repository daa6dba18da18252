//! `ell0 export`: what it writes is compiled and run with the tools of each language, and compared with the model itself.

mod models;
mod tools;

use std::{fs, path::Path};

use crate::ell0;
use models::{Subject, subjects};
use tools::{compare, python, rows, run, stderr, stdout, table};

/// Exports a subject in a format, with more arguments.
fn export(folder: &Path, subject: &Subject, format: &str, more: &[&str]) {
    let mut arguments = vec!["export", &subject.file, "--to", format, "--name", "law"];
    arguments.extend_from_slice(more);
    let output = ell0(folder, &arguments);
    assert!(
        output.status.success(),
        "{} to {format}: {}",
        subject.file,
        stderr(&output)
    );
}

/// Runs a check on every subject, each in a folder of its own.
fn each(mut check: impl FnMut(&Path, &Subject)) {
    let folder = tempfile::tempdir().expect("a folder");
    for (index, subject) in subjects(folder.path()).iter().enumerate() {
        let place = folder.path().join(index.to_string());
        fs::create_dir(&place).expect("a folder");
        fs::write(place.join("rows.txt"), table(&subject.rows)).expect("written");
        check(&place, subject);
    }
}

/// A C program that reads rows and prints what the exported function makes of them.
fn c_program(real: &str, subject: &Subject) -> String {
    let (n, m) = (subject.rows[0].len(), subject.want[0].len());
    format!(
        "#include <stdio.h>\n#include \"law.h\"\nint main(void) {{\n  {real} x[LAW_INPUTS], y[LAW_OUTPUTS]; double v;\n  for (;;) {{\n    \
         for (int k = 0; k < {n}; ++k) {{ if (scanf(\"%lf\", &v) != 1) return 0; x[k] = ({real})v; }}\n    \
         if (law(x, y) != 0) return 1;\n    for (int k = 0; k < {m}; ++k) printf(\"%.17g \", (double)y[k]);\n    printf(\"\\n\");\n  }}\n}}\n"
    )
}

const STRICT: [&str; 6] = [
    "-std=c99",
    "-Wall",
    "-Wextra",
    "-pedantic",
    "-Werror",
    "-O2",
];

#[test]
fn c_computes_the_same() {
    each(|folder, subject| {
        for (more, real, tolerance) in [
            (&[][..], "double", subject.tolerance),
            (&["--float", "--force"][..], "float", 1e-5),
        ] {
            export(folder, subject, "c", more);
            fs::write(folder.join("run.c"), c_program(real, subject)).expect("written");
            let mut arguments = STRICT.to_vec();
            arguments.extend(["run.c", "law.c", "-o", "run", "-lm"]);
            if run(folder, "gcc", &arguments, None).is_none() {
                return;
            }
            let input = fs::read(folder.join("rows.txt")).expect("read");
            let output = run(folder, "./run", &[], Some(&input)).expect("it runs");
            compare(
                &subject.want,
                &rows(&output),
                tolerance,
                &format!("{} {real}", subject.file),
            );
            // The self-test, and that it would notice.
            let mut arguments = STRICT.to_vec();
            arguments.extend(["-DLAW_SELF_TEST", "law.c", "-o", "self", "-lm"]);
            run(folder, "gcc", &arguments, None).expect("it compiles");
            let output = run(folder, "./self", &[], None).expect("it runs");
            assert_eq!(output, "law: 8 pairs, 0 wrong\n", "{}", subject.file);
        }
    });
}

#[test]
fn c_refuses_what_is_not_finite_and_its_self_test_notices() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    models::write(path, "root.json", &["x"], &[("y", "sqrt(x)"), ("z", "x")]);
    assert!(
        ell0(path, &["export", "root.json", "--to", "c"])
            .status
            .success()
    );
    let program = "#include <math.h>\n#include <stdio.h>\n#include \"model.h\"\nint main(void) {\n  const double inputs[4] = {4.0, NAN, -1.0, INFINITY};\n  \
                   for (int k = 0; k < 4; ++k) { double y[2]; int s = model(&inputs[k], y); printf(\"%d %g %g\\n\", s, y[0], y[1]); }\n  return 0;\n}\n";
    fs::write(path.join("run.c"), program).expect("written");
    if run(
        path,
        "gcc",
        &["-std=c99", "run.c", "model.c", "-o", "run", "-lm"],
        None,
    )
    .is_none()
    {
        return;
    }
    let output = run(path, "./run", &[], None).expect("it runs");
    assert_eq!(output, "0 2 4\n1 0 0\n2 0 0\n1 0 0\n");
    let source = fs::read_to_string(path.join("model.c")).expect("read");
    fs::write(
        path.join("model.c"),
        source.replace("output[1] = x", "output[1] = x + 1e-9"),
    )
    .expect("written");
    run(
        path,
        "gcc",
        &[
            "-std=c99",
            "-DMODEL_SELF_TEST",
            "model.c",
            "-o",
            "self",
            "-lm",
        ],
        None,
    )
    .expect("it compiles");
    let status = std::process::Command::new(path.join("self"))
        .status()
        .expect("it runs");
    assert!(!status.success());
}

#[test]
fn rust_computes_the_same() {
    each(|folder, subject| {
        for (more, real, tolerance) in [
            (&[][..], "f64", subject.tolerance),
            (&["--float", "--force"][..], "f32", 1e-5),
        ] {
            export(folder, subject, "rust", more);
            let (n, m) = (subject.rows[0].len(), subject.want[0].len());
            let program = format!(
                "#[path = \"law.rs\"] pub mod law;\nuse std::io::Read;\nfn main() {{\n    let mut text = String::new();\n    std::io::stdin().read_to_string(&mut text).unwrap();\n    \
                 assert_eq!((law::INPUTS.len(), law::OUTPUTS.len()), ({n}, {m}));\n    for line in text.lines() {{\n        let x: Vec<{real}> = line.split_whitespace().map(|v| v.parse().unwrap()).collect();\n        \
                 let y = law::law(&x.try_into().unwrap());\n        println!(\"{{}}\", y.map(|v| v.to_string()).join(\" \"));\n    }}\n}}\n"
            );
            fs::write(folder.join("run.rs"), program).expect("written");
            let strict = [
                "--edition",
                "2021",
                "-O",
                "-D",
                "warnings",
                "--check-cfg",
                "cfg(test)",
            ];
            let with = |last: &[&'static str]| [&strict[..], last].concat();
            if run(folder, "rustc", &with(&["run.rs", "-o", "run"]), None).is_none() {
                return;
            }
            let input = fs::read(folder.join("rows.txt")).expect("read");
            let output = run(folder, "./run", &[], Some(&input)).expect("it runs");
            compare(
                &subject.want,
                &rows(&output),
                tolerance,
                &format!("{} {real}", subject.file),
            );
            run(
                folder,
                "rustc",
                &with(&["--test", "law.rs", "-o", "self"]),
                None,
            )
            .expect("it compiles");
            run(folder, "./self", &[], None).expect("its own test passes");
        }
    });
}

/// Without the standard library: a crate `libm` in its place, here a stand-in with the same functions.
#[test]
fn rust_does_without_its_standard_library() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    models::write(
        path,
        "law.json",
        &["x"],
        &[("y", "tanh(x)^3 + exp(x)*abs(x) + x^2.5 + sign(x) + log(x)")],
    );
    assert!(
        ell0(
            path,
            &["export", "law.json", "--to", "rust", "--name", "law"]
        )
        .status
        .success()
    );
    let names =
        ["tanh", "exp", "fabs", "log"].map(|f| format!("pub fn {f}(x: f64) -> f64 {{ x }}"));
    let stand_in = format!(
        "#![no_std]\n{}\npub fn pow(x: f64, _: f64) -> f64 {{ x }}\n",
        names.join("\n")
    );
    fs::write(path.join("libm.rs"), stand_in).expect("written");
    fs::write(path.join("bare.rs"), "#![no_std]\npub mod law;\n").expect("written");
    if run(path, "rustc", &["--crate-type", "lib", "libm.rs"], None).is_none() {
        return;
    }
    let arguments = [
        "--edition",
        "2021",
        "--crate-type",
        "lib",
        "-D",
        "warnings",
        "--cfg",
        "feature=\"libm\"",
        "--extern",
        "libm=liblibm.rlib",
        "bare.rs",
    ];
    run(path, "rustc", &arguments, None).expect("it compiles without the standard library");
}

#[test]
fn python_computes_the_same() {
    each(|folder, subject| {
        export(folder, subject, "python", &[]);
        let program = "import sys\nsys.path.insert(0, '.')\nimport numpy as np\nimport law\nx = np.loadtxt('rows.txt', ndmin=2)\ny = law.law(x)\n\
                       assert y.shape == (len(x), len(law.OUTPUTS)) and law.law(x[0]).shape == (len(law.OUTPUTS),)\n\
                       np.testing.assert_allclose(law.law(x[0]), y[0], rtol=1e-12, atol=1e-12)\n\
                       try:\n    law.law(np.zeros((2, x.shape[1] + 1)))\n    sys.exit('a wrong shape passed')\nexcept ValueError:\n    pass\n\
                       for row in y: print(*map(repr, map(float, row)))\n";
        if let Some(output) = python(folder, "numpy", program) {
            compare(
                &subject.want,
                &rows(&output),
                subject.tolerance,
                &subject.file,
            );
        }
    });
}

#[test]
fn sympy_computes_the_same() {
    each(|folder, subject| {
        if subject.network {
            return;
        }
        export(folder, subject, "sympy", &[]);
        let program = "import sys\nsys.path.insert(0, '.')\nimport numpy as np\nimport sympy as sp\nimport law_sympy as law\nx = np.loadtxt('rows.txt', ndmin=2)\n\
                       f = sp.lambdify(law.inputs, law.expressions, 'numpy')\ny = np.stack([np.broadcast_to(v, len(x)) for v in f(*x.T)], axis=1)\n\
                       for row in y: print(*map(repr, map(float, row)))\n";
        if let Some(output) = python(folder, "sympy", program) {
            compare(&subject.want, &rows(&output), 1e-12, &subject.file);
        }
    });
}

#[test]
fn onnx_computes_the_same() {
    each(|folder, subject| {
        for (more, tolerance) in [
            (&[][..], subject.tolerance),
            (&["--float", "--force"][..], 1e-5),
        ] {
            export(folder, subject, "onnx", more);
            let program = "import json, numpy as np\nimport onnxruntime as ort\nx = np.loadtxt('rows.txt', ndmin=2)\n\
                           s = ort.InferenceSession('law.onnx', providers=['CPUExecutionProvider'])\ni = s.get_inputs()[0]\n\
                           kind = {'tensor(double)': np.float64, 'tensor(float)': np.float32}[i.type]\ny = s.run(None, {i.name: x.astype(kind)})[0]\n\
                           names = s.get_modelmeta().custom_metadata_map\nassert len(json.loads(names['inputs'])) == x.shape[1]\n\
                           assert y.shape == (len(x), len(json.loads(names['outputs'])))\nassert s.run(None, {i.name: x[:1].astype(kind)})[0].shape[0] == 1\n\
                           for row in y: print(*map(repr, map(float, row)))\n";
            if let Some(output) = python(folder, "onnxruntime", program) {
                compare(&subject.want, &rows(&output), tolerance, &subject.file);
            }
        }
    });
}

#[test]
fn matlab_computes_the_same() {
    each(|folder, subject| {
        export(folder, subject, "matlab", &[]);
        let program = "x = load('rows.txt'); y = law(x); printf([repmat('%.17g ', 1, columns(y)) '\\n'], y');";
        if let Some(output) = run(folder, "octave-cli", &["--norc", "--eval", program], None) {
            compare(
                &subject.want,
                &rows(&output),
                subject.tolerance,
                &subject.file,
            );
        }
    });
}

#[test]
fn json_and_latex_hold_the_equations() {
    each(|folder, subject| {
        if subject.network {
            return;
        }
        export(folder, subject, "json", &[]);
        let model = fs::read_to_string(folder.join("law.json")).expect("read");
        let model = ell0::equation::Model::from_json(&model).expect("a model");
        for (row, want) in subject.rows.iter().zip(&subject.want) {
            assert_eq!(&model.predict(row, 1).expect("predicts"), want);
        }
        export(folder, subject, "latex", &[]);
        let text = fs::read_to_string(folder.join("law.tex")).expect("read");
        assert!(text.starts_with("\\begin{align*}\n") && text.ends_with("\\end{align*}\n"));
        assert_eq!(text.matches("&=").count(), subject.want[0].len());
        let document = format!(
            "\\documentclass{{article}}\\usepackage{{amsmath}}\\begin{{document}}\n{text}\\end{{document}}\n"
        );
        fs::write(folder.join("document.tex"), document).expect("written");
        // Letters beyond ASCII need an engine that knows them.
        run(
            folder,
            "lualatex",
            &["-interaction=nonstopmode", "-halt-on-error", "document.tex"],
            None,
        );
    });
}

#[test]
fn the_command_says_what_it_did_and_refuses_what_it_cannot() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let all = subjects(path);
    let policy = &all[0].file;
    let done = ell0(path, &["export", policy, "--to", "c", "--out", "made/here"]);
    assert_eq!(
        stdout(&done),
        "made/here/policy.h\nmade/here/policy.c\nSelf-test: cc -std=c99 -O2 -DPOLICY_SELF_TEST made/here/policy.c -o made/here/policy_test -lm && ./made/here/policy_test\n"
    );
    let refused = |arguments: &[&str], words: &str| {
        let output = ell0(path, arguments);
        let text = stderr(&output);
        assert!(
            !output.status.success() && text.contains(words),
            "{arguments:?}: {text}"
        );
    };
    refused(
        &["export", policy, "--to", "c", "--out", "made/here"],
        "--force",
    );
    assert!(
        ell0(
            path,
            &[
                "export",
                policy,
                "--to",
                "c",
                "--out",
                "made/here",
                "--force"
            ]
        )
        .status
        .success()
    );
    refused(&["export", policy, "--to", "fortran"], "latex");
    refused(
        &["export", policy, "--to", "c", "--name", "double"],
        "`double_model`",
    );
    refused(
        &["export", policy, "--to", "sympy", "--float"],
        "c, rust and onnx",
    );
    refused(&["export", "nothing.json", "--to", "c"], "nothing.json");
    fs::write(path.join("broken.safetensors"), b"not this").expect("written");
    refused(
        &["export", "broken.safetensors", "--to", "c"],
        "broken.safetensors",
    );
    let network = all.iter().find(|s| s.network).expect("a network");
    for format in ["sympy", "latex", "json"] {
        refused(
            &["export", &network.file, "--to", format],
            "c, rust, python, matlab and onnx",
        );
    }
}
