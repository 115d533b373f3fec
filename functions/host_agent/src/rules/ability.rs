//! What an agent's card does not promise: a deed that nobody there speaks of is refused before anybody is asked for consent.

use llm::AgentBrief;
use words::phrases::words;

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

/// The deed that a text asks for and that the agent's card says nothing of.
pub(crate) fn lacking(agent: &AgentBrief, text: &str) -> Option<&'static str> {
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
    (!told
        .iter()
        .any(|word| spoken.iter().any(|begin| word.starts_with(begin))))
    .then_some(deed)
}

/// The words of a card.
fn told(agent: &AgentBrief) -> Vec<String> {
    let mut text = format!("{} {}", agent.name(), agent.description());
    for skill in agent.skills() {
        text = format!(
            "{text} {} {} {}",
            skill.name(),
            skill.description(),
            skill.examples().join(" ")
        );
    }
    words(&text).iter().map(words::phrases::Word::lower).collect()
}

#[cfg(test)]
mod tests {
    use domain::AgentType;
    use llm::{CardText, SkillText};

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
            assert_eq!(lacking(&reads, text), deed, "{text}");
        }
        assert_eq!(
            lacking(
                &agent("Looks orders up, and cancels them."),
                "cancel my order 1001"
            ),
            None
        );
    }
}
