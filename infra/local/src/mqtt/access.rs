//! Who signs in at the broker, and which topics each of them reads and writes: a topic ACL that keeps tenants apart, before any
//! agent looks at a token.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use a2a::mqtt::{AgentAddress, InvalidAddress, PoolAddress, Recipient, TopicPrefix};
use domain::SecretString;

use crate::data::endpoints::{Endpoints, TenantEndpoints};
use crate::data::secrets::Secrets;

/// The organisation that this system's agents belong to.
pub const ORG: &str = "switchyard";
/// The unit of agents that serve every tenant.
pub const PLATFORM: &str = "platform";
/// The name of the client that looks for agents, for a bridge.
pub(crate) const DISCOVERY: &str = "discovery";
/// The name of the client that lists agents, for people at a terminal.
pub const WATCHER: &str = "watcher";
/// The name of the client that asks agents and tries brokers, for people at a terminal.
pub const OPERATOR: &str = "operator";
/// The clients of the system that are no agents.
pub(crate) const CLIENTS: [&str; 3] = [DISCOVERY, WATCHER, OPERATOR];
/// The unit in which `switchyard mqtt check` tries things.
pub const CHECK: &str = "check";

/// A client of the broker: its address is its user name and its client id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Client {
    /// Who it is.
    pub address: AgentAddress,
    /// The filters of topics that it may subscribe to.
    pub reads: Vec<String>,
    /// Those that it may publish to.
    pub writes: Vec<String>,
}

/// Whether this can be the address of a client from outside: it is of another organisation, or of the platform's unit and none of the
/// system's own.
pub fn is_outside<'n>(client: &AgentAddress, agents: impl IntoIterator<Item = &'n str>) -> bool {
    let is_own = |name: &str| CLIENTS.contains(&name) || agents.into_iter().any(|agent| agent == name);
    client.org() != ORG || client.unit() == PLATFORM && !is_own(client.agent())
}

/// Whether a name in a tenant's unit is its host's or another agent's.
pub(crate) fn is_agent(own: &TenantEndpoints, name: &str) -> bool {
    name == host_agent::AGENT || own.agents.keys().any(|agent| agent.as_str() == name)
}

/// What is known of everybody's topics.
pub struct Rules<'a> {
    /// What topics begin with.
    pub prefix: &'a TopicPrefix,
    /// Organisations beside the system's own.
    pub orgs: &'a [String],
    /// Clients of those organisations that sign in at this broker; and some of the platform's own unit, which only ask.
    pub guests: &'a [AgentAddress],
}

