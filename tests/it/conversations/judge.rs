//! Whether a turn went as its row says.

use std::collections::{BTreeMap, BTreeSet};

use regex_lite::RegexBuilder;
use serde_json::Value;

use super::table::Turn;

/// Everything that a guest can see at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Seen {
    /// The messages of each chat.
    pub(super) messages: BTreeMap<String, Value>,
    /// The tasks, by id.
    pub(super) tasks: BTreeMap<String, Value>,
}

impl Seen {
    /// The state of a task.
    pub(super) fn state(&self, task: &str) -> &str {
        self.tasks
            .get(task)
            .and_then(|task| task["status"].as_str())
            .unwrap_or("none")
    }

    /// Whether something is worked on.
    pub(super) fn works(&self) -> bool {
        self.tasks
            .keys()
            .any(|task| matches!(self.state(task), "submitted" | "working"))
    }

    /// The texts of assistants' messages in one chat, or in all, by what makes them that text; and of cards in all.
    fn texts(&self, chat: Option<&str>) -> BTreeSet<String> {
        let mut texts = BTreeSet::new();
        for (name, messages) in &self.messages {
            let messages = messages.as_array().into_iter().flatten();
            for message in messages.filter(|message| message["role"] == "assistant") {
                for part in message["parts"].as_array().into_iter().flatten() {
                    match part["type"].as_str() {
                        Some("data-task") => texts.extend(card(&part["data"])),
                        Some("text") if chat.is_none_or(|chat| chat == name) => {
                            texts.extend(part["text"].as_str().map(str::to_owned));
                        }
                        _ => {}
                    }
                }
            }
        }
        texts
    }

    /// What is there to read that was not there before.
    pub(super) fn since(&self, before: &Self, chat: Option<&str>) -> Vec<String> {
        let known = before.texts(chat);
        self.texts(chat).difference(&known).cloned().collect()
    }

    /// The jobs of all tasks: task, number, agent type.
    fn jobs(&self) -> BTreeSet<(String, u64, String)> {
        let mut jobs = BTreeSet::new();
        for (id, task) in &self.tasks {
            for job in task["jobs"].as_array().into_iter().flatten() {
                let agent_type = job["agentType"].as_str().unwrap_or_default().to_owned();
                jobs.insert((id.clone(), job["number"].as_u64().unwrap_or_default(), agent_type));
            }
        }
        jobs
    }

    /// The ids of the cards in all chats.
    fn cards(&self) -> BTreeSet<String> {
        let messages = self
            .messages
            .values()
            .flat_map(|messages| messages.as_array().into_iter().flatten());
        let parts = messages.flat_map(|message| message["parts"].as_array().into_iter().flatten());
        let cards = parts.filter(|part| part["type"] == "data-task");
        cards
            .filter_map(|part| part["data"]["taskId"].as_str().map(str::to_owned))
            .collect()
    }
}

/// The texts of a card: its title apart from what happens to its task, so that a change shows what changed.
fn card(data: &Value) -> Vec<String> {
    let text = |name: &str| data[name].as_str().unwrap_or_default().to_owned();
    let mut jobs = Vec::new();
    for job in data["jobs"].as_array().into_iter().flatten() {
        jobs.push(format!("{} {}", job["agentName"], job["state"]).replace('"', ""));
    }
    let state = format!(
        "{} ({}): {} {} {}",
        text("title"),
        text("agentName"),
        text("outcome"),
        text("statusMessage"),
        jobs.join(", ")
    );
    vec![format!("{state} [{}]", text("state"))]
}

/// The text that an answer's stream adds up to.
pub(super) fn text_of(chunks: &[Value]) -> String {
    let mut text = String::new();
    for chunk in chunks {
        match chunk["type"].as_str() {
            Some("text-delta") => text.push_str(chunk["delta"].as_str().unwrap_or_default()),
            Some("text-end") => text.push('\n'),
            _ => {}
        }
    }
    text
}

