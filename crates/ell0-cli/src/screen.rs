//! The one way to the screen. Names of columns, paths and labels are what others wrote: characters that a terminal would obey instead of showing them are escaped here, whoever printed them.

use std::io::{self, IsTerminal, Write};

use ell0::wording::visible;

/// Standard output, or standard error.
pub struct Screen<W: Write> {
    place: W,
    /// The beginning of a letter whose other bytes have not come yet.
    begun: Vec<u8>,
}

/// Standard output.
pub type Out = Screen<io::StdoutLock<'static>>;

/// Where results go.
#[allow(clippy::disallowed_methods, reason = "this is the place")]
pub fn out() -> Out {
    Screen::new(io::stdout().lock())
}

/// Where messages go.
#[allow(clippy::disallowed_methods, reason = "this is the place")]
pub fn err() -> Screen<io::StderrLock<'static>> {
    Screen::new(io::stderr().lock())
}

/// Whether messages go to a terminal, and not to a file or another program.
#[allow(clippy::disallowed_methods, reason = "this is the place")]
pub fn has_messages_on_a_terminal() -> bool {
    io::stderr().is_terminal()
}

/// A line of a message. That it could not be written can be told nobody.
pub fn say(line: impl std::fmt::Display) {
    let _ = writeln!(err(), "{line}");
}

/// A line that stays one, whatever the names in it are.
#[macro_export]
macro_rules! line {
    ($out:expr, $($text:tt)*) => {
        writeln!($out, "{}", ell0::wording::on_one_line(&format!($($text)*)))
    };
}

impl<W: Write> Screen<W> {
    fn new(place: W) -> Self {
        Screen {
            place,
            begun: Vec::new(),
        }
    }
}

impl<W: Write> Write for Screen<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begun.extend_from_slice(bytes);
        let whole = match str::from_utf8(&self.begun) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let letters = visible(str::from_utf8(&self.begun[..whole]).unwrap_or_default());
        self.place.write_all(letters.as_bytes())?;
        self.begun.drain(..whole);
        // What is no text at all is shown as what it is.
        if self.begun.len() > 3 {
            let bytes = self.begun.escape_ascii().to_string();
            self.place.write_all(bytes.as_bytes())?;
            self.begun.clear();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.place.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        let mut screen = Screen::new(Vec::new());
        write!(screen, "θ\t\u{1b}[31mred\u{9b}\nabc\u{202e}cba").expect("written");
        // A letter that comes in two parts.
        let (first, second) = "é".as_bytes().split_at(1);
        screen.write_all(first).expect("written");
        screen.write_all(second).expect("written");
        let shown = String::from_utf8(screen.place).expect("text");
        assert_eq!(shown, "θ\t\\u{1b}[31mred\\u{9b}\nabc\\u{202e}cbaé");
    }
}
