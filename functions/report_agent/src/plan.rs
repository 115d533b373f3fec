//! What a report is about, and its steps: pure rules over the words that asked for it.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::card;

/// Steps where nobody says how many.
const USUAL: usize = 4;
/// Most steps of one report.
const MOST: usize = 12;
/// Most characters of a topic that are repeated.
const TOPIC_MAX: usize = 120;

/// Words in front of a topic, the clearest first; those of other languages only behind the word for a report.
const LEADS: [&str; 5] = [" about ", " on ", " regarding ", " concerning ", " of "];
const LEADS_ELSEWHERE: [&str; 7] = [" über ", " sobre ", " sur ", " om ", " over ", " su ", " o "];
/// What people call a report.
const NOUNS: [&str; 14] = [
    "report",
    "reports",
    "study",
    "essay",
    "paper",
    "analysis",
    "overview",
    "dossier",
    "bericht",
    "informe",
    "rapport",
    "raport",
    "relatório",
    "rapporto",
];
/// Words around a topic that are none of it.
const ASKING: [&str; 33] = [
    "a", "an", "the", "me", "us", "i", "we", "you", "my", "our", "write", "prepare", "make", "create",
    "draft", "get", "give", "need", "want", "would", "could", "can", "like", "to", "have", "do", "for",
    "short", "long", "detailed", "hi", "on", "about",
];
/// Words for what others brought.
const THAT: [&str; 12] = [
    "it",
    "that",
    "this",
    "them",
    "these",
    "those",
    "both",
    "everything",
    "the results",
    "the result",
    "it all",
    "all of it",
];
const POLITE: [&str; 5] = ["please", "pls", "thanks", "bitte", "tack"];
const NUMBERS: [&str; 12] = [
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
];
const STEPS: [(&str, &str); 6] = [
    ("Gathering sources", "Sources"),
    ("Sorting what was found", "Overview"),
    ("Drafting", "Findings"),
    ("Checking the draft", "Open questions"),
    ("Comparing with other topics", "Comparison"),
    ("Looking ahead", "Outlook"),
];

/// A report as it is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    /// What it is about.
    pub(crate) topic: String,
    /// How many steps it takes, at least one.
    pub(crate) steps: usize,
    /// What others brought for it, by who brought it.
    pub(crate) brought: Vec<(String, String)>,
    /// What else is wanted with it, which nobody does here: "email it to Bob".
    pub(crate) undone: Option<String>,
}

impl Plan {
    /// Reads what is wanted out of the words, in whatever order they come; `None` where no topic is named. A `reply` to
    /// the question for it is the topic.
    pub(crate) fn read(text: &str, reply: bool) -> Option<Self> {
        let words = format!(" {} ", text.split_whitespace().collect::<Vec<_>>().join(" "));
        let lower = words.to_ascii_lowercase();
        let undone = handed_on(&lower);
        let whole = undone.as_ref().map_or(lower.len(), |(from, _)| *from);
        let (steps, end) = asked_steps(lower.get(..whole)?).unwrap_or((USUAL, whole));
        let undone = undone.and_then(|(_, from)| Some(trimmed(words.get(from..)?).to_owned()));
        let (said, lower) = (words.get(..end)?, lower.get(..end)?);
        // What follows "about" is meant as it stands: "our sales".
        let topic = match behind_lead(said, lower) {
            Some(topic) => bare(topic, false),
            None => bare(beside_noun(said).or_else(|| reply.then_some(said))?, true),
        };
        let topic: String = topic.chars().take(TOPIC_MAX).collect();
        let named = topic.chars().any(char::is_alphanumeric);
        named.then_some(Self {
            topic,
            steps,
            brought: Vec::new(),
            undone,
        })
    }

