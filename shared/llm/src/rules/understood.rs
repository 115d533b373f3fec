//! What a prompt wants, by the engine of sentence embeddings: which agent each piece of it fits, whether it only changes what was
//! asked before, and whether its user must be asked first.

use std::sync::Arc;

use chrono::NaiveDate;
use domain::{AgentType, Timestamp, UserContext, to_read};
use futures_util::future::try_join_all;
use nlu::{Act, CardReader, EmbedError, Engine, Reading};
use serde_json::Value;

use super::lexical::{FITS, NEAR, texts};
use super::order::{self, Piece};
use super::split::{self, Known, Part};
use super::{handed_on, last_used, phrase, send};
use crate::{AgentBrief, Answer, Prompt, Step, Turn, Why};

/// Most characters of a piece that are read.
const PIECE_MAX: usize = 200;
/// Fewest characters and sentences of a text that was pasted behind a request.
const PASTED_MIN: usize = 150;
const PASTED_SENTENCES: usize = 3;
/// What must speak for the beginning being a request, where nothing in what was pasted is one.
const HEAD_ASKS: f32 = -0.2;
/// Most pieces of a text that are read one by one.
const PIECES_MAX: usize = 12;
/// What speaks for a text being for the agent that it fits best: how well it fits that one, how much better than the next, that it
/// destroys something, and that it calls something off. A logistic regression over 596 labelled prompts that are for one agent or for
/// nobody, each set held against the others, gave their proportions; the sum from which on a text is sent is where fewer go wrong
/// than by two thresholds, and more are right.
const CERTAIN: [f32; 4] = [1.5, 2.2, -2.2, 1.5];
const CERTAIN_FROM: f32 = 5.1;
/// More than so well, and so far ahead, says nothing more.
const FIT_MAX: f32 = 3.0;
const AHEAD_MAX: f32 = 1.0;
/// How much better than any other, to be sent by that alone where below this speaks for its destroying something; the same where words
/// alone are read.
const CLEARLY: f32 = 0.6;
const HARMLESS: f32 = -0.6;
const CLEARLY_BY_WORDS: f32 = 0.4;
/// How far behind the best another may be to be offered as well.
const BESIDE: f32 = 1.2;
/// Most agents that are offered.
const OFFERED_MAX: usize = 3;
/// How well a piece must fit its agent; the same by words alone.
const PIECE_FITS: f32 = 1.6;
const PIECE_HAS_WORDS: f32 = 0.5;
/// How much better a piece must fit its agent than the agents of other pieces.
const PIECE_CLEARLY: f32 = 0.8;
/// Where the whole text is clearly for one agent, a piece for another must fit that one by so much of the difference more.
const BESIDE_THE_WHOLE: f32 = 0.5;
/// So clearly at most, however clear it is.
const WHOLE_CLEARLY_MAX: f32 = 2.0;
/// What must speak for a piece being a request of its own.
const PIECE_ASKS: f32 = 0.15;
/// What speaks for that by how well it fits an agent, for each standard deviation beyond so many.
const PIECE_FIT_ASKS: f32 = 0.3;
const PIECE_FIT_FROM: f32 = 2.5;
/// What must not speak for a piece telling how things are, for it to be for an agent by itself; or how well it must fit that one.
const OWNS_TELLS: f32 = -0.2;
const OWNS_FIT: f32 = 2.0;
/// What must speak for a piece being a request for it to be named where nobody does it, and against its telling how things are; how
/// badly it must fit everybody, and how much better a piece of the text must fit its agent than all of it does.
const NOBODYS: f32 = 0.1;
const TELLS: f32 = 0.0;
const NOBODYS_FIT: f32 = 1.3;
const DILUTED: f32 = 0.8;
/// How much better an agent fits for each rare word that its card has of a text.
const WORDS_FIT: f32 = 0.5;
/// Longest text, in words, that may be no more than a change of what was asked before.
const BRIEF: usize = 4;
/// Below this a text changes or answers something, where there is something to change.
const ASKS: f32 = 0.15;
/// What speaks for a request of its own by how well it fits an agent, for each standard deviation beyond [`NEAR`].
const FIT_ASKS: f32 = 0.1;
/// How well a text that sounds like a change must fit another agent to be for that one all the same.
const FITS_ANOTHER: f32 = 3.65;
/// From here on a text destroys something or gives it away: four of five such sentences are above, one of fifty others.
const DESTROYS: f32 = 0.2;
/// From here on a text may wait for something that nobody knows yet.
const CONDITIONAL: f32 = -0.03;
/// What must speak for that in one of several pieces, and in a text that has one alone.
const CONDITIONAL_PIECE: f32 = -0.3;
const CONDITIONAL_ALONE: f32 = 0.12;
/// From here on a text is an if whatever its pieces sound like.
const SURELY: f32 = 0.6;
/// From here on a change of what was asked before waits for something.
const CONDITIONAL_CHANGE: f32 = 0.3;