impl Rules<'_> {
    /// Every client of this system, and its guests. Whoever has a password in a tenant's unit and is none of its agents is a client of
    /// that tenant.
    ///
    /// # Errors
    /// Where a name makes no address.
    pub fn clients(
        &self,
        endpoints: &Endpoints,
        passwords: &BTreeMap<String, SecretString>,
    ) -> Result<Vec<Client>, InvalidAddress> {
        let mut clients = Vec::new();
        for name in endpoints.agents.keys() {
            clients.push(self.agent(PLATFORM, name.as_str())?);
        }
        for (tenant, own) in &endpoints.tenants {
            for name in own.agents.keys() {
                clients.push(self.agent(tenant.prefix(), name.as_str())?);
            }
            clients.push(self.host(tenant.prefix())?);
            let unit = format!("{ORG}/{}/", tenant.prefix());
            let names = passwords.keys().filter_map(|address| address.strip_prefix(&unit));
            for name in names.filter(|name| !is_agent(own, name)) {
                clients.push(self.member(&AgentAddress::new(ORG, tenant.prefix(), name)?));
            }
        }
        for name in [DISCOVERY, WATCHER] {
            clients.push(self.looker(name)?);
        }
        clients.push(self.operator()?);
        clients.extend(self.guests.iter().map(|guest| match guest.org() {
            ORG => self.requester(guest),
            _ => self.guest(guest),
        }));
        Ok(clients)
    }

    /// An agent takes requests and replies to whoever it serves: all tenants, or its own alone; other organisations in any case,
    /// as the token says whom it serves.
    fn agent(&self, unit: &str, name: &str) -> Result<Client, InvalidAddress> {
        let address = AgentAddress::new(ORG, unit, name)?;
        let pools = PoolAddress::new(ORG, unit, "x")?;
        let pools = self.prefix.request(&Recipient::Pool(pools));
        let mut writes = vec![
            self.prefix.discovery(&address),
            self.below("event", &address.to_string()),
        ];
        match unit {
            PLATFORM => writes.push(self.below("reply", &format!("{ORG}/#"))),
            own => writes.extend([own, PLATFORM].map(|unit| self.below("reply", &format!("{ORG}/{unit}/#")))),
        }
        writes.extend(
            self.orgs
                .iter()
                .map(|org| self.below("reply", &format!("{org}/#"))),
        );
        Ok(Client {
            reads: vec![
                self.prefix.request(&Recipient::Agent(address.clone())),
                format!("{}+", pools.trim_end_matches('x')),
            ],
            writes,
            address,
        })
    }

    /// A tenant's host also asks: agents of the platform, of its tenant and of other organisations.
    fn host(&self, unit: &str) -> Result<Client, InvalidAddress> {
        let mut client = self.agent(unit, host_agent::AGENT)?;
        client
            .reads
            .push(self.below("reply", &format!("{}/#", client.address)));
        let units = [PLATFORM, unit].map(|unit| format!("{ORG}/{unit}"));
        client.writes.extend(self.asked(&units));
        Ok(client)
    }

    fn looker(&self, name: &str) -> Result<Client, InvalidAddress> {
        Ok(Client {
            address: AgentAddress::new(ORG, PLATFORM, name)?,
            reads: self.cards(),
            writes: Vec::new(),
        })
    }

    /// The operator asks everybody, and clears cards away; what it tries a broker with lies in a unit of its own.
    fn operator(&self) -> Result<Client, InvalidAddress> {
        let address = AgentAddress::new(ORG, PLATFORM, OPERATOR)?;
        let tried = ["discovery", "request", "reply", "event"];
        let tried = tried.map(|kind| self.below(kind, &format!("{ORG}/{CHECK}/#")));
        let mut reads = self.cards();
        reads.push(self.below("reply", &format!("{address}/#")));
        reads.extend(tried.iter().skip(1).cloned());
        let mut writes = self.asked(&[ORG.to_owned()]);
        writes.push(self.below("discovery", &format!("{ORG}/#")));
        writes.extend(tried.iter().skip(2).cloned());
        Ok(Client {
            address,
            reads,
            writes,
        })
    }

    /// Somebody of another organisation may ask our agents, take part as an agent, and see the cards of what serves everybody.
    fn guest(&self, guest: &AgentAddress) -> Client {
        let reads = vec![
            self.prefix.request(&Recipient::Agent(guest.clone())),
            self.below("reply", &format!("{guest}/#")),
            self.below("discovery", &format!("{ORG}/{PLATFORM}/+")),
            self.below("discovery", &format!("{}/#", guest.org())),
        ];
        let mut writes = self.asked(&[ORG.to_owned(), guest.org().to_owned()]);
        writes.extend([
            self.prefix.discovery(guest),
            self.below("event", &guest.to_string()),
            self.below("reply", &format!("{ORG}/#")),
            self.below("reply", &format!("{}/#", guest.org())),
        ]);
        Client {
            address: guest.clone(),
            reads,
            writes,
        }
    }

    /// Some clients take their replies below the unit that they ask. One of those asks what serves everybody, and does nothing else.
    fn requester(&self, requester: &AgentAddress) -> Client {
        Client {
            reads: vec![
                self.below("reply", &format!("{requester}/#")),
                self.below("discovery", &format!("{ORG}/{PLATFORM}/+")),
            ],
            writes: vec![self.below("request", &format!("{ORG}/{PLATFORM}/#"))],
            address: requester.clone(),
        }
    }

    /// A client of a tenant sees the cards of that tenant and of the platform, and asks those agents.
    fn member(&self, member: &AgentAddress) -> Client {
        let units = [PLATFORM, member.unit()].map(|unit| format!("{ORG}/{unit}"));
        let cards = units
            .iter()
            .map(|unit| self.below("discovery", &format!("{unit}/+")));
        Client {
            reads: std::iter::once(self.below("reply", &format!("{member}/#")))
                .chain(cards)
                .collect(),
            writes: units
                .iter()
                .map(|unit| self.below("request", &format!("{unit}/#")))
                .collect(),
            address: member.clone(),
        }
    }

    fn cards(&self) -> Vec<String> {
        let orgs = std::iter::once(ORG).chain(self.orgs.iter().map(String::as_str));
        orgs.map(|org| self.below("discovery", &format!("{org}/#")))
            .collect()
    }

    /// Where requests to these and to other organisations go.
    fn asked(&self, whom: &[String]) -> Vec<String> {
        let whom = whom.iter().chain(self.orgs);
        let mut topics: Vec<String> = whom
            .map(|whom| self.below("request", &format!("{whom}/#")))
            .collect();
        topics.sort_unstable();
        topics.dedup();
        topics
    }

    fn below(&self, kind: &str, rest: &str) -> String {
        format!("{}/{kind}/{rest}", self.prefix)
    }
}

/// The passwords of these clients, as far as they have one, by their addresses.
pub fn passwords(secrets: &Secrets) -> BTreeMap<String, SecretString> {
    // A guest's name is its whole address; a name of ours is one of the platform's unit.
    let platform = secrets.mqtt.iter().map(|(name, password)| {
        let address = match name.contains('/') {
            true => name.clone(),
            false => format!("{ORG}/{PLATFORM}/{name}"),
        };
        (address, password.clone())
    });
    let tenants = secrets.tenants.iter().flat_map(|(tenant, own)| {
        let unit = tenant.prefix();
        let passwords = own.mqtt.iter();
        passwords.map(move |(name, password)| (format!("{ORG}/{unit}/{name}"), password.clone()))
    });
    platform.chain(tenants).collect()
}

