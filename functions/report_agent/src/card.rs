//! What the agent publishes of itself.

use a2a::card::{Card, Skill};
use url::Url;

/// The agent's card, with the URL it is called at.
pub(crate) fn card(url: Url) -> Card {
    Card {
        name: "Reports".into(),
        description:
            "Writes sample reports on any topic in several slow steps, and says how far it is. It shows how \
                      long-running work behaves; the contents are simulated."
                .into(),
        version: env!("CARGO_PKG_VERSION").into(),
        url,
        documentation_url: None,
        provider: None,
        skills: vec![Skill {
            id: "report".into(),
            name: "Sample report".into(),
            description: "Writes a report on a topic: gathers, sorts, drafts and checks, step by step."
                .into(),
            tags: vec!["type:report".into(), "topic:report".into()],
            examples: [
                "Write a report about electric cars",
                "Prepare a report on tea in Norway",
                "I need a report about our sales in six steps",
            ]
            .map(String::from)
            .to_vec(),
            input_modes: Vec::new(),
            output_modes: Vec::new(),
        }],
        default_input_modes: vec!["text/plain".into(), "application/json".into()],
        default_output_modes: vec!["text/markdown".into(), "application/json".into()],
        streaming: true,
        push_notifications: true,
        extended: false,
        extensions: Vec::new(),
        secured: None,
    }
}