/// What a prompt wants; none where words are to say it: where results are to be told, or what was said changes an earlier request.
pub(crate) async fn understood(engine: &Engine, prompt: &Prompt) -> Result<Option<Answer>, EmbedError> {
    let asked = prompt
        .turns
        .iter()
        .rposition(|turn| matches!(turn, Turn::User(_)));
    let Some((before, [Turn::User(text)])) = asked.map(|asked| prompt.turns.split_at(asked)) else {
        return Ok(None);
    };
    let cards = cards(engine, &prompt.agents).await?;
    let read = request_of(engine, &cards, to_read(text)).await?;
    let unread = text.get(read.len()..).unwrap_or_default();
    let text = read.trim();
    let pieces = to_pieces(text);
    let mut texts = vec![text];
    if pieces.len() > 1 {
        texts.extend(pieces.iter().map(|piece| excerpt(piece.of(text).trim())));
    }
    let mut readings = engine.read(&texts, &cards).await?;
    let lexicon = prompt.agents.lexicon();
    for (reading, text) in readings.iter_mut().zip(&texts) {
        for (fit, score) in reading.fits.iter_mut().zip(lexicon.scores(text)) {
            *fit += WORDS_FIT * score;
        }
    }
    let mut whole = readings.remove(0);
    forget_declined(&mut whole, &mut readings);
    let used = last_used(prompt, before);
    let fit = whole.ranked().first().map_or(f32::NEG_INFINITY, |(_, fit)| *fit);
    // "… and what is the weather there?": a piece that is for somebody else by itself is no change.
    let is_another = |last: &AgentType| {
        let mut ranked = readings
            .iter()
            .filter_map(|piece| piece.ranked().first().copied());
        ranked.any(|(at, fit)| {
            fit >= FITS_ANOTHER
                && prompt
                    .agents
                    .get(at)
                    .is_some_and(|agent| agent.agent_type() != last)
        })
    };
    if let Some((last, _)) = used.first()
        && fit < FITS_ANOTHER
        && !is_another(last)
        && whole.asks() + FIT_ASKS * (fit - NEAR).max(0.0) < ASKS
    {
        // A change has few words, and an "if" in them is seldom one.
        let waits = |why: &Why| *why == Why::Conditional && whole.conditional < CONDITIONAL_CHANGE;
        if let Some(why) = must_be_asked(&whole).filter(|why| !waits(why)) {
            let of = vec![(*last).clone()];
            return Ok(Some(Step::Choose { of, why }.into()));
        }
        // Its agent has the conversation, and knows what it changes.
        return Ok(Some(send(Part::only(last, text)).into()));
    }
    let told = Told {
        agents: &prompt.agents,
        text,
        pieces: &pieces,
        readings: &readings,
        whole: &whole,
        today: prompt.today,
        language: words::language::answered_in(text, prompt.locale.as_deref()),
        is_by_words: false,
    };
    let answer = told.decide();
    Ok(Some(Answer {
        step: handed_on(answer.step, unread),
        ..answer
    }))
}

/// What is read of a text: where another was pasted behind what is asked of it ("Sum this up: …"), that alone. What was pasted asks for
/// nothing, however much a sentence of it is like what an agent does, unless one is it clearly and the beginning is nobody's.
async fn request_of<'t>(
    engine: &Engine,
    cards: &[Arc<CardReader>],
    text: &'t str,
) -> Result<&'t str, EmbedError> {
    let Some((head, pasted)) = before_pasted(text) else {
        return Ok(text);
    };
    let pieces = split::pieces(pasted);
    let pieces = pieces
        .iter()
        .take(PIECES_MAX)
        .map(|piece| excerpt(piece.of(pasted).trim()));
    let texts: Vec<&str> = std::iter::once(head.trim()).chain(pieces).collect();
    let mut readings = engine.read(&texts, cards).await?.into_iter();
    let fit = |reading: &Reading| {
        reading
            .ranked()
            .first()
            .map_or(f32::NEG_INFINITY, |(_, fit)| *fit)
    };
    let Some(first) = readings.next() else {
        return Ok(text);
    };
    let mut is_matter = || first.asks() >= HEAD_ASKS && readings.all(|piece| fit(&piece) < FITS);
    Ok(if fit(&first) >= NEAR || is_matter() {
        head
    } else {
        text
    })
}

