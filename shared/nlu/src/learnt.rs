//! What the labelled sentences teach: where sentences lie, and which of them mean what. It is a value that can be kept, so that it is
//! learnt once a model and edition of the sentences, not at each start.
//!
//! A sentence is classified by how near it is to each of some landmarks, which are every third labelled sentence: a Gaussian kernel, with
//! the rest of the sentences to weigh them (Williams and Seeger, *Using the Nyström method to speed up kernel machines*, 2001). Of
//! sentences kept back a fifth fewer are misread than by the directions themselves, and of requests four fifths fewer.

use std::collections::BTreeMap;

use crate::embed::Vector;
use crate::kept;
use crate::probe::{Fit, Probe, Products};
use crate::sentences::{Act, Sentence, Talk, languages, sentences};
use crate::space::Space;

/// How many classes each probe tells apart: acts, kinds of talk, whether something is destroyed, waited for, corrected, told.
const CLASSES: [usize; 6] = [Act::ALL.len(), Talk::ALL.len(), 2, 2, 2, 2];
/// Rows of weights of all probes.
const ROWS: usize = CLASSES[0] + CLASSES[1] + CLASSES[2] + CLASSES[3] + CLASSES[4] + CLASSES[5];
/// Most landmarks.
const LANDMARKS_MAX: usize = 1_000;
/// How fast a landmark is out of sight, by the cosine.
const SHARPNESS: f32 = 2.0;

/// What was learnt.
#[derive(Debug)]
pub(crate) struct Learnt {
    pub(crate) space: Space,
    landmarks: Vec<Vector>,
    probes: [Probe; 6],
}

/// What speaks for each class of each probe.
pub(crate) struct Speaks {
    pub(crate) acts: Vec<f32>,
    pub(crate) talk: Vec<f32>,
    pub(crate) destroys: f32,
    pub(crate) conditional: f32,
    pub(crate) corrects: f32,
    pub(crate) tells: f32,
}

/// The class of a sentence for each probe; none where it teaches that one nothing.
fn classes(sentence: &Sentence) -> [Option<usize>; 6] {
    let talk = |talk: Talk| Talk::ALL.iter().position(|known| *known == talk);
    [
        sentence
            .act
            .and_then(|of| Act::ALL.iter().position(|act| *act == of)),
        sentence.talk.and_then(talk),
        sentence.destroys.map(usize::from),
        sentence.is_conditional.map(usize::from),
        sentence.corrects.map(usize::from),
        sentence.tells.map(usize::from),
    ]
}

impl Learnt {
    /// Another way of learning is another name.
    pub(crate) const FORM: &str = "landmarks of acts";

    /// Learns from all sentences, each with its vector. That takes some seconds of computing.
    pub(crate) fn of(all: &[Sentence], vectors: &[Vector]) -> Self {
        // What is told beside a request lies anywhere, and is no measure of where requests lie.
        let acts = || {
            all.iter()
                .zip(vectors)
                .filter(|(sentence, _)| sentence.act.is_some())
        };
        let space = Space::of(acts().map(|(sentence, vector)| (*sentence, vector)));
        let directions: Vec<Vector> = vectors.iter().map(|vector| space.direction(vector)).collect();
        let those: Vec<Vector> = acts().map(|(_, vector)| space.direction(vector)).collect();
        let count = landmarks(those.len());
        let chosen = (0..count).filter_map(|at| those.get(at * those.len() / count).cloned());
        let landmarks: Vec<Vector> = chosen.collect();
        let near: Vec<Vec<f32>> = directions.iter().map(|said| nearness(&landmarks, said)).collect();
        // Sentences that teach the same are multiplied once, for all probes.
        let mut alike: BTreeMap<[Option<usize>; 6], Vec<&[f32]>> = BTreeMap::new();
        for (sentence, near) in all.iter().zip(&near) {
            alike.entry(classes(sentence)).or_default().push(near);
        }
        let mut fits = CLASSES.map(|classes| Fit::new(count, classes));
        for (of_each, rows) in &alike {
            for (fit, class) in fits.iter_mut().zip(of_each) {
                fit.count(*class, rows.len());
            }
        }
        for (of_each, rows) in alike {
            let products = Products::of(&rows, count);
            for (fit, class) in fits.iter_mut().zip(of_each) {
                fit.add(class, &products);
            }
        }
        Self {
            space,
            landmarks,
            probes: fits.map(Fit::solved),
        }
    }

