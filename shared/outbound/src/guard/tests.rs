//! The table of addresses that must not be called, in every way to write them.

use super::*;

/// Every way to write an address that must not be called, and some that may. `url` normalises what browsers do
/// (octal, hexadecimal, one number), so that the rules see addresses, not spellings.
const TABLE: &[(&str, bool)] = &[
    // Public.
    ("https://1.1.1.1/", true),
    ("https://8.8.8.8:8443/", true),
    ("https://agents.example/a", true),
    ("https://agents.example:443/a", true),
    ("https://[2606:4700:4700::1111]/", true),
    ("https://[2a00:1450:4001:81b::200e]/", true),
    ("https://[::ffff:8.8.8.8]/", true),
    ("https://[64:ff9b::8.8.8.8]/", true),
    ("https://172.15.255.255/", true),
    ("https://172.32.0.1/", true),
    ("https://100.63.255.255/", true),
    ("https://100.128.0.1/", true),
    ("https://192.167.1.1/", true),
    ("https://198.17.0.1/", true),
    ("https://198.20.0.1/", true),
    ("https://223.255.255.255/", true),
    // Loopback in all spellings.
    ("https://127.0.0.1/", false),
    ("https://127.1/", false),
    ("https://127.255.255.254/", false),
    ("https://2130706433/", false),
    ("https://0x7f000001/", false),
    ("https://0x7f.0.0.1/", false),
    ("https://0177.0.0.1/", false),
    ("https://017700000001/", false),
    ("https://127.0.0.1./", false),
    ("https://%31%32%37.0.0.1/", false),
    ("https://１２７.0.0.1/", false),
    ("https://localhost/", false),
    ("https://LOCALHOST/", false),
    ("https://localhost./", false),
    ("https://agents.example./a", false),
    ("https://api.localhost/", false),
    ("https://[::1]/", false),
    ("https://[0:0:0:0:0:0:0:1]/", false),
    ("https://[::ffff:127.0.0.1]/", false),
    ("https://[::ffff:7f00:1]/", false),
    ("https://[64:ff9b::127.0.0.1]/", false),
    ("https://[64:ff9b::7f00:1]/", false),
    ("https://[::127.0.0.1]/", false),
    ("https://[2002:7f00:1::]/", false),
    // Private.
    ("https://10.0.0.1/", false),
    ("https://10.255.255.255/", false),
    ("https://012.0.0.1/", false),
    ("https://0xa000001/", false),
    ("https://167772161/", false),
    ("https://172.16.0.1/", false),
    ("https://172.31.255.255/", false),
    ("https://192.168.0.1/", false),
    ("https://0xc0a80001/", false),
    ("https://3232235521/", false),
    ("https://192.168.257/", false),
    ("https://[::ffff:10.0.0.1]/", false),
    ("https://[::ffff:c0a8:1]/", false),
    ("https://[64:ff9b::10.0.0.1]/", false),
    ("https://[64:ff9b:1::1]/", false),
    ("https://[fc00::1]/", false),
    ("https://[fd00:ec2::254]/", false),
    ("https://[fdff:ffff::1]/", false),
    // Metadata and link-local.
    ("https://169.254.169.254/latest/meta-data/", false),
    ("https://169.254.170.2/", false),
    ("https://0xa9fea9fe/", false),
    ("https://2852039166/", false),
    ("https://0251.0376.0251.0376/", false),
    ("https://[::ffff:169.254.169.254]/", false),
    ("https://[64:ff9b::a9fe:a9fe]/", false),
    ("https://168.63.129.16/", false),
    ("https://100.100.100.200/", false),
    ("https://192.0.0.192/", false),
    ("https://[fe80::1]/", false),
    ("https://[febf::1]/", false),
    // Carrier, this network, reserved, multicast, documentation, tunnels.
    ("https://100.64.0.1/", false),
    ("https://100.127.255.255/", false),
    ("https://0.0.0.0/", false),
    ("https://0/", false),
    ("https://0.1.2.3/", false),
    ("https://[::]/", false),
    ("https://192.0.0.1/", false),
    ("https://192.0.2.1/", false),
    ("https://192.88.99.1/", false),
    ("https://198.18.0.1/", false),
    ("https://198.19.255.255/", false),
    ("https://198.51.100.7/", false),
    ("https://203.0.113.7/", false),
    ("https://224.0.0.1/", false),
    ("https://239.255.255.250/", false),
    ("https://240.0.0.1/", false),
    ("https://255.255.255.255/", false),
    ("https://[ff02::1]/", false),
    ("https://[2001::1]/", false),
    ("https://[2001:db8::1]/", false),
    ("https://[2002:a00:1::]/", false),
    ("https://[3fff::1]/", false),
    ("https://[4000::1]/", false),
    ("https://[100::1]/", false),
    ("https://[5f00::1]/", false),
    // Schemes, ports, user names.
    ("http://agents.example/", false),
    ("http://1.1.1.1/", false),
    ("http://127.0.0.1:3000/", false),
    ("ftp://agents.example/", false),
    ("file:///etc/passwd", false),
    ("gopher://agents.example/", false),
    ("data:text/plain,x", false),
    ("https://user@agents.example/", false),
    ("https://user:password@agents.example/", false),
    ("https://agents.example:22/", false),
    ("https://agents.example:25/", false),
    ("https://agents.example:80/", false),
    ("https://agents.example:0/", false),
    ("https://agents.example:8443/", true),
];

