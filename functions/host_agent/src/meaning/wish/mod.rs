//! What a message asks for by its words alone, whatever waits and whoever is there.

mod canceling;
mod news;
mod talk;

use std::collections::BTreeSet;

use auth::consent_code;

use domain::{AgentType, TaskId, to_read};

use llm::AgentBrief;

use words::phrases::words;

use super::{filler, lists};
pub(super) use canceling::{begins_with_dismissal, is_cancel, is_dismissal, refuses_to_sign_in, signs_in};
use canceling::{cancel, without_dismissed};
pub(super) use news::{asked_of, done_asked};
use news::{retry, status};
use talk::{loose_talk, small_talk, talk, without_chatter, without_thanks};

/// What the words of a message ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wish {
    /// It brings the code of a consent.
    Code,
    /// One of the closed list for yes.
    Yes,
    /// One of the closed list for no, later, skip.
    No,
    /// What was asked of the user is done.
    Done,
    /// What is open?
    Open,
    /// How something is doing.
    Status(Target),
    /// Something is to end; what else is wanted beside it stands behind.
    Cancel(Target, Option<String>),
    /// What went wrong is to be tried again.
    Retry(Target),
    /// Nothing is asked for.
    Talk(Talk),
    /// An answer, or a request: the text without the chatter around it.
    Words(String),
}

/// Talk that no agent is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Talk {
    Greeting,
    Thanks,
    Bye,
    Chatter,
    About,
    Help,
}

impl From<nlu::Talk> for Talk {
    fn from(talk: nlu::Talk) -> Self {
        match talk {
            nlu::Talk::Hello => Self::Greeting,
            nlu::Talk::Thanks => Self::Thanks,
            nlu::Talk::Bye => Self::Bye,
            nlu::Talk::Help => Self::Help,
            nlu::Talk::About => Self::About,
            nlu::Talk::Chatter => Self::Chatter,
        }
    }
}

/// Which tasks are meant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Target {
    /// By id.
    pub(crate) id: Option<TaskId>,
    /// These tasks, by what they were asked for.
    pub(crate) like: Option<Vec<TaskId>>,
    /// These jobs of such of them as have several.
    pub(crate) jobs: Vec<(TaskId, u32)>,
    /// All of them.
    pub(crate) all: bool,
    /// By these words: names of agents, words of what was asked.
    pub(crate) words: Vec<String>,
    /// Little words beside them, which tell tasks apart that the words fit alike.
    pub(crate) hints: Vec<String>,
    /// Only tasks that are not over can be meant.
    pub(crate) open: bool,
    /// Only tasks that are being worked on can be meant.
    pub(crate) running: bool,
}

/// Names and types of agents, as words, and who is known by which words to do work that is never asked for by a question.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    named: Vec<String>,
    /// Words of those agents' examples that no other agent has.
    works: Vec<(String, AgentType)>,
}

impl Names {
    /// Of these names and types.
    pub(crate) fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let known = |word: &String| word != "agent" && !filler::is_english(word);
        let named = names.into_iter().flat_map(lower).map(|word| singular(&word));
        Self {
            named: named.filter(known).collect(),
            works: Vec::new(),
        }
    }

    /// The same with what these agents' examples say. An agent of which no example asks does work: what is asked about it is how
    /// that is doing.
    pub(crate) fn with_examples(self, agents: &[AgentBrief]) -> Self {
        let examples = |agent: &AgentBrief| -> Vec<String> {
            let skills = agent.skills().iter();
            skills.flat_map(|skill| skill.examples()).cloned().collect()
        };
        let asks = |example: &String| example.contains(['?', '？']);
        let (answers, works): (Vec<&AgentBrief>, Vec<&AgentBrief>) =
            agents.iter().partition(|agent| examples(agent).iter().any(asks));
        let said = |agent: &AgentBrief| -> BTreeSet<String> {
            examples(agent)
                .iter()
                .flat_map(|example| lower(example))
                .collect()
        };
        let of_others: BTreeSet<String> = answers.into_iter().flat_map(said).collect();
        let own = |agent: &&AgentBrief| -> Vec<(String, AgentType)> {
            let own = said(agent).into_iter();
            let own = own.filter(|word| !of_others.contains(word) && !filler::is_any(word));
            own.map(|word| (word, agent.agent_type().clone())).collect()
        };
        Self {
            works: works.iter().flat_map(own).collect(),
            ..self
        }
    }

    pub(crate) fn has(&self, word: &str) -> bool {
        self.named.iter().any(|name| is_alike(name, word))
    }

    /// Who does work that this word is for, whatever its language.
    pub(super) fn works(&self, word: &str) -> Option<&AgentType> {
        let mut found = self.works.iter().filter(|(known, _)| is_alike(known, word));
        let (_, only) = found.next()?;
        found.all(|(_, other)| other == only).then_some(only)
    }
}

/// Longest message that can be anything but words for an agent.
const WORDS_MAX: usize = 24;

/// Longest that asks for nothing, or for what is open.
const SHORT: usize = 8;

/// Longest entry of a closed list, in words.
const ENTRY_MAX: usize = 8;

