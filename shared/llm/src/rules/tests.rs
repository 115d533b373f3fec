//! Routing cases, one line a prompt, and properties of the router.

use domain::{AgentType, TaskId};
use proptest::prelude::*;

use super::*;
use crate::{AgentBrief, Agents, CardText, PlannedTask, SkillText, ToolOutcome, ToolResult};

const ID: &str = "6f2c1b1e-9a2b-4c3d-8e4f-5a6b7c8d9e0f";

fn agent(agent_type: &str, name: &str, description: &str, skill: &str, examples: &[&str]) -> AgentBrief {
    let tags = [format!("type:{agent_type}"), "tenant_id:acme".into()];
    let examples: Vec<String> = examples.iter().map(|example| (*example).to_owned()).collect();
    AgentBrief::new(
        AgentType::parse(agent_type).unwrap(),
        CardText { name, description },
        [SkillText {
            name: skill,
            description: "",
            tags: &tags,
            examples: &examples,
            ..SkillText::default()
        }],
    )
}

fn weather() -> AgentBrief {
    agent(
        "weather",
        "Weather Agent",
        "Weather forecasts for any place in the world: rain, how warm it is, whether it is snowing or an umbrella is needed.",
        "Forecast",
        &[
            "Will it rain in Oslo tomorrow?",
            "Weather in Paris and Berlin this weekend",
            "Temperature in New York",
        ],
    )
}

fn airbnb() -> AgentBrief {
    agent(
        "airbnb",
        "Accommodation Agent",
        "Searches places to stay: flats, apartments, rooms.",
        "Search accommodation",
        &[
            "Find a flat in Oslo for two people next week",
            "A room in Rome under 100 euros a night",
        ],
    )
}

fn calendar() -> AgentBrief {
    agent(
        "calendar",
        "Calendar Agent",
        "Reads your calendar: events and when you are free or busy.",
        "Calendar",
        &["Am I free on Friday?", "What meetings do I have tomorrow?"],
    )
}

fn horizon() -> AgentBrief {
    agent(
        "horizon",
        "Horizon",
        "Order status of Acme's shop: whether a parcel has been shipped.",
        "Order status",
        &["Where is my order 1234?"],
    )
}

fn currency() -> AgentBrief {
    agent(
        "currency",
        "Currency Converter",
        "Converts amounts between currencies with the day's exchange rates.",
        "Convert",
        &["How much is 100 USD in EUR?"],
    )
}

fn everyone() -> Vec<AgentBrief> {
    vec![weather(), airbnb(), calendar(), horizon(), currency()]
}

fn decide(turns: Vec<Turn>) -> Step {
    Rules.decide(&Prompt {
        agents: everyone().into(),
        turns,
        ..Prompt::default()
    })
}

/// A step as a line: `weather: message | airbnb: message`, `status`, `status ID`, `say`.
fn shown(step: &Step) -> String {
    let calls = match step {
        Step::Say(_) => return "say".into(),
        Step::Choose { of, .. } => {
            let names: Vec<&str> = of.iter().map(AgentType::as_str).collect();
            return format!("{}?", names.join(" "));
        }
        Step::Call(calls) => calls,
    };
    let id = |id: &Option<TaskId>| id.map(|id| format!(" {id}")).unwrap_or_default();
    let one = |call: &ToolCall| match &call.tool {
        Tool::SendMessage {
            agent_type, message, ..
        } => format!("{agent_type}: {message}"),
        Tool::TaskStatus { task_id } => format!("status{}", id(task_id)),
        Tool::PlanTasks { tasks } => {
            let one = |task: &PlannedTask| {
                format!(
                    "{}: {} {:?}{:?}",
                    task.agent_type, task.message, task.after, task.uses
                )
            };
            format!("plan {}", tasks.iter().map(one).collect::<Vec<_>>().join(" | "))
        }
        other @ Tool::UpdateTask { .. } => format!("{other:?}"),
        Tool::Invalid { reason, .. } => format!("invalid: {reason}"),
    };
    calls.iter().map(one).collect::<Vec<_>>().join(" | ")
}

#[track_caller]
fn check(prompt: &str, expected: &str) {
    assert_eq!(
        shown(&decide(vec![Turn::User(prompt.into())])),
        expected,
        "{prompt}"
    );
}

/// The whole prompt goes to that one agent.
#[track_caller]
fn goes(prompt: &str, agent_type: &str) {
    check(prompt, &format!("{agent_type}: {prompt}"));
}

#[test]
fn words_alone_find_whose_a_text_is() {
    for (prompt, agent_type) in [
        ("Will it rain in Oslo tomorrow?", "weather"),
        ("Where is my order 1234?", "horizon"),
        ("Convert 20 dollars to pounds", "currency"),
    ] {
        goes(prompt, agent_type);
    }
    for prompt in ["Tell me a joke", "", "🦀"] {
        check(prompt, "say");
    }
}

#[test]
fn words_alone_part_a_text_where_its_clauses_are_of_several() {
    check(
        "The weather in Oslo. Where is my order 1234?",
        "weather: The weather in Oslo | horizon: Where is my order 1234?",
    );
}

#[test]
fn what_has_no_word_of_anybodys_may_go_on_with_whom_was_asked_last() {
    let asked = |text: &str| Turn::User(text.to_owned());
    let tool = Tool::SendMessage {
        agent_type: AgentType::parse("weather").unwrap(),
        message: "Will it rain in Oslo?".into(),
        data: None,
    };
    let call = ToolCall { id: "1".into(), tool };
    let turns = vec![
        asked("Will it rain in Oslo?"),
        Turn::Calls(vec![call]),
        asked("Trondheim?"),
    ];
    assert_eq!(shown(&decide(turns)), "weather?");
}

