//! The offline engine: reads texts by their vectors.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::to_read;
use futures_util::future::join_all;
use tokio::task::spawn_blocking;

use crate::cards::CardReader;
use crate::embed::{Embed, EmbedError, Vector, WIDTH_MAX};
use crate::kept::{self, VectorStore};
use crate::learnt::Learnt;
use crate::quoted::unquoted;
use crate::sentences::{Act, FILE, Sentence, Talk, sentences};

/// Most cards that are kept ready; more begin anew.
const CARDS_MAX: usize = 2_000;
/// Texts that are given to the model of sentences at once, and whose vectors are kept together.
const AT_ONCE: usize = 64;
/// Most texts that were read lately and whose vectors are kept, two kilobytes each; more begin anew.
const LATELY_MAX: usize = 512;
/// Most texts of a card that are read.
const CARD_TEXTS_MAX: usize = 64;

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
    /// What speaks for its being said instead of what was said before, likewise.
    pub corrects: f32,
    /// For its telling how things are beside what is asked for, and asking for nothing itself.
    pub tells: f32,
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
    learnt: Learnt,
    /// What anybody may say, which new cards are measured against; read when the first of them comes.
    background: Mutex<Option<Arc<[Vector]>>>,
    cards: Mutex<HashMap<Vec<String>, Arc<CardReader>>>,
    lately: Mutex<HashMap<String, Vector>>,
}

impl Engine {
    /// An engine with what was learnt by this model before, or learns it. That takes a vector of each sentence, seconds; what was
    /// made of them is kept as it comes, so that whoever breaks off goes on there.
    ///
    /// # Errors
    /// [`EmbedError`] where the sentences have no vectors.
    pub async fn new(embed: Arc<dyn Embed>, kept: Arc<dyn VectorStore>) -> Result<Self, EmbedError> {
        let key = kept::key([embed.model(), FILE, Learnt::FORM]);
        let known = kept::load_pieces(kept.as_ref(), &key).await;
        let (learnt, background) = match known.and_then(|bytes| Learnt::read(&bytes)) {
            Some(learnt) => (learnt, None),
            None => {
                let (bytes, background) = learn(embed.as_ref(), kept.as_ref()).await?;
                kept::keep_pieces(kept.as_ref(), &key, &bytes).await;
                // As the next process reads it, so that it is the same for both.
                let learnt = Learnt::read(&bytes).ok_or(EmbedError::Form)?;
                (learnt, Some(background))
            }
        };
        Ok(Self {
            embed,
            kept,
            learnt,
            background: Mutex::new(background),
            cards: Mutex::default(),
            lately: Mutex::default(),
        })
    }

    /// Makes a card ready, from the texts that it says of itself. It is kept: the same texts cost nothing the next time.
    ///
    /// # Errors
    /// [`EmbedError`] where its texts have no vectors.
    pub async fn card(&self, texts: &[&str]) -> Result<Arc<CardReader>, EmbedError> {
        let texts: Vec<&str> = texts
            .iter()
            .take(CARD_TEXTS_MAX)
            .map(|text| to_read(text))
            .collect();
        let own: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        if let Some(card) = locked(&self.cards).get(&own) {
            return Ok(Arc::clone(card));
        }
        // What a card is depends on where sentences lie, too.
        let made_of = [self.embed.model(), FILE]
            .into_iter()
            .chain(texts.iter().copied());
        let key = kept::key(made_of);
        let known = self.kept.load(&key).await;
        let known = known.and_then(|bytes| CardReader::read(&bytes, texts.len()));
        let card = match known.filter(|card| card.width() == self.learnt.space.width()) {
            Some(card) => card,
            None => {
                let vectors = self.vectors(&texts).await?;
                let directions: Vec<Vector> = vectors
                    .iter()
                    .map(|vector| self.learnt.space.direction(vector))
                    .collect();
                let background = self.background().await?;
                let bytes = aside(move || CardReader::new(directions, &background).kept()).await?;
                // As the next process reads it, so that it is the same for both.
                let card = CardReader::read(&bytes, texts.len()).ok_or(EmbedError::Form)?;
                self.kept.keep(&key, bytes).await;
                card
            }
        };
        let card = Arc::new(card);
        self.hold(own, Arc::clone(&card));
        Ok(card)
    }

