//! What asks for nothing, by its words alone.

use ::words::phrases::Word;

use super::super::{filler, lists};
use super::{Clause, Names, SHORT, Talk, clauses, is_question_word, lower};

/// The text without clauses at its beginning that are mere chatter: "ok, thanks. And in Oslo?".
pub(super) fn without_chatter(text: &str) -> &str {
    let text = text.trim();
    let mut rest = text;
    for clause in clauses(text) {
        let chatter = !clause.words.is_empty() && talk(&clause.words).is_some_and(|talk| talk != Talk::Help);
        if clause.joined || !chatter || clause.words.len() > 5 {
            break;
        }
        let behind = clause.text.as_ptr() as usize - text.as_ptr() as usize + clause.text.len();
        rest = text
            .get(behind..)
            .unwrap_or(text)
            .trim_start_matches(|c: char| !c.is_alphanumeric());
    }
    if rest.is_empty() { text } else { rest }
}

/// The text without what stands behind its last request: "dinner, sorry for the delay".
pub(super) fn without_thanks(text: &str) -> &str {
    let all = clauses(text);
    let talks = |clause: &&Clause<'_>| {
        !clause.joined
            && (gives_reason(&clause.words)
                || kind_of_talk(&clause.words) == Some(Talk::Thanks) && talk(&clause.words).is_some())
    };
    let behind = all.iter().rev().take_while(talks).count();
    let Some(first) = all
        .len()
        .checked_sub(behind)
        .filter(|kept| *kept > 0 && behind > 0)
        .and_then(|at| all.get(at))
    else {
        return text;
    };
    let kept = (first.text.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    text.get(..kept)
        .unwrap_or(text)
        .trim_end_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '-' | '–' | '—'))
}

/// What a text is that asks for nothing: words of talk alone.
pub(super) fn talk(words: &[String]) -> Option<Talk> {
    if words.is_empty() {
        return Some(Talk::Help);
    }
    let greeted =
        |word: &&String| lists::GREETING.contains(&word.as_str()) || lists::CHATTER.contains(&word.as_str());
    let behind: Vec<&str> = words.iter().skip_while(greeted).map(String::as_str).collect();
    let asks = |known: &[&str]| {
        let any = behind.iter().any(|word| known.contains(word));
        any && behind
            .iter()
            .all(|word| known.contains(word) || filler::is_any(word))
    };
    let you = behind
        .iter()
        .any(|word| matches!(*word, "you" | "i" | "your" | "this"));
    let little = behind.iter().all(|word| filler::is_any(word));
    let has = |ways: &[&str]| behind.iter().any(|word| ways.contains(word));
    // "So what can you do?", "tell me what you do".
    let asks_what = has(&["what", "which", "how"]) && has(&["can", "do", "does"]);
    let what = asks_what && !has(&["yet", "far", "long", "with", "about"]);
    // "¿Qué puedes hacer?"
    let abroad = |word: &&str| lists::CAN.contains(word) && !filler::is_english(word);
    let can = asks(lists::CAN) && behind.iter().any(abroad) && !has(lists::NEWS_TOO);
    if asks(lists::HELP) || you && little && what || can {
        return Some(match behind.as_slice() {
            ["how", "do", "you", "do"] => Talk::About,
            _ => Talk::Help,
        });
    }
    let presents = matches!(
        behind.as_slice(),
        ["who" | "what", "are" | "is" | "made", "you" | "this"]
    );
    let how = behind.starts_with(&["how", "are", "you"]) && behind.len() <= 5;
    if presents || how || you && asks(lists::ABOUT) {
        return Some(Talk::About);
    }
    let within = |word: &String| {
        let lists = [lists::THANKS, lists::GREETING, lists::BYE, lists::CHATTER];
        lists.iter().any(|list| list.contains(&word.as_str()))
    };
    // "Good morning everyone", "that was a mistake, sorry"
    let around = |word: &String| {
        within(word)
            || matches!(
                word.as_str(),
                "there"
                    | "you"
                    | "so"
                    | "much"
                    | "very"
                    | "a"
                    | "lot"
                    | "all"
                    | "to"
                    | "too"
                    | "just"
                    | "that"
                    | "was"
                    | "is"
                    | "my"
                    | "the"
                    | "everyone"
                    | "then"
            )
    };
    words.iter().all(around).then(|| kind_of_talk(words)).flatten()
}

