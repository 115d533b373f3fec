//! What the rules router says.

use domain::excerpt;

use crate::{AgentBrief, ToolOutcome, ToolResult, Turn, clean};

/// Most agents listed.
const LISTED: usize = 20;

/// Most agents named in a sentence.
const NAMED: usize = 3;

/// Most characters of a request that are repeated.
const ASKED: usize = 60;

/// Most characters of what an agent says it does.
const SUMMARY: usize = 160;

/// What is said of the parts of a prompt that nobody here does.
pub(super) fn undone(parts: &[&str], language: &str) -> String {
    let quoted: Vec<String> = parts
        .iter()
        .map(|part| format!("“{}”", clean(part, ASKED)))
        .collect();
    let quoted = words::listed(&quoted, &words::told(Some(language), "and", ""));
    words::told_of(Some(language), "nobodyDoes", &[("parts", &quoted)])
}

/// The answer from what agents brought in this work, in their own words; `None` where they brought nothing.
#[must_use]
pub fn brought(work: &[Turn], language: &str) -> Option<String> {
    let of_agents = results(work).filter(|result| result.agent.is_some());
    told(&of_agents.collect::<Vec<_>>(), Some(language))
}

/// The answer from the results since the user spoke; `None` where there are none.
pub(super) fn answer(since: &[Turn], language: Option<&str>) -> Option<String> {
    told(&results(since).collect::<Vec<_>>(), language)
}

fn results(since: &[Turn]) -> impl Iterator<Item = &ToolResult> {
    let results = since.iter().filter_map(|turn| match turn {
        Turn::Results(results) => Some(results),
        _ => None,
    });
    results.flatten()
}

fn told(results: &[&ToolResult], language: Option<&str>) -> Option<String> {
    match results {
        [] => None,
        [only] => Some(match (&only.outcome, &only.agent) {
            (ToolOutcome::Done(text), _) => done(text, language),
            (ToolOutcome::Failed(reason), Some(agent)) => failed(agent, reason, language),
            (ToolOutcome::Failed(reason), None) => excerpt(reason),
        }),
        several => Some(
            several
                .iter()
                .map(|result| paragraph(result, language))
                .collect::<Vec<_>>()
                .join("\n\n"),
        ),
    }
}

fn paragraph(result: &ToolResult, language: Option<&str>) -> String {
    match (&result.outcome, &result.agent) {
        (ToolOutcome::Done(text), Some(agent)) => format!("{}: {}", clean(agent, 80), done(text, language)),
        (ToolOutcome::Done(text), None) => done(text, language),
        (ToolOutcome::Failed(reason), Some(agent)) => failed(agent, reason, language),
        (ToolOutcome::Failed(reason), None) => excerpt(reason),
    }
}

fn done(text: &str, language: Option<&str>) -> String {
    if text.trim().is_empty() {
        words::told(language, "doneAttached", "")
    } else {
        excerpt(text)
    }
}

fn failed(agent: &str, reason: &str, language: Option<&str>) -> String {
    words::not_done(language, &clean(agent, 80), &excerpt(reason))
}

/// What can be done here, in the agents' own words.
#[must_use]
pub fn offer(agents: &[AgentBrief], language: &str) -> String {
    match agents {
        [] => words::told(Some(language), "nobodyThere", ""),
        agents => words::told_of(Some(language), "offer", &[("agents", &list(agents, language))]),
    }
}

/// That nothing fits, in one sentence: with who comes nearest, or with who is there.
pub(super) fn nothing_fits(
    agents: &[AgentBrief],
    (text, language): (&str, &str),
    near: Option<&AgentBrief>,
) -> String {
    let language = Some(language);
    let beside = match (near, agents) {
        (Some(near), _) => words::told(language, "comesNearest", near.name()),
        (None, []) => return words::told(language, "nobodyThere", ""),
        (None, agents) => words::told_of(language, "canReach", &[("names", &names(agents, language))]),
    };
    let said = clean(text, ASKED);
    words::told_of(language, "nothingFits", &[("said", &said), ("beside", &beside)])
}

/// The first few by name, and how many more there are.
fn names(agents: &[AgentBrief], language: Option<&str>) -> String {
    let mut names: Vec<&str> = agents.iter().map(AgentBrief::name).collect();
    names.sort_unstable();
    names.dedup();
    let more = names.len().saturating_sub(NAMED);
    let mut named: Vec<String> = names.into_iter().take(NAMED).map(str::to_owned).collect();
    if more > 0 {
        named.push(words::told_of(language, "more", &[("number", &more.to_string())]));
    }
    words::listed(&named, &words::told(language, "and", ""))
}

fn list(agents: &[AgentBrief], language: &str) -> String {
    let mut sorted: Vec<&AgentBrief> = agents.iter().collect();
    sorted.sort_by(|one, other| (one.agent_type(), one.name()).cmp(&(other.agent_type(), other.name())));
    let more = sorted.len().saturating_sub(LISTED);
    let mut lines: Vec<String> = sorted.into_iter().take(LISTED).map(line).collect();
    if more > 0 {
        let more = words::told_of(Some(language), "more", &[("number", &more.to_string())]);
        lines.push(format!("- {} {more}", words::told(Some(language), "and", "")));
    }
    lines.join("\n")
}

fn line(agent: &AgentBrief) -> String {
    format!("- {}", summary(agent))
}

/// An agent in its own words, briefly: its name, and the first sentence of what it says it does.
#[must_use]
pub fn summary(agent: &AgentBrief) -> String {
    let description = agent.description();
    let sentence = description
        .split_once(". ")
        .map_or(description, |(first, _)| first);
    let sentence = clean(sentence.trim_end_matches('.'), SUMMARY);
    let separator = if sentence.is_empty() { "" } else { ": " };
    format!("{}{separator}{sentence}", agent.name())
}
