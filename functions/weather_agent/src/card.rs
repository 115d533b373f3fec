//! What the agent publishes of itself.

use a2a::card::{Card, Skill};
use url::Url;

/// The agent's card, with the URL it is called at.
pub(crate) fn card(url: Url) -> Card {
    Card {
        name: "Weather".into(),
        description: "Daily weather forecasts for any place on earth, up to 16 days ahead, with data from Open-Meteo. \
                      Understands several places, days, ranges of days and units in one question, and asks back when \
                      a place is ambiguous."
            .into(),
        version: env!("CARGO_PKG_VERSION").into(),
        url,
        documentation_url: Url::parse("https://open-meteo.com/en/docs").ok(),
        provider: None,
        skills: vec![Skill {
            id: "forecast".into(),
            name: "Weather forecast".into(),
            description: "Answers questions about the weather of the coming days: rain, umbrella, snow, wind, storm, \
                          sunshine, temperature, frost, heat."
                .into(),
            tags: vec!["type:weather".into(), "topic:forecast".into(), "source:open-meteo".into()],
            examples: [
                "Will it rain in Oslo tomorrow?",
                "Do I need an umbrella in Bergen this weekend?",
                "Weather in Paris, Rome or Berlin next week",
                "How cold will it be in Chicago on Friday, in Fahrenheit?",
                "Will it snow in Innsbruck on 24 December?",
                "How windy is it in Cape Town today?",
                "5-day forecast for Tokyo",
            ]
            .map(String::from)
            .to_vec(),
            input_modes: Vec::new(),
            output_modes: Vec::new(),
        }],
        default_input_modes: vec!["text/plain".into(), "application/json".into()],
        default_output_modes: vec!["text/plain".into(), "application/json".into()],
        streaming: true,
        push_notifications: true,
        extended: false,
        extensions: Vec::new(),
        secured: None,
    }
}
