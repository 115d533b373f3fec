//! Compound prompts: "the weather in Oslo and a flat for two" is work for two agents, "the weather in Oslo and
//! Bergen" is work for one.

use domain::AgentType;

use words::phrases::{places, times, words};

use super::language::{language, speaks};
use super::order::{self, Piece};
use crate::AgentBrief;

/// Most parts looked at; a longer text is one piece of work.
const PIECES_MAX: usize = 40;
/// Words that join parts of a request, each with its language: "en" joins in Dutch alone.
const AND: [(&str, &str); 15] = [
    ("en", "and"),
    ("en", "also"),
    ("en", "plus"),
    ("de", "und"),
    ("es", "y"),
    ("fr", "et"),
    ("it", "e"),
    ("it", "ed"),
    ("nl", "en"),
    ("no", "og"),
    ("sv", "och"),
    ("pt", "e"),
    ("pl", "i"),
    ("pl", "oraz"),
    ("ru", "и"),
];

/// One agent's part of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    pub(super) agent_type: AgentType,
    pub(super) message: String,
    /// It is to come after the parts before it: "then …".
    pub(super) is_later: bool,
    /// It is about what those before it bring: "… on it".
    pub(super) refers: bool,
}

impl Part {
    pub(super) fn only(agent_type: &AgentType, text: &str) -> Vec<Self> {
        let alone = Self {
            agent_type: agent_type.clone(),
            message: text.to_owned(),
            is_later: false,
            refers: false,
        };
        vec![alone]
    }
}

/// What of a text one agent gets, of several that get pieces of it.
pub(super) fn part(
    cards: &[AgentBrief],
    text: &str,
    pieces: &[Piece],
    (agents, wanted): (&[Option<&AgentType>], &AgentType),
) -> Part {
    let own: Vec<usize> = (0..pieces.len())
        .filter(|at| agents.get(*at) == Some(&Some(wanted)))
        .collect();
    let own = order::Own::of(text, pieces, &own);
    Part {
        agent_type: wanted.clone(),
        message: message(cards, text, pieces, (agents, wanted), own.refers),
        is_later: own.is_later,
        refers: own.refers,
    }
}

/// The prompts that a type's agents name as examples.
fn examples<'a>(agents: &'a [AgentBrief], of: &AgentType) -> impl Iterator<Item = &'a str> {
    let agents = agents.iter().filter(move |agent| agent.agent_type() == of);
    let skills = agents.flat_map(AgentBrief::skills);
    skills.flat_map(|skill| skill.examples()).map(String::as_str)
}

/// What one agent is asked: its pieces, each with those behind it that belong to nobody, then what the others share.
fn message(
    cards: &[AgentBrief],
    text: &str,
    pieces: &[Piece],
    (agents, wanted): (&[Option<&AgentType>], &AgentType),
    refers: bool,
) -> String {
    let mut runs: Vec<Piece> = Vec::new();
    let mut owner: Option<&AgentType> = None;
    let mut lead: Option<Piece> = None;
    let mut joined = false;
    for (piece, agent) in pieces.iter().zip(agents) {
        if agent.is_none() && owner.is_none() {
            lead = Some(Piece {
                start: lead.map_or(piece.start, |lead| lead.start),
                ..*piece
            });
            continue;
        }
        owner = agent.or(owner);
        if owner != Some(wanted) {
            joined = false;
            continue;
        }
        match runs.last_mut() {
            Some(run) if joined => run.end = piece.end,
            _ => runs.push(*piece),
        }
        joined = true;
    }
    let own: Vec<&str> = runs.iter().map(|run| run.of(text).trim()).collect();
    let own = own.join(", ");
    let shared = lead.map(|lead| (lead, lead.of(text).trim()));
    if let Some((lead, shared)) = shared
        && (lead.colon || !places(shared).is_empty() || !times(shared).is_empty())
    {
        let mark = if lead.colon { ":" } else { "," };
        return format!("{shared}{mark} {own}");
    }
    // "a flat for two there and the weather in Oslo" is one thought; what stands in another sentence is not shared,
    // nor what the agent's own examples never speak of.
    let sentences = pieces.iter().filter(|piece| piece.closed).count();
    // "a report on whales and then the weather in Oslo": what comes later says nothing of what was before it.
    let done = runs.last().map_or(0, |run| run.end);
    let is_later = |at: &usize| order::Own::of(text, pieces, &[*at]).is_later;
    let behind = (0..pieces.len()).filter(|at| pieces.get(*at).is_some_and(|piece| piece.start >= done));
    let later = behind.filter(is_later).find_map(|at| pieces.get(at));
    let said = text
        .get(..later.map_or(text.len(), |later| later.start))
        .unwrap_or(text);
    let mut own = own;
    // Nor what it is handed anyway.
    if sentences < 2 && !refers {
        for (find, link) in [(places as fn(&str) -> Vec<String>, "in "), (times, "")] {
            let mut all = find(said);
            all.dedup();
            let wants = examples(cards, wanted).any(|example| !find(example).is_empty());
            // "The 9th" says when, and of "9 to 12 January" the month alone says nothing.
            let when = link.is_empty() && (names_day(&own) || all.iter().any(|time| is_of_date(said, time)));
            if let ([only], true, true) = (all.as_slice(), wants && !when, find(&own).is_empty()) {
                own = format!("{} {link}{only}", own.trim_end_matches(['?', '!', '.']));
            }
        }
    }
    own
}

/// Whether a text says when, in whatever form.
fn names_day(text: &str) -> bool {
    let mut said = ::words::text::split(text, text.len());
    !::words::days::take(&mut said, None).days.is_empty()
}

/// Whether a word for a time stands behind a number.
fn is_of_date(text: &str, time: &str) -> bool {
    let before = text.split_once(time).map(|(before, _)| before.trim_end());
    before.is_some_and(|before| before.ends_with(|c: char| c.is_ascii_digit()))
}

/// The pieces of a text, between punctuation and joining words.
pub(super) fn pieces(text: &str) -> Vec<Piece> {
    let spoken = language(text);
    let mut out: Vec<Piece> = Vec::new();
    let mut start: Option<usize> = None;
    let mut end = 0;
    let mut close = |start: &mut Option<usize>, end: usize, colon: bool, closed: bool| {
        if let Some(start) = start.take() {
            out.push(Piece {
                start,
                end,
                colon,
                closed,
            });
        }
    };
    for word in words(text) {
        let gap = text.get(end..word.start).unwrap_or_default();
        let ends = |c: char| {
            gap.split(c)
                .skip(1)
                .any(|rest| !c.is_ascii() || rest.is_empty() || rest.starts_with(char::is_whitespace))
        };
        let colon = ends(':');
        let closed = ['.', '?', '!', ';', '。', '？', '！'].into_iter().any(ends) || gap.contains('\n');
        if colon || closed || [',', '&', '、', '，'].into_iter().any(ends) {
            // A question or exclamation mark belongs to the piece it ends.
            let mark = gap.find(['?', '!']).map_or(0, |at| at + 1);
            close(&mut start, end + mark, colon, closed);
        }
        let lower = word.lower();
        let joins = |(code, joint): &(&str, &str)| *joint == lower && speaks(spoken, code);
        if AND.iter().any(joins) || order::is_later(&lower) {
            close(&mut start, end, false, false);
        } else if start.is_none() {
            start = Some(word.start);
        }
        end = word.end;
    }
    close(&mut start, text.len(), false, true);
    if out.len() > PIECES_MAX {
        return vec![Piece {
            start: 0,
            end: text.len(),
            colon: false,
            closed: true,
        }];
    }
    out
}