#[track_caller]
fn answers(results: &[(Option<&str>, Result<&str, &str>)], expected: &str) {
    let result = |(agent, outcome): &(Option<&str>, Result<&str, &str>)| ToolResult {
        call_id: "x".into(),
        agent: agent.map(str::to_owned),
        outcome: match outcome {
            Ok(text) => ToolOutcome::Done((*text).into()),
            Err(reason) => ToolOutcome::Failed((*reason).into()),
        },
    };
    let turns = vec![
        Turn::User("x".into()),
        Turn::Results(results.iter().map(result).collect()),
    ];
    assert_eq!(decide(turns), Step::Say(expected.into()));
}

#[test]
fn the_answer_is_made_of_the_results() {
    answers(&[(Some("Weather"), Ok("Rain, 4 °C."))], "Rain, 4 °C.");
    answers(
        &[(Some("Weather"), Err("no such place"))],
        "Weather could not do it: no such place",
    );
    answers(
        &[
            (Some("Weather"), Ok("Rain.")),
            (Some("Flats"), Err("")),
            (None, Ok("Task 1 works.")),
        ],
        "Weather: Rain.\n\nFlats could not do it.\n\nTask 1 works.",
    );
    answers(&[(Some("Weather"), Ok(" "))], "Done; the result is attached.");
}

fn any_text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        any::<String>(),
        "[a-zA-Z ,.?!:;\n]{0,40}",
        proptest::sample::select(vec![
            "weather",
            "Oslo",
            "and",
            "flat",
            "in",
            "cancel",
            "task",
            ID,
            "status",
            "next week",
            "ß",
            "İ",
            "\u{0}",
            ": ",
            "? ",
        ])
        .prop_map(str::to_owned),
    ];
    proptest::collection::vec(word, 0..12).prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn no_words_make_it_panic_or_waver(
        cards in proptest::collection::vec((any_text(), any_text(), any_text()), 0..4),
        earlier in any_text(),
        prompt in any_text(),
    ) {
        let mut agents: Vec<AgentBrief> = cards.iter().enumerate().map(|(number, (name, description, example))| {
            agent(&format!("agent{number}"), name, description, name, &[example])
        }).collect();
        agents.push(weather());
        let tool = Tool::SendMessage { agent_type: AgentType::parse("weather").unwrap(), message: earlier.clone(), data: None };
        let turns = vec![
            Turn::User(earlier.clone()),
            Turn::Calls(vec![ToolCall { id: "1".into(), tool }]),
            Turn::User(prompt.clone()),
        ];
        let asked = Prompt {
            agents: agents.into(),
            turns,
            ..Prompt::default()
        };
        let step = Rules.decide(&asked);
        prop_assert_eq!(&Rules.decide(&asked), &step);
        match step {
            Step::Say(text) => prop_assert!(text.len() < 20_000),
            Step::Choose { of, .. } => {
                prop_assert!((1..=3).contains(&of.len()));
                let is_there = |of: &AgentType| asked.agents.iter().any(|agent| agent.agent_type() == of);
                prop_assert!(of.iter().all(is_there));
            }
            Step::Call(calls) => {
                prop_assert!((1..=asked.agents.len()).contains(&calls.len()));
                for call in calls {
                    if let Tool::SendMessage { agent_type, message, .. } = call.tool {
                        prop_assert!(asked.agents.iter().any(|agent| agent.agent_type() == &agent_type));
                        prop_assert!(message.len() <= 2 * (prompt.len() + earlier.len()) + 200);
                    }
                }
            }
        }
    }
}

#[test]
fn what_routing_a_text_takes_goes_by_its_length() {
    let agents: Agents = everyone().into();
    words_testing::assert_linear(|text| {
        let prompt = Prompt {
            agents: agents.clone(),
            turns: vec![Turn::User(text.to_owned())],
            ..Prompt::default()
        };
        _ = Rules.decide(&prompt);
    });
}

#[test]
fn a_long_text_is_read_in_part_and_goes_whole() {
    let long = |text: &str| format!("{text} {}", "x ".repeat(5_000).trim_end());
    goes(&long("Will it rain in Oslo tomorrow?"), "weather");
    check(
        &long("The weather in Oslo. Where is my order 1234?"),
        &format!(
            "weather: The weather in Oslo | {}",
            long("horizon: Where is my order 1234?")
        ),
    );
}

/// The days of a stay are those of the weather beside it, where that names none of its own.
#[test]
fn a_span_of_days_is_shared_as_a_whole() {
    check(
        "A flat in Bergen for two from Friday to Sunday and the weather there",
        "airbnb: A flat in Bergen for two from Friday to Sunday | weather: the weather there in Bergen Friday to Sunday",
    );
}

/// Its own words leave the rest of the text alone, though the place is of another card as well.
#[test]
fn a_piece_leaves_whom_the_whole_fits_where_another_has_more_of_its_words() {
    let agents = vec![
        weather(),
        agent(
            "rooftops",
            "Rooftops",
            "Which rooftops are there in Oslo?",
            "Rooftops",
            &[],
        ),
        agent(
            "planner",
            "Planner",
            "What does the wall planner say?",
            "Planner",
            &[],
        ),
    ];
    let text =
        "What does the wall planner say? Will it rain in Oslo tomorrow? Which rooftops are there in Oslo?";
    let step = Rules.decide(&Prompt {
        agents: agents.into(),
        turns: vec![Turn::User(text.into())],
        ..Prompt::default()
    });
    let expected = "planner: What does the wall planner say? | weather: Will it rain in Oslo tomorrow? | rooftops: Which \
                    rooftops are there in Oslo?";
    assert_eq!(shown(&step), expected);
}
