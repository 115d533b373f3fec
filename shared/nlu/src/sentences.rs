//! Labelled sentences: what people say, in several languages, and what they do by it. The classifiers are fitted to them, and
//! cards are measured against them. One file, `data/sentences.tsv`: label, language, sentence.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

/// The file.
pub(crate) const FILE: &str = include_str!("../data/sentences.tsv");

/// What somebody does by saying a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Act {
    /// Calls off something that is being done.
    Cancel,
    /// Wants it done once more.
    Retry,
    /// Asks how something is going.
    Status,
    /// Agrees.
    Approve,
    /// Does not agree.
    Decline,
    /// Says that they have done what they were asked to do.
    Done,
    /// Asks for nothing.
    Talk,
    /// Asks for something that wants an agent.
    Request,
    /// Changes what they asked for last.
    FollowUp,
    /// Answers a question.
    Answer,
}

impl Act {
    /// Every act, in the order of the classifier's outputs.
    pub const ALL: [Self; 10] = [
        Self::Cancel,
        Self::Retry,
        Self::Status,
        Self::Approve,
        Self::Decline,
        Self::Done,
        Self::Talk,
        Self::Request,
        Self::FollowUp,
        Self::Answer,
    ];
}

/// What is said by a sentence that asks for nothing of any agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Talk {
    /// A greeting.
    Hello,
    /// Thanks and praise.
    Thanks,
    /// A parting.
    Bye,
    /// What can be done here?
    Help,
    /// Who speaks here?
    About,
    /// Anything else.
    Chatter,
}

impl Talk {
    /// Every kind, in the order of the classifier's outputs.
    pub const ALL: [Self; 6] = [
        Self::Hello,
        Self::Thanks,
        Self::Bye,
        Self::Help,
        Self::About,
        Self::Chatter,
    ];
}

/// A sentence with what is known of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sentence {
    pub(crate) text: &'static str,
    pub(crate) language: &'static str,
    /// What is done by it; none where that hangs on what it is said beside.
    pub(crate) act: Option<Act>,
    /// Which talk it is, where it asks for nothing.
    pub(crate) talk: Option<Talk>,
    /// Whether it is about a deed: true where that destroys or gives away, false where it reads or makes.
    pub(crate) destroys: Option<bool>,
    /// Whether it waits for something that nobody knows yet.
    pub(crate) is_conditional: Option<bool>,
    /// Whether it is said instead of what was said before; none where nothing is asked for.
    pub(crate) corrects: Option<bool>,
    /// Whether it only tells how things are, and asks for nothing by itself; none where it is no request either.
    pub(crate) tells: Option<bool>,
    /// Whether cards are measured against it: only what somebody may want of some agent.
    pub(crate) is_background: bool,
}

impl Sentence {
    /// One that teaches no act: whether it waits for something, and whether it only tells how things are.
    const fn beside(
        language: &'static str,
        text: &'static str,
        is_conditional: bool,
        tells: Option<bool>,
    ) -> Self {
        Self {
            text,
            language,
            act: None,
            talk: None,
            destroys: None,
            is_conditional: Some(is_conditional),
            corrects: None,
            tells,
            is_background: false,
        }
    }
}

/// How many languages they are in.
pub(crate) fn languages() -> usize {
    let languages: BTreeSet<&str> = sentences().map(|sentence| sentence.language).collect();
    languages.len()
}

/// All of them.
pub(crate) fn sentences() -> impl Iterator<Item = Sentence> {
    FILE.lines().filter_map(|line| {
        let mut columns = line.splitn(3, '\t');
        let (label, language, text) = (columns.next()?, columns.next()?, columns.next()?);
        let (act, destroys, is_conditional) = match label {
            "context" => return Some(Sentence::beside(language, text, false, Some(true))),
            "if" => return Some(Sentence::beside(language, text, true, None)),
            "no-if" => return Some(Sentence::beside(language, text, false, None)),
            "cancel" => (Act::Cancel, None, None),
            "retry" => (Act::Retry, None, None),
            "status" => (Act::Status, None, None),
            "approve" => (Act::Approve, None, None),
            "decline" => (Act::Decline, None, None),
            "done" => (Act::Done, None, None),
            "hello" | "thanks" | "bye" | "help" | "about" | "talk" => (Act::Talk, None, None),
            "followup" | "correct" => (Act::FollowUp, Some(false), Some(false)),
            "answer" => (Act::Answer, Some(false), Some(false)),
            // That nobody here does it is for the cards to say, and so it is a request like others.
            "nobody" => (Act::Request, None, Some(false)),
            "destroy" => (Act::Request, Some(true), Some(false)),
            "conditional" => (Act::Request, None, Some(true)),
            "request" | "read" | "make" | "plain" => (Act::Request, Some(false), Some(false)),
            _ => return None,
        };
        let talk = match label {
            "hello" => Some(Talk::Hello),
            "thanks" => Some(Talk::Thanks),
            "bye" => Some(Talk::Bye),
            "help" => Some(Talk::Help),
            "about" => Some(Talk::About),
            "talk" => Some(Talk::Chatter),
            _ => None,
        };
        Some(Sentence {
            text,
            language,
            act: Some(act),
            talk,
            destroys,
            is_conditional,
            corrects: matches!(act, Act::FollowUp | Act::Request).then_some(label == "correct"),
            tells: (act == Act::Request).then_some(false),
            is_background: talk.is_some()
                || matches!(
                    label,
                    "request" | "read" | "make" | "nobody" | "destroy" | "plain"
                ),
        })
    })
}

