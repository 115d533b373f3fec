//! What a report is made of: answers of other agents, files that hold text, and text that was pasted behind what is asked.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::{Message, Part, PartContent, Role};
use serde_json::Value;

use crate::extract;

/// Most texts that a report is made of.
const GIVEN_MAX: usize = 20;
/// Of so few words, or so few sentences, what was said is a request alone.
const PASTED_WORDS: usize = 40;
const PASTED_SENTENCES: usize = 3;

/// A text, and what it is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Given {
    /// Whose it is: an agent, a file, the user.
    pub(crate) from: String,
    pub(crate) text: String,
    pub(crate) by_agent: bool,
}

impl Given {
    /// What these messages of a task give.
    pub(crate) fn of(messages: &[Message]) -> Vec<Self> {
        let said = messages
            .iter()
            .filter(|message| message.role == Role::User)
            .enumerate();
        let of_message = |(number, message): (usize, &Message)| {
            let mut given: Vec<Self> = message.parts.iter().flat_map(of_part).collect();
            let text = message.text();
            let pasted = pasted(&text, number == 0);
            given.extend(pasted.map(|text| Self::new("your text", text)));
            given
        };
        said.flat_map(of_message).take(GIVEN_MAX).collect()
    }

    fn new(from: &str, text: &str) -> Self {
        Self {
            from: domain::clean(from, 80),
            text: text.trim().to_owned(),
            by_agent: false,
        }
    }

    /// Whether these words are of it: a text that was pasted reads like a topic, or goes on from one.
    pub(crate) fn holds(&self, words: &str) -> bool {
        let begins: String = self.text.chars().take(20).collect();
        !self.by_agent && (self.text.contains(words) || words.contains(&begins))
    }

    /// What a report on all of these is about; `None` where there is nothing.
    pub(crate) fn named(given: &[Self]) -> Option<String> {
        let names: Vec<&str> = given.iter().map(|given| given.from.as_str()).collect();
        let names = (!names.is_empty()).then(|| names.join(", "))?;
        Some(match given.iter().all(|given| given.by_agent) {
            true => format!("what {names} brought"),
            false => names,
        })
    }
}

/// A file of text, or what other agents brought, as a host hands it over: JSON with `results`, each of an `agent` and its `text`.
fn of_part(part: &Part) -> Vec<Given> {
    let field = |value: &Value, name: &str| Some(value.get(name)?.as_str()?.to_owned());
    let given = match &part.content {
        PartContent::Data(value) => {
            let results = value
                .get("results")
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            let one = |result: &Value| {
                let given = Given::new(&field(result, "agent")?, &field(result, "text")?);
                Some(Given {
                    by_agent: true,
                    ..given
                })
            };
            results.filter_map(one).collect()
        }
        PartContent::Raw(base64)
            if part
                .media_type
                .as_deref()
                .is_some_and(|kind| kind.starts_with("text/")) =>
        {
            let bytes = STANDARD.decode(base64).unwrap_or_default();
            let name = part.filename.as_deref().unwrap_or("your file");
            vec![Given::new(name, &String::from_utf8_lossy(&bytes))]
        }
        _ => Vec::new(),
    };
    given.into_iter().filter(|given| !given.text.is_empty()).collect()
}

/// The text that was pasted, behind the line or sentence that asks where there is one.
fn pasted(said: &str, asks_first: bool) -> Option<&str> {
    let said = said.trim();
    let behind = match asks_first {
        true => {
            let sentence = said.find(". ").or_else(|| said.find('。'));
            let ends = [said.find('\n'), said.find(": "), sentence];
            said.get(ends.into_iter().flatten().min()?..)?
                .trim_start_matches([':', '.', '。'])
        }
        false => said,
    };
    let is_long = extract::words(behind) >= PASTED_WORDS
        && extract::sentences(behind, PASTED_SENTENCES).len() >= PASTED_SENTENCES;
    is_long.then_some(behind)
}

#[cfg(test)]
mod tests {
    use domain::MessageId;
    use serde_json::json;

    use super::*;

    const TEXT: &str = "Whales are mammals that live in the sea and breathe air. The blue whale is the largest of them all, as long as \
                        three buses. Many whales live in groups and speak to each other over many miles of water.";

    fn given(parts: Vec<Part>) -> Vec<(String, String)> {
        let message = Message::user(MessageId::derived("m"), parts);
        let given = Given::of(&[message]).into_iter();
        given.map(|given| (given.from, given.text)).collect()
    }

    #[test]
    fn a_pasted_text_is_told_from_a_request() {
        for asking in [
            "Summarise this: ",
            "Sum it up.\n\n",
            "A report on this text\n",
            "Bericht hierzu. ",
        ] {
            let given = given(vec![Part::text(format!("{asking}{TEXT}"))]);
            assert_eq!(given, [("your text".to_owned(), TEXT.to_owned())], "{asking}");
        }
        for said in [
            "Write a report about electric cars in four steps",
            "A report on tea. Make it short. Thanks.",
            "Research the history of coffee: where it comes from and who drinks it",
            "",
        ] {
            assert!(given(vec![Part::text(said)]).is_empty(), "{said}");
        }
    }

    #[test]
    fn files_of_text_and_what_agents_brought_are_read_and_nothing_else() {
        let file = |kind: &str| Part {
            media_type: Some(kind.to_owned()),
            filename: Some("no\u{7}tes.txt".to_owned()),
            ..Part::new(PartContent::Raw(STANDARD.encode(TEXT)))
        };
        let results = json!({"results": [{"agent": "Weather", "text": " Light rain. "}, {"agent": "No", "text": ""}, 7]});
        let read = given(vec![file("text/plain"), file("image/png"), Part::data(results)]);
        let expect = [("notes.txt", TEXT), ("Weather", "Light rain.")];
        assert_eq!(
            read,
            expect.map(|(from, text)| (from.to_owned(), text.to_owned()))
        );
        let broken = Part {
            content: PartContent::Raw("%%".to_owned()),
            ..file("text/plain")
        };
        assert!(given(vec![broken]).is_empty());
    }
}