    /// Reads texts, each held against every card; what they quote asks for nothing, and is not read.
    ///
    /// # Errors
    /// [`EmbedError`] where a text has no vector.
    pub async fn read(&self, texts: &[&str], cards: &[Arc<CardReader>]) -> Result<Vec<Reading>, EmbedError> {
        let texts: Vec<Cow<'_, str>> = texts.iter().map(|text| unquoted(to_read(text))).collect();
        let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
        let vectors = self.lately(&texts).await?;
        let reading = |vector: &Vector| {
            let said = self.learnt.space.direction(vector);
            let speaks = self.learnt.speaks(&said);
            Reading {
                acts: speaks.acts,
                talk: speaks.talk,
                destroys: speaks.destroys,
                conditional: speaks.conditional,
                corrects: speaks.corrects,
                tells: speaks.tells,
                fits: cards.iter().map(|card| card.fit(&said)).collect(),
            }
        };
        Ok(vectors.iter().map(reading).collect())
    }

    /// What somebody said in a chat, ready to be held against what is said later: each of these groups of texts as a card. What is new
    /// of them is read at once. Nobody's words are kept anywhere but in this process.
    ///
    /// # Errors
    /// [`EmbedError`] where a text has no vector.
    pub async fn said(&self, groups: &[Vec<&str>]) -> Result<Vec<Arc<CardReader>>, EmbedError> {
        let own = |texts: &Vec<&str>| -> Vec<String> {
            texts.iter().map(|text| to_read(text).to_owned()).collect()
        };
        let groups: Vec<Vec<String>> = groups.iter().map(own).collect();
        let is_new = |texts: &&Vec<String>| !locked(&self.cards).contains_key(*texts);
        let fresh: Vec<&Vec<String>> = groups.iter().filter(is_new).collect();
        if !fresh.is_empty() {
            let texts: Vec<&str> = fresh.iter().copied().flatten().map(String::as_str).collect();
            let vectors = self.lately(&texts).await?;
            let mut directions = vectors.iter().map(|vector| self.learnt.space.direction(vector));
            let new: Vec<(Vec<String>, Vec<Vector>)> = fresh
                .into_iter()
                .map(|texts| (texts.clone(), directions.by_ref().take(texts.len()).collect()))
                .collect();
            let background = self.background().await?;
            let card = move |(texts, own)| (texts, Arc::new(CardReader::new(own, &background)));
            let made: Vec<_> = aside(move || new.into_iter().map(card).collect()).await?;
            made.into_iter().for_each(|(texts, card)| self.hold(texts, card));
        }
        let cards = locked(&self.cards);
        let held = groups.iter().map(|texts| cards.get(texts).cloned());
        held.collect::<Option<_>>().ok_or(EmbedError::Failed)
    }

    fn hold(&self, texts: Vec<String>, card: Arc<CardReader>) {
        let mut cards = locked(&self.cards);
        if cards.len() >= CARDS_MAX {
            cards.clear();
        }
        cards.insert(texts, card);
    }

