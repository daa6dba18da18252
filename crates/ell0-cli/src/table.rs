//! Tables and JSON on the screen.

use std::io::Write;

use comfy_table::{CellAlignment, Table, presets::UTF8_BORDERS_ONLY};
use serde::Serialize;

/// A table whose columns from `numbers` on hold numbers, set to the right.
pub fn new_table(header: &[&str], numbers: usize) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY).set_header(header);
    for column in table.column_iter_mut().skip(numbers) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// A value as one JSON text.
pub fn json(out: &mut impl Write, value: &impl Serialize) -> anyhow::Result<()> {
    writeln!(out, "{}", serde_json::to_string_pretty(value)?)?;
    Ok(())
}

/// A value for a table, or a dash.
pub fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or("–".into(), |v| v.to_string())
}