/// The same of a text with little words, where nothing else can be made of it: "thanks, that is all I needed".
pub(super) fn loose_talk(text: &str, words: &[String]) -> Option<Talk> {
    let talks = |word: &String| {
        let lists = [lists::THANKS, lists::GREETING, lists::BYE, lists::CHATTER];
        lists.iter().any(|list| list.contains(&word.as_str()))
    };
    // "Is that all then?"
    let is = |word: &String, list: &[&str]| list.contains(&word.as_str());
    let of_that = words
        .iter()
        .any(|word| is(word, &["that", "this", "it", "das", "eso", "ça", "det"]));
    if text.contains(['?', '？'])
        && words.len() <= SHORT
        && of_that
        && words.iter().any(|word| is(word, lists::ALL))
        && words
            .iter()
            .all(|word| talks(word) || is(word, lists::ALL) || filler::is_any(word))
    {
        return Some(Talk::Chatter);
    }
    let content = words
        .iter()
        .filter(|word| !talks(word) && !filler::is_any(word))
        .count();
    let ended = words.iter().any(|word| word == "all")
        && words.iter().any(|word| lists::THANKS.contains(&word.as_str()));
    let little = content == 0 || ended && content == 1;
    // "Ok, so where is it now"
    let thanks = words.iter().any(|word| lists::THANKS.contains(&word.as_str()));
    let asks = !thanks && words.iter().any(|word| is_question_word(word));
    (little && words.len() <= SHORT + 2 && !text.contains('?') && !asks)
        .then(|| kind_of_talk(words))
        .flatten()
}

/// Longest small talk, in words.
const SMALL_MAX: usize = 14;

/// Small talk that an agent may have a word of: thanks, what puts at ease, and what is said of whoever is spoken to. "Thanks, take
/// your time", "no rush, enjoy your coffee", "hope you slept well". Nothing is asked for, and nothing named.
pub(super) fn small_talk(text: &str, names: &Names) -> Option<Talk> {
    let all = clauses(text);
    let words = lower(text);
    // A noun of German has a capital as well.
    let is_german = words
        .iter()
        .any(|word| matches!(word.as_str(), "dir" | "dein" | "deine" | "kein" | "keine"));
    let named =
        |word: &Word<'_>| word.is_name() && !is_german || word.text.starts_with(|c: char| c.is_ascii_digit());
    if text.contains(['?', '？'])
        || words.len() > SMALL_MAX
        || ::words::phrases::words(text).iter().any(named)
        || words.iter().any(|word| names.has(word))
    {
        return None;
    }
    let pleases = |words: &[String]| {
        let talks = talk(words).is_some_and(|talk| talk != Talk::Help);
        let is_way = lists::CHATTER.contains(&words.join(" ").as_str());
        talks
            || is_way
            || gives_reason(words)
            || puts_at_ease(words)
            || praises(words)
            || speaks_of_you(words)
    };
    // "Haha no worries"
    let is_lead = |word: &&String| {
        let lists = [lists::THANKS, lists::GREETING, lists::CHATTER];
        lists.iter().any(|list| list.contains(&word.as_str()))
    };
    let behind = |words: &[String]| {
        let lead = words.iter().take_while(is_lead).count();
        words.get(lead..).unwrap_or_default().to_vec()
    };
    let all_please = all.iter().all(|clause| {
        let behind = behind(&clause.words);
        pleases(&clause.words) || behind.len() < clause.words.len() && pleases(&behind)
    });
    (all_please && !all.is_empty()).then(|| kind_of_talk(&words).unwrap_or(Talk::Chatter))
}

