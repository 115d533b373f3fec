//! The encoder: BERT's layers (Devlin et al., 2019, section 3; post-norm), the mean over the pieces, unit length.

#![expect(
    clippy::indexing_slicing,
    reason = "every span is made from the lengths that the states are made of"
)]

use rten_gemm::{BiasVector, GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix};
use rten_simd::SimdOp as _;
use rten_simd::SimdUnaryOp as _;
use rten_tensor::{NdTensorView, NdTensorViewMut};
use rten_vecmath::{Gelu, Normalize, NormalizeOptions, Softmax};

use super::WeightsError;
use super::file::{BLOCK, BLOCK_BYTES, Directory, Sizes, widen};
use crate::embed::{EmbedError, Vector};

/// A product with weights, and what is added to it.
struct Linear {
    weights: PackedBMatrix<f32>,
    bias: Vec<f32>,
}

/// What a vector is multiplied by and what is added after it was brought to mean 0 and variance 1.
struct Norm {
    scale: Vec<f32>,
    bias: Vec<f32>,
}

struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    attended: Linear,
    attended_norm: Norm,
    inner: Linear,
    outer: Linear,
    outer_norm: Norm,
}

/// The layers with their weights.
pub(super) struct Encoder {
    sizes: Sizes,
    /// A row a piece, in blocks of four bits: widened where a text has the piece.
    words: Vec<u8>,
    /// A row a position, with that of the one kind of text there is added.
    positions: Vec<f32>,
    norm: Norm,
    layers: Vec<Layer>,
}

impl Encoder {
    pub(super) fn read(sizes: Sizes, file: &Directory<'_>) -> Result<Self, WeightsError> {
        let gemm = GemmExecutor::new();
        let linear = |name: &str, from: usize, to: usize| {
            let weights = file.widened(&format!("{name}.w"))?;
            if weights.len() != from * to {
                return Err(WeightsError::Unknown);
            }
            let weights = NdTensorView::from_data([to, from], weights.as_slice());
            let weights = gemm.prepack_b(weights.transposed());
            let bias = file.floats(&format!("{name}.b"))?;
            Ok(Linear { weights, bias })
        };
        let norm = |name: &str| {
            let (scale, bias) = (
                file.floats(&format!("{name}.w"))?,
                file.floats(&format!("{name}.b"))?,
            );
            let fits = scale.len() == sizes.hidden && bias.len() == sizes.hidden;
            fits.then_some(Norm { scale, bias }).ok_or(WeightsError::Unknown)
        };
        let Sizes { hidden, inner, .. } = sizes;
        let layer = |number: usize| {
            Ok(Layer {
                query: linear(&format!("l{number}.q"), hidden, hidden)?,
                key: linear(&format!("l{number}.k"), hidden, hidden)?,
                value: linear(&format!("l{number}.v"), hidden, hidden)?,
                attended: linear(&format!("l{number}.ao"), hidden, hidden)?,
                attended_norm: norm(&format!("l{number}.aln"))?,
                inner: linear(&format!("l{number}.fi"), hidden, inner)?,
                outer: linear(&format!("l{number}.fo"), inner, hidden)?,
                outer_norm: norm(&format!("l{number}.oln"))?,
            })
        };
        let layers = (0..sizes.layers).map(layer).collect::<Result<_, _>>()?;
        let mut positions = file.floats("emb.pos")?;
        let kind = file.floats("emb.type")?;
        for row in positions.chunks_mut(hidden) {
            add(row, &kind);
        }
        Ok(Self {
            sizes,
            words: file.blocks("emb.word")?.to_vec(),
            positions,
            norm: norm("emb.ln")?,
            layers,
        })
    }

    /// Most pieces of a text.
    pub(super) fn positions(&self) -> usize {
        self.sizes.positions
    }

    /// The vectors of several texts, each as its pieces. The weights are gone through once for all of them.
    pub(super) fn vectors(&self, texts: &[Vec<u32>]) -> Result<Vec<Vector>, EmbedError> {
        // It chooses the processor's instructions, costs little, and cannot be shared between threads.
        let gemm = &GemmExecutor::new();
        let hidden = self.sizes.hidden;
        let mut states = Vec::new();
        for pieces in texts {
            states.extend(self.embedded(pieces)?);
        }
        for layer in &self.layers {
            let (query, key) = (
                product(gemm, &layer.query, &states)?,
                product(gemm, &layer.key, &states)?,
            );
            let value = product(gemm, &layer.value, &states)?;
            let mut attended = vec![0.0; states.len()];
            let mut start = 0;
            for pieces in texts {
                let own = start..start + pieces.len() * hidden;
                start = own.end;
                let of = [&query[own.clone()], &key[own.clone()], &value[own.clone()]];
                self.attention(gemm, of, &mut attended[own])?;
            }
            let attended = product(gemm, &layer.attended, &attended)?;
            self.add_and_norm(&mut states, &attended, &layer.attended_norm);
            let mut inner = product(gemm, &layer.inner, &states)?;
            Gelu {}.map_mut(&mut inner);
            let outer = product(gemm, &layer.outer, &inner)?;
            self.add_and_norm(&mut states, &outer, &layer.outer_norm);
        }
        let mut states = states.as_slice();
        let mean = |pieces: &Vec<u32>| {
            let (own, rest) = states.split_at(pieces.len() * hidden);
            states = rest;
            let mut mean = vec![0.0; hidden];
            own.chunks(hidden).for_each(|state| add(&mut mean, state));
            Vector::of(mean)
        };
        Ok(texts.iter().map(mean).collect())
    }

