//! What the agent publishes of itself.

use a2a::card::{Card, Skill, inputs};
use agent::Outcome;
use nlu::{InputSchema, Takes};
use serde_json::{Value, json};
use url::Url;

/// The skill's id.
const REPORT: &str = "report";
/// The field that a report cannot do without where nothing else is given.
const TOPIC: &str = "topic";

/// How reports are asked for, with what they are about in braces.
const EXAMPLES: [&str; 32] = [
    "Write a report about {electric cars}",
    "Prepare a report on {tea}",
    "I need a report about {our sales} in six steps",
    "Draft a detailed write-up, an essay, a whitepaper or a background paper",
    "Research or investigate a subject thoroughly and write it down: two pages with headings and sources",
    "Compile an overview, an analysis, a summary, a briefing, a memo or a dossier",
    "Put together a study, a long document or a structured piece, in depth",
    "Schreibe einen ausführlichen Bericht über {Elektroautos}",
    "Erstelle eine Analyse, eine Zusammenfassung, einen Aufsatz, ein Dossier oder eine Ausarbeitung zum Thema Tee",
    "Stell mir Hintergründe zusammen, recherchiere, verfasse einen langen Text mit Quellen, mehrere Seiten",
    "Escribe o redacta un informe sobre {coches eléctricos}, un trabajo escrito, un ensayo",
    "Prepara un análisis, un estudio, un documento o un resumen detallado",
    "Investiga el tema a fondo, un texto largo con fuentes",
    "Rédige un rapport sur {les voitures électriques}, un dossier, un mémoire",
    "Prépare une analyse, une synthèse, un exposé ou une étude détaillée",
    "Écris un texte long et approfondi, fais des recherches, plusieurs pages",
    "Skriv en grundig rapport om {elbiler}, en lengre tekst eller sak",
    "Lag en analyse, en utredning, et notat, en oversikt eller et sammendrag om te, artikkel, undersøkelse",
    "Samle bakgrunn om et tema og skriv det ned, med kilder",
    "電気自動車についての詳しいレポートを書いて",
    "市場を調べて分析と報告書を作成、調査、記事、解説、詳しく",
    "資料や文書をまとめて、論文、概要",
    "Scrivi un rapporto o una relazione approfondita sulle {auto elettriche}, un testo lungo, un'analisi, una ricerca o un saggio con fonti, articolo",
    "Schrijf een uitgebreid rapport of verslag over {elektrische auto's}, zoek achtergrond en zet het op papier, een analyse of onderzoek, artikel, overzicht, uitzoeken",
    "Skriv en utförlig rapport om {elbilar}, en lång text, uppsats, utredning, analys eller sammanställning med källor, artikel, översikt, undersök",
    "Escreve um relatório sobre {carros elétricos}, um texto longo, um trabalho, uma análise, um estudo ou resumo, pesquisa com fontes, artigo",
    "Napisz raport o {samochodach elektrycznych}, dłuższe opracowanie, referat, analizę lub dokument ze źródłami, artykuł, badanie, opracuj",
    "Напиши отчёт об {электромобилях}, подробный доклад, реферат, обзор, анализ, большой текст с источниками, изучи рынок, документ, статья",
    "A paper, article or text of several chapters, a deep dive, survey, review, comparison or outline: look into it, examine, explain in detail, with findings",
    "Artikel, Referat, Hausarbeit, Übersicht, Überblick, Studie, Gutachten, Untersuchung, Recherche: schreib ausführlich, mehrere Seiten, fasse zusammen",
    "Artículo, monografía, reporte, memoria, investigación o panorama, varias páginas; escríbeme, haz, elabora",
    "Un article, une recherche, un compte rendu, un résumé ou un aperçu complet ; rédige-moi, fais",
];

/// The examples of the card.
const SHOWN: [&str; 6] = [
    "Write a report about electric cars",
    "Research the history of coffee and write it down",
    "I need a report about our sales in six steps",
    "Schreibe einen ausführlichen Bericht über Elektroautos",
    "Rédige un rapport sur les voitures électriques",
    "電気自動車についての詳しいレポートを書いて",
];

/// What a report is asked for with.
fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            TOPIC: {"type": "string", "description": "What should the report be about?"},
            "steps": {"type": "integer", "description": "Number of steps, sections or parts, 1 to 12"},
        },
        "required": [TOPIC],
    })
}

/// What is asked where there is neither a topic nor a text.
pub(crate) fn asks() -> Outcome {
    let schema = InputSchema::of(&schema()).unwrap_or_default();
    Outcome::Missing {
        question: schema.described(TOPIC).unwrap_or(TOPIC).to_owned(),
        schema: schema.of_fields(&[TOPIC]),
    }
}

/// The same as it is read from words, where a text may stand for the topic.
pub(crate) fn takes() -> Takes {
    let asked = [
        &EXAMPLES[..],
        &["a report on {tea}, please", "über {Tee} bitte", "om {te}, tack"],
    ]
    .concat();
    let mut schema = schema();
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("required");
    }
    Takes::new(&schema, &asked)
}

