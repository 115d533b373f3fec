//! How well a model routes: labelled prompts (`tests/data/routing`) through it, and what became of each.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use domain::AgentType;
use futures_util::StreamExt as _;
use llm::{AgentBrief, Agents, CardText, Model, NoDraft, Prompt, Rules, SkillText, Step, Turn};
use serde::Deserialize;

/// How many prompts are asked at once.
const AT_ONCE: usize = 4;

/// A prompt and who should get it. What the fields mean stands in `tests/data/README.md`.
#[derive(Debug, Clone, Deserialize)]
pub struct Row {
    /// Unique in its file.
    pub id: String,
    /// The prompt's language.
    pub lang: String,
    /// The message.
    pub prompt: String,
    /// The types that should get it, one for each part.
    pub right: Vec<AgentType>,
    /// Types that may get it, too.
    #[serde(default)]
    pub also_fine: Vec<AgentType>,
    /// No agent does this.
    pub nobody: bool,
}

/// What became of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Each part went where it should.
    Right,
    /// Nobody got it, and who should was offered to choose, or named.
    Asked,
    /// Some of its parts went where they should, the rest nowhere.
    InPart,
    /// Nobody got it, though somebody should.
    Missed,
    /// An agent got it that should not.
    Wrong,
    /// Nobody does it, and nobody got it.
    Left,
    /// Nobody does it, and somebody got it.
    Pushed,
}

/// The verdict on a model's first step.
#[must_use]
pub fn verdict(row: &Row, step: &Step) -> Verdict {
    let Step::Call(_) = step else {
        let offered: &[AgentType] = match step {
            Step::Choose { of, .. } => of,
            _ => &[],
        };
        return match row.right.iter().all(|right| offered.contains(right)) {
            _ if row.nobody => Verdict::Left,
            true => Verdict::Asked,
            false => Verdict::Missed,
        };
    };
    let sent: Vec<&AgentType> = step.sends().map(|(to, ..)| to).collect();
    let amiss = |sent: &&&AgentType| !row.right.contains(sent) && !row.also_fine.contains(sent);
    match (row.nobody, sent.iter().any(|sent| amiss(&sent))) {
        (true, true) => Verdict::Pushed,
        (true, false) => Verdict::Left,
        (false, true) => Verdict::Wrong,
        (false, false) if sent.is_empty() => Verdict::Missed,
        (false, false) => {
            let instead = sent.iter().any(|sent| row.also_fine.contains(sent));
            let whole = row.right.iter().all(|right| sent.contains(&right));
            if whole || instead {
                Verdict::Right
            } else {
                Verdict::InPart
            }
        }
    }
}

/// What words alone make of a prompt, for these agents.
#[must_use]
pub fn step(agents: &Agents, row: &Row) -> Step {
    Rules.decide(&Prompt {
        agents: agents.clone(),
        turns: vec![Turn::User(row.prompt.clone())],
        ..Prompt::default()
    })
}

/// What becomes of prompts with any model, for these agents, a few at a time. An answer that does not come is one that was missed.
pub async fn by_model(agents: &Agents, rows: &[Row], model: &dyn Model) -> Figures {
    let asked = rows.iter().map(|row| async move {
        let prompt = Prompt {
            agents: agents.clone(),
            turns: vec![Turn::User(row.prompt.clone())],
            ..Prompt::default()
        };
        match model.step(&prompt, &mut NoDraft).await {
            Ok(answer) => verdict(row, &answer.step),
            Err(error) => {
                eprintln!("{}: {error}", row.id);
                Verdict::Missed
            }
        }
    });
    let verdicts = futures_util::stream::iter(asked).buffer_unordered(AT_ONCE);
    verdicts
        .fold(Figures::default(), async |mut figures, verdict| {
            figures.add(verdict);
            figures
        })
        .await
}

/// A step in a few words: who got what, or who may be chosen.
#[must_use]
pub fn told(step: &Step) -> String {
    let types = |types: &[AgentType]| {
        let names: Vec<&str> = types.iter().map(AgentType::as_str).collect();
        names.join(", ")
    };
    match step {
        Step::Say(_) => "nobody".to_owned(),
        Step::Choose { of, .. } => format!("{}?", types(of)),
        Step::Call(_) => {
            let sent = step.sends().map(|(to, said, _)| format!("{to}: {said}"));
            sent.collect::<Vec<_>>().join(" | ")
        }
    }
}

/// Verdicts, counted.
#[derive(Debug, Clone, Default)]
pub struct Figures(BTreeMap<Verdict, u32>);

impl Figures {
    /// Counts one more.
    pub fn add(&mut self, verdict: Verdict) {
        *self.0.entry(verdict).or_insert(0) += 1;
    }

