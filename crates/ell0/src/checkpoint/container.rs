//! Named tensors and a header in one safetensors file, with a checksum over both.

use std::{
    borrow::Cow,
    collections::HashMap,
    path::{Path, PathBuf},
};

use safetensors::{Dtype, SafeTensors, View};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::checksum::{Checksum, push_values, values_of};
use crate::error::{Error, Result, require_len};

/// The key of our own header among those of a safetensors file.
const KEY: &str = "ell0";

/// How our own header begins; sixteen hexadecimal digits and a quotation mark follow.
const CHECKSUM: &str = r#"{"checksum":""#;

/// Numbers of a given shape, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor<'a> {
    /// Length along each axis.
    pub shape: Vec<usize>,
    /// The numbers, as many as the product of the lengths.
    pub values: Cow<'a, [f32]>,
}

impl<'a> Tensor<'a> {
    /// Numbers of a given shape.
    pub fn new(shape: Vec<usize>, values: impl Into<Cow<'a, [f32]>>) -> Self {
        let values = values.into();
        Tensor { shape, values }
    }

    /// Numbers in a row.
    pub fn flat(values: impl Into<Cow<'a, [f32]>>) -> Self {
        let values = values.into();
        let shape = vec![values.len()];
        Tensor { shape, values }
    }
}

impl View for &Tensor<'_> {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        let mut bytes = Vec::new();
        push_values(&self.values, &mut bytes);
        Cow::Owned(bytes)
    }

    fn data_len(&self) -> usize {
        4 * self.values.len()
    }
}

/// What every file of ours says of itself.
#[derive(Serialize, Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    format: Cow<'a, str>,
    version: u32,
}

#[derive(Serialize)]
struct Written<'a, H> {
    #[serde(flatten)]
    envelope: Envelope<'a>,
    header: &'a H,
}

#[derive(Deserialize)]
struct Read<H> {
    header: H,
}

/// The bytes of a file with a header and tensors. The same contents give the same bytes.
pub fn to_bytes<H: Serialize>(
    format: &str,
    version: u32,
    header: &H,
    tensors: &[(String, Tensor<'_>)],
) -> Result<Vec<u8>> {
    let unwritable = |e: &dyn std::fmt::Display| Error::Checkpoint {
        path: "(memory)".into(),
        reason: format!("it cannot be written: {e}"),
    };
    let mut sorted: Vec<_> = tensors.iter().collect();
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    if let Some(twice) = sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(unwritable(&format!("two tensors `{}`", twice[0].0)));
    }
    let envelope = Envelope {
        format: format.into(),
        version,
    };
    let body = serde_json::to_string(&Written { envelope, header }).map_err(|e| unwritable(&e))?;
    let mut sum = Checksum::new();
    sum.bytes(body.as_bytes());
    for (name, tensor) in sorted {
        let size = tensor.shape.iter().product();
        require_len(format!("tensor `{name}`"), tensor.values.len(), size)?;
        describe(&mut sum, name, Dtype::F32, &tensor.shape);
        sum.values(&tensor.values);
    }
    let text = format!("{CHECKSUM}{:016x}\",{}", sum.finish(), &body[1..]);
    let metadata = HashMap::from([(KEY.to_string(), text)]);
    let views = tensors.iter().map(|(name, tensor)| (name, tensor));
    safetensors::serialize(views, Some(metadata)).map_err(|e| unwritable(&e))
}

fn describe(sum: &mut Checksum, name: &str, dtype: Dtype, shape: &[usize]) {
    sum.bytes(name.as_bytes());
    sum.bytes(dtype.to_string().as_bytes());
    sum.word(shape.len() as u64);
    shape.iter().for_each(|&axis| sum.word(axis as u64));
}

/// The tensors of a file.
#[derive(Debug)]
pub struct Tensors<'a> {
    tensors: SafeTensors<'a>,
    path: PathBuf,
}