/// The agent's card, with the URL it is called at.
pub(crate) fn card(url: Url) -> Card {
    Card {
        name: "Reports".into(),
        description:
            "Writes sample reports on any topic in several slow steps, and says how far it is. It shows how \
                      long-running work behaves; of a mere topic the contents are simulated."
                .into(),
        version: env!("CARGO_PKG_VERSION").into(),
        url,
        mqtt: None,
        documentation_url: None,
        provider: None,
        skills: vec![Skill {
            id: REPORT.into(),
            name: "Sample report".into(),
            description: "Writes a report on a topic: gathers, sorts, drafts and checks, step by step."
                .into(),
            tags: vec!["type:report".into(), "topic:report".into()],
            examples: SHOWN.map(String::from).to_vec(),
            input_modes: Vec::new(),
            output_modes: Vec::new(),
        }],
        default_input_modes: ["text/plain", "text/markdown", "application/json"]
            .map(String::from)
            .to_vec(),
        default_output_modes: vec!["text/markdown".into(), "application/json".into()],
        streaming: true,
        push_notifications: true,
        extended: false,
        extensions: vec![inputs([(REPORT, schema())])],
        secured: None,
    }
}

#[cfg(test)]
mod tests {
    use domain::{Timestamp, UserContext};
    use nlu::{Asked, Extraction, extract};
    use serde_json::Map;

    use super::*;

    fn read(text: &str, is_answer: bool) -> Extraction {
        let known = Map::new();
        let now = Timestamp::from_millis(1_767_225_600_000);
        let asked = Asked {
            known: &known,
            before: &Map::new(),
            answers: is_answer.then_some("topic"),
            now,
            user: &UserContext::default(),
        };
        extract(text, &takes(), asked)
    }

    /// Not one row may be read worse than it was by the agent's own reading.
    #[test]
    fn topic_and_steps_are_read_out_of_the_words() {
        for (text, topic, steps) in [
            ("Write a report about electric cars", "electric cars", None),
            ("report on tea in Norway.", "tea in Norway", None),
            (
                "I need a report about our sales in six steps",
                "our sales",
                Some(6),
            ),
            ("A report on Öl in 999 parts!", "Öl", Some(999)),
            ("a report on sums in 0 steps", "sums", Some(0)),
            ("report: whales", "whales", None),
            ("Whales report please", "Whales", None),
            (
                "can you write me an electric cars report, please?",
                "electric cars",
                None,
            ),
            (
                "I need a detailed study: tea in Norway, in three parts",
                "tea in Norway",
                Some(3),
            ),
            ("Bitte einen Bericht über Wale", "Wale", None),
            ("un informe sobre ballenas", "ballenas", None),
            (
                "report about the history of tea please",
                "the history of tea",
                None,
            ),
            ("a report in two parts about C++", "C++", Some(2)),
            ("write a report on it", "it", None),
            ("a report on remote work, ten steps", "remote work", Some(10)),
            ("Skriv en rapport om älgar, tack", "älgar", None),
            ("Write me something long about volcanoes", "volcanoes", None),
        ] {
            let read = read(text, false);
            assert_eq!(read.data.get("topic"), Some(&json!(topic)), "{text}");
            assert_eq!(read.data.get("steps"), steps.map(Value::from).as_ref(), "{text}");
        }
    }

    #[test]
    fn who_names_no_topic_is_asked_for_it_in_any_language() {
        for text in [
            "a report on in two steps",
            "could you write me a report please",
            "whales",
            "Write a report",
            "report about ???",
            "",
            "Schreib mir bitte einen Bericht",
            "Kannst du mir einen Bericht schreiben?",
            "Ich brauche einen Bericht",
            "escribe un informe",
            "Rédige un rapport",
            "Scrivi un rapporto",
            "Schrijf een rapport",
            "Skriv en rapport",
        ] {
            assert_eq!(read(text, false).data.get(TOPIC), None, "{text}");
        }
    }

    #[test]
    fn where_it_is_to_go_is_no_part_of_the_topic() {
        for (text, topic, undone) in [
            (
                "write a report on owls and email it to Bob.",
                "owls",
                Some("email it to Bob"),
            ),
            (
                "a report on tea in two steps and send it to me",
                "tea",
                Some("send it to me"),
            ),
            ("a report on salt and pepper", "salt and pepper", None),
            (
                "a report on cats and how to feed them",
                "cats and how to feed them",
                None,
            ),
            (
                "a report on love and what it does to us",
                "love and what it does to us",
                None,
            ),
        ] {
            let read = read(text, false);
            assert_eq!(read.data["topic"], topic, "{text}");
            assert_eq!(read.unsure.first().map(String::as_str), undone, "{text}");
        }
    }

    #[test]
    fn an_answer_is_the_topic() {
        for (text, topic) in [
            ("whales", "whales"),
            ("about the whales, please", "the whales"),
            ("It should be about tea in one step", "tea"),
            ("Öl!", "Öl"),
        ] {
            assert_eq!(read(text, true).data["topic"], topic);
        }
        for nothing in ["", "?", "please"] {
            assert_eq!(read(nothing, true).data.get(TOPIC), None, "{nothing}");
        }
    }
}
