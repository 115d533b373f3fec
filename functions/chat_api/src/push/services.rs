//! Which push services browsers may be reached at. Whoever subscribes chooses an address that is written to again and again, so that any
//! other address would make of this function a way to knock at strangers' doors.

use std::str::FromStr;

use url::{Host, Url};

/// Those of the browsers' makers: Google, Mozilla, Apple, Microsoft. Other browsers use one of these.
const KNOWN: [&str; 6] = [
    "fcm.googleapis.com",
    "jmt17.google.com",
    "updates.push.services.mozilla.com",
    "*.push.services.mozilla.com",
    "*.push.apple.com",
    "*.notify.windows.com",
];

/// The push services that an operator has added to those of the browsers' makers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PushServices(Vec<String>);

impl FromStr for PushServices {
    type Err = String;

    /// Hosts with commas between them; `*.example.com` means every host below that one.
    fn from_str(text: &str) -> Result<Self, String> {
        let hosts = text.split(',').map(str::trim).filter(|host| !host.is_empty());
        let parsed = hosts.map(|host| {
            let plain = host.strip_prefix("*.").unwrap_or(host);
            let is_host = match Host::parse(plain) {
                Ok(Host::Domain(name)) => name.contains('.') && !name.contains('*'),
                Ok(Host::Ipv4(_) | Host::Ipv6(_)) => plain == host,
                Err(_) => false,
            };
            is_host
                .then(|| host.to_ascii_lowercase())
                .ok_or_else(|| format!("`{host}` is no host, such as push.example.com or *.push.example.com"))
        });
        parsed.collect::<Result<_, _>>().map(Self)
    }
}

impl PushServices {
    /// Whether an address is one of theirs. Those of the browsers' makers are at the usual port.
    pub(crate) fn have(&self, address: &Url) -> bool {
        let Some(host) = address.host_str() else {
            return false;
        };
        address.port().is_none() && KNOWN.iter().any(|known| is_at(known, host))
            || self.0.iter().any(|added| is_at(added, host))
    }
}

fn is_at(known: &str, host: &str) -> bool {
    match known.strip_prefix('*') {
        Some(below) => host.len() > below.len() && host.ends_with(below),
        None => host == known,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(added: &str, address: &str) -> bool {
        let services: PushServices = added.parse().unwrap();
        services.have(&Url::parse(address).unwrap())
    }

    #[test]
    fn browsers_are_reached_at_their_makers_services_and_at_those_that_an_operator_adds() {
        for known in [
            "https://fcm.googleapis.com/fcm/send/abc",
            "https://FCM.googleapis.com/wp/abc",
            "https://updates.push.services.mozilla.com/wpush/v2/abc",
            "https://web.push.apple.com/abc",
            "https://wns2-par02p.notify.windows.com/w/?token=abc",
        ] {
            assert!(has("", known), "{known}");
        }
        for other in [
            "https://push.example/send/1",
            "https://fcm.googleapis.com:8443/abc",
            "https://fcm.googleapis.com.evil.example/abc",
            "https://fcm.googleapis.com@evil.example/abc",
            "https://evilpush.apple.com.evil.example/abc",
            "https://evil-push.apple.com/abc",
            "https://push.apple.com/abc",
            "https://notify.windows.com/abc",
            "https://storage.googleapis.com/abc",
            "https://127.0.0.1/abc",
        ] {
            assert!(!has("", other), "{other}");
        }
        assert!(has("push.example, *.push.example", "https://push.example/1"));
        assert!(has("*.push.example", "https://eu.push.example:8443/1"));
        assert!(has("127.0.0.1,[::1]", "http://127.0.0.1:9000/1") && has("[::1]", "http://[::1]:9/1"));
        assert!(!has("*.push.example", "https://push.example/1"));
    }

    #[test]
    fn what_is_no_host_is_refused_by_name() {
        for wrong in [
            "https://push.example",
            "push example",
            "*",
            "*.",
            "*.com",
            "a.*.b",
            "push.example:443",
        ] {
            let told = wrong.parse::<PushServices>().unwrap_err();
            assert!(told.contains(wrong), "{told}");
        }
        assert_eq!("".parse(), Ok(PushServices::default()));
    }
}
