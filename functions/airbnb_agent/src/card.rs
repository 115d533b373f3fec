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
            "Find a flat for two people",
            "An apartment or studio for four guests under 120 a night",
            "Somewhere to sleep near the beach, with kitchen, pool and parking, pets allowed",
            "Is there a cheap room, a cabin, a cottage, a villa, a hostel or a hotel",
            "Where can we stay with two children? We need beds",
            "We need lodging, a bungalow, a guesthouse, a holiday home or a bed and breakfast to rent for three nights",
            "A place to crash or spend the night, a house for our family, a hideaway in the mountains",
            "Eine Wohnung für zwei Personen",
            "Wo können wir übernachten oder schlafen, ein Zimmer, ein Bett oder Ferienhaus bis 100 pro Nacht?",
            "Suche eine Unterkunft, Ferienwohnung, Hütte, Pension oder ein Hotel am Meer",
            "Un apartamento o piso para dos personas",
            "¿Dónde podemos alojarnos, quedarnos o dormir? Una habitación o casa rural por menos de 90 la noche",
            "Alojamiento, hostal u hotel cerca de la playa",
            "Un appartement ou studio pour deux personnes",
            "Où loger, dormir ou séjourner ? Une chambre, un gîte, une maison à moins de 100 la nuit",
            "Hébergement, logement ou hôtel près de la mer",
            "En leilighet for to voksne, hybel, pensjonat, rorbu, senger, leie, losji, netter",
            "Et sted å sove eller bo, hvor kan vi overnatte, et rom, et hus eller en hytte under 1000 natten?",
            "Overnatting, feriehus eller hotell ved sjøen",
            "二人で泊まれる部屋や宿を探して",
            "一泊一万以下のホテルや旅館、貸別荘、ベッド、滞在、民宿、コテージ、アパート",
            "家族で宿泊、民泊、泊まる所",
            "Un appartamento per due persone, dove dormire o alloggiare, una camera, stanza, casa o alloggio a meno di 90 a notte, albergo",
            "Een appartement, kamer of huisje voor twee personen, waar kunnen we overnachten, slapen of verblijven? Onderdak of slaapplek per nacht, huren, hotel, bedden",
            "En lägenhet, ett rum, hus eller en stuga för två personer, var kan vi bo, sova och övernatta? Boende, logi per natt, hyra, hotell, sängar, fritidshus",
            "Um apartamento, quarto ou casa para duas pessoas, onde ficar, dormir ou alojar, hospedagem ou pousada perto da praia, por noite, hotel, alugar, camas",
            "Mieszkanie, domek, pokój lub nocleg dla dwóch osób, gdzie spać lub się zatrzymać, kwatera za noc, hotel, apartament, wynająć, przenocować, domki",
            "Квартира, дом, домик, комната или жильё на двоих, где переночевать или остановиться, снять гостиницу на ночь, отель, хостел, ночлег, кровати",
            "An inn, motel, resort, suite, chalet, farmhouse, campsite or bunk, a double room, a vacation rental overnight, put us up",
            "Apartment, Gasthof, Hostel, Herberge, Doppelzimmer, Schlafplatz, Bleibe, Chalet, Bauernhof, Haus zu mieten, unterkommen, Betten",
            "Una cabaña, un chalet, estudio o villa, camas, noches, alquilar, hospedarnos, hospedaje, pasar la noche",
            "Une auberge, un chalet, une cabane, une villa, des lits, louer, coucher, passer la nuit, chambre d'hôtes, nuits",
        ]
        .map(String::from)
        .to_vec(),
        input_modes: Vec::new(),
        output_modes: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host takes whoever is near to a place and a day alone for the one that is meant by them, which is the weather: no
    /// example has such words at all.
    #[test]
    fn no_example_names_places_or_days() {
        let meant: Vec<String> = search()
            .examples
            .into_iter()
            .filter(|example| {
                let lower = example.to_lowercase();
                let names = [
                    "oslo", "rome", "berlin", "tomorrow", "today", "weekend", "friday", "sunday",
                ];
                words::is_place_and_day(example) || names.iter().any(|name| lower.contains(name))
            })
            .collect();
        assert!(meant.is_empty(), "{meant:#?}");
    }
}
