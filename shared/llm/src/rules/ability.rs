//! What an agent's card does not promise: a deed that nobody there speaks of is refused before anybody is asked for consent.

use words::phrases::words;

use super::terms::spelled;
use crate::AgentBrief;

/// Deeds that change something for the user, by how people ask for them, and the beginnings of words by which a card would
/// speak of them.
const DEEDS: &[(&str, &[&str], &[&str])] = &[
    ("cancel", &["cancel"], &["cancel", "call"]),
    (
        "refund",
        &["refund", "money back", "reimburse"],
        &["refund", "reimburs"],
    ),
    (
        "take back",
        &["return my", "return the", "send back"],
        &["return"],
    ),
    (
        "sell or buy",
        &[
            "buy",
            "purchase",
            "order me",
            "order us",
            "order a",
            "order an",
            "order some",
            "order two",
            "order three",
        ],
        &["buy", "purchas", "sell", "shop"],
    ),
    (
        "change",
        &[
            "change my order",
            "change the order",
            "change my delivery",
            "change the delivery",
            "change my booking",
            "reschedule",
            "move my",
        ],
        &["chang", "reschedul", "mov"],
    ),
];

/// Words before the deed that ask for it politely.
const POLITE: &[&str] = &[
    "please", "can", "could", "would", "you", "i", "d", "ll", "like", "want", "to", "need", "a", "an", "the",
    "how", "do", "get", "my", "and", "also", "just", "ok", "for", "me", "we", "us", "have", "hey", "hi",
    "hello",
];

/// The deed that a text asks for and that the agent's card says nothing of, or says that it does not do it.
#[must_use]
pub fn lacking(agent: &AgentBrief, text: &str) -> Option<String> {
    unspoken(agent, text)
        .map(str::to_owned)
        .or_else(|| denied(agent, text))
}

/// The deed that the card denies by a tag, `not:cancel,storniere`: the deed, then how else people call it. A question may
/// only speak of it, and a word that the card uses itself says nothing.
fn denied(agent: &AgentBrief, text: &str) -> Option<String> {
    if text.contains(['?', '？']) {
        return None;
    }
    let asked = spelled(text);
    let tags = agent.skills().iter().flat_map(|skill| skill.tags());
    let told: Vec<String> = texts(agent).flat_map(spelled).collect();
    let means = |word: &String| asked.contains(word) && !told.contains(word);
    let mut denied = tags.filter_map(|tag| tag.strip_prefix("not:"));
    let deed = denied.find(|words| spelled(words).iter().any(means))?;
    deed.split(',').next().map(str::to_owned)
}

fn unspoken(agent: &AgentBrief, text: &str) -> Option<&'static str> {
    let asked: Vec<String> = words(text).iter().map(words::phrases::Word::lower).collect();
    let from = asked
        .iter()
        .position(|word| !POLITE.contains(&word.as_str()))
        .unwrap_or(0);
    let core = asked.get(from..).unwrap_or_default().join(" ");
    let begins = |way: &&str| core == **way || core.starts_with(&format!("{way} "));
    // A refund is asked for in more ways than by a verb.
    let (deed, _, spoken) = DEEDS.iter().find(|(deed, ways, _)| {
        ways.iter().any(|way| {
            begins(way) || (*deed == "refund" && format!(" {core} ").contains(&format!(" {way} ")))
        })
    })?;
    let told = told(agent);
    let tags = agent.skills().iter().flat_map(|skill| skill.tags());
    let mut denied = tags.filter_map(|tag| tag.strip_prefix("not:"));
    let denies = denied.any(|deed| spoken.iter().any(|begin| deed.starts_with(begin)));
    (denies
        || !told
            .iter()
            .any(|word| spoken.iter().any(|begin| word.starts_with(begin))))
    .then_some(deed)
}

/// The words of a card.
fn told(agent: &AgentBrief) -> Vec<String> {
    let all = texts(agent).flat_map(words);
    all.map(|word| word.lower()).collect()
}

/// What a card says in words.
fn texts(agent: &AgentBrief) -> impl Iterator<Item = &str> {
    let skills = agent.skills().iter().flat_map(|skill| {
        let examples = skill.examples().iter().map(String::as_str);
        examples.chain([skill.name(), skill.description()])
    });
    skills.chain([agent.name(), agent.description()])
}

#[cfg(test)]
mod tests {
    use crate::{CardText, SkillText};
    use domain::AgentType;

    use super::*;

    fn agent(description: &str) -> AgentBrief {
        let card = CardText {
            name: "Horizon",
            description,
        };
        AgentBrief::new(AgentType::parse("horizon").unwrap(), card, [SkillText::default()])
    }

    #[test]
    fn what_a_card_does_not_speak_of_is_lacking() {
        let reads = agent("Says how far your orders are: packed, shipped or delivered.");
        for (text, deed) in [
            ("cancel my order 1001", Some("cancel")),
            (
                "Please cancel my order 1005, I ordered the wrong size.",
                Some("cancel"),
            ),
            ("I want a refund", Some("refund")),
            ("how do I get a refund for the shoes", Some("refund")),
            ("i want my money back for order 1003", Some("refund")),
            ("order a pizza", Some("sell or buy")),
            ("order me two large pizzas", Some("sell or buy")),
            ("order 1003 status", None),
            ("Where is my order 1001?", None),
            ("has my order been canceled?", None),
        ] {
            assert_eq!(lacking(&reads, text).as_deref(), deed, "{text}");
        }
        assert_eq!(
            lacking(
                &agent("Looks orders up, and cancels them."),
                "cancel my order 1001"
            ),
            None
        );
    }

    #[test]
    fn what_a_tag_denies_is_lacking_in_the_words_of_its_languages() {
        let tags = ["not:refund,erstattung,reembolso".to_owned(), "not:buy".to_owned()];
        let skill = SkillText {
            tags: &tags,
            examples: &["What did I buy in May?".to_owned()],
            ..SkillText::default()
        };
        let card = CardText {
            name: "Horizon",
            description: "Says how far your orders are.",
        };
        let agent = AgentBrief::new(AgentType::parse("horizon").unwrap(), card, [skill]);
        for (text, deed) in [
            ("Ich will eine Erstattung", Some("refund")),
            ("quiero el reembolso de la compra", Some("refund")),
            ("¿Hay reembolso?", None),
            ("buy me a kettle", Some("sell or buy")),
            ("tell me what I did buy", None),
            ("Wo ist meine Bestellung", None),
        ] {
            assert_eq!(lacking(&agent, text).as_deref(), deed, "{text}");
        }
    }
}
