//! Where a text is cut into clauses: by its punctuation alone, which is the same in every language. Every letter of it lies in
//! exactly one of them.

use std::ops::Range;

/// Most clauses of a text; what stands behind them is part of the last.
const CLAUSES_MAX: usize = 12;

/// The clauses of a text, in their order and without a gap, each with the punctuation behind it. A text without letters or digits is
/// one clause; an empty one has none.
#[must_use]
pub fn clauses(text: &str) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    let (mut start, mut says, mut ends) = (0, false, false);
    let mut before = None;
    for (at, c) in text.char_indices() {
        if ends && says && (c.is_alphanumeric() || opens(c)) && out.len() + 1 < CLAUSES_MAX {
            out.push(start..at);
            (start, says) = (at, false);
        }
        says |= c.is_alphanumeric();
        let behind = text.get(at + c.len_utf8()..).unwrap_or_default();
        ends = match c {
            // A number's point or comma, a host's or a file's dot, and a time's colon part nothing.
            '.' | ',' | ':' | '!' | '?' | ';' => {
                behind.is_empty() || behind.starts_with(|next: char| !next.is_alphanumeric())
            }
            '。' | '、' | '，' | '！' | '？' | '；' | '：' | '\n' | '—' | '–' | '…' => true,
            c if c.is_whitespace() => ends,
            _ => ends && !c.is_alphanumeric() && before.is_some_and(|before: char| !before.is_alphanumeric()),
        };
        before = Some(c);
    }
    if start < text.len() {
        match out.last_mut() {
            // Nothing is said behind the last one.
            Some(last) if !says => last.end = text.len(),
            _ => out.push(start..text.len()),
        }
    }
    out
}

/// A mark that belongs to what stands behind it.
fn opens(c: char) -> bool {
    matches!(c, '¿' | '¡' | '(' | '“' | '„' | '«' | '「' | '『' | '"' | '\'')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<&str> {
        clauses(text)
            .into_iter()
            .map(|clause| text.get(clause).unwrap())
            .collect()
    }

    #[test]
    fn a_text_is_cut_at_its_punctuation_and_nothing_of_it_is_lost() {
        for (text, expected) in [
            ("rain in Oslo?", vec!["rain in Oslo?"]),
            (
                "no, forget it. Is 1066 late?",
                vec!["no, ", "forget it. ", "Is 1066 late?"],
            ),
            (
                "at 10:30, for 1,200.50 EUR at a.example",
                vec!["at 10:30, ", "for 1,200.50 EUR at a.example"],
            ),
            ("¿Va a nevar? ¿Y hoy?", vec!["¿Va a nevar? ", "¿Y hoy?"]),
            (
                "もういいです、やめてください",
                vec!["もういいです、", "やめてください"],
            ),
            ("so... well", vec!["so... ", "well"]),
            ("ok!!! :)", vec!["ok!!! :)"]),
            ("?!", vec!["?!"]),
            ("", vec![]),
        ] {
            assert_eq!(cut(text), expected);
        }
        for text in [
            "a. ".repeat(100),
            "x".repeat(5_000),
            ",;.\n".repeat(500),
            "「あ」。".repeat(50),
        ] {
            assert_eq!(cut(&text).concat(), text);
            assert!(cut(&text).len() <= CLAUSES_MAX);
        }
    }
}
