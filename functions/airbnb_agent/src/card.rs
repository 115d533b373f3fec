//! What the agent publishes of itself.

use a2a::card::{Card, Skill, inputs};
use url::Url;

use crate::wanted;

const SEARCH: &str = "airbnb";

/// The agent's card, with the URL it is called at.
pub(crate) fn card(url: Url) -> Card {
    Card {
        name: "Accommodation".into(),
        description: "Finds places to stay: flats, rooms and houses for your dates, guests and budget."
            .into(),
        version: env!("CARGO_PKG_VERSION").into(),
        url,
        mqtt: None,
        documentation_url: None,
        provider: None,
        skills: vec![search()],
        default_input_modes: vec!["text/plain".into(), "application/json".into()],
        default_output_modes: vec!["text/plain".into(), "application/json".into()],
        streaming: true,
        push_notifications: true,
        extended: false,
        extensions: vec![inputs([(SEARCH, wanted::schema())])],
        secured: None,
    }
}

fn search() -> Skill {
    Skill {
        id: SEARCH.into(),
        name: "Find a place to stay".into(),
        description: "Searches accommodation in a place from one day to another, for so many guests, under a price per night.".into(),
        tags: vec![
            "type:airbnb".into(),
            "topic:accommodation".into(),
            "topic:stay".into(),
        ],
        examples: [
            "A flat in Oslo for two, Friday to Sunday",
            "A cheap hotel room near the beach for next weekend",
            "A house with a kitchen for four adults and two children, 3 to 10 July",
            "Where can we stay in Rome for three nights under 120 a night?",
            "Eine Ferienwohnung in Wien für zwei Personen",
            "¿Dónde podemos alojarnos en Sevilla por menos de 90 la noche?",
        ]
        .map(String::from)
        .to_vec(),
        input_modes: Vec::new(),
        output_modes: Vec::new(),
    }
}
