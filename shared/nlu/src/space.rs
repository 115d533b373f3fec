//! Where sentences lie: the model's directions without what they share and without their language.
//!
//! Sentences of one model lie close together, and those of one language closer: a French question is nearer to every French
//! sentence than to the English one that says the same. Each direction is taken from the mean of its own language, which it is
//! told apart by; what is left is what is said.

use std::collections::BTreeMap;

use crate::embed::Vector;
use crate::sentences::Sentence;

/// The means of all languages.
#[derive(Debug)]
pub(crate) struct Space {
    mean: Vec<f32>,
    languages: Vec<Language>,
}

#[derive(Debug)]
struct Language {
    mean: Vec<f32>,
    /// From the mean of everything to that of the language.
    direction: Vector,
}

impl Space {
    /// The space of these sentences, each with its vector.
    pub(crate) fn of<'a>(all: impl Iterator<Item = (Sentence, &'a Vector)> + Clone) -> Self {
        let mut by_language: BTreeMap<&str, Vec<&Vector>> = BTreeMap::new();
        for (sentence, vector) in all.clone() {
            by_language.entry(sentence.language).or_default().push(vector);
        }
        let mean = mean_of(all.map(|(_, vector)| vector));
        let languages = by_language.into_values().map(|own| mean_of(own.into_iter()));
        Self::around(mean, languages.collect())
    }

    /// The space with these means: of everything, and of each language.
    pub(crate) fn around(mean: Vec<f32>, languages: Vec<Vec<f32>>) -> Self {
        let language = |own: Vec<f32>| Language {
            direction: Vector::of(difference(&own, &mean)),
            mean: own,
        };
        Self {
            languages: languages.into_iter().map(language).collect(),
            mean,
        }
    }

    /// The means that it is made of, that of everything first.
    pub(crate) fn means(&self) -> impl Iterator<Item = &[f32]> {
        let languages = self.languages.iter().map(|language| language.mean.as_slice());
        std::iter::once(self.mean.as_slice()).chain(languages)
    }

    /// How many numbers a vector has here.
    pub(crate) fn width(&self) -> usize {
        self.mean.len()
    }

    /// What a sentence says, as a direction, whatever its language.
    pub(crate) fn direction(&self, vector: &Vector) -> Vector {
        let seen = Vector::of(difference(vector.numbers(), &self.mean));
        let near = |language: &&Language| language.direction.cosine(&seen);
        let language = self
            .languages
            .iter()
            .max_by(|one, other| near(one).total_cmp(&near(other)));
        let mean = language.map_or(&self.mean, |language| &language.mean);
        Vector::of(difference(vector.numbers(), mean))
    }
}

fn mean_of<'a>(vectors: impl Iterator<Item = &'a Vector>) -> Vec<f32> {
    let mut mean: Vec<f32> = Vec::new();
    let mut count = 0.0_f32;
    for vector in vectors {
        mean.resize(vector.numbers().len(), 0.0);
        mean.iter_mut()
            .zip(vector.numbers())
            .for_each(|(to, own)| *to += own);
        count += 1.0;
    }
    mean.iter_mut().for_each(|number| *number /= count.max(1.0));
    mean
}

fn difference(from: &[f32], what: &[f32]) -> Vec<f32> {
    from.iter().zip(what).map(|(from, what)| from - what).collect()
}