/// Shortest entry for no, in words, that more may stand behind: "I don't want to …", where "no" alone may begin anything.
const REFUSAL_MIN: usize = 2;

impl Wish {
    /// A text that is a code, longer than what is read of one, or whole one of the closed lists.
    pub(super) fn closed(text: &str) -> Option<Self> {
        if text.contains(consent_code::MASK) || consent_code::mask(text).is_some() {
            return Some(Self::Code);
        }
        if is_long(text) {
            return Some(Self::Words(text.trim().to_owned()));
        }
        let all = lower(text);
        let lists = [
            (lists::YES, Self::Yes),
            (lists::NO, Self::No),
            (lists::DONE, Self::Done),
        ];
        let mut lists = lists.into_iter();
        lists
            .find(|(list, _)| is_made_of(&all, list))
            .map(|(_, wish)| wish)
    }

    /// Reads a text; `names` are of agents that are there.
    pub(crate) fn of(text: &str, names: &Names) -> Self {
        if let Some(closed) = Self::closed(text) {
            return closed;
        }
        let all = lower(text);
        let without = without_chatter(text);
        let core = lower(without);
        if is_open(&core) {
            return Self::Open;
        }
        if all.len() > WORDS_MAX {
            return Self::Words(text.trim().to_owned());
        }
        let id = task_id(text);
        if let Some(talk) = talk(&all) {
            return Self::Talk(talk);
        }
        if let Some(rest) = without_dismissed(text) {
            return Self::Words(rest);
        }
        if let Some((target, rest)) = cancel(text, id) {
            return Self::Cancel(target, rest);
        }
        if let Some(target) = retry(without, id) {
            return Self::Retry(target);
        }
        if let Some(target) = status(&core, id, names) {
            return Self::Status(target);
        }
        match loose_talk(text, &all).or_else(|| small_talk(text, names)) {
            Some(talk) => Self::Talk(talk),
            None => Self::Words(without_thanks(without).to_owned()),
        }
    }
}

/// Whether a message is nothing but entries of a closed list, with words of politeness around them: "no, not now, thanks".
pub(super) fn is_made_of(words: &[String], list: &[&str]) -> bool {
    #[rustfmt::skip]
    const POLITE: &[&str] = &[
        "please", "pls", "thanks", "sorry", "ok", "okay", "oh", "well", "bitte", "danke", "gracias", "merci", "takk", "for", "now", "then",
    ];
    let mut rest = words;
    let mut found = false;
    while let Some(first) = rest.first() {
        let length = (1..=rest.len().min(ENTRY_MAX)).rev().find(|length| {
            let piece = rest.get(..*length).unwrap_or_default().join(" ");
            list.contains(&piece.as_str())
        });
        found |= length.is_some();
        let thanks = lists::THANKS.contains(&first.as_str()) && found;
        let step = match length {
            Some(length) => length,
            None if thanks || POLITE.contains(&first.as_str()) => 1,
            None => return false,
        };
        rest = rest.get(step..).unwrap_or_default();
    }
    found
}

/// Whether a text asks what waits: a word for that, and little words.
fn is_open(words: &[String]) -> bool {
    let waits = |word: &String| lists::OPEN.contains(&word.as_str());
    // "Is it still running?" is about what was spoken of.
    if matches!(words, [is, it, ..] if is == "is" && matches!(it.as_str(), "it" | "that" | "this")) {
        return false;
    }
    lists::OPEN_TOO.contains(&words.join(" ").as_str())
        || words.len() <= SHORT
            && words.iter().any(waits)
            && words
                .iter()
                .all(|word| waits(word) || filler::is_any(word) || lists::TASK.contains(&word.as_str()))
}

/// Whether a text has more than is read of one. Anything may stand behind that: it is a request, and agrees to nothing.
pub(super) fn is_long(text: &str) -> bool {
    to_read(text).len() < text.len()
}

/// The words of a text, in small letters.
pub(crate) fn lower(text: &str) -> Vec<String> {
    words(text).iter().map(words::phrases::Word::lower).collect()
}

/// Whether two words are forms of one: "translate" and "translation", "print" and "printing".
pub(super) fn is_alike(one: &str, other: &str) -> bool {
    let (one, other) = (singular(one), singular(other));
    let shared = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    one == other || shared >= 5 && shared + 3 >= one.chars().count().max(other.chars().count())
}

/// A word without its plural's ending.
pub(crate) fn singular(word: &str) -> String {
    let short = word.len() < 4 || word.ends_with("ss");
    let cut = word.strip_suffix('s').filter(|_| !short);
    cut.unwrap_or(word).to_owned()
}

/// A part of a text between punctuation or joining words.
struct Clause<'t> {
    text: &'t str,
    words: Vec<String>,
    /// A joining word alone parts it from what stands before.
    joined: bool,
}

