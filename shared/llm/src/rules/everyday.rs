//! Texts as people write them every day: to nobody's agents in part, about nothing that one knows, in other languages.

use super::*;
use crate::{AgentBrief, CardText, NoDraft, SkillText};

fn agent(agent_type: &str, description: &str, examples: &[&str]) -> AgentBrief {
    let examples: Vec<String> = examples.iter().map(|example| (*example).to_owned()).collect();
    let skill = SkillText {
        examples: &examples,
        ..SkillText::default()
    };
    let card = CardText {
        name: agent_type,
        description,
    };
    AgentBrief::new(AgentType::parse(agent_type).unwrap(), card, [skill])
}

fn everyone() -> Vec<AgentBrief> {
    vec![
        agent(
            "weather",
            "Weather forecasts for any place",
            &[
                "Will it rain in Oslo tomorrow?",
                "Tokyo tomorrow",
                "Wie wird das Wetter, regnet es? Regen oder Schnee?",
                "Hvordan blir været, regner det?",
                "天気は？雨が降る",
                "Qué tiempo hace en Madrid, va a llover?",
            ],
        ),
        agent(
            "horizon",
            "Order status: whether a parcel was shipped",
            &[
                "Where is my order 1003?",
                "Når kommer pakken?",
                "注文1003はどこですか",
            ],
        ),
        agent(
            "calendar",
            "Reads your calendar",
            &[
                "Am I free on Friday?",
                "An hour for a coffee with Ines",
                "次の会議は？",
            ],
        ),
        agent(
            "airbnb",
            "Finds flats, rooms and houses",
            &["A flat in Oslo for two", "En leilighet til oss på lørdag"],
        ),
        agent(
            "report",
            "Writes reports on any topic",
            &["Write a report about tea", "Skriv en rapport til meg om te"],
        ),
    ]
}

async fn asked(turns: Vec<Turn>) -> (String, String) {
    let prompt = Prompt {
        agents: everyone().into(),
        turns,
        ..Prompt::default()
    };
    let answer = Rules.step(&prompt, &mut NoDraft).await.unwrap();
    let one = |call: &ToolCall| match &call.tool {
        Tool::SendMessage {
            agent_type, message, ..
        } => format!("{agent_type}: {message}"),
        other => format!("{other:?}"),
    };
    let told = match &answer.step {
        Step::Call(calls) => calls.iter().map(one).collect::<Vec<_>>().join(" | "),
        Step::Choose { of, .. } => format!("{of:?}"),
        Step::Say(_) => "say".to_owned(),
    };
    (told, answer.beside)
}

async fn check(prompt: &str, expected: &str) {
    let (told, _) = asked(vec![Turn::User(prompt.to_owned())]).await;
    assert_eq!(told, expected, "{prompt}");
}

#[tokio::test]
async fn what_nobody_here_does_is_no_part_of_what_somebody_does() {
    for (prompt, sent, undone) in [
        (
            "weather in Oslo and sing me a song",
            "weather: weather in Oslo",
            "“sing me a song”",
        ),
        (
            "sing me a song and the weather in Oslo",
            "weather: the weather in Oslo",
            "“sing me a song”",
        ),
        (
            "weather in Oslo, sing me a song and where is my order 1003",
            "weather: weather in Oslo | horizon: where is my order 1003",
            "“sing me a song”",
        ),
        (
            "Wetter in Oslo und sing mir ein Lied",
            "weather: Wetter in Oslo",
            "“sing mir ein Lied”",
        ),
        (
            "qué tiempo hace en Madrid y cántame una canción",
            "weather: qué tiempo hace en Madrid",
            "“cántame una canción”",
        ),
        (
            "where is my order 1003 and tell me a joke",
            "horizon: where is my order 1003",
            "“tell me a joke”",
        ),
        (
            "a report on owls and email it to Bob",
            "report: a report on owls",
            "“email it to Bob”",
        ),
    ] {
        let (told, beside) = asked(vec![Turn::User(prompt.to_owned())]).await;
        assert_eq!(told, sent, "{prompt}");
        assert_eq!(
            beside,
            format!("Nobody I can reach can do this part: {undone}."),
            "{prompt}"
        );
    }
    for whole in [
        "weather in Oslo and Bergen",
        "a flat in Oslo with parking and wifi",
        "write a report about cats and feed the hungry",
        "weather in stavanger and newcastle upon tyne",
        "will it rain in Oslo and tell me about the rain",
    ] {
        let (told, beside) = asked(vec![Turn::User(whole.to_owned())]).await;
        assert!(
            told.ends_with(&format!(": {whole}")) && beside.is_empty(),
            "{whole}: {told} {beside}"
        );
    }
    check("sing me a song and dance me a tango", "say").await;
}

