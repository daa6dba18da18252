//! Images of digits: MNIST from a folder, or drawn ones where there is none.

use std::{
    error::Error,
    fs::File,
    io::{BufReader, Read},
    path::{Path, PathBuf},
};

use burn::tensor::{Device, Int, Tensor, TensorData};
use ell0::rng::Stream;
use flate2::read::GzDecoder;

const SIDE: usize = 28;
const PIXELS: usize = SIDE * SIDE;

/// Images of 28×28 pixels, scaled as usual for MNIST, and what they show.
pub struct Digits {
    pixels: Vec<f32>,
    labels: Vec<u8>,
}

impl Digits {
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// The first `rows` of them.
    pub fn truncate(&mut self, rows: usize) {
        self.labels.truncate(rows);
        self.pixels.truncate(self.labels.len() * PIXELS);
    }

    /// These rows as tensors.
    pub fn batch(&self, rows: &[usize], device: &Device) -> (Tensor<4>, Tensor<1, Int>) {
        let mut pixels = Vec::with_capacity(rows.len() * PIXELS);
        for &row in rows {
            pixels.extend_from_slice(&self.pixels[row * PIXELS..][..PIXELS]);
        }
        let labels: Vec<i64> = rows
            .iter()
            .map(|&row| i64::from(self.labels[row]))
            .collect();
        (
            Tensor::from_data(TensorData::new(pixels, [rows.len(), 1, SIDE, SIDE]), device),
            Tensor::from_data(TensorData::new(labels, [rows.len()]), device),
        )
    }

    /// `train` or `t10k` of the four files of MNIST, packed or not.
    pub fn mnist(folder: &Path, part: &str) -> Result<Self, Box<dyn Error>> {
        let images = idx(folder, &format!("{part}-images"), "idx3-ubyte", 3)?;
        let labels = idx(folder, &format!("{part}-labels"), "idx1-ubyte", 1)?;
        if images.shape[1..] != [SIDE, SIDE] || images.shape[0] != labels.shape[0] {
            return Err(format!(
                "{}: {part} has images of shape {:?} and {} labels, expected as many images of 28 by 28",
                folder.display(),
                images.shape,
                labels.shape[0]
            )
            .into());
        }
        if let Some(label) = labels.bytes.iter().find(|&&label| label > 9) {
            return Err(format!(
                "{}: a label of {part} is {label}, expected 0 to 9",
                folder.display()
            )
            .into());
        }
        Ok(Digits {
            pixels: images
                .bytes
                .iter()
                .map(|&byte| (f32::from(byte) / 255.0 - 0.1307) / 0.3081)
                .collect(),
            labels: labels.bytes,
        })
    }

    /// Digits of seven segments, moved, scaled and spoilt by noise: enough to see the program at work, and no benchmark of anything.
    pub fn drawn(rows: usize, stream: &Stream) -> Self {
        // Segments top, upper left, upper right, middle, lower left, lower right, bottom as lines (x0, y0, x1, y1).
        const LINES: [[f64; 4]; 7] = [
            [0.0, 0.0, 1.0, 0.0],
            [0.0, 0.0, 0.0, 1.0],
            [1.0, 0.0, 1.0, 1.0],
            [0.0, 1.0, 1.0, 1.0],
            [0.0, 1.0, 0.0, 2.0],
            [1.0, 1.0, 1.0, 2.0],
            [0.0, 2.0, 1.0, 2.0],
        ];
        const SEGMENTS: [&[usize]; 10] = [
            &[0, 1, 2, 4, 5, 6],
            &[2, 5],
            &[0, 2, 3, 4, 6],
            &[0, 2, 3, 5, 6],
            &[1, 2, 3, 5],
            &[0, 1, 3, 5, 6],
            &[0, 1, 3, 4, 5, 6],
            &[0, 2, 5],
            &[0, 1, 2, 3, 4, 5, 6],
            &[0, 1, 2, 3, 5, 6],
        ];
        let mut digits = Digits {
            pixels: Vec::with_capacity(rows * PIXELS),
            labels: Vec::with_capacity(rows),
        };
        for row in 0..rows {
            let mut rng = stream.at(row as u64);
            let label = rng.index(10);
            let size = 6.0 + 3.0 * rng.uniform();
            let (left, top) = (4.0 + 8.0 * rng.uniform(), 2.0 + 6.0 * rng.uniform());
            for pixel in 0..PIXELS {
                let (x, y) = ((pixel % SIDE) as f64, (pixel / SIDE) as f64);
                let near = SEGMENTS[label]
                    .iter()
                    .map(|&segment| {
                        let [x0, y0, x1, y1] = LINES[segment];
                        let px = x.clamp(left + size * x0, left + size * x1);
                        let py = y.clamp(top + size * y0, top + size * y1);
                        (x - px).hypot(y - py)
                    })
                    .fold(f64::INFINITY, f64::min);
                let ink = (1.8 - near).clamp(0.0, 1.0) + 0.15 * rng.normal();
                digits.pixels.push(((ink - 0.1307) / 0.3081) as f32);
            }
            digits.labels.push(label as u8);
        }
        digits
    }
}

/// An IDX file of bytes.
struct Idx {
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

fn idx(folder: &Path, name: &str, kind: &str, rank: usize) -> Result<Idx, Box<dyn Error>> {
    // Both spellings are about.
    let candidates: Vec<PathBuf> = ['-', '.']
        .iter()
        .flat_map(|dash| {
            [
                format!("{name}{dash}{kind}"),
                format!("{name}{dash}{kind}.gz"),
            ]
        })
        .map(|file| folder.join(file))
        .collect();
    let path = candidates
        .iter()
        .find(|path| path.is_file())
        .ok_or_else(|| {
            format!(
                "there is no file {name}-{kind} or {name}-{kind}.gz in {}",
                folder.display()
            )
        })?;
    let file = BufReader::new(File::open(path)?);
    let mut bytes = Vec::new();
    if path.extension().is_some_and(|extension| extension == "gz") {
        GzDecoder::new(file).read_to_end(&mut bytes)?;
    } else {
        let mut file = file;
        file.read_to_end(&mut bytes)?;
    }
    let header = 4 + 4 * rank;
    let short = || format!("{} is no IDX file of {rank} axes of bytes", path.display());
    if bytes.len() < header || bytes[..4] != [0, 0, 8, rank as u8] {
        return Err(short().into());
    }
    let shape: Vec<usize> = (0..rank)
        .map(|axis| {
            let at = 4 + 4 * axis;
            u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]) as usize
        })
        .collect();
    let expected = shape
        .iter()
        .try_fold(1usize, |n, &axis| n.checked_mul(axis));
    let bytes = bytes.split_off(header);
    if expected != Some(bytes.len()) {
        return Err(format!(
            "{} holds {} bytes where its header speaks of {shape:?}",
            path.display(),
            bytes.len()
        )
        .into());
    }
    Ok(Idx { shape, bytes })
}
