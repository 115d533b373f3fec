//! Which trace the work at hand belongs to (W3C Trace Context), so that no function takes it beside its arguments.
//!
//! A trace comes in with a request, a wake or a stored task ([`within`]); whoever calls out asks for it
//! ([`TraceParent::outgoing`]). It travels whether spans are exported or not. Where they are, the exporter names each span
//! that is entered ([`enter_span`]), so that what goes out has that span as its parent.

use std::cell::RefCell;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use serde::{Deserialize, Serialize};

use crate::Entropy;

/// A W3C `traceparent` (version 00): one trace id from page to agent to webhook, and the span that caused what follows.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TraceParent {
    trace: [u8; 16],
    parent: [u8; 8],
}

/// One entry of what the current thread works within.
struct Frame {
    parent: TraceParent,
    /// The parent is a span of this process, and not the caller's.
    span: bool,
}

thread_local! {
    /// Innermost last. A task moves between threads only between polls, and each poll puts its own frame here.
    static FRAMES: RefCell<Vec<Frame>> = const { RefCell::new(Vec::new()) };
}

/// Takes its frame off again, also where the work panics.
struct Entered;

impl Drop for Entered {
    fn drop(&mut self) {
        exit_span();
    }
}

fn enter(frame: Frame) {
    FRAMES.with_borrow_mut(|frames| frames.push(frame));
}

/// From now on this thread works within this span, until [`exit_span`]. For the exporter of spans.
pub fn enter_span(span: TraceParent) {
    enter(Frame {
        parent: span,
        span: true,
    });
}

/// The innermost span of this thread is left.
pub fn exit_span() {
    FRAMES.with_borrow_mut(Vec::pop);
}

/// Does the work as part of this trace. Where it is done for that trace already, or there is none, nothing changes.
///
/// The work lies on the heap: it would otherwise be moved along with whatever it is part of.
pub fn within<F: Future>(trace: Option<TraceParent>, work: F) -> Within<F> {
    let current = TraceParent::current();
    let differs = |trace: &TraceParent| current.is_none_or(|current| current.trace != trace.trace);
    Within {
        parent: trace.filter(differs),
        work: Box::pin(work),
    }
}

/// See [`within`].
pub struct Within<F> {
    parent: Option<TraceParent>,
    work: Pin<Box<F>>,
}

impl<F: Future> Future for Within<F> {
    type Output = F::Output;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let _entered = self.parent.clone().map(|parent| {
            enter(Frame { parent, span: false });
            Entered
        });
        self.work.as_mut().poll(context)
    }
}

impl TraceParent {
    /// A new trace.
    #[must_use]
    pub fn random(entropy: &dyn Entropy) -> Self {
        let (mut trace, mut parent) = ([0; 16], [0; 8]);
        entropy.fill(&mut trace);
        entropy.fill(&mut parent);
        trace[15] |= 1; // all zeros is invalid
        parent[7] |= 1;
        Self { trace, parent }
    }

    /// Parses a header value; `None` where it is not a valid one, so that the caller starts a new trace.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut fields = text.trim().split('-');
        let version = fields.next()?;
        let (trace, parent) = (unhex::<16>(fields.next()?)?, unhex::<8>(fields.next()?)?);
        unhex::<1>(fields.next()?)?;
        let known = version == "00" && fields.next().is_none();
        let later = version != "00" && version != "ff" && unhex::<1>(version).is_some();
        ((known || later) && trace != [0; 16] && parent != [0; 8]).then_some(Self { trace, parent })
    }

    /// The trace of the work at hand, and the innermost span of it that has a name.
    #[must_use]
    pub fn current() -> Option<Self> {
        FRAMES.with_borrow(|frames| frames.last().map(|frame| frame.parent.clone()))
    }

    /// What goes out with the next hop: the current span, or a parent id of its own where no spans are kept.
    #[must_use]
    pub fn outgoing(entropy: &dyn Entropy) -> Option<Self> {
        FRAMES.with_borrow(|frames| {
            let frame = frames.last()?;
            Some(match frame.span {
                true => frame.parent.clone(),
                false => frame.parent.child(entropy),
            })
        })
    }

    /// The same trace with a new parent id.
    #[must_use]
    pub fn child(&self, entropy: &dyn Entropy) -> Self {
        let mut parent = [0; 8];
        entropy.fill(&mut parent);
        parent[7] |= 1;
        Self {
            trace: self.trace,
            parent,
        }
    }

    /// The trace id, 32 hexadecimal digits.
    #[must_use]
    pub fn trace_id(&self) -> String {
        hex(&self.trace)
    }

    /// The id of the span, 16 hexadecimal digits.
    #[must_use]
    pub fn span_id(&self) -> String {
        hex(&self.parent)
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-01", hex(&self.trace), hex(&self.parent))
    }
}

