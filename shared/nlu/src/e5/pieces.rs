//! Text as the numbers of the model's pieces: the unigram model of SentencePiece, of which the likeliest cut is found by Viterbi's
//! algorithm (Kudo, 2018). No crate reads this file's table, and those that read the original's are 84 packages.

#![expect(
    clippy::indexing_slicing,
    reason = "every index is below the number of characters that the lists are made for"
)]

use std::collections::HashMap;

use super::WeightsError;
use super::file::Cursor;

/// Stands where SentencePiece has a blank.
const BLANK: char = '\u{2581}';
/// What a character without a piece costs beside the least likely piece.
const UNKNOWN_COST: f32 = 10.0;

/// The pieces that text is cut into.
pub(super) struct Pieces {
    numbers: HashMap<Box<str>, (u32, f32)>,
    replaced: HashMap<char, Box<str>>,
    /// The longest piece, in bytes: no longer run is looked up.
    longest: usize,
    unknown_score: f32,
    begin: u32,
    end: u32,
    unknown: u32,
}

impl Pieces {
    pub(super) fn read(file: &mut Cursor<'_>) -> Result<Self, WeightsError> {
        let count = file.size()?;
        let (begin, end, _pad, unknown) = (file.int()?, file.int()?, file.int()?, file.int()?);
        let len = file.long()?;
        let offsets = file.take(4 * (count + 1))?.as_chunks::<4>().0;
        let scores = file.take(4 * count)?.as_chunks::<4>().0;
        let texts = file.take(len)?;
        let mut pieces = Self {
            numbers: HashMap::with_capacity(count),
            replaced: HashMap::new(),
            longest: 0,
            unknown_score: 0.0,
            begin,
            end,
            unknown,
        };
        for ((number, span), score) in (0_u32..).zip(offsets.array_windows()).zip(scores) {
            let [from, to] = span.map(|offset: [u8; 4]| u32::from_le_bytes(offset) as usize);
            let text = texts.get(from..to).ok_or(WeightsError::Truncated)?;
            let score = f32::from_le_bytes(*score);
            pieces.unknown_score = pieces.unknown_score.min(score);
            let Ok(text) = std::str::from_utf8(text) else {
                continue;
            };
            pieces.longest = pieces.longest.max(text.len());
            if !text.is_empty() && number != unknown {
                pieces.numbers.entry(text.into()).or_insert((number, score));
            }
        }
        pieces.unknown_score -= UNKNOWN_COST;
        let (replaced, _bytes) = (file.size()?, file.int()?);
        for _ in 0..replaced {
            let from = file.int()?;
            let count = file.byte()?;
            let to = (0..count).map(|_| Ok(char::from_u32(file.int()?).unwrap_or(' ')));
            let to: String = to.collect::<Result<_, WeightsError>>()?;
            if let Some(from) = char::from_u32(from) {
                pieces.replaced.insert(from, to.into());
            }
        }
        Ok(pieces)
    }

    /// The pieces of a text between begin and end, `most` of them with both.
    pub(super) fn of(&self, text: &str, most: usize) -> Vec<u32> {
        let text = self.prepared(text);
        let mut cut = self.cut(&text);
        cut.truncate(most.saturating_sub(2));
        [vec![self.begin], cut, vec![self.end]].concat()
    }

    /// With characters replaced, one blank for several, and one in front.
    fn prepared(&self, text: &str) -> String {
        let mut prepared = String::from(BLANK);
        for letter in text.chars() {
            let own = letter.encode_utf8(&mut [0; 4]).to_owned();
            let replaced = self.replaced.get(&letter).map_or(own.as_str(), |to| to);
            for letter in replaced.chars() {
                let letter = if letter == ' ' { BLANK } else { letter };
                if letter != BLANK || !prepared.ends_with(BLANK) {
                    prepared.push(letter);
                }
            }
        }
        prepared
    }

    /// The likeliest cut: for each end of a character the best score of all cuts that reach it.
    fn cut(&self, text: &str) -> Vec<u32> {
        let ends: Vec<usize> = text
            .char_indices()
            .map(|(at, _)| at)
            .chain([text.len()])
            .collect();
        // The score, the last piece, and where that begins.
        let mut best = vec![(f32::NEG_INFINITY, self.unknown, 0_usize); ends.len()];
        best[0].0 = 0.0;
        for from in 0..ends.len().saturating_sub(1) {
            let score = best[from].0;
            let unknown = score + self.unknown_score;
            if unknown > best[from + 1].0 {
                best[from + 1] = (unknown, self.unknown, from);
            }
            for to in from + 1..ends.len() {
                if ends[to] - ends[from] > self.longest {
                    break;
                }
                if let Some((number, own)) = self.numbers.get(&text[ends[from]..ends[to]])
                    && score + own > best[to].0
                {
                    best[to] = (score + own, *number, from);
                }
            }
        }
        let mut cut = Vec::new();
        let mut at = ends.len() - 1;
        while at > 0 {
            let (_, number, from) = best[at];
            cut.push(number);
            at = from;
        }
        cut.reverse();
        cut
    }
}
