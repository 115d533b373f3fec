//! When tasks arrive: by a schedule, whatever became of those before them.

use std::time::Duration;

use tokio::time::Instant;

/// The times at which tasks are to arrive.
pub fn schedule(begin: Instant, rate: u32, lasts: Duration) -> impl Iterator<Item = Instant> {
    let count = (f64::from(rate) * lasts.as_secs_f64()).round() as u32;
    (0..count).map(move |number| begin + Duration::from_secs(1) * number / rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn arrivals_are_even_and_as_many_as_wanted() {
        let begin = Instant::now();
        let times: Vec<_> = schedule(begin, 50, Duration::from_secs(2)).collect();
        assert_eq!(times.len(), 100);
        assert_eq!(times[1] - times[0], Duration::from_millis(20));
        assert_eq!(times[99] - begin, Duration::from_millis(1_980));
    }
}
