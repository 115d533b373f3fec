//! The little words that say whose a thing is: a closed class in every language.

/// "My", "our", in the languages that people write to us.
#[rustfmt::skip]
const POSSESSIVE: &[&str] = &[
    "my", "our", "mein", "meine", "meinen", "meinem", "meiner", "meines", "unser", "unsere", "unseren", "unserem", "unserer", "mi", "mis",
    "nuestro", "nuestra", "mon", "ma", "mes", "notre", "nos", "mio", "mia", "miei", "mie", "nostro", "nostra", "mijn", "ons", "onze", "min",
    "mitt", "mine", "mina", "vår", "vårt", "meu", "minha", "meus", "minhas", "nosso", "nossa",
];

/// Whether a word, in small letters, says that a thing is the speaker's own.
#[must_use]
pub fn is_possessive(lower: &str) -> bool {
    POSSESSIVE.contains(&lower)
}
