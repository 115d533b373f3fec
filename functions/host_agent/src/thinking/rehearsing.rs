//! What would become of a text in a new chat: decided as ever, and nothing done.

use agent::{ExecuteError, Outcome, Rehearsed, RehearsedSend};
use domain::{Timestamp, UserContext};
use llm::{Answer, NoDraft, Prompt, Step, Tool, Turn};
use serde_json::Value;
use tokio::time::Instant;

use crate::meaning::{Chat, Meaning};
use crate::thinking::thinker::Thinker;
use crate::thinking::turn::stands;

impl Thinker {
    /// Says who would be given what where a user says this as the first of a chat. It takes tokens of the tenant's where a hosted
    /// model decides.
    pub(crate) async fn rehearse(
        &self,
        text: &str,
        at: Timestamp,
        user: &UserContext,
    ) -> Result<Rehearsed, ExecuteError> {
        let began = Instant::now();
        let known = self.discover().await?;
        let agents = self.briefs(Some(&known));
        let heard = self.heard(text, &agents, (&[], None)).await;
        let chat = Chat {
            here: &[],
            asked: None,
            elsewhere: Some(&[]),
            since: at,
        };
        let (meant, is_free) = chat.read(text, heard.as_ref());
        let is_request = matches!(meant, Meaning::Request { .. }) || self.has_one_agent();
        let prompt = Prompt {
            turns: vec![Turn::User(text.to_owned())],
            today: Some(nlu::day_of(at, user)),
            locale: user.locale.clone(),
            agents,
            ..Prompt::default()
        };
        let asked: Result<Result<Answer, Outcome>, ExecuteError> =
            match is_request || is_free && self.is_hosted() {
                true => {
                    let step = self.model().step(&prompt, &mut NoDraft).await;
                    step.map(Ok)
                        .map_err(|error| ExecuteError::Retry(error.to_string()))
                }
                false => Err(ExecuteError::Retry(String::new())),
            };
        let mut rehearsed = Rehearsed {
            act: meant.word().to_owned(),
            sends: Vec::new(),
            asked: Vec::new(),
            model: String::new(),
            tokens: 0,
            millis: 0,
        };
        match asked {
            asked if !is_request && stands(&meant, &asked) => {
                let took = asked.ok().and_then(Result::ok);
                rehearsed.tokens = took.map_or(0, |answer| answer.usage.input + answer.usage.output);
            }
            Ok(Ok(answer)) => {
                rehearsed.act = act(&answer.step).to_owned();
                let sends = answer.step.sends().map(|(to, request, data)| {
                    let agent = prompt.agents.iter().find(|agent| agent.agent_type() == to);
                    let read = || Some(Value::from(agent?.read(request, (at, user))?.data));
                    RehearsedSend {
                        agent: to.clone(),
                        request: request.to_owned(),
                        data: data.cloned().or_else(read).unwrap_or_default(),
                    }
                });
                rehearsed.sends = sends.collect();
                if let Step::Choose { of, .. } = &answer.step {
                    rehearsed.asked.clone_from(of);
                }
                rehearsed.tokens = answer.usage.input + answer.usage.output;
                rehearsed.model = answer.model;
            }
            Ok(Err(_)) => {}
            Err(error) => return Err(error),
        }
        rehearsed.millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(rehearsed)
    }
}

fn act(step: &Step) -> &'static str {
    match step {
        Step::Say(_) => "say",
        Step::Choose { .. } => "ask",
        Step::Call(calls)
            if calls
                .iter()
                .any(|call| matches!(call.tool, Tool::PlanTasks { .. })) =>
        {
            "plan"
        }
        Step::Call(_) => "send",
    }
}