    fn embedded(&self, pieces: &[u32]) -> Result<Vec<f32>, EmbedError> {
        let row = self.sizes.hidden / BLOCK * BLOCK_BYTES;
        let mut states = Vec::with_capacity(pieces.len() * self.sizes.hidden);
        for piece in pieces {
            let at = usize::try_from(*piece).map_err(|_| EmbedError::Failed)? * row;
            widen(
                self.words.get(at..at + row).ok_or(EmbedError::Failed)?,
                &mut states,
            );
        }
        add(&mut states, &self.positions);
        for state in states.chunks_mut(self.sizes.hidden) {
            self.normalize(state, &self.norm);
        }
        Ok(states)
    }

    /// Each head's attention of every piece of a text to every piece: of queries, keys and values, into what is attended.
    fn attention(
        &self,
        gemm: &GemmExecutor,
        [query, key, value]: [&[f32]; 3],
        attended: &mut [f32],
    ) -> Result<(), EmbedError> {
        let (hidden, heads) = (self.sizes.hidden, self.sizes.heads);
        let (count, width) = (query.len() / hidden, hidden / heads);
        let shape = [count, heads, width];
        let query = NdTensorView::from_data(shape, query);
        let key = NdTensorView::from_data(shape, key);
        let value = NdTensorView::from_data(shape, value);
        let scale = (f32::from(u16::try_from(width).unwrap_or(u16::MAX)))
            .sqrt()
            .recip();
        let mut out = NdTensorViewMut::from_data(shape, attended);
        let (mut weights, mut mixed) = (vec![0.0; count * count], vec![0.0; count * width]);
        for head in 0..heads {
            let scaled = GemmOptions {
                alpha: scale,
                ..GemmOptions::default()
            };
            let (own, other) = (query.slice((.., head)), key.slice((.., head)));
            let other = GemmInputB::Unpacked(other.transposed());
            gemm.gemm(&mut weights, GemmInputA::Unpacked(own), other, scaled)
                .map_err(|_| EmbedError::Failed)?;
            for row in weights.chunks_mut(count) {
                Softmax::new_mut(row).dispatch();
            }
            let weights = NdTensorView::from_data([count, count], weights.as_slice());
            let values = GemmInputB::Unpacked(value.slice((.., head)));
            gemm.gemm(
                &mut mixed,
                GemmInputA::Unpacked(weights),
                values,
                GemmOptions::default(),
            )
            .map_err(|_| EmbedError::Failed)?;
            let mixed = NdTensorView::from_data([count, width], mixed.as_slice());
            out.slice_mut((.., head)).copy_from(&mixed);
        }
        Ok(())
    }

    fn add_and_norm(&self, states: &mut [f32], more: &[f32], norm: &Norm) {
        add(states, more);
        for state in states.chunks_mut(self.sizes.hidden) {
            self.normalize(state, norm);
        }
    }

    fn normalize(&self, state: &mut [f32], norm: &Norm) {
        #[expect(clippy::cast_precision_loss, reason = "a few hundred numbers")]
        let count = state.len() as f32;
        let mean = state.iter().sum::<f32>() / count;
        let variance = state.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / count;
        let options = NormalizeOptions {
            pre_scale_bias: mean,
            scale: (variance + self.sizes.epsilon).sqrt().recip(),
            element_scale: Some(&norm.scale),
            bias: 0.0,
            element_bias: Some(&norm.bias),
        };
        Normalize::new_mut(state, options).dispatch();
    }
}

fn add(to: &mut [f32], more: &[f32]) {
    to.iter_mut().zip(more).for_each(|(to, more)| *to += more);
}

fn product(gemm: &GemmExecutor, by: &Linear, states: &[f32]) -> Result<Vec<f32>, EmbedError> {
    let count = states.len() / by.weights.rows();
    let mut out = vec![0.0; count * by.weights.cols()];
    let states = NdTensorView::from_data([count, by.weights.rows()], states);
    let options = GemmOptions {
        bias: Some(BiasVector::Row(&by.bias)),
        ..GemmOptions::default()
    };
    let (states, weights) = (GemmInputA::Unpacked(states), GemmInputB::Packed(&by.weights));
    gemm.gemm(&mut out, states, weights, options)
        .map_err(|_| EmbedError::Failed)?;
    Ok(out)
}
