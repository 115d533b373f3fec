//! Where the parts of a system are: by the list of a local one, by the outputs of its stacks on AWS.

use std::process::Command;

use domain::Tenant;
use serde_json::Value;
use url::Url;

use crate::deploying::Account;
use crate::{Failure, place};
use local::address::below;
use local::data::endpoints::Endpoints;

/// Where everything is that is looked at.
pub(super) struct Places {
    pub(super) registry: Url,
    pub(super) issuer: Url,
    pub(super) base: Url,
    pub(super) host: Url,
    /// Every agent, the host too.
    pub(super) agents: Vec<(String, Url)>,
    /// Some things are known to be otherwise there.
    pub(super) on_aws: bool,
}

pub(super) fn local(endpoints: &Endpoints, name: &Tenant) -> Result<Places, Failure> {
    let own = place::tenant(endpoints, name)?;
    let prefix = endpoints
        .named(name)
        .map_or(name.prefix(), |(tenant, _)| tenant.prefix());
    let others = endpoints.agents.iter().chain(&own.agents);
    let others = others.map(|(name, url)| (format!("the {name} agent"), url.clone()));
    let host = ("the host".to_owned(), own.host_agent.clone());
    Ok(Places {
        registry: endpoints.registry.clone(),
        issuer: below(&endpoints.idp, &format!("/{prefix}")),
        base: own.base.clone(),
        host: own.host_agent.clone(),
        agents: std::iter::once(host).chain(others).collect(),
        on_aws: false,
    })
}

pub(super) fn on_aws(tenant: &Tenant, platform: &str, account: &Account) -> Result<Places, Failure> {
    if platform.is_empty()
        || !platform.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        || platform.starts_with('-')
    {
        return Err(Failure::other("a stack is named by letters, digits and dashes"));
    }
    let shared = Stack::described(platform, account)?;
    let own = Stack::described(&format!("{platform}-{}", tenant.name()), account)?;
    // One of before there were prefixes has none.
    let prefix = own.value("Parameters", "ParameterKey", "ParameterValue", "TenantPrefix");
    let mut agents = Vec::new();
    for stack in [&own, &shared] {
        agents.extend(stack.agents());
    }
    Ok(Places {
        registry: shared.output("RegistryUrl")?,
        issuer: below(
            &shared.output("IdpUrl")?,
            &format!("/{}", prefix.unwrap_or(tenant.name())),
        ),
        base: own.output("BaseUrl")?,
        host: own.output("HostAgentUrl")?,
        agents,
        on_aws: true,
    })
}

/// What AWS says of a stack.
struct Stack {
    name: String,
    told: Value,
}

impl Stack {
    fn described(name: &str, account: &Account) -> Result<Self, Failure> {
        let mut command = Command::new("aws");
        command
            .args(["cloudformation", "describe-stacks", "--stack-name", name])
            .args(["--query", "Stacks[0]", "--output", "json"])
            .envs(account.environment());
        let output = command.output().map_err(|fault| {
            Failure::other(format!(
                "aws does not start: {fault}; docs/deploy.md says what is needed"
            ))
        })?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(Failure::other(format!(
                "the stack {name} cannot be looked at: {said}"
            )));
        }
        let told = serde_json::from_slice(&output.stdout)
            .map_err(|_| Failure::other(format!("what aws says of the stack {name} is no JSON")))?;
        Ok(Self {
            name: name.to_owned(),
            told,
        })
    }

    fn value(&self, list: &str, key: &str, value: &str, wanted: &str) -> Option<&str> {
        let all = self.told.get(list)?.as_array()?;
        let found = all
            .iter()
            .find(|each| each.get(key).and_then(Value::as_str) == Some(wanted))?;
        found.get(value)?.as_str()
    }

    fn output(&self, name: &str) -> Result<Url, Failure> {
        let found = self.value("Outputs", "OutputKey", "OutputValue", name);
        let found = found.and_then(|found| found.parse().ok());
        found.ok_or_else(|| Failure::other(format!("the stack {} says no {name}; is it whole?", self.name)))
    }

    /// Every agent of the stack: the outputs that are so named.
    fn agents(&self) -> Vec<(String, Url)> {
        let all = self.told.get("Outputs").and_then(Value::as_array);
        let named = all.into_iter().flatten().filter_map(|each| {
            let name = each.get("OutputKey")?.as_str()?.strip_suffix("AgentUrl")?;
            let url = each.get("OutputValue")?.as_str()?.parse().ok()?;
            Some((format!("the {} agent", name.to_lowercase()), url))
        });
        named.collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_stack_is_read_by_its_outputs() {
        let stack = Stack {
            name: "switchyard-acme".to_owned(),
            told: json!({
                "Outputs": [
                    {"OutputKey": "HostAgentUrl", "OutputValue": "https://x.example/a/host/1"},
                    {"OutputKey": "BaseUrl", "OutputValue": "no address"},
                    {"OutputKey": "OddAgentUrl"},
                ],
                "Parameters": [{"ParameterKey": "TenantPrefix", "ParameterValue": "acme.0123abcd"}],
            }),
        };
        assert_eq!(stack.output("HostAgentUrl").unwrap().path(), "/a/host/1");
        let refused = stack.output("BaseUrl").unwrap_err().to_string();
        assert!(refused.contains("switchyard-acme says no BaseUrl"), "{refused}");
        let agents = stack.agents();
        assert_eq!((agents.len(), agents[0].0.as_str()), (1, "the host agent"));
        let prefix = stack.value("Parameters", "ParameterKey", "ParameterValue", "TenantPrefix");
        assert_eq!(prefix, Some("acme.0123abcd"));
        let nothing = Stack {
            name: String::new(),
            told: json!(null),
        };
        assert!(nothing.output("BaseUrl").is_err() && nothing.agents().is_empty());
    }

    #[test]
    fn a_stack_that_a_shell_could_misread_is_asked_of_nobody() {
        let acme = Tenant::parse("acme").unwrap();
        for name in ["", "-x", "a b", "$(id)", "a;b"] {
            assert!(on_aws(&acme, name, &Account::default()).is_err(), "{name}");
        }
    }
}
