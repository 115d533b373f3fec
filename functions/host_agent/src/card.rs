//! The host's own card.

use a2a::card::{Bearer, Card, Extension, OAuth, Skill};
use domain::{AgentType, Tenant};
use llm::AgentBrief;
use url::Url;

/// What a token for the host must allow, and what its user reads of it.
const SCOPE: (&str, &str) = (agent::TASKS_SCOPE, "Give the assistant tasks in your name");

/// Examples of the card, which are read word for word where nothing else reads what people say.
pub(crate) const NEWS: &str = "How is my task doing?";
pub(crate) const OFFER: &str = "What can you do?";

/// What the host publishes of itself; `sign_in` is the tenant's authorization server.
pub(crate) fn card(tenant: &Tenant, url: &Url, sign_in: Option<&Url>) -> Card {
    Card {
        name: "Switchyard host".to_owned(),
        description:
            "Hands what you ask to the specialist agents that fit, in the background, and brings their \
                      answers back. Ask for the status of a task at any time."
                .to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        url: url.clone(),
        mqtt: None,
        documentation_url: None,
        provider: None,
        skills: vec![Skill {
            id: "delegate".to_owned(),
            name: "Delegate".to_owned(),
            description: "Finds the agents for a request, gives each its part, and joins the answers."
                .to_owned(),
            tags: vec!["type:host".to_owned(), format!("tenant_id:{}", tenant.name())],
            examples: vec![
                "Will it rain in Oslo tomorrow?".to_owned(),
                NEWS.to_owned(),
                OFFER.to_owned(),
            ],
            input_modes: Vec::new(),
            output_modes: Vec::new(),
        }],
        // What is attached goes on to the agents that the work is given to.
        default_input_modes: vec!["text/plain".to_owned(), "*/*".to_owned()],
        default_output_modes: vec!["text/plain".to_owned(), "application/json".to_owned()],
        streaming: true,
        push_notifications: true,
        extended: true,
        extensions: Vec::new(),
        secured: Some(Bearer {
            description: Some("An access token of the tenant, with this URL as its audience.".to_owned()),
            scopes: vec![SCOPE.0.to_owned()],
            oauth: sign_in.map(oauth),
        }),
    }
}

/// What a host says that can show the words of an answer as they come.
pub(crate) fn drafts() -> Extension {
    Extension {
        uri: a2a::DRAFTS.to_owned(),
        description: "Streams show the words of an answer as they come: status updates whose message is of this \
                      extension have the text so far, each in place of the one before. The task's answer counts."
            .to_owned(),
        ..Extension::default()
    }
}

/// The card for the tenant's own callers: it lists what the agents can do that the host hands their work to. Each of their skills
/// is tagged with the agent's type and its name, and has the media types that agents of the type take.
pub(crate) fn extended(
    card: &Card,
    agents: &[AgentBrief],
    takes: impl Fn(&AgentType) -> Vec<String>,
) -> Card {
    let skills = agents
        .iter()
        .flat_map(|agent| agent.skills().iter().map(move |skill| (agent, skill)));
    let skills = skills.enumerate().map(|(number, (agent, skill))| Skill {
        id: format!("{}/{number}", agent.agent_type()),
        name: format!("{}: {}", agent.name(), skill.name()),
        description: skill.description().to_owned(),
        tags: vec![
            format!("type:{}", agent.agent_type()),
            format!("agent:{}", agent.name()),
        ],
        examples: skill.examples().to_vec(),
        // None is the card's default: anything.
        input_modes: takes(agent.agent_type()),
        output_modes: Vec::new(),
    });
    Card {
        skills: card.skills.iter().cloned().chain(skills).collect(),
        ..card.clone()
    }
}

/// Where clients get tokens.
fn oauth(issuer: &Url) -> OAuth {
    let below = |path: &str| {
        let mut url = issuer.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path.split('/'));
        }
        url
    };
    OAuth {
        authorization_url: below("authorize"),
        token_url: below("token"),
        metadata_url: below(".well-known/oauth-authorization-server"),
        issuer: issuer.as_str().trim_end_matches('/').to_owned(),
        scopes: vec![(SCOPE.0.to_owned(), SCOPE.1.to_owned())],
    }
}