impl fmt::Debug for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<TraceParent> for String {
    fn from(trace: TraceParent) -> Self {
        trace.to_string()
    }
}

impl TryFrom<String> for TraceParent {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("not a W3C traceparent")
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let lower = |b: &u8| b.is_ascii_digit() || (b'a'..=b'f').contains(b);
    if text.len() != 2 * N || !text.as_bytes().iter().all(lower) {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;
    use std::task::Waker;

    use super::*;
    use crate::SystemEntropy;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_traceparent_is_parsed_strictly() {
        assert_eq!(
            TraceParent::parse(GOOD).map(|t| t.to_string()).as_deref(),
            Some(GOOD)
        );
        for bad in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
        ] {
            assert!(TraceParent::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn two_pieces_of_work_on_one_thread_keep_their_traces_apart() {
        let traces = [0, 1].map(|_| TraceParent::random(&SystemEntropy));
        let mut turn = 0;
        // Each looks once, lets the other go first, and looks again.
        let look = async || {
            let before = TraceParent::current();
            let mut yielded = false;
            poll_fn(|_| match std::mem::replace(&mut yielded, true) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            })
            .await;
            [before, TraceParent::current()]
        };
        let mut works: Vec<_> = traces
            .iter()
            .map(|trace| Box::pin(within(Some(trace.clone()), look())))
            .collect();
        let mut seen = vec![None, None];
        while seen.iter().any(Option::is_none) {
            let mut context = Context::from_waker(Waker::noop());
            if let Poll::Ready(told) = works[turn % 2].as_mut().poll(&mut context) {
                seen[turn % 2] = Some(told);
            }
            assert_eq!(TraceParent::current(), None, "between two polls there is none");
            turn += 1;
        }
        for (trace, seen) in traces.iter().zip(seen) {
            assert_eq!(seen, Some([Some(trace.clone()), Some(trace.clone())]));
        }
    }

    #[test]
    fn a_span_is_the_parent_of_what_goes_out_and_a_callers_id_never_is() {
        let mut context = Context::from_waker(Waker::noop());
        let trace = TraceParent::parse(GOOD).unwrap();
        let work = async {
            let hop = TraceParent::outgoing(&SystemEntropy).unwrap();
            assert_eq!(hop.trace_id(), trace.trace_id());
            assert_ne!(hop.span_id(), trace.span_id());
            let span = trace.child(&SystemEntropy);
            enter_span(span.clone());
            assert_eq!(TraceParent::outgoing(&SystemEntropy), Some(span.clone()));
            // The task's own record of the same trace is older than the span.
            within(Some(trace.clone()), async {
                assert_eq!(TraceParent::current(), Some(span.clone()));
            })
            .await;
            exit_span();
            assert_eq!(TraceParent::current(), Some(trace.clone()));
        };
        let done = pin!(within(Some(trace.clone()), work)).poll(&mut context);
        assert!(done.is_ready());
        assert_eq!(TraceParent::outgoing(&SystemEntropy), None);
    }
}
