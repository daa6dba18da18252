//! One array as `numpy.save` writes it, alone in a file or in an NPZ: its header, and the form of its numbers.

use std::io::{self, ErrorKind, Read};

use npyz::{NpyHeader, Order};

use super::guard::caught;

/// A number's form in the file.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    pub kind: Kind,
    pub size: usize,
    big_endian: bool,
    /// Text of four bytes a letter.
    wide: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Float,
    Signed,
    Unsigned,
    /// Text, which can only be a label.
    Text,
}

impl Element {
    /// From NumPy's own text, such as `<f8`.
    fn new(text: &str) -> Option<Self> {
        let mut letters = text.trim_matches('\'').chars();
        let order = letters.next()?;
        let kind = letters.next()?;
        let size: usize = letters.as_str().parse().ok()?;
        let kind = match (kind, size) {
            ('f', 4 | 8) => Kind::Float,
            ('i', 1 | 2 | 4 | 8) => Kind::Signed,
            ('u', 1 | 2 | 4 | 8) | ('b', 1) => Kind::Unsigned,
            ('U' | 'S', 1..=1024) => Kind::Text,
            _ => return None,
        };
        let size = if text.contains('U') { 4 * size } else { size };
        Some(Element {
            kind,
            size,
            big_endian: order == '>',
            wide: text.contains('U'),
        })
    }

    /// As a label. Whole numbers are written as such: beyond 2⁵³ doubles would not be told apart.
    pub fn text(self, bytes: &[u8]) -> String {
        let unsigned = self.bits(bytes);
        match self.kind {
            Kind::Float => self.number(bytes).to_string(),
            Kind::Unsigned => unsigned.to_string(),
            Kind::Signed => self.signed(unsigned).to_string(),
            Kind::Text if self.wide => {
                let letter = |four: &[u8]| {
                    let code = four
                        .iter()
                        .rev()
                        .fold(0u32, |all, b| all << 8 | u32::from(*b));
                    let code = if self.big_endian {
                        code.swap_bytes()
                    } else {
                        code
                    };
                    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
                };
                let letters: String = bytes.chunks_exact(4).map(letter).collect();
                letters.trim_end_matches('\0').into()
            }
            Kind::Text => {
                let letters = String::from_utf8_lossy(bytes);
                letters.trim_end_matches('\0').into()
            }
        }
    }

    fn signed(self, unsigned: u64) -> i64 {
        let unused = 64 - 8 * self.size as u32;
        (unsigned << unused).cast_signed() >> unused
    }

    /// The bytes of a number as a whole; 0 for text.
    fn bits(self, bytes: &[u8]) -> u64 {
        if self.kind == Kind::Text {
            return 0;
        }
        let mut little = [0u8; 8];
        for (k, byte) in bytes.iter().enumerate() {
            little[if self.big_endian {
                self.size - 1 - k
            } else {
                k
            }] = *byte;
        }
        u64::from_le_bytes(little)
    }

    pub fn number(self, bytes: &[u8]) -> f64 {
        if self.kind == Kind::Text {
            return f64::NAN;
        }
        let unsigned = self.bits(bytes);
        match (self.kind, self.size) {
            (Kind::Float, 4) => f64::from(f32::from_bits(unsigned as u32)),
            (Kind::Float | Kind::Text, _) => f64::from_bits(unsigned),
            (Kind::Unsigned, _) => unsigned as f64,
            (Kind::Signed, _) => self.signed(unsigned) as f64,
        }
    }
}

/// The longest header that is read. NumPy itself reads 10,000 bytes.
const LONGEST_HEADER: usize = 1 << 16;

/// Brackets within brackets: a header has two or three. The parser looks at each of them again for every one around it, which doubles its time.
const DEEPEST_HEADER: usize = 8;

/// The widest array whose columns have names.
const WIDEST: u64 = 1 << 16;

/// What the header of an array says.
pub(super) struct Header {
    /// Rows and columns, if it has at least one dimension and not too many numbers in a row.
    pub table: Option<Shape>,
    /// The form of its numbers, if it is known.
    pub element: Option<Element>,
    /// Bytes of the header itself.
    pub length: u64,
}

/// An array as a table.
pub(super) struct Shape {
    pub rows: u64,
    pub width: usize,
    /// Of one dimension, so that its column has no number.
    pub single: bool,
    pub by_columns: bool,
}

fn wrong(reason: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, reason.into())
}

fn deepest(text: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    for byte in text {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

impl Header {
    /// Reads the header at the beginning of an array; what it claims of its own length is looked at before that is believed.
    pub fn read(stream: &mut impl Read) -> io::Result<Self> {
        let mut all = vec![0; 8];
        stream.read_exact(&mut all)?;
        // The first version has two bytes for the length, the later ones four.
        let wide = if all[6] == 1 { 2 } else { 4 };
        let mut length = [0; 4];
        stream.read_exact(&mut length[..wide])?;
        all.extend(&length[..wide]);
        let length = u32::from_le_bytes(length) as usize;
        if length > LONGEST_HEADER {
            return Err(wrong(format!(
                "the header of an array claims {length} bytes, and at most {LONGEST_HEADER} are read"
            )));
        }
        let start = all.len();
        all.resize(start + length, 0);
        stream.read_exact(&mut all[start..])?;
        if deepest(&all[start..]) > DEEPEST_HEADER {
            return Err(wrong("the header of an array has brackets too deep"));
        }
        // It multiplies what the shape claims.
        let header = caught(|| NpyHeader::from_reader(&mut &all[..]))
            .ok_or_else(|| wrong("an array claims more than any memory holds"))??;
        let shape = header.shape();
        let by_columns = header.order() == Order::Fortran;
        let table = match *shape {
            [rows] => Some((rows, 1)),
            // A single number is no column.
            [] => None,
            [rows, ref each @ ..] => {
                let width = each.iter().try_fold(1u64, |w, n| w.checked_mul(*n));
                let width = width.filter(|w| *w <= WIDEST);
                width.map(|width| (rows, width as usize))
            }
        };
        Ok(Header {
            table: table.map(|(rows, width)| Shape {
                rows,
                width,
                single: shape.len() == 1,
                by_columns: by_columns && shape.len() > 1 && width > 1,
            }),
            element: match header.dtype() {
                npyz::DType::Plain(text) => Element::new(&text.to_string()),
                _ => None,
            },
            length: all.len() as u64,
        })
    }

    /// Whether the array has room in so many bytes, its header among them.
    pub fn fits(&self, bytes: u64) -> bool {
        let (Some(shape), Some(element)) = (&self.table, self.element) else {
            return true;
        };
        let cells = shape.rows.checked_mul(shape.width as u64);
        let needed = cells.and_then(|cells| cells.checked_mul(element.size as u64));
        needed
            .and_then(|needed| needed.checked_add(self.length))
            .is_some_and(|needed| needed <= bytes)
    }
}