impl Tensors<'_> {
    /// Whether there is a tensor of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.tensors.tensor(name).is_ok()
    }

    /// The names of all tensors, in order.
    pub fn names(&self) -> Vec<&str> {
        let mut names = self.tensors.names();
        names.sort_unstable();
        names
    }

    /// The numbers of a tensor that stands in a row, however many they are.
    pub fn take_flat(&self, name: &str) -> Result<Vec<f32>> {
        let view = self.tensors.tensor(name).map_err(|_| self.missing(name))?;
        let len = view.shape().iter().product();
        self.take(name, &[len])
    }

    /// The numbers of a tensor, which must have this shape.
    pub fn take(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let view = self.tensors.tensor(name).map_err(|_| self.missing(name))?;
        if view.dtype() != Dtype::F32 || view.shape() != shape {
            return Err(wrong(
                &self.path,
                format!(
                    "tensor `{name}` is {:?} of shape {:?}, not F32 of shape {shape:?}: the file belongs to something else",
                    view.dtype(),
                    view.shape()
                ),
            ));
        }
        Ok(values_of(view.data()).collect())
    }

    fn missing(&self, name: &str) -> Error {
        let reason = format!("tensor `{name}` is missing: the file belongs to something else");
        wrong(&self.path, reason)
    }
}

fn wrong(path: &Path, reason: impl Into<String>) -> Error {
    Error::Checkpoint {
        path: path.into(),
        reason: reason.into(),
    }
}

/// Our own header of a safetensors file, and its tensors.
fn open<'a>(bytes: &'a [u8], path: &Path) -> Result<(String, SafeTensors<'a>)> {
    let (_, metadata) = SafeTensors::read_metadata(bytes)
        .map_err(|e| wrong(path, format!("truncated, or not a safetensors file ({e})")))?;
    let tensors = SafeTensors::deserialize(bytes)
        .map_err(|e| wrong(path, format!("truncated or damaged ({e})")))?;
    let text = metadata.metadata().as_ref().and_then(|map| map.get(KEY));
    let text = text.ok_or_else(|| {
        wrong(
            path,
            "a safetensors file without an `ell0` header: it was written by another program",
        )
    })?;
    Ok((text.clone(), tensors))
}

/// The format and version that a file says it has.
fn envelope<'t>(text: &'t str, path: &Path) -> Result<Envelope<'t>> {
    serde_json::from_str(text).map_err(|e| {
        wrong(
            path,
            format!("its header is damaged ({e}): expected a format and a version"),
        )
    })
}

/// The format of a file of ours, for those who do not know what they have before them.
pub fn format_of(bytes: &[u8], path: impl AsRef<Path>) -> Result<String> {
    let path = path.as_ref();
    let (text, _) = open(bytes, path)?;
    Ok(envelope(&text, path)?.format.into_owned())
}

/// The header and the tensors of a file, if it is whole, of this format and of this version. `path` is for messages.
pub fn from_bytes<'a, H: DeserializeOwned>(
    format: &str,
    version: u32,
    bytes: &'a [u8],
    path: impl AsRef<Path>,
) -> Result<(H, Tensors<'a>)> {
    let path = path.as_ref();
    let (text, tensors) = open(bytes, path)?;
    // The format and the version first: another one may have other fields.
    let found = envelope(&text, path)?;
    if found.format != format {
        let reason = format!("its format is `{}`, not `{format}`", found.format);
        return Err(wrong(path, reason));
    }
    if found.version != version {
        return Err(wrong(
            path,
            format!(
                "it has format version {}; this program reads version {version}",
                found.version
            ),
        ));
    }
    let damaged = || {
        let reason = "its contents do not match their checksum: the file is damaged";
        wrong(path, reason)
    };
    let rest = text.strip_prefix(CHECKSUM).ok_or_else(damaged)?;
    let (written, body) = rest.split_once("\",").ok_or_else(damaged)?;
    let body = format!("{{{body}");
    let mut sum = Checksum::new();
    sum.bytes(body.as_bytes());
    let mut sorted: Vec<_> = tensors.iter().collect();
    sorted.sort_by(|a, b| a.0.cmp(b.0));
    for (name, view) in sorted {
        describe(&mut sum, name, view.dtype(), view.shape());
        sum.bytes(view.data());
    }
    if format!("{:016x}", sum.finish()) != written {
        return Err(damaged());
    }
    let Read { header } = serde_json::from_str(&body).map_err(|e| {
        wrong(
            path,
            format!("its header has other fields than expected ({e})"),
        )
    })?;
    let path = path.into();
    Ok((header, Tensors { tensors, path }))
}
