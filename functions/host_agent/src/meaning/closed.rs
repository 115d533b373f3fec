//! What a whole message says by a closed list, a code or a command: the same with and without an engine that hears the rest.

use auth::consent_code;
use domain::{Task, TaskId, to_read};
use nlu::Act;
use words::phrases::words;

use super::lists;

/// A message that is read by no likeness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Closed {
    /// It brings the code of a consent.
    Code,
    /// It is longer than what is read of one. Anything may stand behind that: it is a request, and agrees to nothing.
    Long,
    /// One of the list for yes.
    Yes,
    /// One of the list for no, later, skip.
    No,
    /// What was asked of the user is done.
    Done,
    /// A command, with what it names.
    Command(Act, String),
}

/// Longest entry of a closed list, in words.
const ENTRY_MAX: usize = 8;
/// The commands that are about tasks.
const COMMANDS: [(&str, Act); 3] = [
    ("/cancel", Act::Cancel),
    ("/retry", Act::Retry),
    ("/status", Act::Status),
];
/// The command that names an agent.
const AGENT: &str = "/agent";

/// What a text says so, if it does.
pub(super) fn read(text: &str) -> Option<Closed> {
    if text.contains(consent_code::MASK) || consent_code::mask(text).is_some() {
        return Some(Closed::Code);
    }
    if is_long(text) {
        return Some(Closed::Long);
    }
    let command = |(name, act): &(&str, Act)| {
        let named = of_command(text, name)?;
        Some(Closed::Command(*act, named.to_owned()))
    };
    if let Some(command) = COMMANDS.iter().find_map(command) {
        return Some(command);
    }
    let all = lower(text);
    let lists = [
        (lists::YES, Closed::Yes),
        (lists::NO, Closed::No),
        (lists::DONE, Closed::Done),
        (lists::CANCEL, Closed::Command(Act::Cancel, String::new())),
        (lists::AGAIN, Closed::Command(Act::Retry, String::new())),
    ];
    let mut lists = lists.into_iter();
    lists
        .find(|(list, _)| is_made_of(&all, list))
        .map(|(_, closed)| closed)
}

/// The agent that `/agent NAME text` names, as it is written there, and the text for it.
pub(crate) fn agent_named(text: &str) -> Option<(&str, &str)> {
    let (name, text) = of_command(text, AGENT)?.split_once(char::is_whitespace)?;
    Some((name, text.trim()))
}

/// What stands behind a command.
fn of_command<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let behind = text.trim().strip_prefix(name)?;
    (behind.is_empty() || behind.starts_with(char::is_whitespace)).then(|| behind.trim())
}

/// Whether a message is nothing but entries of a closed list, with words of politeness around them: "no, not now, thanks".
pub(super) fn is_made_of(words: &[String], list: &[&str]) -> bool {
    let mut rest = words;
    let mut found = false;
    while let Some(first) = rest.first() {
        let length = (1..=rest.len().min(ENTRY_MAX)).rev().find(|length| {
            let piece = rest.get(..*length).unwrap_or_default().join(" ");
            list.contains(&piece.as_str())
        });
        found |= length.is_some();
        let step = match length {
            Some(length) => length,
            None if lists::POLITE.contains(&first.as_str()) => 1,
            None => return false,
        };
        rest = rest.get(step..).unwrap_or_default();
    }
    found
}

/// Whether a text has more than is read of one.
pub(super) fn is_long(text: &str) -> bool {
    to_read(text).len() < text.len()
}

/// Whether a text that is said to a task itself calls it off.
pub(crate) fn calls_off(task: &Task, text: &str) -> bool {
    match read(text) {
        Some(Closed::Command(Act::Cancel, named)) => {
            named.is_empty() || TaskId::parse(&named).is_ok_and(|id| id == task.id)
        }
        _ => false,
    }
}

/// Whether a text is one of the closed list for no.
pub(crate) fn is_no(text: &str) -> bool {
    read(text) == Some(Closed::No)
}

/// The words of a text, in small letters.
pub(crate) fn lower(text: &str) -> Vec<String> {
    words(text).iter().map(words::phrases::Word::lower).collect()
}

/// A word without its plural's ending.
pub(crate) fn singular(word: &str) -> String {
    let short = word.len() < 4 || word.ends_with("ss");
    let cut = word.strip_suffix('s').filter(|_| !short);
    cut.unwrap_or(word).to_owned()
}

/// The first UUID in the text.
pub(super) fn task_id(text: &str) -> Option<TaskId> {
    let fits = |c: &u8| c.is_ascii_hexdigit() || *c == b'-';
    let mut runs = text.as_bytes().split(|c| !fits(c)).filter(|run| run.len() >= 36);
    runs.find_map(|run| TaskId::parse(std::str::from_utf8(run).ok()?.trim_matches('-')).ok())
}

/// The text without its first UUID.
pub(super) fn without_task_ids(text: &str) -> String {
    match task_id(text) {
        Some(id) => {
            let id = id.to_string();
            let lower = text.to_ascii_lowercase();
            let (before, behind) = lower
                .split_once(&id)
                .map_or((text.len(), text.len()), |(before, _)| {
                    (before.len(), before.len() + id.len())
                });
            let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default();
            format!("{}{}", part(0..before), part(behind..text.len()))
        }
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(act: Act, named: &str) -> Option<Closed> {
        Some(Closed::Command(act, named.to_owned()))
    }

    #[test]
    fn a_whole_message_is_read_by_lists_commands_and_codes_alone() {
        for (text, read_as) in [
            ("Yes, please!", Some(Closed::Yes)),
            ("はい", Some(Closed::Yes)),
            ("no, not now, thanks", Some(Closed::No)),
            ("lieber nicht", Some(Closed::No)),
            ("done", Some(Closed::Done)),
            ("cancel", command(Act::Cancel, "")),
            ("stop please", command(Act::Cancel, "")),
            ("try again", command(Act::Retry, "")),
            ("/retry", command(Act::Retry, "")),
            (" /cancel the report ", command(Act::Cancel, "the report")),
            ("/status", command(Act::Status, "")),
            ("BCDF-GHJK", Some(Closed::Code)),
            // Whatever else is said is nothing of these.
            ("yes, but for three people", None),
            ("cancel my order", None),
            ("/cancelled", None),
            ("the agent says yes", None),
            ("stop smoking", None),
            ("", None),
        ] {
            assert_eq!(read(text), read_as, "{text}");
        }
    }

    #[test]
    fn an_agent_is_named_by_a_command() {
        assert_eq!(
            agent_named("/agent weather rain in Oslo?"),
            Some(("weather", "rain in Oslo?"))
        );
        for text in [
            "/agent",
            "/agent weather",
            "/agents weather rain",
            "agent weather rain",
        ] {
            assert_eq!(agent_named(text), None, "{text}");
        }
    }
}
