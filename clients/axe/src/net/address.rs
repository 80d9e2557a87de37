//! Which addresses are no business of a model's.
//!
//! The table is the IANA registries of special-purpose addresses, less what is globally reachable, plus every way to
//! write an IPv4 address inside an IPv6 one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether `address` is private, local, reserved or a disguise of one that is.
pub fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => is_private_v6(address),
    }
}

/// Network and prefix length.
const PRIVATE_V4: [(Ipv4Addr, u32); 16] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8), // this network; Linux takes 0.0.0.0 for this machine
    (Ipv4Addr::new(10, 0, 0, 0), 8), // private
    (Ipv4Addr::new(100, 64, 0, 0), 10), // carrier-grade NAT
    (Ipv4Addr::new(127, 0, 0, 0), 8), // loopback
    (Ipv4Addr::new(169, 254, 0, 0), 16), // link-local, and the metadata services of clouds
    (Ipv4Addr::new(172, 16, 0, 0), 12), // private
    (Ipv4Addr::new(192, 0, 0, 0), 24), // protocol assignments
    (Ipv4Addr::new(192, 0, 2, 0), 24), // documentation
    (Ipv4Addr::new(192, 31, 196, 0), 24), // AS112
    (Ipv4Addr::new(192, 88, 99, 0), 24), // 6to4 relays
    (Ipv4Addr::new(192, 168, 0, 0), 16), // private
    (Ipv4Addr::new(198, 18, 0, 0), 15), // benchmarks
    (Ipv4Addr::new(198, 51, 100, 0), 24), // documentation
    (Ipv4Addr::new(203, 0, 113, 0), 24), // documentation
    (Ipv4Addr::new(224, 0, 0, 0), 4), // multicast
    (Ipv4Addr::new(240, 0, 0, 0), 4), // reserved, and broadcast
];

fn is_private_v4(address: Ipv4Addr) -> bool {
    PRIVATE_V4.iter().any(|&(network, length)| (address.to_bits() ^ network.to_bits()) >> (32 - length) == 0)
}

const PRIVATE_V6: [(Ipv6Addr, u32); 11] = [
    (Ipv6Addr::UNSPECIFIED, 128), // Linux takes it for this machine
    (Ipv6Addr::LOCALHOST, 128),
    (Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0), 64), // discard
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48), // local translation
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // documentation
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // documentation
    (Ipv6Addr::new(0x5f00, 0, 0, 0, 0, 0, 0, 0), 16), // segment routing
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7), // unique local
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10), // link-local
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10), // site-local, deprecated
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8), // multicast
];

/// Networks whose addresses hold an IPv4 address, and the bit at which it begins.
const EMBEDDING_V6: [(Ipv6Addr, u32, u32); 5] = [
    (Ipv6Addr::UNSPECIFIED, 96, 96), // IPv4-compatible, deprecated
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96, 96), // IPv4-mapped
    (Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, 0, 0), 96, 96), // IPv4-translated
    (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96, 96), // NAT64
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, 16), // 6to4
];

/// Teredo holds the client's address with every bit turned over.
const TEREDO: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 32);

fn is_private_v6(address: Ipv6Addr) -> bool {
    let is_in =
        |network: Ipv6Addr, length: u32| (address.to_bits() ^ network.to_bits()) >> (128 - length) == 0;
    if PRIVATE_V6.iter().any(|&(network, length)| is_in(network, length)) {
        return true;
    }
    let embedded = |at: u32| Ipv4Addr::from_bits((address.to_bits() >> (96 - at)) as u32);
    EMBEDDING_V6.iter().any(|&(network, length, at)| is_in(network, length) && is_private_v4(embedded(at)))
        || (is_in(TEREDO.0, TEREDO.1) && is_private_v4(Ipv4Addr::from_bits(!embedded(96).to_bits())))
}

#[cfg(test)]
mod tests;
