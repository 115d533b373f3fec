//! Follow-ups: "and in Bergen?" after "Will it rain in Oslo tomorrow?" is for the same agent, and means the same
//! question about another place.

use words::phrases::{is_time, places, times, words};

use super::terms::{ABOUT, Term, Text, is_little};

/// Shortest number that names something, in digits.
const DIGITS: usize = 3;

/// What ends a sentence.
const ENDS: [char; 4] = ['?', '.', '!', ' '];

/// Longest follow-up; a longer text stands for itself.
const WORDS_MAX: usize = 12;

/// Longest, in words, that says no more than another number.
const RENUMBERED: usize = 6;

/// Longest that begins with a joining word of another language; what is longer says what it wants.
const SHORT: usize = 4;

/// Longest question, in words, that may be about nothing but another place or day, however it begins.
const NAMING: usize = 5;

/// Whether a question says nothing but a name or a day, and little words around it: "hva med Bergen?", "京都は？". It is no
/// question of its own, whatever its language.
pub(super) fn is_naming(text: &str) -> bool {
    let asked: Vec<String> = words(text).iter().map(|word| word.lower()).collect();
    let opens = |word: &String| {
        matches!(
            word.as_str(),
            "who" | "where" | "why" | "when" | "whats" | "is" | "are"
        )
    };
    let terms = Text::of(text).terms();
    text.contains(['?', '？'])
        && asked.len() <= NAMING
        && !asked.first().is_some_and(opens)
        && !terms.is_empty()
        && (terms.iter().all(|term| !term.is_matter())
            || terms.len() == 1 && terms.iter().all(Term::is_ideographic))
}

/// A text with the place that was spoken of last in place of "there".
pub(super) fn with_place(text: &str, earlier: &str) -> Option<String> {
    let said = words(text);
    let at = said.iter().position(|word| word.lower() == "there")?;
    let beside = |at: usize| said.get(at).map(|word| word.lower()).unwrap_or_default();
    // "Is there", "there is", "there's": no place.
    let to_be = |word: &str| {
        matches!(
            word,
            "is" | "are" | "was" | "be" | "will" | "s" | "has" | "any" | "hey" | "hi" | "hello"
        )
    };
    if at.checked_sub(1).is_some_and(|before| to_be(&beside(before))) && said.len() == at + 1
        || to_be(&beside(at + 1))
    {
        return None;
    }
    let before = at.checked_sub(1).map(beside).unwrap_or_default();
    if at == 0
        || matches!(before.as_str(), "is" | "are" | "was" | "hi" | "hello" | "hey")
            && said.len() > at + 1
            && !is_time(&beside(at + 1))
    {
        return None;
    }
    let place = only(&places(earlier))?.clone();
    let there = said.get(at)?;
    let link = if matches!(before.as_str(), "in" | "to" | "from" | "for") {
        ""
    } else {
        "in "
    };
    Some(format!(
        "{}{link}{place}{}",
        text.get(..there.start)?,
        text.get(there.end..)?
    ))
}

/// A question about "it" with the number that was spoken of last: "when will it arrive", behind one about order 1005.
pub(super) fn with_number(text: &str, earlier: &str) -> Option<String> {
    let is_number = |word: &str| word.len() >= DIGITS && word.bytes().all(|c| c.is_ascii_digit());
    let said = words(text);
    let it = said.iter().any(|word| word.lower() == "it");
    if !it || said.iter().any(|word| is_number(word.text)) {
        return None;
    }
    let numbers = words(earlier);
    let mut numbers = numbers.iter().filter(|word| is_number(word.text));
    let only = numbers.next().filter(|_| numbers.next().is_none())?;
    Some(format!(
        "{} ({})",
        text.trim_end_matches(['?', '.', '!', ' ']),
        only.text
    ))
}

