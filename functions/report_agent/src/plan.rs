//! What a report is about, and its steps.

use nlu::is_function_word;
use serde::Deserialize;

use crate::extract;
use crate::given::Given;

/// Steps of a sample report where nobody says how many.
const USUAL: u32 = 4;
/// Most steps of one report.
const MOST: u32 = 12;
/// Most characters of a topic that are repeated.
const TOPIC_MAX: usize = 120;
/// Sentences that are taken for each step, over all texts.
const SENTENCES_A_STEP: usize = 5;
/// Most sentences that are read, over all texts: each is held against each other one of its text.
const SENTENCES_READ: usize = 240;

/// What the steps of a sample report are called, and what stands in them.
const STEPS: [(&str, &str, &str); 6] = [
    (
        "Gathering sources",
        "Sources",
        "No sources: this agent looks nothing up. Paste a text behind “/agent report”, attach a file, or have another agent's answer handed to it, and it \
         takes out the sentences that say most.",
    ),
    (
        "Sorting what was found",
        "Overview",
        "There is nothing to sort. This step shows how long work waits: nothing runs between two steps, and what comes next is kept.",
    ),
    (
        "Drafting",
        "Findings",
        "No findings. This step shows that the work goes on where it stopped, also after a crash, and writes nothing twice.",
    ),
    (
        "Checking the draft",
        "Open questions",
        "All questions are open. This step shows that its user is told how far it is.",
    ),
    (
        "Comparing with other topics",
        "Comparison",
        "There is nothing to compare.",
    ),
    ("Looking ahead", "Outlook", "Nothing can be foretold."),
];

/// A report as it is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    /// What it is about.
    pub(crate) topic: String,
    /// How many steps it takes, at least one.
    pub(crate) steps: usize,
    /// The sentences that were taken from what was given, with what they are from; none in a sample report.
    taken: Vec<(String, String)>,
    /// What else is wanted with it, which nobody does here: "email it to Bob".
    pub(crate) undone: Option<String>,
}

/// What a report is asked for with.
#[derive(Debug, Deserialize)]
pub(crate) struct Wanted {
    topic: Option<String>,
    steps: Option<u32>,
}

impl Plan {
    /// The plan of what is wanted, from what was given for it: "it" is that, then. `None` where neither is there.
    pub(crate) fn of(wanted: Wanted, undone: Option<&String>, given: &[Given]) -> Option<Self> {
        let says_nothing = |word: &str| is_function_word(word) || word == "result";
        // A text that was pasted holds anything that could be read as a topic.
        let is_asked = |topic: &String| {
            !topic.to_lowercase().split_whitespace().all(says_nothing)
                && given.iter().all(|given| !given.holds(topic))
        };
        let topic = match wanted.topic.filter(|topic| given.is_empty() || is_asked(topic)) {
            Some(topic) => domain::clean(&topic, TOPIC_MAX),
            None => Given::named(given)?,
        };
        let asked = wanted.steps.map(|steps| steps.clamp(1, MOST) as usize);
        let taken = taken(given, asked.unwrap_or(1));
        let steps = match taken.is_empty() {
            true => asked.unwrap_or(USUAL as usize),
            false => asked.unwrap_or(1).min(taken.len()),
        };
        Some(Self {
            topic,
            steps,
            taken,
            undone: undone.cloned(),
        })
    }

    /// Whether it shows how long work goes, with nothing to work on.
    pub(crate) fn is_sample(&self) -> bool {
        self.taken.is_empty()
    }

    /// The whole report, as programs read it.
    pub(crate) fn result(&self) -> String {
        let sections = (0..self.steps).map(|step| self.section(step));
        format!("{}{}", self.heading(), sections.collect::<Vec<_>>().join("\n"))
    }

    /// What stands above the first section.
    pub(crate) fn heading(&self) -> String {
        let how = match self.is_sample() {
            true => "A sample: nothing was looked up.",
            false => "Sentences taken from what was given; no model was used.",
        };
        format!("# Report on {}\n\n{how}\n\n", self.topic)
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
        let doing = match self.is_sample() {
            true => sample(step).0,
            false => "Taking sentences",
        };
        format!("Step {} of {}: {doing} on {} …", step + 1, self.steps, self.topic)
    }

    /// What a step brings.
    pub(crate) fn section(&self, step: usize) -> String {
        if self.is_sample() {
            let (_, title, text) = sample(step);
            return format!("## {}. {title}\n\n{text}\n", step + 1);
        }
        let at = |step: usize| step * self.taken.len() / self.steps;
        let mut section = String::new();
        let mut before = step
            .checked_sub(1)
            .and_then(|_| self.taken.get(at(step) - 1))
            .map(|(from, _)| from);
        for (from, sentence) in self.taken.iter().take(at(step + 1)).skip(at(step)) {
            if before.replace(from) != Some(from) {
                section.push_str(&format!("## From {from}\n\n"));
            }
            section.push_str(&format!("{sentence}\n\n"));
        }
        section
    }
}