/// How many of the sentences have each word.
static SPOKEN: LazyLock<HashMap<String, u32>> = LazyLock::new(|| {
    let mut spoken: HashMap<String, u32> = HashMap::new();
    for sentence in sentences() {
        let words = sentence.text.split(|c: char| !c.is_alphanumeric());
        let words: BTreeSet<String> = words.map(str::to_lowercase).collect();
        for word in words {
            *spoken.entry(word).or_default() += 1;
        }
    }
    spoken
});

/// How rare a word, in small letters, is among what anybody may say: 1 where none of the sentences has it, 0 where a tenth have.
#[must_use]
pub fn rarity(lower: &str) -> f32 {
    /// So many that a word in as many says nothing, as a logarithm.
    static MOST: LazyLock<f32> = LazyLock::new(|| {
        let most = u16::try_from(sentences().count() / 10).unwrap_or(u16::MAX);
        (1.0 + f32::from(most)).ln()
    });
    let known = SPOKEN.get(lower).copied().unwrap_or(0);
    let known = f32::from(u16::try_from(known).unwrap_or(u16::MAX));
    (1.0 - (1.0 + known).ln() / *MOST).max(0.0)
}

/// The languages of the small talk that has each word; none where a word is said in several.
static SMALL_TALK: LazyLock<HashMap<String, Option<&'static str>>> = LazyLock::new(|| {
    let mut languages: HashMap<String, Option<&'static str>> = HashMap::new();
    let is_talk = |said: &Sentence| matches!(said.act, Some(Act::Talk | Act::Approve | Act::Decline));
    for sentence in sentences().filter(is_talk) {
        for word in spoken_words(sentence.text) {
            let language = languages.entry(word).or_insert(Some(sentence.language));
            *language = language.filter(|known| *known == sentence.language);
        }
    }
    languages
});

/// The words of a text in small letters.
fn spoken_words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

/// The language of a few words that ask for nothing, such as "merci": where those that small talk has are of one language alone.
#[must_use]
pub fn talk_language(text: &str) -> Option<&'static str> {
    /// More words tell their language themselves.
    const FEW: usize = 3;
    let words = spoken_words(text).take(FEW);
    let mut of = words.filter_map(|word| SMALL_TALK.get(&word).copied());
    let language = of.next()??;
    of.all(|other| other == Some(language)).then_some(language)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_small_talk_tells_its_language_where_one_alone_has_it() {
        for (said, language) in [
            ("Merci !", Some("fr")),
            ("danke", Some("de")),
            ("¡Gracias!", Some("es")),
            ("Bonjour", Some("fr")),
            ("thanks", Some("en")),
            ("no", None),
            ("Danke schön", Some("de")),
            ("Merci, thanks", None),
            ("Oslo", None),
            ("👍", None),
        ] {
            assert_eq!(talk_language(said), language, "{said}");
        }
    }

    #[test]
    fn every_line_of_the_file_is_a_sentence_and_none_stands_twice() {
        let lines = FILE.lines().count();
        let mut texts: Vec<&str> = sentences().map(|sentence| sentence.text).collect();
        assert_eq!(texts.len(), lines);
        texts.sort_unstable();
        texts.dedup();
        assert_eq!(texts.len(), lines);
    }

    #[test]
    fn every_act_has_sentences_in_many_languages() {
        for act in Act::ALL {
            let of_act: Vec<Sentence> = sentences().filter(|sentence| sentence.act == Some(act)).collect();
            let mut languages: Vec<&str> = of_act.iter().map(|sentence| sentence.language).collect();
            languages.sort_unstable();
            languages.dedup();
            assert!(of_act.len() >= 100 && languages.len() >= 12, "{act:?}");
        }
    }
}