    /// The same with what others brought for it. "It" is that, then.
    pub(crate) fn with(mut self, brought: Vec<(String, String)>) -> Self {
        let names: Vec<&str> = brought.iter().map(|(name, _)| name.as_str()).collect();
        if !names.is_empty() && THAT.contains(&self.topic.to_lowercase().as_str()) {
            self.topic = format!("what {} brought", names.join(", "));
        }
        Self { brought, ..self }
    }

    /// The whole report, as programs read it.
    pub(crate) fn result(&self) -> String {
        let sections = (0..self.steps).map(|step| self.section(step));
        format!("{}{}", self.heading(), sections.collect::<Vec<_>>().join("\n"))
    }

    /// What stands above the first section.
    pub(crate) fn heading(&self) -> String {
        let brought = self.brought.iter();
        let brought = brought.map(|(name, text)| format!("From {name}:\n\n{text}\n\n"));
        format!("# Report on {}\n\n{}", self.topic, brought.collect::<String>())
    }

    /// That it is done, and what is not.
    pub(crate) fn ended(&self) -> String {
        let done = format!("The report on {} is done.", self.topic);
        match &self.undone {
            Some(undone) => format!("{done} I only write it here: I cannot “{undone}”."),
            None => done,
        }
    }

    /// What is being done in a step.
    pub(crate) fn doing(&self, step: usize) -> String {
        let (doing, _) = words(step);
        format!("Step {} of {}: {doing} on {} …", step + 1, self.steps, self.topic)
    }

    /// What a step brings.
    pub(crate) fn section(&self, step: usize) -> String {
        let (_, title) = words(step);
        format!(
            "## {}. {title}\n\nSimulated text of step {} on {}.\n",
            step + 1,
            step + 1,
            self.topic
        )
    }
}

/// Where "and email it to Bob" begins, and where that does without the word that joins it.
fn handed_on(lower: &str) -> Option<(usize, usize)> {
    let (at, joint) = lower.rmatch_indices(" and ").next()?;
    let from = at + joint.len();
    let mut words = lower.get(from..)?.split(' ').skip(1);
    let hands_on = words.next().is_some_and(|word| THAT.contains(&word)) && words.next() == Some("to");
    hands_on.then_some((at, from))
}

/// "a report about whales", "Bericht über Wale"
fn behind_lead<'t>(said: &'t str, lower: &str) -> Option<&'t str> {
    let behind = |lead: &&str| Some(lower.find(*lead)? + lead.len());
    let elsewhere = || {
        let noun = NOUNS.iter().find_map(|noun| lower.find(&format!(" {noun} ")))?;
        let behind = lower.get(noun..)?;
        LEADS_ELSEWHERE
            .iter()
            .find_map(|lead| Some(noun + behind.find(lead)? + lead.len()))
    };
    said.get(LEADS.iter().find_map(behind).or_else(elsewhere)?..)
}

/// "report: whales", "a whales report, please": what stands behind the noun, or in front of it.
fn beside_noun(said: &str) -> Option<&str> {
    let is_noun = |word: &str| NOUNS.contains(&trimmed(word).to_lowercase().as_str());
    let mut at = 0;
    for word in said.split(' ') {
        let end = at + word.len();
        if is_noun(word) {
            let sides = [said.get(end..), said.get(..at).map(behind_article)];
            return sides
                .into_iter()
                .flatten()
                .find(|side| !bare(side, true).is_empty() && !only_asks(side));
        }
        at = end + 1;
    }
    None
}

/// What stands behind the last article: "I need an electric cars", where a report follows.
fn behind_article(before: &str) -> &str {
    let is_article = |word: &str| ARTICLES.contains(&trimmed(word).to_lowercase().as_str());
    let words = before.split_inclusive(' ');
    let mut behind = before;
    let mut at = 0;
    for word in words {
        at += word.len();
        if is_article(word) {
            behind = before.get(at..).unwrap_or_default();
        }
    }
    behind
}

