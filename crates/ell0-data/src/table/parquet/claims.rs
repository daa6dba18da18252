//! What a Parquet file claims of its parts, compared with the file before memory is taken for it.
//!
//! The reader takes memory by what the headers of pages say. So they are read here first; they are Thrift structures in its compact protocol, of which a few numbers are wanted.

use std::{
    fs::File,
    io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom, Take},
};

use ell0::wording::size;
use flate2::read::MultiGzDecoder;
use parquet::{basic::Compression, file::metadata::ColumnChunkMetaData};

/// The largest page, unpacked. Programs write pages of about a megabyte.
const LARGEST_PAGE: u64 = 256 << 20;

/// The largest description of a file at its end.
const LARGEST_FOOTER: u64 = 64 << 20;

/// The longest header of a page; the least and greatest text of a page can stand in it.
const LONGEST_HEADER: u64 = 16 << 20;

/// How much longer than what it is packed in deflated data can be.
const MOST_INFLATED: u64 = 1032;

/// Structures within structures in a header.
const DEEPEST: usize = 16;

/// Looks at the length of the description at the end of a file.
pub(super) fn footer(file: &mut File) -> Result<(), String> {
    let cannot = |e: io::Error| e.to_string();
    let whole = file.seek(SeekFrom::End(0)).map_err(cannot)?;
    if whole < 8 {
        return Err(format!("it has only {}", size(whole)));
    }
    let mut end = [0; 8];
    file.seek(SeekFrom::End(-8)).map_err(cannot)?;
    file.read_exact(&mut end).map_err(cannot)?;
    let [a, b, c, d, magic @ ..] = end;
    let length = u64::from(u32::from_le_bytes([a, b, c, d]));
    if &magic != b"PAR1" {
        return Err("its end is missing".into());
    }
    if length > LARGEST_FOOTER.min(whole - 8) {
        return Err(format!(
            "its description claims {} of the {} there are; at most {} are read",
            size(length),
            size(whole),
            size(LARGEST_FOOTER)
        ));
    }
    let from = i64::try_from(length).map_or(-8, |length| -8 - length);
    file.seek(SeekFrom::End(from)).map_err(cannot)?;
    let mut description = Thrift(BufReader::new(&mut *file).take(length));
    description
        .fields(0, |description, field| match field {
            (2, LIST) => description.schema().map(|()| true),
            _ => Ok(false),
        })
        .map_err(|_| "its description is damaged".into())
}

/// Looks at all pages of a column of a row group.
pub(super) fn pages(file: &mut File, chunk: &ColumnChunkMetaData) -> Result<(), String> {
    let cannot = |e: io::Error| match e.kind() {
        ErrorKind::UnexpectedEof => "the header of a page is cut off".to_string(),
        _ => e.to_string(),
    };
    let whole = file.seek(SeekFrom::End(0)).map_err(cannot)?;
    let first = chunk.dictionary_page_offset();
    let first = u64::try_from(first.unwrap_or(chunk.data_page_offset())).ok();
    let length = u64::try_from(chunk.compressed_size()).ok();
    let end = first.zip(length).and_then(|(a, b)| a.checked_add(b));
    let (Some(mut at), Some(end)) = (first, end.filter(|end| *end <= whole)) else {
        return Err("it does not lie in the file".into());
    };
    let mut reader = BufReader::new(file);
    while at < end {
        reader.seek(SeekFrom::Start(at)).map_err(cannot)?;
        let mut header = Thrift(reader.by_ref().take(LONGEST_HEADER.min(end - at)));
        let before = header.0.limit();
        let page = Page::read(&mut header).map_err(cannot)?;
        at += before - header.0.limit();
        page.check(end - at, chunk)?;
        let packed = page.packed as u64;
        if let Compression::GZIP(_) = chunk.compression()
            && !page.plain
            && packed.saturating_mul(MOST_INFLATED) > LARGEST_PAGE
        {
            page.inflates(reader.by_ref().take(packed))
                .map_err(cannot)?;
        }
        at += packed;
    }
    Ok(())
}

