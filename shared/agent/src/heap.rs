//! Long walks of futures, on a thread's small stack.

use std::pin::Pin;

/// Makes a future in a frame of its own and keeps it on the heap. `Box::pin(f())` in the middle of an async function holds `f`'s future
/// in that function's frame as well, once for each place that calls it, as long as the function is polled; of a walk of twenty that is
/// more than a thread's stack.
#[inline(never)]
pub fn on_heap<F>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    Box::pin(make())
}