/// The ids of the cards in a stream, in order.
pub(super) fn cards_of(chunks: &[Value]) -> Vec<String> {
    let cards = chunks.iter().filter(|chunk| chunk["type"] == "data-task");
    let mut ids: Vec<String> = cards
        .filter_map(|chunk| Some(chunk["data"]["taskId"].as_str()?.to_owned()))
        .collect();
    ids.dedup();
    ids
}

/// The texts of the last state of each card in a stream.
pub(super) fn card_texts(chunks: &[Value]) -> Vec<String> {
    let cards = chunks.iter().filter(|chunk| chunk["type"] == "data-task");
    let last: BTreeMap<&str, &Value> = cards
        .map(|chunk| (chunk["id"].as_str().unwrap_or_default(), &chunk["data"]))
        .collect();
    last.values().flat_map(|data| card(data)).collect()
}

/// What is known of a turn.
pub(super) struct Evidence<'a> {
    pub(super) number: usize,
    pub(super) turn: &'a Turn,
    /// Before `after`.
    pub(super) before: &'a Seen,
    /// When the message was sent.
    pub(super) started: &'a Seen,
    pub(super) now: &'a Seen,
    /// The answer's own text.
    pub(super) said: &'a str,
    /// Everything the user was shown.
    pub(super) shown: &'a [String],
    /// The cards of the answer.
    pub(super) carded: &'a [String],
    /// The tasks of the turns up to this one.
    pub(super) tasks: &'a [Option<String>],
}

impl Evidence<'_> {
    fn task_of(&self, turn: &str) -> Option<&str> {
        let number: usize = turn.parse().ok()?;
        self.tasks.get(number.checked_sub(1)?)?.as_deref()
    }

    fn own(&self) -> Option<&str> {
        self.tasks.last()?.as_deref()
    }

    fn made(&self) -> BTreeSet<String> {
        let known: BTreeSet<String> = self
            .started
            .cards()
            .into_iter()
            .chain(self.tasks[..self.number - 1].iter().flatten().cloned())
            .collect();
        let now = self.now.cards().into_iter().chain(self.carded.iter().cloned());
        now.filter(|id| !known.contains(id)).collect()
    }

    fn begun(&self) -> BTreeSet<String> {
        let before = self.started.jobs();
        let mut types: BTreeSet<String> = self
            .now
            .jobs()
            .difference(&before)
            .map(|(_, _, agent_type)| agent_type.clone())
            .collect();
        // Work that began again within its task.
        for (id, task) in &self.now.tasks {
            if self.started.state(id) == "unknown"
                && matches!(task["status"].as_str(), Some("working" | "completed"))
            {
                let open = task["jobs"].as_array().into_iter().flatten();
                types.extend(open.filter_map(|job| job["agentType"].as_str().map(str::to_owned)));
            }
        }
        types
    }
}

