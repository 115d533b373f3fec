//! Verbs of deeds, as people of other languages say them.

/// "Cancel", "stop", "call off": the forms in which people ask for it in German, Spanish, French, Norwegian, Dutch and Italian.
#[rustfmt::skip]
pub const CANCELS_ABROAD: &[&str] = &[
    "storniere", "stoppe", "stopp", "beende", "brich", "cancela", "detén", "annule", "annulez", "arrête", "arrêtez", "avbryt",
    "stans", "annuleer", "annulla", "ferma",
];

/// "Refund", "money back": the words in which people ask for it in German, Spanish, French, Norwegian, Swedish, Dutch, Italian,
/// Portuguese, Polish and Japanese.
#[rustfmt::skip]
pub const REFUNDS_ABROAD: &[&str] = &[
    "erstattung", "rückerstattung", "erstatten", "erstattet", "reembolso", "reembolsar", "devolución", "remboursement", "rembourser",
    "remboursé", "remboursée", "refusjon", "refundere", "återbetalning", "terugbetaling", "terugbetalen", "rimborso", "rimborsare",
    "zwrot", "返金",
];
