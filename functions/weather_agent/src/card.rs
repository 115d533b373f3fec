//! What the agent publishes of itself.

use a2a::card::{Card, Skill, inputs};
use url::Url;

use crate::question;

const FORECAST: &str = "forecast";

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
        mqtt: None,
        documentation_url: Url::parse("https://open-meteo.com/en/docs").ok(),
        provider: None,
        skills: vec![forecast(), sun(), limits()],
        default_input_modes: vec!["text/plain".into(), "application/json".into()],
        default_output_modes: vec!["text/plain".into(), "application/json".into()],
        streaming: true,
        push_notifications: true,
        extended: false,
        extensions: vec![inputs([(FORECAST, question::schema())])],
        secured: None,
    }
}

fn forecast() -> Skill {
    Skill {
        id: FORECAST.into(),
        name: "Weather forecast".into(),
        description:
            "Answers questions about the weather of the coming days: rain or dry, wet, umbrella, snow, wind, storm, \
                      sunny or cloudy, warm, hot, cold, temperature, frost, heat, and whether to wear a coat."
                .into(),
        tags: vec![
            "type:weather".into(),
            "topic:forecast".into(),
            "source:open-meteo".into(),
        ],
        examples: [
            "Will it rain in Oslo tomorrow?",
            "Do I need an umbrella in Rome this weekend?",
            "Weather in Paris, Rome or Berlin next week",
            "How cold will it be in Oslo on Friday, in Fahrenheit?",
            "Wie wird das Wetter am Samstag in Köln?",
            "¿Va a nevar en Granada el domingo?",
        ]
        .map(String::from)
        .to_vec(),
        input_modes: Vec::new(),
        output_modes: Vec::new(),
    }
}

fn sun() -> Skill {
    Skill {
        id: "sun".into(),
        name: "Sunrise, sunset, UV index".into(),
        description: "When the sun goes up and down, how strong its UV is, and whether that needs sunscreen."
            .into(),
        tags: vec!["type:weather".into()],
        examples: vec!["When is sunset in Rome on Sunday, when does the sun go up?".into()],
        input_modes: Vec::new(),
        output_modes: Vec::new(),
    }
}

/// What people ask a weather agent for and daily forecasts do not have. That it says so is a skill, too: nobody else would.
fn limits() -> Skill {
    Skill {
        id: "limits".into(),
        name: "Humidity, pollen, fog, hail".into(),
        description:
            "Says which of these daily forecasts do not have, beside what they do have of the place.".into(),
        tags: vec!["type:weather".into()],
        examples: Vec::new(),
        input_modes: Vec::new(),
        output_modes: Vec::new(),
    }
}
