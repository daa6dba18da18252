//! The files that commands find, and how they are spoilt.

use std::path::{Path, PathBuf};

use ell0::equation::{Dynamics, Expression, Model};

use crate::{
    dice::Dice,
    files::walk,
    mutate::{bytes, csv, json},
};

/// A table of states over time, t, x and v.
fn states(rows: u32, phase: f64) -> String {
    let mut table = String::from("t,x,v\n");
    for k in 0..rows {
        let t = 0.05 * f64::from(k);
        let (s, c) = (2.0 * t + phase).sin_cos();
        let d = (-0.1 * t).exp();
        table += &format!("{t},{},{}\n", d * c, d * (-0.1 * c - 2.0 * s));
    }
    table
}

/// A plain table, a, b and y, with a label and an empty cell.
fn plain() -> String {
    let mut table = String::from("a,b,y,name\n");
    for k in 0..40 {
        let a = 0.1 * f64::from(k);
        let b = (3.0 * a).sin();
        let name = if k < 20 { "one" } else { "two" };
        table += &format!("{a},{b},{},{name}\n", 2.0 * a - b * b);
    }
    table + ",1,2,two\n"
}

fn model(inputs: &[&str], laws: &[(&str, &str)], dynamics: Dynamics) -> anyhow::Result<String> {
    let mut equations = Vec::new();
    for (target, text) in laws {
        equations.push((target.to_string(), Expression::parse(text, inputs)?));
    }
    let inputs = inputs.iter().map(ToString::to_string).collect();
    Ok(Model::new(inputs, equations, dynamics)?.to_json())
}

/// Puts everything into the folder.
pub fn prepare(folder: &Path) -> anyhow::Result<()> {
    let put = |name: &str, content: &[u8]| std::fs::write(folder.join(name), content);
    put("data.csv", states(60, 0.0).as_bytes())?;
    put("more.csv", states(40, 1.0).as_bytes())?;
    put("table.csv", plain().as_bytes())?;
    put("empty.csv", b"")?;
    put("broken.json", b"{\"format\": \"ell0-model\"")?;
    let law = [("x", "v"), ("v", "-4*x - 0.2*v")];
    let law = model(&["x", "v"], &law, Dynamics::Continuous)?;
    put("law.json", law.as_bytes())?;
    let map = [("x", "0.9*x + 0.1*v"), ("v", "v - 0.1*sin(x)")];
    let map = model(&["x", "v"], &map, Dynamics::Discrete)?;
    put("map.json", map.as_bytes())?;
    let pushed = [("x", "v"), ("v", "-4*x + u")];
    let pushed = model(&["x", "v", "u"], &pushed, Dynamics::Continuous)?;
    put("pushed.json", pushed.as_bytes())?;
    let inputs = ["cos_theta", "sin_theta", "theta_dot"];
    let policy = [("torque", "2*tanh(-8*sin_theta - 2*theta_dot)")];
    let policy = model(&inputs, &policy, Dynamics::Regression)?;
    put("policy.json", policy.as_bytes())?;
    Ok(())
}

/// All paths in a folder, relative to it, in their order.
pub fn paths(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let all = walk(folder)?;
    let inside = all.iter().map(|p| p.strip_prefix(folder));
    Ok(inside
        .map(|p| p.map(Into::into))
        .collect::<Result<_, _>>()?)
}

/// Spoils one of the files.
pub fn spoil(dice: &mut Dice, folder: &Path) -> anyhow::Result<()> {
    let files: Vec<PathBuf> = paths(folder)?
        .into_iter()
        .map(|p| folder.join(p))
        .filter(|p| p.is_file())
        .collect();
    if files.is_empty() {
        return Ok(());
    }
    let file = dice.pick(&files);
    let content = std::fs::read(file)?;
    let words = ["x", "v", "format", "1e999", "seed", "polynomial(9)"];
    let ending = file.extension().unwrap_or_default().to_string_lossy();
    let spoilt = match &*ending {
        "csv" => csv::mutate(dice, &content, &content),
        "json" | "stats" => json::mutate(dice, &content, &content, &words),
        "toml" => json::mutate_toml(dice, &content, &content, &words),
        _ => {
            let mut content = content;
            bytes::mutate(dice, &mut content, &[]);
            content
        }
    };
    Ok(std::fs::write(file, spoilt)?)
}