    /// Adds those of others.
    pub fn merge(&mut self, others: &Self) {
        for (verdict, count) in &others.0 {
            *self.0.entry(*verdict).or_insert(0) += count;
        }
    }

    fn sum(&self, of: &[Verdict]) -> f64 {
        f64::from(of.iter().filter_map(|verdict| self.0.get(verdict)).sum::<u32>())
    }

    /// The share of the prompts for somebody that ended so, in percent.
    #[must_use]
    pub fn share(&self, verdict: Verdict) -> f64 {
        let all = [
            Verdict::Right,
            Verdict::Asked,
            Verdict::InPart,
            Verdict::Missed,
            Verdict::Wrong,
        ];
        100.0 * self.sum(&[verdict]) / self.sum(&all).max(1.0)
    }

    /// The share of what nobody does that nobody got, in percent.
    #[must_use]
    pub fn left(&self) -> f64 {
        100.0 * self.sum(&[Verdict::Left]) / self.sum(&[Verdict::Left, Verdict::Pushed]).max(1.0)
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let all: u32 = self.0.values().sum();
        write!(
            f,
            "{all:4} prompts: right {:5.1} %, asked {:4.1} %, in part {:4.1} %, missed {:4.1} %, wrong {:4.1} %",
            self.share(Verdict::Right),
            self.share(Verdict::Asked),
            self.share(Verdict::InPart),
            self.share(Verdict::Missed),
            self.share(Verdict::Wrong),
        )?;
        if self.sum(&[Verdict::Left, Verdict::Pushed]) > 0.0 {
            write!(f, "; what nobody does: to nobody {:.1} %", self.left())?;
        }
        Ok(())
    }
}

fn data() -> PathBuf {
    system_testing::folder().join("data/routing")
}

fn rows(text: &str) -> Vec<Row> {
    let row = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("no row: {error}"));
    text.lines().map(row).collect()
}

/// The rows of a file of the half to work with, such as `prompts`.
///
/// # Panics
/// If it cannot be read.
#[must_use]
pub fn working(name: &str) -> Vec<Row> {
    rows(&read(&data().join(format!("{name}.jsonl"))))
}

/// How long words alone take for the prompts that are there to work with.
#[derive(Debug)]
pub struct Speed {
    agents: usize,
    skills: usize,
    /// What the first prompt waits for: the words of the cards.
    index: Duration,
    /// Each prompt's time, the shortest first.
    times: Vec<Duration>,
}

impl Speed {
    /// Measures with so many agents of so many skills each: all cards, again and again, under names of their own.
    #[must_use]
    pub fn of(agents: usize, skills: usize) -> Self {
        let agents = many(&self::agents(&["own_cards", "foreign_cards"]), agents, skills);
        let rows: Vec<Row> = ["prompts", "foreign"].into_iter().flat_map(working).collect();
        let began = Instant::now();
        if let Some(row) = rows.first() {
            std::hint::black_box(step(&agents, row));
        }
        let index = began.elapsed();
        let prompts = rows.iter().map(|row| {
            let prompt = Prompt {
                agents: agents.clone(),
                turns: vec![Turn::User(row.prompt.clone())],
                ..Prompt::default()
            };
            let began = Instant::now();
            std::hint::black_box(Rules.decide(&prompt));
            began.elapsed()
        });
        let mut times: Vec<Duration> = prompts.collect();
        times.sort_unstable();
        Self {
            agents: agents.len(),
            skills: agents.len() * skills,
            index,
            times,
        }
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = u32::try_from(self.times.len().max(1)).unwrap_or(u32::MAX);
        let mean = self.times.iter().sum::<Duration>() / count;
        let at = |share: usize| {
            self.times
                .get(self.times.len() * share / 100)
                .copied()
                .unwrap_or_default()
        };
        write!(
            f,
            "{} agents, {} skills: a prompt takes {mean:.0?} in the mean, p50 {:.0?}, p99 {:.0?} ({} prompts); the index {:.1?}",
            self.agents,
            self.skills,
            at(50),
            at(99),
            self.times.len(),
            self.index,
        )
    }
}

