//! What the agent publishes of itself.

use a2a::card::{Card, Skill};
use url::Url;

/// How reports are asked for.
pub(crate) const EXAMPLES: [&str; 32] = [
    "Write a report about electric cars",
    "Prepare a report on tea",
    "I need a report about our sales in six steps",
    "Draft a detailed write-up, an essay, a whitepaper or a background paper",
    "Research or investigate a subject thoroughly and write it down: two pages with headings and sources",
    "Compile an overview, an analysis, a summary, a briefing, a memo or a dossier",
    "Put together a study, a long document or a structured piece, in depth",
    "Schreibe einen ausführlichen Bericht über Elektroautos",
    "Erstelle eine Analyse, eine Zusammenfassung, einen Aufsatz, ein Dossier oder eine Ausarbeitung zum Thema Tee",
    "Stell mir Hintergründe zusammen, recherchiere, verfasse einen langen Text mit Quellen, mehrere Seiten",
    "Escribe o redacta un informe sobre coches eléctricos, un trabajo escrito, un ensayo",
    "Prepara un análisis, un estudio, un documento o un resumen detallado",
    "Investiga el tema a fondo, un texto largo con fuentes",
    "Rédige un rapport sur les voitures électriques, un dossier, un mémoire",
    "Prépare une analyse, une synthèse, un exposé ou une étude détaillée",
    "Écris un texte long et approfondi, fais des recherches, plusieurs pages",
    "Skriv en grundig rapport om elbiler, en lengre tekst eller sak",
    "Lag en analyse, en utredning, et notat, en oversikt eller et sammendrag om te, artikkel, undersøkelse",
    "Samle bakgrunn om et tema og skriv det ned, med kilder",
    "電気自動車についての詳しいレポートを書いて",
    "市場を調べて分析と報告書を作成、調査、記事、解説、詳しく",
    "資料や文書をまとめて、論文、概要",
    "Scrivi un rapporto o una relazione approfondita sulle auto elettriche, un testo lungo, un'analisi, una ricerca o un saggio con fonti, articolo",
    "Schrijf een uitgebreid rapport of verslag over elektrische auto's, zoek achtergrond en zet het op papier, een analyse of onderzoek, artikel, overzicht, uitzoeken",
    "Skriv en utförlig rapport om elbilar, en lång text, uppsats, utredning, analys eller sammanställning med källor, artikel, översikt, undersök",
    "Escreve um relatório sobre carros elétricos, um texto longo, um trabalho, uma análise, um estudo ou resumo, pesquisa com fontes, artigo",
    "Napisz raport o samochodach elektrycznych, dłuższe opracowanie, referat, analizę lub dokument ze źródłami, artykuł, badanie, opracuj",
    "Напиши отчёт об электромобилях, подробный доклад, реферат, обзор, анализ, большой текст с источниками, изучи рынок, документ, статья",
    "A paper, article or text of several chapters, a deep dive, survey, review, comparison or outline: look into it, examine, explain in detail, with findings",
    "Artikel, Referat, Hausarbeit, Übersicht, Überblick, Studie, Gutachten, Untersuchung, Recherche: schreib ausführlich, mehrere Seiten, fasse zusammen",
    "Artículo, monografía, reporte, memoria, investigación o panorama, varias páginas; escríbeme, haz, elabora",
    "Un article, une recherche, un compte rendu, un résumé ou un aperçu complet ; rédige-moi, fais",
];

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
        mqtt: None,
        documentation_url: None,
        provider: None,
        skills: vec![Skill {
            id: "report".into(),
            name: "Sample report".into(),
            description: "Writes a report on a topic: gathers, sorts, drafts and checks, step by step."
                .into(),
            tags: vec!["type:report".into(), "topic:report".into()],
            examples: EXAMPLES.map(String::from).to_vec(),
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
