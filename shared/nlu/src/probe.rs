//! A linear classifier over directions: ridge regression on one column a class, each class weighing the same however many
//! sentences it has (Hastie, Tibshirani, Friedman, *The Elements of Statistical Learning*, sections 3.4.1 and 4.2).

#![expect(
    clippy::indexing_slicing,
    reason = "every index is below the width of a matrix that is made here"
)]

/// How strongly large weights are held back.
const RIDGE: f64 = 0.002;

/// A fitted classifier: a row of weights a class, the last of them for the constant.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Probe {
    pub(crate) rows: Vec<Vec<f32>>,
}

impl Probe {
    /// Fits it to directions with the number of the class of each.
    pub(crate) fn fit(examples: &[(&[f32], usize)], classes: usize) -> Self {
        let width = examples.first().map_or(0, |(numbers, _)| numbers.len()) + 1;
        let mut counts = vec![0_u32; classes];
        for (_, class) in examples {
            counts[*class] += 1;
        }
        let mut gram = vec![0.0_f64; width * width];
        let mut targets = vec![vec![0.0_f64; width]; classes];
        let mut row = vec![0.0_f64; width];
        for (numbers, class) in examples {
            let weight = 1.0 / f64::from(counts[*class]);
            row.iter_mut()
                .zip(numbers.iter().copied().chain([1.0]))
                .for_each(|(to, from)| *to = f64::from(from));
            for (at, value) in row.iter().enumerate() {
                let value = value * weight;
                let to = &mut gram[at * width..at * width + at + 1];
                to.iter_mut()
                    .zip(&row)
                    .for_each(|(to, other)| *to += value * other);
            }
            for (number, target) in targets.iter_mut().enumerate() {
                let wanted = if number == *class { weight } else { -weight };
                target
                    .iter_mut()
                    .zip(&row)
                    .for_each(|(to, value)| *to += wanted * value);
            }
        }
        for at in 0..width {
            gram[at * width + at] += RIDGE;
        }
        let root = cholesky(gram, width);
        let rows = targets
            .into_iter()
            .map(|target| solved(&root, target).into_iter().map(narrowed).collect())
            .collect();
        Self { rows }
    }

    /// What speaks for each class, about -1 to 1.
    pub(crate) fn of(&self, numbers: &[f32]) -> Vec<f32> {
        let of_row = |row: &Vec<f32>| {
            let constant = row.last().copied().unwrap_or_default();
            row.iter().zip(numbers).map(|(a, b)| a * b).sum::<f32>() + constant
        };
        self.rows.iter().map(of_row).collect()
    }
}

#[expect(clippy::cast_possible_truncation, reason = "weights need no more digits")]
fn narrowed(number: f64) -> f32 {
    number as f32
}

/// The lower root of a symmetric matrix whose lower half is given; positive definite, as a ridge was added.
fn cholesky(mut matrix: Vec<f64>, width: usize) -> Vec<f64> {
    for row in 0..width {
        for column in 0..=row {
            let (of_row, of_column) = (row * width, column * width);
            let done: f64 = matrix[of_row..of_row + column]
                .iter()
                .zip(&matrix[of_column..of_column + column])
                .map(|(a, b)| a * b)
                .sum();
            let rest = matrix[of_row + column] - done;
            matrix[of_row + column] = if row == column {
                rest.max(f64::MIN_POSITIVE).sqrt()
            } else {
                rest / matrix[of_column + column]
            };
        }
    }
    matrix
}

/// Solves `root · rootᵀ · x = target`.
fn solved(root: &[f64], mut target: Vec<f64>) -> Vec<f64> {
    let width = target.len();
    for row in 0..width {
        let done: f64 = (0..row).map(|at| root[row * width + at] * target[at]).sum();
        target[row] = (target[row] - done) / root[row * width + row];
    }
    for row in (0..width).rev() {
        let done: f64 = (row + 1..width)
            .map(|at| root[at * width + row] * target[at])
            .sum();
        target[row] = (target[row] - done) / root[row * width + row];
    }
    target
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_that_a_line_parts_are_told_apart() {
        let points = [
            [1.0, 0.2],
            [0.9, -0.1],
            [0.8, 0.4],
            [-1.0, 0.1],
            [-0.7, -0.3],
            [-0.9, 0.3],
        ];
        let examples: Vec<(&[f32], usize)> = points
            .iter()
            .enumerate()
            .map(|(at, point)| (point.as_slice(), usize::from(at >= 3)))
            .collect();
        let probe = Probe::fit(&examples, 2);
        for (point, class) in examples {
            let speaks = probe.of(point);
            assert!(
                speaks[class] > 0.5 && speaks[1 - class] < -0.5,
                "{point:?} {speaks:?}"
            );
        }
    }

    #[test]
    fn a_rare_class_weighs_as_much_as_a_frequent_one() {
        let many = vec![[1.0_f32, 0.0]; 50];
        let rare = [[-1.0_f32, 0.0]];
        let examples: Vec<(&[f32], usize)> = many
            .iter()
            .map(|point| (point.as_slice(), 0))
            .chain(rare.iter().map(|point| (point.as_slice(), 1)))
            .collect();
        let between = Probe::fit(&examples, 2).of(&[0.0, 0.0]);
        assert!((between[0] - between[1]).abs() < 0.05, "{between:?}");
    }
}
