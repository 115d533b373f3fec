//! MQTT packets, as far as what stands between a client and a broker in the tests reads them.

/// The kind of packet that publishes.
pub const PUBLISH: u8 = 3;
/// The kind of packet that acknowledges a publication.
pub const PUBACK: u8 = 4;

/// What kind of packet it is.
#[must_use]
pub fn kind(packet: &[u8]) -> u8 {
    packet.first().map_or(0, |first| first >> 4)
}

/// The length of the first packet, once all of it is there.
#[must_use]
pub fn whole(buffer: &[u8]) -> Option<usize> {
    let (header, length) = header(buffer)?;
    (buffer.len() >= header + length).then_some(header + length)
}

/// How long the fixed header is, and what follows it.
fn header(buffer: &[u8]) -> Option<(usize, usize)> {
    let mut length = 0;
    for (index, byte) in buffer.iter().skip(1).take(4).enumerate() {
        length |= usize::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((index + 2, length));
        }
    }
    None
}

/// What follows the fixed header.
#[must_use]
pub fn body(packet: &[u8]) -> Option<&[u8]> {
    packet.get(header(packet)?.0..)
}

/// The number that begins here.
#[must_use]
pub fn number(bytes: &[u8]) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.first()?, *bytes.get(1)?]))
}

/// The topic of a publication.
#[must_use]
pub fn topic(packet: &[u8]) -> Option<&str> {
    let body = body(packet)?;
    let length = usize::from(number(body)?);
    std::str::from_utf8(body.get(2..2 + length)?).ok()
}

/// The packet id of a publication at QoS 1.
#[must_use]
pub fn publish_id(packet: &[u8]) -> Option<u16> {
    let body = body(packet)?;
    let topic = usize::from(number(body)?);
    number(body.get(2 + topic..)?)
}
