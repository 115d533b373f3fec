//! Topics, below the prefix that a broker allows.

use std::fmt;
use std::str::FromStr;

use url::Url;

use super::address::{AgentAddress, InvalidAddress, PoolAddress, Recipient, is_name};

const STANDARD: &str = "$a2a/v1";
const PREFIX_MAX: usize = 64;
const SUFFIX_MAX: usize = 128;

/// What all topics on a broker begin with: `$a2a/v1`, or `a2a/v1` where a broker refuses `$` or cannot share it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPrefix(Box<str>);

/// A topic of the profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Topic {
    /// An agent's card, retained.
    Discovery(AgentAddress),
    /// Requests.
    Request(Recipient),
    /// Replies to this requester, and what tells one topic of its from another.
    Reply(AgentAddress, String),
    /// What an agent tells without being asked.
    Event(AgentAddress),
}

impl TopicPrefix {
    /// The profile's own, `$a2a/v1`.
    #[must_use]
    pub fn standard() -> Self {
        Self(STANDARD.into())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Where an agent's card lies.
    #[must_use]
    pub fn discovery(&self, agent: &AgentAddress) -> String {
        format!("{self}/discovery/{agent}")
    }

    /// Where an agent or a pool takes requests.
    #[must_use]
    pub fn request(&self, to: &Recipient) -> String {
        format!("{self}/request/{to}")
    }

    /// The filter by which a member takes its share of a pool's requests.
    #[must_use]
    pub fn shared(&self, pool: &PoolAddress) -> String {
        format!(
            "$share/{}/{}",
            pool.group(),
            self.request(&Recipient::Pool(pool.clone()))
        )
    }

    /// Where a requester takes its replies.
    ///
    /// # Errors
    /// [`InvalidAddress`] where the suffix cannot stand in a topic.
    pub fn reply(&self, requester: &AgentAddress, suffix: &str) -> Result<String, InvalidAddress> {
        match is_suffix(suffix) {
            true => Ok(format!("{self}/reply/{requester}/{suffix}")),
            false => Err(InvalidAddress("the reply suffix cannot stand in a topic")),
        }
    }

    /// What a topic is; `None` where it is none of the profile's, below this prefix.
    #[must_use]
    pub fn read(&self, topic: &str) -> Option<Topic> {
        let (kind, rest) = topic
            .strip_prefix(self.as_str())?
            .strip_prefix('/')?
            .split_once('/')?;
        match kind {
            "discovery" => rest.parse().ok().map(Topic::Discovery),
            "event" => rest.parse().ok().map(Topic::Event),
            "request" => rest.parse().ok().map(Topic::Request),
            "reply" => {
                let mut levels = rest.splitn(4, '/');
                let mut next = || levels.next();
                let requester = AgentAddress::new(next()?, next()?, next()?).ok()?;
                let suffix = next().filter(|suffix| is_suffix(suffix))?;
                Some(Topic::Reply(requester, suffix.to_owned()))
            }
            _ => None,
        }
    }

    /// The URL of an agent's interface: its request topic as the path of its broker's URL.
    #[must_use]
    pub fn interface(&self, broker: &Url, to: &Recipient) -> Url {
        let mut url = broker.clone();
        url.set_path(&format!("/{}", self.request(to)));
        url
    }

    /// The interface of the agent that a reply to a request at this one names as its responder; `None` where the reply may not do
    /// that ([`Recipient::responder`]).
    #[must_use]
    pub fn interface_of_responder(asked: &Url, told: &str) -> Option<Url> {
        let (broker, prefix, recipient) = Self::read_interface(asked).ok()?;
        let responder = Recipient::Agent(recipient.responder(told)?);
        Some(prefix.interface(&broker, &responder))
    }

    /// The broker, the prefix and the recipient of an interface's URL.
    ///
    /// # Errors
    /// [`InvalidAddress`] where it is no such URL.
    pub fn read_interface(url: &Url) -> Result<(Url, Self, Recipient), InvalidAddress> {
        let wrong = InvalidAddress("the URL's path is not PREFIX/request/ORG/UNIT/AGENT");
        let path = url.path().strip_prefix('/').ok_or_else(|| wrong.clone())?;
        let (prefix, rest) = path.split_once("/request/").ok_or(wrong)?;
        let recipient = rest.parse()?;
        let mut broker = url.clone();
        broker.set_path("");
        broker.set_query(None);
        broker.set_fragment(None);
        Ok((broker, prefix.parse()?, recipient))
    }
}

/// A requester chooses its suffix; more than one level is its own business.
fn is_suffix(text: &str) -> bool {
    let level = |level: &str| {
        !level.is_empty()
            && !level
                .chars()
                .any(|c| matches!(c, '+' | '#' | '\0') || c.is_control() || c.is_whitespace())
    };
    text.len() <= SUFFIX_MAX && text.split('/').all(level)
}

impl FromStr for TopicPrefix {
    type Err = InvalidAddress;
    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        let plain = text.strip_prefix('$').unwrap_or(text);
        match text.len() <= PREFIX_MAX && plain.split('/').all(is_name) {
            true => Ok(Self(text.into())),
            false => Err(InvalidAddress(
                "a prefix is one to 64 characters: levels of letters, digits, '_', '.' and '-'; only the first may begin with '$'",
            )),
        }
    }
}

