//! What a message asks for by its words alone, whatever waits and whoever is there.

use std::collections::BTreeSet;

use auth::consent_code;
use domain::{AgentType, TaskId};
use llm::AgentBrief;
use words::phrases::words;

use super::{filler, lists};

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

/// Which tasks are meant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Target {
    /// By id.
    pub(crate) id: Option<TaskId>,
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
    /// Reads a text; `names` are of agents that are there.
    pub(crate) fn of(text: &str, names: &Names) -> Self {
        if text.contains(consent_code::MASK) || consent_code::mask(text).is_some() {
            return Self::Code;
        }
        let all = lower(text);
        for (list, wish) in [
            (lists::YES, Self::Yes),
            (lists::NO, Self::No),
            (lists::DONE, Self::Done),
        ] {
            if is_made_of(&all, list) {
                return wish;
            }
        }
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
        if let Some((target, rest)) = cancel(text, id) {
            return Self::Cancel(target, rest);
        }
        if let Some(target) = retry(without, id) {
            return Self::Retry(target);
        }
        if let Some(target) = status(&core, id, names) {
            return Self::Status(target);
        }
        match loose_talk(text, &all) {
            Some(talk) => Self::Talk(talk),
            None => Self::Words(without.to_owned()),
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

/// The text without clauses at its beginning that are mere chatter: "ok, thanks. And in Oslo?".
fn without_chatter(text: &str) -> &str {
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

/// What a text is that asks for nothing: words of talk alone.
fn talk(words: &[String]) -> Option<Talk> {
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
fn loose_talk(text: &str, words: &[String]) -> Option<Talk> {
    let talks = |word: &String| {
        let lists = [lists::THANKS, lists::GREETING, lists::BYE, lists::CHATTER];
        lists.iter().any(|list| list.contains(&word.as_str()))
    };
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

fn kind_of_talk(words: &[String]) -> Option<Talk> {
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

/// What is to be called off, and what is wanted beside that.
fn cancel(text: &str, id: Option<TaskId>) -> Option<(Target, Option<String>)> {
    if is_made_of(&lower(text), lists::CANCEL) {
        return Some((Target::default(), None));
    }
    let (mut target, mut rest, mut found): (Target, Vec<&str>, bool) = (Target::default(), Vec::new(), false);
    for clause in clauses(text) {
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
    let rest = rest.join(", ");
    let more = !lower(&rest)
        .iter()
        .all(|word| filler::is_english(word) || lists::CHATTER.contains(&word.as_str()));
    Some((target, more.then_some(rest).filter(|_| id.is_none())))
}

/// Whether a text says no more than that something is of no matter: "no, leave it", "oh, never mind".
pub(super) fn is_dismissal(text: &str) -> bool {
    let all = clauses(text);
    let says = |clause: &Clause<'_>| is_never_mind(&clause.words.join(" "));
    all.iter().any(says)
        && all.iter().all(|clause| {
            says(clause) || is_made_of(&clause.words, lists::NO) || talk(&clause.words).is_some()
        })
}

/// Whether a short statement says no to what a consent takes: "no to signing in", "ich melde mich nicht an".
pub(super) fn refuses_to_sign_in(text: &str) -> bool {
    let words = lower(text);
    let no = |word: &String| lists::NOT.contains(&word.as_str());
    !text.contains(['?', '？']) && words.len() <= SHORT && words.iter().any(no) && signs_in(&words)
}

/// Whether words name what a consent takes.
pub(super) fn signs_in(words: &[String]) -> bool {
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
pub(super) fn begins_with_dismissal(text: &str) -> bool {
    let all = clauses(text);
    let first = all.iter().find(|clause| talk(&clause.words).is_none());
    first.is_some_and(|clause| is_never_mind(&clause.words.join(" ")))
}

/// Whether a clause has one of the ways to say so, and little words around it.
fn is_never_mind(spoken: &str) -> bool {
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
enum Ends {
    /// What these words name; nothing where none of them counts.
    Named(Vec<String>),
    /// What these words name of what is being worked on.
    NamedWork(Vec<String>),
    /// Something of the user's own, or it only asks whether something has ended.
    NotATask,
}

fn ends(words: &[String]) -> Option<Ends> {
    let spoken = words.join(" ");
    if is_never_mind(&spoken) {
        return Some(Ends::Named(Vec::new()));
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
fn ends_in_another_language(words: &[String]) -> Option<Ends> {
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
fn ends_in_japanese(word: &str) -> Option<Vec<String>> {
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
fn is_sign(c: char) -> bool {
    c as u32 > 0x2e7f
}

/// What a clause says is not needed: "no seat needed", "the report is not needed any more", "I don't need the seat".
fn unwanted(words: &[String]) -> Option<&[String]> {
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

impl Target {
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

/// What is to be tried again.
fn retry(text: &str, id: Option<TaskId>) -> Option<Target> {
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
                    "try" | "versuch" | "versuche" | "inténtalo" | "essaie" | "prøv" | "tenta" | "tente"
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
fn status(words: &[String], id: Option<TaskId>, names: &Names) -> Option<Target> {
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let is_news = |word: &String| lists::NEWS.contains(&word.as_str());
    let spoken = words.join(" ");
    let went_wrong = words.iter().any(|word| word == "wrong") && has(&["went", "goes", "gone", "what"]);
    let news = (has(lists::NEWS) || went_wrong) && !spoken.contains("going to");
    let (content, hints): (Vec<String>, Vec<String>) = words
        .iter()
        .filter(|word| !is_news(word))
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
    let task = has(lists::TASK);
    (news || owned).then_some(Target {
        // Without a name it is a status question only where it speaks of what is under way.
        open: !task && (!named || content.iter().any(|word| !names.has(word)) || !news && !has(&["my"])),
        words: content,
        hints,
        ..Target::default()
    })
}

/// What news are asked of in a language that is not English: "wie steht es mit dem Bericht?".
fn news_in_another_language(words: &[String]) -> Option<Vec<String>> {
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
pub(super) fn done_asked(text: &str) -> Option<String> {
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

/// Whether a word calls something off.
pub(super) fn is_cancel(word: &str) -> bool {
    let verbs = lists::CANCELS.iter();
    let mut forms = verbs.map(|verb| word.strip_prefix(verb));
    forms.any(|rest| matches!(rest, Some("" | "ed" | "led" | "ped" | "ted")))
}

/// What a short question is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    /// The words that say something, beside those that ask for news: "Wie weit ist der Bericht?" has one.
    pub(super) words: Vec<String>,
    /// It asks for news, or after something of the user's own.
    pub(super) is_news: bool,
    /// It is not in English.
    pub(super) is_abroad: bool,
}

/// The short question that a text is; none where it wants something done: "can you do a report?".
pub(super) fn asked_of(text: &str) -> Option<Asked> {
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

/// Whether a text begins with a no of its own, and then says something that answers no question: "actually no, I brought
/// sandwiches".
pub(super) fn begins_with_no(text: &str) -> bool {
    let all = clauses(text);
    let [first, second, ..] = all.as_slice() else {
        return false;
    };
    let leads = |word: &&String| *word == "actually" || lists::CHATTER.contains(&word.as_str());
    let no: Vec<String> = first.words.iter().skip_while(leads).cloned().collect();
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

/// "How's it coming along?": how, a word for what was spoken of, and what it does.
fn is_how_it_goes(words: &[String]) -> bool {
    let [how, behind @ ..] = words else { return false };
    let it = behind.iter().take_while(|word| is_it(word)).count();
    let does = behind.get(it).is_some_and(|word| word.ends_with("ing"));
    how == "how" && it > 0 && does && behind.len() <= it + 2
}

/// A word for what was spoken of, or a form of "to be" beside it.
fn is_it(word: &str) -> bool {
    matches!(
        word,
        "it" | "that" | "this" | "they" | "things" | "everything" | "is" | "s" | "are" | "re"
    )
}

/// The first UUID in the text.
fn task_id(text: &str) -> Option<TaskId> {
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
