//! A self-contained page.

use std::path::Path;

use ell0::equation::Model;
use ell0_plot::{Figure, escaped};

/// How the last line of a page begins.
const MADE_BY: &str = "Made by ell0 ";

/// Whether a file is a page of ours.
#[must_use]
pub fn is_page(path: &Path) -> bool {
    let text = ell0::input::read_text(path);
    text.is_ok_and(|t| t.starts_with("<!doctype html>") && t.contains(MADE_BY))
}

/// A page: a title, what is said at its beginning, the words that began the run, and sections.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Page {
    /// The title.
    pub title: String,
    /// Paragraphs at the beginning.
    pub about: Vec<String>,
    /// The words that began the run.
    pub command: Option<String>,
    /// The sections.
    pub sections: Vec<Section>,
}

impl Page {
    /// A page of sections.
    pub fn new(title: impl Into<String>, sections: Vec<Section>) -> Self {
        Page {
            title: title.into(),
            sections,
            ..Page::default()
        }
    }
}

/// A part of a page under its own heading.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Section {
    /// The part of the page that it belongs to, and what is said at its beginning.
    part: Option<(String, String)>,
    heading: String,
    html: String,
    drawings: usize,
}

impl Section {
    /// An empty section.
    pub fn new(heading: impl Into<String>) -> Self {
        Section {
            part: None,
            heading: heading.into(),
            html: String::new(),
            drawings: 0,
        }
    }

    /// The same in a part of a page, with a sentence on what the part shows.
    pub fn within(mut self, part: &str, about: &str) -> Self {
        self.part = Some((part.into(), about.into()));
        self
    }

    /// The same on a page of several runs: its part is that of a run, and of the part that it had there.
    pub fn under(mut self, run: &str) -> Self {
        self.part = Some(match self.part {
            Some((part, about)) => (format!("{run}: {part}"), about),
            None => (run.into(), String::new()),
        });
        self
    }

    /// A paragraph.
    pub fn text(mut self, text: &str) -> Self {
        self.html += &format!("<p>{}</p>\n", escaped(text));
        self
    }

    /// A paragraph in small print.
    pub fn note(mut self, text: &str) -> Self {
        self.html += &format!("<p class=\"note\">{}</p>\n", escaped(text));
        self
    }

    /// Text as it stands.
    pub fn code(mut self, text: &str) -> Self {
        self.html += &format!("<pre><code>{}</code></pre>\n", escaped(text));
        self
    }

    /// The equations of a model under a name.
    pub fn equations(mut self, name: &str, model: &Model) -> Self {
        if !name.is_empty() {
            self.html += &format!("<h3>{}</h3>\n", escaped(name));
        }
        for line in model.mathml(5) {
            self.html += &format!("<p class=\"equation\">{line}</p>\n");
        }
        self
    }

    /// A table.
    pub fn table(mut self, header: &[&str], rows: &[Vec<String>]) -> Self {
        let cells = |tag: &str, cells: &mut dyn Iterator<Item = String>| -> String {
            cells.map(|c| format!("<{tag}>{c}</{tag}>")).collect()
        };
        self.html += "<div class=\"scroll\"><table>\n";
        let head = cells("th", &mut header.iter().map(|h| escaped(h)));
        self.html += &format!("<thead><tr>{head}</tr></thead>\n<tbody>\n");
        for row in rows {
            let row = cells("td", &mut row.iter().map(|c| escaped(c)));
            self.html += &format!("<tr>{row}</tr>\n");
        }
        self.html += "</tbody></table></div>\n";
        self
    }

    /// A drawing.
    pub fn figure(self, figure: &Figure) -> Self {
        self.svg(&figure.svg())
    }

    /// A drawing of ours: its charts side by side, or under each other where there is no room.
    pub fn svg(mut self, svg: &str) -> Self {
        let mut charts: Vec<&str> = svg.split("<svg ").skip(2).collect();
        if charts.is_empty() {
            charts.extend(svg.split("<svg ").nth(1));
        }
        let width = |text: &str| -> f64 {
            let value = text
                .split_once("width=\"")
                .and_then(|t| t.1.split_once('"'));
            value.and_then(|v| v.0.parse().ok()).unwrap_or(420.0)
        };
        let each = charts.first().map_or(420.0, |chart| width(chart));
        let columns = (width(svg) / each).floor().max(1.0);
        self.html += &format!("<figure style=\"--width: {each}px; --columns: {columns}\">\n");
        for chart in charts {
            let Some((chart, _)) = chart.split_once("</svg>") else {
                continue;
            };
            // The clips of two drawings must not share a name, or one cuts the other.
            let own = format!("own-{}-clip-", self.drawings);
            let chart = chart
                .replace("id=\"clip-", &format!("id=\"{own}"))
                .replace("url(#clip-", &format!("url(#{own}"));
            self.drawings += 1;
            self.html += &format!("<svg {chart}</svg>\n");
        }
        self.html += "</figure>\n";
        self
    }
}

impl Page {
    /// The whole page as HTML. `refresh` makes it ask for a newer one every so many seconds.
    #[must_use]
    pub fn html(&self, refresh: Option<u32>) -> String {
        let Page {
            title,
            about,
            command,
            sections,
        } = self;
        let mut page = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n<link rel=\"icon\" href=\"data:,\">\n",
            escaped(title)
        );
        if let Some(seconds) = refresh {
            page += &format!("<meta http-equiv=\"refresh\" content=\"{seconds}\">\n");
        }
        page += &format!(
            "<style>\n{}</style>\n</head>\n<body>\n<main>\n<header>\n<h1>{}</h1>\n",
            include_str!("page.css"),
            escaped(title)
        );
        for paragraph in about {
            page += &format!("<p>{}</p>\n", escaped(paragraph));
        }
        if let Some(command) = command {
            page += &format!("<pre><code>{}</code></pre>\n", escaped(command));
        }
        let mut parts: Vec<&(String, String)> = sections.iter().flat_map(|s| &s.part).collect();
        parts.dedup();
        if parts.len() > 1 {
            page += "<nav>\n";
            for (k, (part, _)) in parts.iter().enumerate() {
                page += &format!("<a href=\"#part-{k}\">{}</a>\n", escaped(part));
            }
            page += "</nav>\n";
        }
        page += "</header>\n";
        let mut begun = 0;
        for (k, section) in sections.iter().enumerate() {
            if let Some(part) = &section.part
                && begun < parts.len()
                && parts[begun] == part
            {
                let (name, about) = part;
                page += &format!(
                    "<h2 class=\"part\" id=\"part-{begun}\">{}</h2>\n",
                    escaped(name)
                );
                if !about.is_empty() {
                    page += &format!("<p class=\"about\">{}</p>\n", escaped(about));
                }
                begun += 1;
            }
            let html = section
                .html
                .replace("id=\"own-", &format!("id=\"s{k}-"))
                .replace("url(#own-", &format!("url(#s{k}-"));
            page += &format!(
                "<section>\n<h2>{}</h2>\n{html}</section>\n",
                escaped(&section.heading)
            );
        }
        page += &format!(
            "<footer><p>{MADE_BY}{}.</p></footer>\n</main>\n<script>\n{}</script>\n</body>\n</html>\n",
            env!("CARGO_PKG_VERSION"),
            include_str!("page.js")
        );
        page
    }
}