    /// Reads a direction.
    pub(crate) fn speaks(&self, said: &Vector) -> Speaks {
        let near = nearness(&self.landmarks, said);
        let [acts, talk, rest @ ..] = &self.probes;
        let [destroys, conditional, corrects, tells] = rest.each_ref().map(|probe| {
            let speaks = probe.of(&near);
            speaks.get(1).copied().unwrap_or_default()
        });
        Speaks {
            acts: acts.of(&near),
            talk: talk.of(&near),
            destroys,
            conditional,
            corrects,
            tells,
        }
    }

    /// The same as bytes: the means of the space, the rows of the probes, then the landmarks.
    pub(crate) fn kept(&self) -> Vec<u8> {
        let rows = self.probes.iter().flat_map(|probe| &probe.rows);
        let rows = rows.map(Vec::as_slice);
        let mut bytes = kept::numbers(self.space.means().chain(rows).flatten().copied());
        bytes.extend(kept::packed(&self.landmarks));
        bytes
    }

    /// What was kept; none where the bytes hold something else.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (means, count) = (
            1 + languages(),
            landmarks(sentences().filter(|known| known.act.is_some()).count()),
        );
        // A row has a constant beside its weights, a landmark a scale beside its bytes.
        let of_rows = ROWS * (count + 1);
        let width = bytes.len().checked_sub(4 * of_rows + 4 * count)? / (4 * means + count);
        let (numbers, of_landmarks) = bytes.split_at_checked(4 * (means * width + of_rows))?;
        let numbers = kept::read_numbers(numbers)?;
        let (of_space, of_probes) = numbers.split_at_checked(means * width)?;
        let landmarks = kept::unpacked(of_landmarks, count)?;
        if width == 0 || landmarks.iter().any(|landmark| landmark.numbers().len() != width) {
            return None;
        }
        let mut means = of_space.chunks_exact(width).map(<[f32]>::to_vec);
        let mut rows = of_probes.chunks_exact(count + 1).map(<[f32]>::to_vec);
        let probes = CLASSES.map(|classes| Probe {
            rows: rows.by_ref().take(classes).collect(),
        });
        Some(Self {
            probes,
            space: Space::around(means.next()?, means.collect()),
            landmarks,
        })
    }
}

/// How many landmarks there are of so many sentences.
fn landmarks(sentences: usize) -> usize {
    sentences.min(LANDMARKS_MAX)
}

fn nearness(landmarks: &[Vector], said: &Vector) -> Vec<f32> {
    let near = |landmark: &Vector| (SHARPNESS * (landmark.cosine(said) - 1.0)).exp();
    landmarks.iter().map(near).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_learnt_reads_the_same_after_it_was_kept() {
        let all: Vec<Sentence> = sentences().collect();
        #[expect(clippy::cast_precision_loss, reason = "some thousand sentences")]
        let vector = |(at, sentence): (usize, &Sentence)| {
            let act = Act::ALL
                .iter()
                .position(|act| Some(*act) == sentence.act)
                .unwrap_or(3);
            Vector::of(vec![
                1.0,
                act as f32 / 4.0,
                (at % 7) as f32 / 9.0,
                (at % 5) as f32 / 8.0,
            ])
        };
        let vectors: Vec<Vector> = all.iter().enumerate().map(vector).collect();
        let learnt = Learnt::of(&all, &vectors);
        let bytes = learnt.kept();
        let read = Learnt::read(&bytes).unwrap();
        let (before, after) = (
            learnt.space.direction(&vectors[5]),
            read.space.direction(&vectors[5]),
        );
        assert_eq!(before, after);
        let (before, after) = (learnt.speaks(&before), read.speaks(&after));
        let mut acts = before.acts.iter().zip(&after.acts);
        assert!(acts.all(|(before, after)| (before - after).abs() < 0.05));
        assert!((before.conditional - after.conditional).abs() < 0.05);
        for bad in [&bytes[4..], &bytes[..bytes.len() - 4], &bytes[..8], &[]] {
            assert!(Learnt::read(bad).is_none(), "{} bytes", bad.len());
        }
    }
}