/// What is not as the row says.
pub(super) fn judge(evidence: &Evidence<'_>) -> Vec<String> {
    let expect = &evidence.turn.expect;
    let mut faults = Vec::new();
    let all = evidence.shown.join("\n");
    if let Some(wanted) = &expect.task {
        faults.extend(task_fault(evidence, wanted));
    }
    if let Some(wanted) = &expect.jobs {
        let wanted: BTreeSet<String> = wanted.iter().cloned().collect();
        let begun = evidence.begun();
        if begun != wanted {
            faults.push(format!("work was given to {begun:?}, not to {wanted:?}"));
        }
    }
    if let Some(wanted) = &expect.state {
        let state = evidence.own().map_or("none", |task| evidence.now.state(task));
        if !wanted.split('|').any(|wanted| wanted == state) {
            faults.push(format!("the task is {state}, not {wanted}"));
        }
    }
    for (turn, wanted) in &expect.others {
        let state = evidence
            .task_of(turn)
            .map_or("none", |task| evidence.now.state(task));
        if !wanted.split('|').any(|wanted| wanted == state) {
            faults.push(format!("the task of turn {turn} is {state}, not {wanted}"));
        }
    }
    if let Some(wanted) = &expect.canceled {
        let ended = |task: &String| {
            evidence.now.state(task) == "canceled" && evidence.before.state(task) != "canceled"
        };
        let earlier = evidence.tasks[..evidence.number - 1].iter().zip(1..);
        let canceled: BTreeSet<usize> = earlier
            .filter(|(task, _)| task.as_ref().is_some_and(ended))
            .map(|(_, turn)| turn)
            .collect();
        // A task that several turns show is one.
        let wanted: BTreeSet<&str> = wanted
            .iter()
            .filter_map(|turn| evidence.task_of(&turn.to_string()))
            .collect();
        let canceled: BTreeSet<&str> = canceled
            .iter()
            .filter_map(|turn| evidence.task_of(&turn.to_string()))
            .collect();
        if canceled != wanted {
            faults.push(format!("cancelled: {canceled:?}, not {wanted:?}"));
        }
    }
    for pattern in &expect.says {
        if !matches(pattern, &all) {
            faults.push(format!("nothing says {pattern:?} in: {}", short(&all)));
        }
    }
    for pattern in &expect.never {
        if let Some(found) = evidence.shown.iter().find(|text| matches(pattern, text)) {
            faults.push(format!("{pattern:?} is said in: {}", short(found)));
        }
    }
    if let Some(wanted) = expect.asks {
        let texts = format!("{}\n{}", evidence.said, evidence.shown.join("\n"));
        let texts = without_titles(&texts);
        let asks = matches(
            r"\?|\b(choose|which|pick|say|type|reply|answer with|tell me)\b",
            &texts,
        );
        if asks != wanted {
            faults.push(format!("asks something: {asks}, in: {}", short(&texts)));
        }
    }
    if let Some(wanted) = &expect.first {
        faults.extend(first_fault(wanted, evidence.said));
    }
    faults
}

fn task_fault(evidence: &Evidence<'_>, wanted: &str) -> Option<String> {
    let made = evidence.made();
    let told = || {
        format!(
            "new cards {made:?}, the turn's own is {:?}, wanted is {wanted}",
            evidence.own()
        )
    };
    let fine = match wanted.split_once(':') {
        None if wanted == "none" => made.is_empty() && evidence.carded.is_empty(),
        None => made.len() == 1,
        Some(("answers", turn)) => {
            made.is_empty() && evidence.own().is_some() && evidence.own() == evidence.task_of(turn)
        }
        Some((_, turn)) => {
            let same = evidence.own().is_some() && evidence.own() == evidence.task_of(turn);
            (made.len() == 1 || same) && !evidence.begun().is_empty()
        }
    };
    (!fine).then(told)
}

fn first_fault(wanted: &str, said: &str) -> Option<String> {
    let text = said.trim();
    let fine = if wanted == "data" {
        !matches(
            r"^(reminder|by the way|sorry|still|you still|there is still|i )|^[^\n]*(consent|is waiting|waits for)",
            text,
        )
    } else {
        let words = wanted.split('|').map(|word| match word {
            "yes" => "yes|ja|sí|oui|はい",
            _ => "no|nein|non|nei|いいえ",
        });
        let words: Vec<&str> = words.collect();
        let pattern = format!(r"^([^\n:,.]{{1,60}}[:\n]\s*)?[*#\s]*({})\b", words.join("|"));
        matches(&pattern, text)
    };
    (!fine).then(|| format!("the answer does not begin with {wanted}: {}", short(text)))
}

/// The texts without the titles of cards, which are what the user said.
fn without_titles(texts: &str) -> String {
    let lines = texts
        .lines()
        .map(|line| match (line.find("): "), line.ends_with(']')) {
            (Some(at), true) => line.get(at..).unwrap_or(line),
            _ => line,
        });
    lines.collect::<Vec<_>>().join("\n")
}

fn matches(pattern: &str, text: &str) -> bool {
    let built = RegexBuilder::new(pattern)
        .case_insensitive(true)
        .multi_line(false)
        .build();
    built
        .unwrap_or_else(|error| panic!("{pattern}: {error}"))
        .is_match(text)
}

fn short(text: &str) -> String {
    let short: String = text.chars().take(600).collect();
    short.replace('\n', " ⏎ ")
}
