//! The closed lists: what a whole message must be to count as a yes, a no or a word about what waits. English, German,
//! Spanish, French, Norwegian, Japanese. In small letters, words parted by one blank.
//!
//! What authorises something goes by these lists alone, never by a likeness or a model's reading.

/// "Yes, do that."
#[rustfmt::skip]
pub(super) const YES: &[&str] = &[
    "yes", "yep", "yeah", "yup", "go", "go ahead", "do it", "do that", "confirm", "ja", "ja bitte", "los", "jawohl", "sí", "si",
    "sí por favor", "adelante", "oui", "oui s il vous plaît", "vas y", "allez", "allez y", "ja takk", "kjør", "kjør på", "はい",
    "お願いします",
];

/// "Begin", said to a plan that waits for it.
#[rustfmt::skip]
pub(super) const START: &[&str] = &[
    "start", "start it", "start the plan", "begin", "go for it", "run it", "starten", "starte", "empezar", "empieza", "commence",
    "commencez", "démarre", "démarrez", "start den", "sett i gang", "開始", "始めて",
];

/// "Without …", said to a plan that waits; what is left out stands behind.
#[rustfmt::skip]
pub(super) const WITHOUT: &[&str] = &[
    "without", "go without", "but without", "leave out", "drop", "skip", "ohne", "los ohne", "sin", "sans", "uten", "除外",
];

/// "Go on", said where a part of a plan was not done.
#[rustfmt::skip]
pub(super) const GO_ON: &[&str] = &[
    "go on", "go on anyway", "continue", "continue anyway", "carry on", "proceed", "weiter", "mach weiter", "continúa", "sigue",
    "continue sans", "fortsett", "続けて",
];

/// The same with what is left out behind it.
#[rustfmt::skip]
pub(super) const GO_ON_WITHOUT: &[&str] = &[
    "go on without", "continue without", "carry on without", "proceed without", "without", "weiter ohne", "ohne", "continúa sin", "sin",
    "continue sans", "sans", "fortsett uten", "uten",
];

/// Words that join what is named.
pub(super) const JOINING: &[&str] = &["and", "or", "und", "y", "et", "og"];

/// "No, or not now."
#[rustfmt::skip]
pub(super) const NO: &[&str] = &[
    "no", "nope", "nah", "none", "none of them", "none of these", "neither", "no thank you", "not now", "not today", "not yet",
    "later", "maybe later", "skip", "skip it", "skip that", "i don t want to", "i d rather not", "rather not", "don t", "nein",
    "nein danke", "nö", "ich will nicht", "ich möchte nicht", "no quiero", "je ne veux pas", "jeg vil ikke", "nee", "keiner",
    "keine", "später", "lieber nicht", "jetzt nicht", "no gracias", "ninguno", "ninguna", "ahora no", "más tarde", "luego", "non",
    "non merci", "aucun", "aucune", "plus tard", "pas maintenant", "nei", "nei takk", "ingen", "no grazie", "não", "nej", "nie",
    "senere", "ikke nå", "いいえ", "いや", "結構です", "後で", "あとで",
];

/// "I have done what you asked of me."
#[rustfmt::skip]
pub(super) const DONE: &[&str] = &[
    "done", "i m done", "i am done", "all done", "i did", "i did it", "i have agreed", "i agreed", "fertig", "erledigt", "listo",
    "hecho", "fait", "c est fait", "ferdig", "gjort", "できました", "終わりました",
];

/// "Stop what you are doing."
#[rustfmt::skip]
pub(super) const CANCEL: &[&str] = &[
    "abbrechen", "abbruch", "stopp", "stop", "cancel", "abort", "cancela", "cancelar", "para", "annule", "annuler", "arrête", "avbryt",
    "キャンセル", "中止",
];

/// "Do it once more."
#[rustfmt::skip]
pub(super) const AGAIN: &[&str] = &[
    "retry", "try again", "try it again", "again", "nochmal", "noch einmal", "otra vez", "encore une fois", "réessaye", "igjen",
    "prøv igjen", "もう一度", "再試行",
];

/// Words that mean each and every one.
#[rustfmt::skip]
pub(super) const ALL: &[&str] = &[
    "all", "everything", "every", "both", "things", "tasks", "anything", "alles", "beides", "todo", "todos", "tout", "tous", "tutto", "alt", "すべて",
];

/// What may stand around an entry of a list and says nothing.
#[rustfmt::skip]
pub(super) const POLITE: &[&str] = &[
    "please", "pls", "thanks", "thank", "you", "sorry", "ok", "okay", "oh", "well", "bitte", "danke", "gracias", "merci", "takk", "for",
    "now", "then",
];

/// Ordinals and numerals, from one.
#[rustfmt::skip]
pub(super) const ORDINALS: &[&[&str]] = &[
    &["1", "first", "one", "erste", "ersten", "primero", "primera", "premier", "première", "første"],
    &["2", "second", "two", "zweite", "zweiten", "segundo", "segunda", "deuxième", "andre"],
    &["3", "third", "three", "dritte", "dritten", "tercero", "tercera", "troisième", "tredje"],
    &["4", "fourth", "four"],
    &["5", "fifth", "five"],
    &["6", "sixth", "six"],
    &["7", "seventh", "seven"],
    &["8", "eighth", "eight"],
];
