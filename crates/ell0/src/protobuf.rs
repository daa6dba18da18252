//! Protocol buffers, only as much of them as writing takes: event files and ONNX are made of them.
//!
//! ```
//! use ell0::protobuf::Message;
//! // The examples of the format's own documentation.
//! let mut message = Message::default();
//! message.varint(1, 150);
//! message.bytes(2, b"testing");
//! assert_eq!(message.as_bytes(), b"\x08\x96\x01\x12\x07testing");
//! ```

/// A message in the making. Fields stand in the order in which they are added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message(Vec<u8>);

impl Message {
    /// The bytes so far.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// A whole number (int64, uint64, enum).
    pub fn varint(&mut self, field: u64, value: u64) {
        self.tag(field, 0);
        self.number(value);
    }

    /// A number in double precision.
    pub fn double(&mut self, field: u64, value: f64) {
        self.tag(field, 1);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// Bytes or text.
    pub fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.tag(field, 2);
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// A message inside.
    pub fn message(&mut self, field: u64, message: &Message) {
        self.bytes(field, &message.0);
    }

    /// A number in single precision.
    pub fn float(&mut self, field: u64, value: f32) {
        self.tag(field, 5);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn tag(&mut self, field: u64, wire: u64) {
        self.number(field << 3 | wire);
    }

    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}