/// An earlier question with what is said instead: "no, I meant Bergen", "actually, make it about beavers". What cannot be
/// exchanged stands behind it, as within one message.
fn corrected(text: &str, earlier: &str) -> Option<String> {
    let earlier = earlier.trim_end_matches(ENDS);
    let together = format!("{earlier}, {text}");
    let (before, instead) = ::words::corrected(&together)?;
    if before.len() != earlier.len() || words(text).len() > WORDS_MAX {
        return None;
    }
    let said = words(instead);
    // "Actually great" exchanges nothing.
    if said
        .iter()
        .all(|word| is_little(&word.lower()) && !is_time(&word.lower()))
    {
        return None;
    }
    if let Some(question) = the_one(instead, earlier) {
        return Some(question);
    }
    let asked = format!("what about {}", instead.trim_end_matches(ENDS));
    let exchanged = message(&asked, earlier).filter(|question| *question != asked);
    let topic = || {
        let is_about = |word: &words::phrases::Word<'_>| ABOUT.contains(&word.lower().as_str());
        let about = words(earlier).into_iter().find(is_about)?;
        words(instead).first().filter(|word| is_about(word))?;
        Some(format!("{}{instead}", earlier.get(..about.start)?))
    };
    let tells = |word: &words::phrases::Word<'_>| {
        word.is_name() || is_time(&word.lower()) || word.text.bytes().any(|c| c.is_ascii_digit())
    };
    let makes = words(text).iter().any(|word| word.lower() == "make");
    let fits = makes || said.iter().any(tells);
    exchanged.or_else(topic).or(Some(together).filter(|_| fits))
}

/// Whether a text asks with a word of its own behind an "and": "and who won the match?"
pub(super) fn is_question(text: &str) -> bool {
    let lower: Vec<String> = words(text).iter().map(|word| word.lower()).collect();
    let mut lower = lower
        .iter()
        .map(String::as_str)
        .skip_while(|word| matches!(*word, "and" | "but" | "or" | "then"));
    let asks = matches!(lower.next(), Some("what" | "whats" | "who" | "why" | "which"));
    text.contains('?') && asks && lower.next() != Some("about")
}

/// Words that want one more thing, whatever else is said.
const MORE: &[&str] = &["also", "too", "another", "auch", "también", "aussi", "også"];

/// Words for what was said before, where it was not meant.
const WRONG: &[&str] = &["wrong", "mistake", "instead", "typo"];

/// Whether a text says something else instead of what was asked before: "no, I meant 1005", "make it about beavers". A question is
/// one more: "actually, where is 1005?", and so is another number alone.
pub(super) fn corrects(text: &str, earlier: &str) -> bool {
    let says = |list: &[&str]| {
        words(text)
            .iter()
            .any(|word| list.contains(&word.lower().as_str()))
    };
    let instead = || corrected(text, earlier).is_some() || says(WRONG) && renumbered(text, earlier).is_some();
    !text.contains(['?', '？']) && !says(MORE) && instead()
}

/// The place that was meant, of several that are called so: "the one in Texas".
fn the_one(instead: &str, earlier: &str) -> Option<String> {
    let said = words(instead);
    let [the, one, of, wider, ..] = said.as_slice() else {
        return None;
    };
    let is_one = the.lower() == "the" && one.lower() == "one" && is_link(&of.lower());
    let place = only(&places(earlier))?.clone();
    let wider = instead.get(wider.start..)?.trim_end_matches(ENDS);
    swap(
        earlier,
        std::slice::from_ref(&place),
        &format!("{place}, {wider}"),
    )
    .filter(|_| is_one)
}

/// The same with another number: "wait, wrong number, it's 1005".
fn renumbered(text: &str, earlier: &str) -> Option<String> {
    let is_number = |word: &str| word.len() >= DIGITS && word.bytes().all(|c| c.is_ascii_digit());
    let only = |text: &str| {
        let all = words(text);
        let mut numbers = all.iter().filter(|word| is_number(word.text));
        let only = numbers.next().filter(|_| numbers.next().is_none());
        only.map(|word| word.text.to_owned())
    };
    let (new, old) = (only(text)?, only(earlier)?);
    let said = Text::of(text).terms();
    let told = said.iter().filter(|term| term.is_matter() && !term.is_faint());
    // "Wait, wrong number": as little as that.
    let little = told.count() <= 2 && words(text).len() <= RENUMBERED;
    let fits = little && new.len() == old.len() && !text.contains(['?', '？']);
    fits.then(|| earlier.replacen(&old, &new, 1))
}

