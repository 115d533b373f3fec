//! What the agent publishes of itself.

use a2a::card::{Bearer, Card, Skill, inputs};
use url::Url;

use crate::question;

const LOOK: &str = "calendar";

/// The agent's card, with the URL it is called at.
pub(crate) fn card(url: Url) -> Card {
    Card {
        name: "Calendar".into(),
        description: "Reads your calendar: what is on, whether you are free, and when a meeting would fit."
            .into(),
        version: env!("CARGO_PKG_VERSION").into(),
        url,
        mqtt: None,
        documentation_url: None,
        provider: None,
        skills: vec![skill()],
        default_input_modes: vec!["text/plain".into(), "application/json".into()],
        default_output_modes: vec!["text/plain".into(), "application/json".into()],
        streaming: true,
        push_notifications: true,
        extended: false,
        extensions: vec![
            a2a::connections_extension(),
            a2a::consent_extension(),
            inputs([(LOOK, question::schema())]),
        ],
        secured: Some(Bearer {
            description: Some(
                "A token that a tenant's host signs for its user, with this agent's URL as its audience. Other clients ask that host."
                    .into(),
            ),
            scopes: vec![agent::TASKS_SCOPE.to_owned()],
            oauth: None,
        }),
    }
}

fn skill() -> Skill {
    Skill {
        id: LOOK.into(),
        name: "Calendar".into(),
        description:
            "Answers whether you are free or busy, lists appointments and events, and finds free slots."
                .into(),
        tags: ["type:calendar", "topic:calendar", "topic:availability"]
            .map(String::from)
            .to_vec(),
        examples: [
            "Am I free on Friday?",
            "What is on my calendar tomorrow?",
            "An hour for lunch with Ines next week",
            "When is my next meeting?",
            "Habe ich am Montag Zeit?",
            "¿Qué tengo en la agenda el jueves?",
        ]
        .map(String::from)
        .to_vec(),
        input_modes: Vec::new(),
        output_modes: Vec::new(),
    }
}
