//! What a report is about, and its steps.

use nlu::is_function_word;
use serde::Deserialize;

/// Steps where nobody says how many.
const USUAL: u32 = 4;
/// Most steps of one report.
const MOST: u32 = 12;
/// Most characters of a topic that are repeated.
const TOPIC_MAX: usize = 120;

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

/// What a report is asked for with.
#[derive(Debug, Deserialize)]
pub(crate) struct Wanted {
    topic: String,
    steps: Option<u32>,
}

impl Plan {
    /// The plan of what is wanted, with what others brought for it: "it" is that, then.
    pub(crate) fn of(wanted: &Wanted, undone: Option<&String>, brought: Vec<(String, String)>) -> Self {
        let names: Vec<&str> = brought.iter().map(|(name, _)| name.as_str()).collect();
        let says_nothing = |word: &str| is_function_word(word) || word == "result";
        let is_that = wanted.topic.to_lowercase().split_whitespace().all(says_nothing);
        let topic = match is_that && !names.is_empty() {
            true => format!("what {} brought", names.join(", ")),
            false => wanted.topic.chars().take(TOPIC_MAX).collect(),
        };
        let steps = wanted.steps.unwrap_or(USUAL).clamp(1, MOST);
        Self {
            topic,
            steps: usize::try_from(steps).unwrap_or(1),
            brought,
            undone: undone.cloned(),
        }
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

fn words(step: usize) -> (&'static str, &'static str) {
    STEPS
        .iter()
        .cycle()
        .nth(step)
        .copied()
        .unwrap_or(("Working", "Section"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wanted(topic: &str, steps: Option<u32>) -> Wanted {
        serde_json::from_value(json!({"topic": topic, "steps": steps})).unwrap()
    }

    #[test]
    fn what_others_brought_stands_in_it_and_is_what_it_is_about() {
        let brought = || vec![("Weather".to_owned(), "Light rain.".to_owned())];
        for (said, topic) in [
            ("it", "what Weather brought"),
            ("all of that", "what Weather brought"),
            ("the results", "what Weather brought"),
            ("whales", "whales"),
        ] {
            let plan = Plan::of(&wanted(said, None), None, brought());
            assert_eq!(plan.topic, topic);
            assert!(plan.result().contains("From Weather:\n\nLight rain.\n"));
        }
        let alone = Plan::of(&wanted("it", None), None, Vec::new());
        assert_eq!(
            (alone.topic.as_str(), alone.result().contains("From")),
            ("it", false)
        );
    }

    #[test]
    fn every_step_has_words_and_there_are_not_too_many() {
        for (asked, steps) in [(None, 4), (Some(0), 1), (Some(999), 12)] {
            assert_eq!(Plan::of(&wanted("tea", asked), None, Vec::new()).steps, steps);
        }
        let plan = Plan::of(&wanted("tea", Some(MOST)), None, Vec::new());
        for step in 0..plan.steps {
            assert!(
                plan.doing(step)
                    .starts_with(&format!("Step {} of 12: ", step + 1))
            );
            assert!(plan.section(step).contains("tea"));
        }
    }
}
