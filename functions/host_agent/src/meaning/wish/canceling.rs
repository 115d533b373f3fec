//! What calls something off by its words alone, or will not have it.

use domain::TaskId;

use super::super::{filler, lists};
use super::{Clause, SHORT, Target, clauses, counts, is_made_of, is_question_word, leads, lower, talk};

/// What ends a question.
const ASKS: [char; 2] = ['?', '？'];

/// What is to be called off, and what is wanted beside that.
pub(super) fn cancel(text: &str, id: Option<TaskId>) -> Option<(Target, Option<String>)> {
    if is_made_of(&lower(text), lists::CANCEL) {
        return Some((Target::default(), None));
    }
    let (mut target, mut rest, mut found): (Target, Vec<&str>, bool) = (Target::default(), Vec::new(), false);
    let (all, mut minds) = (clauses(text), false);
    for clause in &all {
        minds |= is_never_mind(&clause.words.join(" "));
        match ends(&clause.words) {
            Some(Ends::NotATask) => return None,
            Some(Ends::Named(named)) => {
                found = true;
                target.all |= named.iter().any(|word| lists::ALL.contains(&word.as_str()));
                target.add(&named);
            }
            Some(Ends::NamedWork(named)) => {
                found = true;
                target.running = true;
                target.words.extend(named);
            }
            // "cancel the report on salt and pepper": still what is called off.
            None if found
                && clause.joined
                && clause.words.len() <= 2
                && clause
                    .words
                    .iter()
                    .all(|word| counts(word) && !filler::is_any(word)) =>
            {
                target.add(&clause.words);
            }
            // "Leave it, we're staying with friends": why.
            None if minds && !text.contains(ASKS) && is_reason(&clause.words) => {}
            None if lists::CHANGED.contains(&clause.words.join(" ").as_str()) => {}
            None if talk(&clause.words).is_none() && !is_made_of(&clause.words, lists::NO) => {
                rest.push(clause.text);
            }
            None => {}
        }
    }
    if !found {
        return None;
    }
    if let Some(id) = id {
        target.words.clear();
        target.id = Some(id);
    }
    let is_last = all.last().map(|clause| clause.text) == rest.last().copied();
    let mut rest = rest.join(", ");
    if let Some(mark) = ASKS
        .into_iter()
        .find(|mark| is_last && text.trim_end().ends_with(*mark))
    {
        rest.push(mark);
    }
    let more = !lower(&rest)
        .iter()
        .all(|word| filler::is_english(word) || lists::CHATTER.contains(&word.as_str()));
    Some((target, more.then_some(rest).filter(|_| id.is_none())))
}

/// Whether a clause tells of somebody and wants nothing.
fn is_reason(words: &[String]) -> bool {
    let who = ["i", "we", "he", "she", "they", "it", "my", "our"];
    let wants = [
        "need", "want", "like", "d", "would", "rather", "prefer", "looking",
    ];
    words.first().is_some_and(|first| who.contains(&first.as_str()))
        && !words.iter().any(|word| wants.contains(&word.as_str()))
}

/// A text without what it takes back itself: "will it rain in Leeds... no wait, forget the rain, has my order arrived?"
pub(super) fn without_dismissed(text: &str) -> Option<String> {
    let all = clauses(text);
    let (at, named) = all
        .iter()
        .enumerate()
        .find_map(|(at, clause)| Some((at, dismissed(&clause.words)?)))?;
    let (before, behind) = (all.get(..at)?, all.get(at + 1..)?);
    let is_named = |word: &String| {
        named
            .iter()
            .any(|named| counts(named) && !filler::is_any(named) && named == word)
    };
    let takes_back = |clause: &&Clause<'_>| clause.words.iter().any(is_named);
    let says = |clause: &&Clause<'_>| {
        !takes_back(clause)
            && !clause
                .words
                .iter()
                .all(|word| filler::is_any(word) || lists::CHATTER.contains(&word.as_str()))
    };
    if !before.iter().any(|clause| takes_back(&clause)) || behind.is_empty() {
        return None;
    }
    let kept: Vec<&str> = before
        .iter()
        .filter(says)
        .chain(behind)
        .map(|clause| clause.text)
        .collect();
    let mark = ASKS.into_iter().find(|mark| text.trim_end().ends_with(*mark));
    Some(kept.join(", ") + &mark.map(String::from).unwrap_or_default())
}

