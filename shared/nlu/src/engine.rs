//! The offline engine: reads texts by their vectors.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use domain::to_read;

use crate::cards::CardReader;
use crate::embed::{Embed, EmbedError, Vector};
use crate::probe::Probe;
use crate::sentences::{Act, Sentence, Talk, sentences};
use crate::space::Space;

/// Most cards that are kept ready; more begin anew.
const CARDS_MAX: usize = 2_000;
/// Texts that are given to the model of sentences at once.
const AT_ONCE: usize = 64;
/// Most texts that were read lately and whose vectors are kept, two kilobytes each; more begin anew.
const LATELY_MAX: usize = 512;
/// Most texts of a card that are read.
const CARD_TEXTS_MAX: usize = 64;

/// Keeps vectors, which cost more to make than to keep. What is lost is made again.
#[async_trait]
pub trait VectorStore: Send + Sync {
    /// The vectors of these texts, in their order, by this model; none where one is missing.
    async fn load(&self, model: &str, texts: &[&str]) -> Option<Vec<Vector>>;
    /// Keeps them.
    async fn keep(&self, model: &str, texts: &[&str], vectors: &[Vector]);
}

/// Keeps nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoStore;

#[async_trait]
impl VectorStore for NoStore {
    async fn load(&self, _model: &str, _texts: &[&str]) -> Option<Vec<Vector>> {
        None
    }
    async fn keep(&self, _model: &str, _texts: &[&str], _vectors: &[Vector]) {}
}

/// What a text is, as far as its words tell.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// What speaks for each act, about -1 to 1, in the order of [`Act::ALL`].
    pub acts: Vec<f32>,
    /// What speaks for each kind of talk, in the order of [`Talk::ALL`]; it says something of a talk alone.
    pub talk: Vec<f32>,
    /// What speaks for a deed that destroys something or gives it away, about -1 to 1.
    pub destroys: f32,
    /// What speaks for its waiting for something that nobody knows yet, about -1 to 1.
    pub conditional: f32,
    /// How well it fits each agent, in standard deviations above what anybody may say.
    pub fits: Vec<f32>,
}

impl Reading {
    /// The act that most speaks for, and how much more that is than for the second.
    #[must_use]
    pub fn act(&self) -> (Act, f32) {
        let mut ranked: Vec<(f32, Act)> = self.acts.iter().copied().zip(Act::ALL).collect();
        ranked.sort_by(|one, other| other.0.total_cmp(&one.0));
        match ranked.as_slice() {
            [(best, act), (second, _), ..] => (*act, best - second),
            _ => (Act::Request, 0.0),
        }
    }

    /// What speaks for an act.
    #[must_use]
    pub fn of(&self, act: Act) -> f32 {
        let at = Act::ALL.iter().position(|known| *known == act);
        at.and_then(|at| self.acts.get(at))
            .copied()
            .unwrap_or(f32::NEG_INFINITY)
    }

    /// The kind of talk that most speaks for.
    #[must_use]
    pub fn talk(&self) -> Talk {
        let all = self.talk.iter().copied().zip(Talk::ALL);
        let best = all.max_by(|one, other| one.0.total_cmp(&other.0));
        best.map_or(Talk::Chatter, |(_, talk)| talk)
    }

    /// How much more speaks for a request than for a mere change or answer.
    #[must_use]
    pub fn asks(&self) -> f32 {
        self.of(Act::Request) - self.of(Act::FollowUp).max(self.of(Act::Answer))
    }

    /// The agents by how well it fits them, the best first.
    #[must_use]
    pub fn ranked(&self) -> Vec<(usize, f32)> {
        let mut ranked: Vec<(usize, f32)> = self.fits.iter().copied().enumerate().collect();
        ranked.sort_by(|one, other| other.1.total_cmp(&one.1));
        ranked
    }
}

/// The engine.
pub struct Engine {
    embed: Arc<dyn Embed>,
    kept: Arc<dyn VectorStore>,
    space: Space,
    background: Vec<Vector>,
    acts: Probe,
    talk: Probe,
    destroys: Probe,
    conditional: Probe,
    cards: Mutex<HashMap<Vec<String>, Arc<CardReader>>>,
    lately: Mutex<HashMap<String, Vector>>,
}

impl Engine {
    /// Fits the engine to its sentences. That takes a vector of each the first time, seconds.
    ///
    /// # Errors
    /// [`EmbedError`] where the sentences have no vectors.
    pub async fn new(embed: Arc<dyn Embed>, kept: Arc<dyn VectorStore>) -> Result<Self, EmbedError> {
        let all: Vec<Sentence> = sentences().collect();
        let texts: Vec<&str> = all.iter().map(|sentence| sentence.text).collect();
        let vectors = vectors(embed.as_ref(), kept.as_ref(), &texts).await?;
        let space = Space::of(all.iter().copied().zip(&vectors));
        let directions: Vec<Vector> = vectors.iter().map(|vector| space.direction(vector)).collect();
        let fit = |class: &dyn Fn(&Sentence) -> Option<usize>, classes: usize| {
            let examples: Vec<(&[f32], usize)> = all
                .iter()
                .zip(&directions)
                .filter_map(|(sentence, direction)| Some((direction.numbers(), class(sentence)?)))
                .collect();
            Probe::fit(&examples, classes)
        };
        let act = |sentence: &Sentence| Act::ALL.iter().position(|act| *act == sentence.act);
        let talk = |sentence: &Sentence| Talk::ALL.iter().position(|talk| Some(*talk) == sentence.talk);
        Ok(Self {
            acts: fit(&act, Act::ALL.len()),
            talk: fit(&talk, Talk::ALL.len()),
            destroys: fit(&|sentence| sentence.destroys.map(usize::from), 2),
            conditional: fit(&|sentence| sentence.is_conditional.map(usize::from), 2),
            background: all
                .iter()
                .zip(&directions)
                .filter(|(sentence, _)| sentence.is_background)
                .map(|(_, direction)| direction.clone())
                .collect(),
            space,
            embed,
            kept,
            cards: Mutex::default(),
            lately: Mutex::default(),
        })
    }

