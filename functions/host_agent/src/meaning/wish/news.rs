//! What asks by its words alone how something is doing, or for another try.

use domain::TaskId;

use super::super::{filler, lists};
use super::{Names, SHORT, Target, clauses, counts, is_question_word, lower};

/// What is to be tried again.
pub(super) fn retry(text: &str, id: Option<TaskId>) -> Option<Target> {
    let all = clauses(text);
    let last = all.last()?;
    let spoken = format!(" {} ", last.words.join(" "));
    let says = |word: &&str| spoken.contains(&format!(" {word} "));
    let again = says(&"again")
        && (last.words.len() <= 2
            && !last
                .words
                .iter()
                .any(|word| lists::GREETING.contains(&word.as_str()))
            || lists::TRIES.iter().any(says));
    let way = match lists::ONCE_MORE.iter().find(|way| says(way)) {
        Some(way) => way,
        None if again => "again",
        None => return None,
    };
    // "What was that again?"
    if last.words.first().is_some_and(|word| is_question_word(word)) {
        return None;
    }
    let words: Vec<String> = lower(&spoken.replacen(way, "", 1))
        .into_iter()
        .filter(|word| {
            counts(word)
                && !filler::is_any(word)
                && !matches!(
                    word.as_str(),
                    "try"
                        | "versuch"
                        | "versuche"
                        | "versuchen"
                        | "inténtalo"
                        | "intentar"
                        | "essaie"
                        | "essayer"
                        | "prøv"
                        | "prøve"
                        | "tenta"
                        | "tente"
                        | "tentar"
                        | "proberen"
                )
        })
        .collect();
    // "Tell me the weather again" is for an agent, as is whatever has more to it than a name.
    let named = matches!(way, "retry" | "redo") && words.len() <= 4;
    (words.is_empty() || named || id.is_some()).then_some(Target {
        id,
        words,
        ..Target::default()
    })
}

/// Which tasks news are asked of.
pub(super) fn status(words: &[String], id: Option<TaskId>, names: &Names) -> Option<Target> {
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let is_news = |word: &String| lists::NEWS.contains(&word.as_str());
    let spoken = words.join(" ");
    let went_wrong = words.iter().any(|word| word == "wrong") && has(&["went", "goes", "gone", "what"]);
    let news = (has(lists::NEWS) || went_wrong) && !spoken.contains("going to");
    // "My calendar question": the task about it.
    let is_asking = |word: &String| lists::ASKING.contains(&word.as_str());
    let (content, hints): (Vec<String>, Vec<String>) = words
        .iter()
        .filter(|word| !is_news(word) && !is_asking(word))
        .cloned()
        .partition(|word| counts(word));
    if id.is_some() {
        let piece = |word: &String| word.len() == 4 && word.bytes().all(|c| c.is_ascii_hexdigit());
        return (news || content.iter().all(piece) || spoken.starts_with("what about")).then_some(Target {
            id,
            ..Target::default()
        });
    }
    if is_how_it_goes(words) {
        return Some(Target::default());
    }
    if let Some(named) = news_in_another_language(words) {
        return Some(Target {
            words: named,
            open: true,
            ..Target::default()
        });
    }
    // A statement asks for nothing.
    let states = |word: &String| {
        matches!(
            word.as_str(),
            "i" | "we"
                | "you"
                | "he"
                | "she"
                | "they"
                | "it"
                | "this"
                | "that"
                | "the"
                | "a"
                | "an"
                | "in"
                | "on"
                | "at"
        )
    };
    let is_task = |word: &String| lists::TASK.contains(&word.as_str());
    let begins =
        |word: &String| !states(word) && (filler::is_english(word) || is_news(word) || is_task(word));
    if !words.first().is_some_and(begins) {
        return None;
    }
    let tasks = has(&["tasks", "jobs"]);
    let all = tasks
        || (news && has(lists::ALL))
        || matches!(
            spoken.as_str(),
            "how are things" | "how is everything" | "how s everything"
        );
    if content.is_empty() {
        let asks = news || tasks || all || matches!(spoken.as_str(), "any luck");
        return asks.then_some(Target {
            all,
            hints,
            ..Target::default()
        });
    }
    let named = content.iter().any(|word| names.has(word));
    // "What's with the translation?"
    let with = [
        "what s with",
        "whats with",
        "what is with",
        "what s up with",
        "whats up with",
        "what is up with",
    ];
    let asks_how = has(&["how", "hows"]) || with.iter().any(|way| spoken.contains(way));
    // "Coming along": what it does says nothing of what it is.
    let does = |word: &String| asks_how && named && word.ends_with("ing");
    let content: Vec<String> = content.into_iter().filter(|word| !does(word)).collect();
    let owned = has(&["my", "the"]) && asks_how && named;
    let task = has(lists::TASK) || named && has(lists::ASKING);
    (news || owned).then_some(Target {
        // Without a name it is a status question only where it speaks of what is under way.
        open: !task && (!named || content.iter().any(|word| !names.has(word)) || !news && !has(&["my"])),
        words: content,
        hints,
        ..Target::default()
    })
}