/// Whether a text says no more than that something is of no matter: "no, leave it", "oh, never mind".
pub(crate) fn is_dismissal(text: &str) -> bool {
    let all = clauses(text);
    let says = |clause: &Clause<'_>| is_never_mind(&clause.words.join(" "));
    all.iter().any(says)
        && all.iter().all(|clause| {
            says(clause) || is_made_of(&clause.words, lists::NO) || talk(&clause.words).is_some()
        })
}

/// Whether a short statement says no to what a consent takes: "no to signing in", "ich melde mich nicht an".
pub(crate) fn refuses_to_sign_in(text: &str) -> bool {
    let words = lower(text);
    let no = |word: &String| lists::NOT.contains(&word.as_str());
    !text.contains(['?', '？']) && words.len() <= SHORT && words.iter().any(no) && signs_in(&words)
}

/// Whether words name what a consent takes.
pub(crate) fn signs_in(words: &[String]) -> bool {
    let is_form = |word: &String| {
        let stem = word.strip_suffix("ing").unwrap_or(word);
        let stem = stem
            .strip_suffix("gg")
            .map_or(stem.to_owned(), |stem| format!("{stem}g"));
        lists::SIGNING_IN.contains(&stem.as_str())
    };
    words.iter().any(is_form)
}

/// Whether a text begins with a clause that says that something is of no matter: "never mind. Will it snow?".
pub(crate) fn begins_with_dismissal(text: &str) -> bool {
    let all = clauses(text);
    let leads = |clause: &&Clause<'_>| {
        talk(&clause.words).is_some() || clause.words.iter().all(|word| is_aside(word))
    };
    let first = all.iter().find(|clause| !leads(clause));
    first.is_some_and(|clause| is_never_mind(&clause.words.join(" ")) || dismissed(&clause.words).is_some())
}

/// What a clause says is of no matter: "never mind the rain", "actually, forget my order".
fn dismissed(words: &[String]) -> Option<&[String]> {
    let at = words.iter().position(|word| !is_aside(word))?;
    let from = words.get(at..)?;
    let mut ways = lists::NEVER_MIND.iter().chain(lists::FORGETS);
    let behind = ways.find_map(|way| {
        let (said, behind) = from.split_at_checked(way.split(' ').count())?;
        let names = behind.len() > 1 && filler::is_any(behind.first()?);
        (names && said.join(" ") == *way).then_some(behind)
    })?;
    Some(behind)
}

/// Whether a word only leads to what follows, or says no to what was before.
fn is_aside(word: &str) -> bool {
    leads(word) || lists::NO.contains(&word)
}

/// Whether a clause has one of the ways to say so, and little words around it.
pub(super) fn is_never_mind(spoken: &str) -> bool {
    lists::NEVER_MIND.iter().any(|way| {
        let around = format!(" {spoken} ");
        let parted = around.split_once(&format!(" {way} "));
        parted.is_some_and(|(before, behind)| {
            let little = |word: &String| {
                let says_no = lists::NO.contains(&word.as_str());
                says_no || filler::is_any(word) || lists::CHATTER.contains(&word.as_str())
            };
            lower(&format!("{before} {behind}")).iter().all(little)
        })
    })
}

/// What a clause calls off.
pub(super) enum Ends {
    /// What these words name; nothing where none of them counts.
    Named(Vec<String>),
    /// What these words name of what is being worked on.
    NamedWork(Vec<String>),
    /// Something of the user's own, or it only asks whether something has ended.
    NotATask,
}

pub(super) fn ends(words: &[String]) -> Option<Ends> {
    let spoken = words.join(" ");
    if is_never_mind(&spoken) {
        return Some(Ends::Named(Vec::new()));
    }
    if let Some(named) = dismissed(words) {
        return Some(Ends::Named(named.to_vec()));
    }
    if let Some(behind) = spoken.strip_prefix("call off ") {
        return Some(Ends::Named(lower(behind)));
    }
    if let Some(named) = unwanted(words) {
        return Some(Ends::Named(named.to_vec()));
    }
    if let Some(ends) = ends_in_another_language(words) {
        return Some(ends);
    }
    let verb =
        |word: &&String| lists::CANCELS.contains(&word.as_str()) || lists::FORGETS.contains(&word.as_str());
    let at = words.iter().position(|word| verb(&word))?;
    let (before, named) = (words.get(..at)?, words.get(at + 1..)?);
    let negated = |word: &String| {
        matches!(
            word.as_str(),
            "not" | "don" | "dont" | "never" | "why" | "did" | "didn" | "won"
        )
    };
    let little = |word: &String| filler::is_english(word) || lists::CHATTER.contains(&word.as_str());
    // "How do I stop smoking?"
    let asks = before.iter().any(|word| is_question_word(word)) && named.iter().any(|word| counts(word));
    if !before.iter().all(little) || before.iter().any(negated) || asks {
        return None;
    }
    let says = |list: &[&str]| named.iter().any(|word| list.contains(&word.as_str()));
    let forgets = words
        .get(at)
        .is_some_and(|word| lists::FORGETS.contains(&word.as_str()));
    // "Skip" alone is an answer; "stop by the shop" is none.
    if says(&["canceled", "cancelled", "stopped"]) || says(lists::THINGS) && !says(lists::ASKING) && !forgets
    {
        return Some(Ends::NotATask);
    }
    Some(Ends::Named(named.to_vec()))
}