/// The line, or what ends with a colon, before a text of several sentences, and that text.
fn before_pasted(text: &str) -> Option<(&str, &str)> {
    let begin = text.len() - text.trim_start().len();
    let said = text.get(begin..)?;
    let ends = [said.find('\n'), said.find(": "), said.find('：')];
    let (head, pasted) = text.split_at_checked(begin + ends.into_iter().flatten().min()?)?;
    // "From: …", "Subject: …": the other text stands first.
    if head.is_ascii() && head.split_whitespace().count() < 2 {
        return None;
    }
    let ended = |(mark, next): (char, Option<char>)| match mark {
        '。' | '！' | '？' => true,
        '.' | '!' | '?' => next.is_none_or(char::is_whitespace),
        _ => false,
    };
    let next = pasted.chars().skip(1).map(Some).chain([None]);
    let sentences = pasted.chars().zip(next).filter(|at| ended(*at)).count();
    let is_long = pasted.chars().count() >= PASTED_MIN && sentences >= PASTED_SENTENCES;
    is_long.then_some((head, pasted))
}

/// A part of a text, between punctuation or joining words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clause<'t> {
    /// All of it, up to the next one: together they are the text.
    pub whole: &'t str,
    /// What is read of it: the same as where it is decided who gets it.
    pub read: &'t str,
}

/// The clauses of a text; where there are too many to be read one by one, or only one, none.
#[must_use]
pub fn clauses(text: &str) -> Vec<Clause<'_>> {
    let pieces = split::pieces(text);
    if pieces.len() < 2 || pieces.len() > PIECES_MAX {
        return Vec::new();
    }
    let starts = pieces.iter().skip(1).map(|piece| piece.start);
    let ends = starts.clone().chain([text.len()]);
    let begins = std::iter::once(0).chain(starts);
    let clause = |((begin, end), piece): ((usize, usize), &Piece)| Clause {
        whole: text.get(begin..end).unwrap_or_default(),
        read: excerpt(piece.of(text).trim()),
    };
    begins.zip(ends).zip(&pieces).map(clause).collect()
}

/// Agents' cards, ready to be held against texts.
///
/// # Errors
/// [`EmbedError`] where their texts have no vectors.
pub async fn cards(engine: &Engine, agents: &[AgentBrief]) -> Result<Vec<Arc<CardReader>>, EmbedError> {
    let ready = agents
        .iter()
        .map(|agent| async move { engine.card(&texts(agent)).await });
    // Side by side: what is new waits for a place where it is kept, or for a model.
    try_join_all(ready).await
}

/// What a text wants by its words alone, where nobody is there who understands more.
pub(super) fn by_words(prompt: &Prompt, before: &[Turn], text: &str) -> Answer {
    let text = text.trim();
    let lexicon = prompt.agents.lexicon();
    let pieces = to_pieces(text);
    let whole = lexicon.reading(text);
    let readings: Vec<Reading> = match pieces.as_slice() {
        [] | [_] => Vec::new(),
        several => {
            let reading = |piece: &Piece| lexicon.piece(piece.of(text), &whole);
            several.iter().map(reading).collect()
        }
    };
    let told = Told {
        agents: &prompt.agents,
        text,
        pieces: &pieces,
        readings: &readings,
        whole: &whole,
        today: prompt.today,
        language: words::language::answered_in(text, prompt.locale.as_deref()),
        is_by_words: true,
    };
    // A few words that are of nobody's card may go on with whom was asked last; whether, its user says.
    let is_brief = text.split_whitespace().count() <= BRIEF;
    match last_used(prompt, before).first() {
        Some((last, _)) if is_brief && told.is_for_nobody() => Step::Choose {
            of: vec![(*last).clone()],
            why: Why::Unsure,
        }
        .into(),
        _ => told.decide(),
    }
}

fn to_pieces(text: &str) -> Vec<Piece> {
    let pieces = order::without_links(text, split::pieces(text));
    match pieces.len() > PIECES_MAX {
        true => Vec::new(),
        false => pieces,
    }
}

/// A text with what was read of it.
struct Told<'a> {
    agents: &'a [AgentBrief],
    text: &'a str,
    pieces: &'a [Piece],
    /// Of each piece; none where there is only one.
    readings: &'a [Reading],
    whole: &'a Reading,
    today: Option<NaiveDate>,
    /// The language of what we say ourselves.
    language: &'a str,
    /// Words alone say whom it is for, and never that it is for nobody.
    is_by_words: bool,
}

