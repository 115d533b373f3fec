//! Which of several agents of one type a text is for.

use super::reading::most_spoken_of;
use crate::AgentBrief;

/// The agents, by their places, whose cards fit a text best; all of them where nothing tells them apart. They are taken to
/// be of one type, so that the words which all of them use say nothing.
#[must_use]
pub fn best_fitting(agents: &[AgentBrief], text: &str) -> Vec<usize> {
    most_spoken_of(agents, domain::to_read(text))
}

#[cfg(test)]
mod tests {
    use domain::AgentType;

    use super::*;
    use crate::{CardText, SkillText};

    fn search(name: &str, description: &str) -> AgentBrief {
        let card = CardText { name, description };
        let skill = SkillText {
            name: "Search",
            ..SkillText::default()
        };
        AgentBrief::new(AgentType::parse("search").unwrap(), card, [skill])
    }

    #[test]
    fn the_words_that_only_one_card_has_decide() {
        let patents = search("Patent Search", "Searches patents of all countries.");
        let library = search("Library Search", "Searches books of the library.");
        let agents = [patents.clone(), library.clone(), patents];
        for (text, expect) in [
            ("search for a patent on batteries", &[0, 2][..]),
            ("search for books about whales", &[1]),
            ("search for whales", &[0, 1, 2]),
            ("", &[0, 1, 2]),
        ] {
            assert_eq!(best_fitting(&agents, text), expect, "{text}");
        }
        assert!(best_fitting(&[], "search").is_empty());
        assert_eq!(best_fitting(&[library], "anything"), [0]);
    }
}
