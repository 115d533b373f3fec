//! Acknowledgements in the order of receipt ([MQTT-4.6.0-2]), whatever is done first; and none across a connection's end, as
//! packet ids mean something within one connection alone.

use std::collections::VecDeque;

/// What was received and is not acknowledged yet.
#[derive(Debug)]
pub(crate) struct Window<A> {
    /// Which connection this is, by number.
    connection: u64,
    /// The number of the first place.
    first: u64,
    places: VecDeque<(A, bool)>,
}

/// A place in the window of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    connection: u64,
    number: u64,
}

impl<A> Default for Window<A> {
    fn default() -> Self {
        Self {
            connection: 0,
            first: 0,
            places: VecDeque::new(),
        }
    }
}

impl<A> Window<A> {
    /// A new connection begins: whatever was not acknowledged comes again.
    pub(crate) fn reset(&mut self) {
        self.connection += 1;
        self.first = 0;
        self.places.clear();
    }

    /// Something came in.
    pub(crate) fn received(&mut self, acknowledgement: A) -> Place {
        self.places.push_back((acknowledgement, false));
        let last = u64::try_from(self.places.len().saturating_sub(1)).unwrap_or(u64::MAX);
        Place {
            connection: self.connection,
            number: self.first.saturating_add(last),
        }
    }

    /// Something is done. What may be acknowledged now, in this order.
    pub(crate) fn done(&mut self, place: Place) -> Vec<A> {
        if place.connection == self.connection
            && let Some(index) = place.number.checked_sub(self.first)
            && let Some((_, is_done)) = usize::try_from(index)
                .ok()
                .and_then(|index| self.places.get_mut(index))
        {
            *is_done = true;
        }
        let mut ready = Vec::new();
        while let Some((acknowledgement, _)) = self.places.pop_front_if(|(_, is_done)| *is_done) {
            self.first += 1;
            ready.push(acknowledgement);
        }
        ready
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledgements_keep_the_order_of_receipt() {
        let mut window = Window::default();
        let [a, b, c] = ["a", "b", "c"].map(|name| window.received(name));
        assert!(window.done(b).is_empty());
        assert_eq!(window.done(a), ["a", "b"]);
        let d = window.received("d");
        assert!(window.done(d).is_empty());
        assert_eq!(window.done(c), ["c", "d"]);
        assert!(window.done(c).is_empty(), "once is enough");
    }

    #[test]
    fn nothing_of_an_earlier_connection_is_acknowledged() {
        let mut window = Window::default();
        let old = window.received("old");
        window.reset();
        let new = window.received("new");
        assert!(window.done(old).is_empty());
        assert_eq!(window.done(new), ["new"]);
    }
}