impl Told<'_> {
    fn decide(&self) -> Answer {
        let owners = self.owners();
        let mut distinct: Vec<&AgentType> = Vec::new();
        for owner in owners.iter().flatten() {
            if !distinct.contains(owner) {
                distinct.push(owner);
            }
        }
        let known: Vec<Known<'_>> = (0..self.pieces.len())
            .map(|at| Known {
                owner: owners.get(at).copied().flatten(),
                asks: self
                    .readings
                    .get(at)
                    .is_some_and(|piece| asks(piece) >= PIECE_ASKS),
                is_nobodys: owners.get(at) == Some(&None) && self.is_nobodys(at, &distinct),
            })
            .collect();
        let unplaced = self
            .pieces
            .iter()
            .zip(&known)
            .filter(|(_, known)| known.is_nobodys);
        let unplaced: Vec<&str> = unplaced.map(|(piece, _)| piece.of(self.text).trim()).collect();
        if distinct.is_empty() || distinct.len() < 2 && unplaced.is_empty() {
            return self.alone().into();
        }
        if let Some(why) = self.must_be_asked() {
            // All of it waits: a piece of one agent's message cannot be kept back from it. Which of several is a condition is not
            // known either.
            let of = distinct.into_iter().take(OFFERED_MAX).cloned().collect();
            return Step::Choose { of, why }.into();
        }
        let goes = split::goes(self.text, self.pieces, &known);
        let parts = distinct.iter().map(|agent| {
            split::part(
                self.agents,
                self.text,
                self.pieces,
                (&known, &goes, agent),
                self.today,
            )
        });
        let beside = match unplaced.as_slice() {
            [] => String::new(),
            unplaced => phrase::undone(unplaced, self.language),
        };
        Answer {
            beside,
            clauses: split::clauses(self.text, self.pieces, &goes),
            ..send(parts.collect()).into()
        }
    }

    /// Why nothing of the text goes anywhere before its user was asked.
    fn must_be_asked(&self) -> Option<Why> {
        // What a deed waits for asks nothing itself.
        let waits = |piece: &&Reading| piece.conditional >= CONDITIONAL;
        let pieces = self
            .readings
            .iter()
            .filter(|piece| asks(piece) >= PIECE_ASKS || waits(piece));
        // Several wishes sound like an if more than each of them does.
        let most = self.readings.iter().map(|piece| piece.conditional);
        let (most, least) = match most.reduce(f32::max) {
            Some(most) => (most, CONDITIONAL_PIECE),
            None => (self.whole.conditional, CONDITIONAL_ALONE),
        };
        let alarms = std::iter::once(self.whole)
            .chain(pieces)
            .filter_map(must_be_asked);
        alarms
            .into_iter()
            .find(|why| *why != Why::Conditional || most >= least || self.whole.conditional >= SURELY)
    }

    /// Whether a piece asks for something that nobody here does, beside what these agents do.
    fn is_nobodys(&self, at: usize, distinct: &[&AgentType]) -> bool {
        let Some(reading) = self.readings.get(at) else {
            return false;
        };
        let best = reading
            .ranked()
            .first()
            .map_or(f32::NEG_INFINITY, |(_, fit)| *fit);
        !self.is_by_words
            && best < NOBODYS_FIT
            && matches!(reading.act().0, Act::Request | Act::Talk)
            && reading.asks() >= NOBODYS
            && reading.tells < TELLS
            && self.is_diluted(distinct)
            && !self.is_glued(at)
            && !self.is_detail(at, distinct)
    }

    /// Whether one of these agents takes a number that a piece says, by its schema: "no more than 300 euros in total".
    fn is_detail(&self, at: usize, agents: &[&AgentType]) -> bool {
        let said = self.pieces.get(at).map_or("", |piece| piece.of(self.text));
        let mut those = self
            .agents
            .iter()
            .filter(|agent| agents.contains(&agent.agent_type()));
        those.any(|agent| {
            let read = agent.read(said, (Timestamp::from_millis(0), &UserContext::default()));
            read.is_some_and(|read| read.data.values().any(Value::is_number))
        })
    }

    /// Whether a piece is a part of a word: of an address, or of a number.
    fn is_glued(&self, at: usize) -> bool {
        let Some(piece) = self.pieces.get(at) else {
            return false;
        };
        let (before, behind) = (self.text.get(..piece.start), self.text.get(piece.end..));
        let glue = |gap: Option<&str>| gap.is_some_and(|gap| gap.len() == 1 && gap.trim() == gap);
        glue(behind.and_then(|said| said.get(..said.find(char::is_alphanumeric)?)))
            || glue(before.and_then(|said| said.get(said.rfind(char::is_alphanumeric)? + 1..)))
    }

    /// Whether the text is less like what its one agent does than a piece of it: then the rest is about something else.
    fn is_diluted(&self, distinct: &[&AgentType]) -> bool {
        let [only] = distinct else { return true };
        let Some(agent) = self.agents.iter().position(|agent| agent.agent_type() == *only) else {
            return false;
        };
        let fit = |reading: &Reading| reading.fits.get(agent).copied().unwrap_or(f32::NEG_INFINITY);
        let best = self.readings.iter().map(fit).fold(f32::NEG_INFINITY, f32::max);
        best - fit(self.whole) >= DILUTED
    }

    /// Whose each piece is, where that is clear.
    fn owners(&self) -> Vec<Option<&AgentType>> {
        let ranked = self.whole.ranked();
        let (first, clear) = match ranked.as_slice() {
            [(first, best), (_, second), ..] => (Some(*first), (best - second).min(WHOLE_CLEARLY_MAX)),
            [(first, _)] => (Some(*first), 0.0),
            [] => (None, 0.0),
        };
        let best = |reading: &Reading| {
            let (agent, fit) = reading.ranked().first().copied()?;
            let fits = if self.is_by_words {
                PIECE_HAS_WORDS
            } else {
                PIECE_FITS
            };
            let least = match Some(agent) == first {
                true => fits,
                false => fits + BESIDE_THE_WHOLE * clear,
            };
            // What is told beside a request is for nobody by itself.
            (asks(reading) >= PIECE_ASKS && fit >= least && (reading.tells < OWNS_TELLS || fit >= OWNS_FIT))
                .then_some(agent)
        };
        let found: Vec<Option<usize>> = self.readings.iter().map(best).collect();
        let clear = |reading: &Reading, own: usize| {
            let fit = |agent: usize| reading.fits.get(agent).copied().unwrap_or(f32::NEG_INFINITY);
            let others = found.iter().flatten().filter(|other| **other != own);
            others
                .into_iter()
                .all(|other| fit(own) - fit(*other) >= PIECE_CLEARLY)
        };
        self.readings
            .iter()
            .zip(&found)
            .map(|(reading, own)| {
                let own = own.filter(|own| clear(reading, *own))?;
                self.agents.get(own).map(AgentBrief::agent_type)
            })
            .collect()
    }

    /// Whether no agent is near the text or a piece of it.
    fn is_for_nobody(&self) -> bool {
        let best = |reading: &Reading| {
            reading
                .ranked()
                .first()
                .map_or(f32::NEG_INFINITY, |(_, fit)| *fit)
        };
        best(self.whole) < NEAR && self.readings.iter().all(|piece| best(piece) < NEAR)
    }

    /// Whether the text is surely for the agent that it fits best: it fits well and is clearly ahead, or all that speaks for it is enough.
    fn is_certain(&self, best: f32, second: f32) -> bool {
        let ahead = best - second;
        if self.is_by_words {
            return best >= FITS && ahead >= CLEARLY_BY_WORDS;
        }
        if best >= FITS && ahead >= CLEARLY && self.whole.destroys < HARMLESS {
            return true;
        }
        let speaks = [
            best.min(FIT_MAX),
            ahead.min(AHEAD_MAX),
            self.whole.destroys,
            self.whole.of(Act::Cancel),
        ];
        let speaks: f32 = speaks
            .iter()
            .zip(CERTAIN)
            .map(|(what, weight)| what * weight)
            .sum();
        speaks >= CERTAIN_FROM
    }

    /// What becomes of a text that is for one agent, or for nobody.
    fn alone(&self) -> Step {
        let ranked = self.whole.ranked();
        let best = ranked.first().map_or(f32::NEG_INFINITY, |(_, fit)| *fit);
        let second = ranked.get(1).map_or(f32::NEG_INFINITY, |(_, fit)| *fit);
        let near = ranked
            .iter()
            .filter(|(_, fit)| *fit >= NEAR && *fit >= best - BESIDE)
            .filter_map(|(agent, _)| self.agents.get(*agent));
        let near: Vec<&AgentBrief> = near.take(OFFERED_MAX).collect();
        let [first, ..] = near.as_slice() else {
            let named = ranked.first().filter(|(_, fit)| *fit > 0.0);
            let named = named.and_then(|(agent, _)| self.agents.get(*agent));
            return Step::Say(phrase::nothing_fits(
                self.agents,
                (self.text, self.language),
                named,
            ));
        };
        let all = || {
            near.iter()
                .map(|agent| agent.agent_type().clone())
                .collect::<Vec<_>>()
        };
        let why = if let Some(why) = self.must_be_asked() {
            why
        } else if self.is_certain(best, second) {
            return send(Part::only(first.agent_type(), self.text));
        } else {
            Why::Unsure
        };
        Step::Choose { of: all(), why }
    }
}

