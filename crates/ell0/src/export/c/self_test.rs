//! The self-test of generated C.

use std::fmt::Write;

use super::C;
use crate::export::{layout::Layout, print::Dialect};

/// A `main` that compares stored outputs with computed ones, and checks that NaN is refused.
pub(super) fn write(out: &mut String, layout: &Layout, dialect: &C) -> std::fmt::Result {
    let (real, name, upper) = (
        dialect.real(),
        layout.name,
        layout.name.to_ascii_uppercase(),
    );
    let (n, m, pairs) = (
        layout.inputs.len(),
        layout.outputs.len(),
        layout.pairs.len(),
    );
    let table = |out: &mut String, what: &str, width: usize, rows: Vec<&Vec<f64>>| {
        writeln!(
            out,
            "    static const {real} {what}[{pairs}][{}] = {{",
            width.max(1)
        )?;
        for row in rows {
            let mut row: Vec<String> = row.iter().map(|v| dialect.signed(*v)).collect();
            if row.is_empty() {
                row.push(dialect.number(0.0));
            }
            writeln!(out, "        {{{}}},", row.join(", "))?;
        }
        writeln!(out, "    }};")
    };
    writeln!(
        out,
        "#ifdef {upper}_SELF_TEST\n#include <stdio.h>\n\nint main(void)\n{{"
    )?;
    if pairs > 0 {
        table(
            out,
            "inputs",
            n,
            layout.pairs.iter().map(|p| &p.0).collect(),
        )?;
        table(
            out,
            "outputs",
            m,
            layout.pairs.iter().map(|p| &p.1).collect(),
        )?;
    }
    writeln!(out, "    {real} output[{m}];\n    int wrong = 0;")?;
    if pairs > 0 {
        writeln!(out, "    for (int p = 0; p < {pairs}; ++p) {{")?;
        writeln!(out, "        wrong += {name}(inputs[p], output) != 0;")?;
        writeln!(out, "        for (int k = 0; k < {m}; ++k) {{")?;
        writeln!(out, "            const {real} want = outputs[p][k];")?;
        writeln!(
            out,
            "            wrong += !(fabs{end}(output[k] - want) <= {} * ({} + fabs{end}(want)));\n        }}\n    }}",
            dialect.number(layout.tolerance),
            dialect.number(1.0),
            end = dialect.suffix()
        )?;
    }
    if n > 0 {
        let zeros = vec![dialect.number(0.0); n - 1];
        let broken = [vec!["NAN".to_string()], zeros].concat().join(", ");
        writeln!(out, "    const {real} broken[{n}] = {{{broken}}};")?;
        writeln!(out, "    wrong += {name}(broken, output) != 1;")?;
    }
    writeln!(
        out,
        "    printf(\"{name}: {pairs} pairs, %d wrong\\n\", wrong);\n    return wrong != 0;\n}}\n#endif"
    )
}