impl fmt::Display for TopicPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for TopicPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "topic prefix({self})")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn agent(text: &str) -> AgentAddress {
        text.parse().unwrap()
    }

    #[test]
    fn topics_are_read_as_they_are_written() {
        for prefix in ["$a2a/v1", "a2a/v1", "x"] {
            let prefix: TopicPrefix = prefix.parse().unwrap();
            let weather = agent("acme/platform/weather");
            let pool = PoolAddress::new("acme", "platform", "w").unwrap();
            let reply = prefix.reply(&weather, "3f/a").unwrap();
            for (topic, wanted) in [
                (prefix.discovery(&weather), Topic::Discovery(weather.clone())),
                (
                    prefix.request(&Recipient::Agent(weather.clone())),
                    Topic::Request(Recipient::Agent(weather.clone())),
                ),
                (
                    prefix.request(&Recipient::Pool(pool.clone())),
                    Topic::Request(Recipient::Pool(pool.clone())),
                ),
                (reply, Topic::Reply(weather.clone(), "3f/a".to_owned())),
                (format!("{prefix}/event/{weather}"), Topic::Event(weather.clone())),
            ] {
                assert_eq!(prefix.read(&topic), Some(wanted), "{topic}");
            }
            assert_eq!(
                prefix.shared(&pool),
                format!("$share/a2a.acme.platform.w/{prefix}/request/acme/platform/pool/w")
            );
        }
    }

    #[test]
    fn what_is_none_of_the_profiles_topics_is_not_read() {
        let standard = TopicPrefix::standard();
        for bad in [
            "",
            "$a2a/v1",
            "$a2a/v1/",
            "$a2a/v1/reply/a/b/c",
            "$a2a/v1/reply/a/b/c/",
            "$a2a/v1/reply/a/b/c/+",
            "$a2a/v1/reply/a/b/c/x/#",
            "$a2a/v1/reply/a/b/+/x",
            "$a2a/v1/request/a/b",
            "$a2a/v1/request/a/b/c/d",
            "$a2a/v1/request/a/b/pool/c/d",
            "$a2a/v10/request/a/b/c",
            "$a2a/v2/request/a/b/c",
            "a2a/v1/request/a/b/c",
            "$a2a/v1/other/a/b/c",
        ] {
            assert_eq!(standard.read(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_interface_is_its_topic_below_its_broker() {
        let broker = Url::parse("mqtts://broker.example:8883").unwrap();
        let to = Recipient::Agent(agent("acme/platform/weather"));
        let url = TopicPrefix::standard().interface(&broker, &to);
        assert_eq!(
            url.as_str(),
            "mqtts://broker.example:8883/$a2a/v1/request/acme/platform/weather"
        );
        let (read, prefix, recipient) = TopicPrefix::read_interface(&url).unwrap();
        assert_eq!((read, prefix, recipient), (broker, TopicPrefix::standard(), to));
        for bad in [
            "mqtts://broker.example:8883",
            "mqtts://broker.example/$a2a/v1",
            "mqtts://broker.example/$a2a/v1/request/a/b",
            "mqtts://broker.example/$a2a/v1/request/a/+/c",
            "mqtts://broker.example/$a2a/+/request/a/b/c",
            "mailto:a@b.example",
        ] {
            assert!(
                TopicPrefix::read_interface(&Url::parse(bad).unwrap()).is_err(),
                "{bad}"
            );
        }
    }

    #[test]
    fn a_responders_interface_lies_beside_the_one_that_was_asked() {
        let of = |asked: &str, told: &str| {
            TopicPrefix::interface_of_responder(&Url::parse(asked).unwrap(), told).map(String::from)
        };
        let pool = "mqtts://broker.example:8884/a2a/v1/request/acme/lab/pool/echoes";
        assert_eq!(
            of(pool, "echo-2").as_deref(),
            Some("mqtts://broker.example:8884/a2a/v1/request/acme/lab/echo-2")
        );
        assert_eq!(of(pool, "acme/press/echo-2"), None);
        assert_eq!(of("https://agents.example/a", "echo-2"), None);
    }

    #[test]
    fn a_prefix_has_no_wildcards_and_no_empty_levels() {
        for bad in ["", "/", "a/", "/a", "a//b", "a/+", "#", "a/$b", "$", "a b"] {
            assert!(bad.parse::<TopicPrefix>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_topic_breaks_the_reading(topic: String) {
            let _ = TopicPrefix::standard().read(&topic);
            if let Ok(url) = Url::parse(&topic) {
                let _ = TopicPrefix::read_interface(&url);
            }
        }

        #[test]
        fn what_is_read_is_written_the_same(topic in "\\$a2a/v1/(reply|request|discovery)/[a-c+#]{1,2}/[a-c]{1,2}/(pool|[a-c])(/[a-c#+/]{0,3})?") {
            let standard = TopicPrefix::standard();
            let written = standard.read(&topic).map(|read| match read {
                Topic::Discovery(agent) => standard.discovery(&agent),
                Topic::Request(to) => standard.request(&to),
                Topic::Reply(requester, suffix) => standard.reply(&requester, &suffix).unwrap(),
                Topic::Event(agent) => format!("{standard}/event/{agent}"),
            });
            prop_assert!(written.is_none_or(|written| written == topic));
        }
    }
}
