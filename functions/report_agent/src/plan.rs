//! What a report is about, and its steps: pure rules over the words that asked for it.

/// Steps where nobody says how many.
const USUAL: usize = 4;
/// Most steps of one report.
const MOST: usize = 12;
/// Most characters of a topic that are repeated.
const TOPIC_MAX: usize = 120;

/// Words in front of a topic, the clearest first.
const LEADS: [&str; 5] = [" about ", " on ", " regarding ", " concerning ", " of "];
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
}

impl Plan {
    /// Reads what is wanted out of the words; `None` where no topic is named.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let words = format!(" {} ", text.split_whitespace().collect::<Vec<_>>().join(" "));
        let lower = words.to_ascii_lowercase();
        let (steps, end) = asked_steps(&lower).unwrap_or((USUAL, lower.len()));
        let lead = LEADS
            .iter()
            .find_map(|lead| Some(lower.get(..end)?.find(lead)? + lead.len()))?;
        let topic: String = words.get(lead..end)?.chars().take(TOPIC_MAX).collect();
        let topic = topic.trim_matches(|c: char| c.is_whitespace() || ".,;:!?\"'".contains(c));
        let named = topic.chars().any(char::is_alphanumeric);
        named.then(|| Self {
            topic: topic.to_owned(),
            steps,
        })
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
        Plan::read(text).map(|plan| (plan.topic, plan.steps))
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
            ("a report on in two steps", None),
            ("Write a report", None),
            ("report about ???", None),
            ("", None),
        ] {
            assert_eq!(read(text), plan, "{text}");
        }
    }

    #[test]
    fn every_step_has_words() {
        let plan = Plan {
            topic: "tea".into(),
            steps: MOST,
        };
        for step in 0..MOST {
            assert!(
                plan.doing(step)
                    .starts_with(&format!("Step {} of 12: ", step + 1))
            );
            assert!(plan.section(step).contains("tea"));
        }
    }
}
