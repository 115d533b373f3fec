//! The turns about the weather out of the tables of wanted behaviour (`tests/data/README.md`), said to the agent itself:
//! what only a host decides (cards, other agents) is not judged here.

use regex_lite::RegexBuilder;
use serde::Deserialize;

use crate::bench::{Bench, answer, told};

const TABLE: &str = include_str!("../../../../tests/data/weather.toml");

/// A Saturday, for conversations that may be held at any moment.
const ANY_MOMENT: &str = "2026-11-21T09:00:00Z";

#[derive(Deserialize)]
struct Table {
    conversation: Vec<Conversation>,
}

#[derive(Deserialize)]
struct Conversation {
    name: String,
    locale: Option<String>,
    time_zone: Option<String>,
    now: Option<String>,
    turn: Vec<Turn>,
}

#[derive(Deserialize)]
struct Turn {
    say: Option<String>,
    #[serde(default)]
    expect: Expect,
}

#[derive(Deserialize, Default)]
struct Expect {
    jobs: Option<Vec<String>>,
    state: Option<String>,
    first: Option<String>,
    asks: Option<bool>,
    #[serde(default)]
    says: Vec<String>,
    #[serde(default)]
    never: Vec<String>,
}

impl Expect {
    /// Why a reply is not what is wanted.
    fn faults(&self, state: &str, text: &str) -> Vec<String> {
        let found = |pattern: &str| {
            let pattern = RegexBuilder::new(pattern).case_insensitive(true).build();
            pattern.unwrap().is_match(text)
        };
        let says = self.says.iter().filter(|pattern| !found(pattern));
        let never = self.never.iter().filter(|pattern| found(pattern));
        let mut faults: Vec<String> = says.map(|pattern| format!("does not say {pattern:?}")).collect();
        faults.extend(never.map(|pattern| format!("says {pattern:?}")));
        if let Some(wanted) = &self.state
            && !wanted.split('|').any(|wanted| wanted == state)
        {
            faults.push(format!("is {state}, not {wanted}"));
        }
        if let Some(first) = &self.first
            && !found(&format!(r"^(\S+: )?({first})\b"))
        {
            faults.push(format!("does not begin with {first}"));
        }
        if self.asks.is_some_and(|asks| asks != text.contains('?')) {
            faults.push("asks, or does not".to_owned());
        }
        faults
    }
}

#[tokio::test]
async fn the_tables_turns_about_the_weather_go_as_wanted() {
    let (mut right, mut wrong) = (0, Vec::new());
    let table: Table = toml::from_str(TABLE).unwrap();
    for conversation in table.conversation {
        let bench = Bench::at(conversation.now.as_deref().unwrap_or(ANY_MOMENT)).await;
        let bench = bench.with(conversation.locale, conversation.time_zone);
        for (index, turn) in conversation.turn.iter().enumerate() {
            // A later turn that names no agent goes on with what was said before: the host's affair.
            let ours = turn
                .expect
                .jobs
                .as_ref()
                .map_or(index == 0, |jobs| jobs == &["weather"]);
            let Some(say) = turn.say.as_deref().filter(|_| ours) else {
                continue;
            };
            let task = bench.task(&[say]).await;
            let (state, text) = match task["status"]["state"].as_str() {
                Some("TASK_STATE_COMPLETED") => ("completed", answer(&task).0),
                Some("TASK_STATE_INPUT_REQUIRED") => ("input-required", told(&task)),
                _ => ("failed", told(&task)),
            };
            let faults = turn.expect.faults(state, &text);
            if faults.is_empty() {
                right += 1;
            } else {
                let name = &conversation.name;
                wrong.push(format!("{name}: {say}\n  {faults:?}\n  {text}"));
            }
        }
    }
    let all = right + wrong.len();
    assert!(
        wrong.is_empty(),
        "{right} of {all} right; wrong:\n{}",
        wrong.join("\n")
    );
    assert!(all > 50, "the tables have more turns than {all}");
}