#[tokio::test]
async fn a_polite_or_a_short_question_is_for_whom_it_names_in_any_language() {
    for prompt in [
        "Kan du sjekke været i Bergen på lørdag?",
        "東京の天気は?",
        "大阪の天気は？",
        "Regen morgen?",
    ] {
        check(prompt, &format!("weather: {prompt}")).await;
    }
    for prompt in [
        "Am I free between the 30th and the 2nd?",
        "busy on the 3rd, or am I free?",
    ] {
        check(prompt, &format!("calendar: {prompt}")).await;
    }
    check(
        "I need a room in Vienna for two",
        "airbnb: I need a room in Vienna for two",
    )
    .await;
    check("wheres my ordr 1003", "horizon: wheres my ordr 1003").await;
    // Two words that ask nothing are still too few.
    check("Regen Oslo", "[agent type(weather)]").await;
}

#[tokio::test]
async fn what_is_told_of_somebody_whom_nobody_knows_asks_for_nothing() {
    check("my cat just knocked over my coffee", "say").await;
    for (prompt, agent_type) in [
        ("my parcel has not come, where is it?", "horizon"),
        ("my wife needs a flat in Oslo", "airbnb"),
        ("my sister is in Oslo, will it rain?", "weather"),
    ] {
        check(prompt, &format!("{agent_type}: {prompt}")).await;
    }
}

#[tokio::test]
async fn a_follow_up_names_the_one_of_several_places_and_what_is_strange_is_none() {
    let asked_before = |message: &str| {
        let tool = Tool::SendMessage {
            agent_type: AgentType::parse("weather").unwrap(),
            message: message.to_owned(),
            data: None,
        };
        vec![
            Turn::User(message.to_owned()),
            Turn::Calls(vec![ToolCall { id: "1".into(), tool }]),
            Turn::User("no, I mean the one in Texas".to_owned()),
        ]
    };
    let mut turns = asked_before("Will it rain in Paris tomorrow?");
    turns.pop();
    turns.push(Turn::User("and what's the capital of Mongolia?".to_owned()));
    assert_eq!(asked(turns).await.0, "say");
    let (told, _) = asked(asked_before("Will it rain in Paris tomorrow?")).await;
    assert_eq!(told, "weather: Will it rain in Paris, Texas tomorrow");
}

#[test]
fn what_is_said_instead_is_told_from_one_more_question() {
    let order = "Where is my order 1003?";
    for (text, earlier) in [
        ("no, I meant 1005", order),
        ("no, I meant order 1005", order),
        ("wait, wrong number, it's 1005", order),
        ("no, I mean Bergen", "Will it rain in Oslo tomorrow?"),
        ("make it about beavers", "write a report about whales"),
    ] {
        assert!(corrects(text, earlier), "{text}");
    }
    for (text, earlier) in [
        ("and 1005?", order),
        ("where is my order 1005", order),
        ("and where is my order 1005", order),
        ("Actually, where is 1005?", order),
        ("sorry, also order 1005", order),
        ("no", order),
        ("actually great", order),
        ("what about Bergen?", "Will it rain in Oslo tomorrow?"),
    ] {
        assert!(!corrects(text, earlier), "{text}");
    }
}
