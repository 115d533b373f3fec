//! Acknowledgements in the order of receipt ([MQTT-4.6.0-2]), whatever is done first; one for each packet id; and none across a
//! connection's end, as packet ids mean something within one connection alone.

use std::collections::{HashSet, VecDeque};

/// What was received and is not acknowledged yet.
#[derive(Debug)]
pub(crate) struct Window<A> {
    /// Which connection this is, by number.
    connection: u64,
    /// The number of the first place.
    first: u64,
    places: VecDeque<(A, bool)>,
    /// Packet ids that were received and whose acknowledgement has not gone out yet. The client crate ends the connection when
    /// one of them is acknowledged twice.
    owed: HashSet<u16>,
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
            owed: HashSet::new(),
        }
    }
}

impl<A> Window<A> {
    /// A new connection begins: whatever was not acknowledged comes again.
    pub(crate) fn reset(&mut self) {
        self.connection += 1;
        self.first = 0;
        self.places.clear();
        self.owed.clear();
    }

    /// Something came in. `None` where the same packet is still to be acknowledged: a sender may use its id for another packet
    /// only after that ([MQTT-2.2.1-4]), so this is the same one again.
    pub(crate) fn received(&mut self, packet_id: u16, acknowledgement: A) -> Option<Place> {
        if !self.owed.insert(packet_id) {
            return None;
        }
        self.places.push_back((acknowledgement, false));
        let last = u64::try_from(self.places.len().saturating_sub(1)).unwrap_or(u64::MAX);
        Some(Place {
            connection: self.connection,
            number: self.first.saturating_add(last),
        })
    }

    /// An acknowledgement has gone out: its packet id may now stand for another packet.
    pub(crate) fn sent(&mut self, packet_id: u16) {
        self.owed.remove(&packet_id);
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
        let mut received = |id, name| window.received(id, name).unwrap();
        let (a, b, c) = (received(1, "a"), received(2, "b"), received(3, "c"));
        assert!(window.done(b).is_empty());
        assert_eq!(window.done(a), ["a", "b"]);
        let d = window.received(4, "d").unwrap();
        assert!(window.done(d).is_empty());
        assert_eq!(window.done(c), ["c", "d"]);
        assert!(window.done(c).is_empty(), "once is enough");
    }

    #[test]
    fn nothing_of_an_earlier_connection_is_acknowledged() {
        let mut window = Window::default();
        let old = window.received(1, "old").unwrap();
        window.reset();
        let new = window.received(1, "new").unwrap();
        assert!(window.done(old).is_empty());
        assert_eq!(window.done(new), ["new"]);
    }

    #[test]
    fn a_packet_is_acknowledged_once_however_often_it_comes() {
        let mut window = Window::default();
        let first = window.received(7, "first").unwrap();
        assert!(window.received(7, "again").is_none());
        assert_eq!(window.done(first), ["first"]);
        // The acknowledgement is in the client's queue.
        assert!(window.received(7, "late").is_none());
        window.sent(7);
        assert!(window.received(7, "another").is_some());
    }
}
