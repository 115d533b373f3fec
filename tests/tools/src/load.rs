//! A load on a server that is a process of its own, and what it costs that process.

use std::time::{Duration, Instant};

use futures_util::StreamExt;

/// Runs so many, so many of them at once.
pub async fn many<T, F: Future<Output = T>>(
    count: usize,
    at_once: usize,
    one: impl Fn(usize) -> F,
) -> Vec<T> {
    futures_util::stream::iter((0..count).map(one))
        .buffer_unordered(at_once)
        .collect()
        .await
}

/// The processor time that a process has taken so far; zero where there is none of this id.
#[must_use]
pub fn processor_time(id: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    // User and system time, the 14th and 15th field, in hundredths of a second; the second may hold blanks.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    Duration::from_millis(ticks * 10)
}

/// What a short load came to.
#[derive(Debug, Clone, Copy)]
pub struct Slice {
    /// Requests a second.
    pub rate: f64,
    /// Processor time of the server's processes for each, in milliseconds.
    pub cost: f64,
}

impl Slice {
    /// Runs so many requests against a server made of these processes.
    pub async fn of<F: Future<Output = ()>>(
        processes: &[u32],
        (count, at_once): (usize, usize),
        one: impl Fn(usize) -> F,
    ) -> Self {
        let spent = || processes.iter().map(|id| processor_time(*id)).sum::<Duration>();
        let (began, before) = (Instant::now(), spent());
        many(count, at_once, one).await;
        let count = count as f64;
        Self {
            rate: count / began.elapsed().as_secs_f64(),
            cost: (spent() - before).as_secs_f64() * 1e3 / count,
        }
    }
}

/// The middle one; zero where there is none.
#[must_use]
pub fn median(of: impl IntoIterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = of.into_iter().collect();
    all.sort_unstable_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_slice_counts_what_this_process_does() {
        let own = std::process::id();
        let work = |_| async {
            let until = Instant::now() + Duration::from_millis(20);
            while Instant::now() < until {
                std::hint::spin_loop();
            }
        };
        let slice = Slice::of(&[own], (10, 2), work).await;
        assert!(slice.rate <= 50.0, "{slice:?}");
        assert!(slice.cost > 0.0, "{slice:?}");
        assert_eq!(processor_time(0), Duration::ZERO);
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([]), 0.0);
    }
}