/// What a clause calls off in a language that is not English: "annule le rapport", "avbryt rapporten".
pub(super) fn ends_in_another_language(words: &[String]) -> Option<Ends> {
    if let Some(named) = words.iter().find_map(|word| ends_in_japanese(word)) {
        return Some(Ends::NamedWork(named)).filter(|_| words.len() <= 2);
    }
    // "Para el informe": it also means "for".
    let begins = words.first().is_some_and(|word| word == "para");
    let verb = |word: &String| lists::CANCELS_TOO.contains(&word.as_str());
    let at = words.iter().position(verb).or_else(|| begins.then_some(0))?;
    let (before, behind) = (words.get(..at)?, words.get(at + 1..)?);
    if !before.iter().all(|word| filler::is_any(word)) {
        return None;
    }
    let is_all = |word: &&String| lists::ALL.contains(&word.as_str());
    let named = behind
        .iter()
        .filter(|word| !filler::is_any(word) && !is_all(word));
    let named: Vec<String> = named.cloned().collect();
    match named.is_empty() {
        // "Cancela eso": what is spoken of, in a clause as short as that.
        true => (behind.len() <= 3).then(|| Ends::Named(behind.iter().filter(is_all).cloned().collect())),
        false => Some(Ends::NamedWork(named)),
    }
}

/// What "レポートをキャンセルしてください" calls off: the words before the verb, which no blank parts. A statement does not.
pub(super) fn ends_in_japanese(word: &str) -> Option<Vec<String>> {
    let verbs = lists::CANCEL.iter().filter(|verb| !verb.is_ascii());
    let (before, behind) = verbs
        .filter(|verb| verb.chars().all(is_sign))
        .find_map(|verb| word.split_once(verb))?;
    let asks = ["して", "せよ", "をお願い", "お願い", "で"]
        .iter()
        .any(|way| behind.starts_with(way));
    let parts = before.split(|c| matches!(c, '\u{3041}'..='\u{309f}'));
    let named = parts.filter(|part| !part.is_empty()).map(str::to_owned);
    asks.then(|| named.collect())
}

/// A sign of Japanese.
pub(super) fn is_sign(c: char) -> bool {
    c as u32 > 0x2e7f
}

/// What a clause says is not needed: "no seat needed", "the report is not needed any more", "I don't need the seat".
pub(super) fn unwanted(words: &[String]) -> Option<&[String]> {
    let is = |at: usize, word: &str| words.get(at).is_some_and(|known| known == word);
    let before = |at: usize, way: &[&str]| {
        let from = at.checked_sub(way.len());
        from.is_some_and(|from| {
            way.iter()
                .enumerate()
                .all(|(number, word)| is(from + number, word))
        })
    };
    let ends = words
        .iter()
        .rposition(|word| lists::UNWANTED.contains(&word.as_str()));
    match ends {
        Some(end) if is(0, "no") => words.get(1..end),
        Some(end) if before(end, &["not"]) => words.get(..end - 1),
        Some(end) if before(end, &["no", "longer"]) => words.get(..end - 2),
        Some(_) => None,
        None => {
            let need = words.iter().position(|word| word == "need")?;
            let denied = [
                &["don", "t"][..],
                &["do", "not"],
                &["no", "longer"],
                &["won", "t"],
            ];
            let denied = denied.iter().any(|way| before(need, way));
            words
                .get(need + 1..)
                .filter(|_| denied && (is(0, "i") || is(0, "we")))
        }
    }
    .filter(|named| named.iter().any(|word| counts(word)))
}

/// Whether a word calls something off.
pub(crate) fn is_cancel(word: &str) -> bool {
    let verbs = lists::CANCELS.iter();
    let mut forms = verbs.map(|verb| word.strip_prefix(verb));
    forms.any(|rest| matches!(rest, Some("" | "ed" | "led" | "ped" | "ted")))
}
