//! JSON text in items, packed as raw DEFLATE (RFC 1951) where that makes it shorter: DynamoDB charges by the kilobyte,
//! and JSON that names the same ids again and again halves.

use std::fmt;
use std::ops::Deref;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::Task;
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::change::text;

/// Text shorter than this, in bytes, lies as it is: it fits into a kilobyte with everything beside it.
const SHORT: usize = 384;

/// Most bytes that an item's text may have once it is unpacked; far more than is ever written.
pub(crate) const UNPACKED_LIMIT: usize = 4 * 1024 * 1024;

/// miniz's usual level: a task of five kilobytes gets a twelfth smaller than with the fastest, which is the difference
/// between three kilobytes and two with all else that lies in its item.
const LEVEL: u8 = 6;

/// Text that is packed in an item and plain in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Packed(pub(crate) String);

impl Deref for Packed {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// The attribute of a text.
pub(crate) fn packed(plain: &str) -> AttributeValue {
    match deflated(plain) {
        Some(bytes) => AttributeValue::B(bytes.into()),
        None => text(plain),
    }
}

/// How many bytes the record of a task takes as it lies in its item and its pieces.
#[must_use]
pub fn kept_bytes(task: &Task) -> usize {
    let plain = serde_json::to_string(task).unwrap_or_default();
    deflated(&plain).map_or(plain.len(), |packed| packed.len())
}

fn deflated(plain: &str) -> Option<Vec<u8>> {
    if plain.len() < SHORT {
        return None;
    }
    let bytes = compress_to_vec(plain.as_bytes(), LEVEL);
    (bytes.len() < plain.len()).then_some(bytes)
}

impl Serialize for Packed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match deflated(&self.0) {
            Some(bytes) => serializer.serialize_bytes(&bytes),
            None => serializer.serialize_str(&self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Packed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Unpack)
    }
}

struct Unpack;

impl Visitor<'_> for Unpack {
    type Value = Packed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, or bytes that it was packed into")
    }

    fn visit_str<E: Error>(self, plain: &str) -> Result<Packed, E> {
        Ok(Packed(plain.to_owned()))
    }

    fn visit_string<E: Error>(self, plain: String) -> Result<Packed, E> {
        Ok(Packed(plain))
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Packed, E> {
        let plain = decompress_to_vec_with_limit(bytes, UNPACKED_LIMIT).map_err(E::custom)?;
        String::from_utf8(plain).map(Packed).map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_dynamo::{from_attribute_value, to_attribute_value};

    use super::*;

    fn stored(plain: &str) -> AttributeValue {
        to_attribute_value(Packed(plain.to_owned())).unwrap()
    }

    fn read(stored: AttributeValue) -> Result<Packed, serde_dynamo::Error> {
        from_attribute_value(stored)
    }

    #[test]
    fn short_text_stays_text_and_long_text_shrinks() {
        assert_eq!(stored("{}"), text("{}"));
        let long = r#"{"taskId":"423fd64a-4b7b-494d-be54-3e30cde7f69a"}"#.repeat(20);
        let AttributeValue::B(bytes) = stored(&long) else {
            panic!("not packed")
        };
        assert!(bytes.as_ref().len() * 5 < long.len(), "{}", bytes.as_ref().len());
        assert_eq!(packed(&long), stored(&long));
    }

    #[test]
    fn rubbish_is_an_error() {
        let bomb = compress_to_vec(&vec![b' '; UNPACKED_LIMIT + 1], LEVEL);
        let latin = compress_to_vec(&[0xE4_u8; 1000], LEVEL);
        for bytes in [b"".to_vec(), b"rubbish".to_vec(), bomb, latin] {
            assert!(read(AttributeValue::B(bytes.into())).is_err());
        }
        assert!(read(AttributeValue::N("7".into())).is_err());
        assert!(read(AttributeValue::Bool(true)).is_err());
    }

    proptest! {
        #[test]
        fn text_comes_back_as_it_was_and_is_never_longer(plain in ".{0,2000}", times in 1_usize..4) {
            let plain = plain.repeat(times);
            let kept = stored(&plain);
            if let AttributeValue::B(bytes) = &kept {
                prop_assert!(bytes.as_ref().len() < plain.len());
            }
            prop_assert_eq!(read(kept).unwrap().0, plain);
        }
    }
}