#[test]
fn every_row_of_the_table_is_judged_right() {
    assert!(TABLE.len() >= 60);
    for (text, expected) in TABLE {
        let judged = Url::parse(text).map(|url| check(&url, &Policy::default()));
        assert_eq!(
            judged.as_ref().is_ok_and(Result::is_ok),
            *expected,
            "{text}: {judged:?}"
        );
    }
}

/// As the local system has it.
fn local() -> Policy {
    Policy {
        allow_loopback: true,
        ..Policy::default()
    }
}

#[test]
fn the_address_for_containers_is_open_and_no_other_of_its_network() {
    let policy = Policy {
        allow_host: Some([172, 17, 0, 1].into()),
        ..local()
    };
    for open in [
        "http://172.17.0.1:3000/a/x",
        "https://172.17.0.1/",
        "http://2886795265/",
        "http://[::ffff:172.17.0.1]/",
        "http://127.0.0.1:3000/",
    ] {
        assert_eq!(check(&Url::parse(open).unwrap(), &policy), Ok(()), "{open}");
    }
    for closed in [
        "http://172.17.0.2:3000/",
        "https://172.17.0.2/",
        "http://docker.example:3000/",
        "ftp://172.17.0.1/",
        "http://user@172.17.0.1/",
    ] {
        assert!(check(&Url::parse(closed).unwrap(), &policy).is_err(), "{closed}");
    }
    // A name that leads there is not that address.
    let found = vec![IpAddr::from([172, 17, 0, 1])];
    assert!(allowed("docker.example", found, true).is_err());
}

#[test]
fn the_loopback_switch_opens_loopback_and_nothing_else() {
    for open in [
        "http://127.0.0.1:3000/",
        "http://localhost:80/",
        "http://[::1]:9/",
        "http://2130706433/",
        "http://[::ffff:127.0.0.1]/",
        "https://localhost/",
        "http://x.localhost:1/",
    ] {
        assert_eq!(check(&Url::parse(open).unwrap(), &local()), Ok(()), "{open}");
    }
    for (text, expected) in TABLE {
        let Ok(url) = Url::parse(text) else { continue };
        if !url.host().is_some_and(|host| is_local(&host)) {
            assert_eq!(check(&url, &local()).is_ok(), *expected, "{text}");
        }
    }
}

#[test]
fn a_name_is_judged_by_what_it_resolves_to() {
    let address = |ip: &str| ip.parse::<IpAddr>().unwrap();
    let (bad, good) = (address("10.0.0.1"), address("1.1.1.1"));
    assert_eq!(allowed("rebind.example", vec![bad, good], false), Ok(vec![good]));
    assert!(allowed("rebind.example", vec![bad], true).is_err());
    assert!(allowed("rebind.example", Vec::new(), true).is_err());
    // The switch does not let a name in the world point at this machine.
    let own = address("127.0.0.1");
    assert!(allowed("rebind.example", vec![own], true).is_err());
    assert!(allowed("localhost", vec![own], false).is_err());
    assert_eq!(allowed("localhost", vec![own], true), Ok(vec![own]));
}