/// The ACL file of a Mosquitto whose users these clients are.
pub fn mosquitto(clients: &[Client]) -> String {
    let mut acl = String::new();
    for client in clients {
        // Writing to a text does not fail.
        let _ = writeln!(acl, "user {}", client.address);
        for topic in &client.reads {
            let _ = writeln!(acl, "topic read {topic}");
        }
        for topic in &client.writes {
            let _ = writeln!(acl, "topic write {topic}");
        }
        acl.push('\n');
    }
    acl
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(clients: &[Client], address: &str) -> Client {
        let found = clients
            .iter()
            .find(|client| client.address.to_string() == address);
        found.unwrap_or_else(|| panic!("no {address}")).clone()
    }

    fn clients() -> Vec<Client> {
        let rules = Rules {
            prefix: &TopicPrefix::standard(),
            orgs: &["acme.example".to_owned()],
            guests: &[
                "acme.example/lab/asker".parse().unwrap(),
                "switchyard/platform/asker".parse().unwrap(),
            ],
        };
        let agent = |unit, name| rules.agent(unit, name).unwrap();
        vec![
            agent(PLATFORM, "weather"),
            agent("globex", "horizon"),
            rules.host("globex").unwrap(),
            rules.operator().unwrap(),
            rules.guest(&rules.guests[0]),
            rules.requester(&rules.guests[1]),
        ]
    }

    #[test]
    fn who_takes_replies_beside_the_platforms_agents_asks_them_and_nothing_else() {
        let asker = client(&clients(), "switchyard/platform/asker");
        assert_eq!(
            asker.reads,
            [
                "$a2a/v1/reply/switchyard/platform/asker/#",
                "$a2a/v1/discovery/switchyard/platform/+"
            ]
        );
        assert_eq!(asker.writes, ["$a2a/v1/request/switchyard/platform/#"]);
        let is_outside = |address: &str| super::is_outside(&address.parse().unwrap(), ["weather"]);
        for (address, is_one) in [
            ("acme.example/lab/weather", true),
            ("switchyard/platform/asker", true),
            ("switchyard/platform/weather", false),
            ("switchyard/platform/operator", false),
            ("switchyard/globex/asker", false),
        ] {
            assert_eq!(is_outside(address), is_one, "{address}");
        }
    }

    #[test]
    fn an_agent_hears_its_own_requests_and_answers_whom_it_serves() {
        let clients = clients();
        let weather = client(&clients, "switchyard/platform/weather");
        assert_eq!(
            weather.reads,
            [
                "$a2a/v1/request/switchyard/platform/weather",
                "$a2a/v1/request/switchyard/platform/pool/+"
            ]
        );
        let replies = |client: &Client| {
            let topics = client.writes.iter();
            let topics = topics.filter(|topic| topic.contains("/reply/"));
            topics.cloned().collect::<Vec<_>>()
        };
        assert_eq!(
            replies(&weather),
            ["$a2a/v1/reply/switchyard/#", "$a2a/v1/reply/acme.example/#"]
        );
        assert_eq!(
            replies(&client(&clients, "switchyard/globex/horizon")),
            [
                "$a2a/v1/reply/switchyard/globex/#",
                "$a2a/v1/reply/switchyard/platform/#",
                "$a2a/v1/reply/acme.example/#"
            ]
        );
    }

    #[test]
    fn a_host_asks_nobody_of_another_tenant() {
        let host = client(&clients(), "switchyard/globex/host");
        let asked: Vec<_> = host
            .writes
            .iter()
            .filter(|topic| topic.contains("/request/"))
            .collect();
        assert_eq!(
            asked,
            [
                "$a2a/v1/request/acme.example/#",
                "$a2a/v1/request/switchyard/globex/#",
                "$a2a/v1/request/switchyard/platform/#"
            ]
        );
    }

    #[test]
    fn a_client_of_a_tenant_sees_and_asks_that_tenant_and_the_platform_alone() {
        let rules = Rules {
            prefix: &TopicPrefix::standard(),
            orgs: &["acme.example".to_owned()],
            guests: &[],
        };
        let member = rules.member(&"switchyard/globex/asker".parse().unwrap());
        assert_eq!(
            member.reads,
            [
                "$a2a/v1/reply/switchyard/globex/asker/#",
                "$a2a/v1/discovery/switchyard/platform/+",
                "$a2a/v1/discovery/switchyard/globex/+"
            ]
        );
        assert_eq!(
            member.writes,
            [
                "$a2a/v1/request/switchyard/platform/#",
                "$a2a/v1/request/switchyard/globex/#"
            ]
        );
    }

    #[test]
    fn the_list_is_in_mosquittos_words() {
        let acl = mosquitto(&clients()[..1]);
        assert_eq!(
            acl,
            "user switchyard/platform/weather\n\
             topic read $a2a/v1/request/switchyard/platform/weather\n\
             topic read $a2a/v1/request/switchyard/platform/pool/+\n\
             topic write $a2a/v1/discovery/switchyard/platform/weather\n\
             topic write $a2a/v1/event/switchyard/platform/weather\n\
             topic write $a2a/v1/reply/switchyard/#\n\
             topic write $a2a/v1/reply/acme.example/#\n\n"
        );
    }
}