/// What news are asked of in a language that is not English: "wie steht es mit dem Bericht?".
pub(super) fn news_in_another_language(words: &[String]) -> Option<Vec<String>> {
    // Japanese is written without blanks: what is asked for is whatever runs.
    let signs = |way: &&&str| !way.is_ascii() && way.chars().all(|c| c as u32 > 0x2e7f);
    let is_question = |word: &String| word.ends_with('か') || word.contains("どう");
    let asks = |word: &String| {
        is_question(word) && lists::NEWS_TOO.iter().filter(signs).any(|way| word.contains(way))
    };
    if words.iter().any(asks) {
        return Some(Vec::new());
    }
    let is_news = |word: &String| lists::NEWS_TOO.contains(&word.as_str());
    let little = |word: &String| filler::is_any(word) || is_news(word);
    let named: Vec<String> = words.iter().filter(|word| !little(word)).cloned().collect();
    (words.iter().any(is_news) && !named.is_empty()).then_some(named)
}

/// The one word that a question about what was done has beside little ones: "was it printed?", "did you cancel it?".
pub(crate) fn done_asked(text: &str) -> Option<String> {
    let words = lower(text);
    let is_one = |word: &String, list: &[&str]| list.contains(&word.as_str());
    let opens = words
        .first()
        .is_some_and(|word| is_one(word, &["was", "were", "did", "has", "have"]));
    let it = words
        .iter()
        .any(|word| is_one(word, &["it", "that", "they", "them", "you"]));
    let mut content = words.iter().skip(1).filter(|word| !filler::is_english(word));
    let only = content.next().filter(|_| content.next().is_none());
    only.filter(|_| opens && it && words.len() <= SHORT).cloned()
}

/// What a short question is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    /// The words that say something, beside those that ask for news: "Wie weit ist der Bericht?" has one.
    pub(crate) words: Vec<String>,
    /// It asks for news, or after something of the user's own.
    pub(crate) is_news: bool,
    /// It is not in English.
    pub(crate) is_abroad: bool,
}

/// The short question that a text is; none where it wants something done: "can you do a report?".
pub(crate) fn asked_of(text: &str) -> Option<Asked> {
    let words = lower(text);
    let is_news =
        |word: &&String| lists::NEWS_TOO.contains(&word.as_str()) || lists::NEWS.contains(&word.as_str());
    let wants = |word: &String| lists::CAN.contains(&word.as_str());
    let asks = text.contains(['?', '？']) && words.len() <= SHORT && !words.first().is_some_and(wants);
    let any = words
        .iter()
        .any(|word| matches!(word.as_str(), "a" | "an" | "another"));
    let little = |word: &&String| filler::is_any(word) || is_news(word);
    let abroad = |word: &String| !filler::is_english(word) && little(&word);
    let own = |word: &String| words::is_possessive(word);
    (asks && !any).then(|| Asked {
        is_news: words.iter().any(|word| is_news(&word) || own(word)),
        is_abroad: words.iter().any(abroad),
        words: words.iter().filter(|word| !little(word)).cloned().collect(),
    })
}

/// "How's it coming along?": how, a word for what was spoken of, and what it does.
pub(super) fn is_how_it_goes(words: &[String]) -> bool {
    let [how, behind @ ..] = words else { return false };
    let it = behind.iter().take_while(|word| is_it(word)).count();
    let does = behind.get(it).is_some_and(|word| word.ends_with("ing"));
    how == "how" && it > 0 && does && behind.len() <= it + 2
}

/// A word for what was spoken of, or a form of "to be" beside it.
pub(super) fn is_it(word: &str) -> bool {
    matches!(
        word,
        "it" | "that" | "this" | "they" | "things" | "everything" | "is" | "s" | "are" | "re"
    )
}
