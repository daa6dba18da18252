//! Colours for values.

/// Red, green and blue.
pub(crate) type Rgb = [u8; 3];

/// Where there is no value.
pub(crate) const MISSING: Rgb = [0x9c, 0xa3, 0xaf];

/// Which colours stand for which values. Both sets are told apart by eyes that see no red or no green.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Palette {
    /// Blue below zero, white at it, red above: the colours of RdBu of ColorBrewer.
    #[default]
    Diverging,
    /// From dark violet to yellow: the colours of viridis.
    Sequential,
}

/// Evenly spaced, from low to high; in between, colours are mixed.
const DIVERGING: [u32; 11] = [
    0x053061, 0x2166ac, 0x4393c3, 0x92c5de, 0xd1e5f0, 0xf7f7f7, 0xfddbc7, 0xf4a582, 0xd6604d,
    0xb2182b, 0x67001f,
];
const SEQUENTIAL: [u32; 10] = [
    0x440154, 0x482878, 0x3e4a89, 0x31688e, 0x26828e, 0x1f9e89, 0x35b779, 0x6ece58, 0xb5de2b,
    0xfde725,
];

impl Palette {
    /// The colour of a value in a range; values beyond it have the colour of its end.
    pub(crate) fn colour(self, value: f64, (low, high): (f64, f64)) -> Rgb {
        if value.is_nan() {
            return MISSING;
        }
        let value = value.clamp(low, high);
        match self {
            // White is zero, wherever the range lies, and equal distances from it are equally strong.
            Palette::Diverging => mixed(&DIVERGING, 0.5 + 0.5 * value / low.abs().max(high.abs())),
            Palette::Sequential => mixed(&SEQUENTIAL, (value - low) / (high - low)),
        }
    }
}

/// The colour at a place from 0 to 1.
fn mixed(colours: &[u32], at: f64) -> Rgb {
    let at = at.clamp(0.0, 1.0) * (colours.len() - 1) as f64;
    let below = (at as usize).min(colours.len() - 2);
    let share = at - below as f64;
    let [a, b] = [colours[below], colours[below + 1]].map(u32::to_be_bytes);
    [1, 2, 3].map(|k| {
        let (a, b) = (f64::from(a[k]), f64::from(b[k]));
        (a + share * (b - a)).round() as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_and_middle_have_their_colours() {
        let diverging = |value| Palette::Diverging.colour(value, (-3.0, 3.0));
        assert_eq!(diverging(-3.0), [0x05, 0x30, 0x61]);
        assert_eq!(diverging(0.0), [0xf7; 3]);
        assert_eq!(diverging(3.0), [0x67, 0x00, 0x1f]);
        let sequential = |value| Palette::Sequential.colour(value, (2.0, 4.0));
        assert_eq!(sequential(2.0), [0x44, 0x01, 0x54]);
        assert_eq!(sequential(4.0), [0xfd, 0xe7, 0x25]);
        // Half way between the fifth and the sixth of ten.
        assert_eq!(sequential(3.0), [0x23, 0x90, 0x8c]);
        // Beyond the ends nothing changes, and what is no number has a colour of its own.
        assert_eq!(diverging(f64::INFINITY), diverging(3.0));
        assert_eq!(sequential(-1e300), sequential(2.0));
        assert_eq!(diverging(f64::NAN), MISSING);
        assert_eq!(sequential(f64::NAN), MISSING);
    }

    #[test]
    fn zero_is_white_in_a_lopsided_range() {
        let lopsided = |value| Palette::Diverging.colour(value, (-1.0, 4.0));
        assert_eq!(lopsided(0.0), [0xf7; 3]);
        let even = |value| Palette::Diverging.colour(value, (-4.0, 4.0));
        assert_eq!(lopsided(-1.0), even(-1.0));
        assert_eq!(lopsided(-2.0), even(-1.0));
    }

    /// Both get steadily brighter, or darker from the middle on: they can be read without colours.
    #[test]
    fn brightness_tells_the_value() {
        let bright = |palette: Palette, value: f64| {
            let [r, g, b] = palette.colour(value, (-1.0, 1.0)).map(f64::from);
            0.2126 * r + 0.7152 * g + 0.0722 * b
        };
        for k in 0..20 {
            let (a, b) = (f64::from(k) / 20.0, f64::from(k + 1) / 20.0);
            for sign in [-1.0, 1.0] {
                let of = |value| bright(Palette::Diverging, sign * value);
                assert!(of(a) > of(b), "{a} {b}");
            }
            let of = |value| bright(Palette::Sequential, 2.0 * value - 1.0);
            assert!(of(a) < of(b), "{a} {b}");
        }
    }
}
