//! A scripted language model that decides as the rules do, and how often it was asked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use clap::ValueEnum;
use system_testing::models::{Dialect, ModelServer};

use crate::check::{self, Faults};
use crate::customer::{NUMBERED, prompt_number};
use crate::read::Tables;

/// Every call of this number is refused.
const REFUSED: usize = 10;

/// Who decides what becomes of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Choice {
    Rules,
    #[value(name = "openai")]
    OpenAi,
    Bedrock,
}

/// The model of a run, where there is one.
pub(crate) struct Scripted(Option<(Choice, ModelServer, Answered)>);

/// How many answers each task got, by its number.
type Answered = Arc<Mutex<BTreeMap<usize, usize>>>;

impl Scripted {
    pub(crate) async fn start(choice: Choice) -> Self {
        let dialect = match choice {
            Choice::Rules => return Self(None),
            Choice::OpenAi => Dialect::OpenAi,
            Choice::Bedrock => Dialect::Bedrock,
        };
        let answered = Answered::default();
        let (counted, mut calls) = (answered.clone(), 0_usize);
        let server = ModelServer::thinking(move |asked| {
            calls += 1;
            if calls.is_multiple_of(REFUSED) {
                return dialect.refusal(503, "busy");
            }
            let said = asked.prompt();
            if let Some(number) = prompt_number(&said) {
                *counted
                    .lock()
                    .expect("no panic under the lock")
                    .entry(number)
                    .or_default() += 1;
            }
            match asked.has_results() {
                true => dialect.says("That is the forecast."),
                false => dialect.sends(&[("weather", said.split(NUMBERED).next().unwrap_or(&said))]),
            }
        })
        .await;
        Self(Some((choice, server, answered)))
    }

    /// As a worker is told of it: its name, and the place of its server.
    pub(crate) fn named(&self) -> Option<(String, String)> {
        let (choice, server, _) = self.0.as_ref()?;
        let name = match choice {
            Choice::Rules => return None,
            Choice::OpenAi => format!("openai:{}v1,scripted", server.url()),
            Choice::Bedrock => "bedrock:scripted".to_owned(),
        };
        Some((name, server.url().to_string()))
    }

    /// No task got more answers than it has turns and there was trouble for its workers: `lost` were killed or frozen, and each failed
    /// attempt, and being called off, is one more.
    pub(crate) fn judge(&self, tables: &Tables, faults: &mut Faults, lost: usize) {
        let Some((_, server, answered)) = &self.0 else {
            return;
        };
        let answered = answered.lock().expect("no panic under the lock");
        let (mut turns, mut again) = (0, 0);
        for (one, found) in &tables.asked {
            let Some(found) = found else { continue };
            let has = found.task.turns.len();
            turns += has;
            let calls = answered.get(&one.number).copied().unwrap_or_default();
            let stumbles = found
                .events
                .iter()
                .filter(|event| check::is_stumble(event))
                .count();
            let most = has + lost + stumbles + usize::from(one.called_off);
            again += calls.saturating_sub(has);
            if calls > most {
                let what = format!("task {}: {calls} calls for {has} turns", one.number);
                faults.note("models that were asked too often", what);
            }
            if has > TURNS {
                faults.note("tasks with too many turns", format!("task {}: {has}", one.number));
            }
        }
        let (asked, answered) = (server.asked().len(), answered.values().sum::<usize>());
        println!(
            "{asked} calls of the model, {answered} answered, for {turns} turns; {again} answers were asked for again"
        );
    }
}

/// One to send, one to answer.
const TURNS: usize = 2;