/// What to ask the agent that was asked `earlier`; `None` where the text is no follow-up.
pub(super) fn message(text: &str, earlier: &str) -> Option<String> {
    let text = text.trim();
    if let Some(question) = renumbered(text, earlier).or_else(|| corrected(text, earlier)) {
        return Some(question);
    }
    if ::words::is_day_after(text)
        && let Some(question) = ::words::a_day_later(earlier)
    {
        return Some(question);
    }
    let words = words(text);
    let lower: Vec<String> = words.iter().map(|word| word.lower()).collect();
    let opens = match lower.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["what" | "how", "about", ..] => 2,
        [
            "and" | "or" | "then" | "also" | "now" | "same",
            "what" | "how",
            "about",
            ..,
        ] => 3,
        ["same", "for", ..] => 1,
        [
            "and" | "or" | "also" | "then" | "but" | "same" | "rather" | "instead",
            _,
            ..,
        ] => 1,
        // The same, in German, Spanish, French, Italian, Dutch, Norwegian, Swedish and Russian.
        ["und" | "y" | "et" | "e" | "en" | "og" | "och" | "и" | "а", _, ..] if words.len() <= SHORT => 1,
        ["in" | "on" | "for" | "at" | "from", _, ..] => 0,
        [first, ..] if is_time(first) => 0,
        all if is_about_several(text, all) => return Some(text.to_owned()),
        _ => return None,
    };
    if words.len() > WORDS_MAX {
        return None;
    }
    let rest: Vec<_> = words.iter().skip(opens).collect();
    let new_times = times(text);
    let swapped = match (new_times.as_slice(), rest.as_slice()) {
        ([time], rest)
            if rest
                .iter()
                .all(|word| is_time(&word.lower()) || is_link(&word.lower())) =>
        {
            swap(earlier, &times(earlier), time)
                .filter(|question| !is_repeated(question))
                .or_else(|| Some(format!("{} {time}", only(&places(earlier))?)))
        }
        ([], rest) => {
            let place: Vec<&str> = rest
                .iter()
                .map(|word| word.text)
                .skip_while(|word| is_link(&word.to_lowercase()))
                .collect();
            let named = (1..=3).contains(&place.len())
                && (place.len() == 1 || rest.iter().any(|word| word.is_name()));
            if named {
                swap(earlier, &places(earlier), &place.join(" "))
            } else {
                None
            }
        }
        _ => None,
    };
    Some(swapped.unwrap_or_else(|| text.to_owned()))
}

/// "Which of them is still on its way?": a question about the things that were told last.
fn is_about_several(text: &str, words: &[&str]) -> bool {
    let several = |word: &&str| matches!(*word, "them" | "they" | "those" | "these");
    text.contains('?') && words.len() <= WORDS_MAX && words.iter().any(several)
}

fn is_link(word: &str) -> bool {
    matches!(
        word,
        "in" | "at" | "for" | "to" | "near" | "around" | "from" | "on" | "this" | "the" | "only" | "just"
    )
}

fn only(all: &[String]) -> Option<&String> {
    all.first().filter(|_| all.len() == 1)
}

/// True where something is wanted again and again, which another time does not say of itself.
fn is_repeated(question: &str) -> bool {
    let again = |word: &words::phrases::Word<'_>| {
        matches!(word.lower().as_str(), "every" | "each" | "daily" | "always")
    };
    words(question).iter().any(again)
}

/// The earlier question with its one place, or time, exchanged.
fn swap(earlier: &str, known: &[String], new: &str) -> Option<String> {
    let [only] = known else { return None };
    (earlier.matches(only.as_str()).count() == 1).then(|| earlier.replacen(only.as_str(), new, 1))
}
