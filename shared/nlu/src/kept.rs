//! What is kept of vectors, which cost more to make than to keep: a byte a number with one scale a vector, under a hash of what it
//! was made of. What is lost is made again.

use async_trait::async_trait;
use sha2::{Digest as _, Sha256};

use crate::embed::Vector;

/// Goes into every hash: another way of writing, or of making, is another key.
const FORMAT: &str = "1";
/// The largest byte of a vector.
const LARGEST: f32 = 127.0;

/// Where something is kept: the hash of all that it was made of, the model's name included, as 32 hexadecimal digits.
pub(crate) fn key<'a>(made_of: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new_with_prefix(FORMAT);
    for text in made_of {
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    }
    let hash = hash.finalize();
    hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Keeps what was made, under the hash of what it was made of: 32 hexadecimal digits. Each value is below 300 KB.
#[async_trait]
pub trait VectorStore: Send + Sync {
    /// What is kept there; none where nothing is, or it cannot be read now.
    async fn load(&self, key: &str) -> Option<Vec<u8>>;
    /// Keeps it, where that is possible.
    async fn keep(&self, key: &str, bytes: Vec<u8>);
}

/// Most bytes that are kept under one key.
const PIECE_MAX: usize = 250_000;
/// Most pieces of what is larger.
const PIECES_MAX: usize = 16;

/// Keeps what may be larger than one value, in pieces, the first under the key itself.
pub(crate) async fn keep_pieces(kept: &dyn VectorStore, of: &str, bytes: &[u8]) {
    let mut pieces: Vec<Vec<u8>> = bytes.chunks(PIECE_MAX).map(<[u8]>::to_vec).collect();
    // The last is shorter than a piece may be, which tells its end.
    if bytes.len().is_multiple_of(PIECE_MAX) {
        pieces.push(Vec::new());
    }
    for (at, piece) in pieces.into_iter().enumerate() {
        kept.keep(&piece_key(of, at), piece).await;
    }
}

/// What was kept so; none where a piece is missing.
pub(crate) async fn load_pieces(kept: &dyn VectorStore, of: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for at in 0..PIECES_MAX {
        let piece = kept.load(&piece_key(of, at)).await?;
        bytes.extend_from_slice(&piece);
        if piece.len() < PIECE_MAX {
            return Some(bytes);
        }
    }
    None
}

fn piece_key(of: &str, at: usize) -> String {
    match at {
        0 => of.to_owned(),
        at => key([of, at.to_string().as_str()]),
    }
}

/// Keeps nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoStore;

#[async_trait]
impl VectorStore for NoStore {
    async fn load(&self, _key: &str) -> Option<Vec<u8>> {
        None
    }
    async fn keep(&self, _key: &str, _bytes: Vec<u8>) {}
}

/// Numbers, four bytes each.
pub(crate) fn numbers(numbers: impl IntoIterator<Item = f32>) -> Vec<u8> {
    numbers.into_iter().flat_map(f32::to_le_bytes).collect()
}

/// The numbers of bytes; none where they are no finite ones.
pub(crate) fn read_numbers(bytes: &[u8]) -> Option<Vec<f32>> {
    let (numbers, rest) = bytes.as_chunks::<4>();
    let numbers: Vec<f32> = numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    (rest.is_empty() && numbers.iter().all(|number| number.is_finite())).then_some(numbers)
}

/// Vectors of one width: of each its scale and a byte a number.
pub(crate) fn packed(vectors: &[Vector]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for vector in vectors {
        let most = vector.numbers().iter().fold(0.0_f32, |most, x| most.max(x.abs()));
        let scale = most.max(f32::MIN_POSITIVE) / LARGEST;
        bytes.extend(scale.to_le_bytes());
        bytes.extend(
            vector
                .numbers()
                .iter()
                .flat_map(|x| byte(x / scale).to_le_bytes()),
        );
    }
    bytes
}

#[expect(clippy::cast_possible_truncation, reason = "it is at most 127")]
fn byte(number: f32) -> i8 {
    number.round() as i8
}

/// So many vectors of bytes; none where they hold something else.
pub(crate) fn unpacked(bytes: &[u8], count: usize) -> Option<Vec<Vector>> {
    let each = bytes.len().checked_div(count)?;
    let vector = |bytes: &[u8]| {
        let (scale, bytes) = bytes.split_first_chunk::<4>()?;
        let scale = f32::from_le_bytes(*scale);
        let number = |byte: &u8| f32::from(i8::from_le_bytes([*byte])) * scale;
        Vector::read(bytes.iter().map(number).collect())
    };
    if each * count != bytes.len() || each == 0 {
        return None;
    }
    bytes.chunks(each).map(vector).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(numbers: &[f32]) -> Vector {
        Vector::read(numbers.to_vec()).unwrap()
    }

    #[test]
    fn vectors_come_back_as_near_as_a_byte_a_number_is_and_then_as_they_are() {
        let vectors = [vector(&[0.3, -0.9, 0.001, 4.0]), vector(&[-1.0, 0.0, 0.0, 0.0])];
        let bytes = packed(&vectors);
        assert_eq!(bytes.len(), 2 * (4 + 4));
        let once = unpacked(&bytes, 2).unwrap();
        for (before, after) in vectors.iter().zip(&once) {
            assert!(before.cosine(after) > 0.9999, "{before:?} {after:?}");
        }
        assert_eq!(
            packed(&once)[4..8],
            bytes[4..8],
            "nothing is lost the second time"
        );
    }

    #[test]
    fn bytes_of_something_else_are_no_vectors() {
        let good = packed(&[vector(&[1.0, 2.0]), vector(&[3.0, 4.0])]);
        let scale_of = |scale: f32| [&scale.to_le_bytes()[..], &good[4..]].concat();
        assert!(unpacked(&good, 2).is_some());
        for (bytes, count) in [
            (&good[..11], 2),
            (&good[..], 5),
            (&good[..], 0),
            (&[][..], 2),
            (&good[..8], 2),
            (&scale_of(f32::NAN), 2),
            (&scale_of(f32::INFINITY), 2),
            (&scale_of(0.0), 2),
        ] {
            assert_eq!(unpacked(bytes, count), None, "{bytes:?} {count}");
        }
        assert!(read_numbers(&numbers([1.0, f32::NAN])).is_none() && read_numbers(&[1, 2, 3]).is_none());
        assert_eq!(read_numbers(&numbers([1.0, -2.5])), Some(vec![1.0, -2.5]));
    }

    #[test]
    fn a_key_tells_texts_apart_that_are_cut_otherwise() {
        let key = |texts: &[&str]| super::key(texts.iter().copied());
        assert_eq!(key(&["ab", "c"]), key(&["ab", "c"]));
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
        assert_eq!(key(&[]).len(), 32);
    }
}
