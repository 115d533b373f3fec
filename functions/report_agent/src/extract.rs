//! Takes the sentences out of a text that say most, by TextRank: a sentence counts by the words that it shares with the others, and
//! by how much those count themselves (Mihalcea and Tarau, 2004).
//!
//! Not a library, because the maintained ones bring a parser or a numerics stack with them, and the small one a list of words per
//! language and no release since its first. The rules of Unicode tell sentences and words, in any language.

use std::collections::BTreeSet;

use nlu::is_function_word;
use unicode_segmentation::UnicodeSegmentation as _;

/// How often scores are passed on; they hardly move after that.
const ROUNDS: usize = 20;
/// How much of its score a sentence passes on.
const DAMPING: f64 = 0.85;
/// Most words of a sentence that are compared.
const WORDS_MAX: usize = 60;
/// A line of fewer characters ends where it ends; one that goes beyond was broken by its width.
const FULL_LINE: usize = 60;

/// The sentences of a text, at most so many, without the marks of a list around them.
pub(crate) fn sentences(text: &str, most: usize) -> Vec<String> {
    let flowing = text.lines().fold(String::new(), |mut text: String, line| {
        let last = text.lines().next_back().unwrap_or_default();
        let goes_on = last.chars().count() >= FULL_LINE && line.starts_with(char::is_alphanumeric);
        text.push(if goes_on { ' ' } else { '\n' });
        text.push_str(line);
        text
    });
    let bare = |sentence: &str| {
        let marks = |mark: char| mark.is_whitespace() || "-*#>|•".contains(mark);
        sentence.trim_matches(marks).to_owned()
    };
    let sentences = flowing.unicode_sentences().map(bare);
    sentences
        .filter(|sentence| !sentence.is_empty())
        .take(most)
        .collect()
}

/// How many words a text has.
pub(crate) fn words(text: &str) -> usize {
    text.unicode_words().count()
}

/// The sentences that say most, in their order.
pub(crate) fn most_telling(sentences: &[String], most: usize) -> Vec<&str> {
    let mut ranked: Vec<(usize, f64)> = scores(sentences).into_iter().enumerate().collect();
    ranked.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let mut kept: Vec<usize> = ranked.into_iter().take(most).map(|(at, _)| at).collect();
    kept.sort_unstable();
    kept.into_iter()
        .filter_map(|at| sentences.get(at).map(String::as_str))
        .collect()
}

fn scores(sentences: &[String]) -> Vec<f64> {
    let words: Vec<BTreeSet<String>> = sentences.iter().map(|sentence| telling_words(sentence)).collect();
    let shared = |one: &BTreeSet<String>, other: &BTreeSet<String>| {
        #[expect(clippy::cast_precision_loss, reason = "there are at most 60 words")]
        let [common, one, other] =
            [one.intersection(other).count(), one.len(), other.len()].map(|n| n as f64);
        // One more than the length, so that sentences of one word have a weight too.
        if common > 0.0 {
            common / (one.ln_1p() + other.ln_1p())
        } else {
            0.0
        }
    };
    let weights: Vec<Vec<f64>> = words
        .iter()
        .enumerate()
        .map(|(at, one)| {
            let others = words.iter().enumerate();
            others
                .map(|(other_at, other)| if at == other_at { 0.0 } else { shared(one, other) })
                .collect()
        })
        .collect();
    let given: Vec<f64> = weights.iter().map(|row| row.iter().sum()).collect();
    let mut scores = vec![1.0; sentences.len()];
    for _ in 0..ROUNDS {
        let passed: Vec<f64> = scores
            .iter()
            .zip(&given)
            .map(|(score, given)| if *given > 0.0 { score / given } else { 0.0 })
            .collect();
        let new = weights.iter().map(|row| {
            let got: f64 = row
                .iter()
                .zip(&passed)
                .map(|(weight, passed)| weight * passed)
                .sum();
            1.0 - DAMPING + DAMPING * got
        });
        scores = new.collect();
    }
    scores
}

fn telling_words(sentence: &str) -> BTreeSet<String> {
    let words = sentence.unicode_words().take(WORDS_MAX).map(str::to_lowercase);
    words.filter(|word| !is_function_word(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHALES: &str = "Whales are mammals that live in the sea. Lunch is at one. The blue whale is the largest of all whales \
                          and of all mammals. My shoes are wet. Many whales live in groups in the sea.";

    #[test]
    fn what_speaks_of_what_the_others_speak_of_says_most() {
        let sentences = sentences(WHALES, 100);
        assert_eq!(sentences.len(), 5);
        let kept = most_telling(&sentences, 3);
        assert_eq!(kept, [&sentences[0], &sentences[2], &sentences[4]]);
    }

    #[test]
    fn lines_are_told_from_sentences_that_their_width_broke() {
        let wide =
            "This line is so long that an editor broke it where it reached the\nedge of its window. Short.";
        assert_eq!(sentences(wide, 9).len(), 2);
        assert_eq!(
            sentences("## Head\n\n- one thing\n- another\n| a | b |", 9),
            ["Head", "one thing", "another", "a | b"]
        );
        assert_eq!(sentences("鯨は海に住む。魚ではない。", 9).len(), 2);
    }

    #[test]
    fn rubbish_is_ranked_in_bounded_time() {
        for text in ["", "???", "\u{202e}\u{0}", "a ", "one. ", "é! "] {
            let sentences = sentences(&text.repeat(20_000), 240);
            assert!(sentences.len() <= 240);
            assert!(most_telling(&sentences, 5).len() <= 5);
        }
    }
}
