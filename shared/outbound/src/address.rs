//! Which addresses are in the world, and why another may not be called.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why an address may not be called.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Blocked(pub(crate) &'static str);

/// Checks an address that a name was resolved to.
pub(crate) fn public(ip: IpAddr) -> Result<(), Blocked> {
    match ip {
        IpAddr::V4(ip) => public_v4(ip),
        IpAddr::V6(ip) => public_v6(ip),
    }
}

pub(crate) fn public_v4(ip: Ipv4Addr) -> Result<(), Blocked> {
    let reason = match ip.octets() {
        [127, ..] => "it is a loopback address",
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => "it is a private address",
        [169, 254, ..] => "it is a link-local address, where clouds keep their metadata",
        [168, 63, 129, 16] => "it is a cloud's metadata address",
        [100, 64..=127, ..] => "it is an address of a carrier's own network",
        [0, ..] => "it means this network",
        [192, 0, 0, _] | [192, 88, 99, _] => "it is reserved for protocols",
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => "it is reserved for documentation",
        [198, 18..=19, ..] => "it is reserved for benchmarks",
        [224..=239, ..] => "it is a multicast address",
        [240..=255, ..] => "it is reserved",
        _ => return Ok(()),
    };
    Err(Blocked(reason))
}

/// Global unicast only, less what is carved out of it. Addresses that stand for an IPv4 address are judged by that.
pub(crate) fn public_v6(ip: Ipv6Addr) -> Result<(), Blocked> {
    if let Some(ip) = ip.to_ipv4_mapped() {
        return public_v4(ip);
    }
    let reason = match ip.segments() {
        // The well-known NAT64 prefix: where IPv6 networks reach the IPv4 world.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
            return public_v4(Ipv4Addr::new(a, b, c, d));
        }
        [0, 0, 0, 0, 0, 0, 0, 1] => "it is a loopback address",
        [0xfc00..=0xfdff, ..] => "it is a private address",
        [0xfe80..=0xfebf, ..] => "it is a link-local address",
        [0xff00..=0xffff, ..] => "it is a multicast address",
        [0x2001, 0..=0x01ff, ..] => "it is reserved for protocols and tunnels",
        [0x2001, 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => "it is reserved for documentation",
        [0x2002, ..] => "it is a tunnel to an IPv4 address",
        [0x2000..=0x3fff, ..] => return Ok(()),
        _ => "it is reserved",
    };
    Err(Blocked(reason))
}
