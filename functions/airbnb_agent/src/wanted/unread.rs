//! What is left over of a question and says more than was read of it.

use words::text::{Kind, Word, lower, open};
use words::{Named, When};

/// Whether a number is left over that counts nothing ("2 bedrooms" do) and is no age, or a little word that relates a day to something:
/// "after Friday".
pub(super) fn is_any(words: &[Word], places: &[Named], days: &[(usize, When)]) -> bool {
    let is_place = |at: usize| places.iter().any(|place| place.has(at));
    let is_number = |at: usize| open(words, at).starts_with(|c: char| c.is_ascii_digit());
    let counts = |at: usize| !open(words, at + 1).is_empty() && !is_place(at + 1);
    // "Aged 6 and 9", "(13 and 15)"
    let is_age = |at: usize| {
        let joins = |at: usize| {
            words
                .get(at)
                .is_some_and(|word| matches!(word.kind, Kind::And | Kind::Comma))
        };
        let head = (0..at)
            .rev()
            .find(|before| !is_number(*before) && !joins(*before));
        head.is_some_and(|head| matches!(lower(words, head), "age" | "aged" | "ages" | "("))
    };
    let relates = |at: usize| {
        let article = usize::from(matches!(open(words, at + 1), "the" | "a"));
        let is_day = days.iter().any(|(day, _)| *day == at + 1 + article);
        is_day
            && matches!(
                open(words, at),
                "before" | "after" | "except" | "not" | "every" | "each" | "since"
            )
    };
    (0..words.len()).any(|at| is_number(at) && !is_place(at) && !counts(at) && !is_age(at) || relates(at))
}