/// What the header of a page says.
#[derive(Debug, Default)]
struct Page {
    unpacked: i64,
    packed: i64,
    /// Entries, if it is a dictionary.
    entries: Option<i64>,
    /// Values, if it holds such.
    values: Option<i64>,
    /// Bytes at the beginning that are not packed.
    levels: i64,
    /// Not packed at all.
    plain: bool,
}

impl Page {
    fn read(header: &mut Thrift<impl Read>) -> io::Result<Self> {
        let mut page = Page::default();
        header.fields(0, |header, field| {
            match field {
                (2, INTEGER) => page.unpacked = header.integer()?,
                (3, INTEGER) => page.packed = header.integer()?,
                (5, STRUCTURE) => header.fields(1, |header, field| match field {
                    (1, INTEGER) => Ok(page.values.insert(header.integer()?)).map(|_| true),
                    _ => Ok(false),
                })?,
                (7, STRUCTURE) => header.fields(1, |header, field| match field {
                    (1, INTEGER) => Ok(page.entries.insert(header.integer()?)).map(|_| true),
                    _ => Ok(false),
                })?,
                (8, STRUCTURE) => header.fields(1, |header, field| {
                    match field {
                        (1, INTEGER) => page.values = Some(header.integer()?),
                        (5 | 6, INTEGER) => {
                            page.levels = page.levels.saturating_add(header.integer()?)
                        }
                        // A truth is its own kind; the other one is false.
                        (7, FALSE) => page.plain = true,
                        _ => return Ok(false),
                    }
                    Ok(true)
                })?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(page)
    }

    /// Compares it with the bytes that are left of its column.
    fn check(&self, left: u64, chunk: &ColumnChunkMetaData) -> Result<(), String> {
        let (Ok(unpacked), Ok(packed)) = (u64::try_from(self.unpacked), u64::try_from(self.packed))
        else {
            return Err("a page claims a negative size".into());
        };
        if packed > left {
            return Err(format!(
                "a page claims {}, and {} are left",
                size(packed),
                size(left)
            ));
        }
        if unpacked.max(packed) > LARGEST_PAGE {
            return Err(format!(
                "a page claims {} in {}, and at most {} are read: write it with smaller pages",
                size(unpacked),
                size(packed),
                size(LARGEST_PAGE)
            ));
        }
        // An entry has at least one bit.
        if self
            .entries
            .is_some_and(|n| n < 0 || n as u64 > 8 * unpacked)
        {
            return Err("a dictionary claims more entries than it has room for".into());
        }
        if self.values.is_some_and(|n| n < 0 || n > chunk.num_values()) {
            return Err("a page claims more values than its column".into());
        }
        Ok(())
    }

    /// Fails if the page unpacks to more than it claims: the reader would unpack all of it.
    fn inflates(&self, mut packed: impl Read) -> io::Result<()> {
        let levels = u64::try_from(self.levels).unwrap_or(0);
        io::copy(&mut packed.by_ref().take(levels), &mut io::sink())?;
        let claimed = self.unpacked as u64;
        let mut unpacked = MultiGzDecoder::new(packed).take(claimed + 1);
        if io::copy(&mut unpacked, &mut io::sink())? > claimed {
            return Err(io::Error::other("a page unpacks to more than it claims"));
        }
        Ok(())
    }
}

/// Kinds of fields in Thrift's compact protocol.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const SHORT: u8 = 4;
const INTEGER: u8 = 5;
const LONG: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCTURE: u8 = 12;

/// A reader of Thrift's compact protocol that keeps nothing.
struct Thrift<R>(Take<R>);

impl<R: Read> Thrift<R> {
    fn byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.0.read_exact(&mut byte)?;
        Ok(byte[0])
    }

    fn unsigned(&mut self) -> io::Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(wrong())
    }

    fn integer(&mut self) -> io::Result<i64> {
        let value = self.unsigned()?;
        Ok((value >> 1).cast_signed() ^ -((value & 1).cast_signed()))
    }

    fn pass(&mut self, bytes: u64) -> io::Result<()> {
        if bytes > self.0.limit() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let passed = io::copy(&mut self.0.by_ref().take(bytes), &mut io::sink())?;
        if passed < bytes {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    /// Calls `each` with the number and kind of every field of a structure; where it answers false, the field is passed over.
    fn fields(
        &mut self,
        depth: usize,
        mut each: impl FnMut(&mut Self, (i64, u8)) -> io::Result<bool>,
    ) -> io::Result<()> {
        let mut number = 0;
        loop {
            let byte = self.byte()?;
            let kind = byte & 0x0f;
            if kind == 0 {
                return Ok(());
            }
            number = match byte >> 4 {
                0 => self.integer()?,
                further => i64::saturating_add(number, i64::from(further)),
            };
            if !each(self, (number, kind))? {
                self.skip(kind, depth + 1)?;
            }
        }
    }

    /// The schema, a list: no element of it can have more children than there are elements. All other lists are as long as their bytes.
    fn schema(&mut self) -> io::Result<()> {
        let byte = self.byte()?;
        let count = match byte >> 4 {
            15 => self.unsigned()?,
            count => u64::from(count),
        };
        if byte & 0x0f != STRUCTURE {
            return Err(wrong());
        }
        (0..count).try_for_each(|_| {
            self.fields(1, |element, field| match field {
                (5, INTEGER) => match u64::try_from(element.integer()?) {
                    Ok(children) if children <= count => Ok(true),
                    _ => Err(wrong()),
                },
                _ => Ok(false),
            })
        })
    }

    fn skip(&mut self, kind: u8, depth: usize) -> io::Result<()> {
        if depth > DEEPEST {
            return Err(wrong());
        }
        match kind {
            TRUE | FALSE => Ok(()),
            BYTE => self.pass(1),
            SHORT | INTEGER | LONG => self.unsigned().map(drop),
            DOUBLE => self.pass(8),
            BINARY => {
                let length = self.unsigned()?;
                self.pass(length)
            }
            LIST | SET => {
                let byte = self.byte()?;
                let count = match byte >> 4 {
                    15 => self.unsigned()?,
                    count => u64::from(count),
                };
                // Truths in a list have a byte each.
                let kind = match byte & 0x0f {
                    TRUE | FALSE => BYTE,
                    kind => kind,
                };
                (0..count).try_for_each(|_| self.skip(kind, depth + 1))
            }
            STRUCTURE => self.fields(depth, |_, _| Ok(false)),
            // No header of a page has maps.
            MAP => Err(wrong()),
            _ => Err(wrong()),
        }
    }
}

fn wrong() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "the header of a page is no header")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(bytes: &[u8]) -> io::Result<Page> {
        Page::read(&mut Thrift(bytes.take(1000)))
    }

    #[test]
    fn headers_of_pages_are_understood() {
        // type 2, sizes 100 and 60, a dictionary of 7 entries in encoding 0.
        let bytes = [
            0x15, 4, 0x15, 200, 1, 0x15, 120, 0x4c, 0x15, 14, 0x15, 0, 0, 0,
        ];
        let read = page(&bytes).expect("a header");
        assert_eq!((read.unpacked, read.packed), (100, 60));
        assert_eq!((read.entries, read.values), (Some(7), None));
        // Unknown fields are passed over: a text, a list of integers, a truth.
        let bytes = [
            0x15, 0, 0x15, 2, 0x15, 4, 0x68, 3, 1, 2, 3, 0x19, 0x25, 2, 4, 0x11, 0,
        ];
        let read = page(&bytes).expect("a header");
        assert_eq!((read.unpacked, read.packed), (1, 2));
    }

    #[test]
    fn broken_headers_are_errors() {
        assert!(page(&[0x15]).is_err(), "cut off");
        assert!(
            page(&[0x68, 255, 255, 255, 127]).is_err(),
            "a text too long"
        );
        assert!(page(&[0x1c; 900]).is_err(), "too deep");
        assert!(page(&[0x15, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]).is_err());
        assert!(
            page(&[0x19, 0xf3, 255, 255, 255, 255, 15]).is_err(),
            "a list too long"
        );
        assert!(page(&[0x1b, 1, 0]).is_err(), "a map");
    }
}