/// "Not the weather. Where is my order?": whom the first piece declines is asked nothing, unless another piece is for that one.
fn forget_declined(whole: &mut Reading, pieces: &mut [Reading]) {
    let meant = |piece: &Reading, least| piece.ranked().first().copied().filter(|(_, fit)| *fit >= least);
    let Some((first, others)) = pieces.split_first() else {
        return;
    };
    let declines = match first.act().0 {
        Act::Decline => true,
        // What destroys something is said to the agent that does it.
        Act::Cancel => first.destroys < DESTROYS && first.asks() < PIECE_ASKS,
        _ => false,
    };
    let Some((declined, _)) = meant(first, PIECE_FITS).filter(|_| declines) else {
        return;
    };
    let mut wanted = others.iter().filter_map(|piece| meant(piece, FITS));
    if wanted.all(|(agent, _)| agent != declined) {
        for reading in std::iter::once(whole).chain(pieces) {
            if let Some(fit) = reading.fits.get_mut(declined) {
                *fit = f32::NEG_INFINITY;
            }
        }
    }
}

/// What speaks for a piece asking for something of its own: what few words ask, an agent that they fit says.
fn asks(reading: &Reading) -> f32 {
    let fit = reading.ranked().first().map_or(0.0, |(_, fit)| *fit);
    reading.asks() + PIECE_FIT_ASKS * (fit - PIECE_FIT_FROM).max(0.0)
}

