//! The host's own card.

use a2a::card::{Bearer, Card, Skill};
use domain::Tenant;
use url::Url;

/// What the host publishes of itself.
pub(crate) fn card(tenant: &Tenant, url: &Url) -> Card {
    let text = || vec!["text/plain".to_owned()];
    Card {
        name: "Switchyard host".to_owned(),
        description:
            "Hands what you ask to the specialist agents that fit, in the background, and brings their \
                      answers back. Ask for the status of a task at any time."
                .to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        url: url.clone(),
        documentation_url: None,
        provider: None,
        skills: vec![Skill {
            id: "delegate".to_owned(),
            name: "Delegate".to_owned(),
            description: "Finds the agents for a request, gives each its part, and joins the answers."
                .to_owned(),
            tags: vec!["type:host".to_owned(), format!("tenant_id:{tenant}")],
            examples: vec![
                "Will it rain in Oslo tomorrow?".to_owned(),
                "How is my task doing?".to_owned(),
                "What can you do?".to_owned(),
            ],
            input_modes: Vec::new(),
            output_modes: Vec::new(),
        }],
        default_input_modes: text(),
        default_output_modes: vec!["text/plain".to_owned(), "application/json".to_owned()],
        streaming: false,
        push_notifications: true,
        extended: false,
        secured: Some(Bearer {
            description: Some("An access token of the tenant, with this URL as its audience.".to_owned()),
            scopes: vec![agent::TASKS_SCOPE.to_owned()],
            oauth: None,
        }),
    }
}
