//! An agent's answer while it comes in: files in it that are too large to be held are taken out, so that what is left is JSON of the usual
//! size.
//!
//! A file is the string of `raw` (A2A 1.0) or `bytes` (0.3). One that is longer than [`Sieve::new`] says is decoded on the way and given out piece by
//! piece; a name stands in its place, in base64 as the file did. Whoever reads the answer finds it by [`placeholder`].

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::lenient::decode_base64;

/// The keys whose strings are files.
const KEYS: [&[u8]; 2] = [b"raw", b"bytes"];
/// Longest string that may be such a key.
const KEY_MAX: usize = 8;

/// What stands in an answer for its file of that number.
#[must_use]
pub fn placeholder(mark: &str, number: usize) -> String {
    STANDARD.encode(format!("{mark}/{number}"))
}

/// What was taken out of an answer, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilePiece {
    /// Bytes of the file that comes now.
    Bytes(Vec<u8>),
    /// The file of this number is whole.
    End(usize),
}

/// Why an answer cannot be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SieveError {
    /// What is left of it is longer than it may be.
    TooLong,
    /// A file is no base64.
    NotBase64,
}

/// Where in the JSON it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Outside,
    /// In a string that begins there in what is left, which may be a file.
    Within(usize, bool),
    /// In a file that is taken out.
    File,
}

/// Takes large files out of a JSON text that comes piece by piece. What is no JSON is left as it is.
#[derive(Debug)]
pub struct Sieve {
    mark: String,
    from: usize,
    most: usize,
    place: Place,
    escaped: bool,
    /// The last string, and what came since: a key, where that is a colon.
    last: Vec<u8>,
    is_key: bool,
    left: Vec<u8>,
    /// Base64 that is not decoded yet.
    open: Vec<u8>,
    files: usize,
}

impl Sieve {
    /// One that takes out files of more than `from` characters, names them by this mark, and leaves `most` bytes at most.
    #[must_use]
    pub fn new(mark: &str, (from, most): (usize, usize)) -> Self {
        Self {
            mark: mark.to_owned(),
            from,
            most,
            place: Place::Outside,
            escaped: false,
            last: Vec::new(),
            is_key: false,
            left: Vec::new(),
            open: Vec::new(),
            files: 0,
        }
    }

    /// Reads on.
    ///
    /// # Errors
    /// [`SieveError`]; nothing more can be read then.
    pub fn read(&mut self, text: &[u8]) -> Result<Vec<FilePiece>, SieveError> {
        let (mut pieces, mut rest) = (Vec::new(), text);
        while let Some((first, more)) = rest.split_first() {
            if self.place == Place::Outside {
                self.outside(*first);
                rest = more;
                continue;
            }
            let plain = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'));
            let taken = match plain {
                _ if self.escaped => 1,
                Some(plain) => plain.max(1),
                None => rest.len(),
            };
            let (now, more) = rest.split_at(taken);
            rest = more;
            self.within(now, &mut pieces)?;
        }
        (self.left.len() <= self.most)
            .then_some(pieces)
            .ok_or(SieveError::TooLong)
    }

    /// What is left of the answer.
    #[must_use]
    pub fn left(self) -> Vec<u8> {
        self.left
    }

    fn outside(&mut self, byte: u8) {
        self.left.push(byte);
        match byte {
            b'"' => {
                let is_file = self.is_key && KEYS.contains(&self.last.as_slice());
                self.place = Place::Within(self.left.len(), is_file);
            }
            b':' => self.is_key = true,
            byte if byte.is_ascii_whitespace() => {}
            _ => {
                self.last.clear();
                self.is_key = false;
            }
        }
    }

    /// Reads what has no quote or backslash in it, or one alone.
    fn within(&mut self, now: &[u8], pieces: &mut Vec<FilePiece>) -> Result<(), SieveError> {
        let ends = now == b"\"" && !self.escaped;
        match self.place {
            Place::Within(begin, _) if ends => {
                let content = self.left.get(begin..).unwrap_or_default();
                self.last = content.get(..KEY_MAX).unwrap_or(content).to_vec();
                self.left.push(b'"');
            }
            Place::Within(begin, is_file) => {
                self.left.extend_from_slice(now);
                self.escaped = now == b"\\" && !self.escaped;
                if is_file && self.left.len() - begin > self.from {
                    let begun = self.left.split_off(begin);
                    (self.place, self.escaped) = (Place::File, false);
                    self.decoded(&begun, 4, pieces)?;
                }
                return Ok(());
            }
            Place::File if ends => {
                self.decoded(b"", 1, pieces)?;
                let name = placeholder(&self.mark, self.files);
                self.left.extend_from_slice(name.as_bytes());
                self.left.push(b'"');
                pieces.push(FilePiece::End(self.files));
                self.files += 1;
                self.last.clear();
            }
            Place::File => return self.decoded(now, 4, pieces),
            Place::Outside => {}
        }
        (self.place, self.is_key) = (Place::Outside, false);
        Ok(())
    }