    /// Makes a card ready, from the texts that it says of itself. It is kept: the same texts cost nothing the next time.
    ///
    /// # Errors
    /// [`EmbedError`] where its texts have no vectors.
    pub async fn card(&self, texts: &[&str]) -> Result<Arc<CardReader>, EmbedError> {
        let texts = texts.get(..CARD_TEXTS_MAX).unwrap_or(texts);
        let key: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let known = |cards: &Mutex<HashMap<Vec<String>, Arc<CardReader>>>| {
            let cards = cards.lock().unwrap_or_else(PoisonError::into_inner);
            cards.get(&key).cloned()
        };
        if let Some(card) = known(&self.cards) {
            return Ok(card);
        }
        let vectors = vectors(self.embed.as_ref(), self.kept.as_ref(), texts).await?;
        let directions = vectors.iter().map(|vector| self.space.direction(vector));
        let card = Arc::new(CardReader::new(directions.collect(), &self.background));
        let mut cards = self.cards.lock().unwrap_or_else(PoisonError::into_inner);
        if cards.len() >= CARDS_MAX {
            cards.clear();
        }
        cards.insert(key, Arc::clone(&card));
        Ok(card)
    }

    /// Reads texts, each held against every card.
    ///
    /// # Errors
    /// [`EmbedError`] where a text has no vector.
    pub async fn read(&self, texts: &[&str], cards: &[Arc<CardReader>]) -> Result<Vec<Reading>, EmbedError> {
        let texts: Vec<&str> = texts.iter().map(|text| to_read(text)).collect();
        let vectors = self.lately(&texts).await?;
        let reading = |vector: &Vector| {
            let said = self.space.direction(vector);
            let second = |of: Vec<f32>| of.get(1).copied().unwrap_or_default();
            Reading {
                acts: self.acts.of(said.numbers()),
                talk: self.talk.of(said.numbers()),
                destroys: second(self.destroys.of(said.numbers())),
                conditional: second(self.conditional.of(said.numbers())),
                fits: cards.iter().map(|card| card.fit(&said)).collect(),
            }
        };
        Ok(vectors.iter().map(reading).collect())
    }
}

impl Engine {
    /// What somebody said in a chat, ready to be held against what is said later. Nobody's words are kept anywhere but in this
    /// process.
    ///
    /// # Errors
    /// [`EmbedError`] where it has no vectors.
    pub async fn said(&self, texts: &[&str]) -> Result<CardReader, EmbedError> {
        let texts: Vec<&str> = texts.iter().map(|text| to_read(text)).collect();
        let vectors = self.lately(&texts).await?;
        let directions = vectors.iter().map(|vector| self.space.direction(vector));
        Ok(CardReader::new(directions.collect(), &self.background))
    }

    /// The vectors of texts, of which some were read a moment ago: who routes a message reads it after who asked what it does, and
    /// what a chat is about is asked with each of its messages.
    async fn lately(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        let known = |text: &&str| {
            let lately = self.lately.lock().unwrap_or_else(PoisonError::into_inner);
            lately.get(*text).cloned()
        };
        let mut found: Vec<Option<Vector>> = texts.iter().map(known).collect();
        let missing = texts.iter().zip(&found).filter(|(_, found)| found.is_none());
        let missing: Vec<&str> = missing.map(|(text, _)| *text).collect();
        if !missing.is_empty() {
            let made = self.embed.embed(&missing).await?;
            if made.len() != missing.len() {
                return Err(EmbedError::Unavailable);
            }
            let mut lately = self.lately.lock().unwrap_or_else(PoisonError::into_inner);
            if lately.len() + made.len() > LATELY_MAX {
                lately.clear();
            }
            let fresh = missing.iter().map(|text| (*text).to_owned());
            lately.extend(fresh.zip(made.iter().cloned()));
            drop(lately);
            let empty = found.iter_mut().filter(|found| found.is_none());
            for (place, vector) in empty.zip(made) {
                *place = Some(vector);
            }
        }
        Ok(found.into_iter().flatten().collect())
    }
}

async fn vectors(
    embed: &dyn Embed,
    kept: &dyn VectorStore,
    texts: &[&str],
) -> Result<Vec<Vector>, EmbedError> {
    if let Some(vectors) = kept.load(embed.model(), texts).await {
        return Ok(vectors);
    }
    let mut vectors = Vec::with_capacity(texts.len());
    // Few at a time, so that whoever wants it to end need not wait for all of them.
    for some in texts.chunks(AT_ONCE) {
        vectors.extend(embed.embed(some).await?);
    }
    kept.keep(embed.model(), texts, &vectors).await;
    Ok(vectors)
}
