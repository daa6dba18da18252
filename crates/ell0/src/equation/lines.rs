//! The equations of a model as lines of text: as PySINDy prints them, plainer, and as LaTeX.

use super::{Dynamics, Equation, Model, Node, latex::latex_name};
use crate::wording::on_one_line;

impl Model {
    /// The left-hand side of an equation: `(x)'`, `(x)[k+1]`, or the target's name.
    fn left(&self, equation: &Equation) -> String {
        match self.dynamics() {
            Dynamics::Regression => equation.target.clone(),
            Dynamics::Continuous => format!("({})'", equation.target),
            Dynamics::Discrete => format!("({})[k+1]", equation.target),
        }
    }

    /// The equations as PySINDy prints them, a line each, with so many digits after the point: `(x)' = -10.000 x + 10.000 y`.
    pub fn pysindy(&self, digits: usize) -> String {
        let digits = digits.min(17);
        let line = |equation: &Equation| {
            let terms: Vec<String> = equation
                .terms
                .iter()
                .map(|t| format!("{:.digits$} {}", t.coefficient, t.feature))
                .collect();
            let right = match (terms.is_empty(), equation.expression.root()) {
                (false, _) => terms.join(" + "),
                (true, Node::Number(0.0)) => format!("{:.digits$}", 0.0),
                (true, _) => equation.expression.to_string(),
            };
            format!("{} = {right}", self.left(equation))
        };
        self.lines(line)
    }

    /// The equations in a plainer style, a line each, with so many significant digits, or as many more as an equation needs: `x' = -10*x + 10*y`.
    pub fn text(&self, digits: usize) -> String {
        self.lines(|equation| {
            let digits = equation.shown(digits);
            let left = match self.dynamics() {
                Dynamics::Regression => equation.target.clone(),
                Dynamics::Continuous => format!("{}'", equation.target),
                Dynamics::Discrete => format!("{}[k+1]", equation.target),
            };
            format!("{left} = {:.digits$}", equation.expression)
        })
    }

    /// The equations as LaTeX, aligned, with digits as in [`text`](Model::text).
    pub fn latex(&self, digits: usize) -> String {
        let line = |equation: &Equation| {
            let name = latex_name(&equation.target);
            let left = match self.dynamics() {
                Dynamics::Regression => name,
                Dynamics::Continuous => format!("\\frac{{\\mathrm{{d}}}}{{\\mathrm{{d}}t}} {name}"),
                Dynamics::Discrete => format!("{{{name}}}^{{(k+1)}}"),
            };
            format!(
                "{left} &= {} \\\\",
                equation.expression.latex(equation.shown(digits))
            )
        };
        format!("\\begin{{align*}}\n{}\n\\end{{align*}}", self.lines(line))
    }

    fn lines(&self, line: impl Fn(&Equation) -> String) -> String {
        // A line each, whatever the names are.
        let lines = self.equations().iter().map(line);
        let lines: Vec<String> = lines.map(|line| on_one_line(&line)).collect();
        lines.join("\n")
    }
}