/// Articles before a report. Not all stop words: behind "of" or "in" stands only a part of a topic.
const ARTICLES: [&str; 14] = [
    "a", "an", "the", "ein", "einen", "eine", "un", "une", "una", "um", "een", "en", "ett", "den",
];

/// Whether words only ask for a report, in whatever language: they hold a sentence together, or the card asks so too. "Schreib mir
/// bitte einen" names no topic.
fn only_asks(text: &str) -> bool {
    // "Schreiben" is a form of "schreibe".
    let asks = |word: &str| {
        POLITE.contains(&word)
            || ASKS.contains(word)
            || word.strip_suffix('n').is_some_and(|stem| ASKS.contains(stem))
    };
    let mut words = text.split_whitespace().map(|word| trimmed(word).to_lowercase());
    words.all(|word| word.is_empty() || asks(&word))
}

/// What the card's examples say before what their reports are about, and the words that hold sentences together.
static ASKS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let leads: Vec<&str> = LEADS.into_iter().chain(LEADS_ELSEWHERE).collect();
    let asked = card::EXAMPLES.iter().map(|example| {
        let ends = leads.iter().filter_map(|lead| example.find(lead));
        example
            .get(..ends.min().unwrap_or(example.len()))
            .unwrap_or_default()
    });
    let asked = asked.flat_map(str::split_whitespace).map(trimmed);
    let little = LANGUAGES.into_iter().filter_map(stop_words::lookup).flatten();
    asked.chain(little.copied()).map(str::to_lowercase).collect()
});

/// The languages that reports are asked for in.
const LANGUAGES: [&str; 10] = ["en", "de", "es", "fr", "it", "nl", "no", "sv", "pt", "pl"];

fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || ".,;:!?\"'–—-".contains(c))
}

/// Without polite words around it; without the words of asking too, where it stands among them.
fn bare(text: &str, asked: bool) -> &str {
    let asks = |word: &str| {
        let word = trimmed(word).to_lowercase();
        word.is_empty() || POLITE.contains(&word.as_str()) || asked && ASKING.contains(&word.as_str())
    };
    let mut text = trimmed(text);
    loop {
        let (first, behind) = text.split_once(' ').unwrap_or((text, ""));
        let (before, last) = text.rsplit_once(' ').unwrap_or(("", text));
        text = match (asks(first), asks(last)) {
            _ if text.is_empty() => return text,
            (true, _) => trimmed(behind),
            (false, true) => trimmed(before),
            (false, false) => return text,
        };
    }
}

fn words(step: usize) -> (&'static str, &'static str) {
    STEPS
        .iter()
        .cycle()
        .nth(step)
        .copied()
        .unwrap_or(("Working", "Section"))
}