    /// The vectors of texts, of which some were read a moment ago: who routes a message reads it after who asked what it does, and
    /// what a chat is about is asked with each of its messages.
    async fn lately(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        let known = |text: &&str| locked(&self.lately).get(*text).cloned();
        let mut found: Vec<Option<Vector>> = texts.iter().map(known).collect();
        let missing = texts.iter().zip(&found).filter(|(_, found)| found.is_none());
        let missing: Vec<&str> = missing.map(|(text, _)| *text).collect();
        if !missing.is_empty() {
            let made = self.vectors(&missing).await?;
            let mut lately = locked(&self.lately);
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

    /// Vectors that can be held against what was learnt.
    async fn vectors(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        let vectors = embedded(self.embed.as_ref(), texts).await?;
        let is_known = |vector: &Vector| vector.numbers().len() == self.learnt.space.width();
        vectors
            .iter()
            .all(is_known)
            .then_some(vectors)
            .ok_or(EmbedError::Form)
    }

    async fn background(&self) -> Result<Arc<[Vector]>, EmbedError> {
        if let Some(background) = locked(&self.background).as_ref() {
            return Ok(Arc::clone(background));
        }
        let vectors = all_vectors(self.embed.as_ref(), self.kept.as_ref()).await?;
        let background = background(&self.learnt, &vectors);
        *locked(&self.background) = Some(Arc::clone(&background));
        Ok(background)
    }
}

fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Computes on another thread than those that serve.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, EmbedError> {
    spawn_blocking(work).await.map_err(|_| EmbedError::Failed)
}

async fn learn(embed: &dyn Embed, kept: &dyn VectorStore) -> Result<(Vec<u8>, Arc<[Vector]>), EmbedError> {
    let vectors = all_vectors(embed, kept).await?;
    aside(move || {
        let all: Vec<Sentence> = sentences().collect();
        let learnt = Learnt::of(&all, &vectors);
        let background = background(&learnt, &vectors);
        (learnt.kept(), background)
    })
    .await
}

/// The directions of what anybody may say.
fn background(learnt: &Learnt, vectors: &[Vector]) -> Arc<[Vector]> {
    let said = sentences()
        .zip(vectors)
        .filter(|(sentence, _)| sentence.is_background);
    said.map(|(_, vector)| learnt.space.direction(vector)).collect()
}

/// The vectors of all labelled sentences, as they are kept: what is missing is made and kept, piece by piece.
async fn all_vectors(embed: &dyn Embed, kept: &dyn VectorStore) -> Result<Vec<Vector>, EmbedError> {
    let texts: Vec<&str> = sentences().map(|sentence| sentence.text).collect();
    let pieces: Vec<(&[&str], String)> = texts
        .chunks(AT_ONCE)
        .map(|piece| {
            let made_of = [embed.model()].into_iter().chain(piece.iter().copied());
            (piece, kept::key(made_of))
        })
        .collect();
    let known = join_all(pieces.iter().map(|(_, key)| kept.load(key))).await;
    let mut vectors: Vec<Vector> = Vec::with_capacity(texts.len());
    for ((piece, key), known) in pieces.into_iter().zip(known) {
        let known = known.and_then(|bytes| kept::unpacked(&bytes, piece.len()));
        let found = match known {
            Some(known) => known,
            None => {
                let bytes = kept::packed(&embedded(embed, piece).await?);
                let made = kept::unpacked(&bytes, piece.len()).ok_or(EmbedError::Form)?;
                kept.keep(&key, bytes).await;
                made
            }
        };
        vectors.extend(found);
    }
    of_one_width(vectors, texts.len())
}

/// One vector for each text.
async fn embedded(embed: &dyn Embed, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
    of_one_width(embed.embed(texts).await?, texts.len())
}

/// So many vectors that can be held against one another: an engine may be somebody else's.
fn of_one_width(vectors: Vec<Vector>, count: usize) -> Result<Vec<Vector>, EmbedError> {
    let width = vectors.first().map_or(0, |vector| vector.numbers().len());
    let is_good = vectors.len() == count
        && (1..=WIDTH_MAX).contains(&width)
        && vectors.iter().all(|vector| vector.numbers().len() == width);
    is_good.then_some(vectors).ok_or(EmbedError::Form)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use async_trait::async_trait;

    use super::*;

    /// A model whose vectors follow from letters alone, and which counts and remembers what it was asked.
    #[derive(Default)]
    struct Letters {
        asked: Mutex<Vec<String>>,
        /// After so many texts it is away.
        ends_after: Option<usize>,
        shape: AtomicUsize,
    }

    const WIDTH: usize = 24;
    /// Shapes of answers: as it should be, one too few, one too many, wider than before.
    const FEW: usize = 1;
    const MANY: usize = 2;
    const WIDE: usize = 3;

    #[async_trait]
    impl Embed for Letters {
        fn model(&self) -> &str {
            "letters"
        }

        async fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
            let mut asked = locked(&self.asked);
            asked.extend(texts.iter().map(|text| (*text).to_owned()));
            if self.ends_after.is_some_and(|most| asked.len() > most) {
                return Err(EmbedError::Unavailable);
            }
            let shape = self.shape.load(Ordering::Relaxed);
            let vector = |text: &&str| {
                let mut numbers = vec![1.0; if shape == WIDE { WIDTH + 1 } else { WIDTH }];
                for (at, byte) in text.bytes().enumerate() {
                    numbers[usize::from(byte) * 7 % WIDTH] += f32::from(byte % 5) / (1.0 + at as f32);
                }
                Vector::of(numbers)
            };
            let mut vectors: Vec<Vector> = texts.iter().map(vector).collect();
            match shape {
                FEW => _ = vectors.pop(),
                MANY => vectors.push(Vector::of(vec![1.0; WIDTH])),
                _ => {}
            }
            Ok(vectors)
        }
    }

    #[derive(Default)]
    struct Shelf(Mutex<HashMap<String, Vec<u8>>>);

    #[async_trait]
    impl VectorStore for Shelf {
        async fn load(&self, key: &str) -> Option<Vec<u8>> {
            locked(&self.0).get(key).cloned()
        }
        async fn keep(&self, key: &str, bytes: Vec<u8>) {
            assert!(bytes.len() < 300_000, "{} bytes", bytes.len());
            locked(&self.0).insert(key.to_owned(), bytes);
        }
    }

    async fn engine(model: &Arc<Letters>, shelf: &Arc<Shelf>) -> Result<Engine, EmbedError> {
        Engine::new(
            Arc::clone(model) as Arc<dyn Embed>,
            Arc::clone(shelf) as Arc<dyn VectorStore>,
        )
        .await
    }

    fn taken(model: &Letters) -> Vec<String> {
        std::mem::take(&mut *locked(&model.asked))
    }

    const CARD: [&str; 3] = ["Weather", "Tells the weather", "Will it rain in Oslo?"];

    #[tokio::test]
    async fn sentences_and_cards_are_embedded_once_and_then_messages_alone() {
        let (model, shelf) = (Arc::<Letters>::default(), Arc::<Shelf>::default());
        let first = engine(&model, &shelf).await.unwrap();
        assert_eq!(taken(&model).len(), sentences().count());
        let card = first.card(&CARD).await.unwrap();
        assert_eq!(taken(&model), CARD);
        let said = first.read(&["rain in Bergen?"], &[card]).await.unwrap();
        let again = first.card(&CARD).await.unwrap();
        assert_eq!(said, first.read(&["rain in Bergen?"], &[again]).await.unwrap());
        assert_eq!(taken(&model), ["rain in Bergen?"]);

        // Another process reads the same, and asks for nothing but the message.
        let second = engine(&model, &shelf).await.unwrap();
        let card = second.card(&CARD).await.unwrap();
        assert_eq!(said, second.read(&["rain in Bergen?"], &[card]).await.unwrap());
        assert_eq!(taken(&model), ["rain in Bergen?"]);
        // A card that is new to it is measured against sentences that are kept.
        second.card(&["Stays", "Finds a flat"]).await.unwrap();
        assert_eq!(taken(&model), ["Stays", "Finds a flat"]);
    }

    #[tokio::test]
    async fn who_learns_goes_on_where_another_broke_off() {
        let shelf = Arc::<Shelf>::default();
        let breaks = Letters {
            ends_after: Some(1_000),
            ..Letters::default()
        };
        let broken = engine(&Arc::new(breaks), &shelf).await.err();
        assert_eq!(broken, Some(EmbedError::Unavailable));
        let model = Arc::<Letters>::default();
        engine(&model, &shelf).await.unwrap();
        let kept = 1_000 / AT_ONCE * AT_ONCE;
        assert_eq!(taken(&model).len(), sentences().count() - kept);
    }

    #[tokio::test]
    async fn what_is_kept_and_broken_is_made_again() {
        let (model, shelf) = (Arc::<Letters>::default(), Arc::<Shelf>::default());
        let first = engine(&model, &shelf).await.unwrap();
        first.card(&CARD).await.unwrap();
        let all = taken(&model).len();
        locked(&shelf.0)
            .values_mut()
            .for_each(|bytes| bytes.truncate(bytes.len() - 1));
        let second = engine(&model, &shelf).await.unwrap();
        second.card(&CARD).await.unwrap();
        assert_eq!(taken(&model).len(), all);
    }

    #[tokio::test]
    async fn vectors_of_another_form_are_an_error_and_nothing_is_kept() {
        let (model, shelf) = (Arc::<Letters>::default(), Arc::<Shelf>::default());
        let good = engine(&model, &shelf).await.unwrap();
        let kept = locked(&shelf.0).len();
        for shape in [FEW, MANY, WIDE] {
            model.shape.store(shape, Ordering::Relaxed);
            assert_eq!(good.card(&CARD).await.err(), Some(EmbedError::Form), "{shape}");
            assert_eq!(
                good.read(&["rain?"], &[]).await.err(),
                Some(EmbedError::Form),
                "{shape}"
            );
        }
        assert_eq!(locked(&shelf.0).len(), kept);
        model.shape.store(FEW, Ordering::Relaxed);
        let empty = Arc::<Shelf>::default();
        assert_eq!(engine(&model, &empty).await.err(), Some(EmbedError::Form));
        assert!(locked(&empty.0).is_empty());
    }
}