/// The sentences of each text that say most, by turns as many of each.
fn taken(given: &[Given], steps: usize) -> Vec<(String, String)> {
    let texts = given.len().max(1);
    let each = |given: &Given| {
        let sentences = extract::sentences(&given.text, SENTENCES_READ / texts);
        // A sum says less than what it sums up; an answer of another agent is one already.
        let half = match given.by_agent {
            true => sentences.len(),
            false => sentences.len().div_ceil(2),
        };
        let most = (SENTENCES_A_STEP * steps).div_ceil(texts).min(half);
        let taken = extract::most_telling(&sentences, most).into_iter();
        taken
            .map(|sentence| (given.from.clone(), sentence.to_owned()))
            .collect::<Vec<_>>()
    };
    given.iter().flat_map(each).collect()
}

fn sample(step: usize) -> (&'static str, &'static str, &'static str) {
    STEPS.iter().cycle().nth(step).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use domain::{Message, MessageId, Part};
    use serde_json::json;

    use super::*;

    fn plan(topic: Option<&str>, steps: Option<u32>, given: &[Given]) -> Option<Plan> {
        let wanted = serde_json::from_value(json!({"topic": topic, "steps": steps})).unwrap();
        Plan::of(wanted, None, given)
    }

    fn given(parts: Vec<Part>) -> Vec<Given> {
        Given::of(&[Message::user(MessageId::derived("m"), parts)])
    }

    fn brought() -> Vec<Given> {
        given(vec![Part::data(
            json!({"results": [{"agent": "Weather", "text": "Light rain."}]}),
        )])
    }

    #[test]
    fn what_others_brought_stands_in_it_and_is_what_it_is_about() {
        for (said, topic) in [
            (Some("it"), "what Weather brought"),
            (Some("all of that"), "what Weather brought"),
            (Some("the results"), "what Weather brought"),
            (None, "what Weather brought"),
            (Some("whales"), "whales"),
        ] {
            let plan = plan(said, None, &brought()).unwrap();
            assert_eq!((plan.topic.as_str(), plan.steps), (topic, 1));
            let told = plan.result();
            assert!(
                told.contains("From Weather\n\nLight rain.\n") && told.contains("no model was used"),
                "{told}"
            );
        }
        let alone = plan(Some("it"), None, &[]).unwrap();
        assert_eq!(
            (alone.topic.as_str(), alone.result().contains("From")),
            ("it", false)
        );
        assert_eq!(plan(None, None, &[]), None);
    }

    #[test]
    fn a_text_is_shortened_to_its_own_sentences_in_as_many_steps_as_are_wanted() {
        let text: String = (1..=60)
            .map(|n| format!("Sentence {n} says that whales live in the sea. "))
            .collect();
        let given = given(vec![Part::text(format!("A report on this: {text}"))]);
        let words = "whales live in the sea";
        let long = format!("this: {}", &text[..90]);
        for (said, asked, steps, sentences) in [
            (words, None, 1, 5),
            (&long, Some(3), 3, 15),
            (words, Some(999), 12, 30),
        ] {
            let plan = plan(Some(said), asked, &given).unwrap();
            assert_eq!((plan.topic.as_str(), plan.steps), ("your text", steps));
            let sections: Vec<String> = (0..steps).map(|step| plan.section(step)).collect();
            let lines = sections
                .iter()
                .flat_map(|section| section.lines())
                .filter(|line| line.starts_with("Sentence"));
            let lines: Vec<&str> = lines.collect();
            assert_eq!(lines.len(), sentences);
            assert!(
                lines.iter().all(|line| text.contains(line)),
                "nothing of its own: {lines:?}"
            );
            assert_eq!(plan.result().matches("From your text").count(), 1);
        }
        // It has no more steps than sentences.
        assert_eq!(plan(None, Some(9), &brought()).unwrap().steps, 1);
    }

    #[test]
    fn every_step_has_words_and_there_are_not_too_many() {
        for (asked, steps) in [(None, 4), (Some(0), 1), (Some(999), 12)] {
            assert_eq!(plan(Some("tea"), asked, &[]).unwrap().steps, steps);
        }
        let plan = plan(Some("tea"), Some(MOST), &[]).unwrap();
        for step in 0..plan.steps {
            assert!(
                plan.doing(step)
                    .starts_with(&format!("Step {} of 12: ", step + 1))
            );
            assert!(plan.section(step).lines().count() > 2);
        }
    }
}
