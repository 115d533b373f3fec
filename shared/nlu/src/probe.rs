//! A linear classifier: ridge regression on one column a class, each class weighing the same however many
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

/// Products of rows of numbers with themselves, a one behind each, summed over rows: the lower half, row by row.
#[derive(Debug, Clone)]
pub(crate) struct Products {
    numbers: Vec<f64>,
    width: usize,
}

impl Products {
    pub(crate) fn of(rows: &[&[f32]], width: usize) -> Self {
        let width = width + 1;
        let mut products = Self {
            numbers: vec![0.0; width * width],
            width,
        };
        let mut own = vec![0.0_f64; width];
        for row in rows {
            own.iter_mut()
                .zip(row.iter().copied().chain([1.0]))
                .for_each(|(to, from)| *to = f64::from(from));
            for (at, value) in own.iter().enumerate() {
                let to = &mut products.numbers[at * width..at * width + at + 1];
                to.iter_mut()
                    .zip(&own)
                    .for_each(|(to, other)| *to += value * other);
            }
        }
        products
    }

    /// The sums of the rows, then how many they are.
    fn sums(&self) -> &[f64] {
        &self.numbers[self.width * (self.width - 1)..]
    }
}

/// A classifier that is being fitted.
pub(crate) struct Fit {
    products: Products,
    targets: Vec<Vec<f64>>,
    counts: Vec<f64>,
}

impl Fit {
    /// For rows of this width, of so many classes.
    pub(crate) fn new(width: usize, classes: usize) -> Self {
        let products = Products::of(&[], width);
        Self {
            targets: vec![vec![0.0; products.width]; classes],
            products,
            counts: vec![0.0; classes],
        }
    }

    /// Counts rows of a class, before any are taken.
    #[expect(clippy::cast_precision_loss, reason = "some thousand sentences")]
    pub(crate) fn count(&mut self, class: Option<usize>, rows: usize) {
        class
            .into_iter()
            .for_each(|class| self.counts[class] += rows as f64);
    }

    /// Takes rows of a class; those of none say nothing.
    pub(crate) fn add(&mut self, class: Option<usize>, of_rows: &Products) {
        let Some(class) = class else { return };
        let weight = 1.0 / self.counts[class];
        let add = |to: &mut [f64], weight: f64, from: &[f64]| {
            to.iter_mut()
                .zip(from)
                .for_each(|(to, from)| *to += weight * from);
        };
        add(&mut self.products.numbers, weight, &of_rows.numbers);
        for (number, target) in self.targets.iter_mut().enumerate() {
            let wanted = if number == class { weight } else { -weight };
            add(target, wanted, of_rows.sums());
        }
    }

    /// The classifier.
    pub(crate) fn solved(mut self) -> Probe {
        let width = self.products.width;
        for at in 0..width {
            self.products.numbers[at * width + at] += RIDGE;
        }
        let root = cholesky(self.products.numbers, width);
        let rows = self
            .targets
            .into_iter()
            .map(|target| solved(&root, target).into_iter().map(narrowed).collect())
            .collect();
        Probe { rows }
    }
}

impl Probe {
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

    fn fitted(examples: &[(&[f32], usize)]) -> Probe {
        let of = |wanted: usize| -> Vec<&[f32]> {
            let own = examples.iter().filter(|(_, class)| *class == wanted);
            own.map(|(point, _)| *point).collect()
        };
        let mut fit = Fit::new(2, 2);
        for class in [0, 1] {
            fit.count(Some(class), of(class).len());
        }
        for class in [0, 1] {
            fit.add(Some(class), &Products::of(&of(class), 2));
        }
        fit.solved()
    }

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
        let probe = fitted(&examples);
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
        let between = fitted(&examples).of(&[0.0, 0.0]);
        assert!((between[0] - between[1]).abs() < 0.05, "{between:?}");
    }
}
