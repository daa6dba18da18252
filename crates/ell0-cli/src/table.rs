//! Tables and JSON on the screen.

use std::{
    fmt::{self, Display, Formatter},
    io::Write,
};

use comfy_table::{CellAlignment, Table, presets::UTF8_BORDERS_ONLY};
use ell0::wording::on_one_line;
use serde::Serialize;

/// A table, each cell of which is a line.
pub struct Grid(Table);

impl Grid {
    pub fn add_row<S: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let cells = cells.into_iter();
        self.0.add_row(cells.map(|cell| on_one_line(cell.as_ref())));
    }
}

impl Display for Grid {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A table whose columns from `numbers` on hold numbers, set to the right.
pub fn new_table(header: &[&str], numbers: usize) -> Grid {
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY).set_header(header);
    for column in table.column_iter_mut().skip(numbers) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    Grid(table)
}

/// A value as one JSON text.
pub fn json(out: &mut impl Write, value: &impl Serialize) -> anyhow::Result<()> {
    writeln!(out, "{}", plain_json(&serde_json::to_string_pretty(value)?))?;
    Ok(())
}

/// JSON that says the same in characters that can be seen: others are in its strings alone, where they may be escaped.
pub fn plain_json(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\n' || on_one_line(c.encode_utf8(&mut [0; 4])) == c.to_string() {
            plain.push(c);
        } else {
            let mut units = [0; 2];
            let units = c.encode_utf16(&mut units).iter();
            units.for_each(|unit| plain += &format!("\\u{unit:04x}"));
        }
    }
    plain
}

/// A value for a table, or a dash.
pub fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or("–".into(), |v| v.to_string())
}
