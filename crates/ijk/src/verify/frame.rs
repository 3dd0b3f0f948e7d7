//! Encoding of the messages that `child.py` describes.

use ijk_tensor::{Tensor, TensorView, file};
use std::io::{self, Read, Write};

/// Largest accepted reply: a wrong length must not exhaust memory.
const MOST_BYTES: u64 = 1 << 40;

/// Writes a message with its length.
pub(super) fn write(pipe: &mut impl Write, message: &[u8]) -> io::Result<()> {
    pipe.write_all(&(message.len() as u64).to_le_bytes())?;
    pipe.write_all(message)?;
    pipe.flush()
}

/// Reads a message; `None` at the end of the stream, even within a message.
pub(super) fn read(pipe: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 8];
    if let Err(error) = pipe.read_exact(&mut length) {
        return ended(error);
    }
    let length = u64::from_le_bytes(length);
    if length > MOST_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a message of impossible length"));
    }
    // Grows with the bytes that arrive, not with the announced length.
    let mut message = Vec::new();
    pipe.take(length).read_to_end(&mut message)?;
    Ok((message.len() as u64 == length).then_some(message))
}

fn ended<T>(error: io::Error) -> io::Result<Option<T>> {
    if error.kind() == io::ErrorKind::UnexpectedEof { Ok(None) } else { Err(error) }
}

/// Writer of a message.
#[derive(Debug, Default)]
pub(super) struct Message(pub Vec<u8>);

impl Message {
    pub fn new(kind: u8) -> Self {
        Self(vec![kind])
    }

    pub fn byte(&mut self, byte: u8) -> &mut Self {
        self.0.push(byte);
        self
    }

    pub fn integer(&mut self, n: i64) -> &mut Self {
        self.0.extend(n.to_le_bytes());
        self
    }

    pub fn count(&mut self, n: usize) -> &mut Self {
        self.integer(n as i64)
    }

    pub fn text(&mut self, text: &str) -> &mut Self {
        self.count(text.len());
        self.0.extend(text.as_bytes());
        self
    }

    pub fn array(&mut self, array: &TensorView<'_>) -> Result<&mut Self, file::Problem> {
        let start = self.0.len();
        self.integer(0);
        file::npy::encode(&mut self.0, array)?;
        let length = (self.0.len() - start - 8) as i64;
        self.0[start..start + 8].copy_from_slice(&length.to_le_bytes());
        Ok(self)
    }
}

/// Reader of a message. `None` past its end.
#[derive(Debug)]
pub(super) struct Parts<'a>(pub &'a [u8]);

impl Parts<'_> {
    pub fn byte(&mut self) -> Option<u8> {
        self.0.split_off_first().copied()
    }

    pub fn count(&mut self) -> Option<usize> {
        let bytes = self.0.split_off(..8)?;
        usize::try_from(i64::from_le_bytes(bytes.try_into().ok()?)).ok()
    }

    pub fn text(&mut self) -> Option<String> {
        let length = self.count()?;
        Some(String::from_utf8_lossy(self.0.split_off(..length)?).into_owned())
    }

    pub fn array(&mut self) -> Option<Result<Tensor, file::Problem>> {
        let length = self.count()?;
        let bytes = self.0.split_off(..length)?;
        Some(file::npy::decode(bytes, Some(length as u64)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let tensor = Tensor::from_vec(vec![1i64, 2, 3, 4, 5, 6], &[2, 3]).unwrap();
        let mut message = Message::new(b'R');
        message.count(1).text("näme").array(&tensor.view()).unwrap();
        let mut pipe = Vec::new();
        write(&mut pipe, &message.0).unwrap();
        let got = read(&mut &pipe[..]).unwrap().unwrap();
        let mut parts = Parts(&got);
        assert_eq!(parts.byte(), Some(b'R'));
        assert_eq!(parts.count(), Some(1));
        assert_eq!(parts.text().as_deref(), Some("näme"));
        assert_eq!(parts.array().unwrap().unwrap(), tensor);
        assert_eq!(parts.byte(), None);
    }

    #[test]
    fn nonsense_is_no_message() {
        assert!(read(&mut &b"abc"[..]).unwrap().is_none());
        assert!(read(&mut &[9, 0, 0, 0, 0, 0, 0, 0, 1][..]).unwrap().is_none());
        assert!(read(&mut &[0xff; 20][..]).is_err());
        assert!(Parts(&[0xff; 8]).count().is_none());
        assert!(Parts(&[200, 0, 0, 0, 0, 0, 0, 0, 65]).text().is_none());
        assert!(Parts(&[1, 0, 0, 0, 0, 0, 0, 0, 65]).array().unwrap().is_err());
    }
}