    /// Takes more of a file's text, of which as much is decoded as makes whole groups of so many characters.
    fn decoded(&mut self, text: &[u8], group: usize, pieces: &mut Vec<FilePiece>) -> Result<(), SieveError> {
        for byte in text {
            match (self.escaped, byte) {
                (false, b'\\') => self.escaped = true,
                (false, byte) | (true, byte @ b'/') => {
                    self.escaped = false;
                    self.open.push(*byte);
                }
                (true, _) => return Err(SieveError::NotBase64),
            }
        }
        let rest = self.open.split_off(self.open.len() / group * group);
        let whole = String::from_utf8(std::mem::replace(&mut self.open, rest));
        let bytes = whole.ok().and_then(|whole| decode_base64(&whole));
        let bytes = bytes.ok_or(SieveError::NotBase64)?;
        if !bytes.is_empty() {
            pieces.push(FilePiece::Bytes(bytes));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    const FROM: usize = 40;
    const MOST: usize = 4096;

    /// What is left of a text that comes in pieces of such lengths, and the files.
    fn sifted(text: &[u8], lengths: &[usize]) -> Result<(Vec<u8>, Vec<Vec<u8>>), SieveError> {
        let mut sieve = Sieve::new("m", (FROM, MOST));
        let (mut files, mut open, mut rest) = (Vec::new(), Vec::new(), text);
        for length in lengths.iter().chain(std::iter::once(&text.len())) {
            let (now, more) = rest.split_at((*length).min(rest.len()));
            rest = more;
            for piece in sieve.read(now)? {
                match piece {
                    FilePiece::Bytes(bytes) => open.extend(bytes),
                    FilePiece::End(number) => {
                        assert_eq!(number, files.len());
                        files.push(std::mem::take(&mut open));
                    }
                }
            }
        }
        Ok((sieve.left(), files))
    }

    #[test]
    fn large_files_alone_are_taken_out() {
        let (large, other) = (vec![7; 100], vec![9; 31]);
        let base64 = STANDARD.encode(&large);
        let answer = json!({"parts": [{"raw": base64}, {"text": base64}, {"raw": "QUJD"}, {"file": {"bytes": STANDARD.encode(&other)}},
            {"data": ["raw", base64, {"raw\"": base64}]}]});
        let (left, files) = sifted(answer.to_string().as_bytes(), &[]).unwrap();
        assert_eq!(files, [large, other]);
        let left: Value = serde_json::from_slice(&left).unwrap();
        let mut expected = answer;
        expected["parts"][0]["raw"] = json!(placeholder("m", 0));
        expected["parts"][3]["file"]["bytes"] = json!(placeholder("m", 1));
        assert_eq!(left, expected);
    }

    #[test]
    fn base64_is_read_as_peers_write_it_and_rubbish_is_refused() {
        let bytes: Vec<u8> = (0..=254).collect();
        let written = STANDARD.encode(&bytes);
        for form in [
            written.replace('/', "\\/"),
            written.replace('/', "_").replace('+', "-"),
            written.trim_end_matches('=').to_owned(),
        ] {
            let text = format!(r#"{{"raw" : "{form}"}}"#);
            assert_eq!(
                sifted(text.as_bytes(), &[]).unwrap().1,
                [bytes.as_slice()],
                "{form}"
            );
        }
        for rubbish in [
            "%".repeat(50),
            format!("{}\\n", "A".repeat(60)),
            "é".repeat(50),
            "A".repeat(61),
        ] {
            let text = format!(r#"{{"raw":"{rubbish}"}}"#);
            assert_eq!(
                sifted(text.as_bytes(), &[]).unwrap_err(),
                SieveError::NotBase64,
                "{rubbish}"
            );
        }
        let long = format!(r#"{{"text":"{}"}}"#, "x".repeat(MOST));
        assert_eq!(sifted(long.as_bytes(), &[]).unwrap_err(), SieveError::TooLong);
    }

    proptest! {
        /// Where a text is cut changes nothing, and what has no large file stays as it is, JSON or not.
        #[test]
        fn pieces_of_any_length_are_read_alike(
            texts in prop::collection::vec(("(raw|bytes|text|\"|:| )", prop::collection::vec(any::<u8>(), 0..80)), 0..6),
            rubbish in "[raw:\"\\\\{}, ]{0,40}",
            lengths in prop::collection::vec(1..50_usize, 0..20),
        ) {
            let parts: Vec<Value> = texts.iter().map(|(key, bytes)| json!({key: STANDARD.encode(bytes)})).collect();
            let text = Value::from(parts).to_string();
            prop_assert_eq!(sifted(text.as_bytes(), &lengths), sifted(text.as_bytes(), &[]));
            let (left, files) = sifted(text.as_bytes(), &lengths).unwrap();
            if files.is_empty() {
                prop_assert_eq!(left, text.into_bytes());
            }
            let (left, files) = sifted(rubbish.as_bytes(), &lengths).unwrap();
            prop_assert!(files.is_empty() || rubbish.len() > FROM);
            prop_assert!(!files.is_empty() || left == rubbish.as_bytes());
        }
    }
}
