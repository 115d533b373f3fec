//! What the labelled sentences teach: where sentences lie, and which directions mean what. It is a value that can be kept, so that
//! it is learnt once a model and edition of the sentences, not at each start.

use crate::embed::Vector;
use crate::kept;
use crate::probe::Probe;
use crate::sentences::{Act, Sentence, Talk, languages};
use crate::space::Space;

/// Rows of weights of all probes.
const ROWS: usize = Act::ALL.len() + Talk::ALL.len() + 2 + 2 + 2;

/// What was learnt.
#[derive(Debug)]
pub(crate) struct Learnt {
    pub(crate) space: Space,
    pub(crate) acts: Probe,
    pub(crate) talk: Probe,
    pub(crate) destroys: Probe,
    pub(crate) conditional: Probe,
    pub(crate) corrects: Probe,
}

impl Learnt {
    /// Learns from all sentences, each with its vector. That takes a second of computing.
    pub(crate) fn of(all: &[Sentence], vectors: &[Vector]) -> Self {
        let space = Space::of(all.iter().copied().zip(vectors));
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
        Self {
            acts: fit(&act, Act::ALL.len()),
            talk: fit(&talk, Talk::ALL.len()),
            destroys: fit(&|sentence| sentence.destroys.map(usize::from), 2),
            conditional: fit(&|sentence| sentence.is_conditional.map(usize::from), 2),
            corrects: fit(&|sentence| sentence.corrects.map(usize::from), 2),
            space,
        }
    }

    /// The same as bytes: the means of the space, then the rows of the probes.
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
        kept::numbers(self.space.means().chain(rows).flatten().copied())
    }

    /// What was kept; none where the bytes hold something else.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let numbers = kept::read_numbers(bytes)?;
        let means = 1 + languages();
        // A row has a constant beside its weights.
        let width = numbers.len().checked_sub(ROWS)? / (means + ROWS);
        let (of_space, of_probes) = numbers.split_at_checked(means * width)?;
        if width == 0 || of_probes.len() != ROWS * (width + 1) {
            return None;
        }
        let mut means = of_space.chunks_exact(width).map(<[f32]>::to_vec);
        let mut rows = of_probes.chunks_exact(width + 1).map(<[f32]>::to_vec);
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
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sentences::sentences;

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
        assert_eq!(learnt.acts.of(before.numbers()), read.acts.of(after.numbers()));
        assert_eq!(learnt.conditional, read.conditional);
        for bad in [&bytes[4..], &bytes[..bytes.len() - 4], &bytes[..8], &[]] {
            assert!(Learnt::read(bad).is_none(), "{} bytes", bad.len());
        }
    }
}
