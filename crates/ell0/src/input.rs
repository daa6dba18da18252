//! Files that somebody named: opened only if they are files, read whole only if they are not too large.
//!
//! A FIFO would make the program wait for whoever writes it, and a device may have no end, so what a name stands for is asked before it is opened.

use std::{
    fs::{File, FileType},
    io::{self, ErrorKind, Read},
    path::Path,
};

use crate::wording::size;

/// The largest text file (JSON, TOML) that is read whole: 256 MiB.
pub const MOST_TEXT: u64 = 256 << 20;

/// The largest file of parameters (a checkpoint, a policy), or journal of a run, that is read whole: 1 GiB.
pub const MOST_BINARY: u64 = 1 << 30;

/// Why a file is not read; the source of an [`io::Error`], so that it comes with the file's name as all of them do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// A folder.
    #[error("it is a folder, where a file is needed")]
    Folder,
    /// Something that is opened like a file but is none.
    #[error(
        "it is {0}, and only files are read: write what it gives to a file first, and name that"
    )]
    NotAFile(&'static str),
    /// A file that would fill the memory.
    #[error("it has {}, and files of this kind are read up to {}: is it the right file?", size(*bytes), size(*most))]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// What is read at most.
        most: u64,
    },
    /// A stream that would fill the memory.
    #[error("it goes on for more than {}, which is all that is read of its kind", size(*most))]
    Endless {
        /// What is read at most.
        most: u64,
    },
}

impl From<Refused> for io::Error {
    fn from(refused: Refused) -> Self {
        io::Error::new(ErrorKind::InvalidInput, refused)
    }
}

/// What something that is no file is called.
fn kind(kind: FileType) -> Refused {
    if kind.is_dir() {
        return Refused::Folder;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return Refused::NotAFile("a pipe (a FIFO, or `<(…)` of a shell)");
        }
        if kind.is_socket() {
            return Refused::NotAFile("a socket");
        }
        if kind.is_char_device() || kind.is_block_device() {
            return Refused::NotAFile("a device");
        }
    }
    Refused::NotAFile("no file")
}

/// Opens a file for reading; anything that is no regular file is refused without being opened.
pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
    let path = path.as_ref();
    let what = std::fs::metadata(path)?;
    if !what.is_file() {
        return Err(kind(what.file_type()).into());
    }
    File::open(path)
}

/// Whether a name stands for what is piped into this program: somebody has opened it already.
fn is_standard_input(path: &Path) -> bool {
    path == Path::new("/dev/stdin")
}

/// Reads a file of at most so many bytes whole. `/dev/stdin`, which is read once here, may be a pipe.
pub fn read(path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
    let path = path.as_ref();
    let file = if is_standard_input(path) {
        File::open(path)?
    } else {
        open(path)?
    };
    let bytes = file.metadata()?.len();
    if bytes > most {
        return Err(Refused::TooLarge { bytes, most }.into());
    }
    // Files grow, and streams do not tell their size.
    let mut content = Vec::new();
    file.take(most + 1).read_to_end(&mut content)?;
    if content.len() as u64 > most {
        return Err(Refused::Endless { most }.into());
    }
    Ok(content)
}

/// Reads a text file of at most [`MOST_TEXT`] bytes whole.
pub fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    let wrong = |_| io::Error::new(ErrorKind::InvalidData, "it is not text in UTF-8");
    String::from_utf8(read(path, MOST_TEXT)?).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(error: &io::Error) -> &Refused {
        let inner = error.get_ref().expect("an inner error");
        inner.downcast_ref().expect("a refusal")
    }

    #[test]
    fn only_files_are_opened() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = open(folder.path()).expect_err("a folder");
        assert_eq!(refused(&error), &Refused::Folder);
        let error = open(folder.path().join("no")).expect_err("nothing");
        assert_eq!(error.kind(), ErrorKind::NotFound);
        #[cfg(unix)]
        {
            let error = open("/dev/zero").expect_err("a device");
            assert_eq!(refused(&error), &Refused::NotAFile("a device"));
            let socket = folder.path().join("socket");
            let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
            let error = open(&socket).expect_err("a socket");
            assert_eq!(refused(&error), &Refused::NotAFile("a socket"));
        }
    }

    #[test]
    fn size_is_asked_before_anything_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        std::fs::write(&path, "twelve bytes").expect("written");
        assert_eq!(read(&path, 12).expect("read"), b"twelve bytes");
        let error = read(&path, 11).expect_err("too large");
        assert_eq!(
            error.to_string(),
            "it has 12 bytes, and files of this kind are read up to 11 bytes: is it the right file?"
        );
        let huge = File::create(&path).expect("made");
        huge.set_len(1 << 40).expect("sparse");
        let error = read_text(&path).expect_err("too large");
        assert!(error.to_string().contains("1 TiB"), "{error}");
        std::fs::write(&path, [0xff, 0xfe]).expect("written");
        let error = read_text(&path).expect_err("no text");
        assert_eq!(error.to_string(), "it is not text in UTF-8");
    }
}
