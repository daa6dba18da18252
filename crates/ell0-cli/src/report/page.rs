//! A self-contained page.

use ell0::equation::Model;
use ell0_plot::Figure;

/// Text that may stand in a page.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// A part of a page under its own heading.
#[derive(Clone, Debug, Default)]
pub struct Section {
    heading: String,
    html: String,
    drawings: usize,
}

impl Section {
    pub fn new(heading: impl Into<String>) -> Self {
        Section {
            heading: heading.into(),
            html: String::new(),
            drawings: 0,
        }
    }

    /// The same under a longer heading, for pages of several runs.
    pub fn under(mut self, name: &str) -> Self {
        self.heading = format!("{name}: {}", self.heading);
        self
    }

    pub fn text(mut self, text: &str) -> Self {
        self.html += &format!("<p>{}</p>\n", escaped(text));
        self
    }

    pub fn note(mut self, text: &str) -> Self {
        self.html += &format!("<p class=\"note\">{}</p>\n", escaped(text));
        self
    }

    pub fn code(mut self, text: &str) -> Self {
        self.html += &format!("<pre><code>{}</code></pre>\n", escaped(text));
        self
    }

    /// The equations of a model under a name.
    pub fn equations(mut self, name: &str, model: &Model) -> Self {
        let lines = model.mathml(5).join("\n");
        self.html += &format!(
            "<div class=\"equation\"><h3>{}</h3>\n{lines}\n</div>\n",
            escaped(name)
        );
        self
    }

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

    pub fn figure(self, figure: &Figure) -> Self {
        self.svg(&figure.svg())
    }

    /// A drawing of ours.
    pub fn svg(mut self, svg: &str) -> Self {
        // The clips of two drawings must not share a name, or one cuts the other.
        let own = format!("{}-clip-", self.drawings);
        let svg = svg
            .replace("id=\"clip-", &format!("id=\"{own}"))
            .replace("url(#clip-", &format!("url(#{own}"));
        self.drawings += 1;
        self.html += &format!("<figure>\n{svg}</figure>\n");
        self
    }
}

/// The whole page. `refresh` makes it ask for a newer one every so many seconds.
pub fn html(
    title: &str,
    command: Option<&str>,
    sections: &[Section],
    refresh: Option<u32>,
) -> String {
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
    if let Some(command) = command {
        page += &format!("<pre><code>{}</code></pre>\n", escaped(command));
    }
    page += "</header>\n";
    for (k, section) in sections.iter().enumerate() {
        let mut html = section.html.clone();
        for drawing in 0..section.drawings {
            let (own, unique) = (format!("{drawing}-clip-"), format!("s{k}-{drawing}-clip-"));
            html = html
                .replace(&format!("id=\"{own}"), &format!("id=\"{unique}"))
                .replace(&format!("url(#{own}"), &format!("url(#{unique}"));
        }
        page += &format!(
            "<section>\n<h2>{}</h2>\n{html}</section>\n",
            escaped(&section.heading)
        );
    }
    page += &format!(
        "<footer><p>Made by ell0 {}.</p></footer>\n</main>\n<script>\n{}</script>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION"),
        include_str!("page.js")
    );
    page
}