/// "in six steps": how many, and where that begins.
fn asked_steps(lower: &str) -> Option<(usize, usize)> {
    let at = lower.rfind(" in ")?;
    let mut words = lower.get(at + 4..)?.split_whitespace();
    let (number, unit) = (words.next()?, words.next()?);
    let spelled = NUMBERS
        .iter()
        .position(|known| *known == number)
        .map(|index| index + 1);
    let steps = spelled.or_else(|| number.parse().ok())?;
    let unit = unit.trim_end_matches(|c: char| !c.is_alphanumeric());
    let fits = matches!(unit, "step" | "steps" | "section" | "sections" | "part" | "parts");
    fits.then(|| (steps.clamp(1, MOST), at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(String, usize)> {
        Plan::read(text, false).map(|plan| (plan.topic, plan.steps))
    }

    #[test]
    fn topic_and_steps_are_read_out_of_the_words() {
        let expect = |topic: &str, steps| Some((topic.to_owned(), steps));
        for (text, plan) in [
            ("Write a report about electric cars", expect("electric cars", 4)),
            ("report on tea in Norway.", expect("tea in Norway", 4)),
            (
                "I need a report about our sales in six steps",
                expect("our sales", 6),
            ),
            ("A report on Öl in 999 parts!", expect("Öl", 12)),
            ("a report on sums in 0 steps", expect("sums", 1)),
            ("report: whales", expect("whales", 4)),
            ("Whales report please", expect("Whales", 4)),
            (
                "can you write me an electric cars report, please?",
                expect("electric cars", 4),
            ),
            (
                "I need a detailed study: tea in Norway, in three parts",
                expect("tea in Norway", 3),
            ),
            ("Bitte einen Bericht über Wale", expect("Wale", 4)),
            ("un informe sobre ballenas", expect("ballenas", 4)),
            (
                "report about the history of tea please",
                expect("the history of tea", 4),
            ),
            ("a report on in two steps", None),
            ("could you write me a report please", None),
            ("whales", None),
            ("Write a report", None),
            ("report about ???", None),
            ("", None),
        ] {
            assert_eq!(read(text), plan, "{text}");
        }
    }

    #[test]
    fn who_asks_in_another_language_and_names_no_topic_is_asked_for_it() {
        for text in [
            "Schreib mir bitte einen Bericht",
            "Kannst du mir einen Bericht schreiben?",
            "Ich brauche einen Bericht",
            "escribe un informe",
            "Rédige un rapport",
            "Scrivi un rapporto",
            "Schrijf een rapport",
            "Skriv en rapport",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn where_it_is_to_go_is_no_part_of_the_topic() {
        let plan = Plan::read("write a report on owls and email it to Bob.", false).unwrap();
        assert_eq!((plan.topic.as_str(), plan.steps), ("owls", 4));
        assert!(
            plan.ended().ends_with("I cannot “email it to Bob”."),
            "{}",
            plan.ended()
        );
        let plan = Plan::read("a report on tea in two steps and send it to me", false).unwrap();
        assert_eq!((plan.topic.as_str(), plan.steps), ("tea", 2));
        for whole in [
            "salt and pepper",
            "cats and how to feed them",
            "love and what it does to us",
        ] {
            let plan = Plan::read(&format!("a report on {whole}"), false).unwrap();
            assert_eq!((plan.topic.as_str(), plan.undone), (whole, None));
        }
    }

    #[test]
    fn a_reply_is_the_topic() {
        for (reply, topic) in [
            ("whales", "whales"),
            ("about the whales, please", "the whales"),
            ("Öl!", "Öl"),
        ] {
            assert_eq!(Plan::read(reply, true).unwrap().topic, topic);
        }
        for nothing in ["", "?", "please"] {
            assert_eq!(Plan::read(nothing, true), None, "{nothing}");
        }
    }

    #[test]
    fn what_others_brought_stands_in_it_and_is_what_it_is_about() {
        let brought = || vec![("Weather".to_owned(), "Light rain.".to_owned())];
        for (text, topic) in [
            ("write a report on it", "what Weather brought"),
            ("a report about that, please", "what Weather brought"),
            ("a report on whales", "whales"),
        ] {
            let plan = Plan::read(text, false).unwrap().with(brought());
            assert_eq!(plan.topic, topic);
            assert!(plan.result().contains("From Weather:\n\nLight rain.\n"));
        }
        let alone = Plan::read("a report on it", false).unwrap().with(Vec::new());
        assert_eq!(
            (alone.topic.as_str(), alone.result().contains("From")),
            ("it", false)
        );
    }

    #[test]
    fn every_step_has_words() {
        let plan = Plan {
            topic: "tea".into(),
            steps: MOST,
            brought: Vec::new(),
            undone: None,
        };
        for step in 0..MOST {
            assert!(
                plan.doing(step)
                    .starts_with(&format!("Step {} of 12: ", step + 1))
            );
            assert!(plan.section(step).contains("tea"));
        }
    }

    #[test]
    fn what_a_request_takes_goes_by_its_length() {
        words_testing::assert_linear(|text| _ = Plan::read(text, false));
    }
}