/// Why what reads so is not done before its user was asked.
fn must_be_asked(reading: &Reading) -> Option<Why> {
    if reading.conditional >= CONDITIONAL {
        return Some(Why::Conditional);
    }
    (reading.destroys >= DESTROYS).then_some(Why::Destroys)
}

/// As much of a piece as is read: what is longer is no piece of a request but a text of its own.
fn excerpt(piece: &str) -> &str {
    let end = piece.char_indices().nth(PIECE_MAX);
    end.map_or(piece, |(end, _)| piece.get(..end).unwrap_or(piece))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CardText, Tool};

    const AGENTS: [&str; 3] = ["weather", "stays", "orders"];

    fn agents() -> Vec<AgentBrief> {
        let brief = |name: &&str| {
            let card = CardText {
                name,
                description: name,
            };
            AgentBrief::new(AgentType::parse(name).unwrap(), card, [])
        };
        AGENTS.iter().map(brief).collect()
    }

    /// A request that fits the agents so well.
    fn request(fits: [f32; 3]) -> Reading {
        let acts = Act::ALL.map(|act| if act == Act::Request { 1.0 } else { -1.0 });
        Reading {
            acts: acts.to_vec(),
            talk: Vec::new(),
            destroys: -1.0,
            conditional: -1.0,
            corrects: -1.0,
            tells: -1.0,
            fits: fits.to_vec(),
        }
    }

    /// Somebody's answer or change, which asks for nothing of its own.
    fn scrap(fits: [f32; 3]) -> Reading {
        let acts = Act::ALL.map(|act| if act == Act::FollowUp { 1.0 } else { -1.0 });
        Reading {
            acts: acts.to_vec(),
            ..request(fits)
        }
    }

    fn decided(text: &str, whole: &Reading, readings: &[Reading]) -> Answer {
        let pieces = split::pieces(text);
        assert!(
            readings.is_empty() || readings.len() == pieces.len(),
            "{pieces:?}"
        );
        let told = Told {
            agents: &agents(),
            text,
            pieces: &pieces,
            readings,
            whole,
            today: None,
            language: "en",
            is_by_words: false,
        };
        told.decide()
    }

    fn sent(answer: &Answer) -> Vec<(&str, &str)> {
        let Step::Call(calls) = &answer.step else {
            return Vec::new();
        };
        let sends = calls.iter().map(|call| match &call.tool {
            Tool::SendMessage {
                agent_type, message, ..
            } => (agent_type.as_str(), message.as_str()),
            other => panic!("{other:?}"),
        });
        sends.collect()
    }

    fn asked(answer: &Answer) -> Option<(Vec<&str>, Why)> {
        match &answer.step {
            Step::Choose { of, why } => Some((of.iter().map(AgentType::as_str).collect(), *why)),
            _ => None,
        }
    }

    #[test]
    fn every_letter_of_a_text_lies_in_one_of_its_clauses() {
        for text in [
            "cancel that and tell me the weather in Rotterdam instead",
            "no, forget it. Is 1066 late?",
            "¿Va a nevar? ¿Y hoy?",
            "もういいです。ありがとう",
        ] {
            let clauses = clauses(text);
            let whole: String = clauses.iter().map(|clause| clause.whole).collect();
            assert_eq!(whole, text);
            assert!(clauses.len() > 1 && clauses.iter().all(|clause| clause.whole.contains(clause.read)));
        }
        assert_eq!(clauses("rain in Oslo"), []);
        assert_eq!(clauses(&"a, ".repeat(400)), []);
    }

    #[test]
    fn a_text_of_several_sentences_behind_a_line_or_a_colon_was_pasted() {
        let pasted = "Whales live in the sea and breathe air. The blue whale is the largest of them all. Many live in groups, and \
                      speak to each other over many miles of water.";
        for head in ["Sum this up", " Fasse das zusammen", "要約して"] {
            for mark in [": ", "\n\n", "："] {
                let text = format!("{head}{mark}{pasted}");
                assert_eq!(before_pasted(&text).map(|(head, _)| head), Some(head));
            }
        }
        for text in [
            pasted,
            "I need this: rain in Oslo. A flat. A report.",
            "One\ntwo",
            "",
        ] {
            assert_eq!(before_pasted(text), None, "{text}");
        }
    }

    #[test]
    fn what_clearly_fits_one_agent_goes_there_whole() {
        let answer = decided("rain in Oslo?", &request([4.0, 1.0, 0.0]), &[]);
        assert_eq!(sent(&answer), [("weather", "rain in Oslo?")]);
    }

    #[test]
    fn what_is_near_two_is_asked_about_and_what_is_near_nobody_is_not_sent() {
        let near_two = decided("Oslo in June", &request([2.4, 2.3, 0.0]), &[]);
        assert_eq!(asked(&near_two), Some((vec!["weather", "stays"], Why::Unsure)));
        let nobodys = decided("sing me a song", &request([0.4, 0.3, 0.0]), &[]);
        assert!(matches!(&nobodys.step, Step::Say(text) if text.contains("I cannot do that here")));
    }

    #[test]
    fn what_destroys_or_waits_for_something_is_asked_about_however_well_it_fits() {
        let mut destroys = request([0.0, 0.0, 9.0]);
        destroys.destroys = 0.6;
        let answer = decided("cancel order 1003", &destroys, &[]);
        assert_eq!(asked(&answer), Some((vec!["orders"], Why::Destroys)));
        let mut waits = request([5.0, 9.0, 0.0]);
        waits.conditional = 0.6;
        let pieces = [request([5.0, 0.0, 0.0]), request([0.0, 5.0, 0.0])];
        let answer = decided("if it snows in Oslo, find a hotel", &waits, &pieces);
        assert_eq!(asked(&answer), Some((vec!["weather", "stays"], Why::Conditional)));
    }

    #[test]
    fn each_agent_gets_its_piece_and_a_scrap_is_no_piece() {
        let pieces = [request([4.0, 0.0, 0.0]), request([0.0, 4.0, 0.0])];
        let answer = decided(
            "rain in Oslo and a flat for two",
            &request([3.0, 3.0, 0.0]),
            &pieces,
        );
        let receivers: Vec<&str> = sent(&answer).iter().map(|(agent, _)| *agent).collect();
        assert_eq!(receivers, ["weather", "stays"]);
        let pieces = [request([4.0, 0.0, 0.0]), scrap([0.0, 0.0, 4.0])];
        let answer = decided("rain in Oslo, on Friday", &request([4.0, 0.0, 2.0]), &pieces);
        assert_eq!(sent(&answer), [("weather", "rain in Oslo, on Friday")]);
    }

    #[test]
    fn a_piece_that_nobody_does_is_named_beside_what_is_done() {
        let pieces = [request([4.0, 0.0, 0.0]), request([0.0, 0.0, 0.0])];
        let answer = decided(
            "rain in Oslo and sing me a song",
            &request([3.0, 0.0, 0.0]),
            &pieces,
        );
        assert_eq!(sent(&answer).len(), 1);
        assert!(answer.beside.contains("“sing me a song”"), "{}", answer.beside);
    }

    #[test]
    fn few_words_that_destroy_are_asked_about_where_their_agent_says_that_they_ask() {
        let mut gone = scrap([0.0, 0.0, 14.0]);
        gone.destroys = 0.6;
        let pieces = [gone, request([4.0, 0.0, 0.0])];
        let answer = decided("1003 away, rain in Oslo", &request([3.0, 0.0, 3.0]), &pieces);
        assert_eq!(asked(&answer).map(|(_, why)| why), Some(Why::Destroys));
    }

    #[test]
    fn what_is_told_beside_a_request_is_no_part_that_nobody_does() {
        let told = |tells: f32, whole: f32| {
            let mut beside = request([0.0, 0.0, 0.0]);
            beside.tells = tells;
            let pieces = [beside, request([0.0, 0.0, 8.0])];
            let text = "the machine is broken, and check order 1003";
            decided(text, &request([0.0, 0.0, whole]), &pieces)
        };
        assert!(told(-1.0, 5.0).beside.contains("the machine is broken"));
        assert_eq!(told(-1.0, 5.0).clauses.len(), 2);
        // It tells how things are, or is what the agent is asked about.
        assert_eq!(told(0.0, 5.0).beside, "");
        assert_eq!(told(-1.0, 8.0).beside, "");
    }

    #[test]
    fn several_wishes_are_no_if_where_none_of_them_is() {
        let mut whole = request([3.0, 3.0, 0.0]);
        whole.conditional = 0.1;
        let pieces = |conditional: f32| {
            let mut first = request([4.0, 0.0, 0.0]);
            first.conditional = conditional;
            [first, request([0.0, 4.0, 0.0])]
        };
        let text = "rain in Oslo, a flat in Bergen";
        assert_eq!(sent(&decided(text, &whole, &pieces(-0.6))).len(), 2);
        let asked = asked(&decided(text, &whole, &pieces(-0.2))).map(|(_, why)| why);
        assert_eq!(asked, Some(Why::Conditional));
    }

    #[test]
    fn what_a_piece_declines_is_asked_of_nobody_unless_another_piece_asks_for_it() {
        let said = |act: Act, fits: [f32; 3]| Reading {
            acts: Act::ALL
                .map(|known| if known == act { 1.0 } else { -1.0 })
                .to_vec(),
            ..request(fits)
        };
        let decided = |text: &str, first: Reading, second: [f32; 3]| {
            let (mut whole, mut pieces) = (request([2.4, 0.0, 1.0]), [first, request(second)]);
            forget_declined(&mut whole, &mut pieces);
            decided(text, &whole, &pieces)
        };
        let flight = "not the weather, book me a flight";
        let sent_to = |answer: &Answer| {
            sent(answer)
                .iter()
                .map(|(to, _)| (*to).to_owned())
                .collect::<Vec<_>>()
        };
        for act in [Act::Decline, Act::Cancel] {
            let answer = decided(flight, said(act, [3.7, 0.8, 0.0]), [1.9, 1.0, 0.0]);
            assert_eq!((sent(&answer), asked(&answer)), (vec![], None), "{act:?}");
        }
        // It is asked for all the same, elsewhere; and what is no refusal takes nothing away.
        let answer = decided(
            "not in Oslo, the weather in Rome",
            said(Act::Decline, [2.6, 0.0, 0.0]),
            [4.7, 0.0, 0.0],
        );
        assert_eq!(sent_to(&answer), ["weather"]);
        let answer = decided(
            "the weather, book me a flight",
            request([3.7, 0.8, 0.0]),
            [1.9, 1.0, 0.0],
        );
        assert_eq!(sent_to(&answer), ["weather"]);
        // What destroys something is said to who does it.
        let mut destroys = said(Act::Cancel, [0.0, 0.0, 4.0]);
        destroys.destroys = 0.6;
        let answer = decided("cancel order 1005, rain in Oslo", destroys, [4.0, 0.0, 0.0]);
        assert_eq!(asked(&answer), Some((vec!["orders", "weather"], Why::Destroys)));
    }

    #[test]
    fn a_piece_that_destroys_keeps_everything_back() {
        let mut destroys = request([0.0, 0.0, 4.0]);
        destroys.destroys = 0.6;
        // Its agent has another piece, which its message would have beside this one.
        let pieces = [request([0.0, 0.0, 4.0]), destroys, request([4.0, 0.0, 0.0])];
        let text = "is order 1003 late, cancel order 1005, and rain in Oslo";
        let answer = decided(text, &request([3.0, 0.0, 3.0]), &pieces);
        assert_eq!(asked(&answer), Some((vec!["orders", "weather"], Why::Destroys)));
    }
}