/// "Thanks anyway", "sorry for the delay", "gracias de todas formas".
fn gives_reason(words: &[String]) -> bool {
    const FOR: &[&str] = &[
        "for", "about", "de", "für", "por", "pour", "per", "voor", "anyway", "again", "trotzdem",
    ];
    let [first, reason, ..] = words else { return false };
    let thanks = lists::THANKS.contains(&first.as_str()) || first == "sorry";
    // "Super for a picnic" praises something.
    let praise = matches!(
        first.as_str(),
        "great" | "perfect" | "nice" | "cool" | "super" | "awesome" | "wonderful" | "lovely"
    );
    thanks && !praise && FOR.contains(&reason.as_str()) && words.len() <= SHORT
}

/// "No rush", "keine Eile": none of what would trouble somebody, and little words.
fn puts_at_ease(words: &[String]) -> bool {
    let mut content = words.iter().filter(|word| !filler::is_any(word));
    let is_trouble = |word: &String| lists::NO_NEED.contains(&word.as_str());
    let denies = |word: &String| {
        lists::NOT.contains(&word.as_str()) || matches!(word.as_str(), "sin" | "sem" | "sans")
    };
    words.iter().any(is_trouble) && words.iter().any(denies) && content.all(is_trouble)
}

/// "Sounds good", "good job", "have a nice day": a word of praise that says nothing of a thing.
fn praises(words: &[String]) -> bool {
    let praise = |word: &String| {
        let lists = [lists::THANKS, lists::CHATTER];
        lists.iter().any(|list| list.contains(&word.as_str()))
    };
    let little = |word: &&String| !praise(word) && !filler::is_any(word);
    let praised = |word: &String| lists::PRAISED.contains(&word.as_str()) || ::words::phrases::is_time(word);
    let content: Vec<&String> = words.iter().filter(little).collect();
    match (words, content.as_slice()) {
        ([.., last], [only]) if praise(last) => words.len() <= 4 && words.first() == Some(only),
        ([.., before, last], [only]) => last == *only && praised(last) && praise(before) && words.len() <= 5,
        _ => false,
    }
}

/// "Take your time", "you're the best", "I hope you slept well": whoever is spoken to, near the beginning, and nothing that he ought
/// to do for who speaks.
fn speaks_of_you(words: &[String]) -> bool {
    let is = |word: &String, list: &[&str]| list.contains(&word.as_str());
    let Some(at) = words.iter().position(|word| is(word, lists::YOU)) else {
        return false;
    };
    let (before, behind) = words.split_at(at);
    let you = behind.first().is_some_and(|word| word == "you");
    let next = behind.get(1);
    let ought = next.is_some_and(|word| is(word, lists::OUGHT) || is(word, lists::CAN));
    let asks = words.first().is_some_and(|word| {
        is(word, lists::CAN)
            || is_question_word(word)
            || is(word, &["if", "si", "are", "did", "have", "about"])
    });
    let leads = match before {
        [] => you && next.is_some(),
        [_] => you || next.is_some(),
        [first, second] => is(first, &["i", "we", "just", "please"]) && !is(second, &["want", "need", "d"]),
        _ => false,
    };
    leads && !ought && !asks && !words.iter().any(|word| is(word, lists::ME))
}

pub(super) fn kind_of_talk(words: &[String]) -> Option<Talk> {
    let whole = format!(" {} ", words.join(" "));
    let has = |list: &[&str]| list.iter().any(|way| whole.contains(&format!(" {way} ")));
    if has(lists::BYE) {
        Some(Talk::Bye)
    } else if has(lists::THANKS) {
        Some(Talk::Thanks)
    } else if has(lists::GREETING) {
        Some(Talk::Greeting)
    } else {
        has(lists::CHATTER).then_some(Talk::Chatter)
    }
}
