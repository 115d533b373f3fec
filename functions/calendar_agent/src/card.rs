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
            description: Some("A token of the user's tenant, with this agent's URL as its audience.".into()),
            scopes: vec![agent::TASKS_SCOPE.to_owned()],
            oauth: None,
        }),
    }
}

fn skill() -> Skill {
    Skill {
        id: LOOK.into(),
        name: "Calendar".into(),
        description: "Answers whether you are free or busy, lists appointments and events, and finds free slots.".into(),
        tags: [
            "type:calendar",
            "topic:calendar",
            "topic:availability",
            "not:move,reschedule,postpone,verschieb,verschiebe,verschieben",
            "not:move,mueve,aplaza,déplace,reporte,flytt,flytta,sposta",
            "not:move,変更,verzet,verplaats,muda,przełóż,перенеси",
            "not:cancel,absagen,cancela,annule,avlys,annulla,отмени",
            "not:delete,löschen,borra,supprime,slett,削除,elimina,удали",
            "not:invite",
            "not:add,put,create,eintragen,trag,trage,vormerken,dodaj,wpisz",
            "not:add,añade,agrega,apunta,anota,ajoute,ajouter,inscris",
            "not:add,legg,lägg,aggiungi,metti,segna,zet,adiciona",
            "not:add,coloca,追加,登録,добавь",
        ]
        .map(String::from)
        .to_vec(),
        examples: [
            "Am I free on Friday?",
            "What is on my calendar, diary, schedule or agenda tomorrow?",
            "An hour for lunch or coffee with Ines next week",
            "When is my next meeting, call or review, and how long does it last?",
            "Do I have any appointments today, do I have anything on, am I tied up? Disconnect my calendar",
            "Which events do I have, is there a conflict or a clash?",
            "A gap, an open slot of 30 minutes, have I got time in the evening?",
            "When do I see the doctor or dentist?",
            "Habe ich Zeit, bin ich frei, habe ich etwas vor?",
            "Was steht in meinem Kalender, welche Termine?",
            "Wann ist meine nächste Besprechung, mein Zahnarzttermin oder das Treffen, eine freie Stunde mit Ines?",
            "¿Estoy libre u ocupado, un hueco de una hora?",
            "¿Qué tengo en mi calendario o agenda, qué compromisos o planes?",
            "¿Cuándo o a qué hora es mi próxima reunión, cita o médico?",
            "Suis-je libre, disponible ou occupé, une heure ou un créneau libre ?",
            "Qu'y a-t-il dans mon agenda ou calendrier, qu'ai-je de prévu , mes rendez-vous, créneaux, disponibilités, emploi du temps, planning, appel?",
            "Quand est mon prochain rendez-vous, ma réunion, le dentiste ou le médecin ?",
            "Er jeg ledig eller opptatt, har jeg tid, en ledig time med Kari, luke, planer, frisør, treffe, avtalt?",
            "Hva står i kalenderen min, hvilke avtaler har jeg?",
            "Når er neste møte, avtale eller time hos lege eller tannlege?",
            "空いていますか、時間ありますか、暇",
            "予定は何ですか、スケジュール、予約",
            "次の会議や打ち合わせはいつ、何時からですか、会える時間、面談、歯医者、病院、約束、空き時間、カレンダー",
            "Sono libero o occupato, ho già impegni? Che cosa ho in agenda, a che ora è l'appuntamento, la riunione o il dentista, visita, buco?",
            "Ben ik vrij of bezet, heb ik al iets? Wat staat er in mijn agenda, hoe laat is mijn afspraak of vergadering, tandarts, gaatje, overleg?",
            "Är jag ledig eller upptagen, har jag tid? Vad har jag i kalendern, när är nästa möte, tid hos tandläkaren, lucka, bokat, läkare?",
            "Estou livre ou ocupado? O que tenho na agenda, a que horas é a minha reunião, compromisso ou consulta, marcado, dentista?",
            "Czy mam czas, jestem wolny lub zajęty? Co mam w kalendarzu, o której jest spotkanie, wizyta lub dentysta, plany, lekarz?",
            "Свободен или занят ли я? Что в календаре, какие планы, во сколько встреча, приём, врач, свободный час, дела, расписание?",
            "Am I busy, free, available or blocked, what are my commitments and plans, is there spare time for an interview, a class, a deadline, what does my week look like?",
            "Verabredung, verplant, belegt, verfügbar, Lücke, Zeitfenster, Meeting, Arzttermin, Friseur, was steht an, Terminkalender",
            "Disponible, disponibilidad, citas, reuniones, dentista, horario, llamada, quedar con Inés",
        ]
        .map(String::from)
        .to_vec(),
        input_modes: Vec::new(),
        output_modes: Vec::new(),
    }
}