/// So many agents of so many skills each, made of these cards.
fn many(cards: &Agents, agents: usize, skills: usize) -> Agents {
    let made = cards.iter().cycle().take(agents).zip(0..).map(|(card, number)| {
        let name = format!("{} {number}", card.name());
        let agent_type = format!("{}-{number}", card.agent_type());
        let text = CardText {
            name: &name,
            description: card.description(),
        };
        let others = cards
            .iter()
            .cycle()
            .skip(number)
            .flat_map(AgentBrief::skills)
            .take(skills);
        let skills = others.map(|skill| SkillText {
            name: skill.name(),
            description: skill.description(),
            tags: skill.tags(),
            examples: skill.examples(),
            input: None,
        });
        AgentBrief::new(AgentType::parse(&agent_type).expect("a type"), text, skills)
    });
    made.collect::<Vec<_>>().into()
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

#[derive(Deserialize)]
struct Card {
    r#type: AgentType,
    name: String,
    description: String,
    skills: Vec<Skill>,
}

#[derive(Deserialize)]
struct Skill {
    name: String,
    description: String,
    tags: Vec<String>,
    examples: Vec<String>,
}

/// The agents of files of cards.
///
/// # Panics
/// If one cannot be read.
#[must_use]
pub fn agents(files: &[&str]) -> Agents {
    let cards = files.iter().flat_map(|file| {
        let cards: Vec<Card> = serde_json::from_str(&read(&data().join(format!("{file}.json"))))
            .unwrap_or_else(|error| panic!("{file}: {error}"));
        cards
    });
    cards.map(|card| brief(&card)).collect::<Vec<_>>().into()
}

fn brief(card: &Card) -> AgentBrief {
    let text = CardText {
        name: &card.name,
        description: &card.description,
    };
    let skills = card.skills.iter().map(|skill| SkillText {
        name: &skill.name,
        description: &skill.description,
        tags: &skill.tags,
        examples: &skill.examples,
        input: None,
    });
    AgentBrief::new(card.r#type.clone(), text, skills)
}

#[cfg(test)]
mod tests {
    use llm::{Tool, ToolCall};

    use super::*;

    fn sent(to: &[&str]) -> Step {
        let call = |(number, to): (usize, &&str)| ToolCall {
            id: number.to_string(),
            tool: Tool::SendMessage {
                agent_type: AgentType::parse(to).unwrap(),
                message: String::new(),
                data: None,
            },
        };
        Step::Call(to.iter().enumerate().map(call).collect())
    }

    #[test]
    fn a_prompt_is_right_where_each_part_goes_where_it_should() {
        let types = |of: &[&str]| of.iter().map(|name| AgentType::parse(name).unwrap()).collect();
        let row = |right: &[&str], also_fine: &[&str]| Row {
            id: String::new(),
            lang: "en".to_owned(),
            prompt: String::new(),
            right: types(right),
            also_fine: types(also_fine),
            nobody: right.is_empty(),
        };
        let said = Step::Say(String::new());
        let choice = |of: &[&str]| Step::Choose {
            of: of.iter().map(|name| AgentType::parse(name).unwrap()).collect(),
            why: llm::Why::Unsure,
        };
        let both = row(&["one", "two"], &[]);
        for (row, step, expected) in [
            (&both, &sent(&["one", "two"]), Verdict::Right),
            (&both, &sent(&["one"]), Verdict::InPart),
            (&both, &sent(&["one", "third"]), Verdict::Wrong),
            (&both, &said, Verdict::Missed),
            (&both, &choice(&["two", "third", "one"]), Verdict::Asked),
            (&both, &choice(&["two", "third"]), Verdict::Missed),
            (&row(&[], &[]), &choice(&["one"]), Verdict::Left),
            (&row(&["one"], &["third"]), &sent(&["third"]), Verdict::Right),
            (&row(&["one", "one"], &[]), &sent(&["one"]), Verdict::Right),
            (&row(&[], &[]), &said, Verdict::Left),
            (&row(&[], &["one"]), &sent(&["one"]), Verdict::Left),
            (&row(&[], &["one"]), &sent(&["two"]), Verdict::Pushed),
        ] {
            assert_eq!(verdict(row, step), expected, "{step:?}");
        }
    }

    #[test]
    fn no_prompt_is_made_of_a_foreign_cards_words() {
        fn words(text: &str) -> Vec<String> {
            let words = text
                .split(|c: char| !c.is_alphanumeric())
                .filter(|word| !word.is_empty());
            words.map(str::to_lowercase).collect()
        }
        let told: Vec<Vec<String>> = agents(&["foreign_cards"])
            .iter()
            .flat_map(|agent| {
                let skills = agent.skills().iter();
                let skills = skills.flat_map(|skill| {
                    let examples = skill.examples().iter().map(String::as_str);
                    examples.chain([skill.name(), skill.description()])
                });
                skills.chain([agent.description()]).map(words).collect::<Vec<_>>()
            })
            .collect();
        let shared = |row: &&Row| {
            let prompt = words(&row.prompt);
            prompt
                .windows(5)
                .any(|run| told.iter().any(|told| told.windows(5).any(|other| other == run)))
        };
        let rows = working("foreign");
        assert!(rows.len() > 80);
        assert_eq!(rows.iter().filter(shared).count(), 0);
    }
}