fn clauses(text: &str) -> Vec<Clause<'_>> {
    let mut out: Vec<Clause<'_>> = Vec::new();
    let (mut start, mut end, mut joined) = (None::<usize>, 0, false);
    for word in words(text) {
        let gap = text.get(end..word.start).unwrap_or_default();
        if gap.contains(['.', ',', ';', '!', '?', '\n']) || gap.contains(": ") {
            out.extend(clause(text, start.take(), end, joined));
            joined = false;
        }
        if lists::PARTING.contains(&word.lower().as_str()) {
            let before = start.is_some();
            out.extend(clause(text, start.take(), end, joined));
            joined |= before;
        } else if start.is_none() {
            start = Some(word.start);
        }
        end = word.end;
    }
    out.extend(clause(text, start, end, joined));
    out
}

/// The parts of a text between punctuation or joining words.
pub(super) fn clause_texts(text: &str) -> Vec<&str> {
    clauses(text).into_iter().map(|clause| clause.text).collect()
}

fn clause(text: &str, start: Option<usize>, end: usize, joined: bool) -> Option<Clause<'_>> {
    let text = text.get(start?..end)?;
    let words = lower(text);
    Some(Clause { text, words, joined })
}

impl Target {
    /// Whether nothing says which tasks are meant.
    pub(super) fn is_bare(&self) -> bool {
        self.words.is_empty() && self.id.is_none() && self.like.is_none()
    }

    /// The same without the words that name something.
    pub(super) fn unnamed(&self) -> Self {
        Self {
            words: Vec::new(),
            ..self.clone()
        }
    }

    /// Takes the words in that say something of what is meant.
    fn add(&mut self, words: &[String]) {
        // "Stop het rapport": what is no more than a little word somewhere tells nothing beside what is more.
        let tells = |word: &String| counts(word) && !filler::is_any(word);
        let told = words.iter().any(tells);
        for word in words {
            if counts(word) && (tells(word) || !told) {
                self.words
                    .extend((!lists::ASKING.contains(&word.as_str())).then(|| word.clone()));
            } else {
                self.hints.push(word.clone());
            }
        }
    }
}

/// A word that says something of what is meant.
fn counts(word: &str) -> bool {
    !filler::is_english(word)
        && ![lists::CHATTER, lists::TASK, lists::ALL]
            .iter()
            .any(|list| list.contains(&word))
        && !is_hex(word)
}

fn is_question_word(word: &str) -> bool {
    matches!(word, "what" | "who" | "where" | "when" | "why" | "how" | "which")
}

/// Whether a word only leads to what follows: "ok", "actually".
fn leads(word: &str) -> bool {
    word == "actually" || lists::CHATTER.contains(&word)
}

/// Whether a text begins with a no of its own, and then says something that answers no question: "actually no, I brought
/// sandwiches".
pub(super) fn begins_with_no(text: &str) -> bool {
    let all = clauses(text);
    let [first, second, ..] = all.as_slice() else {
        return false;
    };
    let no = first.words.iter().skip_while(|word| leads(word));
    let no: Vec<String> = no.cloned().collect();
    let told = second.words.first().is_some_and(|word| filler::is_any(word)) && second.words.len() > 1;
    is_made_of(&no, lists::NO) && told && !text.contains(['?', '？'])
}

/// Whether a short text refuses something in words of its own: "I don't want to log in", "ich will mich nicht anmelden". It
/// begins with one of the closed list for no, with words of one clause between its words and behind them.
pub(super) fn refuses(text: &str) -> bool {
    let all = clauses(text);
    let [only] = all.as_slice() else { return false };
    let begins = |entry: &&&str| {
        let mut wanted = entry.split(' ').peekable();
        let long = entry.split(' ').count();
        let said = only.words.iter().take(long + 1);
        let first = only.words.first().map(String::as_str) == wanted.peek().copied();
        said.for_each(|word| _ = wanted.next_if(|wanted| *wanted == word));
        long >= REFUSAL_MIN && first && wanted.peek().is_none()
    };
    only.words.len() <= SHORT && !text.contains(['?', '？']) && lists::NO.iter().any(|entry| begins(&entry))
}

/// A text's first sentence and what stands behind it.
pub(super) fn first_sentence(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let ends = |(at, c): &(usize, char)| {
        let behind = text.get(at + c.len_utf8()..).unwrap_or_default();
        matches!(c, '.' | '!' | '。' | '！' | ';')
            && (!c.is_ascii() || behind.starts_with(char::is_whitespace))
    };
    let (at, c) = text.char_indices().find(ends)?;
    let (first, rest) = (text.get(..at)?, text.get(at + c.len_utf8()..)?.trim());
    let says = |part: &str| part.contains(char::is_alphanumeric);
    (says(first) && says(rest)).then_some((first, rest))
}

/// The first UUID in the text.
pub(super) fn task_id(text: &str) -> Option<TaskId> {
    let fits = |c: &u8| c.is_ascii_hexdigit() || *c == b'-';
    let mut runs = text.as_bytes().split(|c| !fits(c)).filter(|run| run.len() >= 36);
    runs.find_map(|run| TaskId::parse(std::str::from_utf8(run).ok()?.trim_matches('-')).ok())
}

/// A piece of a UUID.
fn is_hex(word: &str) -> bool {
    matches!(word.len(), 8 | 12)
        && word.bytes().all(|c| c.is_ascii_hexdigit())
        && word.bytes().any(|c| c.is_ascii_digit())
}
