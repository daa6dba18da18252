//! Bytes as letters (RFC 4648), for pictures inside of SVG.

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Adds bytes to a text, three of them as four letters.
pub(crate) fn write(text: &mut String, bytes: &[u8]) {
    text.reserve(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |k: usize| u32::from(three.get(k).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for k in 0..4 {
            text.push(match k {
                k if k > three.len() => '=',
                _ => char::from(LETTERS[(bits >> (18 - 6 * k)) as usize & 63]),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    /// The examples of RFC 4648, and all letters.
    #[test]
    fn examples_of_the_standard() {
        let written = |bytes: &[u8]| {
            let mut text = String::new();
            super::write(&mut text, bytes);
            text
        };
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(written(bytes.as_bytes()), text);
        }
        assert_eq!(written(&[0xfb, 0xff, 0xfe, 0x00]), "+//+AA==");
    }
}
