//! What the labelled sentences teach: where sentences lie, and which of them mean what. It is a value that can be kept, so that it is
//! learnt once a model and edition of the sentences, not at each start.
//!
//! A sentence is classified by how near it is to each of some landmarks, which are every third labelled sentence: a Gaussian kernel, with
//! the rest of the sentences to weigh them (Williams and Seeger, *Using the Nyström method to speed up kernel machines*, 2001). Of
//! sentences kept back a fifth fewer are misread than by the directions themselves, and of requests four fifths fewer.

use crate::embed::Vector;
use crate::kept;
use crate::probe::Probe;
use crate::sentences::{Act, Sentence, Talk, languages, sentences};
use crate::space::Space;

/// Rows of weights of all probes.
const ROWS: usize = Act::ALL.len() + Talk::ALL.len() + 2 + 2 + 2;

/// Most landmarks.
const LANDMARKS_MAX: usize = 1_000;
/// How fast a landmark is out of sight, by the cosine.
const SHARPNESS: f32 = 2.0;

/// What was learnt.
#[derive(Debug)]
pub(crate) struct Learnt {
    pub(crate) space: Space,
    landmarks: Vec<Vector>,
    pub(crate) acts: Probe,
    pub(crate) talk: Probe,
    pub(crate) destroys: Probe,
    pub(crate) conditional: Probe,
    pub(crate) corrects: Probe,
}

impl Learnt {
    /// Another way of learning is another name.
    pub(crate) const FORM: &str = "landmarks";

    /// Learns from all sentences, each with its vector. That takes a second of computing.
    pub(crate) fn of(all: &[Sentence], vectors: &[Vector]) -> Self {
        let space = Space::of(all.iter().copied().zip(vectors));
        let directions: Vec<Vector> = vectors.iter().map(|vector| space.direction(vector)).collect();
        let count = landmarks(all.len());
        let chosen = (0..count).filter_map(|at| directions.get(at * all.len() / count).cloned());
        let landmarks: Vec<Vector> = chosen.collect();
        let near: Vec<Vec<f32>> = directions.iter().map(|said| nearness(&landmarks, said)).collect();
        let fit = |class: &dyn Fn(&Sentence) -> Option<usize>, classes: usize| {
            let examples: Vec<(&[f32], usize)> = all
                .iter()
                .zip(&near)
                .filter_map(|(sentence, near)| Some((near.as_slice(), class(sentence)?)))
                .collect();
            Probe::fit(&examples, classes)
        };
        let act = |sentence: &Sentence| Act::ALL.iter().position(|act| *act == sentence.act);
        let talk = |sentence: &Sentence| Talk::ALL.iter().position(|talk| Some(*talk) == sentence.talk);
        Self {
            acts: fit(&act, Act::ALL.len()),
            talk: fit(&talk, Talk::ALL.len()),
            destroys: fit(&|sentence| sentence.destroys.map(usize::from), 2),
            conditional: fit(&|sentence| sentence.is_conditional.map(usize::from), 2),
            corrects: fit(&|sentence| sentence.corrects.map(usize::from), 2),
            space,
            landmarks,
        }
    }

    /// How near a direction is to each landmark, which the probes read.
    pub(crate) fn near(&self, said: &Vector) -> Vec<f32> {
        nearness(&self.landmarks, said)
    }

    /// The same as bytes: the means of the space, the rows of the probes, then the landmarks.
    pub(crate) fn kept(&self) -> Vec<u8> {
        let probes = [
            &self.acts,
            &self.talk,
            &self.destroys,
            &self.conditional,
            &self.corrects,
        ];
        let rows = probes
            .into_iter()
            .flat_map(|probe| &probe.rows)
            .map(Vec::as_slice);
        let mut bytes = kept::numbers(self.space.means().chain(rows).flatten().copied());
        bytes.extend(kept::packed(&self.landmarks));
        bytes
    }

    /// What was kept; none where the bytes hold something else.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (means, count) = (1 + languages(), landmarks(sentences().count()));
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
        let mut probe = |count: usize| Probe {
            rows: rows.by_ref().take(count).collect(),
        };
        Some(Self {
            acts: probe(Act::ALL.len()),
            talk: probe(Talk::ALL.len()),
            destroys: probe(2),
            conditional: probe(2),
            corrects: probe(2),
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
            let act = Act::ALL.iter().position(|act| *act == sentence.act).unwrap();
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
        let speaks = |learnt: &Learnt| learnt.acts.of(&learnt.near(&before));
        let mut both = speaks(&learnt).into_iter().zip(speaks(&read));
        assert!(both.all(|(before, after)| (before - after).abs() < 0.05));
        assert_eq!(learnt.conditional, read.conditional);
        for bad in [&bytes[4..], &bytes[..bytes.len() - 4], &bytes[..8], &[]] {
            assert!(Learnt::read(bad).is_none(), "{} bytes", bad.len());
        }
    }
}
