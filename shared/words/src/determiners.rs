//! The little words that stand before a thing and say whose or which: a closed class in every language.

/// "My", "our", in the languages that people write to us.
#[rustfmt::skip]
const POSSESSIVE: &[&str] = &[
    "my", "our", "mein", "meine", "meinen", "meinem", "meiner", "meines", "unser", "unsere", "unseren", "unserem", "unserer", "mi", "mis",
    "nuestro", "nuestra", "mon", "ma", "mes", "notre", "nos", "mio", "mia", "miei", "mie", "nostro", "nostra", "mijn", "ons", "onze", "min",
    "mitt", "mine", "mina", "vår", "vårt", "meu", "minha", "meus", "minhas", "nosso", "nossa",
];

/// The others, and what stands for a thing.
#[rustfmt::skip]
const OTHERS: &[&str] = &[
    "the", "a", "an", "this", "that", "these", "those", "your", "it", "them", "me", "us", "der", "die", "das", "den", "dem", "ein", "eine",
    "einen", "einem", "diese", "diesen", "dieses", "es", "sie", "mir", "el", "la", "los", "las", "un", "una", "este", "esta", "le", "les",
    "une", "ce", "cette", "il", "lo", "gli", "i", "uno", "questo", "questa", "de", "het", "een", "deze", "dit", "en", "et", "ett", "ei",
    "denne", "dette", "detta", "o", "os", "as", "um", "uma",
];

/// Whether a word, in small letters, says that a thing is the speaker's own.
#[must_use]
pub fn is_possessive(lower: &str) -> bool {
    POSSESSIVE.contains(&lower)
}

/// Whether a word, in small letters, stands before a thing, or for one.
#[must_use]
pub fn is_determiner(lower: &str) -> bool {
    is_possessive(lower) || OTHERS.contains(&lower)
}
